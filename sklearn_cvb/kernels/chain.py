"""Dynamic programs on a chain of hidden states: forward-backward, Viterbi, filtering, sampling.

Conventions shared by all kernels
---------------------------------
Token t may take the states ``lattice.state[first[t] : first[t] + count[t]]``, ascending; a token
that may take all K states lists 0..K-1, and its step is a dense matrix-vector product. Work arrays
hold one sequence: the entries of its tokens one after the other ("local" layout). ``emission`` is
filled by the caller with one weight per entry, so any emission family can use these kernels.
Transition weights need not be normalised. Equations 7 and 8 of Wang and Blunsom (2013).
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_reduction

# Below this scale, or above this backward message, mass may have been lost: use log space.
_SMALLEST_SCALE = 1e-290
_LARGEST_MESSAGE = 1e280
_SUSPICIOUS_MESSAGE = 1e-200


class Lattice(NamedTuple):
    """Allowed states per token.

    Attributes
    ----------
    first : ndarray of shape (n_tokens,), int32
        First slot of each token.
    count : ndarray of shape (n_tokens,), int32
        Number of states allowed at each token.
    state : ndarray of shape (n_slots,), int32
        State of each slot, ascending within a token.
    cell : ndarray of shape (n_slots,), int32
        Emission parameter of each slot; -1 where the token is unobserved.
    """

    first: np.ndarray
    count: np.ndarray
    state: np.ndarray
    cell: np.ndarray


class Weights(NamedTuple):
    """Weights of a chain: start (K,), transition (K, K), emission (n_cells,)."""

    start: np.ndarray
    transition: np.ndarray
    emission: np.ndarray


class Work(NamedTuple):
    """Buffers for one sequence: local entries (emission, forward, posterior) and its scales."""

    emission: np.ndarray
    forward: np.ndarray
    posterior: np.ndarray
    scale: np.ndarray
    block: np.ndarray


@jit
def work_for(begins, ends, count, n_states):
    """Allocate buffers that fit the longest of the given stretches of tokens."""
    entries = 1
    length = 1
    for i in range(begins.size):
        size = 0
        for t in range(begins[i], ends[i]):
            size += count[t]
        entries = max(entries, size)
        length = max(length, ends[i] - begins[i])
    return Work(
        np.empty(entries),
        np.empty(entries),
        np.empty(entries),
        np.empty(length),
        np.empty(n_states * n_states),
    )


@jit
def fill_emission(weights, lattice, begin, end, unobserved, target):
    """Copy the emission weights of one sequence to `target`; return the number of entries."""
    position = 0
    for t in range(begin, end):
        base = lattice.first[t]
        for slot in range(base, base + lattice.count[t]):
            cell = lattice.cell[slot]
            target[position] = weights[cell] if cell >= 0 else unobserved
            position += 1
    return position


@jit
def advance_dense(transition, message, result):
    """result[j] = sum over i of message[i] transition[i, j], all states allowed on the right."""
    n_states = transition.shape[1]
    for j in range(n_states):
        result[j] = 0.0
    for i in range(n_states):
        weight = message[i]
        row = transition[i]
        for j in range(n_states):
            result[j] += weight * row[j]


@jit
def advance_lattice(transition, message, left, result, right):
    """Same as `advance_dense` for the states `left` -> `right`."""
    for j in range(right.size):
        total = 0.0
        to = right[j]
        for i in range(left.size):
            total += message[i] * transition[left[i], to]
        result[j] = total


@jit_reduction
def retreat_dense(transition, message, result):
    """result[i] = sum over j of transition[i, j] message[j], all states allowed on the left."""
    n_states = transition.shape[1]
    for i in range(n_states):
        row = transition[i]
        total = 0.0
        for j in range(n_states):
            total += row[j] * message[j]
        result[i] = total


@jit
def retreat_lattice(transition, message, right, result, left):
    """Same as `retreat_dense` for the states `left` <- `right`."""
    for i in range(left.size):
        total = 0.0
        row = transition[left[i]]
        for j in range(right.size):
            total += row[right[j]] * message[j]
        result[i] = total


@jit
def states_of(lattice, t):
    """The allowed states of token t."""
    base = lattice.first[t]
    return lattice.state[base : base + lattice.count[t]]


@jit
def forward_pass(start, transition, lattice, begin, end, emission, message, scale):
    """Scaled forward messages (probability space).

    Fills `message` (local) with p(z_t | x_1..t) and `scale` with p(x_t | x_1..t-1). Returns
    log p(x), or NaN where the scale leaves the range of float64.
    """
    n_states = transition.shape[0]
    position = 0
    previous = 0
    log_z = 0.0
    product = 1.0
    for t in range(begin, end):
        right = states_of(lattice, t)
        n = right.size
        now = message[position : position + n]
        if t == begin:
            for j in range(n):
                now[j] = start[right[j]]
        else:
            before = message[previous:position]
            if n == n_states and before.size == n_states:
                advance_dense(transition, before, now)
            else:
                advance_lattice(transition, before, states_of(lattice, t - 1), now, right)
        total = 0.0
        for j in range(n):
            now[j] *= emission[position + j]
            total += now[j]
        if not (_SMALLEST_SCALE < total < _LARGEST_MESSAGE):
            return math.nan
        inverse = 1.0 / total
        for j in range(n):
            now[j] *= inverse
        scale[t - begin] = total
        product *= total
        if not (1e-150 < product < 1e150):
            log_z += math.log(product)
            product = 1.0
        previous = position
        position += n
    return log_z + math.log(product)


@jit
def backward_pass(transition, lattice, begin, end, size, emission, message, scale):
    """Scaled backward messages (probability space).

    Fills `message` (local) with p(x_t+1.. | z_t) / p(x_t+1.. | x_1..t) and turns `emission` into
    g_t(j) = emission_t(j) message_t(j) / scale_t, so that the pair marginal is
    forward_t-1(i) transition[i, j] g_t(j). Returns False where float64 may have lost mass.
    """
    n_states = transition.shape[0]
    position = size
    following = size
    for t in range(end - 1, begin - 1, -1):
        left = states_of(lattice, t)
        n = left.size
        position -= n
        now = message[position : position + n]
        if t == end - 1:
            for j in range(n):
                now[j] = 1.0
        else:
            right = states_of(lattice, t + 1)
            after = emission[following : following + right.size]
            if n == n_states and right.size == n_states:
                retreat_dense(transition, after, now)
            else:
                retreat_lattice(transition, after, right, now, left)
        inverse = 1.0 / scale[t - begin]
        total = 0.0
        for j in range(n):
            total += now[j]
            emission[position + j] *= now[j] * inverse
        if not (total < _LARGEST_MESSAGE):
            return False
        following = position
    return True


@jit
def forward_backward(start, transition, lattice, begin, end, size, work):
    """Posterior of one sequence in probability space.

    `work.emission` holds the emission weights on entry and g (see `backward_pass`) on return;
    `work.posterior` receives p(z_t | x). Returns log p(x), or NaN: use `forward_backward_log`.
    """
    log_z = forward_pass(
        start, transition, lattice, begin, end, work.emission, work.forward, work.scale
    )
    if math.isnan(log_z):
        return log_z
    if not backward_pass(
        transition, lattice, begin, end, size, work.emission, work.posterior, work.scale
    ):
        return math.nan
    for position in range(size):
        work.posterior[position] *= work.forward[position]
    return log_z


@jit
def log_add(a, b):
    """log(exp(a) + exp(b)), with -inf as the log of 0."""
    if a < b:
        a, b = b, a
    if b == -math.inf:
        return a
    return a + math.log1p(math.exp(b - a))


@jit
def forward_pass_log(start, transition, lattice, begin, end, emission, message):
    """Forward messages log p(x_1..t, z_t); all weights are logs. Returns log p(x)."""
    position = 0
    previous = 0
    total = -math.inf
    for t in range(begin, end):
        right = states_of(lattice, t)
        total = -math.inf
        for j in range(right.size):
            if t == begin:
                value = start[right[j]]
            else:
                left = states_of(lattice, t - 1)
                value = -math.inf
                for i in range(left.size):
                    value = log_add(value, message[previous + i] + transition[left[i], right[j]])
            message[position + j] = value + emission[position + j]
            total = log_add(total, message[position + j])
        previous = position
        position += right.size
    return total


@jit
def forward_backward_log(start, transition, lattice, begin, end, size, work):
    """Posterior of one sequence in log space, for weights whose products leave float64.

    Same contract as `forward_backward` with logs for `start`, `transition`, `work.emission`
    (which returns log g) and `work.forward`. Returns log p(x), -inf if no path explains it.
    """
    log_z = forward_pass_log(start, transition, lattice, begin, end, work.emission, work.forward)
    if log_z == -math.inf:
        return log_z
    position = size
    following = size
    for t in range(end - 1, begin - 1, -1):
        left = states_of(lattice, t)
        position -= left.size
        for i in range(left.size):
            value = 0.0
            if t < end - 1:
                right = states_of(lattice, t + 1)
                value = -math.inf
                for j in range(right.size):
                    value = log_add(
                        value, transition[left[i], right[j]] + work.emission[following + j]
                    )
            # From here on the entry is log g with the sequence's total taken out once.
            work.posterior[position + i] = math.exp(
                work.forward[position + i] + value - (log_z if t == end - 1 else 0.0)
            )
            work.emission[position + i] += value - (log_z if t == end - 1 else 0.0)
        following = position
    return log_z


@jit
def pair_block(transition, work, left, right, before, position, in_log, block):
    """Pair marginals p(z_t-1, z_t | x) of one step, row by row in `block`.

    `before` and `position` are the local positions of the two tokens. With `in_log`,
    `transition` holds logs and `work` comes from `forward_backward_log`.
    """
    n = right.size
    for i in range(left.size):
        row = transition[left[i]]
        weight = work.forward[before + i]
        for j in range(n):
            if in_log:
                block[i * n + j] = math.exp(weight + row[right[j]] + work.emission[position + j])
            else:
                block[i * n + j] = weight * row[right[j]] * work.emission[position + j]


@jit
def add_outer(work, left, right, before, position, total):
    """total[i, j] += forward_t-1(i) g_t(j): pair marginals without their transition factor."""
    n_states = total.shape[1]
    if right.size == n_states:
        message = work.emission[position : position + n_states]
        for i in range(left.size):
            weight = work.forward[before + i]
            row = total[left[i]]
            for j in range(n_states):
                row[j] += weight * message[j]
    else:
        for i in range(left.size):
            weight = work.forward[before + i]
            row = total[left[i]]
            for j in range(right.size):
                row[right[j]] += weight * work.emission[position + j]


@jit
def add_unary(lattice, begin, end, posterior, start, emission):
    """Add one sequence's posteriors to the start and emission counts."""
    first = states_of(lattice, begin)
    for j in range(first.size):
        start[first[j]] += posterior[j]
    position = 0
    for t in range(begin, end):
        base = lattice.first[t]
        for slot in range(base, base + lattice.count[t]):
            cell = lattice.cell[slot]
            if cell >= 0:
                emission[cell] += posterior[position]
            position += 1


