"""Pair marginals p(z_t-1, z_t | x) of a chain, one step at a time, and their sums.

Lattice, local layout and the messages in `work` are those of
`sklearn_cvb.kernels.chain.forward_backward`.
"""

import math

import numpy as np

from sklearn_cvb.kernels.jit import jit_inline, jit_token


@jit_inline
def fill_block_from_logs(log_transition, lattice, t, work, before, position, block):
    """Pair marginals p(z_t-1, z_t | x) of one step, row by row in `block`.

    `before` and `position` are where the two tokens begin locally; `work` comes from
    `sklearn_cvb.kernels.chain.log_space.forward_backward_log`.
    """
    left, n_left = lattice.first[t - 1], lattice.count[t - 1]
    right, n_right = lattice.first[t], lattice.count[t]
    for i in range(n_left):
        row = lattice.state[left + i]
        weight = work.forward[before + i]
        for j in range(n_right):
            value = log_transition[row, lattice.state[right + j]]
            block[i * n_right + j] = math.exp(weight + value + work.emission[position + j])


@jit_token
def _add_scaled(row, weight, values, at):
    """row += weight * values[at:]: one row at a time is a vector loop, more may overlap."""
    for j in range(row.size):
        row[j] += weight * values[np.uint64(at + j)]


@jit_inline
def add_outer(lattice, t, work, before, position, total):
    """total[i, j] += forward_t-1(i) g_t(j): pair marginals without their transition factor."""
    left, n_left = np.int64(lattice.first[t - 1]), np.int64(lattice.count[t - 1])
    right, n_right = np.int64(lattice.first[t]), np.int64(lattice.count[t])
    if n_left == total.shape[0] and n_right < n_left:
        # All states in their order on the left: whole columns of the table.
        for j in range(n_right):
            to = lattice.state[np.uint64(right + j)]
            weight = work.emission[np.uint64(position + j)]
            for i in range(n_left):
                total[np.uint64(i), to] += work.forward[np.uint64(before + i)] * weight
    else:
        for i in range(n_left):
            row = total[lattice.state[np.uint64(left + i)]]
            weight = work.forward[np.uint64(before + i)]
            if n_right == row.size:
                _add_scaled(row, weight, work.emission, position)
            else:
                for j in range(n_right):
                    to = lattice.state[np.uint64(right + j)]
                    row[to] += weight * work.emission[np.uint64(position + j)]


@jit_inline
def add_block(lattice, t, block, counts):
    """Add the pair marginals of one step to transition counts."""
    left, n_left = lattice.first[t - 1], lattice.count[t - 1]
    right, n_right = lattice.first[t], lattice.count[t]
    for i in range(n_left):
        row = lattice.state[left + i]
        for j in range(n_right):
            counts[row, lattice.state[right + j]] += block[i * n_right + j]
