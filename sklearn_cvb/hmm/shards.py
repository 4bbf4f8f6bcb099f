"""A part of a corpus under the parameters of the whole: what it adds to each round of a fit.

A shard is a `Problem` of some of the sequences, laid out under the cells of all. Whoever leads the
fit sends weights (EM, VB) or counts (collapsed variational Bayes) and adds up what the shards find,
always in their order, so that sums do not depend on where or when a shard was asked.

In a round of collapsed variational Bayes a shard sweeps through its own sequences from the counts
of all: what it changes itself is known at once, what the others change a round later (Newman et al.
2009, of samplers). A shard that was lost and made anew, and so has no posteriors, infers them once
under the counts of all, its own lost ones among them; the sum of counts is right again after it.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.corpus import Corpus
from sklearn_cvb.hmm import start as starting
from sklearn_cvb.hmm.collapsed import (
    REBUILT,
    CVBState,
    LeftOut,
    absence_of,
    all_left_out,
    counts_of,
    first_state,
    knows_absence,
    posterior_of,
    score_units,
    sweep_units,
)
from sklearn_cvb.hmm.concentrations import Concentrations
from sklearn_cvb.hmm.expectation import expectation
from sklearn_cvb.hmm.forms import Forms, forms_of
from sklearn_cvb.hmm.parameters import (
    HMMCounts,
    Prior,
    floor_of,
    log_weights,
    posterior_mean,
    tally_of,
)
from sklearn_cvb.hmm.seeds import Seed, counts_for, start_of
from sklearn_cvb.kernels.chain.decoding import best_states
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.kernels.chain.tally import Tally
from sklearn_cvb.lattice import Problem, n_entries
from sklearn_cvb.learning.concentrations import WARM_UP_SWEEPS

_NONE = np.empty(0, np.intp)


class LogsNeeded(Exception):
    """Float64 lost a sequence: the E-step needs the logs of the weights, made without underflow."""


class Place(NamedTuple):
    """Where a shard stands among all.

    Attributes
    ----------
    index : int
        Its number.
    first : int
        How many sequences come before it.
    is_alone : bool
        Whether there is no other.
    """

    index: int
    first: int
    is_alone: bool


class Found(NamedTuple):
    """What shards add to a round.

    Attributes
    ----------
    counts : HMMCounts, PCFGCounts or ()
        Expected counts of their sequences; () where none are asked for.
    total : float
        Sum of log Z, or of the log normalisers of what was left out (nats).
    unexplained : ndarray
        Sequences that no path explains, by their number in the whole corpus.
    absence : tuple or None
        P(C = 0) of all counts as far as their sequences go; None where nobody asks, or not known.
    """

    counts: Any
    total: float
    unexplained: np.ndarray = _NONE
    absence: Any = None


def added(one: Found, other: Found) -> Found:
    """What two shards, or neighbouring groups of them, add together."""
    absence = None
    if one.absence is not None and other.absence is not None:
        absence = _by_table(np.multiply, one.absence, other.absence)
    return Found(
        _by_table(np.add, one.counts, other.counts),
        one.total + other.total,
        np.concatenate([one.unexplained, other.unexplained]),
        absence,
    )


def _by_table(operation: Callable, one: Any, other: Any) -> Any:
    return type(one)(*map(operation, one, other))


def summed(found: Sequence, add: Callable = added) -> Any:
    """The sum over all shards, as a tree over neighbours: the same wherever they were asked."""
    while len(found) > 1:
        pairs = [add(*found[i : i + 2]) for i in range(0, len(found) - 1, 2)]
        found = pairs + list(found[2 * len(pairs) :])
    return found[0]


class Facts(NamedTuple):
    """What the leader of a fit knows of a shard.

    Attributes
    ----------
    n_sequences, n_tokens, n_entries : int
        Sequences and tokens as given; (token, state) entries of the problem.
    any_told, any_choice : bool
        Whether a token has a single state, and whether one has several.
    warnings : tuple of str
        What its layout warns of.
    """

    n_sequences: int
    n_tokens: int
    n_entries: int
    any_told: bool
    any_choice: bool
    warnings: tuple[str, ...] = ()


class Shard:
    """What shards of all algorithms share.

    Parameters
    ----------
    problem : Problem
        Of a grammar its own.
    place : Place
    """

    def __init__(self, problem: Any, place: Place) -> None:
        self.problem = problem
        self.place = place
        self.messages: tuple[str, ...] = ()

    def facts(self) -> Facts:
        """What the leader of the fit has to know."""
        problem = self.problem
        return Facts(
            problem.given.n_sequences,
            len(problem.given.tokens),
            n_entries(problem.lattice),
            problem.any_told,
            bool(len(problem.runs.begin)),
            self.messages,
        )

    @property
    def _given(self) -> Corpus:
        """The sequences as they were read."""
        return self.problem.given

    def n_tokens_of(self, sequences: np.ndarray) -> Found:
        """How many tokens some sequences of the whole corpus have, as the total: those here."""
        given = self._given
        own = sequences - self.place.first
        own = own[(own >= 0) & (own < given.n_sequences)]
        return Found((), float(np.diff(given.starts)[own].sum()))

    def steps(self, name: str) -> Found:
        """What a start counts beforehand (see `sklearn_cvb.hmm.seeds`)."""
        return Found(HMMCounts(*counts_for(name, self.problem), np.empty(0)), 0.0)

    def _by_whole(self, unexplained: np.ndarray) -> np.ndarray:
        """Sequences without a path, by their number in the whole corpus."""
        return self.place.first + given_sequences(self.problem, unexplained)


class BatchShard(Shard):
    """A shard of EM and VB."""

    def __init__(self, problem: Problem, place: Place) -> None:
        super().__init__(problem, place)
        self._forms: Forms | None = None

    def start(self, seed: Seed) -> Found:
        """Counts of the first posteriors."""
        start = start_of(seed, self.problem, self.place.index)
        weights = start.weights
        if weights is not None:
            return self._expected(weights, lambda: log_weights(weights))
        assert start.posterior is not None, "a start has weights or posteriors"
        return Found(starting.counts_from_marginals(self.problem, start.posterior), 0.0)

    def infer(self, weights: Weights, logs: Weights | None = None) -> Found:
        """Expected counts under given weights.

        Raises
        ------
        LogsNeeded
            If float64 loses a sequence, and there are no `logs`.
        """

        def given() -> Weights:
            if logs is None:
                raise LogsNeeded
            return logs

        return self._expected(weights, given)

    def _expected(self, weights: Weights, logs: Callable[[], Weights]) -> Found:
        forms = forms_of(self.problem) if self._forms is None else self._forms
        found = expectation(weights, self.problem, forms, 1, logs)
        self._forms = found.forms
        return Found(found.counts, found.total, self._by_whole(found.unexplained))


def given_sequences(problem: Problem, unexplained: np.ndarray) -> np.ndarray:
    """The given sequences that no path explains, from those of the problem's corpus."""
    if problem.sequences is not None:
        unexplained = np.unique(problem.sequences[unexplained])
    if problem.left_out is not None:
        unexplained = np.sort(np.concatenate([unexplained, problem.left_out.sequences]))
    return unexplained


