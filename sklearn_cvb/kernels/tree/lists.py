"""Inside and outside weights of the spans of a sentence, and the expected counts of rules.

Only rules whose parts derive something are looked at. Equations of Wang and Blunsom (2013), section
2.2; expected counts with unary chains by their geometric series: outside times weight times inside,
both closed. Where no tree is found, there is none or one of its items was dropped: the log
normaliser is NaN, and `sklearn_cvb.kernels.tree.lists_log` decides.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline
from sklearn_cvb.kernels.tree.charts import Chart, erase, find, list_items, scatter
from sklearn_cvb.kernels.tree.spans import (
    FORBIDDEN,
    FREE,
    NOTHING,
    allow,
    power,
    restrict,
    span_at,
)
from sklearn_cvb.kernels.tree.unary_rules import climb, descend

_LOG_2 = math.log(2.0)


@jit_inline
def largest_exponent(exponents, first, b, k):
    """The largest exponent of a way to split a span in two derivable parts.

    `exponents` (n_spans,), int64: those of the sentence begin at `first`.
    """
    largest = np.int64(NOTHING)
    for j in range(b + 1, k):
        parts = exponents[first + span_at(b, j)] + exponents[first + span_at(j, k)]
        largest = max(largest, parts)
    return largest


@jit_inline
def split_scale(exponents, b, j, k, exponent):
    """What the product of both parts' inside weights counts in units of 2 ** exponent."""
    return power(exponents[span_at(b, j)] + exponents[span_at(j, k)] - exponent)


@jit_inline
def _add_splits(binary, chart, b, k, exponent, row):
    """Inside weights of a span by binary rules, in units of 2 ** exponent."""
    for j in range(b + 1, k):
        left, scale = span_at(b, j), split_scale(chart.exponent, b, j, k, exponent)
        if scale > 0.0:
            right_row = chart.rows[j]
            for item in range(chart.first[left], chart.first[left + 1]):
                value = scale * chart.inside[np.uint64(item)]
                symbol = chart.symbol[np.uint64(item)]
                for r in range(binary.left_first[symbol], binary.left_first[symbol + 1]):
                    here = np.uint64(r)
                    other = right_row[np.uint64(binary.right[here])]
                    if other > 0.0:
                        parent = np.uint64(binary.parent[here])
                        row[parent] += binary.weight[here] * value * other


@jit_inline
def has_terminal(terminals, i, entry, b, k):
    """Whether an entry of the lexicon belongs to words[b:k] of sentence `i`."""
    return (
        terminals.starts[i] <= entry < terminals.starts[i + 1]
        and terminals.end[entry] == k
        and terminals.begin[entry] == b
    )


@jit_called
def add_terminal(row, symbol, weight, exponent):
    """Add a lexical rule to a row in units of 2 ** exponent; returns the new exponent.

    A terminal of several words beside splits may be far heavier or lighter.
    """
    if weight > 0.0:
        if exponent < -900:
            factor = power(exponent)
            for x in range(row.size):
                row[x] *= factor
            exponent = 0
        row[symbol] += weight * power(-exponent)
    return exponent


@jit_called
def inside(listed, i, chart):
    """Inside weights of all spans of sentence `i`.

    Fills the chart's `first`, `symbol`, `inside`, `exponent` and `gate`. Returns log p(words) in
    nats, NaN if no tree is found.
    """
    terminals, n = listed.terminals, np.int64(listed.terminals.length[i])
    restrict(listed.brackets, i, n, chart.gate)
    entry = terminals.starts[i]
    for k in range(1, n + 1):
        for b in range(k - 1, -1, -1):
            s = span_at(b, k)
            row, gate = chart.rows[b], chart.gate[s]
            row[:] = 0.0
            exponent = np.int64(NOTHING)
            if gate != FORBIDDEN:
                exponent = largest_exponent(chart.exponent, 0, b, k)
            if exponent > NOTHING // 2:
                _add_splits(listed.binary, chart, b, k, exponent, row)
            else:
                exponent = np.int64(0)
            while has_terminal(terminals, i, entry, b, k):
                if gate != FORBIDDEN:
                    symbol, weight = np.int64(terminals.symbol[entry]), terminals.weight[entry]
                    exponent = add_terminal(row, symbol, weight, exponent)
                entry += 1
            if gate > FREE:
                allow(listed.brackets, i, b, k, gate, chart.chains.allowed)
                for x in range(row.size):
                    if not chart.chains.allowed[x]:
                        row[x] = 0.0
            if gate != FORBIDDEN:
                climb(listed.unary, row, gate == FREE, chart.chains)
            list_items(chart, s, row, exponent)
    whole = span_at(0, n)
    item = find(chart.first, chart.symbol, whole, listed.binary.start)
    if item < 0:
        return math.nan
    return math.log(chart.inside[item]) + chart.exponent[whole] * _LOG_2


