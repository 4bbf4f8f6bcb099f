"""Trees written node by node, into buffers that Python makes and enlarges."""

import numpy as np

from sklearn_cvb.kernels.jit import jit_inline
from sklearn_cvb.kernels.tree.arrays import Trees


def empty_trees(n_trees: int, n_nodes: int) -> Trees:
    """Trees without nodes, and room for so many."""
    return Trees(
        np.zeros(n_trees + 1, np.int64),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int64),
        np.empty(n_nodes, np.int8),
    )


def with_room(trees: Trees, n_nodes: int) -> Trees:
    """The same trees, and room for at least so many nodes: those there are, or twice as many."""
    larger = empty_trees(len(trees.starts) - 1, max(n_nodes, 2 * len(trees.rule)))
    larger.starts[:] = trees.starts
    for new, old in zip(larger[1:], trees[1:], strict=True):
        new[: len(old)] = old
    return larger


def trimmed(trees: Trees) -> Trees:
    """Trees without the room that is left."""
    size = trees.starts[-1]
    return Trees(trees.starts, *(field[:size].copy() for field in trees[1:]))


def append(trees: Trees, first: int, nodes: list[tuple]) -> None:
    """Write nodes (begin, end, symbol, cell, number of children) after the first so many."""
    for field, values in zip(trees[1:], zip(*nodes, strict=True), strict=True):
        field[first : first + len(nodes)] = values


def trees_of(found: list[list[tuple]]) -> Trees:
    """Trees out of lists of nodes (begin, end, symbol, cell, number of children)."""
    trees = empty_trees(len(found), sum(map(len, found)))
    trees.starts[1:] = np.cumsum([len(nodes) for nodes in found])
    for first, nodes in zip(trees.starts.tolist(), found, strict=False):
        append(trees, first, nodes)
    return trees


@jit_inline
def put(trees, at, begin, end, symbol, rule, n_children):
    """Write a node over words[begin:end] and the rule applied there."""
    trees.begin[at] = begin
    trees.end[at] = end
    trees.symbol[at] = symbol
    trees.rule[at] = rule
    trees.n_children[at] = n_children


@jit_inline
def push(stack, height, begin, end, symbol):
    """Write a node to place `height` of those still to be derived, ndarray (room, 3), int64."""
    stack[height, 0] = begin
    stack[height, 1] = end
    stack[height, 2] = symbol
