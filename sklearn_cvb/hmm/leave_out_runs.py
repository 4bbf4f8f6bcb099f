"""Leave one sequence out by its runs of ambiguous tokens: eqs. 24-25 where a dictionary helps.

A sequence is taken out of the counts, all its runs are inferred from what is left, and while their
posteriors are made they go back into the counts.
"""

import math

import numpy as np

from sklearn_cvb.kernels.jit import few, jit, jit_token
from sklearn_cvb.kernels.runs import (
    LARGEST_PRODUCT,
    SMALLEST_PRODUCT,
    Factors,
    Kept,
    is_single,
    run_backward,
    run_forward,
    single_backward,
    single_forward,
)

# Rows of the buffer by state: two scales of `Factors`, and the posteriors of a sequence added up,
# of all tokens, of its last token, and of those without an observation.
_SCALE, _LAST_SCALE, _EVERY, _LAST, _UNOBSERVED = range(5)
BY_STATE = 5


@jit_token
def update_by_runs(
    tables, floor, steps, least, i, units, runs, lattice, posterior, pairs, work, by_state
):
    """Infer sequence i from all others and put its new counts into `tables`.

    `steps` and `least` are the transitions of `tables` and `floor`, flat: reshaping them is a call
    that costs more than a token. `by_state` is a buffer of shape (BY_STATE, K). Returns the log
    weight of the sequence without its settled emissions (nats), or NaN: then its counts are taken
    out, and `forward_backward` has to do the rest.
    """
    bounds = (units.begin[i], units.end[i])
    last_certain = lattice.count[bounds[1] - 1] == 1
    _take_out(
        tables, floor, steps, least, i, units, runs, lattice, posterior, pairs, work.block, by_state
    )
    factors = Factors(
        tables.start, tables.transition, tables.emission, by_state[_SCALE], by_state[_LAST_SCALE]
    )
    log_z, product = _certain_weight(factors, steps, i, bounds, runs, lattice)
    first = runs.sequence[i]
    position, at = 0, 0
    for r in range(first, runs.sequence[i + 1]):
        span = (np.int64(runs.begin[r]), np.int64(runs.end[r]))
        log_scale = 0.0
        if is_single(lattice, span, bounds):
            weight, position = single_forward(factors, lattice, span[0], work, position)
        else:
            weight, log_scale, position, at = run_forward(
                factors, lattice, span, bounds, work, position, at
            )
        if not (SMALLEST_PRODUCT < weight < LARGEST_PRODUCT):
            _take_out_settled(tables, runs, lattice, bounds)
            return math.nan
        work.scale[r - first] = 1.0 / weight
        log_z += log_scale
        product *= weight
        if not (1e-100 < product < 1e100):
            log_z += math.log(product)
            product = 1.0
    _clear(by_state)
    kept = Kept(posterior, pairs, by_state[_EVERY], by_state[_UNOBSERVED])
    entry, stored = units.entry[i + 1], units.pair[i + 1]
    t = bounds[1]
    for r in range(runs.sequence[i + 1] - 1, first - 1, -1):
        span = (np.int64(runs.begin[r]), np.int64(runs.end[r]))
        entry -= t - span[1]
        t = span[0]
        inverse = work.scale[r - first]
        if is_single(lattice, span, bounds):
            position, entry = single_backward(
                lattice, span[0], work, inverse, position, tables, kept, entry
            )
            continue
        position, at, entry, stored = run_backward(
            lattice, span, bounds, work, inverse, position, at, tables, True, kept, entry, stored
        )
    _shift_certain(tables, floor, steps, least, i, bounds, runs, lattice, by_state, 1.0)
    if not last_certain:
        _last_posterior(lattice, bounds, posterior, units.entry[i + 1], by_state)
    for k in range(by_state.shape[1]):
        tables.emit[k] += by_state[_EVERY, k] - by_state[_UNOBSERVED, k]
        tables.out[k] += by_state[_EVERY, k] - by_state[_LAST, k]
    return log_z + math.log(product)


@jit_token
def _clear(by_state):
    """Set the posteriors by state to 0."""
    for k in range(by_state.shape[1]):
        by_state[_EVERY, k] = 0.0
        by_state[_LAST, k] = 0.0
        by_state[_UNOBSERVED, k] = 0.0


