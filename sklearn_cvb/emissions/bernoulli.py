"""Bernoulli emissions: columns of zeros and ones, independent given the state."""

from typing import Any

import numpy as np
from scipy.special import betaln, digamma, xlog1py, xlogy

from sklearn_cvb.emissions.conjugate import FEWEST, FeatureFamily, LinearScores, as_units
from sklearn_cvb.emissions.emission import (
    Emission,
    Observations,
    Scores,
    positive,
    refuse_where,
    with_zeros,
)


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

    def __init__(
        self,
        *,
        ones_prior: float | None = None,
        zeros_prior: float | None = None,
        floor: float = 1e-6,
    ) -> None:
        self.ones_prior = ones_prior
        self.zeros_prior = zeros_prior
        self.floor = floor

    def bind(self, table: np.ndarray, n_states: int) -> "BernoulliFamily":
        """The family; the data do not change the prior."""
        given = [self.ones_prior, self.zeros_prior]
        prior = [
            1.0 if value is None else positive(name, value)
            for name, value in zip(("ones_prior", "zeros_prior"), given, strict=True)
        ]
        is_given = any(value is not None for value in given)
        return BernoulliFamily(
            np.array(prior), is_given, min(positive("floor", self.floor), 0.5), n_states, table
        )


class BernoulliFamily(FeatureFamily):
    """A point is an array of probabilities of a one, (D, K)."""

    def __init__(
        self,
        prior: np.ndarray,
        is_given: bool,
        floor: float,
        n_states: int,
        table: np.ndarray,
    ) -> None:
        self.prior = prior
        self.is_given = is_given
        self.floor = floor
        self.n_states = n_states
        self.n_columns = table.shape[1]
        self.n_statistics = 2 * self.n_columns

    def read(self, table: np.ndarray) -> Observations:
        values, observed = with_zeros(table)
        refuse_where((values != 0) & (values != 1), values, "Bernoulli emissions are 0 or 1")
        there = np.ones_like(values) if observed is None else observed.astype(np.float64)
        return Observations(values, observed, np.hstack([values, there - values]))

    def _parts(self, statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of ones and zeros, (..., D, K) each."""
        counts = np.maximum(statistics, 0.0)
        return counts[..., : self.n_columns, :], counts[..., self.n_columns :, :]

    def _posterior(self, statistics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Parameters of the Beta distributions."""
        ones, zeros = self._parts(statistics)
        return ones + self.prior[0], zeros + self.prior[1]

    def most_likely(self, statistics: np.ndarray, kept: np.ndarray | None = None) -> np.ndarray:
        ones, zeros = self._posterior(statistics) if self.is_given else self._parts(statistics)
        total = ones + zeros
        if kept is None:
            kept = np.full_like(total, 0.5)
        found = np.where(total > FEWEST, ones / np.maximum(total, FEWEST), kept)
        return np.clip(found, self.floor, 1.0 - self.floor)

    def mean(self, statistics: np.ndarray) -> np.ndarray:
        ones, zeros = self._posterior(statistics)
        return ones / (ones + zeros)

    def draw(self, statistics: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        ones, zeros = self._posterior(statistics)
        # A beta of tiny parameters may round to 0 or 1.
        return np.clip(rng.beta(ones, zeros), 1e-300, 1.0 - 2.0**-53)

    def at(self, point: np.ndarray) -> Scores:
        return LinearScores(np.concatenate([np.log(point), np.log1p(-point)])[None])

    def expected(self, statistics: np.ndarray) -> Scores:
        ones, zeros = self._posterior(statistics)
        total = digamma(ones + zeros)
        return LinearScores(np.concatenate([digamma(ones) - total, digamma(zeros) - total])[None])

    def predictive(self, statistics: np.ndarray) -> Scores:
        ones, zeros = self._posterior(as_units(statistics))
        total = np.log(ones + zeros)
        return LinearScores(np.concatenate([np.log(ones) - total, np.log(zeros) - total], axis=1))

    def divergence(self, statistics: np.ndarray) -> float:
        ones, zeros = self._posterior(statistics)
        a, b = self.prior
        value = betaln(a, b) - betaln(ones, zeros)
        value = value + (ones - a) * digamma(ones) + (zeros - b) * digamma(zeros)
        value = value - (ones - a + zeros - b) * digamma(ones + zeros)
        return float(value.sum())

    def log_evidence(self, statistics: np.ndarray) -> float:
        ones, zeros = self._posterior(statistics)
        return float((betaln(ones, zeros) - betaln(*self.prior)).sum())

    def log_prior(self, point: np.ndarray) -> float:
        if not self.is_given:
            return 0.0
        return float((xlogy(self.prior[0], point) + xlog1py(self.prior[1], -point)).sum())

    def sample(self, point: np.ndarray, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        probabilities = point.T[states]
        return (rng.random(probabilities.shape) < probabilities).astype(np.float64)

    def moments(self, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return point.T, (point * (1.0 - point)).T

    def marginals(self, statistics: np.ndarray) -> dict[str, Any]:
        from scipy.stats import beta

        ones, zeros = self._posterior(statistics)
        return {"probabilities": beta(ones.T, zeros.T)}

    def attributes(self, point: np.ndarray) -> dict[str, Any]:
        return {"probabilities_": np.ascontiguousarray(point.T)}
