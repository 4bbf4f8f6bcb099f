"""Gao and Johnson (2008): samplers of tokens, of sequences and with the parameters, compared."""

from functools import partial
from time import thread_time
from typing import NamedTuple

import numpy as np

from benchmarks.published.tables import Table, plus_minus
from benchmarks.published.text import described, first_sentences
from sklearn_cvb import GibbsHMM, GibbsHMMTagger, Samples, Symbols
from sklearn_cvb.demo.experiment import COMPARED
from sklearn_cvb.metrics import effective_sample_size, many_to_one_accuracy, r_hat, token_accuracy

UPDATES = {
    "token": "collapsed, by token",
    "sequence": "collapsed, by sequence",
    "parameter": "with parameters",
}
_COLOURS = ("#0072b2", "#e69f00", "#cc3311")
# How many transition probabilities are followed: the most frequent ones.
_N_PROBABILITIES = 5
_DICTIONARY = {"alpha": 1.0, "beta": 0.03, "supervision": "none"}
_DICTIONARY |= {"emission__handle_unknown": "error"} | COMPARED
_FREE = {"alpha": 0.1, "beta": 0.1, "n_components": 45, "emission": Symbols(handle_unknown="error")}


class Plan(NamedTuple):
    """Size of a part: sentences, sweeps of its chains, seeds, and lengths of annealed runs."""

    sentences: int
    sweeps: int
    seeds: int
    annealed: tuple = ()


def plan_of(part, settings):
    """The sizes of the full and of the quick version."""
    if part == "dictionary":
        if settings.quick:
            return Plan(100, 200, 2, (20, 60))
        return Plan(1000, 2000, 3, (50, 150, 500, 1500))
    return Plan(60, 40, 2) if settings.quick else Plan(1000, 500, 3)


def _fit(model, X):
    """The fitted model and the processor seconds of its fit."""
    begin = thread_time()
    model.fit(X)
    return model, thread_time() - begin


def _compile(kind, text, **keywords):
    for update in UPDATES:
        for temperatures in (None, (2.0, 0.08)):
            samples = Samples(temperatures=temperatures)
            kind(update=update, samples=samples, max_iter=2, **keywords).fit(text.X[:3])


def transition_traces(model):
    """Posterior-mean transition probabilities of every kept sample, (n_samples, n_probabilities).

    Those of the most frequent transitions.
    """
    samples, starts = (
        model.samples_.astype(int),
        model._learned.extra.samples.per_sample.problem.corpus.starts,
    )
    n, alpha = len(model.startprob_), model.alpha_
    inside = np.ones(samples.shape[1] - 1, bool)
    inside[starts[1:-1] - 1] = False
    moves = (samples[:, :-1] * n + samples[:, 1:])[:, inside]
    counts = np.array([np.bincount(row, minlength=n * n) for row in moves]).reshape(-1, n, n)
    frequent = np.argsort(-counts.sum(axis=0).ravel(), kind="stable")[:_N_PROBABILITIES]
    probabilities = (counts + alpha) / (counts.sum(axis=2, keepdims=True) + n * alpha)
    return probabilities.reshape(len(counts), -1)[:, np.sort(frequent)]


