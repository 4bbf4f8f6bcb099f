"""Temporary files of running fits: arrays of named tuples, written once and memory-mapped.

The file has no name once it is open, where the system allows that, so that it is gone with the
process, however that ends.
"""

import errno
import mmap
import os
import shutil
import signal
import tempfile
import threading
import weakref
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from sklearn_cvb.store.files import error_with_advice

# Where arrays begin: on lines of the cache.
_LINE = 64
_NOT_PICKLED = (
    "the state of a fit on a store lies in a temporary file and cannot be pickled: fit with "
    "warm_start=False"
)


# Temporary folders, and the process that made each: a child has them, too, and leaves them alone.
_FOLDERS: dict[Path, int] = {}


def temporary_folder() -> Path:
    """A new folder among the temporary files, which is removed if the process is terminated.

    A process that is told to end by SIGTERM ends at once, where nothing else listens: here it first
    removes its folders.
    """
    folder = Path(tempfile.mkdtemp(prefix="sklearn_cvb-"))
    _FOLDERS[folder] = os.getpid()
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _on_sigterm)
    return folder


def remove_temporary(folder: Path) -> None:
    """Remove a folder that `temporary_folder` has made."""
    if _FOLDERS.pop(folder, None) == os.getpid():
        shutil.rmtree(folder, ignore_errors=True)


def _on_sigterm(number: int, _frame: Any) -> None:
    """Remove the temporary folders of this process, and let SIGTERM end it."""
    for folder in list(_FOLDERS):
        remove_temporary(folder)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


class _ArraySlot(NamedTuple):
    """The placeholder of an array in the file, which begins at the byte `offset` of its part."""

    kind: np.dtype
    shape: tuple[int, ...]
    offset: int


class ScratchValue:
    """A value whose arrays lie in a scratch file, in a span from one byte, of so many bytes.

    The template is the value with a `_ArraySlot` for each array.
    """

    def __init__(self, scratch: "Scratch", template: Any, span: tuple[int, int]) -> None:
        self._scratch, self._template, self._span = scratch, template, span

    def load(self) -> Any:
        """The value, its arrays memory-mapped: what is written to them is kept, too.

        The pages leave the process with the last of the arrays.
        """
        begin, length = self._span
        lead = begin % mmap.ALLOCATIONGRANULARITY
        data = mmap.mmap(self._scratch.handle.fileno(), lead + length, offset=begin - lead)
        return _with_arrays(self._template, data, lead)

    def __reduce__(self) -> Any:
        raise TypeError(_NOT_PICKLED)


class ScratchTable:
    """A table in a scratch file: stretches of its rows are read, as copies, and written."""

    def __init__(self, scratch: "Scratch", begin: int, shape: tuple[int, ...]) -> None:
        self._scratch, self._begin = scratch, begin
        self.shape: tuple[int, ...] = shape
        self._size = int(np.prod(shape[1:], dtype=np.int64))

    def __getitem__(self, rows: slice) -> np.ndarray:
        first, last, _ = rows.indices(self.shape[0])
        found = np.empty((last - first, *self.shape[1:]))
        self._scratch.read(found, self._begin + 8 * first * self._size)
        return found

    def __setitem__(self, rows: slice, values: np.ndarray) -> None:
        first, _, _ = rows.indices(self.shape[0])
        self._scratch.write(values, self._begin + 8 * first * self._size)

    def __reduce__(self) -> Any:
        raise TypeError(_NOT_PICKLED)


def check_scratch(folder: Path) -> None:
    """Raise FileNotFoundError where there is no folder for temporary files."""
    if not folder.is_dir():
        raise FileNotFoundError(
            f"scratch={str(folder)!r} is no folder: make it, or name another with "
            "open_store(..., scratch=...)"
        )


