"""Leave one sequence out by the sum of its pairs: eqs. 24-25 where many states are allowed.

Whole rows of states move between the sequence and the tables: an open token lists its cells one
after the other, and the transitions of a sequence are one table of the size of all transitions.
"""

import numpy as np

from sklearn_cvb.kernels.chain.forward_backward import sum_row
from sklearn_cvb.kernels.chain.pairs import add_four_outer, add_outer
from sklearn_cvb.kernels.jit import jit, jit_token

# Rows of the buffer by state: the posteriors of all tokens added up, and of those without an
# observation or with one that counts elsewhere.
_EVERY, _SILENT = range(2)


@jit_token
def _add_row(total, posterior, position):
    """Add the posterior of an open token to one row of the buffer."""
    for k in range(total.size):
        total[np.uint64(k)] += posterior[np.uint64(position + k)]


@jit_token
def _add_entries(total, lattice, t, posterior, position):
    """Add the posterior of a token to one row of the buffer."""
    base, n = lattice.first[t], lattice.count[t]
    if n == total.size:
        _add_row(total, posterior, position)
        return
    for j in range(n):
        state = lattice.state[np.uint64(base + j)]
        total[np.uint64(state)] += posterior[np.uint64(position + j)]


@jit_token
def _is_silent(units, i, lattice, t):
    """Whether no emission of token t counts in unit i."""
    return lattice.cell[lattice.first[t]] < 0 or (units.borrowed[i] and t == units.begin[i])


@jit_token
def _take_token(tables, floor, lattice, t, posterior, position):
    """Take the emission of token t out of its cells."""
    base, n = lattice.first[t], lattice.count[t]
    if n == tables.start.size:
        cell = lattice.cell[base]
        for j in range(n):
            value = tables.emission[np.uint64(cell + j)] - posterior[np.uint64(position + j)]
            tables.emission[np.uint64(cell + j)] = value if value > floor.least else floor.least
        return
    for j in range(n):
        cell = np.uint64(lattice.cell[np.uint64(base + j)])
        value = tables.emission[cell] - posterior[np.uint64(position + j)]
        tables.emission[cell] = value if value > floor.least else floor.least


@jit_token
def take_sum(table, n_steps, least, pairs, at):
    """Take pairs from `at` on out of the flat table of transition counts."""
    for step in range(n_steps):
        value = table[np.uint64(step)] - pairs[np.uint64(at + step)]
        table[np.uint64(step)] = value if value > least else least


@jit_token
def _subtract_last(by_state, lattice, t, posterior, entry_end):
    """Leave the last token, which has no transition out of it, out of the total."""
    base, n = lattice.first[t], lattice.count[t]
    for j in range(n):
        by_state[_EVERY, lattice.state[base + j]] -= posterior[entry_end - n + j]


@jit
def take_out_sum(tables, floor, steps, i, units, lattice, posterior, pairs, by_state):
    """Take the counts of unit i out of the tables.

    `steps` are the transitions of `tables`, flat; `by_state` is a buffer of at least two rows of K
    numbers.
    """
    n_states = tables.start.size
    by_state[: _SILENT + 1] = 0.0
    position = units.entry[i]
    for t in range(units.begin[i], units.end[i]):
        base, n = lattice.first[t], lattice.count[t]
        _add_entries(by_state[_EVERY], lattice, t, posterior, position)
        if _is_silent(units, i, lattice, t):
            _add_entries(by_state[_SILENT], lattice, t, posterior, position)
        else:
            _take_token(tables, floor, lattice, t, posterior, position)
        if t == units.begin[i] and not units.borrowed[i]:
            for j in range(n):
                k = lattice.state[base + j]
                tables.start[k] = max(tables.start[k] - posterior[position + j], floor.start[k])
        position += n
    take_sum(steps, steps.size, floor.least_step, pairs, units.pair[i])
    for k in range(n_states):
        emit = tables.emit[k] - (by_state[_EVERY, k] - by_state[_SILENT, k])
        tables.emit[k] = max(emit, floor.emit[k])
    if floor.least_step > 0.0:
        _subtract_last(by_state, lattice, units.end[i] - 1, posterior, units.entry[i + 1])
        for k in range(n_states):
            tables.out[k] = max(tables.out[k] - by_state[_EVERY, k], floor.out[k])
    else:
        # Under a topology the posteriors of a start may not agree with its pairs.
        for k in range(n_states):
            total = sum_row(pairs, units.pair[i] + k * n_states, n_states)
            tables.out[k] = max(tables.out[k] - total, floor.out[k])


@jit_token
def _put_token(tables, lattice, t, posterior, position):
    """Add the emission of token t to its cells."""
    base, n = lattice.first[t], lattice.count[t]
    if n == tables.start.size:
        cell = lattice.cell[base]
        for j in range(n):
            tables.emission[np.uint64(cell + j)] += posterior[np.uint64(position + j)]
        return
    for j in range(n):
        cell = np.uint64(lattice.cell[np.uint64(base + j)])
        tables.emission[cell] += posterior[np.uint64(position + j)]


@jit_token
def put_sum(table, weights, pairs, at):
    """Keep pairs from `at` on and add them to the flat table of transition counts.

    `weights` are the pairs without the counts they go to.
    """
    for step in range(weights.size):
        value = weights[np.uint64(step)] * table[np.uint64(step)]
        pairs[np.uint64(at + step)] = value
        table[np.uint64(step)] += value


@jit_token
def _are_open(lattice, begin, end, n_states):
    """Whether tokens [begin, end) are five and may take every state."""
    n = 0
    for t in range(begin, end):
        n += 1 if lattice.count[t] == n_states else 0
    return n == 5


@jit
def put_back_sum(tables, steps, i, units, lattice, posterior, pairs, work, by_state):
    """Keep the posteriors and pairs of unit i, from its messages, and add them to the tables.

    `steps` and `by_state` as in `take_out_sum`.
    """
    n_states = tables.start.size
    work.table[:] = 0.0
    by_state[: _SILENT + 1] = 0.0
    position, before, entry = 0, 0, units.entry[i]
    next_step = units.begin[i] + 1
    for t in range(units.begin[i], units.end[i]):
        base, n = lattice.first[t], lattice.count[t]
        _add_entries(by_state[_EVERY], lattice, t, work.posterior, position)
        if _is_silent(units, i, lattice, t):
            _add_entries(by_state[_SILENT], lattice, t, work.posterior, position)
        else:
            _put_token(tables, lattice, t, work.posterior, position)
        if t == units.begin[i] and not units.borrowed[i]:
            for j in range(n):
                tables.start[lattice.state[base + j]] += work.posterior[position + j]
        if t >= next_step:
            next_step = t + 1
            if _are_open(lattice, t - 1, min(t + 4, units.end[i]), n_states):
                add_four_outer(work, before, work.table)
                next_step = t + 4
            else:
                add_outer(lattice, t, work, before, position, work.table)
        before = position
        position += n
    for j in range(position):
        posterior[np.uint64(entry + j)] = work.posterior[np.uint64(j)]
    put_sum(steps, work.table.reshape(steps.size), pairs, units.pair[i])
    for k in range(n_states):
        tables.emit[k] += by_state[_EVERY, k] - by_state[_SILENT, k]
    _subtract_last(by_state, lattice, units.end[i] - 1, work.posterior, position)
    for k in range(n_states):
        tables.out[k] += by_state[_EVERY, k]
