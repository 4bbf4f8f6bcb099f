"""A treebank grammar's part in a fit, below its estimators: options, reads sentences and gold
trees, makes the model, and of the result `Learned` and fitted attributes.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.learning.learned import FamilyObservation, FitOutcome, FitResult, Learned, Reading
from sklearn_cvb.learning.split_merge import SplitMergePlan
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, KnownWords, RawSequences, short_repr
from sklearn_cvb.reading.unknown_tokens import caution_of_unknown
from sklearn_cvb.reading.validation import warn
from sklearn_cvb.settings import SplitAndMerge
from sklearn_cvb.treebank import reading as trees
from sklearn_cvb.treebank.binarise import Debinarisation, Treebank, binarise
from sklearn_cvb.treebank.inference import TreebankProblem
from sklearn_cvb.treebank.model import AnnotatedModel, NodewiseModel, split_merge_plan
from sklearn_cvb.treebank.parameters import LatentPCFGCounts, layout_of
from sklearn_cvb.treebank.reading import GoldTrees
from sklearn_cvb.treebank.word_classes import word_numbers_of

# Words are those of the treebank; others are known by their form.
_WORDS = KnownWords(None, "rare")


class TreebankOptions(NamedTuple):
    """Parameters of a treebank grammar, checked; to read a fitted one takes none of them."""

    name: str = "A treebank grammar"  # of the estimator, for messages
    n_subtypes: int = 2
    rounds: SplitAndMerge | None = None  # None: all subtypes are there from the start
    alpha: float = 0.1
    init: str = "treebank"
    update: str = "sequence"  # what is left out at a time
    rare_threshold: int = 1
    horizontal: int | None = 0  # how many children a helper symbol remembers
    alternative: str = ""  # what to use where leaving out one giant tree leaves little


@dataclass(frozen=True)
class TreebankObservation(FamilyObservation):
    """Sentences and their trees, under options."""

    options: TreebankOptions

    def read(self, X: Any, y: Any = None) -> Reading:
        """X and y, to be fitted to: sentences and trees, or trees."""
        options = self.options
        (sequences, attributes, messages), gold = self._gold(X, y)
        starts = sequences.starts.tolist()
        reading.types_of(sequences.tokens, sequences.starts)
        tags = trees.tags_in(gold.trees)
        lexicon = word_numbers_of(sequences.tokens, tags, starts[:-1], options.rare_threshold)
        known = {"vocabulary_": reading.as_array(list(lexicon.codes)[: lexicon.n_words])}
        corpus = reading.encode(sequences, lexicon.codes)
        reading.refuse_missing(corpus, "a treebank grammar")
        numbers = lexicon.numbers(sequences.tokens, starts[:-1])
        treebank = binarise(gold.trees, numbers, gold.top_label, options.horizontal)
        if options.alternative:
            messages += reading.caution_of_giant(corpus, options.alternative)
        problem = TreebankProblem(corpus, treebank)
        return Reading(problem, lexicon, attributes | known, messages, self)

    def _gold(self, X: Any, y: Any) -> tuple[RawSequences, GoldTrees]:
        """Sentences and their trees."""
        if trees.is_tree(X):
            raise TypeError(f"X is {short_repr(X)}, a single tree: pass a list of trees")
        if trees.are_trees(X):
            if y is not None:
                raise ValueError("X holds trees, and so does y: pass sentences and trees, or trees")
            gold = trees.without_top(trees.trees_in(X, "X"))
            return RawSequences(trees.sentences_in(gold.trees), {}), gold
        if y is None:
            raise ValueError(
                f"{self.options.name} requires y to be passed, but the target y is None: pass "
                "the tree of each sentence, fit(sentences, trees) or fit(trees)"
            )
        taken = reading.sequences_to_fit(_WORDS, X, y)
        return taken, trees.gold_trees_from(y, taken.sequences)

    @property
    def plan(self) -> SplitMergePlan:
        """Before which sweeps subtypes are split and merged."""
        rounds = self.options.rounds
        length = int(rounds.round_length) if rounds else None
        return split_merge_plan(self.options.n_subtypes, length)

    def model(self, reading: Reading) -> AnnotatedModel:
        """The model of what was read, for algorithms to learn."""
        options, treebank = self.options, reading.problem.treebank
        n_first = 1 if options.rounds else options.n_subtypes
        layout = layout_of(treebank.rules(np.full(len(treebank.symbols), n_first)))
        share = float(options.rounds.merge_share) if options.rounds else 0.0
        kind = NodewiseModel if options.update == "token" else AnnotatedModel
        most, is_fixed = options.n_subtypes, options.rounds is None
        return kind(reading.problem, layout, options.init, options.alpha, most, share, is_fixed)

    def fixed_start(self, reading: Reading) -> str:
        """Why all restarts begin alike; empty where their starts are random."""
        return "without subtypes nothing is hidden" if self.options.n_subtypes == 1 else ""

    def outcome(self, result: FitResult) -> FitOutcome:
        """What is learned, and the fitted attributes, from the best restart."""
        best, _, read, algorithm, model, cells = result
        state, treebank, alpha = best.state, read.problem.treebank, self.options.alpha
        layout, labels = state.layout, reading.as_array(treebank.labels())
        counts = LatentPCFGCounts(cells, layout.rules.first)
        attributes = {"counts_": counts, "symbols_": labels, "alpha_": alpha}
        more = Debinarisation(
            treebank.symbols,
            treebank.unary_paths,
            treebank.top_label,
            _most_frequent_root(treebank),
            labels,
        )
        learned = Learned(
            words=read.words,
            layout=layout,
            prior=alpha,
            counts=counts,
            fallback=model.unscaled(state.weights),
            averages=algorithm.averages,
            extra=more,
        )
        return FitOutcome(learned, attributes)

    def encoded(self, learned: Learned, X: Any) -> tuple[Corpus, list[Any]]:
        """Sentences, or those of trees, in the numbers that rules have for words; and all words."""
        of_trees = trees.are_trees(X)
        sequences = (
            trees.sentences_in(trees.trees_in(X, "X"))
            if of_trees
            else reading.sequences_again(_WORDS, X)
        )
        lexicon = learned.words
        corpus = reading.encode(sequences, lexicon.codes)
        reading.refuse_missing(corpus, "a treebank grammar")
        numbers = np.array(lexicon.numbers(sequences.tokens, corpus.starts[:-1].tolist()), np.int32)
        # A word that begins a sentence may be known by its small letter. Without a cause nothing is
        # said: rare words of the treebank are not in its lexicon.
        known = corpus._replace(tokens=np.where(numbers < lexicon.n_words, numbers, corpus.tokens))
        unknown = reading.unknown_in(known, lexicon.codes)
        warn(caution_of_unknown(unknown, lexicon.codes, fewest=np.inf))
        return corpus._replace(tokens=numbers), sequences.tokens


def _most_frequent_root(treebank: Treebank) -> Any:
    """The most frequent root of trees."""
    n = len(treebank.roots)
    return treebank.symbols[treebank.roots[int(treebank.counts[:n].argmax())]].label
