"""Leave-out inference of whole sequences, or windows of them, token by token (eqs. 24-25).

For tokens that may take any number of states: where a dictionary leaves most of them open, where
there is none, and where tokens are unobserved or steps are ruled out. Layout and conventions are
those of `sklearn_cvb.kernels.chain.forward_backward`.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.chain.forward_backward import (
    Lattice,
    add_outer,
    forward_backward,
    sum_row,
)
from sklearn_cvb.kernels.chain.leave_out import INFER, KEEP, PUT_BACK, TAKE_OUT
from sklearn_cvb.kernels.chain.windows import carry_back, carry_forward, weigh_borders, window_at
from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline, jit_token

# Rows of `Work.scales` while counts move: posteriors added up over all tokens, and over those
# without an observation of their own; and while weights are made: 1, 1 / emit, 1 / out.
_EVERY, _UNSEEN = range(2)
_ONE, _EMITTED, _LEFT = range(3)


class Sequences(NamedTuple):
    """Units token by token.

    Attributes
    ----------
    begin, end : ndarray of shape (n_units,), int64
        Tokens of each unit.
    entry, pair : ndarray of shape (n_units + 1,), int64
        Where the posteriors and the pair marginals of each unit begin.
    summed : ndarray of shape (n_units,), bool
        Which units store the (K, K) sum of their pair marginals, not blocks.
    whole : bool
        Whether blocks are stored with their last row and column, which the posteriors give as well.
        Lists need them, and a pass token by token does without.
    lattice : Lattice
    """

    begin: np.ndarray
    end: np.ndarray
    entry: np.ndarray
    pair: np.ndarray
    summed: np.ndarray
    whole: bool
    lattice: Lattice


@jit_inline
def _shift_tokens(i, shared, sequences, posterior, is_borrowed, by_state, sign):
    """Shift start and emissions of unit i, and add up its posteriors by state."""
    lattice, n_states = sequences.lattice, shared.out.size
    emission, least = shared.emission, shared.least
    begin, position = sequences.begin[i], sequences.entry[i]
    every, unseen = by_state[_EVERY], by_state[_UNSEEN]
    for k in range(n_states):
        every[k] = 0.0
        unseen[k] = 0.0
    for t in range(begin, sequences.end[i]):
        base, n = np.int64(lattice.first[t]), np.int64(lattice.count[t])
        first_cell = np.int64(lattice.cell[base])
        is_unseen = first_cell < 0 or (is_borrowed and t == begin)
        if n == 1:
            state = np.uint64(lattice.state[base])
            every[state] += 1.0
            if is_unseen:
                unseen[state] += 1.0
            else:
                emission[first_cell] = max(emission[first_cell] + sign, least)
        # An open token: its states and cells stand in a row, and the loops are vectors.
        elif n == n_states:
            for j in range(n):
                every[j] += posterior[np.uint64(position + j)]
            if is_unseen:
                for j in range(n):
                    unseen[j] += posterior[np.uint64(position + j)]
            else:
                for j in range(n):
                    cell = np.uint64(first_cell + j)
                    value = emission[cell] + sign * posterior[np.uint64(position + j)]
                    emission[cell] = value if value > least else least
        else:
            for j in range(n):
                state = lattice.state[np.uint64(base + j)]
                q = posterior[np.uint64(position + j)]
                every[state] += q
                if is_unseen:
                    unseen[state] += q
                else:
                    cell = lattice.cell[np.uint64(base + j)]
                    emission[cell] = max(emission[cell] + sign * q, least)
        # Nothing is kept of certain tokens.
        position += n if n > 1 else 0


@jit_inline
def _shift_ends(i, shared, sequences, posterior, is_borrowed, by_state, sign):
    """Shift the start count of unit i and the totals of emissions; leave out its last token."""
    lattice = sequences.lattice
    base, n = lattice.first[sequences.begin[i]], lattice.count[sequences.begin[i]]
    if not is_borrowed:
        for j in range(n):
            k = lattice.state[base + j]
            q = posterior[sequences.entry[i] + j] if n > 1 else 1.0
            shared.start[k] = max(shared.start[k] + sign * q, shared.least_step)
    for k in range(shared.emit.size):
        emitted = by_state[_EVERY, k] - by_state[_UNSEEN, k]
        shared.emit[k] = max(shared.emit[k] + sign * emitted, shared.least_emit[k])
    # From here on `by_state` holds the totals of transitions: the last token has no step out.
    base, n = lattice.first[sequences.end[i] - 1], lattice.count[sequences.end[i] - 1]
    for j in range(n):
        q = posterior[sequences.entry[i + 1] - n + j] if n > 1 else 1.0
        by_state[_EVERY, lattice.state[base + j]] -= q


@jit_inline
def _shift_sum(pair, shared, pairs, sign):
    """Shift all transitions of a unit by the sum of its pairs."""
    n_states, least_step = shared.out.size, shared.least_step
    for step in range(n_states * n_states):
        value = shared.steps[np.uint64(step)] + sign * pairs[np.uint64(pair + step)]
        shared.steps[np.uint64(step)] = value if value > least_step else least_step
    for k in range(n_states):
        total = sum_row(pairs, pair + k * n_states, n_states)
        shared.out[k] = max(shared.out[k] + sign * total, shared.least_out[k])


@jit_inline
def whole_block(posterior, before, n_left, following, n_right, pairs, at, block):
    """Pair marginals of two tokens, row by row in `block`, from those stored from `at` on.

    The last row and column are what the posteriors of the tokens, which begin at `before` and
    `following`, have left.
    """
    wide = n_right - 1
    last = (n_left - 1) * n_right
    for b in range(n_right):
        block[np.uint64(last + b)] = posterior[np.uint64(following + b)]
    for a in range(n_left - 1):
        row = a * n_right
        rest = posterior[np.uint64(before + a)]
        for b in range(wide):
            q = pairs[np.uint64(at + a * wide + b)]
            block[np.uint64(row + b)] = q
            block[np.uint64(last + b)] -= q
            rest -= q
        rest = max(rest, 0.0)
        block[np.uint64(row + wide)] = rest
        block[np.uint64(last + wide)] -= rest
    for b in range(n_right):
        block[np.uint64(last + b)] = max(block[np.uint64(last + b)], 0.0)


@jit_inline
def _shift_blocks(i, shared, sequences, stored, by_state, block, sign):
    """Shift the transitions of a unit, pair by pair; `block` is a buffer."""
    lattice, least_step, posterior = sequences.lattice, shared.least_step, stored.posterior
    position, at = sequences.entry[i], sequences.pair[i]
    for t in range(sequences.begin[i] + 1, sequences.end[i]):
        left, n_left = np.int64(lattice.first[t - 1]), np.int64(lattice.count[t - 1])
        right, n_right = np.int64(lattice.first[t]), np.int64(lattice.count[t])
        following = position + (n_left if n_left > 1 else 0)
        if n_left > 1 and n_right > 1:
            whole_block(posterior, position, n_left, following, n_right, stored.pairs, at, block)
            at += (n_left - 1) * (n_right - 1)
        elif n_right > 1:
            for b in range(n_right):
                block[np.uint64(b)] = posterior[np.uint64(following + b)]
        else:
            for a in range(n_left):
                block[np.uint64(a)] = posterior[np.uint64(position + a)] if n_left > 1 else 1.0
        for a in range(n_left):
            row = shared.transition[lattice.state[np.uint64(left + a)]]
            for b in range(n_right):
                to = lattice.state[np.uint64(right + b)]
                row[to] = max(row[to] + sign * block[np.uint64(a * n_right + b)], least_step)
        position = following
    for k in range(shared.out.size):
        value = shared.out[k] + sign * by_state[_EVERY, k]
        shared.out[k] = max(value, shared.least_out[k])


@jit_called
def _shift_sequence(i, shared, sequences, stored, is_borrowed, work, sign):
    """Take the counts of unit i out (sign -1) or put them back (1).

    Changes `shared`; of `work`, `scales` and `block` are buffers.
    """
    posterior, by_state = stored.posterior, work.scales
    _shift_tokens(i, shared, sequences, posterior, is_borrowed, by_state, sign)
    _shift_ends(i, shared, sequences, posterior, is_borrowed, by_state, sign)
    if sequences.summed[i]:
        _shift_sum(sequences.pair[i], shared, stored.pairs, sign)
    else:
        _shift_blocks(i, shared, sequences, stored, by_state, work.block, sign)


@jit_inline
def fill_weights(i, shared, sequences, is_borrowed, work):
    """Fill ``work.emission`` with the weights of unit i (eq. 25); returns their number.

    Transition weights are C / out: dividing each token's weight by its states' out leaves the
    counts themselves as transition weights.
    """
    lattice, n_states, scale = sequences.lattice, shared.out.size, work.scales
    # Reciprocals by state are cheaper than divisions by entry.
    for k in range(n_states):
        scale[_ONE, k] = 1.0
        scale[_EMITTED, k] = 1.0 / shared.emit[k]
        scale[_LEFT, k] = 1.0 / shared.out[k]
    begin, end = sequences.begin[i], sequences.end[i]
    # A plain 0 would be a type of its own, and callees would be compiled twice.
    position = np.int64(0)
    for t in range(begin, end):
        base, n = np.int64(lattice.first[t]), np.int64(lattice.count[t])
        is_seen = lattice.cell[base] >= 0 and not (is_borrowed and t == begin)
        one, other = scale[_EMITTED if is_seen else _ONE], scale[_LEFT if t < end - 1 else _ONE]
        if is_seen and n == n_states:
            cell = np.int64(lattice.cell[base])
            for j in range(n):
                weight = shared.emission[np.uint64(cell + j)] * one[np.uint64(j)]
                work.emission[np.uint64(position + j)] = weight * other[np.uint64(j)]
        else:
            for j in range(n):
                slot = np.uint64(base + j)
                state = lattice.state[slot]
                weight = shared.emission[np.uint64(lattice.cell[slot])] if is_seen else 1.0
                work.emission[np.uint64(position + j)] = weight * one[state] * other[state]
        position += n
    return position


@jit_inline
def keep_posterior(i, sequences, found, posterior):
    """Keep the posteriors of unit i's tokens with more than one state."""
    lattice, entry, position = sequences.lattice, sequences.entry[i], np.int64(0)
    for t in range(sequences.begin[i], sequences.end[i]):
        n = np.int64(lattice.count[t])
        if n > 1:
            for j in range(n):
                posterior[np.uint64(entry + j)] = found[np.uint64(position + j)]
            entry += n
        position += n


