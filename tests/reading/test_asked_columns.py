"""Frames with more than a model asks for, and what is told of values of another kind."""

import datetime
import re

import numpy as np
import pandas as pd
import pytest

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    EMHMMTagger,
    EMLatentPCFG,
    GibbsHMM,
    HMMClassifier,
    HMMMixture,
    Transitions,
)
from sklearn_cvb.emissions import Categorical, Columns, Gaussian, Poisson, Regression

RNG = np.random.default_rng(0)
STATES = [np.repeat(RNG.integers(2, size=5), 8) for _ in range(4)]
X = [
    pd.DataFrame(
        {
            "u": RNG.normal(size=40),
            "x": RNG.normal(5.0 * state),
            "mode": np.where(state + RNG.normal(0, 0.3, 40) > 0.5, "on", "off"),
            "n": RNG.poisson(3 + 9 * state),
        }
    )
    for state in STATES
]
MIXED = Columns([(Gaussian(), ["x"]), (Categorical(), ["mode"]), (Poisson(), ["n"])])
WIDE = [
    frame.assign(city="Rome", day=pd.date_range("2026-01-01", periods=len(frame))) for frame in X
]
TOLD = {
    "columns": (MIXED, "full", ["x", "mode", "n"]),
    "regression": (Regression(inputs=["u"], outputs=["x", "n"]), "full", ["u", "x", "n"]),
    "contexts": (
        Columns([(Gaussian(), ["u", "x"])]),
        Transitions(contexts="mode"),
        ["u", "x", "mode"],
    ),
}
LIBRARIES = ["pandas", "polars", "pyarrow"]


def of(library, frames):
    """The same frames of another library."""
    if library == "polars":
        return [pytest.importorskip("polars").from_pandas(frame) for frame in frames]
    if library == "pyarrow":
        return [pytest.importorskip("pyarrow").Table.from_pandas(frame) for frame in frames]
    return frames


@pytest.mark.many(usual=3)
@pytest.mark.parametrize(
    ("kind", "library"),
    [(EMHMM, "polars"), (VBHMM, "pyarrow"), (CVBHMM, "pandas"), (GibbsHMM, "pandas")],
)
@pytest.mark.parametrize("told", TOLD)
def test_columns_that_are_not_asked_for_are_not_read(told, kind, library):
    emission, transitions, names = TOLD[told]
    model = kind(2, emission=emission, transitions=transitions, random_state=0, max_iter=5)
    right = model.fit([frame[names] for frame in X])
    want = right.score_samples([frame[names] for frame in X])
    wide = of(library, WIDE)
    np.testing.assert_array_equal(right.score_samples(wide), want)
    again = kind(**model.get_params(deep=False)).fit(wide)
    np.testing.assert_array_equal(again.score_samples(wide), want)
    assert again.feature_names_in_.tolist() == [name for name in X[0].columns if name in names]


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("meta", [HMMClassifier, lambda model: HMMMixture(model, n_init=1)])
def test_models_of_models_do_not_read_them_either(meta):
    right, wide = (meta(EMHMM(2, emission=MIXED, random_state=0)) for _ in range(2))
    if hasattr(wide, "random_state"):
        right.random_state = wide.random_state = 0
    y = ["a", "b", "a", "b"]
    right.fit([frame[TOLD["columns"][2]] for frame in X], y)
    assert np.array_equal(wide.fit(WIDE, y).predict_proba(WIDE), right.predict_proba(WIDE))


def test_filters_and_json_do_not_read_them_either():
    names = TOLD["columns"][2]
    model = EMHMM(2, emission=MIXED, random_state=0).fit([frame[names] for frame in X])
    want = model.filter_proba([X[0][names]])[0]
    for own in (model, EMHMM.from_json(model.to_json())):
        np.testing.assert_allclose(own.filter_proba([WIDE[0]])[0], want, atol=1e-12)
        online = own.start_filter()
        found = [online.update(WIDE[0].iloc[t]) for t in range(40)]
        np.testing.assert_allclose(found, want, atol=1e-12)


