"""All restarts of a fit: what each begins with, its sweeps, callbacks and checkpoints, its rank."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import check_random_state
from threadpoolctl import ThreadpoolController

from sklearn_cvb.learning.algorithms import Algorithm
from sklearn_cvb.learning.convergence import Copy, Rule, looked_at
from sklearn_cvb.learning.fingerprints import are_same
from sklearn_cvb.learning.learned import FitResult, Learned, Left, Reading
from sklearn_cvb.learning.model import Fit, Model, Record, Sweep
from sklearn_cvb.messages import tell

if TYPE_CHECKING:
    from sklearn_cvb.learning.checkpoints import FitCheckpoint


@dataclass(frozen=True)
class Recorder:
    """What a restart calls after each sweep: it keeps the fit, and tells whether to stop.

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


class Interrupted(Exception):
    """The user interrupted a fit; `fits` holds the last finished sweep of each begun restart."""

    def __init__(self, fits: list[Fit]) -> None:
        super().__init__("interrupted")
        self.fits = fits


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
    n_restarts : int
        How many are asked for.
    """

    estimator: Any
    algorithm: Algorithm
    model: Model
    read: Reading
    data: tuple[Any, Any]
    n_restarts: int


def run_all(
    estimator: Any,
    algorithm: Algorithm,
    model: Model,
    read: Reading,
    data: tuple[Any, Any],
    n_restarts: int,
) -> tuple[list[Fit], bool, Any]:
    """The fits of all restarts, whether Ctrl-C ended them, and the context of callbacks."""
    check_requirements(algorithm, model)
    job = Job(estimator, algorithm, model, read, data, n_restarts)
    with _opened_checkpoint(job) as saved:
        rngs, before = _beginnings(job, saved)
        context = _root_context(estimator, len(rngs))
        if context is not None:
            X, y = data
            context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

        def restart(index: int, rng: np.random.Generator, recorder: Recorder) -> Fit:
            def plain_sweep(state: Any) -> tuple[Any, float]:
                return algorithm.sweep(state, model, rng)

            begun = before[index]
            first = model.of_restart(index) if index else model
            sweep: Sweep = plain_sweep
            record: Record = recorder
            if saved is not None:
                sweep, record = saved.around(index, sweep, record)
            report = _reporter(job, index, record, context)
            rule = _rule(job, begun)
            # No name here for the first state: its memory is free after the first sweep.
            fit = sweep_until(
                Fit(algorithm.start(first, rng), [], False) if begun is None else begun,
                sweep,
                estimator.max_iter,
                rule,
                report,
                rng,
                recorder.stop.is_set,
            )
            if saved is not None:
                saved.save_restart(index)
            return _ranked(job, fit)

        return *_run(job, restart, rngs, saved), context


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


def _run(
    job: Job,
    restart: Callable[..., Any],
    rngs: list[np.random.Generator],
    saved: "FitCheckpoint | None",
) -> tuple[list[Fit], bool]:
    """The fits of all restarts, and whether Ctrl-C ended them."""
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
        if not interrupted.fits:
            raise KeyboardInterrupt from None
        return [_ranked(job, fit) for fit in interrupted.fits], True


def _rule(job: Job, begun: Fit | None) -> Rule:
    """When to stop; of a restart that goes on, sweeps of earlier fits are not counted."""
    algorithm, model = job.algorithm, job.model
    if not algorithm.stops:
        return Rule(0.0, model)
    n_before = 0 if begun is None else begun.state.n_sweeps - len(begun.history)
    n_resting = max(0, algorithm.n_resting(model.hyper()) - n_before)
    disturbed = partial(_disturbed, algorithm, model)
    return Rule(job.estimator.tol, model, n_resting, disturbed, algorithm.never_falls)


def _disturbed(algorithm: Algorithm, model: Model, state: Any) -> Copy | None:
    """A disturbed copy of a state, as it is after each of its sweeps; None where there is none."""
    bound = algorithm.bound(model, state)
    copy = bound.copied(state)
    if copy is None:
        return None
    # The same disturbance whatever the fit draws.
    rng = np.random.Generator(np.random.PCG64(state.n_sweeps))
    copy = copy._replace(counts=bound.disturbed(copy.counts, rng))
    return _swept(copy, lambda state: algorithm.sweep(state, model, rng))


def _swept(state: Any, sweep: Sweep) -> Copy:
    while True:
        state, value = sweep(state)
        yield state, value


def _ranked(job: Job, fit: Fit) -> Fit:
    """The fit with what restarts are ranked by."""
    estimator, algorithm = job.estimator, job.algorithm
    model = algorithm.bound(job.model, fit.state)
    objective = algorithm.objective(fit.state, model, fit.history)
    if estimator.verbose:
        print(f"{len(fit.history)} sweeps, objective {objective:.6f}")
    state = model.finished(fit.state, goes_on=estimator.warm_start)
    if not algorithm.keeps_work:
        state = state._replace(work=None)
    return fit._replace(objective=objective, state=state)


def _reporter(job: Job, index: int, record: Record, context: Any) -> Record:
    """What is called after every sweep of a restart: progress, callbacks, stop or go on."""
    estimator, task = job.estimator, None
    given = {"estimator": estimator, "X": job.data[0], "y": job.data[1]}
    if context is not None:
        task = context.subcontext("restart", task_id=index, max_subtasks=estimator.max_iter)
        task.call_on_fit_task_begin(**given)

    def fitted(fit: Fit) -> dict[str, Any]:
        state = job.algorithm.bound(job.model, fit.state).finished(fit.state, goes_on=True)
        if not job.algorithm.keeps_work:
            state = state._replace(work=None)
        fits = [fit._replace(state=state)]
        left = left_of(estimator, job.algorithm, job.model, job.read, fits)
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
            if stop or fit.converged or fit.broken_off or done == estimator.max_iter:
                task.call_on_fit_task_end(**given)
        return stop

    return report


def _root_context(estimator: Any, n_restarts: int) -> Any:
    """Open the callback context of a fit whose subtasks are its restarts (None: no callbacks)."""
    if not hasattr(estimator, "_init_callback_context"):
        return None
    context = estimator._init_callback_context(max_subtasks=n_restarts, sequential_subtasks=False)
    return context if getattr(estimator, "_skl_callbacks", None) else None


def left_of(
    estimator: Any, algorithm: Algorithm, model: Model, read: Reading, fits: list[Fit]
) -> Left:
    """What the best restart leaves, and how the fit went."""
    fits = [
        fit if fit.objective is not None else fit._replace(objective=fit.history[-1])
        for fit in fits
    ]
    best = best_fit(fits)
    record = {
        "objective_": best.objective,
        "history_": np.array(best.history),
        "restart_objectives_": np.array([fit.objective for fit in fits], dtype=float),
        "restart_histories_": [np.array(fit.history) for fit in fits],
        "n_iter_": len(best.history),
        "converged_": best.converged,
        "unexplained_": best.state.unexplained,
        **algorithm.attributes(best, model),
    }
    bound, counts = algorithm.bound(model, best.state), algorithm.final_counts(best.state)
    left: Left = estimator._left(FitResult(best, fits, read, algorithm, bound, counts))
    return left._replace(attributes=record | left.attributes)


# What restarts begin with: their start, the fit before, or a checkpoint


def _opened_checkpoint(job: Job) -> AbstractContextManager["FitCheckpoint | None"]:
    """Where the fit is saved while it runs, if anywhere."""
    if job.estimator.checkpoint is None:
        return nullcontext()
    from sklearn_cvb.learning.checkpoints import opened

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
    model = job.algorithm.bound(job.model, fit.state)
    state = job.algorithm.rebase(model.completed(fit.state), model)
    if state is None:
        raise ValueError(
            f"the checkpoint in {job.estimator.checkpoint} is of other parameters: delete the "
            "folder to fit from the beginning"
        )
    # As far as it had come: it may be asked for more now.
    converged = fit.converged and fit.distance < job.estimator.tol
    return fit._replace(state=state, converged=converged)


def _generators(job: Job, resumed: Fit | None) -> list[np.random.Generator]:
    """A random generator for each restart; a fit that goes on has a single one, its own."""
    n_init = job.n_restarts
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
    state = job.algorithm.rebase(best.state, job.algorithm.bound(job.model, best.state))
    # Sweeps are counted anew.
    return None if state is None else Fit(state, [], False, randomness=best.randomness)


# Sweeps of one restart, restarts on threads


@contextmanager
def ctrl_c_waits() -> Iterator[Callable[[], bool]]:
    """Ctrl-C waits for the end of what is in this context, which is told; a second one does not.

    Only the main thread hears it, and another handler than Python's own is left alone.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: False
        return
    n_heard = 0

    def heard(_number: int, _frame: Any) -> None:
        nonlocal n_heard
        n_heard += 1
        if n_heard > 1:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, heard)
    try:
        yield lambda: n_heard > 0
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if n_heard:
        raise KeyboardInterrupt


