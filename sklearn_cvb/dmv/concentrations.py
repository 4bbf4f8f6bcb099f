"""The Dirichlet priors of attachments and of decisions: two concentrations, given or learned."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb import concentrations as shared
from sklearn_cvb.concentrations import Rows
from sklearn_cvb.dmv.inference import cells_by_length
from sklearn_cvb.dmv.parameters import n_cells_of, n_types_of, prior_of, totals_of
from sklearn_cvb.kernels.dependency.arrays import Sentences, Shares


class Concentrations(NamedTuple):
    """Concentrations of a sweep.

    Attributes
    ----------
    values : tuple of float
        Of attachments and roots, and of decisions.
    learned : tuple of bool
        Which of them are learned.
    tied : bool
        Whether they are one.
    gamma : tuple (shape, rate)
        Prior of what is learned.
    """

    values: tuple[float, ...]
    learned: tuple[bool, ...]
    tied: bool
    gamma: tuple[float, float]

    def prior(self, n_types: int) -> np.ndarray:
        """The prior of each cell."""
        return prior_of(n_types, *self.values)

    def log_density(self) -> float:
        """Log density of what is learned under its prior (nats)."""
        pairs = list(zip(self.values, self.learned, strict=True))
        once = pairs[:1] if self.tied else pairs
        return sum(shared.log_density(value, learned, self.gamma) for value, learned in once)


def first_concentrations(
    alpha: float | str, alpha_stop: float | str | None, gamma: tuple[float, float]
) -> Concentrations:
    """Those of the first sweep; "auto" marks one to learn, None is as the other."""
    settings = (alpha, alpha if alpha_stop is None else alpha_stop)
    first, second = map(shared.first_value, settings)
    learned = settings[0] == "auto", settings[1] == "auto"
    return Concentrations((first, second), learned, alpha_stop is None, gamma)


def learn(
    now: Concentrations,
    counts: np.ndarray,
    n_sweeps: int,
    step: Callable,
    presence: Callable | None = None,
) -> Concentrations:
    """One step for what is learned; none in the warm-up.

    Parameters
    ----------
    now : Concentrations
    counts : ndarray of shape (n_cells,)
    n_sweeps : int
        Sweeps done so far.
    step : callable
        `dirichlet.fixed_point` or `dirichlet.ascend`.
    presence : callable, default=None
        ``presence() -> (cells, totals)``: P(C > 0) of every cell and row; None for the plain form
        of eq. 29 of Wang and Blunsom (2013, HMM).

    Returns
    -------
    Concentrations
    """
    if shared.rests(any(now.learned), n_sweeps):
        return now
    totals = totals_of(counts)
    cells, rows = (np.ones_like(counts), np.ones_like(totals)) if presence is None else presence()
    n = n_types_of(counts)
    cut, n_rows = (2 * n + 1) * n, 2 * n + 1
    parts = (slice(0, cut), slice(0, n_rows), n), (slice(cut, None), slice(n_rows, None), 2)
    tables = [Rows(counts[a], cells[a], totals[b], rows[b], width) for a, b, width in parts]
    if now.tied:
        value = step(now.values[0], tables, *now.gamma)
        return now._replace(values=(value, value))
    first, second = (
        step(value, [table], *now.gamma) if learned else value
        for value, learned, table in zip(now.values, now.learned, tables, strict=True)
    )
    return now._replace(values=(first, second))


def presence(shares: Shares, sentences: Sentences) -> tuple[np.ndarray, np.ndarray]:
    """P(C > 0) of every cell and row, sentences taken as independent.

    A sentence uses a cell with a probability of at most its expected count there.
    """
    n = sentences.n_types
    n_rows, cut = 6 * n + 1, (2 * n + 1) * n
    absent = [np.zeros(n_cells_of(n)), np.zeros(n_rows)]
    for which, arcs, choices in cells_by_length(sentences):
        length = arcs.shape[1]
        places = shares.first[which][:, None] + np.arange(length * (length + 8))
        cells = np.hstack([arcs.reshape(len(which), -1), cut + choices.reshape(len(which), -1)])
        rows = np.where(cells < cut, cells // n, 2 * n + 1 + (cells - cut) // 2)
        for total, index in zip(absent, (cells, rows), strict=True):
            keys = index + np.arange(len(which))[:, None] * len(total)
            keys, inverse = np.unique(keys, return_inverse=True)
            used = np.bincount(inverse.ravel(), shares.count[places].ravel(), len(keys))
            with np.errstate(divide="ignore"):
                logs = np.log1p(-np.clip(used, 0.0, 1.0))
            total += np.bincount(keys % len(total), logs, len(total))
    return -np.expm1(absent[0]), -np.expm1(absent[1])


def asked_of(estimator: Any) -> Concentrations:
    """What the parameters of an estimator ask for."""
    return first_concentrations(estimator.alpha, estimator.alpha_stop, estimator.alpha_prior)
