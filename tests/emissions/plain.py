"""Emissions in plain words: posteriors from the textbook, in the units of the data, by scipy.stats.

Murphy (2007), "Conjugate Bayesian analysis of the Gaussian distribution"; Gelman et al. (2013),
chapter 2. Missing values are NaN.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats
from sklearn.base import clone

from sklearn_cvb.emissions import (
    Bernoulli,
    Categorical,
    Columns,
    Exponential,
    Gamma,
    Gaussian,
    Multinomial,
    NegativeBinomial,
    Poisson,
    Regression,
    VonMises,
)
from sklearn_cvb.reading.moments import moments_of

MEAN, STRENGTH, DEGREES = np.array([1.0, 90.0, -2.5]), 0.4, 4.5
MATRIX = np.array([[0.8, 1.0, 0.01], [1.0, 90.0, 0.2], [0.01, 0.2, 0.02]])
NOISE = np.array([[0.5, 0.2], [0.2, 3.0]])
VARIANCES, SHARED = np.array([0.8, 90.0, 0.02]), 3.0


class Case(NamedTuple):
    """An emission with its prior given, observations, and its predictive density in plain words."""

    emission: Any
    table: np.ndarray
    # (x, k, table, posterior) -> log p(x | table, posterior) of state k
    predictive: Any
    # (x, k, attributes) -> log p(x | point)
    density: Any
    # attributes -> log prior density over means, precisions, log rates and log odds
    log_prior: Any


def counted(column, weights):
    """Number, average and sum of squares around it of a column's observed values."""
    there = ~np.isnan(column)
    n = weights[there].sum()
    average = (weights[there] @ column[there]) / n if n else 0.0
    return n, average, weights[there] @ (column[there] - average) ** 2


def normal_gamma(column, weights, mean, scale):
    """kappa, m, nu and Psi of the posterior of one column."""
    n, average, squares = counted(column, weights)
    kappa = STRENGTH + n
    off = STRENGTH * n / kappa * (average - mean) ** 2
    return kappa, (STRENGTH * mean + n * average) / kappa, DEGREES + n, scale + squares + off


def diag_predictive(x, k, table, posterior):
    total = 0.0
    for d in np.flatnonzero(~np.isnan(x)):
        kappa, m, nu, psi = normal_gamma(table[:, d], posterior[:, k], MEAN[d], VARIANCES[d])
        total += stats.t.logpdf(x[d], nu, m, np.sqrt(psi * (kappa + 1) / (kappa * nu)))
    return total


def spherical_predictive(x, k, table, posterior):
    parts = [normal_gamma(table[:, d], posterior[:, k], MEAN[d], 0.0) for d in range(len(MEAN))]
    nu = DEGREES + sum(part[2] - DEGREES for part in parts)
    psi = SHARED + sum(part[3] for part in parts)
    seen = np.flatnonzero(~np.isnan(x))
    if not len(seen):
        return 0.0
    means = np.array([parts[d][1] for d in seen])
    widened = np.array([(parts[d][0] + 1) / parts[d][0] for d in seen])
    return stats.multivariate_t.logpdf(x[seen], means, np.diag(psi * widened / nu), df=nu)


def scatter_of(k, table, posterior):
    """n, kappa, m and what a state adds to the scale matrix."""
    weights = posterior[:, k] * ~np.isnan(table[:, 0])
    table = np.nan_to_num(table)
    n = weights.sum()
    average = weights @ table / n
    off = table - average
    kappa = STRENGTH + n
    shift = STRENGTH * n / kappa * np.outer(average - MEAN, average - MEAN)
    m = (STRENGTH * MEAN + n * average) / kappa
    return n, kappa, m, (off * weights[:, None]).T @ off + shift


