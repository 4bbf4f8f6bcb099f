"""Families of regressions and autoregressions: in each state outputs are linear in inputs.
Coefficients and covariances have matrix-normal-Wishart posteriors, and scores are log densities of
outputs.

Given z = (1, inputs) outputs are N(B' z, inv(Lambda)). The precision matrix Lambda of a state has a
Wishart distribution with nu degrees of freedom and scale matrix inv(Psi), B given Lambda a
matrix-normal one: its rows have the precision matrix K = diag(kappa, c, c, ...), its columns the
covariance inv(Lambda). Where covariances are tied, Lambda is one for all states, and each has a B
given it. Inputs and outputs are in standard units.

Statistics are those of a full Gaussian over inputs and outputs w = (x, y), and so are posteriors.
Where the normal-Wishart posterior of w, under the prior scale diag(c, ..., Psi), has the sums of
squares S = L L', whose blocks are S_xx, S_xy, S_yy,

- B's slopes are expected to be inv(S_xx) S_xy, and Psi becomes S_yy - S_yx inv(S_xx) S_xy;
- |inv(L) (w - m)|^2 is (x - m_x)' inv(S_xx) (x - m_x), the first rows, plus the residual's own
  (y - B' z)' inv(Psi) (y - B' z): kernels of Gaussians score regressions. A tied Psi, in which
  what states add to the prior's is summed, takes the place of the last block of L L'.

Rossi, Allenby and McCulloch (2005), "Bayesian statistics and marketing", section 2.8.
"""

import math
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from sklearn_cvb.emissions import emission
from sklearn_cvb.emissions.emission import MIN_STEPS, Family, Observations, StandardUnits, Tails
from sklearn_cvb.emissions.gaussian_columns import NormalPrior
from sklearn_cvb.emissions.gaussian_matrices import (
    GaussianMatrices,
    cholesky,
    clip_variances,
    covariances_from_user,
    draw_covariances,
    expected_log_determinant,
    log_determinants,
    states_last,
    wishart_divergence,
    wishart_evidence,
)
from sklearn_cvb.kernels.emission import parabolas, second_moments
from sklearn_cvb.kernels.special import bit_buffer, log_of

# A start tries this many random clusters, and sorts this many steps this many times.
_TRIALS, _SWEEPS = 5, 10
# EM learns no slope along what varies less than this, in standard units.
CONSTANT = 1e-10


class LinearPoint(NamedTuple):
    """Intercepts (K, D), slopes (K, I, D) and covariances (K, D, D), in standard units."""

    intercepts: np.ndarray
    coefficients: np.ndarray
    covariances: np.ndarray


class MatrixNormalWishart(NamedTuple):
    """Matrix-normal-Wishart distributions, a state a row; units may come before states."""

    inputs: np.ndarray  # (K, I), m_x
    outputs: np.ndarray  # (K, D), m_y, expected where inputs are m_x
    precision: np.ndarray  # (K,), as if that had been seen so often
    factors: np.ndarray  # (K, I + D, I + D), inv(L)
    coefficients: np.ndarray  # (K, I, D), expected slopes
    degrees: np.ndarray  # (K,), the same of all where covariances are tied
    scale: np.ndarray  # (K, D, D), the same


class RegressionScores(NamedTuple):
    """constant - |L (w - mean)|^2 / 2 for w = (inputs, outputs)."""

    constants: np.ndarray  # (n_units, K)
    means: np.ndarray  # (n_units, I + D, K)
    factors: np.ndarray  # (n_units, I + D, I + D, K), as `parabolas` takes them

    def fill(self, observations: Observations, units: np.ndarray, out: np.ndarray) -> None:
        parabolas(observations.values, units, tuple(self), -0.5, out)
        if observations.observed is not None:
            out[~observations.observed[:, 0]] = 0.0


