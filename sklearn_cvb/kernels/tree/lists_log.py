"""Inside and outside weights in log space, for weights so unequal that a tree's items were dropped.

Same charts, spans and results as `sklearn_cvb.kernels.tree.lists`, which falls back on this where
it finds no tree. Slow and safe; weights come as they are, and chains of unary rules are summed
within cycles before logs are taken.
"""

import math

import numpy as np

from sklearn_cvb.kernels.chain.log_space import log_add
from sklearn_cvb.kernels.jit import jit
from sklearn_cvb.kernels.tree.charts import (
    FORBIDDEN,
    FREE,
    allow,
    fill_block,
    find,
    span_at,
)


@jit
def _through_cycles_log(rules, weights, c, row, allowed, free, place, block, upward):
    """Add the summed chains within a component to the logs of its members."""
    begin, n = rules.member_first[c], rules.member_first[c + 1] - rules.member_first[c]
    table, at, line = weights.closure, rules.block_first[c], n * n
    if not free:
        table, at = block, 0
        fill_block(rules, weights.unary, c, allowed, place, block, 0)
    for x in range(n):
        block[line + x] = row[rules.member[begin + x]]
    for x in range(n):
        total = -math.inf
        for y in range(n):
            cell = x * n + y if upward else y * n + x
            total = log_add(total, math.log(table[at + cell]) + block[line + y])
        symbol = rules.member[begin + x]
        row[symbol] = total if free or allowed[symbol] else -math.inf


@jit
def _climb_log(rules, weights, row, allowed, free, place, block):
    """Add the unary rules to the inside weights of a span, the lowest symbols first."""
    for c in range(rules.internal_first.size):
        for u in range(rules.unary_first[c], rules.internal_first[c]):
            upper = rules.upper[u]
            if free or allowed[upper]:
                step = math.log(weights.unary[u]) + row[rules.lower[u]]
                row[upper] = log_add(row[upper], step)
        if rules.member_first[c + 1] > rules.member_first[c]:
            _through_cycles_log(rules, weights, c, row, allowed, free, place, block, True)


@jit
def _descend_log(rules, weights, row, allowed, free, place, block):
    """Add the unary rules to the outside weights of a span, the highest symbols first."""
    for c in range(rules.internal_first.size - 1, -1, -1):
        if rules.member_first[c + 1] > rules.member_first[c]:
            _through_cycles_log(rules, weights, c, row, allowed, free, place, block, False)
        for u in range(rules.unary_first[c], rules.internal_first[c]):
            lower = rules.lower[u]
            if allowed[rules.upper[u]]:
                step = math.log(weights.unary[u]) + row[rules.upper[u]]
                row[lower] = log_add(row[lower], step)


@jit
def _add_splits_log(rules, weights, chart, b, k, row):
    for j in range(b + 1, k):
        left, right_row = span_at(b, j), chart.rows[j]
        for item in range(chart.first[left], chart.first[left + 1]):
            symbol = chart.symbol[item]
            for r in range(rules.left_first[symbol], rules.left_first[symbol + 1]):
                other = right_row[rules.right[r]]
                if other > -math.inf:
                    value = math.log(weights.binary[r]) + chart.inside[item] + other
                    row[rules.parent[r]] = log_add(row[rules.parent[r]], value)


@jit
def _list_logs(chart, s, row):
    item = chart.first[s]
    for x in range(row.size):
        if row[x] > -math.inf:
            chart.symbol[item] = x
            chart.inside[item] = row[x]
            item += 1
    chart.first[s + 1] = item
    chart.exponent[s] = 0


@jit
def inside_log(rules, weights, lexicon, brackets, i, chart):
    """Logs of the inside weights of all spans of sentence `i`, whose gates are set.

    Returns log p(words) in nats, -inf if the sentence has no tree.
    """
    n = np.int64(lexicon.length[i])
    entry, stop = lexicon.starts[i], lexicon.starts[i + 1]
    for k in range(1, n + 1):
        for b in range(k - 1, -1, -1):
            s = span_at(b, k)
            row = chart.rows[b]
            row[:] = -math.inf
            open_span = chart.gate[s] != FORBIDDEN
            if open_span:
                _add_splits_log(rules, weights, chart, b, k, row)
            while entry < stop and lexicon.end[entry] == k and lexicon.begin[entry] == b:
                if open_span:
                    symbol = lexicon.symbol[entry]
                    row[symbol] = log_add(row[symbol], math.log(weights.lexical[entry]))
                entry += 1
            free = chart.gate[s] <= FREE
            if not free:
                allow(brackets, i, b, k, chart.gate[s], chart.allowed)
                for x in range(row.size):
                    if not chart.allowed[x]:
                        row[x] = -math.inf
            if rules.upper.size > 0 and open_span:
                _climb_log(rules, weights, row, chart.allowed, free, chart.place, chart.block)
            _list_logs(chart, s, row)
    root = find(chart, span_at(0, n), rules.start)
    return chart.inside[root] if root >= 0 else -math.inf