def matrix_predictive(x, k, table, posterior, states=None):
    if np.isnan(x).any():
        return 0.0
    parts = {j: scatter_of(j, table, posterior) for j in range(posterior.shape[1])}
    _, kappa, m, _ = parts[k]
    own = [k] if states is None else states
    nu = DEGREES + sum(parts[j][0] for j in own)
    psi = MATRIX + sum(parts[j][3] for j in own)
    df = nu - len(x) + 1
    return stats.multivariate_t.logpdf(x, m, psi * (kappa + 1) / (kappa * df), df=df)


def tied_predictive(x, k, table, posterior):
    return matrix_predictive(x, k, table, posterior, range(posterior.shape[1]))


def bernoulli_predictive(x, k, table, posterior):
    total = 0.0
    for d in np.flatnonzero(~np.isnan(x)):
        n, average, _ = counted(table[:, d], posterior[:, k])
        p = (0.7 + n * average) / (0.7 + 1.6 + n)
        total += stats.bernoulli.logpmf(x[d], p)
    return total


def poisson_predictive(x, k, table, posterior):
    total = 0.0
    for d in np.flatnonzero(~np.isnan(x)):
        n, average, _ = counted(table[:, d], posterior[:, k])
        shape, rate = 1.3 + n * average, 0.6 + n
        total += stats.nbinom.logpmf(x[d], shape, rate / (rate + 1))
    return total


def gamma_predictive(of_values):
    def predictive(x, k, table, posterior):
        total = 0.0
        for d in np.flatnonzero(~np.isnan(x)):
            n, average, _ = counted(table[:, d], posterior[:, k])
            shape, rate = 1.3 + of_values * n, 0.6 + n * average
            total += stats.betaprime.logpdf(x[d], of_values, shape, scale=rate)
        return total

    return predictive


def negative_binomial_predictive(x, k, table, posterior):
    total = 0.0
    for d in np.flatnonzero(~np.isnan(x)):
        n, average, _ = counted(table[:, d], posterior[:, k])
        # scipy counts failures before `size` successes by their probability, which has a Beta.
        total += stats.betanbinom.logpmf(x[d], 4, 0.7 + 4 * n, 1.6 + n * average)
    return total


GRID = np.geomspace(0.2, 300.0, 200)


def angle_evidence(angles, weights):
    """By quadrature over directions, given each concentration of the grid (log)."""
    directions = np.linspace(-np.pi, np.pi, 20_000, endpoint=False)
    sums = weights @ np.cos(angles), weights @ np.sin(angles)
    along = sums[0] * np.cos(directions) + sums[1] * np.sin(directions)
    total = [
        special.logsumexp(k * along) - np.log(len(along)) + weights.sum() * angle_constant(k)
        for k in GRID
    ]
    return special.logsumexp(total) - np.log(len(GRID))


def angle_constant(k):
    return stats.vonmises.logpdf(np.pi / 2, k)


def angle_predictive(x, k, table, posterior):
    total = 0.0
    for d in np.flatnonzero(~np.isnan(x)):
        seen = ~np.isnan(table[:, d])
        angles, weights = table[seen, d], posterior[seen, k]
        more = np.append(angles, x[d]), np.append(weights, 1.0)
        total += angle_evidence(*more) - angle_evidence(angles, weights)
    return total


def angle_density(x, k, shown):
    seen = ~np.isnan(x)
    of_state = shown["concentrations_"][k][seen], shown["directions_"][k][seen]
    return stats.vonmises.logpdf(x[seen], *of_state).sum()


def multinomial_predictive(x, k, table, posterior):
    if np.isnan(x).any():
        return 0.0
    seen = ~np.isnan(table).any(axis=1)
    counts = 0.45 + posterior[seen, k] @ table[seen]
    return stats.dirichlet_multinomial.logpmf(x.astype(int), counts, int(x.sum()))


def in_standard_units(table):
    """Inputs (1, x0, x2) and outputs (x1, x3) in units of the columns, and the outputs' widths."""
    own = (table - np.nanmean(table, axis=0)) / np.nanstd(table, axis=0)
    inputs = np.column_stack([np.ones(len(own)), own[:, [0, 2]]])
    return inputs, own[:, [1, 3]], np.nanstd(table, axis=0)[[1, 3]]


