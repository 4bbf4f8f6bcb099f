"""Mixtures as emissions, and zeros from elsewhere: against other libraries and an optimiser."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM
from sklearn_cvb.emissions import (
    AutoRegressive,
    Columns,
    Exponential,
    Gamma,
    Gaussian,
    Mixture,
    Poisson,
    VonMises,
    ZeroInflated,
)
from sklearn_cvb.reading.validation import InvalidParameterError

ALL = [EMHMM, VBHMM, CVBHMM, GibbsHMM]


def regimes(n=300, seed=0):
    rng = np.random.default_rng(seed)
    state = np.arange(n) // 15 % 2
    centres = np.where(state, rng.choice([5.0, 8.0], n), rng.choice([-2.0, 1.0], n))
    return np.column_stack([centres, -centres]) + rng.normal(0.0, [0.4, 2.0], (n, 2))


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM])
@pytest.mark.parametrize("inner", ["full", "diag", "poisson"])
def test_one_component_is_the_plain_emission(kind, inner):
    x = regimes()
    emission = Poisson() if inner == "poisson" else Gaussian(inner)
    x = np.abs(x).round() if inner == "poisson" else x
    settings = {"max_iter": 15, "tol": 0, "random_state": 0}
    plain = kind(2, emission=emission, **settings).fit([x])
    mixed = kind(2, emission=Mixture(emission, 1), **settings).fit([x])
    np.testing.assert_allclose(mixed.history_, plain.history_, rtol=1e-10)
    np.testing.assert_allclose(mixed.transmat_, plain.transmat_, rtol=1e-9)
    name = "rates_" if inner == "poisson" else "means_"
    np.testing.assert_allclose(mixed.mixture_[0][name], getattr(plain, name), rtol=1e-9)
    np.testing.assert_allclose(mixed.score_samples([x]), plain.score_samples([x]), rtol=1e-10)
    np.testing.assert_array_equal(mixed.weights_, np.ones((2, 1)))


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("covariance_type", ["full", "diag"])
def test_one_state_is_a_gaussian_mixture(covariance_type):
    """The fixed point of scikit-learn's EM, and its log-likelihood."""
    x = regimes()[:, :2]
    model = EMHMM(1, emission=Mixture(Gaussian(covariance_type), 3), max_iter=700, tol=0)
    model.fit([x])
    means = np.array([own["means_"][0] for own in model.mixture_])
    covariances = np.array([own["covariances_"][0] for own in model.mixture_])
    inverse = np.linalg.inv(covariances) if covariance_type == "full" else 1 / covariances
    other = GaussianMixture(
        3,
        covariance_type=covariance_type,
        weights_init=model.weights_[0],
        means_init=means,
        precisions_init=inverse,
        reg_covar=0.0,
        tol=0.0,
        max_iter=5,
    )
    with pytest.warns(ConvergenceWarning):
        other.fit(x)
    np.testing.assert_allclose(other.means_, means, rtol=1e-6)
    np.testing.assert_allclose(other.covariances_, covariances, rtol=1e-6)
    np.testing.assert_allclose(other.weights_, model.weights_[0], rtol=1e-6)
    assert model.score([x]) == pytest.approx(other.score(x), abs=1e-9)


def zero_inflated_poisson(parameters, x):
    chance, rate = 1 / (1 + np.exp(-parameters[0])), np.exp(parameters[1])
    density = (1 - chance) * stats.poisson.pmf(x, rate) + chance * (x == 0)
    return np.log(density).sum()


