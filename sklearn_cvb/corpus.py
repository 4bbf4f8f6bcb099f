"""Tokens to integers: sequences of hashable tokens become one flat array and its offsets.

A sample is a sequence. Sequences come as a list, an object array or a pandas Series of sequences,
or as a 2-D array whose rows are sequences of equal length.
"""

import math
import numbers
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain, pairwise, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

_TOKENISE = (
    "a sample must be a sequence of tokens, not a string: split it into words with str.split "
    "or into characters with list"
)


class Corpus(NamedTuple):
    """Encoded sequences.

    Attributes
    ----------
    tokens : ndarray of shape (n_tokens,), int32
        Index of each token's type in the vocabulary; ``len(vocabulary) + u`` for the u-th type in
        `unknown`; -1 for a missing observation.
    starts : ndarray of shape (n_sequences + 1,), int64
        Sequence i is ``tokens[starts[i] : starts[i + 1]]``.
    width : int or None
        Number of columns of a 2-D input, None for ragged input.
    unknown : list
        The types of this corpus that are not in the vocabulary.
    """

    tokens: np.ndarray
    starts: np.ndarray
    width: int | None
    unknown: list

    @property
    def n_sequences(self) -> int:
        """Number of sequences."""
        return len(self.starts) - 1

    @property
    def n_observed(self) -> int:
        """Number of tokens that are not missing, at least 1 (a divisor for averages)."""
        return max(1, int(np.count_nonzero(self.tokens >= 0)))


class Sequences(NamedTuple):
    """Sequences as read: all tokens in one list, the offsets, and the width of a 2-D input."""

    tokens: list
    starts: np.ndarray
    width: int | None


def is_missing(token: object) -> bool:
    """Whether a token stands for a missing observation: None, NaN, pandas' NA or NaT."""
    if token is None or (isinstance(token, float | np.floating) and math.isnan(token)):
        return True
    return type(token).__name__ in ("NAType", "NaTType")


def is_table(X: Any) -> bool:
    """Whether X is a 2-D array or table rather than a collection of sequences."""
    if isinstance(X, list | tuple):
        return False
    if hasattr(X, "ndim"):
        return X.ndim != 1 or getattr(getattr(X, "dtype", None), "kind", "O") in "biufc"
    return hasattr(X, "__array__") or hasattr(X, "__dataframe__")


