"""Scikit-learn estimators as emissions: against all paths, a plain EM, and published figures."""

import os
import pickle
from itertools import pairwise, permutations, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    TweedieRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks.inputs import choices
from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    Checkpoint,
    Durations,
    GibbsHMM,
    HMMParameters,
    Transitions,
    write_numbers,
)
from sklearn_cvb.emissions import Columns, Estimator, Gaussian, Mixture
from sklearn_cvb.metrics import relabel

LENGTHS = [5, 3, 1, 4]
STATES = np.repeat([0, 1, 0, 1], [40, 50, 60, 50])


class NearestMean(RegressorMixin, BaseEstimator):
    """A user's own regressor: one mean on either side of 0."""

    def fit(self, X, y, sample_weight=None):
        side = X[:, 0] > 0
        self.means_ = [np.average(y[side == s], weights=sample_weight[side == s]) for s in (0, 1)]
        return self

    def predict(self, X):
        return np.where(X[:, 0] > 0, self.means_[1], self.means_[0])


def outputs_of(law, x, rng, state):
    """Outputs that depend on x in another way in each state."""
    slope = np.where(state, 2.0, -1.5)
    if law == "classes":
        return (rng.random(len(x)) < 1 / (1 + np.exp(-2 * slope * x))) * 1.0
    if law == "poisson":
        return rng.poisson(np.exp(0.7 * slope * x + 1.0)) * 1.0
    if law == "gamma":
        return rng.gamma(3.0, np.exp(0.7 * slope * x) / 3.0)
    return slope * x + 0.3 * rng.normal(size=len(x))


CASES = {
    "logistic": (LogisticRegression(), "classes"),
    "pipeline": (make_pipeline(StandardScaler(), LogisticRegression(C=0.5)), "classes"),
    "boosted classes": (
        HistGradientBoostingClassifier(max_iter=5, max_depth=2, min_samples_leaf=5),
        "classes",
    ),
    "tree of classes": (DecisionTreeClassifier(max_depth=2, min_samples_leaf=10), "classes"),
    "lines": (LinearRegression(), "normal"),
    "ridge": (Ridge(10.0), "normal"),
    "tree": (DecisionTreeRegressor(max_depth=2, min_samples_leaf=10), "normal"),
    "own": (NearestMean(), "normal"),
    "poisson": (PoissonRegressor(alpha=0.0, max_iter=500, tol=1e-8), "poisson"),
    "boosted counts": (
        HistGradientBoostingRegressor(loss="poisson", max_iter=5, min_samples_leaf=5),
        "poisson",
    ),
    "tweedie": (TweedieRegressor(power=1, alpha=0.1), "poisson"),
    "gamma": (GammaRegressor(alpha=0.01), "gamma"),
}
every_case = pytest.mark.parametrize("name", CASES)


def series(law, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(len(STATES), 2))
    return np.column_stack([x, outputs_of(law, x[:, 0], rng, STATES)])


def fitted(estimator, X, n_states=2, transitions="full", **settings):
    settings = {"random_state": 0, "max_iter": 15, "n_init": 2} | settings
    own = {name: settings.pop(name) for name in ("dispersion", "outputs") if name in settings}
    emission = Estimator(estimator, inputs=[0, 1], **own)
    return EMHMM(n_states, emission=emission, transitions=transitions, **settings).fit(X)


def density(model, law, x, y, k):
    """Log density of an output in a state, in plain words."""
    own = model.estimators_[k]
    if law == "classes":
        return np.log(own.predict_proba([x])[0, list(own.classes_).index(y)])
    mean = own.predict(np.array([x]))[0]
    if law == "poisson":
        return stats.poisson(mean).logpmf(y)
    if law == "gamma":
        shape = 1 / model.dispersions_[k, 0]
        return stats.gamma(shape, scale=mean / shape).logpdf(y)
    return stats.norm(mean, np.sqrt(model.dispersions_[k, 0])).logpdf(y)


