"""Regression and autoregression: what they are in plain words, starts, and forecasts."""

import itertools

import numpy as np
import pytest
from emissions.plain import CASES, bound, scores_of, soft
from scipy import stats
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM, HMMParameters
from sklearn_cvb.chain.numbers import clusters
from sklearn_cvb.display import ModelSummary
from sklearn_cvb.emissions import (
    AutoRegressive,
    Columns,
    Estimator,
    Gaussian,
    Poisson,
    Regression,
    linear,
)
from sklearn_cvb.reading.moments import moments_of
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.store import write_numbers

KINDS = (EMHMM, VBHMM, CVBHMM, GibbsHMM)


def lines(seed=0, n_steps=200, n_inputs=1):
    """States and a table of inputs and an output; both regimes have the same mean."""
    rng = np.random.default_rng(seed)
    state = np.cumsum(rng.random(n_steps) < 0.05) % 2
    x = rng.normal(size=(n_steps, n_inputs))
    y = (1 - 2 * state) * x.sum(axis=1) + 0.4 * rng.normal(size=n_steps)
    return state, np.column_stack([x, y])


def autoregression(seed=0, n_steps=300):
    """States and a series that goes on in one of them, and back and forth in the other."""
    rng = np.random.default_rng(seed)
    state, x = np.cumsum(rng.random(n_steps) < 0.05) % 2, np.zeros((n_steps, 1))
    for t in range(1, n_steps):
        x[t] = [0.9, -0.8][state[t]] * x[t - 1] + rng.normal()
    return state, x


def fitted(kind, emission, X, **settings):
    return kind(2, emission=emission, **{"random_state": 0, "max_iter": 30} | settings).fit(X)


def lagged(table, order):
    """A series with its last values beside it, the latest first, by a loop."""
    rows = []
    for t in range(len(table)):
        past = [table[t - lag] if t >= lag else np.full(table.shape[1], np.nan) for lag in (1, 2)]
        rows.append(np.concatenate([*past[:order], table[t]]))
    return np.array(rows)


# What they are


def test_an_input_that_is_constant_leaves_a_gaussian():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.normal(3.0, 2.0, (30, 2)), np.full(30, 7.0)])
    posterior = soft(30, 2)
    whole, families = np.array([0, 30]), []
    for emission, own in ((Gaussian("full"), table[:, :2]), (Regression([2]), table)):
        family = emission.bind(moments_of(own), 2)
        observations = family.read(own)
        statistics = family.statistics(observations, posterior, whole)[0]
        scores = family.predictive(statistics), family.expected_log_densities(statistics)
        filled = [scores_of(one, observations, 30, 2) for one in scores]
        families.append((family.log_evidence(statistics), family.divergence(statistics), *filled))
    for one, other in zip(*families, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM])
def test_autoregression_is_regression_on_last_values(kind, order):
    """The prior given in standard units: lagged columns have nearly the same."""
    rng = np.random.default_rng(1)
    X = [rng.normal(size=(n, 2)).cumsum(axis=0) for n in (40, 30)]
    X[0][12, 1] = np.nan
    init = [rng.dirichlet([1, 1], len(x)) for x in X]
    model = fitted(kind, AutoRegressive(order), X, init=init, max_iter=5, tol=0)
    family = model._learned.extra.numeric.family
    table, starts = np.concatenate(X), np.array([0, 40, 70])
    found = family.read_sequences(table, starts)
    plain = np.concatenate([lagged(x, order) for x in X])
    missing = np.isnan(plain).any(axis=1)
    units = [np.tile(part, order + 1) for part in family.of_outputs]
    expected = np.where(missing[:, None], 0.0, (plain - units[0]) / units[1])
    np.testing.assert_allclose(found.values, expected, atol=1e-14)
    np.testing.assert_array_equal(found.observed.all(axis=1), ~missing)
    assert missing.sum() == 2 * order + 1 + order
    if kind is EMHMM:
        # Maximum likelihood knows no units.
        wide = [lagged(x, order) for x in X]
        names = list(range(2 * order))
        other = fitted(kind, Regression(names), wide, init=init, max_iter=5, tol=0)
        np.testing.assert_allclose(model.history_, other.history_, rtol=1e-9)
        np.testing.assert_allclose(model.coefficients_, other.coefficients_, rtol=1e-6)
        np.testing.assert_allclose(model.intercepts_, other.intercepts_, rtol=1e-6, atol=1e-9)


