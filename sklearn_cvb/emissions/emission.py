"""Emission distributions: users' settings (`Emission`), and the families that they make for data. A
family has sufficient statistics of steps by state, points, each a value of all parameters, and
scores: log densities of steps under each state, which fill a table when asked.

An `Emission` holds what a user sets; `bind` makes a `Family` of it, whose prior follows from
moments of the training observations. A chain asks for nothing but the methods of `Family`, so a new
emission is a new file that defines these.

Sufficient statistics are arrays of shape (..., S, K): S numbers for each of K states, which add up
over steps, so that those of a part can be subtracted. Leading axes are units of leave-one-out.
"""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from sklearn_cvb.kernels.emission import feature_sums, linear_scores
from sklearn_cvb.messages import did_you_mean
from sklearn_cvb.reading.moments import Moments
from sklearn_cvb.reading.validation import InvalidParameterError, as_numbers
from sklearn_cvb.website import SiteLink

# EM leaves the parameters of states with fewer expected steps as they are.
MIN_STEPS = 1e-10


class Observations(NamedTuple):
    """Steps as a family reads them: values, which of them are observed, and features to sum."""

    values: np.ndarray  # (n_steps, D), 0 where missing
    observed: np.ndarray | None  # (n_steps, D), bool; None where nothing is missing
    features: np.ndarray  # (n_steps, F), what statistics sum, or of width 0

    def part(self, begin: int, end: int) -> "Observations":
        """Some of the steps."""
        observed = None if self.observed is None else self.observed[begin:end]
        return Observations(self.values[begin:end], observed, self.features[begin:end])


class StandardUnits(NamedTuple):
    """Location and scale of each column, (D,) each, by which data are standardised.

    In standard units no offset and no scale of the data can lose digits.
    """

    centre: np.ndarray
    scale: np.ndarray

    def to_standard(self, table: np.ndarray) -> np.ndarray:
        """Data in standard units."""
        return (table - self.centre) / self.scale

    def to_data(self, values: np.ndarray) -> np.ndarray:
        """Standard values in the units of the data; columns are the last axis."""
        return values * self.scale + self.centre

    def marginals(
        self, means: np.ndarray, widths: np.ndarray, degrees: np.ndarray, squares: np.ndarray
    ) -> dict[str, Any]:
        """Student's t of means with squared widths, inverse Gamma of variances; (K, D) all.

        Arguments are in standard units, distributions in those of the data.
        """
        from scipy.stats import invgamma, t

        return {
            "means": t(degrees, self.to_data(means), np.sqrt(widths) * self.scale),
            "variances": invgamma(0.5 * degrees, scale=0.5 * squares * self.scale**2),
        }


class Scores(Protocol):
    """Log densities of steps under each state, which fill a table when asked."""

    def fill(self, observations: Any, units: np.ndarray, out: np.ndarray) -> None:
        """Fill `out` (n_steps, K); unit u has the steps ``units[u] : units[u + 1]``."""


class LinearScores(NamedTuple):
    """Log densities that are features times weights (n_units, F, K)."""

    weights: np.ndarray

    def fill(self, observations: Observations, units: np.ndarray, out: np.ndarray) -> None:
        """Fill `out` (n_steps, K)."""
        linear_scores(observations.features, units, self.weights, out)


class Tails(NamedTuple):
    """P(X < x), P(X <= x), P(X > x) and P(X >= x) of each value in each state, (n_steps, K, D)."""

    before: np.ndarray
    up_to: np.ndarray
    beyond: np.ndarray
    at_least: np.ndarray


