"""The sweeps of a restart until it has converged, and all restarts of a fit on threads: each
records its last sweep, so that Ctrl-C leaves a fit.
"""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Generic, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import ThreadpoolController

from sklearn_cvb.learning.algorithms import Algorithm
from sklearn_cvb.learning.convergence import Copy, StoppingRule, check_convergence
from sklearn_cvb.learning.learned import FitJob, FitSettings, Reading
from sklearn_cvb.learning.model import Fit, ModelT, Record, State, Sweep
from sklearn_cvb.learning.requirements import check_requirements
from sklearn_cvb.learning.resuming import FitSaver, restart_origins
from sklearn_cvb.learning.watching import Callbacks, Interrupted, Watcher, ctrl_c_waits

# Where sweeps may lower the objective, a restart ends after so many without a better one.
_PATIENCE = 3


@dataclass(frozen=True)
class Recorder:
    """Called after each sweep of a restart: it keeps the fit, and returns whether to stop.

    Attributes
    ----------
    restart : int
        Its number.
    latest : list of (Fit or None)
        The last finished sweep of all restarts.
    stop : threading.Event
        Set where all are to stop.
    """

    restart: int
    latest: list[Fit | None]
    stop: threading.Event

    def __call__(self, fit: Fit) -> bool:
        """Keep what a sweep left."""
        self.latest[self.restart] = fit
        return self.stop.is_set()


Restart = Callable[[int, np.random.Generator, Recorder], Fit]


class Restarts(NamedTuple, Generic[ModelT]):
    """The restarts of a fit, with where each begins, the saver and the callbacks.

    Attributes
    ----------
    job : FitJob
    before : list of (Fit or None)
        The saved or earlier fit that each goes on from; None: its start.
    saver : FitSaver
    callbacks : Callbacks or None
    """

    job: FitJob[ModelT]
    before: list[Fit | None]
    saver: FitSaver
    callbacks: Callbacks | None

    def run(self, index: int, rng: np.random.Generator, recorder: Recorder) -> Fit:
        """One restart, with its objective."""
        algorithm, model, earlier = self.job.algorithm, self.job.model, self.before[index]
        sweep: Sweep = partial(_sweep_once, algorithm, model, rng)
        sweep, record = self.saver.wrap_sweeps(index, sweep, recorder)
        watcher = Watcher(self.job, index, record, self.callbacks)
        first = model.for_restart(index) if index else model
        # No name here for the first state: its memory is free after the first sweep.
        fit = sweep_until(
            Fit(algorithm.start(first, rng), [], False) if earlier is None else earlier,
            sweep,
            self.job.settings.max_iter,
            _stopping_rule(self.job, earlier),
            watcher,
            rng,
            recorder.stop.is_set,
        )
        self.saver.save_restart(index)
        return _finished(self.job, fit)


def run(
    model: ModelT,
    algorithm: Algorithm[ModelT],
    rng: np.random.Generator,
    *,
    max_iter: int = 320,
    tol: float = 0.0025,
) -> Fit:
    """One restart from its start, without an estimator: `max_iter` and `tol` as of these."""
    check_requirements(algorithm, model)
    job = FitJob(algorithm, model, Reading(None, None, {}), FitSettings(max_iter, tol))
    recorder = Recorder(0, [None], threading.Event())
    return Restarts(job, [None], FitSaver(), None).run(0, rng, recorder)


def run_all(
    job: FitJob[ModelT],
    saving: AbstractContextManager[FitSaver],
    callbacks: Callbacks | None = None,
) -> tuple[list[Fit], bool]:
    """The fits of all restarts, and whether Ctrl-C ended them."""
    check_requirements(job.algorithm, job.model)
    with saving as saver:
        rngs, before = restart_origins(job, saver)
        if callbacks is not None:
            callbacks.begin(len(rngs))
        restarts = Restarts(job, before, saver, callbacks)
        # Parts elsewhere hold one restart at a time.
        is_elsewhere = getattr(job.reading.problem, "is_in_parts", False)
        try:
            fits = run_restarts(restarts.run, rngs, 1 if is_elsewhere else job.settings.n_jobs)
            saver.finish()
            return fits, False
        except Interrupted as interrupted:
            saver.save_latest()
            if not interrupted.fits:
                raise KeyboardInterrupt from None
            return [_finished(job, fit) for fit in interrupted.fits], True


def _stopping_rule(job: FitJob[Any], earlier: Fit | None) -> StoppingRule:
    """When to stop; of a restart that goes on, sweeps of earlier fits are not counted."""
    algorithm, model = job.algorithm, job.model
    if not algorithm.stops:
        return StoppingRule(0.0, model)
    n_before = 0 if earlier is None else earlier.state.n_sweeps - len(earlier.history)
    n_warm_up = max(0, algorithm.n_warm_up(model.hyper()) - n_before)
    disturbed_copy = partial(_disturbed_copy, algorithm, model)
    rule = StoppingRule(job.settings.tol, model, n_warm_up, disturbed_copy, algorithm.never_falls)
    return rule._replace(patience=_PATIENCE if algorithm.keeps_best else 0)


