"""hmmlearn's classes over our engines: its numbers where it is there, exact ones in any case."""

import inspect
import logging
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm, poisson
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import sklearn_cvb
from benchmarks.enumeration import brute
from sklearn_cvb import EMHMM, VBHMM, HMMParameters, Symbols, split_by_lengths
from sklearn_cvb.hmmlearn import base, hmm, vhmm

KINDS = ("spherical", "diag", "full", "tied")
LENGTHS = [40, 1, 25, 60]
START = np.array([0.5, 0.3, 0.2])
STEPS = np.array([[0.7, 0.2, 0.1], [0.3, 0.6, 0.1], [0.2, 0.3, 0.5]])
MEANS = np.array([[-1.0, 0.5], [1.0, 0.0], [3.0, 2.0]])
RATES = np.array([[1.0, 7.0], [4.0, 2.0], [9.0, 0.5]])
TABLE = np.array([[0.5, 0.3, 0.1, 0.1], [0.1, 0.2, 0.3, 0.4], [0.25, 0.15, 0.35, 0.25]])

CASES = {
    "symbols": ("CategoricalHMM", {"emissionprob_": TABLE}),
    "counts": ("PoissonHMM", {"lambdas_": RATES}),
    **{kind: ("GaussianHMM", {"means_": MEANS, "covars_": None}) for kind in KINDS},
}


def covariances(kind, n_columns=2):
    """Some, in the shape of their type."""
    matrix = np.eye(n_columns) + 0.3
    widths = np.array([0.8, 1.0, 1.5])
    return {
        "spherical": widths,
        "diag": np.outer(widths, np.arange(1, n_columns + 1)),
        "full": widths[:, None, None] * matrix,
        "tied": matrix,
    }[kind]


def data(case, seed=0):
    """Sequences, one after the other."""
    rng = np.random.default_rng(seed)
    states = rng.integers(0, 3, sum(LENGTHS))
    if case == "symbols":
        return np.array([[rng.choice(4, p=TABLE[state])] for state in states])
    if case == "counts":
        return rng.poisson(RATES[states])
    return MEANS[states] + rng.normal(size=(len(states), 2))


def made(case, module=hmm, **settings):
    """A model with these parameters, which a fit begins with."""
    name, tables = CASES[case]
    given = {} if case in ("symbols", "counts") else {"covariance_type": case}
    model = getattr(module, name)(3, **given, **{"init_params": "", **settings})
    model.startprob_, model.transmat_ = START, STEPS
    for attribute, table in tables.items():
        setattr(model, attribute, covariances(case) if table is None else table)
    return model


def densities(case, model, X):
    """Of each step under each state: (n_steps, K)."""
    if case == "symbols":
        return model.emissionprob_[:, X[:, 0]].T
    if case == "counts":
        return np.stack([poisson.pmf(X, rates).prod(axis=1) for rates in model.lambdas_], axis=1)
    each = zip(model.means_, model.covars_, strict=True)
    return np.stack([multivariate_normal(*parameters).pdf(X) for parameters in each], axis=1)


def plain_pass(start, steps, density):
    """log p(x), p(z_t | x) and expected steps of one sequence, in a few lines."""
    n = len(density)
    forward, backward = [start * density[0]], [np.ones(len(start))]
    for t in range(1, n):
        forward.append(forward[-1] @ steps * density[t])
        backward.append(steps @ (density[n - t] * backward[-1]))
    forward, backward = np.array(forward), np.array(backward[::-1])
    total = forward[-1].sum()
    pairs = [
        np.outer(forward[t], density[t + 1] * backward[t + 1]) * steps / total for t in range(n - 1)
    ]
    return np.log(total), forward * backward / total, sum(pairs, np.zeros_like(steps))


def plain_counts(case, model, X):
    """log p(X), posteriors of all steps, and counts of starts and steps."""
    parts = np.split(densities(case, model, X), np.cumsum(LENGTHS)[:-1])
    found = [plain_pass(model.startprob_, model.transmat_, part) for part in parts]
    starts = sum(posterior[0] for _, posterior, _ in found)
    log_z, posteriors, pairs = zip(*found, strict=True)
    return sum(log_z), np.concatenate(posteriors), starts, sum(pairs)