class Scratch:
    """A temporary file for arrays, in a folder."""

    def __init__(self, folder: Path) -> None:
        check_scratch(folder)
        self._folder = folder
        try:
            file = tempfile.TemporaryFile(dir=folder, prefix="fit-", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise self._with_advice(error) from error
        self.handle: IO[bytes] = file
        weakref.finalize(self, self.handle.close)
        self._end = 0
        self._lock = threading.Lock()

    def write_value(self, value: Any, whole: tuple[type, ...] = ()) -> ScratchValue:
        """Write the arrays of a value: of tuples, and of lists of these, also in one another.

        Values of the types in `whole` stay in memory, and so does all else. Raises OSError if the
        disk is full.
        """
        arrays: dict[int, tuple[_ArraySlot, np.ndarray]] = {}
        template = _with_slots(value, whole, arrays)
        # One line more, in which the last byte is written: the file is then as long as it says.
        length = _end_of(arrays) + _LINE
        begin = self._allocate(length)
        for slot, array in arrays.values():
            self.write(array, begin + slot.offset)
        self.write(np.zeros(1, np.uint8), begin + length - 1)
        return ScratchValue(self, template, (begin, length))

    def rows(self, shape: tuple[int, ...]) -> ScratchTable:
        """A table of float64 whose rows are read and written; OSError if the disk is full."""
        return ScratchTable(self, self._allocate(8 * int(np.prod(shape, dtype=np.int64))), shape)

    def _allocate(self, length: int) -> int:
        """So many bytes at the end; returns where they begin."""
        with self._lock:
            begin, self._end = self._end, self._end + length
        try:
            # Pages that the disk has no room for would end the process when they are written.
            if hasattr(os, "posix_fallocate") and length:
                os.posix_fallocate(self.handle.fileno(), begin, length)
        except OSError as error:
            raise self._with_advice(error) from error
        return begin

    def write(self, array: np.ndarray, place: int) -> None:
        """Write an array from a byte on; OSError if the disk is full."""
        try:
            self._write(array, place)
        except OSError as error:
            raise self._with_advice(error) from error

    def _write(self, array: np.ndarray, place: int) -> None:
        view = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        with self._lock:
            self.handle.seek(place)
            while len(view):
                view = view[self.handle.write(view) :]

    def read(self, array: np.ndarray, place: int) -> None:
        """Fill an array from a byte on."""
        view = array.reshape(-1).view(np.uint8).data
        with self._lock:
            self.handle.seek(place)
            while len(view):
                # A `Scratch` is not buffered: it is read where it was written.
                n_read = self.handle.readinto(view)  # type: ignore[attr-defined]
                if not n_read:
                    raise OSError("a temporary file ends before what was written there")
                view = view[n_read:]

    def _with_advice(self, error: OSError) -> OSError:
        if error.errno is None or not self._folder.is_dir():
            return error
        what = "make room" if error.errno == errno.ENOSPC else "make the folder writable"
        advice = f"{what}, or name a folder on another disk with open_store(..., scratch=...)"
        return error_with_advice(
            error, self._folder, "for what a fit keeps beside its store", advice
        )


def _with_slots(
    value: Any, whole: tuple[type, ...], arrays: dict[int, tuple[_ArraySlot, np.ndarray]]
) -> Any:
    """A value with slots in the place of arrays, each of which is added once."""
    if isinstance(value, whole):
        return value
    if isinstance(value, np.ndarray):
        if id(value) not in arrays:
            arrays[id(value)] = _ArraySlot(value.dtype, value.shape, _end_of(arrays)), value
        return arrays[id(value)][0]
    is_list = isinstance(value, list) and value and isinstance(value[0], tuple | np.ndarray)
    if isinstance(value, tuple) or is_list:
        return _with_same_type(value, [_with_slots(part, whole, arrays) for part in value])
    return value


def _end_of(arrays: dict[int, tuple[_ArraySlot, np.ndarray]]) -> int:
    """Where another array would begin, behind an empty line and the last of these."""
    if not arrays:
        return _LINE
    slot, array = arrays[next(reversed(arrays))]
    return slot.offset + -(-max(1, array.nbytes) // _LINE) * _LINE


def _with_arrays(template: Any, data: mmap.mmap, lead: int) -> Any:
    """A template with arrays in the place of its slots."""
    if isinstance(template, _ArraySlot):
        size = int(np.prod(template.shape, dtype=np.int64))
        if not size:
            return np.empty(template.shape, template.kind)
        flat = np.frombuffer(data, template.kind, size, lead + template.offset)
        return flat.reshape(template.shape)
    is_list = isinstance(template, list) and template and isinstance(template[0], tuple)
    if isinstance(template, tuple) or is_list:
        return _with_same_type(template, [_with_arrays(part, data, lead) for part in template])
    return template


def _with_same_type(value: Any, parts: list[Any]) -> Any:
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
