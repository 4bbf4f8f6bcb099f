"""Decoding of a chain under given weights: best paths (Viterbi), sampled paths, smoothed and
filtered marginals, and likelihoods.

Layout and conventions are those of `sklearn_cvb.kernels.chain.forward_backward`. Results for all
tokens are written to flat arrays: one entry per token (paths) or per allowed state of each token
(marginals). Sequences that float64 loses are done in log space.
"""

import math

import numpy as np

from sklearn_cvb.kernels.chain.forward_backward import (
    ChainWeights,
    Lattice,
    backward_pass,
    fill_emission,
    forward_pass,
    passes_for,
    sequence_entries,
)
from sklearn_cvb.kernels.chain.log_space import marginals_log
from sklearn_cvb.kernels.jit import jit, jit_inline, jit_token
from sklearn_cvb.kernels.subnormal import subnormal_is_zero

# Vectors do not pay below.
_FEW_STATES = 8
# A forward message below this may have lost mass that matters further on.
_SUSPICIOUS_MESSAGE = 1e-200
# Where no weight but 0 is a smaller share of the largest, products with messages do not underflow.
_SUSPICIOUS_SHARE = 1e-50
# Paths are drawn for so many entries at a time.
_ENTRIES = 2**20


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


@jit_inline
def _take_better(transition, lattice, t, k, score, previous, position, origin):
    """Take the paths through states k and k + 1 of token t - 1 where they score more."""
    left = lattice.first[t - 1]
    other = min(k + 1, lattice.count[t - 1] - 1)
    row = transition[lattice.state[np.uint64(left + k)]]
    other_row = transition[lattice.state[np.uint64(left + other)]]
    message, other_message = score[np.uint64(previous + k)], score[np.uint64(previous + other)]
    for j in range(row.size):
        here = np.uint64(position + j)
        best, best_from = score[here], origin[here]
        # Selections, not branches, so that this is a vector loop; ties keep the lower state.
        value = message + row[np.uint64(j)]
        best_from = k if value > best else best_from
        best = value if value > best else best
        value = other_message + other_row[np.uint64(j)]
        best_from = other if value > best else best_from
        best = value if value > best else best
        score[here] = best
        origin[here] = best_from


@jit_inline
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
            _take_better(transition, lattice, t, k, score, previous, position, origin)
    else:
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


@jit_inline
def _trace_back(lattice, begin, end, last, score, origin, path):
    """Follow the back-pointers of one sequence from its best last state; returns its score.

    The entries of the last token begin at `last`.
    """
    position = last
    best = 0
    for j in range(1, lattice.count[end - 1]):
        if score[position + j] > score[position + best]:
            best = j
    log_p = score[position + best]
    for t in range(end - 1, begin - 1, -1):
        path[t] = lattice.state[lattice.first[t] + best]
        best = origin[position + best]
        if t > begin:
            position -= lattice.count[t - 1]
    return log_p


@jit
def best_paths(log_weights, lattice, starts, score, origin, path, log_p):
    """Most probable state path of every sequence (log space; ties go to the lowest state).

    `score` (float64) and `origin` (int32) are buffers for the entries of the longest sequence.
    Fills `path` (n_tokens,) with argmax over z of log p(x, z), and `log_p` (n_sequences,) with the
    maximum: -inf where no path explains a sequence.
    """
    for i in range(starts.size - 1):
        begin, end = starts[i], starts[i + 1]
        position, previous = 0, 0
        for t in range(begin, end):
            base, n = lattice.first[t], lattice.count[t]
            if t == begin:
                for j in range(n):
                    score[j] = log_weights.start[lattice.state[np.uint64(base + j)]]
                    origin[j] = 0
            else:
                _extend_paths(log_weights.transition, lattice, t, score, previous, position, origin)
            for j in range(n):
                cell = lattice.cell[np.uint64(base + j)]
                if cell >= 0:
                    score[np.uint64(position + j)] += log_weights.emission[cell]
            previous = position
            position += n
        log_p[i] = _trace_back(lattice, begin, end, previous, score, origin, path)


def viterbi(
    log_weights: ChainWeights,
    lattice: Lattice,
    starts: np.ndarray,
    path: np.ndarray,
    log_p: np.ndarray,
) -> None:
    """Fill in the most probable state path of every sequence, argmax over z of p(x, z).

    Ties go to the lowest state. ``log_p`` (n_sequences,) receives the log of the maximum (nats): at
    -inf no path explains the sequence, and each token gets its best state by emission.
    """
    entries = int(sequence_entries(lattice.count, starts).max())
    score, origin = np.empty(entries), np.empty(entries, np.int32)
    best_paths(log_weights, lattice, starts, score, origin, path, log_p)
    for i in np.flatnonzero(np.isneginf(log_p)):
        emission = _emission_entries(log_weights.emission, lattice, starts[i], starts[i + 1], 0.0)
        best_states(lattice, emission, starts[i], starts[i + 1], path)


