"""Inside-outside for grammars whose left and right children are independent: p(A -> B C) =
p(binary) p(B) p(C). Weights go up from parts (children) to symbols and down again by matrix
products.

Such a grammar has, beside its K symbols, a left and a right part of each, and the rules A ->
A.left A.right, A.left -> B, A.right -> C, A -> word. So lists of rules can infer it as they are;
here are products of matrices, n^3 K + n^2 K^2 operations, where all rules A -> B C take n^3 K^2 +
n^2 K^3 (Liu et al. 2023). A row of a chart holds the
weights of the symbols, then of the left parts, then of the right ones, each rounded up to whole
vectors. Same quantities and scales as `sklearn_cvb.kernels.tree.lists`.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline
from sklearn_cvb.kernels.subnormal import subnormal_is_zero
from sklearn_cvb.kernels.tiles import add_outer_products, aligned, multiply
from sklearn_cvb.kernels.tree.arrays import RuleLists
from sklearn_cvb.kernels.tree.charts import (
    NOTHING,
    SMALLEST_ITEM,
    SpanChart,
    has_terminal,
    power_of_two,
    rescale,
    span_at,
)
from sklearn_cvb.kernels.tree.lists import largest_exponent
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
from sklearn_cvb.kernels.vectors import up_to_vectors


class TreeFactors(NamedTuple):
    """Weights, counts and buffers: K symbols, W of them with those that fill whole vectors."""

    n_symbols: int  # K
    # (W, 2 W): weights of the children of left parts, then of right parts
    up: np.ndarray
    down: np.ndarray  # (2 W, W): the same
    counts: np.ndarray  # (2 W, W): their expected counts, without the weights
    symbols: np.ndarray  # (rows, W): inside or outside weights of some spans
    parts: np.ndarray  # (rows, 2 W): the same of parts
    charts: DenseCharts
    chart: SpanChart | None  # to draw trees from, see `inside_by_factors`
    # (1,), int64: number of the sentence at hand, where they come one after the other
    one: np.ndarray
    log_z: np.ndarray  # (1,): its log normaliser


def factors_for(lists: RuleLists, chart: SpanChart | None = None) -> TreeFactors:
    """Tables and buffers for the longest sentence of `lists`, whose weights they share.

    Its symbols are K symbols, their left parts, and their right parts. Its K binary rules are those
    of the symbols in turn, its unary rules the children of the left parts, then of the right ones.
    """
    n = len(lists.binary.cell)
    width = up_to_vectors(n)
    return TreeFactors(
        n,
        aligned(width, 2 * width),
        aligned(2 * width, width),
        aligned(2 * width, width),
        aligned(CHUNK, width),
        aligned(CHUNK, 2 * width),
        charts_for(3 * width, lists, lists.unary),
        chart,
        np.zeros(1, np.int64),
        np.zeros(1),
    )


@jit_called
def _fill_factors(factors, weight):
    """Write the weights of children (2 K K,) to the tables, and their counts to 0."""
    n, width, r = factors.n_symbols, factors.up.shape[0], 0
    factors.counts[:] = 0.0
    for side in range(2):
        for x in range(side * width, side * width + n):
            for y in range(n):
                factors.down[x, y] = weight[r]
                factors.up[y, x] = weight[r]
                r += 1


@jit_called
def _read_counts(factors, weight, count):
    """Add the expected counts of children to `count` (2 K K,)."""
    n, width, r = factors.n_symbols, factors.up.shape[0], 0
    for side in range(2):
        for x in range(side * width, side * width + n):
            for y in range(n):
                count[r] += weight[r] * factors.counts[x, y]
                r += 1


@jit_called
def _add_splits(factors, weight, first, b, k):
    """Inside weights of a span's symbols by their binary rules, summed over splits."""
    charts, n, width = factors.charts, factors.n_symbols, factors.up.shape[0]
    s = first + span_at(b, k)
    row, exponent = charts.inside[s], largest_exponent(charts.exponent, first, b, k)
    charts.exponent[s] = exponent
    if exponent > NOTHING // 2:
        for j in range(b + 1, k):
            one, other = first + span_at(b, j), first + span_at(j, k)
            scale = power_of_two(charts.exponent[one] + charts.exponent[other] - exponent)
            if scale > 0.0:
                left, right = charts.inside[one, width:], charts.inside[other, 2 * width :]
                for x in range(n):
                    at = np.uint64(x)
                    row[at] += scale * left[at] * right[at]
        for x in range(n):
            row[x] *= weight[x]
    charts.exponent[s] = rescale(row[:n], exponent)


@jit_called
def _take_splits(factors, weight, first, b, k):
    """Outside weights of the parts of a span's splits, from those of its symbols."""
    charts, n, width = factors.charts, factors.n_symbols, factors.up.shape[0]
    above, exponent = charts.outside[first + span_at(b, k)], charts.exponent[first + span_at(b, k)]
    for x in range(n):
        above[x] *= weight[x]
    for j in range(b + 1, k):
        one, other = first + span_at(b, j), first + span_at(j, k)
        scale = power_of_two(charts.exponent[one] + charts.exponent[other] - exponent)
        if scale > 0.0:
            left, right = charts.inside[one, width:], charts.inside[other, 2 * width :]
            to_left, to_right = charts.outside[one, width:], charts.outside[other, 2 * width :]
            for x in range(n):
                at = np.uint64(x)
                value = scale * above[at]
                to_left[at] += value * right[at]
                to_right[at] += value * left[at]


