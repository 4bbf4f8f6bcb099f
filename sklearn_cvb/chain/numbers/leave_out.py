"""Collapsed variational Bayes on numbers: each unit, a sequence or a window of one, is inferred
from the statistics of all others, group by group. Shares are what units add to all counts.

Units are whole sequences (eq. 25 of Wang and Blunsom 2013) or windows of long ones. The states of a
unit's steps are inferred under the posterior predictive distributions of what the other units hold:
Student's t, negative binomial, and so on. Units are taken out one by one, but a group of them is
inferred from the statistics as they stood before the group; groups follow one another. Windows of
one sequence are in one group: messages run through all of it.
"""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.numbers.e_step import (
    ChainTables,
    ContextStretches,
    NumericProblem,
    StepScores,
    add_counts,
    filter_steps,
    independent_posteriors,
    infer,
    statistics_of,
    stretches_by_table,
    stretches_within,
)
from sklearn_cvb.chain.numbers.visits import StepPosteriors
from sklearn_cvb.chain.parameters.rows import ChainPrior, HMMCounts
from sklearn_cvb.learning.model import InferenceResult
from sklearn_cvb.settings import window_for

# A sweep has this many groups at least, where there are as many sequences; and no group has more
# steps, so that its tables stay in the cache.
_FEWEST_GROUPS, _LARGEST_GROUP = 16, 8192


# First and last sequence, first and last unit.
Group = tuple[int, int, int, int]


class NumberUnitLayout(NamedTuple):
    """Where units begin, the groups they are inferred in, and the tables of their contexts."""

    units: np.ndarray  # where units begin among all steps
    groups: list[Group]
    block_length: int | None
    # A table of transitions leads to the steps of each unit, or to those in each of its contexts.
    stretches: ContextStretches
    unit: np.ndarray  # (n_tables,), ascending
    context: np.ndarray  # (n_tables,)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """First and last sequence of each group."""
        return [(first, last) for first, last, _, _ in self.groups]


class NumberUnits(NamedTuple):
    """Shares of all units: posteriors, pairs and statistics, which change in place."""

    layout: NumberUnitLayout
    posterior: np.ndarray  # (n_steps, K)
    pairs: np.ndarray  # (n_tables, K, K)
    statistics: np.ndarray  # (n_units, S, K)


