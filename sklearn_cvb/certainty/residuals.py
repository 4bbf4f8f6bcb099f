"""Pseudo-residuals: where each number stands in its distribution, as a standard normal value.

Zucchini, MacDonald and Langrock (2016), "Hidden Markov models for time series", chapter 6.
"""

from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtri

from sklearn_cvb.certainty.pointwise import states_given_other_steps
from sklearn_cvb.chain.numbers.observed import NumberObservation
from sklearn_cvb.chain.numbers.weighted import WeightedNumbers, WeightedVisits, weighted_numbers
from sklearn_cvb.chain.parameters.rows import log_weights
from sklearn_cvb.chain.predictions.prediction import mean_weights
from sklearn_cvb.emissions.emission import Tails
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.reading.corpus import Corpus


def states_without_own(read: WeightedNumbers, all_others: bool) -> np.ndarray:
    """Chances (n_steps, K) of the state of each step; NaN where no path explains a sequence."""
    if isinstance(read, WeightedVisits):
        return read.states_without(all_others)
    emission, table = read.weights.emission.reshape(-1, read.cells.n_emitting), read.table_numbers()
    with np.errstate(invalid="ignore", divide="ignore"):
        chances = [
            states_given_other_steps(read.weights, emission[a:b], table[a:b], all_others)
            for a, b in pairwise(read.corpus.starts)
        ]
    return np.concatenate(chances)


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
    observation: NumberObservation,
    learned: Learned,
    X: Any,
    all_others: bool,
    rng: np.random.Generator,
) -> tuple[Corpus, np.ndarray]:
    """New sequences, and the residuals of all their steps, (n_steps, D); NaN where missing."""
    sequences, numeric = observation.read_new(learned, X), learned.extra.numeric
    family, chain = numeric.family, mean_weights(learned)
    under = chain, log_weights(chain)
    read = weighted_numbers(sequences, under, family.log_densities(numeric.point), learned.layout)
    weights = states_without_own(read, all_others)
    values = normal_values(family.tails(numeric.point, sequences.observations), weights, rng)
    return sequences.corpus, np.where(family.observed_mask(sequences.observations), values, np.nan)
