"""Stores of symbols: fits whose sweeps go over pieces of a corpus on the disk.

The problem is laid out once, piece by piece, and kept on the disk. The pieces are shards
(`sklearn_cvb.scale.parts`) of a plain fit. A piece is loaded, asked, and dropped before the next:
memory holds one piece and the counts of all.

In collapsed variational Bayes posteriors and pairs lie in memory-mapped files. A sweep goes through
the pieces in their order and leaves out one sequence after the other from the counts of now, as a
sweep in memory does: the numbers are the same.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs

from sklearn_cvb.chain.options import ChainOptions
from sklearn_cvb.chain.parameters import rows as parameters
from sklearn_cvb.chain.paths.lattice import Cells, Problem
from sklearn_cvb.chain.starts.starting_points import StartingPoint
from sklearn_cvb.chain.symbols.engines import Engines, engines_of
from sklearn_cvb.chain.symbols.leave_out import (
    HALF_OF_ALL,
    REBUILT,
    WHOLE,
    SymbolUnitLayout,
    SymbolUnits,
    UnitPass,
    UpdateUnit,
    absence_of,
    first_units,
    make_pass,
    shared_by,
    shared_nothing,
    shifted_counts,
    total_of,
)
from sklearn_cvb.chain.symbols.model import ChainSettings, SymbolChain
from sklearn_cvb.chain.symbols.observed import SymbolObservation, best_path, update_unit_of
from sklearn_cvb.kernels.chain.absence import Absence
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights
from sklearn_cvb.kernels.chain.leave_out import (
    EXPECT,
    INFER,
    PUT_BACK,
    SCORE,
    SWEEP,
    SharedCounts,
    UnitResults,
)
from sklearn_cvb.learning.learned import FitResult, Reading
from sklearn_cvb.learning.model import InferenceResult, State
from sklearn_cvb.reading.corpus import Corpus, short_repr
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.scale.parts import PartIndex, PartResult, PartSummary, ShardState, add_results
from sklearn_cvb.scale.symbols import parts
from sklearn_cvb.scale.symbols.stored_sequences import (
    classes_of,
    log_likelihoods_of_store,
    part_of_store,
    states_of_store,
    types_of_store,
    word_counts_of_store,
)
from sklearn_cvb.scale.symbols.vocabulary_pass import (
    SymbolPartLayout,
    lay_out,
    problem_of_part,
    words_and_cells,
)
from sklearn_cvb.store import CorpusStore, StoredStates, StoredTags, write_store
from sklearn_cvb.store.files import STARTS, TAGS, TOKENS
from sklearn_cvb.store.scratch import Scratch, ScratchValue
from sklearn_cvb.store.writing import temporary_store

# What is asked of a family on the disk (see `BeyondMemory._on_disk`).
__all__ = ["log_likelihoods_of_store", "read_store", "states_of_store"]


class StorePiece(NamedTuple):
    """A piece of a store, laid out on the disk."""

    stored: ScratchValue  # its problem and, for EM and VB, the forms of its sequences
    index: PartIndex
    summary: PartSummary
    unexplained: np.ndarray  # sequences that no path can explain, by their number in the store


class StorePieces:
    """All pieces of a store under a layout; `with_forms` of their sequences for EM and VB."""

    cells: Cells
    settings: ChainSettings

    def __init__(
        self, layout: SymbolPartLayout, store: CorpusStore, y: StoredTags | None, with_forms: bool
    ) -> None:
        self.store: CorpusStore = store
        scratch = Scratch(store.scratch)
        self.pieces: list[StorePiece] = []
        types, spans = types_of_store(store), store.pieces()
        # What pieces warn of, and the first sequence of the first that does.
        self.messages: dict[str, int] = {}
        for index, span in enumerate(spans):
            problem, messages = problem_of_part(layout, part_of_store(store, types, span, y))
            for message in messages:
                self.messages.setdefault(message, span[0])
            chain = parts.chain_of(layout, problem)
            # Those of all pieces, but for where a start would begin that is none of theirs.
            self.cells, self.settings = chain.cells, chain.settings
            forms = engines_of(problem) if with_forms else None
            if forms is not None and forms.side_by_side is not None:
                # Their tables have a row for each word: made again they cost less than they take.
                forms = None
            kept = scratch.write_value((_without_unknown_words(problem), forms), (Cells,))
            at = PartIndex(index, span[0])
            unexplained = problem.original_sequences(np.empty(0, np.intp)) + at.first_unit
            self.pieces.append(
                StorePiece(kept, at, parts.ChainShard(chain, at).summary(), unexplained)
            )

    @property
    def summaries(self) -> list[PartSummary]:
        """What the leader knows of the pieces."""
        return [piece.summary for piece in self.pieces]

    def original_sequences(self, unexplained: np.ndarray) -> np.ndarray:
        """The sequences that no path can explain."""
        return np.concatenate([piece.unexplained for piece in self.pieces])

    def load(self, index: int) -> tuple[Problem, Engines | None]:
        """The problem of a piece, and its forms."""
        return self.pieces[index].stored.load()

    def __iter__(self) -> Iterator[Problem]:
        for index in range(len(self.pieces)):
            yield self.load(index)[0]


def _without_unknown_words(problem: Problem) -> Problem:
    """A problem without the words that the model does not know, of which it knows the codes."""
    rest = problem.impossible
    return problem._replace(
        corpus=problem.corpus._replace(unknown=[]),
        original=problem.original._replace(unknown=[]),
        impossible=None if rest is None else _without_unknown_words(rest),
    )


class StoredParts:
    """A source of shards: the pieces of a store, all asked under the same weights or counts.

    Each of `n_jobs` threads has a piece of its own; the result does not depend on it.
    """

    def __init__(self, pieces: StorePieces, n_jobs: int | None = None) -> None:
        self.pieces = pieces
        self._n_threads = min(effective_n_jobs(n_jobs), len(pieces.pieces))
        # Sequences that float64 has lost, by piece.
        self._lost: dict[int, np.ndarray] = {}

    def ask(self, name: str, *arguments: Any) -> PartResult:
        """Call a method of every piece's shard, and add up what they return in their order."""

        found_in, indices = (
            partial(self._ask_piece, name, arguments),
            range(len(self.pieces.pieces)),
        )
        if self._n_threads == 1:
            return reduce(add_results, map(found_in, indices))
        with ThreadPoolExecutor(self._n_threads) as pool:
            return reduce(add_results, pool.map(found_in, indices))

    def _ask_piece(self, name: str, arguments: tuple[Any, ...], index: int) -> PartResult:
        problem, forms = self.pieces.load(index)
        if index in self._lost:
            forms = engines_of(problem, self._lost[index])
        chain = SymbolChain(problem, self.pieces.settings)
        shard = parts.ChainShard(chain, self.pieces.pieces[index].index)
        shard.work = forms
        found: PartResult = getattr(shard, name)(*arguments)
        if shard.work is not None and len(shard.work.lost):
            self._lost[index] = np.array(shard.work.lost)
        return found


