"""Leave one sequence out: the second collapsed algorithm of Wang and Blunsom (2013), eqs. 24-25.

A unit's counts (see `sklearn_cvb.hmm.units`) are taken out, the unit is inferred from the rest, and
its new counts are put back at once.
"""

import math

import numpy as np

from sklearn_cvb.hmm.leave_out_runs import log_settled, run_buffers, update_by_runs
from sklearn_cvb.hmm.leave_out_sums import put_back_sum, take_out_sum
from sklearn_cvb.hmm.tallies import floor_of, tally_of
from sklearn_cvb.hmm.units import (
    count_units,
    flat_steps,
    n_stored,
    shift_unit,
    store_block,
    unit_work,
)
from sklearn_cvb.kernels.chain.forward_backward import (
    fill_emission,
    forward_backward,
    forward_pass,
    retreat_lattice,
)
from sklearn_cvb.kernels.chain.log_space import fill_logs, forward_backward_log, forward_pass_log
from sklearn_cvb.kernels.chain.pairs import add_block, add_outer, pair_block
from sklearn_cvb.kernels.jit import jit, jit_token
from sklearn_cvb.runs import settled_log_weight

# Right messages are kept above this, so that dividing by them is safe.
_SMALLEST_MESSAGE = 1e-100

# Rows of `Work.scales`.
_ONE, _EMITTED, _LEFT = range(3)


@jit
def _fill_weights(tables, i, units, lattice, carry, right, is_last, work):
    """Fill ``work.emission`` with the weights of unit i; returns their number.

    Transition weights of eq. 25 are C / out: dividing each token's weight by its states' out
    leaves the counts themselves as transition weights.
    """
    n_states = tables.out.size
    # Reciprocals by state are cheaper than divisions by entry.
    scale = work.scales
    for k in range(n_states):
        scale[_ONE, k] = 1.0
        scale[_EMITTED, k] = 1.0 / tables.emit[k]
        scale[_LEFT, k] = 1.0 / tables.out[k]
    begin, end = units.begin[i], units.end[i]
    position = 0
    for t in range(begin, end):
        base, n = lattice.first[t], lattice.count[t]
        observed = lattice.cell[base] >= 0 and not (units.borrowed[i] and t == begin)
        one, other = scale[_EMITTED if observed else _ONE], scale[_LEFT if t < end - 1 else _ONE]
        if observed and n == n_states:
            cell = lattice.cell[base]
            for j in range(n):
                weight = tables.emission[np.uint64(cell + j)] * one[np.uint64(j)]
                work.emission[np.uint64(position + j)] = weight * other[np.uint64(j)]
        else:
            for j in range(n):
                slot = np.uint64(base + j)
                state = lattice.state[slot]
                weight = tables.emission[np.uint64(lattice.cell[slot])] if observed else 1.0
                work.emission[np.uint64(position + j)] = weight * one[state] * other[state]
        position += n
    if units.borrowed[i]:
        base = lattice.first[begin]
        for j in range(lattice.count[begin]):
            work.emission[j] *= carry[lattice.state[base + j]]
    if not is_last:
        base, n = lattice.first[end - 1], lattice.count[end - 1]
        for j in range(n):
            work.emission[position - n + j] *= right[i, lattice.state[base + j]]
    return position


@jit
def _fill_log_weights(tables, start, size, work):
    """Turn the emission weights of a unit into logs, and take those of start and transitions."""
    for position in range(size):
        work.emission[position] = math.log(work.emission[position])
    fill_logs(start, work.log_row)
    for k in range(work.table.shape[0]):
        fill_logs(tables.transition[k], work.table[k])


@jit_token
def _is_last(units, i):
    return i + 1 == units.begin.size or not units.borrowed[i + 1]


@jit
def _log_start_total(tables):
    """Log of the start row's total without the sequence that is left out."""
    total = -1.0
    for k in range(tables.start.size):
        total += tables.start[k]
    return math.log(total)


