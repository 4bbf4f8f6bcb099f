"""Sentences drawn top-down from a grammar with probabilities, and again where they are too long."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sklearn_cvb.grammar.grammar import Grammar, TerminalRun
from sklearn_cvb.reading.corpus import object_array
from sklearn_cvb.reading.sample_sizes import drawn_within


def sample_trees(
    grammar: Grammar,
    probabilities: ArrayLike,
    n_samples: int,
    longest: int,
    rng: np.random.RandomState,
    n_shown: int | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Trees of at most `longest` words, and these; probabilities need not be normalised.

    Raises ValueError if a number is not positive, or nearly all derivations are longer.
    """
    probabilities = np.asarray(probabilities)
    parents = np.array([rule.parent for rule in grammar.rules])
    order = np.argsort(parents, kind="stable")
    choices = np.split(order, np.searchsorted(parents[order], range(1, len(grammar.symbols))))
    levels = [np.cumsum(probabilities[rules]) for rules in choices]
    table = choices, levels, len(grammar.symbols) if n_shown is None else n_shown
    trees = drawn_within(
        lambda: _draw_tree(grammar, table, longest, rng),
        n_samples,
        longest,
        f"derivations in a row are longer than {longest} words",
        "a grammar whose rules end sooner",
    )
    return object_array([tree.leaves() for tree in trees]), object_array(trees)


def without_unknown(grammar: Grammar, probabilities: np.ndarray, unknown: np.ndarray) -> np.ndarray:
    """Probabilities with 0 for the rules of unknown words.

    A symbol that derives nothing without them keeps its own.
    """
    if not len(unknown):
        return probabilities
    known = probabilities.copy()
    known[unknown] = 0.0
    derives = _derives_words(grammar, known)
    parents = np.array([grammar.rules[r].parent for r in unknown.tolist()], dtype=np.intp)
    known[unknown] = np.where(derives[parents], 0.0, probabilities[unknown])
    return known


def _derives_words(grammar: Grammar, probabilities: np.ndarray) -> np.ndarray:
    """Which symbols derive words by rules with a positive probability, (n_symbols,)."""
    derives = np.zeros(len(grammar.symbols), bool)
    rules = [grammar.rules[r] for r in np.flatnonzero(probabilities > 0.0).tolist()]
    n_rules = len(rules) + 1
    while len(rules) < n_rules:
        n_rules, rest = len(rules), []
        for rule in rules:
            if all(isinstance(item, TerminalRun) or derives[item] for item in rule.right):
                derives[rule.parent] = True
            else:
                rest.append(rule)
        rules = rest
    return derives


def _draw_tree(
    grammar: Grammar,
    table: tuple[list[np.ndarray], list[np.ndarray], int],
    longest: int,
    rng: np.random.RandomState,
) -> Any:
    """One tree, None if it gets too long."""
    from nltk import Tree

    choices, levels, n_shown = table
    root = Tree(grammar.symbols[grammar.start], [])
    agenda, n_words, n_steps = [(root, grammar.start)], 0, 0
    while agenda:
        node, symbol = agenda.pop()
        total = levels[symbol][-1]
        place = np.searchsorted(levels[symbol], rng.random_sample() * total, side="right")
        # A product with a tiny total may round up to it.
        last = np.searchsorted(levels[symbol], total)
        rule = grammar.rules[choices[symbol][min(place, last)]]
        below = []
        for item in rule.right:
            if isinstance(item, TerminalRun):
                node.extend(item)
                n_words += len(item)
            elif item < n_shown:
                node.append(Tree(grammar.symbols[item], []))
                below.append((node[-1], item))
            else:
                below.append((node, item))
        agenda.extend(reversed(below))
        n_steps += 1
        # Every open symbol derives a word or more; unary rules alone might go on and on.
        if n_words + len(agenda) > longest or n_steps > 100 * longest:
            return None
    return root
