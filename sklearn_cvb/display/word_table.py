"""Words whose tags are worth a look: a table to save, to correct and to read back."""

import csv
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np

from sklearn_cvb.chain.tags.knowledge import TagKnowledge
from sklearn_cvb.display.svg import escaped
from sklearn_cvb.display.texts import padded, text_of_one
from sklearn_cvb.messages import did_you_mean, warn
from sklearn_cvb.reading.corpus import is_missing
from sklearn_cvb.reading.dictionary import is_weighted

# What the tag that is usual for a word gets, if it is named; the others share the rest.
_USUAL = 0.9
# What spreadsheets put between cells; which of them depends on the country.
_DELIMITERS = ",;\t"
# How much of a table is shown: rows, tags, and characters of an example on each side of its word.
_ROWS, _TAGS, _AROUND = 60, 5, 20


class WordToCheck(NamedTuple):
    """A word and its tags.

    Attributes
    ----------
    word : str
    usual : str
        The tag that most uses have; empty where nobody has said it.
    tags : tuple of str
        The tags it may take: delete those that are wrong, add those that are missing.
    shares : tuple of float
        The share of its uses that the fit gives each tag; a file has them as ``NOUN=0.750``.
    uses : int
        How often it occurs.
    example : str
        A sentence that has it.
    """

    word: Any
    usual: Any
    tags: tuple[Any, ...]
    shares: tuple[Any, ...] = ()
    uses: int = 0
    example: str = ""


