"""Gaussian emissions: their settings, and the standard units in which their families compute."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_cvb.emissions.emission import (
    Emission,
    Family,
    OutsideSupport,
    StandardUnits,
    finite_array,
    positive,
    state_table,
)
from sklearn_cvb.emissions.gaussian_columns import GaussianColumns, NormalPrior
from sklearn_cvb.reading.moments import Moments
from sklearn_cvb.reading.validation import InvalidParameterError, as_numbers

_TYPES = ("full", "tied", "diag", "spherical")
# As if one hundredth of a step had been seen (Fraley and Raftery 2007).
_MEAN_PRECISION = 0.01
# Of a column; its square, and one over that, times any variance in standard units stay finite.
_LARGEST_SCALE = 1e151


@dataclass(eq=False, repr=False)
class Gaussian(Emission):
    """Normally distributed columns of numbers.

    Parameters
    ----------
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        A covariance matrix for each state, one for all, a variance for each state and column, or
        a variance for each state.
    mean_prior : array-like of shape (n_columns,) or None, default=None
        Expected mean of a state; None for the mean of the data.
    mean_precision_prior : float or None, default=None
        As if the mean had been seen so many times in each state; None for 0.01.
    degrees_of_freedom_prior : float or None, default=None
        Of the Wishart (or Gamma) distribution of precisions, above n_columns - 1; None for
        n_columns + 2, and 3 where columns are independent.
    covariance_prior : array-like or None, default=None
        Scale of the inverse Wishart distribution of a state's covariance: the prior's sum of
        squares, of shape (n_columns, n_columns); (n_columns,) or a number where columns are
        independent. None for the variances of the data divided by ``n_components ** (2 / D)``,
        where D is n_columns (1 where columns are independent).
    reg_covar : float, default=1e-6
        EM's smallest variance in any direction, as a share of the columns' variances.

    Notes
    -----
    EM without a prior finds maximum likelihood; where any of the four is given, the maximum a
    posteriori. VB, CVB and Gibbs always have the prior. Of a step with missing values states are
    scored by the marginal density of the others; what they learn of the missing ones is expected
    from these, or drawn (Gibbs), where columns depend on each other ("full", "tied").

    References
    ----------
    Beal (2003), "Variational algorithms for approximate Bayesian inference", chapter 3; Fraley and
    Raftery (2007), "Bayesian regularization for normal mixture estimation and model-based
    clustering", Journal of Classification, for the default prior.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_cvb import CVBHMM
    >>> from sklearn_cvb.emissions import Gaussian
    >>> rng = np.random.default_rng(0)
    >>> series = np.concatenate([rng.normal(0, 1, (50, 2)), rng.normal(5, 1, (50, 2))])
    >>> model = CVBHMM(2, emission=Gaussian("diag"), random_state=0).fit([series])
    >>> sorted(model.means_[:, 0].round().astype(int).tolist())
    [0, 5]
    """

    covariance_type: str = "full"
    _: KW_ONLY
    mean_prior: ArrayLike | None = None
    mean_precision_prior: float | None = None
    degrees_of_freedom_prior: float | None = None
    covariance_prior: ArrayLike | None = None
    reg_covar: float = 1e-6

    def bind(self, moments: Moments, n_states: int) -> Family:
        """The family in standard units, with the prior that the data imply where none is given."""
        if self.covariance_type not in _TYPES:
            raise InvalidParameterError(
                f"covariance_type must be one of {', '.join(map(repr, _TYPES))}, got "
                f"{self.covariance_type!r}"
            )
        units = standard_units(moments)
        refuse_too_wide(moments, units)
        if self.covariance_type == "spherical":
            # The same in all columns, or a sphere would be none in the data.
            largest = units.scale.max()
            scale = largest * np.sqrt(np.mean((units.scale / largest) ** 2))
            units = units._replace(scale=np.full_like(units.scale, scale))
        has_matrices = self.covariance_type in ("full", "tied")
        prior = self._prior(units, n_states, has_matrices)
        is_shared = self.covariance_type in ("tied", "spherical")
        if has_matrices:
            # Loaded when asked for: it has kernels of its own.
            from sklearn_cvb.emissions.gaussian_matrices import GaussianMatrices

            return GaussianMatrices(prior, units, n_states, is_shared)
        return GaussianColumns(prior, units, n_states, is_shared)

    def example(self, given: dict[str, Any]) -> np.ndarray:
        """Around the means, as far as the widest column."""
        if not {"means", "covariances"} <= given.keys():
            raise InvalidParameterError("a model is made of means and covariances")
        means = state_table(given, "means")
        largest = np.abs(as_numbers("covariances", given["covariances"])).max(initial=0.0)
        width = np.sqrt(largest) if largest > 0 else 1.0
        return np.vstack([means - width, means + width])

    def _prior(self, units: StandardUnits, n_states: int, has_matrices: bool) -> NormalPrior:
        n_columns = len(units.centre)
        mean, least = np.zeros(n_columns), n_columns - 1.0 if has_matrices else 0.0
        if self.mean_prior is not None:
            mean = units.to_standard(finite_array("mean_prior", self.mean_prior, (n_columns,)))
        precision, degrees = _MEAN_PRECISION, n_columns + 2.0 if has_matrices else 3.0
        if self.mean_precision_prior is not None:
            precision = positive("mean_precision_prior", self.mean_precision_prior)
        if self.degrees_of_freedom_prior is not None:
            degrees = positive("degrees_of_freedom_prior", self.degrees_of_freedom_prior)
            if degrees <= least:
                raise InvalidParameterError(
                    f"degrees_of_freedom_prior must be above {least:g} for {n_columns} columns, "
                    f"got {degrees:g}"
                )
        given = self.mean_prior, self.mean_precision_prior, self.degrees_of_freedom_prior
        is_given = any(setting is not None for setting in (*given, self.covariance_prior))
        scale, floor = self._scale(units, n_states, has_matrices), self.reg_covar
        return NormalPrior(mean, precision, degrees, scale, is_given, positive("reg_covar", floor))

    def _scale(self, units: StandardUnits, n_states: int, has_matrices: bool) -> np.ndarray:
        """The prior's sum of squares in standard units."""
        n_columns = len(units.centre)
        if self.covariance_prior is None:
            shrunk = n_states ** (-2.0 / (n_columns if has_matrices else 1))
            return np.eye(n_columns) * shrunk if has_matrices else np.full(n_columns, shrunk)
        if not has_matrices:
            scale = finite_array("covariance_prior", self.covariance_prior, (n_columns,))
            if not (scale > 0).all():
                raise InvalidParameterError("covariance_prior must be positive")
            if self.covariance_type == "spherical" and np.ptp(scale) > 0:
                raise InvalidParameterError(
                    f"covariance_prior must be one number where all columns share a variance, got "
                    f"{scale.tolist()}"
                )
            return scale / units.scale**2
        scale = finite_array("covariance_prior", self.covariance_prior, (n_columns, n_columns))
        return positive_definite(scale, units.scale)