def by_enumeration(model, law, sequence, contexts=None):
    """log p(y | x), posteriors and the best path of one sequence, from all its paths."""
    n, k = len(sequence), model.n_components
    logs = np.zeros((n, k))
    for t, row in enumerate(sequence):
        if not np.isnan(row).any():
            logs[t] = [density(model, law, row[:-1], row[-1], j) for j in range(k)]
    paths = np.array(list(product(range(k), repeat=n)))
    tables = model.transmat_ if contexts is not None else model.transmat_[None]
    own = np.zeros(n, int) if contexts is None else contexts
    with np.errstate(divide="ignore"):
        joint = np.log(model.startprob_[paths[:, 0]]) + logs[0, paths[:, 0]]
        for t in range(1, n):
            joint += np.log(tables[own[t], paths[:, t - 1], paths[:, t]]) + logs[t, paths[:, t]]
    total = np.logaddexp.reduce(joint)
    shares = np.exp(joint - total)
    posterior = np.array([[shares[paths[:, t] == j].sum() for j in range(k)] for t in range(n)])
    return total, posterior, paths[joint.argmax()]


@pytest.mark.many(usual=3)
@every_case
@pytest.mark.parametrize("kind", ["plain", "stationary", "contexts"])
def test_likelihoods_posteriors_and_paths_are_those_of_all_paths(name, kind):
    estimator, law = CASES[name]
    table = series(law)
    transitions = Transitions(start="stationary") if kind == "stationary" else Transitions()
    contexts = np.arange(len(table)) // 3 % 2
    given = table
    if kind == "contexts":
        given, transitions = np.column_stack([table, contexts]), Transitions(contexts=3)
    model = fitted(estimator, [given], transitions=transitions)
    begins = np.cumsum([0, *LENGTHS])
    parts = [given[a:b].copy() for a, b in pairwise(begins)]
    parts[0][2, 2] = parts[1][1, 0] = np.nan
    proba, paths = model.predict_proba(parts), model.predict(parts)
    scores = model.score_samples(parts)
    for i, own in enumerate(parts):
        of_step = own[:, 3].astype(int) if kind == "contexts" else None
        total, posterior, path = by_enumeration(model, law, own[:, :3], of_step)
        assert scores[i] == pytest.approx(total, abs=1e-10)
        np.testing.assert_allclose(proba[i], posterior, atol=1e-10)
        assert paths[i].tolist() == path.tolist()


def log_densities(estimators, scales, own):
    """Log densities (n_steps, K) of a sequence of classes or normal outputs."""
    inputs, outputs = own[:, :-1], own[:, -1]
    if scales is None:
        every = np.arange(len(own))
        chances = [one.predict_proba(inputs)[every, outputs.astype(int)] for one in estimators]
        return np.log(np.column_stack(chances))
    pairs = zip(estimators, np.sqrt(scales), strict=True)
    return np.column_stack([stats.norm(one.predict(inputs), s).logpdf(outputs) for one, s in pairs])


def plain_em(start, moves, estimators, scales, X, n_sweeps):
    """The log-likelihood before each sweep of EM, and the estimators of its M-steps."""
    k, found = len(start), []
    for _ in range(n_sweeps):
        posteriors, pairs, first, total = [], np.zeros((k, k)), np.zeros(k), 0.0
        for own in X:
            logs = log_densities(estimators, scales, own)
            alpha, beta = np.empty_like(logs), np.zeros_like(logs)
            alpha[0] = np.log(start) + logs[0]
            for t in range(1, len(own)):
                before = alpha[t - 1][:, None] + np.log(moves)
                alpha[t] = logs[t] + np.logaddexp.reduce(before, axis=0)
            for t in range(len(own) - 2, -1, -1):
                ahead = np.log(moves) + logs[t + 1] + beta[t + 1]
                beta[t] = np.logaddexp.reduce(ahead, axis=1)
            log_z = np.logaddexp.reduce(alpha[-1])
            posteriors.append(np.exp(alpha + beta - log_z))
            first += posteriors[-1][0]
            for t in range(1, len(own)):
                ahead = alpha[t - 1][:, None] + np.log(moves) + logs[t] + beta[t]
                pairs += np.exp(ahead - log_z)
            total += log_z
        found.append((total, estimators))
        weights, table = np.concatenate(posteriors), np.concatenate(X)
        start, moves = first / first.sum(), pairs / pairs.sum(axis=1, keepdims=True)
        inputs, outputs = table[:, :-1], table[:, -1]
        outputs = outputs.astype(int) if scales is None else outputs
        each = zip(estimators, weights.T, strict=True)
        estimators = [clone(one).fit(inputs, outputs, sample_weight=w) for one, w in each]
        if scales is not None:
            each = zip(estimators, weights.T, strict=True)
            squares = [w @ (outputs - one.predict(inputs)) ** 2 for one, w in each]
            scales = np.array(squares) / weights.sum(axis=0)
    return found


