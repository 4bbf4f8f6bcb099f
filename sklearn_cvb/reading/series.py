"""Sequences of numbers as users give them: arrays, frames and tables.

A sample is a sequence: an array of shape (length, n_columns), or (length,) for a single column; a
3-D array holds sequences of equal length, a 2-D array one sequence of single numbers in each row.
Columns of text are categories, where the emission takes some: they are read as numbers, too.
"""

from collections.abc import Callable, Mapping
from datetime import date, timedelta
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.reading.corpus import (
    Corpus,
    caution_of_single_steps,
    is_missing,
    is_of_order,
    is_table,
    place,
    samples_of,
    short_repr,
)
from sklearn_cvb.reading.validation import LENGTHS, nearest

_ARRAYS = "arrays of shape (length, n_columns)"
_FORM = f"pass a list of {_ARRAYS}"
# Text and times, which float() may read as something else.
_NO_NUMBERS = (str, bytes, np.datetime64, np.timedelta64, date, timedelta)


# The labels of columns of text by the column's name, or its number in arrays; a label's code is its
# place.
Categories = Mapping[Any, list[Any]]


class OpenLabels(list[Any]):
    """Labels beside which others may come, all of which have the next code."""


class Series(NamedTuple):
    """Observations as read."""

    table: np.ndarray  # (n_steps, n_columns), NaN where missing
    # Which steps make which sequence; a token is 0, or -1 where a step is missing as a whole.
    corpus: Corpus
    names: list[Any] | None  # of the columns, where the sequences are frames
    is_table: bool  # whether X had one number a step, in rows of a 2-D array
    categories: Categories  # of columns of text
    # Of all steps, where a column of X that is not in the table tells them; and its number.
    contexts: np.ndarray | None = None
    context_column: int | None = None


def read_series(
    X: Any,
    checked: Callable[[Any], np.ndarray],
    categories: Categories | Callable[[list[Any]], Categories] = MappingProxyType({}),
) -> Series:
    """Read sequences of numbers; `checked` validates a 2-D array.

    Categories are known, or are to be found in the samples.
    """
    if len(getattr(X, "shape", ())) == 3:
        # Sequences, steps, columns; steps without any value at the end are padding.
        cube = _numbers(np.asarray(X), "X")
        if not cube.size:
            raise ValueError(
                f"Found array with 0 sample(s) or feature(s): X has shape {cube.shape}"
            )
        lengths, inside = _without_padding(~np.isnan(cube).all(axis=2))
        return _series(cube[inside], lengths, width=cube.shape[1])
    if is_table(X) and not _are_words(X, categories):
        return _read_rows(X, checked)
    if isinstance(X, str | bytes):
        raise TypeError(f"X is the string {X!r}: {_FORM}, read from a file beforehand")
    samples = samples_of(X, _ARRAYS)
    if not samples:
        raise ValueError("Found array with 0 sample(s): X holds no sequence")
    for i, sample in enumerate(samples):
        _refuse_single(sample, f"X[{i}]")
    names, found = _common_names(samples), _found(categories, samples)
    arrays = [_steps_of(sample, f"X[{i}]", found) for i, sample in enumerate(samples)]
    lengths = np.array([len(array) for array in arrays])
    if not lengths.all():
        raise ValueError(f"sequence {int(lengths.argmin())} is empty: leave empty sequences out")
    widths = {array.shape[1] for array in arrays}
    if len(widths) > 1:
        first = arrays[0].shape[1]
        odd = next(i for i, array in enumerate(arrays) if array.shape[1] != first)
        raise ValueError(f"X[{odd}] has {arrays[odd].shape[1]} columns, but X[0] has {first}")
    series = _series(np.concatenate(arrays), lengths)
    return series._replace(names=names, categories=found)


def attributes_of_columns(n_columns: int, names: list[Any] | None) -> dict[str, Any]:
    """What scikit-learn knows of columns."""
    attributes: dict[str, Any] = {"n_features_in_": n_columns}
    if names and all(isinstance(name, str) for name in names):
        attributes["feature_names_in_"] = np.array(names, dtype=object)
    return attributes


