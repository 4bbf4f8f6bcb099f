"""transition_prior="hdp" and sticky: weights of the states that all rows of transitions share."""

import functools
import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaln, gammaln
from scipy.stats import beta as beta_distribution

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM
from sklearn_cvb.hmm.concentrations import Presence, first_concentrations
from sklearn_cvb.hmm.merging import joined_counts, likely_pairs
from sklearn_cvb.hmm.parameters import HMMCounts
from sklearn_cvb.hmm.shared_weights import drawn_weights, learned_weights
from sklearn_cvb.validation import InvalidParameterError

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


def concentrations(n_states, alpha, gamma, sticky=0.0, with_start=True):
    first = first_concentrations(alpha, 0.1, (1.0, 1.0), (1.0, 1.0), None)
    weights = np.arange(1.0, n_states + 1)
    return first._replace(
        shared=tuple((weights / weights.sum()).tolist()),
        gamma=gamma,
        sticky=sticky,
        with_start=with_start,
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


@pytest.mark.parametrize("sticky", [0.0, 2.5])
def test_a_step_takes_the_expected_number_of_tables(sticky):
    rng = np.random.default_rng(0)
    counts = HMMCounts(
        rng.integers(5, size=3).astype(float),
        rng.integers(12, size=(3, 3)).astype(float),
        np.empty(0),
    )
    before = concentrations(3, 1.7, 0.9, sticky)
    shared = np.array(before.shared)
    ones = HMMCounts(*(np.ones_like(table) for table in counts))
    totals = HMMCounts(np.ones(1), np.ones(3), np.empty(0))
    after = learned_weights(before, counts, Presence(ones, totals), never_falls=False)
    tables = expected_tables(counts.transition, 1.7, shared, sticky).sum(axis=0)
    tables += expected_tables(np.vstack([counts.start]), 1.7, shared, 0.0)[0]
    expected = (tables + 0.3) / (tables + 0.3).sum()
    np.testing.assert_allclose(after.shared, expected, rtol=1e-10)


def test_drawn_weights_follow_drawn_tables():
    """Means of the weights are those of Dirichlet(gamma / K + tables), tables by the process."""
    counts = HMMCounts(np.array([2.0, 1.0]), np.array([[6.0, 1.0], [0.0, 9.0]]), np.empty(0))
    before, rng = concentrations(2, 1.2, 0.8, 1.5), np.random.default_rng(0)
    found = np.array([drawn_weights(before, counts, rng).shared for _ in range(20_000)])
    shared = np.array(before.shared)
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


@pytest.mark.parametrize("kind", KINDS)
def test_equal_weights_are_the_plain_prior(kind):
    """With a large gamma all weights are equal, and rows those of a Dirichlet of alpha / K."""
    X, settings = chain(0, n_sequences=6), {"random_state": 0, "max_iter": 40, "beta": 0.2}
    plain = kind(4, alpha=0.3, **settings).fit(X)
    shared = kind(4, transition_prior="hdp", gamma=1e9, alpha=1.2, **settings).fit(X)
    np.testing.assert_allclose(shared.state_weights_, 0.25, atol=2e-5)
    if kind is not GibbsHMM:
        np.testing.assert_allclose(shared.transmat_, plain.transmat_, atol=1e-4)


@pytest.mark.parametrize("sticky", [0.0, 1.0])
@pytest.mark.parametrize("alpha", [1.0, "auto"])
def test_the_bound_never_falls(alpha, sticky):
    X = chain(1, n_sequences=15)
    settings = {"transition_prior": "hdp", "alpha": alpha, "sticky": sticky, "beta": 0.1}
    model = VBHMM(8, random_state=0, max_iter=80, tol=0.0, **settings).fit(X)
    assert np.diff(model.history_).min() > -1e-8 * abs(model.history_[-1])


def log_path(path, weight, alpha, sticky):
    """Log probability of a path of two states given the weight of state 0."""
    u = np.tile([alpha * weight, alpha * (1.0 - weight)], (2, 1)) + sticky * np.eye(2)
    moves = np.zeros((2, 2))
    for before, after in itertools.pairwise(path):
        moves[before, after] += 1
    value = np.log(weight if path[0] == 0 else 1.0 - weight)
    value += (gammaln(moves + u) - gammaln(u)).sum()
    return value - (gammaln(moves.sum(1) + u.sum(1)) - gammaln(u.sum(1))).sum()


SMALL = {"alpha": 1.5, "gamma": 1.2, "beta": 0.6}
SYMBOLS = [0, 0, 1, 0, 1, 1]


@functools.cache
def exact_shares(sticky):
    """Posterior of all 64 paths of six symbols, the weights integrated by quadrature."""
    alpha, gamma, beta = SMALL.values()
    paths, values = list(itertools.product([0, 1], repeat=6)), []
    prior = beta_distribution(gamma / 2, gamma / 2)
    for path in paths:
        value = 0.0
        for k in (0, 1):
            seen = np.array([sum(s == k and w == v for s, w in zip(path, SYMBOLS, strict=True))
                             for v in (0, 1)])  # fmt: skip
            value += betaln(*(seen + beta)) - betaln(beta, beta)

        def density(weight, path=path):
            return np.exp(log_path(path, weight, alpha, sticky)) * prior.pdf(weight)

        values.append(np.exp(value) * quad(density, 0.0, 1.0, limit=200)[0])
    return np.array(values) / np.sum(values)


# Sweeps that bring the distance of a sound chain to about .03.
@pytest.mark.parametrize(
    ("update", "sticky", "n_sweeps"),
    [
        ("token", 0.0, 9_000),
        ("token", 0.7, 9_000),
        ("parameter", 0.7, 12_000),
        ("beam", 0.7, 20_000),
    ],
)
def test_gibbs_draws_from_the_posterior(update, sticky, n_sweeps):
    settings = {"transition_prior": "hdp", "sticky": sticky, "handle_unknown": "error"}
    settings |= {"max_iter": n_sweeps, "n_burn_in": 100, "thin": 1, "random_state": 0}
    model = GibbsHMM(2, update=update, **SMALL, **settings).fit([SYMBOLS])
    drawn = np.asarray(model.samples_, int) @ 2 ** np.arange(6)[::-1]
    found = np.bincount(drawn, minlength=64) / len(drawn)
    assert 0.5 * np.abs(found - exact_shares(sticky)).sum() < 0.05


@pytest.mark.parametrize("seed", [2, 5, 6])
def test_the_sampler_finds_the_number_of_states(seed):
    """Chains of five states; of ten such seeds three have a state that is hardly there."""
    model = GibbsHMM(
        12, transition_prior="hdp", alpha=1.0, beta=0.1, max_iter=1500, n_init=2, random_state=seed
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


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_states_that_share_a_role_are_joined(kind, seed):
    settings = {"transition_prior": "hdp", "alpha": 1.0, "max_iter": 200, "random_state": seed}
    model = kind(10, init="merged", n_init=2, **settings).fit(leaving(seed))
    assert model.n_effective_components_ == 4
    if kind is CVBHMM:
        assert kind(10, n_init=2, **settings).fit(leaving(seed)).n_effective_components_ > 4


def test_joining_raises_the_bound():
    """Ten starts of VB alone end lower than one that joins states."""
    X = chain(5, n_sequences=100)
    settings = {"transition_prior": "hdp", "alpha": 1.0, "random_state": 0}
    alone = VBHMM(12, n_init=10, **settings).fit(X)
    joined = VBHMM(12, init="merged", **settings).fit(X)
    assert joined.objective_ > alone.objective_ + 50.0
    assert joined.n_effective_components_ == 5 < alone.n_effective_components_


def test_joined_counts():
    rng = np.random.default_rng(0)
    cells = VBHMM(3)._problem([[0, 1, 2, 3]], None).cells
    table = rng.random((cells.n_rows, 3))
    counts = HMMCounts(rng.random(3), rng.random((3, 3)), table.ravel())
    start, transition, emission = joined_counts(counts, (0, 2), cells)
    turn = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(start, turn @ counts.start)
    np.testing.assert_allclose(transition, turn @ counts.transition @ turn.T)
    np.testing.assert_allclose(emission.reshape(-1, 3), table @ turn.T)


def test_the_states_most_alike_come_first():
    """By the evidence of their symbols; a state without tokens is in no pair."""
    cells = VBHMM(4, handle_unknown="error")._problem([[0, 1, 2]], None).cells
    table = np.array([[9.0, 0.0, 8.0, 0.0], [1.0, 5.0, 2.0, 0.0], [0.0, 5.0, 0.0, 0.0]])
    counts = HMMCounts(np.zeros(4), np.zeros((4, 4)), table.ravel())
    pairs = likely_pairs(counts, np.full(12, 0.1), cells)
    assert pairs == [(0, 2), (1, 2), (0, 1)]


@pytest.mark.parametrize("kind", [EMHMM, *KINDS])
def test_joining_needs_shared_weights(kind):
    with pytest.raises(InvalidParameterError, match="it needs transition_prior='hdp'"):
        kind(3, init="merged").fit([[0, 1, 0]])
    with pytest.raises(InvalidParameterError, match="init='merged' is for symbols"):
        kind(3, init="merged", emission="gaussian").fit([[0.0, 1.0, 0.0]])


def test_joining_knows_no_states():
    model = VBHMM(3, init="merged", transition_prior="hdp", supervision="y")
    with pytest.raises(InvalidParameterError, match="no known states"):
        model.fit([[0, 1, 0]], [[0, -1, -1]])


def test_numbers_have_the_same_prior():
    rng = np.random.default_rng(0)
    states = np.repeat(rng.integers(3, size=60), 10)
    X = np.split(6.0 * states + rng.normal(size=600), 6)
    settings = {"transition_prior": "hdp", "sticky": 1.0, "alpha": 1.0, "emission": "gaussian"}
    model = GibbsHMM(8, random_state=0, max_iter=1500, n_init=2, **settings).fit(X)
    assert model.state_weights_.sum() == pytest.approx(1.0)
    assert model.n_effective_components_ == 3
    held = np.bincount(np.concatenate(list(model.labels_)), minlength=8)
    assert (held >= 6).sum() == 3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("wrong", [{"end_state": True}, {"topology": "left-right"}])
def test_what_does_not_go_together(kind, wrong):
    if kind is GibbsHMM:
        wrong = wrong | {"update": "sequence"}
    with pytest.raises(InvalidParameterError, match="needs topology='full' and end_state=False"):
        kind(3, transition_prior="hdp", **wrong).fit([[0, 1, 0]])


@pytest.mark.parametrize("kind", KINDS)
def test_warm_starts_go_on_with_the_weights(kind):
    X = chain(2, n_sequences=6)
    settings = {"transition_prior": "hdp", "alpha": 1.0, "tol": 0.0, "random_state": 0}
    settings |= {"max_iter": 50} if kind is not GibbsHMM else {"max_iter": 50, "thin": 1}
    whole = kind(5, **settings).fit(X)
    part = kind(5, warm_start=True, **settings | {"max_iter": 30}).fit(X)
    part.set_params(max_iter=20).fit(X)
    np.testing.assert_allclose(part.state_weights_, whole.state_weights_, rtol=1e-10)


@pytest.mark.parametrize("emission", ["categorical", "gaussian"])
@pytest.mark.parametrize("kind", [VBHMM, CVBHMM])
def test_a_fit_may_go_on_with_shared_weights(kind, emission):
    """After sweeps under the plain prior the weights are learned, too."""
    X = chain(2, n_sequences=6).astype(float)
    settings = {"emission": emission, "warm_start": True, "tol": 0.0, "random_state": 0}
    model = kind(5, max_iter=25, **settings).fit(X)
    assert not hasattr(model, "state_weights_")
    model.set_params(transition_prior="hdp", alpha=1.0).fit(X)
    assert np.ptp(model.state_weights_) > 0.01
    model.set_params(transition_prior="dirichlet", alpha=0.1).fit(X)
    assert not hasattr(model, "state_weights_")
