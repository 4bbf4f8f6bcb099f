"""What each restart of a fit begins with: its start, the fit before, or a checkpoint."""

import warnings
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from sklearn_cvb.annotations import Folder, Seed
from sklearn_cvb.identity import are_same
from sklearn_cvb.learning.algorithm import Algorithm
from sklearn_cvb.learning.loop import Fit, generator_at, spawn_generators
from sklearn_cvb.learning.model import Model

if TYPE_CHECKING:
    from sklearn_cvb.fit_checkpoint import FitCheckpoint


class GoingOnMixin:
    """The parameters `n_init`, `warm_start` and `checkpoint`.

    The hook `_identity` says what must be the same for a fit to go on; algorithm and model give the
    state to go on from.
    """

    # Set by the constructors.
    n_init: int
    warm_start: bool
    checkpoint: Folder | None
    checkpoint_every: int | str
    random_state: Seed
    verbose: int

    def _opened_checkpoint(
        self, problem: Any, model: Model
    ) -> AbstractContextManager["FitCheckpoint | None"]:
        """Where the fit is saved while it runs, if anywhere."""
        if self.checkpoint is None:
            return nullcontext()
        from sklearn_cvb.fit_checkpoint import opened

        return opened(self, problem, model)

    def _beginnings(
        self, problem: Any, model: Model, saved: "FitCheckpoint | None"
    ) -> tuple[list[np.random.Generator], list[Fit | None]]:
        """A random generator for each restart, and what it goes on from (None: its start)."""
        resumed = self._resumable(problem, model)
        found = None
        if saved is not None:
            found = saved.found(goes_on=self.warm_start, has_fit=resumed is not None)
        if found is None:
            rngs = self._generators(problem, resumed)
            if saved is not None:
                saved.begin([rng.bit_generator.state for rng in rngs])
            return rngs, [resumed] * len(rngs)
        if self.verbose:
            n_sweeps = [0 if fit is None else len(fit.history) for fit in found.fits]
            print(f"going on from {self.checkpoint}: restarts have {n_sweeps} sweeps")
        before = [None if fit is None else self._restored(fit, model) for fit in found.fits]
        randomness = [
            first if fit is None else fit.randomness
            for first, fit in zip(found.generators, before, strict=True)
        ]
        return list(map(generator_at, randomness)), before

    def _restored(self, fit: Fit, model: Model) -> Fit:
        """A restart as it was when it was saved."""
        algorithm = self._algorithm()
        state = algorithm.rebase(algorithm.completed(fit.state, model), model)
        if state is None:
            raise ValueError(
                f"the checkpoint in {self.checkpoint} is of other parameters: delete the folder to "
                "fit from the beginning"
            )
        return fit._replace(state=state)

    def _identity(self, problem: Any) -> tuple[Any, ...]:
        """What of a problem a fit that goes on must find again."""
        raise NotImplementedError

    def _algorithm(self) -> Algorithm:
        """How the model is learned."""
        raise NotImplementedError

    def _generators(self, problem: Any, resumed: Fit | None) -> list[np.random.Generator]:
        """A random generator for each restart; a fit that goes on has a single one, its own."""
        if resumed is not None:
            assert resumed.randomness is not None, "sweeps leave it"
            if self.verbose and self.n_init > 1:
                print(f"n_init={self.n_init} is ignored: the fit before goes on")
            return [generator_at(resumed.randomness)]
        why = self._why_one_restart(problem) if self.n_init > 1 else ""
        if why:
            warnings.warn(
                f"n_init={self.n_init} is ignored: {why}, so that only one restart is run",
                UserWarning,
                stacklevel=6,
            )
        return spawn_generators(check_random_state(self.random_state), 1 if why else self.n_init)

    def _resumable(self, problem: Any, model: Model) -> Fit | None:
        """The fit to go on from, with `warm_start` and the same sequences."""
        resume = getattr(self, "_resume", None) if self.warm_start else None
        if resume is None:
            return None
        before, best = resume
        if not self._learns_from_the_same(before, problem):
            return None
        state = self._algorithm().rebase(best.state, model)
        # Sweeps are counted anew.
        return None if state is None else best._replace(state=state, history=[])

    def _learns_from_the_same(self, before: Any, problem: Any) -> bool:
        """Whether a fit can go on with what this one has read."""
        return are_same(self._identity(before), self._identity(problem))

    def _why_one_restart(self, problem: Any) -> str:
        """Why all restarts would be the same; empty where they differ."""
        return self._fixed_start()

    def _fixed_start(self) -> str:
        """What fixes where all restarts begin; empty where it is random."""
        return ""
