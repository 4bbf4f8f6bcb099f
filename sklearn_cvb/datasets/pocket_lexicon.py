"""The open classes of pocket English: verbs, nouns, adjectives, names, numbers grown from stems.

Stems come before what is made of them. Within each of the two the order is arbitrary, and always
the same: it follows from the words' checksums, and so does which of the words that could be made
there are.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import resources
from itertools import product
from typing import NamedTuple
from zlib import crc32

from sklearn_cvb.datasets.pocket_morphology import attach, conjugated

# Of the words that could be made, one in so many is there.
_VERBS_WITH_PREFIX, _NOUNS_WITH_PREFIX, _ADJECTIVES_WITH_PREFIX = 6, 7, 12
_COMPOUND_NOUNS, _COMPOUND_ADJECTIVES = 4, 8
_GERUND_NOUNS, _PARTICIPLE_ADJECTIVES = 5, 7
_NAMES = 2


class Verb(NamedTuple):
    """A verb: base, third person, past, participle, gerund; its valences; suffixes it takes."""

    forms: tuple[str, ...]
    valences: tuple[str, ...]
    suffixes: tuple[str, ...]


class Nouns(NamedTuple):
    """Nouns in the singular, those of them that have no plural, and plurals."""

    singular: list[str]
    mass: list[str]
    plural: list[str]


@cache
def verbs() -> tuple[Verb, ...]:
    """Verbs beyond those that ``pocket_english.py`` lists: stems, then verbs with a prefix.

    Returns
    -------
    tuple of Verb

    Examples
    --------
    >>> from sklearn_cvb.datasets.pocket_lexicon import verbs
    >>> [verb.valences for verb in verbs() if verb.forms[2] == "sold"]
    [('t', 'i')]
    """
    listed: dict[str, Verb] = {}
    for properties, stem in _entries("verbs"):
        bar = properties.index("|")
        verb = Verb(conjugated(stem), properties[:bar], properties[bar + 1 :])
        known = listed.setdefault(_base(verb), verb)
        both = zip(known[1:], verb[1:], strict=True)
        listed[_base(verb)] = Verb(known.forms, *(tuple(_unique([*a, *b])) for a, b in both))
    with_prefix = [
        Verb(tuple(prefix + form for form in verb.forms), ("t",), ())
        for prefix, verb in product(_words("verb prefixes"), listed.values())
        if "t" in verb.valences
        and prefix + _base(verb) not in listed
        and _exists(prefix + _base(verb), _VERBS_WITH_PREFIX)
    ]
    return (*_shuffled(listed.values(), _base), *_shuffled(with_prefix, _base))


def nouns() -> Nouns:
    """Nouns beyond those that ``pocket_english.py`` lists.

    Returns
    -------
    Nouns
    """
    plain = [stem for properties, stem in _entries("nouns") if "b" not in properties]
    plain += [verb.forms[0] for verb in verbs() if "0" in verb.suffixes]
    plain += [stem for properties, stem in _entries("adjectives") if "0" in properties]
    abstract = _derived("adjectives", "ness", "ity")
    made = _derived("nouns", "ist", "ism", "ship", "hood") + abstract
    for suffix in ("er", "or", "ion", "ation", "ment", "al", "ance", "ure"):
        made += [attach(verb.forms[0], suffix) for verb in verbs() if suffix in verb.suffixes]
    made += [verb.forms[4] for verb in verbs() if _exists(verb.forms[4], _GERUND_NOUNS)]
    made += [
        prefix + noun
        for prefix, noun in product(_words("noun prefixes"), plain)
        if _exists(prefix + noun, _NOUNS_WITH_PREFIX)
    ]
    made += [
        first + last
        for first, last in product(_words("compound first"), _words("compound last"))
        if _exists(first + last, _COMPOUND_NOUNS) and first != last
    ]
    singular = _unique([*_shuffled(plain), *_shuffled(made)])
    mass = {*abstract, *(stem for properties, stem in _entries("nouns") if "m" in properties)}
    plural = [_plural(noun) for noun in singular if noun not in mass]
    return Nouns(singular, [n for n in singular if n in mass], _unique(plural))


@cache
def _irregular_plurals() -> list[list[str]]:
    return [pair.split(":") for pair in _words("irregular plurals")]


def _plural(noun: str) -> str:
    for one, many in _irregular_plurals():
        if noun.endswith(one):
            return noun.removesuffix(one) + many
    return attach(noun, "s")


def adjectives() -> list[str]:
    """Adjectives beyond those that ``pocket_english.py`` lists.

    Returns
    -------
    list of str
    """
    plain = [stem for _, stem in _entries("adjectives")] + _words("nationalities")
    made = _derived("nouns", "al", "less", "ful", "y", "ly", "ic")
    made += ["un" + stem for properties, stem in _entries("adjectives") if "un" in properties]
    for suffix in ("able", "ive"):
        made += [attach(verb.forms[0], suffix) for verb in verbs() if suffix in verb.suffixes]
    participles = [form for verb in verbs() for form in verb.forms[3:]]
    made += [
        prefix + participle
        for prefix, participle in product(("", "un"), participles)
        if _exists(prefix + participle, _PARTICIPLE_ADJECTIVES)
        and not (prefix and participle.startswith(tuple(_words("verb prefixes"))))
    ]
    made += [
        f"{prefix}-{stem}"
        for prefix, stem in product(_words("adjective prefixes"), plain)
        if _exists(prefix + stem, _ADJECTIVES_WITH_PREFIX)
    ]
    return _unique([*_shuffled(plain), *_shuffled(made + _compound_adjectives())])


def _compound_adjectives() -> list[str]:
    owners = [stem for properties, stem in _entries("nouns") if not properties]
    pairs = [
        *product(owners, _words("participles")),
        *product(_words("measured"), _words("measures")),
        *product(_words("counts"), _words("units")),
    ]
    words = [f"{first}-{last}" for first, last in pairs]
    return [word for word in words if _exists(word, _COMPOUND_ADJECTIVES)]


def compared(suffix: str) -> list[str]:
    """Comparatives or superlatives.

    Parameters
    ----------
    suffix : {"er", "est"}

    Returns
    -------
    list of str
    """
    return _shuffled(
        attach(stem, suffix) for properties, stem in _entries("adjectives") if "er" in properties
    )


def adverbs() -> list[str]:
    """Adverbs in -ly.

    Returns
    -------
    list of str
    """
    made = _derived("adjectives", "ly")
    made += [
        "un" + attach(stem, "ly")
        for properties, stem in _entries("adjectives")
        if {"un", "ly"} <= set(properties)
    ]
    return _shuffled(_unique(made))


def names() -> dict[str, list[str]]:
    """Proper nouns by symbol of the grammar.

    Returns
    -------
    dict of str to list of str
    """
    last = _made_of("last name stems", "last name endings")
    places = _made_of("place stems", "place endings")
    companies = _made_of("company stems", "company endings")
    letters = _words("letters")
    initials = ["".join(three) for three in product(letters, repeat=3)]
    companies += [word for word in initials if _exists(word, 60 * _NAMES)]
    known = [*_words("places"), *_words("days"), *_words("last names")]
    organizations = _words("organization last")
    plural = [f"{name}s" for name in _words("nationalities") if name.endswith("an")]
    return {
        "NNP": _shuffled(known) + _shuffled([*last, *places, *companies, *organizations]),
        "NNP/first": _words("first names"),
        "NNP/last": _words("last names") + _shuffled(last),
        "NNP/initial": _words("initials"),
        "NNP/title": _words("titles"),
        "NNP/place": _words("places") + _shuffled(places),
        "NNP/company": _shuffled(companies),
        "NNP/incorporated": _words("company words"),
        "NNP/of": _words("organization first") + _words("places"),
        "NNP/organization": organizations,
        "NNP/locality": _words("place words"),
        "NNP/month": _words("months"),
        "NNP/day": _words("days"),
        "NNPS": [*_shuffled(plural), *(word for word in organizations if word.endswith("s"))],
    }


def numbers() -> dict[str, list[str]]:
    """Numbers by symbol of the grammar.

    Returns
    -------
    dict of str to list of str
    """
    decimals = [f"{whole}.{tenth}" for whole in range(100) for tenth in range(1, 10)]
    quarters = [f"{whole}.{part}" for whole in range(30) for part in ("25", "75", "125", "375")]
    tens = [str(10 * number) for number in range(1, 100)]
    thousands = [f"{n},{part}" for n in range(1, 40) for part in ("000", "500", "200", "750")]
    spoken = [
        f"{ten}-{one}"
        for ten in ("twenty", "thirty", "forty", "fifty", "sixty")
        for one in ("one", "two", "three", "four", "five", "six")
    ]
    small = [str(number) for number in range(10, 100)]
    return {
        "CD": _shuffled([*tens, *thousands, *small]),
        "CD/p": _shuffled([*small, *tens, *thousands, *spoken]),
        "CD/year": [str(year) for year in (*range(1990, 1969, -1), *range(1991, 2000))],
        "CD/amount": _shuffled([*small, *tens]) + _shuffled([*decimals, *quarters, *thousands]),
        "CD/many": ["million", "billion", "trillion"],
        "CD/date": [str(day) for day in range(1, 32)],
    }


@cache
def _sections() -> dict[str, str]:
    """The texts of ``pocket_stems.txt`` by their headings."""
    text = (resources.files("sklearn_cvb.datasets") / "pocket_stems.txt").read_text("utf-8")
    _, *parts = re.split(r"^\[(.+)\]\n", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def _words(section: str) -> list[str]:
    return _sections()[section].split()


def _entries(section: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Properties and stem, for all stems of a section."""
    for line in _sections()[section].splitlines():
        properties, _, words = line.partition(": ")
        for word in words.split():
            yield tuple(properties.split()), word


def _derived(section: str, *suffixes: str) -> list[str]:
    return [
        attach(stem, suffix)
        for properties, stem in _entries(section)
        for suffix in suffixes
        if suffix in properties
    ]


def _made_of(first: str, last: str) -> list[str]:
    words = [a + b for a, b in product(_words(first), _words(last))]
    return _unique(word for word in words if _exists(word, _NAMES))


def _exists(word: str, one_in: int) -> bool:
    return _checksum(word) % one_in == 0


def _checksum(word: str) -> int:
    return crc32(word.encode())


def _base(verb: Verb) -> str:
    return verb.forms[0]


def _shuffled(items: Iterable, word: Callable[..., str] = str) -> list:
    # The words that exist have checksums of one remainder; another checksum orders them.
    return sorted(items, key=lambda item: _checksum(word(item)[::-1] + "."))


def _unique(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))
