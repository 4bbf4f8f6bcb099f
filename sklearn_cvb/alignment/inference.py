"""What a fit reads once, and calls of the kernels that infer."""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.alignment.layout import Layout, positions_to_places
from sklearn_cvb.alignment.links import best_positions
from sklearn_cvb.alignment.parameters import LEARNED, Prior, Weights
from sklearn_cvb.corpus import Corpus
from sklearn_cvb.kernels.alignment.arrays import (
    FORBIDDEN,
    Pairs,
    Shares,
    Sums,
    Tally,
    shares_for,
    work_for,
)
from sklearn_cvb.kernels.alignment.decoding import best_alignments
from sklearn_cvb.kernels.alignment.draws import draw_alignments, draws_for
from sklearn_cvb.kernels.alignment.expectation import (
    ADD,
    EXPECT,
    PLACE,
    SCORE,
    SWEEP,
    WEIGH,
    infer,
)


class Problem(NamedTuple):
    """All that does not change while fitting.

    Attributes
    ----------
    corpus : Corpus
        The target sentences.
    types : tuple of list
        Known source and target words.
    pairs : Pairs
    layout : Layout
    prior : Prior
    """

    corpus: Corpus
    types: tuple[list, list]
    pairs: Pairs
    layout: Layout
    prior: Prior


class Alignments(NamedTuple):
    """A sample: the source of each target word, -1 for none, and the jumps that were lost."""

    position: np.ndarray
    lost: np.ndarray


def frozen_tally(weights: Weights) -> Tally:
    """A tally without counts whose quotients are the weights."""
    n_rows = len(weights.rest)
    sums = Sums(np.zeros(len(weights.cells)), np.zeros(n_rows))
    return Tally(sums, weights.cells, np.ones(n_rows), weights.rest, LEARNED)


def tally_of(cells: np.ndarray, prior: Prior, layout: Layout) -> Tally:
    """Counts and prior as a sweep changes them; the counts given stay whole."""
    sums = Sums(cells.copy(), layout.totals_of(cells))
    return Tally(sums, prior.cells, prior.totals, prior.rest, prior.p_null)


def _inferred(
    pairs: Pairs, tally: Tally, sums: Sums, shares: Shares, update: int, uniform: bool = False
) -> np.ndarray:
    log_z = np.zeros(len(pairs.first) - 1)
    infer(pairs, tally, sums, shares, work_for(pairs), update, uniform, log_z)
    return log_z


def _no_sums(layout: Layout) -> Sums:
    return Sums(np.zeros(layout.n_cells), np.zeros(layout.n_rows))


def expectation(
    weights: Weights, pairs: Pairs, layout: Layout, keeps_shares: bool = False
) -> tuple[np.ndarray, np.ndarray, Shares]:
    """Expected counts of all pairs under given weights.

    Parameters
    ----------
    weights : Weights
    pairs : Pairs
    layout : Layout
    keeps_shares : bool, default=False
        Whether what each pair adds is wanted.

    Returns
    -------
    cells : ndarray of shape (n_cells,)
    log_z : ndarray of shape (n_pairs,)
        log p(target words | source words), -inf for pairs that nothing explains.
    shares : Shares
    """
    shares, sums = shares_for(pairs, keeps_shares), _no_sums(layout)
    log_z = _inferred(pairs, frozen_tally(weights), sums, shares, EXPECT)
    return sums.cells, log_z, shares


def placed(link: np.ndarray, pairs: Pairs, prior: Prior, layout: Layout) -> Shares:
    """What pairs add that have these links, each target word's apart from the others'.

    Parameters
    ----------
    link : ndarray
        Link posteriors, placed as in `Pairs.cell`; each target word's sum to 1.
    pairs : Pairs
    prior : Prior
    layout : Layout

    Returns
    -------
    Shares
    """
    shares = shares_for(pairs, True)
    shares.link[:] = link
    tally = tally_of(np.zeros(layout.n_cells), prior, layout)
    _inferred(pairs, tally, _no_sums(layout), shares, PLACE, uniform=True)
    return shares


