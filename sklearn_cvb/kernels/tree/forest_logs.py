"""Sentences of a forest whose weights leave float64, one at a time with logs.

Same quantities as in `sklearn_cvb.kernels.tree.forest_inference`; compiled only where needed.
"""

import math

import numpy as np

from sklearn_cvb.kernels.chain.log_space import log_add
from sklearn_cvb.kernels.jit import jit


@jit
def forest_log_inside(forest, i, work):
    """Logs of the inside weights of all nodes of sentence `i`; reads `work.weight`.

    Fills `work.scaled` and `work.inside` with logs. Returns log p(words) in nats, -inf if the
    sentence has no tree.
    """
    node = forest.node_first[i]
    for x in range(forest.rule_first[i + 1] - forest.rule_first[i]):
        work.scaled[x] = math.log(work.weight[x])
    work.inside[0] = 0.0
    work.inside[1] = -math.inf
    for x in range(forest.node_first[i + 1] - node, 0, -1):
        total = -math.inf
        for e in range(forest.edge_first[node + x - 1], forest.edge_first[node + x]):
            rule, left, right = forest.edge[e, 0], forest.edge[e, 1], forest.edge[e, 2]
            value = work.inside[left] + work.scaled[rule] + work.inside[right]
            total = log_add(total, value)
        work.inside[x] = total
    return work.inside[1]


@jit
def forest_log_outside(forest, i, work):
    """Expected counts of the rules of sentence `i`, to `work.count`, after `forest_log_inside`."""
    node = forest.node_first[i]
    n = forest.node_first[i + 1] - node
    for x in range(forest.rule_first[i + 1] - forest.rule_first[i]):
        work.count[x] = 0.0
    for x in range(n + 1):
        work.outside[x] = -math.inf
    work.outside[1] = -work.inside[1]
    for x in range(1, n + 1):
        above = work.outside[x]
        if above == -math.inf:
            continue
        for e in range(forest.edge_first[node + x - 1], forest.edge_first[node + x]):
            rule, left, right = forest.edge[e, 0], forest.edge[e, 1], forest.edge[e, 2]
            value = work.scaled[rule] + above
            if left > 0:
                below = value + work.inside[right]
                work.outside[left] = log_add(work.outside[left], below)
            if right > 0:
                below = value + work.inside[left]
                work.outside[right] = log_add(work.outside[right], below)
            total = work.inside[left] + work.scaled[rule] + work.inside[right]
            work.count[rule] += math.exp(above + total)


@jit
def draw_log_edge(forest, i, x, work, rng):
    """Draw the edge at node `x` of sentence `i`, after `forest_log_inside`."""
    node = forest.node_first[i] + x - 1
    level = rng.random()
    # Rounding may leave a little of the level: then the last possible edge is taken.
    chosen = np.int64(forest.edge_first[node])
    for e in range(forest.edge_first[node], forest.edge_first[node + 1]):
        rule, left, right = forest.edge[e, 0], forest.edge[e, 1], forest.edge[e, 2]
        value = work.inside[left] + work.scaled[rule] + work.inside[right]
        value = math.exp(value - work.inside[x])
        if value > 0.0:
            chosen = e
            level -= value
            if level < 0.0:
                break
    return chosen
