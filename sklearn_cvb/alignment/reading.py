"""Sentence pairs as users have them, read as a problem: words, known links and translations."""

from collections.abc import Callable, Hashable, Mapping
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.alignment.links import links_in
from sklearn_cvb.alignment.parameters import (
    AlignmentLayout,
    Encoded,
    Prior,
    layout_of,
    pairs_of,
    prior_of,
    tables_of,
    words_beside,
)
from sklearn_cvb.kernels.alignment import FREE, Pairs
from sklearn_cvb.learning.learned import Learned, Reading
from sklearn_cvb.messages import alike, tell
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import (
    Corpus,
    Sequences,
    Vocabulary,
    as_list,
    is_table,
    known_of,
    refuse_lengths,
    samples_of,
    short_repr,
    tokens_of,
)
from sklearn_cvb.reading.unknown_tokens import caution_of_unknown

_PAIR = (
    "each sample is a pair (source tokens, target tokens), as list(zip(source, target)) makes of "
    "two lists of sentences"
)
_LINKS = (
    "y holds the links of each sentence pair, pairs (source position, target position), None where "
    "nothing is known"
)
_DICTIONARY = (
    "a dictionary maps a source word to a list of its translations, or to their weights: "
    "{'house': {'casa': 2.0}}"
)
# Jumps so far have probabilities of their own where they are asked for, though sentences be short:
# later ones may be longer. Those that lead out of all sentences tell nothing of the others, and a
# sampler would draw them again and again until one stays.
_FEWEST_JUMPS = 10

_SIDES = "source", "target"


class Sides(NamedTuple):
    """The source and the target sentences of all pairs, as read."""

    source: Sequences
    target: Sequences


class Corpora(NamedTuple):
    """The same, encoded."""

    source: Corpus
    target: Corpus


class Words(NamedTuple):
    """The known source and target words."""

    source: Vocabulary
    target: Vocabulary


class AlignmentProblem(NamedTuple):
    """All that does not change while fitting."""

    corpus: Corpus  # the target sentences
    types: tuple[list[Any], list[Any]]  # known source and target words
    pairs: Pairs
    layout: AlignmentLayout
    prior: Prior


# Sentences


