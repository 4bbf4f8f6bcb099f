"""The slow restatements are checked against enumeration and against what theory promises."""

import numpy as np
import pytest
import restatement
import restatement_hyper
import restatement_token
from scipy.special import digamma

from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import (
    initial_posteriors,
    make_problem,
    random_problem,
    unequal_priors,
)

SWEEPS = {
    "em": restatement.em_sweeps,
    "vb": restatement.vb_sweeps,
    "cvb_sequence": restatement.cvb_sequence_sweeps,
    "cvb_token": restatement_token.cvb_token_sweeps,
}


def _case(seed, n_states=3, dictionary=True, missing=0.15):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, n_states, 5, [4, 1, 3, 2], dictionary, missing)
    problem = unequal_priors(rng, problem)
    return problem, initial_posteriors(rng, problem)


def _allowed(problem, i):
    return None if problem.allowed is None else problem.allowed[i]


@pytest.mark.parametrize("dictionary", [False, True])
def test_forward_backward_equals_enumeration(dictionary):
    problem, q = _case(0, dictionary=dictionary)
    xi = [restatement.pair_products(marginals) for marginals in q]
    counts = restatement.expected_counts(problem, q, xi)
    weights = restatement.exp_digamma_weights(problem, counts)
    for i, sequence in enumerate(problem.sequences):
        arguments = (sequence, *weights, _allowed(problem, i))
        log_total, marginals, pairs = restatement.forward_backward(problem, weights, i)
        assert log_total == pytest.approx(brute.log_likelihood(*arguments), abs=1e-12)
        np.testing.assert_allclose(marginals, brute.marginals(*arguments), atol=1e-12)
        np.testing.assert_allclose(pairs, brute.pair_marginals(*arguments), atol=1e-12)


@pytest.mark.parametrize("name", SWEEPS)
@pytest.mark.parametrize("dictionary", [False, True])
def test_sweeps_keep_proper_posteriors(name, dictionary):
    problem, q = _case(1, dictionary=dictionary)
    result = SWEEPS[name](problem, q, 3)
    assert len(result.history) == 3
    for i, (marginals, pairs) in enumerate(zip(result.q, result.xi, strict=True)):
        np.testing.assert_allclose(marginals.sum(axis=1), 1.0)
        np.testing.assert_allclose(pairs.sum(axis=2), marginals[:-1], atol=1e-12)
        for t in range(len(marginals)):
            legal = list(restatement.legal_states(problem, i, t))
            assert np.delete(marginals[t], legal).sum() == 0


@pytest.mark.parametrize("seed", range(6))
def test_em_objective_never_falls(seed):
    problem, q = _case(seed, dictionary=seed % 2 == 0)
    bare = problem._replace(alpha=0 * problem.alpha, beta=0 * problem.beta)
    for pseudo_counts in (problem, bare):
        history = restatement.em_sweeps(pseudo_counts, q, 15).history
        assert np.all(np.diff(history) > -1e-10)


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("seed", range(6))
def test_vb_bound_never_falls_and_stays_below_the_evidence(seed):
    problem, q = _case(seed, dictionary=seed % 2 == 0)
    history = restatement.vb_sweeps(problem, q, 30).history
    assert np.all(np.diff(history) > -1e-10)
    assert history[-1] <= brute.collapsed_posterior(problem).log_evidence


def test_vb_bound_is_tight_for_one_state():
    problem = make_problem([[0, 1], [2, 0, 0]], 1, 3, alpha=0.5, beta=0.3)
    q = [np.ones((2, 1)), np.ones((3, 1))]
    bound = restatement.vb_sweeps(problem, q, 1).history[-1]
    assert bound == pytest.approx(brute.collapsed_posterior(problem).log_evidence, abs=1e-12)


def test_em_row_without_counts_keeps_its_old_value():
    problem = make_problem([[0, 0]], 2, 3, alpha=0.0, beta=0.0, dictionary={0: [0]})
    result = restatement.em_sweeps(problem, [np.array([[1.0, 0.0], [1.0, 0.0]])], 2)
    assert result.history == pytest.approx([0.0, 0.0])


def test_one_sequence_of_algorithm_two_rests_on_the_prior():
    problem = make_problem([[0, 1, 1, 0]], 2, 2)
    result = restatement.cvb_sequence_sweeps(problem, [np.array([[0.9, 0.1]] * 4)], 1)
    np.testing.assert_allclose(result.q[0], 0.5)
    assert result.history[0] == pytest.approx(np.log(0.5))


def _exact_token_factors(problem, q, i, t):
    """Expected numerators and denominators of figure 3, all z drawn independently from q."""
    z = brute.joint_assignments(problem)
    flat, n_states = np.concatenate(q), problem.n_states
    token = int(brute.first_tokens(problem)[i]) + t
    others = [s for s in range(z.shape[1]) if s != token]
    share = np.prod([flat[s, z[:, s]] for s in others], axis=0)
    share[z[:, token] != z[0, token]] = 0.0  # any one value of z_t will do: it is left out
    incoming, outgoing = np.zeros(n_states), np.zeros(n_states)
    denominator = np.zeros(n_states)
    lengths = [len(sequence) for sequence in problem.sequences]
    for weight, row in zip(share, z, strict=True):
        if weight == 0.0:
            continue
        one_hot = [np.eye(n_states)[part] for part in np.split(row, np.cumsum(lengths)[:-1])]
        moved = restatement_token.transition_table(problem, one_hot, {(i, t - 1), (i, t)})
        before = row[token - 1] if t > 0 else n_states
        after = row[token + 1]
        same = np.arange(n_states) == before
        incoming += weight * (moved[before] + problem.alpha[before])
        outgoing += weight * (moved[:-1, after] + problem.alpha[:-1, after])
        outgoing += weight * same * (np.arange(n_states) == after)
        denominator += weight * (moved[:-1].sum(axis=1) + problem.alpha[:-1].sum(axis=1) + same)
    return incoming, outgoing / denominator


