"""Gaussian emissions whose columns are independent given the state: Normal-Gamma posteriors, points
of means and variances, and scores, the log densities of steps.

With a precision lambda ~ Gamma(nu / 2, Psi / 2) and a mean ~ N(m, 1 / (kappa lambda)), for each
state and column; of a spherical covariance lambda is one for all columns. All in standard units.
Beal (2003), appendix A; Murphy (2007), "Conjugate Bayesian analysis of the Gaussian distribution".
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from sklearn_cvb.emissions import emission
from sklearn_cvb.emissions.emission import MIN_STEPS, Family, Observations, StandardUnits
from sklearn_cvb.kernels.emission import (
    add_logs,
    buffers,
    linear_scores,
    moments_by_column,
    multiply_ratios,
    parabolas_by_column,
    student_by_column,
)
from sklearn_cvb.kernels.special import bit_buffer, log_of

# From here on a few terms of a series are all digits.
_SERIES = 20.0


class NormalPrior(NamedTuple):
    """Normal-Wishart or Normal-Gamma prior, in standard units.

    `scale` is that of sums of squares: the scale matrix of the covariance's inverse Wishart
    distribution, or twice the rate of each precision's Gamma distribution.
    """

    mean: np.ndarray  # (D,)
    mean_precision: float  # as if the mean had been seen so often
    degrees_of_freedom: float
    scale: np.ndarray  # (D,) or (D, D)
    is_given: bool  # whether EM is to use it
    floor: float  # smallest variance that EM gives


class GaussianFamily(Family):
    """The base of Gaussian families, with independent columns or covariance matrices."""

    has_matrices = False

    # The posterior given statistics; under a posterior E[log p(x | theta)], and its KL divergence
    # from the prior (nats); statistics of the same steps as if these means (those of a point) were
    # their averages, with sums of squares around them.
    posterior: Callable[[np.ndarray], Any]
    log_densities_under: Callable[[Any], Any]
    divergence_under: Callable[[Any], float]
    recentred: Callable[[np.ndarray, np.ndarray], np.ndarray]
    # A posterior in the units of the data, states first in all tables, and back again.
    posterior_to_data: Callable[[Any], Any]
    posterior_to_standard: Callable[[Any], Any]

    def __init__(
        self, prior: NormalPrior, units: StandardUnits, n_states: int, is_shared: bool
    ) -> None:
        self.prior = prior
        self.units = units
        # What standard units take off log densities.
        self.log_scales: np.ndarray = np.log(units.scale)
        self.n_states = n_states
        n = len(units.centre)
        self.n_columns: int = n
        # Steps, sums and sums of squares of each column; or steps, sums and sums of products.
        self.n_statistics: int = 1 + n + n * (n + 1) // 2 if self.has_matrices else 3 * n
        self.is_shared = is_shared
        # Of precisions: over columns in each state, or over states (tied); one per state
        # (spherical).
        n_precisions = n * (n + 1) // 2 if self.has_matrices else (1 if is_shared else n)
        n_tables = 1 if self.has_matrices and is_shared else n_states
        self.n_parameters: int = n_states * n + n_tables * n_precisions

    def expected_log_densities(self, statistics: np.ndarray) -> Any:
        return self.log_densities_under(self.posterior(statistics))

    def divergence(self, statistics: np.ndarray) -> float:
        return self.divergence_under(self.posterior(statistics))

    def _sum_of_terms(self, of_means: np.ndarray, of_precisions: np.ndarray) -> float:
        """The sum of all terms; of precisions that are shared there is one."""
        of_precisions = of_precisions[:1] if self.is_shared else of_precisions
        return float(of_means.sum() + of_precisions.sum())


class ColumnsPoint(NamedTuple):
    """Means and variances of each column and state, (D, K) each, in standard units."""

    means: np.ndarray
    variances: np.ndarray


class NormalGamma(NamedTuple):
    """Normal-Gamma distributions, arrays of shape (..., D, K)."""

    mean: np.ndarray
    precision: np.ndarray
    degrees: np.ndarray
    scale: np.ndarray


def log_gamma_step(x: np.ndarray) -> np.ndarray:
    """log Gamma(x + 1/2) - log Gamma(x), of which large x lose no digit."""
    if x.min() < _SERIES:
        return gammaln(x + 0.5) - gammaln(x)
    # Stirling's series of both.
    inverse = 1.0 / x
    square = inverse * inverse
    rest = 1 / 640 - square * (17 / 14336 - square * (31 / 18432))
    return 0.5 * np.log(x) - inverse * (1 / 8 - square * (1 / 192 - square * rest))


class NormalScores(NamedTuple):
    """Sum over observed columns of constant - precision (x - mean)^2 / 2; (n_units, D, K) each."""

    constants: np.ndarray
    means: np.ndarray
    precisions: np.ndarray

    def fill(self, observations: Observations, units: np.ndarray, out: np.ndarray) -> None:
        tables = self.constants, self.means, -0.5 * self.precisions
        parabolas_by_column(observations.values, observations.observed, units, tables, out)


class ColumnStudentScores(NamedTuple):
    """Student's t distribution of each column, or of all together; (n_units, D, K) each.

    Log densities are constant - (degrees + 1) / 2 log(1 + (x - mean)^2 / squares) by column. With
    `is_spherical` the columns share a variance: log densities of all together need how many of
    them are observed.
    """

    constants: np.ndarray
    means: np.ndarray
    squares: np.ndarray
    degrees: np.ndarray
    is_spherical: bool

    def fill(self, observations: Observations, units: np.ndarray, out: np.ndarray) -> None:
        if self.is_spherical:
            self._fill_together(observations, units, out)
            return
        observed, exponents = observations.observed, -0.5 * (self.degrees + 1.0)
        if observed is None and (exponents == exponents[:, :1]).all():
            self._fill_from_products(observations.values, units, exponents[:, 0], out)
            return
        if observed is None:
            # Columns that were learned from other numbers of steps have each their exponent.
            observed = np.ones(observations.values.shape, bool)
        tables = self.means, 1.0 / self.squares, exponents, self.constants[:, :, None]
        room = buffers(*self.means.shape[1:])
        student_by_column(observations.values, observed, units, tables, room, out)

    def _fill_from_products(
        self, values: np.ndarray, units: np.ndarray, exponents: np.ndarray, out: np.ndarray
    ) -> None:
        """A log of four columns' product instead of four logs."""
        inverses, products, n = 1.0 / self.squares, np.empty_like(out), values.shape[1]
        exponents = np.ascontiguousarray(exponents)
        out[:] = 0.0
        for first in range(0, n, 4):
            last = min(first + 4, n)
            multiply_ratios(values, (first, last), units, self.means, inverses, products)
            groups = [(first, last)]
            # Of numbers from 1 on: what is not finite shows in the largest.
            if not math.isfinite(products.max()):
                groups = [(d, d + 1) for d in range(first, last)]
            for group in groups:
                if len(groups) > 1:
                    multiply_ratios(values, group, units, self.means, inverses, products)
                log_of(products.reshape(-1), bit_buffer())
                constants = self.constants[:, group[0] : group[1]].sum(axis=1)
                add_logs(products, units, constants, exponents, out)

    def _fill_together(
        self, observations: Observations, units: np.ndarray, out: np.ndarray
    ) -> None:
        values, observed = observations.values, observations.observed
        out[:] = 1.0
        n_observed: Any = float(values.shape[1])
        constants = emission.per_step(self.constants.sum(axis=-2), units)
        for d in range(values.shape[1]):
            q = (values[:, d, None] - emission.per_step(self.means[:, d], units)) ** 2
            q *= emission.per_step(1.0 / self.squares[:, d], units)
            out += q if observed is None else np.where(observed[:, d, None], q, 0.0)
        degrees = emission.per_step(self.degrees[:, 0], units)
        if observed is not None:
            n_observed = observed.sum(axis=1, keepdims=True).astype(np.float64)
            constants = np.zeros_like(out)
            linear_scores(observed.astype(np.float64), units, self.constants, constants)
        np.log(out, out=out)
        out *= -0.5 * (degrees + n_observed)
        out += constants + gammaln(0.5 * (degrees + n_observed)) - gammaln(0.5 * degrees)


