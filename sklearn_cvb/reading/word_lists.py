"""Word lists: files, tables and Series of words and their tags become a tag dictionary."""

import csv
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from sklearn_cvb.messages import warn
from sklearn_cvb.reading.corpus import (
    as_list,
    is_missing,
    names_of_columns,
    short_repr,
    sorted_types,
)
from sklearn_cvb.reading.dictionary import tags_of
from sklearn_cvb.reading.text_files import text_lines
from sklearn_cvb.reading.validation import HasMethods

# What a word list may be, as a parameter.
WORD_LISTS = (dict, str, os.PathLike, HasMethods(["items"]), HasMethods(["__dataframe__"]))

# What columns of words and of tags are usually called.
_WORDS = ("word", "words", "form", "token", "wordform", "lemma", "wort", "ortho", "orth", "surface")
_TAGS = (
    *("tag", "tags", "pos", "upos", "xpos", "postag", "ctag", "class", "wordclass", "wortart"),
    *("category", "features", "msd"),
)
# Of lists without a header, which have a ``;`` in most of their features.
_UNIMORPH = ("lemma", "form", "features", "segmentation")
_SAY_WHICH = 'say which are the words and their tags, as columns=("form", "pos") or columns=(0, 2)'
# What may stand between the columns of a file.
_MARKS = {"\t": "a tab", ";": "a semicolon", ",": "a comma"}

# These stand between tags, but for features such as ``Case=Nom|Number=Sing``.
_BETWEEN_TAGS = re.compile(r"\s*[,|]\s*|\s*;\s+|\s+/\s+")
# So do these, where each part is a tag elsewhere: not in UniMorph's ``V;IND;PRS``. Capitals are
# codes, which hold no blank.
_BETWEEN_KNOWN, _BLANK = re.compile(r"\s*[;/]\s*|\s+"), re.compile(r"\s+")
# A name such as "proper noun" comes at least so often.
_OFTEN = 3
# Among this many lines a first one with a tag of its own may be a header.
_MANY = 10


def entries_of(value: Any) -> dict[Any, Any]:
    """The entries of a `tag_dictionary`: a dict, or what `read_dictionary` reads."""
    return value or {} if isinstance(value, dict | None) else read_dictionary(value)


class _Row(NamedTuple):
    """A word and its tags as they stand in a row, from 1."""

    number: int
    word: Any
    tags: Any


def read_dictionary(
    source: Any, *, columns: Sequence[Any] | None = None, separator: str | None = None
) -> dict[Any, tuple[Any, ...]]:
    """Read a word list: a word and its tags per line, or a line for each pair of word and tag.

    Files have tabs, semicolons or commas between their columns, with or without a header. The tags
    of all lines of a word come together. Words may hold blanks. Blank lines are skipped.

    Parameters
    ----------
    source : path, DataFrame, Series or Mapping
        A text file in UTF-8, compressed if its name ends in .gz, .bz2 or .xz; a table of any
        library that has names of columns; a Series from words to tags.
    columns : (word, tag), default=None
        Names of two columns, or their numbers from 0. UniMorph's lists, which have no header, have
        ``"lemma"``, ``"form"`` and ``"features"``. None for the only two columns, or for those that
        are called ``word`` and ``tag``, or as usual.
    separator : str, default=None
        What stands between the tags of a word, ``""`` where each has one. None to find out: commas,
        bars, semicolons before blanks; semicolons, slashes and blanks, where all that they separate
        are tags elsewhere in the list; blanks between codes in capitals. ``proper noun``, which
        comes often, is one.

    Returns
    -------
    dict
        Maps each word to the sorted tuple of its tags, as a tagger's `tag_dictionary`.

    Raises
    ------
    ValueError
        If lines have no word, no tag, or more fields than columns are known of; the message says
        how many, and shows the first. If blanks may be between tags or within one. If the file is
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
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "unimorph.tsv")
    ...     _ = path.write_text("amar\\tamo\\tV;IND;PRS;1;SG\\n", encoding="utf-8")
    ...     read_dictionary(path, columns=("form", "features"))
    {'amo': ('V;IND;PRS;1;SG',)}
    """
    given = [] if columns is None or isinstance(columns, str) else as_list(columns) or []
    if columns is not None and len(set(map(str, given))) != 2:
        raise ValueError(f"columns are two, of words and of tags, got {short_repr(columns)}")
    name = "the list"
    if hasattr(source, "columns"):
        rows = _rows_of_frame(source, columns)
    elif hasattr(source, "items"):
        rows = [_Row(number, *pair) for number, pair in enumerate(source.items(), 1)]
    elif isinstance(source, str | os.PathLike):
        name, rows = str(source), _rows_of_file(source, columns)
    else:
        raise TypeError(f"source is {short_repr(source)}: pass a path, a table or a Series")
    wrong = [row for row in rows if _is_nothing(row.word) or _is_nothing(row.tags)]
    if wrong:
        cells = [(number, (word, tags)) for number, word, tags in wrong]
        raise _wrong_rows(name, cells, len(rows), "have no word, or no tag")
    texts = Counter(row.tags for row in rows if isinstance(row.tags, str))
    if any(isinstance(row.tags, Mapping) for row in rows):
        return {word: tags for _, word, tags in rows}  # how often each tag was seen
    if separator is None:
        tags_in = _tags_in(name, texts)
    else:
        tags_in = {text: _parts(text, separator) if separator else (text,) for text in texts}
    entries: dict[Any, set[Any]] = {}
    for _, word, tags in rows:
        found = tags_in[tags] if isinstance(tags, str) else tags_of(tags)
        entries.setdefault(word, set()).update(found)
    return {word: tuple(sorted_types(tags)) for word, tags in entries.items()}


