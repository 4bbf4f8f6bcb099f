"""What kernels of dependency trees read and write, as arrays.

Parameters are one flat array of cells, in rows that sum to 1, for W tags. First 2 W rows of W
cells: row 2 h + d holds what tag h attaches on side d (0 left, 1 right). Then a row of W cells for
the tag of the root. Then 4 W rows of 2 cells: row 4 h + 2 d + v of these says whether tag h stops
(cell 0) or goes on (cell 1) on side d, v = 0 without and 1 with a child there.
"""

from typing import NamedTuple

import numpy as np

LEFT_SIDE, RIGHT_SIDE = 0, 1
STOP, GO = 0, 1
# What `Sentences.head` says of a token whose head is not known.
UNKNOWN_HEAD = -1

# Tables of a chart, by head and other end of a half: open for one more child, or closed; and by
# head and child, from the one to the other. The last two hold closed halves by end and head.
OPEN_RIGHT, RIGHT, ARC_RIGHT, OPEN_LEFT, LEFT, ARC_LEFT, RIGHT_BY_END, LEFT_BY_END = range(8)


class Sentences(NamedTuple):
    """Tagged sentences.

    Attributes
    ----------
    token : ndarray of shape (n_tokens,), int64
        The tag of each token.
    starts : ndarray of shape (n_sentences + 1,), int64
        Where each sentence begins, and where the last one ends.
    head : ndarray of shape (n_tokens,), int64
        The position of a known head within its sentence, from 1; 0 for the root; or
        `UNKNOWN_HEAD`.
    n_types : int
        Number of tags.
    """

    token: np.ndarray
    starts: np.ndarray
    head: np.ndarray
    n_types: int


class Sums(NamedTuple):
    """Counts by cell, and their totals by row."""

    cells: np.ndarray
    totals: np.ndarray


class Tally(NamedTuple):
    """Counts as a sweep changes them, and the prior: weights are their quotients."""

    sums: Sums
    prior: np.ndarray
    prior_totals: np.ndarray


class Shares(NamedTuple):
    """What each sentence adds to the counts.

    Attributes
    ----------
    first : ndarray of shape (n_sentences,), int64
        Where the share of a sentence of n tokens begins: n * n expected arcs by head and child
        (the root's on the diagonal), then for each token 8 expected choices 4 d + 2 v + (0 stop,
        1 go). All 0 where every sentence may overwrite the one before.
    count : ndarray
    """

    first: np.ndarray
    count: np.ndarray


class Work(NamedTuple):
    """The chart of one sentence, with room for the longest.

    Attributes
    ----------
    weight : ndarray of shape (longest * (longest + 8) + 1,)
        Weights of arcs and choices, placed as in a share; then the log of what the weights of all
        trees have been divided by.
    inner, outer : ndarray of shape (8 * longest * longest,)
        Eight tables of n rows and n columns, one after the other: inside weights of all parts of
        trees, and what multiplies them in whole trees.
    """

    weight: np.ndarray
    inner: np.ndarray
    outer: np.ndarray


def work_for(longest: int) -> Work:
    """Room for sentences of at most `longest` tokens."""
    tables = 8 * longest * longest
    return Work(np.zeros(longest * (longest + 8) + 1), np.zeros(tables), np.zeros(tables))


def shares_for(starts: np.ndarray, kept: bool) -> Shares:
    """Room for what each sentence adds, or for one sentence at a time."""
    lengths = np.diff(starts)
    sizes = lengths * (lengths + 8)
    if not kept:
        return Shares(np.zeros(len(lengths), np.int64), np.zeros(sizes.max()))
    ends = np.cumsum(sizes)
    return Shares(ends - sizes, np.zeros(ends[-1]))
