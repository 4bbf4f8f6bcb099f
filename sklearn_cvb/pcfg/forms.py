"""Four forms of inference with the same results: forests, tables, factors, lists of rules.

- A forest lists all derivations of each sentence once, so that a sentence costs what its own rules
  cost, whatever the size of the grammar. Chosen wherever it can be.
- Tables are for grammars with most of all possible rules, where the derivations are too many to
  list: products of matrices, five to ten times as fast as lists with 30 symbols.
- Factors are tables for grammars whose left and right children are independent.
- Lists go from rule to rule. They are for what none of these can do: cycles of unary rules, and
  sentences with more derivations than memory holds.

Here is where a form is chosen; `sklearn_cvb.kernels.tree.forms` infers one sentence by it. What
float64 loses in any of them is inferred with logs.
"""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.corpus import Corpus
from sklearn_cvb.kernels.tree.arrays import Brackets, Lexicon, Trees
from sklearn_cvb.kernels.tree.charts import chart_for
from sklearn_cvb.kernels.tree.decoding import best_listed_trees
from sklearn_cvb.kernels.tree.factors import expected_counts_by_factors, factors_for
from sklearn_cvb.kernels.tree.forest_inference import (
    best_forest_trees,
    expected_forest_counts,
    forest_work_for,
    room_for_trees,
)
from sklearn_cvb.kernels.tree.forests import Forest, forest_of
from sklearn_cvb.kernels.tree.forms import Form
from sklearn_cvb.kernels.tree.listed import Listed, listed_of
from sklearn_cvb.kernels.tree.lists import expected_listed_counts
from sklearn_cvb.kernels.tree.lost_sentences import count_lost
from sklearn_cvb.kernels.tree.nodes import trimmed
from sklearn_cvb.kernels.tree.table_products import expected_counts_by_tables
from sklearn_cvb.kernels.tree.tables import DenseRules, dense_rules_of, is_full, tables_for
from sklearn_cvb.pcfg.layout import Layout
from sklearn_cvb.pcfg.parameters import cells_of, set_log_weights, set_weights

# Tables pay where there are so many binary rules, as between eight symbols.
FEWEST_RULES = 8**3
# A forest may take so many edges (100 MB).
MOST_EDGES = 2**23
# And so many where the sentences are inferred only once.
MOST_EDGES_ONCE = 2**18


class Problem(NamedTuple):
    """Sentences under a grammar, as the kernels see them.

    Attributes
    ----------
    corpus : Corpus
    words : list
        All tokens.
    layout : Layout
    lexicon : Lexicon
    brackets : Brackets
    dense : DenseRules or None
        The rules in tables, where there are enough of them.
    forest : Forest or None
        All derivations, where that is possible.
    factored : bool
        Whether factors are used. With none of the three lists of rules are.
    """

    corpus: Corpus
    words: list
    layout: Layout
    lexicon: Lexicon
    brackets: Brackets
    dense: DenseRules | None
    forest: Forest | None
    factored: bool

    @property
    def sentences(self) -> np.ndarray:
        """Numbers of all sentences."""
        return np.arange(self.corpus.n_sequences)


def forms_of(
    layout: Layout, lexicon: Lexicon, brackets: Brackets, once: bool = False
) -> tuple[DenseRules | None, Forest | None, bool]:
    """What the sentences are inferred with: `dense`, `forest` and `factored` of `Problem`.

    Sentences that are inferred `once`, as in `predict`, are listed in a forest while they are few:
    the kernels of lists, ten times as fast for that, take a few seconds to be compiled.
    """
    rules = layout.rules
    if layout.is_factored:
        return None, None, True
    if len(rules.binary) >= FEWEST_RULES:
        dense = dense_rules_of(rules, lexicon)
        if is_full(dense):
            return dense, None, False
    if len(rules.member):
        return None, None, False
    most = min(MOST_EDGES, MOST_EDGES_ONCE) if once else MOST_EDGES
    return None, forest_of(rules, lexicon, brackets, len(layout.lhs), most), False


