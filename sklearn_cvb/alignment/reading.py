"""Sentence pairs as users have them, read as a problem: words and sequences of both sides, known
links and translations.
"""

from collections.abc import Hashable, Mapping
from numbers import Real
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from sklearn_cvb.alignment.links import check_links
from sklearn_cvb.alignment.parameters import AlignmentLayout, AlignmentPrior, EncodedPairs
from sklearn_cvb.kernels.alignment import AlignmentPairs
from sklearn_cvb.messages import how_many_alike
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, Sequences, Table, Vocabulary

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

SIDES = "source", "target"

T = TypeVar("T")


class Sides(NamedTuple, Generic[T]):
    """Sequences, corpora or known words: of the source sentences, and of the target sentences."""

    source: T
    target: T


class BilingualWords(NamedTuple):
    """Known words of both languages: a plain named tuple, as skops writes no generic one."""

    source: Vocabulary
    target: Vocabulary


class AlignmentProblem(NamedTuple):
    """All that does not change while fitting."""

    corpus: Corpus  # the target sentences
    types: tuple[list[Any], list[Any]]  # known source and target words
    pairs: AlignmentPairs
    layout: AlignmentLayout
    prior: AlignmentPrior

    @property
    def identity(self) -> tuple[Any, ...]:
        """What must be the same for a fit to go on: sentences, words and known links."""
        layout = self.layout
        return self.types, layout[:3], layout.keys, self.corpus.tokens, self.pairs

    def sentences(self) -> list[tuple[list[Any], list[Any]]]:
        """The pairs in words."""
        pairs, corpus = self.pairs, self.corpus
        source, target = self.types
        # Words beyond the vocabulary are all alike.
        unknown = object()
        rows = [source[row] if row < len(source) else unknown for row in pairs.source.tolist()]
        words = [
            target[token] if token < len(target) else unknown for token in corpus.tokens.tolist()
        ]
        starts = pairs.source_starts.tolist(), pairs.target_starts.tolist()
        return [
            (rows[a:b], words[c:d])
            for a, b, c, d in zip(
                starts[0][:-1], starts[0][1:], starts[1][:-1], starts[1][1:], strict=True
            )
        ]


# Sentences


