"""Where collapsed variational inference starts: the first posteriors of what is left out."""

import numpy as np

from sklearn_cvb.hmm import start as starting
from sklearn_cvb.hmm.leave_out import infer_units
from sklearn_cvb.hmm.leave_out_batches import batch_units, buffers_for, infer_batches
from sklearn_cvb.hmm.parameters import log_weights
from sklearn_cvb.hmm.units import by_unit, fill_products, no_absence, unit_work, units_for
from sklearn_cvb.kernels.chain.tally import Tally
from sklearn_cvb.kernels.jit import jit


def first_units(problem, start, block_length):
    """Units with the posteriors of a start; weights give the pair marginals of one E-step."""
    if start.weights is not None and block_length is None:
        starts, count = problem.corpus.starts, problem.lattice.count
        units = units_for(starts, count, problem.cells, lists=problem.lists)
        posterior, pairs = np.empty(units.entry[-1]), np.empty(units.pair[-1])
        logs = log_weights(start.weights)
        work = unit_work(units, problem)
        if infer_units(start.weights, logs, units, problem.lattice, posterior, pairs, work):
            return units, posterior, pairs
    return product_units(problem, starting.posterior_of(start, problem), block_length)


def product_units(problem, entries, block_length):
    """Units with the posteriors of independent tokens, and the products of neighbours."""
    lattice, n_states = problem.lattice, problem.cells.n_states
    starts, lists = problem.corpus.starts, problem.lists
    units = units_for(starts, lattice.count, problem.cells, block_length, lists)
    posterior, pairs = by_unit(units, lattice.count, entries), np.empty(units.pair[-1])
    fill_products(units, lattice, posterior, pairs, n_states)
    _rule_out(problem.cells, pairs)
    return units, posterior, pairs


def _rule_out(cells, pairs):
    """Take what a topology rules out from pair sums, in place."""
    if cells.topology is not None:
        sums = pairs.reshape(-1, cells.n_states, cells.n_states)
        sums[:, ~cells.topology.transition] = 0.0


def first_batches(problem, start, batches):
    """Units with the posteriors of a start; weights give the pair marginals of one E-step.

    Returns
    -------
    units : Units
    posterior, pairs : ndarray
        `pairs` in the units' layout or, side by side, one (K, K) sum for each batch.
    """
    lattice, n_states = problem.lattice, problem.cells.n_states
    units = batch_units(problem, batches)
    posterior = np.empty(units.entry[-1])
    n_pairs = (len(batches.first) - 1) * n_states**2 if batches.side else units.pair[-1]
    pairs = np.empty(n_pairs)
    if start.weights is not None:
        ones = np.ones(n_states)
        log_z = infer_batches(
            Tally(
                start.weights.start, start.weights.transition, ones, start.weights.emission, ones
            ),
            batches,
            units,
            lattice,
            posterior,
            pairs,
            no_absence(),
            unit_work(units, problem),
            buffers_for(problem, batches),
        )
        if np.isfinite(log_z):
            return units, posterior, pairs
    # Sequences have the order of the corpus, so units and tokens have one layout.
    posterior = starting.posterior_of(start, problem)
    if batches.side:
        _add_products(batches, lattice, posterior, n_states, pairs)
    else:
        fill_products(units, lattice, posterior, pairs, n_states)
    _rule_out(problem.cells, pairs)
    return units, posterior, pairs


@jit
def _add_products(batches, lattice, posterior, n_states, pairs):
    """The pair sums of independent tokens: neighbouring posteriors multiplied."""
    for b in range(batches.first.size - 1):
        own = pairs[b * n_states * n_states : (b + 1) * n_states * n_states]
        summed = own.reshape(n_states, n_states)
        summed[:] = 0.0
        for member in range(batches.first[b], batches.first[b + 1]):
            i = batches.order[member]
            for t in range(batches.starts[i] + 1, batches.starts[i + 1]):
                at = t * n_states
                for k in range(n_states):
                    for j in range(n_states):
                        summed[k, j] += posterior[at - n_states + k] * posterior[at + j]
