"""Leave one sequence out by its runs of ambiguous tokens: eqs. 24-25 where a dictionary helps.

A sequence is taken out of the counts, all its runs are inferred from what is left, and their
posteriors go back into the counts. What it shares with the tables comes from a list, see
`sklearn_cvb.run_lists`.
"""

import math

import numpy as np

from sklearn_cvb.hmm.units import expand_block, shift_unit, store_block
from sklearn_cvb.kernels.jit import jit, jit_token
from sklearn_cvb.kernels.listed_runs import infer_runs
from sklearn_cvb.kernels.runs import LARGEST_PRODUCT, SMALLEST_PRODUCT
from sklearn_cvb.run_lists import (
    BORDER,
    CERTAIN,
    ENTRY,
    FIXED,
    INSIDE,
    N_PARTS,
    OPEN,
    TOKEN,
    list_sequence,
    parts_of,
)

# Rows of the buffer by state: the weight of a state, of the last token's state, and the posteriors
# of a sequence added up, of all tokens, of its last token and of those that are certain.
_SCALE, _LAST_SCALE, _EVERY, _LAST, _CERTAIN = range(5)
BY_STATE = 5


@jit_token
def update_by_runs(
    tables, floor, steps, i, units, runs, lists, buffer, lattice, posterior, pairs, work, by_state
):
    """Infer sequence i from all others and put its new counts into `tables`.

    `steps` are the transition counts of `tables` row by row and its start counts after them, in the
    same memory: reshaping them is a call that costs more than a token. `buffer` is for a list that
    is not kept, and `by_state` is a buffer of shape (BY_STATE, K). Returns the log weight of the
    sequence without its settled emissions (nats), or NaN: then its counts are taken out, and
    `forward_backward` has to do the rest.
    """
    bounds = (units.begin[i], units.end[i])
    last = np.int64(lattice.first[bounds[1] - 1])
    n_last = np.int64(lattice.count[bounds[1] - 1])
    entry = units.entry[i]
    if units.whole[i]:
        items, block, at = lists.items, pairs, units.pair[i]
        begins, ends = parts_of(items, lists.begin[i])
    else:
        items, block, at = buffer, work.block, np.int64(0)
        begins = lists.room[:N_PARTS]
        ends = list_sequence(lattice, runs.settled, *bounds, tables.start.size, items, begins)
        if ends[CERTAIN] < 0:
            shift_unit(tables, floor, i, units, lattice, posterior, pairs, -1.0, work.block)
            return math.nan
        _unpack(i, units, lattice, posterior, pairs, block)
    for k in range(by_state.shape[1]):
        by_state[_CERTAIN, k] = 0.0
    for c in range(begins[CERTAIN], ends[CERTAIN]):
        by_state[_CERTAIN, items[np.uint64(c)]] += 1.0
    _take_out(tables, floor, steps, items, begins, ends, posterior, entry, block, at, by_state)
    _note_last(
        lattice, last, n_last, posterior, entry + (ends[ENTRY] - begins[ENTRY]) // 2, by_state
    )
    _scale_states(tables, floor, by_state)
    n_entries = _weigh(tables, steps, items, begins, ends, block, at, work.emission, by_state)
    if n_last > 1:
        for j in range(n_last):
            ratio = by_state[_LAST_SCALE, lattice.state[last + j]]
            ratio /= by_state[_SCALE, lattice.state[last + j]]
            work.emission[n_entries - n_last + j] *= ratio
    log_z, product = _certain_weight(tables, steps, items, begins, ends, by_state)
    if n_last == 1:
        # The weights above take the last token for one with a step out of it.
        state = lattice.state[last]
        product *= by_state[_LAST_SCALE, state] / by_state[_SCALE, state]
    log_runs, rest = infer_runs(
        items, begins[TOKEN], ends[TOKEN], work.emission, posterior, entry, block, at
    )
    if math.isnan(rest):
        _take_out_settled(tables, runs, lattice, bounds)
        return math.nan
    _put_back(tables, steps, items, begins, ends, posterior, entry, block, at, by_state)
    _note_last(lattice, last, n_last, posterior, units.entry[i + 1], by_state)
    for k in range(by_state.shape[1]):
        tables.emit[k] += by_state[_EVERY, k]
        tables.out[k] += by_state[_EVERY, k] - by_state[_LAST, k]
    if not units.whole[i]:
        _pack(i, units, lattice, block, pairs)
    return log_z + log_runs + math.log(product) + math.log(rest)


