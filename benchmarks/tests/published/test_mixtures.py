"""Mixtures beside plain normal emissions: a small version."""

import numpy as np
import pytest

from benchmarks.published import mixtures


def test_small_version_and_its_tables(quick):
    results = {"vowels": mixtures.PARTS["vowels"](quick)}
    cells = results["vowels"]["cells"]
    assert [(one["algorithm"], one["n"]) for one in cells] == [(own, 2) for own in mixtures.MODELS]
    assert np.shape([one["scores"] for one in cells]) == (3, 3, 2)
    tables = mixtures.tables(results)
    first, *_ = tables["mixtures"].rows
    plain, more, mixed = (np.mean(scores) for scores in cells[0]["scores"])
    assert first[2:6] == ["EM", f"{plain:.3f}", f"{more:.3f}", f"{mixed:.3f}"]
    assert float(first[6].split()[0]) == pytest.approx(mixed - plain, abs=6e-4)
    counts = [row[1] for row in tables["mixtures_counts"].rows]
    assert counts == [1, 1, 1]
    assert tables["mixtures_counts"].rows[0][2:6:2] == [int(mixed > plain), int(mixed < plain)]
