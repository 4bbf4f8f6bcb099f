"""Inside-outside by lists of rules, sentence by sentence: weights of spans, expected counts, drawn
trees. The posterior of an item is that of a symbol over a span.

Only rules whose parts derive something are looked at. Equations of Wang and Blunsom (2013), section
2.2; expected counts with unary chains by their geometric series: outside times weight times inside,
both closed. Trees are drawn top-down (Goodman 1998; Johnson, Griffiths and Goldwater 2007), unary
rules one by one, so a cycle may be gone through any number of times.

Where no tree is found, there is none or one of its items was dropped: the log normaliser is NaN,
and the same is done once more with logs, which drop nothing (`logs`, see
`sklearn_cvb.kernels.tree.semirings`). Weights come as they are, and chains of unary rules are
summed within cycles before logs are taken.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline
from sklearn_cvb.kernels.subnormal import subnormal_is_zero
from sklearn_cvb.kernels.tree.arrays import push_node
from sklearn_cvb.kernels.tree.charts import (
    FORBIDDEN,
    FREE,
    NOTHING,
    SpanChart,
    erase_span,
    fill_gates,
    find_item,
    has_terminal,
    list_items,
    mark_allowed,
    power_of_two,
    scatter_span,
    span_at,
)
from sklearn_cvb.kernels.tree.decoding import TERMINAL, UNARY, write_node
from sklearn_cvb.kernels.tree.semirings import (
    element,
    part_of,
    plus,
    quotient,
    times,
    weight_of,
    zero,
)
from sklearn_cvb.kernels.tree.unary_rules import add_unary_inside, add_unary_outside

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
def _split_scale(exponents, b, j, k, exponent):
    """What the product of both parts' inside weights counts in units of 2 ** exponent."""
    return power_of_two(exponents[span_at(b, j)] + exponents[span_at(j, k)] - exponent)


@jit_inline
def _add_splits(binary, chart, b, k, exponent, row, logs):
    """Inside weights of a span by binary rules, in units of 2 ** exponent."""
    for j in range(b + 1, k):
        left, scale = span_at(b, j), _split_scale(chart.exponent, b, j, k, exponent)
        if scale > 0.0:
            right_row = chart.rows[j]
            for item in range(chart.first[left], chart.first[left + 1]):
                value = times(element(scale, logs), chart.inside[np.uint64(item)], logs)
                symbol = chart.symbol[np.uint64(item)]
                for r in range(binary.left_first[symbol], binary.left_first[symbol + 1]):
                    here = np.uint64(r)
                    other = right_row[np.uint64(binary.right[here])]
                    if other > zero(logs):
                        parent = np.uint64(binary.parent[here])
                        whole = times(element(binary.weight[here], logs), value, logs)
                        row[parent] = plus(row[parent], times(whole, other, logs), logs)


@jit_called
def add_terminal(row, symbol, weight, exponent):
    """Add a lexical rule to a row in units of 2 ** exponent; returns the new exponent.

    A terminal of several words beside splits may be far heavier or lighter.
    """
    if weight > 0.0:
        if exponent < -900:
            factor = power_of_two(exponent)
            for x in range(row.size):
                row[x] *= factor
            exponent = 0
        row[symbol] += weight * power_of_two(-exponent)
    return exponent


