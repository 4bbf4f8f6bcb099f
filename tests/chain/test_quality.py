"""Collapsed variational Bayes comes closer to the exact posterior than variational Bayes."""

import numpy as np
import pytest

from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import initial_posteriors
from benchmarks.published.marginals import fitted, mean_distance, quality_problems

ALGORITHMS = ("VB", "CVB token", "CVB sequence")


@pytest.fixture(scope="module")
def errors():
    """One row per problem: the errors of VB, CVB token and CVB sequence."""
    return np.array([_errors(problem) for problem in quality_problems(36)])


def _errors(problem):
    exact = brute.collapsed_posterior(problem).marginals
    start = initial_posteriors(np.random.default_rng(0), problem, noise=0.05)
    runs = [fitted(problem, name, init=start) for name in ALGORITHMS]
    return [mean_distance(problem, run.posteriors, exact) for run in runs]


def _column(errors, name):
    return errors[:, ALGORITHMS.index(name)]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["CVB sequence", "CVB token"])
def test_collapsed_marginals_are_closer_to_exact(errors, name):
    collapsed, plain = _column(errors, name), _column(errors, "VB")
    wins = np.mean(collapsed < plain)
    print(f"{name} {collapsed.mean():.3f}, VB {plain.mean():.3f}, closer in {wins:.0%}")
    assert collapsed.mean() < 0.75 * plain.mean()
    assert wins >= 0.8
