"""Arrays of dependency kernels: sentences, the chart of one, and counts of arcs from head to child
and of choices to stop or go on. Counts lie by cell (a parameter) and row (a distribution), a share
is what a sentence adds to them. Rows of arcs may back off to coarse rows.

Parameters are one flat array of cells, in rows that sum to 1, for W tags and V valences of
attachments: 1, or 2 where they depend on whether the head has a child on this side yet. First
2 W V rows of W cells: row (2 h + d) V + v holds what tag h attaches on side d (0 left, 1 right),
v = 0 without and 1 with a child there. Then a row of W cells for the tag of the root. Then 4 W rows
of 2 cells: row 4 h + 2 d + v of these says whether tag h stops (cell 0) or goes on (cell 1).

Where attachments back off, 2 W V rows of 2 cells follow, one for each row of attachments: how
likely an attachment is drawn from its own row (cell 0) or from a coarse one (cell 1). Then the
coarse rows, of W cells each.
"""

from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.kernels.sums import CellSums

LEFT_SIDE, RIGHT_SIDE = 0, 1
STOP, GO = 0, 1
# What `DependencySentences.head` says of a token whose head is not known.
UNKNOWN_HEAD = -1

# Tables of a chart, by head and other end of a half: open for one more child, or closed; and by
# head and child, from the one to the other. The last two hold closed halves by end and head.
OPEN_RIGHT, RIGHT, ARC_RIGHT, OPEN_LEFT, LEFT, ARC_LEFT, RIGHT_BY_END, LEFT_BY_END = range(8)


class DependencySentences(NamedTuple):
    """Tagged sentences."""

    token: np.ndarray  # (n_tokens,), int64: the tag of each token
    # (n_sentences + 1,), int64: where each sentence begins, and where the last one ends
    starts: np.ndarray
    # (n_tokens,), int64: the position of a known head within its sentence, from 1; 0 for the root;
    # or `UNKNOWN_HEAD`
    head: np.ndarray
    n_types: int  # number of tags
    n_valences: int = 1  # rows of attachments for each head and side
    # (2 * n_types * n_valences,), int64: the coarse row that each row of attachments backs off to;
    # None where none does
    coarse: np.ndarray | None = None
    # (2 * n_types + 1, n_types): what multiplies the weight of each arc, by 2 h + d and child, the
    # root's the last row; None where nothing does. Who asks for powers of weights gives its powers
    arc_weights: np.ndarray | None = None


class DependencyTally(NamedTuple):
    """Counts as a sweep changes them, and the prior: weights are their quotients."""

    sums: CellSums
    prior: np.ndarray
    prior_totals: np.ndarray


class DependencyShares(NamedTuple):
    """What each sentence adds to the counts."""

    # (n_sentences,), int64: where the share of a sentence of n tokens begins: n * n expected arcs
    # by head and child (the root's on the diagonal), then for each token 8 expected choices 4 d + 2
    # v + (0 stop, 1 go). With two valences of attachments the arcs are those to all but a head's
    # first child on a side, and n * n to first children follow. Where attachments back off, as many
    # cells as arcs follow: the part of each that comes from the coarse row. All 0 where every
    # sentence may overwrite the one before
    first: np.ndarray
    count: np.ndarray


class DependencyWorkspace(NamedTuple):
    """The chart of one sentence, with room for the longest."""

    # Weights of arcs and choices, placed as in a share, with the share of the coarse row in each
    # arc's weight. Its last cell is the log of what the weights of all trees have been divided by
    weight: np.ndarray
    # (8 * longest * longest,): eight tables of n rows and n columns, one after the other: inside
    # weights of all parts of trees, and what multiplies them in whole trees
    inner: np.ndarray
    outer: np.ndarray  # (8 * longest * longest,)
    n_valences: int  # of attachments


def share_size(n: Any, n_valences: int, backs_off: bool) -> Any:
    """Cells of what a sentence of n tokens adds."""
    return n * (n + 8) + n * n * (n_valences - 1 + n_valences * backs_off)


def workspace_for(
    longest: int, n_valences: int = 1, backs_off: bool = False
) -> DependencyWorkspace:
    """Room for sentences of at most `longest` tokens."""
    tables = 8 * longest * longest
    size = share_size(longest, n_valences, backs_off) + 1
    return DependencyWorkspace(np.zeros(size), np.zeros(tables), np.zeros(tables), n_valences)


def shares_for(
    starts: np.ndarray, keeps_all: bool, n_valences: int = 1, backs_off: bool = False
) -> DependencyShares:
    """Room for what each sentence adds, or for one sentence at a time."""
    sizes = share_size(np.diff(starts), n_valences, backs_off)
    if not keeps_all:
        return DependencyShares(np.zeros(len(sizes), np.int64), np.zeros(sizes.max()))
    ends = np.cumsum(sizes)
    return DependencyShares(ends - sizes, np.zeros(ends[-1]))
