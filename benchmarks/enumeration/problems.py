"""Tiny problems for exact tests: a corpus of integers, its legal states and its prior cells."""

from typing import NamedTuple

import numpy as np


class Problem(NamedTuple):
    """A corpus small enough to enumerate.

    `sequences` holds integer symbols and None where the observation is missing; `allowed[i][t]`
    lists the legal states of a token, `allowed=None` makes every state legal everywhere.
    `alpha` (K + 1, K) and `beta` (K, W) are prior cells; the start row of `alpha` comes last.
    `mask` (K + 1, K) says which steps a topology allows, None: all. `alpha` is 0 at the others.
    """

    sequences: list
    n_states: int
    n_symbols: int
    alpha: np.ndarray
    beta: np.ndarray
    allowed: list | None = None
    dictionary: dict | None = None
    mask: np.ndarray | None = None


def with_mask(problem, start, transition):
    """The same corpus with the steps of a topology only."""
    mask = np.vstack([transition, start])
    return problem._replace(mask=mask, alpha=np.where(mask, problem.alpha, 0.0))


def with_priors(problem, alpha, beta):
    """The same corpus under other prior cells; scalars are broadcast."""
    n_states, n_symbols = problem.n_states, problem.n_symbols
    return problem._replace(
        alpha=np.full((n_states + 1, n_states), alpha) if np.isscalar(alpha) else alpha,
        beta=np.full((n_states, n_symbols), beta) if np.isscalar(beta) else beta,
    )


def make_problem(sequences, n_states, n_symbols, alpha=1.0, beta=1.0, dictionary=None):
    """A problem with symmetric priors; `dictionary` maps a symbol to its legal states."""
    allowed = None
    if dictionary is not None:
        everything = list(range(n_states))
        allowed = [[dictionary.get(symbol, everything) for symbol in row] for row in sequences]
    bare = Problem(sequences, n_states, n_symbols, None, None, allowed, dictionary)
    return with_priors(bare, alpha, beta)


def random_sequences(rng, n_symbols, lengths, missing=0.0):
    """Uniform symbols; each token but one of a sequence is missing with the given chance."""
    sequences = []
    for length in lengths:
        hidden = rng.random(length) < missing
        hidden[rng.integers(length)] = False
        symbols = rng.integers(n_symbols, size=length).tolist()
        sequences.append([None if h else x for h, x in zip(hidden, symbols, strict=True)])
    return sequences


def random_dictionary(rng, n_states, n_symbols, free=0.25, largest=2):
    """Legal states per symbol, up to `largest` each; a share of the symbols stays free.

    Symbols 0..K-1 are never free and cover all states between them, so that the states can be
    read off the dictionary alone.
    """
    dictionary = {}
    for symbol in range(n_symbols):
        if symbol >= n_states and rng.random() < free:
            continue
        size = int(rng.integers(1, min(largest, n_states) + 1))
        chosen = set(rng.choice(n_states, size=size, replace=False).tolist())
        if symbol < n_states:
            chosen = set(sorted(chosen)[: size - 1]) | {symbol}
        dictionary[symbol] = sorted(chosen)
    return dictionary


def random_problem(rng, n_states, n_symbols, lengths, dictionary=False, missing=0.0):
    """A corpus of uniform symbols; with a dictionary, as `random_dictionary` draws it."""
    sequences = random_sequences(rng, n_symbols, lengths, missing)
    chosen = random_dictionary(rng, n_states, n_symbols) if dictionary else None
    alpha, beta = rng.choice([0.1, 0.3, 1.0], size=2)
    return make_problem(sequences, n_states, n_symbols, float(alpha), float(beta), chosen)


def unequal_priors(rng, problem, low=0.1, high=1.5):
    """The same corpus with every prior cell drawn anew."""
    n_states, n_symbols = problem.n_states, problem.n_symbols
    alpha = rng.uniform(low, high, size=(n_states + 1, n_states))
    return with_priors(problem, alpha, rng.uniform(low, high, size=(n_states, n_symbols)))


def legal_states(problem, i, t):
    """The legal states of one token, as a list."""
    return list(range(problem.n_states)) if problem.allowed is None else problem.allowed[i][t]


def initial_posteriors(rng, problem, noise=None):
    """Independent q per token over its legal states: Dirichlet(1), or uniform with small noise."""
    posteriors = []
    for i, sequence in enumerate(problem.sequences):
        q = np.zeros((len(sequence), problem.n_states))
        for t in range(len(sequence)):
            states = legal_states(problem, i, t)
            draw = rng.exponential(size=len(states))
            if noise is not None:
                draw = 1.0 + noise * rng.random(len(states))
            q[t, states] = draw / draw.sum()
        posteriors.append(q)
    return posteriors


def drawn_problem(rng, n_states, n_symbols, lengths, concentrations):
    """A corpus drawn from the model itself, with a dictionary that holds the true states.

    `concentrations` are alpha and beta, used for drawing and as the priors. A symbol may take
    every state that it was drawn with; half of those with one state get a wrong second one.
    """
    alpha, beta = concentrations
    transition = rng.dirichlet(np.full(n_states, alpha), size=n_states + 1)
    emission = rng.dirichlet(np.full(n_symbols, beta), size=n_states)
    sequences, seen = [], [set() for _ in range(n_symbols)]
    for length in lengths:
        state, sequence = n_states, []
        for _ in range(length):
            state = int(rng.choice(n_states, p=transition[state]))
            sequence.append(int(rng.choice(n_symbols, p=emission[state])))
            seen[sequence[-1]].add(state)
        sequences.append(sequence)
    dictionary = {symbol: _with_decoy(rng, states, n_states) for symbol, states in enumerate(seen)}
    return make_problem(sequences, n_states, n_symbols, alpha, beta, dictionary)


def _with_decoy(rng, states, n_states):
    """The sorted states; a single state (or none) is joined by a random one half of the time."""
    legal = set(states) or {int(rng.integers(n_states))}
    if len(legal) == 1 and rng.random() < 0.5:
        legal.add(int(rng.choice([k for k in range(n_states) if k not in legal])))
    return sorted(legal)


def token_states(problem):
    """The legal states of every token, all sequences in one list."""
    return [
        legal_states(problem, i, t)
        for i, sequence in enumerate(problem.sequences)
        for t in range(len(sequence))
    ]


def breaks_symmetry(problem):
    """Whether all states are in use, and every two told apart by a token that allows only one."""
    tokens = token_states(problem)
    told_apart = all(
        any((first in legal) != (second in legal) for legal in tokens)
        for first in range(problem.n_states)
        for second in range(first)
    )
    return told_apart and len(set().union(*tokens)) == problem.n_states


def n_assignments(problem):
    """How many joint state assignments of the corpus are legal."""
    return int(np.prod([len(legal) for legal in token_states(problem)], dtype=float))
