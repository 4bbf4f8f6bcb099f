"""Student's t as a scale mixture of normals: a factor of each value multiplies its precision.
Scores are log densities with factors integrated out, in closed form or by a polynomial expansion;
sums of factors are sufficient statistics.

Given its factor w ~ Gamma(a, a), a = nu / 2, a value x is normal under parameters that are known,
or Student's t with n degrees of freedom under their Normal-Gamma posterior (kappa, n, Psi). With

    z = 1 / (1 + n q / nu),  q = (x - mean)^2 / Psi,  y = a w / z,

its density is z^(a + 1/2) times the integral of y^(a - 1/2) e^-y h(y), where

    log h = (1 - z) y - (n + 1) / 2 log(1 + q w / (1 + w / kappa)) - log(1 + w / kappa) / 2

is nearly 0 where much is known: z^(a + 1/2) is Student's t around known parameters. So the rest is
a polynomial of z, and Gauss and Laguerre's rule finds it. Where little is known factors are
integrated value by value.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, eval_genlaguerre, gammaln, roots_genlaguerre

from sklearn_cvb.emissions.emission import Observations, per_step
from sklearn_cvb.emissions.gaussian_columns import ColumnStudentScores, NormalGamma, log_gamma_step
from sklearn_cvb.kernels.emission import (
    buffers,
    feature_sums,
    student_by_column,
    student_moments,
)

# Steps that a state must know, and coefficients that a polynomial has then: log densities, and
# factors, keep 11 digits, logs of factors 8. For many degrees of freedom it must know more.
_FEW_TERMS, _MANY_TERMS = (1000, 8), (200, 16)
_USUAL_DEGREES = 4.0
# Factors are integrated by the trapezoid rule in their logarithm, whose error falls exponentially
# with the number of nodes: steps of this share of the integrand's width, and ends that leave no
# digit, for values up to this many scales from the location.
_STEP, _NO_DIGIT, _FARTHEST = 0.5, 37.0, 1e3
# Steps whose factors are integrated together.
_BLOCK = 1024


def column_factor_sums(
    observations: Observations,
    d: int,
    shares: np.ndarray,
    units: np.ndarray,
    factors: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Shares (n_steps, K) of w, w x, w x^2, 1 and log w of a column's values: (n_units, 5, K).

    `factors` are w and log w, (n_steps, K or 1) each.
    """
    x, observed = observations.values[:, d], observations.observed
    there = np.ones_like(x) if observed is None else observed[:, d].astype(np.float64)
    n_states = shares.shape[1]
    # All in one sum over steps: states that are weighted, that are not, and by logs.
    weighted = np.hstack([shares * factors[0], shares, shares * factors[1]])
    features = np.column_stack([there, x, x**2])
    sums = np.zeros((len(units) - 1, 3, 3 * n_states))
    feature_sums(features, weighted, units, sums)
    rest = sums[:, :1, n_states:].reshape(-1, 2, n_states)
    return np.concatenate([sums[:, :, :n_states], rest], axis=1)


def factor_sums(
    observations: Observations,
    posterior: np.ndarray,
    units: np.ndarray,
    tables: tuple[np.ndarray, ...],
) -> np.ndarray:
    """The same of all columns under tables of `student_moments`: (n_units, 5, D, K)."""
    values, observed = observations.values, observations.observed
    if observed is None:
        observed = np.ones(values.shape, bool)
    shape = values.shape[1], posterior.shape[1]
    sums = np.zeros((len(units) - 1, 5, *shape))
    student_moments(values, observed, posterior, units, tables, buffers(*shape), sums)
    return sums


