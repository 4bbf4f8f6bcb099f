"""Decoding with subtypes: the heaviest annotated tree of a sentence (Viterbi), or the max-rule
tree, as the best parts (children) of each cell.

The first is found in logs. The second has the largest product of posteriors of its rules (Petrov
and Klein 2007, eq. 2). A rule at a place has the posterior that it is there,
whatever the annotations. So have root rules, words, and "no unary rule": each node then has as many
factors, with a unary rule or without.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_inline, jit_token
from sklearn_cvb.kernels.tree.charts import NOTHING, power_of_two, span_at
from sklearn_cvb.kernels.treebank.arrays import NONE
from sklearn_cvb.kernels.treebank.chart import (
    add_multiple,
    clear_cells,
    dot,
    list_pairs,
    write_factors,
)

# An upper item with the same symbol below it, which is one node with it.
SAME = -2


class BestParts(NamedTuple):
    """Backpointers: the best parts below each cell; a symbol as a whole has its first cell."""

    score: np.ndarray  # (n_cells,): its log; -inf where there is none
    # (n_cells,), int64: cells below it: two parts; or a lower item and `NONE`, or `SAME` if no
    # unary rule is between; or `NONE` twice above a word
    left: np.ndarray
    right: np.ndarray  # (n_cells,), int64


def best_parts_for(n_cells: int) -> BestParts:
    """Room for a sentence with so many cells."""
    return BestParts(np.full(n_cells, -np.inf), *np.full((2, n_cells), NONE, np.int64))


@jit_token
def _keep_if_better(best, cell, score, left, right):
    """Replace the best below a cell if this is better."""
    if score > best.score[cell]:
        best.score[cell], best.left[cell], best.right[cell] = score, left, right


@jit_inline
def _combine_cells(grammar, reach, chart, best, i, k, n):
    """Find the best pair of parts of each lower cell of words[i:k]."""
    pairs, n_subtypes, n_symbols = grammar.pairs, grammar.n_subtypes, grammar.n_subtypes.size
    lefts, rights, row = i * n_symbols, (k - 1) * n_symbols, span_at(i, k) * n_symbols
    for x in range(list_pairs(pairs, reach, lefts, rights, n_symbols)):
        p = reach.pair[x]
        left, right = pairs.left[p], pairs.right[p]
        at_left, at_right = (lefts + left) * (n + 1), (rights + right) * (n + 1)
        for j in range(reach.low[x], reach.high[x]):
            b, c = reach.by_begin[at_left + j], reach.by_end[at_right + j]
            if b >= 0 and c >= 0:
                for r in range(pairs.rule_first[p], pairs.rule_first[p + 1]):
                    a, at = chart.lower_at[row + pairs.parent[r]], pairs.cell[r]
                    if a >= 0:
                        for s in range(a, a + n_subtypes[pairs.parent[r]]):
                            for y in range(b, b + n_subtypes[left]):
                                for z in range(c, c + n_subtypes[right]):
                                    score = best.score[y] + best.score[z] + grammar.weight[at]
                                    _keep_if_better(best, s, score, y, z)
                                    at += 1


@jit_inline
def _extend_by_unary(grammar, chart, best, span):
    """Find the best cell below each upper cell of a span."""
    n_subtypes, unary = grammar.n_subtypes, grammar.unary
    row = span * n_subtypes.size
    for x in range(chart.layers[2 * span + 1], chart.layers[2 * span + 2]):
        b = chart.lower_at[row + chart.symbol[x]]
        if b >= 0:
            for s in range(n_subtypes[chart.symbol[x]]):
                _keep_if_better(best, chart.first[x] + s, best.score[b + s], b + s, np.int64(SAME))
    for u in range(unary.parent.size):
        a, b = chart.upper_at[row + unary.parent[u]], chart.lower_at[row + unary.child[u]]
        if a >= 0 and b >= 0:
            at = unary.cell[u]
            for s in range(a, a + n_subtypes[unary.parent[u]]):
                for y in range(b, b + n_subtypes[unary.child[u]]):
                    _keep_if_better(best, s, best.score[y] + grammar.weight[at], y, np.int64(NONE))
                    at += 1


@jit
def viterbi(grammar, reach, chart, best, n):
    """Find the heaviest annotated tree below each cell of a sentence of n words.

    The weights of the grammar are logs. `best` has scores at the cells of tags; others are filled
    in.
    """
    for k in range(1, n + 1):
        for i in range(k - 1, -1, -1):
            span = span_at(i, k)
            if chart.exponent[span] > NOTHING:
                if i < k - 1:
                    _combine_cells(grammar, reach, chart, best, i, k, n)
                _extend_by_unary(grammar, chart, best, span)


@jit_token
def _keep_posterior_if_better(best, cell, posterior, left, right):
    """Replace the best below a symbol's first cell if the posterior times its parts is better."""
    score = best.score[left]
    if right >= 0:
        score += best.score[right]
    if posterior > 0.0 and score > -math.inf:
        score += math.log(posterior)
        if score > best.score[cell]:
            best.score[cell], best.left[cell], best.right[cell] = score, left, right


