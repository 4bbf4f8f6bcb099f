"""What holds for every estimator, for those that learn from trees."""

import pickle

import joblib
import numpy as np
import pytest
from interruption import Interrupt, watched
from nltk import Tree
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_predict

from sklearn_cvb import CVBLatentPCFG, EMLatentPCFG, SplitAndMerge, VBLatentPCFG, metrics

KINDS = [EMLatentPCFG, VBLatentPCFG, CVBLatentPCFG]
TREES = [
    "(S (NP (DT the) (NN dog)) (VP (VBD ran)))",
    "(S (NP (DT a) (NN cat)) (VP (VBD saw) (NP (DT the) (NN dog))))",
    "(S (NP (NP (DT the) (NN cat)) (PP (IN by) (NP (DT the) (NN dog)))) (VP (VBD ran)))",
    "(S (NP (DT a) (NN dog)) (VP (VP (VBD saw) (NP (DT a) (NN cat))) (PP (IN by) (NP (NN day)))))",
    "(S (NP (DT the) (NN day)) (VP (VBD ran) (PP (IN by)) (NP (DT a) (NN dog))))",
    "(S (NP (NN day)) (VP (VBD ran) (PP (IN by) (NP (DT a) (NN dog)))))",
]
WORDS = [Tree.fromstring(tree).leaves() for tree in TREES]
SETTINGS = {"max_iter": 6, "tol": 0, "random_state": 0, "rare_threshold": 0}


def fitted(kind, **settings):
    return kind(**SETTINGS | settings).fit(WORDS, TREES)


def assert_same_fit(one, other):
    """They learned the same, to the last bit, and predict the same."""
    assert np.array_equal(one.history_, other.history_)
    assert np.array_equal(one.restart_objectives_, other.restart_objectives_)
    assert np.array_equal(one.counts_.cells, other.counts_.cells)
    assert one.objective_ == other.objective_
    assert one.predict(WORDS).tolist() == other.predict(WORDS).tolist()
    assert np.array_equal(one.score_samples(WORDS), other.score_samples(WORDS))
    each, lengths = one.score_samples(WORDS, per="token"), list(map(len, WORDS))
    np.testing.assert_array_equal(each, one.score_samples(WORDS) / lengths)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def test_trees_alone_are_sentences_and_trees(kind):
    whole = fitted(kind)
    assert_same_fit(whole, kind(**SETTINGS).fit(TREES))
    assert_same_fit(whole, kind(**SETTINGS).fit([Tree.fromstring(tree) for tree in TREES]))
    assert whole.predict(TREES).tolist() == whole.predict(WORDS).tolist()
    assert whole.score(TREES) == whole.score(WORDS, TREES) == whole.score(WORDS)


@pytest.mark.many(usual=1)
def test_clone_pickle_and_memory_map(kind, tmp_path):
    model = fitted(kind)
    assert_same_fit(model, clone(model).fit(WORDS, TREES))
    assert_same_fit(model, pickle.loads(pickle.dumps(model)))
    joblib.dump(model, tmp_path / "model")
    assert_same_fit(model, joblib.load(tmp_path / "model", mmap_mode="r"))


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("init", ["treebank", "random"])
def test_threads_change_no_bit(kind, init):
    serial = fitted(kind, n_init=4, init=init)
    assert_same_fit(serial, fitted(kind, n_init=4, init=init, n_jobs=2))
    assert len(set(serial.restart_objectives_)) == 4
    assert serial.objective_ == serial.restart_objectives_.max()
    other = fitted(kind, n_init=4, init=init, random_state=1)
    assert not np.array_equal(serial.history_, other.history_)


def test_without_subtypes_one_restart_is_enough(kind):
    with pytest.warns(UserWarning, match="n_init=3 is ignored: without subtypes nothing is hidden"):
        model = fitted(kind, n_init=3, n_subtypes=1)
    assert len(model.restart_objectives_) == 1


@pytest.mark.many(usual=1)
@pytest.mark.parametrize("settings", [{}, {"update": "token"}])
def test_a_warm_start_goes_on_bit_for_bit(kind, settings):
    if settings and kind is not CVBLatentPCFG:
        pytest.skip("CVB alone has updates")
    whole = fitted(kind, **settings)
    first = fitted(kind, max_iter=4, warm_start=True, **settings)
    copy = pickle.loads(pickle.dumps(first))
    for model in (first, copy):
        model.set_params(max_iter=2).fit(WORDS, TREES)
        assert np.array_equal(model.history_, whole.history_[4:])
        assert np.array_equal(model.counts_.cells, whole.counts_.cells)
    other = first.set_params(n_subtypes=3, max_iter=6).fit(WORDS, TREES)
    assert_same_fit(other, fitted(kind, n_subtypes=3, **settings))
    fresh = first.fit(WORDS[:4], TREES[:4])
    assert_same_fit(fresh, kind(n_subtypes=3, **SETTINGS | settings).fit(TREES[:4]))


def test_another_update_starts_anew():
    model = fitted(CVBLatentPCFG, warm_start=True)
    model.set_params(update="token").fit(WORDS, TREES)
    assert_same_fit(model, fitted(CVBLatentPCFG, update="token"))


