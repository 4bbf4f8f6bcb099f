"""Where a fit starts: relative frequencies of the treebank's rules, with some noise, or random."""

import numpy as np

from sklearn_cvb.latent.binarise import Treebank
from sklearn_cvb.latent.parameters import Layout, layout_of, posterior_mean

# How far subtypes are from alike.
_NOISE = 0.01


def layout_with(treebank: Treebank, n_subtypes: int) -> Layout:
    """Rules with so many subtypes of each symbol."""
    return layout_of(treebank.rules(np.full(len(treebank.symbols), n_subtypes)))


def first_weights(
    init: str, treebank: Treebank, layout: Layout, rng: np.random.Generator
) -> np.ndarray:
    """Weights of the first E-step.

    Parameters
    ----------
    init : {"treebank", "random"}
    treebank : Treebank
    layout : Layout
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of shape (n_cells,)
    """
    if init == "random":
        return posterior_mean(layout, rng.standard_exponential(len(layout.row)), 0.0)
    sizes = np.diff(layout.rules.first)
    cells = np.repeat(treebank.counts / sizes, sizes)
    return posterior_mean(layout, noisy(cells, rng), 0.0)


def noisy(cells: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Cells with 1 % of noise, which tells subtypes apart."""
    return cells * (1.0 + _NOISE * rng.random(len(cells)))