def _parts(text: str, separator: str | re.Pattern[str]) -> tuple[str, ...]:
    """What stands between separators; a text of nothing but marks is one."""
    if not any(map(str.isalnum, text)):
        return (text,)
    parts = text.split(separator) if isinstance(separator, str) else separator.split(text)
    return tuple(filter(None, map(str.strip, parts)))


def _is_nothing(value: Any) -> bool:
    """Whether a cell is empty, or missing."""
    return not value.strip() if isinstance(value, str) else is_missing(value)


def _wrong_rows(name: str, rows: Sequence[tuple[int, Any]], n: int, what: str) -> ValueError:
    """What is wrong with some of n rows."""
    shown = ", ".join(f"{number}: {short_repr(cells)}" for number, cells in rows[:5])
    return ValueError(f"{name}: {len(rows)} of {n} lines {what}: line {shown}")


def _rows_of_frame(frame: Any, columns: Sequence[Any] | None) -> list[_Row]:
    """The words and tags of a table."""
    names = names_of_columns(frame)
    if len(set(names)) < len(names):
        raise ValueError(f"the table has two columns of the same name: {short_repr(names)}")
    places = _places(names, len(names), columns)
    if places is None:
        raise ValueError(f"the table has the columns {short_repr(names)}: {_SAY_WHICH}")
    words, tags = (as_list(frame[names[place]]) or [] for place in places)
    return [_Row(*row) for row in zip(range(1, len(words) + 1), words, tags, strict=True)]


def _rows_of_file(path: Any, columns: Sequence[Any] | None) -> list[_Row]:
    """The words and tags of a text file."""
    lines = [(number, line.strip("\r\n")) for number, line in text_lines(path) if line.strip()]
    if not lines:
        return []
    mark = _mark_of([line for _, line in lines])
    without = [(number, line.strip()) for number, line in lines if mark not in line]
    if without:
        what = f"are not a word, {_MARKS[mark]}, and its tags"
        raise _wrong_rows(str(path), without, len(lines), what)
    # Among tabs a quote alone is a word, unless all that are there stand around cells.
    cells_of_tabs = [cell for _, line in lines for cell in line.split("\t") if cell[:1] == '"']
    is_quoted = mark != "\t" or all(len(c) > 2 and c[-1] == '"' for c in cells_of_tabs)
    quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if is_quoted else csv.QUOTE_NONE
    fields = [
        (number, [cell.strip(" ") for cell in cells])
        for number, line in lines
        for cells in csv.reader([line], delimiter=mark, quoting=quoting)
    ]
    for _, cells in fields:
        while len(cells) > 2 and not cells[-1]:
            cells.pop()
    first = fields[0][1]
    width = max(len(first), Counter(len(cells) for _, cells in fields).most_common(1)[0][0])
    asked = columns and [_plain_name(column) for column in columns]
    names = list(map(_plain_name, first))
    if asked and set(asked) <= set(_UNIMORPH) and not set(asked) & set(names):
        features = [cells[2] for _, cells in fields if len(cells) in (3, 4)]
        if 2 * len(features) > len(fields) and 2 * sum(map(_is_bundle, features)) > len(features):
            asked = [_UNIMORPH.index(column) for column in asked]
    places = _places(names, width, asked)
    if places is None:
        raise ValueError(f"{path} has {width} fields a line, such as {first!r}: {_SAY_WHICH}")
    more = [(number, cells) for number, cells in fields if len(cells) > width]
    if more and columns is None:
        what = f"have more than {width} fields"
        raise _wrong_rows(str(path), more, len(fields), what)
    heads = {names[place] for place in places if place < len(names)} & {*_WORDS, *_TAGS}
    is_header = len(heads) == 2 or bool(asked and set(asked) & set(names))
    rows = [
        _Row(number, *(cells[place] if place < len(cells) else "" for place in places))
        for number, cells in fields[is_header:]
    ]
    once = [tag for tag, n in Counter(row.tags for row in rows).items() if n == 1]
    if not is_header and (heads or (len(rows) >= _MANY and once == [rows[0].tags])):
        head = tuple(first[place] for place in places)
        warn([f"{path}: is the first line, {head!r}, a header? Then name it, columns={head!r}"])
    return rows


