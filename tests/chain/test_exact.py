"""Inference of fitted models against enumeration of all paths."""

import numpy as np
import pytest
from estimators import (
    ALGORITHMS,
    as_states,
    make_estimator,
    posterior_means,
    prediction_weights,
    tag,
)

from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import make_problem, random_problem, random_sequences
from sklearn_cvb import Symbols, Transitions

# Symbols 3 and 4 are missing from the partial dictionary: free.
DICTIONARIES = {
    "free": None,
    "full": {0: [0], 1: [0, 1], 2: [2], 3: [1, 2], 4: [0, 2]},
    "partial": {0: [0, 2], 1: [1], 2: [1, 2]},
}
CASES = [(name, kind) for name in ALGORITHMS for kind in DICTIONARIES]
LENGTHS = (5, 4, 3, 2, 1)


class Fitted:
    """One fitted estimator, its problem, unseen sequences and both kinds of weights."""

    def __init__(self, name, kind):
        rng = np.random.default_rng(list(DICTIONARIES).index(kind))
        prefix, keywords, _ = ALGORITHMS[name]
        training = random_sequences(rng, 5, [4, 3, 5, 2, 4, 3], missing=0.1)
        self.problem = make_problem(training, 3, 5, 0.4, 0.2, DICTIONARIES[kind])
        self.estimator = make_estimator(prefix, self.problem, max_iter=6, **keywords)
        self.estimator.fit(training)
        self.X = random_sequences(rng, 5, LENGTHS, missing=0.2)
        self.X.append([None, 2, None])
        self.allowed = make_problem(self.X, 3, 5, dictionary=DICTIONARIES[kind]).allowed
        self.means = posterior_means(self.estimator)
        self.weights = prediction_weights(self.estimator, self.problem)

    def enumerated(self, function, weights):
        """`function` of `brute` for every unseen sequence."""
        allowed = self.allowed or [None] * len(self.X)
        return [function(row, *weights, legal) for row, legal in zip(self.X, allowed, strict=True)]


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def fitted(request):
    """All algorithms with every dictionary."""
    return Fitted(*request.param)


def _assert_tables(got, expected):
    assert len(got) == len(expected)
    for table, exact in zip(got, expected, strict=True):
        np.testing.assert_allclose(table, exact, rtol=0, atol=1e-10)


def test_weights_are_probabilities(fitted):
    for table in fitted.means:
        np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-12)


def test_predict_proba(fitted):
    expected = fitted.enumerated(brute.marginals, fitted.weights)
    _assert_tables(fitted.estimator.predict_proba(fitted.X), expected)


def test_predict_pair_proba(fitted):
    expected = fitted.enumerated(brute.pair_marginals, fitted.weights)
    found = fitted.estimator.predict_pair_proba(fitted.X)
    _assert_tables(found, expected)
    for pairs, single in zip(found, fitted.estimator.predict_proba(fitted.X), strict=True):
        np.testing.assert_allclose(pairs.sum(axis=2), single[:-1], rtol=0, atol=1e-12)
        np.testing.assert_allclose(pairs.sum(axis=1), single[1:], rtol=0, atol=1e-12)


def test_score_paths(fitted):
    """All paths, those that the dictionary rules out, too; states have the names of `predict`."""
    for row, legal in zip(fitted.X, fitted.allowed or [None] * len(fitted.X), strict=True):
        paths, weights = brute.paths(len(row), 3), brute.path_weights(row, *fitted.weights, legal)
        with np.errstate(divide="ignore"):
            expected = np.log([weights.get(path, 0.0) for path in paths])
        named = paths if fitted.allowed is None else [list(map(tag, path)) for path in paths]
        found = fitted.estimator.score_paths([row] * len(paths), named)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    best = fitted.estimator.score_paths(fitted.X, fitted.estimator.predict(fitted.X))
    expected = [weight for _, weight in fitted.enumerated(brute.best_path, fitted.weights)]
    np.testing.assert_allclose(best, expected, rtol=0, atol=1e-10)


