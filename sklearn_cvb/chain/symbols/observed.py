"""What hidden Markov models of symbols observe: sequences of words (see `chain.observation`)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_cvb.chain.observation import EmissionOutcome, Observation
from sklearn_cvb.chain.options import ChainOptions
from sklearn_cvb.chain.parameters.rows import (
    ChainPrior,
    HMMCounts,
    log_weights,
    posterior_mean,
    prior_settings,
    public_counts,
    rare_in,
    shared_weights,
    weights_under,
)
from sklearn_cvb.chain.parameters.user_tables import with_given
from sklearn_cvb.chain.paths.lattice import (
    Cells,
    Problem,
    WordLayout,
    cells_for,
    cells_with_end,
    dense_posterior,
    lattice_for,
    problem_of,
    restrict,
    topology_of,
    without_impossible,
)
from sklearn_cvb.chain.predictions import prediction
from sklearn_cvb.chain.starts.starting_points import SEGMENTS
from sklearn_cvb.chain.starts.state_merging import MERGED, pays
from sklearn_cvb.chain.symbols.leave_out import HALF_OF_ALL, WHOLE, UpdateUnit
from sklearn_cvb.chain.symbols.model import ChainSettings, SymbolChain, TokenChain
from sklearn_cvb.kernels.chain.decoding import best_states, viterbi
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights, Lattice
from sklearn_cvb.learning.learned import FitResult, Learned, Reading
from sklearn_cvb.learning.threads import even_pieces, on_threads, threads_for_each
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, Sequences, Vocabulary
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.settings import Windows, window_for

# A sequence of so many tokens that holds most of all is left out in windows.
_LONG = 100

# Fewer tokens than this are not worth a thread.
_SHORTEST_PIECE = 5000


@dataclass(frozen=True)
class SymbolObservation(Observation):
    """Symbols: words of a vocabulary, each of which any state may emit."""

    has_vocabulary = True

    # Reading

    def read(self, X: Any, y: Any, *, streams: bool = False) -> Reading:
        """X and y, to be fitted to."""
        known = self.options.words
        sequences, attributes, messages = reading.sequences_to_fit(known, X, y)
        types = reading.types_to_learn(known, sequences)
        vocabulary, corpus = reading.encoded_by(known, types, sequences)
        words, cells, told, of_words = self.words_and_cells(vocabulary, corpus, y, streams=streams)
        attributes = {**attributes, **self.attributes_of(words)}
        lattice, words, of_labels = self.training_lattice(words, told, cells, corpus, sequences, y)
        problem = problem_of(corpus, lattice, cells)
        messages = (*messages, *of_words, *of_labels)
        if not streams:
            messages += self.caution_of_giant(problem)
        return Reading(problem, words, attributes, messages, self)

    def caution_of_giant(self, problem: Problem) -> tuple[str, ...]:
        """What to say where leaving out one sequence leaves little."""
        longest, n_tokens = problem.longest
        if 2 * longest <= n_tokens or left_out_by(self.options, longest, n_tokens) != WHOLE:
            return ()
        return (HALF_OF_ALL.format(int(np.diff(problem.corpus.starts).argmax())),)

    def words_and_cells(
        self, vocabulary: Vocabulary, corpus: Corpus, y: Any, *, streams: bool = False
    ) -> WordLayout:
        """What words tell, and the whole layout of parameters, with topology and ends."""
        read = self.words_read(vocabulary, corpus, y, streams)
        transitions = self.options.transitions
        topology = topology_of(transitions.topology, read.cells.n_states)
        if topology is not None and not topology.tied:
            self._refuse_token_updates()
        is_stationary = transitions.start == "stationary"
        cells = read.cells._replace(topology=topology, is_stationary=is_stationary)
        return read._replace(cells=cells_with_end(cells) if transitions.end_state else cells)

    def _refuse_token_updates(self) -> None:
        """Raise where a token moves at a time, which cannot keep to a topology."""
        asked, left_out = self.options, left_out_by(self.options)
        update = "sequence" if left_out is None else left_out.update
        if asked.samples is not None:
            update = resampled_by(asked)
        if update == "token":
            raise InvalidParameterError(asked.kind.why_all_steps)

    def words_read(
        self, vocabulary: Vocabulary, corpus: Corpus | None, y: Any, streams: bool
    ) -> WordLayout:
        """What words tell: that any state may emit them."""
        asked, n_words = self.options, len(vocabulary.types)
        with_unknown = asked.words.handle_unknown != "error"
        return WordLayout(vocabulary, cells_for(None, asked.n_components, n_words, with_unknown))

    def attributes_of(self, words: Any) -> dict[str, Any]:
        """The fitted attributes that tell them."""
        return {"vocabulary_": words.types}

    def training_lattice(
        self, words: Any, told: Any, cells: Cells, corpus: Corpus, sequences: Sequences, y: Any
    ) -> tuple[Lattice, Any, tuple[str, ...]]:
        """Allowed states of each token, the words with what `y` tells, and messages."""
        lattice = lattice_for(corpus, cells)
        if y is None or self.options.supervision != "y":
            return lattice, words, ()
        from sklearn_cvb.chain.paths.known_states import known_states

        known = known_states(y, corpus, self.options.n_components)
        return restrict(lattice, known)[0], words, ()

    # How a chain begins

    def model(self, read: Reading) -> SymbolChain:
        """What is learned from a problem."""
        settings = self.settings(read)
        kind = TokenChain if settings.left_out.update == "token" else SymbolChain
        return getattr(read.problem, "chain", kind)(read.problem, settings)

    def settings(self, read: Reading) -> ChainSettings:
        """How a chain begins, and what is inferred at a time: all that parameters say of it."""
        asked, weight, words = self.options, None, read.words
        if asked.dictionary is not None:
            # One concentration for all emissions can be learned only where all are equal.
            is_equal = getattr(words, "is_clean", False) and asked.beta_prior is not None
            weight = 0.0 if is_equal else asked.dictionary.weight
        left_out = left_out_by(asked, *read.problem.longest)
        temperatures = None if asked.samples is None else asked.samples.temperatures
        init = self.usual_start(read) if asked.init is None else asked.init
        if asked.init is None and init == "parameter" and left_out and left_out.update == "token":
            init = "word"
        if isinstance(init, str) and init == "kmeans":
            raise InvalidParameterError(
                f"The 'init' parameter of {asked.name} must be a str among 'context', "
                "'parameter', 'token', 'unambiguous' and 'word': 'kmeans' is for numbers "
                "(see `emission`)"
            )
        return ChainSettings(
            with_given(prior_settings(asked, weight), asked, read.problem.cells, words.types),
            init,
            words.types,
            left_out or WHOLE,
            resampled_by(asked),
            None if temperatures is None else min(temperatures),
            counts_rare=asked.words.handle_unknown in ("rare", "form"),
            n_threads=threads_for_each(1 if asked.fixed_start else asked.n_restarts, asked.n_jobs),
        )

    def usual_start(self, read: Reading) -> str:
        """Where to start if `init` does not say; token updates take "word" for "parameter"."""
        words, problem, asked = read.words, read.problem, self.options
        cells = problem.cells
        chooses = asked.weights is not None and not problem.any_told
        # States may be joined before a fit that chooses their number, where it pays.
        if chooses and pays(problem.n_learned, cells.n_emitting, cells.n_rows):
            return MERGED
        if getattr(words, "is_clean", False) and cells.topology is None:
            assert asked.kind.usual_starts is not None, "of taggers"
            return asked.kind.usual_starts[words.is_told]
        if cells.is_full and cells.topology is not None and cells.topology.is_ordered:
            return SEGMENTS
        return "parameter" if cells.is_full and not problem.any_told else "token"

    # What a fit leaves

    def left_of(self, state: Any, counts: HMMCounts, chain: SymbolChain) -> EmissionOutcome:
        """Public counts and beta, weights that rows keep, what unknown words get beside."""
        attributes = {"counts_": public_counts(counts, chain.cells), "beta_": state.hyper.beta}
        rare = rare_in(chain.problem, counts) if chain.settings.counts_rare else None
        return EmissionOutcome(attributes, state.weights, rare)

    def left_paths(self, result: FitResult) -> dict[str, Any]:
        """The states of the training tokens, and what follows from them."""
        state, read = result.best.state, result.read
        averages, n_jobs = result.algorithm.averages, self.options.n_jobs
        found = path_of_chain(result.model, state, n_jobs, averages=averages)
        labels = self.arranged(read.words, read.problem.given, found)
        return {"labels_": labels, **shared_weights(state.hyper, np.bincount(found, minlength=1))}

    def posteriors(self, state: Any, read: Reading, averages: bool) -> np.ndarray:
        """Posteriors of all given tokens: the last ones, or under the final weights."""
        problem = read.problem
        entries, lattice = self.model(read).posterior(state), problem.lattice
        if entries is None:
            weights = _final_weights(averages, state, problem.cells)
            entries, _ = prediction.smoothed_entries(*weights, lattice, problem.corpus.starts)
        table = dense_posterior(lattice, entries, problem.cells.n_states)
        table = problem.among_given(table, _of_left_out(averages, state, problem))
        return table[:, : problem.cells.n_emitting]

    # Reading a fitted model

    def lattice_of(self, learned: Learned, corpus: Corpus) -> Lattice:
        """Allowed states of a new corpus."""
        return lattice_for(corpus, learned.layout)

    def with_unknown(
        self, learned: Learned, corpus: Corpus, weights: ChainWeights, logs: ChainWeights
    ) -> tuple[Lattice, ChainWeights, ChainWeights]:
        """Weights with what else is known of unknown words, and the lattice that reads them."""
        return self.lattice_of(learned, corpus), weights, logs

    def arranged(self, words: Any, corpus: Corpus, path: np.ndarray) -> np.ndarray:
        """States in the shape of the input."""
        return reading.arrange(corpus, path.astype(np.int64), -1)

    def encoded(self, learned: Learned, X: Any) -> Corpus:
        """X in numbers of the words that a fit has seen."""
        words = learned.words
        return reading.encoded_again(self.options.words, words.index, X, words.listed)

    def read_under(
        self,
        learned: Learned,
        X: Any,
        chain: tuple[ChainWeights, ChainWeights],
        means: bool = False,
    ) -> prediction.WeightedSequences:
        """Sequences under weights and their logs; unknown words nobody emits are unobserved."""
        corpus = self.encoded(learned, X)
        lattice, weights, logs = self.with_unknown(learned, corpus, *chain)
        lattice = without_impossible(lattice, corpus, learned.layout, weights.emission)
        return prediction.WeightedSequences(corpus, lattice, weights, logs, learned.layout)

    def steps_after(self, learned: Learned, before: Any, observation: Any) -> list[Any]:
        """A single observation as X."""
        return [[observation]]

    def reads_under(
        self, learned: Learned, X: Any, samples: Iterable[tuple[HMMCounts, ChainPrior]] | None
    ) -> tuple[Iterable[prediction.WeightedSequences], np.ndarray]:
        """Under the mean weights, or those of each sample; and how many tokens were observed."""
        cells = learned.layout
        if samples is None:
            return self.reads_at(learned, X, [prediction.mean_weights(learned)])
        means = (posterior_mean(counts, prior, cells) for counts, prior in samples)
        return self.reads_at(learned, X, means)

    def reads_at(
        self, learned: Learned, X: Any, weights: Iterable[ChainWeights]
    ) -> tuple[Iterable[prediction.WeightedSequences], np.ndarray]:
        """Sequences under each of some weights; and how many tokens were observed."""
        corpus = self.encoded(learned, X)
        lattice, cells = self.lattice_of(learned, corpus), learned.layout
        found = (
            prediction.WeightedSequences(corpus, lattice, own, log_weights(own), cells)
            for own in weights
        )
        return found, corpus.observed_lengths

    def drawn(
        self,
        learned: Learned,
        states: np.ndarray,
        starts: np.ndarray,
        rng: np.random.RandomState,
        contexts: None,
    ) -> tuple[np.ndarray, Any]:
        """What each state emits, and what stands for nothing: None, also for no known symbol."""
        vocabulary = learned.words.types
        emission = np.cumsum(prediction.emission_table(learned)[:, : len(vocabulary)], axis=1)
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

    def reordered(self, learned: Learned, by: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is learned of emissions, and attributes that tell it, in another order."""
        rare = None if learned.rare is None else learned.rare[by.order]
        return {"counts": by.tables(learned.counts), "rare": rare}, {}


