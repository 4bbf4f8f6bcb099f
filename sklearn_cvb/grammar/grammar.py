"""Grammars as users write them: from text, NLTK, a treebank, or all rules over a vocabulary."""

import re
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, product
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from sklearn_cvb.reading.corpus import as_list, samples_of, short_repr, tokens_of
from sklearn_cvb.reading.saved_values import SavesAttributes

# NLTK needs a second for so many rules, and half a gigabyte.
MOST_RULES = 2**18
# The terminal that stands for every word outside the vocabulary.
UNKNOWN = "<unk>"


class TerminalRun(tuple[Any, ...]):
    """A run of terminals on the right-hand side of a rule."""

    __slots__ = ()


class Rule(NamedTuple):
    """parent -> right: symbols by their number, runs of terminals as `TerminalRun`."""

    parent: int
    right: tuple[Any, ...]


class Grammar(SavesAttributes):
    """A context-free grammar, with probabilities or without.

    Right-hand sides may have any length and mix symbols with words; several words alone are one
    terminal that covers them all. Rules are numbered in the order given; this is the order of
    `PCFGCounts.rule`.

    Parameters
    ----------
    symbols : sequence of hashable
        Labels of the nonterminal symbols.
    start : int
        Number of the start symbol.
    rules : sequence of Rule
        Equal rules are merged.
    probabilities : array-like of shape (n_rules,) or None, default=None
        Sum to 1 over the rules of a symbol.
    fixed : collection, default=()
        Labels of the symbols whose rules keep their probabilities in every fit (see `with_fixed`).

    Attributes
    ----------
    symbols : tuple
    start : int
    rules : list of Rule
    probabilities : ndarray of shape (n_rules,) or None
    fixed : frozenset

    Examples
    --------
    >>> from sklearn_cvb import Grammar
    >>> grammar = Grammar.from_text("S -> S S | 'a' | 'b' 'c'")
    >>> grammar
    Grammar(start='S', 1 symbols, 3 rules)
    >>> print(grammar.to_nltk())
    Grammar with 3 productions (start state = S)
        S -> S S
        S -> 'a'
        S -> 'b' 'c'
    """

    def __init__(
        self,
        symbols: Sequence[Any],
        start: int,
        rules: Sequence[Rule],
        probabilities: ArrayLike | None = None,
        fixed: Collection[Any] = (),
    ) -> None:
        self.symbols: tuple[Any, ...] = tuple(symbols)
        self.start: int = int(start)
        merged: dict[Rule, int] = {}
        for rule in rules:
            merged.setdefault(rule, len(merged))
        self.rules: list[Rule] = list(merged)
        self.probabilities: np.ndarray | None = None
        if probabilities is not None:
            cells = [merged[rule] for rule in rules]
            self.probabilities = np.bincount(cells, probabilities, len(merged))
        self.fixed: frozenset[Any] = frozenset(fixed)
        self._check_fixed()

    def __repr__(self) -> str:
        return (
            f"Grammar(start={self.symbols[self.start]!r}, {len(self.symbols)} symbols, "
            f"{len(self.rules)} rules)"
        )

    @classmethod
    def from_text(cls, text: str, start: str | None = None) -> Self:
        """Read a grammar in NLTK's notation.

        Parameters
        ----------
        text : str
            One left-hand side per line, ``->`` or an arrow, words in quotes, alternatives after
            ``|``; probabilities, if any, in brackets after each alternative.
        start : str or None, default=None
            The start symbol; None for the left-hand side of the first rule.

        Returns
        -------
        Grammar
        """
        import nltk

        weighted = re.search(r"\[\s*\d*\.?\d+\s*\]", text)
        grammar = (nltk.PCFG if weighted else nltk.CFG).fromstring(text.replace("→", "->"))
        return cls.from_nltk(grammar, start)

    @classmethod
    def from_nltk(cls, grammar: Any, start: Any = None) -> Self:
        """Convert an ``nltk.CFG`` or ``nltk.PCFG``.

        Parameters
        ----------
        grammar : nltk.CFG or nltk.PCFG
        start : hashable or None, default=None
            The start symbol; None for that of `grammar`.

        Returns
        -------
        Grammar
        """
        from nltk import Nonterminal

        start = grammar.start().symbol() if start is None else start
        productions = [
            (
                production.lhs().symbol(),
                [
                    (True, item.symbol()) if isinstance(item, Nonterminal) else (False, item)
                    for item in production.rhs()
                ],
            )
            for production in grammar.productions()
        ]
        probabilities = None
        if productions and hasattr(grammar.productions()[0], "prob"):
            probabilities = [production.prob() for production in grammar.productions()]
        return cls(*number_symbols(productions, start), probabilities)

    @classmethod
    def from_trees(cls, trees: Iterable[Any], start: Any = None) -> Self:
        """Read a grammar off trees; its probabilities are relative frequencies.

        Parameters
        ----------
        trees : sequence of nltk.Tree or str
            Trees, or trees in brackets.
        start : hashable or None, default=None
            The start symbol. None for the label of all roots; where roots differ, a new symbol
            ``TOP`` above them.

        Returns
        -------
        Grammar

        Examples
        --------
        >>> from sklearn_cvb import Grammar
        >>> grammar = Grammar.from_trees(["(S (N we) (V ran))", "(S (N we) (V saw) (N it))"])
        >>> print(grammar.to_nltk())
        Grammar with 6 productions (start state = S)
            S -> N V [0.5]
            N -> 'we' [0.666667]
            V -> 'ran' [0.5]
            S -> N V N [0.5]
            V -> 'saw' [0.5]
            N -> 'it' [0.333333]
        """
        trees = [as_tree(tree, i) for i, tree in enumerate(trees)]
        if not trees:
            raise ValueError("no tree to read a grammar off")
        roots = dict.fromkeys(tree.label() for tree in trees)
        if start is None:
            start = next(iter(roots)) if len(roots) == 1 else "TOP"
        counts = rule_counts(trees, start)
        totals: dict[Any, int] = {}
        for (left, _), count in counts.items():
            totals[left] = totals.get(left, 0) + count
        probabilities = [count / totals[left] for (left, _), count in counts.items()]
        return cls(*number_symbols(list(counts), start), probabilities)

    @classmethod
    def full(cls, n_components: int, vocabulary: Iterable[Any]) -> Self:
        """All rules A -> B C and A -> word: nothing is known but the number of symbols.

        Parameters
        ----------
        n_components : int
            Number of symbols. The first is the start symbol ``S``, the others are ``N1``, ``N2``...
        vocabulary : sequence of hashable

        Returns
        -------
        Grammar
        """
        symbols = ["S"] + [f"N{k}" for k in range(1, n_components)]
        numbers = range(n_components)
        terminals = [(TerminalRun((word,)),) for word in vocabulary]
        rules = [
            Rule(parent, right)
            for parent in numbers
            for right in [*product(numbers, numbers), *terminals]
        ]
        return cls(symbols, 0, rules)

    @classmethod
    def independent(cls, n_components: int, vocabulary: Iterable[Any]) -> Self:
        """All rules A -> B C, left and right child independent of each other, and all A -> word.

        A part ``A.left`` derives the left child of A, a part ``A.right`` the right one: A -> A.left
        A.right, A.left -> B, A.right -> C. So p(A -> B C) is p(A -> A.left A.right) p(A.left -> B)
        p(A.right -> C).

        Parameters
        ----------
        n_components : int
            Number of symbols without the parts. The first is the start symbol ``S``, the others are
            ``N1``, ``N2``...
        vocabulary : sequence of hashable

        Returns
        -------
        Grammar
            Its symbols are the n_components symbols, then the left parts, then the right parts.

        Examples
        --------
        >>> from sklearn_cvb import Grammar
        >>> print(Grammar.independent(1, ["a"]).to_nltk())
        Grammar with 4 productions (start state = S)
            S -> S.left S.right
            S -> 'a'
            S.left -> S
            S.right -> S
        """
        n, symbols = n_components, ["S"] + [f"N{k}" for k in range(1, n_components)]
        terminals = [(TerminalRun((word,)),) for word in vocabulary]
        rules = [Rule(a, right) for a in range(n) for right in [(n + a, 2 * n + a), *terminals]]
        rules += [Rule(part, (child,)) for part in range(n, 3 * n) for child in range(n)]
        parts = [f"{symbol}.{side}" for side in ("left", "right") for symbol in symbols]
        return cls(symbols + parts, 0, rules)

    def with_substrings(
        self, symbols: Iterable[Any], X: Iterable[Any], longest: int | None = None
    ) -> "Grammar":
        """Let some symbols derive any piece of the given sequences.

        Parameters
        ----------
        symbols : collection
            Labels of these symbols, which may have no rules yet.
        X : list of sequences
            For morphology: words, as sequences of characters.
        longest : int or None, default=None
            Length of the longest piece; None for any.

        Returns
        -------
        Grammar
            Without probabilities, so that none are fixed.

        Examples
        --------
        >>> from sklearn_cvb import Grammar
        >>> Grammar.from_text("Word -> Word Word | 'a'").with_substrings(["Word"], ["ab", "bc"])
        Grammar(start='Word', 1 symbols, 6 rules)
        """
        pieces = substrings_of(X, longest)
        numbers = {label: number for number, label in enumerate(self.symbols)}
        missing = [label for label in symbols if label not in numbers]
        if missing:
            raise ValueError(f"{missing[:5]} are no symbols of the grammar")
        added = [Rule(numbers[label], (piece,)) for label in symbols for piece in pieces]
        return Grammar(self.symbols, self.start, self.rules + added)

    def with_fixed(self, symbols: Iterable[Any]) -> "Grammar":
        """Let the rules of some symbols keep their probabilities in every fit.

        By whatever algorithm: they have no prior then, and only the rules of the other symbols are
        learned.

        Parameters
        ----------
        symbols : collection
            Labels of these symbols.

        Returns
        -------
        Grammar

        Raises
        ------
        ValueError
            If one is no symbol, or its rules have no probabilities that sum to 1.

        Examples
        --------
        >>> from sklearn_cvb import CVBPCFG, Grammar
        >>> text = '''
        ... S -> S S [0.5] | N [0.5]
        ... N -> 'a' [0.9] | 'b' [0.1]
        ... '''
        >>> known = Grammar.from_text(text).with_fixed(["N"])
        >>> model = CVBPCFG(known, random_state=0).fit([["a", "b"], ["b", "b", "a"], ["b"]])
        >>> [rule.prob() for rule in model.grammar_.productions()][2:]
        [0.9, 0.1]
        """
        return Grammar(self.symbols, self.start, self.rules, self.probabilities, tuple(symbols))

    def _check_fixed(self) -> None:
        foreign = [label for label in self.fixed if label not in self.symbols]
        if foreign:
            raise ValueError(f"{foreign[:5]} are no symbols of the grammar: they cannot be fixed")
        if not self.fixed:
            return
        if self.probabilities is None:
            raise ValueError("a grammar without probabilities has none that can be fixed")
        sums = np.bincount([rule.parent for rule in self.rules], self.probabilities)
        for label in self.fixed:
            total = sums[self.symbols.index(label)]
            if not abs(total - 1.0) < 1e-6:
                raise ValueError(
                    f"the probabilities of the rules of {label!r}, which are fixed, sum to "
                    f"{total:.10g}, not to 1"
                )

    def check(self) -> Self:
        """Raise if the grammar is of no use; `fit` calls this.

        Returns
        -------
        Grammar
            Itself.

        Raises
        ------
        ValueError
            If the start symbol has no rules, a right-hand side is empty, or a symbol has no rules,
            cannot be reached from the start symbol, or derives no words.

        Examples
        --------
        >>> from sklearn_cvb import Grammar
        >>> Grammar.from_text("S -> A 'b'").check()
        Traceback (most recent call last):
            ...
        ValueError: symbols ['A'] (1 in all) are used but have no rules; words stand in quotes
        """
        labels, rules = self.symbols, self.rules
        having = {rule.parent for rule in rules}
        if self.start not in having:
            raise ValueError(f"the start symbol {labels[self.start]!r} has no rules")
        refuse_symbols(
            {rule.parent for rule in rules if not rule.right}, labels, "have an empty rule"
        )
        used = {item for rule in rules for item in rule.right if not isinstance(item, TerminalRun)}
        refuse_symbols(used - having, labels, "are used but have no rules; words stand in quotes")
        unreached = set(range(len(labels))) - reachable_symbols(self.start, rules)
        refuse_symbols(unreached, labels, "cannot be reached from the start symbol")
        endless = having - productive_symbols(rules)
        refuse_symbols(endless, labels, "derive no words: their rules go on for ever")
        return self

    def to_nltk(self, probabilities: ArrayLike | None = None) -> Any:
        """Convert to NLTK.

        Parameters
        ----------
        probabilities : array-like of shape (n_rules,) or None, default=None
            None for those of the grammar.

        Returns
        -------
        nltk.PCFG, or nltk.CFG where there are no probabilities
        """
        import nltk

        if probabilities is None:
            probabilities = self.probabilities
        names = [nltk.Nonterminal(label) for label in self.symbols]
        sides = [(names[rule.parent], right_hand_side(rule.right, names)) for rule in self.rules]
        if probabilities is None:
            return nltk.CFG(names[self.start], [nltk.Production(*side) for side in sides])
        productions = [
            nltk.ProbabilisticProduction(*side, prob=float(probability))
            for side, probability in zip(sides, np.asarray(probabilities), strict=True)
        ]
        return nltk.PCFG(names[self.start], productions)


