"""Trees with latent annotations as a model: what all algorithms ask of it."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from sklearn_cvb.kernels.latent.training import Shares
from sklearn_cvb.learning.model import NOBODY, Inferred, Model, State, inferred
from sklearn_cvb.treebank.inference import (
    Problem,
    expectation,
    leave_out_sweep,
    sum_of,
    tally_of,
)
from sklearn_cvb.treebank.parameters import (
    Layout,
    Weights,
    exp_expected_log,
    unscaled,
)
from sklearn_cvb.treebank.splitting import first_weights, merged, split
from sklearn_cvb.treebank.tokens import counts_of, first_nodes, score, token_sweep


@dataclass(frozen=True)
class AnnotatedModel(Model):
    """Observed trees whose symbols have hidden subtypes, which may be split and merged."""

    problem: Problem
    layout: Layout
    init: str  # "treebank", "random"
    alpha: float
    n_subtypes: int  # the most of a symbol
    merge_share: float  # part of the splits that is undone at a time
    schedule: str  # "fixed" if layouts have `n_subtypes` of all symbols, "split-merge"

    @property
    def n_observed(self) -> int:
        """Words, none of which is missing."""
        return self.problem.corpus.n_observed

    def prior(self, hyper: Any) -> float:
        """Pseudo-count of every cell."""
        return self.alpha

    def seed(self, prior: float, rng: np.random.Generator) -> np.ndarray:
        """Weights of the first E-step, the same for all parts."""
        return first_weights(self.init, self.problem.treebank, self.layout, rng)

    def start(self, prior: float, seed: np.ndarray, keep: bool) -> tuple[Inferred, Weights]:
        """Expected counts under first weights, and what each tree adds."""
        weights = unscaled(seed, self.layout)
        return inferred(*expectation(weights, self.layout, self.problem.trees, keep)), weights

    def maximise(
        self, counts: np.ndarray, prior: float, before: Weights | None
    ) -> tuple[Weights, float]:
        """The mode in the softmax basis, and minus the sum of alpha log theta."""
        rows = self.layout.rows(counts, prior)
        cells = rows.mean(self.whole(before))
        return unscaled(cells, self.layout), -rows.log_prior_density(cells)

    def average(self, counts: np.ndarray, prior: float, before: Any) -> tuple[Weights, float]:
        """exp E[log] of all probabilities, and KL of their posterior from their prior."""
        divergence = self.layout.rows(counts, prior).divergence()
        return exp_expected_log(self.layout, counts, prior), divergence

    def infer(self, weights: Weights, work: Any = None) -> Inferred:
        """Expected counts of all trees."""
        counts, log_z, _ = expectation(weights, self.layout, self.problem.trees)
        return inferred(counts, log_z)

    def leave_out(self, counts: np.ndarray, prior: float, shares: Any, *, frozen: bool) -> Inferred:
        """Each tree from the counts of all others."""
        trees, layout = self.problem.trees, self.layout
        tally = tally_of(counts, prior, layout)
        shares, log_z = leave_out_sweep(trees, layout, tally, shares, frozen)
        return inferred(counts if frozen else sum_of(shares, layout, trees), log_z, shares)

    def rebase(self, state: State) -> State | None:
        """The state; None where other subtypes are asked for."""
        now = self.layout.rules.n_subtypes
        if self.schedule == "fixed" and (now != self.n_subtypes).any():
            return None
        return super().rebase(state) if self._goes_on_from(state.shares) else None

    def _goes_on_from(self, shares: Any) -> bool:
        """Whether shares are of this model: of trees, or none."""
        return shares is None or isinstance(shares, Shares)

    def finished(self, state: State, *, goes_on: bool) -> State:
        """Weights without their scale, as predictions keep them."""
        whole = self.whole(state.weights)
        return state if whole is None else state._replace(weights=unscaled(whole, self.layout))

    # Layouts that change between sweeps

    def laid_out(self, layout: Layout) -> Self:
        """The same trees, annotated with other subtypes."""
        return replace(self, layout=layout)

    def split(self, state: State, rng: np.random.Generator) -> tuple[Layout, np.ndarray]:
        """Every subtype in two, and their weights."""
        weights, layout = split(self.means_of(state), self.layout, self.n_subtypes, rng)
        return layout, weights

    def merged(self, state: State) -> tuple[Layout, np.ndarray]:
        """Without the least useful splits, and the weights of what is left."""
        trees, share = self.problem.trees, self.merge_share
        counts, layout = merged(self.means_of(state), state.counts, self.layout, trees, share)
        return layout, layout.rows(counts, self.alpha).mean()

    def means_of(self, state: State) -> np.ndarray:
        """Posterior means of a state."""
        return self.layout.rows(state.counts, self.alpha).mean(self.whole(state.weights))

    def whole(self, weights: Weights | None) -> np.ndarray | None:
        """What weights are without their scale, where there are any."""
        return None if weights is None else weights.whole(self.layout)


class TokenAnnotatedModel(AnnotatedModel):
    """The same trees, left out a node at a time, as if the nodes of a tree were independent.

    Shares are distributions of nodes over subtypes.
    """

    def start(self, prior: float, seed: np.ndarray, keep: bool) -> tuple[Inferred, Weights]:
        """The nodes under first weights, and their expected counts."""
        weights, trees = unscaled(seed, self.layout), self.problem.trees
        q = first_nodes(weights, self.layout, trees)
        return Inferred(counts_of(q, self.layout, trees), 0.0, shares=q), weights

    def leave_out(
        self, counts: np.ndarray, prior: float, shares: np.ndarray, *, frozen: bool
    ) -> Inferred:
        """Each node given all others; the total is of a pass over the trees, after the sweep."""
        trees, layout = self.problem.trees, self.layout
        if not frozen:
            shares = token_sweep(shares, layout, trees, tally_of(counts, prior, layout))
            counts = counts_of(shares, layout, trees)
        log_z = score(shares, layout, trees, tally_of(counts, prior, layout))
        return inferred(counts, log_z, shares)._replace(unexplained=NOBODY)

    def _goes_on_from(self, shares: Any) -> bool:
        """Whether shares are of this model: of nodes."""
        return isinstance(shares, np.ndarray)
