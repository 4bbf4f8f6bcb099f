"""Tagged text from a user's own files: CoNLL-U, and one sentence of word/TAG per line."""

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sklearn.utils import Bunch

from sklearn_cvb.datasets.columns import sentences_in
from sklearn_cvb.reading.validation import Folder

# Words of some languages hold no-break spaces, at which str.split would cut.
_TOKEN = re.compile(r"[^ \t\r\n]+")
# What a line holds that is no text: zeros, and bytes that are not UTF-8 ("surrogateescape").
_NO_TEXT = re.compile("[\0\udc80-\udcff]")
_OPEN: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}


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


def read_dictionary(path: Folder) -> dict[str, tuple[str, ...]]:
    """Read a word list with one word per line, a tab, and its tags: ``duck<TAB>NOUN VERB``.

    Lists made from Wiktionary look like this, also with a line for each pair of word and tag: the
    tags of all lines of a word come together. Words may hold blanks. Blank lines are skipped.

    Parameters
    ----------
    path : str or path-like
        A text file in UTF-8, compressed if its name ends in .gz, .bz2 or .xz.

    Returns
    -------
    dict
        Maps each word to the sorted tuple of its tags, as a tagger's `tag_dictionary`.

    Raises
    ------
    ValueError
        If a line has no word or no tag; the message names the file and the line. If the file is
        no text in UTF-8, or not compressed as its name says.

    See Also
    --------
    sklearn_cvb.tag_dictionary_from : Takes words and tags from tagged text.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn_cvb.datasets import read_dictionary
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "words.tsv")
    ...     _ = path.write_text("the\\tDET\\nduck\\tVERB NOUN\\n", encoding="utf-8")
    ...     read_dictionary(path)
    {'the': ('DET',), 'duck': ('NOUN', 'VERB')}
    """
    entries: dict[str, set[str]] = {}
    for number, line in text_lines(path):
        word, _, rest = line.strip("\r\n").partition("\t")
        tags = rest.split()
        if word.strip() and tags:
            entries.setdefault(word.strip(" "), set()).update(tags)
        elif line.strip():
            raise ValueError(
                f"{path}, line {number}: {line.strip()[:60]!r} is not a word, a tab, and its tags "
                "with blanks between them"
            )
    return {word: tuple(sorted(tags)) for word, tags in entries.items()}


def text_lines(path: Folder) -> Iterator[tuple[int, str]]:
    """Numbers from 1 and lines of a text in UTF-8, also of a compressed file.

    >>> import gzip, pathlib, tempfile
    >>> from sklearn_cvb.datasets.readers import text_lines
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "text.txt.gz")
    ...     _ = path.write_bytes(gzip.compress(b"we ran"))
    ...     list(text_lines(path))
    [(1, 'we ran')]
    """
    with open_text(path, encoding="utf-8-sig", errors="surrogateescape") as stream:
        for number, line in enumerate(stream, start=1):
            if _NO_TEXT.search(line):
                raise ValueError(
                    f"{path}, line {number}: this is no text in UTF-8; the name of a compressed "
                    f"file must end in {', '.join(_OPEN)}, and text in another encoding be "
                    "converted, as with iconv -t UTF-8"
                )
            yield number, line


@contextmanager
def open_text(path: Folder, mode: str = "rt", **options: Any) -> Iterator[Any]:
    """A file of text, compressed if its name says so."""
    try:
        with _OPEN.get(Path(path).suffix, open)(path, mode, **options) as stream:
            yield stream
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        # Errors of the file system have a number.
        if getattr(error, "errno", None) is not None:
            raise
        raise ValueError(
            f"{path} is not compressed as its name says ({error}): give it the ending it should "
            "have, or fetch it again"
        ) from error


def _word_and_tag(token: str, separator: str, path: Folder, line: int) -> tuple[str, str]:
    word, found, tag = token.rpartition(separator)
    if not (found and word and tag):
        raise ValueError(
            f"{path}, line {line}: token {token!r} is not of the form word{separator}TAG"
        )
    return word, tag
