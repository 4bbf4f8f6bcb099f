"""Inside, outside and expected counts under a grammar that has most of all possible rules.

For a span the products of its parts' inside weights are summed over splits, for all pairs of
symbols: a row. One matrix product takes the rows of all spans of a width, in all sentences at hand,
to their parents: n^3 K^2 + n^2 K^3 operations. Symbols that derive single words only ("narrow")
keep to the borders of a span, so pairs of them are left out of all spans but those of two words.
Same quantities and scales as `sklearn_cvb.kernels.tree.lists`, symbols and pairs numbered as in
`sklearn_cvb.kernels.tree.tables`.
"""

import math

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline, jit_token_reduction
from sklearn_cvb.kernels.tiles import add_outer_products, multiply
from sklearn_cvb.kernels.tree.lists import add_terminal, has_terminal, largest_exponent
from sklearn_cvb.kernels.tree.side_by_side import (
    CHUNK,
    begin_outside,
    begin_sentences,
    list_spans,
    log_weight,
    longest_at_hand,
)
from sklearn_cvb.kernels.tree.spans import FREE, NOTHING, allow, power, rescale, span_at
from sklearn_cvb.kernels.tree.tables import fill_tables, read_counts
from sklearn_cvb.kernels.tree.unary_rules import climb, descend


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
        scale = power(charts.exponent[one] + charts.exponent[other] - exponent)
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
        scale = power(charts.exponent[one] + charts.exponent[other] - exponent)
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
def _finish_inside(tables, listed, i, first, b, k):
    """Terminals, brackets and unary rules of a span; its binary rules are in its row."""
    charts, place, s = tables.charts, tables.dense.place, first + span_at(b, k)
    row, gate = charts.inside[s], charts.gate[s]
    exponent = charts.exponent[s] if charts.exponent[s] > NOTHING // 2 else np.int64(0)
    entry = charts.entry[s]
    while has_terminal(listed.terminals, i, entry, b, k):
        symbol = place[listed.terminals.symbol[entry]]
        exponent = add_terminal(row, symbol, listed.terminals.weight[entry], exponent)
        entry += 1
    if gate > FREE:
        allow(listed.brackets, i, b, k, gate, charts.labels)
        for x in range(row.size):
            charts.chains.allowed[place[x]] = charts.labels[x]
        for x in range(row.size):
            if not charts.chains.allowed[x]:
                row[x] = 0.0
    climb(tables.unary, row, gate <= FREE, charts.chains)
    charts.exponent[s] = rescale(row, exponent)


@jit_inline
def _finish_outside(tables, terminals, i, first, b, k):
    """Unary rules and terminals of a span: outside weights and counts."""
    charts, s = tables.charts, first + span_at(b, k)
    row, inside_row = charts.outside[s], charts.inside[s]
    for x in range(row.size):
        if not inside_row[x] > 0.0:
            row[x] = 0.0
    descend(tables.unary, row, inside_row, charts.gate[s] == FREE, charts.chains)
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
        first, b = charts.first[charts.listed[begin + x, 0]], charts.listed[begin + x, 1]
        s = first + span_at(b, b + width)
        charts.exponent[s] = largest_exponent(charts.exponent, first, b, b + width)
        _fill_pairs(dense, charts, first, b, b + width, others.pairs[x], narrow.pairs[x])
    multiply(others.pairs, others.up, n_rows, others.up.shape[0], others.parents)
    if width == 2:
        multiply(narrow.pairs, narrow.up, n_rows, narrow.up.shape[0], narrow.parents)
    for x in range(n_rows):
        first, b = charts.first[charts.listed[begin + x, 0]], charts.listed[begin + x, 1]
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
        first, b = charts.first[charts.listed[begin + x, 0]], charts.listed[begin + x, 1]
        _fill_pairs(dense, charts, first, b, b + width, others.pairs[x], narrow.pairs[x])
        for p in range(dense.parent.size):
            others.parents[x, p] = charts.outside[first + span_at(b, b + width), dense.parent[p]]
    add_outer_products(others.parents, others.pairs, n_rows, others.counts)
    multiply(others.parents, others.down, n_rows, others.down.shape[0], others.above)
    if width == 2:
        add_outer_products(others.parents, narrow.pairs, n_rows, narrow.counts)
        multiply(others.parents, narrow.down, n_rows, narrow.down.shape[0], narrow.above)
    for x in range(n_rows):
        first, b = charts.first[charts.listed[begin + x, 0]], charts.listed[begin + x, 1]
        if charts.exponent[first + span_at(b, b + width)] > NOTHING:
            _take_splits(dense, charts, first, b, b + width, others.above[x], narrow.above[x])


