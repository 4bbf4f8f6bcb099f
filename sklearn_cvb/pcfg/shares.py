"""What each sentence adds to the counts of collapsed variational Bayes.

A share is a `Shares`, or with a forest one expected count for each of the sentence's rules.
"""

import numpy as np

from sklearn_cvb.kernels.tree.arrays import TreeWeights
from sklearn_cvb.kernels.tree.decoding import viterbi_trees
from sklearn_cvb.kernels.tree.forest_inference import forest_work_for, room_for_trees, trimmed
from sklearn_cvb.kernels.tree.forest_sweeps import left_out_forest_trees, score_forest, sweep_forest
from sklearn_cvb.kernels.tree.leave_out import (
    Shares,
    Tally,
    add_share,
    leave_out_scores,
    sweep_sentences,
    sweep_tables,
    weigh,
    weights_for,
)
from sklearn_cvb.pcfg.forms import cells_of_forest, dense_room_of, expected_forest
from sklearn_cvb.pcfg.parameters import log_weights, totals_of, tree_weights
from sklearn_cvb.pcfg.trees import joined


def first_shares(theta, problem):
    """Expected counts of every sentence under given weights, and the log normalisers."""
    layout, lexicon, n = problem.layout, problem.lexicon, problem.corpus.n_sequences
    log_z = np.empty(n)
    if problem.forest is not None:
        return expected_forest(theta, problem, log_z), log_z
    nothing = Shares(
        np.zeros(n + 1, np.int64), np.empty(0, np.int64), np.empty(0), np.zeros(len(lexicon.rule))
    )
    zeros = np.zeros(len(layout.lhs))
    tally, weights = tally_of(problem, zeros, zeros), tree_weights(layout, lexicon, theta)
    return _swept(problem, tally, weights, False, nothing, log_z), log_z


def swept(shares, tally, problem):
    """Shares after a sweep, and the log normaliser of each Q(t_i); the old shares stay whole."""
    log_z = np.empty(problem.corpus.n_sequences)
    if problem.forest is not None:
        shares, work = shares.copy(), forest_work_for(problem.forest)
        sweep_forest(problem.forest, tally, True, work, shares, log_z)
        return shares, log_z
    shares = shares._replace(lexical=shares.lexical.copy())
    weights = weights_for(problem.layout.rules, problem.lexicon)
    return _swept(problem, tally, weights, True, shares, log_z), log_z


def _swept(problem, *arguments):
    """Shares after a sweep by tables or lists."""
    if problem.dense is None:
        return sweep_sentences(*_kernel(problem), *arguments)
    return sweep_tables(*_kernel(problem), *arguments, dense_room_of(problem), False)


def left_out_scores(shares, tally, problem):
    """log p(x_i | expected counts of all other sentences) of every sentence, counts frozen."""
    log_z = np.empty(problem.corpus.n_sequences)
    if problem.forest is not None:
        score_forest(problem.forest, tally, forest_work_for(problem.forest), shares, log_z)
    elif problem.dense is None:
        leave_out_scores(*_kernel(problem), tally, shares, log_z)
    else:
        shares = shares._replace(lexical=shares.lexical.copy())
        weights = weights_for(problem.layout.rules, problem.lexicon)
        room = dense_room_of(problem)
        arguments = (tally, weights, True, shares, log_z, room, True)
        sweep_tables(*_kernel(problem), *arguments)
    return log_z


def left_out_trees(shares, tally, problem):
    """Each sentence's Viterbi tree under the weights that leave it out, counts frozen."""
    rules, lexicon, forest = problem.layout.rules, problem.lexicon, problem.forest
    if forest is not None:
        trees = room_for_trees(forest)
        left_out_forest_trees(forest, tally, forest_work_for(forest), shares, trees)
        return trimmed(trees)
    weights, trees, log_p = weights_for(rules, lexicon), [], np.empty(1)
    for i in range(problem.corpus.n_sequences):
        add_share(tally, shares, lexicon, i, -1.0)
        weigh(tally, rules, lexicon, i, 1.0, weights)
        add_share(tally, shares, lexicon, i, 1.0)
        here = slice(lexicon.starts[i], lexicon.starts[i + 1])
        weights.lexical[here] = log_weights(weights.lexical[here])
        logs = TreeWeights(
            log_weights(weights.binary),
            log_weights(weights.unary),
            weights.closure,
            weights.lexical,
        )
        tree = viterbi_trees(rules, logs, lexicon, problem.brackets, np.array([i]), log_p)
        trees.append(tree)
    return joined(trees)


def _kernel(problem):
    return problem.layout.rules, problem.lexicon, problem.brackets


def tally_of(problem, counts, prior):
    """Counts and prior as the sweep changes them."""
    layout = problem.layout
    totals = totals_of(layout, counts), totals_of(layout, prior)
    return Tally(counts.copy(), totals[0], prior, totals[1], layout.lhs)


def counts_of(shares, problem):
    """The sum of what the sentences add, by rule."""
    if problem.forest is not None:
        return cells_of_forest(problem.forest, shares, problem.layout)
    n_rules = len(problem.layout.lhs)
    known = problem.lexicon.rule >= 0
    lexical = np.bincount(problem.lexicon.rule[known], shares.lexical[known], n_rules)
    return np.bincount(shares.cell, shares.count, n_rules) + lexical


def _entries(shares, problem):
    """Cell, sentence and expected count of all that the sentences add."""
    lexicon, forest = problem.lexicon, problem.forest
    if forest is not None:
        known = forest.cell >= 0
        sentence = np.repeat(problem.sentences, np.diff(forest.rule_first))
        return forest.cell[known], sentence[known], shares[known]
    known = lexicon.rule >= 0
    cell = np.concatenate([shares.cell, lexicon.rule[known]])
    count = np.concatenate([shares.count, shares.lexical[known]])
    sentence = np.concatenate(
        [
            np.repeat(problem.sentences, np.diff(shares.starts)),
            np.repeat(problem.sentences, np.diff(lexicon.starts))[known],
        ]
    )
    return cell, sentence, count


def presence(shares, problem):
    """P(C > 0) of every rule and left-hand side, sentences taken as independent.

    A sentence uses a rule with a probability of at most its expected count there.
    """
    layout = problem.layout
    cell, sentence, count = _entries(shares, problem)
    return (
        _present(cell, sentence, count, len(layout.lhs)),
        _present(layout.lhs[cell], sentence, count, layout.n_lhs),
    )


def _present(places, sentence, count, n_places):
    """1 - prod over sentences of (1 - min(1, expected count in the sentence))."""
    keys, inverse = np.unique(sentence * n_places + places, return_inverse=True)
    share = np.minimum(1.0, np.bincount(inverse, count, len(keys)))
    with np.errstate(divide="ignore"):
        absent = np.log1p(-share)
    return -np.expm1(np.bincount(keys % n_places, absent, n_places))
