"""Stationary chains: sequences begin in the stationary distribution of their transitions.

The start row is then no parameter of its own. Given expected counts the rows of transitions that
maximise the sum of n_ij log a_ij and of s_i log pi_i(A) have no closed form: a quasi-Newton search
over their softmax parameters finds them (Zucchini, MacDonald and Langrock 2016, section 4.2.3).
"""

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, xlogy

from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.settings import Transitions

# Far below what a sweep of EM moves.
_GRADIENT, _STEPS = 1e-9, 500
# Probabilities of EM may be 0, whose logs are none.
_SMALLEST = 1e-12
_ROWS = {"start", "transitions"}


def stationary_distribution(transition: np.ndarray) -> np.ndarray:
    """The distribution (K,) that a step leaves as it is."""
    n = len(transition)
    # pi (I - A + 1) = 1, as pi sums to 1.
    shares = np.linalg.solve((np.eye(n) - transition + 1.0).T, np.ones(n))
    shares = np.maximum(shares, 0.0)
    return shares / shares.sum()


def log_density_and_gradient(
    transition: np.ndarray, starts: np.ndarray, moves: np.ndarray
) -> tuple[float, np.ndarray]:
    """Sum of moves log A + starts log pi(A), and its derivatives by all a_ij, (K, K)."""
    n = len(starts)
    inverse = np.linalg.inv(np.eye(n) - transition + 1.0)
    shares = np.maximum(inverse.sum(axis=0), 1e-300)
    value = xlogy(moves, transition).sum() + xlogy(starts, shares).sum()
    # d pi = pi dA inverse, where directions that change no sum of a row matter alone.
    of_start = np.outer(shares, inverse @ (starts / shares))
    return float(value), moves / np.maximum(transition, 1e-300) + of_start


def most_likely(starts: np.ndarray, moves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The start row and the transitions (K, K) that expected counts make most likely."""
    n = len(starts)
    total = moves.sum(axis=1, keepdims=True)
    first = np.where(total > 0, moves / np.where(total > 0, total, 1.0), 1.0 / n)

    def cost(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        table = np.exp(log_softmax(parameters.reshape(n, n), axis=1))
        value, slopes = log_density_and_gradient(table, starts, moves)
        centred = slopes - (table * slopes).sum(axis=1, keepdims=True)
        return -value / scale, -(table * centred).ravel() / scale

    scale = max(float(starts.sum() + moves.sum()), 1e-300)
    begin = np.log(np.maximum(first, _SMALLEST)).ravel()
    options = {"maxiter": _STEPS, "gtol": _GRADIENT, "ftol": 0.0}
    optimum = minimize(cost, begin, jac=True, method="L-BFGS-B", options=options)
    table = np.exp(log_softmax(optimum.x.reshape(n, n), axis=1))
    return stationary_distribution(table), table


def check_stationary(transitions: Transitions, by_em: bool, fixed: dict[str, Any] | None) -> None:
    """Raise where a chain cannot begin in its stationary distribution."""
    is_full = isinstance(transitions.topology, str) and transitions.topology == "full"
    reasons = {
        "is learned by EM alone: its rows have no conjugate prior": not by_em,
        "needs topology='full'": not is_full,
        "needs end_state=False: a chain that ends has no such start": transitions.end_state,
        "cannot keep rows that are fixed": bool(_ROWS & set(fixed or ())),
    }
    for why, is_so in reasons.items():
        if is_so:
            raise InvalidParameterError(f"Transitions(start='stationary') {why}")
