"""The open classes of pocket English: verbs, nouns, adjectives, names, numbers grown from stems.

Stems come before what is made of them. Within each of the two the order is arbitrary, and always
the same: it follows from the words' checksums, and so does which of the words that could be made
there are.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import product
from typing import NamedTuple
from zlib import crc32

from sklearn_cvb.datasets.corpora import sections

# Of the words that could be made, one in so many is there.
_VERBS_WITH_PREFIX, _NOUNS_WITH_PREFIX, _ADJECTIVES_WITH_PREFIX = 6, 7, 12
_COMPOUND_NOUNS, _COMPOUND_ADJECTIVES = 4, 8
_GERUND_NOUNS, _PARTICIPLE_ADJECTIVES = 5, 7
_NAMES = 2
_STEMS = "pocket_stems.txt"

# Of one syllable, or stressed on the last, unlike "visit" and "offer".
_DOUBLED = re.compile(
    "commit|admit|permit|submit|occur|refer|prefer|transfer|control|begin|forget|regret|equip|"
    "offset|program|quit|[^aeiou]*[aeiou][^aeiouwxy]"
)
_WITH_ION = {
    "ify$": "ification",
    "ize$": "ization",
    "uce$": "uction",
    "mit$": "mission",
    "te$": "tion",
    "de$": "sion",
    "nd$": "nsion",
    "t$": "tion",
    "e$": "ion",
    "$": "ion",
}
# What the end of a stem becomes together with a suffix; the first that matches counts.
_SPELLED = {
    "s": {"(s|x|z|ch|sh)$": r"\1es", "(?<=[^aeiou])y$": "ies", "$": "s"},
    "ly": {
        "ic$": "ically",
        "ue$": "uly",
        "ll$": "lly",
        "ly$": "lily",
        "(?<=[^aeiou])le$": "ly",
        "(?<=[^aeiou])y$": "ily",
        "$": "ly",
    },
    "ment": {"ue$": "ument", "$": "ment"},
    "ity": {"(?<=[bp])le$": "ility", "e$": "ity", "$": "ity"},
    "al": {"ce$": "cial", "er$": "ral", "y$": "ial", "e$": "al", "$": "al"},
    "ion": _WITH_ION,
    "ive": {ending: f"{word.removesuffix('ion')}ive" for ending, word in _WITH_ION.items()},
}


class Verb(NamedTuple):
    """A verb: base, third person, past, participle, gerund; its valences; suffixes it takes."""

    forms: tuple[str, ...]
    valences: tuple[str, ...]
    suffixes: tuple[str, ...]


@cache
def verbs() -> tuple[Verb, ...]:
    """Verbs beyond those that ``pocket_grammar.txt`` lists: stems, then verbs with a prefix.

    >>> from sklearn_cvb.datasets.pocket_lexicon import verbs
    >>> [verb.valences for verb in verbs() if verb.forms[2] == "sold"]
    [('t', 'i')]
    """
    listed: dict[str, Verb] = {}
    for properties, stem in _entries("verbs"):
        bar = properties.index("|")
        verb = Verb(conjugated(stem), properties[:bar], properties[bar + 1 :])
        base = verb.forms[0]
        known = listed.setdefault(base, verb)
        both = zip(known[1:], verb[1:], strict=True)
        listed[base] = Verb(known.forms, *(tuple(dict.fromkeys(a + b)) for a, b in both))
    with_prefix = {
        prefix + base: Verb(tuple(prefix + form for form in verb.forms), ("t",), ())
        for prefix, (base, verb) in product(_words("verb prefixes"), listed.items())
        if "t" in verb.valences
        and prefix + base not in listed
        and _exists(prefix + base, _VERBS_WITH_PREFIX)
    }
    return tuple(group[base] for group in (listed, with_prefix) for base in _shuffled(group))


def open_classes() -> dict[str, list[str]]:
    """Words of the open classes by symbol of the grammar, but for verbs."""
    singular, mass = _nouns()
    compared = [stem for properties, stem in _entries("adjectives") if "er" in properties]
    irregular = [pair.split(":") for pair in _words("irregular plurals")]
    adverbs = _derived("adjectives", "ly")
    adverbs += [
        "un" + attach(stem, "ly")
        for properties, stem in _entries("adjectives")
        if {"un", "ly"} <= set(properties)
    ]
    return {
        "NN": singular,
        "NN/mass": [noun for noun in singular if noun in mass],
        "NNS": [
            next((n.removesuffix(a) + b for a, b in irregular if n.endswith(a)), attach(n, "s"))
            for n in singular
            if n not in mass
        ],
        "JJ": _adjectives(),
        "JJR": _shuffled(attach(stem, "er") for stem in compared),
        "JJS": _shuffled(attach(stem, "est") for stem in compared),
        "RB": _shuffled(adverbs),
        **_names(),
        **_numbers(),
    }


def _nouns() -> tuple[list[str], set[str]]:
    """Nouns in the singular, and those that have no plural."""
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
    mass = {*abstract, *(stem for properties, stem in _entries("nouns") if "m" in properties)}
    return list(dict.fromkeys([*_shuffled(plain), *_shuffled(made)])), mass


def _adjectives() -> list[str]:
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
    owners = [stem for properties, stem in _entries("nouns") if not properties]
    pairs = [
        *product(owners, _words("participles")),
        *product(_words("measured"), _words("measures")),
        *product(_words("counts"), _words("units")),
    ]
    compounds = [f"{first}-{last}" for first, last in pairs]
    made += [word for word in compounds if _exists(word, _COMPOUND_ADJECTIVES)]
    return [*_shuffled(plain), *_shuffled(made)]


def _names() -> dict[str, list[str]]:
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


def _numbers() -> dict[str, list[str]]:
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


def attach(stem: str, suffix: str) -> str:
    """Spell a stem with a suffix such as "s", "ed", "ing", "er", "ly", "ness" or "ion".

    >>> from sklearn_cvb.datasets.pocket_lexicon import attach
    >>> [attach("plan", "ed"), attach("carry", "s"), attach("decide", "ion"), attach("able", "ity")]
    ['planned', 'carries', 'decision', 'ability']
    """
    for ending, spelled in _SPELLED.get(suffix, {}).items():
        word, n_endings = re.subn(ending, spelled, stem, count=1)
        if n_endings:
            return word
    if suffix[0] not in "aeiouy":
        return re.sub("(?<=[^aeiou])y$", "i", stem) + suffix
    return _before_vowel(stem, suffix) + suffix


def conjugated(forms: str) -> tuple[str, ...]:
    """Base, third person, past, participle and gerund, from the first, or the irregular ones of it.

    >>> from sklearn_cvb.datasets.pocket_lexicon import conjugated
    >>> conjugated("stop")
    ('stop', 'stops', 'stopped', 'stopped', 'stopping')
    >>> conjugated("buy:bought")
    ('buy', 'buys', 'bought', 'bought', 'buying')
    """
    base, *rest = forms.split(":")
    past = rest[0] if rest else attach(base, "ed")
    return base, attach(base, "s"), past, rest[-1] if rest else past, attach(base, "ing")


def _before_vowel(stem: str, suffix: str) -> str:
    if stem.endswith("ie") and suffix == "ing":
        return stem[:-2] + "y"
    if stem.endswith("e") and not (suffix == "ing" and stem.endswith(("ee", "oe", "ye"))):
        return stem if suffix == "able" and stem.endswith(("ce", "ge")) else stem[:-1]
    if re.search("[^aeiou]y$", stem) and suffix != "ing":
        return stem[:-1] + "i"
    if _DOUBLED.fullmatch(stem):
        return stem + stem[-1]
    return stem


def _words(section: str) -> list[str]:
    return sections(_STEMS)[section].split()


def _entries(section: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Properties and stem, for all stems of a section."""
    for line in sections(_STEMS)[section].splitlines():
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
    words = dict.fromkeys(a + b for a, b in product(_words(first), _words(last)))
    return [word for word in words if _exists(word, _NAMES)]


def _exists(word: str, one_in: int) -> bool:
    return crc32(word.encode()) % one_in == 0


def _shuffled(words: Iterable[str]) -> list[str]:
    # The words that exist have checksums of one remainder; another checksum orders them.
    return sorted(words, key=lambda word: crc32(f"{word[::-1]}.".encode()))
