"""Twelve tables of sensors as they come: read right, or told with a cure that makes it right.

Two devices change between two levels together, every 50 steps.
"""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sklearn_cvb import EMHMM, VBHMM, split_by
from sklearn_cvb.emissions import Bernoulli, Categorical, Columns, Gaussian

RNG = np.random.default_rng(0)
HOURS = pd.date_range("2026-01-05", periods=400, freq="h")
STATE = np.tile(np.repeat([0, 1], 50), 4)
COLUMNS = ["temp", "vib"]


def readings(state, index):
    return pd.DataFrame(
        {"temp": RNG.normal(20 + 40.0 * state), "vib": RNG.normal(1 + 9.0 * state)}, index=index
    )


ONE = readings(STATE, HOURS)
BOTH = pd.concat([ONE.assign(device="a"), readings(STATE, HOURS).assign(device="b")])
INTERLEAVED = BOTH.sort_index(kind="stable").rename_axis("time").reset_index()


def fit(X, **parameters):
    parameters = {"emission": "gaussian", "random_state": 0, **parameters}
    return VBHMM(2, **parameters).fit(X)


def right(states, expected):
    """Share of states that are right, whatever they are called."""
    share = np.mean(np.asarray(states) == np.asarray(expected))
    return max(share, 1 - share)


