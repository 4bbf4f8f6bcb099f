"""Grammars and sentences to test tree kernels with, as arrays."""

from functools import cache
from types import SimpleNamespace

import numpy as np
from tree_enumeration import Grammar, derivations

from sklearn_cvb.grammar.inference import (
    draw_sweep,
    engine_for,
    frozen_tally,
    rule_lists_for,
    set_log_weights,
    set_weights,
)
from sklearn_cvb.kernels.tree.arrays import brackets_of, rules_of, terminal_index_of
from sklearn_cvb.kernels.tree.decoding import best_trees_by_lists
from sklearn_cvb.kernels.tree.forests import forest_of
from sklearn_cvb.kernels.tree.tables import dense_rules_of


def arrays_of(grammar, sentences):
    """Rules and lexicon of a grammar and sentences."""
    rules = rules_of(grammar.n_symbols, grammar.start, grammar.binary, grammar.unary)
    found = [
        (i, begin, begin + len(text), symbol, cell)
        for i, words in enumerate(sentences)
        for symbol, text, cell in grammar.lexical
        for begin in range(len(words) - len(text) + 1)
        if tuple(words[begin : begin + len(text)]) == tuple(text)
    ]
    lengths = [len(words) for words in sentences]
    lexicon, _ = terminal_index_of(lengths, *np.array(found, np.int64).reshape(-1, 5).T)
    return rules, lexicon


def problem_of(grammar, sentences, engine="lists", brackets=None):
    """Sentences under a grammar, to be inferred by one of the four engines."""
    rules, lexicon = arrays_of(grammar, sentences)
    n, n_cells = len(sentences), len(grammar.theta)
    brackets = brackets_of(n) if brackets is None else brackets
    listing = (rules, lexicon, brackets, n_cells, 10**6)
    return SimpleNamespace(
        layout=SimpleNamespace(rules=rules, lhs=np.zeros(n_cells, np.int32), n_lhs=1),
        lexicon=lexicon,
        brackets=brackets,
        dense=dense_rules_of(rules, lexicon) if engine == "tables" else None,
        forest=forest_of(*listing) if engine == "forest" else None,
        is_factored=engine == "factors",
        corpus=SimpleNamespace(n_sequences=n),
        sentences=np.arange(n),
    )


def weighed(grammar, problem):
    """The engine of a problem by lists or tables, with the grammar's weights."""
    engine = engine_for(problem)
    set_weights(engine.lists, np.asarray(grammar.theta))
    return engine


def logs_of(grammar, problem):
    """A problem's grammar in lists with logs of weights."""
    lists = rule_lists_for(problem)
    with np.errstate(divide="ignore"):
        set_log_weights(lists, np.log(grammar.theta))
    return lists


def best(grammar, problem):
    """The heaviest tree of each sentence by lists, and its log weight."""
    return best_trees_by_lists(logs_of(grammar, problem), problem.sentences)


def drawn(grammar, problem, seed=0):
    """A tree of each sentence from its posterior, and log p(words)."""
    tally = frozen_tally(problem.layout, np.asarray(grammar.theta))
    return draw_sweep(problem, tally, np.random.default_rng(seed))[:2]


# A sentence of one word, an ambiguous one, and one that nothing derives.
AMBIGUOUS = Grammar(
    3,
    [(0, 0, 0, 0), (0, 1, 2, 1), (1, 0, 1, 2), (2, 2, 0, 3)],
    [],
    [(0, ("a",), 4), (1, ("a",), 5), (2, ("b",), 6), (0, ("b",), 7)],
    [0.3, 0.2, 0.4, 0.25, 0.3, 0.6, 0.75, 0.2],
)
# A -> B C D E through helpers 5 and 6, shared with A -> C D E; two-word terminals.
LONG_RULES = Grammar(
    7,
    [(0, 1, 5, 0), (5, 2, 6, -1), (6, 3, 4, -1), (0, 2, 6, 1), (1, 1, 2, 2), (0, 0, 0, 3)],
    [],
    [
        *[(symbol, ("a",), 4 + symbol) for symbol in range(1, 5)],
        (1, ("a", "b"), 9),
        (2, ("b", "a"), 10),
        (2, ("b",), 11),
        (3, ("b",), 12),
        (4, ("a", "a"), 4),
    ],
    [0.4, 0.3, 0.2, 0.3, 0.2, 0.5, 0.4, 0.6, 0.8, 0.3, 0.3, 0.3, 0.4],
)
# Chains without cycles, more than one way down.
CHAINS = Grammar(
    4,
    [(0, 1, 2, 0), (2, 0, 3, 1), (3, 3, 3, 2)],
    [(0, 1, 3), (1, 2, 4), (0, 2, 5), (2, 3, 6)],
    [(0, ("a",), 7), (1, ("a",), 8), (2, ("b",), 9), (3, ("a",), 10), (3, ("b",), 11)],
    [0.4, 0.3, 0.2, 0.2, 0.3, 0.1, 0.4, 0.3, 0.7, 0.3, 0.5, 0.3],
)
# 1 and 2 reach each other, 3 reaches itself; 0 stands above, 3 below.
CYCLES = Grammar(
    4,
    [(0, 1, 2, 0), (1, 3, 0, 1)],
    [(0, 1, 2), (1, 2, 3), (2, 1, 4), (2, 3, 5), (3, 3, 6)],
    [(1, ("a",), 7), (3, ("a",), 8), (3, ("b",), 9), (2, ("b",), 10)],
    [0.6, 0.2, 0.4, 0.1, 0.08, 0.3, 0.06, 0.7, 0.5, 0.44, 0.62],
)
CASES = {
    "chains": (CHAINS, ("a", "b", "a", "b"), 4),
    "one word": (AMBIGUOUS, ("a",), 0),
    "two words": (AMBIGUOUS, ("a", "b"), 0),
    "ambiguous": (AMBIGUOUS, ("a", "b", "a", "a", "b", "a"), 0),
    "long rules": (LONG_RULES, ("a", "b", "a", "b", "a", "a"), 0),
    "cycles, one word": (CYCLES, ("a",), 30),
    "cycles, two words": (CYCLES, ("b", "a"), 17),
}


@cache
def derivations_of(name):
    """The derivations of a case with their weights: enumerated once, to be read only."""
    return derivations(*CASES[name])


def trees_of(trees):
    """Each tree as a tuple of nodes, as the enumeration has them."""
    nodes = zip(*(field.tolist() for field in trees[1:]), strict=True)
    nodes = list(nodes)
    return [tuple(nodes[a:b]) for a, b in zip(trees.starts[:-1], trees.starts[1:], strict=True)]