def _plain_name(column: Any) -> Any:
    """The name of a column without case and marks."""
    return re.sub(r"[\W_]", "", column.casefold()) if isinstance(column, str) else column


def _is_bundle(features: str) -> bool:
    """Whether a field looks like UniMorph's: ``V;IND;PRS``, or ``ADV``."""
    return ";" in features or features.isupper()


def _mark_of(lines: Sequence[str]) -> str:
    """What stands between the columns: a tab, or what comes first in most lines of the others."""
    if 2 * sum("\t" in line for line in lines) > len(lines):
        return "\t"
    firsts = Counter(found[0] for line in lines if (found := re.search("[;,]", line)))
    mark, n = firsts.most_common(1)[0] if firsts else ("\t", 0)
    return mark if 2 * n > len(lines) else "\t"


def _places(
    names: Sequence[Any], width: int, columns: Sequence[Any] | None
) -> tuple[int, int] | None:
    """Where words and tags are; None where nothing tells. A file's names are those of a header."""
    if columns is not None:
        found = [
            names.index(column) if column in names else column
            for column in columns
            if column in names or (isinstance(column, int) and -1 < column < width)
        ]
        return (found[0], found[1]) if len(found) == 2 else None
    texts = [_plain_name(str(name)) for name in names]
    of_words, of_tags = (
        [i for i, text in enumerate(texts) if text in usual] for usual in (_WORDS, _TAGS)
    )
    if len(of_words) == len(of_tags) == 1:
        return of_words[0], of_tags[0]
    # One name that is known tells the other, where it is in its place.
    is_odd = of_words not in ([], [0]) or of_tags not in ([], [1])
    return None if width != 2 or is_odd else (0, 1)


def _tags_in(name: str, texts: Counter[str]) -> dict[str, tuple[str, ...]]:
    """The tags that texts hold, as `read_dictionary` says; how often each text comes tells."""
    pieces = {text: (text,) if "=" in text else _parts(text, _BETWEEN_TAGS) for text in texts}
    uses: Counter[str] = Counter()
    for text, times in texts.items():
        uses.update(dict.fromkeys(pieces[text], times))
    alone = {piece for piece in uses if not _BETWEEN_KNOWN.search(piece)}
    parts: dict[str, tuple[str, ...]] = {}
    unclear = []
    for piece, times in uses.items():
        some, codes = _parts(piece, _BETWEEN_KNOWN), _parts(piece, _BLANK)
        is_code = piece.isupper() and ";" not in piece
        parts[piece] = (piece,)
        if "=" not in piece and len(set(some)) > 1 and alone.issuperset(some):
            parts[piece] = some
        elif is_code and "=" not in piece and len(codes) > 1 and times < _OFTEN:
            parts[piece] = codes
        elif len(codes) > 1 and (is_code or times < _OFTEN):
            unclear.append(piece)
    if unclear:
        raise ValueError(
            f"{name}: blanks may be between tags or within one in {len(unclear)} entries, such as "
            f"{unclear[:5]!r}: say separator=' ', or what else stands between tags, such as ',', "
            "or '' where each entry is one tag"
        )
    return {text: tuple(tag for piece in pieces[text] for tag in parts[piece]) for text in texts}
