"""What is known beforehand of single sentences: heads of tokens."""

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


def heads_from(y: Any, corpus: Corpus) -> np.ndarray:
    """What `y` tells of heads: from 1, 0 for the root, `UNKNOWN_HEAD` where not known.

    TypeError or ValueError where it tells nothing of that kind, or no projective tree has them.
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
            _check_tree(heads[begin:end], i)
    return heads


def _heads_of(given: Any, i: int, n: int, width: int | None) -> list[int]:
    """The heads of one sentence as integers."""
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise TypeError(f"y[{i}] is {given!r}: {_HEADS_FORM}")
    given = list(given)
    if width is not None and len(given) == width and all(map(_is_open, given[n:])):
        given = given[:n]
    if len(given) != n:
        raise ValueError(f"sentence {i} has {n} tokens but y[{i}] has {len(given)} heads")
    found = []
    for t, head in enumerate(given):
        if _is_open(head):
            found.append(UNKNOWN_HEAD)
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
        found.append(int(head))
    return found


def _is_open(head: Any) -> bool:
    return is_missing(head) or (isinstance(head, Integral) and head == UNKNOWN_HEAD)


def _check_tree(heads: np.ndarray, i: int) -> None:
    """Raise if no projective tree with one root has the known heads of a sentence."""
    roots = np.flatnonzero(heads == 0)
    if len(roots) > 1:
        raise ValueError(
            f"y[{i}] has two roots, tokens {roots[0] + 1} and {roots[1] + 1}: a sentence has one; "
            "put None for the others"
        )
    for t in range(len(heads)):
        _refuse_cycle(heads, t, i)
    arcs = [(min(t + 1, h), max(t + 1, h)) for t, h in enumerate(heads.tolist()) if h > 0]
    arcs.sort(key=lambda arc: (arc[0], -arc[1]))
    open_arcs: list[tuple[int, int]] = []
    for arc in arcs:
        while open_arcs and open_arcs[-1][1] <= arc[0]:
            open_arcs.pop()
        if open_arcs and open_arcs[-1][1] < arc[1]:
            raise ValueError(
                f"y[{i}]: the arc between tokens {arc[0]} and {arc[1]} crosses that between "
                f"{open_arcs[-1][0]} and {open_arcs[-1][1]}: trees must be projective; put None "
                "for one of the heads"
            )
        open_arcs.append(arc)
        for root in roots + 1:
            if arc[0] < root < arc[1]:
                raise ValueError(
                    f"y[{i}]: the arc between tokens {arc[0]} and {arc[1]} covers the root, token "
                    f"{root}: trees must be projective; put None for one of the heads"
                )


def _refuse_cycle(heads: np.ndarray, t: int, i: int) -> None:
    """Raise if the heads from a token on come back to it."""
    path = [t + 1]
    while heads[path[-1] - 1] > 0:
        path.append(int(heads[path[-1] - 1]))
        if path[-1] == t + 1:
            raise ValueError(
                f"y[{i}] has a cycle: {' <- '.join(map(str, path))}; put None for one of the heads"
            )
        if len(path) > len(heads):
            return  # a cycle that another token is told of
