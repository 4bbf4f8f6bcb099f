"""Inference of hidden semi-Markov chains, in which a visit to a state lasts for a duration:
forward-backward, best and sampled paths. A visit is entered at its first step, and ended at its
last.

A visit begins where its state is entered, and has a duration of its own; the last one of a sequence
may go on beyond its end. All functions are of arrays: log weights (n_steps, K) of what was
observed, and where sequences begin.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.chain.durations import (
    backward_visits,
    best_visits,
    draw_visits,
    forward_visits,
    visit_buffers,
)
from sklearn_cvb.kernels.special import bit_buffer, to_weights
from sklearn_cvb.kernels.vectors import up_to_vectors


class VisitTables(NamedTuple):
    """A chain of visits, as many tables as there are on the first axis."""

    start: np.ndarray  # (n_tables, K)
    transition: np.ndarray  # (n_tables, K, K)
    log_durations: np.ndarray  # (n_tables, K, L) of durations 1..L

    @property
    def log_lasting(self) -> np.ndarray:
        """Log probabilities that a visit lasts for so long or longer."""
        logs: np.ndarray = np.logaddexp.accumulate(self.log_durations[..., ::-1], axis=-1)
        return logs[..., ::-1]


class StepPosteriors(NamedTuple):
    """Posteriors of steps, pair marginals and log normalisers of sequences."""

    posterior: np.ndarray  # (n_steps, K), zeros in sequences that no path explains
    pairs: np.ndarray  # (n_tables, K, K), sums of pair marginals of steps, or of visits
    log_z: np.ndarray  # of each sequence, -inf where no path explains it
    visits: np.ndarray | None = None  # (n_tables, K, L) by duration, where these have laws


class _Passes(NamedTuple):
    """Both passes in float64; `log_z` is NaN where this loses a sequence."""

    expected: StepPosteriors
    entered: np.ndarray  # (n_steps, K) p(a visit begins at t | x_1..t-1)
    log_steps: np.ndarray  # log p(x_t | x_1..t-1)


def infer(
    tables: VisitTables,
    log_weights: np.ndarray,
    starts: np.ndarray,
    table: np.ndarray,
    times: np.ndarray | None = None,
) -> StepPosteriors:
    """Forward-backward; `table` says which tables hold for visits that begin at each step.

    Each sequence counts so many `times`, once where nothing is said.
    """
    times = np.ones(len(starts) - 1) if times is None else times
    found = _passes(tables, log_weights, starts, table, times).expected
    for i in np.flatnonzero(np.isnan(found.log_z)).tolist():
        steps = slice(starts[i], starts[i + 1])
        alone = _in_logs(tables, log_weights[steps], table[steps])
        found.posterior[steps], found.log_z[i] = times[i] * alone.posterior, alone.log_z[0]
        for total, more in ((found.pairs, alone.pairs), (found.visits, alone.visits)):
            total += times[i] * more
    return found


def _passes(
    tables: VisitTables,
    log_weights: np.ndarray,
    starts: np.ndarray,
    table: np.ndarray,
    times: np.ndarray,
) -> _Passes:
    """Forward and backward over all sequences, scaled."""
    n_steps, n = log_weights.shape
    n_tables, _, longest = tables.log_durations.shape
    weights, largest, scale = log_weights.copy(), np.empty(n_steps), np.empty(n_steps)
    to_weights(weights, largest, bit_buffer())
    width, log_z = up_to_vectors(n), np.empty(len(starts) - 1)
    durations = np.zeros((n_tables, longest, width))
    durations[:, :, :n] = np.exp(np.swapaxes(tables.log_durations, 1, 2))
    room, (entered, ended) = visit_buffers(longest, n), np.empty((2, n_steps, n))
    steps, forward = (durations, weights, starts, table), (entered, ended, scale, log_z)
    forward_visits(*tables[:2], *steps, room, forward)
    backward = np.ascontiguousarray(np.swapaxes(tables.transition, 1, 2))
    lost = None
    # What was added of a sequence before it was lost is added up again without it.
    while lost is None or not np.array_equal(lost, np.isnan(log_z)):
        lost, posterior = np.isnan(log_z), np.zeros((n_steps, width))
        visits, pairs = np.zeros_like(durations), np.zeros_like(backward)
        both = entered, ended, posterior, visits, pairs, log_z
        backward_visits(backward, *steps, (scale, times), room, both)
    log_z += np.add.reduceat(largest, starts[:-1])
    by_state = np.ascontiguousarray(np.swapaxes(visits[:, :, :n], 1, 2))
    posterior = np.ascontiguousarray(posterior[:, :n])
    found = StepPosteriors(posterior, pairs * tables.transition, log_z, by_state)
    with np.errstate(divide="ignore", invalid="ignore"):
        return _Passes(found, entered, np.log(scale) + largest)


class _LogMessages(NamedTuple):
    """Forward messages of one sequence: logs of p(x, a visit begins at t) and of p(x, one ends)."""

    entered: np.ndarray
    ended: np.ndarray
    log_z: float


def _forward_in_logs(tables: VisitTables, logs: np.ndarray, table: np.ndarray) -> _LogMessages:
    """One sequence that leaves float64: every step looks back at all durations."""
    n_steps, longest = len(logs), tables.log_durations.shape[-1]
    entered, ended = np.full((2, *logs.shape), -np.inf)
    with np.errstate(divide="ignore"):
        moves, entered[0] = np.log(tables.transition), np.log(tables.start[table[0]])
    for t in range(n_steps):
        begins = np.arange(max(0, t + 1 - longest), t + 1)
        lasts = tables.log_durations if t + 1 < n_steps else tables.log_lasting
        emitted = np.cumsum(logs[begins][::-1], axis=0)[::-1]
        each = entered[begins] + lasts[table[begins], :, t - begins] + emitted
        ended[t] = np.logaddexp.reduce(each, axis=0)
        if t + 1 < n_steps:
            entered[t + 1] = np.logaddexp.reduce(ended[t][:, None] + moves[table[t + 1]], axis=0)
    return _LogMessages(entered, ended, float(np.logaddexp.reduce(ended[-1])))


def _in_logs(tables: VisitTables, logs: np.ndarray, table: np.ndarray) -> StepPosteriors:
    """What is expected of one sequence, which leaves float64."""
    n_steps, longest = len(logs), tables.log_durations.shape[-1]
    entered, ended, log_z = _forward_in_logs(tables, logs, table)
    posterior, pairs = np.zeros_like(logs), np.zeros_like(tables.transition)
    by_duration = np.zeros_like(tables.log_durations)
    expected = StepPosteriors(posterior, pairs, np.array([log_z]), by_duration)
    if np.isneginf(log_z):
        return expected
    with np.errstate(divide="ignore"):
        moves = np.log(tables.transition)
    ahead = np.zeros_like(logs)
    for t in range(n_steps - 1, -1, -1):
        own, last = table[t], np.minimum(np.arange(t, t + longest), n_steps - 1)
        emitted = np.cumsum(logs[t : last[-1] + 1], axis=0)
        lasts = tables.log_durations[own].T + emitted[last - t] + ahead[last]
        visits = np.exp(entered[t] + lasts - log_z)
        by_duration[own] += visits.T
        covering = np.cumsum(visits[::-1], axis=0)[::-1]
        posterior[t : last[-1] + 1] += covering[: len(emitted)]
        if t > 0:
            into = moves[own] + np.logaddexp.reduce(lasts, axis=0)
            pairs[own] += np.exp(ended[t - 1][:, None] + into - log_z)
            ahead[t - 1] = np.logaddexp.reduce(into, axis=1)
    posterior /= posterior.sum(axis=1, keepdims=True)
    return expected


def _log_tables(tables: VisitTables) -> tuple[np.ndarray, ...]:
    """Logs of a single table's start, transitions, durations and of lasting for so long."""
    with np.errstate(divide="ignore"):
        start, transition = np.log(tables.start[0]), np.log(tables.transition[0])
    each = tables.log_durations[0].T, tables.log_lasting[0].T
    return start, transition, *map(np.ascontiguousarray, each)


