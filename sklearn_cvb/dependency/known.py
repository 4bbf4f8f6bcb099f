"""Heads that are known before a fit: read from y, and why no projective tree has them."""

from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np

from sklearn_cvb.kernels.dependency.arrays import UNKNOWN_HEAD
from sklearn_cvb.reading.corpus import Corpus, as_list, is_missing, short_repr

_HEADS_FORM = (
    "y holds a list of heads for each sentence: for each token the position of its head, from 1, 0 "
    "for the root of the sentence, None or -1 where it is not known"
)


def known_heads_from(y: Any, corpus: Corpus) -> np.ndarray:
    """Known heads in `y`: from 1, 0 for the root, `UNKNOWN_HEAD` where not known.

    TypeError or ValueError where it tells nothing of that kind.
    """
    heads = np.full(len(corpus.tokens), UNKNOWN_HEAD, np.int64)
    if y is None:
        return heads
    of_sentences = as_list(y)
    if of_sentences is None:
        raise TypeError(f"y is {short_repr(y)}: {_HEADS_FORM}")
    if len(of_sentences) != corpus.n_sequences:
        raise ValueError(
            f"X holds {corpus.n_sequences} sequences but y {len(of_sentences)}: give one list of "
            "heads for each sentence, None where nothing is known"
        )
    # Labels of a 2-D X that tell of its rows, as classifiers are given, say nothing of heads.
    if corpus.width is not None and all(isinstance(part, Real | str) for part in of_sentences):
        return heads
    for i, (begin, end) in enumerate(pairwise(corpus.starts.tolist())):
        if of_sentences[i] is not None:
            heads[begin:end] = _heads_of(of_sentences[i], i, end - begin, corpus.width)
    return heads


def _heads_of(given: Any, i: int, n: int, width: int | None) -> list[int]:
    """The heads of one sentence as integers."""
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise TypeError(f"y[{i}] is {given!r}: {_HEADS_FORM}")
    given = list(given)
    if width is not None and len(given) == width and all(map(_is_unknown, given[n:])):
        given = given[:n]
    if len(given) != n:
        raise ValueError(f"sentence {i} has {n} tokens but y[{i}] has {len(given)} heads")
    heads = []
    for t, head in enumerate(given):
        if _is_unknown(head):
            heads.append(UNKNOWN_HEAD)
            continue
        if not isinstance(head, int | float | np.number) or head != int(head):
            raise TypeError(f"y[{i}][{t}] is {head!r}: {_HEADS_FORM}")
        if not 0 <= head <= n:
            raise ValueError(
                f"y[{i}][{t}] is {head}: the sentence has {n} tokens, so a head is at most {n}; "
                "heads count from 1, and 0 is the root"
            )
        if head == t + 1:
            raise ValueError(f"y[{i}][{t}] is {head}: the token would be its own head")
        heads.append(int(head))
    return heads


def _is_unknown(head: Any) -> bool:
    return is_missing(head) or (isinstance(head, Integral) and head == UNKNOWN_HEAD)


def why_no_tree(heads: np.ndarray) -> str:
    """Why no projective tree with one root has the known heads of a sentence."""
    roots = np.flatnonzero(heads == 0)
    if len(roots) > 1:
        return (
            f" has two roots, tokens {roots[0] + 1} and {roots[1] + 1}: a sentence has one; put "
            "None for the others"
        )
    cycles = (_cycle_through(heads, t) for t in range(len(heads)))
    cycle = next(filter(None, cycles), None)
    if cycle is not None:
        return f" has a cycle: {' <- '.join(map(str, cycle))}; put None for one of the heads"
    arcs = [(min(t + 1, h), max(t + 1, h)) for t, h in enumerate(heads.tolist()) if h > 0]
    arcs.sort(key=lambda arc: (arc[0], -arc[1]))
    open_arcs: list[tuple[int, int]] = []
    for first, last in arcs:
        while open_arcs and open_arcs[-1][1] <= first:
            open_arcs.pop()
        above = [f"covers the root, token {root}" for root in roots + 1 if first < root < last]
        if open_arcs and open_arcs[-1][1] < last:
            above = [f"crosses that between {open_arcs[-1][0]} and {open_arcs[-1][1]}"]
        if above:
            return (
                f": the arc between tokens {first} and {last} {above[0]}: trees must be "
                "projective; put None for one of the heads"
            )
        open_arcs.append((first, last))
    known = [None if head == UNKNOWN_HEAD else head for head in heads.tolist()]
    return f": no projective tree with one root has the heads {known}; put None for some of them"


def _cycle_through(heads: np.ndarray, t: int) -> list[int] | None:
    """The way by which the heads from a token on come back to it."""
    path = [t + 1]
    while heads[path[-1] - 1] > 0 and len(path) <= len(heads):
        path.append(int(heads[path[-1] - 1]))
        if path[-1] == t + 1:
            return path
    # Another token may be in a cycle.
    return None
