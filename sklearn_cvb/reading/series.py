"""`Series`: sequences of numbers, read from arrays, frames and tables, with names of columns.

A sample is a sequence: an array of shape (length, n_columns), or (length,) for a single column; a
3-D array holds sequences of equal length, a 2-D array one sequence of single numbers in each row.
Columns of text are categories, where the emission takes some: they are read as numbers, too.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.messages import did_you_mean
from sklearn_cvb.reading.corpus import (
    TIMES,
    Corpus,
    Table,
    as_array,
    as_list,
    caution_of_single_steps,
    is_missing,
    is_table,
    names_of_columns,
    place_text,
    refuse_lazy,
    samples_of,
    short_repr,
    without_padding,
)
from sklearn_cvb.reading.validation import LENGTHS

_ARRAYS = "arrays of shape (length, n_columns)"
_FORM = f"pass a list of {_ARRAYS}"
# Text and times, which float() may read as something else.
_NO_NUMBERS = (str, bytes, *TIMES)
_TURNED = "if columns are steps, pass [x.T for x in X]"


# The labels of columns of text by the column's name, or its number in arrays; a label's code is its
# place.
Categories = Mapping[Any, list[Any]]
_NO_LABELS: Categories = {}


class OpenLabels(list[Any]):
    """Labels beside which others may come, all of which have the next code."""


class FittedColumns(NamedTuple):
    """What a fit knows of the columns of X, that of contexts among them."""

    names: list[Any] | None = None  # where frames were fitted
    categories: Categories = _NO_LABELS  # of columns of text
    context: int | None = None  # the number of the column that holds contexts, if any does
    inputs: tuple[int, ...] = ()  # those of the columns that transitions depend on

    def places_in(self, names: list[Any], what: str) -> list[int] | slice:
        """Where frames with columns of these names, `what`, have those of the fit.

        Contexts may be anywhere; ValueError where others are missing, new, or in another order.
        """
        if self.names is None or names == self.names:
            return slice(None)
        if self.context is not None and names.count(self.names[self.context]) == 1:
            place_in = names.index(self.names[self.context])
            others = [i for i in range(len(names)) if i != place_in]
            places = [*others[: self.context], place_in, *others[self.context :]]
            if [names[i] for i in places] == self.names:
                return places
        raise other_columns_error(names, self.names, what)

    def in_order(self, series: "Series") -> "Series":
        """What was read before, in the order and the codes of the fit."""
        table, names = series.table, series.names
        if names is not None:
            table, names = table[:, self.places_in(names, "X")], self.names or names
        known = {place_of_column(name, self.names): own for name, own in self.categories.items()}
        for column, labels in series.categories.items():
            place_in = place_of_column(column, names)
            own = known.get(place_in, [])
            if labels != own:
                codes = {label: code for code, label in enumerate(own)}
                found = np.array([_code(label, codes, own, "X", column) for label in labels])
                table, there = table.copy(), ~np.isnan(table[:, place_in])
                table[there, place_in] = found[table[there, place_in].astype(int)]
        return series._replace(table=table, names=self.names, categories=self.categories)

    def step(self, observation: Any, n_columns: int, asked: list[Any] | None) -> list[Any]:
        """One step in the order of the fit: values by name where they have names, else by place.

        A row may have others beside those that are asked for, where settings name each.
        """
        if is_missing(observation):
            return [None] * n_columns
        (names, values), is_row = _named_values(observation), isinstance(observation, Mapping)
        if names is None or (self.names is None and not is_row):
            return values
        known = list(range(n_columns)) if self.names is None else self.names
        by_name = dict(zip(names, values, strict=True))
        is_more = len(names) > len(known) and not (asked and set(names) > set(asked))
        if len(by_name) == len(names) and set(names) >= set(known) and not is_more:
            return [by_name[name] for name in known]
        if is_row or names != list(range(len(known))):
            raise other_columns_error(names, known, "the step")
        # A Series that was given no names.
        return values


class Series(NamedTuple):
    """Observations as read."""

    table: np.ndarray  # (n_steps, n_columns), NaN where missing
    # Which steps make which sequence; a token is 0, or -1 where a step is missing as a whole.
    corpus: Corpus
    names: list[Any] | None  # of the columns of X, where the sequences are frames
    rows_are_sequences: bool  # whether X had one number a step, in rows of a 2-D array
    categories: Categories  # of columns of text
    # Of all steps, where a column of X that is not in the table tells them; and its number.
    contexts: np.ndarray | None = None
    context_column: int | None = None
    # Distinct rows of inputs of transitions, where these are no columns of the table; their numbers
    # in X. Contexts then say which row each step has.
    inputs: np.ndarray | None = None
    input_columns: tuple[int, ...] = ()

    @property
    def emitted_names(self) -> list[Any] | None:
        """Names of the columns of the table."""
        if self.names is None:
            return None
        apart = {self.context_column, *self.input_columns}
        return [name for i, name in enumerate(self.names) if i not in apart]

    @property
    def columns(self) -> FittedColumns:
        """What a fit is to know of them."""
        apart = self.context_column, self.input_columns
        return FittedColumns(self.names, self.categories, *apart)


def as_series(X: Any) -> Any:
    """X, or the sequences that it gives: what lies elsewhere knows its columns."""
    gives = getattr(type(X), "series", None)
    return X if gives is None else gives(X)


def _no_categories(samples: list[Any], names: list[Any] | None) -> Categories:
    """Of numbers alone."""
    return {}


def read_series(
    X: Any,
    columns: FittedColumns | Callable[[list[Any], list[Any] | None], Categories] = _no_categories,
    asked: Callable[[], list[Any] | None] | None = None,
) -> Series:
    """Read sequences of numbers; rows of single numbers may have been checked, a `Table`.

    Columns are known, or categories are to be found in samples whose columns have these names.
    Frames may have others beside those that are asked for, where settings name each.
    """
    if isinstance(X, Table):
        return _rows(X.values)
    if len(getattr(X, "shape", ())) == 3:
        # Sequences, steps, columns; steps without any value at the end are padding.
        cube = _numbers(np.asarray(X), "X")
        if not cube.size:
            raise ValueError(
                f"Found array with 0 sample(s) or feature(s): X has shape {cube.shape}"
            )
        lengths, inside = _without_padding(~np.isnan(cube).all(axis=2))
        return _series(cube[inside], lengths, width=cube.shape[1])
    if is_table(X) and not _are_words(X, columns):
        _refuse_other_rows(X)
        return _rows(np.asarray(X))
    if isinstance(X, str | bytes):
        raise TypeError(f"X is the string {X!r}: {_FORM}, read from a file beforehand")
    samples: Any = samples_of(X, _ARRAYS)
    if not samples:
        raise ValueError("Found array with 0 sample(s): X holds no sequence")
    for i, sample in enumerate(samples):
        _refuse_single(sample, f"X[{i}]")
    samples = with_asked_columns(samples, asked)
    if not isinstance(columns, FittedColumns):
        is_told = isinstance(samples, SamplesOfKnownColumns)
        columns = samples.columns if is_told else columns_to_fit(samples, columns)
    arrays = [_steps_of(sample, f"X[{i}]", columns) for i, sample in enumerate(samples)]
    lengths = np.array([len(array) for array in arrays])
    if not lengths.all():
        raise ValueError(f"sequence {int(lengths.argmin())} is empty: leave empty sequences out")
    widths = [array.shape[1] for array in arrays]
    if len(set(widths)) > 1:
        odd = next(i for i, width in enumerate(widths) if width != widths[0])
        raise ValueError(f"X[{odd}] has {widths[odd]} columns, but X[0] has {widths[0]}: {_TURNED}")
    series = _series(np.concatenate(arrays), lengths)
    return series._replace(names=columns.names, categories=columns.categories)


def attributes_of_columns(n_columns: int, columns: FittedColumns) -> dict[str, Any]:
    """What scikit-learn knows of columns, and the labels of those of text."""
    attributes: dict[str, Any] = {"n_features_in_": n_columns}
    if columns.names and all(isinstance(name, str) for name in columns.names):
        attributes["feature_names_in_"] = np.array(columns.names, dtype=object)
    if columns.categories:
        attributes["categories_"] = {
            name: as_array(labels) for name, labels in columns.categories.items()
        }
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


def cautions_of_shape(X: Any, series: Series, is_ordered: bool) -> list[str]:
    """What is to be said where X may have been meant to be read in another way.

    Unless nothing `is_ordered`: then single steps are as good as sequences.
    """
    if isinstance(X, Table):
        X = X.given
    shape: tuple[int, ...] = getattr(X, "shape", ())
    n_steps, width = series.table.shape
    lengths, is_panel = np.diff(series.corpus.starts), len(shape) == 3 and shape[1] < shape[2]
    is_turned = not shape and not series.names and 1 < lengths.min() == lengths.max() <= width / 2
    if is_panel or is_turned:
        cure = "if columns are steps, as sktime and aeon have them, pass X.transpose(0, 2, 1) or "
        cure = cure + "sklearn_cvb.split_panel(X)" if shape else _TURNED
        sizes = f"{len(lengths)} sequences of {lengths[0]} steps and {width} columns"
        return [f"X is read as {sizes}: {cure}"]
    if n_steps > 1 and len(series.corpus.starts) == n_steps + 1:
        one = "[X]" if series.rows_are_sequences else f"[{_joined(X, series.names)}]"
        return [caution_of_single_steps(n_steps, one)] if is_ordered else []
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
    if n_rows <= width or width <= 1:
        return []
    array = "X" if isinstance(X, np.ndarray) else "numpy.asarray(X)"
    by = ", or with split_by(X, by=...) if a column tells them apart" * hasattr(X, "columns")
    # As a list, rows would have steps where they are padded.
    is_padded = any(map(is_missing, np.asarray(X)[:, -1].tolist()))
    rows = f"{array}[:, :, None]" if is_padded else f"list({array})"
    return [
        f"each of the {n_rows} rows of X is read as a sequence of {width} numbers: one series of "
        f"{width} columns is [X] (if it is several, {LENGTHS}{by}); to say that rows are sequences "
        f"pass {rows}"
    ]


class SamplesOfKnownColumns(list[Any]):
    """Samples to be fitted to whose columns are known, such as some of many."""

    def __init__(self, samples: Iterable[Any], columns: FittedColumns) -> None:
        super().__init__(samples)
        self.columns = columns

    def at(self, rows: Iterable[int]) -> "SamplesOfKnownColumns":
        """Some of them."""
        return SamplesOfKnownColumns([self[row] for row in rows], self.columns)


def columns_to_fit(samples: list[Any], categories: Any) -> FittedColumns:
    """Names of the columns of samples, and categories, which arrays of numbers have none of."""
    names = _common_names(samples)
    each = (hasattr(own, "columns") or _holds_text(own, f"X[{i}]") for i, own in enumerate(samples))
    return FittedColumns(names, categories(samples, names) if any(each) else {})


def _are_words(X: Any, columns: Any) -> bool:
    """Whether rows of a table are sequences of one column, of categories."""
    if not (isinstance(X, np.ndarray) and _holds_text(X, "X")):
        return False
    is_known = isinstance(columns, FittedColumns)
    return bool((columns if is_known else columns_to_fit(list(X), columns)).categories)


def _holds_text(values: Any, name: str) -> bool:
    """Whether text is among the values of an array, or of lists."""
    array = _as_array(values, name)
    return array.dtype.kind in "OU" and any(isinstance(own, str) for own in array.ravel().tolist())


def are_rows(X: Any) -> bool:
    """Whether X is a table whose rows are sequences of single numbers, which may not be infinite.

    Else it is no table, or has a dimension for columns, or text, which may be categories.
    """
    is_cube = len(getattr(X, "shape", ())) == 3
    if is_cube or not is_table(X) or (isinstance(X, np.ndarray) and _holds_text(X, "X")):
        return False
    _refuse_other_rows(X)
    return True


def _refuse_other_rows(X: Any) -> None:
    """Raise where a table has more dimensions than rows of numbers have, or an infinity."""
    shape = getattr(X, "shape", ())
    if len(shape) > 3:
        raise ValueError(
            f"Found array with dim {len(shape)}: X has shape {shape}; {_FORM}, or an array of "
            "shape (n_sequences, length, n_columns)"
        )
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f":
        _refuse_infinite(np.isinf(X), lambda row, position: f"sequence {row}, position {position}")


def _rows(values: np.ndarray) -> Series:
    """A 2-D array; missing values at a row's end are padding."""
    table = _numbers(values, "X")
    hint = (
        f"; rows are sequences here: if X is one series of {len(table)} steps, pass [X], where "
        "missing steps may stand; else leave such rows out"
    )
    lengths, inside = _without_padding(~np.isnan(table), hint)
    return _series(table[inside][:, None], lengths, table.shape[1])._replace(
        rows_are_sequences=True
    )


