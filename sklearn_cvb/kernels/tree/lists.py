"""Inside and outside weights of the spans of a sentence, and the expected counts of rules.

Only rules whose parts derive something are looked at. Charts are those of
`sklearn_cvb.kernels.tree.charts`. Equations of Wang and Blunsom (2013), section 2.2; expected
counts with unary chains by their geometric series: outside times weight times inside, both closed.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_allocating, jit_token
from sklearn_cvb.kernels.tree.arrays import RuleCounts
from sklearn_cvb.kernels.tree.charts import (
    FORBIDDEN,
    FREE,
    NOTHING,
    allow,
    chart_for,
    climb,
    descend,
    erase,
    find,
    list_items,
    longest_of,
    power,
    restrict,
    scatter,
    span_at,
)
from sklearn_cvb.kernels.tree.lists_log import inside_log, outside_log

_LOG_2 = math.log(2.0)


@jit
def _largest_exponent(chart, b, k):
    """The largest exponent of a way to split a span in two derivable parts."""
    largest = NOTHING
    for j in range(b + 1, k):
        left, right = span_at(b, j), span_at(j, k)
        largest = max(largest, chart.exponent[left] + chart.exponent[right])
    return largest


@jit_token
def split_scale(chart, b, j, k, exponent):
    """What the product of both parts' inside weights counts in units of 2 ** exponent."""
    return power(chart.exponent[span_at(b, j)] + chart.exponent[span_at(j, k)] - exponent)


@jit_token
def _combine(rules, binary, symbol, value, right_row, row):
    """Add the rules with one left part to the inside weights of their parents."""
    for r in range(rules.left_first[symbol], rules.left_first[symbol + 1]):
        here = np.uint64(r)
        other = right_row[np.uint64(rules.right[here])]
        if other > 0.0:
            row[np.uint64(rules.parent[here])] += binary[here] * value * other


@jit
def _add_splits(rules, weights, chart, b, k, exponent, row):
    """Inside weights of a span by binary rules, in units of 2 ** exponent."""
    for j in range(b + 1, k):
        left, scale = span_at(b, j), split_scale(chart, b, j, k, exponent)
        if scale > 0.0:
            right_row = chart.rows[j]
            for item in range(chart.first[left], chart.first[left + 1]):
                value = scale * chart.inside[np.uint64(item)]
                symbol = chart.symbol[np.uint64(item)]
                _combine(rules, weights.binary, symbol, value, right_row, row)


@jit
def inside(rules, weights, lexicon, brackets, i, chart):
    """Inside weights of all spans of sentence `i`.

    Fills the chart. Returns log p(words) in nats, -inf if the sentence has no tree.
    """
    chart.in_log[0] = False
    log_z = inside_scaled(rules, weights, lexicon, brackets, i, chart)
    if log_z == -math.inf:
        # There is no tree, or one of its items was dropped.
        log_z = inside_log(rules, weights, lexicon, brackets, i, chart)
        chart.in_log[0] = True
    return log_z


@jit
def inside_scaled(rules, weights, lexicon, brackets, i, chart):
    """`inside` in probability space; -inf also where dropped items would have made a tree."""
    n = np.int64(lexicon.length[i])
    restrict(brackets, i, n, chart.gate)
    entry, stop = lexicon.starts[i], lexicon.starts[i + 1]
    for k in range(1, n + 1):
        for b in range(k - 1, -1, -1):
            s = span_at(b, k)
            row = chart.rows[b]
            row[:] = 0.0
            open_span = chart.gate[s] != FORBIDDEN
            exponent = _largest_exponent(chart, b, k) if open_span else NOTHING
            if exponent > NOTHING // 2:
                _add_splits(rules, weights, chart, b, k, exponent, row)
            else:
                exponent = 0
            while entry < stop and lexicon.end[entry] == k and lexicon.begin[entry] == b:
                if open_span:
                    # A terminal of several words beside splits may be far heavier or lighter.
                    exponent = add_terminal(
                        row, np.int64(lexicon.symbol[entry]), weights.lexical[entry], exponent
                    )
                entry += 1
            free = chart.gate[s] <= FREE
            if not free:
                allow(brackets, i, b, k, chart.gate[s], chart.allowed)
                for x in range(row.size):
                    if not chart.allowed[x]:
                        row[x] = 0.0
            if rules.upper.size > 0 and open_span:
                climb(rules, weights, row, chart.allowed, free, chart.place, chart.block)
            list_items(chart, s, row, exponent)
    return _total(rules, chart, n)


