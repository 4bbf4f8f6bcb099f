"""Chains of numbers in shards: surveys of parts, the layout for all, the sharded model of series.

A first pass gives moments of the columns, to which the emission is bound. The steps that clusters
are sought among are drawn for all parts alike, so that a fit starts as one on all series would.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain.numbers import observed as numbers
from sklearn_cvb.chain.numbers.clusters import values_at
from sklearn_cvb.chain.numbers.e_step import NumberWeights, NumericProblem
from sklearn_cvb.chain.numbers.model import NumberChain
from sklearn_cvb.chain.numbers.observed import NumberObservation
from sklearn_cvb.chain.numbers.series import cautions_of_order, read_observations, split_into_steps
from sklearn_cvb.chain.numbers.starts import model_posterior, seed_for, statistics_at
from sklearn_cvb.chain.parameters.rows import (
    ChainConcentrations,
    ChainPrior,
    HMMCounts,
    shared_weights,
    uniform_weights,
)
from sklearn_cvb.chain.paths.lattice import Cells
from sklearn_cvb.chain.paths.transitions import refuse_durations, refuse_varying
from sklearn_cvb.emissions.emission import Family, refuse_learning_from_steps
from sklearn_cvb.learning.generators import generator_at
from sklearn_cvb.learning.learned import FitResult, Reading
from sklearn_cvb.learning.model import InferenceResult
from sklearn_cvb.reading.corpus import Corpus
from sklearn_cvb.reading.moments import Moments, moments_of
from sklearn_cvb.reading.moments import merged as merged_moments
from sklearn_cvb.reading.series import (
    FittedColumns,
    Series,
    attributes_of_columns,
    cautions_of_columns,
    read_series,
)
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.scale.parts import (
    PartIndex,
    PartResult,
    PartSummary,
    ProblemInParts,
    Shard,
    ShardedModel,
    ShardSource,
)
from sklearn_cvb.settings import HMMParameters, window_for

# Numbers drawn at a time to get to where the steps of a shard begin.
_BLOCK = 2**20


class NumberPart(NamedTuple):
    """Some series, and what is known of their states."""

    series: Series
    y: Any

    @property
    def corpus(self) -> Corpus:
        """Which steps make which sequence."""
        return self.series.corpus

    @property
    def content(self) -> tuple[Any, ...]:
        """Its data, by which it is recognised."""
        return self.series.table, self.corpus.starts


class NumberSurvey(NamedTuple):
    """Moments, columns and lengths of the series of some parts, from a first pass."""

    moments: Moments
    names: list[Any] | None
    n_steps: int
    longest: int  # steps of the longest sequence


class NumberPartLayout(NamedTuple):
    """The layout of parts, which is sent to where these are."""

    observation: NumberObservation
    cells: Cells
    family: Family
    names: list[Any] | None
    block_length: int | None  # of windows, where one sequence is most of the data
    settings: bytes


class NumberPlan(NamedTuple):
    """A layout, and the survey that it was made from."""

    part_layout: NumberPartLayout
    survey: NumberSurvey


def read_part(X: Any, y: Any = None) -> NumberPart:
    """Read a part; messages name sequences by their place in it."""
    return NumberPart(read_series(X), y)


def survey_of(model: Any, part: NumberPart) -> NumberSurvey:
    """The survey of a part."""
    series, longest = part.series, int(np.diff(part.corpus.starts).max())
    return NumberSurvey(moments_of(series.table), series.names, len(series.table), longest)


def merge_surveys(one: NumberSurvey, other: NumberSurvey) -> NumberSurvey:
    """The survey of two parts together; ValueError where their columns differ."""
    both = [len(part.moments.means) if part.names is None else part.names for part in (one, other)]
    if both[0] != both[1]:
        raise ValueError(f"partitions of X have several columns: {both[0]!r}, and {both[1]!r}")
    after = other.moments._replace(step_of_widest=other.moments.step_of_widest + one.n_steps)
    moments = merged_moments(one.moments, after)
    longest = max(one.longest, other.longest)
    return NumberSurvey(moments, one.names, one.n_steps + other.n_steps, longest)


class NumberShard(Shard):
    """A shard: a chain of some series."""

    def _steps_held_here(
        self, steps: np.ndarray, begins: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Places of steps in this shard, and whether each is in it."""
        own = steps - begins[self.index.number]
        return own, (own >= 0) & (own < len(self._sequences.tokens))

    def steps_at(self, steps: np.ndarray, begins: np.ndarray, roots: bool) -> PartResult:
        """Values of some steps, as the counts; 0 where they are in other shards."""
        own, is_here = self._steps_held_here(steps, begins)
        problem = self.model.problem
        roots_of = problem.family if roots else None
        here = values_at(problem.observations, own[is_here], roots_of=roots_of)
        values = np.zeros((len(steps), here.shape[1]))
        values[is_here] = here
        return PartResult(values, 0.0)

    def known_at(self, steps: np.ndarray, begins: np.ndarray) -> PartResult:
        """1 and the known state of each step, as the counts; 0 where it is not known, or here."""
        own, is_here = self._steps_held_here(steps, begins)
        known, found = self.model.problem.known, np.zeros(len(steps))
        if known is not None:
            found[is_here] = 1.0 + known[own[is_here]]
        return PartResult(found, 0.0)

    def lengths(self, n_sequences: int) -> PartResult:
        """Lengths of the sequences of all shards, as the counts; 0 for those of others."""
        found, own = np.zeros(n_sequences), np.diff(self._sequences.starts)
        found[self.index.first_unit : self.index.first_unit + len(own)] = own
        return PartResult(found, 0.0)

    def statistics_at(self, steps: np.ndarray, begins: np.ndarray) -> PartResult:
        """Statistics of a step for each state, as the counts; 0 where it is in other shards."""
        own, is_here = self._steps_held_here(steps, begins)
        own, problem = np.where(is_here, own, -1), self.model.problem
        return PartResult(statistics_at(problem.observations, own, problem.family), 0.0)

    def _own_seed(self, seed: Any) -> Any:
        return generator_at(seed[self.index.number]) if type(seed) is list else seed

    def _start_from_counts(self, counts: HMMCounts, prior: ChainPrior) -> HMMCounts:
        return counts

    def _absence(self, shares: Any) -> None:
        return None


