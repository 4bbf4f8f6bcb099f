"""A fitted dependency model at work: weights, heads and their posteriors, sampled sentences. What
float64 loses is inferred in log space.
"""

from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.dependency import parameters
from sklearn_cvb.dependency.inference import expectation, frozen_tally, heaviest_heads, sentences_of
from sklearn_cvb.dependency.log_space import LOST, expected_arcs
from sklearn_cvb.dependency.parameters import DMVCounts
from sklearn_cvb.kernels.dependency.arrays import LEFT_SIDE, RIGHT_SIDE, STOP, DependencySentences
from sklearn_cvb.kernels.dependency.trees import ALMOST_NOTHING
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.reading.corpus import Corpus, object_array
from sklearn_cvb.reading.sample_sizes import drawn_within
from sklearn_cvb.reading.validation import warn


class DependencyExtras(NamedTuple):
    """What a dependency model has learned beside counts: weights of arcs, means over samples."""

    arc_weights: np.ndarray | None  # what is known of arcs; None for nothing
    # Of samplers, means over the kept samples: of weights, and of those with mixtures worked out.
    means: tuple[np.ndarray, np.ndarray] | None


# Weights


def counts_with_rare(learned: Learned) -> np.ndarray:
    """Counts; the unknown tag gets the mean count of tags seen once ("rare")."""
    cells = parameters.cells_from(learned.counts)
    return cells if learned.unknown_word_counts is None else cells + learned.unknown_word_counts


def mean_weights(learned: Learned, *, mixed: bool) -> np.ndarray:
    """Posterior-mean weights; `mixed`: with mixtures worked out."""
    if learned.extra.means is not None:
        return learned.extra.means[mixed]
    weights = learned.layout.rows(counts_with_rare(learned), learned.prior).mean(learned.fallback)
    return parameters.mixed_weights(weights, learned.layout) if mixed else weights


def weights_to_predict(learned: Learned) -> np.ndarray:
    """Weights of `predict` and `predict_proba`, with mixtures worked out."""
    if learned.extra.means is not None or not learned.averages:
        return mean_weights(learned, mixed=True)
    rows = learned.layout.rows(counts_with_rare(learned), learned.prior)
    return parameters.mixed_weights(rows.exp_expected_log(), learned.layout)


def _weights_and_logs(learned: Learned) -> tuple[np.ndarray, np.ndarray | None]:
    """`weights_to_predict`, and where float64 loses some, which are 0 then, the logs of all."""
    weights = weights_to_predict(learned)
    if learned.extra.means is not None or not learned.averages:
        return weights, None
    logs = learned.layout.rows(counts_with_rare(learned), learned.prior).expected_log()
    if logs.min() >= LOST:
        return weights, None
    logs = parameters.mixed_logs(logs, learned.layout)
    return np.where(logs < LOST, 0.0, weights), logs


def _arcs_in_logs(
    learned: Learned,
    logs: np.ndarray,
    sentences: DependencySentences,
    span: slice,
    *,
    heaviest: bool,
) -> np.ndarray:
    """`expected_arcs` of one of the sentences, which has these tokens."""
    tags, layout = sentences.token[span], learned.layout.mixed
    return expected_arcs(logs, layout, tags, sentences.arc_weights, heaviest=heaviest)


def probabilities_of(learned: Learned, *, mixed: bool) -> DMVCounts:
    """Posterior means in all tables, or in fewer with mixtures worked out."""
    layout = learned.layout.mixed if mixed else learned.layout
    return parameters.counts_from(mean_weights(learned, mixed=mixed), layout)


# Heads of given sentences


def sentences_to_parse(learned: Learned, corpus: Corpus) -> DependencySentences:
    """A corpus as kernels read it, with what is known of arcs."""
    known = learned.extra.arc_weights
    return sentences_of(corpus, learned.layout.mixed, arc_weights=known)


def best_heads(learned: Learned, corpus: Corpus) -> np.ndarray:
    """Heads of the heaviest trees, one after the other."""
    sentences, (weights, logs) = (sentences_to_parse(learned, corpus), _weights_and_logs(learned))
    heads, log_weights = heaviest_heads(frozen_tally(weights), sentences)
    suspects = np.flatnonzero(log_weights < ALMOST_NOTHING / 2)
    if logs is None:
        _warn_unexplained(learned, corpus, suspects)
        return heads
    for i in suspects.tolist():
        span = slice(*corpus.starts[i : i + 2])
        best = _arcs_in_logs(learned, logs, sentences, span, heaviest=True).argmax(axis=0)
        heads[span] = np.where(best == np.arange(len(best)), 0, best + 1)
    return heads


