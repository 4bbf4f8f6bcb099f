"""Generated sequences: random hidden Markov models and the pocket English."""

import re
from collections import Counter
from itertools import chain, islice, pairwise
from zlib import crc32

import fresh
import numpy as np
import pytest

from sklearn_cvb.datasets import (
    make_hmm_sequences,
    make_pocket_english,
    pocket_english_dictionary,
)
from sklearn_cvb.datasets.pocket_english import pocket_grammar, pocket_slips

N_WORDS = 19_924


@pytest.fixture(scope="module")
def corpus():
    return make_pocket_english(2000, with_trees=True, random_state=0)


@pytest.fixture(scope="module")
def dictionary():
    return pocket_english_dictionary()


@pytest.mark.long
def test_hmm_frequencies_approach_the_parameters():
    X, Z, startprob, transmat, emissionprob = make_hmm_sequences(
        20000, n_components=3, n_symbols=7, length=5, return_parameters=True, random_state=1
    )
    states, symbols = np.array(Z), np.array(X)
    steps = np.zeros((3, 3))
    np.add.at(steps, (states[:, :-1], states[:, 1:]), 1)
    emitted = np.zeros((3, 7))
    np.add.at(emitted, (states, symbols), 1)
    np.testing.assert_allclose(np.bincount(states[:, 0]) / 20000, startprob, atol=0.02)
    np.testing.assert_allclose(steps / steps.sum(1, keepdims=True), transmat, atol=0.02)
    np.testing.assert_allclose(emitted / emitted.sum(1, keepdims=True), emissionprob, atol=0.02)


def test_hmm_states_are_well_separated():
    for seed in range(20):
        X, Z, *_, emissionprob = make_hmm_sequences(50, return_parameters=True, random_state=seed)
        decoded = emissionprob.argmax(axis=0)[np.concatenate(X)]
        assert np.mean(decoded == np.concatenate(Z)) > 0.8


@pytest.mark.parametrize("n_components", [1, 2, 9])
@pytest.mark.parametrize("n_symbols", [1, 4])
def test_hmm_parameters_are_probabilities(n_components, n_symbols):
    X, Z, *parameters = make_hmm_sequences(
        10, n_components=n_components, n_symbols=n_symbols, return_parameters=True, random_state=3
    )
    for table in parameters:
        np.testing.assert_allclose(table.sum(axis=-1), 1)
        assert table.shape[0] == n_components
        assert (table >= 0).all()
    assert max(map(max, X)) < n_symbols
    assert max(map(max, Z)) < n_components


def test_hmm_lengths():
    X, Z = make_hmm_sequences(200, length=(2, 4), random_state=0)
    assert {len(x) for x in X} == {2, 3, 4}
    assert [len(x) for x in X] == [len(z) for z in Z]
    assert {len(x) for x in make_hmm_sequences(3, length=7)[0]} == {7}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, "must be positive"),
        ({"concentration": 0.0}, "must be positive"),
        ({"length": 0}, "length must be at least 1"),
        ({"length": (5, 2)}, "range in order"),
    ],
)
def test_hmm_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_hmm_sequences(**arguments)


@pytest.mark.parametrize("make", [make_hmm_sequences, make_pocket_english])
def test_same_seed_same_sequences(make):
    def text(random_state):
        made = make(20, random_state=random_state)
        return str(made["data"] if make is make_pocket_english else made)

    assert text(4) == text(4) == text(np.random.RandomState(4))
    assert text(4) != text(5)
    assert text(np.random.default_rng(4)) == text(np.random.default_rng(4))
    assert text(None) != text(None)


@pytest.mark.long
def test_pocket_first_sentences_depend_on_neither_number_nor_trees(corpus):
    short = make_pocket_english(50, random_state=0)
    assert short.data == corpus.data[:50]
    assert short.target == corpus.target[:50]
    assert "trees" not in short


