"""What both samplers share: a tree per sentence, and averages over the kept samples."""

from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb import dirichlet
from sklearn_cvb.kernels.tree.arrays import Trees
from sklearn_cvb.learning.loop import Fit
from sklearn_cvb.pcfg.base import BasePCFG
from sklearn_cvb.pcfg.concentrations import Alpha, learn
from sklearn_cvb.pcfg.forms import Problem
from sklearn_cvb.pcfg.layout import Layout
from sklearn_cvb.pcfg.parameters import posterior_mean, totals_of
from sklearn_cvb.pcfg.sweeps import draw_sweep, frozen_tally
from sklearn_cvb.sampling import Averages, SamplerMixin, late, no_averages


class SamplerState(NamedTuple):
    """What a sampler carries: the current trees, and sums over the samples kept so far.

    `n_planned` is `max_iter` of the fit that began the chain. `seen` holds for each sentence how
    often each tree was sampled in the last tenth of the sweeps: its rules as bytes -> [times,
    nodes]. `proposals` are proposed and accepted trees of all sweeps.
    """

    trees: Trees
    counts: np.ndarray
    alpha: Alpha
    prior: np.ndarray
    weights: None
    unexplained: np.ndarray
    n_sweeps: int
    n_planned: int
    averages: Averages
    seen: list
    proposals: np.ndarray


class SamplingPCFG(SamplerMixin, BasePCFG):
    """Start, averages and labels of the samplers; a sampler fills in `_resampled`."""

    _parameter_constraints: dict = {  # noqa: RUF012
        **BasePCFG._parameter_constraints,
        **SamplerMixin._parameter_constraints,
    }

    def _with_parameters_of_now(self, state: SamplerState, problem: Problem) -> SamplerState | None:
        """The state, or None under another prior: samples of two posteriors are not averaged."""
        asked = super()._with_parameters_of_now(state, problem).alpha
        same = np.array_equal(asked.cells, state.alpha.cells) and asked[1:] == state.alpha[1:]
        return state if same else None

    def _start(self, problem: Problem, rng: np.random.Generator) -> SamplerState:
        """Trees drawn under the first weights."""
        alpha = self._first_alpha(problem.layout)
        tally = frozen_tally(problem.layout, self._first_weights(problem, rng))
        trees, log_z, _ = draw_sweep(problem, tally, rng)
        counts = counts_of(trees, problem)
        return SamplerState(
            trees,
            counts,
            alpha,
            alpha.cells,
            None,
            np.flatnonzero(np.isneginf(log_z)),
            0,
            self.max_iter,
            no_averages((counts,), (counts,)),
            [{} for _ in log_z],
            np.zeros(2),
        )

    def _resampled(
        self, state: SamplerState, problem: Problem, temperature: float, rng: np.random.Generator
    ) -> tuple[Trees, np.ndarray]:
        """New trees, and how many were proposed and accepted."""
        raise NotImplementedError

    def _sweep(
        self, state: SamplerState, problem: Problem, rng: np.random.Generator
    ) -> tuple[SamplerState, float]:
        layout = problem.layout
        alpha = learn(state.alpha, layout, state.counts, state.n_sweeps, dirichlet.fixed_point)
        state = state._replace(alpha=alpha, prior=alpha.cells)
        temperature = self._temperature(state.n_sweeps, state.n_planned)
        trees, proposals = self._resampled(state, problem, temperature, rng)
        counts = counts_of(trees, problem)
        state = state._replace(
            trees=trees,
            counts=counts,
            n_sweeps=state.n_sweeps + 1,
            proposals=state.proposals + proposals,
        )
        value = dirichlet.log_evidence(
            counts, alpha.cells, totals_of(layout, counts), totals_of(layout, alpha.cells)
        )
        return self._remember(state, problem), value

    def _remember(self, state: SamplerState, problem: Problem) -> SamplerState:
        """Add the sample to the sums it belongs to."""
        done = state.n_sweeps - 1
        if done >= late(state.n_planned):
            remember_trees(state.trees, state.seen)
        if not self._is_kept(done, state.n_planned):
            return state
        means = self._sample_means(state, problem)
        return state._replace(averages=state.averages.plus((state.counts,), (means,)))

    def _sample_means(self, state: SamplerState, problem: Problem) -> np.ndarray:
        """Posterior means given one sample."""
        counts, rare = state.counts, self._rare_counts(state.counts, problem)
        if rare is not None:
            counts = counts.copy()
            np.add.at(counts, problem.layout.unknown_cells, rare)
        return posterior_mean(problem.layout, counts, state.prior, None)

    def _label_trees(self, state: SamplerState, problem: Problem) -> Trees:
        """The most frequent tree of each sentence over the last tenth of the sweeps."""
        seen = state.seen
        if not any(seen):
            seen = [{} for _ in seen]
            remember_trees(state.trees, seen)
        return most_frequent(seen)

    def _final_counts(self, state: SamplerState) -> np.ndarray:
        """Mean counts of the kept samples."""
        averages = state.averages
        return averages.mean_counts()[0] if averages.n_kept else state.counts

    def _fitted_by_algorithm(self, best: Fit, problem: Problem) -> dict[str, Any]:
        state = best.state
        if state.averages.n_kept:
            return {"_means": state.averages.mean_means()[0]}
        return {"_means": self._sample_means(state, problem)}

    def _mean_weights(self) -> np.ndarray:
        """Averages over samples of the posterior means given the sample."""
        self._complete_counts()
        return self._means

    def _weights(
        self, layout: Layout, counts: np.ndarray, prior: np.ndarray, kept: np.ndarray
    ) -> np.ndarray:
        return self._mean_weights()


def counts_of(trees: Trees, problem: Problem) -> np.ndarray:
    """How often each rule is used."""
    cells = trees.rule[trees.rule >= 0]
    return np.bincount(cells, minlength=len(problem.layout.lhs)).astype(np.float64)


def remember_trees(trees: Trees, seen: list[dict]) -> None:
    """Count the trees of a sample. The rules in pre-order tell trees of a sentence apart."""
    starts = trees.starts.tolist()
    for i, trees_seen in enumerate(seen):
        here = slice(starts[i], starts[i + 1])
        key = trees.rule[here].tobytes()
        if key in trees_seen:
            trees_seen[key][0] += 1
        else:
            trees_seen[key] = [1, [field[here].copy() for field in trees[1:]]]


def most_frequent(seen: list[dict]) -> Trees:
    """The tree of each sentence that was seen most often, the first among equals."""
    best = [max(trees_seen.values(), key=lambda entry: entry[0])[1] for trees_seen in seen]
    starts = np.cumsum([0] + [len(nodes[0]) for nodes in best])
    return Trees(starts, *(np.concatenate(field) for field in zip(*best, strict=True)))
