"""Checkpoint files: arrays and metadata in one file, written aside and renamed, so never torn.

The file is a zip of ``.npy`` members and one ``facts.json``; `numpy.load` reads it, too. Nothing in
it is pickled. Each member has its CRC-32, which is compared before anything else reads it.
"""

import errno
import json
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_cvb import version

FORMAT = 2
_FACTS = "facts.json"
_ARRAY = ".npy"
# What numpy and zipfile raise on bytes that are none of theirs.
_MEANINGLESS = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError),
    *(ValueError, KeyError, TypeError, AttributeError, OverflowError, IndexError),
)


def save(
    folder: str | os.PathLike[str],
    arrays: Mapping[str, np.ndarray],
    metadata: Mapping[str, Any],
    name: str = "checkpoint",
) -> None:
    """Save arrays and metadata in place of what was saved there before.

    Whatever happens on the way, ``kill -9`` and power cuts included, `load` finds either what was
    saved before or what is saved now.

    Parameters
    ----------
    folder : path
        Made if it is missing.
    arrays : dict of ndarray
        No arrays of objects.
    metadata : dict
        What `json` can write; floats come back to the last bit.
    name : str, default="checkpoint"
        File in the folder, without its ending.

    Raises
    ------
    OSError
        If the disk is full or the folder cannot be written; what was saved before is whole.
    """
    path = path_of(folder, name)
    with errors_with_path(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(path.name + ".part")
        try:
            with open(aside, "wb") as file:
                _write(file, arrays, metadata)
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, path)
        except BaseException:
            with suppress(OSError):
                aside.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)


def load(
    folder: str | os.PathLike[str], name: str = "checkpoint"
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What `save` saved last.

    Parameters
    ----------
    folder : path
    name : str, default="checkpoint"

    Returns
    -------
    arrays : dict of ndarray
    metadata : dict

    Raises
    ------
    FileNotFoundError
        If nothing was saved there.
    ValueError
        If the file is truncated or corrupt, or of another version of the library or the format.
    """
    path = path_of(folder, name)
    try:
        with open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            if any(each.compress_type != zipfile.ZIP_STORED for each in archive.infolist()):
                raise ValueError("it is compressed, which none of these files is")
            if (broken := archive.testzip()) is not None:
                raise ValueError(f"the checksum of {broken} is not that of what was written")
            header = json.loads(archive.read(_FACTS))
            _check_version(path, header)
            names = header["arrays"]
            if sorted([_FACTS, *(each + _ARRAY for each in names)]) != sorted(archive.namelist()):
                raise ValueError("it lacks some arrays")
            return {each: _read(archive, each) for each in names}, header["facts"]
    except _OtherVersion as error:
        raise ValueError(str(error)) from None
    except (*_MEANINGLESS, OSError) as error:
        # An offset that no file has; what else a disk reports is its own matter.
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise
        raise ValueError(
            f"checkpoint {path} is truncated or corrupt ({error}): delete it to fit from the "
            "beginning, or put back a copy"
        ) from None


def path_of(folder: str | os.PathLike[str], name: str = "checkpoint") -> Path:
    """The file that `save` writes."""
    return Path(folder) / f"{name}.npz"


class _OtherVersion(Exception):
    """A file that another version wrote."""


def _check_version(path: Path, header: Any) -> None:
    ours = {"format": FORMAT, "library": version.__version__}
    for what, expected in ours.items():
        if header[what] != expected:
            raise _OtherVersion(
                f"checkpoint {path} was written by another version: {what} {header[what]}, this is "
                f"{expected}; go on with that version, or delete the file to fit from the beginning"
            )


def _write(file: Any, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, Any]) -> None:
    header = {
        "format": FORMAT,
        "library": version.__version__,
        "facts": dict(metadata),
        "arrays": list(arrays),
    }
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_FACTS, json.dumps(header))
        for name, array in arrays.items():
            # The size is not known beforehand, and may be above 2 GB.
            with archive.open(name + _ARRAY, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def _read(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(name + _ARRAY) as member:
        npy = np.lib.format
        is_first = npy.read_magic(member) == (1, 0)
        read = npy.read_array_header_1_0 if is_first else npy.read_array_header_2_0
        shape, _, dtype = read(member)
        # Before so much memory is asked for.
        size = member.tell() + math.prod(shape) * dtype.itemsize
        if size != archive.getinfo(name + _ARRAY).file_size:
            raise ValueError(f"array {name!r} has not the size that its shape says")
        member.seek(0)
        return npy.read_array(member, allow_pickle=False)


def _sync_folder(folder: Path) -> None:
    """Bring the new name to the disk; Windows does so by itself, and opens no folders."""
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


@contextmanager
def errors_with_path(path: Path) -> Iterator[None]:
    """Errors of the disk that name the file and say what stays."""
    try:
        yield
    except OSError as error:
        raise OSError(
            error.errno,
            f"checkpoint {path} could not be saved: {error.strerror or error}; what was saved "
            "there before is whole",
        ) from error
