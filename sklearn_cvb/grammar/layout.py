"""A grammar and sentences laid out for the kernels, known brackets, and which engine infers them: a
forest of all derivations, dense tables, factors, or lists of rules.

A grammar has two symbols at most on the right, and its terminals by word. There are four engines
with the same results:

- A forest lists all derivations of each sentence once, so that a sentence costs what its own rules
  cost, whatever the size of the grammar. Chosen wherever it can be.
- Tables are for grammars with most of all possible rules, where the derivations are too many to
  list: products of matrices, five to ten times as fast as lists with 30 symbols.
- Factors are tables for grammars whose left and right children are independent; with K symbols they
  take a K-th of their time.
- Lists go from rule to rule. They are for what none of these can do: cycles of unary rules, and
  sentences with more derivations than memory holds.

`sklearn_cvb.kernels.tree.engines` infers one sentence by an engine. What float64 loses is
inferred with logs.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.grammar.grammar import UNKNOWN, Grammar, TerminalRun, grammar_from, terminal_words
from sklearn_cvb.kernels.tree.arrays import (
    Brackets,
    TerminalIndex,
    TreeRules,
    brackets_of,
    rules_of,
)
from sklearn_cvb.kernels.tree.forests import Forest, forest_of
from sklearn_cvb.kernels.tree.tables import DenseRules, dense_rules_of, is_full
from sklearn_cvb.learning.dirichlet import DirichletRows
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, KnownWords, Sequences, Vocabulary
from sklearn_cvb.reading.sample_sizes import check_sample
from sklearn_cvb.reading.trees import refuse_deep_tree, refuse_other_leaves, spans_of

# Tables pay where there are this many binary rules, as between eight symbols.
FEWEST_RULES = 8**3
# A forest may take this many edges (100 MB).
MOST_EDGES = 2**23
# And this many where the sentences are inferred only once.
MOST_EDGES_ONCE = 2**18


class GrammarLayout(NamedTuple):
    """A binarised grammar and its terminals."""

    grammar: Grammar  # as the user knows it: cell r of parameter vectors belongs to its rule r
    rules: (
        TreeRules  # symbols beyond those of the grammar are helpers, with one rule of weight 1 each
    )
    lhs: np.ndarray  # (n_rules,), left-hand side of each rule
    n_lhs: int
    n_shown: int  # how many symbols trees show, the first: not the parts of independent rules
    is_given: bool  # a grammar that is not has all rules, and its labels mean nothing
    n_words: int  # of the vocabulary; the code of all others is `n_words`
    terminal_first: np.ndarray  # where the terminals of each text begin: words, then several words
    terminal_symbol: np.ndarray  # of the terminals, in the order of `first`
    terminal_cell: np.ndarray  # of the same; -1 at helpers
    multiword: dict[Any, Any]  # number of each text of several words, by its tuple of codes
    longest_terminal: int  # words of the longest terminal

    def totals(self, cells: np.ndarray) -> np.ndarray:
        """Sums over the rules of each left-hand side."""
        return np.bincount(self.lhs, cells, self.n_lhs)

    def rows(self, counts: np.ndarray, prior: np.ndarray | None = None) -> DirichletRows:
        """The rules of each left-hand side as rows of probabilities; without prior it is 0."""
        prior = np.zeros(len(self.lhs)) if prior is None else prior
        widths = np.bincount(self.lhs, minlength=self.n_lhs)
        totals = self.totals(counts), self.totals(prior)
        return DirichletRows(counts, prior, *totals, self.lhs, widths)

    @property
    def fixed(self) -> np.ndarray:
        """Which rules a fit leaves as they are, (n_rules,) bool."""
        grammar = self.grammar
        is_fixed = np.array([label in grammar.fixed for label in grammar.symbols])
        return is_fixed[self.lhs]

    @property
    def is_factored(self) -> bool:
        """Whether left and right children are independent."""
        return self.n_shown < self.n_lhs

    @property
    def unknown_cells(self) -> np.ndarray:
        """Cells of the rules that derive an unknown word."""
        cells = self.terminal_cell[
            self.terminal_first[self.n_words] : self.terminal_first[self.n_words + 1]
        ]
        return cells[cells >= 0]


class GrammarOptions(NamedTuple):
    """Parameters of a grammar, checked; to read for a fitted one takes the words alone."""

    words: KnownWords = KnownWords(None, "smooth")
    grammar: Any = None  # None: all rules over this many symbols
    n_components: int = 2
    rules: str = "full"
    alpha: Any = 0.1
    allows_zero: bool = False  # whether a concentration may be 0
    init: Any = None  # a word, weights of rules, or a grammar with probabilities
    supervision: str = "y"
    draws_probabilities: bool = False  # before each sample of trees
    temperatures: tuple[float, float] | None = None  # of samplers that anneal
    alternative: str = ""  # what to use where leaving out one giant sentence leaves little


def lay_out(
    options: GrammarOptions, sequences: Sequences | None
) -> tuple[Vocabulary, GrammarLayout]:
    """The vocabulary and the layout of a model; a given grammar has no other words."""
    if options.grammar is None:
        assert sequences is not None, "they have the words"
        return full_layout(options, reading.types_to_learn(options.words, sequences))
    if options.rules == "independent":
        raise ValueError(
            "rules='independent' is for a model without grammar: a grammar has its rules"
        )
    if options.words.vocabulary is not None:
        raise ValueError("vocabulary is for a model without grammar: a grammar has its words")
    grammar = grammar_from(options.grammar).check()
    types = terminal_words(grammar)
    if options.words.handle_unknown != "error":
        types -= {UNKNOWN}
    words = reading.vocabulary_of(reading.sorted_types(types))
    return words, layout_of(grammar, words.index)


def full_layout(options: GrammarOptions, types: list[Any]) -> tuple[Vocabulary, GrammarLayout]:
    """A vocabulary of these words, and all rules of this many symbols over them."""
    terminals = types if options.words.handle_unknown == "error" else [*types, UNKNOWN]
    is_independent = options.rules == "independent"
    build = Grammar.independent if is_independent else Grammar.full
    grammar = build(options.n_components, dict.fromkeys(terminals))
    words = reading.vocabulary_of(types)
    n_shown = options.n_components if is_independent else None
    return words, layout_of(grammar, words.index, n_shown, is_given=False)


class _Binarizer:
    """Rules in two-symbol steps to the right; helpers with the same right-hand side are shared."""

    def __init__(self, grammar: Grammar) -> None:
        self.binary: list[tuple[int, int, int, int]] = []
        self.unary: list[tuple[int, int, int]] = []
        self.lexical: list[tuple[int, TerminalRun, int]] = []
        self.helpers: dict[tuple[Any, ...], int] = {}
        self.n_symbols = len(grammar.symbols)
        for cell, (parent, right) in enumerate(grammar.rules):
            self.add(parent, right, cell)

    def add(self, parent: int, right: tuple[Any, ...], cell: int) -> None:
        if len(right) == 1:
            (item,) = right
            if isinstance(item, TerminalRun):
                self.lexical.append((parent, item, cell))
            else:
                self.unary.append((parent, item, cell))
        else:
            self.binary.append((parent, self.symbol(right[:1]), self.symbol(right[1:]), cell))

    def symbol(self, right: tuple[Any, ...]) -> int:
        """The symbol that derives this part of a right-hand side and nothing else."""
        if len(right) == 1 and not isinstance(right[0], TerminalRun):
            return right[0]
        if right not in self.helpers:
            self.helpers[right] = self.n_symbols
            self.n_symbols += 1
            self.add(self.helpers[right], right, -1)
        return self.helpers[right]


def layout_of(
    grammar: Grammar, index: dict[Any, Any], n_shown: int | None = None, *, is_given: bool = True
) -> GrammarLayout:
    """A grammar laid out over words with these codes, of which trees show this many symbols."""
    parts, n_words = _Binarizer(grammar), len(index)
    codes = index if UNKNOWN in index else {**index, UNKNOWN: n_words}
    multiword: dict[tuple[Any, ...], int] = {}
    terminals = []
    for symbol, words, cell in parts.lexical:
        key = tuple(map(codes.__getitem__, words))
        text = key[0] if len(key) == 1 else multiword.setdefault(key, n_words + 1 + len(multiword))
        terminals.append((text, symbol, cell))
    table = np.array(terminals, np.int64).reshape(-1, 3)
    text, symbol, cell = table[np.lexsort(table.T[::-1])].T
    lhs = np.array([rule.parent for rule in grammar.rules], np.int32)
    return GrammarLayout(
        grammar,
        rules_of(parts.n_symbols, grammar.start, parts.binary, parts.unary),
        lhs,
        len(grammar.symbols),
        len(grammar.symbols) if n_shown is None else n_shown,
        is_given,
        n_words,
        np.searchsorted(text, np.arange(n_words + 2 + len(multiword))),
        symbol,
        cell,
        multiword,
        max(map(len, multiword), default=1),
    )


# Sentences under a grammar


class GrammarProblem(NamedTuple):
    """Sentences under a grammar, laid out for inference."""

    corpus: Corpus
    words: list[Any]  # all tokens
    layout: GrammarLayout
    lexicon: TerminalIndex
    brackets: Brackets
    dense: DenseRules | None  # the rules in tables, where there are enough of them
    forest: Forest | None  # all derivations, where that is possible
    is_factored: bool  # whether factors are used; with none of the three lists of rules are

    @property
    def sentences(self) -> np.ndarray:
        """Numbers of all sentences."""
        return np.arange(self.corpus.n_sequences)

    @property
    def identity(self) -> tuple[Any, ...]:
        """What must be the same for a fit to go on: sentences, brackets and rules."""
        rules = self.layout.grammar.rules
        return self.words, self.corpus.starts, rules, tuple(self.brackets)

    @property
    def word_uses(self) -> np.ndarray:
        """How often each word of the grammar is observed."""
        n_words, tokens = self.layout.n_words, self.corpus.tokens
        return np.bincount(tokens[tokens < n_words], minlength=n_words)

    def sizes_without(self, unexplained: np.ndarray) -> tuple[int, int]:
        """How many tokens and sentences there are beside some."""
        lengths = np.delete(np.diff(self.corpus.starts), unexplained)
        return int(lengths.sum()), len(lengths)


def problem_of(
    words: Vocabulary, layout: GrammarLayout, corpus: Corpus, sequences: Sequences, y: Any
) -> GrammarProblem:
    """Training sentences under a grammar, with the brackets that `y` tells."""
    is_numeric = words.types.dtype.kind in "iuf"
    if y is None:
        brackets = brackets_of(len(corpus.starts) - 1)
    else:
        labels = layout.grammar if layout.is_given else None
        brackets = brackets_from(y, corpus, sequences.tokens, labels, is_numeric)
    lexicon = terminal_index_for(layout, corpus)
    engines = engines_of(layout, lexicon, brackets)
    return GrammarProblem(corpus, sequences.tokens, layout, lexicon, brackets, *engines)


def problem_by_lists(layout: GrammarLayout, corpus: Corpus, words: list[Any]) -> GrammarProblem:
    """Sentences to be inferred by lists of rules."""
    lexicon, brackets = terminal_index_for(layout, corpus), brackets_of(len(corpus.starts) - 1)
    return GrammarProblem(corpus, words, layout, lexicon, brackets, None, None, False)


def new_problem(layout: GrammarLayout, corpus: Corpus, words: list[Any]) -> GrammarProblem:
    """New sentences, to be inferred once, by the engine that suits them."""
    problem = problem_by_lists(layout, corpus, words)
    engines = engines_of(layout, problem.lexicon, problem.brackets, once=True)
    return GrammarProblem(*problem[:5], *engines)


def engines_of(
    layout: GrammarLayout, lexicon: TerminalIndex, brackets: Brackets, once: bool = False
) -> tuple[DenseRules | None, Forest | None, bool]:
    """The engine of some sentences: `dense`, `forest` and `is_factored` of `GrammarProblem`.

    Sentences that are inferred `once`, as in `predict`, are listed in a forest while they are few:
    the kernels of lists, ten times as fast for that, take a few seconds to be compiled.
    """
    rules, is_factored = layout.rules, layout.is_factored
    _check_longest(rules, lexicon.length)
    if is_factored:
        return None, None, True
    if len(rules.binary) >= FEWEST_RULES:
        dense = dense_rules_of(rules, lexicon)
        if is_full(dense):
            return dense, None, False
    if len(rules.member):
        return None, None, False
    most = min(MOST_EDGES, MOST_EDGES_ONCE) if once else MOST_EDGES
    return None, forest_of(rules, lexicon, brackets, len(layout.lhs), most), False


def terminal_index_for(layout: GrammarLayout, corpus: Corpus) -> TerminalIndex:
    """Occurrences of the grammar's terminals in a corpus without missing tokens."""
    starts = corpus.starts
    text = np.minimum(corpus.tokens, layout.n_words)
    first = np.arange(len(text))
    stop = first + 1
    if layout.multiword:
        found = np.array(_multiword_terminals(layout, text.tolist(), starts.tolist()), np.int64)
        first, stop, text = np.concatenate([[first, stop, text], found.reshape(-1, 3).T], axis=1)
        order = np.lexsort((-first, stop))
        first, stop, text = first[order], stop[order], text[order]
    sentence = np.searchsorted(starts, first, side="right") - 1
    n_terminals = np.diff(layout.terminal_first)[text]
    ends = np.cumsum(n_terminals)
    entry = np.arange(ends[-1]) + np.repeat(
        layout.terminal_first[text] - (ends - n_terminals), n_terminals
    )
    begin, end = first - starts[sentence], stop - starts[sentence]
    each = np.bincount(sentence, n_terminals, len(starts) - 1)
    return TerminalIndex(
        np.diff(starts).astype(np.int32),
        np.append(0, np.cumsum(each)).astype(np.int64),
        np.repeat(begin.astype(np.int32), n_terminals),
        np.repeat(end.astype(np.int32), n_terminals),
        layout.terminal_symbol[entry].astype(np.int32),
        layout.terminal_cell[entry],
    )


