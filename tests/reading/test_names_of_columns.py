"""Names and labels of columns travel with whatever carries a fitted model, or a row."""

import inspect
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

import sklearn_cvb
from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    GibbsHMM,
    HMMClassifier,
    HMMMixture,
    HMMParameters,
    HMMSmoother,
    Samples,
    Transitions,
)
from sklearn_cvb.emissions import AutoRegressive, Categorical, Columns, Gaussian, Regression
from sklearn_cvb.hmmlearn import hmm as one_import
from sklearn_cvb.metrics import relabel, simulated_check

pytestmark = pytest.mark.filterwarnings("ignore")

_RNG = np.random.default_rng(0)
_STATES = np.repeat([0, 1, 0, 1], 10)
NUMBERS = pd.DataFrame(
    {"a": _RNG.normal(5.0 * _STATES), "b": 50 + _RNG.normal(size=40), "c": _RNG.normal(size=40)}
)
WORDS = pd.DataFrame(_RNG.choice(["u", "v"], size=(12, 3)), columns=["a", "b", "c"])
SENTENCES = pd.DataFrame(
    {
        "a": [["the", "house"], ["the", "book"], ["house"]],
        "b": [["la", "casa"], ["el", "libro"], ["casa"]],
    }
)
MIXED = pd.DataFrame({"x": NUMBERS["a"], "mode": np.where(_STATES == 1, "on", "off")})
OF_MIXED = Columns([(Gaussian("diag"), ["x"]), (Categorical(), ["mode"])])

LIBRARIES = {"pandas": lambda frame: frame, "polars": pl.from_pandas}
WRONG = {
    "swapped": lambda frame: frame[[*frame.columns[1::-1], *frame.columns[2:]]],
    "missing": lambda frame: frame[frame.columns[:-1]],
    "extra": lambda frame: frame.assign(more=frame[frame.columns[0]]),
}
# A new fit is of whatever it is given.
_FITS = ("fit", "fit_predict", "fit_transform")


def _frames(X, change, library="pandas"):
    """All frames of X, changed, in a library."""
    if isinstance(X, list):
        return [_frames(frame, change, library) for frame in X]
    return LIBRARIES[library](change(X))


def _classes():
    """All public estimators, unfitted, each with sequences in frames, by what these hold."""
    for name in sklearn_cvb.__all__:
        kind = getattr(sklearn_cvb, name)
        if not (inspect.isclass(kind) and hasattr(kind, "fit")):
            continue
        few = {"max_iter": 3, "random_state": 0}
        if kind in (HMMClassifier, HMMMixture):
            for emission, X in (("gaussian", [NUMBERS[:20], NUMBERS[20:]] * 2), (None, WORDS)):
                inner = VBHMM(2, **few)
                if emission is not None:
                    inner.set_params(emission=emission)
                yield f"{name} {emission}", kind(inner), X
        elif kind is HMMSmoother:
            yield name, kind(GaussianNB(), weight=1.0), [NUMBERS]
        elif "Alignment" in name:
            yield f"{name} pairs", kind(max_iter=3), SENTENCES
            yield f"{name} halves", kind(max_iter=3), WORDS.assign(d=WORDS["a"])
        elif "Tagger" in name:
            samples = {"samples": Samples()} if "Gibbs" in name else {}
            yield name, kind({"u": ["A", "B"], "v": ["B"]}, **few, **samples), WORDS
        elif name.endswith("HMM"):
            yield f"{name} series", kind(2, emission="gaussian", **few), [NUMBERS]
            yield f"{name} table", kind(2, emission="gaussian", **few), NUMBERS
            yield f"{name} symbols", kind(2, **few), WORDS
        elif "DMV" in name:
            yield name, kind(max_iter=3), WORDS
        elif "Latent" not in name:
            # Those learn from trees.
            yield name, kind("S -> S S | 'u' | 'v'", **few), WORDS


CLASSES = {title: (model, X) for title, model, X in _classes()}