class _PieceUnits(NamedTuple):
    """The units of a piece between sweeps: their layout, posteriors and pairs."""

    layout: SymbolUnitLayout
    posterior: np.ndarray
    pairs: np.ndarray


class StoredPosteriors(NamedTuple):
    """Shares of a restart on the disk: the units of all pieces."""

    files: list[ScratchValue]  # of each piece
    n_units: int
    # Whether a unit keeps the sum of its pairs, which does not say how surely each was there.
    has_pair_sums: bool
    n_sweeps: int = 0
    pair_absence: np.ndarray | None = None  # P(C = 0) of summed pairs in the last sweep
    counts: parameters.HMMCounts | None = None  # the sum over units


class StoredChain(SymbolChain):
    """All pieces of a store as one chain, with shares on the disk; its problem is `StorePieces`.

    A pass goes through the pieces in their order, and hands the counts on.
    """

    problem: Any

    def start(
        self, prior: parameters.ChainPrior, seed: Any, keep: bool
    ) -> tuple[InferenceResult, None]:
        """First posteriors of all pieces, and their counts; scored where weights are given."""
        scratch, n_units, has_pair_sums = Scratch(self.problem.store.scratch), 0, False
        files: list[ScratchValue] = []
        for index, problem in enumerate(self.problem):
            begin = partial(parts.start_of, seed, problem, index)
            if isinstance(seed, ChainWeights):
                begin = partial(StartingPoint, None, seed)
            one = first_units(problem, begin, self.settings.update_unit, self.learns)
            n_units += one.laid_out.n_units
            has_pair_sums |= bool(one.laid_out.sequences.summed.any())
            layout = _with_lattice(one.laid_out, None)
            files.append(scratch.write_value(_PieceUnits(layout, one.posterior, one.pairs)))
        units, total = StoredPosteriors(files, n_units, has_pair_sums), 0.0
        counts = self.recount(units)
        if isinstance(seed, ChainWeights):
            tally = parameters.tally_of(counts, prior, self.cells)
            total = self._run_pass(SCORE, shared_by(tally, parameters.floor_of(prior)), units)
        return InferenceResult(counts, total, shares=units._replace(counts=counts)), None

    def leave_out(
        self,
        counts: parameters.HMMCounts,
        prior: parameters.ChainPrior,
        shares: StoredPosteriors,
        *,
        frozen: bool,
    ) -> InferenceResult:
        """Each sequence, or window, of all pieces in turn from the counts of all others."""
        is_alone, units = shares.n_units == 1, shares
        # Without the only unit nothing is left but the prior.
        others = parameters.empty_counts(self.cells) if is_alone else counts
        before = parameters.tally_of(others, prior, self.cells)
        shared = shared_by(before, parameters.floor_of(prior), 0.0 if is_alone else 1.0)
        if frozen:
            total = self._run_pass(INFER if is_alone else SCORE, shared, units)
            return InferenceResult(counts, total, shares=units)
        units = units._replace(n_sweeps=units.n_sweeps + 1, pair_absence=self._absence_table(units))
        total = self._run_pass(EXPECT if is_alone else SWEEP, shared, units, units.pair_absence)
        is_rebuilt = is_alone or units.n_sweeps % REBUILT == 0
        own = self.recount(units) if is_rebuilt else shifted_counts(counts, before, shared)
        return InferenceResult(own, total, shares=units._replace(counts=own))

    def absence(self, shares: StoredPosteriors) -> Absence:
        """P(C = 0) of all counts: the product over the pieces."""
        assert shares.counts is not None, "a start and a sweep leave their counts"
        whole: Absence | None = None
        for index, problem in enumerate(self.problem):
            own = absence_of(self.units_of(shares, index, shares.counts), problem)
            whole = own if whole is None else Absence(*map(np.multiply, whole, own))
        assert whole is not None, "a store has a sequence"
        if shares.pair_absence is not None:
            whole.transition[:] *= shares.pair_absence
        return whole

    def units_of(
        self, shares: StoredPosteriors, index: int, counts: parameters.HMMCounts
    ) -> SymbolUnits:
        """The units of a piece as if it were a corpus of its own, with the counts of all."""
        kept = self._load_units(shares, index)
        return SymbolUnits(counts, self.learns, *kept, self.settings.update_unit)

    def recount(self, shares: StoredPosteriors) -> parameters.HMMCounts:
        """The counts that posteriors and pairs add up to."""
        shared = shared_nothing(self.cells)
        for index in range(len(shares.files)):
            settled = self._load_units(shares, index).layout.settled
            if settled is not None:
                shared.emission[:-1] += settled.count
        self._run_pass(PUT_BACK, shared, shares)
        return parameters.HMMCounts(shared.start, shared.transition, shared.emission[:-1])

    def _load_units(self, shares: StoredPosteriors, index: int) -> _PieceUnits:
        units: _PieceUnits = shares.files[index].load()
        problem, _ = self.problem.load(index)
        return units._replace(layout=_with_lattice(units.layout, problem.lattice))

    def _absence_table(self, units: StoredPosteriors) -> np.ndarray | None:
        """A table for P(C = 0) of summed pairs, which a pass fills; None where nobody asks."""
        n_states = self.cells.n_states
        return np.ones((n_states, n_states)) if units.has_pair_sums and self.learns else None

    def _run_pass(
        self,
        steps: int,
        shared: SharedCounts,
        units: StoredPosteriors,
        absent: np.ndarray | None = None,
    ) -> float:
        """A pass over all units, which changes what they share; summed log normalisers (nats)."""
        total, absent = 0.0, self._absence_table(units) if absent is None else absent
        for index in range(len(units.files)):
            kept = self._load_units(units, index)
            stored = UnitResults(kept.posterior, kept.pairs, np.empty(kept.layout.n_units))
            make_pass(steps, UnitPass(kept.layout, shared, stored, absent))
            if steps == PUT_BACK:
                continue
            settled = kept.layout.settled
            # Counts of settled cells never change: all but those of this piece are others'. A unit
            # that is alone is inferred from the prior, which has none of them.
            is_among = steps not in (EXPECT, INFER)
            own = settled.count if settled is not None and is_among else 0.0
            total += total_of(kept.layout, stored.log_z, shared.emission[:-1] - own)
        return total


