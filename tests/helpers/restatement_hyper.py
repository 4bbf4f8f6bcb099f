"""The fixed-point update of alpha and beta, slowly (Wang and Blunsom 2013, eq. 29)."""

from typing import NamedTuple

import numpy as np
from scipy.special import digamma


class Presence(NamedTuple):
    """Chances that a count is not zero, tokens (pairs) taken as independent."""

    transition: np.ndarray  # (K + 1, K), start row last
    emission: np.ndarray  # (K, W)
    transition_rows: np.ndarray  # (K + 1,)
    emission_rows: np.ndarray  # (K,)


def hyper_update(value, table, shape=1.0, rate=1.0):
    """Eq. 29 as printed: counts (rows, cells) straight into digamma."""
    n_cells = table.shape[1]
    numerator, denominator = shape - 1.0, rate
    for row in table:
        for count in row:
            numerator += value * (digamma(count + value) - digamma(value))
        denominator += n_cells * (digamma(row.sum() + n_cells * value) - digamma(n_cells * value))
    return numerator / denominator


def repaired_hyper_update(value, table, presence, row_presence, shape=1.0, rate=1.0):
    """Eq. 29 with E[psi(C + v) - psi(v)] taken as p+ (psi(E[C] / p+ + v) - psi(v))."""
    n_cells = table.shape[1]
    numerator, denominator = shape - 1.0, rate
    for row, chances, row_chance in zip(table, presence, row_presence, strict=True):
        for count, chance in zip(row, chances, strict=True):
            numerator += value * expected_digamma_step(count, chance, value)
        denominator += n_cells * expected_digamma_step(row.sum(), row_chance, n_cells * value)
    return numerator / denominator


def expected_digamma_step(count, chance, value):
    """p+ (psi(E[C] / p+ + v) - psi(v)); 0 where the count is surely 0."""
    if chance == 0.0:
        return 0.0
    return chance * (digamma(count / chance + value) - digamma(value))


def count_presence(problem, q, xi):
    """p+ = 1 - product over tokens (pairs) of the chance that they miss the cell or row."""
    n_states = problem.n_states
    absent = Presence(
        np.ones((n_states + 1, n_states)),
        np.ones((n_states, problem.n_symbols)),
        np.ones(n_states + 1),
        np.ones(n_states),
    )
    for sequence, marginals, pairs in zip(problem.sequences, q, xi, strict=True):
        absent.transition[n_states] *= 1.0 - marginals[0]
        absent.transition_rows[n_states] = 0.0
        for pair in pairs:
            absent.transition[:n_states] *= 1.0 - pair
            absent.transition_rows[:n_states] *= 1.0 - pair.sum(axis=1)
        for t, symbol in enumerate(sequence):
            if symbol is not None:
                absent.emission[:, symbol] *= 1.0 - marginals[t]
                absent.emission_rows[:] *= 1.0 - marginals[t]
    return Presence(*(1.0 - chances for chances in absent))
