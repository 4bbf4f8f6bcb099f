"""Wang and Blunsom (2013, PCFGs), section 4.1: which pieces do verbs consist of?

Verb types as sequences of characters, a grammar of five templates over five classes, each of which
may derive any piece of any verb, and so sparse a prior that only pieces that verbs share pay.
Nine tenths to learn from, one tenth to foresee. The published verbs are Sesotho (Johnson, Griffiths
and Goldwater 2007), ours isiZulu.
"""

from contextlib import nullcontext
from functools import lru_cache, partial
from typing import NamedTuple
from unittest.mock import patch
from warnings import catch_warnings, simplefilter

import numpy as np
from scipy.special import logsumexp
from sklearn.model_selection import train_test_split

from benchmarks.published.monitor import curve
from benchmarks.published.tables import Table, plus_minus
from sklearn_cvb import CVBPCFG, EMPCFG, VBPCFG, Grammar, HastingsPCFG, Samples
from sklearn_cvb.datasets import fetch_zulu_verbs
from sklearn_cvb.grammar import model as grammars
from sklearn_cvb.metrics import boundary_scores, segmentation_f1
from sklearn_cvb.plotting import algorithm_colours

# F1 in per cent and seconds, on Sesotho verbs.
_PUBLISHED = {"cvb": ("29.8", "90"), "hastings": ("31.3", "1,200")}
# Perplexities above leave the picture.
_HIGHEST = 1e9

TEMPLATES = "Verb -> V | V M | S V M | S T V M | S T O V M"
CLASSES = "STOVM"
ALPHA = 1e-5


class Method(NamedTuple):
    """How an algorithm is shown, its class, its arguments, sweeps in full and quick runs, runs."""

    title: str
    model: type
    arguments: dict
    sweeps: int
    quick_sweeps: int
    n_runs: int = 5


_ANNEALED = {"alpha": ALPHA, "samples": Samples(thin=1, temperatures=(3.0, 1.0))}
METHODS = {
    "em": Method("EM", EMPCFG, {}, 20, 10),
    "stepwise": Method("EM, stepwise", EMPCFG, {"update": "sequence"}, 20, 10),
    "vb": Method("VB", VBPCFG, {"alpha": ALPHA}, 20, 10),
    "cvb": Method("CVB", CVBPCFG, {"alpha": ALPHA}, 20, 10),
    "hastings": Method(
        "Hastings", HastingsPCFG, {"alpha": ALPHA, "samples": Samples(thin=1)}, 1000, 60
    ),
    "annealed": Method("Hastings, annealed", HastingsPCFG, _ANNEALED, 300, 60),
    "slow": Method("Hastings, annealed slowly", HastingsPCFG, _ANNEALED, 3000, 120, 1),
}
STARTS = {
    "uniform": "uniform weights",
    "parameter": "Dirichlet(1)",
    "trees": "all trees alike (default)",
    "noisy": "the same, each rule times 1 to 100",
    "vb": "where VB ends",
}
# What each algorithm gets from each start.
_START_SWEEPS = {"em": 10, "vb": 20, "cvb": 20, "hastings": 100, "annealed": 100}
_QUICK_START_SWEEPS = {"vb": 10, "cvb": 10, "hastings": 60}
_STRONG_NOISE = 99.0
_SHOWN = (1, 2, 3, 5, 7, 10, 15, 20, 50, 100, 200, 300, 500, 600, 1000, 2000)


class Verbs(NamedTuple):
    """Verbs to learn from and to foresee, their gold segments, and the grammar of all pieces."""

    training: list
    gold: list
    test: list
    test_gold: list
    grammar: Grammar


@lru_cache(maxsize=1)
def verbs(data_home, n_verbs):
    """Split the verbs, and let each class derive any piece of them."""
    found = fetch_zulu_verbs(data_home=data_home)
    order = np.random.RandomState(0).permutation(len(found.data))[:n_verbs]
    X, y = ([column[i] for i in order] for column in (found.data, found.target))
    training, test, gold, test_gold = train_test_split(X, y, test_size=0.1, random_state=0)
    grammar = Grammar.from_text(TEMPLATES).with_substrings(list(CLASSES), X)
    return Verbs(training, gold, test, test_gold, grammar)


def corpus(settings):
    """All verbs, or 600 of them."""
    return verbs(settings.data_home, 600 if settings.quick else None)


def scorers(given):
    """What is measured after a sweep."""
    return {
        "perplexity": lambda model, X, y: model.perplexity(given.test, per="sequence"),
        "impossible": lambda model, X, y: float(np.isinf(model.score_samples(given.test)).mean()),
        "f1": lambda model, X, y: segmentation_f1(given.gold, model.labels_),
        "boundary_f1": lambda model, X, y: boundary_scores(given.gold, model.labels_).f1,
    }