def test_all_that_are_asked_for_must_be_there():
    model = VBHMM(2, emission=MIXED, random_state=0).fit(WIDE)
    lacking = [frame.drop(columns="n") for frame in WIDE]
    with pytest.raises(ValueError, match=r"\['n'\] are missing"):
        model.predict(lacking)
    with pytest.raises(ValueError, match="'n'"):
        model.start_filter().update(lacking[0].iloc[0])
    with pytest.raises(ValueError, match="parts names the column 'n'"):
        VBHMM(2, emission=MIXED).fit([frame[["x", "u", "mode"]] for frame in X])
    swapped = [frame[["n", "mode", "x", "city"]] for frame in WIDE]
    with pytest.raises(ValueError, match="in the same order"):
        model.predict(swapped)
    # Without names all are read.
    plain = VBHMM(2, emission="gaussian", random_state=0).fit([frame[["u", "x"]] for frame in X])
    with pytest.raises(ValueError, match=r"\['n'\] are new"):
        plain.predict([frame[["u", "x", "n"]] for frame in X])


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("values", ["dates", "spans", "times"])
def test_times_beside_numbers_are_no_numbers(library, values):
    days = pd.date_range("2026-01-01", periods=40)
    odd = {"dates": days, "spans": days - days[0], "times": [datetime.time(1)] * 40}[values]
    model = EMHMM(2, emission="gaussian", random_state=0).fit([frame[["u", "x"]] for frame in X])
    frames = of(library, [frame[["u"]].assign(x=odd) for frame in X])
    with pytest.raises((TypeError, ValueError), match="in column 'x'"):
        model.predict(frames)


def test_a_new_context_is_a_label_where_others_are():
    frames = [frame[["u", "x", "mode"]] for frame in X]
    asked = Transitions(contexts="mode", prior="pooled")
    model = VBHMM(2, emission="gaussian", transitions=asked, random_state=0).fit(frames)
    assert len(model.predict([frame.assign(mode="idle") for frame in frames])) == 4
    with pytest.raises(ValueError, match=r"holds 1\.0 in column 'mode'"):
        model.predict([frame.assign(mode=1) for frame in frames])


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("told", TOLD)
def test_bootstrap_of_columns_by_name(told):
    emission, transitions, names = TOLD[told]
    if told == "regression":
        emission = Columns([(Gaussian(), ["u", "x"]), (Poisson(), ["n"])])
    frames = [frame[names] for frame in X]
    model = EMHMM(2, emission=emission, transitions=transitions, random_state=0).fit(frames)
    lower, upper = model.confidence_intervals(frames, n_bootstrap=5, random_state=0).transition
    assert lower.shape == model.transmat_.shape
    assert (lower <= upper).all()


WORDS = [["the", "dog", "barks"], ["the", "cat", "sleeps"], ["a", "dog", "sleeps"]] * 2


def test_samples_of_other_sequences_are_refused():
    model = GibbsHMM(2, random_state=0, max_iter=20).fit(WORDS)
    assert model.credible_intervals(WORDS, random_state=0).start.shape == (2, 2)
    with pytest.raises(ValueError, match="X must hold the 6 sequences"):
        model.credible_intervals(WORDS[:2], random_state=0)
    with pytest.raises(TypeError, match="is the string"):
        model.credible_intervals(["the dog barks"] * 6, random_state=0)
    numbers = VBHMM(2, emission="poisson", random_state=0).fit([frame["n"] for frame in X])
    with pytest.raises(ValueError, match="X has 2 columns per step"):
        numbers.credible_intervals([np.ones((40, 2))] * 4, method="mean field")


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("meta", [HMMClassifier, lambda model: HMMMixture(model, n_init=1)])
def test_models_of_models_take_a_column_of_sequences(meta, library):
    model, y = meta(EMHMM(2, random_state=0, max_iter=5)), ["a", "b"] * 3
    if hasattr(model, "n_init"):
        model.random_state = 0
    column = of(library, [pd.DataFrame({"words": WORDS})])[0]
    assert np.array_equal(
        model.fit(column, y).predict_proba(column), model.fit(WORDS, y).predict_proba(WORDS)
    )


def test_words_to_check_are_those_of_sequences():
    entries = {"dog": ["N", "V"], "the": ["D"], "barks": ["N", "V"]}
    tagger = EMHMMTagger(entries, random_state=0).fit(WORDS)
    with pytest.raises(TypeError, match="is the string"):
        tagger.words_to_check(["the dog barks"])
    with pytest.warns(UserWarning, match="cut them"):
        tagger.words_to_check([["the dog barks"]])
    found, right = tagger.words_to_check(pd.Series(WORDS)), tagger.words_to_check(WORDS)
    assert [row.word for row in found.rows] == [row.word for row in right.rows]


def test_symbols_of_another_type_are_told():
    days = list(pd.date_range("2026-01-01", periods=3))
    told = re.escape("values of type str, and these are values of type Timestamp")
    with pytest.warns(UserWarning, match=told):
        EMHMM(2, random_state=0).fit(WORDS).predict([days])
    with pytest.warns(UserWarning, match=told):
        EMHMM(2, random_state=0).fit(WORDS).start_filter().update(days[0])
    trees = ["(S (D the) (N dog))", "(S (D a) (N dog))", "(S (D the) (N cat))"] * 3
    grammar = EMLatentPCFG(1, random_state=0, max_iter=3, tol=0)
    grammar.fit([tree.replace(")", "").split()[2::2] for tree in trees], trees)
    with pytest.warns(UserWarning, match=told):
        grammar.score_samples([days])