class ClosedFormStudentScores(NamedTuple):
    """Log densities where factors are integrated in closed form, at a point or expected.

    Given a value the factor is Gamma((nu + 1) / 2, (nu + delta) / 2), where delta is the expected
    squared distance in scales.
    """

    density: ColumnStudentScores
    rate_at_location: np.ndarray  # nu + delta at the location, (n_units, D, K)

    def fill(self, observations: Observations, units: np.ndarray, out: np.ndarray) -> None:
        """Fill `out` (n_steps, K)."""
        self.density.fill(observations, units, out)

    def factor_sums(
        self, observations: Observations, posterior: np.ndarray, units: np.ndarray
    ) -> np.ndarray:
        """Expected sums of factors, (n_units, 5, D, K): see `factor_sums`."""
        shape, rate = 0.5 * (self.density.degrees + 1.0), 0.5 * self.rate_at_location
        of_factors = (shape / rate)[:, :, None], (digamma(shape) - np.log(rate))[:, :, None]
        tables = self.density.means, 1.0 / self.density.squares, *of_factors
        return factor_sums(observations, posterior, units, tables)

    def draw_factors(
        self, values: np.ndarray, states: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Factors of values (n_steps, D) in given states, under the first unit."""
        tables = self.density.means, self.density.squares, self.rate_at_location
        means, squares, around = (table[0].T[states] for table in tables)
        shapes = 0.5 * (self.density.degrees[0].T[states] + 1.0)
        rates = 0.5 * around * (1.0 + (values - means) ** 2 / squares)
        # Column after column.
        return np.maximum(rng.standard_gamma(shapes.T), 1e-300).T / rates


class LaguerreExpansion(NamedTuple):
    """Tables of `student_by_column` and `student_moments`; 0 in states that know little."""

    inverses: np.ndarray  # n / (nu Psi), (n_units, D, K)
    exponents: np.ndarray  # -(nu + 1) / 2
    densities: np.ndarray  # polynomials (n_units, D, N, K)
    factors: np.ndarray
    logs: np.ndarray


def laguerre_rule(a: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes y of Gamma(a), and weights (3, n) that give the means of p(y), y p(y) and log(y) p(y).

    They are exact for polynomials p. Those of log y follow from what its products with Laguerre's
    polynomials are on average: the derivative of y^s at s = 0, digamma(a) and -1 / m.
    """
    nodes, weights = roots_genlaguerre(n, a - 1.0)
    weights, m = weights / weights.sum(), np.arange(n)
    norms = np.exp(gammaln(m + a) - gammaln(m + 1.0) - gammaln(a))
    coefficients = np.append(digamma(a), -1.0 / m[1:]) / norms
    logs = coefficients @ eval_genlaguerre(m[:, None], a - 1.0, nodes)
    return nodes, weights * np.stack([np.ones(n), nodes, logs])


def laguerre_expansion(posterior: NormalGamma, degrees: float, n_terms: int) -> LaguerreExpansion:
    """The expansion under posteriors of which all states know much."""
    a = 0.5 * degrees
    nodes, weights = laguerre_rule(a + 0.5, n_terms)
    # Chebyshev's points between 0 and 1.
    points = 0.5 - 0.5 * np.cos(math.pi * (np.arange(n_terms) + 0.5) / n_terms)
    y, n = nodes[:, None, None], posterior.degrees
    rest = np.empty((3, n_terms, *n.shape))
    for d, i in np.ndindex(n.shape[1], n_terms):
        wider = 1.0 + points[i] / a * y / posterior.precision[:, d]
        ratio = 2.0 * (1.0 - points[i]) * y / (n[:, d] * wider)
        h = (1.0 - points[i]) * y - 0.5 * (n[:, d] + 1.0) * np.log1p(ratio)
        h = np.exp(h) / np.sqrt(wider)
        rest[:, i, :, d] = np.tensordot(weights, h, 1)
    total, first, logs = rest
    constants = log_gamma_step(0.5 * n) - 0.5 * np.log(math.pi * posterior.scale)
    constants = constants + gammaln(a + 0.5) - gammaln(a) - 0.5 * math.log(a)
    values = np.log(total) + constants, first / total / a, logs / total - math.log(a)
    powers_of_z = np.vander(points, increasing=True)
    powers = (
        np.moveaxis(np.linalg.solve(powers_of_z, own.reshape(n_terms, -1)).reshape(own.shape), 0, 2)
        for own in values
    )
    exponents = np.full_like(n, -a - 0.5)
    tables = n / (degrees * posterior.scale), exponents, *powers
    return LaguerreExpansion(*(np.ascontiguousarray(table) for table in tables))


class PredictiveStudentScores(NamedTuple):
    """Predictive densities under Normal-Gamma posteriors: factors are integrated numerically."""

    posterior: NormalGamma  # (n_units, D, K) each
    log_scales: np.ndarray  # (D,)
    degrees: float
    expansion: LaguerreExpansion | None  # None where no state knows much
    is_vague: np.ndarray  # states that know little of a column, (D, K)

    def fill(self, observations: Observations, units: np.ndarray, out: np.ndarray) -> None:
        """Fill `out` (n_steps, K)."""
        values, observed = observations.values, observations.observed
        observed = np.ones(values.shape, bool) if observed is None else observed
        out[:] = 0.0
        if self.expansion is not None:
            inverses, exponents, densities = self.expansion[:3]
            tables = self.posterior.mean, inverses, exponents, densities
            student_by_column(values, observed, units, tables, buffers(*self.is_vague.shape), out)
        out -= observed @ self.log_scales[:, None]
        for d in self._vague_columns():
            score = self.integrate_factors(values, units, d)[0]
            out[:, self.is_vague[d]] += np.where(observed[:, d, None], score, 0.0)

    def factor_sums(
        self, observations: Observations, posterior: np.ndarray, units: np.ndarray
    ) -> np.ndarray:
        """Expected sums of factors, (n_units, 5, D, K): see `factor_sums`."""
        sums = np.zeros((len(units) - 1, 5, *self.is_vague.shape))
        if self.expansion is not None:
            inverses, _, _, factors, logs = self.expansion
            tables = self.posterior.mean, inverses, factors, logs
            sums = factor_sums(observations, posterior, units, tables)
        for d in self._vague_columns():
            own = self.is_vague[d]
            _, factors, logs = self.integrate_factors(observations.values, units, d)
            shares = posterior[:, own]
            sums[:, :, d, own] = column_factor_sums(observations, d, shares, units, (factors, logs))
        return sums

    def _vague_columns(self) -> list[int]:
        """Columns that a state knows little of."""
        return np.flatnonzero(self.is_vague.any(axis=1)).tolist()

    def integrate_factors(self, values: np.ndarray, units: np.ndarray, d: int) -> np.ndarray:
        """Log densities of a column, expected factors and their logs, in states that know little.

        Returns shape (3, n_steps, n_states); densities are in standard units.
        """
        nodes, log_weights = quadrature_nodes(self.degrees)
        tables = [per_step(table[:, d, self.is_vague[d]], units) for table in self.posterior]
        integrals = np.empty((3, len(values), tables[0].shape[1]))
        for begin in range(0, len(values), _BLOCK):
            block = slice(begin, begin + _BLOCK)
            mean, precision, degrees, scale = (
                table if len(table) == 1 else table[block] for table in tables
            )
            half = 0.5 * (degrees + 1.0)
            # Given a factor what is to come is a Student's t of as many degrees as are known.
            widths = scale * (1.0 / nodes[:, None, None] + 1.0 / precision)
            logs = log_weights[:, None, None] - 0.5 * np.log(math.pi * widths)
            logs = logs - half * np.log1p((values[block, [d]] - mean) ** 2 / widths)
            largest = logs.max(axis=0)
            chances = np.exp(logs - largest)
            total = chances.sum(axis=0)
            integrals[0, block] = largest + np.log(total) + log_gamma_step(0.5 * degrees)
            integrals[1, block] = np.tensordot(nodes, chances, 1) / total
            integrals[2, block] = np.tensordot(np.log(nodes), chances, 1) / total
        return integrals


def integrated_scores(
    posterior: NormalGamma, log_scales: np.ndarray, degrees: float
) -> PredictiveStudentScores:
    """Predictive densities under posteriors (n_units, D, K)."""
    known = np.minimum(posterior.degrees, posterior.precision).min(axis=0)
    known = known / max(1.0, ((degrees + 1.0) / (_USUAL_DEGREES + 1.0)) ** 2)
    is_vague = known < _MANY_TERMS[0]
    expansion = None
    if not is_vague.all():
        least, n_terms = _FEW_TERMS
        n_terms = n_terms if known[~is_vague].min() >= least else _MANY_TERMS[1]
        found = laguerre_expansion(posterior, degrees, n_terms)
        zeros = (np.expand_dims(is_vague, table.ndim - 3) for table in found)
        expansion = LaguerreExpansion(
            *(np.where(mask, 0.0, table) for mask, table in zip(zeros, found, strict=True))
        )
    return PredictiveStudentScores(posterior, log_scales, degrees, expansion, is_vague)


def quadrature_nodes(degrees: float) -> tuple[np.ndarray, np.ndarray]:
    """Factors, and the logs of their weights under Gamma(degrees / 2, degrees / 2)."""
    a = 0.5 * degrees
    step, share = _STEP / math.sqrt(a + 0.5), _NO_DIGIT / a
    highest = math.log1p(share + math.sqrt(2.0 * share))
    lowest = math.log((degrees + 1.0) / (degrees + _FARTHEST**2)) - _NO_DIGIT / (degrees + 1.0)
    logs = np.arange(min(lowest, -highest), highest + step, step)
    density = a * math.log(a) - gammaln(a) + a * logs - a * np.exp(logs)
    return np.exp(logs), density + math.log(step)