class StepsInShards:
    """All steps of series in shards, as starts ask for them (see `starts.AllSteps`)."""

    is_elsewhere = True
    times = None

    def __init__(self, problem: "NumbersInParts") -> None:
        self.problem = problem
        self._ask = problem.source.ask
        self._begins: np.ndarray = np.cumsum([0, *(one.n_tokens for one in problem.summaries)])
        self.n_steps: int = int(self._begins[-1])

    @property
    def starts(self) -> np.ndarray:
        """Where sequences begin, and the number of steps."""
        lengths = self._ask("lengths", self.problem.n_sequences).counts
        return np.append(0, np.cumsum(lengths.astype(np.int64)))

    def values_at(self, steps: np.ndarray, *, roots_of: Family | None = None) -> np.ndarray:
        """All columns of some steps (see `clusters.values_at`)."""
        found: np.ndarray = self._ask("steps_at", steps, self._begins, roots_of is not None).counts
        return found

    def known_at(self, steps: np.ndarray) -> np.ndarray | None:
        """States of some steps, -1 where not known; None where none are."""
        known = self._ask("known_at", steps, self._begins).counts.astype(np.int64) - 1
        return known if (known >= 0).any() else None

    def values_of_known_states(self) -> list[Any]:
        """Nothing: steps whose states are known are among those that are asked for."""
        return []

    def statistics_at(self, steps: np.ndarray) -> np.ndarray:
        """Statistics of one step for each state."""
        found: np.ndarray = self._ask("statistics_at", steps, self._begins).counts
        return found

    def counts_under(self, seed: Any) -> HMMCounts:
        """First counts of all steps, from a seed that was drawn for all of them."""
        found: HMMCounts = self._ask("start", seed).counts
        return found


class ShardedNumbers(ShardedModel, NumberChain):
    """A chain whose series are in shards."""

    def hyper_in(self, prior: ChainPrior) -> ChainConcentrations:
        """The concentrations that a prior was made from."""
        return prior.concentrations

    def seed(self, prior: ChainPrior, rng: np.random.Generator) -> Any:
        """A seed for all shards: clusters, weights, or states of the generator for each."""
        sizes, n = [one.n_tokens for one in self.problem.summaries], self.cells.n_emitting
        if isinstance(self.init, str) and self.init == "token":
            states = []
            for size in sizes:
                states.append(rng.bit_generator.state)
                for begin in range(0, size * n, _BLOCK):
                    rng.standard_exponential(min(_BLOCK, size * n - begin))
            return states
        found = seed_for(StepsInShards(self.problem), self.init, rng)
        if found is not self.init:
            return found
        # Of a model every shard has its own posteriors.
        return [rng.bit_generator.state] * len(sizes)

    def start(
        self, prior: ChainPrior, seed: Any, keep: bool
    ) -> tuple[InferenceResult, NumberWeights | None]:
        """First counts of all shards."""
        if keep:
            return super().start(prior, seed, keep)
        if isinstance(seed, NumberWeights):
            begun = self.infer(seed)
            return InferenceResult(begun.counts, begun.log_normaliser), seed
        counts = self.problem.source.ask("start", seed).counts
        return InferenceResult(counts, 0.0), NumberWeights(uniform_weights(self.cells))


