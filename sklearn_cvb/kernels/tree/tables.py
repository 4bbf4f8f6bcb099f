"""Inside-outside by tables and matrix products, for grammars with most of all possible rules.
Weights go up from pairs of parts (children) to parents and down again; narrow symbols derive single
words only.

For a span the products of its parts' inside weights are summed over splits, for all pairs of
symbols: a row. One matrix product takes the rows of all spans of a width, in all sentences at hand,
to their parents: n^3 K^2 + n^2 K^3 operations. Symbols that derive single words only ("narrow")
keep to the borders of a span, so pairs of them are left out of all spans but those of two words.
Same quantities and scales as `sklearn_cvb.kernels.tree.lists`.

Symbols are renumbered: wide parts first, then narrow ones, then those that are no part of a binary
rule. Pairs of parts are the columns: a left part beside a wide right one, then a wide one beside a
narrow one. Pairs of narrow parts have tables of their own.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline, jit_token_reduction
from sklearn_cvb.kernels.subnormal import subnormal_is_zero
from sklearn_cvb.kernels.tiles import add_outer_products, aligned, multiply
from sklearn_cvb.kernels.tree.arrays import RuleLists, TerminalIndex, TreeRules, UnaryRules
from sklearn_cvb.kernels.tree.charts import (
    FREE,
    NOTHING,
    SpanChart,
    has_terminal,
    mark_allowed,
    power_of_two,
    rescale,
    span_at,
)
from sklearn_cvb.kernels.tree.lists import add_terminal, largest_exponent
from sklearn_cvb.kernels.tree.side_by_side import (
    CHUNK,
    DenseCharts,
    begin_outside,
    charts_for,
    list_spans,
    log_weight,
    longest_at_hand,
    take_sentences,
)
from sklearn_cvb.kernels.tree.unary_rules import add_unary_inside, add_unary_outside
from sklearn_cvb.kernels.vectors import up_to_vectors


class DenseRules(NamedTuple):
    """Where the rules are in tables, see `dense_rules_of`."""

    start: int  # new number of the symbol that derives whole sentences
    place: np.ndarray  # (n_symbols,), int64: new number of each symbol
    n_wide: int  # number of wide parts: the first symbols
    n_narrow: int  # number of narrow parts: those that follow
    parent: np.ndarray  # (n_parents,), int64: symbols with binary rules, by their new numbers
    # (n_binary,), int64: place of each binary rule in the tables; columns from `n_pairs` on are
    # narrow pairs
    row: np.ndarray
    column: np.ndarray  # (n_binary,), int64
    n_pairs: int  # columns of the table of all other pairs


class DenseTables(NamedTuple):
    """Weights, counts and buffers: P parents, Q pairs, both rounded up to whole vectors."""

    up: np.ndarray  # (Q, P): weights of binary rules
    down: np.ndarray  # (P, Q): the same
    counts: np.ndarray  # (P, Q): expected counts, without the weights
    pairs: np.ndarray  # (rows, Q): products of parts of some spans, and what is above these pairs
    above: np.ndarray  # (rows, Q)
    parents: np.ndarray  # (rows, P): inside or outside weights of the parents


class TreeTables(NamedTuple):
    """All that sentences are inferred from by tables, see `tables_for`."""

    dense: DenseRules
    others: DenseTables
    narrow: DenseTables  # of pairs of narrow parts
    charts: DenseCharts
    # With symbols by their new numbers; weights and counts are those of the lists
    unary: UnaryRules | None
    chart: SpanChart | None  # to draw trees from, see `inside_by_tables`
    # (1,), int64: number of the sentence at hand, where they come one after the other
    one: np.ndarray
    log_z: np.ndarray  # (1,): its log normaliser


def dense_rules_of(rules: TreeRules, lexicon: TerminalIndex) -> DenseRules:
    """Arrange rules for tables; the lexicon says which symbols derive several words at once."""
    symbols = np.arange(rules.n_symbols)
    parent = np.unique(rules.parent)
    wide = np.isin(symbols, parent)
    wide[lexicon.symbol[lexicon.end - lexicon.begin > 1]] = True
    while not np.array_equal(wide[rules.upper] & wide[rules.lower], wide[rules.lower]):
        np.logical_or.at(wide, rules.upper, wide[rules.lower])
    part = np.isin(symbols, np.concatenate([rules.left, rules.right]))
    kind = np.where(part, np.where(wide, 0, 1), 2)
    place = np.empty(rules.n_symbols, np.int64)
    place[np.argsort(kind, kind="stable")] = symbols
    n_wide, n_narrow = int(np.sum(kind == 0)), int(np.sum(kind == 1))
    left, right = place[rules.left], place[rules.right]
    n_parts = n_wide + n_narrow
    n_pairs = up_to_vectors(n_parts * n_wide + n_wide * n_narrow)
    beside = n_parts * n_wide + left * n_narrow + right - n_wide
    narrow = n_pairs + (left - n_wide) * n_narrow + right - n_wide
    column = np.where(right < n_wide, left * n_wide + right, beside)
    column = np.where((left >= n_wide) & (right >= n_wide), narrow, column)
    return DenseRules(
        int(place[rules.start]),
        place,
        n_wide,
        n_narrow,
        place[parent],
        np.searchsorted(parent, rules.parent),
        column,
        n_pairs,
    )


def is_full(dense: DenseRules) -> bool:
    """Whether most pairs of parts have rules, so that tables pay."""
    return 2 * dense.row.size >= dense.parent.size * (
        dense.n_pairs + dense.n_narrow * dense.n_narrow
    )


def _tables(n_parents, n_columns):
    """Tables and buffers for so many parents and pairs."""
    n_rows, width = up_to_vectors(n_parents), up_to_vectors(n_columns)
    return DenseTables(
        aligned(width, n_rows),
        aligned(n_rows, width),
        aligned(n_rows, width),
        aligned(CHUNK, width),
        aligned(CHUNK, width),
        aligned(CHUNK, n_rows),
    )


def tables_for(dense: DenseRules, lists: RuleLists, chart: SpanChart | None = None) -> TreeTables:
    """Tables and buffers for the longest sentence of `lists`, whose weights they share."""
    n_parents, unary = dense.parent.size, lists.unary
    if unary is not None:
        names = ("upper", "lower", "member")
        new = {name: dense.place[getattr(unary, name)].astype(np.int32) for name in names}
        unary = unary._replace(**new)
    charts = charts_for(len(dense.place), lists, unary)
    others = _tables(n_parents, dense.n_pairs)
    narrow = _tables(n_parents, dense.n_narrow**2)
    one, log_z = np.zeros(1, np.int64), np.zeros(1)
    return TreeTables(dense, others, narrow, charts, unary, chart, one, log_z)


@jit_called
def _fill_tables(dense, weight, others, narrow):
    """Write the weights of binary rules (n_binary,) to the tables, and their counts to 0."""
    others.counts[:] = 0.0
    narrow.counts[:] = 0.0
    for r in range(weight.size):
        row, column = dense.row[r], dense.column[r]
        if column < dense.n_pairs:
            others.up[column, row] = weight[r]
            others.down[row, column] = weight[r]
        else:
            narrow.up[column - dense.n_pairs, row] = weight[r]
            narrow.down[row, column - dense.n_pairs] = weight[r]


@jit_called
def _read_counts(dense, weight, others, narrow, count):
    """Add the expected counts of binary rules to `count` (n_binary,)."""
    for r in range(weight.size):
        row, column = dense.row[r], dense.column[r]
        if column < dense.n_pairs:
            count[r] += weight[r] * others.counts[row, column]
        else:
            count[r] += weight[r] * narrow.counts[row, column - dense.n_pairs]


@jit_inline
def _add_pairs(left, right, scale, n_left, n_right, at, row):
    """Add the products of two rows of inside weights to a row of pairs from `at`."""
    for x in range(n_left):
        value = scale * left[np.uint64(x)]
        first = at + x * n_right
        for y in range(n_right):
            row[np.uint64(first + y)] += value * right[np.uint64(y)]


@jit_token_reduction
def _take_pairs(above, scale, n_left, n_right, left, right, left_outside, right_outside):
    """Add what is above the pairs of two parts to their outside weights."""
    for x in range(n_left):
        value = scale * left[np.uint64(x)]
        first = x * n_right
        total = 0.0
        for y in range(n_right):
            here = above[np.uint64(first + y)]
            total += here * right[np.uint64(y)]
            right_outside[np.uint64(y)] += here * value
        left_outside[np.uint64(x)] += scale * total


@jit_called
def _fill_pairs(dense, charts, first, b, k, row, narrow_row):
    """Sum the products of a span's parts over splits, in units of its power of two."""
    n_wide, n_narrow = dense.n_wide, dense.n_narrow
    n_parts, exponent = n_wide + n_narrow, charts.exponent[first + span_at(b, k)]
    row[:] = 0.0
    narrow_row[:] = 0.0
    if exponent <= NOTHING // 2:
        return
    for j in range(b + 1, k):
        one, other = first + span_at(b, j), first + span_at(j, k)
        scale = power_of_two(charts.exponent[one] + charts.exponent[other] - exponent)
        if scale == 0.0:
            continue
        left, right = charts.inside[one], charts.inside[other]
        _add_pairs(left, right, scale, n_parts if j == b + 1 else n_wide, n_wide, 0, row)
        if j == k - 1:
            _add_pairs(left, right[n_wide:], scale, n_wide, n_narrow, n_parts * n_wide, row)
        if k - b == 2:
            _add_pairs(left[n_wide:], right[n_wide:], scale, n_narrow, n_narrow, 0, narrow_row)


