"""The heaviest annotated tree, in logs."""

import math

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline
from sklearn_cvb.kernels.latent.arrays import NONE
from sklearn_cvb.kernels.latent.best_trees import SAME, read_tree
from sklearn_cvb.kernels.latent.chart import has_parent, list_pairs, place
from sklearn_cvb.kernels.tree.spans import span_at


@jit_inline
def _offer(best, cell, score, left, right):
    """Replace the best below a cell if this is better."""
    if score > best.score[cell]:
        best.score[cell], best.left[cell], best.right[cell] = score, left, right


@jit_inline
def _expand(grammar, items, best, row, pair, parts):
    """Offer a pair of parts (cells, numbers of subtypes) to all its parents."""
    b, c, n_left, n_right = parts
    for r in range(grammar.pairs.rule_first[pair], grammar.pairs.rule_first[pair + 1]):
        a, at = items.lower_at[row + grammar.pairs.parent[r]], grammar.pairs.cell[r]
        if a >= 0:
            for s in range(grammar.n_subtypes[grammar.pairs.parent[r]]):
                for y in range(n_left):
                    for z in range(n_right):
                        score = grammar.weight[at] + best.score[b + y] + best.score[c + z]
                        _offer(best, a + s, score, b + y, c + z)
                        at += 1


@jit_called
def _combine(grammar, reach, items, best, i, k, n):
    """Find the best pair of parts of each lower cell of words[i:k]."""
    pairs, n_symbols = grammar.pairs, grammar.n_subtypes.size
    row = span_at(i, k) * n_symbols
    for x in range(list_pairs(pairs, reach, n_symbols, i, k)):
        p = reach.pair[x]
        if has_parent(grammar, items, row, p):
            n_left = grammar.n_subtypes[pairs.left[p]]
            n_right = grammar.n_subtypes[pairs.right[p]]
            at_left = place(n, n_symbols, i, pairs.left[p], 0)
            at_right = place(n, n_symbols, k - 1, pairs.right[p], 0)
            for j in range(reach.low[x], reach.high[x]):
                b, c = items.by_begin[at_left + j], items.by_end[at_right + j]
                if b >= 0 and c >= 0:
                    _expand(grammar, items, best, row, p, (b, c, n_left, n_right))


@jit_inline
def _raise(grammar, items, best, i, k, n):
    """Find the best cell below each upper cell of words[i:k]."""
    n_symbols, span = grammar.n_subtypes.size, span_at(i, k)
    for x in range(items.upper_first[span], items.lower_first[span + 1]):
        a, b = items.first[x], items.lower_at[span * n_symbols + items.symbol[x]]
        if b >= 0:
            for s in range(grammar.n_subtypes[items.symbol[x]]):
                _offer(best, a + s, best.score[b + s], b + s, SAME)
    for u in range(grammar.unary.parent.size):
        parent, child = grammar.unary.parent[u], grammar.unary.child[u]
        b, at = items.lower_at[span * n_symbols + child], grammar.unary.cell[u]
        a = items.by_begin[place(n, n_symbols, i, parent, k)]
        if a >= 0 and b >= 0:
            for s in range(grammar.n_subtypes[parent]):
                for y in range(grammar.n_subtypes[child]):
                    score = grammar.weight[at] + best.score[b + y]
                    _offer(best, a + s, score, b + y, NONE)
                    at += 1


@jit
def viterbi(grammar, words, reach, items, best, nodes):
    """Find the heaviest annotated tree of a sentence.

    Parameters
    ----------
    grammar : Grammar
        With logs for weights.
    words : ndarray of shape (n,), int64
    reach : Reach
    items : Items
    best : Best
        Of each cell. Nothing is at first.
    nodes : Nodes
        Receives the tree.

    Returns
    -------
    int
        Number of nodes; 0 without a tree.
    """
    n, n_symbols, lexicon = words.size, grammar.n_subtypes.size, grammar.words
    for k in range(1, n + 1):
        for i in range(k - 1, -1, -1):
            span = span_at(i, k)
            if items.lower_first[span] < items.upper_first[span]:
                if i == k - 1:
                    for w in range(lexicon.first[words[i]], lexicon.first[words[i] + 1]):
                        a = items.lower_at[span * n_symbols + lexicon.tag[w]]
                        if a >= 0:
                            for s in range(grammar.n_subtypes[lexicon.tag[w]]):
                                score = grammar.weight[lexicon.cell[w] + s]
                                _offer(best, a + s, score, NONE, NONE)
                else:
                    _combine(grammar, reach, items, best, i, k, n)
                _raise(grammar, items, best, i, k, n)
    top, highest = np.int64(NONE), -math.inf
    for r in range(grammar.roots.symbol.size):
        symbol = grammar.roots.symbol[r]
        a = items.by_begin[place(n, n_symbols, 0, symbol, n)]
        if a >= 0:
            for s in range(grammar.n_subtypes[symbol]):
                score = grammar.weight[grammar.roots.cell[r] + s] + best.score[a + s]
                if score > highest:
                    top, highest = np.int64(a + s), score
    n_nodes = 0
    if top != NONE:
        n_nodes = read_tree(top, items.lower_first[n * (n + 1) // 2], items, best, nodes)
    return n_nodes