@pytest.mark.parametrize("t", range(3))
@pytest.mark.parametrize("seed", range(3))
def test_token_factors_are_the_exact_expectations(t, seed):
    rng = np.random.default_rng(seed)
    problem = unequal_priors(rng, random_problem(rng, 2, 3, [4, 3]))
    q = initial_posteriors(rng, problem)
    incoming, outgoing = _exact_token_factors(problem, q, 0, t)
    got = restatement_token.incoming_term(problem, q, 0, t)
    np.testing.assert_allclose(got, incoming, atol=1e-12)
    got = restatement_token.outgoing_term(problem, q, 0, t)
    np.testing.assert_allclose(got, outgoing, atol=1e-12)


def test_gibbs_conditional_is_a_ratio_of_joints():
    problem, _ = _case(5, n_states=3)
    z = brute.joint_assignments(problem)
    log_joint = brute.collapsed_log_joint(problem, z)
    row = z[len(z) // 3]
    lengths = [len(sequence) for sequence in problem.sequences]
    nested = np.split(row, np.cumsum(lengths)[:-1])
    positions = [(i, t) for i, length in enumerate(lengths) for t in range(length)]
    for token, (i, t) in enumerate(positions):
        rest = np.delete(np.arange(len(row)), token)
        same = np.all(z[:, rest] == row[rest], axis=1)
        expected = np.zeros(3)
        expected[z[same, token]] = np.exp(log_joint[same] - log_joint[same].max())
        got = restatement_token.gibbs_conditional(problem, nested, i, t)
        np.testing.assert_allclose(got, expected / expected.sum(), atol=1e-12)


def test_certain_neighbours_turn_the_token_update_into_gibbs():
    problem, _ = _case(6, dictionary=False, missing=0.0)
    rng = np.random.default_rng(6)
    z = [rng.integers(3, size=len(sequence)) for sequence in problem.sequences]
    q = restatement_token.indicator_posteriors(problem, z)
    for i, sequence in enumerate(problem.sequences):
        for t in range(len(sequence)):
            np.testing.assert_allclose(
                restatement_token.token_update(problem, q, i, t),
                restatement_token.gibbs_conditional(problem, z, i, t),
            )


def test_temperature_sharpens_the_gibbs_conditional():
    problem, _ = _case(7, dictionary=False)
    z = [[0] * len(sequence) for sequence in problem.sequences]
    plain = restatement_token.gibbs_conditional(problem, z, 0, 1)
    cold = restatement_token.gibbs_conditional(problem, z, 0, 1, temperature=0.5)
    np.testing.assert_allclose(cold, plain**2 / np.sum(plain**2))


PLANTED = [("cvb_sequence", mistake) for mistake in ("swap", "no_subtraction")] + [
    ("cvb_token", mistake) for mistake in ("swap", "no_subtraction", "eq20", "eq20_printed")
]


@pytest.mark.parametrize(("name", "mistake"), PLANTED)
def test_planted_mistakes_change_the_result(name, mistake):
    problem, q = _case(8, dictionary=False)
    right = SWEEPS[name](problem, q, 2)
    wrong = SWEEPS[name](problem, q, 2, mistake)
    gap = np.abs(right.counts.transition - wrong.counts.transition).max()
    assert not gap < 1e-3  # a NaN counts as a change


def test_repaired_update_of_hard_counts_is_the_plain_one():
    problem, _ = _case(9)
    rng = np.random.default_rng(9)
    z = [rng.integers(3, size=len(sequence)) for sequence in problem.sequences]
    q = restatement_token.indicator_posteriors(problem, z)
    xi = [restatement.pair_products(marginals) for marginals in q]
    counts = restatement.expected_counts(problem, q, xi)
    presence = restatement_hyper.count_presence(problem, q, xi)
    plain = restatement_hyper.hyper_update(0.2, counts.transition)
    repaired = restatement_hyper.repaired_hyper_update(
        0.2, counts.transition, presence.transition, presence.transition_rows
    )
    assert repaired == pytest.approx(plain, rel=1e-12)
    assert plain > 0


def test_repaired_expectation_is_exact_for_one_token():
    exact = 0.3 * (digamma(1.05) - digamma(0.05))
    assert restatement_hyper.expected_digamma_step(0.3, 0.3, 0.05) == pytest.approx(exact)
    assert restatement_hyper.expected_digamma_step(0.0, 0.0, 0.05) == 0.0


def test_soft_counts_push_the_plain_update_up():
    table, chances = np.full((3, 4), 0.25), np.full((3, 4), 0.25)
    plain = restatement_hyper.hyper_update(0.01, table)
    repaired = restatement_hyper.repaired_hyper_update(0.01, table, chances, np.ones(3))
    assert plain > 2 * repaired
