"""Student's t emissions: densities by scipy, integrals over factors by quadrature, an optimiser."""

import numpy as np
import pytest
from scipy import special, stats
from scipy.optimize import minimize

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM
from sklearn_cvb.emissions import Columns, Gaussian, Mixture, Poisson, StudentT
from sklearn_cvb.emissions.emission import Observations
from sklearn_cvb.reading.moments import moments_of
from sklearn_cvb.reading.validation import InvalidParameterError

PRIOR = Gaussian(
    "diag",
    mean_prior=[1.0, 90.0],
    mean_precision_prior=0.4,
    degrees_of_freedom_prior=4.5,
    covariance_prior=[0.8, 90.0],
)


def bound(degrees, prior=PRIOR, n=9):
    """A family of two states, its observations, two columns with a gap, and statistics."""
    rng = np.random.default_rng(3)
    table = rng.standard_t(3.0, (n, 2)) * [1.0, 10.0] + [1.0, 90.0]
    table[2, 0], table[4, 1], table[5] = 30.0, np.nan, np.nan
    family = StudentT(degrees, prior).bind(moments_of(table), 2)
    observations, posterior = family.read(table), rng.dirichlet(np.ones(2), n)
    statistics = family.statistics(observations, posterior, np.array([0, n]))[0]
    return family, observations, table, statistics


def filled(scores, observations):
    out = np.empty((len(observations.values), 2))
    scores.fill(observations, np.array([0, len(out)]), out)
    return out


def over_factors(degrees, density):
    """Log integral of a density of a value given its factor w, and E[w] and E[log w]."""
    a = 0.5 * degrees
    u = np.linspace(-70.0 / (a + 0.5), np.log1p(80.0 / a), 6001)
    # Gamma(w | a, a) dw = Gamma(v | a) dv, v = a w.
    logs = stats.gamma.logpdf(a * np.exp(u), a) + np.log(a) + u + density(np.exp(u))
    chances = np.exp(logs - special.logsumexp(logs))
    total = special.logsumexp(logs) + np.log(u[1] - u[0])
    return total, chances @ np.exp(u), chances @ u


@pytest.mark.many(usual=4)
@pytest.mark.parametrize(
    ("degrees", "times"),
    [(0.7, 1), (0.7, 200), (4.0, 1), (4.0, [1, 80]), (4.0, 500), (60.0, 1), (60.0, 5e4)],
)
def test_scores_and_factors_are_integrals_over_the_factor_of_a_normal_distribution(degrees, times):
    """At a point, expected (VB) and predictive (CVB), where much is known and where little is.

    Factors given a value, too.
    """
    family, observations, table, statistics = bound(degrees)
    statistics = times * statistics
    found = family.posterior(statistics)
    point = family.mean(statistics)
    shown = family.attributes(point)
    kinds = (
        family.log_densities(point),
        family.expected_log_densities(statistics),
        family.predictive(statistics),
    )
    scores = [filled(kind, observations) for kind in kinds]
    each = stats.t.logpdf(table[:, None], degrees, shown["locations_"], shown["scales_"])
    np.testing.assert_allclose(scores[0], np.nansum(each, axis=2), atol=1e-10)
    whole = [np.zeros_like(scores[0]) for _ in kinds]
    ones, by_step = np.ones_like(scores[0]), np.arange(len(table) + 1)
    moments = [kind.factor_sums(observations, ones, by_step) for kind in kinds]
    known = ~kinds[-1].is_vague.any(axis=0)
    assert known.tolist() == (np.broadcast_to(times, 2) > 1).tolist()
    for t, d, k in np.ndindex(*table.shape, 2):
        if np.isnan(table[t, d]):
            continue
        x = observations.values[t, d]
        m, kappa, nu, psi = (own[d, k] for own in found)
        log_precision = np.log(2.0 / psi) + special.digamma(0.5 * nu)
        densities = (
            lambda w, m=m, v=psi / nu, x=x: stats.norm.logpdf(x, m, np.sqrt(v / w)),
            lambda w, m=m, s=nu / psi, b=log_precision, kappa=kappa, x=x: (
                0.5 * (np.log(w) + b - np.log(2.0 * np.pi) - w * (s * (x - m) ** 2 + 1.0 / kappa))
            ),
            lambda w, m=m, v=psi / nu, nu=nu, kappa=kappa, x=x: stats.t.logpdf(
                x, nu, m, np.sqrt(v * (1.0 / w + 1.0 / kappa))
            ),
        )
        for own, total, density in zip(moments, whole, densities, strict=True):
            exact, factor, log_factor = over_factors(degrees, density)
            total[t, k] += exact - family.log_scales[d]
            expected = [factor, factor * x, factor * x**2, 1.0, log_factor]
            error = 1e-8 if known[k] else 2e-6
            np.testing.assert_allclose(own[t, :, d, k], expected, rtol=error, atol=error)
    for own, total in zip(scores, whole, strict=True):
        np.testing.assert_allclose(own, total, atol=2e-7)
        np.testing.assert_allclose(own[:, known], total[:, known], atol=1e-10)