def listed_for(problem: Problem) -> Listed:
    """Rules and sentences in lists, whatever the form."""
    return listed_of(problem.layout.rules, problem.lexicon, problem.brackets)


def form_for(problem: Problem, to_draw: bool = False) -> Form:
    """The form and its buffers; trees by tables are drawn from a chart."""
    if problem.forest is not None:
        return Form(problem.forest, forest_work_for(problem.forest), None, None, None)
    listed = listed_for(problem)
    if problem.dense is None and not problem.factored:
        return Form(None, None, listed, None, chart_for(listed))
    chart = chart_for(listed) if to_draw else None
    if problem.dense is None:
        return Form(None, None, listed, None, None, factors_for(listed, chart))
    return Form(None, None, listed, tables_for(problem.dense, listed, chart), None)


def expectation(
    theta: np.ndarray, problem: Problem, with_counts: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """E-step over all sentences.

    Parameters
    ----------
    theta : ndarray of shape (n_rules,)
        Weights of rules.
    problem : Problem
    with_counts : bool, default=True
        False: only the log normalisers are of use.

    Returns
    -------
    counts : ndarray of shape (n_rules,)
        Expected counts over the sentences that have a tree.
    log_z : ndarray of shape (n_sentences,)
        log p(words) in nats, -inf for sentences without a tree.
    """
    if problem.forest is not None:
        return _forest_expectation(theta, problem, with_counts)
    form, lengths = form_for(problem), problem.lexicon.length
    assert form.listed is not None, "tables have lists, too"
    set_weights(form.listed, theta)
    log_z = np.empty(len(lengths))
    if form.chart is not None:
        sentences = problem.sentences
        expected_listed_counts(form.listed, form.chart, sentences, log_z, with_counts)
    else:
        # Sentences of similar length are inferred side by side.
        order, ordered = np.argsort(lengths, kind="stable"), np.empty_like(log_z)
        if form.tables is not None:
            expected_counts_by_tables(form.tables, form.listed, order, ordered, with_counts)
        else:
            expected_counts_by_factors(form.factors, form.listed, order, ordered, with_counts)
        log_z[order] = ordered
    for i in np.flatnonzero(np.isnan(log_z)).tolist():
        log_z[i] = count_lost(form, i)
    return cells_of(form.listed, len(theta)), log_z


def _forest_expectation(
    theta: np.ndarray, problem: Problem, with_counts: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The same by a forest."""
    forest, form = problem.forest, form_for(problem)
    assert forest is not None, "asked for by a forest only"
    assert form.work is not None, "a forest has buffers"
    weights = np.append(theta, 1.0)[forest.cell]
    counts, log_z = np.empty_like(weights), np.empty(problem.corpus.n_sequences)
    expected_forest_counts(forest, weights, form.work, counts, log_z, with_counts)
    for i in np.flatnonzero(np.isnan(log_z)).tolist():
        here = slice(forest.rule_first[i], forest.rule_first[i + 1])
        n_rules = here.stop - here.start
        form.work.weight[:n_rules] = weights[here]
        log_z[i] = count_lost(form, i)
        if log_z[i] > -np.inf:
            counts[here] = form.work.count[:n_rules]
    # Cell -1, of helpers, comes first and is left out.
    return np.bincount(forest.cell + 1, counts, len(theta) + 1)[1:], log_z


def heaviest_trees(logs: np.ndarray, problem: Problem) -> Trees:
    """The tree of each sentence that is heaviest under log weights of rules."""
    if problem.forest is not None:
        return heaviest_in_forest(np.append(logs, 0.0)[problem.forest.cell], problem.forest)
    listed = listed_for(problem)
    set_log_weights(listed, logs)
    return best_listed_trees(listed, problem.sentences)[0]


def heaviest_in_forest(logs: np.ndarray, forest: Forest) -> Trees:
    """The same under log weights of each sentence's rules."""
    trees = room_for_trees(forest)
    best_forest_trees(forest, logs, forest_work_for(forest), trees)
    return trimmed(trees)