@jit
def add_terminal(row, symbol, weight, exponent):
    """Add a lexical rule to a row in units of 2 ** exponent; returns the new exponent."""
    if weight > 0.0:
        if exponent < -900:
            factor = power(exponent)
            for x in range(row.size):
                row[x] *= factor
            exponent = 0
        row[symbol] += weight * power(-exponent)
    return exponent


@jit
def _total(rules, chart, n):
    """log p(words) of a filled chart."""
    whole = span_at(0, n)
    item = find(chart, whole, rules.start)
    if item < 0:
        return -math.inf
    return math.log(chart.inside[item]) + chart.exponent[whole] * _LOG_2


@jit
def _split_outside(rules, weights, chart, b, j, k, scale, outside_row, counts):
    """Outside weights of both parts of a split, and the counts of the rules that make it."""
    s = span_at(b, k)
    right_row, right_outside = chart.rows[j], chart.outside_rows[j]
    for item in range(chart.first[s], chart.first[s + 1]):
        parent = chart.symbol[item]
        above = outside_row[parent] * scale
        if above == 0.0:
            continue
        for at in range(rules.parent_first[parent], rules.parent_first[parent + 1]):
            r = np.uint64(rules.by_parent[np.uint64(at)])
            left, right = np.uint64(rules.left[r]), np.uint64(rules.right[r])
            one, other = chart.left_row[left], right_row[right]
            if one > 0.0 and other > 0.0:
                value = weights.binary[r] * above
                chart.outside[chart.place[left]] += value * other
                right_outside[right] += value * one
                counts.binary[r] += value * one * other


@jit
def _span_outside(rules, weights, chart, b, k, counts):
    """Close the outside weights of a span, count its unary rules; False if nothing is above it."""
    s = span_at(b, k)
    row, inside_row = chart.outside_rows[b], chart.rows[b]
    any_above = False
    for item in range(chart.first[s], chart.first[s + 1]):
        symbol = chart.symbol[item]
        row[symbol] += chart.outside[item]
        chart.top[item] = row[symbol] * chart.inside[item]
        any_above |= row[symbol] > 0.0
    if rules.upper.size > 0 and any_above:
        for x in range(row.size):
            chart.allowed[x] = inside_row[x] > 0.0
        free = chart.gate[s] == FREE
        descend(rules, weights, row, chart.allowed, free, chart.place, chart.block)
        for u in range(rules.upper.size):
            upper, lower = rules.upper[u], rules.lower[u]
            if chart.allowed[upper]:
                counts.unary[u] += weights.unary[u] * row[upper] * inside_row[lower]
    for item in range(chart.first[s], chart.first[s + 1]):
        chart.outside[item] = row[chart.symbol[item]]
    return any_above


