"""One long series of symbols, with defaults: hmmlearn's dishonest casino."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, Symbols, Windows

STAYS = 0.95, 0.90


@pytest.fixture(scope="module")
def rolls():
    """15,000 rolls of a fair die and of one that shows a six every other time."""
    rng = np.random.default_rng(0)
    changes = rng.random(15_000)
    loaded, states = 0, []
    for change in changes:
        loaded = 1 - loaded if change > STAYS[loaded] else loaded
        states.append(loaded)
    faces = np.array([np.full(6, 1 / 6), [0.1] * 5 + [0.5]]).cumsum(axis=1)
    return (rng.random(15_000)[:, None] > faces[states]).sum(axis=1) + 1


@pytest.mark.long
@pytest.mark.parametrize(("kind", "n_init"), [(EMHMM, 6), (VBHMM, 6), (CVBHMM, 2)])
def test_both_dice_are_found(rolls, kind, n_init):
    model = kind(2, n_init=n_init, random_state=0).fit([rolls])
    stays = np.sort(np.diag(model.transmat_))[::-1]
    assert np.abs(stays - STAYS).max() < 0.02
    assert model.converged_


def test_windows_are_taken_by_themselves(rolls):
    """As if asked for; who asks for sequences gets them, and a warning."""
    settings = {"max_iter": 5, "tol": 0, "random_state": 0, "emission": Symbols()}
    by_itself = CVBHMM(2, **settings).fit([rolls])
    asked_for = CVBHMM(2, update=Windows(100), **settings).fit([rolls])
    assert np.array_equal(by_itself.transmat_, asked_for.transmat_)
    with pytest.warns(UserWarning, match="sequence 0 holds more than half of all tokens"):
        whole = CVBHMM(2, update="sequence", **settings).fit([rolls])
    np.testing.assert_allclose(whole.transmat_, 0.5, atol=0.01)
    short = CVBHMM(2, **settings).fit([rolls[:300]])
    asked_for = CVBHMM(2, update=Windows(30), **settings).fit([rolls[:300]])
    assert np.array_equal(short.transmat_, asked_for.transmat_)


def test_a_fit_that_ran_out_of_sweeps_says_so(rolls):
    with pytest.warns(ConvergenceWarning, match="EMHMM stopped after max_iter=3 sweeps"):
        EMHMM(2, max_iter=3, random_state=0).fit([rolls[:500]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        EMHMM(2, max_iter=3, tol=0, random_state=0).fit([rolls[:500]])
        EMHMM(2, tol=0.05, random_state=0).fit([rolls[:500]])
