"""Posteriors of arcs in log space, for weights that float64 does not hold (under tiny alpha).

The chart of split heads (Eisner 1996) as a list of sums of products, which is gone through again
backwards: what each weight adds to the log of the sum over trees is how often it is expected.
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import logsumexp

from sklearn_cvb.dependency.parameters import DependencyLayout, tables_of

# Weights with smaller logs lose digits in float64.
LOST = -690.0

# Sums of products: where the sum is written, and the places of the factors of each product.
_Sums = Iterator[tuple[int, np.ndarray]]


def expected_arcs(
    logs: np.ndarray,
    layout: DependencyLayout,
    tags: np.ndarray,
    arc_weights: np.ndarray | None,
    *,
    heaviest: bool,
) -> np.ndarray:
    """Probability of each arc, (head, child), and of each root, on the diagonal.

    Of the heaviest tree alone, the first among equals, 1 for its arcs.
    """
    attach, choice = tables_of(logs, layout)
    n, side = len(tags), np.triu(np.ones((len(tags),) * 2, np.intp), 1)
    by_side = 2 * tags[:, None] + side
    of_root = np.eye(n, dtype=bool)
    rows = by_side * layout.n_valences + np.arange(layout.n_valences)[:, None, None]
    arcs = attach[np.where(of_root, layout.n_arc_rows, rows), tags]
    if arc_weights is not None:
        arcs = arcs + np.log(arc_weights[np.where(of_root, 2 * layout.n_types, by_side), tags])
    leaves = np.concatenate([arcs.ravel(), choice.reshape(-1, 8)[tags].ravel()])
    n_arcs = arcs.size
    values = np.append(leaves, np.zeros(4 * n * n + 1))
    passed: list[tuple[int, np.ndarray, np.ndarray]] = []
    for place, factors in _sums_in_order(n, layout.n_valences):
        products = values[factors].sum(axis=0)
        best = products.argmax()
        values[place] = products[best] if heaviest else logsumexp(products)
        shares = np.exp(products - values[place])
        if heaviest:
            shares = (np.arange(len(products)) == best).astype(np.float64)
        passed.append((place, factors, shares))
    expected = np.zeros(len(values))
    expected[-1] = 1.0
    for place, factors, shares in reversed(passed):
        # numpy 2.4 adds rubbish where it has to repeat values itself.
        added = np.tile(expected[place] * shares, len(factors))
        np.add.at(expected, factors.ravel(), added)
    return expected[:n_arcs].reshape(arcs.shape).sum(axis=0)


def _sums_in_order(n: int, n_valences: int) -> _Sums:
    """All sums, each after those that it is made of; the last is that over trees.

    Halves of trees, ``half[side][head, end]``, are children of a head as far as `end`; an arc,
    ``arc[side][head, child]``, is one to the farthest child so far, with all that is between.
    """
    begin = n_valences * n * n
    choice = begin + np.arange(8 * n).reshape(n, 2, 2, 2)
    half, arc = (begin + 8 * n + np.arange(4 * n * n)).reshape(2, 2, n, n)
    every = np.arange(n)
    for width in range(1, n):
        for first in range(n - width):
            for side, head, end in ((1, first, first + width), (0, first + width, first)):
                step = 1 if side else -1
                # The head's nearer children end at `inner`, and the child's own half begins behind.
                inner = np.arange(head, end, step)
                has_one, open_end = (inner != head).astype(np.intp), inner + step
                yield (
                    int(arc[side, head, end]),
                    np.stack(
                        [
                            half[side, head, inner],
                            choice[head, side, has_one, 1],
                            np.minimum(has_one, n_valences - 1) * n * n + head * n + end,
                            half[1 - side, end, open_end],
                            choice[end, 1 - side, (open_end != end).astype(np.intp), 0],
                        ]
                    ),
                )
                child = np.arange(head + step, end + step, step)
                stops = choice[child, side, (child != end).astype(np.intp), 0]
                factors = [arc[side, head, child], half[side, child, end], stops]
                yield int(half[side, head, end]), np.stack(factors)
    roots = every * (n + 1), half[0, every, 0], half[1, every, n - 1]
    ends = choice[every, 0, (every > 0) * 1, 0], choice[every, 1, (every < n - 1) * 1, 0]
    yield begin + 8 * n + 4 * n * n, np.stack([*roots, *ends])
