"""Writing stores of symbols: tokens are encoded a batch at a time, into files of codes."""

import os
import tempfile
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Set
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sklearn_cvb.reading.corpus import (
    as_list,
    is_missing,
    short_repr,
    sorted_types,
    unhashable_error,
)
from sklearn_cvb.store.corpus_store import CorpusStore, open_store
from sklearn_cvb.store.files import (
    CLASSES,
    CODE,
    FILES,
    HEADER,
    LOCK,
    OFFSET,
    REPLACED,
    STARTS,
    TAGS,
    TOKENS,
    UNFINISHED,
    WORDS,
    ChecksummedFile,
    Header,
    StoreError,
    error_with_advice,
    files_of_store,
    write_header,
    write_json,
)
from sklearn_cvb.store.scratch import remove_temporary, temporary_folder
from sklearn_cvb.store.sources import RawBatch, SourceFormat, batches_of

# Codes put in order at a time.
_BLOCK = 1 << 22

# All files of a write, some of which a broken-off one leaves.
_UNSORTED = ".unsorted"
_MADE = FILES | {Path(name).with_suffix(_UNSORTED).name for name in (TOKENS, TAGS)}


class _UnsupportedToken(Exception):
    """A token that no store holds."""


class _CodeOfType(dict[Any, Any]):
    """Types and their codes, in the order in which they are first met; -1 is a missing one."""

    def __missing__(self, token: Any) -> int:
        if isinstance(token, np.generic):
            return self[token.item()]
        if isinstance(token, str) or (isinstance(token, int) and not isinstance(token, bool)):
            code = len(self)
            self[token] = code
            return code
        if is_missing(token):
            return -1
        raise _UnsupportedToken(token)


def write_store(
    batches: Any,
    folder: str | os.PathLike[str],
    *,
    vocabulary: Collection[Any] | None = None,
    column: str | None = None,
    tag_column: str | None = None,
    reader: Callable[[Path], Any] | None = None,
    tagged: bool = False,
    overwrite: bool = False,
) -> CorpusStore:
    """Encode a corpus a batch at a time into a folder of memory-mapped files.

    Four bytes a token and eight a sequence on the disk; in memory one batch and the vocabulary. The
    folder is written beside its place, as ``folder.unfinished``, and renamed at the end: what was
    broken off is never taken for a store.

    Parameters
    ----------
    batches : iterable, callable, path or Arrow object
        Batches of sequences, each batch whatever `fit` takes: lists of lists, a Series of lists, an
        Arrow array of lists, a table. Also a stream of single sequences; a function without
        parameters that returns either; paths of files: parquet, or text with one sequence a line,
        cut at blanks. Tokens are strings or integers, None or NaN where missing.
    folder : path
        Must not exist yet, see `overwrite`.
    vocabulary : collection or None, default=None
        The known symbols; None for those that occur, sorted.
    column : str or None, default=None
        The column of tables and parquet files that holds the sequences, a list a row; None for
        their only column of lists.
    tag_column : str or None, default=None
        The column that holds lists of tags; None for none.
    reader : callable or None, default=None
        Called with the path of each file; returns a batch, or batches.
    tagged : bool, default=False
        Whether every batch is a pair: sequences, and the tags of their tokens.
    overwrite : bool, default=False
        Whether a store that is already there is replaced, once the new one is complete. Whatever
        else is in its folder stays there.

    Returns
    -------
    CorpusStore

    Raises
    ------
    FileExistsError
        If the folder exists and is not to be replaced, or is no store.
    TypeError, ValueError
        If something is no sequence, or a token is neither a string nor an integer.
    OSError
        If the disk is full, or another process writes the same store.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn_cvb import write_store
    >>> folder = TemporaryDirectory()
    >>> store = write_store([[["the", "duck"], ["a", "duck"]], [["the"]]], folder.name + "/ducks")
    >>> len(store), store.n_tokens, store.vocabulary.tolist()
    (3, 5, ['a', 'duck', 'the'])
    >>> folder.cleanup()
    """
    symbols = None if vocabulary is None else _symbols_of(vocabulary)
    begin = partial(_SymbolWriter, vocabulary=symbols, with_tags=tagged or tag_column is not None)
    read = batches_of(batches, SourceFormat(column, tag_column, reader, tagged))
    return write_files(Path(folder), overwrite, begin, read)


def write_files(
    place: Path, overwrite: bool, begin: Callable[[Path], "Writer"], batches: Iterator[Any]
) -> Any:
    """Write all batches beside a place, by the writer that begins there, and open what is there."""
    _check_place(place, overwrite)
    with _folder_beside(place, overwrite) as aside:
        try:
            with closing(begin(aside)) as writer:
                for batch in batches:
                    writer.append(batch)
                writer.finish()
        except OSError as error:
            raise _error_with_advice(error, aside) from error
    return open_store(place)


