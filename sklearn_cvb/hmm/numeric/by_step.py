"""CVB and Gibbs sampling on numbers that leave out one step at a time (``update="token"``).

Wang and Blunsom (2013), figures 3 and 1, with the predictive density of the step in place of a
word's counts.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb import dirichlet
from sklearn_cvb.hmm.concentrations import Concentrations
from sklearn_cvb.hmm.ending import lattice_with_end
from sklearn_cvb.hmm.gibbs_sweeps import scan_for
from sklearn_cvb.hmm.numeric.collapsed import CollapsedAlgorithm, in_units
from sklearn_cvb.hmm.numeric.gibbs import GibbsAlgorithm, GibbsState, counts_of_path
from sklearn_cvb.hmm.numeric.problem import NumericProblem, without_emission
from sklearn_cvb.hmm.numeric.start import starting_counts
from sklearn_cvb.hmm.parameters import HMMCounts, Prior, floor_of, tally_of
from sklearn_cvb.kernels.chain.forward_backward import Lattice
from sklearn_cvb.kernels.chain.gibbs_tokens import Path, Visits
from sklearn_cvb.kernels.chain.leave_step_out import Steps, Table, resample_steps, sweep_steps
from sklearn_cvb.learning.concentrations import WARM_UP_SWEEPS


class Layout(NamedTuple):
    """Steps, and ends where they are events, as tokens of one word.

    Attributes
    ----------
    lattice : Lattice
        All states for each step, one where it is known, and the last for ends; no cells.
    starts : ndarray of shape (n_sequences + 1,)
    row : ndarray of shape (n_tokens,), int64
        The step of each token; -1 for ends.
    """

    lattice: Lattice
    starts: np.ndarray
    row: np.ndarray

    def table(self, posterior: np.ndarray, n_states: int) -> Table:
        """Posteriors of all tokens, ends among them."""
        found = np.zeros((len(self.row) + 1, n_states))
        inside = np.flatnonzero(self.row >= 0)
        found[inside, : posterior.shape[1]] = posterior
        found[np.flatnonzero(self.row < 0), -1] = 1.0
        return Table(self.starts, self.lattice.count > 1, found)


def layout_of(problem: NumericProblem) -> Layout:
    """All steps as tokens."""
    n_steps, n, starts = len(problem.corpus.tokens), problem.cells.n_emitting, problem.corpus.starts
    first, count = np.zeros(n_steps, np.uint32), np.full(n_steps, n, np.int32)
    if problem.known is not None:
        told = np.flatnonzero(problem.known >= 0)
        first[told], count[told] = problem.known[told], 1
    lattice = Lattice(first, count, np.arange(n, dtype=np.uint32), np.full(n, -1, np.int32))
    row = np.arange(n_steps)
    if problem.cells.has_end:
        lattice, starts, is_end = lattice_with_end(lattice, starts, problem.cells)
        row = np.where(is_end, -1, np.cumsum(~is_end) - 1)
    return Layout(lattice, starts, row)


def _steps(problem: NumericProblem, layout: Layout, statistics: np.ndarray) -> Steps:
    """What kernels need of the emissions; `statistics` change in place."""
    parts = problem.family.by_step(problem.observations, statistics)
    n = problem.cells.n_emitting
    # One part alone compiles sooner than a tuple of one.
    return Steps(layout.row, parts if len(parts) > 1 else parts[0], np.empty(n), np.empty(n))


class StepState(NamedTuple):
    """Posteriors of independent steps, and the counts and statistics that they sum to."""

    counts: HMMCounts
    prior: Prior
    concentrations: Concentrations
    weights: None
    unexplained: np.ndarray
    n_sweeps: int
    posterior: np.ndarray


class CollapsedByStep(CollapsedAlgorithm):
    """Start and sweep of CVB that leaves out one step at a time; read as any CVB."""

    def start(
        self, problem: NumericProblem, posterior: np.ndarray, rng: np.random.Generator
    ) -> Any:
        """Posteriors of a start."""
        concentrations, prior = self.model._chain_prior(problem.cells)
        counts, nobody = starting_counts(problem, posterior), np.empty(0, np.intp)
        return StepState(counts, prior, concentrations, None, nobody, 0, posterior)

    def sweep(
        self, state: Any, problem: NumericProblem, rng: np.random.Generator
    ) -> tuple[Any, float]:
        """One sweep; the value is the mean log normaliser per step (nats)."""
        if state.n_sweeps >= WARM_UP_SWEEPS:
            concentrations, prior = self.model._chain_learned(
                state, problem.cells, dirichlet.fixed_point
            )
            state = state._replace(concentrations=concentrations, prior=prior)
        layout = layout_of(problem)
        n_states = problem.cells.n_states
        table = layout.table(state.posterior, n_states)
        counts = HMMCounts(*map(np.copy, state.counts))
        total = sweep_steps(
            tally_of(without_emission(counts), None, problem.cells),
            floor_of(state.prior._replace(emission=np.ones(1))),
            table,
            _steps(problem, layout, counts.emission),
            np.empty((2, n_states)),
        )
        inside = np.append(layout.row >= 0, False)
        posterior = np.ascontiguousarray(table.posterior[inside, : problem.cells.n_emitting])
        # Counted anew, so that rounding does not build up.
        counts = starting_counts(problem, posterior)
        state = state._replace(counts=counts, posterior=posterior, n_sweeps=state.n_sweeps + 1)
        return state, float(total / problem.corpus.n_observed)

    def resumed(
        self, state: Any, problem: NumericProblem, concentrations: Concentrations, prior: Prior
    ) -> Any:
        """A state to go on from; None where another update made it."""
        if not isinstance(state, StepState):
            return None
        return state._replace(concentrations=concentrations, prior=prior)

    def objective(self, state: Any, problem: NumericProblem, last: float) -> float:
        """The leave-one-out score of sequences or windows, whose steps are independent."""
        units = in_units(
            problem,
            state.posterior,
            self.model.block_length,
            state.prior,
            state.concentrations,
        )
        return super().objective(units, problem, last)


class GibbsByStep(GibbsAlgorithm):
    """Gibbs sampling that draws the state of one step at a time, parameters integrated out."""

    def _drawn(
        self,
        state: GibbsState,
        prior: Prior,
        problem: NumericProblem,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, HMMCounts]:
        layout, cells = layout_of(problem), problem.cells
        states = np.full(len(layout.row), cells.n_emitting, np.uint32)
        inside = layout.row >= 0
        states[inside] = state.path
        path = Path(states, np.zeros(len(states), np.int32))
        scan = scan_for(layout.lattice, layout.starts)
        tally = tally_of(without_emission(state.counts), prior, cells)
        steps = _steps(problem, layout, state.counts.emission.copy())
        chance = np.empty(cells.n_states)
        for begin, end in pairwise(scan.blocks.tolist()):
            visits = Visits(scan.token[begin:end], scan.border[begin:end])
            levels = rng.random(end - begin)
            resample_steps(tally, layout.lattice, visits, path, steps, levels, chance)
        drawn = path.state[inside].astype(np.int64)
        return drawn, counts_of_path(drawn, problem)
