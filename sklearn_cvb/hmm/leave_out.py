"""Leave one sequence out: the second collapsed algorithm of Wang and Blunsom (2013), eqs. 24-25.

The corpus is cut into units: whole sequences, or windows of long ones. A window's first entry is
the token before it ("borrowed"): its weight is the forward message there, and its emission belongs
to the window before. So one forward-backward kernel serves both.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.hmm.parameters import HMMCounts, empty_counts
from sklearn_cvb.kernels.chain import (
    add_block,
    add_outer,
    fill_emission,
    fill_logs,
    forward_backward,
    forward_backward_log,
    forward_pass,
    forward_pass_log,
    pair_block,
    retreat_lattice,
    work_for,
)
from sklearn_cvb.kernels.jit import jit, jit_token
from sklearn_cvb.kernels.runs import entry_weight, infer_run

# Right messages are kept above this, so that dividing by them is safe.
_SMALLEST_MESSAGE = 1e-100


class Units(NamedTuple):
    """What is left out at a time: tokens [begin, end), the first one borrowed or not.

    `entry` and `pair` are offsets, one more than units, of the unit's posteriors and stored pair
    marginals. A unit stores one block per pair of ambiguous neighbours, or, where that is
    smaller, the (K, K) sum of all its pairs (`summed`).
    """

    begin: np.ndarray
    end: np.ndarray
    borrowed: np.ndarray
    summed: np.ndarray
    entry: np.ndarray
    pair: np.ndarray


class Tally(NamedTuple):
    """Counts with the prior added: cells of all tables and the denominators of their rows."""

    start: np.ndarray
    transition: np.ndarray
    out: np.ndarray
    emission: np.ndarray
    emit: np.ndarray


class Floor(NamedTuple):
    """The least that each entry of a `Tally` can be; `highest` is the largest `emission` entry."""

    start: np.ndarray
    transition: np.ndarray
    out: np.ndarray
    emission: np.ndarray
    emit: np.ndarray
    highest: float


class Absence(NamedTuple):
    """P(C = 0): products of 1 - q over tokens, for cells and row totals; empty: not tracked."""

    start: np.ndarray
    transition: np.ndarray
    out: np.ndarray
    emission: np.ndarray
    emit: np.ndarray


def units_for(starts, count, n_states, block_length=None):
    """Cut a corpus into sequences, or into windows of at most `block_length` tokens."""
    lengths = np.diff(starts)
    windows = np.ones_like(lengths) if block_length is None else -(-lengths // block_length)
    total = int(windows.sum())
    sequence = np.repeat(np.arange(len(lengths)), windows)
    number = np.arange(total) - np.repeat(np.cumsum(windows) - windows, windows)
    size = lengths.max() if block_length is None else block_length
    begin = starts[sequence] + number * size
    end = np.minimum(begin + size, starts[sequence + 1])
    borrowed = number > 0
    begin = begin - borrowed
    entries, pairs = np.empty(total, np.int64), np.empty(total, np.int64)
    _measure(begin, end, borrowed, count, entries, pairs)
    summed = pairs > n_states * n_states
    pairs[summed] = n_states * n_states
    offsets = [np.concatenate([[0], np.cumsum(sizes)]) for sizes in (entries, pairs)]
    return Units(begin, end, borrowed, summed, *offsets)


@jit
def _measure(begin, end, borrowed, count, entries, pairs):
    """Number of posteriors and of block entries of each unit."""
    for i in range(begin.size):
        entries[i] = 0
        pairs[i] = 0
        for t in range(begin[i], end[i]):
            entries[i] += count[t]
            if t > begin[i] and count[t] > 1 and count[t - 1] > 1:
                pairs[i] += count[t] * count[t - 1]


@jit
def spread(units, count, by_token, by_unit):
    """Copy token posteriors to the units' layout, in which borrowed tokens appear twice."""
    source = 0
    for i in range(units.begin.size):
        target = units.entry[i]
        for t in range(units.begin[i], units.end[i]):
            borrowed = units.borrowed[i] and t == units.begin[i]
            begin = source - count[t] if borrowed else source
            for j in range(count[t]):
                by_unit[target + j] = by_token[begin + j]
            target += count[t]
            if not borrowed:
                source += count[t]


@jit
def collect(units, count, by_unit, by_token):
    """Copy the units' posteriors to token layout, leaving out the borrowed ones."""
    target = 0
    for i in range(units.begin.size):
        source = units.entry[i]
        for t in range(units.begin[i], units.end[i]):
            if not (units.borrowed[i] and t == units.begin[i]):
                for j in range(count[t]):
                    by_token[target + j] = by_unit[source + j]
                target += count[t]
            source += count[t]


