"""Tables of several sequences cut into lists: frames by a column, panels of sktime and aeon."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sklearn_cvb.reading.corpus import refuse_lazy, short_repr


class FrameSequences(list[Any]):
    """Sequences that were cut from a frame, which know of which of its rows they are.

    Attributes
    ----------
    names : list
        What each sequence is of: the value of `by`, or a tuple of several.
    rows : list of ndarray
        Numbers of the rows of the frame that each sequence is made of, in its order.
    """

    def __init__(self, sequences: Iterable[Any], rows: Mapping[Any, np.ndarray]) -> None:
        super().__init__(sequences)
        self.names, self.rows = list(rows), list(rows.values())

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
        flat = np.concatenate(found)
        in_order = np.empty_like(flat)
        in_order[np.concatenate(self.rows)] = flat
        return in_order


def split_by(frame: Any, by: Any, columns: Any = None, *, time: Any = None) -> FrameSequences:
    """Cut a long frame into a list of sequences, one for each value of a column.

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
        Rows are sorted by it within each sequence; None keeps their order.

    Returns
    -------
    list
        The sequences in order of appearance, with the names of their columns and, of pandas, the
        index of their rows. It has `names`, what each sequence is of, and `to_rows`, which puts
        predictions in the order of the frame's rows.

    Raises
    ------
    ValueError
        If the frame lacks a column, or a row has no value in `by` or `time`.
    TypeError
        If `frame` is none, or its rows have not been computed.

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
    table: Any = narwhals.from_native(frame, eager_only=True, pass_through=True)
    if not isinstance(table, narwhals.DataFrame):
        raise TypeError(f"frame is {short_repr(frame)}: pass a frame of pandas, polars or pyarrow")
    keys = list(by) if isinstance(by, list | tuple) else [by]
    if not keys:
        raise ValueError("by names no column: which one says what sequence a row is of?")
    ordering = keys if time is None else [*keys, time]
    names: Any = columns
    if columns is None:
        names = [name for name in table.columns if name not in ordering]
    taken = names if isinstance(names, list | tuple) else [names]
    for name in [*ordering, *taken]:
        if name not in table.columns:
            index = " (an index is none: frame.reset_index())" * hasattr(frame, "reset_index")
            raise ValueError(f"frame has columns {table.columns!r}, and none is {name!r}{index}")
    values = {name: _known(table, name) for name in ordering}
    several = zip(*(values[name] for name in keys), strict=True)
    found = _rows_of(several if isinstance(by, list | tuple) else values[by])
    if time is not None:
        at = values[time].__getitem__
        found = {key: np.array(sorted(own, key=at)) for key, own in found.items()}
    cut = table[:, list(taken)] if taken is names else table.get_column(names)
    if not found:
        return FrameSequences((), found)
    # Rows are taken once, and then cut: to take those of each sequence costs two times as much.
    taken_once = cut[np.concatenate(list(found.values()))]
    ends = np.cumsum([len(own) for own in found.values()]).tolist()
    pieces = (taken_once[begin:end] for begin, end in pairwise([0, *ends]))
    return FrameSequences((piece.to_native() for piece in pieces), found)


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
    values: list[Any] = column.to_list()
    return values


def split_panel(panel: Any) -> list[Any]:
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
    list of ndarray or DataFrame
        One sequence for each series, in the order of the panel: an array of shape (n_timepoints,
        n_channels), or the frame of its rows with time as index. Of a frame the list has what that
        of `split_by` has.

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
    index: Any = getattr(panel, "index", None)
    if getattr(index, "nlevels", 1) > 1:
        rows, series = (
            _rows_of(index.droplevel(-1)),
            panel.droplevel(list(range(index.nlevels - 1))),
        )
        return FrameSequences((series.iloc[own] for own in rows.values()), rows)
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
