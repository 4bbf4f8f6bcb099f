"""What collapsed inference leaves out at a time, and the counts that change when it does.

The corpus is cut into units: whole sequences, or windows of long ones. A window's first entry is
the token before it ("borrowed"): its weight is the forward message there, and its emission belongs
to the window before. So one forward-backward kernel serves both.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.hmm.parameters import HMMCounts, empty_counts
from sklearn_cvb.hmm.tallies import tally_of
from sklearn_cvb.kernels.chain.forward_backward import work_of_size
from sklearn_cvb.kernels.chain.tally import Floor, Tally
from sklearn_cvb.kernels.jit import few, jit, jit_token, jit_token_reduction


class Units(NamedTuple):
    """What is left out at a time: tokens [begin, end), the first one borrowed or not.

    `entry` and `pair` are offsets, one more than units, of the unit's posteriors and stored pair
    marginals. A unit stores one block per pair of ambiguous neighbours, without its last row and
    column (their posteriors give these), or, where that is not much larger, the (K, K) sum of all
    its pairs (`summed`). One whose list is kept (see `sklearn_cvb.run_lists`) stores them `whole`.
    Those that are inferred by runs are `compact`: they store no posterior of certain tokens, which
    is 1.
    `most` are the most entries, tokens and pair marginals that a buffer for one unit has to hold.
    """

    begin: np.ndarray
    end: np.ndarray
    borrowed: np.ndarray
    summed: np.ndarray
    whole: np.ndarray
    compact: np.ndarray
    entry: np.ndarray
    pair: np.ndarray
    most: tuple


class Absence(NamedTuple):
    """P(C = 0): products of 1 - q over tokens, for cells and row totals; empty: not tracked."""

    start: np.ndarray
    transition: np.ndarray
    out: np.ndarray
    emission: np.ndarray
    emit: np.ndarray


def units_for(starts, count, cells, block_length=None, lists=None):
    """Cut a corpus into sequences, or into windows of at most `block_length` tokens.

    `lists` are those of the sequences, which are inferred by runs where none is cut.

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
    entries, certain, pairs = (np.empty(total, np.int64) for _ in range(3))
    by_runs = lists is not None and total == len(lengths)
    by_list = lists.summed if by_runs else np.zeros(total, bool)
    whole = (lists.begin >= 0) & ~by_list if by_runs else by_list
    _measure(begin, end, whole, count, entries, certain, pairs)
    summed = by_list | (pairs > n_states * n_states) | (restricted & (end - begin > 1))
    pairs[summed] = n_states * n_states
    compact = by_list | ~summed if by_runs else by_list
    # A stored pair of ambiguous neighbours stands for at most four: 1 for 2 by 2.
    block = max(int(np.where(summed, 0, 4 * pairs).max()), int(count.max()) ** 2)
    most = (int(entries.max()), int((end - begin).max()), block)
    entries[compact] -= certain[compact]
    offsets = [np.concatenate([[0], np.cumsum(sizes)]) for sizes in (entries, pairs)]
    return Units(begin, end, borrowed, summed, whole, compact, *offsets, most)


@jit
def _measure(begin, end, whole, count, entries, certain, pairs):
    """Number of posteriors, of certain tokens and of block entries of each unit."""
    for i in range(begin.size):
        entries[i] = 0
        certain[i] = 0
        pairs[i] = 0
        left_out = 0 if whole[i] else 1
        for t in range(begin[i], end[i]):
            entries[i] += count[t]
            certain[i] += count[t] == 1
            if t > begin[i] and count[t] > 1 and count[t - 1] > 1:
                pairs[i] += (count[t] - left_out) * (count[t - 1] - left_out)


@jit_token
def n_stored(compact, n):
    """How many posteriors of a token with n states are stored."""
    return 0 if compact and n == 1 else n


@jit_token
def expand_block(posterior, before, n_left, position, n_right, pairs, at, block, offset):
    """Pair marginals of two tokens, row by row in `block` from `offset`, from the stored ones.

    The posteriors of the two tokens begin at `before` and `position`, the stored marginals at `at`.
    """
    wide = n_right - 1
    last = offset + (n_left - 1) * n_right
    j = 0
    while j < few(n_right):
        block[np.uint64(last + j)] = posterior[np.uint64(position + j)]
        j += 1
    row = offset
    i = 0
    while i < few(n_left - 1):
        rest = posterior[np.uint64(before + i)]
        j = 0
        while j < few(wide):
            value = pairs[np.uint64(at + j)]
            block[np.uint64(row + j)] = value
            block[np.uint64(last + j)] -= value
            rest -= value
            j += 1
        rest = max(rest, 0.0)
        block[np.uint64(row + wide)] = rest
        block[np.uint64(last + wide)] -= rest
        at += wide
        row += n_right
        i += 1
    j = 0
    while j < few(n_right):
        block[np.uint64(last + j)] = max(block[np.uint64(last + j)], 0.0)
        j += 1