@jit_called
def _take_splits(dense, charts, first, b, k, above, narrow_above):
    """Outside weights of a span's parts from what is above their pairs."""
    n_wide, n_narrow = dense.n_wide, dense.n_narrow
    n_parts, exponent = n_wide + n_narrow, charts.exponent[first + span_at(b, k)]
    for j in range(b + 1, k):
        one, other = first + span_at(b, j), first + span_at(j, k)
        scale = power_of_two(charts.exponent[one] + charts.exponent[other] - exponent)
        if scale == 0.0:
            continue
        left, right = charts.inside[one], charts.inside[other]
        to_left, to_right = charts.outside[one], charts.outside[other]
        n_left = n_parts if j == b + 1 else n_wide
        _take_pairs(above, scale, n_left, n_wide, left, right, to_left, to_right)
        right, to_right = right[n_wide:], to_right[n_wide:]
        if j == k - 1:
            beside = above[n_parts * n_wide :]
            _take_pairs(beside, scale, n_wide, n_narrow, left, right, to_left, to_right)
        if k - b == 2:
            left, to_left = left[n_wide:], to_left[n_wide:]
            _take_pairs(narrow_above, scale, n_narrow, n_narrow, left, right, to_left, to_right)


@jit_inline
def _finish_inside(tables, lists, i, first, b, k):
    """Terminals, brackets and unary rules of a span; its binary rules are in its row."""
    charts, place, s = tables.charts, tables.dense.place, first + span_at(b, k)
    row, gate = charts.inside[s], charts.gate[s]
    exponent = charts.exponent[s] if charts.exponent[s] > NOTHING // 2 else np.int64(0)
    entry = charts.entry[s]
    while has_terminal(lists.terminals, i, entry, b, k):
        symbol = place[lists.terminals.symbol[entry]]
        exponent = add_terminal(row, symbol, lists.terminals.weight[entry], exponent)
        entry += 1
    if gate > FREE:
        mark_allowed(lists.brackets, i, b, k, gate, charts.labels)
        for x in range(row.size):
            charts.chains.allowed[place[x]] = charts.labels[x]
        for x in range(row.size):
            if not charts.chains.allowed[x]:
                row[x] = 0.0
    add_unary_inside(tables.unary, row, gate <= FREE, charts.chains, None)
    charts.exponent[s] = rescale(row, exponent)


