"""Kernels of emissions: sums of features and moments by state, and log densities (scores): normal
ones, parabolas in x, and Student's t, logs of ratios 1 + (x - mean)^2 / scale.

States are the last axis of every table, so that the innermost loops are vectors. Observations ``x``
are (n_steps, D), ``observed`` says where nothing is missing, or is None; posteriors and scores are
(n_steps, K). Steps come in units, which have tables of their own: unit u has the steps
``units[u] : units[u + 1]``; a single row of tables serves all units, and so do sums.
"""

import math

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_inline, jit_token, jit_token_reduction
from sklearn_cvb.kernels.special import bit_buffer, log_of_block
from sklearn_cvb.kernels.vectors import LANES, part, put, spread, sum_of

# What rounding leaves of a pivot is never less than this share of the prior's.
_SMALLEST_PIVOT = 1e-6

# Features


@jit_token
def _add_tile(features, columns, by, posterior, k, span, table):
    """Add sums over steps of up to four features times the shares of a vector of states.

    Four sums stay in registers. ``columns`` are the first of the four and the last that there is:
    where fewer are left the last is summed in all that remain, to the same result. All are
    multiplied with column ``by`` (-1: none). ``k`` is the first of the states, ``span`` the steps,
    and row f of `table` of column f.
    """
    first, last = columns
    f1, f2, f3 = min(first + 1, last), min(first + 2, last), min(first + 3, last)
    s0, s1 = part(table[first], k), part(table[f1], k)
    s2, s3 = part(table[f2], k), part(table[f3], k)
    for t in range(span[0], span[1]):
        row, shares = features[t], part(posterior[t], k)
        if by >= 0:
            shares *= spread(row[by])
        s0 += spread(row[first]) * shares
        s1 += spread(row[f1]) * shares
        s2 += spread(row[f2]) * shares
        s3 += spread(row[f3]) * shares
    put(table[first], k, s0)
    put(table[f1], k, s1)
    put(table[f2], k, s2)
    put(table[f3], k, s3)


@jit
def feature_sums(features, posterior, units, sums):
    """Add to `sums` (n_units or 1, F, K) each state's share of every feature (n_steps, F)."""
    last = features.shape[1] - 1
    for u in range(units.size - 1):
        table, span = sums[u if sums.shape[0] > 1 else 0], (units[u], units[u + 1])
        for k in range(0, posterior.shape[1], LANES):
            for f in range(0, last + 1, 4):
                _add_tile(features, (f, last), np.int64(-1), posterior, k, span, table)


@jit_token
def _is_finite(table):
    """Whether no entry is infinite."""
    sums = spread(0.0)
    for f in range(table.shape[0]):
        for k in range(0, table.shape[1], LANES):
            sums += spread(0.0) * part(table[f], k)
    return not math.isnan(sum_of(sums))


@jit
def linear_scores(features, units, weights, scores):
    """Fill `scores` (n_steps, K) with the sum of features times `weights` (n_units or 1, F, K)."""
    for u in range(units.size - 1):
        table = weights[u if weights.shape[0] > 1 else 0]
        is_finite = _is_finite(table)
        for t in range(units[u], units[u + 1]):
            row = scores[t]
            for k in range(0, row.size, LANES):
                sums = spread(0.0)
                for f in range(features.shape[1]):
                    # 0 times an infinite weight is 0.
                    if is_finite or features[t, f] != 0.0:
                        sums += spread(features[t, f]) * part(table[f], k)
                put(row, k, sums)


# Gaussian steps: moments, and log densities that are quadratic


@jit
def parabolas_by_column(x, observed, units, tables, scores):
    """Sum over observed columns of constant + factor (x - mean)^2: columns are independent.

    The tables (constants, means, factors) are (n_units or 1, D, K).
    """
    constants, means, factors = tables
    for u in range(units.size - 1):
        table_row = u if means.shape[0] > 1 else 0
        constant, mean, factor = constants[table_row], means[table_row], factors[table_row]
        for k in range(0, scores.shape[1], LANES):
            start = spread(0.0)
            if observed is None:
                for d in range(x.shape[1]):
                    start += part(constant[d], k)
            for t in range(units[u], units[u + 1]):
                sums = start
                for d in range(x.shape[1]):
                    if observed is None or observed[t, d]:
                        off = spread(x[t, d]) - part(mean[d], k)
                        sums += part(factor[d], k) * off * off
                        if observed is not None:
                            sums += part(constant[d], k)
                put(scores[t], k, sums)


@jit
def parabolas(x, units, tables, slope, scores):
    """Constant + slope |L (x - mean)|^2, L lower triangular: a precision matrix is L'L.

    The tables (constants, means, factors) are (n_units or 1, K), (n_units or 1, D, K) and (n_units
    or 1, D, D, K): ``factors[u, j, i, k]`` is L[j, i] of state k.
    """
    constants, means, factors = tables
    for u in range(units.size - 1):
        table_row = u if means.shape[0] > 1 else 0
        constant, mean, factor = constants[table_row], means[table_row], factors[table_row]
        for t in range(units[u], units[u + 1]):
            row = scores[t]
            for k in range(0, row.size, LANES):
                sums = spread(0.0)
                for j in range(x.shape[1]):
                    along = spread(0.0)
                    for i in range(j + 1):
                        off = spread(x[t, i]) - part(mean[i], k)
                        along += part(factor[j, i], k) * off
                    sums += along * along
                put(row, k, part(constant, k) + spread(slope) * sums)


