"""What hidden Markov models of symbols do; `sklearn_cvb.hmm.numeric.numbers` has those of numbers.

`BaseHMM` asks one of the two, as its parameter `emission` says; both have the same functions.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sklearn_cvb import corpus as reading
from sklearn_cvb.containers import refuse_lengths
from sklearn_cvb.corpus import Corpus, Sequences
from sklearn_cvb.hmm.ending import cells_with_end, problem_with_end
from sklearn_cvb.hmm.model import SymbolChain
from sklearn_cvb.hmm.parameters import (
    HMMCounts,
    Prior,
    flat_cells,
    log_weights,
    posterior_mean,
    public_counts,
)
from sklearn_cvb.hmm.read import Read, smoothed_entries
from sklearn_cvb.hmm.restricted import restricted_problem
from sklearn_cvb.hmm.summaries import CredibleIntervals, mixture_intervals
from sklearn_cvb.kernels.chain.decoding import best_states, viterbi
from sklearn_cvb.kernels.chain.forward_backward import Lattice, Weights
from sklearn_cvb.lattice import Cells, Problem, cells_for, dense_posterior, problem_of
from sklearn_cvb.learning.loop import even_pieces, on_threads
from sklearn_cvb.topology import topology_of

# Fewer tokens than this are not worth a thread.
_SHORTEST_PIECE = 5000


class Symbols:
    """Observations from a vocabulary, such as words."""

    # Corpora may come in shards, stores and batches, and states may be named by tags.
    has_vocabulary = True
    # What samplers draw at a time.
    default_update = "token"
    # What draws several continuations, where `sample` is asked to.
    draws_ahead = ""

    def tag(self, input_tags: Any) -> None:
        """What scikit-learn is told of X."""
        input_tags.categorical = True

    # Fitting

    def sequences(self, hmm: Any, X: Any, y: Any) -> Sequences:
        """X as read for a fit; lengths in `y` are refused, also where `y` is ignored."""
        sequences = hmm._sequences(X, reset=True)
        refuse_lengths(y, len(sequences.starts) - 1, len(sequences.tokens))
        return sequences

    def lay_out(self, hmm: Any, sequences: Sequences, y: Any) -> Corpus:
        """Set the vocabulary, the states and the layout of parameters; returns the corpus."""
        types = hmm._vocabulary_types(sequences)
        hmm.vocabulary_ = reading.as_array(types)
        hmm._index = {token: i for i, token in enumerate(types)}
        corpus = reading.encode(sequences, hmm._index)
        hmm._check_unknown(corpus, sequences)
        rows = hmm._word_states(corpus, y)
        cells = cells_for(
            rows, hmm._n_states, len(types), with_unknown=hmm.handle_unknown != "error"
        )
        cells = cells._replace(topology=topology_of(hmm.topology, hmm._n_states))
        hmm._check_topology(cells.topology)
        hmm._cells = hmm._laid_out(cells, corpus)
        return corpus

    def problem(self, hmm: Any, corpus: Corpus, sequences: Sequences, y: Any) -> Problem:
        """A problem of these sequences under the layout of parameters."""
        lattice = hmm._training_lattice(corpus, sequences, y)
        if hmm.end_state:
            hmm._cells = cells_with_end(hmm._cells)
        return problem_under(hmm._cells, corpus, lattice)

    def model(self, hmm: Any, problem: Any) -> SymbolChain:
        """What is learned from a problem."""
        return hmm._chain(problem, hmm._chain_settings(problem))

    def why_one_restart(self, hmm: Any, problem: Any) -> str:
        """Why all restarts would be the same; empty where they differ."""
        # With one state there is nothing to tell: searches for the number of states begin there.
        if hmm._any_choice(problem) or problem.cells.n_states == 1:
            return hmm._fixed_start()
        return "no token has a choice of states"

    def identity(self, problem: Any) -> tuple[Any, ...]:
        """Sequences, cells and allowed states."""
        corpus, cells = problem.corpus, problem.cells
        return (
            *(corpus.tokens, corpus.starts, problem.lattice),
            *(cells.state, cells.n_states, cells.topology),
        )

    # What a fit leaves

    def fitted(self, state: Any, counts: HMMCounts, model: SymbolChain) -> dict[str, Any]:
        """Attributes that models of numbers do not have, or have of another kind."""
        return {
            "counts_": public_counts(counts, model.cells),
            "beta_": state.hyper.beta,
            "_kept": state.weights,
            "_rare": model.rare(counts),
        }

    def unexplained(self, state: Any, problem: Problem) -> np.ndarray:
        """Given sequences that no path explains, be it from the start or under the weights."""
        found = state.unexplained
        if problem.sequences is not None:
            found = np.unique(problem.sequences[found])
        if problem.left_out is not None:
            found = np.sort(np.concatenate([found, problem.left_out.sequences]))
        return found

    def path(self, hmm: Any, state: Any, problem: Problem) -> np.ndarray:
        """States of all given tokens, also of sequences left out."""
        table = _of_left_out(hmm, state, problem)
        rest = None if table is None else table.argmax(axis=1)
        return problem.among_given(_label_path(hmm, state, problem), rest)

    def posteriors(self, hmm: Any, state: Any, problem: Problem) -> np.ndarray:
        """Posteriors of all given tokens: the last ones, or under the final weights."""
        if not isinstance(problem, Problem):
            raise AttributeError(
                "a fit on a store or in shards keeps no posteriors in memory: use predict_proba"
            )
        entries, lattice = hmm._model(problem).posterior(state), problem.lattice
        if entries is None:
            weights = _final_weights(hmm, state, problem.cells)
            entries, _ = smoothed_entries(*weights, lattice, problem.corpus.starts)
        table = dense_posterior(lattice, entries, problem.cells.n_states)
        table = problem.among_given(table, _of_left_out(hmm, state, problem))
        return table[:, : problem.cells.n_emitting]

    # Reading a fitted model

    def counts(self, hmm: Any) -> HMMCounts:
        """Flat counts; the unknown item gets the mean count of words seen once."""
        emission = flat_cells(hmm.counts_.emission)
        if hmm._rare is not None:
            emission = emission.copy()
            emission[hmm._cells.unknown] += hmm._rare
        return HMMCounts(hmm.counts_.start, hmm.counts_.transition, emission)

    def read(self, hmm: Any, X: Any, means: bool = False) -> Read:
        """Sequences under a model's weights; unknown words nobody emits are unobserved."""
        corpus = hmm._encoded(X)
        weights, logs = hmm._mean_and_log() if means else hmm._predicting_weights()
        lattice, weights, logs = hmm._with_unknown(corpus, weights, logs)
        lattice = _without_impossible(lattice, corpus, hmm._cells, weights)
        return Read(corpus, lattice, weights, logs, hmm._cells)

    def log_likelihoods(
        self, hmm: Any, X: Any, samples: Iterable[tuple[HMMCounts, Prior]] | None
    ) -> tuple[list[np.ndarray], int]:
        """Under the mean weights, or under each sample; and the number of observed tokens."""
        corpus = hmm._encoded(X)
        lattice, cells = hmm._lattice_of(corpus), hmm._cells
        if samples is None:
            each: Iterable[tuple[Weights, Weights]] = [hmm._mean_and_log()]
        else:
            means = (posterior_mean(counts, hmm._prior, cells) for counts, _ in samples)
            each = ((weights, log_weights(weights)) for weights in means)
        found = [Read(corpus, lattice, *weights, cells).log_z() for weights in each]
        return found, corpus.n_observed

    def samples(self, hmm: Any) -> Iterator[tuple[HMMCounts, Prior]]:
        """Counts and prior of each sample that a sampler has kept."""
        for row, path in enumerate(hmm.samples_):
            yield hmm._sample_counts(path), hmm._sample_prior(row)

    def posterior(self, hmm: Any) -> tuple[HMMCounts, Prior]:
        """Counts and prior that make up the posterior."""
        return hmm._complete_counts(), hmm._prior

    def intervals(
        self, hmm: Any, posteriors: Iterable[tuple[HMMCounts, Prior]], level: float
    ) -> CredibleIntervals:
        """Credible intervals of all probabilities."""
        return mixture_intervals(posteriors, hmm._cells, level)

    def drawn(
        self, hmm: Any, states: np.ndarray, rng: np.random.RandomState
    ) -> tuple[np.ndarray, Any]:
        """What each state emits, and what stands for nothing: None, also for no known symbol."""
        vocabulary = hmm.vocabulary_
        emission = np.cumsum(hmm.emissionprob_[:, : len(vocabulary)], axis=1)
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

    def reordered(self, hmm: Any, by: Any) -> dict[str, Any]:
        """What a model says of its emissions, if its states had another order."""
        rare = None if hmm._rare is None else hmm._rare[by.order]
        return {"counts_": by.tables(hmm.counts_), "_rare": rare}


