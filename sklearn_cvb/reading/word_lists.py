"""Word lists: files, tables and Series of words and their tags become a tag dictionary."""

import csv
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sklearn_cvb.messages import warn
from sklearn_cvb.reading.corpus import (
    as_list,
    is_missing,
    refuse_lazy,
    short_repr,
    sorted_types,
    unique_names_of_columns,
)
from sklearn_cvb.reading.dictionary import tags_of
from sklearn_cvb.reading.text_files import text_lines
from sklearn_cvb.reading.validation import HasMethods

# What a word list may be, as a parameter.
_METHODS = ("items", "__dataframe__", "collect")
WORD_LISTS = (dict, str, os.PathLike, *(HasMethods([name]) for name in _METHODS))

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

# Other formats by what is in their first lines, and the way in.
_TAGGED = "({path}), and then tag_dictionary_from(corpus.data, corpus.target)"
_OTHER_FORMATS = {
    r"\A(#.*\n)*1(-\d+)?\t\S[^\t]*(\t[^\t]*){6}": f"CoNLL-U: corpus = read_conllu{_TAGGED}",
    r"\A\S+/\S+( \S+/\S+)+$": f"tagged text: corpus = read_word_tag{_TAGGED}",
    r"\A(SET \S+|\d+)\s*$": "a dictionary of hunspell, whose flags say which endings words take, "
    "and no tags: make a table of words and tags of what unmunch writes",
    r"\A<[?!\w][^\t]*>$": "XML: a dictionary of Apertium is first written out by lt-expand",
    r"\A[^\t]+:[^\t]*<\w+>": "what lt-expand writes of Apertium's; words and tags are made of it "
    "by sed -E 's/:([<>]:)?[^<]*<([^>]*)>.*/\\t\\2/'",
    r'\A\s*[\[{]\s*[\[{"]': "JSON: pass pandas.read_json({path}, lines=True), and names of columns",
}
_EMPTY = "have no word, or no tag"
_NUMBERS = (
    "have a number and no tag, as lists of how often words occur do (where numbers are tags, "
    "read_dictionary(..., columns=(0, 1)))"
)
_NUMBER = re.compile(r"[+-]?\d[\d., ]*%?")

# These stand between tags, but for features such as ``Case=Nom|Number=Sing``.
_BETWEEN_TAGS = re.compile(r"\s*[,|]\s*|\s*;\s+|\s+/\s+")
# So do these, where each part is a tag elsewhere: not in UniMorph's ``V;IND;PRS``. Capitals are
# codes, which hold no blank.
_BETWEEN_KNOWN, _BLANK = re.compile(r"\s*[;/]\s*|\s+"), re.compile(r"\s+")
# Whether these do, who wrote the list must say: ``NOUN+VERB``, ``NOUN:3``.
_JOINED = re.compile(r"(?<=\w)([+&](?=\w)|:(?=\d+$))")
# A name such as "proper noun" comes at least so often.
_OFTEN = 3
# Among this many lines a first one with a tag of its own may be a header.
_MANY = 10


def entries_of(value: Any) -> dict[Any, Any]:
    """The entries of a `tag_dictionary`: a dict, or what `read_dictionary` reads."""
    return (value or {}) if isinstance(value, dict | None) else read_dictionary(value)


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
    refuse_lazy(source, "source")
    name = "the list"
    if hasattr(source, "columns"):
        rows = _rows_of_frame(source, columns)
    elif hasattr(source, "items"):
        rows = list(enumerate(source.items(), 1))
    elif isinstance(source, str | os.PathLike):
        name, rows = str(source), _rows_of_file(source, columns)
    else:
        raise TypeError(f"source is {short_repr(source)}: pass a path, a table or a Series")
    pairs = [cells for _, cells in rows]
    wrong, what = [row for row in rows if any(map(_is_nothing, row[1]))], _EMPTY
    if not wrong and columns is None:
        wrong, what = [row for row in rows if _NUMBER.fullmatch(str(row[1][1]).strip())], _NUMBERS
        wrong *= 2 * len(wrong) > len(rows)
    if wrong:
        raise _wrong_rows(name, wrong, len(rows), what)
    texts = Counter(tags for _, tags in pairs if isinstance(tags, str))
    if any(isinstance(tags, Mapping) for _, tags in pairs):
        return dict(pairs)  # how often each tag was seen
    if separator is None:
        tags_in = _tags_in(name, texts)
    else:
        tags_in = {text: _parts(text, separator) if separator else (text,) for text in texts}
    entries: dict[Any, set[Any]] = {}
    for word, tags in pairs:
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


def _rows_of_frame(frame: Any, columns: Sequence[Any] | None) -> list[Any]:
    """The words and tags of a table."""
    names = unique_names_of_columns(frame, "the table")
    what = f"the table has the columns {short_repr(names)}"
    head = tuple(names[place] for place in _places(names, len(names), columns, what))
    pairs = zip(*(as_list(frame[name]) or [] for name in head), strict=True)
    # Of tables that were joined each may have its own header.
    return [row for row in enumerate(pairs, 1) if row[1] != head]


