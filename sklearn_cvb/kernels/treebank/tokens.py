"""CVB of latent annotations, one node left out at a time: each has a distribution q over subtypes.
Uses of a rule are counted in its block of cells.

Wang and Blunsom (2013), 3.4. A node's subtype is in two rules, the one above it and its own. Its
probability is the product of three expectations over the subtypes of all other nodes: of counts of
the rule above, and of counts of its own, the rule above among them, over the total of its own
left-hand side. Expected counts are products of the nodes' probabilities. What such a product gets
wrong is put right: a use whose nodes are also in the rule in question has these subtypes, and no
others.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline


class NodeSubtypes(NamedTuple):
    """Distributions over subtypes."""

    # (n_nodes + 1, n_most): by node; the last row stands for a child that is not there: it has one
    # subtype
    q: np.ndarray
    above: np.ndarray  # (n_nodes,), int64: the node above each, -1 for a root


@jit_called
def add_use(trees, blocks, tally, q, node, sign):
    """Add the expected counts of a node's rule to the tally, or take them out."""
    rule = trees.rule[node]
    left, right = trees.left[node], trees.right[node]
    ny, nz, at = blocks.ny[rule], blocks.nz[rule], blocks.first[rule]
    for x in range(blocks.nx[rule]):
        for y in range(ny):
            product = sign * q[node, x] * q[left, y]
            for z in range(nz):
                count = tally.cells[at + z] + product * q[right, z]
                tally.cells[at + z] = max(count, 0.0)
            at += nz
        row = blocks.row[rule] + x
        tally.totals[row] = max(tally.totals[row] + sign * q[node, x], 0.0)


@jit_inline
def _add_root(trees, blocks, tally, q, i, sign):
    """The same for the rule of a root."""
    rule, root = trees.root[i], trees.starts[i + 1] - 1
    for y in range(blocks.ny[rule]):
        count = tally.cells[blocks.first[rule] + y] + sign * q[root, y]
        tally.cells[blocks.first[rule] + y] = max(count, 0.0)
    tally.totals[blocks.row[rule]] += sign


@jit_inline
def _agreement(q, n, a, b):
    """The chance that two nodes have the same subtype, of n."""
    total = 0.0
    for x in range(n):
        total += q[a, x] * q[b, x]
    return total


@jit_inline
def _agreement_of_three(q, n, a, b, c):
    """The chance that three nodes have the same subtype, of n."""
    total = 0.0
    for x in range(n):
        total += q[a, x] * q[b, x] * q[c, x]
    return total


@jit_called
def count_above(trees, blocks, tally, nodes, v, expected):
    """Expected counts of the rule above a node, by the node's subtype.

    The uses of this rule and of the node's own are out of the tally.
    """
    q, p = nodes.q, nodes.above[v]
    rule = trees.rule[p]
    is_left = trees.left[p] == v
    s = trees.right[p] if is_left else trees.left[p]
    nx, ny, nz = blocks.nx[rule], blocks.ny[rule], blocks.nz[rule]
    n = ny if is_left else nz
    for a in range(n):
        expected[a] = 0.0
    at = blocks.first[rule]
    for x in range(nx):
        for y in range(ny):
            for z in range(nz):
                a, c = (y, z) if is_left else (z, y)
                expected[a] += q[p, x] * q[s, c] * tally.cells[at + z]
            at += nz
    # The rule above the node above: it holds that node's subtype, as a child's.
    g = nodes.above[p]
    if g >= 0 and trees.rule[g] == rule and s >= 0:
        same_side = (trees.left[g] == p) == is_left
        other = trees.right[g] if trees.left[g] == p else trees.left[g]
        both = _agreement(q, nx, p, g)
        if same_side:
            sisters = _agreement(q, nz if is_left else ny, s, other)
            for a in range(n):
                expected[a] += (q[g, a] - both) * q[p, a] * sisters
        else:
            right = _agreement_of_three(q, nx, p, g, s)
            wrong = both * _agreement(q, nx, s, p)
            for a in range(n):
                expected[a] += (right - wrong) * q[other, a]
    # The sister's own rule: it holds the sister's subtype, as a parent's.
    if s >= 0 and trees.rule[s] == rule:
        below_v = trees.left[s] if is_left else trees.right[s]
        below_s = trees.right[s] if is_left else trees.left[s]
        right = _agreement_of_three(q, nx, p, s, below_s)
        wrong = _agreement(q, nx, p, s) * _agreement(q, nx, s, below_s)
        for a in range(n):
            expected[a] += (right - wrong) * q[below_v, a]


