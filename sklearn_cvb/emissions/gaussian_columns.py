"""Gaussian emissions whose columns are independent given the state: Normal-Gamma distributions.

With a precision lambda ~ Gamma(nu / 2, Psi / 2) and a mean ~ N(m, 1 / (kappa lambda)), for each
state and column; of a spherical covariance lambda is one for all columns. All in standard units.
Beal (2003), appendix A; Murphy (2007), "Conjugate Bayesian analysis of the Gaussian distribution".
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from sklearn_cvb.emissions.emission import Family, Observations, Scores, with_zeros
from sklearn_cvb.emissions.gaussian_prior import NormalPrior, Units
from sklearn_cvb.kernels.emission.features import linear_scores
from sklearn_cvb.kernels.emission.gaussian import moments_by_column, parabolas_by_column
from sklearn_cvb.kernels.emission.powers import log_of, room_for_bits
from sklearn_cvb.kernels.emission.predictive import (
    add_logs,
    multiply_ratios,
    room_for,
    student_by_column,
)

# States with fewer steps keep their parameters in EM.
_FEWEST = 1e-10


class Point(NamedTuple):
    """Means and variances of each column and state, (D, K) each, in standard units."""

    means: np.ndarray
    variances: np.ndarray


class Posterior(NamedTuple):
    """Normal-Gamma distributions, arrays of shape (..., D, K)."""

    mean: np.ndarray
    precision: np.ndarray
    degrees: np.ndarray
    scale: np.ndarray


class NormalScores(NamedTuple):
    """Sum over observed columns of constant - precision (x - mean)^2 / 2; (n_units, D, K) each."""

    constants: np.ndarray
    means: np.ndarray
    precisions: np.ndarray

    def fill(self, observations: Observations, units: np.ndarray, out: np.ndarray) -> None:
        """Fill `out` (n_steps, K)."""
        tables = self.constants, self.means, -0.5 * self.precisions
        parabolas_by_column(observations.values, observations.observed, units, tables, out)


class StudentScores(NamedTuple):
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
        """Fill `out` (n_steps, K)."""
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
        tables = self.constants, self.means, 1.0 / self.squares, exponents
        room = room_for(*self.means.shape[1:])
        student_by_column(observations.values, observed, units, tables, room, out)

    def _fill_from_products(
        self, values: np.ndarray, units: np.ndarray, exponents: np.ndarray, out: np.ndarray
    ) -> None:
        """A log of four columns' product in place of four logs."""
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
                log_of(products.reshape(-1), room_for_bits())
                constants = self.constants[:, group[0] : group[1]].sum(axis=1)
                add_logs(products, units, constants, exponents, out)

    def _fill_together(
        self, observations: Observations, units: np.ndarray, out: np.ndarray
    ) -> None:
        values, observed = observations.values, observations.observed
        out[:] = 1.0
        n_observed, constants = float(values.shape[1]), spread(self.constants.sum(axis=-2), units)
        for d in range(values.shape[1]):
            q = (values[:, d, None] - spread(self.means[:, d], units)) ** 2
            q *= spread(1.0 / self.squares[:, d], units)
            out += q if observed is None else np.where(observed[:, d, None], q, 0.0)
        degrees = spread(self.degrees[:, 0], units)
        if observed is not None:
            n_observed = observed.sum(axis=1, keepdims=True).astype(np.float64)
            constants = np.zeros_like(out)
            linear_scores(observed.astype(np.float64), units, self.constants, constants)
        np.log(out, out=out)
        out *= -0.5 * (degrees + n_observed)
        out += constants + gammaln(0.5 * (degrees + n_observed)) - gammaln(0.5 * degrees)


def spread(table: np.ndarray, units: np.ndarray) -> np.ndarray:
    """A row (K,) of each unit for all its steps; one row serves all units."""
    return table if len(table) == 1 else np.repeat(table, np.diff(units), axis=0)