# Without hmmlearn


@pytest.mark.parametrize("case", CASES)
def test_a_step_is_that_of_a_plain_forward_backward_pass(case):
    X, model = data(case), made(case, n_iter=1)
    before = SimpleNamespace(**{name: getattr(model, name) for name in _shown(case)})
    log_z, q, starts, pairs = plain_counts(case, before, X)
    assert model.score(X, LENGTHS) == pytest.approx(log_z)
    np.testing.assert_allclose(model.predict_proba(X, LENGTHS), q, atol=1e-10)
    model.fit(X, LENGTHS)
    assert list(model.monitor_.history) == pytest.approx([log_z])
    np.testing.assert_allclose(model.startprob_, starts / starts.sum(), atol=1e-10)
    np.testing.assert_allclose(model.transmat_, pairs / pairs.sum(axis=1, keepdims=True), atol=1e-9)
    n = q.sum(axis=0)[:, None]
    if case == "symbols":
        counts = np.stack([q[X[:, 0] == word].sum(axis=0) for word in range(4)], axis=1)
        np.testing.assert_allclose(model.emissionprob_, counts / n, atol=1e-10)
    elif case == "counts":
        np.testing.assert_allclose(model.lambdas_, q.T @ X / n, atol=1e-9)
    else:
        means = q.T @ X / n
        np.testing.assert_allclose(model.means_, means, atol=1e-9)
        np.testing.assert_allclose(model.covars_, _default_step(case, X, q, means), atol=1e-9)


def _shown(case):
    own = {"symbols": ["emissionprob_"], "counts": ["lambdas_"]}.get(case, ["means_", "covars_"])
    return ["startprob_", "transmat_", *own]


def _shown_alike(case):
    """Without covariances of "spherical", of which hmmlearn shows one for each column, too."""
    return [name for name in _shown(case) if (case, name) != ("spherical", "covars_")]


def _default_step(kind, X, q, means, prior=1e-2):
    """hmmlearn's covariances with its default prior: 0.01 is added to sums of squares."""
    off, n = X[:, None] - means, q.sum(axis=0)
    scatter = np.einsum("tk,tki,tkj->kij", q, off, off)
    if kind == "full":
        return (scatter + prior) / n[:, None, None]
    if kind == "tied":
        return np.tile((scatter.sum(axis=0) + prior) / n.sum(), (3, 1, 1))
    variances = (np.diagonal(scatter, axis1=1, axis2=2) + prior) / n[:, None]
    if kind == "spherical":
        variances = np.repeat(variances.mean(axis=1, keepdims=True), 2, axis=1)
    return variances[..., None] * np.eye(2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("params", "weight"), [("stc", 0.0), ("stm", 0.0), ("stm", 2.0), ("stmc", 2.0)]
)
def test_means_and_covariances_are_learned_one_without_the_other(kind, params, weight):
    X, model = data(kind), made(kind, n_iter=1, params=params, covars_prior=0.5)
    model.means_weight, model.means_prior, before = weight, [0.5, 1.0], made(kind)
    q = model.predict_proba(X, LENGTHS)
    model.fit(X, LENGTHS)
    means, n = before.means_, q.sum(axis=0)[:, None]
    if "m" in params:
        means = (weight * np.array([0.5, 1.0]) + q.T @ X) / (weight + n)
    np.testing.assert_allclose(model.means_, means, atol=1e-9)
    expected = before.covars_
    if "c" in params:
        # Of the prior of means there is one more square for each state.
        X = np.vstack([X, [[0.5, 1.0]]])
        expected = _default_step(kind, X, np.vstack([q, np.full(3, weight)]), means, 0.5)
        more = (n[:, 0] + weight) / n[:, 0]
        more = more.mean() if kind == "tied" else more[:, None, None]
        expected = expected * ((n.sum() + 3 * weight) / n.sum() if kind == "tied" else more)
    np.testing.assert_allclose(model.covars_, expected, atol=1e-9)


