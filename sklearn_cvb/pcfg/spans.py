"""Posterior of labelled spans, and the best trees of each sentence, one sentence at a time."""

import numpy as np

from sklearn_cvb.kernels.tree.forms import Form
from sklearn_cvb.kernels.tree.k_best import k_best_trees
from sklearn_cvb.kernels.tree.lists import Spans, expected_listed_counts, spans_of
from sklearn_cvb.kernels.tree.lost_sentences import count_lost
from sklearn_cvb.pcfg.forms import Problem, form_for, listed_for
from sklearn_cvb.pcfg.parameters import set_log_weights, set_weights
from sklearn_cvb.pcfg.trees import sentences_of, to_nltk


def span_posteriors(form: Form, i: int) -> tuple[Spans | None, float]:
    """Posterior of all nodes of sentence `i`, by lists that have weights, and log p(words).

    None where it has no tree.
    """
    assert form.listed is not None, "asked for by lists only"
    assert form.chart is not None, "lists have a chart"
    log_z = np.empty(1)
    expected_listed_counts(form.listed, form.chart, np.array([i]), log_z, True)
    value = float(log_z[0])
    if np.isnan(value):
        value = count_lost(form, i)
    if value == -np.inf:
        return None, value
    return spans_of(form.chart, int(form.listed.terminals.length[i])), value


def span_tables(problem: Problem, theta: np.ndarray) -> list[np.ndarray]:
    """Expected number of constituents of each label over each span.

    Parameters
    ----------
    problem : Problem
        By lists.
    theta : ndarray of shape (n_rules,)

    Returns
    -------
    list of ndarray of shape (length, length + 1, n_symbols)
        NaN where a sentence has no tree.
    """
    form, n_symbols, tables = form_for(problem), problem.layout.n_shown, []
    assert form.listed is not None, "asked for by lists only"
    set_weights(form.listed, theta)
    for i, n in enumerate(problem.lexicon.length.tolist()):
        spans, _ = span_posteriors(form, i)
        table = np.zeros((n, n + 1, n_symbols))
        if spans is None:
            table[:] = np.nan
        else:
            ours = spans.symbol < n_symbols
            place = spans.begin[ours], spans.end[ours], spans.symbol[ours]
            table[place] = spans.expected[ours]
        tables.append(table)
    return tables


def k_best(problem: Problem, logs: np.ndarray, k: int) -> list[list[tuple]]:
    """The k heaviest trees of each sentence.

    Parameters
    ----------
    problem : Problem
    logs : ndarray of shape (n_rules,)
        Log weights.
    k : int

    Returns
    -------
    list of list of (nltk.Tree, float)
        Heaviest first, with log weights; fewer than k if there are no more.
    """
    listed, best = listed_for(problem), []
    set_log_weights(listed, logs)
    for i, words in enumerate(sentences_of(problem.corpus, problem.words)):
        trees, log_p = k_best_trees(listed, i, k)
        parsed = to_nltk(problem.layout, trees, [words] * len(log_p))
        best.append(list(zip(parsed, log_p.tolist(), strict=True)))
    return best
