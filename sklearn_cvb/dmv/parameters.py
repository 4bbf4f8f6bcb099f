"""From counts to weights: the cells of the model, posterior means, exp E[log]."""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma

from sklearn_cvb.annotations import Numbers


class DMVCounts(NamedTuple):
    """Posterior (expected or sampled) counts of a dependency model with valence.

    Attributes
    ----------
    root : ndarray of shape (n_types,)
        Expected number of sentences whose root is each tag.
    attach : ndarray of shape (n_types, 2, n_types)
        Of arcs, by head, side of the child (0 left, 1 right) and child.
    stop : ndarray of shape (n_types, 2, 2, 2)
        Of decisions, by head, side, valence (0 without and 1 with a child on that side) and what is
        decided (0 to stop, 1 to go on).
    """

    root: np.ndarray
    attach: np.ndarray
    stop: np.ndarray


def n_cells_of(n_types: int) -> int:
    """Number of parameters."""
    return (2 * n_types + 9) * n_types


def n_types_of(cells: np.ndarray) -> int:
    """Number of tags: there are 2 W * W + W + 8 W cells."""
    return round(((81 + 8 * len(cells)) ** 0.5 - 9) / 4)


def tables_of(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Views of flat cells: attachments in rows of n_types, the root's the last; choices in pairs.

    The order is that of `sklearn_cvb.kernels.dependency.arrays`.
    """
    n = n_types_of(cells)
    cut = (2 * n + 1) * n
    return cells[:cut].reshape(2 * n + 1, n), cells[cut:].reshape(4 * n, 2)


def counts_from(cells: np.ndarray) -> DMVCounts:
    """Flat cells as tables."""
    attach, choice = tables_of(cells)
    n = attach.shape[1]
    return DMVCounts(attach[-1], attach[:-1].reshape(n, 2, n), choice.reshape(n, 2, 2, 2))


def cells_from(counts: DMVCounts) -> np.ndarray:
    """Tables as flat cells, in a new array."""
    parts = counts.attach, counts.root, counts.stop
    return np.concatenate([np.ravel(part) for part in parts]).astype(np.float64)


def prior_of(n_types: int, alpha: float, alpha_stop: float) -> np.ndarray:
    """One concentration for all cells of attachments, the root's among them, one for choices."""
    return np.repeat([alpha, alpha_stop], [(2 * n_types + 1) * n_types, 8 * n_types])


def totals_of(cells: np.ndarray) -> np.ndarray:
    """Sums of rows."""
    return np.concatenate([table.sum(axis=1) for table in tables_of(cells)])


def by_cell(totals: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """The value of its row for each cell."""
    attach, choice = tables_of(cells)
    widths = np.repeat([attach.shape[1], 2], [len(attach), len(choice)])
    return np.repeat(totals, widths)


def posterior_mean(cells: np.ndarray, prior: Numbers, kept: np.ndarray | None) -> np.ndarray:
    """(C + alpha) / (sum of the row); a row without count and prior keeps its values.

    Parameters
    ----------
    cells, prior : ndarray of shape (n_cells,)
    kept : ndarray of shape (n_cells,) or None
        None where every row has count or prior; else equal shares are kept.

    Returns
    -------
    ndarray of shape (n_cells,)
    """
    above = cells + prior
    totals = totals_of(above)
    below = by_cell(totals, above)
    if totals.all():
        return above / below
    kept = uniform_weights(cells) if kept is None else kept
    return np.where(below > 0, above / np.where(below > 0, below, 1.0), kept)


def uniform_weights(cells: np.ndarray) -> np.ndarray:
    """Equal weights in each row."""
    return 1.0 / by_cell(totals_of(np.ones_like(cells)), cells)


def exp_expected_log(cells: np.ndarray, prior: Numbers) -> np.ndarray:
    """exp(E[log theta]) under the Dirichlet posterior."""
    above = cells + prior
    return np.exp(digamma(above) - by_cell(digamma(totals_of(above)), above))