@jit_called
def inside(lists, i, chart, logs):
    """Inside weights of all spans of sentence `i`, in the chart; returns log p(words) in nats.

    That is NaN if no tree is found, and -inf if there is none in logs.
    """
    terminals, n = lists.terminals, np.int64(lists.terminals.length[i])
    fill_gates(lists.brackets, i, n, chart.gate)
    chart.left_row[:] = zero(logs)
    chart.right_row[:] = zero(logs)
    entry = terminals.starts[i]
    for k in range(1, n + 1):
        for b in range(k - 1, -1, -1):
            row, gate = chart.rows[b], chart.gate[span_at(b, k)]
            row[:] = zero(logs)
            exponent = np.int64(NOTHING)
            if gate != FORBIDDEN:
                exponent = largest_exponent(chart.exponent, 0, b, k)
            if exponent > NOTHING // 2:
                _add_splits(lists.binary, chart, b, k, exponent, row, logs)
            else:
                exponent = np.int64(0)
            while has_terminal(terminals, i, entry, b, k):
                if gate != FORBIDDEN:
                    symbol, weight = np.int64(terminals.symbol[entry]), terminals.weight[entry]
                    if logs is None:
                        exponent = add_terminal(row, symbol, weight, exponent)
                    else:
                        row[symbol] = plus(row[symbol], element(weight, logs), logs)
                entry += 1
            if gate > FREE:
                mark_allowed(lists.brackets, i, b, k, gate, chart.chains.allowed)
                for x in range(row.size):
                    if not chart.chains.allowed[x]:
                        row[x] = zero(logs)
            if gate != FORBIDDEN:
                add_unary_inside(lists.unary, row, gate == FREE, chart.chains, logs)
            list_items(chart, span_at(b, k), row, exponent, logs)
    whole = span_at(0, n)
    item = find_item(chart.first, chart.symbol, whole, lists.binary.start)
    if item < 0:
        return math.nan if logs is None else -math.inf
    if logs is None:
        return math.log(chart.inside[item]) + chart.exponent[whole] * _LOG_2
    return chart.inside[item]


@jit_inline
def _split_outside(binary, chart, b, j, k, scale, outside_row, logs):
    """Outside weights of both parts of a split, and the counts of the rules that make it.

    `scale` is that of `_split_scale`.
    """
    s = span_at(b, k)
    scatter_span(chart, span_at(b, j), chart.left_row)
    right_row, right_outside = chart.rows[j], chart.outside_rows[j]
    for item in range(chart.first[s], chart.first[s + 1]):
        parent = chart.symbol[item]
        above = times(outside_row[parent], element(scale, logs), logs)
        if above > zero(logs):
            for at in range(binary.parent_first[parent], binary.parent_first[parent + 1]):
                r = np.uint64(binary.by_parent[np.uint64(at)])
                left, right = np.uint64(binary.left[r]), np.uint64(binary.right[r])
                one, other = chart.left_row[left], right_row[right]
                if one > zero(logs) and other > zero(logs):
                    value = times(element(binary.weight[r], logs), above, logs)
                    place = chart.place[left]
                    to_left = times(value, other, logs)
                    chart.outside[place] = plus(chart.outside[place], to_left, logs)
                    to_right = times(value, one, logs)
                    right_outside[right] = plus(right_outside[right], to_right, logs)
                    binary.count[r] += weight_of(times(to_right, other, logs), logs)
    erase_span(chart, span_at(b, j), chart.left_row, logs)


@jit_inline
def _span_outside(unary, chart, b, k, logs):
    """Close the outside weights of a span, count its unary rules; False if nothing is above it."""
    s = span_at(b, k)
    row = chart.outside_rows[b]
    any_above = False
    for item in range(chart.first[s], chart.first[s + 1]):
        symbol = chart.symbol[item]
        row[symbol] = plus(row[symbol], chart.outside[item], logs)
        chart.top[item] = weight_of(times(row[symbol], chart.inside[item], logs), logs)
        any_above |= row[symbol] > zero(logs)
    if any_above:
        add_unary_outside(unary, row, chart.rows[b], chart.gate[s] == FREE, chart.chains, logs)
    for item in range(chart.first[s], chart.first[s + 1]):
        chart.outside[item] = row[chart.symbol[item]]
    return any_above


