"""Arrays of treebank kernels: annotated rules, observed trees, parses, a grammar for parsing.
Symbols have latent subtypes, and each rule a block of cells, the parameters of its annotated forms.

A symbol A has subtypes A[0], A[1], ...: one or more, each symbol as many as it needs. A rule of the
treebank stands for all ways to annotate its symbols: a block of cells. Matsuzaki et al. (2005). The
parser reads rules by their parts, and by words (`AnnotatedGrammar`).
"""

from typing import Any, NamedTuple

import numpy as np

# No symbol, no node.
NONE = -1


class AnnotatedRules(NamedTuple):
    """The rules of a binarised treebank; cells of annotated rules lie in blocks, rule by rule.

    First come the roots, then binary rules A -> B C, unary rules A -> B, and words A -> w.
    """

    n_subtypes: np.ndarray  # (n_symbols,), int64: number of subtypes of each symbol
    parent: np.ndarray  # (n_rules,), int64: left-hand side; `NONE` for a root
    # (n_rules,), int64: the symbol of the root, the left or only child, or the word
    left: np.ndarray
    right: np.ndarray  # (n_rules,), int64: the right child of a binary rule, else `NONE`
    # (n_rules + 1,), int64: where the block of each rule begins. It has n(B) cells for a root B;
    # n(A) n(B) n(C) for a binary rule, of which that of A[x] -> B[y] C[z] is number (x n(B) + y)
    # n(C) + z; n(A) n(B) for a unary rule; n(A) for a word
    first: np.ndarray
    # (5,), int64: the first rule of each of the four kinds, and the number of rules
    begin: np.ndarray


class ObservedTrees(NamedTuple):
    """Observed trees without annotations, nodes in post-order, so that the root is the last."""

    starts: np.ndarray  # (n_trees + 1,), int64: where the nodes of each tree begin
    # (n_nodes,), int64: the rule that expands the node: binary, unary or of a word
    rule: np.ndarray
    # (n_nodes,), int64: children, as numbers of nodes in these arrays; `NONE` where there is none
    left: np.ndarray
    right: np.ndarray  # (n_nodes,), int64
    root: np.ndarray  # (n_trees,), int64: the rule of each tree's root symbol


class Parses(NamedTuple):
    """Binarised trees that were found: nodes of a tree in pre-order, so its root is the first."""

    # (n_sentences + 1,), int64: where the nodes of each sentence begin; none for a sentence without
    # a tree
    starts: np.ndarray
    # (n_nodes,), int64: symbols, without annotation; above each word at least its tag
    symbol: np.ndarray
    # (n_nodes,), int64: each node covers the words begin, ..., end - 1 of its sentence
    begin: np.ndarray
    end: np.ndarray  # (n_nodes,), int64


class BinaryRulePairs(NamedTuple):
    """Binary rules, by the pairs of their parts, in order of (left, right, parent)."""

    first: np.ndarray  # (n_symbols + 1,), int64: where the pairs of each left part begin
    left: np.ndarray  # (n_pairs,), int64
    right: np.ndarray  # (n_pairs,), int64
    rule_first: np.ndarray  # (n_pairs + 1,), int64: where the rules of each pair begin
    parent: np.ndarray  # (n_binary,), int64
    cell: np.ndarray  # (n_binary,), int64: where the block of each rule begins


class AnnotatedUnaryRules(NamedTuple):
    """Unary rules."""

    parent: np.ndarray  # (n_unary,), int64
    child: np.ndarray  # (n_unary,), int64
    cell: np.ndarray  # (n_unary,), int64: where the block of each rule begins


class TagWordRules(NamedTuple):
    """Rules tag -> word, by words."""

    first: np.ndarray  # (n_words + 1,), int64: where the rules of each word begin
    tag: np.ndarray  # (n_rules,), int64
    cell: np.ndarray  # (n_rules,), int64: where the block of each rule begins


class RootRules(NamedTuple):
    """Root rules."""

    symbol: np.ndarray  # (n_roots,), int64
    cell: np.ndarray  # (n_roots,), int64: where the block of each rule begins


