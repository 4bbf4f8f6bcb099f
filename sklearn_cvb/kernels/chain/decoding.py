"""What is read off a chain once its weights are known: paths, marginals, likelihoods.

Layout and conventions are those of `sklearn_cvb.kernels.chain.forward_backward`. Results for all
tokens are written to flat arrays: one entry per token (paths) or per allowed state of each token
(marginals).
"""

import math

import numpy as np

from sklearn_cvb.kernels.chain.forward_backward import (
    _SUSPICIOUS_MESSAGE,
    backward_pass,
    fill_emission,
    forward_backward,
    forward_pass,
    work_for,
)
from sklearn_cvb.kernels.chain.log_space import forward_backward_log, forward_pass_log
from sklearn_cvb.kernels.jit import jit, jit_allocating, jit_token

# Vectors do not pay below.
_FEW_STATES = 8


@jit
def best_states(lattice, posterior, begin, end, path):
    """State with the largest entry at each token of [begin, end) (ties: the lowest state)."""
    position = 0
    for t in range(begin, end):
        best = 0
        for j in range(1, lattice.count[t]):
            if posterior[position + j] > posterior[position + best]:
                best = j
        path[t] = lattice.state[lattice.first[t] + best]
        position += lattice.count[t]


@jit
def trace_back(lattice, begin, end, size, score, origin, path):
    """Follow the back-pointers of one sequence from its best last state."""
    n = lattice.count[end - 1]
    position = size - n
    best = 0
    for j in range(1, n):
        if score[position + j] > score[position + best]:
            best = j
    log_p = score[position + best]
    for t in range(end - 1, begin - 1, -1):
        path[t] = lattice.state[lattice.first[t] + best]
        best = origin[position + best]
        if t > begin:
            position -= lattice.count[t - 1]
    return log_p


@jit_token
def _extend_paths(transition, lattice, t, score, previous, position, origin):
    """Score of the best path to each state of token t, before its emission, and its origin.

    The scores of token t - 1 begin at `previous`, those of token t at `position`.
    """
    left, n_left = lattice.first[t - 1], lattice.count[t - 1]
    right, n_right = lattice.first[t], lattice.count[t]
    if n_right == transition.shape[0] and n_right > _FEW_STATES:
        # All states in their order on the right: whole rows of the table.
        for j in range(n_right):
            score[np.uint64(position + j)] = -math.inf
            origin[np.uint64(position + j)] = 0
        for k in range(0, n_left, 2):
            _take_better(transition, lattice, left, n_left, k, score, previous, position, origin)
        return
    for j in range(n_right):
        to = lattice.state[np.uint64(right + j)]
        best = -math.inf
        best_from = 0
        for k in range(n_left):
            step = transition[lattice.state[np.uint64(left + k)], to]
            value = score[np.uint64(previous + k)] + step
            if value > best:
                best = value
                best_from = k
        score[np.uint64(position + j)] = best
        origin[np.uint64(position + j)] = best_from


@jit_token
def _take_better(transition, lattice, left, n_left, k, score, previous, position, origin):
    """Take the paths through states k and k + 1 before where they score more than all so far."""
    other = min(k + 1, n_left - 1)
    row = transition[lattice.state[np.uint64(left + k)]]
    other_row = transition[lattice.state[np.uint64(left + other)]]
    message, other_message = score[np.uint64(previous + k)], score[np.uint64(previous + other)]
    for j in range(row.size):
        here = np.uint64(position + j)
        best, best_from = score[here], origin[here]
        value = message + row[np.uint64(j)]
        best_from = k if value > best else best_from
        best = value if value > best else best
        value = other_message + other_row[np.uint64(j)]
        best_from = other if value > best else best_from
        best = value if value > best else best
        score[here] = best
        origin[here] = best_from


@jit_allocating
def viterbi(log_weights, lattice, starts, path, log_p):
    """Most probable state path of every sequence (log space; ties go to the lowest state).

    A sequence that no path explains gets each token's best state by emission.

    Fills `path` (n_tokens,) with states and `log_p` (n_sequences,) with max over z of log p(x, z).
    """
    work = work_for(starts[:-1], starts[1:], lattice.count, log_weights.start.size)
    score = work.forward
    origin = np.empty(score.size, np.int32)
    for i in range(starts.size - 1):
        begin, end = starts[i], starts[i + 1]
        size = fill_emission(log_weights.emission, lattice, begin, end, 0.0, work.emission)
        position = 0
        previous = 0
        for t in range(begin, end):
            base, n = lattice.first[t], lattice.count[t]
            if t == begin:
                for j in range(n):
                    score[j] = log_weights.start[lattice.state[np.uint64(base + j)]]
                    origin[j] = 0
            else:
                _extend_paths(log_weights.transition, lattice, t, score, previous, position, origin)
            for j in range(n):
                score[np.uint64(position + j)] += work.emission[np.uint64(position + j)]
            previous = position
            position += n
        log_p[i] = trace_back(lattice, begin, end, size, score, origin, path)
        if log_p[i] == -math.inf:
            best_states(lattice, work.emission, begin, end, path)


