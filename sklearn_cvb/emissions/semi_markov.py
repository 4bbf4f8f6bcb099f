"""Emissions of hidden semi-Markov chains: what states emit at each step, and the distribution of
the durations of their visits (the law), which is a family of one column.

A duration is a number that a visit to a state emits once, and its law is a family of one column,
which holds durations 1..L minus 1. Expected visits give its statistics, as expected steps give
those of emissions.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from sklearn_cvb.emissions.categorical import Categorical, CategoricalFamily
from sklearn_cvb.emissions.columns import MixedFamily
from sklearn_cvb.emissions.counts import NegativeBinomial
from sklearn_cvb.emissions.emission import (
    Emission,
    Family,
    Observations,
    Scores,
    Tails,
    point_from_user,
    table_in,
)
from sklearn_cvb.emissions.poisson import Poisson
from sklearn_cvb.reading.moments import moments_of
from sklearn_cvb.reading.validation import InvalidParameterError

# Functions that are those of the emissions.
_FROM_EMISSION = ("read", "read_sequences", "observed_mask", "starting_scores")

# The laws of durations that have a name.
LAWS: dict[str, type[Emission]] = {
    "histogram": Categorical,
    "poisson": Poisson,
    "negative_binomial": NegativeBinomial,
}


def law_of_durations(law: Any, longest: int, n_states: int) -> Family:
    """The family of durations 1..longest minus 1; a prior that none is given for expects all."""
    own: Any = LAWS[law]() if isinstance(law, str) else law
    if not isinstance(own, tuple(LAWS.values())):
        raise InvalidParameterError(
            f"Durations: law must be {', '.join(map(repr, LAWS))}, or a Categorical, Poisson or "
            f"NegativeBinomial of sklearn_cvb.emissions, got {law!r}"
        )
    if isinstance(own, Categorical):
        own = clone(own).set_params(n_categories=longest)
    family: Family = own.bind(moments_of(np.arange(float(longest))[:, None]), n_states)
    return family


class SemiMarkovScores(NamedTuple):
    """Log densities of what states emit, and those of durations."""

    emission: Scores
    law: Scores
    lengths: Observations  # what the law reads: all durations
    n_states: int
    endless: np.ndarray = np.empty(0, np.intp)  # states that no other follows

    def fill(self, observations: Any, units: np.ndarray, out: np.ndarray) -> None:
        """Log densities of steps."""
        self.emission.fill(observations, units, out)

    def log_durations(self, n_units: int) -> np.ndarray:
        """Log probabilities of durations 1..L under each of this many units, (n_units, K, L).

        Endless states last for L steps, and are entered again.
        """
        values, _, features = self.lengths
        longest, bounds = len(values), np.arange(n_units + 1) * len(values)
        every = Observations(np.tile(values, (n_units, 1)), None, np.tile(features, (n_units, 1)))
        out = np.empty((n_units * longest, self.n_states))
        self.law.fill(every, bounds, out)
        logs = np.ascontiguousarray(np.swapaxes(out.reshape(n_units, longest, -1), 1, 2))
        logs[:, self.endless, :-1], logs[:, self.endless, -1] = -np.inf, 0.0
        return logs


class SemiMarkovFamily(MixedFamily):
    """An emission and a law of durations; statistics one after the other, a point is a pair.

    Of a state that no other follows every visit is the last one, and no law is learned.
    """

    endless = np.empty(0, np.intp)

    def __init__(
        self, family: Family, law: Family, longest: int, endless: np.ndarray = endless
    ) -> None:
        columns = np.arange(family.n_columns), np.empty(0, np.intp)
        super().__init__([family, law], list(columns), family.n_states)
        self.family, self.law, self.endless = family, law, endless
        self.lengths: Observations = law.read(np.arange(float(longest))[:, None])
        self.is_discrete: bool = family.is_discrete
        self._read_as_emission()

    def _read_as_emission(self) -> None:
        for name in _FROM_EMISSION:
            setattr(self, name, getattr(self.family, name))

    def __getstate__(self) -> dict[str, Any]:
        # skops writes no methods of another object.
        return {name: value for name, value in vars(self).items() if name not in _FROM_EMISSION}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._read_as_emission()

    @property
    def _is_table(self) -> bool:
        return type(self.law) is CategoricalFamily

    def _scores(self, emission: Scores, law: Scores) -> SemiMarkovScores:
        return SemiMarkovScores(emission, law, self.lengths, self.n_states, self.endless)

    def log_densities(self, point: tuple[Any, Any]) -> SemiMarkovScores:
        return self._scores(self.family.log_densities(point[0]), self.law.log_densities(point[1]))

    def expected_log_densities(self, statistics: np.ndarray) -> SemiMarkovScores:
        own, of_visits = self._split(statistics)
        return self._scores(
            self.family.expected_log_densities(own), self.law.expected_log_densities(of_visits)
        )

    def predictive(self, statistics: np.ndarray) -> SemiMarkovScores:
        own, of_visits = self._split(statistics)
        return self._scores(self.family.predictive(own), self.law.predictive(of_visits))

    def statistics(
        self,
        observations: Any,
        posterior: np.ndarray,
        units: np.ndarray,
        scores: Any = None,
        visits: np.ndarray | None = None,
    ) -> np.ndarray:
        """Of steps, and of visits (n_units, K, L): where none are known, one of all durations."""
        emission = None if scores is None else scores.emission
        own = self.family.statistics(observations, posterior, units, emission)
        longest = len(self.lengths.values)
        if visits is None:
            visits = np.full((len(units) - 1, self.n_states, longest), 1.0 / longest)
        elif len(self.endless):
            visits = visits.copy()
            visits[:, self.endless] = 0.0
        return np.concatenate([own, np.swapaxes(visits @ self.lengths.features, 1, 2)], axis=1)

    def impute(
        self, observations: Any, scores: Any, states: np.ndarray, rng: np.random.Generator
    ) -> Any:
        return self.family.impute(observations, scores.emission, states, rng)

    def sample(
        self, point: tuple[Any, Any], states: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        return self.family.sample(point[0], states, rng)

    def sample_forecasts(
        self,
        point: tuple[Any, Any],
        states: np.ndarray,
        table: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        return self.family.sample_forecasts(point[0], states, table, rng)

    def forecast_means(
        self, point: tuple[Any, Any], proba: np.ndarray, moves: Any, table: np.ndarray
    ) -> np.ndarray:
        return self.family.forecast_means(point[0], proba, moves, table)

    def tails(self, point: tuple[Any, Any], observations: Any) -> Tails:
        return self.family.tails(point[0], observations)

    def moments(self, point: tuple[Any, Any]) -> tuple[np.ndarray, np.ndarray]:
        return self.family.moments(point[0])

    def marginals(self, statistics: np.ndarray) -> Any:
        return self.family.marginals(self._split(statistics)[0])

    def n_free_durations(self, longest_sequence: int) -> int:
        """How many parameters of durations sequences of at most this many steps can move."""
        each = min(len(self.lengths.values), longest_sequence) - 1
        if not self._is_table:
            each = self.law.n_parameters // self.n_states
        return each * (self.n_states - len(self.endless))

    def durations(self, point: tuple[Any, Any]) -> np.ndarray:
        """Probabilities of durations 1..L, (K, L)."""
        found: np.ndarray = np.exp(self.log_densities(point).log_durations(1)[0])
        return found

    def attributes(self, point: tuple[Any, Any]) -> dict[str, Any]:
        return self.family.attributes(point[0]) | {"durations_": self.durations(point)}

    def stated(self, point: tuple[Any, Any]) -> dict[str, Any]:
        own = self.durations(point) if self._is_table else self.law.stated(point[1])
        return self.family.stated(point[0]) | {"durations": own}

    def point_from(self, parameters: dict[str, Any]) -> tuple[Any, Any]:
        return self.point_with(parameters, (None, None))

    def point_with(self, parameters: dict[str, Any], defaults: tuple[Any, Any]) -> tuple[Any, Any]:
        emitted = {name: parameters[name] for name in parameters if name != "durations"}
        shape = self.n_states, len(self.lengths.values)
        if "durations" not in parameters and defaults[1] is not None:
            of_visits = defaults[1]
        elif isinstance(parameters.get("durations"), dict):
            of_visits = point_from_user(self.law, parameters["durations"])
        elif self._is_table or "durations" not in parameters:
            table = table_in(parameters, "durations", shape)
            of_visits = np.maximum(self.law.point_from({"category_probabilities": [table]}), 1e-300)
        else:
            raise InvalidParameterError(
                "durations are a table for the law 'histogram' alone: of other laws they are a "
                "dict of parameters, such as {'rates': [[2.0], [5.0]]}"
            )
        return point_from_user(self.family, emitted, defaults[0]), of_visits

    def permuted(self, order: np.ndarray) -> "SemiMarkovFamily":
        family, endless = self.family.permuted(order), np.flatnonzero(np.isin(order, self.endless))
        return SemiMarkovFamily(family, self.law, len(self.lengths.values), endless)
