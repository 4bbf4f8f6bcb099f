"""Observations that are symbols: how sequences of words are read, laid out as lattices of allowed
states, weighted by a fitted chain, and drawn from it (see `chain.observation`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_cvb.chain.observation import EmissionOutcome, Observation
from sklearn_cvb.chain.options import ChainOptions
from sklearn_cvb.chain.parameters import rows
from sklearn_cvb.chain.parameters.rows import ChainPrior, HMMCounts, posterior_mean
from sklearn_cvb.chain.parameters.user_tables import with_tables
from sklearn_cvb.chain.paths.lattice import (
    Cells,
    Problem,
    WordLayout,
    cells_for,
    dense_posterior,
    lattice_for,
    mask_unknown,
    problem_of,
    restrict,
)
from sklearn_cvb.chain.paths.transitions import cells_under
from sklearn_cvb.chain.predictions import prediction
from sklearn_cvb.chain.starts.starting_points import SEGMENTS
from sklearn_cvb.chain.starts.state_merging import StateMerging, is_vague, merging_pays
from sklearn_cvb.chain.symbols.best_paths import best_paths
from sklearn_cvb.chain.symbols.leave_out import HALF_OF_ALL, WHOLE, UpdateUnit
from sklearn_cvb.chain.symbols.model import ChainSettings, SymbolChain, TokenChain
from sklearn_cvb.kernels.chain.decoding import best_states
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights, Lattice
from sklearn_cvb.learning.learned import FitResult, Learned, Reading
from sklearn_cvb.learning.threads import threads_for_each
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, Sequences, Vocabulary
from sklearn_cvb.reading.times import cautions_of_times
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.settings import Windows, window_for

# A sequence of this many tokens that holds most of all is left out in windows.
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
        if self.sample_weight is not None:
            corpus = corpus.weighted(self.sample_weight)
        words, cells, tags, of_words = self.word_layout(vocabulary, corpus, y, streams=streams)
        attributes = {**attributes, **self.attributes_of(words)}
        lattice, words, of_labels = self.training_lattice(words, tags, cells, corpus, sequences, y)
        problem = problem_of(corpus, lattice, cells)
        messages = (*messages, *of_words, *of_labels)
        if not streams:
            messages += self.caution_of_giant(problem)
        # Columns of pandas alone have times of their events.
        if known.is_ordered and isinstance(X, list | tuple) and any(hasattr(x, "iloc") for x in X):
            messages += (*cautions_of_times(X, of_events=True),)
        return Reading(problem, words, attributes, messages, self)

    def caution_of_giant(self, problem: Problem) -> tuple[str, ...]:
        """What to say where leaving out one sequence leaves little."""
        longest, n_tokens = problem.longest
        if 2 * longest <= n_tokens or update_unit_of(self.options, longest, n_tokens) != WHOLE:
            return ()
        return (HALF_OF_ALL.format(int(np.diff(problem.corpus.starts).argmax())),)

    def word_layout(
        self, vocabulary: Vocabulary, corpus: Corpus, y: Any, *, streams: bool = False
    ) -> WordLayout:
        """Words and the whole layout of parameters, with topology and ends."""
        layout = self.read_words(vocabulary, corpus, y, streams)
        transitions = self.options.transitions
        cells = cells_under(layout.cells, transitions)
        if cells.chain.topology is not None and not cells.chain.topology.is_tied:
            self._refuse_token_updates()
        is_stationary = transitions.start == "stationary"
        chain = cells.chain._replace(is_stationary=is_stationary)
        return layout._replace(cells=cells._replace(chain=chain))

    def _refuse_token_updates(self) -> None:
        """Raise where a token moves at a time, which cannot keep to a topology."""
        options, unit = self.options, update_unit_of(self.options)
        update = "sequence" if unit is None else unit.update
        if options.samples is not None:
            update = resampling_unit_of(options)
        if update == "token":
            raise InvalidParameterError(options.kind.why_all_steps)

    def read_words(
        self, vocabulary: Vocabulary, corpus: Corpus | None, y: Any, streams: bool
    ) -> WordLayout:
        """Words and their cells: any state may emit each."""
        options, n_words = self.options, len(vocabulary.types)
        with_unknown = options.words.handle_unknown != "error"
        return WordLayout(vocabulary, cells_for(None, options.n_components, n_words, with_unknown))

    def attributes_of(self, words: Any) -> dict[str, Any]:
        """Fitted attributes of the words."""
        return {"vocabulary_": words.types}

    def training_lattice(
        self, words: Any, tags: Any, cells: Cells, corpus: Corpus, sequences: Sequences, y: Any
    ) -> tuple[Lattice, Any, tuple[str, ...]]:
        """Allowed states of each token, the words with what `y` tells, and messages."""
        lattice = lattice_for(corpus, cells)
        if y is None or self.options.supervision != "y":
            return lattice, words, ()
        from sklearn_cvb.chain.paths.known_states import known_states

        known = known_states(y, corpus, self.options.n_components)
        return restrict(lattice, known)[0], words, ()

    # How a chain begins

    def model(self, reading: Reading) -> SymbolChain:
        """What is learned from a problem."""
        settings = self.settings(reading)
        kind = TokenChain if settings.update_unit.update == "token" else SymbolChain
        return getattr(reading.problem, "chain", kind)(reading.problem, settings)

    def settings(self, reading: Reading) -> ChainSettings:
        """How a chain begins, and what is inferred at a time: all that parameters say of it."""
        options, weight, words = self.options, None, reading.words
        if options.dictionary is not None:
            # One concentration for all emissions can be learned only where all are equal.
            is_equal = getattr(words, "is_clean", False) and options.beta_prior is not None
            weight = 0.0 if is_equal else options.dictionary.weight
        unit = update_unit_of(options, *reading.problem.longest)
        n_restarts = 1 if options.fixed_start else self.n_restarts(reading)
        temperatures = None if options.samples is None else options.samples.temperatures
        init = self.usual_start(reading) if options.init is None else options.init
        if options.init is None and init == "parameter" and unit and unit.update == "token":
            init = "word"
        if isinstance(init, str) and init == "kmeans":
            raise InvalidParameterError(
                f"The 'init' parameter of {options.name} must be a str among 'context', "
                "'parameter', 'token', 'unambiguous' and 'word': 'kmeans' is for numbers "
                "(see `emission`)"
            )
        first = rows.prior_settings(options, weight, is_vague(init))
        return ChainSettings(
            with_tables(first, options, reading.problem.cells, words.types),
            init,
            words.types,
            unit or WHOLE,
            resampling_unit_of(options),
            None if temperatures is None else min(temperatures),
            counts_rare=options.words.handle_unknown in ("rare", "form"),
            n_threads=threads_for_each(n_restarts, options.n_jobs),
        )

    def joins_states(self, reading: Reading) -> bool:
        """Where their number is chosen, and it pays."""
        return self.options.chooses_states and merging_pays(reading.problem)

    def usual_start(self, reading: Reading) -> str | StateMerging:
        """Where to start if `init` does not say; token updates take "word" for "parameter"."""
        words, problem, options = reading.words, reading.problem, self.options
        cells = problem.cells
        if self.joins_states(reading):
            return self.state_merging
        if getattr(words, "is_clean", False) and cells.chain.topology is None:
            assert options.kind.usual_starts is not None, "of taggers"
            return options.kind.usual_starts[words.has_labels]
        if cells.is_full and cells.chain.topology is not None and cells.chain.topology.is_ordered:
            return SEGMENTS
        return "parameter" if cells.is_full and not problem.any_certain else "token"

    # What a fit leaves

    def emission_outcome(
        self, state: Any, counts: HMMCounts, chain: SymbolChain
    ) -> EmissionOutcome:
        """Public counts and beta, weights that rows keep, what unknown words get beside."""
        attributes = {"counts_": rows.public_counts(counts, chain.cells), "beta_": state.hyper.beta}
        rare = rows.rare_in(chain.problem, counts) if chain.settings.counts_rare else None
        return EmissionOutcome(attributes, state.weights, rare)

    def path_attributes(self, result: FitResult) -> dict[str, Any]:
        """The states of the training tokens, and weights of states under an HDP."""
        state, reading = result.best.state, result.reading
        averages, n_jobs = result.algorithm.averages, self.options.n_jobs
        path = best_path(result.model, state, n_jobs, averages=averages)
        labels = self.arrange(reading.words, reading.problem.original, path)
        weights = rows.shared_weights(state.hyper, np.bincount(path, minlength=1))
        return {"labels_": labels, **weights}

    def posteriors(self, state: Any, reading: Reading, averages: bool) -> np.ndarray:
        """Posteriors of all given tokens: the last ones, or under the final weights."""
        problem = reading.problem
        entries, lattice = self.model(reading).state_posteriors(state), problem.lattice
        if entries is None:
            weights = _final_weights(averages, state, problem.cells)
            entries, _ = prediction.smoothed_entries(*weights, lattice, problem.corpus.starts)
        table = dense_posterior(lattice, entries, problem.cells.n_states)
        table = problem.in_original_order(table, _of_impossible(averages, state, problem))
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

    def arrange(self, words: Any, corpus: Corpus, path: np.ndarray) -> np.ndarray:
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
        lattice = mask_unknown(lattice, corpus, learned.layout, weights.emission)
        return prediction.WeightedSequences(corpus, lattice, weights, logs, learned.layout)

    def next_input(self, learned: Learned, before: Any, observation: Any) -> list[Any]:
        """A single observation as X."""
        return [[observation]]

    def read_under_samples(
        self, learned: Learned, X: Any, samples: Iterable[tuple[HMMCounts, ChainPrior]] | None
    ) -> tuple[Iterable[prediction.WeightedSequences], np.ndarray]:
        """Sequences under mean weights, or those of each sample; observed tokens of each."""
        if samples is None:
            return self._under_each(learned, X, [prediction.mean_and_log(learned)])
        means = (posterior_mean(*sample, learned.layout) for sample in samples)
        return self.read_under_each(learned, X, means)

    def read_under_each(
        self, learned: Learned, X: Any, weights: Iterable[ChainWeights]
    ) -> tuple[Iterable[prediction.WeightedSequences], np.ndarray]:
        """Sequences under each of some weights, one after the other; observed tokens of each."""
        return self._under_each(learned, X, ((each, rows.log_weights(each)) for each in weights))

    def _under_each(
        self, learned: Learned, X: Any, weights: Iterable[tuple[ChainWeights, ChainWeights]]
    ) -> tuple[Iterable[prediction.WeightedSequences], np.ndarray]:
        """Sequences under each of some weights and their logs."""
        corpus = self.encoded(learned, X)
        lattice, cells = self.lattice_of(learned, corpus), learned.layout
        sequences = (
            prediction.WeightedSequences(corpus, lattice, *pair, cells) for pair in weights
        )
        return sequences, corpus.observed_lengths

    def draw_emissions(
        self,
        learned: Learned,
        states: np.ndarray,
        starts: np.ndarray,
        rng: np.random.RandomState,
        contexts: None,
    ) -> tuple[np.ndarray, Any]:
        """A symbol for each state; None for a missing one, and where no known symbol is drawn."""
        vocabulary = learned.words.types
        emission = np.cumsum(prediction.emission_table(learned)[:, : len(vocabulary)], axis=1)
        symbols = np.full(len(states), -1, np.int32)
        for state in np.intersect1d(states, np.flatnonzero(emission.sum(axis=1))):
            in_state, row = states == state, emission[state]
            levels = rng.random_sample(np.count_nonzero(in_state)) * row[-1]
            # A product with a tiny total may round up to it.
            last = np.searchsorted(row, row[-1])
            symbols[in_state] = np.minimum(np.searchsorted(row, levels, side="right"), last)
        known = symbols >= 0
        if known.all():
            return vocabulary[symbols], None
        words = np.full(len(symbols), None, dtype=object)
        words[known] = vocabulary[symbols[known]]
        return words, None

    def reorder_states(self, learned: Learned, by: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Emissions in another order of states."""
        rare = learned.unknown_word_counts
        rare = None if rare is None else rare[by.order]
        return {"counts": by.tables(learned.counts), "unknown_word_counts": rare}, {}


