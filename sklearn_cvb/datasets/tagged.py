"""Corpora with a tag for every word."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from sklearn_cvb.datasets.corpora import description_of, find_corpus, nltk_root
from sklearn_cvb.reading.validation import Folder
from sklearn_cvb.scikit_learn import Bunch

Sentence = list[tuple[str, str]]  # words with their tags

_BROWN_TEXT = re.compile(r"brown/c[a-r]\d\d")
_BRACKET_TAGS = {"(": "-LRB-", ")": "-RRB-"}


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
    return _load("brown", data_home, download_if_missing, return_X_y)


def fetch_conll2000(
    *, data_home: Folder | None = None, download_if_missing: bool = True, return_X_y: bool = False
) -> Any:
    """Load the tagged sentences of the CoNLL-2000 shared task.

    The 8,936 training sentences come first, then the 2,012 test sentences. The tags were assigned
    by a tagger, not by hand. Bracket tags read ``-LRB-`` and ``-RRB-``, words keep their case.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder of the corpora. If None: the environment variable ``SKLEARN_CVB_DATA``, else
        ``sklearn_cvb`` inside scikit-learn's data home.
    download_if_missing : bool, default=True
        Download the archive (0.8 MB) where it is not found.
    return_X_y : bool, default=False
        Return ``(data, target)`` in place of a Bunch.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (list of 10,948 lists of words), ``target`` (their tags) and ``DESCR``.

    Raises
    ------
    OSError
        If the archive is missing and may not be downloaded, or its checksum is wrong.

    Examples
    --------
    >>> from sklearn_cvb.datasets import fetch_conll2000
    >>> X, y = fetch_conll2000(return_X_y=True)  # doctest: +SKIP
    >>> X[0][:3], y[0][:3]  # doctest: +SKIP
    (['Confidence', 'in', 'the'], ['NN', 'IN', 'DT'])
    """
    return _load("conll2000", data_home, download_if_missing, return_X_y)


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
    return _load("mac_morpho", data_home, download_if_missing, return_X_y)


def fetch_treebank_tagged(
    *, data_home: Folder | None = None, download_if_missing: bool = True, return_X_y: bool = False
) -> Any:
    """Load the tagged sentences of the Penn Treebank sample.

    Files come in the order of their names. Traces are dropped, words keep their case.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder of the corpora. If None: the environment variable ``SKLEARN_CVB_DATA``, else
        ``sklearn_cvb`` inside scikit-learn's data home.
    download_if_missing : bool, default=True
        Download the archive (1.7 MB) where it is not found.
    return_X_y : bool, default=False
        Return ``(data, target)`` in place of a Bunch.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (list of 3,914 lists of words), ``target`` (their tags) and ``DESCR``.

    Raises
    ------
    OSError
        If the archive is missing and may not be downloaded, or its checksum is wrong.

    Examples
    --------
    >>> from sklearn_cvb.datasets import fetch_treebank_tagged
    >>> X, y = fetch_treebank_tagged(return_X_y=True)  # doctest: +SKIP
    >>> X[1][:3], y[1][:3]  # doctest: +SKIP
    (['Mr.', 'Vinken', 'is'], ['NNP', 'NNP', 'VBZ'])
    """
    return _load("treebank", data_home, download_if_missing, return_X_y)


def fetch_wsj(
    *, data_home: Folder | None = None, download_if_missing: bool = True, return_X_y: bool = False
) -> Any:
    """Load the Penn Treebank sample followed by CoNLL-2000.

    Prefixes of this list are the raw-text sizes on which published taggers with a dictionary are
    compared; the dictionary is taken from the whole list.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder of the corpora. If None: the environment variable ``SKLEARN_CVB_DATA``, else
        ``sklearn_cvb`` inside scikit-learn's data home.
    download_if_missing : bool, default=True
        Download the archives (2.5 MB) where they are not found.
    return_X_y : bool, default=False
        Return ``(data, target)`` in place of a Bunch.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (list of 14,862 lists of words), ``target`` (their tags) and ``DESCR``.

    Raises
    ------
    OSError
        If an archive is missing and may not be downloaded, or its checksum is wrong.

    See Also
    --------
    fetch_treebank_tagged : The first part alone.
    fetch_conll2000 : The second part alone.

    Examples
    --------
    >>> from sklearn_cvb.datasets import fetch_wsj
    >>> X, y = fetch_wsj(return_X_y=True)  # doctest: +SKIP
    >>> len(X), sum(map(len, X))  # doctest: +SKIP
    (14862, 353188)
    """
    return _load("wsj", data_home, download_if_missing, return_X_y)


def _load(
    corpus: str, data_home: Folder | None, download_if_missing: bool, return_X_y: bool
) -> Any:
    """Words and tags of a corpus of the table."""
    data, target = [], []
    for name, read in _CORPORA[corpus].items():
        path = find_corpus(name, data_home=data_home, download_if_missing=download_if_missing)
        for sentence in read(path):
            data.append([word for word, _ in sentence])
            target.append([tag for _, tag in sentence])
    if return_X_y:
        return data, target
    return Bunch(data=data, target=target, DESCR=description_of(corpus))


def _read_brown(path: Path) -> Iterator[Sentence]:
    """One sentence a line; NLTK's reader, made for parts of a corpus, takes four times as long."""
    with ZipFile(path) as archive:
        for name in sorted(filter(_BROWN_TEXT.fullmatch, archive.namelist())):
            for line in archive.read(name).decode("ascii").split("\n"):
                row = [token.rpartition("/") for token in line.split()]
                if row:
                    yield [(word, tag.upper()) for word, _, tag in row]


def _read_conll2000(path: Path) -> Iterator[Sentence]:
    from nltk.corpus.reader import ConllChunkCorpusReader

    files, chunks = ["train.txt", "test.txt"], ("NP", "VP", "PP")
    with nltk_root(path, "conll2000/") as root:
        for sentence in ConllChunkCorpusReader(
            root, files, chunks, encoding="ascii"
        ).tagged_sents():
            yield [(word, _BRACKET_TAGS.get(tag, tag)) for word, tag in sentence]


def _read_treebank(path: Path) -> Iterator[Sentence]:
    from nltk.corpus.reader import BracketParseCorpusReader

    with nltk_root(path, "treebank/combined/") as root:
        reader = BracketParseCorpusReader(root, r"wsj_.*\.mrg", encoding="ascii")
        for sentence in reader.tagged_sents():
            yield [(word, tag) for word, tag in sentence if tag != "-NONE-"]


def _read_mac_morpho(path: Path) -> Iterator[Sentence]:
    """A token a line; a sentence ends with its mark, or with its text."""
    with ZipFile(path) as archive:
        for name in sorted(name for name in archive.namelist() if name.endswith(".txt")):
            sentence: Sentence = []
            for line in archive.read(name).decode("iso-8859-1").split("\n"):
                word, _, tag = line.strip().rpartition("_")
                if word:
                    sentence.append((word, tag))
                if sentence and tag in {".", "?", "!"}:
                    yield sentence
                    sentence = []
            if sentence:
                yield sentence


# Who reads each of the archives of a corpus.
_CORPORA: dict[str, dict[str, Callable[[Path], Iterable[Sentence]]]] = {
    "brown": {"brown": _read_brown},
    "conll2000": {"conll2000": _read_conll2000},
    "mac_morpho": {"mac_morpho": _read_mac_morpho},
    "treebank": {"treebank": _read_treebank},
    "wsj": {"treebank": _read_treebank, "conll2000": _read_conll2000},
}