@pytest.mark.parametrize("name", ["logistic", "lines"])
def test_sweeps_are_those_of_a_plain_em(name):
    estimator, law = CASES[name]
    if law == "classes":
        estimator = LogisticRegression(solver="newton-cholesky", tol=1e-12)
    table = series(law)
    X, start, moves = (
        [table[:90], table[90:]],
        np.array([0.6, 0.4]),
        np.array([[0.8, 0.2], [0.3, 0.7]]),
    )
    halves = [table[::2], table[1::2, :]]
    halves = [half * np.array([1.0, 1.0, 1.0]) for half in halves]
    of_law = int if law == "classes" else float
    first = [clone(estimator).fit(own[:, :2], own[:, 2].astype(of_law)) for own in halves]
    given = {"estimators": first}
    scales = None
    if law == "normal":
        scales = np.array([1.5, 0.7])
        given["dispersions"] = scales[:, None]
    init = HMMParameters(startprob=start, transmat=moves, emissions=given)
    model = fitted(estimator, X, init=init, max_iter=6, tol=0, n_init=None)
    expected = plain_em(start, moves, first, scales, X, 7)

    def penalty(own):
        return 0.5 * (own.coef_**2).sum() if law == "classes" else 0.0

    objectives = [total - sum(map(penalty, own)) for total, own in expected[1:]]
    np.testing.assert_allclose(model.history_, objectives, rtol=1e-9)
    for own, other in zip(model.estimators_, expected[6][1], strict=True):
        np.testing.assert_allclose(own.coef_, other.coef_, atol=1e-8)


@every_case
def test_the_objective_never_falls_or_the_best_sweep_is_kept(name):
    estimator, law = CASES[name]
    model = fitted(estimator, [series(law)], max_iter=40)
    is_known = name in ("logistic", "pipeline", "lines", "poisson")
    assert model.emission.may_fall == (not is_known)
    assert model.objective_ == pytest.approx(
        model.history_.max(), abs=0 if model.emission.may_fall else 1e-7
    )
    if is_known:
        assert (np.diff(model.history_) > -1e-7).all()
    else:
        # It ended as nothing came any more, or at the last sweep.
        assert len(model.history_) - 1 - model.history_.argmax() in (*range(3), 3)
        assert model.converged_ == (len(model.history_) - 1 - model.history_.argmax() == 3)
        # The transitions are those of one more M-step.
        assert model.score_samples([series(law)]).sum() >= model.objective_ - 1e-9


def test_states_are_found():
    for name in ("logistic", "lines", "own", "poisson", "gamma"):
        estimator, law = CASES[name]
        model = fitted(estimator, [series(law)], n_init=6, max_iter=100)
        right = (model.labels_[0] == STATES).mean()
        assert max(right, 1 - right) > 0.9, name


def test_six_restarts_alternate_and_many_begin_at_a_worse_optimum():
    model = fitted(LogisticRegression(), [series("classes")], n_init=None)
    assert len(model.restart_objectives_) == 6
    assert model.objective_ == max(model.restart_objectives_)


SERIES = Path(os.environ.get("SKLEARN_CVB_DATA", "")) / "reports" / "series.npz"


def published_series():
    if not SERIES.is_file():
        pytest.skip("needs the series of SKLEARN_CVB_DATA")
    return np.load(SERIES)


