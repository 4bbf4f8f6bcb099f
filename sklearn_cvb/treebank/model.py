"""Trees with latent annotations, as algorithms learn them: starts, EM, VB, CVB, and subtypes of
symbols that are split in two, or merged where that loses least.
"""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from sklearn_cvb.kernels.treebank.arrays import ObservedTrees, rules_of
from sklearn_cvb.kernels.treebank.training import AnnotatedShares
from sklearn_cvb.learning.model import NOBODY, InferenceResult, Model, State
from sklearn_cvb.learning.split_merge import SplitMergePlan
from sklearn_cvb.treebank.binarise import Treebank
from sklearn_cvb.treebank.inference import (
    TreebankProblem,
    counts_of_nodes,
    expectation,
    first_node_posteriors,
    leave_one_out_scores,
    leave_out_sweep,
    marginals,
    node_sweep,
    sum_shares,
    tally_of,
)
from sklearn_cvb.treebank.parameters import (
    AnnotatedWeights,
    TreebankLayout,
    layout_of,
    rule_lists_of,
    scaled_weights,
    unscaled_weights,
)


@dataclass(frozen=True)
class AnnotatedModel(Model):
    """Observed trees whose symbols have hidden subtypes, which may be split and merged."""

    problem: TreebankProblem
    layout: TreebankLayout
    init: str  # "treebank", "random"
    alpha: float
    n_subtypes: int  # the most of a symbol
    merge_share: float  # part of the splits that is undone at a time
    has_all_subtypes: bool  # layouts have `n_subtypes` of all symbols

    _shares_type: ClassVar[type] = AnnotatedShares

    @property
    def n_observed(self) -> float:
        """Words, none of which is missing."""
        return self.problem.corpus.n_observed

    def prior(self, hyper: Any) -> float:
        """Pseudo-count of every cell."""
        return self.alpha

    def seed(self, prior: float, rng: np.random.Generator) -> np.ndarray:
        """Weights of the first E-step, the same for all parts."""
        return first_weights(self.init, self.problem.treebank, self.layout, rng)

    def start(
        self, prior: float, seed: np.ndarray, keep: bool
    ) -> tuple[InferenceResult, AnnotatedWeights]:
        """Expected counts under first weights, and what each tree adds."""
        weights = unscaled_weights(seed, self.layout)
        return InferenceResult.from_log_z(
            *expectation(weights, self.layout, self.problem.trees, keep)
        ), weights

    def maximise(
        self, counts: np.ndarray, prior: float, before: AnnotatedWeights | None
    ) -> tuple[AnnotatedWeights, float]:
        """The mode in the softmax basis, and minus the sum of alpha log theta."""
        rows = self.layout.rows(counts, prior)
        cells = rows.mean(self.unscaled(before))
        return unscaled_weights(cells, self.layout), -rows.log_prior_density(cells)

    def average(
        self, counts: np.ndarray, prior: float, before: Any
    ) -> tuple[AnnotatedWeights, float]:
        """exp E[log] of all probabilities, and KL of their posterior from their prior."""
        rows = self.layout.rows(counts, prior)
        logs = rows.expected_log()
        return scaled_weights(logs, self.layout), rows.divergence(logs)

    def infer(self, weights: AnnotatedWeights, work: Any = None) -> InferenceResult:
        """Expected counts of all trees."""
        counts, log_z, _ = expectation(weights, self.layout, self.problem.trees)
        return InferenceResult.from_log_z(counts, log_z)

    def leave_out(
        self, counts: np.ndarray, prior: float, shares: Any, *, frozen: bool
    ) -> InferenceResult:
        """Each tree from the counts of all others."""
        trees, layout = self.problem.trees, self.layout
        tally = tally_of(counts, prior, layout)
        shares, log_z = leave_out_sweep(trees, layout, tally, shares, frozen)
        return InferenceResult.from_log_z(
            counts if frozen else sum_shares(shares, layout, trees), log_z, shares
        )

    def adapt_state(self, state: State) -> State | None:
        """The state; None where other subtypes are asked for."""
        now = self.layout.rules.n_subtypes
        if self.has_all_subtypes and (now != self.n_subtypes).any():
            return None
        is_ours = state.shares is None or isinstance(state.shares, self._shares_type)
        return super().adapt_state(state) if is_ours else None

    def finish(self, state: State, *, goes_on: bool) -> State:
        """Weights without their scale, as predictions keep them."""
        whole = self.unscaled(state.weights)
        return (
            state if whole is None else state._replace(weights=unscaled_weights(whole, self.layout))
        )

    # Layouts that change between sweeps

    def with_layout(self, layout: TreebankLayout) -> Self:
        """The same trees, annotated with other subtypes."""
        return replace(self, layout=layout)

    def split(self, state: State, rng: np.random.Generator) -> tuple[TreebankLayout, np.ndarray]:
        """Every subtype in two, and their weights."""
        weights, layout = split_subtypes(self.means_of(state), self.layout, self.n_subtypes, rng)
        return layout, weights

    def merge(self, state: State) -> tuple[TreebankLayout, np.ndarray]:
        """Without the least useful splits, and the weights of what is left."""
        means, trees = self.means_of(state), self.problem.trees
        counts, layout = merge_subtypes(means, state.counts, self.layout, trees, self.merge_share)
        return layout, layout.rows(counts, self.alpha).mean()

    def means_of(self, state: State) -> np.ndarray:
        """Posterior means of a state."""
        return self.layout.rows(state.counts, self.alpha).mean(self.unscaled(state.weights))

    def unscaled(self, weights: AnnotatedWeights | None) -> np.ndarray | None:
        """Weights without their scale; None for none."""
        return None if weights is None else weights.unscaled(self.layout)


