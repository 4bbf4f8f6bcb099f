"""Beam sampling: draw the states of stretches among the few steps that a slice leaves.

Every step s to s' of the path gets a number u below its weight (Van Gael, Saatci, Teh and
Ghahramani 2008, "Beam sampling for the infinite hidden Markov model", ICML). Given these numbers
steps that weigh more than u are all as likely, and others are ruled out: a token costs as many
operations as there are steps left, not one for every pair of states. Steps from and to the certain
tokens beside a stretch keep their weights, as do first steps.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.chain.path_drawing import draw_index, first_row, span_of, weigh
from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline

# Messages below this may have lost mass.
_SMALLEST_SCALE = 1e-290


class Beam(NamedTuple):
    """What limits the steps of a sweep.

    Attributes
    ----------
    order : ndarray of shape (n_states, n_states), int32
        Row k: the states that may follow k, those with the largest weights first.
    sorted : ndarray of shape (n_states, n_states)
        Their weights.
    share : ndarray, float64
        For each token of a stretch the slice as a share of the weight of the step to it.
    """

    order: np.ndarray
    sorted: np.ndarray
    share: np.ndarray


@jit_inline
def _step(beam, lattice, t, level, message, row, result):
    """Carry the message of token t - 1 to token t along all steps above `level`."""
    left, right = lattice.first[t - 1], lattice.first[t]
    row[:] = 0.0
    for i in range(message.size):
        weight = message[i]
        if weight > 0.0:
            state = lattice.state[np.uint64(left + i)]
            place = 0
            while place < row.size and beam.sorted[state, place] > level:
                row[beam.order[state, place]] += weight
                place += 1
    for j in range(result.size):
        result[j] = row[lattice.state[np.uint64(right + j)]]


@jit_called
def _draw_stretch(factors, beam, lattice, place, levels, slots, room):
    """Draw the slots of a stretch within the beam.

    `place` holds `span`, `bounds` and `number`. They, the other parameters and the result are as in
    `path_drawing.draw_stretch`; `slots` holds the path before.
    """
    (span, bounds, number), (message, row) = place, room
    position, before = np.int64(0), np.int64(0)
    for t in range(span[0], span[1]):
        n = lattice.count[t]
        if t == span[0]:
            weights = first_row(factors, lattice, span, bounds)
            for j in range(n):
                message[position + j] = weights[lattice.state[lattice.first[t] + j]]
        else:
            taken = factors.transition[lattice.state[slots[t - 1]], lattice.state[slots[t]]]
            level = taken * beam.share[number + t - span[0]]
            here = message[position : position + n]
            _step(beam, lattice, t, level, message[before:position], row, here)
        weigh(factors, lattice, t, span, bounds, message, position)
        total = 0.0
        for j in range(n):
            total += message[position + j]
        if not total > _SMALLEST_SCALE:
            return False
        for j in range(n):
            message[position + j] /= total
        before = position
        position += n
    level = 0.0
    for t in range(span[1] - 1, span[0] - 1, -1):
        base, n = lattice.first[t], lattice.count[t]
        position -= n
        total = 0.0
        after = lattice.state[slots[t + 1]] if t < span[1] - 1 else 0
        for j in range(n):
            weight = message[position + j]
            if t < span[1] - 1:
                step = factors.transition[lattice.state[np.uint64(base + j)], after]
                weight = weight if step > level else 0.0
            total += weight
            row[np.uint64(j)] = total
        if t > span[0]:
            taken = factors.transition[lattice.state[slots[t - 1]], lattice.state[slots[t]]]
            level = taken * beam.share[number + t - span[0]]
        slots[t] = base + draw_index(row, n, levels[number + t - span[0]])
    return True


@jit
def draw_stretches_in_beam(beam, factors, lattice, stretches, levels, slots, is_lost, room):
    """Draw the slots of all stretches given weights, within the beam of the path `slots`.

    Parameters
    ----------
    beam : Beam
    factors : Factors
    lattice : Lattice
    stretches : Stretches
    levels : ndarray, float64
        A uniform number for each token of a stretch.
    slots : ndarray of shape (n_tokens,), int32
        The path before; receives the drawn one.
    is_lost : ndarray of shape (n_stretches,), bool
        Receives which stretches float64 has lost; they keep their path.
    room : Room
    """
    for i in range(stretches.starts.size - 1):
        bounds = stretches.starts[i], stretches.starts[i + 1]
        for stretch in range(stretches.sequence[i], stretches.sequence[i + 1]):
            place = span_of(stretches, stretch), bounds, stretches.number[stretch]
            drawn = _draw_stretch(factors, beam, lattice, place, levels, slots, room)
            is_lost[stretch] = not drawn
