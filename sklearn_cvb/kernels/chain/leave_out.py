"""Leave-out inference of whole sequences, or windows of them (Wang and Blunsom 2013, eqs. 24-25): a
unit is taken out of the counts, inferred from what is left, and put back. Counts are of starts,
transitions and emissions, with the row totals `out` and `emit` of the last two. A window borrows
its first token, the last one of the window before.

A unit, a sequence or a window of one, is taken out of the counts, inferred from what is left, and
its new counts are put back at once. A kernel makes a *pass* over units, token by token here and by
lists in `sklearn_cvb.kernels.chain.listed`; the pass says which of these steps it takes:

- a sweep takes a unit out, infers it, keeps what it found and puts that back;
- a score does the same but keeps nothing, so that all counts stay as they are;
- counting puts back single, and the first expectation under given weights infers and keeps.

A pass returns the unit at which it ended. That is the last one's successor, or a unit that float64
lost, whose counts are then taken out: `infer_in_logs` infers it in log space.

Token by token is for tokens that may take any number of states: where a dictionary leaves most of
them open, where there is none, and where tokens are unobserved or steps are ruled out. Layout and
conventions are those of `sklearn_cvb.kernels.chain.forward_backward`.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.chain.forward_backward import (
    Lattice,
    add_outer,
    forward_backward,
    retreat_lattice,
    sum_row,
)
from sklearn_cvb.kernels.chain.log_space import (
    fill_block_from_logs,
    fill_logs,
    forward_backward_log,
    single,
)
from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline, jit_token
from sklearn_cvb.kernels.subnormal import subnormal_is_zero

TAKE_OUT, INFER, KEEP, PUT_BACK = 1, 2, 4, 8
SWEEP = TAKE_OUT | INFER | KEEP | PUT_BACK
SCORE = TAKE_OUT | INFER | PUT_BACK
EXPECT = INFER | KEEP

# Rows of `Workspace.scales` while counts move: posteriors added up over all tokens, and over those
# without an observation of their own; and while weights are made: 1, 1 / emit, 1 / out.
_EVERY, _UNSEEN = range(2)
_ONE, _EMITTED, _LEFT = range(3)

# Right messages are kept above this, so that dividing by them is safe.
_SMALLEST_MESSAGE = 1e-100


class ChainTally(NamedTuple):
    """Counts with the prior added: cells of all tables and the denominators of their rows."""

    start: np.ndarray
    transition: np.ndarray
    out: np.ndarray
    emission: np.ndarray
    emit: np.ndarray


class CountFloor(NamedTuple):
    """The least that an entry of a `ChainTally`, an emission cell and a step can be.

    Rounding must not make a cell with a tiny prior negative. The smallest prior is bound enough for
    that: where a cell's own is larger, rounding is nothing beside it.
    """

    start: np.ndarray
    transition: np.ndarray
    out: np.ndarray
    emission: np.ndarray
    emit: np.ndarray
    least: float
    least_step: float


class SharedCounts(NamedTuple):
    """What units share: counts with the prior added, and the least of each (see `CountFloor`)."""

    steps: np.ndarray  # (K * K + K,), transition counts row by row, and start counts after them
    transition: np.ndarray  # (K, K), the same memory
    start: np.ndarray  # (K,), the same memory
    out: np.ndarray  # (K,), totals of the rows of transitions
    emit: np.ndarray  # (K,), and of emissions
    emission: np.ndarray  # (n_cells,)
    least_out: np.ndarray  # (K,)
    least_emit: np.ndarray  # (K,)
    least: float  # of any emission cell
    least_step: float  # of any step; 0 where a topology rules steps out
    log_start: float  # log of the start row's total without one sequence


class UnitResults(NamedTuple):
    """What inference leaves of all units."""

    posterior: np.ndarray  # q(z_t) of the tokens with more than one state, unit by unit
    # Of each unit: blocks, row by row, of neighbours that both have more than one state, or the
    # (K, K) sum of all.
    pairs: np.ndarray
    log_z: np.ndarray  # (n_units,), log normaliser of each unit (nats)


class UnitTokens(NamedTuple):
    """Units token by token."""

    begin: np.ndarray  # (n_units,), int64, tokens of each unit
    end: np.ndarray
    entry: np.ndarray  # (n_units + 1,), int64, where the posteriors of each unit begin
    pair: np.ndarray  # (n_units + 1,), int64, and its pair marginals
    summed: np.ndarray  # (n_units,), bool, which store the (K, K) sum of their pairs, not blocks
    # Whether blocks are stored with their last row and column, which the posteriors give as well.
    # Lists need them, and a pass token by token does without.
    whole: bool
    lattice: Lattice


class UnitSpan(NamedTuple):
    """What a pass does, and for which units: [first, end)."""

    steps: int  # of TAKE_OUT, INFER, KEEP and PUT_BACK
    first: int
    end: int


class WindowMessages(NamedTuple):
    """What windows of a sequence tell each other.

    A window's first token is the last one of the window before it ("borrowed"): its weight is the
    forward message there, and its emission belongs to the window before.
    """

    borrowed: np.ndarray  # (n_units,), bool, whether a unit continues the one before
    right: np.ndarray  # (n_units, K), message to each last token from the windows after it, <= 1
    carry: np.ndarray  # (K,), forward message at the end of the window before
    ones: np.ndarray  # (K,), start weights of a window that continues another


# Counts of a unit, taken out or put back


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
def _shift_sum(i, shared, sequences, pairs, sign):
    """Shift all transitions of unit i by the sum of its pairs."""
    n_states, least_step, pair = shared.out.size, shared.least_step, sequences.pair[i]
    # A unit of one token has no pairs.
    n_steps = sequences.pair[i + 1] - pair
    for step in range(n_steps):
        value = shared.steps[np.uint64(step)] + sign * pairs[np.uint64(pair + step)]
        shared.steps[np.uint64(step)] = value if value > least_step else least_step
    for k in range(n_states if n_steps > 0 else 0):
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
def _shift_sequence(i, shared, sequences, stored, is_borrowed, block, by_state, sign):
    """Take the counts of unit i out (sign -1) or put them back (1).

    Changes `shared`; `by_state` is a buffer (`block`: see `pass_over_sequences`).
    """
    posterior = stored.posterior
    _shift_tokens(i, shared, sequences, posterior, is_borrowed, by_state, sign)
    _shift_ends(i, shared, sequences, posterior, is_borrowed, by_state, sign)
    if block is None or sequences.summed[i]:
        _shift_sum(i, shared, sequences, stored.pairs, sign)
    else:
        _shift_blocks(i, shared, sequences, stored, by_state, block, sign)


@jit_inline
def _fill_weights(i, shared, sequences, is_borrowed, work):
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
def _keep_posterior(i, sequences, found, posterior):
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
def _multiply_absence(lattice, t, work, before, position, transition, absent):
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
def _keep_pair_sum(i, shared, sequences, pairs, absent, work):
    """Keep the sum of the pair marginals of unit i: forward_t-1(k) transition[k, l] g_t(l)."""
    lattice, n_states = sequences.lattice, shared.out.size
    at, before = sequences.pair[i], np.int64(0)
    work.table[:] = 0.0
    for t in range(sequences.begin[i] + 1, sequences.end[i]):
        now = before + np.int64(lattice.count[t - 1])
        add_outer(lattice, t, work, before, now, work.table)
        if absent is not None:
            _multiply_absence(lattice, t, work, before, now, shared.transition, absent)
        before = now
    # What all steps between two states share is multiplied once. A unit of one token has no pairs.
    for k in range(n_states if sequences.pair[i + 1] > at else 0):
        row = pairs[at + k * n_states : at + (k + 1) * n_states]
        for j in range(n_states):
            row[j] = work.table[k, j] * shared.transition[k, j]


@jit_inline
def _keep_pair_blocks(i, shared, sequences, pairs, work):
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


# Windows


@jit_inline
def _window_start(i, steps, shared, borders):
    """Whether unit i continues another, whether a message comes from its right; its start weights.

    A score does without the message, so that log normalisers are those of windows given the ones
    before.
    """
    is_borrowed = borders.borrowed[i]
    is_last = i + 1 == borders.borrowed.size or not borders.borrowed[i + 1]
    ahead = not is_last and steps & KEEP > 0
    start = borders.ones if is_borrowed else shared.start
    return is_borrowed, ahead, start


@jit_inline
def _weigh_borders(i, sequences, borders, is_borrowed, ahead, work, size):
    """Multiply the messages of the windows before and after (`ahead`) into the weights."""
    lattice = sequences.lattice
    if is_borrowed:
        base, n = lattice.first[sequences.begin[i]], lattice.count[sequences.begin[i]]
        for j in range(n):
            work.emission[j] *= borders.carry[lattice.state[base + j]]
    if ahead:
        base, n = lattice.first[sequences.end[i] - 1], lattice.count[sequences.end[i] - 1]
        for j in range(n):
            work.emission[size - n + j] *= borders.right[i, lattice.state[base + j]]


@jit_inline
def _carry_forward(i, sequences, borders, ahead, forward, size):
    """Keep the forward message at the unit's last token, without the message from its right."""
    lattice = sequences.lattice
    base, n = lattice.first[sequences.end[i] - 1], lattice.count[sequences.end[i] - 1]
    total = 0.0
    for j in range(n):
        value = forward[size - n + j]
        if ahead:
            value /= borders.right[i, lattice.state[base + j]]
        borders.carry[lattice.state[base + j]] = value
        total += value
    for j in range(n):
        borders.carry[lattice.state[base + j]] /= total


