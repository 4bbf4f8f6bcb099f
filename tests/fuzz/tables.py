"""Calls of every method that takes data with tables that are wrong, or only look otherwise.

``wrong(i)`` and ``legitimate(i)`` make draw number i from that number alone. What nobody can know
to be wrong is not among them: columns without names that are exchanged, ones and zeros for numbers,
one sequence cut into several, sequences of symbols under models that learn new ones.
"""

import copy
import inspect
import warnings
from collections import deque
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from fuzz.draws import SEED
from fuzz.table_models import MAKERS, Subject, subject
from sklearn.base import clone

try:
    import polars as pl
except ImportError:
    pl = None


class Draw(NamedTuple):
    """One call.

    Attributes
    ----------
    subject : str
    method : str
    change : str
        What was made of its sequences.
    X : object
    rows : list of int or None
        Which of the sequences are asked about, in which order; None for all as they are.
    """

    subject: str
    method: str
    change: str
    X: Any
    rows: list[int] | None = None

    def __str__(self) -> str:
        return f"{self.method} of {self.subject}, {self.change}"


# Methods

# Few draws are as good as many here.
_KEYWORDS = {"random_state": 0, "n_draws": 3, "n_bootstrap": 3, "n_steps": 2}
# `fit` stands for these.
_FITS = ("fit", "fit_predict", "fit_transform")
# Whose answers are those of each sequence alone.
_EACH = (
    *("predict", "predict_proba", "filter_proba", "score_samples", "transform", "parse"),
    *("predict_next_proba", "lower_bound_samples", "decision_function", "predict_log_proba"),
    *("tag_sources",),
)
# Whose answers are of all sequences in whatever order.
_ALL = ("score", "perplexity", "aic", "bic", "icl")


@cache
def methods(name: str) -> list[str]:
    """Every public method of a model that takes sequences, and the update of its filter."""
    model, found = subject(name).model, []
    for method in dir(model):
        if method.startswith("_") or method in _FITS or not hasattr(type(model), method):
            continue
        function = getattr(model, method, None)
        if callable(function) and "X" in inspect.signature(function).parameters:
            found.append(method)
    return [*found, "update"] if hasattr(model, "start_filter") else found


class Answer(NamedTuple):
    """What a call gives, or the error that it raises, and what it warns of, by category."""

    found: Any
    told: dict[str, type[Warning]]