def quietly(X, **parameters):
    """A fit that nothing is said of."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        return fit(X, **parameters)


def told(X, *words):
    """The one warning of a fit, which has these words."""
    with pytest.warns(UserWarning, match="has times") as caught:
        fit(X)
    (message,) = [str(one.message) for one in caught if "has times" in str(one.message)]
    for word in words:
        assert word in message


def test_devices_interleaved():
    one = INTERLEAVED.set_index("time")
    told([one[COLUMNS]], "occur up to 2 times", "split_by")
    X = split_by(INTERLEAVED, by="device", columns=COLUMNS, time="time")
    model = quietly(X)
    assert right(X.to_rows(model.predict(X)), np.repeat(STATE, 2)) == 1.0
    stay = np.diag(model.transmat_)
    assert stay == pytest.approx(0.98, abs=0.015)


def test_shuffled():
    order = RNG.permutation(400)
    told([ONE.iloc[order]], "fall", "sort_index")
    log = ONE.iloc[order].rename_axis("time").reset_index().assign(device="a")
    X = split_by(log, by="device", columns=COLUMNS, time="time")
    model = quietly(X)
    assert right(X.to_rows(model.predict(X)), STATE[order]) == 1.0
    assert np.diag(model.transmat_) == pytest.approx(0.98, abs=0.015)


def test_duplicated():
    twice = pd.concat([ONE, ONE.iloc[100:120]]).sort_index()
    told([twice], "occur up to 2 times", "frame[~frame.index.duplicated()]")
    again = twice[~twice.index.duplicated()]
    assert np.array_equal(quietly([again]).history_, quietly([ONE]).history_)


def test_holes():
    lossy = ONE.drop(HOURS[120:140])
    told([lossy], "leave a hole of 21:00:00 after 2026-01-09 23:00:00", "asfreq")
    whole = lossy.asfreq("h")
    states = quietly([whole]).predict([whole])[0]
    assert right(states, STATE) >= 0.99


def test_weekends():
    days = pd.bdate_range("2026-01-05", periods=400)
    assert right(quietly([readings(STATE, days)]).labels_[0], STATE) == 1.0
    working = HOURS[(HOURS.day_of_week < 5) & (HOURS.hour >= 8) & (HOURS.hour < 17)]
    one = ONE.loc[working]
    assert right(quietly([one]).labels_[0], STATE[HOURS.isin(working)]) == 1.0


def test_time_zones():
    # Over the change to summer time.
    local = pd.date_range("2026-03-20", periods=400, freq="h", tz="Europe/Rome")
    assert right(quietly([readings(STATE, local)]).labels_[0], STATE) == 1.0
    told([readings(STATE, local).iloc[::-1]], "fall")


def test_periods():
    one = readings(STATE, pd.period_range("1990-01", periods=400, freq="M"))
    assert right(quietly([one]).labels_[0], STATE) == 1.0
    told([one.drop(one.index[99:140])], "leave a hole")


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_polars_and_pyarrow(library):
    log = pl.from_pandas(INTERLEAVED) if library == "polars" else pa.Table.from_pandas(INTERLEAVED)
    X = split_by(log, by="device", columns=COLUMNS, time="time")
    model = quietly(X)
    states = X.to_rows(model.predict(X))
    assert right(states, np.repeat(STATE, 2)) == 1.0
    if library == "polars":
        log = log.with_columns(state=states)
    else:
        log = log.append_column("state", [states])
    assert right(log["state"].to_numpy(), np.repeat(STATE, 2)) == 1.0
    with pytest.raises(TypeError, match=r"split_by\(X, by='device', .*or pass \[X\] of columns"):
        fit(log)
    one = log[["time", *COLUMNS]] if library == "polars" else log.drop(["device", "state"])
    with pytest.raises(TypeError, match=rf"\. Pass \[X\] of columns {re.escape(repr(COLUMNS))}:"):
        fit(one)
    lazy = pl.from_pandas(INTERLEAVED).lazy()
    for X in (lazy, [lazy]):
        with pytest.raises(TypeError, match=r"is a LazyFrame: pass X(\[0\])?.collect\(\)"):
            fit(X)


def test_a_first_row_without_values():
    change = ONE.diff()
    with pytest.raises(ValueError, match=r"sequence 0 is empty: .*pass \[X\]"):
        fit(change)
    late = ONE.copy()
    late.iloc[0] = np.nan
    assert right(quietly([late]).predict([late])[0], STATE) == 1.0


def test_a_column_of_text():
    mode = np.where(STATE == 1, "busy", "idle")
    log = ONE.assign(mode=mode)
    with pytest.raises(ValueError, match=r"X\[0\] holds 'idle' .* in column 'mode', .*Columns"):
        fit([log])
    with pytest.raises(TypeError, match=r"\('temp' of numbers, 'vib' of numbers, 'mode' of text\)"):
        fit(log)
    mixed = Columns([(Gaussian("diag"), COLUMNS), (Categorical(), ["mode"])])
    assert right(quietly([log], emission=mixed).labels_[0], STATE) == 1.0


def test_truth_values():
    switches = pd.DataFrame({"on": RNG.random(400) < 0.1 + 0.8 * STATE, "temp": ONE["temp"]})
    mixed = Columns([(Bernoulli(), ["on"]), (Gaussian(), ["temp"])])
    model = quietly([switches], emission=mixed)
    assert right(model.labels_[0], STATE) == 1.0
    as_numbers = quietly([switches.astype(float)], emission=mixed)
    assert np.array_equal(model.history_, as_numbers.history_)


def test_a_table_of_all_devices_with_numbers_for_names():
    numbered = INTERLEAVED.assign(device=np.tile([0, 1], 400))[["device", *COLUMNS]]
    with pytest.warns(UserWarning, match=re.escape("or with split_by(X, by=...) if a column")):
        fit(numbered)
    X = split_by(numbered, by="device", columns=COLUMNS)
    assert right(X.to_rows(quietly(X).predict(X)), np.repeat(STATE, 2)) == 1.0


def test_logs_of_symbols_are_told():
    log = INTERLEAVED.assign(mode=np.repeat(np.where(STATE == 1, "busy", "idle"), 2))
    for columns in (["device", "temp"], ["time", "mode"], ["device", "mode", "temp"]):
        with pytest.raises(TypeError, match=r"columns of several kinds .*split_by\(X, by='"):
            EMHMM(2).fit(log[columns])
    with pytest.warns(UserWarning, match=r"are they events\? .*split_by\(X, by='device', colu"):
        EMHMM(2, max_iter=2, tol=0, random_state=0).fit(log[["device", "mode"]])
