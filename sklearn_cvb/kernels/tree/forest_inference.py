"""Inside and outside weights of the nodes of a forest, expected counts, and trees drawn from it.

Weights of terminals are multiplied by a power of two per word where the weight of the sentence
would leave float64: all its derivations have the same words, so nothing else changes. Where that
does not help, logs are taken.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.chain.log_space import log_add
from sklearn_cvb.kernels.jit import jit, jit_token
from sklearn_cvb.kernels.tree.arrays import Trees
from sklearn_cvb.kernels.tree.nodes import empty_trees, put

_LOG_2 = math.log(2.0)
# Weights of sentences within this range have lost nothing that counts.
_SMALLEST, _LARGEST = 1e-200, 1e200
# Binary digits that each word is multiplied by, one after the other.
_MULTIPLIERS = (0, 16, 16)


class ForestWork(NamedTuple):
    """Buffers for one sentence of a forest.

    Attributes
    ----------
    weight, count : ndarray of shape (n_rules,)
        Weights of the sentence's rules, which `inside` may change, and expected counts.
    inside, outside : ndarray of shape (n_nodes + 1,)
        By number of the node; the first belongs to no node.
    in_log : ndarray of shape (1,), bool
        Whether `weight`, `inside` and `outside` hold logs.
    stack : ndarray of shape (n_nodes + 1,), int64
        Nodes of a tree that are still to be written.
    best : ndarray of shape (n_nodes + 1,), int64
        The edge of the heaviest derivation of each node.
    """

    weight: np.ndarray
    count: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    in_log: np.ndarray
    stack: np.ndarray
    best: np.ndarray


def forest_work_for(forest):
    """Buffers for the largest sentence."""
    n_nodes = int(np.max(np.diff(forest.node_first), initial=0)) + 1
    n_rules = int(np.max(np.diff(forest.rule_first), initial=0))
    return ForestWork(
        np.empty(n_rules),
        np.empty(n_rules),
        np.empty(n_nodes),
        np.empty(n_nodes),
        np.zeros(1, np.bool_),
        np.empty(n_nodes, np.int64),
        np.empty(n_nodes, np.int64),
    )


@jit_token
def _edges(forest, i, x):
    """Where the edges of node x begin and end."""
    node = np.uint64(forest.node_first[i] + x - 1)
    return forest.edge_first[node], forest.edge_first[node + np.uint64(1)]


@jit_token
def _parts(forest, e):
    """Rule, left and right node of an edge."""
    edge = np.uint64(e)
    return forest.edge[edge, 0], forest.edge[edge, 1], forest.edge[edge, 2]


@jit_token
def _product(forest, work, e):
    """Weight of an edge and all below it."""
    rule, left, right = _parts(forest, e)
    return work.weight[rule] * (work.inside[left] * work.inside[right])


@jit
def _fill(forest, i, n, work):
    """Inside weights of all nodes; returns that of the root."""
    work.inside[0] = 1.0
    for x in range(n, 0, -1):
        first, stop = _edges(forest, i, x)
        total = 0.0
        for e in range(first, stop):
            total += _product(forest, work, e)
        work.inside[np.uint64(x)] = total
    return work.inside[1]


@jit_token
def _log_product(forest, work, e):
    """Log weight of an edge and all below it."""
    rule, left, right = _parts(forest, e)
    return work.inside[left] + work.weight[rule] + work.inside[right]


@jit
def _fill_logs(forest, i, n, work):
    """Logs of the inside weights of all nodes; returns that of the root."""
    for x in range(forest.rule_first[i + 1] - forest.rule_first[i]):
        work.weight[x] = math.log(work.weight[x])
    work.inside[0] = 0.0
    for x in range(n, 0, -1):
        first, stop = _edges(forest, i, x)
        total = -math.inf
        for e in range(first, stop):
            total = log_add(total, _log_product(forest, work, e))
        work.inside[x] = total
    return work.inside[1]


@jit
def forest_inside(forest, i, work):
    """Inside weights of all nodes of sentence `i`, whose rules' weights are in `work`.

    Returns log p(words) in nats, -inf if the sentence has no tree.
    """
    n = forest.node_first[i + 1] - forest.node_first[i]
    work.in_log[0] = False
    if n == 0:
        return -math.inf
    first, stop = forest.rule_first[i], forest.rule_first[i + 1]
    digits = 0
    for more in _MULTIPLIERS:
        if more > 0:
            for x in range(first, stop):
                weight = work.weight[x - first]
                work.weight[x - first] = math.ldexp(weight, np.int32(more * forest.n_words[x]))
        digits += more
        value = _fill(forest, i, n, work)
        if _SMALLEST < value < _LARGEST:
            break
    else:
        work.in_log[0] = True
        value = 0.0
    length = forest.end[forest.node_first[i]]
    log_z = _fill_logs(forest, i, n, work) if work.in_log[0] else math.log(value)
    return log_z - digits * length * _LOG_2


@jit
def forest_outside(forest, i, work):
    """Outside weights of all nodes of sentence `i`, after `forest_inside` found a tree.

    Fills `work.count` with the expected counts of the sentence's rules.
    """
    n = forest.node_first[i + 1] - forest.node_first[i]
    work.count[: forest.rule_first[i + 1] - forest.rule_first[i]] = 0.0
    if work.in_log[0]:
        _outside_logs(forest, i, n, work)
        return
    work.outside[: n + 1] = 0.0
    work.outside[1] = 1.0 / work.inside[1]
    for x in range(1, n + 1):
        above = work.outside[np.uint64(x)]
        first, stop = _edges(forest, i, x)
        for e in range(first, stop):
            rule, left, right = _parts(forest, e)
            value = work.weight[rule] * above
            work.count[rule] += value * (work.inside[left] * work.inside[right])
            work.outside[left] += value * work.inside[right]
            work.outside[right] += value * work.inside[left]


@jit
def _outside_logs(forest, i, n, work):
    """The same where weights are logs."""
    work.outside[: n + 1] = -math.inf
    work.outside[1] = -work.inside[1]
    for x in range(1, n + 1):
        above = work.outside[x]
        first, stop = _edges(forest, i, x)
        if above == -math.inf:
            continue
        for e in range(first, stop):
            rule, left, right = _parts(forest, e)
            value = work.weight[rule] + above
            if left > 0:
                below = value + work.inside[right]
                work.outside[left] = log_add(work.outside[left], below)
            if right > 0:
                below = value + work.inside[left]
                work.outside[right] = log_add(work.outside[right], below)
            work.count[rule] += math.exp(above + _log_product(forest, work, e))


@jit
def infer_sentence(forest, i, work, counts):
    """Write the expected counts of a sentence's rules, 0 without a tree; returns log p(words)."""
    log_z, first = forest_inside(forest, i, work), forest.rule_first[i]
    if log_z > -math.inf:
        forest_outside(forest, i, work)
    for x in range(first, forest.rule_first[i + 1]):
        counts[x] = work.count[x - first] if log_z > -math.inf else 0.0
    return log_z


