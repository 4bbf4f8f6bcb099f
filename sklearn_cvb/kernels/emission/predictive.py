"""Posterior predictive distributions of Gaussian steps: Student's t, state by state.

Layout and units as in `sklearn_cvb.kernels.emission.gaussian`: states are the last axis.
"""

import math

import numpy as np

from sklearn_cvb.kernels.emission.powers import log_of_block, room_for_bits
from sklearn_cvb.kernels.jit import jit, jit_inline, jit_token, jit_token_reduction
from sklearn_cvb.kernels.vectors import LANES, part, put, spread

# What rounding leaves of a pivot is never less than this share of the prior's.
_SMALLEST_PIVOT = 1e-6


@jit_token
def _ratio(x, d, means, inverses, k):
    """1 + inverse (x - mean)^2 of one column, for the states from k on."""
    off = spread(x[d]) - part(means[d], k)
    return spread(1.0) + part(inverses[d], k) * off * off


@jit
def multiply_ratios(x, columns, units, means, inverses, products):
    """Fill `products` (n_steps, K) with the product of 1 + inverse (x - mean)^2 over some columns.

    Parameters
    ----------
    x : ndarray of shape (n_steps, D)
    columns : tuple (first, last)
    units : ndarray of shape (n_units + 1,), int64
    means, inverses : ndarray of shape (n_units or 1, D, K)
    products : ndarray of shape (n_steps, K)
        A log of it is worth several. May leave float64 where values are far off.
    """
    first, last = columns
    for u in range(units.size - 1):
        own = u if means.shape[0] > 1 else 0
        mean, inverse = means[own], inverses[own]
        for k in range(0, products.shape[1], LANES):
            for t in range(units[u], units[u + 1]):
                product = _ratio(x[t], first, mean, inverse, k)
                for d in range(first + 1, last):
                    product *= _ratio(x[t], d, mean, inverse, k)
                put(products[t], k, product)


@jit
def add_logs(logs, units, constants, exponents, scores):
    """scores += constants + exponents logs; of units (n_units or 1, K), the others (n_steps, K)."""
    for u in range(units.size - 1):
        own = u if exponents.shape[0] > 1 else 0
        for k in range(0, scores.shape[1], LANES):
            constant, exponent = part(constants[own], k), part(exponents[own], k)
            for t in range(units[u], units[u + 1]):
                put(scores[t], k, part(scores[t], k) + constant + exponent * part(logs[t], k))


@jit
def student_by_column(x, observed, units, tables, room, scores):
    """Sum over observed columns of constant + exponent log(1 + inverse (x - mean)^2).

    Parameters
    ----------
    x : ndarray of shape (n_steps, D)
    observed : ndarray of shape (n_steps, D), bool
    units : ndarray of shape (n_units + 1,), int64
    tables : tuple (constants, means, inverses, exponents)
        Arrays of shape (n_units or 1, D, K).
    room : tuple (ratios, (bits, mantissas))
        Buffers: (D, K) numbers, and for their bits.
    scores : ndarray of shape (n_steps, K)
        Filled in.
    """
    constants, means, inverses, exponents = tables
    ratios, (bits, mantissas) = room
    n_columns, n_states = ratios.shape
    flat = ratios.reshape(n_columns * n_states)
    for u in range(units.size - 1):
        own = u if means.shape[0] > 1 else 0
        constant, exponent = constants[own], exponents[own]
        for t in range(units[u], units[u + 1]):
            for d in range(n_columns):
                for k in range(0, n_states, LANES):
                    put(ratios[d], k, _ratio(x[t], d, means[own], inverses[own], k))
            log_of_block(flat, bits, mantissas)
            for k in range(0, n_states, LANES):
                sums = spread(0.0)
                for d in range(n_columns):
                    if observed[t, d]:
                        sums += part(constant[d], k) + part(exponent[d], k) * part(ratios[d], k)
                put(scores[t], k, sums)


@jit_token_reduction
def _less_product(row, left, right):
    """row -= left right, state by state."""
    for k in range(row.size):
        row[k] -= left[k] * right[k]


@jit_token_reduction
def _divided(row, divisors):
    """row /= divisors, state by state."""
    for k in range(row.size):
        row[k] /= divisors[k]


