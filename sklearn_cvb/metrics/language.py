"""How well a model predicts text: perplexity and bits per token."""

import numpy as np
from numpy.typing import ArrayLike


def perplexity(log_likelihood: ArrayLike, n_tokens: ArrayLike) -> float:
    """Perplexity of a text: exp of minus the mean log-likelihood per token.

    Parameters
    ----------
    log_likelihood : float or array of shape (n_sequences,)
        Natural logarithm of the probability of each sequence, or of the whole text.
    n_tokens : int or array of shape (n_sequences,)
        Number of tokens in each sequence, or in the whole text. With ones, the result is the
        perplexity per sequence.

    Returns
    -------
    perplexity : float
        1 for a text foreseen with certainty, infinite for an impossible one.

    Raises
    ------
    ValueError
        If the shapes differ, there is no token, a length is negative, or a log-likelihood is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_cvb.metrics import perplexity
    >>> round(perplexity(np.log([0.25, 0.5]), [2, 1]), 12)
    2.0
    """
    with np.errstate(over="ignore"):
        return float(np.exp(_surprise_per_token(log_likelihood, n_tokens)))


def bits_per_token(log_likelihood: ArrayLike, n_tokens: ArrayLike) -> float:
    """Cross-entropy of a text in bits per token: the base-2 logarithm of its perplexity.

    Parameters
    ----------
    log_likelihood : float or array of shape (n_sequences,)
        Natural logarithm of the probability of each sequence, or of the whole text.
    n_tokens : int or array of shape (n_sequences,)
        Number of tokens in each sequence, or in the whole text.

    Returns
    -------
    bits : float
        0 for a text foreseen with certainty, infinite for an impossible one.

    Raises
    ------
    ValueError
        If the shapes differ, there is no token, a length is negative, or a log-likelihood is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_cvb.metrics import bits_per_token
    >>> round(bits_per_token(np.log([0.25, 0.5]), [2, 1]), 12)
    1.0
    """
    return float(_surprise_per_token(log_likelihood, n_tokens) / np.log(2.0))


def _surprise_per_token(log_likelihood: ArrayLike, n_tokens: ArrayLike) -> float:
    log_likelihood, n_tokens = np.asarray(log_likelihood, dtype=float), np.asarray(n_tokens)
    if log_likelihood.ndim and n_tokens.ndim and log_likelihood.shape != n_tokens.shape:
        raise ValueError(
            f"log_likelihood has shape {log_likelihood.shape}, n_tokens {n_tokens.shape}"
        )
    total = n_tokens.sum()
    if total <= 0 or n_tokens.min() < 0:
        raise ValueError(
            f"n_tokens must count at least one token and be nowhere negative: {n_tokens}"
        )
    if np.isnan(log_likelihood).any():
        raise ValueError("log_likelihood holds NaN")
    # Adding zero turns the -0.0 of a certain text into 0.0.
    return -log_likelihood.sum() / total + 0.0
