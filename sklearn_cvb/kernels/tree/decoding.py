"""The heaviest derivation of a sentence (Viterbi), or the k heaviest, in log space. Each item, a
symbol over a span, has a score and its origin: rule and split.

Weights are logs, at most 0. Of derivations that tie the first found is taken: by the smallest left
part, then the lowest left symbol, then the order of the rules; terminals and unary rules only where
they are better.

For the k heaviest every item of the chart keeps k derivations, each as a rule and the ranks of its
parts. A derivation whose parts have ranks a and b (from 0) has at least (a + 1) (b + 1) - 1 others
before it, so few pairs of ranks matter (Huang and Chiang 2005). Unary rules are taken the heaviest
derivation first (Knuth 1977), which is exact for cycles too, as no log weight is above 0.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline
from sklearn_cvb.kernels.tree.arrays import (
    Derivations,
    RuleLists,
    empty_trees,
    push_node,
    put_node,
    trees_of,
    with_room,
    without_spare_room,
)
from sklearn_cvb.kernels.tree.charts import (
    FORBIDDEN,
    FREE,
    fill_gates,
    find_item,
    has_terminal,
    item_at,
    mark_allowed,
    span_at,
)

# What stands in place of a split.
UNARY, TERMINAL = -1, -2


class BestChart(NamedTuple):
    """For each span of a sentence the symbols that derive it, and how they do so best."""

    first: np.ndarray  # (n_spans + 1,), int64: where the items of each span begin
    symbol: np.ndarray  # (n_items,), int32
    score: np.ndarray  # (n_items,): log weight of the best derivation
    # (n_items, 2), int64: number of the binary or unary rule, or of the lexicon's entry; where the
    # right part begins, or `UNARY` or `TERMINAL`
    origin: np.ndarray
    gate: np.ndarray  # (n_spans,), int64: what each span may be, from `fill_gates`
    # (longest, n_symbols): scores of the spans that end where the current one does, a row for each
    # begin
    rows: np.ndarray
    origin_row: np.ndarray  # (n_symbols, 2), int64: origins of the current span
    allowed: np.ndarray  # (n_symbols,), bool: symbols that a span may have
    stack: np.ndarray  # (longest + 1, 3), int64: nodes of a tree that are still to be written


def best_chart_for(lists: RuleLists) -> BestChart:
    """Buffers for the longest sentence."""
    n = len(lists.binary.left_first) - 1
    longest = int(lists.terminals.length.max(initial=1))
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
def _take_unary_rules(unary, row, free, chart):
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
def _fill_chart(lists, i, chart):
    """Best scores of all spans of a sentence; returns that of the whole, -inf without a tree."""
    terminals, n = lists.terminals, np.int64(lists.terminals.length[i])
    fill_gates(lists.brackets, i, n, chart.gate)
    entry = terminals.starts[i]
    for k in range(1, n + 1):
        for b in range(k - 1, -1, -1):
            s = span_at(b, k)
            row, gate = chart.rows[b], chart.gate[s]
            row[:] = -math.inf
            if gate != FORBIDDEN:
                _try_splits(lists.binary, chart, b, k)
            while has_terminal(terminals, i, entry, b, k):
                symbol = terminals.symbol[entry]
                if gate != FORBIDDEN and terminals.weight[entry] > row[symbol]:
                    row[symbol] = terminals.weight[entry]
                    chart.origin_row[symbol, 0] = entry
                    chart.origin_row[symbol, 1] = TERMINAL
                entry += 1
            if gate > FREE:
                mark_allowed(lists.brackets, i, b, k, gate, chart.allowed)
                for x in range(row.size):
                    if not chart.allowed[x]:
                        row[x] = -math.inf
            if gate != FORBIDDEN:
                _take_unary_rules(lists.unary, row, gate == FREE, chart)
            item = chart.first[s]
            for x in range(row.size):
                if row[x] > -math.inf:
                    chart.symbol[item] = x
                    chart.score[item] = row[x]
                    chart.origin[item, 0] = chart.origin_row[x, 0]
                    chart.origin[item, 1] = chart.origin_row[x, 1]
                    item += 1
            chart.first[s + 1] = item
    root = find_item(chart.first, chart.symbol, span_at(0, n), lists.binary.start)
    return chart.score[root] if root >= 0 else -math.inf


@jit_called
def _write_unary(unary, u, node, stack, height, trees, at):
    """`write_node` with a unary rule."""
    if unary is not None:
        begin, end, symbol = node
        put_node(trees, at, begin, end, symbol, unary.cell[u], 1)
        push_node(stack, height, begin, end, unary.lower[u])


@jit_called
def write_node(lists, node, rule, split, stack, height, trees, at):
    """Write a node (begin, end, symbol) with a rule; what is below goes to the stack.

    Returns the new height of the stack, ndarray (room, 3), int64.
    """
    begin, end, symbol = node
    if split == TERMINAL:
        put_node(trees, at, begin, end, symbol, lists.terminals.cell[rule], 0)
        return height
    if split == UNARY:
        _write_unary(lists.unary, rule, node, stack, height, trees, at)
        return height + 1
    binary = lists.binary
    put_node(trees, at, begin, end, symbol, binary.cell[rule], 2)
    push_node(stack, height, split, end, binary.right[rule])
    push_node(stack, height + 1, begin, split, binary.left[rule])
    return height + 2


@jit_inline
def _write_best_tree(lists, i, chart, trees, size):
    """Write the best tree of a filled chart after `size` nodes; returns how many, -1: no room."""
    push_node(chart.stack, 0, 0, lists.terminals.length[i], lists.binary.start)
    height, at = 1, size
    while height > 0 and at < trees.begin.size:
        height -= 1
        begin, end = chart.stack[height, 0], chart.stack[height, 1]
        symbol = chart.stack[height, 2]
        item = find_item(chart.first, chart.symbol, span_at(begin, end), symbol)
        rule, split = chart.origin[item, 0], chart.origin[item, 1]
        node = begin, end, symbol
        height = write_node(lists, node, rule, split, chart.stack, height, trees, at)
        at += 1
    return at if height == 0 else -1


@jit
def _best_trees(lists, sentences, x, chart, trees, log_p):
    """`best_trees_by_lists` from sentence `x` on while there is room; returns which is the next."""
    while x < sentences.size:
        log_p[x] = _fill_chart(lists, sentences[x], chart)
        size = trees.starts[x]
        if log_p[x] > -math.inf:
            size = _write_best_tree(lists, sentences[x], chart, trees, size)
            if size < 0:
                break
        x += 1
        trees.starts[x] = size
    return x


def best_trees_by_lists(
    lists: RuleLists, sentences: np.ndarray, chart: BestChart | None = None
) -> tuple[Derivations, np.ndarray]:
    """The heaviest derivation of some sentences and their log weights, -inf without a tree.

    The weights of `lists` are logs; the closure is not read.
    """
    chart = best_chart_for(lists) if chart is None else chart
    log_p = np.empty(len(sentences))
    n_nodes = 2 * int(lists.terminals.length[sentences].sum())
    trees, x = empty_trees(len(sentences), n_nodes), 0
    while x < len(sentences):
        x = _best_trees(lists, sentences, x, chart, trees, log_p)
        if x < len(sentences):
            trees = with_room(trees, 0)
    return without_spare_room(trees), log_p


# The k heaviest


class NBestTables(NamedTuple):
    """Derivations by rank: tables with a row of k for each item, or for each symbol of a span."""

    score: np.ndarray  # (n, k): log weights, descending
    # (n, k, 4), int64: number of the rule or lexicon entry; the split, `UNARY` or `TERMINAL`; ranks
    # of the left and right part
    origin: np.ndarray
    size: np.ndarray  # (n,), int64: how many derivations there are, at most k


def _nbest_tables_for(n, k):
    """Room for k derivations of each item."""
    return NBestTables(np.empty((n, k)), np.empty((n, k, 4), np.int64), np.zeros(n, np.int64))


class RankedRows(NamedTuple):
    """Buffers for the derivations over one span."""

    # Of each symbol: all derivations, and those without a unary rule of the component on top
    row: NBestTables
    without_unary: NBestTables
    # (n_unary,), int64: which derivation of its lower symbol comes next, for each unary rule
    next_rank: np.ndarray
    next_base: np.ndarray  # (n_symbols,), int64: which derivation of `without_unary` comes next


@jit_inline
def _copy_derivations(source, x, target, y):
    """Copy the derivations of one item."""
    target.size[y] = source.size[x]
    for rank in range(source.size[x]):
        target.score[y, rank] = source.score[x, rank]
        for field in range(4):
            target.origin[y, rank, field] = source.origin[x, rank, field]


@jit_called
def _insert_derivation(ranked, x, score, origin):
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
            if not _insert_derivation(row, parent, score, (r, split, a, b)):
                break


@jit_called
def _rank_splits(binary, chart, items, b, k, row):
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
    whether it is one of those without the rule.
    """
    row, base = rows.row, rows.without_unary
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
def _rank_unary(unary, rows, labels):
    """Merge unary rules with the other derivations of a span, the heaviest first."""
    if unary is not None:
        row, base = rows.row, rows.without_unary
        for c in range(unary.internal_first.size):
            for u in range(unary.first[c], unary.first[c + 1]):
                upper = np.int64(unary.upper[u])
                rows.next_rank[u] = 0
                rows.next_base[upper] = 0
                _copy_derivations(row, upper, base, upper)
            for u in range(unary.first[c], unary.first[c + 1]):
                row.size[unary.upper[u]] = 0
            best, chosen, from_base = _next_derivation(unary, c, rows, labels)
            while chosen >= 0:
                upper = np.int64(unary.upper[chosen])
                if from_base:
                    origin = base.origin[upper, rows.next_base[upper]]
                    _insert_derivation(
                        row, upper, best, (origin[0], origin[1], origin[2], origin[3])
                    )
                    rows.next_base[upper] += 1
                else:
                    origin_of_rule = (chosen, np.int64(UNARY), rows.next_rank[chosen], np.int64(0))
                    _insert_derivation(row, upper, best, origin_of_rule)
                    rows.next_rank[chosen] += 1
                best, chosen, from_base = _next_derivation(unary, c, rows, labels)


