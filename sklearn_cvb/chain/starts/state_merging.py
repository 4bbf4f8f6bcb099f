"""Merging of states, pair by pair between sweeps of VB: where a fit that chooses their number
begins.

Where two states share a role no sweep joins them: each of their tokens is explained by both. So
pairs are joined outright between sweeps of VB, and stay so where its lower bound on the evidence
rises by it (after Hughes, Stephenson and Sudderth 2015, "Scalable adaptation of state complexity
for nonparametric hidden Markov models", NeurIPS).
"""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from sklearn_cvb.chain.parameters.rows import HMMCounts
from sklearn_cvb.chain.paths.lattice import Cells, Problem
from sklearn_cvb.learning.algorithms import VB
from sklearn_cvb.learning.model import State

# Sweeps from the first start, and after states were joined.
_SWEEPS, _SWEEPS_BETWEEN = 100, 50
# A bound that changes by less than this a token (nats) has settled.
_CALM = 1e-4
# A state with fewer tokens is none that could be joined.
_LEAST_TOKENS = 1.0
# What differs by less, a token, is equal.
_DIGITS = 9
# This many pairs are looked at, and this many of them followed until the bound settles.
_TRIED, _FOLLOWED = 10, 3
# Starts that are drawn.
_VAGUE = ("parameter", "token", "word")


class StateMerging(NamedTuple):
    """What the settings of a chain call this start.

    Attributes
    ----------
    n_starts : int
        The one whose joined states have the highest bound is taken.
    empties : bool
        Whether states without tokens get none at all. Under VB they stay empty by themselves; the
        counts of CVB would let them grow again, and its score likes them.
    """

    n_starts: int = 1
    empties: bool = False


def merging_pays(problem: Problem) -> bool:
    """Whether states are joined: each has as many tokens as parameters of what it emits.

    Where it has fewer, as with the words of a text, the bound pays for the parameters of a state
    more than for what the state explains, and hardly any are left. Known states stay as they are.
    """
    n_cells = problem.cells.n_emitting * problem.cells.n_rows
    return n_cells <= problem.n_explained and not problem.any_certain


def is_vague(init: Any) -> bool:
    """Whether a start says nothing of the states, or first has to find them."""
    return isinstance(init, StateMerging) or (isinstance(init, str) and init in _VAGUE)


def merged_state(chain: Any, rng: np.random.Generator, n_starts: int) -> State:
    """VB's state of the highest bound, of those from a chain's own starts."""
    chains = (chain.for_restart(index) if index else chain for index in range(n_starts))
    # The first of equal ones, however the parts of a corpus were summed.
    return max(
        (_join_states(one, rng) for one in chains),
        key=lambda found: round(found[1] / chain.n_observed, _DIGITS),
    )[0]


def _join_states(chain: Any, rng: np.random.Generator) -> tuple[State, float]:
    """State and bound from a chain's own start, once no pair of states is joined any more."""
    state, bound = _converge(VB().start(chain, rng), chain, rng, _SWEEPS)
    joined = _merge_one_pair(state, bound, chain, rng)
    while joined is not None:
        state, bound = joined
        joined = _merge_one_pair(state, bound, chain, rng)
    return state, bound


def _converge(state: State, chain: Any, rng: np.random.Generator, most: int) -> tuple[State, float]:
    """State and bound after at most this many sweeps."""
    bound = -np.inf
    for _ in range(most):
        before, (state, bound) = bound, VB().sweep(state, chain, rng)
        # The weights of the states wait for the warm-up to end.
        is_calm = abs(bound - before) < _CALM * chain.n_observed
        if is_calm and state.n_sweeps > state.hyper.n_warm_up:
            break
    return state, bound


def _merge_one_pair(
    state: State, bound: float, chain: Any, rng: np.random.Generator
) -> tuple[State, float] | None:
    """State and bound with two states joined; None where the bound never rises by it."""
    tried = []
    for pair in likely_pairs(chain, state)[:_TRIED]:
        counts = joined_counts(state.counts, pair, chain.problem.cells)
        after, value = VB().sweep(state._replace(counts=counts), chain, rng)
        tried.append((value, after))
    # Equal ones in the order of the pairs, however the parts of a corpus were summed.
    tried.sort(key=lambda one: -round(one[0] / chain.n_observed, _DIGITS))
    for _, after in tried[:_FOLLOWED]:
        after, value = _converge(after, chain, rng, _SWEEPS_BETWEEN)
        if value > bound:
            return after, value
    return None


def joined_counts(counts: HMMCounts, pair: tuple[int, int], cells: Cells) -> HMMCounts:
    """Counts where the first state of a pair has those of the second, too."""
    first, second = pair
    # Rows of emissions, or of sums of features, have a column for each state.
    emission = counts.emission.reshape(-1, cells.n_emitting).copy()
    start, transition = counts.start.copy(), counts.transition.copy()
    for table in (start, transition, transition.T, emission.T):
        table[first] += table[second]
        table[second] = 0.0
    return HMMCounts(start, transition, emission.reshape(counts.emission.shape))


def holds_tokens(counts: HMMCounts, cells: Cells) -> np.ndarray:
    """Which states hold tokens."""
    n_tokens = counts.start + counts.transition.sum(axis=0)
    return n_tokens[: cells.n_emitting] >= _LEAST_TOKENS


def likely_pairs(chain: Any, state: State) -> list[tuple[int, int]]:
    """Pairs of states that hold tokens, those first that emit what is most alike.

    By the log evidence of what both emit as of one state, over that of two.
    """
    counts = state.counts
    pairs = list(combinations(np.flatnonzero(holds_tokens(counts, chain.cells)).tolist(), 2))
    gains = chain.gains_of_joining(counts, state.prior, pairs)
    order = np.argsort(-np.round(np.array(gains) / chain.n_observed, _DIGITS), kind="stable")
    return [pairs[place] for place in order]


def gains_of_rows(rows: np.ndarray, prior: np.ndarray, pairs: list[tuple[int, int]]) -> list[float]:
    """What the log evidence (nats) of rows of counts gains where two are one."""
    alone = _log_evidence(rows, prior)
    return [
        _log_evidence(rows[[i]] + rows[[j]], prior[[i]])[0] - alone[i] - alone[j] for i, j in pairs
    ]


def _log_evidence(counts: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Log evidence of rows of counts (nats)."""
    cells = (gammaln(counts + prior) - gammaln(prior)).sum(axis=1)
    return cells + gammaln(prior.sum(axis=1)) - gammaln((counts + prior).sum(axis=1))
