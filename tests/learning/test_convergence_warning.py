"""What is said of a fit that has not converged: a percentage and one advice for each case."""

import re
import warnings
from typing import ClassVar

import numpy as np
import pytest
from interruption import Recorder, watched
from sklearn.exceptions import ConvergenceWarning

from sklearn_cvb import (
    CVBDMV,
    CVBHMM,
    CVBPCFG,
    EMDMV,
    EMHMM,
    EMPCFG,
    VBDMV,
    VBHMM,
    VBPCFG,
    CVBAlignmentHMM,
    CVBHMMTagger,
    CVBLatentPCFG,
    EMAlignmentHMM,
    EMHMMTagger,
    EMLatentPCFG,
    HMMParameters,
    VBAlignmentHMM,
    VBHMMTagger,
)
from sklearn_cvb.compilation.cases import SITUATIONS
from sklearn_cvb.datasets import make_pocket_english, pocket_english_dictionary
from sklearn_cvb.learning.algorithms import EM

LAST = r"tol=0 runs all sweeps without this warning\.$"
MORE = {
    "state": "of the tokens still changed state: raise max_iter",
    "tag": "of the tokens still changed tag; more sweeps rarely make tags better",
    "rules": "of the words were still derived by other rules: raise max_iter",
    "head": "of the words still changed head: raise max_iter",
    "links": "of the links still changed; more sweeps rarely make links better",
    "subtypes": "of the words still changed the subtypes above them: raise max_iter",
}
KINDS = {
    "state": ([EMHMM, VBHMM, CVBHMM], "none"),
    "tag": ([EMHMMTagger, VBHMMTagger, CVBHMMTagger], "ambiguous"),
    "rules": ([EMPCFG, VBPCFG, CVBPCFG], "n_components"),
    "head": ([EMDMV, VBDMV, CVBDMV], "raw"),
    "links": ([EMAlignmentHMM, VBAlignmentHMM, CVBAlignmentHMM], "raw"),
    "subtypes": ([EMLatentPCFG, CVBLatentPCFG], "fixed"),
}
CASES = [
    pytest.param(kind, title, what, id=kind.__name__)
    for what, (kinds, title) in KINDS.items()
    for kind in kinds
]


def said(model, X, y=None):
    """What a fit says of its convergence."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model.fit(X, y)
    return [str(one.message) for one in told if one.category is ConvergenceWarning]


@pytest.mark.parametrize(("kind", "title", "what"), CASES)
def test_a_percentage_of_what_still_changed_and_one_advice(kind, title, what):
    situation = SITUATIONS[kind.__name__][title]
    # Nobody looks at subtypes in the first twenty.
    n_sweeps = 25 if what == "subtypes" else 5
    settings = situation.settings | {"tol": 1e-300, "random_state": 0, "max_iter": n_sweeps}
    model = kind(**settings)
    (message,) = said(model, situation.X, situation.y)
    begin = f"{kind.__name__} stopped after max_iter={n_sweeps} sweeps while"
    found = re.match(rf"{begin} ([\d.]+) % (.*)\. tol", message)
    assert found[2] == MORE[what]
    assert 0 < float(found[1]) <= 100
    assert re.search(LAST, message)
    assert said(model.set_params(tol=0), situation.X, situation.y) == []


@pytest.mark.parametrize(("kind", "title", "what"), CASES)
def test_too_few_sweeps_to_tell(kind, title, what):
    situation = SITUATIONS[kind.__name__][title]
    model = kind(**situation.settings | {"max_iter": 2, "tol": 0.01, "random_state": 0})
    (message,) = said(model, situation.X, situation.y)
    too_few = "too few to see whether anything still changes: raise max_iter. tol=0"
    assert message.startswith(f"{kind.__name__} stopped after max_iter=2 sweeps, {too_few}")


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM])
@pytest.mark.parametrize("emission", ["gaussian", "poisson"])
def test_no_share_is_above_all(kind, emission):
    """Where hardly anything is observed, too."""
    for x in (np.full(40, np.nan), np.r_[np.full(39, np.nan), 1.0], np.r_[np.zeros(30), 1e6]):
        try:
            found = said(kind(3, emission=emission, max_iter=7, tol=1e-9, random_state=0), [x])
        except ValueError:
            continue
        shares = [float(one) for message in found for one in re.findall(r"([\d.e+]+) %", message)]
        assert all(share <= 100 for share in shares)


ALIKE = (np.random.default_rng(0).integers(2, size=(30, 20)).cumsum(axis=1) % 4).tolist()
START_OF_ALIKE = HMMParameters(
    startprob=np.full(2, 0.5), transmat=np.full((2, 2), 0.5), emissionprob=np.full((2, 4), 0.25)
)


def test_what_a_copy_of_cvb_does_not_come_back_to_is_no_saddle():
    """States that are alike, which only a disturbance tells apart."""
    (message,) = said(CVBHMM(2, init=START_OF_ALIKE, max_iter=20, random_state=0), ALIKE)
    assert "stopped after max_iter=20 sweeps at a point that a disturbed copy" in message
    assert message.endswith("start elsewhere (init). tol=0 runs all sweeps without this warning.")
    assert "saddle" not in message


class WithoutInit(CVBHMM):
    """A class that fixes where fits start: no parameter says it."""

    init: ClassVar[HMMParameters] = START_OF_ALIKE


def test_who_has_no_init_is_told_of_the_seed():
    assert "init" not in WithoutInit().get_params()
    (message,) = said(WithoutInit(2, max_iter=20, random_state=0), ALIKE)
    assert "start elsewhere (random_state)." in message


class Endless(EM):
    """EM that never looks."""

    stops = False


class EndlessHMM(EMHMM):
    """Its estimator."""

    def _algorithm(self):
        return Endless()


def test_what_never_stops_by_itself_is_not_told_that_it_did_not():
    model = EndlessHMM(2, max_iter=20, random_state=0)
    assert said(model, [list("abab"), list("bba")]) == []
    assert (model.n_iter_, model.converged_) == (20, False)


def test_a_fit_that_a_callback_ended_is_not_told_to_go_on():
    model = watched(EMHMM(2, random_state=0), Recorder(at=3))
    assert said(model, [list("abab"), list("bba")]) == []


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", [EMHMMTagger, VBHMMTagger, CVBHMMTagger])
def test_taggers_with_a_noisy_list_come_to_rest(kind):
    legal, rng = pocket_english_dictionary(), np.random.default_rng(1)
    tags = sorted({tag for own in legal.values() for tag in own})
    noisy = {
        word: sorted({*own, *(rng.choice(tags, 2) if rng.random() < 0.6 else ())})
        for word, own in legal.items()
    }
    X = make_pocket_english(200, random_state=1).data
    assert said(kind(noisy, random_state=0), X) == []
