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

from benchmarks.published import morphology_tables
from benchmarks.published.monitor import curve
from benchmarks.published.settings import run_parts
from sklearn_cvb import CVBPCFG, EMPCFG, VBPCFG, Grammar, HastingsPCFG
from sklearn_cvb.datasets import fetch_zulu_verbs
from sklearn_cvb.grammar import model as grammars
from sklearn_cvb.metrics import boundary_scores, segmentation_f1

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


_ANNEALED = {"alpha": ALPHA, "thin": 1, "temperatures": (3.0, 1.0)}
METHODS = {
    "em": Method("EM", EMPCFG, {}, 20, 10),
    "stepwise": Method("EM, stepwise", EMPCFG, {"update": "sequence"}, 20, 10),
    "vb": Method("VB", VBPCFG, {"alpha": ALPHA}, 20, 10),
    "cvb": Method("CVB", CVBPCFG, {"alpha": ALPHA}, 20, 10),
    "hastings": Method("Hastings", HastingsPCFG, {"alpha": ALPHA, "thin": 1}, 1000, 60),
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
    """Split the verbs, and let each class derive any piece of them.

    Parameters
    ----------
    data_home : str or None
    n_verbs : int or None
        How many, drawn at random; None for all.

    Returns
    -------
    Verbs
    """
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

    Parameters
    ----------
    given : Verbs
    estimator : estimator
    due : collection of int
        Sweeps after which to score.

    Returns
    -------
    dict
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
        tol=0,
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


def run(settings):
    """Measure all curves, and what starts do.

    Parameters
    ----------
    settings : Settings

    Returns
    -------
    dict
    """
    return run_parts(PARTS, settings)


def tables(results):
    """Where the algorithms end, when they are there, and where they end from other starts.

    Parameters
    ----------
    results : dict

    Returns
    -------
    str
    """
    return morphology_tables.tables(results, titles(), STARTS)


def draw(results, folder):
    """Perplexity by sweep and by second, and F1 by second.

    Parameters
    ----------
    results : dict
    folder : pathlib.Path
    """
    morphology_tables.draw(results, titles(), folder)


def titles():
    """How each algorithm is shown."""
    return {name: method.title for name, method in METHODS.items()}
