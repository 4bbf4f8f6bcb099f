"""Where a chain begins, what it carries, and one sweep of each of the three samplers."""

from typing import NamedTuple

import numpy as np

from sklearn_cvb.hmm.concentrations import Concentrations
from sklearn_cvb.hmm.parameter_sampling import sweep_parameters
from sklearn_cvb.hmm.parameters import (
    HMMCounts,
    Prior,
    log_weights,
    posterior_mean,
)
from sklearn_cvb.hmm.sampling import (
    Scan,
    counts_of,
    draw_slots,
    slots_of,
    sweep_gibbs,
)
from sklearn_cvb.hmm.sequence_sampling import sweep_by_sequence
from sklearn_cvb.hmm.start import counts_from_marginals
from sklearn_cvb.hmm.tallies import tally_of
from sklearn_cvb.kernels.chain.decoding import sample_paths
from sklearn_cvb.kernels.chain.forward_backward import Weights


class GibbsState(NamedTuple):
    """What the sampler carries: the current path, and sums over the samples kept so far.

    `path` and `slots` hold the sampled path (see `sklearn_cvb.hmm.sampling`); `frequency` counts,
    for every (token, state) entry, how often it was sampled in the last tenth of the sweeps.
    `trace` has a `Draw` for every sweep.
    """

    scan: Scan
    path: np.ndarray
    slots: np.ndarray
    counts: HMMCounts
    prior: Prior
    concentrations: Concentrations
    weights: None
    unexplained: np.ndarray
    n_sweeps: int
    frequency: np.ndarray
    count_sum: HMMCounts
    mean_sum: Weights
    kept: list
    trace: list
    n_accepted: int
    n_proposed: int


def first_slots(problem, prior, start, rng):
    """A path drawn from where a fit starts; it takes no step that the prior forbids."""
    lattice, starts = problem.lattice, problem.corpus.starts
    slots = np.empty(len(problem.corpus.tokens), np.int32)
    weights = start.weights
    if weights is None:
        if prior.start.min() > 0.0 and prior.transition.min() > 0.0:
            draw_slots(lattice, start.posterior, rng.random(len(slots)), slots)
            return slots
        counts = counts_from_marginals(problem, start.posterior)
        weights = posterior_mean(counts, prior, problem.cells)
    weights = weights._replace(
        start=np.where(prior.start > 0.0, weights.start, 0.0),
        transition=np.where(prior.transition > 0.0, weights.transition, 0.0),
    )
    path, log_z = np.empty_like(slots), np.empty(len(starts) - 1)
    sample_paths(weights, log_weights(weights), lattice, starts, rng, path, log_z)
    slots_of(lattice, path, slots)
    return slots


def _sweep_tokens(state, problem, prior, temperature, rng):
    """Figure 1 for every token that has a choice."""
    cells, lattice, starts = problem.cells, problem.lattice, problem.corpus.starts
    path, slots = state.path.copy(), state.slots.copy()
    tables = tally_of(state.counts, prior, cells)
    sweep_gibbs(tables, lattice, state.scan, path, slots, temperature, rng)
    return slots, path, counts_of(tables, lattice, starts, slots, prior, cells), 0, 0


def _sweep_sequences(state, problem, prior, temperature, rng):
    """A proposal for every sequence."""
    slots, *rest = sweep_by_sequence(problem, state.counts, prior, state.slots, temperature, rng)
    return slots, problem.lattice.state[slots], *rest


def _sweep_parameters(state, problem, prior, temperature, rng):
    """Parameters given states, and states given parameters."""
    slots, counts = sweep_parameters(problem, state.counts, prior, state.slots, temperature, rng)
    return slots, problem.lattice.state[slots], counts, 0, 0


# Each returns slots, their states, counts, and how many proposals were accepted and made.
SWEEPS = {
    "token": _sweep_tokens,
    "sequence": _sweep_sequences,
    "parameter": _sweep_parameters,
}
