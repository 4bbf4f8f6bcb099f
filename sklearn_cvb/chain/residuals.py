"""Pseudo-residuals: where each number stands in its distribution, as a standard normal value.

Zucchini, MacDonald and Langrock (2016), "Hidden Markov models for time series", chapter 6.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtri

from sklearn_cvb.chain.numbers.e_step import Chain, chain_of
from sklearn_cvb.chain.numbers.observed import ReadNumbers, given_again, read_at
from sklearn_cvb.chain.parameters import log_weights
from sklearn_cvb.chain.prediction import mean_weights
from sklearn_cvb.emissions.emission import Tails
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.reading.corpus import Corpus


def states_without(
    chain: Chain, table: np.ndarray, emission: np.ndarray, all_others: bool
) -> np.ndarray:
    """Chances (length, K) of the state of each step given other steps of a sequence, not its own.

    Those before it, or all others, and the end where that is an event. `table` says which table of
    transitions leads to each step.
    """
    found, message = np.empty_like(emission), chain.start[0]
    for t in range(len(emission)):
        if t > 0:
            message = (found[t - 1] * emission[t - 1]) @ chain.transition[table[t]]
        found[t] = message / message.sum()
    if all_others:
        back = np.ones(emission.shape[1]) if chain.end is None else chain.end[0]
        for t in range(len(emission) - 1, -1, -1):
            found[t] *= back
            found[t] /= found[t].sum()
            back = chain.transition[table[t]] @ (emission[t] * back)
            back = back / back.sum()
    return found


def weights_without(read: ReadNumbers, all_others: bool) -> np.ndarray:
    """The same of all sequences; NaN in one that no path explains."""
    n_states, starts = read.cells.n_emitting, read.corpus.starts
    chain, emission = chain_of(read.weights, n_states), read.weights.emission
    steps = emission.reshape(-1, n_states)
    table = np.zeros(len(steps), np.int64) if read.contexts is None else read.contexts
    with np.errstate(invalid="ignore", divide="ignore"):
        found = [
            states_without(chain, table[a:b], steps[a:b], all_others) for a, b in pairwise(starts)
        ]
    return np.concatenate(found)


def normal_values(tails: Tails, weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Standard normal values (n_steps, D) where the mixture of states is the true distribution.

    Of a value that is probable in itself a place within its step of the distribution function is
    drawn (Dunn and Smyth 1996). The nearer tail is used, which keeps its digits.
    """
    before, up_to, beyond, at_least = (
        np.einsum("tk,tkd->td", weights, own, optimize=False) for own in tails
    )
    place = rng.random(before.shape)
    below = before + place * (up_to - before)
    above = beyond + (1.0 - place) * (at_least - beyond)
    return np.where(below < above, ndtri(below), -ndtri(above))


def pseudo_residuals(
    hmm: Any, learned: Learned, X: Any, all_others: bool, rng: np.random.Generator
) -> tuple[Corpus, np.ndarray]:
    """New sequences, and the residuals of all their steps, (n_steps, D); NaN where missing."""
    problem, numeric = given_again(hmm, learned, X), learned.more.numeric
    family, chain = numeric.family, mean_weights(learned)
    under = chain, log_weights(chain)
    read = read_at(problem, under, family.at(numeric.point), learned.layout)
    weights = weights_without(read, all_others)
    found = normal_values(family.tails(numeric.point, problem[1]), weights, rng)
    return problem[0], np.where(family.observed(problem[1]), found, np.nan)
