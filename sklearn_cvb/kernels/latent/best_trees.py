"""The best tree of a sentence, told by the parts of each cell, read from the top."""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit_called
from sklearn_cvb.kernels.latent.arrays import NONE

# An upper item with the same symbol below it, which is one node with it.
SAME = -2


class Best(NamedTuple):
    """The best part of a tree below each cell; a symbol as a whole is told by its first cell.

    Attributes
    ----------
    score : ndarray of shape (n_cells,)
        Its log; -inf where there is none.
    left, right : ndarray of shape (n_cells,), int32
        Cells below it: two parts; or a lower item and `NONE`, or `SAME` if no unary rule is
        between; or `NONE` twice above a word.
    """

    score: np.ndarray
    left: np.ndarray
    right: np.ndarray


class Nodes(NamedTuple):
    """Room for the nodes of a tree in pre-order, and for cells still to be read.

    Attributes
    ----------
    symbol, begin, end : ndarray of shape (n_nodes,), int64
    waiting : ndarray of shape (n_nodes,), int64
    """

    symbol: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    waiting: np.ndarray


def best_for(n_cells: int) -> Best:
    """Room for a sentence with so many cells."""
    left, right = (np.full(n_cells, NONE, np.int32) for _ in range(2))
    return Best(np.full(n_cells, -np.inf), left, right)


def nodes_for(longest: int) -> Nodes:
    """Room for a tree of up to so many words."""
    return Nodes(*(np.empty(4 * longest, np.int64) for _ in range(4)))


@jit_called
def read_tree(top, n_items, items, best, nodes):
    """Write the nodes of the best tree below a cell; returns their number.
    """
    size, n_waiting = 0, 1
    nodes.waiting[0] = top
    while n_waiting > 0:
        n_waiting -= 1
        cell = nodes.waiting[n_waiting]
        left, right = best.left[cell], best.right[cell]
        if right != SAME:
            low, high = 0, n_items
            while high - low > 1:
                middle = (low + high) // 2
                if items.first[middle] <= cell:
                    low = middle
                else:
                    high = middle
            nodes.symbol[size] = items.symbol[low]
            nodes.begin[size] = items.begin[low]
            nodes.end[size] = items.end[low]
            size += 1
        if right >= 0:
            nodes.waiting[n_waiting] = right
            n_waiting += 1
        if left >= 0:
            nodes.waiting[n_waiting] = left
            n_waiting += 1
    return size
