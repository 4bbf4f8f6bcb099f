"""Leave-out inference of one token at a time, each with a posterior of its own: the first collapsed
algorithm of Wang and Blunsom (2013), figure 3.

Every token has a posterior of its own; neighbours are independent. A token's posterior is inferred
from the expected counts of all others, and the counts follow at once.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.chain.forward_backward import Lattice
from sklearn_cvb.kernels.chain.gibbs import fill_scales, filter_in_logs, filter_stretch
from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline, jit_token_reduction


class Tokens(NamedTuple):
    """Tokens with independent posteriors."""

    lattice: Lattice
    starts: np.ndarray  # (n_sequences + 1,), int64, where the tokens of each sequence begin
    posterior: np.ndarray  # q(z_t) of all (token, state) entries, one token after the other


class TokenPlace(NamedTuple):
    """Where a token is: in the sequence [begin, end), its posterior at `entry`."""

    begin: int
    end: int
    t: int
    entry: int


class TokenWorkspace(NamedTuple):
    """Buffers for any token."""

    near: np.ndarray  # (5, K), posteriors of tokens t - 2 to t + 2, zeros between updates
    result: np.ndarray  # (K,)
    prior_mass: np.ndarray  # (K,)


def token_workspace(n_states: int) -> TokenWorkspace:
    """Buffers for any token."""
    return TokenWorkspace(np.zeros((5, n_states)), np.empty(n_states), np.empty(n_states))


@jit_inline
def _spread_neighbours(tokens, place, near):
    """Fill `near` with the posteriors of tokens t - 2 to t + 2 that are in the sequence."""
    lattice, t = tokens.lattice, place.t
    low, high = max(place.begin, t - 2), min(place.end - 1, t + 2)
    entry = place.entry
    for u in range(low, t):
        entry -= lattice.count[u]
    for u in range(low, high + 1):
        base, row = lattice.first[u], near[u - t + 2]
        for j in range(lattice.count[u]):
            row[lattice.state[base + j]] = tokens.posterior[entry + j]
        entry += lattice.count[u]


@jit_inline
def _clear_neighbours(tokens, place, near):
    """Undo `_spread_neighbours`."""
    lattice = tokens.lattice
    for u in range(max(place.begin, place.t - 2), min(place.end, place.t + 3)):
        base, row = lattice.first[u], near[u - place.t + 2]
        for j in range(lattice.count[u]):
            row[lattice.state[base + j]] = 0.0


@jit_inline
def _start_factor(counts, prior, lattice, t, here, result):
    """The second factor of figure 3 at a first token, from the start row; returns its total."""
    base = lattice.first[t]
    for j in range(lattice.count[t]):
        k = lattice.state[base + j]
        result[j] = max(counts.start[k] - here[k], 0.0) + prior.start[k]
    total = -1.0
    for k in range(counts.start.size):
        total += counts.start[k] + prior.start[k]
    return total


@jit_inline
def _incoming_factor(counts, prior, tokens, place, work):
    """E[C^-t(z_t-1, k)] + prior into ``work.result`` (eq. 20); returns its total over all k."""
    lattice, posterior, t = tokens.lattice, tokens.posterior, place.t
    far_left, before, here, after = work.near[0], work.near[1], work.near[2], work.near[3]
    result, mass = work.result, work.prior_mass
    base, n = lattice.first[t], lattice.count[t]
    left, n_left = lattice.first[t - 1], lattice.count[t - 1]
    at_left = place.entry - n_left
    # What the pairs (t-1, t), (t, t+1) and (t-2, t-1) add to the mixture over rows.
    own, shared, earlier = 0.0, 0.0, 0.0
    for j in range(n):
        result[j] = 0.0
        mass[j] = 0.0
    total = 0.0
    for i in range(n_left):
        row, weight = lattice.state[left + i], posterior[at_left + i]
        own += weight * before[row]
        shared += weight * here[row]
        earlier += weight * far_left[row]
        total += weight * (counts.out[row] + prior.out[row])
        if n == result.size:
            # All states in their order: whole rows of the tables.
            steps, least = counts.transition[row], prior.transition[row]
            for j in range(result.size):
                result[j] += weight * steps[j]
                mass[j] += weight * least[j]
        else:
            for j in range(n):
                k = lattice.state[base + j]
                result[j] += weight * counts.transition[row, k]
                mass[j] += weight * prior.transition[row, k]
    for j in range(n):
        k = lattice.state[base + j]
        count = result[j] - (here[k] * own + after[k] * shared + before[k] * earlier)
        result[j] = max(count + far_left[k] * before[k], 0.0) + mass[j]
    # Nothing leaves a last token: no transition out of it was there to take away.
    return total - own - (shared if t < place.end - 1 else 0.0)


@jit_token_reduction
def _weighted_sums(row, other, weights):
    """Inner products of two rows with the same weights, over all states."""
    a, b = 0.0, 0.0
    for j in range(row.size):
        a += row[j] * weights[j]
        b += other[j] * weights[j]
    return a, b


@jit_inline
def _outgoing_factor(counts, prior, tokens, place, work):
    """Multiply ``work.result`` by the third factor of figure 3, transitions from k to z_t+1."""
    lattice, posterior, t = tokens.lattice, tokens.posterior, place.t
    before, here, after, far_right = work.near[1], work.near[2], work.near[3], work.near[4]
    base, n = lattice.first[t], lattice.count[t]
    right, n_right = lattice.first[t + 1], lattice.count[t + 1]
    at_right = place.entry + n
    # What the pairs (t, t+1), (t-1, t) and (t+1, t+2) add to the mixture over columns.
    own, shared, later = 0.0, 0.0, 0.0
    for i in range(n_right):
        weight, to = posterior[at_right + i], lattice.state[right + i]
        own += weight * after[to]
        shared += weight * here[to]
        later += weight * far_right[to]
    for j in range(n):
        k = lattice.state[base + j]
        count, mass = 0.0, 0.0
        if n_right == after.size:
            count, mass = _weighted_sums(counts.transition[k], prior.transition[k], after)
        else:
            for i in range(n_right):
                weight, to = posterior[at_right + i], lattice.state[right + i]
                count += weight * counts.transition[k, to]
                mass += weight * prior.transition[k, to]
        count -= here[k] * own + before[k] * shared + after[k] * later
        count += after[k] * far_right[k]
        out = max(counts.out[k] - before[k] - here[k], 0.0) + prior.out[k] + before[k]
        work.result[j] *= (max(count, 0.0) + mass + before[k] * after[k]) / out


@jit_inline
def _shift_counts(counts, tokens, place, change):
    """Update all counts around token t for a `change` of its posterior, (K,)."""
    lattice, posterior, t = tokens.lattice, tokens.posterior, place.t
    base, n = lattice.first[t], lattice.count[t]
    for j in range(n):
        k, cell = lattice.state[base + j], lattice.cell[base + j]
        if cell >= 0:
            counts.emission[cell] += change[j]
            counts.emit[k] += change[j]
        if t == place.begin:
            counts.start[k] += change[j]
        if t < place.end - 1:
            counts.out[k] += change[j]
    if t > place.begin:
        left, n_left = lattice.first[t - 1], lattice.count[t - 1]
        for i in range(n_left):
            row = counts.transition[lattice.state[left + i]]
            weight = posterior[place.entry - n_left + i]
            if n == change.size:
                for j in range(change.size):
                    row[j] += weight * change[j]
            else:
                for j in range(n):
                    row[lattice.state[base + j]] += weight * change[j]
    if t < place.end - 1:
        right, n_right = lattice.first[t + 1], lattice.count[t + 1]
        for j in range(n):
            row = counts.transition[lattice.state[base + j]]
            weight, at = change[j], place.entry + n
            if n_right == change.size:
                for i in range(change.size):
                    row[i] += weight * posterior[at + i]
            else:
                for i in range(n_right):
                    row[lattice.state[right + i]] += weight * posterior[at + i]


@jit
def sweep_tokens(counts, prior, tokens, work):
    """One sweep over all tokens that have a choice, left to right, counts updated at once.

    `counts` are plain, without the prior. Returns a monitor: the sum over tokens of the log of what
    a token's update sums to, how probable the other tokens make it and its successor (nats).
    """
    lattice, posterior = tokens.lattice, tokens.posterior
    result, here = work.result, work.near[2]
    monitor, entry = 0.0, np.int64(0)
    for s in range(tokens.starts.size - 1):
        begin, end = tokens.starts[s], tokens.starts[s + 1]
        for t in range(begin, end):
            base, n = lattice.first[t], lattice.count[t]
            if n > 1:
                place = TokenPlace(begin, end, t, entry)
                _spread_neighbours(tokens, place, work.near)
                if t == begin:
                    norm = _start_factor(counts, prior, lattice, t, here, result)
                else:
                    norm = _incoming_factor(counts, prior, tokens, place, work)
                # The first factor of figure 3, the emission.
                for j in range(n):
                    k, cell = lattice.state[base + j], lattice.cell[base + j]
                    if cell >= 0:
                        count = max(counts.emission[cell] - here[k], 0.0) + prior.emission[cell]
                        emit = max(counts.emit[k] - here[k], 0.0) + prior.emit[k]
                        result[j] *= count / emit
                if t < end - 1:
                    _outgoing_factor(counts, prior, tokens, place, work)
                _clear_neighbours(tokens, place, work.near)
                total = 0.0
                for j in range(n):
                    total += result[j]
                for j in range(n):
                    result[j] = result[j] / total - posterior[entry + j]
                _shift_counts(counts, tokens, place, result)
                for j in range(n):
                    posterior[entry + j] += result[j]
                monitor += math.log(total / norm)
            entry += n
    return monitor


@jit
def count_tokens(tokens, start, transition, emission):
    """Add up the expected counts of all tokens: posteriors, and products of neighbours."""
    lattice, posterior = tokens.lattice, tokens.posterior
    entry, n_left = np.int64(0), np.int64(0)
    for s in range(tokens.starts.size - 1):
        for t in range(tokens.starts[s], tokens.starts[s + 1]):
            base, n = lattice.first[t], np.int64(lattice.count[t])
            for j in range(n):
                cell, weight = lattice.cell[base + j], posterior[entry + j]
                if cell >= 0:
                    emission[cell] += weight
                if t == tokens.starts[s]:
                    start[lattice.state[base + j]] += weight
            if t > tokens.starts[s]:
                left = lattice.first[t - 1]
                for i in range(n_left):
                    row = transition[lattice.state[left + i]]
                    weight = posterior[entry - n_left + i]
                    for j in range(n):
                        row[lattice.state[base + j]] += weight * posterior[entry + j]
            entry += n
            n_left = n


# How probable each sequence is given the expected counts of all others (eqs. 24-25 with the
# posteriors of figure 3): its counts are taken out, its weights are those of the rest, and its
# counts are put back as they were.


@jit_called
def _shift_sequence(tally, floor, tokens, span, entry, sign):
    """Take the counts of a sequence out (sign -1) or put them back (1); none falls below `floor`.

    Its posteriors begin at `entry`.
    """
    lattice, posterior = tokens.lattice, tokens.posterior
    for t in range(span[0], span[1]):
        base, n = lattice.first[t], lattice.count[t]
        for j in range(n):
            k, cell = lattice.state[base + j], lattice.cell[base + j]
            change = sign * posterior[entry + j]
            if cell >= 0:
                tally.emission[cell] = max(tally.emission[cell] + change, floor.emission[cell])
                tally.emit[k] = max(tally.emit[k] + change, floor.emit[k])
            if t == span[0]:
                tally.start[k] = max(tally.start[k] + change, floor.start[k])
            if t < span[1] - 1:
                tally.out[k] = max(tally.out[k] + change, floor.out[k])
                row, least = tally.transition[k], floor.transition[k]
                right, at = lattice.first[t + 1], entry + n
                for i in range(lattice.count[t + 1]):
                    to = lattice.state[right + i]
                    row[to] = max(row[to] + change * posterior[at + i], least[to])
        entry += n


@jit
def score_sequences(tally, floor, tokens, factors, work, log_z):
    """Log p(sequence | the expected counts of all others), without the total of the start row.

    Counts are used on the way, and as before on return but for rounding. `factors` are the tables
    of `tally`, with buffers for the scales. ``log_z`` (n_sequences,) is filled in (nats); NaN where
    float64 may have lost mass.
    """
    entry = np.int64(0)
    for i in range(log_z.size):
        span = tokens.starts[i], tokens.starts[i + 1]
        _shift_sequence(tally, floor, tokens, span, entry, -1.0)
        fill_scales(tally, factors)
        log_z[i] = filter_stretch(factors, tokens.lattice, span, span, work)
        _shift_sequence(tally, floor, tokens, span, entry, 1.0)
        for t in range(span[0], span[1]):
            entry += tokens.lattice.count[t]


@jit
def score_in_logs(tally, floor, tokens, factors, work, log_z):
    """`score_sequences` in log space, for the sequences whose `log_z` is NaN."""
    entry = np.int64(0)
    for i in range(log_z.size):
        span = tokens.starts[i], tokens.starts[i + 1]
        if math.isnan(log_z[i]):
            _shift_sequence(tally, floor, tokens, span, entry, -1.0)
            fill_scales(tally, factors)
            log_z[i] = filter_in_logs(factors, tokens.lattice, span, span, work)
            _shift_sequence(tally, floor, tokens, span, entry, 1.0)
        for t in range(span[0], span[1]):
            entry += tokens.lattice.count[t]