class _WholeStoreShard(parts.ChainShard):
    """All pieces of a store as one shard."""

    def _own_seed(self, seed: parts.SharedStart) -> parts.SharedStart:
        return seed


class SequentialParts(StoredParts):
    """A source that sweeps the pieces of a store in turn, each from the counts after the last."""

    def __init__(self, pieces: StorePieces) -> None:
        super().__init__(pieces)
        on_disk: Any = pieces
        self._chain = StoredChain(on_disk, pieces.settings)
        self._shard = _WholeStoreShard(self._chain, PartIndex(0, 0), keeps_runs=True)

    def ask(self, name: str, *arguments: Any) -> PartResult:
        """Ask all pieces as one shard where they change counts of others, else each alone."""
        if name in ("start", "sweep", "score"):
            return getattr(self._shard, name)(*arguments)
        return super().ask(name, *arguments)

    def take_over_state(self, state: State, before: "SequentialParts") -> State:
        """The state with the posteriors of another fit on the same pieces, and their counts."""
        shares = before._shard.states[state.shares.run].shares
        counts = self._chain.recount(shares)
        shares = shares._replace(counts=counts)
        held = ShardState(state.n_sweeps, shares, PartResult(counts, 0.0))
        self._shard.states[state.shares.run] = held
        return state._replace(counts=counts)

    def state_of_piece(self, state: State, index: int) -> State:
        """The state of a piece as if it were a corpus of its own, with the counts of all."""
        shares = self._shard.states[state.shares.run].shares
        units = self._chain.units_of(shares, index, state.counts)
        return state._replace(shares=units)


