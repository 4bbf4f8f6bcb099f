"""Gibbs sampling on numbers: parameters given all states, then all states given the parameters.

Each sweep draws start, transitions and emissions from their posterior, and then a path of every
sequence by forward filtering and backward sampling (Gao and Johnson 2008).
"""

from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb import dirichlet
from sklearn_cvb.emissions.emission import Scores
from sklearn_cvb.hmm.chains import Chains, Draw, chains_of, log_joint
from sklearn_cvb.hmm.concentrations import Concentrations
from sklearn_cvb.hmm.numeric.expectation import Scored, chain_of
from sklearn_cvb.hmm.numeric.filtering import filtered
from sklearn_cvb.hmm.numeric.problem import NumericProblem, lattice_of_steps, without_emission
from sklearn_cvb.hmm.parameters import HMMCounts, Prior, posterior_mean, tied
from sklearn_cvb.hmm.shared_weights import drawn_weights
from sklearn_cvb.kernels.chain.decoding import draw_paths
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.lattice import Cells
from sklearn_cvb.learning.loop import Fit


class Sums(NamedTuple):
    """Sums over kept samples: how often each state was drawn at each step, and counts."""

    frequency: np.ndarray
    counts: HMMCounts
    n_kept: int


class GibbsState(NamedTuple):
    """The last path, its counts, and what is remembered of the chain."""

    path: np.ndarray
    counts: HMMCounts
    prior: Prior
    concentrations: Concentrations
    weights: None
    unexplained: np.ndarray
    n_sweeps: int
    n_planned: int
    sums: Sums
    paths: list[np.ndarray]
    trace: list[Draw]
    kept: list[tuple[HMMCounts, Prior]]


