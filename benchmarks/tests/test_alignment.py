"""The row about word alignment."""

import numpy as np

from benchmarks import alignment
from benchmarks.cases import ROWS
from benchmarks.text import Settings


def test_a_sweep_is_timed_on_pairs_that_have_something_to_learn():
    X = alignment.sentence_pairs(50)
    assert np.shape(X) == (50, 2, 20)
    same = np.mean([a == b for source, target in X for a, b in zip(source, target, strict=True)])
    assert 0.6 < same < 0.85
    found = ROWS["alignment-sweep"].measure(Settings("", 2, quick=True))
    assert len(found.ratios) == 2
    assert found.note.startswith("200 pairs of 20 words, ")
