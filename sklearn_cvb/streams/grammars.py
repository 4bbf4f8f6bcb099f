"""Grammars that learn batch after batch, or a few sentences at a time."""

from typing import Annotated, Any

from sklearn_cvb.estimators.base_grammars import BasePCFG
from sklearn_cvb.estimators.door import columns_of
from sklearn_cvb.learning.learned import Learned, Reading
from sklearn_cvb.reading.validation import StrOptions
from sklearn_cvb.settings import MiniBatches
from sklearn_cvb.streams.grammar_stream import GrammarStream, read_sentence_batch
from sklearn_cvb.streams.in_batches import BatchFields, PartialFitModel
from sklearn_cvb.streams.one_batch import StreamCounts


class StepwiseUpdateFields(BatchFields):
    """When EM changes weights.

    Parameters
    ----------
    update : {"batch", "viterbi", "sequence"} or MiniBatches
        When weights change. "batch": after each sweep, from the counts of all sentences; "viterbi":
        the same with the heaviest tree of each sentence alone (Viterbi training, or hard EM).
        "sequence" or ``MiniBatches(size)``: after every sentence or every few (stepwise or online
        EM, Liang and Klein 2009), which come in an order drawn again for each sweep. Step k = 0, 1,
        ... keeps 1 - eta of the running counts and adds eta times the batch's, scaled up to the
        corpus, with eta = (k + 2) ** -decay (see `step_sizes`); the first running counts are those
        of a batch E-step. Stops after two small changes in a row.
    step_sizes : StepSizes or None
        How fast steps get smaller, in stepwise EM and in `partial_fit`.
    """

    update: Annotated[Any, StrOptions({"batch", "viterbi", "sequence"}), MiniBatches] = "batch"


class GrammarInBatches(PartialFitModel, BasePCFG):
    """A grammar that learns from one batch of sentences after another."""

    def _read_batch(self, X: Any, y: Any, learned: Learned) -> tuple[Reading, StreamCounts]:
        observation = self._observation(to_fit=True)
        reading, running = read_sentence_batch(observation, learned, self._checked_input(X), y)
        return reading._replace(attributes=reading.attributes | columns_of(self)), running

    def _stream(self, model: Any) -> GrammarStream:
        return GrammarStream(model)
