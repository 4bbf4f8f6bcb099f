"""Slips in a plain tag dictionary: tags that the forms of a word do not share, shares by shape.

A dictionary that lists tags without saying how often each was seen lists slips beside the tags that
are right. Two things tell them apart without any tagged text. The forms of a word in other case
mostly have its tags, but seldom its slips. And a tag of words that look otherwise, such as proper
nouns and list markers for words in small letters, is less likely. Tokens that are no strings have
neither.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Container, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from sklearn_cvb.dictionary import Legal, is_weighted, tags_of
from sklearn_cvb.word_forms import shape_of

# No tag of a word gets less than this beside 1 for a tag all of whose words have its shape.
_LEAST = 0.01
# What a shape tells of a tag counts so much less than how often it was seen.
SHAPE_WEIGHT = 0.15


def can_be_cleaned(tag_dictionary: Mapping, words: Collection[Hashable]) -> bool:
    """Whether a dictionary is plain for the most part, of a text of strings in both cases."""
    n_weighted = sum(map(is_weighted, tag_dictionary.values()))
    if not tag_dictionary or 2 * n_weighted >= len(tag_dictionary):
        return False
    text = [word for word in words if isinstance(word, str)]
    in_both = any(word != word.lower() for word in text) and any(w != w.upper() for w in text)
    return in_both and len(text) == len(words)


def disagreeing(tag_dictionary: Mapping, words: Iterable[str]) -> dict[str, tuple]:
    """The tags of words that their forms in other case lack.

    Of each word the lower, Capitalised and UPPER form count, one after the other, if they are in
    the text and in the dictionary, and share a tag with what is left of it.

    Parameters
    ----------
    tag_dictionary : dict
    words : collection of str
        The distinct words of a text.

    Returns
    -------
    dict
        Maps words to the tags to drop; without words of which all tags agree.

    Examples
    --------
    >>> from sklearn_cvb.slips import disagreeing
    >>> disagreeing({"of": ["IN", "RP"], "Of": ["IN", "NNP"]}, ["of", "Of"])
    {'Of': ('NNP',), 'of': ('RP',)}
    """
    present = {word for word in words if word in tag_dictionary}
    found = {}
    for word in sorted(present):
        listed = kept = tags_of(tag_dictionary[word])
        if len(listed) == 1 or is_weighted(tag_dictionary[word]):
            continue
        for form in (word.lower(), word.capitalize(), word.upper()):
            if form != word and form in present:
                theirs = tags_of(tag_dictionary[form])
                kept = tuple(tag for tag in kept if tag in theirs) or kept
        if len(kept) < len(listed):
            found[word] = tuple(tag for tag in listed if tag not in kept)
    return found


def keeping(dropped: Mapping, pairs: Container) -> dict[str, tuple]:
    """What is to be dropped without these pairs of a word and a tag."""
    rest = {
        word: tuple(t for t in tags if (word, t) not in pairs) for word, tags in dropped.items()
    }
    return {word: tags for word, tags in rest.items() if tags}


def without(tag_dictionary: Mapping, dropped: Mapping) -> dict:
    """The dictionary without the tags to drop."""
    kept = {
        word: tuple(tag for tag in tags_of(tag_dictionary[word]) if tag not in tags)
        for word, tags in dropped.items()
    }
    return {**tag_dictionary, **kept}


class ShapeShares:
    """How well a word's tags go with its shape.

    Parameters
    ----------
    tag_dictionary : dict
        Each of its words counts once, in equal parts for all of its tags.
    """

    def __init__(self, tag_dictionary: Mapping) -> None:
        self._by_shape: dict[Any, dict] = defaultdict(partial(defaultdict, float))
        self._totals: dict[Any, float] = defaultdict(float)
        kinds = Counter((shape_of(word), tags_of(entry)) for word, entry in tag_dictionary.items())
        for (shape, tags), number in kinds.items():
            for tag in tags:
                self._by_shape[shape][tag] += number / len(tags)
                self._totals[tag] += number / len(tags)

    def of(self, word: Hashable, tags: Sequence) -> np.ndarray:
        """The shares of a word's tags, which sum to 1."""
        here: dict = self._by_shape.get(shape_of(word), {})
        weights = [_LEAST + here.get(tag, 0.0) / self._totals.get(tag, 1.0) for tag in tags]
        return np.array(weights) / sum(weights)

    def rows(self, words: Iterable[Hashable], legal: Legal) -> list[np.ndarray]:
        """The shares of each word's states, times `SHAPE_WEIGHT`; NaN for words without an entry.

        Entries that have weights keep their own shares.
        """
        tags, words = list(legal.states), list(words)
        found = legal.shares(words)
        for i, word in enumerate(words):
            entry = legal.tag_dictionary.get(word)
            if entry is not None and not is_weighted(entry):
                found[i] = SHAPE_WEIGHT * self.of(word, [tags[k] for k in legal.row(word).tolist()])
        return found
