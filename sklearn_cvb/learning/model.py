"""The interface between algorithms and models: three protocols, and the values that cross it. A
unit is a sequence, a tree or a sentence pair; its share is what it adds to the expected counts;
`work` are buffers; `hyper` are concentrations of Dirichlet priors; absence is the probability of a
count 0.

A model is a family bound to data, layout and settings. It never changes, so that restarts share it.
Expected counts, shares and samples are of the family's own types; algorithms only hand them on.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeVar

import numpy as np

NOBODY = np.empty(0, np.intp)


class InferenceResult(NamedTuple):
    """The E-step's result: expected counts of all units, and the sum of their log normalisers.

    Attributes
    ----------
    counts : ndarray or tuple of ndarray
        Expected counts, summed over the model's own units.
    log_normaliser : float
        Sum of the log normalisers (nats) of all units that have a path, tree or alignment.
    unexplained : ndarray
        Indices of the units that have none.
    shares : object or None
        The expected counts of each unit, where they were asked for.
    work : object or None
        Buffers, which the next call may use again.
    """

    counts: Any
    log_normaliser: float
    unexplained: np.ndarray = NOBODY
    shares: Any = None
    work: Any = None

    @classmethod
    def from_log_z(
        cls, counts: Any, log_z: np.ndarray, shares: Any = None, times: Any = 1.0
    ) -> Self:
        """The result of a family that has a log normaliser of each unit, -inf if unexplained.

        Each unit counts so many `times`.
        """
        total = float((times * log_z)[np.isfinite(log_z)].sum())
        return cls(counts, total, np.flatnonzero(np.isneginf(log_z)), shares)


class StructureSample(NamedTuple):
    """A sample of the hidden structure (paths, trees, alignments) of all units, and its counts.

    Attributes
    ----------
    counts : ndarray or tuple of ndarray
        How often the sample uses each cell.
    structure : object
        The paths, trees or alignments themselves.
    unexplained : ndarray
        Indices of units without any structure.
    proposals : ndarray or float
        How many proposals were made and accepted, in the family's order; 0 where none are made.
    """

    counts: Any
    structure: Any
    unexplained: np.ndarray = NOBODY
    proposals: Any = 0.0


class State(NamedTuple):
    """The state of a restart after a sweep: counts, prior, concentrations, weights or shares.

    Attributes
    ----------
    counts : ndarray or tuple of ndarray
        Expected counts of all units, or the counts of the sample.
    prior : object
        Dirichlet prior of all cells under `hyper`.
    hyper : object
        Concentrations, with `log_density()` and `is_learned`.
    weights : object or None
        Those under which the counts were inferred (EM, VB).
    shares : object or None
        The expected counts of each unit (CVB), or the sampled structure (Gibbs).
    unexplained : ndarray
        Indices of units without path, tree or alignment.
    n_sweeps : int
    work : object or None
        Buffers of inference, or the `ChainMemory` of a sampler.
    layout : object or None
        Of a model whose layout changes between sweeps.
    extrapolation : Extrapolation or None
        Where the next sweep of an accelerated restart begins (see `squarem`).
    """

    counts: Any
    prior: Any
    hyper: Any
    weights: Any = None
    shares: Any = None
    unexplained: np.ndarray = NOBODY
    n_sweeps: int = 0
    work: Any = None
    layout: Any = None
    extrapolation: Any = None


class Fit(NamedTuple):
    """A restart so far: its state, the history of its objective, and how near it is to its end.

    Attributes
    ----------
    state : object
        The state after the last sweep.
    history : list of float
        What each sweep reported (nats, higher is better).
    converged : bool
        Whether the distance was below the tolerance, and a disturbed copy found nothing better.
    objective : float or None
        What restarts are ranked by; None until the restart is over.
    rng_state : dict or None
        State of the random generator after the last sweep: what comes next draws from there.
    checked_counts : tuple
        Counts at the last two looks (see `convergence`).
    share_moved : float or None
        The share of the tokens that moved in the half of the sweeps before the last look.
    check_broken_off : bool
        Whether the last look was: by Ctrl-C, or as `max_iter` is too few to go on from the copy.
    """

    state: Any
    history: list[float]
    converged: bool
    objective: float | None = None
    rng_state: Any = None
    checked_counts: tuple[Any, ...] = ()
    share_moved: float | None = None
    check_broken_off: bool = False


# A sweep of a restart, and what is called after each: True ends the restart.
Sweep = Callable[[Any], tuple[Any, float]]
Record = Callable[[Fit], bool]


class FixedConcentrations(NamedTuple):
    """Concentrations of which none is learned."""

    @property
    def is_learned(self) -> bool:
        """None of them."""
        return False

    def log_density(self) -> float:
        """Nothing: they have no prior."""
        return 0.0


# What algorithms require of a model, in three protocols: all, those that infer, and samplers.
# Whoever requires more has a protocol of its own beside it.


class Resumable(Protocol):
    """Required by every algorithm and by the loop of sweeps: prior, and states to go on from."""

    @property
    def n_observed(self) -> float:
        """Observed tokens, which changes, histories and scores are divided by."""

    def hyper(self) -> Any:
        """Concentrations of the first sweep, with `log_density()` and `is_learned`."""

    def prior(self, hyper: Any) -> Any:
        """Dirichlet prior of all cells under these concentrations."""

    def for_restart(self, index: int) -> Self:
        """The model of a restart after the first: with another start, where the first is fixed."""

    def adapt_state(self, state: State) -> State | None:
        """A state to go on from under the settings of now; None where it is of no use."""

    def finish(self, state: State, *, goes_on: bool) -> State:
        """The last state of a restart, without what sweeps need where none `goes_on` from it."""

    def compact(self, state: State) -> State:
        """The state as a checkpoint saves it: without what `restore` makes again from the data."""

    def restore(self, state: State) -> State:
        """The whole state again, of one that `compact` has made smaller."""

    def copy_state(self, state: State) -> State | None:
        """A copy that sweeps may change in place; None where parts of it are elsewhere."""

    def disturb(self, counts: Any, rng: np.random.Generator) -> Any:
        """Counts that are larger, each by a random factor: no unit's own exceed them."""