@jit_called
def outside(lists, i, chart, logs):
    """Outside weights of all spans of sentence `i`, after `inside` found a tree; count its rules.

    Where the weights are logs, the chart's `outside` are posterior expected counts in the end, and
    its `inside` are 1.
    """
    binary, terminals = lists.binary, lists.terminals
    n = np.int64(terminals.length[i])
    n_items = chart.first[span_at(0, n) + 1]
    chart.outside[:n_items] = zero(logs)
    root = find_item(chart.first, chart.symbol, span_at(0, n), binary.start)
    chart.outside[root] = quotient(element(1.0, logs), chart.inside[root], logs)
    entry = terminals.starts[i + 1] - 1
    for k in range(n, 0, -1):
        for b in range(k):
            chart.rows[b][:] = zero(logs)
            chart.outside_rows[b][:] = zero(logs)
            scatter_span(chart, span_at(b, k), chart.rows[b])
        for b in range(k):
            s = span_at(b, k)
            likely = _span_outside(lists.unary, chart, b, k, logs)
            while has_terminal(terminals, i, entry, b, k):
                symbol = terminals.symbol[entry]
                if likely and chart.rows[b, symbol] > zero(logs):
                    # No overflow: the exponent of a span is that of its heaviest item.
                    weight = math.ldexp(terminals.weight[entry], -chart.exponent[s])
                    value = times(element(weight, logs), chart.outside_rows[b, symbol], logs)
                    terminals.count[entry] += weight_of(value, logs)
                entry -= 1
            if likely:
                for j in range(b + 1, k):
                    scale = _split_scale(chart.exponent, b, j, k, chart.exponent[s])
                    if scale > 0.0:
                        _split_outside(binary, chart, b, j, k, scale, chart.outside_rows[b], logs)
    if logs is not None:
        for item in range(n_items):
            chart.outside[item] = math.exp(chart.inside[item] + chart.outside[item])
            chart.inside[item] = 1.0


@jit
def expected_counts_by_lists(lists, chart, sentences, log_z, with_counts):
    """E-step: add the expected counts of some sentences, if asked for, to those of `lists`.

    `log_z` receives their log p(words) in nats; NaN without a tree, which adds nothing.
    """
    subnormal_is_zero(True)
    for x in range(sentences.size):
        log_z[x] = inside(lists, sentences[x], chart, None)
        if with_counts and not math.isnan(log_z[x]):
            outside(lists, sentences[x], chart, None)
    subnormal_is_zero(False)


class SpanPosteriors(NamedTuple):
    """Posterior of the nodes over a sentence's spans."""

    begin: np.ndarray  # (n_items,), int32
    end: np.ndarray
    symbol: np.ndarray
    # (n_items,): expected number of such nodes; more than 1 only where unary rules make a cycle
    expected: np.ndarray
    # (n_items,): probability that the span's highest node has the symbol; over all symbols of a
    # span they sum to the probability that the span is derived from one
    top: np.ndarray