@jit_token
def multiply_absence(lattice, t, work, before, position, transition, absent):
    """absent[i, j] *= 1 - q(z_t-1 = i, z_t = j) for the states allowed at t - 1 and t."""
    left, n_left = np.int64(lattice.first[t - 1]), np.int64(lattice.count[t - 1])
    right, n_right = np.int64(lattice.first[t]), np.int64(lattice.count[t])
    for i in range(n_left):
        row = lattice.state[np.uint64(left + i)]
        steps, misses = transition[row], absent[row]
        weight = work.forward[np.uint64(before + i)]
        if n_right == steps.size:
            for j in range(n_right):
                q = weight * steps[j] * work.emission[np.uint64(position + j)]
                # Rounding may make q a little more than 1.
                misses[j] *= max(0.0, 1.0 - q)
        else:
            for j in range(n_right):
                to = lattice.state[np.uint64(right + j)]
                q = weight * steps[to] * work.emission[np.uint64(position + j)]
                misses[to] *= max(0.0, 1.0 - q)


@jit_inline
def _keep_sum(i, shared, sequences, pairs, absent, work):
    """Keep the sum of the pair marginals of unit i: forward_t-1(k) transition[k, l] g_t(l)."""
    lattice, n_states = sequences.lattice, shared.out.size
    at, before = sequences.pair[i], np.int64(0)
    work.table[:] = 0.0
    for t in range(sequences.begin[i] + 1, sequences.end[i]):
        now = before + np.int64(lattice.count[t - 1])
        add_outer(lattice, t, work, before, now, work.table)
        if absent is not None:
            multiply_absence(lattice, t, work, before, now, shared.transition, absent)
        before = now
    # What all steps between two states share is multiplied once.
    for k in range(n_states):
        row = pairs[at + k * n_states : at + (k + 1) * n_states]
        for j in range(n_states):
            row[j] = work.table[k, j] * shared.transition[k, j]