@jit
def moments_by_column(x, observed, posterior, units, sums):
    """Add to `sums` the states' shares of 1, x and x^2 of each observed column.

    Sums are (n_units or 1, 3 D, K): steps that are observed; sums of values; sums of squares.
    """
    n_columns = x.shape[1]
    for u in range(units.size - 1):
        table = sums[u if sums.shape[0] > 1 else 0]
        for k in range(0, posterior.shape[1], LANES):
            for c in range(0, n_columns, 2):
                # Two columns at a time, the last one twice if need be: sums stay in registers.
                d = min(c + 1, n_columns - 1)
                n_c, n_d = part(table[c], k), part(table[d], k)
                sum_c, sum_d = part(table[n_columns + c], k), part(table[n_columns + d], k)
                square_c = part(table[2 * n_columns + c], k)
                square_d = part(table[2 * n_columns + d], k)
                for t in range(units[u], units[u + 1]):
                    shares, x_c, x_d = part(posterior[t], k), spread(x[t, c]), spread(x[t, d])
                    if observed is None or observed[t, c]:
                        n_c += shares
                        sum_c += shares * x_c
                        square_c += shares * x_c * x_c
                    if observed is None or observed[t, d]:
                        n_d += shares
                        sum_d += shares * x_d
                        square_d += shares * x_d * x_d
                put(table[c], k, n_c)
                put(table[d], k, n_d)
                put(table[n_columns + c], k, sum_c)
                put(table[n_columns + d], k, sum_d)
                put(table[2 * n_columns + c], k, square_c)
                put(table[2 * n_columns + d], k, square_d)


@jit
def second_moments(x, posterior, units, sums):
    """Add to `sums` the states' shares of 1, of x and of the products of two columns of x.

    Sums are (n_units or 1, 1 + D + D (D + 1) / 2, K), products in the order (0, 0), (1, 0), (1, 1)
    ...
    """
    n_columns = x.shape[1]
    for u in range(units.size - 1):
        table_row = u if sums.shape[0] > 1 else 0
        table, span = sums[table_row], (units[u], units[u + 1])
        for k in range(0, posterior.shape[1], LANES):
            count = part(table[0], k)
            for t in range(units[u], units[u + 1]):
                count += part(posterior[t], k)
            put(table[0], k, count)
            at = 1
            # Columns times 1, then times themselves.
            for i in range(-1, n_columns):
                last = n_columns - 1 if i < 0 else i
                for j in range(0, last + 1, 4):
                    _add_tile(x, (j, last), i, posterior, k, span, table[at:])
                at += last + 1


# What is to come under a posterior of Gaussians: Student's t, state by state


@jit_token
def _ratio(x, d, means, inverses, k):
    """1 + inverse (x - mean)^2 of one column, for the states from k on."""
    off = spread(x[d]) - part(means[d], k)
    return spread(1.0) + part(inverses[d], k) * off * off


@jit
def multiply_ratios(x, columns, units, means, inverses, products):
    """Fill `products` with the product of 1 + inverse (x - mean)^2 over the columns (first, last).

    A log of it is worth several. It may leave float64 where values are far off. Means and inverses
    are (n_units or 1, D, K).
    """
    first, last = columns
    for u in range(units.size - 1):
        table_row = u if means.shape[0] > 1 else 0
        mean, inverse = means[table_row], inverses[table_row]
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
        table_row = u if exponents.shape[0] > 1 else 0
        for k in range(0, scores.shape[1], LANES):
            constant, exponent = part(constants[table_row], k), part(exponents[table_row], k)
            for t in range(units[u], units[u + 1]):
                put(scores[t], k, part(scores[t], k) + constant + exponent * part(logs[t], k))


@jit_token
def _polynomial(coefficients, z, k):
    """A polynomial of z for the states from k on; coefficients (N, K) from the constant on."""
    total = part(coefficients[coefficients.shape[0] - 1], k)
    for i in range(coefficients.shape[0] - 2, -1, -1):
        total = total * z + part(coefficients[i], k)
    return total


@jit_inline
def _log_ratios(row, means, inverses, room):
    """Fill the first buffer of `room` with log(1 + inverse (x - mean)^2) of all columns."""
    logs, (bits, mantissas) = room
    for d in range(logs.shape[0]):
        for k in range(0, logs.shape[1], LANES):
            put(logs[d], k, _ratio(row, d, means, inverses, k))
    log_of_block(logs.reshape(logs.size), bits, mantissas)


