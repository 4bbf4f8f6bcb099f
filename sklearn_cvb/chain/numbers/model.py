"""Chains of states that emit numbers, as models: what all algorithms ask of them."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from sklearn_cvb.chain.calibration import counts_by_unit, free_rows, weights_at
from sklearn_cvb.chain.concentrations import draw_hyper, learn
from sklearn_cvb.chain.lattice import Cells
from sklearn_cvb.chain.numbers.e_step import (
    NumericProblem,
    chain_of,
    counts_of,
    counts_of_path,
    drawn_structures,
    expectation,
    independent,
    infer,
)
from sklearn_cvb.chain.numbers.leave_out import (
    Units,
    counts_of_units,
    first_units,
    resumed,
    score,
    sweep,
)
from sklearn_cvb.chain.numbers.series import Categories
from sklearn_cvb.chain.parameters import (
    Concentrations,
    HMMCounts,
    Prior,
    divergence,
    exp_expected_log,
    going_on,
    kept_to_topology,
    log_prior_density,
    posterior_mean,
    prior_of,
    tied,
    uniform_weights,
)
from sklearn_cvb.chain.starts import given_weights, posterior_arrays
from sklearn_cvb.chain.state_merging import MERGED, holds_tokens, joined_counts, merged_state
from sklearn_cvb.chain.traces import Sampled, log_joint, noted
from sklearn_cvb.emissions.columns import MixedObservations
from sklearn_cvb.emissions.emission import Family, Scores
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.learning.dirichlet import FreeRows
from sklearn_cvb.learning.gibbs import sampled_labels
from sklearn_cvb.learning.model import Drawn, Inferred, Model, State
from sklearn_cvb.reading.corpus import Corpus
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.settings import HMMParameters

# Where a chain starts: posteriors of the training steps

_STARTS = ("kmeans", "token")
# So many steps tell where the clusters are.
_SAMPLE = 20_000


def starting_posterior(problem: NumericProblem, init: Any, rng: np.random.Generator) -> np.ndarray:
    """Posteriors (n_steps, K) to start from, kept to what the topology allows."""
    init = "kmeans" if init is None else init
    if isinstance(init, str):
        if init not in _STARTS:
            raise InvalidParameterError(
                f"init={init!r} is for symbols: with numbers it is 'kmeans', 'token', arrays, a "
                "fitted model or None"
            )
        if init == "kmeans":
            posterior = _clusters(problem, rng)
        else:
            # From Dirichlet(1), independently.
            shape = (len(problem.corpus.tokens), problem.cells.n_emitting)
            drawn = rng.standard_exponential(shape)
            posterior = drawn / drawn.sum(axis=1, keepdims=True)
    elif problem.start is not None:
        posterior = problem.start
    elif isinstance(init, HMMParameters):
        posterior = _posterior_under(problem, given_start(problem, init, rng))
    else:
        arrays = posterior_arrays(init, problem.given.starts, problem.cells.n_emitting)
        for i, array in enumerate(arrays):
            if not (np.abs(array.sum(axis=1) - 1.0) < 1e-6).all() or (array < 0).any():
                raise ValueError(
                    f"init[{i}] must give each step non-negative probabilities that sum to 1"
                )
        posterior = np.concatenate(arrays)
    topology = problem.cells.topology
    if topology is not None:
        # No sequence begins in a state where none may.
        first, n = problem.corpus.starts[:-1], problem.cells.n_emitting
        posterior = posterior.copy()
        allowed = topology.start[:n]
        kept = posterior[first] * allowed
        kept[kept.sum(axis=1) == 0] = allowed
        posterior[first] = kept / kept.sum(axis=1, keepdims=True)
    if problem.known is not None:
        told = np.flatnonzero(problem.known >= 0)
        posterior = posterior.copy()
        posterior[told] = 0.0
        posterior[told, problem.known[told]] = 1.0
    # Kernels take rows; what a user gives may be laid out by columns.
    return np.ascontiguousarray(posterior)


def given_start(
    problem: NumericProblem, given: HMMParameters, rng: np.random.Generator
) -> "NumberWeights":
    """Weights to start from: what is given, and clusters where nothing of emissions is."""
    family = problem.family
    chain = kept_to_topology(given_weights(given, problem.cells, None, rng), problem.cells)
    if given.numeric:
        point = family.point_of(given.numeric)
    else:
        posterior = starting_posterior(problem, None, rng)
        whole = np.array([0, len(posterior)])
        point = family.mean(family.statistics(problem.observations, posterior, whole)[0])
    return NumberWeights(tied(chain, problem.cells), family.at(point), point)


def _posterior_under(problem: NumericProblem, weights: "NumberWeights") -> np.ndarray:
    """Posteriors (n_steps, K); of what these weights rule out equal ones."""
    assert weights.scores is not None, "they score steps"
    n, starts = problem.cells.n_emitting, problem.corpus.starts
    whole = np.array([0, starts[-1]])
    scored = problem.scored(weights.scores, 0, int(starts[-1]), whole)
    found = infer(chain_of(weights.chain, n), scored, starts, whole, by_unit=False)
    lost = np.repeat(np.isneginf(found.log_z), np.diff(starts))
    return np.where(lost[:, None], 1.0 / n, found.posterior)


def _clusters(problem: NumericProblem, rng: np.random.Generator) -> np.ndarray:
    """One cluster of steps for each state, by k-means on columns in standard units, or lines."""
    n_states = problem.cells.n_emitting
    if problem.family.clusters is None:
        found = _clusters_of_values(problem, rng)
    else:
        found = problem.family.clusters(problem.observations, problem.known, rng)
    # A rest for the other clusters: nothing is certain, a cluster of one step or of ones alone.
    return 0.2 / n_states + 0.8 * found


def _clusters_of_values(problem: NumericProblem, rng: np.random.Generator) -> np.ndarray:
    """Ones where each step's cluster is."""
    from sklearn.cluster import KMeans

    values = _as_table(problem.observations)
    deviation = values.std(axis=0)
    values = (values - values.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    n_states = problem.cells.n_emitting
    sample = values
    if len(values) > _SAMPLE:
        sample = values[rng.choice(len(values), _SAMPLE, replace=False)]
    n_clusters = min(n_states, len(np.unique(sample, axis=0)))
    seed = int(rng.integers(2**31 - 1))
    begin: Any = "k-means++"
    if problem.known is not None and n_clusters == n_states:
        # Means of the steps whose states are known, and any step elsewhere.
        begin = values[rng.choice(len(values), n_states)]
        for state in np.unique(problem.known[problem.known >= 0]):
            begin[state] = values[problem.known == state].mean(axis=0)
    found = KMeans(n_clusters, init=begin, n_init=1, random_state=seed).fit(sample)
    return np.eye(n_states)[found.predict(values)]


def _as_table(observations: Any) -> np.ndarray:
    """All columns side by side."""
    if isinstance(observations, MixedObservations):
        return np.hstack([_as_table(part) for part in observations.parts])
    return observations.values


def model_posterior(init: Any, X: Any, corpus: Corpus, n_states: int) -> np.ndarray:
    """Posteriors (n_steps, K) of the training steps under a fitted model."""
    if not hasattr(init, "counts_"):
        raise ValueError(
            "init is a model that is not fitted (clone unfits it: wrap it in "
            "sklearn.frozen.FrozenEstimator to keep it through a search)"
        )
    found = list(init.predict_proba(X))
    lengths = np.diff(corpus.starts)
    posterior = np.concatenate([table[:n] for table, n in zip(found, lengths, strict=True)])
    if posterior.shape[1] != n_states:
        raise ValueError(
            f"init is a model with {posterior.shape[1]} states, this one has {n_states}"
        )
    return posterior


# Sampling


def drawn_rows(counts: np.ndarray, prior: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A row of probabilities from each Dirichlet(counts + prior); 0 where that is 0."""
    drawn = rng.standard_gamma(counts + prior)
    drawn = np.where((counts + prior > 0) & (drawn == 0), 1e-300, drawn)
    total = drawn.sum(axis=-1, keepdims=True)
    return drawn / np.where(total > 0, total, 1.0)


def drawn_columns(probabilities: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A state for each row of probabilities, the last axis."""
    levels = np.cumsum(probabilities, axis=-1)
    drawn = rng.random((*levels.shape[:-1], 1)) * levels[..., -1:]
    return np.minimum((levels <= drawn).sum(axis=-1), levels.shape[-1] - 1)


# What predictions need of the emissions


class Fitted(NamedTuple):
    """What predictions need of the emissions."""

    family: Family
    point: Any  # what is shown, and what samples are drawn from
    predicting: Scores  # log densities for states
    scoring: Scores  # and for likelihoods
    names: list[Any] | None  # of columns, where frames were fitted
    categories: Categories  # of columns of text
    is_table: bool  # whether a 2-D array of single numbers was fitted
    # "point": densities under the point; "expected": expected for states and predictive for
    # likelihoods; "predictive": predictive for both.
    reads: str


def densities(
    reads: str, family: Family, statistics: np.ndarray, point: Any
) -> tuple[Scores, Scores]:
    """Log densities for states, and for likelihoods (see `Fitted.reads`)."""
    if reads == "point":
        scores = family.at(point)
        return scores, scores
    predictive = family.predictive(statistics)
    return family.expected(statistics) if reads == "expected" else predictive, predictive


# The model


class NumberWeights(NamedTuple):
    """Weights of the chain, and what states emit."""

    chain: Weights
    scores: Scores | None = None  # None where the counts were expected under none
    point: Any = None  # EM: parameters of the emissions


class Kept(NamedTuple):
    """A kept sample: states of all steps, in a small type, and what posteriors are made of."""

    path: np.ndarray
    counts: HMMCounts
    prior: Prior


def without_emission(counts: HMMCounts) -> HMMCounts:
    """Counts of the chain alone, as functions of cells want them."""
    return counts._replace(emission=np.empty(0))


@dataclass(frozen=True)
class NumberChain(Model):
    """Sequences of observations of any family; `counts.emission` holds statistics (S, K)."""

    problem: NumericProblem
    concentrations: Concentrations
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

    # Concentrations and prior

    def hyper(self) -> Concentrations:
        """Those of the first sweep; emissions have priors of their own."""
        return self.concentrations._replace(learn_beta=False)

    def learn(self, hyper: Concentrations, state: State, step: Any, absence: Any) -> Concentrations:
        """One step of eq. 29 in its plain form."""
        if not hyper.learned:
            return hyper
        return learn(hyper, without_emission(state.counts), self.cells, state.n_sweeps, step)

    def prior(self, hyper: Concentrations) -> Prior:
        """Of start and transitions."""
        # No emission has a cell: totals of 1 keep functions of them away from 0.
        ones = np.ones(self.cells.n_states)
        return prior_of(self.cells, hyper)._replace(emission_total=ones)

    # Where a restart begins

    def seed(self, prior: Prior, rng: np.random.Generator) -> np.random.Generator:
        """The generator: starts draw where clusters begin, or for every step."""
        return rng

    def _first_posterior(self, rng: np.random.Generator) -> np.ndarray:
        """Posteriors (n_steps, K) to start from, under joined states or as `init` says."""
        if not (isinstance(self.init, str) and self.init == MERGED):
            return starting_posterior(self.problem, self.init, rng)
        state = merged_state(replace(self, init=None), rng)
        weights, _ = self.average(state.counts, state.prior, None)
        posterior = _posterior_under(self.problem, weights)
        # States without steps emit as widely as their prior: no step is to begin there.
        posterior[:, ~holds_tokens(state.counts, self.cells)] = 0.0
        return posterior / posterior.sum(axis=1, keepdims=True)

    def gains_of_joining(
        self, counts: HMMCounts, prior: Prior, pairs: list[tuple[int, int]]
    ) -> list[float]:
        """What the log evidence of all observations gains where two states are one."""
        log_evidence = self.problem.family.log_evidence
        both = (joined_counts(counts, pair, self.cells).emission for pair in pairs)
        return [log_evidence(one) for one in both]

    def start(
        self, prior: Prior, seed: np.random.Generator, keep: bool
    ) -> tuple[Inferred, NumberWeights | None]:
        """Posteriors of a start, as independent steps."""
        if isinstance(self.init, HMMParameters) and not keep:
            first = given_start(self.problem, self.init, seed)
            begun = self.infer(first)
            return Inferred(begun.counts, begun.total), first
        posterior = self._first_posterior(seed)
        if keep:
            units = first_units(self.problem, posterior.copy(), self.block_length)
            return Inferred(counts_of_units(units, self.problem), 0.0, shares=units), None
        problem, whole = self.problem, np.array([0, len(posterior)])
        found = independent(problem, posterior, whole)
        counts = counts_of(found, problem.observations, problem, problem.corpus.starts)
        return Inferred(counts, 0.0), NumberWeights(uniform_weights(self.cells))

    # EM and VB

    def maximise(
        self, counts: HMMCounts, prior: Prior, before: NumberWeights
    ) -> tuple[NumberWeights, float]:
        """The mode in the softmax basis, and minus its log prior density."""
        chain, family = without_emission(counts), self.problem.family
        weights = posterior_mean(chain, prior, self.cells, before.chain)
        point = family.most_likely(counts.emission, before.point)
        cost = -log_prior_density(chain, prior, weights, self.cells) - family.log_prior(point)
        return NumberWeights(weights, family.at(point), point), cost

    def average(
        self, counts: HMMCounts, prior: Prior, before: NumberWeights | None
    ) -> tuple[NumberWeights, float]:
        """exp E[log theta], E[log p(x | theta)], and KL of the posterior from the prior."""
        chain, family = without_emission(counts), self.problem.family
        cost = divergence(chain, prior, self.cells) + family.divergence(counts.emission)
        weights = exp_expected_log(chain, prior, self.cells)
        return NumberWeights(weights, family.expected(counts.emission)), cost

    def infer(self, weights: NumberWeights, work: Any = None) -> Inferred:
        """E-step over all sequences."""
        assert weights.scores is not None, "an M-step gives them"
        return expectation(weights.chain, weights.scores, self.problem, self.n_threads)

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

    # Convergence

    def disturbed(self, counts: HMMCounts, rng: np.random.Generator) -> HMMCounts:
        """Steps are counted again at random, some of them for other states."""
        more = super().disturbed(without_emission(counts), rng)
        size = self.cells.n_emitting
        strays = rng.exponential(0.3 / size, (size, size))
        return more._replace(emission=counts.emission + counts.emission @ strays)

    # Sampling

    def first_sample(self, prior: Prior, rng: np.random.Generator) -> Drawn:
        """States drawn from the posteriors of a start."""
        problem, topology = self.problem, self.cells.topology
        path = drawn_columns(self._first_posterior(rng), rng)
        counts = counts_of_path(path, problem, problem.observations)
        if topology is not None:
            # Steps are drawn independently: what must not follow must not be learned from.
            counts = counts._replace(transition=np.where(topology.transition, counts.transition, 0))
        return Drawn(counts, path)

    def resample(
        self,
        counts: HMMCounts,
        prior: Prior,
        sample: np.ndarray,
        rng: np.random.Generator,
        temperature: float,
    ) -> Drawn:
        """Parameters given all states, then all states given them (Gao and Johnson 2008)."""
        weights = self.draw_parameters(counts, prior, rng)
        return drawn_structures(self.problem, weights.chain, weights.scores, rng)

    def draw_parameters(
        self, counts: HMMCounts, prior: Prior, rng: np.random.Generator
    ) -> NumberWeights:
        """Those of the chain, and of what states emit."""
        start = drawn_rows(counts.start, prior.start, rng)
        transition = drawn_rows(counts.transition, prior.transition, rng)
        weights = tied(Weights(start, transition, np.empty(0)), self.cells)
        family = self.problem.family
        point = family.draw(counts.emission, rng)
        return NumberWeights(weights, family.at(point), point)

    def draw_structures(self, weights: NumberWeights, rng: np.random.Generator) -> Drawn:
        """The states of all steps, and values that are missing where statistics need them."""
        return drawn_structures(self.problem, weights.chain, weights.scores, rng)

    def free_rows(self, counts: HMMCounts, prior: Prior) -> FreeRows:
        """Of start and transitions: what states emit has no rows."""
        return free_rows(without_emission(counts), prior, self.cells)

    def weights_at(self, theta: np.ndarray, counts: Any = None, rng: Any = None) -> NumberWeights:
        """Weights with these probabilities, emissions at their mean or drawn."""
        family = self.problem.family
        point = family.mean(counts.emission) if rng is None else family.draw(counts.emission, rng)
        return NumberWeights(weights_at(theta, self.cells), family.at(point), point)

    def counts_by_unit(self, sample: np.ndarray) -> csr_array:
        """Starts and steps of each sequence."""
        known, none = self.problem.known, np.full(len(sample), -1)
        is_open = np.ones(len(sample), bool) if known is None else known < 0
        return counts_by_unit(sample, none, is_open, self.problem.corpus.starts, self.cells)

    draw_hyper = draw_hyper
    noted = noted

    def log_evidence(self, counts: HMMCounts, prior: Prior, sample: np.ndarray) -> float:
        """log p(x, z | alpha)."""
        chain = log_joint(without_emission(counts), prior, self.cells)
        return chain + self.problem.family.log_evidence(counts.emission)

    def means(self, counts: HMMCounts, prior: Prior, sample: np.ndarray) -> Weights:
        """Posterior means of the chain."""
        return posterior_mean(without_emission(counts), prior, self.cells)

    def remembered(self, memory: np.ndarray | None, sample: np.ndarray) -> np.ndarray:
        """How often each state was sampled at each step."""
        shape = len(sample), self.cells.n_emitting
        frequency = np.zeros(shape) if memory is None else memory.copy()
        frequency[np.arange(len(sample)), sample] += 1.0
        return frequency

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
        problem, family, statistics = self.problem, self.problem.family, counts.emission
        reads, point = "predictive", None
        if state.weights is not None:
            point = state.weights.point
            reads = "expected" if point is None else "point"
        if point is not None:
            point = family.most_likely(statistics, point)
        scores = densities(reads, family, statistics, point)
        if point is None:
            point = family.mean(statistics)
        names = problem.names, problem.categories
        return Fitted(family, point, *scores, *names, problem.is_table, reads)

    def sampled(self, state: State, counts: HMMCounts) -> tuple[Sampled, float]:
        """What a sampler's chain leaves, and the share of its proposals that were accepted."""
        kept = [one for block in state.work.kept for one in block]
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