def cautions_of_columns(missing: np.ndarray, names: list[Any] | None) -> list[str]:
    """What is to be said of columns without any value."""
    if not missing.any():
        return []
    pairs = zip(names or range(len(missing)), missing, strict=True)
    empty = [name for name, is_empty in pairs if is_empty]
    where = "at all" if missing.all() else f"in columns {empty}"
    return [
        f"X has no value {where}: nothing can be learned there, and the prior alone says what "
        "states emit"
    ]


def cautions_of_shape(hmm: Any, X: Any, series: Series) -> list[str]:
    """What is to be said where X may have been meant to be read in another way."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    n_steps = len(series.table)
    if len(shape) == 3 and shape[1] < shape[2]:
        return [
            f"X of shape {shape} is read as {shape[0]} sequences of {shape[1]} steps and "
            f"{shape[2]} columns: if it is (sequence, column, step), as sktime and aeon have it, "
            "pass X.transpose(0, 2, 1) or sklearn_cvb.split_panel(X)"
        ]
    if n_steps > 1 and len(series.corpus.starts) == n_steps + 1:
        one = "[X]" if series.is_table else f"[{_joined(X, series.names)}]"
        return [caution_of_single_steps(n_steps, one)] if is_of_order(hmm) else []
    return cautions_of_rows(X)


def _joined(X: Any, names: list[Any] | None) -> str:
    """What makes one sequence of several; frames keep their names."""
    if names is None:
        return "numpy.concatenate(X)"
    library = type(next(iter(samples_of(X)))).__module__.partition(".")[0]
    return f"{library}.concat(X)"


def cautions_of_rows(X: Any) -> list[str]:
    """What is to be said of a table with more rows than columns."""
    shape: tuple[int, ...] = getattr(X, "shape", ()) if is_table(X) else ()
    n_rows, width = shape if len(shape) == 2 else (0, 0)
    if n_rows <= width or width == 1:
        return []
    rows = "X" if isinstance(X, np.ndarray) else "numpy.asarray(X)"
    return [
        f"each of the {n_rows} rows of X is read as a sequence of {width} numbers: one series of "
        f"{width} columns is [X] (if it is several, {LENGTHS}); to say that rows are sequences "
        f"pass list({rows})"
    ]


def _found(categories: Any, samples: list[Any]) -> Categories:
    """The categories of samples, which arrays of numbers have none of."""
    if not callable(categories):
        known: Categories = categories
        return known
    each = (hasattr(own, "columns") or _holds_text(own, f"X[{i}]") for i, own in enumerate(samples))
    return categories(samples) if any(each) else {}


def _are_words(X: Any, categories: Any) -> bool:
    """Whether rows of a table are sequences of one column, of categories."""
    is_text = isinstance(X, np.ndarray) and _holds_text(X, "X")
    return is_text and bool(_found(categories, list(X)))


def _holds_text(values: Any, name: str) -> bool:
    """Whether text is among the values of an array, or of lists."""
    array = _as_array(values, name)
    return array.dtype.kind in "OU" and any(isinstance(own, str) for own in array.ravel().tolist())


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
    hint = (
        f"; rows are sequences here: if X is one series of {len(table)} steps, pass [X], where "
        "missing steps may stand; else leave such rows out"
    )
    lengths, inside = _without_padding(~np.isnan(table), hint)
    return _series(table[inside][:, None], lengths, table.shape[1])._replace(is_table=True)


def _without_padding(observed: np.ndarray, hint: str = "") -> tuple[np.ndarray, np.ndarray]:
    """Lengths of rows up to the last step that is observed, and which steps these have."""
    steps = np.arange(1, observed.shape[1] + 1)
    lengths = np.where(observed, steps, 0).max(axis=1)
    if not lengths.all():
        raise ValueError(
            f"sequence {int(lengths.argmin())} is empty: all its values are missing{hint}"
        )
    return lengths, steps <= lengths[:, None]


def _series(table: np.ndarray, lengths: np.ndarray, width: int | None = None) -> Series:
    """Steps one after the other as sequences of these lengths."""
    # Sums do not depend on how frames lie in memory.
    table = np.ascontiguousarray(table)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    _refuse_infinite(
        np.isinf(table), lambda step, column: f"{place(step, starts)}, column {column}"
    )
    tokens = np.where(np.isnan(table).all(axis=1), -1, 0).astype(np.int32)
    return Series(table, Corpus(tokens, starts, width, []), None, False, {})


def _refuse_infinite(infinite: np.ndarray, place_of: Callable[[int, int], str]) -> None:
    """Raise for the first infinity of a table."""
    if infinite.any():
        where = place_of(*map(int, np.argwhere(infinite)[0]))
        raise ValueError(
            f"Input X contains infinity or a value too large for float64: {where}; NaN stands for "
            "a missing value"
        )


def as_objects(sample: Any, name: str) -> tuple[np.ndarray, list[Any]]:
    """A copy of the values of a sequence (length, n_columns), and the columns' names or numbers."""
    values = sample.to_numpy() if hasattr(sample, "to_numpy") else sample
    array = _as_array(values, name)
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} has shape {array.shape}: {_FORM}")
    table = np.array(values, dtype=object).reshape(len(array), -1)
    return table, list(getattr(sample, "columns", range(table.shape[1])))


