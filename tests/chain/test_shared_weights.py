"""An HDP as prior of transitions, and sticky: weights of the states that all rows share."""

import functools
import itertools

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import betaln, digamma, gammaln, roots_jacobi
from scipy.stats import beta as beta_distribution
from scipy.stats import gamma as gamma_distribution

from sklearn_cvb import CVBHMM, HDP, VBHMM, GibbsHMM, Samples, Symbols, Transitions
from sklearn_cvb.chain.parameters.rows import ChainConcentrations, HMMCounts, Presence
from sklearn_cvb.chain.parameters.shared_weights import (
    draw_shared_weights,
    learn_shared_weights,
    without_empty_states,
)
from sklearn_cvb.chain.starts.state_merging import StateMerging, joined_counts, likely_pairs
from sklearn_cvb.learning import dirichlet
from sklearn_cvb.learning.model import State
from sklearn_cvb.reading.validation import InvalidParameterError

KINDS = (VBHMM, CVBHMM, GibbsHMM)


def chain(seed, n_states=5, n_symbols=20, n_sequences=40, length=50):
    """Sequences of a chain whose transitions and emissions are sparse."""
    rng = np.random.default_rng(seed)
    moves = rng.dirichlet(np.full(n_states, 0.4), n_states).cumsum(axis=1)
    shows = rng.dirichlet(np.full(n_symbols, 0.15), n_states).cumsum(axis=1)
    X = np.empty((n_sequences, length), int)
    state = rng.integers(n_states, size=n_sequences)
    for t in range(length):
        X[:, t] = (shows[state] < rng.random((n_sequences, 1))).sum(axis=1).clip(0, n_symbols - 1)
        state = (moves[state] < rng.random((n_sequences, 1))).sum(axis=1).clip(0, n_states - 1)
    return X


def concentrations(n_states, alpha, gamma, sticky=0.0, start_alpha=None):
    first = ChainConcentrations(alpha, 0.1, False, False, (1.0, 1.0), (1.0, 1.0), start_alpha)
    weights = np.arange(1.0, n_states + 1)
    return first._replace(
        state_weights=tuple((weights / weights.sum()).tolist()), gamma=gamma, sticky=sticky
    )


def table_distribution(n_customers, u):
    """P(m tables | n customers of a cell with prior u), by the process itself."""
    shares = np.array([1.0])
    for i in range(n_customers):
        new = u / (u + i)
        shares = np.append(shares * (1.0 - new), 0.0) + np.append(0.0, shares * new)
    return shares


def expected_tables(counts, alpha, shared, sticky):
    """Expected tables of the weights by cell, without those that `sticky` has."""
    found = np.zeros(counts.shape)
    for (j, k), n in np.ndenumerate(counts):
        u = alpha * shared[k] + (sticky if j == k else 0.0)
        found[j, k] = table_distribution(int(n), u) @ np.arange(int(n) + 1)
        found[j, k] *= alpha * shared[k] / u
    return found


def pooled(alpha, weights, **changed):
    first = ChainConcentrations(alpha, 0.1, False, False, (2.0, 0.5), (1.0, 1.0), 0.3)
    rows = tuple(map(tuple, weights.tolist()))
    return first._replace(state_weights=rows, gamma=float(len(rows)), **changed)


def pooled_counts(n_tables, n_states, most, seed=0):
    """Tables one below the other; nothing leads to the last one."""
    rng = np.random.default_rng(seed)
    moves = rng.integers(most, size=(n_tables * n_states, n_states)).astype(float)
    moves[-n_states:] = 0.0
    return HMMCounts(rng.integers(most, size=n_states).astype(float), moves, np.empty(0))


def whole_counts(n_states, most, n_ends=0, seed=0):
    """Counts of start and transitions; the end, where there is one, has a row, too."""
    rng, size = np.random.default_rng(seed), n_states + n_ends
    start, moves = np.zeros(size), np.zeros((size, size))
    start[:n_states] = rng.integers(most, size=n_states)
    moves[:n_states] = rng.integers(most, size=(n_states, size))
    return HMMCounts(start, moves, np.empty(0))


def step(before, counts):
    """One step from whole counts."""
    ones = HMMCounts(*(np.ones_like(table) for table in counts))
    totals = HMMCounts(np.ones(1), np.ones(len(counts.transition)), np.empty(0))
    return learn_shared_weights(before, counts, Presence(ones, totals), dirichlet.fixed_point)


