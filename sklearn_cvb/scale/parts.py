"""Sharded models: a corpus in parts, each a model of its own under the parameters of the whole.

Shards may be in this process, on the disk or on other machines: a `ShardSource` knows where. Each
is a model of its own units, laid out under the cells of all. The leader of a fit sends weights (EM,
VB) or counts (collapsed variational Bayes) and gets expected counts, added in the order of the
shards, so that sums do not depend on where or when a shard was asked.

In a round of collapsed variational Bayes a shard sweeps through its own units from the counts of
all: its own changes count at once, those of others a round later (Newman et al. 2009, of samplers).
A shard that was lost and made again has no shares: it infers them once under the counts of all, its
own lost ones among them; the sum of counts is right again after it.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from sklearn_cvb.learning.model import NOBODY, InferenceResult, Model, State, add_arrays


class PartIndex(NamedTuple):
    """The number of a shard, and the number of its first unit among those of all shards."""

    number: int
    first_unit: int


def part_indices(sizes: Sequence[int]) -> list[PartIndex]:
    """The indices of shards with this many units."""
    firsts = np.cumsum([0, *sizes]).tolist()
    return [PartIndex(number, first) for number, first in enumerate(firsts[:-1])]


class PartSummary(NamedTuple):
    """Sizes of a shard, facts that starts need, and warnings, for the leader of a fit."""

    n_sequences: int
    n_tokens: int
    n_observed: int  # of the sequences that have a path
    start_facts: Any  # what starts need of its units (`Shard._start_facts`)
    warnings: tuple[str, ...] = ()


class PartResult(NamedTuple):
    """The contribution of a shard, or of several, to a round of a fit."""

    counts: Any  # expected counts of its units; () where none are asked for
    log_normaliser: float  # sum of log Z, or of the log normalisers of what was left out (nats)
    unexplained: np.ndarray = NOBODY  # by their number among the units of all shards
    absence: Any = None  # P(C = 0) in its units; None where nobody asks, or not known


class LogsNeeded(Exception):
    """Float64 lost a sequence: a shard needs the logs of the weights, made without underflow."""


def add_results(one: PartResult, other: PartResult) -> PartResult:
    """The contributions of two shards, or of neighbouring groups of them, as one."""
    absence = None
    if one.absence is not None and other.absence is not None:
        absence = type(one.absence)(*map(np.multiply, one.absence, other.absence))
    return PartResult(
        add_arrays(one.counts, other.counts),
        one.log_normaliser + other.log_normaliser,
        np.concatenate([one.unexplained, other.unexplained]),
        absence,
    )


def tree_sum(results: Sequence[Any], add: Callable[..., Any] = add_results) -> Any:
    """The sum over all shards, as a tree over neighbours: the same wherever they were asked."""
    while len(results) > 1:
        pairs = [add(*results[i : i + 2]) for i in range(0, len(results) - 1, 2)]
        results = pairs + list(results[2 * len(pairs) :])
    return results[0]


class SweepSettings(NamedTuple):
    """Settings of a sweep: number of the restart, sweeps done before, concentrations."""

    run: int
    n_sweeps: int
    hyper: Any


class ShardSource(Protocol):
    """The shards of a fit, wherever they are."""

    def ask(self, name: str, *arguments: Any) -> PartResult:
        """Call a method of every shard, and add up what they return in their order."""
        ...


class LocalShards:
    """Shards in this process, asked one after the other."""

    def __init__(self, shards: Sequence["Shard"]) -> None:
        self.shards: list[Shard] = list(shards)

    def ask(self, name: str, *arguments: Any) -> PartResult:
        """Call a method of every shard, and add up what they return in their order."""
        return tree_sum([getattr(shard, name)(*arguments) for shard in self.shards])


class ShardState(NamedTuple):
    """Shares of the units of a shard after a sweep of a restart, and its answer to that sweep."""

    n_sweeps: int
    shares: Any
    result: PartResult


class Shard:
    """A model of some units, beside which it runs, and which keeps their shares between sweeps.

    `messages` are warnings of its layout; with `keeps_runs` it keeps shares of earlier restarts.
    """

    def __init__(
        self,
        model: Model,
        index: PartIndex,
        messages: tuple[str, ...] = (),
        *,
        keeps_runs: bool = False,
    ) -> None:
        self.model: Any = model
        self.index = index
        self.messages = messages
        # What inference can use again.
        self.work: Any = None
        self.states: dict[int, ShardState] = {}
        self._keeps_runs = keeps_runs

    @property
    def _sequences(self) -> Any:
        """The sequences as they were read."""
        problem = self.model.problem
        return getattr(problem, "original", problem.corpus)

    def summary(self) -> PartSummary:
        """Sizes, facts for starts and warnings, for the leader of the fit."""
        given, model = self._sequences, self.model
        n_observed = int(np.count_nonzero(model.problem.corpus.tokens >= 0))
        sizes = given.n_sequences, len(given.tokens), n_observed
        return PartSummary(*sizes, self._start_facts(), self.messages)

    def n_tokens_of(self, sequences: np.ndarray) -> PartResult:
        """The number of tokens, as the total, of those sequences of the corpus that are here."""
        given = self._sequences
        own = sequences - self.index.first_unit
        own = own[(own >= 0) & (own < given.n_sequences)]
        return PartResult((), float(np.diff(given.starts)[own].sum()))

    def start(self, seed: Any, settings: SweepSettings | None = None) -> PartResult:
        """First counts; with settings, shares to sweep from are kept."""
        if settings is None:
            return self._part_result(self.model.start(None, self._own_seed(seed), False)[0])
        result, _ = self.model.start(self.model.prior(settings.hyper), self._own_seed(seed), True)
        return self._remember(result, settings, 0)

    def infer(self, weights: Any) -> PartResult:
        """Expected counts under given weights."""
        result = self.model.infer(weights, self.work)
        self.work = result.work
        return self._part_result(result)

    def decode(self, weights: Any) -> PartResult:
        """Counts of the most probable structures."""
        return self._part_result(self.model.decode(weights))

    def sweep(self, counts: Any, settings: SweepSettings) -> PartResult:
        """One sweep from the counts of all shards; this shard's own counts after it.

        Without the shares of the sweep before it is one inference under these counts.
        """
        state, now = self.states.get(settings.run), settings.n_sweeps + 1
        if state is not None and state.n_sweeps == now:
            # Asked again, as another shard was lost meanwhile.
            return state.result
        if state is None or state.n_sweeps != settings.n_sweeps:
            return self._recover(counts, settings, now)
        # Shares change in place: those of a sweep that is broken off are of no use.
        del self.states[settings.run]
        prior = self.model.prior(settings.hyper)
        result = self.model.leave_out(counts, prior, state.shares, frozen=False)
        return self._remember(result, settings, now)

    def score(self, counts: Any, settings: SweepSettings) -> PartResult:
        """The leave-one-out score with the counts of all frozen."""
        state = self.states.get(settings.run)
        if state is None or state.n_sweeps != settings.n_sweeps:
            self._recover(counts, settings, settings.n_sweeps)
            state = self.states[settings.run]
        prior = self.model.prior(settings.hyper)
        result = self.model.leave_out(counts, prior, state.shares, frozen=True)
        return state.result._replace(log_normaliser=result.log_normaliser)

    def _recover(self, counts: Any, settings: SweepSettings, now: int) -> PartResult:
        """Shares under the counts of all, as if nothing were left out."""
        model, prior = self.model, self.model.prior(settings.hyper)
        result, _ = model.start(prior, self._start_from_counts(counts, prior), True)
        shares = self._with_sweep_number(result.shares, now)
        if not result.log_normaliser:
            # A start that gives no log normalisers.
            total = model.leave_out(counts, prior, shares, frozen=True).log_normaliser
            result = result._replace(log_normaliser=total)
        return self._remember(result._replace(shares=shares), settings, now)

    def _remember(
        self, result: InferenceResult, settings: SweepSettings, n_sweeps: int
    ) -> PartResult:
        """Keep the shares of a sweep, and the answer to it, which is returned."""
        learns = settings.hyper.is_learned and n_sweeps >= settings.hyper.n_warm_up
        absence = self._absence(result.shares) if learns else None
        if not self._keeps_runs:
            self.states.clear()
        answer = self._part_result(result)._replace(absence=absence)
        self.states[settings.run] = ShardState(n_sweeps, result.shares, answer)
        return answer

    def _part_result(self, result: InferenceResult) -> PartResult:
        """The result of inference with sequences by their number in the corpus."""
        unexplained, problem = result.unexplained, self.model.problem
        if hasattr(problem, "original_sequences"):
            unexplained = problem.original_sequences(unexplained)
        return PartResult(result.counts, result.log_normaliser, self.index.first_unit + unexplained)

    # What families do in their own way

    def _start_facts(self) -> Any:
        """Facts of these units that starts need."""
        return None

    def _start_from_counts(self, counts: Any, prior: Any) -> Any:
        """A start under the counts of all."""
        return self.model.maximise(counts, prior, None)[0]

    def _own_seed(self, seed: Any) -> Any:
        """This shard's part of a seed that was drawn for all."""
        return seed

    def _with_sweep_number(self, shares: Any, n_sweeps: int) -> Any:
        """New shares, numbered as those after this many sweeps."""
        return shares

    def _absence(self, shares: Any) -> Any:
        """P(C = 0), in tables that are multiplied over shards; None where it is not known."""
        return self.model.absence(shares)


