"""Mixture emissions: in each state a step comes from one of several components, each with a family
of its own. A zero-inflated column mixes a family with zeros; a hurdle gives it all of them.

The component is hidden, too: p(x | z) is the sum over c of p(c | z) p(x | z, c). Probabilities of
components have a Dirichlet prior in each state, components the priors of their own families, and
statistics are expected counts of both.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, xlogy

from sklearn_cvb.emissions.emission import (
    MIN_STEPS,
    Emission,
    Family,
    Observations,
    Scores,
    Tails,
    by_unit,
    per_step,
    point_from_user,
    positive,
    refuse_outside,
    table_in,
    values_and_mask,
)
from sklearn_cvb.kernels.emission import feature_sums, linear_scores
from sklearn_cvb.reading.moments import Moments
from sklearn_cvb.reading.validation import InvalidParameterError, check_counts

# Steps that are taken together; the least log that is subtracted, where all are of 0.
_BLOCK, _LEAST = 1024, -np.finfo(np.float64).max
# A fit begins with this share of each step in the component of its place, the rest in all.
_OWN_SHARE = 0.8


@dataclass(eq=False, repr=False)
class Mixture(Emission):
    """Several components of one kind in each state.

    Parameters
    ----------
    emission : Emission
        What each component is, such as ``Gaussian("diag")``.
    n_components : int, default=2
        Components of each state.
    weight_prior : float or None, default=None
        Dirichlet prior of the components' probabilities, as if this many steps had been seen in
        each; None for 1, and no prior in EM.

    Notes
    -----
    All that a fitted model shows is in `weights_`, (n_components, number of components), and
    `mixture_`, a list with the attributes of each component. Which component is which differs from
    state to state and from fit to fit. EM may find a component of a single step: the floors of its
    family hold.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_cvb import EMHMM
    >>> from sklearn_cvb.emissions import Gaussian, Mixture
    >>> rng = np.random.default_rng(0)
    >>> near, far = rng.choice([-1.0, 1.0], 200), rng.choice([6.0, 9.0], 200)
    >>> X = [np.concatenate([near, far]) + 0.2 * rng.normal(size=400)]
    >>> model = EMHMM(2, emission=Mixture(Gaussian("diag")), random_state=0).fit(X)
    >>> sorted(np.ravel([own["means_"] for own in model.mixture_]).round().tolist())
    [-1.0, 1.0, 6.0, 9.0]
    """

    emission: Any
    n_components: int = 2
    weight_prior: float | None = None

    def bind(self, moments: Moments, n_states: int) -> "MixtureFamily":
        """A family for each component."""
        check_counts(n_components=self.n_components)
        if not isinstance(self.emission, Emission):
            raise InvalidParameterError(
                f"emission must be an emission, such as Gaussian(), got {self.emission!r}"
            )
        families = [self.emission.bind(moments, n_states) for _ in range(self.n_components)]
        _refuse_regressions(families[0])
        return MixtureFamily(families, _weight_prior(self.weight_prior), n_states)

    def example(self, given: dict[str, Any]) -> np.ndarray:
        """Of the first component."""
        return self.emission.example(_first_component(given))


@dataclass(eq=False, repr=False)
class ZeroInflated(Emission):
    """A column of numbers with more zeros than its kind has: some come from elsewhere.

    Of several columns each may be so: ``Columns([(ZeroInflated(Poisson()), [0]), ...])``.

    Parameters
    ----------
    emission : Emission
        What the column is besides, such as ``Poisson()``. Where that is no count, as with
        ``Gamma(shape=2.0)``, all zeros come from elsewhere.
    weight_prior : float or None, default=None
        Beta prior of the probability of a zero from elsewhere, as if this many steps of either kind
        had been seen; None for 1, and no prior in EM.

    Notes
    -----
    `weights_`, (n_components, 2), has that probability first; `mixture_` holds the attributes of
    the second component.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_cvb import VBHMM
    >>> from sklearn_cvb.emissions import Poisson, ZeroInflated
    >>> rng = np.random.default_rng(0)
    >>> counts = rng.poisson(np.repeat([3.0, 20.0], 100)) * (rng.random(200) < 0.7)
    >>> model = VBHMM(2, emission=ZeroInflated(Poisson()), random_state=0).fit([counts])
    >>> bool((abs(model.weights_[:, 0] - 0.3) < 0.1).all())
    True
    """

    emission: Any
    weight_prior: float | None = None

    def bind(self, moments: Moments, n_states: int) -> "MixtureFamily":
        """A family of zeros, and the other."""
        if not isinstance(self.emission, Emission):
            raise InvalidParameterError(
                f"emission must be an emission, such as Poisson(), got {self.emission!r}"
            )
        n_columns = len(moments.means)
        if n_columns != 1:
            raise InvalidParameterError(
                f"ZeroInflated is for one column, but there are {n_columns}: name those that "
                "have too many zeros, each alone, in Columns([(ZeroInflated(...), [0]), ...])"
            )
        other = self.emission.bind(moments, n_states)
        _refuse_regressions(other)
        families = [ZerosFamily(n_states), other]
        return ZeroInflatedFamily(families, _weight_prior(self.weight_prior), n_states)

    def example(self, given: dict[str, Any]) -> np.ndarray:
        """Of the other component."""
        return self.emission.example(_first_component(given))


def _refuse_regressions(family: Family) -> None:
    if family.order or len(family.covariate_columns):
        raise InvalidParameterError("components of a mixture cannot be regressions")


class WeightPrior(NamedTuple):
    """The concentration of the components' probabilities, and whether EM has a prior, too."""

    concentration: float
    is_given: bool


