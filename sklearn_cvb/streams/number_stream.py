"""Chains of states that emit numbers, batch by batch."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_cvb.chain.numbers.e_step import NumericProblem
from sklearn_cvb.chain.numbers.model import NumberChain, without_emission
from sklearn_cvb.chain.numbers.observed import states_told
from sklearn_cvb.chain.numbers.series import apart
from sklearn_cvb.chain.options import ChainOptions
from sklearn_cvb.chain.parameters.rows import HMMCounts, Prior
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.reading.corpus import Corpus, refuse_lengths
from sklearn_cvb.streams.one_batch import Stream
from sklearn_cvb.streams.vocabulary_growth import added_to


@dataclass(frozen=True)
class NumberStream(Stream):
    """Batches of numbers: each is one step."""

    model: NumberChain

    def given(self, prior: Prior, counts: HMMCounts) -> tuple[Prior, HMMCounts]:
        """The counts and statistics so far in the prior, and none beside it to start from."""
        nothing = HMMCounts(*map(np.zeros_like, counts))
        known = added_to(prior, without_emission(counts), self.model.cells)
        return known._replace(emission=counts.emission), nothing


def batch_of(
    learned: Learned, given: Corpus, observations: Any, y: Any, asked: ChainOptions
) -> NumericProblem:
    """Sequences under the family of a first batch, with the states that `y` tells."""
    cells, before = learned.layout, learned.more.numeric
    n_units = given.n_sequences if before.is_table else int(given.starts[-1])
    refuse_lengths(y, given.n_sequences, n_units)
    known = states_told(asked, y, given, cells)
    return NumericProblem(
        *(apart(given, cells), given, observations, before.family, cells),
        *(before.columns, before.is_table, None, before.settings, known),
    )._replace(longest=before.longest)
