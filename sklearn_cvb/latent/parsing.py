"""Parsing: sentences in, trees out, one sentence after the other on each thread.

First the grammar without annotations says which symbols a span can have, then the whole grammar
parses with these. A sentence that loses its trees this way is parsed again with all symbols.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np
from joblib import effective_n_jobs

from sklearn_cvb.fitting import on_threads
from sklearn_cvb.kernels.latent.arrays import NONE, Parses, Rules, rows_of
from sklearn_cvb.kernels.latent.best_trees import Nodes, best_for, nodes_for
from sklearn_cvb.kernels.latent.chart import Cells, Items, cells_for, items_for
from sklearn_cvb.kernels.latent.grammar import Grammar, grammar_of
from sklearn_cvb.kernels.latent.parse import parse_items
from sklearn_cvb.kernels.latent.pruning import CoarseChart, coarse_chart_for, find_items
from sklearn_cvb.kernels.latent.viterbi import viterbi

# Rounds in which expected counts of subtypes are found.
_ROUNDS = 20

_Result = TypeVar("_Result")


class Parser(NamedTuple):
    """Grammars at hand, and room for a sentence.

    Attributes
    ----------
    fine : Grammar
    coarse : Grammar
        The same rules without annotations.
    flat : Grammar
        The same again, where each rule weighs 1.
    chart : CoarseChart
    items : Items
    nodes : Nodes
    """

    fine: Grammar
    coarse: Grammar
    flat: Grammar
    chart: CoarseChart
    items: Items
    nodes: Nodes


def without_annotations(rules: Rules, weights: np.ndarray) -> np.ndarray:
    """Weights of rules whatever the annotations, as often as each subtype is expected.

    Parameters
    ----------
    rules : Rules
    weights : ndarray of shape (n_cells,)

    Returns
    -------
    ndarray of shape (n_rules,)
        For roots and rules of each symbol they sum to 1 if `weights` do.
    """
    rows, sizes = rows_of(rules), np.diff(rules.first)
    rule = np.repeat(np.arange(len(sizes)), sizes)
    within = np.arange(len(rows)) - rules.first[rule]
    before = np.concatenate([[0], np.cumsum(rules.n_subtypes)])
    n_right = np.where(rules.right == NONE, 1, rules.n_subtypes[rules.right])[rule]
    n_left = np.ones(len(rule), np.int64)
    is_word = rule >= rules.begin[3]
    n_left[~is_word] = rules.n_subtypes[rules.left[rule[~is_word]]]
    left = before[rules.left[rule[~is_word]]] + (within // n_right % n_left)[~is_word]
    is_binary = rules.right[rule] != NONE
    right = before[rules.right[rule[is_binary]]] + (within % n_right)[is_binary]
    children = np.concatenate([left, right])
    n_rows = before[-1] + 1
    counts = np.ones(n_rows)
    symbol = np.repeat(np.arange(len(rules.n_subtypes)), rules.n_subtypes)
    for _ in range(_ROUNDS):
        flow = counts[rows] * weights
        flow = np.concatenate([flow[~is_word], flow[is_binary]])
        counts = np.bincount(children, flow, n_rows)
        counts /= max(counts.max(), np.finfo(float).tiny)
        counts[-1] = 1.0
    totals = np.bincount(symbol, counts[:-1], len(rules.n_subtypes))[symbol]
    even = 1.0 / rules.n_subtypes[symbol]
    share = np.append(np.divide(counts[:-1], totals, out=even, where=totals > 0), 1.0)
    return np.bincount(rule, weights * share[rows], len(sizes))


def parser_for(rules: Rules, weights: np.ndarray, coarse: np.ndarray, longest: int) -> Parser:
    """A parser with room for sentences of up to so many words."""
    first = np.arange(len(rules.parent) + 1)
    one = rules._replace(n_subtypes=np.ones_like(rules.n_subtypes), first=first)
    small = grammar_of(one, coarse)
    flat = small._replace(weight=np.ones(len(coarse)))
    room = coarse_chart_for(small, longest), items_for(small, longest), nodes_for(longest)
    return Parser(grammar_of(rules, weights), small, flat, *room)


def cells_of(parser: Parser, words: np.ndarray, threshold: float) -> Cells | None:
    """List the items of a sentence; None if it has no tree."""
    if len(words) == 0:
        return None
    grammar = parser.coarse if threshold > 0 else parser.flat
    room = parser.chart, parser.items
    n_cells = find_items(grammar, parser.fine.n_subtypes, words, float(threshold), *room)
    return cells_for(parser.fine, len(words), n_cells) if n_cells else None


def _log_likelihood(parser: Parser, words: np.ndarray) -> float:
    """log p(words), -inf without a tree."""
    cells = cells_of(parser, words, 0.0)
    if cells is None:
        return -np.inf
    room = parser.chart.reach, parser.items, cells, best_for(0), parser.nodes
    return parse_items(parser.fine, words, *room)[0]


def _tree(parser: Parser, words: np.ndarray, threshold: float, decoding: str) -> np.ndarray:
    """Symbols, begins and ends of a sentence's nodes, shape (3, n_nodes)."""
    cells, n_nodes = cells_of(parser, words, threshold), 0
    if cells is not None:
        reach, best = parser.chart.reach, best_for(len(cells.inside))
        items, nodes = parser.items, parser.nodes
        if decoding == "viterbi":
            n_nodes = viterbi(parser.fine, words, reach, items, best, nodes)
        else:
            _, n_nodes = parse_items(parser.fine, words, reach, items, cells, best, nodes)
    return np.stack([row[:n_nodes] for row in parser.nodes[:3]])


