"""The problem of a chain of numbers, and its E-step: forward-backward, filtering, paths, counts.
Each context of steps has a table of transitions, a stretch is of steps in one context, and scores
give the log densities of steps.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np

from sklearn_cvb.chain.numbers import visits
from sklearn_cvb.chain.numbers.visits import StepPosteriors
from sklearn_cvb.chain.parameters.rows import HMMCounts
from sklearn_cvb.chain.paths.lattice import Cells
from sklearn_cvb.emissions.emission import Family, Scores
from sklearn_cvb.emissions.semi_markov import SemiMarkovScores
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights, Lattice, PassBuffers
from sklearn_cvb.kernels.chain.log_space import (
    add_pairs_log,
    forward_backward_log,
    forward_pass_log,
)
from sklearn_cvb.kernels.chain.step_paths import best_paths_of_steps, draw_paths_of_steps
from sklearn_cvb.kernels.chain.steps import backward_steps, forward_steps, step_buffers
from sklearn_cvb.kernels.special import bit_buffer, to_weights
from sklearn_cvb.learning.model import InferenceResult, StructureSample
from sklearn_cvb.learning.threads import even_pieces, on_threads
from sklearn_cvb.reading.series import FittedColumns

# The problem


class NumericProblem(NamedTuple):
    """Observations, family and layout of a chain: all that does not change while fitting."""

    # Which steps make which sequence; a token is 0, or -1 where a step is missing. Where no state
    # depends on another each step is a sequence of its own.
    corpus: Any  # a `Corpus`, or the sequences of a store
    original: Any  # as it was read
    observations: Any  # what the family reads
    family: Family
    cells: Cells  # the layout of start and transitions; there are no cells of emissions
    columns: FittedColumns
    rows_are_sequences: bool  # whether X was a 2-D array of single numbers
    start: Any  # posteriors (n_steps, K) of a fitted model given as a start, or None
    settings: bytes  # the emission as it was set, pickled
    known: np.ndarray | None = None  # states of all steps, -1 where not known; None for none
    contexts: np.ndarray | None = None  # of all steps; None where one table leads to all of them
    inputs: np.ndarray | None = None  # of each context, where transitions depend on inputs
    any_ambiguous: bool = True  # steps may take any state: all but those whose states are known
    is_part: bool = False  # whether other sequences are elsewhere
    longest: int = 0  # steps of the longest sequence in batches before

    def pieces(self) -> list[tuple[int, int]]:
        """Ranges of sequences that are inferred together."""
        # Each piece would have a table for each step.
        if self.family.learns_from_steps or self.inputs is not None:
            return [(0, self.corpus.n_sequences)]
        return even_pieces(self.corpus.starts, _PIECE)

    def allocate(self, shape: tuple[int, ...]) -> Any:
        """A table for shares of units between sweeps."""
        return np.empty(shape)

    @property
    def identity(self) -> tuple[Any, ...]:
        """Observations, emission and allowed states, which a fit that goes on must share."""
        chain = self.cells.chain
        return (
            *(self.corpus.starts, self.observations, self.known, self.settings),
            *(self.cells.n_states, chain.n_tables, chain.topology, self.contexts, self.inputs),
            *([] if self.corpus.times is None else [self.corpus.times]),
        )

    def sizes_without(self, unexplained: np.ndarray) -> tuple[int, int]:
        """Numbers of steps and sequences without those that are unexplained."""
        lengths = np.delete(np.diff(self.original.starts), self.original_sequences(unexplained))
        return int(lengths.sum()), len(lengths)

    def original_sequences(self, by_sequence: np.ndarray) -> np.ndarray:
        """Indices of given sequences from those of `corpus`."""
        if self.corpus.n_sequences == self.original.n_sequences:
            return by_sequence
        begins = self.corpus.starts[by_sequence]
        return np.unique(np.searchsorted(self.original.starts, begins, side="right") - 1)

    def step_scores(self, scores: Scores, begin: int, end: int, units: np.ndarray) -> "StepScores":
        """Some steps under scores, whose units begin at `units` among them."""
        known = None if self.known is None else self.known[begin:end]
        shape = end - begin, self.cells.n_emitting
        return StepScores(scores, self.observations.part(begin, end), shape, units, known)

    def stretches(self, begin: int, end: int, starts: np.ndarray) -> "ContextStretches":
        """The tables that lead to some steps, whose sequences begin at `starts` among them."""
        own = None if self.contexts is None else self.contexts[begin:end]
        return context_stretches(own, starts)


def most_likely(problem: Any, statistics: np.ndarray, before: Any = None) -> Any:
    """The parameters of emissions that statistics of all steps make most likely."""
    if problem.family.learns_from_steps:
        return problem.family.fit_steps(problem.observations, statistics, before)
    return problem.family.most_likely(statistics, before)


def lattice_of_steps(n_steps: int, n_states: int) -> Lattice:
    """A lattice of all states at every step, whose cells are a table of weights, a row a step."""
    cell = np.arange(n_steps * n_states, dtype=np.int32)
    state = np.empty((n_steps, n_states), np.uint32)
    state[:] = cell[:n_states]
    first = cell[::n_states].astype(np.uint32)
    return Lattice(first, np.full(n_steps, n_states, np.int32), state.ravel(), cell)


# Posteriors, pair marginals and statistics of all sequences under given weights and scores

# Sequences are inferred together up to this many steps: their tables stay in the cache.
_PIECE = 16384
# Counts of this many pieces are there at a time before they are added.
_ADDED = 256
# What is below may have lost digits; what steps of at least this probability add outweighs it.
_SMALLEST_MESSAGE, SMALLEST_STEP = 1e-300, 1e-250


class ChainTables(NamedTuple):
    """Weights of a chain in each context: tables on the first axis, as in `ContextStretches`."""

    start: np.ndarray
    transition: np.ndarray
    end: np.ndarray | None  # of a sequence's end after each state; None where ends are no events


def tables_of_weights(weights: ChainWeights, n_states: int) -> ChainTables:
    """The tables of a chain: one, or one for each context."""
    if len(weights.transition) > len(weights.start):
        transition = weights.transition.reshape(-1, n_states, n_states)
        return ChainTables(np.tile(weights.start, (len(transition), 1)), transition, None)
    end = None
    if len(weights.start) > n_states:
        end = np.ascontiguousarray(weights.transition[:n_states, n_states])[None]
    transition = np.ascontiguousarray(weights.transition[:n_states, :n_states])
    return ChainTables(np.ascontiguousarray(weights.start[:n_states])[None], transition[None], end)


class ContextStretches(NamedTuple):
    """Stretches of steps in one context, and the table of the chain that leads to each."""

    begins: np.ndarray  # (n_stretches + 1,) as every sequence begins one; and the number of steps
    table: np.ndarray  # (n_stretches,)


def plain_stretches(starts: np.ndarray) -> ContextStretches:
    """A stretch for each sequence, all of one table."""
    return ContextStretches(starts, np.zeros(len(starts) - 1, np.int64))


def context_stretches(contexts: np.ndarray | None, starts: np.ndarray) -> ContextStretches:
    """Stretches of contexts; of a single table where steps have none."""
    return plain_stretches(starts) if contexts is None else stretches_by_table(contexts, starts)


def stretches_by_table(table: np.ndarray, starts: np.ndarray) -> ContextStretches:
    """Stretches of steps, given the table that leads to each."""
    begins = np.append(True, table[1:] != table[:-1])
    begins[starts[:-1]] = True
    return ContextStretches(np.append(np.flatnonzero(begins), len(table)), table[begins])


class NumberWeights(NamedTuple):
    """Weights of the chain, and scores of the emissions, with their point in EM."""

    chain: ChainWeights
    scores: Scores | None = None  # None where the counts were expected under none
    point: Any = None  # EM: parameters of the emissions
    transitions: Any = None  # EM: classifiers of next states, where inputs tell them


class StepScores(NamedTuple):
    """Observations with the scores that give their log weights, and known states."""

    scores: Scores
    observations: Any
    shape: tuple[int, ...]  # steps and states
    units: np.ndarray
    known: np.ndarray | None = None

    def fill(self, logs: np.ndarray) -> None:
        """Fill a table with log weights of all steps; where a state is known, others get none."""
        self.scores.fill(self.observations, self.units, logs)
        if self.known is not None:
            where_known = np.flatnonzero(self.known >= 0)
            logs_of_known = logs[where_known, self.known[where_known]]
            logs[where_known] = -np.inf
            logs[where_known, self.known[where_known]] = logs_of_known


class TabulatedScores(NamedTuple):
    """Scores that are a table of log weights (n_steps, K)."""

    logs: np.ndarray

    def fill(self, observations: Any, units: np.ndarray, out: np.ndarray) -> None:
        """Copy the table."""
        out[:] = self.logs


def scores_from_logs(logs: np.ndarray) -> StepScores:
    """Log weights (n_steps, K) as scores of steps."""
    return StepScores(TabulatedScores(logs), None, logs.shape, np.empty(0))


def infer(
    chain: ChainTables,
    scores: StepScores,
    starts: np.ndarray,
    stretches: ContextStretches,
    times: np.ndarray | None = None,
    *,
    exact: bool = False,
) -> StepPosteriors:
    """Forward-backward over sequences, one at a time, each of which counts so many `times`.

    With `exact` a state may leave float64 twice, before it is all for a while and after: a sweep
    need not look for that.
    """
    if isinstance(scores.scores, SemiMarkovScores):
        tables, logs = visit_inputs(chain, scores)
        expected = visits.infer(tables, logs, starts, each_table(stretches), times)
        return StepPosteriors(*expected._replace(pairs=off_diagonal(expected.pairs)))
    weights, n_states = np.empty(scores.shape), scores.shape[1]
    times = np.ones(len(starts) - 1) if times is None else times
    largest = fill_weights(chain, scores, starts, stretches, weights)
    pairs, log_z = np.zeros(chain.transition.shape), np.empty(len(starts) - 1)
    found = StepPosteriors(np.empty_like(weights), pairs, log_z)
    fading: Any = slice(0)
    if exact and chain.transition.min() <= SMALLEST_STEP:
        message, room = np.empty_like(weights), step_buffers(n_states)
        part = np.empty(len(weights)), message, found.log_z
        forward_steps(*chain[:2], weights, starts, *stretches, room, part)
        fading = has_small_messages(message, starts)
    forward_backward(chain, weights, (starts, times), stretches, found)
    found.log_z[fading] = np.nan
    lost = np.isnan(found.log_z)
    if lost.any():
        found.pairs[:] = 0.0
        for first, last in runs_of(~lost):
            forward_backward(chain, weights, (starts, times), stretches, found, first, last)
    found.pairs[:] *= chain.transition
    found.log_z[:] += np.add.reduceat(largest, starts[:-1])
    if lost.any():
        members = np.flatnonzero(lost), times
        _infer_lost_in_logs(chain, scores, starts, stretches, found, members)
    return found


def each_table(stretches: ContextStretches) -> np.ndarray:
    """The table that leads to each step."""
    return np.repeat(stretches.table, np.diff(stretches.begins))


def off_diagonal(pairs: np.ndarray) -> np.ndarray:
    """Tables (n_tables, K, K) of pairs, but for those of one state."""
    return np.where(np.eye(pairs.shape[-1], dtype=bool), 0.0, pairs)


def visit_inputs(chain: ChainTables, scored: StepScores) -> tuple[visits.VisitTables, np.ndarray]:
    """The tables of a hidden semi-Markov chain, and log weights of all steps."""
    logs, scores = np.empty(scored.shape), cast(SemiMarkovScores, scored.scores)
    scored.fill(logs)
    durations = scores.log_durations(len(chain.start))
    return visits.VisitTables(chain.start, chain.transition, durations), logs


def fill_weights(
    chain: ChainTables,
    scores: StepScores,
    starts: np.ndarray,
    stretches: ContextStretches,
    table: np.ndarray,
) -> np.ndarray:
    """Weights of all steps, with ends, the largest of each 1, into a table; logs of what it was."""
    scores.fill(table)
    _add_ends(chain, table, starts, stretches)
    largest = np.empty(len(table))
    to_weights(table, largest, bit_buffer())
    return largest


def runs_of(mask: np.ndarray) -> list[tuple[int, int]]:
    """``(begin, end)`` of the stretches where a mask is True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]))).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def stretches_within(
    stretches: ContextStretches, begin: int, end: int
) -> tuple[np.ndarray, np.ndarray, slice]:
    """The stretches of whole sequences, from their first step and first table on; their tables."""
    first, last = np.searchsorted(stretches.begins, [begin, end])
    table = stretches.table[first:last]
    low = int(table.min())
    return stretches.begins[first : last + 1] - begin, table - low, slice(low, table.max() + 1)


