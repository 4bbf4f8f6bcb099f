"""Grammars in plain Python: all trees of short sentences, and what they weigh.

Rules are taken as users write them: right-hand sides of any length, no binarisation. A tree is the
tuple of its rules in pre-order; F[i] holds how often each tree of sentence i uses each rule.
"""

import itertools

import numpy as np
from scipy.special import gammaln, logsumexp, xlogy

from sklearn_cvb.grammar.grammar import TerminalRun


def all_trees(grammar, words, depth=3):
    """All trees of the words as tuples of rule numbers; at most `depth` unary rules in a row."""
    memory = {}

    def symbol_trees(symbol, begin, end, left):
        key = symbol, begin, end, left
        if key not in memory:
            memory[key] = [
                (number, *below)
                for number, rule in enumerate(grammar.rules)
                if rule.parent == symbol
                for below in side_trees(rule.right, begin, end, left)
            ]
        return memory[key]

    def side_trees(right, begin, end, left):
        item = right[0]
        if isinstance(item, TerminalRun):
            stop = begin + len(item)
            if tuple(words[begin:stop]) != tuple(item):
                return []
            if len(right) == 1:
                return [()] if stop == end else []
            return side_trees(right[1:], stop, end, depth) if stop < end else []
        if len(right) == 1:
            return symbol_trees(item, begin, end, left - 1) if left else []
        return [
            one + other
            for middle in range(begin + 1, end)
            for one in symbol_trees(item, begin, middle, depth)
            for other in last_trees(right[1:], middle, end)
        ]

    def last_trees(right, begin, end):
        if len(right) == 1 and not isinstance(right[0], TerminalRun):
            return symbol_trees(right[0], begin, end, depth)
        return side_trees(right, begin, end, depth)

    return symbol_trees(grammar.start, 0, len(words), depth)


def frequencies(grammar, sentences, depth=3):
    """F: for each sentence an array (n_trees, n_rules)."""
    tables = []
    for words in sentences:
        trees = all_trees(grammar, words, depth)
        table = np.zeros((len(trees), len(grammar.rules)))
        for row, tree in zip(table, trees, strict=True):
            np.add.at(row, list(tree), 1.0)
        tables.append(table)
    return tables


def owners(grammar):
    """Left-hand side of each rule."""
    return np.array([rule.parent for rule in grammar.rules])


def by_owner(grammar, cells):
    """The sum over the rules with the same left-hand side, one for each rule."""
    owner = owners(grammar)
    return np.bincount(owner, cells)[owner]


def normalised(grammar, cells):
    """Cells divided by the sum of their left-hand side."""
    return cells / by_owner(grammar, cells)


def posterior(table, theta):
    """Probability of each tree of a sentence, and log Z."""
    scores = xlogy(table, theta).sum(axis=1)
    log_z = logsumexp(scores)
    return np.exp(scores - log_z), log_z


def expected(tables, theta):
    """Expected counts of each sentence, and the log normalisers."""
    pairs = [posterior(table, theta) for table in tables]
    counts = [share @ table for (share, _), table in zip(pairs, tables, strict=True)]
    return counts, np.array([log_z for _, log_z in pairs])


def log_joint(grammar, counts, alpha):
    """log p(trees) with the probabilities integrated out (eq. 4)."""
    owner, prior = owners(grammar), np.full(len(grammar.rules), alpha)
    value = np.sum(gammaln(counts + prior) - gammaln(prior))
    return value + np.sum(
        gammaln(np.bincount(owner, prior)) - gammaln(np.bincount(owner, counts + prior))
    )


def joint_posterior(grammar, tables, alpha):
    """Exact probabilities of all combinations of trees (a dict), and the log evidence."""
    combinations = list(itertools.product(*(range(len(table)) for table in tables)))
    logs = np.array(
        [
            log_joint(
                grammar, sum(table[k] for table, k in zip(tables, choice, strict=True)), alpha
            )
            for choice in combinations
        ]
    )
    evidence = logsumexp(logs)
    return dict(zip(combinations, np.exp(logs - evidence), strict=True)), evidence