def _with_codes(sample: Any, name: str, of: Categories) -> np.ndarray:
    """Values with codes in the place of labels; what is missing stays so."""
    table, columns = as_objects(sample, name)
    # Whoever asks for columns that are not there is told when all are known.
    for column, labels in of.items():
        if column not in columns:
            continue
        codes = {label: code for code, label in enumerate(labels)}
        place_in = columns.index(column)
        for step, value in enumerate(table[:, place_in].tolist()):
            if is_missing(value):
                continue
            if value not in codes and not isinstance(labels, OpenLabels):
                raise ValueError(
                    f"{name} holds {short_repr(value)} in column {column!r}"
                    f"{nearest(value, labels)}, which was in no sequence of fit"
                )
            table[step, place_in] = codes.get(value, len(labels))
    return table


def _refuse_single(sample: Any, name: str) -> None:
    """Raise where a sample is a single value, or a pair of a name and a sequence."""
    if isinstance(sample, str | bytes) or np.isscalar(sample) or sample is None:
        raise TypeError(
            f"{name} is {short_repr(sample)}: {_FORM}, even if it is a single one; {LENGTHS}"
        )
    if isinstance(sample, tuple) and len(sample) == 2 and hasattr(sample[1], "to_numpy"):
        raise TypeError(
            f"{name} is a pair of a name and a frame or column, as groupby gives: pass "
            "[group for _, group in X]"
        )


def _steps_of(sample: Any, name: str, categories: Categories) -> np.ndarray:
    """One sequence as an array of shape (length, n_columns)."""
    columns = list(sample.columns) if hasattr(sample, "columns") else None
    values = sample.to_numpy() if hasattr(sample, "to_numpy") else sample
    if categories:
        values = _with_codes(sample, name, categories)
    array = _numbers(values, name, columns)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or (len(array) and not array.shape[1]):
        raise ValueError(f"{name} has shape {array.shape}: {_FORM}")
    return array


def _as_array(values: Any, name: str) -> np.ndarray:
    """Values as an array, which rows of different lengths are none."""
    try:
        return np.asarray(values)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths: {_FORM}") from None


def _numbers(values: Any, name: str, columns: list[Any] | None = None) -> np.ndarray:
    """Values as float64; None and what else stands for a missing value is NaN.

    Messages name the column, where `columns` have names.
    """
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    array = _as_array(values, name)
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
            f"{name} holds {short_repr(value)} ({why}) in column {column!r}, but emissions are "
            "numbers: name it as categories, Columns([..., (Categorical(), [...])]), leave it out, "
            "or turn it into numbers, with NaN where values are missing"
        )
    raise kind(
        f"{name} holds {short_repr(value)} ({why}), but its emissions are numbers: {_FORM} with "
        "NaN where values are missing, or set emission='categorical' for symbols"
    )


def _common_names(samples: list[Any]) -> list[Any] | None:
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
