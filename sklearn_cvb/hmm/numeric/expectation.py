"""Posteriors, pair marginals and statistics of all sequences under given weights and scores."""

import threading
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.emissions.emission import Scores
from sklearn_cvb.hmm.numeric.problem import NumericProblem, keep_to_known
from sklearn_cvb.hmm.parameters import HMMCounts
from sklearn_cvb.kernels.chain.forward_backward import Lattice, Weights
from sklearn_cvb.kernels.chain.log_steps import backward_log_steps, forward_log_steps
from sklearn_cvb.kernels.chain.side_by_side import (
    SIDE_BY_SIDE,
    Messages,
    Tables,
    clear_counts,
    clear_messages,
    expected_counts_dense,
    messages_for,
    tables_for_tokens,
    width_for,
)
from sklearn_cvb.kernels.chain.steps import backward_steps, forward_steps, room_for_steps
from sklearn_cvb.kernels.emission.powers import room_for_bits, to_weights
from sklearn_cvb.learning.threads import even_pieces, on_threads

# Sequences are inferred together up to so many steps: their tables stay in the cache.
_PIECE = 16384
# What is below may have lost digits; what steps of at least this probability add outweighs it.
_SMALLEST_MESSAGE, SMALLEST_STEP = 1e-300, 1e-250
# So many sequences, of so many steps in all, are worth a kernel that takes them side by side.
_FEWEST, _FEWEST_STEPS = 8, 50_000


class Found(NamedTuple):
    """What inference finds.

    Attributes
    ----------
    posterior : ndarray of shape (n_steps, K)
        Zeros in sequences that no path explains.
    pairs : ndarray of shape (n_units or 1, K, K)
        Sums of pair marginals by unit, or of all.
    log_z : ndarray of shape (n_sequences,)
        -inf where no path explains a sequence.
    """

    posterior: np.ndarray
    pairs: np.ndarray
    log_z: np.ndarray


class Chain(NamedTuple):
    """Weights of the chain by unit, n_units or one for all.

    Attributes
    ----------
    start : ndarray of shape (n_units or 1, K)
    transition : ndarray of shape (n_units or 1, K, K)
    end : ndarray of shape (n_units or 1, K) or None
        Of a sequence's end after each state; None where ends are no events.
    """

    start: np.ndarray
    transition: np.ndarray
    end: np.ndarray | None


def chain_of(weights: Weights, n_states: int) -> Chain:
    """One chain for all units."""
    end = None
    if len(weights.start) > n_states:
        end = np.ascontiguousarray(weights.transition[:n_states, n_states])[None]
    transition = np.ascontiguousarray(weights.transition[:n_states, :n_states])
    return Chain(np.ascontiguousarray(weights.start[:n_states])[None], transition[None], end)


def infer(
    chain: Chain,
    scores: Any,
    starts: np.ndarray,
    units: np.ndarray,
    by_unit: bool,
    *,
    exact: bool = False,
) -> Found:
    """Forward-backward over sequences, one at a time.

    Parameters
    ----------
    chain : Chain
    scores : Scored
        What gives the log weights of all steps, anew with every call of ``log_weights()``.
    starts : ndarray of shape (n_sequences + 1,)
    units : ndarray of shape (n_units + 1,)
        Where units begin.
    by_unit : bool
        Whether pair marginals are summed by unit.
    exact : bool, default=False
        Whether a state may leave float64 twice, before it is all for a while and after: a sweep
        need not look for that.

    Returns
    -------
    Found
    """
    weights, largest = weights_of(chain, scores, starts, units)
    n_states = weights.shape[1]
    found = Found(
        np.empty_like(weights),
        np.zeros((len(units) - 1 if by_unit else 1, n_states, n_states)),
        np.empty(len(starts) - 1),
    )
    if exact and chain.transition.min() <= SMALLEST_STEP:
        message, room = np.empty_like(weights), room_for_steps(n_states)
        part = np.empty(len(weights)), message, found.log_z
        forward_steps(chain.start, chain.transition, weights, starts, units, room, part)
        fading = is_small(message, starts)
        pass_over(chain, weights, starts, units, found)
        found.log_z[fading] = np.nan
    else:
        pass_over(chain, weights, starts, units, found)
    lost = np.isnan(found.log_z)
    if lost.any():
        found.pairs[:] = 0.0
        for first, last in runs_of(~lost):
            pass_over(chain, weights, starts, units, found, first, last)
    found.pairs[:] *= chain.transition
    found.log_z[:] += np.add.reduceat(largest, starts[:-1])
    if lost.any():
        _add_lost(chain, scores, starts, units, found, np.flatnonzero(lost))
    return found


