"""What kernels of treebank grammars with latent annotations read and write, as arrays.

A symbol A has subtypes A[0], A[1], ...: one or more, each symbol as many as it needs. A rule of the
treebank stands for all ways to annotate its symbols: a block of cells. Matsuzaki et al. (2005).
"""

from typing import NamedTuple

import numpy as np

# No symbol, no node.
NONE = -1


class Rules(NamedTuple):
    """The rules of a binarised treebank; cells of annotated rules lie in blocks, rule by rule.

    First come the roots, then binary rules A -> B C, unary rules A -> B, and words A -> w.

    Attributes
    ----------
    n_subtypes : ndarray of shape (n_symbols,), int64
        Number of subtypes of each symbol.
    parent : ndarray of shape (n_rules,), int64
        Left-hand side; `NONE` for a root.
    left : ndarray of shape (n_rules,), int64
        The symbol of the root, the left or only child, or the word.
    right : ndarray of shape (n_rules,), int64
        The right child of a binary rule, else `NONE`.
    first : ndarray of shape (n_rules + 1,), int64
        Where the block of each rule begins. It has n(B) cells for a root B; n(A) n(B) n(C) for a
        binary rule, of which that of A[x] -> B[y] C[z] is number (x n(B) + y) n(C) + z;
        n(A) n(B) for a unary rule; n(A) for a word.
    begin : ndarray of shape (5,), int64
        The first rule of each of the four kinds, and the number of rules.
    """

    n_subtypes: np.ndarray
    parent: np.ndarray
    left: np.ndarray
    right: np.ndarray
    first: np.ndarray
    begin: np.ndarray


class Trees(NamedTuple):
    """Observed trees, without annotations: nodes of a tree in post-order, so its root is the last.

    Attributes
    ----------
    starts : ndarray of shape (n_trees + 1,), int64
        Where the nodes of each tree begin.
    rule : ndarray of shape (n_nodes,), int64
        The rule that expands the node: binary, unary or of a word.
    left, right : ndarray of shape (n_nodes,), int64
        Children, as numbers of nodes in these arrays; `NONE` where there is none.
    root : ndarray of shape (n_trees,), int64
        The rule of each tree's root symbol.
    """

    starts: np.ndarray
    rule: np.ndarray
    left: np.ndarray
    right: np.ndarray
    root: np.ndarray


class Parses(NamedTuple):
    """Binarised trees that were found: nodes of a tree in pre-order, so its root is the first.

    Attributes
    ----------
    starts : ndarray of shape (n_sentences + 1,), int64
        Where the nodes of each sentence begin; none for a sentence without a tree.
    symbol : ndarray of shape (n_nodes,), int64
        Symbols, without annotation; above each word at least its tag.
    begin, end : ndarray of shape (n_nodes,), int64
        Each node covers the words begin, ..., end - 1 of its sentence.
    """

    starts: np.ndarray
    symbol: np.ndarray
    begin: np.ndarray
    end: np.ndarray


def rules_of(n_subtypes: np.ndarray, roots: list, binary: list, unary: list, words: list) -> Rules:
    """Lay out the blocks of all rules.

    Parameters
    ----------
    n_subtypes : ndarray of shape (n_symbols,)
    roots : list of int
        Symbols.
    binary : list of tuple (parent, left, right)
    unary : list of tuple (parent, child)
    words : list of tuple (tag, word)

    Returns
    -------
    Rules
    """
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
    return Rules(n_subtypes, parent, left, right, first, begin)


def rows_of(rules: Rules) -> np.ndarray:
    """The annotated left-hand side of each cell, whose cells have weights that sum to 1.

    Parameters
    ----------
    rules : Rules

    Returns
    -------
    ndarray of shape (n_cells,), int64
        Subtype x of symbol A has the number of all subtypes of the symbols before A, plus x; the
        root has the number after all.
    """
    before = np.concatenate([[0], np.cumsum(rules.n_subtypes)])
    sizes = np.diff(rules.first)
    is_root = rules.parent == NONE
    n_parent = np.where(is_root, 1, rules.n_subtypes[rules.parent])
    row = np.where(is_root, before[-1], before[rules.parent])
    within = np.arange(rules.first[-1]) - np.repeat(rules.first[:-1], sizes)
    return np.repeat(row, sizes) + within // np.repeat(sizes // n_parent, sizes)
