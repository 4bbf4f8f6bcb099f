"""Data drawn from a model beside the data: shapes, missing values, and how far out they are."""

import numpy as np
import pandas as pd
import pytest

from sklearn_cvb import EMHMM, Transitions
from sklearn_cvb.emissions import Categorical, Columns, Gaussian
from sklearn_cvb.metrics import simulated_check


def gaussian(**more):
    return EMHMM.from_parameters(
        startprob=[1.0], transmat=[[1.0]], emission="gaussian", means=[[0.0]], covariances=[[[1.0]]]
    )


@pytest.mark.long
def test_p_values_of_a_right_model_are_uniform():
    """The mean of 25 standard normal numbers, checked under the very model that they come from."""
    rng = np.random.default_rng(0)
    found = [
        simulated_check(gaussian(), [x], lambda X: X[0].mean(), n_simulations=19, random_state=i)
        for i, x in enumerate(rng.normal(size=(300, 25)))
    ]
    p_values = np.array([one.p_value for one in found])
    # 20 ranks, two of which have each p-value: a standard error of 1.7 % at most.
    for level in (0.1, 0.3, 0.5, 0.8):
        assert abs((p_values < level + 1e-9).mean() - level) < 0.07
    simulated = np.array([one.simulated for one in found])
    assert abs(simulated.std() - 0.2) < 0.01


def test_what_is_missing_is_missing_in_simulations_and_categories_are_named():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"speed": rng.normal(size=30), "mode": rng.choice(["fly", "rest"], 30)})
    frame.loc[3, "mode"], frame.loc[4, "speed"] = None, np.nan
    emission = Columns([(Gaussian("diag"), ["speed"]), (Categorical(), ["mode"])])
    model = EMHMM(1, emission=emission, max_iter=3, random_state=0).fit([frame, frame[:7]])

    def statistic(X):
        speed, mode = X[0].T
        is_given = ~pd.isna(speed)
        n_missing = [pd.isna(table).sum() for table in X]
        return [
            *n_missing,
            np.mean(mode[~pd.isna(mode)] == "fly"),
            speed[is_given].astype(float).mean(),
        ]

    found = simulated_check(model, [frame, frame[:7]], statistic, n_simulations=99, random_state=0)
    assert (found.simulated[:, :2] == 2).all()
    assert 0.0 < found.simulated[:, 2].std() < 0.2
    assert (found.p_value[2:] > 0.3).all()


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("named", [False, True])
def test_contexts_are_those_of_the_data(named):
    """By day the state stays, by night it changes: the shares of both are found again."""
    rng = np.random.default_rng(0)
    night = rng.integers(0, 2, 300)
    state = (night.cumsum() % 2) ^ (rng.random(300) < 0.1)
    X, contexts = np.column_stack([rng.normal(9.0 * state), night]), 1
    X[0, 1] = np.nan
    if named:
        words = [None, *np.array(["day", "night"])[night[1:]]]
        X, contexts = pd.DataFrame({"when": words, "value": X[:, 0]}), "when"
    transitions = Transitions(contexts=contexts)
    model = EMHMM(2, emission="gaussian", transitions=transitions, random_state=0).fit([X])

    def changes(drawn):
        values, night = drawn[0].T[:: -1 if named else 1]
        moved = np.diff(values.astype(float) > 4.5)
        by_night = night[1:] == ("night" if named else 1)
        assert pd.isna(night[0])
        return [moved[by_night].mean(), moved[~by_night].mean()]

    found = simulated_check(model, [X], changes, n_simulations=50, random_state=0)
    np.testing.assert_allclose(found.simulated.mean(axis=0), found.observed, atol=0.02)
    assert abs(np.diff(found.observed)[0]) > 0.5


def test_symbols_and_numbers_keep_their_types():
    seen = []
    words = [["a", None, "b"], ["b", "a"]]
    model = EMHMM(2, max_iter=3, random_state=0).fit(words)
    simulated_check(model, words, lambda X: seen.append(X) or 0.0, n_simulations=2)
    for drawn in seen:
        assert [[x is None for x in row] for row in drawn] == [[False, True, False], [False, False]]
    series = np.arange(6.0).reshape(2, 3)
    model = EMHMM(1, emission="gaussian", max_iter=3).fit(series)
    shapes = simulated_check(model, series, lambda X: np.shape(X), n_simulations=2)
    assert shapes.simulated.tolist() == [[2, 3], [2, 3]]


def test_bad_statistics_are_refused():
    x = np.array([0.0, 1.0, 2.0])
    answers = iter([[1.0], [1.0, 2.0]])
    with pytest.raises(ValueError, match=r"shape \(1,\) of X and \(2,\) of a simulation"):
        simulated_check(gaussian(), [x], lambda X: next(answers))
    with pytest.raises(ValueError, match="n_simulations"):
        simulated_check(gaussian(), [x], np.mean, n_simulations=0)
