"""The tree with the largest product of posteriors of its rules: Petrov and Klein (2007), eq. 2.

A rule at a place has the posterior that it is there, whatever the annotations. So have root rules,
words, and "no unary rule": each node then has as many factors, with a unary rule or without.
"""

import math

import numpy as np

from sklearn_cvb.kernels.jit import jit_called, jit_inline
from sklearn_cvb.kernels.latent.arrays import NONE
from sklearn_cvb.kernels.latent.best_trees import SAME
from sklearn_cvb.kernels.latent.chart import (
    add_multiple,
    clear,
    dot,
    list_pairs,
    place,
    root_total,
    write_factors,
)
from sklearn_cvb.kernels.tree.spans import NOTHING, span_at


@jit_inline
def _offer(best, cell, posterior, score, left, right):
    """Replace the best below a cell if this is better: a posterior above a score."""
    if posterior > 0.0 and score > -math.inf:
        total = math.log(posterior) + score
        if total > best.score[cell]:
            best.score[cell], best.left[cell], best.right[cell] = total, left, right


@jit_inline
def _combine(grammar, reach, items, cells, best, span, n):
    """Find the best pair of parts of each lower item of the span (number, begin, end)."""
    number, i, k = span
    pairs, n_symbols, products = grammar.pairs, grammar.n_subtypes.size, cells.products
    for x in range(list_pairs(pairs, reach, n_symbols, i, k)):
        p = reach.pair[x]
        n_left = grammar.n_subtypes[pairs.left[p]]
        n_right = grammar.n_subtypes[pairs.right[p]]
        size = n_left * n_right
        at_left = place(n, n_symbols, i, pairs.left[p], 0)
        at_right = place(n, n_symbols, k - 1, pairs.right[p], 0)
        for r in range(pairs.rule_first[p], pairs.rule_first[p + 1]):
            a, at = items.lower_at[number * n_symbols + pairs.parent[r]], pairs.cell[r]
            if a < 0:
                continue
            is_empty = True
            for j in range(reach.low[x], reach.high[x]):
                b, c = items.by_begin[at_left + j], items.by_end[at_right + j]
                if b >= 0 and c >= 0:
                    if is_empty:
                        clear(products, 0, size)
                        is_empty = False
                        for s in range(grammar.n_subtypes[pairs.parent[r]]):
                            share = cells.outside[a + s]
                            add_multiple(products, 0, share, grammar.weight, at, size)
                            at += size
                    posterior = 0.0
                    for y in range(n_left):
                        share = dot(products, y * n_right, cells.inside, c, n_right)
                        posterior += cells.inside[b + y] * share
                    posterior *= reach.factor[j]
                    _offer(best, a, posterior, best.score[b] + best.score[c], b, c)


@jit_inline
def _raise(grammar, items, cells, best, i, k, n):
    """Find the best lower item below each upper item of words[i:k]."""
    n_symbols, span = grammar.n_subtypes.size, span_at(i, k)
    for x in range(items.upper_first[span], items.lower_first[span + 1]):
        a, b = items.first[x], items.lower_at[span * n_symbols + items.symbol[x]]
        if b >= 0:
            size = grammar.n_subtypes[items.symbol[x]]
            posterior = dot(cells.outside, a, cells.inside, b, size)
            _offer(best, a, posterior, best.score[b], b, SAME)
    for u in range(grammar.unary.parent.size):
        parent, child = grammar.unary.parent[u], grammar.unary.child[u]
        b = items.lower_at[span * n_symbols + child]
        a = items.by_begin[place(n, n_symbols, i, parent, k)]
        if a >= 0 and b >= 0:
            size, posterior = grammar.n_subtypes[child], 0.0
            for s in range(grammar.n_subtypes[parent]):
                at = grammar.unary.cell[u] + s * size
                share = dot(grammar.weight, at, cells.inside, b, size)
                posterior += cells.outside[a + s] * share
            _offer(best, a, posterior, best.score[b], b, NONE)


@jit_called
def max_rule(grammar, n, reach, items, cells, best):
    """Find the best tree of a sentence of n words.

    Parameters
    ----------
    grammar : Grammar
    n : int
    reach : Reach
    items : Items
    cells : Cells
        With inside and outside weights.
    best : Best
        Of each item's first cell is written. Nothing is at first.

    Returns
    -------
    int
        The cell of the root; `NONE` without a tree.
    """
    for k in range(1, n + 1):
        for i in range(k - 1, -1, -1):
            span = span_at(i, k)
            exponent = cells.exponent[span]
            if exponent > NOTHING:
                if i == k - 1:
                    for x in range(items.lower_first[span], items.upper_first[span]):
                        a, size = items.first[x], grammar.n_subtypes[items.symbol[x]]
                        posterior = dot(cells.outside, a, cells.inside, a, size)
                        _offer(best, a, posterior, 0.0, NONE, NONE)
                else:
                    write_factors(cells.exponent, reach.factor, i, k, exponent)
                    _combine(grammar, reach, items, cells, best, (span, i, k), n)
                _raise(grammar, items, cells, best, i, k, n)
    total, top, highest = root_total(grammar, items, cells, n), np.int64(NONE), -math.inf
    for r in range(grammar.roots.symbol.size):
        symbol = grammar.roots.symbol[r]
        a = items.by_begin[place(n, grammar.n_subtypes.size, 0, symbol, n)]
        if a >= 0:
            size = grammar.n_subtypes[symbol]
            posterior = dot(grammar.weight, grammar.roots.cell[r], cells.inside, a, size) / total
            if posterior > 0.0 and math.log(posterior) + best.score[a] > highest:
                top, highest = np.int64(a), math.log(posterior) + best.score[a]
    return top