def _check_longest(rules: TreeRules, lengths: np.ndarray) -> None:
    """Tell of a sentence that takes long, and raise where its chart has no room."""
    i = int(lengths.argmax())
    n = int(lengths[i])
    n_spans = n * (n + 1) / 2
    # An item has its symbol, and three weights or places (`kernels.tree.charts.SpanChart`).
    n_bytes, n_splits = n_spans * (28 * rules.n_symbols + 24), n_spans * n / 3
    check_sample(f"sentence {i}", f"{n:,} words", n_bytes, n_splits * max(1, len(rules.binary)))


def _multiword_terminals(
    layout: GrammarLayout, codes: list[int], starts: list[int]
) -> list[tuple[int, int, int]]:
    """Texts of several words: first token, last token plus 1, number."""
    longest_terminal, number = layout.longest_terminal, layout.multiword.get
    return [
        (begin, end, text)
        for first, stop in pairwise(starts)
        for begin in range(first, stop)
        for end in range(begin + 2, min(stop, begin + longest_terminal) + 1)
        if (text := number(tuple(codes[begin:end]))) is not None
    ]


# What is known of trees: nltk.Tree, brackets in a string, or lists of spans


_FORM = (
    "y holds one nltk.Tree, bracketed string or list of spans (begin, end) or (begin, end, label) "
    "per sentence, or None"
)


