"""Grammars learned from sentences in shards: the same as `sklearn_cvb.hmm.whole`, for trees."""

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sklearn_cvb import corpus as reading
from sklearn_cvb.corpus import Corpus, Sequences
from sklearn_cvb.hmm.shards import Facts, Found, Place, Shard, summed
from sklearn_cvb.hmm.survey import LaidOut, Part, Survey, Words, digest_of, merged, survey_of
from sklearn_cvb.hmm.survey import read_part as read_part
from sklearn_cvb.hmm.whole import Here, InShards, Shards, WholeCorpus, fit_as, places_of
from sklearn_cvb.kernels.tree.tallies import Shares
from sklearn_cvb.learning.concentrations import WARM_UP_SWEEPS
from sklearn_cvb.learning.model import Inferred, State
from sklearn_cvb.pcfg.base import BasePCFG
from sklearn_cvb.pcfg.cvb import CVBPCFG
from sklearn_cvb.pcfg.inference import (
    counts_of,
    expectation,
    first_shares,
    leave_out_sweep,
    presence,
    tally_of,
)
from sklearn_cvb.pcfg.layout import Layout, Problem
from sklearn_cvb.pcfg.model import Alpha, GrammarModel, PCFGCounts, posterior_mean
from sklearn_cvb.validation import InvalidParameterError

if TYPE_CHECKING:
    from sklearn_cvb.pcfg.base import BasePCFG as _Model
else:
    _Model = object


class Absent(NamedTuple):
    """P(C = 0) of rules and of left-hand sides, as far as some sentences go."""

    rule: np.ndarray
    total: np.ndarray


class TreeTerms(NamedTuple):
    """Under what a shard sweeps: number of the restart, sweeps done before, concentrations."""

    run: int
    n_sweeps: int
    alpha: Alpha


class TreeShard(Shard):
    """What shards of sentences share."""

    problem: Any

    def facts(self) -> Facts:
        """What the leader of the fit has to know."""
        corpus = self.problem.corpus
        n_tokens, n_observed = len(corpus.tokens), corpus.n_observed
        return Facts(corpus.n_sequences, n_tokens, 0, n_observed, False, True, self.messages)

    @property
    def _given(self) -> Corpus:
        return self.problem.corpus

    def _found(self, counts: np.ndarray, log_z: np.ndarray, absence: Any = None) -> Found:
        explained = np.isfinite(log_z)
        unexplained = self.place.first + np.flatnonzero(~explained)
        return Found(PCFGCounts(counts), float(log_z[explained].sum()), unexplained, absence)


class BatchTreeShard(TreeShard):
    """A shard of EM and VB."""

    def infer(self, weights: np.ndarray) -> Found:
        """Expected counts under given weights of rules."""
        return self._found(*expectation(weights, self.problem))


class CollapsedTreeShard(TreeShard):
    """A shard of collapsed variational Bayes, with what each of its sentences adds."""

    def __init__(self, problem: Problem, place: Place) -> None:
        super().__init__(problem, place)
        self._shares: Shares | None = None
        # The sweep that the shares come from, and what it found.
        self._done: tuple[int, int] | None = None
        self._last: Found | None = None

    def start(self, weights: np.ndarray, terms: TreeTerms) -> Found:
        """Counts under the first weights."""
        shares, log_z = first_shares(weights, self.problem)
        return self._keep(shares, log_z, terms, 0)

    def sweep(self, counts: PCFGCounts, terms: TreeTerms) -> Found:
        """One sweep from the counts of all shards; the own counts after it.

        Without the shares of the sweep before it is one inference under these counts.
        """
        n_sweeps = terms.n_sweeps + 1
        if self._done == (terms.run, n_sweeps) and self._last is not None:
            return self._last
        if self._done != (terms.run, terms.n_sweeps) or self._shares is None:
            return self._inferred(counts, terms)
        # What is begun and not finished is not worth keeping: tables change in place.
        self._done = None
        tally = tally_of(self.problem.layout, counts.rule, terms.alpha.cells)
        shares, log_z = leave_out_sweep(self.problem, tally, self._shares, False)
        return self._keep(shares, log_z, terms, n_sweeps)

    def score(self, counts: PCFGCounts, terms: TreeTerms) -> Found:
        """The leave-one-out score with the counts of all frozen."""
        if self._done != (terms.run, terms.n_sweeps) or self._shares is None:
            self._inferred(counts, terms._replace(n_sweeps=terms.n_sweeps - 1))
        assert self._shares is not None, "just made"
        tally = tally_of(self.problem.layout, counts.rule, terms.alpha.cells)
        log_z = leave_out_sweep(self.problem, tally, self._shares, True)[1]
        return self._found(counts_of(self._shares, self.problem), log_z)

    def _inferred(self, counts: PCFGCounts, terms: TreeTerms) -> Found:
        """Shares under the counts of all, as if nothing were left out."""
        weights = posterior_mean(self.problem.layout, counts.rule, terms.alpha.cells, None)
        shares, log_z = first_shares(weights, self.problem)
        return self._keep(shares, log_z, terms, terms.n_sweeps + 1)

    def _keep(self, shares: Shares, log_z: np.ndarray, terms: TreeTerms, n_sweeps: int) -> Found:
        absence = None
        if terms.alpha.learned and n_sweeps >= WARM_UP_SWEEPS:
            absence = Absent(*(1.0 - present for present in presence(shares, self.problem)))
        self._shares, self._done = shares, (terms.run, n_sweeps)
        self._last = self._found(counts_of(shares, self.problem), log_z, absence)
        return self._last


