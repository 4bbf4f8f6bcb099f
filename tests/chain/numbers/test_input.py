"""What sequences of numbers come in, and bad input: every row of the table, by its message."""

import re
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    CVBHMMTagger,
    EMHMMTagger,
    GibbsHMM,
    HMMClassifier,
    Samples,
    split_by_lengths,
)
from sklearn_cvb.emissions import Bernoulli, Columns, Gaussian, Poisson

KINDS = [EMHMM, VBHMM, CVBHMM, GibbsHMM]
RNG = np.random.default_rng(0)
RAGGED = [RNG.normal(size=(n, 2)) for n in (5, 7, 3)]
WALK = np.cumsum(RNG.normal(size=(100, 3)), axis=0)


def fit(X, y=None, kind=VBHMM, **keywords):
    settings = {"emission": "gaussian", "random_state": 0, "max_iter": 4} | keywords
    if kind is not GibbsHMM:
        settings.setdefault("tol", 0)
    return kind(2, **settings).fit(X, y)


def same_fit(one, other):
    return np.array_equal(one.means_, other.means_) and np.array_equal(one.history_, other.history_)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", KINDS)
def test_all_containers_of_the_same_numbers_are_the_same(kind):
    model = fit(RAGGED, kind=kind)
    objects = np.empty(3, object)
    objects[:] = RAGGED
    frames = [pd.DataFrame(x, columns=["a", "b"]) for x in RAGGED]
    for X in (tuple(RAGGED), objects, pd.Series(RAGGED), [x.tolist() for x in RAGGED], frames):
        assert same_fit(model, fit(X, kind=kind))
    assert [len(states) for states in model.predict(frames)] == [5, 7, 3]
    assert model.n_columns_ == model.n_features_in_ == 2


def test_steps_of_one_number():
    rows = RNG.normal(size=(4, 6))
    model = fit(rows)
    assert (model.n_columns_, model.n_features_in_, model.labels_.shape) == (1, 6, (4, 6))
    for X in (list(rows), rows[:, :, None], [row[:, None] for row in rows], rows.tolist()):
        assert same_fit(model, fit(X))
    # A list forgets how wide the array before was.
    assert model.fit(list(rows)).n_features_in_ == 1
    frame = pd.DataFrame(rows, columns=list("abcdef"))
    assert fit(frame).feature_names_in_.tolist() == list("abcdef")


@pytest.mark.parametrize(
    "X",
    [
        [[1, 0, 1], [0, 1]],
        [[True, False, True], [False, True]],
        [np.array([1, 0, 1], object), np.array([0, 1], np.uint8)],
        [[Decimal(1), Decimal(0), Decimal(1)], [0, 1.0]],
        [pd.Series([1, 0, 1], dtype="Int64"), pd.Series([0, 1], dtype="boolean")],
    ],
)
def test_numbers_of_any_type(X):
    expected = fit([[1.0, 0.0, 1.0], [0.0, 1.0]], emission="bernoulli").probabilities_
    assert np.array_equal(fit(X, emission="bernoulli").probabilities_, expected)


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_missing_steps(missing):
    expected = fit([[1.0, np.nan, 3.0, 2.0]])
    assert same_fit(fit([[1.0, missing, 3.0, 2.0]]), expected)
    assert same_fit(fit([np.ma.masked_array([1.0, 9.0, 3.0, 2.0], [0, 1, 0, 0])]), expected)
    assert np.isfinite(expected.score([[np.nan, np.nan, 1.0]]))


def test_padding_is_no_step():
    table = np.array([[1.0, 2.0, 3.0], [1.0, np.nan, np.nan], [np.nan, 2.0, np.nan]])
    model = fit(table)
    assert model.labels_[:, 2].tolist()[1:] == [-1, -1]
    assert model.labels_[2, 0] >= 0
    assert same_fit(model, fit([[1.0, 2.0, 3.0], [1.0], [np.nan, 2.0]]))
    cube = RNG.normal(size=(3, 4, 2))
    cube[0, 2:] = np.nan
    assert same_fit(fit(cube), fit([cube[0, :2], cube[1], cube[2]]))
    assert fit(cube).labels_[0].tolist()[2:] == [-1, -1]