def log_likelihoods(weights: Weights, pairs: Pairs) -> np.ndarray:
    """log p(target words | source words) of each pair, -inf for one that nothing explains."""
    tally = frozen_tally(weights)
    return _inferred(pairs, tally, tally.sums, shares_for(pairs, False), WEIGH)


def leave_out_sweep(
    pairs: Pairs, tally: Tally, shares: Shares, uniform: bool = False
) -> tuple[Shares, np.ndarray]:
    """Infer every pair from the counts of all others, which change at once.

    Parameters
    ----------
    pairs : Pairs
    tally : Tally
        Counts of all pairs; changed in place.
    shares : Shares
        What the pairs add to it; stays whole.
    uniform : bool, default=False
        Whether all positions are equally likely: IBM model 1.

    Returns
    -------
    shares : Shares
        What the pairs add now.
    log_z : ndarray of shape (n_pairs,)
        Log normalisers, -inf for pairs that nothing explains.
    """
    shares = shares._replace(link=shares.link.copy(), jump=shares.jump.copy())
    return shares, _inferred(pairs, tally, tally.sums, shares, SWEEP, uniform)


def leave_out_scores(pairs: Pairs, tally: Tally, shares: Shares) -> np.ndarray:
    """Log normalisers of all pairs, each from the counts of all others, which stay."""
    return _inferred(pairs, tally, tally.sums, shares, SCORE)


def sum_of(shares: Shares, pairs: Pairs, layout: Layout) -> np.ndarray:
    """Counts of all pairs from what each adds, summed anew: updates leave rounding errors."""
    tally = frozen_tally(Weights(np.zeros(layout.n_cells), np.zeros(layout.n_rows)))
    _inferred(pairs, tally, tally.sums, shares, ADD)
    return tally.sums.cells


