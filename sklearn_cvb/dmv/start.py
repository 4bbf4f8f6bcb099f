"""Where a fit starts: harmonic, uniform or random weights, or those of a fitted model."""

from typing import Any

import numpy as np

from sklearn_cvb.dmv.inference import cells_by_length
from sklearn_cvb.dmv.parameters import (
    DMVCounts,
    cells_from,
    n_cells_of,
    posterior_mean,
    tables_of,
    uniform_weights,
)
from sklearn_cvb.kernels.dependency.arrays import Sentences

# How far a near-uniform start is from uniform.
_NOISE = 0.01


def first_weights(
    init: Any, sentences: Sentences, types: list, rng: np.random.Generator
) -> np.ndarray:
    """Weights of the first E-step.

    Parameters
    ----------
    init : {"harmonic", "uniform", "random"} or model
    sentences : Sentences
    types : list
        The tags; one fewer than `sentences` has where the last stands for unknown ones.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_cells,)
    """
    n = sentences.n_types
    cells = np.zeros(n_cells_of(n))
    if not isinstance(init, str):
        return weights_of_model(init, types, n)
    if init == "harmonic":
        return posterior_mean(harmonic_counts(sentences), 0.0, uniform_weights(cells))
    if init == "random":
        draws = rng.standard_exponential(len(cells))
    else:
        draws = 1.0 + _NOISE * rng.random(len(cells))
    return posterior_mean(draws, 0.0, None)


def weights_of_model(model: Any, types: list, n_types: int) -> np.ndarray:
    """Posterior means of a fitted model for other tags; those it lacks are its unknown one."""
    known = {tag: i for i, tag in enumerate(model.vocabulary_.tolist())}
    unknown = len(known) if len(model.rootprob_) > len(known) else None
    places = [known.get(tag, unknown) for tag in types]
    if n_types > len(types):
        places.append(unknown)
    if None in places:
        missing = [tag for tag, place in zip(types, places, strict=False) if place is None]
        raise ValueError(
            f"init does not know the tags {missing[:5]} ({len(missing)} in all): fit it with the "
            "same vocabulary, or with handle_unknown='smooth'"
            if missing
            else "init has no unknown tag: give both models the same handle_unknown"
        )
    stop = model.stopprob_[places]
    counts = DMVCounts(
        model.rootprob_[places],
        model.attachprob_[places][:, :, places],
        np.stack([stop, 1.0 - stop], axis=-1),
    )
    return posterior_mean(cells_from(counts), 0.0, None)


def harmonic_counts(sentences: Sentences) -> np.ndarray:
    """Expected counts if each token chose its head alone, the nearer the likelier.

    Klein and Manning (2004): each token is the root with probability 1 / n, and the head of another
    with the rest, in proportion to 1 / distance.

    Parameters
    ----------
    sentences : Sentences

    Returns
    -------
    ndarray of shape (n_cells,)
    """
    n_types = sentences.n_types
    cells = np.zeros(n_cells_of(n_types))
    attach, choice = tables_of(cells)
    for which, arc_cells, choice_cells in cells_by_length(sentences):
        arcs, choices = _harmonic_share(arc_cells.shape[1])
        times = (len(which), 1, 1)
        weights = np.tile(arcs, times).ravel()
        attach += np.bincount(arc_cells.ravel(), weights, attach.size).reshape(attach.shape)
        weights = np.tile(choices, times).ravel()
        choice += np.bincount(choice_cells.ravel(), weights, choice.size).reshape(choice.shape)
    return cells


def _harmonic_share(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Expected arcs (the root's on the diagonal) and choices of a sentence of n tokens."""
    position = np.arange(n)
    distance = np.abs(position[:, None] - position)
    arcs = np.where(distance > 0, 1.0 / np.maximum(distance, 1), 0.0)
    arcs *= (1.0 - 1.0 / n) / np.maximum(arcs.sum(axis=0), 1e-300)
    choices = np.zeros((n, 2, 2, 2))
    for side, ours in enumerate((position < position[:, None], position > position[:, None])):
        expected = np.where(ours, arcs, 0.0).sum(axis=1)
        none = np.where(ours, 1.0 - arcs, 1.0).prod(axis=1)
        choices[:, side, 0, 0] = none
        choices[:, side, 0, 1] = choices[:, side, 1, 0] = 1.0 - none
        choices[:, side, 1, 1] = np.maximum(expected - (1.0 - none), 0.0)
    arcs[position, position] = 1.0 / n
    return arcs, choices.reshape(n, 8)
