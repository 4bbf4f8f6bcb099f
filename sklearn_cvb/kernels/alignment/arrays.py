"""What kernels of word alignment read and write, as arrays.

Parameters are one flat array of cells, in rows that sum to 1. First the lexicon: a row for each
source word, of the target words that it stands beside in some pair, then one for NULL. Then the
row of jumps, 2 K + 1 cells for jumps from -K to K, of which the first and the last stand for all
jumps so far and farther. Then the row of NULL: cell 0 for a target word that has a source, 1 for
one that has none.

Contexts of a pair of I source words are 0 to I: the position, from 1, of the last source word that
was aligned, 0 before there is one. A target word without a source leaves the context as it is,
which is what NULL twins of states are for (Och and Ney 2003).
"""

from typing import NamedTuple

import numpy as np

# What `Pairs.cell` says of words that never stood beside each other, of target words that may
# come from any source word alike, and of links that are ruled out.
UNLISTED, FREE, FORBIDDEN = -1, -2, -3
# Cells of the row of NULL.
LINKED, NONE = 0, 1


class Pairs(NamedTuple):
    """Sentence pairs.

    Attributes
    ----------
    source : ndarray of shape (n_source_tokens,), int64
        Row of each source word.
    source_starts, target_starts : ndarray of shape (n_pairs + 1,), int64
        Where each sentence begins, and where the last one ends.
    cell : ndarray, int32
        For each pair a table of I + 1 rows, the last of NULL, and J columns: the cell of each
        source and target word, or `UNLISTED`, `FREE` or `FORBIDDEN`.
    first : ndarray of shape (n_pairs + 1,), int64
        Where the table of each pair begins.
    n_lexical : int
        Number of cells of the lexicon.
    null_row : int
        The row of NULL in the lexicon; those of jumps and of NULL follow.
    longest_jump : int
        K.
    """

    source: np.ndarray
    source_starts: np.ndarray
    target_starts: np.ndarray
    cell: np.ndarray
    first: np.ndarray
    n_lexical: int
    null_row: int
    longest_jump: int


class Sums(NamedTuple):
    """Counts by cell, and their totals by row."""

    cells: np.ndarray
    totals: np.ndarray


class Tally(NamedTuple):
    """Counts as a sweep changes them, and the prior: weights are their quotients.

    `rest` is the prior of a cell of the lexicon that is not listed, by row. `p_null` is negative
    where it is learned, else what stands for the weight of cell 1 in the row of NULL.
    """

    sums: Sums
    prior: np.ndarray
    prior_totals: np.ndarray
    rest: np.ndarray
    p_null: float


class Shares(NamedTuple):
    """What each pair adds to the counts.

    Attributes
    ----------
    link_first, jump_first : ndarray of shape (n_pairs,), int64
        Where the links and the jumps of a pair begin. All 0 where every pair may overwrite the one
        before.
    link : ndarray
        Link posteriors, placed as in `Pairs.cell`.
    jump : ndarray
        2 K + 1 expected jumps of each pair, those that were drawn again among them.
    """

    link_first: np.ndarray
    jump_first: np.ndarray
    link: np.ndarray
    jump: np.ndarray


class Work(NamedTuple):
    """The trellis of one pair, with room for the longest.

    Attributes
    ----------
    jump : ndarray of shape (2 * K + 1,)
        Weights of jumps.
    again : ndarray of shape (longest_source + 1,)
        How often a jump is drawn from each context, until it stays in the sentence: 1 / p(stays).
    move : ndarray of shape (longest_source + 1, longest_source)
        p(next position | context), times that of a link.
    back : ndarray of shape (longest_source, longest_source + 1)
        The same by position and context.
    moved : ndarray of shape (longest_source + 1, longest_source)
        Expected moves over their weights.
    emit : ndarray of shape (longest_target, longest_source + 1)
        p(target word | source word), that of NULL last, times that of no link.
    before : ndarray of shape (longest_target + 1, longest_source + 1)
        p(context | words so far).
    ahead : ndarray of shape (longest_target, longest_source)
        p(position | words before).
    after : ndarray of shape (longest_source + 1,)
        p(words to come | context), scaled.
    flow : ndarray of shape (longest_source,)
        Emissions times `after`.
    scale : ndarray of shape (longest_target,)
        p(word | words before).
    """

    jump: np.ndarray
    again: np.ndarray
    move: np.ndarray
    back: np.ndarray
    moved: np.ndarray
    emit: np.ndarray
    before: np.ndarray
    ahead: np.ndarray
    after: np.ndarray
    flow: np.ndarray
    scale: np.ndarray


def work_for(pairs: Pairs) -> Work:
    """A trellis with room for the longest sentences."""
    n = int(np.diff(pairs.source_starts).max())
    m = int(np.diff(pairs.target_starts).max())
    return Work(
        np.zeros(2 * pairs.longest_jump + 1),
        np.zeros(n + 1),
        np.zeros((n + 1, n)),
        np.zeros((n, n + 1)),
        np.zeros((n + 1, n)),
        np.zeros((m, n + 1)),
        np.zeros((m + 1, n + 1)),
        np.zeros((m, n)),
        np.zeros(n + 1),
        np.zeros(n),
        np.zeros(m),
    )


def shares_for(pairs: Pairs, kept: bool) -> Shares:
    """Room for what each pair adds, or for one pair at a time."""
    n_pairs, width = len(pairs.first) - 1, 2 * pairs.longest_jump + 1
    if kept:
        jump_first = width * np.arange(n_pairs)
        return Shares(
            pairs.first[:-1], jump_first, np.zeros(pairs.first[-1]), np.zeros(n_pairs * width)
        )
    none = np.zeros(n_pairs, np.int64)
    return Shares(none, none, np.zeros(np.diff(pairs.first).max()), np.zeros(width))
