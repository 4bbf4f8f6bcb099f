"""A corpus in parts, under the parameters of the whole: a model made of models of the parts.

Parts may be in this process, on the disk or on other machines: whoever knows where is a `Source`.
Each part is a `Shard`, a model of its units alone, laid out under the cells of all. Whoever leads
the fit sends weights (EM, VB) or counts (collapsed variational Bayes) and gets what the shards
find, added in their order, so that sums do not depend on where or when a shard was asked.

In a round of collapsed variational Bayes a shard sweeps through its own units from the counts of
all: what it changes itself is known at once, what the others change a round later (Newman et al.
2009, of samplers). A shard that was lost and made anew, and so has no shares, infers them once
under the counts of all, its own lost ones among them; the sum of counts is right again after it.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from sklearn_cvb.learning.dirichlet import WARM_UP_SWEEPS
from sklearn_cvb.learning.model import NOBODY, InferenceResult, Model, State, add_arrays


class PartIndex(NamedTuple):
    """Where a shard stands among all: its number, and how many units come before it."""

    number: int
    first: int


def part_indices(sizes: Sequence[int]) -> list[PartIndex]:
    """Where shards of so many units stand."""
    firsts = np.cumsum([0, *sizes]).tolist()
    return [PartIndex(number, first) for number, first in enumerate(firsts[:-1])]


class PartSummary(NamedTuple):
    """What the leader of a fit knows of a shard."""

    n_sequences: int
    n_tokens: int
    n_observed: int  # of the sequences that may be explained
    of_model: Any  # what a start has to know beforehand (`Shard._told`)
    warnings: tuple[str, ...] = ()


class PartResult(NamedTuple):
    """What a shard adds to a round."""

    counts: Any  # expected, of its units; () where none are asked for
    log_normaliser: float  # sum of log Z, or of the log normalisers of what was left out (nats)
    unexplained: np.ndarray = NOBODY  # by their number among the units of all shards
    absence: Any = None  # P(C = 0) as far as its units go; None where nobody asks, or not known


class NeedsMore(Exception):
    """A shard needs more than it was sent: whoever leads the fit asks once more."""


def added(one: PartResult, other: PartResult) -> PartResult:
    """What two shards, or neighbouring groups of them, add together."""
    absence = None
    if one.absence is not None and other.absence is not None:
        absence = type(one.absence)(*map(np.multiply, one.absence, other.absence))
    return PartResult(
        add_arrays(one.counts, other.counts),
        one.log_normaliser + other.log_normaliser,
        np.concatenate([one.unexplained, other.unexplained]),
        absence,
    )


def summed(found: Sequence[Any], add: Callable[..., Any] = added) -> Any:
    """The sum over all shards, as a tree over neighbours: the same wherever they were asked."""
    while len(found) > 1:
        pairs = [add(*found[i : i + 2]) for i in range(0, len(found) - 1, 2)]
        found = pairs + list(found[2 * len(pairs) :])
    return found[0]


class SweepSettings(NamedTuple):
    """Under what a shard sweeps: number of the restart, sweeps done before, concentrations."""

    run: int
    n_sweeps: int
    hyper: Any


class Source(Protocol):
    """Where the shards are: whoever asks need not know."""

    def ask(self, name: str, *arguments: Any) -> PartResult:
        """Call a method of every shard, and add up what they return in their order."""
        ...


class LocalParts:
    """Shards in this process, asked one after the other."""

    def __init__(self, shards: Sequence["Shard"]) -> None:
        self.shards: list[Shard] = list(shards)

    def ask(self, name: str, *arguments: Any) -> PartResult:
        """Call a method of every shard, and add up what they return in their order."""
        return summed([getattr(shard, name)(*arguments) for shard in self.shards])


class ShardState(NamedTuple):
    """What the units of a shard added in a sweep of a restart, and what the shard answered."""

    n_sweeps: int
    shares: Any
    found: PartResult


class Shard:
    """A model of some units, which answers where they are, and keeps what they share.

    `messages` are what its layout has warned of; with `keeps_runs` the shares of earlier restarts
    are kept, too.
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
        self.held: dict[int, ShardState] = {}
        self._keeps_runs = keeps_runs

    @property
    def _given(self) -> Any:
        """The sequences as they were read."""
        problem = self.model.problem
        return getattr(problem, "given", problem.corpus)

    def facts(self) -> PartSummary:
        """What the leader of the fit has to know."""
        given, model = self._given, self.model
        n_observed = int(np.count_nonzero(model.problem.corpus.tokens >= 0))
        sizes = given.n_sequences, len(given.tokens), n_observed
        return PartSummary(*sizes, self._told(), self.messages)

    def n_tokens_of(self, sequences: np.ndarray) -> PartResult:
        """How many tokens some sequences of the whole corpus have, as the total: those here."""
        given = self._given
        own = sequences - self.index.first
        own = own[(own >= 0) & (own < given.n_sequences)]
        return PartResult((), float(np.diff(given.starts)[own].sum()))

    def start(self, seed: Any, settings: SweepSettings | None = None) -> PartResult:
        """First counts; under settings with shares to sweep from."""
        if settings is None:
            return self._found(self.model.start(None, self._own(seed), False)[0])
        found, _ = self.model.start(self.model.prior(settings.hyper), self._own(seed), True)
        return self._keep(found, settings, 0)

    def infer(self, weights: Any) -> PartResult:
        """Expected counts under given weights."""
        found = self.model.infer(weights, self.work)
        self.work = found.work
        return self._found(found)

    def sweep(self, counts: Any, settings: SweepSettings) -> PartResult:
        """One sweep from the counts of all shards; the own counts after it.

        Without the shares of the sweep before it is one inference under these counts.
        """
        held, now = self.held.get(settings.run), settings.n_sweeps + 1
        if held is not None and held.n_sweeps == now:
            # Asked again, as another shard was lost on the way.
            return held.found
        if held is None or held.n_sweeps != settings.n_sweeps:
            return self._recovered(counts, settings, now)
        # What is begun and not finished is not worth keeping: shares change in place.
        del self.held[settings.run]
        prior = self.model.prior(settings.hyper)
        found = self.model.leave_out(counts, prior, held.shares, frozen=False)
        return self._keep(found, settings, now)

    def score(self, counts: Any, settings: SweepSettings) -> PartResult:
        """The leave-one-out score with the counts of all frozen."""
        held = self.held.get(settings.run)
        if held is None or held.n_sweeps != settings.n_sweeps:
            self._recovered(counts, settings, settings.n_sweeps)
            held = self.held[settings.run]
        prior = self.model.prior(settings.hyper)
        found = self.model.leave_out(counts, prior, held.shares, frozen=True)
        return held.found._replace(log_normaliser=found.log_normaliser)

    def _recovered(self, counts: Any, settings: SweepSettings, now: int) -> PartResult:
        """Shares under the counts of all, as if nothing were left out."""
        model, prior = self.model, self.model.prior(settings.hyper)
        found, _ = model.start(prior, self._from(counts, prior), True)
        shares = self._at(found.shares, now)
        if not found.log_normaliser:
            # A start that does not say how probable its units are.
            total = model.leave_out(counts, prior, shares, frozen=True).log_normaliser
            found = found._replace(log_normaliser=total)
        return self._keep(found._replace(shares=shares), settings, now)

    def _keep(self, found: InferenceResult, settings: SweepSettings, n_sweeps: int) -> PartResult:
        """Keep shares and answer; returns the answer."""
        absence = None
        if settings.hyper.is_learned and n_sweeps >= WARM_UP_SWEEPS:
            absence = self._absence(found.shares)
        if not self._keeps_runs:
            self.held.clear()
        answer = self._found(found)._replace(absence=absence)
        self.held[settings.run] = ShardState(n_sweeps, found.shares, answer)
        return answer

    def _found(self, found: InferenceResult) -> PartResult:
        """What the model has found, as shards add it: sequences by their number as read."""
        unexplained, problem = found.unexplained, self.model.problem
        if hasattr(problem, "original_sequences"):
            unexplained = problem.original_sequences(unexplained)
        return PartResult(found.counts, found.log_normaliser, self.index.first + unexplained)

    # What families do in their own way

    def _told(self) -> Any:
        """What a start has to know of these units beforehand."""
        return None

    def _from(self, counts: Any, prior: Any) -> Any:
        """What to start from under the counts of all."""
        return self.model.maximise(counts, prior, None)[0]

    def _own(self, seed: Any) -> Any:
        """What this shard starts from, of what was drawn for all."""
        return seed

    def _at(self, shares: Any, n_sweeps: int) -> Any:
        """New shares as if they were those after so many sweeps."""
        return shares

    def _absence(self, shares: Any) -> Any:
        """P(C = 0), in tables that are multiplied over shards; None where it is not known."""
        return self.model.absence(shares)


