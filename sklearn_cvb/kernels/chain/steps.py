"""Forward-backward on a table of weights: each step has one weight for each state.

For observations that are numbers, of which hardly one comes twice. Weights and messages are rows
of K numbers; steps are dense. Equations 7 and 8 of Wang and Blunsom (2013), in probability space.
"""

import math

import numpy as np

from sklearn_cvb.kernels.chain.forward_backward import (
    _LARGEST_MESSAGE,
    _SMALLEST_SCALE,
    advance_dense,
)
from sklearn_cvb.kernels.jit import jit, jit_token_reduction


@jit_token_reduction
def _scaled(message, weights):
    """message *= weights, then to sum 1; returns the sum."""
    total = 0.0
    for k in range(message.size):
        message[k] *= weights[k]
        total += message[k]
    inverse = 1.0 / total
    for k in range(message.size):
        message[k] *= inverse
    return total


@jit_token_reduction
def _look_back(posterior, message, weights, inverse, g):
    """Fill g and turn a forward message into a posterior; returns the backward message's sum."""
    total = 0.0
    for k in range(message.size):
        total += message[k]
        g[k] = weights[k] * message[k] * inverse
        posterior[k] *= message[k]
    return total


@jit
def infer_steps(chain, weights, starts, units, scale, room, found):
    """Posteriors and pair marginals of sequences whose steps have a row of weights each.

    Parameters
    ----------
    chain : tuple (start, transition, backward)
        ``start`` (n_units or 1, K) is of the unit that begins a sequence; ``transition`` and
        ``backward`` (n_units or 1, K, K) are weights of the steps into each unit, and their
        transposes.
    weights : ndarray of shape (n_steps, K)
        Of each observation and, at the last step of a sequence, of its end.
    starts : ndarray of shape (n_sequences + 1,), int64
    units : ndarray of shape (n_units + 1,), int64
        Where units begin. Every sequence begins one.
    scale : ndarray of shape (longest,)
        A buffer.
    room : ndarray of shape (2, K)
        A buffer.
    found : tuple (posterior, pairs, log_z)
        ``posterior`` (n_steps, K) is filled in, ``pairs`` (n_units or 1, K, K) is added to, and
        ``log_z`` (n_sequences,) is NaN where float64 may lose a sequence, which adds nothing to
        pairs.
    """
    start, transition, backward = chain
    posterior, pairs, log_z = found
    message, g = room[0], room[1]
    n_states, several, counted = transition.shape[1], transition.shape[0] > 1, pairs.shape[0] > 1
    first_unit = 0
    for i in range(starts.size - 1):
        begin, end = starts[i], starts[i + 1]
        total, product, unit = 0.0, 1.0, first_unit
        for t in range(begin, end):
            if t == units[unit + 1]:
                unit += 1
            own = unit if several else 0
            if t == begin:
                for k in range(n_states):
                    posterior[t, k] = start[own, k]
            else:
                advance_dense(transition[own], posterior[t - 1], posterior[t])
            value = _scaled(posterior[t], weights[t])
            if not (_SMALLEST_SCALE < value < _LARGEST_MESSAGE):
                total = math.nan
            scale[t - begin] = value
            product *= value
            if not (1e-150 < product < 1e150):
                total += math.log(product)
                product = 1.0
        total += math.log(product)
        first_unit = unit + 1
        for k in range(n_states):
            message[k] = 1.0
        t = end - 1
        while t >= begin and not math.isnan(total):
            if t < units[unit]:
                unit -= 1
            own, to = unit if several else 0, unit if counted else 0
            inverse = 1.0 / scale[t - begin]
            largest = _look_back(posterior[t], message, weights[t], inverse, g)
            if not (largest < _LARGEST_MESSAGE):
                total = math.nan
            if t > begin:
                for k in range(n_states):
                    before = posterior[t - 1, k]
                    row = pairs[to, k]
                    for j in range(n_states):
                        row[j] += before * g[j]
                advance_dense(backward[own], g, message)
            t -= 1
        log_z[i] = total


def buffers_for(starts: np.ndarray, n_states: int) -> tuple[np.ndarray, np.ndarray]:
    """`scale` and `room` for the longest of the sequences."""
    return np.empty(int(np.diff(starts).max(initial=1))), np.empty((2, n_states))
