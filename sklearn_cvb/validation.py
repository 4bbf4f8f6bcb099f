"""The only file that imports scikit-learn's private modules: parameter checks and callbacks."""

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import _fit_context as fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    Options,
    StrOptions,
)
from sklearn.utils.validation import validate_data

from sklearn_cvb.dirichlet import LARGEST, SMALLEST

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # an older or later scikit-learn without callbacks: fit without them

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands in where scikit-learn has no callbacks."""

    def with_callbacks(method: Callable) -> Callable:
        """Stand in where scikit-learn has no callbacks."""
        return method


def check_table(estimator: Any, X: Any, *, reset: bool) -> np.ndarray:
    """Validate a 2-D X as scikit-learn demands; NaN stands for a missing observation."""
    return validate_data(
        estimator, X, dtype=None, ensure_all_finite="allow-nan", ensure_2d=True, reset=reset
    )


def check_gamma_prior(name: str, value: Sequence) -> None:
    """Raise unless `value` is a pair (shape >= 1, rate > 0) of finite numbers."""
    if (
        len(value) != 2
        or not all(isinstance(number, Real) for number in value)
        or not (1 <= value[0] < np.inf and 0 < value[1] < np.inf)
    ):
        raise InvalidParameterError(
            f"{name} must be (shape, rate) with shape >= 1 and rate > 0, got {value!r}"
        )


def check_concentrations(name: str, values: np.ndarray, or_zero: bool) -> None:
    """Raise unless all values are in the range of concentrations, or 0."""
    wrong = ~((values >= SMALLEST) & (values <= LARGEST) | (or_zero & (values == 0.0)))
    if wrong.any():
        raise InvalidParameterError(
            f"{name} must be {'0 or ' * or_zero}from {SMALLEST:g} to {LARGEST:g}, got "
            f"{float(values[wrong][0])!r}"
        )


def root_context(estimator: Any, n_restarts: int) -> Any:
    """Open the callback context of a fit whose subtasks are its restarts (None: no callbacks)."""
    if not hasattr(estimator, "_init_callback_context"):
        return None
    context = estimator._init_callback_context(max_subtasks=n_restarts, sequential_subtasks=False)
    return context if getattr(estimator, "_skl_callbacks", None) else None


__all__ = [
    "CallbackSupportMixin",
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "Options",
    "StrOptions",
    "check_concentrations",
    "check_gamma_prior",
    "check_table",
    "fit_context",
    "root_context",
    "with_callbacks",
]