class InParts:
    """What a fit knows of units that are in shards."""

    is_in_parts = True

    def __init__(self, facts: list[PartSummary], source: Source) -> None:
        self.facts, self.source = facts, source
        self.n_sequences: int = sum(one.n_sequences for one in facts)
        self.n_tokens: int = sum(one.n_tokens for one in facts)
        self.n_runs: int = 0

    def next_run(self) -> int:
        """A number for a restart, by which shards know whose shares they keep."""
        self.n_runs += 1
        return self.n_runs

    def forget_shards(self) -> None:
        """Let go of the shards; what tells whether a fit may go on stays."""
        self.source = LocalParts([])

    def sizes_without(self, unexplained: np.ndarray) -> tuple[int, int]:
        """How many tokens and sequences there are beside some, whose lengths the shards tell."""
        n_tokens = self.n_tokens
        if len(unexplained):
            n_tokens -= int(self.source.ask("n_tokens_of", unexplained).log_normaliser)
        return n_tokens, self.n_sequences - len(unexplained)


class Round(NamedTuple):
    """What a restart knows of the shares that its shards keep."""

    run: int  # number of the restart
    n_sweeps: int
    absence: Any  # P(C = 0) of all counts; None where it is not known
    source: Any = None  # who has the shares, where a later fit may go on with them


