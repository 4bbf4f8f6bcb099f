"""Transitions that depend on inputs: against all paths, scikit-learn, and published figures."""

import pickle
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from sklearn_cvb import CVBHMM, EMHMM, VBHMM, EMHMMTagger, GibbsHMM, Transitions, write_numbers
from sklearn_cvb.chain.numbers import input_transitions
from sklearn_cvb.chain.numbers.e_step import (
    ChainTables,
    infer,
    scores_from_logs,
    stretches_by_table,
)
from sklearn_cvb.emissions import Estimator, Gaussian, Regression
from sklearn_cvb.metrics import relabel

FREE = LogisticRegression(C=np.inf)


def simulated(n=400, n_states=2, seed=0):
    """Numbers whose states stay by one input and change by another."""
    rng = np.random.default_rng(seed)
    inputs, state = rng.normal(size=(n, 2)), np.zeros(n, int)
    for t in range(1, n):
        odds = 2.0 * np.eye(n_states)[state[t - 1]] + inputs[t, 0] * np.arange(n_states)
        chances = np.exp(odds) / np.exp(odds).sum()
        state[t] = rng.choice(n_states, p=chances)
    return np.column_stack([rng.normal(4.0 * state), inputs]), state


def fitted(X, n_states=2, estimator=FREE, inputs=(1, 2), **settings):
    settings = {"random_state": 0, "max_iter": 30, "emission": "gaussian"} | settings
    transitions = Transitions(inputs=list(inputs), estimator=estimator)
    return EMHMM(n_states, transitions=transitions, **settings).fit(X)


def by_enumeration(model, sequence):
    """log p(x), posteriors and the best path of one sequence, from all its paths."""
    n, k = len(sequence), model.n_components
    logs, tables = np.zeros((n, k)), np.zeros((n, k, k))
    scales = np.sqrt(model.covariances_.reshape(k, -1)[:, 0])
    for t, (value, *inputs) in enumerate(sequence):
        if not np.isnan(value):
            logs[t] = stats.norm(model.means_[:, 0], scales).logpdf(value)
        for j, own in enumerate(model.transition_estimators_ if t else ()):
            tables[t, j, own.classes_] = own.predict_proba([inputs])[0]
    paths = np.array(list(product(range(k), repeat=n)))
    with np.errstate(divide="ignore"):
        joint = np.log(model.startprob_[paths[:, 0]]) + logs[0, paths[:, 0]]
    for t in range(1, n):
        joint += np.log(tables[t, paths[:, t - 1], paths[:, t]]) + logs[t, paths[:, t]]
    total = np.logaddexp.reduce(joint)
    shares = np.exp(joint - total)
    posterior = np.array([[shares[paths[:, t] == j].sum() for j in range(k)] for t in range(n)])
    return total, posterior, paths[joint.argmax()]