def chains(make, text, plan, with_transitions):
    """Chains at temperature 1 from several seeds, and what they are worth.

    Effective sample sizes are of the second halves of all chains together.
    """
    found = {"seconds": [], "log_joint": [], "acceptance": [], "accuracy": []}
    kept, traces = [], []
    for seed in range(plan.seeds):
        model, seconds = _fit(
            make(max_iter=plan.sweeps, random_state=seed, samples=Samples(thin=1)), text.X
        )
        found["seconds"].append(seconds)
        found["log_joint"].append(model.history_.tolist())
        found["acceptance"].append(model.acceptance_rate_)
        score = token_accuracy if with_transitions else many_to_one_accuracy
        found["accuracy"].append(score(text.y, model.labels_))
        kept.append(model.history_[plan.sweeps // 2 :])
        if with_transitions:
            traces.append(transition_traces(model))
    found["sample_size"] = {"log joint": effective_sample_size(kept)}
    found["r_hat"] = {"log joint": r_hat(kept)}
    if with_transitions:
        columns = np.moveaxis(np.array(traces), 2, 0)
        sizes = [effective_sample_size(column) for column in columns]
        found["sample_size"]["transitions"] = float(np.median(sizes))
        found["r_hat"]["transitions"] = float(np.median([r_hat(column) for column in columns]))
    return found


def dictionary(settings):
    """Tags of a text with a dictionary: mixing at temperature 1, and accuracy by annealing."""
    plan = plan_of("dictionary", settings)
    text = first_sentences(settings, plan.sentences)

    def make(**settings):
        return GibbsHMMTagger(text.dictionary).set_params(**_DICTIONARY | settings)

    _compile(GibbsHMMTagger, text, tag_dictionary=text.dictionary)
    found = {"text": described(text), "plan": plan._asdict()}
    for update in UPDATES:
        own = partial(make, update=update)
        found[update] = chains(own, text, plan, True)
        found[update]["annealed"] = [
            annealed(own, text, sweeps, plan.seeds) for sweeps in plan.annealed
        ]
    return found


def annealed(make, text, sweeps, n_seeds):
    """Accuracies of the training tags and seconds of runs of one length."""
    fits = [_fit(make(max_iter=sweeps, random_state=seed), text.X) for seed in range(n_seeds)]
    return {
        "sweeps": sweeps,
        "accuracy": [token_accuracy(text.y, model.labels_) for model, _ in fits],
        "seconds": [seconds for _, seconds in fits],
    }


def free(settings):
    """States of a text without a dictionary: how fast the log joint probability rises."""
    plan = plan_of("free", settings)
    text = first_sentences(settings, plan.sentences)
    make = partial(GibbsHMM, **_FREE)
    _compile(GibbsHMM, text, **_FREE)
    found = {"text": described(text), "plan": plan._asdict()}
    for update in UPDATES:
        found[update] = chains(partial(make, update=update), text, plan, False)
    return found


PARTS = {"dictionary": dictionary, "free": free}


def tables(results):
    """Mixing per second, and accuracy by time."""
    found = {}
    if "dictionary" in results:
        found["mixing"] = _mixing_table(results["dictionary"])
        found["annealing"] = _annealing_table(results["dictionary"])
    if "free" in results:
        found["free"] = _free_table(results["free"])
    return found


def _per_token(found, part):
    """Nanoseconds per token and sweep."""
    n_tokens = part["text"]["n_tokens"] * part["plan"]["sweeps"]
    return f"{1e9 * np.mean(found['seconds']) / n_tokens:,.0f}"


def _within(found):
    """Effective sample sizes of the log joint in the second half of each chain alone."""
    return [effective_sample_size([row[len(row) // 2 :]]) for row in found["log_joint"]]


def _mixing_table(part):
    rows = []
    for update, title in UPDATES.items():
        found = part[update]
        half = sum(found["seconds"]) / 2
        row = [title, _per_token(found, part), plus_minus(found["acceptance"], 1, 100)]
        within = _within(found)
        row += [f"{np.mean(within):,.0f}", f"{sum(within) / half:.1f}"]
        for name in ("log joint", "transitions"):
            size = found["sample_size"][name]
            row += [f"{size:,.0f}", f"{size / half:.1f}", f"{found['r_hat'][name]:.3f}"]
        rows.append(row)
    header = ["sampler", "ns per token and sweep", "accepted, %"]
    header += ["sample size of each chain alone, log joint", "per second"]
    for name in ("log joint", "transitions"):
        header += [f"of all together, {name}", "per second", "R-hat"]
    return Table(header, rows, "Mixing at temperature 1, with a dictionary")


def _annealing_table(part):
    lengths = [f"{one['sweeps']:,} sweeps" for one in part["token"]["annealed"]]
    rows = []
    for update, title in UPDATES.items():
        rows.append([title] + [_accuracy_and_time(one) for one in part[update]["annealed"]])
    title = "Accuracy in per cent after annealing from 2 to 0.08, and seconds"
    return Table(["sampler", *lengths], rows, title)


def _accuracy_and_time(one):
    return f"{plus_minus(one['accuracy'], 1, 100)} in {np.mean(one['seconds']):.1f} s"


def _free_table(part):
    rows = []
    for update, title in UPDATES.items():
        found = part[update]
        last = [np.mean(row[-len(row) // 10 :]) for row in found["log_joint"]]
        rows.append(
            [title, _per_token(found, part), plus_minus(found["acceptance"], 1, 100)]
            + [plus_minus(found["seconds"]), plus_minus(last, 0)]
            + [plus_minus(found["accuracy"], 1, 100), f"{found['r_hat']['log joint']:.2f}"]
        )
    header = ["sampler", "ns per token and sweep", "accepted, %", "seconds", "log joint at the end"]
    return Table(
        [*header, "many-to-one accuracy, %", "R-hat"], rows, "Without a dictionary, 45 states"
    )


def draw(results, folder):
    """Accuracy by time, and the log joint probability by time."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.4, 4.2), layout="constrained")
    panels = figure.subplots(1, 2)
    for colour, (update, title) in zip(_COLOURS, UPDATES.items(), strict=True):
        style = {"color": colour, "lw": 1.2}
        if "dictionary" in results:
            runs = results["dictionary"][update]["annealed"]
            seconds = [np.mean(one["seconds"]) for one in runs]
            shares = 100 * np.array([one["accuracy"] for one in runs])
            panels[0].errorbar(
                seconds, shares.mean(axis=1), shares.std(axis=1), label=title, marker="o", **style
            )
        for run_seconds, row in zip(*_curves(results, update), strict=True):
            times = np.arange(1, len(row) + 1) * run_seconds / len(row)
            panels[1].plot(times, np.array(row) / 1000, **style)
    panels[0].set_xlabel("processor seconds of an annealed run (logarithmic scale)")
    panels[0].set_ylabel("token accuracy (%), with a dictionary")
    panels[1].set_xlabel("processor seconds (logarithmic scale)")
    panels[1].set_ylabel("log joint probability (1000 nats), 45 states")
    for panel in panels:
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter("{x:,g}")
        panel.grid(alpha=0.3)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig(folder / "samplers_time.png", dpi=110)


def _curves(results, update):
    """Seconds and log joint traces of the chains without a dictionary."""
    found = results.get("free", {}).get(update)
    return ([], []) if found is None else (found["seconds"], found["log_joint"])
