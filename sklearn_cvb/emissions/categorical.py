"""Categorical and Bernoulli emissions: columns of codes, or of zeros and ones. A point is an array
of probabilities, which have Dirichlet or Beta posteriors, and which EM keeps above a floor.

Columns are independent given the state. Each has a Dirichlet distribution, which is a Beta
distribution where there are two categories.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import digamma, gammaln, xlogy

from sklearn_cvb.emissions.emission import (
    MIN_STEPS,
    Emission,
    Family,
    LinearScores,
    Observations,
    OutsideSupport,
    Scores,
    Tails,
    by_unit,
    positive,
    refuse_outside,
    refuse_where,
    table_in,
    values_and_mask,
)
from sklearn_cvb.reading.moments import Moments
from sklearn_cvb.reading.validation import InvalidParameterError

# More categories than this are codes of something else, and would take all memory.
_MOST_CATEGORIES = 2**16


@dataclass(eq=False, repr=False, kw_only=True)
class Categorical(Emission):
    """Columns of category codes 0, 1, 2, ..., or of text, independent given the state.

    For columns beside others in `Columns`, and for symbols whose transitions have contexts or
    durations. For all other symbols the word "categorical" takes any hashable ones, in little
    memory, and is faster. A column of text gets codes by itself: its sorted labels are the model's
    ``categories_[name]``, or by number where columns have no names, the order of all its tables.
    Labels that a column declares (categories of pandas, Enum of polars) and no step has are among
    them, with the probability that the prior gives them, or in EM `floor`; all other labels that
    come later are refused.

    Parameters
    ----------
    concentration_prior : float or None, default=None
        Concentration of the symmetric Dirichlet prior of each state; None for 0.1.
    n_categories : int or None, default=None
        Number of categories of every column; None for one more than the largest code.
    floor : float, default=1e-6
        EM's smallest probability.

    Notes
    -----
    EM without a prior finds maximum likelihood; with `concentration_prior` it adds that to every
    count.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_cvb import EMHMM
    >>> from sklearn_cvb.emissions import Categorical, Columns, Poisson
    >>> X = np.array([[[0, 3], [0, 4], [1, 30], [1, 28], [1, 33]]])
    >>> mixed = Columns([(Categorical(), [0]), (Poisson(), [1])])
    >>> EMHMM(2, emission=mixed, random_state=0).fit(X).labels_[0].tolist() in (
    ...     [0, 0, 1, 1, 1], [1, 1, 0, 0, 0]
    ... )
    True
    """

    concentration_prior: float | None = None
    n_categories: int | None = None
    floor: float = 1e-6

    def categorical(self, names: list[Any]) -> list[Any]:
        """All of them."""
        return names

    def labels(self, given: dict[str, Any]) -> dict[Any, list[Any]]:
        """Names of the columns of tables that are frames."""
        tables = enumerate(given.get("category_probabilities", ()))
        named = {i: list(table.columns) for i, table in tables if hasattr(table, "columns")}
        return {i: own for i, own in named.items() if any(isinstance(one, str) for one in own)}

    def example(self, given: dict[str, Any]) -> np.ndarray:
        """The last category of each column."""
        tables = [np.atleast_2d(table) for table in _probability_tables(given)]
        return np.array([[table.shape[1] - 1.0 for table in tables]])

    def bind(self, moments: Moments, n_states: int) -> "CategoricalFamily":
        """The family, with as many categories as the data have where none is given."""
        is_given, prior = self.concentration_prior is not None, 0.1
        if is_given:
            prior = positive("concentration_prior", self.concentration_prior)
        if self.n_categories is None:
            largest = moments.largest
            if (largest >= _MOST_CATEGORIES).any():
                column = int(largest.argmax())
                raise ValueError(
                    f"column {column} has a category code of {largest[column]:g}, and there are "
                    "as many categories as the largest code says: encode them as 0, 1, 2, ..., as "
                    "sklearn.preprocessing.OrdinalEncoder does, or give n_categories"
                )
            sizes = (np.maximum(largest, 0) + 1).astype(np.int64)
        else:
            sizes = np.full(len(moments.means), int(positive("n_categories", self.n_categories)))
        floor = probability_floor(self.floor)
        return CategoricalFamily(np.full(sizes.sum(), prior), is_given, floor, n_states, sizes)


def probability_floor(value: Any) -> float:
    """A smallest probability, which leaves room for two."""
    floor = positive("floor", value)
    if floor >= 0.5:
        raise InvalidParameterError(f"floor must be a probability below 0.5, got {value!r}")
    return floor


def _probability_tables(parameters: dict[str, Any]) -> Any:
    """A table of each column, as a user gives them; one alone may stand without a list."""
    tables = parameters.get("category_probabilities", ())
    return [tables] if len(tables) and np.ndim(tables[0]) == 1 else tables


class CategoricalFamily(Family):
    """A point is an array of probabilities, (F, K): the categories of all columns in a row."""

    is_discrete = True

    def __init__(
        self, prior: np.ndarray, is_given: bool, floor: float, n_states: int, sizes: np.ndarray
    ) -> None:
        self.prior: np.ndarray = prior[:, None]
        self.is_given = is_given
        self.floor = floor
        self.n_states = n_states
        self.n_columns: int = len(sizes)
        self.sizes = sizes
        self.n_statistics: int = int(sizes.sum())
        self.n_parameters: int = n_states * (self.n_statistics - len(sizes))
        # Where the categories of each column begin.
        self.begins: np.ndarray = np.concatenate([[0], np.cumsum(sizes)[:-1]])

    def read(self, table: np.ndarray) -> Observations:
        values, observed = values_and_mask(table)
        wrong = (values < 0) | (values != np.floor(values)) | (values >= self.sizes)
        if wrong.any():
            step, column = map(int, np.argwhere(wrong)[0])
            why = f"categories are 0 to {self.sizes[column] - 1}, got {values[step, column]:g}: "
            raise OutsideSupport(step, column, f"{why}encode them, or give n_categories")
        features = np.zeros((len(values), self.n_statistics))
        steps, columns = np.nonzero(np.ones_like(values) if observed is None else observed)
        features[steps, self.begins[columns] + values[steps, columns].astype(np.int64)] = 1.0
        return Observations(values, observed, features)

    def _by_column(self, counts: np.ndarray) -> np.ndarray:
        """Sums over each column's categories, (..., D, K)."""
        return np.add.reduceat(counts, self.begins, axis=-2)

    def _totals(self, counts: np.ndarray) -> np.ndarray:
        """The same, spread over the categories, (..., F, K)."""
        return np.repeat(self._by_column(counts), self.sizes, axis=-2)

    def _counts(self, statistics: np.ndarray) -> np.ndarray:
        return np.maximum(statistics, 0.0)

    def _log_base_measure(self, statistics: np.ndarray) -> float:
        """The part of the log probability of all steps that is the same for all states."""
        return 0.0

    def _linear(self, logs: np.ndarray) -> LinearScores:
        return LinearScores(logs[None])

    def _posterior(self, statistics: np.ndarray) -> np.ndarray:
        return self._counts(statistics) + self.prior

    def _floored(self, point: np.ndarray) -> np.ndarray:
        point = np.maximum(point, self.floor)
        return point / self._totals(point)

    def most_likely(self, statistics: np.ndarray, before: np.ndarray | None = None) -> np.ndarray:
        counts = self._posterior(statistics) if self.is_given else self._counts(statistics)
        totals = self._totals(counts)
        if before is None:
            before = 1.0 / self._totals(np.ones_like(counts))
        found = self._floored(counts / np.maximum(totals, MIN_STEPS))
        return np.where(totals > MIN_STEPS, found, before)

    def mean(self, statistics: np.ndarray) -> np.ndarray:
        counts = self._posterior(statistics)
        return counts / self._totals(counts)

    def draw(self, statistics: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        drawn = np.maximum(rng.standard_gamma(self._posterior(statistics)), 1e-300)
        return drawn / self._totals(drawn)

    def log_densities(self, point: np.ndarray) -> LinearScores:
        return self._linear(np.log(point))

    def expected_log_densities(self, statistics: np.ndarray) -> LinearScores:
        counts = self._posterior(statistics)
        return self._linear(digamma(counts) - digamma(self._totals(counts)))

    def predictive(self, statistics: np.ndarray) -> Scores:
        counts = self._posterior(by_unit(statistics))
        return LinearScores(np.log(counts) - np.log(self._totals(counts)))

    def log_evidence(self, statistics: np.ndarray) -> float:
        counts = self._posterior(statistics)
        prior = np.broadcast_to(self.prior, counts.shape)
        of_totals = gammaln(self._by_column(counts)) - gammaln(self._by_column(prior))
        value = (gammaln(counts) - gammaln(prior)).sum() - of_totals.sum()
        return float(value) + self._log_base_measure(statistics)

    def log_prior(self, point: np.ndarray) -> float:
        return float(xlogy(self.prior, point).sum()) if self.is_given else 0.0

    def sample(self, point: np.ndarray, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        drawn = np.empty((len(states), self.n_columns))
        for column, (begin, size) in enumerate(zip(self.begins, self.sizes, strict=True)):
            levels = np.cumsum(point[begin : begin + size], axis=0).T[states]
            uniform = rng.random((len(states), 1)) * levels[:, -1:]
            drawn[:, column] = (uniform >= levels[:, :-1]).sum(axis=1)
        return drawn

    def tails(self, point: np.ndarray, observations: Any) -> Tails:
        # Codes have no order.
        shape = len(self.observed_mask(observations)), self.n_states, self.n_columns
        return Tails(*(np.full(shape, np.nan) for _ in Tails._fields))

    def moments(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        codes = np.arange(len(point)) - np.repeat(self.begins, self.sizes)
        means = self._by_column(point * codes[:, None])
        squares = self._by_column(point * codes[:, None] ** 2)
        return means.T, (squares - means**2).T

    def marginals(self, statistics: np.ndarray) -> dict[str, Any]:
        from scipy.stats import beta

        counts = self._posterior(statistics)
        others = self._totals(counts) - counts
        tables = [np.split(table.T, self.begins[1:], axis=1) for table in (counts, others)]
        pairs = zip(*tables, strict=True)
        return {"category_probabilities": [beta(own, rest) for own, rest in pairs]}

    def point_from(self, parameters: dict[str, Any]) -> np.ndarray:
        name, tables = "category_probabilities", _probability_tables(parameters)
        if len(tables) != self.n_columns:
            raise InvalidParameterError(f"{name} must hold {self.n_columns} tables, one a column")
        found = [
            table_in({name: table}, name, (self.n_states, size))
            for table, size in zip(tables, self.sizes.tolist(), strict=True)
        ]
        for table in found:
            good = (table >= 0) & (np.abs(table.sum(axis=1, keepdims=True) - 1.0) < 1e-6)
            refuse_outside(name, table, good, "must sum to 1")
        return np.ascontiguousarray(np.hstack(found).T)

    def attributes(self, point: np.ndarray) -> dict[str, Any]:
        tables = np.split(point.T, self.begins[1:], axis=1)
        return {"category_probabilities_": [np.ascontiguousarray(table) for table in tables]}


@dataclass(eq=False, repr=False, kw_only=True)
class Bernoulli(Emission):
    """Columns of zeros and ones, independent given the state.

    Parameters
    ----------
    ones_prior, zeros_prior : float or None, default=None
        Beta prior of each probability: as if so many ones and zeros had been seen in each state
        and column. None for 1 and 1.
    floor : float, default=1e-6
        EM keeps probabilities this far from 0 and 1.

    Notes
    -----
    EM without a prior finds maximum likelihood; where one of the two priors is given, the maximum a
    posteriori of the log odds (counts plus prior). Missing values are left out of a step exactly.

    Examples
    --------
    >>> from sklearn_cvb import EMHMM
    >>> X = [[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 1, 0, 0, 0]]
    >>> model = EMHMM(2, emission="bernoulli", random_state=0).fit(X)
    >>> model.probabilities_.round(2).ravel().tolist()
    [0.0, 1.0]
    """

    ones_prior: float | None = None
    zeros_prior: float | None = None
    floor: float = 1e-6

    def bind(self, moments: Moments, n_states: int) -> "BernoulliFamily":
        """The family; the data do not change the prior."""
        given = {"ones_prior": self.ones_prior, "zeros_prior": self.zeros_prior}
        prior = [1.0 if value is None else positive(name, value) for name, value in given.items()]
        is_given = any(value is not None for value in given.values())
        floor, sizes = probability_floor(self.floor), np.full(len(moments.means), 2)
        return BernoulliFamily(np.repeat(prior, len(sizes)), is_given, floor, n_states, sizes)


class BernoulliFamily(CategoricalFamily):
    """Two categories a column: in a point those of ones, (D, K), come before those of zeros."""

    def read(self, table: np.ndarray) -> Observations:
        refuse_where((table != 0) & (table != 1), table, "Bernoulli emissions are 0 or 1")
        values, observed = values_and_mask(table)
        there = np.ones_like(values) if observed is None else observed.astype(np.float64)
        return Observations(values, observed, np.hstack([values, there - values]))

    def _by_column(self, counts: np.ndarray) -> np.ndarray:
        return counts[..., : self.n_columns, :] + counts[..., self.n_columns :, :]

    def _totals(self, counts: np.ndarray) -> np.ndarray:
        return np.concatenate([self._by_column(counts)] * 2, axis=-2)

    def _floored(self, point: np.ndarray) -> np.ndarray:
        ones = np.clip(point[: self.n_columns], self.floor, 1.0 - self.floor)
        return np.concatenate([ones, 1.0 - ones])

    def draw(self, statistics: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        drawn = rng.beta(*np.split(self._posterior(statistics), 2))
        # A beta of tiny parameters may round to 0 or 1.
        ones = np.clip(drawn, 1e-300, 1.0 - 2.0**-53)
        return np.concatenate([ones, 1.0 - ones])

    def sample(self, point: np.ndarray, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        probabilities = point[: self.n_columns].T[states]
        return (rng.random(probabilities.shape) < probabilities).astype(np.float64)

    tails: Any = Family.tails

    def distributions(self, point: np.ndarray, observations: Any) -> Any:
        from scipy.stats import bernoulli

        return bernoulli(point[: self.n_columns].T)

    def moments(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        ones, zeros = np.split(point, 2)
        return ones.T, (ones * zeros).T

    def marginals(self, statistics: np.ndarray) -> dict[str, Any]:
        from scipy.stats import beta

        ones, zeros = np.split(self._posterior(statistics).T, 2, axis=1)
        return {"probabilities": beta(ones, zeros)}

    def point_from(self, parameters: dict[str, Any]) -> np.ndarray:
        table = table_in(parameters, "probabilities", (self.n_states, self.n_columns))
        inside = (table >= 0) & (table <= 1)
        refuse_outside("probabilities", table, inside, "must be from 0 to 1")
        return np.ascontiguousarray(np.hstack([table, 1.0 - table]).T)

    def attributes(self, point: np.ndarray) -> dict[str, Any]:
        return {"probabilities_": np.ascontiguousarray(point[: self.n_columns].T)}
