"""Tagged text into files that other programs read: CoNLL-U, and one sentence of word/TAG a line."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sklearn_cvb.datasets.columns import COLUMNS
from sklearn_cvb.reading.corpus import as_list, is_missing, samples_of
from sklearn_cvb.reading.dictionary import tagged_pairs
from sklearn_cvb.reading.text_files import open_text
from sklearn_cvb.reading.validation import Folder, check_choice

# What cannot stand in a word of CoNLL-U: ends of lines and cells, and blanks that readers cut at.
_NO_CELL = re.compile(r"[\t\r\n\0]|^ | $|  |^$")
_NO_TOKEN = re.compile(r"[ \t\r\n\0]|^$")


def write_conllu(
    path: Folder,
    sentences: Iterable[Sequence[Any]],
    tags: Iterable[Sequence[Any]] | None = None,
    *,
    column: str = "upos",
    heads: Iterable[Sequence[Any]] | None = None,
) -> None:
    """Write tagged sentences, and the head of each word, to a CoNLL-U file.

    Parameters
    ----------
    path : str or path-like
        The file, which is written again in UTF-8, compressed if its name ends in .gz, .bz2 or .xz.
    sentences : list of list
        Words, or pairs (word, tag).
    tags : list of list, default=None
        Tags of the words in `sentences`, as a tagger predicts them; None where unknown.
    column : {"upos", "xpos", "lemma", "deprel"}, default="upos"
        Where tags stand.
    heads : list of list, default=None
        Heads of the words, as dependency models predict them: positions from 1, 0 for the root,
        None where unknown. The relation is ``root`` or ``dep``, unless tags stand there.

    Raises
    ------
    ValueError
        If a sentence is empty, a word or tag cannot stand in such a file, lengths differ, or a
        head is no word of its sentence. Nothing is written then.

    See Also
    --------
    read_conllu : Reads words and tags.
    read_dependencies : Reads tags and heads.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_cvb.datasets import read_dependencies, write_conllu
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tagged.conllu.gz")
    ...     write_conllu(path, [["we", "ran"]], [["PRON", "VERB"]], heads=[[2, 0]])
    ...     corpus = read_dependencies(path)
    >>> corpus.words, corpus.data, corpus.target
    ([['we', 'ran']], [['PRON', 'VERB']], [[2, 0]])
    """
    check_choice("column", column, ("upos", "xpos", "lemma", "deprel"))
    pairs = list(tagged_pairs(sentences, tags))
    known = [None] * len(pairs) if heads is None else samples_of(heads)
    if len(known) != len(pairs):
        raise ValueError(f"there are {len(pairs)} sentences but {len(known)} rows of heads")
    lines: list[str] = []
    for i, (sentence, given) in enumerate(zip(pairs, known, strict=True)):
        for number, (texts, head) in enumerate(
            zip(_texts(sentence, i, _NO_CELL), _heads(given, len(sentence), i), strict=True), 1
        ):
            word, tag = texts
            if tag == "_":
                raise ValueError(f"sentence {i}: the tag '_' of {word!r} says that there is none")
            cells = dict.fromkeys(COLUMNS, "_") | {"id": str(number), "form": word}
            if head is not None:
                cells |= {"head": str(head), "deprel": "dep" if head else "root"}
            lines.append("\t".join((cells | {column: tag or "_"}).values()))
        lines.append("")
    _write(path, lines)


def write_word_tag(
    path: Folder,
    sentences: Iterable[Sequence[Any]],
    tags: Iterable[Sequence[Any]] | None = None,
    *,
    separator: str = "/",
) -> None:
    """Write tagged text with one sentence per line: ``the/DT dog/NN barks/VBZ``.

    Parameters
    ----------
    path : str or path-like
        The file, which is written again in UTF-8, compressed if its name ends in .gz, .bz2 or .xz.
    sentences : list of list
        Words, or pairs (word, tag).
    tags : list of list, default=None
        Tags of the words in `sentences`, as a tagger predicts them.
    separator : str, default="/"
        What stands between word and tag; a word may hold it, too, a tag may not.

    Raises
    ------
    ValueError
        If a sentence is empty, a tag is unknown, a word or tag cannot stand in such a file, or
        lengths differ. Nothing is written then.

    See Also
    --------
    read_word_tag : Reads what this writes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn_cvb.datasets import write_word_tag
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "tagged.txt")
    ...     write_word_tag(path, [["we", "ran"]], [["PRON", "VERB"]])
    ...     path.read_text(encoding="utf-8")
    'we/PRON ran/VERB\\n'
    """
    lines = []
    for i, sentence in enumerate(tagged_pairs(sentences, tags)):
        texts = list(_texts(sentence, i, _NO_TOKEN))
        odd = [word for word, tag in texts if tag is None or separator in tag]
        if odd:
            raise ValueError(
                f"sentence {i}: {odd[0]!r} needs a tag without {separator!r}; write_conllu writes "
                "any tag, and none"
            )
        lines.append(" ".join(f"{word}{separator}{tag}" for word, tag in texts))
    _write(path, lines)


def _texts(
    sentence: list[Any], i: int, cannot_be: re.Pattern[str]
) -> Iterator[tuple[str, str | None]]:
    """Words and tags as texts, None for an unknown tag; ValueError for what cannot be written."""
    if not sentence:
        raise ValueError(f"sentence {i} is empty: leave empty sentences out")
    for word, tag in sentence:
        text = None if is_missing(tag) else str(tag)
        written = [str(word)] if text is None else [str(word), text]
        if is_missing(word) or any(map(cannot_be.search, written)):
            raise ValueError(
                f"sentence {i}: {word!r} with the tag {tag!r} cannot stand in such a file, as it "
                "is missing, empty, or holds blanks or ends of lines"
            )
        yield str(word), text


def _heads(given: Any, n: int, i: int) -> list[int | None]:
    """The head of each word, None where unknown."""
    if is_missing(given):
        return [None] * n
    row = as_list(given)
    if row is None or len(row) != n:
        raise ValueError(f"heads[{i}] has not one head for each of the {n} words")
    heads = [None if is_missing(head) else int(head) for head in row]
    if not all(head is None or 0 <= head <= n for head in heads):
        raise ValueError(f"heads[{i}] is {row}: heads are positions from 1 to {n}, 0 for the root")
    return heads


def _write(path: Folder, lines: list[str]) -> None:
    with open_text(path, "wt", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in lines)
