"""Held-out likelihood of real series of numbers: EM, VB, CVB and Gibbs by number of states.

A fifth at a time is held out. Of one long series that is a block in the middle of it, which is
missing while the model learns; what is scored is its probability given all the rest. Of several
sequences it is every fifth one.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from benchmarks.published.series_data import READERS
from benchmarks.published.series_tables import draw, tables
from benchmarks.published.settings import run_parts
from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM
from sklearn_cvb.emissions import Gaussian, Poisson

__all__ = ["MODELS", "PARTS", "draw", "run", "tables"]

N_STATES, QUICK_N_STATES = (1, 2, 3, 4, 6, 8), (1, 2)
N_FOLDS, QUICK_N_FOLDS = 5, 2
N_SEEDS = 3
N_SAMPLER_SWEEPS, QUICK_N_SAMPLER_SWEEPS = 200, 10


class Model(NamedTuple):
    """How a model is shown, its class, its settings, whether EM's emissions get the prior."""

    title: str
    kind: type
    settings: dict
    has_prior: bool = False


MODELS = {
    "em": Model("EM", EMHMM, {}),
    "map": Model("EM with the prior", EMHMM, {"alpha": 0.1}, has_prior=True),
    "vb": Model("VB", VBHMM, {}),
    "cvb": Model("CVB", CVBHMM, {}),
    "gibbs": Model("Gibbs", GibbsHMM, {"max_iter": N_SAMPLER_SWEEPS}),
}


def emission(kind, has_prior=False):
    """What states emit; EM uses the prior where any of its numbers is given.

    Parameters
    ----------
    kind : {"diag", "full", "poisson"}
    has_prior : bool, default=False
        Whether EM is to have the default prior of the others.

    Returns
    -------
    Emission
    """
    if kind == "poisson":
        return Poisson(shape_prior=1.0) if has_prior else Poisson()
    return Gaussian(kind, mean_precision_prior=0.01) if has_prior else Gaussian(kind)


def held_out(model, X, fold, n_folds):
    """Mean log density of what is held out, given what is learned from (nats a step).

    Parameters
    ----------
    model : estimator
    X : list of ndarray of shape (length, n_columns)
        One series, or several sequences.
    fold : int
    n_folds : int

    Returns
    -------
    float
    """
    if len(X) > 1:
        model.fit([x for i, x in enumerate(X) if i % n_folds != fold])
        return float(model.score(X[fold::n_folds]))
    (series,) = X
    begin, end = (len(series) * k // n_folds for k in (fold, fold + 1))
    rest = series.copy()
    rest[begin:end] = np.nan
    model.fit([rest])
    with_block, without = model.score_samples([series])[0], model.score_samples([rest])[0]
    n_observed = np.isfinite(series[begin:end]).all(axis=1).sum()
    return float((with_block - without) / n_observed)


def part(name, settings):
    """All models on a series, by emission and number of states.

    Parameters
    ----------
    name : str
        A key of `READERS`.
    settings : Settings

    Returns
    -------
    dict
        ``["found"][emission][model][number of states]``: for each seed its folds.
    """
    series = READERS[name](settings)
    numbers = QUICK_N_STATES if settings.quick else N_STATES
    found = {
        kind: {
            key: {str(n): _runs(MODELS[key], series.X, kind, n, settings) for n in numbers}
            for key in MODELS
        }
        for kind in series.kinds
    }
    n_steps = sum(map(len, series.X))
    return {
        "title": series.title,
        "n_steps": n_steps,
        "n_columns": series.X[0].shape[1],
        "found": found,
    }


def _runs(model, X, kind, n_components, settings):
    """For each seed the held-out log density of each fold."""
    changes = {}
    is_sampler = model.kind is GibbsHMM
    if is_sampler and settings.quick:
        changes = {"max_iter": QUICK_N_SAMPLER_SWEEPS}
    n_seeds = 1 if is_sampler or settings.quick else N_SEEDS
    n_folds = QUICK_N_FOLDS if settings.quick else N_FOLDS
    runs = []
    for seed in range(n_seeds):
        chosen = model.settings | changes | {"random_state": seed}
        fit = model.kind(n_components, emission=emission(kind, model.has_prior), **chosen)
        runs.append([held_out(fit, X, fold, n_folds) for fold in range(n_folds)])
    return runs


def regimes(settings):
    """States of the whole US economy under CVB: what the picture shows."""
    (table,) = READERS["economy"](settings).X
    model = CVBHMM(3, emission=Gaussian("full"), n_init=5, random_state=0).fit([table])
    return {
        "growth": table[:, 0].tolist(),
        "states": np.asarray(model.labels_[0]).tolist(),
        "means": model.means_[:, 0].tolist(),
    }


PARTS = {name: partial(part, name) for name in READERS} | {"regimes": regimes}


def run(settings):
    """Measure all series.

    Parameters
    ----------
    settings : Settings

    Returns
    -------
    dict
    """
    return run_parts(PARTS, settings)
