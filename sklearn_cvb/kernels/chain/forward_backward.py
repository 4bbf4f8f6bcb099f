"""Forward-backward on a chain of hidden states: the messages, their buffers, and expected counts.
The lattice lists the allowed states of each token in slots: those of token t are first[t], first[t]
+ 1, ..., count[t] of them, each with its state and the cell of its emission parameter.

Conventions shared by all kernels
---------------------------------
Token t may take the states ``lattice.state[first[t] : first[t] + count[t]]``, ascending; a token
that may take all K states (an open one) lists 0..K-1 and their cells in a row, and its step is a
dense product. Cells are -1 for all states of a token or for none. Work arrays hold one sequence:
the entries of its tokens one after the other ("local" layout). ``emission`` is filled by the caller
with one weight per entry, so any emission family can use these kernels.
Transition weights need not be normalised. Equations 7 and 8 of Wang and Blunsom (2013).
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline, jit_token, jit_token_reduction
from sklearn_cvb.kernels.subnormal import subnormal_is_zero

# Below this scale, or above this backward message, mass may have been lost: use log space.
_SMALLEST_SCALE = 1e-290
_LARGEST_MESSAGE = 1e280

# Up to so many states a table of transitions stays in the nearest cache, wherever rows are read.
_CACHED_STATES = 64


class Lattice(NamedTuple):
    """Allowed states per token: slots first .. first + count."""

    first: np.ndarray  # (n_tokens,), first slot of each token
    count: np.ndarray  # (n_tokens,), number of states allowed
    state: np.ndarray  # (n_slots,), state of each slot, ascending within a token
    cell: np.ndarray  # (n_slots,), emission parameter of each slot; -1 where unobserved


class ChainWeights(NamedTuple):
    """Weights of a chain: start (K,), transition (K, K), emission (n_cells,)."""

    start: np.ndarray
    transition: np.ndarray
    emission: np.ndarray


class PassBuffers(NamedTuple):
    """Buffers of the two passes over one sequence; local entries, see `forward_backward`."""

    emission: np.ndarray
    forward: np.ndarray
    posterior: np.ndarray
    scale: np.ndarray  # (length,), scales of the forward pass


class UnitWorkspace(NamedTuple):
    """Buffers for one unit that is left out or drawn: those of `PassBuffers`, and more."""

    emission: np.ndarray
    forward: np.ndarray
    posterior: np.ndarray
    scale: np.ndarray
    block: np.ndarray  # pair marginals of one step, or the steps of a run or sequence
    table: np.ndarray  # (K, K), a sum of pairs, or the logs of a transition table
    row: np.ndarray  # (K,), one weight per state
    log_row: np.ndarray  # (K,), the logs of a start row
    ones: np.ndarray  # (K,), start weights of a stretch that nothing precedes
    scales: np.ndarray  # (3, K), factors of emission weights by state


def sequence_entries(count: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Number of (token, state) entries of each sequence."""
    before = np.concatenate([[0], np.cumsum(count[starts[0] : starts[-1]], dtype=np.int64)])
    return np.diff(before[starts - starts[0]])


def passes_for(starts: np.ndarray, count: np.ndarray) -> PassBuffers:
    """Buffers that fit the longest of the sequences."""
    entries = int(sequence_entries(count, starts).max(initial=1))
    length = int(np.diff(starts).max(initial=1))
    return PassBuffers(np.empty(entries), np.empty(entries), np.empty(entries), np.empty(length))


def workspace_of_size(entries: int, length: int, n_states: int, block: int) -> UnitWorkspace:
    """Buffers for so many entries, tokens and entries of pair marginals."""
    return UnitWorkspace(
        np.empty(entries),
        np.empty(entries),
        np.empty(entries),
        np.empty(length),
        np.empty(block),
        np.empty((n_states, n_states)),
        np.zeros(n_states),
        np.empty(n_states),
        np.ones(n_states),
        np.empty((3, n_states)),
    )


@jit_inline
def fill_emission(weights, lattice, begin, end, unobserved, target):
    """Copy the emission weights of one sequence to `target`; return the number of entries."""
    position = np.int64(0)
    for t in range(begin, end):
        base = lattice.first[t]
        for slot in range(base, base + lattice.count[t]):
            cell = lattice.cell[slot]
            target[position] = weights[cell] if cell >= 0 else unobserved
            position += 1
    return position


