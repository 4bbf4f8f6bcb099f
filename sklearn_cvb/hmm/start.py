"""Where a fit starts: posteriors of the training tokens, or weights for a first E-step."""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.hmm.parameters import (
    HMMCounts,
    empty_counts,
    flat_cells,
    kept_to_topology,
    log_weights,
    posterior_mean,
    uniform_weights,
)
from sklearn_cvb.kernels.chain.decoding import smoothed
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.kernels.jit import jit
from sklearn_cvb.lattice import entry_cells, entry_states, n_entries

# Smooths the transitions counted between unambiguous neighbours (Kupiec 1992).
_UNAMBIGUOUS_COUNT = 0.1
# How unevenly the word start spreads a word over states.
_WORD_CONCENTRATION = 0.1


class Start(NamedTuple):
    """A starting point: posteriors of all (token, state) entries, or weights; not both."""

    posterior: np.ndarray | None
    weights: Weights | None


@jit
def normalise_entries(lattice, entries):
    """Divide the entries of each token by their sum, in place."""
    position = 0
    for t in range(lattice.count.size):
        n = lattice.count[t]
        total = 0.0
        for j in range(n):
            total += entries[position + j]
        for j in range(n):
            entries[position + j] /= total
        position += n


@jit
def add_neighbour_products(lattice, starts, posterior, counts):
    """Counts from token posteriors: neighbouring marginals multiplied."""
    position = 0
    for i in range(starts.size - 1):
        before = position
        for t in range(starts[i], starts[i + 1]):
            base, n = lattice.first[t], lattice.count[t]
            for j in range(n):
                state = lattice.state[base + j]
                weight = posterior[position + j]
                cell = lattice.cell[base + j]
                if cell >= 0:
                    counts.emission[cell] += weight
                if t == starts[i]:
                    counts.start[state] += weight
            if t > starts[i]:
                left = lattice.first[t - 1]
                for k in range(lattice.count[t - 1]):
                    row = lattice.state[left + k]
                    weight = posterior[before + k]
                    for j in range(n):
                        to = lattice.state[base + j]
                        counts.transition[row, to] += weight * posterior[position + j]
            before = position
            position += n


def counts_from_marginals(problem, posterior):
    """Expected counts of independent token posteriors.

    Parameters
    ----------
    problem : Problem
    posterior : ndarray of shape (n_entries,)

    Returns
    -------
    HMMCounts
    """
    counts = empty_counts(problem.cells)
    add_neighbour_products(problem.lattice, problem.corpus.starts, posterior, counts)
    topology = problem.cells.topology
    if topology is None:
        return counts
    start, transition = topology.masked(counts.start, counts.transition)
    return counts._replace(start=start, transition=transition)


def kept_to_start(start, problem):
    """A start under the topology of a problem: no sequence begins where none may.

    Weights of transitions that are ruled out become 0.
    """
    topology = problem.cells.topology
    if topology is None:
        return start
    if start.weights is not None:
        return Start(None, kept_to_topology(start.weights, problem.cells))
    lattice = problem.lattice
    first = np.zeros(len(lattice.count), bool)
    first[problem.corpus.starts[:-1]] = True
    inside = np.repeat(first, lattice.count)
    states, entries = entry_states(lattice), start.posterior.copy()
    allowed = topology.start[states[inside]]
    tokens = np.repeat(np.arange(problem.corpus.n_sequences), lattice.count[first])
    kept = np.where(allowed, entries[inside], 0.0)
    # Where the start gives no allowed state anything, all of them are as likely.
    lost = np.bincount(tokens, weights=kept) == 0
    kept = np.where(lost[tokens], allowed, kept)
    entries[inside] = kept / np.bincount(tokens, weights=kept)[tokens]
    return Start(entries, None)


def posterior_of(start, problem):
    """Token posteriors of a start; its weights get one forward-backward pass."""
    if start.posterior is not None:
        return start.posterior
    posterior = np.empty(n_entries(problem.lattice))
    smoothed(
        start.weights,
        log_weights(start.weights),
        problem.lattice,
        problem.corpus.starts,
        posterior,
        np.empty(problem.corpus.n_sequences),
    )
    return posterior


def token_start(problem, rng):
    """q_t from Dirichlet(1) over each token's allowed states, independently.

    Times the shares that a weighted dictionary gives them.
    """
    entries = rng.standard_exponential(n_entries(problem.lattice))
    expected = problem.cells.expected
    if expected is not None:
        # A missing observation takes the last value: any state is as likely.
        shares = np.append(np.where(np.isnan(expected), 1.0, expected), 1.0)
        entries *= shares[entry_cells(problem.lattice)]
    normalise_entries(problem.lattice, entries)
    return Start(entries, None)


