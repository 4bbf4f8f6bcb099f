"""A fit on a corpus in shards: the plain fit, whose sweeps ask the shards and add what they find.

A model that is fitted on a `Whole` runs the template of `sklearn_cvb.base` as it stands: restarts,
schedule, history, what is left. Only its start, its sweeps and its score go to the shards, here or
on other machines.
"""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from sklearn_cvb.corpus import Corpus
from sklearn_cvb.hmm import start as starting
from sklearn_cvb.hmm.base import BaseHMM
from sklearn_cvb.hmm.cvb import CVBHMM
from sklearn_cvb.hmm.model import Logged, SymbolChain, learned_chain
from sklearn_cvb.hmm.parameters import (
    HMMCounts,
    Prior,
    expected_log,
    kept_to_topology,
    log_weights,
    uniform_weights,
)
from sklearn_cvb.hmm.priors import Concentrations
from sklearn_cvb.hmm.seeds import Seed, seed_by_cells, seed_by_counts, seed_by_token
from sklearn_cvb.hmm.shards import (
    BatchShard,
    CollapsedShard,
    Facts,
    Found,
    LogsNeeded,
    Place,
    Terms,
    summed,
)
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
from sklearn_cvb.kernels.chain.absence import Absence
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.lattice import Cells
from sklearn_cvb.learning.model import Inferred, State
from sklearn_cvb.streaming import Seen
from sklearn_cvb.validation import InvalidParameterError

if TYPE_CHECKING:
    from sklearn_cvb.hmm.base import BaseHMM as _Model
else:
    _Model = object


class Shards(Protocol):
    """Where the shards are: whoever asks need not know."""

    def ask(self, name: str, *arguments: Any) -> Found:
        """Call a method of every shard, and add up what they return in their order."""
        ...


class Here:
    """Shards in this process, asked one after the other."""

    def __init__(self, shards: Sequence[Any]) -> None:
        self.shards = shards

    def ask(self, name: str, *arguments: Any) -> Found:
        """Call a method of every shard, and add up what they return in their order."""
        return summed([getattr(shard, name)(*arguments) for shard in self.shards])


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


class Whole:
    """A problem in shards.

    Parameters
    ----------
    cells : Cells
    digest : Corpus
    facts : list of Facts
        Of each shard.
    shards : Shards
    """

    # Shards say themselves which of the given sequences they leave out.
    sequences = places = left_out = None

    def __init__(self, cells: Cells, digest: Corpus, facts: list[Facts], shards: Shards) -> None:
        self.cells, self.n_words = cells, cells.n_words
        self.corpus = WholeCorpus(digest, sum(one.n_sequences for one in facts))
        self.facts = facts
        self.shards = shards
        self.n_tokens = sum(one.n_tokens for one in facts)
        self.any_told = any(one.any_told for one in facts)
        self.any_choice = any(one.any_choice for one in facts)
        self.n_runs = 0

    def forget_shards(self) -> None:
        """Let go of the shards; what tells whether a fit may go on stays."""
        self.shards = Here([])


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
            n_tokens -= int(problem.shards.ask("n_tokens_of", unexplained).total)
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


class Rounds(NamedTuple):
    """What collapsed variational Bayes knows of posteriors that are elsewhere.

    Attributes
    ----------
    run : int
        Number of the restart.
    n_sweeps : int
        Of all shards.
    absence : Absence or None
        P(C = 0) of all counts; None where it is not known.
    """

    run: int
    n_sweeps: int
    absence: Absence | None