def test_regimes_of_the_federal_funds_rate_are_those_of_stata():
    """Markov-switching regressions of Stata's manual, as statsmodels' tests have them."""
    found, rate = {}, published_series()["fedfunds"]
    for name, inputs, y in (
        ("constant", np.ones((len(rate), 1)), rate),
        ("lag", np.column_stack([np.ones(len(rate) - 1), rate[:-1]]), rate[1:]),
    ):
        emission = Estimator(
            LinearRegression(fit_intercept=False), list(range(inputs.shape[1])), dispersion="tied"
        )
        model = EMHMM(2, emission=emission, transitions=Transitions(start="stationary"))
        model.set_params(random_state=0, tol=1e-7, max_iter=1000)
        found[name] = model.fit([np.column_stack([inputs, y])]).objective_
    assert found == pytest.approx({"constant": -508.63592, "lag": -264.71069}, abs=1e-4)


def test_regimes_of_returns_have_variances_of_their_own():
    y = published_series()["areturns"]
    emission = Estimator(LinearRegression(), [0])
    model = EMHMM(2, emission=emission, transitions=Transitions(start="stationary"))
    model.set_params(random_state=0, tol=1e-7, max_iter=1000)
    model.fit([np.column_stack([y[:-1], y[1:]])])
    assert model.objective_ == pytest.approx(-745.7977, abs=1e-4)
    order = np.argsort(model.dispersions_[:, 0])
    coefficients = [[own.intercept_, own.coef_[0]] for own in model.estimators_]
    np.testing.assert_allclose(
        np.array(coefficients)[order], [[0.7641424, 0.0790744], [1.972771, 0.527953]], atol=1e-4
    )
    np.testing.assert_allclose(
        np.sqrt(model.dispersions_[order, 0]), [0.5895792, 1.605333], atol=1e-4
    )


@pytest.mark.long
def test_strategies_of_choices_are_found():
    """The same optimum as dynamax's LogisticRegressionHMM: -1385.038."""
    X, states = choices()
    plain = LogisticRegression(C=1e6, fit_intercept=False, tol=1e-6, max_iter=500)
    emission = Estimator(plain, inputs=[0, 1, 2, 3])
    model = EMHMM(3, emission=emission, random_state=0, tol=1e-5, max_iter=400).fit(X)
    assert model.score_samples(X).sum() == pytest.approx(-1385.038, abs=0.01)
    path = np.concatenate(list(model.predict_proba(X))).argmax(axis=1)
    names = max(permutations(range(3)), key=lambda p: (np.array(p)[path] == states).mean())
    assert (np.array(names)[path] == states).mean() == pytest.approx(0.942, abs=0.002)
    weights = np.array([model.estimators_[k].coef_[0] for k in np.argsort(names)])
    expected = [[6.10, 0.91, 0.31, -0.03], [2.84, -4.13, 0.35, 0.34], [2.07, 2.59, 1.16, -0.21]]
    np.testing.assert_allclose(weights, expected, atol=0.02)


# Around a fit


def test_forecasts_take_the_inputs_of_the_next_steps():
    table = series("normal")
    model = fitted(LinearRegression(), [table])
    inputs = np.array([[[0.5, 0.1], [-1.0, 0.3]]])
    forecast = model.predict_next([table], 2, inputs=inputs, n_draws=4000, random_state=0)
    chances = model.filter_proba([table])[0][-1] @ model.transmat_
    means = np.column_stack([own.predict(inputs[0]) for own in model.estimators_])
    assert forecast.mean[0, 0, 2] == pytest.approx(chances @ means[0], abs=1e-10)
    assert forecast.mean[0, 1, 2] == pytest.approx(chances @ model.transmat_ @ means[1], abs=1e-10)
    assert forecast.samples[0, :, 1, 2].mean() == pytest.approx(forecast.mean[0, 1, 2], abs=0.1)
    with pytest.raises(ValueError, match="give those of the next steps"):
        model.predict_next([table], 2)
    with pytest.raises(ValueError, match="not what inputs there are"):
        model.sample(1, 3)


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("name", ["logistic", "lines", "poisson", "gamma"])
def test_residuals_are_normal(name):
    estimator, law = CASES[name]
    rng, n = np.random.default_rng(1), 3000
    state, x = (np.arange(n) // 50) % 2, rng.normal(size=(n, 2))
    table = np.column_stack([x, outputs_of(law, x[:, 0], rng, state)])
    model = fitted(estimator, [table], n_init=4, max_iter=60)
    residuals = model.pseudo_residuals([table], random_state=0)[0]
    assert np.isnan(residuals[:, :2]).all()
    assert stats.kstest(residuals[:, 2], "norm").pvalue > 1e-3


def test_next_classes_are_drawn_as_they_are_probable():
    table = series("classes")
    model = fitted(LogisticRegression(), [table])
    inputs = np.array([[[0.4, 0.0]]])
    forecast = model.predict_next([table], 1, inputs=inputs, n_draws=4000, random_state=0)
    chances = model.filter_proba([table])[0][-1] @ model.transmat_
    of_one = np.array([own.predict_proba(inputs[0])[0, 1] for own in model.estimators_])
    assert forecast.mean[0, 0, 2] == pytest.approx(chances @ of_one, abs=1e-12)
    assert forecast.samples[0, :, 0, 2].mean() == pytest.approx(chances @ of_one, abs=0.03)


def test_labels_of_classes_are_those_of_frames():
    table = series("classes")
    frame = pd.DataFrame(table, columns=["x", "other", "choice"])
    frame["choice"] = np.where(table[:, 2] == 1, "right", "left")
    emission = Estimator(LogisticRegression(), inputs=["x", "other"], outputs=["choice"])
    settings = {"random_state": 0, "max_iter": 15, "n_init": 2}
    model = EMHMM(2, emission=emission, **settings).fit([frame.assign(note="unread")])
    plain = fitted(LogisticRegression(), [table])
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-12)
    assert model.categories_["choice"].tolist() == ["left", "right"]


