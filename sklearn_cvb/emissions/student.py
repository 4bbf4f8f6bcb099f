"""Student's t emissions: columns with heavy tails, in which single values may be far off. A factor
of each value multiplies its precision, and statistics are sums of factors and of values times
these.

A Student's t distribution is a Normal one whose precision has a factor w ~ Gamma(nu / 2, nu / 2) at
each step. Given the factors, locations and precisions have the Normal-Gamma posterior of Gaussian
columns, from sums of w, w x and w x^2 and the number of steps. The expected factor of a step in a
state is small where its value is far off. EM: Liu, Rubin and Wu (1998), "Parameter expansion to
accelerate EM: the PX-EM algorithm", section 4; VB: Svensen and Bishop (2005), "Robust Bayesian
mixture modelling".
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from sklearn_cvb.emissions import emission
from sklearn_cvb.emissions.emission import MIN_STEPS, Emission, Observations
from sklearn_cvb.emissions.factors import (
    ClosedFormStudentScores,
    column_factor_sums,
    integrated_scores,
)
from sklearn_cvb.emissions.gamma import gamma_shape
from sklearn_cvb.emissions.gaussian import Gaussian
from sklearn_cvb.emissions.gaussian_columns import ColumnStudentScores, GaussianColumns, NormalGamma
from sklearn_cvb.reading.moments import Moments
from sklearn_cvb.reading.validation import InvalidParameterError, as_numbers

# Degrees of freedom that EM begins with where it learns them.
_FIRST = 4.0
# The deviation of a normal distribution in median absolute deviations.
_DEVIATIONS = 1.4826


@dataclass(eq=False, repr=False)
class StudentT(Emission):
    """Columns with Student's t distributions, independent given the state.

    Their tails are heavy: a few values that are far off neither widen a state nor need one of their
    own.

    Parameters
    ----------
    degrees_of_freedom : float or None, default=4.0
        Of all states and columns: the fewer, the heavier the tails; 1 is a Cauchy distribution, 30
        nearly a normal one. With None EM learns those of each state and column by maximum
        likelihood, 0.002 to 20,000; no other algorithm can, as they have no conjugate prior.
    prior : Gaussian or None, default=None
        ``Gaussian("diag", ...)``, whose priors of means and variances are those of locations and
        squared scales, and whose `reg_covar` is the floor of squared scales in EM; None for its
        defaults.

    Notes
    -----
    EM without a prior finds maximum likelihood, else the maximum a posteriori. EM, VB and Gibbs
    sampling are exact in the factors of the precision that make a normal distribution a Student's
    t; Gibbs sampling draws them, and its `objective_` is of steps, states and factors. CVB, and all
    predictive densities, integrate them numerically, with less than 1e-10 nats of error a value in
    states of hundreds of steps, else 1e-6 up to 300 scales from the location, and 1e-5 up to 1,000.
    Missing values are left out of a step exactly. The mean of a forecast is that of locations.
    Default priors, and `reg_covar`, follow the variances of the columns, which outliers widen:
    where a few values are thousands of times as large as the rest, such as codes of missing values,
    make them NaN or give a prior.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_cvb import VBHMM
    >>> from sklearn_cvb.emissions import StudentT
    >>> rng = np.random.default_rng(0)
    >>> series = np.repeat([0.0, 5.0], 100) + rng.standard_t(3, 200)
    >>> series[[20, 130]] = 60.0, -80.0
    >>> model = VBHMM(2, emission=StudentT(), random_state=0).fit([series])
    >>> sorted(abs(model.locations_).ravel().round().tolist())
    [0.0, 5.0]
    """

    degrees_of_freedom: float | None = 4.0
    prior: Gaussian | None = None

    def bind(self, moments: Moments, n_states: int) -> "StudentColumns":
        """The family in standard units, with the prior of Gaussian columns."""
        prior, degrees = self.prior, self.degrees_of_freedom
        if prior is None:
            prior = Gaussian("diag")
        if not isinstance(prior, Gaussian) or prior.covariance_type != "diag":
            raise InvalidParameterError(f'prior must be Gaussian("diag", ...), got {prior!r}')
        columns: Any = prior.bind(moments, n_states)
        if degrees is not None:
            return StudentColumns(
                emission.positive("degrees_of_freedom", degrees), columns, n_states
            )
        if columns.prior.is_given:
            raise InvalidParameterError(
                "degrees_of_freedom=None are learned by maximum likelihood: a prior is for degrees "
                "of freedom that are given"
            )
        return StudentColumns(None, columns, n_states)

    def example(self, given: dict[str, Any]) -> np.ndarray:
        """Around the locations, as far as the largest scale."""
        if not {"locations", "scales"} <= given.keys():
            raise InvalidParameterError("a model of StudentT is made of locations and scales")
        scales = as_numbers("scales", given["scales"])
        spaces = {"means": emission.state_table(given, "locations"), "covariances": scales**2}
        return Gaussian("diag").example(spaces)


class StudentPoint(NamedTuple):
    """Locations, squared scales and degrees of freedom, (D, K) each, in standard units."""

    means: np.ndarray
    variances: np.ndarray
    degrees: np.ndarray


def weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    """The value that half of the weight is not above."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    place = np.searchsorted(below, 0.5 * below[-1])
    return float(values[order[min(place, len(order) - 1)]])


