"""The sweep of the collapsed Gibbs sampler: figure 1 of Wang and Blunsom (2013).

A sampled path is kept as the slot of every token: its state is ``lattice.state[slot]``.
"""

import math

import numpy as np

from sklearn_cvb import dirichlet
from sklearn_cvb.kernels.jit import jit, jit_token


@jit
def count_slots(lattice, starts, slots, counts):
    """Add the counts of a sampled path."""
    for i in range(starts.size - 1):
        before = -1
        for t in range(starts[i], starts[i + 1]):
            state, cell = lattice.state[slots[t]], lattice.cell[slots[t]]
            if cell >= 0:
                counts.emission[cell] += 1.0
            if before < 0:
                counts.start[state] += 1.0
            else:
                counts.transition[before, state] += 1.0
            before = state


@jit
def add_frequencies(lattice, slots, frequency):
    """Count the sampled state of every token in its (token, state) entry."""
    position = 0
    for t in range(slots.size):
        frequency[position + slots[t] - lattice.first[t]] += 1.0
        position += lattice.count[t]


@jit
def slots_of(lattice, path, slots):
    """Slots of a path of states."""
    for t in range(path.size):
        slots[t] = lattice.first[t]
        while lattice.state[slots[t]] != path[t]:
            slots[t] += 1


@jit
def draw_slots(lattice, posterior, levels, slots):
    """Draw each token's state from its own posterior; `levels` are uniform numbers."""
    position = 0
    for t in range(slots.size):
        n = lattice.count[t]
        slots[t] = lattice.first[t] + _pick(posterior, position, n, levels[t])
        position += n


@jit_token
def _pick(weights, begin, n, level):
    """Index below n, with probability proportional to weights[begin + index]."""
    total = 0.0
    for j in range(n):
        total += weights[begin + j]
    rest = level * total
    picked = n - 1
    for j in range(n - 1):
        rest -= weights[begin + j]
        if rest < 0.0:
            picked = j
            break
    # Rounding may leave nothing: never pick a state without weight.
    while picked > 0 and weights[begin + picked] == 0.0:
        picked -= 1
    return picked


@jit_token
def _shift(tables, lattice, t, begin, end, slot, before, after, sign):
    """Add or take out token t: its emission and its two transitions."""
    state, cell = lattice.state[slot], lattice.cell[slot]
    if cell >= 0:
        tables.emission[cell] += sign
        tables.emit[state] += sign
    if t == begin:
        tables.start[state] += sign
    else:
        tables.transition[before, state] += sign
        tables.out[before] += sign
    if t < end - 1:
        tables.transition[state, after] += sign
        tables.out[state] += sign


@jit
def sweep_gibbs(tables, lattice, starts, slots, power, levels, chance):
    """Resample every ambiguous token, left to right, from figure 1's conditional to `power`.

    `tables` are actual counts plus prior, changed in place like `slots`. `levels` holds one
    uniform number per ambiguous token; `chance` (K,) is a buffer.
    """
    drawn = 0
    for i in range(starts.size - 1):
        begin, end = starts[i], starts[i + 1]
        for t in range(begin, end):
            n = lattice.count[t]
            if n == 1:
                continue
            base = lattice.first[t]
            before = lattice.state[slots[t - 1]] if t > begin else 0
            after = lattice.state[slots[t + 1]] if t < end - 1 else 0
            _shift(tables, lattice, t, begin, end, slots[t], before, after, -1.0)
            for j in range(n):
                k, cell = lattice.state[base + j], lattice.cell[base + j]
                weight = tables.start[k] if t == begin else tables.transition[before, k]
                divisor = 1.0
                if cell >= 0:
                    weight *= tables.emission[cell]
                    divisor = tables.emit[k]
                if t < end - 1:
                    stays = 1.0 if t > begin and before == k else 0.0
                    both = stays if after == k else 0.0
                    weight *= tables.transition[k, after] + both
                    divisor *= tables.out[k] + stays
                chance[j] = weight / divisor
            if power != 1.0:
                _temper(chance, n, power)
            slots[t] = base + _pick(chance, 0, n, levels[drawn])
            drawn += 1
            _shift(tables, lattice, t, begin, end, slots[t], before, after, 1.0)


@jit_token
def _temper(chance, n, power):
    """Raise weights to a power, relative to the largest."""
    largest = 0.0
    for j in range(n):
        largest = max(largest, chance[j])
    for j in range(n):
        if chance[j] < largest:
            chance[j] = math.exp(power * math.log(chance[j] / largest))
        else:
            chance[j] = 1.0


def log_joint(counts, prior, cells):
    """log p(x, z | alpha, beta) of actual counts through Gamma functions (nats)."""
    used = np.flatnonzero(counts.emission)
    moved = counts.transition > 0
    return (
        dirichlet.log_evidence(
            counts.start, prior.start, counts.start.sum(), np.asarray(prior.start_total)
        )
        + dirichlet.log_evidence(
            counts.transition[moved],
            prior.transition[moved],
            counts.transition.sum(axis=1),
            prior.transition_total,
        )
        + dirichlet.log_evidence(
            counts.emission[used],
            prior.emission[used],
            cells.row_totals(counts.emission),
            prior.emission_total,
        )
    )
