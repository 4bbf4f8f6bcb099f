"""What collapsed inference leaves out at a time, and the counts that change when it does.

The corpus is cut into units: whole sequences, or windows of long ones. A window's first entry is
the token before it ("borrowed"): its weight is the forward message there, and its emission belongs
to the window before. So one forward-backward kernel serves both.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.hmm.parameters import HMMCounts, empty_counts
from sklearn_cvb.kernels.chain import work_of_size
from sklearn_cvb.kernels.jit import jit, jit_token, jit_token_reduction


class Units(NamedTuple):
    """What is left out at a time: tokens [begin, end), the first one borrowed or not.

    `entry` and `pair` are offsets, one more than units, of the unit's posteriors and stored pair
    marginals. A unit stores one block per pair of ambiguous neighbours, without its last row and
    column (their posteriors give these), or, where that is smaller, the (K, K) sum of all its pairs
    (`summed`).
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
    """The least that each entry of a `Tally` can be, and the `least` of its emission cells.

    Rounding must not make a cell with a tiny prior negative. For emissions the smallest prior is
    bound enough: where a cell's own is larger, rounding is nothing beside it.
    """

    start: np.ndarray
    transition: np.ndarray
    out: np.ndarray
    emission: np.ndarray
    emit: np.ndarray
    least: float


class Absence(NamedTuple):
    """P(C = 0): products of 1 - q over tokens, for cells and row totals; empty: not tracked."""

    start: np.ndarray
    transition: np.ndarray
    out: np.ndarray
    emission: np.ndarray
    emit: np.ndarray


def units_for(starts, count, cells, block_length=None):
    """Cut a corpus into sequences, or into windows of at most `block_length` tokens.

    Under a topology all store the sum of their pairs: of blocks the last row and column are found
    by subtraction, and rounding would leave something where nothing is allowed.
    """
    n_states, restricted = cells.n_states, cells.topology is not None
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
    summed = (pairs > n_states * n_states) | (restricted & (end - begin > 1))
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
                pairs[i] += (count[t] - 1) * (count[t - 1] - 1)


@jit_token
def expand_block(posterior, before, n_left, position, n_right, pairs, at, block):
    """Pair marginals of two tokens, row by row in `block`, from the stored ones.

    The posteriors of the two tokens begin at `before` and `position`, the stored marginals at `at`.
    """
    wide = n_right - 1
    last = (n_left - 1) * n_right
    for j in range(n_right):
        block[np.uint64(last + j)] = posterior[np.uint64(position + j)]
    for i in range(n_left - 1):
        row = i * n_right
        rest = posterior[np.uint64(before + i)]
        for j in range(wide):
            value = pairs[np.uint64(at + j)]
            block[np.uint64(row + j)] = value
            block[np.uint64(last + j)] -= value
            rest -= value
        at += wide
        rest = max(rest, 0.0)
        block[np.uint64(row + wide)] = rest
        block[np.uint64(last + wide)] -= rest
    for j in range(n_right):
        block[np.uint64(last + j)] = max(block[np.uint64(last + j)], 0.0)


@jit_token
def store_block(block, begin, n_left, n_right, pairs, at):
    """Store pair marginals without their last row and column."""
    for i in range(n_left - 1):
        for j in range(n_right - 1):
            pairs[at + i * (n_right - 1) + j] = block[begin + i * n_right + j]


def by_unit(units, count, posterior):
    """Token posteriors in the units' layout, in which borrowed tokens appear twice."""
    if not units.borrowed.any():
        return posterior
    result = np.empty(units.entry[-1])
    _spread(units, count, posterior, result)
    return result


def by_token(units, count, posterior):
    """The units' posteriors in token layout, without the borrowed ones."""
    if not units.borrowed.any():
        return posterior
    result = np.empty(int(count.sum(dtype=np.int64)))
    _collect(units, count, posterior, result)
    return result


@jit
def _spread(units, count, by_token, by_unit):
    """Copy token posteriors to the units' layout."""
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
def _collect(units, count, by_unit, by_token):
    """Copy the units' posteriors to token layout."""
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
            if units.summed[i]:
                for a in range(n_left):
                    row = position + lattice.state[left + a] * n_states
                    for b in range(n_right):
                        value = posterior[before + a] * posterior[now + b]
                        pairs[row + lattice.state[right + b]] += value
            else:
                for a in range(n_left - 1):
                    for b in range(n_right - 1):
                        pairs[position] = posterior[before + a] * posterior[now + b]
                        position += 1
            before = now


@jit
def shift_unit(tables, floor, i, units, lattice, posterior, pairs, sign, block):
    """Add (sign 1) or take out (-1) the expected counts of unit i; nothing falls below `floor`.

    `block` is a buffer.
    """
    begin, end = units.begin[i], units.end[i]
    position = units.entry[i]
    at = units.pair[i]
    before = position
    for t in range(begin, end):
        n = lattice.count[t]
        if not (units.borrowed[i] and t == begin):
            _shift_token(tables, floor, lattice, t, t == begin, posterior, position, sign)
        if t > begin and not units.summed[i]:
            n_left = lattice.count[t - 1]
            expand_block(posterior, before, n_left, position, n, pairs, at, block)
            _shift_pair(tables, floor, lattice, t, block, sign)
            at += (n - 1) * (n_left - 1)
        before = position
        position += n
    if units.summed[i]:
        _shift_sum(tables, floor, pairs, at, sign)