@jit
def _carry_forward(i, units, lattice, size, work, right, is_last, in_log, carry):
    """Forward message at the unit's last token, without the message from its right."""
    base, n = lattice.first[units.end[i] - 1], lattice.count[units.end[i] - 1]
    begin = size - n
    largest = -math.inf
    for j in range(n):
        largest = max(largest, work.forward[begin + j])
    total = 0.0
    for j in range(n):
        value = work.forward[begin + j]
        if in_log:
            value = math.exp(value - largest)
        if not is_last:
            value /= right[i, lattice.state[base + j]]
        carry[lattice.state[base + j]] = value
        total += value
    for j in range(n):
        carry[lattice.state[base + j]] /= total


@jit
def _carry_back(tables, i, units, lattice, work, in_log, right):
    """Message from this unit to the last token of the unit before it."""
    t = units.begin[i]
    base, n = lattice.first[t], lattice.count[t]
    weights, message = work.block, work.log_row
    largest = -math.inf
    for j in range(lattice.count[t + 1]):
        weights[j] = work.emission[n + j]
        largest = max(largest, weights[j])
    if in_log:
        for j in range(lattice.count[t + 1]):
            weights[j] = math.exp(weights[j] - largest)
    retreat_lattice(tables.transition, lattice, weights, 0, t, message, 0)
    largest = 0.0
    for k in range(n):
        message[k] /= tables.out[lattice.state[base + k]]
        largest = max(largest, message[k])
    for k in range(n):
        right[i - 1, lattice.state[base + k]] = max(message[k] / largest, _SMALLEST_MESSAGE)


