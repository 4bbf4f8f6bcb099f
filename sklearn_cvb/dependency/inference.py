"""Inference over all sentences of a dependency model: expectations, sweeps, heaviest trees. A tally
is counts and prior as a sweep changes them; shares are what each sentence adds to the counts.

A kernel goes as far as float64 does. Python then has a sentence that is lost inferred with logs,
and lets it go on.
"""

from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.dependency.known import why_no_tree
from sklearn_cvb.dependency.parameters import DependencyLayout
from sklearn_cvb.kernels.dependency import trees as kernels
from sklearn_cvb.kernels.dependency.arrays import (
    UNKNOWN_HEAD,
    DependencySentences,
    DependencyShares,
    DependencyTally,
    DependencyWorkspace,
    shares_for,
    workspace_for,
)
from sklearn_cvb.kernels.dependency.chart import count_in_logs, fill_in_logs
from sklearn_cvb.kernels.dependency.expectation import EXPECT, SCORE, SWEEP, WEIGH, infer
from sklearn_cvb.kernels.sums import CellSums
from sklearn_cvb.messages import how_many_alike
from sklearn_cvb.reading.corpus import Corpus
from sklearn_cvb.reading.sample_sizes import check_sample


class HeadTrees(NamedTuple):
    """A sampled tree of each sentence."""

    heads: np.ndarray  # (n_tokens,), from 1; 0 for the root; -1 in sentences without a tree
    is_coarse: np.ndarray  # (n_tokens,), whether each token's arc comes from a coarse row


class DependencyProblem(NamedTuple):
    """Tagged sentences and what is known of their trees, laid out for inference."""

    corpus: Corpus
    types: list[Any]  # the known tags
    # The corpus as kernels read it, with known heads and weights of arcs. Where there is a cell for
    # unknown tags, it has one tag more.
    sentences: DependencySentences
    layout: DependencyLayout  # the parameters
    alpha_backoff: float  # concentration of mixtures

    @property
    def identity(self) -> tuple[Any, ...]:
        """What must be the same for a fit to go on: tags, sentences, and what is known of arcs."""
        return self.types, self.layout, self.sentences


def sentences_of(
    corpus: Corpus,
    layout: DependencyLayout,
    heads: np.ndarray | None = None,
    arc_weights: np.ndarray | None = None,
) -> DependencySentences:
    """A corpus as kernels read it; tags that are not known are the last one."""
    if heads is None:
        heads = np.full(len(corpus.tokens), UNKNOWN_HEAD, np.int64)
    n_types, n_valences, _ = layout
    tokens = np.minimum(corpus.tokens, n_types - 1).astype(np.int64)
    starts = corpus.starts.astype(np.int64)
    i = int(np.diff(starts).argmax())
    n = int(starts[i + 1] - starts[i])
    # Two charts of eight tables; a weight for each arc and valence, or two with coarse ones.
    n_bytes = 8.0 * n * n * (16 + n_valences * (1 if layout.backoff is None else 2))
    check_sample(f"sentence {i}", f"{n:,} tags", n_bytes, 8 / 3 * n**3)
    return DependencySentences(
        tokens, starts, heads, n_types, n_valences, layout.coarse, arc_weights
    )


def longest_length(sentences: DependencySentences) -> int:
    """Tokens of the longest sentence."""
    return int(np.diff(sentences.starts).max())


def chart_workspace(sentences: DependencySentences) -> DependencyWorkspace:
    """A chart with room for the longest sentence."""
    return workspace_for(longest_length(sentences), *_valences_and_backoff(sentences))


def _valences_and_backoff(sentences: DependencySentences) -> tuple[int, bool]:
    """Valences of attachments, and whether these back off."""
    return sentences.n_valences, sentences.coarse is not None


def frozen_tally(weights: np.ndarray) -> DependencyTally:
    """A tally without counts whose quotients are the weights."""
    # There are fewer rows than cells.
    n = len(weights)
    return DependencyTally(CellSums(np.zeros(n), np.zeros(n)), weights, np.ones(n))


def tally_of(cells: np.ndarray, prior: np.ndarray, layout: DependencyLayout) -> DependencyTally:
    """Counts and prior as a sweep changes them; the counts given stay whole."""
    return DependencyTally(
        CellSums(cells.copy(), layout.totals(cells)), prior, layout.totals(prior)
    )


def _infer_all(
    sentences: DependencySentences,
    tally: DependencyTally,
    sums: CellSums,
    shares: DependencyShares,
    update: int,
) -> np.ndarray:
    """Log of the summed weights of trees of each sentence; `update` says what else is done."""
    work, log_z = chart_workspace(sentences), np.full(len(sentences.starts) - 1, np.nan)
    i = np.int64(0)
    while True:
        i = infer(sentences, tally, sums, shares, work, update, i, log_z)
        if i == len(log_z):
            return log_z
        n = sentences.starts[i + 1] - sentences.starts[i]
        if update in (EXPECT, SWEEP):
            log_z[i] = count_in_logs(work, n, shares.count, shares.first[i])
        else:
            log_z[i] = fill_in_logs(work, n)
        assert not np.isnan(log_z[i]), "weights are finite numbers"


