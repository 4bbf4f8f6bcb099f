"""Tables and lists as most people have them, of which nothing is to be said."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sklearn_cvb import (
    EMHMM,
    EMPCFG,
    VBHMM,
    CVBAlignmentHMM,
    CVBHMMTagger,
    HMMClassifier,
    split_by,
    split_by_lengths,
)
from sklearn_cvb.emissions import Bernoulli, Categorical, Columns, Gaussian, Poisson

RNG = np.random.default_rng(0)
GAUSSIAN = {"emission": "gaussian"}


def series(index, **columns):
    n = len(index)
    return pd.DataFrame(columns or {"x": RNG.normal(size=n), "y": RNG.normal(size=n)}, index=index)


def without_holidays(days):
    return days[~days.strftime("%m-%d").isin(["01-01", "04-03", "12-24", "12-25", "12-26"])]


def minutes_of_trading():
    minutes = pd.date_range("2026-01-05", "2026-02-20", freq="min")
    return minutes[(minutes.day_of_week < 5) & (minutes.hour >= 9) & (minutes.hour < 16)]


def fixes(seconds):
    return pd.Timestamp("2026-01-05 08:00") + pd.to_timedelta(np.cumsum(seconds), unit="s")


def words(*shape, of="abcd"):
    return RNG.choice(list(of), shape)


def padded(table):
    """The same, shorter and shorter."""
    table = table.astype(object)
    for row, length in zip(table, RNG.integers(2, table.shape[1] + 1, len(table)), strict=True):
        row[length:] = np.nan
    return table


DAYS = without_holidays(pd.bdate_range("2024-01-01", "2025-12-31"))
PEOPLE = pd.DataFrame(
    {
        "time": pd.date_range("2026-01-05", periods=60, freq="s").repeat(2),
        "person": ["a", "b"] * 60,
        "page": words(120, of=["home", "cart", "pay"]),
        "seconds": RNG.exponential(20, 120),
    }
)
LEVELS = [f"very {word}" for word in ("good", "bad", "old", "new")]

NUMBERS = {
    "daily prices with holidays": [series(DAYS, price=RNG.normal(size=len(DAYS)))],
    "the same as a column": [pd.Series(RNG.normal(size=len(DAYS)), index=DAYS)],
    "minutes of trading": [series(minutes_of_trading())],
    "fixes a few seconds more or less": [series(fixes(RNG.uniform(3, 8, 400)))],
    "fixes some of which are lost": [series(fixes(5.0 + 20 * (RNG.random(400) < 0.1)))],
    "events at any time": [series(fixes(RNG.exponential(30, 2000)))],
    "months": [series(pd.period_range("1990-01", periods=120, freq="M"))],
    "years": [series(pd.date_range("1871", periods=100, freq="YS"))],
    "summer time": [series(pd.date_range("2026-03-01", periods=900, freq="h", tz="Europe/Rome"))],
    "seconds since a start": [series(pd.to_timedelta(range(100), unit="s"))],
    "rows that are numbered": [series(range(30)), series([5, 3, 9, 7])],
    "groups of a frame": [own for _, own in series(DAYS.repeat(2)).groupby([0, 1] * len(DAYS))],
    "polars": [pl.DataFrame({"x": RNG.normal(size=50), "y": RNG.normal(size=50)})],
    "pyarrow": [pa.table({"x": RNG.normal(size=50), "y": RNG.normal(size=50)})],
    "arrays of several lengths": [RNG.normal(size=(n, 2)) for n in (5, 30, 2)],
    "a wide table": np.cumsum(RNG.normal(size=(20, 30)), axis=1),
    "a wide frame": pd.DataFrame(RNG.normal(size=(20, 24)), columns=range(24)),
    "a row for each day, newest first": pd.DataFrame(
        RNG.normal(size=(20, 24)), pd.date_range("2026", periods=20)[::-1], range(24)
    ),
    "a cube": RNG.normal(size=(10, 8, 2)),
    "cells without values": [series(DAYS).where(RNG.random((len(DAYS), 2)) < 0.8)],
    "a first row without values": [series(DAYS).shift(1)],
    "pieces by lengths": split_by_lengths(series(DAYS[:100]), [60, 40]),
    "sequences by a column": split_by(PEOPLE, by="person", columns=["seconds"], time="time"),
}
SYMBOLS = {
    "sentences with numbers": [["in", "1999", "it", "was", 3, "or", 4.5], ["on", "2", "May"]],
    "ragged sessions": [list(words(n)) for n in RNG.integers(1, 9, 50)],
    "lists in a column": PEOPLE.groupby("person")["page"].agg(list),
    "a column for each person": split_by(PEOPLE, by="person", columns="page"),
    "events at the same time": [
        pd.Series(words(60), index=pd.date_range("2026", periods=20, freq="s").repeat(3))
    ],
    "a wide frame": pd.DataFrame(words(50, 12)),
    "a wide frame of padded rows": pd.DataFrame(padded(words(50, 12))),
    "a wide frame whose columns share no value": pd.DataFrame(
        {f"q{i}": words(200, of=[f"{i}yes", f"{i}no"]) for i in range(12)}
    ),
    "few rows whose columns share no value": pd.DataFrame({"a": list("xyxy"), "b": list("uvuv")}),
    "waves of a survey": pd.DataFrame(words(300, 4, of=["yes", "no", "unknown"])),
    "waves with blanks in their labels": pd.DataFrame(words(300, 3, of=LEVELS)),
    "waves that some left": pd.DataFrame(padded(words(300, 4))),
    "waves of numbers": pd.DataFrame(RNG.integers(1, 6, (300, 4)), columns=list("abcd")),
    "waves as categories": pd.DataFrame(words(100, 3)).astype("category"),
    "a wave that nobody answered": pd.DataFrame(words(100, 3), columns=list("abc")).assign(
        last=np.nan
    ),
    "truth values and numbers": pd.DataFrame({"a": RNG.random(60) < 0.5, "b": [1, 0] * 30}),
    "letters of genes": words(200, 5, of="ACGT"),
    "dice": RNG.integers(1, 7, (200, 3)),
    "numbers and words mixed": np.array([["a", 1, "b"], [2, "a", 1], ["b", "b", 2]] * 9, object),
    "three rows of a word and a number": np.array([["a", 1], ["b", 2], ["a", 2]], object),
    "polars": pl.DataFrame({"first": words(90), "second": words(90)}),
    "pyarrow": pa.table({"first": words(90), "second": words(90)}),
}


def quietly(model, X, y=None):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        return model.fit(X, y)


@pytest.mark.parametrize("name", NUMBERS)
def test_nothing_is_said_of_numbers(name):
    X = NUMBERS[name]
    model = quietly(VBHMM(2, emission="gaussian", max_iter=2, tol=0, random_state=0), X)
    assert len(model.labels_) == len(X)


@pytest.mark.parametrize("name", SYMBOLS)
def test_nothing_is_said_of_symbols(name):
    X = SYMBOLS[name]
    model = quietly(EMHMM(2, max_iter=2, tol=0, random_state=0), X)
    assert len(model.labels_) == len(X)


def test_nothing_is_said_of_columns_of_several_kinds_in_a_list():
    frame = series(DAYS[:200], x=RNG.normal(size=200), n=RNG.poisson(3, 200))
    frame = frame.assign(on=RNG.random(200) < 0.5, mode=words(200), born=DAYS[0])
    kinds = [(Gaussian(), ["x"]), (Poisson(), ["n"]), (Bernoulli(), ["on"])]
    mixed = Columns([*kinds, (Categorical(), ["mode"])])
    model = quietly(VBHMM(2, emission=mixed, max_iter=2, tol=0, random_state=0), [frame])
    assert len(model.labels_[0]) == 200


def test_nothing_is_said_of_tagged_text_sentences_and_classes():
    tags = {"the": ["D"], "dog": ["N", "V"], "2": ["D"], "barks": ["V", "N"]}
    X = [["the", "dog", "barks"], ["2", "dog", "barks", "the", "dog"], ["the", "dog"]]
    quietly(CVBHMMTagger(tags, max_iter=2, tol=0, random_state=0), X)
    grammar = "S -> S S | 'the' | 'dog' | 'barks' | '2'"
    quietly(EMPCFG(grammar=grammar, max_iter=2, tol=0, random_state=0), X)
    model = HMMClassifier(EMHMM(2, max_iter=2, tol=0, random_state=0))
    quietly(model, X, ["a", "b", "a"])


def test_nothing_is_said_of_pairs_of_words_but_of_sentences_that_were_not_split():
    pairs = pd.DataFrame({"en": [["the", "house"], ["a", "book"]], "es": [["la", "casa"]] * 2})
    quietly(CVBAlignmentHMM(max_iter=2, tol=0), pairs)
    entries = pd.DataFrame({"en": words(60), "es": words(60, of="uvw")})
    quietly(CVBAlignmentHMM(max_iter=2, tol=0), entries)
    few = [["to", "ir"], ["at once", "ya"], ["dog", "perro"], ["hot dog", "perro caliente"]]
    quietly(CVBAlignmentHMM(max_iter=2, tol=0), np.array(few, dtype=object))
    whole = pd.DataFrame({"en": ["the house", "a book"], "es": ["la casa", "un libro"]})
    for X in (whole, whole.to_numpy(), whole.to_numpy(dtype=str), pl.from_pandas(whole)):
        with pytest.raises(TypeError, match=r"'the house': split each into words, with str\.spl"):
            CVBAlignmentHMM().fit(X)