class SequentialChain(parts.ShardedChain):
    """A sharded chain swept in turn, whose posteriors a later fit may go on with."""

    def finish(self, state: State, *, goes_on: bool) -> State:
        """With the source of the posteriors, where a fit goes on."""
        state, source = super().finish(state, goes_on=goes_on), self.problem.source
        return state._replace(shares=state.shares._replace(source=source if goes_on else None))

    def compact(self, state: State) -> State:
        """Without: another process infers posteriors again."""
        state = super().compact(state)
        return state._replace(shares=state.shares._replace(source=None))

    def adapt_state(self, state: State) -> State | None:
        """The state under the prior of now, with its posteriors where the pieces are the same."""
        before, source = state.shares.source, self.problem.source
        based = super().adapt_state(state._replace(shares=state.shares._replace(source=None)))
        if based is None or before is None:
            return based
        if before.pieces.settings.update_unit != source.pieces.settings.update_unit:
            return None
        if before.pieces.summaries != source.pieces.summaries:
            return based
        return source.take_over_state(based, before)


def _with_lattice(layout: SymbolUnitLayout, lattice: Any) -> SymbolUnitLayout:
    """A layout with another lattice: that of the problem is kept once, with the problem."""
    return layout._replace(sequences=layout.sequences._replace(lattice=lattice))


