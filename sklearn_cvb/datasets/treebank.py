"""The Penn Treebank sample: Wall Street Journal sentences with hand-made tags."""

from pathlib import Path
from typing import Any

from sklearn_cvb.datasets.corpora import find_corpus, nltk_root, tagged_bunch
from sklearn_cvb.reading.validation import Folder

DESCRIPTION = """Penn Treebank sample, tagged.

3,914 sentences (94,084 tokens without traces) of the Wall Street Journal, files wsj_0001 to
wsj_0199, with hand-corrected part-of-speech tags, as distributed with NLTK. Words keep their case;
empty elements (tag -NONE-) are dropped. For non-commercial use."""


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
    path = find_corpus("treebank", data_home=data_home, download_if_missing=download_if_missing)
    return tagged_bunch(_sentences(path), DESCRIPTION, return_X_y)


def _sentences(path: Path) -> list[list[tuple[str, str]]]:
    from nltk.corpus.reader import BracketParseCorpusReader

    with nltk_root(path, "treebank/combined/") as root:
        reader = BracketParseCorpusReader(root, r"wsj_.*\.mrg", encoding="ascii")
        return [
            [(word, tag) for word, tag in sentence if tag != "-NONE-"]
            for sentence in reader.tagged_sents()
        ]
