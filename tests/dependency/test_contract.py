"""What may go in, what comes out, and what bad input is told: the four dependency estimators."""

import copy
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from estimators import all_sweeps
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.utils._param_validation import InvalidParameterError

from sklearn_cvb import (
    CVBDMV,
    EMDMV,
    EMHMM,
    VBDMV,
    DMVCounts,
    GammaPrior,
    GibbsDMV,
    Samples,
    Valence,
    metrics,
)

CLASSES = [EMDMV, VBDMV, CVBDMV, GibbsDMV]
TEXT = ["D N V", "N V", "P V D N", "P V", "P V N", "D A N V"]
X = [tags.split() for tags in TEXT]
HEADS = [[2, 3, 0], [2, 0], [2, 0, 4, 2], [2, 0], [2, 0, 2], [3, 3, 4, 0]]


def quick(kind, **keywords):
    settings = {"max_iter": 20 if kind is GibbsDMV else 5, "random_state": 0}
    return kind(**settings | keywords)


def fails(error, message, function, *arguments):
    """Assert that the call raises this error with exactly this text somewhere in its message."""
    with pytest.raises(error, match=re.escape(message)):
        function(*arguments)


# Known heads.


@pytest.mark.parametrize("kind", CLASSES)
def test_empty_sentences_are_named_as_other_models_name_them(kind):
    message = re.escape("sequence 1 is empty (1 empty of 2 sequences): leave empty sequences out")
    for y in (None, [[2, 0], []]):
        with pytest.raises(ValueError, match=message):
            kind().fit([["N", "V"], []], y)
    with pytest.raises(ValueError, match=message):
        quick(kind).fit([["N", "V"], ["V"]]).predict([["N", "V"], []])


@pytest.mark.parametrize("kind", CLASSES)
def test_all_heads_known(kind):
    model = quick(kind).fit(X, HEADS)
    assert [heads.tolist() for heads in model.labels_] == HEADS
    np.testing.assert_allclose(model.counts_.root[:5], [0, 0, 0, 0, 6])
    assert metrics.directed_accuracy(HEADS, model.predict(X)) > 0.9


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("unknown", [None, -1, np.nan])
def test_some_heads_known(kind, unknown):
    y = [None, [unknown, unknown], [unknown, 3, unknown, unknown], *[None] * 3]
    model = quick(kind).fit(X, y)
    assert model.labels_[2][1] == 3
    assert [len(heads) for heads in model.labels_] == [len(tags) for tags in X]
    free = quick(kind).fit(X)
    assert free.labels_[2][1] != 3
    assert model.score(X) != free.score(X)


@pytest.mark.parametrize("kind", CLASSES)
def test_supervision_none_ignores_heads(kind):
    one = quick(kind, supervision="none").fit(X, HEADS)
    other = quick(kind).fit(X)
    assert np.array_equal(one.attachprob_, other.attachprob_)


def test_a_table_and_heads_of_its_rows():
    table = np.array([[0.0, 1, 2, np.nan], [1, 2, np.nan, np.nan], [3, 2, 0, 1]])
    y = [[2, 3, 0, None], [2, 0], [2, 0, 4, 2]]
    model = quick(CVBDMV).fit(table, y)
    assert model.labels_.tolist() == [[2, 3, 0, -1], [2, 0, -1, -1], [2, 0, 4, 2]]
    assert model.predict(table).shape == (3, 4)
    tables = model.predict_proba(table)
    assert tables.shape == (3, 4, 5)
    assert np.isnan(tables[0, 3]).all()
    np.testing.assert_allclose(tables[2].sum(axis=1), 1)
    assert np.array_equal(quick(CVBDMV).fit(table, model.labels_).labels_, model.labels_)


def test_pandas_series():
    series, heads = pd.Series(X, index=range(5, 11)), pd.Series(HEADS, index=range(5, 11))
    assert np.array_equal(
        quick(EMDMV).fit(series, heads).attachprob_, quick(EMDMV).fit(X, HEADS).attachprob_
    )


