"""Tagged text from a user's own files: CoNLL-U, and one sentence of word/TAG per line."""

import re
from collections.abc import Mapping
from typing import Any

from sklearn.utils import Bunch

from sklearn_cvb.annotations import Folder

# Words of some languages hold no-break spaces, at which str.split would cut.
_TOKEN = re.compile(r"[^ \t\r\n]+")


def read_conllu(path: Folder, *, column: str = "upos") -> Bunch:
    """Read words and one column of tags from a CoNLL-U file.

    Multiword ranges (``1-2``) and empty nodes (``1.1``) are skipped, so that a sentence has one
    entry per syntactic word. Needs the package ``conllu``.

    Parameters
    ----------
    path : str or path-like
        A CoNLL-U file in UTF-8.
    column : str, default="upos"
        Column that becomes the tag: "upos", "xpos", "lemma", "deprel" and so on.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (list of lists of words) and ``target`` (list of lists of tags; None where
        the file has ``_``).

    Raises
    ------
    ImportError
        If ``conllu`` is not installed.
    ValueError
        If a word has no such column; the message names the sentence and the columns there are.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn_cvb.datasets import read_conllu
    >>> rows = ["1 we we PRON _ _ 2 nsubj _ _", "2 ran run VERB _ _ 0 root _ _", "", ""]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "two_words.conllu")
    ...     _ = path.write_text("\\n".join(rows).replace(" ", "\\t"), encoding="utf-8")
    ...     corpus = read_conllu(path)
    >>> corpus.data, corpus.target
    ([['we', 'ran']], [['PRON', 'VERB']])
    """
    try:
        from conllu import parse_incr
    except ImportError as error:
        raise ImportError(
            'read_conllu needs the package conllu: pip install "sklearn_cvb[corpora]"'
        ) from error
    corpus = Bunch(data=[], target=[])
    with open(path, encoding="utf-8-sig") as stream:
        for number, sentence in enumerate(parse_incr(stream)):
            words = [token for token in sentence if isinstance(token["id"], int)]
            corpus.data.append([token["form"] for token in words])
            corpus.target.append([_column(token, column, path, number) for token in words])
    return corpus


def read_word_tag(path: Folder, *, separator: str = "/") -> Bunch:
    """Read tagged text with one sentence per line: ``the/DT dog/NN barks/VBZ``.

    A token is split at its last separator, so a word may hold the separator itself (``1/2/CD``).
    Blank lines are skipped.

    Parameters
    ----------
    path : str or path-like
        A text file in UTF-8.
    separator : str, default="/"
        What stands between word and tag.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (list of lists of words) and ``target`` (list of lists of tags).

    Raises
    ------
    ValueError
        If a token has no separator, or nothing before or after it; the message names the file,
        the line and the token.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn_cvb.datasets import read_word_tag
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "text.txt")
    ...     _ = path.write_text("we/PRP ran/VBD\\n1/2/CD\\n", encoding="utf-8")
    ...     corpus = read_word_tag(path)
    >>> corpus.data, corpus.target
    ([['we', 'ran'], ['1/2']], [['PRP', 'VBD'], ['CD']])
    """
    corpus = Bunch(data=[], target=[])
    with open(path, encoding="utf-8-sig") as stream:
        for number, line in enumerate(stream, start=1):
            pairs = [_split(token, separator, path, number) for token in _TOKEN.findall(line)]
            if pairs:
                corpus.data.append([word for word, _ in pairs])
                corpus.target.append([tag for _, tag in pairs])
    return corpus


def _column(token: Mapping, column: str, path: Folder, sentence: int) -> Any:
    if column not in token:
        raise ValueError(
            f"{path}, sentence {sentence}: no column {column!r}; there are {', '.join(token)}"
        )
    value = token[column]
    return None if value == "_" else value


def _split(token: str, separator: str, path: Folder, line: int) -> tuple[str, str]:
    word, found, tag = token.rpartition(separator)
    if not (found and word and tag):
        raise ValueError(
            f"{path}, line {line}: token {token!r} is not of the form word{separator}TAG"
        )
    return word, tag
