"""Trees written node by node: buffers that grow, and the nodes that are still to be derived."""

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_allocating
from sklearn_cvb.kernels.tree.arrays import Trees


@jit_allocating
def empty_trees(n_trees, n_nodes):
    """Trees without nodes, and room for so many."""
    return Trees(
        np.zeros(n_trees + 1, np.int64),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int64),
        np.empty(n_nodes, np.int8),
    )


@jit_allocating
def resized(trees, size, capacity):
    """The first `size` nodes of trees, and room for `capacity`."""
    new = empty_trees(trees.starts.size - 1, capacity)
    _copy(trees, size, new)
    return new


@jit
def _copy(trees, size, new):
    """Copy the first `size` nodes, one by one: slices take numba longer to compile."""
    for i in range(trees.starts.size):
        new.starts[i] = trees.starts[i]
    for x in range(size):
        new.begin[x] = trees.begin[x]
        new.end[x] = trees.end[x]
        new.symbol[x] = trees.symbol[x]
        new.rule[x] = trees.rule[x]
        new.n_children[x] = trees.n_children[x]


@jit
def put(trees, at, node, rule, n_children):
    """Write a node (begin, end, symbol) and the rule applied there."""
    trees.begin[at] = node[0]
    trees.end[at] = node[1]
    trees.symbol[at] = node[2]
    trees.rule[at] = rule
    trees.n_children[at] = n_children


@jit
def push(stack, height, begin, end, symbol):
    """Add a node to those still to be derived; returns how many they are."""
    stack[height, 0] = begin
    stack[height, 1] = end
    stack[height, 2] = symbol
    return height + 1