class GaussianColumns(GaussianFamily):
    """Independent columns: variances by state and column, or one of a state (spherical)."""

    def read(self, table: np.ndarray) -> Observations:
        values, observed = emission.values_and_mask(self.units.to_standard(table))
        return Observations(values, observed, np.empty((len(values), 0)))

    def statistics(
        self,
        observations: Observations,
        posterior: np.ndarray,
        units: np.ndarray,
        scores: Any = None,
    ) -> np.ndarray:
        sums = np.zeros((len(units) - 1, self.n_statistics, self.n_states))
        moments_by_column(observations.values, observations.observed, posterior, units, sums)
        return sums

    # From statistics to distributions

    def _parts(self, statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Number of steps, sums and sums of squares of each column, (..., D, K) each."""
        n = self.n_columns
        count, total = statistics[..., :n, :], statistics[..., n : 2 * n, :]
        return np.maximum(count, 0.0), total, statistics[..., 2 * n :, :]

    def posterior(self, statistics: np.ndarray) -> NormalGamma:
        count, total, squares = self._parts(statistics)
        prior, m = self.prior, self.prior.mean[:, None]
        precision = prior.mean_precision + count
        mean = (prior.mean_precision * m + total) / precision
        average = total / np.maximum(count, MIN_STEPS)
        # Sums of squares around the average, which rounding may make negative.
        scatter = np.maximum(squares - total * average, 0.0)
        scatter = scatter + prior.mean_precision * count / precision * (average - m) ** 2
        degrees, scale = prior.degrees_of_freedom + count, prior.scale[:, None] + scatter
        if self.is_shared:
            shape = count.shape
            degrees = prior.degrees_of_freedom + count.sum(axis=-2, keepdims=True)
            scale = prior.scale[0] + scatter.sum(axis=-2, keepdims=True)
            degrees, scale = np.broadcast_to(degrees, shape), np.broadcast_to(scale, shape)
        return NormalGamma(mean, precision, degrees, scale)

    def recentred(self, statistics: np.ndarray, means: np.ndarray) -> np.ndarray:
        count, total, squares = np.split(statistics, 3, axis=-2)
        off = total - count * means
        return np.concatenate([count, count * means, squares - 2.0 * means * off], axis=-2)

    def most_likely(
        self, statistics: np.ndarray, before: ColumnsPoint | None = None
    ) -> ColumnsPoint:
        if self.prior.is_given:
            posterior = self.posterior(statistics)
            # The density of mean and precision has its peak here.
            n_means = self.n_columns if self.is_shared else 1
            degrees = np.maximum(posterior.degrees - 2.0 + n_means, MIN_STEPS)
            variances = np.maximum(posterior.scale / degrees, self.prior.floor)
            return ColumnsPoint(posterior.mean, variances)
        count, total, squares = self._parts(statistics)
        means = total / np.maximum(count, MIN_STEPS)
        scatter, n_seen = np.maximum(squares - total * means, 0.0), count
        if self.is_shared:
            scatter, n_seen = scatter.sum(axis=-2, keepdims=True), count.sum(axis=-2, keepdims=True)
        variances = scatter / np.maximum(n_seen, MIN_STEPS)
        if before is None:
            before = ColumnsPoint(np.zeros_like(means), np.ones_like(means))
        # One value that is seen in any column tells of a variance that all of them share.
        variances = np.where(n_seen > MIN_STEPS, variances, before.variances)
        variances = np.maximum(variances, self.prior.floor)
        return ColumnsPoint(np.where(count > MIN_STEPS, means, before.means), variances)

    def mean(self, statistics: np.ndarray) -> ColumnsPoint:
        posterior = self.posterior(statistics)
        return ColumnsPoint(posterior.mean, posterior.scale / posterior.degrees)

    def draw(self, statistics: np.ndarray, rng: np.random.Generator) -> ColumnsPoint:
        mean, precision, degrees, scale = self.posterior(statistics)
        if self.is_shared:
            degrees, scale = degrees[:1], scale[:1]
        drawn = rng.standard_gamma(0.5 * degrees) / (0.5 * scale)
        variances = np.broadcast_to(1.0 / drawn, mean.shape)
        noise = rng.standard_normal(mean.shape)
        return ColumnsPoint(mean + noise * np.sqrt(variances / precision), variances)

    # Scores

    def log_densities(self, point: ColumnsPoint) -> NormalScores:
        constants = -0.5 * np.log(2.0 * np.pi * point.variances) - self.log_scales[:, None]
        return NormalScores(constants[None], point.means[None], 1.0 / point.variances[None])

    def log_densities_under(self, posterior: NormalGamma) -> NormalScores:
        """E[log p(x | theta)] under a posterior."""
        mean, precision, degrees, scale = posterior
        log_precision = digamma(0.5 * degrees) - np.log(0.5 * scale)
        constants = 0.5 * (log_precision - math.log(2.0 * math.pi) - 1.0 / precision)
        constants = constants - self.log_scales[:, None]
        return NormalScores(constants[None], mean[None], (degrees / scale)[None])

    def predictive(self, statistics: np.ndarray) -> ColumnStudentScores:
        mean, precision, degrees, scale = self.posterior(emission.by_unit(statistics))
        squares = scale * (1.0 + 1.0 / precision)
        constants = -0.5 * np.log(np.pi * squares) - self.log_scales[:, None]
        if not self.is_shared:
            half = 0.5 * degrees
            if (half[:, :1] == half).all():
                # Where nothing is missing all columns have as many steps.
                half = half[:, :1]
            constants = constants + log_gamma_step(half)
        return ColumnStudentScores(constants, mean, squares, degrees, self.is_shared)

    # Objectives

    def divergence_under(self, posterior: NormalGamma) -> float:
        """KL divergence of a posterior from the prior (nats)."""
        prior = self.prior
        ratio = prior.mean_precision / posterior.precision
        off = posterior.mean - prior.mean[:, None]
        expected_precision = posterior.degrees / posterior.scale
        of_means = 0.5 * (
            ratio - np.log(ratio) - 1.0 + prior.mean_precision * expected_precision * off**2
        )
        a, b = 0.5 * posterior.degrees, 0.5 * posterior.scale
        a_0, b_0 = 0.5 * prior.degrees_of_freedom, 0.5 * prior.scale[:, None]
        of_precisions = (
            (a - a_0) * digamma(a)
            - gammaln(a)
            + gammaln(a_0)
            + a_0 * np.log(b / b_0)
            + a * (b_0 - b) / b
        )
        return self._sum_of_terms(of_means, of_precisions)

    def log_evidence(self, statistics: np.ndarray) -> float:
        (_, precision, degrees, scale), prior = self.posterior(statistics), self.prior
        count = self._parts(statistics)[0]
        of_means = 0.5 * np.log(prior.mean_precision / precision) - count * (
            0.5 * math.log(math.pi) + self.log_scales[:, None]
        )
        a, a_0 = 0.5 * degrees, 0.5 * prior.degrees_of_freedom
        of_precisions = (
            gammaln(a) - gammaln(a_0) + a_0 * np.log(prior.scale[:, None]) - a * np.log(scale)
        )
        return self._sum_of_terms(of_means, of_precisions)

    def log_prior(self, point: ColumnsPoint) -> float:
        prior = self.prior
        if not prior.is_given:
            return 0.0
        precision = 1.0 / point.variances
        off = point.means - prior.mean[:, None]
        of_means = 0.5 * (np.log(precision) - prior.mean_precision * precision * off**2)
        of_precisions = (0.5 * prior.degrees_of_freedom - 1.0) * np.log(precision)
        of_precisions = of_precisions - 0.5 * prior.scale[:, None] * precision
        return self._sum_of_terms(of_means, of_precisions)

    def log_likelihood(self, statistics: np.ndarray, point: ColumnsPoint) -> float:
        count, total, squares = self._parts(statistics)
        constants = self.log_densities(point).constants[0]
        off = squares - 2.0 * point.means * total + point.means**2 * count
        return float((count * constants - 0.5 * off / point.variances).sum())

    # In the units of the data

    def point_from(self, parameters: dict[str, Any]) -> ColumnsPoint:
        n, k, scale = self.n_columns, self.n_states, self.units.scale
        means = self.units.to_standard(emission.table_in(parameters, "means", (k, n)))
        variances = np.ones((k, n))
        if "covariances" in parameters:
            shape = (k,) if self.is_shared else (k, n)
            table = emission.table_in(parameters, "covariances", shape)
            emission.refuse_outside("covariances", table, table > 0, "must be positive")
            variances = (table[:, None] if self.is_shared else table) / scale**2
        return ColumnsPoint(np.ascontiguousarray(means.T), np.ascontiguousarray(variances.T))

    def posterior_to_data(self, posterior: NormalGamma) -> NormalGamma:
        mean, precision, degrees, scale = (table.T for table in posterior)
        scale = scale * self.units.scale**2
        return NormalGamma(self.units.to_data(mean), precision, degrees, scale)

    def posterior_to_standard(self, posterior: NormalGamma) -> NormalGamma:
        mean, scale = self.units.to_standard(posterior.mean), posterior.scale / self.units.scale**2
        tables = mean, posterior.precision, posterior.degrees, scale
        return NormalGamma(*(np.ascontiguousarray(table.T) for table in tables))

    def sample(
        self, point: ColumnsPoint, states: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        means, deviations = point.means.T[states], np.sqrt(point.variances.T[states])
        return self.units.to_data(means + deviations * rng.standard_normal(means.shape))

    def distributions(self, point: ColumnsPoint, observations: Any) -> Any:
        from scipy.stats import norm

        return norm(point.means.T, np.sqrt(point.variances.T))

    def moments(self, point: ColumnsPoint) -> tuple[np.ndarray, np.ndarray]:
        return self.units.to_data(point.means.T), point.variances.T * self.units.scale**2

    def marginals(self, statistics: np.ndarray) -> dict[str, Any]:
        mean, precision, degrees, scale = (table.T for table in self.posterior(statistics))
        return self.units.marginals(mean, scale / (degrees * precision), degrees, scale)

    def attributes(self, point: ColumnsPoint) -> dict[str, Any]:
        means, variances = self.moments(point)
        covariances = variances[:, 0] if self.is_shared else variances
        return {
            "means_": means,
            "covariances_": covariances,
            "precisions_": 1.0 / covariances,
            "precisions_cholesky_": 1.0 / np.sqrt(covariances),
        }