def _methods(model):
    """Methods of a fitted model that take data, by name."""
    for name in dir(model):
        # Properties may be of other models.
        method = getattr(model, name, None) if name[0] != "_" and name not in _FITS else None
        if inspect.ismethod(method) and "X" in inspect.signature(method).parameters:
            yield name, method


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("title", CLASSES)
def test_methods_refuse_other_columns(title):
    """All public ones that take data, found by looking; those that do are many."""
    model, X = CLASSES[title]
    y = np.arange(len(X)) % 2 if isinstance(model, HMMClassifier) else None
    y = [_STATES] if isinstance(model, HMMSmoother) else y
    model, n_asked = clone(model).fit(*([X] if y is None else [X, y])), 0
    for name, method in _methods(model):
        known = inspect.signature(method).parameters
        few = {"random_state": 0, "n_bootstrap": 2, "n_draws": 2} | ({} if y is None else {"y": y})
        settings = {name: own for name, own in few.items() if name in known}
        if "states" in known:
            settings["states"] = model.predict(X)
        if name == "log_likelihoods":
            if title.startswith("EM"):
                # There are no draws that it could be given.
                continue
            settings["draws"] = model.credible_intervals(X, n_draws=1, random_state=0).draws
        for library in LIBRARIES:
            for how, change in WRONG.items():
                with pytest.raises((AttributeError, TypeError, ValueError)) as told:
                    method(_frames(X, change, library), **settings)
                # Of models of the other kind, or that have no posterior.
                has_none = told.type is AttributeError
                is_half = how == "missing" and X is SENTENCES
                assert has_none or is_half or "names" in str(told.value), (name, library, how)
                n_asked += not has_none
    assert n_asked >= 18


# The same text, numbers and codes whatever they come in


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM, GibbsHMM])
def test_labels_are_read_from_frames_of_both_kinds_and_by_place(kind):
    model = kind(2, emission=OF_MIXED, max_iter=9, random_state=0)
    of_pandas, of_polars = clone(model).fit([MIXED]), clone(model).fit([pl.from_pandas(MIXED)])
    assert np.array_equal(of_pandas.history_, of_polars.history_)
    expected = of_pandas.score_samples([MIXED])
    for same in (pl.from_pandas(MIXED), MIXED.to_numpy(), MIXED.to_numpy().tolist()):
        assert np.array_equal(of_polars.score_samples([same]), expected)
    of_rows = clone(model).set_params(
        emission=Columns([(Gaussian("diag"), [0]), (Categorical(), [1])])
    )
    of_rows.fit([MIXED.to_numpy()])
    assert of_rows.score([MIXED]) == pytest.approx(of_pandas.score([MIXED]), rel=1e-12)
    with pytest.raises(ValueError, match=r"X\[1\] has columns \['mode', 'x'\]"):
        of_pandas.score([MIXED.to_numpy(), MIXED[["mode", "x"]]])


DECLARED = {
    "pandas": pd.Series(pd.Categorical(MIXED["mode"], ["idle", "off", "on"])),
    "polars": pl.Series(MIXED["mode"].to_list(), dtype=pl.Enum(["idle", "off", "on"])),
}


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM, GibbsHMM])
def test_labels_that_a_column_declares_are_smoothed(kind, library):
    """As if a code had been named by n_categories that no step has."""
    columns = {"x": MIXED["x"].to_numpy(), "mode": DECLARED[library]}
    frame = (pd if library == "pandas" else pl).DataFrame(columns)
    model = kind(2, emission=OF_MIXED, max_iter=9, random_state=0).fit([frame])
    assert model.categories_["mode"].tolist() == ["idle", "off", "on"]
    codes = MIXED.assign(mode=MIXED["mode"].map({"off": 1, "on": 2}))
    several = Columns([(Gaussian("diag"), ["x"]), (Categorical(n_categories=3), ["mode"])])
    again = clone(model).set_params(emission=several).fit([codes])
    assert np.array_equal(model.history_, again.history_)
    new = pd.DataFrame({"x": [0.0, 5.0], "mode": ["off", "idle"]})
    as_codes = new.assign(mode=[1, 0])
    assert np.array_equal(model.score_samples([new]), again.score_samples([as_codes]))
    assert np.isfinite(model.score([new]))
    with pytest.raises(ValueError, match=r"'idel'.*did you mean 'idle'"):
        model.predict([new.assign(mode="idel")])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("asked", ["when", 0])