def line_of(k, table, posterior):
    """Weight, precision and mean of a state's coefficients, and what it adds to the scale."""
    inputs, outputs, _ = in_standard_units(table)
    whole = ~np.isnan(table).any(axis=1)
    z, y, weights = inputs[whole], outputs[whole], posterior[whole, k]
    precision = STRENGTH * np.eye(3) + (z * weights[:, None]).T @ z
    b = np.linalg.solve(precision, (z * weights[:, None]).T @ y)
    off = y - z @ b
    return weights.sum(), precision, b, (off * weights[:, None]).T @ off + STRENGTH * b.T @ b


def regression_predictive(x, k, table, posterior, states=None):
    """Matrix-normal-Wishart, as Rossi, Allenby and McCulloch (2005) have it."""
    if np.isnan(x).any():
        return 0.0
    parts = {j: line_of(j, table, posterior) for j in range(posterior.shape[1])}
    _, precision, b, _ = parts[k]
    centre, spread = np.nanmean(table, axis=0), np.nanstd(table, axis=0)
    own, widths = (x - centre) / spread, spread[[1, 3]]
    here = np.concatenate([[1.0], own[[0, 2]]])
    told = [parts[j] for j in ([k] if states is None else states)]
    psi = NOISE / np.outer(widths, widths) + sum(part[3] for part in told)
    df = DEGREES + sum(part[0] for part in told) - 1
    wider = 1 + here @ np.linalg.solve(precision, here)
    value = stats.multivariate_t.logpdf(own[[1, 3]], here @ b, psi * wider / df, df=df)
    return value - np.log(widths).sum()


def tied_regression_predictive(x, k, table, posterior):
    return regression_predictive(x, k, table, posterior, range(posterior.shape[1]))


def categorical_predictive(x, k, table, posterior):
    total = 0.0
    for d in np.flatnonzero(~np.isnan(x)):
        seen = [posterior[table[:, d] == code, k].sum() + 0.45 for code in range(4)]
        total += np.log(seen[int(x[d])] / sum(seen))
    return total


def mixed_predictive(x, k, table, posterior):
    return sum(
        part(x[own], k, table[:, own], posterior)
        for part, own in (
            (poisson_predictive, [1]),
            (single_predictive, [2]),
            (bernoulli_predictive, [0]),
        )
    )


def single_predictive(x, k, table, posterior):
    """A column of numbers alone."""
    if np.isnan(x[0]):
        return 0.0
    kappa, m, nu, psi = normal_gamma(table[:, 0], posterior[:, k], MEAN[0], VARIANCES[0])
    return stats.t.logpdf(x[0], nu, m, np.sqrt(psi * (kappa + 1) / (kappa * nu)))


def diag_density(x, k, shown):
    return whole_or_parts(x, shown["means_"][k], np.diag(shown["covariances_"][k]))


def spherical_density(x, k, shown):
    return whole_or_parts(x, shown["means_"][k], shown["covariances_"][k] * np.eye(len(x)))


def full_density(x, k, shown):
    return whole_or_parts(x, shown["means_"][k], shown["covariances_"][k])


def tied_density(x, k, shown):
    return whole_or_parts(x, shown["means_"][k], shown["covariances_"])


def whole_or_parts(x, mean, covariance):
    """The normal density of the observed part."""
    seen = ~np.isnan(x)
    if not seen.any():
        return 0.0
    covariance = covariance[np.ix_(seen, seen)]
    return stats.multivariate_normal.logpdf(x[seen], mean[seen], covariance)


def bernoulli_density(x, k, shown):
    seen = ~np.isnan(x)
    return stats.bernoulli.logpmf(x[seen], shown["probabilities_"][k][seen]).sum()


def poisson_density(x, k, shown):
    seen = ~np.isnan(x)
    return stats.poisson.logpmf(x[seen], shown["rates_"][k][seen]).sum()