def brackets_from(
    y: Any, corpus: Corpus, words: list[Any], grammar: Grammar | None, is_numeric: bool
) -> Brackets:
    """The brackets that `y` gives of each sentence; without a grammar labels mean nothing.

    Lists of equally many numbers are a 2-D X, too.
    """
    lengths = np.diff(corpus.starts)
    of_sentences = reading.known_of(y, lengths, corpus.width, _FORM)
    is_table = corpus.width is not None or (is_numeric and len(set(lengths.tolist())) == 1)
    rows: list[tuple[Any, ...]] = []
    for i, known in enumerate(of_sentences):
        if reading.is_missing(known) or (is_table and _is_label(known)):
            continue
        here = words[corpus.starts[i] : corpus.starts[i + 1]]
        spans = _known_spans(known, i, here)
        if any(span[:2] == (0, len(here)) for span in spans):
            # A root below the start symbol leaves it its place.
            start = None if grammar is None else grammar.symbols[grammar.start]
            spans = [*spans, (0, len(here), start)]
        rows.extend((i, *span) for span in spans)
    if not rows:
        return brackets_of(corpus.n_sequences)
    sentence, begin, end, labels = zip(*rows, strict=True)
    return brackets_of(
        corpus.n_sequences, sentence, begin, end, _symbols_of_labels(labels, sentence, grammar)
    )


