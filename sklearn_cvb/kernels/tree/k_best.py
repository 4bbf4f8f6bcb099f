"""The k heaviest derivations of a sentence, in log space.

For every item of the chart its k heaviest derivations are kept, each as a rule and the ranks of its
parts. A derivation whose parts have ranks a and b (from 0) has at least (a + 1) (b + 1) - 1 others
before it, so few pairs of ranks matter (Huang and Chiang 2005). Unary rules are taken the heaviest
derivation first (Knuth 1977), which is exact for cycles too, as no log weight is above 0.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_allocating
from sklearn_cvb.kernels.tree.charts import (
    FORBIDDEN,
    FREE,
    allow,
    chart_for,
    find,
    restrict,
    span_at,
)
from sklearn_cvb.kernels.tree.nodes import empty_trees, put, resized

# What stands in place of a split.
_UNARY, _TERMINAL = -1, -2


class Ranked(NamedTuple):
    """Derivations by rank: tables with a row of k for each item, or for each symbol of a span.

    Attributes
    ----------
    score : ndarray of shape (n, k)
        Log weights, descending.
    origin : ndarray of shape (n, k, 4), int64
        Number of the rule or lexicon entry; the split, `_UNARY` or `_TERMINAL`; ranks of the left
        and right part.
    size : ndarray of shape (n,), int64
        How many derivations there are, at most k.
    """

    score: np.ndarray
    origin: np.ndarray
    size: np.ndarray


@jit_allocating
def _ranked(n, k):
    return Ranked(np.empty((n, k)), np.empty((n, k, 4), np.int64), np.zeros(n, np.int64))


@jit
def _copy(source, x, target, y):
    """Copy the derivations of one item."""
    target.size[y] = source.size[x]
    for rank in range(source.size[x]):
        target.score[y, rank] = source.score[x, rank]
        for field in range(4):
            target.origin[y, rank, field] = source.origin[x, rank, field]


@jit
def _insert(ranked, x, score, origin):
    """Put a derivation in its place, after those that tie; False if it is not among the k."""
    k = ranked.score.shape[1]
    at = ranked.size[x]
    if score == -math.inf or (at == k and score <= ranked.score[x, k - 1]):
        return False
    if at < k:
        ranked.size[x] = at + 1
    else:
        at -= 1
    while at > 0 and ranked.score[x, at - 1] < score:
        ranked.score[x, at] = ranked.score[x, at - 1]
        for field in range(4):
            ranked.origin[x, at, field] = ranked.origin[x, at - 1, field]
        at -= 1
    ranked.score[x, at] = score
    for field in range(4):
        ranked.origin[x, at, field] = origin[field]
    return True


@jit
def _try_pairs(items, parent, left, right, weight, rule, split, row):
    """Try all pairs of ranks of two items that may be among the k."""
    k = row.score.shape[1]
    for a in range(items.size[left]):
        for b in range(min(items.size[right], k // (a + 1))):
            score = weight + items.score[left, a] + items.score[right, b]
            if not _insert(row, parent, score, (rule, split, a, b)):
                break


@jit
def _try_splits(rules, weights, chart, items, b, k, row):
    for j in range(b + 1, k):
        left, right = span_at(b, j), span_at(j, k)
        for item in range(chart.first[right], chart.first[right + 1]):
            chart.place[chart.symbol[item]] = item
            chart.allowed[chart.symbol[item]] = True
        for item in range(chart.first[left], chart.first[left + 1]):
            symbol = chart.symbol[item]
            for r in range(rules.left_first[symbol], rules.left_first[symbol + 1]):
                if chart.allowed[rules.right[r]]:
                    other = chart.place[rules.right[r]]
                    weight = weights.binary[r]
                    _try_pairs(items, np.int64(rules.parent[r]), item, other, weight, r, j, row)
        for item in range(chart.first[right], chart.first[right + 1]):
            chart.allowed[chart.symbol[item]] = False


@jit
def _climb_component(rules, weights, c, row, base, labels, next_rank, next_base):
    """Merge the unary rules of a component with its own derivations, the heaviest first.

    `next_rank` says for each rule which derivation of its lower symbol is next, `next_base` for
    each symbol which of those without a unary rule on top.
    """
    first, stop = rules.unary_first[c], rules.unary_first[c + 1]
    k = row.score.shape[1]
    for u in range(first, stop):
        upper = np.int64(rules.upper[u])
        next_rank[u] = 0
        next_base[upper] = 0
        _copy(row, upper, base, upper)
    for u in range(first, stop):
        row.size[rules.upper[u]] = 0
    while True:
        best, chosen, from_base = -math.inf, -1, False
        for u in range(first, stop):
            upper, lower = rules.upper[u], rules.lower[u]
            if row.size[upper] == k or not labels[upper]:
                continue
            if next_base[upper] < base.size[upper]:
                score = base.score[upper, next_base[upper]]
                if score > best or (score == best and not from_base):
                    best, chosen, from_base = score, u, True
            if next_rank[u] < row.size[lower]:
                score = weights.unary[u] + row.score[lower, next_rank[u]]
                if score > best:
                    best, chosen, from_base = score, u, False
        if chosen < 0:
            return
        upper = np.int64(rules.upper[chosen])
        if from_base:
            origin = base.origin[upper, next_base[upper]]
            _insert(row, upper, best, (origin[0], origin[1], origin[2], origin[3]))
            next_base[upper] += 1
        else:
            _insert(row, upper, best, (np.int64(chosen), _UNARY, next_rank[chosen], 0))
            next_rank[chosen] += 1


@jit
def _forget(row, allowed):
    """Remove the derivations of symbols that are not allowed."""
    for x in range(row.size.size):
        if not allowed[x]:
            row.size[x] = 0


@jit
def _list_items(chart, items, s, row):
    item = chart.first[s]
    for x in range(row.size.size):
        if row.size[x] > 0:
            chart.symbol[item] = x
            _copy(row, x, items, item)
            item += 1
    chart.first[s + 1] = item


@jit_allocating
def _fill(rules, weights, lexicon, brackets, i, chart, items):
    """The derivations of all items of a sentence."""
    n, k_best = np.int64(lexicon.length[i]), items.score.shape[1]
    row, base = _ranked(rules.n_symbols, k_best), _ranked(rules.n_symbols, k_best)
    next_rank = np.empty(rules.upper.size, np.int64)
    next_base = np.empty(rules.n_symbols, np.int64)
    labels = np.ones(rules.n_symbols, np.bool_)
    chart.allowed[:] = False
    restrict(brackets, i, n, chart.gate)
    entry, stop = lexicon.starts[i], lexicon.starts[i + 1]
    for k in range(1, n + 1):
        for b in range(k - 1, -1, -1):
            s = span_at(b, k)
            row.size[:] = 0
            open_span = chart.gate[s] != FORBIDDEN
            if open_span:
                _try_splits(rules, weights, chart, items, b, k, row)
            while entry < stop and lexicon.end[entry] == k and lexicon.begin[entry] == b:
                if open_span:
                    origin = (entry, _TERMINAL, 0, 0)
                    _insert(row, np.int64(lexicon.symbol[entry]), weights.lexical[entry], origin)
                entry += 1
            labels[:] = True
            if chart.gate[s] > FREE:
                allow(brackets, i, b, k, chart.gate[s], labels)
                _forget(row, labels)
            for c in range(rules.internal_first.size):
                _climb_component(rules, weights, c, row, base, labels, next_rank, next_base)
            _list_items(chart, items, s, row)


@jit
def _push(stack, height, item, rank, begin, end):
    """Add a derivation to those still to be written; returns how many they are."""
    stack[height, 0] = item
    stack[height, 1] = rank
    stack[height, 2] = begin
    stack[height, 3] = end
    return height + 1


@jit_allocating
def _trace(rules, lexicon, chart, items, root, rank, stack, trees, size):
    """Write the derivation of a rank after `size` nodes; returns the trees and the size."""
    height = _push(stack, 0, root, rank, 0, stack.shape[0] - 1)
    while height > 0:
        height -= 1
        item, rank = stack[height, 0], stack[height, 1]
        begin, end = stack[height, 2], stack[height, 3]
        origin = items.origin[item, rank]
        rule, split = origin[0], origin[1]
        if size == trees.begin.size:
            trees = resized(trees, size, 2 * size)
        node = begin, end, np.int64(chart.symbol[item])
        if split == _TERMINAL:
            put(trees, size, node, lexicon.rule[rule], 0)
        elif split == _UNARY:
            put(trees, size, node, rules.unary[rule], 1)
            below = find(chart, span_at(begin, end), np.int64(rules.lower[rule]))
            height = _push(stack, height, below, origin[2], begin, end)
        else:
            put(trees, size, node, rules.binary[rule], 2)
            right = find(chart, span_at(split, end), np.int64(rules.right[rule]))
            left = find(chart, span_at(begin, split), np.int64(rules.left[rule]))
            height = _push(stack, height, right, origin[3], split, end)
            height = _push(stack, height, left, origin[2], begin, split)
        size += 1
    return trees, size


@jit_allocating
def k_best_trees(rules, log_weights, lexicon, brackets, i, k):
    """The k heaviest derivations of sentence `i`, in descending order.

    Parameters
    ----------
    rules : Rules
    log_weights : TreeWeights
        Logs of weights, at most 0; the closure is not read.
    lexicon : Lexicon
    brackets : Brackets
    i, k : int

    Returns
    -------
    trees : Trees
        Fewer than k if there are no more.
    log_p : ndarray of shape (n_trees,)
        Their log weights in nats.
    """
    n = np.int64(lexicon.length[i])
    chart = chart_for(rules, n)
    items = _ranked(chart.symbol.size, k)
    _fill(rules, log_weights, lexicon, brackets, i, chart, items)
    root = find(chart, span_at(0, n), rules.start)
    n_trees = items.size[root] if root >= 0 else 0
    stack = np.empty((n + 1, 4), np.int64)
    log_p = np.empty(n_trees)
    trees, size = empty_trees(n_trees, 4 * n), 0
    for rank in range(n_trees):
        log_p[rank] = items.score[root, rank]
        trees, size = _trace(rules, lexicon, chart, items, root, rank, stack, trees, size)
        trees.starts[rank + 1] = size
    return resized(trees, size, size), log_p