class AnnotatedGrammar(NamedTuple):
    """Rules and their weights."""

    n_subtypes: np.ndarray  # (n_symbols,), int64
    pairs: BinaryRulePairs
    unary: AnnotatedUnaryRules
    words: TagWordRules
    roots: RootRules
    weight: np.ndarray  # (n_cells,)


def rules_of(
    n_subtypes: np.ndarray, roots: list[Any], binary: list[Any], unary: list[Any], words: list[Any]
) -> AnnotatedRules:
    """Lay out the blocks of roots, (parent, left, right), (parent, child) and (tag, word)."""
    n_subtypes = np.asarray(n_subtypes, np.int64)
    rows = [(NONE, symbol, NONE) for symbol in roots]
    rows += binary
    rows += [(*pair, NONE) for pair in (*unary, *words)]
    parent, left, right = np.array(rows, np.int64).reshape(-1, 3).T.copy()
    begin = np.cumsum([0, len(roots), len(binary), len(unary), len(words)])
    is_word = np.arange(len(parent)) >= begin[3]
    sizes = np.where(parent == NONE, 1, n_subtypes[parent])
    sizes *= np.where(is_word, 1, n_subtypes[np.where(is_word, 0, left)])
    sizes *= np.where(right == NONE, 1, n_subtypes[right])
    first = np.concatenate([[0], np.cumsum(sizes)])
    return AnnotatedRules(n_subtypes, parent, left, right, first, begin)


def rows_of(rules: AnnotatedRules) -> np.ndarray:
    """The annotated left-hand side of each cell, whose cells have weights that sum to 1.

    Subtype x of symbol A has the number of all subtypes of the symbols before A, plus x; the root
    has the number after all.
    """
    before = np.concatenate([[0], np.cumsum(rules.n_subtypes)])
    sizes = np.diff(rules.first)
    is_root = rules.parent == NONE
    n_parent = np.where(is_root, 1, rules.n_subtypes[rules.parent])
    row = np.where(is_root, before[-1], before[rules.parent])
    within = np.arange(rules.first[-1]) - np.repeat(rules.first[:-1], sizes)
    return np.repeat(row, sizes) + within // np.repeat(sizes // n_parent, sizes)


def grammar_of(rules: AnnotatedRules, weights: np.ndarray) -> AnnotatedGrammar:
    """Arrange rules and the weights of their cells for the parser."""
    begin, symbols = rules.begin, np.arange(len(rules.n_subtypes) + 1)
    binary = np.arange(begin[1], begin[2])
    parent, left, right = (x[binary] for x in (rules.parent, rules.left, rules.right))
    order = np.lexsort((parent, right, left))
    parent, left, right = parent[order], left[order], right[order]
    is_new = np.ones(len(order), bool)
    is_new[1:] = (np.diff(left) != 0) | (np.diff(right) != 0)
    pairs = BinaryRulePairs(
        np.searchsorted(left[is_new], symbols).astype(np.int64),
        left[is_new].astype(np.int64),
        right[is_new].astype(np.int64),
        np.append(np.flatnonzero(is_new), len(order)).astype(np.int64),
        parent.astype(np.int64),
        rules.first[binary][order],
    )
    unary, words, roots = slice(begin[2], begin[3]), slice(begin[3], begin[4]), slice(begin[1])
    by_word = np.argsort(rules.left[words], kind="stable")
    word = rules.left[words][by_word]
    first = np.searchsorted(word, np.arange(word.max(initial=-1) + 2)).astype(np.int64)
    return AnnotatedGrammar(
        rules.n_subtypes,
        pairs,
        AnnotatedUnaryRules(
            rules.parent[unary].copy(), rules.left[unary].copy(), rules.first[unary].copy()
        ),
        TagWordRules(first, rules.parent[words][by_word], rules.first[words][by_word]),
        RootRules(rules.left[roots].copy(), rules.first[roots].copy()),
        np.ascontiguousarray(weights, np.float64),
    )
