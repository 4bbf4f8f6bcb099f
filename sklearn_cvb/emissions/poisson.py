"""Poisson emissions: columns of counts, independent given the state."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, xlogy

from sklearn_cvb.emissions.emission import (
    FEWEST,
    Emission,
    Family,
    LinearScores,
    Observations,
    Scores,
    as_units,
    positive,
    refuse_outside,
    refuse_where,
    spread,
    table_of,
    with_zeros,
)

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
        Its rate, as if so many steps had been seen in each state; None for ``shape_prior`` divided
        by each column's mean, so that the prior expects that mean.

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

    def bind(self, table: np.ndarray, n_states: int) -> "PoissonFamily":
        """The family, with the mean of each column as the prior's where none is given."""
        observed = ~np.isnan(table)
        total = np.where(observed, table, 0.0).sum(axis=0)
        means = total / np.maximum(observed.sum(axis=0), 1)
        means = np.where(means > 0, means, 1.0)
        shape = 1.0 if self.shape_prior is None else positive("shape_prior", self.shape_prior)
        rates = shape / means
        if self.rate_prior is not None:
            rates = np.full_like(means, positive("rate_prior", self.rate_prior))
        is_given = self.shape_prior is not None or self.rate_prior is not None
        return PoissonFamily(shape, rates, means * _SMALLEST_RATE, n_states, is_given)


def _stirling_rest(x: np.ndarray) -> np.ndarray:
    """What Stirling's formula leaves of log x! for x > 0 (Loader 2000)."""
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
    """What is to come under Gamma distributions of the rates; shape and rate (n_units, D, K)."""

    shape: np.ndarray
    rate: np.ndarray

    def fill(self, observations: Observations, units: np.ndarray, out: np.ndarray) -> None:
        values, observed = observations.values, observations.observed
        largest = self.shape.max(axis=(0, 2)) + values.max(axis=0, initial=0.0)
        constants = -self.shape * np.log1p(1.0 / self.rate) - gammaln(self.shape)
        out[:] = 0.0
        for d in range(values.shape[1]):
            column, shape = values[:, d, None], spread(self.shape[:, d], units)
            if largest[d] > _LARGE:
                score = log_negative_binomial(column, shape, spread(self.rate[:, d], units))
            else:
                score = gammaln(shape + column) - gammaln(column + 1.0)
                score = score - column * spread(np.log1p(self.rate[:, d]), units)
                score = score + spread(constants[:, d], units)
            out += score if observed is None else np.where(observed[:, d, None], score, 0.0)


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


class PoissonFamily(Family):
    """A point is an array of rates, (D, K)."""

    def __init__(
        self, shape: float, rates: np.ndarray, floor: np.ndarray, n_states: int, is_given: bool
    ) -> None:
        self.shape = shape
        self.rates: np.ndarray = rates[:, None]
        self.floor: np.ndarray = floor[:, None]
        self.n_states = n_states
        self.n_columns: int = len(rates)
        self.n_statistics: int = 2 * len(rates) + 1
        self.n_parameters: int = n_states * len(rates)
        self.is_given = is_given

    def read(self, table: np.ndarray) -> Observations:
        wrong = (table < 0) | (table != np.floor(table))
        refuse_where(wrong, table, "Poisson emissions are counts (0, 1, 2, ...)")
        values, observed = with_zeros(table)
        there = np.ones_like(values) if observed is None else observed.astype(np.float64)
        # Of all states alike: minus the log factorials.
        base = -gammaln(values + 1.0).sum(axis=1, keepdims=True)
        return Observations(values, observed, np.hstack([values, there, base]))

    def _parts(self, statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums and numbers of steps, (..., D, K) each."""
        counts, n = np.maximum(statistics, 0.0), self.n_columns
        return counts[..., :n, :], counts[..., n : 2 * n, :]

    def _posterior(self, statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Shapes and rates of the Gamma distributions."""
        total, count = self._parts(statistics)
        return total + self.shape, count + self.rates

    def most_likely(self, statistics: np.ndarray, kept: np.ndarray | None = None) -> np.ndarray:
        if self.is_given:
            shape, rate = self._posterior(statistics)
            return np.maximum(shape / rate, self.floor)
        total, count = self._parts(statistics)
        if kept is None:
            kept = np.broadcast_to(self.shape / self.rates, total.shape)
        found = np.where(count > FEWEST, total / np.maximum(count, FEWEST), kept)
        return np.maximum(found, self.floor)

    def mean(self, statistics: np.ndarray) -> np.ndarray:
        shape, rate = self._posterior(statistics)
        return shape / rate

    def draw(self, statistics: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        shape, rate = self._posterior(statistics)
        return np.maximum(rng.standard_gamma(shape) / rate, 1e-300)

    def _linear(self, log_rates: np.ndarray, rates: np.ndarray) -> LinearScores:
        base = np.ones((1, log_rates.shape[-1]))
        return LinearScores(np.concatenate([log_rates, -rates, base])[None])

    def at(self, point: np.ndarray) -> Scores:
        if point.max() > _LOST:
            return PoissonScores(point)
        return self.linear_at(point)

    def linear_at(self, point: np.ndarray) -> LinearScores:
        return self._linear(np.log(point), point)

    def expected(self, statistics: np.ndarray) -> LinearScores:
        shape, rate = self._posterior(statistics)
        return self._linear(digamma(shape) - np.log(rate), shape / rate)

    def predictive(self, statistics: np.ndarray) -> Scores:
        return NegativeBinomialScores(*self._posterior(as_units(statistics)))

    def log_evidence(self, statistics: np.ndarray) -> float:
        shape, rate = self._posterior(statistics)
        value = self.shape * np.log(self.rates) - shape * np.log(rate)
        value = value + gammaln(shape) - gammaln(self.shape)
        return float(value.sum() + statistics[..., -1, :].sum())

    def log_prior(self, point: np.ndarray) -> float:
        if not self.is_given:
            return 0.0
        return float((self.shape * np.log(point) - self.rates * point).sum())

    def sample(self, point: np.ndarray, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.poisson(point.T[states]).astype(np.float64)

    def moments(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return point.T, point.T

    def marginals(self, statistics: np.ndarray) -> dict[str, Any]:
        from scipy.stats import gamma

        shape, rate = self._posterior(statistics)
        return {"rates": gamma(shape.T, scale=1.0 / rate.T)}

    def point_of(self, given: dict[str, Any]) -> np.ndarray:
        rates = table_of(given, "rates", (self.n_states, self.n_columns))
        refuse_outside("rates", rates, rates > 0, "must be positive")
        return np.ascontiguousarray(rates.T)

    def attributes(self, point: np.ndarray) -> dict[str, Any]:
        return {"rates_": np.ascontiguousarray(point.T)}