@jit
def fill_products(units, lattice, posterior, pairs, n_states):
    """Pair marginals of independent tokens: neighbouring posteriors multiplied."""
    for i in range(units.begin.size):
        position = units.pair[i]
        if units.summed[i]:
            pairs[position : units.pair[i + 1]] = 0.0
        before = units.entry[i]
        for t in range(units.begin[i] + 1, units.end[i]):
            left, n_left = lattice.first[t - 1], lattice.count[t - 1]
            right, n_right = lattice.first[t], lattice.count[t]
            now = before + n_left
            ambiguous = n_left > 1 and n_right > 1
            if units.summed[i] or ambiguous:
                for a in range(n_left):
                    row = position + lattice.state[left + a] * n_states
                    for b in range(n_right):
                        value = posterior[before + a] * posterior[now + b]
                        if units.summed[i]:
                            pairs[row + lattice.state[right + b]] += value
                        else:
                            pairs[position + a * n_right + b] = value
            if not units.summed[i] and ambiguous:
                position += n_left * n_right
            before = now


@jit
def _shift(tables, floor, i, units, lattice, posterior, pairs, sign):
    """Add (sign 1) or take out (-1) the expected counts of unit i; nothing falls below `floor`."""
    begin, end = units.begin[i], units.end[i]
    position = units.entry[i]
    block = units.pair[i]
    before = position
    for t in range(begin, end):
        n = lattice.count[t]
        if not (units.borrowed[i] and t == begin):
            _shift_token(tables, floor, lattice, t, t == begin, posterior, position, sign)
        if t > begin and not units.summed[i]:
            _shift_pair(tables, floor, lattice, t, posterior, before, position, pairs, block, sign)
            n_left = lattice.count[t - 1]
            if n > 1 and n_left > 1:
                block += n * n_left
        before = position
        position += n
    if units.summed[i]:
        _shift_sum(tables, floor, pairs, block, sign)


@jit_token
def _shift_token(tables, floor, lattice, t, is_first, posterior, position, sign):
    """The emission of token t, and its start count if it is a sequence's first."""
    base, n = lattice.first[t], lattice.count[t]
    for j in range(n):
        state, cell = lattice.state[base + j], lattice.cell[base + j]
        change = sign * posterior[position + j] if n > 1 else sign
        if cell >= 0:
            value = tables.emission[cell] + change
            # One bound for all cells first: most need not look up their own.
            if value <= floor.highest and sign < 0.0:
                value = max(value, floor.emission[cell])
            tables.emission[cell] = value
            tables.emit[state] = max(tables.emit[state] + change, floor.emit[state])
        if is_first:
            tables.start[state] = max(tables.start[state] + change, floor.start[state])


@jit_token
def _shift_pair(tables, floor, lattice, t, posterior, before, position, pairs, block, sign):
    """The transitions from token t - 1 to token t."""
    left, n_left = lattice.first[t - 1], lattice.count[t - 1]
    right, n_right = lattice.first[t], lattice.count[t]
    for a in range(n_left):
        row = lattice.state[left + a]
        total = 0.0
        for b in range(n_right):
            if n_right == 1:
                change = sign * posterior[before + a] if n_left > 1 else sign
            elif n_left == 1:
                change = sign * posterior[position + b]
            else:
                change = sign * pairs[block + a * n_right + b]
            total += change
            to = lattice.state[right + b]
            tables.transition[row, to] = max(
                tables.transition[row, to] + change, floor.transition[row, to]
            )
        tables.out[row] = max(tables.out[row] + total, floor.out[row])


@jit_token
def _shift_sum(tables, floor, pairs, block, sign):
    """The transitions of a unit that stores the sum of its pairs."""
    n_states = tables.start.size
    for a in range(n_states):
        total = 0.0
        for b in range(n_states):
            change = sign * pairs[block + a * n_states + b]
            total += change
            tables.transition[a, b] = max(tables.transition[a, b] + change, floor.transition[a, b])
        tables.out[a] = max(tables.out[a] + total, floor.out[a])


def unit_work(units, problem):
    """Buffers for the longest unit."""
    return work_for(units.begin, units.end, problem.lattice.count, problem.cells.n_states)


@jit
def _add_all(tables, floor, units, lattice, posterior, pairs):
    for i in range(units.begin.size):
        _shift(tables, floor, i, units, lattice, posterior, pairs, 1.0)


