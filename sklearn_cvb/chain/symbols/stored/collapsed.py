"""Collapsed variational Bayes on a store: posteriors and pairs lie in a memory-mapped file.

A sweep goes through the pieces in their order and leaves out one sequence after the other from the
counts of now, as a sweep in memory does: the numbers are the same.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.lattice import Problem
from sklearn_cvb.chain.parameters import HMMCounts, Prior, empty_counts, floor_of, tally_of
from sklearn_cvb.chain.starts import Start
from sklearn_cvb.chain.symbols.leave_out import (
    REBUILT,
    Layout,
    LeftOut,
    Pass,
    Units,
    absence_of,
    first_units,
    make_pass,
    moved,
    shared_by,
    shared_nothing,
    total_of,
)
from sklearn_cvb.chain.symbols.model import SymbolChain
from sklearn_cvb.chain.symbols.shards import ChainShard, ShardedChain
from sklearn_cvb.chain.symbols.shared_start import Seed, start_of
from sklearn_cvb.chain.symbols.stored.pieces import Pieces, StoredParts
from sklearn_cvb.kernels.chain.absence import Absence
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.kernels.chain.leave_out import (
    EXPECT,
    INFER,
    PUT_BACK,
    SCORE,
    SWEEP,
    Shared,
    Stored,
)
from sklearn_cvb.learning.model import Inferred, State
from sklearn_cvb.learning.parts import Found, Held, Place
from sklearn_cvb.store.scratch import Kept, Scratch


class _Posteriors(NamedTuple):
    """What a piece keeps between sweeps: its units, their posteriors and pairs."""

    layout: Layout
    posterior: np.ndarray
    pairs: np.ndarray


class OnDisk(NamedTuple):
    """The units of a restart.

    Attributes
    ----------
    files : list of Kept
        Those of each piece.
    n_units : int
    is_summed : bool
        Whether a unit keeps the sum of its pairs, which does not say how surely each was there.
    n_sweeps : int
    absent : ndarray or None
        What was noted in the last sweep.
    own : HMMCounts or None
        What the units add up to.
    """

    files: list[Kept]
    n_units: int
    is_summed: bool
    n_sweeps: int = 0
    absent: np.ndarray | None = None
    own: HMMCounts | None = None


class StoredChain(SymbolChain):
    """All pieces of a store as one chain, whose shares are on the disk; its problem are `Pieces`.

    It goes through them in turn and hands the counts on.
    """

    problem: Any

    def start(self, prior: Prior, seed: Any, keep: bool) -> tuple[Inferred, None]:
        """First posteriors of all pieces, and their counts; scored where weights are given."""
        scratch, n_units, is_summed = Scratch(self.problem.store.scratch), 0, False
        files: list[Kept] = []
        for index, problem in enumerate(self.problem):
            begin = partial(_start_of_piece, seed, problem, index)
            one = first_units(problem, begin, self.settings.left_out, self.learns)
            n_units += one.laid_out.n_units
            is_summed |= bool(one.laid_out.sequences.summed.any())
            layout = _with_lattice(one.laid_out, None)
            files.append(scratch.keep(_Posteriors(layout, one.posterior, one.pairs)))
        units, total = OnDisk(files, n_units, is_summed), 0.0
        counts = self.recounted(units)
        if isinstance(seed, Weights):
            tally = tally_of(counts, prior, self.cells)
            total = self._pass(SCORE, shared_by(tally, floor_of(prior)), units)
        return Inferred(counts, total, shares=units._replace(own=counts)), None

    def leave_out(
        self, counts: HMMCounts, prior: Prior, shares: OnDisk, *, frozen: bool
    ) -> Inferred:
        """Each sequence, or window, of all pieces in turn from the counts of all others."""
        if frozen:
            return Inferred(counts, self._score(counts, prior, shares), shares=shares)
        units = shares._replace(n_sweeps=shares.n_sweeps + 1, absent=self._noted(shares))
        if units.n_units == 1:
            total = self._pass(EXPECT, self._prior_alone(prior), units, units.absent)
            own = self.recounted(units)
        else:
            before = tally_of(counts, prior, self.cells)
            shared = shared_by(before, floor_of(prior))
            total = self._pass(SWEEP, shared, units, units.absent)
            is_rebuilt = units.n_sweeps % REBUILT == 0
            own = self.recounted(units) if is_rebuilt else moved(counts, before, shared)
        return Inferred(own, total, shares=units._replace(own=own))

    def _score(self, counts: HMMCounts, prior: Prior, units: OnDisk) -> float:
        """The leave-one-out score with all counts frozen."""
        if units.n_units == 1:
            return self._pass(INFER, self._prior_alone(prior), units)
        shared = shared_by(tally_of(counts, prior, self.cells), floor_of(prior))
        return self._pass(SCORE, shared, units)

    def absence(self, shares: OnDisk) -> Absence:
        """P(C = 0) of all counts: the product over the pieces."""
        assert shares.own is not None, "a start and a sweep leave their counts"
        whole: Absence | None = None
        for index, problem in enumerate(self.problem):
            own = absence_of(self.units_of(shares, index, shares.own), problem)
            whole = (
                own if whole is None else Absence(*(a * b for a, b in zip(whole, own, strict=True)))
            )
        assert whole is not None, "a store has a sequence"
        if shares.absent is not None:
            whole.transition[:] *= shares.absent
        return whole

    def units_of(self, shares: OnDisk, index: int, counts: HMMCounts) -> Units:
        """The units of a piece as if it were a corpus of its own, with the counts of all."""
        kept = self._kept(shares, index)
        return Units(
            own=counts,
            learns=self.learns,
            layout=kept.layout,
            posterior=kept.posterior,
            pairs=kept.pairs,
            left_out=self.settings.left_out,
        )

    def recounted(self, shares: OnDisk) -> HMMCounts:
        """The counts that posteriors and pairs add up to."""
        shared = shared_nothing(self.cells)
        for index in range(len(shares.files)):
            settled = self._kept(shares, index).layout.settled
            if settled is not None:
                shared.emission[:-1] += settled.count
        self._pass(PUT_BACK, shared, shares)
        return HMMCounts(shared.start, shared.transition, shared.emission[:-1])

    def _prior_alone(self, prior: Prior) -> Shared:
        """What is left of the counts without the only unit."""
        tally = tally_of(empty_counts(self.cells), prior, self.cells)
        return shared_by(tally, floor_of(prior), 0.0)

    def _kept(self, shares: OnDisk, index: int) -> _Posteriors:
        units: _Posteriors = shares.files[index].load()
        problem, _ = self.problem.load(index)
        return units._replace(layout=_with_lattice(units.layout, problem.lattice))

    def _noted(self, units: OnDisk) -> np.ndarray | None:
        """Where a pass notes how surely sums of pairs were there; None where nobody asks."""
        n_states = self.cells.n_states
        return np.ones((n_states, n_states)) if units.is_summed and self.learns else None

    def _pass(
        self, steps: int, shared: Shared, units: OnDisk, absent: np.ndarray | None = None
    ) -> float:
        """A pass over all units, which changes what they share; summed log normalisers (nats)."""
        total, absent = 0.0, self._noted(units) if absent is None else absent
        for index in range(len(units.files)):
            kept = self._kept(units, index)
            stored = Stored(kept.posterior, kept.pairs, np.empty(kept.layout.n_units))
            make_pass(steps, Pass(kept.layout, shared, stored, absent))
            if steps == PUT_BACK:
                continue
            settled = kept.layout.settled
            # Counts of settled cells never change: all but those of this piece are others'.
            own = 0.0 if settled is None else settled.count
            total += total_of(kept.layout, stored.log_z, shared.emission[:-1] - own)
        return total


class _ShardInTurn(ChainShard):
    """All pieces of a store as one shard."""

    def _own(self, seed: Seed) -> Seed:
        return seed

    def _as_given(self, unexplained: np.ndarray) -> np.ndarray:
        return self.model.problem.unexplained


class InTurn(StoredParts):
    """The pieces of a store, swept in turn: each from the counts that the one before has left.

    Parameters
    ----------
    pieces : Pieces
    """

    def __init__(self, pieces: Pieces) -> None:
        super().__init__(pieces)
        on_disk: Any = pieces
        self._chain = StoredChain(on_disk, pieces.settings)
        self._shard = _ShardInTurn(self._chain, Place(0, 0), keeps_runs=True)

    def ask(self, name: str, *arguments: Any) -> Found:
        """Go through all pieces; where none changes the counts of others, one after the other."""
        if name in ("start", "sweep", "score"):
            found: Found = getattr(self._shard, name)(*arguments)
            return found
        return super().ask(name, *arguments)

    @property
    def left_out(self) -> LeftOut:
        """What is left out at a time."""
        return self._chain.settings.left_out

    def adopted(self, state: State, before: "InTurn") -> State:
        """A state with the posteriors of another fit on the same pieces, and their counts."""
        shares = before._shard.held[state.shares.run].shares
        counts = self._chain.recounted(shares)
        shares = shares._replace(own=counts)
        held = Held(state.n_sweeps, shares, Found(counts, 0.0))
        self._shard.held[state.shares.run] = held
        return state._replace(counts=counts)

    def state_of(self, state: State, index: int) -> State:
        """The state of a piece as if it were a corpus of its own, with the counts of all."""
        shares = self._shard.held[state.shares.run].shares
        units = self._chain.units_of(shares, index, state.counts)
        return state._replace(shares=units)


class ChainInTurn(ShardedChain):
    """A chain whose sequences are swept in turn: a later fit goes on with its posteriors."""

    def finished(self, state: State, *, goes_on: bool) -> State:
        """With who has the posteriors, where a fit goes on."""
        state, source = super().finished(state, goes_on=goes_on), self.problem.source
        return state._replace(shares=state.shares._replace(source=source if goes_on else None))

    def lighter(self, state: State) -> State:
        """Without: another process infers posteriors anew."""
        state = super().lighter(state)
        return state._replace(shares=state.shares._replace(source=None))

    def rebase(self, state: State) -> State | None:
        """The state under the prior of now, with its posteriors where the pieces are the same."""
        before, source = state.shares.source, self.problem.source
        based = super().rebase(state._replace(shares=state.shares._replace(source=None)))
        if based is None or before is None:
            return based
        if before.left_out != source.left_out:
            return None
        if before.pieces.facts != source.pieces.facts:
            return based
        adopted: State = source.adopted(based, before)
        return adopted


def _start_of_piece(seed: Any, problem: Problem, index: int) -> Start:
    """The start of a piece: of what was drawn for all, or of weights."""
    return Start(None, seed) if isinstance(seed, Weights) else start_of(seed, problem, index)


def _with_lattice(layout: Layout, lattice: Any) -> Layout:
    """A layout with another lattice: that of the problem is kept once, with the problem."""
    return layout._replace(sequences=layout.sequences._replace(lattice=lattice))
