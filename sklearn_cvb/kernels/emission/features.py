"""Sums of features by state, and log densities that are linear in features.

Layout and units as in `sklearn_cvb.kernels.emission.gaussian`.
"""

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_token
from sklearn_cvb.kernels.vectors import LANES, part, put, spread


@jit_token
def add_tile(features, columns, by, posterior, k, span, table):
    """Add sums over steps of up to four features times the shares of a vector of states.

    Four sums stay in registers. Where fewer than four columns are left the last is summed in all
    that remain, to the same result.

    Parameters
    ----------
    features : ndarray of shape (n_steps, F)
    columns : tuple (first, last)
        The first of the four; the last that there is.
    by : int
        A column that all are multiplied with; -1 for none.
    posterior : ndarray of shape (n_steps, K)
    k : int
        The first of the states.
    span : tuple (begin, end)
        The steps.
    table : ndarray of shape (F, K)
        Row f is of column f.
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
    """Add to `sums` each state's share of every feature.

    Parameters
    ----------
    features : ndarray of shape (n_steps, F)
    posterior : ndarray of shape (n_steps, K)
    units : ndarray of shape (n_units + 1,), int64
    sums : ndarray of shape (n_units or 1, F, K)
    """
    last = features.shape[1] - 1
    for u in range(units.size - 1):
        table, span = sums[u if sums.shape[0] > 1 else 0], (units[u], units[u + 1])
        for k in range(0, posterior.shape[1], LANES):
            for f in range(0, last + 1, 4):
                add_tile(features, (f, last), np.int64(-1), posterior, k, span, table)


@jit
def linear_scores(features, units, weights, scores):
    """Fill `scores` (n_steps, K) with the sum of features times `weights` (n_units or 1, F, K)."""
    for u in range(units.size - 1):
        table = weights[u if weights.shape[0] > 1 else 0]
        for t in range(units[u], units[u + 1]):
            row = scores[t]
            for k in range(0, row.size, LANES):
                sums = spread(0.0)
                for f in range(features.shape[1]):
                    # A weight may be infinite.
                    if features[t, f] != 0.0:
                        sums += spread(features[t, f]) * part(table[f], k)
                put(row, k, sums)