def test_default_priors_are_those_of_the_docstrings():
    table, posterior = lines(n_inputs=2)[1] * [1.0, 5.0, 20.0], soft(200, 3)
    values, whole = [], np.array([0, 200])
    for emission, n in ((Regression([0]), 2), (AutoRegressive(2), 3)):
        given = {
            "coefficient_precision_prior": 0.01,
            "degrees_of_freedom_prior": n + 2.0,
            "covariance_prior": np.diag(table[:, 3 - n :].var(axis=0)) * 3 ** (-2 / n),
        }
        for one in (emission, clone(emission).set_params(**given)):
            family = one.bind(moments_of(table), 3)
            statistics = family.statistics(family.read(table), posterior, whole)[0]
            values.append(family.log_evidence(statistics))
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    assert values[2] == pytest.approx(values[3], rel=1e-12)


def test_one_state_is_least_squares():
    _, table = lines(n_inputs=2)
    table = table * [3.0, 0.01, 50.0] + [1e4, 0.0, -7.0]
    model = EMHMM(1, emission=Regression([0, 1]), random_state=0).fit([table])
    design = np.column_stack([np.ones(len(table)), table[:, :2]])
    solution, squares, *_ = np.linalg.lstsq(design, table[:, 2], rcond=None)
    found = np.concatenate([model.intercepts_[0], model.coefficients_[0, :, 0]])
    np.testing.assert_allclose(found, solution, rtol=1e-8)
    np.testing.assert_allclose(model.covariances_[0, 0, 0], squares[0] / len(table), rtol=1e-10)


def test_inputs_that_depend_on_each_other_cost_nothing():
    """Twice the same input, and a constant one: the likelihood is that of one input."""
    _, table = lines()
    doubled = np.column_stack([table[:, 0], table[:, 0], np.full(len(table), 3.0), table[:, 1]])
    one = fitted(EMHMM, Regression([0]), [table])
    other = fitted(EMHMM, Regression([0, 1, 2]), [doubled])
    assert np.isfinite(other.coefficients_).all()
    assert other.score([doubled]) == pytest.approx(one.score([table]), abs=1e-6)


def test_tied_residuals_have_the_mean_of_all_squares():
    """Each state's line is that of its own steps; the covariance is of the residuals of all."""
    _, table = lines(n_inputs=2)
    table = np.column_stack([table * [3.0, 0.01, 50.0], table[:, 2] - table[:, 0] ** 2])
    posterior = soft(200, 3)
    family = Regression([0, 1], covariance_type="tied").bind(moments_of(table), 3)
    statistics = family.statistics(family.read(table), posterior, np.array([0, 200]))[0]
    shown = family.attributes(family.most_likely(statistics))
    design, total = np.column_stack([np.ones(200), table[:, :2]]), np.zeros((2, 2))
    for k, weights in enumerate(posterior.T):
        roots = np.sqrt(weights)[:, None]
        solution = np.linalg.lstsq(roots * design, roots * table[:, 2:], rcond=None)[0]
        found = np.vstack([shown["intercepts_"][k], shown["coefficients_"][k]])
        np.testing.assert_allclose(found, solution, rtol=1e-10)
        off = roots * (table[:, 2:] - design @ solution)
        total += off.T @ off / 200
    np.testing.assert_allclose(shown["covariances_"], total, rtol=1e-10)


def test_one_state_has_the_same_residuals_tied_or_not():
    """By all algorithms, with the prior of both."""
    _, table = lines(n_inputs=2)
    for kind, emission in itertools.product(KINDS, (Regression([0, 1]), AutoRegressive(2))):
        found = []
        for covariance_type in ("full", "tied"):
            own = clone(emission).set_params(covariance_type=covariance_type)
            model = kind(1, emission=own, random_state=0, max_iter=5).fit([table])
            found.append((model.history_, np.squeeze(model.covariances_)))
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)