@pytest.mark.many(usual=11)
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize(
    ("i", "heads", "message"),
    [
        (2, [3, 4, 0, 3], "y[2]: the arc between tokens 2 and 4 crosses that between 1 and 3"),
        (0, [2, 4, 0], "y[0][1] is 4: the sentence has 3 tokens, so a head is at most 3"),
        (0, [2, -2, 0], "y[0][1] is -2: the sentence has 3 tokens"),
        (0, [1, None, None], "y[0][0] is 1: the token would be its own head"),
        (2, [2, 4, None, 1], "y[2] has a cycle: 1 <- 2 <- 4 <- 1"),
        (2, [0, 1, 0, 3], "y[2] has two roots, tokens 1 and 3"),
        (0, [3, 0, None], "y[0]: the arc between tokens 1 and 3 covers the root, token 2"),
        (0, [2, None, 1], "y[0]: no projective tree with one root has the heads [2, None, 1]"),
        (1, [0], "sentence 1 has 2 tokens but y[1] has 1 heads"),
    ],
)
def test_impossible_heads(kind, i, heads, message):
    y = [*[None] * i, heads, *[None] * (5 - i)]
    fails(ValueError, message, quick(kind).fit, X, y)


@pytest.mark.parametrize("kind", CLASSES)
def test_y_of_another_form(kind):
    fails(ValueError, "X holds 6 sequences but y 5", quick(kind).fit, X, HEADS[:5])
    for y in (2, np.array(2), "2 3 0"):
        fails(TypeError, "y holds a list of heads for each sentence", quick(kind).fit, X, y)
    fails(TypeError, "y[0] is '2 3 0': y holds", quick(kind).fit, X, ["2 3 0", *HEADS[1:]])
    fails(TypeError, "y[0] is 2: y holds", quick(kind).fit, X, [2, *HEADS[1:]])
    fails(TypeError, "y[1][0] is 'V': y holds", quick(kind).fit, X, [None, ["V", 0], *[None] * 4])
    fails(TypeError, "y[1][0] is 1.5", quick(kind).fit, X, [None, [1.5, 0], *[None] * 4])


# Other input.


@pytest.mark.parametrize("kind", CLASSES)
def test_bad_sentences(kind):
    fails(TypeError, "X[0] is the string 'D N'", quick(kind).fit, ["D N"])
    fails(ValueError, "sequence 1 is empty", quick(kind).fit, [["D"], []])
    fails(
        ValueError,
        "X contains NaN or None (sequence 0, position 1): a dependency model needs every token",
        quick(kind).fit,
        [["D", None]],
    )
    model = quick(kind, handle_unknown="error").fit(X)
    fails(ValueError, "unknown word 'Z' (sequence 0, position 1", model.predict, [["D", "Z"]])
    with pytest.raises(NotFittedError):
        quick(kind).predict(X)
    with pytest.raises(NotFittedError):
        quick(kind).stopprob_  # noqa: B018


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("alpha", {"alpha": -1.0}),
        ("alpha_stop", {"valence": Valence(alpha_stop=-0.5)}),
        ("alpha", {"alpha": np.nan}),
        ("alpha", {"alpha": "much"}),
        ("init", {"init": "none"}),
        ("valence", {"valence": "extended"}),
    ],
)
def test_bad_settings(kind, name, settings):
    with pytest.raises(InvalidParameterError, match=f"The '{name}' parameter"):
        quick(kind, **settings).fit(X)


