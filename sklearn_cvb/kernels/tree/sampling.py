"""Derivations drawn from their posterior: inside weights bottom-up, choices top-down.

Unary rules are drawn one by one, so a cycle may be gone through any number of times.
Goodman (1998); Johnson, Griffiths and Goldwater (2007).
"""

import math

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_allocating
from sklearn_cvb.kernels.tree.charts import chart_for, erase, find, longest_of, scatter, span_at
from sklearn_cvb.kernels.tree.lists import inside, split_scale
from sklearn_cvb.kernels.tree.nodes import empty_trees, push, put, resized

# What stands in place of a split.
_UNARY, _TERMINAL = -1, -2


@jit
def _draw_binary(rules, weights, chart, node, level):
    """Go through the binary rules of a node until `level` is used up.

    Returns the rule, the split and what is left of the level; if all are passed, the last.
    """
    begin, end, symbol = node
    s = span_at(begin, end)
    rule, split = -1, 0
    left_row, right_row = chart.left_row, chart.right_row
    for j in range(begin + 1, end):
        scale = split_scale(chart, begin, j, end, chart.exponent[s])
        if scale == 0.0:
            continue
        left, right = span_at(begin, j), span_at(j, end)
        scatter(chart, left, left_row)
        scatter(chart, right, right_row)
        for at in range(rules.parent_first[symbol], rules.parent_first[symbol + 1]):
            r = rules.by_parent[at]
            value = left_row[rules.left[r]] * right_row[rules.right[r]]
            value *= weights.binary[r] * scale
            if value > 0.0:
                rule, split = np.int64(r), j
                level -= value
                if level < 0.0:
                    break
        erase(chart, left, left_row)
        erase(chart, right, right_row)
        if level < 0.0:
            break
    return rule, split, level


@jit
def _draw_binary_log(rules, weights, chart, node, level):
    """The same in a chart of logs; the level is a share of the node's weight."""
    begin, end, symbol = node
    whole = chart.inside[find(chart, span_at(begin, end), symbol)]
    rule, split = -1, 0
    for j in range(begin + 1, end):
        for at in range(rules.parent_first[symbol], rules.parent_first[symbol + 1]):
            r = rules.by_parent[at]
            left = find(chart, span_at(begin, j), np.int64(rules.left[r]))
            right = find(chart, span_at(j, end), np.int64(rules.right[r]))
            if left >= 0 and right >= 0 and weights.binary[r] > 0.0:
                rule, split = np.int64(r), j
                value = math.log(weights.binary[r]) + chart.inside[left] + chart.inside[right]
                level -= math.exp(value - whole)
                if level < 0.0:
                    return rule, split, level
    return rule, split, level


@jit
def _draw_unary(rules, weights, chart, node, level):
    """The same for the unary rules of a node: the rule and what is left of the level."""
    s = span_at(node[0], node[1])
    whole = chart.inside[find(chart, s, node[2])]
    rule = -1
    for u in range(rules.upper.size):
        if rules.upper[u] == node[2]:
            item = find(chart, s, np.int64(rules.lower[u]))
            if item >= 0 and weights.unary[u] > 0.0:
                rule = u
                if chart.in_log[0]:
                    level -= weights.unary[u] * math.exp(chart.inside[item] - whole)
                else:
                    level -= weights.unary[u] * chart.inside[item]
                if level < 0.0:
                    break
    return rule, level


@jit
def _draw_terminal(weights, lexicon, i, chart, node, level):
    """The same for the terminals of a node."""
    begin, end, symbol = node
    s = span_at(begin, end)
    whole = chart.inside[find(chart, s, symbol)]
    rule = -1
    for entry in range(lexicon.starts[i], lexicon.starts[i + 1]):
        if (
            lexicon.begin[entry] == begin
            and lexicon.end[entry] == end
            and lexicon.symbol[entry] == symbol
            and weights.lexical[entry] > 0.0
        ):
            rule = entry
            if chart.in_log[0]:
                level -= math.exp(math.log(weights.lexical[entry]) - whole)
            else:
                level -= math.ldexp(weights.lexical[entry], -chart.exponent[s])
            if level < 0.0:
                break
    return rule, level


