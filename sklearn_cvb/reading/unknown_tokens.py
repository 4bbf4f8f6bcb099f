"""Tokens that a model or a dictionary does not know, and how they may have been meant."""

import re
import reprlib
import unicodedata
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from numbers import Number
from typing import Any, NamedTuple

import numpy as np

# Nearly none is a smaller share of the tokens than this.
NEARLY_NONE = 0.05
# Fewer tokens, none of which is known, may be what is new in a short text.
FEWEST = 3
# This many different ones tell how the others are written.
_LOOKED_AT = 1000

_SEPARATORS = re.compile(r"[\s_./:-]+")
_NUMBERS_KNOWN = (
    "the model knows codes: ask about these, or name its symbols by `vocabulary` where it is made "
    "or fitted"
)
_NAMES_KNOWN = "the model knows names: ask about these, model.vocabulary_[code] of each code"
_ARE_PAIRS = "these tokens are pairs; of tagged text X has the words, and y their tags"
_ARE_CHARACTERS = "these tokens are single characters; cut text into words, as with str.split"
_CHARACTERS_KNOWN = "the model knows single characters; cut words into them, as with list"
UNLIKE = "compare how the words of both are cut and written"


def _of_another_type(token: Any) -> Iterator[Any]:
    """A token as text, number or bytes."""
    if isinstance(token, bytes):
        yield token.decode(errors="replace")
        return
    with suppress(TypeError, ValueError, OverflowError):
        # As hashes go 1, 1.0 and True are the same.
        number = float(token)
        yield from (number, str(number), str(int(number)))
    if isinstance(token, str):
        yield from (token.encode(errors="replace"), {"true": 1, "false": 0}.get(token.lower()))
    else:
        yield str(token)


def _with_other_separators(token: str) -> Iterator[str]:
    """A token whose parts are joined in another way."""
    parts = _SEPARATORS.split(token)
    return (mark.join(parts) for mark in (*" _-./:", "") if len(parts) > 1)


# How a text may be written otherwise, and what to do about it.
_WRITINGS: list[tuple[Callable[[str], Any], str]] = [
    (
        lambda token: (token.lower(), token.upper(), token.capitalize(), token.title()),
        "write both in the same case, as with str.lower",
    ),
    (
        lambda token: (token.strip(), f" {token}", f"{token} ", f" {token} ", f"{token}\n"),
        "take off the blanks around them, as with str.strip",
    ),
    (
        lambda token: (unicodedata.normalize(form, token) for form in ("NFC", "NFD", "NFKC")),
        "write both in the same normal form, as with unicodedata.normalize",
    ),
    (_with_other_separators, "write what stands between the parts of a word alike"),
    (str.split, "these tokens hold several words; cut them, as with str.split"),
]


def other_readings(known: Container[Any]) -> list[tuple[Callable[[Any], bool], str]]:
    """Ways to misread a text: whether a token would be known then, and what to do."""

    def is_there(others: Callable[[Any], Any], kind: Any) -> Callable[[Any], bool]:
        return lambda token: (
            token in known
            or (isinstance(token, kind) and any(one in known for one in others(token)))
        )

    texts = [(is_there(others, str), advice) for others, advice in _WRITINGS]
    pairs = is_there(lambda pair: pair[:1], tuple), _ARE_PAIRS
    types = is_there(_of_another_type, object), "give both the same type, as with str"
    return [*texts, pairs, types]


def nearest_cause(
    tokens: list[Any], uses: np.ndarray, readings: list[tuple[Callable[[Any], bool], str]]
) -> tuple[float, str]:
    """The share of the most frequent tokens that the best of some readings knows; what to do."""
    frequent = np.argsort(-uses, kind="stable")[:_LOOKED_AT]
    most, advice, uses = 0.0, "", uses[frequent]
    for is_there, what_to_do in readings:
        found = np.array([is_there(tokens[i]) for i in frequent.tolist()], bool)
        share = float(uses[found].sum() / max(1, uses.sum()))
        if share > most:
            most, advice = share, what_to_do
    return most, advice


def unknown_beside_known(tokens: list[Any], uses: np.ndarray, known: Iterable[Any]) -> str:
    """The most frequent of unknown tokens, and some that are known, as a message shows them."""
    frequent = [tokens[i] for i in np.argsort(-uses, kind="stable")[:3].tolist()]
    missing, some = (", ".join(map(reprlib.repr, own)) for own in (frequent, islice(known, 3)))
    return f"(missing are {missing}; it has {some})"


class UnknownTokens(NamedTuple):
    """The different tokens of a text that are unknown, how often each is used, and all tokens."""

    tokens: list[Any]
    uses: np.ndarray
    n_tokens: int


def caution_of_unknown(
    unknown: UnknownTokens,
    known: Collection[Any],
    what: str = "tokens of X",
    fewest: float = FEWEST,
) -> list[str]:
    """What is to be said where none or nearly none of the tokens is `known`; usually nothing.

    Where fewer than 1 in 20 are, a message comes if most would be if they were read in another way,
    or if they are numbers where names are known, or the reverse; without such a cause from `fewest`
    tokens on.
    """
    tokens, uses, n_tokens = unknown
    n_known = n_tokens - int(uses.sum())
    if not tokens or not known or n_known >= NEARLY_NONE * n_tokens:
        return []
    share, advice = nearest_cause(tokens, uses, other_readings(known))
    if share <= 0.5:
        advice = _cause_of_all(tokens, known)
    if not advice and n_tokens < fewest:
        return []
    return [
        f"{what} that the model knows: {n_known or 'none'} of {n_tokens} "
        f"{unknown_beside_known(tokens, uses, known)}: {advice or UNLIKE}"
    ]


def _cause_of_all(tokens: list[Any], known: Collection[Any]) -> str:
    """What tells unknown tokens from those that are known, one and all; empty if nothing does."""
    few = list(islice(known, 100))
    if all(isinstance(token, str) for token in tokens):
        if all(isinstance(token, Number) for token in few):
            return _NUMBERS_KNOWN
        if all(len(token) == 1 for token in tokens):
            longer = sum(isinstance(token, str) and len(token) > 1 for token in few)
            return _ARE_CHARACTERS * (2 * longer > len(few) and len(tokens) >= FEWEST)
        if all(isinstance(token, str) and len(token) == 1 for token in few):
            return _CHARACTERS_KNOWN * all(set(token) <= set(known) for token in tokens)
    elif all(isinstance(token, Number) for token in tokens) and all(
        isinstance(token, str) for token in few
    ):
        return _NAMES_KNOWN
    kinds = {Number if isinstance(token, Number) else type(token) for token in few}
    if not any(isinstance(token, tuple(kinds)) for token in tokens):
        return f"the model knows {_types(few)}, and these are {_types(tokens)}: give both the same"
    return ""


def _types(tokens: Iterable[Any]) -> str:
    """The types of tokens, as a message shows them."""
    return "values of type " + " or ".join(sorted({type(token).__name__ for token in tokens}))


def without_capital(word: str) -> str | None:
    """The word in lower case, if its first letter alone changes by that; else None.

    Examples
    --------
    >>> from sklearn_cvb.reading.unknown_tokens import without_capital
    >>> without_capital("Rose"), without_capital("IBM")
    ('rose', None)
    """
    lower = word.lower()
    return lower if lower != word and lower[1:] == word[1:] else None