def gamma_density(of_values):
    def density(x, k, shown):
        seen = ~np.isnan(x)
        rates = shown["rates_"][k][seen]
        return stats.gamma.logpdf(x[seen], of_values, scale=1 / rates).sum()

    return density


def negative_binomial_density(x, k, shown):
    seen = ~np.isnan(x)
    return stats.nbinom.logpmf(x[seen], 4, shown["probabilities_"][k][seen]).sum()


def multinomial_density(x, k, shown):
    if np.isnan(x).any():
        return 0.0
    return stats.multinomial.logpmf(x, int(x.sum()), shown["probabilities_"][k])


def regression_density(x, k, shown):
    if np.isnan(x).any():
        return 0.0
    mean = shown["intercepts_"][k] + x[[0, 2]] @ shown["coefficients_"][k]
    covariances = shown["covariances_"]
    own = covariances[k] if covariances.ndim == 3 else covariances
    return stats.multivariate_normal.logpdf(x[[1, 3]], mean, own)


def categorical_density(x, k, shown):
    tables = shown["category_probabilities_"]
    seen = np.flatnonzero(~np.isnan(x))
    return sum(np.log(tables[d][k, int(x[d])]) for d in seen)


def mixed_density(x, k, shown):
    parts = shown["parts_"]
    return (
        poisson_density(x[[1]], k, parts[0])
        + diag_density(x[[2]], k, parts[1])
        + bernoulli_density(x[[0]], k, parts[2])
    )


def normal_log_prior(shown, matrices, of_precision):
    """Means given the covariance matrix of each state, and precisions."""
    pairs = zip(shown["means_"], matrices, strict=True)
    mean = MEAN[: matrices.shape[-1]]
    total = sum(stats.multivariate_normal.logpdf(m, mean, c / STRENGTH) for m, c in pairs)
    return total + of_precision.sum()


def of_variances(variances, scale):
    return stats.gamma.logpdf(1 / variances, DEGREES / 2, scale=2 / scale)


def of_matrices(matrices):
    inverse = np.linalg.inv(MATRIX)
    precisions = np.linalg.inv(matrices)
    return np.array([stats.wishart.logpdf(own, DEGREES, inverse) for own in precisions])


def full_log_prior(shown):
    matrices = shown["covariances_"]
    return normal_log_prior(shown, matrices, of_matrices(matrices))


def tied_log_prior(shown):
    matrix = shown["covariances_"][None]
    return normal_log_prior(shown, np.repeat(matrix, 2, axis=0), of_matrices(matrix))


def diag_log_prior(shown):
    variances = shown["covariances_"]
    width = variances.shape[1]
    of_precision = of_variances(variances, VARIANCES[:width])
    return normal_log_prior(shown, variances[:, :, None] * np.eye(width), of_precision)


def spherical_log_prior(shown):
    variances = shown["covariances_"]
    matrices = variances[:, None, None] * np.eye(3)
    return normal_log_prior(shown, matrices, of_variances(variances, SHARED))


def bernoulli_log_prior(shown):
    p = shown["probabilities_"]
    return (stats.beta.logpdf(p, 0.7, 1.6) + np.log(p) + np.log1p(-p)).sum()


def poisson_log_prior(shown):
    rates = shown["rates_"]
    return (stats.gamma.logpdf(rates, 1.3, scale=1 / 0.6) + np.log(rates)).sum()


def negative_binomial_log_prior(shown):
    p = shown["probabilities_"]
    return (stats.beta.logpdf(p, 0.7, 1.6) + np.log(p) + np.log1p(-p)).sum()


def multinomial_log_prior(shown):
    """In the softmax basis."""
    rows = shown["probabilities_"]
    return sum(stats.dirichlet.logpdf(row, np.full(3, 0.45)) + np.log(row).sum() for row in rows)