@jit_inline
def _carry_back(i, shared, sequences, borders, work):
    """Message from this unit to the last token of the unit before it, from g in ``emission``."""
    lattice, t = sequences.lattice, sequences.begin[i]
    base, n = lattice.first[t], lattice.count[t]
    message = work.log_row
    retreat_lattice(shared.transition, lattice, work.emission, n, t, message, 0)
    # The largest becomes 1, so that products of messages stay in the range of float64.
    largest = 0.0
    for k in range(n):
        message[k] /= shared.out[lattice.state[base + k]]
        largest = max(largest, message[k])
    for k in range(n):
        value = max(message[k] / largest, _SMALLEST_MESSAGE)
        borders.right[i - 1, lattice.state[base + k]] = value


# Passes


@jit
def pass_over_sequences(span, shared, sequences, stored, borders, absent, block, work):
    """A pass over units token by token; returns the unit at which it ended.

    `borders` are None where every unit is a sequence. ``absent`` (K, K), None where nobody asks for
    it, is multiplied by 1 - q of every pair marginal of which only the sum is kept. `block` is a
    buffer for the pair marginals of two tokens, None where all units keep the sum of theirs.
    """
    subnormal_is_zero(True)
    steps = span.steps
    for i in range(span.first, span.end):
        is_borrowed, ahead = False, False
        start = shared.start
        if borders is not None:
            is_borrowed, ahead, start = _window_start(i, steps, shared, borders)
        if steps & TAKE_OUT:
            _shift_sequence(i, shared, sequences, stored, is_borrowed, block, work.scales, -1.0)
        if steps & INFER:
            size = _fill_weights(i, shared, sequences, is_borrowed, work)
            if borders is not None:
                _weigh_borders(i, sequences, borders, is_borrowed, ahead, work, size)
            begin, end = sequences.begin[i], sequences.end[i]
            value = forward_backward(
                start, shared.transition, sequences.lattice, begin, end, size, work
            )
            stored.log_z[i] = value if is_borrowed else value - shared.log_start
            # Lost: the counts are left without the unit, as log space needs them.
            if math.isnan(value):
                subnormal_is_zero(False)
                return i
            if borders is not None:
                if is_borrowed and steps & KEEP:
                    _carry_back(i, shared, sequences, borders, work)
                _carry_forward(i, sequences, borders, ahead, work.forward, size)
            if steps & KEEP:
                _keep_posterior(i, sequences, work.posterior, stored.posterior)
                if block is None or sequences.summed[i]:
                    _keep_pair_sum(i, shared, sequences, stored.pairs, absent, work)
                else:
                    _keep_pair_blocks(i, shared, sequences, stored.pairs, work)
        if steps & PUT_BACK:
            _shift_sequence(i, shared, sequences, stored, is_borrowed, block, work.scales, 1.0)
    subnormal_is_zero(False)
    return span.end


