"""EM and variational Bayes: all counts under the same weights, then new weights."""

from typing import Any

import numpy as np

from sklearn_cvb import dirichlet
from sklearn_cvb.learning.algorithm import Algorithm, begun
from sklearn_cvb.learning.loop import Fit
from sklearn_cvb.learning.model import Model, State


class Batch(Algorithm):
    """M-step, then E-step: EM and VB differ in the weights, and in what the objective subtracts."""

    def parameters(self, model: Model, counts: Any, prior: Any, before: Any) -> tuple[Any, float]:
        """Weights given counts, and what they cost (nats)."""
        raise NotImplementedError

    def start(self, model: Model, rng: np.random.Generator, seed: Any = None) -> State:
        """First counts: of one E-step under first weights, or whatever the start gives."""
        return begun(model, rng, seed, keep=False)._replace(shares=None)

    def sweep(self, state: State, model: Model, rng: np.random.Generator) -> tuple[State, float]:
        """The value is the objective of the weights just used."""
        hyper = model.learn(state.hyper, state, dirichlet.ascend, None)
        prior = state.prior if hyper is state.hyper else model.prior(hyper)
        weights, cost = self.parameters(model, state.counts, prior, state.weights)
        found = model.infer(weights, state.work)
        value = found.total - cost + hyper.log_density()
        n_sweeps, unexplained = state.n_sweeps + 1, found.unexplained
        after = State(found.counts, prior, hyper, weights, None, unexplained, n_sweeps, found.work)
        return after, float(value)

    def finished(self, state: State, model: Model, *, goes_on: bool) -> State:
        """Buffers are soon made again."""
        return super().finished(state, model, goes_on=goes_on)._replace(work=None)

    def before_batch(self, model: Model, running: Any) -> State:
        """Running counts, and the weights that cells without count and prior keep."""
        hyper = model.hyper()
        prior = model.prior(hyper)
        return State(model.with_unseen(running.counts, prior), prior, hyper, running.kept)

    def batch_values(
        self, before: State, after: State, value: float, model: Model, scale: float
    ) -> tuple[float, float]:
        """The objective as if all tokens were like those of the batch, twice."""
        cost = 0.0
        if scale != 1.0:
            cost = self.parameters(model, before.counts, after.prior, before.weights)[1]
        objective = scale * (value + cost) - cost
        return objective, objective


class EM(Batch):
    """Expectation-maximisation: the mode of the parameters."""

    requires: tuple[str, ...] = ("maximise", "infer")

    def parameters(self, model: Model, counts: Any, prior: Any, before: Any) -> tuple[Any, float]:
        """The mode, and minus its log prior density."""
        return model.maximise(counts, prior, before)


class VB(Batch):
    """Variational Bayes: exp E[log parameters], and a bound that never falls."""

    requires = ("average", "infer")
    averages = True

    def parameters(self, model: Model, counts: Any, prior: Any, before: Any) -> tuple[Any, float]:
        """exp E[log parameters], and the divergence of their posterior from the prior."""
        return model.average(counts, prior, before)

    def attributes(self, fit: Fit, model: Model) -> dict[str, Any]:
        """The bound."""
        return {"lower_bound_": fit.objective}
