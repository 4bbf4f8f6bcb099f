"""Tables for grammars that have most of all possible rules: their layout, weights and buffers.

Symbols are renumbered: wide parts first, then narrow ones, which derive single words only, then
those that are no part of a binary rule. Pairs of parts are the columns: a left part beside a wide
right one, then a wide one beside a narrow one. Pairs of narrow parts have tables of their own.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit_called
from sklearn_cvb.kernels.tiles import aligned
from sklearn_cvb.kernels.tree.arrays import Lexicon, Rules
from sklearn_cvb.kernels.tree.charts import Chart
from sklearn_cvb.kernels.tree.listed import Listed
from sklearn_cvb.kernels.tree.side_by_side import CHUNK, DenseCharts, charts_for
from sklearn_cvb.kernels.tree.unary_rules import UnaryRules
from sklearn_cvb.kernels.vectors import up_to_vectors


class DenseRules(NamedTuple):
    """Where the rules are in tables, see `dense_rules_of`.

    Attributes
    ----------
    start : int
        New number of the symbol that derives whole sentences.
    place : ndarray of shape (n_symbols,), int64
        New number of each symbol.
    n_wide, n_narrow : int
        Number of wide and of narrow parts: the first symbols.
    parent : ndarray of shape (n_parents,), int64
        Symbols with binary rules, by their new numbers.
    row, column : ndarray of shape (n_binary,), int64
        Place of each binary rule in the tables; columns from `n_pairs` on are narrow pairs.
    n_pairs : int
        Columns of the table of all other pairs.
    """

    start: int
    place: np.ndarray
    n_wide: int
    n_narrow: int
    parent: np.ndarray
    row: np.ndarray
    column: np.ndarray
    n_pairs: int


class DenseTables(NamedTuple):
    """Weights, counts and buffers: P parents, Q pairs, both rounded up to whole vectors.

    Attributes
    ----------
    up, down : ndarray of shape (Q, P) and (P, Q)
        Weights of binary rules.
    counts : ndarray of shape (P, Q)
        Expected counts, without the weights.
    pairs, above : ndarray of shape (rows, Q)
        Products of parts of some spans, and what is above these pairs.
    parents : ndarray of shape (rows, P)
        Inside or outside weights of the parents.
    """

    up: np.ndarray
    down: np.ndarray
    counts: np.ndarray
    pairs: np.ndarray
    above: np.ndarray
    parents: np.ndarray


class Tables(NamedTuple):
    """All that sentences are inferred from by tables, see `tables_for`.

    Attributes
    ----------
    dense : DenseRules
    others, narrow : DenseTables
        Of pairs of narrow parts, and of all others.
    charts : DenseCharts
    unary : UnaryRules or None
        With symbols by their new numbers; weights and counts are those of the lists.
    chart : Chart or None
        To draw trees from, see `inside_by_tables`.
    one : ndarray of shape (1,), int64
        Number of the sentence at hand, where they come one after the other.
    log_z : ndarray of shape (1,)
        Its log normaliser.
    """

    dense: DenseRules
    others: DenseTables
    narrow: DenseTables
    charts: DenseCharts
    unary: UnaryRules | None
    chart: Chart | None
    one: np.ndarray
    log_z: np.ndarray


def dense_rules_of(rules: Rules, lexicon: Lexicon) -> DenseRules:
    """Arrange rules for tables.

    Parameters
    ----------
    rules : Rules
    lexicon : Lexicon
        Says which symbols derive several words at once.

    Returns
    -------
    DenseRules
    """
    symbols = np.arange(rules.n_symbols)
    parent = np.unique(rules.parent)
    wide = np.isin(symbols, parent)
    wide[lexicon.symbol[lexicon.end - lexicon.begin > 1]] = True
    while not np.array_equal(wide[rules.upper] & wide[rules.lower], wide[rules.lower]):
        np.logical_or.at(wide, rules.upper, wide[rules.lower])
    part = np.isin(symbols, np.concatenate([rules.left, rules.right]))
    kind = np.where(part, np.where(wide, 0, 1), 2)
    place = np.empty(rules.n_symbols, np.int64)
    place[np.argsort(kind, kind="stable")] = symbols
    n_wide, n_narrow = int(np.sum(kind == 0)), int(np.sum(kind == 1))
    left, right = place[rules.left], place[rules.right]
    n_parts = n_wide + n_narrow
    n_pairs = up_to_vectors(n_parts * n_wide + n_wide * n_narrow)
    beside = n_parts * n_wide + left * n_narrow + right - n_wide
    narrow = n_pairs + (left - n_wide) * n_narrow + right - n_wide
    column = np.where(right < n_wide, left * n_wide + right, beside)
    column = np.where((left >= n_wide) & (right >= n_wide), narrow, column)
    return DenseRules(
        int(place[rules.start]),
        place,
        n_wide,
        n_narrow,
        place[parent],
        np.searchsorted(parent, rules.parent),
        column,
        n_pairs,
    )


def is_full(dense: DenseRules) -> bool:
    """Whether most pairs of parts have rules, so that tables pay."""
    return 2 * dense.row.size >= dense.parent.size * (
        dense.n_pairs + dense.n_narrow * dense.n_narrow
    )


def _tables(n_parents, n_columns):
    """Tables and buffers for so many parents and pairs."""
    n_rows, width = up_to_vectors(n_parents), up_to_vectors(n_columns)
    return DenseTables(
        aligned(width, n_rows),
        aligned(n_rows, width),
        aligned(n_rows, width),
        aligned(CHUNK, width),
        aligned(CHUNK, width),
        aligned(CHUNK, n_rows),
    )


def tables_for(dense: DenseRules, listed: Listed, chart: Chart | None = None) -> Tables:
    """Tables and buffers for the longest sentence of `listed`, whose weights they share."""
    n_parents, unary = dense.parent.size, listed.unary
    if unary is not None:
        names = ("upper", "lower", "member")
        new = {name: dense.place[getattr(unary, name)].astype(np.int32) for name in names}
        unary = unary._replace(**new)
    charts = charts_for(len(dense.place), listed, unary)
    others = _tables(n_parents, dense.n_pairs)
    narrow = _tables(n_parents, dense.n_narrow**2)
    one, log_z = np.zeros(1, np.int64), np.zeros(1)
    return Tables(dense, others, narrow, charts, unary, chart, one, log_z)


@jit_called
def fill_tables(dense, weight, others, narrow):
    """Write the weights of binary rules (n_binary,) to the tables, and their counts to 0."""
    others.counts[:] = 0.0
    narrow.counts[:] = 0.0
    for r in range(weight.size):
        row, column = dense.row[r], dense.column[r]
        if column < dense.n_pairs:
            others.up[column, row] = weight[r]
            others.down[row, column] = weight[r]
        else:
            narrow.up[column - dense.n_pairs, row] = weight[r]
            narrow.down[row, column - dense.n_pairs] = weight[r]


@jit_called
def read_counts(dense, weight, others, narrow, count):
    """Add the expected counts of binary rules to `count` (n_binary,)."""
    for r in range(weight.size):
        row, column = dense.row[r], dense.column[r]
        if column < dense.n_pairs:
            count[r] += weight[r] * others.counts[row, column]
        else:
            count[r] += weight[r] * narrow.counts[row, column - dense.n_pairs]