class ShardedModel(Model):
    """A model of all units, which are in shards: each is asked, and what they find is added up.

    It stands before a family's model, which knows all but the units, and whose `problem` has the
    `source` of the shards, their `facts`, and a number for each restart (`next_run`).
    """

    problem: Any

    @property
    def n_observed(self) -> int:
        """Observed tokens of the sequences that may be explained, in all shards."""
        return max(1, sum(one.n_observed for one in self.problem.facts))

    def absence(self, shares: Round) -> Any:
        """The product over all shards."""
        return shares.absence

    def start(self, prior: Any, seed: Any, keep: bool) -> tuple[InferenceResult, Any]:
        """First counts of all shards, in a new run of them where shares are to be kept."""
        if not keep:
            # That of the family before whose model this one stands.
            return super().start(prior, seed, keep)  # type: ignore[misc]
        run = self.problem.next_run()
        found = self.problem.source.ask("start", seed, SweepSettings(run, 0, self.hyper_in(prior)))
        shares = Round(run, 0, found.absence)
        return InferenceResult(found.counts, found.log_normaliser, found.unexplained, shares), None

    def infer(self, weights: Any, work: Any = None) -> InferenceResult:
        """Expected counts of all shards."""
        found = self.problem.source.ask("infer", weights)
        return InferenceResult(found.counts, found.log_normaliser, found.unexplained)

    def leave_out(self, counts: Any, prior: Any, shares: Round, *, frozen: bool) -> InferenceResult:
        """A round: all shards sweep from the same counts; frozen: a score."""
        question = counts, SweepSettings(shares.run, shares.n_sweeps, self.hyper_in(prior))
        if frozen:
            found = self.problem.source.ask("score", *question)
            return InferenceResult(counts, found.log_normaliser, found.unexplained, shares)
        found = self.problem.source.ask("sweep", *question)
        after = Round(shares.run, shares.n_sweeps + 1, found.absence)
        return InferenceResult(found.counts, found.log_normaliser, found.unexplained, after)

    def copy_state(self, state: State) -> State | None:
        """A state of its own; None where posteriors are with the parts."""
        return None if isinstance(state.shares, Round) else super().copy_state(state)

    def rebase(self, state: State) -> State | None:
        """The state under the prior of now; its restart keeps its number."""
        if isinstance(state.shares, Round):
            self.problem.n_runs = max(self.problem.n_runs, state.shares.run)
        return super().rebase(state)

    def hyper_in(self, prior: Any) -> Any:
        """The concentrations that a prior was made from: a shard makes its prior from these."""
        raise NotImplementedError
