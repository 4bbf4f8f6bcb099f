"""Word lists: files, tables and Series of words and their tags become a tag dictionary."""

import csv
import os
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from sklearn_cvb.messages import warn
from sklearn_cvb.reading.corpus import (
    as_list,
    is_missing,
    names_of_columns,
    short_repr,
    sorted_types,
)
from sklearn_cvb.reading.text_files import text_lines
from sklearn_cvb.reading.validation import HasMethods

# What a word list may be, as a parameter.
WORD_LISTS = (dict, str, os.PathLike, HasMethods(["items"]), HasMethods(["__dataframe__"]))

# What columns of words and of tags are usually called.
_WORDS = ("word", "words", "form", "token", "wordform")
_TAGS = ("tag", "tags", "pos", "upos", "class", "category", "features")
# Lists without a header whose columns are known by the number of fields: UniMorph's.
_WITHOUT_HEADER = {3: ("lemma", "form", "features")}
_SAY_WHICH = 'say which are the words and their tags, as columns=("form", "pos") or columns=(0, 2)'
# What may stand between the columns of a file.
_MARKS = {"\t": "a tab", ";": "a semicolon", ",": "a comma"}

# These stand between tags, but for features such as ``Case=Nom|Number=Sing``.
_BETWEEN_TAGS = re.compile(r"\s*[,|]\s*|\s*;\s+|\s+/\s+")
# So do these, where each part is a tag elsewhere: not in UniMorph's ``V;IND;PRS``.
_BETWEEN_KNOWN = re.compile(r"\s*[;/]\s*|\s+")
# A name such as "proper noun" comes at least so often.
_OFTEN = 3
# Among so many lines a first one with a tag of its own may be a header.
_MANY = 10


def entries_of(value: Any) -> dict[Any, Any]:
    """The entries of a `tag_dictionary`: a dict, or what `read_dictionary` reads."""
    return value if isinstance(value, dict) else {} if value is None else read_dictionary(value)


class _Row(NamedTuple):
    """A word and its tags as they stand in a row, from 1."""

    number: int
    word: Any
    tags: Any


