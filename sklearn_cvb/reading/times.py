"""Times of steps, of an index or of a column that no model reads: do steps follow each other?

Rows are read as neighbours, in their order. Times that occur twice, fall, or leave a hole tell that
rows are of several series, in another order, or that some are missing.
"""

from datetime import timedelta
from typing import Any

import numpy as np

from sklearn_cvb.messages import how_many_alike
from sklearn_cvb.reading.events import columns_of
from sklearn_cvb.reading.series import SamplesOfKnownColumns

# Steps of fewer rows tell of no usual one; a hole is longer than so many of these.
_FEW, _HOLE = 8, 10
# Steps have a usual one if those of the middle half are alike, up to this factor.
_ALIKE = 2.0
# So many holes that are as long as each other, up to a fifth, are nights or other breaks.
_BREAKS, _AS_LONG = 3, 0.2
# With so many days of the week, the others are weekends.
_WORKDAYS = 5
_SECOND, _DAY = np.timedelta64(1, "s"), np.timedelta64(1, "D")
# What has no index, and no columns with names.
_WITHOUT = (list, tuple, np.ndarray)
_EPOCH, _NONE = np.datetime64(0, "s"), np.empty(0, "M8[us]")


def cautions_of_times(X: Any, *, of_events: bool = False) -> list[str]:
    """What is to be said of sequences whose times are not those of steps one after the other.

    Events may be at the same time, and as far apart as they like. Of some sequences among others it
    has been said.
    """
    if not isinstance(X, list | tuple) or isinstance(X, SamplesOfKnownColumns):
        return []
    samples = [(i, own) for i, own in enumerate(X) if type(own) not in _WITHOUT]
    # Frames have the same columns: the first tells which have times.
    frame = next((sample for _, sample in samples if hasattr(sample, "columns")), None)
    columns = {} if frame is None else columns_of(frame)
    # Columns without a type of narwhals' have none of times.
    names = [name for name, own in columns.items() if getattr(own.dtype, "is_temporal", bool)()]
    times = {i: own for i, sample in samples if len(own := _times_of(sample, names)) > 1}
    for fault in (_fall,) if of_events else (_repeat, _fall, _hole):
        told = {i: what for i, own in times.items() if (what := fault(own))}
        if told:
            first = next(iter(told))
            others = how_many_alike(list(told), len(X), "sequences have such times")
            return [f"X[{first}] has times that {told[first]}{others}"]
    return []


def _times_of(sample: Any, names: list[Any]) -> np.ndarray:
    """Times of the steps of a sequence, none or those of its index, or of one of some columns.

    That is the only one that is not the same in all rows.
    """
    index: Any = getattr(sample, "index", None)
    if hasattr(index, "to_timestamp"):
        index = index.to_timestamp()
    if getattr(index, "tz", None) is not None:
        index = index.tz_convert(None)
    found = [np.asarray(index)]
    if getattr(getattr(index, "dtype", None), "kind", "") not in ("m", "M"):
        columns = columns_of(sample) if names else {}
        of_times = [columns[name].to_numpy() for name in names if name in columns]
        found = [own for own in of_times if (own != own[:1]).any()]
    if len(found) != 1 or found[0].dtype.kind not in "mM":
        return _NONE
    times = found[0] + _EPOCH if found[0].dtype.kind == "m" else found[0]
    known: np.ndarray = times[~np.isnat(times)].astype("M8[us]")
    return known


def _repeat(times: np.ndarray) -> str:
    """What is wrong where a time occurs twice."""
    found, counts = np.unique(times, return_counts=True)
    if counts.max() == 1:
        return ""
    return (
        f"occur up to {counts.max()} times ({found[counts.argmax()].item()}): if it holds several "
        "series, such as devices, cut them apart with sklearn_cvb.split_by(frame, by=..., "
        "columns=[...]); else leave out what is there twice, as frame[~frame.index.duplicated()]"
    )


def _fall(times: np.ndarray) -> str:
    """What is wrong where a time is before that of the row above."""
    is_fall = times[1:] < times[:-1]
    if not is_fall.any():
        return ""
    before, after = times[is_fall.argmax() :][:2].tolist()
    return (
        f"fall (from {before} to {after}), but steps are read in the order of rows: sort them by "
        "time, as frame.sort_index() does; if it holds several series, cut them apart with "
        "sklearn_cvb.split_by"
    )


def _hole(times: np.ndarray) -> str:
    """What is wrong where rows are missing between two that are read as neighbours.

    Weekends, nights and holidays are no holes, nor are steps that are never alike.
    """
    if len(times) < _FEW:
        return ""
    days = times.astype("M8[D]")
    week = np.isin(np.arange(7), (days.astype(int) + 3) % 7)
    steps = np.diff(times) / _SECOND
    if week.sum() >= _WORKDAYS:
        off = np.diff(days) / _DAY - np.busday_count(days[:-1], days[1:], weekmask=week)
        steps = steps - off * (_DAY / _SECOND)
    low, usual, high = np.quantile(steps, [0.25, 0.5, 0.75])
    holes = np.flatnonzero(steps > _HOLE * usual)
    if high > _ALIKE * low or not len(holes):
        return ""
    breaks, longest = np.median(steps[holes]), int(steps.argmax())
    are_alike = np.abs(steps[holes] - breaks) <= _AS_LONG * breaks
    are_breaks = len(holes) >= _BREAKS and 2 * are_alike.sum() > len(holes)
    if are_breaks and steps[longest] <= _HOLE * breaks:
        return ""
    begin, end = times[longest : longest + 2].tolist()
    return (
        f"leave a hole of {end - begin} after {begin}, where usual steps take "
        f"{timedelta(seconds=usual)}: rows beside it are read as neighbours. Give it rows without "
        "values, as frame.asfreq does, or cut the sequence there"
    )


def times_ahead(sample: Any, length: int, n_steps: int) -> Any:
    """Times of the steps after a sequence, as those of its index go on; else numbers of steps."""
    index: Any = getattr(sample, "index", None)
    if hasattr(index, "to_timestamp"):
        return index[-1:].repeat(n_steps) + np.arange(1, n_steps + 1)
    if not hasattr(type(index), "inferred_freq") or length < 2:
        return np.arange(length, length + n_steps)
    # Months have no fixed length, but a frequency.
    pace = type(index)(index, freq="infer").freq
    if pace is not None:
        return type(index)([index[-1] + step * pace for step in range(1, n_steps + 1)])
    pace = index.to_series().diff().median()
    ahead = type(index)([index[-1] + step * pace for step in range(1, 2 * n_steps + 8)])
    week = set(getattr(index, "day_of_week", ()))
    if pace >= timedelta(days=1) and len(week) >= _WORKDAYS:
        ahead = ahead[ahead.day_of_week.isin(week)]
    return ahead[:n_steps]
