"""CVBHMM(update="token", order=2) against a slow restatement, and that against enumeration.

In the restatement every random count of figure 2 (Wang and Blunsom 2013) is a mixture: a list of
(weight, prior, chances), where the chances are those of the independent events it counts. All are
collected anew from q for every token and state.
"""

import itertools

import numpy as np
import pytest
import restatement
from estimators import fitted_counts, make_estimator
from hmm.unequal_priors import fit_with_unequal_priors
from problems import initial_posteriors, legal_states, make_problem, random_problem
from problems import unequal_priors as with_unequal_priors
from sklearn import config_context

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

LENGTHS = [4, 1, 3, 2, 5]
SECOND_ORDER = {"update": "token", "order": 2}
TOLERANCE = {"rtol": 1e-10, "atol": 1e-10}


def other_chances(problem, q, i, t, k, counted):
    """Chances of state k at all tokens (j, s) that are counted, but (i, t)."""
    return [
        q[j][s, k]
        for j, sequence in enumerate(problem.sequences)
        for s in range(len(sequence))
        if (j, s) != (i, t) and counted(j, s)
    ]


def pair_chances(q, before, after, left_out):
    """Chances of all transitions from one state to another, but the pairs left out."""
    return [
        row[s, before] * row[s + 1, after]
        for j, row in enumerate(q)
        for s in range(len(row) - 1)
        if (j, s) not in left_out
    ]


def emission_count(problem, q, i, t, k):
    symbol = problem.sequences[i][t]
    shown = other_chances(problem, q, i, t, k, lambda j, s: problem.sequences[j][s] == symbol)
    return [(1.0, problem.beta[k, symbol], shown)]


def emission_total(problem, q, i, t, k):
    seen = other_chances(problem, q, i, t, k, lambda j, s: problem.sequences[j][s] is not None)
    return [(1.0, problem.beta[k].sum(), seen)]


def incoming_count(problem, q, i, t, k):
    if t == 0:
        first = other_chances(problem, q, i, t, k, lambda j, s: s == 0)
        return [(1.0, problem.alpha[-1, k], first)]
    mixture = []
    for before in range(problem.n_states):
        chances = pair_chances(q, before, k, {(i, t - 2), (i, t - 1), (i, t)})
        if before == k and t >= 2:
            chances.append(q[i][t - 2, k])
        mixture.append((q[i][t - 1, before], problem.alpha[before, k], chances))
    return mixture


def outgoing_count(problem, q, i, t, k):
    mixture = []
    for after in range(problem.n_states):
        chances = pair_chances(q, k, after, {(i, t - 1), (i, t), (i, t + 1)})
        if after == k and t + 2 < len(q[i]):
            chances.append(q[i][t + 2, k])
        if after == k and t > 0:
            chances.append(q[i][t - 1, k])
        mixture.append((q[i][t + 1, after], problem.alpha[k, after], chances))
    return mixture


def outgoing_total(problem, q, i, t, k):
    leaving = other_chances(problem, q, i, t, k, lambda j, s: s + 1 < len(q[j]))
    return [(1.0, problem.alpha[k].sum(), leaving)]


def counts_of(problem, q, i, t, k):
    """(sign of its log, mixture) of every count in the update of one state, by name."""
    counts = {"incoming": (1, incoming_count(problem, q, i, t, k))}
    if problem.sequences[i][t] is not None:
        counts["emission"] = (1, emission_count(problem, q, i, t, k))
        counts["emission total"] = (-1, emission_total(problem, q, i, t, k))
    if t + 1 < len(q[i]):
        counts["outgoing"] = (1, outgoing_count(problem, q, i, t, k))
        counts["outgoing total"] = (-1, outgoing_total(problem, q, i, t, k))
    return counts


def moments(mixture, mistake=None):
    """Mean and variance of a mixture of sums of independent Bernoulli variables."""
    weights = [weight for weight, _, _ in mixture]
    means = [prior + sum(chances) for _, prior, chances in mixture]
    within = [sum(p * (1 - p) for p in chances) for _, _, chances in mixture]
    mean = sum(w * m for w, m in zip(weights, means, strict=True))
    variance = sum(w * v for w, v in zip(weights, within, strict=True))
    if mistake != "rows_alike":
        variance += sum(w * (m - mean) ** 2 for w, m in zip(weights, means, strict=True))
    return mean, variance


def expected_log(mixture, order, mistake=None):
    mean, variance = moments(mixture, mistake)
    return np.log(mean) - (variance / (2 * mean**2) if order == 2 else 0.0)


def token_update(problem, q, i, t, order, mistake=None):
    """The new q of one token, shape (K,)."""
    states = list(legal_states(problem, i, t))
    logs = np.zeros(len(states))
    for index, k in enumerate(states):
        for sign, mixture in counts_of(problem, q, i, t, k).values():
            first = expected_log(mixture, 1)
            correction = expected_log(mixture, order, mistake) - first
            logs[index] += sign * first
            logs[index] += correction if mistake == "no_signs" else sign * correction
    update = np.zeros(problem.n_states)
    update[states] = np.exp(logs - logs.max())
    return update / update.sum()


