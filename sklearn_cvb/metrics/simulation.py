"""Whether data that a model draws look like the data."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from sklearn_cvb.reading.corpus import is_missing
from sklearn_cvb.reading.validation import Seed, check_counts

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

    As many sequences, as long and with the same missing values are drawn from the model by its
    `sample`, over and over. Under a right model the statistic of the data is one among those of the
    simulations. Choose what matters and was not fitted: autocorrelation, runs, extremes. Parameters
    were fitted to the same data, which makes small p-values rarer than they ought to be.

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
        If a statistic changes its shape; of `sample`, where a model draws only given more than
        lengths, as one with contexts does.

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
    given = [_as_array(sequence) for sequence in X]
    names = list(getattr(model, "feature_names_in_", ()))
    labels = getattr(model, "categories_", {})
    categories = {names.index(name): labels[name] for name in labels}
    lengths = [len(sequence) for sequence in given]
    observed = np.asarray(statistic(given), dtype=float)
    found = np.empty((n_simulations, *observed.shape))
    for number in range(n_simulations):
        drawn, _ = model.sample(len(lengths), length=lengths, random_state=rng)
        like = [_like(new, old, categories) for new, old in zip(drawn, given, strict=True)]
        value = np.asarray(statistic(like), dtype=float)
        if value.shape != observed.shape:
            raise ValueError(
                f"statistic has shape {observed.shape} of X and {value.shape} of a simulation"
            )
        found[number] = value
    above, below = ((1 + side.sum(axis=0)) for side in (found >= observed, found <= observed))
    p_value = np.minimum(1.0, 2 * np.minimum(above, below) / (n_simulations + 1))
    return SimulatedCheck(observed, found, p_value)


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


def _like(drawn: Any, given: np.ndarray, categories: dict[int, np.ndarray]) -> np.ndarray:
    """Drawn values, of the shape and type of what was given, missing where that is."""
    values = np.reshape(drawn, given.shape).astype(given.dtype)
    for column, labels in categories.items():
        values[:, column] = labels[values[:, column].astype(int)]
    values[_IS_MISSING(given).astype(bool)] = None if given.dtype == object else np.nan
    return values