@pytest.mark.parametrize("n_ends", [0, 1])
@pytest.mark.parametrize("start_alpha", [None, 0.4])
@pytest.mark.parametrize("sticky", [0.0, 2.5])
def test_a_step_takes_the_expected_number_of_tables(sticky, start_alpha, n_ends):
    counts, before = whole_counts(3, 12, n_ends), concentrations(3, 1.7, 0.9, sticky, start_alpha)
    shared = np.array(before.state_weights)
    tables = expected_tables(counts.transition[:3, :3], 1.7, shared, sticky).sum(axis=0)
    of_start = 1.7 if start_alpha is None else start_alpha
    tables += expected_tables(np.vstack([counts.start[:3]]), of_start, shared, 0.0)[0]
    expected = (tables + 0.3) / (tables + 0.3).sum()
    np.testing.assert_allclose(step(before, counts).state_weights, expected, rtol=1e-10)


@pytest.mark.parametrize("sticky", [0.0, 2.5])
def test_pooled_rows_take_the_expected_number_of_tables(sticky):
    """Row j of every context has tables of the weights of state j; start rows have none."""
    counts, rows = pooled_counts(4, 3, 12), np.random.default_rng(1).dirichlet(np.ones(3), 3)
    found = step(pooled(1.7, rows, sticky=sticky), counts)
    expected = np.ones((3, 3))
    for table in counts.transition.reshape(4, 3, 3):
        for j in range(3):
            row = np.zeros((3, 3))
            row[j] = table[j]
            expected[j] += expected_tables(row, 1.7, rows[j], sticky)[j]
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.weights, expected, rtol=1e-10)


def pooled_log_evidence(counts, alpha, rows):
    """Log evidence of whole counts given alpha and the weights, row by row."""
    value = 0.0
    for i, row in enumerate(counts.transition):
        u = alpha * rows[i % len(rows)]
        value = value + (gammaln(row + u) - gammaln(u)).sum(axis=-1) + gammaln(alpha)
        value = value - gammaln(row.sum() + alpha)
    return value


def test_learned_alpha_of_pooled_rows_has_the_highest_posterior_density():
    counts, rows = pooled_counts(5, 3, 15), np.random.default_rng(1).dirichlet(np.ones(3), 3)
    first = pooled(1.0, rows, learn_alpha=True)
    found = first
    for _ in range(300):
        found = step(found, counts)._replace(state_weights=first.state_weights)

    def lost(alpha):
        density = gamma_distribution(2.0, scale=2.0).logpdf(alpha)
        return -pooled_log_evidence(counts, alpha, rows) - density

    best = minimize_scalar(lost, bounds=(1e-3, 50.0), method="bounded", options={"xatol": 1e-9})
    assert found.alpha == pytest.approx(best.x, rel=1e-5)


@pytest.mark.long
def test_drawn_pooled_weights_follow_their_posterior():
    """Two states, alpha given: means beside sums over a grid of each row's weight."""
    counts, rng = pooled_counts(4, 2, 9, seed=3), np.random.default_rng(0)
    now, draws = pooled(2.0, np.full((2, 2), 0.5)), np.empty((8_000, 2))
    for row in draws:
        now = draw_shared_weights(now, counts, rng)
        row[:] = now.weights[:, 0]
    grid = (np.arange(400) + 0.5) / 400
    for state in range(2):
        own = counts._replace(transition=counts.transition[state::2])
        logs = [pooled_log_evidence(own, 2.0, np.array([[w, 1.0 - w]])) for w in grid]
        shares = np.exp(np.array(logs) - max(logs))
        mean = shares @ grid / shares.sum()
        spread = np.sqrt(shares @ (grid - mean) ** 2 / shares.sum())
        assert draws[:, state].mean() == pytest.approx(mean, abs=0.01)
        assert draws[:, state].std() == pytest.approx(spread, abs=0.01)