@jit_inline
def advance_dense(transition, message, result):
    """result[j] = sum over i of message[i] transition[i, j], all states allowed on both sides."""
    n_states = transition.shape[0]
    whole = n_states - n_states % 4
    for j in range(n_states):
        result[j] = 0.0
    # Four rows at a time: a quarter of the loads and stores of the result.
    for i in range(0, whole, 4):
        w0, w1, w2, w3 = message[i], message[i + 1], message[i + 2], message[i + 3]
        r0, r1, r2, r3 = transition[i], transition[i + 1], transition[i + 2], transition[i + 3]
        for j in range(n_states):
            result[j] += w0 * r0[j] + w1 * r1[j] + w2 * r2[j] + w3 * r3[j]
    for i in range(whole, n_states):
        weight = message[i]
        row = transition[i]
        for j in range(n_states):
            result[j] += weight * row[j]


@jit_inline
def _column_product(transition, to, message, before):
    """Sum over all i of message[i] transition[i, to]; the message begins at `before`."""
    n_states = transition.shape[0]
    whole = n_states - n_states % 4
    total, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    # A column is not a vector: four sums at a time, so that none waits for the one before.
    for i in range(0, whole, 4):
        here, row = np.uint64(before + i), np.uint64(i)
        total += message[here] * transition[row, to]
        s1 += message[here + np.uint64(1)] * transition[row + np.uint64(1), to]
        s2 += message[here + np.uint64(2)] * transition[row + np.uint64(2), to]
        s3 += message[here + np.uint64(3)] * transition[row + np.uint64(3), to]
    for i in range(whole, n_states):
        total += message[np.uint64(before + i)] * transition[np.uint64(i), to]
    return total + s1 + s2 + s3


@jit_inline
def advance_lattice(transition, lattice, message, before, t, result, position):
    """Same as `advance_dense` for the states allowed at tokens t - 1 and t."""
    n_states = transition.shape[0]
    left, n_left = lattice.first[t - 1], lattice.count[t - 1]
    right, n_right = lattice.first[t], lattice.count[t]
    if n_right == n_states:
        # All states in their order on the right: whole rows of the table.
        for j in range(n_states):
            result[np.uint64(position + j)] = 0.0
        for i in range(n_left):
            weight = message[np.uint64(before + i)]
            row = transition[lattice.state[np.uint64(left + i)]]
            for j in range(n_states):
                result[np.uint64(position + j)] += weight * row[np.uint64(j)]
    else:
        for j in range(n_right):
            to = lattice.state[np.uint64(right + j)]
            total = 0.0
            if n_left == n_states:
                total = _column_product(transition, to, message, before)
            else:
                for i in range(n_left):
                    step = transition[lattice.state[np.uint64(left + i)], to]
                    total += message[np.uint64(before + i)] * step
            result[np.uint64(position + j)] = total


@jit_token_reduction
def sum_row(values, begin, n):
    """Sum of a row of n values from `begin` on."""
    total = 0.0
    for j in range(n):
        total += values[np.uint64(begin + j)]
    return total


@jit_token_reduction
def _row_product(row, message, following):
    """Sum over all j of row[j] message[j]; the message begins at `following`."""
    total = 0.0
    for j in range(row.size):
        total += row[np.uint64(j)] * message[np.uint64(following + j)]
    return total


