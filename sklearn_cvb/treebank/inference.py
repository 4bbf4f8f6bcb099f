"""Inference over all observed trees: expectations, and sweeps that leave out a tree, or a node,
whose shares are then distributions over subtypes. A tally is counts and prior as a sweep changes
them.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from sklearn_cvb.kernels.treebank import training as kernels
from sklearn_cvb.kernels.treebank.arrays import NONE, ObservedTrees
from sklearn_cvb.kernels.treebank.tokens import NodeSubtypes, add_uses, sweep_nodes, write_shares
from sklearn_cvb.kernels.treebank.training import AnnotatedShares, AnnotatedTally, RuleBlocks
from sklearn_cvb.learning.threads import even_pieces
from sklearn_cvb.reading.corpus import Corpus
from sklearn_cvb.treebank.binarise import Treebank
from sklearn_cvb.treebank.parameters import AnnotatedWeights, TreebankLayout

# From so many numbers on shares are kept with half the digits.
_MANY = 40_000_000


class TreebankProblem(NamedTuple):
    """Sentences and their observed trees, binarised."""

    corpus: Corpus
    treebank: Treebank

    @property
    def trees(self) -> ObservedTrees:
        """The observed trees."""
        return self.treebank.trees

    @property
    def identity(self) -> tuple[Any, ...]:
        """What must be the same for a fit to go on: sentences and trees."""
        treebank = self.treebank
        return treebank.symbols, treebank[1:5], treebank.trees


def frozen_tally(weights: AnnotatedWeights, layout: TreebankLayout) -> AnnotatedTally:
    """A tally without prior whose quotients are the weights."""
    n_rows = len(layout.sizes)
    return AnnotatedTally(weights.cells, np.ones(n_rows), 0.0, np.zeros(n_rows), weights.log_scale)


def tally_of(counts: np.ndarray, alpha: float, layout: TreebankLayout) -> AnnotatedTally:
    """Counts and prior as a sweep changes them; the counts given stay whole."""
    prior_totals = alpha * layout.sizes
    log_scale = np.zeros(len(layout.blocks.first))
    return AnnotatedTally(
        counts.copy(), layout.totals(counts), float(alpha), prior_totals, log_scale
    )


def _infer_all(
    trees: ObservedTrees,
    layout: TreebankLayout,
    tally: AnnotatedTally,
    shares: AnnotatedShares,
    update: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Logs of the weights of all trees, and summed counts; `update` says what else is done."""
    work = kernels.workspace_for(trees, layout.rules, adds_counts=update == kernels.EXPECT)
    log_z, i = np.full(len(trees.root), np.nan), np.int64(0)
    while True:
        i = kernels.infer(trees, layout.blocks, tally, shares, work, update, i, log_z)
        if i == len(log_z):
            return log_z, work.sums
        log_z[i] = _infer_in_logs(trees, layout.blocks, tally, shares, work.sums, update, i)


