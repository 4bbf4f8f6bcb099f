"""Data that strain float64 or the model: finite and right, or refused in words. No warnings."""

from contextlib import nullcontext
from itertools import pairwise

import numpy as np
import pytest
from chain.numbers import fuzz
from chain.numbers.problems import numbers
from chain.numbers.restatement import infer, scores_of

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM, Samples
from sklearn_cvb.chain.numbers.e_step import (
    ChainTables,
    ContextStretches,
    filter_steps,
    plain_stretches,
    scores_from_logs,
)
from sklearn_cvb.chain.numbers.e_step import infer as infer_chain
from sklearn_cvb.emissions import Columns, Gaussian

KINDS = (EMHMM, VBHMM, CVBHMM, GibbsHMM)
pytestmark = pytest.mark.filterwarnings("error", "ignore::sklearn.exceptions.ConvergenceWarning")
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("index", range(1000, 1040))
def test_random_fits(index):
    assert fuzz.problems(index) == []


@pytest.mark.many(usual=1)
@pytest.mark.parametrize(
    ("kind", "covariance"), [*((kind, "diag") for kind in KINDS), (CVBHMM, "full")]
)
def test_two_hundred_thousand_steps(kind, covariance):
    """Of one series: two regimes are found."""
    rng = np.random.default_rng(0)
    state = np.arange(200_000) // 50 % 2
    x = rng.normal(3.0 * state, 1.0)[:, None]
    model = kind(2, emission=Gaussian(covariance), max_iter=2, random_state=0)
    if kind is GibbsHMM:
        model.set_params(samples=Samples(1))
    model.fit([x])
    np.testing.assert_allclose(np.sort(model.means_.ravel()), [0.0, 3.0], atol=0.02)
    np.testing.assert_allclose(np.diag(model.transmat_), 0.98, atol=0.02)
    truth = state if model.means_[0, 0] < model.means_[1, 0] else 1 - state
    assert (model.labels_[0] == truth).mean() > 0.98


def plain(chain, logs):
    with np.errstate(divide="ignore"):
        log_start, moves = np.log(chain.start[0]), np.log(chain.transition[0])
    steps = np.broadcast_to(moves, (len(logs) - 1, *moves.shape))
    return infer(log_start, steps, np.zeros(len(log_start)), logs)


@pytest.mark.parametrize("seed", range(8))
def test_posteriors_of_log_weights_far_apart(seed):
    """Far beyond float64, with steps that only states out of reach explain well."""
    rng = np.random.default_rng(seed)
    n = 3
    start, moves = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n), n)
    if seed % 2:
        start = np.array([1.0, 0.0, 0.0])
        moves = np.triu(moves) / np.triu(moves).sum(axis=1, keepdims=True)
    lengths = [5, 1, 4]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    logs = rng.normal(size=(sum(lengths), n)) * rng.choice([1.0, 300.0, 1000.0], (sum(lengths), 1))
    chain = ChainTables(start[None], moves[None], None)
    own = ChainTables(*(np.repeat(table, len(lengths), axis=0) for table in chain[:2]), None)
    found = infer_chain(
        own, scores_from_logs(logs), starts, ContextStretches(starts, np.arange(len(lengths)))
    )
    heads, log_z, _ = filter_steps(chain, scores_from_logs(logs), starts, every_step=True)
    np.testing.assert_allclose(log_z, found.log_z, rtol=1e-12)
    for i, (begin, end) in enumerate(pairwise(starts)):
        log_z, posterior, pairs = plain(chain, logs[begin:end])
        assert found.log_z[i] == pytest.approx(log_z, rel=1e-12)
        for t in range(begin, end):
            np.testing.assert_allclose(
                heads[t], plain(chain, logs[begin : t + 1])[1][-1], atol=1e-10
            )
        np.testing.assert_allclose(found.posterior[begin:end], posterior, atol=1e-10)
        np.testing.assert_allclose(found.pairs[i], pairs.sum(axis=0), atol=1e-10)