def one_run(given, estimator, due):
    """The curve of a fit, and what is known at its end.

    `due`: sweeps after which to score.
    """
    y = [None] * len(given.training)
    found = curve(estimator, given.training, y, scorers(given), due)
    with catch_warnings():
        simplefilter("ignore", UserWarning)
        held_out = segmentation_f1(given.test_gold, estimator.predict(given.test))
    return found | {
        "held_out_f1": held_out,
        "log_p": estimator.score_samples(given.test),
        "pieces": float(np.mean([len(tree) for tree in estimator.labels_])),
        "objective": estimator.objective_,
        "acceptance_rate": getattr(estimator, "acceptance_rate_", None),
        "sample": [_segments(tree) for tree in estimator.labels_[:8]],
    }


def _segments(tree):
    return "-".join("".join(node.leaves()) for node in tree)


def estimator_of(name, given, n_sweeps, seed, init=None):
    """An algorithm of `METHODS`, set up."""
    method = METHODS[name]
    return method.model(
        given.grammar,
        init=init,
        max_iter=n_sweeps,
        **({} if method.model is HastingsPCFG else {"tol": 0}),
        handle_unknown="error",
        random_state=seed,
        **method.arguments,
    )


def algorithm(name, settings):
    """The curves of an algorithm from a few seeds."""
    given, method = corpus(settings), METHODS[name]
    n_sweeps, n_runs = method.sweeps, method.n_runs
    if settings.quick:
        n_sweeps, n_runs = method.quick_sweeps, min(2, n_runs)
    else:
        estimator_of(name, given, 1, 0).fit(given.training[:50])  # compiles
    due = [*(sweep for sweep in _SHOWN if sweep < n_sweeps), n_sweeps]
    runs = [
        one_run(given, estimator_of(name, given, n_sweeps, seed), due) for seed in range(n_runs)
    ]
    together = logsumexp([one.pop("log_p") for one in runs], axis=0) - np.log(n_runs)
    return {
        "n_training": len(given.training),
        "n_rules": len(given.grammar.rules),
        "runs": runs,
        # Of the mean probability of each held-out verb over the runs.
        "together": float(np.exp(-np.mean(together))),
    }


def start(name, given):
    """`init` of a start, and the context in which it is one."""
    if name == "vb":
        model = estimator_of("vb", given, _START_SWEEPS["vb"], 0)
        return model.fit(given.training), nullcontext()
    if name == "noisy":
        return "trees", patch.object(grammars, "_NOISE", _STRONG_NOISE)
    return name, nullcontext()


def starts(settings):
    """Where each algorithm ends from each start."""
    given, found = corpus(settings), {}
    sweeps = _QUICK_START_SWEEPS if settings.quick else _START_SWEEPS
    for where in ("uniform", "trees", "vb") if settings.quick else STARTS:
        init, context = start(where, given)
        found[where] = {}
        for name, n_sweeps in sweeps.items():
            with context:
                estimator = estimator_of(name, given, n_sweeps, 0, init)
                found[where][name] = one_run(given, estimator, [n_sweeps])
                del found[where][name]["log_p"]
    return {"ends": found}


PARTS = {name: partial(algorithm, name) for name in METHODS} | {"starts": starts}


def ends(found, what, scale=1.0):
    """A figure of all runs of an algorithm at their end."""
    values = [one[what] for one in found["runs"]]
    return [scale * (value[-1] if isinstance(value, list) else value) for value in values]


def mean_curve(found, what):
    """(sweeps, seconds, values), means over the runs."""
    runs = found["runs"]
    seconds = np.mean([one["seconds"] for one in runs], axis=0)
    return runs[0]["sweeps"], seconds, np.mean([one[what] for one in runs], axis=0)


def arrival(found, what, is_there):
    """(sweeps, seconds) after which the mean figure first is there; None if it never is."""
    for sweep, second, value in zip(*mean_curve(found, what), strict=True):
        if is_there(value):
            return sweep, second
    return None


def shown_perplexity(values):
    """Perplexities in thousands, or infinite."""
    if not np.isfinite(values).all():
        return "infinite"
    if max(values) > 1e9:
        return f"{np.mean(values) / 1000:.0e}"
    return plus_minus(values, 0, 1e-3)