# What is left out or drawn at a time, and where a fit ends


def update_unit_of(options: ChainOptions, longest: int = 0, n_tokens: int = 0) -> UpdateUnit | None:
    """What is left out at a time, given the longest sequence; None where nothing is left out."""
    if not options.is_collapsed:
        return None
    if isinstance(options.update, Windows):
        return UpdateUnit("sequence", options.update.length)
    if options.update is None:
        window = window_for(longest, n_tokens) if longest >= _LONG else None
        return UpdateUnit("sequence", window)
    return UpdateUnit(options.update, None)


def resampling_unit_of(options: ChainOptions) -> str:
    """What a sampler draws at a time."""
    return "token" if options.samples is None or options.update is None else options.update


def best_path(chain: SymbolChain, state: Any, n_jobs: int | None, *, averages: bool) -> np.ndarray:
    """States of all original tokens, also of impossible sequences."""
    problem = chain.problem
    table = _of_impossible(averages, state, problem)
    impossible = None if table is None else table.argmax(axis=1)
    posterior = chain.state_posteriors(state)
    if posterior is None:
        path, _ = best_paths(_final_weights(averages, state, problem.cells)[1], problem, n_jobs)
    else:
        path = np.empty(len(problem.corpus.tokens), np.int32)
        best_states(problem.lattice, posterior, 0, len(path), path)
    return problem.in_original_order(path, impossible)


def _final_weights(averages: bool, state: Any, cells: Cells) -> tuple[ChainWeights, ChainWeights]:
    """Weights of the final counts, and their logs."""
    return rows.weights_under(state.counts, state.prior, cells, state.weights, averages=averages)


def _of_impossible(averages: bool, state: Any, problem: Problem) -> np.ndarray | None:
    """Posteriors of impossible sequences: the most probable legal state by emission."""
    impossible = problem.impossible
    if impossible is None:
        return None
    weights = _final_weights(averages, state, impossible.cells)
    entries, _ = prediction.smoothed_entries(*weights, impossible.lattice, impossible.corpus.starts)
    return dense_posterior(impossible.lattice, entries, impossible.cells.n_states)
