"""Columns of text in frames: categories, read as their codes."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, Durations, GibbsHMM, Transitions
from sklearn_cvb.emissions import Categorical, Columns, Gaussian

MODES = pd.Series(["walk", "walk", "rest", None, "rest", "fly", "walk", "fly", "rest", "rest"])
SPEEDS = [3.0, 3.1, 0.1, np.nan, 0.0, 9.0, 3.2, 9.1, 0.2, 0.1]


def moves(names=("mode", "speed"), codes=False):
    modes = MODES.map({"fly": 0, "rest": 1, "walk": 2}) if codes else MODES
    frame = pd.DataFrame({"speed": SPEEDS, "mode": modes})[list(names)]
    return [frame.iloc[:6], frame.iloc[6:]]


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM, GibbsHMM])
@pytest.mark.parametrize("column", ["mode", 0])
def test_text_is_read_as_categories(kind, column):
    """As codes in the order of the labels, to the last bit, and again in what is predicted."""
    other = "speed" if column == "mode" else 1
    mixed = Columns([(Gaussian("diag"), [other]), (Categorical(), [column])])
    model = kind(2, emission=mixed, max_iter=8, random_state=0)
    of_text, of_codes = clone(model).fit(moves()), clone(model).fit(moves(codes=True))
    assert np.array_equal(of_text.history_, of_codes.history_)
    assert of_text.categories_["mode"].tolist() == ["fly", "rest", "walk"]
    assert not hasattr(of_codes, "categories_")
    new = [moves()[0].iloc[1:4]]
    expected = of_codes.predict_proba([moves(codes=True)[0].iloc[1:4]])[0]
    assert np.array_equal(of_text.predict_proba(new)[0], expected)
    copy = pickle.loads(pickle.dumps(of_text))
    assert np.array_equal(copy.score_samples(moves()), of_text.score_samples(moves()))
    again = of_text.fit(moves(codes=True))
    assert not hasattr(again, "categories_")


@pytest.mark.parametrize("as_given", [list, lambda X: np.array(X, object)])
def test_words_are_codes_whose_states_may_last(as_given):
    """To the last bit; also in an array, where they are missing, and one after the other."""
    words = [list("aabbba"), ["c", "b", None, "a", "a", "a"]]
    codes = [[np.nan if w is None else "abc".index(w) for w in sequence] for sequence in words]
    lasting = Transitions(durations=Durations("poisson", longest=3))
    model = VBHMM(2, emission=Categorical(), transitions=lasting, max_iter=9, random_state=0)
    of_words, of_codes = clone(model).fit(as_given(words)), clone(model).fit(list(codes))
    assert np.array_equal(of_words.history_, of_codes.history_)
    assert of_words.categories_[0].tolist() == list("abc")
    found = [one.predict_proba(X) for one, X in ((of_words, as_given(words)), (of_codes, codes))]
    assert np.array_equal(*map(np.concatenate, found))
    following = of_words.start_filter()
    proba = [following.update(word) for word in words[1]]
    np.testing.assert_allclose(proba, of_codes.filter_proba(codes)[1], atol=1e-12)
    drawn, drawn_codes = (one.sample(1, 20, random_state=0)[0][0] for one in (of_words, of_codes))
    assert drawn.ravel().tolist() == ["abc"[int(code)] for code in drawn_codes.ravel()]
    with pytest.raises(ValueError, match=r"X\[0\] holds 'd' in column 0, which was in no sequence"):
        of_words.score([list("abd")])
    with pytest.raises(ValueError, match=r"X\[0\] has rows of different lengths"):
        model.fit([["a", ["b"]]])


def test_text_beside_numbers_is_named_by_its_column():
    rows = [[[speed, mode] for speed, mode in zip(SPEEDS, MODES, strict=True)]]
    mixed = Columns([(Gaussian("diag"), [0]), (Categorical(), [1])])
    model = EMHMM(2, emission=mixed, max_iter=8, random_state=0)
    of_rows, of_frames = clone(model).fit(rows), clone(model).fit([moves(["speed", "mode"])[0]])
    assert of_rows.categories_[1].tolist() == of_frames.categories_["mode"].tolist()
    assert set(of_rows.sample(1, 9, random_state=0)[0][0][:, 1]) <= {"fly", "rest", "walk"}


def test_text_alone_and_labels_that_are_new():
    frames = [pd.DataFrame({"mode": list("aabbab")}), pd.DataFrame({"mode": list("bba")})]
    model = EMHMM(2, emission=Categorical(), random_state=0).fit(frames)
    assert model.category_probabilities_[0].shape == (2, 2)
    assert GridSearchCV(model, {"n_components": [1, 2]}, cv=2, error_score="raise").fit(frames)
    with pytest.raises(ValueError, match=r"X\[0\] holds 'ab' in column 'mode'.* in no sequence"):
        model.predict([pd.DataFrame({"mode": ["a", "ab"]})])
    with pytest.raises(ValueError, match=r"has columns \['other'\], but was fitted with"):
        model.predict([pd.DataFrame({"other": [1.0]})])
    with pytest.raises(ValueError, match=r"in column 'mode'.*Columns\(\[\.\.\., \(Categorical\(\)"):
        EMHMM(2, emission="gaussian").fit(moves())
