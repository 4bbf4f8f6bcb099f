"""Binarisation: trees to binary rules and numbered nodes, and parses back to trees of the treebank.
Helper symbols stand for the rest of a node's children, and remember sisters before it.

X-bar binarisation to the right, short unary chains. A -> B C D becomes A -> B @A and @A -> C D. A
chain of unary nodes A - B - C becomes A -> C; the path between each such pair is remembered.
"""

from collections import Counter
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.kernels.treebank import arrays
from sklearn_cvb.kernels.treebank.arrays import AnnotatedRules, ObservedTrees, Parses
from sklearn_cvb.reading.corpus import Corpus, sorted_types
from sklearn_cvb.reading.trees import spans_of

_NO_LABELS = np.empty(0, object)


class Symbol(NamedTuple):
    """A symbol of the binarised treebank."""

    label: Any  # a label of the treebank
    # None for the label itself. Else the symbol stands for the rest of a node's children, after
    # these.
    sisters: tuple[Any, ...] | None = None
    # Whether it is the tag of words that stand below a node with this label without one.
    is_bare_tag: bool = False

    def __str__(self) -> str:
        if self.is_bare_tag:
            return f"{self.label}'"
        if self.sisters is None:
            return str(self.label)
        return "@" + "_".join(map(str, (self.label, *self.sisters)))

    @property
    def is_label(self) -> bool:
        """Whether it is a node of the treebank, and nothing that binarisation made."""
        return self.sisters is None and not self.is_bare_tag


class Treebank(NamedTuple):
    """A binarised treebank, before annotation."""

    symbols: list[Any]
    # Rules, as `sklearn_cvb.kernels.treebank.arrays.rules_of` takes them.
    roots: list[Any]
    binary: list[Any]
    unary: list[Any]
    words: list[Any]
    counts: np.ndarray  # (n_rules,), how often each rule is used, in this order
    trees: ObservedTrees  # their symbols are in `rules`
    # For each pair (A, C) of symbols of a unary rule the labels between them, most often.
    unary_paths: dict[Any, Any]
    top_label: Any  # what stands above each tree's root

    def labels(self) -> list[Any]:
        """All labels, sorted."""
        labels = {symbol.label for symbol in self.symbols}.union(*self.unary_paths.values())
        return sorted_types(labels if self.top_label is None else labels | {self.top_label})

    def rules(self, n_subtypes: np.ndarray) -> AnnotatedRules:
        """The rules, laid out for so many subtypes of each symbol."""
        return arrays.rules_of(n_subtypes, self.roots, self.binary, self.unary, self.words)


# Kinds of rules, in the order of `AnnotatedRules`.
_ROOT, _BINARY, _UNARY, _WORD = range(4)


class _TreeNumbering:
    """Numbers symbols and rules in the order in which trees use them."""

    def __init__(self, words: list[int], horizontal: int | None) -> None:
        self.words = iter(words)
        self.horizontal = horizontal
        self.symbols: dict[Symbol, int] = {}
        self.names: list[Symbol] = []
        self.rules: tuple[dict[Any, Any], ...] = ({}, {}, {}, {})
        self.unary_paths: dict[tuple[int, int], Counter[Any]] = {}
        # Kind, rule and children of all nodes.
        self.nodes: list[tuple[int, int, int, int]] = []

    def symbol_number(self, *fields: Any) -> int:
        """The number of a symbol."""
        name = Symbol(*fields)
        number = self.symbols.setdefault(name, len(self.names))
        if number == len(self.names):
            self.names.append(name)
        return number

    def rule_number(self, kind: int, key: Any) -> int:
        """The number of a rule among those of its kind."""
        return self.rules[kind].setdefault(key, len(self.rules[kind]))

    def add_node(
        self, kind: int, key: tuple[Any, ...], left: int = arrays.NONE, right: int = arrays.NONE
    ) -> tuple[int, int]:
        """Add a node; its symbol and number."""
        self.nodes.append((kind, self.rule_number(kind, key), left, right))
        return key[0], len(self.nodes) - 1

    def add_word(self, symbol: int) -> tuple[int, int]:
        """Add the tag of the next word."""
        return self.add_node(_WORD, (symbol, next(self.words)))

    def add_tree(self, tree: Any) -> tuple[int, int]:
        """Add all nodes of a tree, children first."""
        labels = [tree.label()]
        while len(tree) == 1 and hasattr(tree[0], "label"):
            tree = tree[0]
            labels.append(tree.label())
        below = labels[-1]
        if len(tree) == 1:
            node = self.add_word(self.symbol_number(below))
        else:
            children = [
                self.add_tree(child)
                if hasattr(child, "label")
                else self.add_word(self.symbol_number(below, None, True))
                for child in tree
            ]
            node = self.add_branching_node(below, children)
        if labels[0] == below:
            return node
        top = self.symbol_number(labels[0])
        between = tuple(b for a, b in pairwise(labels) if a != b)[:-1]
        self.unary_paths.setdefault((top, node[0]), Counter())[between] += 1
        return self.add_node(_UNARY, (top, node[0]), node[1])

    def add_branching_node(self, label: Any, children: list[tuple[int, int]]) -> tuple[int, int]:
        """Add a node with two children or more, and what binarisation puts between."""
        parents = [self.symbol_number(label)]
        for n in range(1, len(children) - 1):
            begin = 0 if self.horizontal is None else max(0, n - self.horizontal)
            sisters = tuple(str(self.names[symbol]) for symbol, _ in children[begin:n])
            parents.append(self.symbol_number(label, sisters))
        node = children[-1]
        for parent, child in zip(reversed(parents), reversed(children[:-1]), strict=True):
            node = self.add_node(_BINARY, (parent, child[0], node[0]), child[1], node[1])
        return node


