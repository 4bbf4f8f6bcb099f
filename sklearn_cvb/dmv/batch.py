"""Batch algorithms: all expected counts under the current weights, then new weights (EM, VB)."""

from typing import NamedTuple

import numpy as np

from sklearn_cvb import dirichlet
from sklearn_cvb.dmv.base import BaseDMV
from sklearn_cvb.dmv.concentrations import Concentrations, asked_of, learn
from sklearn_cvb.dmv.inference import (
    Problem,
    frozen_tally,
    hardened_expectation,
    heaviest,
    with_mixtures_worked_out,
)
from sklearn_cvb.dmv.layout import Layout
from sklearn_cvb.dmv.parameters import mixed_weights, unmixed_counts


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

    # Algorithms that do not harden their E-step have no such parameter.
    temperature = 1.0

    def _start(self, problem: Problem, rng: np.random.Generator) -> BatchState:
        """First counts: of one E-step under the first weights."""
        weights, asked = self._first_weights(problem, rng), asked_of(self)
        counts, log_z = self._expected(weights, problem)
        prior = problem.prior_of(asked.values)
        return BatchState(counts, asked, prior, weights, np.flatnonzero(np.isneginf(log_z)), 0)

    def _sweep(
        self, state: BatchState, problem: Problem, rng: np.random.Generator
    ) -> tuple[BatchState, float]:
        """M-step, then E-step; the value is the objective of the weights just used."""
        layout, before = problem.layout, state.concentrations
        now = learn(before, state.counts, layout, state.n_sweeps, dirichlet.ascend)
        prior = problem.prior_of(now.values)
        weights = self._weights(state.counts, prior, state.weights, layout)
        penalty = self._penalty(state.counts, prior, weights, layout) - now.log_density()
        counts, log_z = self._expected(weights, problem)
        unexplained = np.flatnonzero(np.isneginf(log_z))
        following = BatchState(counts, now, prior, weights, unexplained, state.n_sweeps + 1)
        return following, float(log_z[np.isfinite(log_z)].sum() - penalty)

    def _expected(self, weights: np.ndarray, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
        """The E-step: counts, and log p(words) of each sentence.

        A tree's own arcs are split in proportion between their tables, whatever the temperature.
        """
        mixed, sentences = (
            mixed_weights(weights, problem.layout),
            with_mixtures_worked_out(problem.sentences),
        )
        counts, log_z = hardened_expectation(mixed, sentences, self.temperature)
        return unmixed_counts(counts, weights, problem.layout), log_z

    def _penalty(
        self, counts: np.ndarray, prior: np.ndarray, weights: np.ndarray, layout: Layout
    ) -> float:
        """What the objective subtracts from log Z (nats)."""
        raise NotImplementedError

    def _label_heads(self, state: BatchState, problem: Problem) -> np.ndarray:
        """Heads of the training sentences: Viterbi under the weights of the final counts."""
        weights = self._weights(state.counts, state.prior, state.weights, problem.layout)
        mixed = frozen_tally(mixed_weights(weights, problem.layout))
        return heaviest(mixed, with_mixtures_worked_out(problem.sentences))[0]
