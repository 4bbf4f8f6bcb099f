"""Expected counts of all sequences under given weights, each inferred in its form.

A form is a function ``infer(weights, cells, ...) -> Share``; `expectation` calls them and adds.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sklearn_cvb.chain.lattice import Cells, Problem
from sklearn_cvb.chain.parameters import HMMCounts, empty_counts, log_weights
from sklearn_cvb.chain.symbols.engines import Batch, Forms, RunForm, forms_of
from sklearn_cvb.kernels.chain.forward_backward import Weights, expected_counts, passes_for
from sklearn_cvb.kernels.chain.log_space import expected_counts_log
from sklearn_cvb.kernels.chain.runs import Borders, RunRoom, expected_counts_of_runs
from sklearn_cvb.kernels.chain.side_by_side import (
    SIDE_BY_SIDE,
    add_tables,
    clear_counts,
    clear_messages,
    expected_counts_dense,
    fill_tables,
)
from sklearn_cvb.learning.threads import on_threads

_NONE = np.empty(0, np.intp)


class Expectation(NamedTuple):
    """What an E-step finds.

    Attributes
    ----------
    counts : HMMCounts
        Expected counts of the sequences that some path explains.
    total : float
        Sum of their log Z (nats).
    unexplained : ndarray
        Indices of the others.
    forms : Forms or None
        What the next E-step begins with; None where shards know it.
    """

    counts: HMMCounts
    total: float
    unexplained: np.ndarray
    forms: Forms | None


class Share(NamedTuple):
    """What a piece of the sequences contributes: counts, sum of log Z, and who is lost."""

    counts: HMMCounts
    total: float
    lost: np.ndarray = _NONE


def expectation(
    weights: Weights,
    problem: Problem,
    forms: Forms,
    n_jobs: int | None = 1,
    logs: Callable[[], Weights] | None = None,
) -> Expectation:
    """E-step over all sequences, on up to `n_jobs` threads.

    Parameters
    ----------
    weights : Weights
    problem : Problem
    forms : Forms
        From `forms_of`, or what the last E-step left.
    n_jobs : int or None
    logs : callable or None
        Gives the logs of `weights` without underflow; None to take logs.

    Returns
    -------
    Expectation
    """
    log_z = np.zeros(problem.corpus.n_sequences)
    tasks: list[tuple] = []
    if forms.runs is not None:
        tasks += [(infer_runs, forms.runs, piece) for piece in forms.runs.pieces]
        tasks.append((count_certain, forms.runs))
    if forms.side_by_side is not None:
        n_emitting = problem.cells.n_emitting
        fill_tables(weights, problem.lattice, n_emitting, forms.side_by_side[0].tables)
        tasks += [(infer_batch, problem, batch) for batch in forms.side_by_side]
    if forms.sequences is not None:
        tasks += [(infer_sequences, problem, log_z, some) for some in forms.sequences]
    shares = on_threads(lambda infer, *some: infer(weights, problem.cells, *some), tasks, n_jobs)
    lost = np.concatenate([share.lost for share in shares])
    if len(lost):
        # Rare: counts of the sequences that share a form with these are no use.
        forms = forms_of(problem, np.union1d(forms.lost, lost))
        return expectation(weights, problem, forms, n_jobs, logs)
    counts = _added([share.counts for share in shares])
    total = sum(share.total for share in shares)
    # Sequences that float64 may lose even one at a time go to log space.
    if np.isnan(log_z).any():
        log_tables = log_weights(weights) if logs is None else logs()
        infer_in_log_space(log_tables, problem, counts, log_z)
    explained = np.isfinite(log_z)
    return Expectation(counts, total + log_z[explained].sum(), np.flatnonzero(~explained), forms)


def _added(counts: list[HMMCounts]) -> HMMCounts:
    """The sum of counts, in their order."""
    total, *others = counts
    for other in others:
        for table, more in zip(total, other, strict=True):
            table += more
    return total


# Runs


def infer_runs(weights: Weights, cells: Cells, form: RunForm, piece: tuple[int, int]) -> Share:
    """Counts and log weights of some runs."""
    counts, entries, steps = empty_counts(cells), *form.sizes
    borders = Borders(*(values[slice(*piece)] for values in form.borders))
    room = RunRoom(np.empty(entries), np.empty(entries), np.empty(steps))
    lost = np.zeros(len(borders.begin), bool)
    total = expected_counts_of_runs(weights, form.lattice, borders, room, counts, lost)
    runs = piece[0] + np.flatnonzero(lost)
    sequences = np.searchsorted(form.sequence, runs, side="right") - 1
    return Share(counts, total, form.members[sequences])


def count_certain(weights: Weights, cells: Cells, form: RunForm) -> Share:
    """Counts of what is certain, and its log weight."""
    total = 0.0
    for table, times in zip(weights, form.certain, strict=True):
        held = times > 0
        if not (table[held] > 0).all():
            return Share(form.certain, 0.0, _without_weight(weights, form))
        total += float(np.sum(times[held] * np.log(table[held])))
    return Share(HMMCounts(*map(np.copy, form.certain)), total)


def _without_weight(weights: Weights, form: RunForm) -> np.ndarray:
    """The sequences in which something certain has no weight."""
    lattice, starts = form.lattice, form.starts
    certain = lattice.count == 1
    state, cell = lattice.state[lattice.first], lattice.cell[lattice.first]
    step = np.ones(len(state))
    step[1:][certain[:-1]] = weights.transition[state[:-1], state[1:]][certain[:-1]]
    step[starts[:-1]] = weights.start[state[starts[:-1]]]
    weight = np.where(cell >= 0, weights.emission[cell], 1.0)
    tokens = np.flatnonzero(certain & ~((step > 0) & (weight > 0)))
    return form.members[np.unique(np.searchsorted(starts, tokens, side="right") - 1)]


# Side by side


def infer_batch(weights: Weights, cells: Cells, problem: Problem, batch: Batch) -> Share:
    """Counts and log Z of some sequences side by side."""
    clear_counts(batch.tables)
    lost = np.zeros(problem.corpus.n_sequences, bool)
    side = min(SIDE_BY_SIDE, len(batch.members))
    total = expected_counts_dense(
        batch.lattice,
        problem.corpus.starts,
        batch.members,
        side,
        cells.n_states,
        batch.tables,
        batch.messages,
        lost,
    )
    counts = empty_counts(cells)
    if np.isnan(total):
        clear_messages(batch.messages)
    else:
        add_tables(weights, problem.lattice, cells.n_emitting, batch.tables, counts)
    return Share(counts, total, np.flatnonzero(lost))


# One sequence at a time


def infer_sequences(
    weights: Weights, cells: Cells, problem: Problem, log_z: np.ndarray, members: np.ndarray
) -> Share:
    """Counts of some sequences; fills their log Z, NaN where log space has to decide."""
    lattice, starts, counts = problem.lattice, problem.corpus.starts, empty_counts(cells)
    passes = passes_for(starts, lattice.count)
    expected_counts(weights, lattice, starts, members, passes, counts, log_z)
    counts.transition[:] *= weights.transition
    return Share(counts, 0.0)


def infer_in_log_space(
    logs: Weights, problem: Problem, counts: HMMCounts, log_z: np.ndarray
) -> None:
    """Add the counts of the sequences whose log Z is NaN, and fill it."""
    lattice, starts = problem.lattice, problem.corpus.starts
    passes = passes_for(starts, lattice.count)
    for i in np.flatnonzero(np.isnan(log_z)):
        bounds = starts[i], starts[i + 1]
        log_z[i] = expected_counts_log(logs, lattice, bounds, passes, counts)
