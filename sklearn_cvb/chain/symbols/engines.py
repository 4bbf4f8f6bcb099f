"""The forms of a chain: ways to infer the same thing, each faster for some data.

Expected counts of EM and VB come from three forms; each sequence has one.

========== ============================================================ ===================
runs       Certain tokens (one allowed state) cut a sequence in         2.5 times as fast
           independent runs of few ambiguous tokens.                    as sequences
side by    All states are allowed everywhere: a step of many sequences  4.7 times as fast
side       is one product of matrices.                                  as sequences
sequences  Any lattice, one sequence at a time.
========== ============================================================ ===================

Where float64 loses a sequence, runs and side by side hand it back by its index, and it is one of
the `sequences` from then on; where these lose it, log space decides. A form that no sequence has is
None: its kernel is not compiled.

Collapsed variational inference leaves out a unit at a time. `layout_for` in `leave_out`
gives all units one of the first two forms.

========== ============================================================ ===================
lists      A dictionary settles most tokens: what a sequence shares     3.6 times as fast
           with the counts is listed once.                              as sequences
sequences  Any lattice, windows and topologies, token by token. Pairs
           are kept as blocks, or as their sum where that is smaller.
tokens     ``update="token"``: independent tokens, each left out alone.
========== ============================================================ ===================
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.chain.lattice import Problem, certain_counts, spans_of
from sklearn_cvb.chain.parameters import HMMCounts
from sklearn_cvb.kernels.chain.forward_backward import Lattice
from sklearn_cvb.kernels.chain.runs import Borders
from sklearn_cvb.kernels.chain.side_by_side import (
    SIDE_BY_SIDE,
    Messages,
    Tables,
    messages_for,
    tables_beside,
    tables_for,
    width_for,
)
from sklearn_cvb.learning.threads import even_pieces

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
# Every so many tokens tell how many states a token may take.
_SAMPLED = 64

_NONE = np.empty(0, np.intp)


class RunForm(NamedTuple):
    """Sequences that are inferred run by run.

    Attributes
    ----------
    members : ndarray of shape (n_members,)
        The sequences.
    lattice : Lattice
        Their tokens, one after the other.
    starts : ndarray of shape (n_members + 1,), int64
        Where each begins among these.
    borders : Borders
    sequence : ndarray of shape (n_members + 1,), int64
        Member m has the runs ``sequence[m] : sequence[m + 1]``.
    certain : HMMCounts
        Counts of certain tokens and pairs.
    sizes : tuple of int
        Most entries of a run, and most entries of its steps.
    pieces : list of tuple
        ``(begin, end)``: the runs that are inferred one after the other.
    """

    members: np.ndarray
    lattice: Lattice
    starts: np.ndarray
    borders: Borders
    sequence: np.ndarray
    certain: HMMCounts
    sizes: tuple[int, int]
    pieces: list[tuple[int, int]]


class Batch(NamedTuple):
    """Sequences that one thread infers side by side, and its buffers.

    Attributes
    ----------
    members : ndarray
        The sequences by falling length.
    lattice : Lattice
        Of all sequences; `first` is a token's row in the tables, times the number of states.
    tables : Tables
        Weights, which all batches share, and counts of its own.
    messages : Messages
    """

    members: np.ndarray
    lattice: Lattice
    tables: Tables
    messages: Messages


class Forms(NamedTuple):
    """Which sequences are inferred how; None for a form that none has.

    Attributes
    ----------
    runs : RunForm or None
    side_by_side : list of Batch or None
    sequences : list of ndarray or None
        The sequences that each thread infers one at a time.
    lost : ndarray
        Those among them that another form lost.
    """

    runs: RunForm | None
    side_by_side: list[Batch] | None
    sequences: list[np.ndarray] | None
    lost: np.ndarray = _NONE


def forms_of(problem: Problem, lost: np.ndarray = _NONE) -> Forms:
    """The form of each sequence.

    Parameters
    ----------
    problem : Problem
    lost : ndarray
        Sequences for which float64 needs the safest form.

    Returns
    -------
    Forms
    """
    rest = np.ones(len(problem.corpus.starts) - 1, bool)
    rest[lost] = False
    runs, batches = None, None
    if problem.any_told:
        rest &= _has_short_runs(problem)
        if _n_tokens(problem, rest) > _SMALLEST_SHARE * len(problem.corpus.tokens):
            runs = _runs_of(problem, rest)
    elif _fits_side_by_side(problem):
        batches = _batches_of(problem, rest)
    if runs is None and batches is None:
        rest[:] = False
    members = np.flatnonzero(~rest)
    pieces = [members[slice(*piece)] for piece in _pieces_of(problem, members)]
    return Forms(runs, batches, pieces if len(members) else None, lost)


# Pieces


def _n_tokens(problem: Problem, chosen: np.ndarray) -> int:
    """Number of tokens of the chosen sequences."""
    return int(np.diff(problem.corpus.starts)[chosen].sum())


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


def _has_short_runs(problem: Problem) -> np.ndarray:
    """Whether the steps of each run of a sequence have few entries, for all sequences."""
    runs = problem.runs
    _, sizes = _run_sizes(problem.lattice, runs.begin, runs.end)
    wide = np.concatenate([[0], np.cumsum(sizes > _LARGEST_RUN)])
    return np.diff(wide[runs.sequence]) == 0


def _run_sizes(
    lattice: Lattice, begin: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Number of entries of each run, and of the steps inside it."""
    count = lattice.count.astype(np.int64)
    entries = np.concatenate([[0], np.cumsum(count)])
    steps = np.concatenate([[0], np.cumsum(count[:-1] * count[1:])])
    return entries[end] - entries[begin], steps[end - 1] - steps[begin]


def _runs_of(problem: Problem, chosen: np.ndarray) -> RunForm:
    """Run by run: the chosen sequences."""
    lattice, starts, cells = problem.lattice, problem.corpus.starts, problem.cells
    begin, end, sequence = problem.runs.begin, problem.runs.end, problem.runs.sequence
    certain = problem.runs.start, problem.runs.transition, problem.runs.emission
    if not chosen.all():
        lengths = np.diff(starts)
        tokens = np.repeat(chosen, lengths)
        lattice = lattice._replace(first=lattice.first[tokens], count=lattice.count[tokens])
        starts = np.concatenate([[0], np.cumsum(lengths[chosen])])
        begin, end, sequence = spans_of(lattice, starts)
        certain = certain_counts(lattice, starts, cells.n_states, len(cells.state))
    entries, steps = _run_sizes(lattice, begin, end)
    members = np.flatnonzero(chosen)
    pieces = [(sequence[first], sequence[last]) for first, last in _pieces_of(problem, members)]
    return RunForm(
        members,
        lattice,
        starts,
        Borders(begin, end, *_states_around(lattice, starts, begin, end)),
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
    is_open = problem.lattice.count[problem.is_given].min() == cells.n_emitting
    return bool(len(lengths) > 1 and is_open and size <= _LARGEST_BATCH)


def _batches_of(problem: Problem, chosen: np.ndarray) -> list[Batch] | None:
    """Side by side: the chosen sequences, in batches for several threads."""
    cells, lengths, lattice = problem.cells, np.diff(problem.corpus.starts), problem.lattice
    if cells.has_end:
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
        own = tables if index == 0 else tables_beside(tables)
        batches.append(Batch(members, lattice, own, messages))
    return batches or None
