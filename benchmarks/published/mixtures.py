"""Mixtures in each state beside plain normal emissions, on real series, held out.

States of two components each, beside as many states of one and beside twice as many: the same
number of normals, any of which may follow any other. Series and folds are those of `series`.
"""

from functools import partial

import numpy as np

from benchmarks.published.series import N_FOLDS, QUICK_N_FOLDS, READERS, held_out
from benchmarks.published.tables import Table, plus_minus
from sklearn_cvb import CVBHMM, EMHMM, VBHMM
from sklearn_cvb.emissions import Gaussian, Mixture

MODELS = {"EM": EMHMM, "VB": VBHMM, "CVB": CVBHMM}
SERIES = ("nile", "sunspots", "economy", "elnino", "co2", "vowels")
N_STATES, N_SEEDS = (2, 3), 1


def part(name, settings):
    """Held-out nats per step of each fold, by algorithm, number of states and emission."""
    series = READERS[name](settings)
    n_folds = QUICK_N_FOLDS if settings.quick else N_FOLDS
    cells = []
    for algorithm, kind in MODELS.items():
        for n in N_STATES[: 1 if settings.quick else None]:
            normal = Gaussian("diag")
            sides = (n, normal), (2 * n, normal), (n, Mixture(normal, n_components=2))
            scores = [_folds(kind, *side, series.X, n_folds, settings) for side in sides]
            cells.append({"algorithm": algorithm, "n": n, "scores": scores})
    return {"title": series.title, "cells": cells}


def _folds(kind, n_states, emission, X, n_folds, settings):
    """Mean over seeds of what each fold is worth."""
    found = []
    for seed in range(1 if settings.quick else N_SEEDS):
        model = kind(n_states, emission=emission, random_state=seed)
        found.append([held_out(model, X, fold, n_folds) for fold in range(n_folds)])
    return np.mean(found, axis=0).tolist()


PARTS = {name: partial(part, name) for name in SERIES}


def tables(results):
    """A line for each series and number of states, and how often mixtures are ahead."""
    header = ["", "states", "", "one normal", "twice the states", "two normals", "ahead of one"]
    lines, ahead = [], {name: [] for name in MODELS}
    for own in results.values():
        before = ("", "")
        for one in sorted(own["cells"], key=lambda cell: cell["n"]):
            told = own["title"], one["n"]
            shown = [new if new != last else "" for new, last in zip(told, before, strict=True)]
            plain, more, mixed = map(np.array, one["scores"])
            means = [f"{scores.mean():.3f}" for scores in (plain, more, mixed)]
            lines.append([*shown, one["algorithm"], *means, plus_minus(mixed - plain, 3)])
            ahead[one["algorithm"]].append((mixed - plain, mixed - more))
            before = told
    counted = [
        [name, len(cells), *_counts([one for one, _ in cells]), *_counts([two for _, two in cells])]
        for name, cells in ahead.items()
        if cells
    ]
    title = "Held-out log density, nats per step (deviation of the folds)"
    columns = ["", "cells", "ahead of one normal", "clearly", "behind", "clearly"]
    columns += ["ahead of twice the states", "clearly", "behind", "clearly"]
    told = "Series and numbers of states (clearly: by two standard errors)"
    return {
        "mixtures": Table(header, lines, title),
        "mixtures_counts": Table(columns, counted, told),
    }


def _counts(differences):
    """How often these are above 0 and clearly so, and below."""
    means = np.array([folds.mean() for folds in differences])
    errors = np.array([folds.std(ddof=1) / np.sqrt(len(folds)) for folds in differences])
    clear = np.abs(means) > 2 * errors
    return [
        int(own.sum()) for own in (means > 0, (means > 0) & clear, means < 0, (means < 0) & clear)
    ]


def draw(results, folder):
    """Nothing: the tables are the picture."""