def _without_padding(observed: np.ndarray, hint: str = "") -> tuple[np.ndarray, np.ndarray]:
    """Lengths of rows up to the last step that is observed, and which steps these have."""
    lengths, inside = without_padding(observed)
    if not lengths.all():
        raise ValueError(
            f"sequence {int(lengths.argmin())} is empty: all its values are missing{hint}"
        )
    return lengths, inside


def _series(table: np.ndarray, lengths: np.ndarray, width: int | None = None) -> Series:
    """Steps one after the other as sequences of these lengths."""
    # Sums do not depend on how frames lie in memory.
    table = np.ascontiguousarray(table)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    tokens = np.zeros(len(table), np.int32)
    if not np.isfinite(table).all():
        _refuse_infinite(
            np.isinf(table), lambda step, column: f"{place_text(step, starts)}, column {column}"
        )
        tokens[np.isnan(table).all(axis=1)] = -1
    return Series(table, Corpus(tokens, starts, width, []), None, False, {})


def _refuse_infinite(infinite: np.ndarray, place_of: Callable[[int, int], str]) -> None:
    """Raise for the first infinity of a table."""
    if infinite.any():
        where = place_of(*map(int, np.argwhere(infinite)[0]))
        raise ValueError(
            f"Input X contains infinity or a value too large for float64: {where}; NaN stands for "
            "a missing value"
        )


