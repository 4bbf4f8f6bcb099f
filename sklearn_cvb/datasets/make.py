"""Sequences drawn from a random hidden Markov model, and sentences drawn from any grammar."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sklearn_cvb.grammar.grammar import grammar_from
from sklearn_cvb.grammar.sampling import sample_trees
from sklearn_cvb.reading.validation import Seed


def make_hmm_sequences(
    n_samples: int = 100,
    *,
    n_components: int = 3,
    n_symbols: int = 10,
    length: int | tuple[int, int] = 20,
    concentration: float = 0.5,
    return_parameters: bool = False,
    random_state: Seed = None,
) -> tuple[Any, ...]:
    """Draw sequences from a random hidden Markov model with well-separated states.

    Nine tenths of a state's emissions fall on symbols that are its own (as far as there are enough
    symbols), the rest anywhere. Four fifths of a state's transitions follow a Dirichlet draw, the
    rest are uniform, so that every state can be reached.

    Parameters
    ----------
    n_samples : int, default=100
        Number of sequences.
    n_components : int, default=3
        Number of hidden states.
    n_symbols : int, default=10
        Number of symbols; the observations are the integers below it.
    length : int or tuple of (int, int), default=20
        Length of each sequence, or smallest and largest length, drawn uniformly.
    concentration : float, default=0.5
        Dirichlet concentration of start, transition and emission probabilities: the lower, the
        more predictable the sequences.
    return_parameters : bool, default=False
        Return the probabilities also.
    random_state : int, RandomState, Generator or None, default=None
        Seed or source of randomness.

    Returns
    -------
    X : list of n_samples int arrays of shape (length,)
        Observed symbols.
    Z : list of n_samples int arrays of shape (length,)
        Hidden states.
    startprob : array of shape (n_components,)
        Only with ``return_parameters=True``, as are the next two.
    transmat : array of shape (n_components, n_components)
        Row: state before; column: state after.
    emissionprob : array of shape (n_components, n_symbols)
        Row: state; column: symbol.

    Raises
    ------
    ValueError
        If a number is not positive, or the lengths are not in order.

    Examples
    --------
    >>> from sklearn_cvb.datasets import make_hmm_sequences
    >>> X, Z = make_hmm_sequences(5, length=(3, 8), random_state=0)
    >>> len(X), all(3 <= len(x) <= 8 for x in X), [len(x) for x in X] == [len(z) for z in Z]
    (5, True, True)
    """
    sizes = (n_samples, n_components, n_symbols, concentration)
    if min(sizes) <= 0:
        raise ValueError(
            "n_samples, n_components, n_symbols and concentration must be positive, "
            f"got {', '.join(map(str, sizes))}"
        )
    shortest, longest = (length, length) if isinstance(length, int | np.integer) else length
    if not 1 <= shortest <= longest:
        raise ValueError(f"length must be at least 1, and a range in order, got {length}")
    random = generator_of(random_state)
    parameters = _random_hmm(n_components, n_symbols, concentration, random)
    lengths = random.integers(shortest, longest, size=n_samples, endpoint=True)
    startprob, transmat, emissionprob = parameters
    states = np.empty((n_samples, longest), dtype=np.int64)
    states[:, 0] = _draw_rows(np.broadcast_to(startprob, (n_samples, n_components)), random)
    for position in range(1, longest):
        states[:, position] = _draw_rows(transmat[states[:, position - 1]], random)
    symbols = np.array([_draw_rows(emissionprob[row], random) for row in states])
    X = [row[:size].copy() for row, size in zip(symbols, lengths, strict=True)]
    Z = [row[:size].copy() for row, size in zip(states, lengths, strict=True)]
    return (X, Z, *parameters) if return_parameters else (X, Z)


def make_pcfg_corpus(
    grammar: Any, n_samples: int = 100, *, longest: int = 40, random_state: Seed = None
) -> tuple[list[Any], list[Any]]:
    """Draw sentences and their trees from a grammar.

    Parameters
    ----------
    grammar : str, nltk.PCFG, nltk.CFG, Grammar, or list of trees
        A grammar in NLTK's notation, of NLTK's, of this package's, or a treebank. Without
        probabilities all rules of a symbol are equally likely.
    n_samples : int, default=100
        Number of sentences.
    longest : int, default=40
        Derivations of more words are drawn again.
    random_state : int, RandomState or None, default=None
        Seed or source of randomness.

    Returns
    -------
    X : list of n_samples lists of words
    trees : list of n_samples nltk.Tree

    Raises
    ------
    ValueError
        If a number is not positive, the grammar is of no use, or nearly all its derivations are
        too long.

    Examples
    --------
    >>> from sklearn_cvb.datasets import make_pcfg_corpus
    >>> X, trees = make_pcfg_corpus("S -> 'a' S 'b' [0.4] | 'a' 'b' [0.6]", 2, random_state=0)
    >>> X
    [['a', 'b'], ['a', 'b']]
    >>> print(trees[0])
    (S a b)
    """
    grammar = grammar_from(grammar).check()
    probabilities = grammar.probabilities
    if probabilities is None:
        probabilities = [1.0] * len(grammar.rules)
    rng = check_random_state(random_state)
    X, trees = sample_trees(grammar, probabilities, n_samples, longest, rng)
    return X.tolist(), trees.tolist()


def generator_of(random_state: Seed) -> np.random.Generator:
    """The generator given, or one with a seed that is drawn."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    seeds = check_random_state(random_state).randint(2**31 - 1, size=4)
    return np.random.default_rng(seeds)


def _random_hmm(
    n_components: int, n_symbols: int, concentration: float, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    cells = np.full(n_components, concentration)
    startprob = random.dirichlet(cells)
    transmat = 0.8 * random.dirichlet(cells, size=n_components) + 0.2 / n_components
    emissionprob = 0.1 * random.dirichlet(np.full(n_symbols, concentration), size=n_components)
    owner = random.permutation(n_symbols) % n_components
    for state in range(n_components):
        own = np.flatnonzero(owner == state % n_symbols)
        emissionprob[state, own] += 0.9 * random.dirichlet(np.ones(len(own)))
    return startprob, transmat, emissionprob


def _draw_rows(probabilities: np.ndarray, random: np.random.Generator) -> np.ndarray:
    cumulative = np.cumsum(probabilities, axis=1)
    # Scaling by the last entry keeps a total just below one from yielding an index too many.
    thresholds = random.random((len(cumulative), 1)) * cumulative[:, -1:]
    return np.sum(cumulative <= thresholds, axis=1)
