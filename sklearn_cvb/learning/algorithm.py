"""What all algorithms share: how a restart begins, sweeps, is ranked, and goes on."""

from typing import Any

import numpy as np

from sklearn_cvb.learning.concentrations import WARM_UP_SWEEPS
from sklearn_cvb.learning.loop import Fit
from sklearn_cvb.learning.model import Model, State


class Algorithm:
    """Three functions make an algorithm: `start`, `sweep` and `objective`.

    An instance holds settings and no results: what a restart learns is in its `State`.
    """

    # Functions of a model without which this algorithm cannot learn it.
    requires: tuple[str, ...] = ()
    # Sweeps with a small change before stopping, and whether the history sums over tokens.
    patience = 1
    is_total = True
    # Whether a small change ends a restart at all.
    stops = True
    # Whether predictions are made under exp E[log parameters], not under their means.
    averages = False

    def start(self, model: Model, rng: np.random.Generator, seed: Any = None) -> State:
        """The state before the first sweep; from a `seed`, or one that is drawn."""
        raise NotImplementedError

    def sweep(self, state: State, model: Model, rng: np.random.Generator) -> tuple[State, float]:
        """The next state, and what the history says of the sweep (nats, higher is better)."""
        raise NotImplementedError

    def objective(self, state: State, model: Model, history: list[float]) -> float:
        """What restarts are ranked by."""
        return history[-1]

    def final_counts(self, state: State) -> Any:
        """The counts that a fit leaves."""
        return state.counts

    def attributes(self, fit: Fit, model: Model) -> dict[str, Any]:
        """Fitted attributes that this algorithm alone leaves."""
        return {}

    def rebase(self, state: State, model: Model) -> State | None:
        """A state to go on from under the settings of now; None where it is of no use."""
        return model.rebase(state)

    def lighter(self, state: State, model: Model) -> State:
        """A state without what `completed` makes anew from the data; a checkpoint has this."""
        return model.lighter(state)

    def completed(self, state: State, model: Model) -> State:
        """What `lighter` left, made whole."""
        return model.completed(state)

    def finished(self, state: State, model: Model, *, goes_on: bool) -> State:
        """The last state of a restart; without what sweeps need where none `goes_on` from it."""
        return model.finished(state, goes_on=goes_on)

    def n_resting(self, model: Model) -> int:
        """Sweeps in which something still waits to be learned: none of their changes is small."""
        return WARM_UP_SWEEPS if np.any(getattr(model.hyper(), "learned", False)) else 0

    def before_batch(self, model: Model, running: Any) -> State:
        """What the next batch is inferred from, given running counts (see `online`)."""
        raise NotImplementedError

    def batch_values(
        self, before: State, after: State, value: float, model: Model, scale: float
    ) -> tuple[float, float]:
        """History and objective after a batch whose tokens stand for `scale` tokens each."""
        raise NotImplementedError


def begun(model: Model, rng: np.random.Generator, seed: Any, *, keep: bool) -> State:
    """The state with the first counts of a restart, and with shares, to `keep`."""
    hyper = model.hyper()
    prior = model.prior(hyper)
    if seed is None:
        (seed,) = model.seeds(prior, [model.facts()], rng)
    found, weights = model.start(prior, seed, keep)
    shares, unexplained, work = found.shares, found.unexplained, found.work
    return State(found.counts, prior, hyper, weights, shares, unexplained, 0, work)


def check_requirements(algorithm: Algorithm, model: Model) -> None:
    """Raise where a model lacks what an algorithm requires."""
    missing = [
        name for name in algorithm.requires if getattr(type(model), name) is getattr(Model, name)
    ]
    if missing:
        raise NotImplementedError(
            f"{type(algorithm).__name__} needs {', '.join(missing)} of a model, which "
            f"{type(model).__name__} does not have"
        )
