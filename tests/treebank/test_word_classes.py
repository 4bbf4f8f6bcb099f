"""Classes of rare and unknown words: which endings are learned, and what reads as which class."""

import pickle
from collections import Counter
from math import log

import numpy as np
import pytest
from nltk import Tree

from sklearn_cvb import CVBLatentPCFG
from sklearn_cvb.treebank.word_classes import (
    ANY_WORD,
    Signature,
    WordNumbers,
    signatures_of,
    word_numbers_of,
)


def lexicon(pairs, starts=(), rare_threshold=1):
    """The lexicon of pairs of a word and its tag."""
    return word_numbers_of([w for w, _ in pairs], [t for _, t in pairs], starts, rare_threshold)


def classes_in(found):
    return [str(name) for name in list(found.codes)[found.n_words :]]


def read_as(found, words, starts=()):
    """What words are read as; None for what is of no known class."""
    names = [*map(str, found.codes), None]
    return [names[number] for number in found.numbers(words, starts)]


@pytest.mark.parametrize(
    ("word", "classes"),
    [
        ("dog", ["small", ""]),
        ("going", ["small -ing", "small -ng", "small", ""]),
        ("walkings", ["small -kings", "small -ings", "small -ngs", "small -gs", "small", ""]),
        ("Paris", ["capital -ris", "capital -is", "capital", ""]),
        ("IBM", ["capitals", ""]),
        ("1,200", ["no letter digit", "no letter", ""]),
        ("mid-1990s", ["small digit dash", "small digit", "small", ""]),
        ("...", ["no letter", ""]),
        ("re-do", ["small dash -do", "small dash", "small", ""]),
        ("Дома", ["capital -ма", "capital", ""]),
        ("ビルディング", ["-ィング", "-ング", ""]),
        ("ビル", [""]),
        # Vowels that are marks on letters.
        ("कमरे", ["-रे", ""]),
        (7, [""]),
        ("", [""]),
    ],
)
def test_classes_that_a_word_could_have(word, classes):
    names = [f"<word {rest}>".replace(" >", ">") for rest in classes]
    found = signatures_of(word, False)
    if word == "ビルディング":
        found = found[-3:]
    assert list(map(str, found)) == names


def test_a_capital_says_less_at_the_beginning():
    assert str(signatures_of("Paris", True)[0]) == "<word first capital -ris>"


# Four tags of words in -ng, one of those in -ing; -ling says no more than -ing.
ENDINGS = [
    *((f"{start}ing", "VBG") for start in ("go", "see", "call", "fall", "pull")),
    *((f"{start}ong", "NN") for start in ("str", "thr", "bel", "obl", "xyl")),
]


def test_an_ending_is_a_class_if_its_tags_are_likelier_there():
    """Five of ten words have -ing, and one tag of two: (5/5)^5 against (5/10)^5 is 32 times."""
    assert 20 < 2**5
    assert classes_in(lexicon(ENDINGS)) == ["<word small -ing>", "<word small -ong>"]
    # Four of eight: 16 times.
    found = lexicon([*ENDINGS[:4], *ENDINGS[5:9]])
    assert classes_in(found) == ["<word small>"]


def restated(pairs):
    """Endings of words in small letters, all different, without a digit or a dash."""
    kept, left = [], dict(pairs)
    for length in (5, 4, 3, 2):
        own = {}
        for word, tag in left.items():
            if len(word) >= length + 2:
                own.setdefault(word[-length:], {})[word] = tag
        for ending, words in own.items():
            above = [
                tag
                for word, tag in pairs
                if length == 2 or (len(word) >= length + 1 and word.endswith(ending[1:]))
            ]
            here, there = Counter(words.values()), Counter(above)
            ratio = sum(
                n * (log(n / len(words)) - log(there[tag] / len(above))) for tag, n in here.items()
            )
            if ratio >= log(20):
                kept.append(ending)
                for word in words:
                    del left[word]
    return sorted(kept), bool(left)


@pytest.mark.parametrize("seed", range(4))
def test_endings_are_those_of_a_plain_restatement(seed):
    rng = np.random.default_rng(seed)
    words = {"".join(rng.choice(list("abc"), rng.integers(2, 9))) for _ in range(500)}
    # Tags follow three letters, two, or nothing.
    pairs = [
        (word, "X" if word.endswith("abc") else "YZ"[word.endswith("ca")] + "12"[rng.integers(2)])
        for word in sorted(words)
    ]
    endings, others = restated(pairs)
    assert {"abc", "ca"} <= set(endings)
    names = [f"<word small -{ending}>" for ending in endings]
    found = classes_in(lexicon(pairs))
    assert found == ["<word small>"] * others + names
    # The same words in another order.
    assert classes_in(lexicon([pairs[i] for i in rng.permutation(len(pairs))])) == found


