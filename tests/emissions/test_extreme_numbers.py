"""Emissions of extreme numbers, and settings out of range."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.special import poch

from sklearn_cvb import EMHMM, HMMParameters
from sklearn_cvb.display import ModelSummary
from sklearn_cvb.emissions import (
    Bernoulli,
    Categorical,
    Gaussian,
    Multinomial,
    NegativeBinomial,
    VonMises,
)
from sklearn_cvb.emissions.emission import OutsideSupport
from sklearn_cvb.emissions.gaussian_columns import log_gamma_step
from sklearn_cvb.reading.moments import moments_of
from sklearn_cvb.reading.validation import InvalidParameterError


def _log_poisson(x, rate):
    """The log probability of a large count, in sixty digits."""
    with localcontext() as context:
        context.prec = 60
        x, rate = Decimal(float(x)), Decimal(float(rate))
        pi = Decimal("3.14159265358979323846264338327950288")
        factorial = x * x.ln() - x + (2 * pi * x).ln() / 2 + 1 / (12 * x)
        return float(x * rate.ln() - rate - factorial)


@pytest.mark.parametrize("x", [0.3, 19.9, 20.0, 31.0, 1e4, 1e12])
def test_half_a_step_of_log_gamma_keeps_its_digits(x):
    """Two of them are a whole one, Gamma(x + 1) = x Gamma(x)."""
    halves = [log_gamma_step(np.array([x + more]))[0] for more in (0.0, 0.5)]
    assert sum(halves) == pytest.approx(np.log(x), abs=3e-14)
    assert halves[0] == pytest.approx(np.log(poch(x, 0.5)), abs=1e-13 * max(1.0, x))


@pytest.mark.parametrize("size", [1e9, 1e13])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_likelihoods_of_large_counts_keep_their_digits(size):
    noise = np.random.default_rng(0).normal(size=(20, 1))
    X = [np.round(size + np.sqrt(size) * noise)]
    model = EMHMM(1, emission="poisson", max_iter=3, random_state=0).fit(X)
    expected = np.mean([_log_poisson(x, model.rates_[0, 0]) for x in X[0].ravel()])
    assert model.score(X) == pytest.approx(expected, abs=1e-7)
    assert model.history_[-1] / 20 == pytest.approx(expected, abs=1e-7)


def test_large_and_missing_counts_beside_none_are_told_apart():
    X = [np.array([[0.0], [2.0], [1e13], [np.nan], [1e13 + 1e6], [1.0]])]
    model = EMHMM(2, emission="poisson", random_state=0).fit(X)
    high = int(model.rates_.argmax())
    assert model.predict(X)[0][[0, 1, 2, 4, 5]].tolist() == [
        1 - high,
        1 - high,
        *[high] * 2,
        1 - high,
    ]
    assert np.isfinite(model.score(X))


@pytest.mark.parametrize("covariance_type", ["diag", "full", "tied", "spherical"])
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_step_that_float64_has_lost_has_equal_states(covariance_type):
    X = [np.random.default_rng(0).normal(size=(20, 2))] * 2
    model = EMHMM(2, emission=Gaussian(covariance_type), max_iter=4, random_state=0).fit(X)
    found = model.predict_proba([np.array([[0.0, 0.0], [1e160, 1.0], [0.0, 1.0]])])[0]
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    assert found[1].tolist() == [0.5, 0.5]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_one_column_with_a_common_variance_is_shown():
    X = [np.array([[0.0], [1.0], [9.0], [10.0], [0.5], [9.5]])] * 3
    model = EMHMM(2, emission=Gaussian("tied"), max_iter=3, random_state=0).fit(X)
    width = np.sqrt(model.covariances_[0, 0])
    for mean in model.means_[:, 0]:
        assert f"{mean:.3g} ± {width:.2g}" in str(ModelSummary(model))
    assert "±" in model._repr_html_()


@pytest.mark.parametrize(
    "emission", [Bernoulli(floor=2), Categorical(floor=0.5), Multinomial(floor=5)]
)
def test_a_floor_that_is_no_small_probability_is_refused(emission):
    with pytest.raises(InvalidParameterError) as error:
        EMHMM(2, emission=emission).fit([np.array([[0.0], [1.0], [1.0]])] * 3)
    assert str(error.value) == f"floor must be a probability below 0.5, got {emission.floor}"


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_perplexity_beyond_float64_is_infinite_without_more_ado():
    X = [np.array([[0.0], [1.0], [0.1], [0.3]])] * 3
    model = EMHMM(2, emission="gaussian", max_iter=3, random_state=0).fit(X)
    assert model.perplexity([np.array([[1e5]])]) == np.inf


def test_degrees_are_refused_as_angles():
    family = VonMises().bind(moments_of(np.ones((1, 1))), 2)
    whole, turned = (family.read(np.array([[angle]])).values for angle in (0.5, 0.5 - 4 * np.pi))
    np.testing.assert_allclose(whole, turned, atol=1e-14)
    with pytest.raises(OutsideSupport, match=r"radians, .*numpy.radians\), got 90"):
        family.read(np.array([[1.0], [90.0]]))


def test_counts_whose_log_probability_has_no_digits_are_refused():
    family = NegativeBinomial(size=0.2).bind(moments_of(np.ones((1, 1))), 2)
    family.read(np.array([[1e8]]))
    with pytest.raises(OutsideSupport, match="counts above 1e8 lose all digits"):
        family.read(np.array([[1.0], [2e8]]))


def test_chances_sum_to_one_where_log_densities_are_huge():
    """Paths are forced through a state of log densities of -3e13, whose units are rounded."""
    known = HMMParameters(
        startprob=[0.28, 0.72],
        transmat=[[0.11, 0.89], [1.0, 0.0]],
        emissions={"rates": [[2.93e13], [4.95]]},
    )
    model = EMHMM.from_parameters(known, emission="poisson")
    x = [np.array([[0, 2, 11, 2, 0, 16, 1, 1, 1, 2, 1, 1, 0, 11, 0, 3, 11, 11]]).T]
    for table in (model.predict_proba(x)[0], model.filter_proba(x)[0]):
        np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-12)