@pytest.mark.parametrize("tied", [False, True])
def test_sweeps_are_those_of_least_squares_of_scikit_learn(tied):
    _, table = lines(n_inputs=2)
    init = HMMParameters(
        startprob=[0.5, 0.5],
        transmat=[[0.9, 0.1], [0.2, 0.8]],
        emissions={
            "intercepts": [[0.1], [-0.2]],
            "coefficients": [[[0.5], [1.0]], [[-1.0], [0.0]]],
            "covariances": [[1.5]] if tied else [[[1.5]], [[1.5]]],
        },
    )
    own = Regression([0, 1], covariance_type="tied" if tied else "full")
    model = EMHMM(2, emission=own, init=init, max_iter=8, tol=0).fit([table])
    sides = [LinearRegression(), LinearRegression()]
    for k, one in enumerate(sides):
        one.coef_ = np.ravel(init.emissions["coefficients"][k])
        one.intercept_ = init.emissions["intercepts"][k][0]
    given = {"estimators": sides, "dispersions": [[1.5], [1.5]]}
    other = Estimator(LinearRegression(), [0, 1], dispersion="tied" if tied else "state")
    init = HMMParameters(startprob=init.startprob, transmat=init.transmat, emissions=given)
    plain = EMHMM(2, emission=other, init=init, max_iter=8, tol=0, n_init=1).fit([table])
    np.testing.assert_allclose(model.history_, plain.history_, rtol=1e-9)


def test_a_state_without_steps_keeps_its_line_and_shares_the_covariance():
    _, table = lines()
    family = Regression([0], covariance_type="tied").bind(moments_of(table), 2)
    observations, whole = family.read(table), np.array([0, 200])
    both, one = soft(200, 2), np.tile([1.0, 0.0], (200, 1))
    before = family.most_likely(family.statistics(observations, both, whole)[0])
    after = family.most_likely(family.statistics(observations, one, whole)[0], before)
    assert after.coefficients[1] == before.coefficients[1] != after.coefficients[0]
    assert after.intercepts[1] == before.intercepts[1] != after.intercepts[0]
    assert after.covariances[0] == after.covariances[1] != before.covariances[1]


# Errors that are planted are seen by the comparisons of test_families


def leverage_is_forgotten(monkeypatch):
    before = linear.RegressionFamily.predictive

    def predictive(self, statistics):
        scores = before(self, statistics)
        factors = scores.factors.copy()
        factors[:, : self.n_inputs] *= 1e-9
        return scores._replace(factors=factors)

    monkeypatch.setattr(linear.RegressionFamily, "predictive", predictive)


def a_degree_of_freedom_for_each_input(monkeypatch):
    before = linear.RegressionFamily.predictive

    def predictive(self, statistics):
        scores = before(self, statistics)
        return scores._replace(degrees=scores.degrees - self.n_inputs)

    monkeypatch.setattr(linear.RegressionFamily, "predictive", predictive)


def slopes_have_no_prior(monkeypatch):
    before = linear.RegressionFamily.__init__

    def init(self, prior, *others):
        scale, n = prior.scale.copy(), others[2]
        scale[:n, :n] = 1e-3 * np.eye(n)
        before(self, prior._replace(scale=scale), *others)

    monkeypatch.setattr(linear.RegressionFamily, "__init__", init)


def outputs_are_in_the_order_of_the_table(monkeypatch):
    before = linear.RegressionFamily.read
    monkeypatch.setattr(
        linear.RegressionFamily, "read", lambda self, table: before(self, table[:, ::-1])
    )


PLANTED = [
    leverage_is_forgotten,
    a_degree_of_freedom_for_each_input,
    slopes_have_no_prior,
    outputs_are_in_the_order_of_the_table,
]


def predictive_error(name="regression, missing"):
    case = CASES[name]
    family, observations, posterior, statistics = bound(case)
    found = scores_of(family.predictive(statistics), observations, *posterior.shape)
    plain = [[case.predictive(x, k, case.table, posterior) for k in range(2)] for x in case.table]
    return np.abs(found - plain).max()


def test_nothing_planted_is_nothing_seen():
    assert predictive_error() < 1e-9


@pytest.mark.parametrize("error", PLANTED)
def test_planted_errors_are_seen(error, monkeypatch):
    error(monkeypatch)
    assert predictive_error() > 1e-3


def states_add_the_prior_once_each(monkeypatch):
    monkeypatch.setattr(
        linear, "_pooled", lambda own, prior, axis: own.sum(axis, keepdims=True) + 0.0 * own
    )


def what_other_states_tell_is_forgotten(monkeypatch):
    monkeypatch.setattr(linear, "_pooled", lambda own, prior, axis: own + 0.0)


