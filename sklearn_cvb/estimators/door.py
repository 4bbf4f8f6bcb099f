"""Where estimators are called: X as scikit-learn checks it, which has to know the estimator."""

from typing import Any

from sklearn_cvb.learning.learned import learned_of
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import KnownWords, Sequences, Table, Taken, is_table
from sklearn_cvb.reading.series import are_rows
from sklearn_cvb.reading.validation import check_table, check_table_to_fit


def taken(estimator: Any, X: Any, *, to_fit: bool = False) -> Any:
    """X as it is read: of a table what has passed the checks; all else as it is."""
    return _checked(estimator, X, to_fit) if is_table(X) else X


def rows_taken(estimator: Any, X: Any, *, to_fit: bool = False) -> Any:
    """X of numbers as it is read: of rows of single numbers what has passed the checks."""
    if not are_rows(X):
        return X
    # Columns of a table are steps: those of other sequences are no features of its.
    return _checked(estimator, X, to_fit or not learned_of(estimator).more.numeric.is_table)


def _checked(estimator: Any, X: Any, to_fit: bool) -> Table:
    if to_fit:
        return Table(*check_table_to_fit(estimator, X), True, X)
    is_first = not hasattr(estimator, "n_features_in_")
    return Table(check_table(estimator, X, reset=False), {}, is_first, X)


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
