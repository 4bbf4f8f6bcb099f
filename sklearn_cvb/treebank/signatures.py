"""Classes of rare and unknown words by their form, coarser where the finer one was never seen.

After the classes of the Berkeley parser (Petrov et al. 2006), for any script: what a word begins
with, which marks are within it, how it ends.
"""

import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import NamedTuple

from sklearn_cvb.reading.corpus import sorted_types

# The class of all words of which nothing else is known.
_ANY = ("word",)

# Endings of so many letters are told apart, in words with so many letters more.
_ENDING, _REST = 2, 2


class Signature(NamedTuple):
    """A class of words; it is no word that a text could hold."""

    features: tuple[str, ...]

    def __str__(self) -> str:
        return f"<{' '.join(self.features)}>"


ANY_WORD = Signature(_ANY)


def signatures_of(word: Hashable, is_first: bool) -> list[Signature]:
    """The classes of a word, from the finest to that of all words.

    Parameters
    ----------
    word : hashable
        What is no string has only the last.
    is_first : bool
        Whether it begins its sentence, where a capital says little.

    Returns
    -------
    list of Signature

    Examples
    --------
    >>> from sklearn_cvb.treebank.signatures import signatures_of
    >>> [str(signature) for signature in signatures_of("Re-opened", False)]
    ['<word capital dash -ed>', '<word capital dash>', '<word capital>', '<word>']
    """
    if not isinstance(word, str) or not word:
        return [ANY_WORD]
    features = [*_ANY, *_begin(word, is_first)]
    if any(map(str.isdigit, word)):
        features.append("digit")
    if any(unicodedata.category(letter) == "Pd" for letter in word):
        features.append("dash")
    letters = word.lower()
    if letters[-_ENDING:].isalpha() and sum(map(str.isalpha, word)) >= _ENDING + _REST:
        features.append("-" + letters[-_ENDING:])
    return [Signature(tuple(features[:n])) for n in range(len(features), 0, -1)]


def _begin(word: str, is_first: bool) -> list[str]:
    """What the case of a word says; nothing in scripts without case, but that it has letters."""
    if not any(map(str.isalpha, word)):
        return ["no letter"]
    if sum(map(str.isupper, word)) > 1 and not any(map(str.islower, word)):
        return ["capitals"]
    if word[0].isupper() or word[0].istitle():
        return ["first capital"] if is_first else ["capital"]
    return ["small"] if word[0].islower() else []


class Lexicon(NamedTuple):
    """Which number stands for a word.

    Attributes
    ----------
    codes : dict
        Frequent words and classes of the others, as they were in training.
    n_words : int
        How many of them are words: those come first.
    """

    codes: Mapping[Hashable, int]
    n_words: int

    def numbers(self, words: list, starts: Iterable[int]) -> list[int]:
        """The number of each word; of a word of no known class one more than the last.

        Parameters
        ----------
        words : list
            Of all sentences.
        starts : iterable of int
            Where sentences begin.

        Returns
        -------
        list of int
        """
        # A sample has classes by their names, so that it can be printed.
        classes = {str(name): code for name, code in self.codes.items() if code >= self.n_words}
        first, found = set(starts), []
        for t, word in enumerate(words):
            number = self.codes.get(word, classes.get(word))
            if number is None:
                known = (self.codes.get(s) for s in signatures_of(word, t in first))
                number = next((n for n in known if n is not None), len(self.codes))
            found.append(number)
        return found


def lexicon_of(words: list, starts: Iterable[int], rare_threshold: int) -> Lexicon:
    """The words seen more often than the threshold, and the classes of the others.

    Parameters
    ----------
    words : list
        Of all training sentences.
    starts : iterable of int
        Where sentences begin.
    rare_threshold : int

    Returns
    -------
    Lexicon
    """
    seen, first = Counter(words), set(starts)
    frequent = sorted_types(word for word, n in seen.items() if n > rare_threshold)
    classes = {
        signatures_of(word, t in first)[0]
        for t, word in enumerate(words)
        if seen[word] <= rare_threshold
    }
    names = [*frequent, *sorted(classes)]
    return Lexicon({name: i for i, name in enumerate(names)}, len(frequent))
