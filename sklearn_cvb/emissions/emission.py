"""What an emission is: the public object with its settings, and the family it becomes with data.

An `Emission` holds what a user sets. `bind` looks at moments of the training observations and
gives a `Family`: the same with its prior in numbers. The chain asks for nothing but the methods of
`Family`, so a new emission is a new file that defines these.

Statistics are arrays of shape (..., S, K): S numbers for each of K states, which add up over steps,
so that those of a part can be subtracted. Leading axes are units that are left out at a time.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_cvb.kernels.emission import feature_sums, linear_scores
from sklearn_cvb.messages import did_you_mean
from sklearn_cvb.reading.moments import Moments
from sklearn_cvb.reading.validation import InvalidParameterError, as_numbers

# States with fewer steps keep their parameters in EM.
FEWEST = 1e-10


class Observations(NamedTuple):
    """Observations as a family reads them; rows are steps."""

    values: np.ndarray  # (n_steps, D), 0 where missing
    observed: np.ndarray | None  # (n_steps, D), bool; None where nothing is missing
    features: np.ndarray  # (n_steps, F), what statistics sum, or of width 0

    def part(self, begin: int, end: int) -> "Observations":
        """Some of the steps."""
        observed = None if self.observed is None else self.observed[begin:end]
        return Observations(self.values[begin:end], observed, self.features[begin:end])


class StandardUnits(NamedTuple):
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


class Scores(Protocol):
    """Log densities of observations by state."""

    def fill(self, observations: Any, units: np.ndarray, out: np.ndarray) -> None:
        """Fill `out` (n_steps, K); unit u has the steps ``units[u] : units[u + 1]``."""


class LinearScores(NamedTuple):
    """Features times weights (n_units, F, K)."""

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
    """An emission whose prior is in numbers.

    A point is what a family holds its parameters in.
    """

    n_states: int
    n_columns: int
    n_statistics: int  # S, the numbers that each state learns from
    n_parameters: int  # free ones, of all states
    states_axis = -1  # of the tables of a point
    has_outliers = False  # whether values far from all others are to begin no state
    is_discrete = False  # whether a single value has a probability
    are_counts = False  # whether values are counts without an end, of which roots spread alike
    order = 0  # how many steps before a step tell what it emits
    given_columns = np.empty(0, np.intp)  # columns that no state says anything of

    # (observations of some steps, their known states or -1, rng) -> scores under clusters to start
    # from; None for k-means around values.
    clusters: Any = None

    # What each family defines. Of numbers (n_steps, D), NaN where missing, its observations:
    read: Callable[[np.ndarray], Any]
    # Of statistics points: with the largest likelihood, or posterior density with a prior (EM),
    # where states without any step keep their parameters in the point `kept`; of posterior means;
    # drawn from the posterior (Gibbs).
    most_likely: Callable[..., Any]  # (statistics, kept=None)
    mean: Callable[[np.ndarray], Any]
    draw: Callable[[np.ndarray, np.random.Generator], Any]
    # Scores log p(x | point); E[log p(x | theta)] under the posterior (VB); log p(x | what the
    # statistics were made of) (CVB).
    at: Callable[[Any], Any]
    expected: Callable[[np.ndarray], Any]
    predictive: Callable[[np.ndarray], Any]
    # Log marginal likelihood of steps whose states are known, and log prior density of a point, up
    # to a constant (nats); 0 for maximum likelihood.
    log_evidence: Callable[[np.ndarray], float]
    log_prior: Callable[[Any], float]
    # In the units of the data: observations of given states, (n_steps, D); what a fitted model
    # shows of a point; mean and variance of each column in each state, (K, D) each.
    sample: Callable[[Any, np.ndarray, np.random.Generator], np.ndarray]
    attributes: Callable[[Any], dict[str, Any]]
    moments: Callable[[Any], tuple[np.ndarray, np.ndarray]]
    # The posterior distribution of each parameter alone: a dict of distributions of scipy.stats
    # for tables (K, D), by name; dicts and lists of such.
    marginals: Callable[[np.ndarray], Any]
    # Distributions of scipy.stats of what observations hold as values, each column alone: tables
    # (K, D), or (n_steps, K, D) where steps differ.
    distributions: Callable[[Any, Any], Any]  # (point, observations)
    # The point that has these attributes, without the underscore (`attributes` turned round).
    point_of: Callable[[dict[str, Any]], Any]

    def read_sequences(self, table: np.ndarray, starts: np.ndarray) -> Any:
        """Observations of sequences that begin at `starts`."""
        return self.read(table)

    def statistics(
        self, observations: Any, posterior: np.ndarray, units: np.ndarray, scores: Any = None
    ) -> np.ndarray:
        """Sums over steps of features, times q(z_t), of each unit: (n_units, S, K).

        `scores` are those that the posteriors (n_steps, K) came from: they say what to expect of
        values that are missing, where columns depend on each other.
        """
        features = observations.features
        sums = np.zeros((len(units) - 1, features.shape[1], self.n_states))
        feature_sums(features, posterior, units, sums)
        return sums

    def completed(
        self, observations: Any, scores: Any, states: np.ndarray, rng: np.random.Generator
    ) -> Any:
        """Observations whose missing values are drawn, where statistics need them (Gibbs)."""
        return observations

    def tails(self, point: Any, observations: Any) -> Tails:
        """How probable values on either side of each one are, each column alone."""
        found, values = self.distributions(point, observations), observations.values[:, None, :]
        # Counts: the next one below.
        below = values - 1.0 if hasattr(found.dist, "pmf") else values
        return Tails(found.cdf(below), found.cdf(values), found.sf(values), found.sf(below))

    def observed(self, observations: Any) -> np.ndarray:
        """Where values are not missing, (n_steps, D)."""
        if observations.observed is None:
            return np.ones((len(observations.values), self.n_columns), bool)
        return observations.observed

    def divergence(self, statistics: np.ndarray) -> float:
        """KL divergence of the posterior from the prior (nats).

        The expected log likelihood, linear in statistics that are sums of features, minus the log
        evidence.
        """
        scores = self.expected(statistics)
        assert isinstance(scores, LinearScores), "other scores have formulas of their own"
        return float((statistics * scores.weights[0]).sum()) - self.log_evidence(statistics)

    def log_likelihood(self, statistics: np.ndarray, point: Any) -> float:
        """log p(x | point) of the steps that statistics (S, K) were made of (nats)."""
        scores = self.linear_at(point)
        assert isinstance(scores, LinearScores), "other scores have formulas of their own"
        used = statistics != 0.0
        return float((statistics[used] * scores.weights[0][used]).sum())

    def linear_at(self, point: Any) -> Any:
        """Scores under a point, as sums of features times weights where there are such."""
        return self.at(point)

    def drawn_ahead(
        self, point: Any, states: np.ndarray, table: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        """Observations of paths (n_paths, n_steps): (n_paths, n_steps, D).

        `table` (n_paths, order + n_steps, D) holds the steps before, and what is known ahead.
        """
        return self.sample(point, states.ravel(), rng).reshape(*states.shape, -1)

    def means_ahead(
        self, point: Any, proba: np.ndarray, moves: list[np.ndarray], table: np.ndarray
    ) -> np.ndarray:
        """Means of the next steps of sequences with these probabilities of states (n, n_steps, K).

        Transitions from the first of these steps on are `moves[1:]`.
        """
        return proba @ self.moments(point)[0]

    def point_with(self, given: dict[str, Any], rest: Any) -> Any:
        """The point with attributes that are given, all others as in the point `rest`."""
        found = {name.removesuffix("_"): own for name, own in self.attributes(rest).items()}
        return self.point_of(found | given)

    def in_order(self, order: np.ndarray) -> "Family":
        """The family whose state k is state ``order[k]`` of this one."""
        return self

    def reordered(self, point: Any, order: np.ndarray) -> Any:
        """The point whose state k is state ``order[k]`` of this one."""
        if isinstance(point, np.ndarray):
            return np.take(point, order, axis=self.states_axis)
        return type(point)(*(np.take(table, order, axis=self.states_axis) for table in point))


def with_parts(family: Family) -> Iterator[Family]:
    """A family, and those that it is made of, if it is of some."""
    yield family
    for part in getattr(family, "families", ()):
        yield from with_parts(part)


class Emission(BaseEstimator):
    """Settings of an emission: what `bind` makes a `Family` of."""

    @property
    def order(self) -> int:
        """How many steps back it looks."""
        return 0

    def categorical(self, names: list[Any]) -> list[Any]:
        """The columns, of frames with these names, whose values may be labels in place of codes."""
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
        tables = [by_columns(given, name) for name in names if name in given]
        if not tables:
            why = f"{type(self).__name__} is not made of {', '.join(given)}"
            raise InvalidParameterError(f"{why}{did_you_mean(next(iter(given), ''), names)}")
        return np.tile(np.ceil(tables[0].mean(axis=0)), (2, 1))


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


def shaped(name: str, value: Any, shape: tuple[int, ...]) -> np.ndarray:
    """A setting that is an array of finite numbers, spread to a shape."""
    array = as_numbers(name, value)
    try:
        spread = np.broadcast_to(array, shape)
    except ValueError:
        raise InvalidParameterError(
            f"{name} has shape {array.shape}, but these observations need {shape}"
        ) from None
    if not np.isfinite(spread).all():
        raise InvalidParameterError(f"{name} must hold finite numbers, got {value!r}")
    return spread


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


def given_point(family: "Family", given: dict[str, Any], rest: Any = None) -> Any:
    """What states emit as a user says it, by the names of fitted attributes.

    All that is not given is as in the point `rest`; None: as the family has it, if it has.
    """
    # A mode, which an improper prior has, too.
    some = family.most_likely(np.zeros((family.n_statistics, family.n_states)))
    known = [name.removesuffix("_") for name in family.attributes(some)]
    odd = [name for name in given if name not in known]
    if odd:
        raise InvalidParameterError(
            f"emissions: {odd[0]!r} is no parameter of what these states emit: {', '.join(known)}"
        )
    return family.point_of(given) if rest is None else family.point_with(given, rest)


def by_columns(given: dict[str, Any], name: str) -> np.ndarray:
    """A table that is given, (K, D); a plain list has a number for each state, of one column."""
    table = as_numbers(name, given[name])
    if table.ndim > 2:
        raise InvalidParameterError(
            f"{name} has shape {table.shape}: one row a state, and one column for each of X, is "
            "(n_components, n_columns)"
        )
    return table.reshape(-1, 1) if table.ndim < 2 else table


def table_of(given: dict[str, Any], name: str, shape: tuple[int, ...]) -> np.ndarray:
    """A table of finite numbers of this shape, which must be given, but for axes of length 1."""
    if name not in given:
        raise InvalidParameterError(f"emissions: {name} are missing")
    table = as_numbers(name, given[name])
    if [n for n in table.shape if n != 1] != [n for n in shape if n != 1]:
        raise InvalidParameterError(f"{name} has shape {table.shape}, this model needs {shape}")
    return shaped(name, table.reshape(shape), shape)


def refuse_outside(name: str, table: np.ndarray, inside: np.ndarray, why: str) -> None:
    """Raise for the first row of a table that is not all `inside`."""
    rows = np.flatnonzero(~inside.reshape(len(table), -1).all(axis=1))
    if len(rows):
        raise InvalidParameterError(f"{name}: row {rows[0]} {why}, got {table[rows[0]].tolist()}")


def refuse_where(wrong: np.ndarray, table: np.ndarray, why: str) -> None:
    """Raise OutsideSupport for the first value of a table that is `wrong`; none is if missing."""
    wrong = wrong & ~np.isnan(table)
    if wrong.any():
        step, column = map(int, np.argwhere(wrong)[0])
        raise OutsideSupport(step, column, f"{why}, got {table[step, column]:g}")


def with_zeros(table: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Values with 0 where they are missing, and where they are not (None: nowhere missing)."""
    # Kernels would be compiled anew for columns one after the other, as frames have them.
    table = np.ascontiguousarray(table, dtype=np.float64)
    missing = np.isnan(table)
    if not missing.any():
        return table, None
    return np.where(missing, 0.0, table), ~missing


def spread(table: np.ndarray, units: np.ndarray) -> np.ndarray:
    """A row (K,) of each unit for all its steps; one row serves all units."""
    return table if len(table) == 1 else np.repeat(table, np.diff(units), axis=0)


def by_value(
    score: Callable[[np.ndarray, np.ndarray], np.ndarray], column: np.ndarray, units: np.ndarray
) -> np.ndarray:
    """``score(column, units)`` of counts, (n_steps, K), asked once for each value of a unit."""
    n_units, n_values = len(units) - 1, int(column.max(initial=0.0)) + 1
    if n_units * n_values > len(column):
        return score(column, units)
    key = np.repeat(n_values * np.arange(n_units), np.diff(units)) + column.astype(np.int64)
    is_there = np.zeros(n_units * n_values, bool)
    is_there[key] = True
    so_far = np.cumsum(is_there)
    values = np.flatnonzero(is_there) % n_values
    table = score(values.astype(np.float64), np.append(0, so_far[n_values - 1 :: n_values]))
    return table[so_far[key] - 1]


def as_units(statistics: np.ndarray) -> np.ndarray:
    """Statistics with an axis of units, also where there is one alone."""
    return statistics[None] if statistics.ndim == 2 else statistics
