"""The same numbers as hmmlearn and as scikit-learn's mixtures, sweep by sweep."""

import numpy as np
import pytest
from chain.numbers.problems import numbers
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture

from sklearn_cvb import EMHMM, VBHMM
from sklearn_cvb.emissions import Gaussian, Poisson

KINDS = ("diag", "full", "tied", "spherical")
LENGTHS, N = (40, 25, 1, 60), 3
TABLE = np.concatenate(numbers("full", LENGTHS, seed=4))
Q = np.random.default_rng(8).dirichlet(np.full(N, 0.5), len(TABLE))
STARTS = np.concatenate([[0], np.cumsum(LENGTHS)])


def split(table):
    return np.split(table, STARTS[1:-1])


def first_chain():
    """Start and transitions that the first posteriors count."""
    start = sum(q[0] for q in split(Q))
    moves = sum(q[:-1].T @ q[1:] for q in split(Q))
    return start / start.sum(), moves / moves.sum(axis=1, keepdims=True)


def covariances_of(kind, table, q):
    """Maximum likelihood, in hmmlearn's and scikit-learn's shapes."""
    n, means = q.sum(axis=0), (q.T @ table) / q.sum(axis=0)[:, None]
    off = table[:, None] - means
    full = np.einsum("tk,tki,tkj->kij", q, off, off) / n[:, None, None]
    if kind == "full":
        return means, full
    if kind == "tied":
        return means, np.einsum("k,kij->ij", n / n.sum(), full)
    variances = np.diagonal(full, axis1=1, axis2=2)
    return means, variances if kind == "diag" else variances.mean(axis=1)


def fitted(emission, n_sweeps, **settings):
    model = EMHMM(N, emission=emission, init=split(Q), max_iter=n_sweeps, tol=0, **settings)
    return model.fit(split(settings.pop("table", TABLE)))