def count_units(units, problem, posterior, pairs):
    """Expected counts of all units, rebuilt from their posteriors."""
    zeros = tally_of(empty_counts(problem.cells), None, problem.cells)
    tables = Tally(*(table.copy() for table in zeros))
    _add_all(tables, Floor(*zeros, 0.0), units, problem.lattice, posterior, pairs)
    return HMMCounts(tables.start, tables.transition, tables.emission)


def tally_of(counts, prior, cells):
    """Counts plus prior, with denominators (`prior` None: plain counts)."""
    start, transition, emission = counts
    out, emit = transition.sum(axis=1), cells.row_totals(emission)
    if prior is None:
        return Tally(start, transition, out, emission, emit)
    return Tally(
        start + prior.start,
        transition + prior.transition,
        out + prior.transition_total,
        emission + prior.emission,
        emit + prior.emission_total,
    )


def floor_of(prior):
    """The tables of a prior alone: what no count may fall below."""
    return Floor(
        prior.start,
        prior.transition,
        prior.transition_total,
        prior.emission,
        prior.emission_total,
        float(prior.emission.max()),
    )


def no_absence():
    """Tables that say absence is not tracked."""
    return Absence(np.zeros(0), np.zeros((0, 0)), np.zeros(0), np.zeros(0), np.zeros(0))


def full_absence(cells):
    """Tables to track absence in: all ones."""
    n = cells.n_states
    return Absence(np.ones(n), np.ones((n, n)), np.ones(n), np.ones(len(cells.state)), np.ones(n))


@jit
def _fill_weights(tables, i, units, lattice, carry, right, is_last, target):
    """Emission weights of unit i times the transition denominators; returns their number.

    Transition weights of eq. 25 are C / out: dividing each token's weight by its states' out
    leaves the counts themselves as transition weights.
    """
    position = 0
    begin, end = units.begin[i], units.end[i]
    for t in range(begin, end):
        base = lattice.first[t]
        for j in range(lattice.count[t]):
            state = lattice.state[base + j]
            cell = lattice.cell[base + j]
            weight = 1.0
            if units.borrowed[i] and t == begin:
                weight = carry[state]
            elif cell >= 0:
                weight = tables.emission[cell] / tables.emit[state]
            if t < end - 1:
                weight /= tables.out[state]
            elif not is_last:
                weight *= right[i, state]
            target[position] = weight
            position += 1
    return position


@jit
def _fill_log_weights(tables, start, size, work):
    """Turn the emission weights of a unit into logs, and take those of start and transitions."""
    for position in range(size):
        work.emission[position] = math.log(work.emission[position])
    fill_logs(start, work.log_row)
    for k in range(work.logs.shape[0]):
        fill_logs(tables.transition[k], work.logs[k])


@jit_token
def _is_last(units, i):
    return i + 1 == units.begin.size or not units.borrowed[i + 1]


@jit
def _log_start_total(tables):
    total = 0.0
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
        now = before + lattice.count[t - 1]
        if units.summed[i] and not in_log:
            add_outer(lattice, t, work, before, now, summed)
        elif units.summed[i]:
            pair_block(transition, lattice, t, work, before, now, in_log, work.block, 0)
            add_block(lattice, t, work.block, summed)
        elif lattice.count[t - 1] > 1 and lattice.count[t] > 1:
            pair_block(transition, lattice, t, work, before, now, in_log, pairs, position)
            position += lattice.count[t - 1] * lattice.count[t]
        before = now
    if units.summed[i] and not in_log:
        for a in range(n_states):
            for b in range(n_states):
                summed[a, b] *= tables.transition[a, b]


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
        entry = units.entry[i]
        for position in range(size):
            posterior[entry + position] = work.posterior[position]
    return True


