"""Where published corpora are found, checked and opened."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from zipfile import ZipFile

from sklearn.utils import Bunch

from sklearn_cvb.reading.validation import Folder

ENVIRONMENT_VARIABLE = "SKLEARN_CVB_DATA"
WHERE = (
    f"name the folder that has it by data_home, by the environment variable "
    f"{ENVIRONMENT_VARIABLE}, or by --data-home of python -m sklearn_cvb"
)
PUBLISHER = "https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora"
SHA256 = {
    "brown": "9b275f9b3b95d7bd66ccfb7cd259f445a13bbe5d1f4107aba09fd3e8364bafa6",
    "conll2000": "01e65164f268366e7caa0db92332a1955d081908c87016e2c7640c3c5279b7cd",
    "conll2007": "b1e2865b31cdbc016a437c29dc3e190042ef2e237b21ba2a69082b7dc1c007ca",
    "dependency_treebank": "0df483999f1391f32b141d6047d8ce19efd0a5a3e63ca019bfc4af8530f51fbd",
    "mac_morpho": "1c6138beba28b9c71edfd4b54991c5e1cf36a4d6b0ad8c66f8aa27c57b07547b",
    "treebank": "9da92d76c3666cfb6cddeaed0f7e86b344cce0f0928a286d439e555f19c37399",
}


def corpus_folder(data_home: Folder | None = None) -> Path:
    """Folder in which corpora are looked for, and into which they are downloaded.

    Parameters
    ----------
    data_home : str or path-like, default=None
        The folder. If None, the environment variable ``SKLEARN_CVB_DATA`` names it; where that is
        not set, it is ``sklearn_cvb`` inside scikit-learn's data home.

    Returns
    -------
    folder : pathlib.Path
        The folder, which need not exist.

    Examples
    --------
    >>> from sklearn_cvb.datasets.corpora import corpus_folder
    >>> corpus_folder("my_corpora").name
    'my_corpora'
    """
    named = data_home or os.environ.get(ENVIRONMENT_VARIABLE)
    if named:
        return Path(named).expanduser()
    from sklearn.datasets import get_data_home

    return Path(get_data_home()) / "sklearn_cvb"


def find_corpus(
    name: str, *, data_home: Folder | None = None, download_if_missing: bool = True
) -> Path:
    """Path of a corpus archive whose checksum is the published one.

    Parameters
    ----------
    name : {"brown", "conll2000", "conll2007", "dependency_treebank", "mac_morpho", "treebank"}
        Name of the archive, without ``.zip``.
    data_home : str or path-like, default=None
        See :func:`corpus_folder`. ``nltk/<name>.zip`` is looked for first, then ``<name>.zip``.
    download_if_missing : bool, default=True
        Download the archive from its publisher into ``nltk/`` where it is not found.

    Returns
    -------
    path : pathlib.Path
        The archive.

    Raises
    ------
    OSError
        If the archive is missing and may not be downloaded, or its checksum is wrong.

    Examples
    --------
    >>> from sklearn_cvb.datasets.corpora import find_corpus
    >>> find_corpus("brown", data_home="nowhere", download_if_missing=False)
    Traceback (most recent call last):
        ...
    OSError: brown.zip not found in nowhere...
    """
    folder = corpus_folder(data_home)
    for path in (folder / "nltk" / f"{name}.zip", folder / f"{name}.zip"):
        if path.is_file():
            return _checked(path, SHA256[name])
    if not download_if_missing:
        raise OSError(
            f"{name}.zip not found in {folder / 'nltk'} or {folder}: {WHERE}; or allow the "
            "download with download_if_missing=True"
        )
    wanted = folder / "nltk" / f"{name}.zip"
    return download(wanted.name, wanted.parent, wanted, SHA256[name])


@contextmanager
def nltk_root(path: Path, entry: str) -> Iterator[Any]:
    """Open an archive for NLTK's corpus readers.

    Parameters
    ----------
    path : path-like
        A zip archive.
    entry : str
        Folder inside the archive, ending in ``/``.

    Yields
    ------
    root : nltk.data.ZipFilePathPointer
        What a reader takes as its root, valid until the context ends.

    Examples
    --------
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


def tagged_bunch(sentences: list[list[tuple[str, str]]], description: str, return_X_y: bool) -> Any:
    """Pack tagged sentences the way the ``fetch_*`` functions return them.

    Parameters
    ----------
    sentences : iterable of sequences of (word, tag)
        The corpus.
    description : str
        The text for ``DESCR``.
    return_X_y : bool
        Whether to return ``(data, target)`` in place of the Bunch.

    Returns
    -------
    bunch : sklearn.utils.Bunch or tuple
        ``data`` and ``target`` hold one list of words and one list of tags per sentence.

    Examples
    --------
    >>> from sklearn_cvb.datasets.corpora import tagged_bunch
    >>> tagged_bunch([[("we", "PRP"), ("ran", "VBD")]], "two words", return_X_y=True)
    ([['we', 'ran']], [['PRP', 'VBD']])
    """
    data, target = [], []
    for sentence in sentences:
        data.append([word for word, _ in sentence])
        target.append([tag for _, tag in sentence])
    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, DESCR=description)


def _checked(path: Path, expected: str) -> Path:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != expected:
        raise OSError(
            f"{path} is not the published archive: its SHA-256 is {found}, expected {expected}; "
            "delete it and fetch the corpus again"
        )
    return path


def download(archive: str, into: Path, wanted: Path, sha256: str | None = None) -> Path:
    """Download an archive from the publisher.

    Parameters
    ----------
    archive : str
        Its name, with ``.zip``.
    into : pathlib.Path
        A folder, made where it is missing.
    wanted : pathlib.Path
        The file that need not be downloaded next time: who has no network is told to put it there.
    sha256 : str, default=None
        The checksum; None for any.

    Returns
    -------
    path : pathlib.Path

    Raises
    ------
    OSError
        If it cannot be downloaded, or is another one.
    """
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
