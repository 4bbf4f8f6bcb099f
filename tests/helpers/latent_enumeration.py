"""All trees of a short sentence under a binarised grammar with subtypes, and what they weigh.

A node is a tuple (rule, symbol, begin, end, children). A symbol without a unary rule above it has
the node `SAME` between its two layers.
"""

from collections import Counter
from itertools import product
from math import prod

import numpy as np

from sklearn_cvb.kernels.treebank.arrays import NONE, rules_of

SAME = -1


def random_rules(rng, n_subtypes, density=0.3, n_words=3):
    """Symbols: 0 and 1 are phrases, 2 is an @-symbol, the others are tags."""
    n = len(n_subtypes)
    tags, phrases = range(3, n), range(2)

    def some(choices, share):
        return [choice for choice in choices if rng.random() < share]

    binary = some(product(range(3), [*phrases, *tags], range(n)), density)
    unary = some(product(phrases, [*phrases, *tags]), density)
    words = some(product(tags, range(n_words)), 0.6)
    words += [(3, w) for w in range(n_words) if w not in {word for _, word in words}]
    return rules_of(n_subtypes, [0, 1], binary, unary, words)


def blocks_of(rules, weights):
    """The weights of each rule as an array, an axis for each symbol."""
    n, blocks = rules.n_subtypes, []
    for r, (parent, left, right) in enumerate(
        zip(rules.parent, rules.left, rules.right, strict=True)
    ):
        symbols = [parent] if r >= rules.begin[3] else [parent, left, right]
        shape = [n[symbol] for symbol in symbols if symbol != NONE]
        blocks.append(weights[rules.first[r] : rules.first[r + 1]].reshape(shape))
    return blocks


def trees_of(rules, words):
    """All trees of a sentence, each as (root rule, node)."""
    rows = list(zip(rules.parent.tolist(), rules.left.tolist(), rules.right.tolist(), strict=True))
    begin, known = rules.begin, {}

    def lower(symbol, i, k):
        if k == i + 1:
            for r in range(begin[3], begin[4]):
                if rows[r][:2] == (symbol, words[i]):
                    yield (r, symbol, i, k, ())
        for r in range(begin[1], begin[2]):
            parent, left, right = rows[r]
            if parent == symbol:
                for j in range(i + 1, k):
                    for pair in product(upper(left, i, j), upper(right, j, k)):
                        yield (r, symbol, i, k, pair)

    def upper(symbol, i, k):
        key = symbol, i, k
        if key not in known:
            known[key] = [(SAME, *key, (node,)) for node in lower(*key)]
            for r in range(begin[2], begin[3]):
                if rows[r][0] == symbol:
                    below = lower(rows[r][1], i, k)
                    known[key] += [(r, *key, (node,)) for node in below]
        return known[key]

    return [(r, node) for r in range(begin[1]) for node in upper(rows[r][1], 0, len(words))]


def weigh(tree, blocks, heaviest=False):
    """The weight of a tree: of all its annotations together, or of the heaviest."""
    add = np.max if heaviest else np.sum

    def below(node):
        rule, _, _, _, children = node
        parts = [below(child) for child in children]
        if rule == SAME:
            return parts[0]
        if not parts:
            return blocks[rule]
        table = blocks[rule]
        for part in reversed(parts):
            table = add(table * part, axis=-1)
        return table

    root, node = tree
    return add(blocks[root] * below(node))


def places_of(tree):
    """The rules of a tree, where they are: (rule, symbol, begin, end, split), and the root's."""

    def walk(node):
        rule, symbol, begin, end, children = node
        split = children[0][3] if len(children) == 2 else None
        yield (rule, symbol, begin, end, split)
        for child in children:
            yield from walk(child)

    return [(tree[0], None, None, None, None), *walk(tree[1])]


def nodes_of(tree):
    """(symbol, begin, end) of the nodes in pre-order."""
    return [place[1:4] for place in places_of(tree)[1:] if place[0] != SAME]


def posteriors(trees, weights):
    """The probability of each rule at each place."""
    shares, total = Counter(), sum(weights)
    for tree, weight in zip(trees, weights, strict=True):
        for place in places_of(tree):
            shares[place] += weight / total
    return shares


def max_rule_score(tree, shares):
    return prod(shares[place] for place in places_of(tree))
