"""Absence of counts: P(C = 0), the probability that nothing is counted in a cell, by products of 1
- q over tokens and of 1 - q q' over neighbours. Cells are of starts, transitions and emissions;
`out` and `emit` are the row totals of the last two.

What learning the concentrations needs (eq. 29 with the device of Teh, Kurihara and Welling 2007). A
pass of its own over the posteriors, when somebody asks.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.chain.leave_out import whole_block
from sklearn_cvb.kernels.jit import jit


class Absence(NamedTuple):
    """P(C = 0) of cells and row totals."""

    start: np.ndarray
    transition: np.ndarray
    out: np.ndarray
    emission: np.ndarray
    emit: np.ndarray


def initial_absence(n_states: int, n_cells: int) -> Absence:
    """Tables to track absence in: all ones."""
    n = n_states
    return Absence(np.ones(n), np.ones((n, n)), np.ones(n), np.ones(n_cells), np.ones(n))


@jit
def absence_of_units(sequences, borrowed, posterior, pairs, absence, block):
    """Multiply `absence` by 1 - q of the tokens and pairs of all units.

    Pairs of units that keep no more than their sum are left to the caller. A `borrowed` first token
    is counted with the unit before. ``block`` is a buffer for the pair marginals of two tokens.
    """
    lattice = sequences.lattice
    for i in range(sequences.begin.size):
        begin, end = sequences.begin[i], sequences.end[i]
        here, at = sequences.entry[i], sequences.pair[i]
        before, n_left = here, 0
        for t in range(begin, end):
            base, n = lattice.first[t], np.int64(lattice.count[t])
            for j in range(n):
                state, cell = lattice.state[base + j], lattice.cell[base + j]
                # A token with one state has it for sure.
                miss = max(0.0, 1.0 - posterior[here + j]) if n > 1 else 0.0
                is_own = t > begin or not borrowed[i]
                if cell >= 0 and is_own:
                    absence.emission[cell] *= miss
                    absence.emit[state] *= miss
                if t == begin and is_own:
                    absence.start[state] *= miss
                # Row totals of transitions count steps: the last token has none.
                if t < end - 1:
                    absence.out[state] *= miss
            if t > begin and not sequences.summed[i]:
                left, size = lattice.first[t - 1], n_left * n
                if n_left > 1 and n > 1 and sequences.whole:
                    for step in range(size):
                        block[step] = pairs[at + step]
                    at += size
                elif n_left > 1 and n > 1:
                    whole_block(posterior, before, n_left, here, n, pairs, at, block)
                    at += (n_left - 1) * (n - 1)
                else:
                    # One of the two is certain: the posteriors of the other are the pair marginals.
                    for step in range(size):
                        ambiguous = before if n_left > 1 else here
                        block[step] = posterior[ambiguous + step] if size > 1 else 1.0
                for step in range(size):
                    row, to = lattice.state[left + step // n], lattice.state[base + step % n]
                    absence.transition[row, to] *= max(0.0, 1.0 - block[step])
            before, n_left = here, n
            here += n if n > 1 else 0


@jit
def absence_of_tokens(lattice, starts, posterior, absence):
    """Multiply `absence` by 1 - q of all independent tokens and by 1 - q q' of all neighbours."""
    entry, n_left = np.int64(0), np.int64(0)
    for s in range(starts.size - 1):
        for t in range(starts[s], starts[s + 1]):
            base, n = lattice.first[t], np.int64(lattice.count[t])
            for j in range(n):
                state, cell = lattice.state[base + j], lattice.cell[base + j]
                miss = max(0.0, 1.0 - posterior[entry + j])
                if cell >= 0:
                    absence.emission[cell] *= miss
                    absence.emit[state] *= miss
                if t == starts[s]:
                    absence.start[state] *= miss
                if t < starts[s + 1] - 1:
                    absence.out[state] *= miss
            if t > starts[s]:
                left = lattice.first[t - 1]
                for i in range(n_left):
                    row = absence.transition[lattice.state[left + i]]
                    before = posterior[entry - n_left + i]
                    for j in range(n):
                        miss = 1.0 - before * posterior[entry + j]
                        row[lattice.state[base + j]] *= max(0.0, miss)
            entry += n
            n_left = n
