"""Word alignment, as algorithms learn it: links that a fit starts from, E-step, leave-out sweeps of
pairs, samples. A tally is counts and prior as a sweep changes them; jumps lead from one source
to the next.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlogy

from sklearn_cvb.alignment.parameters import (
    LEARNED,
    AlignmentLayout,
    AlignmentPrior,
    AlignmentWeights,
    learned_rows,
    positions_to_places,
    rows_of,
    tally_of,
    weights_of,
    zero_sums,
)
from sklearn_cvb.alignment.reading import AlignmentProblem
from sklearn_cvb.kernels import alignment as kernels
from sklearn_cvb.kernels.alignment import AlignmentPairs, AlignmentShares, AlignmentTally
from sklearn_cvb.kernels.sums import CellSums
from sklearn_cvb.learning.gibbs import means_over_samples
from sklearn_cvb.learning.model import InferenceResult, Model, State, StructureSample
from sklearn_cvb.reading.corpus import as_list
from sklearn_cvb.settings import IBM1

# Concentrations of the start where an algorithm has none: leaving out a pair would leave nothing of
# the words that it alone holds.
_LEAST_BETA, _LEAST_ALPHA, _LEAST_NULL = 1e-3, 1e-3, 1e-3


class AlignmentSample(NamedTuple):
    """A sampled alignment: the source of each target word, -1 for none, and lost jumps.

    Sources of a pair without an alignment are `UNALIGNED`.
    """

    positions: np.ndarray
    lost_jumps: np.ndarray


@dataclass(frozen=True)
class AlignmentModel(Model):
    """Pairs of sentences, the cells there are, and where links begin."""

    problem: AlignmentProblem
    init: Any

    @property
    def n_observed(self) -> int:
        """Target words."""
        # None is missing.
        return len(self.problem.corpus.tokens)

    def counts_of_tokens(self, counts: np.ndarray) -> np.ndarray:
        """Those of the lexicon: lost jumps move no link, and EM without a prior makes ever more."""
        return counts[: self.problem.pairs.n_lexical]

    def prior(self, hyper: Any) -> AlignmentPrior:
        """The one that was read."""
        return self.problem.prior

    def seed(self, prior: AlignmentPrior, rng: np.random.Generator) -> np.random.Generator:
        """The generator: what is drawn is a number for each link."""
        return rng

    def start(
        self, prior: AlignmentPrior, seed: np.random.Generator, keep: bool
    ) -> tuple[InferenceResult, AlignmentWeights | None]:
        """Counts that the links of the start add up to."""
        shares, counts = first_shares(self.init, self.problem, seed)
        return InferenceResult(counts, 0.0, shares=shares), None

    def maximise(
        self, counts: np.ndarray, prior: AlignmentPrior, before: Any
    ) -> tuple[AlignmentWeights, float]:
        """The mode in the softmax basis, and minus the sum of pseudo-counts times log theta."""
        layout = self.problem.layout
        rows = rows_of(counts, prior, layout)
        weights, learned = weights_of(rows, prior), learned_rows(rows, prior)
        value = learned.log_prior_density(weights.cells[: len(learned.counts)])
        value += float(np.sum(layout.n_unlisted * xlogy(prior.unlisted, weights.unlisted)))
        return weights, -value

    def average(
        self, counts: np.ndarray, prior: AlignmentPrior, before: Any
    ) -> tuple[AlignmentWeights, float]:
        """exp E[log] of all probabilities, and KL of their posterior from their prior."""
        rows = rows_of(counts, prior, self.problem.layout)
        logs, learned = rows.expected_log(), learned_rows(rows, prior)
        return weights_of(rows, prior, logs), learned.divergence(logs[: len(learned.counts)])

    def infer(self, weights: AlignmentWeights, work: Any = None) -> InferenceResult:
        """Expected counts of all pairs."""
        counts, log_z, _ = expectation(weights, self.problem.pairs, self.problem.layout)
        return InferenceResult.from_log_z(counts, log_z)

    def decode(self, weights: AlignmentWeights) -> InferenceResult:
        """Counts of the most probable alignment of each pair, and the jumps expected to be lost."""
        positions, log_p = viterbi(weights, self.problem.pairs)
        m = np.diff(self.problem.pairs.target_starts)
        positions[np.repeat(np.isneginf(log_p), m)] = kernels.UNALIGNED
        lost = expected_lost_jumps(weights, self.problem.pairs, positions)
        counts = cell_uses(self.problem, AlignmentSample(positions, lost[None]))
        return InferenceResult.from_log_z(counts, log_p)

    def leave_out(
        self, counts: np.ndarray, prior: AlignmentPrior, shares: AlignmentShares, *, frozen: bool
    ) -> InferenceResult:
        """Each pair from the counts of all others."""
        pairs, layout = self.problem.pairs, self.problem.layout
        tally = tally_of(counts, prior, layout)
        if frozen:
            return InferenceResult.from_log_z(
                counts, _infer_all(pairs, tally, tally.sums, shares, kernels.SCORE), shares
            )
        shares, log_z = leave_out_sweep(pairs, tally, shares)
        return InferenceResult.from_log_z(sum_shares(shares, pairs, layout), log_z, shares)

    def first_sample(self, prior: AlignmentPrior, rng: np.random.Generator) -> StructureSample:
        """Alignments drawn under the posterior means that the start gives."""
        _, cells = first_shares(self.init, self.problem, rng)
        weights = weights_of(rows_of(cells, prior, self.problem.layout), prior)
        sample, _ = draw_sweep(self.problem, frozen_tally(weights), rng)
        begins = self.problem.pairs.target_starts[:-1]
        unexplained = np.flatnonzero(sample.positions[begins] == kernels.UNALIGNED)
        return StructureSample(cell_uses(self.problem, sample), sample, unexplained)

    def resample(
        self,
        counts: np.ndarray,
        prior: AlignmentPrior,
        sample: AlignmentSample,
        rng: np.random.Generator,
        temperature: float,
    ) -> StructureSample:
        """A Hastings step of each pair given all others."""
        tally = tally_of(counts, prior, self.problem.layout)
        sample, proposals = draw_sweep(self.problem, tally, rng, sample)
        return StructureSample(cell_uses(self.problem, sample), sample, proposals=proposals)

    def log_evidence(
        self, counts: np.ndarray, prior: AlignmentPrior, sample: AlignmentSample
    ) -> float:
        """log p(target words, alignments, lost jumps | source words, prior)."""
        rows = rows_of(counts, prior, self.problem.layout)
        value = learned_rows(rows, prior).log_evidence()
        if prior.p_null != LEARNED:
            chances = 1.0 - prior.p_null, prior.p_null
            for n, chance in zip(counts[-2:].tolist(), chances, strict=True):
                value += n * math.log(chance) if n else 0.0
        return value + log_choice_among_jumps(self.problem.pairs, sample.positions)

    def means(
        self, counts: np.ndarray, prior: AlignmentPrior, sample: AlignmentSample
    ) -> tuple[AlignmentWeights, np.ndarray]:
        """Posterior means, and the links that there are (how often is what `link_proba_` says)."""
        link = np.zeros(self.problem.pairs.first[-1], np.float32)
        places = positions_to_places(self.problem.pairs, sample.positions)
        link[places[sample.positions != kernels.UNALIGNED]] = 1.0
        return weights_of(rows_of(counts, prior, self.problem.layout), prior), link

    def links(self, state: State) -> np.ndarray:
        """Link posteriors of the pairs, placed as in `AlignmentPairs.cell`."""
        if isinstance(state.shares, AlignmentShares):
            return state.shares.link
        if isinstance(state.shares, AlignmentSample):
            return means_over_samples(state, self)[1]
        problem = self.problem
        return expectation(state.weights, problem.pairs, problem.layout, keeps_shares=True)[2].link


# Inference


def frozen_tally(weights: AlignmentWeights) -> AlignmentTally:
    """A tally without counts whose quotients are the weights."""
    n_rows = len(weights.unlisted)
    sums = CellSums(np.zeros(len(weights.cells)), np.zeros(n_rows))
    return AlignmentTally(sums, weights.cells, np.ones(n_rows), weights.unlisted, LEARNED)


def _infer_all(
    pairs: AlignmentPairs,
    tally: AlignmentTally,
    sums: CellSums,
    shares: AlignmentShares,
    update: int,
    uniform: bool = False,
) -> np.ndarray:
    log_z = np.zeros(len(pairs.first) - 1)
    kernels.infer(pairs, tally, sums, shares, kernels.workspace_for(pairs), update, uniform, log_z)
    return log_z


def expectation(
    weights: AlignmentWeights,
    pairs: AlignmentPairs,
    layout: AlignmentLayout,
    keeps_shares: bool = False,
) -> tuple[np.ndarray, np.ndarray, AlignmentShares]:
    """Expected counts of all pairs, log p(target words | source words) of each, and shares."""
    shares, sums = kernels.shares_for(pairs, keeps_shares), zero_sums(layout)
    log_z = _infer_all(pairs, frozen_tally(weights), sums, shares, kernels.EXPECT)
    return sums.cells, log_z, shares


def shares_of_links(
    link: np.ndarray, pairs: AlignmentPairs, prior: AlignmentPrior, layout: AlignmentLayout
) -> AlignmentShares:
    """Shares of pairs with these links, each target word's apart from the others'."""
    sums, no_value = zero_sums(layout), np.zeros(len(pairs.first) - 1)
    tally = tally_of(sums.cells, prior, layout)
    shares = kernels.shares_for(pairs, True)
    shares.link[:] = link
    kernels.infer(
        pairs, tally, sums, shares, kernels.workspace_for(pairs), kernels.PLACE, True, no_value
    )
    return shares


def log_likelihoods(weights: AlignmentWeights, pairs: AlignmentPairs) -> np.ndarray:
    """log p(target words | source words) of each pair, -inf for one that nothing explains."""
    tally = frozen_tally(weights)
    return _infer_all(pairs, tally, tally.sums, kernels.shares_for(pairs, False), kernels.WEIGH)


def leave_out_sweep(
    pairs: AlignmentPairs, tally: AlignmentTally, shares: AlignmentShares, uniform: bool = False
) -> tuple[AlignmentShares, np.ndarray]:
    """Infer every pair from the counts of all others, which change at once, in the tally itself."""
    shares = shares._replace(link=shares.link.copy(), jump=shares.jump.copy())
    return shares, _infer_all(pairs, tally, tally.sums, shares, kernels.SWEEP, uniform)


def sum_shares(
    shares: AlignmentShares, pairs: AlignmentPairs, layout: AlignmentLayout
) -> np.ndarray:
    """Counts of all pairs from what each adds, summed again: updates leave rounding errors."""
    tally = frozen_tally(AlignmentWeights(np.zeros(layout.n_cells), np.zeros(layout.n_rows)))
    _infer_all(pairs, tally, tally.sums, shares, kernels.ADD)
    return tally.sums.cells


def viterbi(weights: AlignmentWeights, pairs: AlignmentPairs) -> tuple[np.ndarray, np.ndarray]:
    """Positions of the most probable alignment of each pair, -1 for no source; its log weight."""
    work = kernels.workspace_for(pairs)
    positions = np.empty(pairs.target_starts[-1], np.int64)
    logs, came_from = np.empty(len(pairs.first) - 1), np.zeros(work.emit.shape, np.int64)
    kernels.best_alignments(pairs, frozen_tally(weights), work, came_from, positions, logs)
    return positions, logs


def normalised_links(link: np.ndarray, pairs: AlignmentPairs) -> np.ndarray:
    """Chances of links, divided so that each target word's sum to 1; of nothing come equal ones."""
    allowed = pairs.cell != kernels.FORBIDDEN
    n_rows, m = np.diff(pairs.source_starts) + 1, np.diff(pairs.target_starts)
    # The target word of each place.
    sizes = n_rows * m
    within = np.arange(pairs.first[-1]) - np.repeat(pairs.first[:-1], sizes)
    word = np.repeat(pairs.target_starts[:-1], sizes) + within % np.repeat(m, sizes)
    chances = np.where(allowed, link, 0.0)
    totals = np.bincount(word, chances, pairs.target_starts[-1])
    lost_jumps = ~(totals > 0)
    if lost_jumps.any():
        chances = np.where(lost_jumps[word], allowed, chances)
        totals = np.bincount(word, chances, pairs.target_starts[-1])
    return chances / totals[word]


