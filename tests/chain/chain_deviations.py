"""How far the means of a chain of samples are from exact probabilities, in standard errors."""

import numpy as np

from benchmarks.enumeration import brute

N_BATCHES = 40


def standard_errors(indicators):
    """Batch means: the error of the mean of each column of a chain of indicators."""
    size = len(indicators) // N_BATCHES
    batches = indicators[: size * N_BATCHES].reshape(N_BATCHES, size, -1).mean(axis=1)
    spread = batches.std(axis=0, ddof=1) / np.sqrt(N_BATCHES)
    # Without the floor a column that hardly ever moves would look certain.
    mean = indicators.mean(axis=0)
    return np.maximum(spread, np.sqrt((mean * (1 - mean) + 1e-4) / len(indicators)))


def deviations(indicators, exact):
    """Deviations of the chain's means from exact probabilities, in standard errors."""
    return (indicators.mean(axis=0) - exact) / standard_errors(indicators)


def one_hot(samples, n_states):
    """Indicators of the state of every token."""
    return (samples[:, :, None] == np.arange(n_states)).reshape(len(samples), -1).astype(float)


def together(samples):
    """Indicators of every two tokens having the same state."""
    rows, columns = np.triu_indices(samples.shape[1], 1)
    return (samples[:, rows] == samples[:, columns]).astype(float)


def exact_together(problem):
    """What the means of `together` tend to."""
    table = brute.collapsed_posterior(problem).co_assignment
    return table[np.triu_indices(len(table), 1)]
