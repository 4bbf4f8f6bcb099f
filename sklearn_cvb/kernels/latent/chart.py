"""The chart of a sentence: symbols of spans with their subtypes, inside and outside weights.

A span has two layers of items. A lower item is a tag above its word, or a symbol that is expanded
by a binary rule; an upper item is a lower one with at most one unary rule above it. Parts of binary
rules and the root are upper items. Items without use are left out beforehand: see `pruning`.

Binary rules come by pairs (left, right) of parts: the products of the parts' weights are summed
over all splits of a span once, for all parents. Inside weights of a span share a power of two;
outside weights are divided by it and by the sentence's total, so that inside times outside is a
posterior.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit_called, jit_inline, jit_token, jit_token_reduction
from sklearn_cvb.kernels.latent.grammar import Grammar
from sklearn_cvb.kernels.tree.spans import NOTHING, power, rescale, span_at


class Reach(NamedTuple):
    """How far the upper items of a symbol reach, and the pairs of parts that can meet.

    Attributes
    ----------
    nearest_end, farthest_end : ndarray of shape (longest * n_symbols,), int32
        Of the spans of a symbol that begin at i: number i * n_symbols + symbol.
    first_begin, last_begin : ndarray of shape (longest * n_symbols,), int32
        Of the spans of a symbol that end at k: number (k - 1) * n_symbols + symbol.
    pair, low, high : ndarray of shape (n_pairs,), int32
        Pairs listed for a span, and the range of splits in which they can meet.
    factor : ndarray of shape (longest + 1,)
        What to multiply products of a split with, see `write_factors`.
    """

    nearest_end: np.ndarray
    farthest_end: np.ndarray
    first_begin: np.ndarray
    last_begin: np.ndarray
    pair: np.ndarray
    low: np.ndarray
    high: np.ndarray
    factor: np.ndarray


class Items(NamedTuple):
    """The items of a sentence, span by span (bottom up), lower ones first; their subtypes are cells.

    Attributes
    ----------
    lower_first : ndarray of shape (n_spans + 1,), int64
        Where the items of each span begin.
    upper_first : ndarray of shape (n_spans,), int64
        Where its upper items begin.
    first : ndarray of shape (n_items + 1,), int64
        Where the cells of each item begin.
    symbol, begin, end : ndarray of shape (n_items,), int32
    lower_at : ndarray of shape (n_spans * n_symbols,), int32
        First cell of a lower item; `NONE` where there is none.
    by_begin, by_end : ndarray of shape (longest * n_symbols * (longest + 1),), int32
        First cell of the upper item of words[i:j] at `place(n, i, symbol, j)`, and of words[j:k] at
        `place(n, k - 1, symbol, j)`.
    """

    lower_first: np.ndarray
    upper_first: np.ndarray
    first: np.ndarray
    symbol: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    lower_at: np.ndarray
    by_begin: np.ndarray
    by_end: np.ndarray


class Cells(NamedTuple):
    """Weights of the cells of a sentence.

    Attributes
    ----------
    inside, outside : ndarray of shape (n_cells,)
        Zeros at first.
    exponent : ndarray of shape (n_spans,), int64
        Inside weights of a span stand for ``inside * 2.0 ** exponent``.
    products : ndarray of shape (most subtypes of two symbols,)
    """

    inside: np.ndarray
    outside: np.ndarray
    exponent: np.ndarray
    products: np.ndarray


def reach_for(grammar: Grammar, longest: int) -> Reach:
    """Room for sentences of up to so many words."""
    size = longest * len(grammar.n_subtypes)
    ends = [np.empty(size, np.int32) for _ in range(4)]
    pairs = [np.empty(len(grammar.pairs.left), np.int32) for _ in range(3)]
    return Reach(*ends, *pairs, np.empty(longest + 1))


def items_for(grammar: Grammar, longest: int) -> Items:
    """Room for the items of sentences of up to so many words."""
    n, n_spans = len(grammar.n_subtypes), longest * (longest + 1) // 2
    firsts = np.empty(n_spans + 1, np.int64), np.empty(n_spans, np.int64)
    items = [np.empty(2 * n_spans * n, np.int32) for _ in range(3)]
    first = np.empty(2 * n_spans * n + 1, np.int64)
    tables = [np.empty(n * longest * (longest + 1), np.int32) for _ in range(2)]
    return Items(*firsts, first, *items, np.empty(n_spans * n, np.int32), *tables)


def cells_for(grammar: Grammar, length: int, n_cells: int) -> Cells:
    """Room for the cells of a sentence."""
    exponent = np.empty(length * (length + 1) // 2, np.int64)
    products = np.empty(int(grammar.n_subtypes.max()) ** 2)
    return Cells(np.zeros(n_cells), np.zeros(n_cells), exponent, products)


@jit_token
def place(n, n_symbols, edge, symbol, split):
    """Where a table has the span between an edge (a begin, or an end - 1) and a split."""
    return (edge * n_symbols + symbol) * (n + 1) + split


@jit_inline
def reset_reach(reach, size):
    """No symbol reaches anywhere."""
    for x in range(size):
        reach.nearest_end[x] = 1 << 30
        reach.farthest_end[x] = -1
        reach.first_begin[x] = 1 << 30
        reach.last_begin[x] = -1


@jit_inline
def extend_reach(reach, n_symbols, symbol, i, k):
    """Enter an upper item."""
    x, y = i * n_symbols + symbol, (k - 1) * n_symbols + symbol
    reach.nearest_end[x] = min(reach.nearest_end[x], k)
    reach.farthest_end[x] = max(reach.farthest_end[x], k)
    reach.first_begin[y] = min(reach.first_begin[y], i)
    reach.last_begin[y] = max(reach.last_begin[y], i)


@jit_called
def list_pairs(pairs, reach, n_symbols, i, k):
    """List the pairs of parts that can meet within words[i:k]; returns their number."""
    size, lefts, rights = 0, i * n_symbols, (k - 1) * n_symbols
    for left in range(n_symbols):
        nearest, farthest = reach.nearest_end[lefts + left], reach.farthest_end[lefts + left]
        if farthest >= 0:
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
def highest_split(exponent, i, k):
    """The largest exponent of two spans side by side; `NOTHING` if nothing derives such two."""
    top = np.int64(NOTHING)
    for j in range(i + 1, k):
        left, right = exponent[span_at(i, j)], exponent[span_at(j, k)]
        if left > NOTHING and right > NOTHING:
            top = max(top, left + right)
    return top


@jit_called
def write_factors(exponent, factor, i, k, top):
    """Write 2 ** (exponents of both parts - top) for each split of words[i:k], 0 for no parts."""
    for j in range(i + 1, k):
        left, right = exponent[span_at(i, j)], exponent[span_at(j, k)]
        factor[j] = 0.0
        if left > NOTHING and right > NOTHING:
            factor[j] = power(left + right - top)


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
def clear(a, x, n):
    """Set a run of n cells to 0."""
    for k in range(n):
        a[x + k] = 0.0


@jit_inline
def has_parent(grammar, items, row, pair):
    """Whether a parent of a pair is a lower item of a span."""
    found = False
    for r in range(grammar.pairs.rule_first[pair], grammar.pairs.rule_first[pair + 1]):
        found = found or items.lower_at[row + grammar.pairs.parent[r]] >= 0
    return found


@jit_inline
def _combine(grammar, reach, items, cells, i, k, n):
    """Add up the inside weights of the lower items of words[i:k] from all pairs of parts."""
    pairs, n_symbols, inside = grammar.pairs, grammar.n_subtypes.size, cells.inside
    row, products = span_at(i, k) * n_symbols, cells.products
    for x in range(list_pairs(pairs, reach, n_symbols, i, k)):
        p = reach.pair[x]
        if not has_parent(grammar, items, row, p):
            continue
        n_left = grammar.n_subtypes[pairs.left[p]]
        n_right = grammar.n_subtypes[pairs.right[p]]
        size, is_empty = n_left * n_right, True
        at_left = place(n, n_symbols, i, pairs.left[p], 0)
        at_right = place(n, n_symbols, k - 1, pairs.right[p], 0)
        for j in range(reach.low[x], reach.high[x]):
            b, c = items.by_begin[at_left + j], items.by_end[at_right + j]
            if b >= 0 and c >= 0:
                if is_empty:
                    clear(products, 0, size)
                    is_empty = False
                for y in range(n_left):
                    share = reach.factor[j] * inside[b + y]
                    add_multiple(products, y * n_right, share, inside, c, n_right)
        if is_empty:
            continue
        for r in range(pairs.rule_first[p], pairs.rule_first[p + 1]):
            a, cell = items.lower_at[row + pairs.parent[r]], pairs.cell[r]
            if a >= 0:
                for s in range(grammar.n_subtypes[pairs.parent[r]]):
                    at = cell + s * size
                    inside[a + s] += dot(grammar.weight, at, products, 0, size)


@jit_inline
def _raise(grammar, items, cells, i, k, n):
    """Write the inside weights of the upper items of words[i:k]."""
    n_symbols, inside, span = grammar.n_subtypes.size, cells.inside, span_at(i, k)
    for x in range(items.upper_first[span], items.lower_first[span + 1]):
        below = items.lower_at[span * n_symbols + items.symbol[x]]
        if below >= 0:
            for s in range(grammar.n_subtypes[items.symbol[x]]):
                inside[items.first[x] + s] = inside[below + s]
    for u in range(grammar.unary.parent.size):
        parent, child = grammar.unary.parent[u], grammar.unary.child[u]
        b = items.lower_at[span * n_symbols + child]
        a = items.by_begin[place(n, n_symbols, i, parent, k)]
        if a >= 0 and b >= 0:
            size = grammar.n_subtypes[child]
            for s in range(grammar.n_subtypes[parent]):
                at = grammar.unary.cell[u] + s * size
                inside[a + s] += dot(grammar.weight, at, inside, b, size)


@jit_inline
def root_total(grammar, items, cells, n):
    """Inside weight of the whole sentence, in units of its span."""
    total = 0.0
    for r in range(grammar.roots.symbol.size):
        symbol = grammar.roots.symbol[r]
        a = items.by_begin[place(n, grammar.n_subtypes.size, 0, symbol, n)]
        if a >= 0:
            size = grammar.n_subtypes[symbol]
            total += dot(grammar.weight, grammar.roots.cell[r], cells.inside, a, size)
    return total


@jit_called
def inside(grammar, words, reach, items, cells):
    """Fill in the inside weights of a sentence.

    Parameters
    ----------
    grammar : Grammar
    words : ndarray of shape (n,), int64
    reach : Reach
    items : Items
    cells : Cells
        Whose inside weights are zeros.

    Returns
    -------
    float
        log p(words); -inf without a tree.
    """
    n, n_symbols, lexicon = words.size, grammar.n_subtypes.size, grammar.words
    for k in range(1, n + 1):
        for i in range(k - 1, -1, -1):
            span = span_at(i, k)
            cells.exponent[span] = NOTHING
            first, stop = items.lower_first[span], items.upper_first[span]
            if first == stop:
                continue
            top = np.int64(0)
            if i == k - 1:
                for w in range(lexicon.first[words[i]], lexicon.first[words[i] + 1]):
                    a = items.lower_at[span * n_symbols + lexicon.tag[w]]
                    if a >= 0:
                        for s in range(grammar.n_subtypes[lexicon.tag[w]]):
                            cells.inside[a + s] += grammar.weight[lexicon.cell[w] + s]
            else:
                top = highest_split(cells.exponent, i, k)
                if top > NOTHING:
                    write_factors(cells.exponent, reach.factor, i, k, top)
                    _combine(grammar, reach, items, cells, i, k, n)
            row = cells.inside[items.first[first] : items.first[stop]]
            cells.exponent[span] = rescale(row, top)
            if cells.exponent[span] > NOTHING:
                _raise(grammar, items, cells, i, k, n)
    total, log_z = root_total(grammar, items, cells, n), -math.inf
    if total > 0.0:
        log_z = math.log(total) + cells.exponent[span_at(0, n)] * math.log(2.0)
    return log_z


@jit_inline
def _lower(grammar, items, cells, i, k, n):
    """Pass outside weights on from the upper to the lower items of words[i:k]."""
    n_symbols, outside, span = grammar.n_subtypes.size, cells.outside, span_at(i, k)
    for x in range(items.upper_first[span], items.lower_first[span + 1]):
        below = items.lower_at[span * n_symbols + items.symbol[x]]
        if below >= 0:
            for s in range(grammar.n_subtypes[items.symbol[x]]):
                outside[below + s] = outside[items.first[x] + s]
    for u in range(grammar.unary.parent.size):
        parent, child = grammar.unary.parent[u], grammar.unary.child[u]
        b = items.lower_at[span * n_symbols + child]
        a = items.by_begin[place(n, n_symbols, i, parent, k)]
        if a >= 0 and b >= 0:
            size = grammar.n_subtypes[child]
            for s in range(grammar.n_subtypes[parent]):
                at = grammar.unary.cell[u] + s * size
                add_multiple(outside, b, outside[a + s], grammar.weight, at, size)


@jit_inline
def _divide(grammar, reach, items, cells, i, k, n):
    """Pass outside weights on from the lower items of words[i:k] to all pairs of parts."""
    pairs, n_symbols = grammar.pairs, grammar.n_subtypes.size
    row, products = span_at(i, k) * n_symbols, cells.products
    inside, outside = cells.inside, cells.outside
    for x in range(list_pairs(pairs, reach, n_symbols, i, k)):
        p = reach.pair[x]
        if not has_parent(grammar, items, row, p):
            continue
        n_left = grammar.n_subtypes[pairs.left[p]]
        n_right = grammar.n_subtypes[pairs.right[p]]
        size, is_empty = n_left * n_right, True
        at_left = place(n, n_symbols, i, pairs.left[p], 0)
        at_right = place(n, n_symbols, k - 1, pairs.right[p], 0)
        for j in range(reach.low[x], reach.high[x]):
            b, c = items.by_begin[at_left + j], items.by_end[at_right + j]
            if b >= 0 and c >= 0:
                if is_empty:
                    clear(products, 0, size)
                    is_empty = False
                    for r in range(pairs.rule_first[p], pairs.rule_first[p + 1]):
                        a, at = items.lower_at[row + pairs.parent[r]], pairs.cell[r]
                        if a >= 0:
                            for s in range(grammar.n_subtypes[pairs.parent[r]]):
                                share = outside[a + s]
                                add_multiple(products, 0, share, grammar.weight, at, size)
                                at += size
                factor = reach.factor[j]
                for y in range(n_left):
                    at = y * n_right
                    outside[b + y] += factor * dot(products, at, inside, c, n_right)
                    add_multiple(outside, c, factor * inside[b + y], products, at, n_right)


@jit_called
def outside(grammar, n, reach, items, cells):
    """Fill in the outside weights of a sentence of n words that has a tree.

    Parameters
    ----------
    grammar : Grammar
    n : int
    reach : Reach
    items : Items
    cells : Cells
        Whose inside weights are filled in, and whose outside weights are zeros.
    """
    total = root_total(grammar, items, cells, n)
    for r in range(grammar.roots.symbol.size):
        symbol = grammar.roots.symbol[r]
        a = items.by_begin[place(n, grammar.n_subtypes.size, 0, symbol, n)]
        if a >= 0:
            at, size = grammar.roots.cell[r], grammar.n_subtypes[symbol]
            add_multiple(cells.outside, a, 1.0 / total, grammar.weight, at, size)
    for k in range(n, 0, -1):
        for i in range(k):
            exponent = cells.exponent[span_at(i, k)]
            if exponent > NOTHING:
                _lower(grammar, items, cells, i, k, n)
                if i < k - 1:
                    write_factors(cells.exponent, reach.factor, i, k, exponent)
                    _divide(grammar, reach, items, cells, i, k, n)