class NodewiseModel(AnnotatedModel):
    """Observed trees whose nodes are left out one at a time, as if they were independent.

    Shares are distributions of nodes over subtypes.
    """

    _shares_type = np.ndarray

    def start(
        self, prior: float, seed: np.ndarray, keep: bool
    ) -> tuple[InferenceResult, AnnotatedWeights]:
        """The nodes under first weights, and their expected counts."""
        weights, trees = unscaled_weights(seed, self.layout), self.problem.trees
        q = first_node_posteriors(weights, self.layout, trees)
        return InferenceResult(counts_of_nodes(q, self.layout, trees), 0.0, shares=q), weights

    def leave_out(
        self, counts: np.ndarray, prior: float, shares: np.ndarray, *, frozen: bool
    ) -> InferenceResult:
        """Each node given all others; the total is of a pass over the trees, after the sweep."""
        trees, layout = self.problem.trees, self.layout
        if not frozen:
            shares = node_sweep(shares, layout, trees, tally_of(counts, prior, layout))
            counts = counts_of_nodes(shares, layout, trees)
        log_z = leave_one_out_scores(shares, layout, trees, tally_of(counts, prior, layout))
        return InferenceResult.from_log_z(counts, log_z, shares)._replace(unexplained=NOBODY)


# Subtypes: a start, splits in two, merges of those that gain least (Petrov et al. 2006)


# How far subtypes are from alike.
_NOISE = 0.01
# How much of a round's sweeps comes before subtypes are merged.
_BEFORE_MERGING = 0.7
# Subtypes that are nearly alike take this many sweeps to part: no change is too small to go on.
_ALIKE = 20


def first_weights(
    init: str, treebank: Treebank, layout: TreebankLayout, rng: np.random.Generator
) -> np.ndarray:
    """Weights of the first E-step; `init` as of the estimators."""
    if init == "random":
        return layout.rows(rng.standard_exponential(len(layout.row))).mean()
    sizes = np.diff(layout.rules.first)
    cells = np.repeat(treebank.counts / sizes, sizes)
    return layout.rows(with_noise(cells, rng)).mean()


