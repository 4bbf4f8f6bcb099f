"""Every sweep of every algorithm against its slow restatement."""

from itertools import product

import numpy as np
import pytest
import restatement
from chain.unequal_priors import fit_with_unequal_priors
from estimators import (
    ALGORITHMS,
    as_states,
    exp_digamma,
    fit_sweeps,
    fitted_counts,
    make_estimator,
    tag,
)

from benchmarks.enumeration import brute
from benchmarks.enumeration.problems import (
    initial_posteriors,
    legal_states,
    random_problem,
    unequal_priors,
    with_priors,
)
from sklearn_cvb import Symbols

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

LENGTHS = [4, 1, 3, 2, 5]
TOLERANCE = {"rtol": 1e-10, "atol": 1e-10}


def _case(seed, n_states, dictionary, missing=0.15):
    rng = np.random.default_rng([seed, n_states, dictionary])
    problem = random_problem(rng, n_states, 6, LENGTHS, dictionary, missing)
    problem.alpha[-1] = rng.choice([0.2, 0.5])  # the start row's own prior
    return problem, initial_posteriors(rng, problem)


def _assert_same(estimator, result):
    counts = fitted_counts(estimator)
    np.testing.assert_allclose(counts.transition, result.counts.transition, **TOLERANCE)
    np.testing.assert_allclose(counts.emission, result.counts.emission, **TOLERANCE)
    np.testing.assert_allclose(estimator.objective_, result.history[-1], **TOLERANCE)


# But for tokens all is compared sweep by sweep in `learning.test_families_by_enumeration`.
N_SWEEPS = [*product(["em", "vb", "cvb_sequence"], [1, 4]), *product(["cvb_token"], [1, 2, 3, 4])]


@pytest.mark.many(usual=28)
@pytest.mark.parametrize("dictionary", [False, True], ids=["free", "dictionary"])
@pytest.mark.parametrize("n_states", [1, 2, 3, 4])
@pytest.mark.parametrize(("name", "n_sweeps"), N_SWEEPS)
def test_sweeps_agree(name, n_states, dictionary, n_sweeps):
    for seed in range(3):
        problem, q = _case(seed, n_states, dictionary)
        estimator = fit_sweeps(name, problem, q, n_sweeps)
        _assert_same(estimator, ALGORITHMS[name][2](problem, q, n_sweeps))


