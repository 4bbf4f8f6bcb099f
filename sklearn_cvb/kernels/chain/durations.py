"""Kernels of hidden semi-Markov chains, whose states have distributions of durations:
forward-backward, Viterbi and sampling of visits, which are entered at a step, last, and are left.

A visit to a state begins at a step, which is entered, lasts for u = 1..L steps, and is left; the
last visit of a sequence may go on beyond its end. Messages are over pairs of a state and the steps
that remain of its visit (Rabiner 1989, section IV.D; Yu 2010, section 3). Of a visit what remains
and the time add up to the same at all steps: row ``(t + remaining) % L`` of a table is its place
throughout, and nothing is moved. The cost of a step is K (L + K).
"""

import math

import numpy as np

from sklearn_cvb.kernels.chain.decoding import draw_index
from sklearn_cvb.kernels.chain.forward_backward import _LARGEST_MESSAGE, _SMALLEST_SCALE
from sklearn_cvb.kernels.jit import jit
from sklearn_cvb.kernels.subnormal import subnormal_is_zero
from sklearn_cvb.kernels.vectors import LANES, part, put, spread, sum_of, up_to_vectors


def visit_buffers(longest: int, n_states: int) -> np.ndarray:
    """A buffer of rows as wide as whole vectors: messages by what remains, and one step's."""
    return np.zeros((longest + 1, up_to_vectors(n_states)))


@jit
def forward_visits(start, transition, durations, weights, starts, table, room, found):
    """Scaled messages of steps as they are entered and left, of sequences of weighted steps.

    Start rows (n_tables, K), transitions (n_tables, K, K) and durations (n_tables, L, K or more):
    ``table`` (n_steps,) says which of them hold where a step is entered. ``found`` is (entered,
    left, scale, log_z): p(a visit to s begins at t | x_1..t-1) and p(one ends at t | x_1..t), each
    (n_steps, K); p(x_t | x_1..t-1); ``log_z`` is NaN where float64 may lose a sequence.
    """
    subnormal_is_zero(True)
    entered, left, scale, log_z = found
    n, longest = weights.shape[1], durations.shape[1]
    now = room[longest]
    for i in range(starts.size - 1):
        room[:] = 0.0
        total, product, inverse = 0.0, 1.0, 1.0
        for t in range(starts[i], starts[i + 1]):
            own, sums, by = table[t], spread(0.0), spread(inverse)
            # What was left is nowhere; visits of all durations begin.
            gone = t % longest
            for k in range(0, n, LANES):
                if t == starts[i]:
                    begin = part(start[own], k)
                else:
                    begin = spread(0.0)
                    for j in range(n):
                        begin += spread(now[j]) * part(transition[own, j], k)
                put(entered[t], k, begin)
                put(room[gone], k, spread(0.0))
                weight, row = part(weights[t], k), gone
                for u in range(longest):
                    row = row + 1 if row + 1 < longest else 0
                    here = part(room[row], k) * by + begin * part(durations[own, u], k)
                    here = here * weight
                    put(room[row], k, here)
                    sums += here
            value = sum_of(sums)
            inverse = 1.0 / value
            last = gone + 1 if gone + 1 < longest else 0
            for k in range(0, n, LANES):
                put(now, k, part(room[last], k) * spread(inverse))
                put(left[t], k, part(now, k))
            if not (_SMALLEST_SCALE < value < _LARGEST_MESSAGE):
                total = math.nan
            scale[t] = value
            further = product * value
            if not (1e-150 < further < 1e150):
                total += math.log(product)
                further = value
            product = further
        log_z[i] = total + math.log(product)
    subnormal_is_zero(False)


