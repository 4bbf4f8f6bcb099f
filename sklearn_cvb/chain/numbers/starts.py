"""Starts of chains of numbers: first posteriors of training steps, from clusters, paths or models.
A seed is what gives posteriors for any range of sequences.

Steps are asked for in their order, so that what is drawn does not depend on how many at a time.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.numbers import clusters
from sklearn_cvb.chain.numbers.clusters import NearestStates, Range, StepsInMemory
from sklearn_cvb.chain.numbers.e_step import (
    NumberWeights,
    NumericProblem,
    add_counts,
    expected_counts,
    independent_posteriors,
    infer,
    most_likely,
    tables_of_weights,
)
from sklearn_cvb.chain.numbers.legal_paths import (
    PathRules,
    legal_scores,
    rules_of,
    sample_of_family,
    sample_of_values,
)
from sklearn_cvb.chain.options import StartModel
from sklearn_cvb.chain.parameters.rows import HMMCounts, kept_to_topology, tie_rows, uniform_weights
from sklearn_cvb.chain.parameters.user_tables import chain_tables
from sklearn_cvb.chain.paths.lattice import Cells
from sklearn_cvb.chain.starts.starting_points import posterior_arrays, smooth_weights
from sklearn_cvb.emissions.emission import Family, point_from_user
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights
from sklearn_cvb.reading.corpus import Corpus
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.settings import HMMParameters

_STARTS = ("kmeans", "token")
# What other restarts begin with where k-means is the start: states that stay, each of which emits
# what a step drawn at random has. It is no word of users.
STEPS, _STAYS = "steps", 0.9
# The same where estimators are fitted to posteriors that are drawn, and in every second restart:
# chains that switch fast are not found from states that stay.
_STAYS_BY_TURNS = {None: _STAYS, STEPS: 0.5}


def starting_posteriors(
    problem: NumericProblem, init: Any, rng: np.random.Generator, ranges: Sequence[Range]
) -> Iterator[np.ndarray]:
    """Posteriors (n_steps, K) of each range, kept to what topology and known states allow."""
    topology, n = problem.cells.chain.topology, problem.cells.n_emitting
    posteriors = _posteriors(problem, init, rng, ranges)
    for (first, last), posterior in zip(ranges, posteriors, strict=True):
        begin, end = problem.corpus.starts[[first, last]]
        if topology is not None:
            # No sequence begins in a state where none may.
            begins = problem.corpus.starts[first:last] - begin
            posterior = posterior.copy()
            allowed = topology.start[:n]
            first_steps = posterior[begins] * allowed
            first_steps[first_steps.sum(axis=1) == 0] = allowed
            posterior[begins] = first_steps / first_steps.sum(axis=1, keepdims=True)
        if problem.known is not None:
            known = problem.known[begin:end]
            where_known = np.flatnonzero(known >= 0)
            posterior = posterior.copy()
            posterior[where_known] = 0.0
            posterior[where_known, known[where_known]] = 1.0
        # Kernels take rows; what a user gives may be laid out by columns.
        yield np.ascontiguousarray(posterior)


def _posteriors(
    problem: NumericProblem, init: Any, rng: np.random.Generator, ranges: Sequence[Range]
) -> Iterator[np.ndarray]:
    """Posteriors of each range, as `init` says."""
    starts, n = problem.corpus.starts, problem.cells.n_emitting
    steps = [(int(starts[first]), int(starts[last])) for first, last in ranges]
    init = seed_for(AllSteps(problem), init, rng)
    if isinstance(init, NumberWeights):
        yield from posteriors_under(problem, init, ranges)
    elif hasattr(init, "posteriors"):
        yield from init.posteriors(problem, ranges)
    elif isinstance(init, str):
        for begin, end in steps:
            # From Dirichlet(1), independently.
            drawn = rng.standard_exponential((end - begin, n))
            yield drawn / drawn.sum(axis=1, keepdims=True)
    elif problem.start is not None:
        for begin, end in steps:
            yield problem.start[begin:end]
    else:
        arrays = posterior_arrays(init, problem.original.starts, n)
        for i, array in enumerate(arrays):
            if not (np.abs(array.sum(axis=1) - 1.0) < 1e-6).all() or (array < 0).any():
                raise ValueError(
                    f"init[{i}] must give each step non-negative probabilities that sum to 1"
                )
        whole = np.concatenate(arrays)
        for begin, end in steps:
            yield whole[begin:end]


# Seeds, for all parts of the data alike


class AllSteps(StepsInMemory):
    """All steps in memory, with their statistics and counts."""

    def statistics_at(self, steps: np.ndarray) -> np.ndarray:
        """Statistics of one step for each state."""
        return statistics_at(self.problem.observations, steps, self.problem.family)

    def counts_under(self, seed: Any) -> HMMCounts:
        """First counts of all steps, from a seed that was drawn for all of them."""
        pieces = self.problem.pieces()
        # Nothing is left to be drawn.
        rng = np.random.default_rng(0)
        return first_counts(self.problem, starting_posteriors(self.problem, seed, rng, pieces))


def seed_for(all_steps: Any, init: Any, rng: np.random.Generator) -> Any:
    """A seed that posteriors of all steps are made from; or `init` itself, where it is one."""
    problem = all_steps.problem
    if isinstance(init, HMMParameters):
        return user_start(all_steps, init, rng)
    if not (init is None or isinstance(init, str)) or init == "token":
        return init
    if init not in (None, STEPS, *_STARTS):
        raise InvalidParameterError(
            f"init={init!r} is for symbols: with numbers it is 'kmeans', 'token', arrays, a "
            "fitted model or None"
        )
    if problem.family.learns_from_steps and init in _STAYS_BY_TURNS:
        return weights_of_draws(problem, rng, _STAYS_BY_TURNS[init])
    rules = None if problem.cells.chain.topology is None else rules_of(problem.cells)
    if rules is not None:
        return _legal_start(all_steps, rules, rng, is_first=init != STEPS)
    if init == STEPS:
        n_states, times = problem.family.n_states, all_steps.times
        steps = clusters.draw_steps(all_steps.n_steps, n_states, rng, times)
        return weights_of_steps(all_steps.statistics_at(steps), problem.family, problem.cells)
    return clusters.clusters_of_steps(all_steps, rng)


def statistics_at(observations: Any, steps: np.ndarray, family: Family) -> np.ndarray:
    """Statistics (S, K) of one step for each state; -1: none of these observations."""
    total = np.zeros((family.n_statistics, len(steps)))
    for state in np.flatnonzero(steps >= 0):
        # What a family looks back at is in the rows before.
        if clusters.is_lazy(observations):
            own = observations.take(steps[[state]]).part(family.order, family.order + 1)
        else:
            own = observations.part(steps[state], steps[state] + 1)
        total += family.statistics(own, np.eye(len(steps))[[state]], np.array([0, 1]))[0]
    return total


def weights_of_steps(statistics: np.ndarray, family: Family, cells: Cells) -> NumberWeights:
    """Weights of states that mostly stay, with emissions from these statistics."""
    point = family.mean(statistics)
    return NumberWeights(_lasting_states(cells, _STAYS), family.log_densities(point), point)


def weights_of_draws(
    problem: NumericProblem, rng: np.random.Generator, stays: float
) -> NumberWeights:
    """Weights of states that stay so often, with emissions fitted to posteriors that are drawn."""
    (posterior,) = starting_posteriors(problem, "token", rng, problem.pieces())
    if problem.corpus.times is not None:
        posterior = posterior * problem.corpus.times[:, None]
    whole = np.array([0, len(posterior)])
    statistics = problem.family.statistics(problem.observations, posterior, whole)[0]
    point = most_likely(problem, statistics)
    scores = problem.family.log_densities(point)
    return NumberWeights(_lasting_states(problem.cells, stays), scores, point)


def _lasting_states(cells: Cells, stays: float) -> ChainWeights:
    """Weights of a chain whose states stay, with this probability and a share of the rest."""
    chain, every = uniform_weights(cells), np.eye(cells.n_states)
    moves = (1.0 - stays) * chain.transition + stays * np.tile(every, (cells.chain.n_tables, 1))
    return tie_rows(kept_to_topology(chain._replace(transition=moves), cells), cells)


def user_start(all_steps: Any, given: HMMParameters, rng: np.random.Generator) -> NumberWeights:
    """Weights of a user's parameters; those left out are learned from the nearest steps."""
    problem, family = all_steps.problem, all_steps.problem.family
    tables = chain_tables(given, problem.cells, None)
    rules = rules_of(problem.cells, tables)
    if given.emitted:
        of_all = _point_of(problem, all_steps.counts_under(UniformStates()).emission)
        nearest = family.log_densities(point_from_user(family, given.emitted, of_all))
        counts = all_steps.counts_under(NearestStates(nearest, rules))
        point = point_from_user(family, given.emitted, _point_of(problem, counts.emission))
    else:
        if family.learns_from_steps:
            seed = weights_of_draws(problem, rng, _STAYS)
        elif rules is None:
            seed = clusters.clusters_of_steps(all_steps, rng)
        else:
            seed = _legal_start(all_steps, rules, rng)
        counts = all_steps.counts_under(seed)
        point = _point_of(problem, counts.emission)
    counted = smooth_weights(counts.start, counts.transition, np.empty(0))
    each = zip(tables, counted, strict=True)
    chain = ChainWeights(*(found if table is None else table for table, found in each))
    chain = kept_to_topology(chain, problem.cells)
    return NumberWeights(tie_rows(chain, problem.cells), family.log_densities(point), point)


