"""The comparison of samplers, in its small version."""

import json

import numpy as np
import pytest

from benchmarks.published import samplers
from benchmarks.published.settings import Settings, run_parts


@pytest.fixture(scope="module")
def results(data_folder):
    return run_parts(samplers.PARTS, Settings(str(data_folder), quick=True))


def test_figures(results):
    results = json.loads(json.dumps(results))
    for name, part in ((name, results[name]) for name in samplers.PARTS):
        plan = samplers.plan_of(name, Settings(quick=True))
        for update in samplers.UPDATES:
            found = part[update]
            assert np.shape(found["log_joint"]) == (plan.seeds, plan.sweeps)
            assert found["sample_size"]["log joint"] > 1
            rates = found["acceptance"]
            assert all(0.3 < r < 1 for r in rates) if update == "sequence" else set(rates) == {1.0}
    # All three sample one posterior: their chains end at the same height.
    part = results["dictionary"]
    means = [np.mean(np.array(part[u]["log_joint"])[:, 100:]) for u in samplers.UPDATES]
    assert np.ptp(means) < 0.01 * abs(np.mean(means))


def test_annealing_finds_better_tags(results):
    for update in samplers.UPDATES:
        part = results["dictionary"][update]
        last = part["annealed"][-1]
        assert np.mean(last["accuracy"]) > 0.8
        assert len(last["seconds"]) == len(last["accuracy"]) == 2


def test_tables_and_pictures(results, tmp_path):
    tables = samplers.tables(results)
    assert len(tables) == 3
    for table in tables.values():
        assert [row[0] for row in table.rows] == list(samplers.UPDATES.values())
    samplers.draw(results, tmp_path)
    assert (tmp_path / "samplers_time.png").stat().st_size > 10_000