def test_known_states_are_kept():
    table, y = series("normal"), np.where(np.arange(len(STATES)) % 4 == 0, STATES, -1)
    model = fitted(LinearRegression(), [table], max_iter=30)
    told = EMHMM(2, emission=model.emission, random_state=0, supervision="y").fit([table], [y])
    assert (told.labels_[0][y >= 0] == y[y >= 0]).all()
    assert (told.labels_[0] == STATES).mean() > 0.95
    assert model.score([table]) >= told.score([table]) - 0.01


def test_models_are_pickled_cloned_relabelled_and_go_on():
    table = series("classes")
    model = fitted(LogisticRegression(), [table], max_iter=6, tol=0, warm_start=True)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba([table])[0], model.predict_proba([table])[0])
    other = relabel(model, [1, 0])
    assert other.estimators_[0] is model.estimators_[1]
    assert other.score([table]) == pytest.approx(model.score([table]), rel=1e-12)
    whole = clone(model).set_params(max_iter=12).fit([table])
    model.fit([table])
    np.testing.assert_array_equal(model.history_, whole.history_[6:])


def test_warm_linear_models_end_where_cold_ones_do():
    table = series("classes")
    tight = {"tol": 1e-10, "max_iter": 1000}
    cold = fitted(LogisticRegression(**tight), [table], max_iter=25, tol=0, n_init=1)
    warm = fitted(
        LogisticRegression(warm_start=True, **tight), [table], max_iter=25, tol=0, n_init=1
    )
    np.testing.assert_allclose(warm.history_, cold.history_, rtol=1e-7)


def test_settings_of_the_estimator_are_searched():
    X = [series("classes", seed) for seed in range(4)]
    model = EMHMM(2, emission=Estimator(LogisticRegression(), inputs=[0, 1]), max_iter=5, n_init=1)
    search = GridSearchCV(model, {"emission__estimator__C": [1e-4, 1.0]}, cv=2).fit(X)
    assert search.best_params_ == {"emission__estimator__C": 1.0}
    assert search.best_estimator_.estimators_[0].C == 1.0


def test_given_estimators_make_a_model_and_may_stay():
    table = series("normal")
    lines = [LinearRegression().fit(table[k == STATES, :2], table[k == STATES, 2]) for k in (0, 1)]
    given = {"estimators": lines, "dispersions": [[0.09], [0.09]]}
    tables = {"startprob": [0.5, 0.5], "transmat": [[0.98, 0.02], [0.02, 0.98]]}
    emission = Estimator(LinearRegression(), inputs=[0, 1])
    model = EMHMM.from_parameters(**tables, emission=emission, emissions=given)
    total, posterior, _ = by_enumeration(model, "normal", table[36:44])
    assert model.score_samples([table[36:44]])[0] == pytest.approx(total, abs=1e-10)
    np.testing.assert_allclose(model.predict_proba([table[36:44]])[0], posterior, atol=1e-10)
    init = HMMParameters(**tables, emissions=given)
    kept = EMHMM(2, emission=emission, init=init, fixed={"emissions": True}).fit([table])
    assert kept.estimators_ == lines
    learned = EMHMM(2, emission=emission, init=HMMParameters(**tables), random_state=0)
    assert learned.fit([table]).score([table]) >= kept.score([table]) - 1e-6


