"""Sentences with dependency trees: Basque and Spanish, from the CoNLL-2007 shared task."""

from typing import Any, NamedTuple
from zipfile import ZipFile

from sklearn.utils import Bunch

from sklearn_cvb.datasets.corpora import find_corpus
from sklearn_cvb.datasets.dependencies import bunch_of, sentences_of
from sklearn_cvb.reading.validation import Folder

DESCRIPTION = """Dependency treebanks of Basque and Spanish.

Of the treebanks of the CoNLL-2007 shared task on dependency parsing those that NLTK distributes:
3,175 sentences of Basque and 3,512 of Spanish, with coarse and fine part-of-speech tags, and the
head of each token, from 1; 0 for the root. Creative Commons attribution, non-commercial, no
derivatives."""


class _Treebank(NamedTuple):
    """How a language's files are called, and the coarse tag of its punctuation."""

    prefix: str
    punctuation: str


_TREEBANKS = {
    "basque": _Treebank("eus", "PUNT"),
    "spanish": _Treebank("esp", "F"),
}
_SUBSETS = {"all": ("train", "test"), "train": ("train",), "test": ("test",)}


def fetch_conll2007(
    *,
    language: str,
    subset: str = "all",
    column: str = "upos",
    remove_punctuation: bool = False,
    data_home: Folder | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load tags and heads of the Basque or Spanish treebank of CoNLL 2007.

    Sentences of Basque may have several roots, and trees of both languages may have crossing arcs:
    dependency models refuse such heads in `fit`, and can be scored by them.

    Parameters
    ----------
    language : {"basque", "spanish"}
        The treebank.
    subset : {"all", "train", "test"}, default="all"
        The shared task's sentences to learn from, to test on, or both.
    column : {"upos", "xpos", "form", "lemma"}, default="upos"
        What becomes the token: coarse tags, fine tags, words or lemmas.
    remove_punctuation : bool, default=False
        Whether to leave out punctuation, as is done where grammars are learned: the coarse tags
        PUNT of Basque and F of Spanish. What depends on one of them depends on its head then.
    data_home : str or path-like, default=None
        Folder of the corpora. If None: the environment variable ``SKLEARN_CVB_DATA``, else
        ``sklearn_cvb`` inside scikit-learn's data home.
    download_if_missing : bool, default=True
        Download the archive (1.2 MB) where it is not found.
    return_X_y : bool, default=False
        Return ``(data, target)`` in place of a Bunch.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (lists of tokens), ``words`` (of their words), ``target`` (of their heads),
        ``files`` (the file of each sentence) and ``DESCR``.

    Raises
    ------
    ValueError
        If the language, the subset or the column is another one.
    OSError
        If the archive is missing and may not be downloaded, or its checksum is wrong.

    See Also
    --------
    fetch_dependency_treebank : English.
    read_dependencies : Files of one's own.

    Examples
    --------
    >>> from sklearn_cvb.datasets import fetch_conll2007
    >>> X, y = fetch_conll2007(language="spanish", return_X_y=True)  # doctest: +SKIP
    >>> X[0][:4], y[0][:4]  # doctest: +SKIP
    (['d', 'n', 's', 'n'], [2, 8, 2, 3])
    """
    for name, value, known in (
        ("language", language, _TREEBANKS),
        ("subset", subset, _SUBSETS),
    ):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {value!r}")
    path = find_corpus("conll2007", data_home=data_home, download_if_missing=download_if_missing)
    treebank = _TREEBANKS[language]
    remove = {treebank.punctuation} if remove_punctuation else set()
    corpus = Bunch(data=[], words=[], target=[], files=[], DESCR=DESCRIPTION)
    with ZipFile(path) as archive:
        for part in _SUBSETS[subset]:
            name = f"{treebank.prefix}.{part}"
            lines = map(_decoded, archive.read(f"conll2007/{name}").split(b"\n"))
            found = bunch_of(sentences_of(lines, name, column, "upos"), remove)
            for key in ("data", "words", "target"):
                corpus[key] += found[key]
            corpus.files += [name] * len(found.data)
    return (corpus.data, corpus.target) if return_X_y else corpus


def _decoded(line: bytes) -> str:
    """A line in UTF-8; some of Basque are in the encoding of Windows."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("cp1252")
