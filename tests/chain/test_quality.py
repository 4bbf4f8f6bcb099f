"""Collapsed variational Bayes comes closer to the exact posterior than variational Bayes."""

import numpy as np
import pytest
from chain.marginal_errors import ALGORITHMS, marginal_errors, quality_problems


@pytest.fixture(scope="module")
def errors():
    """One row per problem: the errors of VB, CVB token and CVB sequence."""
    rows = [list(marginal_errors(problem).values()) for problem in quality_problems(36)]
    return np.array(rows)


def _column(errors, name):
    return errors[:, list(ALGORITHMS).index(name)]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["CVB sequence", "CVB token"])
def test_collapsed_marginals_are_closer_to_exact(errors, name):
    collapsed, plain = _column(errors, name), _column(errors, "VB")
    wins = np.mean(collapsed < plain)
    print(f"{name} {collapsed.mean():.3f}, VB {plain.mean():.3f}, closer in {wins:.0%}")
    assert collapsed.mean() < 0.75 * plain.mean()
    assert wins >= 0.8
