"""Laws of durations, held out: a small version on spoken vowels."""

import pytest

from benchmarks.published import durations


def test_small_version_and_its_table(quick):
    cells = durations.PARTS["vowels"](quick)["cells"]
    assert [one["algorithm"] for one in cells] == [*durations.MODELS]
    first = cells[0]["found"]
    (row, *_) = durations.tables({"vowels": {"cells": cells}})["durations"].rows
    assert row[:3] == [durations.TITLES["vowels"], 3, "EM"]
    assert float(row[3]) == pytest.approx(sum(first["plain"]) / 2, abs=1e-3)
    ahead = sum(first["histogram"]) / 2 - sum(first["plain"]) / 2
    assert float(row[4].split()[0]) == pytest.approx(ahead, abs=1e-3)
