"""Pairs of neighbouring states given what was observed, and log p(x, z) of given paths."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sklearn_cvb.chain.numbers import e_step, visits
from sklearn_cvb.chain.numbers.e_step import ContextStretches, lattice_of_steps, scores_from_logs
from sklearn_cvb.chain.numbers.weighted import WeightedVisits
from sklearn_cvb.chain.predictions.prediction import WeightedSequences, warn_of_unexplained
from sklearn_cvb.learning.threads import even_pieces
from sklearn_cvb.reading.corpus import Corpus, as_list, is_hashable, place_text, short_repr

# Steps whose tables have about so many cells are inferred together.
_PIECE = 2**17


def pair_posteriors(read: WeightedSequences) -> tuple[Corpus, np.ndarray]:
    """p(z_t, z_t+1 | x) of all neighbouring steps, (n_pairs, K, K), and where these begin.

    Steps of a sequence that no path explains are told by their emissions, each alone.
    """
    corpus, every = read.corpus, range(read.cells.n_emitting)
    posterior, log_z = read.entries()
    warn_of_unexplained(log_z)
    of_steps, starts = read.table(posterior), corpus.starts
    right, begins = np.delete(np.arange(starts[-1]), starts[:-1]), starts - np.arange(len(starts))
    pairs, done = np.empty((len(right), len(every), len(every))), 0
    for some in _pairs_in_pieces(read):
        pairs[done : done + len(some)] = some
        done += len(some)
    if isinstance(read, WeightedVisits):
        # Who is in a state and does not leave it stays, in the same visit or in the next one.
        pairs = e_step.off_diagonal(pairs)
        pairs[:, every, every] = np.maximum(of_steps[right - 1] - pairs.sum(axis=2), 0.0)
    lost = np.repeat(np.isneginf(log_z), np.diff(begins))
    alone = right[lost]
    pairs[lost] = of_steps[alone - 1, :, None] * of_steps[alone, None, :]
    width = None if corpus.width is None else corpus.width - 1
    return Corpus(np.zeros(len(pairs), np.int32), begins, width, []), pairs


def _pairs_in_pieces(read: WeightedSequences) -> Iterator[np.ndarray]:
    """Pairs of the steps, or of the visits, of some sequences at a time.

    The E-step sums them by the table that leads to a step: here each step has a table to itself.
    """
    starts, of_visits = read.corpus.starts, isinstance(read, WeightedVisits)
    chain: Any = e_step.tables_of_weights(read.weights, read.cells.n_emitting)
    logs, table = _log_weights(read), read.table_numbers()
    if isinstance(read, WeightedVisits):
        chain, logs, _ = read.visit_arguments()
    for first, last in even_pieces(starts, max(1, _PIECE // read.cells.n_emitting**2)):
        steps, inside = slice(starts[first], starts[last]), starts[first : last + 1] - starts[first]
        each = np.arange(inside[-1])
        own = type(chain)(*(None if one is None else one[table[steps]] for one in chain))
        if of_visits:
            found = visits.infer(own, logs[steps], inside, each)
        else:
            stretches = ContextStretches(np.append(each, len(each)), each)
            scored = scores_from_logs(logs[steps])
            found = e_step.infer(own, scored, inside, stretches, exact=True)
        yield found.pairs[np.delete(each, inside[:-1])]


def _log_weights(read: WeightedSequences) -> np.ndarray:
    """Log weights (n_steps, K); of numbers without the largest of each step."""
    return WeightedSequences.log_emissions(read)


def path_log_likelihoods(read: WeightedSequences, states: np.ndarray) -> np.ndarray:
    """log p(x, z) of a path of each sequence, flat: the best one where there is no other."""
    logs, every = _log_weights(read), np.arange(len(states))
    alone = np.full(logs.shape, -np.inf)
    alone[every, states] = logs[every, states]
    only = replace(
        read,
        lattice=lattice_of_steps(*logs.shape),
        logs=read.logs._replace(emission=alone.ravel()),
    )
    return only.best_path()[1] + read.log_offset()


def states_of_paths(states: Any, corpus: Corpus, names: list[Any]) -> np.ndarray:
    """Paths in numbers of states, flat; ValueError where they are not those of the sequences."""
    paths, lengths = as_list(states), np.diff(corpus.starts).tolist()
    if paths is None or len(paths) != len(lengths):
        raise ValueError(
            f"X holds {len(lengths)} sequences, and states must hold a path for each of them, got "
            f"{short_repr(states)}"
        )
    flat: list[Any] = []
    for i, (path, length) in enumerate(zip(paths, lengths, strict=True)):
        own = as_list(path)
        if own is None:
            raise ValueError(f"states[{i}] is {short_repr(path)}: a path is a list of states")
        # Rows of a table are padded.
        own = own[:length] if len(own) == corpus.width else own
        if len(own) != length:
            raise ValueError(f"sequence {i} has {length} steps but states[{i}] has {len(own)}")
        flat += own
    numbers = {name: k for k, name in enumerate(names)}
    found = [numbers.get(state, -1) if is_hashable(state) else -1 for state in flat]
    if -1 in found:
        t = found.index(-1)
        raise ValueError(
            f"states holds {short_repr(flat[t])} ({place_text(t, corpus.starts)}), which is no "
            f"state of this model: {short_repr(names)}"
        )
    return np.array(found, dtype=np.int64)
