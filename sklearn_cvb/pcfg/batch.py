"""Batch algorithms: all expected counts under the current weights, then new weights (EM, VB)."""

from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb import dirichlet
from sklearn_cvb.kernels.tree.arrays import Trees
from sklearn_cvb.pcfg.concentrations import Alpha, learn
from sklearn_cvb.pcfg.forms import Problem, expectation, heaviest_trees
from sklearn_cvb.pcfg.layout import Layout
from sklearn_cvb.pcfg.parameters import posterior_mean
from sklearn_cvb.pcfg.streaming import StreamingPCFG, with_unseen
from sklearn_cvb.streaming import Running, Swept


class BatchState(NamedTuple):
    """What EM and VB carry between sweeps; `counts` are expected under `weights`."""

    counts: np.ndarray
    alpha: Alpha
    prior: np.ndarray
    weights: np.ndarray
    unexplained: np.ndarray
    n_sweeps: int


class BatchPCFG(StreamingPCFG):
    """Start and sweep of the algorithms that update all counts at once."""

    def _start(self, problem: Problem, rng: np.random.Generator) -> BatchState:
        """First counts: of one E-step under the first weights."""
        alpha = self._first_alpha(problem.layout)
        weights = self._first_weights(problem, rng)
        counts, _, unexplained = self._expectation(weights, problem)
        init = self._where_to_start()
        if isinstance(init, str) and init == "trees":
            # Symbols without count and prior keep these: they must sum to 1.
            weights = posterior_mean(problem.layout, weights, 0.0, weights)
        return BatchState(counts, alpha, alpha.cells, weights, unexplained, 0)

    def _sweep(self, state: Any, problem: Problem, rng: np.random.Generator) -> tuple[Any, float]:
        """M-step, then E-step; the value is the objective of the weights just used."""
        layout = problem.layout
        alpha = learn(state.alpha, layout, state.counts, state.n_sweeps, dirichlet.ascend)
        weights = self._weights(layout, state.counts, alpha.cells, state.weights)
        penalty = self._penalty(layout, state.counts, alpha.cells, weights)
        counts, total, unexplained = self._expectation(weights, problem)
        value = total - penalty + alpha.log_density()
        following = BatchState(
            counts,
            alpha,
            alpha.cells,
            weights,
            unexplained,
            state.n_sweeps + 1,
        )
        return following, float(value)

    def _expectation(
        self, weights: np.ndarray, problem: Problem
    ) -> tuple[np.ndarray, float, np.ndarray]:
        """E-step: expected counts, the sum of log Z, sentences without a tree."""
        counts, log_z = expectation(weights, problem)
        return counts, log_z[np.isfinite(log_z)].sum(), np.flatnonzero(np.isneginf(log_z))

    def _penalty(
        self, layout: Layout, counts: np.ndarray, prior: np.ndarray, weights: np.ndarray
    ) -> float:
        """What the objective subtracts from log Z (nats)."""
        raise NotImplementedError

    def _label_trees(self, state: Any, problem: Problem) -> Trees:
        """Trees of the training sentences: Viterbi under the weights of the final counts."""
        logs = self._log_weights(problem.layout, state.counts, state.prior, state.weights)
        return heaviest_trees(logs, problem)

    def _swept_batch(
        self, problem: Problem, running: Running | None, rng: np.random.Generator
    ) -> Swept:
        """Weights from the counts so far (of a first batch: from its start), then an E-step."""
        layout = problem.layout
        if running is None:
            before = BatchPCFG._start(self, problem, rng)
        else:
            alpha = self._first_alpha(layout)
            counts = with_unseen(layout, running.counts[0], alpha.cells)
            nobody = np.empty(0, np.intp)
            before = BatchState(counts, alpha, alpha.cells, running.kept, nobody, 0)
        # A batch is inferred at once, whatever `update` says of a fit.
        state, value = BatchPCFG._sweep(self, before, problem, rng)

        def values(scale: float) -> tuple[float, float]:
            penalty = 0.0
            if scale != 1.0:
                penalty = self._penalty(layout, before.counts, state.prior, state.weights)
            objective = scale * (value + penalty) - penalty
            return objective, objective

        return Swept(state, (state.counts,), values)