# Units that float64 loses, in log space


@jit_inline
def _fill_logs(shared, start, size, work):
    """Turn the weights of a unit into logs, and take those of start and transitions."""
    for position in range(size):
        work.emission[position] = math.log(work.emission[position])
    fill_logs(start, work.log_row)
    for k in range(work.table.shape[0]):
        fill_logs(shared.transition[k], work.table[k])


@jit_inline
def _keep_pairs(i, sequences, pairs, absent, work):
    """Keep the pair marginals of unit i from log messages."""
    lattice, n_states = sequences.lattice, work.table.shape[0]
    at, before, is_summed = sequences.pair[i], 0, sequences.summed[i]
    # Rows and columns that are not stored.
    without = 0 if sequences.whole else 1
    if is_summed:
        pairs[at : at + n_states * n_states] = 0.0
    for t in range(sequences.begin[i] + 1, sequences.end[i]):
        left, n_left = lattice.first[t - 1], lattice.count[t - 1]
        right, n_right = lattice.first[t], lattice.count[t]
        now = before + n_left
        fill_block_from_logs(work.table, lattice, t, work, before, now, work.block)
        if is_summed:
            for a in range(n_left):
                row = lattice.state[left + a]
                for b in range(n_right):
                    to, q = lattice.state[right + b], work.block[a * n_right + b]
                    pairs[at + row * n_states + to] += q
                    if absent is not None:
                        absent[row, to] *= max(0.0, 1.0 - q)
        elif n_left > 1 and n_right > 1:
            for a in range(n_left - without):
                for b in range(n_right - without):
                    pairs[at] = work.block[a * n_right + b]
                    at += 1
        before = now