def read_table(table: np.ndarray) -> Sequences:
    """Read a validated 2-D array: rows are sequences, missing values at a row's end are padding.

    Parameters
    ----------
    table : ndarray of shape (n_sequences, width)
        Symbols; None or NaN where missing.

    Returns
    -------
    Sequences

    Raises
    ------
    ValueError
        If a row holds nothing but missing values.
    """
    width = table.shape[1]
    if table.dtype.kind == "f":
        observed = ~np.isnan(table)
    elif table.dtype == object:
        observed = ~np.frompyfunc(is_missing, 1, 1)(table).astype(bool)
    else:
        observed = np.ones(table.shape, bool)
    lengths = np.where(observed, np.arange(1, width + 1), 0).max(axis=1)
    _refuse_empty(lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    inside = np.arange(width) < lengths[:, None]
    return Sequences(table[inside].tolist(), starts, width)


def read_ragged(X: Any) -> Sequences:
    """Read a collection of sequences.

    Raises
    ------
    TypeError
        If a sample is a string, a scalar or has no order.
    ValueError
        If there is no sample, or a sample is empty.
    """
    if isinstance(X, str | bytes):
        raise TypeError(f"X is the string {X!r}: {_TOKENISE}, and pass a list of samples")
    if not hasattr(X, "__iter__"):
        raise TypeError(f"X is {X!r}: pass a list of sequences, such as lists of words")
    X = list(X)
    if not X:
        raise ValueError("Found array with 0 sample(s): X holds no sequence")
    for kind in set(map(type, X)):
        _check_kind(X, kind)
    lengths = np.fromiter(map(len, X), np.int64, len(X))
    _refuse_empty(lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    # Arrays of several dtypes would be cast to a common one: 1 would become "1".
    if all(isinstance(sequence, np.ndarray) and sequence.dtype == X[0].dtype for sequence in X):
        return Sequences(np.concatenate(X).tolist(), starts, None)
    plain = (sequence.tolist() if isinstance(sequence, np.ndarray) else sequence for sequence in X)
    return Sequences(list(chain.from_iterable(plain)), starts, None)


def _check_kind(X: list, kind: type) -> None:
    """Raise if samples of this type cannot be sequences of tokens."""
    index = next(i for i, sequence in enumerate(X) if type(sequence) is kind)
    if issubclass(kind, str | bytes):
        raise TypeError(f"X[{index}] is the string {X[index]!r}: {_TOKENISE}")
    if issubclass(kind, np.ndarray):
        bad = next((i for i, s in enumerate(X) if isinstance(s, np.ndarray) and s.ndim != 1), None)
        if bad is not None:
            raise ValueError(f"X[{bad}] has {X[bad].ndim} dimensions: a sequence has one")
    elif not (hasattr(kind, "__len__") and hasattr(kind, "__iter__")) or issubclass(
        kind, set | frozenset | dict
    ):
        raise TypeError(
            f"X[{index}] is {X[index]!r} of type {kind.__name__}: each sample must be a sequence "
            "of tokens, such as a list"
        )


def _refuse_empty(lengths: np.ndarray) -> None:
    empty = np.flatnonzero(np.asarray(lengths) == 0)
    if len(empty):
        raise ValueError(
            f"sequence {empty[0]} is empty ({len(empty)} empty of {len(lengths)} sequences): "
            "leave empty sequences out"
        )


def types_of(tokens: list, starts: np.ndarray) -> list:
    """The distinct observed tokens, sorted (mixed types by type name, then text).

    Raises
    ------
    TypeError
        If a token is not hashable.
    ValueError
        If a token is infinite.
    """
    try:
        types = {token for token in set(tokens) if not is_missing(token)}
    except TypeError:
        raise _unhashable(tokens, starts) from None
    for token in types:
        if isinstance(token, numbers.Real) and math.isinf(token):
            raise ValueError(f"infinity is not a symbol: got the token {token!r}")
    return sorted_types(types)


def sorted_types(types: Iterable) -> list:
    """Sort values of any kind: naturally where they compare, else by type name and text."""
    try:
        return sorted(types)
    except TypeError:
        return sorted(types, key=lambda value: (type(value).__name__, repr(value)))


def _unhashable(tokens: list, starts: np.ndarray) -> TypeError:
    for position, token in enumerate(tokens):
        try:
            hash(token)
        except TypeError:
            return TypeError(
                f"token {token!r} ({place(position, starts)}) is not hashable: the argument must "
                "be a hashable value such as a string or a number"
            )
    return TypeError("tokens must be hashable")


def place(position: int, starts: np.ndarray) -> str:
    """Words for where the flat `position` lies: its sequence and position there."""
    sequence = int(np.searchsorted(starts, position, side="right")) - 1
    return f"sequence {sequence}, position {position - int(starts[sequence])}"


def refuse_missing(corpus: Corpus) -> None:
    """Raise ValueError if an observation is missing: trees are over tokens that are known."""
    missing = np.flatnonzero(corpus.tokens == -1)
    if len(missing):
        raise ValueError(
            f"X contains NaN or None ({place(int(missing[0]), corpus.starts)}): a grammar needs "
            "every token"
        )


def warn_of_giant(corpus: Corpus, remedy: str) -> None:
    """Warn where leaving out one sentence leaves little to learn from."""
    lengths = np.diff(corpus.starts)
    longest = int(lengths.argmax())
    if 2 * lengths[longest] > lengths.sum():
        warnings.warn(
            f"sentence {longest} holds more than half of all tokens: its own counts are left out "
            f"and it is inferred from little more than the prior; {remedy}, or cut it",
            UserWarning,
            stacklevel=3,
        )


def object_array(values: Sequence) -> np.ndarray:
    """A 1-D object array of any values, lists and trees included."""
    array = np.empty(len(values), dtype=object)
    for i, value in enumerate(values):
        array[i] = value
    return array


def as_array(types: Sequence) -> np.ndarray:
    """A 1-D array of the given values; numbers keep their dtype, all else is object."""
    types = list(types)
    if types and all(isinstance(v, numbers.Real) and not isinstance(v, bool) for v in types):
        return np.asarray(types)
    array = np.empty(len(types), dtype=object)
    array[:] = types
    return array


def encode(sequences: Sequences, index: Mapping) -> Corpus:
    """Encode tokens by a vocabulary.

    Parameters
    ----------
    sequences : Sequences
    index : dict
        Maps each type of the vocabulary to its position.

    Returns
    -------
    Corpus
    """
    tokens, starts, width = sequences
    try:
        codes = np.fromiter(map(index.get, tokens, repeat(-2)), np.int32, len(tokens))
    except TypeError:
        raise _unhashable(tokens, starts) from None
    unknown: dict[Hashable, int] = {}
    for position in np.flatnonzero(codes == -2).tolist():
        token = tokens[position]
        if is_missing(token):
            codes[position] = -1
        elif isinstance(token, numbers.Real) and math.isinf(token):
            raise ValueError(
                f"infinity is not a symbol: got the token {token!r} ({place(position, starts)})"
            )
        else:
            codes[position] = len(index) + unknown.setdefault(token, len(unknown))
    return Corpus(codes, starts, width, list(unknown))


def arrange(corpus: Corpus, values: np.ndarray, fill: Any) -> np.ndarray:
    """Give flat values the shape of the input.

    Parameters
    ----------
    corpus : Corpus
    values : ndarray of shape (n_tokens, ...)
    fill : object
        Stands where a row of a 2-D input was padded.

    Returns
    -------
    ndarray of shape (n_sequences, width, ...) for 2-D input, else object array of shape
    (n_sequences,) holding one array of shape (length, ...) per sequence.
    """
    starts = corpus.starts
    if corpus.width is not None:
        if len(values) == corpus.n_sequences * corpus.width:
            return values.reshape(corpus.n_sequences, corpus.width, *values.shape[1:])
        inside = np.arange(corpus.width) < np.diff(starts)[:, None]
        shape = (corpus.n_sequences, corpus.width, *values.shape[1:])
        table = np.full(shape, fill, dtype=np.result_type(values, np.asarray(fill)))
        table[inside] = values
        return table
    ragged = np.empty(corpus.n_sequences, dtype=object)
    ragged[:] = [values[a:b] for a, b in pairwise(starts)]
    return ragged


def split_by_lengths(X: Any, lengths: ArrayLike) -> list[np.ndarray]:
    """Cut one long array into sequences: hmmlearn's ``(X, lengths)`` becomes a list of sequences.

    Parameters
    ----------
    X : array-like of shape (n_tokens,) or (n_tokens, 1)
        All tokens, one sequence after the other.
    lengths : array-like of shape (n_sequences,), int
        Length of each sequence; they sum to n_tokens.

    Returns
    -------
    list of ndarray
        One 1-D array per sequence.

    Raises
    ------
    ValueError
        If the lengths are not positive or do not sum to the number of tokens.

    Examples
    --------
    >>> from sklearn_cvb import split_by_lengths
    >>> split_by_lengths([[0], [1], [1], [0], [2]], [2, 3])
    [array([0, 1]), array([1, 0, 2])]
    """
    tokens = np.asarray(X)
    if tokens.ndim == 2 and tokens.shape[1] == 1:
        tokens = tokens[:, 0]
    if tokens.ndim != 1:
        raise ValueError(f"X must have one column of symbols, got shape {tokens.shape}")
    lengths = np.asarray(lengths, dtype=np.int64)
    if lengths.ndim != 1 or (lengths <= 0).any() or lengths.sum() != len(tokens):
        raise ValueError(
            f"lengths must be positive and sum to the number of tokens ({len(tokens)}), "
            f"got {lengths.tolist()[:10]} with sum {lengths.sum()}"
        )
    return np.split(tokens, np.cumsum(lengths)[:-1])
