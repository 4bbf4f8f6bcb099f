"""Files with a token a line in columns: CoNLL-U, CoNLL-X, and NLTK's words with tags and heads."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple

COLUMNS: tuple[str, ...] = (
    "id",
    "form",
    "lemma",
    "upos",
    "xpos",
    "feats",
    "head",
    "deprel",
    "deps",
    "misc",
)
# NLTK's files have a word, its tag and its head, with or without a relation.
_NLTK_COLUMNS = ("form", "xpos", "head", "deprel")
# A token, or with a second number a multiword range (1-2) or an empty node (1.1).
_ID = re.compile(r"(\d+)([-.]\d+)?")


class Token(NamedTuple):
    """A row that stands for a word of its own."""

    place: str  # file and line
    number: int  # by which heads call it
    cells: dict[str, str]  # by the name of the column

    def value(self, column: str) -> str | None:
        """What stands in a column; None where nothing does. A word may be an underline."""
        cell = self.cells[column]
        return cell if column == "form" else None if cell in ("_", "") else cell


def sentences_in(
    lines: Iterable[tuple[int, str]], path: str, needed: tuple[str, ...]
) -> Iterator[list[Token]]:
    """Tokens of each sentence of numbered lines that have these columns.

    Comments, ranges and empty nodes are skipped; one comment may name other columns (CoNLL-U
    Plus). Rows may be longer than the columns, or shorter. NLTK's are read where heads are needed.
    """
    tokens: list[Token] = []
    n_sentences, columns = 0, COLUMNS
    # An empty line ends a sentence, and so does the end of the file.
    for number, line in chain(lines, [(0, "")]):
        text = line.strip(" \r\n")
        if text.startswith("# global.columns ="):
            columns = tuple(text.partition("=")[2].lower().split())
        if text.strip():
            place = f"{path}, line {number}"
            token = _token(text, place, columns, len(tokens) if "head" in needed else None)
            if token is None:
                continue
            lacking = [column for column in needed if column not in token.cells]
            if lacking:
                raise ValueError(
                    f"{path}, sentence {n_sentences}: no column {lacking[0]!r}; line {number} has "
                    + ", ".join(token.cells)
                )
            if tokens and token.number <= tokens[-1].number:
                raise ValueError(
                    f"{place}: the id {token.number} comes after {tokens[-1].number}: ids go up "
                    "within a sentence, and an empty line ends it"
                )
            tokens.append(token)
        elif tokens:
            yield tokens
            tokens, n_sentences = [], n_sentences + 1


def _token(text: str, place: str, columns: tuple[str, ...], n_before: int | None) -> Token | None:
    """The token of a row; None for a comment, a range or an empty node.

    Rows of NLTK are none where the number of tokens before is None.
    """
    fields = re.split(r"\t" if "\t" in text else r" {2,}", text)
    if n_before is not None and _has_nltk_columns(fields):
        cells = dict(zip(_NLTK_COLUMNS, fields, strict=False))
        return Token(place, n_before + 1, cells | {"upos": cells["xpos"]})
    # A word of NLTK's may be "#".
    if text.startswith("#"):
        return None
    match = _ID.fullmatch(fields[0])
    if match is None or len(fields) == 1 or not fields[1]:
        raise ValueError(
            f"{place}: {text[:60]!r} is no row of CoNLL-U, where tabs stand between a number, a "
            f"word, and further columns; it has {len(fields)} columns"
        )
    cells = dict(zip(columns, fields, strict=False))
    return None if match[2] else Token(place, int(match[1]), cells)


def _has_nltk_columns(fields: list[str]) -> bool:
    """Whether columns are a word, its tag, its head and perhaps a relation."""
    if len(fields) not in (3, 4):
        return False
    word, _, head = fields[:3]
    is_comment = word.startswith("#") and head != "_"
    return head.isdecimal() or not (is_comment or _ID.fullmatch(word))
