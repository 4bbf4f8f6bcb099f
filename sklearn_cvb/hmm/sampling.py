"""The sweep of the collapsed Gibbs sampler: figure 1 of Wang and Blunsom (2013).

A sampled path is kept as the slot of every token: its state is ``lattice.state[slot]``.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from sklearn_cvb import dirichlet
from sklearn_cvb.hmm.parameters import HMMCounts, empty_counts
from sklearn_cvb.kernels.jit import few, jit, jit_token

# Tokens that are grouped by their number of states: few enough to stay in the cache.
_CHUNK = 8192

# Random numbers drawn at a time.
_BLOCK = 1 << 18

# Above this temperature handicaps are made relative, lest they leave the range of float64.
_HOTTEST = 10.0

# Above this prior a count can no longer be read off the sum of both.
_LARGEST_PRIOR = 2.0**40

# From so many cells on, those with equal counts share the work.
_MANY = 1000


class Scan(NamedTuple):
    """The tokens that have a choice, in the order in which a sweep visits them.

    Within each chunk of neighbouring tokens those with two states come first, then those with
    three, and so on, each from left to right: the processor foresees loops of equal length, and
    seldom waits for the state of the token before. Any fixed order leaves the posterior invariant.
    Where all tokens have equally many states it is from left to right.

    Attributes
    ----------
    token : ndarray of shape (n_visits,), int32
    count : ndarray of shape (n_visits,), int32
        Number of states of each.
    border : ndarray of shape (n_visits,), int8
        1 for the first token of a sequence, 2 for the last, 3 for the only one, 0 for others.
    blocks : ndarray of shape (n_blocks + 1,), int64
        Visits for which random numbers are drawn together, as offsets.
    """

    token: np.ndarray
    count: np.ndarray
    border: np.ndarray
    blocks: np.ndarray


def scan_for(lattice, starts):
    """Order the tokens that have more than one state.

    Parameters
    ----------
    lattice : Lattice
    starts : ndarray of shape (n_sequences + 1,)
        Offsets of the sequences; none is empty.

    Returns
    -------
    Scan
    """
    token = np.flatnonzero(lattice.count > 1)
    group = token // _CHUNK * (int(lattice.count.max()) + 1) + lattice.count[token]
    token = token[np.argsort(group, kind="stable")]
    border = np.zeros(len(lattice.count), np.int8)
    border[starts[:-1]] += 1
    border[starts[1:] - 1] += 2
    block = np.cumsum(lattice.count[token], dtype=np.int64) // _BLOCK
    blocks = np.concatenate([[0], np.flatnonzero(np.diff(block)) + 1, [len(token)]])
    return Scan(token.astype(np.int32), lattice.count[token], border[token], blocks)


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
        picked = _pick(posterior, np.uintp(position), np.uintp(n), levels[t])
        slots[t] = lattice.first[t] + np.intp(picked)
        position += n


@jit_token
def _pick(weights, begin, n, level):
    """Index below n, with probability proportional to weights[begin + index]."""
    total = 0.0
    for j in range(n):
        total += weights[begin + j]
    bound = level * total
    picked, cumulative = np.uintp(0), 0.0
    for j in range(n - np.uintp(1)):
        cumulative += weights[begin + j]
        picked += np.uintp(cumulative <= bound)
    # Rounding may leave nothing: never pick a state without weight.
    while picked > 0 and weights[begin + picked] == 0.0:
        picked -= np.uintp(1)
    return picked


@jit_token
def _weigh(tables, k, cell, own, before, after, border):
    """Weight and divisor of state k in figure 1, from counts that still hold the token as `own`."""
    counted = 1.0 if k == own else 0.0
    first, last = border & 1, border & 2
    if first:
        weight = tables.start[k] - counted
    else:
        # Both transitions of the token may be the same.
        twice = 1.0 if before == own and k == after and not last else 0.0
        weight = tables.transition[before, k] - counted - twice
    divisor = 1.0
    if cell >= 0:
        weight *= tables.emission[np.uintp(cell)] - counted
        divisor = tables.emit[k] - counted
    if not last:
        both = 0.0
        if k == before and not first:
            both = (1.0 if after == k else 0.0) - (1.0 if after == own else 0.0)
        weight *= tables.transition[k, after] - counted + both
        divisor *= tables.out[k] - counted
    return weight, divisor


@jit_token
def _move(tables, cell, to_cell, own, to, before, after, border):
    """Count a token as state `to`, no longer as `own`."""
    if cell >= 0:
        tables.emission[np.uintp(cell)] -= 1.0
        tables.emission[np.uintp(to_cell)] += 1.0
        tables.emit[own] -= 1.0
        tables.emit[to] += 1.0
    if border & 1:
        tables.start[own] -= 1.0
        tables.start[to] += 1.0
    else:
        tables.transition[before, own] -= 1.0
        tables.transition[before, to] += 1.0
    if not border & 2:
        tables.transition[own, after] -= 1.0
        tables.transition[to, after] += 1.0
        tables.out[own] -= 1.0
        tables.out[to] += 1.0


@jit_token
def _race(weights, handicaps, begin, n, picked):
    """Index below n of the largest weight times handicap; `picked` where all of them are 0."""
    highest, j = 0.0, np.uintp(0)
    while j < few(n):
        score = weights[j] * handicaps[begin + j]
        picked = j if score > highest else picked
        highest = score if score > highest else highest
        j += np.uintp(1)
    return picked


@jit
def _resample(tables, lattice, scan, begin, end, path, slots, numbers, races, chance):
    """Resample the tokens of visits [begin, end) from figure 1's conditional.

    `tables` are actual counts plus prior, changed in place like `path` and `slots`. `numbers` are
    handicaps of all states if the states race, and else a uniform number a token; `chance` (K,) is
    a buffer.
    """
    position = np.uintp(0)
    # Unsigned indices: numba need not look for negative ones.
    for visit in range(np.uintp(begin), np.uintp(end)):
        t, border = np.uintp(scan.token[visit]), scan.border[visit]
        n, base, own = np.uintp(lattice.count[t]), np.uintp(lattice.first[t]), np.uintp(path[t])
        before = np.uintp(0) if border & 1 else np.uintp(path[t - np.uintp(1)])
        after = np.uintp(0) if border & 2 else np.uintp(path[t + np.uintp(1)])
        for j in range(n):
            k, cell = np.uintp(lattice.state[base + j]), lattice.cell[base + j]
            weight, divisor = _weigh(tables, k, cell, own, before, after, border)
            chance[j] = weight / divisor
        if races:
            picked = _race(chance, numbers, position, n, np.uintp(slots[t]) - base)
            position += n
        else:
            picked = _pick(chance, np.uintp(0), n, numbers[position])
            position += np.uintp(1)
        slot = base + picked
        # Most tokens keep their state, and then there is nothing to store.
        if slot != np.uintp(slots[t]):
            to, cell = np.uintp(lattice.state[slot]), lattice.cell[np.uintp(slots[t])]
            _move(tables, cell, lattice.cell[slot], own, to, before, after, border)
            slots[t], path[t] = slot, to


def sweep_gibbs(tables, lattice, scan, path, slots, temperature, rng):
    """Resample every token that has a choice from figure 1's conditional to 1 / `temperature`.

    At temperature 1 a token takes one uniform number, at others one for each of its states.

    Parameters
    ----------
    tables : Tally
        Actual counts plus prior; changed in place like `path` and `slots`.
    lattice : Lattice
    scan : Scan
    path, slots : ndarray of shape (n_tokens,), int32
        State and slot of every token.
    temperature : float
    rng : numpy.random.Generator
    """
    races, chance = temperature != 1.0, np.empty(len(tables.out))
    for begin, end in pairwise(scan.blocks.tolist()):
        if races:
            numbers = _handicaps(scan.count[begin:end], temperature, rng)
        else:
            numbers = rng.random(end - begin)
        _resample(tables, lattice, scan, begin, end, path, slots, numbers, races, chance)


def _handicaps(counts, temperature, rng):
    """E^(-temperature), E exponential, for every state of tokens with `counts` states.

    The smallest E_k / w_k^p is that of state k with probability proportional to w_k^p, and the
    same state has the largest w_k E_k^(-1/p), which takes no power of a weight. A token's
    handicaps may have a common factor.
    """
    numbers = rng.random(counts.sum(dtype=np.int64))
    with np.errstate(divide="ignore", over="ignore"):
        np.log(numbers, out=numbers)
        np.log(np.negative(numbers, out=numbers), out=numbers)
        numbers *= -temperature
        if temperature > _HOTTEST and len(counts):
            first = np.cumsum(counts, dtype=np.int64) - counts
            numbers -= np.repeat(np.maximum.reduceat(numbers, first), counts)
        return np.exp(numbers, out=numbers)


def counts_of(tables, lattice, starts, slots, prior, cells):
    """The counts of a path, given `tables`, which are these counts plus prior."""
    highest = max(float(part.max()) for part in (prior.start, prior.transition, prior.emission))
    if highest > _LARGEST_PRIOR:
        counts = empty_counts(cells)
        count_slots(lattice, starts, slots, counts)
        return counts
    return HMMCounts(
        *(np.rint(getattr(tables, name) - getattr(prior, name)) for name in HMMCounts._fields)
    )


def log_joint(counts, prior, cells):
    """log p(x, z | alpha, beta) of actual counts through Gamma functions (nats)."""
    moved = counts.transition > 0
    begun = np.s_[:] if prior.start.min() > 0.0 else counts.start > 0
    return (
        dirichlet.log_evidence(
            counts.start[begun],
            prior.start[begun],
            counts.start.sum(),
            np.asarray(prior.start_total),
        )
        + dirichlet.log_evidence(
            counts.transition[moved],
            prior.transition[moved],
            counts.transition.sum(axis=1),
            prior.transition_total,
        )
        + _log_rising(counts.emission, prior.emission)
        - _log_rising(cells.row_totals(counts.emission), prior.emission_total)
    )


def _log_rising(counts, prior):
    """Sum of log Gamma(C + u) - log Gamma(u) over whole counts C with prior u."""
    if len(counts) > _MANY and prior.min() == prior.max():
        # Most of many cells have one of a few small counts.
        times = np.bincount(counts.astype(np.intp))
        counts = np.flatnonzero(times)
        return float(times[counts] @ (gammaln(counts + prior[0]) - gammaln(prior[0])))
    used = counts > 0
    return float(np.sum(gammaln(counts[used] + prior[used]) - gammaln(prior[used])))