@jit_inline
def _filter(weights, lattice, begin, end, passes):
    """Forward messages of one sequence: the number of its entries, and log p(x), NaN if lost."""
    start, transition, emission = weights.start, weights.transition, passes.emission
    size = fill_emission(weights.emission, lattice, begin, end, 1.0, emission)
    log_z = forward_pass(
        start, transition, lattice, begin, end, emission, passes.forward, passes.scale
    )
    return size, log_z


@jit
def marginals(weights, lattice, starts, smooth, passes, target, log_z):
    """p(z_t | x) of every token, or p(z_t | x_1..t) without `smooth`, in probability space.

    Fills `target` (n_entries,), or nothing where it is empty, and `log_z` (n_sequences,) with
    log p(x): NaN where float64 may have lost mass. The forward pass alone stands if no message came
    near underflow, or if the backward pass shows that nothing which came near it matters.
    """
    subnormal_is_zero(True)
    offset = 0
    for i in range(starts.size - 1):
        begin, end = starts[i], starts[i + 1]
        size, log_z[i] = _filter(weights, lattice, begin, end, passes)
        if math.isnan(log_z[i]):
            offset += size
            continue
        # Filtering needs a backward pass only to see whether what was lost matters.
        suspicious = smooth
        for position in range(size):
            if passes.forward[position] < _SUSPICIOUS_MESSAGE:
                suspicious = True
        if suspicious and not backward_pass(
            weights.transition,
            lattice,
            begin,
            end,
            size,
            passes.emission,
            passes.posterior,
            passes.scale,
        ):
            log_z[i] = math.nan
        if target.size:
            for position in range(size):
                value = passes.forward[position]
                target[offset + position] = value * passes.posterior[position] if smooth else value
        offset += size
    subnormal_is_zero(False)


@jit
def forward_likelihoods(weights, lattice, starts, zeros_are_safe, passes, log_z):
    """Fill `log_z` with log p(x) of one sequence after the other, by forward passes alone.

    Returns the number of sequences before the first one where these may lose mass, see `marginals`;
    with `zeros_are_safe` a message of 0 has lost none.
    """
    subnormal_is_zero(True)
    for i in range(starts.size - 1):
        begin, end = starts[i], starts[i + 1]
        size, log_z[i] = _filter(weights, lattice, begin, end, passes)
        is_safe = not math.isnan(log_z[i])
        if is_safe:
            for position in range(size):
                value = passes.forward[position]
                if value < _SUSPICIOUS_MESSAGE and not (zeros_are_safe and value == 0.0):
                    is_safe = False
        if not is_safe:
            subnormal_is_zero(False)
            return i
    subnormal_is_zero(False)
    return starts.size - 1


def _infer(weights, log_weights, lattice, starts, smooth, target, log_z, as_logs=False):
    """Marginals and log p(x) of all sequences; in log space of those that float64 loses.

    `as_logs` fills in the logs of what is filtered, of which exp may underflow.
    """
    passes = passes_for(starts, lattice.count)
    marginals(weights, lattice, starts, smooth, passes, target, log_z)
    if as_logs:
        with np.errstate(divide="ignore", invalid="ignore"):
            np.log(target, out=target)
    lost = np.flatnonzero(np.isnan(log_z))
    if not len(lost):
        return
    ends = np.cumsum(sequence_entries(lattice.count, starts))
    begins = np.append(0, ends[:-1])
    for i in lost:
        bounds, own = (starts[i], starts[i + 1]), target[begins[i] : ends[i]]
        log_z[i] = marginals_log(log_weights, lattice, *bounds, smooth, as_logs, passes, own)
        if log_z[i] == -math.inf and own.size:
            shares = emission_posterior(weights.emission, lattice, *bounds)
            with np.errstate(divide="ignore"):
                own[:] = np.log(shares) if as_logs else shares


def smoothed(
    weights: ChainWeights,
    log_weights: ChainWeights,
    lattice: Lattice,
    starts: np.ndarray,
    posterior: np.ndarray,
    log_z: np.ndarray,
) -> None:
    """Fill in p(z_t | x) of every token's entries and log p(x) of every sequence.

    `log_weights` are the same weights; logs that underflow nowhere. A sequence that no path
    explains gets -inf, and its tokens the posteriors of `emission_posterior`.
    """
    _infer(weights, log_weights, lattice, starts, True, posterior, log_z)