def fails(kind_of_error, message, X, y=None, **keywords):
    with pytest.raises(kind_of_error, match=re.escape(message)):
        fit(X, y, **keywords)


FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 5.0]})


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ([["a", "b"]], ValueError, "X[0] holds 'a' (text or a date), but its emissions are"),
        ([["1", "2"]], ValueError, "X[0] holds '1' (text or a date)"),
        (np.array([["1", "2"]]), ValueError, "X holds '1' (text or a date)"),
        ([[1, 2], [1, {"a": 1}]], TypeError, "X[1] holds {'a': 1} (float() argument must be"),
        ([np.array([1j, 2])], ValueError, "Complex data not supported"),
        (
            [[1, 2], [3, np.inf]],
            ValueError,
            "too large for float64: sequence 1, position 1",
        ),
        ([[10**400, 1]], ValueError, "too large for float64"),
        ([RAGGED[0], RAGGED[0][:, :1]], ValueError, "X[1] has 1 columns, but X[0] has 2"),
        ([[[1, 2], [3]]], ValueError, "X[0] has rows of different lengths"),
        ([RAGGED[0], []], ValueError, "sequence 1 is empty: leave empty sequences out"),
        ([], ValueError, "Found array with 0 sample(s)"),
        ([np.empty((3, 0))], ValueError, "X[0] has shape (3, 0): pass a list of arrays"),
        (np.empty((0, 3, 2)), ValueError, "Found array with 0 sample(s)"),
        (np.array([[1.0, 2.0], [np.nan] * 2]), ValueError, "sequence 1 is empty: all its values"),
        ([1.0, 2.0], TypeError, "X[0] is 1.0: pass a list of arrays"),
        (np.arange(5.0), ValueError, "pass [X] if it is one sequence"),
        ("abc", TypeError, "X is the string 'abc'"),
        ({"a": [1.0]}, TypeError, "here list(X.values())"),
        ([FRAME, FRAME[["b", "a"]]], ValueError, "X[1] has columns ['b', 'a'], but X[0] has"),
        (None, TypeError, "such as arrays of shape (length, n_columns)"),
        ({"a": [1.0]}, TypeError, "such as arrays of shape (length, n_columns), here list("),
        ("series.csv", TypeError, "the string 'series.csv': pass a list of arrays"),
        (FRAME.groupby("a"), TypeError, "pass [group for _, group in X]"),
        (list(FRAME.groupby("a")), TypeError, "X[0] is a pair of a name and a frame"),
        (np.array([[1.0, 2.0], [3.0, -np.inf]]), ValueError, "float64: sequence 1, position 1;"),
        (scipy.sparse.csr_array(np.eye(3)), TypeError, "Sparse data was passed for X"),
        (np.zeros((2, 3, 4, 5)), ValueError, "X has shape (2, 3, 4, 5); pass a list of arrays of"),
        ([[1, 2], [1j, 2]], ValueError, "X[1] holds complex numbers; give their real and"),
        ([FRAME.assign(b=["x", "y"])], ValueError, "in column 'b', but emissions are numbers: na"),
        (
            [FRAME.assign(t=pd.date_range("2020-01-01", periods=2))],
            ValueError,
            "X[0] holds Timestamp('2020-01-01 00:00:00') (text or a date) in column 't'",
        ),
        ([pd.date_range("2020-01-01", periods=2)], ValueError, "(text or a date), but its"),
    ],
)
def test_bad_numbers(X, error, message):
    fails(error, message, X)


