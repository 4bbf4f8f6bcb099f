"""Stores of symbols read a piece at a time: word counts, predictions, scores and accuracy."""

from collections.abc import Hashable
from itertools import pairwise
from typing import Any

import numpy as np

from sklearn_cvb.chain.observation import log_likelihoods
from sklearn_cvb.chain.paths.lattice import Cells
from sklearn_cvb.chain.predictions.prediction import decode, warn_of_unexplained
from sklearn_cvb.chain.symbols.observed import SymbolObservation
from sklearn_cvb.chain.tags.knowledge import cautions_of_tags, encode_labels, read_labels
from sklearn_cvb.chain.tags.word_forms import beginnings
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.reading.corpus import Corpus, Sequences, checked, encode, short_repr, unknown_in
from sklearn_cvb.reading.unknown_tokens import caution_of_unknown
from sklearn_cvb.reading.validation import warn
from sklearn_cvb.scale.symbols.vocabulary_pass import LazyWords, SymbolPart, WordCounts
from sklearn_cvb.store import CorpusStore, StoredStates, StoredTags


def word_counts_of_store(store: CorpusStore, y: StoredTags | None, with_forms: bool) -> WordCounts:
    """Counts of words, and of their tags to learn from (see `vocabulary_pass`), in one pass.

    With `with_forms`, also which words are seen where no sentence begins.
    """
    types = types_of_store(store)
    classes: list[Any] = [] if y is None else y.store.classes
    n_types, n_classes = len(types), len(classes) + 1
    inside = np.zeros(n_types + 1, bool)
    # The last row is of missing observations, the last column of tokens without a tag.
    seen: dict[int, int] = {}
    uses = np.zeros(n_types + 1, np.int64)
    for begin, end in store.pieces():
        corpus = store.corpus(begin, end)
        if with_forms:
            others = np.ones(len(corpus.tokens), bool)
            others[beginnings(corpus, types)] = False
            inside[corpus.tokens[others]] = True
        if y is None:
            uses += np.roll(np.bincount(corpus.tokens + 1, minlength=n_types + 1), -1)
            continue
        tags = y.store.tag_codes(begin, end).astype(np.int64)
        keys = (corpus.tokens.astype(np.int64) % (n_types + 1)) * n_classes + tags % n_classes
        for key, times in zip(
            *map(np.ndarray.tolist, np.unique(keys, return_counts=True)), strict=True
        ):
            seen[key] = seen.get(key, 0) + times
    labelled: dict[tuple[Hashable, Hashable], int] = {}
    for key, times in seen.items():
        word, tag = divmod(key, n_classes)
        if tag < len(classes):
            labelled[None if word == n_types else types[word], classes[tag]] = times
        else:
            uses[word] += times
    words = {types[i] for i in np.flatnonzero(inside[:-1]).tolist()}
    plain = {types[i]: int(uses[i]) for i in np.flatnonzero(uses[:-1]).tolist()}
    return WordCounts(plain, labelled, words, bool(uses[-1]), len(store))


def types_of_store(store: CorpusStore) -> list[Any]:
    """The symbols of a store by their codes."""
    return [*store.vocabulary.tolist(), *store.unknown]


def part_of_store(
    store: CorpusStore, types: list[Any], span: tuple[int, int], y: StoredTags | None
) -> SymbolPart:
    """Some sequences of a store, encoded by the symbols that they hold."""
    corpus = store.corpus(*span)
    used = np.flatnonzero(np.bincount(corpus.tokens + 1, minlength=len(types) + 1)[1:])
    # A missing observation has code -1, and takes the last value.
    table = np.full(len(types) + 1, -1, np.int32)
    table[used] = np.arange(len(used))
    tags = None
    if y is not None:
        classes = [*y.store.classes, None]
        flat = [classes[code] for code in y.store.tag_codes(*span).tolist()]
        tags = [flat[a:b] for a, b in pairwise(corpus.starts.tolist())]
    own = [types[code] for code in used.tolist()]
    return SymbolPart(own, corpus._replace(tokens=table[corpus.tokens], unknown=[]), tags)


