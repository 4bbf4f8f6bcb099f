"""The CoNLL-2000 chunking corpus: Wall Street Journal sentences with automatic tags."""

from pathlib import Path
from typing import Any

from sklearn_cvb.datasets.corpora import find_corpus, nltk_root, tagged_bunch
from sklearn_cvb.reading.validation import Folder

DESCRIPTION = """CoNLL-2000 shared task, tagged.

10,948 sentences (259,104 tokens) of the Wall Street Journal, sections 15-18 (train) then 20
(test), with part-of-speech tags assigned by the Brill tagger, as distributed with NLTK. Words
keep their case. For research use."""

_TREEBANK_BRACKETS = {"(": "-LRB-", ")": "-RRB-"}


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
    path = find_corpus("conll2000", data_home=data_home, download_if_missing=download_if_missing)
    return tagged_bunch(_sentences(path), DESCRIPTION, return_X_y)


def _sentences(path: Path) -> list[list[tuple[str, str]]]:
    from nltk.corpus.reader import ConllChunkCorpusReader

    with nltk_root(path, "conll2000/") as root:
        reader = ConllChunkCorpusReader(
            root, ["train.txt", "test.txt"], ("NP", "VP", "PP"), encoding="ascii"
        )
        return [
            [(word, _TREEBANK_BRACKETS.get(tag, tag)) for word, tag in sentence]
            for sentence in reader.tagged_sents()
        ]
