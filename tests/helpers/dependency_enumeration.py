"""All projective dependency trees of a short sentence, and what they say of a model."""

from itertools import product
from math import exp, log, prod
from typing import NamedTuple

import numpy as np


def is_projective(heads):
    """Whether heads (from 1, 0 for the root) are a projective tree with one root."""
    n = len(heads)
    if sum(h == 0 for h in heads) != 1:
        return False
    for t in range(n):
        above, seen = t + 1, set()
        while above:
            if above in seen:
                return False
            seen.add(above)
            above = heads[above - 1]
    for t in range(n):
        h = heads[t]
        for between in range(min(h, t + 1) + 1, max(h, t + 1)) if h else ():
            above = between
            while above not in (0, h):
                above = heads[above - 1]
            if above != h:
                return False
    return True


_TREES = {}


def projective_trees(n):
    """Heads of all projective trees of n tokens."""
    if n not in _TREES:
        _TREES[n] = [heads for heads in product(range(n + 1), repeat=n) if is_projective(heads)]
    return _TREES[n]


def cells_of_tree(tags, heads, n_types):
    """The cells that a tree uses, one by one, as the docstring of the arrays lays them out."""
    cells, choices = [], (2 * n_types + 1) * n_types
    for child, head in enumerate(heads, 1):
        row = 2 * n_types if head == 0 else 2 * tags[head - 1] + (child > head)
        cells.append(row * n_types + tags[child - 1])
    for position, tag in enumerate(tags, 1):
        for side, children in enumerate(
            (
                sum(head == position and child < position for child, head in enumerate(heads, 1)),
                sum(head == position and child > position for child, head in enumerate(heads, 1)),
            )
        ):
            at = choices + 8 * tag + 4 * side
            # Go on with valence 0, then with valence 1, and stop.
            cells += [at + 1] * (children > 0) + [at + 3] * max(0, children - 1)
            cells.append(at + 2 * (children > 0))
    return cells


def weigh_trees(tags, weights, n_types, known=None):
    """Pairs of heads and weight of all trees that agree with the known heads (None: not known)."""
    known = [None] * len(tags) if known is None else known
    return [
        (heads, prod(weights[cell] for cell in cells_of_tree(tags, heads, n_types)))
        for heads in projective_trees(len(tags))
        if all(k is None or k == h for k, h in zip(known, heads, strict=True))
    ]


def expected_cells(tags, weights, n_types, known=None):
    """Total weight, and expected counts of all cells."""
    trees = weigh_trees(tags, weights, n_types, known)
    total, counts = sum(weight for _, weight in trees), np.zeros(len(weights))
    for heads, weight in trees:
        for cell in cells_of_tree(tags, heads, n_types):
            counts[cell] += weight / total
    return total, counts


class Tables(NamedTuple):
    """Which parameters there are, laid out as the docstring of the arrays tells."""

    n_types: int
    n_valences: int = 1
    backoff: str | None = None

    def rows(self):
        """Sizes of all rows, in order."""
        n, n_arc_rows = self.n_types, 2 * self.n_types * self.n_valences
        widths = [n] * (n_arc_rows + 1) + [2] * (4 * n)
        if self.backoff:
            widths += [2] * n_arc_rows + [n] * (2 * n if self.backoff == "head" else 2)
        return widths

    def row_of_cell(self):
        return np.repeat(np.arange(len(self.rows())), self.rows())

    def mean(self, cells):
        return cells / np.bincount(self.row_of_cell(), cells)[self.row_of_cell()]


def ways_of_tree(tags, heads, tables):
    """All lists of cells that a tree may use: one for each choice of arcs' components."""
    n, n_valences = tables.n_types, tables.n_valences
    n_arc_rows = 2 * n * n_valences
    choices = (n_arc_rows + 1) * n
    mixtures = choices + 8 * n
    fixed, options = [], []
    for child, head in enumerate(heads, 1):
        tag = tags[child - 1]
        if head == 0:
            fixed.append(n_arc_rows * n + tag)
            continue
        side = int(child > head)
        between = range(min(head, child) + 1, max(head, child))
        is_first = not any(heads[x - 1] == head for x in between)
        row = 2 * tags[head - 1] + side
        coarse = row if tables.backoff == "head" else side
        if n_valences == 2:
            row = 2 * row + (not is_first)
        fixed.append(choices + 8 * tags[head - 1] + 4 * side + (1 if is_first else 3))
        if tables.backoff is None:
            fixed.append(row * n + tag)
        else:
            general = mixtures + 2 * n_arc_rows + coarse * n + tag
            options.append([(row * n + tag, mixtures + 2 * row), (general, mixtures + 2 * row + 1)])
    for position, tag in enumerate(tags, 1):
        for side in range(2):
            has_child = any(
                head == position and (child > position) == side
                for child, head in enumerate(heads, 1)
            )
            fixed.append(choices + 8 * tag + 4 * side + 2 * has_child)
    return [fixed + [cell for pair in way for cell in pair] for way in product(*options)]


def log_arc_weight(tags, heads, arc_weights):
    """Sum of the logs of what a dict says of a tree's arcs: tag 0 is "t0" in its keys."""
    total, names = 0.0, [f"t{tag}" for tag in tags]
    for child, head in enumerate(heads, 1):
        if head == 0:
            total += log(arc_weights.get((None, names[child - 1]), 1.0))
            continue
        arc = names[head - 1], names[child - 1]
        side = "left" if child < head else "right"
        total += log(arc_weights.get(arc, 1.0)) + log(arc_weights.get((*arc, side), 1.0))
    return total


def weigh_ways(tags, weights, tables, known=None, arc_weights=None):
    """Heads, cells and weight of all trees and components that agree with the known heads."""
    arc_weights = arc_weights or {}
    known = [None] * len(tags) if known is None else known
    return [
        (
            heads,
            cells,
            prod(weights[cell] for cell in cells) * exp(log_arc_weight(tags, heads, arc_weights)),
        )
        for heads in projective_trees(len(tags))
        if all(k is None or k == h for k, h in zip(known, heads, strict=True))
        for cells in ways_of_tree(tags, heads, tables)
    ]


def expected_parts(tags, weights, tables, known=None, arc_weights=None):
    """Total weight, and expected counts of all cells."""
    ways = weigh_ways(tags, weights, tables, known, arc_weights)
    total, counts = sum(weight for *_, weight in ways), np.zeros(len(weights))
    for _, cells, weight in ways:
        for cell in cells:
            counts[cell] += weight / total
    return total, counts
