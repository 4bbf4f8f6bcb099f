"""The chart of a sentence: for each span the symbols that derive it, with their weights.

A chart lists the symbols of a span (its items) ascending. Outside weights are divided by the
sentence's total and by the power of two of the span's inside weights: so inside times outside is a
posterior. Weights need not be normalised. Both include all chains of unary rules.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit_called, jit_inline
from sklearn_cvb.kernels.tree.listed import Listed
from sklearn_cvb.kernels.tree.spans import NOTHING, rescale
from sklearn_cvb.kernels.tree.unary_rules import ChainWork, chain_work_for


class Chart(NamedTuple):
    """Buffers for the spans of one sentence.

    Attributes
    ----------
    first : ndarray of shape (n_spans + 1,), int64
        Where the items of each span begin.
    symbol : ndarray of shape (n_items,), int32
    inside, outside : ndarray of shape (n_items,)
        Scaled weights.
    top : ndarray of shape (n_items,)
        Posterior that the item is its span's highest, no unary rule above it.
    exponent : ndarray of shape (n_spans,), int64
        The inside weights of a span stand for ``inside * 2.0 ** exponent``.
    gate : ndarray of shape (n_spans,), int64
        What each span may be, from `restrict`.
    rows, outside_rows : ndarray of shape (longest, n_symbols)
        The spans that end where the current one does, a row for each begin.
    left_row, right_row : ndarray of shape (n_symbols,)
        Inside weights of the parts of a split; zeros between uses.
    place : ndarray of shape (n_symbols,), int64
        The items last written to a row.
    chains : ChainWork
    """

    first: np.ndarray
    symbol: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    top: np.ndarray
    exponent: np.ndarray
    gate: np.ndarray
    rows: np.ndarray
    outside_rows: np.ndarray
    left_row: np.ndarray
    right_row: np.ndarray
    place: np.ndarray
    chains: ChainWork


def chart_for(listed: Listed) -> Chart:
    """Allocate a chart for the longest sentence."""
    n = len(listed.binary.left_first) - 1
    longest = int(listed.terminals.length.max(initial=1))
    size = longest * (longest + 1) // 2
    return Chart(
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
        chain_work_for(n, listed.unary),
    )


@jit_inline
def list_items(chart, s, row, exponent):
    """Scale a row to at most 1 and list its items as those of span `s`."""
    chart.exponent[s] = rescale(row, exponent)
    item = chart.first[s]
    if chart.exponent[s] > NOTHING:
        for x in range(row.size):
            if row[x] > 0.0:
                chart.symbol[item] = x
                chart.inside[item] = row[x]
                item += 1
    chart.first[s + 1] = item


@jit_called
def find(first, symbols, s, symbol):
    """The item of a span with this symbol, -1 if it has none.

    `first` and `symbols` are those of a chart.
    """
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
def scatter(chart, s, row):
    """Write the inside weights of a span to a row of zeros, and where its items are."""
    for item in range(chart.first[s], chart.first[s + 1]):
        row[chart.symbol[item]] = chart.inside[item]
        chart.place[chart.symbol[item]] = item


@jit_inline
def erase(chart, s, row):
    """Undo `scatter`."""
    for item in range(chart.first[s], chart.first[s + 1]):
        row[chart.symbol[item]] = 0.0
