"""The coverage of intervals: mean fields are too narrow, samples and calibrated ones are right."""

import numpy as np
import pytest

from benchmarks.published import coverage
from benchmarks.published.settings import Settings


def test_calibrated_intervals_cover_what_mean_fields_miss():
    methods = ("VB, mean field", "CVB, mean field", "CVB, calibrated", "Gibbs token, 400 sweeps")
    cell = coverage.CELLS["labels_small"]
    found = coverage.coverage(40, cell, levels=(0.9,), methods=methods)
    inside = {name: np.mean(figures["inside"]) for name, figures in found.items()}
    assert inside["VB, mean field"] < 0.8
    assert inside["CVB, mean field"] < 0.8
    assert 0.85 < inside["CVB, calibrated"] < 0.95
    assert 0.85 < inside["Gibbs token, 400 sweeps"] < 0.95
    wide = [found[name]["width"][0][0] for name in methods[2:]]
    assert wide[0] < 1.15 * wide[1]


def test_dictionaries_rule_out_what_is_never_emitted():
    data = coverage.simulated(np.random.default_rng(0), coverage.CELLS["dictionary_5"])
    assert (data.emission[~data.legal] == 0).all()
    assert set(data.legal.sum(axis=0).tolist()) == {1, 2}
    np.testing.assert_allclose(data.emission.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    "part", ["dictionary_3", "unlabelled_3", "numbers", "forecasts", "trees", "estimates"]
)
def test_parts_give_tables(part):
    found = coverage.PARTS[part](Settings(quick=True))
    table = coverage.tables({part: found})[part]
    assert len({len(row) for row in table.rows} | {len(table.header)}) == 1
    assert table.rows
