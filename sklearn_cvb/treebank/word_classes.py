"""Signatures: classes of rare and unknown words by their form (case, marks, ending), learned from a
treebank's rare words, and the numbers that rules have for words and classes.

After the classes of the Berkeley parser (Petrov et al. 2006), for any script: what a word begins
with, which marks are within it, how it ends. Which endings are classes is learned, as in the pruned
suffix trees of Schmid (1995), "Improvements in part-of-speech tagging with an application to
German": those whose words have other tags than the words of the shorter ending.
"""

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping
from math import log
from typing import Any, NamedTuple

from sklearn_cvb.reading.corpus import sorted_types
from sklearn_cvb.reading.unknown_tokens import without_capital

# The feature of all words.
_ANY = "word"

# Endings of so many letters are told apart, in words with so many letters more.
_SHORTEST, _LONGEST, _REST = 2, 5, 2

# An ending is a class if the tags of its words are so many times likelier by their own shares than
# by those of the shorter ending. Between 7 and 50 tags of unknown words are as often right.
_LEAST_RATIO = 20.0


class Signature(NamedTuple):
    """A class of words; it is no word that a text could hold."""

    features: tuple[str, ...]
    ending: str = ""

    def __str__(self) -> str:
        return f"<{' '.join(self.features)}{self.ending and ' -'}{self.ending}>"

    def with_shorter_endings(self) -> "list[Signature]":
        """This class, then with a letter less of its ending each."""
        n = len(self.ending)
        endings = [self.ending[n - length :] for length in range(n, _SHORTEST - 1, -1)]
        return [Signature(self.features, ending) for ending in [*endings, ""]]


ANY_WORD = Signature((_ANY,))


def signatures_of(word: Hashable, is_first: bool) -> list[Signature]:
    """The classes that a word could have, from the finest to that of all words.

    Examples
    --------
    >>> from sklearn_cvb.treebank.word_classes import signatures_of
    >>> print(*signatures_of("Re-act", False))
    <word capital dash -act> <word capital dash -ct> <word capital dash> <word capital> <word>
    """
    classes = _finest_signature(word, is_first).with_shorter_endings()
    features = classes[0].features
    return classes + [Signature(features[:n]) for n in range(len(features) - 1, 0, -1)]


def _finest_signature(word: Hashable, is_first: bool) -> Signature:
    """The class of a word with all that is said of its form."""
    if not isinstance(word, str) or not word:
        return ANY_WORD
    features = [_ANY, *_case_features(word, is_first)]
    # Most words have nothing but letters, and need no look at each.
    if word.isalpha():
        return Signature(tuple(features), _ending_of(word.lower(), len(word), len(word)))
    if any(map(str.isdigit, word)):
        features.append("digit")
    if any(unicodedata.category(letter) == "Pd" for letter in word):
        features.append("dash")
    # Vowels of many scripts are marks on letters.
    letters = [unicodedata.category(letter)[0] in "LM" for letter in word.lower()]
    n_last = letters[::-1].index(False) if False in letters else len(letters)
    return Signature(tuple(features), _ending_of(word.lower(), n_last, sum(letters)))


def _ending_of(word: str, n_last: int, n_letters: int) -> str:
    """The longest ending that could be a class, of a word with so many letters, and at its end."""
    length = min(_LONGEST, n_last, n_letters - _REST)
    return word[-length:] if length >= _SHORTEST else ""


def _case_features(word: str, is_first: bool) -> list[str]:
    """What the case of a word says; nothing in scripts without case, but that it has letters."""
    if not any(map(str.isalpha, word)):
        return ["no letter"]
    if sum(map(str.isupper, word)) > 1 and not any(map(str.islower, word)):
        return ["capitals"]
    if word[0].isupper() or word[0].istitle():
        return ["first capital"] if is_first else ["capital"]
    return ["small"] if word[0].islower() else []


class WordNumbers(NamedTuple):
    """The numbers of frequent words, and of the classes of all others."""

    # Frequent words and classes of the others, as they were in training.
    codes: Mapping[Hashable, int]
    n_words: int  # how many of them are words: those come first

    def numbers(self, words: list[Any], starts: Iterable[int]) -> list[int]:
        """The number of each word; of a word of no known class one more than the last."""
        # A sample has classes by their names, so that it can be printed.
        classes = {str(name): code for name, code in self.codes.items() if code >= self.n_words}
        first, numbers = set(starts), []
        for t, word in enumerate(words):
            number = self.codes.get(word, classes.get(word))
            if number is None and t in first:
                number = self.codes.get(_without_initial_capital(word))
            if number is None:
                known = (self.codes.get(s) for s in signatures_of(word, t in first))
                number = next((n for n in known if n is not None), len(self.codes))
            numbers.append(number)
        return numbers


def word_numbers_of(
    words: list[Any], tags: list[Any], starts: Iterable[int], rare_threshold: int
) -> WordNumbers:
    """The words seen more often than the threshold, and the classes of the others."""
    seen, first = Counter(words), set(starts)
    frequent = sorted_types(word for word, n in seen.items() if n > rare_threshold)
    known = set(frequent)
    rare = [
        (_finest_signature(word, t in first), tag)
        for t, (word, tag) in enumerate(zip(words, tags, strict=True))
        if seen[word] <= rare_threshold
        and not (t in first and _without_initial_capital(word) in known)
    ]
    names = [*frequent, *sorted(_classes_of_rare(rare))]
    return WordNumbers({name: i for i, name in enumerate(names)}, len(frequent))


def _without_initial_capital(word: Hashable) -> str | None:
    """How a word that begins a sentence would be written inside of one; None if as it is."""
    return without_capital(word) if isinstance(word, str) else None


def _classes_of_rare(rare: list[tuple[Signature, Any]]) -> set[Signature]:
    """The classes of rare words, whose finest classes and tags these are.

    Longer endings come first: what is asked of an ending is asked of the words that have none of
    the longer ones.
    """
    members: dict[Signature, list[int]] = defaultdict(list)
    for i, (finest, _) in enumerate(rare):
        for one in finest.with_shorter_endings():
            members[one].append(i)
    tags = [tag for _, tag in rare]
    tallies = {one: Counter(map(tags.__getitem__, some)) for one, some in members.items()}
    classes, rest = set[Signature](), set(range(len(rare)))
    for one in sorted((one for one in members if one.ending), key=lambda one: -len(one.ending)):
        words = rest.intersection(members[one])
        tally, shorter = Counter(map(tags.__getitem__, words)), one.with_shorter_endings()[1]
        if _log_ratio(tally, tallies[shorter]) >= log(_LEAST_RATIO):
            classes.add(one)
            rest -= words
    return classes | {rare[i][0]._replace(ending="") for i in rest}


def _log_ratio(tally: Counter[Any], of_all: Counter[Any]) -> float:
    """Log likelihood ratio of some words' tags: by their own shares, and by those of all."""
    n, n_all = tally.total(), of_all.total()
    return sum(seen * log(seen * n_all / (n * of_all[tag])) for tag, seen in tally.items())
