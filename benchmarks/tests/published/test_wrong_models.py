"""Criteria under wrong models: the data are as they are said to be, and the table counts."""

import numpy as np
import pytest

from benchmarks.published import wrong_models


@pytest.mark.parametrize("kind", wrong_models.TITLES)
def test_times_in_a_state_have_the_same_mean(kind):
    rng = np.random.default_rng(0)
    paths = [wrong_models.states(kind, rng) for _ in range(40)]
    changes = [np.flatnonzero(np.diff(path)) for path in paths]
    times = np.concatenate([np.diff(own) for own in changes])
    assert times.mean() == pytest.approx(20.0, rel=0.1)
    # Poisson times vary by their root, geometric ones by their mean.
    expected = 0.22 if kind == "semi-Markov" else 0.95
    assert times.std() / times.mean() == pytest.approx(expected, rel=0.15)


def test_shares_of_choices_are_counted():
    choice = dict.fromkeys(wrong_models.CRITERIA, 2) | {"lost": 0.01}
    results = {"right": {"choices": [choice, choice | {"AIC": 4}]}}
    found = wrong_models.tables(results)
    assert found["choices"].rows[0][2:] == ["", "50", "", "50", "", "", ""]
    assert found["choices"].rows[1][2:] == ["", "100", "", "", "", "", ""]
    assert found["lost"].rows == [["none: a hidden Markov model", "0.010"]]
