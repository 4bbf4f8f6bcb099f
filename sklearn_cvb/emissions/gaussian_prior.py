"""Standard units of numbers, and the conjugate prior of a Gaussian in them."""

from typing import Any, NamedTuple

import numpy as np


class Units(NamedTuple):
    """Standard units: data minus `centre`, divided by `scale`, (D,) each.

    In them no offset and no scale of the data can lose digits.
    """

    centre: np.ndarray
    scale: np.ndarray

    def standard(self, table: np.ndarray) -> np.ndarray:
        """Data in standard units."""
        return (table - self.centre) / self.scale

    def data(self, values: np.ndarray) -> np.ndarray:
        """Standard values in the units of the data; columns are the last axis."""
        return values * self.scale + self.centre

    def marginals(
        self, means: np.ndarray, widths: np.ndarray, degrees: np.ndarray, squares: np.ndarray
    ) -> dict[str, Any]:
        """Student's t of means, squared widths given, and inverse Gamma of variances, (K, D) all.

        From standard units.
        """
        from scipy.stats import invgamma, t

        return {
            "means": t(degrees, self.data(means), np.sqrt(widths) * self.scale),
            "variances": invgamma(0.5 * degrees, scale=0.5 * squares * self.scale**2),
        }

    @property
    def log_volume(self) -> float:
        """What a log density in standard units is above that of the data."""
        return float(np.log(self.scale).sum())


class NormalPrior(NamedTuple):
    """Normal-Wishart or Normal-Gamma prior, in standard units.

    Attributes
    ----------
    mean : ndarray of shape (D,)
    mean_precision : float
        As if the mean had been seen so often.
    degrees_of_freedom : float
    scale : ndarray of shape (D,) or (D, D)
        Of sums of squares: the scale matrix of the covariance's inverse Wishart distribution, or
        twice the rate of each precision's Gamma distribution.
    is_given : bool
        Whether EM is to use it.
    floor : float
        Smallest variance that EM gives.
    """

    mean: np.ndarray
    mean_precision: float
    degrees_of_freedom: float
    scale: np.ndarray
    is_given: bool
    floor: float
