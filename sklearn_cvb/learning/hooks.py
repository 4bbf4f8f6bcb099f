"""Families whose algorithms are hooks of their estimators: `_start`, `_sweep`, `_objective`."""

from typing import Any

import numpy as np

from sklearn_cvb.learning.algorithm import Algorithm
from sklearn_cvb.learning.concentrations import WARM_UP_SWEEPS
from sklearn_cvb.learning.loop import Fit


def n_observed_of(model: Any) -> int:
    """Observed tokens of a model, or of what an estimator read."""
    n: int = model.n_observed if hasattr(model, "n_observed") else model.corpus.n_observed
    return n


class Hooks(Algorithm):
    """An estimator's hooks as an algorithm; the model is what the estimator read."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        self.patience = getattr(estimator, "_patience", 1)
        self.is_total = getattr(estimator, "_history_is_total", True)
        self.stops = not hasattr(estimator, "thin")

    def start(self, model: Any, rng: np.random.Generator, seed: Any = None) -> Any:
        return self.estimator._start(model, rng)

    def sweep(self, state: Any, model: Any, rng: np.random.Generator) -> tuple[Any, float]:
        return self.estimator._sweep(state, model, rng)

    def objective(self, state: Any, model: Any, history: list[float]) -> float:
        if not hasattr(self.estimator, "_objective"):
            return history[-1]
        return self.estimator._objective(Fit(state, history, False), model)

    def rebase(self, state: Any, model: Any) -> Any:
        return self.estimator._with_parameters_of_now(state, model)

    def lighter(self, state: Any, model: Any) -> Any:
        return self.estimator._stripped(state) if hasattr(self.estimator, "_stripped") else state

    def completed(self, state: Any, model: Any) -> Any:
        if not hasattr(self.estimator, "_completed"):
            return state
        return self.estimator._completed(state, model)

    def finished(self, state: Any, model: Any, *, goes_on: bool) -> Any:
        return state

    def n_resting(self, model: Any) -> int:
        learns = (
            isinstance(getattr(self.estimator, name, None), str) for name in ("alpha", "beta")
        )
        return WARM_UP_SWEEPS if any(learns) else 0
