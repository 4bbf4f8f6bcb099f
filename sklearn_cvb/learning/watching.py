"""What a fit reports after each sweep: lines on the terminal, callbacks; and Ctrl-C, which
waits.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

from sklearn_cvb.learning.learned import FitJob, FitResult, result_of
from sklearn_cvb.learning.model import Fit, ModelT, Record


class RestartCallbacks(Protocol):
    """Callbacks of a restart."""

    def after_sweep(self, result: Callable[[], FitResult]) -> bool:
        """Tell of a sweep, and on demand what the fit would be if it ended here; True ends it."""

    def end(self) -> None:
        """The restart is over."""


class Callbacks(Protocol):
    """Callbacks of a fit, opened by its caller."""

    def begin(self, n_restarts: int) -> None:
        """A fit of this many restarts begins."""

    def begin_restart(self, index: int, max_iter: int) -> RestartCallbacks:
        """A restart of at most this many sweeps begins: its callbacks."""


class Watcher:
    """Called after every sweep of a restart: it shows progress, and calls back.

    Parameters
    ----------
    job : FitJob
    index : int
        Number of the restart.
    record : callable
        What keeps the fit, and tells whether to stop.
    callbacks : Callbacks or None
    """

    def __init__(
        self, job: FitJob[ModelT], index: int, record: Record, callbacks: Callbacks | None
    ) -> None:
        self._job, self._index, self._record = job, index, record
        self._called = None
        if callbacks is not None:
            self._called = callbacks.begin_restart(index, job.settings.max_iter)

    def __call__(self, fit: Fit) -> bool:
        """Tell of a sweep; True where the restart is to end."""
        stop = self._record(fit)
        done, settings = len(fit.history), self._job.settings
        if settings.verbose > 1:
            print(f"restart {self._index}, sweep {done}: {fit.history[-1]:.6f}")
        if self._called is not None:
            stop |= self._called.after_sweep(partial(self._result, fit))
            if stop or fit.converged or fit.check_broken_off or done == settings.max_iter:
                self._called.end()
        return stop

    def _result(self, fit: Fit) -> FitResult:
        """What the fit would be if it ended here."""
        algorithm, model, reading = self._job[:3]
        state = algorithm.model_of(model, fit.state).finish(fit.state, goes_on=True)
        if not algorithm.keeps_work:
            state = state._replace(work=None)
        return result_of([fit._replace(state=state)], reading, algorithm, model)


class Interrupted(Exception):
    """The user interrupted a fit; `fits` holds the last finished sweep of each begun restart."""

    def __init__(self, fits: list[Fit]) -> None:
        super().__init__("interrupted")
        self.fits = fits


@contextmanager
def ctrl_c_waits() -> Iterator[Callable[[], bool]]:
    """Ctrl-C waits for the end of what is in this context; a second one does not.

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