def best_of(weights: Weights, pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """The most probable alignment of each pair.

    Parameters
    ----------
    weights : Weights
    pairs : Pairs

    Returns
    -------
    positions : ndarray of shape (n_target_tokens,), int64
        -1 for words without a source.
    logs : ndarray of shape (n_pairs,)
        Log weights of the alignments.
    """
    work = work_for(pairs)
    positions = np.empty(pairs.target_starts[-1], np.int64)
    logs, came_from = np.empty(len(pairs.first) - 1), np.zeros(work.emit.shape, np.int64)
    best_alignments(pairs, frozen_tally(weights), work, came_from, positions, logs)
    return positions, logs


def tables_of(link: np.ndarray, pairs: Pairs) -> list[np.ndarray]:
    """Link posteriors of each pair, as views of shape (n_target, n_source + 1)."""
    n_words = np.diff(pairs.target_starts).tolist()
    ends = zip(pairs.first[:-1].tolist(), pairs.first[1:].tolist(), n_words, strict=True)
    return [link[a:b].reshape(-1, m).T for a, b, m in ends]


def positions_of(link: np.ndarray, pairs: Pairs) -> np.ndarray:
    """The most probable source of each target word, -1 for none."""
    return np.concatenate([best_positions(table) for table in tables_of(link, pairs)])


def even_links(pairs: Pairs) -> np.ndarray:
    """Equal chances of all links that are not ruled out, placed as in `Pairs.cell`."""
    if pairs.cell.min() > FORBIDDEN:
        return np.repeat(1.0 / (np.diff(pairs.source_starts) + 1), np.diff(pairs.first))
    return normalised_links(np.ones(pairs.first[-1]), pairs)


def normalised_links(link: np.ndarray, pairs: Pairs) -> np.ndarray:
    """Chances of links, divided so that each target word's sum to 1; of nothing come equal ones.

    Parameters
    ----------
    link : ndarray
        Placed as in `Pairs.cell`. What is ruled out there is taken for 0.
    pairs : Pairs

    Returns
    -------
    ndarray of the same shape
    """
    allowed = pairs.cell != FORBIDDEN
    n_rows, m = np.diff(pairs.source_starts) + 1, np.diff(pairs.target_starts)
    # The target word of each place.
    sizes = n_rows * m
    within = np.arange(pairs.first[-1]) - np.repeat(pairs.first[:-1], sizes)
    word = np.repeat(pairs.target_starts[:-1], sizes) + within % np.repeat(m, sizes)
    chances = np.where(allowed, link, 0.0)
    totals = np.bincount(word, chances, pairs.target_starts[-1])
    lost = ~(totals > 0)
    if lost.any():
        chances = np.where(lost[word], allowed, chances)
        totals = np.bincount(word, chances, pairs.target_starts[-1])
    return chances / totals[word]


def drawn(weights: Weights, problem: Problem, rng: np.random.Generator) -> Alignments:
    """An alignment of each pair, drawn under given weights."""
    pairs = problem.pairs
    sample = Alignments(
        np.full(pairs.target_starts[-1], -1, np.int64),
        np.zeros((len(pairs.first) - 1, problem.layout.n_jumps), np.int64),
    )
    return _draw(frozen_tally(weights), problem, sample, False, rng)[0]


def hastings_sweep(
    tally: Tally, problem: Problem, sample: Alignments, rng: np.random.Generator
) -> tuple[Alignments, np.ndarray]:
    """A Hastings step of each pair given all others.

    Parameters
    ----------
    tally : Tally
        Counts of the sample; changed in place.
    problem : Problem
    sample : Alignments
        Stays whole.
    rng : numpy.random.Generator

    Returns
    -------
    sample : Alignments
    proposals : ndarray of shape (2,)
        How many alignments were proposed and accepted.
    """
    return _draw(tally, problem, sample, True, rng)


def _draw(
    tally: Tally, problem: Problem, sample: Alignments, has_old: bool, rng: np.random.Generator
) -> tuple[Alignments, np.ndarray]:
    pairs = problem.pairs
    sample = Alignments(sample.position.copy(), sample.lost.copy())
    draws, log_z = draws_for(*sample, pairs), np.zeros(len(pairs.first) - 1)
    draw_alignments(pairs, tally, work_for(pairs), draws, has_old, rng, log_z)
    return sample, draws.n_accepted.astype(np.float64)


def used_cells(problem: Problem, sample: Alignments) -> np.ndarray:
    """How often a sample uses each cell."""
    pairs, layout = problem.pairs, problem.layout
    lexicon = pairs.cell[positions_to_places(pairs, sample.position)]
    linked, _, jumps = moves_of(pairs, sample.position)
    jump = np.bincount(
        np.clip(jumps, -pairs.longest_jump, pairs.longest_jump) + pairs.longest_jump,
        minlength=layout.n_jumps,
    )
    null = len(linked), len(sample.position) - len(linked)
    counts = np.bincount(lexicon, minlength=pairs.n_lexical), jump + sample.lost.sum(axis=0), null
    return np.concatenate(counts).astype(np.float64)


def moves_of(pairs: Pairs, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The target words that have a source, in which context each moves, and its jump."""
    m = np.diff(pairs.target_starts)
    linked = np.flatnonzero(positions >= 0)
    pair, to = np.repeat(np.arange(len(m)), m)[linked], positions[linked] + 1
    context = np.append(0, to)[:-1]
    context[1:][pair[1:] != pair[:-1]] = 0
    return linked, context, to - context


def log_sharing(pairs: Pairs, positions: np.ndarray) -> float:
    """Log of the chances with which positions were chosen among those that share a jump's cell."""
    farthest = pairs.longest_jump
    linked, context, jump = moves_of(pairs, positions)
    pair = np.searchsorted(pairs.target_starts, linked, side="right") - 1
    n = np.diff(pairs.source_starts)[pair]
    up, down = jump >= farthest, jump <= -farthest
    shared = np.where(up, n - farthest - context + 1, np.where(down, context - farthest, 1))
    return -float(np.log(shared).sum())
