"""The chart of a sentence for symbols with subtypes. A span has a layer of lower items, by words or
binary rules, and one of upper items, above at most one unary rule; each item has a cell for each
subtype. What upper items reach says which pairs of them meet in a span.

A span has two layers of items. A lower item is a tag above its word, or a symbol that is expanded
by a binary rule; an upper item is a lower one with at most one unary rule above it. Parts of binary
rules and the root are upper items. A chart has the items that it is given; those that derive
nothing cost little.

Binary rules come by pairs (left, right) of parts: the products of the parts' weights are summed
over all splits of a span once, for all parents. Inside weights of a span share a power of two;
outside weights are divided by it and by the sentence's total, so that inside times outside is a
posterior.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline, jit_token, jit_token_reduction
from sklearn_cvb.kernels.tree.charts import NOTHING, power_of_two, span_at
from sklearn_cvb.kernels.treebank.arrays import NONE, AnnotatedGrammar

# Weights so far below the heaviest of their span are dropped.
_LEAST = 2.0**-960


class SpanReach(NamedTuple):
    """Which upper items derive their words, how far they reach, and what meets within a span."""

    # (n * n_symbols * (n + 1),), int64: first cell of the upper item of words[i:j] at (i *
    # n_symbols + symbol) * (n + 1) + j, and of words[j:k] at ((k - 1) * n_symbols + symbol) * (n +
    # 1) + j; `NONE` where nothing is derived
    by_begin: np.ndarray
    by_end: np.ndarray  # (n * n_symbols * (n + 1),), int64
    # (n * n_symbols,), int64: of the spans of a symbol that begin at i: number i * n_symbols +
    # symbol
    nearest_end: np.ndarray
    farthest_end: np.ndarray  # (n * n_symbols,), int64
    # (n * n_symbols,), int64: of the spans of a symbol that end at k: number (k - 1) * n_symbols +
    # symbol
    first_begin: np.ndarray
    last_begin: np.ndarray  # (n * n_symbols,), int64
    # (n_pairs,), int64: pairs listed for a span, and the range of splits in which they can meet
    pair: np.ndarray
    low: np.ndarray  # (n_pairs,), int64
    high: np.ndarray  # (n_pairs,), int64
    factor: np.ndarray  # (n + 1,): what to multiply products of a split with
    products: np.ndarray  # (most subtypes of two symbols,)


class ChartItems(NamedTuple):
    """Items of a sentence, span by span (bottom up), lower ones first; their subtypes are cells."""

    span: np.ndarray  # (n_items,), int64
    symbol: np.ndarray  # (n_items,), int64
    is_upper: np.ndarray  # (n_items,), bool
    first: np.ndarray  # (n_items + 1,), int64: where the cells of each item begin
    # (2 * n_spans + 1,), int64: where the lower and the upper items of each span begin, in turn
    layers: np.ndarray
    # (n_spans * n_symbols,), int64: first cells of items; `NONE` where there is none
    lower_at: np.ndarray
    upper_at: np.ndarray  # (n_spans * n_symbols,), int64


class ItemChart(NamedTuple):
    """Items and their weights."""

    layers: np.ndarray  # those of `ChartItems`
    first: np.ndarray
    lower_at: np.ndarray
    upper_at: np.ndarray
    symbol: np.ndarray
    inside: np.ndarray  # (n_cells,)
    outside: np.ndarray  # (n_cells,)
    # (n_spans,), int64: inside weights of a span stand for ``inside * 2.0 ** exponent``
    exponent: np.ndarray


def items_of(
    n_subtypes: np.ndarray, n: int, span: np.ndarray, is_upper: np.ndarray, symbol: np.ndarray
) -> ChartItems:
    """Arrange items of a sentence of n words, given by span, layer and symbol in this order."""
    n_spans, n_symbols = n * (n + 1) // 2, len(n_subtypes)
    first = np.concatenate([[0], np.cumsum(n_subtypes[symbol])])
    layers = np.searchsorted(2 * span + is_upper, np.arange(2 * n_spans + 1)).astype(np.int64)
    tables = np.full((2, n_spans * n_symbols), NONE, np.int64)
    tables[is_upper.astype(np.int64), span * n_symbols + symbol] = first[:-1]
    # Two layouts in memory would be two types to compile for.
    return ChartItems(span, np.ascontiguousarray(symbol), is_upper, first, layers, *tables)


def chart_of(items: ChartItems) -> ItemChart:
    """A chart of zeros."""
    n_cells, n_spans = items.first[-1], len(items.layers) // 2
    rows = items.layers, items.first, items.lower_at, items.upper_at, items.symbol
    return ItemChart(*rows, np.zeros(n_cells), np.zeros(n_cells), np.full(n_spans, NOTHING))


def reach_for(grammar: AnnotatedGrammar, n: int) -> SpanReach:
    """Nothing is reached within n words."""
    n_symbols, n_pairs = len(grammar.n_subtypes), len(grammar.pairs.left)
    by_begin, by_end = np.full((2, n * n_symbols * (n + 1)), NONE, np.int64)
    near, far = (np.full((2, n * n_symbols), x, np.int64) for x in (n + 1, NONE))
    pair, low, high = np.empty((3, n_pairs), np.int64)
    ends, begins = (near[0], far[0]), (near[1], far[1])
    buffers = np.empty(n + 1), np.empty(int(grammar.n_subtypes.max()) ** 2)
    return SpanReach(by_begin, by_end, *ends, *begins, pair, low, high, *buffers)


@jit_called
def list_pairs(pairs, reach, lefts, rights, n_symbols):
    """List the pairs of parts that can meet within words[i:k]; returns their number.

    `lefts` is i * n_symbols and `rights` (k - 1) * n_symbols.
    """
    size = 0
    for left in range(n_symbols):
        farthest = reach.farthest_end[lefts + left]
        if farthest >= 0:
            nearest = reach.nearest_end[lefts + left]
            for p in range(pairs.first[left], pairs.first[left + 1]):
                right = rights + pairs.right[p]
                low = max(nearest, reach.first_begin[right])
                high = min(farthest, reach.last_begin[right])
                if low <= high:
                    reach.pair[size] = p
                    reach.low[size] = low
                    reach.high[size] = high + 1
                    size += 1
    return size


@jit_called
def write_factors(exponent, factor, i, k):
    """Write 2 ** (exponents of both parts - top) for each split of words[i:k], 0 for no parts.

    Returns the largest exponent `top` of two parts; `NOTHING` if there are none.
    """
    top = np.int64(NOTHING)
    for j in range(i + 1, k):
        left, right = exponent[span_at(i, j)], exponent[span_at(j, k)]
        if left > NOTHING and right > NOTHING:
            top = max(top, left + right)
    for j in range(i + 1, k):
        left, right = exponent[span_at(i, j)], exponent[span_at(j, k)]
        factor[j] = 0.0
        if left > NOTHING and right > NOTHING:
            factor[j] = power_of_two(left + right - top)
    return top


@jit_token_reduction
def dot(a, x, b, y, n):
    """Sum of products of two runs of n cells."""
    total = 0.0
    for k in range(n):
        total += a[x + k] * b[y + k]
    return total


@jit_token
def add_multiple(a, x, share, b, y, n):
    """Add a multiple of a run of n cells to another."""
    for k in range(n):
        a[x + k] += share * b[y + k]


@jit_token
def clear_cells(a, n):
    """Set the first n cells to 0."""
    for k in range(n):
        a[k] = 0.0


@jit_token
def has_parent(pairs, lower_at, row, pair):
    """Whether a parent of a pair is a lower item of the span whose row this is."""
    has_one = False
    for r in range(pairs.rule_first[pair], pairs.rule_first[pair + 1]):
        has_one = has_one or lower_at[row + pairs.parent[r]] >= 0
    return has_one


@jit_inline
def _fill_lower(grammar, reach, chart, i, k, n):
    """Add up the inside weights of the lower items of words[i:k] from all pairs of parts."""
    pairs, n_subtypes, inside = grammar.pairs, grammar.n_subtypes, chart.inside
    n_symbols, products = n_subtypes.size, reach.products
    lefts, rights, row = i * n_symbols, (k - 1) * n_symbols, span_at(i, k) * n_symbols
    zero = np.int64(0)
    for x in range(list_pairs(pairs, reach, lefts, rights, n_symbols)):
        p = reach.pair[x]
        left, right = pairs.left[p], pairs.right[p]
        n_left, n_right = n_subtypes[left], n_subtypes[right]
        at_left, at_right = (lefts + left) * (n + 1), (rights + right) * (n + 1)
        is_empty = True
        if has_parent(pairs, chart.lower_at, row, p):
            for j in range(reach.low[x], reach.high[x]):
                b, c = reach.by_begin[at_left + j], reach.by_end[at_right + j]
                if b >= 0 and c >= 0:
                    if is_empty:
                        clear_cells(products, n_left * n_right)
                        is_empty = False
                    for y in range(n_left):
                        share = reach.factor[j] * inside[b + y]
                        add_multiple(products, y * n_right, share, inside, c, n_right)
        if not is_empty:
            for r in range(pairs.rule_first[p], pairs.rule_first[p + 1]):
                a, at = chart.lower_at[row + pairs.parent[r]], pairs.cell[r]
                if a >= 0:
                    for s in range(n_subtypes[pairs.parent[r]]):
                        inside[a + s] += dot(grammar.weight, at, products, zero, n_left * n_right)
                        at += n_left * n_right


@jit_inline
def _rescale(inside, first, stop, top):
    """Bring the largest of some cells below 1; returns the new exponent, `NOTHING` for zeros."""
    largest, exponent = 0.0, np.int64(NOTHING)
    for x in range(first, stop):
        largest = max(largest, inside[x])
    if largest > 0.0:
        shift = np.int64(math.frexp(largest)[1])
        exponent = top + shift
        for x in range(first, stop):
            value = inside[x] * power_of_two(-shift)
            inside[x] = value if value >= _LEAST else 0.0
    return exponent


@jit_inline
def _fill_upper(grammar, reach, chart, i, k, n):
    """Write the inside weights of the upper items of words[i:k], and enter those that have any."""
    n_subtypes, unary, inside, span = grammar.n_subtypes, grammar.unary, chart.inside, span_at(i, k)
    n_symbols = n_subtypes.size
    row = span * n_symbols
    for x in range(chart.layers[2 * span + 1], chart.layers[2 * span + 2]):
        b = chart.lower_at[row + chart.symbol[x]]
        if b >= 0:
            add_multiple(inside, chart.first[x], 1.0, inside, b, n_subtypes[chart.symbol[x]])
    for u in range(unary.parent.size):
        a, b = chart.upper_at[row + unary.parent[u]], chart.lower_at[row + unary.child[u]]
        if a >= 0 and b >= 0:
            at, n_child = unary.cell[u], n_subtypes[unary.child[u]]
            for s in range(n_subtypes[unary.parent[u]]):
                inside[a + s] += dot(grammar.weight, at, inside, b, n_child)
                at += n_child
    for x in range(chart.layers[2 * span + 1], chart.layers[2 * span + 2]):
        a, total = chart.first[x], 0.0
        for s in range(a, chart.first[x + 1]):
            total += inside[s]
        if total > 0.0:
            begins, ends = i * n_symbols + chart.symbol[x], (k - 1) * n_symbols + chart.symbol[x]
            reach.by_begin[begins * (n + 1) + k] = reach.by_end[ends * (n + 1) + i] = a
            reach.nearest_end[begins] = min(reach.nearest_end[begins], k)
            reach.farthest_end[begins] = k
            reach.first_begin[ends] = i
            reach.last_begin[ends] = max(reach.last_begin[ends], i)


@jit
def inside(grammar, reach, chart, n):
    """Fill in the inside weights of a sentence of n words, and of `reach` what is reached.

    The cells of tags have the weights of the words, all others 0.
    """
    for k in range(1, n + 1):
        for i in range(k - 1, -1, -1):
            span, top = span_at(i, k), np.int64(0)
            first = chart.first[chart.layers[2 * span]]
            stop = chart.first[chart.layers[2 * span + 1]]
            if first < stop and i < k - 1:
                top = write_factors(chart.exponent, reach.factor, i, k)
                if top > NOTHING:
                    _fill_lower(grammar, reach, chart, i, k, n)
            chart.exponent[span] = _rescale(chart.inside, first, stop, top)
            if chart.exponent[span] > NOTHING:
                _fill_upper(grammar, reach, chart, i, k, n)


@jit_inline
def _prune(chart, span, layer, threshold):
    """Set outside weights to 0 where an item's posterior is below a threshold; returns the rest."""
    n_kept = 0
    for x in range(chart.layers[2 * span + layer], chart.layers[2 * span + layer + 1]):
        posterior = 0.0
        for s in range(chart.first[x], chart.first[x + 1]):
            posterior += chart.inside[s] * chart.outside[s]
        if posterior > 0.0 and posterior >= threshold:
            n_kept += 1
        else:
            for s in range(chart.first[x], chart.first[x + 1]):
                chart.outside[s] = 0.0
    return n_kept


