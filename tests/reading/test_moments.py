"""Moments of columns: those of the whole table, however it is cut, and in any unit."""

import numpy as np
import pytest

from sklearn_cvb.reading import moments
from sklearn_cvb.reading.moments import moments_of, moments_of_rows


def gaps(n_steps, n_columns, share, seed=0):
    rng = np.random.default_rng(seed)
    table = rng.normal(5.0, 2.0, (n_steps, n_columns)) * 10.0 ** np.arange(n_columns)
    table[rng.random(table.shape) < share] = np.nan
    return table


@pytest.mark.parametrize("share", [0.0, 0.4])
@pytest.mark.parametrize("block", [1, 7, 1000])
def test_they_are_those_of_the_whole_table(share, block, monkeypatch):
    monkeypatch.setattr(moments, "_BLOCK", block)
    table = gaps(100, 4, share)
    found = moments_of(table)
    np.testing.assert_array_equal(found.n_observed, (~np.isnan(table)).sum(axis=0))
    np.testing.assert_allclose(found.means, np.nanmean(table, axis=0), rtol=1e-13)
    np.testing.assert_allclose(found.deviations, np.nanstd(table, axis=0), rtol=1e-13)
    np.testing.assert_array_equal(found.least, np.nanmin(table, axis=0))
    np.testing.assert_array_equal(found.largest, np.nanmax(table, axis=0))
    np.testing.assert_array_equal(found.step_of_widest, np.nanargmax(np.abs(table), axis=0))


@pytest.mark.parametrize("block", [3, 100])
def test_columns_without_values_or_with_one_value_and_huge_ones(block, monkeypatch):
    monkeypatch.setattr(moments, "_BLOCK", block)
    table = np.full((10, 4), np.nan)
    table[:, 1] = 0.1
    table[8, 2] = -3.0
    table[::2, 3] = [1e200, -1e200, 1e200, -1e200, 0.0]
    found = moments_of(table)
    np.testing.assert_array_equal(found.n_observed, [0, 10, 1, 5])
    np.testing.assert_allclose(found.means, [0.0, 0.1, -3.0, 0.0], rtol=1e-15, atol=1e185)
    np.testing.assert_array_equal(found.means[:3], [0.0, 0.1, -3.0])
    assert found.deviations[:3].tolist() == [0.0, 0.0, 0.0]
    np.testing.assert_allclose(found.deviations[3], 1e200 * np.sqrt(0.8), rtol=1e-14)
    assert found.least.tolist() == [0.0, 0.1, -3.0, -1e200]
    assert found.largest.tolist() == [0.0, 0.1, -3.0, 1e200]


def test_rows_that_are_read_have_the_same_to_the_last_bit(monkeypatch):
    monkeypatch.setattr(moments, "_BLOCK", 8)
    table = gaps(50, 3, 0.2)
    asked = []

    def rows(begin, end):
        asked.append((begin, end))
        return table[begin:end].copy()

    for one, other in zip(moments_of(table), moments_of_rows(rows, 50), strict=True):
        np.testing.assert_array_equal(one, other)
    assert [asked[0], asked[-1]] == [(0, 8), (48, 50)]
