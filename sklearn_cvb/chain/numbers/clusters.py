"""K-means starts of chains of numbers: a cluster of single steps for each state. Steps are sampled,
and values beyond the fences of a column (outliers) moved there.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.numbers.e_step import NumericProblem
from sklearn_cvb.emissions.columns import MixedObservations
from sklearn_cvb.emissions.emission import Family, Observations, Scores

# This many steps tell where the clusters are.
_SAMPLE = 20_000
# Probability shared by all clusters: no step is certain, nor in a cluster of its own.
REST = 0.2
# The first and the last sequence (not included) of some.
Range = tuple[int, int]


@dataclass(frozen=True)
class StepsInMemory:
    """All steps of a problem in memory, as starts ask for them."""

    problem: NumericProblem
    is_elsewhere = False

    @property
    def starts(self) -> np.ndarray:
        """Where sequences begin, and the number of steps."""
        return self.problem.corpus.starts

    @property
    def n_steps(self) -> int:
        """How many there are."""
        return int(self.starts[-1])

    @property
    def times(self) -> np.ndarray | None:
        """How often each step counts; None for once."""
        times: np.ndarray | None = self.problem.corpus.times
        return times

    def values_at(self, steps: np.ndarray, *, roots_of: Family | None = None) -> np.ndarray:
        """All columns of some steps (see `values_at`)."""
        return values_at(self.problem.observations, steps, roots_of=roots_of)

    def known_at(self, steps: np.ndarray) -> np.ndarray | None:
        """States of some steps, -1 where not known; None where none are."""
        return None if self.problem.known is None else self.problem.known[steps]

    def values_of_known_states(self) -> list[tuple[int, np.ndarray]]:
        """States that are known of some steps, and values of all these."""
        known = self.problem.known
        told = [] if known is None else np.unique(known[known >= 0]).tolist()
        own = ((state, np.flatnonzero(known == state)) for state in told)
        return [(state, np.nan_to_num(self.values_at(steps))) for state, steps in own]

    def observed_at(self, steps: np.ndarray) -> Any:
        """Some steps as the family reads them."""
        return observations_at(self.problem.observations, steps)


def sample_steps(
    n_steps: int, rng: np.random.Generator, times: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray | None]:
    """The steps that clusters are sought among, and how often each counts (None: once)."""
    if n_steps <= _SAMPLE:
        return np.arange(n_steps), times
    if times is None:
        return rng.choice(n_steps, _SAMPLE, replace=False), None
    return rng.choice(n_steps, _SAMPLE, p=times / times.sum()), None


def sample_sequences(starts: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Steps of whole sequences that paths are sought among, and where these begin."""
    lengths = np.diff(starts)
    chosen = np.arange(len(lengths))
    if starts[-1] > _SAMPLE:
        chosen = rng.permutation(len(lengths))
        chosen = np.sort(chosen[: 1 + np.searchsorted(np.cumsum(lengths[chosen]), _SAMPLE)])
    steps = [np.arange(starts[i], starts[i + 1]) for i in chosen.tolist()]
    return np.concatenate(steps), np.append(0, np.cumsum(lengths[chosen]))


class Clusters(NamedTuple):
    """K-means clusters, one for each state, on columns in standard units."""

    fences: tuple[np.ndarray, np.ndarray]  # what is beyond them counts as if it were there
    centre: np.ndarray
    scale: np.ndarray
    kmeans: Any  # by k-means
    labels: np.ndarray  # the cluster of each step that it was fitted to

    def posteriors(self, problem: NumericProblem, ranges: Iterable[Range]) -> Iterator[np.ndarray]:
        """Of each range: nearly all of the cluster that is nearest."""
        n_states, starts = problem.cells.n_emitting, problem.corpus.starts
        for first, last in ranges:
            values = as_table(problem.observations.part(starts[first], starts[last]))
            values = (np.clip(np.nan_to_num(values), *self.fences) - self.centre) / self.scale
            shares = np.eye(n_states)[self.kmeans.predict(values)]
            yield REST / n_states + (1.0 - REST) * shares


class NearestStates(NamedTuple):
    """A seed by scores: each step is in the state of the largest, or on the best legal path."""

    scores: Scores
    rules: Any = None  # `legal_paths.PathRules`

    def posteriors(self, problem: NumericProblem, ranges: Iterable[Range]) -> Iterator[np.ndarray]:
        """Of each range: nearly all of the state that is nearest, or on the nearest path."""
        n_states = problem.cells.n_emitting
        for first, last in ranges:
            starts = problem.corpus.starts[first : last + 1]
            begin, end = int(starts[0]), int(starts[-1])
            scored = problem.step_scores(self.scores, begin, end, np.array([0, end - begin]))
            all_steps = np.empty(scored.shape)
            scored.fill(all_steps)
            if self.rules is not None and self.rules.forbid:
                shares = np.eye(n_states)[self.rules.paths(all_steps, starts - begin)[0]]
            else:
                # Nothing is nearer to a step that is missing.
                nothing = (all_steps == all_steps[:, :1]).all(axis=1, keepdims=True)
                nearest = np.eye(n_states)[all_steps.argmax(axis=1)]
                shares = np.where(nothing, 1.0 / n_states, nearest)
            yield REST / n_states + (1.0 - REST) * shares


