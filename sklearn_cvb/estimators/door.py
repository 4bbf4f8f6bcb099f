"""Where estimators are called: X as scikit-learn checks it, which has to know the estimator."""

from typing import Any

import numpy as np

from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import KnownWords, Sequences, Table, Taken, is_table
from sklearn_cvb.reading.validation import check_table, check_table_to_fit


def taken(estimator: Any, X: Any, *, to_fit: bool = False) -> Any:
    """X as it is read: of a table what has passed the checks; all else as it is."""
    if not is_table(X):
        return X
    is_array = isinstance(X, np.ndarray)
    if to_fit:
        return Table(*check_table_to_fit(estimator, X), True, is_array)
    is_first = not hasattr(estimator, "n_features_in_")
    return Table(check_table(estimator, X, reset=False), {}, is_first, is_array)


# Of models of sentences, whose parameters are `vocabulary` and `handle_unknown`


def known_words(estimator: Any) -> KnownWords:
    """Which words a model of sentences knows, and what becomes of others."""
    return KnownWords(estimator.vocabulary, estimator.handle_unknown)


def sequences_to_fit(estimator: Any, X: Any, y: Any) -> Taken:
    """X as taken to be fitted to."""
    return reading.sequences_to_fit(known_words(estimator), taken(estimator, X, to_fit=True), y)


def sequences_again(estimator: Any, X: Any) -> Sequences:
    """X as a fitted model reads it."""
    return reading.sequences_again(known_words(estimator), taken(estimator, X))
