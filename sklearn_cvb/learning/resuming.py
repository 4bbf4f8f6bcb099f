"""Where restarts begin: at their start, where the fit before (`warm_start`) ended, or at a state
that was saved while the fit ran.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from sklearn_cvb.learning.generators import generator_at, spawn_generators
from sklearn_cvb.learning.learned import FitJob
from sklearn_cvb.learning.model import Fit, ModelT, Record, Sweep
from sklearn_cvb.messages import warn


class SavedRestarts(NamedTuple):
    """The restarts of a fit as they were saved.

    Attributes
    ----------
    initial_rng_states : list of mapping
        States of the random generators with which all restarts began.
    fits : list of (Fit or None)
        Every restart as it was saved; None where it was not.
    """

    initial_rng_states: list[Mapping[str, Any]]
    fits: list[Fit | None]


class FitSaver:
    """Base of savers of a fit while it runs; this one saves nothing."""

    # Where it saves, as messages call it.
    name = ""

    def restarts(self, *, goes_on: bool, has_fit: bool) -> SavedRestarts | None:
        """The restarts that an earlier fit saved; None where there are none.

        Parameters
        ----------
        goes_on : bool
            Whether the fit is asked to go on (`warm_start`).
        has_fit : bool
            Whether there is an earlier fit beside: then only one that was broken off is of use.
        """
        return None

    def begin(self, generators: list[Mapping[str, Any]]) -> None:
        """A fit begins, with random generators in these states."""

    def wrap_sweeps(self, index: int, sweep: Sweep, record: Record) -> tuple[Sweep, Record]:
        """Sweep and record of a restart that do as these, and save it where it is time to."""
        return sweep, record

    def save_restart(self, index: int) -> None:
        """Save the last sweep of a restart that is over."""

    def save_latest(self) -> None:
        """Save the last sweep of every restart that is not over, or in the middle of the next."""

    def finish(self) -> None:
        """All restarts are over."""


def restart_origins(
    job: FitJob[ModelT], saver: FitSaver
) -> tuple[list[np.random.Generator], list[Fit | None]]:
    """A random generator for each restart, and what it goes on from (None: its start)."""
    resumed = _previous_fit(job)
    saved = saver.restarts(goes_on=job.settings.goes_on, has_fit=resumed is not None)
    if saved is None:
        rngs = _generators(job, resumed)
        saver.begin([rng.bit_generator.state for rng in rngs])
        return rngs, [resumed] * len(rngs)
    if job.settings.verbose:
        n_sweeps = [0 if fit is None else len(fit.history) for fit in saved.fits]
        print(f"going on from {saver.name}: restarts have {n_sweeps} sweeps")
    before = [
        None if fit is None else _restored_restart(job, fit, saver.name) for fit in saved.fits
    ]
    rng_states = [
        first if fit is None else fit.rng_state
        for first, fit in zip(saved.initial_rng_states, before, strict=True)
    ]
    return list(map(generator_at, rng_states)), before


def _restored_restart(job: FitJob[ModelT], fit: Fit, where: str) -> Fit:
    """A restart as it was when it was saved."""
    model = job.algorithm.model_of(job.model, fit.state)
    state = job.algorithm.adapt_state(model.restore(fit.state), model)
    if state is None:
        raise ValueError(
            f"the checkpoint in {where} is of other parameters: delete the "
            "folder to fit from the beginning"
        )
    # As far as it had come: it may be asked for more now.
    converged = fit.converged and fit.share_moved is not None and fit.share_moved < job.settings.tol
    return fit._replace(state=state, converged=converged)


def _generators(job: FitJob[ModelT], resumed: Fit | None) -> list[np.random.Generator]:
    """A random generator for each restart; a fit that goes on has a single one, its own."""
    n_init, why = job.settings.n_restarts, job.settings.why_single_restart
    if resumed is not None:
        assert resumed.rng_state is not None, "sweeps leave it"
        if job.settings.verbose and n_init > 1:
            print(f"n_init={n_init} is ignored: the fit before goes on")
        return [generator_at(resumed.rng_state)]
    if why:
        warn([f"n_init={n_init} is ignored: {why}, so that only one restart is run"])
    return spawn_generators(check_random_state(job.settings.random_state), 1 if why else n_init)


def _previous_fit(job: FitJob[ModelT]) -> Fit | None:
    """The fit to go on from, under the settings of now; None where it is of no use."""
    if job.previous_fit is None:
        return None
    before = job.previous_fit
    state = job.algorithm.adapt_state(before.state, job.algorithm.model_of(job.model, before.state))
    # Sweeps are counted again.
    return None if state is None else Fit(state, [], False, rng_state=before.rng_state)