@jit_inline
def _split_outside(binary, chart, b, j, k, scale, outside_row):
    """Outside weights of both parts of a split, and the counts of the rules that make it.

    `scale` is that of `split_scale`.
    """
    s = span_at(b, k)
    scatter(chart, span_at(b, j), chart.left_row)
    right_row, right_outside = chart.rows[j], chart.outside_rows[j]
    for item in range(chart.first[s], chart.first[s + 1]):
        parent = chart.symbol[item]
        above = outside_row[parent] * scale
        if above > 0.0:
            for at in range(binary.parent_first[parent], binary.parent_first[parent + 1]):
                r = np.uint64(binary.by_parent[np.uint64(at)])
                left, right = np.uint64(binary.left[r]), np.uint64(binary.right[r])
                one, other = chart.left_row[left], right_row[right]
                if one > 0.0 and other > 0.0:
                    value = binary.weight[r] * above
                    chart.outside[chart.place[left]] += value * other
                    right_outside[right] += value * one
                    binary.count[r] += value * one * other
    erase(chart, span_at(b, j), chart.left_row)


@jit_inline
def _span_outside(unary, chart, b, k):
    """Close the outside weights of a span, count its unary rules; False if nothing is above it."""
    s = span_at(b, k)
    row = chart.outside_rows[b]
    any_above = False
    for item in range(chart.first[s], chart.first[s + 1]):
        symbol = chart.symbol[item]
        row[symbol] += chart.outside[item]
        chart.top[item] = row[symbol] * chart.inside[item]
        any_above |= row[symbol] > 0.0
    if any_above:
        descend(unary, row, chart.rows[b], chart.gate[s] == FREE, chart.chains)
    for item in range(chart.first[s], chart.first[s + 1]):
        chart.outside[item] = row[chart.symbol[item]]
    return any_above


@jit_called
def outside(listed, i, chart):
    """Outside weights of all spans of sentence `i`, after `inside` found a tree.

    Fills the chart's `outside` and `top`, and adds the expected counts of the sentence's rules to
    the counts of `listed`.
    """
    binary, terminals = listed.binary, listed.terminals
    n = np.int64(terminals.length[i])
    whole = span_at(0, n)
    chart.outside[: chart.first[whole + 1]] = 0.0
    root = find(chart.first, chart.symbol, whole, binary.start)
    chart.outside[root] = 1.0 / chart.inside[root]
    entry = terminals.starts[i + 1] - 1
    for k in range(n, 0, -1):
        for b in range(k):
            chart.rows[b][:] = 0.0
            chart.outside_rows[b][:] = 0.0
            scatter(chart, span_at(b, k), chart.rows[b])
        for b in range(k):
            s = span_at(b, k)
            likely = _span_outside(listed.unary, chart, b, k)
            while has_terminal(terminals, i, entry, b, k):
                symbol = terminals.symbol[entry]
                if likely and chart.rows[b, symbol] > 0.0:
                    # No overflow: the exponent of a span is that of its heaviest item.
                    weight = math.ldexp(terminals.weight[entry], -chart.exponent[s])
                    terminals.count[entry] += weight * chart.outside_rows[b, symbol]
                entry -= 1
            if likely:
                for j in range(b + 1, k):
                    scale = split_scale(chart.exponent, b, j, k, chart.exponent[s])
                    if scale > 0.0:
                        _split_outside(binary, chart, b, j, k, scale, chart.outside_rows[b])


@jit
def expected_listed_counts(listed, chart, sentences, log_z, with_counts):
    """E-step: add the expected counts of some sentences to the counts of `listed`.

    Parameters
    ----------
    listed : Listed
        With weights, the closure included.
    chart : Chart
    sentences : ndarray, int64
        Numbers of the sentences.
    log_z : ndarray of shape (len(sentences),)
        Receives log p(words) in nats; NaN for a sentence without a tree, which adds nothing.
    with_counts : bool
        False for `log_z` alone.
    """
    for x in range(sentences.size):
        log_z[x] = inside(listed, sentences[x], chart)
        if with_counts and not math.isnan(log_z[x]):
            outside(listed, sentences[x], chart)


class Spans(NamedTuple):
    """Posterior of the nodes over a sentence's spans, see `span_posteriors`.

    Attributes
    ----------
    begin, end, symbol : ndarray of shape (n_items,), int32
    expected : ndarray of shape (n_items,)
        Expected number of such nodes; more than 1 only where unary rules make a cycle.
    top : ndarray of shape (n_items,)
        Probability that the span's highest node has the symbol; over all symbols of a span they
        sum to the probability that the span is derived from one.
    """

    begin: np.ndarray
    end: np.ndarray
    symbol: np.ndarray
    expected: np.ndarray
    top: np.ndarray


def spans_of(chart: Chart, n: int) -> Spans:
    """Posterior of all nodes that occur in some tree of a sentence of `n` words.

    By ascending end, descending begin, ascending symbol. The chart's outside weights are filled.
    """
    end = np.repeat(np.arange(1, n + 1), np.arange(1, n + 1))
    begin = np.concatenate([np.arange(k - 1, -1, -1) for k in range(1, n + 1)])
    n_items = chart.first[n * (n + 1) // 2]
    each = np.diff(chart.first[: n * (n + 1) // 2 + 1])
    kept = chart.outside[:n_items] > 0.0
    return Spans(
        np.repeat(begin, each)[kept].astype(np.int32),
        np.repeat(end, each)[kept].astype(np.int32),
        chart.symbol[:n_items][kept],
        (chart.inside[:n_items] * chart.outside[:n_items])[kept],
        chart.top[:n_items][kept],
    )
