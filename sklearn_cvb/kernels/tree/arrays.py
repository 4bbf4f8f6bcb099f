"""Arrays of tree kernels: binarised rules (parent -> left right, upper -> lower), occurrences of
terminals, brackets, derivations. Cells are places in the parameter vector; a field named for its
`first` says where what belongs to each symbol begins, or to each component of unary rules, a set of
symbols that reach each other.

Span (begin, end) is words[begin:end]. Every rule has two symbols, one symbol or words on its right:
longer ones arrive in two-symbol steps through helper symbols. Terminals may cover several words.
"""

from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit_inline


class TreeRules(NamedTuple):
    """A binarised grammar, see `rules_of`."""

    n_symbols: int
    start: int  # the symbol that derives whole sentences
    # (n_binary,), int32: rules parent -> left right, sorted by (left, right, parent)
    parent: np.ndarray
    left: np.ndarray  # (n_binary,), int32
    right: np.ndarray  # (n_binary,), int32
    # (n_binary,), int64: cell of the parameter vector that a binary rule belongs to; -1 for the
    # only rule of a helper symbol, which has weight 1
    binary: np.ndarray
    # (n_symbols + 1,), int64: the rules with left symbol B are left_first[B] to left_first[B + 1]
    left_first: np.ndarray
    by_parent: np.ndarray  # (n_binary,), int32: binary rules in order of (parent, left, right)
    # (n_symbols + 1,), int64: where the rules of each parent begin in `by_parent`
    parent_first: np.ndarray
    # (n_unary,), int32: rules upper -> lower. Sorted by component, the lowest components first;
    # within a component the rules that leave it come first
    upper: np.ndarray
    lower: np.ndarray  # (n_unary,), int32
    unary: np.ndarray  # (n_unary,), int64: cell of the parameter vector of each unary rule
    # (n_components + 1,), int64: where the unary rules of each component begin. A component is a
    # set of symbols that reach each other by unary rules; only those that have unary rules are
    # listed
    unary_first: np.ndarray
    # (n_components,), int64: where the rules within each component begin
    internal_first: np.ndarray
    member: np.ndarray  # (n_members,), int32: symbols of the components with cycles
    # (n_components + 1,), int64: where the members of each component begin; none if it has no cycle
    member_first: np.ndarray
    # (n_components + 1,), int64: where the block of each component begins in `UnaryRules.closure`
    block_first: np.ndarray


class TerminalIndex(NamedTuple):
    """Occurrences of terminals in sentences, see `terminal_index_of`."""

    length: np.ndarray  # (n_sentences,), int32: number of words of each sentence
    starts: np.ndarray  # (n_sentences + 1,), int64: where the occurrences of each sentence begin
    # (n_occurrences,), int32: the words derived. Within a sentence `end` ascends, and `begin`
    # descends for equal `end`
    begin: np.ndarray
    end: np.ndarray  # (n_occurrences,), int32
    symbol: np.ndarray  # (n_occurrences,), int32: the symbol that derives them
    rule: np.ndarray  # (n_occurrences,), int64: cell of the parameter vector of the lexical rule


class Brackets(NamedTuple):
    """What is known of trees, see `brackets_of`: brackets that no constituent crosses."""

    starts: np.ndarray  # (n_sentences + 1,), int64: where the brackets of each sentence begin
    # (n_brackets,), int32: span of each bracket; those of one span are neighbours
    begin: np.ndarray
    end: np.ndarray  # (n_brackets,), int32
    # (n_brackets,), int32: A symbol its span may have, or -1: any. Several brackets of a span allow
    # several symbols
    symbol: np.ndarray


class Derivations(NamedTuple):
    """Derivations of some sentences, one after the other; each in pre-order."""

    # (n_trees + 1,), int64: where the nodes of each tree begin; a sentence without a tree has none
    starts: np.ndarray
    begin: np.ndarray  # (n_nodes,), int32: span of each node
    end: np.ndarray  # (n_nodes,), int32
    symbol: np.ndarray  # (n_nodes,), int32
    # (n_nodes,), int64: cell of the rule applied at the node; -1 at helper symbols
    rule: np.ndarray
    # (n_nodes,), int8: 2 after a binary rule, 1 after a unary rule, 0 after a lexical one
    n_children: np.ndarray


class BinaryRules(NamedTuple):
    """Rules parent -> left right, see `TreeRules` for their order."""

    start: int  # the symbol that derives whole sentences
    parent: np.ndarray  # (n_binary,), int32
    left: np.ndarray  # (n_binary,), int32
    right: np.ndarray  # (n_binary,), int32
    by_parent: np.ndarray  # (n_binary,), int32
    left_first: np.ndarray  # (n_symbols + 1,), int64
    parent_first: np.ndarray  # (n_symbols + 1,), int64
    cell: np.ndarray  # (n_binary,), int64: `TreeRules.binary`
    # (n_binary,): weights (or their logs, where a kernel says so), and expected counts, which
    # kernels add to
    weight: np.ndarray
    count: np.ndarray  # (n_binary,)


