"""Categorical emissions among others: columns of codes 0, 1, ..., independent given the state."""

from typing import Any

import numpy as np
from scipy.special import digamma, gammaln, xlogy

from sklearn_cvb.emissions.conjugate import FEWEST, FeatureFamily, LinearScores, as_units
from sklearn_cvb.emissions.emission import (
    Emission,
    Observations,
    OutsideSupport,
    Scores,
    positive,
    with_zeros,
)

# More categories than this are codes of something else, and would take all memory.
_MOST_CATEGORIES = 2**16


class Categorical(Emission):
    """Columns of category codes 0, 1, 2, ..., independent given the state.

    For columns beside others in `Columns`. Where symbols are all there is, the word "categorical"
    takes any hashable symbols, and is faster.

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

    def __init__(
        self,
        *,
        concentration_prior: float | None = None,
        n_categories: int | None = None,
        floor: float = 1e-6,
    ) -> None:
        self.concentration_prior = concentration_prior
        self.n_categories = n_categories
        self.floor = floor

    def bind(self, table: np.ndarray, n_states: int) -> "CategoricalFamily":
        """The family, with as many categories as the data have where none is given."""
        prior = 0.1
        if self.concentration_prior is not None:
            prior = positive("concentration_prior", self.concentration_prior)
        if self.n_categories is None:
            largest = np.nan_to_num(table).max(axis=0)
            if (largest >= _MOST_CATEGORIES).any():
                column = int(largest.argmax())
                raise ValueError(
                    f"column {column} has a category code of {largest[column]:g}, and there are "
                    "as many categories as the largest code says: encode them as 0, 1, 2, ..., as "
                    "sklearn.preprocessing.OrdinalEncoder does, or give n_categories"
                )
            sizes = (np.maximum(largest, 0) + 1).astype(np.int64)
        else:
            sizes = np.full(table.shape[1], int(positive("n_categories", self.n_categories)))
        is_given = self.concentration_prior is not None
        return CategoricalFamily(prior, is_given, positive("floor", self.floor), n_states, sizes)


class CategoricalFamily(FeatureFamily):
    """A point is an array of probabilities, (F, K): the categories of all columns in a row."""

    def __init__(
        self, prior: float, is_given: bool, floor: float, n_states: int, sizes: np.ndarray
    ) -> None:
        self.prior = prior
        self.is_given = is_given
        self.floor = floor
        self.n_states = n_states
        self.n_columns = len(sizes)
        self.sizes = sizes
        self.n_statistics = int(sizes.sum())
        # Where the categories of each column begin.
        self.begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])

    def read(self, table: np.ndarray) -> Observations:
        values, observed = with_zeros(table)
        wrong = (values < 0) | (values != np.floor(values)) | (values >= self.sizes)
        if wrong.any():
            step, column = map(int, np.argwhere(wrong)[0])
            raise OutsideSupport(
                step,
                column,
                f"categories are 0 to {self.sizes[column] - 1}, got {values[step, column]:g}: "
                "encode them, or give n_categories",
            )
        features = np.zeros((len(values), self.n_statistics))
        steps, columns = np.nonzero(np.ones_like(values) if observed is None else observed)
        features[steps, self.begins[columns] + values[steps, columns].astype(np.int64)] = 1.0
        return Observations(values, observed, features)

    def _totals(self, counts: np.ndarray) -> np.ndarray:
        """Sums over each column's categories, spread over these, (..., F, K)."""
        totals = np.add.reduceat(counts, self.begins, axis=-2)
        return np.repeat(totals, self.sizes, axis=-2)

    def _posterior(self, statistics: np.ndarray) -> np.ndarray:
        return np.maximum(statistics, 0.0) + self.prior

    def most_likely(self, statistics: np.ndarray, kept: np.ndarray | None = None) -> np.ndarray:
        counts = self._posterior(statistics) if self.is_given else np.maximum(statistics, 0.0)
        totals = self._totals(counts)
        if kept is None:
            kept = 1.0 / self._totals(np.ones_like(counts))
        found = np.where(totals > FEWEST, counts / np.maximum(totals, FEWEST), kept)
        found = np.maximum(found, self.floor)
        return found / self._totals(found)

    def mean(self, statistics: np.ndarray) -> np.ndarray:
        counts = self._posterior(statistics)
        return counts / self._totals(counts)

    def draw(self, statistics: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        drawn = np.maximum(rng.standard_gamma(self._posterior(statistics)), 1e-300)
        return drawn / self._totals(drawn)

    def at(self, point: np.ndarray) -> Scores:
        return LinearScores(np.log(point)[None])

    def expected(self, statistics: np.ndarray) -> Scores:
        counts = self._posterior(statistics)
        return LinearScores((digamma(counts) - digamma(self._totals(counts)))[None])

    def predictive(self, statistics: np.ndarray) -> Scores:
        counts = self._posterior(as_units(statistics))
        return LinearScores(np.log(counts) - np.log(self._totals(counts)))

    def _of_totals(self, function: Any, counts: np.ndarray) -> float:
        """The sum of a function over the totals of all columns and states."""
        return float(function(np.add.reduceat(counts, self.begins, axis=-2)).sum())

    def divergence(self, statistics: np.ndarray) -> float:
        counts = self._posterior(statistics)
        prior = np.full_like(counts, self.prior)
        logs = digamma(counts) - digamma(self._totals(counts))
        return (
            float(((counts - prior) * logs - gammaln(counts) + gammaln(prior)).sum())
            + self._of_totals(gammaln, counts)
            - self._of_totals(gammaln, prior)
        )

    def log_evidence(self, statistics: np.ndarray) -> float:
        counts = self._posterior(statistics)
        prior = np.full_like(counts, self.prior)
        return (
            float((gammaln(counts) - gammaln(prior)).sum())
            - self._of_totals(gammaln, counts)
            + self._of_totals(gammaln, prior)
        )

    def log_prior(self, point: np.ndarray) -> float:
        return float(xlogy(self.prior, point).sum()) if self.is_given else 0.0

    def sample(self, point: np.ndarray, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        drawn = np.empty((len(states), self.n_columns))
        for column, (begin, size) in enumerate(zip(self.begins, self.sizes, strict=True)):
            levels = np.cumsum(point[begin : begin + size], axis=0).T[states]
            uniform = rng.random((len(states), 1)) * levels[:, -1:]
            drawn[:, column] = (uniform >= levels[:, :-1]).sum(axis=1)
        return drawn

    def moments(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        codes = np.arange(len(point)) - np.repeat(self.begins, self.sizes)
        means = np.add.reduceat(point * codes[:, None], self.begins)
        squares = np.add.reduceat(point * codes[:, None] ** 2, self.begins)
        return means.T, (squares - means**2).T

    def marginals(self, statistics: np.ndarray) -> dict[str, Any]:
        from scipy.stats import beta

        counts = self._posterior(statistics)
        others = self._totals(counts) - counts
        tables = [np.split(table.T, self.begins[1:], axis=1) for table in (counts, others)]
        pairs = zip(*tables, strict=True)
        return {"category_probabilities": [beta(own, rest) for own, rest in pairs]}

    def attributes(self, point: np.ndarray) -> dict[str, Any]:
        tables = np.split(point.T, self.begins[1:], axis=1)
        return {"category_probabilities_": [np.ascontiguousarray(table) for table in tables]}
