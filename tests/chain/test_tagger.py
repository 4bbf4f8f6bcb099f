"""Taggers: dictionaries, labels, and what they leave open."""

import numpy as np
import pytest

from sklearn_cvb import (
    CVBHMMTagger,
    EMHMMTagger,
    GibbsHMMTagger,
    Samples,
    Symbols,
    TagDictionary,
    VBHMMTagger,
)

TAGGERS = [EMHMMTagger, VBHMMTagger, CVBHMMTagger, GibbsHMMTagger]

LEGAL = {"the": ("D",), "dog": ("N",), "runs": ("N", "V"), "saw": ("N", "V")}
X = [["the", "dog", "runs"], ["the", "saw", "runs"], ["dog", "saw", "the", "dog"], ["runs"]]
TAGS = [["D", "N", "V"], ["D", "N", "V"], ["N", "V", "D", "N"], ["V"]]


def quick(kind, *arguments, **keywords):
    settings = {"max_iter": 6, "random_state": 0} | keywords
    if kind is GibbsHMMTagger:
        settings = {"samples": Samples(thin=1, temperatures=None)} | settings
    return kind(*arguments, **settings)


def texts(rows):
    return [row.tolist() for row in rows]


@pytest.mark.parametrize("kind", TAGGERS)
def test_tags_stay_within_the_dictionary(kind):
    tagger = quick(kind, LEGAL).fit(X)
    assert tagger.classes_.tolist() == ["D", "N", "V"]
    for rows in (tagger.labels_, tagger.predict(X), tagger.predict(X, decoding="marginal")):
        for words, tags in zip(X, rows, strict=True):
            assert all(tag in LEGAL[word] for word, tag in zip(words, tags, strict=True))
    proba = tagger.predict_proba(X)
    assert proba[0][0] == pytest.approx([1, 0, 0], abs=1e-14)
    assert proba[0][1] == pytest.approx([0, 1, 0], abs=1e-14)
    assert proba[0][2][0] == 0
    assert proba[0].sum(axis=1) == pytest.approx([1, 1, 1], abs=1e-12)


@pytest.mark.parametrize("kind", TAGGERS)
def test_counts_are_sparse_and_rows_still_sum_to_one(kind):
    tagger = quick(kind, LEGAL, beta=0.1, alpha=0.1, emission=Symbols(handle_unknown="smooth")).fit(
        X
    )
    assert tagger.vocabulary_.tolist() == ["dog", "runs", "saw", "the"]
    emission = tagger.counts_.emission
    # Cells: dog N; runs N, V; saw N, V; the D; the unknown item all three.
    assert emission.nnz == 9
    assert emission.sum() == pytest.approx(11)
    assert tagger.emissionprob_.shape == (3, 5)
    assert tagger.emissionprob_.sum(axis=1) == pytest.approx([1, 1, 1], abs=1e-12)
    # W counts all symbols, also those a tag cannot emit: "the" is D's only word, three times.
    assert emission.toarray()[3] == pytest.approx([3, 0, 0], abs=1e-12)
    d_row = tagger.emissionprob_[0]
    assert d_row[3] == pytest.approx(3.1 / 3.5, abs=1e-12)
    assert d_row[[0, 1, 2, 4]] == pytest.approx(0.1 / 3.5, abs=1e-12)


@pytest.mark.parametrize("kind", TAGGERS)
def test_words_outside_the_vocabulary_keep_their_dictionary_entry(kind):
    legal = LEGAL | {"zebra": ("N",), "quickly": ("D", "V")}
    tagger = quick(kind, legal, alpha=0.1, beta=0.1).fit(X)
    # Dictionary words that were not seen do not count: four words and the unknown item.
    assert tagger.emissionprob_.shape == (3, 5)
    tags = tagger.predict([["the", "zebra", "quickly"]])[0]
    assert tags[1] == "N"
    assert tags[2] in ("D", "V")
    proba = tagger.predict_proba([["the", "zebra", "quickly", "unheard"]])[0]
    assert proba[1] == pytest.approx([0, 1, 0], abs=1e-14)
    assert proba[2][1] == 0
    assert (proba[3] > 0).all()


@pytest.mark.parametrize("kind", TAGGERS)
def test_unknown_tags_restrict_words_missing_from_the_dictionary(kind):
    corpus = [*X, ["the", "cat", "saw"]]
    for unknown_tags in (["N", "V"], {"V", "N"}, np.array(["N", "V"])):
        dictionary = TagDictionary(LEGAL, unknown_tags=unknown_tags)
        tagger = quick(kind, dictionary, alpha=0.1, beta=0.1).fit(corpus)
        assert tagger.counts_.emission.toarray()[0][0] == 0
        assert tagger.predict_proba([["cat", "unheard"]])[0][:, 0].tolist() == [0, 0]
    free = quick(kind, LEGAL, alpha=0.1, beta=0.1).fit(corpus)
    assert (free.predict_proba([["cat", "unheard"]])[0] > 0).all()
    extra = quick(kind, TagDictionary(LEGAL, unknown_tags=["N", "X"])).fit(corpus)
    assert extra.classes_.tolist() == ["D", "N", "V", "X"]


