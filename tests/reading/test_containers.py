"""What sequences may come in, and what is no sequence: by methods, not by libraries."""

import re
import sys
import warnings
from collections import deque

import fresh
import numpy as np
import pandas as pd
import pytest

import sklearn_cvb
from sklearn_cvb import EMHMM, EMPCFG, VBHMM, VBPCFG, CVBHMMTagger, EMHMMTagger, Symbols
from sklearn_cvb.reading.corpus import as_list, is_table, samples_of, tokens_of
from sklearn_cvb.scale.places import is_dask

X = [["a", "b", "a"], ["b"], ["a", "a"]]
Y = [["X", "Y", "X"], ["Y"], ["X", "X"]]
GRAMMAR = "S -> S S | 'a' | 'b'"


def quick(kind, **keywords):
    return kind(**{"max_iter": 3, "random_state": 0} | keywords)


class Lies:
    """A sequence whose len is not the number of its items."""

    def __init__(self, items, length):
        self.items, self.length = items, length

    def __len__(self):
        return self.length

    def __iter__(self):
        return iter(self.items)


class ArrowLike:
    """A column as pyarrow has it: an array without a shape, whose items are no plain values."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return (object() for _ in self.values)

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("a column of lists is no array")

    def to_pylist(self):
        return self.values


class PolarsLike:
    """A column as polars has it: one dimension, and a type of its own."""

    dtype = "List(String)"

    def __init__(self, values):
        self.values, self.shape = values, (len(values),)

    __len__, __iter__, __array__ = ArrowLike.__len__, ArrowLike.__iter__, ArrowLike.__array__
    to_list = ArrowLike.to_pylist


class AwkwardLike:
    """Lists of several lengths as awkward has them: two dimensions, no shape."""

    ndim = 2

    def __init__(self, values):
        self.values = values

    __len__, __iter__, __array__ = ArrowLike.__len__, ArrowLike.__iter__, ArrowLike.__array__
    tolist = ArrowLike.to_pylist


class FrameLike:
    """A frame with one column of lists, as pyarrow and polars have it."""

    def __init__(self, values):
        self.columns, self.shape = ["event"], (len(values), 1)
        self.values = values

    def __getitem__(self, name):
        assert name == "event"
        return PolarsLike(self.values)


FORMS = {
    "arrow": ArrowLike,
    "polars": PolarsLike,
    "awkward": AwkwardLike,
    "frame": FrameLike,
    "pandas frame": lambda values: pd.DataFrame({"event": values}),
    "columns of arrow": lambda values: list(map(ArrowLike, values)),
    "columns of polars": lambda values: list(map(PolarsLike, values)),
    "categories": lambda values: [pd.Series(row, dtype="category") for row in values],
    "queues": lambda values: list(map(deque, values)),
}


@pytest.mark.parametrize("form", FORMS)
def test_columns_of_lists_are_sequences(form):
    reference = quick(EMHMMTagger).fit(X, Y)
    wrapped, tags = FORMS[form](X), FORMS[form](Y)
    model = quick(EMHMMTagger).fit(wrapped, tags)
    assert model.vocabulary_.tolist() == ["a", "b"]
    assert model.classes_.tolist() == ["X", "Y"]
    assert np.array_equal(model.history_, reference.history_)
    assert model.score(wrapped, tags) == reference.score(X, Y)
    assert [row.tolist() for row in model.predict(wrapped)] == Y


def test_tables_are_told_from_collections():
    assert is_table(np.ones((2, 2)))
    assert is_table(pd.DataFrame({"a": [1]}))
    assert is_table(np.arange(3))
    assert not is_table([[1, 2], [3, 4]])
    assert not is_table(pd.Series([["a"], ["b"]]))
    assert not is_table(pd.DataFrame({"a": [["b"], ["c"]]}))
    assert is_table(pd.DataFrame({"a": ["b", "c"]}))
    ragged = np.empty(2, dtype=object)
    ragged[:] = [["a"], ["b", "c"]]
    assert not is_table(ragged)


# What is no sequence: before, lengths came from len and tokens from iterating, and a frame, whose
# columns are fewer than its rows, took the process down.

NO_SEQUENCES = {
    "frame": pd.DataFrame({"event": list("abab")}),
    "square frame": pd.DataFrame([["a", "b"], ["b", "a"]], columns=["a", "b"]),
    "dict": {"a": 1, "b": 2},
    "set": {"a", "b"},
    "text": "ab",
    "bytes": b"ab",
    "bytearray": bytearray(b"ab"),
    "0-d array": np.array("a"),
    "number": 3,
    "iterator": None,
    "table": np.array([["a", "b"]]),
}


def _calls(model, X, y):
    """Everything that takes X, as functions."""
    names = ("predict_proba", "score_samples", "filter_proba", "predict_next_proba", "transform")
    names += ("perplexity", "sample_paths", "parse", "score", "predict", "lower_bound_samples")
    names += ("tag_sources",)
    yield lambda: model.fit(X)
    yield lambda: model.fit_predict(X)
    for name in names:
        if hasattr(model, name):
            yield lambda name=name: getattr(model, name)(X)
    if hasattr(model, "classes_"):
        yield lambda: model.score(X, y)


@pytest.mark.many(usual=11)
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMMTagger, VBPCFG])
@pytest.mark.parametrize("case", NO_SEQUENCES)
def test_samples_that_are_no_sequences(kind, case):
    sample = iter("ab") if case == "iterator" else NO_SEQUENCES[case]
    # In numbers that once met those of the columns, and others.
    for wrong in ([sample] * 4, [["a"], sample]):
        model = quick(kind).fit(X)
        for call in _calls(model, wrong, [["X"]] * len(wrong)):
            with pytest.raises((TypeError, ValueError), match=r"^X\[[01]\] (is|has) "):
                call()
    if case.endswith("frame"):
        with pytest.raises(TypeError, match=re.escape('such as frame["event"]')):
            model.fit(wrong)


@pytest.mark.parametrize("case", sorted({*NO_SEQUENCES} - {"table"}))
def test_tags_that_are_no_sequences(case):
    tags = iter("ab") if case == "iterator" else NO_SEQUENCES[case]
    model = quick(EMHMMTagger).fit(X, Y)
    for call in (model.fit, model.score):
        with pytest.raises(TypeError, match=r"^y\[0\] is the single value"):
            call([["a", "b"]] * 2, [tags] * 2)
    with pytest.raises(TypeError, match=r"^y\[0\] is "):
        quick(EMPCFG, grammar=GRAMMAR).fit([["a", "b"]] * 2, [tags] * 2)


@pytest.mark.parametrize("length", [0, 1, 2, 50])
def test_lengths_come_from_what_was_read(length):
    model = quick(EMHMMTagger).fit(X, Y)
    lies = [Lies(row, length) for row in X]
    assert [row.tolist() for row in model.predict(lies)] == Y
    again = quick(EMHMMTagger).fit(lies, [Lies(row, length) for row in Y])
    assert np.array_equal(again.history_, model.history_)


@pytest.mark.parametrize("y", [3, "abc", b"abc", {"a": 1}, {1, 2}, np.array(3), (t for t in Y)])
def test_y_that_is_no_collection(y):
    model = quick(EMHMMTagger).fit(X, Y)
    for call in (
        lambda: quick(EMHMMTagger).fit(X, y),
        lambda: model.score(X, y),
        lambda: quick(EMPCFG, grammar=GRAMMAR).fit(X, y),
    ):
        with pytest.raises(TypeError, match=r"^y is .* of type .*: y holds one "):
            call()


def test_X_without_order():
    for wrong in ({"first": ["a"]}, {("a", "b")}, frozenset([("a",)])):
        with pytest.raises(TypeError, match=r"X is .*: pass a list of sequences"):
            quick(EMHMM).fit(wrong)


def test_masked_values_are_missing():
    masked = [np.ma.array([1, 2, 1], mask=[0, 1, 0]), np.ma.array([2, 1], mask=[0, 0])]
    reference = quick(VBHMM).fit([[1, None, 1], [2, 1]])
    assert np.array_equal(quick(VBHMM).fit(masked).history_, reference.history_)


def test_lists_of_odd_kinds():
    assert as_list(range(3)) == [0, 1, 2]
    assert as_list(np.array(["a", "b"])) == ["a", "b"]
    assert as_list(pd.DataFrame({"a": [1]})) is None
    assert as_list(np.array(3)) is None
    assert tokens_of(deque("ab"), "X[0]") == ["a", "b"]
    assert samples_of(iter(X)) == X
    assert samples_of(pd.DataFrame({"event": X})) == X


# hmmlearn's habits.

COLUMN = np.array([0, 1, 0, 1, 1, 0, 1, 0, 0, 1])[:, None]
ESTIMATORS = [getattr(sklearn_cvb, name) for name in ("EMHMM", "CVBHMMTagger", "VBPCFG")]


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_lengths_as_y(kind):
    model = quick(kind).fit([[0, 1], [1, 0, 1]])
    message = r"y holds \[4, 6\], the lengths of sequences: cut X into .*split_by_lengths"
    for lengths in ([4, 6], np.array([4, 6]), pd.Series([4, 6])):
        for data in (COLUMN, COLUMN.tolist(), [COLUMN[:, 0]], COLUMN.T):
            with pytest.raises(ValueError, match=message):
                quick(kind).fit(data, lengths)
        for data in (COLUMN.tolist(), [COLUMN[:, 0]]):
            with pytest.raises(ValueError, match=message):
                model.score(data, lengths)


def test_y_that_is_no_lengths():
    """Class labels, and what sums to something else, are ignored by models as ever."""
    reference = quick(EMHMM).fit(COLUMN)
    for y in (np.ones(10, int), [4, 5], [4.0, 6.0], [True] * 10, ["a", "b"], None):
        assert np.array_equal(quick(EMHMM).fit(COLUMN, y).history_, reference.history_)
    quick(EMHMM).fit([[0, 1, 0], [1, 1]], [3, 2])


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_lengths_as_a_keyword(kind):
    model = quick(kind).fit([[0, 1], [1, 0, 1]])
    names = ("fit", "score") if kind is sklearn_cvb.VBPCFG else ("fit", "score", "predict")
    for name in names:
        message = rf"{name}\(\) takes no argument 'lengths': cut X into .*split_by_lengths"
        with pytest.raises(TypeError, match=message):
            getattr(model, name)(COLUMN, lengths=[4, 6])


def test_lengths_as_decoding():
    message = r"got \[4, 6\] \(for sequences of several lengths cut X into .*split_by_lengths"
    with pytest.raises(ValueError, match=message):
        quick(EMHMM).fit([[0, 1]]).predict(COLUMN, [4, 6])


def test_one_long_array():
    with pytest.raises(ValueError, match=r"Expected 2D array.*pass \[X\] .*split_by_lengths"):
        quick(EMHMM).fit(COLUMN[:, 0])


def test_measurements_are_no_symbols():
    rng = np.random.default_rng(0)
    measured = rng.normal(size=(5, 8))
    minutes = np.arange(40).reshape(5, 8)
    others = [minutes, minutes.astype(float), np.datetime64("2026-01-01", "m") + minutes]
    for table in (measured, *others, *map(list, others), *(one.tolist() for one in others)):
        with pytest.warns(UserWarning, match="nearly all numbers or times in X differ") as caught:
            quick(EMHMM).fit(table)
        assert caught[0].filename == __file__
    model = quick(EMHMM).fit(measured)
    symbols = [measured.round(0), minutes % 30, minutes.astype(str), measured[:2], measured > 0]
    for table in symbols:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            quick(EMHMM, tol=0).fit(table)
            quick(EMHMM, tol=0).fit(table.tolist())
    model.predict(measured)
    quick(EMHMM, emission=Symbols(vocabulary=np.unique(measured))).fit(measured)


@pytest.mark.parametrize("library", ["polars", "pyarrow", "awkward"])
def test_columns_of_the_libraries_themselves(library):
    module = pytest.importorskip(library)
    column = {"polars": "Series", "pyarrow": "array", "awkward": "Array"}[library]
    wrapped = getattr(module, column)(X)
    assert [row.tolist() for row in quick(EMHMMTagger).fit(wrapped, Y).predict(wrapped)] == Y


@pytest.mark.long
def test_partitions_of_dask_are_known_without_dask():
    def of(module):
        return type("Bag", (), {"__module__": module})()

    for module in ("dask.bag.core", "dask.delayed", "dask_expr._collection", "distributed.client"):
        assert is_dask(of(module))
        assert is_dask([of(module)] * 2)
        assert not is_dask([of(module), ["a"]])
    # Arrays of Dask are arrays: they come here where they are asked for.
    for other in (of("dask.array.core"), of("daskling"), of("numpy"), X, [], "dask", None):
        assert not is_dask(other)
    script = "import sys, sklearn_cvb; sklearn_cvb.EMHMM(2, max_iter=1).fit([['a', 'b']]); "
    script += "assert not {'dask', 'distributed'} & set(sys.modules)"
    done = fresh.run(script)
    assert done.returncode == 0, done.stderr


# What messages tell to pass, in the container at hand


class ArrayLike:
    """What has rows and columns, and can be read as an array: no frame, no methods of one."""

    def __init__(self, table):
        self._table = np.asarray(table)
        self.shape, self.dtype = self._table.shape, self._table.dtype

    def __len__(self):
        return len(self._table)

    def __array__(self, dtype=None, copy=None):
        return np.array(self._table, dtype=dtype)


def _polars_frame(table):
    polars = pytest.importorskip("polars")
    return polars.DataFrame({f"c{i}": list(column) for i, column in enumerate(np.transpose(table))})


TABLES = {
    "array": np.asarray,
    "pandas": lambda table: pd.DataFrame(table).add_prefix("c"),
    "polars": _polars_frame,
    "array-like": ArrayLike,
}


def followed(message, X):
    """What the code between "pass " and the closing bracket gives."""
    found = re.search(
        r"(?:pass|is) (\[X\]|\[[a-z]+\.\w+\(X\)\]|\[X\.ravel\(\)\]|list\(.*?\)+)", message
    )
    return eval(found[1], {"X": X, "numpy": np, "pandas": pd, "polars": sys.modules.get("polars")})


def said_of(fit, X):
    """The first warning, or the error."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            fit(X)
        except ValueError as error:
            return str(error)
    return str(seen[0].message)


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("n_columns", [1, 2])
@pytest.mark.parametrize("container", TABLES)
def test_a_series_that_begins_with_a_missing_step_is_told_to_be_put_in_a_list(container, n_columns):
    table = np.random.default_rng(0).normal(size=(12, n_columns))
    table[0] = np.nan
    X, model = TABLES[container](table), EMHMM(1, emission="gaussian")
    message = said_of(model.fit, X)
    assert message.startswith("sequence 0 is empty")
    model.fit(followed(message, X))
    np.testing.assert_allclose(model.means_[0], np.nanmean(table, axis=0))
    # A model of such rows is asked in the same words.
    rows = EMHMM(1, emission="gaussian").fit(table[1:])
    assert "pass [X]" in said_of(rows.predict, X)


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("emission", ["categorical", "gaussian"])
@pytest.mark.parametrize("container", TABLES)
def test_a_column_is_told_how_to_be_one_series(container, emission):
    X = TABLES[container](np.array([[0.0], [1.0], [1.0], [0.0], [2.0]]))
    model = EMHMM(2, emission=emission, random_state=0, max_iter=2)
    message = said_of(model.fit, X)
    assert "single step" in message
    assert len(model.fit(followed(message, X)).predict(followed(message, X))[0]) == 5


