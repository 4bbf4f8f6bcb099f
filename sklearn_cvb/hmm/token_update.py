"""Leave one token out: the first collapsed algorithm of Wang and Blunsom (2013), figure 3."""

import math

import numpy as np

from sklearn_cvb.kernels.chain import states_of
from sklearn_cvb.kernels.jit import jit


@jit
def _scatter(states, posterior, position, target):
    for j in range(states.size):
        target[states[j]] = posterior[position + j]


@jit
def _clear(states, target):
    for j in range(states.size):
        target[states[j]] = 0.0


@jit
def _dot(states, posterior, position, other):
    total = 0.0
    for j in range(states.size):
        total += posterior[position + j] * other[states[j]]
    return total


@jit
def _incoming(tables, prior, states, left, q_left, at_left, near, result):
    """E[C^-t(z_t-1, k)] + prior (eq. 20); returns the log of its total over all k.

    `near` holds the dense posteriors of tokens t-2 .. t+2.
    """
    far_left, before, here, after, _ = near
    own = _dot(left, q_left, at_left, before)
    shared = _dot(left, q_left, at_left, here)
    earlier = _dot(left, q_left, at_left, far_left)
    for j in range(states.size):
        k = states[j]
        count = 0.0
        mass = 0.0
        for i in range(left.size):
            weight = q_left[at_left + i]
            count += weight * tables.transition[left[i], k]
            mass += weight * prior.transition[left[i], k]
        count -= here[k] * own + after[k] * shared + before[k] * earlier
        count += far_left[k] * before[k]
        result[j] = max(count, 0.0) + mass
    total = 0.0
    for i in range(left.size):
        total += q_left[at_left + i] * (tables.out[left[i]] + prior.out[left[i]])
    total -= own + shared
    return total


@jit
def _outgoing(tables, prior, states, right, q, at_right, near, result):
    """Multiply `result` by the third factor of figure 3, transitions from k to z_t+1."""
    _, before, here, after, far_right = near
    own = _dot(right, q, at_right, after)
    shared = _dot(right, q, at_right, here)
    later = _dot(right, q, at_right, far_right)
    for j in range(states.size):
        k = states[j]
        count = 0.0
        mass = 0.0
        for i in range(right.size):
            weight = q[at_right + i]
            count += weight * tables.transition[k, right[i]]
            mass += weight * prior.transition[k, right[i]]
        count -= here[k] * own + before[k] * shared + after[k] * later
        count += after[k] * far_right[k]
        out = max(tables.out[k] - before[k] - here[k], 0.0) + prior.out[k] + before[k]
        result[j] *= (max(count, 0.0) + mass + before[k] * after[k]) / out


@jit
def _emitting(tables, prior, lattice, t, here, result):
    """Multiply `result` by the first factor of figure 3, the emission."""
    base = lattice.first[t]
    for j in range(lattice.count[t]):
        cell = lattice.cell[base + j]
        if cell >= 0:
            k = lattice.state[base + j]
            count = max(tables.emission[cell] - here[k], 0.0) + prior.emission[cell]
            result[j] *= count / (max(tables.emit[k] - here[k], 0.0) + prior.emit[k])


@jit
def _replace(tables, lattice, begin, end, t, posterior, position, change):
    """Update all counts around token t for a change of its posterior."""
    base = lattice.first[t]
    n = lattice.count[t]
    for j in range(n):
        k = lattice.state[base + j]
        cell = lattice.cell[base + j]
        if cell >= 0:
            tables.emission[cell] += change[j]
            tables.emit[k] += change[j]
        if t == begin:
            tables.start[k] += change[j]
        if t < end - 1:
            tables.out[k] += change[j]
    if t > begin:
        left = states_of(lattice, t - 1)
        at_left = position - left.size
        for i in range(left.size):
            weight = posterior[at_left + i]
            for j in range(n):
                tables.transition[left[i], lattice.state[base + j]] += weight * change[j]
    if t < end - 1:
        right = states_of(lattice, t + 1)
        for j in range(n):
            row = tables.transition[lattice.state[base + j]]
            for i in range(right.size):
                row[right[i]] += change[j] * posterior[position + n + i]