def test_em_learns_no_concentration():
    for value in ("auto", GammaPrior()):
        with pytest.raises(InvalidParameterError, match="'alpha' parameter of EMDMV must be"):
            EMDMV(alpha=value).fit(X)
        with pytest.raises(InvalidParameterError, match="give alpha_stop a number"):
            EMDMV(valence=Valence(alpha_stop=value)).fit(X)
    with pytest.raises(InvalidParameterError, match="alpha must be 0 or from 1e-10"):
        EMDMV(alpha=1e-11).fit(X)
    with pytest.raises(InvalidParameterError, match="alpha_stop must be 0 or from 1e-10"):
        EMDMV(valence=Valence(alpha_stop=1e-11)).fit(X)
    with pytest.raises(InvalidParameterError, match="'shape' parameter of GammaPrior must be"):
        VBDMV(alpha=GammaPrior(0.5, 1.0)).fit(X)


@pytest.mark.parametrize("kind", CLASSES)
def test_a_sentence_of_one_token_and_one_tag(kind):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "sentence 0 holds more than half")
        model = quick(kind, handle_unknown="error").fit([["a"]])
    assert [heads.tolist() for heads in model.labels_] == [[0]]
    assert model.rootprob_.tolist() == [1.0]
    assert [heads.tolist() for heads in model.predict([["a"]])] == [[0]]


@pytest.mark.parametrize("kind", [VBDMV, CVBDMV, GibbsDMV])
def test_tiny_concentrations(kind):
    model = quick(kind, alpha=1e-10).fit(X)
    assert np.isfinite(model.score(X))
    assert np.isfinite(model.history_).all()


@pytest.mark.long
def test_long_sentences_among_short_ones():
    """A sentence of 400 tokens is more than float64 holds."""
    long = [["D", "N", "V", "P"] * 100]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "sentence 6 holds more than half")
        model = quick(CVBDMV, max_iter=1).fit(X + long)
    assert np.isfinite(model.score_samples(long)).all()
    assert len(model.predict(long)[0]) == 400


def test_words_without_end_are_warned_of(monkeypatch):
    from sklearn_cvb.dependency import observation

    monkeypatch.setattr(observation, "_MANY_GIGABYTES", 1e-5)
    with pytest.warns(UserWarning, match=r"^12 tags have 396 parameters.* about 0\.0 GB; put one"):
        EMDMV(max_iter=1, vocabulary=[*"DNVPAabcdef"]).fit(X)
    monkeypatch.undo()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        EMDMV(max_iter=1, tol=0).fit(X)


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("handling", ["smooth", "rare"])
def test_unknown_tags(kind, handling):
    model = quick(kind, handle_unknown=handling, alpha=0.1).fit(X)
    assert model.attachprob_.shape == (6, 2, 6)
    np.testing.assert_allclose(model.attachprob_.sum(axis=2), 1)
    assert np.isfinite(model.score([["D", "Z", "V"]]))
    assert len(model.predict([["D", "Z", "V"]])[0]) == 3
    assert "Z" not in {tag for tags in model.sample(20, random_state=0)[0] for tag in tags}


def test_rare_tags_lend_their_counts():
    """A is seen once, below N: so is the unknown tag."""
    rare = quick(EMDMV, handle_unknown="rare").fit(X, HEADS)
    smooth = quick(EMDMV, handle_unknown="smooth").fit(X, HEADS)
    noun = rare.vocabulary_.tolist().index("N")
    known = rare.vocabulary_.tolist().index("A")
    assert smooth.attachprob_[noun, 0, -1] == 0
    assert rare.attachprob_[noun, 0, -1] == rare.attachprob_[noun, 0, known] > 0
    # It has no child.
    assert rare.stopprob_[-1, :, 0].tolist() == rare.stopprob_[known, :, 0].tolist() == [1, 1]
    assert smooth.score_samples([["N", "V"], ["D", "Z", "N", "V"]])[1] == -np.inf


def test_what_em_has_never_seen_is_said():
    model = quick(EMDMV, handle_unknown="error").fit(X, HEADS)
    with pytest.warns(UserWarning, match=r"no tree of sentences \[1\] \(1 in all\)"):
        heads = model.predict([X[0], ["A", "V", "V"]])
    assert len(heads[1]) == 3
    assert model.score_samples([X[0], ["A", "V", "V"]])[1] == -np.inf
    with pytest.warns(UserWarning, match=r"no tree of sentences \[0\]"):
        assert np.isnan(model.predict_proba([["A", "V", "V"]])[0]).all()


