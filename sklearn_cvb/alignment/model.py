"""Word alignment as a model: what all algorithms ask of it."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import xlogy

from sklearn_cvb.alignment.inference import (
    Alignments,
    Problem,
    drawn,
    expectation,
    hastings_sweep,
    leave_out_scores,
    leave_out_sweep,
    log_sharing,
    sum_of,
    tally_of,
    used_cells,
)
from sklearn_cvb.alignment.layout import positions_to_places
from sklearn_cvb.alignment.parameters import (
    LEARNED,
    Prior,
    Weights,
    exp_expected_log,
    learned_rows,
    posterior_mean,
)
from sklearn_cvb.alignment.start import first_shares
from sklearn_cvb.dirichlet import kl_divergence, log_evidence
from sklearn_cvb.kernels.alignment.arrays import Shares
from sklearn_cvb.learning.gibbs import mean_means
from sklearn_cvb.learning.model import Drawn, Inferred, Model, State, inferred


@dataclass(frozen=True)
class AlignmentModel(Model):
    """Pairs of sentences, the cells there are, and where links begin."""

    problem: Problem
    init: Any
    init_sweeps: int

    @property
    def n_observed(self) -> int:
        """Target words."""
        return self.problem.corpus.n_observed

    def prior(self, hyper: Any) -> Prior:
        """The one that was read."""
        return self.problem.prior

    def seeds(self, prior: Prior, facts: list, rng: np.random.Generator) -> list:
        """The generator: what is drawn is a number for each link."""
        return [rng] * len(facts)

    def start(
        self, prior: Prior, seed: np.random.Generator, keep: bool
    ) -> tuple[Inferred, Weights | None]:
        """Counts that the links of the start add up to."""
        shares, counts = first_shares(self.init, self.init_sweeps, self.problem, seed)
        return Inferred(counts, 0.0, shares=shares), None

    def maximise(self, counts: np.ndarray, prior: Prior, before: Any) -> tuple[Weights, float]:
        """The mode in the softmax basis, and minus the sum of pseudo-counts times log theta."""
        layout = self.problem.layout
        weights = posterior_mean(counts, prior, layout)
        n_learned = layout.n_cells if prior.p_null == LEARNED else layout.n_cells - 2
        listed = np.sum(xlogy(prior.cells, weights.cells)[:n_learned])
        n_unlisted = layout.n_targets - np.bincount(layout.rows, minlength=layout.n_rows)
        rest = n_unlisted * xlogy(prior.rest, weights.rest)
        return weights, -float(listed + np.sum(rest[: layout.n_sources + 1]))

    def average(self, counts: np.ndarray, prior: Prior, before: Any) -> tuple[Weights, float]:
        """exp E[log] of all probabilities, and KL of their posterior from their prior."""
        layout = self.problem.layout
        cells, u, totals, u_totals = learned_rows(counts, prior, layout)
        divergence = kl_divergence(cells + u, u, totals + u_totals, u_totals)
        return exp_expected_log(counts, prior, layout), divergence

    def infer(self, weights: Weights, work: Any = None) -> Inferred:
        """Expected counts of all pairs."""
        counts, log_z, _ = expectation(weights, self.problem.pairs, self.problem.layout)
        return inferred(counts, log_z)

    def leave_out(
        self, counts: np.ndarray, prior: Prior, shares: Shares, *, frozen: bool
    ) -> Inferred:
        """Each pair from the counts of all others."""
        pairs, layout = self.problem.pairs, self.problem.layout
        tally = tally_of(counts, prior, layout)
        if frozen:
            return inferred(counts, leave_out_scores(pairs, tally, shares), shares)
        shares, log_z = leave_out_sweep(pairs, tally, shares)
        return inferred(sum_of(shares, pairs, layout), log_z, shares)

    def first_sample(self, prior: Prior, rng: np.random.Generator) -> Drawn:
        """Alignments drawn under the posterior means that the start gives."""
        _, cells = first_shares(self.init, self.init_sweeps, self.problem, rng)
        sample = drawn(posterior_mean(cells, prior, self.problem.layout), self.problem, rng)
        return Drawn(used_cells(self.problem, sample), sample)

    def resample(
        self,
        counts: np.ndarray,
        prior: Prior,
        sample: Alignments,
        rng: np.random.Generator,
        temperature: float,
    ) -> Drawn:
        """A Hastings step of each pair given all others."""
        tally = tally_of(counts, prior, self.problem.layout)
        sample, proposals = hastings_sweep(tally, self.problem, sample, rng)
        return Drawn(used_cells(self.problem, sample), sample, proposals=proposals)

    def log_evidence(self, counts: np.ndarray, prior: Prior, sample: Alignments) -> float:
        """log p(target words, alignments, lost jumps | source words, prior)."""
        cells, u, totals, u_totals = learned_rows(counts, prior, self.problem.layout)
        value = log_evidence(cells, u, totals, u_totals)
        if prior.p_null != LEARNED:
            chances = 1.0 - prior.p_null, prior.p_null
            for n, chance in zip(counts[-2:].tolist(), chances, strict=True):
                value += n * math.log(chance) if n else 0.0
        return value + log_sharing(self.problem.pairs, sample.position)

    def means(
        self, counts: np.ndarray, prior: Prior, sample: Alignments
    ) -> tuple[Weights, np.ndarray]:
        """Posterior means, and the links that there are (how often is what `link_proba_` says)."""
        link = np.zeros(self.problem.pairs.first[-1], np.float32)
        link[positions_to_places(self.problem.pairs, sample.position)] = 1.0
        return posterior_mean(counts, prior, self.problem.layout), link

    def links(self, state: State) -> np.ndarray:
        """Link posteriors of the pairs, placed as in `Pairs.cell`."""
        if isinstance(state.shares, Shares):
            return state.shares.link
        if isinstance(state.shares, Alignments):
            return mean_means(state, self)[1]
        problem = self.problem
        return expectation(state.weights, problem.pairs, problem.layout, keeps_shares=True)[2].link