@jit
def sweep_tokens(tables, prior, lattice, starts, posterior):
    """One sweep over all tokens, left to right, counts updated at once.

    `tables` are plain expected counts (no prior), changed in place like `posterior`; `prior` holds
    the prior cells and totals. Returns the sum over tokens of the log of what a token's update
    sums to: how probable the other tokens make it and its successor (nats, a monitor).
    """
    n_states = tables.start.size
    near = np.zeros((5, n_states))
    rows = (near[0], near[1], near[2], near[3], near[4])
    result = np.empty(n_states)
    total = 0.0
    position = 0
    for s in range(starts.size - 1):
        begin, end = starts[s], starts[s + 1]
        for t in range(begin, end):
            states = states_of(lattice, t)
            n = states.size
            if n > 1:
                total += _update(
                    tables, prior, lattice, begin, end, t, posterior, position, rows, result
                )
            position += n
    return total


@jit
def _update(tables, prior, lattice, begin, end, t, posterior, position, near, result):
    """Recompute q(z_t) and the counts around it; returns the log of its normaliser."""
    states = states_of(lattice, t)
    n = states.size
    at = position
    low = t
    while low > begin and low > t - 2:
        low -= 1
        at -= lattice.count[low]
    high = min(end - 1, t + 2)
    place = at
    for u in range(low, high + 1):
        _scatter(states_of(lattice, u), posterior, place, near[u - t + 2])
        place += lattice.count[u]
    here = near[2]
    if t == begin:
        norm = 0.0
        for j in range(n):
            k = states[j]
            result[j] = max(tables.start[k] - here[k], 0.0) + prior.start[k]
        for k in range(tables.start.size):
            norm += tables.start[k] + prior.start[k]
        norm -= 1.0
    else:
        left = states_of(lattice, t - 1)
        norm = _incoming(tables, prior, states, left, posterior, position - left.size, near, result)
        if t == end - 1:
            # Nothing leaves the last token: its transition out was not there to take away.
            norm += _dot(left, posterior, position - left.size, here)
    _emitting(tables, prior, lattice, t, here, result)
    if t < end - 1:
        right = states_of(lattice, t + 1)
        _outgoing(tables, prior, states, right, posterior, position + n, near, result)
    for u in range(low, high + 1):
        _clear(states_of(lattice, u), near[u - t + 2])
    total = 0.0
    for j in range(n):
        total += result[j]
    for j in range(n):
        result[j] = result[j] / total - posterior[position + j]
    _replace(tables, lattice, begin, end, t, posterior, position, result)
    for j in range(n):
        posterior[position + j] += result[j]
    return math.log(total / norm)


@jit
def track_absence(lattice, starts, posterior, absence):
    """Products of 1 - q over tokens and of 1 - q q' over neighbours, into `absence` (ones)."""
    position = 0
    for s in range(starts.size - 1):
        for t in range(starts[s], starts[s + 1]):
            base = lattice.first[t]
            right = states_of(lattice, t)
            for j in range(right.size):
                miss = max(0.0, 1.0 - posterior[position + j])
                cell = lattice.cell[base + j]
                if cell >= 0:
                    absence.emission[cell] *= miss
                    absence.emit[right[j]] *= miss
                if t == starts[s]:
                    absence.start[right[j]] *= miss
                if t < starts[s + 1] - 1:
                    absence.out[right[j]] *= miss
            if t > starts[s]:
                left = states_of(lattice, t - 1)
                before = position - left.size
                for i in range(left.size):
                    for j in range(right.size):
                        absence.transition[left[i], right[j]] *= max(
                            0.0, 1.0 - posterior[before + i] * posterior[position + j]
                        )
            position += right.size
