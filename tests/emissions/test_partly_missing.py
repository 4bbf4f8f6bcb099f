"""Steps of which some columns are missing, under covariance matrices."""

import copy
import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, multivariate_t

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM, Samples
from sklearn_cvb.emissions import Columns, Gaussian, Poisson
from sklearn_cvb.emissions.gaussian_matrices import MatricesPoint
from sklearn_cvb.reading.moments import moments_of

TYPES = ("full", "tied")


def with_gaps(n_steps=60, n_columns=3, share=0.25, seed=0):
    """Two states far apart, whose columns depend on each other, and what is missing."""
    rng = np.random.default_rng(seed)
    state = rng.integers(2, size=n_steps)
    mixing = rng.normal(size=(n_columns, n_columns))
    table = rng.normal(size=(n_steps, n_columns)) @ mixing + 3.0 * state[:, None]
    gaps = np.where(rng.random(table.shape) < share, np.nan, table)
    gaps[5] = np.nan
    return gaps, table


def filled(scores, family, table, units=None):
    out = np.empty((len(table), family.n_states))
    scores.fill(family.read(table), np.array([0, len(table)]) if units is None else units, out)
    return out


def learned(kind, covariance_type, X, **settings):
    settings = {"tol": 0.0, "random_state": 0, "max_iter": 25} | settings
    return kind(2, emission=Gaussian(covariance_type), **settings).fit(X)


@pytest.mark.parametrize("covariance_type", TYPES)
def test_scores_are_those_of_what_is_observed(covariance_type):
    """Normal and Student's t densities of the observed columns, in the units of the data."""
    gaps, table = with_gaps()
    family = Gaussian(covariance_type).bind(moments_of(gaps), 2)
    units, whole = family.units, np.array([0, len(table)])
    posterior = np.random.default_rng(1).dirichlet([1, 1], len(table))
    statistics = family.statistics(family.read(table), posterior, whole)[0]
    point = family.most_likely(statistics)
    mean = units.to_data(point.means)
    covariance = point.covariances * np.outer(units.scale, units.scale)
    found, predicted = (
        filled(family.log_densities(point), family, gaps),
        family.posterior(statistics),
    )
    wider = (1.0 + 1.0 / predicted.precision)[:, None, None]
    degrees = predicted.degrees - family.n_columns + 1.0
    shape = predicted.scale * wider / degrees[:, None, None] * np.outer(units.scale, units.scale)
    ahead = filled(family.predictive(statistics), family, gaps)
    centre = units.to_data(predicted.mean)
    for t, x in enumerate(gaps):
        seen = ~np.isnan(x)
        for k in range(2):
            expected = student = 0.0
            if seen.any():
                part = np.ix_(seen, seen)
                expected = multivariate_normal(mean[k, seen], covariance[k][part]).logpdf(x[seen])
                student = multivariate_t(centre[k, seen], shape[k][part], degrees[k]).logpdf(
                    x[seen]
                )
            assert found[t, k] == pytest.approx(expected, rel=1e-9, abs=1e-9)
            assert ahead[t, k] == pytest.approx(student, rel=1e-9, abs=1e-9)


def test_units_have_marginals_of_their_own():
    gaps, table = with_gaps(40)
    family = Gaussian("full").bind(moments_of(gaps), 2)
    posterior = np.random.default_rng(1).dirichlet([1, 1], 40)
    units = np.array([0, 11, 30, 40])
    own = family.statistics(family.read(table), posterior, units)
    together = filled(family.predictive(own.sum(axis=0) - own), family, gaps, units)
    for u in range(3):
        inside = slice(units[u], units[u + 1])
        alone = filled(family.predictive(own.sum(axis=0) - own[u]), family, gaps[inside])
        np.testing.assert_allclose(together[inside], alone, rtol=1e-12)


@pytest.mark.parametrize("is_student", [False, True])
def test_moments_are_expected_given_what_is_observed(is_student):
    """Of one step with a missing value, by quadrature over that value."""
    rng = np.random.default_rng(3)
    gaps, table = with_gaps(30, 2)
    family = Gaussian("full").bind(moments_of(gaps), 2)
    posterior = rng.dirichlet([1, 1], 30)
    statistics = family.statistics(family.read(table), posterior, np.array([0, 30]))[0]
    point = family.most_likely(statistics)
    scores = family.predictive(statistics) if is_student else family.log_densities(point)
    step, one = np.array([[0.7, np.nan]]), np.array([0, 1])
    found = family.statistics(family.read(step), np.array([[1.0, 1.0]]), one, scores)[0]
    x = family.units.to_standard(np.array([0.7, 0.0]))[0]

    def density(value, k):
        row = family.units.to_data(np.array([[x, value]]))
        return np.exp(filled(scores, family, row)[0, k])

    for k in range(2):
        total = quad(density, -60, 60, args=(k,), points=[0.0], limit=400)[0]
        mean = quad(lambda v, k: v * density(v, k), -60, 60, args=(k,), points=[0.0], limit=400)
        square = quad(
            lambda v, k: v * v * density(v, k), -60, 60, args=(k,), points=[0.0], limit=400
        )
        expected = [1.0, x, mean[0] / total, x * x, x * mean[0] / total, square[0] / total]
        np.testing.assert_allclose(found[:, k], expected, rtol=1e-5)


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("covariance_type", TYPES)
@pytest.mark.parametrize("kind", [EMHMM, VBHMM])
def test_objectives_never_fall(kind, covariance_type):
    gaps, _ = with_gaps(120)
    model = learned(kind, covariance_type, [gaps[:50], gaps[50:]])
    assert (np.diff(model.history_) > -1e-8).all()


