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
from sklearn_cvb.hmm.expectation import expectation
from sklearn_cvb.hmm.forms import Forms, forms_of
from sklearn_cvb.hmm.leave_out import (
    LeftOut,
    Units,
    absence_of,
    first_units,
    knows_absence,
    posterior_of,
    score,
    sweep,
)
from sklearn_cvb.hmm.parameters import (
    HMMCounts,
    Prior,
    log_weights,
    posterior_mean,
)
from sklearn_cvb.hmm.priors import Concentrations, PriorSettings, prior_of
from sklearn_cvb.hmm.seeds import Seed, counts_for, start_of
from sklearn_cvb.kernels.chain.decoding import best_states
from sklearn_cvb.kernels.chain.forward_backward import Weights
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
    n_observed : int
        Observed tokens of the sequences that some path may explain.
    any_told, any_choice : bool
        Whether a token has a single state, and whether one has several.
    warnings : tuple of str
        What its layout warns of.
    """

    n_sequences: int
    n_tokens: int
    n_entries: int
    n_observed: int
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
            problem.corpus.n_observed,
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
    priors : PriorSettings
    """

    def __init__(
        self, problem: Problem, place: Place, left_out: LeftOut, priors: PriorSettings
    ) -> None:
        super().__init__(problem, place)
        self._left_out, self._priors = left_out, priors
        self._prior: Prior | None = None
        self._units: Units | None = None
        # The sweep that the posteriors come from, and what it found.
        self._done: tuple[int, int] | None = None
        self._found: Found | None = None

    def start(self, seed: Seed, terms: Terms) -> Found:
        """Counts of the first posteriors."""
        units = self._begun(lambda: start_of(seed, self.problem, self.place.index), terms)
        return self._keep(units, 0.0, (terms.run, 0))

    def _begun(self, starting_point: Callable[[], starting.Start], terms: Terms) -> Units:
        """Units with the posteriors of a start."""
        learns = terms.concentrations.learned
        return first_units(self.problem, starting_point, self._left_out, learns)

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
        units = self._kept_units()
        # What is begun and not finished is not worth keeping: posteriors change in place.
        self._done = None
        units, total = sweep(units, counts, self._prior_of(terms), self.problem)
        return self._keep(units, total, now)

    def _kept_units(self) -> Units:
        assert self._units is not None, "a shard starts before it has posteriors"
        return self._units

    def best_states(self) -> np.ndarray:
        """The state with the largest q(z_t) of each token, after the last sweep."""
        path = np.empty(len(self.problem.corpus.tokens), np.int32)
        best_states(self.problem.lattice, posterior_of(self._kept_units()), 0, len(path), path)
        return path

    def score(self, counts: HMMCounts, terms: Terms) -> Found:
        """The leave-one-out score with the counts of all frozen."""
        if self._done != (terms.run, terms.n_sweeps):
            self._inferred(counts, terms._replace(n_sweeps=terms.n_sweeps - 1))
        units = self._kept_units()
        return Found(units.own, score(units, counts, self._prior_of(terms), self.problem))

    def _inferred(self, counts: HMMCounts, terms: Terms) -> Found:
        """Posteriors under the counts of all, as if nothing were left out."""
        prior = self._prior_of(terms)
        weights = posterior_mean(counts, prior, self.problem.cells)
        units = self._begun(lambda: starting.Start(None, weights), terms)
        total = score(units, counts, prior, self.problem)
        now = terms.run, terms.n_sweeps + 1
        return self._keep(units._replace(n_sweeps=now[1]), total, now)

    def _prior_of(self, terms: Terms) -> Prior:
        """The prior under the concentrations of now."""
        if self._prior is None or self._prior.concentrations != terms.concentrations:
            self._prior = prior_of(self._priors, self.problem.cells, terms.concentrations)
        return self._prior

    def _keep(self, units: Units, total: float, done: tuple[int, int]) -> Found:
        """Keep posteriors and counts; returns what the shard adds."""
        absence = None
        if units.learns and units.n_sweeps >= WARM_UP_SWEEPS and knows_absence(units):
            absence = absence_of(units, self.problem)
        self._units, self._done = units, done
        self._found = Found(units.own, total, self._by_whole(_NONE), absence)
        return self._found
