"""What each sequence shares with the tables of counts, listed in the order of its use.

Runs of two or three tokens cost what nobody can foresee in their loops more than their arithmetic.
From a list the counts of a sequence are taken out, weighed and put back in straight loops.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import few, jit, jit_token

# The parts of a list, one after another; before them it says how many items each of them has.
# States of the certain tokens; the steps between them and the start, if it is certain; cells of
# certain tokens that are not settled; cell and state of each entry of ambiguous tokens; entry and
# step of each way into or out of a run; the steps inside runs; of each ambiguous token its number
# of states and, if it begins a run, the length of the run.
CERTAIN, FIXED, OPEN, ENTRY, BORDER, INSIDE, TOKEN = range(7)
N_PARTS = 7

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
    room : tuple of int
        Where the parts of the list of any sequence can begin in a buffer, and the buffer's size.
    """

    items: np.ndarray
    begin: np.ndarray
    room: tuple


@jit_token
def list_sequence(lattice, settled, begin, end, n_states, items, at):
    """Write the parts of a list of tokens [begin, end) to `items`, beginning where `at` says.

    Returns where the parts end; the first end is -1, and nothing else means anything, where a token
    is unobserved.
    """
    certain, fixed, shared, entry, border, inside, token = at[:N_PARTS]
    first_entry, run = entry, token
    left, n_left = np.int64(0), np.int64(1)
    for t in range(begin, end):
        base, n = np.int64(lattice.first[np.uint64(t)]), np.int64(lattice.count[np.uint64(t)])
        state, cell = np.int64(lattice.state[np.uint64(base)]), lattice.cell[np.uint64(base)]
        if cell < 0:
            return -1, fixed, shared, entry, border, inside, token
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
            else:
                i = 0
                while i < few(n_left):
                    row = np.int64(items[np.uint64(before + 2 * i + 1)])
                    items[np.uint64(border)] = (before - first_entry) // 2 + i
                    items[np.uint64(border + 1)] = row * n_states + state
                    border += 2
                    i += 1
            left, n_left = state, n
            continue
        for j in range(n):
            slot = np.uint64(base + j)
            items[np.uint64(entry + 2 * j)] = lattice.cell[slot]
            items[np.uint64(entry + 2 * j + 1)] = lattice.state[slot]
        items[np.uint64(token)] = n
        items[np.uint64(token + 1)] = 0
        if n_left == 1:
            run = token
            # A sequence that begins with a run steps into it from the start row.
            row = n_states if t == begin else left
            j = 0
            while j < few(n):
                to = np.int64(items[np.uint64(entry + 2 * j + 1)])
                items[np.uint64(border)] = (entry - first_entry) // 2 + j
                items[np.uint64(border + 1)] = row * n_states + to
                border += 2
                j += 1
        else:
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
        items[np.uint64(run + 1)] += 1
        token += 2
        entry += 2 * n
        n_left = n
    return certain, fixed, shared, entry, border, inside, token


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
    return (begin, b0, b1, b2, b3, b4, b5), (b0, b1, b2, b3, b4, b5, b6)


def _room_for(starts, count, n_states, begin):
    """Where the parts of a list can begin in a buffer, and the buffer's size.

    Sequences whose pairs are better summed have no list: their `begin` becomes -1, others' 0.
    """
    length, entries, inside = _most_items(starts, count, n_states, begin)
    sizes = [length, length, length, 2 * entries, 4 * entries, inside, 2 * length]
    return tuple(np.cumsum([0, *sizes]).tolist())


@jit
def _most_items(starts, count, n_states, begin):
    """Most tokens, entries and steps inside runs of a sequence with a list, see `_room_for`."""
    most_tokens, most_entries, most_inside = 0, 0, 0
    for i in range(begin.size):
        entries, inside, stored = 0, 0, 0
        for t in range(starts[i], starts[i + 1]):
            entries += count[t]
            if t > starts[i] and count[t - 1] > 1 and count[t] > 1:
                inside += count[t - 1] * count[t]
                stored += (count[t - 1] - 1) * (count[t] - 1)
        begin[i] = -1 if stored > n_states * n_states else 0
        if begin[i] == 0:
            most_tokens = max(most_tokens, starts[i + 1] - starts[i])
            most_entries, most_inside = max(most_entries, entries), max(most_inside, inside)
    return most_tokens, most_entries, most_inside


def lists_for(problem, kept=True):
    """Lists of the sequences of a problem; of none where they would need much memory.

    Sequences with unobserved tokens have none, nor have those whose pairs are better summed.

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
    room = _room_for(starts, lattice.count, n_states, begin)
    if not kept or problem.cells.topology is not None:
        begin[:] = -1
        return Lists(none, begin, room)
    arguments = lattice, problem.runs.settled, starts, n_states, np.empty(room[-1], np.uint32), room
    n_items, n_bytes = _lay_out_lists(*arguments, begin, none)
    if n_bytes > _MOST_BYTES_A_TOKEN * len(lattice.count):
        begin[:] = -1
        return Lists(none, begin, room)
    items = np.empty(n_items, np.uint32)
    _lay_out_lists(*arguments, begin, items)
    return Lists(items, begin, room)


@jit
def _lay_out_lists(lattice, settled, starts, n_states, buffer, at, begin, items):
    """Find where each list begins and, if there is room in `items`, write them there.

    Sequences whose `begin` is negative have none.
    Returns how many items there are, and bytes of all that would be kept.
    """
    n_items, n_bytes = 0, 0
    for i in range(begin.size):
        if begin[i] < 0:
            continue
        ends = list_sequence(lattice, settled, starts[i], starts[i + 1], n_states, buffer, at)
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
        n_bytes += 8 * (n_entries + n_inside) + 4 * (here - n_items)
        n_items = here
    return n_items, n_bytes