@jit_inline
def _fill_inside(tables, listed, sentences, size, longest):
    """Inside weights of the sentences at hand, width by width."""
    charts, lengths = tables.charts, listed.terminals.length
    for width in range(1, longest + 1):
        n_listed = list_spans(lengths, sentences, charts, size, width)
        for begin in range(0, n_listed, CHUNK):
            n_rows = min(CHUNK, n_listed - begin)
            if width > 1:
                _inside_chunk(tables, begin, n_rows, width)
            for x in range(n_rows):
                sentence, b = charts.listed[begin + x, 0], charts.listed[begin + x, 1]
                i = sentences[charts.sentence[sentence]]
                _finish_inside(tables, listed, i, charts.first[sentence], b, b + width)


@jit_inline
def _fill_outside(tables, listed, sentences, size, longest):
    """Outside weights and counts of the sentences at hand, width by width."""
    charts, lengths = tables.charts, listed.terminals.length
    for width in range(longest, 0, -1):
        n_listed = list_spans(lengths, sentences, charts, size, width)
        for begin in range(0, n_listed, CHUNK):
            n_rows = min(CHUNK, n_listed - begin)
            for x in range(n_rows):
                sentence, b = charts.listed[begin + x, 0], charts.listed[begin + x, 1]
                i, first = sentences[charts.sentence[sentence]], charts.first[sentence]
                _finish_outside(tables, listed.terminals, i, first, b, b + width)
            if width > 1:
                _outside_chunk(tables, begin, n_rows, width)


@jit_called
def inside_by_tables(tables, listed, sentence, chart):
    """Fill the chart of one sentence by tables, as `lists.inside` does.

    `sentence` (1,), int64, holds its number. Returns log p(words) in nats, NaN where no tree is
    found.
    """
    dense, charts, n = tables.dense, tables.charts, np.int64(listed.terminals.length[sentence[0]])
    fill_tables(dense, listed.binary.weight, tables.others, tables.narrow)
    begin, size = np.int64(0), np.int64(1)
    begin_sentences(listed, sentence, begin, charts)
    _fill_inside(tables, listed, sentence, size, n)
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
def expected_counts_by_tables(tables, listed, sentences, log_z, with_counts):
    """E-step: `lists.expected_listed_counts` by tables; the same numbers but for rounding.

    Parameters
    ----------
    tables : Tables
    listed : Listed
        With weights, the closure included; its counts are added to.
    sentences : ndarray, int64
        Numbers of the sentences; those of similar length are best next to each other.
    log_z : ndarray of shape (len(sentences),)
        Receives log p(words) in nats; NaN for a sentence without a tree, which adds nothing.
    with_counts : bool
        False for `log_z` alone.
    """
    dense, charts, begin = tables.dense, tables.charts, np.int64(0)
    lengths = listed.terminals.length
    fill_tables(dense, listed.binary.weight, tables.others, tables.narrow)
    while begin < sentences.size:
        size = begin_sentences(listed, sentences, begin, charts)
        longest = longest_at_hand(lengths, sentences, begin, size)
        _fill_inside(tables, listed, sentences, size, longest)
        begin_outside(lengths, sentences, charts, size, dense.start, log_z)
        if with_counts:
            _fill_outside(tables, listed, sentences, size, longest)
        begin += size
    read_counts(dense, listed.binary.weight, tables.others, tables.narrow, listed.binary.count)
