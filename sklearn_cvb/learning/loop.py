"""The fit loop, once for all models: sweeps until they stop changing, restarts on threads."""

import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits


class Fit(NamedTuple):
    """One restart so far.

    Attributes
    ----------
    state : object
        What the algorithm carries from sweep to sweep.
    history : list of float
        What each sweep reported (nats, higher is better).
    converged : bool
        Whether the change fell below the tolerance.
    objective : float or None
        What restarts are ranked by; None until the restart is over.
    randomness : dict or None
        State of the random generator after the last sweep: what comes next draws from there.
    """

    state: Any
    history: list[float]
    converged: bool
    objective: float | None = None
    randomness: Any = None


Sweep = Callable[[Any], tuple[Any, float]]
Record = Callable[[Fit], bool]
Restart = Callable[[int, np.random.Generator, Record], Fit]


class Schedule(NamedTuple):
    """When to stop: after `max_iter` sweeps, or `patience` changes in a row below `tol`.

    A change is divided by `scale` first (the number of tokens, where the history holds totals).
    None counts in the first `n_resting` sweeps, in which something still waits to be learned.
    """

    max_iter: int
    tol: float
    patience: int
    scale: float
    n_resting: int = 0


class Interrupted(Exception):
    """The user interrupted a fit; `fits` holds the last finished sweep of each begun restart."""

    def __init__(self, fits: list[Fit]) -> None:
        super().__init__("interrupted")
        self.fits = fits


@contextmanager
def ctrl_c_waits() -> Iterator[None]:
    """Ctrl-C waits for the end of what is in this context; a second one does not.

    Only the main thread hears it, and another handler than Python's own is left alone.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    n_heard = 0

    def heard(_number: int, _frame: Any) -> None:
        nonlocal n_heard
        n_heard += 1
        if n_heard > 1:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, heard)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if n_heard:
        raise KeyboardInterrupt


def sweep_until(
    state: Any,
    sweep: Sweep,
    schedule: Schedule,
    record: Record,
    rng: np.random.Generator | None = None,
    history: Sequence[float] = (),
    *,
    ends_sweeps: bool = False,
) -> Fit:
    """Sweep until the schedule says stop.

    Parameters
    ----------
    state : object
    sweep : callable
        ``sweep(state) -> (state, value)``.
    schedule : Schedule
    record : callable
        ``record(fit) -> bool`` is called after every sweep; True ends the restart.
    rng : numpy.random.Generator or None, default=None
        What the sweeps draw from.
    history : sequence of float
        What the sweeps before `state` reported, if the schedule counts these, too.
    ends_sweeps : bool, default=False
        Whether Ctrl-C waits until a sweep is recorded: it may change its state in place, so that
        one that is broken off leaves no state to go on from to the same numbers.

    Returns
    -------
    Fit
    """
    history, calm = list(history), 0
    for done in range(1, len(history) + 1):
        calm = _calm(history[:done], calm, schedule)
    fit = Fit(state, history, calm >= schedule.patience, randomness=_state_of(rng))
    stop = False
    while len(history) < schedule.max_iter and not fit.converged and not stop:
        with ctrl_c_waits() if ends_sweeps else nullcontext():
            state, value = sweep(state)
            history.append(value)
            calm = _calm(history, calm, schedule)
            fit = Fit(state, history, calm >= schedule.patience, randomness=_state_of(rng))
            stop = record(fit)
    return fit


def _calm(history: list[float], before: int, schedule: Schedule) -> int:
    """Small changes in a row after the last sweep, of which there were so many before it."""
    if len(history) <= max(1, schedule.n_resting):
        return before
    change = abs(history[-1] - history[-2]) / schedule.scale
    return before + 1 if change < schedule.tol else 0


def _state_of(rng: np.random.Generator | None) -> Any:
    return None if rng is None else rng.bit_generator.state


def spawn_generators(random_state: np.random.RandomState, n: int) -> list[np.random.Generator]:
    """Child generators, one per restart: the same for any number of jobs."""
    seed = random_state.randint(np.iinfo(np.int32).max, size=4)
    return [np.random.Generator(np.random.PCG64(child)) for child in _children(seed, n)]


def generator_at(randomness: Any) -> np.random.Generator:
    """The generator that a fit left in this state."""
    bits = np.random.PCG64(0)
    bits.state = randomness
    return np.random.Generator(bits)


def _children(seed: np.ndarray, n: int) -> list[np.random.SeedSequence]:
    return np.random.SeedSequence(seed.tolist()).spawn(n)


def run_restarts(
    restart: Restart, generators: list[np.random.Generator], n_jobs: int | None
) -> list[Fit]:
    """Run restarts on threads (kernels release the GIL) and return their fits in order.

    Parameters
    ----------
    restart : callable
        ``restart(index, generator, record) -> Fit``; it calls ``record(fit) -> bool`` after each
        sweep and stops when that returns True.
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
        def record(fit: Fit) -> bool:
            latest[index] = fit
            return stop.is_set()

        with running[index]:
            if not stop.is_set():
                latest[index] = restart(index, generators[index], record)
            return latest[index]

    try:
        # Restarts are the threads: matrix products inside them stay on one, whatever the machine.
        with threadpool_limits(limits=1, user_api="blas"):
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


