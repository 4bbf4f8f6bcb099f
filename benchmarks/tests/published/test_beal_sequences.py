"""VB keeps seven of twelve states, and these are the seven postulated."""

import numpy as np
import pytest

from benchmarks.published import beal_sequences
from benchmarks.published.beal import maximum_likelihood, mean_with_strength, swept
from benchmarks.published.settings import Settings
from benchmarks.published.tables import as_text


@pytest.fixture(scope="module")
def results():
    return beal_sequences.run(Settings(quick=True))


def test_vb_keeps_seven_states_where_ml_keeps_all(results):
    starts = results["starts"]
    best = max(starts, key=lambda start: start["VB"]["objective"])
    assert best["VB"]["states"] == 7
    assert best["VB"]["structure"]
    assert sum(start["VB"]["structure"] for start in starts) >= 3
    assert all(start["ML"]["states"] >= 11 for start in starts)
    assert not any(start["ML"]["structure"] for start in starts)
    assert all(start["VB"]["converged"] for start in starts)
    assert min(start["CVB"]["sweeps"] for start in starts) > 9


def test_bound_rises_and_stays_below_the_likelihood(results):
    best = results["best"]
    history = np.array(best["VB"]["history"])
    assert (np.diff(history) > -1e-6).all()
    assert history[-1] < best["ML"]["history"][-1]


def test_states_are_drawn_in_the_order_of_the_kinds(results):
    start, transition, emission = map(np.array, results["best"]["VB"]["means"])
    # Two cycles of three, then one state of its own.
    for state, follower in enumerate([1, 2, 0, 4, 5, 3, 6]):
        assert transition[state].argmax() == follower
    np.testing.assert_allclose(emission[6, :2], 0.5, atol=0.1)
    # States that nothing uses are at their prior.
    np.testing.assert_allclose(transition[7:], 1 / 12, atol=1e-3)
    np.testing.assert_allclose([start.sum(), transition.sum(), emission.sum()], [1, 12, 12])


def test_sequences_are_of_three_kinds():
    X = beal_sequences.sequences()
    assert len(X) == 21
    for sequence in X[:7]:
        assert "".join(sequence) in "abc" * 14
    for sequence in X[7:14]:
        assert "".join(sequence) in "acb" * 14
    assert {symbol for sequence in X[14:] for symbol in sequence} == {"a", "b"}
    assert max(map(len, X)) <= 39


def test_ml_starts_from_uniform_draws_and_vb_from_its_parameters():
    X = beal_sequences.sequences()
    rng = np.random.default_rng(5)
    start, transition, emission = rng.random(3), rng.random((3, 3)), rng.random((3, 3))
    model = maximum_likelihood(X, 3, "abc", seed=5).set_params(max_iter=2, tol=0).fit(X)
    first = model.history_[0]
    tables = [table / table.sum(axis=-1, keepdims=True) for table in (start, transition, emission)]
    assert first == pytest.approx(sum(_log_likelihood(x, *tables) for x in X), rel=1e-10)
    counts = mean_with_strength(model).counts_
    np.testing.assert_allclose(counts.transition, 10 * model.transmat_)
    np.testing.assert_allclose(counts.emission.sum(axis=0), 10)


def test_a_fit_ends_with_the_first_sweep_that_changes_little():
    X = beal_sequences.sequences()
    fit = swept(maximum_likelihood(X, 3, "abc", seed=5), X, least=0.1, most=500)
    changes = np.diff(fit.history)
    assert (changes[:-1] >= 0.1).all()
    assert 0 <= changes[-1] < 0.1
    assert fit.converged
    whole = maximum_likelihood(X, 3, "abc", seed=5).set_params(max_iter=500, tol=0).fit(X)
    np.testing.assert_allclose(fit.history, whole.history_[: len(fit.history)], rtol=1e-9)
    assert not swept(maximum_likelihood(X, 3, "abc", seed=5), X, least=0, most=20).converged


def _log_likelihood(sequence, start, transition, emission):
    """The forward pass, written out."""
    total, weight = 0.0, start
    for symbol in sequence:
        joint = weight * emission[:, "abc".index(symbol)]
        total += np.log(joint.sum())
        weight = joint / joint.sum() @ transition
    return total


def test_table_and_pictures(results, tmp_path):
    text = as_text(beal_sequences.tables(results))
    assert "*7: 1*" in text
    assert "VB from ML's parameters, strength 10" in text
    beal_sequences.draw(results, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"beal_sequences_{name}.png" for name in ("curves", "graph", "hinton", "states")
    }
