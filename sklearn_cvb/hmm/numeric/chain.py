"""Chains of states that emit numbers, as models: what all algorithms ask of them."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.emissions.emission import Family, Scores
from sklearn_cvb.hmm.chains import Sampled, log_joint
from sklearn_cvb.hmm.concentrations import Concentrations, going_on, learn
from sklearn_cvb.hmm.gibbs_sweeps import n_occupied
from sklearn_cvb.hmm.numeric.collapsed import (
    Units,
    counts_of_units,
    first_units,
    resumed,
    score,
    sweep,
)
from sklearn_cvb.hmm.numeric.expectation import expectation
from sklearn_cvb.hmm.numeric.gibbs import first_path, resampled
from sklearn_cvb.hmm.numeric.model import Fitted, densities
from sklearn_cvb.hmm.numeric.problem import NumericProblem, without_emission
from sklearn_cvb.hmm.numeric.start import starting_counts, starting_posterior
from sklearn_cvb.hmm.parameters import (
    HMMCounts,
    Prior,
    exp_expected_log,
    posterior_mean,
    uniform_weights,
)
from sklearn_cvb.hmm.priors import PriorSettings, prior_of
from sklearn_cvb.hmm.rows import divergence, log_prior_density
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.lattice import Cells
from sklearn_cvb.learning.gibbs import sampled_labels
from sklearn_cvb.learning.model import Drawn, Inferred, Model, State


class NumberWeights(NamedTuple):
    """Weights of the chain, and what states emit.

    Attributes
    ----------
    chain : Weights
    scores : Scores or None
        Log densities of observations; None where the counts were expected under none.
    point : object or None
        EM: parameters of the emissions.
    """

    chain: Weights
    scores: Scores | None = None
    point: Any = None


class Kept(NamedTuple):
    """A kept sample: states of all steps, in a small type, and what posteriors are made of."""

    path: np.ndarray
    counts: HMMCounts
    prior: Prior


@dataclass(frozen=True)
class NumberChain(Model):
    """Sequences of observations of any family; `counts.emission` holds statistics (S, K)."""

    problem: NumericProblem
    priors: PriorSettings
    init: Any
    block_length: int | None = None
    n_threads: int = 1

    @property
    def n_observed(self) -> int:
        """Steps at which something was observed."""
        return self.problem.corpus.n_observed

    @property
    def cells(self) -> Cells:
        """The layout of start and transitions."""
        return self.problem.cells

    @property
    def family(self) -> Family:
        """What states emit."""
        return self.problem.family

    # Concentrations and prior

    def hyper(self) -> Concentrations:
        """Those of the first sweep; emissions have priors of their own."""
        return self.priors.first._replace(learn_beta=False)

    def learn(self, hyper: Concentrations, state: State, step: Any, absence: Any) -> Concentrations:
        """One step of eq. 29 in its plain form."""
        return learn(hyper, without_emission(state.counts), self.cells, state.n_sweeps, step)

    def prior(self, hyper: Concentrations) -> Prior:
        """Of start and transitions."""
        # No emission has a cell: totals of 1 keep functions of them away from 0.
        ones = np.ones(self.cells.n_states)
        return prior_of(self.priors, self.cells, hyper)._replace(emission_total=ones)

    # Where a restart begins

    def seeds(self, prior: Prior, facts: list, rng: np.random.Generator) -> list:
        """The generator: starts draw where clusters begin, or for every step."""
        return [rng] * len(facts)

    def start(
        self, prior: Prior, seed: np.random.Generator, keep: bool
    ) -> tuple[Inferred, NumberWeights | None]:
        """Posteriors of a start, as independent steps."""
        posterior = starting_posterior(self.problem, self.init, seed)
        if keep:
            units = first_units(self.problem, posterior.copy(), self.block_length)
            return Inferred(counts_of_units(units, self.problem), 0.0, shares=units), None
        weights = NumberWeights(uniform_weights(self.cells))
        return Inferred(starting_counts(self.problem, posterior), 0.0), weights

    # EM and VB

    def maximise(
        self, counts: HMMCounts, prior: Prior, before: NumberWeights
    ) -> tuple[NumberWeights, float]:
        """The mode in the softmax basis, and minus its log prior density."""
        chain, family = without_emission(counts), self.family
        weights = posterior_mean(chain, prior, self.cells, before.chain)
        point = family.most_likely(counts.emission, before.point)
        cost = -log_prior_density(chain, prior, weights, self.cells) - family.log_prior(point)
        return NumberWeights(weights, family.at(point), point), cost

    def average(
        self, counts: HMMCounts, prior: Prior, before: NumberWeights
    ) -> tuple[NumberWeights, float]:
        """exp E[log theta], E[log p(x | theta)], and KL of the posterior from the prior."""
        chain, family = without_emission(counts), self.family
        cost = divergence(chain, prior, self.cells) + family.divergence(counts.emission)
        weights = exp_expected_log(chain, prior, self.cells)
        return NumberWeights(weights, family.expected(counts.emission)), cost

    def infer(self, weights: NumberWeights, work: Any = None) -> Inferred:
        """E-step over all sequences."""
        assert weights.scores is not None, "an M-step gives them"
        found = expectation(weights.chain, weights.scores, self.problem, self.n_threads)
        return Inferred(found.counts, found.total, found.unexplained)

    # CVB

    def leave_out(
        self, counts: HMMCounts, prior: Prior, shares: Units, *, frozen: bool
    ) -> Inferred:
        """Each sequence, or window, from the statistics of all others; shares change in place."""
        if frozen:
            return Inferred(counts, score(shares, counts, prior, self.problem), shares=shares)
        total, unexplained = sweep(shares, counts, prior, self.problem)
        # Counted anew, so that rounding does not build up.
        return Inferred(counts_of_units(shares, self.problem), total, unexplained, shares)

    # Sampling

    def first_sample(self, prior: Prior, rng: np.random.Generator) -> Drawn:
        """States drawn from the posteriors of a start."""
        path, counts = first_path(self.problem, self.init, rng)
        return Drawn(counts, path)

    def resample(
        self,
        counts: HMMCounts,
        prior: Prior,
        sample: np.ndarray,
        rng: np.random.Generator,
        temperature: float,
    ) -> Drawn:
        """Parameters given all states, then all states given the parameters."""
        path, counts = resampled(counts, prior, self.problem, rng)
        return Drawn(counts, path)

    def draw_hyper(
        self, before: Concentrations, learned: Concentrations, counts: HMMCounts, rng: Any
    ) -> Concentrations:
        """Under HDP the weights of the states, alpha and gamma are drawn."""
        if before.shared is None:
            return learned
        from sklearn_cvb.hmm.shared_weights import drawn_weights

        return before if rng is None else drawn_weights(before, without_emission(counts), rng)

    def log_evidence(self, counts: HMMCounts, prior: Prior, sample: np.ndarray) -> float:
        """log p(x, z | alpha)."""
        chain = log_joint(without_emission(counts), prior, self.cells)
        return chain + self.family.log_evidence(counts.emission)

    def means(self, counts: HMMCounts, prior: Prior, sample: np.ndarray) -> Weights:
        """Posterior means of the chain."""
        return posterior_mean(without_emission(counts), prior, self.cells)

    def remembered(self, memory: np.ndarray | None, sample: np.ndarray) -> np.ndarray:
        """How often each state was sampled at each step."""
        shape = len(sample), self.cells.n_emitting
        frequency = np.zeros(shape) if memory is None else memory.copy()
        frequency[np.arange(len(sample)), sample] += 1.0
        return frequency

    def noted(self, hyper: Concentrations, counts: HMMCounts) -> tuple:
        """Concentrations, and the number of states that have a step."""
        return hyper.alpha, hyper.beta, n_occupied(counts, self.cells), hyper.shared

    def kept(self, counts: HMMCounts, prior: Prior, sample: np.ndarray) -> Kept:
        """The states, and the statistics, each of which has its own predictive distributions."""
        return Kept(sample.astype(np.min_scalar_type(-self.cells.n_states)), counts, prior)

    # What a state tells of the training steps, and of what states emit

    def posterior(self, state: State) -> np.ndarray | None:
        """q(z_t) of every step; None where only weights tell."""
        if isinstance(state.shares, Units):
            return state.shares.posterior
        if state.shares is None:
            return None
        frequency = sampled_labels(state, self)
        return frequency / frequency[0].sum()

    def emissions(self, state: State, counts: HMMCounts) -> Fitted:
        """What predictions need of the emissions, given the counts that a fit leaves."""
        problem, statistics, reads = self.problem, counts.emission, "predictive"
        if state.weights is not None:
            reads = "expected" if state.weights.point is None else "point"
        if reads == "point":
            point = self.family.most_likely(statistics, state.weights.point)
        else:
            point = self.family.mean(statistics)
        scores = densities(reads, self.family, statistics, point)
        return Fitted(self.family, point, *scores, problem.names, problem.is_table, reads)

    def sampled(self, state: State, counts: HMMCounts) -> tuple[Sampled, float]:
        """What a sampler's chain leaves, and the share of its proposals that were accepted."""
        kept = state.work.kept
        paths = np.array([one.path for one in kept]) if kept else None
        means = self.means(counts, state.prior, state.shares)
        return Sampled(paths, means, tuple((one.counts, one.prior) for one in kept)), 1.0

    # Going on

    def rebase(self, state: State) -> State | None:
        """The state under the prior of now; None where other windows are left out."""
        hyper = going_on(self.hyper(), state.hyper)
        state = state._replace(hyper=hyper, prior=self.prior(hyper))
        if not isinstance(state.shares, Units):
            return state
        units = resumed(state.shares, self.problem, self.block_length)
        if units is None:
            return None
        return state._replace(shares=units, counts=counts_of_units(units, self.problem))

    def lighter(self, state: State) -> State:
        """Without scores, which the next sweep makes anew."""
        return self.finished(state, goes_on=True)

    def finished(self, state: State, *, goes_on: bool) -> State:
        """Without scores."""
        if state.weights is None:
            return state
        return state._replace(weights=state.weights._replace(scores=None))