class ProblemInParts:
    """A problem whose units are in shards: their summaries, and the source that asks them."""

    is_in_parts = True

    def __init__(self, summaries: list[PartSummary], source: ShardSource) -> None:
        self.summaries: list[PartSummary] = summaries
        self.source: ShardSource = source
        self.n_sequences: int = sum(one.n_sequences for one in summaries)
        self.n_tokens: int = sum(one.n_tokens for one in summaries)
        self.n_runs: int = 0

    def next_run(self) -> int:
        """A number for a restart, by which shards tell shares of one from another's."""
        self.n_runs += 1
        return self.n_runs

    def forget_shards(self) -> None:
        """Let go of the shards, and keep what identifies the data."""
        self.source = LocalShards([])

    def sizes_without(self, unexplained: np.ndarray) -> tuple[int, int]:
        """Numbers of tokens and sequences without those that are unexplained."""
        n_tokens = self.n_tokens
        if len(unexplained):
            n_tokens -= int(self.source.ask("n_tokens_of", unexplained).log_normaliser)
        return n_tokens, self.n_sequences - len(unexplained)


class Round(NamedTuple):
    """Shares of a restart that are kept by shards: which, and P(C = 0) of all."""

    run: int  # number of the restart
    n_sweeps: int
    absence: Any  # P(C = 0) of all counts; None where it is not known
    source: Any = None  # the source that has them, where a later fit may go on with them


