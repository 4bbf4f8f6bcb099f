"""Leave several sequences out at a time: eqs. 24-25 of Wang and Blunsom (2013) in batches.

The counts of a batch are taken out, its sequences are inferred from what is left, each without the
news of the others, and their new counts are put back. Where every token may take every state they
go side by side (see `sklearn_cvb.kernels.chain.side_by_side`), and a batch keeps one sum of all
its pair marginals.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.hmm.leave_out import _fill_log_weights, _store_pairs, _track_absence
from sklearn_cvb.hmm.parameters import HMMCounts, empty_counts
from sklearn_cvb.hmm.tallies import tally_of
from sklearn_cvb.hmm.units import Units, shift_unit, unit_work, units_for
from sklearn_cvb.kernels.chain.forward_backward import Lattice, forward_backward, forward_pass
from sklearn_cvb.kernels.chain.log_space import forward_backward_log, forward_pass_log
from sklearn_cvb.kernels.chain.side_by_side import (
    Messages,
    Tables,
    fill_rates,
    fill_tokens,
    infer_side_by_side,
    messages_for,
    tables_for_tokens,
    width_for,
)
from sklearn_cvb.kernels.chain.tally import Floor, Tally
from sklearn_cvb.kernels.jit import jit, jit_token

# Sequences side by side: fewer than in EM, as each token has weights and posteriors of its own.
_SIDE_BY_SIDE = 16

# Side by side the longest sequences must fit in this many entries (64 MB).
_LARGEST_STEP = 8_000_000


class Batches(NamedTuple):
    """What is left out together: sequences of similar length, the longest first.

    Attributes
    ----------
    order : ndarray of shape (n_sequences,)
        The sequences by falling length, equal ones as in the corpus.
    first : ndarray of shape (n_batches + 1,)
        Where each batch begins in `order`.
    starts : ndarray of shape (n_sequences + 1,)
        Where each sequence begins in the corpus.
    size : int
        Sequences in a batch; the last may have fewer.
    side : int
        How many sequences go side by side; 0: one after the other.
    place : Lattice
        Side by side: its `first` says in which row of the tables a token is (times K).
    """

    order: np.ndarray
    first: np.ndarray
    starts: np.ndarray
    size: int
    side: int
    place: Lattice


class Buffers(NamedTuple):
    """Buffers for sequences side by side, and for the pair sum of one sequence, (K * K,)."""

    tables: Tables
    messages: Messages
    pairs: np.ndarray


def batches_for(problem, batch_size):
    """Group the sequences of a problem by length, `batch_size` at a time."""
    starts, lattice, n_states = problem.corpus.starts, problem.lattice, problem.cells.n_states
    lengths = np.diff(starts)
    order = np.argsort(-lengths, kind="stable")
    first = np.append(np.arange(0, len(lengths), batch_size), len(lengths))
    side = min(_SIDE_BY_SIDE, batch_size, len(lengths))
    fits = lengths.max() * side * width_for(n_states) <= _LARGEST_STEP
    if side == 1 or n_states == 1 or lattice.count.min() < n_states or not fits:
        return Batches(
            order, first, starts, batch_size, 0, lattice._replace(first=lattice.first[:0])
        )
    column = np.empty_like(order)
    column[order] = np.arange(len(order)) % batch_size % side
    step = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    rows = (step * side + np.repeat(column, lengths)) * n_states
    place = lattice._replace(first=rows.astype(lattice.first.dtype))
    return Batches(order, first, starts, batch_size, side, place)


def largest_share(problem, batch_size):
    """The largest share of all tokens that one batch holds."""
    lengths = -np.sort(-np.diff(problem.corpus.starts))
    return lengths[:batch_size].sum() / lengths.sum()


def batch_units(problem, batches):
    """The sequences as units; side by side none has a place for pairs of its own."""
    starts, n_states = problem.corpus.starts, problem.cells.n_states
    if not batches.side:
        return units_for(starts, problem.lattice.count, problem.cells)
    none = np.zeros(len(starts) - 1, bool)
    longest = int(np.diff(starts).max())
    return Units(
        starts[:-1],
        starts[1:],
        none,
        ~none,
        none,
        none,
        starts * n_states,
        np.zeros(len(starts), np.int64),
        (longest * n_states, longest, n_states**2),
    )


def buffers_for(problem, batches):
    """Buffers for the longest sequences side by side."""
    n_states = problem.cells.n_states
    longest = int(np.diff(problem.corpus.starts).max())
    return Buffers(
        tables_for_tokens(batches.side * longest, n_states),
        messages_for(batches.side, longest, n_states),
        np.empty(n_states * n_states),
    )


@jit_token
def _shift_row(row, least, change, sign):
    """Add a row of counts, or take it out; nothing falls below `least`."""
    for k in range(change.size):
        value = row[k] + sign * change[k]
        row[k] = value if value > least[k] else least[k]


@jit
def _shift_open(tables, floor, members, units, lattice, posterior, pairs, sign):
    """`shift_unit` for sequences that may take every state and keep one sum of their `pairs`."""
    n_states = tables.start.size
    for member in range(members.size):
        i = members[member]
        position = units.entry[i]
        for t in range(units.begin[i], units.end[i]):
            change = posterior[position : position + n_states]
            cell = lattice.cell[lattice.first[t]]
            if cell >= 0:
                row = tables.emission[cell : cell + n_states]
                _shift_row(row, floor.emission[cell : cell + n_states], change, sign)
                _shift_row(tables.emit, floor.emit, change, sign)
            if t == units.begin[i]:
                _shift_row(tables.start, floor.start, change, sign)
            position += n_states
    for k in range(n_states):
        total = 0.0
        for j in range(n_states):
            total += pairs[k, j]
        tables.out[k] = max(tables.out[k] + sign * total, floor.out[k])
        _shift_row(tables.transition[k], floor.transition[k], pairs[k], sign)


@jit
def _shift_batch(tables, floor, b, batches, units, lattice, posterior, pairs, work, sign):
    """Add (sign 1) or take out (-1) the expected counts of batch b."""
    members = batches.order[batches.first[b] : batches.first[b + 1]]
    if batches.side:
        n_states = tables.start.size
        own = pairs[b * n_states * n_states : (b + 1) * n_states * n_states]
        summed = own.reshape(n_states, n_states)
        _shift_open(tables, floor, members, units, lattice, posterior, summed, sign)
        return
    for i in range(members.size):
        shift_unit(tables, floor, members[i], units, lattice, posterior, pairs, sign, work.block)


@jit
def _infer_open(tables, members, batches, units, lattice, posterior, pairs, work, buffers):
    """Posteriors and pair sum of a batch side by side.

    Returns the sum of log Z, or NaN: then use `_infer_each`.
    """
    wide, side, n_states = buffers.tables, batches.side, tables.start.size
    fill_rates(tables.start, tables.transition, tables.out, wide)
    for k in range(n_states):
        work.row[k] = 1.0 / tables.emit[k]
    total = 0.0
    for chunk in range(0, members.size, side):
        some = members[chunk : chunk + side]
        for member in range(some.size):
            begin, end = units.begin[some[member]], units.end[some[member]]
            fill_tokens(tables.emission, work.row, lattice, batches.place, begin, end, wide)
        total += infer_side_by_side(
            wide, batches.place, batches.starts, some, side, n_states, buffers.messages
        )
        if math.isnan(total):
            return total
        for member in range(some.size):
            i = some[member]
            position = units.entry[i]
            for t in range(units.begin[i], units.end[i]):
                received = wide.received[batches.place.first[t] // n_states]
                for k in range(n_states):
                    posterior[position + k] = received[k]
                position += n_states
    for k in range(n_states):
        for j in range(n_states):
            pairs[k, j] = wide.outer[k, j] * wide.transition[k, j]
    return total


@jit
def _fill_weights(tables, lattice, begin, end, target):
    """Emission weights of a sequence over the transition denominators; returns their number.

    So the counts themselves serve as transition weights.
    """
    position = 0
    for t in range(begin, end):
        base = lattice.first[t]
        for slot in range(base, base + lattice.count[t]):
            state, cell = lattice.state[slot], lattice.cell[slot]
            weight = tables.emission[cell] / tables.emit[state] if cell >= 0 else 1.0
            if t < end - 1:
                weight /= tables.out[state]
            target[position] = weight
            position += 1
    return position


@jit
def _log_start_total(tables):
    """Log of the start row's total."""
    total = 0.0
    for k in range(tables.start.size):
        total += tables.start[k]
    return math.log(total)


