"""Sweeps of expected counts: each sentence given all others (CVB), or by batches (stepwise EM). The
counts of a sentence, its share, are listed rule by rule.

Leaving out one sentence, inferring its trees from the expected counts of all others, adding it
back: Wang and Blunsom (2013), figure 3.

Stepwise EM makes new weights after every few sentences (Liang and Klein 2009). After the k-th batch
the running counts become (1 - eta) times themselves plus eta times the counts that the batch would
have if it were the whole corpus, with eta = (k + 2) ** -step_power. They are kept divided by one
number, so that forgetting a share of all of them changes this number alone, and weights are made
only for rules that the sentences can use.

One sweep of each for all engines of a grammar. They hand back to Python what they cannot do: a
sentence whose weights leave float64, and shares without room.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline
from sklearn_cvb.kernels.subnormal import subnormal_is_zero
from sklearn_cvb.kernels.tree.engines import count_rules, weigh_rules, weigh_sentence
from sklearn_cvb.kernels.tree.tallies import add_count, add_share

# Below this the common divisor of running counts is multiplied out.
_SMALLEST_UNIT = 1e-200


@jit_called
def _n_unary(unary):
    """Number of unary rules."""
    return 0 if unary is None else unary.cell.size


@jit_called
def _n_rules(forest, lists, i):
    """How many rules the share of sentence `i` may have."""
    n = 0
    if forest is not None:
        n = forest.rule_first[i + 1] - forest.rule_first[i]
    if lists is not None:
        starts = lists.terminals.starts
        n = lists.binary.cell.size + _n_unary(lists.unary) + starts[i + 1] - starts[i]
    return n


@jit_inline
def _list_positive(cells, counts, span, shares, size):
    """Append the positive counts of a span to the shares and set them to 0.

    `span` is where the counts begin and end, and how much further on their cells are. Returns the
    new size.
    """
    at = size
    for r in range(span[0], span[1]):
        if counts[r] > 0.0:
            if cells[r + span[2]] >= 0:
                shares.cell[at] = cells[r + span[2]]
                shares.count[at] = counts[r]
                at += 1
            counts[r] = 0.0
    return at


@jit_called
def _list_unary(unary, shares, size):
    """`_list_positive` of the unary rules."""
    if unary is not None:
        size = _list_positive(unary.cell, unary.count, (0, unary.cell.size, 0), shares, size)
    return size


@jit_called
def _keep_table(tables, lists, i):
    """Move the counts of all children to the table of sentence `i`, or to the last one."""
    if tables is not None:
        count, r, row = lists.unary.count, 0, min(i, tables.shape[0] - 1)
        for part in range(tables.shape[1]):
            for child in range(tables.shape[2]):
                tables[row, part, child] = count[r]
                count[r] = 0.0
                r += 1


@jit_called
def _list_counts(forest, work, lists, tables, i, shares, size):
    """Append what has been counted in sentence `i` to the shares, and clear it; the new size.

    Children in tables are not listed.
    """
    if forest is not None:
        first = forest.rule_first[i]
        span = (0, forest.rule_first[i + 1] - first, first)
        size = _list_positive(forest.cell, work.count, span, shares, size)
    if lists is not None:
        binary, terminals = lists.binary, lists.terminals
        span = (0, binary.cell.size, 0)
        size = _list_positive(binary.cell, binary.count, span, shares, size)
        if tables is None:
            size = _list_unary(lists.unary, shares, size)
        span = (terminals.starts[i], terminals.starts[i + 1], 0)
        size = _list_positive(terminals.cell, terminals.count, span, shares, size)
    return size


@jit
def leave_out(engine, tally, old, new, frozen, is_inferred, i, log_z):
    """Infer sentences from `i` on, each from the counts of all others; returns the next sentence.

    What the sentences add before the sweep is in `old`, what they add after it goes to `new`; both
    may have the same tables. Unless frozen, the counts are updated at once; with the shares of
    nobody a frozen sweep is an E-step, else a score. `is_inferred` says whether sentence `i` has
    been inferred already, and its old share taken out. Where not all are done there is no room for
    the next share, or its `log_z` is NaN: then its old share is taken out, its weights are made,
    and it must be inferred in logs.
    """
    subnormal_is_zero(True)
    while i < log_z.size:
        if not is_inferred:
            if new.starts[i] + _n_rules(engine.forest, engine.lists, i) > new.cell.size:
                break
            add_share(tally, old, i, -1.0)
            weigh_rules(engine, tally, 1.0)
            weigh_sentence(engine.forest, engine.work, engine.lists, tally, i, 1.0)
            log_z[i] = count_rules(engine, i)
            if math.isnan(log_z[i]):
                break
        is_inferred = False
        new.starts[i + 1] = new.starts[i]
        if log_z[i] > -math.inf:
            new.starts[i + 1] = _list_counts(
                engine.forest, engine.work, engine.lists, new.tables, i, new, new.starts[i]
            )
        _keep_table(new.tables, engine.lists, i)
        if frozen:
            add_share(tally, old, i, 1.0)
        else:
            add_share(tally, new, i, 1.0)
        i += 1
    subnormal_is_zero(False)
    return i


class SweepOrder(NamedTuple):
    """Sentences in the order of a sweep, and how far it is."""

    order: np.ndarray  # int64: numbers of the sentences
    batch_size: int
    power: float
    # (1,), int64: the next sentence in the order; rules listed of its batch, and sentences that
    # have a tree
    position: np.ndarray
    size: np.ndarray  # (1,), int64
    n_explained: np.ndarray  # (1,), int64
    n_steps: np.ndarray  # (1,), int64: batches so far, those of earlier sweeps included


def sweep_order_for(order: np.ndarray, batch_size: int, power: float, n_steps: int) -> SweepOrder:
    """A sweep that has not begun, after so many steps."""
    position, size, n_explained = np.zeros((3, 1), np.int64)
    steps = np.array([n_steps], np.int64)
    return SweepOrder(order, batch_size, power, position, size, n_explained, steps)


@jit_called
def _forget_counts(tally, share):
    """Forget a share of all counts."""
    tally.unit[0] *= 1.0 - share
    if tally.unit[0] < _SMALLEST_UNIT:
        for cell in range(tally.cells.size):
            tally.cells[cell] *= tally.unit[0]
        for symbol in range(tally.totals.size):
            tally.totals[symbol] *= tally.unit[0]
        tally.unit[0] = 1.0


@jit_called
def _end_batch(tally, sweep, shares):
    """Move the counts towards those of the batch."""
    if sweep.n_explained[0] > 0:
        share = (sweep.n_steps[0] + 2.0) ** -sweep.power
        _forget_counts(tally, share)
        factor = share * sweep.order.size / sweep.n_explained[0] / tally.unit[0]
        for x in range(sweep.size[0]):
            add_count(tally, shares.cell[x], factor * shares.count[x])
        sweep.n_steps[0] += 1
    sweep.size[0] = 0
    sweep.n_explained[0] = 0


@jit
def sweep_steps(engine, tally, sweep, shares, is_inferred, log_z):
    """Batch after batch, each under the weights that all before have left; the next position.

    `shares` is room for the counts of a batch, and `is_inferred` says whether the first sentence
    has been inferred already. Where not all are done there is no room for what the sentence adds,
    or its `log_z` is NaN: then its weights are made, and it must be inferred in logs.
    """
    subnormal_is_zero(True)
    while sweep.position[0] < sweep.order.size:
        position = sweep.position[0]
        i = sweep.order[position]
        if not is_inferred:
            if sweep.size[0] + _n_rules(engine.forest, engine.lists, i) > shares.cell.size:
                break
            if position % sweep.batch_size == 0:
                weigh_rules(engine, tally, 1.0)
            weigh_sentence(engine.forest, engine.work, engine.lists, tally, i, 1.0)
            log_z[i] = count_rules(engine, i)
            if math.isnan(log_z[i]):
                break
        is_inferred = False
        if log_z[i] > -math.inf:
            sweep.size[0] = _list_counts(
                engine.forest, engine.work, engine.lists, shares.tables, i, shares, sweep.size[0]
            )
            sweep.n_explained[0] += 1
        sweep.position[0] += 1
        if (position + 1) % sweep.batch_size == 0 or position + 1 == sweep.order.size:
            _end_batch(tally, sweep, shares)
    subnormal_is_zero(False)
    return sweep.position[0]