def regression_log_prior(table):
    """Coefficients given the covariance of each state, and precisions."""
    centre, spread = np.nanmean(table, axis=0), np.nanstd(table, axis=0)
    x, y = spread[[0, 2]], spread[[1, 3]]

    def log_prior(shown):
        scale = np.linalg.inv(NOISE / np.outer(y, y))
        tables = (shown["covariances_"] / np.outer(y, y)).reshape(-1, 2, 2)
        precisions = np.linalg.inv(tables)
        # One of all states, or one of each.
        total = sum(stats.wishart.logpdf(own, DEGREES, scale) for own in precisions)
        for k, covariance in enumerate(np.broadcast_to(tables, (2, 2, 2))):
            slopes = shown["coefficients_"][k] * x[:, None] / y
            at_centre = shown["intercepts_"][k] + centre[[0, 2]] @ shown["coefficients_"][k]
            rows = np.vstack([(at_centre - centre[[1, 3]]) / y, slopes])
            pairs = stats.matrix_normal(rowcov=np.eye(3) / STRENGTH, colcov=covariance)
            total += pairs.logpdf(rows)
        return total

    return log_prior


def categorical_log_prior(shown):
    """In the softmax basis."""
    rows = [row for table in shown["category_probabilities_"] for row in table]
    return sum(stats.dirichlet.logpdf(row, np.full(4, 0.45)) + np.log(row).sum() for row in rows)


def mixed_log_prior(shown):
    priors = poisson_log_prior, diag_log_prior, bernoulli_log_prior
    return sum(log_prior(own) for log_prior, own in zip(priors, shown["parts_"], strict=True))