@jit_token
def _take_out(tables, floor, steps, items, begins, ends, posterior, entry, block, at, by_state):
    """Take a sequence out of all cells of its list, and add up its posteriors by state."""
    for k in range(by_state.shape[1]):
        by_state[_EVERY, k] = by_state[_CERTAIN, k]
        by_state[_LAST, k] = 0.0
    for c in range(begins[FIXED], ends[FIXED]):
        step = items[np.uint64(c)]
        steps[step] = max(steps[step] - 1.0, floor.least_step)
    for c in range(begins[OPEN], ends[OPEN]):
        cell = items[np.uint64(c)]
        tables.emission[cell] = max(tables.emission[cell] - 1.0, floor.least)
    here = entry
    for c in range(begins[ENTRY], ends[ENTRY], 2):
        cell, q = items[np.uint64(c)], posterior[np.uint64(here)]
        tables.emission[cell] = max(tables.emission[cell] - q, floor.least)
        by_state[_EVERY, items[np.uint64(c + 1)]] += q
        here += 1
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
        by_state[_LAST, lattice.state[last]] = 1.0
    else:
        for j in range(n_last):
            by_state[_LAST, lattice.state[last + j]] = posterior[end - n_last + j]


@jit_token
def _scale_states(tables, floor, by_state):
    """Take a sequence out of the totals by state, and divide by what is left."""
    for k in range(by_state.shape[1]):
        emit = max(tables.emit[k] - by_state[_EVERY, k], floor.emit[k])
        out = max(tables.out[k] - (by_state[_EVERY, k] - by_state[_LAST, k]), floor.out[k])
        tables.emit[k] = emit
        tables.out[k] = out
        by_state[_LAST_SCALE, k] = 1.0 / emit
        by_state[_SCALE, k] = by_state[_LAST_SCALE, k] / out


@jit_token
def _weigh(tables, steps, items, begins, ends, block, at, weight, by_state):
    """Weights of all entries and of the steps inside runs; returns how many entries there are."""
    n_entries = np.int64(0)
    for c in range(begins[ENTRY], ends[ENTRY], 2):
        scale = by_state[_SCALE, items[np.uint64(c + 1)]]
        weight[np.uint64(n_entries)] = tables.emission[items[np.uint64(c)]] * scale
        n_entries += 1
    for c in range(begins[BORDER], ends[BORDER], 2):
        weight[items[np.uint64(c)]] *= steps[items[np.uint64(c + 1)]]
    here = at
    for c in range(begins[INSIDE], ends[INSIDE]):
        block[np.uint64(here)] = steps[items[np.uint64(c)]]
        here += 1
    return n_entries


@jit_token
def _certain_weight(tables, steps, items, begins, ends, by_state):
    """Weight of the certain tokens of a sequence, except settled emissions: a log and a factor."""
    log_z, product = 0.0, 1.0
    for c in range(begins[CERTAIN], ends[CERTAIN]):
        product *= by_state[_SCALE, items[np.uint64(c)]]
        if not (SMALLEST_PRODUCT < product < LARGEST_PRODUCT):
            log_z += math.log(product)
            product = 1.0
    for c in range(begins[FIXED], ends[FIXED]):
        product *= steps[items[np.uint64(c)]]
        if not (SMALLEST_PRODUCT < product < LARGEST_PRODUCT):
            log_z += math.log(product)
            product = 1.0
    for c in range(begins[OPEN], ends[OPEN]):
        log_z += math.log(tables.emission[items[np.uint64(c)]])
    return log_z, product


@jit_token
def _put_back(tables, steps, items, begins, ends, posterior, entry, block, at, by_state):
    """Add a sequence to all cells of its list, and add up its posteriors by state."""
    for k in range(by_state.shape[1]):
        by_state[_EVERY, k] = by_state[_CERTAIN, k]
        by_state[_LAST, k] = 0.0
    for c in range(begins[FIXED], ends[FIXED]):
        steps[items[np.uint64(c)]] += 1.0
    for c in range(begins[OPEN], ends[OPEN]):
        tables.emission[items[np.uint64(c)]] += 1.0
    here = entry
    for c in range(begins[ENTRY], ends[ENTRY], 2):
        q = posterior[np.uint64(here)]
        tables.emission[items[np.uint64(c)]] += q
        by_state[_EVERY, items[np.uint64(c + 1)]] += q
        here += 1
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
def _take_out_settled(tables, runs, lattice, bounds):
    """Take the settled emissions of a sequence out of the tables."""
    for t in range(bounds[0], bounds[1]):
        cell = lattice.cell[lattice.first[t]]
        if lattice.count[t] == 1 and cell >= 0 and runs.settled[cell]:
            tables.emission[cell] -= 1.0


@jit
def log_settled(tables, runs, lattice, begin, end):
    """Summed log of a sequence's settled emissions, which are taken out (nats)."""
    total = 0.0
    for t in range(begin, end):
        cell = lattice.cell[lattice.first[t]]
        if lattice.count[t] == 1 and cell >= 0 and runs.settled[cell]:
            total += math.log(tables.emission[cell])
    return total
