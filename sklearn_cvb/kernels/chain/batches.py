"""Leave several sequences out at a time, side by side (eqs. 24-25 in batches).

The counts of a batch are taken out, its sequences are inferred from what is left, each without the
news of the others, and their new counts are put back. For tokens that may take every state: see
`sklearn_cvb.kernels.chain.side_by_side`. A batch keeps one sum of all its pair marginals.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.chain.forward_backward import Lattice
from sklearn_cvb.kernels.chain.leave_out import INFER, KEEP, PUT_BACK, TAKE_OUT
from sklearn_cvb.kernels.chain.side_by_side import (
    Messages,
    Tables,
    fill_rates,
    fill_tokens,
    infer_side_by_side,
)
from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline, jit_token


class Batches(NamedTuple):
    """What is left out together: sequences of similar length, the longest first.

    Attributes
    ----------
    order : ndarray of shape (n_sequences,), int64
        The sequences by falling length, equal ones as in the corpus.
    first : ndarray of shape (n_batches + 1,), int64
        Where each batch begins in `order`.
    starts : ndarray of shape (n_sequences + 1,), int64
        Where each sequence begins in the corpus.
    side : int
        How many sequences go side by side.
    place : Lattice
        Its `first` says in which row of the tables a token is (times K).
    """

    order: np.ndarray
    first: np.ndarray
    starts: np.ndarray
    side: int
    place: Lattice


class BatchBuffers(NamedTuple):
    """Buffers for sequences side by side, and one row of K numbers."""

    tables: Tables
    messages: Messages
    row: np.ndarray


@jit_token
def _shift_row(row, least, values, at, sign):
    """Add K values to a row of counts, or take them out; nothing falls below `least`."""
    for k in range(row.size):
        value = row[k] + sign * values[np.uint64(at + k)]
        row[k] = value if value > least else least


@jit_inline
def _shift_tokens(i, shared, batches, lattice, posterior, row, sign):
    """Shift the emissions of sequence i; adds up in `row` what its tokens emit."""
    n_states = row.size
    for t in range(batches.starts[i], batches.starts[i + 1]):
        position = t * n_states
        cell = np.int64(lattice.cell[lattice.first[t]])
        if cell >= 0:
            here = shared.emission[cell : cell + n_states]
            _shift_row(here, shared.least, posterior, position, sign)
            for k in range(n_states):
                row[k] += posterior[np.uint64(position + k)]


@jit_called
def _shift_batch(b, shared, batches, lattice, stored, row, sign):
    """Take the counts of batch b out (sign -1) or put them back (1)."""
    n_states = row.size
    for k in range(n_states):
        row[k] = 0.0
    for member in range(batches.first[b], batches.first[b + 1]):
        i = batches.order[member]
        _shift_tokens(i, shared, batches, lattice, stored.posterior, row, sign)
        at = batches.starts[i] * n_states
        _shift_row(shared.start, shared.least_step, stored.posterior, at, sign)
    at = b * n_states * n_states
    for k in range(n_states):
        shared.emit[k] = max(shared.emit[k] + sign * row[k], shared.least_emit[k])
        total = 0.0
        for j in range(n_states):
            total += stored.pairs[at + k * n_states + j]
        shared.out[k] = max(shared.out[k] + sign * total, shared.least_out[k])
        _shift_row(shared.transition[k], shared.least_step, stored.pairs, at + k * n_states, sign)


@jit_inline
def _keep(i, batches, wide, posterior, n_states):
    """Keep the posteriors of sequence i."""
    for t in range(batches.starts[i], batches.starts[i + 1]):
        received = wide.received[batches.place.first[t] // n_states]
        for k in range(n_states):
            posterior[t * n_states + k] = received[k]


@jit
def pass_over_batches(steps, span, shared, batches, lattice, stored, buffers):
    """A pass over batches.

    Parameters
    ----------
    steps : int
        Which steps to take, see `sklearn_cvb.kernels.chain.leave_out`.
    span : tuple (first, end)
        The batches.
    shared : Shared
        Changed in place.
    batches : Batches
    lattice : Lattice
    stored : Stored
        Changed in place where the pass keeps what it finds; `pairs` has a (K, K) sum, and `log_z` a
        place, for each batch.
    buffers : BatchBuffers

    Returns
    -------
    int
        The batch at which the pass ended: the end, or one that float64 lost, taken out.
    """
    wide, side, row, n_states = buffers.tables, batches.side, buffers.row, shared.out.size
    for b in range(span[0], span[1]):
        if steps & TAKE_OUT:
            _shift_batch(b, shared, batches, lattice, stored, row, -1.0)
        if steps & INFER:
            fill_rates(shared.start, shared.transition, shared.out, wide)
            # Reciprocals by state are cheaper than divisions by entry.
            for k in range(n_states):
                row[k] = 1.0 / shared.emit[k]
            total = 0.0
            for chunk in range(batches.first[b], batches.first[b + 1], side):
                some = batches.order[chunk : min(chunk + side, batches.first[b + 1])]
                for member in range(some.size):
                    begin, end = batches.starts[some[member]], batches.starts[some[member] + 1]
                    fill_tokens(shared.emission, row, lattice, batches.place, begin, end, wide)
                total += infer_side_by_side(
                    wide, batches.place, batches.starts, some, side, n_states, buffers.messages
                )
                # The batch keeps one sum of pairs, so that it is inferred anew as a whole.
                if math.isnan(total):
                    break
                if steps & KEEP:
                    for member in range(some.size):
                        _keep(some[member], batches, wide, stored.posterior, n_states)
            stored.log_z[b] = total
            if math.isnan(total):
                return b
            if steps & KEEP:
                at = b * n_states * n_states
                for k in range(n_states):
                    for j in range(n_states):
                        # What all steps between two states share is multiplied once.
                        q = wide.outer[k, j] * wide.transition[k, j]
                        stored.pairs[at + k * n_states + j] = q
        if steps & PUT_BACK:
            _shift_batch(b, shared, batches, lattice, stored, row, 1.0)
    return span[1]
