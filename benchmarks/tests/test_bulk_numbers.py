"""The benchmark of series on disk runs, and its series are what it says."""

import numpy as np
import pytest

from benchmarks import bulk_numbers


@pytest.mark.parametrize("name", ["EM", "CVB"])
def test_a_fit_reports_its_parts(name, tmp_path, monkeypatch):
    monkeypatch.setattr(bulk_numbers, "_LENGTH", 20)
    monkeypatch.setattr(bulk_numbers, "_STATES", 2)
    found = bulk_numbers.written(1990, tmp_path / "store")
    assert found["steps"] == 2000
    assert found["RssAnon"] > 0
    found = bulk_numbers.fitted(name, tmp_path / "store", 3, 1)
    assert found["tokens"] == 2000
    assert found["microseconds per step"] == pytest.approx(found["a sweep"] / 2000 * 1e6)


def test_series_are_of_the_states_it_says():
    series = np.concatenate(list(bulk_numbers.generate(20_000)))
    assert series.shape == (20_000, 12)
    # Means have variance 4, and steps 1 around them.
    assert series.var(axis=0).mean() == pytest.approx(5.0, abs=1.0)
    stays = np.abs(np.diff(series[:1000], axis=0)).max(axis=1) < 5.0
    assert 0.85 < stays.mean() < 1.0


def test_a_fit_on_workers_reports_its_parts():
    pytest.importorskip("distributed")
    found = bulk_numbers.fitted_on_workers(1, 8000, 3)
    assert 0.0 < found["a sweep"] < found["layout and first sweep"]
