"""Derivations drawn from the chart of a sentence: choices top-down, after inside weights bottom-up.

Unary rules are drawn one by one, so a cycle may be gone through any number of times.
Goodman (1998); Johnson, Griffiths and Goldwater (2007).
"""

import math

import numpy as np

from sklearn_cvb.kernels.jit import jit_called, jit_inline
from sklearn_cvb.kernels.tree.charts import erase, find, scatter
from sklearn_cvb.kernels.tree.decoding import TERMINAL, UNARY, write_node
from sklearn_cvb.kernels.tree.lists import split_scale
from sklearn_cvb.kernels.tree.nodes import push
from sklearn_cvb.kernels.tree.spans import span_at


@jit_inline
def _draw_binary(binary, chart, node, level):
    """Go through the binary rules of a node until `level` is used up.

    Returns the rule, the split and what is left of the level; if all are passed, the last.
    """
    begin, end, symbol = node
    s = span_at(begin, end)
    rule, split = np.int64(-1), np.int64(0)
    left_row, right_row, rest = chart.left_row, chart.right_row, level
    for j in range(begin + 1, end):
        scale = split_scale(chart.exponent, begin, j, end, chart.exponent[s])
        if scale == 0.0:
            continue
        left, right = span_at(begin, j), span_at(j, end)
        scatter(chart, left, left_row)
        scatter(chart, right, right_row)
        for at in range(binary.parent_first[symbol], binary.parent_first[symbol + 1]):
            r = binary.by_parent[at]
            value = left_row[binary.left[r]] * right_row[binary.right[r]]
            value *= binary.weight[r] * scale
            if value > 0.0:
                rule, split = np.int64(r), np.int64(j)
                rest -= value
                if rest < 0.0:
                    break
        erase(chart, left, left_row)
        erase(chart, right, right_row)
        if rest < 0.0:
            break
    return rule, split, rest


@jit_called
def _draw_unary(unary, chart, node, level):
    """The same for the unary rules of a node: the rule and what is left of the level."""
    rule = np.int64(-1)
    if unary is not None:
        s = span_at(node[0], node[1])
        for u in range(unary.upper.size):
            if unary.upper[u] == node[2]:
                item = find(chart.first, chart.symbol, s, np.int64(unary.lower[u]))
                if item >= 0 and unary.weight[u] > 0.0:
                    rule = np.int64(u)
                    level -= unary.weight[u] * chart.inside[item]
                    if level < 0.0:
                        break
    return rule, level


@jit_inline
def _draw_terminal(terminals, i, chart, node, level):
    """The same for the terminals of a node."""
    begin, end, symbol = node
    s = span_at(begin, end)
    rule, rest = np.int64(-1), level
    for entry in range(terminals.starts[i], terminals.starts[i + 1]):
        if (
            terminals.begin[entry] == begin
            and terminals.end[entry] == end
            and terminals.symbol[entry] == symbol
            and terminals.weight[entry] > 0.0
        ):
            rule = np.int64(entry)
            rest -= math.ldexp(terminals.weight[entry], -chart.exponent[s])
            if rest < 0.0:
                break
    return rule, rest


@jit_inline
def _draw_rule(listed, i, chart, node, rng):
    """Draw the rule applied at a node: its number, and the split or what stands for it."""
    item = find(chart.first, chart.symbol, span_at(node[0], node[1]), node[2])
    level = rng.random() * chart.inside[item]
    rule, split, level = _draw_binary(listed.binary, chart, node, level)
    # Rounding may leave a little of the level: then the last of all choices is taken.
    if not level < 0.0:
        other, level = _draw_unary(listed.unary, chart, node, level)
        if other >= 0:
            rule, split = other, np.int64(UNARY)
    if not level < 0.0:
        other, level = _draw_terminal(listed.terminals, i, chart, node, level)
        if other >= 0:
            rule, split = other, np.int64(TERMINAL)
    return rule, split


@jit_called
def draw_listed_tree(listed, i, chart, rng, draws, size):
    """Draw a tree of sentence `i` from its filled chart, or what is left of it: nodes on the stack.

    Parameters
    ----------
    listed : Listed
    i : int
    chart : Chart
    rng : numpy.random.Generator
    draws : Draws
        The nodes are written after the first `size`. `draws.height` says how many are on the stack:
        0 in the beginning and in the end, more where the room is used up.
    size : int

    Returns
    -------
    int
        Number of nodes now.
    """
    height = draws.height[0]
    if height == 0:
        push(draws.stack, 0, 0, listed.terminals.length[i], listed.binary.start)
        height = np.int64(1)
    while height > 0 and size < draws.new.begin.size:
        height -= 1
        node = draws.stack[height, 0], draws.stack[height, 1], draws.stack[height, 2]
        rule, split = _draw_rule(listed, i, chart, node, rng)
        height = write_node(listed, node, rule, split, draws.stack, height, draws.new, size)
        size += 1
    draws.height[0] = height
    return size
