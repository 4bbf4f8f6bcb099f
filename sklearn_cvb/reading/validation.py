"""Checks of arguments, and constraints and types of parameters.

This file, `estimators.methods` and `scikit_learn` alone import scikit-learn's private modules.
"""

import os
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    Options,
    StrOptions,
)

from sklearn_cvb.learning.dirichlet import LARGEST, SMALLEST
from sklearn_cvb.messages import warn

# Where a seed is asked for, and a path.
Seed = int | np.random.RandomState | np.random.Generator | None
Folder = str | os.PathLike[str]

# What is said to those who come from hmmlearn.
LENGTHS = "cut X into a list of sequences with sklearn_cvb.split_by_lengths(X, lengths)"


# Beyond these float64 loses squares of concentrations, and numpy integers.
_LARGEST_NUMBER, _LARGEST_INTEGER = 1e100, 2**63 - 1


# These have a range of their own.
_CONCENTRATIONS = ("alpha", "beta", "start_alpha")


def check_sizes(parameters: Mapping[str, Any]) -> None:
    """Raise InvalidParameterError where a number, also one in a tuple, is too large."""
    for name, value in parameters.items():
        for number in value if isinstance(value, tuple) else (value,):
            has_range = name.rpartition("__")[2] in _CONCENTRATIONS and not isinstance(
                number, Integral
            )
            if not isinstance(number, Real) or has_range:
                continue
            size: Any = abs(number)
            largest = _LARGEST_INTEGER if isinstance(number, Integral) else _LARGEST_NUMBER
            # Infinity has a message of its own.
            if largest < size < np.inf:
                raise InvalidParameterError(
                    f"{name} holds {shown_number(number)}: numbers may be as large as {largest:.2g}"
                )


def shown_number(number: Real) -> str:
    """A number as a message shows it; Python writes no integers of very many digits."""
    try:
        return f"{float(number):.3g}"
    except OverflowError:
        return "a number of more than 300 digits"


def as_numbers(name: str, values: Any) -> np.ndarray:
    """An argument as an array of float64."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameterError(f"{name} must hold numbers, got {values!r}"[:200]) from None


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise ValueError unless an argument is one of some words."""
    if isinstance(value, str) and value in choices:
        return
    # hmmlearn has lengths in this place.
    is_lengths = isinstance(value, list | tuple | np.ndarray)
    hint = f" (for sequences of several lengths {LENGTHS})" if is_lengths else ""
    raise ValueError(f"{name} must be {' or '.join(map(repr, choices))}, got {value!r}{hint}")


# Larger numbers of anything are slips, and would take all memory.
_LARGEST_COUNT = 2**31 - 1


def check_counts(**counts: Any) -> None:
    """Raise unless all arguments are integers, and at least 1."""
    for name, value in counts.items():
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise TypeError(f"{name} must be an integer, got {value!r}")
    names, given = " and ".join(counts), ", ".join(map(repr, counts.values()))
    if any(value < 1 for value in counts.values()):
        raise ValueError(f"{names} must be at least 1, got {given}")
    if any(value > _LARGEST_COUNT for value in counts.values()):
        raise ValueError(f"{names} must be at most {_LARGEST_COUNT}")


def check_concentrations(name: str, values: np.ndarray, or_zero: bool) -> None:
    """Raise unless all values are in the range of concentrations, or 0."""
    wrong = ~((values >= SMALLEST) & (values <= LARGEST) | (or_zero & (values == 0.0)))
    if wrong.any():
        raise InvalidParameterError(
            f"{name} must be {'0 or ' * or_zero}from {SMALLEST:g} to {LARGEST:g}, got "
            f"{float(values[wrong][0])!r}"
        )


__all__ = [
    "LENGTHS",
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "Options",
    "StrOptions",
    "as_numbers",
    "check_choice",
    "check_concentrations",
    "check_counts",
    "check_sizes",
    "warn",
]


def check_level(level: float) -> None:
    """Raise unless the level is a probability."""
    if not (isinstance(level, Real) and 0.0 < level < 1.0):
        raise ValueError(f"level must be a number between 0 and 1, got {level!r}")
