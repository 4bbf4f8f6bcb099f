"""Dirichlet rows (a state's transitions or emissions, the rules of a symbol): posterior means, exp
E[log], divergence and evidence; concentrations learned by fixed points, where absence is that a
count is 0 and `p_positive` the probability that it is not.

Rows come as their listed cells and their totals; cells left out are at their prior value and cancel
in every formula. Concentrations are learned by `fixed_point` or `damped_fixed_point`, whatever the
model.
"""

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, xlogy

# One number, or one for each cell.
Numbers = float | np.ndarray

# No concentration, learned or given, leaves this range: at its ends digamma differences lose all
# digits, and of a count plus a prior the smaller one is soon lost.
SMALLEST, LARGEST = 1e-10, 1e10

# Prior mass of a row that is fixed: beside it no count has a digit, and means, leave-one-out ratios
# and draws are what the row was given. Products of a few such numbers stay finite.
FIXED_MASS = 2.0**100

# A row whose Gamma draws sum to less has lost digits, and is drawn again in log space.
_SMALLEST_TOTAL = 1e-250

# From this many cells on, those with equal counts share the work.
_MANY = 1000

# Learned concentrations start here. After a start that says nothing they rest for so many sweeps:
# its states are nearly alike, and would be kept so by the concentrations that this tells of.
FIRST_VALUE, WARM_UP_SWEEPS = 0.1, 20
# Below this expected count P(C > 0) is the count itself: a product of 1 - q has no digits left.
_SMALL_COUNT = 1e-6


class Dirichlets(NamedTuple):
    """Parameters of the Dirichlet distributions of some rows, and their sums by row."""

    cells: np.ndarray
    totals: np.ndarray


class DirichletRows(NamedTuple):
    """Counts and prior of rows of probabilities, as their listed cells and the totals of rows."""

    counts: np.ndarray
    prior: Numbers  # as the counts
    count_totals: np.ndarray  # (n_rows,)
    prior_totals: np.ndarray  # (n_rows,), of all cells of a row, listed or not
    row: Any  # where each cell finds its total: an index of totals as of cells
    widths: np.ndarray | None = None  # (n_rows,), cells of a row, listed or not

    @property
    def posterior(self) -> Dirichlets:
        """Those of the posterior; of rows that are fixed those of the prior."""
        cells, totals = self.counts + self.prior, self.count_totals + self.prior_totals
        fixed = self.fixed
        if not fixed.any():
            return Dirichlets(cells, totals)
        cells = np.where(fixed[self.row], self.prior, cells)
        return Dirichlets(cells, np.where(fixed, self.prior_totals, totals))

    @property
    def fixed(self) -> np.ndarray:
        """Which rows are fixed: they teach nothing, and have no divergence or density."""
        return np.asarray(self.prior_totals) >= FIXED_MASS / 2

    def mean(self, kept: np.ndarray | None = None) -> np.ndarray:
        """Posterior means; a row without count and prior keeps its values (None: equal shares)."""
        cells, totals = self.posterior
        below = totals[self.row]
        if totals.all():
            return cells / below
        if kept is None:
            assert self.widths is not None, "without widths all rows have count or prior"
            kept = 1.0 / self.widths[self.row]
        return np.where(below > 0, cells / np.where(below > 0, below, 1.0), kept)

    def expected_log(self) -> np.ndarray:
        """E[log theta] under the posterior (Beal 2003; Wang and Blunsom 2013)."""
        cells, totals = self.posterior
        logs = digamma(cells) - digamma(totals)[self.row]
        if not self.fixed.any():
            return logs
        with np.errstate(divide="ignore"):
            return np.where(self.fixed[self.row], np.log(cells / totals[self.row]), logs)

    def exp_expected_log(self) -> np.ndarray:
        """Its exponential, which does not sum to 1."""
        return np.exp(self.expected_log())

    def divergence(self, expected_log: np.ndarray | None = None) -> float:
        """KL of the posterior from the prior (nats; Beal 2003, appendix A)."""
        logs = self.expected_log() if expected_log is None else expected_log
        if self.fixed.any():
            return self._without_fixed().divergence(np.where(self.fixed[self.row], 0.0, logs))
        return float(np.sum(self.counts * logs)) - self.log_evidence()

    def _without_fixed(self) -> "DirichletRows":
        """The same with rows in the place of fixed ones in which nothing is counted."""
        here = self.fixed[self.row]
        none = self.count_totals * ~self.fixed, np.where(self.fixed, 1.0, self.prior_totals)
        cells = np.where(here, 0.0, self.counts), np.where(here, 1.0, self.prior)
        return DirichletRows(*cells, *none, self.row)

    def exp_log_and_divergence(self) -> tuple[np.ndarray, float]:
        """exp E[log theta], and the divergence, which shares its digammas."""
        logs = self.expected_log()
        return np.exp(logs), self.divergence(logs)

    def log_prior_density(self, weights: np.ndarray) -> float:
        """The log prior of listed cells in the softmax basis: the sum of u log theta (nats)."""
        prior = np.where(self.fixed[self.row], 0.0, self.prior) if self.fixed.any() else self.prior
        return float(np.sum(xlogy(prior, weights))) if self.prior_totals.any() else 0.0

    def log_evidence(self) -> float:
        """Log probability of whole counts in a given order (nats)."""
        if self.fixed.any():
            here = self.fixed[self.row]
            known = xlogy(self.counts, self.mean())[here].sum()
            return float(known) + self._without_fixed().log_evidence()
        return log_evidence(self.counts, self.prior, self.count_totals, self.prior_totals)


