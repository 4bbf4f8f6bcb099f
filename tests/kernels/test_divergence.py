"""The weights and the KL divergence of variational Bayes against their formulas in scipy."""

import math

import numpy as np
import pytest
from scipy.special import digamma, gammaln

from sklearn_cvb import VBHMM, Transitions
from sklearn_cvb.chain.parameters import divergence, exp_expected_log
from sklearn_cvb.kernels.special import expected_weights

COUNTS = np.array([0.0, 1e-12, 1e-3, 0.4, 1.0, 2.5, 5.5, 6.0, 6.999, 7.0, 30.0, 1e4, 1e9, 0.0])


def kernel(counts, prior, divisors=(1.0,)):
    rows = np.arange(len(counts), dtype=np.int32) % len(divisors)
    weights = np.full(len(counts), np.nan)
    total = expected_weights(counts, prior, rows, np.array(divisors), weights)
    return weights, total


@pytest.mark.parametrize("prior", [0.02, 0.1, 1.0, 3.0, 7.0, 50.0])
def test_against_scipy(prior):
    prior = np.full(len(COUNTS), prior)
    u = COUNTS + prior
    weights, total = kernel(COUNTS, prior, (2.0, 5.0))
    np.testing.assert_allclose(weights[::2], np.exp(digamma(u[::2])) / 2.0, rtol=1e-12)
    np.testing.assert_allclose(weights[1::2], np.exp(digamma(u[1::2])) / 5.0, rtol=1e-12)
    exact = math.fsum(COUNTS * digamma(u) - gammaln(u) + gammaln(prior))
    assert total == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("prior", [1e-3, 1e-8, 1e-200, 1e-300])
def test_tiny_priors(prior):
    prior = np.full(len(COUNTS), prior)
    u = COUNTS + prior
    weights, total = kernel(COUNTS, prior)
    large = u > 0.01
    np.testing.assert_allclose(weights[large], np.exp(digamma(u[large])), rtol=1e-12)
    assert (weights[~large] < 1e-200).all()
    assert total == pytest.approx(
        math.fsum(COUNTS * digamma(u) - gammaln(u) + gammaln(prior)), rel=1e-12
    )


def test_many_cells_of_unequal_priors():
    # More than a block, and enough for the products of a million cells to leave float64.
    rng = np.random.default_rng(0)
    prior = np.repeat(rng.uniform(0.05, 9, 1000), 50)
    counts = rng.gamma(0.1, 3.0, prior.size)
    u = counts + prior
    weights, total = kernel(counts, prior)
    np.testing.assert_allclose(weights, np.exp(digamma(u)), rtol=1e-12)
    exact = math.fsum(counts * digamma(u) - gammaln(u) + gammaln(prior))
    assert total == pytest.approx(exact, rel=1e-12)


def test_no_counts_no_divergence():
    prior = np.repeat([0.1, 2.0, 8.0], 300)
    assert kernel(np.zeros(900), prior)[1] == 0.0


@pytest.mark.parametrize(
    "parameters", [{}, {"alpha": 0.3, "beta": 0.01, "transitions": Transitions(start_alpha=2.0)}]
)
def test_a_fit_is_the_same_in_separate_passes(parameters, monkeypatch):
    rng = np.random.default_rng(0)
    X = [rng.integers(9, size=length).tolist() for length in rng.integers(2, 20, 40)]
    model = VBHMM(4, max_iter=8, tol=0, random_state=0, **parameters)
    together = model.fit(X).history_

    def apart(counts, prior, cells):
        return exp_expected_log(counts, prior, cells), divergence(counts, prior, cells)

    monkeypatch.setattr("sklearn_cvb.chain.symbols.model.weights_and_divergence", apart)
    np.testing.assert_allclose(model.fit(X).history_, together, rtol=1e-11)
