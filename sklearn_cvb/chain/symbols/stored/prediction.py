"""Prediction and scores over a store, a piece at a time."""

from typing import Any

import numpy as np

from sklearn_cvb.chain.lattice import Cells
from sklearn_cvb.chain.prediction import paths, tell_unexplained
from sklearn_cvb.chain.symbols import observed as symbols
from sklearn_cvb.chain.symbols.stored.reading import Encoder, part_of_store, types_of_store
from sklearn_cvb.chain.tags.knowledge import encode_labels, read_labels
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.reading.corpus import shown
from sklearn_cvb.store import CorpusStore, StoredStates, StoredTags


def classes_of(words: Any, cells: Cells) -> np.ndarray:
    """The states of a model, or its tags."""
    classes: np.ndarray = getattr(words, "classes", np.arange(cells.n_emitting))
    return classes


def states_of_store(hmm: Any, learned: Learned, store: CorpusStore, decoding: str) -> StoredStates:
    """What `predict` gives for a store."""
    encoder, log_p = Encoder(hmm, learned, store), []

    def path_of(begin: int, end: int) -> np.ndarray:
        read = symbols.read_again(hmm, learned, encoder.corpus(begin, end))
        path, found = paths(read, decoding)
        log_p.append(found)
        return path

    states = StoredStates(store, classes_of(learned.words, learned.layout), path_of)
    tell_unexplained(np.concatenate(log_p))
    return states


def log_likelihoods_of_store(
    hmm: Any, learned: Learned, store: CorpusStore
) -> tuple[np.ndarray, int]:
    """Log-likelihood of every sequence of a store, and the number of observed tokens."""
    encoder, log_z, n_observed = Encoder(hmm, learned, store), [], 0
    for piece in store.pieces():
        corpus = encoder.corpus(*piece)
        log_z.append(hmm._log_likelihoods(learned, corpus)[0])
        n_observed += int(np.count_nonzero(corpus.tokens >= 0))
    return np.concatenate(log_z), max(1, n_observed)


def accuracy_on_store(hmm: Any, learned: Learned, store: CorpusStore, y: Any) -> float:
    """The share of the tagged tokens of a store whose predicted tag is right."""
    if not isinstance(y, StoredTags):
        raise TypeError(f"y is {shown(y)}: pass the tags of the store, store.tags")
    encoder, types = Encoder(hmm, learned, store), types_of_store(store)
    right, known = 0, 0
    for span in store.pieces():
        read = symbols.read_again(hmm, learned, encoder.corpus(*span))
        path, _ = paths(read, "viterbi")
        tags = part_of_store(store, types, span, y).y
        labels = encode_labels(learned.words.legal.states, read_labels(tags, read.corpus))
        right += int(np.count_nonzero((labels == path) & (labels != -1)))
        known += int(np.count_nonzero(labels != -1))
    if not known:
        raise ValueError("y holds no known tag to score against")
    return right / known