@jit_token
def _shift_token(tables, floor, lattice, t, is_first, posterior, position, sign):
    """The emission of token t, and its start count if it is a sequence's first."""
    base, n = lattice.first[t], lattice.count[t]
    for j in range(n):
        state, cell = lattice.state[base + j], lattice.cell[base + j]
        change = sign * posterior[position + j] if n > 1 else sign
        if cell >= 0:
            value = tables.emission[cell] + change
            tables.emission[cell] = max(value, floor.least) if sign < 0.0 else value
            tables.emit[state] = max(tables.emit[state] + change, floor.emit[state])
        if is_first:
            tables.start[state] = max(tables.start[state] + change, floor.start[state])


@jit_token
def _shift_pair(tables, floor, lattice, t, block, sign):
    """The transitions from token t - 1 to token t, whose pair marginals are in `block`."""
    left, n_left = lattice.first[t - 1], lattice.count[t - 1]
    right, n_right = lattice.first[t], lattice.count[t]
    for a in range(n_left):
        row = lattice.state[left + a]
        total = 0.0
        for b in range(n_right):
            change = sign * block[a * n_right + b]
            total += change
            to = lattice.state[right + b]
            tables.transition[row, to] = max(
                tables.transition[row, to] + change, floor.transition[row, to]
            )
        tables.out[row] = max(tables.out[row] + total, floor.out[row])


@jit_token_reduction
def _shift_row(row, least, pairs, at, sign):
    """Shift one row of the transition counts by pairs from `at` on; returns the sum of these."""
    total = 0.0
    if sign > 0.0:
        for b in range(row.size):
            value = pairs[np.uint64(at + b)]
            total += value
            row[np.uint64(b)] += value
    else:
        for b in range(row.size):
            value = pairs[np.uint64(at + b)]
            total -= value
            rest = row[np.uint64(b)] - value
            bound = least[np.uint64(b)]
            row[np.uint64(b)] = rest if rest > bound else bound
    return total


@jit_token
def _shift_sum(tables, floor, pairs, at, sign):
    """The transitions of a unit that stores the sum of its pairs."""
    n_states = tables.start.size
    for a in range(n_states):
        total = _shift_row(
            tables.transition[a], floor.transition[a], pairs, at + a * n_states, sign
        )
        tables.out[a] = max(tables.out[a] + total, floor.out[a])


def unit_work(units, problem):
    """Buffers for the longest unit."""
    entries, lengths = np.diff(units.entry), units.end - units.begin
    # A stored pair of ambiguous neighbours stands for at most four: 1 for 2 by 2.
    pairs = np.where(units.summed, 0, 4 * np.diff(units.pair))
    block = max(int(pairs.max()), int(problem.lattice.count.max()) ** 2)
    return work_of_size(int(entries.max()), int(lengths.max()), problem.cells.n_states, block)


@jit
def _add_units(tables, floor, units, lattice, posterior, pairs, block):
    """Add the counts of all units."""
    for i in range(units.begin.size):
        shift_unit(tables, floor, i, units, lattice, posterior, pairs, 1.0, block)


def count_units(units, problem, posterior, pairs):
    """Expected counts of all units, rebuilt from their posteriors."""
    zeros = tally_of(empty_counts(problem.cells), None, problem.cells)
    tables = Tally(*(table.copy() for table in zeros))
    block = np.empty(int(problem.lattice.count.max()) ** 2)
    _add_units(tables, Floor(*zeros, 0.0), units, problem.lattice, posterior, pairs, block)
    return HMMCounts(tables.start, tables.transition, tables.emission)


def tally_of(counts, prior, cells, emit=None):
    """Counts plus prior, with denominators (`prior` None: plain counts).

    `emit` are the totals of the emission counts by state, if they are known.
    """
    start, transition, emission = counts
    out = transition.sum(axis=1)
    if emit is None:
        emit = cells.row_totals(emission)
    if prior is None:
        return Tally(start, transition, out, emission, emit)
    return Tally(
        start + prior.start,
        transition + prior.transition,
        out + prior.transition_total,
        emission + prior.emission,
        emit + prior.emission_total,
    )


def counts_of(tables, prior):
    """The counts in tables that had the prior added, in the tables' own memory."""
    counts = HMMCounts(tables.start, tables.transition, tables.emission)
    for table, added in zip(counts, (prior.start, prior.transition, prior.emission), strict=True):
        np.subtract(table, added, out=table)
        np.maximum(table, 0.0, out=table)
    return counts


def floor_of(prior):
    """The tables of a prior alone: what no count may fall below."""
    return Floor(
        prior.start,
        prior.transition,
        prior.transition_total,
        prior.emission,
        prior.emission_total,
        float(prior.emission.min()),
    )


def no_absence():
    """Tables that say absence is not tracked."""
    return Absence(np.zeros(0), np.zeros((0, 0)), np.zeros(0), np.zeros(0), np.zeros(0))


def full_absence(cells):
    """Tables to track absence in: all ones."""
    n = cells.n_states
    return Absence(np.ones(n), np.ones((n, n)), np.ones(n), np.ones(len(cells.state)), np.ones(n))
