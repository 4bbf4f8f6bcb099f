"""Expected counts of annotated rules in observed trees, whose subtypes alone are hidden. A rule has
a block of cells, nx by ny by nz for the subtypes of parent and children; a share is what a tree
adds to the counts.

Each node has a block of cells [x, y, z], by its own subtype and those of its children; a child that
is not there has one subtype of weight 1. With p[y, z] the product of the children's inside weights,
which are scaled to sum to 1, a node's inside weight is the product of block and p. Outside weights
are scaled so that inside times outside sums to 1. Matsuzaki et al. (2005).

Leaving out a tree is Wang and Blunsom (2013), figure 3, with subtypes for derivations.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline, jit_token_reduction
from sklearn_cvb.kernels.subnormal import subnormal_is_zero
from sklearn_cvb.kernels.treebank.arrays import AnnotatedRules, ObservedTrees

# What is done with each tree: infer it under the tally and add its counts to other sums, or keep
# them as its share; or leave out its share, infer it, and put back what it adds now; or what it
# added before; or no more than its likelihood.
EXPECT, KEEP, SWEEP, SCORE, WEIGH = range(5)

# Sums below this have lost digits, and quotients above the other are lost.
_SMALL, _LARGE = 1e-280, 1e280


class RuleBlocks(NamedTuple):
    """Where the cells of each rule lie, and their shape."""

    first: np.ndarray  # (n_rules,), int64
    # (n_rules,), int64: the row of the first subtype of the left-hand side; see `rows_of`
    row: np.ndarray
    # (n_rules,), int64: subtypes of the parent and the children; 1 for what is not there
    nx: np.ndarray
    ny: np.ndarray  # (n_rules,), int64
    nz: np.ndarray  # (n_rules,), int64


class AnnotatedTally(NamedTuple):
    """Counts as a sweep changes them, and the prior: weights are their quotients."""

    cells: np.ndarray  # (n_cells,)
    totals: np.ndarray  # (n_rows,)
    prior: float  # of each cell
    prior_totals: np.ndarray  # (n_rows,)
    log_scale: np.ndarray  # (n_rules,): logs of what the cells of each rule have been divided by


class AnnotatedShares(NamedTuple):
    """What each tree adds to the counts."""

    first: np.ndarray  # (n_nodes,), int64: where the block of each node begins
    root: np.ndarray  # (n_trees,), int64: the same for the rule of the root symbol
    count: np.ndarray  # float64 or float32


class AnnotatedWorkspace(NamedTuple):
    """Room for one tree at a time, or for all."""

    place: np.ndarray  # (n_trees,), int64: where the nodes of each tree begin in these tables
    # (n_places, n_most + 1): inside and outside weights of each node; inner has the scale in the
    # last column. The last row of inner is 1: the weight of a child that is not there
    inner: np.ndarray
    outer: np.ndarray  # (n_places, n_most + 1)
    # (n_most * n_most,): products of children's inside weights; what a node's block gives its
    # children
    pair: np.ndarray
    child_mass: np.ndarray  # (n_most * n_most,)
    sums: np.ndarray  # (n_cells,): to which expected counts are added, where asked for


def blocks_of(rules: AnnotatedRules) -> RuleBlocks:
    """Places and shapes of the blocks of all rules."""
    n_rules = len(rules.parent)

    def sizes(symbols: np.ndarray, here: np.ndarray) -> np.ndarray:
        return np.where(here, rules.n_subtypes[np.where(here, symbols, 0)], 1)

    has_symbols = np.arange(n_rules) < rules.begin[3]
    nx = sizes(rules.parent, rules.parent >= 0)
    ny, nz = sizes(rules.left, has_symbols), sizes(rules.right, rules.right >= 0)
    before = np.concatenate([[0], np.cumsum(rules.n_subtypes)])
    row = np.where(rules.parent >= 0, before[np.maximum(rules.parent, 0)], before[-1])
    return RuleBlocks(rules.first[:-1].copy(), row, nx, ny, nz)


def shares_for(
    trees: ObservedTrees, blocks: RuleBlocks, keeps_all: bool, dtype: type = np.float64
) -> AnnotatedShares:
    """Room for what each tree adds, or for nothing."""
    if not keeps_all:
        nothing = np.zeros(0, np.int64)
        return AnnotatedShares(nothing, nothing, np.zeros(0, dtype))
    size = blocks.nx * blocks.ny * blocks.nz
    nodes = np.concatenate([[0], np.cumsum(size[trees.rule])])
    roots = np.cumsum(size[trees.root]) - size[trees.root]
    first = nodes[:-1] + np.repeat(roots, np.diff(trees.starts))
    root = roots + nodes[trees.starts[1:]]
    return AnnotatedShares(first, root, np.zeros(nodes[-1] + size[trees.root].sum(), dtype))


def workspace_for(
    trees: ObservedTrees, rules: AnnotatedRules, keeps_all: bool = False, adds_counts: bool = False
) -> AnnotatedWorkspace:
    """Room for the largest tree, or for all at once, and for the sums of counts."""
    sizes, most = np.diff(trees.starts), int(rules.n_subtypes.max())
    place = trees.starts[:-1].copy() if keeps_all else np.zeros(len(sizes), np.int64)
    n_places = int(trees.starts[-1] if keeps_all else sizes.max()) + 1
    inner = np.ones((n_places, most + 1))
    pairs = np.empty((2, most * most))
    outer, sums = (
        np.zeros((n_places, most + 1)),
        np.zeros(int(rules.first[-1]) if adds_counts else 0),
    )
    return AnnotatedWorkspace(place, inner, outer, pairs[0], pairs[1], sums)


@jit_token_reduction
def _sum_of_products(cells, begin, weights, n):
    """The sum of cells times weights."""
    total = 0.0
    for k in range(n):
        total += cells[begin + k] * weights[k]
    return total


@jit_token_reduction
def _add_counts(cells, begin, count, first, n, sign):
    """Add counts to cells, or take them away down to 0; their sum."""
    total = 0.0
    for k in range(n):
        value = count[first + k]
        cells[begin + k] = max(cells[begin + k] + sign * value, 0.0)
        total += value
    return total


@jit_inline
def _fill_pairs(work, at_left, at_right, ny, nz):
    """Fill in products of the children's inside weights."""
    for y in range(ny):
        left = work.inner[at_left, y]
        for z in range(nz):
            work.pair[y * nz + z] = left * work.inner[at_right, z]


