"""Batch algorithms: all expected counts under the current weights, then new weights (EM, VB)."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb import dirichlet
from sklearn_cvb.hmm import start as starting
from sklearn_cvb.hmm.concentrations import Concentrations
from sklearn_cvb.hmm.expectation import Expectation, expectation
from sklearn_cvb.hmm.forms import Forms, forms_of
from sklearn_cvb.hmm.growing import with_unseen
from sklearn_cvb.hmm.parameters import HMMCounts, Prior, uniform_weights
from sklearn_cvb.hmm.streaming import StreamingHMM
from sklearn_cvb.kernels.chain.decoding import smoothed, viterbi
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.lattice import Cells, Problem, n_entries
from sklearn_cvb.learning.loop import Fit, even_pieces, on_threads, threads_for_each
from sklearn_cvb.streaming import Running, Swept

# Fewer tokens than this are not worth a thread.
_SHORTEST_PIECE = 5000


class BatchState(NamedTuple):
    """What EM and VB carry between sweeps.

    `counts` are the expected counts under `weights`, which came from the sweep's M-step. `forms`
    say how the next sweep infers, with its buffers; nobody need keep them.
    """

    counts: HMMCounts
    prior: Prior
    concentrations: Concentrations
    weights: Weights
    unexplained: np.ndarray
    n_sweeps: int
    forms: Forms | None = None


class BatchHMM(StreamingHMM):
    """Start and sweep of the algorithms that update all counts at once."""

    def _start(self, problem: Problem, rng: np.random.Generator) -> BatchState:
        """First counts: of a fitted model, of token posteriors, or of one E-step."""
        concentrations = self._first_concentrations()
        prior = self._priors(problem.cells, concentrations)
        weights, forms = None, None
        if hasattr(self.init, "predict_proba"):
            counts = starting.model_counts(problem, self.init, self.vocabulary_)
        else:
            counts, weights, forms = self._first_counts(problem, prior, rng)
        if weights is None:
            weights = uniform_weights(problem.cells)
        return BatchState(counts, prior, concentrations, weights, np.empty(0, np.intp), 0, forms)

    def _first_counts(
        self, problem: Problem, prior: Prior, rng: np.random.Generator
    ) -> tuple[HMMCounts, Weights | None, Forms | None]:
        """Counts of the starting point, its weights if it has some, and the forms used."""
        start = self._starting_point(problem, prior, rng)
        if start.weights is None:
            assert start.posterior is not None, "a start has weights or posteriors"
            return starting.counts_from_marginals(problem, start.posterior), None, None
        found = self._expectation(start.weights, problem, None)
        return found.counts, start.weights, found.forms

    def _expectation(
        self,
        weights: Weights,
        problem: Problem,
        forms: Forms | None,
        logs: Callable[[], Weights] | None = None,
    ) -> Expectation:
        """E-step over all sequences."""
        forms = forms_of(problem) if forms is None else forms
        return expectation(weights, problem, forms, self._n_threads(), logs)

    def _sweep(
        self, state: BatchState, problem: Problem, rng: np.random.Generator
    ) -> tuple[BatchState, float]:
        """M-step, then E-step; the value is the objective of the weights just used."""
        cells = problem.cells
        concentrations, prior = self._learned(state, problem, dirichlet.ascend)
        weights, penalty = self._maximise(state.counts, prior, cells, state.weights)
        found = self._expectation(
            weights,
            problem,
            state.forms,
            lambda: self._log_weights(weights, state.counts, prior, cells),
        )
        value = found.total - penalty + concentrations.log_density()
        following = BatchState(
            found.counts,
            prior,
            concentrations,
            weights,
            found.unexplained,
            state.n_sweeps + 1,
            found.forms,
        )
        return following, float(value)

    def _ranked(self, fit: Fit, problem: Problem) -> Fit:
        """The fit without the buffers of its sweeps."""
        fit = super()._ranked(fit, problem)
        return fit._replace(state=fit.state._replace(forms=None))

    def _stripped(self, state: BatchState) -> BatchState:
        """The forms by what they do not follow from the problem: which sequences were lost."""
        forms = state.forms
        return state._replace(forms=forms and Forms(None, None, None, forms.lost))

    def _completed(self, state: BatchState, problem: Problem) -> BatchState:
        forms = state.forms
        return state._replace(forms=forms and forms_of(problem, forms.lost))

    def _n_threads(self) -> int:
        """Threads for one restart: those that the other restarts leave."""
        n_restarts = 1 if self._fixed_start() else self.n_init
        return threads_for_each(n_restarts, self.n_jobs)

    def _maximise(
        self, counts: HMMCounts, prior: Prior, cells: Cells, kept: Weights | None
    ) -> tuple[Weights, float]:
        """M-step: new weights, and what the objective subtracts for them."""
        weights = self._weights(counts, prior, cells, kept)
        return weights, self._penalty(counts, prior, weights, cells)

    def _penalty(self, counts: HMMCounts, prior: Prior, weights: Weights, cells: Cells) -> float:
        """What the objective subtracts from log Z (nats)."""
        raise NotImplementedError

    def _final_weights(self, state: Any, problem: Problem) -> tuple[Weights, Weights]:
        weights = self._weights(state.counts, state.prior, problem.cells, state.weights)
        return weights, self._log_weights(weights, state.counts, state.prior, problem.cells)

    def _posterior(self, state: Any, problem: Problem) -> np.ndarray:
        """p(z_t | x) of every (token, state) entry under the weights of the final counts."""
        weights, logs = self._final_weights(state, problem)
        posterior = np.empty(n_entries(problem.lattice))
        log_z = np.empty(problem.corpus.n_sequences)
        smoothed(weights, logs, problem.lattice, problem.corpus.starts, posterior, log_z)
        return posterior

    def _label_path(self, state: Any, problem: Problem) -> np.ndarray:
        """States of the training tokens: Viterbi under the weights of the final counts."""
        _, logs = self._final_weights(state, problem)
        starts = problem.corpus.starts
        path = np.empty(len(problem.corpus.tokens), np.int32)
        log_p = np.empty(problem.corpus.n_sequences)

        def label(begin: int, end: int) -> None:
            viterbi(logs, problem.lattice, starts[begin : end + 1], path, log_p[begin:end])

        on_threads(label, even_pieces(starts, _SHORTEST_PIECE), self.n_jobs)
        return path

    def _swept_batch(
        self, problem: Problem, running: Running | None, rng: np.random.Generator
    ) -> Swept:
        """Weights from the counts so far (of a first batch: from its start), then an E-step."""
        cells = problem.cells
        before = self._start(problem, rng) if running is None else self._before(problem, running)
        state, value = self._sweep(before, problem, rng)

        def values(scale: float) -> tuple[float, float]:
            penalty = 0.0
            if scale != 1.0:
                penalty = self._penalty(before.counts, state.prior, state.weights, cells)
            objective = scale * (value + penalty) - penalty
            return objective, objective

        return Swept(state._replace(forms=None), state.counts, values)

    def _before(self, problem: Problem, running: Running) -> BatchState:
        """The state that a batch is inferred from, if it is not the first."""
        concentrations = self._first_concentrations()
        prior = self._priors(problem.cells, concentrations)
        counts = with_unseen(HMMCounts(*running.counts), prior, problem.cells)
        return BatchState(counts, prior, concentrations, running.kept, np.empty(0, np.intp), 0)

    def _with_running_counts(self, state: Any, counts: tuple, problem: Problem) -> Any:
        return state._replace(counts=HMMCounts(*counts))
