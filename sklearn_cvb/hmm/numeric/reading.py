"""Numbers to one table of steps: sequences of numbers, or of rows of numbers, one after the other.

A sample is a sequence: an array of shape (length, n_columns), or (length,) for a single column; a
3-D array holds sequences of equal length, a 2-D array one sequence of single numbers in each row.
"""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.containers import is_table, refuse_lengths, samples_of, shown
from sklearn_cvb.corpus import Corpus, is_missing, place
from sklearn_cvb.emissions.emission import Family, OutsideSupport
from sklearn_cvb.validation import LENGTHS, check_table_to_fit

_ARRAYS = "arrays of shape (length, n_columns)"
_FORM = f"pass a list of {_ARRAYS}"
# Text and times, which float() may read as something else.
_NO_NUMBERS = (str, bytes, np.datetime64, np.timedelta64, date, timedelta)
# More rows of fewer numbers may be one series of several columns, if each row is like the last.
_MANY_ROWS, _FEW_COLUMNS, _ALIKE = 50, 20, 0.3


class Series(NamedTuple):
    """Observations as read.

    Attributes
    ----------
    table : ndarray of shape (n_steps, n_columns), float64
        NaN where missing.
    corpus : Corpus
        Which steps make which sequence; a token is 0, or -1 where a step is missing as a whole.
    names : list or None
        Names of the columns, where the sequences are frames.
    is_table : bool
        Whether X had one number a step, in rows of a 2-D array.
    start : ndarray of shape (n_steps, K) or None
        Posteriors of a fitted model that was given as a start.
    """

    table: np.ndarray
    corpus: Corpus
    names: list | None
    is_table: bool
    start: np.ndarray | None = None


def read_series(X: Any, checked: Callable[[Any], np.ndarray]) -> Series:
    """Read sequences of numbers.

    Parameters
    ----------
    X : list of arrays or frames, 3-D array or 2-D array
    checked : callable
        Validates a 2-D array.

    Raises
    ------
    TypeError
        If a sample is no sequence.
    ValueError
        If values are no finite numbers, or sequences are empty or differ in their columns.
    """
    is_cube = len(getattr(X, "shape", ())) == 3
    if not is_cube and is_table(X):
        return _read_rows(X, checked)
    if is_cube:
        return _read_cube(X)
    if isinstance(X, str | bytes):
        raise TypeError(f"X is the string {X!r}: {_FORM}, read from a file beforehand")
    samples = samples_of(X, _ARRAYS)
    if not samples:
        raise ValueError("Found array with 0 sample(s): X holds no sequence")
    names = _common_names(samples)
    arrays = [_steps_of(sample, i) for i, sample in enumerate(samples)]
    lengths = np.array([len(array) for array in arrays])
    if not lengths.all():
        raise ValueError(f"sequence {int(lengths.argmin())} is empty: leave empty sequences out")
    widths = {array.shape[1] for array in arrays}
    if len(widths) > 1:
        first = arrays[0].shape[1]
        odd = next(i for i, array in enumerate(arrays) if array.shape[1] != first)
        raise ValueError(f"X[{odd}] has {arrays[odd].shape[1]} columns, but X[0] has {first}")
    return _series(np.concatenate(arrays), lengths, None, names, False)


def series_to_fit(X: Any, y: Any, estimator: Any) -> tuple[Series, dict[str, Any], tuple[str, ...]]:
    """Training sequences, what scikit-learn knows of their columns, and messages.

    `y` is not used, but who gives lengths there is told what to do.
    """
    attributes: dict[str, Any] = {}

    def checked(table: Any) -> np.ndarray:
        table, found = check_table_to_fit(estimator, table)
        attributes.update(found)
        return table

    series = read_series(X, checked)
    n_sequences = series.corpus.n_sequences
    refuse_lengths(y, n_sequences, n_sequences if series.is_table else len(series.table))
    missing, messages = np.isnan(series.table).all(axis=0), []
    if missing.any():
        names = series.names or range(len(missing))
        empty = [name for name, is_empty in zip(names, missing, strict=True) if is_empty]
        where = "at all" if missing.all() else f"in columns {empty}"
        messages.append(
            f"X has no value {where}: nothing can be learned there, and the prior alone says what "
            "states emit"
        )
    # In a mixture nothing follows anything in any case.
    if not np.array_equal(estimator.topology, "independent"):
        messages.append(caution_of_one_series(series))
    return series, attributes, tuple(filter(None, messages))