def test_states_that_a_start_has_emptied_stay_out():
    """Their weight is none, and others share all: by tables alone, each with its part of gamma."""
    counts, before = whole_counts(4, 12, seed=2), concentrations(4, 1.7, 0.9, 2.5)
    for table in (counts.start, counts.transition, counts.transition.T):
        table[1] = 0.0
    for of_vb in (dirichlet.damped_fixed_point, None):
        assert without_empty_states(before, counts, of_vb) is before
    first = without_empty_states(before, counts, dirichlet.fixed_point)
    shared = np.array([1.0, 0.0, 3.0, 4.0]) / 8
    np.testing.assert_allclose(first.state_weights, shared)
    assert without_empty_states(first, counts, dirichlet.fixed_point) is first
    kept, nobody = [0, 2, 3], counts._replace(start=np.zeros(4), transition=np.zeros((4, 4)))
    assert without_empty_states(before, nobody, dirichlet.fixed_point) is before
    moves = counts.transition[np.ix_(kept, kept)]
    tables = expected_tables(moves, 1.7, shared[kept], 2.5).sum(axis=0)
    tables += expected_tables(counts.start[None, kept], 1.7, shared[kept], 0.0)[0]
    with np.errstate(all="raise"):
        found = step(first._replace(learn_gamma=True), counts)
    assert found.state_weights[1] == 0.0
    weights = np.array(found.state_weights)[kept]
    np.testing.assert_allclose(weights, (tables + 0.225) / (tables + 0.225).sum(), rtol=1e-10)
    assert 0.1 < found.gamma < 10.0


def log_evidence_of(counts, alpha, start_alpha, shared, sticky):
    """Log evidence of whole counts given alpha and the weights (last axis), row by row."""
    n, value = shared.shape[-1], 0.0
    for j, row in enumerate([*counts.transition[:n], counts.start]):
        is_start = j == n
        u = (alpha if not is_start or start_alpha is None else start_alpha) * shared
        if not is_start:
            end = np.broadcast_to(alpha / n, (*u.shape[:-1], len(row) - n))
            u = np.concatenate([u + sticky * (np.arange(n) == j), end], axis=-1)
        row = row[: u.shape[-1]]
        value += (gammaln(row + u) - gammaln(u)).sum(axis=-1)
        value -= gammaln((row + u).sum(axis=-1)) - gammaln(u.sum(axis=-1))
    return value


@pytest.mark.long(usual=True)
@pytest.mark.parametrize(
    ("sticky", "start_alpha", "n_ends"), [(0.0, None, 0), (1.5, None, 1), (0.7, 0.4, 1)]
)
def test_learned_alpha_has_the_highest_posterior_density(sticky, start_alpha, n_ends):
    counts = whole_counts(3, 15, n_ends)
    first = concentrations(3, 1.0, 0.9, sticky, start_alpha)
    found = first._replace(learn_alpha=True, alpha_prior=(2.0, 0.5))
    for _ in range(300):
        found = step(found, counts)._replace(state_weights=first.state_weights)

    def lost(alpha):
        own = np.array(first.state_weights)
        value = log_evidence_of(counts, alpha, start_alpha, own, sticky)
        return -value - gamma_distribution(2.0, scale=2.0).logpdf(alpha)

    best = minimize_scalar(lost, bounds=(1e-3, 50.0), method="bounded", options={"xatol": 1e-9})
    assert found.alpha == pytest.approx(best.x, rel=1e-5)


def test_learned_gamma_has_the_highest_posterior_density():
    """With at most one transition in a cell tables are certain: counts of one row over states."""
    counts = HMMCounts(
        np.array([1.0, 0.0, 0.0, 0.0]),
        np.array([[1.0, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 0], [1, 1, 0, 0]]),
        np.empty(0),
    )
    found = concentrations(4, 1.3, 1.0)._replace(learn_gamma=True, gamma_prior=(2.0, 0.5))
    tables = np.array([5, 3, 1, 0])
    expected = sum(table_distribution(m, 0.25) @ np.arange(m + 1) for m in tables)
    once = (1.0 + expected) / (0.5 + (1.0 / (1.0 + np.arange(9))).sum())
    assert step(found, counts).gamma == pytest.approx(once, rel=1e-10)
    for _ in range(300):
        found = step(found, counts)

    def lost(gamma):
        value = gammaln(gamma) - gammaln(gamma + 9)
        value += (gammaln(tables + gamma / 4) - gammaln(gamma / 4)).sum()
        return -value - gamma_distribution(2.0, scale=2.0).logpdf(gamma)

    best = minimize_scalar(lost, bounds=(1e-3, 50.0), method="bounded", options={"xatol": 1e-9})
    assert found.gamma == pytest.approx(best.x, rel=1e-5)