CLASSIFIERS = {
    "logistic": FREE,
    "penalised": LogisticRegression(C=0.5),
    "pipeline": make_pipeline(StandardScaler(), PolynomialFeatures(2), LogisticRegression()),
    "boosted": HistGradientBoostingClassifier(max_iter=5, max_depth=2),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("n_states", [2, 3])
def test_likelihoods_posteriors_and_paths_are_those_of_all_paths(name, n_states):
    table, _ = simulated(200, n_states)
    model = fitted([table[:120], table[120:]], n_states, CLASSIFIERS[name], max_iter=8)
    parts = [table[a:b].copy() for a, b in pairwise([0, 6, 9, 10, 15])]
    parts[0][3, 0] = np.nan
    parts[1][0, 1:] = np.nan
    proba, paths = model.predict_proba(parts), model.predict(parts)
    pairs, scores = model.predict_pair_proba(parts), model.score_samples(parts)
    of_paths = model.score_paths(parts, paths)
    for i, own in enumerate(parts):
        total, posterior, path = by_enumeration(model, own)
        assert scores[i] == pytest.approx(total, abs=1e-10)
        np.testing.assert_allclose(proba[i], posterior, atol=1e-10)
        assert paths[i].tolist() == path.tolist()
        if len(own) > 1:
            np.testing.assert_allclose(pairs[i].sum(axis=2), posterior[:-1], atol=1e-10)
        assert of_paths[i] <= total + 1e-12


@pytest.mark.parametrize("n_states", [2, 3, 4])
@pytest.mark.parametrize("C", [0.3, 10.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_newton_steps_end_where_scikit_learn_does(n_states, C, fit_intercept):
    rng = np.random.default_rng(0)
    inputs, pairs = rng.normal(size=(60, 3)), rng.random((60, n_states))
    settings = {"C": C, "fit_intercept": fit_intercept, "tol": 1e-10, "max_iter": 5000}
    asked, own = LogisticRegression(**settings), None
    for _ in range(30):
        own, penalty = input_transitions.fit_origin(asked, own, inputs, pairs)
    rows, to = np.tile(inputs, (n_states, 1)), np.repeat(np.arange(n_states), len(inputs))
    other = clone(asked).fit(rows, to, sample_weight=pairs.T.ravel())
    np.testing.assert_allclose(own.predict_proba(inputs), other.predict_proba(inputs), atol=1e-6)
    np.testing.assert_allclose(own.coef_, other.coef_, atol=1e-5)
    assert penalty == pytest.approx(0.5 * (own.coef_**2).sum() / C)


@pytest.mark.parametrize("name", ["logistic", "penalised"])
def test_the_objective_never_falls_and_has_the_penalty(name):
    table, _ = simulated(300, 3)
    model = fitted([table], 3, CLASSIFIERS[name], max_iter=300, tol=1e-8)
    assert model.converged_
    assert (np.diff(model.history_) > -1e-9).all()
    C = model.transitions.estimator.C
    penalty = sum((own.coef_**2).sum() for own in model.transition_estimators_) / (2 * C)
    total = model.score_samples([table]).sum()
    assert model.objective_ == pytest.approx(total - penalty, abs=1e-4)


def test_one_row_of_inputs_is_a_plain_chain():
    table, _ = simulated()
    table[:, 1:] = [0.5, -1.0]
    settings = {"random_state": 0, "max_iter": 60, "tol": 0.0}
    plain = EMHMM(2, emission="gaussian", accelerate=False, **settings).fit([table[:, :1]])
    model = fitted([table], accelerate=False, **settings)
    assert model.objective_ == pytest.approx(plain.objective_, abs=1e-6)
    np.testing.assert_allclose(model.transmat_, plain.transmat_, atol=1e-5)


def test_inputs_that_name_contexts_are_contexts():
    table, _ = simulated()
    night = (table[:, 1] > 0) * 1.0
    own = np.column_stack([table[:, 0], night])
    settings = {"random_state": 0, "max_iter": 100, "tol": 0.0}
    other = EMHMM(2, emission="gaussian", transitions=Transitions(contexts=1), **settings)
    other.fit([own])
    model = fitted([own], inputs=[1], **settings)
    assert model.objective_ == pytest.approx(other.objective_, abs=1e-4)
    np.testing.assert_allclose(model.transmat_of([[0.0], [1.0]]), other.transmat_, atol=1e-3)


def test_tables_of_a_simulation_are_found():
    table, state = simulated(3000, 3)
    model = fitted([table], 3, max_iter=300)
    order = np.argsort(model.means_[:, 0])
    tables = model.transmat_of(table[:, 1:])[:, order][:, :, order]
    odds = 2.0 * np.eye(3) + table[:, 1, None, None] * np.arange(3)
    true = np.exp(odds) / np.exp(odds).sum(axis=2, keepdims=True)
    each = np.arange(len(state)), state
    divergence = (true[each] * np.log(true[each] / tables[each])).sum(axis=1).mean()
    assert divergence < 0.01
    constant = EMHMM(3, emission="gaussian", random_state=0).fit([table[:, :1]])
    right = (np.argsort(order)[model.labels_[0]] == state).mean()
    other = (np.argsort(np.argsort(constant.means_[:, 0]))[constant.labels_[0]] == state).mean()
    assert right > other


def filardo():
    """Growth of industrial production and a leading index (Filardo 1994), in statsmodels' wheel."""
    tests = pytest.importorskip("statsmodels.tsa.regime_switching.tests")
    data = pd.read_csv(Path(tests.__file__).parent / "results" / "mar_filardo.csv")
    return data["dlip"].to_numpy(), data["dmdlleading"].to_numpy()


def test_published_parameters_of_filardo_have_the_published_likelihood():
    """Autoregression of order 4 around switching means: 32 states, a table for each month."""
    growth, leading = filardo()
    y, z = growth[1:], leading[:-1]
    odds = np.array([[4.35941747, 1.7702123], [-1.6493936, 0.9945672]])
    means, variance = np.array([0.517298, -0.865888]), np.exp(-0.362469) ** 2
    slopes = np.array([0.189474, 0.079344, 0.110944, 0.122251])
    to_first = 1 / (1 + np.exp(-(odds[:, :1] + odds[:, 1:] * z)))
    states = list(product((0, 1), repeat=5))
    tables, logs = np.zeros((len(y), 32, 32)), np.zeros((len(y), 32))
    for i, before in enumerate(states):
        for j, now in enumerate(states):
            if now[1:] == before[:-1]:
                chance = to_first[before[0]]
                tables[:, i, j] = chance if now[0] == 0 else 1 - chance
        off = y[4:] - means[before[0]]
        for k in range(4):
            off = off - slopes[k] * (y[3 - k : len(y) - 1 - k] - means[before[k + 1]])
        logs[4:, i] = stats.norm(0, np.sqrt(variance)).logpdf(off)
    first = np.column_stack([to_first[:, 0], 1 - to_first[:, 0]])
    stationary = np.array([first[1, 0], first[0, 1]]) / (first[1, 0] + first[0, 1])
    start = np.zeros(32)
    for i, own in enumerate(states):
        start[i] = stationary[own[4]]
        for k in (3, 2, 1, 0):
            chance = to_first[own[k + 1], 4 - k]
            start[i] *= chance if own[k] == 0 else 1 - chance
    starts, n = np.array([0, len(y) - 4]), len(y) - 4
    chain = ChainTables(np.tile(start, (n, 1)), tables[4:], None)
    stretches = stretches_by_table(np.arange(n), starts)
    found = infer(chain, scores_from_logs(logs[4:]), starts, stretches)
    assert found.log_z[0] == pytest.approx(-586.5718, abs=1e-4)


def test_a_leading_index_moves_regimes_of_production():
    """An optimum that statsmodels' searches miss: -576.735, where they end at -579.064."""
    growth, leading = filardo()
    y, z = growth[1:], leading[:-1]
    X = [np.column_stack([growth[:-1], y, z])]
    lines = Estimator(LinearRegression(), inputs=[0], outputs=[1], dispersion="tied")
    transitions = Transitions(inputs=[2], estimator=FREE)
    model = EMHMM(2, emission=lines, transitions=transitions, random_state=0)
    model.set_params(tol=1e-7, max_iter=2000).fit(X)
    assert model.objective_ == pytest.approx(-576.735, abs=1e-3)
    assert np.ptp(model.restart_objectives_) < 1e-3


# Around a fit


def test_frames_name_inputs():
    table, _ = simulated()
    frame = pd.DataFrame(table, columns=["y", "u", "v"])
    model = fitted([frame], inputs=["u", "v"])
    plain = fitted([table])
    np.testing.assert_array_equal(model.predict_proba([frame])[0], plain.predict_proba([table])[0])
    np.testing.assert_array_equal(model.transmat_of(frame), plain.transmat_of(table[:, 1:]))
    np.testing.assert_array_equal(model.transmat_of(frame[["v", "u"]]), model.transmat_of(frame))
    assert model.n_columns_ == 1
    lines = Regression(inputs=["u"], outputs=["y"])
    both = EMHMM(2, emission=lines, transitions=Transitions(inputs=["v"]), random_state=0)
    both.set_params(max_iter=5).fit([frame.assign(note="unread")])
    assert both.score([frame]) == pytest.approx(both.score([frame[["y", "u", "v"]].copy()]))
    with pytest.raises(ValueError, match="lack the columns"):
        model.transmat_of(frame[["u"]])
    with pytest.raises(ValueError, match="give finite numbers"):
        model.transmat_of(table)


def test_transmat_is_the_mean_table():
    table, _ = simulated()
    model = fitted([table], max_iter=200, tol=1e-8)
    pairs = model.predict_pair_proba([table])[0].sum(axis=0)
    expected = pairs / pairs.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.transmat_, expected, atol=1e-4)
    np.testing.assert_allclose(model.counts_.transition, pairs, rtol=1e-3)
    tables = model.transmat_of(table[:, 1:])
    np.testing.assert_allclose(tables.sum(axis=2), 1.0)
    for origin, own in enumerate(model.transition_estimators_):
        np.testing.assert_allclose(tables[:, origin], own.predict_proba(table[:, 1:]), atol=1e-10)


def test_free_parameters_are_counted():
    table, _ = simulated()
    model = fitted([table])
    # A start, an intercept and two slopes from each state, a mean and a variance in each.
    n = 1 + 2 * 3 + 2 * 2
    total = model.score_samples([table]).sum()
    assert model.bic([table]) == pytest.approx(n * np.log(len(table)) - 2 * total)


def test_models_are_pickled_relabelled_and_go_on():
    table, _ = simulated()
    model = fitted([table], max_iter=8, tol=0, warm_start=True)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict([table])[0], model.predict([table])[0])
    for own in (model, fitted([table], estimator=CLASSIFIERS["pipeline"], max_iter=3)):
        other = relabel(own, [1, 0])
        assert other.score([table]) == pytest.approx(own.score([table]), rel=1e-12)
        np.testing.assert_allclose(
            other.transmat_of(table[:, 1:]), own.transmat_of(table[:, 1:])[:, ::-1, ::-1]
        )
    whole = fitted([table], max_iter=16, tol=0)
    model.fit([table])
    np.testing.assert_array_equal(model.history_, whole.history_[8:])


@pytest.mark.parametrize("n_states", [1, 2])
def test_odd_sizes(n_states):
    table, _ = simulated(40)
    model = fitted([table[:1], table[1:3], table[3:]], n_states, max_iter=4)
    assert np.isfinite(model.score([table[:1]]))
    assert model.transmat_of(table[:3, 1:]).shape == (3, n_states, n_states)


def test_separation_is_told():
    state = np.repeat([0, 1] * 10, 10)
    change = np.append(0.0, np.diff(state) != 0) * 2 - 1
    rng = np.random.default_rng(0)
    X = [np.column_stack([rng.normal(6.0 * state), change])]
    with pytest.warns(UserWarning, match="separation"):
        fitted(X, inputs=[1], max_iter=200, tol=0)
    fitted(X, inputs=[1], estimator=LogisticRegression(), max_iter=200, tol=0)


def test_missing_inputs_are_named():
    table, _ = simulated(20)
    table[7, 2] = np.nan
    with pytest.raises(ValueError, match="lacks an input of transitions"):
        fitted([table])
    table[0, 1:], table[7, 2] = np.nan, 0.0
    assert np.isfinite(fitted([table], max_iter=2).objective_)


def test_more_tables_than_there_is_room_for_are_refused(monkeypatch):
    monkeypatch.setattr(input_transitions, "_MOST_CELLS", 100)
    with pytest.raises(ValueError, match="round the inputs"):
        fitted([simulated(60)[0]])


REFUSED = {
    "contexts": {"transitions": Transitions(contexts=1, inputs=[2])},
    "topology": {"transitions": Transitions("left-right", inputs=[1])},
    "end_state": {"transitions": Transitions(inputs=[1], end_state=True)},
    "stationary": {"transitions": Transitions(inputs=[1], start="stationary")},
    "durations": {"transitions": Transitions(inputs=[1], durations="poisson")},
    "sticky": {"transitions": Transitions(inputs=[1], sticky=1.0)},
    "holds coefficients back": {"transitions": Transitions(inputs=[1]), "alpha": 0.5},
    "is for transitions that depend": {"transitions": Transitions(estimator=FREE)},
    "must name some": {"transitions": Transitions(inputs=[0, 1, 2])},
    "names the column 'u'": {"transitions": Transitions(inputs=["u"])},
}


@pytest.mark.parametrize("told", REFUSED)
def test_what_does_not_go_with_inputs_is_refused_by_name(told):
    settings = {"emission": "gaussian", "random_state": 0, "max_iter": 2} | REFUSED[told]
    with pytest.raises(ValueError, match=told):
        EMHMM(2, **settings).fit([simulated(30)[0]])


@pytest.mark.parametrize("kind", [VBHMM, CVBHMM, GibbsHMM])
def test_only_em_learns_classifiers(kind):
    model = kind(2, emission="gaussian", transitions=Transitions(inputs=[1]))
    with pytest.raises(ValueError, match="take EMHMM"):
        model.fit([simulated(30)[0]])


def test_symbols_and_taggers_have_no_inputs():
    with pytest.raises(ValueError, match="inputs"):
        EMHMM(2, transitions=Transitions(inputs=[0])).fit([["a", "b"]])
    with pytest.raises(ValueError, match="inputs"):
        EMHMMTagger({}, transitions=Transitions(inputs=[0])).fit([["a", "b"]], [["N", "V"]])


def test_methods_that_know_no_inputs_say_what_to_do(tmp_path):
    table, _ = simulated(60)
    model = fitted([table], max_iter=2)
    for call in (
        lambda: model.sample(1, 5),
        lambda: model.predict_next([table], 2),
        lambda: model.start_filter(),
        lambda: model.partial_fit([table]),
        lambda: model.to_json(),
        lambda: clone(model).fit(write_numbers([table], tmp_path / "store")),
    ):
        with pytest.raises(ValueError, match=r"Transitions\(inputs=...\) does not go with"):
            call()
    plain = EMHMM(2, emission=Gaussian(), max_iter=2, random_state=0).fit([table])
    with pytest.raises(ValueError, match="transmat_of is for"):
        plain.transmat_of(table[:, 1:])


def test_residuals_are_normal():
    table, _ = simulated(2000, seed=3)
    residuals = fitted([table], max_iter=200).pseudo_residuals([table], random_state=0)[0]
    assert stats.kstest(residuals.ravel(), "norm").pvalue > 1e-3


def test_of_other_classifiers_the_best_sweep_is_kept():
    table, _ = simulated()
    model = fitted([table], estimator=CLASSIFIERS["boosted"], max_iter=40)
    assert model.objective_ == model.history_.max()
    assert model.converged_ == (len(model.history_) - 1 - model.history_.argmax() == 3)
    assert model.score_samples([table]).sum() >= model.objective_ - 1e-9


def test_a_classifier_without_weights_is_refused():
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        fitted([simulated(30)[0]], estimator=KNeighborsClassifier())