class Family:
    """Emission distributions of K states, with a prior in numbers.

    A point is one value of all parameters, in whatever a family holds them.
    """

    n_states: int
    n_columns: int
    n_statistics: int  # S, the numbers that each state learns from
    n_parameters: int  # free ones, of all states
    states_axis = -1  # of the tables of a point
    has_outliers = False  # whether a start gives no state to values far from all others
    is_discrete = False  # whether a single value has a probability
    are_counts = False  # whether values are unbounded counts: a start takes their roots
    # Whether `statistics` of all steps are their posteriors, which no part of them adds up to, and
    # `fit_steps` learns from them.
    learns_from_steps = False
    order = 0  # how many steps back the density of a step depends on
    covariate_columns: np.ndarray = np.empty(0, np.intp)  # inputs of regressions, not emitted

    # (observations of some steps, their known states or -1, rng) -> scores that a fit starts from;
    # None for k-means of values.
    starting_scores: Any = None

    # What each family defines. Observations made of numbers (n_steps, D), NaN where missing:
    read: Callable[[np.ndarray], Any]
    # Points given statistics: the maximum of the likelihood, or of the posterior where a prior is
    # set (EM; states without steps keep the parameters of the point `before`); posterior means; a
    # draw from the posterior (Gibbs).
    most_likely: Callable[..., Any]  # (statistics, before=None)
    # Where sums will not do: the point that observations and posteriors (n_steps, K) make likely.
    fit_steps: Callable[..., Any]  # (observations, posterior, before=None)
    mean: Callable[[np.ndarray], Any]
    draw: Callable[[np.ndarray, np.random.Generator], Any]
    # Scores: log p(x | point); E[log p(x | theta)] under the posterior (VB); log posterior
    # predictive densities (CVB).
    log_densities: Callable[[Any], Any]
    expected_log_densities: Callable[[np.ndarray], Any]
    predictive: Callable[[np.ndarray], Any]
    # Log marginal likelihood of steps whose states are known, and log prior density of a point, up
    # to a constant (nats); 0 for maximum likelihood.
    log_evidence: Callable[[np.ndarray], float]
    log_prior: Callable[[Any], float]
    # In the units of the data: observations sampled given states, (n_steps, D); fitted attributes
    # of a point, by name; mean and variance of each column in each state, (K, D) each.
    sample: Callable[[Any, np.ndarray, np.random.Generator], np.ndarray]
    attributes: Callable[[Any], dict[str, Any]]
    moments: Callable[[Any], tuple[np.ndarray, np.ndarray]]
    # Marginal posterior distributions of single parameters: a dict of distributions of scipy.stats
    # for tables (K, D), by name; dicts and lists of such.
    marginals: Callable[[np.ndarray], Any]
    # Distributions of scipy.stats of the values that observations hold, each column alone: tables
    # (K, D), or (n_steps, K, D) where steps differ.
    distributions: Callable[[Any, Any], Any]  # (point, observations)
    # The point with these parameters: `attributes` turned round, names without the underscore.
    point_from: Callable[[dict[str, Any]], Any]

    def read_sequences(self, table: np.ndarray, starts: np.ndarray) -> Any:
        """Observations of sequences that begin at `starts`."""
        return self.read(table)

    def statistics(
        self, observations: Any, posterior: np.ndarray, units: np.ndarray, scores: Any = None
    ) -> np.ndarray:
        """Expected sufficient statistics of each unit, (n_units, S, K): features times q(z_t).

        `scores` are those that the posteriors (n_steps, K) came from: missing values are expected
        under them, where columns depend on each other.
        """
        features = observations.features
        sums = np.zeros((len(units) - 1, features.shape[1], self.n_states))
        feature_sums(features, posterior, units, sums)
        return sums

    def impute(
        self, observations: Any, scores: Any, states: np.ndarray, rng: np.random.Generator
    ) -> Any:
        """Observations whose missing values are drawn given states, if statistics need them."""
        return observations

    def count_parameters(self, point: Any) -> int:
        """Free parameters of all states."""
        return self.n_parameters

    def tails(self, point: Any, observations: Any) -> Tails:
        """Tail probabilities on either side of each value, each column alone."""
        one, values = self.distributions(point, observations), observations.values[:, None, :]
        # Counts: the next one below.
        below = values - 1.0 if hasattr(one.dist, "pmf") else values
        return Tails(one.cdf(below), one.cdf(values), one.sf(values), one.sf(below))

    def observed_mask(self, observations: Any) -> np.ndarray:
        """Whether each value is observed, (n_steps, D)."""
        if observations.observed is None:
            return np.ones((len(observations.values), self.n_columns), bool)
        return observations.observed

    def divergence(self, statistics: np.ndarray) -> float:
        """KL divergence of the posterior from the prior (nats).

        The expected log likelihood, linear in statistics that are sums of features, minus the log
        evidence.
        """
        scores = self.expected_log_densities(statistics)
        assert isinstance(scores, LinearScores), "other scores have formulas of their own"
        return float((statistics * scores.weights[0]).sum()) - self.log_evidence(statistics)

    def log_likelihood(self, statistics: np.ndarray, point: Any) -> float:
        """log p(x | point) of the steps that statistics (S, K) summarise (nats)."""
        scores = self.linear_log_densities(point)
        assert isinstance(scores, LinearScores), "other scores have formulas of their own"
        used = statistics != 0.0
        return float((statistics[used] * scores.weights[0][used]).sum())

    def linear_log_densities(self, point: Any) -> Any:
        """Log densities under a point, as features times weights where they can be so written."""
        return self.log_densities(point)

    def sample_forecasts(
        self, point: Any, states: np.ndarray, table: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Next observations sampled along paths (n_paths, n_steps): (n_paths, n_steps, D).

        `table` (n_paths, order + n_steps, D) holds the last steps, then covariates of the next.
        """
        return self.sample(point, states.ravel(), rng).reshape(*states.shape, -1)

    def forecast_means(
        self, point: Any, proba: np.ndarray, moves: list[np.ndarray], table: np.ndarray
    ) -> np.ndarray:
        """Means of the next steps, whose states have these probabilities (n, n_steps, K).

        Transitions between these steps are `moves[1:]`.
        """
        return proba @ self.moments(point)[0]

    def point_with(self, parameters: dict[str, Any], defaults: Any) -> Any:
        """The point with these parameters, all others as in the point `defaults`."""
        return self.point_from(self.stated(defaults) | parameters)

    def stated(self, point: Any) -> dict[str, Any]:
        """The parameters that `point_from` makes a point of."""
        return {name.removesuffix("_"): v for name, v in self.attributes(point).items()}

    def permuted(self, order: np.ndarray) -> "Family":
        """The family whose state k is state ``order[k]`` of this one."""
        return self

    def permuted_point(self, point: Any, order: np.ndarray) -> Any:
        """The point whose state k is state ``order[k]`` of this one."""
        if isinstance(point, np.ndarray):
            return np.take(point, order, axis=self.states_axis)
        return type(point)(*(np.take(table, order, axis=self.states_axis) for table in point))


def family_and_parts(family: Family) -> Iterator[Family]:
    """A family, and the families of its parts or components."""
    yield family
    for part in getattr(family, "families", ()):
        yield from family_and_parts(part)


class Emission(SiteLink):
    """Settings of an emission: what `bind` makes a `Family` of."""

    # How many restarts a fit has where `n_init` is None.
    n_restarts: ClassVar[int] = 1

    @property
    def may_fall(self) -> bool:
        """Whether sweeps of EM may lower the objective."""
        return False

    @property
    def order(self) -> int:
        """How many steps back it looks."""
        return 0

    def categorical(self, names: list[Any]) -> list[Any]:
        """The columns, of frames with these names, whose values may be labels instead of codes."""
        return []

    def numbered(self, names: list[Any] | None) -> "Emission":
        """The same with columns by number that settings have by name; None: they have no names."""
        return self

    def named(self) -> list[Any] | None:
        """Names of all columns, where settings name each of them."""
        return None

    def labels(self, given: dict[str, Any]) -> dict[Any, list[Any]]:
        """Labels of columns that parameters, by the names of fitted attributes, come with."""
        return {}

    def bind(self, moments: Moments, n_states: int) -> Family:
        """The family for training observations whose columns have these moments.

        They imply the prior where none is given.
        """
        raise NotImplementedError

    def example(self, given: dict[str, Any]) -> np.ndarray:
        """Observations to bind to where there are parameters alone, (n_steps, D)."""
        names = "rates", "probabilities"
        tables = [state_table(given, name) for name in names if name in given]
        if not tables:
            why = f"{type(self).__name__} is not made of {', '.join(given)}"
            raise InvalidParameterError(f"{why}{did_you_mean(next(iter(given), ''), names)}")
        return np.tile(np.ceil(tables[0].mean(axis=0)), (2, 1))


def refuse_learning_from_steps(family: Family, where: str) -> None:
    """Raise where only sums of statistics will do."""
    if family.learns_from_steps:
        raise InvalidParameterError(
            f"Estimator emissions learn from all steps at once and do not go with {where}"
        )


def column_numbers(setting: str, columns: list[Any], names: list[Any] | None) -> list[Any]:
    """The columns of a setting, with those by number that it has by name."""
    known = names or []
    for column in columns:
        if isinstance(column, str) and column not in known:
            raise InvalidParameterError(
                f"{setting} names the column {column!r}{did_you_mean(column, known)}, but X has "
                f"columns {known!r}" + " without names: pass a list of frames" * (not known)
            )
    return [known.index(column) if isinstance(column, str) else column for column in columns]


def positive(name: str, value: Any) -> float:
    """A setting that is a positive number."""
    number = as_numbers(name, value)
    if number.ndim or not 0 < number < np.inf:
        raise InvalidParameterError(f"{name} must be a positive number, got {value!r}")
    return float(number)


def finite_array(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """A setting that is an array of finite numbers, spread to a shape."""
    array = as_numbers(name, value)
    try:
        array = np.broadcast_to(array, shape)
    except ValueError:
        raise InvalidParameterError(
            f"{name} has shape {array.shape}, but these observations need {shape}"
        ) from None
    if not np.isfinite(array).all():
        raise InvalidParameterError(f"{name} must hold finite numbers, got {value!r}")
    return array


class OutsideSupport(ValueError):
    """A value that an emission cannot have, in a step of all (from 0) and a column.

    Who knows which sequence has the step says so.
    """

    step: int
    column: int
    why: str

    def __init__(self, step: int, column: int, why: str) -> None:
        super().__init__(f"{why} (step {step} of all, column {column})")
        self.step, self.column, self.why = step, column, why


def point_from_user(family: "Family", parameters: dict[str, Any], defaults: Any = None) -> Any:
    """The point with parameters that a user gives, by the names of fitted attributes.

    Others are as in the point `defaults`; None: as the family has them, if it has.
    """
    # A mode, which an improper prior has, too.
    some = family.most_likely(np.zeros((family.n_statistics, family.n_states)))
    known = [name.removesuffix("_") for name in family.attributes(some)]
    odd = [name for name in parameters if name not in known]
    if odd:
        raise InvalidParameterError(
            f"emissions: {odd[0]!r} is no parameter of what these states emit: {', '.join(known)}"
        )
    if defaults is None:
        return family.point_from(parameters)
    return family.point_with(parameters, defaults)


def state_table(parameters: dict[str, Any], name: str) -> np.ndarray:
    """A user's table, (K, D); a plain list has a number for each state, of one column."""
    table = as_numbers(name, parameters[name])
    if table.ndim > 2:
        raise InvalidParameterError(
            f"{name} has shape {table.shape}: one row a state, and one column for each of X, is "
            "(n_components, n_columns)"
        )
    return table.reshape(-1, 1) if table.ndim < 2 else table


def table_in(parameters: dict[str, Any], name: str, shape: tuple[int, ...]) -> np.ndarray:
    """A user's table of finite numbers of this shape, but for axes of length 1; or an error."""
    if name not in parameters:
        raise InvalidParameterError(f"emissions: {name} are missing")
    table = as_numbers(name, parameters[name])
    if [n for n in table.shape if n != 1] != [n for n in shape if n != 1]:
        raise InvalidParameterError(f"{name} has shape {table.shape}, this model needs {shape}")
    return finite_array(name, table.reshape(shape), shape)


def refuse_outside(name: str, table: np.ndarray, inside: np.ndarray, why: str) -> None:
    """Raise for the first row of a table that is not all `inside`."""
    rows = np.flatnonzero(~inside.reshape(len(table), -1).all(axis=1))
    if len(rows):
        raise InvalidParameterError(f"{name}: row {rows[0]} {why}, got {table[rows[0]].tolist()}")


def refuse_where(wrong: np.ndarray, table: np.ndarray, why: str) -> None:
    """Raise OutsideSupport for the first value of a table that is `wrong` and not missing."""
    wrong = wrong & ~np.isnan(table)
    if wrong.any():
        step, column = map(int, np.argwhere(wrong)[0])
        raise OutsideSupport(step, column, f"{why}, got {table[step, column]:g}")


def values_and_mask(table: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Values, 0 where missing, and a mask of those observed; None where all are."""
    # Kernels would be compiled again for columns one after the other, as frames have them.
    table = np.ascontiguousarray(table, dtype=np.float64)
    missing = np.isnan(table)
    if not missing.any():
        return table, None
    return np.where(missing, 0.0, table), ~missing


def per_step(table: np.ndarray, units: np.ndarray) -> np.ndarray:
    """The row (K,) of its unit for each step; one row serves all units."""
    return table if len(table) == 1 else np.repeat(table, np.diff(units), axis=0)


def score_by_value(
    score: Callable[[np.ndarray, np.ndarray], np.ndarray], column: np.ndarray, units: np.ndarray
) -> np.ndarray:
    """``score(column, units)`` of counts, (n_steps, K), computed once for each value in a unit."""
    n_units, n_values = len(units) - 1, int(column.max(initial=0.0)) + 1
    if n_units * n_values > len(column):
        return score(column, units)
    key = np.repeat(n_values * np.arange(n_units), np.diff(units)) + column.astype(np.int64)
    occurs = np.zeros(n_units * n_values, bool)
    occurs[key] = True
    n_distinct = np.cumsum(occurs)
    values = np.flatnonzero(occurs) % n_values
    table = score(values.astype(np.float64), np.append(0, n_distinct[n_values - 1 :: n_values]))
    return table[n_distinct[key] - 1]


def by_unit(statistics: np.ndarray) -> np.ndarray:
    """Statistics with an axis of units, also where there is one alone."""
    return statistics[None] if statistics.ndim == 2 else statistics