def test_what_is_hardly_there_hardly_tells_of_gamma():
    """Single tokens of uncertain state: a table each where they are; all cases are summed."""
    shares = np.array([[0.9, 0.1, 0.02], [0.8, 0.2, 0.01], [0.7, 0.05, 0.03]])
    counts = HMMCounts(np.zeros(3), shares, np.empty(0))
    totals = HMMCounts(np.zeros(1), np.ones(3), np.empty(0))
    before = concentrations(3, 1.3, 0.9)._replace(learn_gamma=True)
    after = learn_shared_weights(
        before, counts, Presence(counts, totals), dirichlet.damped_fixed_point
    )
    anew = 0.0
    for of_state in shares.T:
        for case in itertools.product([0, 1], repeat=3):
            chance = np.prod(np.where(case, of_state, 1.0 - of_state))
            n_tables = sum(case)
            anew += chance * (table_distribution(n_tables, 0.3) @ np.arange(n_tables + 1))
    total = shares.sum()
    expected = anew / (1.0 + digamma(0.9 + total) - digamma(0.9))
    assert after.gamma == pytest.approx(expected, rel=0.02)


@pytest.mark.long
@pytest.mark.parametrize(
    ("sticky", "start_alpha", "n_ends"), [(0.0, None, 0), (1.5, None, 1), (0.7, 0.4, 1)]
)
def test_drawn_concentrations_follow_their_posterior(sticky, start_alpha, n_ends):
    """Means of log alpha, log gamma and the weight of state 0, beside sums over a fine grid."""
    counts, rng = whole_counts(2, 9, n_ends, seed=3), np.random.default_rng(0)
    now = concentrations(2, 1.0, 1.0, sticky, start_alpha)
    now = now._replace(
        learn_alpha=True, learn_gamma=True, alpha_prior=(2.0, 1.0), gamma_prior=(1.5, 0.5)
    )
    draws = np.empty((8_000, 3))
    for row in draws:
        now = draw_shared_weights(now, counts, rng)
        row[:] = np.log(now.alpha), np.log(now.gamma), now.state_weights[0]
    logs, weight = np.linspace(-7.0, 5.0, 100), (np.arange(200) + 0.5) / 200
    both = np.column_stack([weight, 1.0 - weight])
    evidence = log_evidence_of(counts, np.exp(logs)[:, None, None], start_alpha, both, sticky)
    evidence += (gamma_distribution(2.0).logpdf(np.exp(logs)) + logs)[:, None]
    # Cells of the grid hold the mass of the weight near its ends.
    edges = beta_distribution.cdf(np.linspace(0.0, 1.0, 201), *np.exp([logs[:, None]] * 2) / 2)
    of_gamma = gamma_distribution(1.5, scale=2.0).logpdf(np.exp(logs)) + logs
    joint = np.exp(evidence - evidence.max()).sum(axis=0) * np.diff(edges)
    joint *= np.exp(of_gamma)[:, None]
    by_alpha = np.exp(evidence - evidence.max()) @ (np.diff(edges).T @ np.exp(of_gamma))
    assert draws[:, 0].mean() == pytest.approx(by_alpha @ logs / by_alpha.sum(), abs=0.05)
    assert draws[:, 1].mean() == pytest.approx(joint.sum(1) @ logs / joint.sum(), abs=0.05)
    assert draws[:, 2].mean() == pytest.approx(joint.sum(0) @ weight / joint.sum(), abs=0.01)


