"""Learning alpha and beta: the first steps against the slow fixed point."""

import warnings

import numpy as np
import pytest
import restatement
import restatement_token
from estimators import ALGORITHMS, fitted_counts, make_estimator
from restatement_hyper import count_presence, hyper_update, repaired_hyper_update

from benchmarks.enumeration.problems import initial_posteriors, random_problem, with_priors
from sklearn_cvb import Samples, Transitions
from sklearn_cvb.learning.dirichlet import FIRST_VALUE, WARM_UP_SWEEPS

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

AUTO = {"alpha": "auto", "beta": "auto", "transitions": Transitions(start_alpha=None)}
LEARNERS = ["vb", "cvb_sequence", "cvb_token"]


def _case(seed, dictionary):
    rng = np.random.default_rng([11, seed])
    problem = random_problem(rng, 3, 5, [4, 3, 2, 4, 3], dictionary, missing=0.1)
    problem = with_priors(problem, FIRST_VALUE, FIRST_VALUE)
    return problem, initial_posteriors(rng, problem)


def _fit(name, problem, q, n_sweeps, **keywords):
    prefix, settings, _ = ALGORITHMS[name]
    settings = AUTO | settings | {"init": q, "tol": 0, "max_iter": n_sweeps}
    return make_estimator(prefix, problem, **settings | keywords).fit(problem.sequences)


def _expected_step(name, problem, result, values):
    """alpha and beta after one step from these values and counts."""
    tables = result.counts.transition, result.counts.emission
    if name == "vb":
        return [hyper_update(value, table) for value, table in zip(values, tables, strict=True)]
    here = count_presence(problem, result.q, result.xi)
    return [
        repaired_hyper_update(values[0], tables[0], here.transition, here.transition_rows),
        repaired_hyper_update(values[1], tables[1], here.emission, here.emission_rows),
    ]


@pytest.mark.parametrize("init", ["parameter", "token", "word"])
@pytest.mark.parametrize("name", LEARNERS)
def test_nothing_is_learned_at_first_where_the_start_is_drawn(name, init):
    problem, _ = _case(0, False)
    settings = {"random_state": 0, "transitions": Transitions(start_alpha=None)}
    with pytest.warns(UserWarning, match="20 sweeps are too few to learn a conc"):
        estimator = _fit(name, problem, init, WARM_UP_SWEEPS, **settings)
    assert (estimator.alpha_, estimator.beta_) == (FIRST_VALUE, FIRST_VALUE)
    given = settings | {"alpha": FIRST_VALUE, "beta": FIRST_VALUE}
    fixed = _fit(name, problem, init, WARM_UP_SWEEPS, **given)
    assert np.array_equal(fitted_counts(estimator).transition, fitted_counts(fixed).transition)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimator = _fit(name, problem, init, WARM_UP_SWEEPS + 1, **settings)
    assert estimator.alpha_ != FIRST_VALUE != estimator.beta_


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("dictionary", [False, True], ids=["free", "dictionary"])
@pytest.mark.parametrize("name", LEARNERS)
def test_first_step_agrees(name, dictionary):
    for seed in range(3):
        problem, q = _case(seed, dictionary)
        # Where sums of pairs are kept, how surely they are positive is known after a sweep.
        n_sweeps = int(name == "cvb_sequence" and not dictionary)
        result = ALGORITHMS[name][2](problem, q, n_sweeps)
        expected = _expected_step(name, problem, result, (FIRST_VALUE, FIRST_VALUE))
        estimator = _fit(name, problem, q, n_sweeps + 1)
        np.testing.assert_allclose([estimator.alpha_, estimator.beta_], expected, rtol=1e-8)


@pytest.mark.parametrize("name", LEARNERS)
def test_second_step_agrees(name):
    problem, q = _case(5, True)
    sweeps = ALGORITHMS[name][2]
    first = _expected_step(name, problem, sweeps(problem, q, 0), (FIRST_VALUE, FIRST_VALUE))
    problem = with_priors(problem, *first)
    expected = _expected_step(name, problem, sweeps(problem, q, 1), first)
    estimator = _fit(name, problem, q, 2)
    np.testing.assert_allclose([estimator.alpha_, estimator.beta_], expected, rtol=1e-8)


def test_a_given_start_alpha_stays_out_of_the_step():
    problem, q = _case(1, False)
    problem.alpha[-1] = 0.7
    counts = restatement.vb_sweeps(problem, q, 0).counts
    estimator = _fit("vb", problem, q, 1, transitions=Transitions(start_alpha=0.7))
    expected = hyper_update(FIRST_VALUE, counts.transition[:-1])
    assert estimator.alpha_ == pytest.approx(expected, rel=1e-8)


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("seed", range(6))
def test_the_bound_rises_while_learning(seed):
    problem, q = _case(seed, seed % 2 == 0)
    history = np.asarray(_fit("vb", problem, q, 120).history_)
    # The log prior of alpha and beta is part of the bound from the first sweep on.
    assert np.all(np.diff(history) > -1e-7 * np.abs(history).max())


def test_the_sampler_learns_from_actual_counts():
    problem, _ = _case(2, True)
    n_sweeps = WARM_UP_SWEEPS + 1
    settings = AUTO | {"samples": Samples(0, thin=1, temperatures=None), "max_iter": n_sweeps}
    estimator = make_estimator("Gibbs", problem, **settings).fit(problem.sequences)
    lengths = [len(sequence) for sequence in problem.sequences]
    z = np.split(estimator.samples_[WARM_UP_SWEEPS - 1], np.cumsum(lengths)[:-1])
    q = restatement_token.indicator_posteriors(problem, z)
    xi = [restatement.pair_products(states) for states in q]
    counts = restatement.expected_counts(problem, q, xi)
    expected = [hyper_update(FIRST_VALUE, table) for table in counts]
    np.testing.assert_allclose([estimator.alpha_, estimator.beta_], expected, rtol=1e-10)
