"""Says, once in a process, that numba compiles: a first fit takes seconds, later ones do not."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from numba.core import event

from sklearn_cvb.messages import somebody_reads_errors

# Seconds of a first fit and its prediction with nothing compiled, import apart, by class. Those of
# the situation that takes longest; ``python -m benchmarks --rows cold`` measures them.
SECONDS = {
    "EMHMM": 5,
    "VBHMM": 5,
    "CVBHMM": 8,
    "GibbsHMM": 7,
    "EMPCFG": 10,
    "VBPCFG": 10,
    "CVBPCFG": 14,
    "HastingsPCFG": 14,
    "GibbsPCFG": 14,
    "EMDMV": 6,
    "VBDMV": 6,
    "CVBDMV": 6,
    "GibbsDMV": 8,
    "EMAlignmentHMM": 6,
    "VBAlignmentHMM": 6,
    "CVBAlignmentHMM": 6,
    "GibbsAlignmentHMM": 8,
    "EMLatentPCFG": 5,
    "VBLatentPCFG": 5,
    "CVBLatentPCFG": 5,
}

_said = threading.Event()


class _Listener(event.Listener):
    """Calls a function whenever a function of this package begins to be compiled."""

    def __init__(self, begin: Callable[[], None]) -> None:
        self._begin = begin

    def on_start(self, event: event.Event) -> None:
        module = event.data["dispatcher"].py_func.__module__ or ""
        if module.partition(".")[0] == __name__.partition(".")[0]:
            self._begin()

    def on_end(self, event: event.Event) -> None:
        pass


@contextmanager
def when_compiling(begin: Callable[[], None]) -> Iterator[None]:
    """Call `begin` for each function that is compiled meanwhile, and not loaded from disk.

    Parameters
    ----------
    begin : callable
    """
    with event.install_listener("numba:compile", _Listener(begin)):
        yield


@contextmanager
def announced(say: Callable[[str], None], seconds: int | None) -> Iterator[None]:
    """Say that something is compiled when it is, unless it has been said in this process.

    Parameters
    ----------
    say : callable
        Gets the line.
    seconds : int or None
        How long it takes at most, where that is known.
    """

    def begin() -> None:
        if not _said.is_set():
            _said.set()
            duration = "some seconds" if seconds is None else f"up to about {seconds} s"
            say(f"compiling, once: {duration}")

    if _said.is_set():
        yield
        return
    with when_compiling(begin):
        yield


@contextmanager
def announced_fit(estimator: object, verbose: int) -> Iterator[None]:
    """Say on the standard error that a fit compiles: on a terminal, or where it is `verbose`."""
    if not (verbose or somebody_reads_errors()):
        yield
        return
    say = partial(print, file=sys.stderr, flush=True)
    with announced(say, seconds_of(type(estimator))):
        yield


def seconds_of(kind: type) -> int | None:
    """Seconds that a first fit of a class compiles; of a class made from another, the other's."""
    return next((SECONDS[base.__name__] for base in kind.__mro__ if base.__name__ in SECONDS), None)
