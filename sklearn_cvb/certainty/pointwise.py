"""Log-likelihoods of single sequences and steps under drawn parameters, for cross-validation.

Criteria that leave one observation out (Vehtari, Gelman and Gabry 2017) weight draws of the
parameters by what each observation is worth under them, given the others: of whole sequences that
is p(x_i | draw), of the steps of a sequence p(x_t | all its other steps, draw) (Bürkner, Gabry and
Vehtari 2021, "Efficient leave-one-out cross-validation for Bayesian non-factorized models").
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from sklearn_cvb.chain.predictions.prediction import WeightedSequences
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights


def states_given_other_steps(
    weights: ChainWeights, emission: np.ndarray, table: np.ndarray, all_others: bool
) -> np.ndarray:
    """Chances (length, ..., K) of the state of each step given other steps, not its own.

    Those before it, or all others, and the end where that is an event. The axes between are those
    of the weights; `table` says which table of transitions leads to each step.
    """
    n, has_end = emission.shape[-1], weights.transition.shape[-1] > emission.shape[-1]
    rows = weights.transition[..., :n, :n] if has_end else weights.transition
    steps = rows.reshape(*rows.shape[:-2], -1, n, n)
    chances, message = np.empty_like(emission), weights.start[..., :n]
    for t in range(len(emission)):
        if t > 0:
            before = (chances[t - 1] * emission[t - 1])[..., None, :]
            message = (before @ steps[..., table[t], :, :])[..., 0, :]
        chances[t] = message / message.sum(axis=-1, keepdims=True)
    if all_others:
        back = weights.transition[..., :n, n] if has_end else np.ones(n)
        for t in range(len(emission) - 1, -1, -1):
            chances[t] *= back
            chances[t] /= chances[t].sum(axis=-1, keepdims=True)
            back = (steps[..., table[t], :, :] @ (emission[t] * back)[..., None])[..., 0]
            back = back / back.sum(axis=-1, keepdims=True)
    return chances


def sequence_log_likelihoods(reads: Iterable[WeightedSequences]) -> np.ndarray:
    """log p(x_i) of every sequence under each draw, (n_draws, n_sequences)."""
    return np.array([read.log_z() for read in reads])


def step_log_likelihoods(reads: Iterable[WeightedSequences]) -> np.ndarray:
    """log p(x_t | all other steps) of every observed step under each draw, (n_draws, n_steps)."""
    each = list(reads)
    corpus, logs = each[0].corpus, np.stack([read.log_emissions() for read in each], axis=1)
    top = logs.max(axis=-1, keepdims=True)
    top[np.isneginf(top)] = 0.0
    emission = np.exp(logs - top)
    with np.errstate(invalid="ignore", divide="ignore"):
        log_p = np.log((_states_given_others(each, emission) * emission).sum(axis=-1)) + top[..., 0]
    # Nothing explains the whole sequence.
    log_p[np.isnan(log_p)] = -np.inf
    return np.ascontiguousarray(log_p[corpus.tokens >= 0].T)


def _states_given_others(reads: list[Any], emission: np.ndarray) -> np.ndarray:
    """Chances (n_steps, n_draws, K) of the state of each step given all others."""
    if reads[0].cells.chain.longest:
        return np.stack([read.states_without(True) for read in reads], axis=1)
    start = np.stack([read.weights.start for read in reads])
    weights = ChainWeights(
        start, np.stack([read.weights.transition for read in reads]), np.empty(0)
    )
    starts, table = reads[0].corpus.starts, reads[0].table_numbers()
    found = [
        states_given_other_steps(weights, emission[a:b], table[a:b], True)
        for a, b in pairwise(starts)
    ]
    return np.concatenate(found)