class Terms(NamedTuple):
    """Under what a shard of collapsed variational Bayes sweeps.

    Attributes
    ----------
    run : int
        Number of the restart.
    n_sweeps : int
        Sweeps done before this one.
    concentrations : Concentrations
    """

    run: int
    n_sweeps: int
    concentrations: Concentrations


class CollapsedShard(Shard):
    """A shard of collapsed variational Bayes, with its posteriors.

    Parameters
    ----------
    problem : Problem
    place : Place
    left_out : LeftOut
    priors : callable
        ``priors(concentrations) -> Prior``.
    """

    def __init__(
        self,
        problem: Problem,
        place: Place,
        left_out: LeftOut,
        priors: Callable[[Concentrations], Prior],
    ) -> None:
        super().__init__(problem, place)
        self._left_out = left_out
        self._priors = priors
        self._prior: tuple[Concentrations, Prior] | None = None
        self._state: CVBState | None = None
        self._own: HMMCounts | None = None
        # The sweep that the posteriors come from, and what it found.
        self._done: tuple[int, int] | None = None
        self._found: Found | None = None

    def start(self, seed: Seed, terms: Terms) -> Found:
        """Counts of the first posteriors."""
        prior = self._prior_of(terms)

        def starting_point() -> starting.Start:
            return start_of(seed, self.problem, self.place.index)

        state = first_state(
            self.problem, starting_point, prior, terms.concentrations, self._left_out
        )
        return self._keep(state, counts_of(state, self.problem), 0.0, (terms.run, 0))

    def sweep(self, counts: HMMCounts, terms: Terms) -> Found:
        """One sweep from the counts of all shards; the own counts after it.

        Without the posteriors of the sweep before it is one inference under these counts.
        """
        now = terms.run, terms.n_sweeps + 1
        if self._done == now and self._found is not None:
            # Asked again, as another shard was lost on the way.
            return self._found
        if self._done != (terms.run, terms.n_sweeps):
            return self._inferred(counts, terms)
        state, own = self._under(counts, terms), self._own
        assert own is not None, "posteriors come with their counts"
        before = state.tally
        others = counts.emission - own.emission
        # What is begun and not finished is not worth keeping: posteriors change in place.
        self._done = None
        state, total = sweep_units(state, self.problem, others, self.place.is_alone)
        if state.n_sweeps % REBUILT == 0 or (self.place.is_alone and all_left_out(state)):
            own = counts_of(state, self.problem)
        else:
            own = _changed(own, before, state.tally)
        return self._keep(state, own, total, now)

    def best_states(self) -> np.ndarray:
        """The state with the largest q(z_t) of each token, after the last sweep."""
        assert self._state is not None, "a shard starts before it has posteriors"
        path = np.empty(len(self.problem.corpus.tokens), np.int32)
        best_states(self.problem.lattice, posterior_of(self._state), 0, len(path), path)
        return path

    def score(self, counts: HMMCounts, terms: Terms) -> Found:
        """The leave-one-out score with the counts of all frozen."""
        if self._done != (terms.run, terms.n_sweeps):
            self._inferred(counts, terms._replace(n_sweeps=terms.n_sweeps - 1))
        own = self._own
        assert own is not None, "posteriors come with their counts"
        state = self._under(counts, terms)
        others = counts.emission - own.emission
        return Found(own, score_units(state, others, self.place.is_alone))

    def _inferred(self, counts: HMMCounts, terms: Terms) -> Found:
        """Posteriors under the counts of all, as if nothing were left out."""
        prior = self._prior_of(terms)
        weights = posterior_mean(counts, prior, self.problem.cells)

        def starting_point() -> starting.Start:
            return starting.Start(None, weights)

        state = first_state(
            self.problem, starting_point, prior, terms.concentrations, self._left_out
        )
        own = counts_of(state, self.problem)
        self._state = state
        total = score_units(self._under(counts, terms), counts.emission - own.emission, False)
        state = state._replace(n_sweeps=terms.n_sweeps + 1)
        return self._keep(state, own, total, (terms.run, terms.n_sweeps + 1))

    def _under(self, counts: HMMCounts, terms: Terms) -> CVBState:
        """The state with the counts of all shards, under the prior of now."""
        assert self._state is not None, "a shard starts before it sweeps"
        prior = self._prior_of(terms)
        return self._state._replace(
            tally=tally_of(counts, prior, self.problem.cells),
            prior=prior,
            floor=floor_of(prior),
            concentrations=terms.concentrations,
            n_sweeps=terms.n_sweeps + 1,
        )

    def _prior_of(self, terms: Terms) -> Prior:
        if self._prior is None or self._prior[0] != terms.concentrations:
            self._prior = terms.concentrations, self._priors(terms.concentrations)
        return self._prior[1]

    def _keep(self, state: CVBState, own: HMMCounts, total: float, done: tuple[int, int]) -> Found:
        """Keep posteriors and counts; returns what the shard adds."""
        absence = None
        if (
            state.concentrations.learned
            and state.n_sweeps >= WARM_UP_SWEEPS
            and knows_absence(state)
        ):
            absence = absence_of(state, self.problem)
        self._state, self._own, self._done = state, own, done
        self._found = Found(own, total, self._by_whole(_NONE), absence)
        return self._found


def _changed(own: HMMCounts, before: Tally, after: Tally) -> HMMCounts:
    """The own counts after what a sweep has added and taken away."""
    return HMMCounts(
        *(
            getattr(own, name) + (getattr(after, name) - getattr(before, name))
            for name in HMMCounts._fields
        )
    )