def grammar_from(given: Any) -> Grammar:
    """A grammar in any form: text, its lines, nltk.CFG, nltk.PCFG, `Grammar`, or trees."""
    if isinstance(given, Grammar):
        return given
    if isinstance(given, str):
        return Grammar.from_text(given)
    if hasattr(given, "productions") and hasattr(given, "start"):
        return Grammar.from_nltk(given)
    trees = as_list(given)
    if trees and all(isinstance(one, str) and re.search("->|→", one) for one in trees):
        return Grammar.from_text("\n".join(trees))
    if trees is None:
        raise TypeError(
            f"grammar is {short_repr(given)}: pass text in NLTK's notation, an nltk.CFG or "
            "nltk.PCFG, a Grammar, or a list of rules or trees"
        )
    return Grammar.from_trees(trees)


# Words, rules and trees


def terminal_words(grammar: Grammar) -> set[Any]:
    """All words of a grammar's terminals."""
    return {
        word
        for rule in grammar.rules
        for item in rule.right
        if isinstance(item, TerminalRun)
        for word in item
    }


def as_tree(tree: Any, i: int = 0) -> Any:
    """An nltk.Tree, also from brackets; ValueError where a node has no children."""
    from nltk import Tree

    if isinstance(tree, str):
        tree = Tree.fromstring(tree)
    if not isinstance(tree, Tree):
        raise TypeError(f"tree {i} is {tree!r} of type {type(tree).__name__}: pass an nltk.Tree")
    for node in tree.subtrees():
        if not len(node):
            raise ValueError(f"tree {i} has a node {node.label()!r} without children")
    return tree