@jit
def _infer_by_runs(tables, factors, i, units, runs, lattice, posterior, pairs, work):
    """Infer a whole sequence from the runs of its ambiguous tokens.

    Returns its log weight, or NaN: then `forward_backward` has to do it.
    """
    begin, end = units.begin[i], units.end[i]
    for k in range(factors.scale.size):
        factors.last_scale[k] = 1.0 / tables.emit[k]
        factors.scale[k] = factors.last_scale[k] / tables.out[k]
    log_z = 0.0
    product = 1.0
    t = begin
    position, block = units.entry[i], units.pair[i]
    for r in range(runs.sequence[i], runs.sequence[i + 1] + 1):
        within = r < runs.sequence[i + 1]
        for u in range(t, runs.begin[r] if within else end):
            slot = lattice.first[u]
            state = lattice.state[slot]
            product *= entry_weight(factors, lattice, slot, u == end - 1)
            if u == begin:
                product *= factors.start[state]
            elif lattice.count[u - 1] == 1:
                product *= factors.transition[lattice.state[lattice.first[u - 1]], state]
            if not (1e-200 < product < 1e200):
                log_z += math.log(product)
                product = 1.0
            position += 1
        if not within:
            break
        weight, size = infer_run(
            factors,
            lattice,
            runs.begin[r],
            runs.end[r],
            begin,
            end,
            work,
            True,
            tables,
            pairs,
            block,
        )
        if math.isnan(weight):
            return weight
        log_z += weight
        for entry in range(size):
            posterior[position + entry] = work.posterior[entry]
        position += size
        t = runs.end[r]
        for u in range(runs.begin[r] + 1, t):
            block += lattice.count[u - 1] * lattice.count[u]
    return log_z + math.log(product)


@jit
def sweep_units(
    tables, floor, factors, units, runs, lattice, posterior, pairs, right, absence, work, log_z
):
    """One sweep: take each unit's counts out, infer it from the rest, add its new counts.

    `factors` are the tables with scales to fill. Changes `tables`, `posterior`, `pairs`, `right`
    (messages to each window from the next one) and `absence` in place; fills `log_z` with the log
    normaliser of each unit (nats).
    """
    carry = work.row
    whole = runs.sequence.size == units.begin.size + 1 and absence.start.size == 0
    for i in range(units.begin.size):
        begin, end = units.begin[i], units.end[i]
        is_last = _is_last(units, i)
        _shift(tables, floor, i, units, lattice, posterior, pairs, -1.0)
        if whole and not units.summed[i]:
            log_z[i] = _infer_by_runs(
                tables, factors, i, units, runs, lattice, posterior, pairs, work
            )
            if not math.isnan(log_z[i]):
                log_z[i] -= _log_start_total(tables)
                _shift(tables, floor, i, units, lattice, posterior, pairs, 1.0)
                continue
        start = work.ones if units.borrowed[i] else tables.start
        size = _fill_weights(tables, i, units, lattice, carry, right, is_last, work.emission)
        log_z[i] = forward_backward(start, tables.transition, lattice, begin, end, size, work)
        in_log = math.isnan(log_z[i])
        if in_log:
            _fill_weights(tables, i, units, lattice, carry, right, is_last, work.emission)
            _fill_log_weights(tables, start, size, work)
            log_z[i] = forward_backward_log(
                work.log_row, work.logs, lattice, begin, end, size, work
            )
        if not units.borrowed[i]:
            log_z[i] -= _log_start_total(tables)
        else:
            _carry_back(tables, i, units, lattice, work, in_log, right)
        if not is_last:
            _carry_forward(i, units, lattice, size, work, right, is_last, in_log, carry)
        _store_pairs(tables, work.logs, i, units, lattice, work, in_log, pairs)
        if absence.start.size:
            _track_absence(tables, work.logs, i, units, lattice, work, in_log, absence)
        entry = units.entry[i]
        for position in range(size):
            posterior[entry + position] = work.posterior[position]
        _shift(tables, floor, i, units, lattice, posterior, pairs, 1.0)


@jit
def leave_out_scores(tables, floor, units, lattice, posterior, pairs, right, work, log_z):
    """log p(unit | the expected counts of all other units), counts frozen (nats).

    Later windows of a sequence are conditioned on the forward message of the earlier ones.
    """
    carry = work.row
    for i in range(units.begin.size):
        begin, end = units.begin[i], units.end[i]
        _shift(tables, floor, i, units, lattice, posterior, pairs, -1.0)
        start = work.ones if units.borrowed[i] else tables.start
        size = _fill_weights(tables, i, units, lattice, carry, right, True, work.emission)
        log_z[i] = forward_pass(
            start, tables.transition, lattice, begin, end, work.emission, work.forward, work.scale
        )
        in_log = math.isnan(log_z[i])
        if in_log:
            _fill_log_weights(tables, start, size, work)
            log_z[i] = forward_pass_log(
                work.log_row,
                work.logs,
                lattice,
                begin,
                end,
                work.emission,
                work.forward,
                work.scale,
            )
        if not units.borrowed[i]:
            log_z[i] -= _log_start_total(tables)
        _carry_forward(i, units, lattice, size, work, right, True, in_log, carry)
        _shift(tables, floor, i, units, lattice, posterior, pairs, 1.0)


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
