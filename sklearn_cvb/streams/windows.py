"""Stochastic inference over windows of sequences: each moves the counts that the next starts from.

A long sequence is cut into windows, whose borders are inferred with them and not counted (Foti, Xu,
Laird and Fox 2014, "Stochastic variational inference for hidden Markov models"); a short one is a
window of its own. EM and CVB infer under the means of the running counts, VB under exp E[log].
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.chain.parameters.rows import (
    ChainPrior,
    HMMCounts,
    expected_log,
    log_weights,
    posterior_mean,
)
from sklearn_cvb.chain.paths.lattice import Problem, entry_cells, entry_states, some_tokens
from sklearn_cvb.kernels.chain.forward_backward import Lattice, PassBuffers
from sklearn_cvb.kernels.chain.log_space import (
    add_pairs_log,
    forward_backward_log,
    forward_pass_log,
)
from sklearn_cvb.kernels.chain.windows import (
    RunningCounts,
    WindowPrior,
    WindowSpans,
    WindowWorkspace,
    step_through_windows,
)
from sklearn_cvb.learning.model import InferenceResult, mix_arrays
from sklearn_cvb.streams.seen import MixingFactors

# Tokens of a border.
BORDER = 10


class WindowCuts(NamedTuple):
    """Windows of a problem, in order."""

    begin: np.ndarray
    end: np.ndarray
    sequence: np.ndarray  # which sequence each is of


def window_sizes(problem: Problem, length: int) -> np.ndarray:
    """Tokens of each window that are no ends of sequences."""
    begin, end, _ = cut_into_windows(problem, length)
    return _given_before(problem, end) - _given_before(problem, begin)


def cut_into_windows(problem: Problem, length: int) -> WindowCuts:
    """Each sequence in as few equal windows of at most `length` steps as hold it."""
    starts = problem.corpus.starts
    lengths = np.diff(starts)
    n_windows = -(-lengths // length)
    sequence = np.repeat(np.arange(len(lengths)), n_windows)
    number = np.arange(len(sequence)) - np.repeat(np.cumsum(n_windows) - n_windows, n_windows)
    each = n_windows[sequence]
    begin, end = (starts[sequence] + lengths[sequence] * at // each for at in (number, number + 1))
    return WindowCuts(begin, end, sequence)


def _given_before(problem: Problem, tokens: np.ndarray) -> np.ndarray:
    """How many tokens are before these that are no ends of sequences."""
    if problem.places is None:
        return tokens
    return np.append(0, np.cumsum(problem.places >= 0))[tokens]


def beginning_of(problem: Problem, n_tokens: int) -> Problem:
    """The problem of the first tokens alone, the last sequence of which may be cut."""
    corpus, places = problem.corpus, problem.places
    chosen = np.arange(len(corpus.tokens)) < n_tokens
    starts = np.append(corpus.starts[corpus.starts < n_tokens], n_tokens)
    some = some_tokens(corpus, problem.lattice, problem.cells, chosen, starts)
    if places is None:
        return some
    return some._replace(original=problem.original, places=places[:n_tokens])


def lifted_prior(prior: ChainPrior, problem: Problem) -> ChainPrior:
    """A prior with a little where it is 0: the cells of a row share one count.

    Without it a window could use nothing that those before had not: no new word, no new step.
    """
    cells, (fixed_start, fixed_rows, fixed_words) = problem.cells, prior.fixed_rows
    n, topology = cells.n_states, cells.chain.topology
    start = np.where((prior.start == 0) & ~fixed_start, 1.0 / n, 0.0)
    start[cells.n_emitting :] = 0.0
    transition = np.where((prior.transition == 0) & ~fixed_rows[:, None], 1.0 / n, 0.0)
    if topology is not None:
        start, transition = topology.masked(start, transition)
    emission = np.where((prior.emission == 0) & ~fixed_words[cells.state], 1.0 / cells.n_rows, 0.0)
    return prior._replace(
        start=prior.start + start,
        start_total=prior.start_total + float(start.sum()),
        transition=prior.transition + transition,
        transition_total=prior.transition_total + transition.sum(axis=1),
        emission=prior.emission + emission,
        emission_total=prior.emission_total + cells.row_totals(emission),
    )


class WindowWalk(NamedTuple):
    """What stepping through windows needs, but for the counts."""

    problem: Problem
    prior: ChainPrior  # lifted
    spans: WindowSpans
    workspace: WindowWorkspace
    averages: bool


def counts_after_windows(
    problem: Problem,
    counts: HMMCounts,
    prior: ChainPrior,
    steps: MixingFactors,
    length: int,
    averages: bool,
) -> InferenceResult:
    """Counts after all windows that have a step; the sum of their log p(x) (nats).

    Those of the beginning may have none, where the counts are theirs.

    The log p of a window is that of its own steps given the border before, under the counts of all
    windows before it.
    """
    cut, prior = cut_into_windows(problem, length), lifted_prior(prior, problem)
    n_steps = len(steps.batch)
    cut = WindowCuts(*(part[len(part) - n_steps :] for part in cut))
    walk = WindowWalk(problem, prior, *_window_layout(problem, cut, steps), averages)
    moving = _with_totals(counts, problem)
    below = WindowPrior(*(getattr(prior, name) for name in ChainPrior._fields[:-1]))
    done, n_windows, total, lost = 0, len(cut.begin), 0.0, []
    while done < n_windows:
        done, value = step_through_windows(
            (done, n_windows), walk.spans, problem.lattice, moving, below, averages, walk.workspace
        )
        total += value
        if done < n_windows:
            moving, value = _in_log_space(walk, moving, done)
            total += value if np.isfinite(value) else 0.0
            lost += [] if np.isfinite(value) else [cut.sequence[done]]
            done += 1
    return InferenceResult(_counts_of(moving), total, np.unique(np.array(lost, np.intp)))


def _window_layout(
    problem: Problem, cut: WindowCuts, steps: MixingFactors
) -> tuple[WindowSpans, WindowWorkspace]:
    """Windows with their borders and steps, and buffers for any of them."""
    starts, n, lattice = problem.corpus.starts, problem.cells.n_states, problem.lattice
    before, after = starts[cut.sequence], starts[cut.sequence + 1]
    first = np.maximum(cut.begin - BORDER, before)
    last = np.minimum(cut.end + BORDER, after)
    each = np.broadcast_to(np.asarray(steps.running), cut.begin.shape)
    spans = WindowSpans(
        cut.begin, cut.end, first, last, first == before, each.copy(), np.array(steps.batch)
    )
    longest = int((last - first).max(initial=1))
    entries = np.empty((3, longest * int(lattice.count.max(initial=1))))
    tables = np.empty(n), *np.empty((2, n, n)), np.empty(n)
    workspace = WindowWorkspace(entries[0], entries[1], entries[2], np.empty(longest), *tables)
    return spans, workspace


def _with_totals(counts: HMMCounts, problem: Problem) -> RunningCounts:
    start, transition, emission = (np.array(table) for table in counts)
    totals = transition.sum(axis=1), problem.cells.row_totals(emission)
    return RunningCounts(
        start, transition, totals[0], emission, totals[1].astype(float), np.ones(1)
    )


def _counts_of(moving: RunningCounts) -> HMMCounts:
    unit = moving.unit[0]
    return HMMCounts(*(unit * t for t in (moving.start, moving.transition, moving.emission)))


def _in_log_space(walk: WindowWalk, moving: RunningCounts, i: int) -> tuple[RunningCounts, float]:
    """The step of a window that float64 loses; nothing, and -inf, where no path explains it."""
    (problem, prior, spans, workspace, averages), counts = walk, _counts_of(moving)
    cells, first, last = problem.cells, spans.border_begin[i], spans.border_end[i]
    begin, end = spans.begin[i], spans.end[i]
    logs = expected_log(counts, prior, cells)
    if not averages:
        logs = log_weights(posterior_mean(counts, prior, cells))
    lattice, work = problem.lattice, PassBuffers(*workspace[:4])
    tokens = Lattice(lattice.first[first:last], lattice.count[first:last], *lattice[2:])
    states, cell = entry_states(tokens), entry_cells(tokens)
    place = np.repeat(np.arange(first, last), tokens.count)
    weights = np.where(cell < 0, 0.0, logs.emission[cell])
    start = logs.start if spans.is_start[i] else np.zeros(cells.n_states)
    tables = logs.transition[None]
    value = 0.0
    for sign, stop in ((-1, begin), (1, end)):
        if stop > first:
            work.emission[: len(weights)] = weights
            value += sign * forward_pass_log(start, tables, None, lattice, first, stop, work)
    work.emission[: len(weights)] = weights
    log_z = forward_backward_log(start, tables, None, lattice, first, last, len(weights), work)
    if log_z == -np.inf:
        return moving, log_z
    pairs, own = np.zeros((2, *logs.transition.shape)), (place >= begin) & (place < end)
    is_own = np.arange(first, last)
    is_own = ((is_own >= begin) & (is_own < end)).astype(np.int64)
    add_pairs_log(tables, None, is_own, lattice, first, last, work, pairs)
    q = work.posterior[: len(weights)] * own
    at_start = place == (first if begin == first else -1)
    found = HMMCounts(
        np.bincount(states[at_start], q[at_start], cells.n_states),
        pairs[1],
        np.bincount(cell + 1, q, len(cells.state) + 1)[1:],
    )
    kept, added = spans.kept_share[i], spans.added_weight[i]
    return _with_totals(mix_arrays(counts, kept, found, added), problem), float(value)