def initial_distances(values: np.ndarray, posterior: np.ndarray) -> np.ndarray:
    """Squared distances from each state's median in its median deviations, (n_steps, K).

    All are 1 where more than half of the values are the same.
    """
    distances = np.ones_like(posterior)
    for k, weights in enumerate(posterior.T):
        off = np.abs(values - weighted_median(values, weights))
        width = _DEVIATIONS * weighted_median(off, weights)
        if width > 0:
            distances[:, k] = (off / width) ** 2
    return distances


class StudentColumns(GaussianColumns):
    """Statistics are those of Gaussian columns weighted by factors, numbers of steps, and log w.

    The features of observations are factors that were drawn for them, if any.
    """

    has_outliers = True

    def __init__(self, degrees: float | None, columns: Any, n_states: int) -> None:
        super().__init__(columns.prior, columns.units, n_states, is_shared=False)
        self.degrees = degrees
        n = self.n_columns
        self.n_statistics: int = 5 * n
        self.n_parameters: int = (2 if degrees is not None else 3) * n_states * n

    def _required_degrees(self) -> float:
        if self.degrees is None:
            raise InvalidParameterError(
                "StudentT(degrees_of_freedom=None) is learned by EM alone, as degrees of freedom "
                "have no conjugate prior: give VB, CVB and Gibbs sampling a number, such as one of "
                "EM's degrees_of_freedom_"
            )
        return self.degrees

    # Steps and factors

    def statistics(
        self,
        observations: Observations,
        posterior: np.ndarray,
        units: np.ndarray,
        scores: Any = None,
    ) -> np.ndarray:
        n_units = len(units) - 1
        if scores is not None and not observations.features.size:
            moments: np.ndarray = scores.factor_sums(observations, posterior, units)
            return moments.reshape(n_units, -1, self.n_states)
        sums = np.empty((n_units, 5, self.n_columns, self.n_states))
        for d in range(self.n_columns):
            factors = self._factors(observations, posterior, d)
            sums[:, :, d] = column_factor_sums(observations, d, posterior, units, factors)
        return sums.reshape(n_units, -1, self.n_states)

    def _factors(
        self, observations: Observations, posterior: np.ndarray, d: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Factors of a column and their logs: drawn, or to start from."""
        if observations.features.size:
            drawn = observations.features[:, [d]]
            return drawn, np.log(drawn)
        seen = posterior * self.observed_mask(observations)[:, [d]]
        degrees = _FIRST if self.degrees is None else self.degrees
        shape = 0.5 * (degrees + 1.0)
        rates = 0.5 * (degrees + initial_distances(observations.values[:, d], seen))
        return shape / rates, digamma(shape) - np.log(rates)

    def impute(
        self, observations: Observations, scores: Any, states: np.ndarray, rng: np.random.Generator
    ) -> Observations:
        """Observations with a factor drawn for each value given its state."""
        return observations._replace(features=scores.draw_factors(observations.values, states, rng))

    # From statistics to distributions

    def _parts(self, statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sums of factors, and of values and squares times factors, (..., D, K) each."""
        return super()._parts(statistics[..., : 3 * self.n_columns, :])

    def _steps(self, statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of steps, and sums of logs of factors, (..., D, K) each."""
        steps, logs = np.split(statistics[..., 3 * self.n_columns :, :], 2, axis=-2)
        return np.maximum(steps, 0.0), logs

    def posterior(self, statistics: np.ndarray) -> NormalGamma:
        steps, _ = self._steps(statistics)
        posterior = super().posterior(statistics)
        return posterior._replace(degrees=self.prior.degrees_of_freedom + steps)

    def most_likely(self, statistics: np.ndarray, before: Any = None) -> Any:
        point = super().most_likely(statistics, before)
        if self.degrees is not None:
            return StudentPoint(*point, np.full_like(point.means, self.degrees))
        # As of a Gamma distribution that the factors come from, whose mean is free.
        (total, _, _), (steps, logs) = self._parts(statistics), self._steps(statistics)
        seen, old = steps > MIN_STEPS, _FIRST if before is None else before.degrees
        sums = np.where(seen, total, 1.0), np.where(seen, logs, 0.0)
        mean, log_mean = (own / np.where(seen, steps, 1.0) for own in sums)
        degrees = 2.0 * gamma_shape(np.log(mean) - log_mean)
        return StudentPoint(*point, np.where(seen, degrees, old))

    def mean(self, statistics: np.ndarray) -> Any:
        if self.degrees is None:
            return self.most_likely(statistics)
        point = super().mean(statistics)
        return StudentPoint(*point, np.full_like(point.means, self.degrees))

    def draw(self, statistics: np.ndarray, rng: np.random.Generator) -> Any:
        degrees, point = self._required_degrees(), super().draw(statistics, rng)
        return StudentPoint(*point, np.full_like(point.means, degrees))

    # Scores

    def log_densities(self, point: Any) -> Any:
        return self._scores(point, -np.log(point.variances), np.zeros_like(point.means))

    def log_densities_under(self, posterior: NormalGamma) -> Any:
        log_precision = digamma(0.5 * posterior.degrees) - np.log(0.5 * posterior.scale)
        degrees = np.full_like(posterior.mean, self._required_degrees())
        point = StudentPoint(posterior.mean, posterior.scale / posterior.degrees, degrees)
        return self._scores(point, log_precision, 1.0 / posterior.precision)

    def _scores(
        self, point: StudentPoint, log_precision: np.ndarray, uncertain: np.ndarray
    ) -> ClosedFormStudentScores:
        """Of expected parameters, log precisions, and variances of means times precisions."""
        means, variances, degrees = point
        around, half = degrees + uncertain, 0.5 * (degrees + 1.0)
        constants = 0.5 * (log_precision + degrees * np.log(0.5 * degrees))
        constants = constants - half * np.log(0.5 * around) + gammaln(half) - gammaln(0.5 * degrees)
        constants = constants - 0.5 * math.log(2.0 * math.pi) - self.log_scales[:, None]
        squares = (around * variances)[None]
        density = ColumnStudentScores(constants[None], means[None], squares, degrees[None], False)
        return ClosedFormStudentScores(density, around[None])

    def predictive(self, statistics: np.ndarray) -> Any:
        posterior = self.posterior(emission.by_unit(statistics))
        return integrated_scores(posterior, self.log_scales, self._required_degrees())

    # Objectives

    def _log_density_of_factors(self, statistics: np.ndarray, degrees: Any) -> float:
        """Log densities of factors, and what values gain by their scales (nats)."""
        (total, _, _), (steps, logs) = self._parts(statistics), self._steps(statistics)
        a = 0.5 * degrees
        constants = steps * (a * np.log(a) - gammaln(a))
        return float((constants + (a - 0.5) * logs - a * total).sum())

    def log_evidence(self, statistics: np.ndarray) -> float:
        """Of steps and their factors."""
        total, steps = self._parts(statistics)[0], self._steps(statistics)[0]
        constants = 0.5 * math.log(math.pi) + self.log_scales[:, None]
        found = super().log_evidence(statistics) + ((total - steps) * constants).sum()
        return float(found) + self._log_density_of_factors(statistics, self._required_degrees())

    def log_likelihood(self, statistics: np.ndarray, point: Any) -> float:
        """Of steps and their factors."""
        (count, total, squares), steps = self._parts(statistics), self._steps(statistics)[0]
        constants = -0.5 * np.log(2.0 * np.pi * point.variances) - self.log_scales[:, None]
        off = squares - 2.0 * point.means * total + point.means**2 * count
        found = (steps * constants - 0.5 * off / point.variances).sum()
        return float(found) + self._log_density_of_factors(statistics, point.degrees)

    # In the units of the data

    def point_from(self, parameters: dict[str, Any]) -> Any:
        shape = self.n_states, self.n_columns
        locations, scales = (
            emission.table_in(parameters, name, shape) for name in ("locations", "scales")
        )
        emission.refuse_outside("scales", scales, scales > 0, "must be positive")
        degrees = np.full(shape, _FIRST if self.degrees is None else self.degrees)
        if "degrees_of_freedom" in parameters:
            degrees = emission.table_in(parameters, "degrees_of_freedom", shape)
            emission.refuse_outside("degrees_of_freedom", degrees, degrees > 0, "must be positive")
        tables = self.units.to_standard(locations), (scales / self.units.scale) ** 2, degrees
        return StudentPoint(*(np.ascontiguousarray(table.T) for table in tables))

    def sample(self, point: Any, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        means, variances, degrees = (table.T[states] for table in point)
        return self.units.to_data(means + np.sqrt(variances) * rng.standard_t(degrees))

    def distributions(self, point: Any, observations: Any) -> Any:
        from scipy.stats import t

        return t(point.degrees.T, point.means.T, np.sqrt(point.variances.T))

    def moments(self, point: Any) -> tuple[np.ndarray, np.ndarray]:
        """Locations, and variances, which are infinite up to 2 degrees of freedom."""
        means, squares = super().moments(point)
        degrees = point.degrees.T
        factors = np.where(degrees > 2.0, degrees / np.maximum(degrees - 2.0, 1e-300), np.inf)
        return means, squares * factors

    def marginals(self, statistics: np.ndarray) -> dict[str, Any]:
        from scipy.stats import gengamma, t

        mean, precision, degrees, scale = (table.T for table in self.posterior(statistics))
        widths = np.sqrt(scale / (degrees * precision)) * self.units.scale
        # One over its square is Gamma.
        scales = gengamma(0.5 * degrees, -2.0, scale=np.sqrt(0.5 * scale) * self.units.scale)
        return {"locations": t(degrees, self.units.to_data(mean), widths), "scales": scales}

    def attributes(self, point: Any) -> dict[str, Any]:
        locations, squares = super().moments(point)
        degrees = np.ascontiguousarray(point.degrees.T)
        return {
            "locations_": locations,
            "scales_": np.sqrt(squares),
            "degrees_of_freedom_": degrees,
        }
