"""Beal (2003), section 3.5.2: telling Alice forwards from Alice backwards.

Models of forwards and of backwards sentences, characters as symbols, tell the direction of new
sentences by the larger probability. Around n = 2 sentences, k = 40 states and prior strength
u0 = 2, one of the three is varied at a time: the panels of figure 3.4.

Two readings of u0: the strength of each row's prior (its cells sum to u0: section 3.3 defines it
so), and the value of each cell.
"""

from functools import partial
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from benchmarks.published.beal import maximum_likelihood, mean_with_strength
from benchmarks.published.beal_alice_panels import LOG, METHODS, RATE, draw, tables
from benchmarks.published.settings import run_parts
from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM
from sklearn_cvb.datasets import fetch_alice

__all__ = ["PARTS", "draw", "run", "tables"]

ALPHABET = "abcdefghijklmnopqrstuvwxyz "
# Sentences of this length are trained on.
SHORTEST, LONGEST, MOST = 10, 100, 32
SWEEPS, TOLERANCE = 300, 1e-5


class Cell(NamedTuple):
    """Number of training sentences, of states, and prior strength."""

    n: int
    k: int
    u0: float


class Grid(NamedTuple):
    """What is varied around which cell, how often, and the size of the test."""

    centre: Cell
    n: tuple
    k: tuple
    u0: tuple
    n_runs: int
    n_test: int
    n_samples: int

    def cells(self):
        """The cells of each panel, by what is varied."""
        return {
            name: [self.centre._replace(**{name: value}) for value in getattr(self, name)]
            for name in Cell._fields
        }


FULL = Grid(
    Cell(2, 40, 2),
    (1, 2, 3, 4, 5, 6, 8, 16, 32),
    (1, 2, 4, 10, 20, 40, 60),
    (1, 2, 4, 8),
    10,
    200,
    10,
)
QUICK = Grid(Cell(2, 10, 2), (1, 2, 16), (1, 10, 20), (1, 2, 8), 2, 40, 4)


def part(reading, settings):
    """Fit and test all cells under one reading of u0.

    Parameters
    ----------
    reading : {"strength", "cell"}
    settings : Settings

    Returns
    -------
    dict
        ``"panels"``: for "n", "k" and "u0" the values and, by method, one list of runs for each
        value, with the log probability per symbol, the discrimination rate, and the share of test
        sentences that are impossible under both models.
    """
    grid = QUICK if settings.quick else FULL
    train, test = sentences(settings, grid.n_test)
    cells = sorted({cell for panel in grid.cells().values() for cell in panel})
    found = Parallel(n_jobs=settings.n_jobs, prefer="threads")(
        delayed(_run_cell)(cell, reading, seed, train, test, grid.n_samples)
        for cell in cells
        for seed in range(grid.n_runs)
    )
    runs = {cell: found[i * grid.n_runs : (i + 1) * grid.n_runs] for i, cell in enumerate(cells)}
    panels = {
        name: {
            "values": list(getattr(grid, name)),
            "methods": {
                method: [[one[method] for one in runs[cell]] for cell in panel]
                for method in METHODS
            },
        }
        for name, panel in grid.cells().items()
    }
    return {
        "reading": reading,
        "centre": grid.centre._asdict(),
        "n_runs": grid.n_runs,
        "n_test": len(test),
        "n_test_symbols": sum(map(len, test)),
        "panels": panels,
    }


PARTS = {"strength": partial(part, "strength"), "cell": partial(part, "cell")}


def run(settings):
    """Run both readings.

    Parameters
    ----------
    settings : Settings

    Returns
    -------
    dict
    """
    return run_parts(PARTS, settings)


def sentences(settings, n_test):
    """The first 32 sentences of 10 to 100 characters, and a fixed draw of those after them.

    Parameters
    ----------
    settings : Settings
    n_test : int

    Returns
    -------
    train, test : list of list of str
    """
    book = fetch_alice(data_home=settings.data_home).data
    medium = [i for i, one in enumerate(book) if SHORTEST <= len(one) <= LONGEST][:MOST]
    later = np.arange(medium[-1] + 1, len(book))
    drawn = np.random.default_rng(0).choice(later, size=n_test, replace=False)
    return [book[i] for i in medium], [book[i] for i in np.sort(drawn)]


def _run_cell(cell, reading, seed, train, test, n_samples):
    """One run of every method: both directions learned, both told apart."""
    forwards = fit_all(train[: cell.n], cell, reading, seed, n_samples)
    backwards = fit_all(reversed_all(train[: cell.n]), cell, reading, seed, n_samples)
    return {name: compared(forwards[name], backwards[name], test) for name in METHODS}


def reversed_all(X):
    """Every sequence backwards."""
    return [sequence[::-1] for sequence in X]


def fit_all(X, cell, reading, seed, n_samples):
    """All methods on the same sentences; the others start where ML ended.

    Parameters
    ----------
    X : list of sequences
    cell : Cell
    reading : {"strength", "cell"}
        What u0 is.
    seed : int
    n_samples : int
        Samples that Gibbs keeps.

    Returns
    -------
    dict of str to fitted estimator
    """
    ml = maximum_likelihood(X, cell.k, ALPHABET, seed, SWEEPS, TOLERANCE)
    alpha, beta = cell.u0, cell.u0
    if reading == "strength":
        alpha, beta = cell.u0 / cell.k, cell.u0 / len(ALPHABET)
    common = {
        "n_components": cell.k,
        "alpha": alpha,
        "beta": beta,
        "vocabulary": list(ALPHABET),
        "handle_unknown": "error",
        "random_state": seed,
    }
    batch = {"max_iter": SWEEPS, "tol": TOLERANCE}
    gibbs = {"max_iter": 100 * n_samples, "n_burn_in": 50 * n_samples, "thin": 50}
    return {
        "ML": ml,
        "MAP": EMHMM(init=ml, **common, **batch).fit(X),
        "VB": VBHMM(init=mean_with_strength(ml), **common, **batch).fit(X),
        "CVB": CVBHMM(init=ml, update="token", **common, **batch).fit(X),
        "Gibbs": GibbsHMM(init=ml, **common, **gibbs).fit(X),
    }


def compared(forwards, backwards, test):
    """How well a forwards and a backwards model know forwards sentences and tell directions.

    Parameters
    ----------
    forwards, backwards : fitted estimator
    test : list of sequences

    Returns
    -------
    dict
        "log probability" (nats per symbol of the forwards sentences under the forwards model; None
        where one of them is impossible), "discrimination" (share of all sentences, forwards and
        backwards, told right; half for a tie), "impossible" (share under both models).
    """
    turned = reversed_all(test)
    own = np.concatenate([forwards.score_samples(test), backwards.score_samples(turned)])
    other = np.concatenate([backwards.score_samples(test), forwards.score_samples(turned)])
    per_symbol = own[: len(test)].sum() / sum(map(len, test))
    return {
        LOG: float(per_symbol) if np.isfinite(per_symbol) else None,
        RATE: float(np.mean((own > other) + 0.5 * (own == other))),
        "impossible": float(np.mean(np.isneginf(own) & np.isneginf(other))),
    }