def test_an_unknown_tag_explains_itself():
    smooth = quick(EMDMV, handle_unknown="smooth").fit(X, HEADS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(smooth.predict([["D", "Z", "N", "V"]])[0]) == 4


# Starts.


@pytest.mark.parametrize("kind", CLASSES)
def test_a_fitted_model_is_a_start(kind):
    first = quick(CVBDMV).fit(X[:5])
    model = quick(
        kind, init=first, max_iter=1, **({"samples": Samples(thin=1)} if kind is GibbsDMV else {})
    ).fit(X)
    # "A" is new: the unknown tag of the first model stands for it.
    assert len(model.vocabulary_) == len(first.vocabulary_) + 1
    assert np.isfinite(model.score(X))
    strict = quick(CVBDMV, handle_unknown="error").fit(X[:5])
    fails(ValueError, "init does not know the tags ['A']", quick(kind, init=strict).fit, X)


def test_going_on_from_a_model_is_going_on():
    """EM from EM's estimates is EM."""
    whole = quick(EMDMV, max_iter=6, tol=0).fit(X)
    half = quick(EMDMV, max_iter=3, tol=0).fit(X)
    rest = quick(EMDMV, max_iter=2, tol=0, init=half).fit(X)
    np.testing.assert_allclose(rest.history_, whole.history_[4:], rtol=1e-10)


def test_restarts_keep_the_best():
    model = quick(VBDMV, init="random", n_init=5).fit(X)
    assert len(set(model.restart_objectives_)) > 1
    assert model.objective_ == model.restart_objectives_.max()
    with pytest.warns(UserWarning, match="n_init=5 is ignored: the harmonic start"):
        assert len(quick(VBDMV, n_init=5).fit(X).restart_objectives_) == 1
    assert len(quick(GibbsDMV, n_init=3).fit(X).restart_objectives_) == 3


@pytest.mark.parametrize("kind", CLASSES)
def test_a_warm_start_goes_on(kind):
    whole = quick(kind, max_iter=8, alpha=0.5, **all_sweeps(kind)).fit(X, HEADS[:1] + [None] * 5)
    model = quick(kind, max_iter=3, alpha=0.5, warm_start=True, **all_sweeps(kind))
    model.fit(X, HEADS[:1] + [None] * 5).set_params(max_iter=5)
    model.fit(X, HEADS[:1] + [None] * 5)
    if kind is GibbsDMV:
        assert len(model.history_) == 5
    else:
        assert model.history_.tolist() == whole.history_[3:].tolist()
    # Other heads: from the start.
    fresh = quick(kind, max_iter=5, alpha=0.5, **all_sweeps(kind)).fit(X)
    assert np.array_equal(model.fit(X).history_, fresh.history_)


def _times(labels):
    """How often each tree of each sentence was sampled."""
    return [{key: n for key, (n, _) in times.items()} for times in labels]


def test_a_chain_that_goes_on_leaves_what_the_fit_before_remembers():
    """A copy that has gone on shares nothing with the model: going on from that gives the same."""
    model = GibbsDMV(alpha=0.5, max_iter=30, warm_start=True, random_state=0).fit(X)
    remembered = model._learned.warm_start[1].state.work.label_counts
    before = pickle.dumps(remembered)
    other = copy.copy(model).fit(X)
    assert pickle.dumps(remembered) == before
    assert {sum(times.values()) for times in _times(remembered)} == {3}
    of_other = _times(other._learned.warm_start[1].state.work.label_counts)
    assert {sum(times.values()) for times in of_other} == {33}
    assert _times(model.fit(X)._learned.warm_start[1].state.work.label_counts) == of_other
    assert list(map(list, model.labels_)) == list(map(list, other.labels_))


# What comes out.


@pytest.mark.parametrize("kind", CLASSES)
def test_counts_and_probabilities(kind):
    model = quick(kind).fit(X)
    counts, n = model.counts_, len(model.vocabulary_) + 1
    assert isinstance(counts, DMVCounts)
    assert (counts.root.shape, counts.attach.shape) == ((n,), (n, 2, n))
    assert counts.stop.shape == (n, 2, 2, 2)
    assert counts.root.sum() == pytest.approx(6)
    assert counts.attach.sum() + 6 == pytest.approx(sum(map(len, X)))
    np.testing.assert_allclose(counts.stop[..., 1].sum(axis=2), counts.attach.sum(axis=2))
    assert model.rootprob_.sum() == pytest.approx(1)
    np.testing.assert_allclose(model.attachprob_.sum(axis=2), 1)
    assert ((model.stopprob_ >= 0) & (model.stopprob_ <= 1)).all()


def test_samples_come_from_the_model():
    """Learned again from what is drawn with its heads, the probabilities are the same."""
    model = quick(EMDMV, handle_unknown="error").fit(X, HEADS)
    drawn, heads = model.sample(4000, random_state=1)
    again = quick(EMDMV, handle_unknown="error", max_iter=1).fit(drawn, heads)
    assert np.abs(again.rootprob_ - model.rootprob_).max() < 0.03
    seen = again.counts_.attach.sum(axis=2) > 100
    assert np.abs(again.attachprob_ - model.attachprob_)[seen].max() < 0.05
    seen = again.counts_.stop.sum(axis=3) > 100
    assert np.abs(again.stopprob_ - model.stopprob_)[seen].max() < 0.05
    fails(ValueError, "n_samples and longest must be at least 1", model.sample, 0)


def test_a_grid_search_by_accuracy():
    search = GridSearchCV(
        quick(CVBDMV, supervision="none"),
        {"alpha": [0.1, 1.0], "valence__alpha_stop": [None, 1.0]},
        scoring=metrics.directed_accuracy_scorer,
        cv=2,
        error_score="raise",
    ).fit(X, HEADS)
    assert search.cv_results_["mean_test_score"].max() > 0.3


@pytest.mark.parametrize("kind", CLASSES)
def test_all_impossible_heads_are_named_at_once(kind):
    y = [None, [0, 0], [3, 4, 0, 3], None, None, None]
    # A tree that is none only with what is not known, too.
    y[0] = [2, None, 1]
    message = "(3 of 6 sentences have heads of no projective tree: 0, 1, 2)"
    fails(ValueError, message, quick(kind).fit, X, y)
    fails(ValueError, "y[2]: the arc between tokens 2", quick(kind).fit, X, [None, None, *y[2:]])
    with pytest.raises(ValueError, match=r"one of the heads$"):
        quick(kind).fit(X, [None, None, *y[2:]])
    many = [["N", "V", "N", "V"]] * 300
    with pytest.raises(ValueError, match=r"\(150 of 300 sentences .*: 0, 2, .*, 198, \.\.\.\)$"):
        quick(kind).fit(many, [[3, 4, 0, 3], [0, 1, 1, 1]] * 150)


def test_a_frozen_model_is_a_start_too():
    model = quick(EMDMV, handle_unknown="error").fit(X, HEADS)
    own, frozen = (
        quick(EMDMV, handle_unknown="error", init=init, max_iter=2).fit(X)
        for init in (model, FrozenEstimator(model))
    )
    assert np.array_equal(own.counts_.attach, frozen.counts_.attach)


def test_what_is_no_dependency_model_is_no_start():
    with pytest.raises(InvalidParameterError, match="fitted dependency model, got EMHMM"):
        EMDMV(init=EMHMM(2, random_state=0).fit(X)).fit(X)
    with pytest.raises(NotFittedError):
        EMDMV(init=EMDMV()).fit(X)
