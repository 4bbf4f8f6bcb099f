"""Draw the states of stretches of tokens given weights: filter forward, sample backward.

A stretch is a run of ambiguous tokens (see `chain.lattice`); without a dictionary it is a
whole sequence. Given the certain tokens at its borders it can be drawn alone. Drawn paths are kept
as slots (see `sklearn_cvb.kernels.chain.gibbs_tokens`).
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.chain.log_space import log_add
from sklearn_cvb.kernels.chain.runs import entry_weight
from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline, jit_token_reduction

# Outside these mass may have been lost: use log space.
_SMALLEST_SCALE, _LARGEST_SCALE = 1e-290, 1e280
# Below this the states that underflow on the way forward might matter after all.
_SMALLEST_CHANCE = 1e-200


class Stretches(NamedTuple):
    """Stretches of ambiguous tokens and the sequences that hold them.

    Attributes
    ----------
    begin, end : ndarray of shape (n_stretches,), int32
        First token of each stretch and the one after its last.
    number : ndarray of shape (n_stretches,), int64
        Where the random numbers of each stretch begin: it takes one for each of its tokens.
    sequence : ndarray of shape (n_sequences + 1,), int64
        Sequence i has the stretches ``sequence[i] : sequence[i + 1]``.
    starts : ndarray of shape (n_sequences + 1,), int64
        Sequence i has the tokens ``starts[i] : starts[i + 1]``.
    """

    begin: np.ndarray
    end: np.ndarray
    number: np.ndarray
    sequence: np.ndarray
    starts: np.ndarray


class Room(NamedTuple):
    """Buffers: messages of all entries of the longest stretch, and one weight per state."""

    message: np.ndarray
    row: np.ndarray


@jit_inline
def span_of(stretches, stretch):
    """First token of a stretch and the one after its last."""
    return np.int64(stretches.begin[stretch]), np.int64(stretches.end[stretch])


@jit_token_reduction
def _scaled(message, position, n):
    """Divide a token's message by its sum, which is returned, if that is in range."""
    total = 0.0
    for j in range(n):
        total += message[np.uint64(position + j)]
    inverse = 1.0 / total
    for j in range(n):
        message[np.uint64(position + j)] *= inverse
    return total


@jit_inline
def first_row(factors, lattice, span, bounds):
    """Weights of the step into a stretch, by state: (K,)."""
    row = factors.start
    if span[0] > bounds[0]:
        row = factors.transition[lattice.state[lattice.first[span[0] - 1]]]
    return row


@jit_inline
def weigh(factors, lattice, t, span, bounds, message, position):
    """Multiply token t's message by its emission and, at the end, by the step to the border."""
    base, n, is_last = lattice.first[t], lattice.count[t], t == bounds[1] - 1
    cell = lattice.cell[base]
    if n == factors.start.size and cell >= 0:
        scale = factors.last_scale if is_last else factors.scale
        for j in range(n):
            here = np.uint64(j)
            message[np.uint64(position + j)] *= factors.emission[np.uint64(cell + j)] * scale[here]
    else:
        for j in range(n):
            message[np.uint64(position + j)] *= entry_weight(factors, lattice, base + j, is_last)
    if t == span[1] - 1 and not is_last:
        after = lattice.state[lattice.first[t + 1]]
        for j in range(n):
            message[position + j] *= factors.transition[lattice.state[base + j], after]


@jit_inline
def _step(factors, lattice, t, message, result):
    """Carry the message of token t - 1 to token t: sums over states into `result`."""
    left, right = lattice.first[t - 1], lattice.first[t]
    n_states = factors.start.size
    is_open = message.size == n_states and result.size == n_states
    whole = n_states - n_states % 4 if is_open else 0
    result[:] = 0.0
    # All states in their order on both sides: four rows of the table at a time.
    for i in range(0, whole, 4):
        w0, w1, w2, w3 = message[i], message[i + 1], message[i + 2], message[i + 3]
        r0, r1 = factors.transition[i], factors.transition[i + 1]
        r2, r3 = factors.transition[i + 2], factors.transition[i + 3]
        for j in range(result.size):
            result[j] += w0 * r0[j] + w1 * r1[j] + w2 * r2[j] + w3 * r3[j]
    for i in range(whole, message.size):
        weight = message[i]
        row = factors.transition[lattice.state[np.uint64(left + i)]]
        if result.size == n_states:
            for j in range(result.size):
                result[j] += weight * row[j]
        else:
            for j in range(result.size):
                result[j] += weight * row[lattice.state[np.uint64(right + j)]]


@jit_called
def filter_stretch(factors, lattice, span, bounds, message):
    """Fill `message` with p(z_t | x up to t), scaled, for the tokens `span` in sequence `bounds`.

    Returns
    -------
    float
        Log weight of the stretch and of the steps to its borders (nats); NaN where float64 may have
        lost mass.
    """
    position, before = np.int64(0), np.int64(0)
    log_z, product = 0.0, 1.0
    for t in range(span[0], span[1]):
        n = lattice.count[t]
        if t == span[0]:
            row = first_row(factors, lattice, span, bounds)
            for j in range(n):
                message[position + j] = row[lattice.state[lattice.first[t] + j]]
        else:
            here = message[position : position + n]
            _step(factors, lattice, t, message[before:position], here)
        weigh(factors, lattice, t, span, bounds, message, position)
        total = _scaled(message, position, n)
        if not (_SMALLEST_SCALE < total < _LARGEST_SCALE):
            return math.nan
        further = product * total
        if not (1e-150 < further < 1e150):
            # Two scales alone may leave float64's range together.
            log_z += math.log(product)
            further = total
        product = further
        before = position
        position += n
    return log_z + math.log(product)


