"""Weights of tag dictionaries: how they are counted, checked and read."""

import re

import numpy as np
import pytest

from sklearn_cvb import tag_dictionary_from
from sklearn_cvb.chain.tags.knowledge import LegalStates
from sklearn_cvb.reading.dictionary import check_dictionary

WORDS = [["the"] * 200 + ["saw"] * 4, ["once"]]
TAGS = [["DT"] * 199 + ["NN"] + ["VB", "NN", "NN", "VB"], ["RB"]]
STATES = {"DT": 0, "NN": 1, "RB": 2, "VB": 3}


def test_weights_say_how_often_each_tag_was_seen():
    weighted = tag_dictionary_from(WORDS, TAGS)
    assert weighted == {
        "the": {"DT": 199, "NN": 1},
        "saw": {"NN": 2, "VB": 2},
        "once": {"RB": 1},
    }
    plain = tag_dictionary_from(WORDS, TAGS, weights=False)
    assert {word: tuple(entry) for word, entry in weighted.items()} == plain


def test_weights_are_pruned_by_share():
    pruned = tag_dictionary_from(WORDS, TAGS, min_share=0.006)
    assert pruned["the"] == {"DT": 199}
    assert pruned["saw"] == {"NN": 2, "VB": 2}


def test_words_that_may_take_any_tag_have_no_weights():
    open_ended = tag_dictionary_from(WORDS, TAGS, min_count=2)
    assert open_ended["once"] == ("DT", "NN", "RB", "VB")
    assert open_ended["the"] == {"DT": 199, "NN": 1}


def test_shares_follow_the_order_of_states():
    legal = LegalStates({"saw": {"VB": 3, "NN": 1}, "the": ("DT",)}, STATES, np.arange(4))
    saw, the, other = legal.shares(["saw", "the", "other"])
    np.testing.assert_array_equal(legal.row("saw"), [1, 3])
    np.testing.assert_allclose(saw, [0.25, 0.75], rtol=0, atol=0)
    assert np.isnan(the).tolist() == [True]
    assert np.isnan(other).tolist() == [True] * 4
    assert legal.any_weights
    assert not LegalStates({"the": ("DT",)}, STATES, np.arange(4)).any_weights


def test_a_weight_of_zero_keeps_a_tag_possible():
    legal = LegalStates({"saw": {"NN": 0, "VB": 5}}, STATES, np.arange(4))
    np.testing.assert_array_equal(legal.shares(["saw"])[0], [1e-6, 1.0])


@pytest.mark.parametrize(
    "weights",
    [
        {"DT": -1, "NN": 2},
        {"DT": np.nan},
        {"DT": np.inf, "NN": 1},
        {"DT": 0, "NN": 0.0},
        {"DT": "2"},
        {"DT": None},
    ],
    ids=["negative", "nan", "infinite", "zero", "text", "none"],
)
def test_impossible_weights_name_their_words(weights):
    message = "negative, not finite, not numbers or all zero to ['the'] (1 words)"
    with pytest.raises(ValueError, match=re.escape(message)):
        check_dictionary({"a": {"DT": 1}, "the": weights, "saw": ("NN",)})
