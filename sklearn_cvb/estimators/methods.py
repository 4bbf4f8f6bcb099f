"""Decorators of public methods: checks of parameters, callbacks, and `lengths` refused.

This file, `reading.validation` and `scikit_learn` alone import scikit-learn's private modules.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

import sklearn

from sklearn_cvb.reading.validation import LENGTHS, check_sizes

try:
    if TYPE_CHECKING:  # scikit-learn gives it no types
        raise ImportError
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


# A method keeps its signature under a decorator, so that editors know it.
_Estimator = TypeVar("_Estimator")
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def with_callbacks(
    method: Callable[Concatenate[_Estimator, _Parameters], _Result],
) -> Callable[Concatenate[_Estimator, _Parameters], _Result]:
    """Tear down callbacks after `fit`, as scikit-learn's decorator of this name; no lengths."""

    @functools.wraps(method)
    def managed(
        estimator: _Estimator, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs
    ) -> _Result:
        _refuse_lengths(method, kwargs)
        check_sizes_of(estimator)
        with callback_management_context(estimator):
            return _call_method(method, estimator, *args, **kwargs)

    return managed


def check_sizes_of(estimator: Any) -> None:
    """Raise InvalidParameterError where a parameter that is a number is too large."""
    given = estimator.get_params().items()
    check_sizes({name: value for name, value in given if isinstance(value, Real | tuple)})


def without_lengths(
    method: Callable[Concatenate[_Estimator, _Parameters], _Result],
) -> Callable[Concatenate[_Estimator, _Parameters], _Result]:
    """Say whose method takes what, and what to do instead of ``lengths=...``."""

    @functools.wraps(method)
    def checked(
        estimator: _Estimator, /, *args: _Parameters.args, **kwargs: _Parameters.kwargs
    ) -> _Result:
        _refuse_lengths(method, kwargs)
        return _call_method(method, estimator, *args, **kwargs)

    return checked


def _refuse_lengths(method: Callable[..., Any], keywords: Mapping[str, Any]) -> None:
    if "lengths" in keywords:
        raise TypeError(f"{method.__name__}() takes no argument 'lengths': {LENGTHS}")


def _call_method(
    method: Callable[Concatenate[_Estimator, _Parameters], _Result],
    estimator: _Estimator,
    *args: _Parameters.args,
    **kwargs: _Parameters.kwargs,
) -> _Result:
    """What a method gives; one that does not take these arguments is named by the user's class."""
    try:
        return method(estimator, *args, **kwargs)
    except TypeError:
        taken = inspect.signature(method)
        try:
            taken.bind(estimator, *args, **kwargs)
        except TypeError as error:
            names = ", ".join(list(taken.parameters)[1:])
            raise TypeError(
                f"{type(estimator).__name__}.{method.__name__}() {error}; it takes {names}"
            ) from None
        raise
