"""A filter that takes one observation after another: the numbers of whole sequences."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, CVBHMMTagger, EMHMMTagger, Symbols
from sklearn_cvb.compilation.cases import SITUATIONS
from sklearn_cvb.emissions import Gaussian

_RNG = np.random.default_rng(0)
WORDS = [list("abcabcab"), list("aabbcc"), list("cab"), list("bbac")]
SERIES = [
    np.repeat([[0.0, 1.0], [5.0, -1.0]], 10, axis=0) + _RNG.normal(size=(20, 2)) for _ in "ab"
]
CASES = [
    (name, title)
    for name, situations in SITUATIONS.items()
    if "HMM" in name and "Alignment" not in name
    for title in situations
    # Filters of one observation after another know no contexts, and say so.
    if "contexts" not in title
]


@pytest.mark.many(usual=9)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "title"), CASES)
def test_steps_are_those_of_filter_proba(name, title):
    situation = SITUATIONS[name][title]
    model, n_compared = situation.fit(), 0
    for sequence in [*situation.X, *situation.X_new]:
        following = model.start_filter()
        proba = np.array([following.update(observation) for observation in sequence])
        whole = model.filter_proba([sequence])[0]
        assert following.n_observations == len(sequence)
        assert np.array_equal(following.proba, proba[-1])
        if np.isfinite(following.total_log_likelihood):
            np.testing.assert_allclose(proba, whole, rtol=1e-12, atol=1e-12)
            n_compared += 1
    assert n_compared > 0


def test_log_likelihoods_add_up_to_that_of_the_sequence():
    words = EMHMM(3, random_state=0, max_iter=9).fit(WORDS)
    numbers = EMHMM(2, emission="gaussian", random_state=0).fit(SERIES)
    for model, X in ((words, WORDS), (numbers, SERIES)):
        for sequence, expected in zip(X, model.score_samples(X), strict=True):
            following, logs = model.start_filter(), []
            for observation in sequence:
                following.update(observation)
                logs.append(following.log_likelihood)
            assert following.total_log_likelihood == pytest.approx(expected, abs=1e-9)
            assert sum(logs) == pytest.approx(expected, abs=1e-9)
    bound = VBHMM(3, random_state=0, max_iter=9).fit(WORDS)
    following = bound.start_filter()
    for observation in WORDS[0]:
        following.update(observation)
    expected = bound.lower_bound_samples(WORDS[:1])[0]
    assert following.total_log_likelihood == pytest.approx(expected, abs=1e-9)


def test_what_is_missing_is_skipped():
    model = EMHMM(2, emission=Gaussian("full"), random_state=0).fit(SERIES)
    series = SERIES[0].copy()
    series[3], series[5, 0] = np.nan, np.nan
    following = model.start_filter()
    proba = [following.update(None if i == 3 else step) for i, step in enumerate(series)]
    np.testing.assert_allclose(proba, model.filter_proba([series])[0], rtol=1e-12, atol=1e-12)
    following = model.start_filter()
    following.update(series[0])
    following.update(np.nan)
    assert following.log_likelihood == pytest.approx(0.0, abs=1e-14)
    with pytest.raises(ValueError, match="columns"):
        following.update([1.0, 2.0, 3.0])
    assert following.n_observations == 2


def test_a_single_column_takes_a_number():
    model = EMHMM(2, emission="gaussian", random_state=0).fit([SERIES[0][:, 0]])
    following = model.start_filter()
    proba = [following.update(value) for value in SERIES[0][:, 0].tolist()]
    whole = model.filter_proba([SERIES[0][:, 0]])[0]
    np.testing.assert_allclose(proba, whole, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.start_filter().update([SERIES[0][0, 0]]), whole[0], rtol=1e-12)


def test_an_impossible_step_is_told_by_its_emission():
    legal = {"a": ["A"], "b": ["B"]}
    following = EMHMMTagger(legal, transitions="left-right").fit([["a", "b"]]).start_filter()
    for symbol in "ab":
        following.update(symbol)
    assert following.log_likelihood > -1.0
    assert following.update("a").tolist() == [1.0, 0.0]
    assert following.log_likelihood == following.total_log_likelihood == -np.inf
    assert following.update("b").tolist() == [0.0, 1.0]
    assert following.log_likelihood > -1.0


def test_it_is_small_is_copied_and_stays_with_its_fit():
    model = CVBHMM(3, random_state=0, warm_start=True).fit(WORDS * 200)
    following = model.start_filter()
    assert following.proba is None
    following.update("a")
    other, stored = copy.copy(following), pickle.dumps(following)
    assert len(stored) < 10_000 < len(pickle.dumps(model))
    assert other._chain is following._chain
    before = model.filter_proba([["a", "b"]])[0][1]
    model.fit([["a", "a"], ["b", "b"]] * 9)
    for one in (following, other, pickle.loads(stored)):
        np.testing.assert_allclose(one.update("b"), before, rtol=1e-12)
    with pytest.raises(NotFittedError):
        CVBHMM(3).start_filter()


def test_taggers_name_tags():
    legal = {"the": ["DT"], "dog": ["NN"], "duck": ["NN", "VB"], "swims": ["VB"]}
    X = [["the", "duck", "swims"], ["the", "dog", "swims"], ["dog", "duck"]]
    tagger = CVBHMMTagger(legal, random_state=0).fit(X)
    following, tags = tagger.start_filter(), []
    for word in ("the", "zebra", "swims"):
        proba = following.update(word)
        tags.append(following.state)
        assert tagger.classes_[proba.argmax()] == following.state
    assert tags == ["DT", "NN", "VB"]
    strict = CVBHMM(2, emission=Symbols(handle_unknown="error")).fit(X)
    with pytest.raises(ValueError, match="unknown word 'zebra'"):
        strict.start_filter().update("zebra")