class ShardedModel(Model):
    """A model of units in shards, all of which are asked; their answers are added up.

    A base class before a family's model, whose `problem` (`ProblemInParts`) has the `source` of the
    shards, their `summaries`, and a number for each restart (`next_run`).
    """

    problem: Any

    @property
    def n_observed(self) -> int:
        """Observed tokens of the sequences that have a path, in all shards."""
        return max(1, sum(one.n_observed for one in self.problem.summaries))

    def absence(self, shares: Round) -> Any:
        """The product over all shards."""
        return shares.absence

    def start(self, prior: Any, seed: Any, keep: bool) -> tuple[InferenceResult, Any]:
        """First counts of all shards, in a new run of them where shares are to be kept."""
        if not keep:
            # That of the family's model, which comes after this class.
            return super().start(prior, seed, keep)  # type: ignore[misc]
        run = self.problem.next_run()
        result = self.problem.source.ask("start", seed, SweepSettings(run, 0, self.hyper_in(prior)))
        shares = Round(run, 0, result.absence)
        return InferenceResult(*result[:3])._replace(shares=shares), None

    def infer(self, weights: Any, work: Any = None) -> InferenceResult:
        """Expected counts of all shards."""
        result = self.problem.source.ask("infer", weights)
        return InferenceResult(*result[:3])

    def decode(self, weights: Any) -> InferenceResult:
        """Counts of the most probable structures in all shards."""
        result = self.problem.source.ask("decode", weights)
        return InferenceResult(*result[:3])

    def leave_out(self, counts: Any, prior: Any, shares: Round, *, frozen: bool) -> InferenceResult:
        """A round: all shards sweep from the same counts; frozen: a score."""
        question = counts, SweepSettings(shares.run, shares.n_sweeps, self.hyper_in(prior))
        if frozen:
            result = self.problem.source.ask("score", *question)
            return InferenceResult(counts, result.log_normaliser, result.unexplained, shares)
        result = self.problem.source.ask("sweep", *question)
        after = Round(shares.run, shares.n_sweeps + 1, result.absence)
        return InferenceResult(*result[:3])._replace(shares=after)

    def copy_state(self, state: State) -> State | None:
        """A copy that sweeps may change; None where shares are kept by shards."""
        return None if isinstance(state.shares, Round) else super().copy_state(state)

    def adapt_state(self, state: State) -> State | None:
        """The state under the prior of now; its restart keeps its number."""
        if isinstance(state.shares, Round):
            self.problem.n_runs = max(self.problem.n_runs, state.shares.run)
        return super().adapt_state(state)

    def hyper_in(self, prior: Any) -> Any:
        """The concentrations of a prior: a shard makes its own prior from these."""
        raise NotImplementedError
