"""Links between the words of two sentences: read, written, and those of two directions joined."""

import re
from collections.abc import Iterable, Sequence
from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np

from sklearn_cvb.reading.corpus import as_list, is_missing, short_repr
from sklearn_cvb.reading.validation import Folder, check_choice

# What stands for the source of a target word that has none.
NO_SOURCE = -1

Link = tuple[int, int]

_FORM = "links are pairs (source position, target position), from 0"


def links_in(given: Any, name: str, sizes: tuple[int, int] | None = None) -> list[Link]:
    """Links of one sentence pair."""
    items = sorted(given, key=repr) if isinstance(given, set | frozenset) else as_list(given)
    if items is None:
        raise TypeError(f"{name} is {short_repr(given)} of type {type(given).__name__}: {_FORM}")
    found = []
    for item in items:
        ends = None if isinstance(item, str | bytes) else as_list(item)
        if ends is None or len(ends) != 2:
            raise TypeError(f"{name} holds {short_repr(item)}: {_FORM}")
        source = NO_SOURCE if is_missing(ends[0]) else ends[0]
        found.append((_position(source, item, name), _position(ends[1], item, name)))
        _check_range(found[-1], name, sizes)
    return found


def _position(value: Any, item: Any, name: str) -> int:
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole and not (isinstance(value, float | np.floating) and value == int(value)):
        raise TypeError(f"{name} holds {short_repr(item)}: {_FORM}")
    return int(value)


def _check_range(link: Link, name: str, sizes: tuple[int, int] | None) -> None:
    """Raise if an end of a link lies outside its sentence."""
    sides = zip(("source", "target"), link, (NO_SOURCE, 0), sizes or (None, None), strict=True)
    for side, position, lowest, size in sides:
        if position < lowest or (size is not None and position >= size):
            words = "" if size is None else f", and the {side} sentence has {size} words"
            raise ValueError(
                f"{name} holds the link {link}: its {side} position {position} is out of range"
                f"{words}; positions count from 0"
            )


def links_of_positions(positions: Iterable[Any]) -> list[Link]:
    """Links of one pair from the source position of each target word, as `predict` gives them."""
    return [(int(i), j) for j, i in enumerate(positions) if i != NO_SOURCE]


def links_of(given: Any, name: str) -> list[Link]:
    """Links of one pair: a collection of links, positions, or a table of link posteriors."""
    if isinstance(given, np.ndarray) and given.ndim == 2 and given.dtype.kind == "f":
        return links_of_positions(best_positions(given))
    items = None if isinstance(given, set | frozenset) else as_list(given)
    if items and all(isinstance(item, Integral) for item in items):
        return links_of_positions(items)
    return [link for link in links_in(given, name) if link[0] != NO_SOURCE]


def best_positions(table: np.ndarray) -> np.ndarray:
    """The most probable source of each target word, -1 for none."""
    best = table.argmax(axis=1)
    return np.where(best == table.shape[1] - 1, NO_SOURCE, best)


# Links as text, a line for each sentence pair: ``0-0 1-2 2p1`` (source-target, from 0)


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
        marks = dict.fromkeys(links_of(extra, f"possible[{i}]"), "p")
        marks |= dict.fromkeys(links_of(given, f"alignments[{i}]"), "-")
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
        Whether to give the possible links in place of the sure ones.

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
                    f"line {number} holds {part!r}: links are written source-target, such as 0-2, "
                    "and possible ones 0p2 or 0?2"
                )
            if possible == (match[2] != "-"):
                links.append((int(match[1]), int(match[3])))
        found.append(sorted(links))
    return found


# One alignment from those of both directions


