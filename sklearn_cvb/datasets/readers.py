"""Tagged text from a user's own files: CoNLL-U, and one sentence of word/TAG per line."""

import re

from sklearn_cvb.datasets.columns import sentences_in
from sklearn_cvb.reading.text_files import text_lines
from sklearn_cvb.reading.validation import Folder
from sklearn_cvb.scikit_learn import Bunch

# Words of some languages hold no-break spaces, at which str.split would cut.
_TOKEN = re.compile(r"[^ \t\r\n]+")


def read_conllu(path: Folder, *, column: str = "upos") -> Bunch:
    """Read words and one column of tags from a CoNLL-U file.

    Multiword ranges (``1-2``) and empty nodes (``1.1``) are skipped, so that a sentence has one
    entry per syntactic word. Rows may lack their last columns.

    Parameters
    ----------
    path : str or path-like
        A CoNLL-U file in UTF-8, compressed if its name ends in .gz, .bz2 or .xz.
    column : str, default="upos"
        Column that becomes the tag: "upos", "xpos", "lemma", "deprel" and so on.

    Returns
    -------
    bunch : sklearn.utils.Bunch
        With ``data`` (list of lists of words) and ``target`` (list of lists of tags; None where
        the file has ``_``).

    Raises
    ------
    OSError
        If there is no such file.
    ValueError
        If a line is no row of CoNLL-U, lacks the column, or has an id that does not go up; the
        message names the file and the line. If the file is no text in UTF-8, or not compressed as
        its name says.

    See Also
    --------
    read_dependencies : Reads tags and heads.

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
    corpus = Bunch(data=[], target=[])
    for tokens in sentences_in(text_lines(path), str(path), ("form", column)):
        corpus.data.append([token.cells["form"] for token in tokens])
        corpus.target.append([token.value(column) for token in tokens])
    return corpus


def read_word_tag(path: Folder, *, separator: str = "/") -> Bunch:
    """Read tagged text with one sentence per line: ``the/DT dog/NN barks/VBZ``.

    A token is split at its last separator, so a word may hold the separator itself (``1/2/CD``).
    Blank lines are skipped.

    Parameters
    ----------
    path : str or path-like
        A text file in UTF-8, compressed if its name ends in .gz, .bz2 or .xz.
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
        the line and the token. If the file is no text in UTF-8, or not compressed as its name
        says.

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
    for number, line in text_lines(path):
        pairs = [_word_and_tag(token, separator, path, number) for token in _TOKEN.findall(line)]
        if pairs:
            corpus.data.append([word for word, _ in pairs])
            corpus.target.append([tag for _, tag in pairs])
    return corpus


def _word_and_tag(token: str, separator: str, path: Folder, line: int) -> tuple[str, str]:
    word, found, tag = token.rpartition(separator)
    if not (found and word and tag):
        raise ValueError(
            f"{path}, line {line}: token {token!r} is not of the form word{separator}TAG"
        )
    return word, tag
