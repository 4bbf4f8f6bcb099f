"""All rows of a chain under their Dirichlet prior: log densities and divergences."""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, xlogy

from sklearn_cvb.chain.concentrations import row_totals
from sklearn_cvb.chain.lattice import Cells
from sklearn_cvb.chain.parameters import _SMALLEST_RATIO, HMMCounts, Prior, exp_expected_log
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.kernels.special import expected_weights
from sklearn_cvb.learning.dirichlet import exp_digamma, kl_divergence


class _Rows(NamedTuple):
    """The Dirichlet distributions of one table: start, transitions or emissions.

    Attributes
    ----------
    counts, prior : ndarray of shape (n_cells,)
        Expected counts C and prior u of the cells that a topology allows.
    row : ndarray of shape (n_cells,), int32
        Row of each cell.
    count_totals, prior_totals : ndarray of shape (n_rows,)
        Their sums by row; those of the prior include cells that a dictionary rules out.
    allowed : ndarray of bool or slice
        Which flat cells of the table these are.
    """

    counts: np.ndarray
    prior: np.ndarray
    row: np.ndarray
    count_totals: np.ndarray
    prior_totals: np.ndarray
    allowed: np.ndarray | slice

    @property
    def totals(self) -> np.ndarray:
        """Row totals of the posterior, C + u."""
        return self.count_totals + self.prior_totals


def _rows_of(counts: HMMCounts, prior: Prior, cells: Cells) -> list[_Rows]:
    """The Dirichlet posteriors of the start row, of transitions and of emissions."""
    n, topology = cells.n_states, cells.topology
    rows = (np.zeros(n, np.int32), np.repeat(np.arange(n, dtype=np.int32), n), cells.state)
    allowed: list[np.ndarray | slice] = [slice(None)] * 3
    if topology is not None:
        allowed = [topology.start, topology.transition.ravel(), slice(None)]
    elif cells.has_end:
        allowed[0] = slice(cells.n_emitting)
    priors = prior.start, prior.transition, prior.emission
    of_prior = np.atleast_1d(prior.start_total), prior.transition_total, prior.emission_total
    return [
        _Rows(np.ravel(count)[kept], np.ravel(u)[kept], row[kept], total, u_total, kept)
        for count, u, row, total, u_total, kept in zip(
            counts, priors, rows, row_totals(counts, cells), of_prior, allowed, strict=True
        )
    ]


def _divergence_of_totals(rows: _Rows) -> float:
    """What row totals add to KL(Dir(C + u) || Dir(u)) beside its cells (Beal 2003, appendix A)."""
    return float(
        np.sum(
            gammaln(rows.totals)
            - gammaln(rows.prior_totals)
            - rows.count_totals * digamma(rows.totals)
        )
    )


def _divergence(rows: _Rows) -> float:
    """KL(Dir(C + u) || Dir(u)) of all rows (Beal 2003, appendix A)."""
    u = rows.counts + rows.prior
    return kl_divergence(u, rows.prior, rows.totals, rows.prior_totals)


def _weights_and_divergence(rows: _Rows, divisors: np.ndarray, table: np.ndarray) -> float:
    """Fill in exp E[log theta] of a table (eq. 11 of the paper); returns the KL divergence.

    `divisors` are exp(digamma(row total)).
    """
    weights = np.empty(len(rows.counts))
    of_cells = expected_weights(rows.counts, rows.prior, rows.row, divisors, weights)
    table.reshape(-1)[rows.allowed] = weights
    return of_cells + _divergence_of_totals(rows)


def divergence(counts: HMMCounts, prior: Prior, cells: Cells) -> float:
    """KL of the posterior from the prior."""
    return sum(map(_divergence, _rows_of(counts, prior, cells)))


def weights_and_divergence(counts: HMMCounts, prior: Prior, cells: Cells) -> tuple[Weights, float]:
    """exp E[log theta], and KL of the posterior from the prior, in one pass over the cells."""
    tables = _rows_of(counts, prior, cells)
    divisors = [exp_digamma(rows.totals) for rows in tables]
    if min(divisor.min() for divisor in divisors) <= _SMALLEST_RATIO:
        return exp_expected_log(counts, prior, cells), divergence(counts, prior, cells)
    weights = Weights(*(np.zeros(table.shape) for table in counts))
    return weights, sum(map(_weights_and_divergence, tables, divisors, weights))


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
