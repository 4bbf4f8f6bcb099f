"""What hidden Markov models of symbols do; `sklearn_cvb.hmm.numeric.numbers` has those of numbers.

`BaseHMM` asks one of the two, as its parameter `emission` says; both have the same functions.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from sklearn_cvb import corpus as reading
from sklearn_cvb.containers import refuse_lengths
from sklearn_cvb.corpus import Corpus, Sequences
from sklearn_cvb.hmm.ending import cells_with_end, problem_with_end
from sklearn_cvb.hmm.growing import carried_counts, carried_weights
from sklearn_cvb.hmm.model import SymbolChain
from sklearn_cvb.hmm.parameters import (
    HMMCounts,
    Prior,
    log_weights,
    posterior_mean,
    public_counts,
    rare_counts,
    weights_under,
)
from sklearn_cvb.hmm.prediction import (
    Read,
    chain_counts,
    emission_table,
    mean_and_log,
    predicting_weights,
    running_counts,
    smoothed_entries,
)
from sklearn_cvb.hmm.restricted import restricted_problem
from sklearn_cvb.hmm.summaries import CredibleIntervals, mixture_intervals
from sklearn_cvb.kernels.chain.decoding import best_states, viterbi
from sklearn_cvb.kernels.chain.forward_backward import Lattice, Weights
from sklearn_cvb.lattice import Cells, Problem, dense_posterior, problem_of
from sklearn_cvb.learned import Learned, Reading
from sklearn_cvb.learning.loop import even_pieces, on_threads
from sklearn_cvb.streaming import Running, Seen
from sklearn_cvb.topology import topology_of

# Corpora may come in shards, stores and batches, and states may be named by tags.
has_vocabulary = True
# What samplers draw at a time.
default_update = "token"
# What draws several continuations, where `sample` is asked to.
draws_ahead = ""
# Fewer tokens than this are not worth a thread.
_SHORTEST_PIECE = 5000


def tag(input_tags: Any) -> None:
    """What scikit-learn is told of X."""
    input_tags.categorical = True


# Reading


class WordsRead(NamedTuple):
    """What words tell of a model.

    Attributes
    ----------
    words : Vocabulary or TagKnowledge
    cells : Cells
        The layout of emissions: neither topology nor ends.
    told : object
        What is known of the tokens of this corpus alone.
    messages : tuple of str
    """

    words: Any
    cells: Cells
    told: Any = None
    messages: tuple[str, ...] = ()


def read_to_fit(hmm: Any, X: Any, y: Any, streams: bool) -> Reading:
    """X and y, to be fitted to."""
    sequences, attributes, messages = hmm._taken(X, y)
    types = hmm._vocabulary_types(sequences)
    corpus, read, cells = words_and_cells(hmm, sequences, types, y, streams=streams)
    problem, words, more = problem_of_words(
        hmm, (read.words, read.told), cells, corpus, sequences, y
    )
    attributes = {**attributes, **hmm._attributes_of_words(words)}
    return Reading(problem, words, attributes, (*messages, *read.messages, *more))


def words_and_cells(
    hmm: Any, sequences: Sequences, types: list, y: Any, *, streams: bool = False
) -> tuple[Corpus, WordsRead, Cells]:
    """Sequences in numbers, what their words tell, and the layout of parameters without ends."""
    vocabulary = reading.vocabulary_of(types)
    corpus = reading.encode(sequences, vocabulary.index)
    corpus = hmm._checked(corpus, sequences, len(types))
    read = hmm._words_read(vocabulary, corpus, y, streams)
    topology = topology_of(hmm.topology, read.cells.n_states)
    hmm._check_topology(topology)
    return corpus, read, read.cells._replace(topology=topology)


def problem_of_words(
    hmm: Any, known: tuple[Any, Any], cells: Cells, corpus: Corpus, sequences: Sequences, y: Any
) -> tuple[Problem, Any, tuple[str, ...]]:
    """A problem of a corpus under a layout, of words and what is told (`WordsRead`)."""
    lattice, words, messages = hmm._training_lattice(*known, cells, corpus, sequences, y)
    if hmm.end_state and not cells.has_end:
        cells = cells_with_end(cells)
    return problem_under(cells, corpus, lattice), words, messages


def read_batch(hmm: Any, X: Any, y: Any, learned: Learned) -> tuple[Reading, Running]:
    """A batch: new words enter the vocabulary and the layout."""
    sequences = hmm._sequences(X)
    refuse_lengths(y, len(sequences.starts) - 1, len(sequences.tokens))
    vocabulary = learned.words.index
    if hmm.vocabulary is None:
        types = reading.types_of(sequences.tokens, sequences.starts)
        vocabulary = [*vocabulary, *(word for word in types if word not in vocabulary)]
    words = reading.vocabulary_of(list(vocabulary))
    corpus = reading.encode(sequences, words.index)
    corpus = hmm._checked(corpus, sequences, len(words.index))
    growth, *known = hmm._grown(learned, words, corpus, y)
    counts = carried_counts(running_counts(learned), growth)
    problem, words, messages = problem_of_words(hmm, known, growth.cells, corpus, sequences, y)
    read = Reading(problem, words, hmm._attributes_of_words(words), messages)
    return read, Running(counts, carried_weights(learned.kept, growth))


def rare_of_all(counts: HMMCounts, cells: Cells, seen: Seen) -> np.ndarray | None:
    """Mean count of the words that batches have seen once, if unknown words have none."""
    if counts.emission[cells.unknown].any():
        return None
    return rare_counts(counts.emission, cells, seen.uses)


def problem_under(cells: Cells, corpus: Corpus, lattice: Lattice) -> Problem:
    """A corpus under a layout, with the ends and the topology that it asks for."""
    if cells.has_end:
        return problem_with_end(corpus, lattice, cells)
    if cells.topology is None:
        return problem_of(corpus, lattice, cells)
    return restricted_problem(corpus, lattice, cells, cells.topology)


def model(hmm: Any, read: Reading) -> SymbolChain:
    """What is learned from a problem."""
    kind = getattr(read.problem, "chain", hmm._chain)
    return kind(read.problem, hmm._chain_settings(read))


# What a fit leaves


def left_of(
    state: Any, counts: HMMCounts, chain: SymbolChain
) -> tuple[dict[str, Any], Weights | None, np.ndarray | None, None]:
    """Public counts and beta, weights that rows keep, what unknown words get beside; no numbers."""
    attributes = {"counts_": public_counts(counts, chain.cells), "beta_": state.hyper.beta}
    return attributes, state.weights, chain.rare(counts), None


def path(hmm: Any, state: Any, read: Reading) -> np.ndarray:
    """States of all given tokens, also of sequences left out."""
    problem, averages = read.problem, hmm._algorithm().averages
    table = _of_left_out(averages, state, problem)
    rest = None if table is None else table.argmax(axis=1)
    posterior = model(hmm, read).posterior(state)
    found = np.empty(len(problem.corpus.tokens), np.int32)
    if posterior is not None:
        best_states(problem.lattice, posterior, 0, len(found), found)
        return problem.among_given(found, rest)
    _, logs = _final_weights(averages, state, problem.cells)
    starts, log_p = problem.corpus.starts, np.empty(problem.corpus.n_sequences)

    def label(begin: int, end: int) -> None:
        viterbi(logs, problem.lattice, starts[begin : end + 1], found, log_p[begin:end])

    on_threads(label, even_pieces(starts, _SHORTEST_PIECE), hmm.n_jobs)
    return problem.among_given(found, rest)


def posteriors(hmm: Any, state: Any, read: Reading) -> np.ndarray:
    """Posteriors of all given tokens: the last ones, or under the final weights."""
    problem, averages = read.problem, hmm._algorithm().averages
    if not isinstance(problem, Problem):
        raise AttributeError(
            "a fit on a store or in shards keeps no posteriors in memory: use predict_proba"
        )
    entries, lattice = model(hmm, read).posterior(state), problem.lattice
    if entries is None:
        weights = _final_weights(averages, state, problem.cells)
        entries, _ = smoothed_entries(*weights, lattice, problem.corpus.starts)
    table = dense_posterior(lattice, entries, problem.cells.n_states)
    table = problem.among_given(table, _of_left_out(averages, state, problem))
    return table[:, : problem.cells.n_emitting]


def _final_weights(averages: bool, state: Any, cells: Cells) -> tuple[Weights, Weights]:
    """Weights of the final counts, and their logs."""
    return weights_under(state.counts, state.prior, cells, state.weights, averages=averages)


def _of_left_out(averages: bool, state: Any, problem: Problem) -> np.ndarray | None:
    """Posteriors of the sequences left out: the most probable legal state by emission."""
    rest = problem.left_out
    if rest is None:
        return None
    weights = _final_weights(averages, state, rest.cells)
    entries, _ = smoothed_entries(*weights, rest.lattice, rest.corpus.starts)
    return dense_posterior(rest.lattice, entries, rest.cells.n_states)


# Reading a fitted model


def read_again(hmm: Any, learned: Learned, X: Any, means: bool = False) -> Read:
    """Sequences under a model's weights; unknown words nobody emits are unobserved."""
    corpus = hmm._encoded(learned, X)
    weights, logs = mean_and_log(learned) if means else predicting_weights(learned)
    lattice, weights, logs = hmm._with_unknown(learned, corpus, weights, logs)
    lattice = _without_impossible(lattice, corpus, learned.layout, weights)
    return Read(corpus, lattice, weights, logs, learned.layout)