def best_path(
    tables: VisitTables, log_weights: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """States of the most probable visits under a single table, and their log probabilities."""
    room, back = np.empty((2, *log_weights.shape)), np.empty((2, *log_weights.shape), np.int64)
    path, log_p = np.empty(len(log_weights), np.int32), np.empty(len(starts) - 1)
    best_visits(_log_tables(tables), log_weights, starts, room, back, path, log_p)
    return path, log_p


def _log_entered(
    tables: VisitTables, log_weights: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """log p(x_1..t-1, a visit to s begins at t), up to what a sequence has in common; log Z."""
    table = np.zeros(len(log_weights), np.int64)
    times = np.ones(len(starts) - 1)
    (_, _, log_z, _), entered, log_steps = _passes(tables, log_weights, starts, table, times)
    lost = np.isnan(log_z)
    log_steps[np.repeat(lost, np.diff(starts))] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        entered = np.log(entered) + (np.cumsum(log_steps) - log_steps)[:, None]
    for i in np.flatnonzero(lost).tolist():
        steps = slice(starts[i], starts[i + 1])
        entered[steps], _, log_z[i] = _forward_in_logs(tables, log_weights[steps], table[steps])
    return entered, log_z


def log_states_given_past(
    tables: VisitTables, log_weights: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """log p(x_1..t-1, z_t), up to what the states of a step have in common; log Z."""
    entered, log_z = _log_entered(tables, log_weights, starts)
    lasting = tables.log_lasting[0].T
    log_states, emitted = entered + lasting[0], np.zeros_like(entered)
    steps = np.arange(len(entered)) - np.repeat(starts[:-1], np.diff(starts))
    # Visits that began this many steps ago.
    for age in range(1, min(len(lasting), int(np.diff(starts).max()))):
        later = np.flatnonzero(steps >= age)
        emitted[later] += log_weights[later - age]
        goes_on = entered[later - age] + emitted[later] + lasting[age]
        log_states[later] = np.logaddexp(log_states[later], goes_on)
    return log_states, log_z


def filter_steps(
    tables: VisitTables, log_weights: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """p(z_t | x_1..t) of all steps; log Z."""
    before, log_z = log_states_given_past(tables, log_weights, starts)
    return normalise_logs(before + log_weights), log_z


def log_states_given_others(
    tables: VisitTables, log_weights: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """log p(x but for x_t, z_t), up to what the states of a step have in common; log Z."""
    entered, log_z = _log_entered(tables, log_weights, starts)
    _, moves, lasts, _ = _log_tables(tables)
    log_states = np.empty_like(entered)
    for begin, end in pairwise(starts.tolist()):
        logs = log_weights[begin:end, :]
        # log p(x_1..t-1, z_t, steps that its visit goes on), (n_steps, L, K).
        before = entered[begin:end, None] + lasts
        for t in range(1, len(logs)):
            goes_on = before[t - 1, 1:] + logs[t - 1]
            before[t, :-1] = np.logaddexp(before[t, :-1], goes_on)
        # log p(x_t+1..T | z_t, steps that its visit goes on), (L, K).
        behind = np.zeros_like(lasts)
        for t in range(len(logs) - 1, -1, -1):
            log_states[begin + t] = np.logaddexp.reduce(before[t] + behind, axis=0)
            here = behind + logs[t]
            into = np.logaddexp.reduce(lasts + here, axis=0)
            behind = np.vstack([np.logaddexp.reduce(moves + into, axis=1), here[:-1]])
    return log_states, log_z


def normalise_logs(logs: np.ndarray) -> np.ndarray:
    """Rows of numbers that sum to 1, given their logs up to a constant; NaN where all are 0."""
    with np.errstate(invalid="ignore"):
        shares = np.exp(logs - logs.max(axis=-1, keepdims=True))
        return shares / shares.sum(axis=-1, keepdims=True)


def final_visits(
    tables: VisitTables, log_weights: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """p(state, steps that its visit goes on | x) at the end of each sequence, (n, K, L); log Z."""
    entered, log_z = _log_entered(tables, log_weights, starts)
    log_durations = tables.log_durations[0]
    chances = np.full((len(starts) - 1, *log_durations.shape), -np.inf)
    for table, begin, end in zip(chances, starts[:-1], starts[1:], strict=True):
        emitted = np.zeros(len(log_durations))
        # The visit began this many steps ago.
        for age in range(min(log_durations.shape[1], end - begin)):
            emitted = emitted + log_weights[end - 1 - age]
            goes_on = (entered[end - 1 - age] + emitted)[:, None] + log_durations[:, age:]
            rest = table[:, : goes_on.shape[1]]
            np.logaddexp(rest, goes_on, out=rest)
    # Where nothing explains a sequence a new visit follows whatever state.
    chances[np.isneginf(log_z), :, 0] = 0.0
    chances = np.exp(chances - chances.max(axis=(1, 2), keepdims=True))
    return chances / chances.sum(axis=(1, 2), keepdims=True), log_z


def draw_path(
    tables: VisitTables, log_weights: np.ndarray, starts: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """States of visits drawn given what was observed, under a single table; log Z."""
    entered, log_z = _log_entered(tables, log_weights, starts)
    path = np.empty(len(log_weights), np.int32)
    chance = np.empty(tables.log_durations[0].size)
    draw_visits(_log_tables(tables), log_weights, starts, entered, rng, chance, path)
    return path, log_z


def count_visits(
    path: np.ndarray,
    starts: np.ndarray,
    log_durations: np.ndarray,
    rng: np.random.Generator | None = None,
    times: np.ndarray | None = None,
) -> np.ndarray:
    """How many visits of a path have each duration, (K, L); what lasts too long counts as L.

    Each sequence counts so many `times`, once where nothing is said. How long the last visit of
    each goes on beyond its end is drawn, or expected.
    """
    n, longest = log_durations.shape
    begins = np.append(True, path[1:] != path[:-1])
    begins[starts[:-1]] = True
    first = np.flatnonzero(begins)
    weight = np.ones(len(first))
    if times is not None:
        weight = np.repeat(times, np.diff(starts))[first]
    lasted = np.minimum(np.diff(np.append(first, len(path))), longest)
    last = np.append(np.searchsorted(first, starts[1:-1]), len(first)) - 1
    logs = log_durations[path[first[last]]]
    logs = np.where(np.arange(1, longest + 1) < lasted[last, None], -np.inf, logs)
    chances, table = np.exp(logs - logs.max(axis=1, keepdims=True)), np.zeros((n, longest))
    if rng is None:
        chances *= (weight[last] / chances.sum(axis=1))[:, None]
        np.add.at(table, path[first[last]], chances)
        first, lasted, weight = (np.delete(each, last) for each in (first, lasted, weight))
    else:
        levels = np.cumsum(chances, axis=1)
        level = rng.random((len(last), 1)) * levels[:, -1:]
        lasted[last] = 1 + np.minimum((levels <= level).sum(axis=1), longest - 1)
    np.add.at(table, (path[first], lasted - 1), weight)
    return table


def expected_visits(n_steps: np.ndarray, stays: np.ndarray, longest: int) -> np.ndarray:
    """Visits by duration, (..., K, L), if states that have `n_steps` stayed so often.

    A start: all durations are there, as long as those of a chain that knows none.
    """
    chance = np.clip(stays / np.maximum(n_steps, 1e-300), 0.0, 0.999)[..., None]
    shares = chance ** np.arange(longest)
    visits = np.maximum(n_steps - stays, 0.0)[..., None]
    return visits * shares / shares.sum(axis=-1, keepdims=True)
