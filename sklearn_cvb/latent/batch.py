"""Batch algorithms: all expected counts under the current weights, then new weights (EM, VB)."""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.latent.base import BaseLatentPCFG
from sklearn_cvb.latent.inference import Problem, expectation
from sklearn_cvb.latent.parameters import Layout, Weights, unscaled


class BatchState(NamedTuple):
    """What EM and VB carry between sweeps; `counts` are expected under `weights`."""

    counts: np.ndarray
    layout: Layout
    weights: np.ndarray
    unexplained: np.ndarray
    n_sweeps: int


class BatchLatentPCFG(BaseLatentPCFG):
    """Sweep of the algorithms that update all counts at once."""

    def _begin(
        self, weights: np.ndarray, layout: Layout, problem: Problem, n_sweeps: int
    ) -> BatchState:
        counts, log_z, _ = expectation(unscaled(weights, layout), layout, problem.trees)
        return BatchState(counts, layout, weights, np.flatnonzero(np.isneginf(log_z)), n_sweeps)

    def _step(self, state: BatchState, problem: Problem) -> tuple[BatchState, float]:
        """M-step, then E-step; the value is the objective of the weights just used."""
        layout = state.layout
        weights = self._weights(layout, state.counts, float(self.alpha), state.weights)
        penalty = self._penalty(layout, state.counts, weights)
        counts, log_z, _ = expectation(weights, layout, problem.trees)
        following = BatchState(
            counts,
            layout,
            weights.whole(layout),
            np.flatnonzero(np.isneginf(log_z)),
            state.n_sweeps + 1,
        )
        return following, float(log_z[np.isfinite(log_z)].sum() - penalty)

    def _penalty(self, layout: Layout, counts: np.ndarray, weights: Weights) -> float:
        """What the objective subtracts from the log-likelihood (nats)."""
        raise NotImplementedError
