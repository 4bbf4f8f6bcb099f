"""Newton's steps of plain logistic regressions, whose M-steps are most of the time of a sweep: from
where the last sweep ended a few come to the optimum that scikit-learn's solvers search anew.

A table of weights has a row for each class and a column for each row of inputs, which may count for
several classes. The optimum is that of `LogisticRegression`: with two classes one row of
coefficients, with more one for each, and a penalty on all but intercepts.
"""

from typing import Any

import numpy as np
from sklearn.base import clone

# Steps where none was made before; how often a step is halved; a gain that is none.
_FIRST_STEPS, _HALVINGS, _NO_GAIN = 10, 12, 1e-12
# Beyond so many coefficients a table of all by all takes longer than a solver without one.
MOST_COEFFICIENTS = 100


def is_plain_logistic(settings: Any) -> bool:
    """Whether it is a logistic regression that these steps are for."""
    if type(settings).__name__ != "LogisticRegression" or settings.l1_ratio:
        return False
    # Until 1.8 a penalty had a parameter of its own.
    is_usual = getattr(settings, "penalty", "l2") in ("l2", "deprecated")
    of_classes = settings.class_weight is None and settings.intercept_scaling == 1
    return bool(is_usual and of_classes and settings.solver != "liblinear")


def n_coefficients(n_inputs: int, n_classes: int) -> int:
    """How many there are with intercepts."""
    return (n_inputs + 1) * (1 if n_classes == 2 else n_classes)


def newton_steps(
    settings: Any, before: Any, inputs: np.ndarray, weights: np.ndarray, n_steps: int
) -> tuple[Any, float]:
    """A logistic regression nearer to its optimum, by at most so many steps; its penalty (nats).

    It goes on from `before`, if there is one, and its classes are 0, 1, ... `weights` are
    (n_classes, n_rows).
    """
    n_classes, weights = len(weights), np.ascontiguousarray(weights)
    design = np.column_stack([inputs, np.ones(len(inputs))])
    # Two classes have one row of coefficients, the log odds of the second one.
    n_rows = 1 if n_classes == 2 else n_classes
    shrinks = np.full((n_rows, design.shape[1]), 1.0 / settings.C)
    shrinks[:, -1] = 0.0
    if before is None:
        rows, n_steps = np.zeros(shrinks.shape), max(n_steps, _FIRST_STEPS)
    else:
        rows = np.column_stack([before.coef_, np.broadcast_to(before.intercept_, n_rows)])
    logs = _log_chances(rows, design)
    objective = _objective(rows, logs, weights, shrinks)
    for _ in range(n_steps):
        slope, curve = _derivatives(rows, np.exp(logs), design, weights, shrinks)
        if not settings.fit_intercept:
            fixed = np.arange(design.shape[1] - 1, curve.shape[0], design.shape[1])
            curve[fixed], curve[:, fixed], slope[:, -1] = 0.0, 0.0, 0.0
        # What no data tell, such as a shift of all intercepts, stays as it is.
        step = np.linalg.lstsq(curve, slope.ravel(), rcond=1e-12)[0].reshape(rows.shape)
        for _ in range(_HALVINGS):
            logs = _log_chances(rows + step, design)
            value = _objective(rows + step, logs, weights, shrinks)
            if value >= objective:
                break
            step = 0.5 * step
        else:
            break
        gain, rows, objective = value - objective, rows + step, value
        if gain <= _NO_GAIN * abs(objective):
            break
    found = clone(settings)
    found.coef_, found.intercept_ = rows[:, :-1].copy(), rows[:, -1].copy()
    found.classes_, found.n_features_in_ = np.arange(n_classes), inputs.shape[1]
    found.n_iter_ = np.array([n_steps], np.int32)
    return found, float(0.5 * (shrinks * rows**2).sum())


def _log_chances(rows: np.ndarray, design: np.ndarray) -> np.ndarray:
    """Log probabilities (n_classes, n_rows)."""
    odds = rows @ design.T
    if len(rows) == 1:
        return -np.logaddexp(0.0, np.concatenate([odds, -odds]))
    odds -= odds.max(axis=0)
    logs: np.ndarray = odds - np.log(np.exp(odds).sum(axis=0))
    return logs


def _objective(
    rows: np.ndarray, logs: np.ndarray, weights: np.ndarray, shrinks: np.ndarray
) -> float:
    """Expected log-likelihood of all rows, minus the penalty."""
    return float(np.vdot(weights, logs) - 0.5 * (shrinks * rows**2).sum())


def _derivatives(
    rows: np.ndarray,
    chances: np.ndarray,
    design: np.ndarray,
    weights: np.ndarray,
    shrinks: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The slope of the objective, and minus its curvature, a table of all coefficients by all."""
    (n_rows, n), totals = rows.shape, weights.sum(axis=0)
    slope = (weights - totals * chances)[-n_rows:] @ design - shrinks * rows
    curve, own = np.empty((n_rows, n, n_rows, n)), chances[-n_rows:]
    for a in range(n_rows):
        for b in range(a, n_rows):
            shares = totals * own[a] * ((a == b) - own[b])
            curve[a, :, b] = curve[b, :, a] = (design.T * shares) @ design
    return slope, curve.reshape(n_rows * n, -1) + np.diag(shrinks.ravel())
