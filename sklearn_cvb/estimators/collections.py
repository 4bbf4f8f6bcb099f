"""Collections of sequences: how they are taken apart, and how often each sequence counts."""

from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing

from sklearn_cvb.reading.corpus import is_table, samples_of
from sklearn_cvb.reading.series import SamplesOfKnownColumns
from sklearn_cvb.reading.validation import as_numbers


def as_collection(X: Any) -> Any:
    """X, or a list or an array of what is in it where that has no length of its own."""
    if issparse(X):
        raise TypeError("Sparse data was passed, but sequences are dense: use X.toarray()")
    if hasattr(X, "columns") and not is_table(X):
        # A frame whose only column holds them.
        return samples_of(X)
    if hasattr(X, "shape") or isinstance(X, list | tuple):
        return X
    return np.asarray(X) if hasattr(X, "__array__") else samples_of(X)


def sequences_at(X: Any, rows: np.ndarray) -> Any:
    """Some of the sequences."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if isinstance(X, list | tuple):
        return X.at(rows) if isinstance(X, SamplesOfKnownColumns) else [X[row] for row in rows]
    return X[rows]


def counted_sequences(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, np.ndarray]:
    """The sequences whose weight is not 0, what is known of them, and their weights."""
    X = as_collection(X)
    weights = checked_weights(sample_weight, X.shape[0] if hasattr(X, "shape") else len(X))
    kept = np.flatnonzero(weights)
    if len(kept) == len(weights):
        return X, y, weights
    return sequences_at(X, kept), None if y is None else _safe_indexing(y, kept), weights[kept]


def checked_weights(sample_weight: Any, n_sequences: int) -> np.ndarray:
    """Weights of sequences as numbers."""
    weights = as_numbers("sample_weight", sample_weight)
    if weights.shape != (n_sequences,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}, but X holds {n_sequences} sequences: give "
            "one weight for each"
        )
    wrong = np.flatnonzero(~((weights >= 0) & np.isfinite(weights)))
    if len(wrong):
        raise ValueError(
            f"sample_weight[{wrong[0]}] is {weights[wrong[0]]}: weights are finite, not negative"
        )
    if not weights.any():
        raise ValueError("sample_weight is zero for all sequences: nothing is left to learn from")
    return weights
