"""Steps of which some columns are missing, under covariance matrices: marginal and conditional.

A step is scored by the marginal density of what is observed of it, which is exact. What a state
learns from is the conditional expectation of its moments given what is observed (EM; in VB and CVB
the missing values are inferred as the states are), or a draw (Gibbs). Steps with the same columns
missing share a pattern and its matrices.
"""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import gammaln

from sklearn_cvb.emissions.emission import Observations

if TYPE_CHECKING:
    from sklearn_cvb.emissions.gaussian_matrices import MatrixScores

# Features of a step that is whole, or missing as a whole; a partly missing one has its pattern.
WHOLE = -1.0


def patterns_of(observed: np.ndarray) -> np.ndarray:
    """The pattern of each step (n_steps, 1): `WHOLE`, or a number that equal ones share."""
    partly = observed.any(axis=1) & ~observed.all(axis=1)
    codes = np.full((len(observed), 1), WHOLE)
    if partly.any():
        _, found = np.unique(observed[partly], axis=0, return_inverse=True)
        codes[partly, 0] = found.ravel()
    return codes


class Marginal(NamedTuple):
    """Steps of one pattern, and what is known of them by state.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        The steps.
    unit : ndarray of shape (n_rows,)
        The unit that each is in.
    seen : ndarray of shape (D,), bool
        The observed columns, D_o of them.
    means, scale : ndarray of shape (n_own, K, D) and (n_own, K, D, D)
        Means, and scale matrices of which a marginal is a part.
    place : ndarray of shape (n_rows,)
        Which of the `n_own` each step has.
    off : ndarray of shape (n_rows, K, D_o)
        Observed values minus means.
    weighed : ndarray of shape (n_rows, K, D_o)
        Their product with the inverse of the marginal scale matrix.
    log_det : ndarray of shape (n_rows, K)
        Of that matrix.
    """

    rows: np.ndarray
    unit: np.ndarray
    seen: np.ndarray
    means: np.ndarray
    scale: np.ndarray
    place: np.ndarray
    off: np.ndarray
    weighed: np.ndarray
    log_det: np.ndarray

    @property
    def distance(self) -> np.ndarray:
        """Squared distances of the observed values, (n_rows, K)."""
        return (self.off * self.weighed).sum(axis=-1)


def marginals(
    scores: "MatrixScores", observations: Observations, units: np.ndarray
) -> Iterator[Marginal]:
    """The partly missing steps, pattern by pattern."""
    codes, observed = observations.features[:, 0], observations.observed
    assert observed is not None, "something is missing"
    unit = np.repeat(np.arange(len(units) - 1), np.diff(units))
    several = len(scores.means) > 1
    for code in np.unique(codes[codes != WHOLE]):
        rows = np.flatnonzero(codes == code)
        seen = observed[rows[0]]
        own, place = np.unique(unit[rows] if several else np.zeros_like(rows), return_inverse=True)
        factors = np.moveaxis(scores.factors[own], -1, 1)
        scale = np.linalg.inv(np.swapaxes(factors, -1, -2) @ factors)
        means = np.moveaxis(scores.means[own], -1, 1)
        inner = scale[..., seen, :][..., seen]
        _, log_det = np.linalg.slogdet(inner)
        off = observations.values[rows][:, None, seen] - means[place][..., seen]
        weighed = np.linalg.solve(inner[place], off[..., None])[..., 0]
        yield Marginal(rows, unit[rows], seen, means, scale, place, off, weighed, log_det[place])


