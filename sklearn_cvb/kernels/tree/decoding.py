"""The heaviest derivation of a sentence (Viterbi), in log space.

Weights are logs, at most 0. Of derivations that tie the first found is taken: by the smallest left
part, then the lowest left symbol, then the order of the rules; terminals and unary rules only where
they are better.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline
from sklearn_cvb.kernels.tree.arrays import Trees
from sklearn_cvb.kernels.tree.charts import find
from sklearn_cvb.kernels.tree.listed import Listed
from sklearn_cvb.kernels.tree.lists import has_terminal
from sklearn_cvb.kernels.tree.nodes import empty_trees, push, put, with_room
from sklearn_cvb.kernels.tree.spans import FORBIDDEN, FREE, allow, restrict, span_at

# What stands in place of a split.
UNARY, TERMINAL = -1, -2


class BestChart(NamedTuple):
    """For each span of a sentence the symbols that derive it, and how they do so best.

    Attributes
    ----------
    first : ndarray of shape (n_spans + 1,), int64
        Where the items of each span begin.
    symbol : ndarray of shape (n_items,), int32
    score : ndarray of shape (n_items,)
        Log weight of the best derivation.
    origin : ndarray of shape (n_items, 2), int64
        Number of the binary or unary rule, or of the lexicon's entry; where the right part begins,
        or `UNARY` or `TERMINAL`.
    gate : ndarray of shape (n_spans,), int64
        What each span may be, from `restrict`.
    rows : ndarray of shape (longest, n_symbols)
        Scores of the spans that end where the current one does, a row for each begin.
    origin_row : ndarray of shape (n_symbols, 2), int64
        Origins of the current span.
    allowed : ndarray of shape (n_symbols,), bool
        Symbols that a span may have.
    stack : ndarray of shape (longest + 1, 3), int64
        Nodes of a tree that are still to be written.
    """

    first: np.ndarray
    symbol: np.ndarray
    score: np.ndarray
    origin: np.ndarray
    gate: np.ndarray
    rows: np.ndarray
    origin_row: np.ndarray
    allowed: np.ndarray
    stack: np.ndarray


def best_chart_for(listed: Listed) -> BestChart:
    """Buffers for the longest sentence."""
    n = len(listed.binary.left_first) - 1
    longest = int(listed.terminals.length.max(initial=1))
    size = longest * (longest + 1) // 2
    return BestChart(
        np.zeros(size + 1, np.int64),
        np.empty(size * n, np.int32),
        np.empty(size * n),
        np.empty((size * n, 2), np.int64),
        np.empty(size, np.int64),
        np.empty((longest, n)),
        np.empty((n, 2), np.int64),
        np.empty(n, np.bool_),
        np.empty((longest + 1, 3), np.int64),
    )


@jit_inline
def _try_splits(binary, chart, b, k):
    """Take the binary rules of a span where they are better than all so far."""
    row = chart.rows[b]
    for j in range(b + 1, k):
        left, right = span_at(b, j), span_at(j, k)
        if chart.first[right] == chart.first[right + 1]:
            continue
        right_row = chart.rows[j]
        for item in range(chart.first[left], chart.first[left + 1]):
            value = chart.score[np.uint64(item)]
            symbol = chart.symbol[np.uint64(item)]
            for r in range(binary.left_first[symbol], binary.left_first[symbol + 1]):
                here = np.uint64(r)
                other = right_row[np.uint64(binary.right[here])]
                if other > -math.inf:
                    parent = np.uint64(binary.parent[here])
                    score = value + binary.weight[here] + other
                    if score > row[parent]:
                        row[parent] = score
                        chart.origin_row[parent, 0] = r
                        chart.origin_row[parent, 1] = j


@jit_inline
def _try_unary(unary, u, row, free, chart):
    """Take a unary rule if it is better; returns whether it is."""
    upper = unary.upper[u]
    score = unary.weight[u] + row[unary.lower[u]]
    better = score > row[upper] and (free or chart.allowed[upper])
    if better:
        row[upper] = score
        chart.origin_row[upper, 0] = u
        chart.origin_row[upper, 1] = UNARY
    return better


@jit_called
def _climb(unary, row, free, chart):
    """Take the unary rules of a span, the lowest symbols first; no best chain has a cycle."""
    if unary is not None:
        for c in range(unary.internal_first.size):
            for u in range(unary.first[c], unary.internal_first[c]):
                _try_unary(unary, u, row, free, chart)
            for _ in range(unary.member_first[c + 1] - unary.member_first[c]):
                any_better = False
                for u in range(unary.internal_first[c], unary.first[c + 1]):
                    any_better |= _try_unary(unary, u, row, free, chart)
                if not any_better:
                    break


@jit_inline
def _fill(listed, i, chart):
    """Best scores of all spans of a sentence; returns that of the whole, -inf without a tree."""
    terminals, n = listed.terminals, np.int64(listed.terminals.length[i])
    restrict(listed.brackets, i, n, chart.gate)
    entry = terminals.starts[i]
    for k in range(1, n + 1):
        for b in range(k - 1, -1, -1):
            s = span_at(b, k)
            row, gate = chart.rows[b], chart.gate[s]
            row[:] = -math.inf
            if gate != FORBIDDEN:
                _try_splits(listed.binary, chart, b, k)
            while has_terminal(terminals, i, entry, b, k):
                symbol = terminals.symbol[entry]
                if gate != FORBIDDEN and terminals.weight[entry] > row[symbol]:
                    row[symbol] = terminals.weight[entry]
                    chart.origin_row[symbol, 0] = entry
                    chart.origin_row[symbol, 1] = TERMINAL
                entry += 1
            if gate > FREE:
                allow(listed.brackets, i, b, k, gate, chart.allowed)
                for x in range(row.size):
                    if not chart.allowed[x]:
                        row[x] = -math.inf
            if gate != FORBIDDEN:
                _climb(listed.unary, row, gate == FREE, chart)
            item = chart.first[s]
            for x in range(row.size):
                if row[x] > -math.inf:
                    chart.symbol[item] = x
                    chart.score[item] = row[x]
                    chart.origin[item, 0] = chart.origin_row[x, 0]
                    chart.origin[item, 1] = chart.origin_row[x, 1]
                    item += 1
            chart.first[s + 1] = item
    root = find(chart.first, chart.symbol, span_at(0, n), listed.binary.start)
    return chart.score[root] if root >= 0 else -math.inf


@jit_called
def _write_unary(unary, u, node, stack, height, trees, at):
    """`write_node` with a unary rule."""
    if unary is not None:
        begin, end, symbol = node
        put(trees, at, begin, end, symbol, unary.cell[u], 1)
        push(stack, height, begin, end, unary.lower[u])


@jit_called
def write_node(listed, node, rule, split, stack, height, trees, at):
    """Write a node (begin, end, symbol) with a rule; what is below goes to the stack.

    Returns the new height of the stack, ndarray (room, 3), int64.
    """
    begin, end, symbol = node
    if split == TERMINAL:
        put(trees, at, begin, end, symbol, listed.terminals.cell[rule], 0)
        return height
    if split == UNARY:
        _write_unary(listed.unary, rule, node, stack, height, trees, at)
        return height + 1
    binary = listed.binary
    put(trees, at, begin, end, symbol, binary.cell[rule], 2)
    push(stack, height, split, end, binary.right[rule])
    push(stack, height + 1, begin, split, binary.left[rule])
    return height + 2


@jit_inline
def _trace(listed, i, chart, trees, size):
    """Write the best tree of a filled chart after `size` nodes; returns how many, -1: no room."""
    push(chart.stack, 0, 0, listed.terminals.length[i], listed.binary.start)
    height, at = 1, size
    while height > 0 and at < trees.begin.size:
        height -= 1
        begin, end = chart.stack[height, 0], chart.stack[height, 1]
        symbol = chart.stack[height, 2]
        item = find(chart.first, chart.symbol, span_at(begin, end), symbol)
        rule, split = chart.origin[item, 0], chart.origin[item, 1]
        node = begin, end, symbol
        height = write_node(listed, node, rule, split, chart.stack, height, trees, at)
        at += 1
    return at if height == 0 else -1


@jit
def _best_trees(listed, sentences, x, chart, trees, log_p):
    """`best_listed_trees` from sentence `x` on while there is room; returns which is the next."""
    while x < sentences.size:
        log_p[x] = _fill(listed, sentences[x], chart)
        size = trees.starts[x]
        if log_p[x] > -math.inf:
            size = _trace(listed, sentences[x], chart, trees, size)
            if size < 0:
                break
        x += 1
        trees.starts[x] = size
    return x


def best_listed_trees(
    listed: Listed, sentences: np.ndarray, chart: BestChart | None = None
) -> tuple[Trees, np.ndarray]:
    """The heaviest derivation of some sentences.

    Parameters
    ----------
    listed : Listed
        With logs of weights; the closure is not read.
    sentences : ndarray, int64
        Numbers of the sentences.
    chart : BestChart or None, default=None
        Buffers.

    Returns
    -------
    trees : Trees
    log_p : ndarray of shape (len(sentences),)
        The log weight of each tree in nats, -inf without one.
    """
    chart = best_chart_for(listed) if chart is None else chart
    log_p = np.empty(len(sentences))
    n_nodes = 2 * int(listed.terminals.length[sentences].sum())
    trees, x = empty_trees(len(sentences), n_nodes), 0
    while x < len(sentences):
        x = _best_trees(listed, sentences, x, chart, trees, log_p)
        if x < len(sentences):
            trees = with_room(trees, 0)
    size = trees.starts[-1]
    return Trees(trees.starts, *(field[:size] for field in trees[1:])), log_p
