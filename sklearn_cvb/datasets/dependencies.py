"""Sentences with dependency trees: a user's own files, and the sample of the Penn Treebank."""

import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any
from zipfile import ZipFile

from sklearn.utils import Bunch

from sklearn_cvb.datasets.corpora import find_corpus
from sklearn_cvb.reading.validation import Folder

# Punctuation, brackets and signs of the Penn Treebank: left out where grammars are learned.
PENN_PUNCTUATION = frozenset([",", ".", ":", "``", "''", "-LRB-", "-RRB-", "#", "$", "SYM", "LS"])

# Places of what a line holds, by its number of columns: form, lemma, upos, xpos, head. NLTK's
# files have a word, its tag and its head, with or without a relation.
_PLACES = {
    10: {"form": 1, "lemma": 2, "upos": 3, "xpos": 4, "head": 6},
    3: {"form": 0, "upos": 1, "xpos": 1, "head": 2},
    4: {"form": 0, "upos": 1, "xpos": 1, "head": 2},
}

DESCRIPTION = """Penn Treebank sample as dependencies.

3,914 sentences of the Wall Street Journal, files wsj_0001 to wsj_0199, converted from the gold
trees, as distributed with NLTK: part-of-speech tags, and the head of each token, from 1; 0 for the
root. For non-commercial use."""


def read_dependencies(
    path: Folder,
    *,
    column: str = "upos",
    remove: Collection[str] = (),
    encoding: str = "utf-8",
) -> Bunch:
    """Read tags and heads from a file in CoNLL-U or CoNLL-X columns, or in those of NLTK.

    Lines of ten columns parted by tabs are CoNLL's, three or four are NLTK's: word, tag, head,
    relation. Comments, multiword ranges (``1-2``) and empty nodes (``1.1``) are skipped.

    Parameters
    ----------
    path : str or path-like
        The file.
    column : {"upos", "xpos", "form", "lemma"}, default="upos"
        What becomes the token. CoNLL-X calls the first two CPOSTAG and POSTAG.
    remove : collection of str, default=()
        Tokens to leave out, such as tags of punctuation. What depends on one of them depends on
        its head then.
    encoding : str, default="utf-8"
        Of the file; older treebanks are in "latin-1".

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (list of lists of tokens), ``words`` (of their words) and ``target`` (of their
        heads: positions from 1, 0 for the root, None where the file has none). Sentences of which
        nothing is left are dropped.

    Raises
    ------
    ValueError
        If a line has other columns, or a head is no token of its sentence; the message names the
        file and the line. If the file has another encoding.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn_cvb.datasets import read_dependencies
    >>> rows = ["We PRP 2", "ran VBD 0", "home RB 2", ". . 2"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "text.dp")
    ...     _ = path.write_text("\\n".join(rows).replace(" ", "\\t"), encoding="utf-8")
    ...     corpus = read_dependencies(path, remove=["."])
    >>> corpus.data, corpus.target
    ([['PRP', 'VBD', 'RB']], [[2, 0, 2]])
    """
    # With or without a mark of the byte order.
    codec = "utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding
    with open(path, encoding=codec) as stream:
        try:
            return bunch_of(sentences_of(stream, str(path), column), set(remove))
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path} is not in {encoding}: give its encoding, such as 'latin-1'"
            ) from error


