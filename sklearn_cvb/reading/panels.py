"""Tables of several sequences cut into lists: frames by a column, panels of sktime and aeon."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sklearn_cvb.reading.corpus import (
    as_list,
    refuse_lazy,
    short_repr,
    unique_names_of_columns,
)

_NOTHING = np.empty(0)


class FrameSequences(tuple[Any, ...]):
    """Sequences that were cut from a frame, which know of which of its rows they are.

    Attributes
    ----------
    names : list
        What each sequence is of: the value of `by`, or a tuple of several.
    rows : list of ndarray
        Numbers of the rows of the frame that each sequence is made of, in its order.
    """

    names: list[Any]
    rows: list[np.ndarray]

    def to_rows(self, values: Sequence[Any]) -> np.ndarray:
        """Values of steps, as `predict` or `predict_proba` give them, in the order of the frame.

        Parameters
        ----------
        values : sequence of arrays
            One for each sequence, with as many items as it has steps.

        Returns
        -------
        ndarray of shape (n_rows,) or (n_rows, n_values)
        """
        lengths, found = [len(own) for own in self.rows], [np.asarray(own) for own in values]
        if [own.shape[:1] for own in found] != [(length,) for length in lengths]:
            raise ValueError(
                f"values must be one array for each of the {len(lengths)} sequences, as long as it "
                f"is, such as predict gives: got {short_repr(values)}"
            )
        # Rows are numbers from 0, each once.
        return np.concatenate(found)[np.argsort(np.concatenate(self.rows))] if found else _NOTHING


def split_by(frame: Any, by: Any, columns: Any = None, *, time: Any = None) -> FrameSequences:
    """Cut a long frame into sequences, one for each value of a column.

    Parameters
    ----------
    frame : DataFrame of pandas or polars, Table of pyarrow, or another frame that narwhals knows
        Rows are steps, or events, of several sequences, which may be mixed.
    by : column name or list of names
        Rows with the same value are one sequence; of several columns, with the same values.
    columns : column name, list of names or None, default=None
        What sequences are made of. A name makes each a column, as symbols are; a list makes each a
        frame; None stands for all other columns.
    time : column name or None, default=None
        Rows are sorted by it within each sequence, and of pandas it becomes their index, so that
        holes are seen and forecasts have times; None keeps their order and index.

    Returns
    -------
    FrameSequences
        A tuple of the sequences in order of appearance, with the names of their columns and, of
        pandas, the index of their rows, or times. It has `names`, what each sequence is of, and
        `to_rows`, which puts predictions in the order of the frame's rows; parts of it have
        neither.

    Raises
    ------
    ValueError
        If the frame lacks a column or has one twice, or a row has no value in `by` or `time`.
    TypeError
        If `frame` is none, or its rows have not been computed; if `by` holds values.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn_cvb import EMHMM, split_by
    >>> log = pd.DataFrame({"device": ["b", "a", "b", "a"], "level": [1.0, 9.0, 1.5, 8.5]})
    >>> X = split_by(log, by="device", columns=["level"])
    >>> X.names, [series["level"].tolist() for series in X]
    (['b', 'a'], [[1.0, 1.5], [9.0, 8.5]])
    >>> model = EMHMM(2, emission="gaussian", random_state=0).fit(X)
    >>> log["state"] = X.to_rows(model.predict(X))
    >>> log.groupby("state")["level"].mean().tolist()
    [1.25, 8.75]
    """
    import narwhals.stable.v2 as narwhals

    refuse_lazy(frame, "frame")
    if hasattr(by, "__array__"):
        raise TypeError(
            f"by is {short_repr(by)}: it names a column, or a list of them; values become one with "
            "frame.assign(by=...)"
        )
    names = unique_names_of_columns(frame, "frame") if hasattr(frame, "columns") else []
    try:
        table: Any = narwhals.from_native(frame, eager_only=True)
    except TypeError:
        what = f"frame is {short_repr(frame)}: pass a frame of pandas, polars or pyarrow"
        raise TypeError(what) from None
    taken, several = as_list(columns), as_list(by)
    keys = [by] if several is None else several
    if not keys:
        raise ValueError("by names no column: which one says what sequence a row is of?")
    ordering = keys if time is None else [*keys, time]
    if columns is None:
        taken = [name for name in names if name not in ordering]
    if taken == []:
        raise ValueError(f"no column is left for the sequences beside {ordering!r}: name some")
    for name in [*ordering, *([columns] if taken is None else taken)]:
        if name not in names:
            index = " (an index is none: frame.reset_index())" * hasattr(frame, "reset_index")
            raise ValueError(f"frame has columns {names!r}, and none is {name!r}{index}")
    values = [_known(table, name) for name in keys]
    rows = _rows_of(values[0] if several is None else zip(*values, strict=True))
    if time is not None:
        place = np.argsort(_in_order(table, time))
        rows = {key: own[np.argsort(place[own])] for key, own in rows.items()}
    # Rows are taken once, and then cut: to take those of each sequence costs two times as much.
    in_turn = table[np.concatenate([_NOTHING, *rows.values()]).astype(int)]
    # By place, for a name may be a number.
    places = [names.index(name) for name in taken or ()]
    cut = in_turn.get_column(columns) if taken is None else in_turn[:, places]
    if time is not None:
        cut = narwhals.maybe_set_index(cut, index=in_turn.get_column(time))
    ends = np.cumsum([0, *map(len, rows.values())]).tolist()
    return _cut((cut[begin:end].to_native() for begin, end in pairwise(ends)), rows)


def _cut(sequences: Iterable[Any], rows: Mapping[Any, np.ndarray]) -> FrameSequences:
    """Sequences that know their names and rows."""
    found = FrameSequences(sequences)
    found.names, found.rows = list(rows), list(rows.values())
    return found


def _rows_of(keys: Iterable[Any]) -> dict[Any, np.ndarray]:
    """Numbers of the rows with the same key, in order of appearance."""
    found: dict[Any, list[int]] = {}
    for row, key in enumerate(keys):
        found.setdefault(key, []).append(row)
    return {key: np.array(own) for key, own in found.items()}


def _known(table: Any, name: Any) -> list[Any]:
    """The values of a column, none of which may be missing."""
    column = table.get_column(name)
    is_missing = column.is_null()
    if column.dtype.is_float():
        is_missing = is_missing | column.is_nan()
    missing = np.flatnonzero(is_missing.to_numpy())
    if len(missing):
        raise ValueError(
            f"column {name!r} has no value in {len(missing)} rows (first in row {missing[0]}): "
            "leave these rows out"
        )
    # Python's own times have no nanoseconds, as those of polars may.
    is_finer = column.implementation.is_polars() and getattr(column.dtype, "time_unit", "") == "ns"
    return list(column.to_numpy()) if is_finer else as_list(column) or []


def _in_order(table: Any, name: Any) -> np.ndarray:
    """Numbers of the rows in the order of a column: of categories that have one it is theirs."""
    import narwhals.stable.v2 as narwhals

    _known(table, name)
    column = table.get_column(name)
    # Arrow sorts them by their text.
    if getattr(getattr(column.to_native(), "type", None), "ordered", False):
        column = narwhals.from_native(column.to_native().to_pandas(), series_only=True)
    numbered = column.alias("time").to_frame().with_row_index("row")
    found: np.ndarray = numbered.sort("time", "row").get_column("row").to_numpy()
    return found


def split_panel(panel: Any) -> Sequence[Any]:
    """Cut a panel of series, as sktime and aeon hold them, into a list of sequences.

    Parameters
    ----------
    panel : array of shape (n_samples, n_channels, n_timepoints), list or DataFrame
        Steps without any value at the end of an array are padding. A list holds arrays of shape
        (n_channels, n_timepoints), which may be of several lengths. A frame has an index of several
        levels, the last of which is time; all others say which series a row is of. Where a column
        says it, use `split_by`.

    Returns
    -------
    list of ndarray, or FrameSequences
        One sequence for each series, in the order of the panel: an array of shape (n_timepoints,
        n_channels), or of a frame that of its rows with time as index, as `split_by` gives them.

    Raises
    ------
    ValueError
        If the panel has another form, or a series has no value.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_cvb import split_panel
    >>> panel = np.arange(12.0).reshape(2, 3, 2)
    >>> panel[1, :, 1] = np.nan
    >>> [series.shape for series in split_panel(panel)]
    [(2, 3), (1, 3)]
    """
    refuse_lazy(panel, "panel")
    index: Any = getattr(panel, "index", None)
    if getattr(index, "nlevels", 1) > 1:
        rows = _rows_of(index.droplevel(-1))
        frame = panel.droplevel(list(range(index.nlevels - 1)))
        return _cut((frame.iloc[own] for own in rows.values()), rows)
    series = list(panel) if isinstance(panel, list | np.ndarray) else []
    if not series or any(np.ndim(one) != 2 for one in series):
        raise ValueError(
            "a panel is an array of shape (n_samples, n_channels, n_timepoints), a list of arrays "
            "of shape (n_channels, n_timepoints), or a frame with an index of series and time (if "
            "a column tells the series, use split_by); got "
            f"{type(panel).__name__} of shape {getattr(panel, 'shape', None)}"
        )
    return [_steps_of(np.asarray(one, np.float64), i) for i, one in enumerate(series)]


def _steps_of(channels: np.ndarray, index: int) -> np.ndarray:
    """A series as (n_timepoints, n_channels), without padding at its end."""
    values = channels.T
    observed = np.flatnonzero(~np.isnan(values).all(axis=1))
    if not len(observed):
        raise ValueError(f"series {index} of the panel has no value: leave it out")
    return values[: observed[-1] + 1]
