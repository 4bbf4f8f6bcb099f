"""Emissions with known parameters: a family that wraps another and learns nothing, since its
posteriors are point masses.
"""

from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.emissions.emission import Family
from sklearn_cvb.reading.validation import InvalidParameterError


class PointMass(NamedTuple):
    """Point masses of known parameters: all quantiles are their values."""

    values: np.ndarray

    def ppf(self, tail: float) -> np.ndarray:
        """The values."""
        return self.values

    def cdf(self, values: np.ndarray) -> np.ndarray:
        """1 from the known values on, else 0."""
        return (values >= self.values).astype(np.float64)


class FixedFamily(Family):
    """A family with its parameters fixed at a point, whatever is observed."""

    def __init__(self, family: Family, point: Any, rows: np.ndarray) -> None:
        if not rows.all():
            raise InvalidParameterError(
                "fixed: what states emit is fixed for all of them or for none where it is numbers"
            )
        self.family = family
        self.point = point
        for name in Family.__annotations__:
            if not hasattr(type(self), name) and hasattr(family, name):
                setattr(self, name, getattr(family, name))
        self.n_parameters: int = 0
        self.order: int = family.order
        self.covariate_columns: np.ndarray = family.covariate_columns
        self.learns_from_steps: bool = family.learns_from_steps
        self.read_sequences: Any = family.read_sequences
        self.sample_forecasts: Any = family.sample_forecasts
        self.forecast_means: Any = family.forecast_means
        self.statistics: Any = family.statistics
        for name in ("impute", "tails", "observed_mask"):
            setattr(self, name, getattr(family, name))
        self.permuted_point: Any = family.permuted_point

    def most_likely(self, statistics: np.ndarray, before: Any = None) -> Any:
        return self.point

    def fit_steps(self, observations: Any, posterior: np.ndarray, before: Any = None) -> Any:
        return self.point

    def mean(self, statistics: np.ndarray) -> Any:
        return self.point

    def count_parameters(self, point: Any) -> int:
        return 0

    def draw(self, statistics: np.ndarray, rng: np.random.Generator) -> Any:
        return self.point

    def point_with(self, parameters: dict[str, Any], defaults: Any) -> Any:
        return self.point

    def expected_log_densities(self, statistics: np.ndarray) -> Any:
        return self.family.log_densities(self.point)

    def predictive(self, statistics: np.ndarray) -> Any:
        return self.family.log_densities(self.point)

    def divergence(self, statistics: np.ndarray) -> float:
        return 0.0

    def log_prior(self, point: Any) -> float:
        return 0.0

    def log_evidence(self, statistics: np.ndarray) -> float:
        return self.family.log_likelihood(statistics, self.point)

    def marginals(self, statistics: np.ndarray) -> Any:
        return _point_masses(self.family, self.point)

    def permuted(self, order: np.ndarray) -> "FixedFamily":
        point = self.permuted_point(self.point, order)
        return FixedFamily(self.family, point, np.ones(self.n_states, bool))


def _point_masses(family: Any, point: Any) -> Any:
    """Point masses at the parameters of a point, in the shape of `Family.marginals`."""
    if hasattr(family, "families"):
        parts = zip(family.families, point, strict=True)
        return [_point_masses(own, one) for own, one in parts]
    found = family.attributes(point)
    if "means_" in found:
        found = dict(zip(("means", "variances"), family.moments(point), strict=True))
    if "coefficients_" in found:
        variances = np.diagonal(found.pop("covariances_"), axis1=-2, axis2=-1)
        found["variances"] = np.broadcast_to(variances, found["intercepts_"].shape)
    return _as_masses(found)


def _as_masses(value: Any) -> Any:
    """Point masses in the place of tables, in dicts and lists."""
    if isinstance(value, dict):
        return {name.removesuffix("_"): _as_masses(own) for name, own in value.items()}
    return list(map(_as_masses, value)) if isinstance(value, list) else PointMass(value)