@jit_inline
def _out_of_logs(values, begin, end):
    """exp of a stretch of logs, the largest of which becomes 1."""
    largest = -math.inf
    for position in range(begin, end):
        largest = max(largest, values[position])
    for position in range(begin, end):
        values[position] = math.exp(values[position] - largest)


@jit
def infer_in_logs(steps, i, shared, sequences, stored, borders, absent, work):
    """Infer unit i, which is taken out of `shared`, in log space.

    Arguments as in `pass_over_sequences`; of `steps` only KEEP matters. Fills ``stored.log_z[i]``:
    -inf where no path explains the unit, and then nothing is kept.
    """
    is_borrowed, ahead = False, False
    start = shared.start
    if borders is not None:
        is_borrowed, ahead, start = _window_start(i, steps, shared, borders)
    size = _fill_weights(i, shared, sequences, is_borrowed, work)
    if borders is not None:
        _weigh_borders(i, sequences, borders, is_borrowed, ahead, work, size)
    _fill_logs(shared, start, size, work)
    lattice, begin, end = sequences.lattice, sequences.begin[i], sequences.end[i]
    value = forward_backward_log(
        work.log_row, single(work.table), None, lattice, begin, end, size, work
    )
    stored.log_z[i] = value if is_borrowed else value - shared.log_start
    if value > -math.inf:
        if steps & KEEP:
            _keep_posterior(i, sequences, work.posterior, stored.posterior)
            _keep_pairs(i, sequences, stored.pairs, absent, work)
        if borders is not None:
            # Messages are scaled by whoever receives them: they need not be more than proportional.
            n, n_last = lattice.count[begin], lattice.count[end - 1]
            if is_borrowed and steps & KEEP:
                _out_of_logs(work.emission, n, n + lattice.count[begin + 1])
                _carry_back(i, shared, sequences, borders, work)
            _out_of_logs(work.forward, size - n_last, size)
            _carry_forward(i, sequences, borders, ahead, work.forward, size)
