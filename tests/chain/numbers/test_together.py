"""Inference of many sequences of numbers side by side, piece after piece, against one at a time."""

import numpy as np
import pytest

from sklearn_cvb import EMHMM, Transitions
from sklearn_cvb.chain.numbers import e_step as expectation
from sklearn_cvb.emissions import Gaussian


def series_of(n_states, n_columns=3, seed=0):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 30, size=25)
    means = 2.0 * rng.normal(size=(n_states, n_columns))
    return [
        means[rng.integers(n_states, size=n)] + rng.normal(size=(n, n_columns)) for n in lengths
    ]


@pytest.fixture
def together(monkeypatch):
    """Lets small data go side by side in many pieces; lists the lengths of their tables."""
    seen, kernel = [], expectation.side_by_side.expected_counts_dense

    def spy(lattice, starts, order, *others):
        seen.append(int(starts[-1]))
        return kernel(lattice, starts, order, *others)

    def begin():
        monkeypatch.setattr(expectation.side_by_side, "expected_counts_dense", spy)
        monkeypatch.setattr(expectation, "_FEWEST", 2)
        monkeypatch.setattr(expectation, "_FEWEST_STEPS", 0)
        monkeypatch.setattr(expectation, "_PIECE", 60)
        return seen

    return begin


def fitted(X, n_states, **settings):
    settings = {"emission": Gaussian("diag"), "max_iter": 5, "tol": 0, "random_state": 0} | settings
    return EMHMM(n_states, **settings).fit(X)


@pytest.mark.parametrize("n_states", [2, 3, 8, 11, 16])
@pytest.mark.parametrize("covariance_type", ["diag", "full"])
@pytest.mark.parametrize("has_end", [False, True])
def test_pieces_side_by_side_learn_what_single_sequences_do(
    n_states, covariance_type, has_end, together
):
    X = series_of(n_states)
    settings = {
        "emission": Gaussian(covariance_type),
        "transitions": Transitions(end_state=has_end),
    }
    alone = fitted(X, n_states, **settings)
    seen = together()
    found = fitted(X, n_states, **settings)
    assert len(seen) > 5 * 4
    np.testing.assert_allclose(found.history_, alone.history_, rtol=1e-10)
    np.testing.assert_allclose(found.means_, alone.means_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.transmat_, alone.transmat_, rtol=1e-8, atol=1e-10)


def test_threads_that_use_tables_again_give_the_same_bits(together):
    together()
    one, two = (fitted(series_of(5), 5, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.means_, two.means_)
    np.testing.assert_array_equal(one.history_, two.history_)


def test_pieces_after_one_that_float64_loses(together):
    """A series that goes back, against the topology, is 1,000 deviations from any path."""
    rng = np.random.default_rng(0)
    up = [
        np.repeat([0.0, 1000.0, 2000.0], 5)[:, None] + rng.normal(size=(15, 1)) for _ in range(20)
    ]
    up[5] = up[5][::-1].copy()
    settings = {"transitions": "left-right", "init": [np.eye(3)[np.repeat([0, 1, 2], 5)]] * 20}
    alone = fitted(up, 3, **settings)
    seen = together()
    found = fitted(up, 3, **settings)
    assert seen
    np.testing.assert_allclose(found.history_, alone.history_, rtol=1e-10)
    np.testing.assert_allclose(found.means_, alone.means_, rtol=1e-10)
