"""A Hastings step for the tree of each sentence (Johnson, Griffiths and Goldwater 2007).

A tree is proposed from the rules' posterior means given all other trees, which ignores that a rule
used twice in the tree is likelier the second time; the acceptance makes up for that.
"""

import math

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_allocating
from sklearn_cvb.kernels.tree.charts import chart_for, longest_of
from sklearn_cvb.kernels.tree.leave_out import add_count, rule_mean, weigh, weights_for
from sklearn_cvb.kernels.tree.lists import inside
from sklearn_cvb.kernels.tree.nodes import empty_trees, put, resized
from sklearn_cvb.kernels.tree.sampling import sample_tree
from sklearn_cvb.kernels.tree.table_sentences import inside_by_tables


@jit
def count_nodes(tally, trees, begin, end, sign):
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
    count_nodes(tally, trees, begin, end, -1.0)
    return total


@jit
def settle(tally, new, first, stop, trees, begin, end, temperature, rng):
    """Keep the nodes proposed in `new`, from `first` to `stop`, or the old ones of `trees`.

    The nodes kept are added to the counts. Returns where they end in `new`, and whether the
    proposal is accepted.
    """
    ratio = _log_urn(tally, new, first, stop) - _log_urn(tally, trees, begin, end)
    ratio += _log_proposal(tally, trees, begin, end) - _log_proposal(tally, new, first, stop)
    accepted = math.log(1.0 - rng.random()) < ratio / temperature
    if not accepted:
        stop = first
        for x in range(begin, end):
            node = trees.begin[x], trees.end[x], trees.symbol[x]
            put(new, stop, node, trees.rule[x], trees.n_children[x])
            stop += 1
    count_nodes(tally, new, first, stop, 1.0)
    return stop, accepted


@jit_allocating
def _leave_out(tally, trees, rules, lexicon, i, temperature, weights):
    """Take a sentence's tree out of the counts, and make the weights of the proposal."""
    count_nodes(tally, trees, trees.starts[i], trees.starts[i + 1], -1.0)
    weigh(tally, rules, lexicon, i, 1.0 / temperature, weights)


@jit_allocating
def _decide(tally, new, first, stop, trees, i, temperature, rng):
    """`settle`, with room for the old tree: the trees, their size, whether one is accepted."""
    begin, end = trees.starts[i], trees.starts[i + 1]
    if first + end - begin > new.begin.size:
        new = resized(new, stop, 2 * (first + end - begin))
    stop, better = settle(tally, new, first, stop, trees, begin, end, temperature, rng)
    return new, stop, better


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
    longest = longest_of(lexicon, np.arange(lexicon.length.size))
    weights, chart = weights_for(rules, lexicon), chart_for(rules, longest)
    stack = np.empty((longest + 1, 3), np.int64)
    new, size = empty_trees(trees.starts.size - 1, trees.begin.size), np.int64(0)
    accepted, proposed = 0, 0
    for i in range(trees.starts.size - 1):
        if trees.starts[i + 1] > trees.starts[i]:
            _leave_out(tally, trees, rules, lexicon, i, temperature, weights)
            inside(rules, weights, lexicon, brackets, i, chart)
            new, stop = sample_tree(rules, weights, lexicon, i, chart, rng, stack, new, size)
            new, size, better = _decide(tally, new, size, stop, trees, i, temperature, rng)
            proposed += 1
            accepted += better
        new.starts[i + 1] = size
    return resized(new, size, size), accepted, proposed


@jit_allocating
def sweep_hastings_by_tables(rules, lexicon, brackets, tally, trees, temperature, rng, room):
    """The same by tables, with a `DenseRoom`."""
    weights, chart, stack = weights_for(rules, lexicon), room.chart, room.stack
    new, size = empty_trees(trees.starts.size - 1, trees.begin.size), np.int64(0)
    accepted, proposed = 0, 0
    for i in range(trees.starts.size - 1):
        if trees.starts[i + 1] > trees.starts[i]:
            _leave_out(tally, trees, rules, lexicon, i, temperature, weights)
            inside_by_tables(rules, weights, lexicon, brackets, i, room)
            new, stop = sample_tree(rules, weights, lexicon, i, chart, rng, stack, new, size)
            new, size, better = _decide(tally, new, size, stop, trees, i, temperature, rng)
            proposed += 1
            accepted += better
        new.starts[i + 1] = size
    return resized(new, size, size), accepted, proposed
