"""Links as text, a line for each sentence pair: ``0-0 1-2 2-1`` (source-target, from 0)."""

import re
from collections.abc import Iterable
from os import PathLike

from sklearn_cvb.alignment.links import Link, links_of
from sklearn_cvb.reading.validation import Folder

_LINK = re.compile(r"(\d+)-(\d+)")


def to_pharaoh(alignments: Iterable) -> list[str]:
    """Write links in the form of Pharaoh, which Moses, fast_align and eflomal share.

    Parameters
    ----------
    alignments : iterable
        For each sentence pair links (source, target), the source position of each target word as
        `predict` gives it, or a table of link posteriors.

    Returns
    -------
    list of str
        A line for each pair, without its end. Target words without a source are not in it.

    Examples
    --------
    >>> from sklearn_cvb import to_pharaoh
    >>> to_pharaoh([[0, -1, 1], [(1, 0), (0, 1)]])
    ['0-0 1-2', '0-1 1-0']
    """
    lines = []
    for i, given in enumerate(alignments):
        links = sorted(links_of(given, f"alignments[{i}]"))
        lines.append(" ".join(f"{source}-{target}" for source, target in links))
    return lines


def read_pharaoh(lines: Folder | Iterable[str]) -> list[list[Link]]:
    """Read links in the form of Pharaoh.

    Parameters
    ----------
    lines : path-like or iterable of str
        A file (compressed if its name ends in .gz, .bz2 or .xz), or its lines.

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
    """
    numbered: Iterable[tuple[int, str]]
    if isinstance(lines, str | PathLike):
        # The corpora read links as well.
        from sklearn_cvb.datasets.readers import text_lines

        numbered = text_lines(lines)
    else:
        numbered = enumerate(lines, 1)
    found = []
    for number, line in numbered:
        links = []
        for part in line.split():
            match = _LINK.fullmatch(part)
            if match is None:
                raise ValueError(
                    f"line {number} holds {part!r}: links are written source-target, such as 0-2"
                )
            links.append((int(match[1]), int(match[2])))
        found.append(sorted(links))
    return found
