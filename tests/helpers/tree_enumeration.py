"""Exact answers for tiny grammars, by enumerating every derivation of a short sentence.

A derivation is a tuple of nodes in pre-order, each (begin, end, symbol, cell, n_children); the cell
of a helper symbol's only rule is -1. Chains of unary rules are followed down to a depth.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np


class Grammar(NamedTuple):
    """A binarised grammar: rules as rows, and a weight for each cell.

    Attributes
    ----------
    n_symbols : int
    binary : list of (parent, left, right, cell)
    unary : list of (upper, lower, cell)
    lexical : list of (symbol, words, cell)
        `words` is a tuple of one or more.
    theta : list of float
        Weight of each cell; rules without a cell (-1) weigh 1.
    start : int, default=0
    """

    n_symbols: int
    binary: list
    unary: list
    lexical: list
    theta: list
    start: int = 0


def random_grammar(rng, n_symbols, n_words, shares=(0.7, 0.3, 0.7), cycles=False):
    """A random grammar, normalised per symbol.

    `shares` say how many of the possible binary, unary and lexical rules there are; lexical ones
    cover one or two words. Unary rules go from lower to higher numbers unless there are `cycles`.
    """
    symbols, words = range(n_symbols), range(n_words)
    binary = [(*rule,) for rule in itertools.product(symbols, repeat=3)]
    unary = [(a, b) for a in symbols for b in symbols if cycles or a < b]
    lexical = [(a, word) for a in symbols for word in [(w,) for w in words]]
    lexical += [(a, word) for a in symbols for word in itertools.product(words, repeat=2)]
    kept = [
        [rule for rule in rules if rng.random() < share or rule[1] == (0,)]
        for rules, share in zip((binary, unary, lexical), shares, strict=True)
    ]
    cells = itertools.count()
    binary, unary, lexical = ([(*rule, next(cells)) for rule in rules] for rules in kept)
    theta = rng.uniform(0.05, 1, next(cells))
    owner = np.array([rule[0] for rule in (*binary, *unary, *lexical)])
    totals = np.bincount(owner, theta, n_symbols)
    return Grammar(n_symbols, binary, unary, lexical, list(theta / totals[owner]))


def weight_of(grammar, cell):
    """Weight of a rule."""
    return 1.0 if cell < 0 else grammar.theta[cell]


def derivations(grammar, words, depth=0, allowed=None):
    """All derivations of the words from the start symbol.

    Parameters
    ----------
    grammar : Grammar
    words : tuple
    depth : int, default=0
        Most unary rules in a chain.
    allowed : callable, default=None
        ``allowed(symbol, begin, end)`` says whether a node may be there.

    Returns
    -------
    dict of tuple to float
        The weight of each derivation, in the order of enumeration.
    """
    known = {}

    def of(symbol, begin, end, depth_left):
        key = symbol, begin, end, depth_left
        if key not in known:
            known[key] = []
            if allowed is None or allowed(symbol, begin, end):
                known[key] = list(ways(symbol, begin, end, depth_left))
        return known[key]

    def ways(symbol, begin, end, depth_left):
        for parent, text, cell in grammar.lexical:
            if parent == symbol and tuple(text) == tuple(words[begin:end]):
                yield ((begin, end, symbol, cell, 0),), weight_of(grammar, cell)
        for upper, lower, cell in grammar.unary if depth_left else ():
            if upper == symbol:
                for tree, weight in of(lower, begin, end, depth_left - 1):
                    node = (begin, end, symbol, cell, 1)
                    yield (node, *tree), weight * weight_of(grammar, cell)
        for parent, left, right, cell in grammar.binary:
            if parent != symbol:
                continue
            for middle in range(begin + 1, end):
                pairs = itertools.product(
                    of(left, begin, middle, depth), of(right, middle, end, depth)
                )
                for (one, one_weight), (other, other_weight) in pairs:
                    weight = weight_of(grammar, cell) * one_weight * other_weight
                    yield ((begin, end, symbol, cell, 2), *one, *other), weight

    return dict(of(grammar.start, 0, len(words), depth))


def total(weights):
    """The summed weight of all derivations."""
    return math.fsum(weights.values())


def expected_counts(grammar, weights):
    """Posterior expected count of each cell, shape (n_cells,)."""
    counts = np.zeros(len(grammar.theta))
    for tree, weight in weights.items():
        for node in tree:
            if node[3] >= 0:
                counts[node[3]] += weight
    return counts / total(weights)


def expected_nodes(weights):
    """Posterior expected number of nodes (begin, end, symbol), and of those highest on a span."""
    nodes, highest, normaliser = {}, {}, total(weights)
    for tree, weight in weights.items():
        above = None
        for node in tree:
            key, span = node[:3], node[:2]
            nodes[key] = nodes.get(key, 0.0) + weight / normaliser
            if span != above:
                highest[key] = highest.get(key, 0.0) + weight / normaliser
            above = span
    return nodes, highest


def best(weights, k=1):
    """The k heaviest derivations with their weights."""
    return sorted(weights.items(), key=lambda item: -item[1])[:k]


def respects(brackets):
    """A condition for `derivations`: brackets (begin, end, symbol or -1), see `Brackets`."""

    def allowed(symbol, begin, end):
        for b, k, _ in brackets:
            if b < begin < k < end or begin < b < end < k:
                return False
        here = {label for b, k, label in brackets if (b, k) == (begin, end)}
        return not here or -1 in here or symbol in here

    return allowed