def read_store(observation: SymbolObservation, X: Any, y: Any) -> Reading:
    """The reading of a store, or of data that are first encoded into a temporary one."""
    options = observation.options
    if options.supervision == "none":
        y = None
    _refuse(options, y)
    store = X
    if not isinstance(X, CorpusStore):
        store = temporary_store(partial(write_store, X))
    if y is not None and not isinstance(y, StoredTags):
        raise TypeError(
            f"y is {short_repr(y)}: the tags of a store lie beside it; write them with "
            "write_store(..., tagged=True), and pass store.tags"
        )
    if y is not None and (len(y) != len(store) or y.store.n_tokens != store.n_tokens):
        raise ValueError(f"X holds {len(store)} sequences but y {len(y)}: pass the tags of X")
    tags = y if options.dictionary is not None else None
    # Before the first of many passes: a bit that was flipped would change the fit silently.
    store.check(TOKENS, STARTS)
    if tags is not None:
        tags.store.check(TAGS, STARTS)
    # The parameters are laid out from a survey of the words, then all pieces.
    counts = word_counts_of_store(store, tags, options.words.handle_unknown == "form")
    types = store.vocabulary.tolist() if options.words.vocabulary is None else None
    plan = lay_out(observation, counts, types)
    pieces = StorePieces(plan.part_layout, store, tags, with_forms=not options.is_collapsed)
    words, cells = words_and_cells(plan)
    messages = [*plan.messages]
    messages += [f"from sequence {i} on: {message}" for message, i in pieces.messages.items()]
    if options.is_collapsed:
        longest, length = store.longest()
        update_unit = update_unit_of(options, length, store.n_tokens) or WHOLE
        pieces.settings = pieces.settings._replace(update_unit=update_unit)
        whole = ChainInPieces(cells, plan.corpus, SequentialParts(pieces), tags)
        whole.chain, whole.longest = SequentialChain, (length, store.n_tokens)
        if 2 * length > store.n_tokens and update_unit == WHOLE:
            # What is left without it is little to learn from.
            messages.append(HALF_OF_ALL.format(longest))
    else:
        whole = ChainInPieces(cells, plan.corpus, StoredParts(pieces, options.n_jobs), tags)
    attributes = observation.attributes_of(words)
    return Reading(whole, words, attributes, tuple(messages), observation)


def _refuse(options: ChainOptions, y: Any) -> None:
    """Raise on what a fit in pieces cannot do."""
    name = options.name
    if options.samples is not None:
        raise InvalidParameterError(
            f"{name} keeps samples of all tokens in memory: pass list(store), or use EM, VB or CVB"
        )
    if update_unit_of(options) == UpdateUnit("token", None):
        raise InvalidParameterError(
            f"on a store {name} leaves out a sequence or a window at a time: use "
            f"update='sequence', got update={options.update!r}; or pass list(store)"
        )
    if y is not None and options.dictionary is None and options.supervision == "y":
        raise InvalidParameterError(
            f"on a store {name} does not learn from states in y: use a tagger, or pass list(store)"
        )


class ChainInPieces(parts.ChainInParts):
    """A problem of chains in pieces on the disk, with the tags that a tagger learns from."""

    def __init__(
        self, cells: Cells, types: Corpus, source: StoredParts, tags: StoredTags | None
    ) -> None:
        super().__init__(cells, types, source.pieces.summaries, source)
        self.pieces: StorePieces = source.pieces
        self.tags: StoredTags | None = tags

    @property
    def identity(self) -> tuple[Any, ...]:
        """Checksums of the sequences and of their tags; the cut is free."""
        cells, tags = self.cells, self.tags
        steps = cells.indptr, cells.state, cells.n_states, cells.chain.topology
        return (self.pieces.store.identity, None if tags is None else tags.store.identity, *steps)

    def path_attributes(self, result: FitResult) -> dict[str, Any]:
        """The states of all tokens, on the disk."""
        state, reading, averages = result.best.state, result.reading, result.algorithm.averages
        pieces, classes = self.pieces, classes_of(reading.words, self.cells)
        held, observation = np.zeros(len(classes), np.int64), reading.observation
        assert isinstance(observation, SymbolObservation), "of symbols"
        index = {begin: i for i, (begin, _) in enumerate(pieces.store.pieces())}

        def path_of(begin: int, end: int) -> np.ndarray:
            one, _ = pieces.load(index[begin])
            own = state
            if isinstance(self.source, SequentialParts):
                own = self.source.state_of_piece(state, index[begin])
            chain = observation.model(reading._replace(problem=one))
            path = best_path(chain, own, observation.options.n_jobs, averages=averages)
            held[:] += np.bincount(path, minlength=len(held))
            return path

        labels = StoredStates(pieces.store, classes, path_of)
        return {"labels_": labels, **parameters.shared_weights(state.hyper, held)}
