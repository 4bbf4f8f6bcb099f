"""Grammars learned from sentences in parts: what `scale.symbols.parts` is, for trees."""

from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.estimators.base_grammars import BasePCFG, attributes_of
from sklearn_cvb.grammar import layout as layouts
from sklearn_cvb.grammar.layout import GrammarLayout, problem_of
from sklearn_cvb.grammar.model import Alpha, GrammarModel
from sklearn_cvb.kernels.tree.tallies import Shares
from sklearn_cvb.learning.learned import Reading
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, Sequences, Vocabulary
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.scale.parts import PartIndex, PartSummary, Round, Shard, Sharded, Source
from sklearn_cvb.scale.symbols.parts import CorpusInParts
from sklearn_cvb.scale.symbols.vocabulary_pass import (
    Part,
    WordCounts,
    WordsOfTokens,
    merged,
    read_part,
    type_corpus_of,
)
from sklearn_cvb.scale.symbols.vocabulary_pass import word_counts_of as survey_of

# What is asked of a family in parts (see `vocabulary_pass.family_of`).
__all__ = [
    "lay_out",
    "merged",
    "read_in_shards",
    "read_part",
    "refuse_in_shards",
    "shard_of",
    "survey_of",
]


class Absent(NamedTuple):
    """P(C = 0) of rules and of left-hand sides, as far as some sentences go."""

    rule: np.ndarray
    total: np.ndarray


class TreeShard(Shard):
    """A grammar of some sentences."""

    def _absence(self, shares: Shares) -> Absent:
        return Absent(*(1.0 - present for present in self.model.absence(shares)))


class ShardedGrammar(Sharded, GrammarModel):
    """A grammar whose sentences are in shards."""

    def absence(self, shares: Round) -> tuple[np.ndarray, ...] | None:
        """P(C > 0) of every rule and left-hand side."""
        return None if shares.absence is None else tuple(1.0 - table for table in shares.absence)

    def hyper_in(self, prior: np.ndarray) -> Alpha:
        """The concentrations that a prior was made from."""
        return self.alpha._replace(cells=prior)


class SentencesInParts(CorpusInParts):
    """Sentences in shards, as a fit knows them."""

    model_type = ShardedGrammar
    layout: GrammarLayout
    n_words: int

    def __init__(
        self, layout: GrammarLayout, types: Corpus, facts: list[PartSummary], source: Source
    ) -> None:
        super().__init__(types, facts, source)
        self.layout, self.n_words = layout, layout.n_words

    @property
    def identity(self) -> tuple[Any, ...]:
        """What word types tell of the sentences, and the rules; the cut is free."""
        uses = self.corpus.uses(self.n_words)
        return uses, self.corpus.n_sequences, self.layout.grammar.rules


class ForParts(NamedTuple):
    """How parts are laid out: what is sent to where they are."""

    estimator: BasePCFG
    words: Vocabulary
    layout: GrammarLayout


class LaidOut(NamedTuple):
    """What the type corpus tells, before any sentence is read."""

    as_sent: ForParts
    corpus: Corpus


def refuse_in_shards(model: BasePCFG) -> None:
    """Raise on settings that sentences in shards do not have."""
    name = type(model).__name__
    if not hasattr(type(model), "partial_fit"):
        raise InvalidParameterError(f"{name} does not learn in shards: use EM, VB or CVB")
    if getattr(model, "update", "batch") != "batch":
        raise InvalidParameterError(
            f"in shards {name} learns from all sentences at once: use update='batch', got "
            f"{model.update!r}"
        )


def lay_out(model: BasePCFG, counts: WordCounts) -> LaidOut:
    """Lay out the grammar of a model."""
    sequences, _ = type_corpus_of(counts)
    words, layout = layouts.lay_out(model._options(), sequences)
    model._check_layout(layout)
    corpus = reading.encode(sequences, words.index)
    return LaidOut(ForParts(model, words, layout), corpus)


def shard_of(sent: ForParts, part: Part, index: PartIndex) -> TreeShard:
    """The shard of a part, under a layout."""
    model, words, layout = sent
    sequences = Sequences(WordsOfTokens(part.types, part.corpus.tokens), part.corpus.starts, None)
    corpus = part.by(words.index)
    reading.refuse_missing(corpus)
    corpus = reading.checked(model._options().words, corpus, sequences, len(words.index))
    known = part.y if model.supervision == "y" else None
    problem = problem_of(words, layout, corpus, sequences, known)
    return TreeShard(model._model(Reading(problem, words, {})), index)


def read_in_shards(laid_out: LaidOut, facts: list[PartSummary], source: Source) -> Reading:
    """What a model learns from, once all shards are laid out."""
    _, words, layout = laid_out.as_sent
    whole = SentencesInParts(layout, laid_out.corpus, facts, source)
    return Reading(whole, words, attributes_of(words, layout))
