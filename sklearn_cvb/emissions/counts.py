"""Negative binomial and multinomial emissions: overdispersed counts, and counts of trials, whose
probabilities have Beta or Dirichlet posteriors. Scores are their predictive log densities.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, gammaln

from sklearn_cvb.emissions.categorical import BernoulliFamily, CategoricalFamily, probability_floor
from sklearn_cvb.emissions.emission import (
    Emission,
    Family,
    LinearScores,
    Observations,
    OutsideSupport,
    by_unit,
    per_step,
    positive,
    refuse_outside,
    refuse_where,
    score_by_value,
    table_in,
    values_and_mask,
)
from sklearn_cvb.emissions.rates import means_of
from sklearn_cvb.reading.moments import Moments
from sklearn_cvb.reading.validation import InvalidParameterError

# EM keeps probabilities of a negative binomial distribution this far from 0 and 1.
_FLOOR = 1e-12
_LARGEST_COUNT = 1e8


class _BaseMeasureFamily(CategoricalFamily):
    """A family whose last feature is the log base measure of a step, the same for all states."""

    def _counts(self, statistics: np.ndarray) -> np.ndarray:
        return np.maximum(statistics[..., :-1, :], 0.0)

    def _log_base_measure(self, statistics: np.ndarray) -> float:
        return float(statistics[..., -1, :].sum())

    def _linear(self, logs: np.ndarray) -> LinearScores:
        return LinearScores(np.concatenate([logs, np.ones_like(logs[:1])])[None])


@dataclass(eq=False, repr=False, kw_only=True)
class NegativeBinomial(Emission):
    """Columns of counts that vary more than Poisson's, independent given the state.

    The distribution is scipy's ``nbinom(size, probability)``: a Poisson distribution whose rate has
    a Gamma distribution of shape `size`. With mean m the variance is m + m ** 2 / size.

    Parameters
    ----------
    size : float, default=1.0
        Size of all distributions, which is not learned; 1 are geometric ones.
    size_prior : float or None, default=None
        Beta prior of each probability: its first parameter, which grows by `size` with every step;
        None for `size`, one step.
    count_prior : float or None, default=None
        Its second parameter, which grows by the counts; None for the mean of each column.

    Notes
    -----
    EM without a prior finds maximum likelihood; where one of the two priors is given, the maximum a
    posteriori of the log odds. Missing values are left out of a step exactly.

    Examples
    --------
    >>> from sklearn_cvb import VBHMM
    >>> from sklearn_cvb.emissions import NegativeBinomial
    >>> X = [[1, 0, 2, 1, 0, 1, 35, 18, 60, 41], [52, 19, 40, 1, 1, 0, 2, 0]]
    >>> model = VBHMM(2, emission=NegativeBinomial(size=5), random_state=0).fit(X)
    >>> p = model.probabilities_
    >>> sorted((5 * (1 - p) / p).ravel().round().tolist())
    [2.0, 35.0]
    """

    size: float = 1.0
    size_prior: float | None = None
    count_prior: float | None = None

    def bind(self, moments: Moments, n_states: int) -> "NegativeBinomialFamily":
        """The family, with one step of the mean of each column as the prior where none is given."""
        size, means = positive("size", self.size), means_of(moments)
        first, second = size, means
        if self.size_prior is not None:
            first = positive("size_prior", self.size_prior)
        if self.count_prior is not None:
            second = np.full_like(means, positive("count_prior", self.count_prior))
        is_given = self.size_prior is not None or self.count_prior is not None
        prior = np.concatenate([second, np.full_like(means, first)])
        sizes = np.full(len(means), 2)
        return NegativeBinomialFamily(size, prior, is_given, n_states, sizes)


class CountScores(NamedTuple):
    """Predictive densities under Beta distributions of the probabilities; both (n_units, D, K)."""

    size: float
    counts: np.ndarray
    sizes: np.ndarray

    def fill(self, observations: Observations, units: np.ndarray, out: np.ndarray) -> None:
        """Fill `out` (n_steps, K)."""
        values, observed = observations.values, observations.observed
        out[:] = observations.features[:, -1:]
        for d in range(values.shape[1]):
            score = score_by_value(partial(self._of_column, d), values[:, d], units)
            out += score if observed is None else np.where(observed[:, d, None], score, 0.0)

    def _of_column(self, d: int, column: np.ndarray, units: np.ndarray) -> np.ndarray:
        counts, sizes = self.counts[:, d], self.sizes[:, d]
        after = per_step(counts, units) + column[:, None], per_step(sizes + self.size, units)
        return betaln(*after) - per_step(betaln(counts, sizes), units)


class NegativeBinomialFamily(_BaseMeasureFamily, BernoulliFamily):
    """In a point 1 minus the probabilities, (D, K), come before the probabilities."""

    are_counts = True

    def __init__(
        self, size: float, prior: np.ndarray, is_given: bool, n_states: int, sizes: np.ndarray
    ) -> None:
        super().__init__(prior, is_given, _FLOOR, n_states, sizes)
        self.size = size
        self.n_statistics: int = 2 * self.n_columns + 1

    def read(self, table: np.ndarray) -> Observations:
        wrong = (table < 0) | (table != np.floor(table))
        refuse_where(wrong, table, "negative binomial emissions are counts (0, 1, 2, ...)")
        lost = "negative binomial counts above 1e8 lose all digits of their log probability"
        refuse_where(table > _LARGEST_COUNT, table, f"{lost}: take Gamma(shape=size)")
        values, observed = values_and_mask(table)
        there = np.ones_like(values) if observed is None else observed.astype(np.float64)
        base = gammaln(values + self.size) - gammaln(self.size) - gammaln(values + 1.0)
        base = base.sum(axis=1, keepdims=True)
        return Observations(values, observed, np.hstack([values, self.size * there, base]))

    def predictive(self, statistics: np.ndarray) -> CountScores:
        return CountScores(self.size, *np.split(self._posterior(by_unit(statistics)), 2, axis=-2))

    def sample(self, point: np.ndarray, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        odds = np.divide(*np.split(point, 2)).T[states]
        return rng.poisson(odds * rng.standard_gamma(self.size, odds.shape)).astype(np.float64)

    def distributions(self, point: np.ndarray, observations: Any) -> Any:
        from scipy.stats import nbinom

        return nbinom(self.size, point[self.n_columns :].T)

    def moments(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        odds = np.divide(*np.split(point, 2)).T
        return self.size * odds, self.size * odds * (1.0 + odds)

    def marginals(self, statistics: np.ndarray) -> dict[str, Any]:
        from scipy.stats import beta

        counts, sizes = np.split(self._posterior(statistics).T, 2, axis=1)
        return {"probabilities": beta(sizes, counts)}

    def point_from(self, parameters: dict[str, Any]) -> np.ndarray:
        table = table_in(parameters, "probabilities", (self.n_states, self.n_columns))
        inside = (table > 0) & (table <= 1)
        refuse_outside("probabilities", table, inside, "must be above 0 and at most 1")
        return np.ascontiguousarray(np.hstack([1.0 - table, table]).T)

    def attributes(self, point: np.ndarray) -> dict[str, Any]:
        return {"probabilities_": np.ascontiguousarray(point[self.n_columns :].T)}


@dataclass(eq=False, repr=False, kw_only=True)
class Multinomial(Emission):
    """Rows of counts, one for each of D outcomes, of as many trials as they sum to.

    Parameters
    ----------
    concentration_prior : float or None, default=None
        Concentration of the symmetric Dirichlet prior of each state; None for 1.
    floor : float, default=1e-6
        EM's smallest probability.

    Notes
    -----
    EM without a prior finds maximum likelihood; with `concentration_prior` it adds that to every
    count. A step is observed as a whole, or all its values are NaN. Samples and forecasts are of
    the mean number of trials.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_cvb import VBHMM
    >>> from sklearn_cvb.emissions import Multinomial
    >>> X = [np.array([[9, 1, 0], [8, 0, 2], [1, 0, 9], [0, 2, 8]])]
    >>> model = VBHMM(2, emission=Multinomial(), random_state=0).fit(X)
    >>> sorted(model.probabilities_.argmax(axis=1).tolist())
    [0, 2]
    """

    concentration_prior: float | None = None
    floor: float = 1e-6

    def bind(self, moments: Moments, n_states: int) -> "MultinomialFamily":
        """The family; the data say how many trials a step has on average."""
        prior = 1.0
        if self.concentration_prior is not None:
            prior = positive("concentration_prior", self.concentration_prior)
        is_given, n_columns = self.concentration_prior is not None, len(moments.means)
        n_trials = max(1, round(float(moments.means.sum())))
        floor = probability_floor(self.floor)
        return MultinomialFamily(n_trials, np.full(n_columns, prior), is_given, floor, n_states)


class DirichletMultinomialScores(NamedTuple):
    """Predictive densities under a Dirichlet distribution of the probabilities, (n_units, D, K)."""

    counts: np.ndarray

    def fill(self, observations: Observations, units: np.ndarray, out: np.ndarray) -> None:
        """Fill `out` (n_steps, K)."""
        values, totals = observations.values, self.counts.sum(axis=1)
        out[:] = observations.features[:, -1:]
        out -= score_by_value(partial(_log_rising, totals), values.sum(axis=1), units)
        for d in range(values.shape[1]):
            out += score_by_value(partial(_log_rising, self.counts[:, d]), values[:, d], units)


def _log_rising(counts: np.ndarray, column: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Log Gamma(counts + x) - log Gamma(counts) of a column x; a row of counts (K,) a unit."""
    found: np.ndarray = gammaln(per_step(counts, units) + column[:, None])
    return found - per_step(gammaln(counts), units)


