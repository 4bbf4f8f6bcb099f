"""Credible intervals of what states emit: quantiles of the posterior of each parameter alone.

Of several posteriors, such as those given each sample of a chain, the quantiles of their mixture.
"""

from typing import Any

import numpy as np

from sklearn_cvb.emissions.emission import Family

# Halvings of the bracket around the quantile of a mixture.
_HALVINGS = 50


def intervals_of(family: Family, posteriors: list[np.ndarray], level: float) -> Any:
    """Equal-tailed intervals of all emission parameters, in the units of the data.

    Parameters
    ----------
    family : Family
    posteriors : list of ndarray of shape (S, K)
        Statistics that the components of the mixture come from, equally probable.
    level : float
        Between 0 and 1.

    Returns
    -------
    dict of str to ndarray of shape (2, K, D)
        Lower ends first. A list of dicts where columns are of several kinds; a list of arrays for
        categories, whose number differs by column.
    """
    tails = 0.5 - 0.5 * level, 0.5 + 0.5 * level
    return _ends([family.marginals(statistics) for statistics in posteriors], tails)


def _ends(components: list, tails: tuple[float, float]) -> Any:
    """Quantiles of each distribution in nested dicts and lists, which all components have."""
    first = components[0]
    if isinstance(first, dict):
        return {name: _ends([own[name] for own in components], tails) for name in first}
    if isinstance(first, list):
        return [_ends([own[i] for own in components], tails) for i in range(len(first))]
    return np.stack([_quantile(components, tail) for tail in tails])


def _quantile(components: list, tail: float) -> np.ndarray:
    """Where the mean distribution function of the components reaches `tail`."""
    each = np.array([own.ppf(tail) for own in components])
    low, high = each.min(axis=0), each.max(axis=0)
    for _ in range(_HALVINGS if len(components) > 1 else 0):
        middle = 0.5 * (low + high)
        reached = np.mean([own.cdf(middle) for own in components], axis=0) >= tail
        high, low = np.where(reached, middle, high), np.where(reached, low, middle)
    return 0.5 * (low + high)
