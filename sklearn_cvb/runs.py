"""Runs of ambiguous tokens, and what is known for certain between them.

A token with one allowed state cuts a chain in independent pieces: given the states at its borders,
a run can be inferred alone (`sklearn_cvb.kernels.chain.runs`).
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.chain.forward_backward import Lattice


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


def runs_of(lattice: Lattice, starts: np.ndarray, n_states: int, n_cells: int) -> Runs:
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
    start, transition, emission = certain_counts(lattice, starts, n_states, n_cells)
    settled = _settled(lattice, n_cells)
    begin, end, sequence = spans_of(lattice, starts)
    cell, rest, times = _settled_counts(lattice, starts, settled, emission)
    return Runs(
        begin,
        end,
        sequence,
        bool((lattice.count == 1).any()),
        settled,
        cell,
        rest,
        times,
        start,
        transition,
        emission,
    )


def spans_of(lattice: Lattice, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where runs begin and end, and the first run of each sequence (see `Runs`)."""
    ambiguous = lattice.count > 1
    # The token before or after is another's where a sequence begins or ends.
    first, last = np.zeros((2, len(ambiguous)), bool)
    first[starts[:-1]] = last[starts[1:] - 1] = True
    begin = np.flatnonzero(ambiguous & (first | np.append(True, ~ambiguous[:-1])))
    end = np.flatnonzero(ambiguous & (last | np.append(~ambiguous[1:], True))) + 1
    return begin.astype(np.int32), end.astype(np.int32), np.searchsorted(begin, starts)


def _settled(lattice, n_cells):
    """Which cells no ambiguous token uses."""
    ambiguous = lattice.count > 1
    first = lattice.first[ambiguous].astype(np.int64)
    # Up and down where tokens' slots begin and end: above 0 in between.
    size = len(lattice.cell) + 1
    steps = np.bincount(first, minlength=size)
    steps -= np.bincount(first + lattice.count[ambiguous], minlength=size)
    cell = lattice.cell[np.cumsum(steps)[:-1] > 0]
    settled = np.ones(n_cells, bool)
    settled[cell[cell >= 0]] = False
    return settled


def certain_counts(
    lattice: Lattice, starts: np.ndarray, n_states: int, n_cells: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts of start states, transitions and emissions in which all tokens are certain."""
    certain, first = lattice.count == 1, np.zeros(len(lattice.count), bool)
    first[starts[:-1]] = True
    slot = lattice.first[certain]
    state, cell = lattice.state[slot].astype(np.int64), lattice.cell[slot]
    start = np.bincount(state[first[certain]], minlength=n_states)
    # Two neighbours that both are certain stand side by side among the certain tokens, too.
    follows = np.append(False, certain[:-1]) & ~first
    to = np.flatnonzero(follows[certain])
    pairs = np.bincount(state[to - 1] * n_states + state[to], minlength=n_states**2)
    emission = np.bincount(cell[cell >= 0], minlength=n_cells)
    return start.astype(float), pairs.reshape(n_states, -1).astype(float), emission.astype(float)


def _settled_counts(lattice, starts, settled, emission):
    """Settled cells, their counts without a sequence, and how many tokens need them."""
    n_cells = len(settled)
    tokens = np.flatnonzero(lattice.count == 1)
    cell = lattice.cell[lattice.first[tokens]].astype(np.int64)
    kept = cell >= 0
    kept[kept] = settled[cell[kept]]
    # How often each sequence holds each cell, then how many sequences hold it so often.
    sequence = np.searchsorted(starts, tokens[kept], side="right") - 1
    keys, times = np.unique(sequence * n_cells + cell[kept], return_counts=True)
    keys, sequences = np.unique(keys % max(n_cells, 1) + n_cells * times, return_counts=True)
    cell, times = keys % max(n_cells, 1), keys // max(n_cells, 1)
    return cell, emission[cell] - times, (times * sequences).astype(float)


def settled_log_weight(runs: Runs, prior: np.ndarray) -> float:
    """Summed log count plus prior of all settled tokens, each without its own sequence (nats)."""
    return float(runs.settled_times @ np.log(runs.settled_rest + prior[runs.settled_cell]))
