"""Chains of symbols in shards: a start drawn for all, the sharded model, and a corpus in parts.

The fit is the plain one, of a `ShardedChain` bound to a `ChainInParts`; it asks the shards, here or
on other machines, and adds their answers (see `sklearn_cvb.scale.parts`). It starts as a fit on the
whole corpus would, however that is cut: the leader of the fit draws a `SharedStart`, and every
shard makes its own part of the start from it.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.parameters import rows as parameters
from sklearn_cvb.chain.paths.lattice import Cells, Problem, refuse_without_paths
from sklearn_cvb.chain.starts import starting_points as starting
from sklearn_cvb.chain.starts.starting_points import StartingPoint
from sklearn_cvb.chain.starts.state_merging import StateMerging
from sklearn_cvb.chain.symbols.model import SymbolChain, VBWeights, merged_start
from sklearn_cvb.chain.symbols.observed import SymbolObservation
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights
from sklearn_cvb.learning.generators import generator_at
from sklearn_cvb.learning.learned import FitResult, Reading
from sklearn_cvb.learning.model import InferenceResult
from sklearn_cvb.reading.corpus import Corpus
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.scale.parts import (
    LogsNeeded,
    PartIndex,
    PartResult,
    PartSummary,
    ProblemInParts,
    Shard,
    ShardedModel,
    ShardSource,
)
from sklearn_cvb.scale.symbols.vocabulary_pass import (
    SymbolPart,
    SymbolPartLayout,
    SymbolPlan,
    lay_out,
    merge_surveys,
    problem_of_part,
    read_part,
    words_and_cells,
)
from sklearn_cvb.scale.symbols.vocabulary_pass import word_counts_of as survey_of
from sklearn_cvb.settings import HMMParameters

# What is asked of a family in parts (see `vocabulary_pass.read_local_parts`).
__all__ = [
    "lay_out",
    "merge_surveys",
    "read_in_shards",
    "read_part",
    "shard_of",
    "survey_of",
]

# Numbers drawn at a time to get to where the tokens of a shard begin.
_BLOCK = 2**20


class SharedStart(NamedTuple):
    """A start drawn for all shards: one of these fields."""

    # Of a first E-step, with zeros where a topology rules steps out: "parameter", "unambiguous",
    # and fitted models.
    weights: ChainWeights | None = None
    words: np.ndarray | None = None  # what "word" draws, (n_cells + 1,)
    tables: ChainWeights | None = None  # the steps between all tokens, for "context"
    cuts: np.ndarray | None = None  # of states in order, as shares of each sequence
    # For "token": states of the random generator, where the tokens of each shard begin.
    randomness: list[Any] | None = None


def start_of(seed: SharedStart, problem: Problem, number: int) -> StartingPoint:
    """The start of the shard with this number."""
    if seed.weights is not None:
        return StartingPoint(None, seed.weights)
    if seed.words is not None:
        start = starting.words_start(problem, seed.words)
    elif seed.cuts is not None:
        start = starting.segments_start(problem, seed.cuts)
    elif seed.tables is not None:
        start = starting.neighbours_start(problem, seed.tables)
    else:
        assert seed.randomness is not None, "a seed holds one of its fields"
        start = starting.token_start(problem, generator_at(seed.randomness[number]))
    return starting.legal_start(start, problem)


class ShippedWeights(NamedTuple):
    """Weights as they are sent to shards: with logs only once a shard has needed them."""

    weights: ChainWeights
    shipped_logs: ChainWeights | None = None

    def logs(self, cells: Cells) -> ChainWeights:
        """The logs that were sent; LogsNeeded where none were."""
        if self.shipped_logs is None:
            raise LogsNeeded
        return self.shipped_logs


class ChainFacts(NamedTuple):
    """Facts of some sequences that a start needs."""

    n_entries: int  # (token, state) entries of the problem
    any_certain: bool  # whether a token has a single state
    any_ambiguous: bool  # whether one has several
    # Words of the sequences that no path explains, and how often.
    impossible_words: tuple[tuple[int, int], ...]


class ChainShard(Shard):
    """A shard: a chain of some sequences."""

    def steps(self, init: str) -> PartResult:
        """Counts of starts and transitions for the start "unambiguous" or "context"."""
        problem = self.model.problem
        steps = problem.runs.start, problem.runs.transition
        if init == "context":
            steps = starting.independent_chain_counts(problem)
        return PartResult(parameters.HMMCounts(*steps, np.empty(0)), 0.0)

    def emitted(self, cuts: np.ndarray) -> PartResult:
        """How often segments emit each cell, as the counts."""
        return PartResult(starting.emitted_in_segments(self.model.problem, cuts), 0.0)

    def _start_facts(self) -> ChainFacts:
        problem, impossible_words = self.model.problem, ()
        if problem.impossible is not None:
            tokens = problem.impossible.corpus.tokens
            words, uses = np.unique(tokens[tokens >= 0], return_counts=True)
            impossible_words = tuple(zip(words.tolist(), uses.tolist(), strict=True))
        n_entries = int(problem.lattice.count.sum())
        return ChainFacts(n_entries, problem.any_certain, problem.any_ambiguous, impossible_words)

    def _own_seed(self, seed: SharedStart) -> Any:
        return partial(start_of, seed, self.model.problem, self.index.number)

    def _with_sweep_number(self, shares: Any, n_sweeps: int) -> Any:
        return shares._replace(n_sweeps=n_sweeps)


class ShardedChain(ShardedModel, SymbolChain):
    """A chain whose sequences are in shards."""

    def hyper_in(self, prior: parameters.ChainPrior) -> parameters.ChainConcentrations:
        """The concentrations that a prior was made from."""
        return prior.concentrations

    def seed(self, prior: parameters.ChainPrior, rng: np.random.Generator) -> SharedStart:
        """The start that is drawn for all shards."""
        init, cells, weights = self.settings.init, self.cells, None
        if isinstance(init, StateMerging):
            weights = merged_start(self, init, rng).weights
        elif hasattr(init, "predict_proba"):
            vocabulary = self.settings.vocabulary
            weights = starting.model_start(self.problem, init, prior, vocabulary).weights
        elif isinstance(init, HMMParameters):
            vocabulary, ask = self.settings.vocabulary, self.problem.source.ask
            weights = starting.table_weights(
                init, cells, vocabulary, rng, lambda cuts: ask("emitted", cuts).counts
            )
        elif not isinstance(init, str):
            raise InvalidParameterError(
                "arrays as `init` are for corpora in one piece: in shards give the name of a "
                "start, HMMParameters, or a fitted model"
            )
        elif init == "token":
            # Where the generator is as the entries of each shard begin; it goes on behind them all.
            states = []
            for one in self.problem.summaries:
                states.append(rng.bit_generator.state)
                size = one.start_facts.n_entries
                for begin in range(0, size, _BLOCK):
                    rng.standard_exponential(min(_BLOCK, size - begin))
            return SharedStart(randomness=states)
        elif init == "word":
            return SharedStart(words=starting.word_weights(cells, rng))
        elif init in (starting.SEGMENTS, starting.CUTS):
            return SharedStart(cuts=starting.cuts_of(init, cells.n_emitting, rng))
        elif init == "parameter":
            weights = starting.parameter_weights(cells, rng)
        else:
            steps = self.problem.source.ask("steps", init).counts
            if init == "context":
                tables = starting.context_tables(steps.start, steps.transition, cells)
                return SharedStart(tables=tables)
            flat = np.ones(len(cells.state))
            weights = starting.smooth_weights(steps.start, steps.transition, flat)
        assert weights is not None, "of a model"
        return SharedStart(weights=parameters.kept_to_topology(weights, cells))

    def start(
        self, prior: parameters.ChainPrior, seed: SharedStart, keep: bool
    ) -> tuple[InferenceResult, ChainWeights | None]:
        """First counts of all shards: of posteriors that each of them makes, or of an E-step."""
        if keep or hasattr(self.settings.init, "predict_proba"):
            return super().start(prior, seed, keep)
        if seed.weights is not None:
            return super().start(prior, StartingPoint(None, seed.weights), keep)
        counts = self.problem.source.ask("start", seed).counts
        return InferenceResult(counts, 0.0), parameters.uniform_weights(self.cells)

    def infer(self, weights: ChainWeights | VBWeights, work: Any = None) -> InferenceResult:
        """Expected counts of all shards; logs are sent where one of them needs any."""
        plain = weights.weights if isinstance(weights, VBWeights) else weights
        try:
            return super().infer(ShippedWeights(plain))
        except LogsNeeded:
            if isinstance(weights, VBWeights):
                return super().infer(ShippedWeights(plain, weights.logs(self.cells)))
            return super().infer(ShippedWeights(plain, parameters.log_weights(plain)))


# What a fit knows of a corpus whose sequences are elsewhere


class RemoteCorpus:
    """Uses of word types and number of sequences of a corpus that is elsewhere."""

    def __init__(self, types: Corpus, n_sequences: int) -> None:
        self._types = types
        self.unknown: list[Any] = types.unknown
        self.n_sequences = n_sequences
        self.n_observed: int = types.n_observed
        # Words of the sequences that are not learned from, and how often.
        self.impossible_words: list[tuple[int, int]] = []

    def uses_given(self, n_types: int = 0) -> np.ndarray:
        """How often each type is observed."""
        return self._types.uses(n_types)

    def uses(self, n_types: int = 0) -> np.ndarray:
        """How often each type is observed in the sequences that are learned from."""
        uses = self._types.uses(n_types).copy()
        for word, n_uses in self.impossible_words:
            uses[word] -= n_uses
        return uses


class CorpusInParts(ProblemInParts):
    """A problem whose sequences are in shards, with a corpus of its word types."""

    n_words: int

    def __init__(self, types: Corpus, summaries: list[PartSummary], source: ShardSource) -> None:
        super().__init__(summaries, source)
        self.corpus: RemoteCorpus = RemoteCorpus(types, self.n_sequences)

    @property
    def word_uses(self) -> np.ndarray:
        """How often each word of the vocabulary is observed."""
        return self.corpus.uses_given(self.n_words)[: self.n_words]


class ChainInParts(CorpusInParts):
    """A problem of chains whose sequences are in shards."""

    chain: type[ShardedChain] = ShardedChain
    cells: Cells
    n_words: int
    # Tokens of the longest sequence and of all, where they are known.
    longest: tuple[int, int] = (0, 0)

    def __init__(
        self, cells: Cells, types: Corpus, summaries: list[PartSummary], source: ShardSource
    ) -> None:
        super().__init__(types, summaries, source)
        self.cells, self.n_words = cells, cells.n_words
        refuse_without_paths(sum(one.start_facts.n_entries for one in summaries))
        self.corpus.impossible_words = [
            word for one in summaries for word in one.start_facts.impossible_words
        ]
        self.any_certain: bool = any(one.start_facts.any_certain for one in summaries)
        self.any_ambiguous: bool = any(one.start_facts.any_ambiguous for one in summaries)

    @property
    def n_explained(self) -> int:
        """How many tokens are observed where a path explains them."""
        return sum(one.n_observed for one in self.summaries)

    @property
    def identity(self) -> tuple[Any, ...]:
        """Uses of word types, number of sequences and layout; how they are cut is free."""
        cells, corpus = self.cells, self.corpus
        steps = cells.state, cells.n_states, cells.chain.topology
        return (corpus.uses(cells.n_words), corpus.n_sequences, *steps)

    def original_sequences(self, unexplained: np.ndarray) -> np.ndarray:
        """The same: shards say themselves which of the given sequences they leave out."""
        return unexplained

    def path_attributes(self, result: FitResult) -> dict[str, Any]:
        """The weights of the states alone: paths are for `predict`, where the sequences are."""
        return parameters.shared_weights(result.best.state.hyper, None)


# Reading


def refuse_in_shards(observation: SymbolObservation) -> None:
    """Raise on settings that a corpus in shards does not have."""
    options = observation.options
    if options.samples is not None:
        raise InvalidParameterError(f"{options.name} does not learn in shards: use EM, VB or CVB")
    if options.update == "token":
        raise InvalidParameterError(
            "in shards CVB leaves out a sequence or a window at a time: use update='sequence', got "
            "update='token'"
        )


def shard_of(layout: SymbolPartLayout, part: SymbolPart, index: PartIndex) -> ChainShard:
    """The shard of a part under a layout."""
    problem, messages = problem_of_part(layout, part)
    said = tuple(f"part {index.number}: {message}" for message in messages)
    return ChainShard(chain_of(layout, problem), index, said)


def chain_of(layout: SymbolPartLayout, problem: Problem) -> SymbolChain:
    """The chain of a part, on one thread: parts are asked on several."""
    settings = layout.observation.settings(Reading(problem, layout.words, {}))
    return SymbolChain(problem, settings._replace(n_threads=1))


def read_in_shards(plan: SymbolPlan, summaries: list[PartSummary], source: ShardSource) -> Reading:
    """The reading that a model is fitted to, once all shards are laid out."""
    words, cells = words_and_cells(plan)
    of_shards = (message for one in summaries for message in one.warnings)
    return Reading(
        ChainInParts(cells, plan.corpus, summaries, source),
        words,
        plan.layout.observation.attributes_of(words),
        (*plan.messages, *of_shards),
        plan.layout.observation,
    )
