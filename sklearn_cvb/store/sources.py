"""Sources of stores: lists, text files, parquet files and Arrow tables, as a stream of batches.

All become a stream of `RawBatch`. Nothing of pyarrow is imported unless something of it,
or a parquet file, is given.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.reading.corpus import as_list, is_table, samples_of, short_repr, tokens_of

# Bytes of a text file, rows of a parquet file, and sequences of a stream that are read at a time.
_BYTES, _ROWS, _SEQUENCES = 1 << 23, 1 << 16, 10_000

_ARROW_NEEDED = (
    "parquet files and Arrow columns need pyarrow: install it with `python -m pip install pyarrow`"
)


class RawBatch(NamedTuple):
    """Some sequences, one after the other; tokens and their tags are lists or pyarrow.Array."""

    tokens: Any
    lengths: np.ndarray
    tags: Any = None


class SourceFormat(NamedTuple):
    """Columns and reader of a source, and whether it has tags: parameters of `write_store`."""

    column: str | None = None
    tag_column: str | None = None
    reader: Callable[[Path], Any] | None = None
    tagged: bool = False


def batches_of(source: Any, reading: SourceFormat) -> Iterator[RawBatch]:
    """All batches of a source; errors begin with the number of the batch."""
    if callable(source):
        source = source()
    if isinstance(source, str | os.PathLike):
        source = [source]
    # A single collection of sequences rather than an iterable of batches.
    is_collection = hasattr(source, "iloc") or (hasattr(source, "shape") and is_table(source))
    if _is_arrow(source) or is_collection:
        yield from _read(source, "X", reading)
        return
    if not isinstance(source, Iterable):
        raise TypeError(f"X is {short_repr(source)}: pass batches of sequences, or paths of files")
    items = iter(source)
    first = next(items, None)
    if first is None:
        return
    items = chain([first], items)
    if not reading.tagged and _is_sequence(first):
        # A stream of sequences.
        sequences = items
        items = iter(lambda: list(islice(sequences, _SEQUENCES)), [])
    for i, item in enumerate(items):
        yield from _read(item, f"batch {i}", reading)


def _read(item: Any, name: str, reading: SourceFormat) -> Iterator[RawBatch]:
    """The batches of one item: a file, an Arrow column, a pair, or some sequences."""
    if isinstance(item, str | os.PathLike):
        yield from _batches_of_file(Path(item), reading)
    elif _is_arrow(item):
        yield from _batches_of_arrow(item, reading)
    elif reading.tagged:
        if not isinstance(item, tuple | list) or len(item) != 2:
            raise TypeError(
                f"{name} is {short_repr(item)}: with tagged=True each batch is a pair, the "
                "sequences and their tags"
            )
        yield _with_tags(_batches_of_sequences(item[0], name), item[1], name)
    else:
        yield _batches_of_sequences(item, name)


def _is_arrow(source: Any) -> bool:
    """Whether something is of Arrow, or a column of a frame that holds it."""
    is_arrow = type(source).__module__.split(".")[0] == "pyarrow"
    is_data = hasattr(source, "columns") or hasattr(source, "null_count")
    return (is_arrow and is_data) or hasattr(getattr(source, "dtype", None), "pyarrow_dtype")


def _is_sequence(item: Any) -> bool:
    """Whether an item is a sequence of tokens rather than a batch, a file or a table."""
    if isinstance(item, str | os.PathLike) or _is_arrow(item) or hasattr(item, "iloc"):
        return False
    if isinstance(item, np.ndarray):
        return item.ndim == 1 and (item.dtype != object or not _holds_sequences(item))
    values = as_list(item)
    return bool(values) and not _holds_sequences(values)


def _holds_sequences(values: Any) -> bool:
    """Whether the first of some values is a sequence."""
    first = values[0]
    return not isinstance(first, str | bytes) and hasattr(first, "__len__")


# Python's own


def _batches_of_sequences(sequences: Any, name: str) -> RawBatch:
    """A batch of lists, arrays, or rows of a table."""
    if isinstance(sequences, np.ndarray) and sequences.ndim == 2:
        lengths = np.full(len(sequences), sequences.shape[1], np.int64)
        return _not_empty(RawBatch(sequences.ravel().tolist(), lengths), name)
    rows = [
        row if type(row) in (list, tuple) else tokens_of(row, f"{name}, sequence {i}")
        for i, row in enumerate(samples_of(sequences))
    ]
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    return _not_empty(RawBatch(list(chain.from_iterable(rows)), lengths), name)


def _with_tags(batch: RawBatch, tags: Any, name: str) -> RawBatch:
    """A batch with the tags of its tokens, None for a sequence without any."""
    given = samples_of(tags)
    if len(given) != len(batch.lengths):
        raise ValueError(f"{name} holds {len(batch.lengths)} sequences but tags of {len(given)}")
    rows = []
    for i, (row, length) in enumerate(zip(given, batch.lengths.tolist(), strict=True)):
        items = [None] * length if row is None else tokens_of(row, f"{name}, tags {i}")
        if len(items) != length:
            raise ValueError(f"{name}, sequence {i} has {length} tokens but {len(items)} tags")
        rows.append(items)
    return batch._replace(tags=list(chain.from_iterable(rows)))


def _not_empty(batch: RawBatch, name: str) -> RawBatch:
    empty = np.flatnonzero(batch.lengths == 0)
    if len(empty):
        raise ValueError(f"{name}, sequence {empty[0]} is empty: leave empty sequences out")
    return batch


# Files


def _batches_of_file(path: Path, reading: SourceFormat) -> Iterator[RawBatch]:
    """The batches of a file: by the given reader, of parquet, or one sequence a line."""
    if not path.exists():
        raise FileNotFoundError(
            f"there is no file {str(path)!r}: pass paths of files, or sequences as lists of tokens"
        )
    if reading.reader is not None:
        yield from batches_of(reading.reader(path), reading._replace(reader=None))
    elif path.suffix in (".parquet", ".pq"):
        yield from _batches_of_parquet(path, reading)
    elif reading.tagged or reading.tag_column is not None:
        raise ValueError(
            f"{str(path)!r} is read as text, which has no tags: give a reader that returns pairs"
        )
    else:
        yield from _batches_of_text(path)


def _batches_of_text(path: Path) -> Iterator[RawBatch]:
    """One sequence a line, its tokens cut at blanks; empty lines are none."""
    with open(path, encoding="utf-8") as handle:
        try:
            while lines := handle.readlines(_BYTES):
                rows = list(filter(None, map(str.split, lines)))
                lengths = np.fromiter(map(len, rows), np.int64, len(rows))
                if len(rows):
                    yield RawBatch(list(chain.from_iterable(rows)), lengths)
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{str(path)!r} is no text in UTF-8 ({error}): give a reader that knows its code"
            ) from None


def _batches_of_parquet(path: Path, reading: SourceFormat) -> Iterator[RawBatch]:
    """The batches of a parquet file."""
    parquet = _pyarrow().parquet
    with parquet.ParquetFile(path) as file:
        names = _columns_of(file.schema_arrow, reading, str(path))
        for rows in file.iter_batches(_ROWS, columns=[name for name in names if name is not None]):
            yield _of_record(rows, names, str(path))


# Arrow


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(_ARROW_NEEDED) from error
    return pyarrow


def _batches_of_arrow(source: Any, reading: SourceFormat) -> Iterator[RawBatch]:
    """The batches of a table, a record batch, or an array of lists; also of a frame's column."""
    arrow = _pyarrow()
    if hasattr(source, "dtype"):
        source = source.array.__arrow_array__()
    if isinstance(source, arrow.Array | arrow.ChunkedArray):
        source = arrow.table({"X": source})
        reading = reading._replace(column="X", tag_column=None)
    names = _columns_of(source.schema, reading, "the table")
    if isinstance(source, arrow.RecordBatch):
        source = arrow.Table.from_batches([source])
    for rows in source.to_batches(_ROWS):
        yield _of_record(rows, names, "the table")


