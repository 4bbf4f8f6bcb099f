"""Parse forests: all derivations of each sentence, listed once, for grammars whose rules are few
there. A node is a symbol over a span, an edge a rule with the nodes below, an item a symbol that
may become a node.

A node is a symbol over a span that occurs in some tree of the sentence; an edge is a rule at a node
with the nodes below. Nothing else is looked at in a sweep. Within a sentence nodes are numbered
from 1 at the root, every node before those below it; 0 stands for no node. Edges of a node are in
the order of their splits, then of the rules; unary rules and terminals follow.

Weights of terminals are multiplied by a power of two per word where the weight of the sentence
would leave float64: all its derivations have the same words, so nothing else changes. Where that
does not help the log normaliser is NaN, and the sentence is inferred once more with logs (`logs`,
see `sklearn_cvb.kernels.tree.semirings`).
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline
from sklearn_cvb.kernels.subnormal import subnormal_is_zero
from sklearn_cvb.kernels.tree.arrays import Brackets, TerminalIndex, TreeRules, put_node
from sklearn_cvb.kernels.tree.charts import FORBIDDEN, FREE, fill_gates, mark_allowed, span_at
from sklearn_cvb.kernels.tree.semirings import (
    element,
    part_of,
    plus,
    quotient,
    times,
    weight_of,
    zero,
)

_LOG_2 = math.log(2.0)
# Weights of sentences within this range have lost nothing that counts.
_SMALLEST, _LARGEST = 1e-200, 1e200
# Binary digits that each word is multiplied by, tried in turn.
_DIGITS = (0, 16, 32)
# The number of an item that will be a node.
_WANTED = -1


class Forest(NamedTuple):
    """Nodes, edges and rules of all sentences, one after the other."""

    # (n_sentences + 1,), int64: where the nodes of each sentence begin; a sentence without a tree
    # has none
    node_first: np.ndarray
    begin: np.ndarray  # (n_nodes,), int32
    end: np.ndarray  # (n_nodes,), int32
    symbol: np.ndarray  # (n_nodes,), int32
    edge_first: np.ndarray  # (n_nodes + 1,), int64: where the edges of each node begin
    # (n_edges, 3), uint32: which of the sentence's rules is applied, and the left and right node
    # below: the right one is 0 for a unary rule, both are for a terminal
    edge: np.ndarray
    # (n_sentences + 1,), int64: where the distinct rules of each sentence begin
    rule_first: np.ndarray
    # (n_rules,), int64: cell of the parameter vector of each of them; -1: a helper symbol's only
    # rule, of weight 1
    cell: np.ndarray
    n_words: np.ndarray  # (n_rules,), int32: number of words that a lexical rule derives, else 0


class ForestWorkspace(NamedTuple):
    """Buffers for one sentence of a forest."""

    weight: np.ndarray  # (n_rules,): weights of the sentence's rules, and their expected counts
    count: np.ndarray  # (n_rules,)
    scaled: np.ndarray  # (n_rules,): the weights, those of terminals multiplied; or logs
    inside: np.ndarray  # (n_nodes + 1,): by number of the node; the first belongs to no node
    outside: np.ndarray  # (n_nodes + 1,)
    best: np.ndarray  # (n_nodes + 1,), int64: the edge of the heaviest derivation of each node
    stack: np.ndarray  # (n_nodes + 1,), int64: nodes of a tree that are still to be written


class _Items(NamedTuple):
    """Symbols that derive the spans of one sentence."""

    first: np.ndarray  # (n_spans + 1,), int64: where the items of each span begin
    symbol: np.ndarray  # (n_items,), int32
    # (n_items + 1,), int64: number of the node, `_WANTED` if it will be one, 0 if not; item x is at
    # x + 1
    number: np.ndarray
    place: np.ndarray  # (n_spans, n_symbols), int32: the item of a symbol plus 1, or 0
    # (n_spans,), int64: first entry of the lexicon that belongs to each span, or to those after it
    entry: np.ndarray
    gate: np.ndarray  # (n_spans,), int64
    allowed: np.ndarray  # (n_symbols,), bool
    order: np.ndarray  # (n_symbols,), int64: symbols, those above others by unary rules later


class _Buffers(NamedTuple):
    """What is written: rows of nodes, edges and rules, how many they are, and where a rule is."""

    # (room, 4), int32: begin, end, symbol, and first edge among those of the sentence
    node: np.ndarray
    edge: np.ndarray  # (room, 3), uint32: rule, left and right item, or node in the end; 0 for none
    rule: np.ndarray  # (room, 2), int64: key and number of words
    sizes: np.ndarray  # (3,), int64
    ends: np.ndarray  # (n_sentences + 1, 3), int64: the sizes after each sentence
    # (n_keys,), int64: 1 + the place of each rule among those of the sentence, 0 if it has none.
    # The keys of rules without a cell come after the cells: one for all of two symbols, and one for
    # each number of words
    rule_at: np.ndarray


# Derivations, listed


def _items_for(rules, longest):
    """Buffers for sentences of up to `longest` words."""
    n, size = rules.n_symbols, longest * (longest + 1) // 2
    below = np.full(n, -1)
    below[rules.upper] = np.arange(len(rules.upper))
    return _Items(
        np.zeros(size + 1, np.int64),
        np.empty(size * n, np.int32),
        np.empty(size * n + 1, np.int64),
        np.zeros((size, n), np.int32),
        np.empty(size, np.int64),
        np.empty(size, np.int64),
        np.ones(n, np.bool_),
        np.argsort(below, kind="stable"),
    )


@jit_inline
def _derive_split(rules, items, left, right_row, row):
    """Mark the parents of all pairs of symbols of two parts."""
    for item in range(items.first[left], items.first[left + 1]):
        symbol = items.symbol[item]
        for r in range(rules.left_first[symbol], rules.left_first[symbol + 1]):
            if right_row[rules.right[r]]:
                row[rules.parent[r]] = 1


@jit_called
def _derive(rules, lexicon, brackets, i, items):
    """List the symbols that derive each span; those above others by unary rules come later."""
    n = np.int64(lexicon.length[i])
    fill_gates(brackets, i, n, items.gate)
    entry, stop, item = lexicon.starts[i], lexicon.starts[i + 1], 0
    for k in range(1, n + 1):
        for b in range(k - 1, -1, -1):
            s = span_at(b, k)
            row, gate = items.place[s], items.gate[s]
            row[:] = 0
            items.first[s], items.entry[s] = item, entry
            while entry < stop and lexicon.end[entry] == k and lexicon.begin[entry] == b:
                row[lexicon.symbol[entry]] = 1
                entry += 1
            items.first[s + 1] = item
            if gate == FORBIDDEN:
                row[:] = 0
                continue
            for j in range(b + 1, k):
                _derive_split(rules, items, span_at(b, j), items.place[span_at(j, k)], row)
            if gate > FREE:
                mark_allowed(brackets, i, b, k, gate, items.allowed)
                for x in range(row.size):
                    if not items.allowed[x]:
                        row[x] = 0
            for u in range(rules.upper.size):
                if row[rules.lower[u]] and (gate == FREE or items.allowed[rules.upper[u]]):
                    row[rules.upper[u]] = 1
            for x in items.order:
                if row[x]:
                    items.symbol[item] = x
                    items.number[item + 1] = 0
                    item += 1
                    row[x] = item
            items.first[s + 1] = item


@jit_called
def _add_edge(buffers, first_rule, key, n_words, left, right, number):
    """Append an edge; its rule is new to the sentence, or one met before. What is below is wanted.

    Returns False without room.
    """
    sizes = buffers.sizes
    there_is_room = sizes[1] < len(buffers.edge) and sizes[2] < len(buffers.rule)
    if there_is_room:
        if buffers.rule_at[key] == 0:
            buffers.rule[sizes[2], 0] = key
            buffers.rule[sizes[2], 1] = n_words
            sizes[2] += 1
            buffers.rule_at[key] = sizes[2] - first_rule
        buffers.edge[sizes[1], 0] = buffers.rule_at[key] - 1
        buffers.edge[sizes[1], 1] = left
        buffers.edge[sizes[1], 2] = right
        sizes[1] += 1
        number[left] = _WANTED
        number[right] = _WANTED
    return there_is_room


@jit_inline
def _add_node(rules, lexicon, i, items, node, n_cells, first_rule, buffers):
    """Append the edges of a node; False without room."""
    b, k, symbol = node
    s, room, none = span_at(b, k), True, np.int64(0)
    for j in range(b + 1, k):
        left_row, right_row = items.place[span_at(b, j)], items.place[span_at(j, k)]
        for at in range(rules.parent_first[symbol], rules.parent_first[symbol + 1]):
            r = rules.by_parent[at]
            left, right = np.int64(left_row[rules.left[r]]), np.int64(right_row[rules.right[r]])
            if left > 0 and right > 0:
                key = rules.binary[r] if rules.binary[r] >= 0 else n_cells
                room &= _add_edge(buffers, first_rule, key, none, left, right, items.number)
    for u in range(rules.upper.size):
        lower = np.int64(items.place[s, rules.lower[u]])
        if rules.upper[u] == symbol and lower > 0:
            key = rules.unary[u]
            room &= _add_edge(buffers, first_rule, key, none, lower, none, items.number)
    entry = items.entry[s]
    while entry < lexicon.starts[i + 1] and lexicon.end[entry] == k and lexicon.begin[entry] == b:
        if lexicon.symbol[entry] == symbol:
            key = lexicon.rule[entry] if lexicon.rule[entry] >= 0 else n_cells + k - b
            room &= _add_edge(buffers, first_rule, key, k - b, none, none, items.number)
        entry += 1
    return room


@jit_called
def _add_sentence(rules, lexicon, i, items, n_cells, buffers):
    """Append the nodes and edges of a sentence whose items are listed; False without room."""
    n, sizes, number = np.int64(lexicon.length[i]), buffers.sizes, items.number
    first_node, first_edge, first_rule = sizes[0], sizes[1], sizes[2]
    root, room = items.place[span_at(0, n), rules.start], True
    if root > 0:
        number[root] = _WANTED
    for k in range(n if root > 0 else 0, 0, -1):
        for b in range(k):
            s = span_at(b, k)
            for item in range(items.first[s + 1], items.first[s], -1):
                room = room and (number[item] != _WANTED or sizes[0] < len(buffers.node))
                if number[item] != _WANTED or not room:
                    continue
                row, symbol = buffers.node[sizes[0]], np.int64(items.symbol[item - 1])
                row[0], row[1], row[2], row[3] = b, k, symbol, sizes[1] - first_edge
                sizes[0] += 1
                number[item] = sizes[0] - first_node
                node = b, k, symbol
                room = _add_node(rules, lexicon, i, items, node, n_cells, first_rule, buffers)
    number[0] = 0
    for e in range(first_edge, sizes[1]):
        row = buffers.edge[e]
        row[1], row[2] = number[row[1]], number[row[2]]
    for x in range(first_rule, sizes[2]):
        buffers.rule_at[buffers.rule[x, 0]] = 0
    if not room:
        sizes[0], sizes[1], sizes[2] = first_node, first_edge, first_rule
    return room


@jit
def _add_sentences(rules, lexicon, brackets, items, n_cells, i, buffers):
    """Append sentences from `i` on while there is room; returns which is the next."""
    room = True
    while room and i < lexicon.length.size:
        _derive(rules, lexicon, brackets, i, items)
        room = _add_sentence(rules, lexicon, i, items, n_cells, buffers)
        if room:
            i += 1
            for x in range(3):
                buffers.ends[i, x] = buffers.sizes[x]
    return i


def forest_of(
    rules: TreeRules, lexicon: TerminalIndex, brackets: Brackets, n_cells: int, most: int
) -> Forest | None:
    """List the derivations of all sentences; None where they need too much.

    Unary rules have no cycles, and a cell belongs to one rule. `most` is the largest number of
    edges, and of symbols over all spans of a sentence.
    """
    n, longest = len(lexicon.length), int(lexicon.length.max(initial=1))
    if longest * (longest + 1) // 2 * rules.n_symbols > most:
        return None
    buffers = _Buffers(
        np.empty((4096, 4), np.int32),
        np.empty((4096, 3), np.uint32),
        np.empty((4096, 2), np.int64),
        np.zeros(3, np.int64),
        np.zeros((n + 1, 3), np.int64),
        np.zeros(n_cells + longest + 1, np.int64),
    )
    items, i = _items_for(rules, longest), 0
    while True:
        i = _add_sentences(rules, lexicon, brackets, items, n_cells, i, buffers)
        if i == n:
            return _forest_without_room(buffers, n_cells)
        if len(buffers.edge) > most:
            return None
        node, edge, rule = (np.concatenate([x, np.empty_like(x)]) for x in buffers[:3])
        buffers = buffers._replace(node=node, edge=edge, rule=rule)


def _forest_without_room(buffers, n_cells):
    """The forest without the room that is left."""
    node, edge, rule = (
        table[:size] for table, size in zip(buffers[:3], buffers.sizes, strict=True)
    )
    ends = buffers.ends
    first = np.append(node[:, 3] + np.repeat(ends[:-1, 1], np.diff(ends[:, 0])), len(edge))
    return Forest(
        np.ascontiguousarray(ends[:, 0]),
        *(np.ascontiguousarray(node[:, x]) for x in range(3)),
        first,
        edge.copy(),
        np.ascontiguousarray(ends[:, 2]),
        np.where(rule[:, 0] < n_cells, rule[:, 0], -1),
        rule[:, 1].astype(np.int32),
    )


# Sentences, inferred


def forest_workspace_for(forest: Forest) -> ForestWorkspace:
    """Buffers for the largest sentence."""
    n_nodes = int(np.max(np.diff(forest.node_first), initial=0)) + 1
    n_rules = int(np.max(np.diff(forest.rule_first), initial=0))
    return ForestWorkspace(
        *(np.empty(n_rules) for _ in range(3)),
        *(np.empty(n_nodes) for _ in range(2)),
        *(np.empty(n_nodes, np.int64) for _ in range(2)),
    )


@jit_called
def forest_inside(forest, i, work, logs):
    """Inside weights of all nodes of sentence `i`, from `work.weight`; log p(words) in nats.

    Fills `work.scaled` and `work.inside`. Returns -inf if the sentence has no tree, NaN if its
    weights leave float64.
    """
    node, rule = forest.node_first[i], forest.rule_first[i]
    n, n_rules = forest.node_first[i + 1] - node, forest.rule_first[i + 1] - rule
    if n == 0:
        return -math.inf
    for digits in _DIGITS:
        for x in range(n_rules):
            work.scaled[x] = element(work.weight[x], logs)
            if digits > 0 and forest.n_words[rule + x] > 0:
                shift = np.int32(digits * forest.n_words[rule + x])
                work.scaled[x] = math.ldexp(work.weight[x], shift)
        work.inside[0] = element(1.0, logs)
        for x in range(n, 0, -1):
            total = zero(logs)
            at = np.uint64(node + x - 1)
            for e in range(forest.edge_first[at], forest.edge_first[at + np.uint64(1)]):
                edge = forest.edge[np.uint64(e)]
                below = times(work.inside[edge[1]], work.inside[edge[2]], logs)
                total = plus(total, times(work.scaled[edge[0]], below, logs), logs)
            work.inside[np.uint64(x)] = total
        if logs is not None:
            return work.inside[1]
        if _SMALLEST < work.inside[1] < _LARGEST:
            return math.log(work.inside[1]) - digits * forest.end[node] * _LOG_2
    return math.nan


@jit_called
def forest_outside(forest, i, work, logs):
    """Outside weights of all nodes of sentence `i`, after `forest_inside` found a tree.

    Fills `work.outside`, and `work.count` with the expected counts of the sentence's rules.
    """
    node = forest.node_first[i]
    n = forest.node_first[i + 1] - node
    work.count[: forest.rule_first[i + 1] - forest.rule_first[i]] = 0.0
    work.outside[: n + 1] = zero(logs)
    work.outside[1] = quotient(element(1.0, logs), work.inside[1], logs)
    for x in range(1, n + 1):
        above = work.outside[np.uint64(x)]
        at = np.uint64(node + x - 1)
        for e in range(forest.edge_first[at], forest.edge_first[at + np.uint64(1)]):
            edge = forest.edge[np.uint64(e)]
            rule, left, right = edge[0], edge[1], edge[2]
            value = times(work.scaled[rule], above, logs)
            below = times(work.inside[left], work.inside[right], logs)
            work.count[rule] += weight_of(times(value, below, logs), logs)
            to_left = times(value, work.inside[right], logs)
            work.outside[left] = plus(work.outside[left], to_left, logs)
            to_right = times(value, work.inside[left], logs)
            work.outside[right] = plus(work.outside[right], to_right, logs)


@jit
def expected_counts_by_forest(forest, weights, work, counts, log_z, with_counts):
    """E-step over all sentences under the weights of each sentence's rules.

    `counts` (n_rules,) receives the rules' expected counts, if asked for, and `log_z` log p(words)
    in nats: -inf without a tree and NaN where weights leave float64, both without counts.
    """
    subnormal_is_zero(True)
    for i in range(log_z.size):
        first, stop = forest.rule_first[i], forest.rule_first[i + 1]
        for x in range(first, stop):
            work.weight[x - first] = weights[x]
        log_z[i] = forest_inside(forest, i, work, None)
        counted = with_counts and log_z[i] > -math.inf
        if counted:
            forest_outside(forest, i, work, None)
        for x in range(first, stop):
            counts[x] = work.count[x - first] if counted else 0.0
    subnormal_is_zero(False)


@jit_inline
def _draw_edge(forest, i, x, work, rng, logs):
    """Draw the edge at node `x` of sentence `i`."""
    node, whole = forest.node_first[i] + x - 1, work.inside[x]
    level = rng.random() * whole if logs is None else rng.random()
    # Rounding may leave a little of the level: then the last possible edge is taken.
    chosen = np.int64(forest.edge_first[node])
    for e in range(forest.edge_first[node], forest.edge_first[node + 1]):
        rule, left, right = forest.edge[e, 0], forest.edge[e, 1], forest.edge[e, 2]
        below = times(work.inside[left], work.inside[right], logs)
        value = part_of(times(work.scaled[rule], below, logs), whole, logs)
        if value > 0.0:
            chosen = e
            level -= value
            if level < 0.0:
                break
    return chosen


@jit_inline
def draw_tree_by_forest(forest, work, i, rng, sweep, size, logs):
    """Draw a tree after the first `size` nodes of `sweep.new`; returns how many there are now."""
    height, at = np.int64(1), size
    work.stack[0] = 1
    while height > 0:
        x = work.stack[height - 1]
        e = _draw_edge(forest, i, x, work, rng, logs)
        height = _write_node(forest, i, x, e, work, height - 1, sweep.new, at)
        at += 1
    return at


@jit_inline
def _write_node(forest, i, x, e, work, height, trees, at):
    """Write node `x` of sentence `i` with the rule of edge `e`; what is below goes to the stack.

    Returns the new height of the stack.
    """
    here = forest.node_first[i] + x - 1
    rule, left, right = forest.edge[e, 0], forest.edge[e, 1], forest.edge[e, 2]
    cell = forest.cell[forest.rule_first[i] + np.int64(rule)]
    n_children = (left > 0) + (right > 0)
    put_node(trees, at, forest.begin[here], forest.end[here], forest.symbol[here], cell, n_children)
    above = height
    if right > 0:
        work.stack[above] = right
        above += 1
    if left > 0:
        work.stack[above] = left
        above += 1
    return above


@jit
def best_trees_by_forest(forest, logs, work, trees):
    """The heaviest tree of each sentence under log weights of its rules, to `trees`.

    Trees that tie, but for rounding, are chosen from as in `sklearn_cvb.kernels.tree.decoding`.
    """
    size = np.int64(0)
    work.inside[0] = 0.0
    for i in range(trees.starts.size - 1):
        node, rule = forest.node_first[i], forest.rule_first[i]
        n = forest.node_first[i + 1] - node
        for x in range(n, 0, -1):
            first, stop = forest.edge_first[node + x - 1], forest.edge_first[node + x]
            best, at, by_unary = -math.inf, first, False
            for e in range(first, stop):
                left, right = forest.edge[e, 1], forest.edge[e, 2]
                weight = logs[rule + np.int64(forest.edge[e, 0])]
                value = work.inside[left] + weight + work.inside[right]
                # A unary rule is taken only where it is better than a terminal.
                if value > best or (value == best and left == 0 and by_unary):
                    best, at, by_unary = value, e, left > 0 and right == 0
            work.inside[x], work.best[x] = best, at
        work.stack[0] = 1
        height = 1 if n > 0 and work.inside[1] > -math.inf else 0
        while height > 0:
            x = work.stack[height - 1]
            height = _write_node(forest, i, x, work.best[x], work, height - 1, trees, size)
            size += 1
        trees.starts[i + 1] = size