def read_dictionary(
    source: Any, *, columns: Sequence[Any] | None = None, separator: str | None = None
) -> dict[Any, tuple[Any, ...]]:
    """Read a word list: a word and its tags a line, or a line for each pair of word and tag.

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
        What stands between the tags of a word. None to find out: commas, bars, semicolons before
        blanks; semicolons, slashes and blanks, where all that they separate are tags elsewhere in
        the list, or where text has no small letters. ``proper noun``, which comes often, is one.

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
    if columns is not None and (isinstance(columns, str) or len(columns) != 2):
        raise ValueError(f"columns are two, of words and of tags, got {short_repr(columns)}")
    name = "the list"
    if hasattr(source, "columns"):
        rows = _rows_of_frame(source, columns)
    elif hasattr(source, "items"):
        rows = [_Row(number, *pair) for number, pair in enumerate(source.items(), 1)]
    else:
        name, rows = str(source), _rows_of_file(source, columns)
    wrong = [row for row in rows if _is_nothing(row.word) or _is_nothing(row.tags)]
    if wrong:
        cells = [(number, (word, tags)) for number, word, tags in wrong]
        raise _wrong_rows(name, cells, len(rows), "have no word, or no tag")
    texts = Counter(row.tags for row in rows if isinstance(row.tags, str))
    tags_in = {text: tuple(text.split(separator)) for text in texts} if separator else {}
    if separator is None:
        tags_in = _tags_in(name, texts)
    entries: dict[Any, set[Any]] = {}
    for _, word, tags in rows:
        found = tags_in[tags] if isinstance(tags, str) else as_list(tags) or (tags,)
        entries.setdefault(word, set()).update(found)
    return {word: tuple(sorted_types(tags)) for word, tags in entries.items()}


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
    mark = next((m for m in _MARKS if 2 * sum(m in line for _, line in lines) > len(lines)), "\t")
    without = [(number, line.strip()) for number, line in lines if mark not in line]
    if without:
        what = f"are not a word, {_MARKS[mark]}, and its tags"
        raise _wrong_rows(str(path), without, len(lines), what)
    # Quotes are words where there are tabs.
    quoting: Literal[0, 3] = csv.QUOTE_NONE if mark == "\t" else csv.QUOTE_MINIMAL
    fields = [
        (number, [cell.strip(" ") for cell in cells])
        for number, line in lines
        for cells in csv.reader([line], delimiter=mark, quoting=quoting)
    ]
    width = Counter(len(cells) for _, cells in fields).most_common(1)[0][0]
    first = fields[0][1]
    names = [cell.casefold() for cell in first]
    asked = columns and [c.casefold() if isinstance(c, str) else c for c in columns]
    places = _places(names, width, asked)
    if places is None:
        raise ValueError(f"{path} has {width} fields a line, such as {first!r}: {_SAY_WHICH}")
    more = [(number, cells) for number, cells in fields if len(cells) > width]
    if more and columns is None:
        what = f"have more than {width} fields"
        raise _wrong_rows(str(path), more, len(fields), what)
    is_header = {names[place] for place in places if place < len(names)} <= {*_WORDS, *_TAGS}
    is_header |= any(isinstance(column, str) and column in names for column in asked or ())
    rows = [
        _Row(number, *(cells[place] if place < len(cells) else "" for place in places))
        for number, cells in fields[is_header:]
    ]
    counts = Counter(row.tags for row in rows)
    once = [tag for tag, n in counts.items() if n == 1]
    if not is_header and len(rows) >= _MANY and once == [rows[0].tags]:
        warn(
            [
                f"{path}: no other line has the tag {rows[0].tags!r} of the first: if this is a "
                f"header, name it, columns={tuple(first[place] for place in places)!r}"
            ]
        )
    return rows


def _places(
    names: Sequence[Any], width: int, columns: Sequence[Any] | None
) -> tuple[int, int] | None:
    """Where words and tags are; None where nothing tells. A file's names are those of a header."""
    if columns is not None:
        without_header = _WITHOUT_HEADER.get(width, ())
        places = []
        for column in columns:
            if isinstance(column, int) and column not in names:
                places.append(column)
            elif column in names or column in without_header:
                places.append((names if column in names else without_header).index(column))
        found = places if len(places) == 2 and max(places) < width else []
    else:
        texts = [str(name).casefold() for name in names]
        usual = [[i for i, text in enumerate(texts) if text in names] for names in (_WORDS, _TAGS)]
        found = [places[0] for places in usual if len(places) == 1]
        if len(found) != 2:
            found = [0, 1] if width == 2 else []
    return (found[0], found[1]) if found else None


def _tags_in(name: str, texts: Counter[str]) -> dict[str, tuple[str, ...]]:
    """The tags that texts hold, as `read_dictionary` says; how often each text comes tells."""
    pieces = {
        text: (text,) if "=" in text else tuple(filter(None, _BETWEEN_TAGS.split(text)))
        for text in texts
    }
    uses: Counter[str] = Counter()
    for text, times in texts.items():
        uses.update(dict.fromkeys(pieces[text], times))
    alone = {piece for piece in uses if not _BETWEEN_KNOWN.search(piece)}
    parts, unclear = {}, []
    for piece, times in uses.items():
        some = tuple(filter(None, _BETWEEN_KNOWN.split(piece)))
        is_code = piece == piece.upper() and ";" not in piece
        if "=" not in piece and (is_code or alone.issuperset(some)):
            parts[piece] = some
        else:
            parts[piece] = (piece,)
            if times < _OFTEN and " " in piece:
                unclear.append(piece)
    if unclear:
        raise ValueError(
            f"{name}: blanks may be between tags or within one in {len(unclear)} entries, such as "
            f"{unclear[:5]!r}: say separator=' ', or what else stands between tags, such as ','"
        )
    return {text: tuple(tag for piece in pieces[text] for tag in parts[piece]) for text in texts}
