"""Collapsed variational inference of sequences: what is left out at a time, and passes over it.

Wang and Blunsom (2013), eqs. 24-25. The corpus is cut into units: whole sequences, or windows of
long ones. This file lays units out and chooses their form; what a pass does is told in
`sklearn_cvb.kernels.chain.leave_out`.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.hmm.lists import Settled, lists_for, ragged
from sklearn_cvb.kernels.chain.forward_backward import Work, work_of_size
from sklearn_cvb.kernels.chain.leave_out import PUT_BACK, Shared, Stored
from sklearn_cvb.kernels.chain.listed import N_ROWS, ListBuffers, Lists, pass_over_lists
from sklearn_cvb.kernels.chain.lost import infer_lost
from sklearn_cvb.kernels.chain.sequences import Sequences, pass_over_sequences
from sklearn_cvb.kernels.chain.tally import Floor, Tally
from sklearn_cvb.kernels.chain.windows import Borders
from sklearn_cvb.lattice import Cells, Problem
from sklearn_cvb.learning.loop import even_pieces
from sklearn_cvb.topology import Topology

# Where neighbours have more pairs of states than this for a token, lists are too long.
_MOST_PAIRS_A_TOKEN = 16
# A sum is kept where it is at most so many times as large as the blocks.
_SUMMED = 4
# Tokens whose first pairs are made at a time.
_STRETCH = 10_000


class Most(NamedTuple):
    """What a buffer for any unit has to hold.

    Found once: passes over single units are made as well.
    """

    n_tokens: int
    n_entries: int
    n_pairs: int
    n_block: int


class Layout(NamedTuple):
    """Units, where each keeps its posteriors and pairs, and the form that infers it.

    Attributes
    ----------
    sequences : Sequences
        All units, token by token.
    lists : Lists or None
        All units by their lists (see `sklearn_cvb.hmm.lists`), or None.
    settled : Settled or None
        What lists leave out.
    borders : Borders or None
        Where units are windows.
    n_states : int
    most : Most
    """

    sequences: Sequences
    n_states: int
    most: Most
    lists: Lists | None = None
    settled: Settled | None = None
    borders: Borders | None = None

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.sequences.begin)


class Pass(NamedTuple):
    """What passes over all units change and need.

    Attributes
    ----------
    layout : Layout
    shared : Shared
    stored : Stored
    absent : ndarray of shape (K, K) or None
        See `sklearn_cvb.kernels.chain.sequences.pass_over_sequences`.
    """

    layout: Layout
    shared: Shared
    stored: Stored
    absent: np.ndarray | None = None


def layout_for(problem: Problem, block_length: int | None = None) -> Layout:
    """Cut a corpus into sequences, or into windows of at most `block_length` tokens.

    Lists are for whole sequences under a dictionary. Elsewhere, with topologies or windows, and
    where most tokens are open, units are inferred token by token. Their pairs are kept as blocks
    or, where that is smaller, as one sum. Under a topology all are summed: the sum has zeros where
    steps are ruled out.

    Parameters
    ----------
    problem : Problem
    block_length : int or None
    """
    starts, cells = problem.corpus.starts, problem.cells
    n_steps, restricted = cells.n_states**2, cells.topology is not None
    begin, end, borrowed = _windows(starts, block_length)
    if not (restricted or borrowed.any()) and problem.runs.any_certain:
        n_entries, n_pairs = _sizes(begin, end, problem.lattice.count, 0)
        if n_pairs.sum() <= _MOST_PAIRS_A_TOKEN * (end - begin).sum():
            summed = np.zeros(len(begin), bool)
            offsets = _offsets(n_entries), _offsets(n_pairs)
            sequences = Sequences(begin, end, *offsets, summed, True, problem.lattice)
            lists, settled = lists_for(sequences, cells.n_states, len(cells.state))
            if lists is not None:
                return Layout(sequences, cells.n_states, _most(sequences), lists, settled)
    n_entries, n_pairs = _sizes(begin, end, problem.lattice.count, 1)
    summed = (n_pairs > n_steps / _SUMMED) | (restricted & (end - begin > 1))
    n_pairs[summed] = n_steps
    offsets = _offsets(n_entries), _offsets(n_pairs)
    sequences = Sequences(begin, end, *offsets, summed, False, problem.lattice)
    most = _most(sequences)
    if not borrowed.any():
        return Layout(sequences, cells.n_states, most)
    right = np.ones((len(begin), cells.n_states))
    borders = Borders(borrowed, right, np.zeros(cells.n_states), np.ones(cells.n_states))
    return Layout(sequences, cells.n_states, most, borders=borders)


def _windows(
    starts: np.ndarray, block_length: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where windows begin and end, and which begin with a borrowed token."""
    lengths = np.diff(starts)
    windows = np.ones_like(lengths) if block_length is None else -(-lengths // block_length)
    sequence, number = ragged(windows)
    size = lengths.max() if block_length is None else block_length
    begin = starts[sequence] + number * size
    end = np.minimum(begin + size, starts[sequence + 1])
    # All windows but the first begin with the last token of the one before.
    return begin - (number > 0), end, number > 0


def _offsets(sizes: np.ndarray) -> np.ndarray:
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def _sizes(
    begin: np.ndarray, end: np.ndarray, count: np.ndarray, without: int
) -> tuple[np.ndarray, np.ndarray]:
    """Number of posteriors and of entries of blocks that each unit keeps.

    Blocks are stored `without` so many rows and columns.
    """
    own = np.where(count > 1, count, 0)
    n_entries = _sums(own, begin, end)
    np.maximum(own - without, 0, out=own)
    return n_entries, _sums(own[1:] * own[:-1], begin, end - 1)


def _sums(values: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Sums of the values [begin[i], end[i])."""
    # Ends are no ranges to be summed, but numpy wants them in between.
    cuts = np.column_stack([begin, end]).ravel()
    sums = np.add.reduceat(np.append(values, 0), cuts, dtype=np.int64)[::2]
    return np.where(end > begin, sums, 0)


def shared_by(tally: Tally, floor: Floor) -> Shared:
    """A tally as passes need it."""
    n_states = len(tally.out)
    steps = np.concatenate([tally.transition.ravel(), tally.start])
    # The sequence that is left out begins with probability 1.
    total = tally.start.sum() - 1.0
    return Shared(
        steps,
        steps[: n_states**2].reshape(n_states, n_states),
        steps[n_states**2 :],
        tally.out.copy(),
        tally.emit.copy(),
        # One cell more, which tokens without observation read.
        np.append(tally.emission, 1.0),
        floor.out,
        floor.emit,
        floor.least,
        floor.least_step,
        float(np.log(total)) if total > 0.0 else 0.0,
    )


def tally_in(shared: Shared) -> Tally:
    """The tally that passes have changed."""
    return Tally(shared.start, shared.transition, shared.out, shared.emission[:-1], shared.emit)


def make_pass(steps: int, work: Pass, span: tuple[int, int] | None = None) -> None:
    """Make a pass over the units of `span` (None: all), each in its form.

    Units that float64 loses are inferred in log space.
    """
    layout = work.layout
    first, last = span or (0, layout.n_units)
    while first < last:
        arguments = steps, (first, last), work.shared
        if layout.lists is not None:
            stop = pass_over_lists(*arguments, layout.lists, work.stored, _list_buffers(layout))
        else:
            given = layout.sequences, work.stored, layout.borders, work.absent
            stop = pass_over_sequences(*arguments, *given, _buffers(layout))
        if stop < last:
            _recover(steps, work, stop)
        first = stop + 1


def _recover(steps: int, work: Pass, unit: int) -> None:
    """Finish the steps of a pass for a unit that was lost on the way."""
    layout, stored = work.layout, work.stored
    arguments = work.shared, layout.sequences, stored, layout.borders, work.absent
    infer_lost(steps, unit, *arguments, _buffers(layout))
    if layout.settled is not None:
        # Log space weighs all tokens, lists leave the settled ones out.
        stored.log_z[unit] -= _log_settled(layout, work.shared, unit)
    if steps & PUT_BACK:
        make_pass(PUT_BACK, work, (unit, unit + 1))


def _log_settled(layout: Layout, shared: Shared, unit: int) -> float:
    """Summed log of the settled emissions of a listed unit, which stay counted."""
    assert layout.settled is not None, "units with lists have settled cells"
    lattice = layout.sequences.lattice
    tokens = slice(layout.sequences.begin[unit], layout.sequences.end[unit])
    cells = lattice.cell[lattice.first[tokens]][lattice.count[tokens] == 1]
    cells = cells[cells >= 0]
    return np.log(shared.emission[cells[layout.settled.is_settled[cells]]]).sum()


def _most(sequences: Sequences) -> Most:
    """What a buffer for any of the units has to hold."""
    return Most(
        int((sequences.end - sequences.begin).max()),
        int(np.diff(sequences.entry).max()),
        int(np.diff(sequences.pair).max()),
        int(sequences.lattice.count.max()) ** 2,
    )


def _buffers(layout: Layout) -> Work:
    """Buffers for any unit, token by token."""
    most = layout.most
    # Certain tokens have an entry of their own while a unit is inferred.
    n_entries = most.n_entries + most.n_tokens
    return work_of_size(n_entries, most.n_tokens, layout.n_states, most.n_block)


def _list_buffers(layout: Layout) -> ListBuffers:
    """Buffers for any listed unit."""
    most = layout.most
    return ListBuffers(
        np.empty(most.n_entries),
        np.empty(most.n_entries),
        np.empty(most.n_pairs),
        np.empty((N_ROWS, layout.n_states)),
    )


def stored_entries(layout: Layout, entries: np.ndarray) -> np.ndarray:
    """Posteriors of all (token, state) entries, as units keep them."""
    return entries[_places(layout)[0]]


def all_entries(layout: Layout, posterior: np.ndarray) -> np.ndarray:
    """Posteriors of all (token, state) entries: 1 where a token has one state."""
    entries = np.ones(int(layout.sequences.lattice.count.sum(dtype=np.int64)))
    places, own = _places(layout)
    entries[places if own is None else places[own]] = posterior if own is None else posterior[own]
    return entries


def _places(layout: Layout) -> tuple[np.ndarray, np.ndarray | None]:
    """Which entries the units keep, and which of these are not of borrowed tokens (None: all)."""
    sequences, count = layout.sequences, layout.sequences.lattice.count
    if layout.borders is None:
        return np.repeat(count > 1, count), None
    unit, place = ragged(sequences.end - sequences.begin)
    token = sequences.begin[unit] + place
    kept = count[token] > 1
    first = np.cumsum(count, dtype=np.int64) - count
    owner, j = ragged(count[token[kept]])
    places = first[token[kept]][owner] + j
    is_borrowed = layout.borders.borrowed[unit] & (place == 0)
    return places, ~is_borrowed[kept][owner]


def product_pairs(
    layout: Layout, posterior: np.ndarray, topology: Topology | None = None
) -> np.ndarray:
    """Pair marginals of independent tokens: neighbouring posteriors multiplied."""
    pairs = np.empty(layout.sequences.pair[-1])
    lengths = layout.sequences.end - layout.sequences.begin
    for first, last in even_pieces(_offsets(lengths), _STRETCH):
        units = np.arange(first, last)
        is_summed = layout.sequences.summed[units]
        _fill_blocks(layout, posterior, units[~is_summed], pairs)
        _fill_sums(layout, posterior, units[is_summed], pairs, topology)
    return pairs


def _fill_sums(
    layout: Layout,
    posterior: np.ndarray,
    units: np.ndarray,
    pairs: np.ndarray,
    topology: Topology | None,
) -> None:
    """`product_pairs` of units that keep a sum."""
    sequences, n_states = layout.sequences, layout.n_states
    token, at, last = _kept(sequences, units)
    sums = np.zeros((len(units), n_states, n_states))
    # A table of a stretch at a time, which begins with the last token of the one before.
    for first in range(0, len(token), _STRETCH):
        end = first + _STRETCH + 1
        table = _table(layout, posterior, token[first:end], at[first:end])
        for i in range(np.searchsorted(last, first, side="right"), len(units)):
            begin = max(last[i - 1] if i else 0, first) - first
            if begin >= len(table):
                break
            own = table[begin : last[i] - first]
            sums[i] += own[:-1].T @ own[1:]
    if topology is not None:
        sums[:, ~topology.transition] = 0.0
    owner, place = ragged(np.full(len(units), n_states**2))
    pairs[sequences.pair[units][owner] + place] = sums.ravel()


def _kept(sequences: Sequences, units: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The tokens of units, where the posteriors of each begin, and where the units end."""
    lengths = (sequences.end - sequences.begin)[units]
    owner, place = ragged(lengths)
    token = sequences.begin[units][owner] + place
    count = sequences.lattice.count[token]
    # Counted through all units: what those before hold is taken off again.
    before = _offsets(np.where(count > 1, count, 0))[:-1]
    at = sequences.entry[units][owner] + before - before[place == 0][owner]
    return token, at, np.cumsum(lengths)


def _table(layout: Layout, posterior: np.ndarray, token: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Posteriors of tokens over all states, shape (n_tokens, K)."""
    lattice = layout.sequences.lattice
    owner, slot = ragged(lattice.count[token])
    values, is_kept = np.ones(len(owner)), lattice.count[token][owner] > 1
    values[is_kept] = posterior[(at[owner] + slot)[is_kept]]
    table = np.zeros((len(token), layout.n_states))
    table[owner, lattice.state[lattice.first[token].astype(np.int64)[owner] + slot]] = values
    return table


def _fill_blocks(
    layout: Layout, posterior: np.ndarray, units: np.ndarray, pairs: np.ndarray
) -> None:
    """`product_pairs` of units that keep blocks."""
    sequences = layout.sequences
    token, at, last = _kept(sequences, units)
    count = sequences.lattice.count[token].astype(np.int64)
    own = np.where(count > 1, count, 0)
    kept = own if sequences.whole else np.maximum(own - 1, 0)
    is_first = np.zeros(len(token) + 1, bool)
    is_first[last] = True
    is_pair = np.flatnonzero(~is_first[1:-1] & (own[1:] > 0) & (own[:-1] > 0)) + 1
    pair, step = ragged(kept[is_pair] * kept[is_pair - 1])
    right = is_pair[pair]
    i, j = np.divmod(step, kept[right])
    values = posterior[at[right - 1] + i] * posterior[at[right] + j]
    owner, place = ragged(np.diff(sequences.pair)[units])
    pairs[sequences.pair[units][owner] + place] = values


def zero_tally(cells: Cells) -> Tally:
    """A tally of nothing."""
    n = cells.n_states
    return Tally(
        np.zeros(n), np.zeros((n, n)), np.zeros(n), np.zeros(len(cells.state)), np.zeros(n)
    )