@jit_inline
def _child_row(trees, work, place, child):
    """The row of a child's weights; that of ones where it is not there."""
    return work.inner.shape[0] - 1 if child < 0 else child + place


@jit_called
def inside(trees, blocks, tally, work, i):
    """Inside weights of all nodes of a tree; returns the log of its weight with all annotations.

    NaN where float64 loses it.
    """
    place = work.place[i] - trees.starts[i]
    log_z, at = 0.0, np.int64(0)
    for node in range(trees.starts[i], trees.starts[i + 1]):
        rule, at = trees.rule[node], node + place
        nx, ny, nz = blocks.nx[rule], blocks.ny[rule], blocks.nz[rule]
        at_left = _child_row(trees, work, place, trees.left[node])
        at_right = _child_row(trees, work, place, trees.right[node])
        _fill_pairs(work, at_left, at_right, ny, nz)
        begin, row, total = blocks.first[rule], blocks.row[rule], 0.0
        for x in range(nx):
            weight = tally.prior + _sum_of_products(
                tally.cells, begin + x * ny * nz, work.pair, ny * nz
            )
            weight /= tally.totals[row + x] + tally.prior_totals[row + x]
            work.inner[at, x] = weight
            total += weight
        if not _SMALL < total < _LARGE:
            log_z = math.nan
            break
        for x in range(nx):
            work.inner[at, x] /= total
        work.inner[at, work.inner.shape[1] - 1] = total
        log_z += math.log(total) + tally.log_scale[rule]
    rule = trees.root[i]
    begin, row, total = blocks.first[rule], blocks.row[rule], 0.0
    below = tally.totals[row] + tally.prior_totals[row]
    if not math.isnan(log_z):
        for y in range(blocks.ny[rule]):
            weight = (tally.cells[begin + y] + tally.prior) / below
            work.outer[at, y] = weight
            total += weight * work.inner[at, y]
        for y in range(blocks.ny[rule]):
            work.outer[at, y] /= total
        log_z = log_z + math.log(total) if total > _SMALL else math.nan
    return log_z + tally.log_scale[rule]


