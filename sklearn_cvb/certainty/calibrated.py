"""Calibrated posterior samples: short Gibbs runs from draws widened by the missing information.

Counts that a fit leaves are expected ones. Taken as if they had been seen, they leave out how far
hidden structure could be other than it is: the missing information (Louis 1982), the covariance of
counts over structures drawn at the mean parameters. Parameters are drawn from the Dirichlet
posterior, pushed apart along what is missing, and a few sweeps of Gibbs sampling by parameters
from each draw mend what this first order leaves.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_array, vstack
from scipy.sparse.linalg import LinearOperator, svds

from sklearn_cvb.certainty.mixtures import beta_mixture_quantile
from sklearn_cvb.certainty.structures import FreeRows, Structures
from sklearn_cvb.learning.dirichlet import FIXED_MASS, draw_rows

# Structures drawn at the mean parameters; runs, sweeps of each, and how many of these are kept.
N_STRUCTURES, N_RUNS, N_SWEEPS, N_KEPT = 20, 40, 3, 1
# A direction of which less than this share is known is as if so much were.
_LEAST_KNOWN = 0.02
# Above so many cells and drawn counts only the directions that miss most are sought, so many.
_DENSE, _N_DIRECTIONS = 1500, 200
# Relative steps of numerical derivatives, and a share of what is missing that is rounding.
_STEP, _ROUNDING = 1e-4, 1e-12
# So many cells have exact derivatives.
_FEW_CELLS = 300


def standardised_counts(counts: csr_array, rows: FreeRows) -> csr_array:
    """Counts in units of their standard deviation under complete information, 0 if unlisted."""
    counts = csr_array(
        (counts.data, counts.indices, counts.indptr), (counts.shape[0], len(rows.alpha))
    )
    scale = np.where(rows.alpha > 0, rows.alpha, np.inf) ** -0.5
    return csr_array(counts.multiply(scale[None, :]))


def roots_of_rows(rows: FreeRows) -> csr_array:
    """Column r is the root of the mean of row r: along it probabilities cannot move."""
    n_cells = len(rows.alpha)
    entries = np.sqrt(rows.mean), (np.arange(n_cells), rows.row)
    return csr_array(entries, shape=(n_cells, len(rows.totals)))


class MissingInformation(NamedTuple):
    """Directions in which information is missing, and the share of it that is, largest first."""

    shares: np.ndarray  # (n_directions,) Eigenvalues of the missing over the complete information
    directions: np.ndarray  # (n_cells, n_directions), orthonormal, in standardised log parameters


class GibbsSample(NamedTuple):
    """A kept sample of a short run: counts of its structures, and parameters drawn given them."""

    counts: Any
    weights: Any


def flat_cells(counts: Any) -> np.ndarray:
    """The cells of all tables, one after the other."""
    tables = counts if isinstance(counts, tuple) else (counts,)
    return np.concatenate([np.ravel(table) for table in tables])


# The missing information


def draw_deviations(
    structures: Structures, weights: Any, n_draws: int, rng: np.random.Generator
) -> csr_array:
    """Rows whose outer products sum to the sample covariance of counts, summed over units."""
    drawn = [
        structures.counts_by_unit(structures.draw_structures(weights, rng).structure)
        for _ in range(n_draws)
    ]
    mean = sum(drawn[1:], start=drawn[0]) / n_draws
    return csr_array(vstack([one - mean for one in drawn])) / np.sqrt(n_draws - 1)


def exact_covariance(structures: Structures, rows: FreeRows) -> np.ndarray:
    """The covariance of all counts at the mean parameters: derivatives of the expected ones.

    The sum of log Z is convex in log parameters: its gradient are the counts, and its second
    derivatives their covariance.
    """
    theta, size = rows.mean, len(rows.alpha)
    covariance = np.zeros((size, size))
    for cell in np.flatnonzero(rows.alpha > 0):
        ends = []
        for step in (_STEP, -_STEP):
            moved = theta.copy()
            moved[cell] *= np.exp(step)
            ends.append(flat_cells(structures.model.infer(structures.weights_at(moved)).counts))
        covariance[cell] = (ends[0] - ends[1]) / (2 * _STEP)
    return (covariance + covariance.T) / 2


def missing_information_of_draws(
    deviations: csr_array, rows: FreeRows, rng: np.random.Generator
) -> MissingInformation:
    """The directions of deviations of whole rows, without what rows that sum to 1 rule out."""
    each, roots = standardised_counts(deviations, rows), roots_of_rows(rows)
    along = csr_array(each @ roots)
    n_rows, n_cells = each.shape
    if min(n_rows, n_cells) > _DENSE:
        product = LinearOperator(
            each.shape,
            matvec=lambda x: each @ (x - roots @ (roots.T @ x)),
            rmatvec=lambda x: each.T @ x - roots @ (roots.T @ (each.T @ x)),
            dtype=np.float64,
        )
        begin = rng.standard_normal(min(n_rows, n_cells))
        _, values, across = svds(product, k=_N_DIRECTIONS, v0=begin, solver="arpack")
        shares, directions = values**2, across.T
    elif n_rows < n_cells:
        gram = (each @ each.T - along @ along.T).toarray()
        shares, left = np.linalg.eigh(gram)
        directions = np.asarray(each.T @ left - roots @ (along.T @ left))
        directions /= np.sqrt(np.maximum(shares, 1e-300))
    else:
        return missing_information_of_covariance((each.T @ each).toarray(), roots)
    return _with_missing(shares, directions)


def missing_information_of_covariance(
    covariance: np.ndarray, roots: csr_array
) -> MissingInformation:
    """The directions of a covariance of standardised counts."""
    across = covariance - roots @ (roots.T @ covariance)
    across = across - (across @ roots) @ roots.T
    return _with_missing(*np.linalg.eigh((across + across.T) / 2))


def _with_missing(shares: np.ndarray, directions: np.ndarray) -> MissingInformation:
    """The directions in which anything is missing."""
    order = np.argsort(shares)[::-1]
    order = order[shares[order] > _ROUNDING]
    return MissingInformation(shares[order], directions[:, order])


def standard_errors(rows: FreeRows, missing: MissingInformation) -> np.ndarray:
    """Standard errors of log probabilities under observed information (Louis 1982, eq. 3.2).

    0 where a probability is 0, or all of its row.
    """
    roots = np.sqrt(rows.mean)
    known = np.maximum(1.0 - missing.shares, _LEAST_KNOWN)
    variance = 1.0 - roots**2 + (missing.directions**2) @ (1.0 / known - 1.0)
    return np.sqrt(np.maximum(variance, 0.0) / np.where(rows.alpha > 0, rows.alpha, np.inf))


# Draws


def draw_widened(
    rows: FreeRows, missing: MissingInformation, rng: np.random.Generator
) -> np.ndarray:
    """Parameters from their Dirichlet posterior, moved further where information is missing.

    To first order, log parameters have the inverse of the observed information as covariance.
    """
    mean, totals = rows.mean, rows.totals
    drawn = draw_rows(rows.alpha, rows.row, np.zeros(len(totals)), 1.0, rng)
    divisors = np.where(mean > 0, mean, 1.0)
    deviation = (drawn - mean) * np.sqrt((totals[rows.row] + 1.0) / divisors)
    stretch = np.maximum(1.0 - missing.shares, _LEAST_KNOWN) ** -0.5 - 1.0
    move = missing.directions @ (stretch * (missing.directions.T @ deviation))
    with np.errstate(divide="ignore"):
        logs = np.log(drawn) + move / np.sqrt(np.where(rows.alpha > 0, rows.alpha, np.inf))
    largest = np.full(len(totals), -np.inf)
    np.maximum.at(largest, rows.row, logs)
    moved = np.exp(logs - np.where(np.isfinite(largest), largest, 0.0)[rows.row])
    sums = np.bincount(rows.row, moved, len(totals))
    return moved / np.where(sums > 0, sums, 1.0)[rows.row]


def short_runs(
    structures: Structures,
    counts: Any,
    prior: Any,
    generators: list[np.random.Generator],
    n_jobs: int | None,
    tell: Callable[[int], None],
) -> list[GibbsSample]:
    """Samples of runs of Gibbs sampling by parameters from widened draws, the last of each kept.

    The first generator draws what is missing, each other one makes a run: the samples do not
    depend on `n_jobs`. `tell` is called with the number of each run that begins.
    """
    cells, first = structures.free_rows(counts, prior), generators[0]
    rows, n_cells = cells.with_unlisted(), len(cells.alpha)
    at_mean = structures.weights_at(cells.mean, counts, None)
    missing = missing_information_of_draws(
        draw_deviations(structures, at_mean, N_STRUCTURES, first), rows, first
    )

    def run(number: int, rng: np.random.Generator) -> list[GibbsSample]:
        tell(number)
        theta = draw_widened(rows, missing, rng)[:n_cells]
        weights, samples = structures.weights_at(theta, counts, rng), []
        for _ in range(N_SWEEPS):
            sample = structures.draw_structures(weights, rng)
            weights = structures.draw_parameters(sample.counts, prior, rng)
            samples.append(GibbsSample(sample.counts, weights))
        return samples[-N_KEPT:]

    runs = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(run)(number, rng) for number, rng in enumerate(generators[1:])
    )
    return [one for samples in runs for one in samples]


class RowIntervals(NamedTuple):
    """Credible intervals of the probabilities of a grammar, and draws from their posterior.

    Attributes
    ----------
    lower, upper : ndarray of shape (n_rules,) or DMVCounts
        Ends. Of grammars in the order of `rules_`; of dependency models tables in the shapes of
        `counts_`: with back-off those of own tables, of mixtures and of coarse tables.
    draws : ndarray of shape (n_draws, n_cells)
        Probabilities drawn from the posterior; of dependency models attachments, the root, stops,
        mixtures and coarse tables, one after the other.
    """

    lower: Any
    upper: Any
    draws: np.ndarray


def row_intervals(
    structures: Structures, prior: Any, level: float, samples: list[GibbsSample]
) -> RowIntervals:
    """Quantiles of the mixture of the Dirichlets of kept samples, of models with flat counts."""
    each = [structures.free_rows(one.counts, prior) for one in samples]
    counts = np.array([rows.alpha for rows in each])
    totals = np.array([rows.totals[rows.row] for rows in each])
    ends = [each[0].mean, each[0].mean]
    # What is fixed has a mass that no quantile is needed of.
    free = np.flatnonzero((counts.max(axis=0) > 0) & (totals[0] < FIXED_MASS / 2))
    other = np.maximum(totals[:, free] - counts[:, free], 0.0)
    for end, tail in zip(ends, (0.5 - 0.5 * level, 0.5 + 0.5 * level), strict=True):
        end[free] = beta_mixture_quantile(counts[:, free], other, tail)
    return RowIntervals(ends[0], ends[1], np.array([one.weights for one in samples]))


def observed_errors(
    structures: Structures, counts: Any, prior: Any, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Mean probabilities, and standard errors of their logs by the observed information.

    What is missing is exact where there are few cells, and drawn where there are many.
    """
    cells = structures.free_rows(counts, prior)
    rows, size = cells.with_unlisted(), len(cells.alpha)
    if size <= _FEW_CELLS:
        scale = np.where(rows.alpha > 0, rows.alpha, np.inf) ** -0.5
        across = np.zeros((len(scale), len(scale)))
        across[:size, :size] = exact_covariance(structures, cells)
        missing = missing_information_of_covariance(
            scale[:, None] * across * scale, roots_of_rows(rows)
        )
    else:
        weights = structures.weights_at(cells.mean, counts, None)
        missing = missing_information_of_draws(
            draw_deviations(structures, weights, 2 * N_STRUCTURES, rng), rows, rng
        )
    return cells.mean, standard_errors(rows, missing)[:size]
