"""Poisson emissions: columns of counts, independent given the state. Predictive distributions are
negative binomial, and log probabilities keep their digits however large counts are.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy

from sklearn_cvb.emissions import emission
from sklearn_cvb.emissions.emission import Emission, LinearScores, Observations, Scores
from sklearn_cvb.emissions.rates import RateFamily, RatePrior, RateSums, means_of, rate_prior
from sklearn_cvb.reading.moments import Moments

# EM's smallest rate, as a share of the column's mean.
_SMALLEST_RATE = 1e-6
# From here on differences of log Gamma functions lose digits that matter.
_LARGE = 1e3
# From here on sums of features times weights keep too few digits of a log probability.
_LOST = 1e8


@dataclass(eq=False, repr=False, kw_only=True)
class Poisson(Emission):
    """Columns of counts (0, 1, 2, ...), independent given the state.

    Parameters
    ----------
    shape_prior : float or None, default=None
        Shape of the Gamma prior of each rate; None for 1.
    rate_prior : float or None, default=None
        Its rate, as if this many steps had been seen in each state; None for ``shape_prior``
        divided by each column's mean, so that the prior expects that mean.

    Notes
    -----
    EM without a prior finds maximum likelihood (no rate is below a millionth of its column's mean);
    where one of the two is given, the maximum a posteriori of the log rates. Missing values are
    left out of a step exactly.

    Examples
    --------
    >>> from sklearn_cvb import VBHMM
    >>> X = [[1, 0, 2, 1, 0, 9, 8, 11, 10], [12, 9, 10, 1, 1, 0, 2]]
    >>> model = VBHMM(2, emission="poisson", random_state=0).fit(X)
    >>> sorted(model.rates_.ravel().round().tolist())
    [1.0, 10.0]
    """

    shape_prior: float | None = None
    rate_prior: float | None = None

    def bind(self, moments: Moments, n_states: int) -> "PoissonFamily":
        """The family, with the mean of each column as the prior's where none is given."""
        means = means_of(moments)
        prior = rate_prior(self.shape_prior, self.rate_prior, means)
        return PoissonFamily(prior._replace(min_rate=means * _SMALLEST_RATE), n_states)


def _stirling_rest(x: np.ndarray) -> np.ndarray:
    """The error of Stirling's formula for log x!, x > 0 (Loader 2000)."""
    inverse = 1.0 / np.maximum(x, 16.0)
    square = inverse * inverse
    series = 1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))
    rest = inverse * (1 / 12 - square * series)
    small = x < 16.0
    few = x[small]
    rest[small] = gammaln(few + 1.0) - (few + 0.5) * np.log(few) + few - 0.5 * np.log(2.0 * np.pi)
    return rest


def _deviance(x: np.ndarray, mean: np.ndarray, difference: np.ndarray) -> np.ndarray:
    """x log(x / mean) + mean - x, of which `difference` is x - mean (Loader 2000)."""
    ratio = difference / (x + mean)
    square = ratio * ratio
    series = np.full_like(square, 1 / 17)
    for odd in range(15, 1, -2):
        series = 1 / odd + square * series
    near = difference * ratio + 2.0 * x * ratio * square * series
    return np.where(np.abs(ratio) < 0.1, near, xlogy(x, x / mean) - difference)