@jit
def _infer_each(tables, members, side, units, lattice, posterior, pairs, absence, work, own):
    """Posteriors and pair marginals of a batch, one sequence after the other; returns log Z.

    With `side`, `pairs` is the batch's sum, and `own` a buffer for a sequence's.
    """
    log_z = -members.size * _log_start_total(tables)
    if side:
        pairs[:] = 0.0
    for member in range(members.size):
        i = members[member]
        begin, end = units.begin[i], units.end[i]
        size = _fill_weights(tables, lattice, begin, end, work.emission)
        value = forward_backward(tables.start, tables.transition, lattice, begin, end, size, work)
        in_log = math.isnan(value)
        if in_log:
            _fill_weights(tables, lattice, begin, end, work.emission)
            _fill_log_weights(tables, tables.start, size, work)
            value = forward_backward_log(work.log_row, work.table, lattice, begin, end, size, work)
        log_z += value
        if side:
            _store_pairs(tables, work.table, i, units, lattice, work, in_log, own)
            for position in range(pairs.size):
                pairs[position] += own[position]
        else:
            _store_pairs(tables, work.table, i, units, lattice, work, in_log, pairs)
        if absence.start.size:
            _track_absence(tables, work.table, i, units, lattice, work, in_log, absence)
        entry = units.entry[i]
        for position in range(size):
            posterior[entry + position] = work.posterior[position]
    return log_z


