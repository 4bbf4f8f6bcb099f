"""Posterior of labelled spans."""

import numpy as np

from sklearn_cvb.kernels.jit import jit_allocating
from sklearn_cvb.kernels.tree import brackets_of
from sklearn_cvb.kernels.tree_charts import chart_for, span_at
from sklearn_cvb.kernels.tree_inside import inside, outside
from sklearn_cvb.pcfg.parameters import empty_rule_counts


@jit_allocating
def _fill_table(rules, weights, lexicon, brackets, i, counts, table):
    """Expected constituents of one sentence; NaN if it has no tree."""
    n = np.int64(lexicon.length[i])
    chart = chart_for(rules, n)
    if inside(rules, weights, lexicon, brackets, i, chart) == -np.inf:
        table[:] = np.nan
        return
    outside(rules, weights, lexicon, brackets, i, chart, counts)
    for end in range(1, n + 1):
        for begin in range(end):
            s = span_at(begin, end)
            for item in range(chart.first[s], chart.first[s + 1]):
                symbol = chart.symbol[item]
                if symbol < table.shape[2]:
                    table[begin, end, symbol] = chart.inside[item] * chart.outside[item]


def span_tables(layout, weights, lexicon, lengths):
    """Expected number of constituents of each label over each span.

    Parameters
    ----------
    layout : Layout
    weights : TreeWeights
    lexicon : Lexicon
    lengths : ndarray of shape (n_sentences,)

    Returns
    -------
    list of ndarray of shape (length, length + 1, n_symbols)
    """
    brackets, counts = brackets_of(len(lengths)), empty_rule_counts(layout, lexicon)
    tables = [np.zeros((n, n + 1, layout.n_lhs)) for n in lengths.tolist()]
    for i, table in enumerate(tables):
        _fill_table(layout.rules, weights, lexicon, brackets, i, counts, table)
    return tables
