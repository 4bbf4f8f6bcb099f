"""Forecasts of hidden Markov models of numbers: states of the next steps, what these emit, and
intervals.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from sklearn_cvb.chain.numbers.e_step import draw_states
from sklearn_cvb.chain.paths.transitions import refuse_varying
from sklearn_cvb.chain.predictions.drawing import paths_of_visits
from sklearn_cvb.chain.predictions.prediction import posterior_table
from sklearn_cvb.emissions.emission import family_and_parts, finite_array
from sklearn_cvb.kernels.chain import decoding
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.learning.requirements import Requirement, refuse_lacking
from sklearn_cvb.reading.corpus import names_of_columns
from sklearn_cvb.reading.series import FittedColumns
from sklearn_cvb.reading.times import times_ahead
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
    level : float
        How probable it is that a value lies in its interval.
    names : list or None
        Names of the columns; None where they have none.
    times : list of n_samples indexes or arrays of shape (n_steps,)
        Times of the steps, where a sequence has an index of times; else their numbers.
    """

    mean: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    proba: np.ndarray
    samples: np.ndarray
    level: float
    names: list[Any] | None = None
    times: Sequence[Any] = ()


def check_forecast(learned: Learned, n_steps: int, n_draws: int, level: float) -> None:
    """Raise unless the numbers of steps and draws and the probability make sense."""
    refuse_varying(
        learned.layout.chain.varies_by,
        "predict_next: append steps without values, but with contexts, and use predict_proba",
    )
    families = family_and_parts(learned.extra.numeric.family)
    asked = "sample", "moments"
    refuse_lacking("predict_next", (Requirement("an emission", own, asked) for own in families))
    check_counts(n_steps=n_steps, n_draws=n_draws)
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must be a number between 0 and 1, got {level!r}")


def known_steps(numeric: Any, before: np.ndarray, n_steps: int, inputs: Any) -> np.ndarray:
    """Steps before (n_samples, order, D), and those ahead, NaN but for the `inputs` of these."""
    columns, n_samples = numeric.family.covariate_columns, len(before)
    ahead = np.full((n_samples, n_steps, before.shape[2]), np.nan)
    if not len(columns) and inputs is not None:
        raise ValueError("inputs are for Regression emissions; this model has none")
    if len(columns):
        if inputs is None:
            raise ValueError(
                "Regression says what outputs follow from inputs: give those of the next steps, "
                f"inputs of shape {(n_samples, n_steps, len(columns))}"
            )
        names = numeric.columns.names
        input_columns = FittedColumns(names and [names[column] for column in columns])
        for frame in [inputs] if hasattr(inputs, "columns") else inputs:
            if hasattr(frame, "columns"):
                input_columns.places_in(names_of_columns(frame), "inputs")
        ahead[:, :, columns] = finite_array("inputs", inputs, (n_samples, n_steps, len(columns)))
    return np.concatenate([before, ahead], axis=1)


class StateForecast(NamedTuple):
    """The states of the next steps of some sequences."""

    proba: np.ndarray  # (n_samples, n_steps, K)
    paths: np.ndarray  # (n_samples, n_draws, n_steps)
    # Transitions into each step; None where visits have durations, which these do not tell.
    moves: list[np.ndarray] | None


# Of numbers of steps and draws.
StateForecaster = Callable[[int, int, np.random.Generator], StateForecast]


