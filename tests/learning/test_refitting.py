"""A fitted model is one value: while another thread fits it anew, and when it is loaded."""

import pickle
import sys
import threading

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.mixture import GaussianMixture

from sklearn_cvb import (
    CVBDMV,
    CVBHMM,
    CVBPCFG,
    CVBAlignmentHMM,
    CVBHMMTagger,
    CVBLatentPCFG,
    GibbsAlignmentHMM,
    GibbsHMM,
    HMMClassifier,
    Samples,
    VBLatentPCFG,
    version,
)
from sklearn_cvb.learning.fingerprints import digest_of

PAIRS = [(["the", "house"], ["la", "casa"]), (["a", "house"], ["una", "casa"])]
# More words, in another order: a mixture with the other fit would be no answer of either.
OTHER_PAIRS = [(["a", "green", "house", "the"], ["el", "ajo", "verde", "casa", "la"]), *PAIRS[:1]]
TREES = ["(S (A a) (B b))", "(S (A b) (S (A a) (B a)))"]
OTHER_TREES = ["(R (S (B a) (A c)) (C b))", "(R (S (B b) (A a)) (C a))", "(R (B a) (C d))"]

WORDS = [["a", "b", "a"], ["b", "a", "b", "b"]]
# Other words come first, so that numbers of words and cells are others.
OTHER_WORDS = [["0", "a", "1", "b", "b"], ["b", "1", "1", "0"], ["a", "a", "0"]]
LEGAL = {"a": ["N", "V"], "b": ["V"], "0": ["D"], "1": ["D", "N", "P"]}
SERIES = [np.arange(8.0).reshape(4, 2) % 3, np.ones((3, 2))]
OTHER_SERIES = [1e3 * np.arange(12.0).reshape(6, 2) % 7, np.zeros((2, 2))]
SETTINGS = {"max_iter": 2, "random_state": 0}

# An estimator, what it is fitted to in turns, how it is read, and on what.
CASES = [
    (CVBAlignmentHMM(max_iter=2), PAIRS, OTHER_PAIRS, "predict_proba", PAIRS[:1]),
    (
        GibbsAlignmentHMM(max_iter=4, samples=Samples(thin=1), random_state=0),
        PAIRS,
        OTHER_PAIRS,
        "score_samples",
        PAIRS[:1],
    ),
    (CVBLatentPCFG(max_iter=2, random_state=0), TREES, OTHER_TREES, "predict", [["a", "b"]]),
    (CVBHMM(2, **SETTINGS), WORDS, OTHER_WORDS, "predict_proba", WORDS[:1]),
    (CVBHMMTagger(LEGAL, **SETTINGS), WORDS, OTHER_WORDS, "predict_proba", [["a", "b", "new"]]),
    (GibbsHMM(2, emission="gaussian", **SETTINGS), SERIES, OTHER_SERIES, "score_samples", SERIES),
    (CVBPCFG(n_components=2, **SETTINGS), WORDS, OTHER_WORDS, "score_samples", WORDS[:1]),
    (CVBDMV(max_iter=2), WORDS, OTHER_WORDS, "predict_proba", WORDS[:1]),
    (VBLatentPCFG(max_iter=2, random_state=0), TREES, OTHER_TREES, "score_samples", [["a", "b"]]),
]
# Answers to look at; both are soon among them, but on a busy machine wait for them.
N_ANSWERS, AT_MOST = 20, 100_000


def answer_of(model, method, X):
    """What tells answers apart."""
    found = getattr(model, method)(X)
    return digest_of(found), str(found)


class Looks:
    """Something is done as a call looks at what a fit has left in a model: at one look, or all."""

    def __init__(self, act):
        self._act, self.n, self.acts_at = act, 0, range(0)

    def __call__(self):
        self.n += 1
        if self.n in self.acts_at:
            asked, self.acts_at = self.acts_at, range(0)
            self._act()
            self.acts_at = asked

    def during(self, call, acts_at):
        """What a call gives that is disturbed at some of its looks."""
        self.n, self.acts_at = 0, acts_at
        found = call()
        self.acts_at = range(0)
        return found


