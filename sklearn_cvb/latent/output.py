"""Binarised trees to the user's: labels, words and branching as in the treebank."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.corpus import Corpus
from sklearn_cvb.kernels.latent.arrays import Parses
from sklearn_cvb.latent.binarise import Symbol


class Output(NamedTuple):
    """What undoes the binarisation.

    Attributes
    ----------
    symbols : list of Symbol
    paths : dict
        Labels between the two symbols of a unary rule.
    top : label or None
        What stands above each root.
    root : label
        The root of a sentence without a tree.
    """

    symbols: list[Symbol]
    paths: dict
    top: Any
    root: Any


def to_nltk(output: Output, parses: Parses, sentences: list[list]) -> list:
    """Trees in the user's labels.

    Parameters
    ----------
    output : Output
    parses : Parses
    sentences : list of list
        Their words; a sentence without nodes becomes a flat tree.

    Returns
    -------
    list of nltk.Tree
    """
    from nltk import Tree

    columns = [field.tolist() for field in (parses.symbol, parses.begin, parses.end)]
    trees = []
    for words, (first, last) in zip(sentences, pairwise(parses.starts.tolist()), strict=True):
        nodes = list(zip(*(column[first:last] for column in columns), strict=True))
        tree = _tree(output, nodes, words) if nodes else Tree(output.root, list(words))
        trees.append(tree if output.top is None else Tree(output.top, [tree]))
    return trees


def _tree(output: Output, nodes: list[tuple[int, int, int]], words: list) -> Any:
    """One tree from its nodes in pre-order."""
    from nltk import Tree

    # The children of the root, then of each node that is open, with its span and symbol.
    top: list = []
    open_nodes: list[tuple[list, int, int, int]] = [(top, 0, len(words), -1)]
    spans = [*(node[1:] for node in nodes), (len(words), len(words))]
    for number, (symbol, begin, end) in enumerate(nodes):
        while open_nodes[-1][2] <= begin:
            open_nodes.pop()
        children, *span, above = open_nodes[-1]
        name = output.symbols[symbol]
        if name.is_label or above < 0:
            is_only = span == [begin, end]
            for label in output.paths.get((above, symbol), ()) if is_only else ():
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


def to_charts(trees: list, labels: np.ndarray, corpus: Corpus) -> np.ndarray:
    """Trees of a 2-D input as integer charts.

    Parameters
    ----------
    trees : list of nltk.Tree
    labels : ndarray
        All labels.
    corpus : Corpus

    Returns
    -------
    ndarray of shape (n_sentences, width, width + 1), int64
        Cell [i, begin, end] is one more than the number of the label of words[begin:end] (the
        highest, where several), 0 where there is none.
    """
    from sklearn_cvb.pcfg.trees import spans_of

    assert corpus.width is not None, "charts are for a 2-D X"
    number = {label: n for n, label in enumerate(labels.tolist(), 1)}
    charts = np.zeros((len(trees), corpus.width, corpus.width + 1), np.int64)
    for i, tree in enumerate(trees):
        for begin, end, label in reversed(spans_of(tree)):
            charts[i, begin, end] = number[label]
    return charts
