"""Stepwise EM: new weights after every few sentences (Liang and Klein 2009).

After the k-th batch the running counts become (1 - eta) times themselves plus eta times the counts
that the batch would have if it were the whole corpus, with eta = (k + 2) ** -step_power. They are
kept divided by one number, so that forgetting a share of all of them changes this number alone,
and weights are made only for rules that the sentences can use.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_allocating
from sklearn_cvb.kernels.tree.arrays import RuleCounts
from sklearn_cvb.kernels.tree.charts import chart_for, fill_closure, longest_of
from sklearn_cvb.kernels.tree.forest_inference import forest_work_for, infer_sentence
from sklearn_cvb.kernels.tree.leave_out import weights_for
from sklearn_cvb.kernels.tree.lists import inside, outside
from sklearn_cvb.kernels.tree.table_sentences import infer_by_tables
from sklearn_cvb.pcfg.concentrations import Alpha
from sklearn_cvb.pcfg.forms import dense_room_of
from sklearn_cvb.pcfg.parameters import totals_of

# Below this the common divisor is multiplied out.
_SMALLEST_UNIT = 1e-200


class StepwiseState(NamedTuple):
    """What stepwise EM carries between sweeps: as batch EM, the steps so far, the orders' seed."""

    counts: np.ndarray
    alpha: Alpha
    prior: np.ndarray
    weights: np.ndarray
    unexplained: np.ndarray
    n_sweeps: int
    n_steps: int
    seed: int


class Running(NamedTuple):
    """Running counts of rules (cells) and of left-hand sides (totals), both in units of `unit`.

    `kept` holds weights for symbols with neither count nor prior.
    """

    cells: np.ndarray
    totals: np.ndarray
    unit: np.ndarray
    prior: np.ndarray
    prior_totals: np.ndarray
    lhs: np.ndarray
    kept: np.ndarray


class Steps(NamedTuple):
    """Sentences in the order of a sweep, how many make a batch, and which step comes first."""

    order: np.ndarray
    batch_size: int
    power: float
    n_before: int


@jit
def _weight(running, cell):
    """The weight of a rule; the rules of helper symbols have weight 1."""
    if cell < 0:
        return 1.0
    symbol, unit = running.lhs[cell], running.unit[0]
    total = unit * running.totals[symbol] + running.prior_totals[symbol]
    if total == 0.0:
        return running.kept[cell]
    return (unit * running.cells[cell] + running.prior[cell]) / total


@jit
def _add(running, cell, count):
    """Add to a cell, `count` in units of `unit`."""
    if cell >= 0:
        running.cells[cell] += count
        running.totals[running.lhs[cell]] += count


@jit
def _forget(running, share):
    """Forget a share of all counts."""
    running.unit[0] *= 1.0 - share
    if running.unit[0] < _SMALLEST_UNIT:
        for cell in range(running.cells.size):
            running.cells[cell] *= running.unit[0]
        for symbol in range(running.totals.size):
            running.totals[symbol] *= running.unit[0]
        running.unit[0] = 1.0


@jit
def _add_batch(running, rules, lexicon, batch, counts, factor):
    """Add the counts of a batch times a factor, and clear them."""
    for r in range(rules.binary.size):
        _add(running, rules.binary[r], factor * counts.binary[r])
        counts.binary[r] = 0.0
    for r in range(rules.unary.size):
        _add(running, rules.unary[r], factor * counts.unary[r])
        counts.unary[r] = 0.0
    for i in batch:
        for x in range(lexicon.starts[i], lexicon.starts[i + 1]):
            _add(running, lexicon.rule[x], factor * counts.lexical[x])
            counts.lexical[x] = 0.0


@jit_allocating
def _weigh_rules(running, rules, weights):
    """Weights of all binary and unary rules, in place."""
    for r in range(rules.binary.size):
        weights.binary[r] = _weight(running, rules.binary[r])
    for r in range(rules.unary.size):
        weights.unary[r] = _weight(running, rules.unary[r])
    if rules.unary.size > 0:
        fill_closure(rules, weights.unary, weights.closure)


@jit
def _weigh_terminals(running, lexicon, i, weights):
    """Weights of the terminals of a sentence, in place."""
    for x in range(lexicon.starts[i], lexicon.starts[i + 1]):
        weights.lexical[x] = _weight(running, lexicon.rule[x])


