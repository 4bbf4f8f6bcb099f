"""Treebank grammars with latent annotations, restated: all annotations of small trees, one by one.

A tree is a list of nodes, children first: tuples of a rule and the numbers of the children. A rule
is a tuple of symbols, parent first; ("", A) is that of a root A, and the last part of (A, word) is
a word where it is marked so. Annotated rules are pairs of a rule and subtypes of its symbols.
"""

import itertools
import math
from collections import defaultdict
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.treebank.arrays import rules_of
from sklearn_cvb.treebank.parameters import layout_of


class Case(NamedTuple):
    """A tiny treebank: rules in their order, numbers of subtypes, trees of (rule, left, right)."""

    n_subtypes: list
    roots: list
    binary: list
    unary: list
    words: list
    # Per tree: the nodes (number of the rule, children as numbers within the tree or -1).
    trees: list
    tree_roots: list

    @property
    def layout(self):
        return layout_of(
            rules_of(np.array(self.n_subtypes), self.roots, self.binary, self.unary, self.words)
        )

    def symbols(self, rule):
        """Parent (None: the root) and children of a rule that have subtypes."""
        n_roots, n_binary, n_unary = len(self.roots), len(self.binary), len(self.unary)
        if rule < n_roots:
            return None, (self.roots[rule],)
        rule -= n_roots
        if rule < n_binary:
            return self.binary[rule][0], self.binary[rule][1:]
        rule -= n_binary
        if rule < n_unary:
            return self.unary[rule][0], self.unary[rule][1:]
        return self.words[rule - n_unary][0], ()

    def annotated_rules(self):
        """All (rule, subtypes of parent and children), in the order of cells."""
        n_rules = len(self.roots) + len(self.binary) + len(self.unary) + len(self.words)
        for rule in range(n_rules):
            parent, children = self.symbols(rule)
            sizes = [1 if parent is None else self.n_subtypes[parent]]
            sizes += [self.n_subtypes[child] for child in children]
            for subtypes in itertools.product(*map(range, sizes)):
                yield rule, subtypes

    def row(self, cell):
        """The annotated left-hand side of an annotated rule."""
        rule, subtypes = cell
        return self.symbols(rule)[0], subtypes[0]

    def annotations(self, i):
        """All ways to give subtypes to the nodes of a tree."""
        sizes = [self.n_subtypes[self.symbols(rule)[0]] for rule, _, _ in self.trees[i]]
        return itertools.product(*map(range, sizes))

    def used(self, i, subtypes):
        """The annotated rules of an annotated tree: of its nodes in order, then of the root."""
        cells = [
            (rule, (subtypes[n], *(subtypes[c] for c in (left, right) if c >= 0)))
            for n, (rule, left, right) in enumerate(self.trees[i])
        ]
        return [*cells, (self.tree_roots[i], (0, subtypes[-1]))]


CASES = {
    # S -> A A, A -> A A (the same rule above and below a node), A -> word; S -> A; one tag.
    "repeated": Case(
        [2, 2],
        [0],
        [(0, 1, 1), (1, 1, 1)],
        [(0, 1)],
        [(1, 0), (1, 1)],
        [
            # S(A(A(A a, A b), A a), A b)
            [(4, -1, -1), (5, -1, -1), (2, 0, 1), (4, -1, -1), (2, 2, 3), (5, -1, -1), (1, 4, 5)],
            [(5, -1, -1), (4, -1, -1), (5, -1, -1), (2, 1, 2), (2, 0, 3), (3, 4, -1)],
            [(4, -1, -1), (3, 0, -1)],
        ],
        [0, 0, 0],
    ),
    # Other numbers of subtypes, several roots, @S.
    "ragged": Case(
        [2, 3, 1, 2],
        [0, 1],
        [(0, 1, 3), (3, 2, 1), (1, 2, 0)],
        [(1, 0)],
        [(2, 0), (1, 1), (0, 0)],
        [
            [(7, -1, -1), (6, -1, -1), (7, -1, -1), (3, 1, 2), (2, 0, 3)],
            [(6, -1, -1), (8, -1, -1), (4, 0, 1)],
            [(8, -1, -1), (5, 0, -1)],
        ],
        [0, 1, 1],
    ),
}