def test_filter_proba(fitted):
    expected = fitted.enumerated(brute.filtered_marginals, fitted.weights)
    _assert_tables(fitted.estimator.filter_proba(fitted.X), expected)


def test_predict_marginal(fitted):
    labels = fitted.estimator.predict(fitted.X, decoding="marginal")
    tables = fitted.enumerated(brute.marginals, fitted.weights)
    for states, table in zip(labels, tables, strict=True):
        chosen = table[np.arange(len(table)), as_states(states)]
        np.testing.assert_allclose(chosen, table.max(axis=1), atol=1e-10)


def test_predict_viterbi(fitted):
    labels = fitted.estimator.predict(fitted.X)
    best = fitted.enumerated(brute.best_path, fitted.weights)
    for i, (states, (_, log_weight)) in enumerate(zip(labels, best, strict=True)):
        path = as_states(states)
        weight = brute.path_weight(path, fitted.X[i], *fitted.weights)
        assert np.log(weight) == pytest.approx(log_weight, abs=1e-10)
        if fitted.allowed is not None:
            assert all(k in legal for k, legal in zip(path, fitted.allowed[i], strict=True))


def test_scores(fitted):
    expected = np.array(fitted.enumerated(brute.log_likelihood, fitted.means))
    n_observed = sum(symbol is not None for row in fitted.X for symbol in row)
    mean = expected.sum() / n_observed
    estimator = fitted.estimator
    np.testing.assert_allclose(estimator.score_samples(fitted.X), expected, atol=1e-10)
    assert estimator.score(fitted.X) == pytest.approx(mean, abs=1e-10)
    assert estimator.perplexity(fitted.X) == pytest.approx(np.exp(-mean), rel=1e-10)
    by_sequence = estimator.perplexity(fitted.X, per="sequence")
    assert by_sequence == pytest.approx(np.exp(-expected.mean()), rel=1e-10)


def test_predict_next_proba(fitted):
    # A predictive distribution must sum to 1, so posterior means serve VB too.
    expected = fitted.enumerated(brute.next_symbol_distribution, fitted.means)
    got = fitted.estimator.predict_next_proba(fitted.X)
    np.testing.assert_allclose(got, expected, atol=1e-10)
    np.testing.assert_allclose(got.sum(axis=1), 1.0, atol=1e-10)


@pytest.mark.parametrize("prefix", ["EM", "VB", "CVB"])
def test_unknown_cell_has_prior_mass(prefix):
    problem = make_problem([[0, 1, 2], [2, 1], [1, 0]], 2, 4, 0.4, 0.2)
    estimator = make_estimator(
        prefix, problem, emission=Symbols(vocabulary=range(3), handle_unknown="smooth"), max_iter=5
    ).fit(problem.sequences)
    transition, emission = posterior_means(estimator)
    assert emission.shape == (2, 4)
    totals = np.array([counts.sum() for counts in np.asarray(estimator.counts_.emission).T])
    np.testing.assert_allclose(emission[:, 3], 0.2 / (totals + 0.8), atol=1e-12)
    exact = brute.log_likelihood([0, 3, 1], transition, emission)
    got = estimator.score_samples([[0, "never seen", 1]])
    np.testing.assert_allclose(got, [exact], atol=1e-10)


def test_maximum_likelihood_explains_its_own_corpus():
    rng = np.random.default_rng(5)
    problem = random_problem(rng, 3, 4, [4, 3, 3], dictionary=True)
    estimator = make_estimator(
        "EM", problem, alpha=0.0, beta=0.0, transitions=Transitions(start_alpha=0.0), max_iter=8
    )
    estimator.fit(problem.sequences)
    weights = posterior_means(estimator)
    expected = [
        brute.log_likelihood(row, *weights, legal)
        for row, legal in zip(problem.sequences, problem.allowed, strict=True)
    ]
    got = estimator.score_samples(problem.sequences)
    np.testing.assert_allclose(got, expected, atol=1e-10)
