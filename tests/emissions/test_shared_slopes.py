"""Regressions some of whose slopes are one for all states: plain least squares, and statsmodels."""

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from emissions.plain import soft
from sklearn.base import clone

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM, HMMParameters, Transitions, write_numbers
from sklearn_cvb.emissions import AutoRegressive, Columns, Poisson, Regression, shared_slopes
from sklearn_cvb.metrics import relabel
from sklearn_cvb.reading.moments import moments_of
from sklearn_cvb.reading.validation import InvalidParameterError

STATES = np.arange(240) // 30 % 2


def table_of(seed=0, n_outputs=2):
    """Three inputs of other units, of which the second has the same slope in both states."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(len(STATES), 3)) * [1.0, 5.0, 0.1] + [0.0, 100.0, 3.0]
    noise = rng.normal(size=(len(STATES), 2)) * np.where(STATES[:, None], [1.0, 0.1], [0.2, 2.0])
    y = np.column_stack([np.where(STATES, 2.0, -1.0) * x[:, 0] + 0.3 * x[:, 1], x[:, 2]])
    return np.column_stack([x, (y + noise)[:, :n_outputs]])


def design_of(x, k, n_states, own):
    """Columns of a state: intercepts and own slopes of all states, then shared slopes."""
    shared = [i for i in range(x.shape[1]) if i not in own]
    of_states = [np.ones(len(x)) * (j == k) for j in range(n_states)]
    of_states += [x[:, i] * (j == k) for j in range(n_states) for i in own]
    return np.column_stack([*of_states, *x[:, shared].T])


def plain_fit(table, own, posterior, is_tied):
    """Weighted least squares of all steps in all states at once, and covariances, in turn."""
    x, y, n_states = table[:, :3], table[:, 3:], posterior.shape[1]
    designs = [design_of(x, k, n_states, own) for k in range(n_states)]
    covariances, n = np.tile(np.diag(y.var(axis=0)), (n_states, 1, 1)), y.shape[1]
    for _ in range(300):
        rows, right = [], []
        for k, design in enumerate(designs):
            roots, whitening = (
                np.sqrt(posterior[:, [k]]),
                np.linalg.inv(np.linalg.cholesky(covariances[k])),
            )
            rows.append(np.einsum("tp,df->tdpf", roots * design, whitening).reshape(len(x) * n, -1))
            right.append(((roots * y) @ whitening.T).ravel())
        every = np.vstack(rows)
        widths = np.abs(every).max(axis=0)
        found = np.linalg.lstsq(every / widths, np.concatenate(right), rcond=None)[0] / widths
        found = found.reshape(-1, n)
        off = [y - design @ found for design in designs]
        squares = np.array([(p[:, None] * e).T @ e for p, e in zip(posterior.T, off, strict=True)])
        counts = posterior.sum(axis=0)[:, None, None]
        new = (
            np.tile(squares.sum(axis=0) / len(x), (n_states, 1, 1)) if is_tied else squares / counts
        )
        if np.allclose(new, covariances, rtol=1e-14, atol=0):
            break
        covariances = new
    slopes, last = np.empty((n_states, 3, n)), n_states * (1 + len(own))
    slopes[:, own] = found[n_states:last].reshape(n_states, len(own), n)
    slopes[:, [i for i in range(3) if i not in own]] = found[last:]
    return found[:n_states], slopes, covariances


def m_step(emission, table, posterior):
    family = emission.bind(moments_of(table), posterior.shape[1])
    whole = np.array([0, len(table)])
    statistics = family.statistics(family.read(table), posterior, whole)[0]
    point = family.most_likely(statistics)
    # Slopes and covariances in turn, until they settle.
    for _ in range(60):
        point = family.most_likely(statistics, point)
    return family, statistics, point


SWITCHING = [[], [0], [1, 2]]
KINDS = list(product(["full", "tied"], SWITCHING, [1, 2]))


@pytest.mark.parametrize(("covariance_type", "switching", "n_outputs"), KINDS)
def test_m_steps_are_generalised_least_squares(covariance_type, switching, n_outputs):
    table, posterior = table_of(n_outputs=n_outputs), soft(len(STATES), 3)
    emission = Regression([0, 1, 2], covariance_type=covariance_type, switching=switching)
    family, _, point = m_step(emission, table, posterior)
    shown, is_tied = family.attributes(point), covariance_type == "tied"
    intercepts, slopes, covariances = plain_fit(table, switching, posterior, is_tied)
    np.testing.assert_allclose(shown["intercepts_"], intercepts, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(shown["coefficients_"], slopes, rtol=1e-10, atol=1e-10)
    covariances = covariances[0] if is_tied else covariances
    np.testing.assert_allclose(shown["covariances_"], covariances, rtol=1e-10, atol=1e-12)


def precisions_are_forgotten(monkeypatch):
    before = shared_slopes.SharedSlopesFamily._slopes

    def slopes(self, apart, covariances):
        return before(self, apart, np.ones_like(covariances))

    monkeypatch.setattr(shared_slopes.SharedSlopesFamily, "_slopes", slopes)


def shares_are_forgotten(monkeypatch):
    before = shared_slopes.SharedSlopesFamily._apart

    def apart(self, shares, weights):
        return before(self, shares, np.full_like(weights, 1 / 3))

    monkeypatch.setattr(shared_slopes.SharedSlopesFamily, "_apart", apart)


@pytest.mark.parametrize("error", [precisions_are_forgotten, shares_are_forgotten])
def test_planted_errors_are_seen(error, monkeypatch):
    error(monkeypatch)
    table, posterior = table_of(n_outputs=1), soft(len(STATES), 3)
    family, _, point = m_step(Regression([0, 1, 2], switching=[0]), table, posterior)
    slopes = plain_fit(table, [0], posterior, False)[1]
    assert np.abs(family.attributes(point)["coefficients_"] - slopes).max() > 1e-5


def test_a_state_without_steps_keeps_what_is_its_own():
    table, posterior = table_of(), soft(len(STATES), 2)
    family, statistics, before = m_step(Regression([0, 1, 2], switching=[0]), table, posterior)
    statistics = statistics * [1.0, 0.0]
    after = family.most_likely(statistics, before)
    np.testing.assert_array_equal(after.intercepts[1], before.intercepts[1])
    np.testing.assert_array_equal(after.covariances[1], before.covariances[1])
    np.testing.assert_array_equal(after.coefficients[1, 0], before.coefficients[1, 0])
    np.testing.assert_array_equal(after.coefficients[1, 1:], after.coefficients[0, 1:])
    assert np.abs(after.coefficients[0] - before.coefficients[0]).max() > 1e-3
    nothing = family.most_likely(0.0 * statistics, before)
    for one, other in zip(nothing, before, strict=True):
        np.testing.assert_array_equal(one, other)


SETTINGS = {"random_state": 0, "max_iter": 60}


@pytest.mark.parametrize(("covariance_type", "switching", "n_outputs"), KINDS)
def test_likelihood_never_falls(covariance_type, switching, n_outputs):
    emission = Regression([0, 1, 2], covariance_type=covariance_type, switching=switching)
    for seed in range(3):
        model = EMHMM(2, emission=emission, tol=0, **SETTINGS).fit([table_of(seed, n_outputs)])
        assert (np.diff(model.history_) > -1e-9 * np.abs(model.history_[1:])).all()


def test_states_are_found_and_shared_slopes_are_the_same():
    model = EMHMM(2, emission=Regression([0, 1, 2], switching=[0]), **SETTINGS).fit([table_of()])
    right = (model.predict([table_of()])[0] == STATES).mean()
    assert max(right, 1 - right) > 0.99
    slopes = model.coefficients_
    np.testing.assert_array_equal(slopes[0, 1:], slopes[1, 1:])
    np.testing.assert_allclose(np.sort(slopes[:, 0, 0]), [-1.0, 2.0], atol=0.2)
    assert slopes[0, 1, 0] == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize("emission", [Regression([0, 1, 2]), AutoRegressive(2)])
def test_slopes_that_all_switch_are_the_default(emission):
    every = [0, 1, 2] if isinstance(emission, Regression) else [2, 1]
    table = table_of()
    found = []
    for switching in (None, every):
        own = clone(emission).set_params(switching=switching)
        found.append(VBHMM(2, emission=own, **SETTINGS).fit([table]).history_)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("covariance_type", ["full", "tied"])
def test_shared_lags_are_shared_inputs(covariance_type):
    rng = np.random.default_rng(1)
    x, both = rng.normal(size=(90, 2)).cumsum(axis=0) * 0.3, {"covariance_type": covariance_type}
    init = rng.dirichlet([1.0, 1.0], 90)
    settings = {"max_iter": 8, "tol": 0, "random_state": 0}
    lags = AutoRegressive(2, switching=[2], **both)
    model = EMHMM(2, emission=lags, init=[init], **settings).fit([x])
    wide = np.hstack([np.roll(x, 1, axis=0), np.roll(x, 2, axis=0), x])
    wide[:2] = np.nan
    inputs = Regression([0, 1, 2, 3], switching=[2, 3], **both)
    other = EMHMM(2, emission=inputs, init=[init], **settings).fit([wide])
    np.testing.assert_allclose(model.history_, other.history_, rtol=1e-9)
    np.testing.assert_allclose(model.coefficients_, other.coefficients_, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(model.coefficients_[0, :2], model.coefficients_[1, :2])
    assert np.abs(np.diff(model.coefficients_[:, 2:], axis=0)).min() > 1e-3
    drawn = model.predict_next([x], 2, random_state=0)
    assert drawn.mean.shape == (1, 2, 2)
    assert model.sample(1, 5, random_state=0)[0].shape == (1, 5, 2)


# Against statsmodels


def by_statsmodels(table, switching, has_variances):
    markov = pytest.importorskip("statsmodels.tsa.regime_switching.markov_regression")
    flags = [i in switching for i in range(3)]
    return markov.MarkovRegression(
        table[:, 3], 2, exog=table[:, :3], switching_exog=flags, switching_variance=has_variances
    )


def as_statsmodels_has_them(model, other):
    """Our parameters in the order of its own."""
    values = {f"p[{k}->0]": model.transmat_[k, 0] for k in range(2)}
    for k in range(2):
        values[f"const[{k}]"] = model.intercepts_[k, 0]
        values[f"sigma2[{k}]"] = values["sigma2"] = model.covariances_.ravel()[
            min(k, model.covariances_.size - 1)
        ]
        for i in range(3):
            values[f"x{i + 1}[{k}]"] = values[f"x{i + 1}"] = model.coefficients_[k, i, 0]
    return np.array([values[name] for name in other.param_names])


def regimes(switching, has_variances):
    """A series whose slopes of these inputs switch, and whose intercepts do."""
    rng, slopes = np.random.default_rng(3), np.array([[1.0, -0.5, 0.3], [1.0, -0.5, 0.3]])
    slopes[1, switching] *= -1.0
    x = rng.normal(size=(len(STATES), 3))
    widths = np.array([0.5, 1.0 if has_variances else 0.5])
    y = (x * slopes[STATES]).sum(axis=1) + 2.0 * STATES + widths[STATES] * rng.normal(size=len(x))
    return np.column_stack([x, y])


@pytest.mark.parametrize("switching", SWITCHING)
@pytest.mark.parametrize("covariance_type", ["full", "tied"])
def test_em_ends_where_statsmodels_ends(switching, covariance_type):
    """Where the gradient of its own likelihood is 0, from as good a start as ours."""
    has_variances = covariance_type == "full"
    table = regimes(switching, has_variances)
    other = by_statsmodels(table, switching, has_variances)
    emission = Regression([0, 1, 2], covariance_type=covariance_type, switching=switching)
    model = EMHMM(2, emission=emission, transitions=Transitions(start="stationary"))
    model.set_params(random_state=0, max_iter=2000, tol=1e-12).fit([table])
    given, log_likelihood = as_statsmodels_has_them(model, other), model.objective_
    assert other.loglike(given) == pytest.approx(log_likelihood, abs=1e-7)
    assert np.abs(other.score(given)).max() < 0.01
    found = other.fit(start_params=given + 0.01, maxiter=500, disp=0)
    assert found.llf == pytest.approx(log_likelihood, abs=1e-5)
    assert model.aic([table]) == pytest.approx(2 * len(given) - 2 * log_likelihood, abs=1e-6)


# What a user asks


@pytest.mark.parametrize(
    "emission", [Regression([0, 1, 2], switching=[0]), AutoRegressive(2, switching=[1])]
)
def test_batches_stores_durations_and_what_is_fixed(emission, tmp_path):
    table = table_of()
    X = [table[:100], table[100:160], table[160:]]
    model = EMHMM(2, emission=emission, **SETTINGS).fit(X)
    stored = EMHMM(2, emission=emission, **SETTINGS).fit(write_numbers(X, tmp_path / "store"))
    np.testing.assert_allclose(stored.history_, model.history_, rtol=1e-9)
    shared = slice(1, 3) if isinstance(emission, Regression) else slice(5, 10)
    lasting = Transitions(durations="poisson")
    models = [EMHMM(2, emission=emission, random_state=0).partial_fit(X).partial_fit(X[::-1])]
    models.append(EMHMM(2, emission=emission, transitions=lasting, **SETTINGS).fit(X))
    # Parameters that stay are no matter of conjugate priors.
    known = {"init": model, "fixed": {"emissions": True}}
    models.append(CVBHMM(2, emission=emission, max_iter=5, random_state=0, **known).fit(X))
    for one in models:
        assert np.isfinite(one.score(X))
        np.testing.assert_array_equal(*one.coefficients_[:, shared])
    np.testing.assert_array_equal(models[2].coefficients_, model.coefficients_)


def test_inputs_have_names():
    table = table_of()
    frame = pd.DataFrame(table, columns=["a", "b", "c", "y", "z"])
    named = Regression(["a", "b", "c"], ["y", "z"], switching=["a"])
    model = EMHMM(2, emission=named, **SETTINGS).fit([frame.assign(note="unread")])
    numbered = Regression([0, 1, 2], switching=[0])
    plain = EMHMM(2, emission=numbered, **SETTINGS).fit([table])
    np.testing.assert_array_equal(model.coefficients_, plain.coefficients_)
    with pytest.raises(InvalidParameterError, match="switching names the column 'd'"):
        EMHMM(2, emission=Regression(["a"], ["y"], switching=["d"])).fit([frame])
    counts = np.column_stack([table, np.random.default_rng(0).poisson(3.0, len(table))])
    parts = Columns([(Poisson(), [4]), (Regression([0, 2, 1], switching=[2]), [0, 1, 2, 3])])
    mixed = EMHMM(2, emission=parts, **SETTINGS).fit([counts[:, [0, 1, 2, 3, 5]]])
    slopes = mixed.parts_[1]["coefficients_"]
    np.testing.assert_array_equal(slopes[0, [0, 2]], slopes[1, [0, 2]])
    assert slopes[0, 1, 0] != slopes[1, 1, 0]


def test_models_are_copied_relabelled_and_made_of_their_parameters():
    table = table_of()
    emission = Regression([0, 1, 2], switching=[0])
    model = EMHMM(2, emission=emission, **SETTINGS).fit([table])
    score = pytest.approx(model.score([table]), rel=1e-12)
    assert pickle.loads(pickle.dumps(model)).score([table]) == score
    assert EMHMM.from_json(model.to_json()).score([table]) == score
    other = relabel(model, [1, 0])
    assert other.score([table]) == score
    np.testing.assert_array_equal(other.coefficients_, model.coefficients_[::-1])
    names = "startprob", "transmat", "intercepts", "coefficients", "covariances"
    given = {name: getattr(model, f"{name}_") for name in names}
    made = EMHMM.from_parameters(**given, emission=emission)
    assert made.score([table]) == score
    again = EMHMM(2, emission=emission, init=HMMParameters.by_name(given), max_iter=3, tol=0)
    assert again.fit([table]).objective_ >= model.objective_ - 1e-6
    given["coefficients"] = np.array(given["coefficients"]) * [[[1.0]], [[1.1]]]
    with pytest.raises(InvalidParameterError, match="do not switch are the same in all states"):
        EMHMM.from_parameters(**given, emission=emission)


@pytest.mark.parametrize("kind", [VBHMM, CVBHMM, GibbsHMM])
@pytest.mark.parametrize("emission", [Regression([0, 1, 2], switching=[1]), AutoRegressive(2)])
def test_other_algorithms_are_refused(kind, emission):
    emission = clone(emission).set_params(switching=[1])
    with pytest.raises(InvalidParameterError, match=r"learned by EM alone.*take EMHMM"):
        kind(2, emission=emission, random_state=0).fit([table_of()])


@pytest.mark.parametrize(
    ("emission", "told"),
    [
        (Regression([0, 1], [2, 3, 4], switching=[2]), r"some of \[0, 1\], got \[2\]"),
        (Regression([0, 1], [2, 3, 4], switching=[0, 0]), "each once"),
        (Regression([0, 1], [2, 3, 4], switching=[True, False]), "switching lists the inputs"),
        (Regression([0, 1], [2, 3, 4], switching=["a"]), "switching names the column 'a'"),
        (AutoRegressive(2, switching=[0]), r"some of \[1, 2\], got \[0\]"),
        (AutoRegressive(2, switching=3), r"some of \[1, 2\], got 3"),
        (AutoRegressive(2, switching="lag"), r"some of \[1, 2\], got 'lag'"),
        (AutoRegressive(2, switching=["a"]), r"some of \[1, 2\], got \['a'\]"),
        (Regression([0, 1], switching=[0], coefficient_precision_prior=0.1), "give no prior"),
    ],
)
def test_settings_out_of_range_are_refused(emission, told):
    with pytest.raises(InvalidParameterError, match=told):
        EMHMM(2, emission=emission).fit([table_of()])


@pytest.mark.parametrize("switching", [[], [0], [2]])
def test_inputs_that_say_the_same_or_nothing_cost_nothing(switching):
    table = table_of()[:, [0, 0, 1, 3]]
    table[:, 2] = 7.0
    emission = Regression([0, 1, 2], switching=switching)
    model = EMHMM(2, emission=emission, tol=0, **SETTINGS).fit([table])
    assert np.isfinite(model.coefficients_).all()
    assert (np.diff(model.history_) > -1e-9 * np.abs(model.history_[1:])).all()
