"""Chains in shards: what they do otherwise than other models (see `sklearn_cvb.learning.parts`)."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain import starts as starting
from sklearn_cvb.chain.lattice import Cells
from sklearn_cvb.chain.parameters import (
    Concentrations,
    HMMCounts,
    Prior,
    kept_to_topology,
    log_weights,
    uniform_weights,
)
from sklearn_cvb.chain.starts import Start
from sklearn_cvb.chain.symbols.model import Logged, SymbolChain
from sklearn_cvb.chain.symbols.shared_start import (
    Seed,
    counts_for,
    seed_by_cells,
    seed_by_counts,
    seed_by_token,
    start_of,
)
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.learning.model import Inferred
from sklearn_cvb.learning.parts import Found, Shard, Sharded
from sklearn_cvb.reading.validation import InvalidParameterError


class LogsNeeded(Exception):
    """Float64 lost a sequence: the E-step needs the logs of the weights, made without underflow."""


class Sent(NamedTuple):
    """Weights as they are sent to shards: with logs only after one of them needed any."""

    weights: Weights
    logs_sent: Weights | None = None

    def logs(self, cells: Cells) -> Weights:
        """The logs that were sent; LogsNeeded where none were."""
        if self.logs_sent is None:
            raise LogsNeeded
        return self.logs_sent


class ChainShard(Shard):
    """A chain of some sequences."""

    def steps(self, name: str) -> Found:
        """What a start counts beforehand (see `sklearn_cvb.chain.symbols.shared_start`)."""
        return Found(HMMCounts(*counts_for(name, self.model.problem), np.empty(0)), 0.0)

    def _own(self, seed: Seed) -> Any:
        return partial(start_of, seed, self.model.problem, self.place.number)

    def _at(self, shares: Any, n_sweeps: int) -> Any:
        return shares._replace(n_sweeps=n_sweeps)

    def _as_given(self, unexplained: np.ndarray) -> np.ndarray:
        given: np.ndarray = self.model.problem.of_given(unexplained)
        return given


class ShardedChain(Sharded, SymbolChain):
    """A chain whose sequences are in shards."""

    def hyper_in(self, prior: Prior) -> Concentrations:
        """The concentrations that a prior was made from."""
        concentrations: Concentrations = prior.concentrations
        return concentrations

    def seed(self, prior: Prior, rng: np.random.Generator) -> Seed:
        """What is drawn by whoever leads the fit."""
        init, cells = self.settings.init, self.cells
        if hasattr(init, "predict_proba"):
            start = starting.model_start(self.problem, init, prior, self.settings.vocabulary)
            assert start.weights is not None, "of a model"
            return Seed(weights=kept_to_topology(start.weights, cells))
        if not isinstance(init, str):
            raise InvalidParameterError(
                "arrays as `init` are for corpora in one piece: in shards give the name of a "
                "start, or a fitted model"
            )
        seed = seed_by_cells(init, cells, rng)
        if seed is None and init == "token":
            seed = seed_by_token([one.of_model.n_entries for one in self.problem.facts], rng)
        if seed is None:
            found = self.problem.source.ask("steps", init).counts
            seed = seed_by_counts(init, found.start, found.transition, cells)
        if seed.weights is not None:
            seed = seed._replace(weights=kept_to_topology(seed.weights, cells))
        return seed

    def start(self, prior: Prior, seed: Seed, keep: bool) -> tuple[Inferred, Weights | None]:
        """First counts of all shards: of posteriors that each of them makes, or of an E-step."""
        if keep or hasattr(self.settings.init, "predict_proba"):
            return super().start(prior, seed, keep)
        if seed.weights is not None:
            return super().start(prior, Start(None, seed.weights), keep)
        counts = self.problem.source.ask("start", seed).counts
        return Inferred(counts, 0.0), uniform_weights(self.cells)

    def infer(self, weights: Weights | Logged, work: Any = None) -> Inferred:
        """Expected counts of all shards; logs are sent where one of them needs any."""
        plain = weights.weights if isinstance(weights, Logged) else weights
        try:
            return super().infer(Sent(plain))
        except LogsNeeded:
            if isinstance(weights, Logged):
                return super().infer(Sent(plain, weights.logs(self.cells)))
            return super().infer(Sent(plain, log_weights(plain)))
