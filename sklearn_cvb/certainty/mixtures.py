"""Quantiles of mixtures of Beta distributions: the posterior of one probability over samples."""

import numpy as np
from scipy.special import betainc, betaincinv, expit, logit

# Halvings of the bracket around the quantile of a mixture: its width shrinks a billionfold.
_HALVINGS = 32

# Probabilities whose log odds are finite.
_SMALLEST, _LARGEST = 1e-300, 1.0 - 2.0**-53


def beta_mixture_quantile(alpha: np.ndarray, beta: np.ndarray, tail: float) -> np.ndarray:
    """Where the mean distribution function of each column's components reaches `tail`."""
    # A parameter of 0 leaves all mass at one end.
    with np.errstate(invalid="ignore"):
        inside = betaincinv(alpha, beta, tail)
    each = np.where(alpha <= 0.0, 0.0, np.where(beta <= 0.0, 1.0, inside))
    low, high = each.min(axis=0), each.max(axis=0)
    between = np.flatnonzero(high > low)
    alpha, beta = alpha[:, between], beta[:, between]
    # Sparse components reach down to 1e-300: halve log odds.
    below, above = (logit(np.clip(ends[between], _SMALLEST, _LARGEST)) for ends in (low, high))
    for _ in range(_HALVINGS):
        middle = 0.5 * (below + above)
        value = expit(middle)
        with np.errstate(invalid="ignore"):
            inside = betainc(alpha, beta, value)
        share = np.where(alpha <= 0.0, 1.0, np.where(beta <= 0.0, value >= 1.0, inside))
        reached = share.mean(axis=0) >= tail
        above = np.where(reached, middle, above)
        below = np.where(reached, below, middle)
    low[between] = expit(0.5 * (below + above))
    return low
