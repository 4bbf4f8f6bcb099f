"""The M-step of variational Bayes in one pass over the cells: exp E[log theta], and the KL.

Both need digamma and its relatives of every cell. What is the same arithmetic for all cells is done
a block at a time, so that it runs in vectors; logarithms and exponentials follow one by one.
"""

import math

import numpy as np

from sklearn_cvb.kernels.jit import jit_allocating, jit_token

_BLOCK = 128


@jit_token
def _raised(x):
    """x + 7, the product x (x + 1) ... (x + 6), and the sum of 1 / (x + i); large x stay.

    Gamma(x + 7) is the product times Gamma(x); the series below want an argument of 7 at least.
    """
    product = x
    numerator = 1.0
    for i in range(1, 7):
        numerator = numerator * (x + i) + product
        product *= x + i
    small = x < 7.0
    return (
        x + 7.0 if small else x,
        product if small else 1.0,
        numerator / product if small else 0.0,
    )


@jit_token
def _digamma_series(x):
    """log(x) - digamma(x) for x of at least 7 (Abramowitz 6.3.18)."""
    inverse = 1.0 / x
    square = inverse * inverse
    return 0.5 * inverse + square * (
        1.0 / 12.0
        - square
        * (
            1.0 / 120.0
            - square
            * (1.0 / 252.0 - square * (1.0 / 240.0 - square * (1.0 / 132.0 - square * 691 / 32760)))
        )
    )


@jit_token
def log_gamma_series(x):
    """What Stirling's formula leaves of log Gamma(x) for x of at least 7 (Abramowitz 6.1.41)."""
    inverse = 1.0 / x
    square = inverse * inverse
    return inverse * (
        1.0 / 12.0
        - square
        * (
            1.0 / 360.0
            - square
            * (
                1.0 / 1260.0
                - square * (1.0 / 1680.0 - square * (1.0 / 1188.0 - square * 691 / 360360))
            )
        )
    )


@jit_allocating
def expected_weights(counts, prior, rows, divisors, weights):
    """Fill exp(digamma(u)) / divisor for u = counts + prior; returns the cells' part of the KL.

    Parameters
    ----------
    counts, prior : ndarray of shape (n_cells,)
        Their sums are positive.
    rows : ndarray of shape (n_cells,), int32
        Row of each cell.
    divisors : ndarray of shape (n_rows,)
        exp(digamma(row total)).
    weights : ndarray of shape (n_cells,)
        Receives the weights.

    Returns
    -------
    float
        Sum over cells of counts digamma(u) - log Gamma(u) + log Gamma(prior).
    """
    raised, ratio, difference, rest = np.empty((4, _BLOCK))
    total = 0.0
    products = 1.0
    of_prior, product_of_prior, log_gamma_of_prior = -1.0, 1.0, 0.0
    for begin in range(0, counts.size, _BLOCK):
        end = min(begin + _BLOCK, counts.size)
        some, some_prior, result = counts[begin:end], prior[begin:end], weights[begin:end]
        for i in range(some.size):
            raised[i], ratio[i], fraction = _raised(some[i] + some_prior[i])
            difference[i] = -_digamma_series(raised[i]) - fraction
            rest[i] = log_gamma_series(raised[i])
        for i in range(some.size):
            if some_prior[i] != of_prior:  # equal priors come in long rows
                of_prior = some_prior[i]
                x, product_of_prior, _ = _raised(of_prior)
                log_gamma_of_prior = (x - 0.5) * math.log(x) - x + log_gamma_series(x)
            x = raised[i]
            logarithm = math.log(x)
            log_gamma = (x - 0.5) * logarithm - x + rest[i]
            total += some[i] * (logarithm + difference[i]) - (log_gamma - log_gamma_of_prior)
            change = ratio[i] / product_of_prior
            if 1e-150 < change < 1e150:
                products *= change
            else:
                total += math.log(change)
            if not (1e-150 < products < 1e150):
                total += math.log(products)
                products = 1.0
            result[i] = x * math.exp(difference[i]) / divisors[rows[begin + i]]
    return total + math.log(products)
