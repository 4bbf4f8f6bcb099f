"""Gaussian emissions with covariance matrices: Normal-Wishart posteriors, all in standard units,
and partly missing steps, which are scored pattern by pattern of missing columns.

The precision matrix of a state has a Wishart distribution with nu degrees of freedom and scale
matrix inv(Psi), its mean is N(m, inv(kappa Lambda)); with a tied covariance Lambda is one for all
states.

A step of which some columns are missing is scored by the marginal density of the others, which is
exact. What a state learns from is the conditional expectation of its moments given what is observed
(EM; in VB and CVB the missing values are inferred as the states are), or a draw (Gibbs). Steps with
the same columns missing share a pattern and its matrices.

Beal (2003), appendix A; Murphy (2007), "Conjugate Bayesian analysis of the Gaussian distribution".
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, multigammaln

from sklearn_cvb.emissions import emission
from sklearn_cvb.emissions.emission import MIN_STEPS, Observations
from sklearn_cvb.emissions.gaussian_columns import GaussianFamily, NormalPrior
from sklearn_cvb.kernels.emission import normal_wishart, parabolas, second_moments
from sklearn_cvb.kernels.special import bit_buffer, log_of

# Features of a step that is whole, or missing as a whole; a partly missing one has its pattern.
WHOLE = -1.0


class MatricesPoint(NamedTuple):
    """Means (K, D) and covariances (K, D, D) of each state, in standard units."""

    means: np.ndarray
    covariances: np.ndarray


class NormalWishart(NamedTuple):
    """Normal-Wishart distributions: (..., K, D), (..., K), (..., K) and (..., K, D, D)."""

    mean: np.ndarray
    precision: np.ndarray
    degrees: np.ndarray
    scale: np.ndarray


class MatrixScores(NamedTuple):
    """constant - distance / 2, or log densities of Student's t."""

    constants: np.ndarray  # (n_units, K)
    means: np.ndarray  # (n_units, D, K)
    factors: np.ndarray  # (n_units, D, D, K), as `parabolas` takes them
    exponents: np.ndarray | None  # (n_units, K), of 1 + distance, for Student's t
    log_scales: np.ndarray  # (D,), which standard units take off log densities

    def fill(self, observations: Observations, units: np.ndarray, out: np.ndarray) -> None:
        values, means, factors = observations.values, self.means, self.factors
        if self.exponents is None:
            parabolas(values, units, (self.constants, means, factors), -0.5, out)
        else:
            ones = np.ones_like(self.constants)
            parabolas(values, units, (ones, means, factors), 1.0, out)
            log_of(out.reshape(-1), bit_buffer())
            out *= emission.per_step(self.exponents, units)
            out += emission.per_step(self.constants, units)
        if observations.observed is not None:
            out[~observations.observed.any(axis=1)] = 0.0
        if (observations.features != WHOLE).any():
            fill_partly_missing(self, observations, units, out)


def states_last(table: np.ndarray, n_axes: int) -> np.ndarray:
    """(units, K, D ...) as (units, D ..., K); `n_axes` says how many axes follow K."""
    if table.ndim == n_axes + 1:
        table = table[None]
    return np.ascontiguousarray(np.moveaxis(table, 1, -1))


def cholesky(matrices: np.ndarray) -> np.ndarray:
    """Lower triangular factors; rounding that leaves a matrix singular gets a small ridge."""
    try:
        return np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        size = np.trace(matrices, axis1=-2, axis2=-1)[..., None, None] / matrices.shape[-1]
        values, vectors = np.linalg.eigh(matrices)
        values = np.maximum(values, 1e-14 * size[..., 0])
        repaired = (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)
        return np.linalg.cholesky(repaired + 1e-14 * size * np.eye(matrices.shape[-1]))


def log_determinants(factors: np.ndarray) -> np.ndarray:
    """Log determinants of matrices with these Cholesky factors."""
    return 2.0 * np.log(np.diagonal(factors, axis1=-2, axis2=-1)).sum(axis=-1)


# Wishart distributions of precision matrices, by degrees of freedom nu and scale matrix inv(Psi)


