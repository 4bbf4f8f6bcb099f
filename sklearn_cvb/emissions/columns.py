"""Emissions of mixed columns: parts of several families, independent given the state. Observations,
statistics, points and scores are those of the parts, joined.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.emissions.emission import (
    Emission,
    Family,
    OutsideSupport,
    Scores,
    Tails,
    column_numbers,
    point_from_user,
    refuse_learning_from_steps,
)
from sklearn_cvb.reading.moments import Moments
from sklearn_cvb.reading.validation import InvalidParameterError


@dataclass(eq=False, repr=False)
class Columns(Emission):
    """Columns of several kinds, independent of each other given the state.

    Parameters
    ----------
    parts : list of (emission, columns)
        Each emission with the list of its columns, by number, or by name in frames.
        Every column belongs to one; where all are named, frames may have others, which are not
        read.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_cvb import EMHMM
    >>> from sklearn_cvb.emissions import Bernoulli, Columns, Gaussian
    >>> rng = np.random.default_rng(0)
    >>> state = np.repeat([0, 1, 0], 40)
    >>> series = np.column_stack([rng.normal(3 * state), rng.random(120) < 0.2 + 0.6 * state])
    >>> mixed = Columns([(Gaussian("diag"), [0]), (Bernoulli(), [1])])
    >>> model = EMHMM(2, emission=mixed, random_state=0).fit([series])
    >>> sorted(model.parts_[0]["means_"].ravel().round().astype(int).tolist())
    [0, 3]
    """

    parts: Sequence[tuple[Emission, Sequence[int | str]]]

    def categorical(self, names: list[Any]) -> list[Any]:
        """Those of the parts that have some."""
        # What is no emission is refused when all columns are known.
        pairs = [(each, own.tolist()) for each, own in self._pairs() if isinstance(each, Emission)]
        named = [
            (emission, [names[c] if isinstance(c, int) and c < len(names) else c for c in own])
            for emission, own in pairs
        ]
        found = [name for emission, own in named for name in emission.categorical(own)]
        return [name for name in found if name in names]

    def numbered(self, names: list[Any] | None) -> "Columns":
        known, parts = names or [], []
        for emission, columns in self._pairs():
            own = column_numbers("parts", columns.tolist(), names)
            if isinstance(emission, Emission):
                # Parts that name columns, too, name their own.
                emission = emission.numbered(names and [known[c] for c in own if c < len(known)])
            parts.append((emission, own))
        return Columns(parts)

    def named(self) -> list[Any] | None:
        names = [name for _, own in self._pairs() for name in own.tolist()]
        return names if all(isinstance(name, str) for name in names) else None

    def labels(self, given: dict[str, Any]) -> dict[Any, list[Any]]:
        found: dict[Any, list[Any]] = {}
        for (emission, own), part in zip(self._pairs(), given.get("parts", ()), strict=False):
            labels = emission.labels({name.removesuffix("_"): part[name] for name in part})
            found |= {own.tolist()[column]: labels[column] for column in labels}
        return found

    def bind(self, moments: Moments, n_states: int) -> "MixedFamily":
        """The families of all parts."""
        columns = self._checked(len(moments.means))
        families = []
        for (emission, _), own in zip(self.parts, columns, strict=True):
            with errors_in_columns(own):
                families.append(emission.bind(moments.of(own), n_states))
                refuse_learning_from_steps(families[-1], "Columns: one emission says all outputs")
        return MixedFamily(families, columns, n_states)

    @property
    def order(self) -> int:
        """How many steps back the part looks that looks back furthest."""
        orders = [getattr(emission, "order", 0) for emission, _ in self._pairs()]
        # What is no emission, or no order, is refused when it is bound.
        return max((order for order in orders if isinstance(order, int)), default=0)

    def example(self, given: dict[str, Any]) -> np.ndarray:
        """The first steps of the examples of all parts."""
        own = [{name.removesuffix("_"): one[name] for name in one} for one in given["parts"]]
        pairs = zip(self.parts, own, strict=True)
        tables = [emission.example(part) for (emission, _), part in pairs]
        n_steps = max(map(len, tables))
        found = np.hstack([np.resize(table, (n_steps, table.shape[1])) for table in tables])
        order = np.concatenate([np.atleast_1d(columns) for _, columns in self.parts])
        return found[:, np.argsort(order)]

    def _pairs(self) -> list[tuple[Emission, np.ndarray]]:
        try:
            return [(emission, np.atleast_1d(own)) for emission, own in self.parts]
        except (TypeError, ValueError):
            raise InvalidParameterError(
                f"parts must be a list of (emission, columns), got {self.parts!r}"
            ) from None

    def _checked(self, n_columns: int) -> list[np.ndarray]:
        """The columns of each part."""
        pairs = self._pairs()
        for emission, numbers in pairs:
            if not isinstance(emission, Emission) or numbers.dtype.kind not in "iu":
                raise InvalidParameterError(
                    f"parts holds ({emission!r}, {numbers.tolist()!r}): each is an emission, such "
                    "as Gaussian(), and a list of column numbers"
                )
        named = sorted(int(column) for _, numbers in pairs for column in numbers)
        if named != list(range(n_columns)):
            raise InvalidParameterError(
                f"parts must name each of the {n_columns} columns once, got columns {named}"
            )
        return [numbers for _, numbers in pairs]


@contextmanager
def errors_in_columns(columns: np.ndarray) -> Iterator[None]:
    """Let errors about a part name its column by the number among all columns."""
    try:
        yield
    except OutsideSupport as error:
        raise OutsideSupport(error.step, int(columns[error.column]), error.why) from None


class MixedObservations(NamedTuple):
    """The observations of each part."""

    parts: tuple[Any, ...]

    def part(self, begin: int, end: int) -> "MixedObservations":
        """Some of the steps."""
        return MixedObservations(tuple(own.part(begin, end) for own in self.parts))


class SummedScores(NamedTuple):
    """The sum of the scores of all parts."""

    parts: tuple[Scores, ...]

    def fill(self, observations: MixedObservations, units: np.ndarray, out: np.ndarray) -> None:
        self.parts[0].fill(observations.parts[0], units, out)
        more = np.empty_like(out)
        for scores, own in zip(self.parts[1:], observations.parts[1:], strict=True):
            scores.fill(own, units, more)
            out += more


def _joined(method: str, joined: Callable[[Any], Any], of_points: bool = False) -> Any:
    """A method that calls all parts with their statistics (or points), and joins the results."""

    def call(self: "MixedFamily", values: Any, *others: Any) -> Any:
        parts = zip(self.families, values if of_points else self._split(values), strict=True)
        return joined(tuple(getattr(family, method)(own, *others) for family, own in parts))

    return call


class MixedFamily(Family):
    """Statistics of the parts one after the other; a point is a tuple of theirs."""

    def __init__(self, families: list[Family], columns: list[np.ndarray], n_states: int) -> None:
        self.families = families
        self.columns = columns
        self.n_states = n_states
        self.n_columns: int = sum(map(len, columns))
        self.n_statistics: int = sum(family.n_statistics for family in families)
        self.n_parameters: int = sum(family.n_parameters for family in families)
        self.order: int = max(family.order for family in families)
        self.has_outliers: bool = any(family.has_outliers for family in families)
        pairs = zip(families, columns, strict=True)
        inputs = [own[one.covariate_columns] for one, own in pairs]
        self.covariate_columns: np.ndarray = np.concatenate(inputs)

    def read(self, table: np.ndarray) -> MixedObservations:
        return self.read_sequences(table, np.array([0, len(table)]))

    def read_sequences(self, table: np.ndarray, starts: np.ndarray) -> MixedObservations:
        parts = []
        for family, own in zip(self.families, self.columns, strict=True):
            with errors_in_columns(own):
                parts.append(family.read_sequences(table[:, own], starts))
        return MixedObservations(tuple(parts))

    def statistics(
        self,
        observations: MixedObservations,
        posterior: np.ndarray,
        units: np.ndarray,
        scores: Any = None,
    ) -> np.ndarray:
        of_parts = [None] * len(self.families) if scores is None else scores.parts
        parts = [
            family.statistics(own, posterior, units, one)
            for family, own, one in zip(self.families, observations.parts, of_parts, strict=True)
        ]
        return np.concatenate(parts, axis=1)

    def impute(
        self,
        observations: MixedObservations,
        scores: SummedScores,
        states: np.ndarray,
        rng: np.random.Generator,
    ) -> MixedObservations:
        parts = zip(self.families, observations.parts, scores.parts, strict=True)
        return MixedObservations(
            tuple(family.impute(own, one, states, rng) for family, own, one in parts)
        )

    def tails(self, point: tuple[Any, ...], observations: MixedObservations) -> Tails:
        parts = zip(self.families, point, observations.parts, strict=True)
        each = [family.tails(one, own) for family, one, own in parts]
        return Tails(*(self._in_order(tables) for tables in zip(*each, strict=True)))

    def observed_mask(self, observations: MixedObservations) -> np.ndarray:
        parts = zip(self.families, observations.parts, strict=True)
        return self._in_order(tuple(family.observed_mask(own) for family, own in parts)).astype(
            bool
        )

    def _split(self, statistics: np.ndarray) -> list[np.ndarray]:
        """The statistics of each part."""
        ends = np.cumsum([family.n_statistics for family in self.families])
        return np.split(statistics, ends[:-1], axis=-2)

    def most_likely(self, statistics: np.ndarray, before: Any = None) -> tuple[Any, ...]:
        points = [None] * len(self.families) if before is None else before
        parts = zip(self.families, self._split(statistics), points, strict=True)
        return tuple(family.most_likely(own, old) for family, own, old in parts)

    def log_likelihood(self, statistics: np.ndarray, point: tuple[Any, ...]) -> float:
        parts = zip(self.families, self._split(statistics), point, strict=True)
        return sum(family.log_likelihood(own, one) for family, own, one in parts)

    mean: Any = _joined("mean", tuple)
    draw: Any = _joined("draw", tuple)
    expected_log_densities: Any = _joined("expected_log_densities", SummedScores)
    predictive: Any = _joined("predictive", SummedScores)
    divergence: Any = _joined("divergence", sum)
    log_evidence: Any = _joined("log_evidence", sum)
    marginals: Any = _joined("marginals", list)
    log_densities: Any = _joined("log_densities", SummedScores, of_points=True)
    log_prior: Any = _joined("log_prior", sum, of_points=True)
    permuted_point: Any = _joined("permuted_point", tuple, of_points=True)
    _samples = _joined("sample", tuple, of_points=True)
    _moments = _joined("moments", tuple, of_points=True)
    _attributes = _joined("attributes", list, of_points=True)

    def _in_order(self, parts: tuple[np.ndarray, ...]) -> np.ndarray:
        """Columns of the parts in the order of the data; columns are the last axis."""
        table = np.empty((*parts[0].shape[:-1], self.n_columns))
        for own, values in zip(self.columns, parts, strict=True):
            table[..., own] = values
        return table

    def sample(
        self, point: tuple[Any, ...], states: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        return self._in_order(self._samples(point, states, rng))

    def _ahead(self, point: tuple[Any, ...], table: np.ndarray) -> Iterator[tuple[Any, Any, Any]]:
        """Each part, its point, and its columns of the last steps and of covariates."""
        for family, own, one in zip(self.families, self.columns, point, strict=True):
            yield family, one, table[:, self.order - family.order :, own]

    def sample_forecasts(
        self,
        point: tuple[Any, ...],
        states: np.ndarray,
        table: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        parts = self._ahead(point, table)
        return self._in_order(
            tuple(family.sample_forecasts(one, states, own, rng) for family, one, own in parts)
        )

    def forecast_means(
        self, point: tuple[Any, ...], proba: np.ndarray, moves: list[np.ndarray], table: np.ndarray
    ) -> np.ndarray:
        parts = self._ahead(point, table)
        return self._in_order(
            tuple(family.forecast_means(one, proba, moves, own) for family, one, own in parts)
        )

    def moments(self, point: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray]:
        means, variances = zip(*self._moments(point), strict=True)
        return self._in_order(means), self._in_order(variances)

    def point_from(self, parameters: dict[str, Any]) -> tuple[Any, ...]:
        return self.point_with(parameters, [None] * len(self.families))

    def point_with(self, parameters: dict[str, Any], defaults: Any) -> tuple[Any, ...]:
        parts = parameters.get("parts", ())
        if len(parts) != len(self.families):
            raise InvalidParameterError(f"parts must hold {len(self.families)} dicts, one a part")
        return tuple(
            point_from_user(family, {name.removesuffix("_"): own[name] for name in own}, one)
            for family, own, one in zip(self.families, parts, defaults, strict=True)
        )

    def attributes(self, point: tuple[Any, ...]) -> dict[str, Any]:
        return {"parts_": self._attributes(point)}