@jit_inline
def _finish_outside(tables, terminals, i, first, b, k):
    """Unary rules and terminals of a span: outside weights and counts."""
    charts, s = tables.charts, first + span_at(b, k)
    row, inside_row = charts.outside[s], charts.inside[s]
    for x in range(row.size):
        if not inside_row[x] > 0.0:
            row[x] = 0.0
    add_unary_outside(tables.unary, row, inside_row, charts.gate[s] == FREE, charts.chains, None)
    entry = charts.entry[s]
    while has_terminal(terminals, i, entry, b, k):
        symbol = tables.dense.place[terminals.symbol[entry]]
        if inside_row[symbol] > 0.0:
            weight = math.ldexp(terminals.weight[entry], -charts.exponent[s])
            terminals.count[entry] += weight * row[symbol]
        entry += 1


@jit_inline
def _inside_chunk(tables, begin, n_rows, width):
    """Binary rules of some of the listed spans: inside weights of their parents."""
    dense, others, narrow, charts = tables.dense, tables.others, tables.narrow, tables.charts
    for x in range(n_rows):
        first, b = charts.first[charts.spans[begin + x, 0]], charts.spans[begin + x, 1]
        s = first + span_at(b, b + width)
        charts.exponent[s] = largest_exponent(charts.exponent, first, b, b + width)
        _fill_pairs(dense, charts, first, b, b + width, others.pairs[x], narrow.pairs[x])
    multiply(others.pairs, others.up, n_rows, others.up.shape[0], others.parents)
    if width == 2:
        multiply(narrow.pairs, narrow.up, n_rows, narrow.up.shape[0], narrow.parents)
    for x in range(n_rows):
        first, b = charts.first[charts.spans[begin + x, 0]], charts.spans[begin + x, 1]
        s = first + span_at(b, b + width)
        for p in range(dense.parent.size):
            value = others.parents[x, p]
            if width == 2:
                value += narrow.parents[x, p]
            charts.inside[s, dense.parent[p]] = value