def test_values_that_an_emission_cannot_have_are_named_by_place():
    message = "Bernoulli emissions are 0 or 1, got 2 (sequence 1, position 1, column 0)"
    fails(ValueError, message, [[0, 1, 1], [0, 2]], emission="bernoulli")
    model = fit([[0, 1, 1], [0, 2]], emission="poisson")
    with pytest.raises(ValueError, match=r"got 1\.5 \(sequence 1, position 0, column 0\)"):
        model.predict([[0, 1], [1.5]])
    mixed = Columns([(Gaussian(), [0]), (Poisson(), [1])])
    fails(ValueError, "(sequence 0, position 0, column 1)", RAGGED, emission=mixed)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"emission": "gausian"}, "emission must be 'categorical', 'gaussian', 'bernoulli'"),
        ({"emission": Gaussian}, "a class: call it, Gaussian()"),
        ({"emission": RNG}, "The 'emission' parameter of VBHMM must be"),
        ({"emission": Gaussian("round")}, "covariance_type must be one of 'full'"),
        ({"emission": Gaussian(reg_covar=-1)}, "reg_covar must be a positive number, got -1"),
        ({"emission": Columns([(Gaussian(), [0])])}, "name each of the 2 columns once"),
        ({"emission": Columns([("gaussian", [0, 1])])}, "each is an emission, such as Gaussian()"),
        ({"beta": "auto"}, "emissions have priors of their own"),
        (
            {"beta": 5},
            "own, covariance_prior, degrees_of_freedom_prior, mean_precision_prior, mean_prior of",
        ),
        ({"beta": 5, "emission": "bernoulli"}, "ones_prior, zeros_prior of Bernoulli"),
        ({"init": "word"}, "init='word' is for symbols"),
        (
            {"kind": GibbsHMM, "samples": Samples(temperatures=(2.0, 1.0))},
            "chains are not annealed",
        ),
        ({"kind": GibbsHMM, "update": "sequence"}, "take update='parameter'"),
        ({"kind": GibbsHMM, "update": "token"}, "take update='parameter'"),
        ({"kind": CVBHMM, "update": "token"}, "Windows(1) leaves out one step at a time"),
    ],
)
def test_settings_that_numbers_do_not_have(settings, message):
    fails(ValueError, message, RAGGED, **settings)


def test_samplers_of_numbers_sweep_over_parameters():
    """The default `update` depends on what states emit."""
    one, other = (fit(RAGGED, kind=GibbsHMM, update=word) for word in (None, "parameter"))
    assert same_fit(one, other)


@pytest.mark.parametrize("kind", [VBHMM, CVBHMMTagger])
def test_kmeans_is_for_numbers(kind):
    y = [["A", "B"]] if kind is CVBHMMTagger else None
    with pytest.raises(ValueError, match="'kmeans' is for numbers"):
        kind(init="kmeans").fit([["a", "b"]], y)


def test_lengths_are_told_where_to_go():
    for call in (lambda: fit(WALK, [50, 50]), lambda: fit([WALK], [50, 50])):
        with pytest.raises(ValueError, match=r"split_by_lengths\(X, lengths\)"):
            call()
    with pytest.raises(TypeError, match=r"split_by_lengths\(X, lengths\)"):
        VBHMM(emission="gaussian").fit(WALK, lengths=[50, 50])
    halves = split_by_lengths(WALK, [40, 60])
    assert [half.shape for half in halves] == [(40, 3), (60, 3)]
    assert fit(halves).n_columns_ == 3


