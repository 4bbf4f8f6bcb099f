"""Who watches a fit: progress on the terminal, callbacks of scikit-learn, and Ctrl-C."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from sklearn_cvb.learning.learned import Job, left_of
from sklearn_cvb.learning.model import Fit, Record


class Watcher:
    """What is called after every sweep of a restart: progress, callbacks, stop or go on.

    Parameters
    ----------
    job : Job
    index : int
        Number of the restart.
    record : callable
        What keeps the fit, and tells whether to stop.
    context : object or None
        That of callbacks (see `context_of_callbacks`).
    """

    def __init__(self, job: Job, index: int, record: Record, context: Any) -> None:
        self._job, self._index, self._record = job, index, record
        self._given = {"estimator": job.estimator, "X": job.data[0], "y": job.data[1]}
        self._task = None
        if context is not None:
            n_sweeps = job.estimator.max_iter
            self._task = context.subcontext("restart", task_id=index, max_subtasks=n_sweeps)
            self._task.call_on_fit_task_begin(**self._given)

    def __call__(self, fit: Fit) -> bool:
        """Tell of a sweep; True where the restart is to end."""
        stop = self._record(fit)
        done = len(fit.history)
        if self._job.estimator.verbose > 1:
            print(f"restart {self._index}, sweep {done}: {fit.history[-1]:.6f}")
        if self._task is not None:
            step = self._task.subcontext("sweep")
            step.call_on_fit_task_begin(**self._given)
            attributes = partial(self._attributes, fit)
            stop |= bool(
                step.call_on_fit_task_end(**self._given, reconstruction_attributes=attributes)
            )
            if stop or fit.converged or fit.broken_off or done == self._job.estimator.max_iter:
                self._task.call_on_fit_task_end(**self._given)
        return stop

    def _attributes(self, fit: Fit) -> dict[str, Any]:
        """What the fit would leave if it ended here."""
        job = self._job
        state = job.algorithm.bound(job.model, fit.state).finished(fit.state, goes_on=True)
        if not job.algorithm.keeps_work:
            state = state._replace(work=None)
        left = left_of(job, [fit._replace(state=state)])
        return {**job.read.attributes, **left.attributes, "_learned": left.learned}


def context_of_callbacks(job: Job, n_restarts: int) -> Any:
    """Begin a fit whose subtasks are its restarts; None where nothing calls back."""
    estimator, (X, y) = job.estimator, job.data
    if not hasattr(estimator, "_init_callback_context"):
        return None
    context = estimator._init_callback_context(max_subtasks=n_restarts, sequential_subtasks=False)
    if not getattr(estimator, "_skl_callbacks", None):
        return None
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
    return context


class Interrupted(Exception):
    """The user interrupted a fit; `fits` holds the last finished sweep of each begun restart."""

    def __init__(self, fits: list[Fit]) -> None:
        super().__init__("interrupted")
        self.fits = fits


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
