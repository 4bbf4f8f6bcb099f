"""Parameters of all samplers."""

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

from sklearn_cvb.learning.gibbs import Gibbs
from sklearn_cvb.reading.validation import Interval, InvalidParameterError

if TYPE_CHECKING:
    from sklearn_cvb.estimators.base import BaseModel as _Model
else:
    _Model = object

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