@jit
def expected_counts(weights, lattice, starts, counts, log_z):
    """E-step: add the expected counts of all sequences to `counts`, fill `log_z`.

    Probability space. A sequence whose `log_z` comes back as NaN adds nothing and wants
    `expected_counts_log`.
    """
    work = work_for(starts[:-1], starts[1:], lattice.count, weights.start.size)
    outer = np.zeros_like(weights.transition)
    for i in range(starts.size - 1):
        begin, end = starts[i], starts[i + 1]
        size = fill_emission(weights.emission, lattice, begin, end, 1.0, work.emission)
        log_z[i] = forward_backward(
            weights.start, weights.transition, lattice, begin, end, size, work
        )
        if math.isnan(log_z[i]):
            continue
        add_unary(lattice, begin, end, work.posterior, counts.start, counts.emission)
        before = 0
        for t in range(begin + 1, end):
            left = states_of(lattice, t - 1)
            position = before + left.size
            add_outer(work, left, states_of(lattice, t), before, position, outer)
            before = position
    for i in range(outer.shape[0]):
        for j in range(outer.shape[1]):
            counts.transition[i, j] += outer[i, j] * weights.transition[i, j]


@jit
def expected_counts_log(log_weights, lattice, starts, counts, log_z):
    """E-step in log space for the sequences whose `log_z` is NaN; -inf where impossible."""
    work = work_for(starts[:-1], starts[1:], lattice.count, log_weights.start.size)
    for i in range(starts.size - 1):
        if not math.isnan(log_z[i]):
            continue
        begin, end = starts[i], starts[i + 1]
        size = fill_emission(log_weights.emission, lattice, begin, end, 0.0, work.emission)
        log_z[i] = forward_backward_log(
            log_weights.start, log_weights.transition, lattice, begin, end, size, work
        )
        if log_z[i] == -math.inf:
            continue
        add_unary(lattice, begin, end, work.posterior, counts.start, counts.emission)
        before = 0
        for t in range(begin + 1, end):
            left = states_of(lattice, t - 1)
            right = states_of(lattice, t)
            position = before + left.size
            pair_block(
                log_weights.transition, work, left, right, before, position, True, work.block
            )
            for a in range(left.size):
                for b in range(right.size):
                    counts.transition[left[a], right[b]] += work.block[a * right.size + b]
            before = position