def test_priors_of_probabilities_are_pseudo_counts_less_by_one_and_never_negative():
    X = data("symbols")
    priors = {"startprob_prior": [2.0, 0.5, 1.0], "transmat_prior": 3.0, "emissionprob_prior": 0.4}
    model = made("symbols", n_iter=1, **priors)
    _, q, starts, pairs = plain_counts("symbols", made("symbols"), X)
    model.fit(X, LENGTHS)
    starts = np.maximum(starts + [1.0, -0.5, 0.0], 0)
    counts = np.stack([q[X[:, 0] == word].sum(axis=0) for word in range(4)], axis=1)
    counts = np.maximum(counts - 0.6, 0.0)
    np.testing.assert_allclose(model.startprob_, starts / starts.sum(), atol=1e-10)
    rows = (pairs + 2.0) / (pairs + 2.0).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.transmat_, rows, atol=1e-10)
    counts /= counts.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.emissionprob_, counts, atol=1e-10)


def test_what_is_ruled_out_stays_so_whatever_the_prior():
    X, model = data("symbols"), made("symbols", transmat_prior=5.0, startprob_prior=2.0)
    model.startprob_, model.transmat_ = [1.0, 0.0, 0.0], [[0.5, 0.5, 0], [0, 0.5, 0.5], [0, 0, 1]]
    model.fit(X, LENGTHS)
    assert model.startprob_.tolist() == [1.0, 0.0, 0.0]
    assert (model.transmat_ == 0).tolist() == [[0, 0, 1], [1, 0, 0], [1, 1, 0]]


def test_a_fit_is_that_of_emhmm_with_one_sweep_less():
    X = data("symbols")
    model = made("symbols", n_iter=8, tol=-np.inf).fit(X, LENGTHS)
    known = Symbols(vocabulary=range(4), handle_unknown="error")
    first = HMMParameters(startprob=START, transmat=STEPS, emissionprob=TABLE)
    ours = EMHMM(3, emission=known, init=first, max_iter=7, tol=0)
    ours.fit(split_by_lengths(X, LENGTHS))
    np.testing.assert_allclose(model.emissionprob_, ours.emissionprob_, atol=1e-12)
    np.testing.assert_allclose(list(model.monitor_.history)[1:], ours.history_)
    assert model.monitor_.iter == 8


def test_scores_and_paths_are_those_of_all_paths():
    X, model = np.array([[0], [3], [1], [2], [2]]), made("symbols")
    table, sequence = np.vstack([STEPS, START]), X[:, 0]
    log_z = brute.log_likelihood(sequence, table, TABLE)
    assert model.score(X) == pytest.approx(log_z)
    weights = brute.path_weights(sequence, table, TABLE)
    best = max(weights, key=weights.get)
    log_p, states = model.decode(X)
    assert (log_p, tuple(states)) == (pytest.approx(np.log(weights[best])), best)
    posterior = brute.marginals(sequence, table, TABLE)
    np.testing.assert_allclose(model.predict_proba(X), posterior, atol=1e-12)
    log_p, states = model.decode(X, algorithm="map")
    assert log_p == pytest.approx(posterior.max(axis=1).sum())
    assert states.tolist() == posterior.argmax(axis=1).tolist()
    model.algorithm = "map"
    assert model.predict(X).tolist() == states.tolist()
    with pytest.raises(ValueError, match="algorithm must be"):
        model.decode(X, algorithm="best")


def test_the_best_path_of_numbers_has_its_density():
    X, model = data("diag")[:6], made("diag")
    log_p, states = model.decode(X)
    density = densities("diag", model, X)
    expected = np.log(START[states[0]]) + np.log(STEPS[states[:-1], states[1:]]).sum()
    assert log_p == pytest.approx(expected + np.log(density[np.arange(6), states]).sum())