@jit_called
def _list_derivations(chart, items, s, row):
    """List the symbols of a span and their derivations."""
    item = chart.first[s]
    for x in range(row.size.size):
        if row.size[x] > 0:
            chart.symbol[item] = x
            _copy_derivations(row, x, items, item)
            item += 1
    chart.first[s + 1] = item


@jit
def _fill_nbest_tables(lists, i, chart, items, rows, labels):
    """The derivations of all items of a sentence; `labels` (n_symbols,), bool, is a buffer."""
    terminals, n = lists.terminals, np.int64(lists.terminals.length[i])
    row, entry = rows.row, lists.terminals.starts[i]
    chart.allowed[:] = False
    fill_gates(lists.brackets, i, n, chart.gate)
    for k in range(1, n + 1):
        for b in range(k - 1, -1, -1):
            s = span_at(b, k)
            gate = chart.gate[s]
            row.size[:] = 0
            if gate != FORBIDDEN:
                _rank_splits(lists.binary, chart, items, b, k, row)
            while has_terminal(terminals, i, entry, b, k):
                if gate != FORBIDDEN:
                    origin = (entry, np.int64(TERMINAL), np.int64(0), np.int64(0))
                    symbol = np.int64(terminals.symbol[entry])
                    _insert_derivation(row, symbol, terminals.weight[entry], origin)
                entry += 1
            labels[:] = True
            if gate > FREE:
                mark_allowed(lists.brackets, i, b, k, gate, labels)
                for x in range(labels.size):
                    if not labels[x]:
                        row.size[x] = 0
            _rank_unary(lists.unary, rows, labels)
            _list_derivations(chart, items, s, row)
    return find_item(chart.first, chart.symbol, span_at(0, n), lists.binary.start)