@jit
def _draw(rules, weights, lexicon, i, chart, node, rng):
    """Draw the rule applied at a node: its number, and the split or what stands for it."""
    item = find(chart, span_at(node[0], node[1]), node[2])
    if chart.in_log[0]:
        level = rng.random()
        rule, split, level = _draw_binary_log(rules, weights, chart, node, level)
    else:
        level = rng.random() * chart.inside[item]
        rule, split, level = _draw_binary(rules, weights, chart, node, level)
    if level < 0.0:
        return rule, split
    # Rounding may leave a little of the level: then the last of all choices is taken.
    other, level = _draw_unary(rules, weights, chart, node, level)
    if other >= 0:
        rule, split = other, _UNARY
    if level < 0.0:
        return rule, split
    other, level = _draw_terminal(weights, lexicon, i, chart, node, level)
    if other >= 0:
        rule, split = other, _TERMINAL
    return rule, split


@jit_allocating
def sample_tree(rules, weights, lexicon, i, chart, rng, stack, trees, size):
    """Draw a tree of sentence `i`, after `inside` filled its chart and found one.

    Parameters
    ----------
    rules : Rules
    weights : TreeWeights
    lexicon : Lexicon
    i : int
    chart : Chart
    rng : numpy.random.Generator
    stack : ndarray of shape (length + 1, 3), int64
        Buffer.
    trees : Trees
        The nodes are written after the first `size`.
    size : int

    Returns
    -------
    trees : Trees
        With more room if there was too little.
    size : int
        Number of nodes now.
    """
    height = push(stack, 0, 0, np.int64(lexicon.length[i]), rules.start)
    while height > 0:
        height -= 1
        node = stack[height, 0], stack[height, 1], stack[height, 2]
        begin, end = node[0], node[1]
        rule, split = _draw(rules, weights, lexicon, i, chart, node, rng)
        if size == trees.begin.size:
            trees = resized(trees, size, 2 * size)
        if split == _TERMINAL:
            put(trees, size, node, lexicon.rule[rule], 0)
        elif split == _UNARY:
            put(trees, size, node, rules.unary[rule], 1)
            height = push(stack, height, begin, end, np.int64(rules.lower[rule]))
        else:
            put(trees, size, node, rules.binary[rule], 2)
            height = push(stack, height, split, end, np.int64(rules.right[rule]))
            height = push(stack, height, begin, split, np.int64(rules.left[rule]))
        size += 1
    return trees, size


@jit_allocating
def sample_trees(rules, weights, lexicon, brackets, sentences, rng, log_z):
    """Draw a derivation of each of some sentences from its posterior.

    Parameters
    ----------
    rules : Rules
    weights : TreeWeights
        With its closure filled.
    lexicon : Lexicon
    brackets : Brackets
    sentences : ndarray, int64
        Numbers of the sentences.
    rng : numpy.random.Generator
    log_z : ndarray of shape (len(sentences),)
        Receives log p(words) in nats; -inf for a sentence without a tree.

    Returns
    -------
    Trees
    """
    longest = longest_of(lexicon, sentences)
    chart = chart_for(rules, longest)
    stack = np.empty((longest + 1, 3), np.int64)
    trees, size = empty_trees(sentences.size, 4 * longest), 0
    for x in range(sentences.size):
        i = sentences[x]
        log_z[x] = inside(rules, weights, lexicon, brackets, i, chart)
        if log_z[x] > -math.inf:
            trees, size = sample_tree(rules, weights, lexicon, i, chart, rng, stack, trees, size)
        trees.starts[x + 1] = size
    return resized(trees, size, size)
