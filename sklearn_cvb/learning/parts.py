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

from sklearn_cvb.learning.concentrations import WARM_UP_SWEEPS
from sklearn_cvb.learning.model import NOBODY, Inferred, Model, State, plus


class Place(NamedTuple):
    """Where a shard stands among all: its number, and how many units come before it."""

    number: int
    first: int


def places_of(sizes: Sequence[int]) -> list[Place]:
    """Where shards of so many units stand."""
    firsts = np.cumsum([0, *sizes]).tolist()
    return [Place(number, first) for number, first in enumerate(firsts[:-1])]


class Facts(NamedTuple):
    """What the leader of a fit knows of a shard.

    Attributes
    ----------
    n_sequences, n_tokens : int
        As given.
    n_observed : int
        Observed tokens of the sequences that may be explained.
    of_model : object
        What its model tells beforehand (`Model.facts`).
    warnings : tuple of str
        What its layout warns of.
    """

    n_sequences: int
    n_tokens: int
    n_observed: int
    of_model: Any
    warnings: tuple[str, ...] = ()


class Found(NamedTuple):
    """What shards add to a round.

    Attributes
    ----------
    counts : ndarray, tuple of ndarray or ()
        Expected counts of their units; () where none are asked for.
    total : float
        Sum of log Z, or of the log normalisers of what was left out (nats).
    unexplained : ndarray
        Units that have no explanation, by their number among those of all shards.
    absence : tuple of ndarray or None
        P(C = 0) of all counts as far as their units go; None where nobody asks, or not known.
    """

    counts: Any
    total: float
    unexplained: np.ndarray = NOBODY
    absence: Any = None


def added(one: Found, other: Found) -> Found:
    """What two shards, or neighbouring groups of them, add together."""
    absence = None
    if one.absence is not None and other.absence is not None:
        absence = type(one.absence)(*map(np.multiply, one.absence, other.absence))
    unexplained = np.concatenate([one.unexplained, other.unexplained])
    return Found(plus(one.counts, other.counts), one.total + other.total, unexplained, absence)


def summed(found: Sequence, add: Callable = added) -> Any:
    """The sum over all shards, as a tree over neighbours: the same wherever they were asked."""
    while len(found) > 1:
        pairs = [add(*found[i : i + 2]) for i in range(0, len(found) - 1, 2)]
        found = pairs + list(found[2 * len(pairs) :])
    return found[0]


class Terms(NamedTuple):
    """Under what a shard sweeps: number of the restart, sweeps done before, concentrations."""

    run: int
    n_sweeps: int
    hyper: Any


class Source(Protocol):
    """Where the shards are: whoever asks need not know."""

    def ask(self, name: str, *arguments: Any) -> Found:
        """Call a method of every shard, and add up what they return in their order."""
        ...


class Memory:
    """Shards in this process, asked one after the other."""

    def __init__(self, shards: Sequence["Shard"]) -> None:
        self.shards = list(shards)

    def ask(self, name: str, *arguments: Any) -> Found:
        """Call a method of every shard, and add up what they return in their order."""
        return summed([getattr(shard, name)(*arguments) for shard in self.shards])


class Held(NamedTuple):
    """What the units of a shard added in a sweep of a restart, and what the shard answered."""

    n_sweeps: int
    shares: Any
    found: Found


