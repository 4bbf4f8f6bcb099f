"""Inside and outside weights of the nodes of a forest, expected counts, the heaviest trees.

Weights of terminals are multiplied by a power of two per word where the weight of the sentence
would leave float64: all its derivations have the same words, so nothing else changes. A sentence
for which that does not help is lost: its log normaliser is NaN, and
`sklearn_cvb.kernels.tree.forest_logs` infers it.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline
from sklearn_cvb.kernels.tree.arrays import Trees
from sklearn_cvb.kernels.tree.forests import Forest
from sklearn_cvb.kernels.tree.nodes import empty_trees, put

_LOG_2 = math.log(2.0)
# Weights of sentences within this range have lost nothing that counts.
_SMALLEST, _LARGEST = 1e-200, 1e200
# Binary digits that each word is multiplied by, tried in turn.
_DIGITS = (0, 16, 32)


class ForestWork(NamedTuple):
    """Buffers for one sentence of a forest.

    Attributes
    ----------
    weight, count : ndarray of shape (n_rules,)
        Weights of the sentence's rules, and their expected counts.
    scaled : ndarray of shape (n_rules,)
        The weights, those of terminals multiplied; or logs.
    inside, outside : ndarray of shape (n_nodes + 1,)
        By number of the node; the first belongs to no node.
    best : ndarray of shape (n_nodes + 1,), int64
        The edge of the heaviest derivation of each node.
    stack : ndarray of shape (n_nodes + 1,), int64
        Nodes of a tree that are still to be written.
    """

    weight: np.ndarray
    count: np.ndarray
    scaled: np.ndarray
    inside: np.ndarray
    outside: np.ndarray
    best: np.ndarray
    stack: np.ndarray


def forest_work_for(forest: Forest) -> ForestWork:
    """Buffers for the largest sentence."""
    n_nodes = int(np.max(np.diff(forest.node_first), initial=0)) + 1
    n_rules = int(np.max(np.diff(forest.rule_first), initial=0))
    return ForestWork(
        *(np.empty(n_rules) for _ in range(3)),
        *(np.empty(n_nodes) for _ in range(2)),
        *(np.empty(n_nodes, np.int64) for _ in range(2)),
    )


@jit_called
def forest_inside(forest, i, work):
    """Inside weights of all nodes of sentence `i`; reads `work.weight`.

    Fills `work.scaled` and `work.inside`. Returns log p(words) in nats: -inf if the sentence has no
    tree, NaN if it is lost.
    """
    node, rule = forest.node_first[i], forest.rule_first[i]
    n, n_rules = forest.node_first[i + 1] - node, forest.rule_first[i + 1] - rule
    if n == 0:
        return -math.inf
    for digits in _DIGITS:
        for x in range(n_rules):
            work.scaled[x] = work.weight[x]
            if digits > 0 and forest.n_words[rule + x] > 0:
                shift = np.int32(digits * forest.n_words[rule + x])
                work.scaled[x] = math.ldexp(work.weight[x], shift)
        work.inside[0] = 1.0
        for x in range(n, 0, -1):
            total = 0.0
            at = np.uint64(node + x - 1)
            for e in range(forest.edge_first[at], forest.edge_first[at + np.uint64(1)]):
                edge = forest.edge[np.uint64(e)]
                total += work.scaled[edge[0]] * (work.inside[edge[1]] * work.inside[edge[2]])
            work.inside[np.uint64(x)] = total
        if _SMALLEST < work.inside[1] < _LARGEST:
            return math.log(work.inside[1]) - digits * forest.end[node] * _LOG_2
    return math.nan


@jit_called
def forest_outside(forest, i, work):
    """Outside weights of all nodes of sentence `i`, after `forest_inside` found a tree.

    Fills `work.outside`, and `work.count` with the expected counts of the sentence's rules.
    """
    node = forest.node_first[i]
    n = forest.node_first[i + 1] - node
    work.count[: forest.rule_first[i + 1] - forest.rule_first[i]] = 0.0
    work.outside[: n + 1] = 0.0
    work.outside[1] = 1.0 / work.inside[1]
    for x in range(1, n + 1):
        above = work.outside[np.uint64(x)]
        at = np.uint64(node + x - 1)
        for e in range(forest.edge_first[at], forest.edge_first[at + np.uint64(1)]):
            edge = forest.edge[np.uint64(e)]
            rule, left, right = edge[0], edge[1], edge[2]
            value = work.scaled[rule] * above
            work.count[rule] += value * (work.inside[left] * work.inside[right])
            work.outside[left] += value * work.inside[right]
            work.outside[right] += value * work.inside[left]


@jit
def expected_forest_counts(forest, weights, work, counts, log_z, with_counts):
    """E-step over all sentences.

    Parameters
    ----------
    forest : Forest
    weights : ndarray of shape (n_rules,)
        Of each sentence's rules.
    work : ForestWork
    counts : ndarray of shape (n_rules,)
        Receives their expected counts.
    log_z : ndarray of shape (n_sentences,)
        Receives log p(words) in nats; -inf for a sentence without a tree and NaN for one that is
        lost, which have no counts.
    with_counts : bool
        False for `log_z` alone.
    """
    for i in range(log_z.size):
        first, stop = forest.rule_first[i], forest.rule_first[i + 1]
        for x in range(first, stop):
            work.weight[x - first] = weights[x]
        log_z[i] = forest_inside(forest, i, work)
        counted = with_counts and log_z[i] > -math.inf
        if counted:
            forest_outside(forest, i, work)
        for x in range(first, stop):
            counts[x] = work.count[x - first] if counted else 0.0


@jit_inline
def write_node(forest, i, x, e, work, height, trees, at):
    """Write node `x` of sentence `i` with the rule of edge `e`; what is below goes to the stack.

    Returns the new height of the stack.
    """
    here = forest.node_first[i] + x - 1
    rule, left, right = forest.edge[e, 0], forest.edge[e, 1], forest.edge[e, 2]
    cell = forest.cell[forest.rule_first[i] + np.int64(rule)]
    n_children = (left > 0) + (right > 0)
    put(trees, at, forest.begin[here], forest.end[here], forest.symbol[here], cell, n_children)
    above = height
    if right > 0:
        work.stack[above] = right
        above += 1
    if left > 0:
        work.stack[above] = left
        above += 1
    return above


def room_for_trees(forest: Forest) -> Trees:
    """Room for a tree of each sentence: a node occurs at most once in a tree."""
    return empty_trees(len(forest.node_first) - 1, len(forest.symbol))


@jit
def best_forest_trees(forest, logs, work, trees):
    """The heaviest tree of each sentence.

    Trees that tie, but for rounding, are chosen from as in `sklearn_cvb.kernels.tree.decoding`.

    Parameters
    ----------
    forest : Forest
    logs : ndarray of shape (n_rules,)
        Log weights of each sentence's rules.
    work : ForestWork
    trees : Trees
        Receives the trees, from `room_for_trees`.
    """
    size = np.int64(0)
    work.inside[0] = 0.0
    for i in range(trees.starts.size - 1):
        node, rule = forest.node_first[i], forest.rule_first[i]
        n = forest.node_first[i + 1] - node
        for x in range(n, 0, -1):
            first, stop = forest.edge_first[node + x - 1], forest.edge_first[node + x]
            best, at, by_unary = -math.inf, first, False
            for e in range(first, stop):
                left, right = forest.edge[e, 1], forest.edge[e, 2]
                weight = logs[rule + np.int64(forest.edge[e, 0])]
                value = work.inside[left] + weight + work.inside[right]
                # A unary rule is taken only where it is better than a terminal.
                if value > best or (value == best and left == 0 and by_unary):
                    best, at, by_unary = value, e, left > 0 and right == 0
            work.inside[x], work.best[x] = best, at
        work.stack[0] = 1
        height = 1 if n > 0 and work.inside[1] > -math.inf else 0
        while height > 0:
            x = work.stack[height - 1]
            height = write_node(forest, i, x, work.best[x], work, height - 1, trees, size)
            size += 1
        trees.starts[i + 1] = size
