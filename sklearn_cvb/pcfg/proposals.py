"""A Hastings step for the tree of each sentence (Johnson, Griffiths and Goldwater 2007).

A tree is proposed from the rules' posterior means given all other trees, which ignores that a rule
used twice in the tree is likelier the second time; the acceptance makes up for that.
"""

import math

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_allocating
from sklearn_cvb.kernels.tree_charts import chart_for, longest_of
from sklearn_cvb.kernels.tree_inside import inside
from sklearn_cvb.kernels.tree_nodes import empty_trees, resized
from sklearn_cvb.kernels.tree_sampling import sample_tree
from sklearn_cvb.pcfg.leave_out import add_count, rule_mean, weigh, weights_for


@jit
def _count_nodes(tally, trees, begin, end, sign):
    """Add the rules of some nodes to the counts, or take them away."""
    for x in range(begin, end):
        add_count(tally, trees.rule[x], sign)


@jit
def _log_proposal(tally, trees, begin, end):
    """Log of the product of the rules' posterior means."""
    total = 0.0
    for x in range(begin, end):
        total += math.log(rule_mean(tally, trees.rule[x]))
    return total


@jit
def _log_urn(tally, trees, begin, end):
    """log p(tree | all others): rule after rule, each given those before (eq. 5)."""
    total = 0.0
    for x in range(begin, end):
        total += math.log(rule_mean(tally, trees.rule[x]))
        add_count(tally, trees.rule[x], 1.0)
    _count_nodes(tally, trees, begin, end, -1.0)
    return total


@jit_allocating
def _append(trees, size, source, begin, end):
    """Copy nodes behind the first `size`; returns the trees and the new size."""
    wanted = size + end - begin
    if wanted > trees.begin.size:
        trees = resized(trees, size, 2 * wanted)
    for x in range(begin, end):
        trees.begin[size] = source.begin[x]
        trees.end[size] = source.end[x]
        trees.symbol[size] = source.symbol[x]
        trees.rule[size] = source.rule[x]
        trees.n_children[size] = source.n_children[x]
        size += 1
    return trees, size


@jit_allocating
def sweep_hastings(rules, lexicon, brackets, tally, trees, temperature, rng):
    """Propose a tree for each sentence in turn and accept or reject it.

    Parameters
    ----------
    rules : Rules
    lexicon : Lexicon
    brackets : Brackets
    tally : Tally
        Counts of all trees; changed in place.
    trees : Trees
        Sentences without a tree keep none.
    temperature : float
        Probabilities are raised to the power 1 / temperature.
    rng : numpy.random.Generator

    Returns
    -------
    trees : Trees
    accepted, proposed : int
    """
    n = np.int64(lexicon.length.size)
    longest = longest_of(lexicon, np.arange(n))
    weights, chart = weights_for(rules, lexicon), chart_for(rules, longest)
    stack = np.empty((longest + 1, 3), np.int64)
    proposal = empty_trees(1, 4 * longest)
    new, size = empty_trees(n, trees.begin.size), np.int64(0)
    accepted, proposed = 0, 0
    for i in range(n):
        begin, end = trees.starts[i], trees.starts[i + 1]
        if end > begin:
            _count_nodes(tally, trees, begin, end, -1.0)
            weigh(tally, rules, lexicon, i, 1.0 / temperature, weights)
            inside(rules, weights, lexicon, brackets, i, chart)
            proposal, m = sample_tree(rules, weights, lexicon, i, chart, rng, stack, proposal, 0)
            ratio = _log_urn(tally, proposal, 0, m) - _log_urn(tally, trees, begin, end)
            ratio += _log_proposal(tally, trees, begin, end) - _log_proposal(tally, proposal, 0, m)
            proposed += 1
            if math.log(1.0 - rng.random()) < ratio / temperature:
                accepted += 1
                new, size = _append(new, size, proposal, 0, m)
            else:
                new, size = _append(new, size, trees, begin, end)
            _count_nodes(tally, new, new.starts[i], size, 1.0)
        new.starts[i + 1] = size
    return resized(new, size, size), accepted, proposed