def test_a_single_tag_needs_no_list():
    tagger = quick(VBHMMTagger, {"the": "D", "dog": "N", "runs": "V", "saw": ["V"]}).fit(X)
    assert texts(tagger.labels_)[0] == ["D", "N", "V"]


def test_tags_may_be_any_hashable():
    legal = {"the": [("D", 1)], "dog": [7], "runs": [7, "V"], "saw": ["V"]}
    tagger = quick(VBHMMTagger, legal).fit(X)
    assert set(tagger.classes_) == {("D", 1), 7, "V"}
    assert tagger.labels_[0][0] == ("D", 1)
    assert tagger.labels_[0][1] == 7


@pytest.mark.parametrize("kind", TAGGERS)
def test_without_dictionary_and_labels_tags_are_numbers(kind):
    tagger = quick(kind, n_components=4).fit(X)
    assert tagger.classes_.tolist() == [0, 1, 2, 3]
    assert tagger.labels_[0].dtype == np.int64
    assert quick(kind).fit(X).classes_.tolist() == [0, 1]


def test_n_components_gives_way_to_known_tags():
    with pytest.warns(UserWarning, match="n_components=7 is ignored: the dictionary and y have 3"):
        tagger = quick(VBHMMTagger, LEGAL, n_components=7).fit(X)
    assert tagger.transmat_.shape == (3, 3)


# Labels.


def test_full_labels_are_relative_frequencies():
    tagger = EMHMMTagger(emission=Symbols(handle_unknown="error")).fit(X, TAGS)
    assert texts(tagger.labels_) == TAGS
    # First tags: D, D, N, V. Transitions: D->N 3; N->V 3; V->D 1.
    assert tagger.startprob_ == pytest.approx([1 / 2, 1 / 4, 1 / 4], abs=1e-12)
    expected = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    assert tagger.transmat_ == pytest.approx(np.array(expected), abs=1e-12)
    # Columns dog, runs, saw, the: D emits "the" 3 times; N dog 3, saw 1; V runs 3, saw 1.
    emission = [[0, 0, 0, 1], [3 / 4, 0, 1 / 4, 0], [0, 3 / 4, 1 / 4, 0]]
    assert tagger.emissionprob_ == pytest.approx(np.array(emission), abs=1e-12)
    # p(the dog runs) = 1/2 x 1 x 1 x 3/4 x 1 x 3/4.
    assert tagger.score_samples(X[:1]) == pytest.approx([np.log(9 / 32)], abs=1e-12)


def test_pseudo_counts_smooth_full_labels():
    tagger = EMHMMTagger(alpha=0.5, beta=0.25, emission=Symbols(handle_unknown="smooth")).fit(
        X, TAGS
    )
    assert tagger.startprob_ == pytest.approx(np.array([2.5, 1.5, 1.5]) / 5.5, abs=1e-12)
    assert tagger.transmat_[1] == pytest.approx(np.array([0.5, 0.5, 3.5]) / 4.5, abs=1e-12)
    by_hand = np.array([3.25, 0.25, 1.25, 0.25, 0.25]) / 5.25
    assert tagger.emissionprob_[1] == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize("kind", TAGGERS)
def test_known_labels_hold_and_the_others_are_free(kind):
    partly = [["D", None, "V"], None, ["N", float("nan"), "D", None], ["N"]]
    tagger = quick(kind, LEGAL).fit(X, partly)
    labels = texts(tagger.labels_)
    assert labels[0] == ["D", "N", "V"]
    assert labels[3] == ["N"]
    # Without its label the last sentence, and it alone, is open.
    opened = quick(kind, LEGAL, warm_start=True).fit(X, [*partly[:3], None])
    assert opened.training_posteriors()[0] == pytest.approx(np.eye(3), abs=1e-14)
    kept = quick(kind, LEGAL, warm_start=True).fit(X, partly)
    assert kept.training_posteriors()[3][0] == pytest.approx([0, 1, 0], abs=1e-14)
    if kind is not GibbsHMMTagger:
        assert 0 < opened.training_posteriors()[3][0][2] < 1


@pytest.mark.parametrize("kind", TAGGERS)
def test_labels_without_a_dictionary_give_the_tags(kind):
    tagger = quick(kind).fit(X, TAGS)
    assert tagger.classes_.tolist() == ["D", "N", "V"]
    assert texts(tagger.labels_) == TAGS
    assert tagger.score(X, TAGS) == 1.0