@pytest.mark.long
def test_drawn_weights_follow_drawn_tables():
    """Means of the weights are those of Dirichlet(gamma / K + tables), tables by the process."""
    counts = HMMCounts(np.array([2.0, 1.0]), np.array([[6.0, 1.0], [0.0, 9.0]]), np.empty(0))
    before, rng = concentrations(2, 1.2, 0.8, 1.5), np.random.default_rng(0)
    found = np.array(
        [draw_shared_weights(before, counts, rng).state_weights for _ in range(20_000)]
    )
    shared = np.array(before.state_weights)
    draws = np.zeros((20_000, 2))
    for table, is_start in ((counts.transition, False), (counts.start[None], True)):
        for (j, k), n in np.ndenumerate(table):
            u = 1.2 * shared[k] + (1.5 if j == k and not is_start else 0.0)
            shares = table_distribution(int(n), u)
            tables = rng.choice(len(shares), p=shares, size=20_000)
            draws[:, k] += rng.binomial(tables, 1.2 * shared[k] / u)
    expected = rng.beta(draws[:, 0] + 0.4, draws[:, 1] + 0.4)
    assert found[:, 0].mean() == pytest.approx(expected.mean(), abs=0.01)
    assert found[:, 0].std() == pytest.approx(expected.std(), abs=0.01)


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("end_state", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_equal_weights_are_the_plain_prior(kind, end_state):
    """With a large gamma all weights are equal, and rows those of a Dirichlet of alpha / K."""
    X, settings = chain(0, n_sequences=6), {"random_state": 0, "max_iter": 40, "beta": 0.2}
    settings |= {} if kind is GibbsHMM else {"tol": 0}
    plain = kind(4, transitions=Transitions(end_state=end_state), alpha=0.3, **settings).fit(X)
    equal = Transitions(end_state=end_state, prior=HDP(1e10))
    shared = kind(4, transitions=equal, alpha=1.2, n_init=1, init="parameter", **settings).fit(X)
    np.testing.assert_allclose(shared.state_weights_, 0.25, atol=2e-5)
    if kind is not GibbsHMM:
        np.testing.assert_allclose(shared.transmat_, plain.transmat_, atol=1e-4)


@pytest.mark.long(usual=True)
@pytest.mark.parametrize(
    ("alpha", "sticky", "end_state"),
    [(1.0, 0.0, True), (1.0, 1.0, False), ("auto", 0.0, False), ("auto", 1.0, True)],
)
def test_the_bound_never_falls(alpha, sticky, end_state):
    X = chain(1, n_sequences=15)
    transitions = Transitions(end_state=end_state, sticky=sticky, prior="hdp")
    settings = {"transitions": transitions, "alpha": alpha, "beta": 0.1}
    model = VBHMM(8, random_state=0, max_iter=80, tol=0.0, **settings).fit(X)
    assert np.diff(model.history_).min() > -1e-8 * abs(model.history_[-1])


def log_path(path, weight, alpha, sticky, end_state):
    """Log probability of a path of two states given weights of state 0."""
    shared = alpha * np.column_stack([weight, 1.0 - weight])
    u = shared[:, None] + sticky * np.eye(2)
    if end_state:
        u, path = np.concatenate([u, np.full_like(u[..., :1], alpha / 2)], axis=2), (*path, 2)
    moves = np.zeros(u.shape[1:])
    for before, after in itertools.pairwise(path):
        moves[before, after] += 1
    value = np.log(weight if path[0] == 0 else 1.0 - weight)
    value += (gammaln(moves + u) - gammaln(u)).sum(axis=(1, 2))
    totals = u.sum(axis=2)
    return value - (gammaln(moves.sum(axis=1) + totals) - gammaln(totals)).sum(axis=1)


ALPHA, GAMMA, BETA = 1.5, 1.2, 0.6
SYMBOLS = [0, 0, 1, 0, 1, 1]


@functools.cache
def exact_shares(sticky, end_state):
    """Posterior of all 64 paths of six symbols, the weights integrated by quadrature.

    The integrand is a polynomial of low degree times a beta density, for which this is exact.
    """
    paths, values = list(itertools.product([0, 1], repeat=6)), []
    places, shares = roots_jacobi(12, GAMMA / 2 - 1.0, GAMMA / 2 - 1.0)
    for path in paths:
        value = 0.0
        for k in (0, 1):
            seen = np.array([sum(s == k and w == v for s, w in zip(path, SYMBOLS, strict=True))
                             for v in (0, 1)])  # fmt: skip
            value += betaln(*(seen + BETA)) - betaln(BETA, BETA)
        logs = log_path(path, (1.0 + places) / 2, ALPHA, sticky, end_state)
        values.append(np.exp(value) * (shares @ np.exp(logs)))
    return np.array(values) / np.sum(values)


# Sweeps that bring the distance of a sound chain to .03 or .04.
@pytest.mark.long
@pytest.mark.parametrize(
    ("update", "sticky", "end_state", "n_sweeps"),
    [
        ("token", 0.0, False, 3_500),
        ("token", 0.7, True, 3_500),
        ("parameter", 0.7, True, 6_000),
    ],
)
def test_gibbs_draws_from_the_posterior(update, sticky, end_state, n_sweeps):
    transitions = Transitions(end_state=end_state, sticky=sticky, prior=HDP(GAMMA))
    settings = {"alpha": ALPHA, "beta": BETA, "emission": Symbols(handle_unknown="error")}
    settings |= {"max_iter": n_sweeps, "samples": Samples(100, thin=1), "random_state": 0}
    settings["n_init"] = 1
    model = GibbsHMM(2, update=update, transitions=transitions, **settings).fit([SYMBOLS])
    drawn = np.asarray(model.samples_, int) @ 2 ** np.arange(6)[::-1]
    found = np.bincount(drawn, minlength=64) / len(drawn)
    # Nothing tells the states apart: a path is as likely as its mirror, and both count as one.
    assert found[:32].sum() == pytest.approx(0.5, abs=0.1)
    of_both = found + found[::-1] - 2 * exact_shares(sticky, end_state)
    assert 0.25 * np.abs(of_both).sum() < 0.05


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 5])
def test_the_sampler_finds_the_number_of_states(seed):
    """Chains of five states; of ten such seeds four are explained as well by fewer."""
    model = GibbsHMM(
        12,
        transitions=Transitions(prior="hdp"),
        alpha=1.0,
        beta=0.1,
        max_iter=1500,
        n_init=2,
        random_state=seed,
    ).fit(chain(seed))
    assert model.n_effective_components_ == 5


