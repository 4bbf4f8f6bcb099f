"""The model of chains that emit numbers, as EM, VB, CVB and Gibbs samplers learn it; the emissions
of a fitted model have scores for predicting states and for scoring (likelihoods).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sklearn_cvb.chain.numbers import e_step
from sklearn_cvb.chain.numbers.best_paths import best_path_posteriors
from sklearn_cvb.chain.numbers.e_step import NumberWeights, NumericProblem
from sklearn_cvb.chain.numbers.leave_out import (
    NumberUnits,
    counts_of_units,
    first_units,
    has_same_units,
    infer_units,
    score,
    sweep,
)
from sklearn_cvb.chain.numbers.starts import (
    STEPS,
    AllSteps,
    first_counts,
    posteriors_under,
    seed_for,
    starting_posteriors,
)
from sklearn_cvb.chain.numbers.visits import count_visits
from sklearn_cvb.chain.parameters.concentrations import draw_hyper, learn_hyper
from sklearn_cvb.chain.parameters.rows import (
    ChainConcentrations,
    ChainPrior,
    HMMCounts,
    divergence,
    exp_expected_log,
    log_prior_density,
    posterior_mean,
    prior_of,
    resume_hyper,
    tie_rows,
    uniform_weights,
    weights_under,
)
from sklearn_cvb.chain.paths.lattice import Cells
from sklearn_cvb.chain.predictions.traces import ChainSamples, log_joint, trace_note
from sklearn_cvb.chain.starts import state_merging
from sklearn_cvb.chain.starts.state_merging import StateMerging, joined_counts
from sklearn_cvb.emissions.emission import Family, Scores, family_and_parts
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights
from sklearn_cvb.learning.gibbs import means_over_samples, sampled_labels
from sklearn_cvb.learning.model import InferenceResult, Model, State, StructureSample
from sklearn_cvb.learning.requirements import Requirement
from sklearn_cvb.reading.series import FittedColumns

# Sampling


def draw_parameters(
    counts: HMMCounts, prior: ChainPrior, cells: Cells, family: Family, rng: np.random.Generator
) -> NumberWeights:
    """Parameters given the states of all steps, without scores."""
    start = draw_rows(counts.start, prior.start, rng)
    transition = draw_rows(counts.transition, prior.transition, rng)
    chain = tie_rows(ChainWeights(start, transition, np.empty(0)), cells)
    return NumberWeights(chain, None, family.draw(counts.emission, rng))


def draw_rows(counts: np.ndarray, prior: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A row of probabilities from each Dirichlet(counts + prior); 0 where that is 0."""
    drawn = rng.standard_gamma(counts + prior)
    drawn = np.where((counts + prior > 0) & (drawn == 0), 1e-300, drawn)
    total = drawn.sum(axis=-1, keepdims=True)
    return drawn / np.where(total > 0, total, 1.0)


# Emissions of a fitted model


class EmissionFit(NamedTuple):
    """The emissions of a fitted model: its family, point and scores for predictions."""

    family: Family
    point: Any  # parameters, of which attributes and samples are made
    predicting: Scores  # log densities for states
    scoring: Scores  # and for likelihoods
    columns: FittedColumns
    rows_are_sequences: bool  # whether a 2-D array of single numbers was fitted
    # "point": densities under the point; "expected": expected for states and predictive for
    # likelihoods; "predictive": predictive for both.
    reads: str
    settings: bytes = b""  # the emission as it was set, pickled
    longest: int = 0  # steps of the longest training sequence, where durations have laws
    transitions: Any = None  # classifiers of next states, where these depend on inputs


def prediction_scores(
    reads: str, family: Family, statistics: np.ndarray, point: Any
) -> tuple[Scores, Scores]:
    """Log densities for states, and for likelihoods (see `EmissionFit.reads`)."""
    if reads == "point":
        scores = family.log_densities(point)
        return scores, scores
    predictive = family.predictive(statistics)
    if reads == "expected":
        return family.expected_log_densities(statistics), predictive
    return predictive, predictive


# The model

# Functions of an emission that functions of the model call.
_EMISSION_FUNCTIONS = {
    "maximise": ("most_likely", "log_densities", "log_prior"),
    "average": ("expected_log_densities", "divergence", "mean", "predictive"),
    "leave_out": ("predictive", "mean"),
    "resample": ("draw", "log_densities", "log_evidence", "mean", "predictive"),
}