def draw_covariances(
    degrees: np.ndarray, scale: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Covariances (K, D, D) whose inverses are drawn from Wishart distributions."""
    covariances, n = np.empty_like(scale), scale.shape[-1]
    for k in range(len(scale)):
        # Bartlett: Lambda = inv(C).T A A.T inv(C) for Psi = C C.T, so inv(Lambda) = B B.T.
        bartlett = np.tril(rng.standard_normal((n, n)), -1)
        squares = rng.chisquare(degrees[k] - np.arange(n))
        bartlett[np.diag_indices(n)] = np.sqrt(squares)
        factor = np.linalg.solve(bartlett, cholesky(scale[k]).T)
        covariances[k] = factor.T @ factor
    return covariances


def expected_log_determinant(degrees: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """E[log |Lambda|] for factors of Psi (Beal 2003, appendix A)."""
    n = factors.shape[-1]
    halves = 0.5 * (degrees[..., None] - np.arange(n))
    return digamma(halves).sum(axis=-1) + n * math.log(2.0) - log_determinants(factors)


def wishart_divergence(nu: np.ndarray, scale: np.ndarray, prior: NormalPrior) -> np.ndarray:
    """KL divergence of posteriors from the prior's Wishart distribution, (..., K)."""
    n, nu_0 = scale.shape[-1], prior.degrees_of_freedom
    factors, factors_0 = cholesky(scale), cholesky(prior.scale)
    inverse = np.linalg.inv(factors)
    trace = nu * np.einsum("...ij,...ij->...", inverse @ prior.scale, inverse)
    return (
        0.5 * (nu - nu_0) * expected_log_determinant(nu, factors)
        + 0.5 * (trace - n * nu)
        + 0.5 * (nu * log_determinants(factors) - nu_0 * log_determinants(factors_0))
        - 0.5 * (nu - nu_0) * n * math.log(2.0)
        - multigammaln(0.5 * nu, n)
        + multigammaln(0.5 * nu_0, n)
    )


def wishart_evidence(nu: np.ndarray, scale: np.ndarray, prior: NormalPrior) -> np.ndarray:
    """What precisions add to the log evidence, (..., K)."""
    n, nu_0 = scale.shape[-1], prior.degrees_of_freedom
    return (
        multigammaln(0.5 * nu, n)
        - multigammaln(0.5 * nu_0, n)
        + 0.5 * nu_0 * log_determinants(cholesky(prior.scale))
        - 0.5 * nu * log_determinants(cholesky(scale))
    )


def clip_variances(covariances: np.ndarray, floor: float) -> np.ndarray:
    """No variance in any direction below the floor: maximum likelihood under that bound."""
    covariances = 0.5 * (covariances + np.swapaxes(covariances, -1, -2))
    values, vectors = np.linalg.eigh(covariances)
    if (values >= floor).all():
        return covariances
    values = np.maximum(values, floor)
    return (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)


def covariances_from_user(parameters: dict[str, Any], shape: tuple[int, ...]) -> np.ndarray:
    """Covariance matrices that a user gives, one axis of states in front."""
    tables = emission.table_in(parameters, "covariances", shape)
    tables = tables.reshape(-1, *shape[-2:])
    # Whatever the columns' units: rounding of large variances says nothing of small ones.
    widths = np.sqrt(np.abs(np.diagonal(tables, axis1=1, axis2=2)))
    widths = np.where(widths > 0, widths, 1.0)
    good = np.linalg.eigvalsh(tables / widths[:, :, None] / widths[:, None, :])[:, 0] > 0
    good &= np.isclose(tables, np.swapaxes(tables, 1, 2)).all(axis=(1, 2))
    emission.refuse_outside("covariances", tables, good, "must be symmetric and positive definite")
    return tables


class GaussianMatrices(GaussianFamily):
    """A covariance matrix for each state, or one for all (tied)."""

    has_matrices = True
    states_axis = 0

    def read(self, table: np.ndarray) -> Observations:
        values, observed = emission.values_and_mask(self.units.to_standard(table))
        if observed is None:
            return Observations(values, None, np.empty((len(values), 0)))
        patterns = np.full((len(values), 1), WHOLE)
        partly = observed.any(axis=1) & ~observed.all(axis=1)
        if partly.any():
            # Steps that lack the same columns share a number.
            _, found = np.unique(observed[partly], axis=0, return_inverse=True)
            patterns[partly, 0] = found.ravel()
        return Observations(values, observed, patterns)

    def statistics(
        self,
        observations: Observations,
        posterior: np.ndarray,
        units: np.ndarray,
        scores: Any = None,
    ) -> np.ndarray:
        sums = np.zeros((len(units) - 1, self.n_statistics, self.n_states))
        whole = posterior
        if observations.observed is not None:
            whole = posterior * observations.observed.all(axis=1, keepdims=True)
        second_moments(observations.values, whole, units, sums)
        if (observations.features != WHOLE).any():
            if scores is None:
                # Before anything is learned: as if columns were independent.
                n, k = self.n_columns, self.n_states
                point = MatricesPoint(np.zeros((k, n)), np.tile(np.eye(n), (k, 1, 1)))
                scores = self.log_densities(point)
            add_partly_missing(scores, observations, posterior, units, sums)
        return sums

    def impute(
        self,
        observations: Observations,
        scores: MatrixScores,
        states: np.ndarray,
        rng: np.random.Generator,
    ) -> Observations:
        if (observations.features == WHOLE).all():
            return observations
        return draw_partly_missing(scores, observations, states, rng)

    # From statistics to distributions

    def scatter(self, statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Number of steps (..., K), their average (..., K, D) and sums of products around it."""
        n = self.n_columns
        states_first = np.moveaxis(statistics, -1, -2)
        count, total = np.maximum(states_first[..., 0], 0.0), states_first[..., 1 : 1 + n]
        rows, columns = np.tril_indices(n)
        products = np.empty((*count.shape, n, n))
        products[..., rows, columns] = products[..., columns, rows] = states_first[..., 1 + n :]
        average = total / np.maximum(count, MIN_STEPS)[..., None]
        return count, average, products - total[..., :, None] * average[..., None, :]

    def posterior(self, statistics: np.ndarray) -> NormalWishart:
        prior = self.prior
        count, average, scatter = self.scatter(statistics)
        precision = prior.mean_precision + count
        weight = count[..., None]
        mean = (prior.mean_precision * prior.mean + weight * average) / precision[..., None]
        off = average - prior.mean
        shrunk = prior.mean_precision * count / precision
        scatter = scatter + shrunk[..., None, None] * off[..., :, None] * off[..., None, :]
        degrees, scale = prior.degrees_of_freedom + count, prior.scale + scatter
        if self.is_shared:
            degrees = prior.degrees_of_freedom + count.sum(axis=-1, keepdims=True)
            degrees = np.broadcast_to(degrees, count.shape)
            scale = prior.scale + scatter.sum(axis=-3, keepdims=True)
            scale = np.broadcast_to(scale, scatter.shape)
        return NormalWishart(mean, precision, degrees, scale)

    def recentred(self, statistics: np.ndarray, means: np.ndarray) -> np.ndarray:
        n, (rows, columns) = self.n_columns, np.tril_indices(self.n_columns)
        count, total, products = np.split(statistics, [1, 1 + n], axis=-2)
        centre = np.ascontiguousarray(means.T)
        off = total - count * centre
        products = products - centre[rows] * off[columns] - off[rows] * centre[columns]
        return np.concatenate([count, count * centre, products], axis=-2)

    def most_likely(
        self, statistics: np.ndarray, before: MatricesPoint | None = None
    ) -> MatricesPoint:
        n = self.n_columns
        if self.prior.is_given:
            posterior = self.posterior(statistics)
            # The density of means and precisions has its peak here; a tied precision has K means.
            degrees = posterior.degrees - n - 1.0 + (self.n_states if self.is_shared else 1.0)
            degrees = np.maximum(degrees, MIN_STEPS)[..., None, None]
            covariances = clip_variances(posterior.scale / degrees, self.prior.floor)
            return MatricesPoint(posterior.mean, covariances)
        count, means, scatter = self.scatter(statistics)
        n_seen = count
        if self.is_shared:
            scatter = np.broadcast_to(scatter.sum(axis=0), scatter.shape)
            n_seen = np.full_like(count, count.sum())
        covariances = scatter / np.maximum(n_seen, MIN_STEPS)[:, None, None]
        covariances = clip_variances(covariances, self.prior.floor)
        if before is None:
            before = MatricesPoint(np.zeros_like(means), np.tile(np.eye(n), (self.n_states, 1, 1)))
        seen = count > MIN_STEPS
        return MatricesPoint(
            np.where(seen[:, None], means, before.means),
            np.where((seen | self.is_shared)[:, None, None], covariances, before.covariances),
        )

    def mean(self, statistics: np.ndarray) -> MatricesPoint:
        posterior = self.posterior(statistics)
        return MatricesPoint(posterior.mean, posterior.scale / posterior.degrees[..., None, None])

    def draw(self, statistics: np.ndarray, rng: np.random.Generator) -> MatricesPoint:
        posterior, n = self.posterior(statistics), self.n_columns
        own = slice(1) if self.is_shared else slice(None)
        covariances = draw_covariances(posterior.degrees[own], posterior.scale[own], rng)
        covariances = np.broadcast_to(covariances, posterior.scale.shape)
        noise = rng.standard_normal((self.n_states, n, 1))
        off = (cholesky(covariances) @ noise)[..., 0] / np.sqrt(posterior.precision)[:, None]
        return MatricesPoint(posterior.mean + off, covariances)

    # Scores

    def _scores(self, constants: np.ndarray, mean: np.ndarray, factors: np.ndarray) -> MatrixScores:
        """Scores from (..., K) constants, means, and factors L with precision L'L."""
        return MatrixScores(
            np.atleast_2d(constants - self.log_scales.sum()),
            states_last(mean, 1),
            states_last(factors, 2),
            None,
            self.log_scales,
        )

    def log_densities(self, point: MatricesPoint) -> MatrixScores:
        factors = cholesky(point.covariances)
        constants = -0.5 * (log_determinants(factors) + self.n_columns * math.log(2.0 * math.pi))
        return self._scores(constants, point.means, np.linalg.inv(factors))

    def log_densities_under(self, posterior: NormalWishart) -> MatrixScores:
        """E[log p(x | theta)] under a posterior."""
        n = self.n_columns
        factors = cholesky(posterior.scale)
        constants = 0.5 * (
            expected_log_determinant(posterior.degrees, factors)
            - n * math.log(2.0 * math.pi)
            - n / posterior.precision
        )
        root = np.sqrt(posterior.degrees)[..., None, None]
        return self._scores(constants, posterior.mean, root * np.linalg.inv(factors))

    def factors(self, statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of units means (n_units, D, K), inv(L) (n_units, D, D, K) for Psi = L L', log |Psi|."""
        if self.is_shared:
            posterior = self.posterior(statistics)
            lower = cholesky(posterior.scale)
            inverse = states_last(np.linalg.inv(lower), 2)
            return states_last(posterior.mean, 1), inverse, log_determinants(lower)
        shape = len(statistics), self.n_columns, self.n_columns, self.n_states
        mean, factors = np.empty((shape[0], *shape[2:])), np.empty(shape)
        log_det = np.empty((shape[0], self.n_states))
        of_prior = self.prior.mean, self.prior.mean_precision, self.prior.scale
        normal_wishart(statistics, *of_prior, mean, factors, log_det)
        return mean, factors, log_det

    def predictive(self, statistics: np.ndarray) -> MatrixScores:
        statistics = np.ascontiguousarray(statistics.reshape(-1, *statistics.shape[-2:]))
        mean, factors, log_det = self.factors(statistics)
        n, count = self.n_columns, np.maximum(statistics[:, 0], 0.0)
        widened = 1.0 + 1.0 / (self.prior.mean_precision + count)
        if self.is_shared:
            count = np.broadcast_to(count.sum(axis=1, keepdims=True), count.shape)
        degrees = self.prior.degrees_of_freedom + count - n + 1.0
        constants = (
            gammaln(0.5 * (degrees + n))
            - gammaln(0.5 * degrees)
            - 0.5 * (log_det + n * np.log(math.pi * widened))
            - self.log_scales.sum()
        )
        factors = factors / np.sqrt(widened)[:, None, None, :]
        exponents = -0.5 * (degrees + n)
        return MatrixScores(constants, mean, factors, exponents, self.log_scales)

    # Objectives

    def divergence_under(self, posterior: NormalWishart) -> float:
        """KL divergence of a posterior from the prior (nats)."""
        prior, n = self.prior, self.n_columns
        factors = cholesky(posterior.scale)
        inverse = np.linalg.inv(factors)
        ratio = prior.mean_precision / posterior.precision
        off = np.einsum("...ij,...j->...i", inverse, posterior.mean - prior.mean)
        distance = posterior.degrees * (off**2).sum(axis=-1)
        of_means = 0.5 * (n * (ratio - np.log(ratio) - 1.0) + prior.mean_precision * distance)
        of_precisions = wishart_divergence(posterior.degrees, posterior.scale, prior)
        return self._sum_of_terms(of_means, of_precisions)

    def log_evidence(self, statistics: np.ndarray) -> float:
        posterior, prior, n = self.posterior(statistics), self.prior, self.n_columns
        count = np.maximum(statistics[..., 0, :], 0.0)
        of_means = 0.5 * n * np.log(prior.mean_precision / posterior.precision) - count * (
            0.5 * n * math.log(math.pi) + self.log_scales.sum()
        )
        of_precisions = wishart_evidence(posterior.degrees, posterior.scale, prior)
        return self._sum_of_terms(of_means, of_precisions)

    def log_prior(self, point: MatricesPoint) -> float:
        prior, n = self.prior, self.n_columns
        if not prior.is_given:
            return 0.0
        # By factors, which a matrix that rounding leaves singular has, too.
        factors = cholesky(point.covariances)
        inverses, log_det = np.linalg.inv(factors), -log_determinants(factors)
        precisions = np.swapaxes(inverses, -1, -2) @ inverses
        off = point.means - prior.mean
        distance = np.einsum("ki,kij,kj->k", off, precisions, off)
        of_means = 0.5 * (log_det - prior.mean_precision * distance)
        trace = np.einsum("ij,kij->k", prior.scale, precisions)
        of_precisions = 0.5 * ((prior.degrees_of_freedom - n - 1.0) * log_det - trace)
        return self._sum_of_terms(of_means, of_precisions)

    def log_likelihood(self, statistics: np.ndarray, point: MatricesPoint) -> float:
        count, average, scatter = self.scatter(statistics)
        off = average - point.means
        scatter = scatter + count[:, None, None] * off[:, :, None] * off[:, None, :]
        distance = np.einsum("kij,kji->", np.linalg.inv(point.covariances), scatter)
        return float((count * self.log_densities(point).constants[0]).sum() - 0.5 * distance)

    # In the units of the data

    def point_from(self, parameters: dict[str, Any]) -> MatricesPoint:
        n, k, scale = self.n_columns, self.n_states, self.units.scale
        means = self.units.to_standard(emission.table_in(parameters, "means", (k, n)))
        covariances = np.tile(np.eye(n), (k, 1, 1))
        if "covariances" in parameters:
            shape = (n, n) if self.is_shared else (k, n, n)
            tables = covariances_from_user(parameters, shape) / np.outer(scale, scale)
            covariances = np.broadcast_to(tables, (k, n, n)).copy()
        return MatricesPoint(means, covariances)

    def posterior_to_data(self, posterior: NormalWishart) -> NormalWishart:
        widths = np.outer(self.units.scale, self.units.scale)
        mean, scale = self.units.to_data(posterior.mean), posterior.scale * widths
        return posterior._replace(mean=mean, scale=scale)

    def posterior_to_standard(self, posterior: NormalWishart) -> NormalWishart:
        widths = np.outer(self.units.scale, self.units.scale)
        mean, scale = self.units.to_standard(posterior.mean), posterior.scale / widths
        return posterior._replace(mean=mean, scale=scale)

    def sample(
        self, point: MatricesPoint, states: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        factors = cholesky(point.covariances)
        noise = rng.standard_normal((len(states), self.n_columns))
        off = np.einsum("tij,tj->ti", factors[states], noise)
        return self.units.to_data(point.means[states] + off)

    def distributions(self, point: MatricesPoint, observations: Any) -> Any:
        from scipy.stats import norm

        return norm(point.means, np.sqrt(np.diagonal(point.covariances, axis1=-2, axis2=-1)))

    def moments(self, point: MatricesPoint) -> tuple[np.ndarray, np.ndarray]:
        variances = np.diagonal(point.covariances, axis1=-2, axis2=-1)
        return self.units.to_data(point.means), variances * self.units.scale**2

    def marginals(self, statistics: np.ndarray) -> dict[str, Any]:
        posterior = self.posterior(statistics)
        # What a Wishart and a multivariate t say of one column.
        degrees = posterior.degrees[:, None] - self.n_columns + 1.0
        squares = np.diagonal(posterior.scale, axis1=-2, axis2=-1)
        width = squares / (degrees * posterior.precision[:, None])
        return self.units.marginals(posterior.mean, width, degrees, squares)

    def attributes(self, point: MatricesPoint) -> dict[str, Any]:
        scale = self.units.scale
        covariances = point.covariances * np.outer(scale, scale)
        # Precision = P P' for P = inv(L)', as in scikit-learn's mixtures.
        factors = np.swapaxes(np.linalg.inv(cholesky(point.covariances)), -1, -2)
        factors = factors / scale[:, None]
        if self.is_shared:
            covariances, factors = covariances[0], factors[0]
        return {
            "means_": self.units.to_data(point.means),
            "covariances_": covariances,
            "precisions_": factors @ np.swapaxes(factors, -1, -2),
            "precisions_cholesky_": factors,
        }


# Steps of which some columns are missing


class MissingPattern(NamedTuple):
    """Partly missing steps that lack the same columns, and their marginal densities by state."""

    rows: np.ndarray  # (n_rows,), the steps
    unit: np.ndarray  # (n_rows,), the unit that each is in
    seen: np.ndarray  # (D,), bool, the observed columns, D_o of them
    means: np.ndarray  # (n_own, K, D)
    scale: np.ndarray  # (n_own, K, D, D), scale matrices of which a marginal is a part
    place: np.ndarray  # (n_rows,), which of the `n_own` each step has
    off: np.ndarray  # (n_rows, K, D_o), observed values minus means
    weighed: np.ndarray  # the same times the inverse of the marginal scale matrix
    log_det: np.ndarray  # (n_rows, K), of that matrix

    @property
    def distance(self) -> np.ndarray:
        """Squared distances of the observed values, (n_rows, K)."""
        return (self.off * self.weighed).sum(axis=-1)


def missing_patterns(
    scores: MatrixScores, observations: Observations, units: np.ndarray
) -> Iterator[MissingPattern]:
    """The partly missing steps, pattern by pattern."""
    codes, observed = observations.features[:, 0], observations.observed
    assert observed is not None, "something is missing"
    unit = np.repeat(np.arange(len(units) - 1), np.diff(units))
    several = len(scores.means) > 1
    for code in np.unique(codes[codes != WHOLE]):
        rows = np.flatnonzero(codes == code)
        seen = observed[rows[0]]
        own, place = np.unique(unit[rows] if several else np.zeros_like(rows), return_inverse=True)
        factors = np.moveaxis(scores.factors[own], -1, 1)
        scale = np.linalg.inv(np.swapaxes(factors, -1, -2) @ factors)
        means = np.moveaxis(scores.means[own], -1, 1)
        inner = scale[..., seen, :][..., seen]
        _, log_det = np.linalg.slogdet(inner)
        off = observations.values[rows][:, None, seen] - means[place][..., seen]
        weighed = np.linalg.solve(inner[place], off[..., None])[..., 0]
        each = place, off, weighed, log_det[place]
        yield MissingPattern(rows, unit[rows], seen, means, scale, *each)


def fill_partly_missing(
    scores: MatrixScores, observations: Observations, units: np.ndarray, out: np.ndarray
) -> None:
    """Fill the rows of partly missing steps with log densities of what is observed."""
    log_scales, n_columns = scores.log_scales, scores.means.shape[1]
    diagonal = np.arange(n_columns)
    log_det = -2.0 * np.log(scores.factors[:, diagonal, diagonal]).sum(axis=1)
    for part in missing_patterns(scores, observations, units):
        own = part.unit if len(scores.means) > 1 else np.zeros_like(part.unit)
        n_seen, volume = int(part.seen.sum()), log_scales[part.seen].sum()
        if scores.exponents is None:
            # What the constants hold beside the density's own, such as VB's expectations.
            more = scores.constants + log_scales.sum() + 0.5 * log_det
            more = more + 0.5 * n_columns * math.log(2.0 * math.pi)
            value = -0.5 * (part.distance + part.log_det + n_seen * math.log(2.0 * math.pi))
            out[part.rows] = value + more[own] - volume
            continue
        degrees = (-2.0 * scores.exponents - n_columns)[own]
        half = 0.5 * (degrees + n_seen)
        value = gammaln(half) - gammaln(0.5 * degrees) - 0.5 * n_seen * math.log(math.pi)
        out[part.rows] = value - 0.5 * part.log_det - half * np.log1p(part.distance) - volume


def _conditional_moments(part: MissingPattern, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Steps with the conditional means of what is missing, and its conditional scale matrix."""
    across = part.scale[..., ~part.seen, :][..., part.seen]
    gain = across[part.place] @ part.weighed[..., None]
    steps = np.empty((*part.off.shape[:2], len(part.seen)))
    steps[..., part.seen] = values[part.rows][:, None, part.seen]
    steps[..., ~part.seen] = part.means[part.place][..., ~part.seen] + gain[..., 0]
    inner = part.scale[..., part.seen, :][..., part.seen]
    rest = part.scale[..., ~part.seen, :][..., ~part.seen]
    return steps, rest - across @ np.linalg.solve(inner, np.swapaxes(across, -1, -2))


def add_partly_missing(
    scores: MatrixScores,
    observations: Observations,
    posterior: np.ndarray,
    units: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Add the expected moments of partly missing steps to `sums` (n_units, S, K)."""
    n_columns = scores.means.shape[1]
    lower = np.tril_indices(n_columns)
    for part in missing_patterns(scores, observations, units):
        steps, conditional = _conditional_moments(part, observations.values)
        products = steps[..., lower[0]] * steps[..., lower[1]]
        variance = np.ones(part.distance.shape)
        if scores.exponents is not None:
            own = part.unit if len(scores.means) > 1 else np.zeros_like(part.unit)
            degrees = (-2.0 * scores.exponents - n_columns)[own] + part.seen.sum()
            # The variance of Student's t given what is observed; at least that of three degrees.
            variance = (1.0 + part.distance) / np.maximum(degrees - 2.0, 1.0)
        table = np.zeros((*conditional.shape[:2], n_columns, n_columns))
        missing = np.flatnonzero(~part.seen)
        table[..., missing[:, None], missing] = conditional
        products += variance[..., None] * table[part.place][..., lower[0], lower[1]]
        moments = np.concatenate([np.ones((*variance.shape, 1)), steps, products], axis=-1)
        moments *= posterior[part.rows][..., None]
        np.add.at(sums, part.unit, np.swapaxes(moments, 1, 2))


def draw_partly_missing(
    scores: MatrixScores, observations: Observations, states: np.ndarray, rng: np.random.Generator
) -> Observations:
    """Observations with the missing values of partly missing steps drawn, given their states."""
    values = observations.values.copy()
    observed = observations.observed
    assert observed is not None, "something is missing"
    whole = np.array([0, len(values)])
    for part in missing_patterns(scores, observations, whole):
        steps, conditional = _conditional_moments(part, observations.values)
        own = np.arange(len(part.rows)), states[part.rows]
        factors = np.linalg.cholesky(conditional[0])[states[part.rows]]
        noise = rng.standard_normal((len(part.rows), factors.shape[-1], 1))
        drawn = steps[own]
        drawn[:, ~part.seen] += (factors @ noise)[..., 0]
        values[part.rows] = drawn
    there = np.repeat(observed.any(axis=1, keepdims=True), observed.shape[1], axis=1)
    return Observations(values, there, np.full_like(observations.features, WHOLE))