class GaussianColumns(Family):
    """Independent columns: variances by state and column, or by state (spherical)."""

    def __init__(self, prior: NormalPrior, units: Units, n_states: int, is_spherical: bool) -> None:
        self.prior = prior
        self.units = units
        self.n_states = n_states
        self.n_columns = len(units.centre)
        self.n_statistics = 3 * self.n_columns
        self.is_spherical = is_spherical

    def read(self, table: np.ndarray) -> Observations:
        values, observed = with_zeros(self.units.standard(table))
        return Observations(values, observed, np.empty((len(values), 0)))

    def statistics(
        self,
        observations: Observations,
        posterior: np.ndarray,
        units: np.ndarray,
        scores: Any = None,
    ) -> np.ndarray:
        sums = np.zeros((len(units) - 1, 3 * self.n_columns, self.n_states))
        moments_by_column(observations.values, observations.observed, posterior, units, sums)
        return sums

    # From statistics to distributions

    def _parts(self, statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Number of steps, sums and sums of squares of each column, (..., D, K) each."""
        n = self.n_columns
        return (
            np.maximum(statistics[..., :n, :], 0.0),
            statistics[..., n : 2 * n, :],
            statistics[..., 2 * n :, :],
        )

    def _posterior(self, statistics: np.ndarray) -> Posterior:
        count, total, squares = self._parts(statistics)
        prior, m = self.prior, self.prior.mean[:, None]
        precision = prior.mean_precision + count
        mean = (prior.mean_precision * m + total) / precision
        average = total / np.maximum(count, _FEWEST)
        # Sums of squares around the average, which rounding may make negative.
        scatter = np.maximum(squares - total * average, 0.0)
        scatter = scatter + prior.mean_precision * count / precision * (average - m) ** 2
        degrees, scale = prior.degrees_of_freedom + count, prior.scale[:, None] + scatter
        if self.is_spherical:
            shape = count.shape
            degrees = prior.degrees_of_freedom + count.sum(axis=-2, keepdims=True)
            scale = prior.scale[0] + scatter.sum(axis=-2, keepdims=True)
            degrees, scale = np.broadcast_to(degrees, shape), np.broadcast_to(scale, shape)
        return Posterior(mean, precision, degrees, scale)

    def most_likely(self, statistics: np.ndarray, kept: Point | None = None) -> Point:
        if self.prior.is_given:
            found = self._posterior(statistics)
            # The density of mean and precision has its peak here.
            n_means = self.n_columns if self.is_spherical else 1
            degrees = np.maximum(found.degrees - 2.0 + n_means, _FEWEST)
            return self._floored(Point(found.mean, found.scale / degrees))
        count, total, squares = self._parts(statistics)
        means = total / np.maximum(count, _FEWEST)
        scatter, n_seen = np.maximum(squares - total * means, 0.0), count
        if self.is_spherical:
            scatter, n_seen = scatter.sum(axis=-2, keepdims=True), count.sum(axis=-2, keepdims=True)
        variances = scatter / np.maximum(n_seen, _FEWEST)
        if kept is None:
            kept = Point(np.zeros_like(means), np.ones_like(means))
        # One value that is seen in any column tells of a variance that all of them share.
        variances = np.where(n_seen > _FEWEST, variances, kept.variances)
        return self._floored(Point(np.where(count > _FEWEST, means, kept.means), variances))

    def _floored(self, point: Point) -> Point:
        return point._replace(variances=np.maximum(point.variances, self.prior.floor))

    def mean(self, statistics: np.ndarray) -> Point:
        found = self._posterior(statistics)
        return Point(found.mean, found.scale / found.degrees)

    def draw(self, statistics: np.ndarray, rng: np.random.Generator) -> Point:
        found = self._posterior(statistics)
        degrees, scale = found.degrees, found.scale
        if self.is_spherical:
            degrees, scale = degrees[:1], scale[:1]
        precision = rng.standard_gamma(0.5 * degrees) / (0.5 * scale)
        variances = np.broadcast_to(1.0 / precision, found.mean.shape)
        means = found.mean + rng.standard_normal(found.mean.shape) * np.sqrt(
            variances / found.precision
        )
        return Point(means, variances)

    # Scores

    @property
    def _log_scales(self) -> np.ndarray:
        """What standard units take off the log density of each column, (D, 1)."""
        return np.log(self.units.scale)[:, None]

    def at(self, point: Point) -> Scores:
        constants = -0.5 * np.log(2.0 * np.pi * point.variances) - self._log_scales
        return NormalScores(constants[None], point.means[None], 1.0 / point.variances[None])

    def expected(self, statistics: np.ndarray) -> Scores:
        found = self._posterior(statistics)
        log_precision = digamma(0.5 * found.degrees) - np.log(0.5 * found.scale)
        constants = 0.5 * (log_precision - math.log(2.0 * math.pi) - 1.0 / found.precision)
        constants = constants - self._log_scales
        return NormalScores(constants[None], found.mean[None], (found.degrees / found.scale)[None])

    def predictive(self, statistics: np.ndarray) -> Scores:
        if statistics.ndim == 2:
            statistics = statistics[None]
        found = self._posterior(statistics)
        squares = found.scale * (1.0 + 1.0 / found.precision)
        constants = -0.5 * np.log(np.pi * squares) - self._log_scales
        if not self.is_spherical:
            half = 0.5 * found.degrees
            if (half[:, :1] == half).all():
                # Where nothing is missing all columns have as many steps.
                half = half[:, :1]
            constants = constants + (gammaln(half + 0.5) - gammaln(half))
        return StudentScores(constants, found.mean, squares, found.degrees, self.is_spherical)

    # Objectives

    def divergence(self, statistics: np.ndarray) -> float:
        found, prior = self._posterior(statistics), self.prior
        ratio = prior.mean_precision / found.precision
        off = found.mean - prior.mean[:, None]
        expected_precision = found.degrees / found.scale
        of_means = 0.5 * (
            ratio - np.log(ratio) - 1.0 + prior.mean_precision * expected_precision * off**2
        )
        a, b = 0.5 * found.degrees, 0.5 * found.scale
        a_0, b_0 = 0.5 * prior.degrees_of_freedom, 0.5 * prior.scale[:, None]
        of_precisions = (
            (a - a_0) * digamma(a)
            - gammaln(a)
            + gammaln(a_0)
            + a_0 * np.log(b / b_0)
            + a * (b_0 - b) / b
        )
        if self.is_spherical:
            of_precisions = of_precisions[0]
        return float(of_means.sum() + of_precisions.sum())

    def log_evidence(self, statistics: np.ndarray) -> float:
        found, prior = self._posterior(statistics), self.prior
        count = self._parts(statistics)[0]
        of_means = 0.5 * np.log(prior.mean_precision / found.precision) - count * (
            0.5 * math.log(math.pi) + self._log_scales
        )
        a, a_0 = 0.5 * found.degrees, 0.5 * prior.degrees_of_freedom
        of_precisions = (
            gammaln(a) - gammaln(a_0) + a_0 * np.log(prior.scale[:, None]) - a * np.log(found.scale)
        )
        if self.is_spherical:
            of_precisions = of_precisions[0]
        return float(of_means.sum() + of_precisions.sum())

    def log_prior(self, point: Point) -> float:
        prior = self.prior
        if not prior.is_given:
            return 0.0
        precision = 1.0 / point.variances
        off = point.means - prior.mean[:, None]
        of_means = 0.5 * (np.log(precision) - prior.mean_precision * precision * off**2)
        of_precisions = (0.5 * prior.degrees_of_freedom - 1.0) * np.log(precision)
        of_precisions = of_precisions - 0.5 * prior.scale[:, None] * precision
        if self.is_spherical:
            of_precisions = of_precisions[0]
        return float(of_means.sum() + of_precisions.sum())

    # In the units of the data

    def sample(self, point: Point, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        means, deviations = point.means.T[states], np.sqrt(point.variances.T[states])
        return self.units.data(means + deviations * rng.standard_normal(means.shape))

    def reordered(self, point: Point, order: np.ndarray) -> Point:
        return Point(*(np.take(table, order, axis=1) for table in point))

    def moments(self, point: Point) -> tuple[np.ndarray, np.ndarray]:
        return self.units.data(point.means.T), point.variances.T * self.units.scale**2

    def marginals(self, statistics: np.ndarray) -> dict[str, Any]:
        found = self._posterior(statistics)
        width = found.scale / (found.degrees * found.precision)
        return self.units.marginals(found.mean.T, width.T, found.degrees.T, found.scale.T)

    def attributes(self, point: Point) -> dict[str, Any]:
        means, variances = self.moments(point)
        covariances = variances[:, 0] if self.is_spherical else variances
        return {
            "means_": means,
            "covariances_": covariances,
            "precisions_": 1.0 / covariances,
            "precisions_cholesky_": 1.0 / np.sqrt(covariances),
        }
