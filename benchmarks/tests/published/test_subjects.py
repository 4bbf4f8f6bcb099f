"""Subjects that share and differ: small versions of both experiments."""

import numpy as np
import pytest

from benchmarks.published import subjects


@pytest.mark.parametrize("name", subjects.TITLES)
def test_small_version_and_its_table(quick, name):
    results = {name: subjects.PARTS[name](quick)}
    cells = results[name]["cells"]
    assert [(one["n"], one["algorithm"]) for one in cells] == [(3, own) for own in subjects.MODELS]
    assert np.isfinite([one["scores"] for one in cells]).all()
    first, *_ = subjects.tables(results)["subjects"].rows
    assert first[:3] == [subjects.TITLES[name], 3, "VB"]
    one, _, pooled = (values[0] for values in cells[0]["scores"])
    assert first[3] == f"{one:.3f}"
    assert float(first[6]) == pytest.approx(pooled - one, abs=6e-4)
