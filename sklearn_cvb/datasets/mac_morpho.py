"""Mac-Morpho: a million words of Brazilian newspaper text, with hand-made tags."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from sklearn_cvb.datasets.corpora import find_corpus, tagged_bunch
from sklearn_cvb.reading.validation import Folder

DESCRIPTION = """Mac-Morpho, tagged.

53,374 sentences (1,221,464 tokens) of the Brazilian newspaper Folha de S.Paulo, 1994, with the 83
tags of the corpus as distributed with NLTK (N|EST, PREP|+ and the like kept whole). Words keep
their case. For research use; by courtesy of NILC, University of São Paulo at São Carlos."""


def fetch_mac_morpho(
    *, data_home: Folder | None = None, download_if_missing: bool = True, return_X_y: bool = False
) -> Any:
    """Load the tagged sentences of Mac-Morpho, a corpus of Brazilian Portuguese.

    Texts come in the order of their names, ag94ab12 to mu94se01. A sentence ends with a full stop,
    question mark or exclamation mark that is a token, or with its text: headlines belong to what
    follows them. Words keep their case, and contractions stand in their parts, as in the corpus;
    two tokens without a word are left out.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder of the corpora. If None: the environment variable ``SKLEARN_CVB_DATA``, else
        ``sklearn_cvb`` inside scikit-learn's data home.
    download_if_missing : bool, default=True
        Download the archive (3.0 MB) where it is not found.
    return_X_y : bool, default=False
        Return ``(data, target)`` in place of a Bunch.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (list of 53,374 lists of words), ``target`` (their tags) and ``DESCR``.

    Raises
    ------
    OSError
        If the archive is missing and may not be downloaded, or its checksum is wrong.

    Examples
    --------
    >>> from sklearn_cvb.datasets import fetch_mac_morpho
    >>> X, y = fetch_mac_morpho(return_X_y=True)  # doctest: +SKIP
    >>> X[0][:3], y[0][:3]  # doctest: +SKIP
    (['Jersei', 'atinge', 'média'], ['N', 'V', 'N'])
    """
    path = find_corpus("mac_morpho", data_home=data_home, download_if_missing=download_if_missing)
    return tagged_bunch(list(_sentences(path)), DESCRIPTION, return_X_y)


def _sentences(path: Path) -> Iterator[list[tuple[str, str]]]:
    with ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(".txt"):
                yield from _cut(archive.read(name).decode("iso-8859-1"))


def _cut(text: str) -> Iterator[list[tuple[str, str]]]:
    """The sentences of one text, which has a token a line."""
    sentence: list[tuple[str, str]] = []
    for line in text.split("\n"):
        word, _, tag = line.strip().rpartition("_")
        if word:
            sentence.append((word, tag))
        if sentence and tag in {".", "?", "!"}:
            yield sentence
            sentence = []
    if sentence:
        yield sentence