def arrays_of(case):
    """The trees as kernels read them."""
    from sklearn_cvb.kernels.treebank.arrays import ObservedTrees

    starts = np.cumsum([0, *map(len, case.trees)])
    rows = [
        (rule, *(child + first if child >= 0 else -1 for child in children))
        for first, tree in zip(starts, case.trees, strict=False)
        for rule, *children in tree
    ]
    rule, left, right = np.array(rows, np.int64).T.copy()
    return ObservedTrees(starts, rule, left, right, np.array(case.tree_roots, np.int64))


def as_dict(case, cells):
    """Cells by annotated rule."""
    return dict(zip(case.annotated_rules(), cells.tolist(), strict=True))


def as_cells(case, counts):
    """Counts by annotated rule as cells."""
    return np.array([counts.get(cell, 0.0) for cell in case.annotated_rules()])


def expected(case, i, weights):
    """Log of the weight of a tree, and its expected counts."""
    total, counts = 0.0, defaultdict(float)
    for subtypes in case.annotations(i):
        cells = case.used(i, subtypes)
        weight = math.prod(weights[cell] for cell in cells)
        total += weight
        for cell in cells:
            counts[cell] += weight
    return math.log(total), {cell: count / total for cell, count in counts.items()}


def total(case, parts):
    """The sum of several counts."""
    found = defaultdict(float)
    for counts in parts:
        for cell, count in counts.items():
            found[cell] += count
    return found


def means(case, counts, alpha):
    """Posterior means of all annotated rules."""
    sums = defaultdict(float)
    for cell in case.annotated_rules():
        sums[case.row(cell)] += counts.get(cell, 0.0) + alpha
    return {
        cell: (counts.get(cell, 0.0) + alpha) / sums[case.row(cell)]
        for cell in case.annotated_rules()
    }


def token_update(case, q, i, v, alpha):
    """New q of one node, by the expectation of each factor over all other nodes, enumerated.

    The node's subtype is in the rule above it and in its own; the first comes first, so that the
    second counts it. The denominator of the first is the same for all subtypes.

    Parameters
    ----------
    case : Case
    q : list of list of ndarray
        By tree and node.
    i, v : int
    alpha : float

    Returns
    -------
    ndarray
    """
    tree = case.trees[i]
    symbol = case.symbols(tree[v][0])[0]
    above = next((n for n, (_, *c) in enumerate(tree) if v in c), None)
    size = defaultdict(int)
    for cell in case.annotated_rules():
        size[case.row(cell)] += 1
    fixed = total(case, [product_counts(case, q, j) for j in range(len(case.trees)) if j != i])
    factors = np.zeros((3, case.n_subtypes[symbol]))
    for subtypes in case.annotations(i):
        chance = math.prod(q[i][n][s] for n, s in enumerate(subtypes) if n != v)
        cells = case.used(i, subtypes)
        first = cells[-1] if above is None else cells[above]
        own = cells[v]
        left_out = {len(cells) - 1 if above is None else above, v}
        rest = [cell for n, cell in enumerate(cells) if n not in left_out]

        def count(cell, rest=rest):
            return fixed.get(cell, 0.0) + rest.count(cell)

        a, row = subtypes[v], case.row(own)
        of_row = [c for c in fixed if case.row(c) == row]
        total_of_row = sum(fixed[c] for c in of_row) + sum(case.row(c) == row for c in rest)
        # All q but the node's own, so that each of its subtypes is met with chances that sum to 1.
        factors[0, a] += chance * (count(first) + alpha)
        factors[1, a] += chance * (count(own) + alpha + (first == own))
        factors[2, a] += chance * (total_of_row + size[row] * alpha + (case.row(first) == row))
    found = factors[0] * factors[1] / factors[2]
    return found / found.sum()


def product_counts(case, q, i):
    """Expected counts of a tree whose nodes are independent."""
    counts = defaultdict(float)
    for subtypes in case.annotations(i):
        chance = math.prod(q[i][n][s] for n, s in enumerate(subtypes))
        for cell in case.used(i, subtypes):
            counts[cell] += chance
    return counts
