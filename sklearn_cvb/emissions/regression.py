"""Regression and autoregression emissions with normal noise, whose precisions have Wishart priors:
settings of inputs, outputs and lags. `linear` has their families.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_cvb.emissions import emission
from sklearn_cvb.emissions.emission import Emission, Family, StandardUnits
from sklearn_cvb.emissions.gaussian import positive_definite, refuse_too_wide, standard_units
from sklearn_cvb.emissions.gaussian_columns import NormalPrior
from sklearn_cvb.reading.moments import Moments
from sklearn_cvb.reading.validation import InvalidParameterError, as_numbers

# As if an intercept or a slope had been seen in one hundredth of a step.
_PRECISION = 0.01


@dataclass(eq=False, repr=False, kw_only=True)
class LinearEmission(Emission):
    """What regressions have in common: what differs between states, and their prior."""

    covariance_type: str = "full"
    switching: Sequence[int | str] | None = None
    coefficient_precision_prior: float | None = None
    degrees_of_freedom_prior: float | None = None
    covariance_prior: Any = None
    reg_covar: float = 1e-6

    def _is_tied(self) -> bool:
        """Whether residuals have one covariance in all states."""
        if self.covariance_type not in ("full", "tied"):
            raise InvalidParameterError(
                f"covariance_type must be 'full' or 'tied', got {self.covariance_type!r}"
            )
        return self.covariance_type == "tied"

    def _switches(self, known: Sequence[int], prior: NormalPrior) -> np.ndarray:
        """Which of the inputs, or lags, have a slope of each state."""
        chosen = np.atleast_1d(known if self.switching is None else self.switching)
        found = np.isin(known, chosen)
        if (len(chosen) and chosen.dtype.kind not in "iu") or found.sum() != chosen.size:
            raise InvalidParameterError(
                "switching lists the inputs, or lags, whose slopes differ between states, each "
                f"once, some of {list(known)}, got {self.switching!r}"
            )
        if prior.is_given and not found.all():
            raise InvalidParameterError(
                "slopes that do not switch are learned by maximum likelihood: give no prior, or "
                "let all slopes switch"
            )
        return found

    def _prior(self, units: StandardUnits, n_inputs: int, n_states: int) -> NormalPrior:
        """The prior of inputs and outputs together, in their standard units."""
        n = len(units.scale) - n_inputs
        given = self.coefficient_precision_prior, self.degrees_of_freedom_prior
        is_given = any(setting is not None for setting in (*given, self.covariance_prior))
        precision, degrees, scale = _PRECISION, n + 2.0, np.eye(n) * n_states ** (-2.0 / n)
        if self.coefficient_precision_prior is not None:
            precision = emission.positive(
                "coefficient_precision_prior", self.coefficient_precision_prior
            )
        if self.degrees_of_freedom_prior is not None:
            degrees = emission.positive("degrees_of_freedom_prior", self.degrees_of_freedom_prior)
            if degrees <= n - 1:
                raise InvalidParameterError(
                    f"degrees_of_freedom_prior must be above {n - 1} for {n} outputs, got "
                    f"{degrees:g}"
                )
        if self.covariance_prior is not None:
            scale = positive_definite(
                emission.finite_array("covariance_prior", self.covariance_prior, (n, n)),
                units.scale[n_inputs:],
            )
        joint = np.eye(n_inputs + n) * precision
        joint[n_inputs:, n_inputs:] = scale
        floor = emission.positive("reg_covar", self.reg_covar)
        return NormalPrior(np.zeros(n_inputs + n), precision, degrees, joint, is_given, floor)


@dataclass(eq=False, repr=False)
class Regression(LinearEmission):
    """Outputs that depend on inputs by a linear regression in each state.

    Inputs are given: only the outputs tell of the state.

    Parameters
    ----------
    inputs : list of int or str
        The columns that outputs depend on, by number, or by name in frames. Of a part of `Columns`
        numbers count the part's own columns.
    outputs : list of int or str, or None, default=None
        The columns that depend on them; None for all others. Where all are named, frames may have
        others, which are not read.
    covariance_type : {"full", "tied"}, default="full"
        A covariance matrix of residuals for each state, or one for all.
    switching : list of int or str, or None, default=None
        The inputs whose slopes differ between states; the slopes of all others are one for all
        states. None for all inputs, [] for none. Intercepts always differ. Where not all slopes
        do, EM alone learns them, by maximum likelihood: slopes that states share have no conjugate
        prior.
    coefficient_precision_prior : float or None, default=None
        As if each intercept and slope had been seen to be 0 this many times in each state, in units
        of the columns' means and standard deviations; None for 0.01.
    degrees_of_freedom_prior : float or None, default=None
        Of the Wishart distribution of the outputs' precisions, above n_outputs - 1; None for
        n_outputs + 2.
    covariance_prior : array-like of shape (n_outputs, n_outputs) or None, default=None
        Scale of the inverse Wishart distribution of the outputs' covariance, the prior's sum of
        squares of residuals; None for the outputs' variances divided by
        ``n_components ** (2 / n_outputs)``.
    reg_covar : float, default=1e-6
        EM's smallest variance of residuals in any direction, as a share of the outputs' variances.

    Notes
    -----
    EM without a prior finds maximum likelihood; where any of the three is given, the maximum a
    posteriori. VB, CVB and Gibbs always have the prior. A step that lacks an input or an output
    tells nothing of its state. Log-likelihoods are those of outputs given inputs; a score a step is
    their sum by the steps that have one. Models do not say what inputs come next:
    `predict_next` takes them, and `sample` is refused. Clusters that ``init="kmeans"`` begins with
    are those of the line that each step is nearest to. In statsmodels `MarkovRegression` has tied
    variances by default, and `switching_exog` for `switching`; with constants alone it is
    ``Gaussian("tied")`` here.

    References
    ----------
    Rossi, Allenby and McCulloch (2005), "Bayesian statistics and marketing", section 2.8; Fridman
    (1994), "Hidden Markov model regression"; Spaeth (1979), "Clusterwise linear regression",
    Computing 22, for the start.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_cvb import VBHMM
    >>> from sklearn_cvb.emissions import Regression
    >>> rng = np.random.default_rng(0)
    >>> state, x = np.repeat([0, 1, 0, 1], 50), rng.normal(size=200)
    >>> y = np.where(state, 2.0 * x, -x) + 0.3 * rng.normal(size=200)
    >>> model = VBHMM(2, emission=Regression(inputs=[0]), random_state=0)
    >>> model = model.fit([np.column_stack([x, y])])
    >>> sorted(model.coefficients_.ravel().round(1).tolist())
    [-1.0, 2.0]

    A second input that has the same slope in both states:

    >>> from sklearn_cvb import EMHMM
    >>> other = rng.normal(size=200)
    >>> emission = Regression(inputs=[0, 1], covariance_type="tied", switching=[0])
    >>> model = EMHMM(2, emission=emission, random_state=0)
    >>> model = model.fit([np.column_stack([x, other, y + 0.7 * other])])
    >>> sorted(model.coefficients_[:, :, 0].round(1).tolist())
    [[-1.0, 0.7], [2.0, 0.7]]
    """

    inputs: Sequence[int | str]
    outputs: Sequence[int | str] | None = None

    def numbered(self, names: list[Any] | None) -> "Regression":
        found = {}
        for setting in ("inputs", "outputs", "switching"):
            own = getattr(self, setting)
            columns = None if own is None else np.atleast_1d(np.asarray(own, object)).tolist()
            found[setting] = columns and emission.column_numbers(setting, columns, names)
        return Regression(**{**self.get_params(deep=False), **found})

    def named(self) -> list[Any] | None:
        given: list[Any] = [self.inputs, self.outputs]
        names = [name for own in given for name in np.atleast_1d(own).tolist()]
        return names if all(isinstance(name, str) for name in names) else None

    def bind(self, moments: Moments, n_states: int) -> Family:
        """The family, with a prior in the standard units of the columns."""
        columns, n_inputs = self.columns(len(moments.means))
        units = standard_units(moments)
        refuse_too_wide(moments, units)
        units = StandardUnits(units.centre[columns], units.scale[columns])
        prior = self._prior(units, n_inputs, n_states)
        switches = self._switches(columns[:n_inputs].tolist(), prior)
        given = prior, units, columns, n_inputs, n_states, self._is_tied()
        # Loaded when asked for: it has kernels of its own.
        from sklearn_cvb.emissions.linear import RegressionFamily
        from sklearn_cvb.emissions.shared_slopes import SharedSlopesFamily

        if not switches.all():
            return SharedSlopesFamily(switches, *given)
        return RegressionFamily(*given)

    def columns(self, n_columns: int) -> tuple[np.ndarray, int]:
        """The columns of inputs, then those of outputs; how many are inputs."""
        inputs, outputs = np.atleast_1d(self.inputs), self.outputs
        if outputs is None:
            outputs = [d for d in range(n_columns) if d not in inputs.tolist()]
        found = np.concatenate([inputs, np.atleast_1d(outputs)])
        if found.dtype.kind not in "iu" or not len(inputs) or len(found) == len(inputs):
            raise InvalidParameterError(
                f"inputs and outputs are lists of columns, some of the {n_columns} columns each, "
                f"got inputs={self.inputs!r}, outputs={self.outputs!r}"
            )
        if sorted(found.tolist()) != list(range(n_columns)):
            raise InvalidParameterError(
                f"inputs and outputs must name each of the {n_columns} columns once, got "
                f"{inputs.tolist()} and {np.atleast_1d(outputs).tolist()}"
            )
        return found.astype(np.intp), len(inputs)

    def example(self, given: dict[str, Any]) -> np.ndarray:
        """Inputs around 0, outputs around the intercepts."""
        outputs, n_inputs = example_outputs(given)
        table = np.hstack([np.tile([[-1.0], [1.0]], n_inputs), outputs])
        return table[:, np.argsort(self.columns(table.shape[1])[0])]


@dataclass(eq=False, repr=False)
class AutoRegressive(LinearEmission):
    """Columns that depend on their last values by a linear regression in each state.

    With several columns each depends on the last values of all: a vector autoregression. The
    intercept switches with the state (MSI-VAR in the notation of Krolzig 1997), and not, as in
    Hamilton's model, the mean that last values are compared with.

    Parameters
    ----------
    order : int, default=1
        How many steps back.
    covariance_type : {"full", "tied"}, default="full"
        A covariance matrix of residuals for each state, or one for all.
    switching : list of int or None, default=None
        The lags, from 1 to `order`, whose slopes differ between states; those of all others are one
        for all states. None for all lags, [] for none. Intercepts always differ. Where not all
        slopes do, EM alone learns them, by maximum likelihood: slopes that states share have no
        conjugate prior.
    coefficient_precision_prior : float or None, default=None
        As if each intercept and slope had been seen to be 0 this many times in each state, in units
        of the columns' means and standard deviations; None for 0.01.
    degrees_of_freedom_prior : float or None, default=None
        Of the Wishart distribution of precisions, above n_columns - 1; None for n_columns + 2.
    covariance_prior : array-like of shape (n_columns, n_columns) or None, default=None
        Scale of the inverse Wishart distribution of a state's covariance, the prior's sum of
        squares of residuals; None for the columns' variances divided by
        ``n_components ** (2 / n_columns)``.
    reg_covar : float, default=1e-6
        EM's smallest variance of residuals in any direction, as a share of the columns' variances.

    Notes
    -----
    Likelihoods are those of a sequence given its first `order` steps, which tell nothing of their
    states; nor does a step that lacks a value, or that comes within `order` steps after one. A
    score a step is their sum by the steps that remain. The rows of `coefficients_` are the
    last step's columns, then those of the step before, and so on. Forecasts go on from the last
    steps of each sequence, and their means are exact; `sample` begins as if all values before were
    the columns' means. EM without a prior finds maximum likelihood; where any of the three is
    given, the maximum a posteriori.

    References
    ----------
    Hamilton (1989), "A new approach to the economic analysis of nonstationary time series and the
    business cycle", Econometrica 57; Krolzig (1997), "Markov-switching vector autoregressions".

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_cvb import VBHMM
    >>> from sklearn_cvb.emissions import AutoRegressive
    >>> rng, x = np.random.default_rng(0), [0.0]
    >>> for slope in np.repeat([0.9, -0.9, 0.9, -0.9], 100):
    ...     x.append(slope * x[-1] + rng.normal())
    >>> model = VBHMM(2, emission=AutoRegressive(), random_state=0).fit([x])
    >>> sorted(model.coefficients_.ravel().round(1).tolist())
    [-0.9, 0.9]
    """

    order: int = 1

    def bind(self, moments: Moments, n_states: int) -> Family:
        """The family, with a prior in the standard units of the columns."""
        if not isinstance(self.order, int | np.integer) or self.order < 1:
            raise InvalidParameterError(f"order must be a whole number above 0, got {self.order!r}")
        units = standard_units(moments)
        refuse_too_wide(moments, units)
        every = StandardUnits(*(np.tile(own, self.order + 1) for own in units))
        prior = self._prior(every, self.order * len(moments.means), n_states)
        switches = np.repeat(self._switches(range(1, self.order + 1), prior), len(moments.means))
        given = prior, units, int(self.order), n_states, self._is_tied()
        from sklearn_cvb.emissions.linear import AutoRegressiveFamily
        from sklearn_cvb.emissions.shared_slopes import SharedSlopesAutoRegressiveFamily

        if not switches.all():
            return SharedSlopesAutoRegressiveFamily(switches, *given)
        return AutoRegressiveFamily(*given)

    def example(self, given: dict[str, Any]) -> np.ndarray:
        """Around the intercepts."""
        return example_outputs(given)[0]


def example_outputs(given: dict[str, Any]) -> tuple[np.ndarray, int]:
    """Two rows of outputs around given intercepts, and the number of inputs."""
    if not {"intercepts", "coefficients", "covariances"} <= given.keys():
        raise InvalidParameterError("a model is made of intercepts, coefficients and covariances")
    centres = emission.state_table(given, "intercepts")
    largest = np.abs(as_numbers("covariances", given["covariances"])).max(initial=0.0)
    width = np.sqrt(largest) if largest > 0 else 1.0
    n_inputs = np.shape(given["coefficients"])[1:2] or (1,)
    return np.vstack([centres.min(axis=0) - width, centres.max(axis=0) + width]), n_inputs[0]
