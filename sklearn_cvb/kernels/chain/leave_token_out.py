"""Leave one token out: the first collapsed algorithm of Wang and Blunsom (2013), figure 3."""

import math

from sklearn_cvb.kernels.jit import jit, jit_token, jit_token_reduction


@jit_token
def scatter(lattice, t, posterior, position, target):
    """Spread the posterior of token t over all states."""
    base = lattice.first[t]
    for j in range(lattice.count[t]):
        target[lattice.state[base + j]] = posterior[position + j]


@jit_token
def clear(lattice, t, target):
    """Undo `scatter`."""
    base = lattice.first[t]
    for j in range(lattice.count[t]):
        target[lattice.state[base + j]] = 0.0


@jit_token
def _dot(lattice, t, posterior, position, other):
    """Inner product of the posterior of token t with a spread one."""
    base = lattice.first[t]
    total = 0.0
    for j in range(lattice.count[t]):
        total += posterior[position + j] * other[lattice.state[base + j]]
    return total


@jit_token
def _incoming(tables, prior, lattice, t, posterior, at_left, near, result, mass):
    """E[C^-t(z_t-1, k)] + prior into `result` (eq. 20); returns its total over all k.

    `near` holds the spread posteriors of tokens t-2 .. t+2; `mass` is a buffer.
    """
    far_left, before, here, after, _ = near
    base, n = lattice.first[t], lattice.count[t]
    left, n_left = lattice.first[t - 1], lattice.count[t - 1]
    own = _dot(lattice, t - 1, posterior, at_left, before)
    shared = _dot(lattice, t - 1, posterior, at_left, here)
    earlier = _dot(lattice, t - 1, posterior, at_left, far_left)
    total = 0.0
    for j in range(n):
        result[j] = 0.0
        mass[j] = 0.0
    for i in range(n_left):
        row = lattice.state[left + i]
        weight = posterior[at_left + i]
        total += weight * (tables.out[row] + prior.out[row])
        if n == result.size:
            _add_rows(tables.transition[row], prior.transition[row], weight, result, mass)
            continue
        for j in range(n):
            k = lattice.state[base + j]
            result[j] += weight * tables.transition[row, k]
            mass[j] += weight * prior.transition[row, k]
    for j in range(n):
        k = lattice.state[base + j]
        count = result[j] - (here[k] * own + after[k] * shared + before[k] * earlier)
        result[j] = max(count + far_left[k] * before[k], 0.0) + mass[j]
    return total - own - shared


@jit_token
def _add_rows(counts, prior, weight, result, mass):
    """Add a whole row of counts and of prior, times `weight`."""
    for j in range(result.size):
        result[j] += weight * counts[j]
        mass[j] += weight * prior[j]


@jit_token
def _outgoing(tables, prior, lattice, t, posterior, at_right, near, result):
    """Multiply `result` by the third factor of figure 3, transitions from k to z_t+1."""
    _, before, here, after, far_right = near
    base, n = lattice.first[t], lattice.count[t]
    right, n_right = lattice.first[t + 1], lattice.count[t + 1]
    own = _dot(lattice, t + 1, posterior, at_right, after)
    shared = _dot(lattice, t + 1, posterior, at_right, here)
    later = _dot(lattice, t + 1, posterior, at_right, far_right)
    for j in range(n):
        k = lattice.state[base + j]
        if n_right == after.size:
            count = weighted_sum(tables.transition[k], after)
            mass = weighted_sum(prior.transition[k], after)
        else:
            count = 0.0
            mass = 0.0
            for i in range(n_right):
                weight = posterior[at_right + i]
                to = lattice.state[right + i]
                count += weight * tables.transition[k, to]
                mass += weight * prior.transition[k, to]
        count -= here[k] * own + before[k] * shared + after[k] * later
        count += after[k] * far_right[k]
        out = max(tables.out[k] - before[k] - here[k], 0.0) + prior.out[k] + before[k]
        result[j] *= (max(count, 0.0) + mass + before[k] * after[k]) / out


@jit_token_reduction
def weighted_sum(row, weights):
    """Inner product over all states."""
    total = 0.0
    for j in range(row.size):
        total += row[j] * weights[j]
    return total


@jit_token
def _emitting(tables, prior, lattice, t, here, result):
    """Multiply `result` by the first factor of figure 3, the emission."""
    base = lattice.first[t]
    for j in range(lattice.count[t]):
        cell = lattice.cell[base + j]
        if cell >= 0:
            k = lattice.state[base + j]
            count = max(tables.emission[cell] - here[k], 0.0) + prior.emission[cell]
            result[j] *= count / (max(tables.emit[k] - here[k], 0.0) + prior.emit[k])


