"""From counts of rules to weights: priors, posterior means, exp E[log], weights for the kernels."""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma

from sklearn_cvb.annotations import Numbers
from sklearn_cvb.dirichlet import exp_digamma
from sklearn_cvb.kernels.tree.listed import Listed
from sklearn_cvb.kernels.tree.unary_rules import chain_work_for, fill_closure
from sklearn_cvb.pcfg.layout import Layout

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


def totals_of(layout: Layout, cells: np.ndarray) -> np.ndarray:
    """Sums over the rules of each left-hand side."""
    return np.bincount(layout.lhs, cells, layout.n_lhs)


def posterior_mean(
    layout: Layout, counts: np.ndarray, prior: Numbers, kept: np.ndarray | None
) -> np.ndarray:
    """(C + alpha) / (sum of the left-hand side); a symbol without count and prior keeps its values.

    Parameters
    ----------
    layout : Layout
    counts, prior : ndarray of shape (n_rules,)
    kept : ndarray of shape (n_rules,) or None
        None where every symbol has count or prior.

    Returns
    -------
    ndarray of shape (n_rules,)
    """
    cells = counts + prior
    totals = totals_of(layout, cells)[layout.lhs]
    if totals.all():
        return cells / totals
    assert kept is not None, "without kept values every symbol has count or prior"
    return np.where(totals > 0, cells / np.where(totals > 0, totals, 1.0), kept)


def exp_expected_log(layout: Layout, counts: np.ndarray, prior: Numbers) -> np.ndarray:
    """exp(E[log theta]) under the Dirichlet posterior (Wang and Blunsom 2013, section 2.2)."""
    cells = counts + prior
    below = exp_digamma(totals_of(layout, cells))
    if below.min() > _SMALLEST_RATIO:
        return exp_digamma(cells) / below[layout.lhs]
    return np.exp(expected_log(layout, counts, prior))


def expected_log(layout: Layout, counts: np.ndarray, prior: Numbers) -> np.ndarray:
    """E[log theta] under the Dirichlet posterior, without underflow."""
    cells = counts + prior
    return digamma(cells) - digamma(totals_of(layout, cells))[layout.lhs]


def uniform_weights(layout: Layout) -> np.ndarray:
    """Equal weights for all rules of a left-hand side."""
    return 1.0 / np.bincount(layout.lhs, minlength=layout.n_lhs)[layout.lhs]


def log_weights(weights: np.ndarray) -> np.ndarray:
    """Elementwise logs; log 0 is -inf."""
    with np.errstate(divide="ignore"):
        return np.log(weights)


def rare_counts(counts: np.ndarray, layout: Layout, seen: np.ndarray) -> np.ndarray | None:
    """Mean count of the words that were `seen` once, by unknown cell; None without any."""
    cells, once = layout.unknown_cells, np.flatnonzero(seen == 1)
    if not (len(cells) and len(once)):
        return None
    text = np.repeat(np.arange(len(layout.first) - 1), np.diff(layout.first))
    here = np.isin(text, once) & (layout.cell >= 0)
    total = np.bincount(layout.symbol[here], counts[layout.cell[here]], layout.n_lhs)
    return total[layout.lhs[cells]] / len(once)


def with_unseen(layout: Layout, counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Counts with a little for rules without any, where the prior is 0.

    Without it a batch could use no rule that those before had not used. Such rules share one count
    among those of their symbol, and a word that no rule has derived yet is as likely from each of
    its symbols, in proportion to their other uses.

    Parameters
    ----------
    layout : Layout
    counts, prior : ndarray of shape (n_rules,)

    Returns
    -------
    ndarray of shape (n_rules,)
    """
    none = (counts == 0) & (prior == 0)
    if not none.any():
        return counts
    little = 1.0 / np.bincount(layout.lhs, minlength=layout.n_lhs)[layout.lhs]
    text = np.repeat(np.arange(len(layout.first) - 1), np.diff(layout.first))
    here = layout.cell >= 0
    cell, text = layout.cell[here], text[here]
    is_new = np.bincount(text, counts[cell], len(layout.first) - 1) == 0
    cell = cell[is_new[text]]
    little[cell] *= np.maximum(totals_of(layout, counts), 1.0)[layout.lhs[cell]]
    return np.where(none, little, counts)


def _gathered(values: np.ndarray, cells: np.ndarray, one: float) -> np.ndarray:
    """Values of cells; rules of helper symbols have weight 1."""
    found = values[cells]
    found[cells < 0] = one
    return found


def set_weights(listed: Listed, theta: np.ndarray) -> None:
    """Write weights of rules (n_rules,) to a grammar in lists, in place.

    Raises
    ------
    ValueError
        If the weights of a cycle of unary rules sum to infinity.
    """
    listed.binary.weight[:] = _gathered(theta, listed.binary.cell, 1.0)
    listed.terminals.weight[:] = _gathered(theta, listed.terminals.cell, 1.0)
    unary = listed.unary
    if unary is not None:
        unary.weight[:] = theta[unary.cell]
        if len(unary.member):
            work = chain_work_for(len(listed.binary.left_first) - 1, unary)
            if not fill_closure(unary, work):
                raise ValueError(
                    "a cycle of unary rules has so much weight that its chains never end"
                )


def set_log_weights(listed: Listed, logs: np.ndarray) -> None:
    """The same with logs, for the heaviest trees."""
    listed.binary.weight[:] = _gathered(logs, listed.binary.cell, 0.0)
    listed.terminals.weight[:] = _gathered(logs, listed.terminals.cell, 0.0)
    if listed.unary is not None:
        listed.unary.weight[:] = logs[listed.unary.cell]


def cells_of(listed: Listed, n_rules: int) -> np.ndarray:
    """Expected counts of a grammar in lists, summed by cell; those of helpers are left out."""
    total = np.zeros(n_rules)
    for rules in (listed.binary, listed.unary, listed.terminals):
        if rules is not None:
            known = rules.cell >= 0
            total += np.bincount(rules.cell[known], rules.count[known], n_rules)
    return total