def _point_of(problem: NumericProblem, statistics: np.ndarray) -> Any:
    """Means given first statistics, or what is fitted to them."""
    family = problem.family
    learns = family.learns_from_steps
    return most_likely(problem, statistics) if learns else family.mean(statistics)


def first_counts(problem: NumericProblem, posteriors: Iterable[np.ndarray]) -> HMMCounts:
    """Counts of independent steps with these posteriors (n_steps, K), a piece at a time."""
    counts = None
    for (first, last), posterior in zip(problem.pieces(), posteriors, strict=True):
        starts = problem.corpus.starts[first : last + 1]
        begin, end = int(starts[0]), int(starts[-1])
        inside = starts - begin
        stretches = problem.stretches(begin, end, inside)
        n_tables, cells = problem.cells.chain.n_tables, problem.cells
        times = problem.corpus.times
        times = None if times is None else times[begin:end]
        found = independent_posteriors(posterior, inside, stretches, n_tables, cells, times)
        more = expected_counts(found, problem.observations.part(begin, end), problem, inside)
        counts = add_counts(counts, more)
    assert counts is not None, "there is a sequence"
    return counts


def posteriors_under(
    problem: NumericProblem, weights: NumberWeights, ranges: Sequence[Range]
) -> Iterator[np.ndarray]:
    """Posteriors (n_steps, K) of each range under weights; uniform where no path explains."""
    assert weights.scores is not None, "they score steps"
    n, chain = problem.cells.n_emitting, tables_of_weights(weights.chain, problem.cells.n_emitting)
    for first, last in ranges:
        starts = problem.corpus.starts[first : last + 1]
        begin, end = int(starts[0]), int(starts[-1])
        scored = problem.step_scores(weights.scores, begin, end, np.array([0, end - begin]))
        inside = starts - begin
        posteriors = infer(chain, scored, inside, problem.stretches(begin, end, inside))
        lost = np.repeat(np.isneginf(posteriors.log_z), np.diff(starts))
        yield np.where(lost[:, None], 1.0 / n, posteriors.posterior)


