"""The best tree of a sentence, told by the parts of each cell, read from the top."""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.latent.arrays import NONE

# An upper item with the same symbol below it, which is one node with it.
SAME = -2


class Best(NamedTuple):
    """The best part of a tree below each cell; a symbol as a whole is told by its first cell.

    Attributes
    ----------
    score : ndarray of shape (n_cells,)
        Its log; -inf where there is none.
    left, right : ndarray of shape (n_cells,), int64
        Cells below it: two parts; or a lower item and `NONE`, or `SAME` if no unary rule is
        between; or `NONE` twice above a word.
    """

    score: np.ndarray
    left: np.ndarray
    right: np.ndarray


def best_for(n_cells: int) -> Best:
    """Room for a sentence with so many cells."""
    return Best(np.full(n_cells, -np.inf), *np.full((2, n_cells), NONE, np.int64))
