"""A fitted treebank grammar at work: coarse-to-fine parsing by charts of items (a symbol over a
span), Viterbi and max-rule trees, likelihoods, and sentences generated with their trees.

First the grammar without annotations says which symbols a span can have, then the whole grammar
parses with these. A sentence that loses its trees this way is parsed again with all symbols.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from joblib import effective_n_jobs

from sklearn_cvb.kernels.treebank import arrays
from sklearn_cvb.kernels.treebank import chart as charts
from sklearn_cvb.kernels.treebank.arrays import AnnotatedGrammar, AnnotatedRules, Parses
from sklearn_cvb.kernels.treebank.chart import ChartItems, ItemChart, SpanReach
from sklearn_cvb.kernels.treebank.decoding import SAME, BestParts, best_parts_for, max_rule, viterbi
from sklearn_cvb.learning.threads import on_threads
from sklearn_cvb.reading.sample_sizes import check_sample, drawn_within
from sklearn_cvb.treebank.parameters import TreebankLayout

# Rounds in which expected counts of subtypes are found.
_ROUNDS = 20

_Result = TypeVar("_Result")


class Parser(NamedTuple):
    """A grammar with and without annotations."""

    fine: AnnotatedGrammar
    coarse: AnnotatedGrammar
    log_fine: AnnotatedGrammar  # the fine one with logs for weights
    # (2, n_symbols), which symbols can be the lower and the upper items of one word, and of more
    word_symbols: np.ndarray
    span_symbols: np.ndarray


class SentenceInference(NamedTuple):
    """A sentence of n words under a grammar: its chart items, their weights, log p(words)."""

    n: int
    grammar: AnnotatedGrammar
    items: ChartItems
    reach: SpanReach
    chart: ItemChart
    log_z: float  # log p(words); -inf without a tree


def coarse_weights(rules: AnnotatedRules, weights: np.ndarray) -> np.ndarray:
    """Weights of rules whatever the annotations, as often as each subtype is expected."""
    rows, sizes = arrays.rows_of(rules), np.diff(rules.first)
    rule = np.repeat(np.arange(len(sizes)), sizes)
    within = np.arange(len(rows)) - rules.first[rule]
    before = np.concatenate([[0], np.cumsum(rules.n_subtypes)])
    n_right = np.where(rules.right == arrays.NONE, 1, rules.n_subtypes[rules.right])[rule]
    n_left = np.ones(len(rule), np.int64)
    is_word = rule >= rules.begin[3]
    n_left[~is_word] = rules.n_subtypes[rules.left[rule[~is_word]]]
    left = before[rules.left[rule[~is_word]]] + (within // n_right % n_left)[~is_word]
    is_binary = rules.right[rule] != arrays.NONE
    right = before[rules.right[rule[is_binary]]] + (within % n_right)[is_binary]
    children = np.concatenate([left, right])
    n_rows = before[-1] + 1
    counts = np.ones(n_rows)
    symbol = np.repeat(np.arange(len(rules.n_subtypes)), rules.n_subtypes)
    for _ in range(_ROUNDS):
        flow = counts[rows] * weights
        flow = np.concatenate([flow[~is_word], flow[is_binary]])
        counts = np.bincount(children, flow, n_rows)
        counts = counts / max(counts.max(), np.finfo(float).tiny)
        counts[-1] = 1.0
    totals = np.bincount(symbol, counts[:-1], len(rules.n_subtypes))[symbol]
    even = 1.0 / rules.n_subtypes[symbol]
    share = np.append(np.divide(counts[:-1], totals, out=even, where=totals > 0), 1.0)
    return np.bincount(rule, weights * share[rows], len(sizes))


def parser_for(rules: AnnotatedRules, weights: np.ndarray, coarse: np.ndarray) -> Parser:
    """Arrange rules for parsing; `coarse` (n_rules,) are weights without annotations."""
    one = np.ones_like(rules.n_subtypes)
    unannotated = rules._replace(n_subtypes=one, first=np.arange(len(rules.parent) + 1))
    fine = arrays.grammar_of(rules, weights)
    with np.errstate(divide="ignore"):
        logs = fine._replace(weight=np.log(fine.weight))
    layers = np.zeros((2, 2, len(one)), bool)
    layers[0, 0, fine.words.tag] = layers[1, 0, fine.pairs.parent] = True
    for lower, upper in layers:
        upper[:] = lower
        upper[fine.unary.parent[lower[fine.unary.child]]] = True
    return Parser(fine, arrays.grammar_of(unannotated, coarse), logs, *layers)


def all_items(parser: Parser, grammar: AnnotatedGrammar, n: int) -> ChartItems:
    """All items that n words could have."""
    shape = n * (n + 1) // 2, *parser.span_symbols.shape
    keeps = np.broadcast_to(parser.span_symbols, shape).copy()
    ends = np.arange(1, n + 1)
    keeps[ends * (ends - 1) // 2] = parser.word_symbols
    span, is_upper, symbol = np.nonzero(keeps)
    return charts.items_of(grammar.n_subtypes, n, span, is_upper == 1, symbol)


def infer_inside(
    grammar: AnnotatedGrammar, words: np.ndarray, items: ChartItems
) -> SentenceInference:
    """The inside weights of a sentence, and the outside weights of its root."""
    n, reach, chart = len(words), charts.reach_for(grammar, len(words)), charts.chart_of(items)
    chart.inside[:] = _word_weights(grammar, words, items)
    charts.inside(grammar, reach, chart, n)
    return SentenceInference(n, grammar, items, reach, chart, _start_outside(grammar, chart))


def _word_weights(grammar: AnnotatedGrammar, words: np.ndarray, items: ChartItems) -> np.ndarray:
    """Weights of words in the cells of their tags, zeros elsewhere."""
    cells, lexicon, n_symbols = np.zeros(items.first[-1]), grammar.words, len(grammar.n_subtypes)
    for i, word in enumerate(words.tolist()):
        row = items.lower_at[i * (i + 1) // 2 * n_symbols :]
        for r in range(lexicon.first[word], lexicon.first[word + 1]):
            at, size = row[lexicon.tag[r]], grammar.n_subtypes[lexicon.tag[r]]
            if at != arrays.NONE:
                cells[at : at + size] += grammar.weight[lexicon.cell[r] : lexicon.cell[r] + size]
    return cells


def _root_cells(grammar: AnnotatedGrammar, chart: ItemChart) -> list[tuple[slice, np.ndarray]]:
    """The cells of each possible root, and its weights."""
    at = chart.upper_at[-len(grammar.n_subtypes) :][grammar.roots.symbol]
    sizes = grammar.n_subtypes[grammar.roots.symbol]
    return [
        (slice(a, a + size), grammar.weight[cell : cell + size])
        for a, size, cell in zip(at, sizes, grammar.roots.cell, strict=True)
        if a != arrays.NONE
    ]


def _start_outside(grammar: AnnotatedGrammar, chart: ItemChart) -> float:
    """Write the outside weights of the whole sentence; returns log p(words)."""
    roots = _root_cells(grammar, chart)
    total = sum(float(weight @ chart.inside[cells]) for cells, weight in roots)
    if total <= 0:
        return -np.inf
    for cells, weight in roots:
        chart.outside[cells] = weight / total
    return float(np.log(total) + chart.exponent[-1] * np.log(2.0))


def likely_items(parser: Parser, words: np.ndarray, threshold: float) -> ChartItems | None:
    """Items whose posterior without annotations reaches a threshold; None without a tree."""
    coarse = infer_inside(parser.coarse, words, all_items(parser, parser.coarse, len(words)))
    if coarse.log_z == -np.inf:
        return None
    charts.outside(coarse.grammar, coarse.reach, coarse.chart, coarse.n, threshold)
    is_likely, items = coarse.chart.outside > 0, coarse.items
    rows = items.span[is_likely], items.is_upper[is_likely], items.symbol[is_likely]
    return charts.items_of(parser.fine.n_subtypes, len(words), *rows)


def infer(parser: Parser, words: np.ndarray, threshold: float) -> SentenceInference | None:
    """Inside weights with annotations, of likely items or of all; None without a tree."""
    inference = None
    if len(words) and threshold > 0:
        items = likely_items(parser, words, threshold)
        inference = infer_inside(parser.fine, words, items) if items else None
    if len(words) and (inference is None or inference.log_z == -np.inf):
        inference = infer_inside(parser.fine, words, all_items(parser, parser.fine, len(words)))
    return inference if inference and inference.log_z > -np.inf else None


def _max_rule_tree(inference: SentenceInference) -> tuple[BestParts, int]:
    """The tree with the largest product of posteriors of its rules, and its root's cell."""
    grammar, chart, items = inference.grammar, inference.chart, inference.items
    charts.outside(grammar, inference.reach, chart, inference.n, 0.0)
    best, ends = best_parts_for(len(chart.inside)), np.arange(1, inference.n + 1)
    tags = np.isin(items.span, ends * (ends - 1) // 2) & ~items.is_upper
    posterior = np.add.reduceat(chart.inside * chart.outside, items.first[:-1])
    with np.errstate(divide="ignore"):
        best.score[items.first[:-1][tags]] = np.log(posterior[tags])
        max_rule(grammar, inference.reach, chart, best, inference.n)
        roots = [
            (np.log(chart.outside[cells] @ chart.inside[cells]) + best.score[cells.start], cells)
            for cells, _ in _root_cells(grammar, chart)
        ]
    return best, max(roots, key=lambda root: root[0])[1].start


def _heaviest_tree(
    logs: AnnotatedGrammar, words: np.ndarray, inference: SentenceInference
) -> tuple[BestParts, int]:
    """The heaviest annotated tree, and its root's cell."""
    weights = _word_weights(inference.grammar, words, inference.items)
    with np.errstate(divide="ignore"):
        best = best_parts_for(len(weights))._replace(score=np.log(weights))
    viterbi(logs, inference.reach, inference.chart, best, inference.n)
    roots = [
        (score, cells.start + x)
        for cells, weight in _root_cells(logs, inference.chart)
        for x, score in enumerate((best.score[cells] + weight).tolist())
    ]
    return best, max(roots, key=lambda root: root[0])[1]


def _nodes_below(inference: SentenceInference, best: BestParts, top: int) -> np.ndarray:
    """Symbols, begins and ends of the nodes below a cell, shape (3, n_nodes)."""
    ends = np.repeat(np.arange(1, inference.n + 1), np.arange(1, inference.n + 1))
    nodes, waiting = [], [top]
    while waiting:
        cell = waiting.pop()
        left, right = int(best.left[cell]), int(best.right[cell])
        if right != SAME:
            item = np.searchsorted(inference.items.first, cell, "right") - 1
            span, symbol = inference.items.span[item], inference.items.symbol[item]
            end = ends[span]
            nodes.append((symbol, end - 1 - (span - end * (end - 1) // 2), end))
        waiting += [part for part in (right, left) if part >= 0]
    return np.array(nodes).T


def _best_tree(parser: Parser, words: np.ndarray, threshold: float, decoding: str) -> np.ndarray:
    """Symbols, begins and ends of a sentence's nodes, shape (3, n_nodes)."""
    inference = infer(parser, words, threshold)
    if inference is None:
        return np.empty((3, 0), np.int64)
    if decoding == "viterbi":
        return _nodes_below(inference, *_heaviest_tree(parser.log_fine, words, inference))
    return _nodes_below(inference, *_max_rule_tree(inference))


def _log_likelihood(parser: Parser, words: np.ndarray) -> float:
    """log p(words), -inf without a tree."""
    inference = infer(parser, words, 0.0)
    return -np.inf if inference is None else inference.log_z


def parse(
    rules: AnnotatedRules,
    weights: np.ndarray,
    tokens: np.ndarray,
    starts: np.ndarray,
    *,
    decoding: str = "max-rule",
    coarse: np.ndarray | None = None,
    threshold: float = 1e-5,
    n_jobs: int | None = None,
) -> Parses:
    """The best trees of sentences."""
    if coarse is None:
        coarse = coarse_weights(rules, weights)

    def tree(parser: Parser, words: np.ndarray) -> np.ndarray:
        return _best_tree(parser, words, threshold, decoding)

    trees = _map_sentences(tree, (rules, weights, coarse), tokens, starts, n_jobs)
    ends = np.cumsum([0, *(nodes.shape[1] for nodes in trees)])
    return Parses(ends, *np.concatenate([np.empty((3, 0), np.int64), *trees], axis=1))


def log_likelihoods(
    rules: AnnotatedRules,
    weights: np.ndarray,
    tokens: np.ndarray,
    starts: np.ndarray,
    *,
    n_jobs: int | None = None,
) -> np.ndarray:
    """log p(words) of sentences, over all trees and annotations."""
    even = np.ones(len(rules.parent))
    return np.array(_map_sentences(_log_likelihood, (rules, weights, even), tokens, starts, n_jobs))


def _map_sentences(
    work: Callable[[Parser, np.ndarray], _Result],
    grammar: tuple[AnnotatedRules, np.ndarray, np.ndarray],
    tokens: np.ndarray,
    starts: np.ndarray,
    n_jobs: int | None,
) -> list[_Result]:
    """`work(parser, words)` of each sentence, on threads."""
    if len(starts) == 1:
        return []
    parser = parser_for(*grammar)
    i = int(np.diff(starts).argmax())
    n = int(starts[i + 1] - starts[i])
    # Of each span two places of every symbol, and two weights in either layer.
    n_items = n * (n + 1) / 2 * len(parser.word_symbols[0])
    n_splits = n_items * n / 3 * len(parser.coarse.pairs.left) / len(parser.word_symbols[0])
    check_sample(f"sentence {i}", f"{n:,} words", 48 * n_items, n_splits)
    tokens, n_sentences = np.ascontiguousarray(tokens, np.int64), len(starts) - 1
    results: list[Any] = [None] * n_sentences
    n_threads = max(1, min(effective_n_jobs(n_jobs), n_sentences))

    def run(offset: int) -> None:
        for i in range(offset, n_sentences, n_threads):
            results[i] = work(parser, tokens[starts[i] : starts[i + 1]])

    on_threads(run, [(offset,) for offset in range(n_threads)], n_jobs)
    return results


# Sentences and binarised trees drawn from the root outwards


class AncestralSampler:
    """Draws rules of annotated left-hand sides by their weights."""

    def __init__(self, layout: TreebankLayout, weights: np.ndarray) -> None:
        order = np.argsort(layout.row, kind="stable")
        bounds = np.searchsorted(layout.row[order], np.arange(1, len(layout.sizes)))
        self.cells: list[np.ndarray] = np.split(order, bounds)
        self.levels: list[np.ndarray] = [
            np.cumsum(part) for part in np.split(weights[order], bounds)
        ]
        self.rules: AnnotatedRules = layout.rules
        self.before: np.ndarray = np.cumsum(layout.rules.n_subtypes) - layout.rules.n_subtypes

    def draw_root(self, rng: np.random.RandomState) -> tuple[int, int]:
        """A symbol and its subtype."""
        rule, _, x, _ = self._draw(len(self.cells) - 1, rng)
        return int(self.rules.left[rule]), x

    def draw_children(
        self, symbol: int, subtype: int, rng: np.random.RandomState
    ) -> tuple[int, list[tuple[int, int]]]:
        """A word and no children, or -1 and children with their subtypes."""
        rule, _, y, z = self._draw(int(self.before[symbol]) + subtype, rng)
        left, right = int(self.rules.left[rule]), int(self.rules.right[rule])
        if rule >= self.rules.begin[3]:
            return left, []
        return arrays.NONE, [(left, y)] if right == arrays.NONE else [(left, y), (right, z)]

    def _draw(self, row: int, rng: np.random.RandomState) -> tuple[int, int, int, int]:
        """A rule, and the subtypes of its parent and children."""
        levels = self.levels[row]
        place = np.searchsorted(levels, rng.random_sample() * levels[-1], side="right")
        # A product with a tiny total may round up to it.
        cell = self.cells[row][min(place, np.searchsorted(levels, levels[-1]))]
        rule = int(np.searchsorted(self.rules.first, cell, side="right")) - 1
        return (rule, *_subtypes(self.rules, rule, int(cell)))


def _subtypes(rules: AnnotatedRules, rule: int, cell: int) -> tuple[int, int, int]:
    """Subtypes of the parent and the children of a cell of a rule; 0 where there is none."""
    left, right = rules.left[rule], rules.right[rule]
    n_left = 1 if rule >= rules.begin[3] else int(rules.n_subtypes[left])
    n_right = 1 if right == arrays.NONE else int(rules.n_subtypes[right])
    rest, z = divmod(cell - int(rules.first[rule]), n_right)
    return (*divmod(rest, n_left), z)


def sample_parses(
    layout: TreebankLayout,
    weights: np.ndarray,
    n_samples: int,
    longest: int,
    rng: np.random.RandomState,
) -> tuple[list[list[int]], Parses]:
    """Draw trees of at most `longest` words."""
    sampler = AncestralSampler(layout, weights)
    samples = drawn_within(
        lambda: _draw_tree(sampler, longest, rng),
        n_samples,
        longest,
        f"derivations in a row are longer than {longest} words",
        "more trees to learn from",
    )
    ends = np.cumsum([0, *(len(nodes) for _, nodes in samples)])
    nodes = np.array([node for _, nodes in samples for node in nodes], np.int64)
    return [words for words, _ in samples], Parses(ends, *nodes.T)


def _draw_tree(
    sampler: AncestralSampler, longest: int, rng: np.random.RandomState
) -> tuple[list[int], list[tuple[int, int, int]]] | None:
    """Words of one tree, and nodes in pre-order as `Parses` has them; None if it gets too long."""
    words: list[int] = []
    symbols: list[int] = []
    begins: list[int] = []
    ends: list[int] = []
    # Symbols with their subtypes that are still to expand, and nodes that end when these have.
    waiting: list[tuple[int, int]] = [sampler.draw_root(rng)]
    n_open = 1
    while waiting:
        symbol, number = waiting.pop()
        if symbol == arrays.NONE:
            ends[number] = len(words)
            continue
        word, children = sampler.draw_children(symbol, number, rng)
        waiting += [(arrays.NONE, len(symbols)), *reversed(children)]
        symbols.append(symbol)
        begins.append(len(words))
        ends.append(arrays.NONE)
        words += [word] if word != arrays.NONE else []
        n_open += len(children) - 1
        # Every open symbol derives a word or more; unary rules alone might go on and on.
        if len(words) + n_open > longest or len(symbols) > 100 * longest:
            return None
    return words, list(zip(symbols, begins, ends, strict=True))