def span_posteriors_of(chart: SpanChart, n: int) -> SpanPosteriors:
    """Posterior of all nodes that occur in some tree of a sentence of `n` words.

    By ascending end, descending begin, ascending symbol. The chart's outside weights are filled.
    """
    end = np.repeat(np.arange(1, n + 1), np.arange(1, n + 1))
    begin = np.concatenate([np.arange(k - 1, -1, -1) for k in range(1, n + 1)])
    n_items = chart.first[n * (n + 1) // 2]
    each = np.diff(chart.first[: n * (n + 1) // 2 + 1])
    is_reached = chart.outside[:n_items] > 0.0
    return SpanPosteriors(
        np.repeat(begin, each)[is_reached].astype(np.int32),
        np.repeat(end, each)[is_reached].astype(np.int32),
        chart.symbol[:n_items][is_reached],
        (chart.inside[:n_items] * chart.outside[:n_items])[is_reached],
        chart.top[:n_items][is_reached],
    )


@jit_inline
def _draw_binary(binary, chart, node, whole, level, logs):
    """Go through the binary rules of a node until `level` is used up.

    Returns the rule, the split and what is left of the level; if all are passed, the last.
    """
    begin, end, symbol = node
    s = span_at(begin, end)
    rule, split = np.int64(-1), np.int64(0)
    left_row, right_row, rest = chart.left_row, chart.right_row, level
    for j in range(begin + 1, end):
        scale = _split_scale(chart.exponent, begin, j, end, chart.exponent[s])
        if scale == 0.0:
            continue
        left, right = span_at(begin, j), span_at(j, end)
        scatter_span(chart, left, left_row)
        scatter_span(chart, right, right_row)
        for at in range(binary.parent_first[symbol], binary.parent_first[symbol + 1]):
            r = binary.by_parent[at]
            value = times(left_row[binary.left[r]], right_row[binary.right[r]], logs)
            value = times(value, element(binary.weight[r] * scale, logs), logs)
            if value > zero(logs):
                rule, split = np.int64(r), np.int64(j)
                rest -= part_of(value, whole, logs)
                if rest < 0.0:
                    break
        erase_span(chart, left, left_row, logs)
        erase_span(chart, right, right_row, logs)
        if rest < 0.0:
            break
    return rule, split, rest


@jit_called
def _draw_unary(unary, chart, node, whole, level, logs):
    """The same for the unary rules of a node: the rule and what is left of the level."""
    rule = np.int64(-1)
    if unary is not None:
        s = span_at(node[0], node[1])
        for u in range(unary.upper.size):
            if unary.upper[u] == node[2]:
                item = find_item(chart.first, chart.symbol, s, np.int64(unary.lower[u]))
                if item >= 0 and unary.weight[u] > 0.0:
                    rule = np.int64(u)
                    value = times(element(unary.weight[u], logs), chart.inside[item], logs)
                    level -= part_of(value, whole, logs)
                    if level < 0.0:
                        break
    return rule, level


@jit_inline
def _draw_terminal(terminals, i, chart, node, whole, level, logs):
    """The same for the terminals of a node."""
    begin, end, symbol = node
    s = span_at(begin, end)
    rule, rest = np.int64(-1), level
    for entry in range(terminals.starts[i], terminals.starts[i + 1]):
        if (
            has_terminal(terminals, i, entry, begin, end)
            and terminals.symbol[entry] == symbol
            and terminals.weight[entry] > 0.0
        ):
            rule = np.int64(entry)
            weight = math.ldexp(terminals.weight[entry], -chart.exponent[s])
            rest -= part_of(element(weight, logs), whole, logs)
            if rest < 0.0:
                break
    return rule, rest


@jit_inline
def _draw_rule(lists, i, chart, node, rng, logs):
    """Draw the rule applied at a node: its number, and the split or what stands for it."""
    item = find_item(chart.first, chart.symbol, span_at(node[0], node[1]), node[2])
    whole = chart.inside[item]
    level = rng.random() * whole if logs is None else rng.random()
    rule, split, level = _draw_binary(lists.binary, chart, node, whole, level, logs)
    # Rounding may leave a little of the level: then the last of all choices is taken.
    if not level < 0.0:
        other, level = _draw_unary(lists.unary, chart, node, whole, level, logs)
        if other >= 0:
            rule, split = other, np.int64(UNARY)
    if not level < 0.0:
        other, level = _draw_terminal(lists.terminals, i, chart, node, whole, level, logs)
        if other >= 0:
            rule, split = other, np.int64(TERMINAL)
    return rule, split


@jit_called
def draw_tree_by_lists(lists, i, chart, rng, sweep, size, logs):
    """Draw a tree of sentence `i` from its filled chart, or what is left of it: nodes on the stack.

    They are written after the first `size` of `sweep.new`; returns how many nodes there are now.
    `sweep.height` is 0 in the beginning and in the end, and more where the room is used up.
    """
    height = sweep.height[0]
    if height == 0:
        push_node(sweep.stack, 0, 0, lists.terminals.length[i], lists.binary.start)
        height = np.int64(1)
    while height > 0 and size < sweep.new.begin.size:
        height -= 1
        node = sweep.stack[height, 0], sweep.stack[height, 1], sweep.stack[height, 2]
        rule, split = _draw_rule(lists, i, chart, node, rng, logs)
        height = write_node(lists, node, rule, split, sweep.stack, height, sweep.new, size)
        size += 1
    sweep.height[0] = height
    return size