@pytest.mark.long
def test_a_table_with_more_rows_than_columns_is_asked_about():
    """Noise around a level looks like any list of short sequences, so it is said of all tables."""
    noise = RNG.normal(9.8, 1.0, (60, 3))
    names = pd.DataFrame(noise, columns=["ax", "ay", "az"])
    message = r"each of the 60 rows of X is read as a sequence of 3 numbers.*is \[X\].*pass list"
    y = np.repeat(["a", "b"], 30)
    for X in (noise, names):
        for call in (
            lambda X=X: fit(X),
            lambda X=X: fit(X),
            lambda X=X: fit(X, transitions="independent"),
            lambda X=X: make_pipeline(StandardScaler(), VBHMM(emission="gaussian", tol=0)).fit(X),
            lambda X=X: HMMClassifier(VBHMM(emission="gaussian", tol=0)).fit(X, y),
        ):
            with pytest.warns(UserWarning, match=message) as caught:
                call()
            assert [one.filename for one in caught] == [__file__]
    wide = np.cumsum(RNG.normal(size=(20, 30)), axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for X in (list(noise), list(names.to_numpy()), [noise], [names], wide, noise[None]):
            fit(X)
        fit(noise.tolist())


def test_rows_that_are_padded_are_no_list():
    """As a list they would have steps where nothing was: the message says what reads them alike."""
    padded = RNG.normal(size=(60, 9))
    for row, length in zip(padded, RNG.integers(3, 10, 60), strict=True):
        row[length:] = np.nan
    for X, array in ((padded, "X"), (pd.DataFrame(padded), "numpy.asarray(X)")):
        with pytest.warns(UserWarning, match=r"each of the 60 rows") as caught:
            model = fit(X)
        assert str(caught[0].message).endswith(f" pass {array}[:, :, None]")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = fit(padded[:, :, None])
    assert np.array_equal(again.history_, model.history_)
    assert again.counts_.transition.sum() == pytest.approx(np.isfinite(padded).sum() - 60)


def test_one_column_of_a_frame_keeps_its_name_and_index():
    frame = pd.DataFrame({"temp": WALK[:, 0]}, index=pd.date_range("2026-01-01", periods=100))
    for X in (frame, frame["temp"]):
        parts = split_by_lengths(X, [40, 60])
        assert [part.name for part in parts] == ["temp", "temp"]
        assert [part.index[0] for part in parts] == [frame.index[0], frame.index[40]]
        assert np.array_equal(fit(parts).means_, fit([WALK[:40, 0], WALK[40:, 0]]).means_)


def test_frames_keep_their_names():
    frame = pd.DataFrame(
        {"temp": RNG.normal(size=60), "load": RNG.poisson(3, 60), "vib": RNG.normal(size=60)},
        index=pd.date_range("2026-01-01", periods=60),
    )
    parts = split_by_lengths(frame, [20, 40])
    assert [part.index[0] for part in parts] == [frame.index[0], frame.index[20]]
    by_name = Columns([(Gaussian("diag"), ["vib", "temp"]), (Poisson(), ["load"])])
    model = fit(parts, emission=by_name)
    by_number = fit(parts, emission=Columns([(Gaussian("diag"), [2, 0]), (Poisson(), [1])]))
    assert np.array_equal(model.history_, by_number.history_)
    assert np.array_equal(model.parts_[0]["means_"], by_number.parts_[0]["means_"])
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == ["temp", "load", "vib"]
    assert fit([WALK]).n_features_in_ == 3
    assert not hasattr(fit([WALK]), "feature_names_in_")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"pass \[X\]"):
            model.predict(frame)
        # Rows of a table are series of one column, of any length.
        assert fit([WALK[:, 0]]).predict(WALK[:2]).shape == (2, 3)
    wrong = Columns([(Gaussian("diag"), ["vib", "tmp"]), (Poisson(), ["load"])])
    for X, message in ((parts, "'tmp' .did you mean 'temp'"), ([WALK], "without names")):
        with pytest.raises(ValueError, match=message):
            fit(X, emission=wrong)


def test_panels_of_other_libraries_are_asked_about():
    panel = RNG.normal(size=(4, 2, 50))
    message = r"sktime and aeon.*pass X.transpose\(0, 2, 1\) or .*split_panel\(X\)"
    with pytest.warns(UserWarning, match=message) as caught:
        fit(panel)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fit(panel.transpose(0, 2, 1)).n_columns_ == 2