@jit_inline
def _inside_chunk(factors, lists, sentences, begin, n_rows, width):
    """Inside weights of some of the listed spans."""
    charts, terminals, n = factors.charts, lists.terminals, factors.up.shape[0]
    for x in range(n_rows):
        sentence, b = charts.spans[begin + x, 0], charts.spans[begin + x, 1]
        first, s = charts.first[sentence], charts.first[sentence] + span_at(b, b + width)
        if width > 1:
            _add_splits(factors, lists.binary.weight, first, b, b + width)
        else:
            i, entry = sentences[charts.sentence[sentence]], charts.entry[s]
            while has_terminal(terminals, i, entry, b, b + 1):
                charts.inside[s, terminals.symbol[entry]] += terminals.weight[entry]
                entry += 1
            charts.exponent[s] = rescale(charts.inside[s, :n], np.int64(0))
        for y in range(n):
            factors.symbols[x, y] = charts.inside[s, y]
    multiply(factors.symbols, factors.up, n_rows, n, factors.parts)
    for x in range(n_rows):
        first, b = charts.first[charts.spans[begin + x, 0]], charts.spans[begin + x, 1]
        row = charts.inside[first + span_at(b, b + width), n:]
        for y in range(2 * n):
            value = factors.parts[x, y]
            row[y] = value if value >= SMALLEST_ITEM else 0.0


@jit_inline
def _outside_chunk(factors, lists, sentences, begin, n_rows, width):
    """Outside weights of some of the listed spans, and counts."""
    charts, terminals, n = factors.charts, lists.terminals, factors.up.shape[0]
    for x in range(n_rows):
        first, b = charts.first[charts.spans[begin + x, 0]], charts.spans[begin + x, 1]
        s = first + span_at(b, b + width)
        for y in range(n):
            factors.symbols[x, y] = charts.inside[s, y]
        for y in range(2 * n):
            above = charts.outside[s, n + y]
            factors.parts[x, y] = above if charts.inside[s, n + y] > 0.0 else 0.0
    add_outer_products(factors.parts, factors.symbols, n_rows, factors.counts)
    multiply(factors.parts, factors.down, n_rows, 2 * n, factors.symbols)
    for x in range(n_rows):
        sentence, b = charts.spans[begin + x, 0], charts.spans[begin + x, 1]
        first, s = charts.first[sentence], charts.first[sentence] + span_at(b, b + width)
        above, inside_row = charts.outside[s], charts.inside[s]
        for y in range(n):
            value = above[y] + factors.symbols[x, y]
            above[y] = value if inside_row[y] > 0.0 else 0.0
        if width > 1:
            for y in range(factors.n_symbols):
                lists.binary.count[y] += above[y] * inside_row[y]
            _take_splits(factors, lists.binary.weight, first, b, b + width)
        else:
            i, entry = sentences[charts.sentence[sentence]], charts.entry[s]
            while has_terminal(terminals, i, entry, b, b + 1):
                symbol = terminals.symbol[entry]
                terminals.count[entry] += above[symbol] * inside_row[symbol]
                entry += 1


@jit_inline
def _fill_inside(factors, lists, sentences, size, longest):
    """Inside weights of the sentences at hand, width by width."""
    charts, lengths = factors.charts, lists.terminals.length
    for width in range(1, longest + 1):
        n_listed = list_spans(lengths, sentences, charts, size, width)
        for begin in range(0, n_listed, CHUNK):
            n_rows = min(CHUNK, n_listed - begin)
            _inside_chunk(factors, lists, sentences, begin, n_rows, width)


@jit_inline
def _fill_outside(factors, lists, sentences, size, longest):
    """Outside weights and counts of the sentences at hand, width by width."""
    charts, lengths = factors.charts, lists.terminals.length
    for width in range(longest, 0, -1):
        n_listed = list_spans(lengths, sentences, charts, size, width)
        for begin in range(0, n_listed, CHUNK):
            n_rows = min(CHUNK, n_listed - begin)
            _outside_chunk(factors, lists, sentences, begin, n_rows, width)


@jit_called
def inside_by_factors(factors, lists, sentence, chart):
    """Fill the chart of one sentence by factors, as `lists.inside` does.

    `sentence` (1,), int64, holds its number. Returns log p(words) in nats, NaN where no tree is
    found.
    """
    charts, n = factors.charts, np.int64(lists.terminals.length[sentence[0]])
    _fill_factors(factors, lists.unary.weight)
    begin, size = np.int64(0), np.int64(1)
    take_sentences(lists, sentence, begin, charts)
    _fill_inside(factors, lists, sentence, size, n)
    item, width = 0, factors.up.shape[0]
    for s in range(n * (n + 1) // 2):
        chart.first[s] = item
        chart.gate[s], chart.exponent[s] = charts.gate[s], charts.exponent[s]
        for kind in range(3):
            for x in range(factors.n_symbols):
                value = charts.inside[s, kind * width + x]
                if value > 0.0:
                    chart.symbol[item] = kind * factors.n_symbols + x
                    chart.inside[item] = value
                    item += 1
    chart.first[n * (n + 1) // 2] = item
    return log_weight(charts, span_at(0, n), lists.binary.start)


@jit
def expected_counts_by_factors(factors, lists, sentences, log_z, with_counts):
    """E-step: `lists.expected_counts_by_lists` by factors; the same numbers but for rounding.

    Sentences of similar length are best next to each other.
    """
    subnormal_is_zero(True)
    charts, begin, lengths = factors.charts, np.int64(0), lists.terminals.length
    _fill_factors(factors, lists.unary.weight)
    while begin < sentences.size:
        size = take_sentences(lists, sentences, begin, charts)
        longest = longest_at_hand(lengths, sentences, begin, size)
        _fill_inside(factors, lists, sentences, size, longest)
        begin_outside(lengths, sentences, charts, size, lists.binary.start, log_z)
        if with_counts:
            _fill_outside(factors, lists, sentences, size, longest)
        begin += size
    _read_counts(factors, lists.unary.weight, lists.unary.count)
    subnormal_is_zero(False)
