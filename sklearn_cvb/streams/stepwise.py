"""Stepwise EM: counts and weights that move after every few units (Liang and Klein 2009)."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from sklearn_cvb.learning.algorithms import EM
from sklearn_cvb.learning.model import InferenceResult, Learnable, State


class StepwisePace(NamedTuple):
    """How fast counts move: by (k + 2) ** -power at the k-th step, after so many units each."""

    batch_size: int
    power: float


class StepCount(NamedTuple):
    """How many steps were made, and the seed of the orders that units are gone through in."""

    n_steps: int
    seed: int


class UnitStream(Protocol):
    """What stepwise EM asks for beside what EM asks: a value that holds a family's model."""

    def units(self) -> np.ndarray:
        """Indices of the units that can be learned from."""

    def step_through(
        self, state: State, order: np.ndarray, pace: StepwisePace, n_steps: int
    ) -> InferenceResult:
        """Counts that move after every few units in this order; `work` is the steps so far."""


class StepwiseEM(EM):
    """EM whose sweep goes through the units in a random order, a few at a time.

    Parameters
    ----------
    pace : StepwisePace
    stream_of : callable
        The `UnitStream` of a family's model.
    """

    never_falls = False
    keeps_work = True

    def __init__(self, pace: StepwisePace, stream_of: Callable[[Any], UnitStream]) -> None:
        self.pace: StepwisePace = pace
        self.stream_of: Callable[[Any], UnitStream] = stream_of

    def sweep(
        self, state: State, model: Learnable, rng: np.random.Generator
    ) -> tuple[State, float]:
        """The value sums what the units met on the way, less what the last weights cost."""
        steps, stream = state.work, self.stream_of(model)
        if not isinstance(steps, StepCount):
            # The order of each sweep is a matter of this seed, so that a fit can be gone on with.
            steps = StepCount(0, int(rng.integers(2**63)))
        explained = np.setdiff1d(stream.units(), state.unexplained)
        order = np.random.Generator(np.random.PCG64([steps.seed, state.n_sweeps]))
        result = stream.step_through(state, order.permutation(explained), self.pace, steps.n_steps)
        weights, cost = self.m_step(model, result.counts, state.prior, state.weights)
        after = state._replace(
            counts=result.counts,
            weights=weights,
            unexplained=result.unexplained,
            n_sweeps=state.n_sweeps + 1,
            work=steps._replace(n_steps=result.work),
        )
        return after, float(result.log_normaliser - cost)

    def objective(self, state: State, model: Learnable, history: list[float]) -> float:
        """Weights have moved on since the last sweep, so that another E-step is due."""
        weights, cost = self.m_step(model, state.counts, state.prior, state.weights)
        return float(model.infer(weights).log_normaliser - cost)
