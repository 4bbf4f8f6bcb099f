"""Runs of ambiguous tokens, and what is known for certain between them.

A token with one allowed state cuts a chain in independent pieces: given the states at its borders,
a run can be inferred alone (`sklearn_cvb.kernels.chain.runs`).
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.chain.forward_backward import Lattice


class Runs(NamedTuple):
    """Ambiguous runs, and the tokens that are certain: those with one allowed state.

    Attributes
    ----------
    begin, end : ndarray of shape (n_runs,), int32
        Tokens of each run.
    sequence : ndarray of shape (n_sequences + 1,), int64
        Sequence i has the runs ``sequence[i] : sequence[i + 1]``.
    any_certain : bool
        Whether any token has a single allowed state.
    start, transition, emission : ndarray
        Counts of certain tokens and pairs, which no posterior can change.
    """

    begin: np.ndarray
    end: np.ndarray
    sequence: np.ndarray
    any_certain: bool
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
    begin, end, sequence = spans_of(lattice, starts)
    return Runs(
        begin,
        end,
        sequence,
        bool((lattice.count == 1).any()),
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