def test_parameters_of_linear_models_are_counted():
    table = series("classes")
    model = fitted(LogisticRegression(), [table])
    # One start, a transition a state, two slopes and an intercept a state.
    n = 1 + 2 + 2 * 3
    total = model.score_samples([table]).sum()
    assert model.bic([table]) == pytest.approx(n * np.log(len(table)) - 2 * total)
    lines = fitted(LinearRegression(), [series("normal")], dispersion="tied")
    total = lines.score_samples([series("normal")]).sum()
    assert lines.aic([series("normal")]) == pytest.approx(2 * (n + 1) - 2 * total)
    trees = fitted(CASES["tree"][0], [series("normal")])
    with pytest.raises(ValueError, match="compare models by held-out score"):
        trees.bic([series("normal")])


def test_estimators_are_not_in_checkpoints_and_that_is_told(tmp_path):
    checkpoint = Checkpoint(tmp_path, every=1)
    with pytest.warns(UserWarning, match="LogisticRegression cannot be saved; the fit goes on"):
        fitted(LogisticRegression(), [series("classes")], checkpoint=checkpoint)


# What is refused

REFUSED = {
    "no weights": (KNeighborsClassifier(), {}, "takes no sample_weight"),
    "no chances": (RidgeClassifier(), {}, "has no predict_proba"),
    "a power": (TweedieRegressor(power=1.5), {}, "no density in closed form"),
    "dispersion": (LinearRegression(), {"dispersion": "shared"}, "dispersion must be"),
    "durations": (
        LinearRegression(),
        {"transitions": Transitions(durations=Durations("poisson", longest=9))},
        "durations",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_told(name):
    estimator, settings, told = REFUSED[name]
    law = "classes" if hasattr(estimator, "classes_") or "Class" in type(estimator).__name__ else ""
    with pytest.raises(ValueError, match=told):
        fitted(estimator, [series(law)], **settings)


@pytest.mark.parametrize("kind", [VBHMM, CVBHMM, GibbsHMM])
def test_only_em_learns_estimators(kind):
    model = kind(2, emission=Estimator(LinearRegression(), inputs=[0, 1]), random_state=0)
    with pytest.raises(ValueError, match="take EMHMM"):
        model.fit([series("normal")])


def test_where_sums_are_asked_for_estimators_are_refused(tmp_path):
    table = series("normal")
    lines = Estimator(LinearRegression(), inputs=[0, 1])
    mixed = Columns([(Estimator(LinearRegression(), inputs=[0]), [0, 1]), (Gaussian(), [2])])
    with pytest.raises(ValueError, match="Columns"):
        EMHMM(2, emission=mixed).fit([table])
    with pytest.raises(ValueError, match="cannot be regressions"):
        EMHMM(2, emission=Mixture(lines)).fit([table])
    with pytest.raises(ValueError, match="stores"):
        EMHMM(2, emission=lines).fit(write_numbers([table], tmp_path / "store"))
    model = fitted(LinearRegression(), [table])
    with pytest.raises(ValueError, match="partial_fit"):
        model.partial_fit([table])
    with pytest.raises(TypeError, match="pickle"):
        model.to_json()


def test_outputs_outside_a_law_are_named():
    table = series("poisson")
    table[7, 2] = -1.0
    with pytest.raises(ValueError, match="whole numbers from 0 on, got -1"):
        fitted(PoissonRegressor(), [table])


def test_nothing_to_learn_from_is_told():
    table = series("normal")
    table[:, 2] = np.nan
    with pytest.raises(ValueError, match="no step of X has all inputs and outputs"):
        fitted(LinearRegression(), [table])
