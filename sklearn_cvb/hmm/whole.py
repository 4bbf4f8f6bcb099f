"""A fit on a corpus in shards: the plain fit, whose sweeps ask the shards and add what they find.

A model that is fitted on a `Whole` runs the template of `sklearn_cvb.base` as it stands: restarts,
schedule, history, what is left. Only its start, its sweeps and its score go to the shards, here or
on other machines.
"""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sklearn_cvb.corpus import Corpus
from sklearn_cvb.hmm.base import BaseHMM
from sklearn_cvb.hmm.collapsing import CollapsedHMM
from sklearn_cvb.hmm.model import SymbolChain
from sklearn_cvb.hmm.shards import ChainShard, ShardedChain
from sklearn_cvb.hmm.streaming import StreamingHMM
from sklearn_cvb.hmm.survey import (
    LaidOut,
    Part,
    finish,
    lay_out,
    merged,
    problem_of_part,
    read_part,
    survey_of,
)
from sklearn_cvb.lattice import Cells, Problem
from sklearn_cvb.learning.parts import Facts, Memory, Place, Source, places_of, summed
from sklearn_cvb.streaming import Seen
from sklearn_cvb.validation import InvalidParameterError

if TYPE_CHECKING:
    from sklearn_cvb.hmm.base import BaseHMM as _Model
else:
    _Model = object


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


class Whole(InParts):
    """Chains in shards.

    Parameters
    ----------
    cells : Cells
    digest : Corpus
    facts : list of Facts
    source : Source
    """

    # Shards say themselves which of the given sequences they leave out.
    sequences = places = left_out = None

    def __init__(self, cells: Cells, digest: Corpus, facts: list[Facts], source: Source) -> None:
        super().__init__(digest, facts, source)
        self.cells, self.n_words = cells, cells.n_words
        self.any_told = any(one.of_model.any_told for one in facts)
        self.any_choice = any(one.of_model.any_choice for one in facts)


class InShards:
    """What all models do otherwise where the sequences are in shards."""

    # Shards hold one restart at a time.
    _restart_jobs = 1

    def _problem(self, X: Any, y: Any) -> Any:
        return X

    def _warn_of_data(self, problem: Any) -> None:
        """Nothing: no shard is left out as a whole."""

    def _seen_with(self, problem: Any, unexplained: np.ndarray, before: Seen | None) -> Seen:
        """What `partial_fit` goes on from; shards tell how long the sequences left out are."""
        uses = self._uses_of_words(problem)
        n_sequences, n_tokens = problem.corpus.n_sequences - len(unexplained), problem.n_tokens
        if len(unexplained):
            n_tokens -= int(problem.source.ask("n_tokens_of", unexplained).total)
        return Seen(n_tokens, n_sequences, float(n_tokens), 0, uses)

    def _uses_of_words(self, problem: Any) -> np.ndarray:
        return problem.corpus.uses(problem.n_words)[: problem.n_words]


class ShardedHMM(InShards, _Model):
    """What all algorithms do otherwise where the problem is a `Whole`."""

    def _any_choice(self, problem: Any) -> bool:
        return problem.any_choice

    def _fitted_paths(self, state: Any, problem: Any) -> dict[str, Any]:
        """The weights of the states alone: paths are for `predict`, where the sequences are."""
        found = self._shared_weights(state.hyper, np.zeros(1, np.intp))
        found.pop("n_effective_components_", None)
        return found

    def _identity(self, problem: Any) -> tuple[Any, ...]:
        """What a digest tells of the sequences; the cut is free."""
        cells, corpus = problem.cells, problem.corpus
        steps = cells.state, cells.n_states, cells.topology
        return (corpus.uses(cells.n_words), corpus.n_sequences, *steps)

    def _model(self, problem: Any) -> Any:
        # A piece of a store is a chain by itself.
        kind = ShardedChain if isinstance(problem, Whole) else SymbolChain
        return kind(problem, self._chain_settings(problem))


def refuse_in_shards(model: BaseHMM) -> None:
    """Raise on settings that a corpus in shards does not have."""
    name = type(model).__name__
    if not isinstance(model, StreamingHMM):
        raise InvalidParameterError(f"{name} does not learn in shards: use EM, VB or CVB")
    if not model._observed.has_vocabulary:
        raise InvalidParameterError(
            f"{name} learns numbers from a corpus in one piece: in shards use "
            "emission='categorical'"
        )
    if isinstance(model, CollapsedHMM) and model.update == "token":
        raise InvalidParameterError(
            "in shards CVB leaves out a sequence or a window at a time: use update='sequence', got "
            f"update={model.update!r}"
        )


def shard_of(model: BaseHMM, part: Part, place: Place) -> ChainShard:
    """The shard of a part, under a model that was laid out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        problem = problem_of_part(model, part)
    messages = tuple(f"part {place.number}: {one.message}" for one in caught)
    return ChainShard(chain_of(model, problem), place, messages)


def chain_of(model: BaseHMM, problem: Problem) -> SymbolChain:
    """The chain of a part; whoever asks parts has the threads."""
    return SymbolChain(problem, model._chain_settings(problem)._replace(n_threads=1))


def fit_whole(model: BaseHMM, whole: Whole) -> None:
    """Fit a model on a problem in shards; it is left as a plain fit leaves it, without labels."""
    fit_as(ShardedHMM, model, whole)


def fit_as(kind: type, model: Any, whole: Any) -> None:
    """Fit a model with the hooks of `kind` before its own."""
    one = type(model)
    sharded: Any = object.__new__(type(one.__name__, (kind, one), {"__module__": one.__module__}))
    # The same attributes: what the fit sets is set on the model.
    sharded.__dict__ = model.__dict__
    sharded.fit(whole)


def fit_here(model: BaseHMM, parts: Sequence[tuple[Any, Any]]) -> Whole:
    """Fit a model on parts ``(X, y)`` of a corpus, each a shard of this process."""
    refuse_in_shards(model)
    read: list[Part] = [read_part(X, y) for X, y in parts]
    laid_out = lay_out(model, summed([survey_of(model, part) for part in read], merged))
    places = places_of([part.corpus.n_sequences for part in read])
    shards = [shard_of(laid_out.model, *given) for given in zip(read, places, strict=True)]
    whole = whole_of(model, laid_out, [shard.facts() for shard in shards], Memory(shards))
    fit_whole(model, whole)
    return whole


def whole_of(model: BaseHMM, laid_out: LaidOut, facts: list[Facts], source: Source) -> Whole:
    """The problem in shards that a model learns from, once all parts are laid out."""
    for one in facts:
        for message in one.warnings:
            warnings.warn(message, UserWarning, stacklevel=4)
    finish(model, laid_out)
    return Whole(model._cells, laid_out.corpus, facts, source)