@jit
def _store_pairs(tables, logs, i, units, lattice, work, in_log, pairs):
    """Store the pair marginals of unit i from its messages."""
    n_states = tables.start.size
    position = units.pair[i]
    size = n_states * n_states if units.summed[i] else 0
    summed = pairs[position : position + size].reshape(size // n_states, n_states)
    summed[:] = 0.0
    transition = logs if in_log else tables.transition
    before = 0
    for t in range(units.begin[i] + 1, units.end[i]):
        n_left, n_right = lattice.count[t - 1], lattice.count[t]
        now = before + n_left
        if units.summed[i] and not in_log:
            add_outer(lattice, t, work, before, now, summed)
        elif units.summed[i]:
            pair_block(transition, lattice, t, work, before, now, in_log, work.block, 0)
            add_block(lattice, t, work.block, summed)
        elif n_left > 1 and n_right > 1:
            pair_block(transition, lattice, t, work, before, now, in_log, work.block, 0)
            if units.whole[i]:
                for step in range(n_left * n_right):
                    pairs[position + step] = work.block[step]
                position += n_left * n_right
            else:
                store_block(work.block, 0, n_left, n_right, pairs, position)
                position += (n_left - 1) * (n_right - 1)
        before = now
    if units.summed[i] and not in_log:
        factors = transition.reshape(size)
        for step in range(size):
            pairs[np.uint64(position + step)] *= factors[np.uint64(step)]


@jit
def _store_posterior(i, units, lattice, work, posterior):
    """Store the posteriors of unit i."""
    entry, position = units.entry[i], 0
    for t in range(units.begin[i], units.end[i]):
        n = n_stored(units.compact[i], lattice.count[t])
        for j in range(n):
            posterior[entry + j] = work.posterior[position + j]
        entry += n
        position += lattice.count[t]


@jit
def _track_absence(tables, logs, i, units, lattice, work, in_log, absence):
    """Multiply the absence of cells and totals by 1 - q of this unit's tokens and pairs."""
    transition = logs if in_log else tables.transition
    position = 0
    for t in range(units.begin[i], units.end[i]):
        base = lattice.first[t]
        n = lattice.count[t]
        borrowed = units.borrowed[i] and t == units.begin[i]
        for j in range(n):
            state = lattice.state[base + j]
            miss = max(0.0, 1.0 - work.posterior[position + j])
            cell = lattice.cell[base + j]
            if cell >= 0 and not borrowed:
                absence.emission[cell] *= miss
                absence.emit[state] *= miss
            if t == units.begin[i] and not borrowed:
                absence.start[state] *= miss
            if t < units.end[i] - 1:
                absence.out[state] *= miss
        if t > units.begin[i]:
            left, n_left = lattice.first[t - 1], lattice.count[t - 1]
            before = position - n_left
            pair_block(transition, lattice, t, work, before, position, in_log, work.block, 0)
            for a in range(n_left):
                row = lattice.state[left + a]
                for b in range(n):
                    absence.transition[row, lattice.state[base + b]] *= max(
                        0.0, 1.0 - work.block[a * n + b]
                    )
        position += n


@jit
def infer_units(weights, log_weights, units, lattice, posterior, pairs, work):
    """Posteriors and pair marginals of whole sequences under given weights: one E-step.

    Returns False where no path explains a sequence.
    """
    for i in range(units.begin.size):
        begin, end = units.begin[i], units.end[i]
        size = fill_emission(weights.emission, lattice, begin, end, 1.0, work.emission)
        log_z = forward_backward(weights.start, weights.transition, lattice, begin, end, size, work)
        in_log = math.isnan(log_z)
        if in_log:
            fill_emission(log_weights.emission, lattice, begin, end, 0.0, work.emission)
            log_z = forward_backward_log(
                log_weights.start, log_weights.transition, lattice, begin, end, size, work
            )
            if log_z == -math.inf:
                return False
        _store_pairs(weights, log_weights.transition, i, units, lattice, work, in_log, pairs)
        _store_posterior(i, units, lattice, work, posterior)
    return True


@jit
def sweep_units(
    tables,
    floor,
    steps,
    units,
    runs,
    lists,
    lattice,
    posterior,
    pairs,
    right,
    absence,
    work,
    buffers,
    log_z,
):
    """One sweep: take each unit's counts out, infer it from the rest, add its new counts.

    `steps` comes from `flat_steps`, and `buffers` are `RunBuffers`.
    Changes `tables`, `posterior`, `pairs`, `right` (messages to each window from the next one) and
    `absence` in place; fills `log_z` with the log normaliser of each unit (nats). Returns whether
    the settled emissions (see `Runs`) are left out of these, because their weights do not depend on
    any posterior.
    """
    carry = work.row
    log_start = _log_start_total(tables)
    size = tables.transition.size
    flat = steps[:size]
    by_runs = runs.sequence.size == units.begin.size + 1 and absence.start.size == 0
    for i in range(units.begin.size):
        begin, end = units.begin[i], units.end[i]
        is_last = _is_last(units, i)
        by_rows = units.summed[i] and not units.compact[i]
        if by_runs and units.compact[i]:
            log_z[i] = update_by_runs(
                tables,
                floor,
                steps,
                i,
                units,
                runs,
                lists,
                lattice,
                posterior,
                pairs,
                work,
                buffers.items,
                buffers.by_state,
                buffers.sums,
                buffers.summed_steps,
            )
            if not math.isnan(log_z[i]):
                log_z[i] -= log_start
                continue
        elif by_rows:
            take_out_sum(tables, floor, flat, i, units, lattice, posterior, pairs, buffers.by_state)
        else:
            shift_unit(tables, floor, i, units, lattice, posterior, pairs, -1.0, work.block)
        start = work.ones if units.borrowed[i] else tables.start
        size = _fill_weights(tables, i, units, lattice, carry, right, is_last, work)
        log_z[i] = forward_backward(start, tables.transition, lattice, begin, end, size, work)
        in_log = math.isnan(log_z[i])
        if in_log:
            _fill_weights(tables, i, units, lattice, carry, right, is_last, work)
            _fill_log_weights(tables, start, size, work)
            log_z[i] = forward_backward_log(
                work.log_row, work.table, lattice, begin, end, size, work
            )
        if not units.borrowed[i]:
            log_z[i] -= log_start
        else:
            _carry_back(tables, i, units, lattice, work, in_log, right)
        if not is_last:
            _carry_forward(i, units, lattice, size, work, right, is_last, in_log, carry)
        if absence.start.size:
            _track_absence(tables, work.table, i, units, lattice, work, in_log, absence)
        if by_runs:
            log_z[i] -= log_settled(tables, runs, lattice, begin, end)
        if by_rows and not in_log:
            put_back_sum(tables, flat, i, units, lattice, posterior, pairs, work, buffers.by_state)
            continue
        _store_pairs(tables, work.table, i, units, lattice, work, in_log, pairs)
        _store_posterior(i, units, lattice, work, posterior)
        shift_unit(tables, floor, i, units, lattice, posterior, pairs, 1.0, work.block)
    return by_runs


def update_units(state, problem, rebuilt):
    """One sweep over all units; changes the state's posteriors, pairs and tally in place.

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
    tables, steps = flat_steps(state.tally)
    log_z = np.empty(len(state.units.begin))
    without_settled = sweep_units(
        tables,
        state.floor,
        steps,
        state.units,
        problem.runs,
        problem.lists,
        problem.lattice,
        state.posterior,
        state.pairs,
        state.right,
        state.absence,
        unit_work(state.units, problem),
        run_buffers(problem),
        log_z,
    )
    if rebuilt:
        counts = count_units(state.units, problem, state.posterior, state.pairs)
        tables = tally_of(counts, state.prior, problem.cells)
    total = log_z.sum()
    if without_settled:
        total += settled_log_weight(problem.runs, state.prior.emission)
    return tables, float(total / problem.corpus.n_observed)


@jit
def leave_out_scores(tables, floor, units, lattice, posterior, pairs, right, work, log_z):
    """log p(unit | the expected counts of all other units), counts frozen (nats).

    Later windows of a sequence are conditioned on the forward message of the earlier ones.
    """
    carry = work.row
    log_start = _log_start_total(tables)
    for i in range(units.begin.size):
        begin, end = units.begin[i], units.end[i]
        shift_unit(tables, floor, i, units, lattice, posterior, pairs, -1.0, work.block)
        start = work.ones if units.borrowed[i] else tables.start
        size = _fill_weights(tables, i, units, lattice, carry, right, True, work)
        log_z[i] = forward_pass(
            start, tables.transition, lattice, begin, end, work.emission, work.forward, work.scale
        )
        in_log = math.isnan(log_z[i])
        if in_log:
            _fill_log_weights(tables, start, size, work)
            log_z[i] = forward_pass_log(
                work.log_row,
                work.table,
                lattice,
                begin,
                end,
                work.emission,
                work.forward,
                work.scale,
            )
        if not units.borrowed[i]:
            log_z[i] -= log_start
        _carry_forward(i, units, lattice, size, work, right, True, in_log, carry)
        shift_unit(tables, floor, i, units, lattice, posterior, pairs, 1.0, work.block)


def leave_out_score(units, problem, counts, prior, posterior, pairs):
    """Mean log p(x_i | E[C without i]) per observed token (nats).

    A pseudo leave-one-out score: the posteriors of the other sequences have seen x_i, so it is
    optimistic, no bound, and may fall from sweep to sweep.
    """
    tables = tally_of(counts, prior, problem.cells)
    log_z = np.empty(len(units.begin))
    work = unit_work(units, problem)
    leave_out_scores(
        tables,
        floor_of(prior),
        units,
        problem.lattice,
        posterior,
        pairs,
        np.ones((1, problem.cells.n_states)),
        work,
        log_z,
    )
    return float(log_z.sum() / problem.corpus.n_observed)
