"""How much of the text a tag dictionary covers, and what is said where it covers nothing."""

import re
import warnings

import numpy as np
import pytest

from sklearn_cvb import (
    CVBHMMTagger,
    EMHMMTagger,
    GibbsHMMTagger,
    Symbols,
    TagDictionary,
    VBHMMTagger,
)
from sklearn_cvb.reading.dictionary import look_up

TAGGERS = [EMHMMTagger, VBHMMTagger, CVBHMMTagger, GibbsHMMTagger]
LEGAL = {"the": ("D",), "dog": ("N",), "runs": ("N", "V"), "saw": ("N", "V")}
X = [["the", "dog", "runs"], ["the", "saw", "runs"], ["dog", "saw", "the", "dog"], ["runs"]]


def quick(kind, *arguments, **keywords):
    return kind(*arguments, **{"max_iter": 3, "random_state": 0} | keywords)


def mismatch(dictionary, sequences):
    """What is said of a dictionary and a text."""
    tokens = [token for sequence in sequences for token in sequence]
    words = sorted(set(tokens), key=str)
    return look_up(dictionary, words, np.array(list(map(tokens.count, words)), int)).mismatch()


@pytest.mark.parametrize("kind", TAGGERS)
def test_coverage_counts_tokens_and_types(kind):
    listed = {"the": "D", "saw": ["N", "V"], "zebra": "N"}
    model = quick(kind, TagDictionary(listed, unknown_tags=["N", "V"]))
    assert model.fit(X).coverage_ == (5 / 11, 2 / 4)
    # Also what is outside the vocabulary; what is missing does not count.
    model.set_params(emission=Symbols(vocabulary=["the", "cat"]))
    assert model.fit([["the", None, "dog", "saw"]]).coverage_ == (2 / 3, 2 / 3)
    assert quick(kind, LEGAL).fit(X).coverage_ == (1, 1)
    assert quick(kind).fit(X).coverage_ == (0, 0)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="tag_dictionary covers")
        assert model.fit([[None, None]]).coverage_ == (0, 0)


REMEDIES = {
    "reversed": (
        {"D": ["the"], "N": ["dog", "saw"], "V": ["runs"]},
        X,
        "0.0 % of the tokens of X (missing are 'dog', 'runs', 'the'; it has 'D', 'N', 'V'): it "
        "lists words for each tag; turn it round, to list each word's tags",
    ),
    "case": (
        {word.upper(): tags for word, tags in LEGAL.items()},
        X,
        "0.0 % of the tokens of X (missing are 'dog', 'runs', 'the'; it has 'THE', 'DOG', 'RUNS'):"
        " write both in the same case, as with str.lower",
    ),
    "strings": (
        LEGAL,
        [[" ".join(sentence)] for sentence in X[:3]],
        "0.0 % of the tokens of X (missing are 'dog saw the dog', 'the dog runs', 'the saw runs'; "
        "it has 'the', 'dog', 'runs'): these tokens hold several words; cut them, as with "
        "str.split",
    ),
    "pairs": (
        LEGAL,
        [[("the", "D"), ("dog", "N")], [("the", "D"), ("saw", "N")]],
        "0.0 % of the tokens of X (missing are ('the', 'D'), ('dog', 'N'), ('saw', 'N'); it has "
        "'the', 'dog', 'runs'): these tokens are pairs; of tagged text X has the words, and y "
        "their tags",
    ),
    "type": (
        {"0": "N", "1": "V"},
        [[0, 1, 1], [1]],
        "0.0 % of the tokens of X (missing are 1, 0; it has '0', '1'): give both the same type, "
        "as with str",
    ),
    "other": (
        {"le": "D", "chien": "N"},
        X,
        "0.0 % of the tokens of X (missing are 'dog', 'runs', 'the'; it has 'le', 'chien'): "
        "compare how the words of both are cut and written",
    ),
}


@pytest.mark.many(usual=5)
@pytest.mark.parametrize("kind", TAGGERS)
@pytest.mark.parametrize("reason", REMEDIES)
def test_a_dictionary_of_other_words_is_named(kind, reason):
    dictionary, sequences, message = REMEDIES[reason]
    with pytest.warns(UserWarning, match=f"^tag_dictionary covers {re.escape(message)}$") as seen:
        model = quick(kind, dictionary).fit(sequences)
    assert seen[0].filename == __file__
    assert model.coverage_ == (0, 0)


def test_some_words_may_be_there_all_the_same():
    """Full stops and commas are tags of the Penn Treebank, and have no case."""
    text = [[*sentence, ","] for sentence in X] * 20 + [["."]]
    reversed_ = {"D": ["the"], "N": ["dog", "saw"], "V": ["runs"], ",": [","], "X": ["x"]}
    assert "turn it round" in mismatch(reversed_, text)
    shouted = {word.upper(): tags for word, tags in LEGAL.items()} | {",": ","}
    assert "the same case" in mismatch(shouted, text)


_RARE = [["the", "dog", "runs"]] * 200 + [["zebra"]]
ORDINARY = {
    "none": ({}, X),
    "a few words of a long text": ({"zebra": "N"}, _RARE),
    "half of a few words": ({"zebra": "N", "gnu": "N"}, _RARE),
    "a long list of names": ({f"name{i}": "N" for i in range(1000)} | {"saw": "V"}, X),
    "small letters": (LEGAL, [["The", *sentence[1:]] for sentence in X]),
    "capitals now and then": ({"bush": "N", **dict.fromkeys("abc", "N")}, [["Bush"], ["bush"]] * 9),
    "numbers for words and tags": ({3: [0, 1], 4: [2]}, [[0, 1, 2, 0, 1, 3]] * 5),
    "words that are tags": ({"a": ["b"], "b": ["a", "b"]}, [["a", "b", "c"]] * 3),
    "a large dictionary": (LEGAL | {f"word{i}": "N" for i in range(99)}, X),
}


@pytest.mark.parametrize("use", ORDINARY)
def test_ordinary_use_is_silent(use):
    dictionary, sequences = ORDINARY[use]
    assert mismatch(dictionary, sequences) == ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quick(VBHMMTagger, dictionary, tol=0).fit(sequences)


def test_a_failed_fit_keeps_the_coverage():
    model = quick(EMHMMTagger, LEGAL).fit(X)
    with pytest.raises(ValueError, match="y 1"):
        model.fit([["the", "cat"]] * 2, [["D", "N"]])
    assert model.coverage_ == (1, 1)
