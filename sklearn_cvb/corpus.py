"""Tokens to integers: sequences of hashable tokens become one flat array and its offsets.

A sample is a sequence. Sequences come as a list, an object array or a pandas Series of sequences,
or as a 2-D array whose rows are sequences of equal length.
"""

import math
import numbers
from collections.abc import Hashable, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import chain, pairwise, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sklearn_cvb.containers import as_list, samples_of, shown, tokens_of


def __getattr__(name: str) -> Any:
    # Corpora on disk are loaded when asked for.
    if name not in ("CorpusStore", "open_store", "write_store"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn_cvb import store

    return getattr(store, name)


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
    times : ndarray of shape (n_tokens,), int64, or None
        How many tokens each stands for, in a digest (`sklearn_cvb.hmm.survey`); None for one.
    """

    tokens: np.ndarray
    starts: np.ndarray
    width: int | None
    unknown: list
    times: np.ndarray | None = None

    @property
    def n_sequences(self) -> int:
        """Number of sequences."""
        return len(self.starts) - 1

    @property
    def n_observed(self) -> int:
        """Number of tokens that are not missing, at least 1 (a divisor for averages)."""
        if self.times is not None:
            return max(1, int(self.times[self.tokens >= 0].sum()))
        return max(1, int(np.count_nonzero(self.tokens >= 0)))

    def uses(self, n_types: int = 0) -> np.ndarray:
        """How often each type is observed, ndarray of shape (n_types,) or longer."""
        is_observed = self.tokens >= 0
        if self.times is None:
            return np.bincount(self.tokens[is_observed], minlength=n_types)
        times = self.times[is_observed]
        return np.bincount(self.tokens[is_observed], times, n_types).astype(np.int64)


class Sequences(NamedTuple):
    """Sequences as read: all tokens in one list, the offsets, and the width of a 2-D input.

    `times` says how many tokens each stands for; None for one.
    """

    tokens: list
    starts: np.ndarray
    width: int | None
    times: np.ndarray | None = None


def is_missing(token: object) -> bool:
    """Whether a token stands for a missing observation: None, any NaN, pandas' NA or NaT."""
    if token is None or (isinstance(token, float | np.floating) and math.isnan(token)):
        return True
    if isinstance(token, Decimal):
        return token.is_nan()
    return type(token).__name__ in ("NAType", "NaTType")


def _is_infinite(token: object) -> bool:
    # Unlike math.isinf this takes integers beyond float64.
    return isinstance(token, numbers.Number) and token in (math.inf, -math.inf)


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


# So many numbers tell measurements from symbols, and so large a share of them differs.
_MEASUREMENTS, _DIFFERENT = 20, 0.9


def are_measurements(table: np.ndarray) -> bool:
    """Whether a 2-D array holds floats that nearly all differ, and so no symbols."""
    if table.dtype.kind != "f":
        return False
    values = table[~np.isnan(table)]
    if len(values) < _MEASUREMENTS or (values == np.floor(values)).all():
        return False
    return len(np.unique(values)) > _DIFFERENT * len(values)


def read_ragged(X: Any) -> Sequences:
    """Read a collection of sequences.

    Raises
    ------
    TypeError
        If a sample is a string, a scalar or has no order.
    ValueError
        If there is no sample, or a sample is empty.
    """
    X = samples_of(X)
    if not X:
        raise ValueError("Found array with 0 sample(s): X holds no sequence")
    # Arrays of several dtypes would be cast to a common one: 1 would become "1".
    if all(type(row) is np.ndarray and row.ndim == 1 and row.dtype == X[0].dtype for row in X):
        return _joined(np.concatenate(X).tolist(), X)
    X = [
        sequence if type(sequence) in (list, tuple) else tokens_of(sequence, f"X[{i}]")
        for i, sequence in enumerate(X)
    ]
    return _joined(list(chain.from_iterable(X)), X)


def _joined(tokens: list, sequences: list) -> Sequences:
    """All tokens, with the offsets of the sequences that they were read from."""
    lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
    _refuse_empty(lengths)
    return Sequences(tokens, np.concatenate([[0], np.cumsum(lengths)]), None)


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
        raise unhashable(tokens, starts) from None
    for token in types:
        if _is_infinite(token):
            raise ValueError(f"infinity is not a symbol: got the token {token!r}")
    return sorted_types(types)


def sorted_types(types: Iterable) -> list:
    """Sort values of any kind: naturally where they compare, else by type name and text."""
    try:
        return sorted(types)
    except TypeError:
        return sorted(types, key=lambda value: (type(value).__name__, repr(value)))


def unhashable(values: list, starts: np.ndarray, kind: str = "token") -> TypeError:
    """The error that names the first of the flat values that has no hash."""
    for position, value in enumerate(values):
        if not is_hashable(value):
            is_deeper = kind == "token" and isinstance(value, list)
            deeper = " (X is a list of sequences, not of batches)" if is_deeper else ""
            return TypeError(
                f"{kind} {shown(value)} ({place(position, starts)}) is not hashable: the argument "
                "must be a hashable value such as a string or a number" + deeper
            )
    return TypeError(f"every {kind} must be hashable")


def is_hashable(value: object) -> bool:
    """Whether a value has a hash; a tuple that holds a list has none."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


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


def caution_of_giant(corpus: Corpus, remedy: str) -> tuple[str, ...]:
    """What is to be said where leaving out one sentence leaves little to learn from."""
    lengths = np.diff(corpus.starts)
    longest = int(lengths.argmax())
    if 2 * lengths[longest] <= lengths.sum():
        return ()
    return (
        f"sentence {longest} holds more than half of all tokens: its own counts are left out "
        f"and it is inferred from little more than the prior; {remedy}, or cut it",
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
        numeric = _as_numbers(types)
        if numeric is not None:
            return numeric
    array = np.empty(len(types), dtype=object)
    array[:] = types
    return array


def _as_numbers(values: list) -> np.ndarray | None:
    """Numbers as an array of numbers, None where that would change one of them."""
    try:
        array = np.asarray(values)
    except OverflowError:
        return None
    return array if array.dtype.kind in "iuf" and array.tolist() == values else None


class Vocabulary(NamedTuple):
    """Words and their numbers.

    Attributes
    ----------
    types : ndarray of shape (n_words,)
    index : dict
        The number of each word.
    """

    types: np.ndarray
    index: dict[Hashable, int]

    def __reduce__(self) -> tuple:
        # Half as large, and the numbers are soon made again.
        return _numbered, (self.types,)


def _numbered(types: np.ndarray) -> Vocabulary:
    """Words that were loaded, numbered in their order."""
    return Vocabulary(types, {word: i for i, word in enumerate(types.tolist())})


def vocabulary_of(types: list) -> Vocabulary:
    """These words, numbered in their order."""
    return Vocabulary(as_array(types), {word: i for i, word in enumerate(types)})


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
    tokens, starts, width, times = sequences
    try:
        codes = np.fromiter(map(index.get, tokens, repeat(-2)), np.int32, len(tokens))
    except TypeError:
        raise unhashable(tokens, starts) from None
    unknown: dict[Hashable, int] = {}
    positions = np.flatnonzero(codes == -2)
    found = []
    for position in positions.tolist():
        token = tokens[position]
        # Most tokens are strings, which are neither missing nor infinite.
        if not isinstance(token, str):
            if is_missing(token):
                found.append(-1)
                continue
            if _is_infinite(token):
                raise ValueError(
                    f"infinity is not a symbol: got the token {token!r} ({place(position, starts)})"
                )
        found.append(len(index) + unknown.setdefault(token, len(unknown)))
    codes[positions] = found
    return Corpus(codes, starts, width, list(unknown), times)


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
    X : array-like of shape (n_tokens,), (n_tokens, 1) or (n_tokens, n_columns)
        All tokens, or steps of several numbers, one sequence after the other.
    lengths : array-like of shape (n_sequences,), int
        Length of each sequence; they sum to n_tokens.

    Returns
    -------
    list of ndarray
        One 1-D array per sequence; of several columns one array of shape (length, n_columns).

    Raises
    ------
    ValueError
        If the lengths are not positive or do not sum to the number of tokens; if several columns
        hold something else than numbers.
    TypeError
        If the lengths are no integers.

    Examples
    --------
    >>> from sklearn_cvb import split_by_lengths
    >>> split_by_lengths([[0], [1], [1], [0], [2]], [2, 3])
    [array([0, 1]), array([1, 0, 2])]
    >>> [part.shape for part in split_by_lengths([[0.1, 7], [0.3, 8], [0.2, 9]], [2, 1])]
    [(2, 2), (1, 2)]
    """
    try:
        tokens = np.asarray(X)
    except ValueError:
        raise ValueError("X must have one column of symbols, got rows of several lengths") from None
    if tokens.ndim == 2 and tokens.shape[1] == 1:
        tokens = tokens[:, 0]
    if tokens.ndim == 2 and tokens.dtype.kind not in "biuf":
        raise ValueError(
            f"X must have one column of symbols, or several of numbers, got shape {tokens.shape}"
        )
    if tokens.ndim not in (1, 2):
        raise ValueError(f"X must have one axis of steps and columns, got shape {tokens.shape}")
    cuts = as_list(lengths)
    if cuts is None or not all(isinstance(length, numbers.Integral) for length in cuts):
        raise TypeError(f"lengths must be a list of integers, got {shown(lengths)}")
    if any(length <= 0 for length in cuts) or sum(cuts) != len(tokens):
        raise ValueError(
            f"lengths must be positive and sum to the number of tokens ({len(tokens)}), "
            f"got {shown(cuts[:10])} with sum {shown(sum(cuts))}"
        )
    return np.split(tokens, np.cumsum(cuts)[:-1])


# TEMPORARY, until all families are bound.
warn_of_giant = caution_of_giant
