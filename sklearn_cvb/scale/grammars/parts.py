"""Grammars in shards: how parts of a corpus are laid out, and the sharded model of trees.

Each shard infers the trees of its own sentences under the rules of all; absence is the probability
that none of them uses a rule.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from sklearn_cvb.grammar import layout as layouts
from sklearn_cvb.grammar.layout import GrammarLayout, problem_of
from sklearn_cvb.grammar.model import GrammarConcentrations, GrammarModel
from sklearn_cvb.grammar.observation import GrammarObservation, attributes_of
from sklearn_cvb.kernels.tree.tallies import TreeShares
from sklearn_cvb.learning.learned import FitResult, Reading
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, Sequences, Vocabulary
from sklearn_cvb.scale.parts import PartIndex, PartSummary, Round, Shard, ShardedModel, ShardSource
from sklearn_cvb.scale.symbols.parts import CorpusInParts
from sklearn_cvb.scale.symbols.vocabulary_pass import (
    LazyWords,
    SymbolPart,
    WordCounts,
    counts_of_words,
    merge_surveys,
    read_part,
    type_corpus_of,
)

# What is asked of a family in parts (see `vocabulary_pass.read_local_parts`).
__all__ = [
    "lay_out",
    "merge_surveys",
    "read_in_shards",
    "read_part",
    "shard_of",
    "survey_of",
]


class RuleAbsence(NamedTuple):
    """P(C = 0) of rules and of left-hand sides, in some sentences."""

    rule: np.ndarray
    total: np.ndarray


class TreeShard(Shard):
    """A shard: a grammar of some sentences."""

    def _absence(self, shares: TreeShares) -> RuleAbsence:
        return RuleAbsence(*(1.0 - present for present in self.model.absence(shares)))


class ShardedGrammar(ShardedModel, GrammarModel):
    """A grammar whose sentences are in shards."""

    def absence(self, shares: Round) -> tuple[np.ndarray, ...] | None:
        """P(C > 0) of every rule and left-hand side."""
        return None if shares.absence is None else tuple(1.0 - table for table in shares.absence)

    def hyper_in(self, prior: np.ndarray) -> GrammarConcentrations:
        """The concentrations that a prior was made from."""
        return self.alpha._replace(cells=prior)


class SentencesInParts(CorpusInParts):
    """A problem whose sentences are in shards."""

    layout: GrammarLayout
    n_words: int

    def __init__(
        self,
        layout: GrammarLayout,
        types: Corpus,
        summaries: list[PartSummary],
        source: ShardSource,
    ) -> None:
        super().__init__(types, summaries, source)
        self.layout, self.n_words = layout, layout.n_words

    @property
    def identity(self) -> tuple[Any, ...]:
        """Uses of word types, number of sentences and rules; how they are cut is free."""
        uses = self.corpus.uses(self.n_words)
        return uses, self.corpus.n_sequences, self.layout.grammar.rules


class GrammarInParts(GrammarObservation):
    """An observation of sentences in shards: a fit keeps no trees of them."""

    model_type: ClassVar[type[GrammarModel]] = ShardedGrammar

    def training_trees(self, result: FitResult) -> dict[str, Any]:
        """No trees."""
        return {}

    def why_unexplained(self, reading: Reading, unexplained: np.ndarray) -> str:
        """Nothing."""
        return ""


class GrammarPartLayout(NamedTuple):
    """The layout of parts, which is sent to where these are."""

    observation: GrammarObservation
    words: Vocabulary
    layout: GrammarLayout


class GrammarPlan(NamedTuple):
    """A layout made from the type corpus, before any sentence is read."""

    part_layout: GrammarPartLayout
    corpus: Corpus


def survey_of(observation: GrammarObservation, part: SymbolPart) -> WordCounts:
    """Counts of the words of a part."""
    return counts_of_words(part, [], by_form=False)


def lay_out(observation: GrammarObservation, counts: WordCounts) -> GrammarPlan:
    """Lay out the grammar of a model."""
    sequences, _ = type_corpus_of(counts)
    words, layout = layouts.lay_out(observation.options, sequences)
    observation.check(layout)
    corpus = reading.encode(sequences, words.index)
    return GrammarPlan(GrammarPartLayout(observation, words, layout), corpus)


def shard_of(sent: GrammarPartLayout, part: SymbolPart, index: PartIndex) -> TreeShard:
    """The shard of a part under a layout."""
    observation, words, layout = sent
    options = observation.options
    sequences = Sequences(LazyWords(part.types, part.corpus.tokens), part.corpus.starts, None)
    corpus = part.encode(words.index)
    reading.refuse_missing(corpus, "a grammar")
    corpus = reading.checked(options.words, corpus, sequences, len(words.index))
    known = part.y if options.supervision == "y" else None
    problem = problem_of(words, layout, corpus, sequences, known)
    return TreeShard(observation.model(Reading(problem, words, {})), index)


def read_in_shards(plan: GrammarPlan, summaries: list[PartSummary], source: ShardSource) -> Reading:
    """The reading that a model is fitted to, once all shards are laid out."""
    observation, words, layout = plan.part_layout
    whole = SentencesInParts(layout, plan.corpus, summaries, source)
    attributes = attributes_of(words, layout)
    return Reading(whole, words, attributes, observation=GrammarInParts(observation.options))