def unit_layout(
    problem: NumericProblem, block_length: int | None, is_known: bool = False
) -> NumberUnitLayout:
    """Whole sequences; windows where asked for, or where one sequence is most of the data.

    Not of all that `is_known`, where there were batches before.
    """
    starts = problem.corpus.starts
    lengths = np.diff(starts)
    if block_length is None and not (is_known or problem.is_part):
        block_length = window_for(int(lengths.max()), int(lengths.sum()))
    units = starts
    if block_length is not None:
        begins = [np.arange(begin, end, block_length) for begin, end in pairwise(starts)]
        units = np.append(np.concatenate(begins), starts[-1])
    n_steps = max(1, min(_LARGEST_GROUP, int(starts[-1]) // _FEWEST_GROUPS))
    # The last sequence that fits in a group ends it; a longer one is a group of its own.
    groups, first = [], 0
    while first < len(lengths):
        last = int(np.searchsorted(starts, starts[first] + n_steps, side="right")) - 1
        last = max(first + 1, last)
        own = np.searchsorted(units, starts[[first, last]])
        groups.append((first, last, int(own[0]), int(own[1])))
        first = last
    return NumberUnitLayout(units, groups, block_length, *_tables_of(problem, units))


def _tables_of(
    problem: NumericProblem, units: np.ndarray
) -> tuple[ContextStretches, np.ndarray, np.ndarray]:
    """Which table leads to each step, and the unit and the context of each table."""
    every = np.arange(len(units) - 1)
    if problem.contexts is None:
        return ContextStretches(units, every), every, np.zeros_like(every)
    n = problem.cells.chain.n_tables
    both, table = np.unique(
        np.repeat(every, np.diff(units)) * n + problem.contexts, return_inverse=True
    )
    return stretches_by_table(table, problem.corpus.starts), both // n, both % n


def counts_by_unit(
    posteriors: StepPosteriors, starts: np.ndarray, units: np.ndarray, has_end: bool
) -> HMMCounts:
    """Start counts of each unit, and those of its tables with ends; no emissions."""
    n_units, n = len(units) - 1, posteriors.posterior.shape[1]
    size = n + has_end
    # Without ends the pairs are all there is: a copy would take as long as half of inference.
    start, transition = np.zeros((n_units, size)), posteriors.pairs
    if has_end:
        transition = np.zeros((n_units, size, size))
        transition[:, :n, :n] = posteriors.pairs
    begins = np.searchsorted(units, starts[:-1])
    start[begins, :n] = posteriors.posterior[starts[:-1]]
    if has_end:
        ends = np.append(begins[1:], n_units) - 1
        transition[ends, :n, n] = posteriors.posterior[starts[1:] - 1]
    return HMMCounts(start, transition, np.empty(0))


def leave_one_out_chain(
    counts: HMMCounts,
    unit_counts: HMMCounts,
    prior: ChainPrior,
    problem: NumericProblem,
    place: "_GroupPlace",
) -> ChainTables:
    """Posterior means of the chain from all counts but those of each unit."""
    n, topology = problem.cells.n_emitting, problem.cells.chain.topology
    start = np.maximum(counts.start - unit_counts.start, 0.0)
    start = (start + prior.start) / (start.sum(axis=-1, keepdims=True) + prior.start_total)
    if topology is not None and topology.is_tied:
        transition = np.repeat(start[:, None, :], n, axis=1)
        return ChainTables(start, np.ascontiguousarray(transition), None)
    rows: Any = counts.transition, prior.transition, prior.transition_total[:, None]
    if problem.contexts is not None:
        start = start[place.unit]
        rows = (table.reshape(-1, n, table.shape[1])[place.context] for table in rows)
    whole, below, total = rows
    moved = whole - unit_counts.transition
    np.maximum(moved, 0.0, out=moved)
    # A product with ones is several times as fast as sums of short rows.
    out = moved @ np.ones((moved.shape[-1], 1)) + total
    moved += below
    moved /= out
    end = np.ascontiguousarray(moved[:, :n, n]) if problem.cells.chain.has_end else None
    return ChainTables(
        np.ascontiguousarray(start[:, :n]), np.ascontiguousarray(moved[:, :n, :n]), end
    )


def allocate_units(layout: NumberUnitLayout, problem: NumericProblem) -> NumberUnits:
    """Tables for the shares of units."""
    n, n_units = problem.cells.n_emitting, len(layout.units) - 1
    posterior = problem.allocate((int(layout.units[-1]), n))
    pairs = problem.allocate((len(layout.unit), n, n))
    return NumberUnits(
        layout, posterior, pairs, problem.allocate((n_units, problem.family.n_statistics, n))
    )


def _sum_tables(by_table: np.ndarray, context: np.ndarray, problem: NumericProblem) -> np.ndarray:
    """Transition counts of all units from those of their tables."""
    if problem.contexts is None:
        return by_table.sum(axis=0)
    n = problem.cells.n_states
    total = np.zeros((problem.cells.chain.n_tables, n, n))
    np.add.at(total, context, by_table)
    return total.reshape(-1, n)


def with_prior_statistics(statistics: np.ndarray, prior: ChainPrior) -> np.ndarray:
    """Statistics, with those that a prior has of batches before."""
    return statistics + prior.emission if prior.emission.size else statistics


def first_units(
    problem: NumericProblem,
    posteriors: Callable[[list[tuple[int, int]]], Iterable[np.ndarray]],
    block_length: int | None,
) -> NumberUnits:
    """Independent steps in the units that are left out, from posteriors of ranges of sequences."""
    layout = unit_layout(problem, block_length)
    shares = allocate_units(layout, problem)
    for group, posterior in zip(layout.groups, posteriors(layout.ranges), strict=True):
        place = _place_of(group, layout, problem)
        steps, units, tables, starts, bounds, stretches = place[:6]
        shares.posterior[steps] = posterior
        n_tables = tables.stop - tables.start
        found = independent_posteriors(posterior, starts, stretches, n_tables, problem.cells)
        shares.pairs[tables] = found.pairs
        observations = problem.observations.part(steps.start, steps.stop)
        shares.statistics[units] = statistics_of(found, observations, problem, bounds)
    return shares


def infer_units(
    problem: NumericProblem, block_length: int | None, counts: HMMCounts, prior: ChainPrior
) -> NumberUnits:
    """All units inferred from the same counts, nothing left out: where a lost fit goes on."""
    layout = unit_layout(problem, block_length, prior.emission.size > 0)
    shares, size = allocate_units(layout, problem), len(counts.start)
    scores = problem.family.predictive(with_prior_statistics(counts.emission, prior))
    for group in layout.groups:
        place = _place_of(group, layout, problem)
        steps, units, tables, starts, bounds, stretches = place[:6]
        n_tables = tables.stop - tables.start
        no_start, no_steps = np.zeros((len(bounds) - 1, size)), np.zeros((n_tables, size, size))
        nothing = HMMCounts(no_start, no_steps, np.empty(0))
        chain = leave_one_out_chain(counts, nothing, prior, problem, place)
        scored = problem.step_scores(scores, steps.start, steps.stop, bounds)
        found = infer(chain, scored, starts, stretches)
        shares.posterior[steps], shares.pairs[tables] = found.posterior, found.pairs
        shares.statistics[units] = statistics_of(
            found, scored.observations, problem, bounds, scores
        )
    return shares


def _sum_units(
    own: HMMCounts, statistics: np.ndarray, place: "_GroupPlace", problem: NumericProblem
) -> HMMCounts:
    """Counts and statistics that a group's units add up to."""
    start, transition = own.start.sum(axis=0), _sum_tables(own.transition, place.context, problem)
    return HMMCounts(start, transition, statistics.sum(axis=0))


def counts_of_units(shares: NumberUnits, problem: NumericProblem) -> HMMCounts:
    """Counts and statistics that all units add up to."""
    total: HMMCounts | None = None
    for group in shares.layout.groups:
        place = _place_of(group, shares.layout, problem)
        own = _counts_of_group(shares, place, problem)
        total = add_counts(total, _sum_units(own, shares.statistics[place.units], place, problem))
    assert total is not None, "there is a sequence"
    return total


def sweep(
    shares: NumberUnits, counts: HMMCounts, prior: ChainPrior, problem: NumericProblem
) -> InferenceResult:
    """One sweep; shares change in place. Counts are those of all units at the end."""
    running, total = HMMCounts(*map(np.copy, counts)), 0.0
    # Counted again, so that rounding does not build up.
    counted: HMMCounts | None = None
    lost = []
    for group in shares.layout.groups:
        chain, scored, place, own = _leave_out_group(group, shares, running, prior, problem)
        inside, units, tables, starts, bounds, stretches = place[:6]
        posteriors = infer(chain, scored, starts, stretches)
        # Posteriors of a group's units, each from all counts but its own, and their statistics.
        statistics = statistics_of(posteriors, scored.observations, problem, bounds, scored.scores)
        after = counts_by_unit(posteriors, starts, bounds, problem.cells.chain.has_end)
        less = _sum_units(own, shares.statistics[units], place, problem)
        more = _sum_units(after, statistics, place, problem)
        for table, new_counts, lost_counts in zip(running, more, less, strict=True):
            table += new_counts - lost_counts
        counted = add_counts(counted, more)
        shares.posterior[inside], shares.pairs[tables] = posteriors.posterior, posteriors.pairs
        shares.statistics[units] = statistics
        explained = np.isfinite(posteriors.log_z)
        total += posteriors.log_z[explained].sum()
        lost.append(group[0] + np.flatnonzero(~explained))
    return InferenceResult(counted, total, np.concatenate(lost), shares)


def score(
    shares: NumberUnits, counts: HMMCounts, prior: ChainPrior, problem: NumericProblem
) -> float:
    """Sum of log p(unit | all others), all counts frozen (nats)."""
    total = 0.0
    for group in shares.layout.groups:
        chain, scored, place, _ = _leave_out_group(group, shares, counts, prior, problem)
        known = infer if problem.cells.chain.longest else filter_steps
        log_z = known(chain, scored, place.starts, place.stretches).log_z
        total += log_z[np.isfinite(log_z)].sum()
    return total


def has_same_units(shares: NumberUnits, problem: NumericProblem, block_length: int | None) -> bool:
    """Whether these units are those that are left out now."""
    return np.array_equal(unit_layout(problem, block_length).units, shares.layout.units)


class _GroupPlace(NamedTuple):
    """Steps, units and tables of a group, and where sequences and units begin among its steps."""

    steps: slice
    units: slice
    tables: slice
    starts: np.ndarray  # where its sequences begin
    bounds: np.ndarray  # and its units
    stretches: ContextStretches
    unit: np.ndarray  # of each table
    context: np.ndarray


class LeaveOneOutInputs(NamedTuple):
    """Weights and scores of a group's units, each without its own counts, which are beside."""

    chain: ChainTables
    scored: StepScores
    place: _GroupPlace
    unit_counts: HMMCounts


def _place_of(group: Group, layout: NumberUnitLayout, problem: NumericProblem) -> _GroupPlace:
    first, last, first_unit, last_unit = group
    starts = problem.corpus.starts[first : last + 1]
    bounds = layout.units[first_unit : last_unit + 1]
    begin, end = int(starts[0]), int(starts[-1])
    units = tables = slice(first_unit, last_unit)
    stretches = ContextStretches(bounds - begin, np.arange(last_unit - first_unit))
    if problem.contexts is not None:
        tables = slice(*np.searchsorted(layout.unit, [first_unit, last_unit]).tolist())
        inside, table, _ = stretches_within(layout.stretches, begin, end)
        stretches = ContextStretches(inside, table)
    unit, context = layout.unit[tables] - first_unit, layout.context[tables]
    within = starts - begin, bounds - begin, stretches, unit, context
    return _GroupPlace(slice(begin, end), units, tables, *within)


def _counts_of_group(shares: NumberUnits, place: _GroupPlace, problem: NumericProblem) -> HMMCounts:
    """Start and transition counts of a group's units."""
    found = StepPosteriors(shares.posterior[place.steps], shares.pairs[place.tables], np.empty(0))
    return counts_by_unit(found, place.starts, place.bounds, problem.cells.chain.has_end)


def _leave_out_group(
    group: Group, shares: NumberUnits, counts: HMMCounts, prior: ChainPrior, problem: NumericProblem
) -> LeaveOneOutInputs:
    """Weights and scores of a group's units, from all counts but those of each."""
    place = _place_of(group, shares.layout, problem)
    own = _counts_of_group(shares, place, problem)
    chain = leave_one_out_chain(counts, own, prior, problem, place)
    others = counts.emission - shares.statistics[place.units]
    if len(shares.layout.units) == 2 and not problem.is_part:
        # Nothing is left: the prior alone, without rounding.
        others = np.zeros_like(others)
    scores = problem.family.predictive(with_prior_statistics(others, prior))
    scored = problem.step_scores(scores, place.steps.start, place.steps.stop, place.bounds)
    return LeaveOneOutInputs(chain, scored, place, own)