def test_lists_of_tables_that_lie_on_their_sides_are_asked_about():
    tables = list(RNG.normal(size=(4, 2, 50)))
    message = "X is read as 4 sequences of 2 steps and 50 columns: if columns are steps, pass [x.T"
    with pytest.warns(UserWarning, match=re.escape(message)) as caught:
        fit(tables)
    assert caught[0].filename == __file__
    with pytest.raises(ValueError, match=r"X\[1\] has 40 columns, but X\[0\] has 50: if col"):
        fit([tables[0], tables[1][:, :40]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit([table.T for table in tables])
        # Frames have names, and embeddings of sentences as many steps as words.
        fit([pd.DataFrame(table) for table in tables])
        fit([tables[0], np.vstack(tables[1:])])


@pytest.mark.parametrize("n", [2, 100])
def test_sequences_of_a_single_step_are_asked_about(n):
    """What other estimators want of one series, a column: nothing follows anything in it."""
    X = np.cumsum(RNG.normal(size=(n, 1)), axis=0)
    for given, form in (
        (X, r"pass \[X\]"),
        (X.tolist(), r"\[numpy.concatenate\(X\)\]"),
        (list(np.hstack([X, X])[:, None]), r"\[numpy.concatenate\(X\)\]"),
    ):
        with pytest.warns(
            UserWarning, match=f"{n} sequences of X has a single step.*{form}"
        ) as caught:
            fit(given)
        assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(X, transitions="independent")
        model = fit([np.concatenate(X.tolist())])
        fit(X[:1])
    with pytest.warns(UserWarning, match=f"{n} sequences of X has a single step"):
        model.predict(X)


def test_columns_without_any_value_are_named():
    x = np.column_stack([RNG.normal(size=9), np.full(9, np.nan)])
    for X, name in (([x, x], "1"), ([pd.DataFrame(x, columns=["a", "b"])] * 2, "'b'")):
        with pytest.warns(UserWarning, match=rf"no value in columns \[{name}\]") as caught:
            fit(X)
        assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="X has no value at all"):
        fit([[np.nan, np.nan], [np.nan]])


def test_parameters_of_an_emission_turn_its_word_into_the_object():
    model = VBHMM(2, emission="gaussian", max_iter=4, random_state=0)
    search = GridSearchCV(model, {"emission__covariance_type": ["diag"]}, cv=2).fit(RAGGED)
    assert model.emission == "gaussian"
    for given in ("gaussian", Gaussian()):
        model.set_params(emission=given, emission__covariance_type="diag")
        assert isinstance(model.emission, Gaussian)
        assert model.emission.covariance_type == "diag"
    assert same_fit(search.best_estimator_, model.fit(RAGGED))
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(emission__covariance="diag")
    with pytest.raises(
        ValueError, match="Invalid parameter 'covariance_type' for estimator Symbols"
    ):
        EMHMMTagger().set_params(emission__covariance_type="diag")


def test_what_follows_given_sequences_is_drawn_by_predict_next():
    model = fit(RAGGED)
    with pytest.raises(TypeError, match=r"predict_next\(X, n_steps\)\.samples are drawn to follow"):
        model.sample(RAGGED[0])
    with pytest.raises(ValueError, match=r"expecting 2 as in fit; rows of a 2-D array.*pass \[X\]"):
        model.predict(RAGGED[0])


def test_predictions_want_the_columns_of_the_fit():
    model = fit([FRAME, FRAME])
    with pytest.raises(ValueError, match="was fitted with \\['a', 'b'\\]"):
        model.predict([FRAME[["b", "a"]]])
    assert len(model.predict([FRAME.to_numpy()])[0]) == 2
    with pytest.raises(ValueError, match="X has 1 column per step, but VBHMM is expecting 2"):
        model.predict([[1.0, 2.0]])
    table = fit(RNG.normal(size=(4, 5)))
    with pytest.raises(ValueError, match="X has 6 features, but VBHMM is expecting 5"):
        table.predict(RNG.normal(size=(4, 6)))


def test_a_failed_fit_leaves_the_one_before():
    model = fit(RAGGED)
    means = model.means_.copy()
    with pytest.raises(ValueError, match="infinity"):
        model.fit([[np.inf, 1.0]])
    assert np.array_equal(model.means_, means)
    assert [len(states) for states in model.predict(RAGGED)] == [5, 7, 3]
    assert not hasattr(model.set_params(emission=Bernoulli()), "probabilities_")


@pytest.mark.parametrize("kind", KINDS)
def test_starts_and_series_may_lie_in_memory_by_columns(kind):
    starts = [RNG.dirichlet(np.ones(2), len(steps)) for steps in RAGGED]
    # One sequence alone is not copied on its way to the kernels.
    rows = fit(RAGGED[:1], kind=kind, init=starts[:1])
    columns = fit(
        [np.asfortranarray(RAGGED[0])], kind=kind, init=[np.asfortranarray(starts[0], dtype=float)]
    )
    np.testing.assert_array_equal(rows.means_, columns.means_)


def test_a_class_with_a_beta_of_its_own_learns_numbers():
    class Own(CVBHMM):
        beta = 0.5

    assert Own(2, emission="gaussian", random_state=0).fit([[0.0, 0.1, 5.0, 5.2]]).means_.size == 2
    with pytest.raises(ValueError, match="is for symbols alone"):
        Own(2, beta=0.1, emission="gaussian").fit([[0.0, 0.1, 5.0, 5.2]])
