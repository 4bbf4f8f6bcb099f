"""A fit checks what it is asked for once, at the door, and predictions check nothing again."""

import pytest

from sklearn_cvb import VBHMM, CVBHMMTagger, EMHMMTagger, Transitions
from sklearn_cvb.settings import Setting

SENTENCES = [["the", "duck", "swims"], ["they", "duck"], ["the", "dog", "swims"]]
LEGAL = {"the": ["DT"], "they": ["PRP"], "dog": ["NN"], "duck": ["NN", "VB"], "swims": ["VB"]}
SERIES = [[0.1, 0.3, 5.2, 5.1], [4.9, 5.0, 0.2]]
COMMON = {"max_iter": 2, "tol": 0, "random_state": 0}


@pytest.fixture
def checked(monkeypatch):
    """The names of the classes of settings that are checked."""
    names, before = [], Setting._validate_params

    def told(self):
        names.append(type(self).__name__)
        before(self)

    monkeypatch.setattr(Setting, "_validate_params", told)
    return names


@pytest.mark.parametrize(
    ("model", "X", "most"),
    [
        (EMHMMTagger(LEGAL, **COMMON), SENTENCES, 2),
        (CVBHMMTagger(LEGAL, **COMMON), SENTENCES, 2),
        (VBHMM(2, **COMMON), SENTENCES, 1),
        (VBHMM(2, emission="gaussian", **COMMON), SERIES, 1),
        # An object is checked with the parameters, and when it is taken.
        (VBHMM(2, transitions=Transitions(sticky=1.0), **COMMON), SENTENCES, 2),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_settings_are_checked_once_in_a_fit(model, X, most, checked):
    model.fit(X)
    assert len(checked) <= most, checked
    checked.clear()
    model.predict(X)
    model.score(X)
    assert checked == []
