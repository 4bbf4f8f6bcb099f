"""The Dirichlet prior of rules: one concentration, one per symbol or rule, or learned."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb import dirichlet
from sklearn_cvb.learning.concentrations import FIRST_VALUE, WARM_UP_SWEEPS
from sklearn_cvb.pcfg.layout import Layout
from sklearn_cvb.validation import (
    InvalidParameterError,
    as_numbers,
    check_concentrations,
    check_gamma_prior,
)


class Alpha(NamedTuple):
    """Concentrations of a sweep.

    Attributes
    ----------
    cells : ndarray of shape (n_rules,)
    learned : bool
        Whether all are one value that is learned.
    gamma : tuple (shape, rate)
        Its prior.
    """

    cells: np.ndarray
    learned: bool
    gamma: tuple

    def public(self) -> float | np.ndarray:
        """The one value, or one per rule."""
        same = self.cells.min() == self.cells.max()
        return float(self.cells[0]) if same else self.cells

    def log_density(self) -> float:
        """Log density of the learned concentration under its prior (nats)."""
        return dirichlet.log_gamma_prior(self.cells[0], *self.gamma) if self.learned else 0.0


def check_alpha(estimator: Any) -> None:
    """Raise where `alpha` holds numbers out of range, or does not fit the grammar."""
    alpha, layout = estimator.alpha, estimator._layout
    check_gamma_prior("alpha_prior", estimator.alpha_prior)
    if isinstance(alpha, dict):
        symbols = layout.grammar.symbols
        missing = [label for label in symbols if label not in alpha]
        foreign = [label for label in alpha if label not in symbols]
        if missing or foreign:
            raise InvalidParameterError(
                f"alpha as a dict has one value for each symbol: {missing[:5]} are missing, "
                f"{foreign[:5]} are no symbols"
            )
        values = as_numbers("alpha", list(alpha.values()))
    elif isinstance(alpha, str):
        return
    else:
        values = as_numbers("alpha", alpha)
        if values.ndim > 0 and values.shape != layout.lhs.shape:
            raise InvalidParameterError(
                f"alpha as an array has one value for each of the {len(layout.lhs)} rules, got "
                f"shape {values.shape}"
            )
    if isinstance(alpha, dict) and values.ndim != 1:
        raise InvalidParameterError(
            f"alpha as a dict has one number for each symbol, got {alpha!r}"
        )
    check_concentrations("alpha", values, estimator._zero_alpha)


def first_alpha(alpha: Any, gamma: tuple[float, float], layout: Layout) -> Alpha:
    """The concentrations of the first sweep; "auto" marks one to learn."""
    learned = isinstance(alpha, str)
    if isinstance(alpha, dict):
        by_symbol = np.array([alpha[label] for label in layout.grammar.symbols], dtype=np.float64)
        cells = by_symbol[layout.lhs]
    else:
        cells = np.empty(len(layout.lhs))
        cells[:] = FIRST_VALUE if learned else alpha
    return Alpha(cells, learned, tuple(gamma))


def learn(
    alpha: Alpha,
    layout: Layout,
    counts: np.ndarray,
    n_sweeps: int,
    step: Callable,
    presence: Callable | None = None,
) -> Alpha:
    """One step for a learned concentration; none in the warm-up.

    Parameters
    ----------
    alpha : Alpha
    layout : Layout
    counts : ndarray of shape (n_rules,)
    n_sweeps : int
        Sweeps done so far.
    step : callable
        `dirichlet.fixed_point` or `dirichlet.ascend`.
    presence : callable, default=None
        ``presence() -> (cells, totals)``: P(C > 0) of every rule and left-hand side, or None
        where it is not known and nothing is learned; without it the plain form of eq. 29 of Wang
        and Blunsom (2013, HMM).

    Returns
    -------
    Alpha
    """
    if not alpha.learned or n_sweeps < WARM_UP_SWEEPS:
        return alpha
    totals = np.bincount(layout.lhs, counts, layout.n_lhs)
    surely = (np.ones_like(counts), np.ones_like(totals)) if presence is None else presence()
    if surely is None:
        return alpha
    present, totals_present = surely
    order = np.argsort(layout.lhs, kind="stable")
    widths = np.bincount(layout.lhs, minlength=layout.n_lhs)
    rows = [
        (counts[cells], present[cells], totals[[a]], totals_present[[a]], int(widths[a]))
        for a, cells in enumerate(np.split(order, np.cumsum(widths)[:-1]))
    ]
    value = step(alpha.cells[0], rows, *alpha.gamma)
    return alpha._replace(cells=np.full(len(counts), value))
