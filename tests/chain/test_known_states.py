"""States that `y` tells a hidden Markov model, of symbols and of numbers."""

import numpy as np
import pytest

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM
from sklearn_cvb.emissions import Gaussian

KINDS = (EMHMM, VBHMM, CVBHMM, GibbsHMM)
STATES = [[0, 0, 1, 1, 2], [2, 2, 0, 1], [1, 0, 0]]


def observed(emission):
    """Symbols "a", "b", "c" of states 0, 1, 2, one of them a slip; or numbers around 0, 5, 10."""
    if emission == "categorical":
        return [["b" if (i, t) == (2, 1) else "abc"[k] for t, k in enumerate(path)]
                for i, path in enumerate(STATES)]  # fmt: skip
    rng = np.random.default_rng(0)
    return [5.0 * np.array(path) + rng.normal(size=len(path)) for path in STATES]


def model(kind, emission, **settings):
    settings = {"supervision": "y", "random_state": 0, "max_iter": 12} | settings
    return kind(3, emission=emission, **settings)


@pytest.mark.parametrize("emission", ["categorical", "gaussian"])
@pytest.mark.parametrize("kind", KINDS)
def test_states_that_are_all_known_are_counted(kind, emission):
    fitted = model(kind, emission, max_iter=4).fit(observed(emission), STATES)
    expected = np.zeros((3, 3))
    for path in STATES:
        np.add.at(expected, (path[:-1], path[1:]), 1.0)
    np.testing.assert_allclose(fitted.counts_.start, [1, 1, 1], atol=1e-12)
    np.testing.assert_allclose(fitted.counts_.transition, expected, atol=1e-12)
    assert [path.tolist() for path in fitted.labels_] == STATES


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("emission", ["categorical", "gaussian"])
@pytest.mark.parametrize("kind", KINDS)
def test_some_known_states_name_the_others(kind, emission):
    """Labels of five sequences of forty tell which state is which in all of them."""
    rng = np.random.default_rng(1)
    paths = [rng.permutation([0, 1, 2, 0, 1, 2]) for _ in range(40)]
    if emission == "categorical":
        X = [["abc"[k] for k in path] for path in paths]
    else:
        X = [5.0 * path + rng.normal(size=6) for path in paths]
    some = [[*path[:4], None, -1] for path in paths[:5]] + [None] * 35
    fitted = model(kind, emission, max_iter=40).fit(X, some)
    assert np.mean(np.concatenate(fitted.labels_) == np.concatenate(paths)) > 0.98


def test_supervised_gaussians_are_moments_of_their_steps():
    X = observed("gaussian")
    fitted = model(EMHMM, Gaussian("diag", reg_covar=1e-12)).fit(X, STATES)
    steps, states = np.concatenate(X), np.concatenate(STATES)
    for k in range(3):
        assert fitted.means_[k, 0] == pytest.approx(steps[states == k].mean(), rel=1e-10)
        assert fitted.covariances_[k, 0] == pytest.approx(steps[states == k].var(), rel=1e-9)


@pytest.mark.parametrize("emission", ["categorical", "gaussian"])
def test_y_is_ignored_by_default(emission):
    X = observed(emission)
    one, other = (
        VBHMM(3, emission=emission, random_state=0, max_iter=5).fit(X, y) for y in (None, STATES)
    )
    assert one.objective_ == other.objective_


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ([[0, 0, 1, 1, 3], None, None], r"y holds 3 \(sequence 0, position 4\): states are 0 to 2"),
        ([["N", 0, 1, 1, 2], None, None], r"y holds 'N' \(sequence 0, position 0\)"),
        ([[0.5, 0, 1, 1, 2], None, None], r"y holds 0.5 \(sequence 0, position 0\)"),
        ([[0, 0], None, None], r"sequence 0 has 5 tokens but y\[0\] has 2 labels"),
        ([[0, 0, 1, 1, 2]], "3 sequences but y 1"),
    ],
)
@pytest.mark.parametrize("emission", ["categorical", "gaussian"])
def test_wrong_states_are_named(emission, wrong, message):
    with pytest.raises(ValueError, match=message):
        model(EMHMM, emission).fit(observed(emission), wrong)


@pytest.mark.parametrize("kind", KINDS)
def test_states_that_no_path_has_are_named(kind):
    """A left-right chain begins in state 0; a gap may be too short to get from one to another."""
    X, settings = [np.arange(4.0), np.arange(4.0)], {"transitions": "left-right", "max_iter": 4}
    told = [[0, None, 1, 1], None]
    model(kind, "gaussian", **settings).fit(X, told)
    for wrong, place in (([1, 0, 0, 0], 0), ([0, 2, None, 1], 3)):
        message = rf"up to sequence 1, position {place} \(state {wrong[place]} there\)"
        with pytest.raises(ValueError, match=message):
            model(kind, "gaussian", **settings).fit(X, [None, wrong])
