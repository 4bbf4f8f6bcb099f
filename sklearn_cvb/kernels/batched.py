"""Forward-backward on many sequences at a time, for chains whose states are all allowed.

Sequences of similar length go side by side, time-major: one step of all of them is one matrix
product. Same quantities as `sklearn_cvb.kernels.chain`, in probability space.
"""

import math

import numpy as np

from sklearn_cvb.kernels.chain import _LARGEST_MESSAGE, _SMALLEST_SCALE
from sklearn_cvb.kernels.jit import jit_allocating, jit_token_reduction

# Sequences side by side: enough for matrix products, few enough for the cache.
SIDE_BY_SIDE = 32


@jit_token_reduction
def _weigh(row, weights, cell, kept):
    """row *= emission weights (kept in `kept`), then to sum 1; returns the sum."""
    total = 0.0
    n = row.size
    if cell >= 0:
        for k in range(n):
            kept[k] = weights[cell + k]
            row[k] *= weights[cell + k]
            total += row[k]
    else:
        for k in range(n):
            kept[k] = 1.0
            total += row[k]
    inverse = 1.0 / total
    for k in range(n):
        row[k] *= inverse
    return total


@jit_token_reduction
def _look_back(message, forward, g, counts, cell, inverse):
    """Add the posterior of one token to `counts` and fill g; returns the message's sum."""
    total = 0.0
    for k in range(message.size):
        total += message[k]
        if cell >= 0:
            counts[cell + k] += forward[k] * message[k]
        g[k] *= message[k] * inverse
    return total


@jit_allocating
def expected_counts_dense(weights, lattice, starts, order, counts):
    """E-step over sequences whose tokens may take every state.

    `order` lists the sequences by falling length. Returns the total log Z of all sequences; NaN
    where one leaves the range of float64 (then the counts are incomplete: use
    `sklearn_cvb.kernels.chain.expected_counts`).
    """
    n_states = weights.start.size
    longest = starts[order[0] + 1] - starts[order[0]]
    side = min(SIDE_BY_SIDE, order.size)
    forward = np.empty((longest, side, n_states))
    g = np.empty((longest, side, n_states))
    scale = np.empty((longest, side))
    message = np.empty((side, n_states))
    backward = np.ascontiguousarray(weights.transition.T)
    outer = np.zeros((n_states, n_states))
    product = np.empty((n_states, n_states))
    total = 0.0
    for chunk in range(0, order.size, side):
        members = order[chunk : chunk + side]
        length = starts[members[0] + 1] - starts[members[0]]
        total += _forward(weights, lattice, starts, members, length, forward, g, scale)
        if math.isnan(total) or not _backward(
            backward, lattice, starts, members, length, forward, g, scale, message, counts
        ):
            return math.nan
        if length > 1:
            rows = (length - 1) * side
            left = forward[: length - 1].reshape(rows, n_states)
            np.dot(left.T, g[1:length].reshape(rows, n_states), product)
            outer += product
    for k in range(n_states):
        for j in range(n_states):
            counts.transition[k, j] += outer[k, j] * weights.transition[k, j]
    return total


@jit_allocating
def _forward(weights, lattice, starts, members, length, forward, g, scale):
    """Scaled forward messages of sequences side by side; g receives their emission weights.

    Entries of sequences that are over are 0. Returns the sum of log p(x), or NaN.
    """
    alive = members.size
    total = 0.0
    for t in range(length):
        while starts[members[alive - 1]] + t >= starts[members[alive - 1] + 1]:
            alive -= 1
        if t == 0:
            forward[0, :alive] = weights.start
        else:
            np.dot(forward[t - 1, :alive], weights.transition, forward[t, :alive])
        product = 1.0
        for i in range(alive):
            cell = lattice.cell[lattice.first[starts[members[i]] + t]]
            scale[t, i] = _weigh(forward[t, i], weights.emission, cell, g[t, i])
            if not (_SMALLEST_SCALE < scale[t, i] < _LARGEST_MESSAGE):
                return math.nan
            product *= scale[t, i]
            if not (1e-150 < product < 1e150) or i == alive - 1:
                total += math.log(product)
                product = 1.0
        forward[t, alive:] = 0.0
        g[t, alive:] = 0.0
    return total


@jit_allocating
def _backward(backward, lattice, starts, members, length, forward, g, scale, message, counts):
    """Backward messages of sequences side by side: adds start and emission counts, fills g.

    `backward` is the transposed transition table. Returns False where float64 may lose mass.
    """
    alive = 0
    for t in range(length - 1, -1, -1):
        if alive:
            np.dot(g[t + 1, :alive], backward, message[:alive])
        while alive < members.size and starts[members[alive]] + t < starts[members[alive] + 1]:
            message[alive] = 1.0
            alive += 1
        for i in range(alive):
            cell = lattice.cell[lattice.first[starts[members[i]] + t]]
            largest = _look_back(
                message[i], forward[t, i], g[t, i], counts.emission, cell, 1.0 / scale[t, i]
            )
            if not (largest < _LARGEST_MESSAGE):
                return False
            if t == 0:
                for k in range(counts.start.size):
                    counts.start[k] += forward[0, i, k] * message[i, k]
    return True
