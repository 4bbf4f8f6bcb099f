"""One sentence inferred by its grammar's engine: forest, tables, factors or lists of rules.

The sweeps of collapsed variational Bayes, of the samplers and of stepwise EM stand once, and call
these functions. What does not belong to an engine is None: its branches are not compiled. A
sentence whose weights leave float64 is inferred in log space, by the forest or by lists, from the
weights that a sweep has made for it; that is compiled when the first such sentence is met.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline
from sklearn_cvb.kernels.tree.arrays import RuleLists
from sklearn_cvb.kernels.tree.charts import SpanChart, chart_for
from sklearn_cvb.kernels.tree.factors import (
    TreeFactors,
    expected_counts_by_factors,
    inside_by_factors,
)
from sklearn_cvb.kernels.tree.forests import (
    Forest,
    ForestWorkspace,
    draw_tree_by_forest,
    forest_inside,
    forest_outside,
)
from sklearn_cvb.kernels.tree.lists import draw_tree_by_lists, inside, outside
from sklearn_cvb.kernels.tree.tables import TreeTables, expected_counts_by_tables, inside_by_tables
from sklearn_cvb.kernels.tree.tallies import rule_mean
from sklearn_cvb.kernels.tree.unary_rules import fill_closure


class Engine(NamedTuple):
    """What infers sentences, one after the other: a forest, lists, tables or factors."""

    forest: Forest | None
    work: ForestWorkspace | None  # buffers of a forest
    lists: RuleLists | None  # rules and sentences of lists, tables and factors
    tables: TreeTables | None
    chart: SpanChart | None  # buffers of lists
    factors: TreeFactors | None = None


# Numba leaves out a branch where an argument is None, and only there: so every branch asks for what
# it needs, and fields of an `Engine` are handed over one by one.


@jit_inline
def _power(weight, power):
    """weight ** power, which costs something only where it is needed."""
    return weight if power == 1.0 else weight**power


@jit_called
def _weigh_unary(unary, tally, power, chains):
    """Weights of the unary rules, in place."""
    if unary is not None:
        for r in range(unary.cell.size):
            unary.weight[r] = _power(rule_mean(tally, unary.cell[r]), power)
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
                mean = tally.fallback[first + r] if total == 0.0 else mean
                unary.weight[r] = _power(mean, power)
                r += 1


@jit_called
def _weigh_lists(lists, tables, chart, factors, tally, power):
    """`weigh_rules` by the fields of an engine."""
    if lists is not None:
        binary = lists.binary
        for r in range(binary.cell.size):
            binary.weight[r] = _power(rule_mean(tally, binary.cell[r]), power)
        if tables is not None:
            _weigh_unary(tables.unary, tally, power, tables.charts.chains)
        if chart is not None:
            _weigh_unary(lists.unary, tally, power, chart.chains)
        _weigh_children(factors, lists.unary, tally, power)


@jit_inline
def weigh_rules(engine, tally, power):
    """Weights of all binary and unary rules of lists: posterior means raised to a power."""
    _weigh_lists(engine.lists, engine.tables, engine.chart, engine.factors, tally, power)


@jit_called
def weigh_sentence(forest, work, lists, tally, i, power):
    """Weights of the rules of sentence `i` in a forest, or else of its terminals."""
    if forest is not None:
        first = forest.rule_first[i]
        for x in range(first, forest.rule_first[i + 1]):
            work.weight[x - first] = _power(rule_mean(tally, forest.cell[x]), power)
    if lists is not None:
        terminals = lists.terminals
        for x in range(terminals.starts[i], terminals.starts[i + 1]):
            terminals.weight[x] = _power(rule_mean(tally, terminals.cell[x]), power)


@jit_called
def _count_rules(forest, tables, chart, factors, engine, i):
    """`count_rules` by the fields of an engine."""
    log_z = math.nan
    if forest is not None:
        log_z = forest_inside(forest, i, engine.work, None)
        if log_z > -math.inf:
            forest_outside(forest, i, engine.work, None)
    if tables is not None:
        tables.one[0] = i
        expected_counts_by_tables(tables, engine.lists, tables.one, tables.log_z, np.bool_(True))
        log_z = tables.log_z[0]
    if chart is not None:
        log_z = inside(engine.lists, i, chart, None)
        if not math.isnan(log_z):
            outside(engine.lists, i, chart, None)
    if factors is not None:
        factors.one[0] = i
        expected_counts_by_factors(
            factors, engine.lists, factors.one, factors.log_z, np.bool_(True)
        )
        log_z = factors.log_z[0]
    return log_z


@jit_inline
def count_rules(engine, i):
    """Expected counts of the rules of sentence `i` under the weights at hand.

    Returns log p(words): -inf without a tree in a forest, NaN where none is found.
    """
    return _count_rules(engine.forest, engine.tables, engine.chart, engine.factors, engine, i)


@jit_called
def fill_chart(forest, tables, chart, factors, engine, i):
    """Inside weights of sentence `i`, to draw trees from. Returns log p(words), as above."""
    log_z = math.nan
    if forest is not None:
        log_z = forest_inside(forest, i, engine.work, None)
    if tables is not None:
        tables.one[0] = i
        log_z = inside_by_tables(tables, engine.lists, tables.one, tables.chart)
    if chart is not None:
        log_z = inside(engine.lists, i, chart, None)
    if factors is not None:
        factors.one[0] = i
        log_z = inside_by_factors(factors, engine.lists, factors.one, factors.chart)
    return log_z


@jit_called
def draw_tree(forest, tables, chart, factors, engine, i, rng, sweep):
    """Draw a tree of sentence `i` after `fill_chart`, or what is left of it: nodes on the stack.

    The nodes are written to `sweep.new` after the first `sweep.stop`. `sweep.height` is 0 in the
    end, and more where the room is used up.
    """
    size = sweep.stop[0]
    if forest is not None:
        size = draw_tree_by_forest(forest, engine.work, i, rng, sweep, size, None)
    if tables is not None:
        size = draw_tree_by_lists(engine.lists, i, tables.chart, rng, sweep, size, None)
    if chart is not None:
        size = draw_tree_by_lists(engine.lists, i, chart, rng, sweep, size, None)
    if factors is not None:
        size = draw_tree_by_lists(engine.lists, i, factors.chart, rng, sweep, size, None)
    sweep.stop[0] = size


@jit
def infer_in_logs(forest, work, lists, chart, i, with_counts):
    """Log p(words) of sentence `i` and the expected counts of its rules, by a forest or lists."""
    logs, log_z = np.bool_(True), math.nan
    if forest is not None:
        log_z = forest_inside(forest, i, work, logs)
        if with_counts and log_z > -math.inf:
            forest_outside(forest, i, work, logs)
    if lists is not None:
        log_z = inside(lists, i, chart, logs)
        if with_counts and log_z > -math.inf:
            outside(lists, i, chart, logs)
    return log_z


@jit
def draw_tree_in_logs(forest, work, lists, chart, i, rng, sweep):
    """Draw a tree of sentence `i` after `infer_in_logs`, or what is left of it."""
    logs = np.bool_(True)
    if forest is not None:
        sweep.stop[0] = draw_tree_by_forest(forest, work, i, rng, sweep, sweep.stop[0], logs)
    if lists is not None:
        sweep.stop[0] = draw_tree_by_lists(lists, i, chart, rng, sweep, sweep.stop[0], logs)


def fields_in_logs(engine: Engine) -> tuple[Any, ...]:
    """What infers in log space: a forest, or lists and their chart (tables: one of its own)."""
    if engine.forest is not None:
        return engine.forest, engine.work, None, None
    assert engine.lists is not None, "without a forest there are lists"
    chart = chart_for(engine.lists) if engine.chart is None else engine.chart
    return None, None, engine.lists, chart


def count_in_logs(engine: Engine, i: int) -> float:
    """Expected counts of the rules of sentence `i`, where its engine leaves them.

    Returns log p(words) in nats, -inf if the sentence has no tree.
    """
    return infer_in_logs(*fields_in_logs(engine), i, True)