@jit
def _infer_batch(tables, b, batches, units, lattice, posterior, pairs, absence, work, buffers):
    """Posteriors and pair marginals of batch b under the weights of `tables`; returns log Z."""
    members = batches.order[batches.first[b] : batches.first[b + 1]]
    side, n_states = batches.side, tables.start.size
    log_z = math.nan
    # The pairs of this batch, or of all sequences.
    begin, end = 0, pairs.size
    if side:
        begin, end = b * n_states * n_states, (b + 1) * n_states * n_states
    own = pairs[begin:end]
    if side and not absence.start.size:
        summed = own.reshape(n_states, n_states)
        log_z = _infer_open(
            tables, members, batches, units, lattice, posterior, summed, work, buffers
        )
    if math.isnan(log_z):
        log_z = _infer_each(
            tables, members, side, units, lattice, posterior, own, absence, work, buffers.pairs
        )
    return log_z


@jit
def sweep_batches(
    tables, floor, batches, units, lattice, posterior, pairs, absence, work, buffers, log_z
):
    """One sweep: take each batch's counts out, infer it from the rest, add its new counts.

    Changes `tables`, `posterior`, `pairs` and `absence` in place; fills `log_z` with the log
    normaliser of each batch (nats).
    """
    for b in range(log_z.size):
        _shift_batch(tables, floor, b, batches, units, lattice, posterior, pairs, work, -1.0)
        log_z[b] = _infer_batch(
            tables, b, batches, units, lattice, posterior, pairs, absence, work, buffers
        )
        _shift_batch(tables, floor, b, batches, units, lattice, posterior, pairs, work, 1.0)


