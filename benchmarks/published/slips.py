"""Dictionaries with planted wrong tags, and what else a learner may know of words."""

from collections import Counter
from typing import NamedTuple

import numpy as np

from benchmarks.published.text import whole
from sklearn_cvb import tag_dictionary_from

# Tags that make up less than this share of a word's uses are pruned.
MIN_SHARE = 0.01


class Noisy(NamedTuple):
    """Sentences, their gold tags, and dictionaries with planted wrong tags.

    `weights` say how often each tag was seen in the whole corpus, `elsewhere` how often outside the
    sentences.
    """

    X: list
    y: list
    weights: dict
    elsewhere: dict


def with_slips(X, weights, rate, seed):
    """Give some words of every hundred one wrong tag each, seen once.

    `X`: sentences, which rank the words. `weights`: how often each tag was seen with each word.
    `rate`: words hit in every hundred of the ranking, so also among the hundred most frequent.
    """
    rng = np.random.default_rng(seed)
    ranked = [word for word, _ in Counter(word for row in X for word in row).most_common()]
    tags = sorted({tag for entry in weights.values() for tag in entry})
    noisy = {word: dict(weights[word]) for word in ranked}
    for begin in range(0, len(ranked), 100):
        block = ranked[begin : begin + 100]
        for index in rng.choice(len(block), min(rate, len(block)), replace=False):
            wrong = [tag for tag in tags if tag not in noisy[block[index]]]
            noisy[block[index]][wrong[rng.integers(len(wrong))]] = 1
    return noisy


def noisy_text(settings, n, corpus, rate, seed):
    """The first n sentences of a corpus, with wrong tags in the dictionary of all of it."""
    bunch = whole(corpus, settings.data_home)
    X, y = bunch.data[:n], bunch.target[:n]
    weights = tag_dictionary_from(bunch.data, bunch.target, weights=True)
    others = tag_dictionary_from(bunch.data[n:], bunch.target[n:], weights=True)
    noisy = with_slips(X, weights, rate, seed)
    return Noisy(X, y, noisy, counted_elsewhere(noisy, weights, others))


def counted_elsewhere(noisy, weights, others):
    """The noisy dictionary with the counts of other text; planted tags are still seen once.

    Words that the other text lacks keep their tags and have no weights.
    """
    dictionary = {}
    for word, entry in noisy.items():
        seen = others.get(word)
        dictionary[word] = tuple(entry)
        if seen:
            dictionary[word] = {
                tag: seen.get(tag, 0) if tag in weights[word] else 1 for tag in entry
            }
    return dictionary


def pruned(weights):
    """The dictionary without tags below `MIN_SHARE`; the most frequent tag stays."""
    return {
        word: {
            tag: count
            for tag, count in entry.items()
            if count >= min(MIN_SHARE * sum(entry.values()), max(entry.values()))
        }
        for word, entry in weights.items()
    }


def dictionary_for(condition, text):
    """What a learner knows of words under a condition."""
    if "other text" in condition:
        return text.elsewhere
    weights = text.weights
    if "pruned" in condition:
        weights = pruned(weights)
    return weights if "weights" in condition else {word: tuple(e) for word, e in weights.items()}


def labelled_for(condition, text, seed):
    """Sentences that are tagged by hand, drawn at random."""
    number = condition.split(", ")[-1]
    if not number.isdigit():
        return np.empty(0, int)
    return np.random.default_rng(seed).choice(len(text.X), int(number), replace=False)
