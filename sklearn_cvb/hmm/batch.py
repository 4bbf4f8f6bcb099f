"""Batch algorithms: all expected counts under the current weights, then new weights (EM, VB)."""

from typing import NamedTuple

import numpy as np

from sklearn_cvb import dirichlet
from sklearn_cvb.fitting import even_pieces, on_threads, threads_for_each
from sklearn_cvb.hmm import start as starting
from sklearn_cvb.hmm.base import BaseHMM
from sklearn_cvb.hmm.concentrations import Concentrations, learn
from sklearn_cvb.hmm.parameters import (
    HMMCounts,
    Prior,
    empty_counts,
    log_weights,
    uniform_weights,
)
from sklearn_cvb.kernels.chain.decoding import smoothed, viterbi
from sklearn_cvb.kernels.chain.forward_backward import (
    Weights,
    expected_counts,
    work_for,
    work_of_size,
)
from sklearn_cvb.kernels.chain.log_space import expected_counts_log
from sklearn_cvb.kernels.chain.runs import Factors, expected_counts_of_runs
from sklearn_cvb.kernels.chain.side_by_side import (
    SIDE_BY_SIDE,
    Messages,
    Tables,
    add_tables,
    clear_counts,
    clear_messages,
    expected_counts_dense,
    fill_tables,
    messages_for,
    tables_beside,
    tables_for,
    width_for,
)
from sklearn_cvb.lattice import n_entries

# Fewer tokens than this are not worth a thread.
_SHORTEST_PIECE = 5000
# A sweep is cut in no more pieces, and in none with fewer tokens: they would wait for one another.
_MOST_PIECES, _SMALLEST_PIECE = 8, 30_000
# Entries of the lattice for every cell of a further table of counts: clearing and adding it then
# take little time.
_ENTRIES_PER_CELL = 8
# Every so many tokens tell how many states a token may take.
_SAMPLED = 64

# A run whose steps have more entries is inferred by the kernel for any chain.
_LARGEST_RUN = 512
# Side by side the longest sequences must fit in this many entries (64 MB).
_LARGEST_BATCH = 8_000_000


class Piece(NamedTuple):
    """Sequences of a sweep that one thread infers side by side, and its buffers.

    Attributes
    ----------
    members : ndarray
        The sequences by falling length.
    tables : Tables
        Weights, which all pieces share, and counts of its own.
    messages : Messages
    """

    members: np.ndarray
    tables: Tables
    messages: Messages


class BatchState(NamedTuple):
    """What EM and VB carry between sweeps.

    `counts` are the expected counts under `weights`, which came from the sweep's M-step. `pieces`
    are buffers for the next sweep, which nobody need keep.
    """

    counts: HMMCounts
    prior: Prior
    concentrations: Concentrations
    weights: Weights
    unexplained: np.ndarray
    n_sweeps: int
    pieces: list | None = None


def expectation(weights, problem, logs=None, n_jobs=1, pieces=None):
    """E-step over all sequences, on up to `n_jobs` threads; `pieces` come from `pieces_for`.

    Returns
    -------
    counts : HMMCounts
        Expected counts of the sequences that some path explains.
    total : float
        Sum of their log Z (nats).
    unexplained : ndarray
        Indices of the others.
    """
    lattice, starts = problem.lattice, problem.corpus.starts
    if problem.runs.any_certain:
        counts, total = _expectation_of_runs(weights, problem, n_jobs)
    elif pieces:
        counts, total = _expectation_side_by_side(weights, problem, n_jobs, pieces)
    else:
        counts, total = None, np.nan
    if not np.isnan(total):
        return counts, total, np.empty(0, np.intp)
    log_z = np.empty(problem.corpus.n_sequences)

    def infer(begin, end):
        cut, counts = starts[begin : end + 1], empty_counts(problem.cells)
        work = work_for(cut[:-1], cut[1:], lattice.count, problem.cells.n_states)
        expected_counts(weights, lattice, cut, work, counts, log_z[begin:end])
        return counts

    counts = _added(on_threads(infer, _pieces(problem), n_jobs))
    if np.isnan(log_z).any():
        logs = log_weights(weights) if logs is None else logs()
        work = work_for(starts[:-1], starts[1:], lattice.count, problem.cells.n_states)
        expected_counts_log(logs, lattice, starts, work, counts, log_z)
    return counts, log_z[np.isfinite(log_z)].sum(), np.flatnonzero(np.isneginf(log_z))