def _weight_prior(weight_prior: float | None) -> WeightPrior:
    if weight_prior is None:
        return WeightPrior(1.0, False)
    return WeightPrior(positive("weight_prior", weight_prior), True)


def _first_component(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters of the first component that has some, by name."""
    if not parameters.get("mixture"):
        raise InvalidParameterError("mixture is missing: parameters of each component")
    return {name.removesuffix("_"): value for name, value in parameters["mixture"][0].items()}


class MixturePoint(NamedTuple):
    """Probabilities of components in each state, (C, K), and a point of each component."""

    weights: np.ndarray
    components: tuple[Any, ...]


class ComponentObservations(NamedTuple):
    """What each component reads of the steps, and which one was drawn for each step, if any."""

    values: np.ndarray  # (n_steps, D), as the first component has them
    parts: tuple[Any, ...]
    observed: np.ndarray  # (n_steps, D)
    component: np.ndarray | None = None  # (n_steps,), int

    def part(self, begin: int, end: int) -> "ComponentObservations":
        """Some of the steps."""
        parts = tuple(own.part(begin, end) for own in self.parts)
        drawn = None if self.component is None else self.component[begin:end]
        values, observed = self.values[begin:end], self.observed[begin:end]
        return ComponentObservations(values, parts, observed, drawn)


def _in_blocks(n_steps: int) -> list[slice]:
    """Slices of steps whose weights stay in the cache."""
    return [slice(begin, begin + _BLOCK) for begin in range(0, n_steps, _BLOCK)]


def _exponentiate(logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log weights of components, the first axis, to weights, in place, of which the largest is 1.

    Returns the log of what that was, and the sums of weights.
    """
    largest = np.maximum(logs.max(axis=0), _LEAST)
    logs -= largest
    np.exp(logs, out=logs)
    return largest, logs.sum(axis=0)


def any_observed(observations: ComponentObservations) -> np.ndarray:
    """Which steps (n_steps,) are not all missing."""
    observed = observations.observed
    return observed @ np.ones(observed.shape[1]) > 0.0


class ComponentScores(NamedTuple):
    """Log densities of mixtures, from log weights (n_units, C, K) and scores of components."""

    weights: np.ndarray
    components: tuple[Scores, ...]

    def joint_log_densities(
        self, observations: ComponentObservations, units: np.ndarray
    ) -> np.ndarray:
        """Log p(c) p(x | c) of all steps: (C, n_steps, K)."""
        shape = len(observations.values), self.weights.shape[-1]
        found = np.empty((len(self.components), *shape))
        each = zip(self.components, observations.parts, strict=True)
        for c, (scores, own) in enumerate(each):
            scores.fill(own, units, found[c])
            found[c] += per_step(self.weights[:, c], units)
        return found

    def fill(self, observations: ComponentObservations, units: np.ndarray, out: np.ndarray) -> None:
        """Fill `out` (n_steps, K)."""
        logs = self.joint_log_densities(observations, units)
        for steps in _in_blocks(len(out)):
            largest, total = _exponentiate(logs[:, steps])
            with np.errstate(divide="ignore"):
                np.add(np.log(total), largest, out=out[steps])
        # A step without any value tells nothing of its component.
        out[~any_observed(observations)] = 0.0


class MixtureFamily(Family):
    """Statistics of the components one after the other, then how many steps each has."""

    def __init__(self, families: list[Any], prior: WeightPrior, n_states: int) -> None:
        self.families = families
        self.prior = prior
        self.concentration, self.is_given = prior
        self.n_states = n_states
        self.n_columns: int = families[-1].n_columns
        sizes = [family.n_statistics for family in families]
        self.ends: np.ndarray = np.cumsum(sizes)
        self.n_statistics: int = sum(sizes) + len(families)
        of_weights = n_states * (len(families) - 1)
        self.n_parameters: int = sum(own.n_parameters for own in families) + of_weights
        self.is_discrete: bool = all(family.is_discrete for family in families)
        self.has_outliers: bool = any(family.has_outliers for family in families)

    # Steps and components

    def read(self, table: np.ndarray) -> ComponentObservations:
        parts = tuple(family.read(table) for family in self.families)
        mask = self.families[0].observed_mask(parts[0])
        return ComponentObservations(parts[0].values, parts, mask)

    def observed_mask(self, observations: ComponentObservations) -> np.ndarray:
        return observations.observed

    def statistics(
        self,
        observations: ComponentObservations,
        posterior: np.ndarray,
        units: np.ndarray,
        scores: Any = None,
    ) -> np.ndarray:
        if scores is None and observations.component is None:
            found = self._initial_responsibilities(observations, posterior)
        else:
            found = self._responsibilities(observations, units, scores)
        # Kernels take rows.
        shares = np.ascontiguousarray(found * posterior)
        of_parts = [None] * len(self.families) if scores is None else scores.components
        each = zip(self.families, observations.parts, shares, of_parts, strict=True)
        parts = [family.statistics(own, share, units, one) for family, own, share, one in each]
        seen = any_observed(observations)[:, None].astype(np.float64)
        counts = np.zeros((len(shares), len(units) - 1, 1, self.n_states))
        for share, count in zip(shares, counts, strict=True):
            feature_sums(seen, share, units, count)
        return np.concatenate([*parts, *counts], axis=1)

    def _responsibilities(
        self, observations: ComponentObservations, units: np.ndarray, scores: Any
    ) -> np.ndarray:
        """Probabilities of the components given the state of each step, (C, n_steps, K)."""
        if observations.component is not None:
            return np.eye(len(self.families))[observations.component].T[..., None]
        chances: np.ndarray = scores.joint_log_densities(observations, units)
        for steps in _in_blocks(chances.shape[1]):
            some = chances[:, steps]
            total = _exponentiate(some)[1]
            some[:, total == 0.0], total[total == 0.0] = 1.0 / len(some), 1.0
            some /= total
        return chances

    def _initial_responsibilities(
        self, observations: ComponentObservations, posterior: np.ndarray
    ) -> np.ndarray:
        """Responsibilities to start from, (C, n_steps, K): states are cut across their widest axis.

        Most of a step is in the component of its part.
        """
        n_components = len(self.families)
        shares = np.full((n_components, *posterior.shape), (1.0 - _OWN_SHARE) / n_components)
        for k, weights in enumerate(posterior.T):
            total = max(weights.sum(), MIN_STEPS)
            off = observations.values - weights @ observations.values / total
            widest = np.linalg.eigh((off * weights[:, None]).T @ off)[1][:, -1]
            # The same end comes first, whichever steps are at hand.
            widest = widest * np.sign(widest[np.abs(widest).argmax()])
            order = np.argsort(off @ widest, kind="stable")
            below = (np.cumsum(weights[order]) - 0.5 * weights[order]) / total
            own = np.clip((below * n_components).astype(np.int64), 0, n_components - 1)
            shares[own, order, k] += _OWN_SHARE
        return shares

    def impute(
        self,
        observations: ComponentObservations,
        scores: ComponentScores,
        states: np.ndarray,
        rng: np.random.Generator,
    ) -> ComponentObservations:
        n_steps = len(states)
        whole = np.array([0, n_steps])
        shares = self._responsibilities(observations, whole, scores)[:, np.arange(n_steps), states]
        levels = np.cumsum(shares, axis=0)
        drawn = (levels <= rng.random(n_steps) * levels[-1]).sum(axis=0)
        drawn = np.minimum(drawn, len(self.families) - 1)
        each = zip(self.families, observations.parts, scores.components, strict=True)
        parts = tuple(family.impute(own, one, states, rng) for family, own, one in each)
        return observations._replace(parts=parts, component=drawn)

    # Parameters

    def _split(self, statistics: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
        """Statistics of each component, and counts of steps (..., C, K)."""
        *parts, counts = np.split(statistics, self.ends, axis=-2)
        return parts, np.maximum(counts, 0.0)

    def _of_parts(self, method: str, statistics: np.ndarray, *more: Any) -> tuple[Any, ...]:
        """The results of a method of each component, called with its statistics."""
        pairs = zip(self.families, self._split(statistics)[0], strict=True)
        return tuple(getattr(family, method)(own, *more) for family, own in pairs)

    def most_likely(
        self, statistics: np.ndarray, before: MixturePoint | None = None
    ) -> MixturePoint:
        parts, counts = self._split(statistics)
        if self.is_given:
            counts = counts + self.concentration
        totals = counts.sum(axis=-2, keepdims=True)
        old = np.full_like(counts, 1.0 / len(parts)) if before is None else before.weights
        weights = np.where(totals > MIN_STEPS, counts / np.maximum(totals, MIN_STEPS), old)
        olds = [None] * len(parts) if before is None else before.components
        each = zip(self.families, parts, olds, strict=True)
        return MixturePoint(
            weights, tuple(family.most_likely(own, old) for family, own, old in each)
        )

    def mean(self, statistics: np.ndarray) -> MixturePoint:
        counts = self._split(statistics)[1] + self.concentration
        return MixturePoint(
            counts / counts.sum(axis=-2, keepdims=True), self._of_parts("mean", statistics)
        )

    def draw(self, statistics: np.ndarray, rng: np.random.Generator) -> MixturePoint:
        counts = self._split(statistics)[1] + self.concentration
        drawn = np.maximum(rng.standard_gamma(counts), 1e-300)
        return MixturePoint(
            drawn / drawn.sum(axis=-2, keepdims=True), self._of_parts("draw", statistics, rng)
        )

    def log_densities(self, point: MixturePoint) -> ComponentScores:
        each = zip(self.families, point.components, strict=True)
        with np.errstate(divide="ignore"):
            logs = np.log(point.weights)
        parts = tuple(family.log_densities(own) for family, own in each)
        return self._scores(logs[None], parts)

    def expected_log_densities(self, statistics: np.ndarray) -> ComponentScores:
        counts = self._split(statistics)[1] + self.concentration
        logs = digamma(counts) - digamma(counts.sum(axis=-2, keepdims=True))
        parts = self._of_parts("expected_log_densities", statistics)
        return self._scores(logs[None], parts)

    def predictive(self, statistics: np.ndarray) -> ComponentScores:
        statistics = by_unit(statistics)
        counts = self._split(statistics)[1] + self.concentration
        logs = np.log(counts) - np.log(counts.sum(axis=-2, keepdims=True))
        return self._scores(logs, self._of_parts("predictive", statistics))

    def _scores(self, logs: np.ndarray, parts: tuple[Scores, ...]) -> Any:
        return ComponentScores(logs, parts)

    def _evidence_of_counts(self, counts: np.ndarray) -> float:
        """Log marginal likelihood of components whose numbers these are."""
        prior = np.full_like(counts, self.concentration)
        found = (gammaln(counts + prior) - gammaln(prior)).sum()
        totals = counts.sum(axis=-2), prior.sum(axis=-2)
        return float(found - (gammaln(totals[0] + totals[1]) - gammaln(totals[1])).sum())

    def log_evidence(self, statistics: np.ndarray) -> float:
        of_counts = self._evidence_of_counts(self._split(statistics)[1])
        return of_counts + sum(self._of_parts("log_evidence", statistics))

    def divergence(self, statistics: np.ndarray) -> float:
        counts = self._split(statistics)[1]
        posterior = counts + self.concentration
        logs = digamma(posterior) - digamma(posterior.sum(axis=-2, keepdims=True))
        of_counts = float((counts * logs).sum()) - self._evidence_of_counts(counts)
        return of_counts + sum(self._of_parts("divergence", statistics))

    def log_likelihood(self, statistics: np.ndarray, point: MixturePoint) -> float:
        parts, counts = self._split(statistics)
        each = zip(self.families, parts, point.components, strict=True)
        found = sum(family.log_likelihood(own, one) for family, own, one in each)
        return float(found + xlogy(counts, point.weights).sum())

    def log_prior(self, point: MixturePoint) -> float:
        each = zip(self.families, point.components, strict=True)
        found = sum(family.log_prior(own) for family, own in each)
        if self.is_given:
            found += self.concentration * float(np.log(point.weights).sum())
        return found

    # What a fitted model shows

    def permuted(self, order: np.ndarray) -> "MixtureFamily":
        families = [family.permuted(order) for family in self.families]
        return type(self)(families, self.prior, self.n_states)

    def permuted_point(self, point: MixturePoint, order: np.ndarray) -> MixturePoint:
        each = zip(self.families, point.components, strict=True)
        parts = tuple(family.permuted_point(own, order) for family, own in each)
        return MixturePoint(np.take(point.weights, order, axis=-1), parts)

    def sample(
        self, point: MixturePoint, states: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray:
        levels = np.cumsum(point.weights, axis=0)[:, states]
        place = (levels[:-1] <= rng.random(len(states)) * levels[-1]).sum(axis=0)
        drawn = np.empty((len(states), self.n_columns))
        for c, (family, own) in enumerate(zip(self.families, point.components, strict=True)):
            drawn[place == c] = family.sample(own, states[place == c], rng)
        return drawn

    def moments(self, point: MixturePoint) -> tuple[np.ndarray, np.ndarray]:
        each = zip(self.families, point.components, strict=True)
        means, variances = zip(*(family.moments(own) for family, own in each), strict=True)
        weights, table = point.weights[..., None], np.array(means)
        mean = (weights * table).sum(axis=0)
        return mean, (weights * (np.array(variances) + (table - mean) ** 2)).sum(axis=0)

    def tails(self, point: MixturePoint, observations: ComponentObservations) -> Tails:
        each = zip(self.families, point.components, observations.parts, strict=True)
        found = [family.tails(one, own) for family, one, own in each]
        weights = point.weights[:, None, :, None]
        return Tails(*((weights * np.array(own)).sum(axis=0) for own in zip(*found, strict=True)))

    def marginals(self, statistics: np.ndarray) -> dict[str, Any]:
        from scipy.stats import beta

        counts = (self._split(statistics)[1] + self.concentration).T
        rest = counts.sum(axis=1, keepdims=True) - counts
        parts = [own for own in self._of_parts("marginals", statistics) if own]
        return {"weights": beta(counts, rest), "mixture": parts}

    def attributes(self, point: MixturePoint) -> dict[str, Any]:
        each = zip(self.families, point.components, strict=True)
        parts = [family.attributes(own) for family, own in each]
        weights = np.ascontiguousarray(point.weights.T)
        return {"weights_": weights, "mixture_": [own for own in parts if own]}

    def point_from(self, parameters: dict[str, Any]) -> MixturePoint:
        return self.point_with(parameters, None)

    def point_with(self, parameters: dict[str, Any], defaults: MixturePoint | None) -> MixturePoint:
        others: tuple[Any, ...] = (None,) * len(self.families)
        if defaults is not None:
            parameters, others = {"weights": defaults.weights.T} | parameters, defaults.components
        weights = table_in(parameters, "weights", (self.n_states, len(self.families)))
        good = (weights >= 0) & (np.abs(weights.sum(axis=1, keepdims=True) - 1.0) < 1e-6)
        refuse_outside("weights", weights, good, "must sum to 1")
        if defaults is not None and "mixture" not in parameters:
            return MixturePoint(np.ascontiguousarray(weights.T), others)
        told = list(parameters.get("mixture", ()))
        n_shown = sum(family.n_statistics > 0 for family in self.families)
        if len(told) != n_shown:
            raise InvalidParameterError(f"mixture must hold {n_shown} dicts, one per component")
        parts = tuple(
            point_from_user(
                family, {name.removesuffix("_"): v for name, v in told.pop(0).items()}, one
            )
            if family.n_statistics
            else None
            for family, one in zip(self.families, others, strict=True)
        )
        return MixturePoint(np.ascontiguousarray(weights.T), parts)


# Zeros


class ZerosFamily(Family):
    """A column of zeros, of which nothing is learned; features say what is 0, and what is not."""

    is_discrete = True
    n_columns, n_statistics, n_parameters = 1, 0, 0

    def __init__(self, n_states: int) -> None:
        self.n_states = n_states

    def read(self, table: np.ndarray) -> Observations:
        values, observed = values_and_mask(table)
        is_zero = values == 0.0
        seen = np.ones_like(is_zero) if observed is None else observed
        kinds = np.concatenate([is_zero & seen, ~is_zero], axis=1).astype(np.float64)
        return Observations(values, observed, kinds)

    def _nothing(self, *_: Any) -> None:
        return None

    most_likely = mean = draw = point_from = _nothing
    log_densities = expected_log_densities = predictive = _nothing
    permuted_point: Any = _nothing

    def log_evidence(self, *_: Any) -> float:
        return 0.0

    log_prior = log_evidence
    divergence: Any = log_evidence
    log_likelihood: Any = log_evidence

    def attributes(self, _: Any) -> dict[str, Any]:
        return {}

    marginals = attributes

    def sample(self, _: None, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return np.zeros((len(states), 1))

    def moments(self, _: None) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((self.n_states, 1)), np.zeros((self.n_states, 1))

    def tails(self, _: None, observations: Observations) -> Tails:
        values = np.repeat(observations.values[:, None, :], self.n_states, axis=1)
        found = values > 0, values >= 0, values < 0, values <= 0
        return Tails(*(own.astype(np.float64) for own in found))


# A column of which some zeros come from elsewhere


class ZeroInflatedScores(NamedTuple):
    """Log densities of a column with more zeros: all zeros of a unit are as probable."""

    column: Scores
    kinds: np.ndarray  # (n_units or 1, 2, K), log p(0), and the log weight of the column
    elsewhere: np.ndarray  # (n_units or 1, 1, K), p(from elsewhere | 0)

    def fill(self, observations: ComponentObservations, units: np.ndarray, out: np.ndarray) -> None:
        """Fill `out` (n_steps, K)."""
        kinds, (of_zeros, others) = np.empty_like(out), observations.parts
        self.column.fill(others, units, out)
        linear_scores(of_zeros.features, units, self.kinds, kinds)
        out += kinds


class ZeroInflatedFamily(MixtureFamily):
    """Zeros, and a family to which zeros are missing: they are alike, and done once a unit."""

    def __init__(self, families: list[Any], prior: WeightPrior, n_states: int) -> None:
        super().__init__(families, prior, n_states)
        # Of a hurdle all zeros come from elsewhere.
        self.is_hurdle: bool = not families[1].is_discrete

    def read(self, table: np.ndarray) -> ComponentObservations:
        zeros, column = self.families
        of_zeros, others = zeros.read(table), column.read(np.where(table == 0.0, np.nan, table))
        mask = zeros.observed_mask(of_zeros)
        return ComponentObservations(of_zeros.values, (of_zeros, others), mask)

    def _scores(self, logs: np.ndarray, parts: tuple[Scores, ...]) -> ZeroInflatedScores:
        n_units, elsewhere, own = len(logs), logs[:, 0], np.full(logs[:, 1].shape, -np.inf)
        if not self.is_hurdle:
            zeros = self.families[1].read(np.zeros((n_units, 1)))
            parts[1].fill(zeros, np.arange(n_units + 1), own)
            own += logs[:, 1]
        total = np.logaddexp(elsewhere, own)
        share = np.exp(elsewhere - np.where(np.isneginf(total), 0.0, total))
        kinds = np.stack([total, logs[:, 1]], axis=1)
        return ZeroInflatedScores(parts[1], kinds, share[:, None])

    def statistics(
        self,
        observations: ComponentObservations,
        posterior: np.ndarray,
        units: np.ndarray,
        scores: Any = None,
    ) -> np.ndarray:
        (of_zeros, others), drawn = observations.parts, observations.component
        kinds, n_units, column = of_zeros.features, len(units) - 1, self.families[1]
        sums = np.zeros((n_units, 2, self.n_states))
        feature_sums(kinds, posterior, units, sums)
        # To begin with half of the zeros come from elsewhere.
        share: Any = 0.5 if scores is None else scores.elsewhere
        elsewhere = sums[:, :1] * (1.0 if self.is_hurdle else share)
        if drawn is not None:
            elsewhere[:] = 0.0
            feature_sums(kinds[:, :1] * (drawn == 0)[:, None], posterior, units, elsewhere)
        own, of_column = sums[:, :1] - elsewhere, None if scores is None else scores.column
        found = column.statistics(others, posterior, units, of_column)
        if not self.is_hurdle:
            zeros, each = column.read(np.zeros((n_units, 1))), np.arange(n_units + 1)
            found += column.statistics(zeros, np.ascontiguousarray(own[:, 0]), each, of_column)
        return np.concatenate([found, elsewhere, sums[:, 1:] + own], axis=1)

    def impute(
        self,
        observations: ComponentObservations,
        scores: Any,
        states: np.ndarray,
        rng: np.random.Generator,
    ) -> ComponentObservations:
        of_zeros, others = observations.parts
        chance = of_zeros.features[:, 0] * scores.elsewhere[0, 0, states]
        drawn = (rng.random(len(states)) >= chance).astype(np.int64)
        others = self.families[1].impute(others, scores.column, states, rng)
        return observations._replace(parts=(of_zeros, others), component=drawn)
