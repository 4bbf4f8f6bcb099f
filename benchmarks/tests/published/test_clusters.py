"""Clusters of sequences: small versions of both experiments."""

import pytest

from benchmarks.published import clusters


@pytest.mark.parametrize("name", clusters.TITLES)
def test_small_version_and_its_table(quick, name):
    results = {name: clusters.PARTS[name](quick)}
    cells = results[name]["cells"]
    assert [one["clusters"] for one in cells] == [*clusters.CLUSTERS[name][:2]] * 3
    assert all(one["agreement"] == 0.0 for one in cells if one["clusters"] == 1)
    assert all(-0.2 < one["agreement"] <= 1.0 for one in cells)
    first, *_ = clusters.tables(results)["clusters"].rows
    assert first[:3] == [clusters.TITLES[name], "EM", 1]
    assert first[4] == f"{cells[0]['score']:.3f}"