def _expectation_of_runs(weights, problem, n_jobs):
    """Counts and total log Z from the ambiguous runs."""
    lattice, starts, runs = problem.lattice, problem.corpus.starts, problem.runs
    n_states = problem.cells.n_states
    factors = Factors(*weights, np.ones(n_states), np.ones(n_states))
    longest, most = runs.longest, int(lattice.count.max())

    def infer(begin, end):
        counts = empty_counts(problem.cells)
        work = work_of_size(longest * most, longest, n_states, _LARGEST_RUN)
        cut, some = starts[begin : end + 1], _runs_of(runs, begin, end)
        return counts, expected_counts_of_runs(factors, lattice, cut, some, work, counts)

    counts, totals = zip(*on_threads(infer, _pieces(problem), n_jobs), strict=True)
    return _added(counts), sum(totals)


def _runs_of(runs, begin, end):
    """The runs of some sequences; what is certain comes with the first ones."""
    some = runs._replace(sequence=runs.sequence[begin : end + 1])
    if begin == 0:
        return some
    nothing = np.empty(0)
    return some._replace(
        start=nothing, transition=np.empty((len(runs.transition), 0)), emission=nothing
    )


def pieces_for(problem):
    """Pieces of a sweep by matrix products; none unless all states are allowed everywhere.

    A single sequence is for the kernel that takes one at a time.
    """
    lattice, starts = problem.lattice, problem.corpus.starts
    n_states = problem.cells.n_states
    if lattice.count.min() < n_states or len(starts) == 2:
        return []
    lengths = np.diff(starts)
    if lengths.max() * min(SIDE_BY_SIDE, len(lengths)) * width_for(n_states) > _LARGEST_BATCH:
        return []
    order = np.argsort(-lengths, kind="stable")
    tables = tables_for(lattice, n_states)
    n_pieces, pieces = len(_pieces(problem)), []
    for index in range(n_pieces):
        # Every piece gets its share of long sequences.
        members = np.ascontiguousarray(order[index::n_pieces])
        side = min(SIDE_BY_SIDE, len(members))
        messages = messages_for(side, lengths[members[0]], n_states)
        pieces.append(Piece(members, tables if index == 0 else tables_beside(tables), messages))
    return pieces


def _expectation_side_by_side(weights, problem, n_jobs, pieces):
    """Counts and total log Z by matrix products."""
    lattice, starts = problem.lattice, problem.corpus.starts
    n_states = problem.cells.n_states
    fill_tables(weights, lattice, pieces[0].tables)

    def infer(piece):
        clear_counts(piece.tables)
        side = min(SIDE_BY_SIDE, len(piece.members))
        return expected_counts_dense(
            lattice, starts, piece.members, side, n_states, piece.tables, piece.messages
        )

    total = sum(on_threads(infer, [(piece,) for piece in pieces], n_jobs))
    counts = empty_counts(problem.cells)
    if np.isnan(total):
        for piece in pieces:
            clear_messages(piece.messages)
    else:
        for piece in pieces:
            add_tables(weights, lattice, piece.tables, counts)
    return counts, total