def fill_partly_missing(
    scores: "MatrixScores", observations: Observations, units: np.ndarray, out: np.ndarray
) -> None:
    """Fill the rows of partly missing steps with log densities of what is observed."""
    log_scales, n = scores.log_scales, out.shape[1]
    n_columns = scores.means.shape[1]
    diagonal = np.arange(n_columns)
    log_det = -2.0 * np.log(scores.factors[:, diagonal, diagonal]).sum(axis=1)
    assert log_det.shape[-1] == n
    for part in marginals(scores, observations, units):
        own = part.unit if len(scores.means) > 1 else np.zeros_like(part.unit)
        n_seen, volume = int(part.seen.sum()), log_scales[part.seen].sum()
        if scores.exponents is None:
            # What the constants hold beside the density's own, such as VB's expectations.
            more = scores.constants + log_scales.sum() + 0.5 * log_det
            more = more + 0.5 * n_columns * math.log(2.0 * math.pi)
            value = -0.5 * (part.distance + part.log_det + n_seen * math.log(2.0 * math.pi))
            out[part.rows] = value + more[own] - volume
            continue
        degrees = (-2.0 * scores.exponents - n_columns)[own]
        half = 0.5 * (degrees + n_seen)
        value = gammaln(half) - gammaln(0.5 * degrees) - 0.5 * n_seen * math.log(math.pi)
        out[part.rows] = value - 0.5 * part.log_det - half * np.log1p(part.distance) - volume


def _completed(part: Marginal, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Steps with the conditional means of what is missing, and its conditional scale matrix."""
    across = part.scale[..., ~part.seen, :][..., part.seen]
    gain = across[part.place] @ part.weighed[..., None]
    steps = np.empty((*part.off.shape[:2], len(part.seen)))
    steps[..., part.seen] = values[part.rows][:, None, part.seen]
    steps[..., ~part.seen] = part.means[part.place][..., ~part.seen] + gain[..., 0]
    inner = part.scale[..., part.seen, :][..., part.seen]
    rest = part.scale[..., ~part.seen, :][..., ~part.seen]
    return steps, rest - across @ np.linalg.solve(inner, np.swapaxes(across, -1, -2))


def add_partly_missing(
    scores: "MatrixScores",
    observations: Observations,
    posterior: np.ndarray,
    units: np.ndarray,
    sums: np.ndarray,
) -> None:
    """Add the expected moments of partly missing steps to `sums` (n_units, S, K)."""
    n_columns = scores.means.shape[1]
    lower = np.tril_indices(n_columns)
    for part in marginals(scores, observations, units):
        steps, conditional = _completed(part, observations.values)
        products = steps[..., lower[0]] * steps[..., lower[1]]
        spread = np.ones(part.distance.shape)
        if scores.exponents is not None:
            own = part.unit if len(scores.means) > 1 else np.zeros_like(part.unit)
            degrees = (-2.0 * scores.exponents - n_columns)[own] + part.seen.sum()
            # The variance of Student's t given what is observed; at least that of three degrees.
            spread = (1.0 + part.distance) / np.maximum(degrees - 2.0, 1.0)
        table = np.zeros((*conditional.shape[:2], n_columns, n_columns))
        missing = np.flatnonzero(~part.seen)
        table[..., missing[:, None], missing] = conditional
        products += spread[..., None] * table[part.place][..., lower[0], lower[1]]
        moments = np.concatenate([np.ones((*spread.shape, 1)), steps, products], axis=-1)
        moments *= posterior[part.rows][..., None]
        np.add.at(sums, part.unit, np.swapaxes(moments, 1, 2))


def draw_partly_missing(
    scores: "MatrixScores",
    observations: Observations,
    states: np.ndarray,
    rng: np.random.Generator,
) -> Observations:
    """Observations with the missing values of partly missing steps drawn, given their states."""
    values = observations.values.copy()
    observed = observations.observed
    assert observed is not None, "something is missing"
    whole = np.array([0, len(values)])
    for part in marginals(scores, observations, whole):
        steps, conditional = _completed(part, observations.values)
        own = np.arange(len(part.rows)), states[part.rows]
        factors = np.linalg.cholesky(conditional[0])[states[part.rows]]
        noise = rng.standard_normal((len(part.rows), factors.shape[-1], 1))
        drawn = steps[own]
        drawn[:, ~part.seen] += (factors @ noise)[..., 0]
        values[part.rows] = drawn
    there = np.repeat(observed.any(axis=1, keepdims=True), observed.shape[1], axis=1)
    return Observations(values, there, np.full_like(observations.features, WHOLE))