def _two_columns(X: Any) -> list[Any] | None:
    """The rows of a frame or an array that holds a source and a target sequence in each."""
    shape: tuple[Any, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or shape[1] != 2 or shape[0] == 0:
        return None
    values = X.to_numpy() if hasattr(X, "to_numpy") else X
    first = np.asarray(values, dtype=object)[0, 0] if isinstance(values, np.ndarray) else None
    return list(map(tuple, values)) if isinstance(first, list | tuple | np.ndarray) else None


def is_of_pairs(X: Any) -> bool:
    """Whether X is a frame with a column of source and a column of target sequences."""
    return hasattr(X, "columns") and _two_columns(X) is not None


def read_pairs(
    X: Any, y: Any = None, validated: Callable[[Any], np.ndarray] | None = None
) -> Sides:
    """The sentences of X; a table is `validated`, and its rows halved, if it may be one.

    Raises on what is no pair of sentences, and on lengths in `y`.
    """
    columns = _two_columns(X)
    if validated is not None and columns is None and is_table(X):
        sides = _read_halves(validated(X))
        refuse_lengths(y, len(sides.target.starts) - 1, len(sides.target.tokens))
        return sides
    samples = samples_of(X) if columns is None else columns
    if not samples:
        raise ValueError("Found array with 0 sample(s): X holds no sentence pair")
    source: list[list[Any]] = []
    target: list[list[Any]] = []
    empty: dict[int, str] = {}
    for i, sample in enumerate(samples):
        if isinstance(sample, str | bytes):
            raise TypeError(f"X[{i}] is the string {short_repr(sample)}: {_PAIR}")
        pair = as_list(sample)
        if pair is None:
            raise TypeError(
                f"X[{i}] is {short_repr(sample)} of type {type(sample).__name__}: {_PAIR}"
            )
        if len(pair) != 2:
            raise ValueError(f"X[{i}] has {len(pair)} parts: {_PAIR}")
        for k, (side, sentences) in enumerate(zip(_SIDES, (source, target), strict=True)):
            name = f"X[{i}][{k}], the {side} sentence,"
            if isinstance(pair[k], str | bytes):
                raise TypeError(f"{name} is the string {short_repr(pair[k])}: split it; {_PAIR}")
            sentences.append(tokens_of(pair[k], name))
            if not sentences[-1]:
                empty.setdefault(i, name)
    if empty:
        name = next(iter(empty.values()))
        others = alike(list(empty), len(samples), "pairs have an empty sentence")
        raise ValueError(f"{name} is empty: leave the pair out{others}")
    refuse_lengths(y, len(target), sum(map(len, target)))
    return Sides(reading.read_ragged(source), reading.read_ragged(target))


def _read_halves(table: np.ndarray) -> Sides:
    """The first half of each row of a validated table is the source, the rest the target."""
    width = table.shape[1]
    if width < 2:
        raise ValueError(
            f"Found array with {width} feature(s) (shape={table.shape}) while a minimum of 2 is "
            "required: the first half of the columns is the source sentence, the rest the target"
        )
    missing = np.argwhere(np.frompyfunc(reading.is_missing, 1, 1)(table).astype(bool))
    if len(missing):
        i, column = missing[0].tolist()
        raise ValueError(
            f"X contains NaN or None (row {i}, column {column}): alignment needs every word"
        )
    return Sides(*map(reading.read_table, np.split(table, [width // 2], axis=1)))


# Words


def words_of(sides: Sides, translations: Mapping[tuple[Hashable, Hashable], float]) -> Words:
    """Words of sentences, and of a dictionary, sorted."""
    found = []
    others: list[tuple[Any, ...]] = list(zip(*translations, strict=True)) or [(), ()]
    for side, more in zip(sides, others, strict=True):
        types = reading.types_of(side.tokens, side.starts)
        if more:
            types = reading.sorted_types({*types, *more})
        found.append(reading.vocabulary_of(types))
    return Words(*found)


def _refuse_words(corpora: Corpora, sides: Sides, words: Words, handle_unknown: str) -> None:
    """Raise ValueError if a word is missing, or is new where such words are not handled."""
    for k, (name, corpus) in enumerate(zip(_SIDES, corpora, strict=True)):
        missing = np.flatnonzero(corpus.tokens == -1)
        if len(missing):
            at = int(missing[0])
            i = int(np.searchsorted(corpus.starts, at, side="right")) - 1
            raise ValueError(
                f"X contains NaN or None (X[{i}][{k}], the {name} sentence, position "
                f"{at - int(corpus.starts[i])}): alignment needs every word"
            )
    if handle_unknown != "error":
        return
    for name, corpus, side, known in zip(_SIDES, corpora, sides, words, strict=True):
        if corpus.unknown:
            at = int(np.flatnonzero(corpus.tokens >= len(known.index))[0])
            raise ValueError(
                f"unknown {name} word {side.tokens[at]!r} "
                f"({reading.place(at, corpus.starts)}; {len(corpus.unknown)} unknown types): "
                "put it into dictionary, or handle_unknown='smooth'"
            )


def _numbers(corpora: Corpora, words: Words) -> Encoded:
    """Rows and columns of the lexicon; unknown words share the last."""
    (source, target), (rows, columns) = corpora, words
    return Encoded(
        np.minimum(source.tokens, len(rows.index)).astype(np.int64),
        source.starts,
        np.minimum(target.tokens, len(columns.index)).astype(np.int64),
        target.starts,
    )


# What is known


def translations_in(dictionary: Any) -> dict[tuple[Hashable, Hashable], float]:
    """Weights of pairs of words: of source word -> target words (1 each), or -> their weights."""
    if dictionary is None:
        return {}
    if not isinstance(dictionary, Mapping):
        raise TypeError(f"dictionary is {short_repr(dictionary)}: {_DICTIONARY}")
    found: dict[tuple[Hashable, Hashable], float] = {}
    for source, entry in dictionary.items():
        if isinstance(entry, Mapping):
            weights = dict(entry)
        else:
            items = list(entry) if isinstance(entry, set | frozenset) else as_list(entry)
            if items is None or not all(map(reading.is_hashable, items)):
                raise TypeError(f"dictionary[{source!r}] is {short_repr(entry)}: {_DICTIONARY}")
            weights = dict.fromkeys(items, 1.0)
        for target, weight in weights.items():
            is_number = isinstance(weight, Real) and not isinstance(weight, bool)
            if not is_number or not 0 < weight < np.inf:
                raise ValueError(
                    f"dictionary[{source!r}][{target!r}] is {short_repr(weight)}: weights are "
                    "finite numbers above 0"
                )
            found[source, target] = float(weight)
    return found


def known_links(y: Any, corpora: Corpora) -> dict[int, list[Any]]:
    """Links that are known, by number of the pair: (source, target), with -1 for no source."""
    if y is None:
        return {}
    lengths = np.diff(corpora.target.starts)
    width = corpora.target.width
    known = known_of(y, lengths, width, _LINKS)
    # Labels of a 2-D X that tell of its rows, as classifiers are given, say nothing of links.
    if width is not None and all(isinstance(part, Real | str) for part in known):
        return {}
    sizes = zip(np.diff(corpora.source.starts).tolist(), lengths.tolist(), strict=True)
    found = {
        i: links_in(links, f"y[{i}]", size)
        for i, (links, size) in enumerate(zip(known, sizes, strict=True))
        if links is not None
    }
    return {i: links for i, links in found.items() if links}


# Readings


def reading_of(sides: Sides, y: Any, settings: Any, instead: str) -> Reading:
    """What a model is fitted to, under an estimator's parameters.

    It warns of a giant pair where there is another algorithm to use `instead`.
    """
    translations = translations_in(settings.dictionary)
    words = words_of(sides, translations)
    source, target = words.source.index, words.target.index
    corpora = Corpora(reading.encode(sides.source, source), reading.encode(sides.target, target))
    messages = reading.caution_of_giant(corpora.target, instead) if instead else ()
    _refuse_words(corpora, sides, words, settings.handle_unknown)
    known = known_links(y if settings.supervision == "y" else None, corpora)
    n_unknown = int(settings.handle_unknown != "error")
    sizes = len(source) + n_unknown, len(target) + n_unknown
    more = {}
    for (word, other), weight in translations.items():
        more[source[word] * sizes[1] + target[other]] = weight
    encoded, others = _numbers(corpora, words), np.array(list(more), np.int64)
    beside = words_beside(encoded, sizes)
    longest = max(_FEWEST_JUMPS, int(np.diff(corpora.source.starts).max()))
    layout = layout_of(beside, sizes, min(settings.longest_jump, longest), others)
    prior = prior_of(layout, float(settings.alpha), float(settings.beta), settings.p_null, more)
    pairs = pairs_of(encoded, beside, layout, known)
    problem = AlignmentProblem(corpora.target, (list(source), list(target)), pairs, layout, prior)
    known_words = {"source_vocabulary_": words.source.types, "vocabulary_": words.target.types}
    return Reading(problem, words, known_words, messages)


def pairs_read(
    sides: Sides, learned: Learned, handle_unknown: str, *, free: bool
) -> tuple[Corpus, Pairs]:
    """Target sentences, and pairs as kernels read them, in words of a fit.

    With `free` unknown target words that have no probability may come from any word alike.
    """
    words, layout = learned.words, learned.layout
    corpora = Corpora(
        reading.encode(sides.source, words.source.index),
        reading.encode(sides.target, words.target.index),
    )
    _refuse_words(corpora, sides, words, handle_unknown)
    messages = [
        message
        for name, corpus, own in zip(_SIDES, corpora, words, strict=True)
        for message in caution_of_unknown(
            reading.unknown_in(corpus, own.index), own.index, f"{name} words"
        )
    ]
    # What is wrong with one side usually is with the other.
    tell(messages[:1])
    encoded = _numbers(corpora, words)
    pairs = pairs_of(encoded, words_beside(encoded, layout[:2]), layout)
    if free and not learned.prior.rest[:-2].any():
        unknown = encoded.target == len(words.target.index)
        for table, rows in zip(
            tables_of(pairs.cell, pairs),
            np.split(unknown, encoded.target_starts[1:-1]),
            strict=True,
        ):
            table[rows] = FREE
    return corpora.target, pairs