def test_contexts_may_stand_elsewhere_later(asked, library):
    frame = NUMBERS[["a", "b"]].assign(when=np.where(_RNG.random(40) < 0.5, "day", "night"))
    frame = frame[["when", "a", "b"]]
    model = VBHMM(2, emission="gaussian", transitions=Transitions(contexts=asked), max_iter=9)
    model.fit([frame])
    expected = model.predict_proba([frame])[0]
    for order in (["a", "when", "b"], ["a", "b", "when"]):
        found = model.predict_proba([LIBRARIES[library](frame[order])])[0]
        assert np.array_equal(found, expected)
    with pytest.raises(ValueError, match=r"\['when', 'b', 'a'\], but was fitted with"):
        model.predict([frame[["when", "b", "a"]]])
    with pytest.raises(ValueError, match=r"\['when'\] are missing"):
        model.predict([frame[["a", "b"]]])


@pytest.mark.long
def test_classes_and_clusters_know_all_labels():
    """Of one class, or of one cluster, alone there are fewer."""
    quiet, busy = MIXED[MIXED["mode"] == "off"], MIXED[MIXED["mode"] == "on"]
    X = [quiet[:10], busy[:10], quiet[10:], busy[10:]]
    model = VBHMM(1, emission=OF_MIXED, random_state=0)
    classes = HMMClassifier(model).fit(X, ["quiet", "busy"] * 2)
    assert classes.predict(X).tolist() == ["quiet", "busy"] * 2
    clusters = HMMMixture(model, n_components=2, random_state=0).fit(X)
    assert len(set(clusters.predict(X)[[0, 2]])) == len(set(clusters.predict(X)[[1, 3]])) == 1
    X[1] = X[1][["mode", "x"]]
    with pytest.raises(ValueError, match=r"X\[1\] has columns \['mode', 'x'\], but X\[0\] has"):
        HMMClassifier(model).fit(X, ["quiet", "busy"] * 2)


def test_classes_by_one_import_refuse_other_columns():
    for model in (one_import.GaussianHMM(2, random_state=0), one_import.PoissonHMM(2)):
        X = NUMBERS[["a", "b"]].abs().round()
        model.fit(X)
        assert model.score(X) == model.score(X.to_numpy())
        for call in (model.score, model.predict, model.predict_proba, model.decode, model.aic):
            with pytest.raises(ValueError, match=r"\['b', 'a'\], but was fitted with \['a', 'b'\]"):
                call(X[["b", "a"]])


def test_inputs_of_forecasts_have_names():
    emission = Regression(inputs=["b", "c"], outputs=["a"])
    model = EMHMM(2, emission=emission, max_iter=9, random_state=0).fit([NUMBERS])
    ahead = NUMBERS[["b", "c"]][:3]
    expected = model.predict_next([NUMBERS], 3, inputs=[ahead.to_numpy()], random_state=0).mean
    for inputs in (ahead, [ahead], [pl.from_pandas(ahead)]):
        found = model.predict_next([NUMBERS], 3, inputs=inputs, random_state=0).mean
        assert np.array_equal(found, expected)
    with pytest.raises(ValueError, match=r"inputs has columns \['c', 'b'\]"):
        model.predict_next([NUMBERS], 3, inputs=[ahead[["c", "b"]]])


# Rows, one after the other

ROWS = {
    "Series": lambda frame, i: frame.iloc[i],
    "dict": lambda frame, i: frame.iloc[i].to_dict(),
    "frame": lambda frame, i: frame.iloc[[i]],
    "named tuple": lambda frame, i: list(frame.itertuples(index=False))[i],
    "record": lambda frame, i: frame.to_records(index=False)[i],
    "polars": lambda frame, i: pl.from_pandas(frame)[i],
    "polars dict": lambda frame, i: pl.from_pandas(frame).row(i, named=True),
}
BY_PLACE = {
    "list": lambda frame, i: frame.iloc[i].tolist(),
    "array": lambda frame, i: frame.to_numpy()[i],
    "polars tuple": lambda frame, i: pl.from_pandas(frame).row(i),
    "Series without names": lambda frame, i: pd.Series(frame.iloc[i].tolist()),
}
FILTERED = {
    "numbers": (VBHMM(2, emission="gaussian", max_iter=9, random_state=0), NUMBERS[["a", "b"]]),
    "labels": (EMHMM(2, emission=OF_MIXED, max_iter=9, random_state=0), MIXED),
    "steps before": (EMHMM(2, emission=AutoRegressive(2), max_iter=9), NUMBERS[["a", "b"]]),
}