@jit
def backward_visits(backward, durations, weights, starts, table, before, room, found):
    """From forward messages to posteriors, expected durations and pairs of visits.

    ``backward`` (n_tables, K, K) are transposes of the transitions. ``before`` is (scale, times):
    how often each sequence counts. ``found`` is (entered, left, posterior, visits, pairs, log_z):
    added to are ``posterior`` (n_steps, K or more), ``visits`` (n_tables, L, K or more) of each
    duration, and ``pairs`` (n_tables, K, K) without their weights.
    Sequences whose ``log_z`` is NaN are left out; where it becomes NaN the rest is of no use.
    """
    subnormal_is_zero(True)
    entered, left, posterior, visits, pairs, log_z = found
    scale, times = before
    n, longest = weights.shape[1], durations.shape[1]
    into = room[longest]
    for i in range(starts.size - 1):
        if math.isnan(log_z[i]):
            continue
        room[:] = times[i]
        for t in range(starts[i + 1] - 1, starts[i] - 1, -1):
            own, largest = table[t], spread(0.0)
            gone, inverse = t % longest, 1.0 / scale[t]
            for k in range(0, n, LANES):
                weight = part(weights[t], k) * spread(inverse)
                begin, row = part(entered[t], k) * weight, gone
                arrived, covering = spread(0.0), spread(0.0)
                for u in range(longest - 1, -1, -1):
                    behind = part(room[row], k)
                    largest += behind
                    lasts = behind * part(durations[own, u], k)
                    arrived += lasts
                    lasts = lasts * begin
                    put(visits[own, u], k, part(visits[own, u], k) + lasts)
                    # Visits that last for so long or longer cover the step.
                    covering += lasts
                    if t + u < starts[i + 1]:
                        put(posterior[t + u], k, part(posterior[t + u], k) + covering)
                    put(room[row], k, behind * weight)
                    row = row - 1 if row > 0 else longest - 1
                put(into, k, arrived * weight)
            if not (sum_of(largest) < times[i] * _LARGEST_MESSAGE):
                log_z[i] = math.nan
                break
            if t > starts[i]:
                for k in range(0, n, LANES):
                    ahead, out = part(into, k), spread(0.0)
                    for j in range(n):
                        ended = spread(left[t - 1, j])
                        put(pairs[own, j], k, part(pairs[own, j], k) + ended * ahead)
                        out += spread(into[j]) * part(backward[own, j], k)
                    put(room[gone], k, out)
    subnormal_is_zero(False)


@jit
def best_visits(tables, logs, starts, room, back, path, log_p):
    """Most probable visits of sequences whose steps have a row of log weights each (Viterbi).

    ``tables`` are logs: start (K,), transitions (K, K), durations (L, K), and of visits so long or
    longer, as the last may be, (L, K). ``room`` (2, n_steps, K) holds the best of steps as they
    are entered and left, ``back`` (2, n_steps, K) the state before and the duration. ``path``
    (n_steps,) and ``log_p`` (n_sequences,) are filled, -inf where there is none.
    """
    start, transition, durations, lasting = tables
    entered, left = room
    before, lasted = back
    longest, n = durations.shape
    for i in range(starts.size - 1):
        begin, end = starts[i], starts[i + 1]
        for t in range(begin, end):
            for s in range(n):
                best, state = start[s], 0
                if t > begin:
                    best = -math.inf
                    for j in range(n):
                        value = left[t - 1, j] + transition[j, s]
                        if value > best:
                            best, state = value, j
                entered[t, s], before[t, s] = best, state
                best, duration, emitted = -math.inf, 1, 0.0
                for u in range(min(longest, t + 1 - begin)):
                    emitted += logs[t - u, s]
                    lasts = durations[u, s] if t + 1 < end else lasting[u, s]
                    value = entered[t - u, s] + lasts + emitted
                    if value > best:
                        best, duration = value, u + 1
                left[t, s], lasted[t, s] = best, duration
        state, t = 0, end - 1
        for s in range(1, n):
            if left[t, s] > left[t, state]:
                state = s
        log_p[i] = left[t, state]
        while t >= begin:
            first = t + 1 - lasted[t, state]
            path[first : t + 1] = state
            state, t = before[first, state], first - 1


@jit
def draw_visits(tables, logs, starts, entered, rng, chance, path):
    """Draw the visits of every sequence backward, the last one first.

    ``tables`` are those of `best_visits`; ``entered`` (n_steps, K) are log p(x_1..t-1, a visit to s
    begins at t), up to what all steps of a sequence have alike. ``chance`` (K * L,) is a buffer.
    """
    _, transition, durations, lasting = tables
    longest, n = durations.shape
    for i in range(starts.size - 1):
        begin, t, after = starts[i], starts[i + 1] - 1, -1
        while t >= begin:
            most, largest = min(longest, t + 1 - begin), -math.inf
            for s in range(n):
                weight = transition[s, after] if after >= 0 else 0.0
                for u in range(most):
                    weight += logs[t - u, s]
                    lasts = durations[u, s] if after >= 0 else lasting[u, s]
                    chance[s * most + u] = weight + entered[t - u, s] + lasts
                    largest = max(largest, chance[s * most + u])
            for j in range(n * most):
                chance[j] = math.exp(chance[j] - largest) if largest > -math.inf else 1.0
            drawn = draw_index(chance, 0, n * most, rng)
            after = drawn // most
            first = t - drawn % most
            path[first : t + 1] = after
            t = first - 1
