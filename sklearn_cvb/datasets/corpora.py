"""Where published corpora are found, checked and opened."""

import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.error import URLError
from zipfile import ZipFile

from sklearn_cvb.reading.validation import Folder

ENVIRONMENT_VARIABLE = "SKLEARN_CVB_DATA"
WHERE = (
    f"name the folder that has it by data_home, by the environment variable "
    f"{ENVIRONMENT_VARIABLE}, or by --data-home of python -m sklearn_cvb"
)
OR_DOWNLOAD = f"{WHERE}; or allow the download with download_if_missing=True"
PUBLISHER = "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora"


@cache
def sections(file: str) -> dict[str, str]:
    """The texts of a file of this folder by their headings, which stand in square brackets."""
    text = (resources.files("sklearn_cvb.datasets") / file).read_text("utf-8")
    _, *parts = re.split(r"^\[(.+)\]\n", text, flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def description_of(corpus: str) -> str:
    """What a corpus is, where it comes from, and what may be done with it."""
    return sections("descriptions.txt")[corpus].strip()


def checksum_of(name: str) -> str:
    """SHA-256 of a published file; ``checksums.txt`` has them as ``sha256sum`` writes them."""
    text = (resources.files("sklearn_cvb.datasets") / "checksums.txt").read_text("utf-8")
    return next(line.split()[0] for line in text.splitlines() if line.split()[1] == name)


def corpus_folder(data_home: Folder | None = None) -> Path:
    """Folder in which corpora are looked for and into which they are downloaded; it may not exist.

    It is the one given, or what the environment variable names, or in scikit-learn's data home.
    """
    named = data_home or os.environ.get(ENVIRONMENT_VARIABLE)
    if named:
        return Path(named).expanduser()
    from sklearn.datasets import get_data_home

    return Path(get_data_home()) / "sklearn_cvb"


def find_corpus(
    name: str, *, data_home: Folder | None = None, download_if_missing: bool = True
) -> Path:
    """Path of an archive with the published checksum, downloaded into ``nltk/`` where missing.

    >>> from sklearn_cvb.datasets.corpora import find_corpus
    >>> find_corpus("brown", data_home="nowhere", download_if_missing=False)
    Traceback (most recent call last):
        ...
    OSError: brown.zip not found in nowhere...
    """
    folder = corpus_folder(data_home)
    places = folder / "nltk" / f"{name}.zip", folder / f"{name}.zip"
    sha256 = checksum_of(f"{name}.zip")
    for path in places:
        if path.is_file():
            check_content(path, path.read_bytes(), sha256, "archive", "corpus")
            return path
    if not download_if_missing:
        raise not_found(places, OR_DOWNLOAD)
    return download(places[0].name, places[0].parent, places[0], sha256)


def find_file(places: Sequence[Path], name: str) -> Path:
    """The first of these files that exists, if it is the published one; nothing is downloaded.

    `name` is what ``checksums.txt`` calls it.
    """
    for path in places:
        if path.is_file():
            if hashlib.sha256(path.read_bytes()).hexdigest() != checksum_of(name):
                raise OSError(f"{path} is not the published file: its SHA-256 differs")
            return path
    raise not_found(places, WHERE, ", and it cannot be downloaded")


def not_found(places: Sequence[Path], what_to_do: str, note: str = "") -> OSError:
    """The error of a file that is in none of these places."""
    folders = " or ".join(str(path.parent) for path in places)
    return OSError(f"{places[0].name} not found in {folders}{note}: {what_to_do}")


def check_content(path: Path, content: bytes, sha256: str, kind: str, whole: str) -> None:
    """Refuse content that is not the published one; `kind` and `whole` are the message's words."""
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise OSError(
            f"{path} is not the published {kind}: its SHA-256 is {found}, expected {sha256}; "
            f"delete it and fetch the {whole} again"
        )


def download(archive: str, into: Path, wanted: Path, sha256: str | None = None) -> Path:
    """Path of an archive, fetched from the publisher; `wanted` is what the message asks for."""
    from sklearn.datasets import fetch_file

    url = f"{PUBLISHER}/{archive}"
    try:
        wanted.parent.mkdir(parents=True, exist_ok=True)
        return Path(fetch_file(url, folder=into, local_filename=archive, sha256=sha256))
    except (URLError, TimeoutError, ConnectionError, PermissionError) as error:
        raise OSError(
            f"cannot download {url} ({error}): put {wanted.name} into {wanted.parent} by hand, or "
            f"{WHERE}"
        ) from error


@contextmanager
def nltk_root(path: Path, entry: str) -> Iterator[Any]:
    """A folder of an archive (``entry`` ends in ``/``) as the root of NLTK's corpus readers.

    >>> import pathlib, tempfile, zipfile
    >>> from sklearn_cvb.datasets.corpora import nltk_root
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tiny.zip")
    ...     with zipfile.ZipFile(path, "w") as archive:
    ...         archive.writestr("tiny/a.txt", "we/PRP ran/VBD")
    ...     with nltk_root(path, "tiny/") as root:
    ...         root.join("a.txt").open("ascii").read()
    'we/PRP ran/VBD'
    """
    import nltk.data

    # NLTK refuses to read outside the folders on its search path.
    folder = str(Path(path).resolve().parent)
    nltk.data.path.append(folder)
    try:
        with ZipFile(Path(path).resolve()) as archive:
            yield nltk.data.ZipFilePathPointer(archive, entry)
    finally:
        nltk.data.path.remove(folder)