def _children_of(lists, chart, node, origin):
    """The cell of a node's rule, and the nodes below it (item, rank, begin, end)."""
    begin, end = node[2:]
    rule, split, left_rank, right_rank = origin
    if split == TERMINAL:
        return lists.terminals.cell[rule], []
    if split == UNARY:
        item = item_at(chart, begin, end, lists.unary.lower[rule])
        return lists.unary.cell[rule], [(item, left_rank, begin, end)]
    left = item_at(chart, begin, split, lists.binary.left[rule])
    right = item_at(chart, split, end, lists.binary.right[rule])
    parts = [(left, left_rank, begin, split), (right, right_rank, split, end)]
    return lists.binary.cell[rule], parts


def _nodes_of_derivation(lists, chart, items, root, n):
    """The nodes (begin, end, symbol, cell, number of children) of a derivation, in pre-order."""
    nodes, stack = [], [(*root, 0, n)]
    while stack:
        node = stack.pop()
        cell, parts = _children_of(lists, chart, node, items.origin[node[:2]].tolist())
        nodes.append((node[2], node[3], chart.symbol[node[0]], cell, len(parts)))
        stack.extend(reversed(parts))
    return nodes


def k_best_trees(lists: RuleLists, i: int, k: int) -> tuple[Derivations, np.ndarray]:
    """The k heaviest derivations of sentence `i`, or all, and their log weights, descending.

    The weights of `lists` are logs, at most 0; the closure is not read.
    """
    n, n_symbols = int(lists.terminals.length[i]), len(lists.binary.left_first) - 1
    n_unary = 0 if lists.unary is None else len(lists.unary.upper)
    chart = best_chart_for(lists)
    items = _nbest_tables_for(n * (n + 1) // 2 * n_symbols, k)
    rows = RankedRows(
        _nbest_tables_for(n_symbols, k),
        _nbest_tables_for(n_symbols, k),
        np.empty(n_unary, np.int64),
        np.empty(n_symbols, np.int64),
    )
    root = _fill_nbest_tables(lists, i, chart, items, rows, np.empty(n_symbols, np.bool_))
    n_trees = int(items.size[root]) if root >= 0 else 0
    found = [_nodes_of_derivation(lists, chart, items, (root, rank), n) for rank in range(n_trees)]
    return trees_of(found), items.score[root, :n_trees].copy()
