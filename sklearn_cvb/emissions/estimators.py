"""Emissions that are scikit-learn estimators: in each state a classifier or a regressor, which is
fitted with the posteriors of all steps as sample weights, says what outputs follow from inputs.

EM learns them: an M-step is a weighted fit (Bengio and Frasconi 1996, "Input-output HMMs"). What
they learn from are no sums over steps, so the statistics of this family are the posteriors.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from scipy.special import gammaln, xlogy
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter

from sklearn_cvb.emissions import emission
from sklearn_cvb.emissions.emission import MIN_STEPS, Emission, Family, Observations, Tails
from sklearn_cvb.emissions.regression import Regression
from sklearn_cvb.learning.logistic import (
    MOST_COEFFICIENTS,
    is_plain_logistic,
    n_coefficients,
    newton_steps,
)
from sklearn_cvb.reading.moments import Moments
from sklearn_cvb.reading.validation import InvalidParameterError

# The smallest probability of a class, and mean of a count.
_TINY = 1e-12
# The smallest dispersion of normal outputs, as a share of their variance.
_FLOOR = 1e-6
# Newton steps of a logistic regression in an M-step, which end where they gain nothing.
_NEWTON_STEPS = 10
# Power of the variance of a Tweedie regressor: its law.
_LAWS = {0: "normal", 1: "poisson", 2: "gamma"}
_LAW_OF_LOSS = {"poisson": "poisson", "gamma": "gamma"}
_OF_GLM = {"PoissonRegressor": 1, "GammaRegressor": 2}


class WeightedEstimator(Protocol):
    """A classifier with `predict_proba`, or a regressor, that takes sample weights."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to rows and outputs, each of which counts so often."""

    def predict(self, X: Any) -> Any:
        """Outputs of rows: of a regressor their means."""


def last_step(estimator: WeightedEstimator) -> Any:
    """The estimator at the end of a pipeline, or the estimator itself."""
    return estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator


def law_of(estimator: WeightedEstimator) -> str:
    """What outputs follow under an estimator: "classes", or the law around a regressor's means."""
    own = last_step(estimator)
    name = type(own).__name__
    if not has_fit_parameter(own, "sample_weight"):
        raise InvalidParameterError(
            f"Estimator: {name} takes no sample_weight in fit, by which states share the steps "
            "out; take one that does"
        )
    if hasattr(own, "predict_proba"):
        return "classes"
    if is_classifier(own):
        raise InvalidParameterError(
            f"Estimator: {name} has no predict_proba: wrap it in CalibratedClassifierCV, or take a "
            "classifier that has"
        )
    loss = getattr(own, "loss", None)
    if isinstance(loss, str) and loss in _LAW_OF_LOSS:
        return _LAW_OF_LOSS[loss]
    power = getattr(own, "power", _OF_GLM.get(name, 0))
    if power not in _LAWS:
        raise InvalidParameterError(
            f"Estimator: {name}(power={power!r}) has no density in closed form: take power 0, 1 or "
            "2 (normal, Poisson or Gamma outputs)"
        )
    return _LAWS[power]


def fit_weighted(
    estimator: WeightedEstimator, inputs: np.ndarray, outputs: np.ndarray, weights: np.ndarray
) -> Any:
    """An estimator, fitted to rows that count so often; of a pipeline the last step has weights."""
    name = "sample_weight"
    if hasattr(estimator, "steps"):
        name = f"{estimator.steps[-1][0]}__{name}"
    return estimator.fit(inputs, outputs, **{name: np.ascontiguousarray(weights)})


def penalty_of(estimator: WeightedEstimator) -> float | None:
    """Minus the log prior density (nats) that a fitted linear model implies; None if not known.

    Where it is known no M-step lowers the objective.
    """
    own, name = last_step(estimator), type(last_step(estimator)).__name__
    if name == "LogisticRegression" and own.class_weight is None and own.solver != "liblinear":
        # Until 1.8 a penalty had a parameter of its own.
        penalty = getattr(own, "penalty", "l2")
        if penalty is None:
            return 0.0
        share = 1.0 if penalty == "l1" else own.l1_ratio or 0.0
        coefficients = getattr(own, "coef_", np.zeros(1))
        size = share * np.abs(coefficients).sum() + 0.5 * (1.0 - share) * (coefficients**2).sum()
        return float(size / own.C)
    is_plain = name == "LinearRegression" or (name == "PoissonRegressor" and own.alpha == 0)
    return 0.0 if is_plain else None