@jit_token_reduction
def _four_row_products(r0, r1, r2, r3, message):
    """Sums over all j of four rows times the message, which is read once for all of them."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    for j in range(message.size):
        here = np.uint64(j)
        weight = message[here]
        s0 += r0[here] * weight
        s1 += r1[here] * weight
        s2 += r2[here] * weight
        s3 += r3[here] * weight
    return s0, s1, s2, s3


@jit_inline
def retreat_dense(transition, message, result):
    """result[i] = sum over j of transition[i, j] message[j], all states allowed on both sides."""
    whole = result.size - result.size % 4 if result.size <= _CACHED_STATES else 0
    for i in range(0, whole, 4):
        r0, r1, r2, r3 = transition[i], transition[i + 1], transition[i + 2], transition[i + 3]
        s0, s1, s2, s3 = _four_row_products(r0, r1, r2, r3, message)
        result[i] = s0
        result[i + 1] = s1
        result[i + 2] = s2
        result[i + 3] = s3
    for i in range(whole, result.size):
        result[i] = _row_product(transition[i], message, np.int64(0))


@jit_inline
def retreat_lattice(transition, lattice, message, following, t, result, position):
    """Same as `retreat_dense` for the states allowed at tokens t and t + 1."""
    left, n_left = lattice.first[t], lattice.count[t]
    right, n_right = lattice.first[t + 1], lattice.count[t + 1]
    if n_left == transition.shape[0] and n_right < n_left:
        # All states in their order on the left: whole columns of the table.
        for i in range(n_left):
            result[np.uint64(position + i)] = 0.0
        for j in range(n_right):
            to = lattice.state[np.uint64(right + j)]
            weight = message[np.uint64(following + j)]
            for i in range(n_left):
                result[np.uint64(position + i)] += transition[np.uint64(i), to] * weight
    else:
        for i in range(n_left):
            row = transition[lattice.state[np.uint64(left + i)]]
            total = 0.0
            if n_right == row.size:
                total = _row_product(row, message, following)
            else:
                for j in range(n_right):
                    to = lattice.state[np.uint64(right + j)]
                    total += row[to] * message[np.uint64(following + j)]
            result[np.uint64(position + i)] = total


@jit_token_reduction
def _weigh(message, emission, position, n):
    """Multiply the message of one token by its emission weights; returns the sum."""
    total = 0.0
    for j in range(n):
        here = np.uint64(position + j)
        message[here] *= emission[here]
        total += message[here]
    return total


@jit_token_reduction
def _weigh_back(message, emission, position, n, inverse):
    """Multiply emission weights by the backward message and `inverse`; returns its sum."""
    total = 0.0
    for j in range(n):
        here = np.uint64(position + j)
        total += message[here]
        emission[here] *= message[here] * inverse
    return total


@jit_called
def forward_pass(start, transition, lattice, begin, end, emission, message, scale):
    """Scaled forward messages (probability space).

    Fills `message` (local) with p(z_t | x_1..t) and `scale` with p(x_t | x_1..t-1). Returns
    log p(x), or NaN where the scale leaves the range of float64.
    """
    n_states = transition.shape[0]
    position = np.int64(0)
    previous = np.int64(0)
    before = 0
    log_z = 0.0
    product = 1.0
    for t in range(begin, end):
        n = lattice.count[t]
        if t == begin:
            base = lattice.first[t]
            for j in range(n):
                message[j] = start[lattice.state[base + j]]
        elif n == n_states and before == n_states:
            advance_dense(transition, message[previous:position], message[position : position + n])
        else:
            advance_lattice(transition, lattice, message, previous, t, message, position)
        total = _weigh(message, emission, position, n)
        # Written so that NaN is lost, too.
        if not (_SMALLEST_SCALE < total < _LARGEST_MESSAGE):
            return math.nan
        inverse = 1.0 / total
        for j in range(n):
            message[np.uint64(position + j)] *= inverse
        scale[t - begin] = total
        # A log for many tokens instead of one for each.
        further = product * total
        if not (1e-150 < further < 1e150):
            # Two scales alone may leave float64's range together.
            log_z += math.log(product)
            further = total
        product = further
        previous = position
        before = n
        position += n
    return log_z + math.log(product)


@jit_called
def backward_pass(transition, lattice, begin, end, size, emission, message, scale):
    """Scaled backward messages (probability space).

    Fills `message` (local) with p(x_t+1.. | z_t) / p(x_t+1.. | x_1..t) and turns `emission` into
    g_t(j) = emission_t(j) message_t(j) / scale_t, so that the pair marginal is
    forward_t-1(i) transition[i, j] g_t(j). Returns False where float64 may have lost mass.
    """
    n_states = transition.shape[0]
    position = size
    following = size
    after = 0
    for t in range(end - 1, begin - 1, -1):
        n = lattice.count[t]
        position -= n
        if t == end - 1:
            for j in range(position, position + n):
                message[j] = 1.0
        elif n == n_states and after == n_states:
            retreat_dense(
                transition, emission[following : following + n], message[position : position + n]
            )
        else:
            retreat_lattice(transition, lattice, emission, following, t, message, position)
        total = _weigh_back(message, emission, position, n, 1.0 / scale[t - begin])
        if not (total < _LARGEST_MESSAGE):
            return False
        following = position
        after = n
    return True


@jit_inline
def forward_backward(start, transition, lattice, begin, end, size, work):
    """Posterior of one sequence in probability space.

    `work.emission` holds the emission weights on entry and g (see `backward_pass`) on return;
    `work.posterior` receives p(z_t | x). Returns log p(x), or NaN: use `forward_backward_log`.
    """
    log_z = forward_pass(
        start, transition, lattice, begin, end, work.emission, work.forward, work.scale
    )
    if not math.isnan(log_z) and not backward_pass(
        transition, lattice, begin, end, size, work.emission, work.posterior, work.scale
    ):
        log_z = math.nan
    # So far they were backward messages.
    for position in range(size):
        work.posterior[position] *= work.forward[position]
    return log_z


@jit_inline
def add_unary(lattice, begin, end, posterior, start, emission):
    """Add one sequence's posteriors to the start and emission counts."""
    first = lattice.first[begin]
    for j in range(lattice.count[begin]):
        start[lattice.state[first + j]] += posterior[j]
    position = 0
    for t in range(begin, end):
        base = lattice.first[t]
        for slot in range(base, base + lattice.count[t]):
            cell = lattice.cell[slot]
            if cell >= 0:
                emission[cell] += posterior[position]
            position += 1


