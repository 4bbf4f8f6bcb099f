"""One batch of `partial_fit`: EM, VB or CVB from running counts, and the running counts after it.

Stepwise EM (Cappé and Moulines 2009; Liang and Klein 2009), stochastic variational Bayes (Hoffman
et al. 2013) and stochastic collapsed variational Bayes (Foulds et al. 2013) are one scheme: the
running counts are mixed with those of a batch, scaled up to all tokens, and the next batch is
inferred from the mixture. Running counts sum to the tokens seen so far, or to those that
`total_samples` sequences would have. A family says in how many steps a batch is gone through.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.learning.algorithms import CVB, Algorithm, BatchAlgorithm
from sklearn_cvb.learning.model import InferenceResult, Learnable, State, map_arrays, mix_arrays
from sklearn_cvb.streams.seen import (
    MixingFactors,
    SeenSoFar,
    mixing_factors,
    seen_after,
    step_size,
)

# A family


class Beginning(NamedTuple):
    """The model of the first pieces of a first batch, their number, and sweeps at most.

    Of 0 sweeps the counts of a start are left.
    """

    model: Any
    n_pieces: int
    n_sweeps: int


@dataclass(frozen=True)
class Stream:
    """The model of a batch, with functions that `partial_fit` requires beside an algorithm's."""

    model: Any

    def with_unseen(self, counts: Any, prior: Any) -> Any:
        """Running counts with a little in cells that no batch has used, where the prior is 0."""
        return counts

    def prior_with_counts(self, prior: Any, counts: Any) -> tuple[Any, Any]:
        """The prior with running counts added, and the seed of a start: weights, its means."""
        raise NotImplementedError

    def unknown_word_counts(self, counts: Any, uses: np.ndarray) -> np.ndarray | None:
        """Mean counts of the words that all batches used once; None where none are added."""
        return None

    # A batch that is gone through in steps

    def pieces(self) -> tuple[np.ndarray | None, float]:
        """Tokens of each step of a batch, None where it is one; how fast step sizes fall."""
        return None, 1.0

    def beginning(self) -> "Beginning | None":
        """What of a first batch is fitted to; None where all of it is swept over once."""
        return None

    def step_on(
        self, counts: Any, prior: Any, steps: MixingFactors, *, averages: bool
    ) -> InferenceResult:
        """Running counts after the steps of a batch; `steps` has the factors of each as arrays.

        If there are fewer than pieces, they are of the last ones.
        """
        raise NotImplementedError


# An algorithm


class StreamCounts(NamedTuple):
    """Running counts: of all batches so far, laid out for the vocabulary of now.

    Attributes
    ----------
    counts : ndarray or tuple of ndarray
    fallback : object
        Weights of rows that have neither counts nor prior.
    """

    counts: Any
    fallback: Any


@dataclass(frozen=True)
class BatchwiseEM:
    """A batch by EM or VB: the state before it, and its values."""

    algorithm: BatchAlgorithm

    def state_before(self, stream: Stream, running: StreamCounts) -> State:
        """Running counts, and the weights of rows that have neither counts nor prior."""
        hyper = stream.model.hyper()
        prior = stream.model.prior(hyper)
        return State(stream.with_unseen(running.counts, prior), prior, hyper, running.fallback)

    def values(
        self, before: State, after: State, value: float, model: Learnable, scale: float
    ) -> tuple[float, float]:
        """The objective as if all tokens were like those of the batch, twice."""
        cost = 0.0
        if scale != 1.0:
            cost = self.algorithm.m_step(model, before.counts, after.prior, before.weights)[1]
        objective = scale * (value + cost) - cost
        return objective, objective

    def after_steps(
        self, model: Learnable, state: State, total: float, scale: float
    ) -> tuple[State, float]:
        """With the weights of the last counts; the value subtracts what these cost."""
        known = model, state.counts, state.prior, state.weights
        weights, cost = self.algorithm.m_step(*known)
        return state._replace(weights=weights), float(scale * total - cost)


@dataclass(frozen=True)
class BatchwiseCVB:
    """A batch by CVB: running counts are part of the prior."""

    algorithm: CVB

    def state_before(self, stream: Stream, running: StreamCounts) -> State:
        """The counts so far are part of the prior; posteriors begin as inferred from it alone."""
        hyper = stream.model.hyper()
        prior, seed = stream.prior_with_counts(stream.model.prior(hyper), running.counts)
        result, _ = stream.model.start(prior, seed, keep=True)
        return State(result.counts, prior, hyper, None, result.shares, result.unexplained)

    def values(
        self, before: State, after: State, value: float, model: Learnable, scale: float
    ) -> tuple[float, float]:
        """The monitor, and the score of the batch."""
        return value, self.algorithm.objective(after, model, [value])

    def after_steps(
        self, model: Learnable, state: State, total: float, scale: float
    ) -> tuple[State, float]:
        """The mean over tokens of what was met."""
        return state, float(total / model.n_observed)


BatchLearner = BatchwiseEM | BatchwiseCVB