def told_of(estimator, looks):
    """An estimator like this one that tells of the looks at it, and of what is set."""
    kind = type(estimator)

    class Told(kind):
        def __getattribute__(self, name):
            if name == "__dict__" or name in super().__getattribute__("__dict__"):
                looks()
            return super().__getattribute__(name)

        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            looks()

    Told.__name__ = kind.__name__
    return Told(**estimator.get_params(deep=False))


@pytest.fixture
def _impatient_threads():
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


EACH = pytest.mark.parametrize(
    ("estimator", "one", "other", "method", "X"),
    CASES,
    ids=[f"{type(case[0]).__name__}-{case[3]}" for case in CASES],
)


@pytest.mark.many(usual=2)
@pytest.mark.filterwarnings("ignore:.* holds more than half")
@EACH
def test_a_fit_in_the_middle_of_a_prediction_is_not_mixed_in(estimator, one, other, method, X):
    before, after = (answer_of(clone(estimator).fit(data), method, X) for data in (one, other))
    looks = Looks(lambda: model.fit(other))
    model, found = told_of(estimator, looks), []
    while not found or looks.n >= len(found):
        model.fit(one)
        here = range(len(found) + 1, len(found) + 2)
        found.append(looks.during(lambda: answer_of(model, method, X), here))
    assert set(found) == {before, after}


@pytest.mark.many(usual=2)
@pytest.mark.filterwarnings("ignore:.* holds more than half")
@EACH
def test_a_prediction_in_the_middle_of_a_fit_is_of_the_one_before(estimator, one, other, method, X):
    before, after = (answer_of(clone(estimator).fit(data), method, X) for data in (one, other))
    looks = Looks(lambda: found.append(answer_of(model, method, X)))
    model, found = told_of(estimator, looks), []
    model.fit(one)
    looks.during(lambda: model.fit(other), range(1, 10**6))
    assert found[0] == before
    # Nothing may be asked of a model once all is set.
    found.append(answer_of(model, method, X))
    assert set(found) == {before, after}


@pytest.mark.many(usual=1)
@pytest.mark.filterwarnings("ignore:.* holds more than half")
@pytest.mark.usefixtures("_impatient_threads")
@EACH
def test_predictions_are_of_one_fit(estimator, one, other, method, X):
    answers = {answer_of(clone(estimator).fit(data), method, X) for data in (one, other)}
    assert len(answers) == 2
    model, stop, fits, failed = clone(estimator).fit(one), threading.Event(), [], []

    def refit():
        try:
            while not stop.is_set():
                fits.append(model.fit(other if len(fits) % 2 == 0 else one))
        except Exception as error:
            failed.append(error)

    refitting = threading.Thread(target=refit)
    refitting.start()
    try:
        found = set()
        for n_seen in range(AT_MOST):
            if failed or (n_seen >= N_ANSWERS and found >= answers):
                break
            found.add(answer_of(model, method, X))
    finally:
        stop.set()
        refitting.join()
    assert failed == []
    assert found == answers


@pytest.mark.filterwarnings("ignore:.* holds more than half")
@pytest.mark.parametrize("name", ["CVBHMM", "HMMClassifier"])
def test_a_model_of_another_version_is_refused(name, monkeypatch):
    if name == "HMMClassifier":
        # Its models are scikit-learn's, which this version says nothing of.
        model = HMMClassifier(GaussianMixture()).fit(np.eye(4), [0, 0, 1, 1])
    else:
        model = CVBHMM(2, **SETTINGS).fit(WORDS)
    assert model.__getstate__()["_saved_by"] == version.__version__
    saved = pickle.dumps(model)
    assert "_saved_by" not in vars(pickle.loads(saved))
    monkeypatch.setattr(version, "__version__", "99.0")
    with pytest.raises(
        ValueError,
        match=rf"{name} was saved by sklearn_cvb 0\.1\.0, and this is 99\.0: fit it again",
    ):
        pickle.loads(saved)


@pytest.mark.filterwarnings("ignore:.* holds more than half")
def test_a_model_from_before_it_was_one_value_is_refused():
    state = CVBHMM(2, **SETTINGS).fit(WORDS).__getstate__()
    old = {name: state[name] for name in state if name not in ("_learned", "_saved_by")}
    with pytest.raises(ValueError, match=r"saved by sklearn_cvb before 0\.1\.0.*fit it again"):
        CVBHMM(2).__setstate__(old)
    assert CVBHMM(2).__setstate__(CVBHMM(3).__getstate__()) is None
