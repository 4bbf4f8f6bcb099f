"""What a word looks like: its shape and its endings, in any script.

Tokens that are no strings have neither.
"""

from collections.abc import Hashable, Iterator
from typing import NamedTuple

_HYPHENS = frozenset("-\u2010\u2011\u2012\u2013")


class Shape(NamedTuple):
    """The shape of a word.

    Attributes
    ----------
    letters : {"none", "lower", "Capitalised", "UPPER", "mixed", "caseless"}
        How its letters are written; "Capitalised" also for a single capital letter, "caseless" in
        scripts without capitals, "none" without letters.
    digit : bool
        Whether it has a digit.
    hyphen : bool
        Whether it has a hyphen between other characters.
    """

    letters: str
    digit: bool
    hyphen: bool


def shape_of(token: Hashable) -> Shape | None:
    """The shape of a token; None if it is no string.

    Examples
    --------
    >>> from sklearn_cvb.word_forms import shape_of
    >>> shape_of("Forty-niner")
    Shape(letters='Capitalised', digit=False, hyphen=True)
    """
    if not isinstance(token, str):
        return None
    if token.isalpha():
        # Most words have nothing but letters of these two kinds, and need no look at each.
        if token.islower():
            return _LOWER
        if token[0].isupper() and token[1:].islower():
            return _CAPITALISED
    digit = any(map(str.isdigit, token))
    return Shape(_case_of(token), digit, not _HYPHENS.isdisjoint(token[1:-1]))


_LOWER = Shape("lower", False, False)
_CAPITALISED = Shape("Capitalised", False, False)


def _case_of(word: str) -> str:
    letters = "".join(filter(str.isalpha, word))
    if not letters:
        return "none"
    if letters.islower():
        return "lower"
    upper = [letter.isupper() or letter.istitle() for letter in letters]
    if not any(upper):
        return "caseless"
    if upper[0] and not any(upper[1:]):
        return "Capitalised"
    return "UPPER" if all(upper) else "mixed"


def without_capital(word: str) -> str | None:
    """The word in lower case, if its first letter alone changes by that; else None.

    Examples
    --------
    >>> from sklearn_cvb.word_forms import without_capital
    >>> without_capital("Rose"), without_capital("IBM")
    ('rose', None)
    """
    lower = word.lower()
    return lower if lower != word and lower[1:] == word[1:] else None


def suffixes_of(word: str, longest: int = 4) -> Iterator[str]:
    """The endings of a word from the shortest on, lower-cased, the whole word at most.

    Examples
    --------
    >>> from sklearn_cvb.word_forms import suffixes_of
    >>> list(suffixes_of("Sees"))
    ['s', 'es', 'ees', 'sees']
    """
    lower = word.lower()
    for length in range(1, min(longest, len(lower)) + 1):
        yield lower[-length:]
