"""Hidden Markov models of symbols, as EM, VB, CVB and Gibbs samplers learn them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.parameters.concentrations import draw_hyper, learn_hyper, presence
from sklearn_cvb.chain.parameters.rows import (
    ChainConcentrations,
    ChainPrior,
    HMMCounts,
    expected_log,
    log_prior_density,
    posterior_mean,
    prior_of,
    rare_in,
    resume_hyper,
    uniform_weights,
    vb_weights,
    with_rare,
)
from sklearn_cvb.chain.paths.lattice import Cells, Problem
from sklearn_cvb.chain.predictions.traces import ChainSamples, PathCounts, log_joint, trace_note
from sklearn_cvb.chain.starts import starting_points as starting
from sklearn_cvb.chain.starts import state_merging
from sklearn_cvb.chain.starts.starting_points import StartingPoint
from sklearn_cvb.chain.starts.state_merging import StateMerging, gains_of_rows
from sklearn_cvb.chain.symbols import leave_out, sampling
from sklearn_cvb.chain.symbols.best_paths import counts_of_best_paths
from sklearn_cvb.chain.symbols.engines import Engines, engines_of, expectation
from sklearn_cvb.chain.symbols.leave_out import SymbolUnits, UpdateUnit, sweep
from sklearn_cvb.chain.symbols.sampling import SampledPath
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights
from sklearn_cvb.learning.gibbs import means_over_samples, sampled_labels
from sklearn_cvb.learning.model import InferenceResult, Model, State, StructureSample

# One sequence that holds most of the tokens is scored in windows of this many.
_SCORE_WINDOW = 100
_RESAMPLE = {
    "token": sampling.sweep_by_token,
    "sequence": sampling.sweep_by_sequence,
    "parameter": sampling.sweep_by_parameters,
}


# Where restarts begin after the first one, by where that began.
_LATER_INITS = {"context": "token", "unambiguous": "token", starting.SEGMENTS: starting.CUTS}


class VBWeights(NamedTuple):
    """VB's weights, and what their logs are made from where exp(digamma) has left float64."""

    weights: ChainWeights
    counts: HMMCounts
    prior: ChainPrior

    def logs(self, cells: Cells) -> ChainWeights:
        """Made without underflow."""
        return expected_log(self.counts, self.prior, cells)


class ChainSettings(NamedTuple):
    """How a chain begins, and what is inferred at a time."""

    concentrations: ChainConcentrations
    init: Any
    vocabulary: np.ndarray  # the words that a fitted model given as `init` must know
    update_unit: UpdateUnit = UpdateUnit("sequence", None)  # CVB: what is left out at a time
    resampling_unit: str = "token"  # Gibbs: what is drawn at a time
    # Gibbs: the lowest temperature; None for 1 throughout, whose samples are kept.
    lowest_temperature: float | None = None
    # Whether unknown words take the mean count of words seen once in what samples tell.
    counts_rare: bool = False
    n_threads: int = 1  # of one restart