@jit_called
def count_own(trees, blocks, tally, nodes, v, expected):
    """Expected counts of a node's own rule, by the node's subtype, and the rule above if the same.

    The uses of both rules are out of the tally.
    """
    q, p = nodes.q, nodes.above[v]
    rule, d, e = trees.rule[v], trees.left[v], trees.right[v]
    nx, ny, nz = blocks.nx[rule], blocks.ny[rule], blocks.nz[rule]
    at = blocks.first[rule]
    for a in range(nx):
        expected[a] = 0.0
        for y in range(ny):
            for z in range(nz):
                expected[a] += q[d, y] * q[e, z] * tally.cells[at + z]
            at += nz
    if e >= 0 and trees.rule[d] == rule:
        left, right = trees.left[d], trees.right[d]
        sisters, both = _agreement(q, nz, e, right), _agreement(q, ny, d, left)
        for a in range(nx):
            expected[a] += q[d, a] * (q[left, a] - both) * sisters
    if e >= 0 and trees.rule[e] == rule:
        left, right = trees.left[e], trees.right[e]
        sisters, both = _agreement(q, ny, d, left), _agreement(q, nz, e, right)
        for a in range(nx):
            expected[a] += q[e, a] * (q[right, a] - both) * sisters
    if e >= 0 and p >= 0 and trees.rule[p] == rule:
        if trees.left[p] == v:
            sisters = _agreement(q, nz, trees.right[p], e)
            for a in range(nx):
                expected[a] += q[p, a] * q[d, a] * sisters
        else:
            sisters = _agreement(q, ny, trees.left[p], d)
            for a in range(nx):
                expected[a] += q[p, a] * q[e, a] * sisters


@jit
def sweep_nodes(trees, blocks, tally, nodes, work):
    """Update all nodes and the tally of expected counts, tree by tree, children first."""
    q = nodes.q
    for i in range(trees.root.size):
        for v in range(trees.starts[i], trees.starts[i + 1]):
            rule, p = trees.rule[v], nodes.above[v]
            n, row = blocks.nx[rule], blocks.row[rule]
            add_use(trees, blocks, tally, q, v, -1.0)
            if p >= 0:
                add_use(trees, blocks, tally, q, p, -1.0)
                count_above(trees, blocks, tally, nodes, v, work[0])
            else:
                _add_root(trees, blocks, tally, q, i, -1.0)
                for a in range(n):
                    work[0, a] = tally.cells[blocks.first[trees.root[i]] + a]
            count_own(trees, blocks, tally, nodes, v, work[1])
            is_same = p >= 0 and blocks.row[trees.rule[p]] == row
            total = 0.0
            for a in range(n):
                below = tally.totals[row + a] + tally.prior_totals[row + a]
                if is_same:
                    below += q[p, a]
                above = max(work[0, a], 0.0) + tally.prior
                q[v, a] = above * (max(work[1, a], 0.0) + tally.prior) / below
                total += q[v, a]
            for a in range(n):
                q[v, a] /= total
            add_use(trees, blocks, tally, q, v, 1.0)
            if p >= 0:
                add_use(trees, blocks, tally, q, p, 1.0)
            else:
                _add_root(trees, blocks, tally, q, i, 1.0)


@jit
def add_uses(trees, blocks, tally, q):
    """Add the expected counts of all nodes to the tally."""
    for i in range(trees.root.size):
        for v in range(trees.starts[i], trees.starts[i + 1]):
            add_use(trees, blocks, tally, q, v, 1.0)
        _add_root(trees, blocks, tally, q, i, 1.0)


@jit
def write_shares(trees, blocks, shares, q):
    """Write what each tree adds to the counts, from probabilities of subtypes by node."""
    for i in range(trees.root.size):
        for v in range(trees.starts[i], trees.starts[i + 1]):
            rule, at = trees.rule[v], shares.first[v]
            for x in range(blocks.nx[rule]):
                for y in range(blocks.ny[rule]):
                    product = q[v, x] * q[trees.left[v], y]
                    for z in range(blocks.nz[rule]):
                        shares.count[at] = product * q[trees.right[v], z]
                        at += 1
        for y in range(blocks.ny[trees.root[i]]):
            shares.count[shares.root[i] + y] = q[trees.starts[i + 1] - 1, y]