@jit
def gather(forest, i, weights, work):
    """Weights of a sentence's rules, out of those of all."""
    first = forest.rule_first[i]
    for x in range(first, forest.rule_first[i + 1]):
        work.weight[x - first] = weights[forest.cell[x]]


@jit
def expected_forest_counts(forest, weights, work, counts, log_z):
    """E-step over all sentences.

    Parameters
    ----------
    forest : Forest
    weights : ndarray of shape (n_cells + 1,)
        Of all rules; the last is 1, for helper symbols.
    work : ForestWork
    counts : ndarray of shape (n_rules,)
        Receives the expected counts of each sentence's rules.
    log_z : ndarray of shape (n_sentences,)
        Receives log p(words) in nats; -inf for a sentence without a tree, which has no counts.
    """
    for i in range(log_z.size):
        gather(forest, i, weights, work)
        log_z[i] = infer_sentence(forest, i, work, counts)


@jit
def _draw_edge(forest, i, x, work, rng):
    """Draw the edge at a node."""
    first, stop = _edges(forest, i, x)
    level = rng.random() * (1.0 if work.in_log[0] else work.inside[x])
    # Rounding may leave a little of the level: then the last possible edge is taken.
    chosen = first
    for e in range(first, stop):
        if work.in_log[0]:
            value = math.exp(_log_product(forest, work, e) - work.inside[x])
        else:
            value = _product(forest, work, e)
        if value > 0.0:
            chosen = e
            level -= value
            if level < 0.0:
                break
    return chosen