def expectation(
    weights: np.ndarray, sentences: DependencySentences, keeps_shares: bool = False
) -> tuple[np.ndarray, np.ndarray, DependencyShares]:
    """Expected counts under given weights, the log of their sum, and what each sentence adds.

    The sum is over trees; it is p(words) where arcs have no weights of their own. -inf without a
    tree.
    """
    tally = frozen_tally(weights)
    shares = shares_for(sentences.starts, keeps_shares, *_valences_and_backoff(sentences))
    sums = CellSums(np.zeros_like(tally.sums.cells), np.zeros_like(tally.sums.totals))
    log_z = _infer_all(sentences, tally, sums, shares, EXPECT)
    return sums.cells, log_z, shares


def log_likelihoods(weights: np.ndarray, sentences: DependencySentences) -> np.ndarray:
    """Log of the summed weights of trees of each sentence, -inf for one without a tree."""
    tally, shares = frozen_tally(weights), shares_for(sentences.starts[:2], False)
    return _infer_all(sentences, tally, tally.sums, shares, WEIGH)


def leave_out_sweep(
    sentences: DependencySentences, tally: DependencyTally, shares: DependencyShares, frozen: bool
) -> tuple[DependencyShares, np.ndarray]:
    """Shares of every sentence inferred from the counts of all others, and log normalisers.

    The tally is changed in place, unless frozen; the old shares stay whole.
    """
    if frozen:
        return shares, _infer_all(sentences, tally, tally.sums, shares, SCORE)
    shares = DependencyShares(shares.first, shares.count.copy())
    return shares, _infer_all(sentences, tally, tally.sums, shares, SWEEP)


def sum_shares(
    shares: DependencyShares, sentences: DependencySentences, layout: DependencyLayout
) -> np.ndarray:
    """Counts of all sentences from what each adds, summed again: updates leave rounding errors."""
    tally = frozen_tally(np.zeros(layout.n_cells))
    # No sentence is to be inferred, so that shares are added, and that is all.
    done, work = np.zeros(len(sentences.starts) - 1), workspace_for(1)
    infer(sentences, tally, tally.sums, shares, work, SCORE, np.int64(0), done)
    return tally.sums.cells