def forward_backward(
    chain: ChainTables,
    weights: np.ndarray,
    sequences: tuple[np.ndarray, np.ndarray],
    stretches: ContextStretches,
    posteriors: StepPosteriors,
    first: int = 0,
    last: int | None = None,
) -> None:
    """Forward and backward over the sequences from `first` to `last`, into `posteriors`.

    `sequences` are where they begin, and how often each counts.
    """
    starts, times = sequences
    last = len(starts) - 1 if last is None else last
    begin, end = starts[first], starts[last]
    some, own = stretches, slice(None)
    if end - begin < len(weights):
        *some, own = stretches_within(stretches, begin, end)
    inside = weights[begin:end], starts[first : last + 1] - begin, *some
    posterior, log_z = posteriors.posterior[begin:end], posteriors.log_z[first:last]
    scale, transition = np.empty(end - begin), chain.transition[own]
    room = step_buffers(weights.shape[1])
    forward_steps(chain.start[own], transition, *inside, room, (scale, posterior, log_z))
    backward = np.ascontiguousarray(np.swapaxes(transition, 1, 2))
    before, found = (scale, times[first:last]), (posterior, posteriors.pairs[own], log_z)
    backward_steps(backward, *inside, before, room, found)


def has_small_messages(message: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Whether a state leaves the range of float64 in each sequence."""
    return np.minimum.reduceat(message.min(axis=1), starts[:-1]) < _SMALLEST_MESSAGE


def logs_with_ends(
    chain: ChainTables, scores: StepScores, starts: np.ndarray, stretches: ContextStretches
) -> np.ndarray:
    """Log weights of all steps, ends among them."""
    logs = np.empty(scores.shape)
    scores.fill(logs)
    _add_ends(chain, logs, starts, stretches)
    return logs


class LogChain(NamedTuple):
    """A chain for one sequence: logs of its tables, and which of them leads to each step."""

    start: np.ndarray
    transition: np.ndarray
    table: np.ndarray
    own: slice  # which tables of the chain these are


def log_chain_of(chain: ChainTables, stretches: ContextStretches, steps: slice) -> LogChain:
    """The chain's tables for the steps of one sequence, ends left out."""
    begins, table, own = stretches_within(stretches, steps.start, steps.stop)
    with np.errstate(divide="ignore"):
        start, transition = np.log(chain.start[own][table[0]]), np.log(chain.transition[own])
    return LogChain(start, transition, each_table(ContextStretches(begins, table)), own)


def _add_ends(
    chain: ChainTables, log_weights: np.ndarray, starts: np.ndarray, stretches: ContextStretches
) -> None:
    """Add the log weight of its end to the last step of each sequence, where ends are events."""
    if chain.end is not None:
        with np.errstate(divide="ignore"):
            add_log_ends(np.log(chain.end), log_weights, starts, stretches)


def add_log_ends(
    log_end: np.ndarray, log_weights: np.ndarray, starts: np.ndarray, stretches: ContextStretches
) -> None:
    """The same, given the logs of ends in each context."""
    own = stretches.table[np.searchsorted(stretches.begins, starts[1:]) - 1]
    log_weights[starts[1:] - 1] += log_end[own]


def _infer_lost_in_logs(
    chain: ChainTables,
    scored: StepScores,
    starts: np.ndarray,
    stretches: ContextStretches,
    posteriors: StepPosteriors,
    members: tuple[np.ndarray, np.ndarray],
) -> None:
    """Add the sequences that leave the range of float64, in log space; and how often all count."""
    logs, (lost, times) = logs_with_ends(chain, scored, starts, stretches), members
    for i in lost:
        steps = slice(starts[i], starts[i + 1])
        alone = log_chain_of(chain, stretches, steps)
        own, lattice = posteriors.posterior[steps], lattice_of_steps(*logs[steps].shape)
        work = PassBuffers(
            logs[steps].flatten(), np.empty(own.size), own.reshape(-1), np.empty(len(own))
        )
        tables = alone[:3]
        posteriors.log_z[i] = forward_backward_log(*tables, lattice, 0, len(own), own.size, work)
        if np.isneginf(posteriors.log_z[i]):
            own[:] = 0.0
            continue
        own[:] = times[i] * _normalised_rows(own)
        pairs = np.zeros_like(posteriors.pairs[alone.own])
        add_pairs_log(*tables[1:], alone.table, lattice, 0, len(own), work, pairs)
        posteriors.pairs[alone.own] += times[i] * pairs


def _normalised_rows(rows: np.ndarray) -> np.ndarray:
    """Chances without the rounding that large logs leave; rows of zeros stay."""
    totals = rows.sum(axis=1, keepdims=True)
    return rows / np.where(totals > 0, totals, 1.0)


def expectation(
    weights: ChainWeights,
    scores: Scores,
    problem: NumericProblem,
    n_jobs: int | None,
    infer: Callable[..., StepPosteriors] = infer,
) -> InferenceResult:
    """E-step over all sequences by `infer`, on up to `n_jobs` threads."""
    starts, n_states = problem.corpus.starts, problem.cells.n_emitting
    chain, times = tables_of_weights(weights, n_states), problem.corpus.times_of_sequences
    pieces = problem.pieces()

    def part(first: int, last: int) -> InferenceResult:
        begin, end = starts[first], starts[last]
        inside = starts[first : last + 1] - begin
        scored = problem.step_scores(scores, begin, end, np.array([0, end - begin]))
        own = times[first:last]
        posteriors = infer(chain, scored, inside, problem.stretches(begin, end, inside), own)
        explained = np.isfinite(posteriors.log_z)
        lost = first + np.flatnonzero(~explained)
        counts = expected_counts(posteriors, scored.observations, problem, inside, scores)
        total = float((own * posteriors.log_z)[explained].sum())
        return InferenceResult(counts, total, lost)

    counts, total, lost = None, 0.0, []
    for i in range(0, len(pieces), _ADDED):
        for share in on_threads(part, pieces[i : i + _ADDED], n_jobs):
            counts = add_counts(counts, share.counts)
            total += share.log_normaliser
            lost.append(share.unexplained)
    return InferenceResult(counts, total, np.concatenate(lost))


def add_counts(counts: HMMCounts | None, more: HMMCounts) -> HMMCounts:
    """Counts (None: of nothing) with those of one more piece in them."""
    if counts is None:
        return more
    for table, others in zip(counts, more, strict=True):
        table += others
    return counts


def expected_counts(
    posteriors: StepPosteriors,
    observations: object,
    problem: NumericProblem,
    starts: np.ndarray,
    scores: Scores | None = None,
) -> HMMCounts:
    """Counts and statistics of sequences, ends among the transitions; under `scores`."""
    posterior, cells = posteriors.posterior, problem.cells
    n = cells.n_emitting
    transition = np.zeros((cells.chain.n_tables * cells.n_states, cells.n_states))
    start = np.zeros(cells.n_states)
    transition[: cells.chain.n_tables * n, :n] = posteriors.pairs.reshape(-1, n)
    start[:n] = posterior[starts[:-1]].sum(axis=0)
    if problem.cells.chain.has_end:
        transition[:n, n] = posterior[starts[1:] - 1].sum(axis=0)
    whole = np.array([0, len(posterior)])
    statistics = statistics_of(posteriors, observations, problem, whole, scores)[0]
    return HMMCounts(start, transition, statistics)


def statistics_of(
    posteriors: StepPosteriors,
    observations: Any,
    problem: NumericProblem,
    units: np.ndarray,
    scores: Any = None,
) -> np.ndarray:
    """Statistics (n_units, S, K) of steps, and of visits where their durations have laws."""
    of_visits = () if posteriors.visits is None else (posteriors.visits,)
    return problem.family.statistics(observations, posteriors.posterior, units, scores, *of_visits)


def independent_posteriors(
    posterior: np.ndarray,
    starts: np.ndarray,
    stretches: ContextStretches,
    n_tables: int,
    cells: Cells,
    times: np.ndarray | None = None,
) -> StepPosteriors:
    """Posteriors of independent steps, with the products of neighbours as pairs.

    Each step counts so many `times`, once where nothing is said.
    """
    counted = posterior if times is None else posterior * times[:, None]
    n, inside = cells.n_emitting, np.ones(len(posterior), bool)
    inside[starts[:-1]] = False
    table = np.repeat(stretches.table, np.diff(stretches.begins))[inside]
    right = np.flatnonzero(inside)[np.argsort(table, kind="stable")]
    cuts = np.append(0, np.cumsum(np.bincount(table, minlength=n_tables)))
    pairs = np.empty((n_tables, n, n))
    for k, own in enumerate(right[begin:end] for begin, end in pairwise(cuts)):
        pairs[k] = posterior[own - 1].T @ counted[own]
    topology, lasting = cells.chain.topology, None
    if cells.chain.longest:
        held = np.zeros((n_tables, n))
        np.add.at(held, each_table(stretches), counted)
        stays = np.diagonal(pairs, axis1=1, axis2=2)
        lasting = visits.expected_visits(held, stays, cells.chain.longest)
        pairs = off_diagonal(pairs)
    if topology is not None:
        pairs = np.where(topology.transition[:n, :n], pairs, 0.0)
    return StepPosteriors(counted, pairs, np.zeros(len(starts) - 1), lasting)


# Filtering, paths and their counts


class FilteredSteps(NamedTuple):
    """Filtering distributions of steps, and log normalisers of sequences."""

    message: np.ndarray  # p(z_t | x_1..t)
    log_z: np.ndarray  # of each sequence
    logs: dict[int, np.ndarray]  # by sequence: log messages of those that leave float64


def filter_steps(
    chain: ChainTables,
    scores: StepScores,
    starts: np.ndarray,
    stretches: ContextStretches | None = None,
    *,
    every_step: bool = False,
) -> FilteredSteps:
    """Forward messages p(z_t | x_1..t) of all steps, and log Z of the sequences.

    Without `stretches` the chain has one table. A state that underflows and comes back is seen if
    it matters for log Z, and with `every_step` for any message.
    """
    stretches = plain_stretches(starts) if stretches is None else stretches
    weights, message = np.empty(scores.shape), np.empty(scores.shape)
    log_z = np.empty(len(starts) - 1)
    largest = fill_weights(chain, scores, starts, stretches, weights)
    room, part = step_buffers(weights.shape[1]), (np.empty(len(weights)), message, log_z)
    forward_steps(*chain[:2], weights, starts, *stretches, room, part)
    if chain.transition.min() <= SMALLEST_STEP:
        # Else steps from other states bring back more than what is lost.
        log_z[_underflown(chain, weights, starts, stretches, message, every_step)] = np.nan
    lost = np.flatnonzero(np.isnan(log_z))
    log_z += np.add.reduceat(largest, starts[:-1])
    logs = logs_with_ends(chain, scores, starts, stretches) if len(lost) else np.empty(0)
    by_sequence = {}
    for i in lost.tolist():
        steps = slice(starts[i], starts[i + 1])
        own, tables = logs[steps], log_chain_of(chain, stretches, steps)[:3]
        # Log forward messages, -inf from where no path is left.
        by_sequence[i] = forward = np.full(own.shape, -np.inf)
        work = PassBuffers(own.flatten(), forward.reshape(-1), np.empty(0), np.empty(len(own)))
        log_z[i] = forward_pass_log(*tables, lattice_of_steps(*own.shape), 0, len(own), work)
        message[steps] = _normalised_rows(np.exp(forward))
    return FilteredSteps(message, log_z, by_sequence)


def _underflown(
    chain: ChainTables,
    weights: np.ndarray,
    starts: np.ndarray,
    stretches: ContextStretches,
    message: np.ndarray,
    every_step: bool,
) -> np.ndarray:
    """Whether a state of each sequence underflows that later steps may need."""
    small = has_small_messages(message, starts)
    if every_step or not small.any():
        return small
    # Messages that go back from the end tell what matters.
    pairs = np.zeros(chain.transition.shape)
    posteriors = StepPosteriors(np.empty_like(weights), pairs, np.zeros(len(small)))
    for first, last in runs_of(small):
        once = starts, np.ones(len(small))
        forward_backward(chain, weights, once, stretches, posteriors, first, last)
    return np.isnan(posteriors.log_z)


def log_tables(chain: ChainTables) -> ChainTables:
    """Logs of start rows and transitions; ends are among the weights of steps."""
    with np.errstate(divide="ignore"):
        return ChainTables(np.log(chain.start), np.log(chain.transition), None)


def best_path(
    log_chain: ChainTables, logs: np.ndarray, starts: np.ndarray, stretches: ContextStretches
) -> tuple[np.ndarray, np.ndarray]:
    """States of the most probable paths, given logs with ends, and their log weights (or -inf)."""
    n_states, longest = logs.shape[1], int(np.diff(starts).max(initial=0))
    room = np.empty((2, n_states)), np.empty((longest, n_states), np.int32)
    path, log_p = np.empty(len(logs), np.int32), np.empty(len(starts) - 1)
    best_paths_of_steps(*log_chain[:2], logs, starts, *stretches, room, (path, log_p))
    return path, log_p


def draw_path(
    chain: ChainTables,
    scored: StepScores,
    starts: np.ndarray,
    stretches: ContextStretches,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """A path of every sequence, by forward filtering and backward sampling; log normalisers."""
    message, log_z, lost = filter_steps(chain, scored, starts, stretches)
    with np.errstate(divide="ignore"):
        logs = np.log(message, out=message)
    for i, own in lost.items():
        logs[starts[i] : starts[i + 1]] = own
    path, chance = np.empty(len(logs), np.int32), np.empty(scored.shape[1])
    moves = log_tables(chain).transition
    draw_paths_of_steps(moves, logs, starts, *stretches, rng, chance, path)
    return path, log_z


def draw_states(probabilities: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A state for each row of probabilities, the last axis."""
    levels = np.cumsum(probabilities, axis=-1)
    drawn = rng.random((*levels.shape[:-1], 1)) * levels[..., -1:]
    return np.minimum((levels <= drawn).sum(axis=-1), levels.shape[-1] - 1)


def count_path(
    path: np.ndarray, problem: NumericProblem, observations: Any, lasting: Any = None
) -> HMMCounts:
    """Counts of a path, ends among the transitions, and statistics of observations.

    Where durations have laws, `lasting` (1, K, L) counts those of its visits.
    """
    starts, n = problem.corpus.starts, problem.cells.n_emitting
    size = problem.cells.n_states
    start = np.bincount(path[starts[:-1]], minlength=size).astype(float)
    inside = np.ones(len(path), bool)
    inside[starts[:-1]] = False
    right = np.flatnonzero(inside)
    row = path[right - 1]
    if problem.contexts is not None:
        row = row + size * problem.contexts[right]
    pairs = np.bincount(row * size + path[right], minlength=problem.cells.chain.n_tables * size**2)
    transition = pairs.reshape(-1, size).astype(float)
    if problem.cells.chain.longest:
        np.fill_diagonal(transition, 0.0)
    if problem.cells.chain.has_end:
        transition[:, n] += np.bincount(path[starts[1:] - 1], minlength=size)
    posterior = np.zeros((len(path), n))
    posterior[np.arange(len(path)), path] = 1.0
    whole = np.array([0, len(path)])
    posteriors = StepPosteriors(posterior, pairs, np.empty(0), lasting)
    return HMMCounts(start, transition, statistics_of(posteriors, observations, problem, whole)[0])


def draw_structures(
    problem: NumericProblem, weights: ChainWeights, scores: Any, rng: np.random.Generator
) -> StructureSample:
    """Sampled states of all steps given parameters, and their counts with imputed values."""
    n_steps = len(problem.corpus.tokens)
    scored = problem.step_scores(scores, 0, n_steps, np.array([0, n_steps]))
    starts, lasting = problem.corpus.starts, None
    if problem.cells.chain.longest:
        tables, logs = visit_inputs(tables_of_weights(weights, problem.cells.n_emitting), scored)
        path = visits.draw_path(tables, logs, starts, rng)[0].astype(np.int64)
        lasting = visits.count_visits(path, starts, tables.log_durations[0], rng)[None]
    else:
        chain = tables_of_weights(weights, problem.cells.n_emitting)
        stretches = problem.stretches(0, n_steps, starts)
        path = draw_path(chain, scored, starts, stretches, rng)[0].astype(np.int64)
    completed = problem.family.impute(problem.observations, scores, path, rng)
    return StructureSample(count_path(path, problem, completed, lasting), path)
