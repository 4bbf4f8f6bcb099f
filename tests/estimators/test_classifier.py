"""Sequences are classified by one model a class: Bayes' rule, containers, searches, bad input."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, HMMClassifier, Symbols
from sklearn_cvb.emissions import Gaussian

RNG = np.random.default_rng(0)


def drawn(n, jump):
    """Series that stay where they are, or jump at every step."""
    steps = np.arange(RNG.integers(6, 14))
    side = steps % 2 if jump else steps >= len(steps) // 2
    return [RNG.normal(3.0 * side[:, None], 1.0, (len(steps), 2)) for _ in range(n)]


X = [x for _ in range(6) for x in (*drawn(2, True), *drawn(3, False))]
y = np.array(["jumps", "jumps", "stays", "stays", "stays"] * 6)
WORDS = [list("abab"), list("baba"), list("aabb"), list("aaac"), list("babab"), list("bbaa")]
KINDS = ["jumps", "jumps", "stays", "stays", "jumps", "stays"]


def quick(kind=VBHMM, **keywords):
    return HMMClassifier(kind(2, emission="gaussian", random_state=0, max_iter=20), **keywords)


@pytest.mark.many(usual=5)
@parametrize_with_checks(
    [
        HMMClassifier(VBHMM(max_iter=4, emission="gaussian", random_state=0)),
        HMMClassifier(CVBHMM(max_iter=4, random_state=0)),
    ],
    expected_failed_checks=None,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


def test_bayes_rule_by_hand():
    model = quick().fit(X, y)
    assert model.classes_.tolist() == ["jumps", "stays"]
    assert model.class_count_.tolist() == [12, 18]
    own = [
        clone(model.estimator).fit([x for x, of in zip(X, y, strict=True) if of == label])
        for label in model.classes_
    ]
    logs = np.stack([one.score_samples(X) for one in own], axis=1) + np.log([0.4, 0.6])
    np.testing.assert_allclose(model.predict_proba(X), softmax(logs, axis=1), atol=1e-12)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    np.testing.assert_allclose(model.decision_function(X), logs[:, 1] - logs[:, 0], atol=1e-9)
    assert (model.predict(X) == model.classes_[logs.argmax(axis=1)]).all()
    assert model.score(X, y) == np.mean(model.predict(X) == y) > 0.9


def test_priors():
    short = [x[:1] for x in X]
    given = quick(priors=[0.999, 0.001]).fit(X, y)
    assert (given.predict(short) == "jumps").all()
    logs = quick().fit(X, y).predict_log_proba(short) - np.log([0.4, 0.6])
    expected = softmax(logs + np.log([0.999, 0.001]), axis=1)
    np.testing.assert_allclose(given.predict_proba(short), expected)
    # A class that cannot be.
    certain = quick(priors=[0, 1]).fit(X, y)
    assert (certain.predict(X) == "stays").all()
    assert (certain.decision_function(X) == 1e300).all()


def test_symbols_of_all_classes_are_known_to_each():
    """Without a common vocabulary likelihoods would be of different events."""
    model = HMMClassifier(VBHMM(2, random_state=0)).fit(WORDS, KINDS)
    assert [one.vocabulary_.tolist() for one in model.estimators_] == [["a", "b", "c"]] * 2
    assert model.estimator.emission == "categorical"
    assert model.predict([list("ababa"), list("aac")]).tolist() == ["jumps", "stays"]
    own = HMMClassifier(VBHMM(2, random_state=0, emission=Symbols(vocabulary=list("abcd")))).fit(
        WORDS, KINDS
    )
    assert len(own.estimators_[0].vocabulary_) == 4


def test_odds_of_three_classes():
    model = HMMClassifier(VBHMM(2, random_state=0)).fit(WORDS, [*KINDS[:4], "new", "new"])
    proba = model.predict_proba(WORDS)
    np.testing.assert_allclose(model.decision_function(WORDS), np.log(proba / (1 - proba)))


def test_what_nothing_explains_gets_the_prior():
    model = HMMClassifier(EMHMM(1, emission=Symbols(vocabulary=list("ab"), handle_unknown="error")))
    model.fit([["a", "a"]] * 4, ["up"] * 3 + ["down"])
    assert np.isneginf(model.estimators_[0].score_samples([["b"]]))
    np.testing.assert_allclose(model.predict_proba([["b"]]), [[0.25, 0.75]])


@pytest.mark.many(usual=2)
@pytest.mark.parametrize(
    "form",
    [
        tuple,
        lambda rows: [row.tolist() for row in rows],
        pd.Series,
        lambda rows: pd.Series(rows, index=range(50, 50 + len(rows))),
        lambda rows: np.array([*rows, None], object)[:-1],
    ],
)
def test_all_containers_are_the_same(form):
    expected = quick().fit(X, y).predict_proba(X)
    model = quick().fit(form(X), pd.Series(y, index=range(7, 37)))
    assert np.array_equal(model.predict_proba(form(X)), expected)


def test_arrays_of_rows_and_of_equal_lengths():
    rows = np.array([x[:6, 0] for x in X])
    model = quick().fit(rows, y)
    assert model.n_features_in_ == 6
    for form in (list(rows), rows[:, :, None]):
        other = quick().fit(form, y)
        # Those of a step, where sequences are no rows.
        assert other.n_features_in_ == 1
        assert np.array_equal(other.predict_proba(form), model.predict_proba(rows))
    frame = pd.DataFrame(rows, columns=list("abcdef"))
    assert quick().fit(frame, y).feature_names_in_.tolist() == list("abcdef")
    # Sequences of any length come in a list.
    assert len(model.predict([row[:4] for row in rows])) == 30


@pytest.mark.long
def test_searches_and_cross_validation():
    grid = {
        "estimator__n_components": [1, 2],
        "estimator__emission__covariance_type": ["diag", "full"],
    }
    model = HMMClassifier(VBHMM(emission=Gaussian(), random_state=0, max_iter=10))
    search = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_["estimator__n_components"] == 2
    assert search.best_score_ > 0.9
    scores = cross_val_score(quick(), X, y, cv=3, scoring="neg_log_loss")
    parts = list(StratifiedKFold(3).split(y, y))
    for score, (train, test) in zip(scores, parts, strict=True):
        fitted = quick().fit([X[i] for i in train], y[train])
        proba = fitted.predict_proba([X[i] for i in test])
        columns = np.searchsorted(fitted.classes_, y[test])
        expected = np.log(proba[np.arange(len(test)), columns].clip(1e-15)).mean()
        assert score == pytest.approx(expected, abs=1e-6)


def test_pickle_pipeline_threads_and_clone():
    model = quick().fit(X, y)
    expected = model.predict_log_proba(X)
    halved = make_pipeline(FunctionTransformer(lambda rows: list(rows)), quick()).fit(X, y)
    copies = [pickle.loads(pickle.dumps(model)), clone(model).fit(X, y), halved]
    for copy in (*copies, quick(n_jobs=2).fit(X, y)):
        assert np.array_equal(copy.predict_log_proba(X), expected)
    assert model.set_params(estimator__n_components=1).estimator.n_components == 1


def test_one_sequence_a_class_and_one_class():
    model = quick().fit([X[0], X[2]], ["a", "b"])
    assert model.predict([X[0], X[2]]).tolist() == ["a", "b"]
    with pytest.raises(ValueError, match=r"at least 2 classes in the data, .* one class: 3"):
        quick().fit(X[:2], [3, 3])


@pytest.mark.parametrize(
    ("rows", "labels", "error", "message"),
    [
        (X, y[:-1], ValueError, "inconsistent numbers of samples: [30, 29]"),
        (X, None, ValueError, "give one label for each sequence"),
        (X, [["a"] * len(x) for x in X], ValueError, "labels of its steps"),
        ([], [], ValueError, "Found array with 0 sample(s)"),
        (X, np.linspace(0.1, 1, 30), ValueError, "Unknown label type: continuous"),
        ([[1.0, 2.0], [np.inf]], ["a", "b"], ValueError, "column 0; NaN stands for a missing"),
        ([[1.0, 2.0], [np.inf]], ["a", "b"], ValueError, "(among those of class 'b')"),
        (
            [X[0], X[1][:, :1], X[2]],
            ["a", "a", "b"],
            ValueError,
            "X[1] has 1 columns, but X[0] has 2",
        ),
        ([X[0], X[1][:, :1]], ["a", "b"], ValueError, "in another: {'a': 2, 'b': 1}"),
    ],
)
def test_bad_input(rows, labels, error, message):
    with pytest.raises(error, match=re.escape(message)):
        quick().fit(rows, labels)


def test_bad_settings():
    for priors, message in (
        ([0.5], r"priors has shape \(1,\), but y has 2 classes"),
        ([0.5, 0.6], "probabilities that sum to 1"),
        ([-0.5, 1.5], "probabilities that sum to 1"),
        ([np.nan, np.nan], "probabilities that sum to 1"),
        ([0.5, np.nan], "probabilities that sum to 1"),
        ([np.inf, 0.0], "probabilities that sum to 1"),
        ([[0.5, 0.5]], r"priors has shape \(1, 2\), but y has 2 classes"),
    ):
        with pytest.raises(ValueError, match=message):
            quick(priors=priors).fit(X, y)
    with pytest.raises(ValueError, match="'estimator' parameter of HMMClassifier must be"):
        HMMClassifier("VBHMM").fit(X, y)
    with pytest.raises(TypeError, match=r"split_by_lengths\(X, lengths\)"):
        quick().fit(X, y, lengths=[3])
    with pytest.raises(NotFittedError):
        quick().predict(X)