def test_pocket_needs_a_sentence():
    with pytest.raises(ValueError, match="n_samples must be positive, got 0"):
        make_pocket_english(0)


@pytest.mark.long
def test_pocket_size(corpus, dictionary):
    lengths = np.array([len(words) for words in corpus.data])
    assert 15 <= lengths.mean() <= 20
    assert lengths.max() <= 40
    assert len({word for words in corpus.data for word in words}) >= 6000
    assert len({tag for tags in corpus.target for tag in tags}) >= 37
    assert len(dictionary) == N_WORDS
    assert len({tag for tags in dictionary.values() for tag in tags}) == 38


@pytest.mark.parametrize(
    ("n_tokens", "n_types", "once"),
    [(5949, 1899, 0.648), (11784, 3165, 0.616), (23551, 5169, 0.579)],
)
def test_pocket_vocabulary_grows_as_that_of_the_journal(corpus, n_tokens, n_types, once):
    # Tokens, types and share of types seen once in the journal's first 250, 500, 1,000 sentences.
    counts = Counter(islice(chain(*corpus.data), n_tokens))
    assert len(counts) == pytest.approx(n_types, rel=0.1)
    assert np.mean([count == 1 for count in counts.values()]) == pytest.approx(once, abs=0.07)


def test_pocket_ambiguity_is_that_of_the_journal(corpus, dictionary):
    # The journal's first 1,000 sentences: .463 of the tokens, .265 of the types; 1.90 tags a token.
    words = list(chain(*corpus.data[:1000]))
    n_tags = np.array([len(dictionary[word]) for word in words])
    assert np.mean(n_tags > 1) == pytest.approx(0.463, abs=0.03)
    assert n_tags.mean() == pytest.approx(1.90, abs=0.12)
    types = [len(dictionary[word]) > 1 for word in set(words)]
    assert np.mean(types) == pytest.approx(0.265, abs=0.03)


def test_pocket_frequencies_fall_by_zipfs_law(corpus):
    counts = Counter(chain(*corpus.data[:1000]))
    frequencies = sorted(counts.values(), reverse=True)[:1000]
    slope, _ = np.polyfit(np.log(np.arange(1, 1001)), np.log(frequencies), 1)
    assert slope == pytest.approx(-0.89, abs=0.1)  # the journal's


@pytest.mark.long
def test_pocket_slips_are_rare_and_in_the_dictionary(dictionary):
    corpus = make_pocket_english(8000, random_state=1)
    pairs = Counter(zip(chain(*corpus.data), chain(*corpus.target), strict=True))
    slips = {(word, wrong.label) for (word, _), made in pocket_slips().items() for wrong in made}
    right = {(word, tag) for word, tag in pocket_slips()}
    expected = sum(pairs[pair] for pair in right) / 2000
    assert sum(pairs[pair] for pair in slips) == pytest.approx(expected, abs=4 * expected**0.5)
    assert expected > 10
    assert all(tag in dictionary[word] for word, tag in slips)


def test_pocket_lexicon_has_every_kind_of_word(dictionary):
    expected = {
        "unhappily": "RB",
        "development": "NN",
        "decisions": "NNS",
        "biggest": "JJS",
        "American": "JJ NNP",
        "Americans": "NNPS",
        "Mr.": "NNP",
        "12.5": "CD",
        "women": "NNS",
        "underknives": "NNS",
        "overaudited": "VBD VBN",
        "12-year": "JJ",
        "refusal": "NN",
        "reading": "NN VBG",
    }
    found = {word: " ".join(dictionary.get(word, ())) for word in expected}
    assert found == expected


def test_pocket_words_and_their_order_stay_what_they_are(dictionary):
    """Ranks are frequencies: a word that is added or moved changes all sentences after it."""
    text = "\n".join(f"{word} {' '.join(tags)}" for word, tags in dictionary.items())
    assert crc32(text.encode()) == 237_364_032
    options = [category.options for category in pocket_grammar().values()]
    assert crc32(repr(options).encode()) == 925_653_671


