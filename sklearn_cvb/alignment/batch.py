"""Batch algorithms: all expected counts under the current weights, then new weights (EM, VB)."""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.alignment.base import BaseAlignmentHMM, explained, without_alignment
from sklearn_cvb.alignment.inference import Problem, expectation
from sklearn_cvb.alignment.parameters import Weights
from sklearn_cvb.alignment.start import first_shares


class BatchState(NamedTuple):
    """What EM and VB carry between sweeps; `counts` are expected under `weights`, if any."""

    counts: np.ndarray
    weights: Weights | None
    unexplained: np.ndarray
    n_sweeps: int


class BatchAlignmentHMM(BaseAlignmentHMM):
    """Start and sweep of the algorithms that update all counts at once."""

    def _start(self, problem: Problem, rng: np.random.Generator) -> BatchState:
        """The counts that the start gives."""
        _, counts = first_shares(self.init, int(self.init_sweeps), problem, rng)
        return BatchState(counts, None, np.array([], np.int64), 0)

    def _sweep(
        self, state: BatchState, problem: Problem, rng: np.random.Generator
    ) -> tuple[BatchState, float]:
        """M-step, then E-step; the value is the objective of the weights just used."""
        weights = self._weights(state.counts, problem.prior, problem.layout)
        penalty = self._penalty(state.counts, problem, weights)
        counts, log_z, _ = expectation(weights, problem.pairs, problem.layout)
        following = BatchState(counts, weights, without_alignment(log_z), state.n_sweeps + 1)
        return following, explained(log_z) - penalty

    def _penalty(self, counts: np.ndarray, problem: Problem, weights: Weights) -> float:
        """What the objective subtracts from log Z (nats)."""
        raise NotImplementedError

    def _final_links(self, state: BatchState, problem: Problem) -> np.ndarray:
        """Those of the last E-step."""
        weights = state.weights
        assert weights is not None, "there was a sweep"
        return expectation(weights, problem.pairs, problem.layout, keeps_shares=True)[2].link
