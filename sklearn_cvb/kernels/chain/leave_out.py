"""What all forms of collapsed variational inference share (Wang and Blunsom 2013, eqs. 24-25).

A unit, a sequence or a window of one, is taken out of the counts, inferred from what is left, and
its new counts are put back at once. Each form has a file with one kernel that makes a *pass* over
its units, and the pass says which of these steps it takes:

- a sweep takes a unit out, infers it, keeps what it found and puts that back;
- a score does the same but keeps nothing, so that all counts stay as they are;
- counting puts back alone, and the first expectation under given weights infers and keeps.

A pass returns the unit at which it ended. That is the last one's successor, or a unit that float64
lost, whose counts are then taken out: `sklearn_cvb.kernels.chain.lost` infers it in log space.
"""

from typing import NamedTuple

import numpy as np

TAKE_OUT, INFER, KEEP, PUT_BACK = 1, 2, 4, 8
SWEEP = TAKE_OUT | INFER | KEEP | PUT_BACK
SCORE = TAKE_OUT | INFER | PUT_BACK
EXPECT = INFER | KEEP


class Shared(NamedTuple):
    """What units share: counts with the prior added, and the least that each can be.

    Rounding must not make a cell with a tiny prior negative. The smallest prior is bound enough for
    that: where a cell's own is larger, rounding is nothing beside it.

    Attributes
    ----------
    steps : ndarray of shape (K * K + K,), float64
        Transition counts row by row, and the start counts after them.
    transition, start : ndarray of shape (K, K) and (K,), float64
        The same memory.
    out, emit : ndarray of shape (K,), float64
        Totals of the rows of transitions and of emissions.
    emission : ndarray of shape (n_cells,), float64
    least_out, least_emit : ndarray of shape (K,), float64
    least, least_step : float
        Of any emission cell, and of any step; 0 where a topology rules steps out.
    log_start : float
        Log of the start row's total without one sequence.
    """

    steps: np.ndarray
    transition: np.ndarray
    start: np.ndarray
    out: np.ndarray
    emit: np.ndarray
    emission: np.ndarray
    least_out: np.ndarray
    least_emit: np.ndarray
    least: float
    least_step: float
    log_start: float


class Stored(NamedTuple):
    """What inference leaves of all units.

    Attributes
    ----------
    posterior : ndarray, float64
        q(z_t) of the tokens with more than one state, unit by unit.
    pairs : ndarray, float64
        Pair marginals of each unit: blocks, row by row, of neighbours that both have more than one
        state, or the (K, K) sum of all.
    log_z : ndarray of shape (n_units,), float64
        Log normaliser of each unit (nats).
    """

    posterior: np.ndarray
    pairs: np.ndarray
    log_z: np.ndarray
