"""The chart of a sentence: for each span the symbols that derive it (items), with inside and
outside weights in units of a power of two. The gate of a span is what brackets allow there.

Spans are numbered column by column, `end` ascending and `begin` descending within: a span comes
after all spans inside it. What brackets say of a span is its gate.

A chart lists the symbols of a span (its items) ascending. Their inside weights share a power of
two, whose exponent is kept beside them, so that sentences of any length stay within float64; those
more than 2^-960 below the heaviest of their span are dropped. Outside weights are divided by the
sentence's total and by the power of two of the span's inside weights: so inside times outside is a
posterior. Weights need not be normalised. Both include all chains of unary rules.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit_called, jit_inline, jit_token, jit_token_reduction
from sklearn_cvb.kernels.tree.arrays import RuleLists
from sklearn_cvb.kernels.tree.semirings import zero
from sklearn_cvb.kernels.tree.unary_rules import ChainWorkspace, chain_workspace_for

SMALLEST_ITEM = 2.0**-960
# The exponent of a span that nothing derives.
NOTHING = -(1 << 40)
# What a span may be: nothing, anything, or (above 0) what its brackets say.
FORBIDDEN, FREE = -1, 0


class SpanChart(NamedTuple):
    """Buffers for the spans of one sentence."""

    first: np.ndarray  # (n_spans + 1,), int64: where the items of each span begin
    symbol: np.ndarray  # (n_items,), int32
    inside: np.ndarray  # (n_items,): scaled weights
    outside: np.ndarray  # (n_items,)
    # (n_items,): posterior that the item is its span's highest, no unary rule above it
    top: np.ndarray
    # (n_spans,), int64: the inside weights of a span stand for ``inside * 2.0 ** exponent``
    exponent: np.ndarray
    gate: np.ndarray  # (n_spans,), int64: what each span may be, from `fill_gates`
    # (longest, n_symbols): the spans that end where the current one does, a row for each begin
    rows: np.ndarray
    outside_rows: np.ndarray  # (longest, n_symbols)
    left_row: np.ndarray  # (n_symbols,): inside weights of the parts of a split; empty between uses
    right_row: np.ndarray  # (n_symbols,)
    place: np.ndarray  # (n_symbols,), int64: the items last written to a row
    chains: ChainWorkspace


def chart_for(lists: RuleLists) -> SpanChart:
    """Allocate a chart for the longest sentence."""
    n = len(lists.binary.left_first) - 1
    longest = int(lists.terminals.length.max(initial=1))
    size = longest * (longest + 1) // 2
    return SpanChart(
        np.zeros(size + 1, np.int64),
        np.empty(size * n, np.int32),
        np.empty(size * n),
        np.empty(size * n),
        np.empty(size * n),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.zeros((longest, n)),
        np.zeros((longest, n)),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n, np.int64),
        chain_workspace_for(n, lists.unary),
    )


@jit_token
def span_at(begin, end):
    """Number of a span."""
    return end * (end - 1) // 2 + end - 1 - begin


@jit_inline
def power_of_two(exponent):
    """2.0 ** exponent; 0 below the range of float64, and never infinite."""
    return math.ldexp(1.0, np.int32(min(max(exponent, -2000), 1000)))


@jit_called
def fill_gates(brackets, i, length, gate):
    """Say what each span of a sentence may be.

    Fills `gate` (n_spans,), int64, with `FORBIDDEN` where a bracket is crossed, `FREE`, or one more
    than the first bracket that says which symbols the span may have.
    """
    for s in range(length * (length + 1) // 2):
        gate[s] = FREE
    first, stop = brackets.starts[i], brackets.starts[i + 1]
    for x in range(stop - 1, first - 1, -1):
        begin, end = brackets.begin[x], brackets.end[x]
        for k in range(1, length + 1):
            for b in range(k):
                if (b < begin < k < end) or (begin < b < end < k):
                    gate[span_at(b, k)] = FORBIDDEN
        here = span_at(begin, end)
        if gate[here] != FORBIDDEN:
            gate[here] = x + 1 if brackets.symbol[x] >= 0 else FREE


@jit_called
def mark_allowed(brackets, i, begin, end, gate, allowed):
    """Mark the symbols that a span with known symbols may have, ndarray (n_symbols,), bool."""
    allowed[:] = False
    x = gate - 1
    while x < brackets.starts[i + 1] and brackets.begin[x] == begin and brackets.end[x] == end:
        allowed[brackets.symbol[x]] = True
        x += 1


@jit_token_reduction
def _largest(row):
    """The largest number of a row, 0 if none is positive."""
    largest = 0.0
    for x in range(row.size):
        largest = row[x] if row[x] > largest else largest
    return largest


@jit_called
def rescale(row, exponent):
    """Bring a row in units of 2 ** exponent below 1, drop what is negligible.

    Returns the new exponent, `NOTHING` for a row of zeros.
    """
    largest = _largest(row)
    if not largest > 0.0:
        return NOTHING
    if largest < SMALLEST_ITEM:
        exponent -= 960
        for x in range(row.size):
            row[x] *= power_of_two(960)
        largest = _largest(row)
    _, shift = math.frexp(largest)
    factor = power_of_two(-shift)
    for x in range(row.size):
        value = row[x] * factor
        row[x] = value if value >= SMALLEST_ITEM else 0.0
    return exponent + shift


@jit_inline
def has_terminal(terminals, i, entry, b, k):
    """Whether an entry of the lexicon belongs to words[b:k] of sentence `i`."""
    return (
        terminals.starts[i] <= entry < terminals.starts[i + 1]
        and terminals.end[entry] == k
        and terminals.begin[entry] == b
    )


@jit_inline
def list_items(chart, s, row, exponent, logs):
    """List the items of a row as those of span `s`, scaled to at most 1 where they are no logs."""
    scale = rescale(row, exponent) if logs is None else exponent
    item = chart.first[s]
    for x in range(row.size):
        if row[x] > zero(logs):
            chart.symbol[item] = x
            chart.inside[item] = row[x]
            item += 1
    chart.exponent[s] = scale if item > chart.first[s] else NOTHING
    chart.first[s + 1] = item


@jit_called
def find_item(first, symbols, s, symbol):
    """The item of a span with this symbol, -1 if it has none; of a chart's firsts and symbols."""
    low, high = first[s], first[s + 1]
    stop = high
    while low < high:
        middle = (low + high) // 2
        if symbols[middle] < symbol:
            low = middle + 1
        else:
            high = middle
    return low if low < stop and symbols[low] == symbol else -1


def item_at(chart, begin: int, end: int, symbol: int) -> int:
    """The item of words[begin:end] with this symbol, in any chart that lists its spans."""
    s = end * (end - 1) // 2 + end - 1 - begin
    first, stop = chart.first[s], chart.first[s + 1]
    return int(first + np.searchsorted(chart.symbol[first:stop], symbol))


@jit_inline
def scatter_span(chart, s, row):
    """Write the inside weights of a span to an empty row, and where its items are."""
    for item in range(chart.first[s], chart.first[s + 1]):
        row[chart.symbol[item]] = chart.inside[item]
        chart.place[chart.symbol[item]] = item


@jit_inline
def erase_span(chart, s, row, logs):
    """Undo `scatter_span`."""
    for item in range(chart.first[s], chart.first[s + 1]):
        row[chart.symbol[item]] = zero(logs)