class Learnable(Resumable, Protocol):
    """Required by EM, VB and CVB."""

    # Fields of counts that hold sums of statistics, which may have any sign.
    statistics: ClassVar[tuple[str, ...]]

    def seed(self, prior: Any, rng: np.random.Generator) -> Any:
        """What is drawn before a restart, for all parts of the data alike."""

    def start(self, prior: Any, seed: Any, keep: bool) -> tuple[InferenceResult, Any]:
        """First counts (and shares, to `keep`), and the weights that gave them, if any."""

    def maximise(self, counts: Any, prior: Any, before: Any) -> tuple[Any, float]:
        """EM: the mode of the parameters, and minus its log prior density."""

    def average(self, counts: Any, prior: Any, before: Any) -> tuple[Any, float]:
        """VB: exp E[log parameters], and KL(posterior || prior)."""

    def infer(self, weights: Any, work: Any = None) -> InferenceResult:
        """Expected counts of all units under the same weights."""

    def leave_out(self, counts: Any, prior: Any, shares: Any, *, frozen: bool) -> InferenceResult:
        """CVB: each unit in turn given the counts of all others, put back new (frozen: as it was).

        `counts` are those of all parts; what is returned are the model's own.
        """

    def learn_hyper(
        self, hyper: Any, state: State, step: Callable[..., Any], absence: Callable[..., Any] | None
    ) -> Any:
        """Concentrations of the next sweep: the same object where none is learned.

        `step` is one of `learning.dirichlet`; ``absence()`` tells how surely nothing was
        counted (None: what is expected was there).
        """

    def absence(self, shares: Any) -> Any:
        """How surely nothing was counted, as far as these shares tell; None if not known."""


class Decodable(Learnable, Protocol):
    """Required by Viterbi training beside what EM asks for."""

    def decode(self, weights: Any) -> InferenceResult:
        """Counts of the most probable path, tree or alignment of each unit, and its log weight."""


class Samplable(Resumable, Protocol):
    """Required by samplers (Wang and Blunsom 2013, figure 1; eqs. 28-29)."""

    def first_sample(self, prior: Any, rng: np.random.Generator) -> StructureSample:
        """The first sample of a chain."""

    def resample(
        self, counts: Any, prior: Any, sample: Any, rng: np.random.Generator, temperature: float
    ) -> StructureSample:
        """The next sample of a chain."""

    def log_evidence(self, counts: Any, prior: Any, sample: Any) -> float:
        """log p(x, sample | prior), nats."""

    def means(self, counts: Any, prior: Any, sample: Any) -> Any:
        """Posterior means of the parameters given a sample: predictions average them."""

    def draw_hyper(self, state: State, step: Any, rng: Any) -> Any:
        """Concentrations of the next sweep: learned, or drawn but while `rng` is None."""

    def count_labels(self, label_counts: Any, sample: Any) -> Any:
        """How often each label was sampled, with one more sample; None: this is the first."""

    def trace_note(self, hyper: Any, counts: Any) -> Any:
        """Values that the trace of a chain holds for each sweep, beside its log evidence."""

    def sample_to_keep(self, counts: Any, prior: Any, sample: Any) -> Any:
        """The part of a sample that is kept for credible intervals and draws; None for nothing."""