@jit_inline
def _outside_chunk(tables, begin, n_rows, width):
    """Binary rules of some of the listed spans: outside weights of their parts, and counts."""
    dense, others, narrow, charts = tables.dense, tables.others, tables.narrow, tables.charts
    for x in range(n_rows):
        first, b = charts.first[charts.spans[begin + x, 0]], charts.spans[begin + x, 1]
        _fill_pairs(dense, charts, first, b, b + width, others.pairs[x], narrow.pairs[x])
        for p in range(dense.parent.size):
            others.parents[x, p] = charts.outside[first + span_at(b, b + width), dense.parent[p]]
    add_outer_products(others.parents, others.pairs, n_rows, others.counts)
    multiply(others.parents, others.down, n_rows, others.down.shape[0], others.above)
    if width == 2:
        add_outer_products(others.parents, narrow.pairs, n_rows, narrow.counts)
        multiply(others.parents, narrow.down, n_rows, narrow.down.shape[0], narrow.above)
    for x in range(n_rows):
        first, b = charts.first[charts.spans[begin + x, 0]], charts.spans[begin + x, 1]
        if charts.exponent[first + span_at(b, b + width)] > NOTHING:
            _take_splits(dense, charts, first, b, b + width, others.above[x], narrow.above[x])


@jit_inline
def _fill_inside(tables, lists, sentences, size, longest):
    """Inside weights of the sentences at hand, width by width."""
    charts, lengths = tables.charts, lists.terminals.length
    for width in range(1, longest + 1):
        n_listed = list_spans(lengths, sentences, charts, size, width)
        for begin in range(0, n_listed, CHUNK):
            n_rows = min(CHUNK, n_listed - begin)
            if width > 1:
                _inside_chunk(tables, begin, n_rows, width)
            for x in range(n_rows):
                sentence, b = charts.spans[begin + x, 0], charts.spans[begin + x, 1]
                i = sentences[charts.sentence[sentence]]
                _finish_inside(tables, lists, i, charts.first[sentence], b, b + width)


@jit_inline
def _fill_outside(tables, lists, sentences, size, longest):
    """Outside weights and counts of the sentences at hand, width by width."""
    charts, lengths = tables.charts, lists.terminals.length
    for width in range(longest, 0, -1):
        n_listed = list_spans(lengths, sentences, charts, size, width)
        for begin in range(0, n_listed, CHUNK):
            n_rows = min(CHUNK, n_listed - begin)
            for x in range(n_rows):
                sentence, b = charts.spans[begin + x, 0], charts.spans[begin + x, 1]
                i, first = sentences[charts.sentence[sentence]], charts.first[sentence]
                _finish_outside(tables, lists.terminals, i, first, b, b + width)
            if width > 1:
                _outside_chunk(tables, begin, n_rows, width)


@jit_called
def inside_by_tables(tables, lists, sentence, chart):
    """Fill the chart of one sentence by tables, as `lists.inside` does.

    `sentence` (1,), int64, holds its number. Returns log p(words) in nats, NaN where no tree is
    found.
    """
    dense, charts, n = tables.dense, tables.charts, np.int64(lists.terminals.length[sentence[0]])
    _fill_tables(dense, lists.binary.weight, tables.others, tables.narrow)
    begin, size = np.int64(0), np.int64(1)
    take_sentences(lists, sentence, begin, charts)
    _fill_inside(tables, lists, sentence, size, n)
    item = 0
    for s in range(n * (n + 1) // 2):
        chart.first[s] = item
        chart.gate[s], chart.exponent[s] = charts.gate[s], charts.exponent[s]
        for symbol in range(dense.place.size):
            value = charts.inside[s, dense.place[symbol]]
            if value > 0.0:
                chart.symbol[item] = symbol
                chart.inside[item] = value
                item += 1
    chart.first[n * (n + 1) // 2] = item
    return log_weight(charts, span_at(0, n), dense.start)


@jit
def expected_counts_by_tables(tables, lists, sentences, log_z, with_counts):
    """E-step: `lists.expected_counts_by_lists` by tables; the same numbers but for rounding.

    Sentences of similar length are best next to each other.
    """
    subnormal_is_zero(True)
    dense, charts, begin = tables.dense, tables.charts, np.int64(0)
    lengths = lists.terminals.length
    _fill_tables(dense, lists.binary.weight, tables.others, tables.narrow)
    while begin < sentences.size:
        size = take_sentences(lists, sentences, begin, charts)
        longest = longest_at_hand(lengths, sentences, begin, size)
        _fill_inside(tables, lists, sentences, size, longest)
        begin_outside(lengths, sentences, charts, size, dense.start, log_z)
        if with_counts:
            _fill_outside(tables, lists, sentences, size, longest)
        begin += size
    _read_counts(dense, lists.binary.weight, tables.others, tables.narrow, lists.binary.count)
    subnormal_is_zero(False)
