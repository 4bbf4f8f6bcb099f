"""The pocket grammar of English as a table: what each symbol may become, and how often."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate
from typing import NamedTuple

from sklearn_cvb.datasets import pocket_lexicon as lexicon
from sklearn_cvb.datasets.pocket_english import (
    AUXILIARIES,
    GRAMMAR,
    SLIPS,
    VERB_FORMS,
    VERBS,
    WORDS,
)

# Word frequencies fall as 1 / (rank + shift): Zipf's law, flatter at the top of a large class.
_LARGE_CLASS, _SHIFT, _SHIFT_OF_LARGE = 200, 1, 4


class Category(NamedTuple):
    """What a symbol of the grammar may become.

    ``options`` holds words for a lexical symbol, else pairs (children, index of the head child);
    ``cumulative`` their cumulative probabilities.
    """

    label: str
    is_lexical: bool
    options: tuple
    cumulative: tuple


@cache
def pocket_grammar() -> dict[str, Category]:
    """Grammar and lexicon as one table from symbol to :class:`Category`.

    Returns
    -------
    grammar : dict of str to Category
        The start symbol is ``"TOP"``.

    Examples
    --------
    >>> from sklearn_cvb.datasets.pocket_grammar import pocket_grammar
    >>> pocket_grammar()["PDT"].options
    ('all', 'half', 'both')
    """
    phrases, words = _phrases(), _word_classes()
    grammar = {
        symbol: _category(symbol, False, [rule for _, rule in rules], [w for w, _ in rules])
        for symbol, rules in phrases.items()
    }
    for symbol, listed in words.items():
        shift = _SHIFT_OF_LARGE if len(listed) > _LARGE_CLASS else _SHIFT
        weights = [1 / (rank + shift) for rank in range(1, len(listed) + 1)]
        grammar[symbol] = _category(symbol, True, listed, weights)
    return grammar


@cache
def pocket_slips() -> dict[tuple[str, str], tuple[Category, ...]]:
    """Wrong tags that annotators gave to frequent words.

    Returns
    -------
    slips : dict of (word, tag) to tuple of Category
        One category for each wrong tag.

    Examples
    --------
    >>> from sklearn_cvb.datasets.pocket_grammar import pocket_slips
    >>> [category.label for category in pocket_slips()["a", "DT"]]
    ['IN', 'JJ']
    """
    slips = {}
    for line in SLIPS.strip().splitlines():
        token, tags = line.split(": ")
        word, tag = token.split()
        slips[word, tag] = tuple(_category(wrong, True, [word], [1]) for wrong in tags.split())
    return slips


def _category(
    symbol: str, is_lexical: bool, options: Iterable, weights: Sequence[float]
) -> Category:
    running = list(accumulate(weights))
    cumulative = tuple(value / running[-1] for value in running)
    return Category(_label(symbol), is_lexical, tuple(options), cumulative)


def _label(symbol: str) -> str:
    return re.split(r"(?<=.)[/-]", symbol)[0]


def _phrases() -> dict[str, list]:
    phrases: dict[str, list] = {}
    for line in GRAMMAR.strip().splitlines():
        for form in VERB_FORMS if "@" in line else ("",):
            left, right = line.replace("@", form).split(" : ", 1)
            weight, *children = right.split()
            head = [child.startswith("*") for child in children].index(True)
            rule = tuple(child.removeprefix("*") for child in children), head
            for symbol in left.split():
                phrases.setdefault(symbol, []).append((float(weight), rule))
    return phrases


def _word_classes() -> dict[str, list]:
    classes: dict[str, list] = {}
    for line in VERBS.replace(" ; ", "\n").strip().splitlines():
        forms, valences = line.split(" : ")
        base, third, past, participle, gerund = forms.split()
        by_tag = (base, third, base, base, past, past, participle, gerund)
        _add_verb(classes, by_tag, valences.split())
    for verb in lexicon.verbs():
        base, third, past, participle, gerund = verb.forms
        by_tag = (base, third, base, base, past, past, participle, gerund)
        _add_verb(classes, by_tag, verb.valences)
    for line in AUXILIARIES.strip().splitlines():
        forms, valence = line.split(" : ")
        _add_verb(classes, forms.split(), [valence])
    for entry in re.split(r"\n(?! )", WORDS.strip()):
        symbol, words = entry.split(": ", 1)
        classes.setdefault(symbol, []).extend(words.split())
    for symbol, words in _open_classes().items():
        classes.setdefault(symbol, []).extend(words)
    return {symbol: list(dict.fromkeys(words)) for symbol, words in classes.items()}


def _open_classes() -> dict[str, list]:
    nouns = lexicon.nouns()
    comparatives, superlatives = lexicon.compared("er"), lexicon.compared("est")
    return {
        "NN": nouns.singular,
        "NN/mass": nouns.mass,
        "NNS": nouns.plural,
        "JJ": lexicon.adjectives(),
        "JJR": comparatives,
        "JJS": superlatives,
        "RB": lexicon.adverbs(),
        **lexicon.names(),
        **lexicon.numbers(),
    }


def _add_verb(classes: dict, forms: Sequence, valences: Iterable) -> None:
    for tag, word in zip(VERB_FORMS, forms, strict=True):
        for valence in valences:
            classes.setdefault(f"{tag}/{valence}", []).append(word)
