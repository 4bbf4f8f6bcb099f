"""A treebank grammar as the parser reads it: rules by their parts, and by words."""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.latent.arrays import Rules


class Pairs(NamedTuple):
    """Binary rules, by the pairs of their parts, in order of (left, right, parent).

    Attributes
    ----------
    first : ndarray of shape (n_symbols + 1,), int64
        Where the pairs of each left part begin.
    left, right : ndarray of shape (n_pairs,), int64
    rule_first : ndarray of shape (n_pairs + 1,), int64
        Where the rules of each pair begin.
    parent : ndarray of shape (n_binary,), int64
    cell : ndarray of shape (n_binary,), int64
        Where the block of each rule begins.
    """

    first: np.ndarray
    left: np.ndarray
    right: np.ndarray
    rule_first: np.ndarray
    parent: np.ndarray
    cell: np.ndarray


class Unary(NamedTuple):
    """Unary rules.

    Attributes
    ----------
    parent, child : ndarray of shape (n_unary,), int64
    cell : ndarray of shape (n_unary,), int64
        Where the block of each rule begins.
    """

    parent: np.ndarray
    child: np.ndarray
    cell: np.ndarray


class Lexicon(NamedTuple):
    """Rules tag -> word, by words.

    Attributes
    ----------
    first : ndarray of shape (n_words + 1,), int64
        Where the rules of each word begin.
    tag : ndarray of shape (n_rules,), int64
    cell : ndarray of shape (n_rules,), int64
        Where the block of each rule begins.
    """

    first: np.ndarray
    tag: np.ndarray
    cell: np.ndarray


class Roots(NamedTuple):
    """Root rules.

    Attributes
    ----------
    symbol : ndarray of shape (n_roots,), int64
    cell : ndarray of shape (n_roots,), int64
        Where the block of each rule begins.
    """

    symbol: np.ndarray
    cell: np.ndarray


class Grammar(NamedTuple):
    """Rules and their weights.

    Attributes
    ----------
    n_subtypes : ndarray of shape (n_symbols,), int64
    pairs : Pairs
    unary : Unary
    words : Lexicon
    roots : Roots
    weight : ndarray of shape (n_cells,)
    """

    n_subtypes: np.ndarray
    pairs: Pairs
    unary: Unary
    words: Lexicon
    roots: Roots
    weight: np.ndarray


def grammar_of(rules: Rules, weights: np.ndarray) -> Grammar:
    """Arrange rules for the parser.

    Parameters
    ----------
    rules : Rules
    weights : ndarray of shape (n_cells,)

    Returns
    -------
    Grammar
    """
    begin, symbols = rules.begin, np.arange(len(rules.n_subtypes) + 1)
    binary = np.arange(begin[1], begin[2])
    parent, left, right = (x[binary] for x in (rules.parent, rules.left, rules.right))
    order = np.lexsort((parent, right, left))
    parent, left, right = parent[order], left[order], right[order]
    is_new = np.ones(len(order), bool)
    is_new[1:] = (np.diff(left) != 0) | (np.diff(right) != 0)
    pairs = Pairs(
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
    return Grammar(
        rules.n_subtypes,
        pairs,
        Unary(rules.parent[unary].copy(), rules.left[unary].copy(), rules.first[unary].copy()),
        Lexicon(first, rules.parent[words][by_word], rules.first[words][by_word]),
        Roots(rules.left[roots].copy(), rules.first[roots].copy()),
        np.ascontiguousarray(weights, np.float64),
    )