@pytest.mark.parametrize("dictionary", [False, True], ids=["free", "dictionary"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_training_posteriors_agree(name, dictionary):
    problem, q = _case(5, 3, dictionary)
    prefix, keywords, sweeps = ALGORITHMS[name]
    keywords = keywords | {"init": q, "tol": 0, "max_iter": 3, "warm_start": True}
    estimator = make_estimator(prefix, problem, **keywords).fit(problem.sequences)
    # Batch methods answer under the weights of their final counts: the next sweep's E-step.
    expected = sweeps(problem, q, 4 if name in ("em", "vb") else 3).q
    for table, exact in zip(estimator.training_posteriors(), expected, strict=True):
        np.testing.assert_allclose(table, exact, **TOLERANCE)


@pytest.mark.parametrize("dictionary", [False, True], ids=["free", "dictionary"])
@pytest.mark.parametrize("name", ["cvb_sequence", "cvb_token"])
def test_labels_of_collapsed_methods_agree(name, dictionary):
    for seed in range(4):
        problem, q = _case(seed, 3, dictionary)
        estimator = fit_sweeps(name, problem, q, 3)
        result = ALGORITHMS[name][2](problem, q, 3)
        for labels, table in zip(estimator.labels_, result.q, strict=True):
            np.testing.assert_array_equal(as_states(labels), table.argmax(axis=1))


@pytest.mark.parametrize("dictionary", [False, True], ids=["free", "dictionary"])
@pytest.mark.parametrize("name", ["em", "vb"])
def test_labels_of_batch_methods_agree(name, dictionary):
    for seed in range(4):
        problem, q = _case(seed, 3, dictionary)
        estimator = fit_sweeps(name, problem, q, 3)
        counts = ALGORITHMS[name][2](problem, q, 3).counts
        weights = restatement.posterior_mean_weights(problem, counts)
        if name == "vb":
            parameters = counts.transition + problem.alpha, counts.emission + problem.beta
            weights = [exp_digamma(table) for table in parameters]
        allowed = problem.allowed or [None] * len(problem.sequences)
        for i, sequence in enumerate(problem.sequences):
            _, log_weight = brute.best_path(sequence, *weights, allowed[i])
            path = as_states(estimator.labels_[i])
            weight = brute.path_weight(path, sequence, *weights)
            assert np.log(weight) == pytest.approx(log_weight, abs=1e-9)


PLANTED = [("cvb_sequence", mistake) for mistake in ("swap", "no_subtraction")] + [
    ("cvb_token", mistake) for mistake in ("swap", "no_subtraction", "eq20", "eq20_printed")
]


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("dictionary", [False, True], ids=["free", "dictionary"])
@pytest.mark.parametrize(("name", "mistake"), PLANTED)
def test_planted_mistakes_are_seen(name, mistake, dictionary):
    gaps = []
    for seed in range(4):
        problem, q = _case(seed, 3, dictionary, missing=0.0)
        counts = fitted_counts(fit_sweeps(name, problem, q, 2))
        wrong = ALGORITHMS[name][2](problem, q, 2, mistake).counts
        gaps.append(np.abs(counts.transition - wrong.transition).max())
    assert not max(gaps) < 1e-3  # a NaN is seen too


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("dictionary", [False, True], ids=["free", "dictionary"])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_unequal_priors_agree(name, dictionary):
    for seed in range(3):
        problem, q = _case(seed, 3, dictionary)
        problem = unequal_priors(np.random.default_rng(seed), problem)
        prefix, keywords, sweeps = ALGORITHMS[name]
        keywords = keywords | {"init": q, "tol": 0, "max_iter": 3}
        estimator = fit_with_unequal_priors(prefix, problem, **keywords)
        result = sweeps(problem, q, 3)
        if name == "em" and dictionary:
            # The objective knows ruled-out cells by their total only: exact up to a constant.
            shift = result.history[-1] - estimator.objective_
            history = [value - shift for value in result.history]
            np.testing.assert_allclose(estimator.history_, history, **TOLERANCE)
            result = result._replace(history=history)
        _assert_same(estimator, result)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_unknown_cell_counts_in_the_denominators(name):
    problem, q = _case(6, 3, False)
    larger = with_priors(problem._replace(n_symbols=7), 0.3, 0.2)
    prefix, keywords, sweeps = ALGORITHMS[name]
    keywords = keywords | {"emission": Symbols(vocabulary=range(6), handle_unknown="smooth")}
    keywords = keywords | {"init": q, "tol": 0, "max_iter": 3}
    estimator = make_estimator(prefix, larger, **keywords).fit(larger.sequences)
    result = sweeps(larger, q, 3)
    counts = fitted_counts(estimator)
    np.testing.assert_allclose(counts.transition, result.counts.transition, **TOLERANCE)
    np.testing.assert_allclose(estimator.objective_, result.history[-1], **TOLERANCE)


@pytest.mark.parametrize("concentration", [1e-4, 1e-10])
@pytest.mark.parametrize("n_states", [1, 3])
@pytest.mark.parametrize("name", ALGORITHMS)
def test_rows_without_counts_survive_tiny_priors(name, n_states, concentration):
    # Sequences of one token leave every transition row empty.
    rng = np.random.default_rng(n_states)
    problem = random_problem(rng, n_states, 4, [1, 1, 1, 1], dictionary=True)
    problem = with_priors(problem, concentration, concentration)
    q = initial_posteriors(rng, problem)
    estimator = fit_sweeps(name, problem, q, 2)
    result = ALGORITHMS[name][2](problem, q, 2)
    counts = fitted_counts(estimator)
    # Counts are sums less one sequence: rounding weighs against the prior.
    np.testing.assert_allclose(counts.emission, result.counts.emission, atol=1e-5)
    np.testing.assert_allclose(estimator.objective_, result.history[-1], rtol=1e-5)
    assert all(np.isfinite(table).all() for table in estimator.predict_proba(problem.sequences))


def _some_labels(rng, problem):
    """Known states for a third of the tokens, one sequence without any; the narrowed lattice."""
    labels, allowed = [], []
    for i, sequence in enumerate(problem.sequences):
        legal = [legal_states(problem, i, t) for t in range(len(sequence))]
        known = (rng.random(len(sequence)) < 1 / 3) & (i > 0)
        chosen = [int(rng.choice(states)) for states in legal]
        labels.append([k if given else None for k, given in zip(chosen, known, strict=True)])
        allowed.append(
            [[k] if k is not None else s for k, s in zip(labels[-1], legal, strict=True)]
        )
    return labels, problem._replace(allowed=allowed)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_labels_restrict_the_lattice(name):
    for seed in range(4):
        problem, _ = _case(seed, 3, True)
        rng = np.random.default_rng(seed)
        labels, narrowed = _some_labels(rng, problem)
        q = initial_posteriors(rng, narrowed)
        y = [[k if k is None else tag(k) for k in row] for row in labels]
        y[0] = None
        prefix, keywords, sweeps = ALGORITHMS[name]
        keywords = keywords | {"init": q, "tol": 0, "max_iter": 3}
        estimator = make_estimator(prefix, problem, **keywords).fit(problem.sequences, y)
        _assert_same(estimator, sweeps(narrowed, q, 3))
