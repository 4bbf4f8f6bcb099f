"""Batch algorithms: all expected counts under the current weights, then new weights (EM, VB)."""

from typing import NamedTuple

import numpy as np

from sklearn_cvb import dirichlet
from sklearn_cvb.dmv.base import BaseDMV
from sklearn_cvb.dmv.concentrations import Concentrations, asked_of, learn
from sklearn_cvb.dmv.inference import Problem, expectation, frozen_tally, heaviest


class BatchState(NamedTuple):
    """What EM and VB carry between sweeps; `counts` are expected under `weights`."""

    counts: np.ndarray
    concentrations: Concentrations
    prior: np.ndarray
    weights: np.ndarray
    unexplained: np.ndarray
    n_sweeps: int


class BatchDMV(BaseDMV):
    """Start and sweep of the algorithms that update all counts at once."""

    def _start(self, problem: Problem, rng: np.random.Generator) -> BatchState:
        """First counts: of one E-step under the first weights."""
        weights = self._first_weights(problem, rng)
        counts, log_z, _ = expectation(weights, problem.sentences)
        asked = asked_of(self)
        prior = asked.prior(self._n_types())
        return BatchState(counts, asked, prior, weights, np.flatnonzero(np.isneginf(log_z)), 0)

    def _sweep(
        self, state: BatchState, problem: Problem, rng: np.random.Generator
    ) -> tuple[BatchState, float]:
        """M-step, then E-step; the value is the objective of the weights just used."""
        now = learn(state.concentrations, state.counts, state.n_sweeps, dirichlet.ascend)
        prior = now.prior(problem.sentences.n_types)
        weights = self._weights(state.counts, prior, state.weights)
        penalty = self._penalty(state.counts, prior, weights) - now.log_density()
        counts, log_z, _ = expectation(weights, problem.sentences)
        unexplained = np.flatnonzero(np.isneginf(log_z))
        following = BatchState(counts, now, prior, weights, unexplained, state.n_sweeps + 1)
        return following, float(log_z[np.isfinite(log_z)].sum() - penalty)

    def _penalty(self, counts: np.ndarray, prior: np.ndarray, weights: np.ndarray) -> float:
        """What the objective subtracts from log Z (nats)."""
        raise NotImplementedError

    def _label_heads(self, state: BatchState, problem: Problem) -> np.ndarray:
        """Heads of the training sentences: Viterbi under the weights of the final counts."""
        weights = self._weights(state.counts, state.prior, state.weights)
        return heaviest(frozen_tally(weights), problem.sentences)[0]
