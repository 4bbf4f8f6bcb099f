"""Writing stores of numbers: series are read and written a batch at a time."""

import os
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_cvb.reading.corpus import as_list, short_repr
from sklearn_cvb.reading.series import Series, read_series
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.store.files import (
    COLUMNS,
    NUMBERS,
    OFFSET,
    STARTS,
    ChecksummedFile,
    Header,
    write_header,
    write_json,
)
from sklearn_cvb.store.number_store import (
    NumberStore,
    dtype_of,
    read_rows,
    survey_rows,
    survey_to_json,
)
from sklearn_cvb.store.writing import write_files

# Sequences of a stream that are read at a time.
_SEQUENCES = 256


def write_numbers(
    batches: Any,
    folder: str | os.PathLike[str],
    *,
    dtype: str = "float64",
    reader: Callable[[Path], Any] | None = None,
    overwrite: bool = False,
) -> NumberStore:
    """Write series of numbers a batch at a time into a folder, for fits larger than memory.

    Eight bytes a value (or four) and eight a sequence on the disk; in memory one batch. The folder
    is written beside its place and renamed at the end, as by `write_store`.

    Parameters
    ----------
    batches : iterable, callable or path
        Batches of sequences, each batch whatever `fit` takes of numbers: lists of arrays of shape
        (length, n_columns) or of data frames, a 3-D array. Also a stream of single sequences,
        arrays or frames; a function without parameters that returns either; paths of ``.npy``
        files, or of others with a `reader`. NaN stands for a missing value.
    folder : path
        Must not exist yet, see `overwrite`.
    dtype : {"float64", "float32"}, default="float64"
        How values are kept; "float32" rounds them to seven digits.
    reader : callable or None, default=None
        Called with the path of each file; returns a batch, or batches.
    overwrite : bool, default=False
        Whether a store that is already there is replaced, once the new one is complete.

    Returns
    -------
    NumberStore

    Raises
    ------
    FileExistsError
        If the folder exists and is not to be replaced, or is no store.
    TypeError, ValueError
        If something is no sequence of numbers, infinite, or has other columns than the first.
    OSError
        If the disk is full, or another process writes the same store.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from sklearn_cvb import EMHMM, write_numbers
    >>> folder, rng = TemporaryDirectory(), np.random.default_rng(0)
    >>> state = np.repeat([0, 5, 0, 5], 25)
    >>> batches = ([rng.normal(state)[:, None] for _ in range(10)] for _ in range(3))
    >>> store = write_numbers(batches, folder.name + "/series")
    >>> len(store), store.n_tokens, store.n_columns
    (30, 3000, 1)
    >>> model = EMHMM(2, emission="gaussian", random_state=0).fit(store)
    >>> sorted(model.means_.ravel().round().astype(int).tolist())
    [0, 5]
    >>> folder.cleanup()
    """
    if dtype not in NUMBERS:
        raise InvalidParameterError(f"dtype must be 'float64' or 'float32', got {dtype!r}")
    begin = partial(_NumberWriter, name=NUMBERS[dtype])
    return write_files(Path(folder), overwrite, begin, _read(batches, reader))


def _read(source: Any, reader: Callable[[Path], Any] | None) -> Iterator[Series]:
    """All batches of a source; errors begin with the number of the batch."""
    if callable(source):
        source = source()
    if isinstance(source, str | os.PathLike):
        source = [source]
    if hasattr(source, "shape") or hasattr(source, "columns"):
        source = [source] if np.ndim(source) == 3 or not hasattr(source, "ndim") else list(source)
    if not isinstance(source, Iterable):
        raise TypeError(f"X is {short_repr(source)}: pass batches of sequences, or paths of files")
    items = iter(source)
    first = next(items, None)
    if first is None:
        return
    items = chain([first], items)
    if _is_sequence(first):
        # A stream of sequences.
        sequences = items
        items = iter(lambda: list(islice(sequences, _SEQUENCES)), [])
    for i, item in enumerate(items):
        if isinstance(item, str | os.PathLike):
            yield from _series_of_file(Path(item), reader)
            continue
        try:
            yield read_series(item)
        except (TypeError, ValueError) as error:
            raise type(error)(f"batch {i}: {error}") from None


def _series_of_file(path: Path, reader: Callable[[Path], Any] | None) -> Iterator[Series]:
    """The batches of a file."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {str(path)!r}: pass paths of files, or arrays")
    if reader is not None:
        yield from _read([reader(path)] if _is_sequence(found := reader(path)) else found, None)
    elif path.suffix == ".npy":
        values = np.load(path)
        yield read_series(values if values.ndim == 3 else [values])
    else:
        raise ValueError(f"{str(path)!r} is no .npy file: give a reader that returns its series")


def _is_sequence(item: Any) -> bool:
    """Whether an item is one sequence rather than a batch or a file."""
    if isinstance(item, str | os.PathLike):
        return False
    if hasattr(item, "columns"):
        return True
    if isinstance(item, np.ndarray):
        return item.ndim < 3 and item.dtype != object
    values = as_list(item) or []
    return bool(values) and np.ndim(values[0]) == 0 and not hasattr(values[0], "columns")


class _NumberWriter:
    """The files of a store of numbers that is being written."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name, self._kind = folder, name, dtype_of(name)
        self._files = {
            name: ChecksummedFile(folder / name),
            STARTS: ChecksummedFile(folder / STARTS),
        }
        self._files[STARTS].write(np.zeros(1, OFFSET))
        self._columns: tuple[int, list[Any] | None] | None = None
        self._n_sequences = self._n_steps = 0

    def append(self, batch: Series) -> None:
        """Write a batch."""
        columns = batch.table.shape[1], batch.names
        if self._columns is None:
            self._columns = columns
        if columns != self._columns:
            both = [n if names is None else names for n, names in (columns, self._columns)]
            raise ValueError(
                f"sequence {self._n_sequences} has columns {both[0]!r}, but those before it have "
                f"{both[1]!r}"
            )
        with np.errstate(over="ignore"):
            table = batch.table.astype(self._kind)
        if np.isinf(table).any():
            raise ValueError(
                f"a value from sequence {self._n_sequences} on is too large for {self._kind.name}: "
                "take dtype='float64'"
            )
        self._files[self._name].write(np.ascontiguousarray(table))
        self._files[STARTS].write((self._n_steps + batch.corpus.starts[1:]).astype(OFFSET))
        self._n_sequences += batch.corpus.n_sequences
        self._n_steps += len(table)

    def finish(self) -> None:
        """Survey all values, and write the header."""
        if self._columns is None:
            raise ValueError("there is nothing to write: the batches hold no sequence")
        files = {name: file.close() for name, file in self._files.items()}
        n_columns, names = self._columns
        if names is not None and not all(isinstance(name, str | int) for name in names):
            raise TypeError(f"columns are named {names!r}: a store keeps names that are text")

        def rows(begin: int, end: int) -> np.ndarray:
            return read_rows(self._folder / self._name, self._kind, n_columns, (begin, end))

        survey = survey_to_json(survey_rows(rows, self._n_steps))
        content = {"n_columns": n_columns, "names": names, "survey": survey}
        files[COLUMNS] = write_json(self._folder / COLUMNS, content)
        write_header(self._folder, Header(self._n_sequences, self._n_steps, 0, files))

    def close(self) -> None:
        """Close all files, also those of a broken-off write."""
        for file in self._files.values():
            file.abandon()