def batchwise(algorithm: Algorithm[Any]) -> BatchLearner:
    """How an algorithm learns from batches; TypeError where it does not."""
    if isinstance(algorithm, CVB):
        return BatchwiseCVB(algorithm)
    if not isinstance(algorithm, BatchAlgorithm):
        raise TypeError(
            f"partial_fit takes steps of EM, VB and CVB, and of what inherits from "
            f"`BatchAlgorithm`, which {type(algorithm).__name__} does not: fit to all sequences "
            f"at once"
        )
    return BatchwiseEM(algorithm)


# A batch


class FittedBeginning(NamedTuple):
    """What a fit to the first pieces of a first batch leaves.

    Attributes
    ----------
    result : InferenceResult
        Of these pieces.
    weights : object
        Those of EM's last sweep.
    n_pieces : int
    """

    result: InferenceResult
    weights: Any
    n_pieces: int


class BatchSettings(NamedTuple):
    """All that a batch is learned under: running counts, step sizes, random generator.

    Attributes
    ----------
    running : StreamCounts or None
        Counts so far; None: there are none.
    seen : SeenSoFar or None
    fitted : FittedBeginning or None
        Of a first batch; None where that is one sweep from a start.
    sizes : ndarray of int or None
        Tokens of each step; None: all are one.
    decay, offset : float
    total_samples : int or None
        How many sequences there will be in all.
    rng : numpy.random.Generator
    """

    running: StreamCounts | None
    seen: SeenSoFar | None
    fitted: FittedBeginning | None
    sizes: np.ndarray | None
    decay: float
    offset: float
    total_samples: int | None
    rng: np.random.Generator


class BatchOutcome(NamedTuple):
    """After one more batch: the state with its own counts, the running counts, and values."""

    state: State
    counts: Any
    seen: SeenSoFar
    value: float
    objective: float


def learn_batch(learner: BatchLearner, stream: Stream, course: BatchSettings) -> BatchOutcome:
    """Learn from one more batch."""
    one_batch = _in_one_step if course.sizes is None else _in_steps
    return one_batch(learner, stream, course)


def _in_one_step(learner: BatchLearner, stream: Stream, course: BatchSettings) -> BatchOutcome:
    """One sweep over a batch, from the counts so far, a fit or a start, which are then mixed."""
    running, seen, fitted, _, decay, offset, total_samples, rng = course
    algorithm, model = learner.algorithm, stream.model
    if running is None:
        before = algorithm.start(model, rng, None if fitted is None else fitted.weights)
    else:
        before = learner.state_before(stream, running)
    state, value = algorithm.sweep(before, model, rng)
    now = seen_after(seen, model.problem, state.unexplained, total_samples)
    step = mixing_factors(seen, now, decay, offset)
    counts = map_arrays(lambda one: step.batch * one, state.counts)
    if running is not None:
        counts = mix_arrays(running.counts, step.running, state.counts, step.batch)
    values = learner.values(before, state, value, model, step.scale)
    return BatchOutcome(state, counts, now, *values)


def _in_steps(learner: BatchLearner, stream: Stream, course: BatchSettings) -> BatchOutcome:
    """The pieces of a batch one after the other, each mixed in before the next is inferred.

    Counts stand for all tokens, those of the batch among them. Those of a first batch are at first
    of a fit to its beginning, whose pieces are not gone through again.
    """
    running, seen, fitted, sizes, decay, offset, total_samples, _ = course
    algorithm, model = learner.algorithm, stream.model
    hyper = model.hyper()
    state = State(None, prior := model.prior(hyper), hyper)
    whole = seen_after(seen, model.problem, state.unexplained, total_samples)
    assert sizes is not None, "else it is one step"
    if running is not None and seen is not None:
        n_before, n_seen, mass, total = seen.n_tokens, seen.n_tokens, seen.mass, 0.0
    else:
        assert fitted is not None, "a first batch in steps"
        fit, n_fitted = fitted.result, int(sizes[: fitted.n_pieces].sum())
        running, sizes = StreamCounts(fit.counts, fitted.weights), sizes[fitted.n_pieces :]
        n_before, n_seen, mass, total = 0, n_fitted, float(n_fitted), fit.log_normaliser
    counts = map_arrays(lambda one: one * (whole.mass / mass), running.counts)
    state = state._replace(weights=running.fallback)
    rho = step_size(n_seen + np.cumsum(sizes), sizes, decay, offset)
    steps = MixingFactors(1.0 - rho, rho * whole.mass / sizes, whole.mass / sizes)
    result = stream.step_on(counts, prior, steps, averages=algorithm.averages)
    state = state._replace(unexplained=result.unexplained, n_sweeps=1)
    # Sequences that nothing explains turn out on the way.
    now = seen_after(seen, model.problem, state.unexplained, total_samples)
    counts = map_arrays(lambda one: one * (now.mass / whole.mass), result.counts)
    scale = now.mass / max(1, now.n_tokens - n_before)
    state = state._replace(counts=counts)
    state, value = learner.after_steps(model, state, total + result.log_normaliser, scale)
    return BatchOutcome(state, counts, now, value, value)
