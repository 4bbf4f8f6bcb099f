"""Agreement of predicted tags or states with gold tags, over sequences of any length.

Johnson (2007), "Why doesn't EM find good HMM POS-taggers?", defines the two mappings; Rosenberg and
Hirschberg (2007) the V-measure.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from sklearn_cvb.reading.corpus import as_list, is_hashable, is_missing, short_repr


def token_accuracy(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Share of tokens whose predicted label equals the true one.

    Parameters
    ----------
    y_true : list of sequences, object array of sequences, or array of shape (n_sequences, length)
        True labels. Tokens whose label is None or NaN are left out, as are sequences given as None.
    y_pred : list of sequences, object array of sequences, or array of shape (n_sequences, length)
        Predicted labels; whatever stands where the true label is unknown is ignored.

    Returns
    -------
    accuracy : float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If the numbers of sequences or the lengths of a sequence differ, or no label is known.
    TypeError
        If a sequence is a string or a scalar.

    Examples
    --------
    >>> from sklearn_cvb.metrics import token_accuracy
    >>> token_accuracy([["DT", "NN"], ["PRP", None]], [["DT", "VB"], ["PRP", "VB"]])
    0.666...
    """
    counts, true_labels, predicted_labels = tag_confusion(y_true, y_pred)
    column = {label: index for index, label in enumerate(predicted_labels)}
    matches = [(row, column[label]) for row, label in enumerate(true_labels) if label in column]
    return float(sum(counts[cell] for cell in matches) / counts.sum())