# Samples


def draw_sweep(
    problem: AlignmentProblem,
    tally: AlignmentTally,
    rng: np.random.Generator,
    old: AlignmentSample | None = None,
) -> tuple[AlignmentSample, np.ndarray]:
    """A Hastings step of each pair given all others, which changes the tally, and proposals.

    Without old alignments they are drawn from the tally, which stays whole.
    """
    pairs = problem.pairs
    n_words, n_pairs = pairs.target_starts[-1], len(pairs.first) - 1
    if old is None:
        sample = AlignmentSample(
            np.full(n_words, -1, np.int64), np.zeros((n_pairs, problem.layout.n_jumps), np.int64)
        )
    else:
        sample = AlignmentSample(old.positions.copy(), old.lost_jumps.copy())
    sweep, log_z = kernels.sweep_for(*sample, pairs), np.zeros(n_pairs)
    kernels.draw_alignments(
        pairs, tally, kernels.workspace_for(pairs), sweep, old is not None, rng, log_z
    )
    return sample, sweep.proposals.astype(np.float64)


def cell_uses(problem: AlignmentProblem, sample: AlignmentSample) -> np.ndarray:
    """How often a sample uses each cell."""
    pairs, layout = problem.pairs, problem.layout
    aligned = sample.positions != kernels.UNALIGNED
    lexicon = pairs.cell[positions_to_places(pairs, sample.positions)[aligned]]
    linked, _, jumps = jumps_of(pairs, sample.positions)
    farthest, lost = pairs.longest_jump, sample.lost_jumps.sum(axis=0)
    jump = np.bincount(np.clip(jumps, -farthest, farthest) + farthest, minlength=layout.n_jumps)
    null = len(linked), int(aligned.sum()) - len(linked)
    counts = np.bincount(lexicon, minlength=pairs.n_lexical), jump + lost, null
    return np.concatenate(counts).astype(np.float64)