class UnaryRules(NamedTuple):
    """Rules upper -> lower, see `TreeRules` for their order and components."""

    upper: np.ndarray  # (n_unary,), int32
    lower: np.ndarray  # (n_unary,), int32
    cell: np.ndarray  # (n_unary,), int64
    first: np.ndarray  # `unary_first` and so on of `TreeRules`
    internal_first: np.ndarray
    member: np.ndarray
    member_first: np.ndarray
    block_first: np.ndarray
    # (n_unary,): weights (or their logs, where a kernel says so), and expected counts, which
    # kernels add to
    weight: np.ndarray
    count: np.ndarray  # (n_unary,)
    # (block_first[-1],): the summed weights of chains within each component, from `fill_closure`
    closure: np.ndarray


class Terminals(NamedTuple):
    """Sentences as occurrences of terminals: the fields of `TerminalIndex`.

    With weights (or their logs) and expected counts, which kernels add to, of each occurrence.
    """

    length: np.ndarray
    starts: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    symbol: np.ndarray
    cell: np.ndarray
    weight: np.ndarray
    count: np.ndarray


class RuleLists(NamedTuple):
    """All that one sentence after the other is inferred from, see `rule_lists_of`."""

    binary: BinaryRules
    unary: UnaryRules | None
    terminals: Terminals
    brackets: Brackets


# Grammars, sentences and brackets, arranged


def _components(n_symbols, upper, lower):
    """Sets of symbols that reach each other by unary rules, lower ones first (Tarjan 1972)."""
    below = [[] for _ in range(n_symbols)]
    for a, b in zip(upper.tolist(), lower.tolist(), strict=True):
        below[a].append(b)
    number, low, path, components = {}, {}, [], []
    for root in sorted(set(upper.tolist())):
        calls = [] if root in number else [(root, iter(below[root]))]
        while calls:
            a, rest = calls[-1]
            if a not in number:
                number[a] = low[a] = len(number)
                path.append(a)
            b = next(rest, None)
            if b is None:
                calls.pop()
                if low[a] == number[a]:
                    at = path.index(a)
                    components.append(sorted(path[at:]))
                    del path[at:]
                elif calls:
                    low[calls[-1][0]] = min(low[calls[-1][0]], low[a])
            elif b not in number:
                calls.append((b, iter(below[b])))
            elif b in path:
                low[a] = min(low[a], number[b])
    return components


def _first_places(keys, size):
    """Where each key begins in sorted keys."""
    return np.searchsorted(keys, np.arange(size + 1)).astype(np.int64)


def rules_of(n_symbols, start, binary_rules, unary_rules):
    """Arrange rules, rows (parent, left, right, cell) and (upper, lower, cell), for the kernels."""
    table = np.asarray(binary_rules, np.int64).reshape(-1, 4)
    parent, left, right, binary = table[np.lexsort((table[:, 0], table[:, 2], table[:, 1]))].T
    by_parent = np.lexsort((right, left, parent))
    upper, lower, unary = np.asarray(unary_rules, np.int64).reshape(-1, 3).T
    components = _components(n_symbols, upper, lower)
    component = np.full(n_symbols, -1)
    for c, symbols in enumerate(components):
        component[symbols] = c
    internal = component[upper] == component[lower]
    order = np.lexsort((lower, upper, internal, component[upper]))
    upper, lower, unary, internal = (x[order] for x in (upper, lower, unary, internal))
    owner = component[upper]
    with_rules = np.unique(owner)
    cyclic = [components[c] if internal[owner == c].any() else [] for c in with_rules]
    sizes = np.array([len(symbols) for symbols in cyclic], np.int64)
    unary_first = np.append(np.searchsorted(owner, with_rules), len(owner)).astype(np.int64)
    n_leaving = np.array([np.sum(~internal[owner == c]) for c in with_rules], np.int64)
    return TreeRules(
        int(n_symbols),
        int(start),
        *(np.ascontiguousarray(x, np.int32) for x in (parent, left, right)),
        np.ascontiguousarray(binary),
        _first_places(left, n_symbols),
        by_parent.astype(np.int32),
        _first_places(parent[by_parent], n_symbols),
        upper.astype(np.int32),
        lower.astype(np.int32),
        unary,
        unary_first,
        unary_first[:-1] + n_leaving,
        np.array([symbol for symbols in cyclic for symbol in symbols], np.int32),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate([[0], np.cumsum(sizes**2)]).astype(np.int64),
    )