@pytest.mark.long(usual=True)
def test_em_stands_at_a_maximum():
    """No small change of a mean or a covariance makes what is observed more likely."""
    gaps, _ = with_gaps(120)
    model = learned(EMHMM, "full", [gaps], max_iter=500)
    numeric = model._learned.extra.numeric
    family, best = numeric.family, numeric.point
    rng = np.random.default_rng(0)

    def likelihood(point):
        other, learned = copy.copy(model), model._learned
        changed = numeric._replace(scoring=family.log_densities(point))
        other._learned = learned._replace(extra=learned.extra._replace(numeric=changed))
        return other.score([gaps])

    top = likelihood(best)
    for _ in range(20):
        step = 1e-3 * rng.normal(size=(2, 3, 3))
        moved = MatricesPoint(
            best.means + 1e-3 * rng.normal(size=best.means.shape),
            best.covariances + 0.5 * (step + np.swapaxes(step, 1, 2)),
        )
        assert likelihood(moved) < top + 1e-9


@pytest.mark.long
def test_missing_values_cost_little_of_what_is_learned():
    """A quarter of all values is gone, and means and covariances are about the same."""
    gaps, table = with_gaps(3000)
    for kind in (EMHMM, VBHMM, CVBHMM):
        whole, part = (learned(kind, "full", [x], max_iter=40) for x in (table, gaps))
        order = np.argsort(whole.means_[:, 0]), np.argsort(part.means_[:, 0])
        np.testing.assert_allclose(whole.means_[order[0]], part.means_[order[1]], atol=0.3)
        np.testing.assert_allclose(
            whole.covariances_[order[0]], part.covariances_[order[1]], atol=0.45
        )


@pytest.mark.long
def test_gibbs_draws_what_is_missing():
    """Shares of all paths of four steps, one value missing, against quadrature over that value."""
    series = np.array([[0.0, 0.3], [0.4, np.nan], [2.0, 2.5], [1.8, 1.0]])
    settings = {"alpha": 1.0, "max_iter": 4000, "samples": Samples(100, thin=1), "init": "token"}
    # Far from certain of any parameter a chain would move slowly.
    emission = Gaussian(mean_precision_prior=1.0, degrees_of_freedom_prior=8.0)
    model = GibbsHMM(2, emission=emission, random_state=0, **settings).fit([series])
    family, paths = model._learned.extra.numeric.family, list(itertools.product([0, 1], repeat=4))

    def joint(value, path):
        row = series.copy()
        row[1, 1] = value
        posterior = np.eye(2)[list(path)]
        own = family.statistics(family.read(row), posterior, np.array([0, 4]))[0]
        return np.exp(family.log_evidence(own) + 10.0)

    def chain(path):
        counts, value = np.ones((2, 2)), 0.5
        for before, after in itertools.pairwise(path):
            value *= counts[before, after] / counts[before].sum()
            counts[before, after] += 1
        return value

    exact = np.array([chain(p) * quad(joint, -np.inf, np.inf, args=(p,))[0] for p in paths])
    exact /= exact.sum()
    drawn = np.asarray(model.samples_, int) @ [8, 4, 2, 1]
    found = np.bincount(drawn, minlength=16) / len(drawn)
    assert 0.25 * np.abs((found + found[::-1]) - (exact + exact[::-1])).sum() < 0.04


def test_mixed_columns_with_gaps():
    gaps, _ = with_gaps(80)
    counts = np.random.default_rng(0).poisson(3, (80, 1)).astype(float)
    table = np.hstack([gaps, counts])
    mixed = Columns([(Gaussian("full"), [0, 1, 2]), (Poisson(), [3])])
    for kind in (EMHMM, VBHMM, CVBHMM, GibbsHMM):
        model = kind(2, emission=mixed, random_state=0, max_iter=12).fit([table[:40], table[40:]])
        assert np.isfinite(model.score([table]))
        assert np.isfinite(model.predict_proba([table])[0]).all()