class MultinomialFamily(_BaseMeasureFamily):
    """A point is an array of probabilities, (D, K)."""

    def __init__(
        self, n_trials: int, prior: np.ndarray, is_given: bool, floor: float, n_states: int
    ) -> None:
        super().__init__(prior, is_given, floor, n_states, np.array([len(prior)]))
        self.n_trials = n_trials
        self.n_columns: int = len(prior)
        self.n_statistics: int = len(prior) + 1

    def read(self, table: np.ndarray) -> Observations:
        wrong = (table < 0) | (table != np.floor(table))
        refuse_where(wrong, table, "multinomial emissions are counts (0, 1, 2, ...)")
        values, observed = values_and_mask(table)
        if observed is not None:
            partly = observed.any(axis=1) & ~observed.all(axis=1)
            if partly.any():
                step = int(partly.argmax())
                why = "multinomial emissions are missing as a whole, or not at all"
                raise OutsideSupport(step, int(observed[step].argmin()), why)
        base = gammaln(values.sum(axis=1) + 1.0) - gammaln(values + 1.0).sum(axis=1)
        return Observations(values, observed, np.column_stack([values, base]))

    def predictive(self, statistics: np.ndarray) -> DirichletMultinomialScores:
        return DirichletMultinomialScores(self._posterior(by_unit(statistics)))

    def sample(self, point: np.ndarray, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.multinomial(self.n_trials, point.T[states]).astype(np.float64)

    tails: Any = Family.tails

    def distributions(self, point: np.ndarray, observations: Observations) -> Any:
        from scipy.stats import binom

        trials = observations.values.sum(axis=1)
        return binom(trials[:, None, None], point.T)

    def moments(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        means = self.n_trials * point.T
        return means, means * (1.0 - point.T)

    def marginals(self, statistics: np.ndarray) -> dict[str, Any]:
        from scipy.stats import beta

        counts = self._posterior(statistics).T
        return {"probabilities": beta(counts, counts.sum(axis=1, keepdims=True) - counts)}

    def point_from(self, parameters: dict[str, Any]) -> np.ndarray:
        if self.n_columns == 1:
            raise InvalidParameterError(
                f"probabilities has shape {np.shape(parameters['probabilities'])}, this model "
                f"needs ({self.n_states}, n_columns), with two columns or more"
            )
        table = table_in(parameters, "probabilities", (self.n_states, self.n_columns))
        good = (table >= 0) & (np.abs(table.sum(axis=1, keepdims=True) - 1.0) < 1e-6)
        refuse_outside("probabilities", table, good, "must sum to 1")
        return np.ascontiguousarray(table.T)

    def attributes(self, point: np.ndarray) -> dict[str, Any]:
        return {"probabilities_": np.ascontiguousarray(point.T)}