class WordTable:
    """Words to check, the one with the most at stake first.

    ``words_to_check`` of a fitted tagger makes one.

    Parameters
    ----------
    rows : iterable of WordToCheck

    Examples
    --------
    >>> from sklearn_cvb import WordTable, tag_dictionary_from
    >>> from sklearn_cvb.display.word_table import WordToCheck
    >>> table = WordTable([WordToCheck("a", "DT", ("DT", "LS")), WordToCheck("of", "", ("IN",))])
    >>> tag_dictionary_from(table)
    {'a': {'DT': 0.9, 'LS': 0.1}, 'of': ('IN',)}
    """

    def __init__(self, rows: Iterable[WordToCheck]) -> None:
        self.rows: list[WordToCheck] = list(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[WordToCheck]:
        return iter(self.rows)

    def __getitem__(self, index: int) -> WordToCheck:
        return self.rows[index]

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Save the table; any spreadsheet opens it. Tags stand in one cell, with spaces between.

        Parameters
        ----------
        path : path-like

        Raises
        ------
        ValueError
            If a tag is no string, or has spaces.
        """
        for row in self.rows:
            odd = [tag for tag in row.tags if not isinstance(tag, str) or tag.split() != [tag]]
            if odd:
                raise ValueError(
                    f"the tag {odd[0]!r} of {row.word!r} cannot stand in a file: tags must be "
                    "strings without spaces, such as "
                    f"{'_'.join(str(odd[0]).split())!r}: write them so in the dictionary"
                )
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(WordToCheck._fields)
            for row in self.rows:
                shares = " ".join(_with_shares(row, "{}={:.3f}"))
                tags = " ".join(row.tags)
                writer.writerow([row.word, row.usual, tags, shares, row.uses, row.example])

    @classmethod
    def read_csv(cls, path: str | PathLike[str], *, classes: Collection[Any] | None = None) -> Self:
        """Read a table that was saved and corrected, with commas, semicolons or tabs.

        Parameters
        ----------
        path : path-like
        classes : collection of str, default=None
            The tags that there are, such as ``classes_`` of the tagger; None for those that the
            table had when it was saved. Others are accepted with a warning that names the nearest.

        Raises
        ------
        ValueError
            If the columns are others, a row has more cells, a word has no tag, or its usual tag is
            none of its tags.
        """
        rows: list[WordToCheck] = []
        before = set() if classes is None else set(map(str, classes))
        with open(path, encoding="utf-8-sig", newline="") as file:
            header = file.readline()
            file.seek(0)
            reader = csv.DictReader(file, delimiter=max(_DELIMITERS, key=header.count))
            lacking = [
                name for name in WordToCheck._fields[:3] if name not in (reader.fieldnames or ())
            ]
            if lacking:
                raise ValueError(
                    f"{path} has no column {lacking[0]!r}: save it with to_csv, as CSV; "
                    "word lists are read by sklearn_cvb.datasets.read_dictionary"
                )
            for row in reader:
                if None in row:
                    raise ValueError(
                        f"{path}, line {reader.line_num}: {row['word']!r} has more cells than "
                        "there are columns: put blanks between tags, and quotes around a cell "
                        "that holds the mark between cells"
                    )
                tags, usual = tuple((row["tags"] or "").split()), (row["usual"] or "").strip()
                if not tags or (usual and usual not in tags):
                    raise ValueError(
                        f"{path}, line {reader.line_num}: {row['word']!r} has the tags {tags} and "
                        f"the usual tag {usual!r}, which must be one of them, or empty"
                    )
                rows.append(WordToCheck(row["word"], usual, tags))
                if classes is None:
                    shares = (row.get("shares") or "").split()
                    before.update(share.rpartition("=")[0] for share in shares)
        before.discard("")
        if before:
            warn(_new_tags(path, rows, before))
        return cls(rows)

    def entries(self) -> dict[Any, Any]:
        """Entries of a tag dictionary: lists of tags, with shares where the usual one is named."""
        entries: dict[Any, Any] = {}
        for row in self.rows:
            others = [tag for tag in row.tags if tag != row.usual]
            if row.usual not in row.tags:
                entries[row.word] = row.tags
            elif not others:
                entries[row.word] = {row.usual: 1.0}
            else:
                rest = dict.fromkeys(others, round((1 - _USUAL) / len(others), 6))
                entries[row.word] = {row.usual: _USUAL} | rest
        return entries

    def __repr__(self) -> str:
        """The rows as lines of a terminal."""
        columns = [padded(column) for column in zip(*self._cells(), strict=True)]
        lines = ["  ".join(cells).rstrip() for cells in zip(*columns, strict=True)]
        return "\n".join([*lines, *self._rest()])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        names, *rows = self._cells()
        lines = ["<tr>" + "".join(f"<th>{name}</th>" for name in names) + "</tr>"]
        lines += [
            "<tr>" + "".join(f"<td>{escaped(cell)}</td>" for cell in row) + "</tr>" for row in rows
        ]
        rest = "".join(f"<p>{line}</p>" for line in self._rest())
        return f'<div style="overflow-x:auto"><table>{"".join(lines)}</table>{rest}</div>'

    def _cells(self) -> list[list[str]]:
        """Names of columns, and the texts of each row that is shown."""
        cells = [["word", "usual", "tags", "uses", "example"]]
        for row in self.rows[:_ROWS]:
            tags = _with_shares(row, "{} {:.2f}") or list(map(str, row.tags))
            n_more = len(tags) - _TAGS
            listed = ", ".join(tags[:_TAGS]) + (f" and {n_more} more" if n_more > 0 else "")
            shown = (row.word, row.usual, listed, row.uses, _context_of(row.word, row.example))
            cells.append([text_of_one(value) for value in shown])
        return cells

    def _rest(self) -> list[str]:
        n_more = len(self.rows) - _ROWS
        return [f"and {n_more} more words"] if n_more > 0 else []


def _with_shares(row: WordToCheck, form: str) -> list[str]:
    """Each tag with its share; nothing where no fit has said it."""
    return [form.format(tag, share) for tag, share in zip(row.tags, row.shares, strict=False)]


def _context_of(word: Any, example: str) -> str:
    """The part of a sentence that has the word."""
    before, found, after = f" {example} ".partition(f" {word} ")
    if not found:
        return example
    left = f"...{before[-_AROUND:].strip()}" if len(before) > _AROUND + 3 else before
    right = f"{after[:_AROUND].strip()}..." if len(after) > _AROUND + 3 else after
    return f"{left}{found}{right}".strip()


def _new_tags(
    path: str | PathLike[str], rows: list[WordToCheck], before: Collection[str]
) -> list[str]:
    """The warning of tags that were not there; none where all were."""
    new: dict[str, Any] = {}
    for row in rows:
        for tag in row.tags:
            if tag not in before:
                new.setdefault(tag, row.word)
    if not new:
        return []
    some = [
        f"{tag!r} of {word!r}{did_you_mean(tag, before)}" for tag, word in list(new.items())[:5]
    ]
    return [
        f"{path} has {len(new)} tags that were not there before: {', '.join(some)}; each becomes "
        "a tag of its own: correct the file where it is a slip"
    ]


def words_at_stake(
    sentences: Iterable[Sequence[Any]], tags: Any, checked: Collection[Any], n: int
) -> list[tuple[Any, int, str]]:
    """The words with the largest product of uses and tags: word, uses and a sentence with it."""
    uses: Counter[Any] = Counter()
    seen: dict[Any, Any] = {}
    for sentence in sentences:
        for word in sentence:
            if not is_missing(word):
                seen.setdefault(word, sentence)
                uses[word] += 1
    stakes = {word: count * len(tags(word)) for word, count in uses.items() if word not in checked}
    chosen = [word for word in stakes if len(tags(word)) > 1]
    chosen.sort(key=lambda word: -stakes[word])
    return [(word, uses[word], " ".join(map(str, seen[word]))) for word in chosen[:n]]


def words_to_check(knowledge: TagKnowledge, emission: Any, X: Any, n: int) -> WordTable:
    """The words with the most uses times tags, given the expected counts of all words."""
    legal = knowledge.legal
    checked = {word for word, entry in legal.tag_dictionary.items() if is_weighted(entry)}
    rows = []
    for word, uses, example in words_at_stake(X, legal.row, checked, n):
        # The share of its uses that the fit gives each tag of the word; equal if new.
        states = legal.row(word)
        shares = np.full(len(states), 1 / len(states))
        if word in knowledge.index:
            row = emission[[knowledge.index[word]]]
            counts = np.asarray(row.todense() if hasattr(row, "todense") else row).ravel()[states]
            shares = counts / counts.sum() if counts.sum() > 0 else shares
        order = np.argsort(-shares, kind="stable")
        tags = tuple(knowledge.classes[states[order]].tolist())
        rows.append(WordToCheck(word, "", tags, tuple(shares[order].tolist()), uses, example))
    return WordTable(rows)
