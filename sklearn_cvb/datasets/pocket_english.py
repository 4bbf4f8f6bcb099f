"""Tagged sentences of pocket English, drawn from its grammar and lexicon, with trees and heads."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate, count, pairwise
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.datasets.corpora import sections
from sklearn_cvb.datasets.make import generator_of
from sklearn_cvb.reading.validation import Seed
from sklearn_cvb.scikit_learn import Bunch

VERB_FORMS = ("VB", "VBZ", "VBP", "VBP-1", "VBD", "VBD-p", "VBN", "VBG")
_GRAMMAR, _WORDS = "pocket_grammar.txt", "pocket_words.txt"
# Word frequencies fall as 1 / (rank + shift): Zipf's law, flatter at the top of a large class.
_LARGE_CLASS, _SHIFT, _SHIFT_OF_LARGE = 200, 1, 4
_LONGEST_SENTENCE = 40
# Of the words that annotators are known to mistake, one in so many has a wrong tag.
_SLIPS_ONE_IN = 2000
_VOWEL = re.compile("[aeiou8]|1[18]($|-)", re.IGNORECASE)
_SOUNDS_LIKE_CONSONANT = re.compile("one|use|uni[^mn]|euro", re.IGNORECASE)


class Category(NamedTuple):
    """A symbol of the grammar: phrases or words that it may become, with cumulative weights."""

    label: str
    is_lexical: bool
    options: tuple[Any, ...]  # words, or (children, index of the head child)
    cumulative: tuple[Any, ...]  # probabilities


# A category, and what was chosen for it: a word or (categories, ...).
Step = tuple[Category, Any]


def make_pocket_english(
    n_samples: int = 1000, *, with_trees: bool = False, random_state: Seed = None
) -> Bunch:
    """Draw tagged sentences from a pocket grammar of English.

    The grammar has relative and complement clauses, auxiliaries, passives, questions, coordination
    and prepositional phrases; its lexicon is ambiguous as English is ("can", "saw", "that", "her").
    Open classes are grown from some 1,700 stems by inflection, derivation and compounding, names
    from parts, and there are numbers: 19,900 words, many of which are in no other dictionary.
    Frequencies within a class fall by Zipf's law, as 1 / (rank + 1), in classes of more than 200
    words as 1 / (rank + 4). Some frequent words have tags in the dictionary that they hardly ever
    have in the text, as annotators slip ("the" as an adjective). Sentences longer than 40 tokens
    are drawn again. All words but names and "I" are in lower case. Tags and labels are those of the
    Penn Treebank. In the dependencies an auxiliary governs its verb, a preposition its noun phrase,
    a complementizer or relative pronoun its clause.

    Sentences are 16.8 tokens long on average; a token has 1.8 tags in the dictionary, and 44 % of
    the tokens have more than one. The first 1,000 sentences have 4,000 words, two thirds of which
    occur once; newspaper text of this length has as many.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of sentences.
    with_trees : bool, default=False
        Return the gold trees and dependencies also; the sentences stay the same.
    random_state : int, RandomState, Generator or None, default=None
        Seed or source of randomness. The first sentences do not depend on ``n_samples``.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (list of lists of words), ``target`` (list of lists of tags) and, with
        ``with_trees=True``, ``trees`` (list of nltk.Tree) and ``heads`` (list of int arrays: for
        each token the position of its head counted from 1, or 0 for the root).

    Raises
    ------
    ValueError
        If ``n_samples`` is not positive.

    See Also
    --------
    pocket_english_dictionary : The tags that each word may have.

    Examples
    --------
    >>> from sklearn_cvb.datasets import make_pocket_english
    >>> corpus = make_pocket_english(3, with_trees=True, random_state=0)
    >>> [len(words) == len(tags) for words, tags in zip(corpus.data, corpus.target)]
    [True, True, True]
    >>> corpus.trees[0].leaves() == corpus.data[0]
    True
    """
    if n_samples <= 0:
        raise ValueError(f"n_samples must be positive, got {n_samples}")
    random = generator_of(random_state)
    # A call for each number would take most of the time.
    uniforms = (number for _ in count() for number in random.random(8192).tolist())
    derivations = [_draw_sentence(pocket_grammar(), uniforms) for _ in range(n_samples)]
    leaves = [
        [(category.label, word) for category, word in steps if category.is_lexical]
        for steps in derivations
    ]
    corpus = Bunch(
        data=[[word for _, word in pairs] for pairs in leaves],
        target=[[tag for tag, _ in pairs] for pairs in leaves],
    )
    if with_trees:
        corpus.trees = [_tree(iter(steps)) for steps in derivations]
        corpus.heads = [_heads(steps) for steps in derivations]
    return corpus


def pocket_english_dictionary() -> dict[str, tuple[str, ...]]:
    """Tag dictionary of the pocket grammar's lexicon.

    Returns
    -------
    dictionary : dict of str to tuple of str
        The tags of each word, sorted.

    See Also
    --------
    make_pocket_english : Sentences over this lexicon.

    Examples
    --------
    >>> from sklearn_cvb.datasets import pocket_english_dictionary
    >>> dictionary = pocket_english_dictionary()
    >>> dictionary["can"], dictionary["her"]
    (('MD', 'NN', 'VB', 'VBP'), ('PRP', 'PRP$'))
    """
    tags = {"an": {"DT"}}
    slips = [category for wrong in pocket_slips().values() for category in wrong]
    for category in (*pocket_grammar().values(), *slips):
        if category.is_lexical:
            for word in category.options:
                tags.setdefault(word, set()).add(category.label)
    return {word: tuple(sorted(tags[word])) for word in sorted(tags)}


@cache
def pocket_grammar() -> dict[str, Category]:
    """What each symbol may become, and how often; the start symbol is ``"TOP"``.

    >>> from sklearn_cvb.datasets.pocket_english import pocket_grammar
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
    """A category for each wrong tag that annotators gave to a frequent word with this tag.

    >>> from sklearn_cvb.datasets.pocket_english import pocket_slips
    >>> [category.label for category in pocket_slips()["a", "DT"]]
    ['IN', 'JJ']
    """
    slips = {}
    for line in _lines("slips"):
        token, tags = line.split(": ")
        word, tag = token.split()
        slips[word, tag] = tuple(_category(wrong, True, [word], [1]) for wrong in tags.split())
    return slips


