"""Engines of the E-step of symbols: by runs of ambiguous tokens, sequences side by side, or one at
a time. Each infers the same, and is the fastest for some sequences; those that float64 loses go on.

Expected counts of EM and VB come from three engines; each sequence has one.

========== ============================================================ ===================
runs       Certain tokens (one allowed state) cut a sequence in         2.5 times as fast
           independent runs of few ambiguous tokens.                    as sequences
side by    All states are allowed everywhere: a step of many sequences  4.7 times as fast
side       is one product of matrices.                                  as sequences
sequences  Any lattice, one sequence at a time.
========== ============================================================ ===================

Where float64 loses a sequence, runs and side by side hand it back by its index, and it is one of
the `sequences` from then on; where these lose it, log space decides. An engine that no sequence has
is None: its kernel is not compiled.

Collapsed variational inference leaves out a unit at a time. `layout_for` in `leave_out`
gives all units one of the first two engines.

========== ============================================================ ===================
lists      A dictionary settles most tokens: what a sequence shares     3.6 times as fast
           with the counts is listed once.                              as sequences
sequences  Any lattice, windows and topologies, token by token. Pairs
           are kept as blocks, or as their sum where that is smaller.
tokens     ``update="token"``: independent tokens, each left out alone.
========== ============================================================ ===================
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.parameters.rows import HMMCounts, empty_counts, log_weights
from sklearn_cvb.chain.paths.lattice import Cells, Problem, certain_counts, run_spans
from sklearn_cvb.kernels.chain import forward_backward
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights, Lattice, expected_counts
from sklearn_cvb.kernels.chain.log_space import expected_counts_log
from sklearn_cvb.kernels.chain.runs import RunBorders, RunBuffers, expected_counts_of_runs
from sklearn_cvb.kernels.chain.side_by_side import (
    SIDE_BY_SIDE,
    LockstepMessages,
    LockstepTables,
    add_tables,
    clear_counts,
    clear_messages,
    expected_counts_dense,
    fill_tables,
    messages_for,
    tables_for,
    width_for,
    with_own_counts,
)
from sklearn_cvb.learning.model import InferenceResult
from sklearn_cvb.learning.threads import even_pieces, on_threads

# A sequence with a run whose steps have more entries is none of the runs: wide steps are faster
# one row at a time.
_LARGEST_RUN = 512
# Runs of less than this share of all tokens are not worth a kernel.
_SMALLEST_SHARE = 0.1
# Side by side the longest sequences must fit in this many entries (64 MB).
_LARGEST_BATCH = 8_000_000

# A sweep is cut in no more pieces, and in none with fewer tokens: they would wait for one another.
_MOST_PIECES, _SMALLEST_PIECE = 8, 30_000
# Entries of the lattice for every cell of a further table of counts: clearing and adding it then
# take little time.
_ENTRIES_PER_CELL = 8
# Every this many tokens tell how many states a token may take.
_SAMPLED = 64

_NONE = np.empty(0, np.intp)


class RunEngine(NamedTuple):
    """Sequences that are inferred run by run."""

    members: np.ndarray  # (n_members,) The sequences
    lattice: Lattice  # their tokens, one after the other
    starts: np.ndarray  # (n_members + 1,) Where each begins among these
    borders: RunBorders
    sequence: np.ndarray  # (n_members + 1,) Member m has the runs ``sequence[m] : sequence[m + 1]``
    certain: HMMCounts  # counts of certain tokens and pairs
    sizes: tuple[int, int]  # most entries of a run, and most entries of its steps
    # ``(begin, end)``: the runs that are inferred one after the other.
    pieces: list[tuple[int, int]]


class LockstepBatch(NamedTuple):
    """Sequences that one thread infers side by side, and its buffers."""

    members: np.ndarray  # the sequences by falling length
    # Of all sequences; `first` is a token's row in the tables, times the number of states.
    lattice: Lattice
    tables: LockstepTables  # weights, which all batches share, and counts of its own
    messages: LockstepMessages


class Engines(NamedTuple):
    """Which sequences are inferred how; None for an engine that none has."""

    runs: RunEngine | None
    side_by_side: list[LockstepBatch] | None
    sequences: list[np.ndarray] | None  # the sequences that each thread infers one at a time
    lost: np.ndarray = _NONE  # those among them that another engine lost


def engines_of(problem: Problem, lost: np.ndarray = _NONE) -> Engines:
    """The engine of each sequence."""
    if len(problem.corpus.starts) < 2:
        # Of a part in which no path explains any sequence.
        return Engines(None, None, [np.empty(0, np.intp)])
    # One at a time may count more than once.
    is_free = np.full(len(problem.corpus.starts) - 1, problem.corpus.times is None)
    is_free[lost] = False
    runs, batches = None, None
    if problem.any_certain:
        _, sizes = _run_sizes(problem.lattice, problem.runs.begin, problem.runs.end)
        wide = np.concatenate([[0], np.cumsum(sizes > _LARGEST_RUN)])
        is_free &= np.diff(wide[problem.runs.sequence]) == 0
        n_tokens = np.diff(problem.corpus.starts)[is_free].sum()
        if n_tokens > _SMALLEST_SHARE * len(problem.corpus.tokens):
            runs = _runs_of(problem, is_free)
    elif _fits_side_by_side(problem):
        batches = _batches_of(problem, is_free)
    if runs is None and batches is None:
        is_free[:] = False
    members = np.flatnonzero(~is_free)
    pieces = [members[slice(*piece)] for piece in _pieces_of(problem, members)]
    return Engines(runs, batches, pieces if len(members) else None, lost)


# Pieces


def _n_pieces(problem: Problem) -> int:
    """In how many pieces a sweep is cut, each with its own counts.

    It depends on the problem alone, so that sums are the same for any number of threads. All tables
    of counts but the first take no more memory than one with a cell for every word and state, and
    little time beside the inference.
    """
    cells, n_tokens = problem.cells, len(problem.corpus.tokens)
    n_cells = max(1, len(cells.state))
    n_entries = n_tokens * problem.lattice.count[::_SAMPLED].mean()
    n_pieces = min(
        _MOST_PIECES,
        n_tokens // _SMALLEST_PIECE,
        1 + cells.n_rows * cells.n_states // n_cells,
        1 + int(n_entries / (_ENTRIES_PER_CELL * n_cells)),
    )
    return max(1, n_pieces)


def _pieces_of(problem: Problem, members: np.ndarray) -> list[tuple[int, int]]:
    """Ranges of `members` that are inferred apart."""
    lengths = np.diff(problem.corpus.starts)[members]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return even_pieces(starts, -(-len(problem.corpus.tokens) // _n_pieces(problem)))


# Runs


def _run_sizes(
    lattice: Lattice, begin: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Number of entries of each run, and of the steps inside it."""
    count = lattice.count.astype(np.int64)
    entries = np.concatenate([[0], np.cumsum(count)])
    steps = np.concatenate([[0], np.cumsum(count[:-1] * count[1:])])
    return entries[end] - entries[begin], steps[end - 1] - steps[begin]


