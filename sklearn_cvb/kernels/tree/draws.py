"""Trees drawn sentence by sentence: from given weights, or by Hastings steps given all others.

A Hastings step proposes a tree from the rules' posterior means given all other trees, which ignores
that a rule used twice in the tree is likelier the second time; the acceptance makes up for that
(Johnson, Griffiths and Goldwater 2007). One sweep for all forms of a grammar; it hands back to
Python a sentence that float64 loses, and trees without room.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline
from sklearn_cvb.kernels.tree.arrays import Trees
from sklearn_cvb.kernels.tree.forms import (
    draw_tree,
    fill_chart,
    weigh_rules,
    weigh_sentence,
)
from sklearn_cvb.kernels.tree.nodes import put
from sklearn_cvb.kernels.tree.tallies import add_count, add_tree, rule_mean

# What is to be done next for a sentence.
BEGIN, DRAW, SETTLE = 0, 1, 2


class Draws(NamedTuple):
    """The trees of a sweep.

    Attributes
    ----------
    old, new : Trees
        Trees before the sweep, and room for those after it.
    stack : ndarray of shape (longest + 1, 3), int64
        Nodes of a tree that are still to be written.
    height : ndarray of shape (1,), int64
        How many they are.
    stop : ndarray of shape (1,), int64
        Where the tree at hand ends among the nodes of `new`.
    stage : ndarray of shape (1,), int64
        `BEGIN`, `DRAW` or `SETTLE`.
    proposals : ndarray of shape (2,), int64
        Trees proposed and accepted.
    """

    old: Trees
    new: Trees
    stack: np.ndarray
    height: np.ndarray
    stop: np.ndarray
    stage: np.ndarray
    proposals: np.ndarray


def draws_for(old: Trees, new: Trees, longest: int) -> Draws:
    """A sweep that has not begun."""
    return Draws(
        old,
        new,
        np.empty((longest + 1, 3), np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(1, np.int64),
        np.zeros(2, np.int64),
    )


@jit_inline
def _log_proposal(tally, trees, begin, end):
    """Log of the product of the rules' posterior means."""
    total = 0.0
    for x in range(begin, end):
        total += math.log(rule_mean(tally, trees.rule[x]))
    return total


@jit_inline
def _log_urn(tally, trees, begin, end):
    """log p(tree | all others): rule after rule, each given those before (eq. 5)."""
    total = 0.0
    for x in range(begin, end):
        total += math.log(rule_mean(tally, trees.rule[x]))
        add_count(tally, trees.rule[x], 1.0)
    add_tree(tally, trees, begin, end, -1.0)
    return total


@jit_called
def _log_ratio(tally, trees, begin, end):
    """Log of what the acceptance multiplies by for a tree: p(tree | all others) / proposal."""
    return _log_urn(tally, trees, begin, end), _log_proposal(tally, trees, begin, end)


@jit_inline
def _settle(tally, draws, i, temperature, rng):
    """Keep the tree of sentence `i` that is proposed, or the old one; it is added to the counts."""
    old, new = draws.old, draws.new
    first, stop = new.starts[i], draws.stop[0]
    begin, end = old.starts[i], old.starts[i + 1]
    urn, proposal = _log_ratio(tally, new, first, stop)
    old_urn, old_proposal = _log_ratio(tally, old, begin, end)
    ratio = urn - old_urn
    ratio += old_proposal - proposal
    # Where a low temperature leaves no proposal any weight there is no new tree.
    accepted = stop > first and math.log(1.0 - rng.random()) < ratio / temperature
    if not accepted:
        stop = first + end - begin
        for x in range(begin, end):
            at = first + x - begin
            put(new, at, old.begin[x], old.end[x], old.symbol[x], old.rule[x], old.n_children[x])
    add_tree(tally, new, first, stop, 1.0)
    draws.stop[0] = stop
    draws.proposals[0] += 1
    draws.proposals[1] += accepted


@jit
def draw_trees(form, tally, draws, frozen, temperature, i, rng, log_z):
    """Draw the trees of sentences from `i` on.

    Parameters
    ----------
    form : Form
    tally : Tally
        Counts of all trees; changed in place, unless frozen.
    draws : Draws
        `new` receives the trees.
    frozen : bool
        Whether every sentence gets a tree from its posterior given the tally as it is. If not, each
        that has a tree takes a Hastings step given all other trees.
    temperature : float
        Probabilities are raised to the power 1 / temperature.
    i : int
    rng : numpy.random.Generator
    log_z : ndarray of shape (n_sentences,)
        Receives log p(words) in nats, -inf for a sentence without a tree.

    Returns
    -------
    int
        The next sentence. All are done; or there is no room for its tree; or its `log_z` is NaN:
        then its weights are made, and a tree must be drawn with logs.
    """
    old, new, stage = draws.old, draws.new, draws.stage
    if frozen and stage[0] == BEGIN:
        weigh_rules(form, tally, 1.0 / temperature)
    while i < log_z.size:
        first, begin, end = new.starts[i], old.starts[i], old.starts[i + 1]
        draws.stop[0] = first if stage[0] == BEGIN else draws.stop[0]
        if stage[0] == BEGIN and (frozen or end > begin):
            if first + end - begin > new.begin.size:
                break
            if not frozen:
                add_tree(tally, old, begin, end, -1.0)
                weigh_rules(form, tally, 1.0 / temperature)
            weigh_sentence(form, tally, i, 1.0 / temperature)
            log_z[i] = fill_chart(form, i)
            if log_z[i] > -math.inf:
                stage[0] = DRAW
            elif math.isnan(log_z[i]):
                break
            else:
                stage[0] = SETTLE
        if stage[0] == DRAW:
            draw_tree(form, i, rng, draws)
            if draws.height[0] > 0:
                break
            stage[0] = SETTLE
        if stage[0] == SETTLE and not frozen:
            if first + end - begin > new.begin.size:
                break
            _settle(tally, draws, i, temperature, rng)
        stage[0] = BEGIN
        i += 1
        new.starts[i] = draws.stop[0]
    return i
