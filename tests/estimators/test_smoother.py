"""A classifier of steps is smoothed along sequences: exact posteriors, counts, choice of weight."""

import io
import itertools
import lzma
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, StackingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_cvb import EMHMM, HMMSmoother
from sklearn_cvb.compilation.announcement import when_compiling

SETTINGS = [("raw", None), *itertools.product((1.0, 0.3, 0.1), (0.0, 1.0))]


def drawn(n, length=40, n_classes=3, stay=0.9, seed=0):
    """Sequences of classes that last, and two noisy columns of each step."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        z = [int(rng.integers(n_classes))]
        while len(z) < length:
            z.append(z[-1] if rng.random() < stay else int(rng.integers(n_classes)))
        y.append(np.array(z))
        X.append(y[-1][:, None] * [0.8, -0.5] + rng.normal(size=(length, 2)))
    return X, y


X, Y = drawn(8)
NEW, TRUTH = drawn(4, seed=1)


def same(first, second):
    return len(first) == len(second) and all(map(np.array_equal, first, second))


@pytest.mark.filterwarnings("ignore:each of the")
@pytest.mark.many(usual=6)
@parametrize_with_checks(
    [
        HMMSmoother(LogisticRegression()),
        HMMSmoother(LogisticRegression(), weight=0.3, prior_weight=0.5),
        HMMSmoother(make_pipeline(StandardScaler(), GaussianNB()), weight="raw"),
    ],
    expected_failed_checks=None,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


# Posteriors, by enumeration


def emission(model, x):
    """Weights of the classes at each step, from the fitted attributes alone."""
    proba = np.maximum(model.estimator_.predict_proba(x), 1e-3)
    return (proba / model.class_prior_**model.prior_weight_) ** model.weight_


def by_enumeration(model, x):
    """Posteriors, filtered probabilities and the best path: all paths, one by one."""
    weights = emission(model, x)
    length, n = weights.shape
    smooth, filtered, best = np.zeros((length, n)), np.zeros((length, n)), (0.0, None)
    for stop in range(1, length + 1):
        for path in itertools.product(range(n), repeat=stop):
            p = model.startprob_[path[0]] * weights[0, path[0]]
            for t in range(1, stop):
                p *= model.transmat_[path[t - 1], path[t]] * weights[t, path[t]]
            filtered[stop - 1, path[-1]] += p
            if stop == length:
                smooth[np.arange(length), path] += p
                best = max(best, (p, path))
    return (
        smooth / smooth.sum(axis=1, keepdims=True),
        filtered / filtered.sum(axis=1, keepdims=True),
        best[1],
    )


@pytest.mark.parametrize(
    ("weight", "prior_weight", "alpha"),
    [(1.0, 1.0, 1.0), (0.3, 0.0, 0.01), (0.7, 0.4, 2.5), (20.0, 1.0, 1e-10)],
)
def test_posteriors_are_those_of_all_paths(weight, prior_weight, alpha):
    rng = np.random.default_rng(3)
    y = [[None if rng.random() < 0.3 else label for label in row.tolist()] for row in Y]
    model = HMMSmoother(
        LogisticRegression(), weight=weight, prior_weight=prior_weight, alpha=alpha
    ).fit(X, y)
    assert (model.weight_, model.prior_weight_, model.cv_results_) == (weight, prior_weight, None)
    new = [x[:length] for x, length in zip(NEW, (1, 5, 4, 6), strict=True)]
    smooth, filtered = model.predict_proba(new), model.filter_proba(new)
    marginal, paths = model.predict(new), model.predict(new, decoding="viterbi")
    n_right = 0
    for i, x in enumerate(new):
        expected = by_enumeration(model, x)
        np.testing.assert_allclose(smooth[i], expected[0], rtol=0, atol=1e-10)
        np.testing.assert_allclose(filtered[i], expected[1], rtol=0, atol=1e-10)
        assert paths[i].tolist() == list(expected[2])
        assert marginal[i].tolist() == expected[0].argmax(axis=1).tolist()
        n_right += (expected[0].argmax(axis=1) == TRUTH[i][: len(x)]).sum()
    truth = [row[: len(x)] for row, x in zip(TRUTH, new, strict=True)]
    assert model.score(new, truth) == n_right / 16
    # The last step has the same past under both.
    np.testing.assert_allclose(smooth[1][-1], filtered[1][-1])


def test_sure_and_wrong_classifiers_are_floored():
    """A tree gives 0 and 1; a single step against its neighbours is overruled."""
    x = np.repeat([0.0, 1.0], 20)[:, None]
    model = HMMSmoother(DecisionTreeClassifier(), weight=1.0).fit([x], [x[:, 0].astype(int)])
    new = np.zeros((9, 1))
    new[4] = 1.0
    proba = model.predict_proba([new])[0]
    assert np.isfinite(proba).all()
    # Two switches, 2 of 42 each, against 1e-3.
    assert model.predict([new])[0].tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0]
    stiff = HMMSmoother(DecisionTreeClassifier(), weight=0.5).fit([x], [x[:, 0].astype(int)])
    assert stiff.predict([new])[0].tolist() == [0] * 9


def test_smoothing_helps_where_steps_are_independent():
    model = HMMSmoother(LogisticRegression()).fit(X, Y)
    single = HMMSmoother(LogisticRegression(), weight="raw").fit(X, Y)
    assert model.weight_ != "raw"
    assert model.score(NEW, TRUTH) > single.score(NEW, TRUTH) + 0.1


def test_raw_is_the_classifier():
    model = HMMSmoother(LogisticRegression(), weight="raw").fit(X, Y)
    expected = LogisticRegression().fit(np.concatenate(X), np.concatenate(Y))
    for method in ("predict_proba", "filter_proba"):
        own = [expected.predict_proba(x) for x in NEW]
        np.testing.assert_allclose(np.concatenate(getattr(model, method)(NEW)), np.concatenate(own))
    for decoding in ("marginal", "viterbi"):
        assert same(model.predict(NEW, decoding), [expected.predict(x) for x in NEW])
    assert (model.weight_, model.prior_weight_) == ("raw", None)


class Singles(GaussianNB):
    """Gives probabilities in single precision, a column after the other."""

    def predict_proba(self, X):
        return np.asfortranarray(super().predict_proba(X), np.float32)


def test_probabilities_of_another_type_compile_nothing():
    expected, compiled = HMMSmoother(GaussianNB(), weight=1.0).fit(X, Y), []
    for decoding in ("marginal", "viterbi"):
        expected.predict(NEW, decoding)
    proba, filtered = expected.predict_proba(NEW), expected.filter_proba(NEW)
    model = HMMSmoother(Singles(), weight=1.0).fit(X, Y)
    with when_compiling(lambda: compiled.append(None)):
        for decoding in ("marginal", "viterbi"):
            assert same(model.predict(NEW, decoding), expected.predict(NEW, decoding))
        np.testing.assert_allclose(model.predict_proba(NEW)[0], proba[0], atol=1e-5)
        np.testing.assert_allclose(model.filter_proba(NEW)[0], filtered[0], atol=1e-5)
    assert compiled == []


# What labels tell


def test_transitions_starts_and_shares_by_hand():
    y = [["b", "b", None, "a", "a"], [None, "a", "b"], ["b"]]
    x = [np.arange(len(row))[:, None] for row in y]
    model = HMMSmoother(GaussianNB(), weight=1.0, alpha=0.5).fit(x, y)
    assert model.classes_.tolist() == ["a", "b"]
    # Sequences begin with b twice, once with what is not known.
    np.testing.assert_allclose(model.startprob_, [0.5 / 3, 2.5 / 3])
    # a a, a b; b b; none across the gap, nor between sequences.
    np.testing.assert_allclose(model.transmat_, [[0.5, 0.5], [0.25, 0.75]])
    np.testing.assert_allclose(model.class_prior_, [3 / 7, 4 / 7])
    # The classifier has seen the labelled steps alone.
    assert model.estimator_.class_count_.tolist() == [3, 4]
    np.testing.assert_allclose(
        model.estimator_.theta_[:, 0], [(3 + 4 + 1) / 3, (0 + 1 + 2 + 0) / 4]
    )


NUMBERED = [np.array([0, 0, 1, 2, 2]), np.array([1, 2, 0])]
STEPS = [np.arange(5.0)[:, None], np.arange(3.0)[:, None]]


@pytest.mark.parametrize(
    "labels",
    [
        [[0, 0, None, 2, 2], [1, 2, 0]],
        [np.array([0, 0, np.nan, 2, 2]), np.array([1, 2, 0])],
        [np.array([0, 0, -1, 2, 2]), [1, 2, 0]],
        pd.Series([pd.Series([0, 0, pd.NA, 2, 2], dtype="Int64"), pd.Series([1, 2, 0])]),
        [pl.Series([0, 0, None, 2, 2]), pl.Series([1, 2, 0])],
        np.array([[0, 0, None, 2, 2], [1, 2, 0]], dtype=object),
    ],
)
def test_steps_without_a_label(labels):
    model = HMMSmoother(GaussianNB(), weight=1.0).fit(STEPS, labels)
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.estimator_.class_count_.tolist() == [3, 1, 3]
    np.testing.assert_allclose(model.transmat_ * [[4], [4], [5]], [[2, 1, 1], [1, 1, 2], [2, 1, 2]])
    right = model.predict(STEPS)
    n = sum(right[i][t] == NUMBERED[i][t] for i in (0, 1) for t in range(len(right[i])))
    n -= right[0][2] == NUMBERED[0][2]
    assert model.score(STEPS, labels) == n / 7


def test_a_sequence_without_labels():
    known = HMMSmoother(GaussianNB(), weight=1.0).fit(STEPS[:1], NUMBERED[:1])
    more = HMMSmoother(GaussianNB(), weight=1.0).fit(STEPS, [NUMBERED[0], None])
    assert same(known.predict_proba(STEPS), more.predict_proba(STEPS))
    assert more.score(STEPS, [NUMBERED[0], None]) == known.score(STEPS[:1], NUMBERED[:1])


def test_minus_one_is_a_class_beside_one_other(recwarn):
    signs = [np.where(row > 0, 1, -1) for row in NUMBERED]
    model = HMMSmoother(GaussianNB(), weight=1.0).fit(STEPS, signs)
    assert model.classes_.tolist() == [-1, 1]
    assert model.score(STEPS, signs) == np.mean(
        np.concatenate(model.predict(STEPS)) == np.concatenate(signs)
    )
    assert not recwarn.list


def test_minus_one_beside_0_and_1_is_told():
    labels = [row - 1 for row in NUMBERED]
    with pytest.warns(UserWarning, match="-1 in y is read as a step without label"):
        model = HMMSmoother(GaussianNB(), weight=1.0).fit(STEPS, labels)
    assert model.classes_.tolist() == [0, 1]
    text = HMMSmoother(GaussianNB(), weight=1.0).fit(STEPS, [row.astype(str) for row in labels])
    assert text.classes_.tolist() == ["-1", "0", "1"]
    # Labels of a score need not have all classes.
    found = model.predict(STEPS)[1][:2]
    assert model.score(STEPS, [[-1] * 5, [0, 1, -1]]) == np.mean(found == [0, 1])
    # Nor of the right kind.
    assert model.score(STEPS, [["0"] * 5, ["1"] * 3]) == 0
    with pytest.raises(ValueError, match="y holds no label"):
        model.score(STEPS, [[-1] * 5, [-1] * 3])


# Cross-validation


def restated(estimator, x, y, n_folds=10, alpha=1.0):
    """The mean over folds of the share that each setting has right; one sequence is cut evenly.

    Given all steps, and given those so far.
    """
    if len(x) == 1:
        ends = [len(x[0]) * k // n_folds for k in range(n_folds + 1)]
        x, y = ([one[0][a:b] for a, b in itertools.pairwise(ends)] for one in (x, y))
    shares = []
    for train, test in KFold(min(n_folds, len(x))).split(x):
        row = []
        for weight, prior_weight in SETTINGS:
            settings = {"weight": weight, "prior_weight": prior_weight or 0.0, "alpha": alpha}
            model = HMMSmoother(estimator, **settings)
            model.fit([x[i] for i in train], [y[i] for i in train])
            new, truth = [x[i] for i in test], np.concatenate([y[i] for i in test])
            past = model.classes_[np.concatenate(model.filter_proba(new)).argmax(axis=1)]
            row.append(
                [np.mean(np.concatenate(model.predict(new)) == truth), np.mean(past == truth)]
            )
        shares.append(row)
    return np.mean(shares, axis=0).T


@pytest.mark.parametrize("case", ["sequences", "one", "repeated", "flat"])
def test_cross_validation_chooses_what_a_plain_restatement_chooses(case):
    x, y = drawn(9, 30, seed=5)
    if case == "one":
        x, y = [np.concatenate(x)], [np.concatenate(y)]
    if case == "repeated":
        # Ten times the same row tell no more than one.
        x, y = ([np.repeat(row, 10, axis=0) for row in rows] for rows in (x, y))
    if case == "flat":
        x, y = drawn(9, 30, stay=0.0, seed=6)
    model = HMMSmoother(GaussianNB()).fit(x, y)
    expected = restated(GaussianNB(), x, y)
    assert (model.weight_, model.prior_weight_) == SETTINGS[expected[0].argmax()]
    of_filter = model.filter_weight_, model.filter_prior_weight_
    assert of_filter == SETTINGS[expected[1].argmax()]
    np.testing.assert_allclose(model.cv_results_["accuracy"], expected[0])
    np.testing.assert_allclose(model.cv_results_["filter_accuracy"], expected[1])
    names = "weight", "prior_weight"
    assert model.cv_results_["params"] == [dict(zip(names, own, strict=True)) for own in SETTINGS]
    assert (model.weight_ == "raw") == (case == "flat")
    # Nothing depends on the number of threads, and what is chosen is what a number gives.
    again = HMMSmoother(GaussianNB(), n_jobs=2).fit(x, y)
    assert same(again.predict_proba(x), model.predict_proba(x))
    prior_weight = 0.0 if model.weight_ == "raw" else model.prior_weight_
    fixed = HMMSmoother(GaussianNB(), weight=model.weight_, prior_weight=prior_weight).fit(x, y)
    assert same(fixed.predict_proba(x), model.predict_proba(x))


def test_number_of_folds():
    model = HMMSmoother(GaussianNB(), cv=2).fit(X, Y)
    expected = restated(GaussianNB(), X, Y, 2)
    np.testing.assert_allclose(model.cv_results_["accuracy"], expected[0])


def test_a_fold_may_lack_a_class():
    """Class 3 is in one sequence alone: nobody can find it where that one is tested."""
    x, y = drawn(6, 30, seed=7)
    y[2] = np.where(np.arange(30) < 15, 3, y[2])
    model = HMMSmoother(GaussianNB()).fit(x, y)
    assert model.classes_.tolist() == [0, 1, 2, 3]
    expected = restated(GaussianNB(), x, y)
    np.testing.assert_allclose(model.cv_results_["accuracy"], expected[0])


@pytest.mark.parametrize(
    "labels",
    [
        [["a", None, None, None], ["b", None, None, None]],
        [["a"] * 9],
    ],
)
def test_where_no_fold_can_be_fitted_nothing_is_smoothed(labels):
    x = [np.arange(len(row), dtype=float)[:, None] + i for i, row in enumerate(labels)]
    with pytest.warns(UserWarning, match="no fold can be fitted"):
        model = HMMSmoother(GaussianNB(), cv=3).fit(x, labels)
    assert (model.weight_, model.prior_weight_, model.cv_results_) == ("raw", None, None)
    assert same(model.predict_proba(x), [model.estimator_.predict_proba(own) for own in x])


# Containers


@pytest.mark.parametrize(
    "form",
    [
        tuple,
        pd.Series,
        lambda rows: np.array([*rows, None], object)[:-1],
        lambda rows: [row.tolist() for row in rows],
        lambda rows: rows[0][None],
    ],
)
def test_all_containers_are_the_same(form):
    expected = HMMSmoother(LogisticRegression(), weight=1.0).fit(X[:1], Y[:1])
    x, y = form(X[:1]), form(Y[:1])
    model = HMMSmoother(LogisticRegression(), weight=1.0).fit(x, y)
    for method in ("predict", "predict_proba", "filter_proba"):
        found = getattr(model, method)(x)
        assert same(found, getattr(expected, method)(X[:1]))
        assert found.dtype == object or found.shape[:2] == (1, 40)


def test_cubes_give_cubes_and_lists_arrays_of_arrays():
    model = HMMSmoother(LogisticRegression(), weight=1.0).fit(np.stack(X), np.stack(Y))
    assert model.predict(np.stack(NEW)).shape == (4, 40)
    assert model.predict_proba(np.stack(NEW)).shape == (4, 40, 3)
    # As those of other models.
    other = EMHMM(2, emission="gaussian", max_iter=2, tol=0, random_state=0).fit(X)
    for x in (NEW, np.stack(NEW)):
        for method in ("predict", "predict_proba", "filter_proba"):
            found, expected = getattr(model, method)(x), getattr(other, method)(x)
            assert (found.dtype == object) == (expected.dtype == object)
            assert found.shape[:2] == expected.shape[:2]


def frames(sequences, library):
    names = ["speed", "turn"]
    made = [pd.DataFrame(x, columns=names) for x in sequences]
    made = [frame.assign(side=np.where(frame["speed"] > 1, "left", "right")) for frame in made]
    return [pl.from_pandas(frame) for frame in made] if library == "polars" else made


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library):
    columns = make_column_transformer(
        (StandardScaler(), ["speed", "turn"]), (OneHotEncoder(), ["side"])
    )
    pipeline = make_pipeline(columns, LogisticRegression())
    x, new = frames(X, library), frames(NEW, library)
    y = [[None if t % 5 == 0 else label for t, label in enumerate(row.tolist())] for row in Y]
    model = HMMSmoother(pipeline).fit(x, y)
    assert model.feature_names_in_.tolist() == ["speed", "turn", "side"]
    assert model.n_features_in_ == 3
    whole = pd.concat(frames(X, "pandas"), ignore_index=True)
    known = np.arange(len(whole)) % 5 != 0
    alone = clone(pipeline).fit(whole[known], np.concatenate(Y)[known])
    raw = HMMSmoother(pipeline, weight="raw").fit(x, y)
    expected = [alone.predict_proba(frame) for frame in frames(NEW, "pandas")]
    np.testing.assert_allclose(np.concatenate(raw.predict_proba(new)), np.concatenate(expected))
    assert model.score(new, TRUTH) > raw.score(new, TRUTH)
    renamed = [
        frame.rename({"turn": "t"}) if library == "polars" else frame.rename(columns={"turn": "t"})
        for frame in new
    ]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(renamed)
    with pytest.raises(ValueError, match=r"X\[1\] has columns .*'t'.* but X\[0\] has"):
        HMMSmoother(pipeline).fit([x[0], renamed[0]], y[:2])


def test_a_table_is_read_as_single_steps_and_told(recwarn):
    table, labels = X[0], Y[0]
    with pytest.warns(UserWarning, match=r"each of the 40 rows .* passed as \[X\] and \[y\]"):
        model = HMMSmoother(LogisticRegression()).fit(table, labels)
    assert model.weight_ == "raw"
    assert model.predict(NEW[0]).shape == (40,)
    assert model.predict_proba(NEW[0]).shape == model.filter_proba(NEW[0]).shape == (40, 3)
    expected = LogisticRegression().fit(table, labels)
    assert np.array_equal(model.predict(NEW[0]), expected.predict(NEW[0]))
    assert model.score(NEW[0], TRUTH[0]) == expected.score(NEW[0], TRUTH[0])
    # Given a weight, the shares of the classes are taken out, and those of starts put in.
    with pytest.warns(UserWarning, match="each of the 40 rows"):
        model = HMMSmoother(LogisticRegression(), weight=1.0).fit(table, labels)
    weights = model.startprob_ * emission(model, NEW[0])
    expected = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(NEW[0]), expected)
    with pytest.warns(UserWarning, match="each of the 40 rows"):
        HMMSmoother(LogisticRegression()).fit(pd.DataFrame(table), pd.Series(labels))


@pytest.mark.filterwarnings("ignore:each of the")
@pytest.mark.parametrize("kind", [list, lambda labels: pd.Series(labels, dtype="Int64")])
def test_a_table_with_rows_that_have_no_label(kind):
    labels = [None if t % 3 else label for t, label in enumerate(Y[0].tolist())]
    model = HMMSmoother(GaussianNB()).fit(X[0], kind(labels))
    expected = GaussianNB().fit(X[0][::3], Y[0][::3])
    assert np.array_equal(model.predict_proba(NEW[0]), expected.predict_proba(NEW[0]))


@pytest.mark.parametrize("is_first", [True, False])
def test_columns_with_and_without_names_are_told_once(is_first, recwarn):
    both = [[X, NEW], [frames(own, "pandas") for own in (X, NEW)]]
    both[1] = [[frame[["speed", "turn"]] for frame in own] for own in both[1]]
    (x, _), (_, new) = both if is_first else both[::-1]
    found = HMMSmoother(LogisticRegression(), weight=1.0).fit(x, Y).predict(new)
    (told,) = recwarn.list
    assert "HMMSmoother was fitted with" in str(told.message)
    assert same(found, HMMSmoother(LogisticRegression(), weight=1.0).fit(X, Y).predict(NEW))


def test_a_recording_without_brackets_is_told_of():
    model = HMMSmoother(LogisticRegression(), weight=1.0).fit(X, Y)
    with pytest.warns(UserWarning, match="each of the 40 rows"):
        assert model.predict(NEW[0]).shape == (40,)


# Errors


FAULTS = [
    (lambda: (X[:2], [Y[0], Y[1][:-1]]), r"sequence 1 has 40 tokens but y\[1\] has 39 labels"),
    (lambda: (X[:2], Y[:1]), "X holds 2 sequences but y 1"),
    (lambda: (X[:2], [0, 1]), r"y\[0\] is the single value 0"),
    (lambda: (X[0], [Y[0]]), "y should be a 1d array"),
    (lambda: (X[0], Y[0][:-1]), "inconsistent numbers of samples"),
    (lambda: (X[0][:, 0], Y[0]), "Reshape your data"),
    (lambda: ([X[0][:, 0]], [Y[0]]), r"X\[0\] has shape \(40,\)|y should be a 1d array"),
    (lambda: ([X[0], X[1][:, :1]], Y[:2]), r"X\[1\] has shape \(40, 1\), X\[0\] \(40, 2\)"),
    (lambda: ([X[0], X[1][:0]], [Y[0], []]), r"sequences of \[40, 0\] steps"),
    (lambda: ([], []), "0 sample"),
    (lambda: (X[:1], [[None] * 40]), "y holds no label"),
    (lambda: (X[:1], [["a", 1] * 20]), "all of them text or all numbers"),
    (lambda: (X[:1], [[[0, 1]] * 40]), "a label for each step|not hashable"),
    (lambda: (X[:1], [np.linspace(0, 1, 40)]), "Unknown label type"),
    (lambda: ([frames(X[:1], "pandas")[0].to_dict("list")], Y[:1]), "shape"),
]


@pytest.mark.parametrize(("given", "told"), FAULTS, ids=range(len(FAULTS)))
def test_what_cannot_be_fitted_is_told(given, told):
    model = HMMSmoother(LogisticRegression())
    with pytest.raises((ValueError, TypeError), match=told):
        model.fit(*given())
    assert vars(model).keys() == model.get_params(deep=False).keys()


@pytest.mark.parametrize(
    "estimator", [LinearSVC(), SVC(), make_pipeline(StandardScaler(), LinearSVC())]
)
def test_classifiers_without_probabilities_are_refused_by_name(estimator):
    name = type(estimator).__name__
    told = rf"{name} has no predict_proba.*CalibratedClassifierCV\({name}"
    with pytest.raises(TypeError, match=told):
        HMMSmoother(estimator).fit(X, Y)
    model = HMMSmoother(CalibratedClassifierCV(estimator)).fit(X, Y)
    assert model.score(NEW, TRUTH) > 0.8


def test_a_stack_has_probabilities_once_it_is_fitted():
    stack = StackingClassifier([("bayes", GaussianNB())], cv=2)
    assert HMMSmoother(stack, weight=1.0).fit(X[:2], Y[:2]).predict(X[:1])[0].shape == (40,)


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"weight": 0}, "'weight' parameter"),
        ({"weight": "none"}, "'weight' parameter"),
        ({"prior_weight": 1.5}, "'prior_weight' parameter"),
        ({"alpha": 0.0}, "'alpha' parameter"),
        ({"cv": 1}, "'cv' parameter"),
        ({"estimator": 3}, "'estimator' parameter"),
    ],
)
def test_bad_settings_are_named(settings, told):
    with pytest.raises(ValueError, match=told):
        HMMSmoother(**{"estimator": GaussianNB()} | settings).fit(X, Y)
    with pytest.raises(ValueError, match="decoding must be 'marginal' or 'viterbi'"):
        HMMSmoother(GaussianNB(), weight=1.0).fit(X, Y).predict(X, decoding="map")


def test_before_a_fit():
    for method in ("predict", "predict_proba", "filter_proba"):
        with pytest.raises(NotFittedError):
            getattr(HMMSmoother(GaussianNB()), method)(X)


# scikit-learn's tools


def test_a_second_fit_leaves_nothing_of_the_first():
    model = HMMSmoother(GaussianNB()).fit(X, Y)
    assert model.cv_results_ is not None
    named = [pd.DataFrame(x, columns=["a", "b"]) for x in X]
    model.set_params(weight=0.5).fit(named, Y)
    assert model.cv_results_ is None
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert not hasattr(model.fit(X, Y), "feature_names_in_")


def test_clones_pickles_and_nested_parameters():
    model = HMMSmoother(LogisticRegression(C=3.0), n_jobs=2).set_params(estimator__C=0.5)
    assert clone(model).estimator.C == 0.5
    again = pickle.loads(pickle.dumps(model.fit(X, Y)))
    for method in ("predict", "predict_proba", "filter_proba"):
        assert same(getattr(again, method)(NEW), getattr(model, method)(NEW))
    # The one that was given stays as it was.
    assert not hasattr(model.estimator, "classes_")


def test_searches_over_sequences():
    asked = {"estimator__C": [1e-4, 1.0]}
    smoother = HMMSmoother(LogisticRegression(), weight=1.0)
    search = GridSearchCV(smoother, asked, cv=KFold(3)).fit(X, Y)
    assert search.best_params_ == {"estimator__C": 1.0}
    folds = list(KFold(3).split(X))
    for k, (train, test) in enumerate(folds):
        own = clone(smoother).fit([X[i] for i in train], [Y[i] for i in train])
        expected = own.score([X[i] for i in test], [Y[i] for i in test])
        assert search.cv_results_[f"split{k}_test_score"][1] == expected
    assert same(search.predict(NEW), clone(smoother).fit(X, Y).predict(NEW))
    found = cross_val_predict(smoother, X, np.array([*Y, None], object)[:-1], cv=KFold(3))
    assert same(
        found[folds[0][1]],
        clone(smoother)
        .fit([X[i] for i in folds[0][0]], [Y[i] for i in folds[0][0]])
        .predict([X[i] for i in folds[0][1]]),
    )


# Real data


@pytest.fixture(scope="module")
def watch(data_folder):
    """Exercises by a watch: ten recordings to fit, ten of others to test."""
    with np.load(data_folder / "activity" / "watch.npz") as file:
        cuts = np.cumsum(file["lengths"])[:-1]
        rows, labels = np.split(file["rows"], cuts), np.split(file["labels"], cuts)
    return rows[:10], labels[:10], rows[10:], labels[10:]


@pytest.fixture(scope="module")
def occupancy(data_folder):
    """A room by the minute: is anybody there?"""
    read = []
    for name in ("datatraining", "datatest", "datatest2"):
        text = lzma.decompress((data_folder / "activity" / f"occupancy_{name}.txt.xz").read_bytes())
        frame = pd.read_csv(io.BytesIO(text))
        columns = frame[["Temperature", "Humidity", "Light", "CO2"]]
        read.append((columns, frame["Occupancy"]))
    (first, *others), (y, *truth) = zip(*read, strict=True)
    return [first], [y], others, truth


def right(model, X, y, method="predict"):
    found = getattr(model, method)(X)
    if method != "predict":
        found = [model.classes_[own.argmax(axis=1)] for own in found]
    return 100 * np.mean(np.concatenate(found) == np.concatenate(y))


def estimators(name):
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    forest = RandomForestClassifier(100, random_state=0)
    return {"logistic": logistic, "forest": forest}[name]


@pytest.mark.long(usual=True)
@pytest.mark.parametrize(
    ("name", "least", "least_causal"), [("logistic", 82, 78.9), ("forest", 84, 82)]
)
def test_exercises_by_a_watch(watch, name, least, least_causal):
    x, y, new, truth = watch
    model = HMMSmoother(estimators(name)).fit(x, y)
    single = np.concatenate([model.estimator_.predict(own) for own in new])
    assert right(model, new, truth) >= least
    assert right(model, new, truth, "filter_proba") >= least_causal
    assert 100 * np.mean(single == np.concatenate(truth)) < least - 7
    n_switches = sum((np.diff(row) != 0).sum() for row in model.predict(new))
    assert n_switches < 0.1 * (np.diff(single) != 0).sum()


@pytest.mark.long(usual=True)
@pytest.mark.parametrize("name", ["logistic", "forest"])
def test_a_room_is_no_worse_than_without_smoothing(occupancy, name):
    x, y, new, truth = occupancy
    model = HMMSmoother(estimators(name)).fit(x, y)
    single = np.concatenate([model.estimator_.predict(own) for own in new])
    raw = 100 * np.mean(single == np.concatenate(truth))
    assert right(model, new, truth) >= raw - 0.3
    assert right(model, new, truth, "filter_proba") >= raw - 0.3


def test_rows_that_are_independent_given_the_class():
    rng = np.random.default_rng(0)
    means = rng.normal(size=(5, 12)) * 0.35

    def make():
        labels = []
        for _ in range(10):
            z = [int(rng.integers(5))]
            while len(z) < 500:
                z.append(z[-1] if rng.random() < 0.98 else int(rng.integers(5)))
            labels.append(np.array(z))
        return [means[z] + rng.normal(size=(500, 12)) for z in labels], labels

    x, y = make()
    new, truth = make()
    model = HMMSmoother(estimators("logistic")).fit(x, y)
    assert right(model, new, truth) >= 95
    single = HMMSmoother(estimators("logistic"), weight="raw").fit(x, y)
    assert right(single, new, truth) < 60
