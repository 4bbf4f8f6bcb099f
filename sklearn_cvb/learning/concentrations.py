"""Concentrations of Dirichlet priors that are learned while fitting, whatever the model.

Wang and Blunsom (2013), eq. 29: one step a sweep from the same counts, none in the first sweeps.
The step itself is `sklearn_cvb.learning.dirichlet.fixed_point` or `ascend`.
"""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.learning import dirichlet

# Learned concentrations start here and rest while the posteriors are still those of the start.
FIRST_VALUE = 0.1
WARM_UP_SWEEPS = 20
# Below this expected count P(C > 0) is the count itself: a product of 1 - q has no digits left.
_SMALL_COUNT = 1e-6


class Rows(NamedTuple):
    """Rows of one table that share a symmetric prior, and how surely their counts are positive.

    Attributes
    ----------
    counts : ndarray of shape (n_cells,)
        Counts of the listed cells of all rows.
    present : ndarray of shape (n_cells,)
        P(C > 0) of each.
    totals : ndarray of shape (n_rows,)
        Totals of the rows.
    totals_present : ndarray of shape (n_rows,)
        P(C > 0) of each.
    width : int
        Number of cells in a row, listed or not.
    """

    counts: np.ndarray
    present: np.ndarray
    totals: np.ndarray
    totals_present: np.ndarray
    width: int


def first_value(concentration: Any) -> float:
    """The concentration of the first sweep; "auto" and a prior mark one to learn."""
    return float(concentration) if isinstance(concentration, Real) else FIRST_VALUE


def rests(is_learned: bool, n_sweeps: int) -> bool:
    """Whether a concentration stays as it is after `n_sweeps`."""
    return not is_learned or n_sweeps < WARM_UP_SWEEPS


def log_density(value: float, is_learned: bool, gamma: tuple[float, float]) -> float:
    """Log density of a learned concentration under its Gamma prior (nats); 0 for a fixed one."""
    return dirichlet.log_gamma_prior(value, *gamma) if is_learned else 0.0


def present(missing: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """P(C > 0) of counts with mean `expected` that are 0 with probability `missing`."""
    return np.where(expected < _SMALL_COUNT, np.minimum(expected, 1.0), 1.0 - missing)
