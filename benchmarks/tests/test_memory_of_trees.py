"""Sizes of corpora that fill a memory, and the sweep over them, follow from two fits."""

import pytest

from benchmarks.memory_of_trees import fitted, of_a_token


def test_what_fills_a_memory_follows_from_the_difference_of_two_fits():
    small = {"tokens": 1e5, "sweep": 1.0, "bytes": 3e8}
    large = {"tokens": 3e5, "sweep": 2.0, "bytes": 5e8}
    found = of_a_token(small, large)
    assert (found["bytes"], found["microseconds"]) == pytest.approx((1000.0, 5.0))
    assert found["2 GB"] == pytest.approx([2e6, 10 / 3600])


def test_a_fit_is_measured():
    found = fitted("EM", "AlignmentHMM", 2000, None)
    assert found["tokens"] == 2000
    assert found["sweep"] > 0
    assert found["bytes"] > 5e7