@jit_token
def _last_posterior(lattice, bounds, posterior, entry_end, by_state):
    """Note the posterior of an ambiguous last token, which has no transition out of it."""
    base, n = lattice.first[bounds[1] - 1], lattice.count[bounds[1] - 1]
    for j in range(n):
        by_state[_LAST, lattice.state[base + j]] = posterior[entry_end - n + j]


@jit_token
def _take(table, floor, row, to, amount):
    """Take an amount out of one transition count, which stops at the floor."""
    table[row, to] = max(table[row, to] - amount, floor[row, to])


@jit_token
def _shift_certain(tables, floor, steps, least, i, bounds, runs, lattice, by_state, sign):
    """Counts of the certain tokens of sequence i, except settled ones, and of their pairs."""
    for c in range(runs.token[i], runs.token[i + 1]):
        by_state[_EVERY, runs.state[np.uint64(c)]] += 1.0
    for c in range(runs.open[i], runs.open[i + 1]):
        state, cell = runs.open_state[c], runs.open_cell[c]
        if cell >= 0:
            tables.emission[cell] = max(tables.emission[cell] + sign, floor.emission[cell])
        else:
            by_state[_UNOBSERVED, state] += 1.0
    for c in range(runs.pair[i], runs.pair[i + 1]):
        step = runs.step[np.uint64(c)]
        steps[step] = max(steps[step] + sign, least[step])
    if lattice.count[bounds[0]] == 1:
        state = lattice.state[lattice.first[bounds[0]]]
        tables.start[state] = max(tables.start[state] + sign, floor.start[state])
    if lattice.count[bounds[1] - 1] == 1:
        by_state[_LAST, lattice.state[lattice.first[bounds[1] - 1]]] = 1.0


@jit_token
def _take_out(
    tables, floor, steps, least, i, units, runs, lattice, posterior, pairs, block, by_state
):
    """Take sequence i out of the tables and fill the scales from what is left."""
    bounds = (units.begin[i], units.end[i])
    _clear(by_state)
    _shift_certain(tables, floor, steps, least, i, bounds, runs, lattice, by_state, -1.0)
    position, at = units.entry[i], units.pair[i]
    t = bounds[0]
    for r in range(runs.sequence[i], runs.sequence[i + 1]):
        span = (np.int64(runs.begin[r]), np.int64(runs.end[r]))
        position += span[0] - t
        t = span[1]
        if is_single(lattice, span, bounds):
            position = _take_out_single(
                tables, floor, lattice, span[0], posterior, position, by_state
            )
            continue
        position, at = _take_out_run(
            tables, floor, lattice, span, bounds, posterior, position, pairs, at, block, by_state
        )
    if lattice.count[bounds[1] - 1] > 1:
        _last_posterior(lattice, bounds, posterior, units.entry[i + 1], by_state)
    for k in range(by_state.shape[1]):
        emit = tables.emit[k] - (by_state[_EVERY, k] - by_state[_UNOBSERVED, k])
        out = tables.out[k] - (by_state[_EVERY, k] - by_state[_LAST, k])
        tables.emit[k] = max(emit, floor.emit[k])
        tables.out[k] = max(out, floor.out[k])
        by_state[_LAST_SCALE, k] = 1.0 / tables.emit[k]
        by_state[_SCALE, k] = by_state[_LAST_SCALE, k] / tables.out[k]


@jit_token
def _take_pairs(
    table, floor, lattice, left, n_left, right, n, posterior, position, pairs, at, rest
):
    """Take the pairs of two ambiguous tokens out of the transition counts.

    The last row and column are what the posteriors leave; `rest` is a buffer for that row.
    """
    wide = n - 1
    b = 0
    while b < few(n):
        rest[np.uint64(b)] = posterior[np.uint64(position + b)]
        b += 1
    last = np.uint64(lattice.state[np.uint64(right + wide)])
    for a in range(n_left - 1):
        row = np.uint64(lattice.state[np.uint64(left + a)])
        remaining = posterior[np.uint64(position - n_left + a)]
        b = 0
        while b < few(wide):
            value = pairs[np.uint64(at + b)]
            remaining -= value
            rest[np.uint64(b)] -= value
            _take(table, floor, row, np.uint64(lattice.state[np.uint64(right + b)]), value)
            b += 1
        at += wide
        remaining = max(remaining, 0.0)
        rest[np.uint64(wide)] -= remaining
        _take(table, floor, row, last, remaining)
    row = np.uint64(lattice.state[np.uint64(left + n_left - 1)])
    b = 0
    while b < few(n):
        value = max(rest[np.uint64(b)], 0.0)
        _take(table, floor, row, np.uint64(lattice.state[np.uint64(right + b)]), value)
        b += 1


