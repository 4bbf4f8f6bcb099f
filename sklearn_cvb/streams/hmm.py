"""Hidden Markov models that learn batch after batch: all that streams add to them."""

from typing import Any

import numpy as np

from sklearn_cvb.chain.paths.lattice import problem_of
from sklearn_cvb.chain.paths.transitions import refuse_contexts
from sklearn_cvb.chain.predictions.prediction import running_counts
from sklearn_cvb.chain.symbols.model import SymbolChain
from sklearn_cvb.chain.symbols.observed import SymbolObservation
from sklearn_cvb.estimators.base_hmm import BaseHMM
from sklearn_cvb.estimators.base_taggers import BaseHMMTagger
from sklearn_cvb.estimators.door import columns_of
from sklearn_cvb.learning.learned import Learned, Reading
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import Corpus, Vocabulary, refuse_lengths
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.settings import StepSizes, Transitions, Windows
from sklearn_cvb.streams.in_batches import InBatches
from sklearn_cvb.streams.one_batch import RunningCounts, Stream
from sklearn_cvb.streams.vocabulary_growth import Growth, with_words


class HMMInBatches(InBatches, BaseHMM):
    """A hidden Markov model that learns from one batch of sequences after another."""

    def _read_first(self, X: Any, y: Any) -> Reading:
        read = self._read(X, y, streams=True)
        if not isinstance(read.observation, SymbolObservation):
            return read
        said = read.observation.caution_of_giant(read.problem)
        # What is gone through in steps leaves nothing out.
        if said and self._stream(self._model(read)).pieces().sizes is None:
            read = read._replace(messages=(*read.messages, *said))
        return read

    def _read_batch(self, X: Any, y: Any, learned: Learned) -> tuple[Reading, RunningCounts]:
        of_symbols = learned.more.numeric is None
        if of_symbols != self._emits_symbols:
            before = "symbols" if of_symbols else "numbers"
            raise ValueError(
                f"partial_fit cannot go on from {before} with emission={self.emission!r}: use a "
                "new model"
            )
        observation = self._observation(to_fit=True)
        observation.check()
        if isinstance(observation, SymbolObservation):
            return self._read_symbols(observation, X, y, learned)
        return self._read_numbers(observation, X, y, learned)

    def _read_symbols(
        self, observation: SymbolObservation, X: Any, y: Any, learned: Learned
    ) -> tuple[Reading, RunningCounts]:
        """A batch whose new words enter the vocabulary and the layout, and the counts so far."""
        known = observation.options.words
        sequences = reading.sequences_again(known, self._taken(X))
        refuse_lengths(y, len(sequences.starts) - 1, len(sequences.tokens))
        vocabulary = learned.words.index
        if known.vocabulary is None:
            types = reading.types_of(sequences.tokens, sequences.starts)
            vocabulary = [*vocabulary, *(word for word in types if word not in vocabulary)]
        words = reading.vocabulary_of(list(vocabulary))
        corpus = reading.encode(sequences, words.index)
        corpus = reading.checked(known, corpus, sequences, len(words.index))
        growth, words, told = self._grown(learned, words, corpus, y)
        running, kept, cells = running_counts(learned), learned.kept, growth.cells
        counts = running._replace(emission=growth.carried(running.emission))
        if kept is not None:
            kept = kept._replace(emission=growth.shares(kept.emission, learned.layout.n_rows))
        told_of = words, told, cells, corpus, sequences, y
        lattice, words, messages = observation.training_lattice(*told_of)
        attributes = columns_of(self) | observation.attributes_of(words)
        problem = problem_of(corpus, lattice, cells)
        read = Reading(problem, words, attributes, messages, observation)
        return read, RunningCounts(counts, kept)

    def _grown(
        self, learned: Learned, vocabulary: Vocabulary, corpus: Corpus, y: Any
    ) -> tuple[Growth, Any, Any]:
        """The layout, words and what is told, with the new words of a batch."""
        cells = learned.layout
        every = np.arange(cells.n_emitting, dtype=np.int32)
        rows = [every] * (len(vocabulary.types) - cells.n_words)
        return with_words(cells, rows), vocabulary, None

    def _read_numbers(
        self, observation: Any, X: Any, y: Any, learned: Learned
    ) -> tuple[Reading, RunningCounts]:
        """A batch with the columns of the first, under its family, and the statistics so far."""
        from sklearn_cvb.chain.numbers.model import NumberWeights
        from sklearn_cvb.chain.numbers.observed import counts_of_fit, settings_of
        from sklearn_cvb.streams.number_stream import batch_of

        asked, before = observation.options, learned.more.numeric
        has_contexts = asked.transitions.contexts is not None
        refuse_contexts(has_contexts, "partial_fit: fit all sequences at once")
        if settings_of(asked) != before.settings:
            raise InvalidParameterError(
                "emission or durations have changed since the first call or fit, and with them "
                "what the statistics mean: set them back, or begin anew with fit"
            )
        given, observations, _, _ = observation.given_again(
            learned, self._taken(X, learned=learned)
        )
        problem = batch_of(learned, given, observations, y, asked)
        kept = NumberWeights(learned.kept, None, before.point)
        read = Reading(problem, None, columns_of(self), observation=observation)
        return read, RunningCounts(counts_of_fit(learned), kept)

    def _stream(self, model: Any) -> Stream:
        if not isinstance(model, SymbolChain):
            from sklearn_cvb.streams.number_stream import NumberStream

            return NumberStream(model)
        from sklearn_cvb.streams.symbol_stream import InSteps, SymbolStream, decays_of

        length = getattr(getattr(self, "update", None), "length", Windows.length)
        decays = decays_of(self._algorithm_of_batches())
        return SymbolStream(model, InSteps(length, decays, self.supervision == "y"))

    def _learned_priors(self) -> list[str]:
        shared = Transitions.of(self.transitions).shared is not None
        return super()._learned_priors() + ["an HDP as prior of transitions"] * shared


class TaggerInBatches(BaseHMMTagger):
    """A tagger of which batches tell more entries, labels and forms of words."""

    def _grown(
        self, learned: Learned, vocabulary: Vocabulary, corpus: Corpus, y: Any
    ) -> tuple[Growth, Any, Any]:
        """The layout and what is known, with the new words of a batch."""
        from sklearn_cvb.chain.tags import knowledge
        from sklearn_cvb.streams.tag_growth import grown

        settings = knowledge.settings_of(self._options())
        total_samples = StepSizes.of(getattr(self, "step_sizes", None)).total_samples
        return grown(learned, vocabulary, corpus, y, settings, total_samples)