def sweeps(problem, q, n_sweeps, order=2, mistake=None):
    """Posteriors after sweeps over all tokens with more than one legal state."""
    q = [table.copy() for table in q]
    for _ in range(n_sweeps):
        for i, table in enumerate(q):
            for t in range(len(table)):
                if len(legal_states(problem, i, t)) > 1:
                    table[t] = token_update(problem, q, i, t, order, mistake)
    return q


def _case(seed, n_states, dictionary, missing=0.15):
    rng = np.random.default_rng([seed, n_states, dictionary])
    problem = random_problem(rng, n_states, 6, LENGTHS, dictionary, missing)
    problem.alpha[-1] = rng.choice([0.2, 0.5])  # the start row's own prior
    return problem, initial_posteriors(rng, problem)


def _settings(q, n_sweeps):
    return SECOND_ORDER | {"init": q, "tol": 0, "max_iter": n_sweeps}


def _assert_counts_of(estimator, problem, q):
    xi = [restatement.pair_products(table) for table in q]
    expected, counts = restatement.expected_counts(problem, q, xi), fitted_counts(estimator)
    np.testing.assert_allclose(counts.transition, expected.transition, **TOLERANCE)
    np.testing.assert_allclose(counts.emission, expected.emission, **TOLERANCE)


@pytest.mark.parametrize("n_sweeps", [1, 2, 5])
@pytest.mark.parametrize("dictionary", [False, True], ids=["free", "dictionary"])
@pytest.mark.parametrize("n_states", [1, 2, 3, 4])
def test_sweeps_agree(n_states, dictionary, n_sweeps):
    for seed in range(3):
        problem, q = _case(seed, n_states, dictionary)
        estimator = make_estimator("CVB", problem, warm_start=True, **_settings(q, n_sweeps))
        estimator.fit(problem.sequences)
        expected = sweeps(problem, q, n_sweeps)
        for table, exact in zip(estimator.training_posteriors(), expected, strict=True):
            np.testing.assert_allclose(table, exact, **TOLERANCE)
        _assert_counts_of(estimator, problem, expected)
        assert np.isfinite(estimator.history_).all()


@pytest.mark.parametrize("dictionary", [False, True], ids=["free", "dictionary"])
def test_unequal_priors_agree(dictionary):
    for seed in range(3):
        problem, q = _case(seed, 3, dictionary)
        problem = with_unequal_priors(np.random.default_rng(seed), problem)
        estimator = fit_with_unequal_priors("CVB", problem, **_settings(q, 4))
        _assert_counts_of(estimator, problem, sweeps(problem, q, 4))


@pytest.mark.parametrize("mistake", ["rows_alike", "no_signs"])
def test_planted_mistakes_are_seen(mistake):
    problem, q = _case(0, 3, False, missing=0.0)
    right, wrong = sweeps(problem, q, 2), sweeps(problem, q, 2, mistake=mistake)
    assert max(np.abs(a - b).max() for a, b in zip(right, wrong, strict=True)) > 1e-3


@pytest.mark.parametrize("dictionary", [False, True], ids=["free", "dictionary"])
def test_the_first_order_is_figure_3(dictionary):
    problem, q = _case(1, 3, dictionary)
    estimator = make_estimator("CVB", problem, **_settings(q, 3) | {"order": 1})
    _assert_counts_of(estimator.fit(problem.sequences), problem, sweeps(problem, q, 3, order=1))


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


@pytest.mark.parametrize("concentration", [1e-10, 1e-200])
# Concentrations this small are refused; the kernels stand them.
@config_context(skip_parameter_validation=True)
def test_tiny_concentrations_stay_finite(concentration):
    problem, q = _case(2, 3, False)
    settings = _settings(q, 5) | {"alpha": concentration, "beta": concentration}
    estimator = make_estimator("CVB", problem, start_alpha=None, warm_start=True, **settings)
    estimator.fit(problem.sequences)
    assert all(np.isfinite(table).all() for table in estimator.training_posteriors())
    assert np.isfinite(estimator.history_).all()


def test_the_sequence_update_has_no_second_order():
    problem, _ = _case(0, 2, True)
    estimator = make_estimator("CVB", problem, order=2)
    with pytest.raises(ValueError, match=r"order=2 needs update='token', got update='sequence'"):
        estimator.fit(problem.sequences)


@pytest.mark.parametrize("order", [0, 3, 1.5, "2"])
def test_order_is_one_or_two(order):
    problem, _ = _case(0, 2, False)
    with pytest.raises(ValueError, match="'order' parameter"):
        make_estimator("CVB", problem, update="token", order=order).fit(problem.sequences)