def test_ctrl_c_keeps_what_was_learned_with_a_warm_start(kind):
    model = watched(kind(**SETTINGS | {"warm_start": True}), Interrupt(at=4))
    with pytest.raises(KeyboardInterrupt):
        model.fit(WORDS, TREES)
    assert model.n_iter_ == 4
    model.set_callbacks().set_params(max_iter=2).fit(WORDS, TREES)
    assert np.array_equal(model.history_, fitted(kind).history_[4:])


def test_a_fit_that_fails_leaves_the_fit_before(kind):
    model = fitted(kind)
    before = pickle.dumps(model)
    with pytest.raises(ValueError, match="leaves"):
        model.fit(WORDS[:2], TREES[1:3])
    assert_same_fit(model, pickle.loads(before))


def test_verbose_tells_of_sweeps_and_restarts(kind, capsys):
    fitted(kind, verbose=2, n_init=2)
    said = capsys.readouterr().out
    assert said.count("objective") == 2
    assert said.count("sweep 6:") == 2


@pytest.mark.many(usual=1)
@pytest.mark.filterwarnings("ignore:no tree derives sentences")
def test_grid_search_over_subtypes_by_brackets(kind):
    search = GridSearchCV(
        kind(**SETTINGS),
        {"n_subtypes": [1, 2]},
        scoring=make_scorer(metrics.bracket_f1),
        cv=[([0, 1, 2, 3], [4, 5]), ([2, 3, 4, 5], [0, 1])],
        error_score="raise",
    ).fit(WORDS, TREES)
    scores = search.cv_results_["split0_test_score"]
    for n_subtypes, score in zip([1, 2], scores, strict=True):
        model = kind(**SETTINGS | {"n_subtypes": n_subtypes}).fit(TREES[:4])
        assert metrics.bracket_f1(TREES[4:], model.predict(WORDS[4:]).tolist()) == score
    found = cross_val_predict(kind(**SETTINGS), WORDS, TREES, cv=2)
    assert found.tolist() == [
        *kind(**SETTINGS).fit(TREES[3:]).predict(WORDS[:3]),
        *kind(**SETTINGS).fit(TREES[:3]).predict(WORDS[3:]),
    ]


def test_callbacks_see_every_sweep(kind):
    scores = []

    class Recorder(Interrupt):
        def on_fit_task_end(self, estimator, context, *, X=None, fitted_estimator=None):
            if context.task_name == "sweep":
                scores.append(fitted_estimator.score(WORDS))
            return False

    model = watched(kind(**SETTINGS), Recorder(at=None, error=None)).fit(WORDS, TREES)
    assert len(scores) == model.n_iter_ == 6
    assert scores[-1] == model.score(WORDS)
    assert scores[2] == fitted(kind, max_iter=3).score(WORDS)


def test_rows_of_a_table_take_class_labels(kind):
    """Each label is the root of a flat tree; charts say which label covers a row."""
    table = np.array([[0, 0, 1], [0, 1, 0], [2, 3, 3], [3, 3, 2]] * 5)
    labels = np.array(["low", "low", "high", "high"] * 5)
    model = kind(**SETTINGS).fit(table, labels)
    assert model.n_features_in_ == 3
    charts = model.predict(table)
    assert charts.shape == (20, 3, 4)
    assert np.array_equal(model.symbols_[charts[:, 0, 3] - 1], labels)
    assert (np.delete(charts.reshape(20, 12), 3, axis=1) == 0).all()
    assert [tree.label() for tree in model.parse(table)] == labels.tolist()
    with pytest.raises(ValueError, match="2 features, but"):
        model.predict(table[:, :2])


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
def test_infinity_is_refused(kind, infinity):
    table = np.arange(12.0).reshape(4, 3) % 3
    model = kind(**SETTINGS).fit(table, [0, 1, 0, 1])
    table[2, 1] = infinity
    for call in (model.predict, lambda X: kind(**SETTINGS).fit(X, [0, 1, 0, 1])):
        with pytest.raises(ValueError, match="infinity"):
            call(table)


def test_split_merge_ends_with_fewer_subtypes_than_it_may(kind):
    model = fitted(kind, n_subtypes=4, schedule="split-merge", max_iter=40, alpha=0.01)
    numbers = model.n_subtypes_
    assert set(numbers) == {"S", "NP", "DT", "NN", "VP", "VBD", "PP", "IN", "@VP", "@S"} - {"@S"}
    assert 1 <= min(numbers.values()) < max(numbers.values()) <= 4
    # One of two is merged back in the first round; then what is left doubles, and half goes.
    assert sum(numbers.values()) <= 9 * 3
    every = fitted(kind, n_subtypes=4, schedule=SplitAndMerge(round_length=3, merge_share=0.0))
    assert set(every.n_subtypes_.values()) == {4}
    assert len(model.history_) == 40
    assert not model.converged_


def test_unknown_words_are_no_likelier_than_any_word(kind):
    """S stands above words and above phrases: without rare words its own are half of it."""
    trees = ["(S Ran)", "(S (NP (N the)) (V dog))", "(S (NP (N the)) (V dog))", "(S Ran)"]
    model = kind(1, rare_threshold=0, max_iter=3, random_state=0).fit(trees)
    unknown, known = model.score_samples([["12.5"], ["Ran"]])
    # Under one word alone is S, and Ran is all that it has.
    assert unknown == pytest.approx(known)
    assert unknown < 0
