"""Posterior of labelled spans, and the best trees of each sentence, one sentence at a time."""

import numpy as np

from sklearn_cvb.kernels.tree.arrays import brackets_of
from sklearn_cvb.kernels.tree.k_best import k_best_trees
from sklearn_cvb.kernels.tree.lists import span_posteriors
from sklearn_cvb.pcfg.trees import to_nltk


def span_tables(layout, weights, lexicon):
    """Expected number of constituents of each label over each span.

    Parameters
    ----------
    layout : Layout
    weights : TreeWeights
    lexicon : Lexicon

    Returns
    -------
    list of ndarray of shape (length, length + 1, n_symbols)
        NaN where a sentence has no tree.
    """
    lengths = lexicon.length.tolist()
    brackets, tables = brackets_of(len(lengths)), []
    for i, n in enumerate(lengths):
        spans, log_z = span_posteriors(layout.rules, weights, lexicon, brackets, i)
        table = np.zeros((n, n + 1, layout.n_lhs))
        ours = spans.symbol < layout.n_lhs
        place = spans.begin[ours], spans.end[ours], spans.symbol[ours]
        table[place] = spans.expected[ours]
        tables.append(np.full_like(table, np.nan) if np.isneginf(log_z) else table)
    return tables


def k_best(layout, weights, lexicon, sentences, k):
    """The k heaviest trees of each sentence.

    Parameters
    ----------
    layout : Layout
    weights : TreeWeights
        Logs.
    lexicon : Lexicon
    sentences : list of list
        Their words.
    k : int

    Returns
    -------
    list of list of (nltk.Tree, float)
        Heaviest first, with log weights; fewer than k if there are no more.
    """
    brackets, best = brackets_of(len(sentences)), []
    for i, words in enumerate(sentences):
        trees, log_p = k_best_trees(layout.rules, weights, lexicon, brackets, i, k)
        parsed = to_nltk(layout, trees, [words] * len(log_p))
        best.append(list(zip(parsed, log_p.tolist(), strict=True)))
    return best
