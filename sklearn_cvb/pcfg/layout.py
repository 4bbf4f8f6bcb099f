"""A grammar laid out for the kernels: two symbols at most on the right, and terminals by word."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sklearn_cvb.corpus import Corpus
from sklearn_cvb.kernels.tree.arrays import Lexicon, Rules, rules_of
from sklearn_cvb.pcfg.grammar import Grammar
from sklearn_cvb.pcfg.rules import UNKNOWN, Words


class Layout(NamedTuple):
    """A binarised grammar and its terminals.

    Attributes
    ----------
    grammar : Grammar
        As the user knows it; cell r of all parameter vectors belongs to its rule r.
    rules : Rules
        Symbols beyond those of the grammar are helpers, each with one rule of weight 1.
    lhs : ndarray of shape (n_rules,), int32
        Left-hand side of each rule.
    n_lhs : int
        Number of the grammar's symbols.
    n_shown : int
        How many of them trees show, the first: not the parts of independent rules.
    n_words : int
        Words of the vocabulary; the code of all others is `n_words`.
    first : ndarray of shape (n_texts + 1,), int64
        Where the terminals of each text begin: first the words, then texts of several words.
    symbol, cell : ndarray
        Symbol and cell (-1 at helpers) of the terminals, in the order of `first`.
    several : dict
        Number of each text of several words, by its tuple of codes.
    longest : int
        Length of the longest terminal.
    """

    grammar: Grammar
    rules: Rules
    lhs: np.ndarray
    n_lhs: int
    n_shown: int
    n_words: int
    first: np.ndarray
    symbol: np.ndarray
    cell: np.ndarray
    several: dict
    longest: int

    @property
    def is_factored(self) -> bool:
        """Whether left and right children are independent."""
        return self.n_shown < self.n_lhs

    @property
    def unknown_cells(self) -> np.ndarray:
        """Cells of the rules that derive an unknown word."""
        cells = self.cell[self.first[self.n_words] : self.first[self.n_words + 1]]
        return cells[cells >= 0]


class _Binarised:
    """Rules in two-symbol steps to the right; helpers with the same right-hand side are shared."""

    def __init__(self, grammar: Grammar) -> None:
        self.binary: list[tuple[int, int, int, int]] = []
        self.unary: list[tuple[int, int, int]] = []
        self.lexical: list[tuple[int, Words, int]] = []
        self.helpers: dict[tuple, int] = {}
        self.n_symbols = len(grammar.symbols)
        for cell, (parent, right) in enumerate(grammar.rules):
            self.add(parent, right, cell)

    def add(self, parent: int, right: tuple, cell: int) -> None:
        if len(right) == 1:
            (item,) = right
            if isinstance(item, Words):
                self.lexical.append((parent, item, cell))
            else:
                self.unary.append((parent, item, cell))
        else:
            self.binary.append((parent, self.symbol(right[:1]), self.symbol(right[1:]), cell))

    def symbol(self, right: tuple) -> int:
        """The symbol that derives this part of a right-hand side and nothing else."""
        if len(right) == 1 and not isinstance(right[0], Words):
            return right[0]
        if right not in self.helpers:
            self.helpers[right] = self.n_symbols
            self.n_symbols += 1
            self.add(self.helpers[right], right, -1)
        return self.helpers[right]


def words_of(grammar: Grammar) -> set:
    """All words of a grammar's terminals."""
    return {
        word
        for rule in grammar.rules
        for item in rule.right
        if isinstance(item, Words)
        for word in item
    }


def layout_of(grammar: Grammar, index: dict, n_shown: int | None = None) -> Layout:
    """Lay out a grammar.

    Parameters
    ----------
    grammar : Grammar
    index : dict
        Maps each word of the vocabulary to its code; `UNKNOWN` stands for all others.
    n_shown : int or None, default=None
        How many of its symbols trees show; None for all.

    Returns
    -------
    Layout
    """
    parts, n_words = _Binarised(grammar), len(index)
    codes = index if UNKNOWN in index else {**index, UNKNOWN: n_words}
    several: dict[tuple, int] = {}
    terminals = []
    for symbol, words, cell in parts.lexical:
        key = tuple(map(codes.__getitem__, words))
        text = key[0] if len(key) == 1 else several.setdefault(key, n_words + 1 + len(several))
        terminals.append((text, symbol, cell))
    table = np.array(terminals, np.int64).reshape(-1, 3)
    text, symbol, cell = table[np.lexsort(table.T[::-1])].T
    return Layout(
        grammar,
        rules_of(parts.n_symbols, grammar.start, parts.binary, parts.unary),
        np.array([rule.parent for rule in grammar.rules], np.int32),
        len(grammar.symbols),
        len(grammar.symbols) if n_shown is None else n_shown,
        n_words,
        np.searchsorted(text, np.arange(n_words + 2 + len(several))),
        symbol,
        cell,
        several,
        max(map(len, several), default=1),
    )


def lexicon_for(layout: Layout, corpus: Corpus) -> Lexicon:
    """Occurrences of the grammar's terminals in a corpus.

    Parameters
    ----------
    layout : Layout
    corpus : Corpus
        Without missing tokens.

    Returns
    -------
    Lexicon
    """
    starts = corpus.starts
    text = np.minimum(corpus.tokens, layout.n_words)
    first = np.arange(len(text))
    stop = first + 1
    if layout.several:
        found = np.array(_several(layout, text.tolist(), starts.tolist()), np.int64)
        first, stop, text = np.concatenate([[first, stop, text], found.reshape(-1, 3).T], axis=1)
        order = np.lexsort((-first, stop))
        first, stop, text = first[order], stop[order], text[order]
    sentence = np.searchsorted(starts, first, side="right") - 1
    n_terminals = np.diff(layout.first)[text]
    ends = np.cumsum(n_terminals)
    entry = np.arange(ends[-1]) + np.repeat(layout.first[text] - (ends - n_terminals), n_terminals)
    begin, end = first - starts[sentence], stop - starts[sentence]
    each = np.bincount(sentence, n_terminals, len(starts) - 1)
    return Lexicon(
        np.diff(starts).astype(np.int32),
        np.append(0, np.cumsum(each)).astype(np.int64),
        np.repeat(begin.astype(np.int32), n_terminals),
        np.repeat(end.astype(np.int32), n_terminals),
        layout.symbol[entry].astype(np.int32),
        layout.cell[entry],
    )


def _several(layout: Layout, codes: list[int], starts: list[int]) -> list[tuple[int, int, int]]:
    """Texts of several words: first token, last token plus 1, number."""
    longest, number = layout.longest, layout.several.get
    return [
        (begin, end, text)
        for first, stop in pairwise(starts)
        for begin in range(first, stop)
        for end in range(begin + 2, min(stop, begin + longest) + 1)
        if (text := number(tuple(codes[begin:end]))) is not None
    ]
