"""Collapsed variational inference (CVB) of chains of symbols: units, sequences or windows of them,
are left out one at a time and inferred from the counts of all others. A layout says where each unit
keeps its posteriors and pair marginals.

Wang and Blunsom (2013), section 4. The corpus is cut into *units*, whole sequences or windows of
long ones, and each is inferred from the expected counts of all others (eqs. 24-25). From top to
bottom: how units are laid out, their first posteriors, a sweep and its score, a pass over units by
their engine, and how surely a count is 0. Last comes the update of figure 3, which leaves out a
token at a time. What a pass does is described in `sklearn_cvb.kernels.chain.leave_out`, and the
lists of units are made in `sklearn_cvb.chain.symbols.leave_out_lists`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sklearn_cvb.chain.parameters.rows import (
    ChainPrior,
    HMMCounts,
    empty_counts,
    floor_of,
    tally_of,
)
from sklearn_cvb.chain.paths.lattice import Cells, Problem, Topology
from sklearn_cvb.chain.starts import starting_points as starting
from sklearn_cvb.chain.symbols.leave_out_lists import CertainEmissions, group_places, lists_for
from sklearn_cvb.kernels.chain import leave_token_out
from sklearn_cvb.kernels.chain.absence import (
    Absence,
    absence_of_tokens,
    absence_of_units,
    initial_absence,
)
from sklearn_cvb.kernels.chain.forward_backward import (
    ChainWeights,
    UnitWorkspace,
    workspace_of_size,
)
from sklearn_cvb.kernels.chain.gibbs import ChainFactors
from sklearn_cvb.kernels.chain.leave_out import (
    EXPECT,
    INFER,
    PUT_BACK,
    SCORE,
    SWEEP,
    ChainTally,
    CountFloor,
    SharedCounts,
    UnitResults,
    UnitSpan,
    UnitTokens,
    WindowMessages,
    infer_in_logs,
    pass_over_sequences,
)
from sklearn_cvb.kernels.chain.listed import N_ROWS, ListBuffers, Lists, pass_over_lists
from sklearn_cvb.learning.threads import even_pieces

# Where neighbours have more pairs of states than this for a token, lists are too long.
_MOST_PAIRS_A_TOKEN = 16
# A sum is kept where it is at most this many times as large as the blocks.
_SUMMED = 4
# Tokens whose first pairs are made at a time.
_STRETCH = 10_000
# Every this many sweeps counts are made again from the posteriors, so that rounding does not build
# up.
REBUILT = 20
# Share of all tokens by which counts may differ from those of the posteriors.
_ROUNDING = 1e-9


HALF_OF_ALL = (
    "sequence {} holds more than half of all tokens: its own counts are left out and it is "
    "inferred from little more than the prior; use update='token', or update=Windows(n) to leave "
    "out n tokens at a time"
)


class UpdateUnit(NamedTuple):
    """What CVB leaves out at a time: a token, a sequence, or a window of at most `block_length`."""

    update: str
    block_length: int | None


WHOLE = UpdateUnit("sequence", None)


# How units are laid out


class BufferSizes(NamedTuple):
    """What a buffer for any unit has to hold, found once: there are passes over single units."""

    n_tokens: int
    n_entries: int
    n_pairs: int
    n_block: int


class SymbolUnitLayout(NamedTuple):
    """Units, where each keeps its posteriors and pairs, and the engine that infers it."""

    sequences: UnitTokens  # all units, token by token
    n_states: int
    largest: BufferSizes
    lists: Lists | None = None  # all units by their lists
    settled: CertainEmissions | None = None  # what lists leave out
    borders: WindowMessages | None = None  # where units are windows
    has_blocks: bool = False  # whether pairs of a unit token by token are kept as blocks

    @property
    def n_units(self) -> int:
        """Number of units."""
        return len(self.sequences.begin)


def layout_of(problem: Problem, update_unit: UpdateUnit) -> SymbolUnitLayout | None:
    """Where units keep what they infer; None where tokens are left out."""
    return None if update_unit.update == "token" else layout_for(problem, update_unit.block_length)


def layout_for(problem: Problem, block_length: int | None = None) -> SymbolUnitLayout:
    """Cut a corpus into sequences, or into windows of at most `block_length` tokens.

    Lists are for whole sequences under a dictionary. Elsewhere, with topologies or windows, and
    where most tokens are open, units are inferred token by token. Their pairs are kept as blocks
    or, where that is smaller, as one sum. Under a topology all are summed: the sum has zeros where
    steps are ruled out.
    """
    starts, cells = problem.corpus.starts, problem.cells
    n_steps, restricted = cells.n_states**2, cells.chain.topology is not None
    begin, end, borrowed = _windows(starts, block_length)
    if not (restricted or borrowed.any()) and problem.runs.any_certain:
        n_entries, n_pairs = _sizes(begin, end, problem.lattice.count, 0)
        if n_pairs.sum() <= _MOST_PAIRS_A_TOKEN * (end - begin).sum():
            summed = np.zeros(len(begin), bool)
            offsets = _offsets(n_entries), _offsets(n_pairs)
            sequences = UnitTokens(begin, end, *offsets, summed, True, problem.lattice)
            most = _largest_sizes(sequences)
            lists, settled = lists_for(sequences, cells.n_states, len(cells.state))
            if lists is not None:
                return SymbolUnitLayout(sequences, cells.n_states, most, lists, settled)
    n_entries, n_pairs = _sizes(begin, end, problem.lattice.count, 1)
    has_pairs = end - begin > 1
    summed = (n_pairs >= n_steps / _SUMMED) | (restricted & has_pairs)
    n_pairs[summed] = n_steps
    offsets = _offsets(n_entries), _offsets(n_pairs)
    sequences = UnitTokens(begin, end, *offsets, summed, False, problem.lattice)
    most = _largest_sizes(sequences)
    layout = SymbolUnitLayout(
        sequences, cells.n_states, most, has_blocks=bool((has_pairs & ~summed).any())
    )
    if not borrowed.any():
        return layout
    right = np.ones((len(begin), cells.n_states))
    borders = WindowMessages(borrowed, right, np.zeros(cells.n_states), np.ones(cells.n_states))
    return layout._replace(borders=borders)


def _windows(
    starts: np.ndarray, block_length: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Where windows begin and end, and which begin with a borrowed token."""
    if block_length is None:
        return starts[:-1].copy(), starts[1:].copy(), np.zeros(len(starts) - 1, bool)
    sequence, number = group_places(-(-np.diff(starts) // block_length))
    begin = starts[sequence] + number * block_length
    end = np.minimum(begin + block_length, starts[sequence + 1])
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

    Blocks are stored `without` this many rows and columns.
    """
    ambiguous = np.where(count > 1, count, 0)
    n_entries = _sums(ambiguous, begin, end)
    np.maximum(ambiguous - without, 0, out=ambiguous)
    return n_entries, _sums(ambiguous[1:] * ambiguous[:-1], begin, end - 1)


def _sums(values: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Sums of the values [begin[i], end[i])."""
    # Ends are no ranges to be summed, but numpy wants them in between.
    cuts = np.column_stack([begin, end]).ravel()
    sums = np.add.reduceat(np.append(values, 0), cuts, dtype=np.int64)[::2]
    return np.where(end > begin, sums, 0)


def _largest_sizes(sequences: UnitTokens) -> BufferSizes:
    """What a buffer for any of the units has to hold."""
    return BufferSizes(
        int((sequences.end - sequences.begin).max(initial=0)),
        int(np.diff(sequences.entry).max(initial=0)),
        int(np.diff(sequences.pair).max(initial=0)),
        int(sequences.lattice.count.max(initial=0)) ** 2,
    )


def stored_entries(layout: SymbolUnitLayout, entries: np.ndarray) -> np.ndarray:
    """Posteriors of all (token, state) entries, as units keep them."""
    return entries[_places(layout)[0]]


def all_entries(layout: SymbolUnitLayout, posterior: np.ndarray) -> np.ndarray:
    """Posteriors of all (token, state) entries: 1 where a token has one state."""
    entries = np.ones(int(layout.sequences.lattice.count.sum(dtype=np.int64)))
    places, is_own = _places(layout)
    if is_own is not None:
        places, posterior = places[is_own], posterior[is_own]
    entries[places] = posterior
    return entries


def _places(layout: SymbolUnitLayout) -> tuple[np.ndarray, np.ndarray | None]:
    """Which entries the units keep, and which of these are not of borrowed tokens (None: all)."""
    sequences, count = layout.sequences, layout.sequences.lattice.count
    if layout.borders is None:
        return np.repeat(count > 1, count), None
    unit, place = group_places(sequences.end - sequences.begin)
    token = sequences.begin[unit] + place
    is_kept = count[token] > 1
    first = np.cumsum(count, dtype=np.int64) - count
    owner, j = group_places(count[token[is_kept]])
    places = first[token[is_kept]][owner] + j
    is_borrowed = layout.borders.borrowed[unit] & (place == 0)
    return places, ~is_borrowed[is_kept][owner]


# First posteriors, and what they add up to


class SymbolUnits(NamedTuple):
    """All units of CVB: their posteriors and pair marginals, and the counts that they add up to."""

    counts: HMMCounts  # what these posteriors add up to
    learns: bool  # whether a concentration is learned, which asks how surely pairs were there
    layout: SymbolUnitLayout | None  # None where tokens are left out
    posterior: np.ndarray  # q(z_t) as the layout keeps it; of all entries where there is none
    pairs: np.ndarray  # pair marginals as the layout keeps them
    update_unit: UpdateUnit
    n_sweeps: int = 0
    # Absence of transitions in units that keep the sum of their pairs (`kernels.chain.absence`);
    # None before a sweep has noted it.
    pair_absence: np.ndarray | None = None

    @property
    def laid_out(self) -> SymbolUnitLayout:
        """The layout, in what is done for sequences alone."""
        assert self.layout is not None, "tokens are left out, not sequences"
        return self.layout


def first_units(
    problem: Problem,
    starting_point: Callable[[], starting.StartingPoint],
    update_unit: UpdateUnit,
    learns: bool,
) -> SymbolUnits:
    """Units before the first sweep: posteriors of a start, and their counts.

    Weights give the posteriors and pair marginals of one E-step; posteriors stand for independent
    tokens. `starting_point` is called for the start, whose memory is free before pairs are made.
    """
    layout, nothing = layout_of(problem, update_unit), np.empty(0)
    units = SymbolUnits(HMMCounts(*[nothing] * 3), learns, layout, nothing, nothing, update_unit)
    start = starting_point()
    if layout is None:
        entries = starting.posterior_of(start, problem)
        counts = starting.counts_from_marginals(problem, entries)
        return units._replace(counts=counts, posterior=entries)
    expected = None
    if start.weights is not None and update_unit.block_length is None:
        expected = _expected(units, start.weights)
    if expected is None:
        posterior = stored_entries(layout, starting.posterior_of(start, problem))
        # As large as the posteriors themselves: it goes before pairs are made.
        del start
        pairs = product_pairs(layout, posterior, problem.cells.chain.topology)
        expected = units._replace(posterior=posterior, pairs=pairs)
    return expected._replace(counts=counts_of(expected, problem.cells))


def _expected(units: SymbolUnits, weights: ChainWeights) -> SymbolUnits | None:
    """Units with the posteriors and pairs under given weights; None if a path is impossible."""
    layout = units.laid_out
    # A pass divides counts by their totals: weights are counts whose totals are 1.
    ones = np.ones(layout.n_states)
    tally = ChainTally(weights.start, weights.transition, ones, weights.emission, ones)
    shared = shared_by(tally, CountFloor(*tally, 0.0, 0.0))
    sizes = layout.sequences.entry[-1], layout.sequences.pair[-1], layout.n_units
    results = UnitResults(*map(np.empty, sizes))
    make_pass(EXPECT, UnitPass(layout, shared, results, _absence_table(units)))
    if not np.isfinite(results.log_z).all():
        return None
    return units._replace(posterior=results.posterior, pairs=results.pairs)


def product_pairs(
    layout: SymbolUnitLayout, posterior: np.ndarray, topology: Topology | None = None
) -> np.ndarray:
    """Pair marginals of independent tokens: neighbouring posteriors multiplied."""
    pairs = np.empty(layout.sequences.pair[-1])
    lengths = layout.sequences.end - layout.sequences.begin
    for first, last in even_pieces(_offsets(lengths), _STRETCH):
        units = np.arange(first, last)
        is_summed = layout.sequences.summed[units]
        _fill_pair_blocks(layout, posterior, units[~is_summed], pairs)
        _fill_pair_sums(layout, posterior, units[is_summed], pairs, topology)
    return pairs


def _fill_pair_sums(
    layout: SymbolUnitLayout,
    posterior: np.ndarray,
    units: np.ndarray,
    pairs: np.ndarray,
    topology: Topology | None,
) -> None:
    """`product_pairs` of units that keep a sum."""
    sequences, n_states = layout.sequences, layout.n_states
    token, at, last = _entries(sequences, units)
    sums = np.zeros((len(units), n_states, n_states))
    # A table of a stretch at a time, which begins with the last token of the one before.
    for first in range(0, len(token), _STRETCH):
        end = first + _STRETCH + 1
        table = _dense_posteriors(layout, posterior, token[first:end], at[first:end])
        for i in range(np.searchsorted(last, first, side="right"), len(units)):
            begin = max(last[i - 1] if i else 0, first) - first
            if begin >= len(table):
                break
            unit = table[begin : last[i] - first]
            sums[i] += unit[:-1].T @ unit[1:]
    if topology is not None:
        sums[:, ~topology.transition] = 0.0
    owner, place = group_places(np.full(len(units), n_states**2))
    pairs[sequences.pair[units][owner] + place] = sums.ravel()


def _entries(sequences: UnitTokens, units: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The tokens of units, where the posteriors of each begin, and where the units end."""
    lengths = (sequences.end - sequences.begin)[units]
    owner, place = group_places(lengths)
    token = sequences.begin[units][owner] + place
    count = sequences.lattice.count[token]
    # Counted through all units: what those before hold is taken off again.
    before = _offsets(np.where(count > 1, count, 0))[:-1]
    at = sequences.entry[units][owner] + before - before[place == 0][owner]
    return token, at, np.cumsum(lengths)


def _dense_posteriors(
    layout: SymbolUnitLayout, posterior: np.ndarray, token: np.ndarray, at: np.ndarray
) -> np.ndarray:
    """Posteriors of tokens over all states, shape (n_tokens, K)."""
    lattice = layout.sequences.lattice
    owner, slot = group_places(lattice.count[token])
    values, is_kept = np.ones(len(owner)), lattice.count[token][owner] > 1
    values[is_kept] = posterior[(at[owner] + slot)[is_kept]]
    table = np.zeros((len(token), layout.n_states))
    table[owner, lattice.state[lattice.first[token].astype(np.int64)[owner] + slot]] = values
    return table


def _fill_pair_blocks(
    layout: SymbolUnitLayout, posterior: np.ndarray, units: np.ndarray, pairs: np.ndarray
) -> None:
    """`product_pairs` of units that keep blocks."""
    sequences = layout.sequences
    token, at, last = _entries(sequences, units)
    count = sequences.lattice.count[token].astype(np.int64)
    ambiguous = np.where(count > 1, count, 0)
    stored = ambiguous if sequences.whole else np.maximum(ambiguous - 1, 0)
    is_first = np.zeros(len(token) + 1, bool)
    is_first[last] = True
    is_pair = np.flatnonzero(~is_first[1:-1] & (ambiguous[1:] > 0) & (ambiguous[:-1] > 0)) + 1
    pair, step = group_places(stored[is_pair] * stored[is_pair - 1])
    right = is_pair[pair]
    i, j = np.divmod(step, stored[right])
    values = posterior[at[right - 1] + i] * posterior[at[right] + j]
    owner, place = group_places(np.diff(sequences.pair)[units])
    pairs[sequences.pair[units][owner] + place] = values


def counts_of(units: SymbolUnits, cells: Cells) -> HMMCounts:
    """The counts that the posteriors and pairs of units add up to."""
    layout, shared = units.laid_out, shared_nothing(cells)
    if layout.settled is not None:
        shared.emission[:-1] = layout.settled.count
    make_pass(PUT_BACK, _new_pass(units, shared))
    return HMMCounts(shared.start, shared.transition, shared.emission[:-1])


def resumed(units: SymbolUnits, problem: Problem) -> SymbolUnits:
    """Units to go on from, whose counts are those of their posteriors.

    A sweep that was broken off has changed posteriors in place, but the counts before it are kept.
    """
    of_tokens = units.layout is None
    counted = counts_of_tokens(units, problem) if of_tokens else counts_of(units, problem.cells)
    rounding = _ROUNDING * len(problem.corpus.tokens)
    apart = (np.abs(a - b).max(initial=0.0) for a, b in zip(counted, units.counts, strict=True))
    return units if all(one <= rounding for one in apart) else units._replace(counts=counted)


# A sweep and its score


def sweep(
    units: SymbolUnits,
    counts: HMMCounts,
    prior: ChainPrior,
    problem: Problem,
    *,
    frozen: bool = False,
) -> tuple[SymbolUnits, float]:
    """One sweep from the counts of all, or its score; the sum of log normalisers (nats).

    Posteriors and pairs change in place, the counts do not. With all counts `frozen` nothing does,
    and the sum is that of log p(x_i | E[C without i]) over all units: a pseudo leave-one-out score.
    The posteriors of the other units have seen x_i, so it is optimistic, no bound, and may fall
    from sweep to sweep. Later windows of a sequence are conditioned on the forward message of the
    earlier ones.
    """
    is_alone, rest, n_out = units.laid_out.n_units == 1, counts, 1.0
    if is_alone:
        # Taking away nearly all that was counted would leave rounding.
        pairs = zip(counts, units.counts, strict=True)
        rest, n_out = HMMCounts(*(np.maximum(a - b, 0.0) for a, b in pairs)), 0.0
    floor, is_fixed = floor_of(prior), prior.any_fixed
    before = tally_of(rest, prior, problem.cells)
    work = _new_pass(units, shared_by(before, floor, n_out))
    if frozen:
        make_pass(INFER if is_alone else SCORE, work)
    else:
        make_pass(EXPECT if is_alone else SWEEP, work)
    rest_of_cells = prior.emission + (counts.emission - units.counts.emission)
    total = total_of(work.layout, work.results.log_z, rest_of_cells)
    del rest_of_cells  # as large as the emissions themselves, of which more are made
    if frozen:
        return units, total
    units = units._replace(n_sweeps=units.n_sweeps + 1, pair_absence=work.absent)
    # Beside the mass of a row that is fixed no change of its counts has a digit.
    if is_alone or is_fixed or units.n_sweeps % REBUILT == 0:
        own_counts = counts_of(units, problem.cells)
    else:
        own_counts = shifted_counts(units.counts, before, work.shared)
    return units._replace(counts=own_counts), total


def shared_by(tally: ChainTally, floor: CountFloor, n_out: float = 1.0) -> SharedCounts:
    """A copy of a tally as passes need it, which take out `n_out` sequences at a time."""
    n_states = len(tally.out)
    steps = np.concatenate([tally.transition.ravel(), tally.start])
    # The sequence that is left out begins with probability 1.
    total = tally.start.sum() - n_out
    return SharedCounts(
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


def shared_nothing(cells: Cells) -> SharedCounts:
    """What units are counted into."""
    n = cells.n_states
    zeros = ChainTally(
        np.zeros(n), np.zeros((n, n)), np.zeros(n), np.zeros(len(cells.state)), np.zeros(n)
    )
    return shared_by(zeros, CountFloor(*zeros, 0.0, 0.0))


def shifted_counts(counts: HMMCounts, before: ChainTally, after: SharedCounts) -> HMMCounts:
    """The counts of units after what a sweep has taken out of a tally, and put back."""
    tables = (
        (counts.start, before.start, after.start),
        (counts.transition, before.transition, after.transition),
        (counts.emission, before.emission, after.emission[:-1]),
    )
    changes = [now - then for _, then, now in tables]
    for change, (counts, _, _) in zip(changes, tables, strict=True):
        change += counts
        np.maximum(change, 0.0, out=change)
    return HMMCounts(*changes)


def total_of(layout: SymbolUnitLayout, log_z: np.ndarray, rest: np.ndarray) -> float:
    """The sum of log normalisers (nats), with the settled emissions that lists leave out.

    `rest` is what emission cells have beside the counts of these units: the prior, and others'.
    """
    total, settled = log_z.sum(), layout.settled
    if settled is not None:
        total += settled.times @ np.log(settled.rest + rest[settled.cell])
    return float(total)


# A pass over units, each by its engine


class UnitPass(NamedTuple):
    """What passes over all units change and need (`absent`: see `pass_over_sequences`)."""

    layout: SymbolUnitLayout
    shared: SharedCounts
    results: UnitResults
    absent: np.ndarray | None = None


def _new_pass(units: SymbolUnits, shared: SharedCounts) -> UnitPass:
    """What a pass over these units changes and needs."""
    results = UnitResults(units.posterior, units.pairs, np.empty(units.laid_out.n_units))
    return UnitPass(units.laid_out, shared, results, _absence_table(units))


def _absence_table(units: SymbolUnits) -> np.ndarray | None:
    """Where a pass notes how surely each pair was there, which a sum of pairs does not say.

    None where nobody asks. All passes of a fit get the same type, or kernels would be compiled
    twice.
    """
    layout = units.laid_out
    if not (units.learns and layout.sequences.summed.any()):
        return None
    return np.ones((layout.n_states, layout.n_states))


def make_pass(steps: int, work: UnitPass, span: tuple[int, int] | None = None) -> None:
    """Make a pass over the units of `span` (None: all), each by its engine.

    Units that float64 loses are inferred in log space.
    """
    layout = work.layout
    first, last = span or (0, layout.n_units)
    while first < last:
        arguments = UnitSpan(steps, first, last), work.shared
        if layout.lists is not None:
            most = layout.largest
            one, other = np.empty((2, most.n_entries))
            rows = np.empty((N_ROWS, layout.n_states))
            buffers = ListBuffers(one, other, np.empty(most.n_pairs), rows)
            stop = pass_over_lists(*arguments, layout.lists, work.results, buffers)
        else:
            arrays, buffers = (layout.sequences, work.results, layout.borders), _buffers(layout)
            block = buffers.block if layout.has_blocks else None
            stop = pass_over_sequences(*arguments, *arrays, work.absent, block, buffers)
        if stop < last:
            _recover(steps, work, stop)
        first = stop + 1


def _recover(steps: int, work: UnitPass, unit: int) -> None:
    """Finish the steps of a pass for a unit that was lost on the way."""
    layout, results = work.layout, work.results
    arguments = work.shared, layout.sequences, results, layout.borders, work.absent
    infer_in_logs(steps, unit, *arguments, _buffers(layout))
    if layout.settled is not None:
        # Log space weighs all tokens, lists leave the settled ones out.
        lattice = layout.sequences.lattice
        tokens = slice(layout.sequences.begin[unit], layout.sequences.end[unit])
        cells = lattice.cell[lattice.first[tokens]][lattice.count[tokens] == 1]
        cells = cells[cells >= 0]
        cells = cells[layout.settled.is_settled[cells]]
        results.log_z[unit] -= np.log(work.shared.emission[cells]).sum()
    if steps & PUT_BACK:
        make_pass(PUT_BACK, work, (unit, unit + 1))


def _buffers(layout: SymbolUnitLayout) -> UnitWorkspace:
    """Buffers for any unit, token by token."""
    most = layout.largest
    # Certain tokens have an entry of their own while a unit is inferred.
    n_entries = most.n_entries + most.n_tokens
    return workspace_of_size(n_entries, most.n_tokens, layout.n_states, most.n_block)


# Absence: how surely a count is 0


def knows_absence(units: SymbolUnits) -> bool:
    """Whether sums of pairs, if there are any, were watched in the last sweep."""
    layout = units.layout
    return layout is None or units.pair_absence is not None or not layout.sequences.summed.any()


def absence_of(units: SymbolUnits, problem: Problem) -> Absence:
    """P(C = 0) of all counts under the state's posteriors and pairs."""
    absence = initial_absence(problem.cells.n_states, len(problem.cells.state))
    if units.layout is None:
        absence_of_tokens(problem.lattice, problem.corpus.starts, units.posterior, absence)
        return absence
    layout = units.layout
    borrowed = np.zeros(layout.n_units, bool) if layout.borders is None else layout.borders.borrowed
    block = np.empty(int(problem.lattice.count.max(initial=0)) ** 2)
    absence_of_units(layout.sequences, borrowed, units.posterior, units.pairs, absence, block)
    if units.pair_absence is not None:
        absence.transition[:] *= units.pair_absence
    return absence


# A token at a time (figure 3)


def sweep_by_token(
    units: SymbolUnits, counts: HMMCounts, prior: ChainPrior, problem: Problem
) -> tuple[SymbolUnits, float]:
    """Algorithm 1; the sum of log normalisers (nats)."""
    tokens = _tokens(units, problem)
    # The prior is not in this tally, which changes in place.
    tally = tally_of(HMMCounts(*map(np.copy, counts)), None, problem.cells)
    total = leave_token_out.sweep_tokens(
        tally, floor_of(prior), tokens, leave_token_out.token_workspace(problem.cells.n_states)
    )
    # Counted again, so that rounding does not build up.
    return units._replace(counts=counts_of_tokens(units, problem)), total


def counts_of_tokens(units: SymbolUnits, problem: Problem) -> HMMCounts:
    """The counts that the posteriors of independent tokens add up to."""
    counts = empty_counts(problem.cells)
    leave_token_out.count_tokens(_tokens(units, problem), *counts)
    return counts


def _tokens(units: SymbolUnits, problem: Problem) -> leave_token_out.Tokens:
    return leave_token_out.Tokens(problem.lattice, problem.corpus.starts, units.posterior)


def score_of_tokens(units: SymbolUnits, prior: ChainPrior, problem: Problem) -> float:
    """Score of independent tokens, whole sequences left out."""
    starts, n_states = problem.corpus.starts, problem.cells.n_states
    tally, floor = tally_of(units.counts, prior, problem.cells), floor_of(prior)
    factors = ChainFactors(tally.start, tally.transition, tally.emission, *np.empty((2, n_states)))
    tokens = _tokens(units, problem)
    longest = int(np.diff(starts).max())
    entries = longest * int(problem.lattice.count.max())
    work = workspace_of_size(entries, longest, n_states, 0)
    log_z = np.empty(len(starts) - 1)
    # The sequence that is left out begins with probability 1.
    log_start = np.log(tally.start.sum() - 1.0)
    leave_token_out.score_sequences(tally, floor, tokens, factors, work, log_z)
    if np.isnan(log_z).any():
        leave_token_out.score_in_logs(tally, floor, tokens, factors, work, log_z)
    return float((log_z - log_start).sum())


def score_in_windows(
    units: SymbolUnits, prior: ChainPrior, problem: Problem, block_length: int
) -> float:
    """Score of independent tokens, windows left out."""
    layout = layout_for(problem, block_length)
    posterior = stored_entries(layout, units.posterior)
    pairs = product_pairs(layout, posterior, problem.cells.chain.topology)
    windows = units._replace(layout=layout, posterior=posterior, pairs=pairs)
    return sweep(windows, units.counts, prior, problem, frozen=True)[1]
