"""What collapsed inference leaves out at a time, and the counts that change when it does.

The corpus is cut into units: whole sequences, or windows of long ones. A window's first entry is
the token before it ("borrowed"): its weight is the forward message there, and its emission belongs
to the window before. So one forward-backward kernel serves both.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.hmm.parameters import HMMCounts, empty_counts
from sklearn_cvb.kernels.chain import work_for
from sklearn_cvb.kernels.jit import jit, jit_token
from sklearn_cvb.kernels.runs import add_borders


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
def shift_unit(tables, floor, i, units, lattice, posterior, pairs, sign):
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


@jit
def shift_runs(tables, floor, i, units, runs, lattice, posterior, pairs, sign):
    """`shift_unit` for a whole sequence that stores blocks, from what is certain and its runs."""
    begin, end = units.begin[i], units.end[i]
    _shift_certain(tables, floor, runs, i, lattice.count[end - 1] == 1, sign)
    position, block = units.entry[i], units.pair[i]
    t = begin
    for r in range(runs.sequence[i], runs.sequence[i + 1]):
        position += runs.begin[r] - t
        t = runs.end[r]
        for u in range(runs.begin[r], t):
            n = lattice.count[u]
            _shift_entries(tables, floor, lattice, u, begin, end, posterior, position, sign)
            if u > runs.begin[r]:
                _shift_block(tables, floor, lattice, u, pairs, block, sign)
                block += n * lattice.count[u - 1]
            elif u > begin:
                row = lattice.state[lattice.first[u - 1]]
                for j in range(n):
                    to = lattice.state[lattice.first[u] + j]
                    q = posterior[position + j]
                    _bump(tables.transition, floor.transition, row, to, q, sign)
            if u == t - 1 and t < end:
                to = lattice.state[lattice.first[t]]
                for j in range(n):
                    row = lattice.state[lattice.first[u] + j]
                    q = posterior[position + j]
                    _bump(tables.transition, floor.transition, row, to, q, sign)
            position += n


@jit_token
def _bump(table, floor, row, to, amount, sign):
    """Change one transition count; taking out stops at the floor."""
    value = table[row, to] + sign * amount
    if sign < 0.0:
        value = max(value, floor[row, to])
    table[row, to] = value


@jit_token
def _bump_emission(tables, floor, cell, state, amount, sign):
    """Change the count of one emission and its total."""
    value = tables.emission[cell] + sign * amount
    total = tables.emit[state] + sign * amount
    if sign < 0.0:
        # One bound for all cells first: most need not look up their own.
        if value <= floor.highest:
            value = max(value, floor.emission[cell])
        total = max(total, floor.emit[state])
    tables.emission[cell] = value
    tables.emit[state] = total


@jit_token
def _bump_state(table, floor, state, amount, sign):
    """Change one start count or transition total."""
    value = table[state] + sign * amount
    if sign < 0.0:
        value = max(value, floor[state])
    table[state] = value


@jit_token
def _shift_certain(tables, floor, runs, i, is_last_certain, sign):
    """Counts of the certain tokens of sequence i, and of the pairs they make."""
    final = runs.token[i + 1] - 1
    for c in range(runs.token[i], final + 1):
        state, cell, origin = runs.state[c], runs.cell[c], runs.origin[c]
        if cell >= 0:
            _bump_emission(tables, floor, cell, state, 1.0, sign)
        if c < final or not is_last_certain:
            _bump_state(tables.out, floor.out, state, 1.0, sign)
        if origin >= 0:
            _bump(tables.transition, floor.transition, origin, state, 1.0, sign)
        elif origin == -2:
            _bump_state(tables.start, floor.start, state, 1.0, sign)


@jit_token
def _shift_entries(tables, floor, lattice, t, begin, end, posterior, position, sign):
    """Counts of an ambiguous token: its emissions, its start, the transitions out of it."""
    base = lattice.first[t]
    for j in range(lattice.count[t]):
        state, cell = lattice.state[base + j], lattice.cell[base + j]
        amount = posterior[position + j]
        if cell >= 0:
            _bump_emission(tables, floor, cell, state, amount, sign)
        if t < end - 1:
            _bump_state(tables.out, floor.out, state, amount, sign)
        if t == begin:
            _bump_state(tables.start, floor.start, state, amount, sign)


@jit_token
def _shift_block(tables, floor, lattice, t, pairs, block, sign):
    """Transitions between two ambiguous tokens."""
    left, right, n = lattice.first[t - 1], lattice.first[t], lattice.count[t]
    for a in range(lattice.count[t - 1]):
        row = lattice.state[left + a]
        for b in range(n):
            to = lattice.state[right + b]
            _bump(tables.transition, floor.transition, row, to, pairs[block + a * n + b], sign)


def unit_work(units, problem):
    """Buffers for the longest unit."""
    return work_for(units.begin, units.end, problem.lattice.count, problem.cells.n_states)


@jit
def _add_units(tables, floor, units, lattice, posterior, pairs):
    """Add the counts of all units."""
    for i in range(units.begin.size):
        shift_unit(tables, floor, i, units, lattice, posterior, pairs, 1.0)


@jit
def _add_runs(counts, starts, units, runs, lattice, posterior, pairs):
    """Add the counts of all ambiguous runs, for units that are sequences and store blocks."""
    for i in range(units.begin.size):
        begin, end = starts[i], starts[i + 1]
        position, block = units.entry[i], units.pair[i]
        t = begin
        for r in range(runs.sequence[i], runs.sequence[i + 1]):
            position += runs.begin[r] - t
            t = runs.end[r]
            entry = position
            for u in range(runs.begin[r], t):
                base, n = lattice.first[u], lattice.count[u]
                for j in range(n):
                    if lattice.cell[base + j] >= 0:
                        counts.emission[lattice.cell[base + j]] += posterior[position + j]
                position += n
                if u > runs.begin[r]:
                    left, n_left = lattice.first[u - 1], lattice.count[u - 1]
                    for a in range(n_left):
                        row = lattice.state[left + a]
                        for b in range(n):
                            counts.transition[row, lattice.state[base + b]] += pairs[block]
                            block += 1
            add_borders(
                lattice,
                runs.begin[r],
                t,
                begin,
                end,
                posterior,
                entry,
                position - entry,
                counts,
            )


def count_units(units, problem, posterior, pairs):
    """Expected counts of all units, rebuilt from their posteriors."""
    runs, lattice, starts = problem.runs, problem.lattice, problem.corpus.starts
    if len(units.begin) == problem.corpus.n_sequences and not units.summed.any():
        counts = HMMCounts(runs.start.copy(), runs.transition.copy(), runs.emission.copy())
        _add_runs(counts, starts, units, runs, lattice, posterior, pairs)
        return counts
    zeros = tally_of(empty_counts(problem.cells), None, problem.cells)
    tables = Tally(*(table.copy() for table in zeros))
    _add_units(tables, Floor(*zeros, 0.0), units, lattice, posterior, pairs)
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