def test_criteria_count_free_parameters():
    X, model = data("full"), made("full")
    free, log_z = 2 + 6 + 6 + 9, model.score(X, LENGTHS)
    assert model.aic(X, LENGTHS) == pytest.approx(2 * free - 2 * log_z)
    assert model.bic(X, LENGTHS) == pytest.approx(free * np.log(len(X)) - 2 * log_z)


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("case", CASES)
def test_samples_are_drawn_from_the_model(case):
    model = made(case)
    X, states = model.sample(4000, random_state=0)
    assert X.shape == (4000, 1 if case == "symbols" else 2)
    assert (X.dtype.kind == "f") == (case in KINDS)
    moves = np.zeros((3, 3))
    np.add.at(moves, (states[:-1], states[1:]), 1)
    np.testing.assert_allclose(moves / moves.sum(axis=1, keepdims=True), STEPS, atol=0.05)
    mean = TABLE[2] @ np.arange(4) if case == "symbols" else {"counts": RATES}.get(case, MEANS)[2]
    np.testing.assert_allclose(X[states == 2].mean(axis=0), mean, atol=0.3)
    again, _ = model.sample(3, random_state=0, currstate=1)
    assert len(again) == 3
    assert model.sample(3, currstate=1)[1][0] == 1


def test_the_stationary_distribution_stays():
    found = made("symbols").get_stationary_distribution()
    np.testing.assert_allclose(found @ STEPS, found)
    assert found.sum() == pytest.approx(1.0)


def test_tol_is_in_nats_in_all_and_a_monitor_may_say_when_to_stop(capsys):
    X = data("symbols")
    model = made("symbols", n_iter=500, tol=0.5, verbose=True).fit(X, LENGTHS)
    history = np.array(model.monitor_.history)
    assert (np.diff(history)[:-1] >= 0.5).all()
    assert np.diff(history)[-1] < 0.5
    assert model.monitor_.converged
    assert len(capsys.readouterr().err.splitlines()) == len(history)

    class Threshold(base.ConvergenceMonitor):
        @property
        def converged(self):
            return self.history[-1] > history[2]

    model = made("symbols", n_iter=500)
    model.monitor_ = Threshold(model.monitor_.tol, model.monitor_.n_iter, False)
    assert model.fit(X, LENGTHS).monitor_.iter == 4
    assert model.fit(X, LENGTHS).monitor_.iter == 1


def test_what_is_set_is_overwritten_only_where_init_params_says_so(caplog):
    X, model = data("symbols"), made("symbols", params="", n_iter=1)
    with caplog.at_level(logging.WARNING):
        model.fit(X, LENGTHS)
    assert not caplog.records
    assert model.transmat_.tolist() == STEPS.tolist()
    model.init_params = "t"
    model.fit(X, LENGTHS)
    assert "transmat_ will be overwritten" in caplog.text
    assert model.emissionprob_.tolist() == TABLE.tolist()
    assert model.transmat_.tolist() != STEPS.tolist()


def test_missing_numbers_are_left_out_exactly():
    X = np.vstack([data("diag"), np.full((3, 2), np.nan)])
    X[3, 1] = X[10] = np.nan
    model = made("diag", n_iter=5)
    model.fit(X, [len(X)])
    assert np.isfinite(model.means_).all()
    assert model.score(X) == pytest.approx(model.score(X[:-3]))
    before = made("diag")
    density = np.ones(3)
    for d in range(2):
        deviation = np.sqrt(before.covars_[:, d, d])
        density = density * norm.pdf(X[0, d], before.means_[:, d], deviation)
    assert before.score(X[[0, -1]]) == pytest.approx(np.log(START @ density))


@pytest.mark.parametrize(
    ("case", "settings", "why"),
    [
        ("symbols", {"n_features": 3}, "symbol 3, but n_features=3"),
        ("full", {"covars_prior": -np.eye(3)}, "covars_prior has shape"),
        ("full", {"means_prior": MEANS}, "means_prior has shape"),
        ("diag", {"params": "c", "means_weight": 1.0}, "means_weight needs params with 'm'"),
    ],
)
def test_what_cannot_be_is_named(case, settings, why):
    with pytest.raises(ValueError, match=why):
        made(case, **settings).fit(data(case), LENGTHS)


