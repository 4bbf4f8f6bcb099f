"""The base family of Poisson and Gamma emissions: columns whose rates have Gamma posteriors.

log p(x | rate) = s log rate - t rate + base, where s and t are numbers that x tells (Gelman et al.
2013, "Bayesian data analysis", section 2.6).
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from sklearn_cvb.emissions import emission
from sklearn_cvb.emissions.emission import MIN_STEPS, Family, LinearScores
from sklearn_cvb.reading.moments import Moments


class RatePrior(NamedTuple):
    """Gamma priors of the rates of all columns, and how far EM may go."""

    shape: float
    rates: np.ndarray  # (D,)
    is_given: bool  # whether EM has a prior, too
    min_rate: Any = 0.0  # (D,)
    max_rate: Any = np.inf  # (D,)


class RateSums(NamedTuple):
    """Sums of s and of t over steps, and how many steps there were; (..., D, K) each."""

    log_rates: np.ndarray
    rates: np.ndarray
    steps: np.ndarray


def means_of(moments: Moments) -> np.ndarray:
    """The mean of each column's observed values; 1 where that is 0."""
    return np.where(moments.means > 0, moments.means, 1.0)


def rate_prior(shape: float | None, rate: float | None, means: np.ndarray) -> RatePrior:
    """The prior of a user's settings; by default shape 1, and an expected rate of 1 / `means`."""
    is_given = shape is not None or rate is not None
    shape = 1.0 if shape is None else emission.positive("shape_prior", shape)
    rates = shape / means
    if rate is not None:
        rates = np.full_like(means, emission.positive("rate_prior", rate))
    return RatePrior(shape, rates, is_given)


class RateFamily(Family):
    """A point is an array of rates, (D, K)."""

    def __init__(self, prior: RatePrior, n_states: int) -> None:
        self.shape: float = prior.shape
        self.rates: np.ndarray = prior.rates[:, None]
        self.min_rate: np.ndarray = np.broadcast_to(prior.min_rate, prior.rates.shape)[:, None]
        self.max_rate: np.ndarray = np.broadcast_to(prior.max_rate, prior.rates.shape)[:, None]
        self.is_given: bool = prior.is_given
        self.n_states = n_states
        self.n_columns: int = len(prior.rates)
        self.n_parameters: int = n_states * self.n_columns

    # What each family defines, beside `read`, `predictive`, `sample` and `moments`

    def _sums(self, statistics: np.ndarray) -> RateSums:
        raise NotImplementedError

    def _log_base_measure(self, statistics: np.ndarray) -> float:
        """The part of the log probability of all steps that depends on no rate."""
        raise NotImplementedError

    def _linear(self, log_rates: np.ndarray, rates: np.ndarray) -> LinearScores:
        raise NotImplementedError

    def _posterior(self, statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Shapes and rates of the Gamma distributions."""
        sums = self._sums(statistics)
        return sums.log_rates + self.shape, sums.rates + self.rates

    def most_likely(self, statistics: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
        if self.is_given:
            shape, rate = self._posterior(statistics)
            return np.clip(shape / rate, self.min_rate, self.max_rate)
        sums = self._sums(statistics)
        if before is None:
            before = np.broadcast_to(self.shape / self.rates, sums.steps.shape)
        rates = sums.log_rates / np.maximum(sums.rates, 1e-300)
        rates = np.where(sums.steps > MIN_STEPS, rates, before)
        return np.clip(rates, self.min_rate, self.max_rate)

    def mean(self, statistics: np.ndarray) -> np.ndarray:
        shape, rate = self._posterior(statistics)
        return shape / rate

    def draw(self, statistics: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        shape, rate = self._posterior(statistics)
        return np.maximum(rng.standard_gamma(shape) / rate, 1e-300)

    def linear_log_densities(self, point: np.ndarray) -> LinearScores:
        return self._linear(np.log(point), point)

    log_densities: Any = linear_log_densities

    def expected_log_densities(self, statistics: np.ndarray) -> LinearScores:
        shape, rate = self._posterior(statistics)
        return self._linear(digamma(shape) - np.log(rate), shape / rate)

    def log_evidence(self, statistics: np.ndarray) -> float:
        shape, rate = self._posterior(statistics)
        value = self.shape * np.log(self.rates) - shape * np.log(rate)
        value = value + gammaln(shape) - gammaln(self.shape)
        return float(value.sum()) + self._log_base_measure(statistics)

    def log_prior(self, point: np.ndarray) -> float:
        if not self.is_given:
            return 0.0
        return float((self.shape * np.log(point) - self.rates * point).sum())

    def marginals(self, statistics: np.ndarray) -> dict[str, Any]:
        from scipy.stats import gamma

        shape, rate = self._posterior(statistics)
        return {"rates": gamma(shape.T, scale=1.0 / rate.T)}

    def point_from(self, parameters: dict[str, Any]) -> np.ndarray:
        rates = emission.table_in(parameters, "rates", (self.n_states, self.n_columns))
        emission.refuse_outside("rates", rates, rates > 0, "must be positive")
        return np.ascontiguousarray(rates.T)

    def attributes(self, point: np.ndarray) -> dict[str, Any]:
        return {"rates_": np.ascontiguousarray(point.T)}