def posteriors_of_heads(learned: Learned, corpus: Corpus) -> np.ndarray:
    """The tables that `predict_proba` gives."""
    sentences = sentences_to_parse(learned, corpus)
    weights, logs = _weights_and_logs(learned)
    _, log_z, shares = expectation(weights, sentences, keeps_shares=True)
    tables = []
    for i, n in enumerate(np.diff(corpus.starts).tolist()):
        share = shares.count[shares.first[i] :]
        arcs = share[: n * n].reshape(n, n)
        if sentences.n_valences == 2:
            arcs = arcs + share[n * (n + 8) :][: n * n].reshape(n, n)
        if logs is not None and np.isneginf(log_z[i]):
            span = slice(*corpus.starts[i : i + 2])
            arcs, log_z[i] = _arcs_in_logs(learned, logs, sentences, span, heaviest=False), 0.0
        table = np.column_stack([np.diagonal(arcs), arcs.T])
        np.fill_diagonal(table[:, 1:], 0.0)
        tables.append(table if np.isfinite(log_z[i]) else np.full_like(table, np.nan))
    _warn_unexplained(learned, corpus, np.flatnonzero(np.isneginf(log_z)))
    if corpus.width is None:
        return object_array(tables)
    stacked = np.full((len(tables), corpus.width, corpus.width + 1), np.nan)
    for whole, table in zip(stacked, tables, strict=True):
        whole[: len(table)] = 0.0
        whole[: len(table), : table.shape[1]] = table
    return stacked


def _warn_unexplained(learned: Learned, corpus: Corpus, suspects: np.ndarray) -> None:
    """Warn of sentences that no tree explains; unknown tags explain themselves."""
    starts, n_known = corpus.starts, len(learned.words.index)
    wrong = [int(i) for i in suspects if (corpus.tokens[starts[i] : starts[i + 1]] < n_known).all()]
    if wrong:
        warn(
            [
                f"no tree of sentences {wrong[:5]} ({len(wrong)} in all) has any weight: they hold "
                "what the model has never seen; alpha above 0 leaves nothing out"
            ]
        )


# Sentences drawn head-outward


def sample_sentences(
    tables: DMVCounts, n_samples: int, longest: int, rng: np.random.RandomState
) -> tuple[list[Any], list[Any]]:
    """Tags and heads of sentences of at most `longest` tokens; tags need not be normalised.

    Raises ValueError if a number is not positive, or nearly all trees are larger.
    """
    attach = tables.attach if tables.attach.ndim == 4 else tables.attach[:, :, None]
    levels = np.cumsum(tables.root), np.cumsum(attach, axis=3), tables.stop[..., STOP]
    samples = drawn_within(
        lambda: _draw_sentence(levels, longest, rng),
        n_samples,
        longest,
        f"trees in a row are larger than {longest} tokens",
        "learn from shorter sentences",
    )
    return [tags for tags, _ in samples], [heads for _, heads in samples]


def _draw_sentence(
    levels: tuple[np.ndarray, np.ndarray, np.ndarray], longest: int, rng: np.random.RandomState
) -> tuple[list[Any], np.ndarray] | None:
    """Tags and heads of one sentence, None if it gets too long."""
    root, attach, stop = levels
    tags, above = [_draw_tag(root, rng)], [-1]
    # Children of each token on either side, from the nearest to the farthest.
    children: list[Any] = []
    while len(children) < len(tags):
        token = len(children)
        sides: tuple[list[Any], list[Any]] = ([], [])
        for side in (LEFT_SIDE, RIGHT_SIDE):
            while rng.random_sample() >= stop[tags[token], side, min(1, len(sides[side]))]:
                valence = min(len(sides[side]), attach.shape[2] - 1)
                sides[side].append(len(tags))
                tags.append(_draw_tag(attach[tags[token], side, valence], rng))
                above.append(token)
                if len(tags) > longest:
                    return None
        children.append(sides)
    order: list[int] = []
    agenda: list[tuple[int, bool]] = [(0, False)]
    while agenda:
        token, is_open = agenda.pop()
        left, right = children[token]
        if is_open:
            order.append(token)
            continue
        agenda += [(child, False) for child in reversed(right)]
        agenda.append((token, True))
        agenda += [(child, False) for child in left]
    places = np.argsort(order)
    heads = np.array([0 if above[token] < 0 else places[above[token]] + 1 for token in order])
    return [tags[token] for token in order], heads


def _draw_tag(levels: np.ndarray, rng: np.random.RandomState) -> int:
    """A place drawn by cumulated weights."""
    place = np.searchsorted(levels, rng.random_sample() * levels[-1], side="right")
    return int(min(place, len(levels) - 1))
