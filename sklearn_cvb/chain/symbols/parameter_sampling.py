"""Sweeps that draw the parameters, too, and then all states given them.

Given the parameters sequences are independent (Gao and Johnson 2008). At temperature tau both draws
are those of the joint density of states and parameters, taken over log parameters, to the power
1 / tau: the Dirichlets have parameters (C + u) / tau, and the weights of the states are raised to
1 / tau.
"""

import numpy as np

from sklearn_cvb.chain.lattice import Cells, Problem
from sklearn_cvb.chain.parameters import HMMCounts, Prior
from sklearn_cvb.chain.symbols.sampling import (
    Swept,
    Walk,
    counts_of_path,
    drawn_given_weights,
    n_levels,
)
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.learning.dirichlet import draw_rows

# A rest of prior mass below this share of its row is rounding.
_ROUNDING = 1e-12


def sweep_by_parameters(
    walk: Walk,
    counts: HMMCounts,
    problem: Problem,
    prior: Prior,
    temperature: float,
    rng: np.random.Generator,
) -> Swept:
    """Draw parameters given the states, then all states given the parameters.

    Parameters and result as in `sklearn_cvb.chain.symbols.sampling.sweep_by_sequence`.
    """
    weights = draw_weights(counts, prior, problem.cells, temperature, rng)
    levels = rng.random(n_levels(problem.runs))
    slots = drawn_given_weights(weights, problem, levels, walk.slots)
    return slots, counts_of_path(problem, slots), np.zeros(2, np.int64)


def draw_weights(
    counts: HMMCounts, prior: Prior, cells: Cells, temperature: float, rng: np.random.Generator
) -> Weights:
    """Draw start, transition and emission probabilities given the states of all tokens.

    Parameters
    ----------
    counts : HMMCounts
        Actual counts, flat emission cells.
    prior : Prior
    cells : Cells
    temperature : float
    rng : numpy.random.Generator

    Returns
    -------
    Weights
        Draws to the power 1 / `temperature`. The cells that a dictionary rules out have their
        share of each row, which is drawn too.
    """
    n = cells.n_states
    rows = np.repeat(np.arange(n), n)
    rest = prior.emission_total - cells.row_totals(prior.emission)
    rest[rest < _ROUNDING * prior.emission_total] = 0.0
    start = draw_rows(
        counts.start + prior.start, np.zeros(n, np.intp), np.zeros(1), temperature, rng
    )
    transition = draw_rows(
        (counts.transition + prior.transition).ravel(), rows, np.zeros(n), temperature, rng
    )
    emission = draw_rows(counts.emission + prior.emission, cells.state, rest, temperature, rng)
    return Weights(start, transition.reshape(n, n), emission)
