"""Times that occur twice, fall, or leave a hole are told, with a cure; calendars are not."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sklearn_cvb import CVBHMM, EMHMM, HMMClassifier
from sklearn_cvb.emissions import Columns, Gaussian
from sklearn_cvb.reading.times import cautions_of_times, times_ahead

RNG = np.random.default_rng(0)
MINUTES = pd.date_range("2026-01-05", periods=200, freq="min")
PRICES = pd.bdate_range("2024-01-01", "2025-12-31")
HOURS = pd.date_range("2026-01-05", periods=24 * 40, freq="h")
TRADING = pd.date_range("2026-01-05", "2026-03-31", freq="min")


def series(index):
    return pd.Series(RNG.normal(size=len(index)), index=index)


def steps_of(seconds):
    return pd.Timestamp("2026-01-05") + pd.to_timedelta(np.cumsum(seconds), unit="s")


def working(index, begin, end):
    return index[(index.day_of_week < 5) & (index.hour >= begin) & (index.hour < end)]


TOLD = {
    "devices interleaved": (MINUTES.repeat(3), "occur up to 3 times .2026-01-05 00:00:00.: if"),
    "times of Arrow": (MINUTES.astype("timestamp[us][pyarrow]")[::-1], "fall"),
    "devices one after the other": (MINUTES.append(MINUTES), "occur up to 2 times .*split_by"),
    "rows twice": (MINUTES.insert(50, MINUTES[50]), r"occur up to 2 times .*index.duplicated\(\)"),
    "shuffled": (MINUTES[RNG.permutation(200)], r"fall \(from .*sort.*frame.sort_index\(\)"),
    "newest first": (MINUTES[::-1], r"fall \(from 2026-01-05 03:19:00 to 2026-01-05 03:18:00\)"),
    "periods that fall": (pd.period_range("2020", periods=30, freq="M")[::-1], "fall .from 2022"),
    "a hole": (
        MINUTES.delete(range(60, 95)),
        r"a hole of 0:36:00 after 2026-01-05 00:59:00, where usual steps take 0:01:00: .*asfreq",
    ),
    "several holes": (HOURS.delete([*range(100, 130), *range(500, 560)]), "hole of 2 days, 13:00"),
    "months of no prices": (PRICES.delete(range(200, 260)), "a hole of 87 days"),
    "periods with a hole": (
        pd.period_range("2000", periods=90, freq="Q").delete(range(30, 50)),
        "a hole of",
    ),
    "nights and a month": (
        working(HOURS, 9, 17).delete(range(40, 170)),
        "a hole of 2[0-9] days",
    ),
    "elapsed times": (pd.to_timedelta([*range(50), *range(90, 120)], unit="s"), "hole of 0:00:41"),
    "time zones": (HOURS.tz_localize("Europe/Rome").delete(range(99, 200)), "hole of 4 days, 6:0"),
}


@pytest.mark.parametrize("name", TOLD)
def test_times_that_tell_of_something_else(name):
    index, what = TOLD[name]
    model = CVBHMM(2, emission="gaussian", max_iter=2, tol=0, update="sequence", random_state=0)
    with pytest.warns(UserWarning, match=rf"^X\[0\] has times that .*{what}") as caught:
        model.fit([series(index)])
    assert sum("has times" in str(one.message) for one in caught) == 1


def without_holidays(index):
    return index[~index.strftime("%m-%d").isin(["01-01", "12-24", "12-25", "12-26", "05-01"])]


SILENT = {
    "daily prices": PRICES,
    "prices with holidays": without_holidays(PRICES),
    "a golden week": PRICES.delete(range(195, 201)),
    "working hours": working(HOURS, 9, 17),
    "minutes of trading": without_holidays(working(TRADING, 9, 16)),
    "a market open all week": TRADING[(TRADING.day_of_week < 5) | (TRADING.hour >= 22)][:20_000],
    "Sunday to Thursday": HOURS[~HOURS.day_of_week.isin([4, 5])],
    "months": pd.date_range("2000", periods=200, freq="MS"),
    "years": pd.period_range("1871", "1970", freq="Y"),
    "quarters": pd.period_range("1959Q1", "2009Q3", freq="Q"),
    "weeks": pd.period_range("2026-01-01", periods=100, freq="W"),
    "summer time": pd.date_range("2026-01-01", periods=9000, freq="h", tz="America/New_York"),
    "fixes of a few seconds more or less": steps_of(RNG.uniform(3, 7, 500)),
    "fixes some of which are lost": steps_of(np.where(RNG.random(500) < 0.1, 30, 5)),
    "events at random": steps_of(RNG.exponential(60, 5000)),
    "a few dates": pd.to_datetime(["2001-01-01", "2001-02-01", "2010-01-01", "2020-06-01"]),
    "elapsed times": pd.to_timedelta(range(100), unit="s"),
    "numbers": pd.Index([3, 1, 2] * 20),
    "one step": MINUTES[:1],
}


@pytest.mark.parametrize("name", SILENT)
def test_calendars_and_irregular_times_are_no_holes(name):
    assert cautions_of_times([series(SILENT[name])]) == []


def test_the_first_sequence_is_named_and_the_others_counted():
    X = [series(MINUTES), series(MINUTES[::-1]), series(MINUTES), series(MINUTES[::-1])]
    (told,) = cautions_of_times(X)
    assert told.startswith("X[1] has times that fall")
    assert told.endswith("(2 of 4 sequences have such times: 1, 3)")
    # Times that occur twice are told first: all else may follow from it.
    (told,) = cautions_of_times([*X, series(MINUTES.repeat(2))])
    assert told.startswith("X[4] has times that occur")


FRAME = pd.DataFrame({"time": MINUTES, "born": MINUTES[0], "x": RNG.normal(size=200)})
FORMS = {
    "pandas": lambda frame: frame.reset_index(drop=True),
    "polars": lambda frame: pl.from_pandas(frame),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_column_of_times_that_no_emission_reads(form):
    model = EMHMM(2, emission=Columns([(Gaussian(), ["x"])]), max_iter=2, tol=0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model.fit([FORMS[form](FRAME)])
    for rows, what in ((FRAME[::-1], "fall"), (FRAME.drop(range(50, 90)), "leave a hole")):
        with pytest.warns(UserWarning, match=rf"X\[0\] has times that {what}"):
            model.fit([FORMS[form](rows)])
    # Which of two columns of times is that of the steps is not known.
    two = FRAME.assign(end=MINUTES[::-1])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model.fit([FORMS[form](two)])


def test_a_classifier_says_it_once():
    X = [series(MINUTES[:50][::-1]) for _ in range(6)]
    model = HMMClassifier(EMHMM(2, emission="gaussian", max_iter=2, tol=0, random_state=0))
    with pytest.warns(UserWarning, match=r"fall .*6 of 6 sequences") as caught:
        model.fit(X, list("ababab"))
    assert len(caught) == 1


def test_where_nothing_follows_from_order_nothing_is_told():
    options = {"emission": "gaussian", "max_iter": 2, "tol": 0, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        EMHMM(2, transitions="independent", **options).fit([series(MINUTES[::-1])])


def test_events_that_fall_are_told():
    options = {"max_iter": 2, "tol": 0, "random_state": 0}
    newest_first = pd.Series(list("abba") * 50, index=MINUTES[::-1])
    with pytest.warns(UserWarning, match=r"^X\[1\] has times that fall \(from .*sort_index"):
        EMHMM(2, **options).fit([list("abba"), newest_first])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        EMHMM(2, transitions="independent", **options).fit([newest_first])


def test_events_may_be_at_one_time_and_far_from_each_other():
    words = pd.Series(list("abba") * 50, index=MINUTES.repeat(2)[:200])
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        EMHMM(2, max_iter=2, tol=0, random_state=0).fit([words])


AHEAD = {
    "months": (pd.date_range("2025-10-01", periods=3, freq="MS"), ["2026-01-01", "2026-02-01"]),
    "months without a frequency": (
        pd.DatetimeIndex(list(pd.date_range("2025-09-01", periods=4, freq="MS"))),
        ["2026-01-01", "2026-02-01"],
    ),
    "prices until a Friday": (
        pd.bdate_range("2026-03-02", "2026-04-10").delete(24),
        ["2026-04-13", "2026-04-14", "2026-04-15", "2026-04-16", "2026-04-17", "2026-04-20"],
    ),
    "minutes until midnight": (
        pd.date_range("2026-01-05", "2026-01-09 23:59", freq="min").delete(99),
        ["2026-01-10 00:00", "2026-01-10 00:01"],
    ),
    "periods": (pd.period_range("2025Q1", "2025Q3", freq="Q"), ["2025Q4", "2026Q1"]),
    "elapsed times": (pd.to_timedelta([5, 10, 15], unit="s"), ["20s", "25s"]),
}


@pytest.mark.parametrize("name", AHEAD)
def test_times_go_on(name):
    index, expected = AHEAD[name]
    found = times_ahead(series(index), len(index), len(expected))
    kind = pd.PeriodIndex if name == "periods" else type(index)
    options = {"freq": "Q"} if name == "periods" else {}
    assert found.equals(kind(expected, **options).astype(index.dtype))


def test_forecasts_have_the_names_and_times_of_what_they_follow():
    rome = pd.date_range("2026-03-28 20:00", periods=6, freq="h", tz="Europe/Rome")
    X = [
        pd.DataFrame(RNG.normal(size=(6, 2)), rome, ["a", "b"]),
        pd.DataFrame({"a": [1.0], "b": 2}),
    ]
    options = {"emission": "gaussian", "max_iter": 2, "tol": 0, "random_state": 0}
    model = EMHMM(1, **options).fit(X)
    found = model.predict_next(X, 2, n_draws=3, random_state=0)
    assert found.names == ["a", "b"]
    first, second = found.times
    # Over the change to summer time.
    assert first.strftime("%H:%M %z").tolist() == ["03:00 +0200", "04:00 +0200"]
    assert second.tolist() == [1, 2]
    for rows in (RNG.normal(size=(4, 3, 2)), [RNG.normal(size=(3, 2))] * 4):
        found = EMHMM(1, **options).fit(rows).predict_next(rows, 2, n_draws=3, random_state=0)
        assert found.names is None
        assert [own.tolist() for own in found.times] == [[3, 4]] * 4
