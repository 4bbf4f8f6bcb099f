"""The dependency model with valence, as algorithms learn it: concentrations, first weights (the
harmonic start of Klein and Manning), EM, VB, CVB, samples.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.dependency import parameters
from sklearn_cvb.dependency.inference import (
    DependencyProblem,
    HeadTrees,
    cell_uses,
    draw_sweep,
    expectation,
    frozen_tally,
    hardened_expectation,
    heaviest_heads,
    heaviest_tree_counts,
    leave_out_sweep,
    log_arc_weight,
    sum_shares,
    tally_of,
)
from sklearn_cvb.dependency.parameters import DependencyLayout, DMVCounts
from sklearn_cvb.dependency.prediction import probabilities_of
from sklearn_cvb.kernels.dependency import arrays
from sklearn_cvb.kernels.dependency.arrays import DependencySentences, DependencyShares
from sklearn_cvb.learning import dirichlet
from sklearn_cvb.learning.dirichlet import WARM_UP_SWEEPS, SymmetricRows
from sklearn_cvb.learning.gibbs import count_structures, most_frequent_structures, sampled_labels
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.learning.model import InferenceResult, RowModel, State, StructureSample
from sklearn_cvb.settings import VAGUE, Valence, gamma_prior_of

# Own row, coarse row.
_FIRST_MIXTURE = 1 / 3, 2 / 3
# How far a near-uniform start is from uniform.
_NOISE = 0.01
# Beside counts of arcs it is next to nothing; rows without any keep their probabilities.
_NO_ARC = 1e-9


class DependencyConcentrations(NamedTuple):
    """Dirichlet concentrations of a sweep, of which some are learned."""

    values: tuple[float, float]  # of attachments and roots (coarse rows, too), and of decisions
    is_learned: tuple[bool, ...]  # each of them
    is_tied: bool  # whether they are one
    gamma: tuple[tuple[float, float], tuple[float, float]]  # priors of what is learned: shape, rate
    n_warm_up: int = WARM_UP_SWEEPS  # sweeps before it is

    def log_density(self) -> float:
        """Log density of what is learned under its prior (nats)."""
        each = list(zip(self.values, self.is_learned, self.gamma, strict=True))
        return sum(dirichlet.log_density(*one) for one in (each[:1] if self.is_tied else each))

    def continued_from(self, before: "DependencyConcentrations") -> "DependencyConcentrations":
        """The same with learned values of an earlier sweep, if that learned the same."""
        if self.is_learned != before.is_learned or self.is_tied != before.is_tied:
            return self
        first, second = (
            old if learned else new
            for old, new, learned in zip(before.values, self.values, self.is_learned, strict=True)
        )
        return self._replace(values=(first, second))


def first_concentrations(alpha: Any, valence: Valence) -> DependencyConcentrations:
    """Concentrations of the first sweep; stops without one have that of attachments."""
    is_tied = valence.alpha_stop is None
    both = alpha, alpha if is_tied else valence.alpha_stop
    first, second = map(gamma_prior_of, both)
    values = dirichlet.first_concentration(both[0]), dirichlet.first_concentration(both[1])
    learned, gamma = (first is not None, second is not None), (first or VAGUE, second or VAGUE)
    return DependencyConcentrations(values, learned, is_tied, gamma)


def log_absence(
    shares: DependencyShares, sentences: DependencySentences, layout: DependencyLayout
) -> tuple[np.ndarray, np.ndarray]:
    """log P(C = 0) of every cell and row, sentences taken as independent.

    A sentence uses a cell with a probability of at most its expected count there. Mixtures are left
    out.
    """
    row_of_cell = layout.row
    absent = np.zeros(layout.n_cells), np.zeros(int(row_of_cell[-1]) + 1)
    for cells, counts in _usage_by_length(shares, sentences, layout):
        for total, index in zip(absent, (cells, row_of_cell[cells]), strict=True):
            units = np.arange(len(index))[:, None]
            total += dirichlet.log_absence(index, units, counts, len(total))
    return absent


def _usage_by_length(
    shares: DependencyShares, sentences: DependencySentences, layout: DependencyLayout
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Cells that sentences may use, and expected counts: a row for each sentence of a length."""
    n_types, coarse = layout.n_types, layout.coarse
    cut = (layout.n_arc_rows + 1) * n_types
    for which, arcs, choices in cells_by_length(sentences):
        m, n = arcs.shape[1:3]
        places = shares.first[which][:, None] + np.arange(
            arrays.share_size(n, layout.n_valences, coarse is not None)
        )
        later, decided, others = np.split(shares.count[places], [n * n, n * (n + 8)], axis=1)
        tables = [later, *np.split(others, max(1, others.shape[1] // (n * n)), axis=1)]
        # The last valence comes first, and so do whole arcs before their parts.
        by_valence = arcs.reshape(len(arcs), m, -1)[::-1]
        cells, counts = [cut + choices.reshape(m, -1)], [decided]
        for v, arc_cells in enumerate(by_valence):
            cells.append(arc_cells)
            counts.append(tables[v])
            if coarse is not None:
                # Roots come from their own row.
                rows = coarse.max() + 1 - np.append(coarse, 0)[arc_cells // n_types]
                cells.append(layout.n_cells - rows * n_types + arc_cells % n_types)
                counts.append(tables[len(arcs) + v])
                counts[-2] = counts[-2] - counts[-1]
        yield np.hstack(cells), np.hstack(counts)


def cells_by_length(
    sentences: DependencySentences,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Which cells arcs and decisions use, for all m sentences of a length n at once.

    Their numbers; cells of attachments, (n_valences, m, n, n) by head and child, those of roots on
    the diagonal; cells of decisions, (m, n, 8), counted from the first of these.
    """
    lengths, n_types = np.diff(sentences.starts), sentences.n_types
    for n in np.unique(lengths).tolist():
        which, position = np.flatnonzero(lengths == n), np.arange(n)
        tags = sentences.token[sentences.starts[which][:, None] + position]
        rows = sentences.n_valences * (2 * tags[:, :, None] + (position > position[:, None]))
        rows = np.stack([rows + valence for valence in range(sentences.n_valences)])
        rows[..., position, position] = 2 * n_types * sentences.n_valences
        yield which, rows * n_types + tags[:, None, :], 8 * tags[:, :, None] + np.arange(8)


# Where a fit begins: harmonic, uniform or random weights, or those of a fitted model


def first_weights(
    init: str | Learned, problem: DependencyProblem, rng: np.random.Generator
) -> np.ndarray:
    """Weights of the first E-step."""
    layout = problem.layout
    if not isinstance(init, str):
        return weights_from_fit(init, problem)
    if init == "harmonic":
        return backoff_weights(harmonic_counts(problem.sentences, layout), layout)
    if init == "random":
        draws = rng.standard_exponential(layout.n_cells)
    else:
        draws = 1.0 + _NOISE * rng.random(layout.n_cells)
    return layout.rows(draws).mean()


def backoff_weights(counts: np.ndarray, layout: DependencyLayout) -> np.ndarray:
    """Weights from counts whose mixtures are not known: coarse rows sum the others.

    Attachments come from coarse rows twice as often as from their own, which is the mean of the
    prior of Headden, Johnson and McClosky (2009).
    """
    cells = np.zeros(layout.n_cells)
    cells[: len(counts)] = counts
    if layout.coarse is not None:
        attach, _, mixture, coarse = parameters.tables_of(cells, layout)
        np.add.at(coarse, layout.coarse, attach[:-1])
        mixture[:] = _FIRST_MIXTURE
    return layout.rows(cells).mean()


def weights_from_fit(learned: Learned, problem: DependencyProblem) -> np.ndarray:
    """Posterior means of an earlier fit for other tags; those it lacks are its unknown one."""
    layout, theirs = problem.layout, learned.layout
    places = _places_of_tags(learned, problem.types, layout.n_types)
    if (theirs.n_valences, theirs.backoff) == (layout.n_valences, layout.backoff):
        parts = _tables_of_tags(probabilities_of(learned, mixed=False), places)
        return layout.rows(parameters.cells_from(parts)).mean()
    mixed = _tables_of_tags(probabilities_of(learned, mixed=True), places)
    n_arcs = learned.counts.stop[places][..., arrays.GO]
    return backoff_weights(_counts_of_probabilities(mixed, n_arcs, layout), layout)


def _places_of_tags(learned: Learned, types: list[Any], n_types: int) -> list[int]:
    """Where tags stand in an earlier fit."""
    known = learned.words.index
    unknown = len(known) if learned.layout.n_types > len(known) else None
    places_or_none = [known.get(tag, unknown) for tag in types]
    if n_types > len(types):
        places_or_none.append(unknown)
    places = [place for place in places_or_none if place is not None]
    if len(places) < len(places_or_none):
        missing = [tag for tag, place in zip(types, places_or_none, strict=False) if place is None]
        raise ValueError(
            f"init does not know the tags {missing[:5]} ({len(missing)} in all): fit it with the "
            "same vocabulary, or with handle_unknown='smooth'"
            if missing
            else "init has no unknown tag: give both models the same handle_unknown"
        )
    return places


def _tables_of_tags(parts: DMVCounts, places: list[int]) -> DMVCounts:
    """Tables of a model for other tags."""
    coarse = parts.coarse
    if coarse is not None:
        coarse = (coarse[places] if coarse.ndim == 3 else coarse)[..., places]
    return DMVCounts(
        parts.root[places],
        parts.attach[places][..., places],
        parts.stop[places],
        None if parts.mixture is None else parts.mixture[places],
        coarse,
    )


def _counts_of_probabilities(
    parts: DMVCounts, n_arcs: np.ndarray, layout: DependencyLayout
) -> np.ndarray:
    """Probabilities without mixtures as counts for other valences: sums are means over arcs.

    There are this many expected arcs by head, side and valence.
    """
    attach = parts.attach if parts.attach.ndim == 4 else parts.attach[:, :, None]
    attach = attach * (n_arcs + _NO_ARC)[..., None]
    if layout.n_valences == 1:
        attach = attach.sum(axis=2)
    return parameters.cells_from(parts._replace(attach=attach))


def harmonic_counts(sentences: DependencySentences, layout: DependencyLayout) -> np.ndarray:
    """Expected counts if each token chose its head alone, the nearer the likelier.

    Klein and Manning (2004): each token is the root with probability 1 / n, and the head of another
    with the rest, in proportion to 1 / distance.
    """
    layout = layout.mixed
    cells = np.zeros(layout.n_cells)
    attach, choice = parameters.tables_of(cells, layout)
    for _, arc_cells, choice_cells in cells_by_length(sentences):
        arcs, choices = _harmonic_expectations(arc_cells.shape[2], layout.n_valences)
        for table, used in zip(arcs, arc_cells, strict=True):
            weights = np.broadcast_to(table, used.shape).ravel()
            attach += np.bincount(used.ravel(), weights, attach.size).reshape(attach.shape)
        weights = np.broadcast_to(choices, choice_cells.shape).ravel()
        choice += np.bincount(choice_cells.ravel(), weights, choice.size).reshape(choice.shape)
    return cells


def _harmonic_expectations(n: int, n_valences: int) -> tuple[np.ndarray, np.ndarray]:
    """Expected arcs and choices of a sentence of n tokens.

    Arcs are by valence, head and child, the root's on the diagonal of the last valence.
    """
    position = np.arange(n)
    distance = np.abs(position[:, None] - position)
    chances = np.where(distance > 0, 1.0 / np.maximum(distance, 1), 0.0)
    chances *= (1.0 - 1.0 / n) / np.maximum(chances.sum(axis=0), 1e-300)
    chances[position, position] = 1.0 / n
    arcs = chances / chances.sum(axis=0)
    roots = arcs[position, position]
    arcs[position, position] = 0.0
    choices = np.zeros((n, 2, 2, 2))
    for side, ours in enumerate((position < position[:, None], position > position[:, None])):
        expected = np.where(ours, arcs, 0.0).sum(axis=1)
        none = np.where(ours, 1.0 - arcs, 1.0).prod(axis=1)
        choices[:, side, 0, 0] = none
        choices[:, side, 0, 1] = choices[:, side, 1, 0] = 1.0 - none
        choices[:, side, 1, 1] = np.maximum(expected - (1.0 - none), 0.0)
    by_valence = arcs[None]
    if n_valences == 2:
        first = _nearest_on_the_right(arcs)
        first += _nearest_on_the_right(arcs[::-1, ::-1])[::-1, ::-1]
        by_valence = np.stack([first, np.maximum(arcs - first, 0.0)])
    by_valence[-1][position, position] = roots
    return by_valence, choices.reshape(n, 8)


def _nearest_on_the_right(arcs: np.ndarray) -> np.ndarray:
    """Chances of arcs to the right without another child between, each token choosing alone."""
    first = np.triu(arcs)
    for h in range(len(arcs)):
        first[h, h + 2 :] *= np.cumprod(1.0 - arcs[h, h + 1 : -1])
    return first


@dataclass(frozen=True)
class DependencyModel(RowModel):
    """Sentences of tags, concentrations, and where weights begin.

    `rare_tags` are those whose mean counts an unknown tag has, too; at a `temperature` below 1 the
    E-step counts heavy trees more.
    """

    problem: DependencyProblem
    concentrations: DependencyConcentrations
    init: str | Learned
    rare_tags: np.ndarray
    temperature: float = 1.0

    @property
    def layout(self) -> DependencyLayout:
        """The cells."""
        return self.problem.layout

    def hyper(self) -> DependencyConcentrations:
        """The concentrations of the first sweep."""
        return self.concentrations

    def learn_hyper(
        self,
        hyper: DependencyConcentrations,
        state: State,
        step: Callable[..., Any],
        absence: Callable[..., Any] | None,
    ) -> DependencyConcentrations:
        """One step for attachments and for decisions, where these are learned.

        ``absence()`` is log P(C = 0) of every cell and row; None for the plain form of eq. 29 of
        Wang and Blunsom (2013, HMM).
        """
        if not any(hyper.is_learned) or state.n_sweeps < hyper.n_warm_up:
            return hyper
        counts, layout = state.counts, self.layout
        totals = layout.totals(counts)
        cells, rows = np.ones_like(counts), np.ones_like(totals)
        if absence is not None:
            cells, rows = (-np.expm1(logs) for logs in absence())
        ends = np.cumsum([n_rows for n_rows, _ in layout.shapes])
        present = zip(
            parameters.tables_of(counts, layout),
            parameters.tables_of(cells, layout),
            np.split(totals, ends[:-1]),
            np.split(rows, ends[:-1]),
            strict=True,
        )
        tables = [SymmetricRows(a.ravel(), b.ravel(), c, d, a.shape[1]) for a, b, c, d in present]
        # Attachments, coarse ones among them, and decisions; the prior of mixtures is given.
        parts = tables[:1] + tables[3:], tables[1:2]
        if hyper.is_tied:
            value = step(hyper.values[0], parts[0] + parts[1], *hyper.gamma[0])
            return hyper._replace(values=(value, value))
        first, second = (
            step(value, part, *gamma) if learned else value
            for value, learned, gamma, part in zip(*hyper[:2], hyper.gamma, parts, strict=True)
        )
        return hyper._replace(values=(first, second))

    def absence(self, shares: DependencyShares) -> tuple[np.ndarray, np.ndarray]:
        """log P(C = 0) of every cell and row."""
        return log_absence(shares, self.problem.sentences, self.layout)

    def prior(self, hyper: DependencyConcentrations) -> np.ndarray:
        """The concentration of each cell."""
        sizes = [n_rows * width for n_rows, width in self.layout.shapes]
        values = *hyper.values, self.problem.alpha_backoff, hyper.values[0]
        return np.repeat(values[: len(sizes)], sizes)

    def seed(self, prior: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """The same first weights for all parts."""
        return first_weights(self.init, self.problem, rng)

    def start(
        self, prior: np.ndarray, seed: np.ndarray, keep: bool
    ) -> tuple[InferenceResult, np.ndarray]:
        """One E-step under the first weights."""
        if not keep:
            return self.infer(seed), seed
        counts, log_z, shares = expectation(seed, self.problem.sentences, keeps_shares=True)
        return InferenceResult.from_log_z(counts, log_z, shares), seed

    def infer(self, weights: np.ndarray, work: Any = None) -> InferenceResult:
        """Expected counts; arcs are split in proportion between tables at any temperature."""
        mixed = parameters.mixed_weights(weights, self.layout)
        sentences = self.problem.sentences._replace(coarse=None)
        counts, log_z = hardened_expectation(mixed, sentences, self.temperature)
        return InferenceResult.from_log_z(
            parameters.unmixed_counts(counts, weights, self.layout), log_z
        )

    def decode(self, weights: np.ndarray) -> InferenceResult:
        """Counts of the heaviest tree of each sentence."""
        mixed = parameters.mixed_weights(weights, self.layout)
        counts, log_p = heaviest_tree_counts(mixed, self.problem.sentences._replace(coarse=None))
        return InferenceResult.from_log_z(
            parameters.unmixed_counts(counts, weights, self.layout), log_p
        )

    def leave_out(
        self, counts: np.ndarray, prior: np.ndarray, shares: DependencyShares, *, frozen: bool
    ) -> InferenceResult:
        """Each sentence from the counts of all others."""
        sentences, tally = self.problem.sentences, tally_of(counts, prior, self.layout)
        shares, log_z = leave_out_sweep(sentences, tally, shares, frozen)
        return InferenceResult.from_log_z(
            counts if frozen else sum_shares(shares, sentences, self.layout), log_z, shares
        )

    def first_sample(self, prior: np.ndarray, rng: np.random.Generator) -> StructureSample:
        """Trees drawn under the first weights."""
        return self.draw_structures(first_weights(self.init, self.problem, rng), rng)

    def draw_structures(self, weights: np.ndarray, rng: np.random.Generator) -> StructureSample:
        """A tree of each sentence under these weights."""
        trees, log_z, _ = draw_sweep(self.problem.sentences, frozen_tally(weights), rng)
        unexplained = np.flatnonzero(np.isneginf(log_z))
        return StructureSample(cell_uses(self.problem.sentences, *trees), trees, unexplained)

    def resample(
        self,
        counts: np.ndarray,
        prior: np.ndarray,
        sample: HeadTrees,
        rng: np.random.Generator,
        temperature: float,
    ) -> StructureSample:
        """A Hastings step of each tree given all others."""
        sentences, tally = self.problem.sentences, tally_of(counts, prior, self.layout)
        trees, _, proposals = draw_sweep(sentences, tally, rng, sample, 1.0 / temperature)
        return StructureSample(cell_uses(sentences, *trees), trees, proposals=proposals)

    def log_evidence(self, counts: np.ndarray, prior: np.ndarray, sample: HeadTrees) -> float:
        """log p(tokens, trees | prior), and what is known of the arcs of these trees."""
        known = log_arc_weight(self.problem.sentences, sample.heads)
        return super().log_evidence(counts, prior, sample) + known

    def means(
        self, counts: np.ndarray, prior: np.ndarray, sample: HeadTrees
    ) -> tuple[np.ndarray, np.ndarray]:
        """Posterior means of all parameters, and with mixtures worked out."""
        more = parameters.rare_counts(counts, self.rare_tags, self.layout)
        cells = counts if more is None else counts + more
        means = self.layout.rows(cells, prior).mean()
        return means, parameters.mixed_weights(means, self.layout)

    def count_labels(self, label_counts: Any, sample: HeadTrees) -> Any:
        """How often each tree of each sentence was sampled."""
        starts = self.problem.sentences.starts.tolist()
        heads = [sample.heads[a:b].copy() for a, b in pairwise(starts)]
        return count_structures(label_counts, [(part.tobytes(), part) for part in heads])

    def adapt_state(self, state: State) -> State:
        """The state under the prior of now; learned concentrations go on from their values."""
        hyper = self.concentrations.continued_from(state.hyper)
        return state._replace(hyper=hyper, prior=self.prior(hyper))

    def heads(self, state: State, *, averages: bool) -> np.ndarray:
        """Heads of the sentences: as sampled, Viterbi given shares, or under the last weights."""
        sentences, layout = self.problem.sentences, self.layout
        if isinstance(state.shares, DependencyShares):
            tally = tally_of(state.counts, state.prior, layout)
            return heaviest_heads(tally, sentences, state.shares)[0]
        rows = layout.rows(state.counts, state.prior)
        weights = rows.exp_expected_log() if averages else rows.mean(state.weights)
        if isinstance(state.shares, HeadTrees):
            return self._sampled_heads(state, weights)
        mixed = frozen_tally(parameters.mixed_weights(weights, layout))
        return heaviest_heads(mixed, sentences._replace(coarse=None))[0]

    def _sampled_heads(self, state: State, weights: np.ndarray) -> np.ndarray:
        """The most frequent tree of each sentence late in the chain."""
        heads = np.concatenate(most_frequent_structures(sampled_labels(state, self)))
        if len(state.unexplained):
            # A sentence without a tree gets one of those that have least of what is impossible.
            others = heaviest_heads(frozen_tally(weights), self.problem.sentences)[0]
            heads = np.where(heads < 0, others, heads)
        return heads
