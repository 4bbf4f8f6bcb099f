"""Parameters of annotated rules as flat cells: a block of subtypes for each rule, a row that sums
to 1 for each annotated left-hand side. Counts, and weights from counts.
"""

from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.kernels.treebank.arrays import AnnotatedRules, rows_of, rules_of
from sklearn_cvb.kernels.treebank.training import RuleBlocks, blocks_of
from sklearn_cvb.learning.dirichlet import DirichletRows
from sklearn_cvb.learning.learned import Learned


class LatentPCFGCounts(NamedTuple):
    """Expected counts of the annotated rules of a treebank grammar.

    Attributes
    ----------
    cells : ndarray of shape (n_cells,)
        Of all annotated rules, in blocks: one for each of ``rules_``, in that order.
    first : ndarray of shape (n_rules + 1,)
        Where each block begins. Cell (x n(B) + y) n(C) + z of the block of A -> B C belongs to
        A[x] -> B[y] C[z], where n(B) is the number of subtypes of B.
    """

    cells: np.ndarray
    first: np.ndarray


class TreebankLayout(NamedTuple):
    """The cells of annotated rules, and the rows that sum to 1."""

    rules: AnnotatedRules
    blocks: RuleBlocks
    row: np.ndarray  # (n_cells,), the annotated left-hand side of each cell
    sizes: np.ndarray  # (n_rows,), how many cells each has

    def totals(self, cells: np.ndarray) -> np.ndarray:
        """Sums of rows."""
        return np.bincount(self.row, cells, len(self.sizes))

    def rows(self, counts: np.ndarray, alpha: float = 0.0) -> DirichletRows:
        """Cells as rows of probabilities."""
        totals = self.totals(counts), alpha * self.sizes
        return DirichletRows(counts, alpha, *totals, self.row, self.sizes)


class AnnotatedWeights(NamedTuple):
    """Weights of annotated rules, those of each rule divided by a number so that none is lost."""

    cells: np.ndarray
    log_scale: np.ndarray  # (n_rules,), logs of these numbers

    def unscaled(self, layout: TreebankLayout) -> np.ndarray:
        """The weights themselves; the smallest may be 0."""
        if not self.log_scale.any():
            return self.cells
        return self.cells * np.exp(np.repeat(self.log_scale, np.diff(layout.rules.first)))


def rule_lists_of(rules: AnnotatedRules) -> list[list[Any]]:
    """Roots, binary and unary rules and those of words, as `rules_of` takes them."""
    rows = np.column_stack([rules.parent, rules.left, rules.right])
    roots, binary, unary, words = np.split(rows, rules.begin[1:4])
    pairs = [list(map(tuple, part[:, :2].tolist())) for part in (unary, words)]
    return [roots[:, 1].tolist(), list(map(tuple, binary.tolist())), *pairs]


def layout_of(rules: AnnotatedRules) -> TreebankLayout:
    """The layout of rules: their blocks, and the row of each cell."""
    row = rows_of(rules)
    sizes = np.bincount(row, minlength=int(rules.n_subtypes.sum()) + 1).astype(np.float64)
    return TreebankLayout(rules, blocks_of(rules), row, sizes)


def unscaled_weights(cells: np.ndarray, layout: TreebankLayout) -> AnnotatedWeights:
    """Weights that are not divided by anything."""
    return AnnotatedWeights(cells, np.zeros(len(layout.blocks.first)))


def scaled_weights(logs: np.ndarray, layout: TreebankLayout) -> AnnotatedWeights:
    """The exponentials of logs, those of each rule divided by their largest."""
    first = layout.rules.first
    largest = np.maximum.reduceat(logs, first[:-1])
    return AnnotatedWeights(np.exp(logs - np.repeat(largest, np.diff(first))), largest)


# Weights that predictions are made under, whichever algorithm left them


def mean_weights(learned: Learned, smoothing: float) -> np.ndarray:
    """Posterior-mean weights, with a pseudo-count more."""
    alpha = learned.prior + float(smoothing)
    return learned.layout.rows(learned.counts.cells, alpha).mean(learned.fallback)


def predicting_weights(learned: Learned, smoothing: float) -> np.ndarray:
    """Weights of `predict`."""
    if not learned.averages:
        return mean_weights(learned, smoothing)
    alpha = learned.prior + float(smoothing)
    return learned.layout.rows(learned.counts.cells, alpha).exp_expected_log()


def with_any_word(learned: Learned, weights: np.ndarray) -> tuple[AnnotatedRules, np.ndarray]:
    """Rules and weights with those of one more word: that of no known class.

    A tag has it as often as it has rare words of all classes; without any, as it has any word.
    """
    rules, (codes, n_known) = learned.layout.rules, learned.words
    lists, n = rule_lists_of(rules), rules.n_subtypes
    begins = rules.first[rules.begin[3] : -1].tolist()
    any_rare = any(word >= n_known for _, word in lists[3])
    sums: dict[int, np.ndarray] = {}
    for (tag, word), begin in zip(lists[3], begins, strict=True):
        if word >= n_known or not any_rare:
            sums[tag] = sums.get(tag, 0.0) + weights[begin : begin + n[tag]]
    lists[3] = lists[3] + [(tag, len(codes)) for tag in sums]
    return rules_of(n, *lists), np.concatenate([weights, *sums.values()])
