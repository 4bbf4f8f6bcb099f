"""Grammars that learn batch after batch, or a few sentences at a time."""

from typing import Annotated, Any

from sklearn_cvb.estimators.base_grammars import BasePCFG
from sklearn_cvb.estimators.door import columns_of
from sklearn_cvb.grammar.layout import laid_out_over
from sklearn_cvb.learning.learned import Learned, Reading
from sklearn_cvb.reading import corpus as reading
from sklearn_cvb.reading.corpus import refuse_lengths
from sklearn_cvb.reading.validation import StrOptions
from sklearn_cvb.settings import MiniBatches
from sklearn_cvb.streams.grammar_stream import GrammarStream, carried, places_in
from sklearn_cvb.streams.in_batches import Batches, InBatches
from sklearn_cvb.streams.one_batch import RunningCounts


class StepwiseUpdate(Batches):
    """When EM changes weights.

    Parameters
    ----------
    update : {"batch", "sequence"} or MiniBatches
        When weights change. "batch": after each sweep, from the counts of all sentences.
        "sequence" or ``MiniBatches(size)``: after every sentence or every few (stepwise or online
        EM, Liang and Klein 2009), which come in an order drawn anew for each sweep. Step k = 0, 1,
        ... keeps 1 - eta of the running counts and adds eta times the batch's, scaled up to the
        corpus, with eta = (k + 2) ** -decay (see `step_sizes`); the first running counts are those
        of a batch E-step. Stops after two small changes in a row.
    step_sizes : StepSizes or None
        How fast steps get smaller, in stepwise EM and in `partial_fit`.
    """

    update: Annotated[Any, StrOptions({"batch", "sequence"}), MiniBatches] = "batch"


class GrammarInBatches(InBatches, BasePCFG):
    """A grammar that learns from one batch of sentences after another."""

    def _read_batch(self, X: Any, y: Any, learned: Learned) -> tuple[Reading, RunningCounts]:
        """A batch that is not the first: without a grammar new words get rules."""
        observation = self._observation(to_fit=True)
        sequences = reading.sequences_again(observation.options.words, self._taken(X))
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