@pytest.mark.many(usual=7)
@pytest.mark.parametrize("row", [*ROWS, *BY_PLACE])
@pytest.mark.parametrize("what", FILTERED)
def test_filters_take_rows_by_name(what, row):
    model, frame = FILTERED[what]
    model = clone(model).fit([frame])
    expected, following = model.filter_proba([frame[:4]])[0], model.start_filter()
    turned = frame[frame.columns[::-1]] if row in ROWS else frame
    for i in range(4):
        proba = following.update((ROWS | BY_PLACE)[row](turned, i))
        np.testing.assert_allclose(proba, expected[i], atol=1e-12)
    if row in ROWS:
        # Whose emission names all that it reads has no eyes for others.
        refused = {"missing": "are missing", "extra": r"\['more'\] are new"}
        for how, told in list(refused.items())[: 1 if what == "labels" else 2]:
            with pytest.raises(ValueError, match=f"the step has columns .*{told}"):
                following.update(ROWS[row](WRONG[how](frame), 0))
    with pytest.raises(ValueError, match="update takes one step, got 2"):
        following.update(frame[:2])


def test_rows_of_models_without_names_are_read_by_place():
    model = EMHMM(2, emission="gaussian", max_iter=9, random_state=0).fit([NUMBERS.to_numpy()])
    expected = model.start_filter().update(NUMBERS.to_numpy()[0])
    assert np.array_equal(model.start_filter().update(NUMBERS.iloc[0]), expected)
    turned = {2: NUMBERS["c"][0], 0: NUMBERS["a"][0], 1: NUMBERS["b"][0]}
    assert np.array_equal(model.start_filter().update(turned), expected)
    with pytest.raises(ValueError, match=r"has columns \['a', 'b', 'c'\], but was fitted with \[0"):
        model.start_filter().update(NUMBERS.iloc[0].to_dict())


# What was learned as text, and what is made of parameters

WRITTEN = {
    "numbers": ({"emission": "gaussian"}, [NUMBERS[["a", "b"]]]),
    "labels": ({"emission": OF_MIXED}, [MIXED]),
    "labels by number": (
        {"emission": Columns([(Gaussian("diag"), [0]), (Categorical(), [1])])},
        [MIXED.to_numpy()],
    ),
    "names that are numbers": (
        {"emission": "gaussian"},
        [NUMBERS[["a", "b"]].rename(columns={"a": 7, "b": 3})],
    ),
    "names of two levels": (
        {"emission": "gaussian"},
        [NUMBERS[["a", "b"]].set_axis([("a", 1), ("a", 2)], axis=1)],
    ),
    "inputs": ({"emission": Regression(inputs=["c", "b"])}, [NUMBERS]),
    "table of numbers": ({"emission": "gaussian"}, NUMBERS),
    "table of symbols": ({}, WORDS),
    "tuples": ({}, [[("a", 1), ("b", 2), ("a", 1)], [("b", 2)]]),
}


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("what", WRITTEN)
def test_text_keeps_names_and_labels(what):
    settings, X = WRITTEN[what]
    model = EMHMM(2, max_iter=9, random_state=0, **settings).fit(X)
    once = EMHMM.from_json(model.to_json())
    for again in (once, EMHMM.from_json(once.to_json()), pickle.loads(pickle.dumps(once))):
        np.testing.assert_allclose(again.score_samples(X), model.score_samples(X), atol=1e-9)
        for name in ("n_features_in_", "feature_names_in_", "categories_"):
            own = getattr(model, name, None)
            np.testing.assert_equal(getattr(again, name, None), own)
        if what != "inputs":
            drawn = [one.sample(2, 3, random_state=0)[0] for one in (model, again)]
            assert np.shape(drawn[0]) == np.shape(drawn[1])
        if isinstance(X, list) and not isinstance(X[0], pd.DataFrame):
            continue
        for how, change in WRONG.items():
            if how == "extra" and what == "labels":
                # The emission names all that it reads.
                continue
            for one in (model, again):
                with pytest.raises(ValueError, match="names"):
                    one.predict(_frames(X, change))


