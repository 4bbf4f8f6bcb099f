"""Collapsed variational Bayes: each unit given the expected counts of all others.

Wang and Blunsom (2013, HMM), eqs. 24-25 and figure 3; (2013, PCFG), section 3.
"""

from typing import Any

import numpy as np

from sklearn_cvb import dirichlet
from sklearn_cvb.learning.algorithm import Algorithm, begun
from sklearn_cvb.learning.loop import Fit
from sklearn_cvb.learning.model import Model, State


class CVB(Algorithm):
    """What is left out at a time (a sequence, a window, a token) is the model's."""

    requires = ("leave_out",)
    patience = 2
    is_total = False

    def start(self, model: Model, rng: np.random.Generator, seed: Any = None) -> State:
        """First counts, and what each unit adds to them."""
        return begun(model, rng, seed, keep=True)._replace(weights=None)

    def sweep(self, state: State, model: Model, rng: np.random.Generator) -> tuple[State, float]:
        """The value is the mean log normaliser per token: a monitor."""
        hyper = model.learn(
            state.hyper, state, dirichlet.fixed_point, lambda: model.absence(state.shares)
        )
        prior = state.prior if hyper is state.hyper else model.prior(hyper)
        found = model.leave_out(state.counts, prior, state.shares, frozen=False)
        n_sweeps, unexplained = state.n_sweeps + 1, found.unexplained
        after = State(found.counts, prior, hyper, None, found.shares, unexplained, n_sweeps)
        return after, float(found.total / model.n_observed)

    def objective(self, state: State, model: Model, history: list[float]) -> float:
        """The leave-one-out score per token, in a pass of its own with all counts frozen."""
        found = model.leave_out(state.counts, state.prior, state.shares, frozen=True)
        return float(found.total / model.n_observed)

    def attributes(self, fit: Fit, model: Model) -> dict[str, Any]:
        """The score."""
        return {"loo_score_": fit.objective}

    def before_batch(self, model: Model, running: Any) -> State:
        """The counts so far are part of the prior; posteriors begin as inferred from it alone."""
        hyper = model.hyper()
        prior, seed = model.given(model.prior(hyper), running.counts)
        found, _ = model.start(prior, seed, keep=True)
        return State(found.counts, prior, hyper, None, found.shares, found.unexplained)

    def batch_values(
        self, before: State, after: State, value: float, model: Model, scale: float
    ) -> tuple[float, float]:
        """The monitor, and the score of the batch."""
        return value, self.objective(after, model, [value])
