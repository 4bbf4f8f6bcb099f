"""What each sentence adds to the counts of collapsed variational Bayes."""

import numpy as np

from sklearn_cvb.kernels.tree.arrays import Trees
from sklearn_cvb.kernels.tree.decoding import best_chart_for, best_listed_trees
from sklearn_cvb.kernels.tree.tallies import Shares, Tally, empty_shares
from sklearn_cvb.pcfg.forms import Problem, heaviest_in_forest, listed_for
from sklearn_cvb.pcfg.parameters import log_weights, set_log_weights
from sklearn_cvb.pcfg.sweeps import frozen_tally, leave_out_sweep
from sklearn_cvb.pcfg.trees import joined


def first_shares(theta: np.ndarray, problem: Problem) -> tuple[Shares, np.ndarray]:
    """Expected counts of every sentence under given weights, and the log normalisers."""
    nothing = empty_shares(problem.corpus.n_sequences, 0)
    return leave_out_sweep(problem, frozen_tally(problem.layout, theta), nothing, True)


def left_out_trees(shares: Shares, tally: Tally, problem: Problem) -> Trees:
    """Each sentence's Viterbi tree under the weights that leave it out, counts frozen."""
    sentences, forest = problem.sentences.tolist(), problem.forest
    if forest is not None:
        logs = np.empty(len(forest.cell))
        for i in sentences:
            here = slice(forest.rule_first[i], forest.rule_first[i + 1])
            logs[here] = _left_out_logs(tally, shares, i, forest.cell[here])
        return heaviest_in_forest(logs, forest)
    listed, trees = listed_for(problem), []
    chart, every = best_chart_for(listed), np.arange(len(tally.cells))
    for i in sentences:
        set_log_weights(listed, _left_out_logs(tally, shares, i, every))
        trees.append(best_listed_trees(listed, np.array([i]), chart)[0])
    return joined(trees)


def _left_out_logs(tally: Tally, shares: Shares, i: int, cells: np.ndarray) -> np.ndarray:
    """Logs of the posterior means of some rules given all sentences but one."""
    own, count = _share(shares, i, tally.lhs)
    counts, totals = tally.cells, tally.totals.copy()
    kept = counts[own]
    np.subtract.at(counts, own, count)
    np.subtract.at(totals, tally.lhs[own], count)
    symbols = tally.lhs[cells]
    means = np.maximum(counts[cells], 0.0) + tally.prior[cells]
    means /= np.maximum(totals[symbols], 0.0) + tally.prior_totals[symbols]
    counts[own] = kept
    # Helper symbols have one rule, of weight 1.
    means[cells < 0] = 1.0
    return log_weights(means)


def _share(shares: Shares, i: int, lhs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What sentence `i` adds: cells and counts, those in tables included."""
    here = slice(shares.starts[i], shares.starts[i + 1])
    own, count = shares.cell[here], shares.count[here]
    if shares.tables is not None:
        table = shares.tables[i].ravel()
        own = np.concatenate([own, np.arange(len(lhs) - len(table), len(lhs))])
        count = np.concatenate([count, table])
    return own, count


def counts_of(shares: Shares, problem: Problem) -> np.ndarray:
    """The sum of what the sentences add, by rule."""
    counts = np.bincount(shares.cell, shares.count, len(problem.layout.lhs))
    if shares.tables is not None:
        counts[-shares.tables[0].size :] = shares.tables.sum(axis=0).ravel()
    return counts


def presence(shares: Shares, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """P(C > 0) of every rule and left-hand side, sentences taken as independent.

    A sentence uses a rule with a probability of at most its expected count there.
    """
    layout = problem.layout
    if shares.tables is not None:
        return _presence_one_by_one(shares, problem)
    sentence = np.repeat(problem.sentences, np.diff(shares.starts))
    return (
        _present(shares.cell, sentence, shares.count, len(layout.lhs)),
        _present(layout.lhs[shares.cell], sentence, shares.count, layout.n_lhs),
    )


def _presence_one_by_one(shares: Shares, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The same without a list of all shares, which would be as large as all tables."""
    lhs, n_lhs = problem.layout.lhs, problem.layout.n_lhs
    absent, totals_absent = np.zeros(len(lhs)), np.zeros(n_lhs)
    with np.errstate(divide="ignore"):
        for i in problem.sentences.tolist():
            count = np.bincount(*_share(shares, i, lhs), len(lhs))
            absent += np.log1p(-np.minimum(1.0, count))
            totals_absent += np.log1p(-np.minimum(1.0, np.bincount(lhs, count, n_lhs)))
    return -np.expm1(absent), -np.expm1(totals_absent)


def _present(
    places: np.ndarray, sentence: np.ndarray, count: np.ndarray, n_places: int
) -> np.ndarray:
    """1 - prod over sentences of (1 - min(1, expected count in the sentence))."""
    keys, inverse = np.unique(sentence * n_places + places, return_inverse=True)
    share = np.minimum(1.0, np.bincount(inverse, count, len(keys)))
    with np.errstate(divide="ignore"):
        absent = np.log1p(-share)
    return -np.expm1(np.bincount(keys % n_places, absent, n_places))
