"""Samples where little or nothing is known: states and symbols of unknown words alone."""

import numpy as np
import pytest

import sklearn_cvb
from sklearn_cvb import CVBPCFG, EMHMM, EMPCFG, VBPCFG, EMHMMTagger, Symbols, TagDictionary

HMMS = [
    name
    for name in sklearn_cvb.__all__
    if name.endswith(("HMM", "HMMTagger")) and "Alignment" not in name
]


@pytest.mark.parametrize("vocabulary", [["a"], [7]])
def test_a_state_of_unknown_words_emits_missing_observations(vocabulary):
    known = vocabulary[0]
    sequences = [[known, "new"], [known, "other"]] * 5
    init = [np.eye(2)] * 10
    model = EMHMM(2, emission=Symbols(vocabulary=vocabulary), init=init, max_iter=5).fit(sequences)
    assert model.emissionprob_.round(9).tolist() == [[1, 0], [0, 1]]
    X, Z = model.sample(20, length=2, random_state=0)
    assert X.tolist() == [[known, None]] * 20
    assert Z.tolist() == [[0, 1]] * 20
    ragged, _ = model.sample(3, length=[1, 2, 2], random_state=0)
    assert [row.tolist() for row in ragged] == [[known], [known, None], [known, None]]
    # A sample is something that the model reads.
    assert [row.tolist() for row in model.predict(list(X))] == [[0, 1]] * 20
    plain, _ = model.sample(4, length=1, random_state=0)
    assert plain.dtype == model.vocabulary_.dtype


def test_a_tag_of_unknown_words_emits_missing_observations():
    legal = {"the": ["D"], "dog": ["N"]}
    settings = {
        "emission": Symbols(vocabulary=["the", "dog"], handle_unknown="smooth"),
        "tag_dictionary": TagDictionary(legal, unknown_tags=["X"]),
    }
    model = EMHMMTagger(**settings).fit([["the", "dog", "qux"], ["the", "dog", "zap"]])
    words, tags = model.sample(10, length=3, random_state=0)
    assert words.tolist() == [["the", "dog", None]] * 10
    assert tags.tolist() == [["D", "N", "X"]] * 10


@pytest.mark.many(usual=4)
@pytest.mark.parametrize("name", HMMS)
def test_a_fit_on_missing_tokens_alone_samples_missing_tokens(name):
    settings = {
        "n_components": 2,
        "random_state": 0,
        "max_iter": 12,
        "emission": Symbols(handle_unknown="smooth"),
    }
    model = getattr(sklearn_cvb, name)(**settings).fit([[None, None], [None, None, None]])
    X, Z = model.sample(5, length=3, random_state=0)
    assert X.tolist() == [[None] * 3] * 5
    assert set(Z.ravel()) <= {0, 1}
    # With a vocabulary nothing is known of its words.
    model.set_params(emission=Symbols(vocabulary=["a", "b"])).fit(
        [[None, None], [None, None, None]]
    )
    X, _ = model.sample(50, length=4, random_state=0)
    assert set(X.ravel()) == {"a", "b"}


def test_totals_next_to_zero_do_not_overflow():
    model = EMHMM(1, emission=Symbols(vocabulary=["a", "b"]), init=[np.ones((2, 1))]).fit(
        [["a", "b"]]
    )
    model.counts_.emission[:] = [[5e-324], [0.0], [1.0]]
    X, _ = model.sample(200, random_state=0)
    assert set(X.ravel()) == {"a"}


def test_a_symbol_of_unknown_words_derives_them():
    text = "S -> N V\nN -> 'dogs' | '<unk>'\nV -> '<unk>' | 'run'"
    model = EMPCFG(text, init=[1.0, 0.5, 0.5, 1.0, 0.0]).fit([["dogs", "zap"], ["dogs", "qux"]])
    sentences, trees = model.sample(10, random_state=0)
    assert sentences.tolist() == [["dogs", "<unk>"]] * 10
    assert str(trees[0]) == "(S (N dogs) (V <unk>))"
    # The terminal is an unknown word when it is read.
    assert str(model.predict(sentences)[0]) == "(S (N dogs) (V <unk>))"


def test_symbols_that_derive_nothing_else_are_found_through_others():
    # B derives words only through C, whose words are unknown; A has words of its own.
    text = "S -> A B\nA -> 'a' | '<unk>' | A B\nB -> C C | B B\nC -> '<unk>'"
    model = VBPCFG(text, random_state=0).fit([["a", "x", "y"], ["a", "x", "y"]])
    sentences, _ = model.sample(50, longest=60, random_state=0)
    words = {sentence[0] for sentence in sentences}
    assert words == {"a"}
    assert all(set(sentence[1:]) == {"<unk>"} for sentence in sentences)


def test_all_words_unknown():
    model = CVBPCFG(n_components=2, vocabulary=[], random_state=0).fit([["x", "y"], ["y"], ["z"]])
    sentences, _ = model.sample(5, random_state=0)
    assert {word for sentence in sentences for word in sentence} == {"<unk>"}
