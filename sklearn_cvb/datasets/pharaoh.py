"""Links as text, a line for each sentence pair: ``0-0 1-2 2p1`` (source-target, from 0)."""

import re
from collections.abc import Iterable
from os import PathLike
from typing import Any

from sklearn_cvb.alignment.links import Link, links_from
from sklearn_cvb.reading.text_files import text_lines
from sklearn_cvb.reading.validation import Folder

_LINK = re.compile(r"(\d+)([-p?])(\d+)")


def to_pharaoh(alignments: Iterable[Any], possible: Iterable[Any] | None = None) -> list[str]:
    """Write links in the form of Pharaoh, which Moses, fast_align and eflomal share.

    Parameters
    ----------
    alignments : iterable
        For each sentence pair links (source, target), the source position of each target word as
        `predict` gives it, or a table of link posteriors.
    possible : iterable or None, default=None
        For each sentence pair links that are possible, but not sure. They are written ``1p2``.

    Returns
    -------
    list of str
        A line for each pair, without its end. Target words without a source are not in it.

    Raises
    ------
    ValueError
        If numbers of pairs differ.

    Examples
    --------
    >>> from sklearn_cvb import to_pharaoh
    >>> to_pharaoh([[0, -1, 1], [(1, 0), (0, 1)]])
    ['0-0 1-2', '0-1 1-0']
    >>> to_pharaoh([[(0, 0)]], possible=[[(1, 2)]])
    ['0-0 1p2']
    """
    sure = list(alignments)
    others = [()] * len(sure) if possible is None else list(possible)
    if len(others) != len(sure):
        raise ValueError(f"alignments holds {len(sure)} sentence pairs but possible {len(others)}")
    lines = []
    for i, (given, extra) in enumerate(zip(sure, others, strict=True)):
        marks = dict.fromkeys(links_from(extra, f"possible[{i}]"), "p")
        marks |= dict.fromkeys(links_from(given, f"alignments[{i}]"), "-")
        lines.append(" ".join(f"{a}{mark}{b}" for (a, b), mark in sorted(marks.items())))
    return lines


def read_pharaoh(lines: Folder | Iterable[str], *, possible: bool = False) -> list[list[Link]]:
    """Read links in the form of Pharaoh.

    Gold alignments may have possible links beside the sure ones, written ``1p2`` or ``1?2``, which
    `alignment_error_rate` knows how to count.

    Parameters
    ----------
    lines : path-like or iterable of str
        A file (compressed if its name ends in .gz, .bz2 or .xz), or its lines.
    possible : bool, default=False
        Whether to give the possible links instead of the sure ones.

    Returns
    -------
    list of list of tuple (source, target)
        For each line its links, sorted; positions count from 0.

    Raises
    ------
    ValueError
        If a line holds something else.

    Examples
    --------
    >>> from sklearn_cvb import read_pharaoh
    >>> read_pharaoh(["0-0 1-2", ""])
    [[(0, 0), (1, 2)], []]

    Sure and possible links of a gold alignment:

    >>> from sklearn_cvb.metrics import alignment_error_rate
    >>> gold = ["0-0 1p2"]
    >>> read_pharaoh(gold), read_pharaoh(gold, possible=True)
    ([[(0, 0)]], [[(1, 2)]])
    >>> found = [[(0, 0), (1, 2)]]
    >>> alignment_error_rate(read_pharaoh(gold), found, read_pharaoh(gold, possible=True))
    0.0
    """
    numbered: Iterable[tuple[int, str]]
    if isinstance(lines, str | PathLike):
        numbered = text_lines(lines)
    else:
        numbered = enumerate(lines, 1)
    pairs = []
    for number, line in numbered:
        links = []
        for part in line.split():
            match = _LINK.fullmatch(part)
            if match is None:
                raise ValueError(
                    f"line {number} holds {part!r}: links are written source-target, such as 0-2, "
                    "and possible ones 0p2 or 0?2"
                )
            if possible == (match[2] != "-"):
                links.append((int(match[1]), int(match[3])))
        pairs.append(sorted(links))
    return pairs
