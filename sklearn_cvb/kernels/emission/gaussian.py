"""Squared distances of steps from the states' means, and sums of squares by state.

States are the last axis of every table, so that the innermost loops are vectors. Steps come in
units, which have tables of their own: unit u has the steps ``units[u] : units[u + 1]``; a single
row of tables serves all units.
"""

from sklearn_cvb.kernels.jit import jit, jit_token_reduction


@jit_token_reduction
def _add_squares(value, means, precisions, row):
    """row += precisions (value - means)^2, state by state."""
    for k in range(row.size):
        off = value - means[k]
        row[k] += precisions[k] * off * off


@jit
def squared_distances_by_column(x, observed, units, means, precisions, distances):
    """Sum over columns of precision times squared distance, for columns that are independent.

    Parameters
    ----------
    x : ndarray of shape (n_steps, D)
    observed : ndarray of shape (n_steps, D), bool, or None
        Missing values add nothing; None where there are none.
    units : ndarray of shape (n_units + 1,), int64
    means, precisions : ndarray of shape (n_units or 1, D, K)
    distances : ndarray of shape (n_steps, K)
        Filled in.
    """
    n_columns = x.shape[1]
    for u in range(units.size - 1):
        own = u if means.shape[0] > 1 else 0
        for t in range(units[u], units[u + 1]):
            row = distances[t]
            row[:] = 0.0
            for d in range(n_columns):
                if observed is not None:
                    if observed[t, d]:
                        _add_squares(x[t, d], means[own, d], precisions[own, d], row)
                else:
                    _add_squares(x[t, d], means[own, d], precisions[own, d], row)


@jit_token_reduction
def _add_square_of_projection(x, means, factors, last, row, along):
    """row += (sum over columns i <= last of factors[i] (x[i] - means[i]))^2, state by state."""
    for k in range(row.size):
        along[k] = 0.0
    for i in range(last + 1):
        value = x[i]
        for k in range(row.size):
            along[k] += factors[i, k] * (value - means[i, k])
    for k in range(row.size):
        row[k] += along[k] * along[k]


@jit
def squared_distances(x, units, means, factors, along, distances):
    """Squared length of L (x - mean), L lower triangular: what a precision matrix L'L measures.

    Parameters
    ----------
    x : ndarray of shape (n_steps, D)
    units : ndarray of shape (n_units + 1,), int64
    means : ndarray of shape (n_units or 1, D, K)
    factors : ndarray of shape (n_units or 1, D, D, K)
        ``factors[u, j, i, k]`` is L[j, i] of state k.
    along : ndarray of shape (K,)
        A buffer.
    distances : ndarray of shape (n_steps, K)
        Filled in.
    """
    for u in range(units.size - 1):
        own = u if means.shape[0] > 1 else 0
        for t in range(units[u], units[u + 1]):
            row = distances[t]
            row[:] = 0.0
            for j in range(x.shape[1]):
                _add_square_of_projection(x[t], means[own], factors[own, j], j, row, along)


@jit_token_reduction
def _add_weighted(value, posterior, row):
    """row += value posterior, state by state."""
    for k in range(row.size):
        row[k] += value * posterior[k]


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
        table = sums[own]
        for t in range(units[u], units[u + 1]):
            weights = posterior[t]
            _add_weighted(1.0, weights, table[0])
            at = 1 + n_columns
            for i in range(n_columns):
                _add_weighted(x[t, i], weights, table[1 + i])
                for j in range(i + 1):
                    _add_weighted(x[t, i] * x[t, j], weights, table[at])
                    at += 1
