"""Clusters of sequences: posteriors by Bayes' rule, one cluster, known clusters, bad input."""

import pickle

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    HDP,
    VBHMM,
    CVBHMMTagger,
    GibbsHMM,
    HMMMixture,
    HMMParameters,
    Symbols,
    Transitions,
)
from sklearn_cvb.estimators.mixture import briefly_fitted, posteriors_of
from sklearn_cvb.learning.algorithms import BatchAlgorithm

MOVES = np.array([[[0.9, 0.1], [0.1, 0.9]], [[0.2, 0.8], [0.8, 0.2]]])
SHOWN = np.array([[0.6, 0.3, 0.1, 0.0], [0.0, 0.1, 0.3, 0.6]])


def drawn(n, length=50, numbers=False, seed=0):
    """Sequences of states that stay, or that change: both kinds show the same."""
    rng = np.random.default_rng(seed)
    X, clusters = [], np.arange(n) % 2
    for cluster in clusters:
        state, one = rng.integers(2), []
        for _ in range(length):
            one.append(rng.normal(3.0 * state) if numbers else int(rng.choice(4, p=SHOWN[state])))
            state = rng.choice(2, p=MOVES[cluster][state])
        X.append(one)
    return X, clusters


X, CLUSTERS = drawn(40)


@pytest.mark.many(usual=3)
@parametrize_with_checks(
    [
        HMMMixture(VBHMM(max_iter=4, emission="gaussian"), n_init=1, random_state=0),
        HMMMixture(EMHMM(max_iter=4, emission="gaussian"), n_init=1, random_state=0),
    ],
    expected_failed_checks=None,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("end_state", [False, True])
def test_clusters_follow_from_bayes_rule(end_state):
    """Each block is a hidden Markov model by itself; the mixture is their weighted sum."""
    estimator = EMHMM(2, transitions=Transitions(end_state=end_state), max_iter=15)
    model = HMMMixture(estimator, n_components=3, n_init=1, random_state=0).fit(X)
    assert model.hmm_.transmat_.shape == (6, 6)
    np.testing.assert_allclose(model.weights_.sum(), 1.0)
    whole = model.hmm_.transmat_.sum(axis=1) + (model.hmm_.endprob_ if end_state else 0.0)
    np.testing.assert_allclose(whole, 1.0)
    logs = []
    for c in range(3):
        one = EMHMM.from_parameters(
            startprob=model.startprob_[c],
            transmat=model.transmat_[c],
            emissionprob=model.hmm_.emissionprob_[2 * c : 2 * c + 2],
            vocabulary=model.hmm_.vocabulary_,
            transitions=Transitions(end_state=end_state),
        )
        logs.append(one.score_samples(X) + np.log(model.weights_[c]))
    total = logsumexp(logs, axis=0)
    np.testing.assert_allclose(model.score_samples(X), total, rtol=1e-10)
    np.testing.assert_allclose(model.predict_proba(X), np.exp(logs - total).T, atol=1e-10)
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    assert model.score(X) == pytest.approx(total.sum() / 2000, rel=1e-10)
    # Starts of 6 states, a move of each (2 with ends), and of 4 symbols.
    n_free = 5 + 6 * (1 + end_state) + 18
    assert model.bic(X) == pytest.approx(-2 * total.sum() + n_free * np.log(2000), rel=1e-10)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM])
def test_one_cluster_is_the_plain_model(kind):
    """From the same start."""
    one = HMMMixture(kind(2), n_components=1, n_init=1, random_state=0).fit(X)
    rng, symbols = np.random.RandomState(0), Symbols(vocabulary=range(4))
    start = posteriors_of(briefly_fitted(kind(2, emission=symbols), X, rng), X)
    plain = kind(2, emission=symbols, init=start).fit(X)
    np.testing.assert_allclose(one.transmat_[0], plain.transmat_, atol=1e-10)
    np.testing.assert_allclose(one.hmm_.emissionprob_, plain.emissionprob_, atol=1e-10)
    assert one.weights_ == pytest.approx(1.0)
    np.testing.assert_array_equal(one.predict(X), 0)


@pytest.mark.long
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM, GibbsHMM])
@pytest.mark.parametrize("numbers", [False, True])
def test_clusters_that_differ_in_their_moves_alone_are_found(kind, numbers):
    data, clusters = drawn(40, numbers=numbers, seed=1)
    settings = {"max_iter": 100} if kind is GibbsHMM else {}
    estimator = kind(2, emission="gaussian" if numbers else "categorical", **settings)
    model = HMMMixture(estimator, n_init=2, random_state=0).fit(data)
    assert adjusted_rand_score(clusters, model.labels_) == 1.0
    staying = np.sort(model.transmat_[:, [0, 1], [0, 1]].mean(axis=1))
    np.testing.assert_allclose(staying, [0.2, 0.9], atol=0.06)
    new, of = drawn(10, length=80, numbers=numbers, seed=2)
    assert adjusted_rand_score(of, model.predict(new)) == 1.0


