"""Forward-backward on a table of weights: each step has one weight for each state.

For observations that are numbers, of which hardly one comes twice. Weights and messages are rows
of K numbers; steps are dense. Equations 7 and 8 of Wang and Blunsom (2013), in probability space.
"""

import math

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
def forward_steps(start, transition, weights, starts, units, scale, message, log_z):
    """Scaled forward messages p(z_t | x_1..t) of sequences whose steps have a row of weights each.

    Parameters
    ----------
    start : ndarray of shape (n_units or 1, K)
        Of the unit that begins a sequence.
    transition : ndarray of shape (n_units or 1, K, K)
        Weights of the steps into each unit.
    weights : ndarray of shape (n_steps, K)
        Of each observation and, at the last step of a sequence, of its end.
    starts : ndarray of shape (n_sequences + 1,), int64
    units : ndarray of shape (n_units + 1,), int64
        Where units begin. Every sequence begins one.
    scale : ndarray of shape (n_steps,)
        Filled with p(x_t | x_1..t-1).
    message : ndarray of shape (n_steps, K)
        Filled in.
    log_z : ndarray of shape (n_sequences,)
        Filled in; NaN where float64 may lose a sequence.
    """
    n_states, several, unit = transition.shape[1], transition.shape[0] > 1, 0
    for i in range(starts.size - 1):
        total, product = 0.0, 1.0
        for t in range(starts[i], starts[i + 1]):
            if t == units[unit + 1]:
                unit += 1
            own = unit if several else 0
            if t == starts[i]:
                for k in range(n_states):
                    message[t, k] = start[own, k]
            else:
                advance_dense(transition[own], message[t - 1], message[t])
            value = _scaled(message[t], weights[t])
            if not (_SMALLEST_SCALE < value < _LARGEST_MESSAGE):
                total = math.nan
            scale[t] = value
            # A log for many steps instead of one for each.
            product *= value
            if not (1e-150 < product < 1e150):
                total += math.log(product)
                product = 1.0
        log_z[i] = total + math.log(product)


@jit
def backward_steps(backward, weights, starts, units, scale, room, found):
    """From forward messages to posteriors, and sums of pair marginals without their weights.

    Parameters
    ----------
    backward : ndarray of shape (n_units or 1, K, K)
        Transposes of the weights of the steps into each unit.
    weights, starts, units, scale
        As in `forward_steps`.
    room : ndarray of shape (2, K)
        A buffer.
    found : tuple (posterior, pairs, log_z)
        ``posterior`` (n_steps, K) holds forward messages and gets posteriors, ``pairs`` (n_units
        or 1, K, K) is added to, and ``log_z`` (n_sequences,) becomes NaN where float64 may lose a
        sequence. What a lost sequence leaves in the other two is of no use.
    """
    posterior, pairs, log_z = found
    message, g = room[0], room[1]
    n_states, several, counted = backward.shape[1], backward.shape[0] > 1, pairs.shape[0] > 1
    unit = units.size - 2
    for i in range(starts.size - 2, -1, -1):
        message[:] = 1.0
        for t in range(starts[i + 1] - 1, starts[i] - 1, -1):
            if t < units[unit]:
                unit -= 1
            own, to = unit if several else 0, unit if counted else 0
            largest = _look_back(posterior[t], message, weights[t], 1.0 / scale[t], g)
            if not (largest < _LARGEST_MESSAGE):
                log_z[i] = math.nan
            if t > starts[i]:
                for k in range(n_states):
                    before = posterior[t - 1, k]
                    row = pairs[to, k]
                    for j in range(n_states):
                        row[j] += before * g[j]
                advance_dense(backward[own], g, message)
