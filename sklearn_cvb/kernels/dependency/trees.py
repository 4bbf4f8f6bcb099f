"""One tree of a filled chart, from the root down: drawn, or the heaviest."""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.dependency.arrays import (
    ARC_LEFT,
    ARC_RIGHT,
    LEFT,
    LEFT_BY_END,
    OPEN_LEFT,
    OPEN_RIGHT,
    RIGHT,
    RIGHT_BY_END,
)
from sklearn_cvb.kernels.jit import jit_called, jit_inline

# What a chart holds: weights to draw by, their logs, or logs of the heaviest parts alone.
PRODUCTS, LOGS, HEAVIEST = range(3)


class Descent(NamedTuple):
    """A way down the chart.

    Attributes
    ----------
    stack : ndarray of shape (2 * longest, 2), int64
        Halves of the tree, head and other end, that are still to be opened.
    roots : ndarray of shape (2 * longest,)
        What the weight of each root is the product, or sum, of.
    levels : ndarray of shape (2 * longest,)
        Stands for random numbers where none matter.
    """

    stack: np.ndarray
    roots: np.ndarray
    levels: np.ndarray


def descent_for(longest: int) -> Descent:
    """Room for sentences of at most `longest` tokens."""
    return Descent(
        np.zeros((2 * longest, 2), np.int64), np.zeros(2 * longest), np.zeros(2 * longest)
    )


@jit_inline
def _weight_of(table, a, b, kind, peak):
    """A product of two weights, or of what two logs stand for, divided by exp(peak)."""
    weight = table[a] * table[b] if kind == PRODUCTS else math.exp(table[a] + table[b] - peak)
    return weight


@jit_called
def _chosen(table, a, b, n, kind, level):
    """A place in two runs of n cells, drawn by their products with a level in [0, 1).

    Or that of the heaviest, the first among equals.
    """
    peak, best = -math.inf, np.int64(0)
    if kind != PRODUCTS:
        for k in range(n):
            if table[a + k] + table[b + k] > peak:
                peak, best = table[a + k] + table[b + k], k
    if kind != HEAVIEST:
        total = 0.0
        for k in range(n):
            total += _weight_of(table, a + k, b + k, kind, peak)
        rest = level * total
        for k in range(n):
            weight = _weight_of(table, a + k, b + k, kind, peak)
            if weight > 0.0:
                best = k
                rest -= weight
                if rest < 0.0:
                    break
    return best


@jit_called
def descend(work, descent, kind, levels, head):
    """Write the heads of one tree.

    Parameters
    ----------
    work : Work
        With a chart of the `kind` `PRODUCTS`, `LOGS` or `HEAVIEST`.
    descent : Descent
    kind : int
    levels : ndarray
        2 n - 1 numbers uniform on [0, 1) or more; for the heaviest tree they do not matter.
    head : ndarray of shape (n,), int64
        Receives the head of each token, from 1; 0 for the root.
    """
    inner, weight, stack, roots, n = (
        work.inner,
        work.weight,
        descent.stack,
        descent.roots,
        head.size,
    )
    size = n * n
    for r in range(n):
        left, right = inner[LEFT * size + r * n], inner[RIGHT * size + r * n + n - 1]
        roots[r] = weight[r * n + r] * left if kind == PRODUCTS else weight[r * n + r] + left
        roots[n + r] = right
    root = _chosen(roots, np.int64(0), n, n, kind, levels[0])
    head[root] = 0
    stack[0, 0], stack[0, 1], stack[1, 0], stack[1, 1] = root, 0, root, n - 1
    height, at = 2, 1
    while height > 0:
        height -= 1
        h, e = stack[height, 0], stack[height, 1]
        if h != e:
            if h < e:
                x, y = ARC_RIGHT * size + h * n + h + 1, RIGHT_BY_END * size + e * n + h + 1
                c = h + 1 + _chosen(inner, x, y, e - h, kind, levels[at])
                x, y = OPEN_RIGHT * size + h * n + h, LEFT * size + c * n + h + 1
                own = h + _chosen(inner, x, y, c - h, kind, levels[at + 1])
                other = own + 1
            else:
                x, y = ARC_LEFT * size + h * n + e, LEFT_BY_END * size + e * n + e
                c = e + _chosen(inner, x, y, h - e, kind, levels[at])
                x, y = RIGHT * size + c * n + c, OPEN_LEFT * size + h * n + c + 1
                other = c + _chosen(inner, x, y, h - c, kind, levels[at + 1])
                own = other + 1
            at += 2
            head[c] = h + 1
            # The child's farther half, its half towards the head, and the head's nearer children.
            stack[height, 0], stack[height, 1] = c, e
            stack[height + 1, 0], stack[height + 1, 1] = c, other
            stack[height + 2, 0], stack[height + 2, 1] = h, own
            height += 3