def with_asked_columns(
    samples: list[Any], asked: Callable[[], list[Any] | None] | None
) -> list[Any]:
    """Samples without columns that settings do not ask for, where these name all that are read."""
    are_frames = any(hasattr(sample, "columns") for sample in samples)
    if asked is None or not are_frames or isinstance(samples, SamplesOfKnownColumns):
        return samples
    names = asked()
    return samples if names is None else [_asked_columns(sample, names) for sample in samples]


def _asked_columns(sample: Any, asked: list[Any]) -> Any:
    """The columns of a frame that are asked for; all where it lacks one."""
    names = names_of_columns(sample) if hasattr(sample, "columns") else []
    own = [name for name in names if name in asked]
    if len(own) == len(names) or sorted(own) != sorted(asked):
        return sample
    return sample.select(own) if _is_of_columns(sample) else sample[own]


def _is_of_columns(sample: Any) -> bool:
    """Whether a frame is one of polars or Arrow, which are columns alone."""
    return hasattr(sample, "columns") and not hasattr(sample, "iloc")


def _values_of(sample: Any) -> Any:
    """The values of a sequence, as an array where it is of a library of frames."""
    if not _is_of_columns(sample):
        return sample.to_numpy() if hasattr(sample, "to_numpy") else sample
    # As a whole it may have numbers for dates that stand beside numbers.
    own = [np.asarray(sample[c] if isinstance(c, str) else c) for c in sample.columns]
    are_numbers = all(column.dtype.kind in "biuf" for column in own)
    return np.column_stack([column if are_numbers else column.astype(object) for column in own])


