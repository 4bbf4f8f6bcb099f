"""Emissions whose log density is linear in a few features: Bernoulli, Poisson, categorical."""

from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.emissions.emission import Family, Observations
from sklearn_cvb.kernels.emission.features import feature_sums, linear_scores

# States with fewer steps keep their parameters in EM.
FEWEST = 1e-10


class LinearScores(NamedTuple):
    """Features times weights (n_units, F, K)."""

    weights: np.ndarray

    def fill(self, observations: Observations, units: np.ndarray, out: np.ndarray) -> None:
        """Fill `out` (n_steps, K)."""
        linear_scores(observations.features, units, self.weights, out)


class FeatureFamily(Family):
    """Sums features for statistics."""

    def statistics(
        self,
        observations: Observations,
        posterior: np.ndarray,
        units: np.ndarray,
        scores: Any = None,
    ) -> np.ndarray:
        n_features = observations.features.shape[1]
        sums = np.zeros((len(units) - 1, n_features, self.n_states))
        feature_sums(observations.features, posterior, units, sums)
        return sums

    def reordered(self, point: np.ndarray, order: np.ndarray) -> np.ndarray:
        return np.take(point, order, axis=-1)


def as_units(statistics: np.ndarray) -> np.ndarray:
    """Statistics with an axis of units, also where there is one alone."""
    return statistics[None] if statistics.ndim == 2 else statistics
