"""Leave one sequence out by its runs of ambiguous tokens: eqs. 24-25 where a dictionary helps.

A sequence is taken out of the counts, all its runs are inferred from what is left, and their
posteriors go back into the counts. What it shares with the tables comes from a list, see
`sklearn_cvb.run_lists`.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.hmm.leave_out_open import (
    CERTAIN_ROW,
    EVERY_ROW,
    LAST_ROW,
    LAST_SCALE_ROW,
    N_ROWS,
    SCALE_ROW,
    add_pairs,
    put_back_open,
    shift_start,
    take_out_open,
    weigh_open,
)
from sklearn_cvb.hmm.leave_out_sums import put_sum, take_sum
from sklearn_cvb.hmm.units import expand_block, shift_unit, store_block
from sklearn_cvb.kernels.chain.listed_runs import infer_runs
from sklearn_cvb.kernels.chain.runs import LARGEST_PRODUCT, SMALLEST_PRODUCT
from sklearn_cvb.kernels.jit import jit, jit_token
from sklearn_cvb.run_lists import (
    BORDER,
    CERTAIN,
    ENTRY,
    FIXED,
    INSIDE,
    N_PARTS,
    PLACE,
    SHARED,
    list_sequence,
    parts_of,
)


class RunBuffers(NamedTuple):
    """Buffers for `update_by_runs`.

    Attributes
    ----------
    items : ndarray, uint32
        A list that is not kept.
    by_state : ndarray of shape (N_ROWS, K)
    sums, summed_steps : ndarray of shape (K, K) and (K * K,), or None
        The sum of the pairs of a sequence, as a table and row by row in the same memory. None where
        no sequence with a list keeps one: what only these need is not even compiled.
    """

    items: np.ndarray
    by_state: np.ndarray
    sums: np.ndarray | None
    summed_steps: np.ndarray | None


def run_buffers(problem):
    """Buffers for the sequences of a problem."""
    n_states, lists = problem.cells.n_states, problem.lists
    items, by_state = np.empty(lists.room[-1], np.uint32), np.empty((N_ROWS, n_states))
    if not lists.summed.any():
        return RunBuffers(items, by_state, None, None)
    sums = np.empty((n_states, n_states))
    return RunBuffers(items, by_state, sums, sums.ravel())


@jit_token
def update_by_runs(
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
    items,
    by_state,
    sums,
    summed_steps,
):
    """Infer sequence i from all others and put its new counts into `tables`.

    `steps` are the transition counts of `tables` row by row and its start counts after them, in the
    same memory: reshaping them is a call that costs more than a token. The last four arguments are
    `RunBuffers`. Returns the log weight of the sequence without its settled emissions (nats), or
    NaN: then its counts are taken out, and `forward_backward` has to do the rest.
    """
    bounds, pair = (units.begin[i], units.end[i]), units.pair[i]
    last = np.int64(lattice.first[bounds[1] - 1])
    n_last = np.int64(lattice.count[bounds[1] - 1])
    entry, n_entries = units.entry[i], units.entry[i + 1] - units.entry[i]
    is_kept, n_open = units.whole[i] or units.summed[i], np.int64(0)
    block, at = work.block, np.int64(0)
    if is_kept:
        items = lists.items
        begins, ends = parts_of(items, lists.begin[i])
        if units.whole[i]:
            block, at = pairs, pair
        else:
            n_open = tables.start.size
    else:
        begins = lists.room[:N_PARTS]
        ends = list_sequence(
            lattice, runs.settled, *bounds, tables.start.size, np.int64(0), items, begins
        )
        if ends[CERTAIN] < 0:
            shift_unit(tables, floor, i, units, lattice, posterior, pairs, -1.0, work.block)
            return math.nan
        _unpack(i, units, lattice, posterior, pairs, block)
    for k in range(by_state.shape[1]):
        by_state[CERTAIN_ROW, k] = 0.0
    for c in range(begins[CERTAIN], ends[CERTAIN]):
        by_state[CERTAIN_ROW, items[np.uint64(c)]] += 1.0
    _begin_totals(by_state)
    _take_out(tables, floor, items, begins, ends, n_open, posterior, entry, by_state, sums)
    if sums is not None and n_open > 0:
        take_out_open(tables, floor, items, begins, ends, posterior, entry, by_state)
        take_sum(steps, summed_steps.size, floor.least_step, pairs, pair)
        shift_start(lattice, bounds[0], tables, floor.start, posterior, entry, -1.0)
        summed_steps[:] = 0.0
    else:
        _take_out_steps(steps, floor, items, begins, ends, posterior, entry, block, at)
    _note_last(lattice, last, n_last, posterior, entry + n_entries, by_state)
    _scale_states(tables, floor, by_state)
    weight = work.emission
    _weigh(tables, steps, items, begins, ends, n_open, block, at, weight, by_state, sums)
    if sums is not None and n_open > 0:
        weigh_open(tables, steps, items, begins, ends, weight, by_state)
    if n_last > 1:
        for j in range(n_last):
            ratio = by_state[LAST_SCALE_ROW, lattice.state[last + j]]
            ratio /= by_state[SCALE_ROW, lattice.state[last + j]]
            weight[n_entries - n_last + j] *= ratio
    log_z, product = _certain_weight(tables, steps, items, begins, ends, by_state)
    if n_last == 1:
        # The weights above take the last token for one with a step out of it.
        state = lattice.state[last]
        product *= by_state[LAST_SCALE_ROW, state] / by_state[SCALE_ROW, state]
    log_runs, rest = infer_runs(
        items,
        begins,
        ends,
        n_open,
        tables.transition,
        weight,
        posterior,
        entry,
        block,
        at,
        sums,
        work.row,
    )
    if math.isnan(rest):
        _take_out_settled(tables, floor, runs, lattice, bounds)
        return math.nan
    _begin_totals(by_state)
    _put_back(tables, items, begins, ends, n_open, posterior, entry, by_state, sums)
    if sums is not None and n_open > 0:
        put_back_open(tables, items, begins, ends, posterior, entry, by_state)
        put_sum(steps, summed_steps, pairs, pair)
        shift_start(lattice, bounds[0], tables, floor.start, posterior, entry, 1.0)
        n_first = np.int64(lattice.count[bounds[0]])
        add_pairs(items, begins, ends, n_first, n_open, posterior, entry, block, steps, pairs, pair)
    else:
        _put_back_steps(steps, items, begins, ends, posterior, entry, block, at)
    _note_last(lattice, last, n_last, posterior, entry + n_entries, by_state)
    for k in range(by_state.shape[1]):
        tables.emit[k] += by_state[EVERY_ROW, k]
        tables.out[k] += by_state[EVERY_ROW, k] - by_state[LAST_ROW, k]
    if not is_kept:
        _pack(i, units, lattice, block, pairs)
    return log_z + log_runs + math.log(product) + math.log(rest)


@jit_token
def _begin_totals(by_state):
    """Begin to add up posteriors by state: those of certain tokens are known."""
    for k in range(by_state.shape[1]):
        by_state[EVERY_ROW, k] = by_state[CERTAIN_ROW, k]
        by_state[LAST_ROW, k] = 0.0


@jit_token
def _take_out(tables, floor, items, begins, ends, n_open, posterior, entry, by_state, sums):
    """Take the listed emissions of a sequence out of their cells; add up posteriors by state."""
    for c in range(begins[SHARED], ends[SHARED]):
        cell = items[np.uint64(c)]
        tables.emission[cell] = max(tables.emission[cell] - 1.0, floor.least)
    here, place = entry, begins[PLACE]
    for c in range(begins[ENTRY], ends[ENTRY], 2):
        if sums is not None and n_open > 0:
            here = entry + np.int64(items[np.uint64(place)])
            place += 1
        cell, q = items[np.uint64(c)], posterior[np.uint64(here)]
        tables.emission[cell] = max(tables.emission[cell] - q, floor.least)
        by_state[EVERY_ROW, items[np.uint64(c + 1)]] += q
        here += 1


@jit_token
def _take_out_steps(steps, floor, items, begins, ends, posterior, entry, block, at):
    """Take a sequence out of all steps of its list."""
    for c in range(begins[FIXED], ends[FIXED]):
        step = items[np.uint64(c)]
        steps[step] = max(steps[step] - 1.0, floor.least_step)
    for c in range(begins[BORDER], ends[BORDER], 2):
        q = posterior[np.uint64(entry + np.int64(items[np.uint64(c)]))]
        step = items[np.uint64(c + 1)]
        steps[step] = max(steps[step] - q, floor.least_step)
    here = at
    for c in range(begins[INSIDE], ends[INSIDE]):
        step = items[np.uint64(c)]
        steps[step] = max(steps[step] - block[np.uint64(here)], floor.least_step)
        here += 1


@jit_token
def _note_last(lattice, last, n_last, posterior, end, by_state):
    """Note the posterior of the last token, which has no transition out of it."""
    if n_last == 1:
        by_state[LAST_ROW, lattice.state[last]] = 1.0
    else:
        for j in range(n_last):
            by_state[LAST_ROW, lattice.state[last + j]] = posterior[end - n_last + j]


@jit_token
def _scale_states(tables, floor, by_state):
    """Take a sequence out of the totals by state, and divide by what is left."""
    for k in range(by_state.shape[1]):
        emit = max(tables.emit[k] - by_state[EVERY_ROW, k], floor.emit[k])
        out = max(tables.out[k] - (by_state[EVERY_ROW, k] - by_state[LAST_ROW, k]), floor.out[k])
        tables.emit[k] = emit
        tables.out[k] = out
        by_state[LAST_SCALE_ROW, k] = 1.0 / emit
        by_state[SCALE_ROW, k] = by_state[LAST_SCALE_ROW, k] / out


@jit_token
def _weigh(tables, steps, items, begins, ends, n_open, block, at, weight, by_state, sums):
    """Weights of all listed entries and of the steps inside runs."""
    here, place = np.int64(0), begins[PLACE]
    for c in range(begins[ENTRY], ends[ENTRY], 2):
        if sums is not None and n_open > 0:
            here = np.int64(items[np.uint64(place)])
            place += 1
        scale = by_state[SCALE_ROW, items[np.uint64(c + 1)]]
        weight[np.uint64(here)] = tables.emission[items[np.uint64(c)]] * scale
        here += 1
    for c in range(begins[BORDER], ends[BORDER], 2):
        weight[items[np.uint64(c)]] *= steps[items[np.uint64(c + 1)]]
    here = at
    for c in range(begins[INSIDE], ends[INSIDE]):
        block[np.uint64(here)] = steps[items[np.uint64(c)]]
        here += 1


@jit_token
def _certain_weight(tables, steps, items, begins, ends, by_state):
    """Weight of the certain tokens of a sequence, except settled emissions: a log and a factor."""
    log_z, product = 0.0, 1.0
    for c in range(begins[CERTAIN], ends[CERTAIN]):
        product *= by_state[SCALE_ROW, items[np.uint64(c)]]
        if not (SMALLEST_PRODUCT < product < LARGEST_PRODUCT):
            log_z += math.log(product)
            product = 1.0
    for c in range(begins[FIXED], ends[FIXED]):
        product *= steps[items[np.uint64(c)]]
        if not (SMALLEST_PRODUCT < product < LARGEST_PRODUCT):
            log_z += math.log(product)
            product = 1.0
    for c in range(begins[SHARED], ends[SHARED]):
        log_z += math.log(tables.emission[items[np.uint64(c)]])
    return log_z, product


@jit_token
def _put_back(tables, items, begins, ends, n_open, posterior, entry, by_state, sums):
    """Add the listed emissions of a sequence to their cells; add up posteriors by state."""
    for c in range(begins[SHARED], ends[SHARED]):
        tables.emission[items[np.uint64(c)]] += 1.0
    here, place = entry, begins[PLACE]
    for c in range(begins[ENTRY], ends[ENTRY], 2):
        if sums is not None and n_open > 0:
            here = entry + np.int64(items[np.uint64(place)])
            place += 1
        q = posterior[np.uint64(here)]
        tables.emission[items[np.uint64(c)]] += q
        by_state[EVERY_ROW, items[np.uint64(c + 1)]] += q
        here += 1


@jit_token
def _put_back_steps(steps, items, begins, ends, posterior, entry, block, at):
    """Add a sequence to all steps of its list."""
    for c in range(begins[FIXED], ends[FIXED]):
        steps[items[np.uint64(c)]] += 1.0
    for c in range(begins[BORDER], ends[BORDER], 2):
        q = posterior[np.uint64(entry + np.int64(items[np.uint64(c)]))]
        steps[items[np.uint64(c + 1)]] += q
    here = at
    for c in range(begins[INSIDE], ends[INSIDE]):
        steps[items[np.uint64(c)]] += block[np.uint64(here)]
        here += 1


@jit_token
def _unpack(i, units, lattice, posterior, pairs, block):
    """Whole pair marginals of the ambiguous neighbours of a sequence whose list is not kept."""
    at, entry, here = units.pair[i], units.entry[i], np.int64(0)
    n_left = np.int64(1)
    for t in range(units.begin[i], units.end[i]):
        n = np.int64(lattice.count[np.uint64(t)])
        if n > 1:
            if n_left > 1:
                before = entry - n_left
                expand_block(posterior, before, n_left, entry, n, pairs, at, block, here)
                at += (n_left - 1) * (n - 1)
                here += n_left * n
            entry += n
        n_left = n


@jit_token
def _pack(i, units, lattice, block, pairs):
    """Store what `_unpack` unpacks."""
    at, here = units.pair[i], np.int64(0)
    n_left = np.int64(1)
    for t in range(units.begin[i], units.end[i]):
        n = np.int64(lattice.count[np.uint64(t)])
        if n > 1 and n_left > 1:
            store_block(block, here, n_left, n, pairs, at)
            at += (n_left - 1) * (n - 1)
            here += n_left * n
        n_left = n


@jit
def _take_out_settled(tables, floor, runs, lattice, bounds):
    """Take the settled emissions of a sequence out of the tables."""
    for t in range(bounds[0], bounds[1]):
        cell = lattice.cell[lattice.first[t]]
        if lattice.count[t] == 1 and cell >= 0 and runs.settled[cell]:
            tables.emission[cell] = max(tables.emission[cell] - 1.0, floor.least)


@jit
def log_settled(tables, runs, lattice, begin, end):
    """Summed log of a sequence's settled emissions, which are taken out (nats)."""
    total = 0.0
    for t in range(begin, end):
        cell = lattice.cell[lattice.first[t]]
        if lattice.count[t] == 1 and cell >= 0 and runs.settled[cell]:
            total += math.log(tables.emission[cell])
    return total
