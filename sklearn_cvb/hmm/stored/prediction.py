"""Prediction and scores over a store, a piece at a time."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_cvb.containers import shown
from sklearn_cvb.hmm.read import warn_unexplained
from sklearn_cvb.hmm.stored.fitting import classes_of
from sklearn_cvb.hmm.stored.reading import Encoder, part_of_store, types_of_store
from sklearn_cvb.hmm.tags import encode_labels, read_labels
from sklearn_cvb.store import CorpusStore, StoredTags
from sklearn_cvb.store.stored_states import StoredStates


def states_of_store(model: Any, store: CorpusStore, decoding: str) -> StoredStates:
    """What `predict` gives for a store."""
    check_is_fitted(model)
    encoder, log_p = Encoder(model, store), []

    def path_of(begin: int, end: int) -> np.ndarray:
        _, path, found = model._paths(encoder.corpus(begin, end), decoding)
        log_p.append(found)
        return path

    states = StoredStates(store, classes_of(model), path_of)
    warn_unexplained(np.concatenate(log_p), stacklevel=5)
    return states


def log_likelihoods_of_store(model: Any, store: CorpusStore) -> tuple[np.ndarray, int]:
    """Log-likelihood of every sequence of a store, and the number of observed tokens."""
    check_is_fitted(model)
    encoder, log_z, n_observed = Encoder(model, store), [], 0
    for piece in store.pieces():
        corpus = encoder.corpus(*piece)
        log_z.append(model._log_likelihoods(corpus)[0])
        n_observed += int(np.count_nonzero(corpus.tokens >= 0))
    return np.concatenate(log_z), max(1, n_observed)


def accuracy_on_store(model: Any, store: CorpusStore, y: Any) -> float:
    """The share of the tagged tokens of a store whose predicted tag is right."""
    if not isinstance(y, StoredTags):
        raise TypeError(f"y is {shown(y)}: pass the tags of the store, store.tags")
    check_is_fitted(model)
    encoder, types, right, known = Encoder(model, store), types_of_store(store), 0, 0
    for span in store.pieces():
        corpus, path, _ = model._paths(encoder.corpus(*span), "viterbi")
        tags = part_of_store(store, types, span, y).y
        labels = encode_labels(model._knowledge, read_labels(tags, corpus))
        right += int(np.count_nonzero((labels == path) & (labels != -1)))
        known += int(np.count_nonzero(labels != -1))
    if not known:
        raise ValueError("y holds no known tag to score against")
    return right / known
