"""From counts of rules to weights: priors, posterior means, exp E[log], weights for the kernels."""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma

from sklearn_cvb.dirichlet import exp_digamma
from sklearn_cvb.kernels.tree.arrays import RuleCounts, TreeWeights
from sklearn_cvb.kernels.tree.charts import fill_closure

# Divisors below this have lost digits to underflow.
_SMALLEST_RATIO = 1e-280


class PCFGCounts(NamedTuple):
    """Posterior (expected or sampled) counts of a probabilistic context-free grammar.

    Attributes
    ----------
    rule : ndarray of shape (n_rules,)
        Expected number of uses of each rule in all training sentences, in the order of
        ``rules_.rules``.
    """

    rule: np.ndarray


def totals_of(layout, cells):
    """Sums over the rules of each left-hand side."""
    return np.bincount(layout.lhs, cells, layout.n_lhs)


def posterior_mean(layout, counts, prior, kept):
    """(C + alpha) / (sum of the left-hand side); a symbol without count and prior keeps its values.

    Parameters
    ----------
    layout : Layout
    counts, prior, kept : ndarray of shape (n_rules,)

    Returns
    -------
    ndarray of shape (n_rules,)
    """
    cells = counts + prior
    totals = totals_of(layout, cells)[layout.lhs]
    if totals.all():
        return cells / totals
    return np.where(totals > 0, cells / np.where(totals > 0, totals, 1.0), kept)


def exp_expected_log(layout, counts, prior):
    """exp(E[log theta]) under the Dirichlet posterior (Wang and Blunsom 2013, section 2.2)."""
    cells = counts + prior
    below = exp_digamma(totals_of(layout, cells))
    if below.min() > _SMALLEST_RATIO:
        return exp_digamma(cells) / below[layout.lhs]
    return np.exp(expected_log(layout, counts, prior))


def expected_log(layout, counts, prior):
    """E[log theta] under the Dirichlet posterior, without underflow."""
    cells = counts + prior
    return digamma(cells) - digamma(totals_of(layout, cells))[layout.lhs]


def uniform_weights(layout):
    """Equal weights for all rules of a left-hand side."""
    return 1.0 / np.bincount(layout.lhs, minlength=layout.n_lhs)[layout.lhs]


def log_weights(weights):
    """Elementwise logs; log 0 is -inf."""
    with np.errstate(divide="ignore"):
        return np.log(weights)


def _gathered(theta, cells, one):
    """Values of cells; rules of helper symbols have weight 1."""
    values = theta[cells]
    values[cells < 0] = one
    return values


def tree_weights(layout, lexicon, theta):
    """Weights of a binarised grammar's rules and of a corpus' terminals.

    Parameters
    ----------
    layout : Layout
    lexicon : Lexicon
    theta : ndarray of shape (n_rules,)

    Returns
    -------
    TreeWeights

    Raises
    ------
    ValueError
        If the weights of a cycle of unary rules sum to infinity.
    """
    rules = layout.rules
    unary = theta[rules.unary]
    closure = np.empty(rules.block_first[-1])
    if not fill_closure(rules, unary, closure):
        raise ValueError("a cycle of unary rules has so much weight that its chains never end")
    return TreeWeights(
        _gathered(theta, rules.binary, 1.0),
        unary,
        closure,
        _gathered(theta, lexicon.rule, 1.0),
    )


def log_tree_weights(layout, lexicon, logs):
    """The same in logs, for the Viterbi kernels; `logs` are log weights of rules."""
    rules = layout.rules
    return TreeWeights(
        _gathered(logs, rules.binary, 0.0),
        logs[rules.unary],
        np.empty(0),
        _gathered(logs, lexicon.rule, 0.0),
    )


def empty_rule_counts(layout, lexicon):
    """Counts of zero, laid out as the weights."""
    rules = layout.rules
    return RuleCounts(
        np.zeros(len(rules.binary)), np.zeros(len(rules.unary)), np.zeros(len(lexicon.rule))
    )


def cells_of(layout, lexicon, counts):
    """Counts laid out as the weights, summed by cell; those of helpers are left out."""
    total = np.zeros(len(layout.lhs))
    places = (layout.rules.binary, layout.rules.unary, lexicon.rule)
    for cells, values in zip(places, counts, strict=True):
        known = cells >= 0
        total += np.bincount(cells[known], values[known], len(total))
    return total
