"""The contract of all estimators, for models of numbers: every algorithm with every emission."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from interruption import Interrupt, callbacks, watched
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, GibbsHMM, Samples
from sklearn_cvb.emissions import (
    AutoRegressive,
    Bernoulli,
    Categorical,
    Columns,
    Gaussian,
    Poisson,
    Regression,
)

KINDS = [EMHMM, VBHMM, CVBHMM, GibbsHMM]
RNG = np.random.default_rng(0)
COUNTS = [RNG.poisson(3.0 * (np.arange(n) // 3 % 2) + 0.3, (2, n)).T for n in (9, 5, 12, 6)]
ONES = [np.minimum(x, 1) for x in COUNTS]
REAL = [x + RNG.normal(size=x.shape) for x in COUNTS]
CASES = {
    "full": (Gaussian(), REAL),
    "tied": (Gaussian("tied"), REAL),
    "diag": (Gaussian("diag"), REAL),
    "spherical": (Gaussian("spherical"), REAL),
    "poisson": ("poisson", COUNTS),
    "bernoulli": ("bernoulli", ONES),
    "regression": (Regression([1]), REAL),
    "autoregression": (AutoRegressive(), REAL),
    "tied regression": (Regression([1], covariance_type="tied"), REAL),
    "tied autoregression": (AutoRegressive(covariance_type="tied"), REAL),
    "columns": (Columns([(Gaussian("diag"), [0]), (Categorical(), [1])]), COUNTS),
}
ALL = pytest.mark.parametrize("kind", KINDS)
EVERY = pytest.mark.parametrize("name", CASES)


def quick(kind, emission="gaussian", **keywords):
    settings = {"max_iter": 6, "random_state": 0}
    settings |= {"samples": Samples(thin=1)} if kind is GibbsHMM else {"tol": 0.0}
    return kind(2, emission=emission, **settings | keywords)


def arrays_of(value):
    """All arrays in nested lists and dicts."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [array for part in value for array in arrays_of(part)]
    return [value]


def learned(model):
    """Whatever the emissions have learned, and the chain."""
    names = ("means_", "covariances_", "rates_", "probabilities_", "coefficients_", "parts_")
    found = [vars(model)[name] for name in names if name in vars(model)]
    assert found
    return [model.startprob_, model.transmat_, model.history_, *arrays_of(found)]


def assert_same(one, other):
    for left, right in zip(learned(one), learned(other), strict=True):
        assert np.array_equal(left, right)


@pytest.mark.many(usual=12)
@parametrize_with_checks(
    [kind(max_iter=8, emission="gaussian") for kind in KINDS]
    + [CVBHMM(max_iter=8, emission=Gaussian("diag"))]
    + [VBHMM(max_iter=8, emission=AutoRegressive())],
    expected_failed_checks=None,
)
def test_scikit_learn_check(estimator, check):
    check(estimator)


@pytest.mark.many(usual=3)
@ALL
@EVERY
def test_clone_pickle_and_seed(kind, name):
    emission, X = CASES[name]
    model = quick(kind, emission, warm_start=True).fit(X)
    copies = [clone(model).fit(X), pickle.loads(pickle.dumps(model))]
    for copy in copies:
        assert_same(model, copy)
        assert np.array_equal(model.score_samples(X), copy.score_samples(X))
        for left, right in zip(model.predict(X), copy.predict(X), strict=True):
            assert np.array_equal(left, right)
    assert [len(states) for states in model.labels_] == [9, 5, 12, 6]
    assert all(np.isfinite(array).all() for array in learned(model))
    proba = model.predict_proba(X)
    assert [table.shape for table in proba] == [(9, 2), (5, 2), (12, 2), (6, 2)]
    np.testing.assert_allclose(proba[0].sum(axis=1), 1.0)
    inputs = np.ones((4, 2, 1)) if name in ("regression", "tied regression") else None
    if inputs is None:
        assert model.sample(2, 3, 0)[0].shape == (2, 3, 2)
    forecast = model.predict_next(X, 2, random_state=0, inputs=inputs)
    assert forecast.mean.shape == (4, 2, 2)
    assert (forecast.lower <= forecast.upper).all()


