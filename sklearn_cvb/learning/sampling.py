"""Parameters of all samplers, and draws of Dirichlet rows."""

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from sklearn_cvb.learning.gibbs import Gibbs
from sklearn_cvb.reading.validation import Interval, InvalidParameterError

if TYPE_CHECKING:
    from sklearn_cvb.estimators.base import BaseModel as _Model
else:
    _Model = object

# A row whose Gamma draws sum to less has lost digits, and is drawn anew in log space.
_SMALLEST_TOTAL = 1e-250
# Counts over a lower temperature may leave the range of float64.
_LOWEST_TEMPERATURE = 1e-100


CONSTRAINTS: dict = {
    "n_burn_in": [Interval(Integral, 0, None, closed="left"), None],
    "thin": [Interval(Integral, 1, None, closed="left")],
}


class SamplerMixin(_Model):
    """The parameters temperatures, burn-in and thinning of a sampler."""

    # Samplers without annealing have no such parameter.
    temperatures = None

    _parameter_constraints: dict = CONSTRAINTS

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_temperatures(self.temperatures)

    def _algorithm(self) -> Gibbs:
        return chain_of(self)


def check_temperatures(temperatures: Any) -> None:
    """Raise InvalidParameterError unless these are None or two positive numbers."""
    if temperatures is None:
        return
    numbers: list[Any] = [t for t in temperatures if isinstance(t, Real)]
    if not (len(temperatures) == len(numbers) == 2 and all(0 < t < math.inf for t in numbers)):
        raise InvalidParameterError(
            f"temperatures must be None or two positive numbers, got {temperatures!r}"
        )
    if min(temperatures) < _LOWEST_TEMPERATURE:
        raise InvalidParameterError(
            f"temperatures must be at least {_LOWEST_TEMPERATURE:g}, got {temperatures!r}"
        )


def chain_of(sampler: Any) -> Gibbs:
    """The algorithm that an estimator's parameters ask for; some have no `temperatures`."""
    n_burn_in = sampler.n_burn_in
    if n_burn_in is not None and not sampler.warm_start:
        # Where no other fit is to come the last sample is kept in any case.
        n_burn_in = min(n_burn_in, sampler.max_iter - 1)
    temperatures = getattr(sampler, "temperatures", None)
    return Gibbs(sampler.max_iter, n_burn_in, int(sampler.thin), temperatures)


def draw_rows(
    parameters: np.ndarray,
    rows: np.ndarray,
    rest: np.ndarray,
    temperature: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw from one Dirichlet for each row, also where the parameters are tiny.

    At temperature tau the draws are those of the density over log probabilities to the power
    1 / tau, raised to 1 / tau.

    Parameters
    ----------
    parameters : ndarray of shape (n_cells,)
        Dirichlet parameters of the cells of all rows.
    rows : ndarray of shape (n_cells,)
        Row of each cell.
    rest : ndarray of shape (n_rows,)
        Summed parameters of the cells of each row that are not listed.
    temperature : float
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_cells,)
    """
    if temperature == 1.0:
        draws = rng.standard_gamma(parameters)
        totals = np.bincount(rows, draws, len(rest)) + rng.standard_gamma(rest)
        # A draw's direction does not depend on its sum: none is preferred by drawing anew.
        if totals.min() > _SMALLEST_TOTAL:
            return draws / totals[rows]
    logs = _log_gamma_draws(parameters / temperature, rng)
    rest_logs = _log_gamma_draws(rest / temperature, rng)
    largest = rest_logs.copy()
    np.maximum.at(largest, rows, logs)
    listed = np.bincount(rows, np.exp(logs - largest[rows]), len(rest))
    log_totals = largest + np.log(listed + np.exp(rest_logs - largest))
    return np.exp((logs - log_totals[rows]) / temperature)


def _log_gamma_draws(shapes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Logs of Gamma draws, also of those below float64; -inf where the shape is 0."""
    with np.errstate(divide="ignore"):
        return np.log(rng.standard_gamma(shapes + 1.0)) - rng.standard_exponential(
            shapes.shape
        ) / np.maximum(shapes, 0.0)