@jit_token
def _add_scaled(row, weight, values, at):
    """row += weight * values[at:]: one row at a time is a vector loop, more may overlap."""
    for j in range(row.size):
        row[j] += weight * values[np.uint64(at + j)]


@jit_inline
def add_outer(lattice, t, work, before, position, total):
    """total[i, j] += forward_t-1(i) g_t(j): pair marginals without their transition factor."""
    left, n_left = np.int64(lattice.first[t - 1]), np.int64(lattice.count[t - 1])
    right, n_right = np.int64(lattice.first[t]), np.int64(lattice.count[t])
    if n_left == total.shape[0] and n_right < n_left:
        # All states in their order on the left: whole columns of the table.
        for j in range(n_right):
            to = lattice.state[np.uint64(right + j)]
            weight = work.emission[np.uint64(position + j)]
            for i in range(n_left):
                total[np.uint64(i), to] += work.forward[np.uint64(before + i)] * weight
    else:
        for i in range(n_left):
            row = total[lattice.state[np.uint64(left + i)]]
            weight = work.forward[np.uint64(before + i)]
            if n_right == row.size:
                _add_scaled(row, weight, work.emission, position)
            else:
                for j in range(n_right):
                    to = lattice.state[np.uint64(right + j)]
                    row[to] += weight * work.emission[np.uint64(position + j)]


@jit
def expected_counts(weights, lattice, starts, times, members, passes, counts, log_z):
    """E-step over the sequences `members`: add to `counts`, fill their `log_z`.

    ``counts.transition`` receives the sums over t of forward_t-1(i) g_t(j) (see `backward_pass`):
    times transition[i, j] they are expected counts. Each sequence counts so many ``times``; one
    that float64 may lose adds nothing, and its log Z is NaN.
    """
    subnormal_is_zero(True)
    for m in range(members.size):
        i = members[m]
        begin, end = starts[i], starts[i + 1]
        size = fill_emission(weights.emission, lattice, begin, end, 1.0, passes.emission)
        log_z[i] = forward_backward(
            weights.start, weights.transition, lattice, begin, end, size, passes
        )
        # Nothing has been added yet: log space does the whole sequence.
        if math.isnan(log_z[i]):
            continue
        for position in range(size if times[i] != 1.0 else 0):
            passes.posterior[position] *= times[i]
            passes.emission[position] *= times[i]
        add_unary(lattice, begin, end, passes.posterior, counts.start, counts.emission)
        before = np.int64(0)
        for t in range(begin + 1, end):
            position = before + lattice.count[t - 1]
            add_outer(lattice, t, passes, before, position, counts.transition)
            before = position
    subnormal_is_zero(False)