@dataclass(eq=False, repr=False)
class Estimator(Emission):
    """A scikit-learn classifier or regressor in each state: outputs given inputs, learned by EM.

    Each state has a clone of the estimator, fitted in each M-step with the posteriors of the state
    as ``sample_weight``. Any estimator that takes these will do: linear models, trees, boosting,
    pipelines, your own. With `LogisticRegression` this is the GLM-HMM of choices.

    Parameters
    ----------
    estimator : estimator
        A classifier with `predict_proba`, whose output is one column of classes, or a regressor:
        outputs are normal around its means, Poisson (`PoissonRegressor`, Tweedie power 1, boosting
        with ``loss="poisson"``) or Gamma (`GammaRegressor`, power 2, ``loss="gamma"``).
    inputs : list of int or str
        The columns that outputs depend on, by number, or by name in frames.
    outputs : list of int or str, or None, default=None
        The columns that depend on them; None for all others. Where all are named, frames may have
        others, which are not read.
    dispersion : {"state", "tied"}, default="state"
        Whether each state has its own variance of normal outputs (dispersion of Gamma ones), the
        weighted mean of squared residuals, or all share one.

    Notes
    -----
    EM's objective includes the penalty of `LogisticRegression`, which is a log prior density, and
    then never falls; so with `LinearRegression` and ``PoissonRegressor(alpha=0)``. For all others
    no objective is known that does not fall: the best sweep is kept, and a restart ends after
    three sweeps without a gain. Trees without ``min_samples_leaf`` learn their training steps by
    heart. ``n_init=None`` makes six restarts, as many starts end at lower optima: posteriors are
    drawn, and transitions begin with .9 and, in every second restart, .5 on the diagonal. A
    ``random_state`` of None in `estimator` counts as 0. Estimators get arrays, labels of outputs
    in frames as their numbers. A step that lacks an input or an output tells nothing of its state.
    Not for VB, CVB and Gibbs sampling, nor in `Columns`, stores, shards, `partial_fit`, and with
    `durations`.

    References
    ----------
    Bengio and Frasconi (1996), "Input-output HMMs for sequence processing", IEEE Transactions on
    Neural Networks 7; Ashwood et al. (2022), "Mice alternate between discrete strategies during
    perceptual decision-making", Nature Neuroscience 25.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_cvb import EMHMM
    >>> from sklearn_cvb.emissions import Estimator
    >>> rng = np.random.default_rng(0)
    >>> state, x = np.repeat([0, 1, 0, 1], 100), rng.normal(size=400)
    >>> choice = rng.random(400) < 1 / (1 + np.exp(-np.where(state, 4.0, -4.0) * x))
    >>> emission = Estimator(LogisticRegression(), inputs=[0])
    >>> model = EMHMM(2, emission=emission, random_state=0).fit([np.column_stack([x, choice])])
    >>> sorted(float(own.coef_[0, 0].round()) for own in model.estimators_)
    [-3.0, 3.0]
    """

    estimator: WeightedEstimator
    inputs: Sequence[int | str]
    outputs: Sequence[int | str] | None = None
    dispersion: str = "state"

    n_restarts: ClassVar[int] = 6

    @property
    def may_fall(self) -> bool:
        """Whether a sweep may lower the objective."""
        return penalty_of(self.estimator) is None

    def _lines(self) -> Regression:
        """What reads the same columns."""
        return Regression(self.inputs, self.outputs)

    def numbered(self, names: list[Any] | None) -> "Estimator":
        columns = self._lines().numbered(names)
        return Estimator(self.estimator, columns.inputs, columns.outputs, self.dispersion)

    def named(self) -> list[Any] | None:
        return None if self.outputs is None else self._lines().named()

    def categorical(self, names: list[Any]) -> list[Any]:
        """The output of a classifier."""
        if law_of(self.estimator) != "classes":
            return []
        columns, n_inputs = self._lines().numbered(names).columns(len(names))
        return [names[column] for column in columns[n_inputs:]]

    def bind(self, moments: Moments, n_states: int) -> Family:
        if self.dispersion not in ("state", "tied"):
            raise InvalidParameterError(
                f"dispersion must be 'state' or 'tied', got {self.dispersion!r}"
            )
        columns, n_inputs = self._lines().columns(len(moments.means))
        law = law_of(self.estimator)
        if law == "classes" and len(columns) > n_inputs + 1:
            raise InvalidParameterError(
                "the output of a classifier is one column of classes, got outputs="
                f"{columns[n_inputs:].tolist()}"
            )
        return EstimatorFamily(self, law, columns, n_inputs, n_states)

    def example(self, given: dict[str, Any]) -> np.ndarray:
        estimators: list[Any] = list(given.get("estimators", ()))
        if not estimators or not hasattr(estimators[0], "n_features_in_"):
            raise InvalidParameterError(
                "a model is made of fitted `estimators`, one for each state"
            )
        n_outputs = 1 if self.outputs is None else len(self.outputs)
        return np.ones((2, estimators[0].n_features_in_ + n_outputs))