def as_objects(sample: Any, name: str) -> np.ndarray:
    """A copy of the values of a sequence, (length, n_columns)."""
    values = _values_of(sample)
    array = _as_array(values, name)
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} has shape {array.shape}: {_FORM}")
    return np.array(values, dtype=object).reshape(len(array), -1)


def declared_labels(sample: Any, column: Any) -> list[Any]:
    """Labels that a column of a frame, or of its own, says it may hold, whether it does or not."""
    own = sample[column] if hasattr(sample, "columns") else sample
    return as_list(getattr(getattr(own, "dtype", None), "categories", None)) or []


def by_name(categories: Mapping[Any, Any], names: list[Any] | None) -> Categories:
    """Labels by the names of columns that were given by number."""
    known = names or []
    return {
        known[c] if isinstance(c, int) and c not in known and c < len(known) else c: list(labels)
        for c, labels in categories.items()
    }


def place_of_column(column: Any, names: list[Any] | None) -> int:
    """The number of a column that is known by name, or by number where columns have none."""
    place_in: int = column if names is None else names.index(column)
    return place_in


def _with_codes(sample: Any, name: str, of: Categories, names: list[Any] | None) -> np.ndarray:
    """Values with codes in the place of labels; what is missing stays so."""
    table = as_objects(sample, name)
    for column, labels in of.items():
        place_in, width = place_of_column(column, names), table.shape[1]
        if place_in >= width or (names is not None and len(names) != width):
            known = f"column {place_in} of others holds text"
            known = known if names is None else f"others {names!r}"
            one = "; where X is one sequence, pass [X]" * (np.ndim(sample) == 1)
            raise ValueError(f"{name} has {width} column{'s' * (width > 1)}, but {known}{one}")
        codes = {label: code for code, label in enumerate(labels)}
        table[:, place_in] = [
            value if is_missing(value) else _code(value, codes, labels, name, column)
            for value in table[:, place_in].tolist()
        ]
    return table


