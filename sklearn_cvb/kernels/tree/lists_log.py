"""Inside and outside weights in log space, for weights so unequal that a tree's items were dropped.

Same charts, spans and results as `sklearn_cvb.kernels.tree.lists`, one sentence at a time. Slow and
safe, and compiled only where needed. Weights come as they are, and chains of unary rules are summed
within cycles before logs are taken.
"""

import math

import numpy as np

from sklearn_cvb.kernels.chain.log_space import log_add
from sklearn_cvb.kernels.jit import jit, jit_called
from sklearn_cvb.kernels.tree.charts import find
from sklearn_cvb.kernels.tree.decoding import TERMINAL, UNARY
from sklearn_cvb.kernels.tree.lists import has_terminal
from sklearn_cvb.kernels.tree.spans import FORBIDDEN, FREE, allow, restrict, span_at
from sklearn_cvb.kernels.tree.unary_rules import fill_allowed_block


@jit_called
def _multiply(unary, c, row, work, table, upward):
    """Add the summed chains within a component, a table (n, n), flat, to logs of its members."""
    begin, n = unary.member_first[c], unary.member_first[c + 1] - unary.member_first[c]
    line = n * n
    for x in range(n):
        work.block[line + x] = row[unary.member[begin + x]]
    for x in range(n):
        total = -math.inf
        for y in range(n):
            cell = x * n + y if upward else y * n + x
            total = log_add(total, math.log(table[cell]) + work.block[line + y])
        row[unary.member[begin + x]] = total


@jit_called
def _through_cycles(unary, c, row, free, work, upward):
    """Add the summed chains within a component to the logs of its members."""
    if free:
        _multiply(unary, c, row, work, unary.closure[unary.block_first[c] :], upward)
    else:
        fill_allowed_block(unary, c, work)
        _multiply(unary, c, row, work, work.block, upward)
        for x in range(unary.member_first[c], unary.member_first[c + 1]):
            if not work.allowed[unary.member[x]]:
                row[unary.member[x]] = -math.inf


@jit_called
def _climb(unary, row, free, work):
    """Add the unary rules to the inside weights of a span, the lowest symbols first."""
    if unary is not None:
        for c in range(unary.internal_first.size):
            for u in range(unary.first[c], unary.internal_first[c]):
                upper = unary.upper[u]
                if free or work.allowed[upper]:
                    step = math.log(unary.weight[u]) + row[unary.lower[u]]
                    row[upper] = log_add(row[upper], step)
            if unary.member_first[c + 1] > unary.member_first[c]:
                _through_cycles(unary, c, row, free, work, True)


@jit_called
def _descend(unary, row, inside_row, free, work):
    """Add the unary rules to the outside weights of a span and count them."""
    if unary is not None:
        for x in range(row.size):
            work.allowed[x] = inside_row[x] > -math.inf
        for c in range(unary.internal_first.size - 1, -1, -1):
            if unary.member_first[c + 1] > unary.member_first[c]:
                _through_cycles(unary, c, row, free, work, False)
            for u in range(unary.first[c], unary.internal_first[c]):
                lower = unary.lower[u]
                if work.allowed[unary.upper[u]]:
                    step = math.log(unary.weight[u]) + row[unary.upper[u]]
                    row[lower] = log_add(row[lower], step)
        for u in range(unary.upper.size):
            upper, lower = unary.upper[u], unary.lower[u]
            if work.allowed[upper]:
                value = math.log(unary.weight[u]) + row[upper] + inside_row[lower]
                unary.count[u] += math.exp(value)


@jit_called
def _add_splits(binary, chart, b, k, row):
    """Logs of the inside weights of a span by binary rules."""
    for j in range(b + 1, k):
        left, right_row = span_at(b, j), chart.rows[j]
        for item in range(chart.first[left], chart.first[left + 1]):
            symbol = chart.symbol[item]
            for r in range(binary.left_first[symbol], binary.left_first[symbol + 1]):
                other = right_row[binary.right[r]]
                if other > -math.inf:
                    value = math.log(binary.weight[r]) + chart.inside[item] + other
                    row[binary.parent[r]] = log_add(row[binary.parent[r]], value)


