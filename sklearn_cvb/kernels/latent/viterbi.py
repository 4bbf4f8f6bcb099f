"""The heaviest annotated tree, in logs."""

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_inline, jit_token
from sklearn_cvb.kernels.latent.arrays import NONE
from sklearn_cvb.kernels.latent.best_trees import SAME
from sklearn_cvb.kernels.latent.chart import list_pairs
from sklearn_cvb.kernels.tree.spans import NOTHING, span_at


@jit_token
def _offer(best, cell, score, left, right):
    """Replace the best below a cell if this is better."""
    if score > best.score[cell]:
        best.score[cell], best.left[cell], best.right[cell] = score, left, right


@jit_inline
def _combine(grammar, reach, chart, best, i, k, n):
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
                                    _offer(best, s, score, y, z)
                                    at += 1


@jit_inline
def _raise(grammar, chart, best, span):
    """Find the best cell below each upper cell of a span."""
    n_subtypes, unary = grammar.n_subtypes, grammar.unary
    row = span * n_subtypes.size
    for x in range(chart.layers[2 * span + 1], chart.layers[2 * span + 2]):
        b = chart.lower_at[row + chart.symbol[x]]
        if b >= 0:
            for s in range(n_subtypes[chart.symbol[x]]):
                _offer(best, chart.first[x] + s, best.score[b + s], b + s, np.int64(SAME))
    for u in range(unary.parent.size):
        a, b = chart.upper_at[row + unary.parent[u]], chart.lower_at[row + unary.child[u]]
        if a >= 0 and b >= 0:
            at = unary.cell[u]
            for s in range(a, a + n_subtypes[unary.parent[u]]):
                for y in range(b, b + n_subtypes[unary.child[u]]):
                    _offer(best, s, best.score[y] + grammar.weight[at], y, np.int64(NONE))
                    at += 1


@jit
def viterbi(grammar, reach, chart, best, n):
    """Find the heaviest annotated tree below each cell of a sentence of n words.

    Parameters
    ----------
    grammar : Grammar
        With logs for weights.
    reach : Reach
    chart : Chart
        With inside weights.
    best : Best
        Where the cells of tags have scores and others have none. Filled in.
    n : int
    """
    for k in range(1, n + 1):
        for i in range(k - 1, -1, -1):
            span = span_at(i, k)
            if chart.exponent[span] > NOTHING:
                if i < k - 1:
                    _combine(grammar, reach, chart, best, i, k, n)
                _raise(grammar, chart, best, span)