@jit_inline
def sums_of_squares(table, mean_prior, strength, scale_prior, mean, factor):
    """Posterior means (D, K), and Psi of each state in the lower triangle of `factor` (D, D, K)."""
    n, n_states = mean_prior.size, table.shape[1]
    at = 1 + n
    for i in range(n):
        for j in range(i + 1):
            for k in range(n_states):
                count = max(table[0, k], 0.0)
                inverse = 1.0 / max(count, 1e-10)
                shrunk = strength * count / (strength + count)
                off_i = table[1 + i, k] * inverse - mean_prior[i]
                off_j = table[1 + j, k] * inverse - mean_prior[j]
                scatter = table[at, k] - table[1 + i, k] * table[1 + j, k] * inverse
                factor[i, j, k] = scale_prior[i, j] + scatter + shrunk * off_i * off_j
            at += 1
        for k in range(n_states):
            count = max(table[0, k], 0.0)
            total = strength * mean_prior[i] + table[1 + i, k]
            mean[i, k] = total / (strength + count)


@jit_inline
def invert_factors(factor, scale_prior, log_det):
    """From Psi to inv(L), in place, for all states; the upper triangles become 0."""
    n, n_states = factor.shape[0], factor.shape[2]
    for k in range(n_states):
        log_det[k] = 0.0
    for j in range(n):
        for i in range(j):
            _less_product(factor[j, j], factor[j, i], factor[j, i])
        for k in range(n_states):
            pivot = max(factor[j, j, k], _SMALLEST_PIVOT * scale_prior[j, j])
            log_det[k] += math.log(pivot)
            factor[j, j, k] = math.sqrt(pivot)
        for i in range(j + 1, n):
            for h in range(j):
                _less_product(factor[i, j], factor[i, h], factor[j, h])
            _divided(factor[i, j], factor[j, j])
    # inv(L), row by row from the top: row i is (e_i - sum over h < i of L[i, h] row h) / L[i, i].
    for i in range(n):
        # Rows above are inverted; this one holds L until column i has all sums.
        for j in range(i):
            factor[j, i] = 0.0
            for h in range(j, i):
                _less_product(factor[j, i], factor[i, h], factor[h, j])
        for j in range(i):
            for k in range(n_states):
                factor[i, j, k] = factor[j, i, k] / factor[i, i, k]
                factor[j, i, k] = 0.0
        for k in range(n_states):
            factor[i, i, k] = 1.0 / factor[i, i, k]


@jit_inline
def eliminate(factor, scale_prior, off, log_det):
    """Solve Psi for one vector of each state: off' inv(Psi) off is the sum of off^2 diagonal.

    Parameters
    ----------
    factor : ndarray of shape (D, D, K)
        Psi in the lower triangles; gets the reciprocals of the pivots on the diagonals.
    scale_prior : ndarray of shape (D, D)
    off : ndarray of shape (D, K)
        Changed in place.
    log_det : ndarray of shape (K,)
        Filled in with log |Psi|.
    """
    n, n_states = off.shape
    for j in range(n):
        for k in range(n_states):
            pivot = max(factor[j, j, k], _SMALLEST_PIVOT * scale_prior[j, j])
            log_det[k] = math.log(pivot) + (log_det[k] if j > 0 else 0.0)
            factor[j, j, k] = 1.0 / pivot
        for i in range(j + 1, n):
            for k in range(n_states):
                factor[j, i, k] = factor[i, j, k] * factor[j, j, k]
            _less_product(off[i], factor[j, i], off[j])
            for h in range(j + 1, i + 1):
                _less_product(factor[i, h], factor[j, i], factor[h, j])


@jit
def normal_wishart(statistics, mean_prior, strength, scale_prior, means, factors, log_det):
    """Posterior means, and factors of the inverses of the posterior sums of squares Psi.

    Parameters
    ----------
    statistics : ndarray of shape (n_units, 1 + D + D (D + 1) / 2, K)
        See `sklearn_cvb.kernels.emission.gaussian.second_moments`.
    mean_prior : ndarray of shape (D,)
    strength : float
        kappa of the prior.
    scale_prior : ndarray of shape (D, D)
    means : ndarray of shape (n_units, D, K)
        Filled in.
    factors : ndarray of shape (n_units, D, D, K)
        Filled in: ``factors[u, j, i]`` is inv(L)[j, i] for Psi = L L'.
    log_det : ndarray of shape (n_units, K)
        Filled in with log |Psi|.
    """
    for u in range(statistics.shape[0]):
        sums_of_squares(statistics[u], mean_prior, strength, scale_prior, means[u], factors[u])
        invert_factors(factors[u], scale_prior, log_det[u])


def room_for(n_columns: int, n_states: int) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Buffers of `student_by_column`."""
    return np.empty((n_columns, n_states)), room_for_bits(n_columns * n_states)
