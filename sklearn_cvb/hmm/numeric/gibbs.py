"""Gibbs sampling on numbers: parameters given all states, then all states given the parameters.

Each sweep draws start, transitions and emissions from their posterior, and then a path of every
sequence by forward filtering and backward sampling (Gao and Johnson 2008).
"""

from typing import Any

import numpy as np

from sklearn_cvb.emissions.emission import Scores
from sklearn_cvb.hmm.numeric.expectation import Scored, chain_of
from sklearn_cvb.hmm.numeric.filtering import filtered
from sklearn_cvb.hmm.numeric.problem import NumericProblem, lattice_of_steps
from sklearn_cvb.hmm.numeric.start import starting_posterior
from sklearn_cvb.hmm.parameters import HMMCounts, Prior, tied
from sklearn_cvb.kernels.chain.decoding import draw_paths
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.lattice import Cells


def drawn_rows(counts: np.ndarray, prior: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A row of probabilities from each Dirichlet(counts + prior); 0 where that is 0."""
    drawn = rng.standard_gamma(counts + prior)
    drawn = np.where((counts + prior > 0) & (drawn == 0), 1e-300, drawn)
    total = drawn.sum(axis=-1, keepdims=True)
    return drawn / np.where(total > 0, total, 1.0)


def counts_of_path(
    path: np.ndarray, problem: NumericProblem, observations: Any = None
) -> HMMCounts:
    """Counts of a path, ends among the transitions, and statistics.

    Of `observations` in which what was missing is drawn, where that is needed.
    """
    observations = problem.observations if observations is None else observations
    starts, n = problem.corpus.starts, problem.cells.n_emitting
    size = problem.cells.n_states
    start = np.bincount(path[starts[:-1]], minlength=size).astype(float)
    inside = np.ones(len(path), bool)
    inside[starts[:-1]] = False
    right = np.flatnonzero(inside)
    pairs = np.bincount(path[right - 1] * size + path[right], minlength=size * size)
    transition = pairs.reshape(size, size).astype(float)
    if problem.cells.has_end:
        transition[:, n] += np.bincount(path[starts[1:] - 1], minlength=size)
    posterior = np.zeros((len(path), n))
    posterior[np.arange(len(path)), path] = 1.0
    whole = np.array([0, len(path)])
    statistics = problem.family.statistics(observations, posterior, whole)[0]
    return HMMCounts(start, transition, statistics)


def first_path(
    problem: NumericProblem, init: Any, rng: np.random.Generator
) -> tuple[np.ndarray, HMMCounts]:
    """States drawn from the posteriors of a start, and their counts."""
    posterior = starting_posterior(problem, init, rng)
    levels = np.cumsum(posterior, axis=1)
    drawn = rng.random((len(posterior), 1)) * levels[:, -1:]
    path = np.minimum((levels <= drawn).sum(axis=1), posterior.shape[1] - 1)
    counts = counts_of_path(path, problem)
    topology = problem.cells.topology
    if topology is not None:
        # Steps are drawn independently: what must not follow must not be learned from.
        counts = counts._replace(transition=np.where(topology.transition, counts.transition, 0))
    return path, counts


def resampled(
    counts: HMMCounts, prior: Prior, problem: NumericProblem, rng: np.random.Generator
) -> tuple[np.ndarray, HMMCounts]:
    """All states anew, and their counts."""
    weights = _drawn_chain(counts, prior, problem.cells, rng)
    scores = problem.family.at(problem.family.draw(counts.emission, rng))
    path = _drawn_path(weights, scores, problem, rng)
    completed = problem.family.completed(problem.observations, scores, path, rng)
    return path, counts_of_path(path, problem, completed)


def _drawn_chain(
    counts: HMMCounts, prior: Prior, cells: Cells, rng: np.random.Generator
) -> Weights:
    """Start and transitions drawn from their posterior."""
    start = drawn_rows(counts.start, prior.start, rng)
    transition = drawn_rows(counts.transition, prior.transition, rng)
    return tied(Weights(start, transition, np.empty(0)), cells)


def _drawn_path(
    weights: Weights, scores: Scores, problem: NumericProblem, rng: np.random.Generator
) -> np.ndarray:
    """A path of every sequence given all parameters."""
    n, starts = problem.cells.n_emitting, problem.corpus.starts
    whole = np.array([0, len(problem.corpus.tokens)])
    scored = Scored(scores, problem.observations, (int(whole[1]), n), whole, problem.known)
    logs = filtered(chain_of(weights, n), scored, starts).log_message(starts)
    path, chance = np.empty(len(logs), np.int32), np.empty(n)
    with np.errstate(divide="ignore"):
        steps = np.log(np.ascontiguousarray(weights.transition[:n, :n]))
    draw_paths(steps, lattice_of_steps(*logs.shape), starts, rng, logs.ravel(), chance, path)
    return path.astype(np.int64)
