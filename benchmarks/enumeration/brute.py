"""Exact answers for tiny hidden Markov models, by enumerating every assignment of states.

Conventions: the start row of `transition` (K + 1, K) comes last; there is no end state; a missing
observation is None and has no emission factor.
"""

import itertools
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp


def paths(length, n_states, allowed=None):
    """All legal state paths in lexicographic order, as tuples."""
    choices = [range(n_states)] * length if allowed is None else allowed
    return list(itertools.product(*[sorted(states) for states in choices]))


def path_weight(path, sequence, transition, emission):
    """Product of the weights along one path: p(x, z) if the weights are probabilities."""
    weight, previous = 1.0, len(transition) - 1
    for state, symbol in zip(path, sequence, strict=True):
        weight *= transition[previous, state]
        if symbol is not None:
            weight *= emission[state, symbol]
        previous = state
    return weight


def path_weights(sequence, transition, emission, allowed=None):
    """A dict from every legal path to its weight."""
    legal = paths(len(sequence), len(emission), allowed)
    return {path: path_weight(path, sequence, transition, emission) for path in legal}


def log_likelihood(sequence, transition, emission, allowed=None):
    """The log of the summed weight of all legal paths."""
    return float(np.log(sum(path_weights(sequence, transition, emission, allowed).values())))


def path_distribution(sequence, transition, emission, allowed=None):
    """A dict from every legal path to its posterior probability."""
    weights = path_weights(sequence, transition, emission, allowed)
    total = sum(weights.values())
    return {path: weight / total for path, weight in weights.items()}


def marginals(sequence, transition, emission, allowed=None):
    """Smoothed p(z_t | x), shape (T, K)."""
    table = np.zeros((len(sequence), len(emission)))
    for path, share in path_distribution(sequence, transition, emission, allowed).items():
        for t, state in enumerate(path):
            table[t, state] += share
    return table


def pair_marginals(sequence, transition, emission, allowed=None):
    """p(z_t, z_{t+1} | x), shape (T - 1, K, K)."""
    table = np.zeros((len(sequence) - 1, len(emission), len(emission)))
    for path, share in path_distribution(sequence, transition, emission, allowed).items():
        for t in range(len(path) - 1):
            table[t, path[t], path[t + 1]] += share
    return table


def filtered_marginals(sequence, transition, emission, allowed=None):
    """p(z_t | x_1..x_t), shape (T, K): the last row of each prefix's smoothed marginals."""
    rows = []
    for end in range(1, len(sequence) + 1):
        legal = None if allowed is None else allowed[:end]
        rows.append(marginals(sequence[:end], transition, emission, legal)[-1])
    return np.array(rows)


def best_path(sequence, transition, emission, allowed=None):
    """The heaviest path, the lowest states where paths tie, and its log weight."""
    weights = path_weights(sequence, transition, emission, allowed)
    best = max(weights, key=weights.get)
    return np.array(best), float(np.log(weights[best]))


def next_symbol_distribution(sequence, transition, emission, allowed=None):
    """p(x_{T+1} | x_1..x_T), shape (W,); the next state may be any."""
    last = marginals(sequence, transition, emission, allowed)[-1]
    return last @ transition[:-1] @ emission


class CollapsedPosterior(NamedTuple):
    """Exact answers about p(z | x, alpha, beta), the parameters integrated out."""

    log_evidence: float
    marginals: list  # one (T_i, K) array per sequence
    co_assignment: np.ndarray  # (N, N): p(z_s = z_t), tokens of all sequences in order
    start: np.ndarray  # (K,) expected counts, as the next two
    transition: np.ndarray  # (K, K)
    emission: np.ndarray  # (K, W)


def joint_assignments(problem):
    """Every legal assignment of the whole corpus, shape (M, N), one column per token."""
    everything = list(range(problem.n_states))
    choices = []
    for i, sequence in enumerate(problem.sequences):
        for t in range(len(sequence)):
            choices.append(everything if problem.allowed is None else problem.allowed[i][t])
    grids = np.meshgrid(*[np.array(states, dtype=np.int8) for states in choices], indexing="ij")
    return np.stack([grid.ravel() for grid in grids], axis=1)


def first_tokens(problem):
    """The columns of the first tokens of the sequences."""
    lengths = [len(sequence) for sequence in problem.sequences]
    return np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(int)


def pair_columns(problem):
    """The columns (t, t + 1) of all neighbouring tokens."""
    return [
        (first + t, first + t + 1)
        for first, sequence in zip(first_tokens(problem), problem.sequences, strict=True)
        for t in range(len(sequence) - 1)
    ]


def symbol_columns(problem, symbol):
    """The columns of the tokens that show this symbol."""
    tokens = [token for sequence in problem.sequences for token in sequence]
    return [column for column, token in enumerate(tokens) if token == symbol]


def start_count(problem, z, state):
    """How many sequences start in the state, for every assignment: shape (M,)."""
    return sum((z[:, column] == state).astype(np.int16) for column in first_tokens(problem))


def transition_count(problem, z, before, after):
    """How often `before` is followed by `after`, for every assignment: shape (M,)."""
    count = np.zeros(len(z), dtype=np.int16)
    for left, right in pair_columns(problem):
        count += (z[:, left] == before) & (z[:, right] == after)
    return count


def emission_count(problem, z, state, symbol):
    """How often the state emits the symbol, for every assignment: shape (M,)."""
    count = np.zeros(len(z), dtype=np.int16)
    for column in symbol_columns(problem, symbol):
        count += z[:, column] == state
    return count


def log_polya(counts, prior):
    """log of the Dirichlet integral of one row; `counts` holds one (M,) array per cell.

    A cell with a prior of 0 is ruled out: -inf where it is counted.
    """
    total = sum(counts)
    value = gammaln(np.sum(prior)) - gammaln(np.sum(prior) + total)
    for count, cell in zip(counts, prior, strict=True):
        if cell == 0:
            value = np.where(count > 0, -np.inf, value)
            continue
        value = value + gammaln(cell + count) - gammaln(cell)
    return value


def collapsed_log_joint(problem, z):
    """log p(x, z | alpha, beta) of every row of `z` (M, N)."""
    states, symbols = range(problem.n_states), range(problem.n_symbols)
    value = log_polya([start_count(problem, z, k) for k in states], problem.alpha[-1])
    for k in states:
        moves = [transition_count(problem, z, k, after) for after in states]
        shown = [emission_count(problem, z, k, symbol) for symbol in symbols]
        value += log_polya(moves, problem.alpha[k]) + log_polya(shown, problem.beta[k])
    return value


def collapsed_posterior(problem):
    """Everything exact about the collapsed posterior of a problem."""
    z = joint_assignments(problem)
    log_joint = collapsed_log_joint(problem, z)
    log_evidence = float(logsumexp(log_joint))
    share = np.exp(log_joint - log_evidence)
    states, symbols = range(problem.n_states), range(problem.n_symbols)
    flat = np.array([share @ (z == k) for k in states]).T
    return CollapsedPosterior(
        log_evidence,
        np.split(flat, first_tokens(problem)[1:]),
        co_assignment(z, share),
        np.array([share @ start_count(problem, z, k) for k in states]),
        np.array([[share @ transition_count(problem, z, k, j) for j in states] for k in states]),
        np.array([[share @ emission_count(problem, z, k, w) for w in symbols] for k in states]),
    )


def co_assignment(z, share):
    """p(z_s = z_t) for every two tokens, shape (N, N)."""
    columns = range(z.shape[1])
    return np.array([[share @ (z[:, s] == z[:, t]) for t in columns] for s in columns])
