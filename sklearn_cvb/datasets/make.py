"""Generated sequences: from a random hidden Markov model, and from a pocket grammar of English."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import count, pairwise
from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from sklearn_cvb.datasets.pocket_grammar import Category, pocket_grammar, pocket_slips
from sklearn_cvb.reading.validation import Seed

# A category, and what was chosen for it: a word or (categories, ...).
Step = tuple[Category, Any]

_LONGEST_SENTENCE = 40
# Of the words that annotators are known to mistake, one in so many has a wrong tag.
_SLIPS_ONE_IN = 2000
_VOWEL = re.compile("[aeiou8]|1[18]($|-)", re.IGNORECASE)
_SOUNDS_LIKE_CONSONANT = re.compile("one|use|uni[^mn]|euro", re.IGNORECASE)


def make_hmm_sequences(
    n_samples: int = 100,
    *,
    n_components: int = 3,
    n_symbols: int = 10,
    length: int | tuple[int, int] = 20,
    concentration: float = 0.5,
    return_parameters: bool = False,
    random_state: Seed = None,
) -> tuple:
    """Draw sequences from a random hidden Markov model with well-separated states.

    Nine tenths of a state's emissions fall on symbols that are its own (as far as there are enough
    symbols), the rest anywhere. Four fifths of a state's transitions follow a Dirichlet draw, the
    rest are uniform, so that every state can be reached.

    Parameters
    ----------
    n_samples : int, default=100
        Number of sequences.
    n_components : int, default=3
        Number of hidden states.
    n_symbols : int, default=10
        Number of symbols; the observations are the integers below it.
    length : int or tuple of (int, int), default=20
        Length of each sequence, or smallest and largest length, drawn uniformly.
    concentration : float, default=0.5
        Dirichlet concentration of start, transition and emission probabilities: the lower, the
        more predictable the sequences.
    return_parameters : bool, default=False
        Return the probabilities also.
    random_state : int, RandomState, Generator or None, default=None
        Seed or source of randomness.

    Returns
    -------
    X : list of n_samples int arrays of shape (length,)
        Observed symbols.
    Z : list of n_samples int arrays of shape (length,)
        Hidden states.
    startprob : array of shape (n_components,)
        Only with ``return_parameters=True``, as are the next two.
    transmat : array of shape (n_components, n_components)
        Row: state before; column: state after.
    emissionprob : array of shape (n_components, n_symbols)
        Row: state; column: symbol.

    Raises
    ------
    ValueError
        If a number is not positive, or the lengths are not in order.

    Examples
    --------
    >>> from sklearn_cvb.datasets import make_hmm_sequences
    >>> X, Z = make_hmm_sequences(5, length=(3, 8), random_state=0)
    >>> len(X), all(3 <= len(x) <= 8 for x in X), [len(x) for x in X] == [len(z) for z in Z]
    (5, True, True)
    """
    sizes = (n_samples, n_components, n_symbols, concentration)
    if min(sizes) <= 0:
        raise ValueError(
            "n_samples, n_components, n_symbols and concentration must be positive, "
            f"got {', '.join(map(str, sizes))}"
        )
    shortest, longest = _length_range(length)
    random = _generator(random_state)
    parameters = _random_hmm(n_components, n_symbols, concentration, random)
    lengths = random.integers(shortest, longest, size=n_samples, endpoint=True)
    states, symbols = _draw_chains(parameters, n_samples, longest, random)
    X = [row[:size].copy() for row, size in zip(symbols, lengths, strict=True)]
    Z = [row[:size].copy() for row, size in zip(states, lengths, strict=True)]
    return (X, Z, *parameters) if return_parameters else (X, Z)


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
    uniforms = _uniforms(_generator(random_state))
    derivations = [_draw_sentence(pocket_grammar(), uniforms) for _ in range(n_samples)]
    corpus = Bunch(
        data=[[word for _, word in _leaves(steps)] for steps in derivations],
        target=[[tag for tag, _ in _leaves(steps)] for steps in derivations],
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


def _generator(random_state: Seed) -> np.random.Generator:
    if isinstance(random_state, np.random.Generator):
        return random_state
    seeds = check_random_state(random_state).randint(2**31 - 1, size=4)
    return np.random.default_rng(seeds)


def _length_range(length: int | tuple[int, int]) -> tuple[int, int]:
    shortest, longest = (length, length) if isinstance(length, int | np.integer) else length
    if not 1 <= shortest <= longest:
        raise ValueError(f"length must be at least 1, and a range in order, got {length}")
    return shortest, longest


def _random_hmm(
    n_components: int, n_symbols: int, concentration: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    cells = np.full(n_components, concentration)
    startprob = random.dirichlet(cells)
    transmat = 0.8 * random.dirichlet(cells, size=n_components) + 0.2 / n_components
    emissionprob = 0.1 * random.dirichlet(np.full(n_symbols, concentration), size=n_components)
    owner = random.permutation(n_symbols) % n_components
    for state in range(n_components):
        own = np.flatnonzero(owner == state % n_symbols)
        emissionprob[state, own] += 0.9 * random.dirichlet(np.ones(len(own)))
    return startprob, transmat, emissionprob


def _draw_chains(
    parameters: tuple, n_samples: int, length: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    startprob, transmat, emissionprob = parameters
    states = np.empty((n_samples, length), dtype=np.int64)
    states[:, 0] = _draw_rows(np.broadcast_to(startprob, (n_samples, len(startprob))), random)
    for position in range(1, length):
        states[:, position] = _draw_rows(transmat[states[:, position - 1]], random)
    symbols = [_draw_rows(emissionprob[row], random) for row in states]
    return states, np.array(symbols)


def _draw_rows(probabilities: np.ndarray, random: np.random.Generator) -> np.ndarray:
    cumulative = np.cumsum(probabilities, axis=1)
    # Scaling by the last entry keeps a total just below one from yielding an index too many.
    thresholds = random.random((len(cumulative), 1)) * cumulative[:, -1:]
    return np.sum(cumulative <= thresholds, axis=1)


def _uniforms(random: np.random.Generator) -> Iterator[float]:
    while True:
        yield from random.random(8192).tolist()


def _draw_sentence(grammar: dict[str, Category], uniforms: Iterator[float]) -> list[Step]:
    steps = None
    while steps is None:
        steps = _draw_derivation(grammar, uniforms)
    lexical = [index for index, (category, _) in enumerate(steps) if category.is_lexical]
    for index, following in pairwise(lexical):
        category, word = steps[index]
        if word == "a" and _starts_with_vowel(steps[following][1]):
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


def _starts_with_vowel(word: str) -> bool:
    return bool(_VOWEL.match(word)) and not _SOUNDS_LIKE_CONSONANT.match(word)


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


def _leaves(steps: Iterable[Step]) -> list[tuple[str, str]]:
    return [(category.label, word) for category, word in steps if category.is_lexical]


def _tree(steps: Iterator[Step]) -> Any:
    """Tree of a derivation, from an iterator that it uses up."""
    from nltk import Tree

    category, option = next(steps)
    if category.is_lexical:
        return Tree(category.label, [option])
    return Tree(category.label, [_tree(steps) for _ in option[0]])


def _heads(steps: list[Step]) -> np.ndarray:
    heads = np.zeros(len(_leaves(steps)), dtype=np.int64)
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
