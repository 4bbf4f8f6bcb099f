"""The k heaviest derivations of a sentence, in log space.

For every item of the chart its k heaviest derivations are kept, each as a rule and the ranks of its
parts. A derivation whose parts have ranks a and b (from 0) has at least (a + 1) (b + 1) - 1 others
before it, so few pairs of ranks matter (Huang and Chiang 2005). Unary rules are taken the heaviest
derivation first (Knuth 1977), which is exact for cycles too, as no log weight is above 0.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline
from sklearn_cvb.kernels.tree.arrays import Trees
from sklearn_cvb.kernels.tree.charts import find, item_at
from sklearn_cvb.kernels.tree.decoding import TERMINAL, UNARY, best_chart_for
from sklearn_cvb.kernels.tree.listed import Listed
from sklearn_cvb.kernels.tree.lists import has_terminal
from sklearn_cvb.kernels.tree.nodes import trees_of
from sklearn_cvb.kernels.tree.spans import FORBIDDEN, FREE, allow, restrict, span_at


class Ranked(NamedTuple):
    """Derivations by rank: tables with a row of k for each item, or for each symbol of a span.

    Attributes
    ----------
    score : ndarray of shape (n, k)
        Log weights, descending.
    origin : ndarray of shape (n, k, 4), int64
        Number of the rule or lexicon entry; the split, `UNARY` or `TERMINAL`; ranks of the left
        and right part.
    size : ndarray of shape (n,), int64
        How many derivations there are, at most k.
    """

    score: np.ndarray
    origin: np.ndarray
    size: np.ndarray


def _ranked(n, k):
    """Room for k derivations of each item."""
    return Ranked(np.empty((n, k)), np.empty((n, k, 4), np.int64), np.zeros(n, np.int64))


class RankedRows(NamedTuple):
    """Buffers for the derivations over one span.

    Attributes
    ----------
    row, base : Ranked
        Of each symbol: all derivations, and those without a unary rule of the component on top.
    next_rank : ndarray of shape (n_unary,), int64
        Which derivation of its lower symbol comes next, for each unary rule.
    next_base : ndarray of shape (n_symbols,), int64
        Which derivation of `base` comes next.
    """

    row: Ranked
    base: Ranked
    next_rank: np.ndarray
    next_base: np.ndarray


@jit_inline
def _copy(source, x, target, y):
    """Copy the derivations of one item."""
    target.size[y] = source.size[x]
    for rank in range(source.size[x]):
        target.score[y, rank] = source.score[x, rank]
        for field in range(4):
            target.origin[y, rank, field] = source.origin[x, rank, field]


@jit_called
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


@jit_called
def _try_pairs(items, rule, left, right, split, row):
    """Try all pairs of ranks of two items that may be among the k.

    `rule` is its parent, number and log weight.
    """
    parent, r, weight = rule
    k = row.score.shape[1]
    for a in range(items.size[left]):
        for b in range(min(items.size[right], k // (a + 1))):
            score = weight + items.score[left, a] + items.score[right, b]
            if not _insert(row, parent, score, (r, split, a, b)):
                break


@jit_called
def _try_splits(binary, chart, items, b, k, row):
    """Take the binary rules of a span."""
    place = chart.origin_row[:, 0]
    for j in range(b + 1, k):
        left, right = span_at(b, j), span_at(j, k)
        for item in range(chart.first[right], chart.first[right + 1]):
            place[chart.symbol[item]] = item
            chart.allowed[chart.symbol[item]] = True
        for item in range(chart.first[left], chart.first[left + 1]):
            symbol = chart.symbol[item]
            for r in range(binary.left_first[symbol], binary.left_first[symbol + 1]):
                if chart.allowed[binary.right[r]]:
                    other = place[binary.right[r]]
                    rule = np.int64(binary.parent[r]), np.int64(r), binary.weight[r]
                    _try_pairs(items, rule, item, other, j, row)
        for item in range(chart.first[right], chart.first[right + 1]):
            chart.allowed[chart.symbol[item]] = False


@jit_called
def _next_derivation(unary, c, rows, labels):
    """The heaviest derivation that a component has not taken yet.

    Returns its log weight, -inf if there is none; the unary rule, whose upper symbol has it; and
    whether it is one of `base`, without the rule.
    """
    row, base = rows.row, rows.base
    k = row.score.shape[1]
    best, chosen, from_base = -math.inf, np.int64(-1), False
    for u in range(unary.first[c], unary.first[c + 1]):
        upper, lower = unary.upper[u], unary.lower[u]
        if row.size[upper] == k or not labels[upper]:
            continue
        if rows.next_base[upper] < base.size[upper]:
            score = base.score[upper, rows.next_base[upper]]
            if score > best or (score == best and not from_base):
                best, chosen, from_base = score, np.int64(u), True
        if rows.next_rank[u] < row.size[lower]:
            score = unary.weight[u] + row.score[lower, rows.next_rank[u]]
            if score > best:
                best, chosen, from_base = score, np.int64(u), False
    return best, chosen, from_base


@jit_called
def _climb(unary, rows, labels):
    """Merge unary rules with the other derivations of a span, the heaviest first."""
    if unary is not None:
        row, base = rows.row, rows.base
        for c in range(unary.internal_first.size):
            for u in range(unary.first[c], unary.first[c + 1]):
                upper = np.int64(unary.upper[u])
                rows.next_rank[u] = 0
                rows.next_base[upper] = 0
                _copy(row, upper, base, upper)
            for u in range(unary.first[c], unary.first[c + 1]):
                row.size[unary.upper[u]] = 0
            best, chosen, from_base = _next_derivation(unary, c, rows, labels)
            while chosen >= 0:
                upper = np.int64(unary.upper[chosen])
                if from_base:
                    origin = base.origin[upper, rows.next_base[upper]]
                    _insert(row, upper, best, (origin[0], origin[1], origin[2], origin[3]))
                    rows.next_base[upper] += 1
                else:
                    origin_of_rule = (chosen, np.int64(UNARY), rows.next_rank[chosen], np.int64(0))
                    _insert(row, upper, best, origin_of_rule)
                    rows.next_rank[chosen] += 1
                best, chosen, from_base = _next_derivation(unary, c, rows, labels)


@jit_called
def _list_items(chart, items, s, row):
    """List the symbols of a span and their derivations."""
    item = chart.first[s]
    for x in range(row.size.size):
        if row.size[x] > 0:
            chart.symbol[item] = x
            _copy(row, x, items, item)
            item += 1
    chart.first[s + 1] = item


@jit
def _fill(listed, i, chart, items, rows, labels):
    """The derivations of all items of a sentence; `labels` (n_symbols,), bool, is a buffer."""
    terminals, n = listed.terminals, np.int64(listed.terminals.length[i])
    row, entry = rows.row, listed.terminals.starts[i]
    chart.allowed[:] = False
    restrict(listed.brackets, i, n, chart.gate)
    for k in range(1, n + 1):
        for b in range(k - 1, -1, -1):
            s = span_at(b, k)
            gate = chart.gate[s]
            row.size[:] = 0
            if gate != FORBIDDEN:
                _try_splits(listed.binary, chart, items, b, k, row)
            while has_terminal(terminals, i, entry, b, k):
                if gate != FORBIDDEN:
                    origin = (entry, np.int64(TERMINAL), np.int64(0), np.int64(0))
                    symbol = np.int64(terminals.symbol[entry])
                    _insert(row, symbol, terminals.weight[entry], origin)
                entry += 1
            labels[:] = True
            if gate > FREE:
                allow(listed.brackets, i, b, k, gate, labels)
                for x in range(labels.size):
                    if not labels[x]:
                        row.size[x] = 0
            _climb(listed.unary, rows, labels)
            _list_items(chart, items, s, row)
    return find(chart.first, chart.symbol, span_at(0, n), listed.binary.start)


def _below(listed, chart, node, origin):
    """The cell of a node's rule, and the nodes below it (item, rank, begin, end)."""
    begin, end = node[2:]
    rule, split, left_rank, right_rank = origin
    if split == TERMINAL:
        return listed.terminals.cell[rule], []
    if split == UNARY:
        item = item_at(chart, begin, end, listed.unary.lower[rule])
        return listed.unary.cell[rule], [(item, left_rank, begin, end)]
    left = item_at(chart, begin, split, listed.binary.left[rule])
    right = item_at(chart, split, end, listed.binary.right[rule])
    parts = [(left, left_rank, begin, split), (right, right_rank, split, end)]
    return listed.binary.cell[rule], parts