@jit
def infer_batches(tables, batches, units, lattice, posterior, pairs, absence, work, buffers):
    """Posteriors and pair marginals of all batches under given weights; returns log Z."""
    log_z = 0.0
    for b in range(batches.first.size - 1):
        log_z += _infer_batch(
            tables, b, batches, units, lattice, posterior, pairs, absence, work, buffers
        )
    return log_z


@jit
def _add_batches(tables, floor, batches, units, lattice, posterior, pairs, work):
    """Add the counts of all batches."""
    for b in range(batches.first.size - 1):
        _shift_batch(tables, floor, b, batches, units, lattice, posterior, pairs, work, 1.0)


@jit
def _score_batches(tables, floor, batches, units, lattice, posterior, pairs, work):
    """Sum over batches of log p(batch | the expected counts of all others), counts frozen."""
    total = 0.0
    for b in range(batches.first.size - 1):
        _shift_batch(tables, floor, b, batches, units, lattice, posterior, pairs, work, -1.0)
        total -= (batches.first[b + 1] - batches.first[b]) * _log_start_total(tables)
        for member in range(batches.first[b], batches.first[b + 1]):
            i = batches.order[member]
            begin, end = units.begin[i], units.end[i]
            size = _fill_weights(tables, lattice, begin, end, work.emission)
            value = forward_pass(
                tables.start,
                tables.transition,
                lattice,
                begin,
                end,
                work.emission,
                work.forward,
                work.scale,
            )
            if math.isnan(value):
                _fill_log_weights(tables, tables.start, size, work)
                value = forward_pass_log(
                    work.log_row,
                    work.table,
                    lattice,
                    begin,
                    end,
                    work.emission,
                    work.forward,
                    work.scale,
                )
            total += value
        _shift_batch(tables, floor, b, batches, units, lattice, posterior, pairs, work, 1.0)
    return total


def count_batches(batches, units, problem, posterior, pairs):
    """Expected counts of all batches, rebuilt from their posteriors."""
    zeros = tally_of(empty_counts(problem.cells), None, problem.cells)
    tables = Tally(*(table.copy() for table in zeros))
    work = unit_work(units, problem)
    _add_batches(
        tables, Floor(*zeros, 0.0, 0.0), batches, units, problem.lattice, posterior, pairs, work
    )
    return HMMCounts(tables.start, tables.transition, tables.emission)


def update_batches(state, problem, rebuilt):
    """One sweep over all batches; changes the state's posteriors, pairs and tally in place.

    Parameters
    ----------
    state : CVBState
    problem : Problem
    rebuilt : bool
        Whether to count all posteriors anew in the end.

    Returns
    -------
    tally : Tally
        What the new posteriors sum to, with the prior.
    value : float
        Mean log normaliser per observed token (nats).
    """
    tables = state.tally
    log_z = np.empty(len(state.batches.first) - 1)
    sweep_batches(
        tables,
        state.floor,
        state.batches,
        state.units,
        problem.lattice,
        state.posterior,
        state.pairs,
        state.absence,
        unit_work(state.units, problem),
        buffers_for(problem, state.batches),
        log_z,
    )
    if rebuilt:
        counts = count_batches(state.batches, state.units, problem, state.posterior, state.pairs)
        tables = tally_of(counts, state.prior, problem.cells)
    return tables, float(log_z.sum() / problem.corpus.n_observed)


def leave_batch_out_score(state, problem):
    """Mean log p(x_i | E[C without the batch of i]) per observed token (nats), counts frozen.

    Like `sklearn_cvb.hmm.leave_out.leave_out_score`, with a batch as what is left out: the counts
    of single sequences are not known where a batch keeps the sum of its pairs.
    """
    total = _score_batches(
        tally_of(state.counts, state.prior, problem.cells),
        state.floor,
        state.batches,
        state.units,
        problem.lattice,
        state.posterior,
        state.pairs,
        unit_work(state.units, problem),
    )
    return float(total / problem.corpus.n_observed)
