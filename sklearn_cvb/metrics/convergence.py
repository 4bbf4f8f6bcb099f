"""Convergence of Markov chains: rank-normalised split R-hat and effective sample size.

Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), "Rank-normalization, folding, and
localization: an improved R-hat for assessing convergence of MCMC", Bayesian Analysis 16(2).
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import next_fast_len
from scipy.stats import norm, rankdata


def r_hat(chains: ArrayLike) -> float:
    """Rank-normalised split R-hat: near 1 where the chains agree, trouble above 1.01.

    The larger one of two: for the draws, and for their distances from the median, which tell chains
    of different spread apart.

    Parameters
    ----------
    chains : array-like of shape (n_chains, n_draws)
        Draws of one quantity; one chain is compared with itself, half against half.

    Returns
    -------
    float
        NaN with fewer than 4 draws per chain, where a draw is not finite or where all are equal.

    References
    ----------
    Vehtari et al. (2021), eqs. 1-4 and section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_cvb.metrics import r_hat
    >>> draws = np.random.default_rng(0).normal(size=(4, 500))
    >>> r_hat(draws) < 1.02, r_hat(draws + np.arange(4)[:, None]) > 1.3
    (True, True)
    """
    halves = _halves(chains)
    if halves is None:
        return float("nan")
    folded = np.abs(halves - np.median(halves))
    return max(_basic_r_hat(_normal_scores(halves)), _basic_r_hat(_normal_scores(folded)))


def effective_sample_size(chains: ArrayLike, kind: str = "bulk") -> float:
    """How many independent draws would know the mean as well.

    Parameters
    ----------
    chains : array-like of shape (n_chains, n_draws)
        Draws of one quantity.
    kind : {"bulk", "mean"}, default="bulk"
        Of rank-normalised draws, which is defined for any distribution, or of the draws themselves.

    Returns
    -------
    float
        At most ``n * log10(n)`` for n draws in all; NaN as for `r_hat`.

    References
    ----------
    Vehtari et al. (2021), section 3.2; Geyer (1992), "Practical Markov chain Monte Carlo", for the
    initial monotone sequence that says where the sum of autocorrelations ends.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_cvb.metrics import effective_sample_size
    >>> steps = np.random.default_rng(0).normal(size=(4, 1000))
    >>> bool(effective_sample_size(steps) > 3000)
    True
    >>> bool(effective_sample_size(np.cumsum(steps, axis=1)) < 50)
    True
    """
    if kind not in ("bulk", "mean"):
        raise ValueError(f"kind must be 'bulk' or 'mean', got {kind!r}")
    halves = _halves(chains)
    if halves is None:
        return float("nan")
    return _sample_size(_normal_scores(halves) if kind == "bulk" else halves)


def _halves(chains: ArrayLike) -> np.ndarray | None:
    """Both halves of every chain as chains, or None where nothing can be said about them."""
    chains = np.asarray(chains, dtype=float)
    if chains.ndim != 2:
        raise ValueError(f"chains must have shape (n_chains, n_draws), got {chains.shape}")
    n_draws = chains.shape[1]
    if n_draws < 4 or not np.isfinite(chains).all() or np.ptp(chains) == 0.0:
        return None
    half = n_draws // 2
    return np.concatenate([chains[:, :half], chains[:, n_draws - half :]])


def _normal_scores(chains: np.ndarray) -> np.ndarray:
    """Normal quantiles of the ranks of all draws together; ties share their mean rank."""
    ranks = rankdata(chains).reshape(chains.shape)
    return norm.ppf((ranks - 0.375) / (chains.size + 0.25))


def _basic_r_hat(chains: np.ndarray) -> float:
    within = chains.var(axis=1, ddof=1).mean()
    n_draws = chains.shape[1]
    between = chains.mean(axis=1).var(ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.sqrt((n_draws - 1) / n_draws + between / within))


def _sample_size(chains: np.ndarray) -> float:
    """Sample size by the combined autocorrelations of all chains, cut where pairs turn negative."""
    n_chains, n_draws = chains.shape
    # Autocovariances of every chain at all lags, divided by the number of draws.
    size = next_fast_len(2 * n_draws)
    spectrum = np.fft.rfft(chains - chains.mean(axis=1, keepdims=True), size)
    each = np.fft.irfft(np.abs(spectrum) ** 2, size)[:, :n_draws] / n_draws
    covariance = each.mean(axis=0)
    within = covariance[0] * n_draws / (n_draws - 1)
    total = covariance[0] + (chains.mean(axis=1).var(ddof=1) if n_chains > 1 else 0.0)
    correlation = 1.0 - (within - covariance) / total
    correlation[0] = 1.0
    # Stan and ArviZ stop short of the last lags; so does this, to give the same figures.
    last = max(0, (n_draws - 1) // 2 - 1)
    pairs = correlation[: 2 * last + 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs < 0.0)
    n_pairs = negative[0] if len(negative) else last
    monotone = np.minimum.accumulate(pairs[:n_pairs])
    # The even lag after the last pair counts where it is positive: it lowers the variance.
    rest = max(correlation[2 * n_pairs], 0.0)
    time = max(-1.0 + 2.0 * monotone.sum() + rest, 1.0 / np.log10(chains.size))
    return float(chains.size / time)
