"""Links between the words of two sentences: checked, and read from positions or posteriors."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from sklearn_cvb.reading.corpus import as_list, is_missing, short_repr

# What stands for the source of a target word that has none.
NO_SOURCE = -1

Link = tuple[int, int]

_FORM = "links are pairs (source position, target position), from 0"


def check_links(given: Any, name: str, sizes: tuple[int, int] | None = None) -> list[Link]:
    """Links of one sentence pair."""
    items = sorted(given, key=repr) if isinstance(given, set | frozenset) else as_list(given)
    if items is None:
        raise TypeError(f"{name} is {short_repr(given)} of type {type(given).__name__}: {_FORM}")
    links = []
    for item in items:
        ends = None if isinstance(item, str | bytes) else as_list(item)
        if ends is None or len(ends) != 2:
            raise TypeError(f"{name} holds {short_repr(item)}: {_FORM}")
        source = NO_SOURCE if is_missing(ends[0]) else ends[0]
        links.append((_position(source, item, name), _position(ends[1], item, name)))
        _check_range(links[-1], name, sizes)
    return links


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


def links_from(links: Any, name: str) -> list[Link]:
    """Links of one pair: a collection of links, positions, or a table of link posteriors."""
    if isinstance(links, np.ndarray) and links.ndim == 2 and links.dtype.kind == "f":
        return links_of_positions(best_positions(links))
    items = None if isinstance(links, set | frozenset) else as_list(links)
    if items and all(isinstance(item, Integral) for item in items):
        return links_of_positions(items)
    return [link for link in check_links(links, name) if link[0] != NO_SOURCE]


def best_positions(table: np.ndarray) -> np.ndarray:
    """The most probable source of each target word, -1 for none."""
    best = table.argmax(axis=1)
    return np.where(best == table.shape[1] - 1, NO_SOURCE, best)