def forecast(
    family: Any,
    known: np.ndarray,
    forecasters: list[StateForecaster],
    points: list[Any],
    level: float,
    n_draws: int,
    random_state: Seed,
) -> Forecast:
    """What follows sequences whose states go on so, and emit by these points.

    One for each of some parameters, among which continuations are shared out. `known` holds steps
    before and ahead.
    """
    n_steps = known.shape[1] - family.order
    rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
    means, probabilities, samples = [], [], []
    for number, (forecaster, point) in enumerate(zip(forecasters, points, strict=True)):
        n_own = max(1, len(range(number, n_draws, len(points))))
        proba, states, moves = forecaster(n_steps, n_own, rng)
        paths = states.reshape(-1, n_steps)
        values = family.sample_forecasts(point, paths, np.repeat(known, n_own, axis=0), rng)
        samples.append(values.reshape(*states.shape, -1))
        if moves is None and family.order:
            # What steps look back at depends on how long visits last: no sum tells their means.
            means.append(samples[-1].mean(axis=1))
        else:
            means.append(family.forecast_means(point, proba, moves, known))
        probabilities.append(proba)
    every, tails = np.concatenate(samples, axis=1), [0.5 - 0.5 * level, 0.5 + 0.5 * level]
    lower, upper = np.quantile(every, tails, axis=1)
    mean, proba = np.mean(means, axis=0), np.mean(probabilities, axis=0)
    return Forecast(mean, lower, upper, proba, every, level)


def with_times(forecasts: Forecast, X: Any, starts: np.ndarray) -> Forecast:
    """A forecast of the sequences of X, which begin at `starts`, with times."""
    lengths, n_steps = np.diff(starts).tolist(), forecasts.mean.shape[1]
    samples = X if isinstance(X, list | tuple) else [None] * len(lengths)
    pairs = zip(samples, lengths, strict=True)
    return forecasts._replace(times=[times_ahead(*pair, n_steps) for pair in pairs])


def state_forecaster(read: Any, transition: np.ndarray) -> StateForecaster:
    """How the states of sequences go on under the parameters that they are read under."""
    if read.cells.chain.longest:
        return partial(_semi_markov_states, *read.final_visits())
    last = posterior_table(read, decoding.filtered)[read.corpus.starts[1:] - 1]
    return partial(_markov_states, last, transition)


def _semi_markov_states(
    last: np.ndarray, tables: Any, n_steps: int, n_draws: int, rng: np.random.Generator
) -> StateForecast:
    """Of visits, of which it is known how long the last ones go on: (n_samples, K, L)."""
    durations = np.exp(tables.log_durations[0])
    durations /= durations.sum(axis=1, keepdims=True)
    transition, longest = tables.transition[0], durations.shape[1]
    now, proba = last, []
    for _ in range(n_steps):
        entered = now[:, :, 0] @ transition
        now = np.pad(now[:, :, 1:], ((0, 0), (0, 0), (0, 1))) + entered[:, :, None] * durations
        proba.append(now.sum(axis=2))
    # A sequence at a time: every draw of all at once would have a copy of their tables.
    each = (draw_states(np.broadcast_to(one.ravel(), (n_draws, one.size)), rng) for one in last)
    last_visits = np.concatenate(list(each))
    lengths = np.full(len(last_visits), n_steps)
    before = last_visits // longest, last_visits % longest
    paths = paths_of_visits(tables.start[0], transition, durations, lengths, rng, before)
    return StateForecast(np.stack(proba, axis=1), paths.reshape(len(last), n_draws, n_steps), None)


def _markov_states(
    last: np.ndarray, transition: np.ndarray, n_steps: int, n_draws: int, rng: np.random.Generator
) -> StateForecast:
    """Of chains, whose last states have these probabilities."""
    moves = transitions_ahead(transition, n_steps)
    ahead = [last @ moves[0]]
    goes_on = ahead[0].sum(axis=1, keepdims=True)
    if not goes_on.all():
        raise ValueError(
            f"sequence {int(goes_on.argmin())} cannot go on for {len(moves)} steps: by this model "
            "it surely ends before"
        )
    ahead[0] /= goes_on
    paths = [draw_states(np.repeat(ahead[0][:, None], n_draws, axis=1), rng)]
    for transition in moves[1:]:
        ahead.append(ahead[-1] @ transition)
        paths.append(draw_states(transition[paths[-1]], rng))
    return StateForecast(np.stack(ahead, axis=1), np.stack(paths, axis=2), moves)


def transitions_ahead(transition: np.ndarray, n_steps: int) -> list[np.ndarray]:
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
