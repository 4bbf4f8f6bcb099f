"""Three forms of inference with the same results: forests, tables, lists of rules.

A forest lists all derivations of each sentence once, so that a sentence costs what its own rules
cost. Tables are for grammars with most of all possible rules; lists for cycles of unary rules and
for what is too large to be listed.
"""

import numpy as np

from sklearn_cvb.kernels.tree.forest_inference import (
    best_forest_trees,
    expected_forest_counts,
    forest_work_for,
    room_for_trees,
    sample_forest_trees,
    trimmed,
)
from sklearn_cvb.kernels.tree.forests import forest_of
from sklearn_cvb.kernels.tree.lists import expected_rule_counts
from sklearn_cvb.kernels.tree.sampling import sample_trees
from sklearn_cvb.kernels.tree.table_products import dense_rule_counts
from sklearn_cvb.kernels.tree.table_sentences import dense_room_for, sample_trees_by_tables
from sklearn_cvb.kernels.tree.tables import dense_rules_of, is_full, work_for
from sklearn_cvb.pcfg.parameters import cells_of, empty_rule_counts, tree_weights
from sklearn_cvb.pcfg.prediction import best_trees

# Tables pay where there are so many binary rules, as between eight symbols.
FEWEST_RULES = 8**3
# A forest may take so many edges (100 MB).
MOST_EDGES = 2**23


def forms_of(layout, lexicon, brackets):
    """What the sentences are inferred with.

    Returns
    -------
    dense : DenseRules or None
        The rules in tables, where there are enough of them.
    forest : Forest or None
        All derivations, where that is possible; with neither lists of rules are used.
    """
    rules = layout.rules
    if len(rules.binary) >= FEWEST_RULES:
        dense = dense_rules_of(rules, lexicon)
        if is_full(dense):
            return dense, None
    if len(rules.member):
        return None, None
    return None, forest_of(rules, lexicon, brackets, len(layout.lhs), MOST_EDGES)


def cells_of_forest(forest, counts, layout):
    """Counts of each sentence's rules, summed by cell; those of helpers are left out."""
    return np.bincount(forest.cell + 1, counts, len(layout.lhs) + 1)[1:]


def expectation(theta, problem):
    """E-step over all sentences.

    Returns
    -------
    counts : ndarray of shape (n_rules,)
        Expected counts over the sentences that have a tree.
    log_z : ndarray of shape (n_sentences,)
        -inf for the others.
    """
    layout, lexicon, log_z = problem.layout, problem.lexicon, np.empty(problem.corpus.n_sequences)
    if problem.forest is not None:
        counts = expected_forest(theta, problem, log_z)
        return cells_of_forest(problem.forest, counts, layout), log_z
    counts, weights = empty_rule_counts(layout, lexicon), tree_weights(layout, lexicon, theta)
    kernel = (weights, lexicon, problem.brackets)
    if problem.dense is None:
        expected_rule_counts(layout.rules, *kernel, problem.sentences, counts, log_z)
        return cells_of(layout, lexicon, counts), log_z
    # Sentences of similar length are inferred side by side.
    order = np.argsort(lexicon.length, kind="stable")
    work, ordered = work_for(problem.dense, int(lexicon.length.max())), np.empty_like(log_z)
    dense_rule_counts(problem.dense, *kernel, order, work, counts, ordered)
    log_z[order] = ordered
    return cells_of(layout, lexicon, counts), log_z


def expected_forest(theta, problem, log_z):
    """Expected counts of each sentence's rules; fills the log normalisers."""
    forest = problem.forest
    counts = np.empty(len(forest.cell))
    work = forest_work_for(forest)
    expected_forest_counts(forest, np.append(theta, 1.0), work, counts, log_z)
    return counts


def heaviest_trees(logs, problem):
    """The tree of each sentence that is heaviest under log weights of rules."""
    forest = problem.forest
    if forest is None:
        return best_trees(problem.layout, problem.lexicon, logs, problem.brackets)[0]
    trees = room_for_trees(forest)
    best_forest_trees(forest, np.append(logs, 0.0), forest_work_for(forest), trees)
    return trimmed(trees)


def drawn_trees(theta, problem, rng):
    """A tree of each sentence from its posterior, and the log normalisers."""
    layout, lexicon, forest = problem.layout, problem.lexicon, problem.forest
    log_z = np.empty(problem.corpus.n_sequences)
    if forest is not None:
        trees = room_for_trees(forest)
        work = forest_work_for(forest)
        sample_forest_trees(forest, np.append(theta, 1.0), work, rng, trees, log_z)
        return trimmed(trees), log_z
    weights = tree_weights(layout, lexicon, theta)
    kernel = (layout.rules, weights, lexicon, problem.brackets)
    if problem.dense is None:
        return sample_trees(*kernel, problem.sentences, rng, log_z), log_z
    return sample_trees_by_tables(*kernel, dense_room_of(problem), rng, log_z), log_z


def dense_room_of(problem):
    """Buffers to infer one sentence at a time by tables."""
    return dense_room_for(problem.dense, problem.layout.rules, problem.lexicon)
