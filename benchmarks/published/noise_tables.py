"""Tables and the picture of the experiment on wrong tags in dictionaries."""

import numpy as np
from scipy.stats import spearmanr

from benchmarks.published.tables import Table, plus_minus
from sklearn_cvb.demo.experiment import ALGORITHMS

TITLES = {"wsj": "Wall Street Journal", "brown": "Brown", "mac_morpho": "Mac-Morpho"}
# What each algorithm reports without any tagged text.
CRITERIA = {
    "vb": ("bound", "held-out"),
    "cvb-token": ("leave-one-out", "held-out"),
    "cvb-sequence": ("leave-one-out", "held-out"),
}


def choice(grid, criterion):
    """What a criterion chooses from a grid.

    Returns
    -------
    dict
        ``"chosen"``, ``"best"``: accuracies of the choice and of the best of the grid;
        ``"at"``: alpha and beta of the choice; ``"rank"``: Spearman's correlation with accuracy.
    """
    scores = [point[criterion] for point in grid]
    accuracies = [point["accuracy"] for point in grid]
    pick = grid[int(np.argmax(scores))]
    return {
        "chosen": pick["accuracy"],
        "at": (pick["alpha"], pick["beta"]),
        "best": max(accuracies),
        "rank": float(spearmanr(scores, accuracies).statistic),
    }


def tables(results):
    """Accuracies by condition, and what each criterion chooses."""
    found = {}
    if "defaults" in results:
        found["defaults"] = _default_table(results["defaults"])
    if "dictionaries" in results:
        found |= _accuracy_tables(results["dictionaries"])
    if "strengths" in results:
        found["strengths"] = _strength_table(results["strengths"])
    if "concentrations" in results:
        found["concentrations"] = _choice_table(results["concentrations"])
    return found


def _default_table(results):
    rows = results["rows"]
    header = ["CVB sequence"]
    header += [TITLES[row["corpus"]] + ", first letters" * row["coarse"] for row in rows]
    cells = [
        [step, *(plus_minus(row["accuracies"][step], scale=100) for row in rows)]
        for step in rows[0]["accuracies"]
    ]
    title = (
        f"No labels, no counts, {results['slices']} slices of {results['sentences']:,} sentences"
    )
    return Table(header, cells, f"{title}: % of tokens right")


def _heading(condition):
    return f"{condition} labelled" if condition.split(", ")[-1].isdigit() else condition


def _accuracy_tables(results):
    """One table for each text."""
    found = {}
    for corpus in dict.fromkeys(row["corpus"] for row in results["rows"]):
        rows = [row for row in results["rows"] if row["corpus"] == corpus]
        conditions = list(rows[0]["accuracies"])
        cells = [
            [
                row["rate"],
                plus_minus(row["tags"], digits=2),
                ALGORITHMS[name].title,
                *(plus_minus(row["accuracies"][c][name], scale=100) for c in conditions),
            ]
            for row in rows
            for name in rows[0]["accuracies"][conditions[0]]
        ]
        header = ["slips per 100 types", "tags a token", "algorithm", *map(_heading, conditions)]
        title = f"{TITLES[corpus]}, {results['sentences']:,} sentences: % of tokens right"
        found[corpus] = Table(header, cells, title)
    return found


def _strength_table(results):
    names = list(results["rows"][0]["accuracies"])
    header = ["text", "slips", "dictionary", "dictionary_weight"]
    header += [ALGORITHMS[name].title for name in names]
    cells = [
        [TITLES[row["corpus"]], row["rate"], row["condition"], f"{row['strength']:g}"]
        + [f"{100 * row['accuracies'][name]:.1f}" for name in names]
        for row in results["rows"]
    ]
    return Table(header, cells, "How much the weights count: % of tokens right")


def _choice_table(results):
    header = ["text", "slips", "dictionary", "algorithm", "best of grid", "criterion"]
    header += ["its choice", "alpha, beta", "rank correlation"]
    cells = []
    for row in results["rows"]:
        for criterion in CRITERIA[row["algorithm"]]:
            found = choice(row["grid"], criterion)
            cells.append(
                [
                    TITLES[row["corpus"]],
                    row["rate"],
                    row["condition"],
                    ALGORITHMS[row["algorithm"]].title,
                    f"{100 * found['best']:.1f}",
                    criterion,
                    f"{100 * found['chosen']:.1f}",
                    "{:g}, {:g}".format(*found["at"]),
                    f"{found['rank']:.2f}",
                ]
            )
    return Table(header, cells, "Choosing alpha and beta without labels: % of tokens right")


def draw(results, folder):
    """Accuracy by rate of slips, one panel for each algorithm and text.

    Parameters
    ----------
    results : dict
    folder : pathlib.Path
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    if "dictionaries" not in results:
        return
    found = results["dictionaries"]["rows"]
    corpora = list(dict.fromkeys(row["corpus"] for row in found))
    names = list(next(iter(found[0]["accuracies"].values())))
    figure, axes = plt.subplots(
        len(corpora),
        len(names),
        figsize=(2.6 * len(names) + 1.5, 2.6 * len(corpora) + 0.8),
        sharex=True,
        sharey="row",
        squeeze=False,
        layout="constrained",
    )
    for line, corpus in zip(axes, corpora, strict=True):
        rows = [row for row in found if row["corpus"] == corpus]
        for axis, name in zip(line, names, strict=True):
            _draw_panel(axis, rows, name)
            axis.set_title(f"{ALGORITHMS[name].title}, {TITLES[corpus]}", fontsize=9)
        line[0].set_ylabel("% of tokens right")
    for axis in axes[-1]:
        axis.set_xlabel("slips per 100 word types")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5)
    figure.savefig(folder / "noise_accuracy.png", dpi=120)
    plt.close(figure)


def _draw_panel(axis, rows, name):
    rates = [row["rate"] for row in rows]
    for condition in rows[0]["accuracies"]:
        means = [100 * np.mean(row["accuracies"][condition][name]) for row in rows]
        dashed = condition.split(", ")[-1].isdigit()
        axis.plot(rates, means, "o--" if dashed else "s-", ms=3, label=_heading(condition))
    axis.grid(alpha=0.3)
    axis.set_xticks(rates)