@jit_token
def _take_out_single(tables, floor, lattice, t, posterior, position, by_state):
    """Take the counts of a token between two certain ones out of the tables."""
    base, n = np.int64(lattice.first[np.uint64(t)]), np.int64(lattice.count[np.uint64(t)])
    before = np.uint64(lattice.state[np.uint64(lattice.first[np.uint64(t - 1)])])
    after = np.uint64(lattice.state[np.uint64(lattice.first[np.uint64(t + 1)])])
    for j in range(n):
        slot = np.uint64(base + j)
        state, cell = np.uint64(lattice.state[slot]), np.uint64(lattice.cell[slot])
        q = posterior[np.uint64(position + j)]
        by_state[_EVERY, state] += q
        tables.emission[cell] = max(tables.emission[cell] - q, floor.least)
        _take(tables.transition, floor.transition, before, state, q)
        _take(tables.transition, floor.transition, state, after, q)
    return position + n


@jit_token
def _take_out_run(
    tables, floor, lattice, span, bounds, posterior, position, pairs, at, block, by_state
):
    """Take the counts of one run out of the tables; its posteriors begin at `position`."""
    base, n = 0, 0
    for t in range(span[0], span[1]):
        left, n_left = base, n
        base, n = np.int64(lattice.first[np.uint64(t)]), np.int64(lattice.count[np.uint64(t)])
        is_end = t == span[1] - 1 and t < bounds[1] - 1
        for j in range(n):
            slot = np.uint64(base + j)
            state, cell = np.uint64(lattice.state[slot]), lattice.cell[slot]
            q = posterior[np.uint64(position + j)]
            by_state[_EVERY, state] += q
            if cell < 0:
                by_state[_UNOBSERVED, state] += q
            else:
                value = tables.emission[np.uint64(cell)] - q
                tables.emission[np.uint64(cell)] = max(value, floor.least)
            if is_end:
                after = lattice.state[np.uint64(lattice.first[np.uint64(t + 1)])]
                _take(tables.transition, floor.transition, state, np.uint64(after), q)
            if t == span[0]:
                if t > bounds[0]:
                    before = lattice.state[np.uint64(lattice.first[np.uint64(t - 1)])]
                    _take(tables.transition, floor.transition, np.uint64(before), state, q)
                else:
                    tables.start[state] = max(tables.start[state] - q, floor.start[state])
        if t > span[0]:
            _take_pairs(
                tables.transition,
                floor.transition,
                lattice,
                left,
                n_left,
                base,
                n,
                posterior,
                position,
                pairs,
                at,
                block,
            )
            at += (n_left - 1) * (n - 1)
        position += n
    return position, at


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


@jit_token
def _certain_weight(factors, steps, i, bounds, runs, lattice):
    """Weight of the certain tokens of sequence i, except settled emissions: a log and a factor."""
    log_z = 0.0
    product = 1.0
    if lattice.count[bounds[0]] == 1:
        product = factors.start[lattice.state[lattice.first[bounds[0]]]]
    if lattice.count[bounds[1] - 1] == 1:
        # The loop below takes the last token for one with a step out of it.
        state = lattice.state[lattice.first[bounds[1] - 1]]
        product *= factors.last_scale[state] / factors.scale[state]
    for c in range(runs.token[i], runs.token[i + 1]):
        product *= factors.scale[runs.state[np.uint64(c)]]
        if not (1e-100 < product < 1e100):
            log_z += math.log(product)
            product = 1.0
    for c in range(runs.pair[i], runs.pair[i + 1]):
        product *= steps[runs.step[np.uint64(c)]]
        if not (1e-100 < product < 1e100):
            log_z += math.log(product)
            product = 1.0
    for c in range(runs.open[i], runs.open[i + 1]):
        if runs.open_cell[c] >= 0:
            log_z += math.log(factors.emission[runs.open_cell[c]])
        else:
            log_z -= math.log(factors.last_scale[runs.open_state[c]])
    return log_z, product
