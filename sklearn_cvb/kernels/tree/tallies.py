"""The counts of rules as a sweep changes them, with the prior (tally), and what each sentence adds
to them (shares). Cells are rules, totals are of left-hand sides, all in multiples of a unit.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit_called, jit_inline


class TreeTally(NamedTuple):
    """Counts of rules (cells) and of left-hand sides (totals), both in units of `unit`."""

    cells: np.ndarray  # (n_rules,)
    totals: np.ndarray  # (n_lhs,)
    # (1,): 1 but in stepwise EM, which forgets a share of all counts by changing this number alone
    unit: np.ndarray
    prior: np.ndarray  # (n_rules,)
    prior_totals: np.ndarray  # (n_lhs,)
    lhs: np.ndarray  # (n_rules,), int32: left-hand side of each rule
    fallback: np.ndarray  # (n_rules,): weights of symbols with neither count nor prior


class TreeShares(NamedTuple):
    """What each sentence adds to the counts."""

    starts: np.ndarray  # (n_sentences + 1,), int64: where the rules of each sentence begin
    cell: np.ndarray  # int64: -1: a helper symbol's only rule, which is not counted
    count: np.ndarray  # expected counts of these rules
    # (n_sentences, 2 K, K): where children are independent: expected counts of the children of all
    # K left parts and of all right parts, which are the last cells. They are not listed, for all
    # are positive
    tables: np.ndarray | None = None


def empty_shares(n_sentences: int, room: int, tables: np.ndarray | None = None) -> TreeShares:
    """Sentences that add nothing, and room for so many rules."""
    cell, count = np.empty(room, np.int64), np.empty(room)
    return TreeShares(np.zeros(n_sentences + 1, np.int64), cell, count, tables)


@jit_inline
def add_count(tally, cell, count):
    """Add a count, or take it away; rounding leaves nothing below 0."""
    if cell >= 0:
        symbol = tally.lhs[cell]
        tally.cells[cell] = max(0.0, tally.cells[cell] + count)
        tally.totals[symbol] = max(0.0, tally.totals[symbol] + count)


@jit_called
def _add_table(tables, tally, i, sign):
    """`add_share` of the children in tables; a sentence without a table adds nothing."""
    if tables is not None:
        first = tally.cells.size - tables.shape[1] * tables.shape[2]
        for part in range(tables.shape[1] if i < tables.shape[0] else 0):
            total = 0.0
            for child in range(tables.shape[2]):
                count = max(0.0, tally.cells[first] + sign * tables[i, part, child])
                tally.cells[first] = count
                total += count
                first += 1
            tally.totals[tally.lhs[first - 1]] = total


@jit_inline
def add_share(tally, shares, i, sign):
    """Add (1) or take away (-1) what sentence `i` contributes."""
    for x in range(shares.starts[i], shares.starts[i + 1]):
        add_count(tally, shares.cell[x], sign * shares.count[x])
    _add_table(shares.tables, tally, i, sign)


@jit_inline
def add_tree(tally, trees, begin, end, sign):
    """Add the rules of some nodes of trees to the counts, or take them away."""
    for x in range(begin, end):
        add_count(tally, trees.rule[x], sign)


@jit_inline
def rule_mean(tally, cell):
    """Posterior mean of a rule's probability; the rules of helper symbols have weight 1."""
    mean = 1.0
    if cell >= 0:
        symbol = tally.lhs[cell]
        total = tally.unit[0] * tally.totals[symbol] + tally.prior_totals[symbol]
        mean = (tally.unit[0] * tally.cells[cell] + tally.prior[cell]) / total
        if total == 0.0:
            mean = tally.fallback[cell]
    return mean