@pytest.mark.parametrize("degrees", [1.0, 4.0, 30.0])
def test_what_is_to_come_is_near_its_integral_far_away(degrees):
    """Under a posterior of many steps it is nearly the Student's t of the point."""
    family, _, _, statistics = bound(degrees)
    point, many = family.mean(1e7 * statistics), family.predictive(1e7 * statistics)
    off = np.sqrt(point.variances[:, 0]) * np.array([0.0, 3.0, 1e2, 9e2, 1e6])[:, None]
    far = Observations(point.means[:, 0] + off, None, np.empty((5, 0)))
    found = filled(many, far)[:, 0] + family.log_scales.sum()
    exact = family.distributions(point, None).logpdf(far.values[:, None, :])[:, 0].sum(axis=-1)
    np.testing.assert_allclose(found, exact, atol=2e-6)


def test_evidence_is_of_steps_and_factors():
    """Integrated over the factor of one step it is what was to come; states add up."""
    family, observations, table, _ = bound(3.0)
    one, units, state = observations.part(0, 1), np.array([0, 1]), np.eye(2)[[1]]
    expected = filled(family.predictive(np.zeros((family.n_statistics, 2))), one)[0, 1]

    def joint(u, v):
        drawn = one._replace(features=np.exp([[u, v]]))
        return np.exp(family.log_evidence(family.statistics(drawn, state, units)[0]) + u + v)

    nodes = np.arange(-14.0, 4.0, 0.25)
    total = sum(joint(u, v) for u in nodes for v in nodes) * 0.25**2
    assert np.log(total) == pytest.approx(expected, abs=1e-6)
    # The likelihood at a point, by the same route.
    point = family.mean(np.zeros((family.n_statistics, 2)))
    drawn = observations._replace(features=np.full((len(table), 2), 0.6))
    statistics = family.statistics(drawn, np.ones((len(table), 2)), np.array([0, len(table)]))[0]
    shown = family.attributes(point)
    widths = shown["scales_"] / np.sqrt(0.6)
    each = stats.norm.logpdf(table[:, None], shown["locations_"], widths)
    each = each + stats.gamma.logpdf(0.6, 1.5, scale=1.0 / 1.5)
    assert family.log_likelihood(statistics, point) == pytest.approx(np.nansum(each), rel=1e-12)


@pytest.mark.long(usual=True)
def test_parameters_and_values_drawn_in_turn_keep_their_joint_distribution():
    """Geweke (2004): 300 chains that never see data end where their prior is."""
    n_states, each, rng = 300, 4, np.random.default_rng(0)
    moments = moments_of(np.array([[0.0], [2.0]]))
    prior = Gaussian("diag", mean_prior=0.0, mean_precision_prior=0.4, covariance_prior=0.8)
    family = StudentT(3.0, prior).bind(moments, n_states)
    states = np.repeat(np.arange(n_states), each)
    posterior, whole = np.eye(n_states)[states], np.array([0, len(states)])
    point = family.draw(np.zeros((family.n_statistics, n_states)), rng)
    kept = []
    for sweep in range(130):
        observations = family.read(family.sample(point, states, rng))
        observations = family.impute(observations, family.log_densities(point), states, rng)
        point = family.draw(family.statistics(observations, posterior, whole)[0], rng)
        if sweep % 26 == 25:
            shown = family.attributes(point)
            kept.append([shown["locations_"][:, 0], shown["scales_"][:, 0]])
    prior = family.marginals(np.zeros((family.n_statistics, n_states)))
    for name, own in zip(("locations", "scales"), np.concatenate(kept, axis=1), strict=True):
        below = prior[name].cdf(np.resize(own, (n_states, 1)))[:, 0]
        assert stats.kstest(below, "uniform").pvalue > 1e-3


def regimes(n=300, far=60.0, seed=0):
    """Two regimes, and six values that are far off."""
    rng = np.random.default_rng(seed)
    state = np.arange(n) // 25 % 2
    x = 5.0 * state + rng.standard_t(4.0, n)
    x[rng.choice(n, 6, replace=False)] = far * rng.choice([-1.0, 1.0], 6) * rng.uniform(0.7, 1.3, 6)
    return x, state


def log_likelihood(parameters, x, degrees=None):
    """By the forward algorithm, in plain words."""
    locations, scales = parameters[:2], np.exp(parameters[2:4])
    rows = 1 / (1 + np.exp(-parameters[4:7]))
    steps = np.array([[rows[0], 1 - rows[0]], [rows[1], 1 - rows[1]]])
    degrees = np.exp(parameters[7:]) if degrees is None else degrees
    densities = stats.t.pdf(x[:, None], degrees, locations, scales)
    message, total = np.array([rows[2], 1 - rows[2]]) * densities[0], 0.0
    for t, density in enumerate(densities):
        message = (message @ steps) * density if t else message
        total += np.log(message.sum())
        message = message / message.sum()
    return total


