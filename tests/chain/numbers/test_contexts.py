"""Transitions that depend on the context of a step."""

import tracemalloc

import numpy as np
import pytest
from chain.numbers.problems import numbers

from sklearn_cvb import (
    CVBHMM,
    EMHMM,
    VBHMM,
    EMHMMTagger,
    GibbsHMM,
    HMMParameters,
    Samples,
    Transitions,
    write_numbers,
)
from sklearn_cvb.chain.numbers.e_step import (
    ChainTables,
    infer,
    plain_stretches,
    scores_from_logs,
    stretches_by_table,
)
from sklearn_cvb.emissions import Categorical
from sklearn_cvb.metrics import relabel

KINDS = [EMHMM, VBHMM, CVBHMM, GibbsHMM]
every_kind = pytest.mark.parametrize("kind", KINDS)
# By day states stay, by night they change.
STEPS = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.3, 0.7], [0.85, 0.15]]])


def days_and_nights(n_series=8, length=150, seed=0):
    """Series whose last column says by which table each step was entered."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(n_series):
        contexts, state = rng.integers(0, 2, length), np.zeros(length, int)
        for t in range(1, length):
            state[t] = rng.random() < STEPS[contexts[t], state[t - 1], 1]
        found.append(np.column_stack([rng.normal(4.0 * state), contexts]))
    return found


def fitted(kind, X, contexts=1, **settings):
    settings = {"emission": "gaussian", "max_iter": 40, "random_state": 0} | settings
    return kind(2, transitions=Transitions(contexts=contexts), **settings).fit(X)


def of_means(model):
    """Transitions by ascending means."""
    order = np.argsort(model.means_[:, 0])
    return model.transmat_[:, order][:, :, order]


@pytest.mark.many(usual=2)
@every_kind
def test_two_tables_are_found_and_drawn_from(kind):
    X = days_and_nights()
    model = fitted(kind, X)
    np.testing.assert_allclose(of_means(model), STEPS, atol=0.06)
    other = relabel(model, [1, 0])
    np.testing.assert_array_equal(other.transmat_, model.transmat_[:, ::-1, ::-1])
    assert other.score(X) == pytest.approx(model.score(X), rel=1e-12)
    assert model.n_columns_ == 1
    assert model.n_features_in_ == 2
    drawn, states = model.sample(contexts=[x[:, 1] for x in X] * 4, random_state=0)
    assert drawn.shape == (32, 150, 2)
    np.testing.assert_array_equal(drawn[:8, :, 1], np.array(X)[:, :, 1])
    counts = np.zeros((2, 2, 2))
    contexts = drawn[:, 1:, 1].astype(int)
    np.add.at(counts, (contexts, states[:, :-1], states[:, 1:]), 1)
    shares = counts / counts.sum(axis=2, keepdims=True)
    np.testing.assert_allclose(shares, model.transmat_, atol=0.04)


@pytest.mark.many(usual=1)
@every_kind
def test_a_fit_goes_on(kind):
    X = days_and_nights(3, 30)
    more = {"samples": Samples(4, thin=1)} if kind is GibbsHMM else {"tol": 0}
    whole = fitted(kind, X, max_iter=12, **more)
    part = fitted(kind, X, max_iter=7, warm_start=True, **more).set_params(max_iter=5).fit(X)
    np.testing.assert_allclose(part.history_, whole.history_[7:], rtol=1e-12)
    if kind is not GibbsHMM:
        np.testing.assert_allclose(part.transmat_, whole.transmat_, rtol=1e-12)


@pytest.mark.parametrize("method", ["predict", "sample_paths", "predict_pair_proba"])
def test_thousands_of_contexts_take_little_room(method):
    """A table of all contexts by all would take gigabytes."""
    rng, n = np.random.default_rng(0), 5000
    X = [np.column_stack([rng.normal(size=n), np.arange(n)])]
    settings = {"emission": "gaussian", "max_iter": 1, "random_state": 0}
    model = EMHMM(3, transitions=Transitions(contexts=1), **settings).fit(X)
    getattr(model, method)(X)
    tracemalloc.start()
    try:
        getattr(model, method)(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20e6


@every_kind
def test_one_context_is_none(kind):
    series = numbers("diag", (9, 7, 5, 1), "steps")
    alone = kind(2, emission="gaussian", max_iter=5, random_state=0).fit(series)
    zeros = [np.column_stack([np.zeros(len(x)), x]) for x in series]
    model = fitted(kind, zeros, 0, max_iter=5)
    np.testing.assert_allclose(model.history_, alone.history_, rtol=1e-12)
    np.testing.assert_allclose(model.transmat_, alone.transmat_[None], rtol=1e-12)
    found, exact = model.score_samples(zeros), alone.score_samples(series)
    np.testing.assert_allclose(found, exact, rtol=1e-12)
    assert model.bic(zeros) == pytest.approx(alone.bic(series), rel=1e-12)


def test_tables_that_are_the_same_share_out_pairs():
    """And all else is as with one table, where float64 loses a sequence, too."""
    rng = np.random.default_rng(0)
    starts, contexts = np.array([0, 9, 10, 24]), rng.integers(0, 3, 24)
    logs = rng.normal(size=(24, 2)) * np.repeat([1.0, 900.0], [10, 14])[:, None]
    one = ChainTables(np.array([[0.4, 0.6]]), np.array([[[0.5, 0.5], [0.0, 1.0]]]), None)
    three = ChainTables(*(np.repeat(table, 3, axis=0) for table in one[:2]), None)
    plain = infer(one, scores_from_logs(logs), starts, plain_stretches(starts))
    found = infer(three, scores_from_logs(logs), starts, stretches_by_table(contexts, starts))
    np.testing.assert_allclose(found.posterior, plain.posterior, atol=1e-14)
    np.testing.assert_allclose(found.log_z, plain.log_z, rtol=1e-14)
    np.testing.assert_allclose(found.pairs.sum(axis=0), plain.pairs[0], rtol=1e-13)
    entered = np.delete(contexts, starts[:-1])
    np.testing.assert_allclose(found.pairs.sum(axis=(1, 2)), np.bincount(entered), rtol=1e-13)


@every_kind
def test_a_context_that_no_step_has_is_as_its_prior(kind):
    """So is one that stands at first steps alone, into which nothing leads."""
    X = days_and_nights(4, 30)
    for x in X:
        x[:, 1] *= 2
    X[0][0, 1] = 3
    model = fitted(kind, X, max_iter=3)
    np.testing.assert_allclose(model.transmat_[[1, 3]], 0.5)
    after = X[0].copy()
    after[5, 1] = 1
    assert np.isfinite(model.score([after]))


@pytest.mark.long
@pytest.mark.parametrize("kind", [VBHMM, CVBHMM])
def test_intervals_hold_tables(kind):
    X = days_and_nights(4)
    model = fitted(kind, X)
    lower, upper = model.credible_intervals(X, random_state=0).transition
    assert lower.shape == (2, 2, 2)
    assert ((lower < model.transmat_) & (model.transmat_ < upper)).all()
    order = np.argsort(model.means_[:, 0])
    inside = (lower[:, order][:, :, order] < STEPS) & (upper[:, order][:, :, order] > STEPS)
    assert inside.mean() > 0.8


def test_the_next_states_are_those_of_steps_without_values():
    X = days_and_nights(3, 20)
    model = fitted(EMHMM, X)
    ahead = [np.vstack([x, [[np.nan, 1], [np.nan, 0]]]) for x in X]
    for x, proba in zip(X, model.predict_proba(ahead), strict=True):
        last = model.filter_proba([x])[0][-1]
        exact = last @ model.transmat_[1]
        np.testing.assert_allclose(proba[-2:], [exact, exact @ model.transmat_[0]], atol=1e-12)


def test_frames_name_contexts_and_symbols_have_them():
    pandas = pytest.importorskip("pandas")
    X = days_and_nights(6)
    frames = [
        pandas.DataFrame(
            {
                "when": np.array(["day", "night"])[x[:, 1].astype(int)],
                "symbol": np.array(["a", "b"])[(x[:, 0] > 2).astype(int)],
            }
        )
        for x in X
    ]
    model = fitted(VBHMM, frames, "when", emission=Categorical())
    assert model.categories_["when"].tolist() == ["day", "night"]
    drawn, _ = model.sample(contexts=[[0, 1, 0]], random_state=0)
    assert drawn[0, :, 0].tolist() == ["day", "night", "day"]
    assert set(drawn[0, :, 1]) <= {"a", "b"}
    states = model.category_probabilities_[0]
    order = np.argsort(states[:, 1])
    np.testing.assert_allclose(model.transmat_[:, order][:, :, order], STEPS, atol=0.08)
    frames[0].loc[3, "when"] = "dusk"
    with pytest.raises(ValueError, match="'dusk' in column 'when'"):
        model.predict(frames)


@pytest.mark.parametrize(
    ("value", "told"),
    [(np.nan, "X holds nan as a context"), (2, "X holds 2 as"), (0.5, "X holds 0.5"), (-1, "-1")],
)
def test_contexts_that_are_none_are_told(value, told):
    X = days_and_nights(2, 9)
    model = fitted(EMHMM, X, max_iter=2)
    X[1][4, 1] = value
    with pytest.raises(ValueError, match=rf"{told}.*column 1, sequence 1, position 4"):
        model.predict(X)


def subjects(n_subjects, length, seed=0):
    """A series of each subject, whose transitions are drawn around tables that all share."""
    rng, found = np.random.default_rng(seed), []
    for subject in range(n_subjects):
        moves = [rng.dirichlet(12.0 * row) for row in STEPS[0]]
        state = np.zeros(length, int)
        for t in range(1, length):
            state[t] = rng.random() < moves[state[t - 1]][1]
        found.append(np.column_stack([rng.normal(4.0 * state), np.full(length, subject)]))
    return found


def seen(X):
    """Transitions of each series, told by the middle between both means."""
    found = np.zeros((len(X), 2, 2))
    for table, x in zip(found, X, strict=True):
        states = (x[:, 0] > 2).astype(int)
        np.add.at(table, (states[:-1], states[1:]), 1)
    return found


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS[1:])
def test_subjects_learn_from_each_other(kind):
    """Held out, pooled tables are ahead of tables apart and of one for all; also of newcomers."""
    whole, settings = subjects(30, 300), {"emission": "gaussian", "random_state": 0}
    X, later, new = [x[:50] for x in whole[:20]], [x[50:] for x in whole[:20]], whole[20:]
    pooled = kind(2, transitions=Transitions(contexts=1, prior="pooled"), **settings).fit(X)
    apart = kind(2, transitions=Transitions(contexts=1), **settings).fit(X)
    one = kind(2, **settings).fit([x[:, :1] for x in X])
    without = [x[:, :1] for x in later]
    assert pooled.score(later) > max(apart.score(later), one.score(without)) + 0.001
    assert pooled.score(new) == pytest.approx(one.score([x[:, :1] for x in new]), abs=0.02)
    assert pooled.transmat_.shape == (21, 2, 2)
    # Where nothing was counted the mean of the prior is what all share; of a sampler, its last.
    tolerance = 0.1 if kind is GibbsHMM else 1e-12
    np.testing.assert_allclose(pooled.transmat_[-1], pooled.pooled_transmat_, atol=tolerance)
    order = np.argsort(pooled.means_[:, 0])
    shares = np.mean([counts / counts.sum(axis=1, keepdims=True) for counts in seen(X)], axis=0)
    np.testing.assert_allclose(pooled.transmat_[-1][order][:, order], shares, atol=0.04)
    other = relabel(pooled, [1, 0])
    np.testing.assert_array_equal(other.pooled_transmat_, pooled.pooled_transmat_[::-1, ::-1])


def test_one_pooled_context_is_a_plain_model_with_its_prior():
    X = days_and_nights(3, 40)
    for x in X:
        x[:, 1] = 0.0
    settings = {"emission": "gaussian", "random_state": 0, "tol": 0.0, "max_iter": 200}
    transitions = Transitions(contexts=1, prior="pooled")
    model = VBHMM(2, transitions=transitions, alpha=3.0, **settings).fit(X)
    known = {"alpha": 3.0 * model.pooled_transmat_, "init": model.predict_proba(X)}
    plain = VBHMM(2, transitions=Transitions(start_alpha=0.1), **settings, **known)
    plain.fit([x[:, :1] for x in X])
    np.testing.assert_allclose(model.transmat_[0], plain.transmat_, atol=1e-10)
    np.testing.assert_allclose(model.transmat_[1], model.pooled_transmat_, rtol=1e-12)
    assert model.score(X) == pytest.approx(plain.score([x[:, :1] for x in X]), abs=1e-10)


@pytest.mark.parametrize("kind", KINDS[1:3])
def test_a_fit_that_goes_on_without_pooling_begins_anew(kind):
    X = subjects(4, 40)
    settings = {"emission": "gaussian", "random_state": 0, "max_iter": 5}
    plain = Transitions(contexts=1)
    model = kind(
        2, transitions=Transitions(contexts=1, prior="pooled"), warm_start=True, **settings
    )
    again = model.fit(X).set_params(transitions=plain).fit(X)
    anew = kind(2, transitions=plain, **settings).fit(X)
    np.testing.assert_array_equal(again.transmat_, anew.transmat_)


def test_names_of_subjects_are_no_numbers():
    X = [np.column_stack([x[:, 0], np.full(len(x), 20_231)]) for x in subjects(2, 9)]
    with pytest.raises(ValueError, match=r"holds 20231 as a context.*a column of text in frames"):
        fitted(VBHMM, X)


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("kind", KINDS[1:])
def test_contexts_that_were_not_in_fit_have_the_shared_table(kind):
    pandas = pytest.importorskip("pandas")
    X = subjects(4, 40)
    frames = [
        pandas.DataFrame({"who": ["abcd"[i]] * len(x), "x": x[:, 0]}) for i, x in enumerate(X)
    ]
    settings = {"emission": "gaussian", "random_state": 0, "max_iter": 20}
    model = kind(2, transitions=Transitions(contexts="who", prior="pooled"), **settings).fit(frames)
    assert model.categories_["who"].tolist() == list("abcd")
    numbers = kind(2, transitions=Transitions(contexts=1, prior="pooled"), **settings).fit(X)
    new = frames[0].assign(who="e")
    expected = numbers.score([np.column_stack([X[0][:, 0], np.full(40, 7.0)])])
    assert model.score([new]) == pytest.approx(expected, rel=1e-12)
    assert model.score([new]) != pytest.approx(model.score(frames[:1]), rel=1e-6)


REFUSED = {
    "topology": ({"transitions": Transitions("left-right", contexts=1)}, "topology"),
    "end": ({"transitions": Transitions(end_state=True, contexts=1)}, "end_state"),
    "start": ({"transitions": Transitions(start="stationary", contexts=1)}, "start="),
    "hdp": ({"transitions": Transitions(prior="hdp", contexts=1)}, "prior='hdp'"),
    "column": ({"transitions": Transitions(contexts=2)}, "X has 2 columns"),
    "name": ({"transitions": Transitions(contexts="hour")}, "without names"),
    "symbols": ({"emission": "categorical"}, "Categorical"),
    "alpha": ({"alpha": np.ones((2, 2))}, "array as alpha"),
    "transmat": ({"init": HMMParameters(transmat=np.full((2, 2), 0.5))}, "transmat in init"),
    "fixed": ({"fixed": {"transitions": True}}, "fixed transitions"),
    "pooled": ({"transitions": Transitions(prior="pooled")}, "several contexts"),
    "pooled EM": ({"transitions": Transitions(prior="pooled", contexts=1)}, "EM learns no prior"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_go_with_contexts_is_refused_by_name(case):
    settings, told = REFUSED[case]
    own = {"transitions": Transitions(contexts=1), "emission": "gaussian"} | settings
    kind = EMHMM if case in ("start", "pooled EM") else VBHMM
    with pytest.raises(ValueError, match=told):
        kind(2, **own).fit(days_and_nights(2, 9))


def test_methods_that_know_no_contexts_say_what_to_do(tmp_path):
    X = days_and_nights(2, 9)
    model = fitted(EMHMM, X, max_iter=2)
    calls = {
        "predict_proba": lambda: model.predict_next(X),
        "filter_proba": model.start_filter,
        "pickle": model.to_json,
        "give `contexts`": model.sample,
        "fit in memory": lambda: model.fit(write_numbers(X, tmp_path / "store")),
        "fit all": lambda: model.partial_fit(X),
        "from_parameters": lambda: EMHMM.from_parameters(
            startprob=np.full(2, 0.5),
            transmat=np.full((2, 2), 0.5),
            emissions={"means": np.zeros((2, 1)), "covariances": np.ones((2, 1, 1))},
            emission="gaussian",
            transitions=Transitions(contexts=1),
        ),
        r"contexts\[0\]": lambda: model.sample(contexts=[[0, 2]]),
    }
    for told, call in calls.items():
        with pytest.raises(ValueError, match=told):
            call()
    with pytest.raises(ValueError, match="this has none"):
        fitted(EMHMM, X, None, max_iter=2).sample(contexts=[[0, 1]])
    with pytest.raises(ValueError, match="symbols"):
        EMHMMTagger({"a": ["X"]}, transitions=Transitions(contexts=1)).fit([["a"]])
