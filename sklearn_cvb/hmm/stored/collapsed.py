"""Collapsed variational Bayes on a store: posteriors and pairs lie in a memory-mapped file.

A sweep goes through the pieces in their order and leaves out one sequence after the other from the
counts of now, as a sweep in memory does: the numbers are the same.
"""

from collections.abc import Callable
from functools import partial, reduce
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.hmm import start as starting
from sklearn_cvb.hmm.leave_out import (
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
from sklearn_cvb.hmm.parameters import (
    HMMCounts,
    Prior,
    empty_counts,
    floor_of,
    posterior_mean,
    tally_of,
)
from sklearn_cvb.hmm.priors import Concentrations, PriorSettings, prior_of
from sklearn_cvb.hmm.seeds import Seed, counts_for, start_of
from sklearn_cvb.hmm.shards import Found, Shard, Terms, added
from sklearn_cvb.hmm.stored.pieces import Pieces
from sklearn_cvb.kernels.chain.absence import Absence
from sklearn_cvb.kernels.chain.leave_out import (
    EXPECT,
    INFER,
    PUT_BACK,
    SCORE,
    SWEEP,
    Shared,
    Stored,
)
from sklearn_cvb.lattice import Problem
from sklearn_cvb.learning.concentrations import WARM_UP_SWEEPS
from sklearn_cvb.learning.model import State
from sklearn_cvb.store.scratch import Kept, Scratch


class _Posteriors(NamedTuple):
    """What a piece keeps between sweeps: its units, their posteriors and pairs."""

    layout: Layout
    posterior: np.ndarray
    pairs: np.ndarray


class StoredCollapsed:
    """The shards of collapsed variational Bayes on a store.

    Parameters
    ----------
    pieces : Pieces
    left_out : LeftOut
    priors : PriorSettings
    """

    def __init__(self, pieces: Pieces, left_out: LeftOut, priors: PriorSettings) -> None:
        self.pieces, self.left_out = pieces, left_out
        self._prior_settings = priors
        # The units of each restart.
        self.runs: dict[int, list[Kept]] = {}
        # The sweep of each restart that its posteriors come from.
        self._done: dict[int, int] = {}
        self._n_units = 0

    def ask(self, name: str, *arguments: Any) -> Found:
        """Answer as shards do, all of which are here."""
        return getattr(self, name)(*arguments)

    def steps(self, name: str) -> Found:
        """What a start counts beforehand (see `sklearn_cvb.hmm.seeds`)."""
        n_states = self._cells.n_states
        found = HMMCounts(np.zeros(n_states), np.zeros((n_states, n_states)), np.empty(0))
        for problem in self.pieces:
            start, transition = counts_for(name, problem)
            found.start[:] += start
            found.transition[:] += transition
        return Found(found, 0.0)

    def n_tokens_of(self, sequences: np.ndarray) -> Found:
        """How many tokens some sequences have, as the total."""
        given = zip(self.pieces, self.pieces.pieces, strict=True)
        shards = (Shard(problem, piece.place) for problem, piece in given)
        return reduce(added, (shard.n_tokens_of(sequences) for shard in shards))

    def start(self, seed: Seed, terms: Terms) -> Found:
        """First posteriors of all pieces, and their counts."""
        counts = self._begun(terms, lambda problem, index: start_of(seed, problem, index))
        return self._found(terms, counts, 0.0, None)

    def _begun(self, terms: Terms, start_at: Callable[[Problem, int], starting.Start]) -> HMMCounts:
        """Make the units of a restart from a start of each piece; returns their counts."""
        self._n_units = 0
        scratch = Scratch(self.pieces.store.scratch)
        units: list[Kept] = []
        for index, problem in enumerate(self.pieces):
            starting_point = partial(start_at, problem, index)
            learns = terms.concentrations.learned
            one = first_units(problem, starting_point, self.left_out, learns)
            self._n_units += one.laid_out.n_units
            layout = _with_lattice(one.laid_out, None)
            units.append(scratch.keep(_Posteriors(layout, one.posterior, one.pairs)))
        self.runs[terms.run] = units
        return self._counted(terms)

    def sweep(self, counts: HMMCounts, terms: Terms) -> Found:
        """One sweep from these counts; without posteriors that made them, one inference."""
        if self._done.pop(terms.run, None) != terms.n_sweeps:
            return self._inferred(counts, terms)
        prior = self._priors(terms.concentrations)
        absent = self._absent(terms)
        terms = terms._replace(n_sweeps=terms.n_sweeps + 1)
        if self._n_units == 1:
            total, _ = self._pass(EXPECT, self._prior_alone(prior), terms.run, absent)
            return self._found(terms, self._counted(terms), total, absent)
        before = tally_of(counts, prior, self._cells)
        total, shared = self._pass(SWEEP, shared_by(before, floor_of(prior)), terms.run, absent)
        is_rebuilt = terms.n_sweeps % REBUILT == 0
        counts = self._counted(terms) if is_rebuilt else moved(counts, before, shared)
        return self._found(terms, counts, total, absent)

    def _inferred(self, counts: HMMCounts, terms: Terms) -> Found:
        """Posteriors under given counts: those of a checkpoint, which has nothing else."""
        prior = self._priors(terms.concentrations)
        weights = posterior_mean(counts, prior, self._cells)
        counts = self._begun(terms, lambda problem, index: starting.Start(None, weights))
        shared = shared_by(tally_of(counts, prior, self._cells), floor_of(prior))
        total, _ = self._pass(SCORE, shared, terms.run, self._absent(terms))
        return self._found(terms._replace(n_sweeps=terms.n_sweeps + 1), counts, total, None)

    def score(self, counts: HMMCounts, terms: Terms) -> Found:
        """The leave-one-out score with all counts frozen."""
        prior = self._priors(terms.concentrations)
        if self._done.get(terms.run) != terms.n_sweeps:
            self._inferred(counts, terms._replace(n_sweeps=terms.n_sweeps - 1))
        if self._n_units == 1:
            steps, shared = INFER, self._prior_alone(prior)
        else:
            tally = tally_of(counts, prior, self._cells)
            steps, shared = SCORE, shared_by(tally, floor_of(prior))
        return Found(counts, self._pass(steps, shared, terms.run, self._absent(terms))[0])

    def adopt(self, before: "StoredCollapsed", state: State) -> HMMCounts:
        """Go on with the posteriors of another fit on the same pieces; returns their counts."""
        run, prior = state.shares.run, state.prior
        self.runs = {run: before.runs[run]}
        self._n_units, self._done = before._n_units, {run: state.n_sweeps}
        terms = Terms(run, state.n_sweeps, prior.concentrations)
        return self._counted(terms)

    def state_of(self, state: State, index: int) -> State:
        """The state of a piece as if it were a corpus of its own, with the counts of all."""
        return state._replace(shares=self._units_of(state.shares.run, index, state.counts))

    def _units_of(self, run: int, index: int, counts: HMMCounts) -> Units:
        """The units of a piece, with the counts of all."""
        kept = self._units(run, index)
        return Units(
            own=counts,
            learns=self._prior_settings.first.learned,
            layout=kept.layout,
            posterior=kept.posterior,
            pairs=kept.pairs,
            left_out=self.left_out,
        )

    def _priors(self, concentrations: Concentrations) -> Prior:
        """The prior under these concentrations."""
        return prior_of(self._prior_settings, self._cells, concentrations)

    @property
    def _cells(self) -> Any:
        return self.pieces.cells

    def _units(self, run: int, index: int) -> _Posteriors:
        units: _Posteriors = self.runs[run][index].load()
        problem, _ = self.pieces.load(index)
        return units._replace(layout=_with_lattice(units.layout, problem.lattice))

    def _prior_alone(self, prior: Prior) -> Shared:
        """What is left of the counts without the only unit."""
        tally = tally_of(empty_counts(self._cells), prior, self._cells)
        return shared_by(tally, floor_of(prior), 0.0)

    def _pass(
        self, steps: int, shared: Shared, run: int, absent: np.ndarray | None
    ) -> tuple[float, Shared]:
        """A pass over all units; the sum of their log normalisers (nats)."""
        total = 0.0
        for index in range(len(self.pieces.pieces)):
            units = self._units(run, index)
            stored = Stored(units.posterior, units.pairs, np.empty(units.layout.n_units))
            make_pass(steps, Pass(units.layout, shared, stored, absent))
            settled = units.layout.settled
            # Counts of settled cells never change: all but those of this piece are others'.
            own = 0.0 if settled is None else settled.count
            total += total_of(units.layout, stored.log_z, shared.emission[:-1] - own)
        return total, shared

    def _counted(self, terms: Terms) -> HMMCounts:
        """The counts that the posteriors and pairs of all pieces add up to."""
        shared = shared_nothing(self._cells)
        indices = range(len(self.pieces.pieces))
        for index in indices:
            settled = self._units(terms.run, index).layout.settled
            if settled is not None:
                shared.emission[:-1] += settled.count
        for index in indices:
            units = self._units(terms.run, index)
            stored = Stored(units.posterior, units.pairs, np.empty(units.layout.n_units))
            make_pass(PUT_BACK, Pass(units.layout, shared, stored, self._absent(terms)))
        return HMMCounts(shared.start, shared.transition, shared.emission[:-1])

    def _absent(self, terms: Terms) -> np.ndarray | None:
        """Where a sweep notes how surely sums of pairs were there; None where nobody asks."""
        if not terms.concentrations.learned:
            return None
        indices = range(len(self.pieces.pieces))
        if not any(self._units(terms.run, i).layout.sequences.summed.any() for i in indices):
            return None
        return np.ones((self._cells.n_states, self._cells.n_states))

    def _found(
        self, terms: Terms, counts: HMMCounts, total: float, absent: np.ndarray | None
    ) -> Found:
        self._done[terms.run] = terms.n_sweeps
        absence = self._absence(counts, terms, absent)
        return Found(counts, total, self.pieces.unexplained, absence)

    def _absence(
        self, counts: HMMCounts, terms: Terms, absent: np.ndarray | None
    ) -> Absence | None:
        """P(C = 0) of all counts, where concentrations are learned from it."""
        if not terms.concentrations.learned or terms.n_sweeps < WARM_UP_SWEEPS:
            return None
        whole: Absence | None = None
        for index, problem in enumerate(self.pieces):
            own = absence_of(self._units_of(terms.run, index, counts), problem)
            whole = (
                own if whole is None else Absence(*(a * b for a, b in zip(whole, own, strict=True)))
            )
        assert whole is not None, "a store has a sequence"
        if absent is not None:
            whole.transition[:] *= absent
        return whole


def _with_lattice(layout: Layout, lattice: Any) -> Layout:
    """A layout with another lattice: that of the problem is kept once, with the problem."""
    return layout._replace(sequences=layout.sequences._replace(lattice=lattice))