def positive_definite(scale: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """A scale matrix (D, D) that a user gives, in units of `widths`."""
    scale = scale / np.outer(widths, widths)
    if not np.allclose(scale, scale.T) or np.linalg.eigvalsh(scale)[0] <= 0:
        raise InvalidParameterError("covariance_prior must be symmetric and positive definite")
    return scale


def refuse_too_wide(moments: Moments, units: StandardUnits) -> None:
    """Raise for a column whose variances float64 cannot hold."""
    wrong = (units.scale > _LARGEST_SCALE) | (units.scale < 1.0 / _LARGEST_SCALE)
    if wrong.any():
        column = int(wrong.argmax())
        step, ends = int(moments.step_of_widest[column]), (moments.least, moments.largest)
        value = max((end[column] for end in ends), key=abs)
        why = f"values up to {value:g} have variances that float64 cannot hold: "
        near = "multiply the column by a number that brings it near 1"
        raise OutsideSupport(step, column, why + near)


def standard_units(moments: Moments) -> StandardUnits:
    """Mean and standard deviation of each column; 1 for the deviation of a constant one."""
    # Rounding alone makes a constant column differ from its mean.
    constant = moments.deviations <= 1e-14 * moments.widest
    scale = np.where(constant, moments.widest, moments.deviations)
    return StandardUnits(moments.means, np.where(scale > 0, scale, 1.0))
