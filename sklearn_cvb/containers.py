"""What sequences come in: lists, arrays, columns of frames, also of other libraries, read as lists.

Lengths are those of what was read: ``len`` of a frame counts rows, but reading it yields names of
columns. Other libraries are known by their methods, and none is imported.
"""

import os
from collections.abc import Iterator, Mapping, Set
from numbers import Integral
from typing import Any

import numpy as np

from sklearn_cvb.validation import LENGTHS

_TOKENISE = (
    "a sample must be a sequence of tokens, not a string: split it into words with str.split "
    "or into characters with list"
)
_COLUMN = 'or a column of a frame, such as frame["event"]'

# Text, and what has no order or can be read but once.
_NO_SEQUENCE = (str, bytes, bytearray, Mapping, Set, Iterator)

# Arrow data of more bytes are never made Python's own objects.
_LONG_COLUMN = 10_000_000

# Methods that give values as Python's own, of Arrow and others.
_TO_LIST = ("to_pylist", "to_list", "tolist")


def as_list(values: Any) -> list | None:
    """The items of an ordered collection, None for anything else: frames, sets, text, numbers."""
    if isinstance(values, list | tuple):
        return list(values)
    if isinstance(values, _NO_SEQUENCE) or _is_frame(values):
        return None
    for name in _TO_LIST:
        if hasattr(values, name):
            found = getattr(values, name)()
            return found if isinstance(found, list) else None
    if hasattr(values, "__len__") and hasattr(values, "__iter__"):
        return list(values)
    return None


def is_table(X: Any) -> bool:
    """Whether X is a 2-D array or table rather than a collection of sequences."""
    if isinstance(X, list | tuple):
        return False
    shape = getattr(X, "shape", None)
    if shape is None:
        return hasattr(X, "__array__") and not any(hasattr(X, name) for name in _TO_LIST)
    if len(shape) == 1:
        return getattr(getattr(X, "dtype", None), "kind", "O") in "biufc"
    return _sequences_in_column(X) is None


def samples_of(X: Any, such_as: str = "lists of words") -> list:
    """The samples of X, as they were given; a message says what sequences are, `such_as`.

    Raises
    ------
    TypeError
        If X is no collection, or one without order.
    """
    column = _sequences_in_column(X)
    if column is not None:
        return column
    if isinstance(X, str | bytes | bytearray):
        raise TypeError(f"X is the string {X!r}: {_TOKENISE}, and pass a list of samples")
    if isinstance(X, Mapping | Set) or not hasattr(X, "__iter__"):
        raise TypeError(
            f"X is {shown(X)}: pass a list of sequences, such as {such_as}{_values_of(X)}"
        )
    items = as_list(X)
    return list(X) if items is None else items


def is_store(X: Any) -> bool:
    """Whether X is a corpus on disk (`sklearn_cvb.store.CorpusStore`)."""
    return getattr(type(X), "is_on_disk", False)


def is_in_bulk(X: Any) -> bool:
    """Whether `fit` takes X a batch at a time: a store, paths, a function, a long Arrow column."""
    if is_store(X) or isinstance(X, os.PathLike):
        return True
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(isinstance(item, os.PathLike) for item in X)
    if type(X).__module__.split(".")[0] == "pyarrow":
        return getattr(X, "nbytes", 0) > _LONG_COLUMN
    return callable(X) and not hasattr(X, "__len__")


def is_dask(X: Any) -> bool:
    """Whether X lies in partitions of Dask: a bag, a column, a frame, or a list of delayed ones.

    A bag can be read like a list, and would then be computed here, all of it.
    """
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(_is_of_dask(item) for item in X)
    return _is_of_dask(X)


def _is_of_dask(value: Any) -> bool:
    module, _, rest = type(value).__module__.partition(".")
    return module in ("dask", "dask_expr", "distributed") and not rest.startswith("array")


def tokens_of(sample: Any, name: str) -> list:
    """The items of one sample, called `name` where it has none.

    Raises
    ------
    TypeError
        If it is text, a frame, or has no order.
    ValueError
        If it has several dimensions.
    """
    if isinstance(sample, str | bytes | bytearray):
        raise TypeError(f"{name} is the string {sample!r}: {_TOKENISE}")
    if not _is_frame(sample) and len(getattr(sample, "shape", (0,))) > 1:
        raise ValueError(f"{name} has {len(sample.shape)} dimensions: a sequence has one")
    items = as_list(sample)
    if items is None:
        raise TypeError(
            f"{name} is {shown(sample)} of type {type(sample).__name__}: each sample must be a "
            f"sequence of tokens, such as a list, {_COLUMN}"
        )
    return items


def known_of(y: Any, lengths: np.ndarray, width: int | None, form: str) -> list:
    """What `y` knows of each sequence, one item for each; `form` says what y holds.

    Parameters
    ----------
    y : object
    lengths : ndarray of shape (n_sequences,)
        Lengths of the sequences.
    width : int or None
        Number of columns of a 2-D X.
    form : str

    Raises
    ------
    TypeError
        If `y` is no ordered collection.
    ValueError
        If it has another number of sequences, be it because it holds lengths.
    """
    known = _sequences_in_column(y)
    if known is None:
        if _is_frame(y):
            y = y.to_numpy()
        elif not hasattr(y, "__len__") and hasattr(y, "__array__"):
            y = np.asarray(y)
        if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1 and width != 1:
            y = y[:, 0]
        known = as_list(y)
    if known is None:
        raise TypeError(f"y is {shown(y)} of type {type(y).__name__}: {form}")
    refuse_lengths(known, len(lengths), int(lengths.sum()))
    if len(known) != len(lengths):
        raise ValueError(
            f"X holds {len(lengths)} sequences but y {len(known)}: inconsistent numbers of samples"
        )
    return known


def refuse_lengths(y: Any, n_sequences: int, n_tokens: int) -> None:
    """Raise ValueError where `y` holds lengths of sequences that X has end to end.

    X is then one sequence, or a column whose every row is one.
    """
    if n_sequences not in (1, n_tokens):
        return
    known = as_list(y)
    if (
        known
        and len(known) != n_sequences
        and all(isinstance(item, Integral) and not isinstance(item, bool) for item in known)
        and sum(known) == n_tokens
    ):
        raise ValueError(f"y holds {shown(known)}, the lengths of sequences: {LENGTHS}")


def shown(value: Any) -> str:
    """How a message shows a value: its text, not all of it where that is long."""
    if _is_frame(value):
        return f"a frame with columns {_columns(value)[:5]!r}"
    text = " ".join(repr(value).split())
    return text if len(text) <= 100 else f"{text[:97]}..."


def _is_frame(values: Any) -> bool:
    return hasattr(values, "columns") and len(getattr(values, "shape", ())) == 2


def _columns(frame: Any) -> list:
    """Names of the columns of a frame."""
    return list(getattr(frame, "column_names", frame.columns))


def _sequences_in_column(frame: Any) -> list | None:
    """The only column of a frame if it holds lists or arrays."""
    if not _is_frame(frame) or frame.shape[1] != 1:
        return None
    values = as_list(frame[_columns(frame)[0]])
    return values if values and isinstance(values[0], list | np.ndarray) else None


def _values_of(X: Any) -> str:
    return ", here list(X.values())" if isinstance(X, Mapping) else ""
