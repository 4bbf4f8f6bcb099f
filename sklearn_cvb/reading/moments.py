"""Moments of the columns of training data (counts, means, deviations, extremes), from which priors
of emissions are made; blocks of steps are merged.

They are those of blocks of steps, merged one after the other (Chan, Golub and LeVeque 1983), so
that a table in memory and the same one on disk have the same to the last bit.
"""

from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

import numpy as np

from sklearn_cvb.reading.series import Series, place_of_column

# Steps whose sums are taken at once.
_BLOCK = 65_536


class Moments(NamedTuple):
    """Of the observed values of each column, (D,) each; 0 where there are none."""

    n_observed: np.ndarray
    means: np.ndarray
    deviations: np.ndarray  # standard ones
    least: np.ndarray
    largest: np.ndarray
    widest: np.ndarray  # the largest absolute value
    step_of_widest: np.ndarray  # and the step that has it

    def of(self, columns: np.ndarray) -> "Moments":
        """Those of some columns."""
        return Moments(*(one[columns] for one in self))


def moments_of(table: np.ndarray, times: np.ndarray | None = None) -> Moments:
    """Of observations (n_steps, D), NaN where missing; of steps that count so many `times`."""
    return moments_of_rows(lambda begin, end: table[begin:end], len(table), times)


def moments_with_labels(series: Series) -> Moments:
    """Moments of sequences; of categories also of labels that no step has."""
    moments, apart = moments_of(series.table, series.corpus.times), series.context_column
    largest = moments.largest.copy()
    for column, labels in series.categories.items():
        place_in = place_of_column(column, series.names)
        if place_in != apart:
            place_in -= apart is not None and place_in > apart
            largest[place_in] = max(largest[place_in], len(labels) - 1)
    return moments._replace(largest=largest)


def moments_of_rows(
    rows: Callable[[int, int], np.ndarray], n_steps: int, times: np.ndarray | None = None
) -> Moments:
    """Of this many steps, of which ``rows(begin, end)`` gives some."""
    blocks = (slice(i, min(i + _BLOCK, n_steps)) for i in range(0, max(1, n_steps), _BLOCK))
    one = np.ones(1)
    return reduce(
        merged,
        (
            _of_block(rows(own.start, own.stop), own.start, one if times is None else times[own])
            for own in blocks
        ),
    )


def _of_block(table: np.ndarray, first: int, times: np.ndarray) -> Moments:
    """Of the steps from `first` on."""
    observed, times = ~np.isnan(table), times[:, None]
    values, n_observed = np.where(observed, table, 0.0), (observed * times).sum(axis=0)
    sizes = np.abs(values)
    # Sums of numbers whose squares leave float64 stay finite: columns are divided first.
    widest = sizes.max(axis=0)
    unit = _not_zero(widest)
    shares, counted = values / unit, _not_zero(n_observed)
    centre = (shares * times).sum(axis=0) / counted
    off = np.where(observed, shares - centre, 0.0)
    deviation = np.sqrt((off * off * times).sum(axis=0) / counted)
    ends = (
        np.where(observed, table, np.inf).min(axis=0),
        np.where(observed, table, -np.inf).max(axis=0),
    )
    least, largest = (np.where(n_observed > 0, end, 0.0) for end in ends)
    step_of_widest = first + sizes.argmax(axis=0)
    return Moments(
        n_observed, centre * unit, deviation * unit, least, largest, widest, step_of_widest
    )


def merged(one: Moments, other: Moments) -> Moments:
    """Those of the steps of both."""
    n_observed = one.n_observed + other.n_observed
    share = other.n_observed / _not_zero(n_observed)
    sizes = (one.means, other.means, one.deviations, other.deviations)
    unit = _not_zero(np.max(np.abs(sizes), axis=0))
    apart = other.means / unit - one.means / unit
    means = np.where(share < 1.0, one.means + share * apart * unit, other.means)
    inside = (1.0 - share) * (one.deviations / unit) ** 2 + share * (other.deviations / unit) ** 2
    deviations = unit * np.sqrt(inside + share * (1.0 - share) * apart**2)
    ends = [(one.least, other.least), (one.largest, other.largest)]
    known = one.n_observed > 0, other.n_observed > 0
    least, largest = (
        np.where(known[0] & known[1], pick(*pair), np.where(known[0], *pair))
        for pick, pair in zip((np.minimum, np.maximum), ends, strict=True)
    )
    widest = np.maximum(one.widest, other.widest)
    step_of_widest = np.where(other.widest > one.widest, other.step_of_widest, one.step_of_widest)
    return Moments(n_observed, means, deviations, least, largest, widest, step_of_widest)


def _not_zero(sizes: np.ndarray) -> np.ndarray:
    """Sizes to divide by: 1 in the place of 0."""
    return np.where(sizes > 0, sizes, 1.0)
