"""Trees in and out: derivations to nltk.Tree or integer charts, known trees to brackets."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np

from sklearn_cvb.containers import as_list, known_of, shown
from sklearn_cvb.corpus import Corpus, is_missing
from sklearn_cvb.kernels.tree.arrays import Brackets, Trees, brackets_of
from sklearn_cvb.pcfg.layout import Layout

_FORM = (
    "y holds one nltk.Tree, bracketed string or list of spans (begin, end) or (begin, end, label) "
    "per sentence, or None"
)


def joined(parts: list[Trees]) -> Trees:
    """Derivations of several calls, one after the other."""
    sizes = np.concatenate([np.diff(trees.starts) for trees in parts])
    fields = (np.concatenate(field) for field in zip(*(trees[1:] for trees in parts), strict=True))
    return Trees(np.concatenate([[0], np.cumsum(sizes)]), *fields)


def sentences_of(corpus: Corpus, words: list) -> list[list]:
    """The words of each sentence."""
    return [words[a:b] for a, b in pairwise(corpus.starts.tolist())]


def to_nltk(layout: Layout, trees: Trees, sentences: Iterable) -> list:
    """Derivations as trees in the user's symbols; binarisation is undone.

    Parameters
    ----------
    layout : Layout
    trees : Trees
    sentences : list of list
        Their words; a sentence without derivation becomes a flat tree below the start symbol.

    Returns
    -------
    list of nltk.Tree
    """
    from nltk import Tree

    labels = layout.grammar.symbols
    fields = [field.tolist() for field in (*trees[1:4], trees.n_children)]
    starts = trees.starts.tolist()
    result = []
    for i, words in enumerate(sentences):
        steps = zip(*(field[starts[i] : starts[i + 1]] for field in fields), strict=True)
        open_nodes: list[list] = []
        root = None
        for begin, end, symbol, n_children in steps:
            while open_nodes and open_nodes[-1][1] == 0:
                open_nodes.pop()
            above = open_nodes[-1] if open_nodes else None
            if above is not None:
                above[1] -= 1
            if symbol < layout.n_shown:
                node = Tree(labels[symbol], [])
                if above is not None:
                    above[0].append(node)
                root = node if root is None else root
            else:
                assert above is not None, "the root is a symbol that is shown"
                node = above[0]  # the children of a helper or a part are its parent's
            if n_children:
                open_nodes.append([node, n_children])
            else:
                node.extend(words[begin:end])
        result.append(Tree(labels[layout.grammar.start], list(words)) if root is None else root)
    return result


def to_charts(layout: Layout, trees: Trees, corpus: Corpus) -> np.ndarray:
    """Derivations of a 2-D input as integer charts.

    Parameters
    ----------
    layout : Layout
    trees : Trees
    corpus : Corpus

    Returns
    -------
    ndarray of shape (n_sentences, width, width + 1), int64
        Cell [i, begin, end] is one more than the number of the label of words[begin:end] (the
        highest, where several), 0 where there is none.
    """
    assert corpus.width is not None, "charts are for a 2-D X"
    charts = np.zeros((corpus.n_sequences, corpus.width, corpus.width + 1), np.int64)
    sentence = np.repeat(np.arange(corpus.n_sequences), np.diff(trees.starts))
    # Backwards, so that of a span's labels the first in pre-order is written last.
    ours = np.flatnonzero(trees.symbol < layout.n_shown)[::-1]
    place = sentence[ours], trees.begin[ours], trees.end[ours]
    charts[place] = trees.symbol[ours] + 1
    flat = np.flatnonzero(np.diff(trees.starts) == 0)
    charts[flat, 0, np.diff(corpus.starts)[flat]] = layout.grammar.start + 1
    return charts


def brackets_from(
    y: Any, corpus: Corpus, words: list, layout: Layout | None, numeric: bool
) -> Brackets:
    """Read what is known of trees.

    Parameters
    ----------
    y : sequence or None
        Per sentence an nltk.Tree, a string of brackets, a list of spans, or None.
    corpus : Corpus
    words : list
        All tokens.
    layout : Layout
        Its labels are those that brackets may have; None: labels are ignored.
    numeric : bool
        Whether the tokens are numbers: then lists of equally many are a 2-D array too.

    Returns
    -------
    Brackets

    Raises
    ------
    TypeError
        If an element of y is nothing of that kind.
    ValueError
        If lengths differ, spans lie outside the sentence, or a label is no symbol.
    """
    if y is None:
        return brackets_of(corpus.n_sequences)
    lengths = np.diff(corpus.starts)
    given = known_of(y, lengths, corpus.width, _FORM)
    is_table = corpus.width is not None or (numeric and len(set(lengths.tolist())) == 1)
    rows: list[tuple] = []
    for i, known in enumerate(given):
        if is_missing(known) or (is_table and _is_label(known)):
            continue
        here = words[corpus.starts[i] : corpus.starts[i + 1]]
        spans = _spans(known, i, here)
        if any(span[:2] == (0, len(here)) for span in spans):
            # A root below the start symbol leaves it its place.
            start = None if layout is None else layout.grammar.symbols[layout.grammar.start]
            spans = [*spans, (0, len(here), start)]
        rows.extend((i, *span) for span in spans)
    if not rows:
        return brackets_of(corpus.n_sequences)
    sentence, begin, end, labels = zip(*rows, strict=True)
    return brackets_of(corpus.n_sequences, sentence, begin, end, _numbers(labels, sentence, layout))


def _is_label(value: Any) -> bool:
    """Whether y holds class labels, one or several: they say nothing of trees."""
    if isinstance(value, str):
        return not value.lstrip().startswith("(")
    if np.isscalar(value):
        return True
    values = None if hasattr(value, "label") else as_list(value)
    return values is not None and all(map(np.isscalar, values))


def _spans(known: Any, i: int, words: Sequence) -> list[tuple]:
    """Spans (begin, end, label or None) of a tree, brackets in a string, or a list of spans."""
    from nltk import Tree

    if isinstance(known, str) and known.lstrip().startswith("("):
        try:
            known = Tree.fromstring(known)
        except ValueError as error:
            raise ValueError(f"y[{i}] is no tree in brackets: {error}") from None
    if isinstance(known, Tree):
        leaves = known.leaves()
        if len(leaves) != len(words):
            raise ValueError(
                f"sentence {i} has {len(words)} tokens but y[{i}] has {len(leaves)} leaves"
            )
        for leaf, word in zip(leaves, words, strict=True):
            if leaf != word and str(leaf) != str(word):
                raise ValueError(f"y[{i}] has the leaf {leaf!r} where sentence {i} has {word!r}")
        return spans_of(known)
    spans = as_list(known)
    if spans is None:
        raise TypeError(f"y[{i}] is {shown(known)}: {_FORM}")
    return [_span(span, i, len(words)) for span in spans]


def _span(span: Any, i: int, n_words: int) -> tuple:
    """One span of sentence `i` as (begin, end, label or None)."""
    parts = as_list(span)
    if parts is None or len(parts) not in (2, 3) or not all(map(_is_place, parts[:2])):
        raise TypeError(f"y[{i}] holds {shown(span)}: {_FORM}")
    begin, end = int(parts[0]), int(parts[1])
    if not 0 <= begin < end <= n_words:
        raise ValueError(f"y[{i}] holds {shown(span)}, but sentence {i} has {n_words} tokens")
    return begin, end, parts[2] if len(parts) == 3 else None


def _is_place(value: Any) -> bool:
    return isinstance(value, Real) and value == value // 1


def spans_of(tree: Any) -> list[tuple]:
    """Spans (begin, end, label) of all nodes of an nltk.Tree, in pre-order."""
    spans: list[tuple] = []

    def visit(node: Any, begin: int) -> int:
        if not hasattr(node, "label"):
            return begin + 1
        place = len(spans)
        spans.append(())
        end = begin
        for child in node:
            end = visit(child, end)
        spans[place] = (begin, end, node.label())
        return end

    visit(tree, 0)
    return spans


def _numbers(labels: Sequence, sentences: Iterable, layout: Layout | None) -> np.ndarray:
    """Symbols of labels, -1 for any."""
    if layout is None:
        return np.full(len(labels), -1)
    numbers = {label: number for number, label in enumerate(layout.grammar.symbols)}
    numbers[None] = -1
    wrong = [(label, f"sentence {i}") for label, i in zip(labels, sentences, strict=True)]
    wrong = [pair for pair in wrong if pair[0] not in numbers]
    if wrong:
        raise ValueError(
            f"{len(wrong)} brackets have labels that are no symbols of the grammar: {wrong[:5]}"
        )
    return np.array([numbers[label] for label in labels])
