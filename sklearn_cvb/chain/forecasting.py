"""Forecasts of hidden Markov models of numbers: what comes next, with intervals."""

from typing import NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from sklearn_cvb.chain.numbers.model import drawn_columns
from sklearn_cvb.chain.prediction import steps_of
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.reading.validation import Seed, check_counts


class Forecast(NamedTuple):
    """What comes next after each sequence.

    Attributes
    ----------
    mean : ndarray of shape (n_samples, n_steps, n_columns)
    lower, upper : ndarray of shape (n_samples, n_steps, n_columns)
        Ends of equal-tailed intervals for each step and column.
    proba : ndarray of shape (n_samples, n_steps, n_components)
        Probabilities of the states.
    samples : ndarray of shape (n_samples, n_draws, n_steps, n_columns)
        Drawn continuations, which the intervals are quantiles of.
    """

    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    proba: np.ndarray
    samples: np.ndarray


def check_forecast(n_steps: int, n_draws: int, level: float) -> None:
    """Raise unless the numbers of steps and draws and the probability make sense."""
    check_counts(n_steps=n_steps, n_draws=n_draws)
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be a number between 0 and 1, got {level!r}")


def forecast(
    learned: Learned, last: np.ndarray, n_steps: int, level: float, n_draws: int, random_state: Seed
) -> Forecast:
    """What follows sequences whose last steps have these probabilities of the states."""
    first, *moves = moves_ahead(steps_of(learned), n_steps)
    ahead = [last @ first]
    goes_on = ahead[0].sum(axis=1, keepdims=True)
    if not goes_on.all():
        raise ValueError(
            f"sequence {int(goes_on.argmin())} cannot go on for {n_steps} steps: by this model "
            "it surely ends before"
        )
    ahead[0] /= goes_on
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    family, point = learned.more.numeric.family, learned.more.numeric.point
    states = drawn_columns(np.repeat(ahead[0][:, None], n_draws, axis=1), rng)
    paths = [states]
    for transition in moves:
        ahead.append(ahead[-1] @ transition)
        paths.append(drawn_columns(transition[paths[-1]], rng))
    proba, drawn = np.stack(ahead, axis=1), np.stack(paths, axis=2)
    samples = family.sample(point, drawn.ravel(), rng).reshape(*drawn.shape, -1)
    tails = [0.5 - 0.5 * level, 0.5 + 0.5 * level]
    lower, upper = np.quantile(samples, tails, axis=1)
    return Forecast(proba @ family.moments(point)[0], lower, upper, proba, samples)


def moves_ahead(transition: np.ndarray, n_steps: int) -> list[np.ndarray]:
    """Transitions (K, K) of each step ahead, given that no sequence ends before the last.

    Rows sum to 1 (to 0 where nothing goes on), but for those of the first step: these are in
    proportion to how probable it is to go on from each state.
    """
    goes_on, tables = np.ones(len(transition)), []
    for _ in range(n_steps):
        table = transition * goes_on
        goes_on = table.sum(axis=1)
        tables.append(table / np.where(goes_on > 0, goes_on, 1.0)[:, None])
        # A common factor of no matter, so that long forecasts stay in the range of float64.
        goes_on = goes_on / max(goes_on.max(), 1e-300)
    return [tables[-1] * goes_on[:, None], *tables[-2::-1]]