@jit_inline
def _combine_posteriors(grammar, reach, chart, best, i, k, n):
    """Find the best pair of parts of each lower item of words[i:k]."""
    pairs, n_subtypes, inside = grammar.pairs, grammar.n_subtypes, chart.inside
    n_symbols, products = n_subtypes.size, reach.products
    lefts, rights, row = i * n_symbols, (k - 1) * n_symbols, span_at(i, k) * n_symbols
    zero = np.int64(0)
    for x in range(list_pairs(pairs, reach, lefts, rights, n_symbols)):
        p = reach.pair[x]
        left, right = pairs.left[p], pairs.right[p]
        n_left, n_right = n_subtypes[left], n_subtypes[right]
        at_left, at_right = (lefts + left) * (n + 1), (rights + right) * (n + 1)
        for r in range(pairs.rule_first[p], pairs.rule_first[p + 1]):
            a, at, is_empty = chart.lower_at[row + pairs.parent[r]], pairs.cell[r], True
            if a >= 0:
                for j in range(reach.low[x], reach.high[x]):
                    b, c = reach.by_begin[at_left + j], reach.by_end[at_right + j]
                    if b >= 0 and c >= 0:
                        if is_empty:
                            clear_cells(products, n_left * n_right)
                            is_empty = False
                            for s in range(n_subtypes[pairs.parent[r]]):
                                share, size = chart.outside[a + s], n_left * n_right
                                add_multiple(products, zero, share, grammar.weight, at, size)
                                at += size
                        posterior = 0.0
                        for y in range(n_left):
                            share = dot(products, y * n_right, inside, c, n_right)
                            posterior += inside[b + y] * share
                        _keep_posterior_if_better(best, a, reach.factor[j] * posterior, b, c)


@jit_inline
def _extend_posteriors_by_unary(grammar, chart, best, span):
    """Find the best lower item below each upper item of a span."""
    n_subtypes, unary = grammar.n_subtypes, grammar.unary
    inside, outside = chart.inside, chart.outside
    row = span * n_subtypes.size
    for x in range(chart.layers[2 * span + 1], chart.layers[2 * span + 2]):
        b = chart.lower_at[row + chart.symbol[x]]
        if b >= 0:
            a, posterior = chart.first[x], 0.0
            for s in range(n_subtypes[chart.symbol[x]]):
                posterior += outside[a + s] * inside[b + s]
            _keep_posterior_if_better(best, a, posterior, b, np.int64(SAME))
    for u in range(unary.parent.size):
        a, b = chart.upper_at[row + unary.parent[u]], chart.lower_at[row + unary.child[u]]
        if a >= 0 and b >= 0:
            at, posterior = unary.cell[u], 0.0
            for s in range(n_subtypes[unary.parent[u]]):
                for y in range(n_subtypes[unary.child[u]]):
                    posterior += outside[a + s] * grammar.weight[at] * inside[b + y]
                    at += 1
            _keep_posterior_if_better(best, a, posterior, b, np.int64(NONE))


@jit
def max_rule(grammar, reach, chart, best, n):
    """Find the best tree below each item of a sentence of n words, from inside and outside weights.

    `best` has scores at the first cells of tags; those of other items are filled in.
    """
    for k in range(1, n + 1):
        for i in range(k - 1, -1, -1):
            span = span_at(i, k)
            if chart.exponent[span] > NOTHING:
                if i < k - 1:
                    top = write_factors(chart.exponent, reach.factor, i, k)
                    for j in range(i + 1, k):
                        reach.factor[j] *= power_of_two(top - chart.exponent[span])
                    _combine_posteriors(grammar, reach, chart, best, i, k, n)
                _extend_posteriors_by_unary(grammar, chart, best, span)