def test_pocket_is_as_ambiguous_as_real_text(corpus, dictionary):
    sizes = np.array([len(dictionary[word]) for words in corpus.data for word in words])
    assert 1.6 <= sizes.mean() <= 2.3
    assert 0.35 <= (sizes > 1).mean() <= 0.60


def test_pocket_pairs_are_in_the_dictionary(corpus, dictionary):
    pairs = zip(chain(*corpus.data), chain(*corpus.target), strict=True)
    assert all(tag in dictionary[word] for word, tag in set(pairs))


def test_pocket_dictionary_knows_the_classic_ambiguities(dictionary):
    expected = {
        "can": "MD NN VB VBP",
        "saw": "NN VBD",
        "duck": "NN VB VBP",
        "that": "DT IN WDT WP",
        "light": "JJ NN VB VBP",
        "left": "JJ NN VBD VBN",
        "her": "PRP PRP$",
        "'s": "POS VBZ",
        "the": "DT IN JJ NNP",
        "an": "DT",
    }
    assert {word: " ".join(dictionary[word]) for word in expected} == expected


def test_pocket_words_follow_zipf(corpus):
    nouns = pocket_grammar()["NN"].options
    text = list(chain(*corpus.data))
    frequency = [text.count(word) for word in (nouns[0], "door", "window")]
    assert frequency == sorted(frequency, reverse=True)


def test_pocket_articles_agree_with_the_next_word(corpus):
    after = {"a": set(), "an": set()}
    for words in corpus.data:
        for word, following in pairwise(words):
            if word in after:
                after[word].add(following)
    assert all(re.match("[aeiou8]|1[18]($|-)", word.lower()) for word in after["an"])
    vowels = {word for word in after["a"] if word[0].lower() in "aeiou8"}
    assert all(re.match("one|use|uni|euro", word.lower()) for word in vowels)
    assert len(after["an"]) > 50


def test_pocket_trees_spell_the_sentences(corpus):
    for tree, words, tags in zip(corpus.trees, corpus.data, corpus.target, strict=True):
        assert tree.pos() == list(zip(words, tags, strict=True))
        assert tree.label() == "TOP"


def test_pocket_heads_are_projective_trees_with_one_root(corpus):
    for heads, words in zip(corpus.heads, corpus.data, strict=True):
        assert len(heads) == len(words)
        assert np.sum(heads == 0) == 1
        assert_projective(heads)


def assert_projective(heads):
    """Every word between a word and its head descends from that head."""
    ancestors = [set(path_to_root(heads, word)) for word in range(len(heads) + 1)]
    for word, head in enumerate(heads, start=1):
        between = range(min(word, head) + 1, max(word, head))
        assert all(head in ancestors[inner] for inner in between)


def path_to_root(heads, word):
    path = [word]
    while path[-1]:
        path.append(heads[path[-1] - 1])
        assert len(path) <= len(heads) + 1
    return path


def test_pocket_heads_of_a_known_sentence():
    corpus = make_pocket_english(300, with_trees=True, random_state=0)
    position = corpus.data.index(["this", "hand", "found", "the", "past", "tree", "."])
    assert corpus.heads[position].tolist() == [2, 3, 0, 6, 6, 3, 3]


def test_pocket_grammar_is_whole():
    grammar = pocket_grammar()
    for category in grammar.values():
        assert category.cumulative[-1] == 1.0
        assert len(category.cumulative) == len(category.options)
        if not category.is_lexical:
            assert all(child in grammar for children, _ in category.options for child in children)


@pytest.mark.process
def test_import_stays_light():
    code = (
        "import sys, sklearn_cvb.datasets, sklearn_cvb.metrics;"
        "print([name for name in ('nltk', 'matplotlib') if name in sys.modules])"
    )
    shown = fresh.run(code)
    assert shown.stdout.strip() == "[]", shown.stderr
