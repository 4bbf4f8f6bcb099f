"""Long frames are cut by a column, and predictions go back to their rows."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sklearn_cvb import EMHMM, CVBHMMTagger, split_by, split_by_lengths, split_panel

# Times that both devices share, in an order of neither.
LOG = pd.DataFrame(
    {
        "device": ["b", "a", "b", "a", "b"],
        "time": pd.to_datetime(["2026-01-01"] * 2 + ["2026-01-02"] * 2 + ["2026-01-03"]),
        "temp": [1.0, 9.0, 1.5, np.nan, 8.5],
        "vib": [10, 20, 30, 40, 50],
        "event": ["on", "off", "on", None, "off"],
    },
    index=[7, 7, 8, 8, 9],
)
LIBRARIES = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame.reset_index(drop=True)),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.fixture(params=LIBRARIES)
def log(request):
    return LIBRARIES[request.param](LOG)


def names_of(frame):
    return list(getattr(frame, "column_names", frame.columns))


def test_sequences_have_names_and_come_in_order_of_appearance(log):
    X = split_by(log, by="device", columns=["temp", "vib"])
    assert X.names == ["b", "a"]
    assert [rows.tolist() for rows in X.rows] == [[0, 2, 4], [1, 3]]
    assert all(type(one) is type(log) for one in X)
    assert [names_of(one) for one in X] == [["temp", "vib"]] * 2
    assert [list(one["vib"].to_numpy()) for one in X] == [[10, 30, 50], [20, 40]]
    assert EMHMM(1, emission="gaussian").fit(X).feature_names_in_.tolist() == ["temp", "vib"]


def test_rows_of_pandas_keep_their_index():
    first, second = split_by(LOG, by="device", columns=["temp"])
    assert first.index.tolist() == [7, 8, 9]
    assert second.index.tolist() == [7, 8]
    assert split_by(LOG, by="device", columns="event")[1].index.tolist() == [7, 8]


def test_one_column_is_of_symbols(log):
    X = split_by(log, by="device", columns="event")
    model = EMHMM(1).fit(X)
    assert model.vocabulary_.tolist() == ["off", "on"]
    assert [len(states) for states in model.predict(X)] == [3, 2]


def test_all_other_columns_are_taken_where_none_is_named(log):
    X = split_by(log, by="device", time="time")
    assert [names_of(one) for one in X] == [["temp", "vib", "event"]] * 2


def test_predictions_go_back_to_the_rows(log):
    X = split_by(log, by="device", columns=["vib"])
    assert X.to_rows([["x", "y", "z"], ["u", "v"]]).tolist() == ["x", "u", "y", "v", "z"]
    model = EMHMM(2, emission="gaussian", random_state=0).fit(X)
    states, proba = X.to_rows(model.predict(X)), X.to_rows(model.predict_proba(X))
    assert states.shape == (5,)
    assert proba.shape == (5, 2)
    for rows, own in zip(X.rows, model.predict_proba(X), strict=True):
        assert np.array_equal(proba[rows], own)
    for rows, own in zip(X.rows, model.predict(X), strict=True):
        assert np.array_equal(states[rows], own)
    tags = {"on": ["A"], "off": ["B"]}
    events = split_by(log, by="device", columns="event")
    tagger = CVBHMMTagger(tags, max_iter=2, random_state=0).fit(events)
    assert events.to_rows(tagger.predict(events)).tolist()[:3] == ["A", "B", "A"]


def test_values_that_are_not_of_these_steps():
    X = split_by(LOG, by="device", columns="event")
    for wrong in ([[1, 2, 3]], [[1, 2], [3, 4, 5]], [[1, 2, 3], [4]], [1.0, 2.0]):
        with pytest.raises(ValueError, match="values must be one array for each of the 2 sequen"):
            X.to_rows(wrong)


def test_rows_are_sorted_by_time(log):
    shuffled = LIBRARIES["pandas"](LOG).iloc[[4, 3, 2, 1, 0]]
    X = split_by(shuffled, by="device", columns="vib", time="time")
    assert [one.tolist() for one in X] == [[10, 30, 50], [20, 40]]
    assert X.to_rows(X).tolist() == [50, 40, 30, 20, 10]
    unsorted = split_by(shuffled, by="device", columns="vib")
    assert [one.tolist() for one in unsorted] == [[50, 30, 10], [40, 20]]


def test_several_columns_tell_sequences_apart(log):
    X = split_by(log, by=["device", "vib"], columns=["temp"])
    assert X.names == [("b", 10), ("a", 20), ("b", 30), ("a", 40), ("b", 50)]


def test_columns_may_be_numbered_and_what_was_cut_can_be_pickled():
    X = split_by(pd.DataFrame([[1, 5], [0, 6], [1, 7]]), by=0, columns=[1])
    assert X.names == [1, 0]
    again = pickle.loads(pickle.dumps(X))
    assert again.names == X.names
    assert again.to_rows([[5, 7], [6]]).tolist() == [5, 6, 7]
    assert [one[1].tolist() for one in again] == [[5, 7], [6]]
    # Such names are no places.
    frame = pd.DataFrame({2: [10, 11], 0: [1, 1], 1: [5, 6]})
    assert [one.columns.tolist() for one in split_by(frame, by=0)] == [[2, 1]]
    assert split_by(frame, by=0, columns=[2])[0][2].tolist() == [10, 11]


def test_what_cannot_be_cut():
    for by, columns in (("pump", ["temp"]), ("device", ["heat"]), ("device", "heat")):
        with pytest.raises(ValueError, match=r"frame has columns .*, and none is '(pump|heat)'"):
            split_by(LOG, by=by, columns=columns)
    with pytest.raises(ValueError, match=r"none is 'device' \(an index is none: frame.reset_inde"):
        split_by(LOG.set_index("device"), by="device", columns=["temp"])
    with pytest.raises(ValueError, match=r"'event' has no value in 1 rows \(first in row 3\)"):
        split_by(LOG, by="event", columns=["temp"])
    with pytest.raises(TypeError, match=r"frame is a LazyFrame: pass frame.collect\(\)"):
        split_by(pl.from_pandas(LOG).lazy(), by="device", columns=["temp"])
    for wrong in ([[1, 2]], np.ones((2, 2)), {"device": [1]}, None):
        with pytest.raises(
            TypeError, match=r"frame is .*: pass a frame of pandas, polars or pyarr"
        ):
            split_by(wrong, by="device", columns=["temp"])


def test_panels_know_their_rows_too():
    panel = LOG.set_index(["device", "time"])[["vib"]]
    X = split_panel(panel)
    assert X.names == ["b", "a"]
    assert X.to_rows([own["vib"] for own in X]).tolist() == [10, 20, 30, 40, 50]


def test_nothing_to_cut_by_and_times_that_are_no_numbers_are_refused():
    frame = pl.DataFrame({"k": [1, 1], "t": [2.0, float("nan")], "*": ["a", "b"]})
    with pytest.raises(ValueError, match="by names no column"):
        split_by(frame, by=[])
    for columns in ([], None):
        with pytest.raises(ValueError, match=r"no column is left .* beside \['k', 't'\]"):
            split_by(frame[["k", "t"]], by=["k", "t"], columns=columns)
    with pytest.raises(ValueError, match="column 't' has no value in 1 rows"):
        split_by(frame, by="k", time="t")
    assert split_by(frame, by="k", columns=["*"])[0].columns == ["*"]


def test_what_was_cut_cannot_lose_its_rows():
    X = split_by(LOG, by="device", columns="vib")
    for change in ("reverse", "sort", "append", "pop", "__setitem__", "__delitem__"):
        assert not hasattr(X, change)
    for part in (X[::-1], X[:1], sorted(X, key=len), list(reversed(X)), X + X):
        assert not hasattr(part, "to_rows")
    assert X.to_rows(X).tolist() == LOG["vib"].tolist()


def test_no_rows_make_no_sequences(log):
    X = split_by(log[:0], by="device", columns=["vib"])
    assert X.names == list(X) == []
    assert X.to_rows([]).shape == (0,)


NANOSECONDS = np.array([3, 1, 3, 2], "M8[ns]")


@pytest.mark.parametrize("library", LIBRARIES)
def test_times_are_told_apart_to_the_nanosecond(library):
    frame = LIBRARIES[library](pd.DataFrame({"time": NANOSECONDS, "n": range(4), "one": 1}))
    X = split_by(frame, by="time", columns="n")
    assert [pd.Timestamp(name).value for name in X.names] == [3, 1, 2]
    assert [rows.tolist() for rows in X.rows] == [[0, 2], [1], [3]]
    (sequence,) = split_by(frame, by="one", columns="n", time="time")
    assert np.asarray(sequence).tolist() == [1, 3, 0, 2]


@pytest.mark.parametrize("library", LIBRARIES)
def test_categories_that_have_an_order_are_sorted_by_it(library):
    waves, order = ["before", "after", "later", "before"], ["before", "after", "later"]
    column = pd.Series(waves, dtype=pd.CategoricalDtype(order, ordered=True))
    frame = LIBRARIES[library](pd.DataFrame({"id": 1, "wave": column, "n": range(4)}))
    if library == "polars":
        frame = frame.with_columns(wave=pl.Series(waves, dtype=pl.Enum(order)))
    (sequence,) = split_by(frame, by="id", columns="n", time="wave")
    assert np.asarray(sequence).tolist() == [0, 3, 1, 2]


def test_columns_are_named_once_and_values_are_no_names():
    twice = pd.DataFrame([[1, 2, 3]], columns=["a", "b", "b"])
    with pytest.raises(
        ValueError, match=r"frame has two columns of the same name: \['a', 'b', 'b'\]"
    ):
        split_by(twice, by="a")
    for by in (LOG["device"], LOG["device"].to_numpy(), pl.Series([1, 2])):
        with pytest.raises(TypeError, match=r"by is .*: it names a column.* frame.assign\(by="):
            split_by(LOG, by=by)
    (first, _) = split_by(LOG, by="device", columns=LOG.columns[2:4])
    assert names_of(first) == ["temp", "vib"]


def test_lazy_frames_are_told_to_be_collected():
    lazy = pl.from_pandas(LOG).lazy()
    with pytest.raises(TypeError, match=r"X is a LazyFrame: pass X.collect\(\)"):
        split_by_lengths(lazy, [5])
    with pytest.raises(TypeError, match=r"panel is a LazyFrame: pass panel.collect\(\)"):
        split_panel(lazy)


def test_lengths_cut_what_is_there():
    masked, _ = split_by_lengths(np.ma.array([1, 2, 3], mask=[False, True, False]), [2, 1])
    assert masked.tolist() == [1, None]
    mixed = split_by_lengths(["a", 1, None, np.nan, "b"], [2, 3])
    assert [part.tolist()[:2] for part in mixed] == [["a", 1], [None, mixed[1][1]]]
    assert split_by_lengths(["a", 1], [2])[0].tolist() == ["a", 1]
    assert split_by_lengths([], []) == split_by_lengths(np.empty((0, 2)), []) == []
    many = split_by_lengths(np.arange(400), [np.uint8(200), np.uint8(200)])
    assert [part[0] for part in many] == [0, 200]


def test_lengths_keep_names(log):
    parts = split_by_lengths(log, [2, 3])
    assert [names_of(part) for part in parts] == [names_of(log)] * 2
    column = log.select(["vib"]) if hasattr(log, "select") else log[["vib"]]
    for X in (column, log["vib"]):
        parts = split_by_lengths(X, [2, 3])
        assert [np.asarray(part).tolist() for part in parts] == [[10, 20], [30, 40, 50]]
        assert all(type(part) is type(log["vib"]) for part in parts)
        assert EMHMM(1, max_iter=1, tol=0).fit(parts).vocabulary_.tolist() == [10, 20, 30, 40, 50]


def test_times_by_which_steps_are_sorted_are_their_index():
    """So a hole in them is told, and forecasts go on from them."""
    times = pd.date_range("2026-01-01", periods=30, freq="min").delete(range(10, 25))
    frame = pd.DataFrame({"device": "pump", "at": times[::-1], "temp": np.arange(15.0)})
    (sequence,) = X = split_by(frame, by="device", columns=["temp"], time="at")
    assert sequence.index.equals(times)
    assert sequence["temp"].tolist() == list(range(14, -1, -1))
    with pytest.warns(UserWarning, match="a hole of 0:16:00"):
        model = EMHMM(1, emission="gaussian").fit(X)
    (ahead,) = model.predict_next(X, 2, n_draws=10, random_state=0).times
    assert [str(time) for time in ahead] == ["2026-01-01 00:30:00", "2026-01-01 00:31:00"]