@jit_called
def _list_items(chart, s, row):
    """List the items of span `s`."""
    item = chart.first[s]
    for x in range(row.size):
        if row[x] > -math.inf:
            chart.symbol[item] = x
            chart.inside[item] = row[x]
            item += 1
    chart.first[s + 1] = item
    chart.exponent[s] = 0


@jit
def log_inside(listed, i, chart):
    """Logs of the inside weights of all spans of sentence `i`.

    Fills the chart's `first`, `symbol`, `inside` (with logs) and `gate`. Returns log p(words) in
    nats, -inf if the sentence has no tree.
    """
    terminals, n = listed.terminals, np.int64(listed.terminals.length[i])
    restrict(listed.brackets, i, n, chart.gate)
    entry = terminals.starts[i]
    for k in range(1, n + 1):
        for b in range(k - 1, -1, -1):
            s = span_at(b, k)
            row, gate = chart.rows[b], chart.gate[s]
            row[:] = -math.inf
            if gate != FORBIDDEN:
                _add_splits(listed.binary, chart, b, k, row)
            while has_terminal(terminals, i, entry, b, k):
                if gate != FORBIDDEN:
                    symbol = terminals.symbol[entry]
                    row[symbol] = log_add(row[symbol], math.log(terminals.weight[entry]))
                entry += 1
            if gate > FREE:
                allow(listed.brackets, i, b, k, gate, chart.chains.allowed)
                for x in range(row.size):
                    if not chart.chains.allowed[x]:
                        row[x] = -math.inf
            if gate != FORBIDDEN:
                _climb(listed.unary, row, gate == FREE, chart.chains)
            _list_items(chart, s, row)
    root = find(chart.first, chart.symbol, span_at(0, n), listed.binary.start)
    return chart.inside[root] if root >= 0 else -math.inf


@jit_called
def _split_outside(binary, chart, b, j, k):
    """Outside weights of both parts of a split, and the counts of the rules that make it."""
    left = span_at(b, j)
    for item in range(chart.first[span_at(b, k)], chart.first[span_at(b, k) + 1]):
        parent, above = chart.symbol[item], chart.outside[item]
        if above == -math.inf:
            continue
        for at in range(binary.parent_first[parent], binary.parent_first[parent + 1]):
            r = binary.by_parent[at]
            other = chart.rows[j, binary.right[r]]
            if other == -math.inf:
                continue
            one = find(chart.first, chart.symbol, left, np.int64(binary.left[r]))
            if one >= 0:
                value = math.log(binary.weight[r]) + above
                chart.outside[one] = log_add(chart.outside[one], value + other)
                here = chart.outside_rows[j, binary.right[r]]
                here = log_add(here, value + chart.inside[one])
                chart.outside_rows[j, binary.right[r]] = here
                binary.count[r] += math.exp(value + other + chart.inside[one])


@jit_called
def _span_outside(unary, chart, b, k):
    """Close the outside weights of a span and count its unary rules."""
    s = span_at(b, k)
    row = chart.outside_rows[b]
    for item in range(chart.first[s], chart.first[s + 1]):
        symbol = chart.symbol[item]
        row[symbol] = log_add(row[symbol], chart.outside[item])
        chart.top[item] = math.exp(row[symbol] + chart.inside[item])
    _descend(unary, row, chart.rows[b], chart.gate[s] == FREE, chart.chains)
    for item in range(chart.first[s], chart.first[s + 1]):
        chart.outside[item] = row[chart.symbol[item]]


