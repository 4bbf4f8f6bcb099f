"""The Brown corpus: a million words of American English of 1961, with hand-made tags."""

import re
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from sklearn_cvb.datasets.corpora import find_corpus, tagged_bunch
from sklearn_cvb.reading.validation import Folder

_TEXT = re.compile(r"brown/c[a-r]\d\d")

DESCRIPTION = """Brown corpus, tagged.

57,340 sentences (1,161,192 tokens) in 500 texts of 15 genres, with the 472 tags of the corpus
as distributed with NLTK (compound tags such as NP-TL or PPSS+BEM kept whole). Words keep their
case. Redistribution permitted."""


def fetch_brown(
    *, data_home: Folder | None = None, download_if_missing: bool = True, return_X_y: bool = False
) -> Any:
    """Load the tagged sentences of the Brown corpus.

    Texts come in the order of their names, ca01 to cr09. Tags are those of the corpus in capitals,
    compound tags kept whole; words keep their case.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder of the corpora. If None: the environment variable ``SKLEARN_CVB_DATA``, else
        ``sklearn_cvb`` inside scikit-learn's data home.
    download_if_missing : bool, default=True
        Download the archive (3.3 MB) where it is not found.
    return_X_y : bool, default=False
        Return ``(data, target)`` in place of a Bunch.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (list of 57,340 lists of words), ``target`` (their tags) and ``DESCR``.

    Raises
    ------
    OSError
        If the archive is missing and may not be downloaded, or its checksum is wrong.

    Examples
    --------
    >>> from sklearn_cvb.datasets import fetch_brown
    >>> X, y = fetch_brown(return_X_y=True)  # doctest: +SKIP
    >>> X[0][:3], y[0][:3]  # doctest: +SKIP
    (['The', 'Fulton', 'County'], ['AT', 'NP-TL', 'NN-TL'])
    """
    path = find_corpus("brown", data_home=data_home, download_if_missing=download_if_missing)
    return tagged_bunch(_sentences(path), DESCRIPTION, return_X_y)


def _sentences(path: Path) -> list[list[tuple[str, str]]]:
    """One sentence a line; NLTK's reader, made for parts of a corpus, takes four times as long."""
    with ZipFile(path) as archive:
        names = sorted(name for name in archive.namelist() if _TEXT.fullmatch(name))
        lines = [line for name in names for line in archive.read(name).decode("ascii").split("\n")]
    rows = ([token.rpartition("/") for token in line.split()] for line in lines)
    return [[(word, tag.upper()) for word, _, tag in row] for row in rows if row]