def test_text_without_columns_is_read():
    """As it was written before it told of them."""
    model = EMHMM(2, emission="gaussian", random_state=0).fit([NUMBERS])
    content = json.loads(model.to_json())
    for name in ("columns", "n_columns", "rows_are_sequences"):
        del content[name]
    again = EMHMM.from_json(json.dumps(content))
    assert again.score([NUMBERS]) == pytest.approx(model.score([NUMBERS]), abs=1e-12)
    assert not hasattr(again, "feature_names_in_")


CHAIN = {"startprob": [0.5, 0.5], "transmat": [[0.9, 0.1], [0.2, 0.8]]}
TABLE = [[0.9, 0.1], [0.2, 0.8]]
OF_X = {"means": [[0.0], [5.0]], "covariances": [[1.0], [1.0]]}
LABELLED = {
    "categories": {"categories": {"mode": ["on", "off"]}},
    "by number": {"categories": {1: ["on", "off"]}},
    "pandas": pd.DataFrame(TABLE, columns=["on", "off"]),
    "polars": pl.DataFrame(TABLE, schema=["on", "off"], orient="row"),
}


@pytest.mark.parametrize("how", LABELLED)
def test_parameters_come_with_names_and_labels(how):
    """In whatever order the labels are given, also where a fit starts from there."""
    told = LABELLED[how]
    table, more = (TABLE, told) if isinstance(told, dict) else (told, {})
    parts = {"parts": [OF_X, {"category_probabilities": [table]}], **more}
    model = EMHMM.from_parameters(**CHAIN, emission=OF_MIXED, **parts)
    in_codes = Columns([(Gaussian("diag"), [0]), (Categorical(), [1])])
    of_codes = EMHMM.from_parameters(
        **CHAIN, emission=in_codes, parts=[OF_X, {"category_probabilities": [TABLE]}]
    )
    codes = MIXED.assign(mode=(MIXED["mode"] == "off").astype(int)).to_numpy()
    expected = of_codes.score_samples([codes])
    assert np.array_equal(model.score_samples([MIXED]), expected)
    assert np.array_equal(EMHMM.from_json(model.to_json()).score_samples([MIXED]), expected)
    assert model.categories_["mode"].tolist() == ["on", "off"]
    assert set(model.sample(1, 20, random_state=0)[0][0][:, 1]) == {"on", "off"}
    with pytest.raises(ValueError, match="columns"):
        model.predict([MIXED[["mode", "x"]]])
    begun = clone(model).set_params(max_iter=1, tol=0).fit([MIXED])
    assert np.allclose(begun.history_[0], of_codes.fit([codes]).history_[0])
    assert begun.categories_["mode"].tolist() == ["on", "off"]


@pytest.mark.parametrize("library", [pd, pl])
def test_tables_that_are_frames_name_symbols_and_columns(library):
    rows = {"wet": [0.9, 0.2], "dry": [0.1, 0.8]}
    model = EMHMM.from_parameters(**CHAIN, emissionprob=library.DataFrame(rows))
    assert model.vocabulary_.tolist() == ["wet", "dry"]
    plain = EMHMM.from_parameters(**CHAIN, emissionprob=TABLE, vocabulary=["wet", "dry"])
    assert model.score([["dry", "wet"]]) == plain.score([["dry", "wet"]])
    start = HMMParameters(emissionprob=library.DataFrame(rows))
    begun = EMHMM(2, init=start, max_iter=1, random_state=0).fit([["dry", "wet", "dry"]])
    assert begun.vocabulary_.tolist() == ["wet", "dry"]
    means = library.DataFrame({"b": [0.0, 5.0], "a": [1.0, 2.0]})
    of_numbers = EMHMM.from_parameters(
        **CHAIN, emission=Gaussian("diag"), means=means, covariances=np.ones((2, 2))
    )
    assert of_numbers.feature_names_in_.tolist() == ["b", "a"]
    for wrong in (of_numbers.predict, of_numbers.fit):
        with pytest.raises(ValueError, match=r"\['a', 'b'\], but was fitted with \['b', 'a'\]"):
            wrong([NUMBERS[["a", "b"]]])