@jit
def log_outside(listed, i, chart):
    """Add the expected counts of sentence `i` to `listed`, after `log_inside` found a tree.

    In the end the chart's `outside` are posterior expected counts and its `inside` are 1.
    """
    terminals, n = listed.terminals, np.int64(listed.terminals.length[i])
    whole = span_at(0, n)
    chart.outside[: chart.first[whole + 1]] = -math.inf
    root = find(chart.first, chart.symbol, whole, listed.binary.start)
    chart.outside[root] = -chart.inside[root]
    entry = terminals.starts[i + 1] - 1
    for k in range(n, 0, -1):
        for b in range(k):
            chart.rows[b][:] = -math.inf
            chart.outside_rows[b][:] = -math.inf
            s = span_at(b, k)
            for item in range(chart.first[s], chart.first[s + 1]):
                chart.rows[b, chart.symbol[item]] = chart.inside[item]
        for b in range(k):
            _span_outside(listed.unary, chart, b, k)
            while has_terminal(terminals, i, entry, b, k):
                symbol = terminals.symbol[entry]
                if chart.rows[b, symbol] > -math.inf:
                    value = math.log(terminals.weight[entry]) + chart.outside_rows[b, symbol]
                    terminals.count[entry] += math.exp(value)
                entry -= 1
            for j in range(b + 1, k):
                _split_outside(listed.binary, chart, b, j, k)
    for item in range(chart.first[whole + 1]):
        chart.outside[item] = math.exp(chart.inside[item] + chart.outside[item])
        chart.inside[item] = 1.0


@jit_called
def _draw_unary(unary, chart, s, symbol, level):
    """Go through the unary rules of a node until `level` is used up; the last where all are."""
    rule, whole = np.int64(-1), chart.inside[find(chart.first, chart.symbol, s, symbol)]
    if unary is not None:
        for u in range(unary.upper.size):
            if unary.upper[u] == symbol:
                item = find(chart.first, chart.symbol, s, np.int64(unary.lower[u]))
                if item >= 0 and unary.weight[u] > 0.0:
                    rule = np.int64(u)
                    level -= unary.weight[u] * math.exp(chart.inside[item] - whole)
                    if level < 0.0:
                        break
    return rule, level


@jit_called
def _draw_binary(binary, chart, node, level):
    """The same for the binary rules of a node (begin, end, symbol): rule, split, level."""
    begin, end, symbol = node
    first, symbols = chart.first, chart.symbol
    whole = chart.inside[find(first, symbols, span_at(begin, end), symbol)]
    rule, split = np.int64(-1), np.int64(0)
    for j in range(begin + 1, end):
        for at in range(binary.parent_first[symbol], binary.parent_first[symbol + 1]):
            r = binary.by_parent[at]
            left = find(first, symbols, span_at(begin, j), np.int64(binary.left[r]))
            right = find(first, symbols, span_at(j, end), np.int64(binary.right[r]))
            if left >= 0 and right >= 0 and binary.weight[r] > 0.0:
                rule, split = np.int64(r), np.int64(j)
                value = math.log(binary.weight[r]) + chart.inside[left] + chart.inside[right]
                level -= math.exp(value - whole)
                if level < 0.0:
                    return rule, split, level
    return rule, split, level


@jit
def draw_log_rule(listed, i, chart, node, rng):
    """Draw the rule applied at a node (begin, end, symbol), after `log_inside`.

    Returns its number, and the split, or `UNARY` or `TERMINAL` in place of it.
    """
    begin, end, symbol = node
    s = span_at(begin, end)
    rule, split, level = _draw_binary(listed.binary, chart, node, rng.random())
    if level < 0.0:
        return rule, split
    # Rounding may leave a little of the level: then the last of all choices is taken.
    other, level = _draw_unary(listed.unary, chart, s, symbol, level)
    if other >= 0:
        rule, split = other, np.int64(UNARY)
    if level < 0.0:
        return rule, split
    terminals, whole = listed.terminals, chart.inside[find(chart.first, chart.symbol, s, symbol)]
    for entry in range(terminals.starts[i], terminals.starts[i + 1]):
        if (
            has_terminal(terminals, i, entry, begin, end)
            and terminals.symbol[entry] == symbol
            and terminals.weight[entry] > 0.0
        ):
            rule, split = np.int64(entry), np.int64(TERMINAL)
            level -= math.exp(math.log(terminals.weight[entry]) - whole)
            if level < 0.0:
                break
    return rule, split