def observations_of(series: Series, family: Family) -> Any:
    """What a family reads; a value that it cannot have is named by its sequence and position."""
    try:
        return family.read(series.table)
    except OutsideSupport as error:
        where = place(error.step, series.corpus.starts)
        raise ValueError(f"{error.why} ({where}, column {error.column})") from None


def caution_of_one_series(series: Series) -> str:
    """What is to be said where rows of single numbers look like steps of one series of columns."""
    lengths = np.diff(series.corpus.starts)
    n_rows, width = len(lengths), int(lengths[0])
    if n_rows > 1 and (lengths == 1).all():
        return _caution_of_single_steps(series)
    if series.table.shape[1] > 1 or not 1 < width < _FEW_COLUMNS or n_rows <= _MANY_ROWS:
        return ""
    if (lengths != width).any():
        return ""
    rows = series.table.reshape(n_rows, width)
    rows = rows - np.nanmean(rows, axis=0)
    with np.errstate(all="ignore"):
        # How far each row repeats the one before, column by column.
        alike = np.nanmean(rows[1:] * rows[:-1], axis=0) / np.nanmean(rows * rows, axis=0)
    if not np.nanmean(alike) > _ALIKE:
        return ""
    return (
        f"X has {n_rows} rows of {width} numbers, and each row is a sequence of {width} single "
        f"numbers; but rows are like the rows before them. If X is one series of {n_rows} "
        f"steps and {width} columns, pass [X]; if it is several, {LENGTHS}"
    )


def _caution_of_single_steps(series: Series) -> str:
    """That nothing follows anything."""
    n_steps, one = len(series.table), "[X]" if series.is_table else "[numpy.concatenate(X)]"
    return (
        f"each of the {n_steps} sequences of X has a single step: nothing can be learned of what "
        f"follows what. If X is one series of {n_steps} steps, pass {one}; if it is several, "
        f"{LENGTHS}; for a mixture set topology='independent'"
    )


def _read_rows(X: Any, checked: Callable[[Any], np.ndarray]) -> Series:
    """A 2-D array; missing values at a row's end are padding."""
    shape = getattr(X, "shape", ())
    if len(shape) > 3:
        raise ValueError(
            f"Found array with dim {len(shape)}: X has shape {shape}; {_FORM}, or an array of "
            "shape (n_sequences, length, n_columns)"
        )
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f":
        _refuse_infinite(np.isinf(X), lambda row, position: f"sequence {row}, position {position}")
    table = _numbers(checked(X), "X")
    width = table.shape[1]
    observed = ~np.isnan(table)
    lengths = np.where(observed, np.arange(1, width + 1), 0).max(axis=1)
    _refuse_unobserved(lengths)
    inside = np.arange(width) < lengths[:, None]
    return _series(table[inside][:, None], lengths, width, None, True)


def _read_cube(X: Any) -> Series:
    """A 3-D array: sequences, steps, columns; steps without any value at the end are padding."""
    cube = _numbers(np.asarray(X), "X")
    if not cube.size:
        raise ValueError(f"Found array with 0 sample(s) or feature(s): X has shape {cube.shape}")
    width = cube.shape[1]
    observed = ~np.isnan(cube).all(axis=2)
    lengths = np.where(observed, np.arange(1, width + 1), 0).max(axis=1)
    _refuse_unobserved(lengths)
    inside = np.arange(width) < lengths[:, None]
    return _series(cube[inside], lengths, width, None, False)


