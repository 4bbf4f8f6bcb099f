"""Words whose tags are worth a look: a table to save, to correct and to read back."""

import csv
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from os import PathLike
from typing import Any, NamedTuple, Self

from sklearn_cvb.reading.corpus import is_missing

# What the tag that is usual for a word gets, if it is named; the others share the rest.
_USUAL = 0.9


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
        The share of its uses that the fit gives each tag; nothing reads it.
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

    Parameters
    ----------
    rows : iterable of WordToCheck

    Examples
    --------
    >>> from sklearn_cvb import tag_dictionary_from
    >>> from sklearn_cvb.chain.tags.word_review import WordTable, WordToCheck
    >>> table = WordTable([WordToCheck("a", "DT", ("DT", "LS")), WordToCheck("of", "", ("IN",))])
    >>> tag_dictionary_from(table)
    {'a': {'DT': 0.9, 'LS': 0.1}, 'of': ('IN',)}
    """

    def __init__(self, rows: Iterable[WordToCheck]) -> None:
        self.rows = list(rows)

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
                    "strings without spaces"
                )
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(WordToCheck._fields)
            for row in self.rows:
                shares = " ".join(f"{share:.3f}" for share in row.shares)
                tags = " ".join(row.tags)
                writer.writerow([row.word, row.usual, tags, shares, row.uses, row.example])

    @classmethod
    def read_csv(cls, path: str | PathLike[str]) -> Self:
        """Read a table that was saved and corrected.

        Parameters
        ----------
        path : path-like

        Raises
        ------
        ValueError
            If the columns are others, a word has no tag, or its usual tag is none of its tags.
        """
        rows = []
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            lacking = [
                name for name in WordToCheck._fields[:3] if name not in (reader.fieldnames or ())
            ]
            if lacking:
                raise ValueError(
                    f"{path} has no column {lacking[0]!r}: save it with to_csv, as CSV"
                )
            for row in reader:
                tags, usual = tuple((row["tags"] or "").split()), (row["usual"] or "").strip()
                if not tags or (usual and usual not in tags):
                    raise ValueError(
                        f"{path}, line {reader.line_num}: {row['word']!r} has the tags {tags} and "
                        f"the usual tag {usual!r}, which must be one of them, or empty"
                    )
                rows.append(WordToCheck(row["word"], usual, tags))
        return cls(rows)

    def entries(self) -> dict[Any, Any]:
        """Entries of a tag dictionary: lists of tags, with shares where the usual one is named."""
        found: dict[Any, Any] = {}
        for row in self.rows:
            others = [tag for tag in row.tags if tag != row.usual]
            if row.usual not in row.tags:
                found[row.word] = row.tags
            elif not others:
                found[row.word] = {row.usual: 1.0}
            else:
                rest = dict.fromkeys(others, round((1 - _USUAL) / len(others), 6))
                found[row.word] = {row.usual: _USUAL} | rest
        return found


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
