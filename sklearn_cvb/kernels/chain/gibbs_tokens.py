"""Draw the state of one token at a time given all others: figure 1 of Wang and Blunsom (2013).

A sampled path is kept as the slot of every token in the lattice: its state is
``lattice.state[slot]``, its emission cell ``lattice.cell[slot]``.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import few, jit, jit_inline

# What `Visits.border` is made of.
FIRST, LAST = 1, 2


class Path(NamedTuple):
    """A sampled path.

    Attributes
    ----------
    state : ndarray of shape (n_tokens,), uint32
        State of every token.
    slot : ndarray of shape (n_tokens,), int32
        Slot of every token in the lattice.
    """

    state: np.ndarray
    slot: np.ndarray


class Visits(NamedTuple):
    """Tokens that have a choice, in the order in which a sweep visits them.

    Attributes
    ----------
    token : ndarray of shape (n_visits,), int32
    border : ndarray of shape (n_visits,), int8
        1 for the first token of a sequence, 2 for the last, 3 for the only one, 0 for others.
    """

    token: np.ndarray
    border: np.ndarray


@jit_inline
def pick(weights, n, level):
    """Index below n, drawn with probability proportional to its weight; `level` is uniform."""
    total = 0.0
    for j in range(n):
        total += weights[j]
    bound = level * total
    picked, cumulative = np.uintp(0), 0.0
    for j in range(n - np.uintp(1)):
        cumulative += weights[j]
        picked += np.uintp(cumulative <= bound)
    # Rounding may leave nothing: never pick a state without weight.
    while picked > 0 and weights[picked] == 0.0:
        picked -= np.uintp(1)
    return picked


@jit_inline
def _race(weights, handicaps, begin, n, own):
    """Index below n of the largest weight times handicap; `own` where all of them are 0."""
    picked, highest, j = own, 0.0, np.uintp(0)
    while j < few(n):
        score = weights[j] * handicaps[begin + j]
        picked = j if score > highest else picked
        highest = score if score > highest else highest
        j += np.uintp(1)
    return picked


@jit_inline
def weigh(tally, k, cell, own, before, after, border):
    """Weight of state k in figure 1, from counts that still hold the token as `own`."""
    counted = 1.0 if k == own else 0.0
    first, last = border & FIRST, border & LAST
    if first:
        weight = tally.start[k] - counted
    else:
        # Both transitions of the token may be the same.
        twice = 1.0 if before == own and k == after and not last else 0.0
        weight = tally.transition[before, k] - counted - twice
    divisor = 1.0
    if cell >= 0:
        weight *= tally.emission[np.uintp(cell)] - counted
        divisor = tally.emit[k] - counted
    if not last:
        # The transition to k may itself be counted among those from k.
        both = 0.0
        if k == before and not first:
            both = (1.0 if after == k else 0.0) - (1.0 if after == own else 0.0)
        weight *= tally.transition[k, after] - counted + both
        divisor *= tally.out[k] - counted
    return weight / divisor


@jit_inline
def move(tally, cell, to_cell, own, to, before, after, border):
    """Count a token as state `to`, no longer as `own`."""
    if cell >= 0:
        tally.emission[np.uintp(cell)] -= 1.0
        tally.emission[np.uintp(to_cell)] += 1.0
        tally.emit[own] -= 1.0
        tally.emit[to] += 1.0
    if border & FIRST:
        tally.start[own] -= 1.0
        tally.start[to] += 1.0
    else:
        tally.transition[before, own] -= 1.0
        tally.transition[before, to] += 1.0
    if not border & LAST:
        tally.transition[own, after] -= 1.0
        tally.transition[to, after] += 1.0
        tally.out[own] -= 1.0
        tally.out[to] += 1.0


@jit
def draw_tokens(lattice, posterior, levels, slots):
    """Draw the slot of each token from its own posterior.

    Parameters
    ----------
    lattice : Lattice
    posterior : ndarray of shape (n_entries,), float64
    levels : ndarray of shape (n_tokens,), float64
        Uniform numbers.
    slots : ndarray of shape (n_tokens,), int32
        Receives the path.
    """
    position = np.int64(0)
    for t in range(slots.size):
        n = np.uintp(lattice.count[t])
        picked = pick(posterior[position : position + lattice.count[t]], n, levels[t])
        slots[t] = lattice.first[t] + picked
        position += lattice.count[t]


@jit
def resample_tokens(tally, lattice, visits, path, numbers, races, chance):
    """Draw the state of every visited token from figure 1's conditional, counts updated at once.

    Parameters
    ----------
    tally : Tally
        Actual counts plus prior; changed in place like `path`.
    lattice : Lattice
    visits : Visits
    path : Path
    numbers : ndarray, float64
        Where the states race, a handicap for every state of every visited token: the largest weight
        times handicap wins. Else a uniform number for every visited token.
    races : bool
    chance : ndarray of shape (n_states,), float64
        A buffer.
    """
    position = np.uintp(0)
    # Unsigned indices: numba need not look for negative ones.
    for visit in range(np.uintp(visits.token.size)):
        t, border = np.uintp(visits.token[visit]), visits.border[visit]
        n, base = np.uintp(lattice.count[t]), np.uintp(lattice.first[t])
        own, slot = np.uintp(path.state[t]), np.uintp(path.slot[t])
        before = np.uintp(0) if border & FIRST else np.uintp(path.state[t - np.uintp(1)])
        after = np.uintp(0) if border & LAST else np.uintp(path.state[t + np.uintp(1)])
        for j in range(n):
            k, cell = np.uintp(lattice.state[base + j]), lattice.cell[base + j]
            chance[j] = weigh(tally, k, cell, own, before, after, border)
        if races:
            picked = _race(chance, numbers, position, n, slot - base)
            position += n
        else:
            picked = pick(chance, n, numbers[position])
            position += np.uintp(1)
        # Most tokens keep their state, and then there is nothing to store.
        if base + picked != slot:
            to = np.uintp(lattice.state[base + picked])
            cell, to_cell = lattice.cell[slot], lattice.cell[base + picked]
            move(tally, cell, to_cell, own, to, before, after, border)
            path.slot[t], path.state[t] = base + picked, to
