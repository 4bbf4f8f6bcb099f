"""Problems under a topology: tokens that stand alone, and sequences that no path can explain."""

import numpy as np

from sklearn_cvb.chain.lattice import Cells, Problem, problem_of
from sklearn_cvb.chain.parameters import log_weights, uniform_weights
from sklearn_cvb.chain.topology import Topology
from sklearn_cvb.kernels.chain.decoding import viterbi
from sklearn_cvb.kernels.chain.forward_backward import Lattice
from sklearn_cvb.reading.corpus import Corpus


def restricted_problem(
    corpus: Corpus, lattice: Lattice, cells: Cells, topology: Topology
) -> Problem:
    """A problem that keeps to a topology.

    Where no state depends on another every token is a sequence of its own. Else the sequences that
    no path can explain are set aside: collapsed methods could not take them out of the counts.

    Parameters
    ----------
    corpus : Corpus
    lattice : Lattice
    cells : Cells
        With this topology.
    topology : Topology

    Returns
    -------
    Problem

    Raises
    ------
    ValueError
        If no sequence can be explained.
    """
    lengths = np.diff(corpus.starts)
    if topology.tied:
        alone = corpus._replace(starts=np.arange(len(corpus.tokens) + 1), width=None)
        sequences = np.repeat(np.arange(len(lengths)), lengths)
        return problem_of(alone, lattice, cells)._replace(given=corpus, sequences=sequences)
    possible = _possible(corpus, lattice, cells)
    if possible.all():
        return problem_of(corpus, lattice, cells)
    if not possible.any():
        raise ValueError(
            "topology, tag_dictionary and labels leave no sequence any path: see `topology`"
        )
    left_out = _some_sequences(corpus, lattice, cells, ~possible)
    return _some_sequences(corpus, lattice, cells, possible)._replace(left_out=left_out)


def _possible(corpus: Corpus, lattice: Lattice, cells: Cells) -> np.ndarray:
    """Whether some path explains each sequence: then the best one has some weight."""
    weights = uniform_weights(cells)
    weights = weights._replace(emission=np.ones_like(weights.emission))
    path, log_p = np.empty(len(corpus.tokens), np.int32), np.empty(corpus.n_sequences)
    viterbi(log_weights(weights), lattice, corpus.starts, path, log_p)
    return np.isfinite(log_p)


def _some_sequences(corpus: Corpus, lattice: Lattice, cells: Cells, chosen: np.ndarray) -> Problem:
    """The problem of the chosen sequences alone."""
    lengths = np.diff(corpus.starts)
    tokens = np.repeat(chosen, lengths)
    starts = np.concatenate([[0], np.cumsum(lengths[chosen])])
    some = corpus._replace(tokens=corpus.tokens[tokens], starts=starts, width=None)
    narrowed = _tokens_of_lattice(lattice, tokens)
    return problem_of(some, narrowed, cells)._replace(
        given=corpus, sequences=np.flatnonzero(chosen), places=np.flatnonzero(tokens)
    )


def _tokens_of_lattice(lattice: Lattice, tokens: np.ndarray) -> Lattice:
    """The lattice of some tokens, with the slots that these use and no others.

    Forms for words that may take every state count on slots of such words alone.

    Parameters
    ----------
    lattice : Lattice
    tokens : ndarray of shape (n_tokens,), bool
    """
    first, count = lattice.first[tokens], lattice.count[tokens]
    n_slots = len(lattice.state)
    borders = np.bincount(first, minlength=n_slots + 1)
    borders -= np.bincount(first + count, minlength=n_slots + 1)
    used = np.cumsum(borders)[:-1] > 0
    place = np.cumsum(used) - 1
    return Lattice(
        place[first].astype(lattice.first.dtype), count, lattice.state[used], lattice.cell[used]
    )
