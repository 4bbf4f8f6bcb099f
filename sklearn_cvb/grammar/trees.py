"""What is known of trees: nltk.Tree, brackets in a string, or lists of spans."""

from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

import numpy as np

from sklearn_cvb.grammar.grammar import Grammar
from sklearn_cvb.kernels.tree.arrays import Brackets, brackets_of
from sklearn_cvb.reading.corpus import Corpus, as_list, is_missing, known_of, shown

_FORM = (
    "y holds one nltk.Tree, bracketed string or list of spans (begin, end) or (begin, end, label) "
    "per sentence, or None"
)


def brackets_from(
    y: Any, corpus: Corpus, words: list, grammar: Grammar | None, is_numeric: bool
) -> Brackets:
    """What `y` tells of each sentence, in labels of a grammar (None: labels mean nothing).

    Lists of equally many numbers are a 2-D X, too.
    """
    lengths = np.diff(corpus.starts)
    given = known_of(y, lengths, corpus.width, _FORM)
    is_table = corpus.width is not None or (is_numeric and len(set(lengths.tolist())) == 1)
    rows: list[tuple] = []
    for i, known in enumerate(given):
        if is_missing(known) or (is_table and _is_label(known)):
            continue
        here = words[corpus.starts[i] : corpus.starts[i + 1]]
        spans = _spans(known, i, here)
        if any(span[:2] == (0, len(here)) for span in spans):
            # A root below the start symbol leaves it its place.
            start = None if grammar is None else grammar.symbols[grammar.start]
            spans = [*spans, (0, len(here), start)]
        rows.extend((i, *span) for span in spans)
    if not rows:
        return brackets_of(corpus.n_sequences)
    sentence, begin, end, labels = zip(*rows, strict=True)
    return brackets_of(
        corpus.n_sequences, sentence, begin, end, _numbers(labels, sentence, grammar)
    )


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


def _numbers(labels: Sequence, sentences: Iterable, grammar: Grammar | None) -> np.ndarray:
    """Symbols of labels, -1 for any."""
    if grammar is None:
        return np.full(len(labels), -1)
    numbers = {label: number for number, label in enumerate(grammar.symbols)}
    numbers[None] = -1
    wrong = [(label, f"sentence {i}") for label, i in zip(labels, sentences, strict=True)]
    wrong = [pair for pair in wrong if pair[0] not in numbers]
    if wrong:
        raise ValueError(
            f"{len(wrong)} brackets have labels that are no symbols of the grammar: {wrong[:5]}"
        )
    return np.array([numbers[label] for label in labels])
