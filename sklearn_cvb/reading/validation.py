"""Checks of parameters and types of what users give; the only file that imports scikit-learn's
private modules (parameter checks and callbacks)."""

import functools
import inspect
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
import sklearn
from sklearn.base import _fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    Options,
    StrOptions,
)
from sklearn.utils.metaestimators import available_if as _available_if
from sklearn.utils.validation import validate_data

from sklearn_cvb.learning.dirichlet import LARGEST, SMALLEST
from sklearn_cvb.messages import tell

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback._callback_support import callback_management_context
except ImportError:  # scikit-learn before 1.9, or a later one that has moved them: fit without
    from contextlib import nullcontext as callback_management_context

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

        @property
        def set_callbacks(self) -> Any:
            """What asks whether it is there finds nothing; who calls it is told why."""
            raise AttributeError(
                f"{type(self).__name__} has no callbacks with scikit-learn {sklearn.__version__}: "
                "they came with 1.9"
            )


# Where a seed is asked for, and a path.
Seed = int | np.random.RandomState | np.random.Generator | None
Folder = str | os.PathLike[str]

# What is said to those who come from hmmlearn.
LENGTHS = "cut X into a list of sequences with sklearn_cvb.split_by_lengths(X, lengths)"


# A method keeps its signature under a decorator, so that editors know it.
_Estimator = TypeVar("_Estimator")
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def fit_context(
    *, prefer_skip_nested_validation: bool
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """scikit-learn's decorator that checks parameters before a fit, with its types."""
    return _fit_context(prefer_skip_nested_validation=prefer_skip_nested_validation)


def available_if(
    check: Callable[[Any], bool],
) -> Callable[[Callable[_Parameters, _Result]], Callable[_Parameters, _Result]]:
    """scikit-learn's decorator of methods that some settings do not have, with its types."""
    return _available_if(check)


def with_callbacks(
    method: Callable[Concatenate[_Estimator, _Parameters], _Result],
) -> Callable[Concatenate[_Estimator, _Parameters], _Result]:
    """Tear down callbacks after `fit`, as scikit-learn's decorator of this name; no lengths."""

    @functools.wraps(method)
    def managed(
        estimator: _Estimator, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs
    ) -> _Result:
        _refuse_lengths(method, kwargs)
        check_sizes(estimator.get_params())  # type: ignore[attr-defined]
        with callback_management_context(estimator), _of_class(estimator, method, args, kwargs):
            return method(estimator, *args, **kwargs)

    return managed


def without_lengths(
    method: Callable[Concatenate[_Estimator, _Parameters], _Result],
) -> Callable[Concatenate[_Estimator, _Parameters], _Result]:
    """Say whose method takes what, and what to do instead of ``lengths=...``."""

    @functools.wraps(method)
    def checked(
        estimator: _Estimator, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs
    ) -> _Result:
        _refuse_lengths(method, kwargs)
        with _of_class(estimator, method, args, kwargs):
            return method(estimator, *args, **kwargs)

    return checked


def _refuse_lengths(method: Callable[..., Any], keywords: Mapping[str, Any]) -> None:
    if "lengths" in keywords:
        raise TypeError(f"{method.__name__}() takes no argument 'lengths': {LENGTHS}")


@contextmanager
def _of_class(
    estimator: Any, method: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any]
) -> Iterator[None]:
    """Name the user's class where a method does not take these arguments, not a base of it."""
    try:
        yield
    except TypeError:
        taken = inspect.signature(method)
        try:
            taken.bind(estimator, *args, **keywords)
        except TypeError as error:
            names = ", ".join(list(taken.parameters)[1:])
            raise TypeError(
                f"{type(estimator).__name__}.{method.__name__}() {error}; it takes {names}"
            ) from None
        raise


def check_table(estimator: Any, X: Any, *, reset: bool) -> np.ndarray:
    """Validate a 2-D X as scikit-learn demands; NaN stands for a missing observation."""
    if getattr(X, "ndim", 2) == 1:
        raise ValueError(
            "Expected 2D array, got 1D array instead. Reshape your data: pass [X] if it is one "
            f"sequence, else {LENGTHS}"
        )
    return validate_data(
        estimator, X, dtype=None, ensure_all_finite="allow-nan", ensure_2d=True, reset=reset
    )


def check_table_to_fit(estimator: Any, X: Any) -> tuple[np.ndarray, dict[str, Any]]:
    """A validated 2-D X, and the attributes that scikit-learn sets of it."""
    # It sets them on whatever it is given: a stand-in with the same class and parameters.
    stand_in = object.__new__(type(estimator))
    vars(stand_in).update(estimator.get_params(deep=False))
    table = check_table(stand_in, X, reset=True)
    return table, columns_of(stand_in)


def columns_of(estimator: Any) -> dict[str, Any]:
    """What an estimator knows of the columns of a table that it was fitted to."""
    found = vars(estimator)
    return {name: found[name] for name in _OF_COLUMNS if name in found}


# What scikit-learn knows of the columns of a table.
_OF_COLUMNS = ("n_features_in_", "feature_names_in_")

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
    "CallbackSupportMixin",
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
    "check_table",
    "check_table_to_fit",
    "columns_of",
    "fit_context",
    "tell",
    "with_callbacks",
    "without_lengths",
]


def check_level(level: float) -> None:
    """Raise unless the level is a probability."""
    if not (isinstance(level, Real) and 0.0 < level < 1.0):
        raise ValueError(f"level must be a number between 0 and 1, got {level!r}")