def test_unknown_words_are_read_as_the_finest_class_that_was_seen():
    found = lexicon([("the", "DT"), *ENDINGS, ("the", "DT"), ("Rome", "NNP"), ("cat", "NN")])
    expected = ["<word capital>", "<word small>", "<word small -ing>", "<word small -ong>"]
    assert classes_in(found) == expected
    assert found.n_words == 1
    words = ["the", "hiding", "furlong", "Paris", "sing", "10"]
    assert read_as(found, words) == ["the", *expected[2:], "<word capital>", "<word small>", None]
    assert ANY_WORD not in found.codes
    # As a sample has them.
    assert read_as(found, expected) == expected
    # Of training: each rare word is read as its class again.
    assert read_as(found, ["going", "xylong", "Rome"]) == [*expected[2:], expected[0]]


def test_a_word_that_only_begins_a_sentence_is_the_one_in_small_letters():
    pairs = [("The", "D"), ("dog", "N"), ("the", "D"), ("the", "D"), ("Dog", "N"), ("dog", "N")]
    found = lexicon(pairs, starts=[0])
    # "Dog" is inside a sentence, where a capital is there for a reason.
    assert classes_in(found) == ["<word capital>"]
    words = ["The", "Dog", "DOG", "Dog"]
    assert read_as(found, words, starts=[0, 2, 3]) == ["the", "<word capital>", None, "dog"]


def test_endings_in_scripts_without_case():
    stems = ["カメ", "テレ", "ラジ", "ビデ", "パソ"]
    pairs = [*((stem + "する", "V") for stem in stems), *((stem + "ログ", "N") for stem in stems)]
    found = lexicon(pairs)
    assert classes_in(found) == ["<word -する>", "<word -ログ>"]
    assert read_as(found, ["メモする", "モノログ", "ビル"]) == [*classes_in(found), None]


def test_words_that_are_no_strings_are_of_one_class():
    pairs = [(1, "A"), (1, "A"), (2, "A"), ((3, 4), "B")]
    found = lexicon(pairs, starts=[0, 2])
    assert classes_in(found) == ["<word>"]
    assert found.numbers([1, 2, 5, (3, 4)], [0, 1]) == [0, 1, 1, 1]


TREES = [
    f"(S (NP (DT the) (NN {noun})) (VP (VBZ is) (VP (VBG {verb}))))"
    for (verb, _), (noun, _) in zip(ENDINGS[:5], ENDINGS[5:], strict=True)
]


def test_fit_predict_sample_and_pickle_know_the_classes():
    model = CVBLatentPCFG(n_subtypes=2, random_state=0).fit(TREES)
    assert model.vocabulary_.tolist() == ["is", "the"]
    words = {str(children[0]) for tag, children in model.rules_ if tag in ("NN", "VBG")}
    assert words == {"<word small -ong>", "<word small -ing>"}
    (tree,) = model.predict([["The", "furlong", "is", "hiding"]])
    assert [tag for _, tag in tree.pos()] == ["DT", "NN", "VBZ", "VBG"]
    sentences, trees = model.sample(5, random_state=0)
    assert {"<word small -ong>", "<word small -ing>"} <= {w for words in sentences for w in words}
    assert model.predict(sentences).tolist() == trees.tolist()
    again = pickle.loads(pickle.dumps(model))
    assert again.score([["a", "furlong"]]) == model.score([["a", "furlong"]])
    assert again.rules_ == model.rules_


def test_tags_may_be_no_strings_and_words_stand_below_phrases():
    trees = [Tree(0, [Tree(1, [f"se{x}ing"]), f"se{x}ong"]) for x in "abcdef"]
    model = CVBLatentPCFG(n_subtypes=1, random_state=0).fit(trees)
    words = [(tag, str(children[0])) for tag, children in model.rules_[-2:]]
    assert words == [("1", "<word small -ing>"), ("0'", "<word small -ong>")]


def test_a_lexicon_is_a_plain_value():
    found = WordNumbers({"the": 0, Signature(("word", "small"), "ing"): 1}, 1)
    assert pickle.loads(pickle.dumps(found)) == found
    assert read_as(found, ["going", "Going"]) == ["<word small -ing>", None]


def test_a_word_of_no_known_class_has_the_tags_of_rare_words():
    """NN has one rare word and JJ none, so that the unknown word is a noun."""
    trees = ["(NP (JJ big) (NN dog))", "(NP (JJ big) (NN cats))", "(NP (NN dog) (JJ big))"]
    model = CVBLatentPCFG(n_subtypes=1, random_state=0).fit(trees)
    assert str(model.predict([["big", "7"]])[0]) == "(NP (JJ big) (NN 7))"
    assert str(model.predict([["7", "big"]])[0]) == "(NP (NN 7) (JJ big))"
    # Without rare words all tags have unknown ones.
    model = CVBLatentPCFG(n_subtypes=1, rare_threshold=0, random_state=0).fit(trees)
    assert str(model.predict([["dog", "7"]])[0]) == "(NP (NN dog) (JJ 7))"
    assert np.isfinite(model.score([["7", "7"]]))