@jit
def _span_outside_log(rules, weights, chart, b, k, counts):
    """Close the outside weights of a span and count its unary rules."""
    s = span_at(b, k)
    row, inside_row = chart.outside_rows[b], chart.rows[b]
    for item in range(chart.first[s], chart.first[s + 1]):
        symbol = chart.symbol[item]
        row[symbol] = log_add(row[symbol], chart.outside[item])
        chart.top[item] = math.exp(row[symbol] + chart.inside[item])
    if rules.upper.size > 0:
        for x in range(row.size):
            chart.allowed[x] = inside_row[x] > -math.inf
        free = chart.gate[s] == FREE
        _descend_log(rules, weights, row, chart.allowed, free, chart.place, chart.block)
        for u in range(rules.upper.size):
            upper, lower = rules.upper[u], rules.lower[u]
            if chart.allowed[upper]:
                value = math.log(weights.unary[u]) + row[upper] + inside_row[lower]
                counts.unary[u] += math.exp(value)
    for item in range(chart.first[s], chart.first[s + 1]):
        chart.outside[item] = row[chart.symbol[item]]


@jit
def _split_outside_log(rules, weights, chart, b, j, k, counts):
    """Outside weights of both parts of a split, and the counts of the rules that make it."""
    left = span_at(b, j)
    for item in range(chart.first[span_at(b, k)], chart.first[span_at(b, k) + 1]):
        parent, above = chart.symbol[item], chart.outside[item]
        if above == -math.inf:
            continue
        for at in range(rules.parent_first[parent], rules.parent_first[parent + 1]):
            r = rules.by_parent[at]
            other = chart.rows[j, rules.right[r]]
            if other == -math.inf:
                continue
            one = find(chart, left, np.int64(rules.left[r]))
            if one >= 0:
                value = math.log(weights.binary[r]) + above
                chart.outside[one] = log_add(chart.outside[one], value + other)
                here = chart.outside_rows[j, rules.right[r]]
                here = log_add(here, value + chart.inside[one])
                chart.outside_rows[j, rules.right[r]] = here
                counts.binary[r] += math.exp(value + other + chart.inside[one])


@jit
def outside_log(rules, weights, lexicon, i, chart, counts):
    """Add the expected counts of sentence `i` to `counts`, after `inside_log` found a tree.

    In the end the chart's `outside` are posterior expected counts and its `inside` are 1.
    """
    n = np.int64(lexicon.length[i])
    whole = span_at(0, n)
    for item in range(chart.first[whole + 1]):
        chart.outside[item] = -math.inf
    root = find(chart, whole, rules.start)
    chart.outside[root] = -chart.inside[root]
    first, entry = lexicon.starts[i], lexicon.starts[i + 1] - 1
    for k in range(n, 0, -1):
        for b in range(k):
            chart.rows[b][:] = -math.inf
            chart.outside_rows[b][:] = -math.inf
            s = span_at(b, k)
            for item in range(chart.first[s], chart.first[s + 1]):
                chart.rows[b, chart.symbol[item]] = chart.inside[item]
        for b in range(k):
            _span_outside_log(rules, weights, chart, b, k, counts)
            while entry >= first and lexicon.end[entry] == k and lexicon.begin[entry] == b:
                symbol = lexicon.symbol[entry]
                if chart.rows[b, symbol] > -math.inf:
                    value = math.log(weights.lexical[entry]) + chart.outside_rows[b, symbol]
                    counts.lexical[entry] += math.exp(value)
                entry -= 1
            for j in range(b + 1, k):
                _split_outside_log(rules, weights, chart, b, j, k, counts)
    for item in range(chart.first[whole + 1]):
        chart.outside[item] = math.exp(chart.inside[item] + chart.outside[item])
        chart.inside[item] = 1.0