@pytest.mark.parametrize("seed", [58, 124, 141])
def test_constant_columns_and_few_steps_leave_matrices_that_are_learned_from(seed):
    """The prior of 0.01 in all cells, and three steps a state: matrices that rounding can break."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.full(9, 715.0), 65.0 * np.arange(9), rng.normal(0, [[5, 30]], (9, 2))])
    model = hmm.GaussianHMM(3, "full", random_state=seed).fit(X)
    assert np.isfinite(list(model.monitor_.history)).all()
    assert np.isfinite(model.predict_proba(X)).all()


def by_states(n_states, n_columns, n_steps=120):
    """Steps of states that differ in all columns, in blocks of twenty."""
    states = np.resize(np.repeat(np.arange(n_states), 20), n_steps)
    noise = np.random.default_rng(0).normal(size=(n_steps, n_columns))
    return 5.0 * states[:, None] * np.arange(1, n_columns + 1) + noise


@pytest.mark.many(usual=8)
@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("n_columns", [1, 2, 3])
@pytest.mark.parametrize("n_states", [1, 2, 3, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_states_and_columns_is_learned_as_by_hmmlearn(kind, n_states, n_columns):
    """hmmlearn's prior of covariances is proper for few of these."""
    X = by_states(n_states, n_columns)
    model = hmm.GaussianHMM(n_states, kind, random_state=0).fit(X)
    assert np.isfinite(model.score(X))
    theirs = _theirs("hmm").GaussianHMM(n_states, kind, random_state=0).fit(X)
    _assert_same(model, theirs, _shown_alike(kind), atol=1e-6)
    assert model.score(X) == pytest.approx(theirs.score(X), abs=1e-6)


@pytest.mark.many(usual=3)
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("X", [np.full((12, 2), 2.0), np.repeat([[1.0, 3], [2, 3]], 6, axis=0)])
@pytest.mark.parametrize("kind", KINDS)
def test_fewer_different_steps_than_states_are_learned_from_in_silence(kind, X):
    for model in (hmm.GaussianHMM(3, kind), vhmm.VariationalGaussianHMM(3, kind)):
        assert np.isfinite(model.set_params(random_state=0).fit(X).predict_proba(X)).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("count", [0, 3])
def test_counts_that_are_all_equal_are_their_rate(count):
    model = hmm.PoissonHMM(2, random_state=0).fit(np.full((9, 1), count))
    np.testing.assert_allclose(model.lambdas_, count, atol=1e-5)


@pytest.mark.parametrize("method", ["score", "predict", "predict_proba", "decode", "aic", "bic"])
@pytest.mark.parametrize("module", [hmm, vhmm])
def test_symbols_that_are_none_are_named_by_the_parameter_that_there_is(module, method):
    kind = "CategoricalHMM" if module is hmm else "VariationalCategoricalHMM"
    model = getattr(module, kind)(2, random_state=0).fit([[0], [1], [2], [0]])
    if hasattr(model, method):
        with pytest.raises(ValueError, match="symbol 7, but n_features=3: fit with n_features=8"):
            getattr(model, method)([[0], [7]])


def test_odd_input_is_refused():
    with pytest.raises(ValueError, match="one column of symbols"):
        hmm.CategoricalHMM(2).fit([[0.5], [1.0]])
    with pytest.raises(ValueError, match="shape"):
        hmm.GaussianHMM(2).fit([0.5, 1.0])
    with pytest.raises(ValueError, match="covariance_type must be one of"):
        hmm.GaussianHMM(2, "round").fit([[0.5], [1.0]])
    with pytest.raises(NotFittedError):
        hmm.PoissonHMM(2).score([[1], [2]])
    with pytest.raises(ValueError, match="sum"):
        made("symbols").score(data("symbols"), [3, 4])
    wrong = made("symbols")
    wrong.transmat_ = 2 * STEPS
    with pytest.raises(ValueError, match="transmat"):
        wrong.score([[0], [1]])


# Variational Bayes