def answer(name: str, method: str, X: Any) -> Answer:
    """Make a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = asked(name, method, X)
        except (AttributeError, TypeError, ValueError) as error:
            found = error
    return Answer(found, {str(one.message): one.category for one in caught})


@cache
def right_answer(name: str, method: str) -> Answer:
    """What a method answers for the sequences that its model was fitted to."""
    return answer(name, method, subject(name).X)


def _lacks(name: str, method: str) -> bool:
    """Whether a model says that it has no such method."""
    found = right_answer(name, method).found
    if type(found) is AttributeError or "does not go with" in str(found):
        return True
    # What was made of parameters has no training sequences.
    return "JSON" in name and method.endswith("_intervals")


def asked(name: str, method: str, X: Any) -> Any:
    """What a method answers."""
    here = subject(name)
    if method == "fit":
        return clone(here.model).fit(X).score_samples(here.X)
    if method == "update":
        online = here.model.start_filter()
        return [online.update(row) for row in _steps(X)]
    model = copy.deepcopy(here.model) if method == "partial_fit" else here.model
    function = getattr(model, method)
    known = inspect.signature(function).parameters
    keywords = {key: value for key, value in _KEYWORDS.items() if key in known}
    if method == "log_likelihoods":
        keywords["draws"] = _draws(name)
    if method == "score" and known["y"].default is inspect.Parameter.empty:
        keywords["y"] = ["u"] * len(X)
    if method == "predict_next" and "regression" in name:
        keywords["inputs"] = np.zeros((len(X), 2, 2))
    found = function(X, **keywords)
    return found.score_samples(here.X) if method == "partial_fit" else found


@cache
def _draws(name: str) -> Any:
    here = subject(name)
    return here.model.credible_intervals(here.X, n_draws=3, random_state=0).draws


def _steps(X: Any) -> list[Any]:
    """The steps of the first sequence, one after the other."""
    if isinstance(X, pd.DataFrame):
        return X.iloc[0].tolist()
    first = list(X)[0]
    if isinstance(first, pd.DataFrame):
        return [first.iloc[t] for t in range(len(first))]
    if pl is not None and isinstance(first, pl.DataFrame) or isinstance(first, pa.Table):
        rows = first.to_pylist() if isinstance(first, pa.Table) else first.to_dicts()
        return [pd.Series(row) for row in rows]
    return list(first)


# Wrong tables

class Change(NamedTuple):
    """A change of sequences; whether it is made to each alone, alike in all of them."""

    of: Callable[..., Any]
    is_alone: bool


_WRONG: dict[str, dict[str, Change]] = {}
_LEGITIMATE: dict[str, dict[str, Change]] = {}


def _among(where: dict[str, dict[str, Change]], *kinds: str) -> Callable[[Any], Any]:
    """Enter a change of all sequences of these kinds."""

    def enter(change: Callable[..., Any]) -> Callable[..., Any]:
        for kind in kinds:
            name = change.__name__.strip("_").replace("_", " ")
            where.setdefault(kind, {})[name] = Change(change, False)
        return change

    return enter


def _of(where: dict[str, dict[str, Change]], *kinds: str) -> Callable[[Any], Any]:
    """Enter a change of each sequence."""

    def enter(change: Callable[..., Any]) -> Callable[..., Any]:
        def of_all(X: Any, rng: np.random.Generator) -> Any:
            seed = int(rng.integers(2**31))
            return [change(one, np.random.default_rng(seed)) for one in X]

        for kind in kinds:
            name = change.__name__.strip("_").replace("_", " ")
            where.setdefault(kind, {})[name] = Change(of_all, True)
        return change

    return enter


def _column(frame: pd.DataFrame, rng: np.random.Generator, text: bool) -> Any:
    """One of the columns of numbers, or of text."""
    names = [name for name in frame.columns if (frame[name].dtype.kind not in "biuf") == text]
    return names[int(rng.integers(len(names)))]


@_of(_WRONG, "frames")
def _swapped_columns(frame, rng):
    # Contexts may be anywhere.
    numbers = [name for name in frame.columns if frame[name].dtype.kind in "biuf"] or frame.columns
    first, second = rng.permutation(numbers)[:2]
    order = {first: second, second: first}
    return frame[[order.get(name, name) for name in frame.columns]]


@_among(_WRONG, "frames")
def _columns_swapped_in_the_last_sequence(X, rng):
    return [*X[:-1], _swapped_columns(X[-1], rng)]


@_of(_WRONG, "frames")
def _a_missing_column(frame, rng):
    return frame.drop(columns=frame.columns[int(rng.integers(frame.shape[1]))])


@_of(_WRONG, "frames")
def _an_extra_column(frame, rng):
    found = frame.copy()
    found.insert(int(rng.integers(frame.shape[1] + 1)), "extra", 1.0)
    return found


@_of(_WRONG, "frames")
def _a_renamed_column(frame, rng):
    name = frame.columns[int(rng.integers(frame.shape[1]))]
    return frame.rename(columns={name: [name.upper(), "other", f" {name}"][int(rng.integers(3))]})


@_of(_WRONG, "frames")
def _numbered_columns(frame, rng):
    return frame.set_axis(range(frame.shape[1]), axis=1)


@_of(_WRONG, "frames")
def _a_column_twice(frame, rng):
    name = frame.columns[int(rng.integers(frame.shape[1]))]
    return pd.concat([frame, frame[[name]]], axis=1)


@_of(_WRONG, "frames")
def _words_for_numbers(frame, rng):
    name = _column(frame, rng, False)
    return frame.assign(**{name: np.where(frame[name] > 10, "high", "low")})


@_of(_WRONG, "frames")
def _digits_for_numbers(frame, rng):
    name = _column(frame, rng, False)
    kind = ["str", object, "string", "category"][int(rng.integers(4))]
    return frame.assign(**{name: frame[name].fillna(0).astype(int).astype(str).astype(kind)})


@_of(_WRONG, "frames")
def _dates_for_numbers(frame, rng):
    days = pd.date_range("2026-01-01", periods=len(frame))
    kinds = [days, days - days[0], days.date, days.to_period("D"), days.tz_localize("UTC")]
    name = _column(frame, rng, False)
    return frame.assign(**{name: kinds[int(rng.integers(len(kinds)))]})


@_of(_WRONG, "frames")
def _codes_for_text(frame, rng):
    name = _column(frame, rng, True)
    codes = (frame[name] == "on").astype(int)
    return frame.assign(**{name: codes.astype(["int", "float", "bool"][int(rng.integers(3))])})


@_of(_WRONG, "frames")
def _other_labels(frame, rng):
    name = _column(frame, rng, True)
    return frame.assign(**{name: frame[name].str.upper()})


@_of(_WRONG, "frames", "arrays")
def _transposed(table, rng):
    return table.T


@_among(_WRONG, "frames")
def _rows_for_sequences(X, rng):
    return [row for frame in X for row in frame.to_numpy()]


@_among(_WRONG, "frames", "arrays", "series")
def _one_sequence_bare(X, rng):
    return X[int(rng.integers(len(X)))]


@_among(_WRONG, "frames")
def _all_rows_in_one_frame(X, rng):
    return pd.concat(X, keys=range(len(X)) if rng.random() < 0.5 else None)


@_among(_WRONG, "frames")
def _groups_with_their_names(X, rng):
    return list(enumerate(X))


@_among(_WRONG, "frames", "arrays", "series", "words", "codes", "pairs")
def _nested_once_more(X, rng):
    return [X]


@_among(_WRONG, "frames", "arrays", "words", "codes")
def _a_mapping(X, rng):
    return dict(enumerate(X))


@_of(_WRONG, "frames")
def _mappings(frame, rng):
    return frame.to_dict("list")


@_of(_WRONG, "frames")
def _records(frame, rng):
    return frame.to_records(index=bool(rng.integers(2)))


@_of(_WRONG, "frames")
def _rows_of_mappings(frame, rng):
    return frame.to_dict("records")


# Arrays


@_of(_WRONG, "arrays")
def _fewer_columns(table, rng):
    return table[:, :-1]


@_of(_WRONG, "arrays")
def _more_columns(table, rng):
    return np.column_stack([table, table[:, 0]])


@_of(_WRONG, "arrays")
def _flat_sequences(table, rng):
    return table.ravel()


@_among(_WRONG, "arrays")
def _rows_as_sequences(X, rng):
    return list(np.concatenate(X))


@_among(_WRONG, "arrays")
def _one_long_table(X, rng):
    return np.concatenate(X)


@_among(_WRONG, "arrays")
def _a_cube_of_another_width(X, rng):
    return np.stack(X)[:, :, : int(rng.integers(1, 3))]


@_among(_WRONG, "arrays")
def _a_cube_the_other_way_round(X, rng):
    return np.stack(X).transpose(0, 2, 1)


@_among(_WRONG, "arrays", "series")
def _four_dimensions(X, rng):
    return np.stack(X).reshape(len(X), 1, 12, -1)


@_of(_WRONG, "arrays")
def _frames_that_are_wider(table, rng):
    return pd.DataFrame(table).assign(time=range(len(table)))


@_of(_WRONG, "arrays", "series")
def _text_for_numbers(table, rng):
    kind = ["U", "S", object][int(rng.integers(3))]
    return np.nan_to_num(table).astype(int).astype("U").astype(kind)


@_of(_WRONG, "arrays", "series")
def _dates(table, rng):
    return np.nan_to_num(table).astype("datetime64[D]" if rng.random() < 0.5 else "timedelta64[s]")


@_of(_WRONG, "arrays", "series")
def _some_text(table, rng):
    found = table.astype(object)
    found.reshape(-1)[int(rng.integers(found.size))] = ["high", "1.5", date(2026, 1, 1)][
        int(rng.integers(3))
    ]
    return found


@_of(_WRONG, "arrays", "series")
def _complex_numbers(table, rng):
    return table + 1j


@_of(_WRONG, "arrays")
def _ragged_rows(table, rng):
    return [*table.tolist()[:-1], table[-1, :-1].tolist()]


# A single column


@_of(_WRONG, "series")
def _two_columns(series, rng):
    return np.column_stack([series, series])


@_of(_WRONG, "series")
def _rows_of_one_table(series, rng):
    return series[None]


@_among(_WRONG, "series")
def _a_column_bare(X, rng):
    long = np.concatenate(X)[:, None]
    return [long, pd.DataFrame(long, columns=["a"])][int(rng.integers(2))]


@_among(_WRONG, "series")
def _numbers_of_one_sequence(X, rng):
    return [X[0].tolist(), tuple(X[0]), pd.Series(X[0])][int(rng.integers(3))]


# A table of rows


@_among(_WRONG, "rows", "wide")
def _swapped_steps(X, rng):
    return _swapped_columns(X, rng)


@_among(_WRONG, "rows", "wide")
def _a_missing_step(X, rng):
    return _a_missing_column(X, rng)


@_among(_WRONG, "rows", "wide")
def _an_extra_step(X, rng):
    return X.assign(extra=X[X.columns[0]])


@_among(_WRONG, "rows", "wide")
def _a_renamed_step(X, rng):
    return _a_renamed_column(X, rng)


@_among(_WRONG, "rows")
def _words_for_steps(X, rng):
    return _words_for_numbers(X, rng)


@_among(_WRONG, "rows")
def _digits_for_steps(X, rng):
    return _digits_for_numbers(X, rng)


@_among(_WRONG, "rows")
def _dates_for_steps(X, rng):
    return _dates_for_numbers(X, rng)


@_among(_WRONG, "rows", "wide")
def _one_row(X, rng):
    return X.iloc[0]


@_among(_WRONG, "rows", "wide")
def _the_table_transposed(X, rng):
    return X.T


@_among(_WRONG, "rows", "wide")
def _an_array_of_another_width(X, rng):
    return X.to_numpy()[:, :-1]


# Symbols


@_among(_WRONG, "words", "codes")
def _one_sequence_of_symbols(X, rng):
    return [X[0], tuple(X[0]), np.array(X[0], dtype=object)][int(rng.integers(3))]


@_among(_WRONG, "words")
def _sentences_as_text(X, rng):
    return [" ".join(map(str, row)) for row in X]


@_of(_WRONG, "words")
def _whole_sentences_as_words(row, rng):
    return [" ".join(map(str, row))]


@_of(_WRONG, "words")
def _other_words(row, rng):
    kind = int(rng.integers(5))
    changes = [str.upper, str.encode, lambda word: f"{word}.", lambda word: f" {word}", hash]
    return [None if word is None else changes[kind](word) for word in row]


@_of(_WRONG, "codes")
def _other_codes(code_row, rng):
    kind = int(rng.integers(5))
    changes = [str, lambda code: code + 1000, lambda code: code + 0.5, lambda code: f"c{code}", repr]
    return [changes[kind](code) for code in code_row]


@_of(_WRONG, "words", "codes")
def _dates_for_symbols(row, rng):
    return list(pd.date_range("2026-01-01", periods=len(row)))


@_of(_WRONG, "words", "codes")
def _sequences_of_lists(row, rng):
    return [[symbol] for symbol in row]


@_of(_WRONG, "words", "codes")
def _columns_of_symbols(row, rng):
    return np.array(row, dtype=object)[:, None]


@_of(_WRONG, "words", "codes")
def _frames_of_symbols(row, rng):
    return pd.DataFrame({"word": row, "time": range(len(row))})


@_among(_WRONG, "words", "codes")
def _a_column_of_symbols(X, rng):
    return np.array([symbol for row in X for symbol in row], dtype=object)[:, None]


# Pairs


@_of(_WRONG, "pairs")
def _sides_exchanged(pair, rng):
    return pair[::-1]


@_of(_WRONG, "pairs")
def _sides_as_text(pair, rng):
    return tuple(map(" ".join, pair))


@_of(_WRONG, "pairs")
def _triples(pair, rng):
    return (*pair, pair[0])


@_of(_WRONG, "pairs")
def _single_sentences(pair, rng):
    return pair[0]


@_of(_WRONG, "pairs")
def _pairs_of_other_words(pair, rng):
    kind = [str.upper, str.encode, lambda word: f"{word}."][int(rng.integers(3))]
    return tuple([kind(word) for word in side] for side in pair)


@_of(_WRONG, "pairs")
def _pairs_of_whole_sentences(pair, rng):
    return tuple([" ".join(side)] for side in pair)


@_among(_WRONG, "pairs")
def _one_pair(X, rng):
    return X[0]


@_among(_WRONG, "pairs")
def _two_lists(X, rng):
    return tuple(zip(*X[:3], strict=True))


# Other libraries


def _in_other_frames(X: Any, rng: np.random.Generator) -> Any:
    """Frames of polars or Arrow, which have no index and no name twice, where these are frames."""
    if not isinstance(X, list) or not all(isinstance(one, pd.DataFrame) for one in X):
        return X
    if not all(one.columns.is_unique and one.index.equals(X[0].index) for one in X):
        return X
    X = [one.rename(columns=str) for one in X]
    if pl is not None and rng.random() < 0.6:
        return [pl.from_pandas(one) for one in X]
    return [pa.Table.from_pandas(one, preserve_index=False) for one in X]


# Each step of these is right.
_RIGHT_STEPS = ("records", "rows of mappings", "numbered columns")
# What a batch may bring to a vocabulary that grows.
_NEW_SYMBOLS = (
    *("other words", "other codes", "dates for symbols", "whole sentences as words"),
    "sequences of lists",
)


def wrong(i: int) -> Draw:
    """A call with a table that cannot be meant."""
    rng = np.random.default_rng([SEED, 49, i])
    names = list(MAKERS)
    while True:
        name = names[int(rng.integers(len(names)))]
        method = methods(name)[int(rng.integers(len(methods(name))))]
        changes = _WRONG[subject(name).kind]
        change = list(changes)[int(rng.integers(len(changes)))]
        if _is_right(name, method, change) or _lacks(name, method):
            continue
        X = changes[change].of(subject(name).X, rng)
        return Draw(name, method, change, _in_other_frames(X, rng) if rng.random() < 0.3 else X)


def _is_right(name: str, method: str, change: str) -> bool:
    """Whether a change is none for this model and this method."""
    here = subject(name)
    if method == "update" and (not _WRONG[here.kind][change].is_alone or change in _RIGHT_STEPS):
        return True
    if change in ("codes for text", "other labels") and not _has_text(here):
        return True
    if change == "an extra column":
        return here.by_name
    if change == "other labels":
        return name.startswith("pooled")
    if change == "a column of symbols":
        return name.startswith(("dependencies", "grammar"))
    grows = method == "partial_fit" and here.kind in ("words", "codes", "wide")
    return grows and change in _NEW_SYMBOLS


def _has_text(here: Subject) -> bool:
    """Whether some columns of frames hold text."""
    return here.kind == "frames" and any(kind.kind not in "biuf" for kind in here.X[0].dtypes)


# Legitimate tables


@_of(_LEGITIMATE, "frames")
def _whole_numbers(frame, rng):
    kinds = ["int64", "int32", "Int64", "int16"]
    kind = kinds[int(rng.integers(4))]
    return frame.astype({n: kind for n in frame.select_dtypes("number") if frame[n].notna().all()})


@_of(_LEGITIMATE, "frames")
def _small_floats(frame, rng):
    kind = ["float32", "float16", "Float64", "Float32"][int(rng.integers(4))]
    return frame.astype({name: kind for name in frame.select_dtypes("number")})


@_of(_LEGITIMATE, "frames")
def _nullable_columns(frame, rng):
    return frame.convert_dtypes()


@_of(_LEGITIMATE, "frames")
def _columns_of_arrow(frame, rng):
    return frame.convert_dtypes(dtype_backend="pyarrow")


@_of(_LEGITIMATE, "frames")
def _objects(frame, rng):
    found = frame.astype(object)
    return found.where(found.notna(), None) if rng.random() < 0.5 else found


@_of(_LEGITIMATE, "frames")
def _other_text(frame, rng):
    kind = ["category", "string", object, "string[pyarrow]"][int(rng.integers(4))]
    return frame.astype({name: kind for name in frame.select_dtypes(exclude="number")})


@_of(_LEGITIMATE, "frames")
def _another_index(frame, rng):
    days = pd.date_range("2026-01-01", periods=len(frame))
    labels = [days, [f"row {t}" for t in range(len(frame))], range(100, 100 + len(frame))]
    return frame.set_axis(labels[int(rng.integers(3))], axis=0)


@_of(_LEGITIMATE, "frames")
def _parts_of_a_wide_frame(frame, rng):
    return pd.concat([frame.add_suffix(" before"), frame], axis=1)[list(frame.columns)]


@_of(_LEGITIMATE, "frames")
def _arrays_of_frames(frame, rng):
    return frame.to_numpy()


@_of(_LEGITIMATE, "frames")
def _lists_of_rows(frame, rng):
    rows = frame.to_numpy().tolist()
    return rows if rng.random() < 0.5 else tuple(map(tuple, rows))


@_of(_LEGITIMATE, "frames")
def _polars(frame, rng):
    return frame if pl is None else pl.from_pandas(frame)


@_of(_LEGITIMATE, "frames")
def _polars_categories(frame, rng):
    if pl is None:
        return frame
    found = pl.from_pandas(frame)
    return found.with_columns(pl.col(pl.String).cast(pl.Categorical))


@_of(_LEGITIMATE, "frames")
def _arrow_tables(frame, rng):
    return pa.Table.from_pandas(frame, preserve_index=False)


@_among(_LEGITIMATE, "frames", "arrays", "series", "words", "codes")
def _another_collection(X, rng):
    objects = np.empty(len(X), dtype=object)
    for i, one in enumerate(X):
        objects[i] = one
    return [tuple(X), objects, deque(X), pd.Series(list(objects), index=range(3, 3 + len(X)))][
        int(rng.integers(4))
    ]


@_of(_LEGITIMATE, "frames")
def _an_unused_column(frame, rng):
    values = [np.arange(len(frame)), ["city"] * len(frame), pd.date_range("2026", periods=len(frame))]
    found = frame.copy()
    found.insert(int(rng.integers(frame.shape[1] + 1)), "extra", values[int(rng.integers(3))])
    return found


@_of(_LEGITIMATE, "arrays", "series")
def _other_memory(table, rng):
    kind = int(rng.integers(4))
    if kind == 0:
        return np.asfortranarray(table)
    if kind == 1:
        return np.repeat(table, 2, axis=0)[::2]
    if kind == 2:
        return table[::-1].copy()[::-1]
    found = table.copy()
    found.flags.writeable = False
    return found


@_of(_LEGITIMATE, "arrays", "series")
def _other_numbers(table, rng):
    kinds = ["float32", "float16", ">f8", object, "longdouble"]
    if not np.isnan(table).any():
        kinds += ["int8", "int64", "uint16"]
    return table.astype(kinds[int(rng.integers(len(kinds)))])


@_of(_LEGITIMATE, "arrays", "series")
def _numbers_of_python(table, rng):
    return table.tolist()


@_of(_LEGITIMATE, "arrays", "series")
def _decimals(table, rng):
    return np.vectorize(lambda value: Decimal(str(value)), otypes=[object])(table)


@_of(_LEGITIMATE, "arrays")
def _frames_with_any_names(table, rng):
    return pd.DataFrame(table, columns=list("xyz"))


@_of(_LEGITIMATE, "arrays", "series")
def _masked(table, rng):
    return np.ma.masked_invalid(table)


@_among(_LEGITIMATE, "arrays", "series")
def _a_cube(X, rng):
    cube = np.stack(X)
    return cube if cube.ndim == 3 else cube[:, :, None]


@_of(_LEGITIMATE, "series")
def _columns_of_frames(series, rng):
    kinds = [pd.Series, lambda one: pd.DataFrame({"a": one}), pa.array, lambda one: one[:, None]]
    if pl is not None:
        kinds += [pl.Series, lambda one: pl.DataFrame({"a": one})]
    return kinds[int(rng.integers(len(kinds)))](series)


@_among(_LEGITIMATE, "series")
def _rows_of_a_table(X, rng):
    return np.stack(X)


@_among(_LEGITIMATE, "rows")
def _other_columns_of_a_table(X, rng):
    kinds = ["float32", "int64", "int8", "Int64", "Float64", object, "double[pyarrow]"]
    return X.astype(kinds[int(rng.integers(len(kinds)))])


@_among(_LEGITIMATE, "wide")
def _other_text_of_a_table(X, rng):
    kinds = [object, "string", "category", "string[pyarrow]"]
    return X.astype(kinds[int(rng.integers(len(kinds)))])


@_among(_LEGITIMATE, "rows", "wide")
def _another_index_of_a_table(X, rng):
    return X.set_axis([f"customer {i}" for i in range(len(X))], axis=0)


@_of(_LEGITIMATE, "words", "codes")
def _other_sequences(row, rng):
    objects = np.empty(len(row), dtype=object)
    objects[:] = row
    kinds = [tuple, deque, lambda own: objects, pd.Series, pa.array]
    kinds += [lambda own: pd.Series(own, dtype="category"), lambda own: pd.Series(own, dtype=object)]
    if pl is not None:
        kinds += [pl.Series]
    return kinds[int(rng.integers(len(kinds)))](row)


@_of(_LEGITIMATE, "words")
def _other_strings(row, rng):
    if None in row:
        return [[None, np.nan, pd.NA][int(rng.integers(3))] if w is None else w for w in row]
    kinds = [np.array, lambda own: pd.Series(own, dtype="string"), lambda own: list(map(np.str_, own))]
    return kinds[int(rng.integers(3))](row)


@_of(_LEGITIMATE, "codes")
def _other_integers(row, rng):
    kinds = ["int8", "uint16", "int64", "float64", "float32", "Int64", "Float64"]
    kind = kinds[int(rng.integers(len(kinds)))]
    if kind[0] in "IF":
        return pd.Series(row, dtype=kind)
    found = np.array(row, dtype=kind)
    return list(found) if rng.random() < 0.3 else found


@_among(_LEGITIMATE, "words", "codes")
def _a_table_of_symbols(X, rng):
    table = np.array(X, dtype=object)
    return pd.DataFrame(table) if rng.random() < 0.5 else table


@_among(_LEGITIMATE, "words", "codes")
def _a_column_of_lists(X, rng):
    kinds = [pd.Series, lambda own: pd.DataFrame({"words": own}), pa.array]
    kinds += [lambda own: pa.table({"words": own})]
    if pl is not None:
        kinds += [pl.Series, lambda own: pl.DataFrame({"words": own})]
    return kinds[int(rng.integers(len(kinds)))](X)


@_of(_LEGITIMATE, "pairs")
def _other_pairs(pair, rng):
    kinds = [list, lambda own: tuple(map(tuple, own)), lambda own: tuple(map(np.array, own))]
    return kinds[int(rng.integers(3))](pair)


@_among(_LEGITIMATE, "pairs")
def _a_frame_of_pairs(X, rng):
    kinds = [lambda own: pd.DataFrame(own, columns=["source", "target"]), tuple]
    return kinds[int(rng.integers(2))](X)


@_among(_LEGITIMATE, *_WRONG)
def _as_it_is(X, rng):
    return X


# Forms without names, which columns of text are fitted by.
_NO_NAMES = ("arrays of frames", "lists of rows")


def legitimate(i: int) -> Draw:
    """A call with the same values in another form, in another order, or some of them."""
    rng = np.random.default_rng([SEED, 50, i])
    names = list(MAKERS)
    while True:
        name = names[int(rng.integers(len(names)))]
        here = subject(name)
        own = [*methods(name), *["fit"] * (here.fits and hasattr(here.model, "score_samples"))]
        method = own[int(rng.integers(len(own)))]
        changes = _LEGITIMATE[here.kind]
        change = list(changes)[int(rng.integers(len(changes)))]
        if _is_other(name, method, change) or _lacks(name, method):
            continue
        X, rows = here.X, None
        if method in (*_EACH, *_ALL) and rng.random() < 0.4:
            rows = rng.permutation(len(X))
            rows = rows[: int(rng.integers(1, len(X) + 1))] if method in _EACH else rows
            rows = rows.tolist()
            X = X.iloc[rows] if isinstance(X, pd.DataFrame) else [X[row] for row in rows]
        return Draw(name, method, change, changes[change].of(X, rng), rows)


def _is_other(name: str, method: str, change: str) -> bool:
    """Whether a change makes another call for this model and this method."""
    here = subject(name)
    if method == "update" and not _LEGITIMATE[here.kind][change].is_alone:
        return True
    if change == "an unused column":
        return not here.by_name
    if change == "a table of symbols":
        # Of tables these are charts.
        return name.startswith("grammar") and method == "predict"
    return change in _NO_NAMES and method == "fit" and (here.by_name or _has_text(here))
