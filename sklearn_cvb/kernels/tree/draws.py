"""Trees sampled sentence by sentence: under given weights, or by Hastings steps given all others.
Trees are written node by node from a stack.

A Hastings step proposes a tree from the rules' posterior means given all other trees, which ignores
that a rule used twice in the tree is likelier the second time; the acceptance makes up for that
(Johnson, Griffiths and Goldwater 2007). One sweep for all engines of a grammar; it hands back to
Python a sentence whose weights leave float64, and trees without room.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline
from sklearn_cvb.kernels.tree.arrays import Derivations, put_node, with_room
from sklearn_cvb.kernels.tree.engines import (
    Engine,
    draw_tree,
    draw_tree_in_logs,
    fields_in_logs,
    fill_chart,
    infer_in_logs,
    weigh_rules,
    weigh_sentence,
)
from sklearn_cvb.kernels.tree.tallies import add_count, add_tree, rule_mean

# What is to be done next for a sentence.
BEGIN, DRAW, SETTLE = 0, 1, 2


class TreeSweep(NamedTuple):
    """The trees of a sweep."""

    old: Derivations  # trees before the sweep, and room for those after it
    new: Derivations
    stack: np.ndarray  # (longest + 1, 3), int64: nodes of a tree that are still to be written
    height: np.ndarray  # (1,), int64: how many they are
    stop: np.ndarray  # (1,), int64: where the tree at hand ends among the nodes of `new`
    stage: np.ndarray  # (1,), int64: `BEGIN`, `DRAW` or `SETTLE`
    proposals: np.ndarray  # (2,), int64: trees proposed and accepted


def sweep_for(old: Derivations, new: Derivations, longest: int) -> TreeSweep:
    """A sweep that has not begun."""
    return TreeSweep(
        old,
        new,
        np.empty((longest + 1, 3), np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(2, np.int64),
    )


@jit_called
def _log_weights(tally, trees, begin, end):
    """Logs of p(tree | all others), by an urn (eq. 5), and of the product of posterior means.

    In the urn each rule is given those before it in the tree, too.
    """
    urn, proposal = 0.0, 0.0
    for x in range(begin, end):
        proposal += math.log(rule_mean(tally, trees.rule[x]))
    for x in range(begin, end):
        urn += math.log(rule_mean(tally, trees.rule[x]))
        add_count(tally, trees.rule[x], 1.0)
    add_tree(tally, trees, begin, end, -1.0)
    return urn, proposal


@jit_inline
def _hastings_step(tally, sweep, i, temperature, rng):
    """Keep the tree of sentence `i` that is proposed, or the old one; it is added to the counts."""
    old, new = sweep.old, sweep.new
    first, stop = new.starts[i], sweep.stop[0]
    begin, end = old.starts[i], old.starts[i + 1]
    urn, proposal = _log_weights(tally, new, first, stop)
    old_urn, old_proposal = _log_weights(tally, old, begin, end)
    ratio = urn - old_urn
    ratio += old_proposal - proposal
    # Where a low temperature leaves no proposal any weight there is no new tree.
    accepted = stop > first and math.log(1.0 - rng.random()) < ratio / temperature
    if not accepted:
        stop = first + end - begin
        for x in range(begin, end):
            at = first + x - begin
            put_node(
                new, at, old.begin[x], old.end[x], old.symbol[x], old.rule[x], old.n_children[x]
            )
    add_tree(tally, new, first, stop, 1.0)
    sweep.stop[0] = stop
    sweep.proposals[0] += 1
    sweep.proposals[1] += accepted


@jit
def draw_trees(engine, tally, sweep, frozen, temperature, i, rng, log_z):
    """Draw the trees of sentences from `i` on, to `sweep.new`; returns the next sentence.

    Frozen, every sentence gets a tree from its posterior given the tally as it is; if not, each
    that has a tree takes a Hastings step given all other trees, and the tally changes. Where not
    all are done there is no room for the next tree, or its `log_z` is NaN: then its weights are
    made, and a tree must be drawn in logs. Probabilities are raised to the power 1 / temperature.
    """
    old, new, stage = sweep.old, sweep.new, sweep.stage
    if frozen and stage[0] == BEGIN:
        weigh_rules(engine, tally, 1.0 / temperature)
    while i < log_z.size:
        first, begin, end = new.starts[i], old.starts[i], old.starts[i + 1]
        sweep.stop[0] = first if stage[0] == BEGIN else sweep.stop[0]
        if stage[0] == BEGIN and (frozen or end > begin):
            if first + end - begin > new.begin.size:
                break
            if not frozen:
                add_tree(tally, old, begin, end, -1.0)
                weigh_rules(engine, tally, 1.0 / temperature)
            weigh_sentence(engine.forest, engine.work, engine.lists, tally, i, 1.0 / temperature)
            log_z[i] = fill_chart(
                engine.forest, engine.tables, engine.chart, engine.factors, engine, i
            )
            if log_z[i] > -math.inf:
                stage[0] = DRAW
            elif math.isnan(log_z[i]):
                break
            else:
                stage[0] = SETTLE
        if stage[0] == DRAW:
            draw_tree(
                engine.forest, engine.tables, engine.chart, engine.factors, engine, i, rng, sweep
            )
            if sweep.height[0] > 0:
                break
            stage[0] = SETTLE
        if stage[0] == SETTLE and not frozen:
            if first + end - begin > new.begin.size:
                break
            _hastings_step(tally, sweep, i, temperature, rng)
        stage[0] = BEGIN
        i += 1
        new.starts[i] = sweep.stop[0]
    return i


def draw_in_logs(
    engine: Engine, i: int, sweep: TreeSweep, rng: np.random.Generator
) -> tuple[TreeSweep, float]:
    """Draw a tree of sentence `i`, to be settled or kept.

    Returns the sweep, with room for it, and log p(words): -inf if the sentence has no tree.
    """
    fields = fields_in_logs(engine)
    log_z = infer_in_logs(*fields, i, False)
    sweep.stage[0], sweep.stop[0] = SETTLE, sweep.new.starts[i]
    if log_z > -math.inf:
        draw_tree_in_logs(*fields, i, rng, sweep)
    while sweep.height[0] > 0:
        sweep = sweep._replace(new=with_room(sweep.new, 0))
        draw_tree_in_logs(*fields, i, rng, sweep)
    return sweep, log_z