def rule_counts(trees: Iterable[Any], start: Any) -> dict[tuple[Any, ...], int]:
    """How often trees use each rule (label, ((is_symbol, item), ...)); roots hang below `start`."""
    counts: dict[tuple[Any, ...], int] = {}
    for tree in trees:
        if tree.label() != start:
            key = (start, ((True, tree.label()),))
            counts[key] = counts.get(key, 0) + 1
        for node in tree.subtrees():
            right = tuple(
                (True, child.label()) if hasattr(child, "label") else (False, child)
                for child in node
            )
            counts[node.label(), right] = counts.get((node.label(), right), 0) + 1
    return counts


def substrings_of(X: Iterable[Any], longest: int | None) -> dict[TerminalRun, None]:
    """All distinct runs of at most `longest` words (None: any number), in order of appearance."""
    pieces: dict[TerminalRun, None] = {}
    for i, sample in enumerate(samples_of(X)):
        # The characters of a word are its tokens here.
        sequence = sample if isinstance(sample, str) else tuple(tokens_of(sample, f"X[{i}]"))
        for begin in range(len(sequence)):
            stop = len(sequence) if longest is None else min(len(sequence), begin + longest)
            for end in range(begin + 1, stop + 1):
                pieces[TerminalRun(sequence[begin:end])] = None
    return pieces