@pytest.mark.long
def test_searches_find_how_many_clusters_there_are():
    mixture = HMMMixture(VBHMM(2), n_init=1, random_state=0)
    data, _ = drawn(80, length=60)
    search = GridSearchCV(mixture, {"n_components": [1, 2]}, cv=2).fit(data)
    assert search.best_params_ == {"n_components": 2}
    assert (
        min(
            range(1, 4), key=lambda k: clone(mixture).set_params(n_components=k).fit(data).bic(data)
        )
        == 2
    )


@pytest.mark.long
def test_fits_are_the_same_again_and_pickled():
    mixture = HMMMixture(CVBHMM(2, max_iter=20), n_init=2, random_state=3)
    first, again = mixture.fit(X), clone(mixture).fit(X)
    np.testing.assert_array_equal(first.predict_proba(X), again.predict_proba(X))
    loaded = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(first.predict_proba(X), loaded.predict_proba(X))
    assert "random_state=3" in repr(first)


@pytest.mark.parametrize("n_clusters", [2, 4])
def test_sequences_that_are_all_alike_have_clusters_too(n_clusters):
    alike = [list("abab")] * 4
    model = HMMMixture(VBHMM(2), n_components=n_clusters, n_init=1, random_state=0).fit(alike)
    np.testing.assert_allclose(model.predict_proba(alike).sum(axis=1), 1.0)
    assert len(set(model.labels_)) == 1


@pytest.mark.many
@pytest.mark.filterwarnings("error:Number of distinct")
@pytest.mark.parametrize("model", [EMHMM(1), VBHMM(1, emission="gaussian")])
def test_models_that_say_the_same_of_all_sequences_warn_of_nothing(model):
    """A model of one state describes all sequences alike, and k-means finds one cluster."""
    X = [[0, 1, 2, 0], [1, 1, 2], [2, 0, 1]] * 3
    found = HMMMixture(model, n_components=2, random_state=0).fit(X)
    assert found.weights_.sum() == pytest.approx(1.0)


def test_what_a_cluster_lacks_and_cannot_be_is_told():
    with pytest.raises(TypeError, match="an EMHMM, VBHMM, CVBHMM or GibbsHMM, got CVBHMMTagger"):
        HMMMixture(CVBHMMTagger({"a": ["A"]})).fit([["a"], ["a"]])
    with pytest.raises(ValueError, match="n_components=3 clusters of 2 sequences"):
        HMMMixture(EMHMM(2), n_components=3).fit(X[:2])
    for name, value in (
        ("topology", "left-right"),
        ("topology", "independent"),
        ("start", "stationary"),
        ("prior", HDP()),
    ):
        kind = VBHMM if name == "prior" else EMHMM
        with pytest.raises(ValueError, match=f"takes no estimator with transitions {name}="):
            HMMMixture(kind(2, transitions=Transitions(**{name: value}))).fit(X)
    for name, value in (
        ("init", HMMParameters(startprob=[0.5, 0.5])),
        ("warm_start", True),
        ("checkpoint", "somewhere"),
    ):
        with pytest.raises(ValueError, match=f"leave {name} of the estimator out"):
            HMMMixture(EMHMM(2, **{name: value})).fit(X)


def test_each_cluster_has_the_prior_cells_of_starts():
    settings = {"n_init": 1, "random_state": 0}
    one, other, uneven = (
        HMMMixture(VBHMM(2, max_iter=9, transitions=Transitions(start_alpha=u)), **settings).fit(X)
        for u in (0.7, [0.7, 0.7], [900.0, 1e-9])
    )
    np.testing.assert_allclose(other.hmm_.history_, one.hmm_.history_, rtol=1e-12)
    assert (uneven.startprob_[:, 0] > 0.95).all()
    np.testing.assert_allclose(uneven.weights_, 0.5, atol=0.05)


# The second of three restarts of thirty sweeps is the best one.
@pytest.mark.many
@pytest.mark.parametrize(
    ("at", "restart", "n_kept"), [(75, 2, 30), (45, 2, 14), (10, 1, 9), (1, 1, 0)]
)
def test_ctrl_c_keeps_the_best_restart_so_far(at, restart, n_kept, monkeypatch):
    estimator = EMHMM(2, max_iter=30, tol=0)
    model = HMMMixture(estimator, n_init=3, random_state=0)
    best = clone(model).set_params(n_init=restart).fit(X)
    n_sweeps, sweep = 0, BatchAlgorithm.sweep

    def pressed(self, state, chain, rng):
        nonlocal n_sweeps
        n_sweeps += chain.problem.cells.n_states == 4
        if n_sweeps == at:
            raise KeyboardInterrupt
        return sweep(self, state, chain, rng)

    monkeypatch.setattr(BatchAlgorithm, "sweep", pressed)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert hasattr(model, "labels_") == (n_kept > 0)
    if n_kept:
        np.testing.assert_array_equal(model.hmm_.history_, best.hmm_.history_[:n_kept])
        assert model.hmm_.init is None
        np.testing.assert_array_equal(model.predict(X), model.labels_)