@jit
def student_by_column(x, observed, units, tables, room, scores):
    """Sum over observed columns of polynomial(z) - exponent log z.

    z is 1 / (1 + inverse (x - mean)^2). The tables (means, inverses, exponents) are (n_units or 1,
    D, K), polynomials (n_units or 1, D, N, K) from the constants on; see `buffers`.
    """
    means, inverses, exponents, polynomials = tables
    for u in range(units.size - 1):
        table_row = u if means.shape[0] > 1 else 0
        for t in range(units[u], units[u + 1]):
            _log_ratios(x[t], means[table_row], inverses[table_row], room)
            for k in range(0, scores.shape[1], LANES):
                sums = spread(0.0)
                for d in range(x.shape[1]):
                    if observed[t, d]:
                        z = spread(1.0) / _ratio(x[t], d, means[table_row], inverses[table_row], k)
                        sums += _polynomial(polynomials[table_row, d], z, k)
                        sums += part(exponents[table_row, d], k) * part(room[0][d], k)
                put(scores[t], k, sums)


@jit_token
def _add(row, k, vector):
    """Add a vector to the part of a row from k on."""
    put(row, k, part(row, k) + vector)


@jit
def student_moments(x, observed, posterior, units, tables, room, sums):
    """Add to `sums` the states' shares of w, w x, w x^2, 1 and log w of each observed column.

    Given a value a factor w is z f(z) on average and its log is log z + g(z), for z as above; f and
    g are polynomials. The tables (means, inverses, f, g) are as above, sums (n_units, 5, D, K).
    """
    means, inverses, factors, logs = tables
    for u in range(units.size - 1):
        table_row = u if means.shape[0] > 1 else 0
        for t in range(units[u], units[u + 1]):
            _log_ratios(x[t], means[table_row], inverses[table_row], room)
            for d in range(x.shape[1]):
                if observed[t, d]:
                    value = spread(x[t, d])
                    for k in range(0, posterior.shape[1], LANES):
                        shares = part(posterior[t], k)
                        z = spread(1.0) / _ratio(x[t], d, means[table_row], inverses[table_row], k)
                        log = _polynomial(logs[table_row, d], z, k) - part(room[0][d], k)
                        weighted = shares * _polynomial(factors[table_row, d], z, k) * z
                        _add(sums[u, 0, d], k, weighted)
                        _add(sums[u, 1, d], k, weighted * value)
                        _add(sums[u, 2, d], k, weighted * value * value)
                        _add(sums[u, 3, d], k, shares)
                        _add(sums[u, 4, d], k, shares * log)


@jit_token_reduction
def _subtract_product(row, left, right):
    """row -= left right, state by state."""
    for k in range(row.size):
        row[k] -= left[k] * right[k]


@jit_inline
def _sums_of_squares(table, mean_prior, strength, scale_prior, mean, factor):
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
def _invert_factors(factor, scale_prior, log_det):
    """From Psi to inv(L), in place, for all states; the upper triangles become 0."""
    n, n_states = factor.shape[0], factor.shape[2]
    for k in range(n_states):
        log_det[k] = 0.0
    for j in range(n):
        for i in range(j):
            _subtract_product(factor[j, j], factor[j, i], factor[j, i])
        for k in range(n_states):
            pivot = max(factor[j, j, k], _SMALLEST_PIVOT * scale_prior[j, j])
            log_det[k] += math.log(pivot)
            factor[j, j, k] = math.sqrt(pivot)
        for i in range(j + 1, n):
            for h in range(j):
                _subtract_product(factor[i, j], factor[i, h], factor[j, h])
            for k in range(n_states):
                factor[i, j, k] /= factor[j, j, k]
    # inv(L), row by row from the top: row i is (e_i - sum over h < i of L[i, h] row h) / L[i, i].
    for i in range(n):
        # Rows above are inverted; this one holds L until column i has all sums.
        for j in range(i):
            factor[j, i] = 0.0
            for h in range(j, i):
                _subtract_product(factor[j, i], factor[i, h], factor[h, j])
        for j in range(i):
            for k in range(n_states):
                factor[i, j, k] = factor[j, i, k] / factor[i, i, k]
                factor[j, i, k] = 0.0
        for k in range(n_states):
            factor[i, i, k] = 1.0 / factor[i, i, k]


@jit
def normal_wishart(statistics, mean_prior, strength, scale_prior, means, factors, log_det):
    """Posterior means, and factors of the inverses of the posterior sums of squares Psi.

    From moments (see `second_moments`) and the prior's mean (D,), kappa and scale (D, D), fill
    means (n_units, D, K), factors (n_units, D, D, K), where ``factors[u, j, i]`` is inv(L)[j, i]
    for Psi = L L', and log |Psi| (n_units, K).
    """
    for u in range(statistics.shape[0]):
        _sums_of_squares(statistics[u], mean_prior, strength, scale_prior, means[u], factors[u])
        _invert_factors(factors[u], scale_prior, log_det[u])


def buffers(n_columns: int, n_states: int) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """Buffers of `student_by_column` and `student_moments`."""
    return np.empty((n_columns, n_states)), bit_buffer(n_columns * n_states)
