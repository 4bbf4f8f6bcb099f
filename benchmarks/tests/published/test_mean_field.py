"""The exact mean-field ascent: its bound, its answers where they are known, and what it shows."""

import itertools

import numpy as np
import pytest

from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import initial_posteriors, token_states
from benchmarks.published import mean_field
from benchmarks.published.marginals import quality_problems


@pytest.fixture(scope="module")
def problem():
    return quality_problems(3)[2]


@pytest.fixture(scope="module")
def results(quick):
    return mean_field.run(quick)


def _log_joint(problem):
    return brute.collapsed_log_joint(problem, brute.joint_assignments(problem))


def test_bound_rises_with_every_sweep_to_below_the_evidence(problem):
    start = initial_posteriors(np.random.default_rng(0), problem, noise=0.05)
    factors = mean_field.sequence_factors(problem, start)
    log_joint = _log_joint(problem).reshape([len(factor) for factor in factors])
    ascent = mean_field.ascend(log_joint, factors)
    assert np.all(np.diff(ascent.bounds) > -1e-9)
    assert ascent.bounds[-1] < brute.collapsed_posterior(problem).log_evidence
    assert ascent.bounds[-1] > ascent.bounds[0] + 0.01


def test_one_update_is_the_expectation_of_the_log_conditional(problem):
    """Figure 2 term by term: the mean of log p(x, z) over all other tokens."""
    states = token_states(problem)
    start = initial_posteriors(np.random.default_rng(1), problem)
    factors = mean_field.token_factors(problem, start)
    open_axes = [axis for axis, legal in enumerate(states) if len(legal) > 1]
    table = _log_joint(problem).reshape([len(states[axis]) for axis in open_axes])
    factors = [factors[axis] for axis in open_axes]
    for axis in (0, len(factors) - 1):
        slow = np.zeros(len(factors[axis]))
        for z in itertools.product(*(range(len(factor)) for factor in factors)):
            others = (q[k] for i, (q, k) in enumerate(zip(factors, z, strict=True)) if i != axis)
            slow[z[axis]] += np.prod(list(others)) * table[z]
        assert mean_field.expected(table, factors, axis) == pytest.approx(slow)


def test_a_single_sequence_is_inferred_exactly(problem):
    """With one sequence the product has one factor, and the ascent is the exact posterior."""
    single = problem._replace(sequences=problem.sequences[:1], allowed=problem.allowed[:1])
    factors = mean_field.sequence_factors(
        single, initial_posteriors(np.random.default_rng(0), single)
    )
    ascent = mean_field.ascend(_log_joint(single), factors)
    exact = brute.collapsed_posterior(single)
    found = mean_field.marginals_of(single, ascent.factors, True)
    assert found[0] == pytest.approx(exact.marginals[0])
    assert ascent.bounds[-1] == pytest.approx(exact.log_evidence)


def test_collapsed_bounds_are_tighter_than_that_of_vb(results):
    for one in results["problems"]:
        assert one["gaps"][mean_field.SEQUENCE] + 1e-9 >= 0
    for name in (mean_field.TOKEN, mean_field.SEQUENCE):
        gap = mean_field.mean_of(results["problems"], "gaps", name)
        assert gap < 0.5 * mean_field.mean_of(results["problems"], "gaps", "VB")


def test_first_order_is_no_further_from_the_truth_than_what_it_approximates(results):
    def error(name):
        return mean_field.mean_of(results["problems"], "errors", name)

    assert error("CVB token") < error(mean_field.TOKEN) < error("VB")
    assert error("CVB sequence") < error(mean_field.SEQUENCE) < error("VB")
    apart = {
        name: mean_field.mean_of(results["problems"], "apart", name)
        for name in ("CVB token", "CVB token, order 2")
    }
    assert apart["CVB token, order 2"] < 0.5 * apart["CVB token"]


def test_exact_ascent_is_surer_than_first_order_and_both_than_the_posterior(results):
    def sure(name):
        return mean_field.mean_of(results["problems"], "sure", name)

    assert sure("posterior") < sure("CVB token") < sure(mean_field.TOKEN) < sure("VB")
    assert sure("posterior") < sure("CVB sequence") < sure(mean_field.SEQUENCE) < sure("VB")


def test_tables_and_picture(results, tmp_path):
    assert "exact, sequence" in mean_field.tables(results)["errors"].header
    mean_field.draw(results, tmp_path)
    assert (tmp_path / "mean_field_errors.png").stat().st_size > 5000
