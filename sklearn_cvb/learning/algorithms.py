"""The algorithms that learn every model: EM, variational Bayes (VB) and collapsed VB (CVB).

EM and VB sweep in batches: an M-step makes weights of all expected counts, an E-step counts again.

An algorithm is three functions, written once for all models. Wang and Blunsom (2013): HMM, eqs.
6-11, 24-25 and figure 3; PCFG, section 3. Samplers are in `gibbs`, a wrapper in
`split_merge`; stepwise EM is in `streams`.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Generic

import numpy as np

from sklearn_cvb.learning import dirichlet
from sklearn_cvb.learning.fingerprints import are_same
from sklearn_cvb.learning.model import (
    Decodable,
    Fit,
    InferenceResult,
    Learnable,
    ModelT,
    Resumable,
    State,
)
from sklearn_cvb.learning.squarem import accelerated_sweep


class Algorithm(Generic[ModelT]):
    """Three functions make an algorithm: `start`, `sweep` and `objective`.

    An instance holds settings and no results: what a restart learns is in its `State`.
    """

    # The protocol of models that it learns, and functions of it that a model may lack.
    requires: type = Resumable
    optional: tuple[str, ...] = ()
    # What the history says of a sweep, as plots name it.
    title_of_history = "objective (nats)"
    # Whether a restart ends before its last sweep at all.
    stops = True
    # Whether no sweep lowers what the history says.
    never_falls = False
    # Whether a sweep may lower what the history says, and the best one is kept.
    keeps_best = False
    # Whether predictions are made under exp E[log parameters], not under posterior means.
    averages = False
    # Whether sweeps begin elsewhere than where the last one ended (see `squarem`).
    accelerate = False
    # Whether `State.work` is more than buffers, which are soon made again.
    keeps_work = True
    # The public name of the objective, beside `objective_`.
    name_of_objective = ""

    def start(self, model: ModelT, rng: np.random.Generator, seed: Any = None) -> State:
        """The state before the first sweep; from a `seed`, or one that is drawn."""
        raise NotImplementedError

    def sweep(self, state: State, model: ModelT, rng: np.random.Generator) -> tuple[State, float]:
        """The next state, and what the history says of the sweep (nats, higher is better)."""
        raise NotImplementedError

    def objective(self, state: State, model: ModelT, history: list[float]) -> float:
        """What restarts are ranked by."""
        return history[-1]

    def final_counts(self, state: State) -> Any:
        """The counts that a fit leaves."""
        return state.counts

    def final_state(self, state: Any) -> Any:
        """The state that a restart leaves."""
        return state

    def adapt_state(self, state: State, model: ModelT) -> State | None:
        """A state to go on from under the settings of now; None where it is of no use."""
        return model.adapt_state(state)

    def attributes(self, fit: Fit, model: ModelT) -> dict[str, Any]:
        """Fitted attributes that this algorithm alone leaves."""
        return {self.name_of_objective: fit.objective} if self.name_of_objective else {}

    def model_of(self, model: ModelT, state: State) -> ModelT:
        """The model of a state: another one where the layout changes between sweeps."""
        return model

    def n_warm_up(self, hyper: Any) -> int:
        """Sweeps before all is learned that is to be learned: convergence does not count them."""
        return int(hyper.n_warm_up) if np.any(hyper.is_learned) else 0


def first_state(
    model: Learnable,
    rng: np.random.Generator,
    seed: Any,
    *,
    keep: bool,
    decode: Callable[[Any], InferenceResult] | None = None,
) -> State:
    """The state with the first counts of a restart, and with shares, to `keep`.

    Where the start is of weights `decode` may count under them.
    """
    hyper = model.hyper()
    prior = model.prior(hyper)
    if seed is None:
        seed = model.seed(prior, rng)
    (counts, log_normaliser, unexplained, shares, work), weights = model.start(prior, seed, keep)
    if decode and log_normaliser:
        # Counts of posteriors that a start gives have none.
        counts = decode(weights).counts
    return State(counts, prior, hyper, weights, shares, unexplained, 0, work)


def next_hyper(
    model: Learnable, state: State, step: Callable[..., Any], absence: Callable[..., Any] | None
) -> Any:
    """Concentrations of the next sweep: the same object where none is learned."""
    if not np.any(state.hyper.is_learned):
        return state.hyper
    return model.learn_hyper(state.hyper, state, step, absence)


def with_best_sweep(
    plain: Callable[[State], tuple[State, float]], state: State
) -> tuple[State, float]:
    """A sweep whose state knows the best state so far, and its value, in `extrapolation`."""
    after, value = plain(state)
    best = state.extrapolation
    if best is None or value > best[1]:
        best = after, value
    return after._replace(extrapolation=best), value


def best_state(state: State) -> State:
    """The best one that it knows (see `with_best_sweep`)."""
    if state.extrapolation is None:
        return state
    best: State = state.extrapolation[0]
    return best._replace(extrapolation=state.extrapolation)


class BatchAlgorithm(Algorithm[Learnable]):
    """M-step, then E-step: EM and VB differ in the weights, and in what the objective subtracts.

    Parameters
    ----------
    accelerate : bool
        Whether sweeps are accelerated (see `squarem`) where no concentrations are learned.
    may_fall : bool
        Whether a sweep may lower the objective: the best one is kept.
    """

    requires = Learnable
    never_falls = True
    keeps_work = False
    # Added to counts before their logs are taken: VB's weights differ little below it.
    offset = 0.0

    def __init__(self, accelerate: bool = False, may_fall: bool = False) -> None:
        self.accelerate, self.never_falls, self.keeps_best = accelerate, not may_fall, may_fall

    def m_step(self, model: Learnable, counts: Any, prior: Any, before: Any) -> tuple[Any, float]:
        """Weights given counts, and what they cost (nats)."""
        raise NotImplementedError

    def e_step(self, model: Learnable, weights: Any, work: Any) -> InferenceResult:
        """Expected counts given weights."""
        return model.infer(weights, work)

    def start(self, model: Learnable, rng: np.random.Generator, seed: Any = None) -> State:
        """First counts: of one E-step under first weights, or whatever the start gives."""
        return first_state(model, rng, seed, keep=False)._replace(shares=None)

    def sweep(
        self, state: State, model: Learnable, rng: np.random.Generator
    ) -> tuple[State, float]:
        """The value is the objective of the weights just used."""
        plain = partial(self._plain_sweep, model)
        if self.keeps_best:
            return with_best_sweep(plain, state)
        if not self.accelerate or np.any(state.hyper.is_learned):
            return plain(state)
        return accelerated_sweep(state, plain, self.offset, model.statistics)

    def _plain_sweep(self, model: Learnable, state: State) -> tuple[State, float]:
        """M-step and E-step from the counts of the state."""
        hyper = next_hyper(model, state, dirichlet.damped_fixed_point, None)
        prior = state.prior if hyper is state.hyper else model.prior(hyper)
        weights, cost = self.m_step(model, state.counts, prior, state.weights)
        counts, log_normaliser, unexplained, _, work = self.e_step(model, weights, state.work)
        value = log_normaliser - cost + hyper.log_density()
        n_sweeps = state.n_sweeps + 1
        return State(counts, prior, hyper, weights, None, unexplained, n_sweeps, work), float(value)

    def objective(self, state: State, model: Learnable, history: list[float]) -> float:
        """That of the last sweep, or of the best one where a sweep may lower it."""
        return max(history) if self.keeps_best else history[-1]

    def final_state(self, state: State) -> State:
        """The best one, where a sweep may lower the objective."""
        return best_state(state) if self.keeps_best else state

    def adapt_state(self, state: State, model: Learnable) -> State | None:
        """Under another prior no value so far is one to keep up with."""
        after = model.adapt_state(state)
        if after is None or are_same(after.prior, state.prior):
            return after
        return after._replace(extrapolation=None)


class EM(BatchAlgorithm):
    """Expectation-maximisation: the mode of the parameters."""

    optional: tuple[str, ...] = ("average", "leave_out", "absence")
    title_of_history = "log-likelihood + log prior (nats)"

    def m_step(self, model: Learnable, counts: Any, prior: Any, before: Any) -> tuple[Any, float]:
        """The mode, and minus its log prior density."""
        return model.maximise(counts, prior, before)


class ViterbiTraining(EM):
    """Hard EM: the mode of the parameters together with the best path, tree or alignment."""

    requires = Decodable
    title_of_history = "log p of best paths + log prior (nats)"

    def start(self, model: Any, rng: np.random.Generator, seed: Any = None) -> State:
        """First counts: of what is most probable under first weights, or whatever a start gives."""
        first = first_state(model, rng, seed, keep=False, decode=model.decode)
        return first._replace(shares=None)

    def e_step(self, model: Any, weights: Any, work: Any) -> InferenceResult:
        """Counts of what is most probable given weights."""
        decodable: Decodable = model
        return decodable.decode(weights)


class VB(BatchAlgorithm):
    """Variational Bayes: exp E[log parameters], and a bound that never falls."""

    optional: tuple[str, ...] = ("maximise", "leave_out", "absence")
    averages = True
    offset = 0.5
    title_of_history = "lower bound (nats)"
    name_of_objective = "lower_bound_"

    def m_step(self, model: Learnable, counts: Any, prior: Any, before: Any) -> tuple[Any, float]:
        """exp E[log parameters], and the divergence of their posterior from the prior."""
        return model.average(counts, prior, before)


class CVB(Algorithm[Learnable]):
    """What is left out at a time (a sequence, a window, a token) is the model's."""

    requires = Learnable
    optional: tuple[str, ...] = ("maximise", "average", "infer")
    title_of_history = "leave-one-out score (nats per token)"
    name_of_objective = "loo_score_"

    def start(self, model: Learnable, rng: np.random.Generator, seed: Any = None) -> State:
        """First counts, and what each unit adds to them."""
        return first_state(model, rng, seed, keep=True)._replace(weights=None)

    def sweep(
        self, state: State, model: Learnable, rng: np.random.Generator
    ) -> tuple[State, float]:
        """The value is the leave-one-out score per token while counts move."""
        hyper = next_hyper(model, state, dirichlet.fixed_point, lambda: model.absence(state.shares))
        prior = state.prior if hyper is state.hyper else model.prior(hyper)
        n_observed, n_sweeps = model.n_observed, state.n_sweeps + 1
        result = model.leave_out(state.counts, prior, state.shares, frozen=False)
        counts, log_normaliser, unexplained, shares, _ = result
        after = State(counts, prior, hyper, None, shares, unexplained, n_sweeps)
        return after, float(log_normaliser / n_observed)

    def objective(self, state: State, model: Learnable, history: list[float]) -> float:
        """The leave-one-out score per token, in a pass of its own with all counts frozen."""
        result = model.leave_out(state.counts, state.prior, state.shares, frozen=True)
        return float(result.log_normaliser / model.n_observed)
