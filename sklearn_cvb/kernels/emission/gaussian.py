"""Log densities that are quadratic in numbers, and sums of products of columns by state.

States are the last axis of every table, so that the innermost loops are vectors. Steps come in
units, which have tables of their own: unit u has the steps ``units[u] : units[u + 1]``; a single
row of tables serves all units.
"""

from sklearn_cvb.kernels.emission.features import add_tile
from sklearn_cvb.kernels.jit import jit
from sklearn_cvb.kernels.vectors import LANES, part, put, spread


@jit
def parabolas_by_column(x, observed, units, tables, scores):
    """Sum over observed columns of constant + factor (x - mean)^2: columns are independent.

    Parameters
    ----------
    x : ndarray of shape (n_steps, D)
    observed : ndarray of shape (n_steps, D), bool, or None
        None where nothing is missing.
    units : ndarray of shape (n_units + 1,), int64
    tables : tuple (constants, means, factors)
        Arrays of shape (n_units or 1, D, K).
    scores : ndarray of shape (n_steps, K)
        Filled in.
    """
    constants, means, factors = tables
    for u in range(units.size - 1):
        own = u if means.shape[0] > 1 else 0
        constant, mean, factor = constants[own], means[own], factors[own]
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

    Parameters
    ----------
    x : ndarray of shape (n_steps, D)
    units : ndarray of shape (n_units + 1,), int64
    tables : tuple (constants, means, factors)
        Arrays of shape (n_units or 1, K), (n_units or 1, D, K) and (n_units or 1, D, D, K):
        ``factors[u, j, i, k]`` is L[j, i] of state k.
    slope : float
    scores : ndarray of shape (n_steps, K)
        Filled in.
    """
    constants, means, factors = tables
    for u in range(units.size - 1):
        own = u if means.shape[0] > 1 else 0
        constant, mean, factor = constants[own], means[own], factors[own]
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
    """Add to `sums` the states' shares of 1, of x and of its square, by column.

    Parameters
    ----------
    x : ndarray of shape (n_steps, D)
    observed : ndarray of shape (n_steps, D), bool, or None
        None where nothing is missing.
    posterior : ndarray of shape (n_steps, K)
    units : ndarray of shape (n_units + 1,), int64
    sums : ndarray of shape (n_units or 1, 3 D, K)
        How much of each column is observed; sums of values; sums of squares.
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

    Parameters
    ----------
    x : ndarray of shape (n_steps, D)
    posterior : ndarray of shape (n_steps, K)
    units : ndarray of shape (n_units + 1,), int64
    sums : ndarray of shape (n_units or 1, 1 + D + D (D + 1) / 2, K)
        Products in the order (0, 0), (1, 0), (1, 1), (2, 0) ...
    """
    n_columns = x.shape[1]
    for u in range(units.size - 1):
        own = u if sums.shape[0] > 1 else 0
        table, span = sums[own], (units[u], units[u + 1])
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
                    add_tile(x, (j, last), i, posterior, k, span, table[at:])
                at += last + 1
