"""One sentence inferred by the form of the grammar: forest, tables, factors or lists of rules.

The sweeps of collapsed variational Bayes, of the samplers and of stepwise EM stand once, and call
these functions. What does not belong to a form is None: its branches are not compiled.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit_called, jit_inline
from sklearn_cvb.kernels.tree.charts import Chart
from sklearn_cvb.kernels.tree.factors import (
    Factors,
    expected_counts_by_factors,
    inside_by_factors,
)
from sklearn_cvb.kernels.tree.forest_inference import (
    ForestWork,
    forest_inside,
    forest_outside,
    write_node,
)
from sklearn_cvb.kernels.tree.forests import Forest
from sklearn_cvb.kernels.tree.listed import Listed
from sklearn_cvb.kernels.tree.lists import inside, outside
from sklearn_cvb.kernels.tree.sampling import draw_listed_tree
from sklearn_cvb.kernels.tree.table_products import expected_counts_by_tables, inside_by_tables
from sklearn_cvb.kernels.tree.tables import Tables
from sklearn_cvb.kernels.tree.tallies import rule_mean
from sklearn_cvb.kernels.tree.unary_rules import fill_closure


class Form(NamedTuple):
    """What sentences are inferred with, one after the other: a forest, lists, tables or factors.

    Attributes
    ----------
    forest : Forest or None
    work : ForestWork or None
        Buffers of a forest.
    listed : Listed or None
        Rules and sentences of lists, tables and factors.
    tables : Tables or None
    chart : Chart or None
        Buffers of lists.
    factors : Factors or None
    """

    forest: Forest | None
    work: ForestWork | None
    listed: Listed | None
    tables: Tables | None
    chart: Chart | None
    factors: Factors | None = None


# Numba leaves out a branch where an argument is None, and only there: so every branch asks for what
# it needs, and fields of a `Form` are handed over one by one.


@jit_inline
def _raised(weight, power):
    """weight ** power, which costs something only where it is needed."""
    return weight if power == 1.0 else weight**power


@jit_called
def _weigh_unary(unary, tally, power, chains):
    """Weights of the unary rules, in place."""
    if unary is not None:
        for r in range(unary.cell.size):
            unary.weight[r] = _raised(rule_mean(tally, unary.cell[r]), power)
        fill_closure(unary, chains)


@jit_called
def _weigh_children(factors, unary, tally, power):
    """The same of independent children, which are the last cells, part by part."""
    if factors is not None:
        n, r = factors.n_symbols, 0
        first, unit = tally.cells.size - unary.cell.size, tally.unit[0]
        for _ in range(2 * n):
            symbol = tally.lhs[first + r]
            total = unit * tally.totals[symbol] + tally.prior_totals[symbol]
            for _ in range(n):
                mean = (unit * tally.cells[first + r] + tally.prior[first + r]) / total
                mean = tally.kept[first + r] if total == 0.0 else mean
                unary.weight[r] = _raised(mean, power)
                r += 1


@jit_called
def _weigh_listed(listed, tables, chart, factors, tally, power):
    """`weigh_rules` by the fields of a form."""
    if listed is not None:
        binary = listed.binary
        for r in range(binary.cell.size):
            binary.weight[r] = _raised(rule_mean(tally, binary.cell[r]), power)
        if tables is not None:
            _weigh_unary(tables.unary, tally, power, tables.charts.chains)
        if chart is not None:
            _weigh_unary(listed.unary, tally, power, chart.chains)
        _weigh_children(factors, listed.unary, tally, power)


@jit_inline
def weigh_rules(form, tally, power):
    """Weights of all binary and unary rules of lists: posterior means raised to a power."""
    _weigh_listed(form.listed, form.tables, form.chart, form.factors, tally, power)


@jit_called
def _weigh_sentence(forest, work, listed, tally, i, power):
    """`weigh_sentence` by the fields of a form."""
    if forest is not None:
        first = forest.rule_first[i]
        for x in range(first, forest.rule_first[i + 1]):
            work.weight[x - first] = _raised(rule_mean(tally, forest.cell[x]), power)
    if listed is not None:
        terminals = listed.terminals
        for x in range(terminals.starts[i], terminals.starts[i + 1]):
            terminals.weight[x] = _raised(rule_mean(tally, terminals.cell[x]), power)


@jit_inline
def weigh_sentence(form, tally, i, power):
    """Weights of the rules of sentence `i` in a forest, or else of its terminals."""
    _weigh_sentence(form.forest, form.work, form.listed, tally, i, power)


@jit_called
def _count_rules(forest, tables, chart, factors, form, i):
    """`count_rules` by the fields of a form."""
    log_z = math.nan
    if forest is not None:
        log_z = forest_inside(forest, i, form.work)
        if log_z > -math.inf:
            forest_outside(forest, i, form.work)
    if tables is not None:
        tables.one[0] = i
        expected_counts_by_tables(tables, form.listed, tables.one, tables.log_z, np.bool_(True))
        log_z = tables.log_z[0]
    if chart is not None:
        log_z = inside(form.listed, i, chart)
        if not math.isnan(log_z):
            outside(form.listed, i, chart)
    if factors is not None:
        factors.one[0] = i
        expected_counts_by_factors(factors, form.listed, factors.one, factors.log_z, np.bool_(True))
        log_z = factors.log_z[0]
    return log_z


@jit_inline
def count_rules(form, i):
    """Expected counts of the rules of sentence `i` under the weights at hand.

    Returns log p(words): -inf without a tree in a forest, NaN where none is found.
    """
    return _count_rules(form.forest, form.tables, form.chart, form.factors, form, i)


@jit_called
def _fill_chart(forest, tables, chart, factors, form, i):
    """`fill_chart` by the fields of a form."""
    log_z = math.nan
    if forest is not None:
        log_z = forest_inside(forest, i, form.work)
    if tables is not None:
        tables.one[0] = i
        log_z = inside_by_tables(tables, form.listed, tables.one, tables.chart)
    if chart is not None:
        log_z = inside(form.listed, i, chart)
    if factors is not None:
        factors.one[0] = i
        log_z = inside_by_factors(factors, form.listed, factors.one, factors.chart)
    return log_z


@jit_inline
def fill_chart(form, i):
    """Inside weights of sentence `i`, to draw trees from. Returns log p(words), as above."""
    return _fill_chart(form.forest, form.tables, form.chart, form.factors, form, i)


@jit_inline
def _draw_edge(forest, i, x, work, rng):
    """Draw the edge at node `x` of sentence `i`."""
    node = forest.node_first[i] + x - 1
    level = rng.random() * work.inside[x]
    # Rounding may leave a little of the level: then the last possible edge is taken.
    chosen = np.int64(forest.edge_first[node])
    for e in range(forest.edge_first[node], forest.edge_first[node + 1]):
        rule, left, right = forest.edge[e, 0], forest.edge[e, 1], forest.edge[e, 2]
        value = work.scaled[rule] * (work.inside[left] * work.inside[right])
        if value > 0.0:
            chosen = e
            level -= value
            if level < 0.0:
                break
    return chosen


@jit_inline
def _draw_forest_tree(forest, work, i, rng, draws, size):
    """Draw a tree of a forest, whose room is known; returns the number of nodes."""
    height, at = np.int64(1), size
    work.stack[0] = 1
    while height > 0:
        x = work.stack[height - 1]
        e = _draw_edge(forest, i, x, work, rng)
        height = write_node(forest, i, x, e, work, height - 1, draws.new, at)
        at += 1
    return at


@jit_called
def _draw_tree(forest, tables, chart, factors, form, i, rng, draws):
    """`draw_tree` by the fields of a form."""
    size = draws.stop[0]
    if forest is not None:
        size = _draw_forest_tree(forest, form.work, i, rng, draws, size)
    if tables is not None:
        size = draw_listed_tree(form.listed, i, tables.chart, rng, draws, size)
    if chart is not None:
        size = draw_listed_tree(form.listed, i, chart, rng, draws, size)
    if factors is not None:
        size = draw_listed_tree(form.listed, i, factors.chart, rng, draws, size)
    draws.stop[0] = size


@jit_inline
def draw_tree(form, i, rng, draws):
    """Draw a tree of sentence `i` after `fill_chart`, or what is left of it: nodes on the stack.

    The nodes are written to `draws.new` after the first `draws.stop`. `draws.height` is 0 in the
    end, and more where the room is used up.
    """
    _draw_tree(form.forest, form.tables, form.chart, form.factors, form, i, rng, draws)
