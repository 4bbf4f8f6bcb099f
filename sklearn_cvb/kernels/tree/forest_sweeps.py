"""Sweeps over the sentences of a forest: the same updates as those by lists of rules.

See `sklearn_cvb.kernels.tree.leave_out` for CVB and `sklearn_cvb.kernels.tree.hastings` for Hastings. A sentence
costs what its own rules cost, whatever the size of the grammar.
"""

import math

import numpy as np

from sklearn_cvb.kernels.jit import jit
from sklearn_cvb.kernels.tree.forest_inference import (
    best_forest_tree,
    forest_inside,
    infer_sentence,
    sample_forest_tree,
)
from sklearn_cvb.kernels.tree.hastings import count_nodes, settle
from sklearn_cvb.kernels.tree.leave_out import add_count, rule_mean


@jit
def _weigh(forest, i, tally, power, work):
    """Weights of the rules of a sentence: posterior means, raised to a power."""
    first, stop = forest.rule_first[i], forest.rule_first[i + 1]
    for x in range(first, stop):
        weight = rule_mean(tally, forest.cell[x])
        work.weight[x - first] = weight if power == 1.0 else weight**power


@jit
def _add_shares(forest, i, tally, counts, sign):
    """Add what a sentence contributes to the counts, or take it away."""
    for x in range(forest.rule_first[i], forest.rule_first[i + 1]):
        add_count(tally, forest.cell[x], sign * counts[x])


@jit
def sweep_forest(forest, tally, leave_out, work, counts, log_z):
    """One sweep in the order given; counts are updated at once.

    Parameters
    ----------
    forest : Forest
    tally : Tally
        Changed in place.
    leave_out : bool
        Whether a sentence is inferred from the counts of all others, or of all.
    work : ForestWork
    counts : ndarray of shape (n_rules,)
        Expected counts of each sentence's rules; changed in place.
    log_z : ndarray of shape (n_sentences,)
        Receives the log normaliser of each Q(t_i), -inf for sentences without a tree.
    """
    for i in range(log_z.size):
        if leave_out:
            _add_shares(forest, i, tally, counts, -1.0)
        _weigh(forest, i, tally, 1.0, work)
        if not leave_out:
            _add_shares(forest, i, tally, counts, -1.0)
        log_z[i] = infer_sentence(forest, i, work, counts)
        _add_shares(forest, i, tally, counts, 1.0)


@jit
def score_forest(forest, tally, work, counts, log_z):
    """log p(x_i | expected counts of all other sentences), counts frozen; fills `log_z`."""
    for i in range(log_z.size):
        _add_shares(forest, i, tally, counts, -1.0)
        _weigh(forest, i, tally, 1.0, work)
        log_z[i] = forest_inside(forest, i, work)
        _add_shares(forest, i, tally, counts, 1.0)


@jit
def sweep_forest_hastings(forest, tally, trees, temperature, work, rng, new):
    """Propose a tree for each sentence in turn and accept or reject it.

    Parameters
    ----------
    forest : Forest
    tally : Tally
        Counts of all trees; changed in place.
    trees : Trees
        Sentences without a tree keep none.
    temperature : float
        Probabilities are raised to the power 1 / temperature.
    work : ForestWork
    rng : numpy.random.Generator
    new : Trees
        Receives the trees, from `room_for_trees`.

    Returns
    -------
    accepted, proposed : int
    """
    size = np.int64(0)
    accepted, proposed = 0, 0
    for i in range(trees.starts.size - 1):
        begin, end = trees.starts[i], trees.starts[i + 1]
        if end > begin:
            count_nodes(tally, trees, begin, end, -1.0)
            _weigh(forest, i, tally, 1.0 / temperature, work)
            forest_inside(forest, i, work)
            stop = sample_forest_tree(forest, i, work, rng, new, size)
            size, better = settle(tally, new, size, stop, trees, begin, end, temperature, rng)
            proposed += 1
            accepted += better
        new.starts[i + 1] = size
    return accepted, proposed


@jit
def left_out_forest_trees(forest, tally, work, counts, trees):
    """The heaviest tree of each sentence under the posterior means given all other sentences."""
    size = np.int64(0)
    for i in range(trees.starts.size - 1):
        _add_shares(forest, i, tally, counts, -1.0)
        _weigh(forest, i, tally, 1.0, work)
        _add_shares(forest, i, tally, counts, 1.0)
        for x in range(forest.rule_first[i + 1] - forest.rule_first[i]):
            work.weight[x] = math.log(work.weight[x])
        size = best_forest_tree(forest, i, work, trees, size)
        trees.starts[i + 1] = size