class RegressionStudentScores(NamedTuple):
    """Student's t of outputs, which is wider the farther inputs are from those seen.

    Log densities are constant + a log h - b log(h + r), where h and h + r are parabolas of the
    inputs and of all columns, a is half the degrees of freedom, and b - a half the number of
    outputs.
    """

    constants: np.ndarray  # (n_units, K)
    least: np.ndarray  # (n_units, K), of h
    means: np.ndarray
    factors: np.ndarray
    degrees: np.ndarray  # (n_units, K)

    def fill(self, observations: Observations, units: np.ndarray, out: np.ndarray) -> None:
        values, inputs = observations.values, observations.features
        n = inputs.shape[1]
        of_inputs = np.empty_like(out)
        own = np.ascontiguousarray(self.means[:, :n]), np.ascontiguousarray(self.factors[:, :n, :n])
        parabolas(inputs, units, (self.least, *own), 1.0, of_inputs)
        parabolas(values, units, (self.least, self.means, self.factors), 1.0, out)
        for table in (of_inputs, out):
            log_of(table.reshape(-1), bit_buffer())
        half = 0.5 * self.degrees
        out *= -emission.per_step(half + 0.5 * (values.shape[1] - n), units)
        out += emission.per_step(half, units) * of_inputs + emission.per_step(self.constants, units)
        # Both logs of a step that is too far for float64 are infinite.
        out[np.isnan(out)] = -np.inf
        if observations.observed is not None:
            out[~observations.observed[:, 0]] = 0.0


def least_squares(squares: np.ndarray, across: np.ndarray) -> np.ndarray:
    """Slopes (K, I, D) from variances of inputs and their covariances with outputs."""
    values, vectors = np.linalg.eigh(squares)
    inverses = np.where(values > CONSTANT, 1.0 / np.maximum(values, CONSTANT), 0.0)
    slopes: np.ndarray = vectors @ (inverses[:, :, None] * (np.swapaxes(vectors, 1, 2) @ across))
    return slopes


def _pooled(own: np.ndarray, prior: Any, axis: int) -> np.ndarray:
    """What states have learned beyond the prior, summed over all of them."""
    return np.broadcast_to(prior + (own - prior).sum(axis=axis, keepdims=True), own.shape)