def sweep_until(
    fit: Fit,
    sweep: Sweep,
    max_iter: int,
    rule: Rule,
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
    rule : Rule
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
    fit, stop = fit._replace(history=list(fit.history), randomness=_state_of(rng)), False
    rule = rule._replace(max_iter=max_iter)
    with ctrl_c_waits() as is_interrupted:

        def is_over() -> bool:
            return is_interrupted() or stops()

        while (len(fit.history) < max_iter or fit.broken_off) and not (
            fit.converged or stop or is_over()
        ):
            if not fit.broken_off:
                state, value = sweep(fit.state)
                fit.history.append(value)
                fit = fit._replace(state=state, randomness=_state_of(rng))
            fit = looked_at(fit._replace(broken_off=False), rule, is_over)
            stop = record(fit) or fit.broken_off
    return fit


def _state_of(rng: np.random.Generator | None) -> Any:
    return None if rng is None else rng.bit_generator.state


def spawn_generators(random_state: np.random.RandomState, n: int) -> list[np.random.Generator]:
    """Child generators, one per restart: the same for any number of jobs."""
    seed = random_state.randint(np.iinfo(np.int32).max, size=4)
    children = np.random.SeedSequence(seed.tolist()).spawn(n)
    return [np.random.Generator(np.random.PCG64(child)) for child in children]


def generator_at(randomness: Any) -> np.random.Generator:
    """The generator that a fit left in this state."""
    bits = np.random.PCG64(0)
    bits.state = randomness
    return np.random.Generator(bits)


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
        with _libraries().limit(limits=1, user_api="blas"):
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
def _libraries() -> ThreadpoolController:
    """The libraries with threads of their own: looking for them takes as long as a small fit."""
    return ThreadpoolController()


def best_fit(fits: list[Fit]) -> Fit:
    """The fit with the highest objective; the first among equals, and one without if none has.

    NaN and infinity are no objectives: such a fit has lost its numbers.
    """
    ranked = [fit for fit in fits if fit.objective is not None and fit.objective < np.inf]
    return max(ranked, key=attrgetter("objective")) if ranked else fits[-1]
