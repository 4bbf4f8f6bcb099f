"""The files of a store: their names, header and checksums.

A folder holds ``tokens.int32`` and ``starts.int64``, ``vocabulary.json`` and, where tokens have
tags, ``tags.int32`` and ``classes.json``. Of numbers it holds ``numbers.float64`` (or
``numbers.float32``), ``starts.int64`` and ``columns.json``. ``store.json`` tells sizes and
checksums of all of these and is written last. All numbers are little-endian.
"""

import glob
import json
import os
import shutil
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

FORMAT, VERSION = "sklearn_cvb store", 1
HEADER, TOKENS, STARTS, WORDS = "store.json", "tokens.int32", "starts.int64", "vocabulary.json"
TAGS, CLASSES = "tags.int32", "classes.json"
# Of numbers, by their type.
NUMBERS, COLUMNS = {"float64": "numbers.float64", "float32": "numbers.float32"}, "columns.json"
# Held by the process that writes, and gone when it is done.
LOCK = "writing.lock"
# Names of folders beside the place of a store: of one that is written, and, in the second, of the
# one that it replaces for as long as that takes.
UNFINISHED, REPLACED = ".unfinished", ".replaced-"
FILES = frozenset({HEADER, TOKENS, STARTS, WORDS, TAGS, CLASSES, LOCK, COLUMNS, *NUMBERS.values()})
CODE, OFFSET = np.dtype("<i4"), np.dtype("<i8")

# Files are read for their checksum so many bytes at a time.
_BLOCK = 1 << 18


class StoreError(ValueError):
    """A folder is no store, or not a whole one, or one of another version."""


class Header(NamedTuple):
    """The contents of ``store.json``: sizes, and bytes and checksum of each file."""

    n_sequences: int
    n_tokens: int
    n_words: int  # in the vocabulary; types beyond it are unknown words
    files: dict[str, dict[str, int]]  # bytes and CRC-32 of each


class ChecksummedFile:
    """A file that is written from start to end, with its checksum."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._handle = open(path, "wb", buffering=0)  # noqa: SIM115
        self._bytes, self._sum = 0, 0

    def write(self, data: bytes | np.ndarray) -> None:
        """Append bytes, or an array in its own order."""
        view = data.data if isinstance(data, np.ndarray) else memoryview(data)
        view = view.cast("B") if len(data) else memoryview(b"")
        self._sum = zlib.crc32(view, self._sum)
        self._bytes += len(view)
        while len(view):
            view = view[self._handle.write(view) :]

    def close(self) -> dict[str, int]:
        """Size and checksum, once the file lies on the disk."""
        os.fsync(self._handle.fileno())
        self._handle.close()
        return {"bytes": self._bytes, "crc32": self._sum}

    def abandon(self) -> None:
        """Close the file of a broken-off write."""
        self._handle.close()


def write_json(path: Path, value: Any) -> dict[str, int]:
    """Write a value as JSON; returns size and checksum."""
    file = ChecksummedFile(path)
    try:
        file.write(json.dumps(value).encode("ascii"))
        return file.close()
    finally:
        file.abandon()


def write_header(folder: Path, header: Header) -> None:
    """Write ``store.json``: from now on the folder is a store."""
    content = {"format": FORMAT, "version": VERSION, **header._asdict()}
    write_json(folder / HEADER, {**content, "crc32": _checksum_of(content)})


def read_header(folder: Path) -> Header:
    """Read ``store.json`` and compare it with the sizes of the files.

    Raises FileNotFoundError if there is no such folder, StoreError if it holds no store, a broken
    one, or one of another version.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no store {str(folder)!r}: {_advice_if_missing(folder)}")
    content = _read_content(folder)
    if content.get("version") != VERSION:
        raise StoreError(
            f"the store {str(folder)!r} has version {content.get('version')!r}, and this "
            f"sklearn_cvb reads version {VERSION}: write the store again with write_store"
        )
    if content.pop("crc32", None) != _checksum_of(content):
        raise damage_error(folder / HEADER, "it was changed after it had been written")
    header = Header(**{name: content[name] for name in Header._fields})
    for name, facts in header.files.items():
        path, expected = folder / name, facts["bytes"]
        if not path.exists():
            raise damage_error(path, "it is missing")
        if (found := path.stat().st_size) != expected:
            raise damage_error(path, f"it has {found:,} bytes and should have {expected:,}")
    return header


def _advice_if_missing(folder: Path) -> str:
    """Advice where a store is missing, such as after a write that was killed as it replaced one."""
    name = glob.escape(folder.name)
    before = sorted(folder.parent.glob(f"{name}{REPLACED}*/{name}"))
    after = folder.with_name(folder.name + UNFINISHED)
    if not before:
        return "write it with write_store"
    also = f", the new one, whole, is {str(after)!r}" if (after / HEADER).exists() else ""
    return (
        f"a write that was to replace it was killed; the store of before is {str(before[0])!r}"
        f"{also}: move one of them to this place"
    )


def files_of_store(folder: Path) -> frozenset[str]:
    """Names of the files of the store in a folder, also of a damaged one or another version."""
    return FILES & {HEADER, LOCK, *_read_content(folder)["files"]}


def _read_content(folder: Path) -> dict[str, Any]:
    """The contents of ``store.json``, of whatever version."""
    try:
        content = json.loads((folder / HEADER).read_bytes())
    except FileNotFoundError:
        raise StoreError(
            f"{str(folder)!r} is no store: it has no {HEADER}, which write_store writes last"
        ) from None
    except ValueError:
        raise damage_error(folder / HEADER, "it is no JSON") from None
    is_ours = isinstance(content, dict) and content.get("format") == FORMAT
    if not is_ours or not isinstance(content.get("files"), dict):
        raise StoreError(f"{str(folder / HEADER)!r} is not of a store: write it with write_store")
    return content


def _checksum_of(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode("ascii"))


def damage_error(path: Path, why: str) -> StoreError:
    """The error that names a broken file, and says what to do."""
    return StoreError(
        f"{str(path)!r} is damaged: {why}; write the store again with write_store, or copy it anew"
    )


def read_json(folder: Path, name: str, header: Header) -> Any:
    """The value of a JSON file, whose checksum is compared."""
    verify_checksum(folder, name, header)
    return json.loads((folder / name).read_bytes())


def verify_checksum(folder: Path, name: str, header: Header) -> None:
    """Raise StoreError where a file is not what was written."""
    found = 0
    with open(folder / name, "rb") as handle:
        while block := handle.read(_BLOCK):
            found = zlib.crc32(block, found)
    if found != header.files[name]["crc32"]:
        raise damage_error(folder / name, "its checksum is not that of what was written")


def error_with_advice(error: OSError, folder: Path, when: str, advice: str) -> OSError:
    """An error of writing with the free space, and what to do about it."""
    free = shutil.disk_usage(folder).free
    message = f"{error.strerror} {when} ({free:,} bytes are free): {advice}"
    return OSError(error.errno, message, str(folder))
