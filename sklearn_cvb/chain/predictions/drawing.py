"""Drawing state paths from a model: of given lengths, or until they end."""

import numpy as np
from numpy.typing import ArrayLike

from sklearn_cvb.reading.corpus import as_list
from sklearn_cvb.reading.validation import check_counts

# Paths that would be longer than this on average are not drawn until they end.
_LONGEST_ON_AVERAGE = 1e6


def lengths_to_draw(n_samples: int, length: int | ArrayLike) -> np.ndarray:
    """The length of each sequence to draw."""
    each = as_list(length)
    for value in [length] if each is None else each:
        check_counts(n_samples=n_samples, length=value)
    if each is None:
        return np.full(n_samples, length, dtype=np.int64)
    if len(each) != n_samples:
        raise ValueError(f"length holds {len(each)} lengths for n_samples={n_samples}")
    return np.array(each, dtype=np.int64)


def paths_of_lengths(
    start: np.ndarray,
    transition: np.ndarray,
    lengths: np.ndarray,
    rng: np.random.RandomState,
    contexts: np.ndarray | None = None,
) -> np.ndarray:
    """States of paths that go on as long as is asked, flat.

    Given contexts of all their steps, flat, transitions are tables one below the other.
    """
    inside = np.arange(lengths.max()) < lengths[:, None]
    cumulative, table = np.cumsum(transition, axis=1), np.zeros(inside.shape, np.int64)
    if contexts is not None:
        table[inside] = contexts * len(start)
    states = np.empty(inside.shape, np.int32)
    states[:, 0] = _draw_rows(np.cumsum(start)[None], np.zeros(len(lengths), int), rng)
    for t in range(1, inside.shape[1]):
        states[:, t] = _draw_rows(cumulative, table[:, t] + states[:, t - 1], rng)
    return states[inside]


def paths_of_visits(
    start: np.ndarray,
    transition: np.ndarray,
    durations: np.ndarray,
    lengths: np.ndarray,
    rng: np.random.RandomState | np.random.Generator,
    before: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """States of paths, flat, whose visits last for 1..L steps by the rows of durations (K, L).

    They go on from visits `before`, whose states and steps left are given, or begin again.
    """
    inside = np.arange(lengths.max()) < lengths[:, None]
    moves, lasts = np.cumsum(transition, axis=1), np.cumsum(durations, axis=1)
    states = np.empty(inside.shape, np.int32)
    if before is None:
        first = _draw_rows(np.cumsum(start)[None], np.zeros(len(lengths), int), rng)
        before = first, 1 + _draw_rows(lasts, first, rng)
    last, remaining = before[0], before[1].copy()
    for t in range(inside.shape[1]):
        new = np.flatnonzero(remaining == 0)
        states[:, t] = last
        states[new, t] = _draw_rows(moves, last[new], rng)
        remaining[new] = 1 + _draw_rows(lasts, states[new, t], rng)
        last = states[:, t]
        remaining -= 1
    return states[inside]


def paths_ending_at(
    start: np.ndarray,
    transition: np.ndarray,
    end: np.ndarray,
    lengths: np.ndarray,
    rng: np.random.RandomState,
) -> np.ndarray:
    """States of paths, flat, given that each ends at its length; ValueError if none does."""
    # By the number of tokens still to come, in proportion: p(this many, then the end | state).
    to_come = np.empty((lengths.max(), len(start)))
    to_come[0] = end
    for n in range(1, len(to_come)):
        to_come[n] = transition @ to_come[n - 1]
        to_come[n] /= to_come[n].max() or 1.0
    first = start * to_come[lengths - 1]
    lost = np.flatnonzero(~(first.sum(axis=1) > 0))
    if len(lost):
        raise ValueError(f"the model has no sequence of length {lengths[lost[0]]}")
    inside = np.arange(lengths.max()) < lengths[:, None]
    states, every = np.empty(inside.shape, np.int32), np.arange(len(lengths))
    states[:, 0] = _draw_rows(np.cumsum(first, axis=1), every, rng)
    for t in range(1, inside.shape[1]):
        rows = np.flatnonzero(inside[:, t])
        weights = transition[states[rows, t - 1]] * to_come[lengths[rows] - 1 - t]
        states[rows, t] = _draw_rows(np.cumsum(weights, axis=1), every[: len(rows)], rng)
    return states[inside]


def paths_to_their_end(
    start: np.ndarray,
    transition: np.ndarray,
    end: np.ndarray,
    n_samples: int,
    rng: np.random.RandomState,
) -> tuple[np.ndarray, np.ndarray]:
    """States of paths that end by themselves, flat, and their lengths; ValueError if too late."""
    _check_that_paths_end(start, transition)
    cumulative = np.cumsum(np.column_stack([transition, end]), axis=1)
    going = np.arange(n_samples)
    columns = [_draw_rows(np.cumsum(start)[None], np.zeros(n_samples, int), rng)]
    while len(going):
        following = np.full(n_samples, len(start))
        following[going] = _draw_rows(cumulative, columns[-1][going], rng)
        going = going[following[going] < len(start)]
        columns.append(following)
    states = np.column_stack(columns)
    inside = states < len(start)
    return states[inside].astype(np.int32), inside.sum(axis=1)


def _check_that_paths_end(start: np.ndarray, transition: np.ndarray) -> None:
    """Raise ValueError where paths are too long on average."""
    reached = start > 0
    for _ in range(len(start)):
        reached = reached | (transition[reached] > 0).any(axis=0)
    among = np.ix_(reached, reached)
    try:
        lengths = np.linalg.solve(np.eye(reached.sum()) - transition[among], np.ones(reached.sum()))
        mean = float(start[reached] @ lengths)
    except np.linalg.LinAlgError:
        mean = np.inf
    if not 0.0 < mean < _LONGEST_ON_AVERAGE:
        raise ValueError(
            "length=None draws sequences until they end, which these never or hardly ever do: "
            "give a length"
        )


def _draw_rows(
    cumulative: np.ndarray, rows: np.ndarray, rng: np.random.RandomState | np.random.Generator
) -> np.ndarray:
    """Draw a column for each row index, with the cumulative weights of that row."""
    levels = rng.random(len(rows)) * cumulative[rows, -1]
    return (cumulative[rows] <= levels[:, None]).sum(axis=1)
