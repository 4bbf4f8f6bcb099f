"""What tells the tags that a token may take: dictionary, labels, forms."""

import pickle

import numpy as np
import pytest

from sklearn_cvb import (
    CVBHMM,
    CVBHMMTagger,
    EMHMMTagger,
    GibbsHMMTagger,
    Symbols,
    TagDictionary,
    VBHMMTagger,
)
from sklearn_cvb.metrics import relabel

LEGAL = {"the": ["DT"], "duck": {"NN", "VB"}, "swims": "VB", "dogs": ["NN"], 7: ["NN", "CD"]}
X = [["the", "duck", "swims"], ["blip", "duck"], ["the", "blap", "swims"], ["dogs"]]
Y = [None, ["UH", None], None, None]
NEW = [["the", "duck", "blip", "blap", "zork", None], ["dogs", 7, 8]]


def sources(tagger, X=NEW):
    return [row.tolist() for row in tagger.tag_sources(X)]


@pytest.mark.parametrize("kind", [EMHMMTagger, VBHMMTagger, CVBHMMTagger, GibbsHMMTagger])
def test_dictionary_labels_and_forms_are_told_apart(kind):
    tagger = kind({**LEGAL, "oh": "UH"}, max_iter=2, random_state=0).fit(X, Y)
    first, second = sources(tagger)
    assert first == ["dictionary", "ambiguous", "seen", "form", "form", "open"]
    assert second == ["dictionary", "ambiguous", "open"]
    assert sources(pickle.loads(pickle.dumps(tagger))) == [first, second]


def test_words_without_a_form_may_take_any_open_tag():
    tagger = EMHMMTagger(LEGAL, emission=Symbols(handle_unknown="rare"), max_iter=2).fit(X)
    assert sources(tagger, [["blap", "zork", "duck"]]) == [["open", "open", "ambiguous"]]
    untold = EMHMMTagger(n_components=2, max_iter=2, random_state=0).fit(X)
    assert sources(untold, [["the", "zork"]]) == [["open", "open"]]


def test_labels_of_an_earlier_fit_are_forgotten():
    tagger = EMHMMTagger(LEGAL, max_iter=2).fit(X, Y[:1] + [["VB", None]] + Y[2:])
    assert sources(tagger, [["blip"]]) == [["seen"]]
    assert sources(tagger.fit(X), [["blip"]]) == [["form"]]
    tagger.set_params(supervision="none").fit(X, Y)
    assert sources(tagger, [["blip"]]) == [["form"]]


def test_all_words_of_labelled_text_are_seen():
    y = [["DT", "NN", "VB"], ["UH", "VB"], ["DT", "NN", None], ["NN"]]
    tagger = EMHMMTagger(max_iter=2).fit(X, y)
    assert sources(tagger, X) == [["seen"] * 3, ["seen"] * 2, ["seen"] * 3, ["seen"]]
    assert sources(tagger, [["zork"]]) == [["form"]]


def test_an_entry_that_has_lost_tags_counts_what_is_left():
    legal = {"Of": ["IN", "NNP"], "of": ["IN", "RP"], "Tea": ["NN"]}
    text = [["Of", "Tea"], ["Tea", "of"]]
    tagger = EMHMMTagger(legal, max_iter=2).fit(text)
    assert tagger.dropped_tags_ == {"Of": ("NNP",), "of": ("RP",)}
    assert sources(tagger, [["of"]]) == [["dictionary"]]
    tagger = EMHMMTagger(TagDictionary(legal, denoise="none"), max_iter=2).fit(text)
    assert sources(tagger, [["of"]]) == [["ambiguous"]]


def test_tables_are_padded():
    table = np.array([["the", "duck", None], ["duck", "zork", "the"]], dtype=object)
    found = EMHMMTagger(LEGAL, max_iter=2).fit(X).tag_sources(table)
    assert found.tolist() == [
        ["dictionary", "ambiguous", None],
        ["ambiguous", "form", "dictionary"],
    ]


def test_relabelled_taggers_know_the_same():
    tagger = EMHMMTagger({"Of": ["IN", "NNP"], "of": ["IN"], "tea": "NN"}, max_iter=2)
    tagger.fit([["Of", "tea", "zork"], ["tea", "of"]], [[None, None, "NN"], None])
    changed = relabel(tagger, {"IN": "ADP", "NNP": "PROPN", "NN": "NOUN"})
    text = [["Of", "tea", "zork", "zark"]]
    assert sources(changed, text) == sources(tagger, text)
    cleaned = relabel(tagger.fit([["Of", "tea"], ["tea", "of"]]), {"NNP": "PROPN"})
    assert tagger.dropped_tags_ == {"Of": ("NNP",)}
    assert cleaned.dropped_tags_ == {"Of": ("PROPN",)}
    named = relabel(CVBHMM(2, max_iter=2, random_state=0).fit(X), ["A", "B"])
    assert named.dropped_tags_ == {}
    assert sources(named, [["the", "duck"]]) == [["open", "open"]]