@pytest.mark.parametrize("kind", TAGGERS)
def test_one_label_holds_for_a_row_of_a_table(kind):
    table = np.array([["a", "b"], ["b", "b"], ["a", "a"]])
    tagger = quick(kind).fit(table, ["P", "Q", "P"])
    assert tagger.labels_.tolist() == [["P", "P"], ["Q", "Q"], ["P", "P"]]
    per_token = quick(kind).fit(table, np.array([["P", "P"], ["Q", "Q"], ["P", "P"]]))
    assert np.array_equal(per_token.transmat_, tagger.transmat_)
    mixed = quick(kind).fit(table, ["P", None, "Q"])
    assert mixed.labels_[0].tolist() + mixed.labels_[2].tolist() == ["P", "P", "Q", "Q"]


def test_labels_of_a_padded_table_stop_where_the_row_does():
    table = np.array([[0, 1, np.nan], [1, 1, 0]])
    full = EMHMMTagger().fit(table, [["P", "Q", "P"], ["Q", "Q", "P"]])
    short = EMHMMTagger().fit(table, [["P", "Q"], ["Q", "Q", "P"]])
    assert np.array_equal(full.transmat_, short.transmat_)
    assert full.counts_.emission.sum() == 5


def test_lists_of_numbers_may_have_a_number_for_a_row_but_words_may_not():
    numbers = [[1, 2], [2, 2]]
    tagger = EMHMMTagger().fit(numbers, [0, 1])
    assert texts(tagger.labels_) == [[0, 0], [1, 1]]
    with pytest.raises(TypeError, match=r"y\[0\] is the single value 0"):
        EMHMMTagger().fit([["a", "b"], ["b", "b"]], [0, 1])
    with pytest.raises(TypeError, match=r"y\[0\] is the single value 0"):
        EMHMMTagger().fit([[1, 2], [2]], [0, 1])


# Scores.


@pytest.mark.parametrize("kind", TAGGERS)
def test_score_is_accuracy_over_known_labels(kind):
    tagger = quick(kind, LEGAL).fit(X)
    predicted = tagger.predict(X)
    wrong = "N" if predicted[0][2] == "V" else "V"
    gold = [[None, "N", wrong], None, ["N", None, "D", "D"], None]
    # Known: dog N right, runs wrong, dog N right, the D right, dog D wrong.
    assert tagger.score(X, gold) == pytest.approx(3 / 5, abs=1e-15)
    unheard = [["D", "N", "X"], None, None, None]
    assert tagger.score(X, unheard) == pytest.approx(2 / 3, abs=1e-15)
    with pytest.raises(ValueError, match="y holds no known tag to score against"):
        tagger.score(X, [None] * 4)


@pytest.mark.parametrize("kind", TAGGERS)
def test_score_without_labels_is_the_log_likelihood_per_token(kind):
    tagger = quick(kind, LEGAL).fit(X)
    assert tagger.score(X) == pytest.approx(tagger.score_samples(X).sum() / 11, abs=1e-14)


def test_viterbi_and_marginal_decoding_differ_where_paths_do():
    # Two ways to V beat one way to N at the last token, but no single path does.
    tagger = EMHMMTagger(emission=Symbols(handle_unknown="error")).fit(
        [["s", "e"]] * 10,
        [["A", "N"]] * 4 + [["B", "V"]] * 3 + [["C", "V"]] * 3,
    )
    assert tagger.predict([["s", "e"]])[0].tolist() == ["A", "N"]
    marginal = tagger.predict([["s", "e"]], decoding="marginal")[0].tolist()
    proba = tagger.predict_proba([["s", "e"]])[0]
    assert proba[1] == pytest.approx([0, 0, 0, 0.4, 0.6], abs=1e-12)
    assert marginal == ["A", "V"]


@pytest.mark.parametrize("kind", TAGGERS)
def test_samples_are_words_with_their_tags(kind):
    tagger = quick(kind, LEGAL, alpha=0.1, beta=0.1).fit(X)
    words, tags = tagger.sample(50, length=4, random_state=0)
    assert set(np.unique(words)) <= set(LEGAL)
    assert set(np.unique(tags)) <= {"D", "N", "V"}
    assert words.shape == tags.shape == (50, 4)


@pytest.mark.parametrize(
    ("arguments", "y", "start"),
    [
        ({"tag_dictionary": {"a": ["X", "Y"], "b": ["Y"]}}, None, "token"),
        ({}, [["X", None], None, ["Y", None, "X"]], "token"),
        ({"n_components": 2}, None, "parameter"),
        ({"n_components": 2, "update": "token"}, None, "word"),
    ],
)
def test_where_a_fit_starts_by_default(arguments, y, start):
    X = [["a", "b"], ["b", "c", "a"], ["c", "a", "b"]]
    settings = {"random_state": 3, "max_iter": 2, "tol": 0} | arguments
    model = CVBHMMTagger(**settings).fit(X, y)
    named = CVBHMMTagger(**settings, init=start).fit(X, y)
    assert np.array_equal(model.history_, named.history_)
    other = CVBHMMTagger(**settings, init="word" if start != "word" else "token").fit(X, y)
    assert not np.array_equal(model.history_, other.history_)
