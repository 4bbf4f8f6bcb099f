"""When one restart is run whatever `n_init`, and that this is said."""

import warnings

import numpy as np
import pytest

import sklearn_cvb
from sklearn_cvb import (
    EMHMM,
    EMPCFG,
    VBHMM,
    VBPCFG,
    CVBHMMTagger,
    EMHMMTagger,
    GibbsHMMTagger,
)
from sklearn_cvb.compilation.cases import SITUATIONS

X = [["the", "duck"], ["they", "duck", "saw"], ["the", "saw"]]
OPEN = {"the": ["D"], "they": ["P"], "duck": ["N", "V"], "saw": ["N", "V"]}
CLOSED = {"the": "D", "they": "P", "duck": "N", "saw": "V"}
TAGS = [["D", "N"], ["P", "V", "N"], ["D", "N"]]
TEXT = "S -> 'the' A [0.5] | 'they' A [0.5]\nA -> 'duck' [0.4] | 'saw' [0.4] | 'duck' 'saw' [0.2]"
POSTERIORS = [np.tile([0.6, 0.4], (len(row), 1)) for row in X]
# A model, what y is, and why one restart is run.
FIXED = {
    "arrays": (VBHMM(2, init=POSTERIORS), None, "init says where to start"),
    "model": (EMHMM(2, init=VBHMM(2).fit(X)), None, "init says where to start"),
    "unambiguous": (CVBHMMTagger(OPEN, init="unambiguous"), None, "init='unambiguous' is always"),
    "dictionary": (EMHMMTagger(CLOSED), None, "no token has a choice of states"),
    "labels": (GibbsHMMTagger(OPEN, max_iter=20), TAGS, "no token has a choice of states"),
    "grammar": (EMPCFG(TEXT), None, "the probabilities of the grammar are a start"),
    "weights": (VBPCFG(TEXT, init=[1, 2, 1, 2, 3]), None, "init says where to start"),
}


@pytest.mark.parametrize("name", FIXED)
def test_a_fixed_start_says_that_one_restart_is_run(name):
    model, y, why = FIXED[name]
    model.set_params(n_init=5)
    with pytest.warns(UserWarning, match=f"n_init=5 is ignored: {why}.* only one res") as found:
        model.fit(X, y)
    assert found[0].filename == __file__
    assert len(model.restart_objectives_) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(n_init=1).fit(X, y)


def test_one_state_is_no_news():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        VBHMM(1, n_init=5).fit(X)


def test_labels_that_leave_a_choice_leave_restarts():
    some = [["D", "N"], ["P", None, "N"], ["D", None]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = EMHMMTagger(OPEN, n_init=5, random_state=0).fit(X, some)
    assert len(model.restart_objectives_) == 5


@pytest.mark.many(usual=8)
@pytest.mark.parametrize("name", SITUATIONS)
def test_a_warm_start_says_that_one_restart_goes_on(name, capsys):
    situation = next(iter(SITUATIONS[name].values()))
    kind = getattr(sklearn_cvb, name)
    init = "random" if name.endswith(("DMV", "LatentPCFG", "AlignmentHMM")) else "parameter"
    settings = {"n_init": 3, "init": init, "warm_start": True, "verbose": 1}
    model = kind(**situation.settings | settings).fit(situation.X)
    assert capsys.readouterr().out.count("objective") == 3
    model.fit(situation.X)
    said = capsys.readouterr().out
    assert said.count("objective") == 1
    assert "n_init=3 is ignored: the fit before goes on" in said