def assert_same_chain(model, other):
    np.testing.assert_allclose(model.startprob_, other.startprob_, atol=1e-8)
    np.testing.assert_allclose(model.transmat_, other.transmat_, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_sweeps", [1, 2, 12])
def test_em_is_that_of_hmmlearn(kind, n_sweeps):
    hmm = pytest.importorskip("hmmlearn.hmm")
    other = hmm.GaussianHMM(
        N, kind, n_iter=n_sweeps, tol=-np.inf, init_params="", covars_prior=0, covars_weight=1
    )
    other.startprob_, other.transmat_ = first_chain()
    other.means_, other.covars_ = covariances_of(kind, TABLE, Q)
    other.fit(TABLE, LENGTHS)
    model = fitted(Gaussian(kind, reg_covar=1e-12), n_sweeps)
    np.testing.assert_allclose(model.history_, list(other.monitor_.history), rtol=1e-8)
    assert_same_chain(model, other)
    np.testing.assert_allclose(model.means_, other.means_, atol=1e-8)
    # hmmlearn shows matrices of all kinds.
    shown = model.covariances_
    if kind == "tied":
        shown = np.broadcast_to(shown, (N, 2, 2))
    elif kind != "full":
        shown = np.array([np.diag(np.broadcast_to(row, 2)) for row in shown])
    # Of spheres it shows each as often as there are columns, after a fit.
    covariances = other.covars_[:: len(other.covars_) // N] if kind != "tied" else other.covars_
    covariances = np.broadcast_to(covariances, shown.shape)
    np.testing.assert_allclose(shown, covariances, atol=1e-8)
    assert model.score_samples([TABLE[:40]])[0] == pytest.approx(other.score(TABLE[:40]), rel=1e-8)
    posterior = other.predict_proba(TABLE, LENGTHS)
    found = np.concatenate(list(model.predict_proba(split(TABLE))))
    np.testing.assert_allclose(found, posterior, atol=1e-8)
    np.testing.assert_array_equal(
        np.concatenate(list(model.labels_)), other.predict(TABLE, LENGTHS)
    )


@pytest.mark.parametrize("n_sweeps", [1, 2, 12])
def test_poisson_em_is_that_of_hmmlearn(n_sweeps):
    hmm = pytest.importorskip("hmmlearn.hmm")
    table = np.concatenate(numbers("poisson", LENGTHS, seed=4))
    other = hmm.PoissonHMM(N, n_iter=n_sweeps, tol=-np.inf, init_params="")
    other.startprob_, other.transmat_ = first_chain()
    other.lambdas_ = (Q.T @ table) / Q.sum(axis=0)[:, None]
    other.fit(table.astype(int), LENGTHS)
    model = EMHMM(N, emission=Poisson(), init=split(Q), max_iter=n_sweeps, tol=0).fit(split(table))
    np.testing.assert_allclose(model.history_, list(other.monitor_.history), rtol=1e-8)
    assert_same_chain(model, other)
    np.testing.assert_allclose(model.rates_, other.lambdas_, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_sweeps", [1, 8])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_independent_states_are_a_mixture(kind, n_sweeps):
    means, covariances = covariances_of(kind, TABLE, Q)
    precisions = 1 / covariances if kind in ("diag", "spherical") else np.linalg.inv(covariances)
    other = GaussianMixture(
        N,
        covariance_type=kind,
        tol=0,
        reg_covar=0,
        max_iter=n_sweeps,
        weights_init=Q.mean(axis=0),
        means_init=means,
        precisions_init=precisions,
    ).fit(TABLE)
    model = fitted(Gaussian(kind, reg_covar=1e-12), n_sweeps, transitions="independent")
    np.testing.assert_allclose(model.startprob_, other.weights_, atol=1e-8)
    np.testing.assert_allclose(model.transmat_, np.tile(other.weights_, (N, 1)), atol=1e-8)
    np.testing.assert_allclose(model.means_, other.means_, atol=1e-8)
    np.testing.assert_allclose(model.covariances_, other.covariances_, atol=1e-8)
    np.testing.assert_allclose(
        model.precisions_cholesky_, other.precisions_cholesky_, rtol=1e-7, atol=1e-7
    )
    assert model.score(split(TABLE)) == pytest.approx(other.score(TABLE), rel=1e-8)
    found = np.concatenate(list(model.predict_proba(split(TABLE))))
    np.testing.assert_allclose(found, other.predict_proba(TABLE), atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_sweeps", [1, 8])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_independent_states_are_a_bayesian_mixture(kind, n_sweeps):
    """A tied covariance has K times the prior there: each component counts a K-th of all steps.

    Of several independent columns scikit-learn takes degrees of freedom as if they were a matrix.
    """
    table = TABLE if kind in ("full", "tied") else TABLE[:, :1]
    scale = {"full": np.array([[0.7, 0.1], [0.1, 0.4]]), "diag": np.array([0.7])}
    scale |= {"tied": scale["full"], "spherical": 0.5}
    other = BayesianGaussianMixture(
        n_components=N,
        covariance_type=kind,
        tol=0,
        reg_covar=0,
        max_iter=n_sweeps,
        weight_concentration_prior_type="dirichlet_distribution",
        weight_concentration_prior=0.6,
        mean_precision_prior=0.3,
        mean_prior=[0.2, -0.1][: table.shape[1]],
        degrees_of_freedom_prior=4.0,
        covariance_prior=scale[kind],
    )
    other._initialize_parameters = lambda X, random_state, xp=None: other._initialize(X, Q)
    other.fit(table)
    times = N if kind == "tied" else 1
    prior = Gaussian(
        kind,
        mean_prior=[0.2, -0.1][: table.shape[1]],
        mean_precision_prior=0.3,
        degrees_of_freedom_prior=times * 4.0,
        covariance_prior=times * np.asarray(scale[kind]),
    )
    model = VBHMM(
        N,
        emission=prior,
        transitions="independent",
        alpha=0.6,
        init=split(Q),
        max_iter=n_sweeps,
        tol=0,
    ).fit(split(table))
    np.testing.assert_allclose(model.counts_.start + 0.6, other.weight_concentration_, rtol=1e-7)
    np.testing.assert_allclose(model.means_, other.means_, atol=1e-7)
    np.testing.assert_allclose(model.covariances_, other.covariances_, rtol=1e-7, atol=1e-9)
    found = np.concatenate(list(model.predict_proba(split(table))))
    np.testing.assert_allclose(found, other.predict_proba(table), atol=1e-7)
