"""Which symbols a span can have: inside-outside with the grammar without annotations.

Coarse-to-fine parsing, Charniak et al. (2006), Petrov and Klein (2007), with one coarse level. An
item is kept if its posterior is no less than a threshold, with whole trees but without what is left
out above it: so little is left to do on the way down. With threshold 0 any tree will do, however
light, and all items are kept that are in a tree.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline
from sklearn_cvb.kernels.latent.arrays import NONE
from sklearn_cvb.kernels.latent.chart import (
    Reach,
    clear,
    dot,
    extend_reach,
    highest_split,
    list_pairs,
    place,
    reach_for,
    reset_reach,
    write_factors,
)
from sklearn_cvb.kernels.latent.grammar import Grammar
from sklearn_cvb.kernels.tree.spans import NOTHING, rescale, span_at


class CoarseChart(NamedTuple):
    """The chart of a sentence, for symbols without subtypes.

    Attributes
    ----------
    reach : Reach
    inside_by_begin, inside_by_end : ndarray of shape (longest * n_symbols * (longest + 1),)
        Of upper items, see `sklearn_cvb.kernels.latent.chart.place`.
    outside_by_begin, outside_by_end : ndarray of shape (longest * n_symbols * (longest + 1),)
        What upper items get as left and as right parts.
    lower : ndarray of shape (n_spans * n_symbols,)
        Inside weights of lower items.
    above : ndarray of shape (n_symbols,)
        Outside weights of the lower items of a span.
    exponent : ndarray of shape (n_spans,), int64
    part : ndarray of shape (longest + 1,)
        Inside weights of a left part, by splits.
    keeps_lower, keeps_upper : ndarray of shape (n_spans * n_symbols,), bool
    """

    reach: Reach
    inside_by_begin: np.ndarray
    inside_by_end: np.ndarray
    outside_by_begin: np.ndarray
    outside_by_end: np.ndarray
    lower: np.ndarray
    above: np.ndarray
    exponent: np.ndarray
    part: np.ndarray
    keeps_lower: np.ndarray
    keeps_upper: np.ndarray


def coarse_chart_for(grammar: Grammar, longest: int) -> CoarseChart:
    """Room for sentences of up to so many words."""
    n, n_spans = len(grammar.n_subtypes), longest * (longest + 1) // 2
    tables = [np.empty(n * longest * (longest + 1)) for _ in range(4)]
    return CoarseChart(
        reach_for(grammar, longest),
        *tables,
        np.empty(n_spans * n),
        np.empty(n),
        np.empty(n_spans, np.int64),
        np.empty(longest + 1),
        np.empty(n_spans * n, np.bool_),
        np.empty(n_spans * n, np.bool_),
    )


@jit_inline
def _level(row):
    """Set weights to 1 where there is any; returns the exponent of the span."""
    exponent = np.int64(NOTHING)
    for x in range(row.size):
        if row[x] > 0.0:
            row[x] = 1.0
            exponent = np.int64(0)
    return exponent


@jit_inline
def _combine(grammar, chart, i, k, n):
    """Add up the weights of the lower items of words[i:k] from all pairs of parts."""
    pairs, reach, n_symbols = grammar.pairs, chart.reach, grammar.n_subtypes.size
    row, current = span_at(i, k) * n_symbols, NONE
    for x in range(list_pairs(pairs, reach, n_symbols, i, k)):
        p, low, high = reach.pair[x], reach.low[x], reach.high[x]
        if pairs.left[p] != current:
            current = pairs.left[p]
            at = place(n, n_symbols, i, current, 0)
            for j in range(i + 1, k):
                chart.part[j] = reach.factor[j] * chart.inside_by_begin[at + j]
        at = place(n, n_symbols, k - 1, pairs.right[p], low)
        total = dot(chart.part, low, chart.inside_by_end, at, high - low)
        for r in range(pairs.rule_first[p], pairs.rule_first[p + 1]):
            chart.lower[row + pairs.parent[r]] += total * grammar.weight[pairs.cell[r]]


@jit_inline
def _raise(grammar, chart, i, k, n):
    """Enter the upper items of words[i:k]."""
    n_symbols, upper = grammar.n_subtypes.size, chart.above
    row = span_at(i, k) * n_symbols
    for a in range(n_symbols):
        upper[a] = chart.lower[row + a]
    for u in range(grammar.unary.parent.size):
        below = chart.lower[row + grammar.unary.child[u]]
        upper[grammar.unary.parent[u]] += below * grammar.weight[grammar.unary.cell[u]]
    for a in range(n_symbols):
        if upper[a] > 0.0:
            chart.inside_by_begin[place(n, n_symbols, i, a, k)] = upper[a]
            chart.inside_by_end[place(n, n_symbols, k - 1, a, i)] = upper[a]
            extend_reach(chart.reach, n_symbols, a, i, k)


@jit_called
def coarse_inside(grammar, words, chart, is_flat):
    """Fill in the inside weights of all items of a sentence.

    Parameters
    ----------
    grammar : Grammar
        With one subtype a symbol.
    words : ndarray of shape (n,), int64
    chart : CoarseChart
    is_flat : bool
        Whether all items that derive their words get weight 1.
    """
    n, n_symbols, lexicon = words.size, grammar.n_subtypes.size, grammar.words
    clear(chart.inside_by_begin, 0, n * n_symbols * (n + 1))
    clear(chart.inside_by_end, 0, n * n_symbols * (n + 1))
    reset_reach(chart.reach, n * n_symbols)
    for k in range(1, n + 1):
        for i in range(k - 1, -1, -1):
            span, top = span_at(i, k), np.int64(0)
            row = chart.lower[span * n_symbols : (span + 1) * n_symbols]
            clear(chart.lower, span * n_symbols, n_symbols)
            if i == k - 1:
                for w in range(lexicon.first[words[i]], lexicon.first[words[i] + 1]):
                    row[lexicon.tag[w]] += grammar.weight[lexicon.cell[w]]
            else:
                top = highest_split(chart.exponent, i, k)
                if top > NOTHING:
                    write_factors(chart.exponent, chart.reach.factor, i, k, top)
                    _combine(grammar, chart, i, k, n)
            chart.exponent[span] = _level(row) if is_flat else rescale(row, top)
            if chart.exponent[span] > NOTHING:
                _raise(grammar, chart, i, k, n)


@jit_inline
def _keep(inside, outside, threshold):
    """Whether an item is kept."""
    return outside > 0.0 and inside * outside > 0.0 and inside * outside >= threshold


@jit_inline
def _lower(grammar, chart, i, k, n, threshold):
    """Keep items of words[i:k] and write outside weights of its lower ones; returns how many."""
    n_symbols, above, n_kept = grammar.n_subtypes.size, chart.above, 0
    row = span_at(i, k) * n_symbols
    for a in range(n_symbols):
        x, y = place(n, n_symbols, i, a, k), place(n, n_symbols, k - 1, a, i)
        weight = chart.outside_by_begin[x] + chart.outside_by_end[y]
        keeps = _keep(chart.inside_by_begin[x], weight, threshold)
        chart.keeps_upper[row + a] = keeps
        # The sum of the upper items is on its way to the lower ones.
        chart.outside_by_begin[x] = above[a] = weight if keeps else 0.0
    for u in range(grammar.unary.parent.size):
        parent, child = grammar.unary.parent[u], grammar.unary.child[u]
        weight = chart.outside_by_begin[place(n, n_symbols, i, parent, k)]
        above[child] += weight * grammar.weight[grammar.unary.cell[u]]
    for a in range(n_symbols):
        keeps = _keep(chart.lower[row + a], above[a], threshold)
        chart.keeps_lower[row + a] = keeps
        n_kept += keeps
        if not keeps:
            above[a] = 0.0
        elif threshold == 0.0:
            above[a] = 1.0
    return n_kept


@jit_inline
def _divide(grammar, chart, i, k, n):
    """Pass outside weights on from the lower items of words[i:k] to all pairs of parts."""
    pairs, reach, n_symbols = grammar.pairs, chart.reach, grammar.n_subtypes.size
    for x in range(list_pairs(pairs, reach, n_symbols, i, k)):
        p, low, high = reach.pair[x], reach.low[x], reach.high[x]
        weight = 0.0
        for r in range(pairs.rule_first[p], pairs.rule_first[p + 1]):
            weight += chart.above[pairs.parent[r]] * grammar.weight[pairs.cell[r]]
        if weight > 0.0:
            left = place(n, n_symbols, i, pairs.left[p], 0)
            right = place(n, n_symbols, k - 1, pairs.right[p], 0)
            for j in range(low, high):
                share = weight * reach.factor[j]
                chart.outside_by_begin[left + j] += share * chart.inside_by_end[right + j]
                chart.outside_by_end[right + j] += share * chart.inside_by_begin[left + j]


@jit_called
def prune(grammar, n, chart, threshold):
    """Say which items of a sentence of n words are kept, from the top down.

    Parameters
    ----------
    grammar : Grammar
        With one subtype a symbol.
    n : int
    chart : CoarseChart
        Whose inside weights are filled in; flat ones if the threshold is 0.
    threshold : float

    Returns
    -------
    bool
        Whether the sentence has a tree; if not, nothing is said of items.
    """
    n_symbols, total = grammar.n_subtypes.size, 0.0
    clear(chart.outside_by_begin, 0, n * n_symbols * (n + 1))
    clear(chart.outside_by_end, 0, n * n_symbols * (n + 1))
    for r in range(grammar.roots.symbol.size):
        at, weight = place(n, n_symbols, 0, grammar.roots.symbol[r], n), grammar.roots.cell[r]
        chart.outside_by_begin[at] += grammar.weight[weight]
        total += chart.inside_by_begin[at] * grammar.weight[weight]
    if total > 0.0:
        for r in range(grammar.roots.symbol.size):
            at = place(n, n_symbols, 0, grammar.roots.symbol[r], n)
            chart.outside_by_begin[at] /= total
        for k in range(n, 0, -1):
            for i in range(k):
                n_kept = _lower(grammar, chart, i, k, n, threshold)
                if n_kept > 0 and i < k - 1:
                    exponent = chart.exponent[span_at(i, k)]
                    write_factors(chart.exponent, chart.reach.factor, i, k, exponent)
                    _divide(grammar, chart, i, k, n)
    return total > 0.0


@jit_called
def list_items(n_subtypes, n, chart, items):
    """List the items that are kept, and how far they reach.

    Parameters
    ----------
    n_subtypes : ndarray of shape (n_symbols,), int64
    n : int
    chart : CoarseChart
        Whose `reach` becomes that of the items that are kept.
    items : Items

    Returns
    -------
    int
        Number of cells.
    """
    n_symbols, item, cell = n_subtypes.size, 0, np.int64(0)
    for x in range(n * n_symbols * (n + 1)):
        items.by_begin[x] = items.by_end[x] = NONE
    reset_reach(chart.reach, n * n_symbols)
    for k in range(1, n + 1):
        for i in range(k - 1, -1, -1):
            span = span_at(i, k)
            items.lower_first[span] = item
            for layer in range(2):
                if layer == 1:
                    items.upper_first[span] = item
                for a in range(n_symbols):
                    x = span * n_symbols + a
                    keeps = chart.keeps_upper[x] if layer == 1 else chart.keeps_lower[x]
                    if layer == 0:
                        items.lower_at[x] = cell if keeps else NONE
                    elif keeps:
                        items.by_begin[place(n, n_symbols, i, a, k)] = cell
                        items.by_end[place(n, n_symbols, k - 1, a, i)] = cell
                        extend_reach(chart.reach, n_symbols, a, i, k)
                    if keeps:
                        items.first[item] = cell
                        items.symbol[item], items.begin[item], items.end[item] = a, i, k
                        item += 1
                        cell += n_subtypes[a]
    items.lower_first[n * (n + 1) // 2] = item
    items.first[item] = cell
    return cell


@jit
def find_items(grammar, n_subtypes, words, threshold, chart, items):
    """Find the items of a sentence.

    Parameters
    ----------
    grammar : Grammar
        With one subtype a symbol.
    n_subtypes : ndarray of shape (n_symbols,), int64
        Subtypes that the symbols are to have.
    words : ndarray of shape (n,), int64
    threshold : float
    chart : CoarseChart
        Whose `reach` is written.
    items : Items
        Is written.

    Returns
    -------
    int
        Number of cells; 0 if the sentence has no tree.
    """
    n_cells = np.int64(0)
    coarse_inside(grammar, words, chart, threshold == 0.0)
    if prune(grammar, words.size, chart, threshold):
        n_cells = list_items(n_subtypes, words.size, chart, items)
    return n_cells