@jit
def sample_forest_tree(forest, i, work, rng, trees, size):
    """Draw a tree of sentence `i`, after `forest_inside` found one.

    Parameters
    ----------
    forest : Forest
    i : int
    work : ForestWork
    rng : numpy.random.Generator
    trees : Trees
        The nodes are written after the first `size`.
    size : int

    Returns
    -------
    int
        Number of nodes now.
    """
    height = _begin_tree(work)
    while height > 0:
        x = work.stack[height - 1]
        edge = _draw_edge(forest, i, x, work, rng)
        height = _write_node(forest, i, x, edge, work, height - 1, trees, size)
        size += 1
    return size


@jit_token
def _begin_tree(work):
    """Put the root on the stack; returns its height."""
    work.stack[0] = 1
    return 1


@jit
def _write_node(forest, i, x, edge, work, height, trees, size):
    """Write node x with the rule of an edge; what is below goes to the stack."""
    here = forest.node_first[i] + x - 1
    rule, left, right = _parts(forest, edge)
    node = forest.begin[here], forest.end[here], forest.symbol[here]
    cell = forest.cell[forest.rule_first[i] + np.int64(rule)]
    put(trees, size, node, cell, (left > 0) + (right > 0))
    for below in (right, left):
        if below > 0:
            work.stack[height] = below
            height += 1
    return height


def room_for_trees(forest):
    """Room for a tree of each sentence: a node occurs at most once in a tree."""
    n_nodes, n = np.diff(forest.node_first), len(forest.node_first) - 1
    return empty_trees(n, int(n_nodes.sum()))


def trimmed(trees):
    """Trees without the room that is left."""
    size = trees.starts[-1]
    return Trees(trees.starts, *(field[:size].copy() for field in trees[1:]))


@jit
def sample_forest_trees(forest, weights, work, rng, trees, log_z):
    """Draw a derivation of each sentence from its posterior.

    Parameters
    ----------
    forest : Forest
    weights : ndarray of shape (n_cells + 1,)
        Of all rules; the last is 1, for helper symbols.
    work : ForestWork
    rng : numpy.random.Generator
    trees : Trees
        Receives the trees, from `room_for_trees`.
    log_z : ndarray of shape (n_sentences,)
        Receives log p(words) in nats; -inf for a sentence without a tree.
    """
    size = np.int64(0)
    for i in range(log_z.size):
        gather(forest, i, weights, work)
        log_z[i] = forest_inside(forest, i, work)
        if log_z[i] > -math.inf:
            size = sample_forest_tree(forest, i, work, rng, trees, size)
        trees.starts[i + 1] = size


@jit
def best_forest_tree(forest, i, work, trees, size):
    """Write the heaviest tree of a sentence after the first `size` nodes; returns the new size.

    Weights in `work` are logs. Trees that tie, but for rounding, are chosen from as in
    `sklearn_cvb.kernels.tree.decoding`.
    """
    work.inside[0] = 0.0
    for x in range(forest.node_first[i + 1] - forest.node_first[i], 0, -1):
        first, stop = _edges(forest, i, x)
        best, at, by_unary = -math.inf, first, False
        for e in range(first, stop):
            value = _log_product(forest, work, e)
            _, left, right = _parts(forest, e)
            # A unary rule is taken only where it is better than a terminal.
            if value > best or (value == best and left == 0 and by_unary):
                best, at, by_unary = value, e, left > 0 and right == 0
        work.inside[x], work.best[x] = best, at
    possible = forest.node_first[i + 1] > forest.node_first[i] and work.inside[1] > -math.inf
    height = _begin_tree(work) if possible else 0
    while height > 0:
        x = work.stack[height - 1]
        height = _write_node(forest, i, x, work.best[x], work, height - 1, trees, size)
        size += 1
    return size


@jit
def best_forest_trees(forest, logs, work, trees):
    """The heaviest tree of each sentence; `logs` (n_cells + 1,) are log weights, the last is 0."""
    size = np.int64(0)
    for i in range(trees.starts.size - 1):
        gather(forest, i, logs, work)
        size = best_forest_tree(forest, i, work, trees, size)
        trees.starts[i + 1] = size