def _code(value: Any, codes: dict[Any, int], labels: list[Any], name: str, column: Any) -> int:
    """The code of a label."""
    may_be_new = isinstance(labels, OpenLabels) and isinstance(value, str)
    if value not in codes and not may_be_new:
        raise ValueError(
            f"{name} holds {short_repr(value)} in column {column!r}{did_you_mean(value, labels)}, "
            "which was in no sequence of fit: before it, declare labels that are to come as "
            "categories of pandas, or an Enum of polars"
        )
    return codes.get(value, len(labels))


def other_columns_error(names: list[Any], known: list[Any], what: str = "X") -> ValueError:
    """The error that says which columns were fitted, and which there are."""
    lacking = [name for name in known if name not in names]
    more = [name for name in names if name not in known]
    told = f"; {lacking[:5]!r} are missing" * bool(lacking) + f"; {more[:5]!r} are new" * bool(more)
    return ValueError(
        f"{what} has columns {names!r}, but was fitted with {known!r}{told}: columns must have the "
        "same names in the same order"
    )


def _named_values(observation: Any) -> tuple[list[Any] | None, list[Any]]:
    """The values of one step, and their names where it is a row that has some."""
    if isinstance(observation, Mapping):
        return list(observation), list(observation.values())
    shape: tuple[int, ...] = getattr(observation, "shape", ())
    if len(shape) == 2 and shape[0] != 1:
        raise ValueError(f"update takes one step, got {shape[0]}: give each in its turn")
    names = getattr(getattr(observation, "dtype", None), "names", None)
    if len(shape) == 2 and hasattr(observation, "columns"):
        names = names_of_columns(observation)
    elif hasattr(observation, "to_numpy") and hasattr(observation, "index"):
        names = observation.index
    elif hasattr(observation, "_fields"):
        names = observation._fields
    values = observation.to_numpy() if hasattr(observation, "to_numpy") else observation
    values = values[0] if len(shape) == 2 else values
    found = as_list(values.item() if isinstance(values, np.void) else values)
    return None if names is None else list(names), [values] if found is None else found


def _refuse_single(sample: Any, name: str) -> None:
    """Raise where a sample is a single value, a lazy frame, or a pair of a name and a sequence."""
    refuse_lazy(sample, name)
    if isinstance(sample, str | bytes) or np.isscalar(sample) or sample is None:
        raise TypeError(
            f"{name} is {short_repr(sample)}: {_FORM}, even if it is a single one; {LENGTHS}"
        )
    if isinstance(sample, tuple) and len(sample) == 2 and hasattr(sample[1], "to_numpy"):
        raise TypeError(
            f"{name} is a pair of a name and a frame or column, as groupby gives: pass "
            "[group for _, group in X]"
        )


def _steps_of(sample: Any, name: str, columns: FittedColumns) -> np.ndarray:
    """One sequence as an array of shape (length, n_columns)."""
    own = names_of_columns(sample) if hasattr(sample, "columns") else None
    places = slice(None) if own is None else columns.places_in(own, name)
    values = _values_of(sample)
    if columns.categories:
        names = columns.names and (own or columns.names)
        values = _with_codes(sample, name, columns.categories, names)
    array = _numbers(values, name, own)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or (len(array) and not array.shape[1]):
        raise ValueError(f"{name} has shape {array.shape}: {_FORM}")
    return array[:, places]


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
        # Who reads it copies it.
        return array.astype(np.float64, copy=False)
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
    told = f"{name} holds {short_repr(value)} ({why})"
    if column is not None:
        raise kind(
            f"{told} in column {column!r}, but emissions are numbers: name it as categories, "
            "Columns([..., (Categorical(), [...])]) (and tell from_parameters its labels), leave "
            "it out, or turn it into numbers, with NaN where values are missing"
        )
    raise kind(
        f"{told}, but its emissions are numbers: {_FORM} with NaN where values are missing, or set "
        "emission='categorical' for symbols"
    )


def _common_names(samples: list[Any]) -> list[Any] | None:
    """Column names of frames, which must be the same in all of them."""
    named = {i: names_of_columns(x) for i, x in enumerate(samples) if hasattr(x, "columns")}
    at, first = next(iter(named.items()), (0, None))
    for i, names in named.items():
        if names != first:
            raise ValueError(
                f"X[{i}] has columns {names!r}, but X[{at}] has {first!r}: columns must have the "
                "same names in the same order"
            )
    return first