class ShardedChain(SymbolChain):
    """A chain whose sequences are in shards: each is asked, and what they find is added up."""

    problem: Any

    @property
    def n_observed(self) -> int:
        """Observed tokens of the sequences that some path may explain, in all shards."""
        return sum(one.n_observed for one in self.problem.facts)

    def learn(self, hyper: Concentrations, state: State, step: Any, absence: Any) -> Concentrations:
        """As of a chain in one piece, from what the shards tell of absence."""
        if absence is not None and state.shares.absence is None:
            return hyper
        return learned_chain(hyper, state, self.cells, step, absence)

    def absence(self, shares: Rounds) -> Any:
        """The product over all shards."""
        return shares.absence

    def seeds(self, prior: Prior, facts: list, rng: np.random.Generator) -> list:
        """What is drawn by whoever leads the fit."""
        init, cells, whole = self.settings.init, self.cells, self.problem
        if hasattr(init, "predict_proba"):
            start = starting.model_start(whole, init, prior, self.settings.vocabulary)
            assert start.weights is not None, "of a model"
            return [Seed(weights=kept_to_topology(start.weights, cells))]
        if not isinstance(init, str):
            raise InvalidParameterError(
                "arrays as `init` are for corpora in one piece: in shards give the name of a "
                "start, or a fitted model"
            )
        seed = seed_by_cells(init, cells, rng)
        if seed is None and init == "token":
            seed = seed_by_token([one.n_entries for one in whole.facts], rng)
        if seed is None:
            found = whole.shards.ask("steps", init).counts
            seed = seed_by_counts(init, found.start, found.transition, cells)
        if seed.weights is not None:
            seed = seed._replace(weights=kept_to_topology(seed.weights, cells))
        return [seed]

    def start(self, prior: Prior, seed: Seed, keep: bool) -> tuple[Inferred, Weights | None]:
        """First counts of all shards."""
        ask, init = self.problem.shards.ask, self.settings.init
        if keep:
            self.problem.n_runs += 1
            run = self.problem.n_runs
            found = ask("start", seed, Terms(run, 0, prior.concentrations))
            shares = Rounds(run, 0, found.absence)
            return Inferred(found.counts, 0.0, found.unexplained, shares), None
        weights = uniform_weights(self.cells) if seed.weights is None else seed.weights
        if hasattr(init, "predict_proba"):
            counts = starting.model_counts(self.problem, init, self.settings.vocabulary)
            return Inferred(counts, 0.0), uniform_weights(self.cells)
        return Inferred(ask("start", seed).counts, 0.0), weights

    def infer(self, weights: Weights | Logged, work: Any = None) -> Inferred:
        """Expected counts of all shards; logs are sent where one of them needs any."""
        plain = weights.weights if isinstance(weights, Logged) else weights
        try:
            found = self.problem.shards.ask("infer", plain)
        except LogsNeeded:
            logs = log_weights(plain)
            if isinstance(weights, Logged):
                logs = expected_log(weights.counts, weights.prior, self.cells)
            found = self.problem.shards.ask("infer", plain, logs)
        return Inferred(found.counts, found.total, found.unexplained)

    def leave_out(
        self, counts: HMMCounts, prior: Prior, shares: Rounds, *, frozen: bool
    ) -> Inferred:
        """A round: all shards sweep from the same counts."""
        terms = Terms(shares.run, shares.n_sweeps, prior.concentrations)
        if frozen:
            found = self.problem.shards.ask("score", counts, terms)
            return Inferred(counts, found.total, found.unexplained, shares)
        found = self.problem.shards.ask("sweep", counts, terms)
        shares = Rounds(shares.run, shares.n_sweeps + 1, found.absence)
        return Inferred(found.counts, found.total, found.unexplained, shares)

    def rebase(self, state: State) -> State | None:
        """The state under the prior of now; its restart keeps its number."""
        if isinstance(state.shares, Rounds):
            self.problem.n_runs = max(self.problem.n_runs, state.shares.run)
        return super().rebase(state)


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
    if isinstance(model, CVBHMM) and model.update == "token":
        raise InvalidParameterError(
            "in shards CVB leaves out a sequence or a window at a time: use update='sequence', got "
            f"update={model.update!r}"
        )


def shard_of(model: BaseHMM, part: Part, place: Place) -> BatchShard | CollapsedShard:
    """The shard of a part, for the algorithm of a model that was laid out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        problem = problem_of_part(model, part)
    shard: BatchShard | CollapsedShard = BatchShard(problem, place)
    if isinstance(model, CVBHMM):
        shard = CollapsedShard(problem, place, model._left_out, model._prior_settings())
    shard.messages = tuple(f"part {place.index}: {one.message}" for one in caught)
    return shard


def places_of(sizes: Sequence[int]) -> list[Place]:
    """Where shards of so many sequences stand."""
    firsts = np.cumsum([0, *sizes]).tolist()
    return [Place(index, first, len(sizes) == 1) for index, first in enumerate(firsts[:-1])]


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
    shards = [
        shard_of(laid_out.model, part, place)
        for part, place in zip(read, places_of([p.corpus.n_sequences for p in read]), strict=True)
    ]
    whole = whole_of(model, laid_out, [shard.facts() for shard in shards], Here(shards))
    fit_whole(model, whole)
    return whole


def whole_of(model: BaseHMM, laid_out: LaidOut, facts: list[Facts], shards: Shards) -> Whole:
    """The problem in shards that a model learns from, once all parts are laid out."""
    for one in facts:
        for message in one.warnings:
            warnings.warn(message, UserWarning, stacklevel=4)
    finish(model, laid_out)
    return Whole(model._cells, laid_out.corpus, facts, shards)