@jit_allocating
def smoothed(weights, log_weights, lattice, starts, posterior, log_z):
    """p(z_t | x) of every token and log p(x) of every sequence (-inf: by emission)."""
    work = work_for(starts[:-1], starts[1:], lattice.count, weights.start.size)
    offset = 0
    for i in range(starts.size - 1):
        begin, end = starts[i], starts[i + 1]
        size = fill_emission(weights.emission, lattice, begin, end, 1.0, work.emission)
        log_z[i] = forward_backward(
            weights.start, weights.transition, lattice, begin, end, size, work
        )
        if math.isnan(log_z[i]):
            fill_emission(log_weights.emission, lattice, begin, end, 0.0, work.emission)
            log_z[i] = forward_backward_log(
                log_weights.start, log_weights.transition, lattice, begin, end, size, work
            )
        if log_z[i] == -math.inf:
            fill_by_emission(weights.emission, lattice, begin, end, work.posterior)
        for position in range(size):
            posterior[offset + position] = work.posterior[position]
        offset += size


@jit
def fill_by_emission(emission, lattice, begin, end, target):
    """p(z_t | x_t) of one sequence under equal priors; uniform where no state emits the token."""
    size = fill_emission(emission, lattice, begin, end, 1.0, target)
    position = size
    for t in range(end - 1, begin - 1, -1):
        n = lattice.count[t]
        position -= n
        total = 0.0
        for j in range(n):
            total += target[position + j]
        for j in range(n):
            target[position + j] = target[position + j] / total if total > 0.0 else 1.0 / n


@jit_allocating
def filtered(weights, log_weights, lattice, starts, posterior, log_z):
    """p(z_t | x_1..t) of every token and log p(x) of every sequence (-inf: by emission)."""
    work = work_for(starts[:-1], starts[1:], lattice.count, weights.start.size)
    offset = 0
    for i in range(starts.size - 1):
        begin, end = starts[i], starts[i + 1]
        log_z[i], size = filter_sequence(weights, log_weights, lattice, begin, end, work)
        for position in range(size):
            posterior[offset + position] = work.forward[position]
        offset += size


@jit
def filter_sequence(weights, log_weights, lattice, begin, end, work):
    """Filtered marginals of one sequence in `work.forward`; returns log p(x) and the size.

    The forward pass stands if no message came near underflow, or if the backward pass shows that
    nothing which came near it matters; otherwise log space decides.
    """
    size = fill_emission(weights.emission, lattice, begin, end, 1.0, work.emission)
    log_z = forward_pass(
        weights.start,
        weights.transition,
        lattice,
        begin,
        end,
        work.emission,
        work.forward,
        work.scale,
    )
    if not math.isnan(log_z):
        suspicious = False
        for position in range(size):
            if work.forward[position] < _SUSPICIOUS_MESSAGE:
                suspicious = True
        if suspicious and not backward_pass(
            weights.transition,
            lattice,
            begin,
            end,
            size,
            work.emission,
            work.posterior,
            work.scale,
        ):
            log_z = math.nan
    if math.isnan(log_z):
        fill_emission(log_weights.emission, lattice, begin, end, 0.0, work.emission)
        log_z = forward_pass_log(
            log_weights.start,
            log_weights.transition,
            lattice,
            begin,
            end,
            work.emission,
            work.forward,
            work.scale,
        )
        for position in range(size):
            work.forward[position] = math.exp(work.forward[position])
        if log_z == -math.inf:
            fill_by_emission(weights.emission, lattice, begin, end, work.forward)
    return log_z, size


@jit_allocating
def log_likelihood(weights, log_weights, lattice, starts, log_z):
    """log p(x) of every sequence (nats); -inf where no path explains it."""
    work = work_for(starts[:-1], starts[1:], lattice.count, weights.start.size)
    for i in range(starts.size - 1):
        log_z[i], _ = filter_sequence(weights, log_weights, lattice, starts[i], starts[i + 1], work)


@jit_token
def draw(weights, begin, size, rng):
    """Draw an index below `size` with probability proportional to `weights[begin + index]`."""
    total = 0.0
    for j in range(size):
        total += weights[begin + j]
    level = rng.random() * total
    for j in range(size - 1):
        level -= weights[begin + j]
        if level < 0.0:
            return j
    # Rounding may leave the level at 0: take the last state that has any weight.
    last = size - 1
    while last > 0 and weights[begin + last] == 0.0:
        last -= 1
    return last


@jit_allocating
def sample_paths(weights, log_weights, lattice, starts, rng, path, log_z):
    """Draw a state path from p(z | x) for every sequence: filter forward, sample backward."""
    work = work_for(starts[:-1], starts[1:], lattice.count, weights.start.size)
    chance = np.empty(weights.start.size)
    for i in range(starts.size - 1):
        begin, end = starts[i], starts[i + 1]
        log_z[i], position = filter_sequence(weights, log_weights, lattice, begin, end, work)
        for t in range(end - 1, begin - 1, -1):
            base, n = lattice.first[t], lattice.count[t]
            position -= n
            largest = -math.inf
            for j in range(n):
                chance[j] = math.log(work.forward[position + j])
                if t < end - 1:
                    chance[j] += log_weights.transition[lattice.state[base + j], path[t + 1]]
                largest = max(largest, chance[j])
            for j in range(n):
                chance[j] = math.exp(chance[j] - largest) if largest > -math.inf else 1.0
            path[t] = lattice.state[base + draw(chance, 0, n, rng)]