def drawn_rows(counts: np.ndarray, prior: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A row of probabilities from each Dirichlet(counts + prior); 0 where that is 0."""
    drawn = rng.standard_gamma(counts + prior)
    drawn = np.where((counts + prior > 0) & (drawn == 0), 1e-300, drawn)
    total = drawn.sum(axis=-1, keepdims=True)
    return drawn / np.where(total > 0, total, 1.0)


def counts_of_path(
    path: np.ndarray, problem: NumericProblem, observations: Any = None
) -> HMMCounts:
    """Counts of a path, ends among the transitions, and statistics.

    Of `observations` in which what was missing is drawn, where that is needed.
    """
    observations = problem.observations if observations is None else observations
    starts, n = problem.corpus.starts, problem.cells.n_emitting
    size = problem.cells.n_states
    start = np.bincount(path[starts[:-1]], minlength=size).astype(float)
    inside = np.ones(len(path), bool)
    inside[starts[:-1]] = False
    right = np.flatnonzero(inside)
    pairs = np.bincount(path[right - 1] * size + path[right], minlength=size * size)
    transition = pairs.reshape(size, size).astype(float)
    if problem.cells.has_end:
        transition[:, n] += np.bincount(path[starts[1:] - 1], minlength=size)
    posterior = np.zeros((len(path), n))
    posterior[np.arange(len(path)), path] = 1.0
    whole = np.array([0, len(path)])
    statistics = problem.family.statistics(observations, posterior, whole)[0]
    return HMMCounts(start, transition, statistics)


class GibbsAlgorithm:
    """Start, sweep and reading of a fit by Gibbs sampling."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def start(
        self, problem: NumericProblem, posterior: np.ndarray, rng: np.random.Generator
    ) -> GibbsState:
        """States drawn from the posteriors of a start."""
        concentrations, prior = self.model._chain_prior(problem.cells)
        levels = np.cumsum(posterior, axis=1)
        drawn = rng.random((len(posterior), 1)) * levels[:, -1:]
        path = np.minimum((levels <= drawn).sum(axis=1), posterior.shape[1] - 1)
        counts = counts_of_path(path, problem)
        topology = problem.cells.topology
        if topology is not None:
            # Steps are drawn independently: what must not follow must not be learned from.
            counts = counts._replace(transition=np.where(topology.transition, counts.transition, 0))
        nothing = HMMCounts(*(np.zeros_like(table) for table in counts))
        sums = Sums(np.zeros(posterior.shape), nothing, 0)
        nobody = np.empty(0, np.intp)
        planned = self.model.max_iter
        return GibbsState(
            path, counts, prior, concentrations, None, nobody, 0, planned, sums, [], [], []
        )

    def sweep(
        self, state: GibbsState, problem: NumericProblem, rng: np.random.Generator
    ) -> tuple[GibbsState, float]:
        """Concentrations, then all states; the value is log p(x, z | alpha)."""
        cells = problem.cells
        concentrations, prior = self.model._chain_learned(state, cells, dirichlet.fixed_point)
        if concentrations.shared is not None:
            concentrations = state.concentrations
            if not self.model._is_resting(state.n_sweeps, state.n_planned):
                chain = without_emission(state.counts)
                concentrations = drawn_weights(concentrations, chain, rng)
            prior = self.model._prior_of_chain(cells, concentrations)
        path, counts = self._drawn(state, prior, problem, rng)
        chain = without_emission(counts)
        value = log_joint(chain, prior, cells) + problem.family.log_evidence(counts.emission)
        done = state.n_sweeps
        sums, paths, kept = state.sums, state.paths, state.kept
        is_kept = self.model._is_kept(done, state.n_planned)
        if is_kept:
            paths = [*paths, path.astype(np.min_scalar_type(-cells.n_states))]
            kept = [*kept, (counts, prior)]
        if done >= self.model._n_burn_in(state.n_planned):
            frequency = sums.frequency
            frequency[np.arange(len(path)), path] += 1.0
            added = HMMCounts(*(a + b for a, b in zip(sums.counts, counts, strict=True)))
            sums = Sums(frequency, added, sums.n_kept + 1)
        n_occupied = np.count_nonzero(np.bincount(path))
        draw = Draw(value, concentrations.alpha, concentrations.beta, int(n_occupied), is_kept)
        state = state._replace(
            path=path,
            counts=counts,
            prior=prior,
            concentrations=concentrations,
            n_sweeps=done + 1,
            sums=sums,
            paths=paths,
            trace=[*state.trace, draw],
            kept=kept,
        )
        return state, float(value)

    def _drawn(
        self,
        state: GibbsState,
        prior: Prior,
        problem: NumericProblem,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, HMMCounts]:
        """All states anew, and their counts."""
        weights = _drawn_chain(state.counts, prior, problem.cells, rng)
        scores = problem.family.at(problem.family.draw(state.counts.emission, rng))
        path = _drawn_path(weights, scores, problem, rng)
        completed = problem.family.completed(problem.observations, scores, path, rng)
        return path, counts_of_path(path, problem, completed)

    def resumed(
        self,
        state: GibbsState,
        problem: NumericProblem,
        concentrations: Concentrations,
        prior: Prior,
    ) -> GibbsState | None:
        """The state, or None under another prior: samples of two posteriors are not averaged."""
        if concentrations != state.concentrations or not prior.equals(state.prior):
            return None
        sums = state.sums._replace(frequency=state.sums.frequency.copy())
        return state._replace(sums=sums)

    def objective(self, state: GibbsState, problem: NumericProblem, last: float) -> float:
        """Mean log joint probability of the last tenth of the sweeps."""
        last_ones = state.trace[-max(1, len(state.trace) // 10) :]
        return float(np.mean([draw.log_joint for draw in last_ones]))

    def chains(self, fits: list[Fit]) -> Chains | None:
        """Traces of all restarts after burn-in."""
        n_burn_in = self.model._n_burn_in(fits[0].state.n_planned)
        return chains_of([fit.state.trace for fit in fits], n_burn_in)

    def final_counts(self, state: GibbsState) -> HMMCounts:
        """Mean counts of the samples after burn-in."""
        n = state.sums.n_kept
        return HMMCounts(*(table / n for table in state.sums.counts)) if n else state.counts

    def point(self, state: GibbsState, problem: NumericProblem) -> Any:
        """Posterior means given the mean counts."""
        return problem.family.mean(self.final_counts(state).emission)

    def predicting(self, state: GibbsState, problem: NumericProblem) -> Scores:
        """Scores of `predict`."""
        return problem.family.predictive(self.final_counts(state).emission)

    def scoring(self, state: GibbsState, problem: NumericProblem) -> Scores:
        """Scores of `score`."""
        return self.predicting(state, problem)

    def posterior(self, state: GibbsState, problem: NumericProblem) -> np.ndarray | None:
        """How often each state was drawn after burn-in."""
        if state.sums.n_kept:
            return state.sums.frequency / state.sums.n_kept
        table = np.zeros_like(state.sums.frequency)
        table[np.arange(len(table)), state.path] = 1.0
        return table

    def fitted(self, state: GibbsState, problem: NumericProblem, last: float) -> dict[str, Any]:
        """Attributes that only one algorithm leaves."""
        return {
            "samples_": np.array(state.paths) if state.paths else None,
            "acceptance_rate_": 1.0,
            "_kept_samples": state.kept,
            "_means": posterior_mean(
                without_emission(self.final_counts(state)), state.prior, problem.cells
            ),
        }


def _drawn_chain(
    counts: HMMCounts, prior: Prior, cells: Cells, rng: np.random.Generator
) -> Weights:
    """Start and transitions drawn from their posterior."""
    start = drawn_rows(counts.start, prior.start, rng)
    transition = drawn_rows(counts.transition, prior.transition, rng)
    return tied(Weights(start, transition, np.empty(0)), cells)


def _drawn_path(
    weights: Weights, scores: Scores, problem: NumericProblem, rng: np.random.Generator
) -> np.ndarray:
    """A path of every sequence given all parameters."""
    n, starts = problem.cells.n_emitting, problem.corpus.starts
    whole = np.array([0, len(problem.corpus.tokens)])
    scored = Scored(scores, problem.observations, (int(whole[1]), n), whole, problem.known)
    logs = filtered(chain_of(weights, n), scored, starts).log_message(starts)
    path, chance = np.empty(len(logs), np.int32), np.empty(n)
    with np.errstate(divide="ignore"):
        steps = np.log(np.ascontiguousarray(weights.transition[:n, :n]))
    draw_paths(steps, lattice_of_steps(*logs.shape), starts, rng, logs.ravel(), chance, path)
    return path.astype(np.int64)