def weights_of(
    chain: Chain, scores: Any, starts: np.ndarray, units: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Weights of all steps, with ends, the largest of each 1; and logs of what they were."""
    weights = scores.log_weights()
    return weights, _to_weights(chain, weights, starts, units)


def _to_weights(
    chain: Chain, logs: np.ndarray, starts: np.ndarray, units: np.ndarray
) -> np.ndarray:
    """Log weights to weights as `weights_of` gives them, in place; returns logs of the largest."""
    if chain.end is not None:
        _add_ends(chain.end, logs, starts, units)
    largest = np.empty(len(logs))
    to_weights(logs, largest, room_for_bits())
    return largest


def runs_of(mask: np.ndarray) -> list[tuple[int, int]]:
    """``(begin, end)`` of the stretches where a mask is True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]))).tolist()
    return list(zip(edges[::2], edges[1::2], strict=True))


def pass_over(
    chain: Chain,
    weights: np.ndarray,
    starts: np.ndarray,
    units: np.ndarray,
    found: Found,
    first: int = 0,
    last: int | None = None,
) -> None:
    """Forward and backward over the sequences from `first` to `last`, into `found`."""
    last = len(starts) - 1 if last is None else last
    begin, end = starts[first], starts[last]
    bounds = np.searchsorted(units, [begin, end])
    own = slice(*bounds) if len(chain.start) > 1 else slice(None)
    counted = slice(*bounds) if len(found.pairs) > 1 else slice(None)
    inside, cuts = starts[first : last + 1] - begin, units[bounds[0] : bounds[1] + 1] - begin
    posterior, log_z = found.posterior[begin:end], found.log_z[first:last]
    scale, transition = np.empty(end - begin), chain.transition[own]
    room, part = room_for_steps(weights.shape[1]), (scale, posterior, log_z)
    forward_steps(chain.start[own], transition, weights[begin:end], inside, cuts, room, part)
    backward = np.ascontiguousarray(np.swapaxes(transition, 1, 2))
    part = posterior, found.pairs[counted], log_z
    backward_steps(backward, weights[begin:end], inside, cuts, scale, room, part)