def plain_filter(chain, logs):
    """p(z_t | x_1..t) of all steps of a series, and log Z: sums of logs, step by step."""
    with np.errstate(divide="ignore"):
        joint, moves = np.log(chain.start[0]) + logs[0], np.log(chain.transition[0])
    each = [joint]
    for row in logs[1:]:
        joint = np.logaddexp.reduce(joint[:, None] + moves, axis=0) + row
        each.append(joint)
    totals = np.logaddexp.reduce(each, axis=1)
    return np.exp(np.array(each) - totals[:, None]), totals[-1]


def fading(rng):
    """Log weights of three states: the second fades, is all for a while, and fades again."""
    logs = rng.normal(size=(240, 3))
    logs[:100, 1] -= 9.0
    logs[100:200, 1] += 9.0
    logs[200:, 1] -= 5.0
    return logs


@pytest.mark.parametrize("step", [0.0, 1e-320, 1e-290, 1e-260, 1e-100])
def test_a_state_that_fades_out_of_float64_comes_back(step):
    """No other state leads to it, or hardly ever: what is filtered must not lose it."""
    rng = np.random.default_rng(0)
    moves = np.array([[1.0, step, 0.0], [step, 1.0 - step, step], [0.3, step, 0.7]])
    chain = ChainTables(np.array([[0.3, 0.3, 0.4]]), moves[None], None)
    logs, begins = np.concatenate([fading(rng), fading(rng)[:7]]), np.array([0, 240, 247])
    found = filter_steps(chain, scores_from_logs(logs), begins, every_step=True)
    for begin, end in pairwise(begins):
        exact, log_z = plain_filter(chain, logs[begin:end])
        np.testing.assert_allclose(found.message[begin:end], exact, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(found.message.sum(axis=1), 1.0)
    # After so much it is all, and log Z is told by it.
    heads, log_z = plain_filter(chain, logs[:200])
    found = filter_steps(chain, scores_from_logs(logs[:200]), np.array([0, 200]))
    assert found.log_z[0] == pytest.approx(log_z, rel=1e-12)
    np.testing.assert_allclose(found.message[-1], heads[-1], atol=1e-12)
    if 0 in found.logs:
        np.testing.assert_allclose(np.exp(found.logs[0][-1]), heads[-1], atol=1e-12)


@every_kind
def test_a_regime_that_seems_ruled_out_and_turns_out_to_be_all(kind):
    """Each series stays in one state: 100 steps speak for the first, 300 for the second."""
    rng = np.random.default_rng(0)
    train = [rng.normal(5.0 * (i % 2), 1.0, (3, 1)) for i in range(20)]
    settings = {"samples": Samples(4, thin=1)} if kind is GibbsHMM else {}
    model = kind(2, emission="gaussian", transitions="constant", random_state=0, max_iter=8)
    model.set_params(**settings).fit(train)
    first, second = np.argsort(model.means_.ravel())
    x = np.repeat([0.0, 5.0, 0.0], [100, 300, 60])[:, None]
    heads = model.filter_proba([x])[0]
    for t in (99, 150, 250, 399, 459):
        exact = model.predict_proba([x[: t + 1]])[0][-1]
        np.testing.assert_allclose(heads[t], exact, atol=1e-9)
    assert heads[150, first] > 0.99 < heads[399, second]
    forecast = model.predict_next([x[:400]], random_state=0)
    assert forecast.proba[0, 0, second] > 0.99
    assert (model.predict([x])[0] == second).all()
    assert (model.sample_paths([x[:400]], random_state=0)[0] == second).all()


def test_gibbs_draws_a_state_that_fades_and_comes_back():
    """From states that are known a series may only stay in one of them."""
    rng = np.random.default_rng(0)
    x = np.repeat([0.0, 5.0], [100, 300])[:, None] + rng.normal(size=(400, 1))
    short = [rng.normal(5.0 * (i % 2), 1.0, (30, 1)) for i in range(20)]
    model = GibbsHMM(2, emission="gaussian", transitions="constant", random_state=0, max_iter=8)
    model.set_params(samples=Samples(4, thin=1)).fit([*short, x])
    for path in model.samples_[:, -400:]:
        assert len(np.unique(path)) == 1
        assert model.means_[path[0], 0] == pytest.approx(3.8, abs=1.5)


@pytest.mark.many(usual=2)
@every_kind
def test_left_to_right_where_only_states_out_of_reach_explain_a_step(kind):
    """The second series begins where the last state is: 1,000 deviations from the first."""
    rng = np.random.default_rng(0)
    up = np.repeat([0.0, 1000.0, 2000.0], 5)
    series = [
        up + rng.normal(size=15),
        up[::-1] + rng.normal(size=15),
        up[5:] + rng.normal(size=10),
    ]
    settings = {"samples": Samples(4)} if kind is GibbsHMM else {}
    model = kind(3, emission=Gaussian("diag"), transitions="left-right", random_state=0, max_iter=8)
    model.set_params(**settings).fit([series[0], series[0], series[0] + 0.1])
    proba, fitted = model.predict_proba(series), model._learned.extra.numeric
    with np.errstate(divide="ignore"):
        log_start, moves = np.log(model.startprob_), np.log(model.transmat_)
    if kind is not VBHMM:
        for x, found in zip(series, proba, strict=True):
            scores = scores_of(fitted.family, fitted.predicting, x[-8:, None])
            steps = np.broadcast_to(moves, (7, 3, 3))
            log_z, posterior, _ = infer(log_start, steps, np.zeros(3), scores)
            assert model.score_samples([x[-8:]])[0] == pytest.approx(log_z, rel=1e-9)
            np.testing.assert_allclose(model.predict_proba([x[-8:]])[0], posterior, atol=1e-9)
            np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert np.isfinite(model.score_samples(series)).all()
    # And such series can be learned from.
    model.fit(series)
    assert np.isfinite(model.history_).all()
    assert not len(model.unexplained_)


@pytest.mark.many(usual=5)
@every_kind
@pytest.mark.parametrize("covariance", ["full", "tied", "diag", "spherical"])
def test_new_data_may_be_far_from_all_that_was_seen(kind, covariance):
    model = kind(2, emission=Gaussian(covariance), max_iter=3, random_state=0)
    model.fit(numbers("full", (30, 20)))
    for far in (1e6, 1e20, 1e100, -1e150):
        x = np.zeros((4, 2))
        x[1] = far
        assert np.isfinite(model.score_samples([x])).all()
        assert np.allclose(np.sum(model.predict_proba([x])[0], axis=1), 1.0)
        assert len(model.predict([x])[0]) == 4


@pytest.mark.many(usual=6)
@every_kind
@pytest.mark.parametrize(("factor", "offset"), [(1e-8, 0.0), (1e8, 0.0), (1.0, 1e6)])
@pytest.mark.parametrize("covariance", ["full", "diag"])
def test_fits_do_not_depend_on_units(kind, factor, offset, covariance):
    series = numbers("full", (40, 25))
    settings = {"emission": Gaussian(covariance), "max_iter": 5, "random_state": 0}
    settings |= {} if kind is GibbsHMM else {"tol": 0}
    one, other = kind(2, **settings), kind(2, **settings)
    one.fit(series)
    other.fit([factor * x + offset for x in series])
    volume = 65 * 2 * np.log(factor)
    scale = 65 if kind is CVBHMM else 1
    np.testing.assert_allclose(other.history_ * scale + volume, one.history_ * scale, rtol=1e-6)
    np.testing.assert_allclose((other.means_ - offset) / factor, one.means_, atol=1e-6)
    np.testing.assert_allclose(other.covariances_ / factor**2, one.covariances_, rtol=1e-6)
    np.testing.assert_allclose(other.transmat_, one.transmat_, atol=1e-7)
    for a, b in zip(one.labels_, other.labels_, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.many(usual=2)
@every_kind
def test_few_distinct_values(kind):
    """More states than distinct values, one step a sequence, steps of no value."""
    model = kind(5, emission="gaussian", max_iter=4, random_state=0)
    for series in ([[1.0, 2.0, 1.0, 2.0]], [[3.0]], [[1.0], [2.0], [1.0]], [[np.nan, 2.0, np.nan]]):
        said = pytest.warns(UserWarning, match="single step") if len(series) > 1 else nullcontext()
        with said:
            model.fit([np.array(x) for x in series])
        assert np.isfinite(model.means_).all()
        assert np.isfinite(model.covariances_).all()


@every_kind
def test_nothing_observed_leaves_the_prior(kind):
    """All values are missing: states are of the prior, alike but for what is drawn."""
    series = [np.full((4, 2), np.nan), np.full((3, 2), np.nan)]
    with pytest.warns(UserWarning, match="X has no value at all"):
        model = kind(2, emission="gaussian", max_iter=3, random_state=0).fit(series)
    np.testing.assert_allclose(model.means_, 0.0, atol=1e-12)
    assert np.isfinite(model.history_).all()
    assert np.isfinite(model.covariances_).all()


def test_posteriors_sum_to_one_where_log_weights_are_huge():
    """A log Z of 1e15 has no digits left for what a posterior is of it."""
    rng = np.random.default_rng(0)
    moves = rng.dirichlet(np.ones(3), 3)
    chain = ChainTables(np.array([[1.0, 0.0, 0.0]]), moves[None] * np.triu(np.ones((3, 3))), None)
    logs = rng.normal(size=(6, 3))
    logs[2] = [-1e15, -3e15, -2e15]
    starts = np.array([0, 6])
    found = infer_chain(chain, scores_from_logs(logs), starts, plain_stretches(starts))
    np.testing.assert_allclose(found.posterior.sum(axis=1), 1.0)
    assert found.pairs.sum() == pytest.approx(5.0)
    # State 0 is certain there: what comes after begins from it.
    after = chain._replace(start=chain.transition[:, 0])
    exact = plain(after, logs[3:])[1]
    np.testing.assert_allclose(found.posterior[3:], exact, atol=1e-12)
    # Where a state must be left for one that explains a huge step far worse.
    chain = chain._replace(
        transition=np.array([[[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]])
    )
    found = infer_chain(chain, scores_from_logs(logs), starts, plain_stretches(starts))
    np.testing.assert_array_equal(found.posterior.argmax(axis=1), [0, 1, 2, 2, 2, 2])
    np.testing.assert_allclose(found.posterior.sum(axis=1), 1.0)


def test_scales_whose_product_leaves_float64():
    """Two steps, each far better explained by the state that cannot be there."""
    chain = ChainTables(np.array([[1.0, 0.0]]), np.array([[[0.0, 1.0], [1.0, 0.0]]]), None)
    logs, starts = np.array([[-343.0, 0.0], [0.0, -460.0]]), np.array([0, 2])
    found = infer_chain(chain, scores_from_logs(logs), starts, plain_stretches(starts))
    assert found.log_z[0] == pytest.approx(-803.0, rel=1e-14)
    np.testing.assert_array_equal(found.posterior, np.eye(2))
    assert filter_steps(chain, scores_from_logs(logs), starts)[1][0] == pytest.approx(
        -803.0, rel=1e-14
    )


@pytest.mark.parametrize("covariance_type", ["full", "diag", "spherical"])
@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_scales_whose_squares_leave_float64_are_named(covariance_type, scale):
    x = np.random.default_rng(0).normal(size=(60, 2)) * [1.0, scale]
    message = r"variances that float64 cannot hold.*column 1\)"
    with pytest.raises(ValueError, match=message):
        EMHMM(2, emission=Gaussian(covariance_type)).fit([x])
    mixed = Columns([(Gaussian("diag"), [1]), (Gaussian(covariance_type), [0])])
    with pytest.raises(ValueError, match=message):
        EMHMM(2, emission=mixed).fit([x])
    EMHMM(2, emission=Gaussian(covariance_type), max_iter=2).fit([x / [1.0, scale] * [1.0, 1e150]])