@pytest.mark.many(usual=2)
@ALL
def test_warm_start_goes_on(kind, tmp_path):
    model = quick(kind, Gaussian("diag"), warm_start=True).fit(REAL)
    joblib.dump(model, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    model.fit(REAL)
    assert_same(model, mapped.fit(REAL))
    whole = quick(kind, Gaussian("diag"), max_iter=12).fit(REAL)
    assert np.array_equal(model.history_, whole.history_[6:])
    # Another emission begins anew.
    other = model.set_params(emission__covariance_type="full").fit(REAL)
    assert_same(other, quick(kind).fit(REAL))


@pytest.mark.many(usual=2)
@ALL
def test_ctrl_c_keeps_what_there_is(kind):
    model = watched(quick(kind, warm_start=True, max_iter=20), Interrupt(3))
    with pytest.raises(KeyboardInterrupt):
        model.fit(REAL)
    assert len(model.history_) == 3
    model.set_callbacks().fit(REAL)
    whole = quick(kind, max_iter=23).fit(REAL)
    if kind is not GibbsHMM:
        np.testing.assert_allclose(model.history_, whole.history_[3:], rtol=1e-9)


@ALL
def test_callbacks_see_every_sweep(kind):
    monitor = callbacks().ScoringMonitor(scoring=lambda model, X, y: model.score(X))
    model = watched(quick(kind), monitor).fit(REAL)
    assert len(model.history_) == 6
    logs = monitor.get_logs(select="most_recent")
    assert len(logs.data if hasattr(logs, "data") else logs) >= 6


@pytest.mark.many(usual=2)
@ALL
def test_threads_change_no_bit(kind):
    one, two = (quick(kind, init="token", n_init=3, n_jobs=n).fit(REAL) for n in (1, 2))
    assert len(set(one.restart_objectives_)) == 3
    assert one.objective_ == one.restart_objectives_.max()
    assert_same(one, two)


@ALL
def test_transform_and_its_names(kind):
    model = quick(kind).set_output(transform="pandas").fit(REAL)
    frame = model.transform(REAL)
    prefix = kind.__name__.lower()
    assert list(frame.columns) == [f"{prefix}0", f"{prefix}1"]
    assert frame.columns.tolist() == model.get_feature_names_out().tolist()
    means = [table.mean(axis=0) for table in model.predict_proba(REAL)]
    np.testing.assert_allclose(frame.to_numpy(), means)


@pytest.mark.long
@ALL
def test_searches_over_covariances_and_states(kind):
    grid = {"emission__covariance_type": ["full", "diag"], "n_components": [1, 2]}
    search = GridSearchCV(quick(kind, Gaussian()), grid, cv=2, error_score="raise").fit(REAL)
    scores = search.cv_results_["mean_test_score"]
    assert len(set(scores)) == 4
    for i, setting in enumerate(search.cv_results_["params"]):
        model = clone(search.estimator).set_params(**setting)
        assert scores[i] == np.mean(
            [model.fit(REAL[a]).score(REAL[b]) for a, b in (HALVES, HALVES[::-1])]
        )
    assert search.best_params_ == search.cv_results_["params"][scores.argmax()]
    assert search.predict(REAL).shape == (4,)
    parallel = GridSearchCV(quick(kind, Gaussian()), grid, cv=2, n_jobs=2).fit(REAL)
    assert np.array_equal(parallel.cv_results_["mean_test_score"], scores)


HALVES = (slice(2, 4), slice(0, 2))


def test_predictions_by_cross_validation():
    model = quick(VBHMM)
    predicted = cross_val_predict(model, REAL, cv=2)
    for a, b in (HALVES, HALVES[::-1]):
        expected = clone(model).fit(REAL[a]).predict(REAL[b])
        for left, right in zip(predicted[b], expected, strict=True):
            assert np.array_equal(left, right)
    assert len(cross_val_score(model, REAL, cv=4)) == 4


def _standardised(X):
    steps = np.concatenate(X)
    return [(x - steps.mean(axis=0)) / steps.std(axis=0) for x in X]


def test_pipelines_of_steps_and_of_rows():
    model = make_pipeline(FunctionTransformer(_standardised), quick(VBHMM)).fit(REAL)
    alone = quick(VBHMM).fit(_standardised(REAL))
    assert model.score(REAL) == alone.score(_standardised(REAL))
    assert np.array_equal(model.transform(REAL), alone.transform(_standardised(REAL)))


@pytest.mark.many(usual=3)
@EVERY
def test_parameters_of_the_emission_are_reachable(name):
    emission, X = CASES[name]
    model = quick(EMHMM, emission)
    deep = model.get_params(deep=True)
    nested = [key for key in deep if key.startswith("emission__")]
    assert bool(nested) == (not isinstance(emission, str))
    assert clone(model).get_params().keys() == deep.keys()
    frames = [pd.DataFrame(x, columns=["a", "b"]) for x in X]
    assert_same(model.fit(X), clone(model).fit(frames))


def test_a_second_fit_forgets_the_first():
    model = quick(VBHMM, "poisson").fit(COUNTS)
    model.set_params(emission="gaussian").fit(REAL)
    fresh = quick(VBHMM).fit(REAL)
    assert_same(model, fresh)
    assert vars(model).keys() == vars(fresh).keys()
    words = [["a", "b", "a"], ["b", "a"]]
    for emission, X in (("categorical", words), ("gaussian", REAL), ("categorical", words)):
        model.set_params(emission=emission).fit(X)
        assert vars(model).keys() == vars(quick(VBHMM, emission).fit(X)).keys()


def test_emissions_with_settings_are_no_others():
    """A prior that is set is used, and equals the default where it is that."""
    given = Poisson(shape_prior=1.0, rate_prior=1.0 / np.concatenate(COUNTS)[:, 0].mean())
    first = [x[:, :1] for x in COUNTS]
    for one, other in ((given, Poisson()), (Bernoulli(ones_prior=1.0), Bernoulli())):
        X = first if isinstance(one, Poisson) else ONES
        fits = [quick(VBHMM, emission).fit(X) for emission in (one, other)]
        np.testing.assert_allclose(fits[0].history_, fits[1].history_)