def even_pieces(starts: np.ndarray, n_tokens: int) -> list[tuple[int, int]]:
    """Ranges of sequences with about so many tokens each, in order.

    Parameters
    ----------
    starts : ndarray of shape (n_sequences + 1,)
        Where each sequence begins among all tokens, and where the last one ends.
    n_tokens : int

    Returns
    -------
    list of tuple
        ``(begin, end)``.
    """
    cuts = np.searchsorted(starts, np.arange(n_tokens, starts[-1], n_tokens))
    cuts = np.unique([0, *cuts, len(starts) - 1]).tolist()
    return list(pairwise(cuts))


def threads_for_each(n_restarts: int, n_jobs: int | None) -> int:
    """How many threads each restart has to itself when restarts run on `n_jobs` threads."""
    return max(1, effective_n_jobs(n_jobs) // n_restarts)


def on_threads(work: Callable, pieces: list[tuple], n_jobs: int | None) -> list:
    """Call ``work(*piece)`` for each piece on threads; every call writes a place of its own.

    Parameters
    ----------
    work : callable
    pieces : list of tuple
    n_jobs : int or None

    Returns
    -------
    list
        What the calls return, in the order of the pieces.
    """
    n_threads = min(effective_n_jobs(n_jobs), len(pieces))
    if n_threads == 1:
        return [work(*piece) for piece in pieces]
    left = deque(enumerate(pieces))
    results: list[Any] = [None] * len(pieces)

    def run() -> None:
        while left:
            try:
                place, piece = left.popleft()
            except IndexError:
                # Another thread has taken the last one.
                return
            results[place] = work(*piece)

    # Joblib looks for results every 10 ms: too seldom for what is called in every sweep. Starting
    # a thread takes as long as a small piece: this one works, too.
    with ThreadPoolExecutor(n_threads - 1) as pool:
        others = [pool.submit(run) for _ in range(n_threads - 1)]
        try:
            run()
            for other in others:
                other.result()
        finally:
            left.clear()
    return results


def n_sweeps_before(begun: Fit | None) -> int:
    """Sweeps of earlier fits, which the schedule of the one that goes on does not count."""
    return 0 if begun is None else begun.state.n_sweeps - len(begun.history)


def best_fit(fits: list[Fit]) -> Fit:
    """The fit with the highest objective; the first among equals, and one without if none has.

    NaN and infinity are no objectives: such a fit has lost its numbers.
    """
    ranked = [fit for fit in fits if fit.objective is not None and fit.objective < np.inf]
    return max(ranked, key=attrgetter("objective")) if ranked else fits[-1]