def log_likelihoods(
    hmm: Any, learned: Learned, X: Any, samples: Iterable[tuple[HMMCounts, Prior]] | None
) -> tuple[list[np.ndarray], int]:
    """Under the mean weights, or under each sample; and the number of observed tokens."""
    corpus = hmm._encoded(learned, X)
    lattice, cells = hmm._lattice_of(learned, corpus), learned.layout
    if samples is None:
        each: Iterable[tuple[Weights, Weights]] = [mean_and_log(learned)]
    else:
        means = (posterior_mean(counts, learned.prior, cells) for counts, _ in samples)
        each = ((weights, log_weights(weights)) for weights in means)
    found = [Read(corpus, lattice, *weights, cells).log_z() for weights in each]
    return found, corpus.n_observed


def posterior(learned: Learned) -> tuple[HMMCounts, Prior]:
    """Counts and prior that make up the posterior."""
    return chain_counts(learned), learned.prior


def intervals(
    learned: Learned, posteriors: Iterable[tuple[HMMCounts, Prior]], level: float
) -> CredibleIntervals:
    """Credible intervals of all probabilities."""
    return mixture_intervals(posteriors, learned.layout, level)


def drawn(
    learned: Learned, states: np.ndarray, rng: np.random.RandomState
) -> tuple[np.ndarray, Any]:
    """What each state emits, and what stands for nothing: None, also for no known symbol."""
    vocabulary = learned.words.types
    emission = np.cumsum(emission_table(learned)[:, : len(vocabulary)], axis=1)
    symbols = np.full(len(states), -1, np.int32)
    for state in np.intersect1d(states, np.flatnonzero(emission.sum(axis=1))):
        here, row = states == state, emission[state]
        levels = rng.random_sample(np.count_nonzero(here)) * row[-1]
        # A product with a tiny total may round up to it.
        last = np.searchsorted(row, row[-1])
        symbols[here] = np.minimum(np.searchsorted(row, levels, side="right"), last)
    known = symbols >= 0
    if known.all():
        return vocabulary[symbols], None
    words = np.full(len(symbols), None, dtype=object)
    words[known] = vocabulary[symbols[known]]
    return words, None


def reordered(learned: Learned, by: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is learned of emissions, and attributes that tell it, if states had another order."""
    rare = None if learned.rare is None else learned.rare[by.order]
    return {"counts": by.tables(learned.counts), "rare": rare}, {}


def _without_impossible(
    lattice: Lattice, corpus: Corpus, cells: Cells, weights: Weights
) -> Lattice:
    """Make unknown tokens unobserved where none of their states gives the unknown item weight."""
    unknown = weights.emission[cells.unknown]
    if not corpus.unknown or unknown.all():
        return lattice
    cell = lattice.cell.copy()
    tokens = np.flatnonzero(corpus.tokens >= cells.n_words)
    firsts, places = np.unique(lattice.first[tokens], return_index=True)
    for first, count in zip(firsts.tolist(), lattice.count[tokens[places]].tolist(), strict=True):
        slots = slice(first, first + count)
        if not weights.emission[cell[slots]].any():
            cell[slots] = -1
    return lattice._replace(cell=cell)
