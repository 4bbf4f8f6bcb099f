"""How the cost of a grammar with all rules grows: with words and with symbols."""

import numpy as np

from benchmarks import peers
from benchmarks.timing import sample, warmed_up
from benchmarks.trees import N_NARROW, N_WIDE, WORDS, FullGrammar
from sklearn_cvb.grammar.layout import MOST_EDGES
from sklearn_cvb.kernels.tree.forests import (
    expected_counts_by_forest,
    forest_of,
    forest_workspace_for,
)
from sklearn_cvb.kernels.tree.tables import expected_counts_by_tables


def milliseconds(run, n_sentences):
    """Median of processor time per sentence."""
    repeats = warmed_up(run, 0.05)
    return 1e3 * np.median([sample(run, repeats).cpu for _ in range(3)]) / n_sentences


def one_by_one(problem):
    """As `FullGrammar`, sentence after sentence: what CVB needs, whose weights change between."""
    log_z = np.empty(1)

    def run():
        for i in problem.order:
            expected_counts_by_tables(problem.tables, problem.lists, np.array([i]), log_z, True)

    return run


def by_forest(problem):
    """The same through forests, whose making is not timed; None where they would be too large."""
    n_cells = len(problem.theta)
    forest = forest_of(problem.rules, problem.lexicon, problem.free, n_cells, MOST_EDGES)
    if forest is None:
        return None
    weights, work = np.append(problem.theta, 1.0)[forest.cell], forest_workspace_for(forest)
    counts = np.empty(len(forest.cell))
    return lambda: expected_counts_by_forest(forest, weights, work, counts, problem.log_z, True)


def best_tree_by_nltk(problem):
    """NLTK's best tree of the first sentence."""
    from nltk import PCFG, Nonterminal, ProbabilisticProduction
    from nltk.parse import ViterbiParser

    rules, words = problem.rules, problem.tokens[0].tolist()
    left = np.concatenate([rules.upper, rules.parent]).tolist()
    right = [[x] for x in rules.lower.tolist()] + np.stack([rules.left, rules.right], 1).tolist()
    weights = problem.theta[np.concatenate([rules.unary, rules.binary])]
    productions = [
        ProbabilisticProduction(Nonterminal(parent), map(Nonterminal, parts), prob=weight)
        for parent, parts, weight in zip(left, right, weights, strict=True)
    ]
    for symbol, shares in enumerate(problem.terms, 1 + problem.dense.n_wide):
        weights = {str(word): shares[word] for word in set(words)}
        weights["other words"] = 1.0 - sum(weights.values())
        productions += [
            ProbabilisticProduction(Nonterminal(symbol), [word], prob=weight)
            for word, weight in weights.items()
        ]
    parser = ViterbiParser(PCFG(Nonterminal(0), productions))
    return lambda: next(parser.parse(list(map(str, words))))


def milliseconds_at_peak(problem, settings):
    """What a sentence would take if all its arithmetic ran as a large matrix product does."""
    size = 256 if settings.quick else 1024
    product, n_operations = peers.matrix_product(size, size, size)
    return milliseconds(product, 1) * problem.n_operations / n_operations / len(problem.tokens)


def grammar_length(settings):
    """Milliseconds per sentence against its length."""
    large, small = f"{N_WIDE} + {N_NARROW} symbols", "2 + 2 symbols"
    names = [f"{large}, lists", f"{large}, tables", f"{large}, peak of BLAS"]
    names += [f"{small}, NLTK's best tree", f"{small}, lists", f"{small}, forests"]
    lines = {name: [] for name in names}
    for n in (4, 8) if settings.quick else (5, 10, 20, 40, 70, 100):
        n_sentences = max(1, min(16, 400 // n))
        problem = FullGrammar(*((3, 3) if settings.quick else (N_WIDE, N_NARROW)), n, n_sentences)
        lines[names[1]].append((n, milliseconds(problem, n_sentences)))
        lines[names[2]].append((n, milliseconds_at_peak(problem, settings)))
        if n <= 20:
            problem = FullGrammar(problem.dense.n_wide, problem.dense.n_narrow, n, 1)
            lines[names[0]].append((n, milliseconds(problem.by_lists, 1)))
        problem = FullGrammar(2, 2, n, n_sentences)
        if n <= 20:
            lines[names[3]].append((n, milliseconds(best_tree_by_nltk(problem), 1)))
        lines[names[4]].append((n, milliseconds(problem.by_lists, n_sentences)))
        lines[names[5]].append((n, milliseconds(by_forest(problem), n_sentences)))
    return "All rules: inside, outside and counts", "words", "ms per sentence", lines


def grammar_states(settings):
    """Milliseconds per sentence of 20 words against the number of symbols, half of them wide."""
    lines = {"lists": [], "forests": [], "one by one, tables": [], "tables": [], "peak of BLAS": []}
    for k in (2, 4) if settings.quick else (1, 2, 4, 8, 16, 32):
        n = max(1, min(16, 10_000 // k**2))
        problem = FullGrammar(k, k, WORDS, n)
        lines["tables"].append((2 * k, milliseconds(problem, n)))
        lines["one by one, tables"].append((2 * k, milliseconds(one_by_one(problem), n)))
        lines["peak of BLAS"].append((2 * k, milliseconds_at_peak(problem, settings)))
        problem = FullGrammar(k, k, WORDS, 1)
        lines["lists"].append((2 * k, milliseconds(problem.by_lists, 1)))
        if (run := by_forest(problem)) is not None:
            lines["forests"].append((2 * k, milliseconds(run, 1)))
    return (
        f"All rules, {WORDS} words: inside, outside and counts",
        "symbols",
        "ms per sentence",
        lines,
    )
