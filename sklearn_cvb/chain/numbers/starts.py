"""Where a chain of numbers starts: posteriors of the training steps, some sequences at a time.

Steps are asked for in their order, so that what is drawn does not depend on how many at a time.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.lattice import Cells
from sklearn_cvb.chain.numbers.e_step import NumberWeights, NumericProblem, chain_of, infer
from sklearn_cvb.chain.numbers.series import StoredObservations
from sklearn_cvb.chain.parameters import kept_to_topology, tied, uniform_weights
from sklearn_cvb.chain.starts import given_weights, posterior_arrays
from sklearn_cvb.emissions.columns import MixedObservations
from sklearn_cvb.emissions.emission import Family, Observations, Scores, given_point
from sklearn_cvb.reading.corpus import Corpus
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.settings import HMMParameters

_STARTS = ("kmeans", "token")
# What other restarts begin with where k-means is the start: states that stay, each of which emits
# what a step drawn at random has. It is no word of users.
STEPS, _STAYS = "steps", 0.8
# So many steps tell where the clusters are.
_SAMPLE = 20_000
# A rest for the other clusters: nothing is certain, a cluster of one step or of ones alone.
_REST = 0.2

# The first and the last sequence (not included) of some.
Range = tuple[int, int]


def starting_posteriors(
    problem: NumericProblem, init: Any, rng: np.random.Generator, ranges: Sequence[Range]
) -> Iterator[np.ndarray]:
    """Posteriors (n_steps, K) of each range, kept to what topology and known states allow."""
    topology, n = problem.cells.topology, problem.cells.n_emitting
    found = _posteriors(problem, init, rng, ranges)
    for (first, last), posterior in zip(ranges, found, strict=True):
        begin, end = problem.corpus.starts[[first, last]]
        if topology is not None:
            # No sequence begins in a state where none may.
            begins = problem.corpus.starts[first:last] - begin
            posterior = posterior.copy()
            allowed = topology.start[:n]
            kept = posterior[begins] * allowed
            kept[kept.sum(axis=1) == 0] = allowed
            posterior[begins] = kept / kept.sum(axis=1, keepdims=True)
        if problem.known is not None:
            known = problem.known[begin:end]
            told = np.flatnonzero(known >= 0)
            posterior = posterior.copy()
            posterior[told] = 0.0
            posterior[told, known[told]] = 1.0
        # Kernels take rows; what a user gives may be laid out by columns.
        yield np.ascontiguousarray(posterior)


def _posteriors(
    problem: NumericProblem, init: Any, rng: np.random.Generator, ranges: Sequence[Range]
) -> Iterator[np.ndarray]:
    """What `init` says of each range."""
    init, starts = "kmeans" if init is None else init, problem.corpus.starts
    n = problem.cells.n_emitting
    steps = [(int(starts[first]), int(starts[last])) for first, last in ranges]
    if isinstance(init, str) and init != STEPS:
        if init not in _STARTS:
            raise InvalidParameterError(
                f"init={init!r} is for symbols: with numbers it is 'kmeans', 'token', arrays, a "
                "fitted model or None"
            )
        if init == "kmeans":
            found = _clusters if problem.family.clusters is None else _nearest
            yield from found(problem, rng).posteriors(problem, steps)
            return
        for begin, end in steps:
            # From Dirichlet(1), independently.
            drawn = rng.standard_exponential((end - begin, n))
            yield drawn / drawn.sum(axis=1, keepdims=True)
    elif isinstance(init, Clusters):
        yield from init.posteriors(problem, steps)
    elif isinstance(init, NumberWeights):
        yield from posteriors_under(problem, init, ranges)
    elif problem.start is not None:
        for begin, end in steps:
            yield problem.start[begin:end]
    elif begins_with_weights(init):
        weights = given_start(problem, init, rng)
        yield from posteriors_under(problem, weights, ranges)
    else:
        arrays = posterior_arrays(init, problem.given.starts, n)
        for i, array in enumerate(arrays):
            if not (np.abs(array.sum(axis=1) - 1.0) < 1e-6).all() or (array < 0).any():
                raise ValueError(
                    f"init[{i}] must give each step non-negative probabilities that sum to 1"
                )
        whole = np.concatenate(arrays)
        for begin, end in steps:
            yield whole[begin:end]


def begins_with_weights(init: Any) -> bool:
    """Whether a start says more than posteriors of steps."""
    return isinstance(init, HMMParameters) or (isinstance(init, str) and init == STEPS)


def drawn_steps(n_steps: int, n_states: int, rng: np.random.Generator) -> np.ndarray:
    """A step for each state to begin with."""
    return rng.choice(n_steps, n_states, replace=n_steps < n_states)


def statistics_at(observations: Any, steps: np.ndarray, family: Family) -> np.ndarray:
    """Statistics (S, K) of one step for each state; -1: none of these observations."""
    total = np.zeros((family.n_statistics, len(steps)))
    for state in np.flatnonzero(steps >= 0):
        # What a family looks back at is in the rows before.
        if isinstance(observations, StoredObservations):
            own = observations.at(steps[[state]]).part(family.order, family.order + 1)
        else:
            own = observations.part(steps[state], steps[state] + 1)
        total += family.statistics(own, np.eye(len(steps))[[state]], np.array([0, 1]))[0]
    return total


def weights_of_steps(statistics: np.ndarray, family: Family, cells: Cells) -> NumberWeights:
    """States that stay, and emit what these statistics say."""
    chain, point = uniform_weights(cells), family.mean(statistics)
    moves = (1.0 - _STAYS) * chain.transition + _STAYS * np.eye(cells.n_states)
    chain = kept_to_topology(chain._replace(transition=moves), cells)
    return NumberWeights(tied(chain, cells), family.at(point), point)


def given_start(problem: NumericProblem, given: Any, rng: np.random.Generator) -> NumberWeights:
    """Weights to start from: what is given, and clusters where nothing of emissions is."""
    family = problem.family
    if isinstance(given, str):
        steps = drawn_steps(int(problem.corpus.starts[-1]), family.n_states, rng)
        own = statistics_at(problem.observations, steps, family)
        return weights_of_steps(own, family, problem.cells)
    chain = kept_to_topology(given_weights(given, problem.cells, None, rng), problem.cells)
    if given.emitted:
        point = given_point(family, given.emitted)
    else:
        pieces = problem.pieces()
        posteriors = starting_posteriors(problem, None, rng, pieces)
        point = family.mean(_statistics(problem, posteriors, pieces))
    return NumberWeights(tied(chain, problem.cells), family.at(point), point)


def _statistics(
    problem: NumericProblem, posteriors: Iterable[np.ndarray], ranges: Sequence[Range]
) -> np.ndarray:
    """What all steps tell under posteriors (S, K)."""
    starts, family = problem.corpus.starts, problem.family
    total = np.zeros((family.n_statistics, problem.cells.n_emitting))
    for (first, last), posterior in zip(ranges, posteriors, strict=True):
        begin, end = starts[[first, last]]
        observations, whole = problem.observations.part(begin, end), np.array([0, end - begin])
        total += family.statistics(observations, posterior, whole)[0]
    return total


def posteriors_under(
    problem: NumericProblem, weights: NumberWeights, ranges: Sequence[Range]
) -> Iterator[np.ndarray]:
    """Posteriors (n_steps, K) of each range; of what these weights rule out equal ones."""
    assert weights.scores is not None, "they score steps"
    n, chain = problem.cells.n_emitting, chain_of(weights.chain, problem.cells.n_emitting)
    for first, last in ranges:
        starts = problem.corpus.starts[first : last + 1]
        begin, end = int(starts[0]), int(starts[-1])
        scored = problem.scored(weights.scores, begin, end, np.array([0, end - begin]))
        inside = starts - begin
        found = infer(chain, scored, inside, problem.stretches(begin, end, inside))
        lost = np.repeat(np.isneginf(found.log_z), np.diff(starts))
        yield np.where(lost[:, None], 1.0 / n, found.posterior)


class Clusters(NamedTuple):
    """A cluster of steps for each state, on columns in standard units."""

    ends: tuple[np.ndarray, np.ndarray]  # what is beyond them counts as if it were there
    centre: np.ndarray
    scale: np.ndarray
    found: Any  # by k-means

    def posteriors(
        self, problem: NumericProblem, steps: Iterable[tuple[int, int]]
    ) -> Iterator[np.ndarray]:
        """Of each stretch of steps: nearly all of the cluster that is nearest."""
        n_states = problem.cells.n_emitting
        for first, last in steps:
            values = np.clip(_as_table(problem.observations.part(first, last)), *self.ends)
            values = (values - self.centre) / self.scale
            posterior = np.full((last - first, n_states), _REST / n_states)
            posterior[np.arange(last - first), self.found.predict(values)] += 1.0 - _REST
            yield posterior


class Nearest(NamedTuple):
    """A cluster for each state, which says itself how near a step is."""

    scores: Scores

    def posteriors(
        self, problem: NumericProblem, steps: Iterable[tuple[int, int]]
    ) -> Iterator[np.ndarray]:
        """Of each stretch of steps: nearly all of the cluster that is nearest."""
        n_states = problem.cells.n_emitting
        for begin, end in steps:
            scored = problem.scored(self.scores, begin, end, np.array([0, end - begin]))
            every = np.empty(scored.shape)
            scored.fill(every)
            # Nothing is nearer to a step that is missing.
            nothing = (every == every[:, :1]).all(axis=1, keepdims=True)
            shares = np.where(nothing, 1.0 / n_states, np.eye(n_states)[every.argmax(axis=1)])
            yield _REST / n_states + (1.0 - _REST) * shares


def _nearest(problem: NumericProblem, rng: np.random.Generator) -> Nearest:
    """By the family, on a sample of steps."""
    rows = np.sort(sampled_steps(int(problem.corpus.starts[-1]), rng))
    known = np.full(len(rows), -1) if problem.known is None else problem.known[rows]
    sample = problem.observations
    if isinstance(sample, StoredObservations):
        sample = sample.at(rows)
    else:
        observed = None if sample.observed is None else sample.observed[rows]
        sample = Observations(sample.values[rows], observed, sample.features[rows])
    return Nearest(problem.family.clusters(sample, known, rng))


def sampled_steps(n_steps: int, rng: np.random.Generator) -> np.ndarray:
    """The steps that clusters are sought among."""
    if n_steps > _SAMPLE:
        return rng.choice(n_steps, _SAMPLE, replace=False)
    return np.arange(n_steps)


def ends_of(values: np.ndarray, has_outliers: bool) -> tuple[np.ndarray, np.ndarray]:
    """Where outliers begin: the inner fences of each column (Tukey 1977), or nowhere."""
    lower, upper = np.quantile(values, [0.25, 0.75], axis=0)
    # Of a column that has one value in most steps all others are not outliers.
    width = np.where((upper > lower) & has_outliers, 1.5 * (upper - lower), np.inf)
    return lower - width, upper + width


def clusters_of(
    values: np.ndarray,
    family: Family,
    rng: np.random.Generator,
    known: Iterable[tuple[int, np.ndarray]] = (),
) -> Clusters:
    """One cluster for each state, by k-means on a sample of steps.

    `known` are states, and the values of steps that are known to be of these.
    """
    from sklearn.cluster import KMeans

    ends, n_states = ends_of(values, family.has_outliers), family.n_states
    values = np.clip(values, *ends)
    centre, deviation = values.mean(axis=0), values.std(axis=0)
    scale = np.where(deviation > 0, deviation, 1.0)
    values = (values - centre) / scale
    n_clusters = min(n_states, len(np.unique(values, axis=0)))
    seed = int(rng.integers(2**31 - 1))
    begin: Any = "k-means++"
    known = list(known)
    if known and n_clusters == n_states:
        # Means of the steps whose states are known, and any step elsewhere.
        begin = values[rng.choice(len(values), n_states)]
        for state, own in known:
            begin[state] = ((np.clip(own, *ends) - centre) / scale).mean(axis=0)
    found = KMeans(n_clusters, init=begin, n_init=1, random_state=seed).fit(values)
    return Clusters(ends, centre, scale, found)


def _clusters(problem: NumericProblem, rng: np.random.Generator) -> Clusters:
    """Those of all steps."""
    steps = sampled_steps(int(problem.corpus.starts[-1]), rng)
    known: list[tuple[int, np.ndarray]] = []
    if problem.known is not None:
        for state in np.unique(problem.known[problem.known >= 0]).tolist():
            own = values_at(problem.observations, np.flatnonzero(problem.known == state))
            known.append((state, own))
    values = values_at(problem.observations, steps)
    return clusters_of(values, problem.family, rng, known)


def values_at(observations: Any, steps: np.ndarray) -> np.ndarray:
    """All columns of some steps, side by side."""
    if isinstance(observations, StoredObservations):
        return _as_table(observations.at(steps))[
            observations.family.order :: observations.family.order + 1
        ]
    return _as_table(observations)[steps]


def _as_table(observations: Any) -> np.ndarray:
    """All columns side by side."""
    if isinstance(observations, MixedObservations):
        return np.hstack([_as_table(part) for part in observations.parts])
    return observations.values


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
