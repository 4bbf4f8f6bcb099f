"""Posterior predictive checks: whether data that a model draws look like the data."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from sklearn_cvb.estimators.door import learned_of
from sklearn_cvb.reading.corpus import is_missing
from sklearn_cvb.reading.validation import Seed, check_counts
from sklearn_cvb.settings import Transitions

_IS_MISSING = np.frompyfunc(is_missing, 1, 1)


class SimulatedCheck(NamedTuple):
    """A statistic of the data beside that of data drawn from the model.

    Attributes
    ----------
    observed : ndarray
        Of the data; a scalar array, or the shape that the statistic has.
    simulated : ndarray of shape (n_simulations, ...)
        Of each simulation.
    p_value : ndarray
        Two-sided, of each number of the statistic: small where the data are far out among the
        simulations, above as well as below. At least ``2 / (n_simulations + 1)``.
    """

    observed: np.ndarray
    simulated: np.ndarray
    p_value: np.ndarray


def simulated_check(
    model: Any,
    X: Any,
    statistic: Callable[[list[np.ndarray]], Any],
    *,
    n_simulations: int = 200,
    random_state: Seed = None,
) -> SimulatedCheck:
    """What a fitted model makes of a statistic: does it draw data that look like these?

    As many sequences, as long and with the same missing values and contexts are drawn from the
    model by its `sample`, over and over. Under a right model the statistic of the data is one among
    those of the simulations. Choose what matters and was not fitted: autocorrelation, runs,
    extremes. Parameters were fitted to the same data, which makes small p-values rarer than they
    ought to be.

    Parameters
    ----------
    model : estimator
        A fitted hidden Markov model.
    X : list, object array or Series of sequences, or array of shape (n_samples, length)
        What the statistic is taken of.
    statistic : callable
        Takes a list of sequences, arrays each, and returns a number or an array of one shape.
    n_simulations : int, default=200
    random_state : int, RandomState or None, default=None

    Returns
    -------
    SimulatedCheck

    Raises
    ------
    ValueError
        If a statistic changes its shape.

    References
    ----------
    Gelman, Meng and Stern (1996), "Posterior predictive assessment of model fitness via realized
    discrepancies", Statistica Sinica 6.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_cvb import EMHMM
    >>> from sklearn_cvb.metrics import simulated_check
    >>> rng = np.random.default_rng(0)
    >>> series = np.repeat(rng.normal(0, 3, 60), 5) + rng.normal(size=300)
    >>> def autocorrelation(X):
    ...     return np.corrcoef(X[0][:-1], X[0][1:])[0, 1]
    >>> one, four = (
    ...     EMHMM(n, emission="gaussian", random_state=0).fit([series]) for n in (1, 4)
    ... )
    >>> found = simulated_check(one, [series], autocorrelation, random_state=0)
    >>> bool(found.p_value < 0.02)
    True
    >>> found = simulated_check(four, [series], autocorrelation, random_state=0)
    >>> bool(found.p_value > 0.05)
    True
    """
    check_counts(n_simulations=n_simulations)
    rng = check_random_state(random_state)
    model._training_input(learned_of(model), X)
    # Contexts may stand elsewhere.
    names = list(getattr(model, "feature_names_in_", ()))
    sequences = [_as_array(own[names] if hasattr(own, "columns") and names else own) for own in X]
    contexts: dict[str, Any] = {"length": [len(sequence) for sequence in sequences]}
    if Transitions.of(model.transitions).contexts is not None:
        contexts = {"contexts": _contexts_of(model, sequences)}
    observed = np.asarray(statistic(sequences), dtype=float)
    simulated = np.empty((n_simulations, *observed.shape))
    for number in range(n_simulations):
        drawn, _ = model.sample(len(sequences), **contexts, random_state=rng)
        like = [_in_form_of(new, old) for new, old in zip(drawn, sequences, strict=True)]
        value = np.asarray(statistic(like), dtype=float)
        if value.shape != observed.shape:
            raise ValueError(
                f"statistic has shape {observed.shape} of X and {value.shape} of a simulation"
            )
        simulated[number] = value
    sides = simulated >= observed, simulated <= observed
    above, below = ((1 + side.sum(axis=0)) for side in sides)
    p_value = np.minimum(1.0, 2 * np.minimum(above, below) / (n_simulations + 1))
    return SimulatedCheck(observed, simulated, p_value)


def _as_array(sequence: Any) -> np.ndarray:
    """Numbers of a sequence, of one or several columns, or its symbols."""
    values = np.asarray(sequence)
    if values.dtype.kind in "fiub":
        return values.astype(float)
    if values.ndim == 2 and hasattr(sequence, "columns"):
        return values
    symbols = np.empty(len(sequence), object)
    symbols[:] = list(sequence)
    return symbols


def _contexts_of(model: Any, sequences: list[np.ndarray]) -> list[np.ndarray]:
    """The contexts of all steps; a first step needs none."""
    column: Any = Transitions.of(model.transitions).contexts
    names = list(getattr(model, "feature_names_in_", ()))
    if isinstance(column, str):
        column = names.index(column)
    name = names[column] if names else column
    labels = model.categories_.get(name) if hasattr(model, "categories_") else None
    contexts = []
    for sequence in sequences:
        values = sequence[:, column].copy()
        if is_missing(values[0]):
            values[0] = 0 if labels is None else labels[0]
        contexts.append(values if labels is None else np.searchsorted(labels, values))
    return contexts


def _in_form_of(drawn: Any, given: np.ndarray) -> np.ndarray:
    """Drawn values, of the shape and type of what was given, missing where that is."""
    values = np.reshape(drawn, given.shape).astype(given.dtype)
    values[_IS_MISSING(given).astype(bool)] = None if given.dtype == object else np.nan
    return values