def _lines(section: str, file: str = _GRAMMAR) -> list[str]:
    return sections(file)[section].strip().splitlines()


def _category(
    symbol: str, is_lexical: bool, options: Iterable[Any], weights: Sequence[float]
) -> Category:
    running = list(accumulate(weights))
    cumulative = tuple(value / running[-1] for value in running)
    label = re.split(r"(?<=.)[/-]", symbol)[0]
    return Category(label, is_lexical, tuple(options), cumulative)


def _phrases() -> dict[str, list[Any]]:
    phrases: dict[str, list[Any]] = {}
    for line in _lines("grammar"):
        for form in VERB_FORMS if "@" in line else ("",):
            left, right = line.replace("@", form).split(" : ", 1)
            weight, *children = right.split()
            head = [child.startswith("*") for child in children].index(True)
            rule = tuple(child.removeprefix("*") for child in children), head
            for symbol in left.split():
                phrases.setdefault(symbol, []).append((float(weight), rule))
    return phrases


def _word_classes() -> dict[str, list[Any]]:
    verbs: list[tuple[list[str], list[str]]] = []
    for line in (*_lines("verbs"), *_lines("verbs", _WORDS)):
        for verb in line.split(" ; "):
            listed, frames = verb.split(" : ")
            verbs.append((listed.split(), frames.split()))
    # Base, third person, past, participle and gerund, as the tags of a verb's forms have them.
    verbs = [([f[0], f[1], f[0], f[0], f[2], f[2], f[3], f[4]], valences) for f, valences in verbs]
    for line in _lines("auxiliaries"):
        listed, valence = line.split(" : ")
        verbs.append((listed.split(), [valence]))
    classes: dict[str, list[Any]] = {}
    for forms, valences in verbs:
        for tag, word in zip(VERB_FORMS, forms, strict=True):
            for valence in valences:
                classes.setdefault(f"{tag}/{valence}", []).append(word)
    for file in (_GRAMMAR, _WORDS):
        for entry in re.split(r"\n(?! )", sections(file)["words"].strip()):
            symbol, members = entry.split(": ", 1)
            classes.setdefault(symbol, []).extend(members.split())
    return {symbol: list(dict.fromkeys(members)) for symbol, members in classes.items()}


def _draw_sentence(grammar: dict[str, Category], uniforms: Iterator[float]) -> list[Step]:
    steps = None
    while steps is None:
        steps = _draw_derivation(grammar, uniforms)
    lexical = [index for index, (category, _) in enumerate(steps) if category.is_lexical]
    for index, following in pairwise(lexical):
        category, word = steps[index]
        after = steps[following][1]
        if word == "a" and _VOWEL.match(after) and not _SOUNDS_LIKE_CONSONANT.match(after):
            steps[index] = category, "an"
    slips = pocket_slips()
    for index in lexical:
        category, word = steps[index]
        wrong = slips.get((word, category.label))
        if wrong is not None:
            chosen = int(next(uniforms) * _SLIPS_ONE_IN * len(wrong))
            if chosen < len(wrong):
                steps[index] = wrong[chosen], word
    return steps


def _draw_derivation(grammar: dict[str, Category], uniforms: Iterator[float]) -> list[Step] | None:
    """Steps (category, option) from the top, leftmost first, or None for a sentence too long."""
    steps: list[Step] = []
    agenda, n_words = ["TOP"], 0
    while agenda:
        category = grammar[agenda.pop()]
        option = category.options[bisect_right(category.cumulative, next(uniforms))]
        steps.append((category, option))
        if category.is_lexical:
            n_words += 1
        else:
            agenda.extend(reversed(option[0]))
        if n_words + len(agenda) > _LONGEST_SENTENCE:
            return None
    return steps


def _tree(steps: Iterator[Step]) -> Any:
    """Tree of a derivation, from an iterator that it uses up."""
    from nltk import Tree

    category, option = next(steps)
    if category.is_lexical:
        return Tree(category.label, [option])
    return Tree(category.label, [_tree(steps) for _ in option[0]])


def _heads(steps: list[Step]) -> np.ndarray:
    heads = np.zeros(sum(category.is_lexical for category, _ in steps), dtype=np.int64)
    _attach(iter(steps), heads, count(1))
    return heads


def _attach(steps: Iterator[Step], heads: np.ndarray, positions: Iterator[int]) -> int:
    """Position of the head word of the next subtree, whose other words get their heads."""
    category, option = next(steps)
    if category.is_lexical:
        return next(positions)
    children, head_child = option
    words = [_attach(steps, heads, positions) for _ in children]
    for word in words:
        if word != words[head_child]:
            heads[word - 1] = words[head_child]
    return words[head_child]
