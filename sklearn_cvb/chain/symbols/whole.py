"""Reading a corpus in shards: the fit is the plain one, on a problem that is a `Whole`.

Its model asks the shards, here or on other machines, and adds what they find (`ShardedChain`).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_cvb.chain.lattice import Cells, Problem
from sklearn_cvb.chain.parameters import shared_weights
from sklearn_cvb.chain.symbols.model import SymbolChain
from sklearn_cvb.chain.symbols.shards import ChainShard, ShardedChain
from sklearn_cvb.chain.symbols.vocabulary_pass import (
    LaidOut,
    Layout,
    Part,
    finished,
    lay_out,
    merged,
    problem_of_part,
    read_part,
    survey_of,
)
from sklearn_cvb.learning.learned import Reading
from sklearn_cvb.learning.online import Batch
from sklearn_cvb.learning.parts import Facts, Memory, Place, Source, places_of, summed
from sklearn_cvb.reading.corpus import Corpus
from sklearn_cvb.reading.validation import InvalidParameterError


class WholeCorpus:
    """What a fit wants to know of a corpus whose sequences are elsewhere."""

    def __init__(self, digest: Corpus, n_sequences: int) -> None:
        self._digest = digest
        self.unknown = digest.unknown
        self.n_sequences = n_sequences
        self.n_observed = digest.n_observed

    def uses(self, n_types: int = 0) -> np.ndarray:
        """How often each type is observed."""
        return self._digest.uses(n_types)


class InParts:
    """A problem whose sequences are in shards.

    Parameters
    ----------
    digest : Corpus
    facts : list of Facts
        Of each shard.
    source : Source
    """

    is_in_parts = True
    n_words: int

    def __init__(self, digest: Corpus, facts: list[Facts], source: Source) -> None:
        self.corpus = WholeCorpus(digest, sum(one.n_sequences for one in facts))
        self.n_tokens = sum(one.n_tokens for one in facts)
        self.facts, self.source = facts, source
        self.n_runs = 0

    def next_run(self) -> int:
        """A number for a restart, by which shards know whose shares they keep."""
        self.n_runs += 1
        return self.n_runs

    def forget_shards(self) -> None:
        """Let go of the shards; what tells whether a fit may go on stays."""
        self.source = Memory([])

    def batch_of(self, unexplained: np.ndarray) -> Batch:
        """How much there is; shards tell how long the sequences left out are."""
        n_sequences, n_tokens = self.corpus.n_sequences - len(unexplained), self.n_tokens
        if len(unexplained):
            n_tokens -= int(self.source.ask("n_tokens_of", unexplained).total)
        return Batch(n_tokens, n_sequences, self.corpus.uses(self.n_words)[: self.n_words])


class Whole(InParts):
    """Chains in shards.

    Parameters
    ----------
    cells : Cells
    digest : Corpus
    facts : list of Facts
    source : Source
    """

    chain: type[ShardedChain] = ShardedChain

    def __init__(self, cells: Cells, digest: Corpus, facts: list[Facts], source: Source) -> None:
        super().__init__(digest, facts, source)
        self.cells, self.n_words = cells, cells.n_words
        self.any_told = any(one.of_model.any_told for one in facts)
        self.any_choice = any(one.of_model.any_choice for one in facts)

    @property
    def identity(self) -> tuple[Any, ...]:
        """What a digest tells of the sequences; the cut is free."""
        cells, corpus = self.cells, self.corpus
        steps = cells.state, cells.n_states, cells.topology
        return (corpus.uses(cells.n_words), corpus.n_sequences, *steps)

    def of_given(self, unexplained: np.ndarray) -> np.ndarray:
        """The same: shards say themselves which of the given sequences they leave out."""
        return unexplained

    def left_paths(self, hmm: Any, state: Any, read: Reading) -> dict[str, Any]:
        """The weights of the states alone: paths are for `predict`, where the sequences are."""
        return shared_weights(state.hyper, None)


def refuse_in_shards(hmm: Any) -> None:
    """Raise on settings that a corpus in shards does not have."""
    name = type(hmm).__name__
    if not hasattr(type(hmm), "partial_fit"):
        raise InvalidParameterError(f"{name} does not learn in shards: use EM, VB or CVB")
    if not hmm._observed.has_vocabulary:
        raise InvalidParameterError(
            f"{name} learns numbers from a corpus in one piece: in shards use "
            "emission='categorical'"
        )
    if getattr(hmm, "update", "") == "token":
        raise InvalidParameterError(
            "in shards CVB leaves out a sequence or a window at a time: use update='sequence', got "
            "update='token'"
        )


def shard_of(layout: Layout, part: Part, place: Place) -> ChainShard:
    """The shard of a part, under a layout."""
    problem, messages = problem_of_part(layout, part)
    said = tuple(f"part {place.number}: {message}" for message in messages)
    return ChainShard(chain_of(layout, problem), place, said)


def chain_of(layout: Layout, problem: Problem) -> SymbolChain:
    """The chain of a part; whoever asks parts has the threads."""
    settings = layout.estimator._chain_settings(Reading(problem, layout.words, {}))
    return SymbolChain(problem, settings._replace(n_threads=1))


def read_in_shards(laid_out: LaidOut, facts: list[Facts], source: Source) -> Reading:
    """What a model learns from, once all shards are laid out."""
    words, cells = finished(laid_out)
    of_shards = (message for one in facts for message in one.warnings)
    return Reading(
        Whole(cells, laid_out.corpus, facts, source),
        words,
        laid_out.layout.estimator._attributes_of_words(words),
        (*laid_out.messages, *of_shards),
    )


def read_here(hmm: Any, parts: Sequence[tuple[Any, Any]]) -> Reading:
    """Parts ``(X, y)`` of a corpus, each a shard of this process."""
    refuse_in_shards(hmm)
    read: list[Part] = [read_part(X, y) for X, y in parts]
    laid_out = lay_out(hmm, summed([survey_of(hmm, part) for part in read], merged))
    places = places_of([part.corpus.n_sequences for part in read])
    shards = [shard_of(laid_out.as_sent, *given) for given in zip(read, places, strict=True)]
    return read_in_shards(laid_out, [shard.facts() for shard in shards], Memory(shards))