class RegressionFamily(Family):
    """Outputs given inputs, which `columns` lists: first inputs, then outputs."""

    states_axis = 0

    def __init__(
        self,
        prior: NormalPrior,
        units: StandardUnits,
        columns: np.ndarray,
        n_inputs: int,
        n_states: int,
        is_tied: bool,
    ) -> None:
        self.joint: GaussianMatrices = GaussianMatrices(prior, units, n_states, False)
        self.columns = columns
        self.n_inputs = n_inputs
        n = len(units.scale) - n_inputs
        self.n_outputs: int = n
        # Of the outputs alone.
        self.prior: NormalPrior = prior._replace(scale=prior.scale[n_inputs:, n_inputs:])
        self.of_inputs: StandardUnits = StandardUnits(*(table[:n_inputs] for table in units))
        self.of_outputs: StandardUnits = StandardUnits(*(table[n_inputs:] for table in units))
        self.log_scale: float = float(np.log(self.of_outputs.scale).sum())
        self.n_states = n_states
        self.n_columns: int = len(columns)
        self.covariate_columns: np.ndarray = columns[:n_inputs]
        self.output_columns: np.ndarray = columns[n_inputs:]
        self.n_statistics: int = self.joint.n_statistics
        self.is_tied = is_tied
        # Of tables that have a precision a state, those that differ.
        self.own: slice = slice(1 if is_tied else n_states)
        of_precisions = self.own.stop * n * (n + 1) // 2
        self.n_parameters: int = n_states * n * (n_inputs + 1) + of_precisions

    def read(self, table: np.ndarray) -> Observations:
        return self._read_joint(table[:, self.columns])

    def _read_joint(self, table: np.ndarray) -> Observations:
        """Steps of inputs and outputs, all of which are there or the step is missing."""
        values, observed = emission.values_and_mask(self.joint.units.to_standard(table))
        if observed is not None:
            whole = observed.all(axis=1, keepdims=True)
            values, observed = values * whole, np.repeat(whole, values.shape[1], axis=1)
        return Observations(values, observed, np.ascontiguousarray(values[:, : self.n_inputs]))

    def statistics(
        self,
        observations: Observations,
        posterior: np.ndarray,
        units: np.ndarray,
        scores: Any = None,
    ) -> np.ndarray:
        sums = np.zeros((len(units) - 1, self.n_statistics, self.n_states))
        if observations.observed is not None:
            posterior = posterior * observations.observed[:, :1]
        second_moments(observations.values, posterior, units, sums)
        return sums

    def starting_scores(
        self, sample: Observations, known: np.ndarray, rng: np.random.Generator
    ) -> RegressionScores:
        """Scores under lines to start from: k-means around lines (Spaeth 1979)."""
        n, identity = len(sample.values), np.eye(self.n_states)
        whole, scores, tried = np.array([0, n]), np.empty((n, self.n_states)), []
        for _ in range(_TRIALS):
            state = rng.integers(self.n_states, size=n)
            for _ in range(_SWEEPS):
                state = np.where(known >= 0, known, state)
                point = self.most_likely(self.statistics(sample, identity[state], whole)[0])
                self.log_densities(point).fill(sample, whole, scores)
                state = scores.argmax(axis=1)
            tried.append((float(scores.max(axis=1).sum()), point))
        return self.log_densities(max(tried, key=itemgetter(0))[1])

    # From statistics to distributions

    def posterior(self, statistics: np.ndarray) -> MatrixNormalWishart:
        found, i = self.joint.posterior(statistics), self.n_inputs
        lower, degrees = cholesky(found.scale), found.degrees
        own, across = lower[..., i:, i:], lower[..., i:, :i]
        scale = own @ np.swapaxes(own, -1, -2)
        if self.is_tied:
            degrees = _pooled(degrees, self.prior.degrees_of_freedom, -1)
            scale = _pooled(scale, self.prior.scale, -3)
            lower[..., i:, i:] = cholesky(scale[..., :1, :, :])
        inverse = np.linalg.inv(lower)
        slopes = np.swapaxes(across @ inverse[..., :i, :i], -1, -2)
        means = found.mean[..., :i], found.mean[..., i:]
        return MatrixNormalWishart(*means, found.precision, inverse, slopes, degrees, scale)

    def _at_zero(self, inputs: np.ndarray, outputs: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Intercepts of lines through these inputs and outputs."""
        return outputs - np.einsum("ki,kid->kd", inputs, slopes)

    def most_likely(self, statistics: np.ndarray, before: LinearPoint | None = None) -> LinearPoint:
        n, i = self.n_outputs, self.n_inputs
        if self.prior.is_given:
            posterior = self.posterior(statistics)
            # The density of coefficients and precisions has its peak here.
            n_lines = self.n_states if self.is_tied else 1
            degrees = posterior.degrees - n - 1.0 + n_lines * (i + 1.0)
            degrees = np.maximum(degrees, MIN_STEPS)[:, None, None]
            intercepts = self._at_zero(posterior.inputs, posterior.outputs, posterior.coefficients)
            covariances = clip_variances(posterior.scale / degrees, self.prior.floor)
            return LinearPoint(intercepts, posterior.coefficients, covariances)
        count, means, scatter = self.joint.scatter(statistics)
        shares = scatter / np.maximum(count, MIN_STEPS)[:, None, None]
        slopes = least_squares(shares[:, :i, :i], shares[:, :i, i:])
        intercepts = self._at_zero(means[:, :i], means[:, i:], slopes)
        identities = np.tile(np.eye(n), (self.n_states, 1, 1))
        point = LinearPoint(intercepts, slopes, identities)
        point = point._replace(covariances=self._covariances(statistics, point))
        if before is None:
            before = LinearPoint(np.zeros_like(intercepts), np.zeros_like(slopes), identities)
        return self._where_seen(count, point, before)

    def _where_seen(
        self, count: np.ndarray, point: LinearPoint, before: LinearPoint
    ) -> LinearPoint:
        """A point, but for states without steps, which keep what they had before."""
        seen = count > MIN_STEPS
        # Whoever has steps tells of a covariance that all states share.
        of_noise = seen | (self.is_tied and seen.any())
        for table, old, own in zip(point, before, (seen, seen, of_noise), strict=True):
            table[~own] = old[~own]
        return point

    def _covariances(self, statistics: np.ndarray, point: LinearPoint) -> np.ndarray:
        """The most likely ones of residuals under a point, (K, D, D)."""
        residuals, count = self._residuals(statistics, point), np.maximum(statistics[0], 0.0)
        if self.is_tied:
            residuals, count = _pooled(residuals, 0.0, 0), _pooled(count, 0.0, 0)
        seen = np.maximum(count, MIN_STEPS)[:, None, None]
        return clip_variances(residuals / seen, self.prior.floor)

    def _residuals(self, statistics: np.ndarray, point: LinearPoint) -> np.ndarray:
        """Sums of products of residuals under a point, (K, D, D)."""
        count, means, scatter = self.joint.scatter(statistics)
        identities = np.tile(np.eye(self.n_outputs), (self.n_states, 1, 1))
        contrast = np.concatenate([-np.swapaxes(point.coefficients, 1, 2), identities], axis=2)
        off = np.einsum("kdw,kw->kd", contrast, means) - point.intercepts
        found: np.ndarray = contrast @ scatter @ np.swapaxes(contrast, 1, 2)
        return found + count[:, None, None] * off[:, :, None] * off[:, None, :]

    def mean(self, statistics: np.ndarray) -> LinearPoint:
        posterior = self.posterior(statistics)
        intercepts = self._at_zero(posterior.inputs, posterior.outputs, posterior.coefficients)
        return LinearPoint(
            intercepts, posterior.coefficients, posterior.scale / posterior.degrees[:, None, None]
        )

    def draw(self, statistics: np.ndarray, rng: np.random.Generator) -> LinearPoint:
        posterior, i = self.posterior(statistics), self.n_inputs
        own = posterior.degrees[self.own], posterior.scale[self.own]
        covariances = np.broadcast_to(draw_covariances(*own, rng), posterior.scale.shape)
        across = np.swapaxes(cholesky(covariances), 1, 2)
        noise = rng.standard_normal((self.n_states, i + 1, self.n_outputs))
        along = np.swapaxes(posterior.factors[:, :i, :i], 1, 2)
        slopes = posterior.coefficients + along @ noise[:, 1:] @ across
        level = (noise[:, :1] @ across)[:, 0] / np.sqrt(posterior.precision)[:, None]
        return LinearPoint(
            self._at_zero(posterior.inputs, posterior.outputs + level, slopes), slopes, covariances
        )

    # Scores

    def log_densities(self, point: LinearPoint) -> RegressionScores:
        lower, i = cholesky(point.covariances), self.n_inputs
        inverse = np.linalg.inv(lower)
        factors = np.zeros((self.n_states, i + self.n_outputs, i + self.n_outputs))
        factors[:, i:, i:] = inverse
        factors[:, i:, :i] = -inverse @ np.swapaxes(point.coefficients, 1, 2)
        means = np.pad(point.intercepts, ((0, 0), (i, 0)))
        constants = -0.5 * (log_determinants(lower) + self.n_outputs * math.log(2.0 * math.pi))
        return self._scores(constants, means, factors)

    def _scores(
        self, constants: np.ndarray, means: np.ndarray, factors: np.ndarray
    ) -> RegressionScores:
        """Scores from constants, means and factors, a state a row."""
        tables = means, factors
        last = (np.ascontiguousarray(np.moveaxis(table, 0, -1))[None] for table in tables)
        return RegressionScores((constants - self.log_scale)[None], *last)

    def expected_log_densities(self, statistics: np.ndarray) -> RegressionScores:
        posterior, n, i = self.posterior(statistics), self.n_outputs, self.n_inputs
        log_det = expected_log_determinant(posterior.degrees, cholesky(posterior.scale))
        constants = 0.5 * (log_det - n * math.log(2.0 * math.pi) - n / posterior.precision)
        # What is not known of slopes and intercepts costs the more the farther inputs are.
        roots = np.full((self.n_states, i + n), math.sqrt(n))
        roots[:, i:] = np.sqrt(posterior.degrees)[:, None]
        means = np.concatenate([posterior.inputs, posterior.outputs], axis=1)
        return self._scores(constants, means, roots[:, :, None] * posterior.factors)

    def predictive(self, statistics: np.ndarray) -> RegressionStudentScores:
        statistics = np.ascontiguousarray(emission.by_unit(statistics))
        n, count = self.n_outputs, np.maximum(statistics[:, 0], 0.0)
        degrees = self.prior.degrees_of_freedom + count - n + 1.0
        if self.is_tied:
            found = self.posterior(statistics)
            means = states_last(np.concatenate([found.inputs, found.outputs], axis=-1), 1)
            factors, degrees = states_last(found.factors, 2), found.degrees - n + 1.0
        else:
            means, factors, _ = self.joint.factors(statistics)
        own = np.arange(self.n_inputs, self.n_inputs + n)
        constants = (
            gammaln(0.5 * (degrees + n))
            - gammaln(0.5 * degrees)
            + np.log(factors[:, own, own]).sum(axis=1)
            - 0.5 * n * math.log(math.pi)
            - self.log_scale
        )
        least = 1.0 + 1.0 / (self.prior.mean_precision + count)
        return RegressionStudentScores(constants, least, means, factors, degrees)

    # Objectives

    def _log_precision(self, posterior: MatrixNormalWishart) -> np.ndarray:
        """Half of how much more log |K| is than the prior's, by output, (K,)."""
        i, own = self.n_inputs, self.prior.mean_precision
        log_det = -log_determinants(posterior.factors[:, :i, :i]) + np.log(posterior.precision)
        return 0.5 * (log_det - (i + 1) * math.log(own))

    def divergence(self, statistics: np.ndarray) -> float:
        posterior, i, n = self.posterior(statistics), self.n_inputs, self.n_outputs
        own = self.prior.mean_precision
        along = posterior.factors[:, :i, :i]
        at_centre = np.einsum("kij,kj->ki", along, posterior.inputs)
        # The trace of the prior's K times the inverse of the posterior's.
        squares = (at_centre**2).sum(axis=1), (along**2).sum((1, 2))
        trace = own * (1.0 / posterior.precision + squares[0] + squares[1])
        intercepts = self._at_zero(posterior.inputs, posterior.outputs, posterior.coefficients)
        every = np.concatenate([intercepts[:, None], posterior.coefficients], axis=1)
        off = np.linalg.solve(cholesky(posterior.scale), np.swapaxes(every, 1, 2))
        distance = posterior.degrees * own * (off**2).sum(axis=(1, 2))
        of_coefficients = n * self._log_precision(posterior)
        of_coefficients += 0.5 * (n * (trace - i - 1) + distance)
        of_precisions = wishart_divergence(posterior.degrees, posterior.scale, self.prior)
        return float(of_coefficients.sum() + of_precisions[self.own].sum())

    def log_evidence(self, statistics: np.ndarray) -> float:
        posterior, n = self.posterior(statistics), self.n_outputs
        count = np.maximum(statistics[0], 0.0)
        of_steps = -count * (0.5 * n * math.log(math.pi) + self.log_scale)
        of_coefficients = of_steps - n * self._log_precision(posterior)
        of_precisions = wishart_evidence(posterior.degrees, posterior.scale, self.prior)
        return float(of_coefficients.sum() + of_precisions[self.own].sum())

    def log_prior(self, point: LinearPoint) -> float:
        prior, n = self.prior, self.n_outputs
        if not prior.is_given:
            return 0.0
        lower = cholesky(point.covariances)
        inverses, log_det = np.linalg.inv(lower), -log_determinants(lower)
        every = np.concatenate([point.intercepts[:, None], point.coefficients], axis=1)
        precisions = np.swapaxes(inverses, 1, 2) @ inverses
        squares = prior.mean_precision * np.swapaxes(every, 1, 2) @ every
        of_lines = (self.n_inputs + 1.0) * log_det - (precisions * squares).sum((1, 2))
        of_precisions = (prior.degrees_of_freedom - n - 1.0) * log_det
        of_precisions = of_precisions - (precisions * prior.scale).sum((1, 2))
        return float(0.5 * (of_lines.sum() + of_precisions[self.own].sum()))

    def log_likelihood(self, statistics: np.ndarray, point: LinearPoint) -> float:
        lower, count = cholesky(point.covariances), np.maximum(statistics[0], 0.0)
        log_det = log_determinants(lower) + self.n_outputs * math.log(2.0 * math.pi)
        residuals = self._residuals(statistics, point)
        distance = np.einsum("kij,kji->", np.linalg.inv(point.covariances), residuals)
        return float((-count * (0.5 * log_det + self.log_scale)).sum() - 0.5 * distance)

    # In the units of the data

    def point_from(self, parameters: dict[str, Any]) -> LinearPoint:
        n, k, of = self.n_outputs, self.n_states, self.of_outputs
        slopes = emission.table_in(parameters, "coefficients", (k, self.n_inputs, n))
        intercepts = emission.table_in(parameters, "intercepts", (k, n))
        at_centre = intercepts + np.einsum("i,kid->kd", self.of_inputs.centre, slopes)
        slopes = slopes * self.of_inputs.scale[:, None] / of.scale
        covariances = np.tile(np.eye(n), (k, 1, 1))
        if "covariances" in parameters:
            shape = (n, n) if self.is_tied else (k, n, n)
            tables = covariances_from_user(parameters, shape) / np.outer(of.scale, of.scale)
            covariances = np.broadcast_to(tables, (k, n, n)).copy()
        return LinearPoint(of.to_standard(at_centre), slopes, covariances)

    def attributes(self, point: LinearPoint) -> dict[str, Any]:
        of = self.of_outputs
        slopes = point.coefficients * of.scale / self.of_inputs.scale[:, None]
        from_centre = np.einsum("i,kid->kd", self.of_inputs.centre, slopes)
        covariances = point.covariances * np.outer(of.scale, of.scale)
        return {
            "intercepts_": of.to_data(point.intercepts) - from_centre,
            "coefficients_": slopes,
            "covariances_": covariances[0] if self.is_tied else covariances,
        }

    def marginals(self, statistics: np.ndarray) -> dict[str, Any]:
        from scipy.stats import invgamma, t

        posterior, i, of = self.posterior(statistics), self.n_inputs, self.of_outputs
        shown = self.attributes(self.mean(statistics))
        # What a Wishart and a matrix of Student's t say of one output.
        degrees = posterior.degrees[:, None] - self.n_outputs + 1.0
        squares = np.diagonal(posterior.scale, axis1=-2, axis2=-1)
        variances = squares / degrees * of.scale**2
        along = posterior.factors[:, :i, :i]
        off = self.of_inputs.to_standard(np.zeros(i)) - posterior.inputs
        zero = np.einsum("kij,kj->ki", along, off)
        at_zero = 1.0 / posterior.precision + (zero**2).sum(axis=1)
        of_slopes = (along**2).sum(axis=1) / self.of_inputs.scale**2
        return {
            "intercepts": t(degrees, shown["intercepts_"], np.sqrt(at_zero[:, None] * variances)),
            "coefficients": t(
                degrees[:, None],
                shown["coefficients_"],
                np.sqrt(of_slopes[:, :, None] * variances[:, None]),
            ),
            "variances": invgamma(0.5 * degrees, scale=0.5 * squares * of.scale**2),
        }

    def sample(
        self, point: LinearPoint, states: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        raise ValueError(
            "Regression says what outputs follow from inputs, and not what inputs there are: "
            "nothing can be drawn but by predict_next(X, inputs=...)"
        )

    def moments(self, point: LinearPoint) -> tuple[np.ndarray, np.ndarray]:
        raise ValueError("outputs have means given inputs alone: see `forecast_means`")

    def observed_mask(self, observations: Observations) -> np.ndarray:
        shape = len(observations.values), self.n_columns
        if observations.observed is None:
            return np.ones(shape, bool)
        return np.broadcast_to(observations.observed[:, :1], shape)

    def tails(self, point: LinearPoint, observations: Observations) -> Tails:
        """Of outputs given inputs; NaN of inputs."""
        from scipy.stats import norm

        values, n = observations.values, self.n_inputs
        means = np.einsum("ti,kid->tkd", values[:, :n], point.coefficients) + point.intercepts
        widths = np.sqrt(np.diagonal(point.covariances, axis1=1, axis2=2))
        off = (values[:, None, n:] - means) / widths
        tables = np.full((2, *off.shape[:2], self.n_columns), np.nan)
        tables[..., self.output_columns] = norm.cdf(off), norm.sf(off)
        return Tails(tables[0], tables[0], tables[1], tables[1])

    def _drawn(
        self, point: LinearPoint, states: np.ndarray, inputs: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Outputs (n_steps, D) given inputs (n_steps, I), in standard units."""
        means = np.einsum("ti,tid->td", inputs, point.coefficients[states])
        means += point.intercepts[states]
        noise = rng.standard_normal(means.shape)
        return means + np.einsum("tij,tj->ti", cholesky(point.covariances)[states], noise)

    def sample_forecasts(
        self, point: LinearPoint, states: np.ndarray, table: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        found, inputs = table.copy(), self.of_inputs.to_standard(table[..., self.covariate_columns])
        drawn = self._drawn(point, states.ravel(), inputs.reshape(-1, self.n_inputs), rng)
        found[..., self.output_columns] = self.of_outputs.to_data(drawn).reshape(*states.shape, -1)
        return found

    def forecast_means(
        self, point: LinearPoint, proba: np.ndarray, moves: list[np.ndarray], table: np.ndarray
    ) -> np.ndarray:
        found, inputs = table.copy(), self.of_inputs.to_standard(table[..., self.covariate_columns])
        means = point.intercepts + np.einsum("nti,kid->ntkd", inputs, point.coefficients)
        outputs = np.einsum("ntk,ntkd->ntd", proba, means)
        found[..., self.output_columns] = self.of_outputs.to_data(outputs)
        return found


class AutoRegressiveFamily(RegressionFamily):
    """Steps given those before them: inputs are lag 1 of all columns, then lag 2, and so on."""

    # Noise hides which line a single step is near.
    starting_scores: Any = None

    def __init__(
        self, prior: NormalPrior, units: StandardUnits, order: int, n_states: int, is_tied: bool
    ) -> None:
        n = len(units.scale)
        every = StandardUnits(*(np.tile(table, order + 1) for table in units))
        super().__init__(prior, every, np.arange(n * (order + 1)), n * order, n_states, is_tied)
        self.order: int = order
        self.n_columns: int = n
        self.covariate_columns, self.output_columns = np.empty(0, np.intp), np.arange(n)

    def read(self, table: np.ndarray) -> Observations:
        return self.read_sequences(table, np.array([0, len(table)]))

    def read_sequences(self, table: np.ndarray, starts: np.ndarray) -> Observations:
        position = np.arange(len(table)) - np.repeat(starts[:-1], np.diff(starts))
        lags = []
        for lag in range(1, self.order + 1):
            before = np.roll(table, lag, axis=0)
            before[position < lag] = np.nan
            lags.append(before)
        return self._read_joint(np.hstack([*lags, table]))

    def sample(
        self, point: LinearPoint, states: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        before = np.tile(self.of_outputs.centre, (1, self.order + len(states), 1))
        return self.sample_forecasts(point, states[None], before, rng)[0]

    def sample_forecasts(
        self, point: LinearPoint, states: np.ndarray, table: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        steps = self.of_outputs.to_standard(table)
        for t in range(states.shape[1]):
            last = steps[:, t : t + self.order][:, ::-1].reshape(len(steps), -1)
            steps[:, self.order + t] = self._drawn(point, states[:, t], last, rng)
        return self.of_outputs.to_data(steps[:, self.order :])

    def forecast_means(
        self, point: LinearPoint, proba: np.ndarray, moves: list[np.ndarray], table: np.ndarray
    ) -> np.ndarray:
        """By the means of the last steps in each state, times its probability."""
        past = self.of_outputs.to_standard(table[:, : self.order])[:, ::-1]
        last = proba[:, 0, :, None] * past.reshape(len(past), 1, -1)
        means = []
        for t in range(proba.shape[1]):
            if t:
                last = np.einsum("nki,kj->nji", last, moves[t])
            now = proba[:, t, :, None] * point.intercepts
            now = now + np.einsum("nki,kid->nkd", last, point.coefficients)
            means.append(now.sum(axis=1))
            last = np.concatenate([now, last[..., : -self.n_columns]], axis=2)
        return self.of_outputs.to_data(np.stack(means, axis=1))
