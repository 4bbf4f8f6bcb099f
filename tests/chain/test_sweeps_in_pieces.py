"""Sweeps of EM and VB in pieces: the same for any number of threads, and as in one piece."""

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_cvb import EMHMM, VBHMM, EMHMMTagger, Symbols, VBHMMTagger
from sklearn_cvb.chain.parameters.rows import uniform_weights
from sklearn_cvb.chain.symbols import engines
from sklearn_cvb.chain.symbols.engines import engines_of, expectation
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights

N_WORDS, N_TAGS = 20, 6
TAGS = [f"tag {k}" for k in range(N_TAGS)]
SETTINGS = {"max_iter": 3, "tol": 0, "random_state": 0, "emission": Symbols(handle_unknown="error")}


def sequences():
    rng = np.random.default_rng(0)
    return [rng.integers(N_WORDS, size=length).tolist() for length in rng.integers(1, 50, 2500)]


def dictionary(fewest):
    """Each word with `fewest` or one more neighbouring tags; every tag is in use."""
    return {
        word: [TAGS[(word + k) % N_TAGS] for k in range(fewest + word % 2)]
        for word in range(N_WORDS)
    }


# One for each way to infer: side by side, in runs between certain tokens, sequence by sequence.
ESTIMATORS = {
    "EM dense": EMHMM(N_TAGS, **SETTINGS),
    "VB dense": VBHMM(N_TAGS, **SETTINGS),
    "EM with certain tokens": EMHMMTagger(dictionary(1), **SETTINGS),
    "VB with certain tokens": VBHMMTagger(dictionary(1), **SETTINGS),
    "EM without certain tokens": EMHMMTagger(dictionary(2), **SETTINGS),
}


def problem_and_weights(estimator, X):
    """A problem, and weights that are not normalised."""
    problem = estimator._read(X, None).problem
    rng = np.random.default_rng(1)
    uniform = uniform_weights(problem.cells)
    return problem, ChainWeights(*(table * rng.uniform(0.1, 1.9, table.shape) for table in uniform))


def keep_whole(monkeypatch):
    monkeypatch.setattr(engines, "_n_pieces", lambda problem: 1)


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fit_does_not_depend_on_the_number_of_threads(name):
    X = sequences()
    histories, labels, counts = [], [], []
    for n_jobs in (1, 2, 3):
        model = clone(ESTIMATORS[name]).set_params(n_jobs=n_jobs).fit(X)
        histories.append(model.history_)
        labels.append(np.concatenate(model.labels_))
        counts.append(model.counts_)
    assert len(histories[0]) == 3
    for other in (1, 2):
        np.testing.assert_array_equal(histories[other], histories[0])
        np.testing.assert_array_equal(labels[other], labels[0])
        for ours, theirs in zip(counts[other], counts[0], strict=True):
            assert (ours != theirs).sum() == 0


@pytest.mark.parametrize("name", ESTIMATORS)
def test_counts_of_pieces_add_up_to_those_of_the_whole(name, monkeypatch):
    problem, weights = problem_and_weights(ESTIMATORS[name], sequences())
    assert engines._n_pieces(problem) > 1
    cut = expectation(weights, problem, engines_of(problem))
    keep_whole(monkeypatch)
    whole = expectation(weights, problem, engines_of(problem))
    for ours, theirs in zip(cut.counts, whole.counts, strict=True):
        assert theirs.max() > 1
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=0)
    assert cut.log_normaliser == pytest.approx(whole.log_normaliser, rel=1e-13)
    # The order of the sums differs: the problem was indeed cut.
    assert any((o != t).any() for o, t in zip(cut.counts, whole.counts, strict=True))


def test_sequences_beyond_float64_are_found_in_every_piece(monkeypatch):
    X = sequences()
    # Tags 0 and 1 alternate for ever: no path from an even word to an even word.
    legal = {word: [TAGS[word % 2], TAGS[word % 2 + 2]] for word in range(N_WORDS)}
    problem, weights = problem_and_weights(EMHMMTagger(legal, **SETTINGS), X)
    weights.transition[:] = 0.0
    weights.transition[0::2, 1::2] = weights.transition[1::2, 0::2] = 1e-3
    expected = [
        i for i, words in enumerate(X) if (np.diff([word % 2 for word in words]) == 0).any()
    ]
    for n_jobs in (1, 2):
        found = expectation(weights, problem, engines_of(problem), n_jobs)
        assert found.unexplained.tolist() == expected
        assert found.counts.start.sum() == pytest.approx(len(X) - len(expected), rel=1e-12)
        assert np.isfinite(found.log_normaliser)
    keep_whole(monkeypatch)
    whole = expectation(weights, problem, engines_of(problem))
    np.testing.assert_allclose(found.counts.emission, whole.counts.emission, rtol=1e-12, atol=0)


@pytest.mark.parametrize("name", ["EM dense", "EM with certain tokens"])
def test_small_problems_are_kept_whole(name):
    problem, _ = problem_and_weights(ESTIMATORS[name], sequences()[:100])
    assert engines._n_pieces(problem) == 1


def test_one_restart_has_all_threads_and_many_share_them():
    def n_threads(**parameters):
        model = EMHMM(2, **parameters)
        return model._model(model._read([["a"]], None)).settings.n_threads

    assert n_threads(n_jobs=3) == 3
    assert n_threads(n_jobs=5, n_init=2) == 2
    assert n_threads(n_jobs=2, n_init=4) == 1
    assert n_threads(n_jobs=2, n_init=4, init="unambiguous") == 2
    assert n_threads() == 1
