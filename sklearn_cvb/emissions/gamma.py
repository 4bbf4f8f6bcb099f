"""Gamma and exponential emissions: columns of positive numbers, such as waiting times. Rates have
Gamma posteriors; shapes are known, or learned by EM alone.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from sklearn_cvb.emissions import emission
from sklearn_cvb.emissions.emission import MIN_STEPS, Emission, LinearScores, Observations, per_step
from sklearn_cvb.emissions.rates import RateFamily, RatePrior, RateSums, means_of, rate_prior
from sklearn_cvb.reading.moments import Moments
from sklearn_cvb.reading.validation import InvalidParameterError

# How far EM's rates may be from that of the column's mean, as a factor.
_FARTHEST = 1e6
# Shapes that EM learns: a state with a single value would have an infinite one.
_SHAPES = 1e-3, 1e4
# Newton's steps of a shape, each of which doubles the digits.
_STEPS = 12


@dataclass(eq=False, repr=False, kw_only=True)
class Gamma(Emission):
    """Columns of positive numbers, each Gamma with a known shape, independent given the state.

    Parameters
    ----------
    shape : float or None, default=1.0
        Shape of all Gamma distributions: 1 are exponential ones, k sums of k such waiting times;
        the coefficient of variation is 1 / sqrt(shape). With None EM learns one for each state and
        column, `shapes_`, by maximum likelihood, 0.001 to 10,000; no other algorithm can, as a
        shape has no conjugate prior.
    shape_prior : float or None, default=None
        Shape of the Gamma prior of each rate; None for 1.
    rate_prior : float or None, default=None
        Its rate; None so that the prior expects the mean of each column.

    Notes
    -----
    EM without a prior finds maximum likelihood (no mean is a millionth, or a million times, of its
    column's); where one of the two is given, the maximum a posteriori of the log rates. Missing
    values are left out of a step exactly. Where the shape is 1 a value may be 0.

    Examples
    --------
    >>> from sklearn_cvb import VBHMM
    >>> from sklearn_cvb.emissions import Gamma
    >>> X = [[0.9, 1.2, 1.1, 0.8, 9.5, 8.0, 11.0, 10.1], [12.0, 9.0, 10.0, 1.3, 1.0, 0.9]]
    >>> model = VBHMM(2, emission=Gamma(shape=20.0), random_state=0).fit(X)
    >>> sorted((20.0 / model.rates_).ravel().round().tolist())
    [1.0, 10.0]
    """

    shape: float | None = 1.0
    shape_prior: float | None = None
    rate_prior: float | None = None

    def bind(self, moments: Moments, n_states: int) -> "GammaFamily":
        """The family, with the mean of each column as the prior's where none is given."""
        if self.shape is None:
            if self.shape_prior is not None or self.rate_prior is not None:
                raise InvalidParameterError(
                    "shape=None is learned by maximum likelihood: shape_prior and rate_prior are "
                    "for a shape that is given"
                )
            return LearnedShapeFamily(1.0, rate_prior(None, None, means_of(moments)), n_states)
        shape = emission.positive("shape", self.shape)
        usual = shape / means_of(moments)
        prior = rate_prior(self.shape_prior, self.rate_prior, usual)
        prior = prior._replace(min_rate=usual / _FARTHEST, max_rate=usual * _FARTHEST)
        return GammaFamily(shape, prior, n_states)


@dataclass(eq=False, repr=False, kw_only=True)
class Exponential(Emission):
    """Columns of waiting times with an exponential distribution, independent given the state.

    The same as ``Gamma(shape=1.0)``.

    Parameters
    ----------
    shape_prior : float or None, default=None
        Shape of the Gamma prior of each rate; None for 1.
    rate_prior : float or None, default=None
        Its rate; None so that the prior expects the mean of each column.

    Examples
    --------
    >>> from sklearn_cvb import EMHMM
    >>> X = [[0.2, 0.1, 0.3, 0.1, 9.0, 12.0, 8.0, 14.0], [7.0, 11.0, 0.3, 0.2, 0.1]]
    >>> model = EMHMM(2, emission="exponential", random_state=0).fit(X)
    >>> sorted((1.0 / model.rates_).ravel().round(1).tolist())
    [0.2, 9.9]
    """

    shape_prior: float | None = None
    rate_prior: float | None = None

    def bind(self, moments: Moments, n_states: int) -> "GammaFamily":
        """The family of Gamma distributions of shape 1."""
        plain = Gamma(shape_prior=self.shape_prior, rate_prior=self.rate_prior)
        return plain.bind(moments, n_states)


class BetaPrimeScores(NamedTuple):
    """Predictive densities under Gamma distributions of the rates; shape and rate (n_units, D, K).

    A Gamma distribution whose rate has one is a beta prime distribution: log p(x) is
    log G(shape + a) - log G(shape) - log G(a) - log x + a log y - (shape + a) log(1 + y), where y
    is x / rate.
    """

    known_shape: float  # a
    shape: np.ndarray
    rate: np.ndarray

    def fill(self, observations: Observations, units: np.ndarray, out: np.ndarray) -> None:
        """Fill `out` (n_steps, K)."""
        values, observed, known_shape = observations.values, observations.observed, self.known_shape
        logs = observations.features[:, 2 * values.shape[1] :]
        constants = gammaln(self.shape + known_shape) - gammaln(self.shape) - gammaln(known_shape)
        constants = constants - known_shape * np.log(self.rate)
        out[:] = 0.0
        for d in range(values.shape[1]):
            ratio = values[:, d, None] / per_step(self.rate[:, d], units)
            score = per_step(constants[:, d], units) + (known_shape - 1.0) * logs[:, d, None]
            score = score - per_step(self.shape[:, d] + known_shape, units) * np.log1p(ratio)
            out += score if observed is None else np.where(observed[:, d, None], score, 0.0)


class GammaFamily(RateFamily):
    """Statistics are numbers of steps, sums, and sums of logarithms of each column."""

    def __init__(self, known_shape: float, prior: RatePrior, n_states: int) -> None:
        super().__init__(prior, n_states)
        self.known_shape = known_shape
        self.n_statistics: int = 3 * self.n_columns

    def read(self, table: np.ndarray) -> Observations:
        if self.known_shape == 1.0:
            emission.refuse_where(table < 0, table, "exponential emissions are not below 0")
        else:
            emission.refuse_where(table <= 0, table, "Gamma emissions are above 0")
        values, observed = emission.values_and_mask(table)
        there = np.ones_like(values) if observed is None else observed.astype(np.float64)
        # Of zeros and of what is missing no logarithm is asked for.
        logs = np.log(np.where(values > 0, values, 1.0))
        return Observations(values, observed, np.hstack([there, values, logs]))

    def _sums(self, statistics: np.ndarray) -> RateSums:
        counts, n = np.maximum(statistics, 0.0), self.n_columns
        steps = counts[..., :n, :]
        return RateSums(self.known_shape * steps, counts[..., n : 2 * n, :], steps)

    def _log_base_measure(self, statistics: np.ndarray) -> float:
        n = self.n_columns
        logs = (self.known_shape - 1.0) * statistics[..., 2 * n :, :].sum()
        return float(logs - gammaln(self.known_shape) * statistics[..., :n, :].sum())

    def _linear(self, log_rates: np.ndarray, rates: np.ndarray) -> LinearScores:
        steps = self.known_shape * log_rates - gammaln(self.known_shape)
        logs = np.full_like(rates, self.known_shape - 1.0)
        return LinearScores(np.concatenate([steps, -rates, logs])[None])

    def predictive(self, statistics: np.ndarray) -> BetaPrimeScores:
        return BetaPrimeScores(self.known_shape, *self._posterior(emission.by_unit(statistics)))

    def sample(self, point: np.ndarray, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.standard_gamma(self.known_shape, (len(states), self.n_columns)) / point.T[states]

    def distributions(self, point: Any, observations: Any) -> Any:
        from scipy.stats import gamma

        return gamma(self.known_shape, scale=1.0 / point.T)

    def moments(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.known_shape / point.T, self.known_shape / point.T**2


# Shapes that are learned


class GammaPoint(NamedTuple):
    """Shapes and rates, (D, K) each."""

    shapes: np.ndarray
    rates: np.ndarray


def gamma_shape(gap: np.ndarray) -> np.ndarray:
    """The most likely shape where log mean - mean log of values is `gap` (Minka 2002, eq. 9)."""
    gap = np.maximum(gap, 1e-300)
    root = np.sqrt((gap - 3.0) ** 2 + 24.0 * gap)
    shape = np.clip((3.0 - gap + root) / (12.0 * gap), *_SHAPES)
    for _ in range(_STEPS):
        slope = shape**2 * (1.0 / shape - polygamma(1, shape))
        inverse = 1.0 / shape + (np.log(shape) - digamma(shape) - gap) / slope
        shape = np.clip(1.0 / np.maximum(inverse, 1e-300), *_SHAPES)
    return shape


class LearnedShapeFamily(GammaFamily):
    """Shapes are learned, by EM alone: they have no conjugate prior."""

    def __init__(self, known_shape: float, prior: RatePrior, n_states: int) -> None:
        super().__init__(known_shape, prior, n_states)
        self.n_parameters: int = 2 * n_states * self.n_columns

    def read(self, table: np.ndarray) -> Observations:
        emission.refuse_where(table <= 0, table, "Gamma emissions are above 0")
        return super().read(table)

    def most_likely(self, statistics: np.ndarray, before: Any = None) -> Any:
        n = self.n_columns
        count, total, logs = np.split(statistics, [n, 2 * n], axis=-2)
        seen = count > MIN_STEPS
        mean = np.where(seen, total, 1.0) / np.where(seen, count, 1.0)
        shapes = gamma_shape(np.log(mean) - np.where(seen, logs, 0.0) / np.where(seen, count, 1.0))
        if before is None:
            before = GammaPoint(np.ones_like(mean), np.broadcast_to(self.rates, mean.shape))
        rates = np.where(seen, shapes / mean, before.rates)
        return GammaPoint(np.where(seen, shapes, before.shapes), rates)

    mean: Any = most_likely

    def linear_log_densities(self, point: Any) -> LinearScores:
        shapes, rates = point
        steps = shapes * np.log(rates) - gammaln(shapes)
        return LinearScores(np.concatenate([steps, -rates, shapes - 1.0])[None])

    log_densities: Any = linear_log_densities

    def _refuse(self, *_: Any) -> Any:
        raise InvalidParameterError(
            "Gamma(shape=None) is learned by EM alone, as a shape has no conjugate prior: give VB, "
            "CVB and Gibbs sampling a number, such as one of EM's shapes_"
        )

    expected_log_densities: Any = _refuse
    predictive: Any = _refuse
    draw: Any = _refuse
    log_evidence: Any = _refuse

    def sample(self, point: Any, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.standard_gamma(point.shapes.T[states]) / point.rates.T[states]

    def distributions(self, point: Any, observations: Any) -> Any:
        from scipy.stats import gamma

        return gamma(point.shapes.T, scale=1.0 / point.rates.T)

    def moments(self, point: Any) -> tuple[np.ndarray, np.ndarray]:
        means = (point.shapes / point.rates).T
        return means, means / point.rates.T

    def point_from(self, parameters: dict[str, Any]) -> Any:
        shapes = emission.table_in(parameters, "shapes", (self.n_states, self.n_columns))
        emission.refuse_outside("shapes", shapes, shapes > 0, "must be positive")
        return GammaPoint(np.ascontiguousarray(shapes.T), super().point_from(parameters))

    def attributes(self, point: Any) -> dict[str, Any]:
        return {"shapes_": np.ascontiguousarray(point.shapes.T), **super().attributes(point.rates)}
