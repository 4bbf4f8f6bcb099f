"""Samples of treebank grammars: as often as they are likely, and readable by the model."""

from collections import Counter

import numpy as np
import pytest

from sklearn_cvb import CVBLatentPCFG, EMLatentPCFG, SplitAndMerge, VBLatentPCFG

# No symbol derives itself, and no sentence of these has two trees.
TREES = [
    "(TOP (S (NP-SBJ (DT the) (NN dog)) (VP (VBD ran))))",
    "(TOP (S (NP (DT a) (NN cat)) (VP (VBD saw) (NP (DT the) (NN dog)) (ADVP (RB there)))))",
    "(TOP (S (NP (DT the) (NN cat)) (VP (VBD ran) (ADVP (RB there)))))",
    "(TOP (S (VP (VBD go))))",
    "(TOP (FRAG no (NN way)))",
]


@pytest.mark.many(usual=2)
@pytest.mark.parametrize("kind", [EMLatentPCFG, VBLatentPCFG, CVBLatentPCFG])
@pytest.mark.parametrize("schedule", ["fixed", "split-merge"])
def test_sentences_are_drawn_as_often_as_they_are_likely(kind, schedule):
    settings = {"n_subtypes": 3, "schedule": SplitAndMerge(round_length=3), "max_iter": 9}
    model = kind(**settings, rare_threshold=0, random_state=0).fit(TREES)
    n = 2000
    sentences, trees = model.sample(n, random_state=0)
    seen = Counter(map(tuple, sentences))
    likely = np.exp(model.score_samples([list(words) for words in seen]))
    # What is drawn is nearly all that there is, in these shares.
    assert likely.sum() > 0.93
    shares = np.array(list(seen.values())) / n
    often = likely * n > 25
    assert often.sum() > 5
    assert (np.abs(shares - likely) < 4.5 * np.sqrt(likely / n))[often].all()
    assert [tree.leaves() for tree in trees] == list(sentences)


@pytest.mark.many(usual=2)
def test_trees_are_those_of_predict():
    model = CVBLatentPCFG(rare_threshold=0, random_state=0).fit(TREES)
    sentences, trees = model.sample(50, random_state=1)
    # Only what was between the S and the VP of a sentence without a subject may differ.
    assert {tree.label() for tree in trees} == {"TOP"}
    assert list(model.predict(list(sentences))) == list(trees)
    again, _ = model.sample(50, random_state=1)
    assert list(again) == list(sentences)
    assert list(model.sample(50, random_state=2)[0]) != list(sentences)


def test_rare_words_are_drawn_as_classes_that_are_read_again():
    model = EMLatentPCFG(n_subtypes=1, rare_threshold=1, random_state=0).fit(TREES)
    sentences, trees = model.sample(200, random_state=0)
    words = {word for sentence in sentences for word in sentence}
    assert words == {"the", "dog", "cat", "ran", "there", "<word small>"}
    # p(words) is that of the classes, not that of a word of no known class.
    few = list(dict.fromkeys(map(tuple, sentences)))
    shares = Counter(map(tuple, sentences))
    likely = np.exp(model.score_samples([list(sentence) for sentence in few]))
    for sentence, p in zip(few, likely, strict=True):
        assert abs(shares[sentence] / 200 - p) < 5 * np.sqrt(p / 200)
    assert "<word small>" in " ".join(map(str, trees))


def test_numbers_that_are_too_small():
    model = EMLatentPCFG(n_subtypes=1, rare_threshold=0, random_state=0).fit(TREES)
    assert {len(sentence) for sentence in model.sample(30, longest=2, random_state=0)[0]} <= {1, 2}
    for wrong in ({"n_samples": 0}, {"longest": 0}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))}"):
            model.sample(**wrong)
    longer = EMLatentPCFG(n_subtypes=1, rare_threshold=0, random_state=0).fit(TREES[:1])
    with pytest.raises(ValueError, match="1000 derivations in a row are longer than 2 words"):
        longer.sample(longest=2, random_state=0)
