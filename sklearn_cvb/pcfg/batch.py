"""Batch algorithms: all expected counts under the current weights, then new weights (EM, VB)."""

from typing import NamedTuple

import numpy as np

from sklearn_cvb import dirichlet
from sklearn_cvb.kernels.tree_dense import dense_rule_counts
from sklearn_cvb.kernels.tree_inside import expected_rule_counts, log_likelihood
from sklearn_cvb.kernels.tree_tables import dense_rules_of, is_full, work_for
from sklearn_cvb.pcfg.base import BasePCFG
from sklearn_cvb.pcfg.concentrations import Alpha, learn
from sklearn_cvb.pcfg.parameters import cells_of, empty_rule_counts, posterior_mean, tree_weights
from sklearn_cvb.pcfg.prediction import best_trees

# Tables pay where there are so many binary rules, as between eight symbols.
_FEWEST_RULES = 8**3


class BatchState(NamedTuple):
    """What EM and VB carry between sweeps; `counts` are expected under `weights`."""

    counts: np.ndarray
    alpha: Alpha
    prior: np.ndarray
    weights: np.ndarray
    unexplained: np.ndarray
    n_sweeps: int


def expectation(theta, problem):
    """E-step over all sentences.

    Returns
    -------
    counts : RuleCounts
        Expected counts of the sentences that have a tree, laid out as the kernels do.
    log_z : ndarray of shape (n_sentences,)
        -inf for the others.
    """
    layout, lexicon = problem.layout, problem.lexicon
    counts, weights = empty_rule_counts(layout, lexicon), tree_weights(layout, lexicon, theta)
    log_z = np.empty(problem.corpus.n_sequences)
    kernel = (weights, lexicon, problem.brackets)
    if problem.dense is None:
        expected_rule_counts(layout.rules, *kernel, problem.sentences, counts, log_z)
        return counts, log_z
    # Sentences of similar length are inferred side by side.
    order = np.argsort(lexicon.length, kind="stable")
    work, ordered = work_for(problem.dense, int(lexicon.length.max())), np.empty_like(log_z)
    dense_rule_counts(problem.dense, *kernel, order, work, counts, ordered)
    log_z[order] = ordered
    return counts, log_z


def log_likelihoods(theta, problem):
    """log p(words) of all sentences in nats, -inf without a tree."""
    layout, lexicon, log_z = problem.layout, problem.lexicon, np.empty(problem.corpus.n_sequences)
    kernel = (layout.rules, tree_weights(layout, lexicon, theta), lexicon, problem.brackets)
    log_likelihood(*kernel, problem.sentences, log_z)
    return log_z


class BatchPCFG(BasePCFG):
    """Start and sweep of the algorithms that update all counts at once."""

    def _problem(self, X, y):
        """Read X and y; a grammar with most of all possible rules is laid out in tables."""
        problem = super()._problem(X, y)
        if len(problem.layout.rules.binary) < _FEWEST_RULES:
            return problem
        dense = dense_rules_of(problem.layout.rules, problem.lexicon)
        return problem._replace(dense=dense) if is_full(dense) else problem

    def _start(self, problem, rng):
        """First counts: of one E-step under the first weights."""
        alpha = self._first_alpha(problem.layout)
        weights = self._first_weights(problem, rng)
        counts, log_z = expectation(weights, problem)
        cells = cells_of(problem.layout, problem.lexicon, counts)
        unexplained = np.flatnonzero(np.isneginf(log_z))
        init = self._where_to_start()
        if isinstance(init, str) and init == "trees":
            # Symbols without count and prior keep these: they must sum to 1.
            weights = posterior_mean(problem.layout, weights, 0.0, weights)
        return BatchState(cells, alpha, alpha.cells, weights, unexplained, 0)

    def _sweep(self, state, problem, rng):
        """M-step, then E-step; the value is the objective of the weights just used."""
        layout = problem.layout
        alpha = learn(state.alpha, layout, state.counts, state.n_sweeps, dirichlet.ascend)
        weights = self._weights(layout, state.counts, alpha.cells, state.weights)
        penalty = self._penalty(layout, state.counts, alpha.cells, weights)
        counts, log_z = expectation(weights, problem)
        value = log_z[np.isfinite(log_z)].sum() - penalty + alpha.log_density()
        following = BatchState(
            cells_of(layout, problem.lexicon, counts),
            alpha,
            alpha.cells,
            weights,
            np.flatnonzero(np.isneginf(log_z)),
            state.n_sweeps + 1,
        )
        return following, float(value)

    def _penalty(self, layout, counts, prior, weights):
        """What the objective subtracts from log Z (nats)."""
        raise NotImplementedError

    def _label_trees(self, state, problem):
        """Trees of the training sentences: Viterbi under the weights of the final counts."""
        logs = self._log_weights(problem.layout, state.counts, state.prior, state.weights)
        return best_trees(problem.layout, problem.lexicon, logs, problem.brackets)[0]
