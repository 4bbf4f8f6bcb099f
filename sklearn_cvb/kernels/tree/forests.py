"""Forests: all derivations of each sentence, listed once, for grammars whose rules are few there.

A node is a symbol over a span that occurs in some tree of the sentence; an edge is a rule at a node
with the nodes below. Nothing else is looked at in a sweep. Within a sentence nodes are numbered
from 1 at the root, every node before those below it; 0 stands for no node. Edges of a node are in
the order of their splits, then of the rules; unary rules and terminals follow.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline
from sklearn_cvb.kernels.tree.arrays import Brackets, Lexicon, Rules
from sklearn_cvb.kernels.tree.spans import FORBIDDEN, FREE, allow, restrict, span_at


class Forest(NamedTuple):
    """Nodes, edges and rules of all sentences, one after the other.

    Attributes
    ----------
    node_first : ndarray of shape (n_sentences + 1,), int64
        Where the nodes of each sentence begin; a sentence without a tree has none.
    begin, end, symbol : ndarray of shape (n_nodes,), int32
    edge_first : ndarray of shape (n_nodes + 1,), int64
        Where the edges of each node begin.
    edge : ndarray of shape (n_edges, 3), uint32
        Which of the sentence's rules is applied, and the left and right node below: the right one
        is 0 for a unary rule, both are for a terminal.
    rule_first : ndarray of shape (n_sentences + 1,), int64
        Where the distinct rules of each sentence begin.
    cell : ndarray of shape (n_rules,), int64
        Cell of the parameter vector of each of them; -1: a helper symbol's only rule, of weight 1.
    n_words : ndarray of shape (n_rules,), int32
        Number of words that a lexical rule derives, else 0.
    """

    node_first: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    symbol: np.ndarray
    edge_first: np.ndarray
    edge: np.ndarray
    rule_first: np.ndarray
    cell: np.ndarray
    n_words: np.ndarray


class _Items(NamedTuple):
    """Symbols that derive the spans of one sentence.

    Attributes
    ----------
    first : ndarray of shape (n_spans + 1,), int64
        Where the items of each span begin.
    symbol : ndarray of shape (n_items,), int32
    number : ndarray of shape (n_items + 1,), int64
        Number of the node, `_WANTED` if it will be one, 0 if not; item x is at x + 1.
    place : ndarray of shape (n_spans, n_symbols), int32
        The item of a symbol plus 1, or 0.
    entry : ndarray of shape (n_spans,), int64
        First entry of the lexicon that belongs to each span, or to those after it.
    gate : ndarray of shape (n_spans,), int64
    allowed : ndarray of shape (n_symbols,), bool
    order : ndarray of shape (n_symbols,), int64
        Symbols, those above others by unary rules later.
    """

    first: np.ndarray
    symbol: np.ndarray
    number: np.ndarray
    place: np.ndarray
    entry: np.ndarray
    gate: np.ndarray
    allowed: np.ndarray
    order: np.ndarray


_WANTED = -1


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
    restrict(brackets, i, n, items.gate)
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
                allow(brackets, i, b, k, gate, items.allowed)
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


class _Buffers(NamedTuple):
    """What is written: rows of nodes, edges and rules, how many they are, and where a rule is.

    Attributes
    ----------
    node : ndarray of shape (room, 4), int32
        Begin, end, symbol, and first edge among those of the sentence.
    edge : ndarray of shape (room, 3), uint32
        Rule, left and right item, or node in the end; 0 for none.
    rule : ndarray of shape (room, 2), int64
        Key and number of words.
    sizes : ndarray of shape (3,), int64
    ends : ndarray of shape (n_sentences + 1, 3), int64
        The sizes after each sentence.
    rule_at : ndarray of shape (n_keys,), int64
        1 + the place of each rule among those of the sentence, 0 if it has none. The keys of rules
        without a cell come after the cells: one for all of two symbols, and one for each number of
        words.
    """

    node: np.ndarray
    edge: np.ndarray
    rule: np.ndarray
    sizes: np.ndarray
    ends: np.ndarray
    rule_at: np.ndarray


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
    rules: Rules, lexicon: Lexicon, brackets: Brackets, n_cells: int, most: int
) -> Forest | None:
    """List the derivations of all sentences.

    Parameters
    ----------
    rules : Rules
        Without cycles of unary rules.
    lexicon : Lexicon
    brackets : Brackets
    n_cells : int
        Size of the parameter vector; a cell belongs to one rule.
    most : int
        Largest number of edges, and of symbols over all spans of a sentence.

    Returns
    -------
    Forest or None
        None where there are more.
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
            return _packed(buffers, n_cells)
        if len(buffers.edge) > most:
            return None
        buffers = buffers._replace(
            **{name: _doubled(getattr(buffers, name)) for name in ("node", "edge", "rule")}
        )


def _packed(buffers, n_cells):
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


def _doubled(table):
    """A table with twice the room."""
    larger = np.empty((2 * len(table), table.shape[1]), table.dtype)
    larger[: len(table)] = table
    return larger