# What is left out or drawn at a time, and where a fit ends


def left_out_by(asked: ChainOptions, longest: int = 0, n_tokens: int = 0) -> UpdateUnit | None:
    """What is left out at a time, given the longest sequence; None where nothing is left out."""
    if not asked.leaves_out:
        return None
    if isinstance(asked.update, Windows):
        return UpdateUnit("sequence", asked.update.length)
    if asked.update is None:
        window = window_for(longest, n_tokens) if longest >= _LONG else None
        return UpdateUnit("sequence", window)
    return UpdateUnit(asked.update, None)


def resampled_by(asked: ChainOptions) -> str:
    """What a sampler draws at a time."""
    return "token" if asked.samples is None or asked.update is None else asked.update


def path_of_chain(
    chain: SymbolChain, state: Any, n_jobs: int | None, *, averages: bool
) -> np.ndarray:
    """States of all given tokens, also of sequences left out."""
    problem = chain.problem
    table = _of_left_out(averages, state, problem)
    rest = None if table is None else table.argmax(axis=1)
    posterior = chain.posterior(state)
    found = np.empty(len(problem.corpus.tokens), np.int32)
    if posterior is not None:
        best_states(problem.lattice, posterior, 0, len(found), found)
        return problem.among_given(found, rest)
    _, logs = _final_weights(averages, state, problem.cells)
    starts, log_p = problem.corpus.starts, np.empty(problem.corpus.n_sequences)

    def label(begin: int, end: int) -> None:
        viterbi(logs, problem.lattice, starts[begin : end + 1], found, log_p[begin:end])

    on_threads(label, even_pieces(starts, _SHORTEST_PIECE), n_jobs)
    return problem.among_given(found, rest)


def _final_weights(averages: bool, state: Any, cells: Cells) -> tuple[ChainWeights, ChainWeights]:
    """Weights of the final counts, and their logs."""
    return weights_under(state.counts, state.prior, cells, state.weights, averages=averages)


def _of_left_out(averages: bool, state: Any, problem: Problem) -> np.ndarray | None:
    """Posteriors of the sequences left out: the most probable legal state by emission."""
    rest = problem.left_out
    if rest is None:
        return None
    weights = _final_weights(averages, state, rest.cells)
    entries, _ = prediction.smoothed_entries(*weights, rest.lattice, rest.corpus.starts)
    return dense_posterior(rest.lattice, entries, rest.cells.n_states)
