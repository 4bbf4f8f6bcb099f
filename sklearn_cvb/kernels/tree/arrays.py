"""Grammars, sentences and trees as arrays, as the tree kernels read and write them.

Span (begin, end) is words[begin:end]. Every rule has two symbols, one symbol or words on its right:
longer ones arrive in two-symbol steps through helper symbols. Terminals may cover several words.
"""

from typing import NamedTuple

import numpy as np


class Rules(NamedTuple):
    """A binarised grammar, see `rules_of`.

    Attributes
    ----------
    n_symbols, start : int
        Number of symbols, and the one that derives whole sentences.
    parent, left, right : ndarray of shape (n_binary,), int32
        Rules parent -> left right, sorted by (left, right, parent).
    binary : ndarray of shape (n_binary,), int64
        Cell of the parameter vector that a binary rule belongs to; -1 for the only rule of a
        helper symbol, which has weight 1.
    left_first : ndarray of shape (n_symbols + 1,), int64
        The rules with left symbol B are left_first[B] to left_first[B + 1].
    by_parent : ndarray of shape (n_binary,), int32
        Binary rules in order of (parent, left, right).
    parent_first : ndarray of shape (n_symbols + 1,), int64
        Where the rules of each parent begin in `by_parent`.
    upper, lower : ndarray of shape (n_unary,), int32
        Rules upper -> lower. Sorted by component, the lowest components first; within a component
        the rules that leave it come first.
    unary : ndarray of shape (n_unary,), int64
        Cell of the parameter vector of each unary rule.
    unary_first : ndarray of shape (n_components + 1,), int64
        Where the unary rules of each component begin. A component is a set of symbols that reach
        each other by unary rules; only those that have unary rules are listed.
    internal_first : ndarray of shape (n_components,), int64
        Where the rules within each component begin.
    member : ndarray of shape (n_members,), int32
        Symbols of the components with cycles.
    member_first : ndarray of shape (n_components + 1,), int64
        Where the members of each component begin; none if it has no cycle.
    block_first : ndarray of shape (n_components + 1,), int64
        Where the block of each component begins in `TreeWeights.closure`.
    """

    n_symbols: int
    start: int
    parent: np.ndarray
    left: np.ndarray
    right: np.ndarray
    binary: np.ndarray
    left_first: np.ndarray
    by_parent: np.ndarray
    parent_first: np.ndarray
    upper: np.ndarray
    lower: np.ndarray
    unary: np.ndarray
    unary_first: np.ndarray
    internal_first: np.ndarray
    member: np.ndarray
    member_first: np.ndarray
    block_first: np.ndarray


class Lexicon(NamedTuple):
    """Occurrences of terminals in sentences, see `lexicon_of`.

    Attributes
    ----------
    length : ndarray of shape (n_sentences,), int32
        Number of words of each sentence.
    starts : ndarray of shape (n_sentences + 1,), int64
        Where the occurrences of each sentence begin.
    begin, end : ndarray of shape (n_occurrences,), int32
        The words derived. Within a sentence `end` ascends, and `begin` descends for equal `end`.
    symbol : ndarray of shape (n_occurrences,), int32
        The symbol that derives them.
    rule : ndarray of shape (n_occurrences,), int64
        Cell of the parameter vector of the lexical rule.
    """

    length: np.ndarray
    starts: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    symbol: np.ndarray
    rule: np.ndarray


class Brackets(NamedTuple):
    """What is known of trees, see `brackets_of`: brackets that no constituent crosses.

    Attributes
    ----------
    starts : ndarray of shape (n_sentences + 1,), int64
        Where the brackets of each sentence begin.
    begin, end : ndarray of shape (n_brackets,), int32
        Span of each bracket; those of one span are neighbours.
    symbol : ndarray of shape (n_brackets,), int32
        A symbol its span may have, or -1: any. Several brackets of a span allow several symbols.
    """

    starts: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    symbol: np.ndarray


class TreeWeights(NamedTuple):
    """Weights of rules (or their logs, where a kernel says so).

    Attributes
    ----------
    binary : ndarray of shape (n_binary,)
    unary : ndarray of shape (n_unary,)
    closure : ndarray of shape (rules.block_first[-1],)
        The summed weights of unary chains within each component, from `fill_closure`.
    lexical : ndarray of shape (n_occurrences,)
        One for each occurrence of the lexicon.
    """

    binary: np.ndarray
    unary: np.ndarray
    closure: np.ndarray
    lexical: np.ndarray


