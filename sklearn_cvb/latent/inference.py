"""Sweeps over all observed trees: they drive the kernels."""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.corpus import Corpus
from sklearn_cvb.kernels.latent.arrays import Trees
from sklearn_cvb.kernels.latent.training import (
    EXPECT,
    KEEP,
    SCORE,
    SWEEP,
    WEIGH,
    Shares,
    Tally,
    infer,
    shares_for,
    work_for,
)
from sklearn_cvb.latent.binarise import Treebank
from sklearn_cvb.latent.lost import count_lost
from sklearn_cvb.latent.parameters import Layout, Weights

# From so many numbers on shares are kept with half the digits.
_MANY = 40_000_000


class Problem(NamedTuple):
    """What an algorithm learns from.

    Attributes
    ----------
    corpus : Corpus
    treebank : Treebank
    """

    corpus: Corpus
    treebank: Treebank

    @property
    def trees(self) -> Trees:
        """The observed trees."""
        return self.treebank.trees


def frozen_tally(weights: Weights, layout: Layout) -> Tally:
    """A tally without prior whose quotients are the weights."""
    n_rows = len(layout.sizes)
    return Tally(weights.cells, np.ones(n_rows), 0.0, np.zeros(n_rows), weights.log_scale)


def tally_of(counts: np.ndarray, alpha: float, layout: Layout) -> Tally:
    """Counts and prior as a sweep changes them; the counts given stay whole."""
    prior_totals = alpha * layout.sizes
    log_scale = np.zeros(len(layout.blocks.first))
    return Tally(counts.copy(), layout.totals(counts), float(alpha), prior_totals, log_scale)


def _inferred(
    trees: Trees, layout: Layout, tally: Tally, shares: Shares, update: int
) -> tuple[np.ndarray, np.ndarray]:
    """Logs of the weights of all trees, and sums; what is done is said in the kernel."""
    work = work_for(trees, layout.rules, adds=update == EXPECT)
    log_z, i = np.full(len(trees.root), np.nan), np.int64(0)
    while True:
        i = infer(trees, layout.blocks, tally, shares, work, update, i, log_z)
        if i == len(log_z):
            return log_z, work.sums
        log_z[i] = count_lost(trees, layout.blocks, tally, shares, work.sums, update, i)


def marginals(
    weights: Weights, layout: Layout, trees: Trees
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inside and outside weights of all nodes; their products are posteriors of subtypes.

    Parameters
    ----------
    weights : Weights
    layout : Layout
    trees : Trees

    Returns
    -------
    inner, outer : ndarray of shape (n_nodes, n_most)
        Of no use in lost trees.
    log_z : ndarray of shape (n_trees,)
        Logs of the weights of the trees, -inf for lost ones.
    """
    tally = frozen_tally(weights, layout)
    work = work_for(trees, layout.rules, kept=True, adds=True)
    log_z, i = np.full(len(trees.root), np.nan), np.int64(0)
    shares = shares_for(trees, layout.blocks, False)
    while i < len(log_z):
        i = infer(trees, layout.blocks, tally, shares, work, EXPECT, i, log_z)
        if i < len(log_z):
            log_z[i] = -np.inf
    return work.inner[:-1, :-1], work.outer[:-1, :-1], log_z


def keeps_half(trees: Trees, layout: Layout) -> bool:
    """Whether the shares of all trees are so many that float32 must do."""
    size = layout.blocks.nx * layout.blocks.ny * layout.blocks.nz
    return bool(size[trees.rule].sum() > _MANY)


def expectation(
    weights: Weights, layout: Layout, trees: Trees, keeps_shares: bool = False
) -> tuple[np.ndarray, np.ndarray, Shares]:
    """Expected counts of all trees under given weights.

    Parameters
    ----------
    weights : Weights
    layout : Layout
    trees : Trees
    keeps_shares : bool, default=False
        Whether what each tree adds is wanted.

    Returns
    -------
    counts : ndarray of shape (n_cells,)
    log_z : ndarray of shape (n_trees,)
        Logs of the weights of the trees, -inf where they have none.
    shares : Shares
    """
    dtype = np.float32 if keeps_shares and keeps_half(trees, layout) else np.float64
    shares = shares_for(trees, layout.blocks, keeps_shares, dtype)
    update, tally = KEEP if keeps_shares else EXPECT, frozen_tally(weights, layout)
    log_z, sums = _inferred(trees, layout, tally, shares, update)
    if keeps_shares:
        sums = sum_of(shares, layout, trees)
    return sums, log_z, shares


def log_likelihoods(weights: Weights, layout: Layout, trees: Trees) -> np.ndarray:
    """Log of the weight of each tree, summed over annotations."""
    tally, shares = frozen_tally(weights, layout), shares_for(trees, layout.blocks, False)
    return _inferred(trees, layout, tally, shares, WEIGH)[0]


def leave_out_sweep(
    trees: Trees, layout: Layout, tally: Tally, shares: Shares, frozen: bool
) -> tuple[Shares, np.ndarray]:
    """Infer every tree from the counts of all others.

    Parameters
    ----------
    trees : Trees
    layout : Layout
    tally : Tally
        Counts of all trees; changed in place, unless frozen.
    shares : Shares
        What the trees add to it; stays whole.
    frozen : bool
        Whether the counts keep these shares; if not, each is replaced at once.

    Returns
    -------
    shares : Shares
        What the trees add now.
    log_z : ndarray of shape (n_trees,)
    """
    if not frozen:
        shares = shares._replace(count=shares.count.copy())
    update = SCORE if frozen else SWEEP
    return shares, _inferred(trees, layout, tally, shares, update)[0]


def sum_of(shares: Shares, layout: Layout, trees: Trees) -> np.ndarray:
    """Counts of all trees from what each adds, summed anew: updates leave rounding errors."""
    n_cells, n_rows = int(layout.rules.first[-1]), len(layout.sizes)
    log_scale = np.zeros(len(layout.blocks.first))
    tally = Tally(np.zeros(n_cells), np.zeros(n_rows), 0.0, np.zeros(n_rows), log_scale)
    # No tree is to be inferred, so that shares are added, and that is all.
    done, work = np.zeros(len(trees.root)), work_for(trees, layout.rules)
    infer(trees, layout.blocks, tally, shares, work, SCORE, np.int64(0), done)
    return tally.cells
