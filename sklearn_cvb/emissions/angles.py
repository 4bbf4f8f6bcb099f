"""Von Mises emissions: columns of angles, read as unit vectors. A point has a mean direction and a
concentration for each column and state; posteriors of concentrations are weights on a grid.

log p(x | m, k) = k cos(x - m) - log(2 pi I0(k)): a mean direction m and a concentration k. Given k
the direction has a conjugate prior, here an even one, whose integral is closed; k itself has values
on a grid, evenly spaced in its logarithm (Mardia and Jupp 2000, "Directional statistics", sections
3.5.4 and 10.6).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import i0e, i1e, ive, logsumexp

from sklearn_cvb.emissions import emission
from sklearn_cvb.emissions.emission import (
    MIN_STEPS,
    Emission,
    Family,
    LinearScores,
    Observations,
    Tails,
)
from sklearn_cvb.kernels.angles import angle_buffers, angle_scores, scaled_bessel
from sklearn_cvb.reading.moments import Moments
from sklearn_cvb.reading.validation import InvalidParameterError

# Concentrations that posteriors tell apart: each is 5 % above the one before by default.
_GRID = 200
# A concentration whose part of a density is below this share of the largest leaves no digit.
_NO_DIGIT = 1e-17
# Newton's steps for the most likely concentration; halvings of a quantile's bracket.
_STEPS, _HALVINGS = 30, 60
# Harmonics of an angle's mean and variance as a number.
_HARMONICS = np.arange(1, 400)


@dataclass(eq=False, repr=False, kw_only=True)
class VonMises(Emission):
    """Columns of angles in radians with von Mises distributions, independent given the state.

    Parameters
    ----------
    concentration_range : tuple (lowest, highest), default=(0.01, 1000.0)
        Concentrations there may be: 0.01 is any direction, 1000 has a standard deviation of 0.03.

    Notes
    -----
    All mean directions are equally probable a priori. Logarithms of concentrations are, too: EM
    finds the most likely one inside the range, VB, CVB and Gibbs sampling a posterior over 200
    values in it. Angles may be two turns away from 0, more are taken for degrees and refused; what
    is drawn is between -pi and pi. Missing values are left out of a step exactly. Forecasts take
    angles as numbers between -pi and pi.

    Examples
    --------
    >>> from sklearn_cvb import VBHMM
    >>> from sklearn_cvb.emissions import VonMises
    >>> X = [[0.1, -0.2, 0.0, 3.1, -3.0, 3.0], [-3.1, 2.9, 0.1, 0.2, -0.1]] * 5
    >>> model = VBHMM(2, emission=VonMises(), random_state=0).fit(X)
    >>> sorted(abs(model.directions_).ravel().round().tolist())
    [0.0, 3.0]
    """

    concentration_range: tuple[float, float] = (0.01, 1000.0)

    def bind(self, moments: Moments, n_states: int) -> "VonMisesFamily":
        """The family; the data do not change the prior."""
        ends = emission.finite_array("concentration_range", self.concentration_range, (2,))
        if not 0 < ends[0] < ends[1] <= 1e6:
            raise InvalidParameterError(
                "concentration_range must be two rising numbers, 0 < lowest < highest <= 1e6, got "
                f"{self.concentration_range!r}"
            )
        return VonMisesFamily(np.geomspace(ends[0], ends[1], _GRID), n_states, len(moments.means))

    def example(self, given: dict[str, Any]) -> np.ndarray:
        """As many columns as directions have."""
        if "directions" not in given:
            return super().example(given)
        return np.zeros((2, emission.state_table(given, "directions").shape[1]))


class AnglePoint(NamedTuple):
    """Mean directions and concentrations, (D, K) each."""

    directions: np.ndarray
    concentrations: np.ndarray


class AngleSums(NamedTuple):
    """Numbers of angles, and length and direction of the sum of their unit vectors."""

    counts: np.ndarray
    length: np.ndarray
    direction: np.ndarray


def _log_i0(x: np.ndarray) -> np.ndarray:
    """The logarithm of the modified Bessel function of order 0."""
    return np.log(i0e(x)) + x


def mean_length(concentrations: np.ndarray) -> np.ndarray:
    """A(k) = I1(k) / I0(k), the length of the mean of unit vectors with this concentration."""
    return i1e(concentrations) / i0e(concentrations)


def most_likely_concentration(length: np.ndarray, lowest: float, highest: float) -> np.ndarray:
    """The most likely concentration in a range where unit vectors have a mean of this length."""
    length = np.clip(length, 0.0, 1.0 - 1e-15)
    # Banerjee et al. (2005), eq. 4.4; then Newton's steps on A(k) = length.
    found = np.clip(length * (2.0 - length**2) / (1.0 - length**2), lowest, highest)
    for _ in range(_STEPS):
        ratio = mean_length(found)
        slope = np.maximum(1.0 - ratio**2 - ratio / found, 1e-300)
        found = np.clip(found - (ratio - length) / slope, 0.5 * found, 2.0 * found)
        found = np.clip(found, lowest, highest)
    return found


class AngleScores(NamedTuple):
    """Predictive densities under posteriors over directions and concentrations.

    The evidence with one angle more, divided by that without it.
    """

    sums: AngleSums  # (n_units, D, K) each
    grid: np.ndarray

    def fill(self, observations: Observations, units: np.ndarray, out: np.ndarray) -> None:
        """Fill `out` (n_steps, K)."""
        counts, length, direction = self.sums
        sums = counts, length * np.cos(direction), length * np.sin(direction)
        observed, grid = observations.observed, (self.grid, _log_i0(self.grid), scaled_bessel())
        if observed is None:
            observed = np.ones((len(out), counts.shape[1]), bool)
        # The kernel compares weights without a factor that falls from 1 to 1 / sqrt(2 pi k r).
        faintest = math.log(_NO_DIGIT) - 0.5 * math.log(self.grid[-1] / self.grid[0])
        rest = units, sums, grid, faintest, angle_buffers(), out
        out[:] = 0.0
        angle_scores(observations.values, observed, *rest)


class VonMisesFamily(Family):
    """Statistics are numbers of angles, and sums of their cosines and sines, of each column.

    The values of observations are unit vectors: cosines of all columns, then sines.
    """

    def __init__(self, grid: np.ndarray, n_states: int, n_columns: int) -> None:
        self.grid = grid
        self.grid_prior: np.ndarray = np.full(len(grid), -math.log(len(grid)))
        self.n_states, self.n_columns = n_states, n_columns
        self.n_statistics: int = 3 * n_columns
        self.n_parameters: int = 2 * n_states * n_columns

    def read(self, table: np.ndarray) -> Observations:
        degrees = "von Mises emissions are angles in radians, at most two turns from 0 (of degrees "
        emission.refuse_where(np.abs(table) > 4.0 * math.pi, table, degrees + "take numpy.radians)")
        angles, observed = emission.values_and_mask(table)
        there = np.ones_like(angles) if observed is None else observed.astype(np.float64)
        # A little more than half a turn is near a little less.
        vectors = np.hstack([there * np.cos(angles), there * np.sin(angles)])
        return Observations(vectors, observed, np.hstack([there, vectors]))

    def _sums(self, statistics: np.ndarray) -> AngleSums:
        count, cosines, sines = np.split(statistics, 3, axis=-2)
        count = np.maximum(count, 0.0)
        length = np.minimum(np.hypot(cosines, sines), count)
        return AngleSums(count, length, np.arctan2(sines, cosines))

    def _logs(self, sums: AngleSums) -> np.ndarray:
        """Log of prior times likelihood of each concentration, (..., D, K, n_grid)."""
        count = sums.counts[..., None]
        logs = self.grid_prior - count * (math.log(2.0 * math.pi) + _log_i0(self.grid))
        return logs + _log_i0(sums.length[..., None] * self.grid)

    def _grid_posterior(self, sums: AngleSums) -> np.ndarray:
        logs = self._logs(sums)
        return np.exp(logs - logsumexp(logs, axis=-1, keepdims=True))

    def most_likely(self, statistics: np.ndarray, before: AnglePoint | None = None) -> AnglePoint:
        count, length, direction = self._sums(statistics)
        share = length / np.maximum(count, MIN_STEPS)
        found = most_likely_concentration(share, self.grid[0], self.grid[-1])
        if before is None:
            before = AnglePoint(np.zeros_like(count), np.full_like(count, self.grid[0]))
        seen = count > MIN_STEPS
        return AnglePoint(
            np.where(seen, direction, before.directions),
            np.where(seen, found, before.concentrations),
        )

    def mean(self, statistics: np.ndarray) -> AnglePoint:
        sums = self._sums(statistics)
        return AnglePoint(sums.direction, self._grid_posterior(sums) @ self.grid)

    def draw(self, statistics: np.ndarray, rng: np.random.Generator) -> AnglePoint:
        sums = self._sums(statistics)
        levels = np.cumsum(self._grid_posterior(sums), axis=-1)
        drawn = rng.random((*sums.counts.shape, 1)) * levels[..., -1:]
        concentrations = self.grid[np.minimum((levels <= drawn).sum(axis=-1), len(self.grid) - 1)]
        return AnglePoint(
            rng.vonmises(sums.direction, concentrations * sums.length), concentrations
        )

    def log_densities(self, point: AnglePoint) -> LinearScores:
        directions, concentrations = point
        return self._linear(
            concentrations * np.cos(directions),
            concentrations * np.sin(directions),
            _log_i0(concentrations),
        )

    def _linear(self, cosines: np.ndarray, sines: np.ndarray, logs: np.ndarray) -> LinearScores:
        return LinearScores(np.concatenate([-logs - math.log(2 * math.pi), cosines, sines])[None])

    def expected_log_densities(self, statistics: np.ndarray) -> LinearScores:
        sums = self._sums(statistics)
        chances = self._grid_posterior(sums)
        lengths = mean_length(sums.length[..., None] * self.grid)
        along = (chances * lengths * self.grid).sum(axis=-1)
        turned = along * np.cos(sums.direction), along * np.sin(sums.direction)
        return self._linear(*turned, chances @ _log_i0(self.grid))

    def predictive(self, statistics: np.ndarray) -> AngleScores:
        return AngleScores(self._sums(emission.by_unit(statistics)), self.grid)

    def log_evidence(self, statistics: np.ndarray) -> float:
        return float(logsumexp(self._logs(self._sums(statistics)), axis=-1).sum())

    def log_prior(self, point: AnglePoint) -> float:
        return 0.0

    def sample(self, point: AnglePoint, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return rng.vonmises(point.directions.T[states], point.concentrations.T[states])

    def tails(self, point: AnglePoint, observations: Observations) -> Tails:
        """From -pi on, the other half turn."""
        from scipy.stats import vonmises

        cosines, sines = np.split(observations.values[:, None, :], 2, axis=-1)
        found = vonmises(point.concentrations.T, point.directions.T)
        up_to = np.clip(found.cdf(np.arctan2(sines, cosines)) - found.cdf(-math.pi), 0.0, 1.0)
        return Tails(up_to, up_to, 1.0 - up_to, 1.0 - up_to)

    def moments(self, point: AnglePoint) -> tuple[np.ndarray, np.ndarray]:
        """From the Fourier series of x and of its square between -pi and pi."""
        directions, concentrations = (table.T[..., None] for table in point)
        lengths = ive(_HARMONICS, concentrations) / i0e(concentrations)
        signs = np.where(_HARMONICS % 2, 1.0, -1.0)
        means = 2.0 * (signs * lengths * np.sin(_HARMONICS * directions) / _HARMONICS).sum(axis=-1)
        waves = signs * lengths * np.cos(_HARMONICS * directions) / _HARMONICS**2
        return means, math.pi**2 / 3.0 - 4.0 * waves.sum(axis=-1) - means**2

    def marginals(self, statistics: np.ndarray) -> dict[str, Any]:
        from scipy.stats import vonmises

        sums = AngleSums(*(table.T for table in self._sums(statistics)))
        chances = self._grid_posterior(sums)
        known = np.maximum(sums.length[..., None] * self.grid, 1e-300)
        levels = np.cumsum(chances, axis=-1)

        def directions(x: np.ndarray) -> np.ndarray:
            each = vonmises.cdf((x - sums.direction)[..., None], known)
            return np.asarray((chances * each).sum(axis=-1))

        def concentrations(x: np.ndarray) -> np.ndarray:
            below = np.searchsorted(self.grid, x, side="right")
            padded = np.concatenate([np.zeros_like(levels[..., :1]), levels], axis=-1)
            return np.take_along_axis(padded, below[..., None], axis=-1)[..., 0]

        lowest, highest = (np.full_like(sums.counts, end) for end in (0.0, self.grid[-1]))
        turn = sums.direction - math.pi, sums.direction + math.pi
        return {
            "directions": GridDistribution(directions, *turn),
            "concentrations": GridDistribution(concentrations, lowest, highest),
        }

    def point_from(self, parameters: dict[str, Any]) -> AnglePoint:
        shape = self.n_states, self.n_columns
        concentrations = emission.table_in(parameters, "concentrations", shape)
        emission.refuse_outside(
            "concentrations", concentrations, concentrations > 0, "must be positive"
        )
        directions = emission.table_in(parameters, "directions", shape)
        return AnglePoint(
            *(np.ascontiguousarray(table.T) for table in (directions, concentrations))
        )

    def attributes(self, point: AnglePoint) -> dict[str, Any]:
        names = "directions_", "concentrations_"
        tables = (np.ascontiguousarray(table.T) for table in point)
        return dict(zip(names, tables, strict=True))


class GridDistribution(NamedTuple):
    """Distributions (K, D) of single parameters, by their distribution functions and ranges."""

    cdf: Callable[[np.ndarray], np.ndarray]
    lowest: np.ndarray
    highest: np.ndarray

    def ppf(self, tail: float) -> np.ndarray:
        """Where the distribution functions reach `tail`."""
        low, high = self.lowest, self.highest
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            reached = self.cdf(middle) >= tail
            low, high = np.where(reached, low, middle), np.where(reached, middle, high)
        return high
