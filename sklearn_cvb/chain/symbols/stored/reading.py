"""From a store to what models read: a survey of its words, and pieces under a vocabulary."""

from collections.abc import Hashable
from itertools import pairwise
from typing import Any

import numpy as np

from sklearn_cvb.chain.symbols.vocabulary_pass import Part, Survey, Words
from sklearn_cvb.chain.tags.word_forms import beginnings
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.reading.corpus import Corpus, Sequences, checked
from sklearn_cvb.store import CorpusStore, StoredTags


def survey_of_store(store: CorpusStore, y: StoredTags | None, with_forms: bool) -> Survey:
    """What the words of a store tell (see `vocabulary_pass`), in one pass.

    Parameters
    ----------
    store : CorpusStore
    y : StoredTags or None
        The tags that a model learns from.
    with_forms : bool
        Whether it is to be known which words are seen where no sentence begins.
    """
    types = types_of_store(store)
    classes: list = [] if y is None else y.store.classes
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
        if word < n_types and tag < len(classes):
            labelled[types[word], classes[tag]] = times
        else:
            uses[word] += times
    words = {types[i] for i in np.flatnonzero(inside[:-1]).tolist()}
    plain = {types[i]: int(uses[i]) for i in np.flatnonzero(uses[:-1]).tolist()}
    return Survey(plain, labelled, words, bool(uses[-1]), len(store))


def types_of_store(store: CorpusStore) -> list:
    """The symbols of a store by their codes."""
    return [*store.vocabulary.tolist(), *store.unknown]


def part_of_store(
    store: CorpusStore, types: list, span: tuple[int, int], y: StoredTags | None
) -> Part:
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
    return Part(own, corpus._replace(tokens=table[corpus.tokens], unknown=[]), tags)


class Encoder:
    """Pieces of a store under the vocabulary of a fitted model."""

    def __init__(self, hmm: Any, learned: Learned, store: CorpusStore) -> None:
        self._hmm, self._store = hmm, store
        self._types = types_of_store(store)
        index = learned.words.index
        self._n_known = len(index)
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
        words: Any = Words(self._types, given.tokens)
        sequences = Sequences(words, corpus.starts, None)
        return checked(self._hmm, corpus, sequences, self._n_known)
