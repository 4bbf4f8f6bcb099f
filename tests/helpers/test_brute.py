"""The enumerations are checked against closed forms, urn products and each other."""

import itertools

import numpy as np
import pytest
from scipy.special import gammaln

from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import make_problem, random_problem, unequal_priors


def _random_weights(rng, n_states, n_symbols):
    transition = rng.dirichlet(np.ones(n_states), size=n_states + 1)
    return transition, rng.dirichlet(np.ones(n_symbols), size=n_states)


def _urn_log_probability(problem, assignment):
    """log p(x, z) token by token: each draw sees the counts of all draws before it."""
    alpha, beta = problem.alpha.copy(), problem.beta.copy()
    states, total = iter(assignment), 0.0
    for sequence in problem.sequences:
        previous = problem.n_states
        for symbol in sequence:
            state = next(states)
            total += np.log(alpha[previous, state] / alpha[previous].sum())
            alpha[previous, state] += 1
            if symbol is not None:
                total += np.log(beta[state, symbol] / beta[state].sum())
                beta[state, symbol] += 1
            previous = state
    return total


@pytest.mark.parametrize("dictionary", [False, True])
def test_collapsed_joint_is_the_urn_product(dictionary):
    rng = np.random.default_rng(0)
    problem = random_problem(rng, 3, 4, [3, 1, 2], dictionary, missing=0.2)
    problem = unequal_priors(rng, problem)
    z = brute.joint_assignments(problem)
    expected = [_urn_log_probability(problem, row) for row in z]
    np.testing.assert_allclose(brute.collapsed_log_joint(problem, z), expected, atol=1e-10)


def test_evidence_sums_to_one_over_all_corpora():
    rng = np.random.default_rng(1)
    total = 0.0
    bare = unequal_priors(rng, make_problem([[0]], 2, 2))
    for symbols in itertools.product(range(2), repeat=4):
        problem = bare._replace(sequences=[list(symbols[:3]), [symbols[3]]])
        total += np.exp(brute.collapsed_posterior(problem).log_evidence)
    assert total == pytest.approx(1.0, abs=1e-12)


def test_evidence_of_one_state_is_closed():
    problem = make_problem([[0, 1, 0], [2]], 1, 3, alpha=0.7, beta=0.4)
    counts = np.array([2, 1, 1])
    closed = gammaln(1.2) - gammaln(1.2 + 4) + (gammaln(counts + 0.4) - gammaln(0.4)).sum()
    assert brute.collapsed_posterior(problem).log_evidence == pytest.approx(closed)


def test_heavy_priors_fix_the_weights():
    rng = np.random.default_rng(2)
    transition, emission = _random_weights(rng, 2, 3)
    problem = make_problem([[0, 2, None], [1, 1]], 2, 3)
    problem = problem._replace(alpha=1e9 * transition, beta=1e9 * emission)
    exact = brute.collapsed_posterior(problem)
    for sequence, table in zip(problem.sequences, exact.marginals, strict=True):
        fixed = brute.marginals(sequence, transition, emission)
        np.testing.assert_allclose(table, fixed, atol=1e-6)


def test_collapsed_counts_agree_with_marginals():
    rng = np.random.default_rng(3)
    problem = random_problem(rng, 3, 4, [3, 2, 2], dictionary=True)
    exact = brute.collapsed_posterior(problem)
    flat = np.concatenate(exact.marginals)
    np.testing.assert_allclose(exact.start, sum(table[0] for table in exact.marginals))
    np.testing.assert_allclose(exact.emission.sum(axis=1), flat.sum(axis=0))
    arrivals = exact.start + exact.transition.sum(axis=0)
    np.testing.assert_allclose(arrivals, flat.sum(axis=0))
    np.testing.assert_allclose(np.diag(exact.co_assignment), 1.0)


def test_free_states_are_interchangeable():
    problem = make_problem([[0, 1], [1, 1]], 2, 2, alpha=0.3, beta=0.1)
    exact = brute.collapsed_posterior(problem)
    np.testing.assert_allclose(np.concatenate(exact.marginals), 0.5)
    assert exact.co_assignment[1, 2] > 0.5


def test_path_tables_agree():
    rng = np.random.default_rng(4)
    transition, emission = _random_weights(rng, 3, 4)
    sequence, allowed = [0, 3, None, 1], [[0, 1], [2], [0, 1, 2], [1, 2]]
    arguments = (sequence, transition, emission, allowed)
    pairs, table = brute.pair_marginals(*arguments), brute.marginals(*arguments)
    np.testing.assert_allclose(pairs.sum(axis=2), table[:-1])
    np.testing.assert_allclose(pairs.sum(axis=1), table[1:])
    np.testing.assert_allclose(brute.filtered_marginals(*arguments)[-1], table[-1])
    assert brute.next_symbol_distribution(*arguments).sum() == pytest.approx(1.0)
    path, log_weight = brute.best_path(*arguments)
    weight = brute.path_weight(path, sequence, transition, emission)
    assert log_weight == pytest.approx(np.log(weight))
    assert weight == max(brute.path_weights(*arguments).values())


def test_likelihood_by_hand():
    transition = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    emission = np.array([[0.5, 0.5], [0.25, 0.75]])
    by_hand = 0.6 * 0.5 + 0.4 * 0.25
    assert brute.log_likelihood([0], transition, emission) == pytest.approx(np.log(by_hand))
    longer = 0.6 * 0.5 * (0.9 * 0.5 + 0.1 * 0.75) + 0.4 * 0.25 * (0.2 * 0.5 + 0.8 * 0.75)
    assert brute.log_likelihood([0, 1], transition, emission) == pytest.approx(np.log(longer))


def test_ties_go_to_the_lowest_states():
    transition, emission = np.full((3, 2), 0.5), np.full((2, 2), 0.5)
    np.testing.assert_array_equal(brute.best_path([0, 1, 1], transition, emission)[0], 0)