_METHODS = "grow-diag-final-and", "intersection", "union", "product"
_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrize(
    forward: Sequence[Any],
    backward: Sequence[Any],
    method: str = "grow-diag-final-and",
    *,
    threshold: float = 0.3,
) -> list[list[Link]]:
    """Join the alignments of two models, one of either direction.

    Parameters
    ----------
    forward : sequence
        For each sentence pair what a model of (source, target) says: the source position of each
        target word, as `predict` gives it, links (source, target), or a table of link posteriors,
        as `predict_proba` gives it.
    backward : sequence
        The same of a model of (target, source): its links are (target, source).
    method : str, default="grow-diag-final-and"
        "intersection" or "union" of the links. "grow-diag-final-and" (Koehn, Och and Marcu 2003):
        the intersection; then links of the union beside a link, diagonally as well, of which a word
        has none yet; then links of which both words have none. "product": links whose posteriors
        have a geometric mean above `threshold`; needs tables.
    threshold : float, default=0.3
        Of the product, from 0 to 1.

    Returns
    -------
    list of list of tuple (source, target)
        Positions count from 0.

    Raises
    ------
    ValueError
        If numbers of pairs or shapes of tables differ, or the method is another one.
    TypeError
        If "product" is given something else than tables.

    References
    ----------
    Och and Ney (2003), "A systematic comparison of various statistical alignment models",
    Computational Linguistics 29.
    Liang, Taskar and Klein (2006), "Alignment by agreement", NAACL, for the product.

    Examples
    --------
    >>> from sklearn_cvb import symmetrize
    >>> symmetrize([[0, 0, 1]], [[0, 2]], "intersection")
    [[(0, 0), (1, 2)]]
    >>> symmetrize([[0, 0, 1]], [[0, 2]])
    [[(0, 0), (0, 1), (1, 2)]]
    """
    check_choice("method", method, _METHODS)
    if len(forward) != len(backward):
        raise ValueError(
            f"forward holds {len(forward)} sentence pairs but backward {len(backward)}"
        )
    found = []
    for i, (one, other) in enumerate(zip(forward, backward, strict=True)):
        if method == "product":
            means = agreement(one, other, i)
            links = list(zip(*map(np.ndarray.tolist, np.nonzero(means > threshold)), strict=True))
        else:
            ours = set(links_of(one, f"forward[{i}]"))
            theirs = {(a, b) for b, a in links_of(other, f"backward[{i}]")}
            links = list(_joined(ours, theirs, method))
        found.append(sorted(links))
    return found


def agreement(forward: Any, backward: Any, i: int) -> np.ndarray:
    """Geometric means of the link posteriors of both directions."""
    for name, table in (("forward", forward), ("backward", backward)):
        if getattr(table, "ndim", 0) != 2:
            raise TypeError(
                f"{name}[{i}] is no table of link posteriors: give what predict_proba gives, or "
                "another method"
            )
    if forward.shape != (backward.shape[1] - 1, backward.shape[0] + 1):
        raise ValueError(
            f"forward[{i}] has shape {forward.shape}, which does not fit backward's "
            f"{backward.shape}: n_target x (n_source + 1) and n_source x (n_target + 1)"
        )
    return np.sqrt(forward[:, :-1].T * backward[:, :-1])


def _joined(forward: set[Link], backward: set[Link], method: str) -> set[Link]:
    """Links of two directions by one of the methods that need no posteriors."""
    if method == "intersection":
        return forward & backward
    if method == "union":
        return forward | backward
    found = forward & backward
    _grow(found, forward | backward)
    # "Final": what is left of either direction, where both words have no link.
    for links in (forward, backward):
        for source, target in sorted(links):
            if all(source != a and target != b for a, b in found):
                found.add((source, target))
    return found


def _grow(found: set[Link], union: set[Link]) -> None:
    """Add links of the union beside found ones, where a word has no link, until there is none."""
    sources, targets = ({link[k] for link in found} for k in range(2))
    waiting = sorted(found)
    while waiting:
        source, target = waiting.pop(0)
        for up, right in _NEIGHBOURS:
            link = source + up, target + right
            if link in union - found and not (link[0] in sources and link[1] in targets):
                found.add(link)
                sources.add(link[0])
                targets.add(link[1])
                waiting.append(link)
