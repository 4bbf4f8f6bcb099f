"""EM and VB on numbers: all expected statistics under the current weights, then new weights.

Baum-Welch with any emission, and Beal (2003), chapter 3.
"""

from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb import dirichlet
from sklearn_cvb.emissions.emission import Scores
from sklearn_cvb.hmm.concentrations import Concentrations
from sklearn_cvb.hmm.numeric.expectation import expectation
from sklearn_cvb.hmm.numeric.problem import NumericProblem, without_emission
from sklearn_cvb.hmm.numeric.start import starting_counts
from sklearn_cvb.hmm.parameters import HMMCounts, Prior, uniform_weights
from sklearn_cvb.kernels.chain.forward_backward import Weights


class BatchState(NamedTuple):
    """What EM and VB carry between sweeps.

    `counts` are expected under `weights` and, with EM, the emissions' `point`.
    """

    counts: HMMCounts
    prior: Prior
    concentrations: Concentrations
    weights: Weights
    point: Any
    unexplained: np.ndarray
    n_sweeps: int


class BatchAlgorithm:
    """Start, sweep and reading of a fit; EM and VB differ in the scores alone."""

    def __init__(self, model: Any, is_variational: bool) -> None:
        self.model = model
        self.is_variational = is_variational

    def start(
        self, problem: NumericProblem, posterior: np.ndarray, rng: np.random.Generator
    ) -> BatchState:
        """The state before the first sweep."""
        concentrations, prior = self.model._chain_prior(problem.cells)
        counts = starting_counts(problem, posterior)
        weights = uniform_weights(problem.cells)
        nobody = np.empty(0, np.intp)
        return BatchState(counts, prior, concentrations, weights, None, nobody, 0)

    def sweep(
        self, state: BatchState, problem: NumericProblem, rng: np.random.Generator
    ) -> tuple[BatchState, float]:
        """M-step, then E-step; the value is the objective of the weights just used."""
        model, cells = self.model, problem.cells
        concentrations, prior = model._chain_learned(state, cells, dirichlet.ascend)
        chain = without_emission(state.counts)
        weights = model._weights(chain, prior, cells, state.weights)
        penalty = model._penalty(chain, prior, weights, cells)
        point, scores = None, None
        if self.is_variational:
            penalty += problem.family.divergence(state.counts.emission)
            scores = problem.family.expected(state.counts.emission)
        else:
            point = problem.family.most_likely(state.counts.emission, state.point)
            penalty -= problem.family.log_prior(point)
            scores = problem.family.at(point)
        found = expectation(weights, scores, problem, model._n_threads())
        value = found.total - penalty + concentrations.log_density()
        state = BatchState(
            found.counts,
            prior,
            concentrations,
            weights,
            point,
            found.unexplained,
            state.n_sweeps + 1,
        )
        return state, float(value)

    def resumed(
        self,
        state: BatchState,
        problem: NumericProblem,
        concentrations: Concentrations,
        prior: Prior,
    ) -> BatchState:
        """A state to go on from, under another prior."""
        return state._replace(concentrations=concentrations, prior=prior)

    def objective(self, state: BatchState, problem: NumericProblem, last: float) -> float:
        """The value of the last sweep."""
        return last

    def final_counts(self, state: BatchState) -> HMMCounts:
        """The counts a fit leaves."""
        return state.counts

    def point(self, state: BatchState, problem: NumericProblem) -> Any:
        """Parameters from the last counts: what is shown and what samples are drawn from."""
        statistics = state.counts.emission
        if self.is_variational:
            return problem.family.mean(statistics)
        return problem.family.most_likely(statistics, state.point)

    def predicting(self, state: BatchState, problem: NumericProblem) -> Scores:
        """Scores of `predict`, from the last counts."""
        if self.is_variational:
            return problem.family.expected(state.counts.emission)
        return problem.family.at(self.point(state, problem))

    def scoring(self, state: BatchState, problem: NumericProblem) -> Scores:
        """Scores of `score`."""
        if self.is_variational:
            return problem.family.predictive(state.counts.emission)
        return problem.family.at(self.point(state, problem))

    def posterior(self, state: BatchState, problem: NumericProblem) -> np.ndarray | None:
        """None: posteriors and labels are those of `predict`."""
        return None

    def fitted(self, state: BatchState, problem: NumericProblem, last: float) -> dict[str, Any]:
        """Attributes that only one algorithm leaves."""
        return {"lower_bound_": last} if self.is_variational else {}
