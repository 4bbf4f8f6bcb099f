"""Posteriors, pair marginals and statistics of all sequences under given weights and scores."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logsumexp

from sklearn_cvb.emissions.emission import Scores
from sklearn_cvb.fitting import even_pieces, on_threads
from sklearn_cvb.hmm.numeric.problem import NumericProblem
from sklearn_cvb.hmm.parameters import HMMCounts
from sklearn_cvb.kernels.chain.forward_backward import Lattice, Weights
from sklearn_cvb.kernels.chain.side_by_side import (
    SIDE_BY_SIDE,
    expected_counts_dense,
    messages_for,
    tables_for_tokens,
)
from sklearn_cvb.kernels.chain.steps import buffers_for, infer_steps
from sklearn_cvb.kernels.emission.powers import room_for_bits, to_weights

# Sequences are inferred together up to so many steps: their tables stay in the cache.
_PIECE = 8192
# So many sequences are worth a kernel that takes them side by side.
_FEWEST = 8


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
    chain: Chain, scores: "Scored", starts: np.ndarray, units: np.ndarray, by_unit: bool
) -> Found:
    """Forward-backward over sequences, one at a time.

    Parameters
    ----------
    chain : Chain
    scores : Scored
        What gives the log weights of all steps.
    starts : ndarray of shape (n_sequences + 1,)
    units : ndarray of shape (n_units + 1,)
        Where units begin.
    by_unit : bool
        Whether pair marginals are summed by unit.

    Returns
    -------
    Found
    """
    weights = scores.log_weights()
    n_states = weights.shape[1]
    if chain.end is not None:
        _add_ends(chain.end, weights, starts, units)
    largest = np.empty(len(weights))
    to_weights(weights, largest, room_for_bits())
    found = Found(
        np.empty_like(weights),
        np.zeros((len(units) - 1 if by_unit else 1, n_states, n_states)),
        np.empty(len(starts) - 1),
    )
    backward = np.ascontiguousarray(np.swapaxes(chain.transition, 1, 2))
    scale, room = buffers_for(starts, n_states)
    tables = chain.start, chain.transition, backward
    infer_steps(tables, weights, starts, units, scale, room, found)
    found.pairs[:] *= chain.transition
    found.log_z[:] += np.add.reduceat(largest, starts[:-1])
    if np.isnan(found.log_z).any():
        found = _with_lost(chain, scores, starts, units, found)
    return found


class Scored(NamedTuple):
    """Observations and the scores that give their log weights."""

    scores: Scores
    observations: Any
    shape: tuple[int, int]
    units: np.ndarray

    def log_weights(self) -> np.ndarray:
        """Log densities of all steps (n_steps, K), made anew."""
        logs = np.empty(self.shape)
        self.scores.fill(self.observations, self.units, logs)
        return logs


def infer_together(chain: Chain, scored: Scored, starts: np.ndarray) -> Found | None:
    """Forward-backward over sequences side by side, a third faster; None if any is lost.

    `log_z` holds their sum alone.
    """
    n_steps, n_states = scored.shape
    weights, largest = scored.log_weights(), np.empty(n_steps)
    if chain.end is not None:
        _add_ends(chain.end, weights, starts, starts)
    to_weights(weights, largest, room_for_bits())
    tables = tables_for_tokens(n_steps, n_states)
    if tables.emission.shape[1] == n_states:
        tables = tables._replace(emission=weights)
    else:
        tables.emission[:, :n_states] = weights
    tables.start[:n_states] = chain.start[0]
    tables.transition[:n_states, :n_states] = chain.transition[0]
    tables.backward[:n_states, :n_states] = chain.transition[0].T
    lengths = np.diff(starts)
    order = np.argsort(-lengths, kind="stable")
    side = min(SIDE_BY_SIDE, len(order))
    messages = messages_for(side, int(lengths.max()), n_states)
    lost = np.zeros(len(order), bool)
    total = expected_counts_dense(
        _rows(n_steps, n_states), starts, order, side, n_states, tables, messages, lost
    )
    if lost.any():
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


def _with_lost(
    chain: Chain, scored: Scored, starts: np.ndarray, units: np.ndarray, found: Found
) -> Found:
    """The same where some sequences leave the range of float64: each alone, in log space."""
    lost, logs = np.isnan(found.log_z), scored.log_weights()
    if chain.end is not None:
        _add_ends(chain.end, logs, starts, units)
    posterior, log_z = found.posterior, found.log_z
    pairs = np.zeros_like(found.pairs)
    for i in range(len(lost)):
        begin, end = starts[i], starts[i + 1]
        first, last = np.searchsorted(units, [begin, end])
        own = slice(first, last) if len(chain.start) > 1 else slice(0, 1)
        alone = Chain(chain.start[own], chain.transition[own], None)
        inside = units[first : last + 1] - begin
        part = _infer_logs(alone, logs[begin:end], inside, len(pairs) > 1)
        posterior[begin:end], log_z[i] = part.posterior, part.log_z[0]
        if len(pairs) > 1:
            pairs[first:last] = part.pairs
        else:
            pairs += part.pairs
    return Found(posterior, pairs, log_z)


def _infer_logs(chain: Chain, logs: np.ndarray, units: np.ndarray, by_unit: bool) -> Found:
    """One sequence in log space: slow, and without limits."""
    n_steps, n_states = logs.shape
    unit = np.searchsorted(units, np.arange(n_steps), side="right") - 1
    own = unit if len(chain.start) > 1 else np.zeros(n_steps, np.intp)
    pairs = np.zeros((len(units) - 1 if by_unit else 1, n_states, n_states))
    with np.errstate(divide="ignore"):
        steps, start = np.log(chain.transition), np.log(chain.start[0])
    forward, backward = np.empty_like(logs), np.zeros_like(logs)
    forward[0] = start + logs[0]
    for t in range(1, n_steps):
        forward[t] = logsumexp(forward[t - 1][:, None] + steps[own[t]], axis=0) + logs[t]
    log_z = logsumexp(forward[-1])
    if np.isneginf(log_z):
        return Found(np.zeros_like(logs), pairs, np.array([log_z]))
    for t in range(n_steps - 1, 0, -1):
        ahead = logs[t] + backward[t]
        joint = forward[t - 1][:, None] + steps[own[t]] + ahead
        pairs[unit[t] if by_unit else 0] += np.exp(joint - log_z)
        backward[t - 1] = logsumexp(steps[own[t]] + ahead, axis=1)
    return Found(np.exp(forward + backward - log_z), pairs, np.array([log_z]))


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

    def part(first: int, last: int) -> Expectation:
        begin, end = starts[first], starts[last]
        observations = problem.observations.part(begin, end)
        inside, whole = starts[first : last + 1] - begin, np.array([0, end - begin])
        scored = Scored(scores, observations, (end - begin, n_states), whole)
        found = infer_together(chain, scored, inside) if last - first >= _FEWEST else None
        if found is None:
            # Every sequence begins a unit for the kernel; its sums are of all.
            found = infer(chain, scored, inside, inside, by_unit=False)
        explained = np.isfinite(found.log_z)
        lost = first + np.flatnonzero(~explained)
        counts = counts_of(found, observations, problem, inside)
        return Expectation(counts, float(found.log_z[explained].sum()), lost)

    shares = on_threads(part, even_pieces(starts, _PIECE), n_jobs)
    counts, *others = [share.counts for share in shares]
    for other in others:
        for table, more in zip(counts, other, strict=True):
            table += more
    unexplained = np.concatenate([share.unexplained for share in shares])
    return Expectation(counts, sum(share.total for share in shares), unexplained)


def counts_of(
    found: Found, observations: object, problem: NumericProblem, starts: np.ndarray
) -> HMMCounts:
    """Counts and statistics of sequences, ends among the transitions."""
    posterior, n = found.posterior, problem.cells.n_emitting
    transition = np.zeros((problem.cells.n_states, problem.cells.n_states))
    start = np.zeros(problem.cells.n_states)
    transition[:n, :n] = found.pairs.sum(axis=0)
    start[:n] = posterior[starts[:-1]].sum(axis=0)
    if problem.cells.has_end:
        transition[:n, n] = posterior[starts[1:] - 1].sum(axis=0)
    whole = np.array([0, len(posterior)])
    statistics = problem.family.statistics(observations, posterior, whole)[0]
    return HMMCounts(start, transition, statistics)
