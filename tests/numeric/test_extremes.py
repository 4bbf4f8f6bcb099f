"""Data that strain float64 or the model: finite and right, or refused in words. No warnings."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from numeric import fuzz
from numeric.problems import numbers
from numeric.restatement import infer, scores_of

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM
from sklearn_cvb.emissions import Columns, Gaussian
from sklearn_cvb.hmm.numeric.expectation import Chain, filtered
from sklearn_cvb.hmm.numeric.expectation import infer as infer_chain

KINDS = (EMHMM, VBHMM, CVBHMM, GibbsHMM)
pytestmark = pytest.mark.filterwarnings("error")
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.mark.parametrize("index", range(1000, 1040))
def test_random_fits(index):
    assert fuzz.problems(index) == []


@pytest.mark.parametrize(
    ("kind", "covariance"), [*((kind, "diag") for kind in KINDS), (CVBHMM, "full")]
)
def test_a_million_steps(kind, covariance):
    """Of one series: two regimes are found."""
    rng = np.random.default_rng(0)
    state = np.arange(1_000_000) // 50 % 2
    x = rng.normal(3.0 * state, 1.0)[:, None]
    model = kind(2, emission=Gaussian(covariance), max_iter=2, random_state=0)
    if kind is GibbsHMM:
        model.set_params(n_burn_in=1)
    model.fit([x])
    np.testing.assert_allclose(np.sort(model.means_.ravel()), [0.0, 3.0], atol=0.02)
    np.testing.assert_allclose(np.diag(model.transmat_), 0.98, atol=0.02)
    truth = state if model.means_[0, 0] < model.means_[1, 0] else 1 - state
    assert (model.labels_[0] == truth).mean() > 0.98


class Logs(NamedTuple):
    """Log weights that are given."""

    table: np.ndarray

    def log_weights(self):
        return self.table.copy()


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
    chain = Chain(start[None], moves[None], None)
    found = infer_chain(chain, Logs(logs), starts, starts, by_unit=True)
    heads, log_z = filtered(chain, Logs(logs), starts)
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
    settings = {"n_burn_in": 4} if kind is GibbsHMM else {}
    model = kind(3, emission=Gaussian("diag"), topology="left-right", random_state=0, max_iter=8)
    model.set_params(**settings).fit([series[0], series[0], series[0] + 0.1])
    proba, fitted = model.predict_proba(series), model._numeric
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


@every_kind
@pytest.mark.parametrize(("factor", "offset"), [(1e-8, 0.0), (1e8, 0.0), (1.0, 1e6)])
@pytest.mark.parametrize("covariance", ["full", "diag"])
def test_fits_do_not_depend_on_units(kind, factor, offset, covariance):
    series = numbers("full", (40, 25))
    settings = {"emission": Gaussian(covariance), "max_iter": 5, "tol": 0, "random_state": 0}
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


@every_kind
def test_few_distinct_values(kind):
    """More states than distinct values, one step a sequence, steps of no value."""
    model = kind(5, emission="gaussian", max_iter=4, random_state=0)
    for series in ([[1.0, 2.0, 1.0, 2.0]], [[3.0]], [[1.0], [2.0], [1.0]], [[np.nan, 2.0, np.nan]]):
        model.fit([np.array(x) for x in series])
        assert np.isfinite(model.means_).all()
        assert np.isfinite(model.covariances_).all()


@every_kind
def test_nothing_observed_leaves_the_prior(kind):
    """All values are missing: states are of the prior, alike but for what is drawn."""
    series = [np.full((4, 2), np.nan), np.full((3, 2), np.nan)]
    model = kind(2, emission="gaussian", max_iter=3, random_state=0).fit(series)
    np.testing.assert_allclose(model.means_, 0.0, atol=1e-12)
    assert np.isfinite(model.history_).all()
    assert np.isfinite(model.covariances_).all()


def test_posteriors_sum_to_one_where_log_weights_are_huge():
    """A log Z of 1e15 has no digits left for what a posterior is of it."""
    rng = np.random.default_rng(0)
    moves = rng.dirichlet(np.ones(3), 3)
    chain = Chain(np.array([[1.0, 0.0, 0.0]]), moves[None] * np.triu(np.ones((3, 3))), None)
    logs = rng.normal(size=(6, 3))
    logs[2] = [-1e15, -3e15, -2e15]
    starts = np.array([0, 6])
    found = infer_chain(chain, Logs(logs), starts, starts, by_unit=False)
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
    found = infer_chain(chain, Logs(logs), starts, starts, by_unit=False)
    np.testing.assert_array_equal(found.posterior.argmax(axis=1), [0, 1, 2, 2, 2, 2])
    np.testing.assert_allclose(found.posterior.sum(axis=1), 1.0)


def test_scales_whose_product_leaves_float64():
    """Two steps, each far better explained by the state that cannot be there."""
    chain = Chain(np.array([[1.0, 0.0]]), np.array([[[0.0, 1.0], [1.0, 0.0]]]), None)
    logs, starts = np.array([[-343.0, 0.0], [0.0, -460.0]]), np.array([0, 2])
    found = infer_chain(chain, Logs(logs), starts, starts, by_unit=False)
    assert found.log_z[0] == pytest.approx(-803.0, rel=1e-14)
    np.testing.assert_array_equal(found.posterior, np.eye(2))
    assert filtered(chain, Logs(logs), starts)[1][0] == pytest.approx(-803.0, rel=1e-14)


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