def _refuse_unobserved(lengths: np.ndarray) -> None:
    if not lengths.all():
        raise ValueError(f"sequence {int(lengths.argmin())} is empty: all its values are missing")


def _series(
    table: np.ndarray,
    lengths: np.ndarray,
    width: int | None,
    names: list | None,
    is_table: bool,
) -> Series:
    # Sums do not depend on how frames lie in memory.
    table = np.ascontiguousarray(table)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    _refuse_infinite(
        np.isinf(table), lambda step, column: f"{place(step, starts)}, column {column}"
    )
    tokens = np.where(np.isnan(table).all(axis=1), -1, 0).astype(np.int32)
    return Series(table, Corpus(tokens, starts, width, []), names, is_table)


def _refuse_infinite(infinite: np.ndarray, place_of: Callable[[int, int], str]) -> None:
    """Raise for the first infinity of a table."""
    if infinite.any():
        where = place_of(*map(int, np.argwhere(infinite)[0]))
        raise ValueError(
            f"Input X contains infinity or a value too large for float64: {where}; NaN stands for "
            "a missing value"
        )


def _steps_of(sample: Any, index: int) -> np.ndarray:
    """One sequence as an array of shape (length, n_columns)."""
    name = f"X[{index}]"
    if isinstance(sample, str | bytes) or np.isscalar(sample) or sample is None:
        raise TypeError(
            f"{name} is {shown(sample)}: {_FORM}, even if it is a single one; {LENGTHS}"
        )
    if isinstance(sample, tuple) and len(sample) == 2 and hasattr(sample[1], "to_numpy"):
        raise TypeError(
            f"{name} is a pair of a name and a frame or column, as groupby gives: pass "
            "[group for _, group in X]"
        )
    columns = list(sample.columns) if hasattr(sample, "columns") else None
    values = sample.to_numpy() if hasattr(sample, "to_numpy") else sample
    array = _numbers(values, name, columns)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or (len(array) and not array.shape[1]):
        raise ValueError(f"{name} has shape {array.shape}: {_FORM}")
    return array


def _numbers(values: Any, name: str, columns: list | None = None) -> np.ndarray:
    """Values as float64; None and what else stands for a missing value is NaN.

    Messages name the column, where `columns` have names.

    Raises
    ------
    TypeError
        If a value is neither a number nor text.
    ValueError
        If a value is text, a date, too large, or a row is shorter than another.
    """
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths: {_FORM}") from None
    if array.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: {name} holds complex numbers; give their real and "
            "imaginary parts as columns of their own"
        )
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    found = np.empty(array.shape)
    for place_in, value in np.ndenumerate(array.astype(object)):
        found[place_in] = _number(value, name, columns and columns[place_in[-1]])
    return found


def _number(value: Any, name: str, column: Any = None) -> float:
    """A single value as a float."""
    if is_missing(value):
        return np.nan
    why = "text or a date"
    try:
        if not isinstance(value, _NO_NUMBERS):
            return float(value)
        kind: type[Exception] = ValueError
    except OverflowError:
        kind, why = ValueError, "too large for float64"
    except (TypeError, ValueError) as error:
        kind, why = TypeError, str(error)
    if column is not None:
        raise kind(
            f"{name} holds {shown(value)} ({why}) in column {column!r}, but emissions are numbers: "
            "leave the column out, or turn it into numbers, with NaN where values are missing"
        )
    raise kind(
        f"{name} holds {shown(value)} ({why}), but its emissions are numbers: {_FORM} with NaN "
        "where values are missing, or set emission='categorical' for symbols"
    )


def _common_names(samples: list) -> list | None:
    """Column names of frames, which must be the same in all of them."""
    if not all(hasattr(sample, "columns") for sample in samples):
        return None
    first = list(samples[0].columns)
    for i, sample in enumerate(samples):
        if list(sample.columns) != first:
            raise ValueError(
                f"X[{i}] has columns {list(sample.columns)!r}, but X[0] has {first!r}: columns "
                "must have the same names in the same order"
            )
    return first