# A model of some kind, as an algorithm asks for it.
ModelT = TypeVar("ModelT", bound=Resumable)


class Model(Resumable):
    """Base of families: a default for all that not every one has to say.

    The rest of `Resumable`, `Learnable` and `Samplable` a family fills in, as far as the algorithms
    that it is to be learned by require it.
    """

    # Fields of counts that hold sums of statistics, which may have any sign.
    statistics: ClassVar[tuple[str, ...]] = ()

    # Concentrations, and where a restart begins

    def hyper(self) -> Any:
        """None of them is learned."""
        return FixedConcentrations()

    def learn_hyper(
        self, hyper: Any, state: State, step: Callable[..., Any], absence: Callable[..., Any] | None
    ) -> Any:
        """The same."""
        return hyper

    def absence(self, shares: Any) -> Any:
        """Not known."""
        return None

    def for_restart(self, index: int) -> Self:
        """The same: what is drawn differs."""
        return self

    # Sampling

    def draw_hyper(self, state: State, step: Any, rng: Any) -> Any:
        """Concentrations are learned like any other algorithm's."""
        return self.learn_hyper(state.hyper, state, step, None)

    def count_labels(self, label_counts: Any, sample: Any) -> Any:
        """Nothing."""
        return None

    def trace_note(self, hyper: Any, counts: Any) -> Any:
        """Nothing."""
        return None

    def sample_to_keep(self, counts: Any, prior: Any, sample: Any) -> Any:
        """Nothing."""
        return None

    # Convergence: a copy of a state, which is disturbed

    def disturb(self, counts: Any, rng: np.random.Generator) -> Any:
        """Each count is larger by a random factor."""
        return map_arrays(lambda one: one * np.exp(np.abs(rng.normal(0.0, 0.5, one.shape))), counts)

    def counts_of_tokens(self, counts: Any) -> Any:
        """All of them (see `convergence`)."""
        return counts

    def copy_state(self, state: State) -> State | None:
        """All of it."""
        return self.restore(map_arrays(deepcopy, self.compact(state)))

    # Going on from an earlier fit, or from a batch before

    def adapt_state(self, state: State) -> State | None:
        """Its counts, under the prior of now."""
        hyper = self.hyper()
        return state._replace(hyper=hyper, prior=self.prior(hyper))

    def compact(self, state: State) -> State:
        """All of it."""
        return state

    def restore(self, state: State) -> State:
        """It is whole."""
        return state

    def finish(self, state: State, *, goes_on: bool) -> State:
        """All of it."""
        return state


class RowModel(Model):
    """A model without missing tokens, all of whose parameters are rows of one layout."""

    problem: Any

    @property
    def n_observed(self) -> int:
        """Tokens, none of which is missing."""
        return len(self.problem.corpus.tokens)

    def maximise(
        self, counts: np.ndarray, prior: np.ndarray, before: np.ndarray | None
    ) -> tuple[np.ndarray, float]:
        """The mode in the softmax basis, and minus the sum of pseudo-counts times log theta."""
        rows = self.problem.layout.rows(counts, prior)
        weights = rows.mean(before)
        return weights, -rows.log_prior_density(weights)

    def average(
        self, counts: np.ndarray, prior: np.ndarray, before: np.ndarray | None
    ) -> tuple[np.ndarray, float]:
        """exp E[log] of all probabilities, and KL of their posterior from their prior."""
        return self.problem.layout.rows(counts, prior).exp_log_and_divergence()

    def log_evidence(self, counts: np.ndarray, prior: np.ndarray, sample: Any) -> float:
        """log p(tokens, trees | prior)."""
        return self.problem.layout.rows(counts, prior).log_evidence()


def map_arrays(function: Callable[..., Any], *trees: Any) -> Any:
    """The tree of what a function makes of the values at each place of trees of tuples."""
    if isinstance(trees[-1], tuple):
        parts = [map_arrays(function, *values) for values in zip(*trees, strict=True)]
        kind = type(trees[-1])
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
    return function(*trees)


def add_arrays(sums: Any, more: Any) -> Any:
    """Sums of trees of arrays, and one more of their kind; None for no sums before."""
    if sums is None:
        return map_arrays(lambda one: None if one is None else np.array(one), more)
    return map_arrays(lambda one, other: None if other is None else one + other, sums, more)


def mix_arrays(one: Any, share: float, other: Any, other_share: float) -> Any:
    """Two trees of arrays, added with these factors."""
    return map_arrays(lambda a, b: share * a + other_share * b, one, other)