class Encoder:
    """Encodes pieces of a store by the vocabulary of a fitted model."""

    def __init__(
        self, observation: SymbolObservation, learned: Learned, store: CorpusStore
    ) -> None:
        self._known, self._store = observation.options.words, store
        self._types = types_of_store(store)
        index = learned.words.index
        self._n_known = len(index)
        # Each symbol once.
        types = encode(Sequences(self._types, np.array([0, len(self._types)]), None), index)
        unknown = unknown_in(types, index, learned.words.listed)
        warn(caution_of_unknown(unknown, index, "symbols of the store"))
        # -2 for a word that the model does not know; the last entry is that of missing ones.
        self._table = np.array([*(index.get(word, -2) for word in self._types), -1], np.int32)

    def corpus(self, begin: int, end: int) -> Corpus:
        """The sequences [begin, end) in codes of the model; ValueError on words it refuses."""
        given = self._store.corpus(begin, end)
        tokens = self._table[given.tokens]
        places = np.flatnonzero(tokens == -2)
        codes, which = np.unique(given.tokens[places], return_inverse=True)
        tokens[places] = self._n_known + which
        unknown = [self._types[code] for code in codes.tolist()]
        corpus = Corpus(tokens, given.starts, None, unknown)
        words: Any = LazyWords(self._types, given.tokens)
        sequences = Sequences(words, corpus.starts, None)
        return checked(self._known, corpus, sequences, self._n_known)


def classes_of(words: Any, cells: Cells) -> np.ndarray:
    """The states of a model, or its tags."""
    return getattr(words, "classes", np.arange(cells.n_emitting))


def states_of_store(
    observation: SymbolObservation, learned: Learned, store: CorpusStore, decoding: str
) -> StoredStates:
    """The states that `predict` gives for a store."""
    encoder, log_p = Encoder(observation, learned, store), []

    def path_of(begin: int, end: int) -> np.ndarray:
        read = observation.read_to_predict(learned, encoder.corpus(begin, end))
        path, found = decode(read, decoding)
        log_p.append(found)
        return path

    states = StoredStates(store, classes_of(learned.words, learned.layout), path_of)
    warn_of_unexplained(np.concatenate(log_p))
    return states


def log_likelihoods_of_store(
    observation: SymbolObservation, learned: Learned, store: CorpusStore
) -> tuple[np.ndarray, np.ndarray]:
    """Log-likelihood and observed tokens of every sequence of a store."""
    encoder = Encoder(observation, learned, store)
    pieces = (encoder.corpus(*piece) for piece in store.pieces())
    found = [log_likelihoods(observation, learned, corpus) for corpus in pieces]
    log_z, observed = zip(*found, strict=True)
    return np.concatenate(log_z), np.concatenate(observed)


def accuracy_on_store(
    observation: SymbolObservation, learned: Learned, store: CorpusStore, y: Any
) -> float:
    """The share of the tagged tokens of a store whose predicted tag is right."""
    if not isinstance(y, StoredTags):
        raise TypeError(f"y is {short_repr(y)}: pass the tags of the store, store.tags")
    warn(cautions_of_tags(learned.words, y.store.classes))
    encoder, types = Encoder(observation, learned, store), types_of_store(store)
    right, known = 0, 0
    for span in store.pieces():
        read = observation.read_to_predict(learned, encoder.corpus(*span))
        path, _ = decode(read, "viterbi")
        tags = part_of_store(store, types, span, y).y
        labels = encode_labels(learned.words.legal.states, read_labels(tags, read.corpus))
        right += int(np.count_nonzero((labels == path) & (labels != -1)))
        known += int(np.count_nonzero(labels != -1))
    if not known:
        raise ValueError("y holds no known tag to score against")
    return right / known
