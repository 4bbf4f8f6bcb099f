"""Where a fit on a corpus in shards starts: as a fit on the whole corpus would, whatever the cut.

The one who leads the fit draws a `Seed`; every shard makes its own part of the start from it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb.chain import starts as starting
from sklearn_cvb.chain.lattice import Cells, Problem
from sklearn_cvb.kernels.chain.forward_backward import Weights
from sklearn_cvb.learning.loop import generator_at

# Numbers drawn at a time to get to where the tokens of a shard begin.
_BLOCK = 2**20


class Seed(NamedTuple):
    """What a shard starts from: one of these.

    Attributes
    ----------
    weights : Weights or None
        Of a first E-step: those of "parameter", "unambiguous" and of fitted models, with zeros
        where a topology rules steps out.
    words : ndarray of shape (n_cells + 1,) or None
        What "word" draws.
    tables : Weights or None
        The steps between all tokens, for "context".
    randomness : list of dict or None
        For "token": states of the random generator, where the tokens of each shard begin.
    """

    weights: Weights | None = None
    words: np.ndarray | None = None
    tables: Weights | None = None
    randomness: list[Any] | None = None


def seed_by_cells(name: str, cells: Cells, rng: np.random.Generator) -> Seed | None:
    """The seed of a start that needs to know no tokens; None for another."""
    if name == "word":
        return Seed(words=starting.word_weights(cells, rng))
    if name == "parameter":
        return Seed(weights=starting.parameter_weights(cells, rng))
    return None


def seed_by_counts(name: str, start: np.ndarray, transition: np.ndarray, cells: Cells) -> Seed:
    """The seed of "unambiguous" or "context", from the sum of the shards' `counts_for`."""
    if name == "context":
        return Seed(tables=starting.context_tables(start, transition, cells))
    flat = np.ones(len(cells.state))
    return Seed(weights=starting.smooth_weights(start, transition, flat))


def counts_for(name: str, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Starts and transitions that "unambiguous" or "context" counts in a shard."""
    if name == "context":
        return starting.context_counts(problem)
    return problem.runs.start, problem.runs.transition


def seed_by_token(sizes: Sequence[int], rng: np.random.Generator) -> Seed:
    """The seed of "token" for shards with so many (token, state) entries each.

    The generator goes on as if all had been drawn.
    """
    states = []
    for size in sizes:
        states.append(rng.bit_generator.state)
        for begin in range(0, size, _BLOCK):
            rng.standard_exponential(min(_BLOCK, size - begin))
    return Seed(randomness=states)


def start_of(seed: Seed, problem: Problem, index: int) -> starting.Start:
    """The start of the shard with this index."""
    if seed.weights is not None:
        return starting.Start(None, seed.weights)
    if seed.words is not None:
        start = starting.words_start(problem, seed.words)
    elif seed.tables is not None:
        start = starting.neighbours_start(problem, seed.tables)
    else:
        assert seed.randomness is not None, "a seed holds one of its fields"
        start = starting.token_start(problem, generator_at(seed.randomness[index]))
    return starting.kept_to_start(start, problem)