class Shard:
    """A model of some units, which answers where they are, and keeps what they share.

    Parameters
    ----------
    model : Model
        With a `problem`.
    place : Place
    messages : tuple of str
        What its layout has warned of.
    keeps_runs : bool
        Whether the shares of earlier restarts are kept, too.
    """

    def __init__(
        self,
        model: Model,
        place: Place,
        messages: tuple[str, ...] = (),
        *,
        keeps_runs: bool = False,
    ) -> None:
        self.model: Any = model
        self.place = place
        self.messages = messages
        # What inference can use again.
        self.work: Any = None
        self.held: dict[int, Held] = {}
        self._keeps_runs = keeps_runs

    @property
    def _given(self) -> Any:
        """The sequences as they were read."""
        problem = self.model.problem
        return getattr(problem, "given", problem.corpus)

    def facts(self) -> Facts:
        """What the leader of the fit has to know."""
        given, model = self._given, self.model
        sizes = given.n_sequences, len(given.tokens), model.problem.corpus.n_observed
        return Facts(*sizes, model.facts(), self.messages)

    def n_tokens_of(self, sequences: np.ndarray) -> Found:
        """How many tokens some sequences of the whole corpus have, as the total: those here."""
        given = self._given
        own = sequences - self.place.first
        own = own[(own >= 0) & (own < given.n_sequences)]
        return Found((), float(np.diff(given.starts)[own].sum()))

    def start(self, seed: Any, terms: Terms | None = None) -> Found:
        """First counts; under terms with shares to sweep from."""
        if terms is None:
            return self._found(self.model.start(None, self._own(seed), False)[0])
        found, _ = self.model.start(self.model.prior(terms.hyper), self._own(seed), True)
        return self._keep(found, terms, 0)

    def infer(self, weights: Any) -> Found:
        """Expected counts under given weights."""
        found = self.model.infer(weights, self.work)
        self.work = found.work
        return self._found(found)

    def sweep(self, counts: Any, terms: Terms) -> Found:
        """One sweep from the counts of all shards; the own counts after it.

        Without the shares of the sweep before it is one inference under these counts.
        """
        held, now = self.held.get(terms.run), terms.n_sweeps + 1
        if held is not None and held.n_sweeps == now:
            # Asked again, as another shard was lost on the way.
            return held.found
        if held is None or held.n_sweeps != terms.n_sweeps:
            return self._recovered(counts, terms, now)
        # What is begun and not finished is not worth keeping: shares change in place.
        del self.held[terms.run]
        prior = self.model.prior(terms.hyper)
        found = self.model.leave_out(counts, prior, held.shares, frozen=False)
        return self._keep(found, terms, now)

    def score(self, counts: Any, terms: Terms) -> Found:
        """The leave-one-out score with the counts of all frozen."""
        held = self.held.get(terms.run)
        if held is None or held.n_sweeps != terms.n_sweeps:
            self._recovered(counts, terms, terms.n_sweeps)
            held = self.held[terms.run]
        prior = self.model.prior(terms.hyper)
        found = self.model.leave_out(counts, prior, held.shares, frozen=True)
        return held.found._replace(total=found.total)

    def _recovered(self, counts: Any, terms: Terms, now: int) -> Found:
        """Shares under the counts of all, as if nothing were left out."""
        model, prior = self.model, self.model.prior(terms.hyper)
        weights, _ = model.maximise(counts, prior, None)
        found, _ = model.start(prior, weights, True)
        shares = self._at(found.shares, now)
        if not found.total:
            # A start that does not say how probable its units are.
            total = model.leave_out(counts, prior, shares, frozen=True).total
            found = found._replace(total=total)
        return self._keep(found._replace(shares=shares), terms, now)

    def _keep(self, found: Inferred, terms: Terms, n_sweeps: int) -> Found:
        """Keep shares and answer; returns the answer."""
        absence = None
        if terms.hyper.learned and n_sweeps >= WARM_UP_SWEEPS:
            absence = self._absence(found.shares)
        if not self._keeps_runs:
            self.held.clear()
        answer = self._found(found)._replace(absence=absence)
        self.held[terms.run] = Held(n_sweeps, found.shares, answer)
        return answer

    def _found(self, found: Inferred) -> Found:
        """What the model has found, as shards add it."""
        unexplained = self.place.first + self._as_given(found.unexplained)
        return Found(found.counts, found.total, unexplained)

    # What families do in their own way

    def _own(self, seed: Any) -> Any:
        """What this shard starts from, of what was drawn for all."""
        return seed

    def _at(self, shares: Any, n_sweeps: int) -> Any:
        """New shares as if they were those after so many sweeps."""
        return shares

    def _absence(self, shares: Any) -> Any:
        """P(C = 0), in tables that are multiplied over shards; None where it is not known."""
        return self.model.absence(shares)

    def _as_given(self, unexplained: np.ndarray) -> np.ndarray:
        """Units of the model without explanation, by their number among those given."""
        return unexplained


class Round(NamedTuple):
    """What a restart knows of the shares that its shards keep.

    Attributes
    ----------
    run : int
        Number of the restart.
    n_sweeps : int
        Of all shards.
    absence : tuple of ndarray or None
        P(C = 0) of all counts; None where it is not known.
    source : Source or None
        Who has the shares, where a later fit may go on with them.
    """

    run: int
    n_sweeps: int
    absence: Any
    source: Any = None


class Sharded(Model):
    """A model of all units, which are in shards: each is asked, and what they find is added up.

    It stands before a family's model, which knows all but the units, and whose `problem` has the
    `source` of the shards, their `facts`, and a number for each restart (`next_run`).
    """

    problem: Any

    @property
    def n_observed(self) -> int:
        """Observed tokens of the sequences that may be explained, in all shards."""
        return sum(one.n_observed for one in self.problem.facts)

    def absence(self, shares: Round) -> Any:
        """The product over all shards."""
        return shares.absence

    def start(self, prior: Any, seed: Any, keep: bool) -> tuple[Inferred, Any]:
        """First counts of all shards, in a new run of them where shares are to be kept."""
        if not keep:
            return super().start(prior, seed, keep)
        run = self.problem.next_run()
        found = self.problem.source.ask("start", seed, Terms(run, 0, self.hyper_in(prior)))
        return self._inferred(found, Round(run, 0, found.absence)), None

    def infer(self, weights: Any, work: Any = None) -> Inferred:
        """Expected counts of all shards."""
        return self._inferred(self.problem.source.ask("infer", weights))

    def leave_out(self, counts: Any, prior: Any, shares: Round, *, frozen: bool) -> Inferred:
        """A round: all shards sweep from the same counts; frozen: a score."""
        question = counts, Terms(shares.run, shares.n_sweeps, self.hyper_in(prior))
        if frozen:
            found = self.problem.source.ask("score", *question)
            return self._inferred(found._replace(counts=counts), shares)
        found = self.problem.source.ask("sweep", *question)
        return self._inferred(found, Round(shares.run, shares.n_sweeps + 1, found.absence))

    def rebase(self, state: State) -> State | None:
        """The state under the prior of now; its restart keeps its number."""
        if isinstance(state.shares, Round):
            self.problem.n_runs = max(self.problem.n_runs, state.shares.run)
        return super().rebase(state)

    def _inferred(self, found: Found, shares: Any = None) -> Inferred:
        return Inferred(found.counts, found.total, found.unexplained, shares)

    def hyper_in(self, prior: Any) -> Any:
        """The concentrations that a prior was made from: a shard makes its prior from these."""
        raise NotImplementedError