class NumberSample(NamedTuple):
    """A kept sample: states of all steps, in a small type, and what posteriors are made of."""

    path: np.ndarray
    counts: HMMCounts
    prior: ChainPrior


def without_emission(counts: HMMCounts) -> HMMCounts:
    """Counts of the chain alone, as functions of cells want them."""
    return counts._replace(emission=np.empty(0))


@dataclass(frozen=True)
class NumberChain(Model):
    """Sequences of observations of any family; `counts.emission` holds statistics (S, K)."""

    problem: NumericProblem
    concentrations: ChainConcentrations
    init: Any
    block_length: int | None = None
    n_threads: int = 1

    statistics: ClassVar = ("emission",)

    @property
    def n_observed(self) -> float:
        """Steps at which something was observed."""
        return self.problem.corpus.n_observed

    @property
    def cells(self) -> Cells:
        """The layout of start and transitions."""
        return self.problem.cells

    # Concentrations and prior

    def hyper(self) -> ChainConcentrations:
        """Concentrations of the first sweep; emissions have priors of their own."""
        return self.concentrations._replace(learn_beta=False)

    def learn_hyper(
        self, hyper: ChainConcentrations, state: State, step: Any, absence: Any
    ) -> ChainConcentrations:
        """One step of eq. 29 in its plain form."""
        if not hyper.is_learned:
            return hyper
        return learn_hyper(hyper, without_emission(state.counts), self.cells, state.n_sweeps, step)

    def prior(self, hyper: ChainConcentrations) -> ChainPrior:
        """The prior of start and transitions."""
        # No emission has a cell: totals of 1 keep functions of them away from 0.
        ones = np.ones(self.cells.n_states)
        return prior_of(self.cells, hyper)._replace(emission_total=ones)

    # Where a restart begins

    def for_restart(self, index: int) -> "NumberChain":
        """K-means begins alike again and again: every other restart begins with steps."""
        return replace(self, init=STEPS) if self.init is None and index % 2 else self

    def seed(self, prior: ChainPrior, rng: np.random.Generator) -> np.random.Generator:
        """The generator itself: starts draw from it."""
        return rng

    def _first_posteriors(
        self, rng: np.random.Generator, ranges: list[tuple[int, int]]
    ) -> Iterator[np.ndarray]:
        """Posteriors (n_steps, K) to start from, under joined states or as `init` says."""
        if not isinstance(self.init, StateMerging):
            # What is drawn for all parts of the data says where to start.
            init = self.init if isinstance(rng, np.random.Generator) else rng
            yield from starting_posteriors(self.problem, init, rng, ranges)
            return
        state = state_merging.merged_state(replace(self, init=None), rng, self.init.n_starts)
        weights, _ = self.average(state.counts, state.prior, None)
        is_empty = ~state_merging.holds_tokens(state.counts, self.cells)
        for posterior in posteriors_under(self.problem, weights, ranges):
            # States without steps emit as widely as their prior: no step is to begin there.
            posterior[:, is_empty] = 0.0
            yield posterior / posterior.sum(axis=1, keepdims=True)

    def gains_of_joining(
        self, counts: HMMCounts, prior: ChainPrior, pairs: list[tuple[int, int]]
    ) -> list[float]:
        """The gain in log evidence of all observations where two states are joined."""
        log_evidence = self.problem.family.log_evidence
        both = (joined_counts(counts, pair, self.cells).emission for pair in pairs)
        return [log_evidence(one) for one in both]

    def start(
        self, prior: ChainPrior, seed: Any, keep: bool
    ) -> tuple[InferenceResult, NumberWeights | None]:
        """Posteriors of a start, as independent steps."""
        problem, first = self.problem, seed
        if isinstance(seed, HMMCounts):
            units = infer_units(problem, self.block_length, seed, prior)
            return InferenceResult(counts_of_units(units, problem), 0.0, shares=units), None
        if keep:
            posteriors = partial(self._first_posteriors, seed)
            units = first_units(problem, posteriors, self.block_length)
            return InferenceResult(counts_of_units(units, problem), 0.0, shares=units), None
        if isinstance(seed, np.random.Generator):
            is_merged = isinstance(self.init, StateMerging)
            first = self.init if is_merged else seed_for(AllSteps(problem), self.init, seed)
        if isinstance(first, NumberWeights):
            result = self.infer(first)
            return InferenceResult(result.counts, result.log_normaliser), first
        found = replace(self, init=first)._first_posteriors(seed, problem.pieces())
        counts = first_counts(problem, found)
        return InferenceResult(counts, 0.0), NumberWeights(uniform_weights(self.cells))

    # EM and VB

    def maximise(
        self, counts: HMMCounts, prior: ChainPrior, before: NumberWeights
    ) -> tuple[NumberWeights, float]:
        """The mode in the softmax basis, and minus its log prior density."""
        chain, family = without_emission(counts), self.problem.family
        weights = posterior_mean(chain, prior, self.cells, before.chain)
        point = e_step.most_likely(self.problem, counts.emission, before.point)
        cost = -log_prior_density(chain, prior, weights, self.cells) - family.log_prior(point)
        return NumberWeights(weights, family.log_densities(point), point), cost

    def average(
        self, counts: HMMCounts, prior: ChainPrior, before: NumberWeights | None
    ) -> tuple[NumberWeights, float]:
        """exp E[log theta], E[log p(x | theta)], and KL of the posterior from the prior."""
        chain, family = without_emission(counts), self.problem.family
        cost = divergence(chain, prior, self.cells) + family.divergence(counts.emission)
        weights = exp_expected_log(chain, prior, self.cells)
        return NumberWeights(weights, family.expected_log_densities(counts.emission)), cost

    def infer(self, weights: NumberWeights, work: Any = None) -> InferenceResult:
        """E-step over all sequences."""
        assert weights.scores is not None, "an M-step gives them"
        return e_step.expectation(weights.chain, weights.scores, self.problem, self.n_threads)

    def decode(self, weights: NumberWeights) -> InferenceResult:
        """Counts of the most probable paths."""
        assert weights.scores is not None, "an M-step gives them"
        asked = weights.chain, weights.scores, self.problem, self.n_threads
        return e_step.expectation(*asked, best_path_posteriors)

    # CVB

    def leave_out(
        self, counts: HMMCounts, prior: ChainPrior, shares: Any, *, frozen: bool
    ) -> InferenceResult:
        """Each sequence, or window, from the statistics of all others; shares change in place."""
        if frozen:
            return InferenceResult(
                counts, score(shares, counts, prior, self.problem), shares=shares
            )
        return sweep(shares, counts, prior, self.problem)

    # Convergence

    def disturb(self, counts: HMMCounts, rng: np.random.Generator) -> HMMCounts:
        """Steps are counted again at random, some of them for other states."""
        more = super().disturb(without_emission(counts), rng)
        size = self.cells.n_emitting
        strays = rng.exponential(0.3 / size, (size, size))
        return more._replace(emission=counts.emission + counts.emission @ strays)

    # Sampling

    def first_sample(self, prior: ChainPrior, rng: np.random.Generator) -> StructureSample:
        """States drawn from the posteriors of a start."""
        problem, topology = self.problem, self.cells.chain.topology
        whole = [(0, len(problem.corpus.starts) - 1)]
        path = e_step.draw_states(next(self._first_posteriors(rng, whole)), rng)
        lasting = None
        if self.cells.chain.longest:
            even = np.zeros((self.cells.n_emitting, self.cells.chain.longest))
            lasting = count_visits(path, problem.corpus.starts, even, rng)[None]
        counts = e_step.count_path(path, problem, problem.observations, lasting)
        if topology is not None:
            # Steps are drawn independently: what must not follow must not be learned from.
            counts = counts._replace(transition=np.where(topology.transition, counts.transition, 0))
        return StructureSample(counts, path)

    def resample(
        self,
        counts: HMMCounts,
        prior: ChainPrior,
        sample: np.ndarray,
        rng: np.random.Generator,
        temperature: float,
    ) -> StructureSample:
        """Parameters given all states, then all states given them (Gao and Johnson 2008)."""
        weights = self.draw_parameters(counts, prior, rng)
        return e_step.draw_structures(self.problem, weights.chain, weights.scores, rng)

    def draw_parameters(
        self, counts: HMMCounts, prior: ChainPrior, rng: np.random.Generator
    ) -> NumberWeights:
        """Those of the chain, and of what states emit."""
        drawn = draw_parameters(counts, prior, self.cells, self.problem.family, rng)
        return drawn._replace(scores=self.problem.family.log_densities(drawn.point))

    draw_hyper = draw_hyper
    trace_note = trace_note

    def log_evidence(self, counts: HMMCounts, prior: ChainPrior, sample: np.ndarray) -> float:
        """log p(x, z | alpha)."""
        chain = log_joint(without_emission(counts), prior, self.cells)
        return chain + self.problem.family.log_evidence(counts.emission)

    def means(self, counts: HMMCounts, prior: ChainPrior, sample: np.ndarray) -> ChainWeights:
        """Posterior means of the chain."""
        return posterior_mean(without_emission(counts), prior, self.cells)

    def count_labels(self, label_counts: np.ndarray | None, sample: np.ndarray) -> np.ndarray:
        """How often each state was sampled at each step."""
        shape = len(sample), self.cells.n_emitting
        frequency = np.zeros(shape) if label_counts is None else label_counts.copy()
        frequency[np.arange(len(sample)), sample] += 1.0
        return frequency

    def sample_to_keep(
        self, counts: HMMCounts, prior: ChainPrior, sample: np.ndarray
    ) -> NumberSample:
        """The states, and the statistics, each of which has its own predictive distributions."""
        return NumberSample(sample.astype(np.min_scalar_type(-self.cells.n_states)), counts, prior)

    # Requirements of the emission

    def required_of_parts(self, functions: Sequence[str]) -> Iterator[Requirement]:
        """The functions that these, and fitted attributes, ask of each emission."""
        asked = [name for one in functions for name in _EMISSION_FUNCTIONS.get(one, ())]
        for family in family_and_parts(self.problem.family):
            yield Requirement("an emission", family, [*dict.fromkeys([*asked, "attributes"])])

    # Training posteriors and emissions of a state

    def state_posteriors(self, state: State) -> np.ndarray | None:
        """q(z_t) of every step; None where only weights are kept."""
        if isinstance(state.shares, NumberUnits):
            return state.shares.posterior
        if state.shares is None:
            return None
        frequency = sampled_labels(state, self)
        return frequency / frequency[0].sum()

    def final_weights(self, state: State, *, averages: bool) -> tuple[ChainWeights, ChainWeights]:
        """Weights of the chain after the last sweep, and their logs."""
        final, kept = without_emission(state.counts), state.weights.chain
        return weights_under(final, state.prior, self.cells, kept, averages=averages)

    def emissions(self, state: State, counts: HMMCounts) -> EmissionFit:
        """The emissions of the fitted model, given its final counts."""
        problem, family, statistics = self.problem, self.problem.family, counts.emission
        reads, point = "predictive", None
        if state.weights is not None:
            point = state.weights.point
            reads = "expected" if point is None else "point"
        # Another fit to all steps may be a worse one.
        if point is not None and not family.learns_from_steps:
            point = family.most_likely(statistics, point)
        scores = prediction_scores(reads, family, statistics, point)
        if point is None:
            point = family.mean(statistics)
        longest = 0
        if self.cells.chain.longest:
            longest = max(problem.longest, int(np.diff(problem.original.starts).max()))
        read = problem.columns, problem.rows_are_sequences
        return EmissionFit(family, point, *scores, *read, reads, problem.settings, longest)

    def chain_samples(self, state: State) -> tuple[ChainSamples, float]:
        """The kept samples of a chain, and the share of its proposals that were accepted."""
        kept = [one for block in state.work.kept_samples for one in block]
        paths = np.array([one.path for one in kept]) if kept else None
        posteriors = tuple((one.counts, one.prior) for one in kept)
        return ChainSamples(paths, means_over_samples(state, self), posteriors), 1.0

    # Going on

    def adapt_state(self, state: State) -> State | None:
        """The state under the prior of now; None where other windows are left out."""
        hyper = resume_hyper(self.hyper(), state.hyper)
        state = state._replace(hyper=hyper, prior=self.prior(hyper))
        if not isinstance(state.shares, NumberUnits):
            return state
        if not has_same_units(state.shares, self.problem, self.block_length):
            return None
        units = self.copy_units(state.shares)
        return state._replace(shares=units, counts=counts_of_units(units, self.problem))

    def copy_units(self, units: NumberUnits) -> NumberUnits:
        """Units that sweeps may change, also after Ctrl-C."""
        return NumberUnits(units.layout, *(table.copy() for table in units[1:]))

    def compact(self, state: State) -> State:
        """Without scores, which the next sweep makes again."""
        return self.finish(state, goes_on=True)

    def finish(self, state: State, *, goes_on: bool) -> State:
        """Without scores."""
        if state.weights is None:
            return state
        return state._replace(weights=state.weights._replace(scores=None))
