"""Hidden Markov models that learn batch after batch: all that streams add to them."""

from typing import Any

from sklearn_cvb.chain.symbols.model import SymbolChain
from sklearn_cvb.chain.symbols.observed import SymbolObservation
from sklearn_cvb.estimators.base_hmm import BaseHMM
from sklearn_cvb.estimators.door import columns_of
from sklearn_cvb.learning.learned import Learned, Reading
from sklearn_cvb.settings import StepSizes, Transitions, Windows
from sklearn_cvb.streams.in_batches import PartialFitModel
from sklearn_cvb.streams.one_batch import StreamCounts, Stream


class HMMInBatches(PartialFitModel, BaseHMM):
    """A hidden Markov model that learns from one batch of sequences after another."""

    def _read_first(self, X: Any, y: Any) -> Reading:
        reading = self._read(X, y, streams=True)
        if not isinstance(reading.observation, SymbolObservation):
            return reading
        said = reading.observation.caution_of_giant(reading.problem)
        # What is gone through in steps leaves nothing out.
        if said and self._stream(self._model(reading)).pieces()[0] is None:
            reading = reading._replace(messages=(*reading.messages, *said))
        return reading

    def _read_batch(self, X: Any, y: Any, learned: Learned) -> tuple[Reading, StreamCounts]:
        of_symbols = learned.extra.numeric is None
        if of_symbols != self._emits_symbols:
            before = "symbols" if of_symbols else "numbers"
            raise ValueError(
                f"partial_fit cannot go on from {before} with emission={self.emission!r}: use a "
                "new model"
            )
        observation = self._observation(to_fit=True)
        observation.check()
        if isinstance(observation, SymbolObservation):
            from sklearn_cvb.streams.word_batches import read_word_batch

            total = StepSizes.of(self.step_sizes).total_samples
            reading, running = read_word_batch(
                observation, learned, self._checked_input(X), y, total
            )
        else:
            from sklearn_cvb.chain.numbers.observed import NumberObservation
            from sklearn_cvb.streams.number_stream import read_number_batch

            assert isinstance(observation, NumberObservation), "else there are words"
            X = self._checked_input(X, learned=learned)
            reading, running = read_number_batch(observation, learned, X, y)
        return reading._replace(attributes=columns_of(self) | reading.attributes), running

    def _stream(self, model: Any) -> Stream:
        if not isinstance(model, SymbolChain):
            from sklearn_cvb.streams.number_stream import NumberStream

            return NumberStream(model)
        from sklearn_cvb.streams.symbol_stream import SymbolStream, decays_of

        length = getattr(getattr(self, "update", None), "length", Windows.length)
        decays = decays_of(self._algorithm_of_batches())
        return SymbolStream(model, length, decays, self.supervision == "y")

    def _learned_priors(self) -> list[str]:
        shared = Transitions.of(self.transitions).shared is not None
        return super()._learned_priors() + ["an HDP as prior of transitions"] * shared