def test_tables_that_name_the_same_in_another_order_are_refused():
    states = ["calm", "storm"]
    steps = pd.DataFrame(CHAIN["transmat"], index=states, columns=states)
    words = pd.DataFrame(TABLE, index=states, columns=["wet", "dry"])
    model = EMHMM.from_parameters(startprob=[0.5, 0.5], transmat=steps, emissionprob=words)
    assert np.array_equal(model.transmat_, CHAIN["transmat"])
    for tables in (
        {"transmat": steps[states[::-1]], "emissionprob": words},
        {"emissionprob": words[::-1]},
        {
            "transmat": steps,
            "emissionprob": words,
            "startprob": pd.Series([0.1, 0.9], states[::-1]),
        },
    ):
        with pytest.raises(ValueError, match="give all tables in the same order"):
            EMHMM.from_parameters(**{"startprob": [0.5, 0.5], "transmat": steps} | tables)
    with pytest.raises(ValueError, match=r"beta has columns \['wet', 'dry'\], but the symbols are"):
        VBHMM(2, beta=words).fit([["dry", "wet"]])
    assert VBHMM(2, beta=words[["dry", "wet"]]).fit([["dry", "wet"]])


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"categories": {"mode": ["on", "off", "idle"]}}, "has 2 categories, but there are 3"),
        ({"categories": {"mood": ["on", "off"]}}, "names the column 'mood', not in"),
        ({"feature_names_in": ["x"]}, "names 1 of 2 columns"),
    ],
)
def test_names_that_do_not_fit_parameters_are_told(more, told):
    emission = OF_MIXED
    if "feature_names_in" in more:
        emission = Columns([(Gaussian("diag"), [0]), (Categorical(), [1])])
    parts = [OF_X, {"category_probabilities": [TABLE]}]
    with pytest.raises(ValueError, match=told):
        EMHMM.from_parameters(**CHAIN, emission=emission, parts=parts, **more)


def test_models_that_are_made_of_others_keep_names():
    model = EMHMM(2, emission=OF_MIXED, max_iter=9, random_state=0).fit([MIXED])
    fixed = EMHMM(2, emission=OF_MIXED, init=model, fixed={"emissions": True}, max_iter=2)
    # Labels keep the codes that what is fixed has for them.
    part = MIXED[MIXED["mode"] == "on"]
    assert fixed.fit([part]).categories_["mode"].tolist() == ["off", "on"]
    np.testing.assert_array_equal(fixed.parts_[1]["category_probabilities_"][0], _table_of(model))
    with pytest.raises(ValueError, match="columns"):
        fixed.fit([MIXED[["mode", "x"]]])


def _table_of(model):
    return model.parts_[1]["category_probabilities_"][0]


def test_data_that_are_drawn_have_labels_and_names():
    model = EMHMM(2, emission=OF_MIXED, max_iter=9, random_state=0).fit([MIXED])
    found = model.confidence_intervals([MIXED], n_bootstrap=3, random_state=0)
    assert found.emission["parts"][1]["category_probabilities"][0].shape == (2, 2, 2)
    when = np.where(_RNG.random(40) < 0.5, "day", "night")
    frame = MIXED.assign(when=when)
    by_time = VBHMM(2, emission=OF_MIXED, transitions=Transitions(contexts="when"), max_iter=9)
    by_time.fit([frame])

    def busy(X):
        return [(sequence[:, 1] == "on").mean() for sequence in X]

    first, again = (
        simulated_check(by_time, [X], busy, n_simulations=5, random_state=0)
        for X in (frame, pl.from_pandas(frame[["when", "x", "mode"]]))
    )
    assert first.observed == again.observed == 0.5
    assert np.array_equal(first.simulated, again.simulated)
    with pytest.raises(ValueError, match="columns"):
        simulated_check(by_time, [frame[["mode", "x", "when"]]], busy)
    turned = relabel(model, [1, 0])
    assert turned.score([MIXED]) == pytest.approx(model.score([MIXED]), abs=1e-12)
    with pytest.raises(ValueError, match="columns"):
        turned.predict([MIXED[["mode", "x"]]])
