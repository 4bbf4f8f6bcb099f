"""Warnings that point at the user's line, and parts of messages: how many more, did you mean."""

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from multiprocessing import current_process
from pathlib import Path
from typing import Any

import joblib
import sklearn

# Of this many samples at most a message tells the numbers.
_SHOWN = 100
# Whose lines no warning is about: this package's, and those between it and its caller.
_PASSED_OVER = tuple(
    f"{Path(str(module.__file__)).parent}{os.sep}"
    for module in (sys.modules["sklearn_cvb"], sklearn, joblib)
)


def warn(messages: Iterable[str], category: type[Warning] = UserWarning) -> None:
    """Warn of what the user is to know; the line that is named is the caller's."""
    for message in messages:
        frame, level = sys._getframe(1), 2
        while frame.f_back is not None and frame.f_code.co_filename.startswith(_PASSED_OVER):
            frame, level = frame.f_back, level + 1
        warnings.warn(message, category, stacklevel=level)


def how_many_alike(places: Sequence[int], n: int, what: str) -> str:
    """What a message about the first of some samples adds where there are more: how many, which."""
    if len(places) == 1:
        return ""
    shown = ", ".join(map(str, places[:_SHOWN])) + ", ..." * (len(places) > _SHOWN)
    return f" ({len(places)} of {n} {what}: {shown})"


def did_you_mean(name: Any, known: Iterable[Any]) -> str:
    """What a message adds about a name that is like a known one; empty if none is."""
    found = get_close_matches(str(name), sorted(set(map(str, known)) - {str(name)}), 1)
    return f" (did you mean {found[0]!r}?)" if found else ""


def somebody_reads_errors() -> bool:
    """Whether the standard error is a session's terminal; workers share it, and say nothing."""
    return (
        current_process().name == "MainProcess" and sys.stderr is not None and sys.stderr.isatty()
    )
