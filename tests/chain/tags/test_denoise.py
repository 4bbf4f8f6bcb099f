"""Taggers under `denoise`: what is dropped, what is left alone, and where they start then."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from sklearn_cvb import (
    CVBHMMTagger,
    EMHMMTagger,
    GibbsHMMTagger,
    Samples,
    Symbols,
    TagDictionary,
    VBHMMTagger,
    tag_dictionary_from,
)
from sklearn_cvb.chain.parameters.rows import prior_of
from sklearn_cvb.chain.starts import starting_points as start
from sklearn_cvb.chain.tags.word_forms import SHAPE_WEIGHT, ShapeShares
from sklearn_cvb.datasets import fetch_mac_morpho, fetch_wsj

TAGGERS = [EMHMMTagger, VBHMMTagger, CVBHMMTagger, GibbsHMMTagger]
LEGAL = {
    "The": ["D", "N"],
    "the": ["D", "V"],
    "dog": ["N"],
    "duck": ["N", "V"],
    "Duck": ["V", "N"],
    "it": ["P"],
    "It": ["P", "N"],
    "runs": ["V", "N"],
}
X = [["The", "duck", "runs"], ["It", "runs"], ["the", "dog", "runs"], ["Duck", "it"]] * 3
DROPPED = {"The": ("N",), "the": ("V",), "It": ("N",)}


def quick(kind, dictionary, **keywords):
    """A tagger that fits in milliseconds."""
    if kind is GibbsHMMTagger:
        keywords = {"max_iter": 12, "samples": Samples(thin=1, temperatures=(2.0, 0.08))} | keywords
    return kind(dictionary, **{"max_iter": 4, "random_state": 0} | keywords)


@pytest.mark.parametrize("kind", TAGGERS)
def test_slips_are_dropped_and_told(kind):
    model = quick(kind, LEGAL).fit(X)
    assert model.dropped_tags_ == DROPPED
    assert {tags[0] for tags in model.labels_[::4]} == {"D"}
    assert model.classes_.tolist() == ["D", "N", "P", "V"]
    assert quick(kind, TagDictionary(LEGAL, denoise="none")).fit(X).dropped_tags_ == {}
    # What another text does not bear out stays.
    assert quick(kind, LEGAL).fit([["The", "duck"], ["Duck", "runs"]]).dropped_tags_ == {}


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("kind", TAGGERS)
@pytest.mark.parametrize("case", ["weights", "numbers", "small letters"])
def test_what_cannot_be_cleaned_is_fitted_as_without(kind, case):
    words = {word: i for i, word in enumerate(LEGAL)}
    legal, sentences = LEGAL, X
    if case == "weights":
        legal = {word: dict.fromkeys(tags, 3) for word, tags in LEGAL.items()}
    elif case == "numbers":
        legal = {words[word]: tags for word, tags in LEGAL.items()}
        sentences = [[words[word] for word in row] for row in X]
    else:
        sentences = [[word.lower() for word in row] for row in X]
    cleaned = quick(kind, legal).fit(sentences)
    left = quick(kind, TagDictionary(legal, denoise="none")).fit(sentences)
    assert cleaned.dropped_tags_ == {}
    np.testing.assert_array_equal(cleaned.counts_.transition, left.counts_.transition)
    np.testing.assert_array_equal(cleaned.history_, left.history_)


@pytest.mark.parametrize("kind", TAGGERS)
def test_with_labels_nothing_is_dropped(kind):
    y = [["N", None, None], *[None] * 11]
    model = quick(kind, LEGAL).fit(X, y)
    assert model.dropped_tags_ == {}
    assert model.labels_[0][0] == "N"
    # Without any label among them they say nothing.
    nothing = [[None] * len(row) for row in X]
    unlabelled, without = (quick(kind, LEGAL).fit(X, tags) for tags in (nothing, None))
    assert unlabelled.dropped_tags_ == DROPPED
    np.testing.assert_array_equal(unlabelled.history_, without.history_)
    # The tag of a label may be one that no word keeps.
    legal = {"a": ["D", "X"], "A": ["D"], "b": ["N", "D"]}
    y = [[None, None], [None, "X"]]
    with pytest.warns(UserWarning, match="1 labels are not in tag_dictionary"):
        model = quick(kind, legal).fit([["a", "b"], ["A", "b"]] * 3, y + [None] * 4)
    assert model.labels_[1].tolist() == ["D", "X"]


@pytest.mark.parametrize("kind", TAGGERS)
def test_labels_say_how_often_a_word_has_each_of_its_tags(kind):
    y = [[None, "N", "V"], [None, "V"], [None, None, "N"], *[None] * 9]
    model = quick(kind, {**LEGAL, "dog": {"N": 3, "V": 1}})
    reading = model._read(X, y)
    words, cells = reading.words.types.tolist(), reading.problem.cells

    def expected(word):
        i = words.index(word)
        return cells.tag_prior.expected_counts[cells.indptr[i] : cells.indptr[i + 1]]

    shapes = ShapeShares({**LEGAL, "dog": ["N", "V"]})
    noun, verb = SHAPE_WEIGHT * shapes.shares_of("runs", ["N", "V"])
    assert noun + verb == pytest.approx(SHAPE_WEIGHT)
    # 9 uses, of which 2 labels say V and 1 N.
    np.testing.assert_allclose(expected("runs"), 6 * np.array([1 + noun, 2 + verb]) / 3.15)
    noun, verb = SHAPE_WEIGHT * shapes.shares_of("duck", ["N", "V"])
    np.testing.assert_allclose(expected("duck"), 2 * np.array([1 + noun, verb]) / 1.15)
    # Words without labels are known by their shape, entries with weights as they say.
    np.testing.assert_allclose(
        expected("The"), 3 * SHAPE_WEIGHT * shapes.shares_of("The", ["D", "N"])
    )
    np.testing.assert_allclose(expected("dog"), 3 * np.array([0.75, 0.25]))


@pytest.mark.parametrize("kind", TAGGERS[:3])
def test_labels_of_the_first_batch_say_it_of_all(kind):
    y = [["D", "N", "V"], ["P", "V"], *[None] * 10]
    whole = quick(kind, LEGAL).fit(X, y)
    stream = quick(kind, LEGAL).partial_fit(X[:4], y[:4]).partial_fit(X[4:])
    fitted = quick(kind, LEGAL).fit(X[:4], y[:4]).partial_fit(X[4:])
    for model in (stream, fitted):
        assert model.vocabulary_.tolist() == whole.vocabulary_.tolist()
        np.testing.assert_allclose(
            model._learned.layout.tag_prior.expected_counts,
            whole._learned.layout.tag_prior.expected_counts,
        )


def test_all_labels_leave_maximum_likelihood():
    y = [[LEGAL[word][0] for word in row] for row in X]
    model = EMHMMTagger(LEGAL, emission=Symbols(handle_unknown="error")).fit(X, y)
    plain = EMHMMTagger(
        TagDictionary(LEGAL, denoise="none"), emission=Symbols(handle_unknown="error")
    ).fit(X, y)
    assert model._learned.words.is_clean
    np.testing.assert_allclose(model.emissionprob_, plain.emissionprob_, atol=1e-12)
    np.testing.assert_allclose(model.transmat_, plain.transmat_, atol=1e-12)


def test_shares_by_shape_are_a_prior_that_dictionary_weight_scales():
    model = CVBHMMTagger(
        LEGAL, random_state=0, max_iter=1, emission=Symbols(handle_unknown="error")
    ).fit(X)
    heavy = CVBHMMTagger(TagDictionary(LEGAL, weight=100.0), random_state=0).fit(X)

    cells = model._read(X, None).problem.cells
    words = model.vocabulary_.tolist()
    own = slice(*cells.indptr[[words.index("runs"), words.index("runs") + 1]])
    noun, verb = expected = cells.tag_prior.expected_counts[own]
    uses = sum(row.count("runs") for row in X)
    assert noun + verb == pytest.approx(SHAPE_WEIGHT * uses)
    prior = prior_of(cells, heavy._model(heavy._read(X, None)).settings.concentrations)
    np.testing.assert_allclose(prior.emission[own], 0.03 + 100 * expected)


def test_learned_emission_concentrations_have_an_equal_prior():
    for y in (None, [["D", "N", "V"], *[None] * 11]):
        model = VBHMMTagger(LEGAL, beta="auto", max_iter=25, random_state=0).fit(X, y)
        assert model.dropped_tags_ == ({} if y else DROPPED)
        assert np.ptp(model._learned.prior.emission) == 0


def test_a_start_from_the_neighbours():
    legal = {"The": "D", "the": "D", "x": ["A", "B"], "a": "A", "b": "B", "D": "D"}
    model = CVBHMMTagger(
        TagDictionary(legal, denoise="none"),
        init="context",
        max_iter=1,
        emission=Symbols(handle_unknown="error"),
    )
    X = [["The", "a"], ["the", "x"], ["x", "b"]]
    problem = model._read(X, None).problem
    entries = start.starting_point("context", problem, None, None, None).posterior
    # Tokens: The a | the x | x b; states A, B, D. From D: a once certain and counted twice, x half.
    after_d = np.array([2.6, 0.6, 0.1])
    first = np.array([0.6, 0.6, 4.1])
    to_b = np.array([0.6, 0.6])
    second = after_d[:2] / after_d[:2].sum()
    third = first[:2] * to_b / (to_b @ first[:2])
    np.testing.assert_allclose(entries, [1, 1, 1, *second, *third, 1], atol=1e-12)


def test_blocks_of_the_start_from_neighbours(monkeypatch):
    rng = np.random.default_rng(0)
    legal = {f"w{i}": [f"t{k}" for k in rng.permutation(5)[: 1 + i % 4]] for i in range(9)}
    X = [[f"w{i}" for i in rng.integers(9, size=rng.integers(1, 9))] for _ in range(40)]
    problem = CVBHMMTagger(legal)._read([*X, [None, "w1", None]], None).problem
    whole = start.starting_point("context", problem, None, None, rng).posterior
    monkeypatch.setattr(start, "_BLOCK", 35)
    np.testing.assert_allclose(
        start.starting_point("context", problem, None, None, rng).posterior, whole, atol=1e-12
    )


@pytest.mark.many(usual=3)
@pytest.mark.parametrize("with_labels", [False, True])
@pytest.mark.parametrize("kind", TAGGERS)
def test_the_usual_start_of_a_cleaned_dictionary(kind, with_labels):
    y = [["D", None, None], *[None] * 11] if with_labels else None
    init = "token" if kind is GibbsHMMTagger else ("context", "unambiguous")[with_labels]
    model, named = (quick(kind, LEGAL, init=start) for start in (None, init))
    np.testing.assert_array_equal(model.fit(X, y).history_, named.fit(X, y).history_)
    # A start that draws nothing is that of the first restart alone.
    first, *others = quick(kind, LEGAL, n_init=3).fit(X, y).restart_histories_
    np.testing.assert_array_equal(first, model.history_)
    assert len({first[0], *(one[0] for one in others)}) == 3


@pytest.mark.long
def test_a_search_over_denoise_and_what_it_weighs():
    y = [[LEGAL[word][0] for word in row] for row in X]
    grid = {
        "tag_dictionary__denoise": ["auto", "none"],
        "tag_dictionary__weight": [0.0, 1.0],
        "init": [None, "token"],
    }
    model = CVBHMMTagger(LEGAL, supervision="none", random_state=0, max_iter=3)
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X, y)
    assert len(search.cv_results_["params"]) == 8
    assert search.best_score_ > 0.7


@pytest.mark.long
@pytest.mark.parametrize(
    ("fetch", "gain", "least"), [(fetch_mac_morpho, 0.05, 0.925), (fetch_wsj, 0.005, 0.958)]
)
def test_a_hundred_labelled_sentences_beside_a_noisy_dictionary(data_folder, fetch, gain, least):
    bunch = fetch(data_home=data_folder)
    legal = tag_dictionary_from(bunch.data, bunch.target, weights=False)
    text, rest = bunch.data[:600], slice(600, 900)
    picks = np.random.default_rng(0).choice(600, 100, replace=False)
    y = [None] * 600
    for i in picks:
        y[i] = bunch.target[i]
    found = {}
    for denoise in ("auto", "none"):
        tagger = CVBHMMTagger(TagDictionary(legal, denoise=denoise), random_state=0)
        found[denoise] = tagger.fit(text, y).score(bunch.data[rest], bunch.target[rest])
    print(fetch.__name__, found)
    # Text that was not learned from. With tags dropped beside labels it was .908 and .954.
    assert found["auto"] > found["none"] + gain
    assert found["auto"] > least