def _pieces(problem):
    """Ranges of sequences that are inferred apart, each with its own counts.

    They depend on the problem alone, so that sums are the same for any number of threads. All
    tables of counts but the first take no more memory than one with a cell for every word and
    state, and little time beside the inference.
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
    return even_pieces(problem.corpus.starts, -(-n_tokens // max(1, n_pieces)))


def _added(counts):
    """The sum of the counts of all pieces, in their order."""
    total, *others = counts
    for other in others:
        for table, more in zip(total, other, strict=True):
            table += more
    return total


class BatchHMM(BaseHMM):
    """Start and sweep of the algorithms that update all counts at once."""

    def _start(self, problem, rng):
        """First counts: of a fitted model, of token posteriors, or of one E-step."""
        concentrations = self._first_concentrations()
        prior = self._priors(problem.cells, concentrations)
        weights, pieces = None, None
        if hasattr(self.init, "predict_proba"):
            counts = starting.model_counts(problem, self.init, self.vocabulary_)
        else:
            start = self._starting_point(problem, prior, rng)
            weights = start.weights
            if weights is None:
                counts = starting.counts_from_marginals(problem, start.posterior)
            else:
                pieces = pieces_for(problem)
                counts, _, _ = expectation(weights, problem, None, self._n_threads(), pieces)
        if weights is None:
            weights = uniform_weights(problem.cells)
        return BatchState(counts, prior, concentrations, weights, np.empty(0, np.intp), 0, pieces)

    def _sweep(self, state, problem, rng):
        """M-step, then E-step; the value is the objective of the weights just used."""
        cells = problem.cells
        concentrations = learn(
            state.concentrations, state.counts, cells, state.n_sweeps, dirichlet.ascend
        )
        prior = state.prior
        if concentrations is not state.concentrations:
            prior = self._priors(cells, concentrations)
        weights, penalty = self._maximise(state.counts, prior, cells, state.weights)
        pieces = pieces_for(problem) if state.pieces is None else state.pieces
        counts, total, unexplained = expectation(
            weights,
            problem,
            lambda: self._log_weights(weights, state.counts, prior, cells),
            self._n_threads(),
            pieces,
        )
        value = total - penalty + concentrations.log_density()
        following = BatchState(
            counts, prior, concentrations, weights, unexplained, state.n_sweeps + 1, pieces
        )
        return following, float(value)

    def _ranked(self, fit, problem):
        """The fit without the buffers of its sweeps."""
        fit = super()._ranked(fit, problem)
        return fit._replace(state=fit.state._replace(pieces=None))

    def _n_threads(self):
        """Threads for one restart: those that the other restarts leave."""
        n_restarts = self.n_init if self._starts_differ() else 1
        return threads_for_each(n_restarts, self.n_jobs)

    def _maximise(self, counts, prior, cells, kept):
        """M-step: new weights, and what the objective subtracts for them."""
        weights = self._weights(counts, prior, cells, kept)
        return weights, self._penalty(counts, prior, weights, cells)

    def _penalty(self, counts, prior, weights, cells):
        """What the objective subtracts from log Z (nats)."""
        raise NotImplementedError

    def _final_weights(self, state, problem):
        weights = self._weights(state.counts, state.prior, problem.cells, state.weights)
        return weights, self._log_weights(weights, state.counts, state.prior, problem.cells)

    def _posterior(self, state, problem):
        """p(z_t | x) of every (token, state) entry under the weights of the final counts."""
        weights, logs = self._final_weights(state, problem)
        posterior = np.empty(n_entries(problem.lattice))
        log_z = np.empty(problem.corpus.n_sequences)
        smoothed(weights, logs, problem.lattice, problem.corpus.starts, posterior, log_z)
        return posterior

    def _label_path(self, state, problem):
        """States of the training tokens: Viterbi under the weights of the final counts."""
        _, logs = self._final_weights(state, problem)
        starts = problem.corpus.starts
        path = np.empty(len(problem.corpus.tokens), np.int32)
        log_p = np.empty(problem.corpus.n_sequences)

        def label(begin, end):
            viterbi(logs, problem.lattice, starts[begin : end + 1], path, log_p[begin:end])

        on_threads(label, even_pieces(starts, _SHORTEST_PIECE), self.n_jobs)
        return path