def test_a_variational_fit_is_that_of_vbhmm():
    X, n_sweeps = data("symbols"), 6
    _, q, starts, pairs = plain_counts("symbols", made("symbols"), X)
    counts = np.stack([q[X[:, 0] == word].sum(axis=0) for word in range(4)], axis=1)
    model = vhmm.VariationalCategoricalHMM(3, n_iter=n_sweeps, tol=-np.inf, init_params="")
    found = {"startprob": (0.3, starts), "transmat": (0.3, pairs), "emissionprob": (0.2, counts)}
    for name, (prior, seen) in found.items():
        setattr(model, f"{name}_prior_", np.full(seen.shape, prior))
        setattr(model, f"{name}_posterior_", prior + seen)
    model.fit(X, LENGTHS)
    known = Symbols(vocabulary=range(4), handle_unknown="error")
    first = HMMParameters(startprob=START, transmat=STEPS, emissionprob=TABLE)
    given = {"emission": known, "alpha": 0.3, "beta": 0.2, "max_iter": n_sweeps, "tol": 0}
    ours = VBHMM(3, init=first, **given).fit(split_by_lengths(X, LENGTHS))
    np.testing.assert_allclose(model.monitor_.history, ours.history_, rtol=1e-10)
    np.testing.assert_allclose(model.transmat_posterior_ - 0.3, ours.counts_.transition, atol=1e-9)
    np.testing.assert_allclose(model.emissionprob_, ours.emissionprob_, atol=1e-10)


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("kind", KINDS)
def test_variational_bounds_never_fall_and_go_on_from_their_attributes(kind):
    X = data(kind)
    given = {"random_state": 0, "tol": -np.inf}
    whole = vhmm.VariationalGaussianHMM(3, kind, n_iter=9, **given).fit(X, LENGTHS)
    assert (np.diff(whole.monitor_.history)[1:] > -1e-8).all()
    parts = vhmm.VariationalGaussianHMM(3, kind, n_iter=4, **given).fit(X, LENGTHS)
    parts.set_params(init_params="", n_iter=5).fit(X, LENGTHS)
    for name in ("transmat_posterior_", "means_posterior_", "dof_posterior_", "scale_posterior_"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-9)
    assert whole.covars_.shape == (3, 2, 2)
    made_of = hmm.GaussianHMM(3, kind)
    made_of.startprob_, made_of.transmat_ = whole.startprob_, whole.transmat_
    made_of.means_, made_of.covars_ = whole.means_posterior_, whole._covars_
    assert made_of.score(X, LENGTHS) == pytest.approx(whole.score(X, LENGTHS))


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"params": "stm"}, "both 'm' and 'c'"),
        ({"dof_prior": [1.0] * 3}, "dof_prior must be above 1"),
        ({"beta_prior": [1.0, 2.0, 1.0]}, "beta_prior_ must be the same"),
        ({"scale_prior": np.eye(2)}, "scale_prior_ has shape"),
    ],
)
def test_what_a_variational_model_cannot_be_is_named(settings, why):
    with pytest.raises(ValueError, match=why):
        vhmm.VariationalGaussianHMM(3, **settings).fit(data("full"), LENGTHS)


def test_a_variational_model_of_numbers_takes_no_gaps():
    with pytest.raises(ValueError, match="VBHMM"):
        vhmm.VariationalGaussianHMM(1).fit([[0.5], [np.nan]])


# As estimators


CLASSES = [getattr(sklearn_cvb.hmmlearn, name) for name in sklearn_cvb.hmmlearn.__all__]
MODELS = [kind for kind in CLASSES if kind is not base.ConvergenceMonitor]


@pytest.mark.parametrize("kind", MODELS)
def test_models_clone_pickle_and_say_their_parameters(kind):
    model = kind(2, random_state=0, n_iter=3)
    X = [[0], [1], [5], [6], [0], [7]]
    model.fit(X)
    assert clone(model).get_params()["n_iter"] == 3
    assert not hasattr(clone(model), "startprob_")
    again = pickle.loads(pickle.dumps(model))
    assert again.score(X) == model.score(X)
    names = inspect.signature(kind).parameters
    text = inspect.getdoc(kind)
    assert all(f"{name}" in text for name in names)
    assert text.index("\nimplementation :") < text.index("\nAttributes\n-")