def _trace(listed, chart, items, root, n):
    """The nodes (begin, end, symbol, cell, number of children) of a derivation, in pre-order."""
    nodes, stack = [], [(*root, 0, n)]
    while stack:
        node = stack.pop()
        cell, parts = _below(listed, chart, node, items.origin[node[:2]].tolist())
        nodes.append((node[2], node[3], chart.symbol[node[0]], cell, len(parts)))
        stack.extend(reversed(parts))
    return nodes


def k_best_trees(listed: Listed, i: int, k: int) -> tuple[Trees, np.ndarray]:
    """The k heaviest derivations of sentence `i`, in descending order.

    Parameters
    ----------
    listed : Listed
        With logs of weights, at most 0; the closure is not read.
    i, k : int

    Returns
    -------
    trees : Trees
        Fewer than k if there are no more.
    log_p : ndarray of shape (n_trees,)
        Their log weights in nats.
    """
    n, n_symbols = int(listed.terminals.length[i]), len(listed.binary.left_first) - 1
    n_unary = 0 if listed.unary is None else len(listed.unary.upper)
    chart = best_chart_for(listed)
    items = _ranked(n * (n + 1) // 2 * n_symbols, k)
    rows = RankedRows(
        _ranked(n_symbols, k),
        _ranked(n_symbols, k),
        np.empty(n_unary, np.int64),
        np.empty(n_symbols, np.int64),
    )
    root = _fill(listed, i, chart, items, rows, np.empty(n_symbols, np.bool_))
    n_trees = int(items.size[root]) if root >= 0 else 0
    found = [_trace(listed, chart, items, (root, rank), n) for rank in range(n_trees)]
    return trees_of(found), items.score[root, :n_trees].copy()