class UniformStates(NamedTuple):
    """A seed under which all states are equally probable at every step."""

    def posteriors(self, problem: NumericProblem, ranges: Iterable[Range]) -> Iterator[np.ndarray]:
        """Of each range of sequences."""
        n_states, starts = problem.cells.n_emitting, problem.corpus.starts
        for first, last in ranges:
            yield np.full((int(starts[last] - starts[first]), n_states), 1.0 / n_states)


def _legal_start(
    all_steps: Any, rules: PathRules, rng: np.random.Generator, *, is_first: bool = True
) -> NearestStates:
    """Scores of states nearest to legal paths, sought in a sample of whole sequences."""
    problem, (steps, starts) = all_steps.problem, clusters.sample_sequences(all_steps.starts, rng)
    if rules.is_ordered:
        rules = rules.one_at_a_time()
    known = all_steps.known_at(steps)
    if problem.family.starting_scores is None or all_steps.is_elsewhere:
        values = all_steps.values_at(steps, roots_of=problem.family)
        sample = sample_of_values(values, starts, known, problem.family, rng)
    else:
        sample = sample_of_family(all_steps.observed_at(steps), starts, known, problem.family, rng)
    return NearestStates(legal_scores(sample, rules, rng, is_first=is_first), rules)


def model_posterior(init: StartModel, X: Any, corpus: Corpus, n_states: int) -> np.ndarray:
    """Posteriors (n_steps, K) of the training steps under a fitted model."""
    found = list(init.predict_proba(X))
    lengths = np.diff(corpus.starts)
    posterior = np.concatenate([table[:n] for table, n in zip(found, lengths, strict=True)])
    if posterior.shape[1] != n_states:
        raise ValueError(
            f"init is a model with {posterior.shape[1]} states, this one has {n_states}"
        )
    return posterior
