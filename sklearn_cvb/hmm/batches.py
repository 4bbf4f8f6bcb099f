"""Batches of sequences that collapsed variational inference leaves out together.

Without a dictionary they go side by side (`sklearn_cvb.kernels.chain.batches`); elsewhere one after
the other, and then a batch is a range of units.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.hmm.leave_out import (
    Layout,
    Pass,
    layout_for,
    make_pass,
    product_pairs,
)
from sklearn_cvb.kernels.chain.batches import BatchBuffers, Batches, pass_over_batches
from sklearn_cvb.kernels.chain.leave_out import INFER, KEEP, PUT_BACK, TAKE_OUT, Stored
from sklearn_cvb.kernels.chain.side_by_side import messages_for, tables_for_tokens, width_for
from sklearn_cvb.lattice import Problem

# Sequences side by side: fewer than in EM, as each token has weights and posteriors of its own.
_SIDE_BY_SIDE = 16
# Side by side the longest sequences must fit in this many entries (64 MB).
_LARGEST_STEP = 8_000_000


class Batched(NamedTuple):
    """The batches of a corpus.

    Attributes
    ----------
    first : ndarray of shape (n_batches + 1,)
        Where each batch begins among the sequences by falling length.
    side_by_side : Batches or None
        None where they are inferred one after the other.
    """

    first: np.ndarray
    side_by_side: Batches | None

    @property
    def n_batches(self) -> int:
        """Number of batches."""
        return len(self.first) - 1


def by_length(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The sequences of a problem by falling length, and the lengths."""
    lengths = np.diff(problem.corpus.starts)
    return np.argsort(-lengths, kind="stable"), lengths


def batched(problem: Problem, batch_size: int, may_go_side_by_side: bool = True) -> Batched:
    """Group the sequences of a problem by length, `batch_size` at a time.

    Side by side is no place to look at every pair of neighbours: what needs that goes one after the
    other.
    """
    starts, lattice, n_states = problem.corpus.starts, problem.lattice, problem.cells.n_states
    order, lengths = by_length(problem)
    first = np.append(np.arange(0, len(lengths), batch_size), len(lengths))
    side = min(_SIDE_BY_SIDE, batch_size, len(lengths))
    fits = lengths.max() * side * width_for(n_states) <= _LARGEST_STEP
    is_open = n_states > 1 and lattice.count.min() == n_states
    if side == 1 or not (is_open and fits and may_go_side_by_side):
        return Batched(first, None)
    column = np.empty_like(order)
    column[order] = np.arange(len(order)) % batch_size % side
    step = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
    rows = (step * side + np.repeat(column, lengths)) * n_states
    place = lattice._replace(first=rows.astype(lattice.first.dtype))
    return Batched(first, Batches(order, first, starts, side, place))


def largest_share(problem: Problem, batch_size: int) -> float:
    """The largest share of all tokens that one batch holds."""
    lengths = -np.sort(-np.diff(problem.corpus.starts))
    return lengths[:batch_size].sum() / lengths.sum()


def layout_of(problem: Problem, batches: Batched) -> Layout:
    """The sequences as units: side by side in the order of the corpus, else batch by batch."""
    order = by_length(problem)[0] if batches.side_by_side is None else None
    return layout_for(problem, order=order, with_lists=False)


def pairs_of(
    problem: Problem, batches: Batched, layout: Layout, posterior: np.ndarray
) -> np.ndarray:
    """Pair marginals of independent tokens, for each unit or as one sum for each batch."""
    topology, n_states = problem.cells.topology, problem.cells.n_states
    if batches.side_by_side is None:
        return product_pairs(layout, posterior, topology)
    table, starts = posterior.reshape(-1, n_states), problem.corpus.starts
    pairs = np.zeros((batches.n_batches, n_states, n_states))
    for b in range(batches.n_batches):
        for i in batches.side_by_side.order[batches.first[b] : batches.first[b + 1]]:
            own = table[starts[i] : starts[i + 1]]
            pairs[b] += own[:-1].T @ own[1:]
    if topology is not None:
        pairs[:, ~topology.transition] = 0.0
    return pairs.ravel()


