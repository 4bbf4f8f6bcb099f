"""What newcomers try first, and is none of what there is: each is told what to do instead.

What X and y may be is in reading/test_wrong_calls.py.
"""

import matplotlib
import numpy as np
import pandas as pd
import pytest

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, CVBHMMTagger, HMMClassifier
from sklearn_cvb.emissions import Categorical, Columns, Gaussian
from sklearn_cvb.plotting import (
    plot_ellipses,
    plot_forecast,
    plot_history,
    plot_residuals,
    plot_state_sequences,
    plot_states,
)
from sklearn_cvb.selection import select_components

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"temp": RNG.normal(np.repeat([20.0, 60.0], 15)), "vib": RNG.normal(size=30)})
TEXT = FRAME.assign(mode=["idle", "busy"] * 15)
WORDS = [["the", "dog", "barks"], ["a", "dog", "sleeps"], ["the", "cat", "sleeps"]]
TAGS = {"the": ["D"], "a": ["D"], "dog": ["N"], "cat": ["N"], "barks": ["V", "N"]}
QUICK = {"random_state": 0, "max_iter": 2, "tol": 0}


def _numbers():
    return VBHMM(2, emission="gaussian", **QUICK).fit([FRAME])


def _text(as_frame=True):
    names, X = (["temp", "vib", "mode"], TEXT) if as_frame else ([0, 1, 2], TEXT.to_numpy(object))
    emission = Columns([(Gaussian("diag"), names[:2]), (Categorical(), names[2:])])
    return VBHMM(2, emission=emission, **QUICK).fit([X])


def _symbols():
    return EMHMM(2, **QUICK).fit(WORDS)


def _tagger():
    return CVBHMMTagger(TAGS, **QUICK).fit(WORDS)


def _ahead():
    return _numbers().predict_next([FRAME], 3, n_draws=10, random_state=0)


# What is called, the error, and what its message must hold.
_CALLS = {
    "a frame of numbers that is not in a list": (
        lambda: _numbers().predict(FRAME),
        ValueError,
        ["['temp', 'vib']", "pass [X]", "split_by"],
    ),
    "a frame of text that is not in a list": (
        lambda: _text().predict(TEXT),
        ValueError,
        ["'mode'", "pass [X]", "split_by"],
    ),
    "a frame that is not in a list, of several devices": (
        lambda: _text().score(TEXT.assign(device=["a", "b"] * 15)),
        ValueError,
        ["pass [X]", "by='device'"],
    ),
    "an array that is not in a list": (
        lambda: _numbers().predict(FRAME.to_numpy()),
        ValueError,
        ["1 column", "2 as in fit, ['temp', 'vib']", "pass [X]"],
    ),
    "objects that are not in a list": (
        lambda: _text(as_frame=False).predict(TEXT.to_numpy(object)),
        ValueError,
        ["X[0] has 1 column", "column 2", "pass [X]"],
    ),
    "a column of a frame that is missing": (
        lambda: _text().predict([TEXT[["temp", "mode"]]]),
        ValueError,
        ["['vib'] are missing"],
    ),
    "one more column in an array": (
        lambda: _numbers().predict([FRAME.assign(wind=0.0).to_numpy()]),
        ValueError,
        ["3 columns", "['temp', 'vib']"],
    ),
    "one more column in objects": (
        lambda: _text().predict([TEXT.assign(wind=0.0).to_numpy()]),
        ValueError,
        ["4 columns", "['temp', 'vib', 'mode']"],
    ),
    "pairs of groupby, of symbols": (
        lambda: _symbols().fit(TEXT.groupby("temp")["mode"]),
        TypeError,
        ["X.agg(list)"],
    ),
    "forecast": (lambda: _numbers().forecast, AttributeError, ["predict_next"]),
    "n_states": (lambda: _numbers().n_states, AttributeError, ["n_components"]),
    "n_states in a constructor": (lambda: CVBHMM(n_states=2), TypeError, ["n_components"]),
    "lower_bound_": (
        lambda: CVBHMM(**QUICK).fit(WORDS).lower_bound_,
        AttributeError,
        ["loo_score_"],
    ),
    "a classifier of one class": (
        lambda: HMMClassifier(_numbers()).fit([FRAME, FRAME], ["hot", "hot"]),
        ValueError,
        ["at least 2 classes", "'hot'"],
    ),
    "one number of states to select from": (
        lambda: select_components(EMHMM(**QUICK), WORDS, 3),
        ValueError,
        ["must list positive integers, got 3"],
    ),
    "histories": (
        lambda: plot_history({"EM": _symbols()}),
        TypeError,
        ["one fitted estimator", "ax="],
    ),
    "states of a list of series": (
        lambda: plot_states([FRAME], _numbers().predict([FRAME])),
        ValueError,
        ["a list of 1 sequences", "X[0]"],
    ),
    "states of a series, and a list of states": (
        lambda: plot_states(FRAME, _numbers().predict([FRAME])),
        ValueError,
        ["model.predict(X)[0]"],
    ),
    "sequences beside their states": (
        lambda: plot_state_sequences(WORDS, _tagger().predict(WORDS)),
        ValueError,
        ["pass model.predict(X)"],
    ),
    "sequences in the place of their states": (
        lambda: plot_state_sequences([FRAME["temp"]]),
        ValueError,
        ["pass model.predict(X)"],
    ),
    "a forecast and a list of series": (
        lambda: plot_forecast([FRAME], _ahead()),
        ValueError,
        ["X[0]"],
    ),
    "a forecast of another column": (
        lambda: plot_forecast(FRAME, _ahead(), column="wind"),
        ValueError,
        ["['temp', 'vib']", "'wind'"],
    ),
}


@pytest.fixture(autouse=True)
def _no_screen():
    matplotlib.use("Agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(("call", "error", "essentials"), _CALLS.values(), ids=_CALLS)
def test_a_wrong_call_is_told_what_to_do(call, error, essentials):
    with pytest.raises(error) as raised:
        call()
    for essential in essentials:
        assert essential in str(raised.value)


def test_pictures_know_columns_of_frames_by_name():
    ax = plot_forecast(FRAME, _ahead(), column="vib")
    np.testing.assert_array_equal(ax.get_lines()[0].get_ydata(), FRAME["vib"])
    ax = plot_ellipses(_numbers(), columns=("vib", "temp"))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("vib", "temp")
    for residuals, names in ((FRAME, None), (FRAME.to_numpy(), FRAME.columns)):
        axes = plot_residuals(residuals, names=names)
        assert [row[0].get_ylabel() for row in axes] == ["temp", "vib"]


def test_units_of_numbers_are_steps():
    units = [
        [criterion.unit for criterion in select_components(CVBHMM(**options), X, [1]).criteria[:2]]
        for options, X in (({"emission": "gaussian", **QUICK}, [FRAME] * 5), (QUICK, WORDS * 2))
    ]
    assert units == [
        ["leave-one-out score (nats per step)", "perplexity per step"],
        ["leave-one-out score (nats per token)", "perplexity per token"],
    ]