def word_start(problem, rng):
    """One posterior for all tokens of a word, from a sparse Dirichlet over its allowed states.

    Words gathered in few states show which state follows which; independent token posteriors that
    start near uniform do not, and a token-wise update then has nothing to go by.
    """
    lattice = problem.lattice
    weights = rng.standard_gamma(_WORD_CONCENTRATION, len(problem.cells.state))
    # The missing word takes the last weight, 1: uniform. No word loses all weight to underflow.
    weights = np.append(weights + 1e-200, 1.0)
    entries = weights[entry_cells(lattice)]
    normalise_entries(lattice, entries)
    return Start(entries, None)


def parameter_start(problem, rng):
    """Transitions and emissions drawn from Dirichlet(1)."""
    cells, n = problem.cells, problem.cells.n_states
    emission = rng.standard_exponential(len(cells.state))
    totals = cells.row_totals(emission)
    totals[totals == 0] = 1.0
    weights = Weights(
        rng.dirichlet(np.ones(n)),
        rng.dirichlet(np.ones(n), size=n),
        cells.divided(emission, totals),
    )
    return Start(None, weights)


def unambiguous_start(problem, rng):
    """Transitions between neighbouring tokens that have one allowed state each; flat emissions."""
    lattice, starts = problem.lattice, problem.corpus.starts
    cells = problem.cells
    single = lattice.count == 1
    state = lattice.state[lattice.first]
    first = np.zeros(len(single), bool)
    first[starts[:-1]] = True
    counts = empty_counts(cells)
    np.add.at(counts.start, state[first & single], 1.0)
    pair = single[1:] & single[:-1] & ~first[1:]
    np.add.at(counts.transition, (state[:-1][pair], state[1:][pair]), 1.0)
    start = counts.start + _UNAMBIGUOUS_COUNT
    transition = counts.transition + _UNAMBIGUOUS_COUNT
    return Start(
        None,
        Weights(
            start / start.sum(),
            transition / transition.sum(axis=1, keepdims=True),
            np.ones(len(cells.state)),
        ),
    )


def array_start(problem, arrays):
    """Posteriors given as one (length, n_components) array per sequence."""
    lengths = np.diff(problem.given.starts)
    if len(arrays) != len(lengths):
        raise ValueError(f"init has {len(arrays)} posterior arrays for {len(lengths)} sequences")
    n = problem.cells.n_states
    for i, (array, length) in enumerate(zip(arrays, lengths, strict=True)):
        if np.shape(array) != (length, n):
            raise ValueError(
                f"init[{i}] has shape {np.shape(array)}, but sequence {i} needs {(int(length), n)}"
            )
    table = np.concatenate([np.asarray(array, dtype=np.float64) for array in arrays])
    places = np.arange(len(table)) if problem.places is None else problem.places
    table = table[places]
    tokens = np.repeat(np.arange(len(table)), problem.lattice.count)
    entries = table[tokens, entry_states(problem.lattice)]
    allowed = np.bincount(tokens, weights=entries, minlength=len(table))
    wrong = places[~(np.abs(allowed - 1.0) < 1e-6) | (table < 0).any(axis=1)]
    if len(wrong):
        sequence = int(np.searchsorted(problem.given.starts, wrong[0], side="right")) - 1
        raise ValueError(
            f"init[{sequence}] must give each token non-negative probabilities that sum to 1 over "
            f"its allowed states (position {wrong[0] - problem.given.starts[sequence]} does not)"
        )
    return Start(entries, None)


def model_counts(problem, model, vocabulary):
    """The counts of a fitted model over the same vocabulary and states."""
    if not hasattr(model, "counts_"):
        raise ValueError(
            "init is a model that is not fitted (clone unfits it: wrap it in "
            "sklearn.frozen.FrozenEstimator to keep its counts through a search)"
        )
    emission = flat_cells(model.counts_.emission)
    same = (
        len(emission) == len(problem.cells.state)
        and len(model.counts_.start) == problem.cells.n_states
        and list(model.vocabulary_) == list(vocabulary)
    )
    if not same:
        raise ValueError(
            "init is a model with other states, another vocabulary or another handling of unknown "
            "words: fit it on the same sequences with the same n_components, vocabulary, "
            "tag_dictionary and handle_unknown"
        )
    counts = HMMCounts(model.counts_.start, model.counts_.transition, emission)
    topology = problem.cells.topology
    if topology is not None:
        start, transition = topology.masked(counts.start, counts.transition)
        lost = (start != counts.start).any() or (transition != counts.transition).any()
        if lost or (topology.tied and transition.any()):
            raise ValueError("init is a model with transitions that topology rules out")
    return counts


def model_start(problem, model, prior, vocabulary):
    """The posterior-mean weights of a fitted model."""
    counts = model_counts(problem, model, vocabulary)
    kept = uniform_weights(problem.cells)
    return Start(None, posterior_mean(counts, prior, problem.cells, kept))