def right_hand_side(right: tuple[Any, ...], symbols: Sequence[Any]) -> tuple[Any, ...]:
    """A right-hand side with its symbols looked up and its words one by one."""
    parts = (item if isinstance(item, TerminalRun) else (symbols[item],) for item in right)
    return tuple(chain.from_iterable(parts))


def number_symbols(productions: list[Any], start: Any) -> tuple[list[Any], int, list[Rule]]:
    """Symbols, start and rules of (label, [(is_symbol, item), ...]) pairs; start comes first."""
    numbers = {start: 0}
    for left, _ in productions:
        numbers.setdefault(left, len(numbers))
    for _, right in productions:
        for is_symbol, item in right:
            if is_symbol:
                numbers.setdefault(item, len(numbers))
    rules = []
    for left, right in productions:
        items: list[int | TerminalRun] = []
        for is_symbol, item in right:
            if is_symbol:
                items.append(numbers[item])
            elif items and isinstance(items[-1], TerminalRun):
                items[-1] = TerminalRun((*items[-1], item))
            else:
                items.append(TerminalRun((item,)))
        rules.append(Rule(numbers[left], tuple(items)))
    return list(numbers), 0, rules


def refuse_symbols(symbols: set[int], labels: Sequence[Any], words: str) -> None:
    """Raise if there are such symbols."""
    if symbols:
        names = [labels[symbol] for symbol in sorted(symbols)]
        raise ValueError(f"symbols {names[:5]} ({len(names)} in all) {words}")


