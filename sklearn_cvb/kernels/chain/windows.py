"""What windows of a sequence tell each other: the messages at their borders (eqs. 24-25).

Layout and conventions are those of `sklearn_cvb.kernels.chain.sequences`.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.chain.forward_backward import retreat_lattice
from sklearn_cvb.kernels.chain.leave_out import KEEP
from sklearn_cvb.kernels.jit import jit_inline

# Right messages are kept above this, so that dividing by them is safe.
_SMALLEST_MESSAGE = 1e-100


class Borders(NamedTuple):
    """What windows of a sequence tell each other.

    A window's first token is the last one of the window before it ("borrowed"): its weight is the
    forward message there, and its emission belongs to the window before.

    Attributes
    ----------
    borrowed : ndarray of shape (n_units,), bool
        Whether a unit continues the one before.
    right : ndarray of shape (n_units, K), float64
        Message to the last token of each window from the windows after it, at most 1.
    carry : ndarray of shape (K,), float64
        Forward message at the end of the window before.
    ones : ndarray of shape (K,), float64
        Start weights of a window that continues another.
    """

    borrowed: np.ndarray
    right: np.ndarray
    carry: np.ndarray
    ones: np.ndarray


@jit_inline
def window_at(i, steps, shared, borders):
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
def weigh_borders(i, sequences, borders, is_borrowed, ahead, work, size):
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
def carry_forward(i, sequences, borders, ahead, forward, size):
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
def carry_back(i, shared, sequences, borders, work):
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