SYMBOLS = Symbols()


def problem_under(cells: Cells, corpus: Corpus, lattice: Lattice) -> Problem:
    """A corpus under a layout, with the ends and the topology that it asks for."""
    if cells.has_end:
        return problem_with_end(corpus, lattice, cells)
    if cells.topology is None:
        return problem_of(corpus, lattice, cells)
    return restricted_problem(corpus, lattice, cells, cells.topology)


def _final_weights(hmm: Any, state: Any, cells: Cells) -> tuple[Weights, Weights]:
    """Weights of the final counts, and their logs."""
    weights = hmm._weights(state.counts, state.prior, cells, state.weights)
    return weights, hmm._log_weights(weights, state.counts, state.prior, cells)


def _of_left_out(hmm: Any, state: Any, problem: Problem) -> np.ndarray | None:
    """Posteriors of the sequences left out: the most probable legal state by emission."""
    rest = problem.left_out
    if rest is None:
        return None
    weights = _final_weights(hmm, state, rest.cells)
    entries, _ = smoothed_entries(*weights, rest.lattice, rest.corpus.starts)
    return dense_posterior(rest.lattice, entries, rest.cells.n_states)


def _label_path(hmm: Any, state: Any, problem: Problem) -> np.ndarray:
    """States of the training tokens: by the last posterior, or Viterbi by the final weights."""
    path = np.empty(len(problem.corpus.tokens), np.int32)
    posterior = hmm._model(problem).posterior(state)
    if posterior is not None:
        best_states(problem.lattice, posterior, 0, len(path), path)
        return path
    _, logs = _final_weights(hmm, state, problem.cells)
    starts, log_p = problem.corpus.starts, np.empty(problem.corpus.n_sequences)

    def label(begin: int, end: int) -> None:
        viterbi(logs, problem.lattice, starts[begin : end + 1], path, log_p[begin:end])

    on_threads(label, even_pieces(starts, _SHORTEST_PIECE), hmm.n_jobs)
    return path


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