@jit_token
def store_block(block, begin, n_left, n_right, pairs, at):
    """Store pair marginals without their last row and column."""
    i = 0
    while i < few(n_left - 1):
        j = 0
        while j < few(n_right - 1):
            pairs[np.uint64(at + j)] = block[np.uint64(begin + j)]
            j += 1
        at += n_right - 1
        begin += n_right
        i += 1


@jit_token
def _pair_marginals(whole, posterior, before, n_left, position, n_right, pairs, at, block):
    """Pair marginals of two tokens, row by row in `block`; returns how many of them are stored."""
    size = n_left * n_right
    if n_left == 1 or n_right == 1:
        ambiguous = before if n_left > 1 else position
        for step in range(size):
            block[step] = posterior[ambiguous + step] if size > 1 else 1.0
        return 0
    if whole:
        for step in range(size):
            block[step] = pairs[at + step]
        return size
    expand_block(posterior, before, n_left, position, n_right, pairs, at, block, 0)
    return (n_left - 1) * (n_right - 1)


def by_unit(units, count, posterior):
    """Token posteriors in the units' layout, in which borrowed tokens appear twice.

    Without these it takes less room, and the memory of `posterior` is used.
    """
    if _is_by_token(units):
        return posterior
    result = np.empty(units.entry[-1]) if units.borrowed.any() else posterior
    _spread(units, count, posterior, result)
    return result[: units.entry[-1]]


def by_token(units, count, posterior):
    """The units' posteriors in token layout, without the borrowed ones."""
    if _is_by_token(units):
        return posterior
    result = np.empty(int(count.sum(dtype=np.int64)))
    _collect(units, count, posterior, result)
    return result


def _is_by_token(units):
    """Whether units store what their tokens have."""
    return not (units.borrowed.any() or units.compact.any())


@jit
def _spread(units, count, by_token, by_unit):
    """Copy token posteriors to the units' layout."""
    source = 0
    for i in range(units.begin.size):
        target = units.entry[i]
        for t in range(units.begin[i], units.end[i]):
            borrowed = units.borrowed[i] and t == units.begin[i]
            begin = source - count[t] if borrowed else source
            n = n_stored(units.compact[i], count[t])
            for j in range(n):
                by_unit[target + j] = by_token[begin + j]
            target += n
            if not borrowed:
                source += count[t]


@jit
def _collect(units, count, by_unit, by_token):
    """Copy the units' posteriors to token layout."""
    target = 0
    for i in range(units.begin.size):
        source = units.entry[i]
        for t in range(units.begin[i], units.end[i]):
            n = n_stored(units.compact[i], count[t])
            if not (units.borrowed[i] and t == units.begin[i]):
                for j in range(count[t]):
                    by_token[target + j] = by_unit[source + j] if n else 1.0
                target += count[t]
            source += n


@jit
def fill_products(units, lattice, posterior, pairs, n_states):
    """Pair marginals of independent tokens: neighbouring posteriors multiplied."""
    for i in range(units.begin.size):
        position = units.pair[i]
        if units.summed[i]:
            pairs[position : units.pair[i + 1]] = 0.0
        left_out = 0 if units.whole[i] else 1
        before = units.entry[i]
        for t in range(units.begin[i] + 1, units.end[i]):
            left, n_left = lattice.first[t - 1], lattice.count[t - 1]
            right, n_right = lattice.first[t], lattice.count[t]
            now = before + n_stored(units.compact[i], n_left)
            if units.summed[i]:
                for a in range(n_left):
                    row = position + lattice.state[left + a] * n_states
                    weight = posterior[before + a] if n_left > 1 else 1.0
                    for b in range(n_right):
                        value = weight * (posterior[now + b] if n_right > 1 else 1.0)
                        pairs[row + lattice.state[right + b]] += value
            elif n_left > 1 and n_right > 1:
                for a in range(n_left - left_out):
                    for b in range(n_right - left_out):
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
            at += _pair_marginals(
                units.whole[i], posterior, before, n_left, position, n, pairs, at, block
            )
            _shift_pair(tables, floor, lattice, t, block, sign)
        before = position
        position += n_stored(units.compact[i], n)
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
    """Buffers for any unit."""
    entries, length, block = units.most
    return work_of_size(entries, length, problem.cells.n_states, block)


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
    _add_units(tables, Floor(*zeros, 0.0, 0.0), units, problem.lattice, posterior, pairs, block)
    return HMMCounts(tables.start, tables.transition, tables.emission)


def flat_steps(tables):
    """Transition counts row by row and the start counts after them, and tables in that memory."""
    n_states = tables.start.size
    steps = np.concatenate([tables.transition.ravel(), tables.start])
    transition = steps[: n_states * n_states].reshape(n_states, n_states)
    return tables._replace(transition=transition, start=steps[n_states * n_states :]), steps


def no_absence():
    """Tables that say absence is not tracked."""
    return Absence(np.zeros(0), np.zeros((0, 0)), np.zeros(0), np.zeros(0), np.zeros(0))


def full_absence(cells):
    """Tables to track absence in: all ones."""
    n = cells.n_states
    return Absence(np.ones(n), np.ones((n, n)), np.ones(n), np.ones(len(cells.state)), np.ones(n))