def clusters_of_steps(all_steps: Any, rng: np.random.Generator) -> Any:
    """Clusters of all steps: of values by k-means, or the starting scores of the family."""
    family = all_steps.problem.family
    steps, times = sample_steps(all_steps.n_steps, rng, all_steps.times)
    if family.starting_scores is None or all_steps.is_elsewhere:
        values = np.nan_to_num(all_steps.values_at(steps))
        if len(steps) == all_steps.n_steps and _any_repeated(values, all_steps):
            times = np.ones(len(steps)) if times is None else times
        return kmeans_clusters(values, family, rng, all_steps.values_of_known_states(), times)
    steps = np.sort(steps)
    known = all_steps.known_at(steps)
    known = np.full(len(steps), -1) if known is None else known
    return NearestStates(family.starting_scores(all_steps.observed_at(steps), known, rng))


def _any_repeated(values: np.ndarray, all_steps: Any) -> bool:
    """Whether a sequence is there more than once, as one that has a weight is."""
    if all_steps.is_elsewhere:
        return False
    each = [values[begin:end].tobytes() for begin, end in pairwise(all_steps.starts)]
    return len(set(each)) < len(each)


def draw_steps(
    n_steps: int, n_states: int, rng: np.random.Generator, times: np.ndarray | None = None
) -> np.ndarray:
    """A step for each state to begin with, as often as `times` says."""
    shares = None if times is None else times / times.sum()
    return rng.choice(n_steps, n_states, replace=n_steps < n_states, p=shares)


def inner_fences(
    values: np.ndarray, has_outliers: bool, times: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The inner fences of each column, beyond which are outliers (Tukey 1977); or infinite ones."""
    if times is None:
        lower, upper = np.quantile(values, [0.25, 0.75], axis=0)
    else:
        quartiles = [_quartiles(column, times) for column in values.T]
        lower, upper = np.array(quartiles).T
    # Of a column that has one value in most steps all others are not outliers.
    width = np.where((upper > lower) & has_outliers, 1.5 * (upper - lower), np.inf)
    return lower - width, upper + width


def kmeans_clusters(
    values: np.ndarray,
    family: Family,
    rng: np.random.Generator,
    known: Iterable[tuple[int, np.ndarray]] = (),
    times: np.ndarray | None = None,
) -> Clusters:
    """One cluster for each state, by k-means on a sample of steps that count so many `times`.

    `known` are states, and the values of steps that are known to be of these.
    """
    from sklearn.cluster import KMeans

    fences, n_states = inner_fences(values, family.has_outliers, times), family.n_states
    place = np.arange(len(values))
    if times is not None:
        # What is drawn does not depend on how often, and where, a value comes.
        values, place = np.unique(values, axis=0, return_inverse=True)
        times = np.bincount(place.ravel(), times)
    values = np.clip(values, *fences)
    centre = np.average(values, axis=0, weights=times)
    deviation = np.sqrt(np.average((values - centre) ** 2, axis=0, weights=times))
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
            begin[state] = ((np.clip(own, *fences) - centre) / scale).mean(axis=0)
    kmeans = KMeans(n_clusters, init=begin, n_init=1, random_state=seed)
    kmeans.fit(values, sample_weight=times)
    return Clusters(fences, centre, scale, kmeans, kmeans.labels_[place.ravel()])


def _quartiles(column: np.ndarray, times: np.ndarray) -> list[float]:
    """The first and the third, as of values that are there so many times."""
    order = np.argsort(column)
    there = np.cumsum(times[order])
    found = []
    for place in np.array([0.25, 0.75]) * max(0.0, there[-1] - 1.0):
        at = np.floor(place) + np.arange(2.0)
        ends = np.minimum(np.searchsorted(there, at, side="right"), len(column) - 1)
        low, high = column[order[ends]]
        found.append(low + (high - low) * (place - at[0]))
    return found


def is_lazy(observations: Any) -> bool:
    """Whether steps are read when asked for, with those that the family looks back at."""
    return hasattr(observations, "take")


def observations_at(observations: Any, steps: np.ndarray) -> Any:
    """Some steps as a family reads them."""
    if is_lazy(observations):
        return observations.take(steps)
    observed = None if observations.observed is None else observations.observed[steps]
    return Observations(observations.values[steps], observed, observations.features[steps])


def values_at(
    observations: Any, steps: np.ndarray, *, roots_of: Family | None = None
) -> np.ndarray:
    """All columns of some steps, side by side, NaN where missing; of counts of a family roots."""
    if is_lazy(observations):
        order = observations.family.order
        return as_table(observations.take(steps), roots_of)[order :: order + 1]
    return as_table(observations, roots_of)[steps]


def as_table(observations: Any, roots_of: Family | None = None) -> np.ndarray:
    """All columns side by side, NaN where missing; roots of what are counts for a family."""
    if isinstance(observations, MixedObservations):
        families = getattr(roots_of, "families", [None] * len(observations.parts))
        return np.hstack(list(map(as_table, observations.parts, families)))
    values, observed = observations.values, observations.observed
    if roots_of is not None and roots_of.are_counts:
        # Anscombe (1948): they spread alike, however large they are.
        values = np.sqrt(values + 0.375)
    if observed is None:
        return values
    # Some values of a row may stand for one column.
    return np.where(np.tile(observed, values.shape[1] // observed.shape[1]), values, np.nan)
