"""SQUAREM: sweeps of EM and VB that begin where the last two were heading, so that fewer are made.

Varadhan and Roland (2008), "Simple and globally convergent methods for accelerating the convergence
of any EM algorithm", step length S3, without their third sweep. Of sweeps from c0 to c1 and from c1
to c2 are r = c1 - c0 and v = (c2 - c1) - r; the next sweep begins at c0 + 2 a r + a^2 v, with a =
|r| / |v|, which the paper writes as -alpha. Where that ends below the best value so far, it is
thrown away, and the restart goes on from the counts that it had: the history never falls.

Coordinates are logs of counts, in which none becomes negative, and statistics of numbers as they
are. A cell moves by a factor of 100 at most, and each table keeps its total: without both a bound
of VB overflows, and is believed.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.learning.model import State, map_arrays

# A restart begins with plain sweeps: the first go far by themselves, and decide where to.
_PLAIN_SWEEPS = 20
# Longest step at first, how it grows where such a step was good, and its least after a bad one.
_LONGEST, _GROWTH, _LEAST = 4.0, 4.0, 1.5
# A value is below the best one so far by more than rounding; counts are told from 0.
_ROUNDING, _TINY = 1e-10, 1e-290
_FARTHEST = np.log(100.0)

Sweep = Callable[[State], tuple[State, float]]


class Extrapolation(NamedTuple):
    """What a restart keeps from sweep to sweep, to begin the next one elsewhere.

    Attributes
    ----------
    best : float
        The highest value so far (nats).
    longest : float
        How long a step may be, as a multiple of that of EM.
    length : float
        How long the step to `proposal` is.
    origin : object or None
        Counts from which the first of two sweeps began; None: they are to come.
    proposal : object or None
        Counts from which the next sweep begins; None: those of the state.
    """

    best: float = -np.inf
    longest: float = _LONGEST
    length: float = 1.0
    origin: Any = None
    proposal: Any = None


def accelerated_sweep(
    state: State, sweep: Sweep, offset: float, statistics: tuple[str, ...]
) -> tuple[State, float]:
    """The next state and its value; of a sweep in vain the state before, and the best value.

    `offset` is added to counts before their logs are taken; `statistics` are fields of counts
    that may have any sign.
    """
    memory = state.extrapolation or Extrapolation()
    if memory.proposal is not None:
        after, value = _sweep_from(state._replace(counts=memory.proposal), sweep)
        is_lower = not memory.best - _ROUNDING * abs(memory.best) <= value < np.inf
        if is_lower or len(after.unexplained) > len(state.unexplained):
            longest = max(_LEAST, 0.5 * memory.length)
            memory = Extrapolation(memory.best, longest)
            return state._replace(n_sweeps=state.n_sweeps + 1, extrapolation=memory), memory.best
    else:
        after, value = sweep(state)
    best, longest = max(value, memory.best), memory.longest
    if after.n_sweeps < _PLAIN_SWEEPS:
        memory = Extrapolation(best)
    elif memory.origin is None:
        if memory.length == longest:
            longest *= _GROWTH
        origin = state.counts if memory.proposal is None else memory.proposal
        memory = Extrapolation(best, longest, origin=origin)
    else:
        counts = memory.origin, state.counts, after.counts
        length, proposal = _extrapolated(counts, longest, offset, statistics)
        memory = Extrapolation(best, longest, length, proposal=proposal)
    return after._replace(extrapolation=memory), value


def _sweep_from(state: State, sweep: Sweep) -> tuple[State, float]:
    """A sweep from counts that no E-step gave: what fails for them is a sweep in vain."""
    with np.errstate(all="ignore"):
        try:
            return sweep(state)
        except (ValueError, ArithmeticError, np.linalg.LinAlgError):
            return state, -np.inf


def _extrapolated(
    counts: tuple[Any, Any, Any], longest: float, offset: float, statistics: tuple[str, ...]
) -> tuple[float, Any]:
    """Length of the step, and the counts that it leads to; None where these are the last ones."""
    last = counts[2]
    names = getattr(last, "_fields", None)
    kinds = last if names is None else type(last)(*(name in statistics for name in names))
    paths = map_arrays(partial(_two_sweeps, offset), kinds, *counts)
    squares = np.zeros(2)

    def measure(is_statistic: Any, path: TwoSweeps, there: np.ndarray) -> None:
        weight = _weight(is_statistic, there)
        squares[:] += ((path.step * weight) ** 2).sum(), ((path.bend * weight) ** 2).sum()

    def lead(is_statistic: Any, path: TwoSweeps, there: np.ndarray) -> np.ndarray:
        ahead = path.first + 2.0 * length * path.step + length**2 * path.bend
        return ahead if is_statistic is True else _counts_at(ahead, path.last, there, offset)

    map_arrays(measure, kinds, paths, last)
    length = float(np.clip(np.sqrt(squares[0] / max(squares[1], _TINY)), 1.0, longest))
    if length == 1.0 or not np.isfinite(squares).all():
        return 1.0, None
    return length, map_arrays(lead, kinds, paths, last)


class TwoSweeps(NamedTuple):
    """Of a table, in coordinates: where two sweeps began and ended, r and v."""

    first: np.ndarray
    last: np.ndarray
    step: np.ndarray
    bend: np.ndarray


def _two_sweeps(offset: float, is_statistic: Any, *three: np.ndarray) -> TwoSweeps:
    """From statistics as they are, and from logs of counts."""
    if is_statistic is not True:
        three = tuple(np.log(np.maximum(one, _TINY) + offset) for one in three)
    first, second, third = three
    return TwoSweeps(first, third, second - first, third - 2.0 * second + first)


def _weight(is_statistic: Any, counts: np.ndarray) -> np.ndarray:
    """What a unit of each coordinate weighs: squared, about the tokens that it moves."""
    if is_statistic is True:
        # Rows are statistics, how many tokens the first of them.
        scale = np.abs(counts).mean(axis=-1, keepdims=True) + 1e-12
        return np.sqrt(np.abs(counts[:1]).mean() + 1e-12) / scale
    return np.sqrt(np.maximum(counts, 0.0))


def _counts_at(
    there: np.ndarray, before: np.ndarray, counts: np.ndarray, offset: float
) -> np.ndarray:
    """Counts at these coordinates, of the same total; cells that were 0 are 0."""
    moved = np.exp(np.clip(there, before - _FARTHEST, before + _FARTHEST)) - offset
    moved = np.where(counts > _TINY, np.maximum(moved, 0.01 * counts), counts)
    return moved * (counts.sum() / max(moved.sum(), _TINY))