def heaviest_heads(
    tally: DependencyTally, sentences: DependencySentences, shares: DependencyShares | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Heads of the heaviest trees, shares left out of the tally if given, and their log weights."""
    longest = longest_length(sentences)
    heads, logs = np.empty(len(sentences.token), np.int64), np.empty(len(sentences.starts) - 1)
    left_out = shares_for(sentences.starts[:2], False) if shares is None else shares
    work = chart_workspace(sentences), kernels.descent_workspace_for(longest)
    kernels.heaviest_trees(sentences, tally, left_out, shares is not None, work, heads, logs)
    return heads, logs


def hardened_expectation(
    weights: np.ndarray, sentences: DependencySentences, temperature: float
) -> tuple[np.ndarray, np.ndarray]:
    """Expected counts where trees have their posterior to the power 1 / temperature, and values.

    These are ``temperature * log(sum of weight ** (1 / temperature))`` over trees, -inf without a
    tree. Weights are without mixtures; those of arcs are a part of a tree's weight, so that the
    values never fall from one M-step to the next at any temperature.
    """
    if temperature < 1:
        weights = weights ** (1 / temperature)
        if (known := sentences.arc_weights) is not None:
            sentences = sentences._replace(arc_weights=known ** (1 / temperature))
    counts, log_z, _ = expectation(weights, sentences)
    return counts, temperature * log_z


def heaviest_tree_counts(
    weights: np.ndarray, sentences: DependencySentences
) -> tuple[np.ndarray, np.ndarray]:
    """Counts of the heaviest trees, and the log weight of each, -inf without a tree."""
    heads, values = heaviest_heads(frozen_tally(weights), sentences)
    values[values < kernels.ALMOST_NOTHING / 2] = -np.inf
    heads[np.repeat(np.isneginf(values), np.diff(sentences.starts))] = UNKNOWN_HEAD
    return cell_uses(sentences, heads), values


def draw_sweep(
    sentences: DependencySentences,
    tally: DependencyTally,
    rng: np.random.Generator,
    trees: HeadTrees | None = None,
    power: float = 1.0,
) -> tuple[HeadTrees, np.ndarray, np.ndarray]:
    """Trees drawn by a Hastings step, log normalisers, and how many were proposed and accepted.

    Without old trees they are drawn from the tally, which stays whole. Heads are -1 in sentences
    without a tree; weights of trees are raised to `power`. Those of arcs are the same factor of
    what a tree is proposed by and of what samples follow, so that no step but the proposal asks.
    """
    n, known = len(sentences.token), sentences.arc_weights
    if known is not None and power != 1.0:
        # Each token has one arc, or is the root: what divides all of them divides all trees alike,
        # and no power of what is at most 1 leaves the range of float64.
        sentences = sentences._replace(arc_weights=(known / known.max()) ** power)
    if trees is None:
        trees = HeadTrees(np.full(n, UNKNOWN_HEAD, np.int64), np.zeros(n, np.int64))
    trees, work = HeadTrees(*(part.copy() for part in trees)), chart_workspace(sentences)
    levels = rng.random((2 if sentences.coarse is None else 3) * n)
    sweep = kernels.sweep_for(*trees, levels, longest_length(sentences))
    log_z, i = np.full(len(sentences.starts) - 1, np.nan), np.int64(0)
    while True:
        i = kernels.draw_trees(sentences, tally, work, sweep, float(power), i, log_z)
        if i == len(log_z):
            return trees, log_z, sweep.proposals.astype(np.float64)
        log_z[i] = fill_in_logs(work, sentences.starts[i + 1] - sentences.starts[i])


# What given trees weigh, and which cells they use


def log_arc_weight(sentences: DependencySentences, heads: np.ndarray) -> float:
    """Sum of the log weights of all arcs of trees with these heads; 0 where arcs have none."""
    if sentences.arc_weights is None:
        return 0.0
    first = np.repeat(sentences.starts[:-1], np.diff(sentences.starts))
    child = np.flatnonzero(heads >= 0)
    head = first[child] + heads[child] - 1
    rows = 2 * sentences.token[head] + (child > head)
    rows[heads[child] == 0] = 2 * sentences.n_types
    return float(np.log(sentences.arc_weights[rows, sentences.token[child]]).sum())


def cell_uses(
    sentences: DependencySentences, heads: np.ndarray, is_coarse: np.ndarray | None = None
) -> np.ndarray:
    """How often the trees with these heads use each cell; sentences without a tree use none."""
    n, tokens = sentences.n_types, sentences.token
    lengths = np.diff(sentences.starts)
    first = np.repeat(sentences.starts[:-1], lengths)
    child = np.flatnonzero(heads > 0)
    head = first[child] + heads[child] - 1
    half = 2 * head + (child > head)
    nearest = np.full(2 * len(tokens), len(tokens))
    np.minimum.at(nearest, half, np.abs(child - head))
    valence = np.minimum(np.abs(child - head) > nearest[half], sentences.n_valences - 1)
    rows = (2 * tokens[head] + (child > head)) * sentences.n_valences + valence
    n_arc_rows, tags, roots = 2 * n * sentences.n_valences, tokens[child], tokens[heads == 0]
    others = []
    if sentences.coarse is not None and is_coarse is not None:
        part, general = is_coarse[child], is_coarse[child] > 0
        others.append(np.bincount(2 * rows + part, minlength=2 * n_arc_rows))
        cells = sentences.coarse[rows[general]] * n + tags[general]
        others.append(np.bincount(cells, minlength=(sentences.coarse.max() + 1) * n))
        rows, tags = rows[~general], tags[~general]
    cells = np.concatenate([rows * n + tags, n_arc_rows * n + roots])
    attach = np.bincount(cells, minlength=(n_arc_rows + 1) * n)
    n_children = np.bincount(half, minlength=2 * len(tokens)).reshape(-1, 2)
    choice = _stop_decisions(tokens[heads >= 0], n_children[heads >= 0], n)
    return np.concatenate([attach, choice.ravel(), *others]).astype(np.float64)


def _stop_decisions(tokens: np.ndarray, n_children: np.ndarray, n_types: int) -> np.ndarray:
    """How often tokens with this many children on either side stop and go on, by tag."""
    choice = np.zeros((n_types, 2, 2, 2))
    for side in range(2):
        some = n_children[:, side]
        for valence, stops, goes in (
            (0, some == 0, some > 0),
            (1, some > 0, np.maximum(some - 1, 0)),
        ):
            choice[:, side, valence, 0] = np.bincount(tokens, stops, n_types)
            choice[:, side, valence, 1] = np.bincount(tokens, goes, n_types)
    return choice


def refuse_impossible(sentences: DependencySentences, layout: DependencyLayout) -> None:
    """Raise where no projective tree with one root has the known heads."""
    layout, free = layout.mixed, sentences._replace(coarse=None)
    uniform = 1.0 / layout.widths[layout.row]
    impossible = np.flatnonzero(np.isneginf(log_likelihoods(uniform, free)))
    if len(impossible):
        i, n = int(impossible[0]), len(sentences.starts) - 1
        why = why_no_tree(sentences.head[sentences.starts[i] : sentences.starts[i + 1]])
        more = how_many_alike(impossible.tolist(), n, "sentences have heads of no projective tree")
        raise ValueError(f"y[{i}]{why}{more}")