def _disturbed_copy(algorithm: Algorithm[ModelT], model: ModelT, state: Any) -> Copy | None:
    """A disturbed copy of a state, as it is after each of its sweeps; None where there is none."""
    bound = algorithm.model_of(model, state)
    copy = bound.copy_state(state)
    if copy is None:
        return None
    # The same disturbance whatever the fit draws.
    rng = np.random.Generator(np.random.PCG64(state.n_sweeps))
    copy = copy._replace(counts=bound.disturb(copy.counts, rng), extrapolation=None)
    return _endless_sweeps(copy, partial(_sweep_once, algorithm, model, rng))


def _sweep_once(
    algorithm: Algorithm[ModelT], model: ModelT, rng: np.random.Generator, state: State
) -> tuple[State, float]:
    """The next state, and the value of the sweep."""
    return algorithm.sweep(state, model, rng)


def _endless_sweeps(state: Any, sweep: Sweep) -> Copy:
    while True:
        state, value = sweep(state)
        yield state, value


def _finished(job: FitJob[ModelT], fit: Fit) -> Fit:
    """The fit with its objective, and without what no further sweep needs."""
    settings, algorithm = job.settings, job.algorithm
    fit = fit._replace(state=algorithm.final_state(fit.state))
    model = algorithm.model_of(job.model, fit.state)
    objective = algorithm.objective(fit.state, model, fit.history)
    if settings.verbose:
        print(f"{len(fit.history)} sweeps, objective {objective:.6f}")
    state = model.finish(fit.state, goes_on=settings.goes_on)
    if not algorithm.keeps_work:
        state = state._replace(work=None)
    return fit._replace(objective=objective, state=state)


def sweep_until(
    fit: Fit,
    sweep: Sweep,
    max_iter: int,
    rule: StoppingRule,
    record: Record,
    rng: np.random.Generator | None = None,
    stops: Callable[[], bool] = lambda: False,
) -> Fit:
    """Sweep until the rule says that the fit has converged, or the history has `max_iter` sweeps.

    Ctrl-C waits until a sweep is recorded: it may change its state in place, so that one that is
    broken off leaves no state to go on from to the same numbers.

    Parameters
    ----------
    fit : Fit
        Where to begin, with the sweeps that are counted.
    sweep : callable
        ``sweep(state) -> (state, value)``.
    max_iter : int
    rule : StoppingRule
    record : callable
        ``record(fit) -> bool`` is called after every sweep; True ends the restart.
    rng : numpy.random.Generator or None, default=None
        What the sweeps draw from.
    stops : callable
        Whether another thread has heard Ctrl-C.

    Returns
    -------
    Fit
    """
    fit, stop = fit._replace(history=list(fit.history), rng_state=_generator_state(rng)), False
    rule = rule._replace(max_iter=max_iter)
    with ctrl_c_waits() as is_interrupted:

        def is_over() -> bool:
            return is_interrupted() or stops()

        while (len(fit.history) < max_iter or fit.check_broken_off) and not (
            fit.converged or stop or is_over()
        ):
            if not fit.check_broken_off:
                state, value = sweep(fit.state)
                fit.history.append(value)
                fit = fit._replace(state=state, rng_state=_generator_state(rng))
            fit = check_convergence(fit._replace(check_broken_off=False), rule, is_over)
            stop = record(fit) or fit.check_broken_off
    return fit


def _generator_state(rng: np.random.Generator | None) -> Any:
    return None if rng is None else rng.bit_generator.state


def run_restarts(
    restart: Restart, generators: list[np.random.Generator], n_jobs: int | None
) -> list[Fit]:
    """Run restarts on threads (kernels release the GIL) and return their fits in order.

    Parameters
    ----------
    restart : callable
        ``restart(index, generator, recorder) -> Fit``; it calls ``recorder(fit) -> bool`` after
        each sweep and stops when that returns True.
    generators : list of numpy.random.Generator
    n_jobs : int or None

    Raises
    ------
    Interrupted
        On Ctrl-C, with the last finished sweep of each restart.
    """
    latest: list[Fit | None] = [None] * len(generators)
    running = [threading.Lock() for _ in generators]
    stop = threading.Event()

    def run(index: int) -> Fit | None:
        with running[index]:
            if not stop.is_set():
                recorder = Recorder(index, latest, stop)
                latest[index] = restart(index, generators[index], recorder)
            return latest[index]

    try:
        # Restarts are the threads: matrix products inside them stay on one, whatever the machine.
        with _thread_pools().limit(limits=1, user_api="blas"):
            return Parallel(n_jobs=n_jobs, prefer="threads")(
                delayed(run)(index) for index in range(len(generators))
            )
    except KeyboardInterrupt:
        stop.set()
        # Other threads still write to what their last sweep left: let them finish this one.
        for restart_runs in running:
            with restart_runs:
                pass
        raise Interrupted([fit for fit in latest if fit is not None]) from None


@cache
def _thread_pools() -> ThreadpoolController:
    """The libraries with threads of their own: looking for them takes as long as a small fit."""
    return ThreadpoolController()