class EstimatorPoint(NamedTuple):
    """Fitted estimators, one for each state, and dispersions (K, D)."""

    estimators: tuple[Any, ...]
    dispersions: np.ndarray


class EstimatorScores(NamedTuple):
    """Log densities of outputs given inputs."""

    family: "EstimatorFamily"
    point: EstimatorPoint

    def fill(self, observations: Observations, units: np.ndarray, out: np.ndarray) -> None:
        """Fill `out` (n_steps, K), 0 where a step is missing."""
        out[:] = 0.0
        seen = np.flatnonzero(self.family.observed_mask(observations)[:, 0])
        if not len(seen):
            return
        inputs, outputs = self.family.split(observations.values[seen])
        for k, own in enumerate(self.point.estimators):
            dispersions = self.point.dispersions[k]
            out[seen, k] = self.family.log_density(own, dispersions, inputs, outputs)


class EstimatorFamily(Family):
    """Outputs given inputs, which `columns` lists: first inputs, then outputs."""

    states_axis = 0
    learns_from_steps = True

    def __init__(
        self, settings: Estimator, law: str, columns: np.ndarray, n_inputs: int, n_states: int
    ) -> None:
        self.settings, self.law = settings, law
        self.columns = columns
        self.n_inputs, self.n_states = n_inputs, n_states
        self.n_outputs: int = len(columns) - n_inputs
        self.n_columns: int = len(columns)
        self.n_statistics: int = 0
        self.covariate_columns: np.ndarray = columns[:n_inputs]
        self.output_columns: np.ndarray = columns[n_inputs:]
        self.is_discrete = law in ("classes", "poisson")

    def count_parameters(self, point: EstimatorPoint) -> int:
        """Free ones of linear models: coefficients, intercepts and dispersions."""
        total = (
            0 if self.is_discrete else len(np.unique(point.dispersions, axis=0)) * self.n_outputs
        )
        for estimator in point.estimators:
            own = last_step(estimator)
            if not hasattr(own, "coef_"):
                raise InvalidParameterError(
                    f"how many free parameters {type(own).__name__} has is not known: compare "
                    "models by held-out score"
                )
            rows = max(1, len(getattr(own, "classes_", ())) - 1 or self.n_outputs)
            total += rows * (np.shape(own.coef_)[-1] + own.fit_intercept)
        return int(total)

    def read(self, table: np.ndarray) -> Observations:
        wrong = np.zeros(table.shape, bool)
        own = table[:, self.output_columns]
        if self.law == "poisson":
            wrong[:, self.output_columns] = (own < 0) | (own % 1 != 0)
            emission.refuse_where(wrong, table, "Poisson outputs are whole numbers from 0 on")
        if self.law == "gamma":
            wrong[:, self.output_columns] = own <= 0
            emission.refuse_where(wrong, table, "Gamma outputs are above 0")
        table = table[:, self.columns]
        observed = ~np.isnan(table).any(axis=1, keepdims=True)
        values = np.where(observed, table, 0.0)
        return Observations(values, np.repeat(observed, table.shape[1], axis=1), values[:, :0])

    def split(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Inputs (n, I), and outputs (n, D) as estimators take them: (n,) where there is one."""
        outputs = values[:, self.n_inputs :]
        if self.n_outputs == 1:
            outputs = outputs[:, 0]
        if self.law == "classes" and (outputs % 1 == 0).all():
            outputs = outputs.astype(np.int64)
        return values[:, : self.n_inputs], outputs

    def observed_mask(self, observations: Observations) -> np.ndarray:
        assert observations.observed is not None, "reading gives one"
        return observations.observed

    # Learning

    def statistics(
        self, observations: Any, posterior: np.ndarray, units: np.ndarray, scores: Any = None
    ) -> np.ndarray:
        """The posteriors themselves, 0 at missing steps: (1, n_steps, K)."""
        return (posterior * observations.observed[:, :1])[None]

    def fit_steps(
        self, observations: Observations, posterior: np.ndarray, before: Any = None
    ) -> EstimatorPoint:
        """Fitted estimators given posteriors (n_steps, K); those of states without steps stay."""
        seen = np.flatnonzero(self.observed_mask(observations)[:, 0])
        if not len(seen):
            raise ValueError("no step of X has all inputs and outputs: there is nothing to learn")
        inputs, outputs = self.split(observations.values[seen])
        # Where sweeps are accelerated posteriors may lie beyond 0.
        found, weights = [], np.maximum(posterior[seen], 0.0)
        for k in range(self.n_states):
            old = None if before is None else before.estimators[k]
            if old is not None and weights[:, k].sum() <= MIN_STEPS:
                found.append(old)
                continue
            found.append(self._fitted(old, inputs, outputs, weights[:, k]))
        return EstimatorPoint(tuple(found), self._dispersions(found, inputs, outputs, weights))

    def _fitted(
        self, before: Any, inputs: np.ndarray, outputs: np.ndarray, weights: np.ndarray
    ) -> Any:
        """An estimator fitted to rows that count so often, from that of the last sweep on."""
        settings = self.settings.estimator
        if not is_plain_logistic(settings):
            return fit_weighted(self._unfitted(before), inputs, outputs, weights)
        classes, of_class = np.unique(outputs, return_inverse=True)
        too_many = n_coefficients(self.n_inputs, len(classes)) > MOST_COEFFICIENTS
        if len(classes) < 2 or too_many:
            return fit_weighted(self._unfitted(before), inputs, outputs, weights)
        table = np.zeros((len(classes), len(outputs)))
        table[of_class, np.arange(len(outputs))] = weights
        found, _ = newton_steps(settings, before, inputs, table, n_steps=_NEWTON_STEPS)
        found.classes_ = classes
        return found

    def _unfitted(self, before: Any) -> Any:
        """A clone; a linear model that is to start warm goes on from the sweep before."""
        settings = self.settings.estimator
        own = last_step(settings)
        if before is not None and getattr(own, "warm_start", False) and hasattr(before, "coef_"):
            return deepcopy(before)
        fresh = clone(settings)
        seeds = {
            name: 0
            for name, value in fresh.get_params().items()
            if value is None and name.rpartition("__")[2] == "random_state"
        }
        return fresh.set_params(**seeds) if seeds else fresh

    def _dispersions(
        self, estimators: list[Any], inputs: np.ndarray, outputs: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Weighted means of squared residuals (K, D), of Gamma outputs as shares of the means."""
        shape = self.n_states, self.n_outputs
        if self.law in ("classes", "poisson"):
            return np.ones(shape)
        squares, columns = np.empty(shape), outputs.reshape(-1, self.n_outputs)
        for k, own in enumerate(estimators):
            means = own.predict(inputs).reshape(columns.shape)
            off = (columns - means) / (np.maximum(means, _TINY) if self.law == "gamma" else 1.0)
            squares[k] = weights[:, k] @ off**2
        counts = np.maximum(weights.sum(axis=0), MIN_STEPS)[:, None]
        if self.settings.dispersion == "tied":
            squares, counts = squares.sum(axis=0)[None], counts.sum(axis=0)[None]
        floor = _FLOOR * (columns.var(axis=0) if self.law == "normal" else np.ones(1))
        dispersions: np.ndarray = np.maximum(squares / counts, np.maximum(floor, _TINY**2))
        return np.broadcast_to(dispersions, shape).copy()

    def most_likely(self, statistics: np.ndarray, before: Any = None) -> EstimatorPoint:
        """Unfitted estimators: sums tell nothing (see `fit_steps`)."""
        unfitted = tuple(self._unfitted(None) for _ in range(self.n_states))
        return EstimatorPoint(unfitted, np.ones((self.n_states, self.n_outputs)))

    mean: Any = most_likely

    def log_prior(self, point: EstimatorPoint) -> float:
        """Minus the penalties, where these are log prior densities."""
        return -sum(penalty_of(own) or 0.0 for own in point.estimators)

    # Densities

    def log_densities(self, point: EstimatorPoint) -> EstimatorScores:
        return EstimatorScores(self, point)

    def log_density(
        self, own: Any, dispersions: np.ndarray, inputs: np.ndarray, outputs: np.ndarray
    ) -> np.ndarray:
        """Log densities (n,) of outputs in a state whose estimator and dispersions are its own."""
        if self.law == "classes":
            classes = own.classes_
            column = np.minimum(np.searchsorted(classes, outputs), len(classes) - 1)
            chance = own.predict_proba(inputs)[np.arange(len(outputs)), column]
            # A class that was not in fit.
            return np.log(np.maximum(np.where(classes[column] == outputs, chance, 0.0), _TINY))
        means = np.asarray(own.predict(inputs), np.float64)
        if self.law == "normal":
            off = (outputs - means).reshape(-1, self.n_outputs)
            logs: np.ndarray = np.log(2.0 * np.pi * dispersions) + off**2 / dispersions
            return -0.5 * logs.sum(axis=1)
        means = np.maximum(means, _TINY)
        if self.law == "poisson":
            return xlogy(outputs, means) - means - gammaln(outputs + 1.0)
        shape = 1.0 / dispersions[0]
        return (
            xlogy(shape, shape / means)
            + xlogy(shape - 1.0, outputs)
            - (shape / means * outputs + gammaln(shape))
        )

    # In the units of the data

    def point_from(self, parameters: dict[str, Any]) -> EstimatorPoint:
        given = list(parameters.get("estimators", ()))
        if len(given) != self.n_states:
            raise InvalidParameterError(
                f"estimators must hold {self.n_states} fitted estimators, one for each state, got "
                f"{len(given)}"
            )
        shape = self.n_states, self.n_outputs
        dispersions = np.ones(shape)
        if "dispersions" in parameters:
            dispersions = emission.table_in(parameters, "dispersions", shape)
            emission.refuse_outside("dispersions", dispersions, dispersions > 0, "is not positive")
        return EstimatorPoint(tuple(given), dispersions)

    def attributes(self, point: EstimatorPoint) -> dict[str, Any]:
        shown: dict[str, Any] = {"estimators_": list(point.estimators)}
        return shown if self.is_discrete else shown | {"dispersions_": point.dispersions}

    def permuted_point(self, point: EstimatorPoint, order: np.ndarray) -> EstimatorPoint:
        return EstimatorPoint(
            tuple(point.estimators[k] for k in order),
            np.ascontiguousarray(point.dispersions[order]),
        )

    def sample(self, point: Any, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        raise ValueError(
            "Estimator says what outputs follow from inputs, and not what inputs there are: "
            "nothing can be drawn but by predict_next(X, inputs=...)"
        )

    def moments(self, point: Any) -> tuple[np.ndarray, np.ndarray]:
        raise ValueError("outputs have means given inputs alone: see `forecast_means`")

    def _law(self, point: EstimatorPoint, k: int, inputs: np.ndarray) -> Any:
        """The distribution of scipy.stats of outputs (n, D), which are no classes, in a state."""
        from scipy.stats import gamma, norm, poisson

        dispersions = point.dispersions[k]
        means = np.asarray(point.estimators[k].predict(inputs), np.float64)
        means = means.reshape(-1, self.n_outputs)
        if self.law == "normal":
            return norm(means, np.sqrt(dispersions))
        means = np.maximum(means, _TINY)
        if self.law == "poisson":
            return poisson(means)
        return gamma(1.0 / dispersions, scale=means * dispersions)

    def tails(self, point: EstimatorPoint, observations: Observations) -> Tails:
        """Of outputs given inputs, classes in their order; NaN of inputs."""
        inputs, outputs = self.split(observations.values)
        tables = np.full((4, len(inputs), self.n_states, self.n_columns), np.nan)
        column = outputs.reshape(-1, self.n_outputs)
        if self.law == "classes":
            for k, own in enumerate(point.estimators):
                below = np.cumsum(np.pad(own.predict_proba(inputs), ((0, 0), (1, 0))), axis=1)
                each, place = np.arange(len(column)), np.searchsorted(own.classes_, outputs)
                up_to = np.searchsorted(own.classes_, outputs, side="right")
                ends = np.stack([below[each, place], below[each, up_to]])
                tables[:, :, k, self.n_inputs] = np.concatenate([ends, 1.0 - ends[::-1]])
        else:
            for k in range(self.n_states):
                law, before = self._law(point, k, inputs), column - (self.law == "poisson")
                own_tails = law.cdf(before), law.cdf(column), law.sf(column), law.sf(before)
                tables[:, :, k, self.n_inputs :] = own_tails
        ordered = np.empty_like(tables)
        ordered[..., self.columns] = tables
        return Tails(*ordered)

    def _ahead(self, table: np.ndarray, each: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """A table (n, n_steps, n_columns) of covariates, with outputs that follow from inputs."""
        found, inputs = table.copy(), table[..., self.covariate_columns]
        found[..., self.output_columns] = each(inputs.reshape(-1, self.n_inputs)).reshape(
            *table.shape[:2], self.n_outputs
        )
        return found

    def sample_forecasts(
        self, point: EstimatorPoint, states: np.ndarray, table: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        flat = states.ravel()

        def draw(inputs: np.ndarray) -> np.ndarray:
            found = np.empty((len(inputs), self.n_outputs))
            for k, own in enumerate(point.estimators):
                here = flat == k
                if not here.any():
                    continue
                if self.law == "classes":
                    levels = np.cumsum(own.predict_proba(inputs[here]), axis=1)
                    drawn = (levels <= rng.random((len(levels), 1)) * levels[:, -1:]).sum(axis=1)
                    found[here, 0] = own.classes_[drawn]
                else:
                    found[here] = self._law(point, k, inputs[here]).rvs(random_state=rng)
            return found

        return self._ahead(table, draw)

    def forecast_means(
        self, point: EstimatorPoint, proba: np.ndarray, moves: list[np.ndarray], table: np.ndarray
    ) -> np.ndarray:
        shares = proba.reshape(-1, self.n_states)

        def mean(inputs: np.ndarray) -> np.ndarray:
            total = np.zeros((len(inputs), self.n_outputs))
            for k, own in enumerate(point.estimators):
                is_class = self.law == "classes"
                means = (
                    own.predict_proba(inputs) @ own.classes_ if is_class else own.predict(inputs)
                )
                total += shares[:, [k]] * np.asarray(means).reshape(total.shape)
            return total

        return self._ahead(table, mean)
