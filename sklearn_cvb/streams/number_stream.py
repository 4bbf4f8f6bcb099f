"""The stream of a chain of numbers: running counts and statistics, batch by batch."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_cvb.chain.numbers.e_step import NumberWeights, NumericProblem
from sklearn_cvb.chain.numbers.model import NumberChain, without_emission
from sklearn_cvb.chain.numbers.observed import (
    NumberObservation,
    counts_of_fit,
    labelled_states,
    settings_of,
)
from sklearn_cvb.chain.numbers.series import split_into_steps
from sklearn_cvb.chain.parameters.rows import ChainPrior, HMMCounts
from sklearn_cvb.chain.paths.transitions import refuse_varying
from sklearn_cvb.emissions.emission import refuse_learning_from_steps
from sklearn_cvb.learning.learned import Learned, Reading
from sklearn_cvb.reading.corpus import refuse_lengths
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.streams.one_batch import Stream, StreamCounts
from sklearn_cvb.streams.vocabulary_growth import prior_with_counts


@dataclass(frozen=True)
class NumberStream(Stream):
    """Batches of numbers: each is one step."""

    model: NumberChain

    def prior_with_counts(
        self, prior: ChainPrior, counts: HMMCounts
    ) -> tuple[ChainPrior, HMMCounts]:
        """The counts and statistics so far in the prior, and none beside it to start from."""
        nothing = HMMCounts(*map(np.zeros_like, counts))
        known = prior_with_counts(prior, without_emission(counts), self.model.cells)
        return known._replace(emission=counts.emission), nothing


def read_number_batch(
    observation: NumberObservation, learned: Learned, X: Any, y: Any
) -> tuple[Reading, StreamCounts]:
    """A batch with the columns of the first, under its family, and the statistics so far."""
    asked, before, cells = observation.options, learned.extra.numeric, learned.layout
    refuse_varying(asked.transitions.varies_by, "partial_fit: fit all sequences at once")
    refuse_learning_from_steps(before.family, "partial_fit: fit all sequences at once")
    if settings_of(asked) != before.settings:
        raise InvalidParameterError(
            "emission or durations have changed since the first call or fit, and with them what "
            "the statistics mean: set them back, or begin again with fit"
        )
    given, observations = observation.read_new(learned, X)[:2]
    n_units = given.n_sequences if before.rows_are_sequences else int(given.starts[-1])
    refuse_lengths(y, given.n_sequences, n_units)
    known = labelled_states(asked, y, given, cells)
    problem = NumericProblem(
        *(split_into_steps(given, cells), given, observations, before.family, cells),
        *(before.columns, before.rows_are_sequences, None, before.settings, known),
    )._replace(longest=before.longest)
    running = StreamCounts(
        counts_of_fit(learned), NumberWeights(learned.fallback, None, before.point)
    )
    return Reading(problem, None, {}, observation=observation), running
