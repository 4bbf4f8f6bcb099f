"""Tables and the picture of the experiment on heads."""

import numpy as np

from benchmarks.published.dmv_models import BASELINES, CHANGES, MODELS
from benchmarks.published.dmv_treebanks import CLASSES, TREEBANKS
from benchmarks.published.tables import Table, spread
from sklearn_cvb.metrics import directed_accuracy, undirected_accuracy

# Longest sentences to be scored on; None for all.
SCORED = (10, 20, None)
MEASURES = {"directed": directed_accuracy, "undirected": undirected_accuracy}


def pooled(folds):
    """Share of all tokens that are right."""
    total = sum(n for _, n in folds)
    return sum(share * n for share, n in folds) / total


def tables(results):
    """Accuracies of all models, a table for each treebank and measure."""
    names = [name for name in TREEBANKS if name in results]
    found = {
        f"{name}_{measure}": _table(results[name], TREEBANKS[name][0], measure)
        for name in names
        for measure in MEASURES
    }
    found["tags"] = _classes_table(names)
    if "changes" in results:
        found["changes"] = _changes_table(results["changes"]["models"])
    if "chains" in results:
        found["chains"] = _chains_table(**results["chains"])
    return found


def _limits():
    return ["all" if limit is None else f"to {limit}" for limit in SCORED]


def _table(found, treebank, measure):
    """Columns by the longest sentence learned from, and within these by the longest scored."""
    columns = list(next(iter(found["models"].values())))
    keys = [key for key in MODELS if key in found["models"]]
    header = ["learned from sentences to, scored on sentences"]
    header += [f"{longest}, {limit}" for longest in columns for limit in _limits()]
    header += ["deviation of the folds, first column"]
    lines = []
    for key in keys:
        by_length = found["models"][key]
        cells = [folds for longest in columns for folds in by_length[longest][measure]]
        lines.append(_line(MODELS[key].title, cells))
    for key, one in found["baselines"].items():
        lines.append(_line(BASELINES[key][0], one[measure] * len(columns)))
    return Table(header, lines, f"{treebank}: {measure} accuracy (%)")


def _literals(tags):
    """Tags as they are, whatever their marks mean in a page."""
    return ", ".join(f"``{tag}``" for tag in tags)


def _classes_table(names):
    """The tags of the classes of words that rules speak of."""
    lines = [
        [kind, *(_literals(CLASSES[name].get(kind, ())) for name in names)]
        for kind in CLASSES["english"]
    ]
    header = ["class of words", *(TREEBANKS[name][0] for name in names)]
    return Table(header, lines, "Tags that the rules speak of")


def _changes_table(found):
    """Accuracies of the staged fit with one setting changed, and its worst and best fold."""
    header = ["changed", *(f"scored on sentences {limit}" for limit in _limits())]
    header += ["worst fold, to 10", "best fold, to 10"]
    lines = []
    for key in found:
        cells = found[key]["directed"]
        shares = [share for share, _ in cells[0]]
        figures = [*map(pooled, cells), min(shares), max(shares)]
        lines.append([CHANGES[key].title, *(f"{100 * figure:.1f}" for figure in figures)])
    title = f"English: {MODELS['staged'].title}, learned from sentences to 20, directed (%)"
    return Table(header, lines, title)


def _chains_table(shares, objectives, **_):
    """Accuracy of each chain, and of the best chain of each fold by its objective."""
    shares, best = np.array(shares), np.argmax(objectives, axis=0)
    lines = [[f"seed {seed}", *_percent(row)] for seed, row in enumerate(shares)]
    lines.append(["mean", *_percent(shares.mean(axis=0))])
    lines.append(["the best objective", *_percent(shares[best, np.arange(shares.shape[1])])])
    header = ["", *(f"fold {k + 1}" for k in range(shares.shape[1])), "mean"]
    title = "English: chains of Gibbs, learned from and scored on sentences to 10, directed (%)"
    return Table(header, lines, title)


def _percent(shares):
    return [f"{100 * share:.1f}" for share in (*shares, np.mean(shares))]


def _line(title, cells):
    deviation = 100 * spread([share for share, _ in cells[0]]).deviation
    return [title, *(f"{100 * pooled(folds):.1f}" for folds in cells), f"{deviation:.1f}"]


def draw(results, folder):
    """Directed accuracy by model, a panel for each treebank.

    Parameters
    ----------
    results : dict
    folder : pathlib.Path
    """
    from matplotlib.figure import Figure

    names = [name for name in TREEBANKS if name in results]
    if not names:
        return
    figure = Figure(
        figsize=(4.2 + 1.9 * len(names), 1.6 + 0.24 * len(MODELS)), layout="constrained"
    )
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    keys = [key for key in MODELS if key in results[names[0]]["models"]]
    rows = [MODELS[key].title for key in keys] + [title for title, _ in BASELINES.values()]
    for panel, name in zip(panels, names, strict=True):
        found = results[name]
        longest = list(found["models"][keys[0]])[-1]
        for limit, marker in zip(range(len(SCORED)), "osD", strict=True):
            cells = [found["models"][key][longest]["directed"][limit] for key in keys]
            cells += [found["baselines"][key]["directed"][limit] for key in BASELINES]
            values = [100 * pooled(folds) for folds in cells]
            label = f"sentences {_limits()[limit]}".replace("sentences all", "all sentences")
            panel.plot(values, range(len(rows)), marker, markersize=5, label=label)
        panel.axhline(len(keys) - 0.5, color="0.5", linewidth=0.8)
        panel.set(title=TREEBANKS[name][0].replace(", ", "\n"), xlim=(0, 90))
        panel.grid(alpha=0.3)
    panels[0].set_yticks(range(len(rows)), labels=rows)
    panels[0].invert_yaxis()
    figure.supxlabel(f"directed accuracy (%), learned from sentences of up to {longest} tokens")
    lines = panels[0].get_legend_handles_labels()
    figure.legend(*lines, loc="outside upper right", ncols=3, frameon=False, title="scored on")
    figure.savefig(folder / "dmv_accuracy.png", dpi=110)