def log_evidence(
    counts: np.ndarray, prior_cells: Numbers, count_totals: np.ndarray, prior_totals: Numbers
) -> float:
    """Sum over rows of the log Dirichlet-multinomial probability of counts in a given order, nats.

    Wang and Blunsom (2013), the Gamma functions behind eq. 12.
    """
    return float(
        np.sum(gammaln(counts + prior_cells) - _log_gamma_of_prior(prior_cells))
        - np.sum(gammaln(count_totals + prior_totals) - gammaln(prior_totals))
    )


def _log_gamma_of_prior(cells: Numbers) -> np.ndarray:
    """log Gamma of the cells of a prior: equal ones come in long rows, and are done once."""
    cells = np.asarray(cells)
    if cells.size < _MANY:
        return gammaln(cells)
    flat = cells.ravel()
    first = np.flatnonzero(np.append(True, flat[1:] != flat[:-1])[: flat.size])
    return np.repeat(gammaln(flat[first]), np.diff(first, append=flat.size)).reshape(cells.shape)


def log_rising_factorial(counts: np.ndarray, prior: np.ndarray) -> float:
    """Sum of log Gamma(C + u) - log Gamma(u) over whole counts C with prior u."""
    if len(counts) > _MANY and prior.min() == prior.max():
        # Most of many cells have one of a few small counts.
        times = np.bincount(counts.astype(np.intp))
        counts = np.flatnonzero(times)
        return float(times[counts] @ (gammaln(counts + prior[0]) - gammaln(prior[0])))
    used = counts > 0
    return float(np.sum(gammaln(counts[used] + prior[used]) - gammaln(prior[used])))


def log_gamma_prior(value: float, shape: float, rate: float) -> float:
    """Log density of a Gamma(shape, rate) distribution at `value`."""
    return (shape - 1.0) * math.log(value) - rate * value + shape * math.log(rate) - gammaln(shape)