def make_cases():
    """A case for each family, and one with missing values where it takes them."""
    rng = np.random.default_rng(7)
    n = 9
    numbers = rng.multivariate_normal(MEAN, MATRIX, n)
    bits = rng.integers(0, 2, (n, 2)).astype(float)
    counts = rng.poisson([3.0, 40.0], (n, 2)).astype(float)
    codes = rng.integers(0, 4, (n, 2)).astype(float)
    own = np.random.default_rng(8)
    waits = own.gamma(2.5, [0.5, 40.0], (n, 2))
    angles = own.vonmises([0.5, 3.0], [2.0, 30.0], (n, 2))
    trials = own.multinomial(12, [0.2, 0.5, 0.3], n).astype(float)
    lines = own.normal([5.0, 0.0, -30.0, 100.0], [1.0, 1.0, 8.0, 2.0], (n, 4))
    lines[:, [1, 3]] += lines[:, [0, 2]] @ [[1.0, -2.0], [0.1, 0.0]]
    mixed = np.column_stack([bits[:, 0], counts[:, 0], rng.normal(1.0, 0.8, n)])
    prior = {
        "mean_prior": MEAN,
        "mean_precision_prior": STRENGTH,
        "degrees_of_freedom_prior": DEGREES,
    }
    with_matrix = prior | {"covariance_prior": MATRIX}
    single = prior | {"mean_prior": MEAN[:1], "covariance_prior": VARIANCES[:1]}
    poisson, bernoulli = (
        Poisson(shape_prior=1.3, rate_prior=0.6),
        Bernoulli(ones_prior=0.7, zeros_prior=1.6),
    )
    parts = [(poisson, [1]), (Gaussian("diag", **single), [2]), (bernoulli, [0])]
    cases = {
        "full": Case(
            Gaussian("full", **with_matrix),
            numbers,
            matrix_predictive,
            full_density,
            full_log_prior,
        ),
        "tied": Case(
            Gaussian("tied", **with_matrix),
            numbers,
            tied_predictive,
            tied_density,
            tied_log_prior,
        ),
        "diag": Case(
            Gaussian("diag", **prior, covariance_prior=VARIANCES),
            numbers,
            diag_predictive,
            diag_density,
            diag_log_prior,
        ),
        "spherical": Case(
            Gaussian("spherical", **prior, covariance_prior=SHARED),
            numbers,
            spherical_predictive,
            spherical_density,
            spherical_log_prior,
        ),
        "bernoulli": Case(
            bernoulli, bits, bernoulli_predictive, bernoulli_density, bernoulli_log_prior
        ),
        "poisson": Case(poisson, counts, poisson_predictive, poisson_density, poisson_log_prior),
        "gamma": Case(
            Gamma(shape=2.5, shape_prior=1.3, rate_prior=0.6),
            waits,
            gamma_predictive(2.5),
            gamma_density(2.5),
            poisson_log_prior,
        ),
        "exponential": Case(
            Exponential(shape_prior=1.3, rate_prior=0.6),
            waits,
            gamma_predictive(1.0),
            gamma_density(1.0),
            poisson_log_prior,
        ),
        "negative binomial": Case(
            NegativeBinomial(size=4, size_prior=0.7, count_prior=1.6),
            counts,
            negative_binomial_predictive,
            negative_binomial_density,
            negative_binomial_log_prior,
        ),
        "von mises": Case(
            VonMises(concentration_range=(0.2, 300.0)),
            angles,
            angle_predictive,
            angle_density,
            lambda shown: 0.0,
        ),
        "multinomial": Case(
            Multinomial(concentration_prior=0.45),
            trials,
            multinomial_predictive,
            multinomial_density,
            multinomial_log_prior,
        ),
        "regression": Case(
            Regression(
                inputs=[0, 2],
                outputs=[1, 3],
                coefficient_precision_prior=STRENGTH,
                degrees_of_freedom_prior=DEGREES,
                covariance_prior=NOISE,
            ),
            lines,
            regression_predictive,
            regression_density,
            regression_log_prior(lines),
        ),
        "tied regression": Case(
            Regression(
                inputs=[0, 2],
                outputs=[1, 3],
                covariance_type="tied",
                coefficient_precision_prior=STRENGTH,
                degrees_of_freedom_prior=DEGREES,
                covariance_prior=NOISE,
            ),
            lines,
            tied_regression_predictive,
            regression_density,
            regression_log_prior(lines),
        ),
        "categorical": Case(
            Categorical(concentration_prior=0.45, n_categories=4),
            codes,
            categorical_predictive,
            categorical_density,
            categorical_log_prior,
        ),
        "columns": Case(Columns(parts), mixed, mixed_predictive, mixed_density, mixed_log_prior),
    }
    for name in list(cases):
        table = cases[name].table.copy()
        if name in ("full", "tied", "multinomial"):
            table[[2, 5]] = np.nan
        elif name in ("regression", "tied regression"):
            # One input, and one output.
            table[2, 0] = table[5, 3] = np.nan
        else:
            table[rng.random(table.shape) < 0.3] = np.nan
        cases[f"{name}, missing"] = cases[name]._replace(table=table)
    return cases


CASES = make_cases()
WHOLE = {name: case for name, case in CASES.items() if "missing" not in name}


def without_prior(emission):
    """The same, with the prior that the data imply."""
    if isinstance(emission, Columns):
        return Columns([(without_prior(part), own) for part, own in emission.parts])
    given = [name for name in emission.get_params() if name.endswith("_prior")]
    return clone(emission).set_params(**dict.fromkeys(given))


def soft(n_steps, n_states, seed=3):
    """Posteriors of steps."""
    return np.random.default_rng(seed).dirichlet(np.ones(n_states), n_steps)


def scores_of(scores, observations, n_steps, n_states):
    """What scores fill in, (n_steps, K)."""
    out = np.full((n_steps, n_states), np.nan)
    scores.fill(observations, np.array([0, n_steps]), out)
    return out


class Bound(NamedTuple):
    """A case with its family bound: observations, posteriors and the statistics of all."""

    family: Any
    observations: Any
    posterior: np.ndarray
    statistics: np.ndarray


def bound(case, n_states=2, seed=3):
    family = case.emission.bind(moments_of(case.table), n_states)
    observations = family.read(case.table)
    n_steps = len(case.table)
    posterior = soft(n_steps, n_states, seed)
    whole = np.array([0, n_steps])
    return Bound(
        family, observations, posterior, family.statistics(observations, posterior, whole)[0]
    )