def marginals(
    weights: AnnotatedWeights, layout: TreebankLayout, trees: ObservedTrees
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inside and outside weights of all nodes, whose products are posteriors; logs of trees.

    Those of lost trees are of no use, and their log is -inf.
    """
    tally = frozen_tally(weights, layout)
    work = kernels.workspace_for(trees, layout.rules, keeps_all=True, adds_counts=True)
    log_z, i = np.full(len(trees.root), np.nan), np.int64(0)
    shares = kernels.shares_for(trees, layout.blocks, False)
    while i < len(log_z):
        i = kernels.infer(trees, layout.blocks, tally, shares, work, kernels.EXPECT, i, log_z)
        if i < len(log_z):
            log_z[i] = -np.inf
    return work.inner[:-1, :-1], work.outer[:-1, :-1], log_z


def expectation(
    weights: AnnotatedWeights,
    layout: TreebankLayout,
    trees: ObservedTrees,
    keeps_shares: bool = False,
) -> tuple[np.ndarray, np.ndarray, AnnotatedShares]:
    """Expected counts of all trees, their log weights (-inf for none), and what each tree adds."""
    sizes = layout.blocks.nx * layout.blocks.ny * layout.blocks.nz
    is_large = keeps_shares and sizes[trees.rule].sum() > _MANY
    dtype = np.float32 if is_large else np.float64
    shares = kernels.shares_for(trees, layout.blocks, keeps_shares, dtype)
    update, tally = kernels.KEEP if keeps_shares else kernels.EXPECT, frozen_tally(weights, layout)
    log_z, sums = _infer_all(trees, layout, tally, shares, update)
    if keeps_shares:
        sums = sum_shares(shares, layout, trees)
    return sums, log_z, shares


def log_likelihoods(
    weights: AnnotatedWeights, layout: TreebankLayout, trees: ObservedTrees
) -> np.ndarray:
    """Log of the weight of each tree, summed over annotations."""
    tally, shares = frozen_tally(weights, layout), kernels.shares_for(trees, layout.blocks, False)
    return _infer_all(trees, layout, tally, shares, kernels.WEIGH)[0]


def leave_out_sweep(
    trees: ObservedTrees,
    layout: TreebankLayout,
    tally: AnnotatedTally,
    shares: AnnotatedShares,
    frozen: bool,
) -> tuple[AnnotatedShares, np.ndarray]:
    """Infer every tree from the counts of all others, which change at once unless frozen."""
    if not frozen:
        shares = shares._replace(count=shares.count.copy())
    update = kernels.SCORE if frozen else kernels.SWEEP
    return shares, _infer_all(trees, layout, tally, shares, update)[0]


def sum_shares(shares: AnnotatedShares, layout: TreebankLayout, trees: ObservedTrees) -> np.ndarray:
    """Counts of all trees from what each adds, summed anew: updates leave rounding errors."""
    tally = tally_of(np.zeros(len(layout.row)), 0.0, layout)
    # No tree is to be inferred, so that shares are added, and that is all.
    done, work = np.zeros(len(trees.root)), kernels.workspace_for(trees, layout.rules)
    kernels.infer(trees, layout.blocks, tally, shares, work, kernels.SCORE, np.int64(0), done)
    return tally.cells


# A tree whose weight float64 cannot hold, inferred with logs: seldom, and in plain Python


def _infer_in_logs(
    trees: ObservedTrees,
    blocks: RuleBlocks,
    tally: AnnotatedTally,
    shares: AnnotatedShares,
    sums: np.ndarray,
    update: int,
    i: int,
) -> float:
    """Log of a tree's weight, -inf for none; its expected counts go where `infer` puts them."""

    def logs_of(rule: int) -> np.ndarray:
        """The block of a rule."""
        nx, ny, nz = int(blocks.nx[rule]), int(blocks.ny[rule]), int(blocks.nz[rule])
        begin, row = blocks.first[rule], blocks.row[rule]
        cells = tally.cells[begin : begin + nx * ny * nz].reshape(nx, ny, nz) + tally.prior
        below = tally.totals[row : row + nx] + tally.prior_totals[row : row + nx]
        with np.errstate(divide="ignore"):
            return np.log(cells) - np.log(below)[:, None, None] + tally.log_scale[rule]

    first, none = int(trees.starts[i]), np.zeros(1)
    nodes = range(first, int(trees.starts[i + 1]))
    inner: dict[int, np.ndarray] = {-1: none}
    for node in nodes:
        joint = logs_of(trees.rule[node]) + inner[int(trees.left[node])][:, None]
        inner[node] = logsumexp(joint + inner[int(trees.right[node])], axis=(1, 2))
    root = logs_of(trees.root[i])[0, :, 0]
    log_z = float(logsumexp(root + inner[nodes[-1]]))
    if update > kernels.SWEEP:
        return log_z
    outer = {nodes[-1]: root - (log_z if np.isfinite(log_z) else 0.0)}
    counted = [(trees.root[i], shares.root, i, outer[nodes[-1]] + inner[nodes[-1]])]
    for node in reversed(nodes):
        left, right = int(trees.left[node]), int(trees.right[node])
        joint = logs_of(trees.rule[node]) + outer[node][:, None, None]
        outer[left] = logsumexp(joint + inner[right], axis=(0, 2))
        outer[right] = logsumexp(joint + inner[left][:, None], axis=(0, 1))
        joint = joint + inner[left][:, None] + inner[right]
        counted.append((trees.rule[node], shares.first, node, joint))
    for rule, firsts, at, joint in counted:
        count = np.exp(joint).ravel() if np.isfinite(log_z) else np.zeros(joint.size)
        if update == kernels.EXPECT:
            sums[blocks.first[rule] :][: len(count)] += count
        else:
            shares.count[firsts[at] :][: len(count)] = count
    return log_z


# A node at a time is left out: distributions of nodes over subtypes, their sweeps and their score


# Shares of so many nodes at a time are written to score trees.
_PIECE = 20_000


def parents_of(trees: ObservedTrees) -> np.ndarray:
    """The node above each, `NONE` for roots."""
    above = np.full(len(trees.rule), NONE, np.int64)
    for children in (trees.left, trees.right):
        nodes = np.flatnonzero(children >= 0)
        above[children[nodes]] = nodes
    return above


def first_node_posteriors(
    weights: AnnotatedWeights, layout: TreebankLayout, trees: ObservedTrees
) -> np.ndarray:
    """Posteriors of each node's subtypes under given weights; then the row of a child not there."""
    inner, outer, log_z = marginals(weights, layout, trees)
    q = np.zeros((len(inner) + 1, inner.shape[1]))
    q[:-1] = inner * outer
    n = layout.rules.n_subtypes[layout.rules.parent[trees.rule]]
    lost = np.repeat(~np.isfinite(log_z), np.diff(trees.starts))
    q[:-1][lost] = 1.0
    q[:-1][np.arange(q.shape[1]) >= n[:, None]] = 0.0
    q[:-1] /= q[:-1].sum(axis=1, keepdims=True)
    q[-1, 0] = 1.0
    return q


def counts_of_nodes(q: np.ndarray, layout: TreebankLayout, trees: ObservedTrees) -> np.ndarray:
    """Expected counts of all trees."""
    tally = tally_of(np.zeros(len(layout.row)), 0.0, layout)
    add_uses(trees, layout.blocks, tally, q)
    return tally.cells


def node_sweep(
    q: np.ndarray, layout: TreebankLayout, trees: ObservedTrees, tally: AnnotatedTally
) -> np.ndarray:
    """New distributions of all nodes; the tally, of their counts, is changed in place."""
    nodes = NodeSubtypes(q.copy(), parents_of(trees))
    sweep_nodes(trees, layout.blocks, tally, nodes, np.zeros((2, q.shape[1])))
    return nodes.q


def leave_one_out_scores(
    q: np.ndarray, layout: TreebankLayout, trees: ObservedTrees, tally: AnnotatedTally
) -> np.ndarray:
    """Logs of the weights of all trees, each under the counts of all others."""
    log_z = []
    for begin, end in even_pieces(trees.starts, _PIECE):
        first, last = trees.starts[begin], trees.starts[end]
        left, right = (
            np.where(part >= 0, part - first, NONE)
            for part in (trees.left[first:last], trees.right[first:last])
        )
        starts, rule = trees.starts[begin : end + 1] - first, trees.rule[first:last].copy()
        piece = ObservedTrees(starts, rule, left, right, trees.root[begin:end].copy())
        shares = kernels.shares_for(piece, layout.blocks, True)
        write_shares(piece, layout.blocks, shares, np.concatenate([q[first:last], q[-1:]]))
        log_z.append(leave_out_sweep(piece, layout, tally, shares, True)[1])
    return np.concatenate(log_z)
