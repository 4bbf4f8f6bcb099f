"""What a chain of numbers is learned from: observations, their family, and the chain's layout."""

from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.corpus import Corpus
from sklearn_cvb.emissions.emission import Family
from sklearn_cvb.hmm.parameters import HMMCounts
from sklearn_cvb.kernels.chain.forward_backward import Lattice
from sklearn_cvb.lattice import Cells
from sklearn_cvb.topology import Topology


class NumericProblem(NamedTuple):
    """Observations and all that does not change while fitting.

    Attributes
    ----------
    corpus : Corpus
        Which steps make which sequence; a token is 0, or -1 where a step is missing. Where no state
        depends on another each step is a sequence of its own.
    given : Corpus
        The corpus as it was read.
    observations : object
        What the family reads.
    family : Family
    cells : Cells
        The layout of start and transitions; there are no cells of emissions.
    names : list or None
        Names of the columns, where frames were given.
    is_table : bool
        Whether X was a 2-D array of single numbers.
    start : ndarray of shape (n_steps, K) or None
        Posteriors of a fitted model that was given as a start.
    settings : bytes
        The emission as it was set, pickled.
    known : ndarray of shape (n_steps,), int32, or None
        States that are known, -1 where they are not; None for none.
    """

    corpus: Corpus
    given: Corpus
    observations: Any
    family: Family
    cells: Cells
    names: list | None
    is_table: bool
    start: np.ndarray | None
    settings: bytes
    known: np.ndarray | None = None

    # Each step may take any state, but for those that are known.
    any_choice = True

    @property
    def identity(self) -> tuple[Any, ...]:
        """What a fit that goes on must find again: observations, emission and allowed states."""
        return (
            *(self.corpus.starts, self.observations, self.known, self.settings),
            *(self.cells.n_states, self.cells.topology),
        )

    def of_given(self, by_sequence: np.ndarray) -> np.ndarray:
        """Indices of given sequences from those of `corpus`."""
        if self.corpus.n_sequences == self.given.n_sequences:
            return by_sequence
        own = np.searchsorted(self.given.starts, self.corpus.starts[by_sequence], side="right") - 1
        return np.unique(own)


def cells_of_chain(n_states: int, topology: Topology | None) -> Cells:
    """The layout of a chain without cells of emissions."""
    return Cells(np.zeros(1, np.int64), np.empty(0, np.int32), n_states, 0, topology=topology)


def without_emission(counts: HMMCounts) -> HMMCounts:
    """Counts of the chain alone, as functions of cells want them."""
    return counts._replace(emission=np.empty(0))


def lattice_of_steps(n_steps: int, n_states: int) -> Lattice:
    """Each step is a word of its own, with all states; cells are its row of a table of weights."""
    first = np.arange(n_steps, dtype=np.uint32) * np.uint32(n_states)
    state = np.tile(np.arange(n_states, dtype=np.uint32), n_steps)
    cell = np.arange(n_steps * n_states, dtype=np.int32)
    return Lattice(first, np.full(n_steps, n_states, np.int32), state, cell)


def keep_to_known(logs: np.ndarray, known: np.ndarray | None) -> None:
    """Give all states but the known one no weight, in place."""
    if known is None:
        return
    told = np.flatnonzero(known >= 0)
    kept = logs[told, known[told]]
    logs[told] = -np.inf
    logs[told, known[told]] = kept
