"""Pair marginals p(z_t-1, z_t | x) of a chain, one step at a time, and their sums.

Lattice, local layout and the messages in `work` are those of
`sklearn_cvb.kernels.chain.forward_backward`.
"""

import math

import numpy as np

from sklearn_cvb.kernels.jit import jit_inline


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


@jit_inline
def _add_open(work, before, position, n_rows, total):
    """The first rows of `add_outer` for two tokens that may take every state, four at a time."""
    n = total.shape[0]
    for i in range(0, n_rows, 4):
        here = np.uint64(before + i)
        w0, w1 = work.forward[here], work.forward[here + np.uint64(1)]
        w2, w3 = work.forward[here + np.uint64(2)], work.forward[here + np.uint64(3)]
        r0, r1, r2, r3 = total[i], total[i + 1], total[i + 2], total[i + 3]
        for j in range(n):
            value = work.emission[np.uint64(position + j)]
            r0[np.uint64(j)] += w0 * value
            r1[np.uint64(j)] += w1 * value
            r2[np.uint64(j)] += w2 * value
            r3[np.uint64(j)] += w3 * value


@jit_inline
def add_outer(lattice, t, work, before, position, total):
    """total[i, j] += forward_t-1(i) g_t(j): pair marginals without their transition factor."""
    left, n_left = lattice.first[t - 1], lattice.count[t - 1]
    right, n_right = lattice.first[t], lattice.count[t]
    if n_right == total.shape[0]:
        done = 0
        if n_left == n_right:
            done = n_left - n_left % 4
            _add_open(work, before, position, done, total)
        for i in range(done, n_left):
            weight = work.forward[np.uint64(before + i)]
            row = total[lattice.state[np.uint64(left + i)]]
            for j in range(n_right):
                row[np.uint64(j)] += weight * work.emission[np.uint64(position + j)]
    else:
        for i in range(n_left):
            row = total[lattice.state[np.uint64(left + i)]]
            weight = work.forward[np.uint64(before + i)]
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