def digamma_gain(counts: np.ndarray, p_positive: Numbers, concentration: Numbers) -> np.ndarray:
    """E[digamma(C + a) - digamma(a)] for counts C with mean `counts` and P(C > 0) `p_positive`.

    Given C > 0 its mean is counts / p_positive, and digamma is smooth there; at C = 0 the
    difference is 0. Where `p_positive` is 1 wherever a count is, this is the plain form of eq. 29.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        given = np.where(p_positive > 0, counts / p_positive, 0.0)
    return p_positive * (digamma(given + concentration) - digamma(concentration))


def log_absence(
    places: np.ndarray, units: np.ndarray, counts: np.ndarray, n_places: int
) -> np.ndarray:
    """log P(C = 0) of each place, units taken as independent.

    A unit uses a place with a probability of at most its expected count there, which the counts of
    equal place and unit sum to.
    """
    keys, inverse = np.unique(units * n_places + places, return_inverse=True)
    used = np.bincount(inverse.ravel(), counts.ravel(), keys.size)
    with np.errstate(divide="ignore"):
        logs = np.log1p(-np.clip(used, 0.0, 1.0))
    return np.bincount(keys % n_places, logs, n_places)


# Concentrations that are learned while fitting: one step a sweep


class SymmetricRows(NamedTuple):
    """Rows of one table that share a symmetric prior, and how surely their counts are positive.

    Attributes
    ----------
    counts : ndarray of shape (n_cells,)
        Counts of the listed cells of all rows.
    p_positive : ndarray of shape (n_cells,)
        P(C > 0) of each.
    totals : ndarray of shape (n_rows,)
        Totals of the rows.
    p_total_positive : ndarray of shape (n_rows,)
        P(C > 0) of each.
    width : int
        Number of cells in a row, listed or not.
    """

    counts: np.ndarray
    p_positive: np.ndarray
    totals: np.ndarray
    p_total_positive: np.ndarray
    width: int


def first_concentration(concentration: Any) -> float:
    """The concentration of the first sweep; "auto" and a prior mark one to learn."""
    return float(concentration) if isinstance(concentration, Real) else FIRST_VALUE


def log_density(value: float, is_learned: bool, gamma: tuple[float, float]) -> float:
    """Log density of a learned concentration under its Gamma prior (nats); 0 for a fixed one."""
    return log_gamma_prior(value, *gamma) if is_learned else 0.0


def positive_probability(missing: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """P(C > 0) of counts with mean `expected` that are 0 with probability `missing`."""
    return np.where(expected < _SMALL_COUNT, np.minimum(expected, 1.0), 1.0 - missing)


def fixed_point(
    concentration: float, rows: Sequence[tuple[Any, ...]], shape: float, rate: float
) -> float:
    """One step of Minka's fixed point for a symmetric concentration (paper eq. 29).

    `rows` hold the fields of `SymmetricRows` per table.
    """
    gain, loss = shape - 1.0, rate
    for counts, p_positive, totals, p_total_positive, width in rows:
        gain += concentration * np.sum(digamma_gain(counts, p_positive, concentration))
        loss += width * np.sum(digamma_gain(totals, p_total_positive, width * concentration))
    return float(np.clip(gain / loss, SMALLEST, LARGEST))


def damped_fixed_point(
    concentration: float, rows: Sequence[tuple[Any, ...]], shape: float, rate: float
) -> float:
    """One fixed-point step, shortened until the evidence of the counts does not fall.

    With fractional counts the plain step can overshoot; its direction is always uphill.
    """

    def evidence(value: float) -> float:
        total = log_gamma_prior(value, shape, rate)
        for counts, _, totals, _, width in rows:
            total += log_evidence(counts, value, totals, width * value)
        return total

    target = fixed_point(concentration, rows, shape, rate)
    before = evidence(concentration)
    for _ in range(30):
        if evidence(target) >= before:
            return target
        target = math.sqrt(target * concentration)
    return concentration


def draw_rows(
    parameters: np.ndarray,
    rows: np.ndarray,
    rest: np.ndarray,
    temperature: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw from one Dirichlet for each row, also where the parameters are tiny.

    At temperature tau the draws are those of the density over log probabilities to the power
    1 / tau, raised to 1 / tau. `rest` sums the parameters of the cells of each row not listed.
    """
    if temperature == 1.0:
        draws = rng.standard_gamma(parameters)
        totals = np.bincount(rows, draws, len(rest)) + rng.standard_gamma(rest)
        # A draw's direction does not depend on its sum: none is preferred by drawing again.
        if totals.min() > _SMALLEST_TOTAL:
            return draws / totals[rows]
    logs = _log_gamma_draws(parameters / temperature, rng)
    rest_logs = _log_gamma_draws(rest / temperature, rng)
    largest = rest_logs.copy()
    np.maximum.at(largest, rows, logs)
    listed = np.bincount(rows, np.exp(logs - largest[rows]), len(rest))
    log_totals = largest + np.log(listed + np.exp(rest_logs - largest))
    return np.exp((logs - log_totals[rows]) / temperature)


def _log_gamma_draws(shapes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Logs of Gamma draws, also of those below float64; -inf where the shape is 0."""
    with np.errstate(divide="ignore"):
        return np.log(rng.standard_gamma(shapes + 1.0)) - rng.standard_exponential(
            shapes.shape
        ) / np.maximum(shapes, 0.0)