def terminal_index_of(length, sentence, begin, end, symbol, rule):
    """Sort occurrences of terminals into a lexicon; where each of its occurrences was."""
    fields = [np.asarray(x, np.int64) for x in (sentence, begin, end, symbol, rule)]
    order = np.lexsort((fields[4], fields[3], -fields[1], fields[2], fields[0]))
    sentence, begin, end, symbol, rule = (x[order] for x in fields)
    length = np.asarray(length, np.int32)
    narrow = (x.astype(np.int32) for x in (begin, end, symbol))
    return TerminalIndex(length, _first_places(sentence, len(length)), *narrow, rule), order


def brackets_of(n_sentences, sentence=(), begin=(), end=(), symbol=()):
    """Sort brackets by sentence and span; without brackets nothing is restricted."""
    fields = [np.asarray(x, np.int64) for x in (sentence, begin, end, symbol)]
    order = np.lexsort((fields[3], fields[2], fields[1], fields[0]))
    sentence, begin, end, symbol = (x[order] for x in fields)
    narrow = (x.astype(np.int32) for x in (begin, end, symbol))
    return Brackets(_first_places(sentence, n_sentences), *narrow)


def unary_rules_of(rules: TreeRules) -> UnaryRules | None:
    """The unary rules of a grammar with room for weights and counts; None if it has none."""
    n = len(rules.upper)
    if n == 0:
        return None
    return UnaryRules(
        rules.upper,
        rules.lower,
        rules.unary,
        *rules[-5:],
        np.empty(n),
        np.zeros(n),
        np.empty(rules.block_first[-1]),
    )


def rule_lists_of(rules: TreeRules, lexicon: TerminalIndex, brackets: Brackets) -> RuleLists:
    """Arrange rules and sentences, with room for weights, and counts of 0."""
    n, n_terminals = len(rules.binary), len(lexicon.rule)
    binary = BinaryRules(
        rules.start,
        rules.parent,
        rules.left,
        rules.right,
        rules.by_parent,
        rules.left_first,
        rules.parent_first,
        rules.binary,
        np.empty(n),
        np.zeros(n),
    )
    terminals = Terminals(*lexicon, np.empty(n_terminals), np.zeros(n_terminals))
    return RuleLists(binary, unary_rules_of(rules), terminals, brackets)


# Trees written node by node, into room that Python makes and enlarges


def empty_trees(n_trees: int, n_nodes: int) -> Derivations:
    """Trees without nodes, and room for so many."""
    return Derivations(
        np.zeros(n_trees + 1, np.int64),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int64),
        np.empty(n_nodes, np.int8),
    )


def with_room(trees: Derivations, n_nodes: int) -> Derivations:
    """The same trees, and room for at least so many nodes: those there are, or twice as many."""
    larger = empty_trees(len(trees.starts) - 1, max(n_nodes, 2 * len(trees.rule)))
    larger.starts[:] = trees.starts
    for new, old in zip(larger[1:], trees[1:], strict=True):
        new[: len(old)] = old
    return larger


def without_spare_room(trees: Derivations) -> Derivations:
    """Trees without the room that is left."""
    size = trees.starts[-1]
    return Derivations(trees.starts, *(field[:size].copy() for field in trees[1:]))


def append_nodes(trees: Derivations, first: int, nodes: list[tuple[Any, ...]]) -> None:
    """Write nodes (begin, end, symbol, cell, number of children) after the first so many."""
    for field, values in zip(trees[1:], zip(*nodes, strict=True), strict=True):
        field[first : first + len(nodes)] = values


def trees_of(node_lists: list[list[tuple[Any, ...]]]) -> Derivations:
    """Trees out of lists of nodes (begin, end, symbol, cell, number of children)."""
    trees = empty_trees(len(node_lists), sum(map(len, node_lists)))
    trees.starts[1:] = np.cumsum([len(nodes) for nodes in node_lists])
    for first, nodes in zip(trees.starts.tolist(), node_lists, strict=False):
        append_nodes(trees, first, nodes)
    return trees


@jit_inline
def put_node(trees, at, begin, end, symbol, rule, n_children):
    """Write a node over words[begin:end] and the rule applied there."""
    trees.begin[at] = begin
    trees.end[at] = end
    trees.symbol[at] = symbol
    trees.rule[at] = rule
    trees.n_children[at] = n_children


@jit_inline
def push_node(stack, height, begin, end, symbol):
    """Write a node to place `height` of those still to be derived, ndarray (room, 3), int64."""
    stack[height, 0] = begin
    stack[height, 1] = end
    stack[height, 2] = symbol
