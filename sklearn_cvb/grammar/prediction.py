"""A fitted grammar at work: weights of rules, best trees as nltk or charts, posteriors of spans,
warnings of sentences that no tree derives (unexplained).
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sklearn_cvb.grammar import inference
from sklearn_cvb.grammar.grammar import terminal_words
from sklearn_cvb.grammar.layout import GrammarLayout, GrammarProblem, new_problem, problem_by_lists
from sklearn_cvb.grammar.model import log_weights, predicting_weights
from sklearn_cvb.kernels.tree.arrays import Derivations
from sklearn_cvb.kernels.tree.decoding import k_best_trees
from sklearn_cvb.kernels.tree.engines import Engine, count_in_logs
from sklearn_cvb.kernels.tree.lists import (
    SpanPosteriors,
    expected_counts_by_lists,
    span_posteriors_of,
)
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.reading.corpus import Corpus, object_array
from sklearn_cvb.reading.unknown_tokens import nearest_cause, other_readings
from sklearn_cvb.reading.validation import warn

# What is less loses digits, or all, in float64.
_LEAST = 1e-300


def counts_with_rare(learned: Learned) -> np.ndarray:
    """Counts; unknown words get the mean count of words seen once ("rare")."""
    counts: np.ndarray = learned.counts
    if learned.unknown_word_counts is not None:
        counts = counts.copy()
        np.add.at(counts, learned.layout.unknown_cells, learned.unknown_word_counts)
    return counts


def mean_weights(learned: Learned) -> np.ndarray:
    """Posterior means of rules; of samplers their averages over the kept samples."""
    if learned.extra is not None:
        return learned.extra
    return learned.layout.rows(counts_with_rare(learned), learned.prior).mean(learned.fallback)


def weights_to_predict(learned: Learned) -> tuple[np.ndarray, np.ndarray]:
    """Weights of `predict` and `predict_proba` and their logs.

    Unknown words that no rule gives weight are derived by all rules for unknown words alike. Of
    logs that float64 loses, as under a tiny alpha, weights of unknown words are over the largest of
    them, which all trees of a sentence have as often, and those of other rules the least there is.
    """
    layout = learned.layout
    if learned.extra is not None:
        weights, logs = learned.extra, log_weights(learned.extra)
    else:
        arguments = (layout, counts_with_rare(learned), learned.prior, learned.fallback)
        weights, logs = predicting_weights(*arguments, learned.averages)
    cells = layout.unknown_cells
    if not layout.is_given and np.isneginf(logs[cells]).all():
        weights, logs = weights.copy(), logs.copy()
        weights[cells], logs[cells] = 1.0, 0.0
    if logs.min(initial=0.0, where=np.isfinite(logs)) < np.log(_LEAST):
        weights = np.where(np.isneginf(logs), 0.0, np.maximum(weights, _LEAST))
        if len(cells):
            weights[cells] = np.exp(logs[cells] - logs[cells].max())
    return weights, logs


def best_trees(learned: Learned, corpus: Corpus, words: list[Any]) -> np.ndarray:
    """The heaviest derivations, in the form that `predict` gives."""
    layout = learned.layout
    trees = inference.heaviest_trees(
        weights_to_predict(learned)[1], new_problem(layout, corpus, words)
    )
    unexplained = np.flatnonzero(np.diff(trees.starts) == 0)
    warn_unexplained(layout, corpus, unexplained, "each gets the flat tree below the start symbol")
    return trees_to_show(layout, corpus, words, trees)


def trees_to_show(
    layout: GrammarLayout, corpus: Corpus, words: list[Any], trees: Derivations
) -> np.ndarray:
    """Derivations as nltk.Tree, or as charts of a 2-D X."""
    if corpus.width is not None:
        return to_charts(layout, trees, corpus)
    return object_array(to_nltk(layout, trees, sentences_of(corpus, words)))


def sentences_of(corpus: Corpus, words: list[Any]) -> list[list[Any]]:
    """The words of each sentence."""
    return [words[a:b] for a, b in pairwise(corpus.starts.tolist())]


def to_nltk(layout: GrammarLayout, trees: Derivations, sentences: Iterable[Any]) -> list[Any]:
    """Derivations as trees in the user's symbols; binarisation is undone.

    A sentence without derivation becomes a flat tree below the start symbol.
    """
    from nltk import Tree

    labels = layout.grammar.symbols
    fields = [field.tolist() for field in (*trees[1:4], trees.n_children)]
    starts = trees.starts.tolist()
    result = []
    for i, words in enumerate(sentences):
        steps = zip(*(field[starts[i] : starts[i + 1]] for field in fields), strict=True)
        open_nodes: list[list[Any]] = []
        root = None
        for begin, end, symbol, n_children in steps:
            while open_nodes and open_nodes[-1][1] == 0:
                open_nodes.pop()
            above = open_nodes[-1] if open_nodes else None
            if above is not None:
                above[1] -= 1
            if symbol < layout.n_shown:
                node = Tree(labels[symbol], [])
                if above is not None:
                    above[0].append(node)
                root = node if root is None else root
            else:
                assert above is not None, "the root is a symbol that is shown"
                node = above[0]  # the children of a helper or a part are its parent's
            if n_children:
                open_nodes.append([node, n_children])
            else:
                node.extend(words[begin:end])
        result.append(Tree(labels[layout.grammar.start], list(words)) if root is None else root)
    return result


def to_charts(layout: GrammarLayout, trees: Derivations, corpus: Corpus) -> np.ndarray:
    """Derivations of a 2-D input as integer charts, (n_sentences, width, width + 1).

    Cell [i, begin, end] is one more than the number of the label of words[begin:end] (the highest,
    where several), 0 where there is none.
    """
    assert corpus.width is not None, "charts are for a 2-D X"
    charts = np.zeros((corpus.n_sequences, corpus.width, corpus.width + 1), np.int64)
    sentence = np.repeat(np.arange(corpus.n_sequences), np.diff(trees.starts))
    # Backwards, so that of a span's labels the first in pre-order is written last.
    ours = np.flatnonzero(trees.symbol < layout.n_shown)[::-1]
    place = sentence[ours], trees.begin[ours], trees.end[ours]
    charts[place] = trees.symbol[ours] + 1
    flat = np.flatnonzero(np.diff(trees.starts) == 0)
    charts[flat, 0, np.diff(corpus.starts)[flat]] = layout.grammar.start + 1
    return charts


def best_derivations(
    learned: Learned, corpus: Corpus, words: list[Any], k: int
) -> list[list[tuple[Any, ...]]]:
    """The k heaviest trees of each sentence with log weights, heaviest first; fewer if no more."""
    problem, best = problem_by_lists(learned.layout, corpus, words), []
    lists = inference.rule_lists_for(problem)
    inference.set_log_weights(lists, weights_to_predict(learned)[1])
    for i, sentence in enumerate(sentences_of(corpus, words)):
        trees, log_p = k_best_trees(lists, i, k)
        parsed = to_nltk(problem.layout, trees, [sentence] * len(log_p))
        best.append(list(zip(parsed, log_p.tolist(), strict=True)))
    return best


def labelled_spans(learned: Learned, corpus: Corpus, words: list[Any]) -> np.ndarray:
    """Expected number of constituents of each label over each span, as `predict_proba` gives it."""
    layout = learned.layout
    problem = problem_by_lists(layout, corpus, words)
    tables = span_tables(problem, weights_to_predict(learned)[0])
    unexplained = [i for i, table in enumerate(tables) if np.isnan(table).any()]
    warn_unexplained(layout, corpus, unexplained, "their posteriors are NaN")
    if corpus.width is None:
        return object_array(tables)
    width = corpus.width
    stacked = np.full((len(tables), width, width + 1, layout.n_shown), 0.0)
    for whole, table in zip(stacked, tables, strict=True):
        whole[: len(table), : len(table) + 1] = table
    return stacked


def span_tables(problem: GrammarProblem, theta: np.ndarray) -> list[np.ndarray]:
    """`labelled_spans` by sentence, (length, length + 1, n_symbols); NaN where one has no tree."""
    engine, n_symbols, tables = inference.engine_for(problem), problem.layout.n_shown, []
    assert engine.lists is not None, "asked for by lists only"
    inference.set_weights(engine.lists, theta)
    for i, n in enumerate(problem.lexicon.length.tolist()):
        spans, _ = span_posteriors(engine, i)
        table = np.zeros((n, n + 1, n_symbols))
        if spans is None:
            table[:] = np.nan
        else:
            ours = spans.symbol < n_symbols
            place = spans.begin[ours], spans.end[ours], spans.symbol[ours]
            table[place] = spans.expected[ours]
        tables.append(table)
    return tables


def span_posteriors(engine: Engine, i: int) -> tuple[SpanPosteriors | None, float]:
    """Posterior of all nodes of sentence `i`, by lists that have weights, and log p(words).

    None where it has no tree.
    """
    assert engine.lists is not None, "asked for by lists only"
    assert engine.chart is not None, "lists have a chart"
    log_z = np.empty(1)
    expected_counts_by_lists(engine.lists, engine.chart, np.array([i]), log_z, True)
    value = float(log_z[0])
    if np.isnan(value):
        value = count_in_logs(engine, i)
    if value == -np.inf:
        return None, value
    return span_posteriors_of(engine.chart, int(engine.lists.terminals.length[i])), value


def words_without_rule(layout: GrammarLayout, corpus: Corpus, sentences: Iterable[Any]) -> str:
    """A note on words in these sentences that no rule derives; empty without any."""
    if len(layout.unknown_cells) or not corpus.unknown:
        return ""
    codes = [corpus.tokens[corpus.starts[i] : corpus.starts[i + 1]] for i in sentences]
    used = np.unique(np.concatenate([*codes, np.empty(0, np.intp)])).tolist()
    n = layout.n_words
    words = [corpus.unknown[code - n] for code in used if code >= n]
    if not words:
        return ""
    known = other_readings(terminal_words(layout.grammar))
    share, advice = nearest_cause(words, np.ones(len(words), int), known)
    return (
        f"; no rule has the words {words[:5]} ({len(words)} in all){f'; {advice}' * (share > 0.5)}"
    )


def warn_unexplained(
    layout: GrammarLayout, corpus: Corpus, unexplained: Sequence[Any] | np.ndarray, instead: str
) -> None:
    """Warn of sentences that no tree derives, and of what stands for it."""
    if len(unexplained):
        warn(
            [
                f"no tree derives sentences {list(map(int, unexplained[:5]))} ({len(unexplained)} "
                f"in all){words_without_rule(layout, corpus, unexplained)}: {instead}"
            ]
        )