def reachable_symbols(start: int, rules: Iterable[Rule]) -> set[int]:
    """The symbols that occur in derivations from `start`."""
    below: dict[int, set[int]] = {}
    for rule in rules:
        symbols = [item for item in rule.right if not isinstance(item, TerminalRun)]
        if symbols:
            below.setdefault(rule.parent, set()).update(symbols)
    reached, agenda = {start}, [start]
    while agenda:
        new = below.get(agenda.pop(), set()) - reached
        reached |= new
        agenda.extend(new)
    return reached


def productive_symbols(rules: Iterable[Rule]) -> set[int]:
    """The symbols that derive at least one sequence of words."""
    needs: dict[int, set[frozenset[int]]] = {}
    for rule in rules:
        symbols = frozenset(item for item in rule.right if not isinstance(item, TerminalRun))
        needs.setdefault(rule.parent, set()).add(symbols)
    ready: set[int] = set()
    before = -1
    while before < len(ready):
        before = len(ready)
        ready |= {parent for parent, sides in needs.items() if any(side <= ready for side in sides)}
    return ready


def with_product_rules(grammar: Grammar, probabilities: np.ndarray, n_symbols: int) -> Any:
    """The same language over the symbols that trees show: all products as rules A -> B C."""
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
        sides = {right_hand_side(rule.right, names): probability}
        if len(rule.right) == 2:
            pairs = probability * np.outer(left[a], right[a])
            sides = {(names[b], names[c]): float(pairs[b, c]) for b in range(n) for c in range(n)}
        productions += [
            nltk.ProbabilisticProduction(names[a], side, prob=prob) for side, prob in sides.items()
        ]
    return nltk.PCFG(names[grammar.start], productions)
