"""Long chains of the Gibbs sampler against the exact collapsed posterior."""

from functools import cache

import numpy as np
import pytest
import restatement
import restatement_token
from chain.chain_deviations import deviations, exact_together, one_hot, together
from estimators import make_estimator, posterior_means

from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import make_problem, with_priors
from sklearn_cvb import Samples

N_SWEEPS, N_BURN_IN = 3_500, 500

PROBLEMS = {
    "free": make_problem([[0, 1, 0], [1, 2], [2, 2, 0]], 2, 3, 0.4, 0.3),
    "missing": make_problem([[0, None, 1], [1], [2, 0, None], [2]], 3, 3, 0.8, 0.5),
    "dictionary": make_problem(
        [[0, 3, 1], [3, 2], [4, 0, 3], [2, 4]],
        3,
        5,
        0.3,
        0.2,
        {0: [0], 1: [1], 2: [0, 2], 3: [1, 2], 4: [0, 1]},
    ),
}


def _chain(problem, **keywords):
    settings = {"max_iter": N_SWEEPS, "samples": Samples(N_BURN_IN, thin=2, temperatures=None)}
    return make_estimator("Gibbs", problem, **settings | keywords).fit(problem.sequences)


@pytest.fixture(scope="module")
def chains():
    """One long chain per problem."""
    return cache(lambda name: _chain(PROBLEMS[name]))


@pytest.mark.long
def test_samples_cover_the_kept_sweeps(chains):
    for name, problem in PROBLEMS.items():
        samples = chains(name).samples_
        n_tokens = sum(len(sequence) for sequence in problem.sequences)
        assert samples.shape == ((N_SWEEPS - N_BURN_IN) // 2, n_tokens)
        assert np.issubdtype(samples.dtype, np.integer)
    thinned = _chain(PROBLEMS["free"], max_iter=110, samples=Samples(10, thin=5))
    assert len(thinned.samples_) == 20


def test_marginals_match_where_the_dictionary_fixes_the_states(chains):
    problem, samples = PROBLEMS["dictionary"], chains("dictionary").samples_
    exact = np.concatenate(brute.collapsed_posterior(problem).marginals).ravel()
    indicators = one_hot(samples, problem.n_states)
    assert np.abs(deviations(indicators, exact)).max() < 5
    assert np.abs(indicators.mean(axis=0) - exact).max() < 0.04


@pytest.mark.long
@pytest.mark.parametrize("name", PROBLEMS)
def test_co_assignments_match(chains, name):
    indicators, exact = together(chains(name).samples_), exact_together(PROBLEMS[name])
    assert np.abs(deviations(indicators, exact)).max() < 5
    assert np.abs(indicators.mean(axis=0) - exact).max() < 0.04


@pytest.mark.long
@pytest.mark.parametrize("name", PROBLEMS)
def test_other_priors_would_be_noticed(chains, name):
    problem = PROBLEMS[name]
    other = with_priors(problem, 3 * problem.alpha, 3 * problem.beta)
    wrong = deviations(together(chains(name).samples_), exact_together(other))
    assert np.abs(wrong).max() > 8


def _sample_weights(problem, sample):
    """Posterior means given one sample of all states."""
    lengths = [len(sequence) for sequence in problem.sequences]
    nested = np.split(sample, np.cumsum(lengths)[:-1])
    q = restatement_token.indicator_posteriors(problem, nested)
    xi = [restatement.pair_products(states) for states in q]
    counts = restatement.expected_counts(problem, q, xi)
    return restatement.posterior_mean_weights(problem, counts)


@pytest.mark.parametrize("name", PROBLEMS)
def test_fitted_probabilities_average_over_samples(name):
    problem = PROBLEMS[name]
    estimator = _chain(problem, max_iter=60, samples=Samples(20, thin=2))
    tables = [_sample_weights(problem, sample) for sample in estimator.samples_]
    for got, each in zip(posterior_means(estimator), zip(*tables, strict=True), strict=True):
        np.testing.assert_allclose(got, np.mean(each, axis=0), atol=1e-10)


@pytest.mark.parametrize("name", PROBLEMS)
def test_history_is_the_log_joint_of_the_samples(name):
    problem = PROBLEMS[name]
    estimator = _chain(problem, max_iter=30, samples=Samples(0, thin=1))
    expected = brute.collapsed_log_joint(problem, estimator.samples_)
    np.testing.assert_allclose(estimator.history_, expected, atol=1e-8)


def test_samples_stay_legal(chains):
    problem = PROBLEMS["dictionary"]
    allowed = [states for row in problem.allowed for states in row]
    for column, states in enumerate(allowed):
        assert set(chains("dictionary").samples_[:, column]) <= set(states)


@pytest.mark.long
def test_constant_temperature_flattens_the_posterior():
    # The conditionals to a power are those of the joint to that power.
    problem = PROBLEMS["dictionary"]
    settings = {"max_iter": 6_000, "samples": Samples(temperatures=(4.0, 4.0)), "warm_start": True}
    got = np.concatenate(_chain(problem, **settings).training_posteriors())
    z = brute.joint_assignments(problem)
    tempered, plain = (_shares(brute.collapsed_log_joint(problem, z) / power) for power in (4, 1))
    states = range(problem.n_states)
    expected, cold = (np.array([w @ (z == k) for k in states]).T for w in (tempered, plain))
    assert np.abs(got - expected).max() < 0.03
    assert np.abs(got - cold).max() > 0.08


def _shares(log_weights):
    weights = np.exp(log_weights - log_weights.max())
    return weights / weights.sum()


@pytest.mark.parametrize("name", PROBLEMS)
def test_perplexity_averages_likelihoods_over_samples(name):
    problem = PROBLEMS[name]
    estimator = _chain(problem, max_iter=40, samples=Samples(20, thin=2))
    X = [[0, 1, None], [2], [1, 2]]
    allowed = make_problem(X, 3, 5, dictionary=problem.dictionary).allowed or [None] * 3
    likelihood = np.zeros(len(X))
    for sample in estimator.samples_:
        weights = _sample_weights(problem, sample)
        for i, sequence in enumerate(X):
            likelihood[i] += np.exp(brute.log_likelihood(sequence, *weights, allowed[i]))
    mean = np.log(likelihood / len(estimator.samples_)).sum() / 5
    assert estimator.perplexity(X) == pytest.approx(np.exp(-mean), rel=1e-10)
