"""Weights of predictions are made once for each fit, and are kept by nothing but the fit itself."""

import copy
import pickle

import numpy as np
import pytest

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM
from sklearn_cvb.chain.parameters import rows

X = [list("abcab"), list("bca"), list("cabca")] * 3
SERIES = [np.r_[np.zeros(6), np.full(6, 9.0)][:, None] + np.arange(12)[:, None] / 50]


def models():
    yield pytest.param(EMHMM(2, random_state=0, max_iter=5), X, id="symbols by EM")
    yield pytest.param(VBHMM(2, random_state=0, max_iter=5), X, id="symbols by VB")
    yield pytest.param(CVBHMM(2, random_state=0, max_iter=5), X, id="symbols by CVB")
    yield pytest.param(GibbsHMM(2, random_state=0, max_iter=20), X, id="symbols by sampling")
    numbers = VBHMM(2, emission="gaussian", random_state=0, max_iter=5)
    yield pytest.param(numbers, SERIES, id="numbers")


def answers(model, X):
    """All that is read off the weights of a fit."""
    asked = model.predict, model.predict_proba, model.score_samples, model.filter_proba
    return np.concatenate([np.ravel(part) for ask in asked for part in ask(X)])


@pytest.mark.parametrize(("model", "X"), models())
def test_predictions_do_not_depend_on_what_was_asked_before(model, X):
    fitted = model.fit(X)
    fresh = [copy.deepcopy(fitted) for _ in range(2)]
    first, again = answers(fitted, X), answers(fitted, X)
    np.testing.assert_array_equal(first, again)
    # Each asked of a model that nothing was asked of before, the other way round.
    np.testing.assert_array_equal(
        np.concatenate([np.ravel(part) for part in fresh[0].score_samples(X)]),
        np.concatenate([np.ravel(part) for part in fitted.score_samples(X)]),
    )
    for mine, its in zip(fresh[1].filter_proba(X), fitted.filter_proba(X), strict=True):
        np.testing.assert_array_equal(mine, its)


def test_weights_are_made_once_for_each_fit(monkeypatch):
    made = []
    posterior_mean = rows.posterior_mean
    monkeypatch.setattr(rows, "posterior_mean", lambda *a: made.append(1) or posterior_mean(*a))
    model = CVBHMM(2, random_state=0, max_iter=5).fit(X)
    made.clear()
    for ask in (model.predict, model.predict_proba, model.score_samples, model.predict):
        ask(X)
    assert len(made) == 1
    model.fit(X[:2])
    made.clear()
    model.predict(X)
    assert len(made) == 1


@pytest.mark.parametrize(("model", "X"), models())
def test_what_is_made_goes_into_no_pickle_and_no_other_fit(model, X):
    learned = model.fit(X)._learned
    before = pickle.dumps(model)
    answers(model, X)
    assert vars(learned) != {}
    assert pickle.dumps(model) == before
    assert vars(pickle.loads(before)._learned) == {}
    assert vars(copy.deepcopy(learned)) == vars(learned._replace(seen_so_far=1)) == {}


def test_what_a_user_writes_into_an_attribute_changes_no_prediction():
    model = EMHMM(2, random_state=0, max_iter=5).fit(X)
    before = answers(model, X)
    for table in (model.startprob_, model.transmat_, model.emissionprob_):
        table[:] = 0.5
    np.testing.assert_array_equal(answers(model, X), before)