def log_negative_binomial(x: np.ndarray, shape: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Log probability of counts x given a rate with a Gamma distribution, however large they are.

    Differences of log Gamma functions lose their digits at large arguments: here all that is large
    cancels on paper (Loader 2000, "Fast and accurate computation of binomial probabilities").
    """
    x, shape, rate = np.broadcast_arrays(x, shape, rate)
    total, off = x + shape, (x * rate - shape) / (rate + 1.0)
    # No count at all has a formula of its own.
    some = np.where(x > 0, x, 1.0)
    found = _stirling_rest(total) - _stirling_rest(shape) - _stirling_rest(some)
    found -= _deviance(some, total / (rate + 1.0), off)
    found -= _deviance(shape, total * (rate / (rate + 1.0)), -off)
    found += 0.5 * np.log(shape / (2.0 * np.pi * some * total))
    return np.where(x > 0, found, -shape * np.log1p(1.0 / rate))


class NegativeBinomialScores(NamedTuple):
    """Predictive densities under Gamma posteriors of rates; shape and rate (n_units, D, K)."""

    shape: np.ndarray
    rate: np.ndarray

    def fill(self, observations: Observations, units: np.ndarray, out: np.ndarray) -> None:
        values, observed = observations.values, observations.observed
        out[:] = 0.0
        for d in range(values.shape[1]):
            score = emission.score_by_value(partial(self._of_column, d), values[:, d], units)
            out += score if observed is None else np.where(observed[:, d, None], score, 0.0)

    def _of_column(self, d: int, column: np.ndarray, units: np.ndarray) -> np.ndarray:
        own, rate = self.shape[:, d], self.rate[:, d]
        x, shape = column[:, None], emission.per_step(own, units)
        if own.max() + column.max(initial=0.0) > _LARGE:
            return log_negative_binomial(x, shape, emission.per_step(rate, units))
        constants = -own * np.log1p(1.0 / rate) - gammaln(own)
        score = gammaln(shape + x) - gammaln(x + 1.0)
        return (
            score
            - x * emission.per_step(np.log1p(rate), units)
            + emission.per_step(constants, units)
        )


class PoissonScores(NamedTuple):
    """Log probabilities under rates (D, K) so large that features times weights lose digits."""

    rates: np.ndarray

    def fill(self, observations: Observations, units: np.ndarray, out: np.ndarray) -> None:
        values, observed = observations.values, observations.observed
        out[:] = 0.0
        for d in range(values.shape[1]):
            x, rate = np.broadcast_arrays(values[:, d, None], self.rates[d])
            some = np.where(x > 0, x, 1.0)
            score = -_deviance(some, rate, some - rate) - _stirling_rest(some)
            score = np.where(x > 0, score - 0.5 * np.log(2.0 * np.pi * some), -rate)
            out += score if observed is None else np.where(observed[:, d, None], score, 0.0)


class PoissonFamily(RateFamily):
    """Statistics are sums and numbers of steps of each column, and what all states have alike."""

    is_discrete = are_counts = True

    def __init__(self, prior: RatePrior, n_states: int) -> None:
        super().__init__(prior, n_states)
        self.n_statistics: int = 2 * self.n_columns + 1

    def read(self, table: np.ndarray) -> Observations:
        wrong = (table < 0) | (table != np.floor(table))
        emission.refuse_where(wrong, table, "Poisson emissions are counts (0, 1, 2, ...)")
        values, observed = emission.values_and_mask(table)
        there = np.ones_like(values) if observed is None else observed.astype(np.float64)
        # Of all states alike: minus the log factorials.
        base = -gammaln(values + 1.0).sum(axis=1, keepdims=True)
        return Observations(values, observed, np.hstack([values, there, base]))

    def _sums(self, statistics: np.ndarray) -> RateSums:
        counts, n = np.maximum(statistics, 0.0), self.n_columns
        total, steps = counts[..., :n, :], counts[..., n : 2 * n, :]
        return RateSums(total, steps, steps)

    def _log_base_measure(self, statistics: np.ndarray) -> float:
        return float(statistics[..., -1, :].sum())

    def _linear(self, log_rates: np.ndarray, rates: np.ndarray) -> LinearScores:
        base = np.ones((1, log_rates.shape[-1]))
        return LinearScores(np.concatenate([log_rates, -rates, base])[None])

    def log_densities(self, point: np.ndarray) -> Scores:
        if point.max() > _LOST:
            return PoissonScores(point)
        return self.linear_log_densities(point)

    def predictive(self, statistics: np.ndarray) -> Scores:
        return NegativeBinomialScores(*self._posterior(emission.by_unit(statistics)))

    def sample(self, point: np.ndarray, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.poisson(point.T[states]).astype(np.float64)

    def distributions(self, point: np.ndarray, observations: Any) -> Any:
        from scipy.stats import poisson

        return poisson(point.T)

    def moments(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return point.T, point.T
