"""Counts of rules as a sweep changes them, and what each sentence adds to them."""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit_inline


class Tally(NamedTuple):
    """Counts of rules (cells) and of left-hand sides (totals), both in units of `unit`.

    Attributes
    ----------
    cells, prior : ndarray of shape (n_rules,)
    totals, prior_totals : ndarray of shape (n_lhs,)
    unit : ndarray of shape (1,)
        1 but in stepwise EM, which forgets a share of all counts by changing this number alone.
    lhs : ndarray of shape (n_rules,), int32
        Left-hand side of each rule.
    kept : ndarray of shape (n_rules,)
        Weights of symbols with neither count nor prior.
    """

    cells: np.ndarray
    totals: np.ndarray
    unit: np.ndarray
    prior: np.ndarray
    prior_totals: np.ndarray
    lhs: np.ndarray
    kept: np.ndarray


class Shares(NamedTuple):
    """What each sentence adds to the counts.

    Attributes
    ----------
    starts : ndarray of shape (n_sentences + 1,), int64
        Where the rules of each sentence begin.
    cell : ndarray, int64
        -1: a helper symbol's only rule, which is not counted.
    count : ndarray
        Expected counts of these rules.
    """

    starts: np.ndarray
    cell: np.ndarray
    count: np.ndarray


def empty_shares(n_sentences: int, room: int) -> Shares:
    """Sentences that add nothing, and room for so many rules."""
    return Shares(np.zeros(n_sentences + 1, np.int64), np.empty(room, np.int64), np.empty(room))


@jit_inline
def add_count(tally, cell, count):
    """Add a count, or take it away; rounding leaves nothing below 0."""
    if cell >= 0:
        symbol = tally.lhs[cell]
        tally.cells[cell] = max(0.0, tally.cells[cell] + count)
        tally.totals[symbol] = max(0.0, tally.totals[symbol] + count)


@jit_inline
def add_share(tally, shares, i, sign):
    """Add (1) or take away (-1) what sentence `i` contributes."""
    for x in range(shares.starts[i], shares.starts[i + 1]):
        add_count(tally, shares.cell[x], sign * shares.count[x])


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
            mean = tally.kept[cell]
    return mean