@jit_inline
def _pass_to_lower(grammar, chart, span):
    """Pass outside weights on from the upper to the lower items of a span."""
    n_subtypes, unary, outside = grammar.n_subtypes, grammar.unary, chart.outside
    row = span * n_subtypes.size
    for x in range(chart.layers[2 * span + 1], chart.layers[2 * span + 2]):
        b = chart.lower_at[row + chart.symbol[x]]
        if b >= 0:
            add_multiple(outside, b, 1.0, outside, chart.first[x], n_subtypes[chart.symbol[x]])
    for u in range(unary.parent.size):
        a, b = chart.upper_at[row + unary.parent[u]], chart.lower_at[row + unary.child[u]]
        if a >= 0 and b >= 0:
            at, n_child = unary.cell[u], n_subtypes[unary.child[u]]
            for s in range(n_subtypes[unary.parent[u]]):
                add_multiple(outside, b, outside[a + s], grammar.weight, at, n_child)
                at += n_child


@jit_inline
def _pass_to_parts(grammar, reach, chart, i, k, n):
    """Pass outside weights on from the lower items of words[i:k] to all pairs of parts."""
    pairs, n_subtypes = grammar.pairs, grammar.n_subtypes
    inside, outside = chart.inside, chart.outside
    n_symbols, products = n_subtypes.size, reach.products
    lefts, rights, row = i * n_symbols, (k - 1) * n_symbols, span_at(i, k) * n_symbols
    zero = np.int64(0)
    for x in range(list_pairs(pairs, reach, lefts, rights, n_symbols)):
        p = reach.pair[x]
        left, right = pairs.left[p], pairs.right[p]
        n_left, n_right = n_subtypes[left], n_subtypes[right]
        at_left, at_right = (lefts + left) * (n + 1), (rights + right) * (n + 1)
        is_empty = True
        for r in range(pairs.rule_first[p], pairs.rule_first[p + 1]):
            a, at = chart.lower_at[row + pairs.parent[r]], pairs.cell[r]
            if a >= 0:
                for s in range(a, a + n_subtypes[pairs.parent[r]]):
                    if outside[s] > 0.0:
                        if is_empty:
                            clear_cells(products, n_left * n_right)
                            is_empty = False
                        add_multiple(
                            products, zero, outside[s], grammar.weight, at, n_left * n_right
                        )
                    at += n_left * n_right
        if not is_empty:
            for j in range(reach.low[x], reach.high[x]):
                b, c = reach.by_begin[at_left + j], reach.by_end[at_right + j]
                if b >= 0 and c >= 0:
                    factor, at = reach.factor[j], zero
                    for y in range(b, b + n_left):
                        outside[y] += factor * dot(products, at, inside, c, n_right)
                        add_multiple(outside, c, factor * inside[y], products, at, n_right)
                        at += n_right


@jit
def outside(grammar, reach, chart, n, threshold):
    """Fill in the outside weights of a sentence of n words that has a tree.

    The chart has those of the root. An item whose posterior is below the threshold keeps outside
    weights of 0, and passes none on.
    """
    for k in range(n, 0, -1):
        for i in range(k):
            span = span_at(i, k)
            if chart.exponent[span] > NOTHING and _prune(chart, span, 1, threshold) > 0:
                _pass_to_lower(grammar, chart, span)
                if _prune(chart, span, 0, threshold) > 0 and i < k - 1:
                    top = write_factors(chart.exponent, reach.factor, i, k)
                    for j in range(i + 1, k):
                        reach.factor[j] *= power_of_two(top - chart.exponent[span])
                    _pass_to_parts(grammar, reach, chart, i, k, n)
