"""Credible intervals of what states emit: quantiles of known distributions, and of draws."""

import numpy as np
import pytest
from scipy import stats

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM, Samples
from sklearn_cvb.emissions import Bernoulli, Categorical, Columns, Gaussian, Poisson

RNG = np.random.default_rng(0)
STATE = np.repeat([0, 1, 0, 1], 25)
SERIES = [RNG.normal(4.0 * STATE[:, None], 1.0, (100, 2)) * [1.0, 100.0] + [0.0, 1e4]]
LEVEL = 0.9
TAILS = np.array([0.05, 0.95])[:, None, None]


def fitted(emission, X, kind=VBHMM, **keywords):
    return kind(2, emission=emission, random_state=0, **keywords).fit(X)


@pytest.mark.long(usual=True)
@pytest.mark.parametrize("covariance_type", ["full", "tied", "diag", "spherical"])
def test_gaussian_intervals_hold_what_draws_hold(covariance_type):
    """The marginals are those of the posterior that Gibbs draws from."""
    model = fitted(Gaussian(covariance_type), SERIES)
    found = model.credible_intervals(level=LEVEL).emission
    family, rng = model._learned.extra.numeric.family, np.random.default_rng(1)
    statistics = model.counts_.emission.T
    drawn = [family.moments(family.draw(statistics, rng)) for _ in range(4000)]
    means, variances = (np.array(table) for table in zip(*drawn, strict=True))
    for name, table in (("means", means), ("variances", variances)):
        lower, upper = found[name]
        assert lower.shape == (2, 2)
        inside = ((lower < table) & (table < upper)).mean(axis=0)
        np.testing.assert_allclose(inside, LEVEL, atol=0.025)
        np.testing.assert_allclose((table < lower).mean(axis=0), 0.05, atol=0.02)


def test_one_state_is_the_textbook():
    """A single state whose steps are all known: Student's t of Murphy (2007)."""
    x = SERIES[0][:, 0]
    emission = Gaussian(
        "diag",
        mean_prior=[1.0],
        mean_precision_prior=2.0,
        degrees_of_freedom_prior=3.0,
        covariance_prior=[5.0],
    )
    model = VBHMM(1, emission=emission).fit([x])
    n, mean = len(x), x.mean()
    squares = 5.0 + ((x - mean) ** 2).sum() + 2.0 * n / (n + 2.0) * (mean - 1.0) ** 2
    width = np.sqrt(squares / ((n + 3.0) * (n + 2.0)))
    expected = stats.t.ppf(TAILS, n + 3.0, (n * mean + 2.0) / (n + 2.0), width)
    found = model.credible_intervals(level=LEVEL).emission
    np.testing.assert_allclose(found["means"], expected)
    variances = 0.5 * squares / stats.gamma.ppf(1.0 - TAILS, 0.5 * (n + 3.0))
    np.testing.assert_allclose(found["variances"], variances)


@pytest.mark.parametrize("kind", [VBHMM, CVBHMM])
def test_counts_and_ones(kind):
    X = [RNG.poisson(1.0 + 8.0 * STATE)]
    model = fitted(Poisson(shape_prior=2.0, rate_prior=0.5), X, kind)
    total, steps = model.counts_.emission[:, 0], model.counts_.emission[:, 1]
    expected = stats.gamma.ppf(TAILS[..., 0], total + 2.0, scale=1.0 / (steps + 0.5))
    found = model.credible_intervals(level=LEVEL).emission["rates"]
    np.testing.assert_allclose(found[..., 0], expected)
    X = [(RNG.random(100) < 0.1 + 0.8 * STATE).astype(int)]
    model = fitted(Bernoulli(ones_prior=2.0), X, kind)
    ones, zeros = model.counts_.emission.T
    expected = stats.beta.ppf(TAILS[..., 0], ones + 2.0, zeros + 1.0)
    found = model.credible_intervals(level=LEVEL).emission["probabilities"]
    np.testing.assert_allclose(found[..., 0], expected)


def test_mixed_columns_come_in_order():
    X = [np.column_stack([SERIES[0], RNG.integers(3, size=100)])]
    model = fitted(Columns([(Categorical(), [2]), (Gaussian(), [0, 1])]), X)
    first, second = model.credible_intervals(level=LEVEL).emission
    assert [table.shape for table in first["category_probabilities"]] == [(2, 2, 3)]
    alone = fitted(Gaussian(), SERIES).credible_intervals(level=LEVEL).emission
    assert second["means"].shape == alone["means"].shape == (2, 2, 2)
    lower, upper = second["means"]
    assert ((lower < model.parts_[1]["means_"]) & (model.parts_[1]["means_"] < upper)).all()


def test_chain_gives_the_mixture_of_its_samples():
    X = [RNG.poisson(1.0 + 2.0 * STATE)]
    model = fitted("poisson", X, GibbsHMM, max_iter=300, samples=Samples(thin=10))
    lower, upper = model.credible_intervals(level=LEVEL).emission["rates"]
    assert len(model._learned.extra.samples.per_sample) == len(model.samples_) == 15
    family = model._learned.extra.numeric.family
    each = [
        family.marginals(counts.emission)["rates"]
        for counts, _ in model._learned.extra.samples.per_sample
    ]
    for ends, tail in ((lower, 0.05), (upper, 0.95)):
        share = np.mean([own.cdf(ends) for own in each], axis=0)
        np.testing.assert_allclose(share, tail, atol=1e-6)
    start = model.credible_intervals(level=LEVEL).start
    assert start.shape == (2, 2)
    assert (start[0] < model.startprob_).all()


def test_no_posterior_and_no_sample():
    with pytest.raises(AttributeError, match="EM finds point estimates"):
        fitted("gaussian", SERIES, EMHMM).credible_intervals()
    model = fitted("gaussian", SERIES, GibbsHMM, max_iter=5, samples=Samples(50), warm_start=True)
    with pytest.raises(ValueError, match="no sample was kept"):
        model.credible_intervals()
    with pytest.raises(ValueError, match="level must be"):
        fitted("gaussian", SERIES).credible_intervals(level=1.5)
