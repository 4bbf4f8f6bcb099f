"""All rows of a chain under their Dirichlet prior: log densities and divergences."""

import numpy as np
from scipy.special import digamma, xlogy

from sklearn_cvb.chain.lattice import Cells
from sklearn_cvb.chain.parameters import HMMCounts, Prior, exp_expected_log, rows_of
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.kernels.divergence import expected_weights
from sklearn_cvb.learning.dirichlet import DirichletRows, kl_divergence

# Divisors below this have lost digits to underflow.
_SMALLEST_DIVISOR = 1e-280
_NO_CELLS = np.empty(0)


def _allowed(cells: Cells) -> list[np.ndarray | slice]:
    """Which cells of start, transitions and emissions a topology allows, and the end."""
    if cells.topology is not None:
        return [cells.topology.start, cells.topology.transition.ravel(), slice(None)]
    return [slice(cells.n_emitting if cells.has_end else None), slice(None), slice(None)]


def _listed_rows(counts: HMMCounts, prior: Prior, cells: Cells) -> list[DirichletRows]:
    """The Dirichlet posteriors of the cells that are allowed, listed one by one."""
    n = cells.n_states
    places = np.zeros(n, np.int32), np.repeat(np.arange(n, dtype=np.int32), n), cells.state
    return [
        rows._replace(
            counts=np.ravel(rows.counts)[kept], prior=np.ravel(rows.prior)[kept], row=row[kept]
        )
        for rows, row, kept in zip(
            rows_of(counts, prior, cells), places, _allowed(cells), strict=True
        )
    ]


def divergence(counts: HMMCounts, prior: Prior, cells: Cells) -> float:
    """KL of the posterior from the prior."""
    return sum(rows.divergence() for rows in _listed_rows(counts, prior, cells))


def weights_and_divergence(counts: HMMCounts, prior: Prior, cells: Cells) -> tuple[Weights, float]:
    """exp E[log theta], and KL of the posterior from the prior, in one pass over the cells."""
    tables = _listed_rows(counts, prior, cells)
    divisors = [np.exp(digamma(rows.totals)) for rows in tables]
    if min(divisor.min() for divisor in divisors) <= _SMALLEST_DIVISOR:
        return exp_expected_log(counts, prior, cells), sum(rows.divergence() for rows in tables)
    weights, value = Weights(*(np.zeros(table.shape) for table in counts)), 0.0
    for rows, below, table, kept in zip(tables, divisors, weights, _allowed(cells), strict=True):
        found = np.empty(len(rows.counts))
        value += expected_weights(rows.counts, rows.prior, rows.row, below, found)
        value += kl_divergence(_NO_CELLS, _NO_CELLS, rows.totals, rows.prior_totals)
        table.reshape(-1)[kept] = found
    return weights, value


def log_prior_density(counts: HMMCounts, prior: Prior, weights: Weights, cells: Cells) -> float:
    """The log prior in the softmax basis: the sum of u log theta over all cells (nats)."""
    if not (prior.start_total or prior.transition_total.any() or prior.emission_total.any()):
        return 0.0
    # Rows that all are the start row have no prior of their own.
    is_tied = cells.topology is not None and cells.topology.tied
    # The end has no parameters: nothing follows it, and it emits nothing.
    n = cells.n_emitting
    value = float(np.sum(xlogy(prior.start, weights.start)))
    if not is_tied:
        value += float(np.sum(xlogy(prior.transition[:n], weights.transition[:n])))
    value += float(np.sum(xlogy(prior.emission, weights.emission)))
    # Cells a dictionary rules out share what the listed ones leave of the row.
    mass = prior.emission_total - cells.row_totals(prior.emission)
    n_ruled_out = cells.n_rows - np.bincount(cells.state, minlength=cells.n_states)
    emit = cells.row_totals(counts.emission) + prior.emission_total
    open_rows = (n_ruled_out > 0) & (emit > 0)
    open_rows[n:] = False
    each = mass[open_rows] / n_ruled_out[open_rows] / emit[open_rows]
    return value + float(np.sum(xlogy(mass[open_rows].clip(0), each.clip(0))))