def _rows_of_file(path: Any, columns: Sequence[Any] | None) -> list[Any]:
    """The words and tags of a text file."""
    lines = [(number, line.strip("\r\n")) for number, line in text_lines(path) if line.strip()]
    fields = _fields_of(str(path), lines, columns is not None)
    if not fields:
        return []
    first = fields[0][1]
    width = max(len(first), Counter(len(cells) for _, cells in fields).most_common(1)[0][0])
    asked = columns and [_plain_name(column) for column in columns]
    names = list(map(_plain_name, first))
    if asked and set(asked) <= set(_UNIMORPH) - set(names):
        features = [cells[2] for _, cells in fields if len(cells) in (3, 4)]
        if 2 * sum(";" in own or own.isupper() for own in features) > len(fields):
            asked = [_UNIMORPH.index(column) for column in asked]
    places = _places(names, width, asked, f"{path} has {width} fields a line, such as {first!r}")
    more = [(number, cells) for number, cells in fields if len(cells) > width]
    if more and columns is None:
        raise _wrong_rows(str(path), more, len(fields), f"have more than {width} fields")
    heads = {names[place] for place in places if place < len(names)} & {*_WORDS, *_TAGS}
    is_header = len(heads) == 2 or bool(asked and set(asked) & set(names))
    rows = [
        (number, tuple(cells[place] if place < len(cells) else "" for place in places))
        for number, cells in fields
        # Of files that were joined each may have its own.
        if not is_header or list(map(_plain_name, cells)) != names
    ]
    once = [tag for tag, n in Counter(tags for _, (_, tags) in rows).items() if n == 1]
    if not is_header and (heads or (len(rows) >= _MANY and once == [rows[0][1][1]])):
        head = tuple(first[place] for place in places)
        warn([f"{path}: is the first line, {head!r}, a header? Then name it, columns={head!r}"])
    return rows


def _fields_of(
    name: str, lines: Sequence[tuple[int, str]], is_said: bool
) -> list[tuple[int, list[str]]]:
    """The fields of numbered lines; without those that are empty at the end of a line.

    A tab stands between them, or what comes first in most lines of the others.
    """
    firsts = Counter(
        "\t" if "\t" in line else (re.search("[;,]", line) or "\t")[0] for _, line in lines
    )
    mark = max(firsts, key=firsts.__getitem__, default="\t")
    without = [(number, line.strip()) for number, line in lines if mark not in line]
    if without or not is_said:
        _refuse_other_formats(name, lines)
    if without:
        what = f"are not a word, {_MARKS[mark]}, and its tags"
        raise _wrong_rows(name, without, len(lines), what)
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
    return fields


def _refuse_other_formats(name: str, lines: Sequence[tuple[int, str]]) -> None:
    """Raise where the first lines of a file are of a format that has another way in."""
    text = "\n".join(line for _, line in lines[:50])
    for pattern, way in _OTHER_FORMATS.items():
        if re.search(pattern, text, re.MULTILINE):
            raise ValueError(f"{name} looks like {way.replace('{path}', repr(name))}")


def _plain_name(column: Any) -> Any:
    """The name of a column without case and marks."""
    return re.sub(r"[\W_]", "", column.casefold()) if isinstance(column, str) else column


def _places(
    names: Sequence[Any], width: int, columns: Sequence[Any] | None, what: str
) -> tuple[int, int]:
    """Where words and tags are; ValueError where nothing tells. A file's names are its first line.

    One usual name tells the other of two columns, where it is in its place.
    """
    texts = [_plain_name(str(name)) for name in names]
    found = [[i for i, text in enumerate(texts) if text in usual] for usual in (_WORDS, _TAGS)]
    if columns is not None:
        found = [
            [names.index(name)] if name in names else [name] * (name in range(width))
            for name in columns
        ]
    elif width == 2 and [] in found and found[0] in ([], [0]) and found[1] in ([], [1]):
        found = [[0], [1]]
    if list(map(len, found)) != [1, 1]:
        raise ValueError(f"{what}: {_SAY_WHICH}")
    return found[0][0], found[1][0]


def _tags_in(name: str, texts: Counter[str]) -> dict[str, tuple[str, ...]]:
    """The tags that texts hold, as `read_dictionary` says; how often each text comes tells."""
    pieces = {text: (text,) if "=" in text else _parts(text, _BETWEEN_TAGS) for text in texts}
    uses: Counter[str] = Counter()
    for text, times in texts.items():
        uses.update(dict.fromkeys(pieces[text], times))
    alone = {piece for piece in uses if not _BETWEEN_KNOWN.search(piece)}
    parts: dict[str, tuple[str, ...]] = {}
    unclear: dict[str, str] = {}
    for piece, times in uses.items():
        some, codes = _parts(piece, _BETWEEN_KNOWN), _parts(piece, _BLANK)
        is_code = piece.isupper() and ";" not in piece
        parts[piece] = (piece,)
        if "=" not in piece and len(set(some)) > 1 and alone.issuperset(some):
            parts[piece] = some
        elif is_code and "=" not in piece and len(codes) > 1 and times < _OFTEN:
            parts[piece] = codes
        elif len(codes) > 1 and (is_code or times < _OFTEN):
            unclear[piece] = " "
        elif "=" not in piece and (found := _JOINED.search(piece)):
            unclear[piece] = found[0]
    if unclear:
        mark = next(iter(unclear.values()))
        cure = f"separator={mark!r}, or what else stands between tags, such as ',', or "
        if mark == ":":
            cure = "how often each tag was seen in a dict, {'duck': {'NOUN': 3, 'VERB': 1}}, or "
        raise ValueError(
            f"{name}: {'blanks' if mark == ' ' else repr(mark)} may be between tags or within one "
            f"in {len(unclear)} entries, such as {list(unclear)[:5]!r}: say {cure}separator='' "
            "where each entry is one tag"
        )
    return {text: tuple(tag for piece in pieces[text] for tag in parts[piece]) for text in texts}