@jit_inline
def draw_index(cumulative, n, level):
    """Index below n by its share of the running sums; one without weight is never drawn."""
    bound = level * cumulative[n - 1]
    picked = 0
    for j in range(n - 1):
        picked += 1 if cumulative[np.uint64(j)] <= bound else 0
    # Rounding may leave nothing above the bound.
    while picked > 0 and cumulative[picked] == cumulative[picked - 1]:
        picked -= 1
    return picked


@jit_called
def draw_stretch(factors, lattice, span, bounds, levels, number, slots, room):
    """Draw the slots of the tokens `span`, in the sequence `bounds`, given their neighbours.

    Parameters
    ----------
    factors : Factors
    lattice : Lattice
    span, bounds : tuple of int
        First token and the one after the last.
    levels : ndarray, float64
        A uniform number for each token of the stretch, from `number` on.
    number : int
    slots : ndarray of shape (n_tokens,), int32
        Receives the drawn path.
    room : Room

    Returns
    -------
    bool
        False where float64 may have lost mass: use `draw_stretch_in_logs`.
    """
    if math.isnan(filter_stretch(factors, lattice, span, bounds, room.message)):
        return False
    position = np.int64(0)
    for t in range(span[0], span[1]):
        position += lattice.count[t]
    message, cumulative = room
    for t in range(span[1] - 1, span[0] - 1, -1):
        base, n = lattice.first[t], lattice.count[t]
        position -= n
        total = 0.0
        if t == span[1] - 1:
            for j in range(n):
                total += message[np.uint64(position + j)]
                cumulative[np.uint64(j)] = total
        else:
            after = lattice.state[slots[t + 1]]
            for j in range(n):
                step = factors.transition[lattice.state[np.uint64(base + j)], after]
                total += message[np.uint64(position + j)] * step
                cumulative[np.uint64(j)] = total
        if not total > _SMALLEST_CHANCE:
            return False
        slots[t] = base + draw_index(cumulative, n, levels[number + t - span[0]])
    return True


@jit
def draw_stretches(factors, lattice, stretches, levels, slots, is_lost, room):
    """Draw the slots of all stretches given weights.

    Parameters
    ----------
    factors : Factors
    lattice : Lattice
    stretches : Stretches
    levels : ndarray, float64
        A uniform number for each token of a stretch.
    slots : ndarray of shape (n_tokens,), int32
        Receives the drawn path; certain tokens keep theirs.
    is_lost : ndarray of shape (n_stretches,), bool
        Receives which stretches want `draw_stretch_in_logs`.
    room : Room
    """
    for i in range(stretches.starts.size - 1):
        bounds = stretches.starts[i], stretches.starts[i + 1]
        for stretch in range(stretches.sequence[i], stretches.sequence[i + 1]):
            span, number = span_of(stretches, stretch), stretches.number[stretch]
            drawn = draw_stretch(factors, lattice, span, bounds, levels, number, slots, room)
            is_lost[stretch] = not drawn


@jit_called
def filter_in_logs(factors, lattice, span, bounds, message):
    """`filter_stretch` in log space: logs of the messages; returns -inf if no path is left."""
    row = first_row(factors, lattice, span, bounds)
    position, before, log_z = np.int64(0), np.int64(0), 0.0
    for t in range(span[0], span[1]):
        n, total = lattice.count[t], -math.inf
        for j in range(n):
            to = lattice.state[lattice.first[t] + j]
            value = math.log(row[to]) if t == span[0] else -math.inf
            if t > span[0]:
                left = lattice.first[t - 1]
                for i in range(lattice.count[t - 1]):
                    step = factors.transition[lattice.state[left + i], to]
                    value = log_add(value, message[before + i] + math.log(step))
            slot, is_last = lattice.first[t] + j, t == bounds[1] - 1
            value += math.log(entry_weight(factors, lattice, slot, is_last))
            if t == span[1] - 1 and not is_last:
                value += math.log(factors.transition[to, lattice.state[lattice.first[t + 1]]])
            message[position + j] = value
            total = log_add(total, value)
        if total == -math.inf:
            return total
        for j in range(n):
            message[position + j] -= total
        log_z += total
        before = position
        position += n
    return log_z


@jit
def draw_stretch_in_logs(factors, lattice, span, bounds, levels, number, slots, room):
    """`draw_stretch` in log space, for weights whose products leave float64.

    Returns False where no path is left; `slots` is then as it was.
    """
    message, cumulative = room
    if filter_in_logs(factors, lattice, span, bounds, message) == -math.inf:
        return False
    position = np.int64(0)
    for t in range(span[0], span[1]):
        position += lattice.count[t]
    for t in range(span[1] - 1, span[0] - 1, -1):
        base, n = lattice.first[t], lattice.count[t]
        position -= n
        after = lattice.state[slots[t + 1]] if t < span[1] - 1 else lattice.state[base]
        largest = -math.inf
        for j in range(n):
            cumulative[j] = message[position + j]
            if t < span[1] - 1:
                cumulative[j] += math.log(factors.transition[lattice.state[base + j], after])
            largest = max(largest, cumulative[j])
        total = 0.0
        for j in range(n):
            total += math.exp(cumulative[j] - largest)
            cumulative[j] = total
        slots[t] = base + draw_index(cumulative, n, levels[number + t - span[0]])
    return True
