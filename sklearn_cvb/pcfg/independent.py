"""Grammars with independent left and right children, see `Grammar.independent`, written out."""

from typing import Any

import numpy as np

from sklearn_cvb.pcfg.grammar import Grammar
from sklearn_cvb.pcfg.rules import items_of

# NLTK needs a second for so many rules, and half a gigabyte.
MOST_RULES = 2**18


def written_out(grammar: Grammar, probabilities: np.ndarray, n_symbols: int) -> Any:
    """The same language over the symbols that trees show: all products as rules A -> B C.

    Parameters
    ----------
    grammar : Grammar
        Of `Grammar.independent`.
    probabilities : ndarray of shape (n_rules,)
    n_symbols : int
        Number of symbols without their parts.

    Returns
    -------
    nltk.PCFG

    Raises
    ------
    ValueError
        If there are too many rules.
    """
    import nltk

    n = n_symbols
    if n**3 > MOST_RULES:
        raise ValueError(
            f"{n} symbols have {n**3} rules A -> B C when independent rules are written out: read "
            "rules_ and rule_probabilities_, which hold their factors"
        )
    left, right = probabilities[-2 * n * n :].reshape(2, n, n)
    names = [nltk.Nonterminal(label) for label in grammar.symbols]
    productions = []
    for rule, probability in zip(grammar.rules, probabilities.tolist(), strict=True):
        if rule.parent >= n:
            break
        a = rule.parent
        sides = {items_of(rule.right, names): probability}
        if len(rule.right) == 2:
            pairs = probability * np.outer(left[a], right[a])
            sides = {(names[b], names[c]): float(pairs[b, c]) for b in range(n) for c in range(n)}
        productions += [
            nltk.ProbabilisticProduction(names[a], side, prob=prob) for side, prob in sides.items()
        ]
    return nltk.PCFG(names[grammar.start], productions)
