"""A grammar as a model: what all algorithms ask of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy

from sklearn_cvb.dirichlet import kl_divergence, log_evidence
from sklearn_cvb.kernels.tree.arrays import Trees
from sklearn_cvb.kernels.tree.tallies import Shares
from sklearn_cvb.learning.gibbs import sampled_labels
from sklearn_cvb.learning.model import Drawn, Inferred, Model, State, inferred
from sklearn_cvb.pcfg.concentrations import Alpha, learn
from sklearn_cvb.pcfg.forms import Problem, expectation, heaviest_trees
from sklearn_cvb.pcfg.parameters import (
    exp_expected_log,
    posterior_mean,
    rare_counts,
    totals_of,
    with_unseen,
)
from sklearn_cvb.pcfg.samples import SeenTrees, most_frequent, used_rules, with_trees
from sklearn_cvb.pcfg.shares import counts_of, first_shares, left_out_trees, presence
from sklearn_cvb.pcfg.start import first_weights, is_of_trees
from sklearn_cvb.pcfg.sweeps import (
    draw_sweep,
    frozen_tally,
    leave_out_sweep,
    stepwise_sweep,
    tally_of,
)


@dataclass(frozen=True)
class GrammarModel(Model):
    """Sentences under a grammar, the concentrations asked for, and where a restart begins."""

    problem: Problem
    alpha: Alpha
    init: Any
    handle_unknown: str

    @property
    def n_observed(self) -> int:
        """Words."""
        return self.problem.corpus.n_observed

    # Concentrations and prior

    def hyper(self) -> Alpha:
        """The concentrations asked for."""
        return self.alpha

    def learn(self, hyper: Alpha, state: State, step: Callable, absence: Callable | None) -> Alpha:
        """One step for a concentration that is learned."""
        return learn(hyper, self.problem.layout, state.counts, state.n_sweeps, step, absence)

    def absence(self, shares: Any) -> tuple[np.ndarray, ...] | None:
        """P(C > 0) of every rule and left-hand side, which `learn` asks for."""
        return presence(shares, self.problem)

    def prior(self, hyper: Alpha) -> np.ndarray:
        """One concentration for each rule."""
        return hyper.cells

    # Where a restart begins

    def seeds(self, prior: np.ndarray, facts: list, rng: np.random.Generator) -> list:
        """First weights, the same for all parts."""
        return [first_weights(self.init, self.problem.layout, rng)] * len(facts)

    def start(self, prior: np.ndarray, seed: np.ndarray, keep: bool) -> tuple[Inferred, np.ndarray]:
        """Counts expected under the first weights."""
        if keep:
            shares, log_z = first_shares(seed, self.problem)
            return inferred(counts_of(shares, self.problem), log_z, shares), seed
        found = self.infer(seed)
        if is_of_trees(self.init):
            # Symbols without count and prior keep these: they must sum to 1.
            seed = posterior_mean(self.problem.layout, seed, 0.0, seed)
        return found, seed

    # EM and VB

    def maximise(
        self, counts: np.ndarray, prior: np.ndarray, before: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """The mode in the softmax basis, and minus the sum of alpha times log theta."""
        weights = posterior_mean(self.problem.layout, counts, prior, before)
        return weights, -float(np.sum(xlogy(prior, weights))) if prior.any() else 0.0

    def average(
        self, counts: np.ndarray, prior: np.ndarray, before: Any
    ) -> tuple[np.ndarray, float]:
        """exp E[log theta], and KL of the posterior of theta from its prior."""
        layout, cells = self.problem.layout, counts + prior
        divergence = kl_divergence(cells, prior, totals_of(layout, cells), totals_of(layout, prior))
        return exp_expected_log(layout, counts, prior), divergence

    def infer(self, weights: np.ndarray, work: Any = None) -> Inferred:
        """Expected counts of all sentences."""
        return inferred(*expectation(weights, self.problem))

    # CVB

    def leave_out(
        self, counts: np.ndarray, prior: np.ndarray, shares: Any, *, frozen: bool
    ) -> Inferred:
        """Each sentence from the counts of all others."""
        tally = tally_of(self.problem.layout, counts, prior)
        new, log_z = leave_out_sweep(self.problem, tally, shares, frozen)
        if frozen:
            return inferred(counts, log_z, shares)
        return inferred(counts_of(new, self.problem), log_z, new)

    # Sampling

    def first_sample(self, prior: np.ndarray, rng: np.random.Generator) -> Drawn:
        """Trees drawn under the first weights."""
        layout = self.problem.layout
        tally = frozen_tally(layout, first_weights(self.init, layout, rng))
        trees, log_z, _ = draw_sweep(self.problem, tally, rng)
        return Drawn(used_rules(trees, layout), trees, np.flatnonzero(np.isneginf(log_z)))

    def resample(
        self,
        counts: np.ndarray,
        prior: np.ndarray,
        sample: Trees,
        rng: np.random.Generator,
        temperature: float,
    ) -> Drawn:
        """A Hastings step of each sentence given the trees of all others."""
        layout = self.problem.layout
        tally = tally_of(layout, counts, prior)
        trees, _, proposals = draw_sweep(self.problem, tally, rng, sample, temperature)
        return Drawn(used_rules(trees, layout), trees, proposals=proposals)

    def log_evidence(self, counts: np.ndarray, prior: np.ndarray, sample: Trees) -> float:
        """log p(words, trees | prior)."""
        layout = self.problem.layout
        return log_evidence(counts, prior, totals_of(layout, counts), totals_of(layout, prior))

    def means(self, counts: np.ndarray, prior: np.ndarray, sample: Trees) -> np.ndarray:
        """Posterior means, those of unknown words included."""
        layout, rare = self.problem.layout, self.rare(counts)
        if rare is not None:
            counts = counts.copy()
            np.add.at(counts, layout.unknown_cells, rare)
        return posterior_mean(layout, counts, prior, None)

    def remembered(self, memory: SeenTrees | None, sample: Trees) -> SeenTrees:
        """How often each tree of each sentence was sampled."""
        return with_trees(memory, sample)

    # Stepwise EM

    def units(self) -> np.ndarray:
        """Numbers of all sentences."""
        return self.problem.sentences

    def step_through(
        self, state: State, order: np.ndarray, pace: tuple[int, float], n_steps: int
    ) -> Inferred:
        """Counts that move after every few sentences."""
        tally = tally_of(self.problem.layout, state.counts, state.prior, state.weights)
        log_z, n_steps = stepwise_sweep(self.problem, tally, order, (*pace, n_steps))
        return inferred(tally.cells * tally.unit[0], log_z, work=n_steps)

    # Going on

    def rebase(self, state: State) -> State | None:
        """Concentrations as asked for now, but what is learned goes on from its value."""
        alpha = self.alpha
        if alpha.learned:
            alpha = alpha._replace(cells=state.hyper.cells)
        counts = state.counts
        if isinstance(state.shares, Shares):
            # Counts are summed again: a sweep broken off half-way has changed shares in tables.
            counts = counts_of(state.shares, self.problem)
        return state._replace(counts=counts, hyper=alpha, prior=self.prior(alpha))

    def with_unseen(self, counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """A little for rules that no batch has used."""
        return with_unseen(self.problem.layout, counts, prior)

    def given(self, prior: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The sum, and its means as first weights."""
        prior = prior + counts
        return prior, posterior_mean(self.problem.layout, np.zeros(len(prior)), prior, None)

    # What a fit leaves

    def rare(self, counts: np.ndarray) -> np.ndarray | None:
        """Mean count of words seen once, by rule of unknown words; None where none is to add."""
        corpus, layout = self.problem.corpus, self.problem.layout
        if self.handle_unknown != "rare" or corpus.unknown:
            return None
        return rare_counts(counts, layout, corpus.uses(layout.n_words))

    def trees(self, state: State, log_weights: Callable) -> Trees:
        """Trees of the sentences: under the last Q(t_i), most often sampled, or the heaviest.

        These are the heaviest under ``log_weights(layout, counts, prior, kept)``.
        """
        layout = self.problem.layout
        if isinstance(state.shares, Shares):
            tally = tally_of(layout, state.counts, state.prior)
            return left_out_trees(state.shares, tally, self.problem)
        if isinstance(state.shares, Trees):
            return most_frequent(sampled_labels(state, self))
        logs = log_weights(layout, state.counts, state.prior, state.weights)
        return heaviest_trees(logs, self.problem)