def fetch_dependency_treebank(
    *,
    remove_punctuation: bool = False,
    data_home: Folder | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Any:
    """Load tags and heads of the Penn Treebank sample.

    Parameters
    ----------
    remove_punctuation : bool, default=False
        Whether to leave out punctuation, brackets and signs, as is done where grammars are learned.
        What depends on one of them depends on its head then.
    data_home : str or path-like, default=None
        Folder of the corpora. If None: the environment variable ``SKLEARN_CVB_DATA``, else
        ``sklearn_cvb`` inside scikit-learn's data home.
    download_if_missing : bool, default=True
        Download the archive (0.5 MB) where it is not found.
    return_X_y : bool, default=False
        Return ``(data, target)`` in place of a Bunch.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (lists of tags), ``words`` (of their words), ``target`` (of their heads),
        ``files`` (the file of each sentence) and ``DESCR``.

    Raises
    ------
    OSError
        If the archive is missing and may not be downloaded, or its checksum is wrong.

    Examples
    --------
    >>> from sklearn_cvb.datasets import fetch_dependency_treebank
    >>> X, y = fetch_dependency_treebank(return_X_y=True)  # doctest: +SKIP
    >>> X[1][:4], y[1][:4]  # doctest: +SKIP
    (['NNP', 'NNP', 'VBZ', 'NN'], [2, 3, 0, 3])
    """
    path = find_corpus(
        "dependency_treebank", data_home=data_home, download_if_missing=download_if_missing
    )
    corpus = Bunch(data=[], words=[], target=[], files=[], DESCR=DESCRIPTION)
    remove = set(PENN_PUNCTUATION) if remove_punctuation else set()
    with ZipFile(path) as archive:
        for name in sorted(n for n in archive.namelist() if n.endswith(".dp")):
            lines = archive.read(name).decode("utf-8").splitlines()
            part = bunch_of(sentences_of(lines, name, "xpos"), remove)
            for key in ("data", "words", "target"):
                corpus[key] += part[key]
            corpus.files += [name.rpartition("/")[2]] * len(part.data)
    return (corpus.data, corpus.target) if return_X_y else corpus


def sentences_of(
    lines: Iterable[str], path: str, column: str, remove_by: str | None = None
) -> Iterator[list[tuple]]:
    """Read what the lines of a file say.

    Parameters
    ----------
    lines : iterable of str
    path : str
        What messages call the file.
    column : {"upos", "xpos", "form", "lemma"}
        What becomes the token.
    remove_by : {"upos", "xpos", "form", "lemma"}, default=None
        What says whether a token is left out; None for the token itself.

    Yields
    ------
    list of tuple (token, word, head, what says whether it is left out)
    """
    if column not in _PLACES[10]:
        raise ValueError(f"column must be 'upos', 'xpos', 'form' or 'lemma', got {column!r}")
    rows: list[tuple] = []
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\r\n")
        # A word may be "#", but a comment has other columns.
        is_comment = line.startswith("#") and len(line.split("\t")) not in _PLACES
        if line.strip() and not is_comment:
            row = _row(line, f"{path}, line {number}", column, remove_by or column)
            if row is not None:
                rows.append(row)
        elif not line.strip() and rows:
            yield _checked(rows, path, number)
            rows = []
    if rows:
        yield _checked(rows, path, number)


def _row(line: str, place: str, column: str, remove_by: str) -> tuple | None:
    """Token, word, head and what may remove it; None where a line holds no token of its own."""
    fields = line.split("\t")
    places = _PLACES.get(len(fields))
    if places is None or column not in places:
        raise ValueError(
            f"{place}: {len(fields)} columns parted by tabs; there must be 10 (CoNLL), or 3 or 4 "
            f"(word, tag, head, relation) with a column {column!r}"
        )
    if len(fields) == 10 and re.fullmatch(r"\d+[-.]\d+", fields[0]):
        return None
    head = fields[places["head"]]
    if head != "_" and not head.isdecimal():
        raise ValueError(f"{place}: the head {head!r} is no number")
    token, word, mark = (fields[places[name]] for name in (column, "form", remove_by))
    return token, word, None if head == "_" else int(head), mark


def _checked(rows: list[tuple], path: str, number: int) -> list[tuple]:
    for token, word, head, _ in rows:
        if head is not None and head > len(rows):
            raise ValueError(
                f"{path}, sentence before line {number}: {word!r} ({token}) has the head {head}, "
                f"but there are {len(rows)} tokens"
            )
    return rows


def bunch_of(sentences: Iterable[list[tuple]], remove: set[str]) -> Bunch:
    """Tokens, words and heads without those to remove, of what `sentences_of` yields."""
    corpus = Bunch(data=[], words=[], target=[])
    for rows in sentences:
        kept = [i for i, (_, _, _, mark) in enumerate(rows, 1) if mark not in remove]
        if kept:
            corpus.data.append([rows[i - 1][0] for i in kept])
            corpus.words.append([rows[i - 1][1] for i in kept])
            places = {old: new for new, old in enumerate(kept, 1)}
            heads = [head for _, _, head, _ in rows]
            corpus.target.append([_new_head(heads[i - 1], heads, places) for i in kept])
    return corpus


def _new_head(head: int | None, heads: list, places: dict[int, int]) -> int | None:
    """The nearest token above that is kept, by its new place."""
    for _ in heads:
        if head is None or head == 0 or head in places:
            break
        head = heads[head - 1]
    return places.get(head, 0) if head is not None else None
