"""Runs of ambiguous tokens, and what is known for certain between them.

A token with one allowed state cuts a chain in independent pieces: given the states at its borders,
a run can be inferred alone (`sklearn_cvb.kernels.chain.runs`).
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit


class Runs(NamedTuple):
    """Ambiguous runs, and the tokens that are certain: those with one allowed state.

    The emission cells of certain tokens are settled where no ambiguous token may use them: their
    counts never change.

    Attributes
    ----------
    begin, end : ndarray of shape (n_runs,), int32
        Tokens of each run.
    sequence : ndarray of shape (n_sequences + 1,), int64
        Sequence i has the runs ``sequence[i] : sequence[i + 1]``.
    any_certain : bool
        Whether any token has a single allowed state.
    settled : ndarray of shape (n_cells,), bool
        Which cells are settled.
    settled_cell, settled_rest, settled_times : ndarray of shape (n_settled,)
        A settled cell, its count without a sequence that holds it, and how many tokens there are in
        all sequences without which it has that count.
    start, transition, emission : ndarray
        Counts of certain tokens and pairs, which no posterior can change.
    """

    begin: np.ndarray
    end: np.ndarray
    sequence: np.ndarray
    any_certain: bool
    settled: np.ndarray
    settled_cell: np.ndarray
    settled_rest: np.ndarray
    settled_times: np.ndarray
    start: np.ndarray
    transition: np.ndarray
    emission: np.ndarray

    @property
    def longest(self):
        """Most tokens of a run."""
        return int((self.end - self.begin).max(initial=1))


@jit
def _count_certain(lattice, starts, settled, start, transition, emission):
    """Mark the cells that ambiguous tokens use as not settled, and count what is certain."""
    for i in range(starts.size - 1):
        for t in range(starts[i], starts[i + 1]):
            base, n = lattice.first[t], lattice.count[t]
            if n > 1:
                for slot in range(base, base + n):
                    if lattice.cell[slot] >= 0:
                        settled[lattice.cell[slot]] = False
                continue
            state = lattice.state[base]
            if lattice.cell[base] >= 0:
                emission[lattice.cell[base]] += 1.0
            if t == starts[i]:
                start[state] += 1.0
            elif lattice.count[t - 1] == 1:
                transition[lattice.state[lattice.first[t - 1]], state] += 1.0


@jit
def _mark_runs(count, starts, begin, end, sequence):
    """Fill where runs begin and end, and the first run of each sequence; returns their number."""
    n = 0
    for i in range(starts.size - 1):
        sequence[i] = n
        for t in range(starts[i], starts[i + 1]):
            if count[t] > 1:
                if t == starts[i] or count[t - 1] == 1:
                    begin[n] = t
                    n += 1
                end[n - 1] = t + 1
    sequence[starts.size - 1] = n
    return n


def runs_of(lattice, starts, n_states, n_cells):
    """Find the ambiguous runs of a corpus and what is certain.

    Parameters
    ----------
    lattice : Lattice
    starts : ndarray of shape (n_sequences + 1,)
    n_states, n_cells : int

    Returns
    -------
    Runs
    """
    n_certain = np.count_nonzero(lattice.count == 1)
    most_runs = min(len(lattice.count) - n_certain, n_certain + len(starts))
    settled = np.ones(n_cells, bool)
    counts = np.zeros(n_states), np.zeros((n_states, n_states)), np.zeros(n_cells)
    _count_certain(lattice, starts, settled, *counts)
    begin, end = (np.empty(most_runs, np.int32) for _ in range(2))
    sequence = np.empty(len(starts), np.int64)
    n = _mark_runs(lattice.count, starts, begin, end, sequence)
    return Runs(
        begin[:n].copy(),
        end[:n].copy(),
        sequence,
        bool(n_certain),
        settled,
        *_settled_counts(lattice, starts, n_certain, settled, counts[2]),
        *counts,
    )


@jit
def _count_settled(lattice, starts, settled, seen, cells, times):
    """How often each sequence holds each settled cell; returns the number of such pairs.

    `seen` is a buffer of zeros, one for each cell.
    """
    n = 0
    for i in range(starts.size - 1):
        for t in range(starts[i], starts[i + 1]):
            cell = lattice.cell[lattice.first[t]]
            if lattice.count[t] == 1 and cell >= 0 and settled[cell]:
                seen[cell] += 1
        for t in range(starts[i], starts[i + 1]):
            cell = lattice.cell[lattice.first[t]]
            if lattice.count[t] == 1 and cell >= 0 and seen[cell] > 0:
                cells[n], times[n] = cell, seen[cell]
                seen[cell] = 0
                n += 1
    return n


def _settled_counts(lattice, starts, n_certain, settled, emission):
    """Settled cells, their counts without a sequence, and how many tokens need them."""
    cells, times = np.empty(n_certain, np.int32), np.empty(n_certain, np.int32)
    seen = np.zeros(len(settled), np.int32)
    n = _count_settled(lattice, starts, settled, seen, cells, times)
    keys, sequences = np.unique(cells[:n] + len(settled) * np.int64(times[:n]), return_counts=True)
    cell, times = keys % max(len(settled), 1), keys // max(len(settled), 1)
    return cell, emission[cell] - times, (times * sequences).astype(float)


def settled_log_weight(runs, prior):
    """Summed log count plus prior of all settled tokens, each without its own sequence (nats)."""
    return float(runs.settled_times @ np.log(runs.settled_rest + prior[runs.settled_cell]))