@jit
def outside(rules, weights, lexicon, brackets, i, chart, counts):
    """Outside weights of all spans of sentence `i`, after `inside` found a tree.

    Fills the chart's `outside` and `top`, and adds the expected counts of the sentence's rules to
    `counts`.
    """
    if chart.in_log[0]:
        outside_log(rules, weights, lexicon, i, chart, counts)
        return
    n = np.int64(lexicon.length[i])
    whole = span_at(0, n)
    for item in range(chart.first[whole + 1]):
        chart.outside[item] = 0.0
    root = find(chart, whole, rules.start)
    chart.outside[root] = 1.0 / chart.inside[root]
    first, entry = lexicon.starts[i], lexicon.starts[i + 1] - 1
    for k in range(n, 0, -1):
        for b in range(k):
            chart.rows[b][:] = 0.0
            chart.outside_rows[b][:] = 0.0
            scatter(chart, span_at(b, k), chart.rows[b])
        for b in range(k):
            s = span_at(b, k)
            likely = _span_outside(rules, weights, chart, b, k, counts)
            while entry >= first and lexicon.end[entry] == k and lexicon.begin[entry] == b:
                symbol = lexicon.symbol[entry]
                if likely and chart.rows[b, symbol] > 0.0:
                    # No overflow: the exponent of a span is that of its heaviest item.
                    weight = math.ldexp(weights.lexical[entry], -chart.exponent[s])
                    counts.lexical[entry] += weight * chart.outside_rows[b, symbol]
                entry -= 1
            if not likely:
                continue
            for j in range(b + 1, k):
                left, scale = span_at(b, j), split_scale(chart, b, j, k, chart.exponent[s])
                if scale > 0.0:
                    scatter(chart, left, chart.left_row)
                    _split_outside(
                        rules, weights, chart, b, j, k, scale, chart.outside_rows[b], counts
                    )
                    erase(chart, left, chart.left_row)


@jit_allocating
def expected_rule_counts(rules, weights, lexicon, brackets, sentences, counts, log_z):
    """E-step: add the expected counts of some sentences to `counts`.

    Parameters
    ----------
    rules : Rules
    weights : TreeWeights
        With its closure filled.
    lexicon : Lexicon
    brackets : Brackets
    sentences : ndarray, int64
        Numbers of the sentences.
    counts : RuleCounts
        Is added to.
    log_z : ndarray of shape (len(sentences),)
        Receives log p(words) in nats; -inf for a sentence without a tree, which adds nothing.
    """
    chart = chart_for(rules, longest_of(lexicon, sentences))
    for x in range(sentences.size):
        log_z[x] = inside(rules, weights, lexicon, brackets, sentences[x], chart)
        if log_z[x] > -math.inf:
            outside(rules, weights, lexicon, brackets, sentences[x], chart, counts)


@jit_allocating
def log_likelihood(rules, weights, lexicon, brackets, sentences, log_z):
    """log p(words) of some sentences in nats; -inf for a sentence without a tree."""
    chart = chart_for(rules, longest_of(lexicon, sentences))
    for x in range(sentences.size):
        log_z[x] = inside(rules, weights, lexicon, brackets, sentences[x], chart)


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


@jit_allocating
def span_posteriors(rules, weights, lexicon, brackets, i):
    """Posterior of all nodes that occur in some tree of sentence `i`.

    Returns
    -------
    spans : Spans
        By ascending end, descending begin, ascending symbol; empty without a tree.
    log_z : float
        log p(words) in nats.
    """
    n = np.int64(lexicon.length[i])
    chart = chart_for(rules, n)
    counts = RuleCounts(
        np.zeros(rules.binary.size), np.zeros(rules.unary.size), np.zeros(lexicon.rule.size)
    )
    log_z = inside(rules, weights, lexicon, brackets, i, chart)
    if log_z == -math.inf:
        n = 0
    else:
        outside(rules, weights, lexicon, brackets, i, chart, counts)
    size = 0
    for item in range(chart.first[n * (n + 1) // 2]):
        size += chart.outside[item] > 0.0
    spans = Spans(
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.empty(size, np.int32),
        np.empty(size),
        np.empty(size),
    )
    at = 0
    for k in range(1, n + 1):
        for b in range(k - 1, -1, -1):
            s = span_at(b, k)
            for item in range(chart.first[s], chart.first[s + 1]):
                if chart.outside[item] > 0.0:
                    spans.begin[at] = b
                    spans.end[at] = k
                    spans.symbol[at] = chart.symbol[item]
                    spans.expected[at] = chart.inside[item] * chart.outside[item]
                    spans.top[at] = chart.top[item]
                    at += 1
    return spans, log_z