def many_to_one_accuracy(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Token accuracy after mapping each predicted label to the true label it meets most.

    Several predicted labels may map to one true label, so the score never falls when a state is
    split: compare it only between models with as many states.

    Parameters
    ----------
    y_true : list of sequences, object array of sequences, or array of shape (n_sequences, length)
        True labels. Tokens whose label is None or NaN are left out, as are sequences given as None.
    y_pred : list of sequences, object array of sequences, or array of shape (n_sequences, length)
        Predicted labels or states.

    Returns
    -------
    accuracy : float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If the numbers of sequences or the lengths of a sequence differ, or no label is known.
    TypeError
        If a sequence is a string or a scalar.

    Examples
    --------
    >>> from sklearn_cvb.metrics import many_to_one_accuracy
    >>> many_to_one_accuracy([["DT", "NN", "NN", "NN"]], [[0, 1, 2, 0]])
    0.75
    """
    counts, _, _ = tag_confusion(y_true, y_pred)
    return float(counts.max(axis=0).sum() / counts.sum())


def one_to_one_accuracy(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Token accuracy after the best mapping that gives each true label at most one state.

    Predicted labels beyond the number of true labels stay unmapped; their tokens count as wrong.

    Parameters
    ----------
    y_true : list of sequences, object array of sequences, or array of shape (n_sequences, length)
        True labels. Tokens whose label is None or NaN are left out, as are sequences given as None.
    y_pred : list of sequences, object array of sequences, or array of shape (n_sequences, length)
        Predicted labels or states.

    Returns
    -------
    accuracy : float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If the numbers of sequences or the lengths of a sequence differ, or no label is known.
    TypeError
        If a sequence is a string or a scalar.

    Examples
    --------
    >>> from sklearn_cvb.metrics import one_to_one_accuracy
    >>> one_to_one_accuracy([["DT", "NN", "NN", "NN"]], [[0, 1, 2, 0]])
    0.5
    """
    counts, _, _ = tag_confusion(y_true, y_pred)
    return float(sum(counts[pair] for pair in matched_pairs(counts)) / counts.sum())


def v_measure(y_true: Sequence[Any], y_pred: Sequence[Any]) -> float:
    """Harmonic mean of homogeneity and completeness of the predicted labels, over tokens.

    Parameters
    ----------
    y_true : list of sequences, object array of sequences, or array of shape (n_sequences, length)
        True labels. Tokens whose label is None or NaN are left out, as are sequences given as None.
    y_pred : list of sequences, object array of sequences, or array of shape (n_sequences, length)
        Predicted labels or states.

    Returns
    -------
    score : float
        Between 0 and 1; the names of the labels do not matter.

    Raises
    ------
    ValueError
        If the numbers of sequences or the lengths of a sequence differ, or no label is known.
    TypeError
        If a sequence is a string or a scalar.

    Examples
    --------
    >>> from sklearn_cvb.metrics import v_measure
    >>> v_measure([["DT", "NN"], ["NN"]], [[1, 0], [0]])
    1.0
    """
    from sklearn.metrics import v_measure_score

    true_codes, predicted_codes, _, _ = _encoded(y_true, y_pred)
    return float(v_measure_score(true_codes, predicted_codes))


def tag_confusion(
    y_true: Sequence[Any], y_pred: Sequence[Any]
) -> tuple[np.ndarray, list[Any], list[Any]]:
    """Count how often each predicted label meets each true label.

    Parameters
    ----------
    y_true : list of sequences, object array of sequences, or array of shape (n_sequences, length)
        True labels. Tokens whose label is None or NaN are left out, as are sequences given as None.
    y_pred : list of sequences, object array of sequences, or array of shape (n_sequences, length)
        Predicted labels or states.

    Returns
    -------
    counts : int array of shape (n_true_labels, n_predicted_labels)
        Number of tokens.
    true_labels : list
        Labels of the rows, in order of first appearance.
    predicted_labels : list
        Labels of the columns, in order of first appearance.

    Raises
    ------
    ValueError
        If the numbers of sequences or the lengths of a sequence differ, or no label is known.
    TypeError
        If a sequence is a string or a scalar.

    Examples
    --------
    >>> from sklearn_cvb.metrics import tag_confusion
    >>> counts, true_labels, predicted_labels = tag_confusion([["DT", "NN", "NN"]], [[0, 1, 0]])
    >>> counts
    array([[1, 0],
           [1, 1]])
    >>> true_labels, predicted_labels
    (['DT', 'NN'], [0, 1])
    """
    true_codes, predicted_codes, true_labels, predicted_labels = _encoded(y_true, y_pred)
    shape = len(true_labels), len(predicted_labels)
    cells = np.bincount(true_codes * shape[1] + predicted_codes, minlength=shape[0] * shape[1])
    return cells.reshape(shape), true_labels, predicted_labels


def matched_pairs(counts: np.ndarray) -> list[tuple[int, int]]:
    """The one-to-one pairs (row, column) with the largest sum of counts (Hungarian method).

    There are as many as the shorter side has, by row.

    >>> from sklearn_cvb.metrics.tagging import matched_pairs
    >>> matched_pairs([[5, 4], [4, 0]])
    [(0, 1), (1, 0)]
    """
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(np.asarray(counts), maximize=True)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def _encoded(
    y_true: Sequence[Any], y_pred: Sequence[Any]
) -> tuple[np.ndarray, np.ndarray, list[Any], list[Any]]:
    """Codes of the scored tokens, true and predicted, then the labels they stand for."""
    y_true, y_pred = _rows("y_true", y_true), _rows("y_pred", y_pred)
    if len(y_true) != len(y_pred):
        raise ValueError(f"y_true holds {len(y_true)} sequences, y_pred {len(y_pred)}")
    pairs = []
    for i, (true, predicted) in enumerate(zip(y_true, y_pred, strict=True)):
        if isinstance(true, Iterable) or not is_missing(true):
            given, found = _label_list("y_true", i, true), _label_list("y_pred", i, predicted)
            if len(given) != len(found):
                raise ValueError(
                    f"sequence {i} has {len(given)} labels in y_true but {len(found)} in y_pred"
                )
            pairs.append((given, found))
    true_codes, true_labels = _codes(chain.from_iterable(true for true, _ in pairs))
    predicted_codes, predicted_labels = _codes(chain.from_iterable(found for _, found in pairs))
    known = np.array([label is not None for label in true_labels], dtype=bool)[true_codes]
    if not known.any():
        raise ValueError("nothing to score: y_true holds no known label")
    true_codes, true_labels = _used(true_codes[known], true_labels)
    predicted_codes, predicted_labels = _used(predicted_codes[known], predicted_labels)
    return true_codes, predicted_codes, true_labels, predicted_labels


def _rows(name: str, labels: Any) -> list[Any]:
    rows = as_list(labels.to_numpy() if hasattr(labels, "columns") else labels)
    if rows is None:
        raise TypeError(f"{name} is {short_repr(labels)}: pass a list of sequences of labels")
    return rows


def _label_list(name: str, number: int, labels: Any) -> list[Any]:
    items = as_list(labels)
    if items is None or not all(map(is_hashable, items)):
        raise TypeError(
            f"{name}[{number}] is {short_repr(labels)}; each element must be a sequence of labels, "
            'as in [["DET", "NOUN"], ...]'
        )
    return items


def _codes(labels: Iterable[Any]) -> tuple[np.ndarray, list[Any]]:
    """Number labels by first appearance; all that are missing become one label None."""
    seen: dict[Any, int] = {}
    codes = np.fromiter((seen.setdefault(label, len(seen)) for label in labels), dtype=np.int64)
    names: dict[Any, int] = {}
    merged = [names.setdefault(None if is_missing(name) else name, len(names)) for name in seen]
    return np.array(merged, dtype=np.int64)[codes], list(names)


def _used(codes: np.ndarray, labels: list[Any]) -> tuple[np.ndarray, list[Any]]:
    used, codes = np.unique(codes, return_inverse=True)
    return codes, [labels[code] for code in used]