@pytest.mark.parametrize(
    "error", [states_add_the_prior_once_each, what_other_states_tell_is_forgotten]
)
def test_planted_errors_of_tied_residuals_are_seen(error, monkeypatch):
    assert predictive_error("tied regression, missing") < 1e-9
    error(monkeypatch)
    assert predictive_error("tied regression, missing") > 1e-3


def last_values_are_of_another_series(monkeypatch):
    before = linear.AutoRegressiveFamily.read_sequences

    def read(self, table, starts):
        return before(self, table, starts[[0, -1]])

    monkeypatch.setattr(linear.AutoRegressiveFamily, "read_sequences", read)


def the_latest_comes_last(monkeypatch):
    before = linear.AutoRegressiveFamily._read_joint

    def read(self, table):
        order = [*range(self.n_inputs)[::-1], *range(self.n_inputs, table.shape[1])]
        return before(self, table[:, order])

    monkeypatch.setattr(linear.AutoRegressiveFamily, "_read_joint", read)


def likelihood_error():
    """Of two short series, against a loop over their steps."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=n).cumsum() for n in (6, 4)]
    slopes, level, noise = np.array([0.7, -0.4]), 0.2, 0.5
    model = EMHMM.from_parameters(
        startprob=[1.0],
        transmat=[[1.0]],
        intercepts=[[level]],
        coefficients=[slopes[:, None]],
        covariances=[[[noise]]],
        emission=AutoRegressive(2),
    )
    plain = 0.0
    for x in X:
        for t in range(2, len(x)):
            mean = level + slopes[0] * x[t - 1] + slopes[1] * x[t - 2]
            plain += stats.norm.logpdf(x[t], mean, np.sqrt(noise))
    return abs(model.score_samples(X).sum() - plain)


def test_likelihoods_of_autoregression_are_those_of_a_loop():
    assert likelihood_error() < 1e-10


@pytest.mark.parametrize("error", [last_values_are_of_another_series, the_latest_comes_last])
def test_planted_errors_of_autoregression_are_seen(error, monkeypatch):
    error(monkeypatch)
    assert likelihood_error() > 1e-3


# Starts


@pytest.mark.long
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM])
def test_regimes_of_the_same_mean_are_found(kind):
    """By default, in 20 series of one input, and 20 of three."""
    for n_inputs in (1, 3):
        found = 0
        for seed in range(20):
            state, table = lines(seed, n_inputs=n_inputs)
            emission = Regression(list(range(n_inputs)))
            right = (fitted(kind, emission, [table]).predict([table])[0] == state).mean()
            found += max(right, 1 - right) > 0.85
        assert found == 20


@pytest.mark.long
@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM])
def test_regimes_of_autoregression_are_found(kind):
    found = 0
    for seed in range(20):
        state, x = autoregression(seed)
        right = (fitted(kind, AutoRegressive(), [x]).predict([x])[0] == state).mean()
        found += max(right, 1 - right) > 0.8
    assert found >= 18


def test_a_start_keeps_known_states():
    state, table = lines()
    y = [np.where(np.arange(len(state)) % 4 == 0, 1 - state, -1)]
    model = EMHMM(2, emission=Regression([0]), supervision="y", random_state=0).fit([table], y)
    assert (model.predict([table])[0] == 1 - state).mean() > 0.9
    assert (model.labels_[0][::4] == 1 - state[::4]).all()


def test_many_steps_start_from_some_of_them(monkeypatch):
    monkeypatch.setattr(clusters, "_SAMPLE", 60)
    state, table = lines()
    right = (fitted(EMHMM, Regression([0]), [table]).predict([table])[0] == state).mean()
    assert max(right, 1 - right) > 0.85


# Forecasts, samples and filters


def by_all_paths(model, last, before, n_steps):
    """Means of the next steps, path by path."""
    total = np.zeros((n_steps, before.shape[1]))
    order = len(before)
    for path in itertools.product(range(2), repeat=n_steps + 1):
        weight = last[path[0]] * np.prod(model.transmat_[list(path[:-1]), list(path[1:])])
        steps = list(before)
        for k in path[1:]:
            past = np.concatenate(steps[: -order - 1 : -1])
            steps.append(model.intercepts_[k] + past @ model.coefficients_[k])
        total += weight * np.array(steps[order:])
    return total


@pytest.mark.parametrize("order", [1, 2])
def test_forecasts_of_autoregression_are_exact(order):
    rng = np.random.default_rng(2)
    X = [np.column_stack([autoregression(s, 120)[1], rng.normal(size=120)]) for s in (1, 2)]
    model = fitted(VBHMM, AutoRegressive(order), X)
    found = model.predict_next(X, 4, n_draws=6000, random_state=0, level=0.8)
    for i, x in enumerate(X):
        last = model.filter_proba(X)[i][-1]
        # VB tells the last state by other weights than those of forecasts.
        exact = by_all_paths(model, last, x[-order:], 4)
        error = found.samples[i].std(axis=0) / np.sqrt(6000)
        assert (np.abs(found.samples[i].mean(axis=0) - found.mean[i]) < 5 * error).all()
        np.testing.assert_allclose(found.mean[i], exact, atol=0.05)
    model = fitted(CVBHMM, AutoRegressive(order), X)
    found = model.predict_next(X, 4, n_draws=5, random_state=0)
    for i, x in enumerate(X):
        exact = by_all_paths(model, model.filter_proba(X)[i][-1], x[-order:], 4)
        np.testing.assert_allclose(found.mean[i], exact, rtol=1e-9, atol=1e-12)


def test_forecasts_of_regression_take_inputs():
    _, table = lines(n_inputs=2)
    table = table[:, [0, 2, 1]]
    model = fitted(CVBHMM, Regression([2, 0]), [table])
    inputs = np.array([[[1.0, 2.0], [0.5, -3.0]]])
    found = model.predict_next([table], 2, inputs=inputs, n_draws=6000, random_state=0)
    means = np.array([model.intercepts_ + x @ model.coefficients_ for x in inputs[0]])
    expected = np.einsum("tk,tkd->td", found.proba[0], means[..., 0][..., None])
    np.testing.assert_allclose(found.mean[0, :, 1], expected[:, 0], rtol=1e-10)
    np.testing.assert_array_equal(found.mean[0][:, [2, 0]], inputs[0])
    np.testing.assert_array_equal(found.samples[0, 7][:, [2, 0]], inputs[0])
    error = found.samples[0, :, :, 1].std(axis=0) / np.sqrt(6000)
    assert (np.abs(found.samples[0, :, :, 1].mean(axis=0) - expected[:, 0]) < 5 * error).all()
    with pytest.raises(ValueError, match=r"inputs of shape \(1, 2, 2\)"):
        model.predict_next([table], 2)
    with pytest.raises(ValueError, match="inputs has shape"):
        model.predict_next([table], 3, inputs=inputs)
    with pytest.raises(ValueError, match="not what inputs there are"):
        model.sample(1, 5)
    other = fitted(EMHMM, "gaussian", [table])
    with pytest.raises(ValueError, match="this model has none"):
        other.predict_next([table], 2, inputs=inputs)


def test_forecasts_need_the_last_steps():
    _, x = autoregression()
    model = fitted(EMHMM, AutoRegressive(2), [x])
    with pytest.raises(ValueError, match="sequence 1 has less than the 2 steps"):
        model.predict_next([x, x[:1]])
    x = x.copy()
    x[-2] = np.nan
    with pytest.raises(ValueError, match="sequence 0 has missing values among its last 2 steps"):
        model.predict_next([x])


@pytest.mark.long
def test_samples_of_autoregression_are_learned_again():
    _, x = autoregression(n_steps=600)
    model = fitted(EMHMM, AutoRegressive(), [x])
    drawn, states = model.sample(3, [8000, 3000, 5], random_state=0)
    assert [len(one) for one in drawn] == [8000, 3000, 5]
    for k in range(2):
        past = np.concatenate([a[:-1, 0][z[1:] == k] for a, z in zip(drawn, states, strict=True)])
        now = np.concatenate([a[1:, 0][z[1:] == k] for a, z in zip(drawn, states, strict=True)])
        slope, intercept = np.polyfit(past, now, 1)
        off = now - intercept - slope * past
        assert slope == pytest.approx(model.coefficients_[k, 0, 0], abs=0.04)
        assert off.var() == pytest.approx(model.covariances_[k, 0, 0], rel=0.1)


@pytest.mark.long(usual=True)
@pytest.mark.parametrize("order", [1, 2])
def test_a_filter_remembers_what_it_needs(order):
    _, x = autoregression()
    x[20] = np.nan
    model = fitted(VBHMM, AutoRegressive(order), [x])
    following = model.start_filter()
    for t in range(40):
        found = following.update(x[t, 0])
        np.testing.assert_allclose(found, model.filter_proba([x[: t + 1]])[0][-1], atol=1e-12)


# What a model shows

BOTH = [
    *(Regression([0, 1]), AutoRegressive(2)),
    *(Regression([0, 1], covariance_type="tied"), AutoRegressive(2, covariance_type="tied")),
]


@pytest.mark.long
@pytest.mark.parametrize("kind", [VBHMM, CVBHMM])
@pytest.mark.parametrize("emission", BOTH)
def test_intervals_hold_what_draws_hold(kind, emission):
    _, table = lines(n_inputs=2)
    model = fitted(kind, emission, [table * [1.0, 30.0, 5.0] + [0.0, 400.0, -3.0]])
    found = model.credible_intervals(level=0.9).emission
    family, rng = model._learned.extra.numeric.family, np.random.default_rng(1)
    drawn = [family.attributes(family.draw(model.counts_.emission.T, rng)) for _ in range(4000)]
    for name in ("intercepts", "coefficients", "variances"):
        if name == "variances":
            each = [np.diagonal(one["covariances_"], axis1=-2, axis2=-1) for one in drawn]
            each = [np.broadcast_to(one, drawn[0]["intercepts_"].shape) for one in each]
        else:
            each = [one[f"{name}_"] for one in drawn]
        lower, upper = found[name]
        assert lower.shape == each[0].shape
        np.testing.assert_allclose((np.array(each) < lower).mean(axis=0), 0.05, atol=0.02)
        np.testing.assert_allclose((np.array(each) > upper).mean(axis=0), 0.05, atol=0.02)


@pytest.mark.parametrize("emission", BOTH)
def test_parameters_make_a_model(emission):
    _, table = lines(n_inputs=2)
    model = fitted(EMHMM, emission, [table])
    names = "startprob", "transmat", "intercepts", "coefficients", "covariances"
    given = {name: getattr(model, f"{name}_") for name in names}
    made = EMHMM.from_parameters(**given, emission=emission)
    np.testing.assert_allclose(made.score([table]), model.score([table]), rtol=1e-9)
    for name in names:
        np.testing.assert_allclose(getattr(made, f"{name}_"), given[name], rtol=1e-9, atol=1e-12)
    known = HMMParameters.by_name(given)
    stays = {"start": True, "transitions": True, "emissions": True}
    fixed = VBHMM(2, emission=emission, init=known, fixed=stays, random_state=0).fit([table])
    np.testing.assert_allclose(fixed.coefficients_, model.coefficients_, rtol=1e-9, atol=1e-12)
    ends = fixed.credible_intervals().emission
    assert sorted(ends) == ["coefficients", "intercepts", "variances"]
    np.testing.assert_array_equal(ends["coefficients"][0], ends["coefficients"][1])
    slope = f"{model.coefficients_[0, 0, 0]:.3g}"
    assert slope in str(ModelSummary(model))


def test_columns_by_name_and_in_parts():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    _, table = lines()
    counts = rng.poisson(3, len(table)).astype(float)
    frame = pandas.DataFrame({"x": table[:, 0], "n": counts, "y": table[:, 1]})
    parts = [(Poisson(), ["n"]), (Regression(["x"], ["y"]), ["y", "x"])]
    model = fitted(VBHMM, Columns(parts), [frame])
    numbered = Columns([(Poisson(), [1]), (Regression([1], [0]), [2, 0])])
    other = fitted(VBHMM, numbered, [frame.to_numpy()])
    slopes = [one.parts_[1]["coefficients_"] for one in (model, other)]
    np.testing.assert_array_equal(*slopes)
    ahead = model.predict_next([frame], 2, inputs=[[[1.0], [2.0]]], random_state=0)
    np.testing.assert_array_equal(ahead.mean[0, :, 0], [1.0, 2.0])
    plain = fitted(VBHMM, Regression(["x", "n"]), [frame])
    assert plain.coefficients_.shape == (2, 2, 1)
    mixed = Columns([(AutoRegressive(2), [1]), (Poisson(), [0])])
    model = fitted(VBHMM, mixed, [frame[["n", "x"]].to_numpy()])
    ahead = model.predict_next([frame[["n", "x"]].to_numpy()], 3, random_state=0)
    assert ahead.samples.shape == (1, 1000, 3, 2)
    rates = model.parts_[1]["rates_"][:, 0]
    np.testing.assert_allclose(ahead.mean[0, :, 0], ahead.proba[0] @ rates)
    assert model.sample(2, 7, random_state=0)[0].shape == (2, 7, 2)


@pytest.mark.parametrize(
    ("emission", "message"),
    [
        (Regression([]), "inputs and outputs are lists of columns"),
        (Regression([0, 1]), "inputs and outputs are lists of columns"),
        (Regression([0], [0]), "must name each of the 2 columns once"),
        (Regression([3]), "must name each of the 2 columns once"),
        (Regression(["x"]), "names the column 'x'"),
        (Regression([0], covariance_prior=[[-1.0]]), "positive definite"),
        (Regression([0], degrees_of_freedom_prior=-1.0), "degrees_of_freedom_prior"),
        (Regression([0], coefficient_precision_prior=0.0), "coefficient_precision_prior"),
        (Regression([0], covariance_type="diag"), "must be 'full' or 'tied', got 'diag'"),
        (AutoRegressive(covariance_type="Tied"), "must be 'full' or 'tied', got 'Tied'"),
        (AutoRegressive(0), "order must be a whole number"),
        (AutoRegressive(1.5), "order must be a whole number"),
        (AutoRegressive(degrees_of_freedom_prior=1.0), "must be above 1 for 2 outputs"),
    ],
)
def test_settings_out_of_range_are_refused(emission, message):
    with pytest.raises(InvalidParameterError, match=message):
        EMHMM(2, emission=emission).fit([lines()[1]])


@pytest.mark.parametrize(("emission", "left"), [(AutoRegressive(2), 11), (Regression([0]), 14)])
def test_a_score_is_a_mean_over_the_steps_that_have_a_likelihood(emission, left):
    """Or the longest order had the best score. Of 15 steps one lacks an input."""
    x = np.random.default_rng(0).normal(size=(15, 2))
    if left == 14:
        x[4, 0] = np.nan
    model, X = fitted(VBHMM, emission, [x, x[:9]], max_iter=3), [x[:10], x[10:]]
    assert model.score(X) == pytest.approx(model.score_samples(X).sum() / left, rel=1e-12)


# Series that are as short as what is looked back at

SHORT = [np.random.default_rng(i).normal(size=4) for i in range(6)]


@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM, GibbsHMM])
@pytest.mark.parametrize(
    ("emission", "order"),
    [
        (AutoRegressive(4), 4),
        (AutoRegressive(30), 30),
        (Columns([(AutoRegressive(5), [0])]), 5),
    ],
)
def test_an_order_that_no_series_is_longer_than_is_refused(kind, emission, order):
    methods = ["fit"] if kind is GibbsHMM else ["fit", "partial_fit"]
    for method in methods:
        with pytest.raises(ValueError, match=f"order={order} .* the longest has 4"):
            getattr(kind(2, emission=emission), method)(SHORT)


def test_series_that_are_too_short_are_counted(tmp_path):
    series = [*SHORT, np.arange(9.0), np.sin(np.arange(30.0))]
    model = EMHMM(1, emission=AutoRegressive(4))
    with pytest.warns(UserWarning, match="^6 of the 8 series have 4 steps or fewer") as seen:
        model.fit(series)
    assert len(seen) == 1
    alone = EMHMM(1, emission=AutoRegressive(4)).fit(series[6:])
    np.testing.assert_allclose(model.coefficients_, alone.coefficients_, atol=0.1)
    # What tells nothing has likelihood 1, and the states of paths.
    assert model.score_samples(SHORT).tolist() == [0.0] * 6
    assert [len(path) for path in model.predict(SHORT)] == [4] * 6
    store = write_numbers(series, tmp_path / "store")
    with pytest.warns(UserWarning, match="^6 of the 8 series have 4 steps or fewer"):
        EMHMM(1, emission=AutoRegressive(4)).fit(store)
    with pytest.raises(ValueError, match=r"order=40 .* the longest has 30"):
        EMHMM(1, emission=AutoRegressive(40)).fit(store)