def with_noise(cells: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Cells with 1 % of noise, which tells subtypes apart."""
    return cells * (1.0 + _NOISE * rng.random(len(cells)))


def split_merge_plan(n_subtypes: int, length: int | None) -> SplitMergePlan:
    """As many rounds as it takes to double one subtype to `n_subtypes`, of this many sweeps.

    None where all subtypes are there from the start.
    """
    n_rounds = (n_subtypes - 1).bit_length()
    n_alike = _ALIKE if n_subtypes > 1 else 0
    if length is None or not n_rounds:
        return SplitMergePlan(n_warm_up=n_alike)
    splits = tuple(n * length for n in range(n_rounds))
    merges = tuple(first + max(1, int(_BEFORE_MERGING * length)) for first in splits)
    return SplitMergePlan(splits, merges, max(splits + merges) + n_alike)


def split_subtypes(
    weights: np.ndarray, layout: TreebankLayout, most: int, rng: np.random.Generator
) -> tuple[np.ndarray, TreebankLayout]:
    """Split every subtype in two, with 1 % of noise; symbols that would have too many stay."""
    n = layout.rules.n_subtypes
    times = np.where(2 * n <= most, 2, 1)
    fine = layout_of(rules_of(n * times, *rule_lists_of(layout.rules)))
    onto = np.concatenate([np.repeat(np.arange(a), b) for a, b in zip(n, times, strict=True)])
    places = _coarse_cells(fine, layout, onto)
    # A subtype keeps the weight of each of its rules, shared by what has become of the children.
    parent = fine.rules.parent
    times_parent = np.where(parent >= 0, times[np.maximum(parent, 0)], 1)
    ways = np.bincount(places)[places] / np.repeat(times_parent, np.diff(fine.rules.first))
    return fine.rows(with_noise(weights[places] / ways, rng)).mean(), fine


def merge_subtypes(
    weights: np.ndarray,
    counts: np.ndarray,
    layout: TreebankLayout,
    trees: ObservedTrees,
    share: float,
) -> tuple[np.ndarray, TreebankLayout]:
    """Merge a share of all pairs of subtypes: those that tell least apart."""
    rows, losses = merge_losses(weights, counts, layout, trees)
    order = np.argsort(losses, kind="stable")
    chosen = rows[order[: int(share * len(order))]]
    n = layout.rules.n_subtypes
    symbol = np.repeat(np.arange(len(n)), n)
    stays = np.ones(len(symbol), np.int64)
    stays[chosen + 1] = 0
    before = np.concatenate([[0], np.cumsum(stays)])
    onto = before[1:] - 1 - before[(np.cumsum(n) - n)[symbol]]
    n_now = np.bincount(symbol, stays, len(n)).astype(np.int64)
    coarse = layout_of(rules_of(n_now, *rule_lists_of(layout.rules)))
    places = _coarse_cells(layout, coarse, onto)
    return np.bincount(places, counts, len(coarse.row)), coarse


def merge_losses(
    weights: np.ndarray, counts: np.ndarray, layout: TreebankLayout, trees: ObservedTrees
) -> tuple[np.ndarray, np.ndarray]:
    """Losses of the log-likelihood if two subtypes of a symbol were one.

    It is approximated as if they were merged at one node at a time: there their inside weights are
    averaged by how frequent they are, and their outside weights added.
    """
    all_inner, all_outer, log_z = marginals(unscaled_weights(weights, layout), layout, trees)
    has_weight = np.repeat(np.isfinite(log_z), np.diff(trees.starts))
    symbol = np.where(has_weight, layout.rules.parent[trees.rule], -1)
    totals, n = layout.totals(counts), layout.rules.n_subtypes
    order = np.argsort(symbol, kind="stable")
    bounds = np.searchsorted(symbol[order], np.arange(len(n) + 1))
    rows, losses, row = [], [], 0
    for a, n_here in enumerate(n.tolist()):
        nodes = order[bounds[a] : bounds[a + 1]]
        inner, outer = all_inner[nodes], all_outer[nodes]
        for x in range(0, n_here - 1, 2):
            pair = slice(x, x + 2)
            both = totals[row + x : row + x + 2]
            share = both / both.sum() if both.sum() > 0 else np.full(2, 0.5)
            apart = (inner[:, pair] * outer[:, pair]).sum(axis=1)
            as_one = (inner[:, pair] @ share) * outer[:, pair].sum(axis=1)
            rows.append(row + x)
            losses.append(-np.log1p(np.maximum(as_one - apart, 1e-300 - 1.0)).sum())
        row += n_here
    return np.array(rows, np.int64), np.array(losses)


def _coarse_cells(fine: TreebankLayout, coarse: TreebankLayout, onto: np.ndarray) -> np.ndarray:
    """For each cell of more subtypes the one of fewer to which it belongs."""
    rules, here, there = fine.rules, fine.blocks, coarse.blocks
    rule = np.repeat(np.arange(len(here.first)), np.diff(rules.first))
    rest = np.arange(rules.first[-1]) - rules.first[rule]
    rest, z = np.divmod(rest, here.nz[rule])
    x, y = np.divmod(rest, here.ny[rule])
    before = np.concatenate([[0], np.cumsum(rules.n_subtypes)])

    def moved(value: np.ndarray, symbols: np.ndarray, there_are: np.ndarray) -> np.ndarray:
        """Subtypes of parents or children; 0 where there is none."""
        places = before[np.maximum(symbols, 0)][rule] + value
        return np.where(there_are[rule], onto[np.minimum(places, len(onto) - 1)], 0)

    is_word = np.arange(len(here.first)) >= rules.begin[3]
    x = moved(x, rules.parent, rules.parent >= 0)
    y = moved(y, np.where(is_word, -1, rules.left), ~is_word)
    z = moved(z, rules.right, rules.right >= 0)
    return there.first[rule] + (x * there.ny[rule] + y) * there.nz[rule] + z