def filtered(
    weights: ChainWeights,
    log_weights: ChainWeights,
    lattice: Lattice,
    starts: np.ndarray,
    posterior: np.ndarray,
    log_z: np.ndarray,
) -> None:
    """Fill in p(z_t | x_1..t) of every token and log p(x) of every sequence, as `smoothed`."""
    _infer(weights, log_weights, lattice, starts, False, posterior, log_z)


def log_likelihood(
    weights: ChainWeights,
    log_weights: ChainWeights,
    lattice: Lattice,
    starts: np.ndarray,
    log_z: np.ndarray,
) -> None:
    """Fill in log p(x) of every sequence (nats), as `smoothed`; -inf where no path explains it."""
    zeros_are_safe = all(
        table[table > 0.0].min(initial=1.0) >= _SUSPICIOUS_SHARE * table.max(initial=1.0)
        for table in weights
    )
    passes = passes_for(starts, lattice.count)
    done = forward_likelihoods(weights, lattice, starts, zeros_are_safe, passes, log_z)
    if done < len(log_z):
        _infer(weights, log_weights, lattice, starts[done:], False, np.empty(0), log_z[done:])


def _emission_entries(weights, lattice, begin, end, unobserved):
    """Emission weight of every entry of the tokens [begin, end)."""
    slots = [
        np.arange(first, first + count, dtype=np.int64)
        for first, count in zip(
            lattice.first[begin:end].tolist(), lattice.count[begin:end].tolist(), strict=True
        )
    ]
    cell = lattice.cell[np.concatenate(slots)]
    return np.where(cell >= 0, weights[cell], unobserved)


def emission_posterior(emission: np.ndarray, lattice: Lattice, begin: int, end: int) -> np.ndarray:
    """p(z_t | x_t) of the tokens [begin, end) under equal priors, one value per entry.

    Uniform where no state emits the token.
    """
    values = _emission_entries(emission, lattice, begin, end, 1.0)
    count = lattice.count[begin:end]
    token = np.repeat(np.arange(end - begin), count)
    total = np.bincount(token, weights=values)[token]
    return np.divide(values, total, out=1.0 / count[token], where=total > 0.0)


@jit_token
def draw_index(weights, begin, size, rng):
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


@jit
def draw_paths(log_transition, lattice, starts, rng, log_filtered, chance, path):
    """Draw a state path of every sequence backward, from its filtered marginals.

    Reads `log_filtered` (n_entries,) with log p(z_t | x_1..t) and fills `path` (n_tokens,) with
    draws from p(z | x): z_t has probability proportional to p(z_t | x_1..t) transition[z_t, z_t+1].
    `chance` (K,) is a buffer.
    """
    offset = 0
    for i in range(starts.size - 1):
        begin, end = starts[i], starts[i + 1]
        for t in range(begin, end):
            offset += lattice.count[t]
        position = offset
        for t in range(end - 1, begin - 1, -1):
            base, n = lattice.first[t], lattice.count[t]
            position -= n
            largest = -math.inf
            for j in range(n):
                chance[j] = log_filtered[position + j]
                if t < end - 1:
                    chance[j] += log_transition[lattice.state[base + j], path[t + 1]]
                largest = max(largest, chance[j])
            for j in range(n):
                chance[j] = math.exp(chance[j] - largest) if largest > -math.inf else 1.0
            path[t] = lattice.state[base + draw_index(chance, 0, n, rng)]


def sample_paths(
    weights: ChainWeights,
    log_weights: ChainWeights,
    lattice: Lattice,
    starts: np.ndarray,
    rng: np.random.Generator,
    path: np.ndarray,
    log_z: np.ndarray,
) -> None:
    """Draw a state path from p(z | x) for every sequence: filter forward, sample backward."""
    ends = np.cumsum(sequence_entries(lattice.count, starts))
    chance, begin = np.empty(weights.start.size), 0
    while begin < len(ends):
        # As many sequences as have so many entries, and one at least.
        before = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, before + _ENTRIES, side="right")))
        some, entries = starts[begin : end + 1], np.empty(int(ends[end - 1]) - before)
        _infer(weights, log_weights, lattice, some, False, entries, log_z[begin:end], True)
        draw_paths(log_weights.transition, lattice, some, rng, entries, chance, path)
        begin = end