class Trees(NamedTuple):
    """Derivations of some sentences, one after the other; each in pre-order.

    Attributes
    ----------
    starts : ndarray of shape (n_trees + 1,), int64
        Where the nodes of each tree begin; a sentence without a tree has none.
    begin, end : ndarray of shape (n_nodes,), int32
        Span of each node.
    symbol : ndarray of shape (n_nodes,), int32
    rule : ndarray of shape (n_nodes,), int64
        Cell of the rule applied at the node; -1 at helper symbols.
    n_children : ndarray of shape (n_nodes,), int8
        2 after a binary rule, 1 after a unary rule, 0 after a lexical one.
    """

    starts: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    symbol: np.ndarray
    rule: np.ndarray
    n_children: np.ndarray


def _components(n_symbols, upper, lower):
    """Sets of symbols that reach each other by unary rules, lower ones first (Tarjan 1972)."""
    below = [[] for _ in range(n_symbols)]
    for a, b in zip(upper.tolist(), lower.tolist(), strict=True):
        below[a].append(b)
    number, low, path, found = {}, {}, [], []
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
                    found.append(sorted(path[at:]))
                    del path[at:]
                elif calls:
                    low[calls[-1][0]] = min(low[calls[-1][0]], low[a])
            elif b not in number:
                calls.append((b, iter(below[b])))
            elif b in path:
                low[a] = min(low[a], number[b])
    return found


def _first(keys, size):
    """Where each key begins in sorted keys."""
    return np.searchsorted(keys, np.arange(size + 1)).astype(np.int64)


def rules_of(n_symbols, start, binary_rules, unary_rules):
    """Arrange the rules of a binarised grammar for the kernels.

    Parameters
    ----------
    n_symbols, start : int
    binary_rules : array-like of shape (n_binary, 4)
        Rows (parent, left, right, cell); the cell is -1 for the only rule of a helper symbol.
    unary_rules : array-like of shape (n_unary, 3)
        Rows (upper, lower, cell).

    Returns
    -------
    Rules
        Weights are gathered through its fields `binary` and `unary`: the rules are reordered.
    """
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
    kept = np.unique(owner)
    cyclic = [components[c] if internal[owner == c].any() else [] for c in kept]
    sizes = np.array([len(symbols) for symbols in cyclic], np.int64)
    unary_first = np.append(np.searchsorted(owner, kept), len(owner)).astype(np.int64)
    n_leaving = np.array([np.sum(~internal[owner == c]) for c in kept], np.int64)
    return Rules(
        int(n_symbols),
        int(start),
        *(np.ascontiguousarray(x, np.int32) for x in (parent, left, right)),
        np.ascontiguousarray(binary),
        _first(left, n_symbols),
        by_parent.astype(np.int32),
        _first(parent[by_parent], n_symbols),
        upper.astype(np.int32),
        lower.astype(np.int32),
        unary,
        unary_first,
        unary_first[:-1] + n_leaving,
        np.array([symbol for symbols in cyclic for symbol in symbols], np.int32),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.concatenate([[0], np.cumsum(sizes**2)]).astype(np.int64),
    )


def lexicon_of(length, sentence, begin, end, symbol, rule):
    """Sort occurrences of terminals into a lexicon.

    Parameters
    ----------
    length : array-like of shape (n_sentences,)
    sentence, begin, end, symbol, rule : array-like of shape (n_occurrences,)
        Sentence of each occurrence, and the fields of `Lexicon`.

    Returns
    -------
    Lexicon
    order : ndarray of shape (n_occurrences,), int64
        Where each of its occurrences was.
    """
    fields = [np.asarray(x, np.int64) for x in (sentence, begin, end, symbol, rule)]
    order = np.lexsort((fields[4], fields[3], -fields[1], fields[2], fields[0]))
    sentence, begin, end, symbol, rule = (x[order] for x in fields)
    length = np.asarray(length, np.int32)
    narrow = (x.astype(np.int32) for x in (begin, end, symbol))
    return Lexicon(length, _first(sentence, len(length)), *narrow, rule), order


def brackets_of(n_sentences, sentence=(), begin=(), end=(), symbol=()):
    """Sort brackets by sentence and span; without brackets nothing is restricted.

    Parameters
    ----------
    n_sentences : int
    sentence, begin, end, symbol : array-like of shape (n_brackets,)
        Sentence of each bracket, and the fields of `Brackets`.

    Returns
    -------
    Brackets
    """
    fields = [np.asarray(x, np.int64) for x in (sentence, begin, end, symbol)]
    order = np.lexsort((fields[3], fields[2], fields[1], fields[0]))
    sentence, begin, end, symbol = (x[order] for x in fields)
    narrow = (x.astype(np.int32) for x in (begin, end, symbol))
    return Brackets(_first(sentence, n_sentences), *narrow)
