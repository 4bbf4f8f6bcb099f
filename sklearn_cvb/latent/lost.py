"""A tree whose weight float64 cannot hold, inferred with logs: seldom, and in plain Python."""

import numpy as np
from scipy.special import logsumexp

from sklearn_cvb.kernels.latent.arrays import Trees
from sklearn_cvb.kernels.latent.training import EXPECT, SWEEP, Blocks, Shares, Tally


def count_lost(
    trees: Trees,
    blocks: Blocks,
    tally: Tally,
    shares: Shares,
    sums: np.ndarray,
    update: int,
    i: int,
) -> float:
    """Infer a tree; its expected counts go where `infer` puts them.

    Returns
    -------
    float
        Log of its weight; -inf where it has none: then it adds nothing.
    """

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
    if update > SWEEP:
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
        if update == EXPECT:
            sums[blocks.first[rule] :][: len(count)] += count
        else:
            shares.count[firsts[at] :][: len(count)] = count
    return log_z
