"""CVB that leaves out a node at a time: its state, its sweeps and its score."""

import numpy as np

from sklearn_cvb.kernels.latent.arrays import NONE, Trees
from sklearn_cvb.kernels.latent.tokens import Nodes, add_uses, spread, sweep_nodes
from sklearn_cvb.kernels.latent.training import Tally, shares_for
from sklearn_cvb.learning.threads import even_pieces
from sklearn_cvb.treebank.inference import leave_out_sweep, marginals, tally_of
from sklearn_cvb.treebank.parameters import Layout, Weights

# Shares of so many nodes at a time are written to score trees.
_PIECE = 20_000


def nodes_above(trees: Trees) -> np.ndarray:
    """The node above each, `NONE` for roots."""
    above = np.full(len(trees.rule), NONE, np.int64)
    for children in (trees.left, trees.right):
        nodes = np.flatnonzero(children >= 0)
        above[children[nodes]] = nodes
    return above


def first_nodes(weights: Weights, layout: Layout, trees: Trees) -> np.ndarray:
    """Posteriors of each node's subtypes under given weights; then the row of a child not there.

    Returns
    -------
    ndarray of shape (n_nodes + 1, n_most)
    """
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


def counts_of(q: np.ndarray, layout: Layout, trees: Trees) -> np.ndarray:
    """Expected counts of all trees."""
    tally = tally_of(np.zeros(len(layout.row)), 0.0, layout)
    add_uses(trees, layout.blocks, tally, q)
    return tally.cells


def token_sweep(q: np.ndarray, layout: Layout, trees: Trees, tally: Tally) -> np.ndarray:
    """New distributions of all nodes; the tally, of their counts, is changed in place."""
    nodes = Nodes(q.copy(), nodes_above(trees))
    sweep_nodes(trees, layout.blocks, tally, nodes, np.zeros((2, q.shape[1])))
    return nodes.q


def score(q: np.ndarray, layout: Layout, trees: Trees, tally: Tally) -> np.ndarray:
    """Logs of the weights of all trees, each under the counts of all others."""
    found = []
    for begin, end in even_pieces(trees.starts, _PIECE):
        first, last = trees.starts[begin], trees.starts[end]
        left, right = (
            np.where(part >= 0, part - first, NONE)
            for part in (trees.left[first:last], trees.right[first:last])
        )
        starts, rule = trees.starts[begin : end + 1] - first, trees.rule[first:last].copy()
        piece = Trees(starts, rule, left, right, trees.root[begin:end].copy())
        shares = shares_for(piece, layout.blocks, True)
        spread(piece, layout.blocks, shares, np.concatenate([q[first:last], q[-1:]]))
        found.append(leave_out_sweep(piece, layout, tally, shares, True)[1])
    return np.concatenate(found)
