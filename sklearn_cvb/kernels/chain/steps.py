"""Forward-backward on a table of weights, where each step has one weight for each state. Stretches
of steps may each have a start row and transitions of their own.

For observations that are numbers, of which hardly one comes twice. Weights and messages are rows
of K numbers; steps are dense. Equations 7 and 8 of Wang and Blunsom (2013), in probability space.
"""

import math

import numpy as np

from sklearn_cvb.kernels.chain.forward_backward import _LARGEST_MESSAGE, _SMALLEST_SCALE
from sklearn_cvb.kernels.jit import jit, jit_token
from sklearn_cvb.kernels.subnormal import subnormal_is_zero
from sklearn_cvb.kernels.vectors import LANES, part, put, spread, sum_of, up_to_vectors

# Steps whose pair marginals are added at a time: sums of many states leave the nearest cache.
_TOGETHER = 4


def step_buffers(n_states: int) -> np.ndarray:
    """A buffer: rows as wide as whole vectors, of messages and of sums of pairs."""
    return np.zeros((1 + 2 * _TOGETHER + n_states, up_to_vectors(n_states)))


@jit_token
def _message_product(message, transition, k):
    """The states from k on of message @ transition."""
    sums = spread(0.0)
    for i in range(transition.shape[0]):
        sums += spread(message[i]) * part(transition[i], k)
    return sums


@jit
def forward_steps(start, transition, weights, starts, stretches, table, room, found):
    """Scaled forward messages p(z_t | x_1..t) of sequences whose steps have a row of weights each.

    Start rows (n_tables, K) and transitions (n_tables, K, K): ``table`` says which one leads to the
    steps of each stretch; ``weights`` (n_steps, K) of each observation and, at the last step of a
    sequence, of its end. ``starts`` and ``stretches`` say where sequences and stretches begin;
    every sequence begins a stretch. ``found`` is (scale, message, log_z): ``scale`` (n_steps,) gets
    p(x_t | x_1..t-1), ``log_z`` is NaN where float64 may lose a sequence.
    """
    subnormal_is_zero(True)
    scale, message, log_z = found
    stretch = 0
    before, now = room[0], room[1]
    before[:] = 0.0
    now[:] = 0.0
    for i in range(starts.size - 1):
        total, product, inverse = 0.0, 1.0, 1.0
        for t in range(starts[i], starts[i + 1]):
            if t == stretches[stretch + 1]:
                stretch += 1
            own = table[stretch]
            sums, by = spread(0.0), spread(inverse)
            for k in range(0, message.shape[1], LANES):
                if t == starts[i]:
                    moved = part(start[own], k)
                else:
                    # Of messages not yet scaled: who comes next does not wait for a division.
                    moved = _message_product(before, transition[own], k) * by
                weighed = moved * part(weights[t], k)
                put(now, k, weighed)
                sums += weighed
            value = sum_of(sums)
            inverse = 1.0 / value
            for k in range(0, message.shape[1], LANES):
                put(message[t], k, part(now, k) * spread(inverse))
            before, now = now, before
            if not (_SMALLEST_SCALE < value < _LARGEST_MESSAGE):
                total = math.nan
            scale[t] = value
            # A log for many steps instead of one for each.
            further = product * value
            if not (1e-150 < further < 1e150):
                # Two scales alone may leave float64's range together.
                total += math.log(product)
                further = value
            product = further
        log_z[i] = total + math.log(product)
    subnormal_is_zero(False)


@jit_token
def _add_products(forward, g, n, sums):
    """Add the outer products of the first n rows of forward messages and g."""
    for u in range(n, _TOGETHER):
        g[u, :] = 0.0
    for k in range(0, g.shape[1], LANES):
        g0, g1, g2, g3 = part(g[0], k), part(g[1], k), part(g[2], k), part(g[3], k)
        for j in range(sums.shape[0]):
            row = part(sums[j], k) + spread(forward[0, j]) * g0
            row += spread(forward[1, j]) * g1
            row += spread(forward[2, j]) * g2
            put(sums[j], k, row + spread(forward[3, j]) * g3)


@jit_token
def _flush(sums, pairs):
    """Add the sums of a table's steps to `pairs`, and begin anew."""
    for i in range(pairs.shape[0]):
        for k in range(pairs.shape[1]):
            pairs[i, k] += sums[i, k]
            sums[i, k] = 0.0


@jit
def backward_steps(backward, weights, starts, stretches, table, before, room, found):
    """From forward messages to posteriors, and sums of pair marginals without their weights.

    ``backward`` (n_tables, K, K) are transposes of the transitions; the rest is as in
    `forward_steps`. ``before`` is (scale, times): what `forward_steps` has left of steps, and how
    often each sequence counts. ``found`` is (posterior, pairs, log_z): posteriors take the place of
    messages, ``pairs`` (n_tables, K, K) is added to, and ``log_z`` becomes NaN where float64 may
    lose a sequence, which leaves nothing of use in the other two.
    """
    subnormal_is_zero(True)
    posterior, pairs, log_z = found
    scale, times = before
    # Rows of whole vectors: what is written a moment ago is read again sooner.
    message, g = room[0], room[1 : 1 + _TOGETHER]
    forward, sums = room[1 + _TOGETHER : 1 + 2 * _TOGETHER], room[1 + 2 * _TOGETHER :]
    forward[:] = 0.0
    sums[:] = 0.0
    stretch, n_states, n_waiting = table.size - 1, posterior.shape[1], np.int64(0)
    for i in range(starts.size - 2, -1, -1):
        message[:] = times[i]
        for t in range(starts[i + 1] - 1, starts[i] - 1, -1):
            is_next = t < stretches[stretch]
            is_last = is_next and table[stretch] != table[stretch - 1]
            if n_waiting == _TOGETHER or is_last:
                _add_products(forward, g, n_waiting, sums)
                n_waiting = np.int64(0)
            if is_last:
                _flush(sums, pairs[table[stretch]])
            stretch -= is_next
            total, by = spread(0.0), spread(1.0 / scale[t])
            for k in range(0, n_states, LANES):
                behind = part(message, k)
                total += behind
                put(g[n_waiting], k, part(weights[t], k) * behind * by)
                put(posterior[t], k, part(posterior[t], k) * behind)
            if not (sum_of(total) < times[i] * _LARGEST_MESSAGE):
                log_z[i] = math.nan
            if t > starts[i]:
                for k in range(0, n_states, LANES):
                    put(forward[n_waiting], k, part(posterior[t - 1], k))
                    put(message, k, _message_product(g[n_waiting], backward[table[stretch]], k))
                n_waiting += 1
    _add_products(forward, g, n_waiting, sums)
    _flush(sums, pairs[table[0]])
    subnormal_is_zero(False)
