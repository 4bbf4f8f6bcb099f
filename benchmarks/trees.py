"""Rows and curves about grammars: parsing a newspaper, learning with all rules."""

import numpy as np

from benchmarks import peers
from benchmarks.measurement import Measurement
from benchmarks.text import read
from benchmarks.timing import interleaved
from sklearn_cvb.grammar.inference import set_log_weights, set_weights
from sklearn_cvb.kernels.tree.arrays import brackets_of, rule_lists_of, rules_of, terminal_index_of
from sklearn_cvb.kernels.tree.charts import chart_for
from sklearn_cvb.kernels.tree.decoding import best_trees_by_lists
from sklearn_cvb.kernels.tree.lists import expected_counts_by_lists
from sklearn_cvb.kernels.tree.tables import dense_rules_of, expected_counts_by_tables, tables_for
from sklearn_cvb.reading.corpus import Corpus

# The grammar that NLTK is timed with: this many rules, and a sentence of this many words.
_N_RULES, _QUICK_RULES, _LENGTH = 6500, 300, 10
# The grammar of torch-struct's documentation: nonterminals, preterminals; words a sentence.
N_WIDE, N_NARROW, WORDS, _VOCABULARY, _SENTENCES = 30, 30, 20, 1000, 16


def induced(brackets, n_rules):
    """A treebank grammar: relative frequencies in the first trees that have this many rules.

    `brackets`: trees in brackets.
    """
    from nltk import Nonterminal, Tree, induce_pcfg

    productions, known, sentences = [], set(), []
    for text in brackets:
        if len(known) >= n_rules:
            break
        tree = Tree("TOP", [Tree.fromstring(text)])
        productions += tree.productions()
        known.update(tree.productions())
        sentences.append(tree.leaves())
    return induce_pcfg(Nonterminal("TOP"), productions), sentences


class Parser:
    """Calling it finds the best trees of some sentences under an nltk.PCFG.

    From words to the arrays of the trees; the grammar is laid out beforehand, as NLTK's parser is.
    """

    def __init__(self, grammar, sentences):
        from sklearn_cvb.grammar.grammar import Grammar, terminal_words
        from sklearn_cvb.grammar.layout import layout_of
        from sklearn_cvb.grammar.model import log_weights

        grammar = Grammar.from_nltk(grammar)
        self._index = {word: code for code, word in enumerate(sorted(terminal_words(grammar)))}
        self._layout = layout_of(grammar, self._index)
        self._logs = log_weights(grammar.probabilities)
        self.sentences = sentences
        self.log_p = np.empty(len(sentences))

    def __call__(self):
        from sklearn_cvb.grammar.layout import terminal_index_for

        words = [self._index[word] for sentence in self.sentences for word in sentence]
        starts = np.concatenate([[0], np.cumsum([len(words) for words in self.sentences])])
        corpus = Corpus(np.array(words, np.int32), starts.astype(np.int64), None, [])
        lexicon = terminal_index_for(self._layout, corpus)
        n = len(self.sentences)
        lists = rule_lists_of(self._layout.rules, lexicon, brackets_of(n))
        set_log_weights(lists, self._logs)
        trees, self.log_p = best_trees_by_lists(lists, np.arange(n))
        return trees


def parsing(settings):
    """Viterbi trees against NLTK's parser, on one sentence."""
    from nltk.parse import ViterbiParser

    n_rules = _QUICK_RULES if settings.quick else _N_RULES
    grammar, sentences = induced(read(settings, "trees").y, n_rules)
    length = 6 if settings.quick else _LENGTH
    sentence = min(sentences, key=lambda words: abs(len(words) - length))
    ours, peer = Parser(grammar, [sentence]), ViterbiParser(grammar)
    pairs = interleaved(ours, lambda: next(peer.parse(sentence)), settings.pairs, 0.02)
    best = np.log(next(peer.parse(sentence)).prob())
    if abs(ours.log_p[0] - best) > 1e-9:
        raise RuntimeError(f"the best trees differ: {ours.log_p[0]} against {best}")
    left, right = [1e3 * a.cpu for a, _ in pairs], [1e3 * b.cpu for _, b in pairs]
    ratios = [b / a for a, b in zip(left, right, strict=True)]
    note = f"{len(grammar.productions()):,} rules, {len(sentence)} words; from words to tree arrays"
    return Measurement(left, right, ratios, "ms per sentence", note)