def is_small(message: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Whether a state fades out of float64 in each sequence."""
    return np.minimum.reduceat(message.min(axis=1), starts[:-1]) < _SMALLEST_MESSAGE


def logs_with_ends(chain: Chain, scores: Any, starts: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Log weights of all steps, ends among them."""
    logs = scores.log_weights()
    if chain.end is not None:
        _add_ends(chain.end, logs, starts, units)
    return logs


class LogChain(NamedTuple):
    """A chain for one sequence: logs of its tables, and which of them leads to each step.

    `unit` says where pairs that end in each step are counted.
    """

    start: np.ndarray
    transition: np.ndarray
    table: np.ndarray
    unit: np.ndarray


def alone_in(chain: Chain, units: np.ndarray, steps: slice) -> LogChain:
    """The chain's tables for the steps of one sequence, ends left out."""
    first, last = np.searchsorted(units, [steps.start, steps.stop])
    unit = np.repeat(np.arange(last - first), np.diff(units[first : last + 1]))
    own, table = slice(first, last), unit
    if len(chain.start) == 1:
        own, table = slice(0, 1), np.zeros_like(unit)
    with np.errstate(divide="ignore"):
        return LogChain(np.log(chain.start[own][0]), np.log(chain.transition[own]), table, unit)


def forward_logs(chain: LogChain, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Log forward messages of one sequence, log weights without what is common, and log Z."""
    forward, rest = np.empty_like(logs), np.empty_like(logs)
    log_z = forward_log_steps(chain.start, chain.transition, chain.table, logs, forward, rest)
    return forward, rest, log_z


class Scored(NamedTuple):
    """Observations, the scores that give their log weights, and states that are known."""

    scores: Scores
    observations: Any
    shape: tuple[int, int]
    units: np.ndarray
    known: np.ndarray | None = None

    def log_weights(self) -> np.ndarray:
        """Log densities of all steps (n_steps, K), made anew."""
        return self.fill(np.empty(self.shape))

    def fill(self, logs: np.ndarray) -> np.ndarray:
        """The same, in a table that is there."""
        self.scores.fill(self.observations, self.units, logs)
        keep_to_known(logs, self.known)
        return logs


class Bench(NamedTuple):
    """Tables for sequences side by side, which one thread uses for piece after piece."""

    tables: Tables
    messages: Messages
    rows: Lattice


def bench_for(chain: Chain, starts: np.ndarray, pieces: list[tuple[int, int]]) -> Bench:
    """A bench with place for each of some ranges of sequences."""
    n_states = chain.start.shape[1]
    n_steps = max(int(starts[last] - starts[first]) for first, last in pieces)
    side = min(SIDE_BY_SIDE, max(last - first for first, last in pieces))
    tables = tables_for_tokens(n_steps, n_states)
    tables.start[:n_states] = chain.start[0]
    tables.transition[:n_states, :n_states] = chain.transition[0]
    tables.backward[:n_states, :n_states] = chain.transition[0].T
    messages = messages_for(side, int(np.diff(starts).max()), n_states)
    return Bench(tables, messages, _rows(n_steps, n_states))


def infer_together(chain: Chain, scored: Scored, starts: np.ndarray, bench: Bench) -> Found | None:
    """Forward-backward over sequences side by side, several times as fast; None if any is lost.

    `log_z` holds their sum alone; the posteriors last until the bench is used again.
    """
    n_steps, n_states = scored.shape
    own = bench.tables
    tables = own._replace(emission=own.emission[:n_steps], received=own.received[:n_steps])
    clear_counts(tables)
    fits = width_for(n_states) == n_states
    weights = scored.fill(tables.emission if fits else np.empty(scored.shape))
    largest = _to_weights(chain, weights, starts, starts)
    if not fits:
        tables.emission[:, :n_states] = weights
    order = np.argsort(starts[:-1] - starts[1:], kind="stable")
    side, lost = min(SIDE_BY_SIDE, len(order)), np.zeros(len(order), bool)
    total = expected_counts_dense(
        bench.rows, starts, order, side, n_states, tables, bench.messages, lost
    )
    if lost.any():
        clear_messages(bench.messages)
        return None
    pairs = tables.outer[:n_states, :n_states] * chain.transition[0]
    posterior = np.ascontiguousarray(tables.received[:, :n_states])
    return Found(posterior, pairs[None], np.array([total + largest.sum()]))


def _rows(n_steps: int, n_states: int) -> Lattice:
    """Each step has a row of the tables; nothing else of the lattice is read."""
    first = np.arange(n_steps, dtype=np.uint32) * np.uint32(n_states)
    nothing = np.empty(0, np.int32)
    return Lattice(first, nothing, nothing.view(np.uint32), nothing)


def _add_ends(
    end: np.ndarray, log_weights: np.ndarray, starts: np.ndarray, units: np.ndarray
) -> None:
    """Add the log weight of its end to the last step of each sequence."""
    last = starts[1:] - 1
    own = np.searchsorted(units, last, side="right") - 1 if len(end) > 1 else 0
    with np.errstate(divide="ignore"):
        log_weights[last] += np.log(end[own])


def _add_lost(
    chain: Chain,
    scored: Any,
    starts: np.ndarray,
    units: np.ndarray,
    found: Found,
    lost: np.ndarray,
) -> None:
    """Add the sequences that leave the range of float64, in log space."""
    logs = logs_with_ends(chain, scored, starts, units)
    for i in lost:
        steps = slice(starts[i], starts[i + 1])
        alone = alone_in(chain, units, steps)
        forward, rest, found.log_z[i] = forward_logs(alone, logs[steps])
        if np.isneginf(found.log_z[i]):
            found.posterior[steps] = 0.0
            continue
        pairs, unit = found.pairs, np.zeros_like(alone.unit)
        if len(pairs) > 1:
            pairs, unit = pairs[np.searchsorted(units, steps.start) :], alone.unit
        room, own = np.empty((2, forward.shape[1])), (found.posterior[steps], pairs)
        backward_log_steps(alone.transition, alone.table, unit, forward, rest, room, own)


class Expectation(NamedTuple):
    """Expected counts (emission: statistics), sum of log Z, sequences that no path explains."""

    counts: HMMCounts
    total: float
    unexplained: np.ndarray


def expectation(
    weights: Weights, scores: Scores, problem: NumericProblem, n_jobs: int | None
) -> Expectation:
    """E-step over all sequences, on up to `n_jobs` threads.

    Parameters
    ----------
    weights : Weights
        Of the chain.
    scores : Scores
        Log densities of observations.
    problem : NumericProblem
    n_jobs : int or None
    """
    starts, n_states = problem.corpus.starts, problem.cells.n_emitting
    chain = chain_of(weights, n_states)

    is_large = starts[-1] >= _FEWEST_STEPS
    pieces, own = even_pieces(starts, _PIECE), threading.local()

    def part(first: int, last: int) -> Expectation:
        begin, end = starts[first], starts[last]
        observations = problem.observations.part(begin, end)
        inside, whole = starts[first : last + 1] - begin, np.array([0, end - begin])
        known = None if problem.known is None else problem.known[begin:end]
        scored = Scored(scores, observations, (end - begin, n_states), whole, known)
        found = None
        if is_large and last - first >= _FEWEST:
            if not hasattr(own, "bench"):
                own.bench = bench_for(chain, starts, pieces)
            found = infer_together(chain, scored, inside, own.bench)
        if found is None:
            # Every sequence begins a unit for the kernel; its sums are of all.
            found = infer(chain, scored, inside, inside, by_unit=False)
        explained = np.isfinite(found.log_z)
        lost = first + np.flatnonzero(~explained)
        counts = counts_of(found, observations, problem, inside, scores)
        return Expectation(counts, float(found.log_z[explained].sum()), lost)

    shares = on_threads(part, pieces, n_jobs)
    counts, *others = [share.counts for share in shares]
    for other in others:
        for table, more in zip(counts, other, strict=True):
            table += more
    unexplained = np.concatenate([share.unexplained for share in shares])
    return Expectation(counts, sum(share.total for share in shares), unexplained)


def counts_of(
    found: Found,
    observations: object,
    problem: NumericProblem,
    starts: np.ndarray,
    scores: Scores | None = None,
) -> HMMCounts:
    """Counts and statistics of sequences, ends among the transitions; under `scores`."""
    posterior, n = found.posterior, problem.cells.n_emitting
    transition = np.zeros((problem.cells.n_states, problem.cells.n_states))
    start = np.zeros(problem.cells.n_states)
    transition[:n, :n] = found.pairs.sum(axis=0)
    start[:n] = posterior[starts[:-1]].sum(axis=0)
    if problem.cells.has_end:
        transition[:n, n] = posterior[starts[1:] - 1].sum(axis=0)
    whole = np.array([0, len(posterior)])
    statistics = problem.family.statistics(observations, posterior, whole, scores)[0]
    return HMMCounts(start, transition, statistics)
