"""The end of a sequence as an event: each sequence gets one more token, in a state of its own.

That token is a missing observation whose only legal state is the last one, the end; all other
tokens may take the other states only. Each transition row then has K + 1 cells, and all that infers
chains works as it stands. What nothing ever counts in, the row of the end and its cell in the start
row, adds nothing to any bound.
"""

import numpy as np

from sklearn_cvb.chain.lattice import Cells, Problem, problem_of
from sklearn_cvb.chain.restricted import restricted_problem
from sklearn_cvb.chain.topology import Topology
from sklearn_cvb.kernels.chain.forward_backward import Lattice
from sklearn_cvb.reading.corpus import Corpus
from sklearn_cvb.reading.validation import InvalidParameterError


def cells_with_end(cells: Cells) -> Cells:
    """The layout of parameters with one more state, the end, which emits nothing.

    Parameters
    ----------
    cells : Cells

    Returns
    -------
    Cells

    Raises
    ------
    InvalidParameterError
        If no state depends on the one before.
    """
    return cells._replace(
        n_states=cells.n_states + 1, has_end=True, topology=_topology_with_end(cells.topology)
    )


def _topology_with_end(topology: Topology | None) -> Topology | None:
    """A sequence may end in every state, and nothing follows its end."""
    if topology is None:
        return None
    if topology.tied:
        raise InvalidParameterError(
            "end_state=True lets the end depend on the last state, but with "
            "topology='independent' nothing depends on any state before: use end_state=False"
        )
    n = len(topology.start)
    transition = np.zeros((n + 1, n + 1), bool)
    transition[:n, :n] = topology.transition
    # A row needs a cell: with a single one it has nothing to learn.
    transition[:, n] = True
    return Topology(np.append(topology.start, False), transition, False)


def problem_with_end(corpus: Corpus, lattice: Lattice, cells: Cells) -> Problem:
    """A problem whose sequences have their end as one more token.

    Parameters
    ----------
    corpus : Corpus
        As it was read.
    lattice : Lattice
        Of the tokens read.
    cells : Cells
        With the end.

    Returns
    -------
    Problem
        Its `places` are -1 for ends.
    """
    longer, starts, is_end = lattice_with_end(lattice, corpus.starts, cells)
    tokens = np.full(len(is_end), -1, corpus.tokens.dtype)
    tokens[~is_end] = corpus.tokens
    ended = corpus._replace(tokens=tokens, starts=starts, width=None)
    if cells.topology is None:
        problem = problem_of(ended, longer, cells)
    else:
        problem = restricted_problem(ended, longer, cells, cells.topology)
    places = np.where(is_end, -1, np.cumsum(~is_end) - 1)
    return _placed(problem, corpus, places)


def _placed(problem: Problem, given: Corpus, places: np.ndarray) -> Problem:
    """A problem whose tokens, and those left out, have their places in the corpus as read."""
    rest = problem.left_out
    return problem._replace(
        given=given,
        places=places if problem.places is None else places[problem.places],
        left_out=None if rest is None else _placed(rest, given, places),
    )


def lattice_with_end(
    lattice: Lattice, starts: np.ndarray, cells: Cells
) -> tuple[Lattice, np.ndarray, np.ndarray]:
    """The lattice of sequences that have their end as one more token.

    Parameters
    ----------
    lattice : Lattice
    starts : ndarray of shape (n_sequences + 1,)
    cells : Cells
        With the end.

    Returns
    -------
    lattice : Lattice
    starts : ndarray of shape (n_sequences + 1,)
    is_end : ndarray of bool
        Which tokens of the new lattice are ends.
    """
    n_slots = len(lattice.state)
    longer = Lattice(
        np.insert(lattice.first, starts[1:], n_slots),
        np.insert(lattice.count, starts[1:], 1),
        np.append(lattice.state, np.array([cells.n_emitting], lattice.state.dtype)),
        np.append(lattice.cell, np.array([-1], lattice.cell.dtype)),
    )
    starts = starts + np.arange(len(starts))
    is_end = np.zeros(len(longer.first), bool)
    is_end[starts[1:] - 1] = True
    return longer, starts, is_end
