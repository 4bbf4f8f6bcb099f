"""Split and merge (Petrov et al. 2006): an algorithm between whose sweeps hidden states are split
in two, or merged again, so that the layout of parameters changes.
"""

from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from sklearn_cvb.learning.algorithms import Algorithm
from sklearn_cvb.learning.model import Learnable, State


class SplitMergePlan(NamedTuple):
    """The sweeps of a restart before which subtypes are split or merged.

    Attributes
    ----------
    splits, merges : tuple of int
    n_warm_up : int
        Sweeps until the last split has taken effect: convergence does not count them.
    """

    splits: tuple[int, ...] = ()
    merges: tuple[int, ...] = ()
    n_warm_up: int = 0


class Splittable(Learnable, Protocol):
    """A family whose layout changes between sweeps: what split-merge asks beside its algorithm."""

    @property
    def layout(self) -> Any:
        """The one of now."""

    def with_layout(self, layout: Any) -> Self:
        """The same model under another layout."""

    def split(self, state: State, rng: np.random.Generator) -> tuple[Any, Any]:
        """A layout with more hidden states, and a seed that is worth the state."""

    def merge(self, state: State) -> tuple[Any, Any]:
        """A layout without those hidden states that tell least, and a seed."""


class SplitMerge(Algorithm[Splittable]):
    """Another algorithm, for a model whose layout changes between sweeps by a plan.

    The layout of now is in the state: whatever the inner algorithm does, it does to the model under
    that layout, and after a change it starts again from the seed that the change leaves.
    """

    requires = Splittable

    def __init__(self, inner: Algorithm[Learnable], plan: SplitMergePlan) -> None:
        self.inner: Algorithm[Learnable] = inner
        self.plan: SplitMergePlan = plan
        self.optional = inner.optional
        self.stops, self.title_of_history = inner.stops, inner.title_of_history
        self.never_falls, self.averages = inner.never_falls, inner.averages
        self.keeps_work, self.name_of_objective = inner.keeps_work, inner.name_of_objective

    def start(self, model: Splittable, rng: np.random.Generator, seed: Any = None) -> State:
        """The start of the inner algorithm."""
        return self.inner.start(model, rng, seed)._replace(layout=model.layout)

    def sweep(
        self, state: State, model: Splittable, rng: np.random.Generator
    ) -> tuple[State, float]:
        """Split or merge where it is time to, then a sweep of the inner algorithm."""
        model, now = model.with_layout(state.layout), state.n_sweeps
        if now in self.plan.splits or now in self.plan.merges:
            is_split = now in self.plan.splits
            layout, seed = model.split(state, rng) if is_split else model.merge(state)
            model = model.with_layout(layout)
            state = self.inner.start(model, rng, seed)._replace(n_sweeps=now)
        state, value = self.inner.sweep(state, model, rng)
        return state._replace(layout=model.layout), value

    def objective(self, state: State, model: Splittable, history: list[float]) -> float:
        """That of the inner algorithm."""
        return self.inner.objective(state, model, history)

    def final_counts(self, state: State) -> Any:
        """Those of the inner algorithm."""
        return self.inner.final_counts(state)

    def model_of(self, model: Splittable, state: State) -> Splittable:
        """The model under the layout of this state."""
        return model.with_layout(state.layout)

    def adapt_state(self, state: State, model: Splittable) -> State | None:
        """The state under the settings of now; None where they do not go with its layout."""
        return self.inner.adapt_state(state, model)

    def n_warm_up(self, hyper: Any) -> int:
        """The longer warm-up of the plan and of the inner algorithm."""
        return max(self.plan.n_warm_up, self.inner.n_warm_up(hyper))
