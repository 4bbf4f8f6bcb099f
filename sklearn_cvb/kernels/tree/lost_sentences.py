"""A sentence that float64 loses, inferred with logs from the weights that a sweep has made for it.

These functions are plain Python around kernels that are compiled when a sentence is lost, if ever.
"""

import math

import numpy as np

from sklearn_cvb.kernels.tree.charts import Chart, chart_for
from sklearn_cvb.kernels.tree.decoding import TERMINAL, UNARY
from sklearn_cvb.kernels.tree.draws import SETTLE, Draws
from sklearn_cvb.kernels.tree.forest_logs import (
    draw_log_edge,
    forest_log_inside,
    forest_log_outside,
)
from sklearn_cvb.kernels.tree.forms import Form
from sklearn_cvb.kernels.tree.lists_log import draw_log_rule, log_inside, log_outside
from sklearn_cvb.kernels.tree.nodes import append, with_room


def _chart(form) -> Chart:
    """The chart of lists, or one of its own for tables."""
    return chart_for(form.listed) if form.chart is None else form.chart


def count_lost(form: Form, i: int) -> float:
    """Expected counts of the rules of sentence `i`, where its form leaves them.

    Returns log p(words) in nats, -inf if the sentence has no tree.
    """
    if form.forest is not None:
        log_z = forest_log_inside(form.forest, i, form.work)
        if log_z > -math.inf:
            forest_log_outside(form.forest, i, form.work)
        return log_z
    chart = _chart(form)
    log_z = log_inside(form.listed, i, chart)
    if log_z > -math.inf:
        log_outside(form.listed, i, chart)
    return log_z


def draw_lost(form: Form, i: int, draws: Draws, rng: np.random.Generator) -> tuple[Draws, float]:
    """Draw a tree of sentence `i`, to be settled or kept.

    Returns the draws, with room for it, and log p(words): -inf if the sentence has no tree.
    """
    first, chart = draws.new.starts[i], None
    if form.forest is not None:
        log_z = forest_log_inside(form.forest, i, form.work)
    else:
        chart = _chart(form)
        log_z = log_inside(form.listed, i, chart)
    if log_z == -math.inf:
        draws.stage[0], draws.stop[0] = SETTLE, first
        return draws, log_z
    if chart is None:
        nodes = _forest_nodes(form, i, rng)
    else:
        nodes = _listed_nodes(form.listed, i, chart, rng)
    if first + len(nodes) > len(draws.new.rule):
        draws = draws._replace(new=with_room(draws.new, first + len(nodes)))
    append(draws.new, first, nodes)
    draws.stage[0], draws.stop[0] = SETTLE, first + len(nodes)
    return draws, log_z


def _forest_nodes(form, i, rng):
    """Nodes (begin, end, symbol, cell, number of children) of a tree, in pre-order."""
    forest, nodes, stack = form.forest, [], [1]
    while stack:
        x = stack.pop()
        rule, left, right = forest.edge[draw_log_edge(forest, i, x, form.work, rng)].tolist()
        here = forest.node_first[i] + x - 1
        below = [part for part in (right, left) if part > 0]
        cell = forest.cell[forest.rule_first[i] + rule]
        span = forest.begin[here], forest.end[here], forest.symbol[here]
        nodes.append((*span, cell, len(below)))
        stack.extend(below)
    return nodes


def _listed_nodes(listed, i, chart, rng):
    """The same from the chart of a sentence."""
    binary, nodes = listed.binary, []
    stack = [(0, int(listed.terminals.length[i]), int(binary.start))]
    while stack:
        node = stack.pop()
        begin, end, _ = node
        rule, split = draw_log_rule(listed, i, chart, node, rng)
        if split == TERMINAL:
            nodes.append((*node, listed.terminals.cell[rule], 0))
        elif split == UNARY:
            nodes.append((*node, listed.unary.cell[rule], 1))
            stack.append((begin, end, int(listed.unary.lower[rule])))
        else:
            nodes.append((*node, binary.cell[rule], 2))
            stack.append((split, end, int(binary.right[rule])))
            stack.append((begin, split, int(binary.left[rule])))
    return nodes