@jit_allocating
def _sweep_lists(rules, lexicon, brackets, running, steps, log_z):
    """`sweep_steps` by lists of rules."""
    order, n_steps = steps.order, np.int64(steps.n_before)
    weights, chart = weights_for(rules, lexicon), chart_for(rules, longest_of(lexicon, order))
    counts = RuleCounts(
        np.zeros(rules.binary.size), np.zeros(rules.unary.size), np.zeros(lexicon.rule.size)
    )
    for first in range(0, order.size, steps.batch_size):
        batch, n_explained = order[first : first + steps.batch_size], 0
        _weigh_rules(running, rules, weights)
        for i in batch:
            _weigh_terminals(running, lexicon, i, weights)
            log_z[i] = inside(rules, weights, lexicon, brackets, i, chart)
            if log_z[i] > -math.inf:
                outside(rules, weights, lexicon, brackets, i, chart, counts)
                n_explained += 1
        if n_explained:
            share = (n_steps + 2.0) ** -steps.power
            _forget(running, share)
            factor = share * order.size / n_explained / running.unit[0]
            _add_batch(running, rules, lexicon, batch, counts, factor)
            n_steps += 1
    return n_steps


@jit_allocating
def _sweep_tables(rules, lexicon, brackets, running, steps, log_z, room):
    """`sweep_steps` by tables, with a `DenseRoom`."""
    order, n_steps = steps.order, np.int64(steps.n_before)
    weights = weights_for(rules, lexicon)
    counts = RuleCounts(
        np.zeros(rules.binary.size), np.zeros(rules.unary.size), np.zeros(lexicon.rule.size)
    )
    for first in range(0, order.size, steps.batch_size):
        batch, n_explained = order[first : first + steps.batch_size], 0
        _weigh_rules(running, rules, weights)
        for i in batch:
            _weigh_terminals(running, lexicon, i, weights)
            log_z[i] = infer_by_tables(rules, weights, lexicon, brackets, i, room, counts)
            n_explained += log_z[i] > -math.inf
        if n_explained:
            share = (n_steps + 2.0) ** -steps.power
            _forget(running, share)
            factor = share * order.size / n_explained / running.unit[0]
            _add_batch(running, rules, lexicon, batch, counts, factor)
            n_steps += 1
    return n_steps


@jit
def _sweep_forest(forest, running, steps, work, counts, log_z):
    """`sweep_steps` by all derivations."""
    order, n_steps = steps.order, np.int64(steps.n_before)
    for first in range(0, order.size, steps.batch_size):
        batch, n_explained = order[first : first + steps.batch_size], 0
        for i in batch:
            begin = forest.rule_first[i]
            for x in range(begin, forest.rule_first[i + 1]):
                work.weight[x - begin] = _weight(running, forest.cell[x])
            log_z[i] = infer_sentence(forest, i, work, counts)
            n_explained += log_z[i] > -math.inf
        if n_explained:
            share = (n_steps + 2.0) ** -steps.power
            _forget(running, share)
            factor = share * order.size / n_explained / running.unit[0]
            for i in batch:
                for x in range(forest.rule_first[i], forest.rule_first[i + 1]):
                    _add(running, forest.cell[x], factor * counts[x])
            n_steps += 1
    return n_steps


def sweep_steps(problem, running, steps, log_z):
    """One sweep: batch after batch under the weights that all before have left.

    Parameters
    ----------
    problem : Problem
    running : Running
        Changed in place.
    steps : Steps
    log_z : ndarray of shape (n_sentences,)
        Receives log p(words) of the sentences in `steps.order`, under the weights of the moment.

    Returns
    -------
    int
        Number of steps, those before included.
    """
    forest, kernel = problem.forest, (problem.layout.rules, problem.lexicon, problem.brackets)
    if forest is not None:
        work, counts = forest_work_for(forest), np.empty(len(forest.cell))
        return _sweep_forest(forest, running, steps, work, counts, log_z)
    if problem.dense is not None:
        return _sweep_tables(*kernel, running, steps, log_z, dense_room_of(problem))
    return _sweep_lists(*kernel, running, steps, log_z)


def running_of(layout, counts, prior, kept):
    """Counts of the last sweep, ready to run on."""
    totals = totals_of(layout, counts), totals_of(layout, prior)
    return Running(counts.copy(), totals[0], np.ones(1), prior, totals[1], layout.lhs, kept)


def order_of(state, n_sentences):
    """The sentences that have a tree, in the order of the next sweep: the same for a seed."""
    explained = np.setdiff1d(np.arange(n_sentences), state.unexplained)
    rng = np.random.Generator(np.random.PCG64([state.seed, state.n_sweeps]))
    return rng.permutation(explained)