def _runs_of(problem: Problem, chosen: np.ndarray) -> RunEngine:
    """Run by run: the chosen sequences."""
    lattice, starts, cells = problem.lattice, problem.corpus.starts, problem.cells
    begin, end, sequence = problem.runs.begin, problem.runs.end, problem.runs.sequence
    certain = problem.runs.start, problem.runs.transition, problem.runs.emission
    if not chosen.all():
        lengths = np.diff(starts)
        tokens = np.repeat(chosen, lengths)
        lattice = lattice._replace(first=lattice.first[tokens], count=lattice.count[tokens])
        starts = np.concatenate([[0], np.cumsum(lengths[chosen])])
        begin, end, sequence = run_spans(lattice, starts)
        certain = certain_counts(lattice, starts, cells.n_states, len(cells.state))
    entries, steps = _run_sizes(lattice, begin, end)
    members = np.flatnonzero(chosen)
    pieces = [(sequence[first], sequence[last]) for first, last in _pieces_of(problem, members)]
    return RunEngine(
        members,
        lattice,
        starts,
        RunBorders(begin, end, *_states_around(lattice, starts, begin, end)),
        sequence,
        HMMCounts(*certain),
        (int(entries.max(initial=1)), int(steps.max(initial=1))),
        [piece for piece in pieces if piece[0] < piece[1]],
    )


