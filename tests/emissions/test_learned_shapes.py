"""Gamma emissions whose shapes EM learns: maximum likelihood, by scipy's optimiser."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM
from sklearn_cvb.emissions import Columns, Gamma, Gaussian
from sklearn_cvb.reading.validation import InvalidParameterError

LEARNED = Gamma(shape=None)


def waits(n=120, seed=0):
    rng = np.random.default_rng(seed)
    state = np.arange(n) // 10 % 2
    return rng.gamma(np.array([2.0, 9.0])[state]) / np.array([0.5, 1.0])[state]


@pytest.mark.parametrize("shape", [0.05, 1.0, 30.0, 900.0])
def test_one_state_is_the_most_likely_gamma_distribution(shape):
    x = np.random.default_rng(1).gamma(shape, 3.0, 200)
    model = EMHMM(1, emission=LEARNED, max_iter=3).fit([x])
    found, _, scale = stats.gamma.fit(x, floc=0.0)
    assert model.shapes_.item() == pytest.approx(found, rel=1e-6)
    assert model.rates_.item() == pytest.approx(1 / scale, rel=1e-6)
    expected = stats.gamma.logpdf(x, found, scale=scale).sum()
    assert model.score_samples([x])[0] == pytest.approx(expected, abs=1e-8)


def log_likelihood(parameters, x):
    """By the forward algorithm, in plain words."""
    shapes, rates = np.exp(parameters[:2]), np.exp(parameters[2:4])
    rows = 1 / (1 + np.exp(-parameters[4:7]))
    steps = np.array([[rows[0], 1 - rows[0]], [rows[1], 1 - rows[1]]])
    densities = stats.gamma.pdf(x[:, None], shapes, scale=1 / rates)
    message, total = np.array([rows[2], 1 - rows[2]]) * densities[0], 0.0
    for t, density in enumerate(densities):
        message = (message @ steps) * density if t else message
        total += np.log(message.sum())
        message = message / message.sum()
    return total


@pytest.mark.long
def test_em_ends_where_an_optimiser_ends():
    x = waits()
    model = EMHMM(2, emission=LEARNED, random_state=0, max_iter=3000, tol=0).fit([x])
    start = [*np.log([2, 9, 0.5, 1]), 2, -2, 0]
    found = minimize(lambda p: -log_likelihood(p, x), start, method="Nelder-Mead", options=OPTIONS)
    assert model.score_samples([x])[0] == pytest.approx(-found.fun, abs=1e-5)
    order = np.argsort(model.shapes_.ravel())
    np.testing.assert_allclose(model.shapes_.ravel()[order], np.exp(found.x[:2]), rtol=5e-3)
    np.testing.assert_allclose(model.rates_.ravel()[order], np.exp(found.x[2:4]), rtol=5e-3)


OPTIONS = {"maxiter": 20_000, "maxfev": 20_000, "xatol": 1e-7, "fatol": 1e-9}


def test_missing_values_extremes_and_other_columns():
    x = waits()
    table = np.column_stack([x, np.log(x), x])
    table[3:30:4, 0] = table[7:50:6, 2] = np.nan
    emission = Columns([(LEARNED, [0, 2]), (Gaussian("diag"), [1])])
    model = EMHMM(2, emission=emission, random_state=0).fit([table])
    part = model.parts_[0]
    assert part["shapes_"].shape == part["rates_"].shape == (2, 2)
    assert np.isfinite(model.score_samples([table])).all()
    # A state of one value alone has the largest shape there may be, and its mean.
    alone = EMHMM(1, emission=LEARNED).fit([[3.0, 3.0, 3.0]])
    assert alone.shapes_.item() == pytest.approx(1e4)
    assert (alone.shapes_ / alone.rates_).item() == pytest.approx(3.0)
    drawn, _ = alone.sample(1, 4000, random_state=0)
    assert drawn.std() == pytest.approx(0.03, rel=0.1)
    with pytest.raises(ValueError, match="Gamma emissions are above 0, got 0"):
        EMHMM(1, emission=LEARNED).fit([[1.0, 0.0]])


def test_what_has_no_conjugate_prior_is_refused():
    for kind in (VBHMM, CVBHMM, GibbsHMM):
        with pytest.raises(InvalidParameterError, match=r"Gamma\(shape=None\) is learned by EM"):
            kind(2, emission=LEARNED, random_state=0).fit([waits()])
    with pytest.raises(InvalidParameterError, match="shape=None is learned by maximum likelihood"):
        EMHMM(2, emission=Gamma(shape=None, rate_prior=1.0)).fit([waits()])
