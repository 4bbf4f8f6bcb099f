"""What theory promises of the objectives: EM and VB never fall, VB stays below the evidence."""

import numpy as np
import pytest
from estimators import make_estimator

from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import random_problem, with_priors

PROBLEMS = range(24)


def _problem(seed):
    """Small problems, every other one with a dictionary, some tokens missing."""
    rng = np.random.default_rng([7, seed])
    n_states = 2 + seed % 2
    return random_problem(rng, n_states, 4, [3, 2, 3, 1], dictionary=seed % 4 < 2, missing=0.1)


def _tolerance(history):
    return np.sqrt(np.finfo(float).eps) * max(1.0, np.abs(history).max())


@pytest.mark.many(usual=6)
@pytest.mark.parametrize("seed", PROBLEMS)
def test_lower_bound_rises_and_stays_below_the_evidence(seed):
    problem = _problem(seed)
    estimator = make_estimator("VB", problem, max_iter=60, tol=0, random_state=seed)
    estimator.fit(problem.sequences)
    history = np.asarray(estimator.history_)
    assert np.all(np.diff(history) >= -_tolerance(history))
    assert estimator.lower_bound_ == pytest.approx(history[-1], abs=1e-10)
    evidence = brute.collapsed_posterior(problem).log_evidence
    assert np.all(history <= evidence + 1e-10)


@pytest.mark.parametrize("init", ["token", "parameter"])
def test_lower_bound_rises_from_every_start(init):
    problem = _problem(0)
    estimator = make_estimator("VB", problem, max_iter=60, tol=0, init=init, n_init=3)
    history = np.asarray(estimator.fit(problem.sequences).history_)
    assert np.all(np.diff(history) >= -_tolerance(history))
    restarts = np.asarray(estimator.restart_objectives_)
    assert restarts.shape == (3,)
    assert estimator.objective_ == pytest.approx(restarts.max(), abs=1e-10)


def test_lower_bound_is_the_evidence_of_one_state():
    rng = np.random.default_rng(0)
    problem = random_problem(rng, 1, 4, [3, 2, 4])
    estimator = make_estimator("VB", problem, max_iter=3).fit(problem.sequences)
    evidence = brute.collapsed_posterior(problem).log_evidence
    assert estimator.lower_bound_ == pytest.approx(evidence, abs=1e-10)


@pytest.mark.many(usual=7)
@pytest.mark.parametrize("pseudo_count", [0.0, 0.3])
@pytest.mark.parametrize("seed", PROBLEMS)
def test_em_never_falls(seed, pseudo_count):
    problem = with_priors(_problem(seed), pseudo_count, pseudo_count)
    estimator = make_estimator("EM", problem, max_iter=60, tol=0, random_state=seed)
    history = np.asarray(estimator.fit(problem.sequences).history_)
    assert np.all(np.diff(history) >= -_tolerance(history))
