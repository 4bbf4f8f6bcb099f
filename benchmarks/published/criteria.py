"""Which criterion picks alpha and beta well: the grid of table 1 on 1,000 sentences.

Three criteria need no tags: the objective of the fit (VB's bound, CVB's leave-one-out score), and
the perplexity of held-out sentences. The accuracy on held-out sentences needs them.
"""

from functools import partial
from itertools import product
from statistics import fmean

import numpy as np
from scipy.stats import spearmanr
from sklearn.model_selection import train_test_split

from benchmarks.published.tables import Table
from benchmarks.published.taggers import CONCENTRATIONS, METHODS, SWEEPS, tagger_of
from benchmarks.published.text import first_sentences
from sklearn_cvb import Symbols
from sklearn_cvb.metrics import token_accuracy

NAMES = ("vb", "cvb-token", "cvb-sequence")
OBJECTIVES = {"vb": "bound", "cvb-token": "leave-one-out", "cvb-sequence": "leave-one-out"}
CRITERIA = {
    "objective": "objective of the fit",
    "likelihood": "held-out perplexity",
    "held_out": "held-out accuracy (needs tags)",
}


def cell(name, text, parts, values, sweeps, n_starts):
    """What a fit with one pair of values says of itself, and how well it tags.

    `name`: key of `METHODS`. `parts`: sentences to learn from, held-out sentences, and the latter's
    tags. `values`: alpha and beta. Returns means over the starts: ``accuracy`` of the training tags
    and ``objective`` after a fit to all sentences; ``likelihood`` (nats per token) and accuracy
    ``held_out`` after one to a part.
    """
    alpha, beta = values
    training, test, gold = parts
    rows = []
    for seed in range(n_starts):
        tagger = tagger_of(name, text, sweeps, alpha=alpha, beta=beta, random_state=seed)
        tagger.set_params(emission=Symbols(handle_unknown="error")).fit(text.X)
        accuracy, objective = token_accuracy(text.y, tagger.labels_), tagger.objective_
        tagger.set_params(emission=Symbols(handle_unknown="rare")).fit(training)
        rows.append((accuracy, objective, tagger.score(test), tagger.score(test, gold)))
    names = ("accuracy", "objective", "likelihood", "held_out")
    means = {key: fmean(column) for key, column in zip(names, zip(*rows, strict=True), strict=True)}
    return {"alpha": alpha, "beta": beta, **means}


def grid(name, settings):
    """All cells of a method."""
    n, sweeps, n_starts, values = 1000, SWEEPS, 1, CONCENTRATIONS
    if settings.quick:
        n, sweeps, n_starts, values = 200, 15, 1, (0.01, 0.1, 1.0)
    text = first_sentences(settings, n)
    training, test, _, gold = train_test_split(text.X, text.y, test_size=0.1, random_state=0)
    parts = (training, test, gold)
    pairs = product(values, values)
    return {"cells": [cell(name, text, parts, pair, sweeps, n_starts) for pair in pairs]}


PARTS = {name: partial(grid, name) for name in NAMES}


def judged(cells, criterion):
    """The cell that a criterion picks, and its rank correlation with the accuracy."""
    picked = max(cells, key=lambda one: one[criterion])
    columns = ([one[key] for one in cells] for key in (criterion, "accuracy"))
    return picked, float(spearmanr(*columns).statistic)


def tables(results):
    """What each criterion picks, beside the best cell."""
    header = ["", "criterion", "alpha, beta", "accuracy, %", "rank correlation"]
    lines = []
    for name in (name for name in NAMES if name in results):
        cells = results[name]["cells"]
        best = max(cells, key=lambda one: one["accuracy"])
        worst = min(cells, key=lambda one: one["accuracy"])
        lines.append([METHODS[name].title, "best of the grid", *_picked(best), ""])
        for criterion, title in CRITERIA.items():
            picked, correlation = judged(cells, criterion)
            if criterion == "objective":
                title = f"{title}: {OBJECTIVES[name]}"
            lines.append(["", title, *_picked(picked), f"{correlation:.2f}"])
        lines.append(["", "worst of the grid", *_picked(worst), ""])
    title = "Accuracy of the training tags where each criterion is highest; correlation with it"
    return {"choices": Table(header, lines, title)}


def _picked(one):
    return [f"{one['alpha']:g}, {one['beta']:g}", f"{100 * one['accuracy']:.1f}"]


def draw(results, folder):
    """Accuracy over the grid, one panel a method."""
    from matplotlib.figure import Figure

    names = [name for name in NAMES if name in results]
    figure = Figure(figsize=(3.4 * len(names) + 1.0, 3.8), layout="constrained")
    panels = figure.subplots(1, len(names), squeeze=False)[0]
    tables = {name: _as_table(results[name]["cells"]) for name in names}
    low = min(table[2].min() for table in tables.values())
    high = max(table[2].max() for table in tables.values())
    for panel, name in zip(panels, names, strict=True):
        alphas, betas, table = tables[name]
        image = panel.imshow(table, origin="lower", vmin=low, vmax=high, cmap="viridis")
        panel.set_xticks(range(len(betas)), [f"{beta:g}" for beta in betas])
        panel.set_yticks(range(len(alphas)), [f"{alpha:g}" for alpha in alphas])
        panel.set(title=METHODS[name].title, xlabel="beta")
        middle = (low + high) / 2
        for (row, column), value in np.ndenumerate(table):
            colour = "black" if value > middle else "white"
            panel.text(
                column, row, f"{value:.1f}", ha="center", va="center", color=colour, fontsize=8
            )
    panels[0].set_ylabel("alpha")
    figure.colorbar(image, ax=panels, label="token accuracy (%)", shrink=0.8)
    figure.savefig(folder / "criteria_grid.png", dpi=110)


def _as_table(cells):
    """alphas, betas, and accuracies in per cent, one row for each alpha."""
    alphas, betas = (sorted({one[key] for one in cells}) for key in ("alpha", "beta"))
    table = np.empty((len(alphas), len(betas)))
    for one in cells:
        place = alphas.index(one["alpha"]), betas.index(one["beta"])
        table[place] = 100 * one["accuracy"]
    return alphas, betas, table