def parse(
    rules: Rules,
    weights: np.ndarray,
    tokens: np.ndarray,
    starts: np.ndarray,
    *,
    decoding: str = "max-rule",
    coarse: np.ndarray | None = None,
    threshold: float = 1e-5,
    n_jobs: int | None = None,
) -> Parses:
    """The best trees of sentences.

    Parameters
    ----------
    rules : Rules
    weights : ndarray of shape (n_cells,)
        They need not sum to 1.
    tokens : ndarray of shape (n_tokens,)
        Words, by the numbers that rules have for them.
    starts : ndarray of shape (n_sentences + 1,)
        Where the words of each sentence begin.
    decoding : {"max-rule", "viterbi"}, default="max-rule"
        The tree with the largest product of posteriors of its rules, or the one below the heaviest
        annotated tree.
    coarse : ndarray of shape (n_rules,) or None, default=None
        Weights of the rules without annotations. If None, they follow from `weights`.
    threshold : float, default=1e-5
        A symbol of a span with a smaller posterior under the coarse weights is left out; 0 leaves
        none out. A sentence that is left without a tree is parsed again with all.
    n_jobs : int or None, default=None
        Number of threads.

    Returns
    -------
    Parses
        Without nodes for a sentence without a tree.
    """
    if coarse is None:
        coarse = without_annotations(rules, weights)
    if decoding == "viterbi":
        with np.errstate(divide="ignore"):
            weights = np.log(weights)

    def tree(parser: Parser, words: np.ndarray) -> np.ndarray:
        found = _tree(parser, words, threshold, decoding)
        if threshold > 0 and found.shape[1] == 0:
            found = _tree(parser, words, 0.0, decoding)
        return found

    trees = _for_each(tree, (rules, weights, coarse), tokens, starts, n_jobs)
    ends = np.cumsum([0, *(nodes.shape[1] for nodes in trees)])
    return Parses(ends, *np.concatenate([np.empty((3, 0), np.int64), *trees], axis=1))


def log_likelihoods(
    rules: Rules,
    weights: np.ndarray,
    tokens: np.ndarray,
    starts: np.ndarray,
    *,
    n_jobs: int | None = None,
) -> np.ndarray:
    """log p(words) of sentences, over all trees and annotations.

    Parameters
    ----------
    rules : Rules
    weights : ndarray of shape (n_cells,)
    tokens : ndarray of shape (n_tokens,)
        Words, by the numbers that rules have for them.
    starts : ndarray of shape (n_sentences + 1,)
        Where the words of each sentence begin.
    n_jobs : int or None, default=None
        Number of threads.

    Returns
    -------
    ndarray of shape (n_sentences,)
        -inf for a sentence without a tree.
    """
    even = np.ones(len(rules.parent))
    return np.array(_for_each(_log_likelihood, (rules, weights, even), tokens, starts, n_jobs))


def _for_each(
    work: Callable[[Parser, np.ndarray], _Result],
    grammar: tuple[Rules, np.ndarray, np.ndarray],
    tokens: np.ndarray,
    starts: np.ndarray,
    n_jobs: int | None,
) -> list[_Result]:
    """What `work(parser, words)` gives for each sentence; each thread has a parser of its own."""
    rules, weights, coarse = grammar
    tokens, n_sentences = np.ascontiguousarray(tokens, np.int64), len(starts) - 1
    longest = int(np.diff(starts).max(initial=0))
    results: list = [None] * n_sentences
    n_threads = max(1, min(effective_n_jobs(n_jobs), n_sentences))

    def run(offset: int) -> None:
        parser = parser_for(rules, weights, coarse, longest)
        for i in range(offset, n_sentences, n_threads):
            results[i] = work(parser, tokens[starts[i] : starts[i + 1]])

    on_threads(run, [(offset,) for offset in range(n_threads)], n_jobs)
    return results