@pytest.mark.parametrize("container", ["array", "pandas", "polars"])
def test_single_steps_are_told_how_to_be_one_series(container):
    X = [TABLES[container]([[step, step**2]]) for step in (0.0, 1.0, 3.0, 2.0)]
    model = EMHMM(1, emission="gaussian")
    message = said_of(model.fit, X)
    model.fit(followed(message, X))
    np.testing.assert_allclose(model.means_, [[1.5, 3.5]])
    assert hasattr(model, "feature_names_in_") == (container != "array")


@pytest.mark.parametrize("container", TABLES)
def test_rows_that_are_sequences_are_told_how_to_say_so(container):
    X = TABLES[container](np.random.default_rng(0).normal(size=(6, 2)))
    message = said_of(EMHMM(1, emission="gaussian").fit, X)
    assert "is read as a sequence of 2 numbers" in message
    rows = followed(message.partition("to say that rows")[2], X)
    assert said_of_nothing(EMHMM(1, emission="gaussian").fit, rows)


def said_of_nothing(fit, X):
    """Whether nothing is said."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        fit(X)
    return True


@pytest.mark.parametrize("container", TABLES)
def test_a_missing_symbol_in_a_column_is_told_how_to_be_one_series(container):
    X = TABLES[container](np.array([[np.nan], [1.0], [0.0], [1.0]]))
    message = said_of(EMHMM(1).fit, X)
    assert message.startswith("sequence 0 is empty")
    assert EMHMM(1).fit(followed(message, X)).vocabulary_.tolist() == [0, 1]
