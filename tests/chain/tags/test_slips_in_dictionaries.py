"""Slips in plain dictionaries: tags that forms do not share, and shares by shape."""

import numpy as np
import pytest

from sklearn_cvb.chain.tags.knowledge import LegalStates
from sklearn_cvb.chain.tags.word_forms import (
    SHAPE_WEIGHT,
    ShapeShares,
    can_be_cleaned,
    disagreeing_tags,
    drop_tags,
)

LISTED = {
    "of": ["IN", "RP"],
    "Of": ["NNP", "IN"],
    "OF": "IN",
    "can": ("MD", "NN"),
    "Can": ["NNP"],
    "a": ["DT", "LS"],
    "A": ["DT", "LS"],
    "us": ["PRP"],
    "US": ["NNP", "PRP"],
}


def test_tags_that_other_forms_lack_are_dropped():
    words = ["of", "Of", "can", "Can", "a", "A", "US"]
    # Without a common tag nothing is dropped, and "us" is not in the text.
    assert disagreeing_tags(LISTED, words) == {"of": ("RP",), "Of": ("NNP",)}
    assert disagreeing_tags(LISTED, [*words, "us"])["US"] == ("NNP",)
    assert disagreeing_tags(LISTED, ["of", "new"]) == {}


def test_what_is_dropped_leaves_the_dictionary_of_the_user_alone():
    dropped = {"of": ("RP",), "US": ("NNP",)}
    cleaned = drop_tags(LISTED, dropped)
    assert cleaned["of"] == ("IN",)
    assert cleaned["US"] == ("PRP",)
    assert LISTED["of"] == ["IN", "RP"]
    assert all(cleaned[word] is entry for word, entry in LISTED.items() if word not in dropped)


def test_shares_go_by_how_many_words_of_a_tag_have_the_shape():
    shares = ShapeShares({"a": ["D", "X"], "b": ["D"], "C": ["X"], "D": ["X", "N"], 7: ["N"]})
    # Of the words with D all are in small letters, of those with X a quarter.
    weights = np.array([1.0, 0.5 / 2.0]) + 0.01
    np.testing.assert_allclose(shares.shares_of("new", ["D", "X"]), weights / weights.sum())
    # "N" has half a capitalised word of one and a half, "none such" no word.
    weights = np.array([0.5 / 1.5, 0.0]) + 0.01
    np.testing.assert_allclose(shares.shares_of("New", ["N", "none such"]), weights / weights.sum())
    legal = LegalStates({"a": ["D", "X"]}, {"D": 0, "N": 1, "X": 2}, np.arange(3, dtype=np.int32))
    known, missing = legal.shares(["a", "c"], shares)
    np.testing.assert_allclose(known, SHAPE_WEIGHT * shares.shares_of("a", ["D", "X"]))
    assert np.isnan(missing).tolist() == [True] * 3


@pytest.mark.parametrize(
    ("dictionary", "words", "can_be"),
    [
        (LISTED, ["of", "Of"], True),
        (LISTED, ["of", "us"], False),
        (LISTED, ["OF", "US"], False),
        (LISTED, ["of", "Of", 7], False),
        ({"of": {"IN": 3}, "Of": ["IN"]}, ["of", "Of"], False),
        ({}, ["of", "Of"], False),
        ({"घर": ["NOUN"], "में": ["ADP", "NOUN"]}, ["घर", "में", "."], True),
        ({"घर": ["NOUN"], "में": ["ADP", "NOUN"]}, ["घर", "USB"], False),
        ({"घर": ["NOUN"], "में": ["ADP", "NOUN"]}, ["घर", "USB", "km"], True),
        ({"1": ["NUM"], ".": ["PUNCT"]}, ["1", "."], False),
    ],
    ids=[
        "text",
        "small letters",
        "capitals",
        "a number",
        "weights",
        "empty",
        "no case",
        "no case but one",
        "no case but both",
        "no letters",
    ],
)
def test_plain_dictionaries_of_text_that_is_not_in_one_case_are_cleaned(dictionary, words, can_be):
    assert can_be_cleaned(dictionary, words) is can_be


def test_weighted_entries_of_a_plain_dictionary_are_left_alone():
    mixed = {**LISTED, "of": {"IN": 9, "RP": 1}}
    assert can_be_cleaned(mixed, ["of", "Of"])
    assert disagreeing_tags(mixed, ["of", "Of"]) == {"Of": ("NNP",)}
    legal = LegalStates(mixed, {"IN": 0, "NNP": 1, "RP": 2}, np.arange(3, dtype=np.int32))
    told, shaped = legal.shares(["of", "Of"], ShapeShares(mixed))
    assert told.tolist() == [0.9, 0.1]
    assert shaped.sum() == pytest.approx(SHAPE_WEIGHT)
