"""Sums of features by state, and log densities that are linear in features.

Layout and units as in `sklearn_cvb.kernels.emission.gaussian`.
"""

from sklearn_cvb.kernels.jit import jit, jit_token_reduction


@jit_token_reduction
def _add_product(value, weights, row):
    """row += value weights, state by state."""
    for k in range(row.size):
        row[k] += value * weights[k]


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
    for u in range(units.size - 1):
        table = sums[u if sums.shape[0] > 1 else 0]
        for t in range(units[u], units[u + 1]):
            for f in range(features.shape[1]):
                _add_product(features[t, f], posterior[t], table[f])


@jit
def linear_scores(features, units, weights, scores):
    """Fill `scores` (n_steps, K) with the sum of features times `weights` (n_units or 1, F, K)."""
    for u in range(units.size - 1):
        table = weights[u if weights.shape[0] > 1 else 0]
        for t in range(units[u], units[u + 1]):
            row = scores[t]
            row[:] = 0.0
            for f in range(features.shape[1]):
                value = features[t, f]
                if value != 0.0:
                    _add_product(value, table[f], row)