def _columns_of(schema: Any, reading: SourceFormat, name: str) -> tuple[str, str | None]:
    """The columns of the sequences and of their tags."""
    types = _pyarrow().types
    kinds = types.is_list, types.is_large_list, types.is_fixed_size_list
    lists = [field.name for field in schema if any(is_kind(field.type) for is_kind in kinds)]
    column = reading.column
    if column is None:
        others = [some for some in lists if some != reading.tag_column]
        if len(others) != 1:
            raise ValueError(
                f"{name} has the columns {schema.names} and lists in {others}: say with column= "
                "which one holds the sequences"
            )
        column = others[0]
    for wanted in (column, reading.tag_column):
        if wanted is not None and wanted not in lists:
            raise ValueError(f"{name} has no column {wanted!r} of lists, but {schema.names}")
    return column, reading.tag_column


def _of_record(rows: Any, names: tuple[str, str | None], name: str) -> RawBatch:
    """The batch of some rows of a table."""
    column, tag_column = names
    tokens, lengths = _flattened_column(rows.column(column), f"{name}, column {column!r}")
    batch = _not_empty(RawBatch(tokens, lengths), name)
    if tag_column is None:
        return batch
    tags, tag_lengths = _flattened_column(rows.column(tag_column), f"{name}, column {tag_column!r}")
    differ = np.flatnonzero(tag_lengths != lengths)
    if len(differ):
        i = differ[0]
        raise ValueError(f"{name}, sequence {i} has {lengths[i]} tokens but {tag_lengths[i]} tags")
    return batch._replace(tags=tags)


def _flattened_column(column: Any, name: str) -> tuple[Any, np.ndarray]:
    """The values of a column of lists, one after the other, and the lengths of the lists."""
    if column.null_count:
        empty = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
        raise ValueError(f"{name}: sequence {empty[0]} is null: leave empty sequences out")
    lengths = _pyarrow().compute.list_value_length(column)
    return column.flatten(), lengths.to_numpy(zero_copy_only=False).astype(np.int64)
