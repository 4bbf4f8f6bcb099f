"""Grammars that learn batch after batch, or a few sentences at a time."""

from typing import Any

from sklearn_cvb.estimators.base_grammars import BasePCFG
from sklearn_cvb.estimators.door import columns_of, taken
from sklearn_cvb.grammar.layout import laid_out_over
from sklearn_cvb.learning.learned import Learned, Reading
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import refuse_lengths
from sklearn_cvb.streams.grammar_stream import GrammarStream, carried, places_in
from sklearn_cvb.streams.in_batches import InBatches
from sklearn_cvb.streams.one_batch import RunningCounts


class GrammarInBatches(InBatches, BasePCFG):
    """A grammar that learns from one batch of sentences after another."""

    def _read_batch(self, X: Any, y: Any, learned: Learned) -> tuple[Reading, RunningCounts]:
        """A batch that is not the first: without a grammar new words get rules."""
        observation = self._observation(to_fit=True)
        sequences = reading.sequences_again(observation.options.words, taken(self, X))
        refuse_lengths(y, len(sequences.starts) - 1, len(sequences.tokens))
        words, layout, counts, kept = learned.words, learned.layout, learned.counts, learned.kept
        types = reading.types_of(sequences.tokens, sequences.starts)
        new = [word for word in types if word not in words.index]
        if new and not layout.is_given and self.vocabulary is None:
            before, types = layout.grammar, [*words.types.tolist(), *new]
            words, layout = laid_out_over(observation.options, types)
            places, n_rules = places_in(layout.grammar, before), len(layout.grammar.rules)
            counts = carried(counts, places, n_rules, 0.0)
            kept = None if kept is None else carried(kept, places, n_rules, 1.0 / len(types))
        read = observation.under(words, layout, sequences, y)
        read = read._replace(attributes=read.attributes | columns_of(self))
        return read, RunningCounts(counts, kept)

    def _stream(self, model: Any) -> GrammarStream:
        return GrammarStream(model)
