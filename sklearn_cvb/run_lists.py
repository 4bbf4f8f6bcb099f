"""What each sequence shares with the tables of counts, listed in the order of its use.

Runs of two or three tokens cost what nobody can foresee in their loops more than their arithmetic.
From a list the counts of a sequence are taken out, weighed and put back in straight loops.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import few, jit, jit_token
from sklearn_cvb.kernels.tiles import LANES

# The parts of a list, one after another; before them it says how many items each of them has.
# States of the certain tokens; the steps between them and the start, if it is certain; cells of
# certain tokens that are not settled; cell and state of each entry of ambiguous tokens; entry and
# step of each way into or out of a run; the steps inside runs; of each ambiguous token its number
# of states and, if it begins a run, the length of the run.
# Where a sequence keeps the sum of its pairs, whole rows are used for open tokens, and the parts
# above are about the others: which of all entries each of these is; first entry and first cell of
# each open token; first entry and first step where it follows a certain one; first entry and next
# state where a certain one follows it.
CERTAIN, FIXED, SHARED, ENTRY, BORDER, INSIDE, TOKEN, PLACE, OPEN, INTO, OUT_OF = range(11)
N_PARTS = 11

# The sum of pairs is kept where it is at most so many times as large as the pairs.
_SUMMED = 4
# Lists are kept between sweeps where they, the posteriors and the pairs need no more than this.
_MOST_BYTES_A_TOKEN = 80


class Lists(NamedTuple):
    """The lists of all sequences that have one.

    A step is the place of a transition in all transition counts row by row; the start row comes
    after them.

    Attributes
    ----------
    items : ndarray, uint32
    begin : ndarray of shape (n_sequences,), int64
        Where the list of each sequence begins; -1 for none.
    summed : ndarray of shape (n_sequences,), bool
        Which of these keep the sum of their pairs, see `sklearn_cvb.hmm.units.Units`.
    room : tuple of int
        Where the parts of the list of any sequence can begin in a buffer, and the buffer's size.
    """

    items: np.ndarray
    begin: np.ndarray
    summed: np.ndarray
    room: tuple


@jit
def list_sequence(lattice, settled, begin, end, n_states, n_open, items, at):
    """Write the parts of a list of tokens [begin, end) to `items`, beginning where `at` says.

    Tokens of `n_open` states are listed as open ones. Returns where the parts end; the first end is
    -1, and nothing else means anything, where a token is unobserved.
    """
    certain, fixed, shared, entry, border, inside, token, place, rows, into, out_of = at[:N_PARTS]
    run, position = token, np.int64(0)
    left, n_left = np.int64(0), np.int64(1)
    for t in range(begin, end):
        base, n = np.int64(lattice.first[np.uint64(t)]), np.int64(lattice.count[np.uint64(t)])
        state, cell = np.int64(lattice.state[np.uint64(base)]), lattice.cell[np.uint64(base)]
        if cell < 0:
            return -1, fixed, shared, entry, border, inside, token, place, rows, into, out_of
        # Where the states of the token before begin among the entries.
        before = entry - 2 * n_left
        if n == 1:
            items[np.uint64(certain)] = state
            certain += 1
            if not settled[np.uint64(cell)]:
                items[np.uint64(shared)] = cell
                shared += 1
            if t == begin:
                items[np.uint64(fixed)] = n_states * n_states + state
                fixed += 1
            elif n_left == 1:
                items[np.uint64(fixed)] = left * n_states + state
                fixed += 1
            elif n_left == n_open:
                items[np.uint64(out_of)] = position - n_left
                items[np.uint64(out_of + 1)] = state
                out_of += 2
            else:
                i = 0
                while i < few(n_left):
                    row = np.int64(items[np.uint64(before + 2 * i + 1)])
                    items[np.uint64(border)] = position - n_left + i
                    items[np.uint64(border + 1)] = row * n_states + state
                    border += 2
                    i += 1
            left, n_left = state, n
            continue
        items[np.uint64(token)] = n
        items[np.uint64(token + 1)] = 0
        # A sequence that begins with a run steps into it from the start row.
        row = n_states if t == begin else left
        if n_left == 1:
            run = token
        items[np.uint64(run + 1)] += 1
        token += 2
        if n == n_open:
            items[np.uint64(rows)] = position
            items[np.uint64(rows + 1)] = cell
            rows += 2
            if n_left == 1:
                items[np.uint64(into)] = position
                items[np.uint64(into + 1)] = row * n_states
                into += 2
            position += n
            n_left = n
            continue
        for j in range(n):
            slot = np.uint64(base + j)
            items[np.uint64(entry + 2 * j)] = lattice.cell[slot]
            items[np.uint64(entry + 2 * j + 1)] = lattice.state[slot]
        if n_open:
            j = 0
            while j < few(n):
                items[np.uint64(place + j)] = position + j
                j += 1
            place += n
        if n_left == 1:
            j = 0
            while j < few(n):
                to = np.int64(items[np.uint64(entry + 2 * j + 1)])
                items[np.uint64(border)] = position + j
                items[np.uint64(border + 1)] = row * n_states + to
                border += 2
                j += 1
        elif n_left != n_open:
            i = 0
            while i < few(n_left):
                row = np.int64(items[np.uint64(before + 2 * i + 1)])
                j = 0
                while j < few(n):
                    to = np.int64(items[np.uint64(entry + 2 * j + 1)])
                    items[np.uint64(inside + j)] = row * n_states + to
                    j += 1
                inside += n
                i += 1
        entry += 2 * n
        position += n
        n_left = n
    return certain, fixed, shared, entry, border, inside, token, place, rows, into, out_of


@jit_token
def parts_of(items, at):
    """Where the parts of the kept list at `at` begin and end."""
    begin = at + N_PARTS
    b0 = begin + np.int64(items[np.uint64(at)])
    b1 = b0 + np.int64(items[np.uint64(at + 1)])
    b2 = b1 + np.int64(items[np.uint64(at + 2)])
    b3 = b2 + np.int64(items[np.uint64(at + 3)])
    b4 = b3 + np.int64(items[np.uint64(at + 4)])
    b5 = b4 + np.int64(items[np.uint64(at + 5)])
    b6 = b5 + np.int64(items[np.uint64(at + 6)])
    b7 = b6 + np.int64(items[np.uint64(at + 7)])
    b8 = b7 + np.int64(items[np.uint64(at + 8)])
    b9 = b8 + np.int64(items[np.uint64(at + 9)])
    b10 = b9 + np.int64(items[np.uint64(at + 10)])
    return (
        (begin, b0, b1, b2, b3, b4, b5, b6, b7, b8, b9),
        (b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10),
    )


def _room_for(lattice, starts, n_states, most, begin, summed):
    """Where the parts of a list can begin in a buffer, and the buffer's size.

    Fills `begin` with 0, or -1 for sequences without a list, and `summed`; a sum is at most `most`
    times as large as the pairs.
    """
    length, entries, inside, n_open = _most_items(lattice, starts, n_states, most, begin, summed)
    sizes = [length, length, length, 2 * entries, 4 * entries, inside, 2 * length]
    sizes += [entries if n_open else 0, *[2 * n_open] * 3]
    return tuple(np.cumsum([0, *sizes]).tolist())


@jit
def _most_items(lattice, starts, n_states, most, begin, summed):
    """Most tokens, entries, steps inside runs and open tokens of any list, see `_room_for`."""
    n_steps, count = n_states * n_states, lattice.count
    most_tokens, most_entries, most_inside, most_open = 0, 0, 0, 0
    for i in range(begin.size):
        length, n_open, stored, observed = starts[i + 1] - starts[i], 0, 0, True
        for t in range(starts[i], starts[i + 1]):
            observed = observed and lattice.cell[lattice.first[t]] >= 0
            n_open += count[t] == n_states
            if t > starts[i] and count[t - 1] > 1 and count[t] > 1:
                stored += (count[t - 1] - 1) * (count[t] - 1)
        entries, inside = _n_items(count, starts[i], starts[i + 1], n_states)
        has_few_open = n_states > LANES and 0 < 2 * n_open <= length
        summed[i] = observed and has_few_open and most * stored > n_steps and inside <= n_steps
        if not summed[i]:
            entries, inside = _n_items(count, starts[i], starts[i + 1], 0)
            n_open = 0
        begin[i] = 0 if summed[i] or stored <= n_steps else -1
        if begin[i] == 0:
            most_tokens, most_entries = max(most_tokens, length), max(most_entries, entries)
            most_inside, most_open = max(most_inside, inside), max(most_open, n_open)
    return most_tokens, most_entries, most_inside, most_open


@jit_token
def _n_items(count, begin, end, n_open):
    """Entries and steps inside runs of tokens [begin, end), without tokens of `n_open` states."""
    entries, inside, before = 0, 0, 0
    for t in range(begin, end):
        n = np.int64(count[t]) if count[t] != n_open else 0
        entries += n
        inside += before * n if before > 1 and n > 1 else 0
        before = n
    return entries, inside


def lists_for(problem, kept=True):
    """Lists of the sequences of a problem, where they need little memory.

    Sequences with unobserved tokens have none, nor have those of open tokens mostly.

    Parameters
    ----------
    problem : Problem
    kept : bool, default=True
        Whether to keep any.

    Returns
    -------
    Lists
    """
    lattice, starts, n_states = problem.lattice, problem.corpus.starts, problem.cells.n_states
    begin, none = np.empty(len(starts) - 1, np.int64), np.empty(0, np.uint32)
    summed = np.empty(len(begin), bool)
    kept = kept and problem.cells.topology is None
    room = _room_for(lattice, starts, n_states, _SUMMED if kept else 0, begin, summed)
    if not kept:
        begin[:] = -1
        return Lists(none, begin, summed, room)
    arguments = lattice, problem.runs.settled, starts, n_states, np.empty(room[-1], np.uint32), room
    n_items, n_bytes = _lay_out_lists(*arguments, begin, summed, none)
    if n_bytes > _MOST_BYTES_A_TOKEN * len(lattice.count):
        begin[~summed] = -1
        n_items, _ = _lay_out_lists(*arguments, begin, summed, none)
    items = np.empty(n_items, np.uint32)
    _lay_out_lists(*arguments, begin, summed, items)
    return Lists(items, begin, summed, room)


@jit
def _lay_out_lists(lattice, settled, starts, n_states, buffer, at, begin, summed, items):
    """Find where each list begins and, if there is room in `items`, write them there.

    Sequences whose `begin` is negative have none.
    Returns how many items there are, and bytes of all that would be kept where no pairs are summed.
    """
    n_items, n_bytes = 0, 0
    for i in range(begin.size):
        if begin[i] < 0:
            continue
        first, end, n_open = starts[i], starts[i + 1], n_states if summed[i] else 0
        ends = list_sequence(lattice, settled, first, end, n_states, n_open, buffer, at)
        n_entries, n_inside = (ends[ENTRY] - at[ENTRY]) // 2, ends[INSIDE] - at[INSIDE]
        if ends[CERTAIN] < 0 or n_inside > n_states * n_states:
            begin[i] = -1
            continue
        begin[i] = n_items
        here = n_items + N_PARTS
        for part in range(N_PARTS):
            if items.size:
                items[n_items + part] = ends[part] - at[part]
                for c in range(at[part], ends[part]):
                    items[here + c - at[part]] = buffer[c]
            here += ends[part] - at[part]
        if not summed[i]:
            n_bytes += 8 * (n_entries + n_inside) + 4 * (here - n_items)
        n_items = here
    return n_items, n_bytes