def test_zeros_from_elsewhere_are_told_from_zeros_of_a_count():
    """One state: maximum likelihood by an optimiser; of waits all zeros are from elsewhere."""
    rng = np.random.default_rng(0)
    x = (rng.poisson(1.5, 400) * (rng.random(400) < 0.6)).astype(float)
    model = EMHMM(1, emission=ZeroInflated(Poisson()), max_iter=600, tol=0).fit([x])
    found = minimize(lambda p: -zero_inflated_poisson(p, x), [0.0, 0.5], method="BFGS")
    assert model.score_samples([x])[0] == pytest.approx(-found.fun, abs=1e-7)
    assert model.weights_[0, 0] == pytest.approx(1 / (1 + np.exp(-found.x[0])), abs=1e-4)
    assert model.mixture_[0]["rates_"].item() == pytest.approx(np.exp(found.x[1]), abs=1e-4)
    y = np.where(rng.random(300) < 0.3, 0.0, rng.gamma(2.0, 3.0, 300))
    y[:5] = np.nan
    for emission in (Gamma(shape=None), Gamma(shape=2.0), Exponential()):
        model = EMHMM(1, emission=ZeroInflated(emission), max_iter=3).fit([y])
        there = y[np.isfinite(y)]
        assert model.weights_[0, 0] == pytest.approx((there == 0).mean(), abs=1e-12)
        plain = EMHMM(1, emission=emission, max_iter=3).fit([there[there > 0]])
        np.testing.assert_allclose(model.mixture_[0]["rates_"], plain.rates_, rtol=1e-10)
        n, zeros = len(there), (there == 0).sum()
        of_which = zeros * np.log(zeros / n) + (n - zeros) * np.log(1 - zeros / n)
        expected = plain.score_samples([there[there > 0]])[0] + of_which
        assert model.score_samples([y])[0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", ALL)
def test_components_within_states_are_found(kind):
    x = regimes(600)
    settings = {"max_iter": 150, "random_state": 0}
    model = kind(2, emission=Mixture(Gaussian("diag")), **settings).fit([x])
    means = np.array([own["means_"][:, 0] for own in model.mixture_])
    assert np.sort(means, axis=None) == pytest.approx([-2, 1, 5, 8], abs=0.3)
    assert sorted(means.max(axis=0).round()) == [1, 8]
    assert model.weights_ == pytest.approx(np.full((2, 2), 0.5), abs=0.1)
    plain = kind(2, emission=Gaussian("diag"), **settings).fit([x])
    later = [regimes(400, seed=1)]
    assert model.score(later) > plain.score(later) + 0.2
    drawn, _ = model.sample(1, 6000, random_state=0)
    assert drawn[0].mean(axis=0) == pytest.approx(x.mean(axis=0), abs=0.5)
    ahead = model.predict_next([x], n_steps=2, n_draws=4000, random_state=0)
    assert ahead.mean == pytest.approx(ahead.samples.mean(axis=1), abs=0.4)


@pytest.mark.long
def test_parts_columns_angles_and_intervals():
    x = np.column_stack([np.abs(regimes()[:, 0]).round(), regimes()[:, 1] / 4])
    x[::9, 0], x[5::7, 1] = 0.0, np.nan
    parts = [(ZeroInflated(Poisson()), [0]), (Mixture(VonMises(), 2), [1])]
    model = CVBHMM(2, emission=Columns(parts), max_iter=40, random_state=0).fit([x])
    found = model.credible_intervals([x], level=0.9, random_state=0)
    lower, upper = found.emission[0]["weights"]
    shown = model.parts_[0]["weights_"]
    assert ((lower < shown) & (shown < upper)).all()
    assert len(found.emission[1]["mixture"]) == 2
    assert found.emission[1]["mixture"][0]["directions"].shape == (2, 2, 1)
    again = EMHMM.from_json(model.to_json())
    assert again.score([x]) == pytest.approx(EMHMM.from_json(again.to_json()).score([x]), abs=1e-12)


def test_wrong_settings_are_told():
    x = [regimes()]
    for emission, message in (
        (Mixture("gaussian"), "emission must be an emission, such as Gaussian"),
        (Mixture(Gaussian(), 0), "n_components"),
        (Mixture(Gaussian(), weight_prior=-1.0), "weight_prior must be a positive number"),
        (ZeroInflated(Gaussian("diag")), "ZeroInflated is for one column, but there are 2"),
        (ZeroInflated(Gaussian), "emission must be an emission, such as Poisson"),
        (Mixture(AutoRegressive()), "cannot be regressions"),
        (Columns([(ZeroInflated(AutoRegressive()), [0]), (Poisson(), [1])]), "cannot be regress"),
    ):
        with pytest.raises(ValueError, match=message):
            EMHMM(2, emission=emission, random_state=0).fit(x)
    with pytest.raises(InvalidParameterError, match="learned by EM alone"):
        VBHMM(1, emission=ZeroInflated(Gamma(shape=None)), random_state=0).fit([[0.0, 1.0, 2.0]])