def _states_around(
    lattice: Lattice, starts: np.ndarray, begin: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """State of the token before and after each run; -1 where there is none in the sequence."""
    state = lattice.state[lattice.first].astype(np.int32)
    at_start, at_end = np.zeros((2, len(state) + 1), bool)
    at_start[starts[:-1]] = at_end[starts[1:]] = True
    before = np.where(at_start[begin], -1, state[begin - 1])
    after = np.where(at_end[end], -1, state[np.minimum(end, len(state) - 1)])
    return before.astype(np.int32), after.astype(np.int32)


# Side by side


def _fits_side_by_side(problem: Problem) -> bool:
    """Whether all states are allowed everywhere, in sequences that are several and not too long."""
    lengths, cells = np.diff(problem.corpus.starts), problem.cells
    size = lengths.max() * min(SIDE_BY_SIDE, len(lengths)) * width_for(cells.n_states)
    is_open = problem.lattice.count[problem.without_ends].min() == cells.n_emitting
    return bool(len(lengths) > 1 and is_open and size <= _LARGEST_BATCH)


def _batches_of(problem: Problem, chosen: np.ndarray) -> list[LockstepBatch] | None:
    """Side by side: the chosen sequences, in batches for several threads."""
    cells, lengths, lattice = problem.cells, np.diff(problem.corpus.starts), problem.lattice
    if cells.chain.has_end:
        # Words have a slot for each state that emits, and rows one for the end as well.
        first = lattice.first // cells.n_emitting * cells.n_states
        lattice = lattice._replace(first=first.astype(lattice.first.dtype))
    order = np.argsort(-lengths, kind="stable")
    order = order[chosen[order]]
    n_batches, batches = min(_n_pieces(problem), len(order)), []
    tables = tables_for(lattice, cells.n_emitting, cells.n_states)
    for index in range(n_batches):
        # Every batch gets its share of long sequences.
        members = np.ascontiguousarray(order[index::n_batches])
        side = min(SIDE_BY_SIDE, len(members))
        messages = messages_for(side, lengths[members[0]], cells.n_states)
        batch_tables = tables if index == 0 else with_own_counts(tables)
        batches.append(LockstepBatch(members, lattice, batch_tables, messages))
    return batches or None


class PieceResult(NamedTuple):
    """Expected counts and the sum of log Z of some sequences, and those that float64 lost."""

    counts: HMMCounts
    log_normaliser: float
    lost: np.ndarray = _NONE


def expectation(
    weights: ChainWeights,
    problem: Problem,
    engines: Engines,
    n_jobs: int | None = 1,
    logs: Callable[[], ChainWeights] | None = None,
) -> InferenceResult:
    """E-step over all sequences, on up to `n_jobs` threads; the next one begins with its `work`.

    `logs` makes the logs of the weights without underflow.
    """
    log_z, times = np.zeros(problem.corpus.n_sequences), problem.corpus.times_of_sequences
    tasks: list[tuple[Any, ...]] = []
    if engines.runs is not None:
        tasks += [(infer_runs, engines.runs, piece) for piece in engines.runs.pieces]
        tasks.append((count_certain, engines.runs))
    if engines.side_by_side is not None:
        n_emitting = problem.cells.n_emitting
        fill_tables(weights, problem.lattice, n_emitting, engines.side_by_side[0].tables)
        tasks += [(infer_batch, problem, batch) for batch in engines.side_by_side]
    if engines.sequences is not None:
        tasks += [(infer_sequences, problem, log_z, some) for some in engines.sequences]
    shares = on_threads(lambda infer, *some: infer(weights, problem.cells, *some), tasks, n_jobs)
    lost = np.concatenate([share.lost for share in shares])
    if len(lost):
        # Rare: counts of the sequences that share an engine with these are no use.
        engines = engines_of(problem, np.union1d(engines.lost, lost))
        return expectation(weights, problem, engines, n_jobs, logs)
    (counts, total, _), *others = shares
    for share in others:
        total += share.log_normaliser
        for table, more in zip(counts, share.counts, strict=True):
            table += more
    # Sequences that float64 may lose even one at a time go to log space.
    if np.isnan(log_z).any():
        log_tables = log_weights(weights) if logs is None else logs()
        starts, lattice = problem.corpus.starts, problem.lattice
        passes = forward_backward.passes_for(starts, lattice.count)
        for i in np.flatnonzero(np.isnan(log_z)):
            alone, bounds = empty_counts(problem.cells), (starts[i], starts[i + 1])
            log_z[i] = expected_counts_log(log_tables, lattice, bounds, passes, alone)
            for table, more in zip(counts, alone, strict=True):
                table += times[i] * more
    explained = np.isfinite(log_z)
    total += (times * log_z)[explained].sum()
    return InferenceResult(counts, total, np.flatnonzero(~explained), work=engines)


# Runs


def infer_runs(
    weights: ChainWeights, cells: Cells, engine: RunEngine, piece: tuple[int, int]
) -> PieceResult:
    """Counts and log weights of some runs."""
    counts, entries, steps = empty_counts(cells), *engine.sizes
    borders = RunBorders(*(values[slice(*piece)] for values in engine.borders))
    room = RunBuffers(np.empty(entries), np.empty(entries), np.empty(steps))
    lost = np.zeros(len(borders.begin), bool)
    total = expected_counts_of_runs(weights, engine.lattice, borders, room, counts, lost)
    runs = piece[0] + np.flatnonzero(lost)
    sequences = np.searchsorted(engine.sequence, runs, side="right") - 1
    return PieceResult(counts, total, engine.members[sequences])


def count_certain(weights: ChainWeights, cells: Cells, engine: RunEngine) -> PieceResult:
    """Counts of what is certain, and its log weight."""
    total = 0.0
    for table, times in zip(weights, engine.certain, strict=True):
        held = times > 0
        if not (table[held] > 0).all():
            return PieceResult(engine.certain, 0.0, _impossible_sequences(weights, engine))
        total += float(np.sum(times[held] * np.log(table[held])))
    return PieceResult(HMMCounts(*map(np.copy, engine.certain)), total)


def _impossible_sequences(weights: ChainWeights, engine: RunEngine) -> np.ndarray:
    """The sequences in which something certain has no weight."""
    lattice, starts = engine.lattice, engine.starts
    certain = lattice.count == 1
    state, cell = lattice.state[lattice.first], lattice.cell[lattice.first]
    step = np.ones(len(state))
    step[1:][certain[:-1]] = weights.transition[state[:-1], state[1:]][certain[:-1]]
    step[starts[:-1]] = weights.start[state[starts[:-1]]]
    weight = np.where(cell >= 0, weights.emission[cell], 1.0)
    tokens = np.flatnonzero(certain & ~((step > 0) & (weight > 0)))
    return engine.members[np.unique(np.searchsorted(starts, tokens, side="right") - 1)]


# Side by side


def infer_batch(
    weights: ChainWeights, cells: Cells, problem: Problem, batch: LockstepBatch
) -> PieceResult:
    """Counts and log Z of some sequences side by side."""
    clear_counts(batch.tables)
    lost = np.zeros(problem.corpus.n_sequences, bool)
    side = min(SIDE_BY_SIDE, len(batch.members))
    batch_arguments = batch.lattice, problem.corpus.starts, batch.members, side, cells.n_states
    total = expected_counts_dense(*batch_arguments, batch.tables, batch.messages, lost)
    counts = empty_counts(cells)
    if np.isnan(total):
        clear_messages(batch.messages)
    else:
        add_tables(weights, problem.lattice, cells.n_emitting, batch.tables, counts)
    return PieceResult(counts, total, np.flatnonzero(lost))


# One sequence at a time


def infer_sequences(
    weights: ChainWeights, cells: Cells, problem: Problem, log_z: np.ndarray, members: np.ndarray
) -> PieceResult:
    """Counts of some sequences; fills their log Z, NaN where log space has to decide."""
    lattice, starts, counts = problem.lattice, problem.corpus.starts, empty_counts(cells)
    passes = forward_backward.passes_for(starts, lattice.count)
    times = problem.corpus.times_of_sequences
    expected_counts(weights, lattice, starts, times, members, passes, counts, log_z)
    counts.transition[:] *= weights.transition
    return PieceResult(counts, 0.0)
