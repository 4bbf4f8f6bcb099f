"""Numbers to one table of steps: sequences of numbers, or of rows of numbers, one after the other.

A sample is a sequence: an array of shape (length, n_columns), or (length,) for a single column; a
3-D array holds sequences of equal length, a 2-D array one sequence of single numbers in each row.
"""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_array

from sklearn_cvb.containers import samples_of, shown
from sklearn_cvb.corpus import Corpus, place
from sklearn_cvb.validation import LENGTHS, check_table

_FORM = "pass a list of arrays of shape (length, n_columns)"


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
    """

    table: np.ndarray
    corpus: Corpus
    names: list | None
    is_table: bool


def read_series(X: Any, estimator: Any, *, reset: bool) -> Series:
    """Read sequences of numbers.

    Parameters
    ----------
    X : list of arrays or frames, 3-D array or 2-D array
    estimator : estimator
        Whose number of features a 2-D array sets (`reset`) or must have.
    reset : bool

    Raises
    ------
    TypeError
        If a sample is no sequence.
    ValueError
        If values are no finite numbers, or sequences are empty or differ in their columns.
    """
    shape = getattr(X, "shape", ())
    if len(shape) == 3:
        return _read_cube(X)
    if _is_single_numbers(X):
        return _read_rows(X, estimator, reset=reset)
    samples = samples_of(X)
    if not samples:
        raise ValueError("Found array with 0 sample(s): X holds no sequence")
    names = _common_names(samples)
    arrays = [_steps_of(sample, i) for i, sample in enumerate(samples)]
    widths = {array.shape[1] for array in arrays}
    if len(widths) > 1:
        first = arrays[0].shape[1]
        odd = next(i for i, array in enumerate(arrays) if array.shape[1] != first)
        raise ValueError(f"X[{odd}] has {arrays[odd].shape[1]} columns, but X[0] has {first}")
    lengths = np.array([len(array) for array in arrays])
    if not lengths.all():
        raise ValueError(f"sequence {int(lengths.argmin())} is empty: leave empty sequences out")
    return _series(np.concatenate(arrays), lengths, None, names, False)


def _is_single_numbers(X: Any) -> bool:
    """Whether X is a 2-D array or frame: one sequence of single numbers in each row."""
    if isinstance(X, list | tuple):
        return False
    shape = getattr(X, "shape", None)
    if shape is None:
        return hasattr(X, "__array__")
    return len(shape) == 2 or (
        len(shape) == 1 and getattr(X, "dtype", None) is not np.dtype(object)
    )


def _read_rows(X: Any, estimator: Any, *, reset: bool) -> Series:
    """A 2-D array; missing values at a row's end are padding."""
    table = check_table(estimator, X, reset=reset)
    table = _numbers(table, "X")
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
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    infinite = np.isinf(table)
    if infinite.any():
        step, column = np.argwhere(infinite)[0]
        raise ValueError(
            f"Input X contains infinity or a value too large for float64: {place(step, starts)}, "
            f"column {column}; NaN stands for a missing value"
        )
    tokens = np.where(np.isnan(table).all(axis=1), -1, 0).astype(np.int32)
    return Series(table, Corpus(tokens, starts, width, []), names, is_table)


def _steps_of(sample: Any, index: int) -> np.ndarray:
    """One sequence as an array of shape (length, n_columns)."""
    name = f"X[{index}]"
    if isinstance(sample, str | bytes) or np.isscalar(sample) or sample is None:
        raise TypeError(
            f"{name} is {shown(sample)}: {_FORM}, even if it is a single one; {LENGTHS}"
        )
    array = _numbers(sample.to_numpy() if hasattr(sample, "to_numpy") else sample, name)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or not array.shape[1]:
        raise ValueError(f"{name} has shape {array.shape}: {_FORM}")
    return array


def _numbers(values: Any, name: str) -> np.ndarray:
    """Values as float64; None is NaN."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            check_array(np.atleast_2d(array))
        if array.dtype.kind not in "biuf":
            if array.dtype.kind in "mM":
                raise ValueError
            array = np.asarray(values, dtype=object).astype(np.float64)
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        if "Complex" in str(error):
            raise
        raise ValueError(
            f"{name} holds {_culprit(values)}: emission says that observations are numbers; "
            f"{_FORM} (NaN where missing), or set emission='categorical' for symbols"
        ) from None


def _culprit(values: Any) -> str:
    """The first value that is no number, as a message shows it."""
    flat = np.asarray(values, dtype=object).ravel()
    for value in flat:
        try:
            float(value)
        except (TypeError, ValueError):
            return shown(value)
    return f"values of type {np.asarray(values).dtype}"


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
