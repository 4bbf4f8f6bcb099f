"""What each sentence adds to the counts: first shares, their sum, and which rules are present."""

import numpy as np

from sklearn_cvb.pcfg.leave_out import Shares, Tally, sweep_sentences
from sklearn_cvb.pcfg.parameters import totals_of, tree_weights


def first_shares(theta, problem):
    """Expected counts of every sentence under given weights, and the log normalisers."""
    layout, lexicon, n = problem.layout, problem.lexicon, problem.corpus.n_sequences
    nothing = Shares(
        np.zeros(n + 1, np.int64), np.empty(0, np.int64), np.empty(0), np.zeros(len(lexicon.rule))
    )
    zeros, log_z = np.zeros(len(layout.lhs)), np.empty(n)
    tally, weights = tally_of(problem, zeros, zeros), tree_weights(layout, lexicon, theta)
    kernel = (layout.rules, lexicon, problem.brackets)
    return sweep_sentences(*kernel, tally, weights, False, nothing, log_z), log_z


def tally_of(problem, counts, prior):
    """Counts and prior as the sweep changes them."""
    layout = problem.layout
    totals = totals_of(layout, counts), totals_of(layout, prior)
    return Tally(counts.copy(), totals[0], prior, totals[1], layout.lhs)


def counts_of(shares, problem):
    """The sum of what the sentences add, by rule."""
    n_rules = len(problem.layout.lhs)
    known = problem.lexicon.rule >= 0
    lexical = np.bincount(problem.lexicon.rule[known], shares.lexical[known], n_rules)
    return np.bincount(shares.cell, shares.count, n_rules) + lexical


def presence(shares, problem):
    """P(C > 0) of every rule and left-hand side, sentences taken as independent.

    A sentence uses a rule with a probability of at most its expected count there.
    """
    layout, lexicon = problem.layout, problem.lexicon
    known = lexicon.rule >= 0
    cell = np.concatenate([shares.cell, lexicon.rule[known]])
    count = np.concatenate([shares.count, shares.lexical[known]])
    sentence = np.concatenate(
        [
            np.repeat(problem.sentences, np.diff(shares.starts)),
            np.repeat(problem.sentences, np.diff(lexicon.starts))[known],
        ]
    )
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