def leaving(seed):
    """Ten sequences of four states that never stay, each with three symbols of eight."""
    rng = np.random.default_rng(seed)
    X, state = np.empty((10, 100), int), rng.integers(4, size=10)
    for t in range(100):
        X[:, t] = (2 * state + rng.integers(3, size=10)) % 8
        state = (state + rng.integers(1, 3, size=10)) % 4
    return X


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_states_that_share_a_role_are_joined(kind):
    seed, settings = 0, {"alpha": 1.0, "max_iter": 200, "random_state": 0}
    for end_state in (False, True):
        settings["transitions"] = Transitions(end_state=end_state, prior="hdp")
        model = kind(10, n_init=2, **settings).fit(leaving(seed))
        assert model.n_effective_components_ == 4
    if kind is CVBHMM:
        settings["init"] = "parameter"
        assert kind(10, n_init=2, **settings).fit(leaving(seed)).n_effective_components_ > 4


def sharing(seed, length=100):
    """Sequences of three states that stay; each shows all ten symbols, four of them most."""
    rng = np.random.default_rng(seed)
    place = np.arange(10) - 3 * np.arange(3)[:, None]
    shown = np.where((place >= 0) & (place <= 3), 5.0, 1.0)
    shown = (shown / shown.sum(axis=1, keepdims=True)).cumsum(axis=1)
    X, state = np.empty((30, length), int), rng.integers(3, size=30)
    for t in range(length):
        X[:, t] = (shown[state] < rng.random((30, 1))).sum(axis=1).clip(0, 9)
        state = np.where(rng.random(30) < 0.95, state, (state + rng.integers(1, 3, size=30)) % 3)
    return X.tolist()


def check_sharing(seed, n_states, length=100):
    """How many states CVB finds; others are empty, and nothing leads to them."""
    model = CVBHMM(n_states, transitions=Transitions(prior="hdp"), random_state=seed)
    model.fit(sharing(seed, length))
    is_held = model.state_weights_ > 0
    assert is_held.sum() == model.n_effective_components_
    assert (model.transmat_[:, ~is_held] == 0).all()
    assert (model.counts_.emission[:, ~is_held] == 0).all()
    np.testing.assert_allclose(model.transmat_.sum(axis=1), 1.0, rtol=1e-12)
    # They decide at their start, and one is swept.
    assert len(model.restart_objectives_) == 1
    return model.n_effective_components_


@pytest.mark.long(usual=True)
def test_states_that_share_all_symbols_are_as_many_as_there_are():
    assert check_sharing(0, 4, length=60) == 3


@pytest.mark.long
def test_their_number_is_found_in_nine_of_ten_draws():
    found = [check_sharing(seed, 10) for seed in range(10)]
    assert found.count(3) >= 9
    assert max(found) <= 4


@pytest.mark.long
def test_joining_raises_the_bound():
    """Three starts of VB alone end lower than one that joins states."""
    X = chain(5, n_sequences=50)
    settings = {"transitions": Transitions(prior="hdp"), "alpha": 1.0, "random_state": 0}
    alone = VBHMM(12, init="parameter", n_init=3, **settings).fit(X)
    joined = VBHMM(12, n_init=1, **settings).fit(X)
    assert joined.objective_ > alone.objective_ + 50.0
    assert joined.n_effective_components_ == 5 < alone.n_effective_components_


def test_joined_counts():
    rng = np.random.default_rng(0)
    cells = VBHMM(3)._read([[0, 1, 2, 3]], None).problem.cells
    table = rng.random((cells.n_rows, 3))
    counts = HMMCounts(rng.random(3), rng.random((3, 3)), table.ravel())
    start, transition, emission = joined_counts(counts, (0, 2), cells)
    turn = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(start, turn @ counts.start)
    np.testing.assert_allclose(transition, turn @ counts.transition @ turn.T)
    np.testing.assert_allclose(emission.reshape(-1, 3), table @ turn.T)