class WholeTreebank:
    """Sentences in shards, as a fit knows them.

    Parameters
    ----------
    layout : Layout
    digest : Corpus
    facts : list of Facts
    shards : Shards
    """

    def __init__(self, layout: Layout, digest: Corpus, facts: list[Facts], shards: Shards) -> None:
        self.layout, self.n_words = layout, layout.n_words
        self.n_tokens = sum(one.n_tokens for one in facts)
        self.corpus = WholeCorpus(digest, sum(one.n_sequences for one in facts))
        self.shards = shards
        self.n_runs = 0

    def next_run(self) -> int:
        """A number for a restart, by which shards know whose shares they keep."""
        self.n_runs += 1
        return self.n_runs

    def forget_shards(self) -> None:
        """Let go of the shards; what tells whether a fit may go on stays."""
        self.shards = Here([])


class Round(NamedTuple):
    """What a restart knows of the shares that its shards keep.

    Attributes
    ----------
    run : int
        Number of the restart.
    n_sweeps : int
        Sweeps done.
    absence : Absent or None
    """

    run: int
    n_sweeps: int
    absence: Absent | None


@dataclass(frozen=True)
class ShardedGrammar(GrammarModel):
    """A grammar whose sentences are elsewhere: the shards are asked, and keep the shares."""

    problem: Any

    def learn(self, hyper: Alpha, state: State, step: Callable, absence: Callable | None) -> Alpha:
        """Nothing, where shards do not tell how surely a rule was used."""
        if absence is not None and state.shares.absence is None:
            return hyper
        return super().learn(hyper, state, step, absence)

    def absence(self, shares: Any) -> tuple[np.ndarray, np.ndarray]:
        """P(C > 0) of every rule and left-hand side."""
        return 1.0 - shares.absence.rule, 1.0 - shares.absence.total

    def start(self, prior: np.ndarray, seed: np.ndarray, keep: bool) -> tuple[Inferred, np.ndarray]:
        """Counts expected under the first weights, in a new run of the shards."""
        if not keep:
            return super().start(prior, seed, keep)
        run = self.problem.next_run()
        found = self.problem.shards.ask("start", seed, self._terms(prior, run, 0))
        return _inferred(found, Round(run, 0, found.absence)), seed

    def infer(self, weights: np.ndarray, work: Any = None) -> Inferred:
        """Expected counts of all shards."""
        return _inferred(self.problem.shards.ask("infer", weights))

    def leave_out(
        self, counts: np.ndarray, prior: np.ndarray, shares: Any, *, frozen: bool
    ) -> Inferred:
        """A sweep of every shard from the counts of all; frozen: a score."""
        run, n_sweeps, _ = shares
        given = PCFGCounts(counts), self._terms(prior, run, n_sweeps)
        if frozen:
            return _inferred(self.problem.shards.ask("score", *given), shares)
        found = self.problem.shards.ask("sweep", *given)
        return _inferred(found, Round(run, n_sweeps + 1, found.absence))

    def _terms(self, prior: np.ndarray, run: int, n_sweeps: int) -> TreeTerms:
        return TreeTerms(run, n_sweeps, self.alpha._replace(cells=prior))


def _inferred(found: Found, shares: Any = None) -> Inferred:
    """What shards have found, as algorithms ask for it."""
    return Inferred(found.counts.rule, found.total, found.unexplained, shares)


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
    if not hasattr(model, "partial_fit"):
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


def shard_of(model: BasePCFG, part: Part, place: Place) -> BatchTreeShard | CollapsedTreeShard:
    """The shard of a part, for the algorithm of a model that was laid out."""
    sequences = Sequences(Words(part.types, part.corpus.tokens), part.corpus.starts, None)
    model = copy.copy(model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        corpus = reading.checked(model, part.by(model._index), sequences)
        problem = model._problem_of(corpus, sequences, part.y)
    kind = CollapsedTreeShard if isinstance(model, CVBPCFG) else BatchTreeShard
    shard = kind(problem, place)
    shard.messages = tuple(f"part {place.index}: {one.message}" for one in caught)
    return shard


def whole_of(
    model: BasePCFG, laid_out: LaidOut, facts: list[Facts], shards: Shards
) -> WholeTreebank:
    """The sentences in shards that a model learns from."""
    for one in facts:
        for message in one.warnings:
            warnings.warn(message, UserWarning, stacklevel=4)
    return WholeTreebank(model._layout, laid_out.corpus, facts, shards)


def fit_whole(model: BasePCFG, whole: WholeTreebank) -> None:
    """Fit a model on sentences in shards; it is left as a plain fit leaves it, without labels."""
    fit_as(ShardedPCFG, model, whole)


def fit_here(model: BasePCFG, parts: Sequence[tuple[Any, Any]]) -> WholeTreebank:
    """Fit a model on parts ``(X, y)`` of the sentences, each a shard of this process."""
    refuse_in_shards(model)
    read = [read_part(X, y) for X, y in parts]
    laid_out = lay_out(model, summed([survey_of(model, part) for part in read], merged))
    shards = [
        shard_of(laid_out.model, part, place)
        for part, place in zip(read, places_of([p.corpus.n_sequences for p in read]), strict=True)
    ]
    whole = whole_of(model, laid_out, [shard.facts() for shard in shards], Here(shards))
    fit_whole(model, whole)
    return whole
