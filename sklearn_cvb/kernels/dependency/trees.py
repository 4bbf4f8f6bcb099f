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
from sklearn_cvb.kernels.dependency.cells import arcs_of
from sklearn_cvb.kernels.jit import jit_called, jit_inline

# What a chart holds: weights to draw by, their logs, or logs of the heaviest parts alone.
PRODUCTS, LOGS, HEAVIEST = range(3)


class Descent(NamedTuple):
    """A way down the chart.

    Attributes
    ----------
    stack : ndarray of shape (2 * longest, 2), int64
        Halves of the tree, head and other end, that are still to be opened.
    factors : ndarray of shape (2 * longest,)
        What the weight of each root, or of each way to an arc, is the product, or sum, of.
    levels : ndarray of shape (2 * longest,)
        Stands for random numbers where none matter.
    """

    stack: np.ndarray
    factors: np.ndarray
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
    inner, weight, stack, factors = work.inner, work.weight, descent.stack, descent.factors
    n = head.size
    size, first = n * n, arcs_of(n, work.n_valences, 0)
    for r in range(n):
        left, right = inner[LEFT * size + r * n], inner[RIGHT * size + r * n + n - 1]
        factors[r] = weight[r * n + r] * left if kind == PRODUCTS else weight[r * n + r] + left
        factors[n + r] = right
    root = _chosen(factors, np.int64(0), n, n, kind, levels[0])
    head[root] = 0
    stack[0, 0], stack[0, 1], stack[1, 0], stack[1, 1] = root, 0, root, n - 1
    height, at = 2, 1
    while height > 0:
        height -= 1
        h, e = stack[height, 0], stack[height, 1]
        if h != e:
            is_right, span = h < e, abs(e - h)
            if is_right:
                c = h + 1
                x, y = ARC_RIGHT * size + h * n + c, RIGHT_BY_END * size + e * n + c
            else:
                c = e
                x, y = ARC_LEFT * size + h * n + c, LEFT_BY_END * size + e * n + c
            c += _chosen(inner, x, y, span, kind, levels[at])
            # Between head and child, the nearer children end where the child's half begins; where
            # the head has none its half ends at itself.
            span = abs(c - h)
            if is_right:
                x, y, end = OPEN_RIGHT * size + h * n + h, LEFT * size + c * n + h + 1, h
            else:
                x, y, end = RIGHT * size + c * n + c, OPEN_LEFT * size + h * n + c + 1, c
            for k in range(span):
                is_first = k == (0 if is_right else span - 1)
                arc = weight[h * n + c + (first if is_first else 0)]
                factors[k] = inner[x + k] * arc if kind == PRODUCTS else inner[x + k] + arc
                factors[n + k] = inner[y + k]
            end += _chosen(factors, np.int64(0), n, span, kind, levels[at + 1])
            own, other = (end, end + 1) if is_right else (end + 1, end)
            at += 2
            head[c] = h + 1
            # The child's farther half, its half towards the head, and the head's nearer children.
            stack[height, 0], stack[height, 1] = c, e
            stack[height + 1, 0], stack[height + 1, 1] = c, other
            stack[height + 2, 0], stack[height + 2, 1] = h, own
            height += 3