def tables(results):
    """Where the algorithms end, when they are there, and where they end from other starts."""
    names = [name for name in METHODS if name in results]
    lines = [_end_line(name, results[name]) for name in names]
    header = ["", "sweeps", "perplexity, thousands", "of the runs together", "impossible, %"]
    header += [
        "F1 of segments, %",
        "of boundaries, %",
        "held out, %",
        "pieces",
        "accepted",
        "seconds",
    ]
    header += ["published: F1, seconds"]
    title = (
        "At the end, mean (standard deviation) of the runs; published figures are of Sesotho verbs"
    )
    found = {"ends": Table(header, lines, title)}
    if {"cvb", "hastings"} <= set(names):
        found["arrival"] = _arrival_table(results, names)
    if "starts" in results:
        found["starts"] = _start_table(results["starts"]["ends"])
    return found


def _end_line(name, found):
    accepted = [one["acceptance_rate"] for one in found["runs"]]
    return [
        METHODS[name].title,
        f"{found['runs'][0]['sweeps'][-1]:,}",
        shown_perplexity(ends(found, "perplexity")),
        shown_perplexity([found["together"]]) if len(accepted) > 1 else "",
        plus_minus(ends(found, "impossible"), 1, 100),
        *(plus_minus(ends(found, what), 1, 100) for what in ("f1", "boundary_f1", "held_out_f1")),
        plus_minus(ends(found, "pieces"), 2),
        "" if accepted[0] is None else plus_minus(accepted, 3),
        plus_minus(ends(found, "seconds"), 1),
        ", ".join(_PUBLISHED.get(name, ())),
    ]


def _arrival_table(results, names):
    """When each algorithm first is as good as the sampler is at its end."""
    goal_perplexity = np.mean(ends(results["hastings"], "perplexity"))
    goal_f1 = np.mean(ends(results["hastings"], "f1"))
    goals = (
        ("perplexity", lambda value: value <= goal_perplexity),
        ("f1", lambda value: value >= goal_f1 - 0.01),
    )
    lines = []
    for name in names:
        lines.append([METHODS[name].title])
        for what, is_there in goals:
            here = arrival(results[name], what, is_there)
            lines[-1] += ["never", ""] if here is None else [f"{here[0]:,}", f"{here[1]:.1f}"]
    header = ["", "perplexity: sweep", "seconds", "F1: sweep", "seconds"]
    caption = (
        f"When the mean first reaches the sampler's last perplexity ({goal_perplexity / 1000:,.0f} "
        f"thousand), and its F1 less one point ({100 * goal_f1 - 1:.1f} %)"
    )
    return Table(header, lines, caption)


def _start_table(found):
    names = list(next(iter(found.values())))
    lines = [
        [STARTS[where]]
        + [
            f"{shown_perplexity(ends({'runs': [one]}, 'perplexity'))}; {100 * one['f1'][-1]:.1f}"
            for one in by_name.values()
        ]
        for where, by_name in found.items()
    ]
    header = ["start"]
    for name in names:
        sweeps = next(iter(found.values()))[name]["sweeps"][-1]
        header.append(f"{METHODS[name].title}, {sweeps} sweeps")
    title = "Perplexity in thousands and F1 of segments in per cent from other starts, one run each"
    return Table(header, lines, title)


def draw(results, folder):
    """Perplexity by sweep and by second, and F1 by second."""
    from matplotlib.figure import Figure

    names = [name for name in METHODS if name in results]
    figure = Figure(figsize=(12.4, 4.2), layout="constrained")
    panels = figure.subplots(1, 3)
    colours = algorithm_colours(METHODS[name].title for name in names)
    for marker, colour, name in zip("ovs^DPX", colours, names, strict=False):
        style = {"marker": marker, "markersize": 4, "lw": 1.2, "color": colour}
        sweeps, seconds, perplexities = mean_curve(results[name], "perplexity")
        _, _, f1 = mean_curve(results[name], "f1")
        # What is infinite, or beyond all others, leaves the picture.
        perplexities = np.where(perplexities < _HIGHEST, perplexities, np.nan)
        panels[0].plot(sweeps, perplexities, label=METHODS[name].title, **style)
        panels[1].plot(seconds, perplexities, **style)
        panels[2].plot(seconds, 100 * f1, **style)
    for panel in panels[:2]:
        panel.set(yscale="log", ylabel="perplexity per held-out verb")
    panels[0].set_xlabel("sweeps")
    panels[1].set_xlabel("processor seconds")
    panels[2].set(xlabel="processor seconds", ylabel="F1 of segments, training verbs (%)")
    for panel in panels:
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter("{x:,g}")
        panel.grid(alpha=0.3)
    lines = panels[0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(folder / "morphology_curves.png", dpi=110)