class FullGrammar:
    """Calling it does inside-outside on random sentences under a grammar with all rules.

    Symbol 0 is above the wide symbols, which have all pairs of symbols; the narrow ones have all
    words. This is the grammar of torch-struct's ``SentCFG``.
    """

    def __init__(self, n_wide, n_narrow, n_words, n_sentences, n_symbols=_VOCABULARY):
        rng = np.random.default_rng(0)
        n = 1 + n_wide + n_narrow
        wide = np.arange(1, 1 + n_wide)
        triples = np.stack(np.meshgrid(wide, np.arange(1, n), np.arange(1, n), indexing="ij"), -1)
        triples = triples.reshape(-1, 3)
        unary = np.column_stack([np.zeros(n_wide, int), wide, np.arange(n_wide)])
        binary = np.column_stack([triples, n_wide + np.arange(len(triples))])
        self.rules = rules_of(n, 0, binary, unary)
        self.terms = rng.dirichlet(np.ones(n_symbols), n_narrow)
        self.tokens = rng.integers(n_symbols, size=(n_sentences, n_words))
        i, t, symbol = (x.ravel() for x in np.indices((n_sentences, n_words, n_narrow)))
        cell = n_wide + len(triples) + symbol * n_symbols + self.tokens[i, t]
        length = np.full(n_sentences, n_words)
        self.lexicon, _ = terminal_index_of(length, i, t, t + 1, 1 + n_wide + symbol, cell)
        theta = [rng.dirichlet(np.ones(n_wide))]
        theta += list(rng.dirichlet(np.ones((n - 1) ** 2), n_wide)) + list(self.terms)
        self.theta = np.concatenate(theta)
        rules = self.rules
        self.free, self.order = brackets_of(n_sentences), np.arange(n_sentences)
        self.lists = rule_lists_of(rules, self.lexicon, self.free)
        set_weights(self.lists, self.theta)
        self.log_z = np.empty(n_sentences)
        self.dense = dense_rules_of(rules, self.lexicon)
        self.tables = tables_for(self.dense, self.lists)

    def __call__(self):
        expected_counts_by_tables(self.tables, self.lists, self.order, self.log_z, True)

    def by_lists(self):
        """The same through lists of rules."""
        expected_counts_by_lists(self.lists, chart_for(self.lists), self.order, self.log_z, True)

    @property
    def n_operations(self):
        """Floating-point operations: of the three products with the rules, and of all splits."""
        wide, narrow = self.dense.n_wide, self.dense.n_narrow
        parents, total = len(self.dense.parent), 0
        for n in self.lexicon.length.tolist():
            for width in range(2, n + 1):
                inner = wide**2
                splits = (width - 3) * inner + 2 * wide * (wide + narrow) if width > 2 else 0
                pairs = inner + 2 * wide * narrow if width > 2 else (wide + narrow) ** 2
                total += (n - width + 1) * 2 * (3 * parents * pairs + 4 * splits)
        return total


def arithmetic(settings):
    """Inside-outside's arithmetic a second, of what a large float64 matrix product gets."""
    ours = FullGrammar(*((4, 6, 8) if settings.quick else (N_WIDE, N_NARROW, WORDS)), _SENTENCES)
    size = 256 if settings.quick else 1024
    product, n_operations = peers.matrix_product(size, size, size)
    pairs = interleaved(ours, product, settings.pairs, 0.02 if settings.quick else 0.2)
    work = ours.n_operations
    left = [work / a.cpu / 1e9 for a, _ in pairs]
    right = [n_operations / b.cpu / 1e9 for _, b in pairs]
    ratios = [100 * a / b for a, b in zip(left, right, strict=True)]
    each = 1e3 * np.median([a.cpu for a, _ in pairs]) / _SENTENCES
    note = (
        f"{each:.2f} ms per sentence of {ours.tokens.shape[1]} words; {ours.dense.n_wide} wide and "
    )
    note += f"{ours.dense.n_narrow} narrow symbols, {work / _SENTENCES / 1e6:.1f} M operations"
    return Measurement(left, right, ratios, "Gflop/s", note)


def against_torch(settings):
    """Inside-outside with all rules against torch-struct's, gradients included."""
    ours = FullGrammar(N_WIDE, N_NARROW, WORDS, 4 if settings.quick else _SENTENCES)
    peer = peers.torch_struct_gradients(ours)
    pairs = interleaved(ours, peer, settings.pairs, 0.02 if settings.quick else 0.2)
    n = len(ours.tokens)
    left, right = ([1e3 * x.cpu / n for x in side] for side in zip(*pairs, strict=True))
    ratios = [b / a for a, b in zip(left, right, strict=True)]
    return Measurement(left, right, ratios, "ms per sentence", "its numbers are float32")
