"""Grammars and sentences to test tree kernels with, as arrays."""

import numpy as np
from tree_enumeration import Grammar

from sklearn_cvb.kernels.tree.arrays import RuleCounts, TreeWeights, lexicon_of, rules_of
from sklearn_cvb.kernels.tree.spans import fill_closure


def arrays_of(grammar, sentences):
    """Rules, weights and lexicon of a grammar and sentences."""
    rules = rules_of(grammar.n_symbols, grammar.start, grammar.binary, grammar.unary)
    found = [
        (i, begin, begin + len(text), symbol, cell)
        for i, words in enumerate(sentences)
        for symbol, text, cell in grammar.lexical
        for begin in range(len(words) - len(text) + 1)
        if tuple(words[begin : begin + len(text)]) == tuple(text)
    ]
    lengths = [len(words) for words in sentences]
    lexicon, _ = lexicon_of(lengths, *np.array(found, np.int64).reshape(-1, 5).T)
    return rules, weights_of(grammar, rules, lexicon), lexicon


def weights_of(grammar, rules, lexicon):
    """Weights of a grammar, the closure included."""
    theta = np.append(grammar.theta, 1.0)
    closure = np.empty(rules.block_first[-1])
    unary = theta[rules.unary]
    assert fill_closure(rules, unary, closure)
    return TreeWeights(theta[rules.binary], unary, closure, theta[lexicon.rule])


def counts_for(rules, lexicon):
    """Counts of zero."""
    sizes = len(rules.binary), len(rules.unary), len(lexicon.rule)
    return RuleCounts(*(np.zeros(size) for size in sizes))


def cells_of(grammar, rules, lexicon, counts):
    """Counts per cell."""
    cells = np.zeros(len(grammar.theta) + 1)
    for where, values in zip((rules.binary, rules.unary, lexicon.rule), counts, strict=True):
        np.add.at(cells, where, values)
    return cells[:-1]


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
    "one word": (AMBIGUOUS, ("a",), 0),
    "two words": (AMBIGUOUS, ("a", "b"), 0),
    "ambiguous": (AMBIGUOUS, ("a", "b", "a", "a", "b", "a"), 0),
    "long rules": (LONG_RULES, ("a", "b", "a", "b", "a", "a"), 0),
    "chains": (CHAINS, ("a", "b", "a", "b"), 4),
    "cycles, one word": (CYCLES, ("a",), 30),
    "cycles, two words": (CYCLES, ("b", "a"), 17),
}


def logs_of(weights):
    """Logs of weights."""
    with np.errstate(divide="ignore"):
        return TreeWeights(*map(np.log, weights))


def trees_of(trees):
    """Each tree as a tuple of nodes, as the enumeration has them."""
    nodes = zip(*(field.tolist() for field in trees[1:]), strict=True)
    nodes = list(nodes)
    return [tuple(nodes[a:b]) for a, b in zip(trees.starts[:-1], trees.starts[1:], strict=True)]