def make_batched_pass(steps: int, work: Pass, batches: Batched) -> np.ndarray:
    """Make a pass over all batches; returns the log normaliser of each (nats).

    Where sequences are taken out together, the start row's total lacks all of them.
    """
    if batches.side_by_side is None:
        return _one_after_the_other(steps, work, batches)
    some, n_states = batches.side_by_side, work.layout.n_states
    longest = int(np.diff(some.starts).max())
    buffers = BatchBuffers(
        tables_for_tokens(some.side * longest, n_states),
        messages_for(some.side, longest, n_states),
        np.empty(n_states),
    )
    stored = work.stored._replace(log_z=np.empty(batches.n_batches))
    first = 0
    while first < batches.n_batches:
        span, lattice = (first, batches.n_batches), work.layout.sequences.lattice
        first = pass_over_batches(steps, span, work.shared, some, lattice, stored, buffers)
        if first < batches.n_batches:
            for name in ("forward", "g", "backward"):
                getattr(buffers.messages, name).fill(0.0)
            _recover(steps, work._replace(stored=stored), batches, first)
            first += 1
    return stored.log_z


def _one_after_the_other(steps: int, work: Pass, batches: Batched) -> np.ndarray:
    """A pass over batches that are ranges of units."""
    log_z = work.stored.log_z
    for first, last in zip(batches.first[:-1].tolist(), batches.first[1:].tolist(), strict=True):
        if steps & TAKE_OUT:
            make_pass(TAKE_OUT, work, (first, last))
        if steps & INFER:
            make_pass(steps & (INFER | KEEP), _from_what_is_left(work), (first, last))
        if steps & PUT_BACK:
            make_pass(PUT_BACK, work, (first, last))
    return np.add.reduceat(log_z, batches.first[:-1]) if steps & INFER else log_z


def _from_what_is_left(work: Pass) -> Pass:
    """The pass with the start row's total as it is."""
    return work._replace(shared=work.shared._replace(log_start=np.log(work.shared.start.sum())))


def _recover(steps: int, work: Pass, batches: Batched, b: int) -> None:
    """Infer a batch that was lost side by side, one sequence after the other."""
    some, n_states = batches.side_by_side, work.layout.n_states
    assert some is not None, "only batches side by side are lost as a whole"
    members = some.order[some.first[b] : some.first[b + 1]]
    sequences = work.layout.sequences
    n_each = n_states**2
    # Pairs of single sequences are kept apart, then added up.
    summed = np.ones_like(sequences.summed)
    pair = np.zeros(len(sequences.pair), np.int64)
    layout = work.layout._replace(sequences=sequences._replace(summed=summed, pair=pair))
    pairs, log_z = np.zeros(n_each), np.empty(work.layout.n_units)
    own = Stored(work.stored.posterior, np.empty(n_each), log_z)
    for i in members.tolist():
        single = Pass(layout, _from_what_is_left(work).shared, own)
        make_pass(steps & (INFER | KEEP), single, (i, i + 1))
        pairs += own.pairs
    work.stored.log_z[b] = log_z[members].sum()
    if steps & KEEP:
        work.stored.pairs[b * n_each : (b + 1) * n_each] = pairs
    if steps & PUT_BACK:
        buffers = BatchBuffers(
            tables_for_tokens(0, n_states), messages_for(1, 1, n_states), np.empty(n_states)
        )
        lattice = sequences.lattice
        pass_over_batches(PUT_BACK, (b, b + 1), work.shared, some, lattice, work.stored, buffers)


def n_pairs(problem: Problem, batches: Batched, layout: Layout) -> int:
    """How many pair marginals, or cells of their sums, all units or batches keep."""
    if batches.side_by_side is None:
        return int(layout.sequences.pair[-1])
    return batches.n_batches * problem.cells.n_states**2