@jit_called
def outside(trees, blocks, tally, work, shares, keeps, i):
    """Outside weights of all nodes after `inside`; expected counts become shares or join sums.

    Where a subtype has hardly any inside weight its outside weight is cut off at `_LARGE`.
    """
    place = work.place[i] - trees.starts[i]
    rule, at = trees.root[i], trees.starts[i + 1] - 1 + place
    for y in range(blocks.ny[rule]):
        count = work.outer[at, y] * work.inner[at, y]
        if keeps:
            shares.count[shares.root[i] + y] = count
        else:
            work.sums[blocks.first[rule] + y] += count
    for node in range(trees.starts[i + 1] - 1, trees.starts[i] - 1, -1):
        rule, at = trees.rule[node], node + place
        nx, ny, nz = blocks.nx[rule], blocks.ny[rule], blocks.nz[rule]
        left, right = trees.left[node], trees.right[node]
        at_left = _child_row(trees, work, place, left)
        at_right = _child_row(trees, work, place, right)
        _fill_pairs(work, at_left, at_right, ny, nz)
        begin, row, n = blocks.first[rule], blocks.row[rule], ny * nz
        scale = work.inner[at, work.inner.shape[1] - 1]
        for k in range(n):
            work.child_mass[k] = 0.0
        for x in range(nx):
            factor = work.outer[at, x] / scale
            factor /= tally.totals[row + x] + tally.prior_totals[row + x]
            factor = min(factor, _LARGE)
            cell = begin + x * n
            for k in range(n):
                work.child_mass[k] += factor * (tally.cells[cell + k] + tally.prior)
            if keeps:
                to = shares.first[node] + x * n
                for k in range(n):
                    value = factor * (tally.cells[cell + k] + tally.prior)
                    shares.count[to + k] = value * work.pair[k]
            else:
                for k in range(n):
                    value = factor * (tally.cells[cell + k] + tally.prior)
                    work.sums[cell + k] += value * work.pair[k]
        if left >= 0:
            for y in range(ny):
                total = 0.0
                for z in range(nz):
                    total += work.child_mass[y * nz + z] * work.inner[at_right, z]
                work.outer[at_left, y] = total
        if right >= 0:
            for z in range(nz):
                work.outer[at_right, z] = 0.0
            for y in range(ny):
                for z in range(nz):
                    work.outer[at_right, z] += work.child_mass[y * nz + z] * work.inner[at_left, y]


@jit_called
def add_share(trees, blocks, tally, shares, i, sign):
    """Add the share of a tree to the tally, or take it out."""
    for node in range(trees.starts[i], trees.starts[i + 1]):
        rule = trees.rule[node]
        n = blocks.ny[rule] * blocks.nz[rule]
        for x in range(blocks.nx[rule]):
            total = _add_counts(
                tally.cells,
                blocks.first[rule] + x * n,
                shares.count,
                shares.first[node] + x * n,
                n,
                sign,
            )
            row = blocks.row[rule] + x
            tally.totals[row] = max(tally.totals[row] + sign * total, 0.0)
    rule = trees.root[i]
    total = _add_counts(
        tally.cells, blocks.first[rule], shares.count, shares.root[i], blocks.ny[rule], sign
    )
    row = blocks.row[rule]
    tally.totals[row] = max(tally.totals[row] + sign * total, 0.0)


@jit
def infer(trees, blocks, tally, shares, work, update, i, log_z):
    """Infer trees from `i` on whose `log_z` is NaN; returns the next tree.

    Weights are quotients of the tally, which `SWEEP` and `SCORE` change. `KEEP` and `SWEEP` write
    shares; `EXPECT` adds to the sums of `work`. Where not all are done float64 loses the tree: then
    its share is taken out, and its new share must be written and its `log_z` set before the next
    call.
    """
    subnormal_is_zero(True)
    while i < log_z.size:
        if math.isnan(log_z[i]):
            if update in (SWEEP, SCORE):
                add_share(trees, blocks, tally, shares, i, -1.0)
            log_z[i] = inside(trees, blocks, tally, work, i)
            if math.isnan(log_z[i]):
                break
            if update <= SWEEP:
                outside(trees, blocks, tally, work, shares, update != EXPECT, i)
        if update in (SWEEP, SCORE):
            add_share(trees, blocks, tally, shares, i, 1.0)
        i += 1
    subnormal_is_zero(False)
    return i
