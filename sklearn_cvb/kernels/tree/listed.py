"""A grammar and its sentences in lists: each kind of rule with its weights and counts beside it."""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.tree.arrays import Brackets, Lexicon, Rules
from sklearn_cvb.kernels.tree.unary_rules import UnaryRules, unary_rules_of


class BinaryRules(NamedTuple):
    """Rules parent -> left right, see `Rules` for their order.

    Attributes
    ----------
    start : int
        The symbol that derives whole sentences.
    parent, left, right, by_parent : ndarray of shape (n_binary,), int32
    left_first, parent_first : ndarray of shape (n_symbols + 1,), int64
    cell : ndarray of shape (n_binary,), int64
        `Rules.binary`.
    weight, count : ndarray of shape (n_binary,)
        Weights (or their logs, where a kernel says so), and expected counts, which kernels add to.
    """

    start: int
    parent: np.ndarray
    left: np.ndarray
    right: np.ndarray
    by_parent: np.ndarray
    left_first: np.ndarray
    parent_first: np.ndarray
    cell: np.ndarray
    weight: np.ndarray
    count: np.ndarray


class Terminals(NamedTuple):
    """Sentences as occurrences of terminals: the fields of `Lexicon`.

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


class Listed(NamedTuple):
    """All that one sentence after the other is inferred from, see `listed_of`."""

    binary: BinaryRules
    unary: UnaryRules | None
    terminals: Terminals
    brackets: Brackets


def listed_of(rules: Rules, lexicon: Lexicon, brackets: Brackets) -> Listed:
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
    return Listed(binary, unary_rules_of(rules), terminals, brackets)