def test_the_module_is_loaded_when_asked_for():
    assert "hmmlearn" in dir(sklearn_cvb)


# With hmmlearn


def _theirs(module):
    return pytest.importorskip(f"hmmlearn.{module}")


def _assert_same(ours, theirs, names, atol=1e-8):
    for name in names:
        np.testing.assert_allclose(
            getattr(ours, name), getattr(theirs, name), atol=atol, rtol=1e-8, err_msg=name
        )


@pytest.mark.parametrize("settings", [{}, {"transmat_prior": 1.7, "startprob_prior": 1.2}])
@pytest.mark.parametrize("case", CASES)
def test_fits_from_parameters_are_hmmlearns(case, settings):
    X, given = data(case), {"n_iter": 15, "tol": -np.inf, **settings}
    ours, theirs = (made(case, module, **given) for module in (hmm, _theirs("hmm")))
    if case == "spherical":
        theirs.covars_ = np.repeat(covariances("spherical")[:, None], 2, axis=1)
    ours.fit(X, LENGTHS)
    theirs.fit(X, LENGTHS)
    _assert_same(ours, theirs, _shown_alike(case))
    np.testing.assert_allclose(ours.monitor_.history, theirs.monitor_.history, rtol=1e-10)
    for method in ("score", "aic", "bic", "predict_proba"):
        both = (getattr(model, method)(X, LENGTHS) for model in (ours, theirs))
        np.testing.assert_allclose(*both, rtol=1e-8, atol=1e-10, err_msg=method)
    assert ours.decode(X, LENGTHS)[0] == pytest.approx(theirs.decode(X, LENGTHS)[0])


@pytest.mark.parametrize("seed", [0, "generator"])
@pytest.mark.parametrize("case", CASES)
def test_fits_from_a_seed_are_hmmlearns(case, seed):
    X, models = data(case), []
    for module in (hmm, _theirs("hmm")):
        given = {} if case in ("symbols", "counts") else {"covariance_type": case}
        rng = np.random.RandomState(3) if seed == "generator" else seed
        model = getattr(module, CASES[case][0])(2, random_state=rng, **given)
        models.append(model.fit(X, LENGTHS))
    _assert_same(*models, _shown_alike(case))
    assert models[0].monitor_.iter == models[1].monitor_.iter


@pytest.mark.parametrize("settings", [{}, {"startprob_prior": 0.5, "emissionprob_prior": 0.3}])
def test_variational_fits_of_symbols_are_hmmlearns(settings):
    X, models = data("symbols"), []
    for module in (vhmm, _theirs("vhmm")):
        given = {"random_state": 0, "n_iter": 20, "tol": -np.inf, **settings}
        models.append(module.VariationalCategoricalHMM(3, **given).fit(X, LENGTHS))
    names = ["startprob_posterior_", "transmat_posterior_", "emissionprob_posterior_"]
    _assert_same(*models, names)
    np.testing.assert_allclose(*(list(model.monitor_.history)[1:] for model in models), rtol=1e-8)


@pytest.mark.parametrize("n_columns", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_variational_fits_of_numbers_are_hmmlearns_up_to_a_constant(kind, n_columns):
    if n_columns == 2 and kind in ("spherical", "diag"):
        pytest.skip("hmmlearn's expectations are those of whole matrices")
    X, models = data(kind)[:, :n_columns], []
    for module in (vhmm, _theirs("vhmm")):
        given = {"random_state": 1, "n_iter": 15, "tol": -np.inf}
        models.append(module.VariationalGaussianHMM(2, kind, **given).fit(X, LENGTHS))
    names = ["startprob_", "transmat_", "means_posterior_", "beta_posterior_", "dof_posterior_"]
    _assert_same(*models, [*names, "scale_posterior_"])
    constant = 0.5 * X.size * np.log(2 * np.pi)
    ours, theirs = (np.array(model.monitor_.history) for model in models)
    np.testing.assert_allclose(ours + constant, theirs, rtol=1e-9)