@jit_inline
def _keep_blocks(i, shared, sequences, pairs, work):
    """Keep the pair marginals of unit i, block by block."""
    lattice, at, before = sequences.lattice, sequences.pair[i], np.int64(0)
    for t in range(sequences.begin[i] + 1, sequences.end[i]):
        left, n_left = np.int64(lattice.first[t - 1]), np.int64(lattice.count[t - 1])
        right, n_right = np.int64(lattice.first[t]), np.int64(lattice.count[t])
        now = before + n_left
        if n_left > 1 and n_right > 1:
            # The last row and column follow from the posteriors (see `whole_block`).
            for a in range(n_left - 1):
                row = shared.transition[lattice.state[np.uint64(left + a)]]
                weight = work.forward[np.uint64(before + a)]
                for b in range(n_right - 1):
                    step = row[lattice.state[np.uint64(right + b)]]
                    value = weight * step * work.emission[np.uint64(now + b)]
                    pairs[np.uint64(at + b)] = value
                at += n_right - 1
        before = now


@jit
def pass_over_sequences(steps, span, shared, sequences, stored, borders, absent, work):
    """A pass over units token by token.

    Parameters
    ----------
    steps : int
        Which steps to take, see `sklearn_cvb.kernels.chain.leave_out`.
    span : tuple (first, end)
        The units.
    shared : Shared
        Changed in place.
    sequences : Sequences
    stored : Stored
        Changed in place where the pass keeps what it finds.
    borders : Borders or None
        None where every unit is a sequence; changed in place.
    absent : ndarray of shape (K, K) or None
        Multiplied by 1 - q of every pair marginal of which only the sum is kept; None where
        nobody asks for it.
    work : Work
        Buffers.

    Returns
    -------
    int
        The unit at which the pass ended.
    """
    for i in range(span[0], span[1]):
        is_borrowed, ahead = False, False
        start = shared.start
        if borders is not None:
            is_borrowed, ahead, start = window_at(i, steps, shared, borders)
        if steps & TAKE_OUT:
            _shift_sequence(i, shared, sequences, stored, is_borrowed, work, -1.0)
        if steps & INFER:
            size = fill_weights(i, shared, sequences, is_borrowed, work)
            if borders is not None:
                weigh_borders(i, sequences, borders, is_borrowed, ahead, work, size)
            begin, end = sequences.begin[i], sequences.end[i]
            value = forward_backward(
                start, shared.transition, sequences.lattice, begin, end, size, work
            )
            stored.log_z[i] = value if is_borrowed else value - shared.log_start
            # Lost: the counts are left without the unit, as log space needs them.
            if math.isnan(value):
                return i
            if borders is not None:
                if is_borrowed and steps & KEEP:
                    carry_back(i, shared, sequences, borders, work)
                carry_forward(i, sequences, borders, ahead, work.forward, size)
            if steps & KEEP:
                keep_posterior(i, sequences, work.posterior, stored.posterior)
                if sequences.summed[i]:
                    _keep_sum(i, shared, sequences, stored.pairs, absent, work)
                else:
                    _keep_blocks(i, shared, sequences, stored.pairs, work)
        if steps & PUT_BACK:
            _shift_sequence(i, shared, sequences, stored, is_borrowed, work, 1.0)
    return span[1]