@jit_token
def replace(tables, lattice, begin, end, t, posterior, position, change):
    """Update all counts around token t for a change of its posterior."""
    base, n = lattice.first[t], lattice.count[t]
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
        left, n_left = lattice.first[t - 1], lattice.count[t - 1]
        at_left = position - n_left
        for i in range(n_left):
            row = lattice.state[left + i]
            if n == change.size:
                add_scaled(change, 0, posterior[at_left + i], tables.transition[row])
                continue
            for j in range(n):
                k = lattice.state[base + j]
                tables.transition[row, k] += posterior[at_left + i] * change[j]
    if t < end - 1:
        right, n_right = lattice.first[t + 1], lattice.count[t + 1]
        for j in range(n):
            row = lattice.state[base + j]
            if n_right == change.size:
                add_scaled(posterior, position + n, change[j], tables.transition[row])
                continue
            for i in range(n_right):
                to = lattice.state[right + i]
                tables.transition[row, to] += change[j] * posterior[position + n + i]


@jit_token
def add_scaled(values, begin, weight, row):
    """row += weight * values[begin:], over all states."""
    for j in range(row.size):
        row[j] += weight * values[begin + j]


@jit
def sweep_tokens(tables, prior, lattice, starts, posterior, near, result, mass):
    """One sweep over all tokens, left to right, counts updated at once.

    `tables` are plain expected counts (no prior), changed in place like `posterior`; `prior` holds
    the prior cells and totals; `near` (5, K) zeros, `result` (K,) and `mass` (K,) are buffers.
    Returns the sum over tokens of the log of what a token's update sums to: how probable the other
    tokens make it and its successor (nats, a monitor).
    """
    rows = (near[0], near[1], near[2], near[3], near[4])
    total = 0.0
    position = 0
    for s in range(starts.size - 1):
        begin, end = starts[s], starts[s + 1]
        for t in range(begin, end):
            n = lattice.count[t]
            if n > 1:
                total += _update(
                    tables, prior, lattice, begin, end, t, posterior, position, rows, result, mass
                )
            position += n
    return total


@jit_token
def _update(tables, prior, lattice, begin, end, t, posterior, position, near, result, mass):
    """Recompute q(z_t) and the counts around it; returns the log of its normaliser."""
    n = lattice.count[t]
    low, high = max(begin, t - 2), min(end - 1, t + 2)
    at = position
    for u in range(low, t):
        at -= lattice.count[u]
    for u in range(low, high + 1):
        scatter(lattice, u, posterior, at, near[u - t + 2])
        at += lattice.count[u]
    if t == begin:
        norm = _starting(tables, prior, lattice, t, near[2], result)
    else:
        at_left = position - lattice.count[t - 1]
        norm = _incoming(tables, prior, lattice, t, posterior, at_left, near, result, mass)
        if t == end - 1:
            # Nothing leaves the last token: no transition out of it was there to take away.
            norm += _dot(lattice, t - 1, posterior, at_left, near[2])
    _emitting(tables, prior, lattice, t, near[2], result)
    if t < end - 1:
        _outgoing(tables, prior, lattice, t, posterior, position + n, near, result)
    for u in range(low, high + 1):
        clear(lattice, u, near[u - t + 2])
    total = 0.0
    for j in range(n):
        total += result[j]
    for j in range(n):
        result[j] = result[j] / total - posterior[position + j]
    replace(tables, lattice, begin, end, t, posterior, position, result)
    for j in range(n):
        posterior[position + j] += result[j]
    return math.log(total / norm)


@jit_token
def _starting(tables, prior, lattice, t, here, result):
    """The second factor of figure 3 at a first token, from the start row; returns its total."""
    base = lattice.first[t]
    for j in range(lattice.count[t]):
        k = lattice.state[base + j]
        result[j] = max(tables.start[k] - here[k], 0.0) + prior.start[k]
    total = -1.0
    for k in range(tables.start.size):
        total += tables.start[k] + prior.start[k]
    return total


@jit
def track_absence(lattice, starts, posterior, absence):
    """Products of 1 - q over tokens and of 1 - q q' over neighbours, into `absence` (ones)."""
    position = 0
    for s in range(starts.size - 1):
        for t in range(starts[s], starts[s + 1]):
            base = lattice.first[t]
            n = lattice.count[t]
            for j in range(n):
                state = lattice.state[base + j]
                miss = max(0.0, 1.0 - posterior[position + j])
                cell = lattice.cell[base + j]
                if cell >= 0:
                    absence.emission[cell] *= miss
                    absence.emit[state] *= miss
                if t == starts[s]:
                    absence.start[state] *= miss
                if t < starts[s + 1] - 1:
                    absence.out[state] *= miss
            if t > starts[s]:
                left, n_left = lattice.first[t - 1], lattice.count[t - 1]
                before = position - n_left
                for i in range(n_left):
                    row = lattice.state[left + i]
                    for j in range(n):
                        absence.transition[row, lattice.state[base + j]] *= max(
                            0.0, 1.0 - posterior[before + i] * posterior[position + j]
                        )
            position += n