@dataclass(frozen=True)
class SymbolChain(Model):
    """Sequences over a lattice: each token may be in a few states of its own."""

    problem: Problem
    settings: ChainSettings

    @property
    def n_observed(self) -> float:
        """Observed tokens of the sequences that some path may explain."""
        return self.problem.corpus.n_observed

    @property
    def cells(self) -> Cells:
        """The layout of parameters."""
        return self.problem.cells

    # Concentrations and prior

    def hyper(self) -> ChainConcentrations:
        """Those of the first sweep."""
        return self.settings.concentrations

    def learn_hyper(
        self, hyper: ChainConcentrations, state: State, step: Any, absence: Any
    ) -> ChainConcentrations:
        """One step of eq. 29 from the last counts."""
        counts, cells = state.counts, self.cells

        def present() -> Any:
            absent = absence()
            return None if absent is None else presence(counts, absent, cells)

        return learn_hyper(hyper, counts, cells, state.n_sweeps, step, absence and present)

    def absence(self, shares: Any) -> Any:
        """P(C = 0) of all counts under posteriors and pairs, once sums of pairs were watched."""
        is_known = leave_out.knows_absence(shares)
        return leave_out.absence_of(shares, self.problem) if is_known else None

    def prior(self, hyper: ChainConcentrations) -> ChainPrior:
        """Of start, transitions and emissions."""
        return prior_of(self.cells, hyper)

    # Where a restart begins

    def for_restart(self, index: int) -> "SymbolChain":
        """With another `init` where the first is always the same."""
        init = self.settings.init
        others = _LATER_INITS.get(init, init) if isinstance(init, str) else init
        return replace(self, settings=self.settings._replace(init=others))

    def seed(self, prior: ChainPrior, rng: np.random.Generator) -> Any:
        """The generator: some starts draw for every token."""
        return rng

    def start(
        self, prior: ChainPrior, seed: Any, keep: bool
    ) -> tuple[InferenceResult, ChainWeights | None]:
        """Counts of a fitted model, of token posteriors, or of one E-step."""
        problem, init = self.problem, self.settings.init
        if keep:
            start = self.start_maker(prior, seed)
            units = leave_out.first_units(problem, start, self.settings.update_unit, self.learns)
            return InferenceResult(units.counts, 0.0, shares=units), None
        if not isinstance(seed, StartingPoint) and hasattr(init, "predict_proba"):
            counts = starting.model_counts(problem, init, self.settings.vocabulary)
            return InferenceResult(counts, 0.0), uniform_weights(self.cells)
        first = self.start_maker(prior, seed)()
        if first.weights is not None:
            counts, log_z, _, _, work = self.infer(first.weights)
            # Which sequences have no path is told after the first sweep.
            return InferenceResult(counts, log_z, work=work), first.weights
        assert first.posterior is not None, "a start has weights or posteriors"
        counts = starting.counts_from_marginals(problem, first.posterior)
        return InferenceResult(counts, 0.0), uniform_weights(self.cells)

    def start_maker(self, prior: ChainPrior, seed: Any) -> Callable[[], StartingPoint]:
        """What makes posteriors or weights to start from: of a seed, or as `init` says."""
        if isinstance(seed, ChainWeights):
            return partial(StartingPoint, None, seed)
        if isinstance(seed, StartingPoint):
            return partial(StartingPoint, *seed)
        if callable(seed):
            return seed
        init, settings = self.settings.init, self.settings
        if isinstance(init, StateMerging):
            return partial(merged_start, self, init, seed)
        return partial(
            starting.starting_point, init, self.problem, prior, settings.vocabulary, seed
        )

    @property
    def learns(self) -> bool:
        """Whether a concentration is learned."""
        return self.hyper().is_learned

    def gains_of_joining(
        self, counts: HMMCounts, prior: ChainPrior, pairs: list[tuple[int, int]]
    ) -> list[float]:
        """What the log evidence of all symbols gains where two states are one."""
        shape = self.cells.n_rows, self.cells.n_emitting
        return gains_of_rows(
            counts.emission.reshape(shape).T, prior.emission.reshape(shape).T, pairs
        )

    # EM and VB

    def maximise(
        self, counts: HMMCounts, prior: ChainPrior, before: ChainWeights | None
    ) -> tuple[ChainWeights, float]:
        """The mode in the softmax basis, and minus the sum of u log theta."""
        weights = posterior_mean(counts, prior, self.cells, before)
        return weights, -log_prior_density(counts, prior, weights, self.cells)

    def average(self, counts: HMMCounts, prior: ChainPrior, before: Any) -> tuple[VBWeights, float]:
        """exp E[log theta] (eq. 11), and KL of the posterior from the prior."""
        weights, divergence = vb_weights(counts, prior, self.cells)
        return VBWeights(weights, counts, prior), divergence

    def infer(
        self, weights: ChainWeights | VBWeights, work: Engines | None = None
    ) -> InferenceResult:
        """E-step over all sequences, each in its engine."""
        engines, logs = engines_of(self.problem) if work is None else work, None
        if not isinstance(weights, ChainWeights):
            logs, weights = partial(weights.logs, self.cells), weights.weights
        return expectation(weights, self.problem, engines, self.settings.n_threads, logs)

    def decode(self, weights: ChainWeights) -> InferenceResult:
        """Counts of the most probable paths."""
        return counts_of_best_paths(weights, self.problem, self.settings.n_threads)

    # CVB

    def leave_out(
        self, counts: HMMCounts, prior: ChainPrior, shares: Any, *, frozen: bool
    ) -> InferenceResult:
        """Each sequence, or window, from the counts of all others (eqs. 24-25)."""
        units, total = sweep(shares, counts, prior, self.problem, frozen=frozen)
        return InferenceResult(units.counts, total, shares=units)

    # Sampling

    def first_sample(self, prior: ChainPrior, rng: np.random.Generator) -> StructureSample:
        """A path drawn from where `init` says."""
        problem, settings = self.problem, self.settings
        if settings.resampling_unit == "sequence" and settings.lowest_temperature is not None:
            sampling.check_powers(settings.lowest_temperature, prior, len(problem.corpus.tokens))
        slots = sampling.initial_slots(problem, prior, self.start_maker(prior, rng)(), rng)
        counts = sampling.counts_of_path(problem, slots)
        return StructureSample(counts, SampledPath(slots, self._visits()))

    def _visits(self) -> Any:
        """The order of visits, where one token is drawn at a time."""
        if self.settings.resampling_unit != "token":
            return None
        return sampling.visits_of(self.problem.lattice, self.problem.corpus.starts)

    def resample(
        self,
        counts: HMMCounts,
        prior: ChainPrior,
        sample: SampledPath,
        rng: np.random.Generator,
        temperature: float,
    ) -> StructureSample:
        """All paths again, a token, a sequence or all at a time."""
        resample = _RESAMPLE[self.settings.resampling_unit]
        slots, counts, proposals = resample(sample, counts, self.problem, prior, temperature, rng)
        return StructureSample(counts, SampledPath(slots, sample.visits), proposals=proposals)

    draw_hyper = draw_hyper
    trace_note = trace_note

    def log_evidence(self, counts: HMMCounts, prior: ChainPrior, sample: SampledPath) -> float:
        """log p(x, z | alpha, beta)."""
        return log_joint(counts, prior, self.cells)

    def means(self, counts: HMMCounts, prior: ChainPrior, sample: SampledPath) -> ChainWeights:
        """Posterior means given one path."""
        rare = rare_in(self.problem, counts) if self.settings.counts_rare else None
        return posterior_mean(with_rare(counts, rare, self.cells), prior, self.cells)

    def count_labels(self, label_counts: np.ndarray | None, sample: SampledPath) -> np.ndarray:
        """How often each (token, state) entry was sampled."""
        return sampling.frequencies(self.problem.lattice, sample.slots, label_counts)

    def sample_to_keep(
        self, counts: HMMCounts, prior: ChainPrior, sample: SampledPath
    ) -> np.ndarray | None:
        """The states of all tokens, but for annealed chains."""
        if self.settings.lowest_temperature is not None:
            return None
        states = self.problem.lattice.state[sample.slots]
        # The smallest integer type for states: samples are the largest part of a fit.
        return states.astype(np.min_scalar_type(-self.cells.n_states))

    # What a state tells of the training tokens

    def state_posteriors(self, state: State) -> np.ndarray | None:
        """q(z_t) of every (token, state) entry; None where only weights tell."""
        if isinstance(state.shares, SymbolUnits):
            units = state.shares
            if units.layout is None:
                return units.posterior
            return leave_out.all_entries(units.laid_out, units.posterior)
        if isinstance(state.shares, SampledPath):
            frequency = sampled_labels(state, self)
            return frequency / frequency[: self.problem.lattice.count[0]].sum()
        return None

    def chain_samples(self, state: State) -> tuple[ChainSamples, float]:
        """Kept samples of a sampler, and the share of its proposals that were accepted."""
        memory, problem, settings = state.work, self.problem, self.settings
        notes = [one.values for block in memory.trace for one in block if one.is_kept]
        proposed, accepted = np.broadcast_to(memory.proposals, 2).tolist()
        paths, path_counts = None, None
        if memory.kept_samples:
            paths = np.concatenate(memory.kept_samples)[:, problem.without_ends]
            of_samples = np.array([note[:2] for note in notes]), tuple(note[3] for note in notes)
            path_counts = PathCounts(problem, settings.counts_rare, state.prior, *of_samples)
        rate = accepted / proposed if proposed else 1.0
        return ChainSamples(paths, means_over_samples(state, self), path_counts), rate

    # Going on

    def adapt_state(self, state: State) -> State | None:
        """The state under the prior of now; learned concentrations go on from their values."""
        hyper = resume_hyper(self.hyper(), state.hyper)
        shares = state.shares
        state = state._replace(hyper=hyper, prior=self.prior(hyper))
        if isinstance(shares, SampledPath):
            visits = self._visits() if shares.visits is None else shares.visits
            return state._replace(shares=shares._replace(visits=visits))
        if not isinstance(shares, SymbolUnits):
            return state
        if shares.update_unit != self.settings.update_unit:
            return None
        units = leave_out.resumed(shares._replace(learns=self.learns), self.problem)
        return state._replace(shares=units, counts=units.counts)

    def compact(self, state: State) -> State:
        """Without layouts, engines and the order of visits, which the problem gives."""
        state, shares, work = self.finish(state, goes_on=True), state.shares, state.work
        if isinstance(shares, SampledPath):
            return state._replace(shares=shares._replace(visits=None))
        if isinstance(shares, SymbolUnits):
            # But for the messages that windows leave each other.
            borders: Any = shares.layout and shares.layout.borders
            return state._replace(shares=shares._replace(layout=borders))
        if isinstance(work, Engines):
            return state._replace(work=Engines(None, None, None, work.lost))
        return state

    def restore(self, state: State) -> State:
        """With layout and engines."""
        shares, work = state.shares, state.work
        if isinstance(shares, SymbolUnits):
            layout = leave_out.layout_of(self.problem, shares.update_unit)
            borders: Any = shares.layout
            if layout is not None and borders is not None:
                layout = layout._replace(borders=borders)
            return state._replace(shares=shares._replace(layout=layout))
        if isinstance(work, Engines):
            return state._replace(work=engines_of(self.problem, work.lost))
        return state

    def finish(self, state: State, *, goes_on: bool) -> State:
        """Weights alone of VB's; of CVB's pairs, the largest part, only the next sweep has use."""
        if isinstance(state.weights, VBWeights):
            state = state._replace(weights=state.weights.weights)
        if isinstance(state.shares, SymbolUnits) and not goes_on:
            state = state._replace(shares=state.shares._replace(pairs=np.empty(0)))
        return state