def test_the_states_most_alike_come_first():
    """By the evidence of their symbols or numbers; a state without tokens is in no pair."""
    table = np.array([[9.0, 0.0, 8.0, 0.0], [1.0, 5.0, 2.0, 0.0], [0.0, 5.0, 0.0, 0.0]])
    symbols = VBHMM(4, emission=Symbols(handle_unknown="error"))
    chain = symbols._model(symbols._read([[0, 1, 2]], None))
    prior = chain.prior(chain.hyper())
    start = np.array([10.0, 10.0, 10.0, 0.0])
    counts = HMMCounts(start, np.zeros((4, 4)), table.ravel())
    state = State(counts, prior, chain.hyper(), None)
    assert likely_pairs(chain, state) == [(0, 2), (1, 2), (0, 1)]
    numbers = VBHMM(4, emission="gaussian")
    x = np.array([[0.0], [0.1], [5.0], [5.1], [1.0], [1.1]])
    chain = numbers._model(numbers._read([x], None))
    posterior = np.repeat(np.eye(4)[:3], 2, axis=0)
    statistics = chain.problem.family.statistics(
        chain.problem.observations, posterior, np.array([0, 6])
    )[0]
    counts = HMMCounts(start, np.zeros((4, 4)), statistics)
    state = State(counts, chain.prior(chain.hyper()), chain.hyper(), None)
    assert likely_pairs(chain, state) == [(0, 2), (1, 2), (0, 1)]


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_states_of_numbers_are_joined_too(kind):
    rng = np.random.default_rng(0)
    states = np.repeat(rng.integers(3, size=(8, 12)), 5, axis=1)
    X = list(6.0 * states + rng.normal(size=states.shape))
    settings = {"transitions": Transitions(prior="hdp"), "emission": "gaussian", "max_iter": 100}
    model = kind(10, random_state=0, **settings).fit(X)
    apart = kind(10, init="kmeans", random_state=0, **settings).fit(X)
    assert model.n_effective_components_ == 3 < apart.n_effective_components_
    if kind is VBHMM:
        assert model.lower_bound_ > apart.lower_bound_ + 10.0


def test_states_are_joined_where_they_have_tokens_enough():
    """As many as there are symbols for each state; and not of known states, or other priors."""
    X, prior = [list("abcabcab")] * 6, Transitions(prior="hdp")

    def start_of(n_states, X, y=None, kind=VBHMM, **settings):
        model = kind(n_states, **{"transitions": prior} | settings)
        read = model._read(X, y)
        return model._model(read).settings.init

    # Three symbols and the unknown one, 48 tokens.
    assert [start_of(n, X) for n in (12, 13)] == [StateMerging(), "parameter"]
    assert start_of(12, X, kind=CVBHMM) == StateMerging(3, True)
    assert start_of(12, X, kind=CVBHMM, n_init=5) == StateMerging(5, True)
    assert start_of(12, X, kind=GibbsHMM, n_init=5) == StateMerging()
    assert start_of(3, X, transitions="full") == "parameter"
    assert start_of(3, X, [[0] * 8] * 6, supervision="y") == "token"
    assert start_of(3, X, init="word") == "word"
    with pytest.raises(InvalidParameterError, match="The 'init' parameter of VBHMM"):
        VBHMM(3, init="merged").fit(X)


@pytest.mark.long
def test_numbers_have_the_same_prior():
    rng = np.random.default_rng(0)
    states = np.repeat(rng.integers(3, size=60), 10)
    X = np.split(6.0 * states + rng.normal(size=600), 6)
    settings = {
        "transitions": Transitions(sticky=1.0, prior="hdp"),
        "alpha": 1.0,
        "emission": "gaussian",
    }
    model = GibbsHMM(8, random_state=0, max_iter=300, n_init=2, **settings).fit(X)
    assert model.state_weights_.sum() == pytest.approx(1.0)
    assert model.n_effective_components_ == 3
    held = np.bincount(np.concatenate(list(model.labels_)), minlength=8)
    assert (held >= 6).sum() == 3


@pytest.mark.parametrize("kind", KINDS)
def test_what_does_not_go_together(kind):
    wrong = {"update": "sequence"} if kind is GibbsHMM else {}
    with pytest.raises(InvalidParameterError, match="it needs topology='full'"):
        kind(3, transitions=Transitions("left-right", prior="hdp"), **wrong).fit([[0, 1, 0]])


