"""Logs, whose rows are events, are no tables of sequences: refused or asked about, with a cure.

What may look like one, and is none, is in test_ordinary_tables.py.
"""

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sklearn_cvb import EMDMV, EMHMM, EMPCFG, CVBAlignmentHMM, CVBHMMTagger, HMMClassifier, split_by

SENTENCES = [["the", "dog", "barks"], ["a", "dog"], ["the", "cat", "sleeps"], ["a", "cat"]]
LONG = pd.DataFrame(
    [(i, word) for i, sentence in enumerate(SENTENCES) for word in sentence],
    columns=["sentence", "word"],
)
RNG = np.random.default_rng(0)
CLICKS = pd.DataFrame(
    {
        "time": pd.date_range("2026-01-01", periods=60, freq="s"),
        "user": RNG.choice(["ann", "bob", "eve"], 60),
        "page": RNG.choice(["home", "cart", "pay"], 60),
        "seconds": RNG.exponential(20, 60),
    }
)
FORMS = {
    "pandas": lambda frame: frame,
    "categories": lambda frame: frame.astype({frame.columns[1]: "category"}),
    "polars": pl.from_pandas,
    "pyarrow": pa.Table.from_pandas,
    "array": lambda frame: frame.to_numpy(dtype=object),
}
MODELS = {
    "chain": EMHMM(2),
    "tagger": CVBHMMTagger({"dog": ["N"]}),
    "grammar": EMPCFG(grammar="S -> S S | 'dog'"),
    "dependencies": EMDMV(),
    "links": CVBAlignmentHMM(),
    "numbers": EMHMM(2, emission="gaussian"),
}


@pytest.mark.parametrize("name", MODELS)
def test_no_model_takes_events(name):
    what = "numbers" if name == "numbers" else "symbols"
    one, columns = "", "by='sentence', columns='word'"
    if name == "numbers":
        one = r", or pass \[X\] of columns \['sentence'\] if all rows are one sequence"
        columns = r"by='word', columns=\['sentence'\]"
    message = (
        r"X has columns of several kinds \('sentence' of numbers, 'word' of text\): its rows are "
        rf"events, not sequences of {what}. Cut them into sequences, as sklearn_cvb.split_by\(X, "
        rf"{columns}\){one}; if its rows are sequences, leave out"
    )
    with pytest.raises(TypeError, match=message):
        MODELS[name].fit(LONG)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("columns", "cure"),
    [
        (["user", "page", "time"], ("user", "page")),
        (["time", "page"], ("page", ["time"])),
        (["seconds", "user", "page"], ("user", "page")),
        (["user", "seconds"], ("user", ["seconds"])),
    ],
)
def test_the_cure_names_columns(form, columns, cure):
    X = FORMS[form](CLICKS[columns])
    frame, (by, what) = "X", cure
    if form == "array":
        frame, by = "pandas.DataFrame(X)", columns.index(by)
        what = [columns.index(own) for own in what] if cure[1] != "page" else columns.index(what)
    time = ""
    if "time" in columns and cure[1] != ["time"]:
        time = f", time={columns.index('time') if form == 'array' else 'time'!r}"
    expected = re.escape(f"as sklearn_cvb.split_by({frame}, by={by!r}, columns={what!r}{time})")
    with pytest.raises(TypeError, match=expected):
        EMHMM(2).fit(X)


@pytest.mark.parametrize("parsed", [True, False])
def test_measured_numbers_do_not_tell_devices_apart(parsed):
    """Whether times have been read as times, or are text."""
    sensors = CLICKS.rename(columns={"user": "device"}).assign(temp=RNG.normal(size=60).round())
    sensors = sensors.drop(columns="page").astype({} if parsed else {"time": str})
    time = ", time='time'" * parsed
    with pytest.raises(TypeError) as raised:
        EMHMM(2, emission="gaussian").fit(sensors)
    cure = f"split_by(X, by='device', columns=['seconds', 'temp']{time})"
    assert cure in str(raised.value)
    numbered = sensors.assign(device=np.arange(60) // 20, time=CLICKS["time"])
    with pytest.raises(TypeError) as raised:
        EMHMM(2, emission="gaussian").fit(numbered)
    assert "split_by(X, by='device', columns=['seconds', 'temp'], time='time')" in str(raised.value)


@pytest.mark.parametrize("columns", [["seconds"], ["seconds", "temp"]])
def test_measurements_with_times_are_one_series(columns):
    """Before, the cure told sequences apart by what was measured."""
    sensor = CLICKS.assign(temp=RNG.normal(size=60))[["time", *columns]]
    message = rf"Pass \[X\] of columns {re.escape(repr(columns))}: no column tells sequences apart;"
    with pytest.raises(TypeError, match=message):
        EMHMM(2, emission="gaussian").fit(sensor)
    EMHMM(2, emission="gaussian", max_iter=2, tol=0).fit([sensor[columns]])


def test_the_cure_works():
    X = split_by(LONG, by="sentence", columns="word")
    assert [own.tolist() for own in X] == SENTENCES
    assert EMHMM(2, max_iter=2, tol=0, random_state=0).fit(X).labels_.shape == (4,)


@pytest.mark.parametrize("form", FORMS)
def test_columns_of_one_kind_without_a_common_value_are_asked_about(form):
    X = FORMS[form](CLICKS[["user", "page"]])
    message = (
        r"each of the 60 rows of X is read as a sequence of 2 symbols, and no symbol is in two"
    )
    with pytest.warns(UserWarning, match=message + r" .*split_by\(.*numpy.asarray\(X\).tolist\(\)"):
        EMHMM(2, max_iter=2, tol=0, random_state=0).fit(X)


def test_the_cure_does_not_turn_padding_into_steps():
    X = CLICKS[["user", "page"]].astype(object)
    X.loc[::3, "page"] = None
    with pytest.warns(UserWarning, match="lists of what is in them, without what is missing at"):
        EMHMM(2, max_iter=2, tol=0, random_state=0).fit(X)


def test_codes_are_asked_about_too():
    X = np.column_stack([RNG.integers(0, 9, 100), RNG.integers(100, 120, 100)])
    with pytest.warns(UserWarning, match=r"split_by\(pandas.DataFrame\(X\), by=0, columns=1\)"):
        EMHMM(2, max_iter=2, tol=0, random_state=0).fit(X)


def test_each_class_is_asked_about_once_at_least():
    y = ["a", "b"] * 30
    with pytest.warns(UserWarning, match="each of the 60 rows"):
        HMMClassifier(EMHMM(2, max_iter=2, tol=0, random_state=0)).fit(CLICKS[["user", "page"]], y)
