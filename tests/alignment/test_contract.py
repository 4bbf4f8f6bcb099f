"""What may go in, what comes out, and what bad input is told: the estimators of word alignment."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.utils._param_validation import InvalidParameterError

from sklearn_cvb import (
    IBM1,
    AlignmentCounts,
    CVBAlignmentHMM,
    EMAlignmentHMM,
    GibbsAlignmentHMM,
    Samples,
    VBAlignmentHMM,
    metrics,
)

CLASSES = [EMAlignmentHMM, VBAlignmentHMM, CVBAlignmentHMM, GibbsAlignmentHMM]
TEXT = [
    ("the house", "la casa"),
    ("a house", "una casa"),
    ("the book", "el libro"),
    ("a book", "un libro"),
    ("the green house", "la casa verde"),
    ("a green book is green", "un libro verde es verde"),
]
X = [(source.split(), target.split()) for source, target in TEXT]
SHORTEST = 2


def quick(kind, **keywords):
    settings = {"random_state": 0}
    if kind is GibbsAlignmentHMM:
        settings |= {"max_iter": 60, "samples": Samples(thin=1)}
    return kind(**settings | keywords)


def fails(error, message, function, *arguments):
    """Assert that the call raises this error with exactly this text somewhere in its message."""
    with pytest.raises(error, match=re.escape(message)):
        function(*arguments)


def same(left, right):
    return len(left) == len(right) and all(map(np.array_equal, left, right))


# What comes out.


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("kind", CLASSES)
def test_words_find_their_translations(kind):
    model = quick(kind).fit(X)
    if kind is not GibbsAlignmentHMM:
        assert [row.tolist() for row in model.labels_[:5]] == [[0, 1]] * 4 + [[0, 2, 1]]
    for word, other in (("house", "casa"), ("book", "libro"), ("green", "verde")):
        assert model.lexicon_.translations(word, 1)[0][0] == other
    assert isinstance(model.counts_, AlignmentCounts)
    counts = model.counts_.lexicon.toarray()
    assert counts.sum() == pytest.approx(sum(len(target) for _, target in X))
    assert model.counts_.null.sum() == pytest.approx(counts.sum())
    assert counts[-1].sum() == pytest.approx(model.counts_.null[1])
    assert model.jumpprob_.shape == (21,)
    assert model.jumpprob_.sum() == pytest.approx(1)
    assert model.p_null_ == pytest.approx(0.2)


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("kind", CLASSES)
def test_new_pairs_with_new_words(kind):
    model = quick(kind, beta=0.01).fit(X)
    new = [(["a", "green", "zebra"], ["una", "cebra", "verde"]), (["book"], ["libro"])]
    positions = model.predict(new)
    assert positions.shape == (2,)
    assert positions[0].tolist() == [0, 2, 1]
    assert positions[1].tolist() == [0]
    tables = model.predict_proba(new)
    assert [table.shape for table in tables] == [(3, 4), (1, 2)]
    for table in tables:
        np.testing.assert_allclose(table.sum(axis=1), 1)
    best = [np.where(t.argmax(1) == t.shape[1] - 1, -1, t.argmax(1)) for t in tables]
    assert same(model.predict(new, decoding="marginal"), best)
    scores = model.score_samples(new)
    lengths = [len(target) for _, target in new]
    np.testing.assert_array_equal(model.score_samples(new, per="token"), scores / lengths)
    assert np.isfinite(scores).all()
    assert model.score(new) == pytest.approx(scores.sum() / 4)


def test_em_without_prior_takes_unknown_words_for_unobserved():
    model = EMAlignmentHMM().fit(X)
    new = [(["a", "house"], ["una", "cebra"])]
    assert model.score_samples(new)[0] == -np.inf
    assert model.predict(new)[0].tolist() == [0, 1]
    assert np.isfinite(model.predict_proba(new)[0]).all()


def test_what_nothing_explains_is_said():
    """NULL, too, has unlearned "la": in a pair without its source nothing gives it a chance."""
    model = EMAlignmentHMM(p_null=0.0).fit(X)
    new = [(["book"], ["casa"]), (["book"], ["libro"])]
    for method in (model.predict, model.predict_proba):
        with pytest.warns(UserWarning, match=r"no alignment of pairs \[0\] \(1 in all\)") as found:
            result = method(new)
        assert found[0].filename == __file__
    assert np.isnan(result[0]).all()
    assert model.score_samples(new)[0] == -np.inf


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("kind", CLASSES)
def test_a_table_has_the_source_in_its_first_half(kind):
    table = np.array([[0, 1, 10, 11], [0, 2, 10, 12], [2, 1, 12, 11], [1, 0, 11, 10]])
    model = quick(kind).fit(table)
    pairs = [(row[:2], row[2:]) for row in table.tolist()]
    other = quick(kind).fit(pairs)
    assert np.array_equal(model.labels_, np.stack(list(other.labels_)))
    assert model.predict(table).shape == (4, 2)
    assert model.predict_proba(table).shape == model.link_proba_.shape == (4, 2, 3)
    assert model.source_vocabulary_.tolist() == [0, 1, 2]
    assert model.vocabulary_.tolist() == [10, 11, 12]
    odd = quick(kind).fit(table[:, :3])
    assert odd.labels_.shape == (4, 2)
    fails(ValueError, "minimum of 2 is required", quick(kind).fit, table[:, :1])


@pytest.mark.long
def test_frames_arrays_and_series_of_pairs():
    expected = CVBAlignmentHMM().fit(X).labels_
    frame = pd.DataFrame({"en": [a for a, _ in X], "es": [b for _, b in X]}, index=range(3, 9))
    cells = np.empty((len(X), 2), object)
    for i, pair in enumerate(X):
        cells[i, 0], cells[i, 1] = pair
    for given in (frame, cells, pd.Series(X, index=range(3, 9)), tuple(X), iter(X)):
        assert same(CVBAlignmentHMM().fit(given).labels_, expected)


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("kind", CLASSES)
def test_clone_pickle_and_restarts(kind):
    model = quick(kind, init="random", n_init=3).fit(X)
    copy = pickle.loads(pickle.dumps(model))
    again = clone(model).set_params(n_jobs=2).fit(X)
    for other in (copy, again):
        assert same(other.link_proba_, model.link_proba_)
        assert np.array_equal(other.restart_objectives_, model.restart_objectives_)
        assert same(other.predict_proba(X), model.predict_proba(X))
    assert len(set(model.restart_objectives_)) == 3
    assert model.objective_ == model.restart_objectives_.max()


@pytest.mark.parametrize("kind", CLASSES[:3])
def test_a_warm_start_goes_on_under_the_prior_of_now(kind):
    settings = {"tol": 0.0, "alpha": 0.5, "beta": 0.1}
    model = quick(kind, max_iter=3, warm_start=True, **settings).fit(X)
    model.set_params(max_iter=2).fit(X)
    whole = quick(kind, max_iter=5, **settings).fit(X)
    assert np.array_equal(model.history_, whole.history_[3:])
    assert same(model.link_proba_, whole.link_proba_)
    other = clone(model).fit(X).set_params(beta=0.3, max_iter=1).fit(X)
    assert not same(other.link_proba_, clone(model).set_params(max_iter=3).fit(X).link_proba_)


def test_known_links_change_the_data_of_a_warm_start():
    model = CVBAlignmentHMM(warm_start=True, max_iter=2, tol=0).fit(X)
    y = [[(0, 1)], *[None] * 5]
    assert same(
        model.fit(X, y).link_proba_, CVBAlignmentHMM(max_iter=2, tol=0).fit(X, y).link_proba_
    )


# Where it starts.


def test_posteriors_and_models_are_starts():
    first = CVBAlignmentHMM(max_iter=3).fit(X)
    tables = first.predict_proba(X)
    by_tables = EMAlignmentHMM(init=tables, max_iter=1).fit(X)
    by_model = EMAlignmentHMM(init=first, max_iter=1).fit(X)
    assert same(by_tables.link_proba_, by_model.link_proba_)
    even = EMAlignmentHMM(init="even", max_iter=1).fit(X)
    assert not same(by_tables.link_proba_, even.link_proba_)
    with pytest.warns(UserWarning, match="n_init=3 is ignored: init says where to start"):
        EMAlignmentHMM(init=first, n_init=3).fit(X)
    wrong = [np.ones((2, 2)), *tables[1:]]
    fails(
        ValueError,
        "init[0] has shape (2, 2) instead of (2, 3)",
        by_tables.set_params(init=wrong).fit,
        X,
    )
    negative = [-tables[0], *tables[1:]]
    fails(ValueError, "init[0] holds negative", by_tables.set_params(init=negative).fit, X)
    fails(
        ValueError,
        "init is 5 arrays for 6 sentence pairs",
        by_tables.set_params(init=tables[1:]).fit,
        X,
    )


# What is known.


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("kind", CLASSES)
def test_known_links_restrict(kind):
    y = [[(1, 0), (0, 1)], None, [(-1, 0)], [(None, 1)], [(0, 1), (1, 1)], None]
    model = quick(kind).fit(X, y)
    assert model.labels_[0].tolist() == [1, 0]
    assert model.link_proba_[0][0].tolist() == [0, 1, 0]
    assert model.link_proba_[2][0].tolist() == [0, 0, 1]
    assert model.labels_[3][1] == -1
    assert model.link_proba_[4][1][[2, 3]].tolist() == [0, 0]
    assert model.labels_[4][1] in (0, 1)
    blind = quick(kind, supervision="none").fit(X, y)
    assert same(blind.link_proba_, quick(kind).fit(X).link_proba_)


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("kind", CLASSES)
def test_known_translations_have_prior_mass(kind):
    one = [(["p", "q"], ["x", "y"])] * 3
    for first, second in (("x", "y"), ("y", "x")):
        weights = {"p": {first: 50.0}, "q": [second], "r": {"z"}}
        model = quick(kind, dictionary=weights, beta=0.1, init="even").fit(one)
        assert model.lexicon_.translations("p", 1)[0][0] == first
        assert model.lexicon_.translations("r", 1)[0][0] == "z"
        assert "r" in model.source_vocabulary_
    if kind is not GibbsAlignmentHMM:
        above = model.counts_.lexicon.toarray()[0] + 0.1 + np.array([0, 50, 0, 0])
        found = dict(model.lexicon_.translations("p"))
        assert found["y"] == pytest.approx(above[1] / above.sum())


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("kind", CLASSES)
def test_null_is_learned_where_it_has_a_prior(kind):
    rng = np.random.default_rng(0)
    own = [([f"s{a}", f"s{b}"], [f"t{a}", f"t{b}", "ne"]) for a, b in rng.integers(9, size=(60, 2))]
    model = quick(kind, p_null=(1.0, 1.0), longest_jump=2, beta=0.01).fit(own)
    links, none = model.counts_.null
    assert links + none == pytest.approx(180)
    assert model.p_null_ == pytest.approx((none + 1) / (links + none + 2))
    assert abs(model.p_null_ - quick(kind).fit(own).p_null_) > 0.01


# What is told.


@pytest.mark.many(usual=11)
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        ((["a"], []), ValueError, "X[1][1], the target sentence, is empty: leave the pair out"),
        (([], ["b"]), ValueError, "X[1][0], the source sentence, is empty: leave the pair out"),
        ((["a"], "b c"), TypeError, "X[1][1], the target sentence, is the string 'b c'"),
        ((7, ["b"]), TypeError, "X[1][0], the source sentence, is 7 of type int"),
        ((["a"], None), TypeError, "X[1][1], the target sentence, is None of type NoneType"),
        (("a", "b"), TypeError, "X[1][0], the source sentence, is the string 'a': split it; each "),
        (("a", "b"), TypeError, "list(zip(source, target)) makes of two lists of sentences"),
        ("a b", TypeError, "X[1] is the string 'a b': each sample is a pair"),
        (3, TypeError, "X[1] is 3 of type int: each sample is a pair"),
        ((["a"], ["b"], ["c"]), ValueError, "X[1] has 3 parts: each sample is a pair"),
        (
            (["a", None], ["b"]),
            ValueError,
            "X contains NaN or None (X[1][0], the source sentence, position 1)",
        ),
        ((["a"], ["b", np.nan]), ValueError, "(X[1][1], the target sentence, position 1)"),
        ((["a"], [["b"]]), TypeError, "is not hashable"),
    ],
)
def test_bad_pairs(kind, bad, error, message):
    fails(error, message, quick(kind).fit, [X[0], bad])
    model = quick(kind).fit(X)
    fails(error, message, model.predict, [X[0], bad])


def test_all_pairs_with_an_empty_sentence_are_named_at_once():
    bad = [([], ["b"]), X[0], (["a"], []), ([], [])]
    message = "X[0][0], the source sentence, is empty: leave the pair out (3 of 4 pairs have an "
    model = quick(CLASSES[0])
    fails(ValueError, f"{message}empty sentence: 0, 2, 3)", model.fit, bad)
    fails(ValueError, f"{message}empty sentence: 0, 2, 3)", model.fit(X).predict, bad)


@pytest.mark.many(usual=11)
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize(
    ("links", "error", "message"),
    [
        (
            [(2, 0)],
            ValueError,
            "y[1] holds the link (2, 0): its source position 2 is out of range, and the source",
        ),
        (
            [(0, 5)],
            ValueError,
            "its target position 5 is out of range, and the target sentence has 2 words",
        ),
        ([(-2, 0)], ValueError, "its source position -2 is out of range"),
        ([(0, -1)], ValueError, "its target position -1 is out of range"),
        (["0-0"], TypeError, "y[1] holds '0-0': links are pairs"),
        ([(0, 0, 0)], TypeError, "y[1] holds (0, 0, 0): links are pairs"),
        ([(0.5, 0)], TypeError, "y[1] holds (0.5, 0): links are pairs"),
        ([(True, 0)], TypeError, "y[1] holds (True, 0): links are pairs"),
        ("0-0", TypeError, "y[1] is '0-0' of type str: links are pairs"),
        (4, TypeError, "y[1] is 4 of type int: links are pairs"),
    ],
)
def test_bad_links(kind, links, error, message):
    fails(error, message, quick(kind).fit, X, [None, links, *[None] * 4])


@pytest.mark.parametrize("kind", CLASSES)
def test_bad_y_and_x(kind):
    fails(ValueError, "X holds 6 sequences but y 2", quick(kind).fit, X, [None, None])
    fails(TypeError, "y holds the links of each sentence pair", quick(kind).fit, X, 7)
    fails(ValueError, "X holds no sentence pair", quick(kind).fit, [])
    fails(TypeError, "X is the string", quick(kind).fit, "the house")
    with pytest.raises(NotFittedError):
        quick(kind).predict(X)
    with pytest.raises(NotFittedError):
        quick(kind).lexicon_  # noqa: B018
    model = quick(kind, handle_unknown="error").fit(X)
    fails(
        ValueError,
        "unknown source word 'cat' (sequence 0, position 1",
        model.predict,
        [(["a", "cat"], ["un"])],
    )
    fails(
        ValueError,
        "unknown target word 'gato' (sequence 0, position 0",
        model.score,
        [(["a"], ["gato"])],
    )
    fails(KeyError, "'cat' is no source word", model.lexicon_.translations, "cat")


@pytest.mark.many(usual=11)
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize(
    "settings",
    [
        {"alpha": -1.0},
        {"beta": np.nan},
        {"beta": "auto"},
        {"p_null": 1.0},
        {"p_null": -0.1},
        {"p_null": (1.0,)},
        {"p_null": (0.0, 1.0)},
        {"longest_jump": 0},
        {"init": "ibm4"},
        {"init": IBM1(-1)},
        {"dictionary": ["house"]},
        {"handle_unknown": "rare"},
    ],
)
def test_bad_settings(kind, settings):
    # What is wrong in an object is told by its own field.
    name = "n_sweeps" if isinstance(settings.get("init"), IBM1) else next(iter(settings))
    with pytest.raises(InvalidParameterError, match=name):
        quick(kind, **settings).fit(X)


@pytest.mark.parametrize(
    ("entry", "error", "message"),
    [
        ("casa", TypeError, "dictionary['house'] is 'casa': a dictionary maps"),
        (3, TypeError, "dictionary['house'] is 3: a dictionary maps"),
        ([["casa"]], TypeError, "a dictionary maps"),
        ({"casa": -1.0}, ValueError, "dictionary['house']['casa'] is -1.0: weights are finite"),
        ({"casa": np.inf}, ValueError, "weights are finite numbers above 0"),
        ({"casa": "much"}, ValueError, "weights are finite numbers above 0"),
    ],
)
def test_bad_dictionaries(entry, error, message):
    fails(error, message, CVBAlignmentHMM(dictionary={"house": entry}).fit, X)


def test_one_pair_that_holds_most_words_is_named():
    with pytest.warns(UserWarning, match="sentence 1 holds more than half .* use VBAlignmentHMM"):
        CVBAlignmentHMM().fit([X[0], (["a"] * 9, ["b"] * 9)])


def test_the_lexicon_is_readable():
    lexicon = CVBAlignmentHMM().fit(X).lexicon_
    assert len(lexicon) == 6
    first, second = repr(lexicon).splitlines()[:2]
    assert first == "Lexicon of 6 source and 8 target words"
    assert second.startswith("a: un ")
    assert sum(p for _, p in lexicon.translations(None)) == pytest.approx(1, abs=0.01)
    chances = [p for _, p in lexicon.translations("green")]
    assert chances == sorted(chances, reverse=True)
    assert len(lexicon.translations("green", 2)) == SHORTEST


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("concentration", [1e-10, 1e10])
def test_the_ends_of_concentrations(kind, concentration):
    settings = {"alpha": concentration, "beta": concentration}
    model = quick(kind, max_iter=30, p_null=(concentration, concentration), **settings).fit(X)
    assert np.isfinite(model.history_).all()
    assert np.isfinite(model.score(X))
    if concentration < 1:
        assert [row.tolist() for row in model.labels_[:2]] == [[0, 1]] * 2
    else:
        # All words are equally likely.
        assert model.score(X) == pytest.approx(-np.log(9), abs=1e-6)


@pytest.mark.long
def test_beta_is_chosen_by_f1_without_learning_from_links():
    y = [[(0, 0), (1, 1)]] * 4 + [[(0, 0), (1, 2), (2, 1)], [(i, i) for i in range(5)]]
    grid = {"beta": [0.001, 0.1]}
    model = CVBAlignmentHMM(supervision="none")
    search = GridSearchCV(model, grid, scoring=metrics.alignment_f1_scorer, cv=2).fit(X, y)
    scores = search.cv_results_["split0_test_score"]
    found = clone(model).fit(X[3:], None).predict(X[:3])
    assert scores[0] == metrics.alignment_f1(y[:3], found)
    predicted = cross_val_predict(model, X, cv=2)
    assert same(predicted[:3], found)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_smallest_concentration_of_jumps_overflows_nothing():
    """No jump at all is counted where a source sentence has one word, and NULL takes the rest."""
    pairs = [(["a"], ["x"])]
    model = VBAlignmentHMM(alpha=1e-10, p_null=0.9, max_iter=30, random_state=0).fit(pairs)
    assert np.isfinite(model.history_).all()


@pytest.mark.many(usual=1)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("longest_jump", [2, 10])
def test_a_sampler_ends_where_no_jump_stays(longest_jump):
    """With the smallest concentration a jump that was never seen stays once in 10 billion draws."""
    pairs = [(["a"], ["x"]), (["a", "b"], ["x", "y"]), (["b", "a", "c"], ["z", "y", "x"])] * 3
    settings = {"alpha": 1e-10, "longest_jump": longest_jump, "init": "even", "max_iter": 300}
    for seed in range(5):
        model = GibbsAlignmentHMM(random_state=seed, n_init=1, **settings).fit(pairs)
        assert np.isfinite(model.history_).all()
        assert np.isfinite(model.score(pairs))


@pytest.mark.parametrize("kind", CLASSES)
def test_pairs_without_an_alignment_are_left_out(kind):
    """Words that are said to come from NULL, which has no weight."""
    pairs, links = [(["a"], ["x", "y"]), (["b"], ["x"])] * 2, [[(None, 0)], None] * 2
    model = kind(p_null=0.0, max_iter=3, init="even", n_init=1, random_state=0)
    with pytest.warns(UserWarning, match="2 sentence pairs have no alignment with any weight"):
        model.fit(pairs, links)
    assert model.unexplained_.tolist() == [0, 2]
    assert model.counts_.null.tolist() == [2, 0]
    assert [row.tolist() for row in model.labels_[1::2]] == [[0], [0]]
    fails(ValueError, "nothing to learn from: all 2", model.fit, pairs[::2], links[::2])


def test_a_fit_that_goes_on_does_not_ask_where_to_start():
    asked = []

    class Counting(EMAlignmentHMM):
        def predict_proba(self, X):
            asked.append(len(X))
            return super().predict_proba(X)

    first = Counting(max_iter=2, tol=0).fit(X)
    model = EMAlignmentHMM(init=first, max_iter=2, tol=0, warm_start=True).fit(X)
    assert asked == [len(X)]
    assert len(model.set_params(max_iter=4).fit(X).history_) == 4
    assert asked == [len(X)]