@pytest.mark.long
@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_warm_starts_go_on_with_the_weights(kind, learned):
    X = chain(2, n_sequences=6)
    settings = {"transitions": Transitions(prior="hdp"), "alpha": 1.0}
    if learned:
        settings |= {"alpha": "auto", "transitions": Transitions(end_state=True, prior=HDP("auto"))}
    # Of several starts another may be the best one by then.
    settings |= {"max_iter": 50, "n_init": 1, "random_state": 0}
    settings |= {"samples": Samples(20, thin=1)} if kind is GibbsHMM else {"tol": 0.0}
    whole = kind(5, **settings).fit(X)
    part = kind(5, warm_start=True, **settings | {"max_iter": 30}).fit(X)
    part.set_params(max_iter=20).fit(X)
    np.testing.assert_allclose(part.state_weights_, whole.state_weights_, rtol=1e-10)
    assert part.gamma_ == pytest.approx(whole.gamma_, rel=1e-10)
    assert (whole.gamma_ != 1.0) == learned


@pytest.mark.long
@pytest.mark.parametrize("emission", ["categorical", "gaussian"])
def test_a_chain_begins_under_equal_weights(emission):
    """They are drawn from three quarters of the burn-in on."""
    X = chain(2, n_sequences=6).astype(float)
    settings = {
        "alpha": "auto",
        "transitions": Transitions(prior=HDP("auto")),
        "emission": emission,
        "random_state": 0,
    }
    settings |= {"samples": Samples(40), "warm_start": True}
    before = GibbsHMM(5, max_iter=30, **settings).fit(X)
    np.testing.assert_array_equal(before.state_weights_, 0.2)
    assert (before.alpha_, before.gamma_) == (0.5, 1.0)
    after = GibbsHMM(5, max_iter=31, **settings).fit(X)
    assert np.ptp(after.state_weights_) > 0.0
    assert after.alpha_ != 0.5
    assert after.gamma_ != 1.0


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_more_states_have_a_larger_gamma(kind):
    """Of texts of three states and of twelve, both with twenty at hand."""
    few, many = (chain(3, n_states, n_sequences=60) for n_states in (3, 12))
    settings = {
        "alpha": "auto",
        "transitions": Transitions(prior=HDP("auto")),
        "random_state": 0,
        "max_iter": 150,
        "n_init": 1,
    }
    found = [kind(20, **settings).fit(X).gamma_ for X in (few, many)]
    assert 0.1 < found[0] < found[1] < 20.0


@pytest.mark.long
def test_numbers_with_ends_learn_all_concentrations():
    rng = np.random.default_rng(0)
    states = np.cumsum(rng.random((20, 30)) < 0.2, axis=1) % 3
    X = list(5.0 * states + rng.normal(size=states.shape))
    settings = {
        "alpha": "auto",
        "transitions": Transitions(end_state=True, prior=HDP("auto")),
        "emission": "gaussian",
    }
    for kind in KINDS:
        model = kind(5, random_state=0, max_iter=100, n_init=1, **settings).fit(X)
        assert model.gamma_ != 1.0
        assert model.alpha_ != 0.5
        ends = model.transmat_.sum(axis=1) + model.endprob_
        np.testing.assert_allclose(ends, 1.0, rtol=1e-9)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("emission", ["categorical", "gaussian"])
@pytest.mark.parametrize("kind", [VBHMM, CVBHMM])
def test_a_fit_may_go_on_with_shared_weights(kind, emission):
    """After sweeps under the plain prior the weights are learned, too."""
    X = chain(2, n_sequences=6).astype(float)
    settings = {"emission": emission, "warm_start": True, "tol": 0.0, "random_state": 0}
    model = kind(5, max_iter=25, **settings).fit(X)
    assert not hasattr(model, "state_weights_")
    model.set_params(transitions=Transitions(prior="hdp"), alpha=1.0).fit(X)
    assert np.ptp(model.state_weights_) > 0.01
    model.set_params(transitions=Transitions(prior="dirichlet"), alpha=0.1).fit(X)
    assert not hasattr(model, "state_weights_")


@pytest.mark.long
def test_a_fit_does_not_end_before_alpha_has_settled():
    """Beside one that goes on: alpha and the weights hold each other back."""
    rng = np.random.default_rng(0)
    states = np.cumsum(rng.random((10, 30)) < 0.3, axis=1) % 3
    X = list(9.0 * states + rng.normal(size=states.shape))
    settings = {"alpha": "auto", "transitions": Transitions(prior=HDP("auto")), "n_init": 1}
    settings |= {"emission": "gaussian", "random_state": 0}
    found = VBHMM(5, **settings).fit(X)
    longer = VBHMM(5, tol=0.0, max_iter=300, **settings).fit(X)
    assert found.converged_
    assert found.alpha_ == pytest.approx(longer.alpha_, rel=0.02)
