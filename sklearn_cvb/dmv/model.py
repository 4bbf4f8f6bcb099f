"""The dependency model with valence: what all algorithms ask of it."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import xlogy

from sklearn_cvb.dirichlet import kl_divergence, log_evidence
from sklearn_cvb.dmv.concentrations import Concentrations, learn, log_absence
from sklearn_cvb.dmv.inference import (
    Problem,
    draw_sweep,
    expectation,
    frozen_tally,
    hardened_expectation,
    heaviest,
    leave_out_sweep,
    sum_of,
    tally_of,
    with_mixtures_worked_out,
)
from sklearn_cvb.dmv.layout import Layout, totals_of
from sklearn_cvb.dmv.parameters import (
    exp_expected_log,
    mixed_weights,
    posterior_mean,
    rare_counts,
    unmixed_counts,
)
from sklearn_cvb.dmv.start import first_weights
from sklearn_cvb.dmv.trees import Trees, used_cells
from sklearn_cvb.kernels.dependency.arrays import Shares
from sklearn_cvb.learning.gibbs import sampled_labels
from sklearn_cvb.learning.model import Drawn, Inferred, Model, State, inferred


@dataclass(frozen=True)
class DependencyModel(Model):
    """Sentences of tags, concentrations, and where weights begin.

    `rare` are the tags whose mean counts an unknown tag has, too; at a `temperature` below 1 the
    E-step counts heavy trees more.
    """

    problem: Problem
    first: Concentrations
    init: Any
    rare: np.ndarray
    temperature: float = 1.0

    @property
    def n_observed(self) -> int:
        """Tokens."""
        return self.problem.corpus.n_observed

    @property
    def layout(self) -> Layout:
        """The cells."""
        return self.problem.layout

    def hyper(self) -> Concentrations:
        """Those that the settings ask for."""
        return self.first

    def learn(
        self, hyper: Concentrations, state: State, step: Callable, absence: Callable | None
    ) -> Concentrations:
        """One step for attachments and for decisions, where these are learned."""
        return learn(hyper, state.counts, self.layout, state.n_sweeps, step, absence)

    def absence(self, shares: Shares) -> tuple[np.ndarray, np.ndarray]:
        """log P(C = 0) of every cell and row."""
        return log_absence(shares, self.problem.sentences, self.layout)

    def prior(self, hyper: Concentrations) -> np.ndarray:
        """Concentrations, and what rules and mixtures have beside them."""
        return self.problem.prior_of(hyper.values)

    def seeds(self, prior: np.ndarray, facts: list, rng: np.random.Generator) -> list:
        """The same first weights for all parts."""
        return [first_weights(self.init, self.problem, rng)] * len(facts)

    def start(self, prior: np.ndarray, seed: np.ndarray, keep: bool) -> tuple[Inferred, np.ndarray]:
        """One E-step under the first weights."""
        if not keep:
            return self.infer(seed), seed
        counts, log_z, shares = expectation(seed, self.problem.sentences, keeps_shares=True)
        return inferred(counts, log_z, shares), seed

    def maximise(
        self, counts: np.ndarray, prior: np.ndarray, before: np.ndarray | None
    ) -> tuple[np.ndarray, float]:
        """The mode in the softmax basis, and minus the sum of pseudo-counts times log theta."""
        weights = posterior_mean(counts, prior, before, self.layout)
        return weights, -float(np.sum(xlogy(prior, weights))) if prior.any() else 0.0

    def average(
        self, counts: np.ndarray, prior: np.ndarray, before: np.ndarray | None
    ) -> tuple[np.ndarray, float]:
        """exp E[log] of all probabilities, and KL of their posterior from their prior."""
        cells, layout = counts + prior, self.layout
        divergence = kl_divergence(cells, prior, totals_of(cells, layout), totals_of(prior, layout))
        return exp_expected_log(counts, prior, layout), divergence

    def infer(self, weights: np.ndarray, work: Any = None) -> Inferred:
        """Expected counts; arcs are split in proportion between tables at any temperature."""
        mixed = mixed_weights(weights, self.layout)
        sentences = with_mixtures_worked_out(self.problem.sentences)
        counts, log_z = hardened_expectation(mixed, sentences, self.temperature)
        return inferred(unmixed_counts(counts, weights, self.layout), log_z)

    def leave_out(
        self, counts: np.ndarray, prior: np.ndarray, shares: Shares, *, frozen: bool
    ) -> Inferred:
        """Each sentence from the counts of all others."""
        sentences, tally = self.problem.sentences, tally_of(counts, prior, self.layout)
        shares, log_z = leave_out_sweep(sentences, tally, shares, frozen)
        return inferred(counts if frozen else sum_of(shares, sentences, self.layout), log_z, shares)

    def first_sample(self, prior: np.ndarray, rng: np.random.Generator) -> Drawn:
        """Trees drawn under the first weights."""
        tally = frozen_tally(first_weights(self.init, self.problem, rng))
        heads, is_coarse, log_z, _ = draw_sweep(self.problem.sentences, tally, rng)
        trees = Trees(heads, is_coarse)
        unexplained = np.flatnonzero(np.isneginf(log_z))
        return Drawn(used_cells(self.problem.sentences, *trees), trees, unexplained)

    def resample(
        self,
        counts: np.ndarray,
        prior: np.ndarray,
        sample: Trees,
        rng: np.random.Generator,
        temperature: float,
    ) -> Drawn:
        """A Hastings step of each tree given all others."""
        sentences, tally = self.problem.sentences, tally_of(counts, prior, self.layout)
        heads, is_coarse, _, proposals = draw_sweep(
            sentences, tally, rng, sample, 1.0 / temperature
        )
        trees = Trees(heads, is_coarse)
        return Drawn(used_cells(sentences, *trees), trees, proposals=proposals)

    def log_evidence(self, counts: np.ndarray, prior: np.ndarray, sample: Trees) -> float:
        """log p(tags, trees | prior)."""
        totals = totals_of(counts, self.layout), totals_of(prior, self.layout)
        return log_evidence(counts, prior, *totals)

    def means(
        self, counts: np.ndarray, prior: np.ndarray, sample: Trees
    ) -> tuple[np.ndarray, np.ndarray]:
        """Posterior means of all parameters, and with mixtures worked out."""
        more = rare_counts(counts, self.rare, self.layout)
        cells = counts if more is None else counts + more
        means = posterior_mean(cells, prior, None, self.layout)
        return means, mixed_weights(means, self.layout)

    def remembered(self, memory: list[dict] | None, sample: Trees) -> list[dict]:
        """How often each tree (its heads as bytes) of each sentence was sampled."""
        starts = self.problem.sentences.starts
        keys = [sample.heads[a:b].tobytes() for a, b in pairwise(starts.tolist())]
        if memory is None:
            return [{key: 1} for key in keys]
        # States share what they remember: a dict that is there already is left as it is.
        return [
            times | {key: times.get(key, 0) + 1} for times, key in zip(memory, keys, strict=True)
        ]

    def rebase(self, state: State) -> State:
        """Under the prior that is asked for now; what is learned goes on from its value."""
        hyper = self.first.going_on(state.hyper)
        return state._replace(hyper=hyper, prior=self.prior(hyper))

    def heads(self, state: State, weights: np.ndarray) -> np.ndarray:
        """Heads of the sentences: as sampled, or Viterbi given shares, or under these weights."""
        sentences = self.problem.sentences
        if isinstance(state.shares, Trees):
            return self._sampled_heads(state, weights)
        if isinstance(state.shares, Shares):
            tally = tally_of(state.counts, state.prior, self.layout)
            return heaviest(tally, sentences, state.shares)[0]
        mixed = frozen_tally(mixed_weights(weights, self.layout))
        return heaviest(mixed, with_mixtures_worked_out(sentences))[0]

    def _sampled_heads(self, state: State, weights: np.ndarray) -> np.ndarray:
        """The most frequent tree of each sentence late in the chain."""
        best = [
            np.frombuffer(max(times, key=times.__getitem__), np.int64)
            for times in sampled_labels(state, self)
        ]
        heads = np.concatenate(best)
        if len(state.unexplained):
            # A sentence without a tree gets one of those that have least of what is impossible.
            others = heaviest(frozen_tally(weights), self.problem.sentences)[0]
            heads = np.where(heads < 0, others, heads)
        return heads
