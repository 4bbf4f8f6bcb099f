"""A start with few states: sweeps of VB from many, and pairs of states joined under the bound.

Where two states share a role no sweep joins them: each of their tokens is explained by both. So
pairs are joined outright, and stay so where VB's lower bound on the evidence rises by it (after
Hughes, Stephenson and Sudderth 2015, "Scalable adaptation of state complexity for nonparametric
hidden Markov models", NeurIPS).
"""

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import gammaln

from sklearn_cvb.chain.lattice import Cells
from sklearn_cvb.chain.parameters import HMMCounts, posterior_mean
from sklearn_cvb.chain.starts import Start
from sklearn_cvb.learning.algorithms import VB
from sklearn_cvb.learning.dirichlet import WARM_UP_SWEEPS
from sklearn_cvb.learning.model import State
from sklearn_cvb.reading.validation import InvalidParameterError

if TYPE_CHECKING:
    from sklearn_cvb.chain.symbols.model import SymbolChain

# Sweeps from random weights, and after states were joined.
_SWEEPS, _SWEEPS_BETWEEN = 100, 50
# A bound that changes by less than this a token (nats) has settled.
_CALM = 1e-4
# A state with fewer tokens is none that could be joined.
_LEAST_TOKENS = 1.0
# So many pairs are looked at, and so many of them followed until the bound settles.
_TRIED, _FOLLOWED = 30, 3


def merged_start(chain: "SymbolChain", rng: np.random.Generator) -> Start:
    """Weights of the states that are left; the chain begins with random weights."""
    problem = chain.problem
    if chain.hyper().shared is None or problem.any_told:
        raise InvalidParameterError(
            "init='merged' joins states that share a role: it needs "
            "transitions=Transitions(prior='hdp'), and no known states"
        )
    state, bound = _settled(VB().start(chain, rng), chain, rng, _SWEEPS)
    while True:
        joined = _with_one_less(state, bound, chain, rng)
        if joined is None:
            return Start(None, posterior_mean(state.counts, state.prior, chain.problem.cells))
        state, bound = joined


def _settled(
    state: State, chain: "SymbolChain", rng: np.random.Generator, most: int
) -> tuple[State, float]:
    """State and bound after at most so many sweeps."""
    state, bound = VB().sweep(state, chain, rng)
    for _ in range(most - 1):
        before = bound
        state, bound = VB().sweep(state, chain, rng)
        # The weights of the states wait for the warm-up to end.
        is_calm = abs(bound - before) < _CALM * len(chain.problem.corpus.tokens)
        if is_calm and state.n_sweeps > WARM_UP_SWEEPS:
            break
    return state, bound


def _with_one_less(
    state: State, bound: float, chain: "SymbolChain", rng: np.random.Generator
) -> tuple[State, float] | None:
    """State and bound with two states joined; None where the bound never rises by it."""
    tried = []
    for pair in likely_pairs(state.counts, state.prior.emission, chain.problem.cells)[:_TRIED]:
        counts = joined_counts(state.counts, pair, chain.problem.cells)
        after, value = VB().sweep(state._replace(counts=counts), chain, rng)
        tried.append((value, after))
    tried.sort(key=lambda one: -one[0])
    for _, after in tried[:_FOLLOWED]:
        after, value = _settled(after, chain, rng, _SWEEPS_BETWEEN)
        if value > bound:
            return after, value
    return None


def joined_counts(counts: HMMCounts, pair: tuple[int, int], cells: Cells) -> HMMCounts:
    """Counts where the first state of a pair has those of the second, too."""
    first, second = pair
    emission = counts.emission.reshape(cells.n_rows, cells.n_emitting).copy()
    start, transition = counts.start.copy(), counts.transition.copy()
    for table in (start, transition, transition.T, emission.T):
        table[first] += table[second]
        table[second] = 0.0
    return HMMCounts(start, transition, emission.ravel())


def likely_pairs(counts: HMMCounts, prior: np.ndarray, cells: Cells) -> list[tuple[int, int]]:
    """Pairs of states that hold tokens, those first whose symbols are most alike.

    By the evidence of both rows of emissions as one row, over that of two.
    """
    shape = cells.n_rows, cells.n_emitting
    own, prior = (table.reshape(shape).T for table in (counts.emission, prior))
    held = np.flatnonzero(own.sum(axis=1) >= _LEAST_TOKENS)
    alone = _log_evidence(own, prior)
    pairs = list(combinations(held.tolist(), 2))
    gains = [
        _log_evidence(own[[i]] + own[[j]], prior[[i]])[0] - alone[i] - alone[j] for i, j in pairs
    ]
    return [pairs[place] for place in np.argsort(-np.array(gains), kind="stable")]


def _log_evidence(counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Log evidence of rows of counts (nats)."""
    cells = (gammaln(counts + prior) - gammaln(prior)).sum(axis=1)
    return cells + gammaln(prior.sum(axis=1)) - gammaln((counts + prior).sum(axis=1))
