"""Where a chain of numbers starts: posteriors of the training steps."""

from typing import Any

import numpy as np

from sklearn_cvb.containers import as_list, shown
from sklearn_cvb.corpus import Corpus
from sklearn_cvb.emissions.columns import MixedObservations
from sklearn_cvb.hmm.numeric.expectation import Found, counts_of
from sklearn_cvb.hmm.numeric.problem import NumericProblem
from sklearn_cvb.hmm.parameters import HMMCounts
from sklearn_cvb.validation import InvalidParameterError, as_numbers

NAMES = ("kmeans", "token")
# So many steps tell where the clusters are.
_SAMPLE = 20_000


def starting_posterior(problem: NumericProblem, init: Any, rng: np.random.Generator) -> np.ndarray:
    """Posteriors (n_steps, K) to start from, kept to what the topology allows.

    Parameters
    ----------
    problem : NumericProblem
    init : {"kmeans", "token"}, arrays, model or None
        None means "kmeans".
    rng : numpy.random.Generator
    """
    init = "kmeans" if init is None else init
    if isinstance(init, str):
        if init not in NAMES:
            raise InvalidParameterError(
                f"init={init!r} is for symbols: with numbers it is 'kmeans', 'token', arrays, a "
                "fitted model or None"
            )
        start = _clusters if init == "kmeans" else _random
        posterior = start(problem, rng)
    elif problem.start is not None:
        posterior = problem.start
    else:
        posterior = _given(problem, init)
    posterior = _allowed(problem, posterior)
    if problem.known is not None:
        told = np.flatnonzero(problem.known >= 0)
        posterior = posterior.copy()
        posterior[told] = 0.0
        posterior[told, problem.known[told]] = 1.0
    # Kernels take rows; what a user gives may be laid out by columns.
    return np.ascontiguousarray(posterior)


def _centres(
    problem: NumericProblem, values: np.ndarray, n_states: int, rng: np.random.Generator
) -> np.ndarray:
    """Where clusters begin: means of the steps whose states are known, and any step elsewhere."""
    centres = values[rng.choice(len(values), n_states)]
    assert problem.known is not None, "some states are known"
    for state in range(n_states):
        own = problem.known == state
        if own.any():
            centres[state] = values[own].mean(axis=0)
    return centres


def _clusters(problem: NumericProblem, rng: np.random.Generator) -> np.ndarray:
    """One cluster of steps for each state, by k-means on columns in standard units."""
    from sklearn.cluster import KMeans

    values = _as_table(problem.observations)
    deviation = values.std(axis=0)
    values = (values - values.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    n_states = problem.cells.n_emitting
    sample = values
    if len(values) > _SAMPLE:
        sample = values[rng.choice(len(values), _SAMPLE, replace=False)]
    n_clusters = min(n_states, len(np.unique(sample, axis=0)))
    seed = int(rng.integers(2**31 - 1))
    begin: Any = "k-means++"
    if problem.known is not None and n_clusters == n_states:
        begin = _centres(problem, values, n_states, rng)
    found = KMeans(n_clusters, init=begin, n_init=1, random_state=seed).fit(sample)
    # A rest for the other clusters: nothing is certain, a cluster of one step or of ones alone.
    posterior = np.full((len(values), n_states), 0.2 / n_states)
    posterior[np.arange(len(values)), found.predict(values)] += 0.8
    return posterior


def _as_table(observations: Any) -> np.ndarray:
    """All columns side by side."""
    if isinstance(observations, MixedObservations):
        return np.hstack([_as_table(part) for part in observations.parts])
    return observations.values


def _random(problem: NumericProblem, rng: np.random.Generator) -> np.ndarray:
    """Posteriors from Dirichlet(1), independently."""
    shape = (len(problem.corpus.tokens), problem.cells.n_emitting)
    drawn = rng.standard_exponential(shape)
    return drawn / drawn.sum(axis=1, keepdims=True)


def model_posterior(init: Any, X: Any, corpus: Corpus, n_states: int) -> np.ndarray:
    """Posteriors (n_steps, K) of the training steps under a fitted model."""
    if not hasattr(init, "counts_"):
        raise ValueError(
            "init is a model that is not fitted (clone unfits it: wrap it in "
            "sklearn.frozen.FrozenEstimator to keep it through a search)"
        )
    found = list(init.predict_proba(X))
    lengths = np.diff(corpus.starts)
    posterior = np.concatenate([table[:n] for table, n in zip(found, lengths, strict=True)])
    if posterior.shape[1] != n_states:
        raise ValueError(
            f"init is a model with {posterior.shape[1]} states, this one has {n_states}"
        )
    return posterior


def _given(problem: NumericProblem, init: Any) -> np.ndarray:
    """Posteriors given as one (length, n_components) array per sequence."""
    lengths, n_states = np.diff(problem.given.starts), problem.cells.n_emitting
    arrays = as_list(init)
    if arrays is None:
        raise TypeError(f"init is {shown(init)}: pass a list of posterior arrays")
    arrays = [as_numbers(f"init[{i}]", array) for i, array in enumerate(arrays)]
    if len(arrays) != len(lengths):
        raise ValueError(f"init has {len(arrays)} posterior arrays for {len(lengths)} sequences")
    for i, (array, length) in enumerate(zip(arrays, lengths, strict=True)):
        if array.shape != (length, n_states):
            raise ValueError(
                f"init[{i}] has shape {array.shape}, but sequence {i} needs "
                f"{(int(length), n_states)}"
            )
        if not (np.abs(array.sum(axis=1) - 1.0) < 1e-6).all() or (array < 0).any():
            raise ValueError(
                f"init[{i}] must give each step non-negative probabilities that sum to 1"
            )
    return np.concatenate(arrays)


def _allowed(problem: NumericProblem, posterior: np.ndarray) -> np.ndarray:
    """Posteriors in which no sequence begins in a state where none may."""
    topology = problem.cells.topology
    if topology is None:
        return posterior
    first, n = problem.corpus.starts[:-1], problem.cells.n_emitting
    posterior = posterior.copy()
    allowed = topology.start[:n]
    kept = posterior[first] * allowed
    kept[kept.sum(axis=1) == 0] = allowed
    posterior[first] = kept / kept.sum(axis=1, keepdims=True)
    return posterior


def independent(problem: NumericProblem, posterior: np.ndarray, units: np.ndarray) -> Found:
    """Posteriors of independent steps, with the products of neighbours as pairs, by unit."""
    starts, n = problem.corpus.starts, problem.cells.n_emitting
    pairs = np.zeros((len(units) - 1, n, n))
    begins = np.zeros(len(posterior), bool)
    begins[starts[:-1]] = True
    for u in range(len(units) - 1):
        begin, end = units[u], units[u + 1]
        left = slice(begin if begins[begin] else begin - 1, end - 1)
        right = slice(left.start + 1, end)
        inside = ~begins[right]
        pairs[u] = posterior[left][inside].T @ posterior[right][inside]
    topology = problem.cells.topology
    if topology is not None:
        pairs = np.where(topology.transition[:n, :n], pairs, 0.0)
    return Found(posterior, pairs, np.zeros(len(starts) - 1))


def starting_counts(problem: NumericProblem, posterior: np.ndarray) -> HMMCounts:
    """Counts and statistics of independent steps."""
    whole = np.array([0, len(posterior)])
    found = independent(problem, posterior, whole)
    return counts_of(found, problem.observations, problem, problem.corpus.starts)
