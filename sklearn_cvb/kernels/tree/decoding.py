"""The heaviest derivation of a sentence (Viterbi), in log space.

Weights are logs, at most 0. Of derivations that tie the first found is taken: by the smallest left
part, then the lowest left symbol, then the order of the rules; terminals and unary rules only where
they are better.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_allocating, jit_token
from sklearn_cvb.kernels.tree.charts import (
    FORBIDDEN,
    FREE,
    allow,
    chart_for,
    find,
    longest_of,
    restrict,
    span_at,
)
from sklearn_cvb.kernels.tree.nodes import empty_trees, push, put, resized

# What stands in place of a split.
_UNARY, _TERMINAL = -1, -2


class Origins(NamedTuple):
    """How the best derivation of each item begins.

    Attributes
    ----------
    rule : ndarray of shape (n_items,), int64
        Number of the binary or unary rule, or of the lexicon's entry.
    split : ndarray of shape (n_items,), int32
        Where the right part begins; `_UNARY` or `_TERMINAL`.
    rule_row, split_row : ndarray of shape (n_symbols,)
        The same for the current span.
    """

    rule: np.ndarray
    split: np.ndarray
    rule_row: np.ndarray
    split_row: np.ndarray


@jit_allocating
def _origins_for(rules, chart):
    return Origins(
        np.empty(chart.symbol.size, np.int64),
        np.empty(chart.symbol.size, np.int32),
        np.empty(rules.n_symbols, np.int64),
        np.empty(rules.n_symbols, np.int32),
    )


@jit_token
def _try_rules(rules, binary, symbol, value, right_row, split, row, origins):
    """Take the rules with one left part where they are better than all so far."""
    for r in range(rules.left_first[symbol], rules.left_first[symbol + 1]):
        here = np.uint64(r)
        other = right_row[np.uint64(rules.right[here])]
        if other > -math.inf:
            parent = np.uint64(rules.parent[here])
            score = value + binary[here] + other
            if score > row[parent]:
                row[parent] = score
                origins.rule_row[parent] = r
                origins.split_row[parent] = split


@jit
def _try_splits(rules, weights, chart, b, k, row, origins):
    for j in range(b + 1, k):
        left, right = span_at(b, j), span_at(j, k)
        if chart.first[right] == chart.first[right + 1]:
            continue
        right_row = chart.rows[j]
        for item in range(chart.first[left], chart.first[left + 1]):
            value = chart.inside[np.uint64(item)]
            symbol = chart.symbol[np.uint64(item)]
            _try_rules(rules, weights.binary, symbol, value, right_row, j, row, origins)


@jit
def _try_unary(rules, weights, u, row, allowed, free, origins):
    """Take a unary rule if it is better; returns whether it is."""
    upper = rules.upper[u]
    score = weights.unary[u] + row[rules.lower[u]]
    if score > row[upper] and (free or allowed[upper]):
        row[upper] = score
        origins.rule_row[upper] = u
        origins.split_row[upper] = _UNARY
        return True
    return False


@jit
def _climb(rules, weights, row, allowed, free, origins):
    """Take the unary rules of a span, the lowest symbols first; no best chain has a cycle."""
    for c in range(rules.internal_first.size):
        for u in range(rules.unary_first[c], rules.internal_first[c]):
            _try_unary(rules, weights, u, row, allowed, free, origins)
        for _ in range(rules.member_first[c + 1] - rules.member_first[c]):
            better = False
            for u in range(rules.internal_first[c], rules.unary_first[c + 1]):
                better |= _try_unary(rules, weights, u, row, allowed, free, origins)
            if not better:
                break


@jit
def _list_scores(chart, s, row, origins):
    """List the items of a span."""
    item = chart.first[s]
    for x in range(row.size):
        if row[x] > -math.inf:
            chart.symbol[item] = x
            chart.inside[item] = row[x]
            origins.rule[item] = origins.rule_row[x]
            origins.split[item] = origins.split_row[x]
            item += 1
    chart.first[s + 1] = item


@jit
def _fill(rules, weights, lexicon, brackets, i, chart, origins):
    """Best scores of all spans of a sentence; returns that of the whole, -inf without a tree."""
    n = np.int64(lexicon.length[i])
    restrict(brackets, i, n, chart.gate)
    entry, stop = lexicon.starts[i], lexicon.starts[i + 1]
    for k in range(1, n + 1):
        for b in range(k - 1, -1, -1):
            s = span_at(b, k)
            row = chart.rows[b]
            row[:] = -math.inf
            open_span = chart.gate[s] != FORBIDDEN
            if open_span:
                _try_splits(rules, weights, chart, b, k, row, origins)
            while entry < stop and lexicon.end[entry] == k and lexicon.begin[entry] == b:
                symbol = lexicon.symbol[entry]
                if open_span and weights.lexical[entry] > row[symbol]:
                    row[symbol] = weights.lexical[entry]
                    origins.rule_row[symbol] = entry
                    origins.split_row[symbol] = _TERMINAL
                entry += 1
            free = chart.gate[s] <= FREE
            if not free:
                allow(brackets, i, b, k, chart.gate[s], chart.allowed)
                for x in range(row.size):
                    if not chart.allowed[x]:
                        row[x] = -math.inf
            if rules.upper.size > 0 and open_span:
                _climb(rules, weights, row, chart.allowed, free, origins)
            _list_scores(chart, s, row, origins)
    root = find(chart, span_at(0, n), rules.start)
    return chart.inside[root] if root >= 0 else -math.inf


@jit
def _trace(rules, lexicon, i, chart, origins, stack, trees, size):
    """Write the best tree of a filled chart after `size` nodes; returns how many, -1: no room."""
    height = push(stack, 0, 0, np.int64(lexicon.length[i]), rules.start)
    while height > 0:
        height -= 1
        begin, end, symbol = stack[height, 0], stack[height, 1], stack[height, 2]
        item = find(chart, span_at(begin, end), symbol)
        rule, split = origins.rule[item], origins.split[item]
        if size == trees.begin.size:
            return -1
        node = begin, end, symbol
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
    return size


@jit_allocating
def viterbi_trees(rules, log_weights, lexicon, brackets, sentences, log_p):
    """The heaviest derivation of some sentences.

    Parameters
    ----------
    rules : Rules
    log_weights : TreeWeights
        Logs of weights; the closure is not read.
    lexicon : Lexicon
    brackets : Brackets
    sentences : ndarray, int64
        Numbers of the sentences.
    log_p : ndarray of shape (len(sentences),)
        Receives the log weight of each tree in nats, -inf without one.

    Returns
    -------
    Trees
    """
    longest = longest_of(lexicon, sentences)
    chart = chart_for(rules, longest)
    origins = _origins_for(rules, chart)
    stack = np.empty((longest + 1, 3), np.int64)
    trees, size = empty_trees(sentences.size, 4 * longest), 0
    for x in range(sentences.size):
        i = sentences[x]
        log_p[x] = _fill(rules, log_weights, lexicon, brackets, i, chart, origins)
        if log_p[x] > -math.inf:
            stop = _trace(rules, lexicon, i, chart, origins, stack, trees, size)
            while stop < 0:
                trees = resized(trees, size, 2 * trees.begin.size)
                stop = _trace(rules, lexicon, i, chart, origins, stack, trees, size)
            size = stop
        trees.starts[x + 1] = size
    return resized(trees, size, size)