def _is_label(value: Any) -> bool:
    """Whether y holds class labels, one or several: they say nothing of trees."""
    if isinstance(value, str):
        return not value.lstrip().startswith("(")
    if np.isscalar(value):
        return True
    values = None if hasattr(value, "label") else reading.as_list(value)
    return values is not None and all(map(np.isscalar, values))


def _known_spans(known: Any, i: int, words: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Spans (begin, end, label or None) of a tree, brackets in a string, or a list of spans."""
    from nltk import Tree

    if isinstance(known, str) and known.lstrip().startswith("("):
        try:
            known = Tree.fromstring(known)
        except ValueError as error:
            raise ValueError(f"y[{i}] is no tree in brackets: {error}") from None
    if isinstance(known, Tree):
        refuse_deep_tree(known, f"y[{i}]")
        refuse_other_leaves(known.leaves(), words, i)
        return spans_of(known)
    spans = reading.as_list(known)
    if spans is None:
        raise TypeError(f"y[{i}] is {reading.short_repr(known)}: {_FORM}")
    return [_checked_span(span, i, len(words)) for span in spans]


def _checked_span(span: Any, i: int, n_words: int) -> tuple[Any, ...]:
    """One span of sentence `i` as (begin, end, label or None)."""
    parts = reading.as_list(span)
    if (
        parts is None
        or len(parts) not in (2, 3)
        or not all(isinstance(place, Real) and place == place // 1 for place in parts[:2])
    ):
        raise TypeError(f"y[{i}] holds {reading.short_repr(span)}: {_FORM}")
    begin, end = int(parts[0]), int(parts[1])
    if not 0 <= begin < end <= n_words:
        raise ValueError(
            f"y[{i}] holds {reading.short_repr(span)}, but sentence {i} has {n_words} tokens"
        )
    return begin, end, parts[2] if len(parts) == 3 else None


def _symbols_of_labels(
    labels: Sequence[Any], sentences: Iterable[Any], grammar: Grammar | None
) -> np.ndarray:
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