class RemoteSeries(NamedTuple):
    """How many series there are, where they are elsewhere."""

    n_sequences: int


class NumbersInParts(ProblemInParts):
    """A problem whose series are in shards."""

    any_ambiguous = True
    known = inputs = None
    chain: type[ShardedNumbers] = ShardedNumbers

    def __init__(self, plan: NumberPlan, summaries: list[PartSummary], source: ShardSource) -> None:
        super().__init__(summaries, source)
        self.corpus: RemoteSeries = RemoteSeries(self.n_sequences)
        self.original: RemoteSeries = self.corpus
        self.cells: Cells = plan.part_layout.cells
        self.family: Family = plan.part_layout.family
        self.settings: bytes = plan.part_layout.settings
        self.survey: NumberSurvey = plan.survey
        self.columns: FittedColumns = FittedColumns(plan.part_layout.names)
        self.rows_are_sequences = False

    @property
    def identity(self) -> tuple[Any, ...]:
        """Moments of the series, emission and states; how they are cut is free."""
        moments = self.survey.moments
        sizes = self.survey.n_steps, moments.n_observed, moments.widest
        return (*sizes, self.settings, self.cells.n_states, self.cells.chain.topology)

    def original_sequences(self, unexplained: np.ndarray) -> np.ndarray:
        """The same: shards say themselves which series they leave out."""
        return unexplained

    def path_attributes(self, result: FitResult) -> dict[str, Any]:
        """The weights of the states alone: paths are for `predict`, where the series are."""
        return shared_weights(result.best.state.hyper, None)


# What is asked of a family in parts


def refuse_in_shards(observation: NumberObservation) -> None:
    """Raise on settings that series in shards do not have."""
    options = observation.options
    init, transitions = options.init, options.transitions
    if options.samples is not None:
        raise InvalidParameterError(f"{options.name} does not learn in shards: use EM, VB or CVB")
    numbers.refuse_settings_of_symbols(options)
    refuse_varying(transitions.varies_by, "shards: fit in memory")
    refuse_durations(transitions.durations is not None, "shards: fit in memory, or a store")
    if options.hdp is not None:
        raise InvalidParameterError(
            "in shards series do not learn an HDP: leave the prior of transitions as it is, or fit "
            "a store"
        )
    is_model, is_given = hasattr(init, "predict_proba"), isinstance(init, HMMParameters)
    if not (init is None or is_model or is_given or isinstance(init, str)):
        raise InvalidParameterError(
            "arrays as `init` are for series in one piece: in shards give the name of a start, "
            "HMMParameters, or a fitted model"
        )


def lay_out(observation: NumberObservation, survey: NumberSurvey) -> NumberPlan:
    """Lay out a model from the survey of all parts."""
    observation.check()
    options = observation.options
    cells, family, settings = numbers.layout_of(options, survey.names, survey.moments)
    refuse_learning_from_steps(family, "shards: fit in memory")
    if family.order:
        cautions_of_order(family.order, np.array([survey.longest]))
    window = window_for(survey.longest, survey.n_steps)
    sent = NumberPartLayout(observation, cells, family, survey.names, window, settings)
    return NumberPlan(sent, survey)


def shard_of(sent: NumberPartLayout, part: NumberPart, index: PartIndex) -> NumberShard:
    """The shard of a part under a layout."""
    observation, cells, family, names, window, settings = sent
    options, series, given, start = observation.options, part.series, part.corpus, None
    if hasattr(options.init, "predict_proba"):
        start = model_posterior(options.init, series, given, cells.n_emitting)
    problem = NumericProblem(
        split_into_steps(given, cells),
        given,
        read_observations(series, family),
        family,
        cells,
        FittedColumns(names),
        False,
        start,
        settings,
        numbers.labelled_states(options, part.y, given, cells),
        is_part=True,
    )
    chain = observation.model(Reading(problem, None, {}))
    # Windows are those that whoever knows all series has chosen; threads are for shards.
    window = window if chain.block_length is None else chain.block_length
    return NumberShard(replace(chain, block_length=window, n_threads=1), index)


def read_in_shards(plan: NumberPlan, summaries: list[PartSummary], source: ShardSource) -> Reading:
    """The reading that a model is fitted to, once all shards are laid out."""
    sent, survey = plan
    n_observed = survey.moments.n_observed
    return Reading(
        NumbersInParts(plan, summaries, source),
        None,
        attributes_of_columns(len(n_observed), FittedColumns(sent.names)),
        tuple(cautions_of_columns(n_observed == 0, sent.names)),
        sent.observation,
    )
