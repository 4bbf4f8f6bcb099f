"""Gamma and exponential emissions: columns of positive numbers, such as waiting times."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from sklearn_cvb.emissions.emission import (
    Emission,
    LinearScores,
    Observations,
    as_units,
    positive,
    refuse_where,
    spread,
    with_zeros,
)
from sklearn_cvb.emissions.rates import RateFamily, RatePrior, Sums, means_of, rate_prior
from sklearn_cvb.reading.moments import Moments

# How far EM's rates may be from that of the column's mean, as a factor.
_FARTHEST = 1e6


@dataclass(eq=False, repr=False, kw_only=True)
class Gamma(Emission):
    """Columns of positive numbers, each Gamma with a known shape, independent given the state.

    Parameters
    ----------
    shape : float, default=1.0
        Shape of all Gamma distributions: 1 are exponential ones, k sums of k such waiting times;
        the coefficient of variation is 1 / sqrt(shape).
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

    shape: float = 1.0
    shape_prior: float | None = None
    rate_prior: float | None = None

    def bind(self, moments: Moments, n_states: int) -> "GammaFamily":
        """The family, with the mean of each column as the prior's where none is given."""
        shape = positive("shape", self.shape)
        usual = shape / means_of(moments)
        prior = rate_prior(self.shape_prior, self.rate_prior, usual)
        prior = prior._replace(smallest=usual / _FARTHEST, largest=usual * _FARTHEST)
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


class WaitingScores(NamedTuple):
    """What is to come under Gamma distributions of the rates; shape and rate (n_units, D, K).

    A Gamma distribution whose rate has one is a beta prime distribution: log p(x) is
    log G(shape + a) - log G(shape) - log G(a) - log x + a log y - (shape + a) log(1 + y), where y
    is x / rate.
    """

    of_values: float  # a
    shape: np.ndarray
    rate: np.ndarray

    def fill(self, observations: Observations, units: np.ndarray, out: np.ndarray) -> None:
        """Fill `out` (n_steps, K)."""
        values, observed, of_values = observations.values, observations.observed, self.of_values
        logs = observations.features[:, 2 * values.shape[1] :]
        constants = gammaln(self.shape + of_values) - gammaln(self.shape) - gammaln(of_values)
        constants = constants - of_values * np.log(self.rate)
        out[:] = 0.0
        for d in range(values.shape[1]):
            ratio = values[:, d, None] / spread(self.rate[:, d], units)
            score = spread(constants[:, d], units) + (of_values - 1.0) * logs[:, d, None]
            score = score - spread(self.shape[:, d] + of_values, units) * np.log1p(ratio)
            out += score if observed is None else np.where(observed[:, d, None], score, 0.0)


class GammaFamily(RateFamily):
    """Statistics are numbers of steps, sums, and sums of logarithms of each column."""

    def __init__(self, of_values: float, prior: RatePrior, n_states: int) -> None:
        super().__init__(prior, n_states)
        self.of_values = of_values
        self.n_statistics: int = 3 * self.n_columns

    def read(self, table: np.ndarray) -> Observations:
        if self.of_values == 1.0:
            refuse_where(table < 0, table, "exponential emissions are not below 0")
        else:
            refuse_where(table <= 0, table, "Gamma emissions are above 0")
        values, observed = with_zeros(table)
        there = np.ones_like(values) if observed is None else observed.astype(np.float64)
        # Of zeros and of what is missing no logarithm is asked for.
        logs = np.log(np.where(values > 0, values, 1.0))
        return Observations(values, observed, np.hstack([there, values, logs]))

    def _sums(self, statistics: np.ndarray) -> Sums:
        counts, n = np.maximum(statistics, 0.0), self.n_columns
        steps = counts[..., :n, :]
        return Sums(self.of_values * steps, counts[..., n : 2 * n, :], steps)

    def _base(self, statistics: np.ndarray) -> float:
        n = self.n_columns
        logs = (self.of_values - 1.0) * statistics[..., 2 * n :, :].sum()
        return float(logs - gammaln(self.of_values) * statistics[..., :n, :].sum())

    def _linear(self, log_rates: np.ndarray, rates: np.ndarray) -> LinearScores:
        steps = self.of_values * log_rates - gammaln(self.of_values)
        logs = np.full_like(rates, self.of_values - 1.0)
        return LinearScores(np.concatenate([steps, -rates, logs])[None])

    def predictive(self, statistics: np.ndarray) -> WaitingScores:
        return WaitingScores(self.of_values, *self._posterior(as_units(statistics)))

    def sample(self, point: np.ndarray, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.standard_gamma(self.of_values, (len(states), self.n_columns)) / point.T[states]

    def moments(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.of_values / point.T, self.of_values / point.T**2