def rows_of_pairs(X: Any) -> list[Any] | None:
    """The rows of a frame or an array that holds a source and a target sequence in each."""
    shape: tuple[Any, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or shape[1] != 2 or shape[0] == 0:
        return None
    values = X.to_numpy() if hasattr(X, "to_numpy") else X
    first = np.asarray(values, dtype=object)[0, 0] if isinstance(values, np.ndarray) else None
    return list(map(tuple, values)) if isinstance(first, list | tuple | np.ndarray) else None


def is_of_pairs(X: Any) -> bool:
    """Whether X is a frame with a column of source and a column of target sequences."""
    return hasattr(X, "columns") and rows_of_pairs(X) is not None


def read_pairs(X: Any, y: Any = None) -> Sides[Sequences]:
    """The sentences of X; rows of a table are halved.

    Raises on what is no pair of sentences, and on lengths in `y`.
    """
    if isinstance(X, Table):
        sides = _read_halves(X.values)
        reading.refuse_lengths(y, len(sides.target.starts) - 1, len(sides.target.tokens))
        return sides
    columns = rows_of_pairs(X)
    samples = reading.samples_of(X) if columns is None else columns
    if not samples:
        raise ValueError("Found array with 0 sample(s): X holds no sentence pair")
    source: list[list[Any]] = []
    target: list[list[Any]] = []
    empty: dict[int, str] = {}
    for i, sample in enumerate(samples):
        if isinstance(sample, str | bytes):
            raise TypeError(f"X[{i}] is the string {reading.short_repr(sample)}: {_PAIR}")
        pair = reading.as_list(sample)
        if pair is None:
            raise TypeError(
                f"X[{i}] is {reading.short_repr(sample)} of type {type(sample).__name__}: {_PAIR}"
            )
        if len(pair) != 2:
            raise ValueError(f"X[{i}] has {len(pair)} parts: {_PAIR}")
        for k, (side, sentences) in enumerate(zip(SIDES, (source, target), strict=True)):
            name = f"X[{i}][{k}], the {side} sentence,"
            if isinstance(pair[k], str | bytes):
                raise TypeError(
                    f"{name} is the string {reading.short_repr(pair[k])}: split it; {_PAIR}"
                )
            sentences.append(reading.tokens_of(pair[k], name))
            if not sentences[-1]:
                empty.setdefault(i, name)
    if empty:
        name = next(iter(empty.values()))
        others = how_many_alike(list(empty), len(samples), "pairs have an empty sentence")
        raise ValueError(f"{name} is empty: leave the pair out{others}")
    reading.refuse_lengths(y, len(target), sum(map(len, target)))
    return Sides(reading.read_ragged(source), reading.read_ragged(target))


def _read_halves(table: np.ndarray) -> Sides[Sequences]:
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
    words = [word for word in table.ravel().tolist() if isinstance(word, str)]
    if width == 2 and 2 * sum(" " in word.strip() for word in words) > table.size:
        raise TypeError(
            f"X holds whole sentences as strings, such as {reading.short_repr(words[0])}: split "
            f"each into words, with str.split; {_PAIR}"
        )
    return Sides(*map(reading.read_table, np.split(table, [width // 2], axis=1)))


# Words


def words_of(
    sides: Sides[Sequences], translations: Mapping[tuple[Hashable, Hashable], float]
) -> BilingualWords:
    """Words of sentences, and of a dictionary, sorted."""
    vocabularies = []
    others: list[tuple[Any, ...]] = list(zip(*translations, strict=True)) or [(), ()]
    for side, more in zip(sides, others, strict=True):
        types = reading.types_of(side.tokens, side.starts)
        if more:
            types = reading.sorted_types({*types, *more})
        vocabularies.append(reading.vocabulary_of(types))
    return BilingualWords(*vocabularies)


def corpora_of(
    sides: Sides[Sequences], words: BilingualWords, handle_unknown: str
) -> Sides[Corpus]:
    """Sentences in numbers of words.

    Raises ValueError if a word is missing, or is new where such words are not handled.
    """
    corpora = Sides(
        reading.encode(sides.source, words.source.index),
        reading.encode(sides.target, words.target.index),
    )
    for k, (name, corpus) in enumerate(zip(SIDES, corpora, strict=True)):
        missing = np.flatnonzero(corpus.tokens == -1)
        if len(missing):
            at = int(missing[0])
            i = int(np.searchsorted(corpus.starts, at, side="right")) - 1
            raise ValueError(
                f"X contains NaN or None (X[{i}][{k}], the {name} sentence, position "
                f"{at - int(corpus.starts[i])}): alignment needs every word"
            )
    if handle_unknown != "error":
        return corpora
    for name, corpus, side, known in zip(SIDES, corpora, sides, words, strict=True):
        if corpus.unknown:
            at = int(np.flatnonzero(corpus.tokens >= len(known.index))[0])
            raise ValueError(
                f"unknown {name} word {side.tokens[at]!r} "
                f"({reading.place_text(at, corpus.starts)}; {len(corpus.unknown)} unknown types): "
                "put it into dictionary, or handle_unknown='smooth'"
            )
    return corpora


def encode_pairs(corpora: Sides[Corpus], words: BilingualWords) -> EncodedPairs:
    """Rows and columns of the lexicon; unknown words share the last."""
    (source, target), (rows, columns) = corpora, words
    return EncodedPairs(
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
        raise TypeError(f"dictionary is {reading.short_repr(dictionary)}: {_DICTIONARY}")
    weights_of_pairs: dict[tuple[Hashable, Hashable], float] = {}
    for source, entry in dictionary.items():
        if isinstance(entry, Mapping):
            weights = dict(entry)
        else:
            items = list(entry) if isinstance(entry, set | frozenset) else reading.as_list(entry)
            if items is None or not all(map(reading.is_hashable, items)):
                raise TypeError(
                    f"dictionary[{source!r}] is {reading.short_repr(entry)}: {_DICTIONARY}"
                )
            weights = dict.fromkeys(items, 1.0)
        for target, weight in weights.items():
            is_number = isinstance(weight, Real) and not isinstance(weight, bool)
            if not is_number or not 0 < weight < np.inf:
                raise ValueError(
                    f"dictionary[{source!r}][{target!r}] is {reading.short_repr(weight)}: weights "
                    "are finite numbers above 0"
                )
            weights_of_pairs[source, target] = float(weight)
    return weights_of_pairs


def known_links(y: Any, corpora: Sides[Corpus]) -> dict[int, list[Any]]:
    """Links that are known, by number of the pair: (source, target), with -1 for no source."""
    if y is None:
        return {}
    lengths = np.diff(corpora.target.starts)
    width = corpora.target.width
    known = reading.known_of(y, lengths, width, _LINKS)
    # Labels of a 2-D X that tell of its rows, as classifiers are given, say nothing of links.
    if width is not None and all(isinstance(part, Real | str) for part in known):
        return {}
    sizes = zip(np.diff(corpora.source.starts).tolist(), lengths.tolist(), strict=True)
    by_pair = {
        i: check_links(links, f"y[{i}]", size)
        for i, (links, size) in enumerate(zip(known, sizes, strict=True))
        if links is not None
    }
    return {i: links for i, links in by_pair.items() if links}