@pytest.mark.long(usual=True)
@pytest.mark.parametrize("degrees", [3.0, None])
def test_em_ends_where_an_optimiser_ends(degrees):
    x = regimes(120, far=20.0)[0]
    emission = StudentT(degrees)
    model = EMHMM(2, emission=emission, random_state=0, max_iter=4000, tol=1e-12).fit([x])
    assert (np.diff(model.history_) > -1e-9).all()
    start = [0.0, 5.0, 0.0, 0.0, 2.0, -2.0, 3.0, *([1.0, 1.0] if degrees is None else [])]
    found = minimize(lambda p: -log_likelihood(p, x, degrees), start, method="BFGS")
    assert model.score_samples([x])[0] == pytest.approx(-found.fun, abs=1e-4)
    order = np.argsort(model.locations_.ravel())
    np.testing.assert_allclose(model.locations_.ravel()[order], found.x[:2], atol=2e-3)
    np.testing.assert_allclose(model.scales_.ravel()[order], np.exp(found.x[2:4]), rtol=2e-3)
    if degrees is None:
        own = model.degrees_of_freedom_.ravel()[order]
        np.testing.assert_allclose(own, np.exp(found.x[7:]), rtol=1e-2)


def test_a_prior_gives_the_maximum_a_posteriori():
    """One state and column, by an optimiser of location and log precision."""
    x = regimes(40, far=20.0)[0]
    prior = Gaussian(
        "diag",
        mean_prior=1.0,
        mean_precision_prior=2.0,
        degrees_of_freedom_prior=5.0,
        covariance_prior=3.0,
    )
    model = EMHMM(1, emission=StudentT(2.5, prior), max_iter=2000, tol=1e-13).fit([x])

    def objective(p):
        scale = np.exp(-0.5 * p[1])
        value = stats.norm.logpdf(p[0], 1.0, scale / np.sqrt(2.0))
        value += stats.gamma.logpdf(np.exp(p[1]), 2.5, scale=2.0 / 3.0)
        return -value - stats.t.logpdf(x, 2.5, p[0], scale).sum()

    found = minimize(objective, [0.0, 0.0], method="BFGS").x
    assert model.locations_.item() == pytest.approx(found[0], abs=1e-4)
    assert model.scales_.item() == pytest.approx(np.exp(-0.5 * found[1]), abs=1e-4)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM, GibbsHMM])
def test_values_that_are_far_off_are_no_state(kind):
    x, state = regimes()
    settings = {"max_iter": 60, "random_state": 0}
    model = kind(2, emission="student", **settings).fit([x])
    states = model.predict([x])[0]
    assert max((states == state).mean(), (states != state).mean()) > 0.97
    assert np.sort(model.locations_.ravel()) == pytest.approx([0.0, 5.0], abs=0.4)
    assert model.scales_.ravel() == pytest.approx([1.0, 1.0], abs=0.3)
    normal = kind(2, emission=Gaussian("diag"), **settings).fit([x])
    assert model.score([x]) > normal.score([x]) + 0.4
    ahead = model.predict_next([x], n_steps=2, n_draws=3000, random_state=0)
    assert ahead.mean == pytest.approx(np.median(ahead.samples, axis=1), abs=3.0)
    if kind is not EMHMM:
        ends = model.credible_intervals([x], level=0.99, random_state=0).emission
        for name in ("locations", "scales"):
            shown = getattr(model, f"{name}_")
            assert ((ends[name][0] < shown) & (shown < ends[name][1])).all()


@pytest.mark.long(usual=True)
def test_parts_and_mixtures_of_heavy_tails():
    x = np.column_stack([regimes()[0], np.abs(regimes()[0]).round()])
    x[4::9, 0] = np.nan
    parts = [(Mixture(StudentT(3.0), 2), [0]), (Poisson(), [1])]
    for kind in (EMHMM, VBHMM, CVBHMM, GibbsHMM):
        model = kind(2, emission=Columns(parts), max_iter=8, random_state=0).fit([x])
        assert np.isfinite(model.score([x]))
    # A column of one value is no reason for a scale of 0.
    alone = EMHMM(2, emission=StudentT(None), random_state=0).fit([[3.0, 3.0, 3.0, 3.0]])
    assert np.isfinite(alone.score_samples([[3.0, 4.0]])).all()
    drawn, _ = alone.sample(1, 9, random_state=0)
    assert np.isfinite(drawn).all()


def test_wrong_settings_are_told():
    x = [regimes(40)[0]]
    for emission, message in (
        (StudentT(0.0), "degrees_of_freedom must be a positive number, got 0.0"),
        (StudentT("many"), "degrees_of_freedom must hold numbers"),
        (StudentT(prior=Gaussian()), r'prior must be Gaussian\("diag", ...\), got Gaussian'),
        (StudentT(prior="flat"), r'prior must be Gaussian\("diag", ...\), got \'flat\''),
        (StudentT(None, PRIOR), "degrees_of_freedom=None are learned by maximum likelihood"),
    ):
        with pytest.raises(ValueError, match=message):
            EMHMM(2, emission=emission, random_state=0).fit([np.column_stack([x[0], x[0]])])
    for kind in (VBHMM, CVBHMM, GibbsHMM):
        with pytest.raises(InvalidParameterError, match=r"=None\) is learned by EM alone"):
            kind(2, emission=StudentT(None), random_state=0).fit(x)