def merged_start(chain: SymbolChain, init: StateMerging, rng: np.random.Generator) -> StartingPoint:
    """Weights of the states that are left of those of random weights."""
    plain = replace(chain, settings=chain.settings._replace(init="parameter"))
    state = state_merging.merged_state(plain, rng, init.n_starts)
    weights = posterior_mean(state.counts, state.prior, chain.cells)
    if init.empties:
        is_empty = np.flatnonzero(~state_merging.holds_tokens(state.counts, chain.cells))
        weights.start[is_empty] = weights.transition[:, is_empty] = 0.0
    return StartingPoint(None, weights)


class TokenChain(SymbolChain):
    """The same problem with a token left out at a time (Algorithm 1): tokens are independent."""

    def leave_out(
        self, counts: HMMCounts, prior: ChainPrior, shares: Any, *, frozen: bool
    ) -> InferenceResult:
        """Each token from the counts of all others (figure 3); a score leaves out sequences."""
        if not frozen:
            units, total = leave_out.sweep_by_token(shares, counts, prior, self.problem)
            return InferenceResult(units.counts, total, shares=units)
        window, lengths = shares.update_unit.block_length, np.diff(self.problem.corpus.starts)
        if window is None and 2 * lengths.max() > lengths.sum():
            window = _SCORE_WINDOW
        # Windows that cut nothing are sequences, and their score compiles sooner.
        if window is None or window >= lengths.max():
            score = leave_out.score_of_tokens(shares, prior, self.problem)
        else:
            score = leave_out.score_in_windows(shares, prior, self.problem, window)
        return InferenceResult(counts, score, shares=shares)
