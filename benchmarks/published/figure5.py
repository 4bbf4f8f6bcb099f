"""Wang and Blunsom (2013), figure 5: accuracy by sweep and by second on the whole corpus."""

from functools import partial

import numpy as np

from benchmarks.published.monitor import curve
from benchmarks.published.tables import Table, plus_minus
from benchmarks.published.taggers import METHODS, SWEEPS, Plan, tagger_of
from benchmarks.published.text import described, first_sentences
from sklearn_cvb import Symbols
from sklearn_cvb.plotting import algorithm_colours

NAMES = ("em", "vb", "cvb-token", "cvb-sequence", "gibbs")
USUAL = {"alpha": 1.0, "beta": 0.03}
_SHOWN = (1, 2, 5, 10, 15, 20, 50)
_GIBBS_SHOWN = (1, 10, 100, 300, 500, 1000)
# Within this many points of the last accuracy a curve has arrived.
_ARRIVED = 0.2


def training_accuracy(estimator, X, y):
    """Scorer: accuracy of `labels_`, which are the tags of the training sentences."""
    return float(np.mean(np.concatenate(estimator.labels_) == np.concatenate(y)))


def due_sweeps(n_sweeps):
    """Sweeps to score: all of 50, else those closest together in the beginning."""
    if n_sweeps <= SWEEPS:
        return range(1, n_sweeps + 1)
    spaced = np.geomspace(1, n_sweeps, 25).astype(int).tolist()
    return sorted({*spaced, *(s for s in _GIBBS_SHOWN if s <= n_sweeps)})


def algorithm(name, settings):
    """The curves of an algorithm."""
    n, plan = None, Plan(1000, 3) if name == "gibbs" else Plan(SWEEPS, 3)
    if settings.quick:
        n, plan = 300, Plan(50, 2) if name == "gibbs" else Plan(15, 2)
    text = first_sentences(settings, n)
    values = {} if name == "em" else USUAL
    tagger_of(name, text, 1, emission=Symbols(handle_unknown="error"), **values).fit(
        text.X[:3]
    )  # compiles
    curves = []
    for seed in range(plan.restarts):
        tagger = tagger_of(
            name,
            text,
            plan.sweeps,
            emission=Symbols(handle_unknown="error"),
            random_state=seed,
            **values,
        )
        due = due_sweeps(plan.sweeps)
        curves.append(curve(tagger, text.X, text.y, {"accuracy": training_accuracy}, due))
    return {"text": described(text), "curves": curves}


PARTS = {name: partial(algorithm, name) for name in NAMES}


def mean_curve(found):
    """(sweeps, seconds, accuracies in per cent), means over the starts."""
    curves = found["curves"]
    seconds = np.mean([one["seconds"] for one in curves], axis=0)
    accuracies = 100 * np.mean([one["accuracy"] for one in curves], axis=0)
    return curves[0]["sweeps"], seconds, accuracies


def arrival(found):
    """(sweeps, seconds) after which the mean stays within 0.2 points of its last value."""
    sweeps, seconds, accuracies = mean_curve(found)
    away = np.flatnonzero(np.abs(accuracies - accuracies[-1]) > _ARRIVED)
    first = min(away[-1] + 1, len(sweeps) - 1) if len(away) else 0
    return sweeps[first], seconds[first]


def tables(results):
    """Accuracy after some sweeps, and when each algorithm arrives."""
    names = [name for name in NAMES if name in results]
    tables = {}
    for what, group, shown in (
        ("sweeps", [name for name in names if name != "gibbs"], _SHOWN),
        ("gibbs_sweeps", [name for name in names if name == "gibbs"], _GIBBS_SHOWN),
    ):
        lines = [[METHODS[name].title, *_at(results[name], shown)] for name in group]
        header = ["after sweep", *(f"{sweep:,}" for sweep in shown)]
        tables[what] = Table(header, lines, "Accuracy in per cent, mean of the starts")
    lines = []
    for name in names:
        found = results[name]
        sweeps, seconds, _ = mean_curve(found)
        last = plus_minus([one["accuracy"][-1] for one in found["curves"]], 2, 100)
        here = arrival(found)
        per_sweep = 1000 * seconds[-1] / sweeps[-1]
        lines.append(
            [METHODS[name].title, f"{sweeps[-1]:,}", last, f"{here[0]:,}"]
            + [f"{here[1]:.2f}", f"{seconds[-1]:.2f}", f"{per_sweep:.1f}"]
        )
    header = ["", "sweeps", "accuracy, %", "arrived at sweep", "after seconds", "seconds, all"]
    title = "When the mean is within 0.2 points of its last value (processor seconds)"
    return tables | {"arrival": Table([*header, "ms per sweep"], lines, title)}


def _at(found, shown):
    sweeps, _, accuracies = mean_curve(found)
    by_sweep = dict(zip(sweeps, accuracies, strict=True))
    return [f"{by_sweep[sweep]:.1f}" if sweep in by_sweep else "" for sweep in shown]


def draw(results, folder):
    """Accuracy by sweep and by second."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.4, 4.2), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    colours = algorithm_colours(METHODS[name].title for name in NAMES)
    for marker, colour, name in zip("os^DP", colours, NAMES, strict=True):
        if name not in results:
            continue
        sweeps, seconds, accuracies = mean_curve(results[name])
        style = {"marker": marker, "markersize": 3.5, "lw": 1.2, "color": colour}
        style["label"] = METHODS[name].title
        panels[0].plot(sweeps, accuracies, **style)
        panels[1].plot(seconds, accuracies, **style)
    panels[0].set_xlabel("sweeps (logarithmic scale)")
    panels[1].set_xlabel("processor seconds (logarithmic scale)")
    panels[0].set_ylabel("token accuracy (%)")
    for panel in panels:
        panel.set_xscale("log")
        panel.xaxis.set_major_formatter("{x:,g}")
        panel.grid(alpha=0.3)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper", frameon=False)
    figure.savefig(folder / "figure5_accuracy.png", dpi=110)
