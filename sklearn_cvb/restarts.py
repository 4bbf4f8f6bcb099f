"""All restarts of a fit: what each begins with, its sweeps, callbacks and checkpoints, its rank."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from sklearn_cvb.identity import are_same
from sklearn_cvb.learned import Learned, Reading
from sklearn_cvb.learning.algorithm import Algorithm
from sklearn_cvb.learning.loop import (
    Fit,
    Interrupted,
    Record,
    Schedule,
    Sweep,
    best_fit,
    generator_at,
    n_sweeps_before,
    run_restarts,
    spawn_generators,
    sweep_until,
)
from sklearn_cvb.learning.model import Model
from sklearn_cvb.validation import root_context, tell

if TYPE_CHECKING:
    from sklearn_cvb.fit_checkpoint import FitCheckpoint


class Job(NamedTuple):
    """What is fitted: an estimator's parameters, its algorithm, a model, and what it was read from.

    Attributes
    ----------
    estimator : BaseModel
    algorithm : Algorithm
    model : Model
    read : Reading
    data : tuple
        X and y, for callbacks.
    """

    estimator: Any
    algorithm: Algorithm
    model: Model
    read: Reading
    data: tuple[Any, Any]


def run_all(
    estimator: Any, algorithm: Algorithm, model: Model, read: Reading, data: tuple[Any, Any]
) -> tuple[list[Fit], bool, Any]:
    """The fits of all restarts, whether Ctrl-C ended them, and the context of callbacks."""
    job = Job(estimator, algorithm, model, read, data)
    with _opened_checkpoint(job) as saved:
        rngs, before = _beginnings(job, saved)
        context = root_context(estimator, len(rngs))
        if context is not None:
            X, y = data
            context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

        def restart(index: int, rng: np.random.Generator, record: Record) -> Fit:
            def plain_sweep(state: Any) -> tuple[Any, float]:
                return algorithm.sweep(state, model, rng)

            begun = before[index]
            sweep: Sweep = plain_sweep
            if saved is not None:
                sweep, record = saved.around(index, sweep, record)
            # No name here for the first state: its memory is free after the first sweep.
            fit = sweep_until(
                algorithm.start(model, rng) if begun is None else begun.state,
                sweep,
                _schedule(job, n_sweeps_before(begun)),
                _reporter(job, index, record, context),
                rng,
                () if begun is None else begun.history,
                ends_sweeps=estimator.warm_start or saved is not None,
            )
            if saved is not None:
                saved.save_restart(index)
            return _ranked(job, fit)

        return *_run(job, restart, rngs, saved), context


def _run(
    job: Job, restart: Callable, rngs: list[np.random.Generator], saved: "FitCheckpoint | None"
) -> tuple[list[Fit], bool]:
    """The fits of all restarts, and whether Ctrl-C ended them (kept with `warm_start`)."""
    # Parts elsewhere hold one restart at a time.
    n_jobs = 1 if getattr(job.read.problem, "is_in_parts", False) else job.estimator.n_jobs
    try:
        fits = run_restarts(restart, rngs, n_jobs)
        if saved is not None:
            saved.finish()
        return fits, False
    except Interrupted as interrupted:
        if saved is not None:
            saved.save_latest()
        if not (job.estimator.warm_start and interrupted.fits):
            raise KeyboardInterrupt from None
        return [_ranked(job, fit) for fit in interrupted.fits], True


def _schedule(job: Job, n_before: int) -> Schedule:
    """When to stop, after `n_before` sweeps of earlier fits."""
    estimator, algorithm, model = job.estimator, job.algorithm, job.model
    scale = model.n_observed if algorithm.is_total else 1.0
    n_resting = max(0, algorithm.n_resting(model) - n_before)
    tol = estimator.tol if algorithm.stops else 0.0
    return Schedule(estimator.max_iter, tol, algorithm.patience, scale, n_resting)


def _ranked(job: Job, fit: Fit) -> Fit:
    """The fit with what restarts are ranked by."""
    estimator, algorithm, model = job.estimator, job.algorithm, job.model
    objective = algorithm.objective(fit.state, model, fit.history)
    if estimator.verbose:
        print(f"{len(fit.history)} sweeps, objective {objective:.6f}")
    state = algorithm.finished(fit.state, model, goes_on=estimator.warm_start)
    return fit._replace(objective=objective, state=state)


def _reporter(job: Job, index: int, record: Record, context: Any) -> Record:
    """What is called after every sweep of a restart: progress, callbacks, stop or go on."""
    estimator, task = job.estimator, None
    given = {"estimator": estimator, "X": job.data[0], "y": job.data[1]}
    if context is not None:
        task = context.subcontext("restart", task_id=index, max_subtasks=estimator.max_iter)
        task.call_on_fit_task_begin(**given)

    def fitted(fit: Fit) -> dict[str, Any]:
        state = job.algorithm.finished(fit.state, job.model, goes_on=True)
        left = estimator._left([fit._replace(state=state)], job.read)
        return {**job.read.attributes, **left.attributes, "_learned": left.learned}

    def report(fit: Fit) -> bool:
        stop = record(fit)
        done = len(fit.history)
        if estimator.verbose > 1:
            print(f"restart {index}, sweep {done}: {fit.history[-1]:.6f}")
        if task is not None:
            step = task.subcontext("sweep")
            step.call_on_fit_task_begin(**given)
            stop |= bool(
                step.call_on_fit_task_end(**given, reconstruction_attributes=lambda: fitted(fit))
            )
            if stop or fit.converged or done == estimator.max_iter:
                task.call_on_fit_task_end(**given)
        return stop

    return report


def record_of(fits: list[Fit]) -> tuple[Fit, dict[str, Any]]:
    """The best restart, and the attributes that tell how the fit went."""
    fits = [
        fit if fit.objective is not None else fit._replace(objective=fit.history[-1])
        for fit in fits
    ]
    best = best_fit(fits)
    return best, {
        "objective_": best.objective,
        "history_": np.array(best.history),
        "restart_objectives_": np.array([fit.objective for fit in fits], dtype=float),
        "restart_histories_": [np.array(fit.history) for fit in fits],
        "n_iter_": len(best.history),
        "converged_": best.converged,
        "unexplained_": best.state.unexplained,
    }


# What restarts begin with: their start, the fit before, or a checkpoint


def _opened_checkpoint(job: Job) -> AbstractContextManager["FitCheckpoint | None"]:
    """Where the fit is saved while it runs, if anywhere."""
    if job.estimator.checkpoint is None:
        return nullcontext()
    from sklearn_cvb.fit_checkpoint import opened

    return opened(job)


def _beginnings(
    job: Job, saved: "FitCheckpoint | None"
) -> tuple[list[np.random.Generator], list[Fit | None]]:
    """A random generator for each restart, and what it goes on from (None: its start)."""
    estimator = job.estimator
    resumed, found = _resumable(job), None
    if saved is not None:
        found = saved.found(goes_on=estimator.warm_start, has_fit=resumed is not None)
    if found is None:
        rngs = _generators(job, resumed)
        if saved is not None:
            saved.begin([rng.bit_generator.state for rng in rngs])
        return rngs, [resumed] * len(rngs)
    if estimator.verbose:
        n_sweeps = [0 if fit is None else len(fit.history) for fit in found.fits]
        print(f"going on from {estimator.checkpoint}: restarts have {n_sweeps} sweeps")
    before = [None if fit is None else _restored(job, fit) for fit in found.fits]
    randomness = [
        first if fit is None else fit.randomness
        for first, fit in zip(found.generators, before, strict=True)
    ]
    return list(map(generator_at, randomness)), before


def _restored(job: Job, fit: Fit) -> Fit:
    """A restart as it was when it was saved."""
    algorithm, model = job.algorithm, job.model
    state = algorithm.rebase(algorithm.completed(fit.state, model), model)
    if state is None:
        raise ValueError(
            f"the checkpoint in {job.estimator.checkpoint} is of other parameters: delete the "
            "folder to fit from the beginning"
        )
    return fit._replace(state=state)


def _generators(job: Job, resumed: Fit | None) -> list[np.random.Generator]:
    """A random generator for each restart; a fit that goes on has a single one, its own."""
    n_init = job.estimator.n_init
    if resumed is not None:
        assert resumed.randomness is not None, "sweeps leave it"
        if job.estimator.verbose and n_init > 1:
            print(f"n_init={n_init} is ignored: the fit before goes on")
        return [generator_at(resumed.randomness)]
    why = job.estimator._why_one_restart(job.read) if n_init > 1 else ""
    if why:
        tell([f"n_init={n_init} is ignored: {why}, so that only one restart is run"])
    return spawn_generators(check_random_state(job.estimator.random_state), 1 if why else n_init)


def _resumable(job: Job) -> Fit | None:
    """The fit to go on from, with `warm_start` and the same sequences."""
    estimator = job.estimator
    learned: Learned | None = vars(estimator).get("_learned")
    if not estimator.warm_start or learned is None or learned.resume is None:
        return None
    before, best = learned.resume
    is_same_kind = type(before.problem) is type(job.read.problem)
    if not (is_same_kind and are_same(estimator._identity(before), estimator._identity(job.read))):
        return None
    state = job.algorithm.rebase(best.state, job.model)
    # Sweeps are counted anew.
    return None if state is None else best._replace(state=state, history=[])
