"""Where a fit starts: harmonic, uniform or random weights, or those of a fitted model."""

from typing import Any

import numpy as np

from sklearn_cvb.dmv.inference import Problem, cells_by_length
from sklearn_cvb.dmv.layout import Layout, tables_of
from sklearn_cvb.dmv.parameters import (
    DMVCounts,
    cells_from,
    layout_of,
    posterior_mean,
    uniform_weights,
)
from sklearn_cvb.dmv.rules import tilt_of
from sklearn_cvb.kernels.dependency.arrays import GO, Sentences

# Own row, coarse row.
_FIRST_MIXTURE = 1 / 3, 2 / 3
# How far a near-uniform start is from uniform.
_NOISE = 0.01
# Beside counts of arcs it is next to nothing; rows without any keep their probabilities.
_NO_ARC = 1e-9


def first_weights(init: Any, problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """Weights of the first E-step.

    Parameters
    ----------
    init : {"harmonic", "uniform", "random"} or model
    problem : Problem
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_cells,)
    """
    layout = problem.layout
    if not isinstance(init, str):
        return weights_of_model(init, problem)
    if init == "harmonic":
        tilt = tilt_of(problem.rules, layout.n_types)
        return backed_off(harmonic_counts(problem.sentences, layout, tilt), layout)
    if init == "random":
        draws = rng.standard_exponential(layout.n_cells)
    else:
        draws = 1.0 + _NOISE * rng.random(layout.n_cells)
    return posterior_mean(draws, 0.0, None, layout)


def backed_off(counts: np.ndarray, layout: Layout) -> np.ndarray:
    """Weights from counts whose mixtures are not known: coarse rows sum the others.

    Attachments come from coarse rows twice as often as from their own, which is the mean of the
    prior of Headden, Johnson and McClosky (2009).

    Parameters
    ----------
    counts : ndarray of shape (layout.mixed.n_cells,)
    layout : Layout

    Returns
    -------
    ndarray of shape (layout.n_cells,)
    """
    cells = np.zeros(layout.n_cells)
    cells[: len(counts)] = counts
    if layout.coarse is not None:
        attach, _, mixture, coarse = tables_of(cells, layout)
        np.add.at(coarse, layout.coarse, attach[:-1])
        mixture[:] = _FIRST_MIXTURE
    return posterior_mean(cells, 0.0, uniform_weights(layout), layout)


def weights_of_model(model: Any, problem: Problem) -> np.ndarray:
    """Posterior means of a fitted model for other tags; those it lacks are its unknown one."""
    layout = problem.layout
    places = _places_in(model, problem.types, layout.n_types)
    theirs = layout_of(model.counts_)
    if (theirs.n_valences, theirs.backoff) == (layout.n_valences, layout.backoff):
        parts = _of_tags(model._parts(), places)
        return posterior_mean(cells_from(parts), 0.0, None, layout)
    mixed = _of_tags(model._probabilities(), places)
    n_arcs = model.counts_.stop[places][..., GO]
    return backed_off(_as_counts(mixed, n_arcs, layout), layout)


def _places_in(model: Any, types: list, n_types: int) -> list[int]:
    """Where tags stand in a fitted model."""
    known = {tag: i for i, tag in enumerate(model.vocabulary_.tolist())}
    unknown = len(known) if len(model.rootprob_) > len(known) else None
    found = [known.get(tag, unknown) for tag in types]
    if n_types > len(types):
        found.append(unknown)
    places = [place for place in found if place is not None]
    if len(places) < len(found):
        missing = [tag for tag, place in zip(types, found, strict=False) if place is None]
        raise ValueError(
            f"init does not know the tags {missing[:5]} ({len(missing)} in all): fit it with the "
            "same vocabulary, or with handle_unknown='smooth'"
            if missing
            else "init has no unknown tag: give both models the same handle_unknown"
        )
    return places


def _of_tags(parts: DMVCounts, places: list[int]) -> DMVCounts:
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


def _as_counts(parts: DMVCounts, n_arcs: np.ndarray, layout: Layout) -> np.ndarray:
    """Probabilities as counts for other valences, so that sums of rows are means over arcs.

    Parameters
    ----------
    parts : DMVCounts
        Probabilities without mixtures.
    n_arcs : ndarray of shape (n_types, 2, 2)
        Expected arcs by head, side and valence.
    layout : Layout

    Returns
    -------
    ndarray of shape (layout.mixed.n_cells,)
    """
    attach = parts.attach if parts.attach.ndim == 4 else parts.attach[:, :, None]
    attach = attach * (n_arcs + _NO_ARC)[..., None]
    if layout.n_valences == 1:
        attach = attach.sum(axis=2)
    return cells_from(parts._replace(attach=attach))


def harmonic_counts(
    sentences: Sentences, layout: Layout, tilt: np.ndarray | None = None
) -> np.ndarray:
    """Expected counts if each token chose its head alone, the nearer the likelier.

    Klein and Manning (2004): each token is the root with probability 1 / n, and the head of another
    with the rest, in proportion to 1 / distance.

    Parameters
    ----------
    sentences : Sentences
    layout : Layout
    tilt : ndarray of shape (n_types + 1, n_types) or None, default=None
        What multiplies the chance of a head (the last is the root) to be chosen, by child.

    Returns
    -------
    ndarray of shape (layout.mixed.n_cells,)
    """
    layout = layout.mixed
    cells = np.zeros(layout.n_cells)
    attach, choice = tables_of(cells, layout)
    for which, arc_cells, choice_cells in cells_by_length(sentences):
        n = arc_cells.shape[2]
        if tilt is None:
            factors = np.ones((1, n, n))
        else:
            tags = sentences.token[sentences.starts[which][:, None] + np.arange(n)]
            factors = tilt[tags[:, :, None], tags[:, None, :]]
            factors[:, np.arange(n), np.arange(n)] = tilt[-1, tags]
        arcs, choices = _harmonic_share(factors, layout.n_valences)
        for table, used in zip(arcs, arc_cells, strict=True):
            weights = np.broadcast_to(table, used.shape).ravel()
            attach += np.bincount(used.ravel(), weights, attach.size).reshape(attach.shape)
        weights = np.broadcast_to(choices, choice_cells.shape).ravel()
        choice += np.bincount(choice_cells.ravel(), weights, choice.size).reshape(choice.shape)
    return cells


def _harmonic_share(factors: np.ndarray, n_valences: int) -> tuple[np.ndarray, np.ndarray]:
    """Expected arcs and choices of sentences of n tokens, each chance of a head multiplied.

    Parameters
    ----------
    factors : ndarray of shape (m, n, n)
        By head and child, the root's on the diagonal.
    n_valences : int

    Returns
    -------
    arcs : ndarray of shape (n_valences, m, n, n)
        The root's are on the last diagonal.
    choices : ndarray of shape (m, n, 8)
    """
    m, n = factors.shape[:2]
    position = np.arange(n)
    distance = np.abs(position[:, None] - position)
    chances = np.where(distance > 0, 1.0 / np.maximum(distance, 1), 0.0)
    chances *= (1.0 - 1.0 / n) / np.maximum(chances.sum(axis=0), 1e-300)
    chances[position, position] = 1.0 / n
    arcs = chances * factors
    arcs /= arcs.sum(axis=1, keepdims=True)
    roots = arcs[:, position, position]
    arcs[:, position, position] = 0.0
    choices = np.zeros((m, n, 2, 2, 2))
    for side, ours in enumerate((position < position[:, None], position > position[:, None])):
        expected = np.where(ours, arcs, 0.0).sum(axis=2)
        none = np.where(ours, 1.0 - arcs, 1.0).prod(axis=2)
        choices[:, :, side, 0, 0] = none
        choices[:, :, side, 0, 1] = choices[:, :, side, 1, 0] = 1.0 - none
        choices[:, :, side, 1, 1] = np.maximum(expected - (1.0 - none), 0.0)
    by_valence = arcs[None]
    if n_valences == 2:
        first = _first_on_the_right(arcs)
        first += _first_on_the_right(arcs[:, ::-1, ::-1])[:, ::-1, ::-1]
        by_valence = np.stack([first, np.maximum(arcs - first, 0.0)])
    by_valence[-1][:, position, position] = roots
    return by_valence, choices.reshape(m, n, 8)


def _first_on_the_right(arcs: np.ndarray) -> np.ndarray:
    """Chances of arcs to the right without another child between, each token choosing alone."""
    first = np.triu(arcs)
    for h in range(arcs.shape[1]):
        first[:, h, h + 2 :] *= np.cumprod(1.0 - arcs[:, h, h + 1 : -1], axis=1)
    return first
