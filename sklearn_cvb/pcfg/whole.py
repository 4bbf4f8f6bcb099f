"""Grammars learned from sentences in shards: the same as `sklearn_cvb.hmm.whole`, for trees."""

import copy
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sklearn_cvb import corpus as reading
from sklearn_cvb.corpus import Corpus, Sequences
from sklearn_cvb.hmm.survey import LaidOut, Part, Survey, Words, digest_of, merged, survey_of
from sklearn_cvb.hmm.survey import read_part as read_part
from sklearn_cvb.hmm.whole import InParts, InShards, fit_as
from sklearn_cvb.kernels.tree.tallies import Shares
from sklearn_cvb.learning.parts import (
    Facts,
    Memory,
    Place,
    Round,
    Shard,
    Sharded,
    Source,
    places_of,
    summed,
)
from sklearn_cvb.pcfg.base import BasePCFG
from sklearn_cvb.pcfg.concentrations import Alpha
from sklearn_cvb.pcfg.layout import Layout
from sklearn_cvb.pcfg.model import GrammarModel
from sklearn_cvb.pcfg.streaming import StreamingPCFG
from sklearn_cvb.validation import InvalidParameterError

if TYPE_CHECKING:
    from sklearn_cvb.pcfg.base import BasePCFG as _Model
else:
    _Model = object


class Absent(NamedTuple):
    """P(C = 0) of rules and of left-hand sides, as far as some sentences go."""

    rule: np.ndarray
    total: np.ndarray


class TreeShard(Shard):
    """A grammar of some sentences."""

    def _absence(self, shares: Shares) -> Absent:
        return Absent(*(1.0 - present for present in self.model.absence(shares)))


class WholeTreebank(InParts):
    """Sentences in shards, as a fit knows them.

    Parameters
    ----------
    layout : Layout
    digest : Corpus
    facts : list of Facts
    source : Source
    """

    def __init__(self, layout: Layout, digest: Corpus, facts: list[Facts], source: Source) -> None:
        super().__init__(digest, facts, source)
        self.layout, self.n_words = layout, layout.n_words


class ShardedGrammar(Sharded, GrammarModel):
    """A grammar whose sentences are in shards."""

    def absence(self, shares: Round) -> tuple[np.ndarray, ...] | None:
        """P(C > 0) of every rule and left-hand side."""
        return None if shares.absence is None else tuple(1.0 - table for table in shares.absence)

    def hyper_in(self, prior: np.ndarray) -> Alpha:
        """The concentrations that a prior was made from."""
        return self.alpha._replace(cells=prior)


class ShardedPCFG(InShards, _Model):
    """What estimators do otherwise where the sentences are in shards."""

    _model_type = ShardedGrammar

    def _fitted_trees(self, state: Any, model: Any) -> dict[str, Any]:
        """Nothing: trees are for `predict`, where the sentences are."""
        return {}

    def _identity(self, problem: Any) -> tuple[Any, ...]:
        """What a digest tells of the sentences, and the rules; the cut is free."""
        layout, corpus = problem.layout, problem.corpus
        return corpus.uses(layout.n_words), corpus.n_sequences, layout.grammar.rules

    def _why_unexplained(self, problem: Any, unexplained: np.ndarray) -> str:
        return ""


def refuse_in_shards(model: BasePCFG) -> None:
    """Raise on settings that sentences in shards do not have."""
    name = type(model).__name__
    if not isinstance(model, StreamingPCFG):
        raise InvalidParameterError(f"{name} does not learn in shards: use EM, VB or CVB")
    if getattr(model, "update", "batch") != "batch":
        raise InvalidParameterError(
            f"in shards {name} learns from all sentences at once: use update='batch', got "
            f"{model.update!r}"
        )


def lay_out(model: BasePCFG, survey: Survey) -> LaidOut:
    """Lay out the grammar of a model."""
    sequences, _ = digest_of(survey)
    model._lay_out(*model._grammar_for(sequences))
    corpus = reading.encode(sequences, model._index)
    return LaidOut(copy.copy(model), corpus, sequences, None)


def shard_of(model: BasePCFG, part: Part, place: Place) -> TreeShard:
    """The shard of a part, under a model that was laid out."""
    sequences = Sequences(Words(part.types, part.corpus.tokens), part.corpus.starts, None)
    model = copy.copy(model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        corpus = model._checked(part.by(model._index), sequences)
        problem = model._problem_of(corpus, sequences, part.y)
    messages = tuple(f"part {place.number}: {one.message}" for one in caught)
    return TreeShard(model._model(problem), place, messages)


def whole_of(
    model: BasePCFG, laid_out: LaidOut, facts: list[Facts], source: Source
) -> WholeTreebank:
    """The sentences in shards that a model learns from."""
    for one in facts:
        for message in one.warnings:
            warnings.warn(message, UserWarning, stacklevel=4)
    return WholeTreebank(model._layout, laid_out.corpus, facts, source)


def fit_whole(model: BasePCFG, whole: WholeTreebank) -> None:
    """Fit a model on sentences in shards; it is left as a plain fit leaves it, without labels."""
    fit_as(ShardedPCFG, model, whole)


def fit_here(model: BasePCFG, parts: Sequence[tuple[Any, Any]]) -> WholeTreebank:
    """Fit a model on parts ``(X, y)`` of the sentences, each a shard of this process."""
    refuse_in_shards(model)
    read = [read_part(X, y) for X, y in parts]
    laid_out = lay_out(model, summed([survey_of(model, part) for part in read], merged))
    places = places_of([part.corpus.n_sequences for part in read])
    shards = [shard_of(laid_out.model, *given) for given in zip(read, places, strict=True)]
    whole = whole_of(model, laid_out, [shard.facts() for shard in shards], Memory(shards))
    fit_whole(model, whole)
    return whole