def temporary_store(write: Callable[[Path], Any]) -> Any:
    """What is written into the folder for temporary files, which goes with what is returned."""
    folder = temporary_folder()
    try:
        store = write(folder / "store")
    except BaseException:
        remove_temporary(folder)
        raise
    weakref.finalize(store, remove_temporary, folder)
    return store


def _symbols_of(vocabulary: Collection[Any]) -> list[Any]:
    """The symbols of a vocabulary, each once; sorted where it has no order."""
    values = None if isinstance(vocabulary, Set | Mapping) else as_list(vocabulary)
    if values is None and not isinstance(vocabulary, Set | Mapping):
        raise TypeError(f"vocabulary is {short_repr(vocabulary)}: pass a list of symbols")
    symbols = sorted_types(vocabulary) if values is None else list(dict.fromkeys(values))
    for word in symbols:
        if not isinstance(word, str | int) or isinstance(word, bool):
            raise TypeError(f"vocabulary holds {word!r}: a store holds strings or integers")
    return symbols


class Writer(Protocol):
    """The files of a store that is being written."""

    def append(self, batch: Any) -> None:
        """Write some sequences."""

    def finish(self) -> None:
        """Write the header, once all batches are written."""

    def close(self) -> None:
        """Close all files, also those of a broken-off write."""


class _SymbolWriter:
    """The files of a store of symbols that is being written."""

    def __init__(self, folder: Path, vocabulary: list[Any] | None, with_tags: bool) -> None:
        self._folder, self._types, self._classes = folder, _CodeOfType(), _CodeOfType()
        self._n_given = None if vocabulary is None else len(vocabulary)
        for code, word in enumerate(vocabulary or []):
            self._types[word] = code
        names = [TOKENS, STARTS, *([TAGS] if with_tags else [])]
        self._files = {name: ChecksummedFile(folder / name) for name in names}
        self._files[STARTS].write(np.zeros(1, OFFSET))
        self._n_sequences = self._n_tokens = 0

    def append(self, batch: RawBatch) -> None:
        """Encode a batch and write it."""
        codes = self._encode(batch.tokens, batch.lengths, self._types, "token")
        if TAGS in self._files:
            tags = self._encode(batch.tags, batch.lengths, self._classes, "tag")
            self._files[TAGS].write(tags)
        self._files[TOKENS].write(codes)
        self._files[STARTS].write(self._n_tokens + np.cumsum(batch.lengths).astype(OFFSET))
        self._n_sequences += len(batch.lengths)
        self._n_tokens += len(codes)

    def _encode(
        self, values: Any, lengths: np.ndarray, types: _CodeOfType, kind: str
    ) -> np.ndarray:
        """Codes of tokens or tags; what is wrong is named by its place in the whole corpus."""
        is_list = isinstance(values, list)
        try:
            if is_list:
                return np.fromiter(map(types.__getitem__, values), CODE, len(values))
            return _codes_of_arrow(values, types)
        except _UnsupportedToken as error:
            (token,) = error.args
            where = "a column"
            if is_list:
                position = next((i for i, v in enumerate(values) if v is token), 0)
                starts = np.append(0, np.cumsum(lengths))
                sequence = int(np.searchsorted(starts, position, side="right")) - 1
                at = position - int(starts[sequence])
                where = f"sequence {self._n_sequences + sequence}, position {at}"
            raise TypeError(
                f"{kind} {short_repr(token)} ({where}) is a {type(token).__name__}: a store holds "
                "strings or integers; turn others into strings, as with str"
            ) from None
        except TypeError:
            raise unhashable_error(values, np.append(0, np.cumsum(lengths)), kind) from None

    def finish(self) -> None:
        """Put codes in the order of the vocabulary, and write the header."""
        if not self._n_sequences:
            raise ValueError("there is nothing to write: the batches hold no sequence")
        files = {name: file.close() for name, file in self._files.items()}
        words, n_words = list(self._types), self._n_given
        if n_words is None:
            n_words = len(words)
            words = self._sort_types(TOKENS, words, files)
        files[WORDS] = write_json(self._folder / WORDS, words)
        if TAGS in self._files:
            classes = self._sort_types(TAGS, list(self._classes), files)
            files[CLASSES] = write_json(self._folder / CLASSES, classes)
        header = Header(self._n_sequences, self._n_tokens, n_words, files)
        write_header(self._folder, header)

    def _sort_types(self, name: str, types: list[Any], files: dict[Any, Any]) -> list[Any]:
        """Sort types, and give the codes in a file their new order."""
        ordered = sorted_types(types)
        if ordered == types:
            return types
        new = {word: code for code, word in enumerate(ordered)}
        # The last entry is that of missing ones, whose code is -1.
        table = np.array([*map(new.__getitem__, types), -1], CODE)
        path = self._folder / name
        old = path.with_suffix(_UNSORTED)
        path.rename(old)
        file = ChecksummedFile(path)
        try:
            with open(old, "rb") as handle:
                while len(codes := np.fromfile(handle, CODE, _BLOCK)):
                    file.write(table[codes])
            files[name] = file.close()
        finally:
            file.abandon()
        old.unlink()
        return ordered

    def close(self) -> None:
        """Close all files, also those of a broken-off write."""
        for file in self._files.values():
            file.abandon()