def jumps_of(
    pairs: AlignmentPairs, positions: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The target words that have a source, in which context each moves, and its jump."""
    m = np.diff(pairs.target_starts)
    linked = np.flatnonzero(positions >= 0)
    pair, to = np.repeat(np.arange(len(m)), m)[linked], positions[linked] + 1
    context = np.append(0, to)[:-1]
    context[1:][pair[1:] != pair[:-1]] = 0
    return linked, context, to - context


def expected_lost_jumps(
    weights: AlignmentWeights, pairs: AlignmentPairs, positions: np.ndarray
) -> np.ndarray:
    """How often each jump left the sentence before one stayed, given alignments, (2 K + 1,)."""
    farthest = pairs.longest_jump
    jump = weights.cells[pairs.n_lexical :][: 2 * farthest + 1]
    linked, context, _ = jumps_of(pairs, positions)
    pair = np.searchsorted(pairs.target_starts, linked, side="right") - 1
    n = np.diff(pairs.source_starts)[pair]
    moves, times = np.unique(np.stack([n, context], axis=1), axis=0, return_counts=True)
    n, context = moves[:, :1], moves[:, 1:]
    reach = np.arange(-farthest, farthest + 1)
    # The longest jumps stand for all that are longer.
    stays = (reach >= 1 - context) & (reach <= n - context)
    ratio = times / np.maximum((stays * jump).sum(axis=1), np.finfo(float).tiny)
    return jump * (~stays * ratio[:, None]).sum(axis=0)


def log_choice_among_jumps(pairs: AlignmentPairs, positions: np.ndarray) -> float:
    """Log of the chances with which positions were chosen among those that share a jump's cell."""
    farthest = pairs.longest_jump
    linked, context, jump = jumps_of(pairs, positions)
    pair = np.searchsorted(pairs.target_starts, linked, side="right") - 1
    n = np.diff(pairs.source_starts)[pair]
    up, down = jump >= farthest, jump <= -farthest
    shared = np.where(up, n - farthest - context + 1, np.where(down, context - farthest, 1))
    return -float(np.log(shared).sum())


# Where a fit starts: links from IBM model 1, even, random, given, or of a fitted model


def first_shares(
    init: Any, problem: AlignmentProblem, rng: np.random.Generator
) -> tuple[AlignmentShares, np.ndarray]:
    """The first shares of pairs, and their counts; `init` as of the estimators."""
    pairs, layout, prior = problem.pairs, problem.layout, _positive_prior(problem.prior, problem)
    if not isinstance(init, str | IBM1):
        tables = link_tables_of_init(init, problem)
        link = np.concatenate([table.T.ravel() for table in tables])
        link = normalised_links(link, pairs)
    elif isinstance(init, str) and init == "random":
        link = normalised_links(rng.standard_exponential(pairs.first[-1]), pairs)
    else:
        link = normalised_links(np.ones(pairs.first[-1]), pairs)
    shares = shares_of_links(link, pairs, prior, layout)
    cells = sum_shares(shares, pairs, layout)
    if isinstance(init, IBM1):
        for _ in range(init.n_sweeps):
            tally = tally_of(cells, prior, layout)
            shares, _ = leave_out_sweep(pairs, tally, shares, uniform=True)
            cells = sum_shares(shares, pairs, layout)
    return shares, cells


def _positive_prior(prior: AlignmentPrior, problem: AlignmentProblem) -> AlignmentPrior:
    """A prior without zeros."""
    layout = problem.layout
    least = np.repeat(
        [_LEAST_BETA, _LEAST_ALPHA, _LEAST_NULL], [len(layout.keys), layout.n_jumps, 2]
    )
    if (prior.cells[:-2] > 0).all() and (prior.totals > 0).all():
        return prior
    unlisted = np.maximum(prior.unlisted, _LEAST_BETA)
    added = np.maximum(prior.cells, least) - prior.cells
    totals = prior.totals + layout.totals(added) + layout.n_unlisted * (unlisted - prior.unlisted)
    return AlignmentPrior(prior.cells + added, totals, unlisted, prior.p_null)


def link_tables_of_init(init: Any, problem: AlignmentProblem) -> list[np.ndarray]:
    """Link posteriors that `init` gives, (m, n + 1) of each pair."""
    pairs = problem.pairs
    n_rows, n_columns = np.diff(pairs.target_starts), np.diff(pairs.source_starts) + 1
    shapes = list(zip(n_rows.tolist(), n_columns.tolist(), strict=True))
    tables: Sequence[Any] | None = as_list(init(problem.sentences()) if callable(init) else init)
    if tables is None or len(tables) != len(shapes):
        n = "no list" if tables is None else f"{len(tables)} arrays"
        raise ValueError(
            f"init is {n} for {len(shapes)} sentence pairs: give a table of link posteriors for "
            "each"
        )
    checked = []
    for i, (table, shape) in enumerate(zip(tables, shapes, strict=True)):
        table = np.asarray(table, dtype=np.float64)
        if table.shape != shape:
            raise ValueError(
                f"init[{i}] has shape {table.shape} instead of {shape}: a row for each target "
                "word, a column for each source word and one for none"
            )
        if not (np.isfinite(table).all() and (table >= 0).all()):
            raise ValueError(f"init[{i}] holds negative or infinite numbers, or NaN")
        checked.append(table)
    return checked