def binarise(trees: list[Any], words: list[int], top: Any, horizontal: int | None) -> Treebank:
    """Number the symbols, rules and nodes of trees, whose leaves have these numbers."""
    reader, starts, root_rules = _TreeNumbering(words, horizontal), [0], []
    for tree in trees:
        root_rules.append(reader.rule_number(_ROOT, reader.add_tree(tree)[0]))
        starts.append(len(reader.nodes))
    begin = np.cumsum([0, *map(len, reader.rules)])
    kind, rule, left, right = np.array(reader.nodes, np.int64).T
    rule = rule + begin[kind]
    root = np.array(root_rules, np.int64)
    counts = np.bincount(np.concatenate([root, rule]), minlength=begin[-1])
    trees_read = ObservedTrees(np.array(starts, np.int64), rule, left.copy(), right.copy(), root)
    paths = {pair: seen.most_common(1)[0][0] for pair, seen in reader.unary_paths.items()}
    roots, binary, unary, words_of_tags = map(list, reader.rules)
    rules = roots, binary, unary, words_of_tags
    return Treebank(reader.names, *rules, counts.astype(np.float64), trees_read, paths, top)


# Back: labels, words and branching as in the treebank


class Debinarisation(NamedTuple):
    """What turns parses back into trees of the treebank: symbols, labels between, top and root."""

    symbols: list[Symbol]
    unary_paths: dict[Any, Any]  # labels between the two symbols of a unary rule
    top_label: Any  # what stands above each root
    default_root: Any  # the root of a sentence without a tree
    labels: np.ndarray = _NO_LABELS  # all labels, as charts number them


def to_nltk(output: Debinarisation, parses: Parses, sentences: list[list[Any]]) -> list[Any]:
    """Trees in the user's labels; a sentence without nodes becomes a flat tree."""
    from nltk import Tree

    columns = [field.tolist() for field in (parses.symbol, parses.begin, parses.end)]
    trees = []
    for words, (first, last) in zip(sentences, pairwise(parses.starts.tolist()), strict=True):
        nodes = list(zip(*(column[first:last] for column in columns), strict=True))
        tree = _nltk_tree(output, nodes, words) if nodes else Tree(output.default_root, list(words))
        trees.append(tree if output.top_label is None else Tree(output.top_label, [tree]))
    return trees


def _nltk_tree(output: Debinarisation, nodes: list[tuple[int, int, int]], words: list[Any]) -> Any:
    """One tree from its nodes in pre-order."""
    from nltk import Tree

    # The children of the root, then of each node that is open, with its span and symbol.
    top: list[Any] = []
    open_nodes: list[tuple[list[Any], int, int, int]] = [(top, 0, len(words), -1)]
    spans = [*(node[1:] for node in nodes), (len(words), len(words))]
    for number, (symbol, begin, end) in enumerate(nodes):
        while open_nodes[-1][2] <= begin:
            open_nodes.pop()
        children, *span, above = open_nodes[-1]
        name = output.symbols[symbol]
        if name.is_label or above < 0:
            is_only = span == [begin, end]
            for label in output.unary_paths.get((above, symbol), ()) if is_only else ():
                between = Tree(label, [])
                children.append(between)
                children = between
            node = Tree(name.label, [])
            children.append(node)
            children = node
        if spans[number + 1][0] >= end:
            children.extend(words[begin:end])
        open_nodes.append((children, begin, end, symbol))
    return top[0]


def to_charts(trees: list[Any], output: Debinarisation, corpus: Corpus) -> np.ndarray:
    """Trees of a 2-D input as charts of integers, by sentence, begin and end.

    One more than the number of the label (the highest, where several), 0 where there is none.
    """
    assert corpus.width is not None, "charts are for a 2-D X"
    number = {label: n for n, label in enumerate(output.labels.tolist(), 1)}
    charts = np.zeros((len(trees), corpus.width, corpus.width + 1), np.int64)
    for i, tree in enumerate(trees):
        for begin, end, label in reversed(spans_of(tree)):
            charts[i, begin, end] = number[label]
    return charts
