"""The restatement of the second-order term: its counts against enumeration, its first order; the
sweeps over whole texts against it, and against the tagger that makes the first order's.
"""

import itertools

import numpy as np
import pytest
import restatement
from estimators import fitted_counts, make_estimator

from benchmarks.enumeration.problems import (
    initial_posteriors,
    legal_states,
    make_problem,
    random_problem,
    unequal_priors,
)
from benchmarks.published import second_order_sweeps
from benchmarks.published.second_order import counts_of, expected_log, moments, sweeps
from benchmarks.published.taggers import Plan, fit_restarts
from benchmarks.published.text import first_sentences

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

LENGTHS = [4, 1, 3, 2, 5]
TOLERANCE = {"rtol": 1e-10, "atol": 1e-10}


def _case(seed, n_states, dictionary, missing=0.15):
    rng = np.random.default_rng([seed, n_states, dictionary])
    problem = random_problem(rng, n_states, 6, LENGTHS, dictionary, missing)
    problem.alpha[-1] = rng.choice([0.2, 0.5])  # the start row's own prior
    return problem, initial_posteriors(rng, problem)


@pytest.mark.parametrize("mistake", ["rows_alike", "no_signs"])
def test_planted_mistakes_are_seen(mistake):
    problem, q = _case(0, 3, False, missing=0.0)
    right, wrong = sweeps(problem, q, 2), sweeps(problem, q, 2, mistake=mistake)
    assert max(np.abs(a - b).max() for a, b in zip(right, wrong, strict=True)) > 1e-3


@pytest.mark.parametrize("dictionary", [False, True], ids=["free", "dictionary"])
def test_the_first_order_is_figure_3(dictionary):
    problem, q = _case(1, 3, dictionary)
    settings = {"update": "token", "init": q, "tol": 0, "max_iter": 3}
    counts = fitted_counts(make_estimator("CVB", problem, **settings).fit(problem.sequences))
    found = sweeps(problem, q, 3, order=1)
    xi = [restatement.pair_products(table) for table in found]
    expected = restatement.expected_counts(problem, found, xi)
    np.testing.assert_allclose(counts.transition, expected.transition, **TOLERANCE)
    np.testing.assert_allclose(counts.emission, expected.emission, **TOLERANCE)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("dictionary", [False, True], ids=["free", "dictionary"])
@pytest.mark.parametrize("priors", ["symmetric", "unequal"])
def test_sums_that_are_kept_give_what_is_collected_anew(order, dictionary, priors):
    problem, q = _case(2, 3, dictionary)
    if priors == "unequal":
        problem = unequal_priors(np.random.default_rng(0), problem)
    legal = [
        [legal_states(problem, i, t) for t in range(len(sequence))]
        for i, sequence in enumerate(problem.sequences)
    ]
    rows = second_order_sweeps.rows_of(problem.sequences, legal)
    start = np.zeros((len(rows.symbols), problem.n_states))
    start[rows.tokens] = np.concatenate(q)
    prior = second_order_sweeps.Prior(problem.alpha, problem.beta)
    found = second_order_sweeps.sweeps(rows, start, prior, 4, order)
    expected = np.concatenate(sweeps(problem, q, 4, order))
    np.testing.assert_allclose(found[rows.tokens], expected, **TOLERANCE)
    assert np.abs(expected - np.concatenate(q)).max() > 0.1


@pytest.mark.parametrize("min_count", [1, 3])
def test_the_first_order_on_text_is_cvb_token_from_the_same_starts(min_count, quick):
    text = first_sentences(quick, 60, min_count)
    values = {"alpha": 0.3, "beta": 0.03}
    tagger = fit_restarts("cvb-token", text, Plan(10, 3), **values)
    first, second = (
        second_order_sweeps.second_order_restarts(text, Plan(10, 3), order=order, **values)
        for order in (1, 2)
    )
    assert first["accuracies"] == pytest.approx(tagger["accuracies"], abs=1e-12)
    assert second["accuracies"] != first["accuracies"]


def enumerated(problem, q, i, t, k):
    """Values of the counts of figure 2 at state k of token (i, t), by assignment of all others.

    Returns the probability of each assignment and, by name, the counts with their priors.
    """
    tokens = [(j, s) for j, row in enumerate(q) for s in range(len(row)) if (j, s) != (i, t)]
    share, values = [], {}
    for states in itertools.product(range(problem.n_states), repeat=len(tokens)):
        z = dict(zip(tokens, states, strict=True))
        share.append(np.prod([q[j][s, state] for (j, s), state in z.items()]))
        for name, value in figure_2(problem, z, i, t, k).items():
            values.setdefault(name, []).append(value)
    return np.array(share), {name: np.array(column) for name, column in values.items()}


def figure_2(problem, z, i, t, k):
    """The counts of figure 2 for one assignment `z` of all tokens but (i, t)."""
    moves = np.zeros((problem.n_states, problem.n_states))
    for (j, s), state in z.items():
        if (j, s + 1) in z:
            moves[state, z[j, s + 1]] += 1
    before, after = z.get((i, t - 1)), z.get((i, t + 1))
    shown = [problem.sequences[j][s] for (j, s), state in z.items() if state == k]
    values = {
        "emission": shown.count(problem.sequences[i][t]) + problem.beta[0, 0],
        "emission total": len(shown) + problem.beta[0].sum(),
        "incoming": sum(z[j, s] == k for j, s in z if s == 0) + problem.alpha[-1, 0],
    }
    if before is not None:
        values["incoming"] = moves[before, k] + problem.alpha[0, 0]
    if after is not None:
        values["outgoing"] = moves[k, after] + problem.alpha[0, 0] + (before == k == after)
        values["outgoing total"] = moves[k].sum() + problem.alpha[0].sum() + (before == k)
    return values


ENUMERATED = [([7, 6], 0, 3), ([7, 6], 0, 0), ([7, 6], 1, 5), ([4, 4, 5], 2, 1), ([13], 0, 6)]


@pytest.fixture(scope="module", params=range(len(ENUMERATED)))
def comparison(request):
    """(name, mixture, enumerated values, their probabilities) of every count of one token."""
    lengths, i, t = ENUMERATED[request.param]
    rng = np.random.default_rng(request.param)
    sequences = [rng.integers(2, size=length).tolist() for length in lengths]
    problem = make_problem(sequences, 2, 2, alpha=0.5, beta=0.5)
    q = [rng.dirichlet([2.0, 2.0], size=length) for length in lengths]
    rows = []
    for k in range(2):
        share, values = enumerated(problem, q, i, t, k)
        for name, (_, mixture) in counts_of(problem, q, i, t, k).items():
            rows.append((name, mixture, values[name], share))
    return rows


def test_means_are_exact(comparison):
    for name, mixture, values, share in comparison:
        assert moments(mixture)[0] == pytest.approx(share @ values, abs=1e-12), name


def test_variances_are_exact_but_for_neighbouring_pairs(comparison):
    for name, mixture, values, share in comparison:
        estimated, exact = moments(mixture)[1], share @ (values - share @ values) ** 2
        if len(mixture) == 1:
            assert estimated == pytest.approx(exact, abs=1e-12), name
        else:
            assert 0.6 < estimated / exact < 1.6, name


def test_second_order_is_closer_for_moderately_large_counts(comparison):
    gaps = []
    for name, mixture, values, share in comparison:
        if share @ values < 2.0:
            continue
        exact = share @ np.log(values)
        gaps.append([abs(expected_log(mixture, order) - exact) for order in (1, 2)])
        assert gaps[-1][1] < 0.6 * gaps[-1][0], name
    assert len(gaps) >= 4