def _codes_of_arrow(values: Any, types: _CodeOfType) -> np.ndarray:
    """Codes of the values of an Arrow array: only its distinct ones become Python objects."""
    found = values if hasattr(values, "dictionary") else values.dictionary_encode()
    table = np.fromiter(map(types.__getitem__, found.dictionary.to_pylist()), CODE)
    codes = found.indices.fill_null(len(table)).to_numpy(zero_copy_only=False)
    # Nulls take the last entry.
    return np.append(table, np.array([-1], CODE))[codes]


def _check_place(place: Path, overwrite: bool) -> None:
    """Raise FileExistsError where something is in the place that is not to be replaced."""
    if not os.path.lexists(place):
        return
    if not overwrite:
        raise FileExistsError(
            f"{str(place)!r} exists: open it with open_store, or write it anew with overwrite=True"
        )
    why = "is no folder"
    if place.is_dir() and not place.is_symlink():
        why = f"has no {HEADER} that can be read"
        with suppress(StoreError, OSError):
            files_of_store(place)
            return
    raise FileExistsError(
        f"overwrite=True replaces stores only, and {str(place)!r} {why}: choose another folder, or "
        "move or delete this one yourself"
    )


@contextmanager
def _folder_beside(place: Path, overwrite: bool) -> Iterator[Path]:
    """A new folder beside the place of a store, which takes that place at the end."""
    aside = place.with_name(place.name + UNFINISHED)
    aside.mkdir(parents=True, exist_ok=True)
    left = {path.name for path in aside.iterdir()}
    if left and (LOCK not in left or left - _MADE):
        raise FileExistsError(
            f"{str(aside)!r}, where the store is written first, holds what no write has left "
            f"({short_repr(sorted(left - _MADE or left))}): move it elsewhere, or choose another "
            "folder"
        )
    lock = _lock(aside)
    try:
        _delete(aside, _MADE - {LOCK})
        yield aside
        _check_place(place, overwrite)
        if place.exists():
            _move_into_place(place, aside)
        else:
            aside.rename(place)
        (place / LOCK).unlink()
    except BaseException:
        with suppress(OSError):
            _delete(aside, _MADE)
            aside.rmdir()
        raise
    finally:
        if lock is not None:
            os.close(lock)


def _move_into_place(place: Path, aside: Path) -> None:
    """Put a new store in the place of another; what else is in that one's folder moves over."""
    files = files_of_store(place)
    others = [path.name for path in place.iterdir() if path.name not in files or path.is_dir()]
    if both := [name for name in others if (aside / name).exists()]:
        raise FileExistsError(
            f"{str(place)!r} holds {short_repr(both)}, not of the store that is there, but a name "
            "of the new one's: move it elsewhere, or choose another folder"
        )
    # A new name, so that nobody's folder is in the way.
    folder_of_old = Path(tempfile.mkdtemp(prefix=place.name + REPLACED, dir=place.parent))
    old = folder_of_old / place.name
    try:
        place.rename(old)
        aside.rename(place)
    except BaseException:
        with suppress(OSError):
            if not place.exists():
                old.rename(place)
            folder_of_old.rmdir()
        raise
    _delete(old, files.difference(others))
    for name in others:
        (old / name).rename(place / name)
    old.rmdir()
    folder_of_old.rmdir()


def _delete(folder: Path, names: Set[str]) -> None:
    """Delete the files with these names, and nothing else."""
    for name in names:
        (folder / name).unlink(missing_ok=True)


def _lock(folder: Path) -> int | None:
    """Hold a lock on a folder until the process ends; None where the system has none."""
    (folder / LOCK).touch()
    try:
        import fcntl
    except ImportError:
        return None
    handle = os.open(folder / LOCK, os.O_RDWR)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise OSError(
            f"another process is writing {str(folder)!r}: wait for it, or choose another folder"
        ) from None
    return handle


def _error_with_advice(error: OSError, folder: Path) -> OSError:
    """The error of a broken-off write with what to do about it."""
    if error.filename is not None or error.errno is None:
        return error
    advice = (
        "a store takes 4 bytes a token (twice that for a moment) or 8 a number, and 8 a sequence; "
        "make room, or choose a folder on another disk"
    )
    return error_with_advice(error, folder, "while a store was written", advice)
