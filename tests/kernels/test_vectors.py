"""Vectors in kernels, on rows of any length, and the sums and densities that are made of them."""

from itertools import pairwise

import numpy as np
import pytest
from numba import TypingError

from sklearn_cvb.kernels.emission import (
    feature_sums,
    linear_scores,
    moments_by_column,
    parabolas,
    parabolas_by_column,
    second_moments,
)
from sklearn_cvb.kernels.jit import jit
from sklearn_cvb.kernels.vectors import LANES, part, put, spread, sum_of

every_width = pytest.mark.parametrize("k", [1, 3, LANES - 1, LANES, LANES + 1, 2 * LANES, 21])
every_depth = pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 9])


@jit
def _combined(a, b, c):
    """c = (a + b) (a - b) - 2; returns the sum of a."""
    total = 0.0
    for k in range(0, a.size, LANES):
        left, right = part(a, k), part(b, k)
        some = left + right
        some *= left - right
        some -= spread(2.0)
        put(c, k, some)
        total += sum_of(left)
    return total


@every_width
def test_rows_of_any_length_are_read_and_written_to_their_end(k):
    rng = np.random.default_rng(k)
    a, b, around = rng.random(k), rng.random(k), np.full(k + 2 * LANES, -1.0)
    total = _combined(a, b, around[LANES : LANES + k])
    assert total == pytest.approx(a.sum(), rel=1e-14)
    np.testing.assert_allclose(around[LANES : LANES + k], (a + b) * (a - b) - 2, rtol=1e-13)
    assert (around[:LANES] == -1).all()
    assert (around[LANES + k :] == -1).all()


def test_rows_with_gaps_and_other_numbers_are_refused():
    row = np.zeros(18)
    for other in (row[::2], row.astype(np.float32)):
        with pytest.raises(TypingError, match="part"):
            _combined(other, row, row)


def case(k, d, n_units=3, seed=0):
    """x, shares, units of 5 steps and none, and what is observed."""
    rng = np.random.default_rng([seed, k, d])
    x, shares = rng.normal(size=(10, d)), rng.dirichlet(np.ones(k), 10)
    return rng, x, shares, np.array([0, 5, 5, 10])[: n_units + 1], rng.random((10, d)) < 0.7


def by_unit(values, shares, units):
    """Sums over steps of values (n_steps, F) times shares (n_steps, K), unit by unit."""
    products = values[:, :, None] * shares[:, None]
    return np.array([products[a:b].sum(axis=0) for a, b in pairwise(units)])


@pytest.mark.many(usual=11)
@every_width
@every_depth
def test_sums_by_state(k, d):
    _, x, shares, units, observed = case(k, d)
    lower = np.tril_indices(d)
    there = np.where(observed, x, 0.0)
    ones = np.ones_like(x)
    expected = {
        "features": by_unit(x, shares, units),
        "second": by_unit(
            np.hstack([ones[:, :1], x, x[:, lower[0]] * x[:, lower[1]]]), shares, units
        ),
        "columns": by_unit(np.hstack([ones, x, x * x]), shares, units),
        "observed": by_unit(np.hstack([1.0 * observed, there, there**2]), shares, units),
    }
    found = {name: np.ones_like(table) for name, table in expected.items()}
    feature_sums(x, shares, units, found["features"])
    second_moments(x, shares, units, found["second"])
    moments_by_column(x, None, shares, units, found["columns"])
    moments_by_column(x, observed, shares, units, found["observed"])
    for name, table in expected.items():
        np.testing.assert_allclose(found[name], 1.0 + table, rtol=1e-12, atol=1e-13)
        whole = np.zeros_like(table[:1])
        if name == "second":
            second_moments(x, shares, units, whole)
            np.testing.assert_allclose(whole[0], table.sum(axis=0), rtol=1e-12, atol=1e-13)


@pytest.mark.many(usual=11)
@every_width
@every_depth
def test_log_densities_by_state(k, d):
    rng, x, _, units, observed = case(k, d)
    unit = np.repeat(np.arange(3), np.diff(units))
    constants, means, factors = rng.normal(size=(3, 3, d, k))
    found, square = np.empty((10, k)), (x[:, :, None] - means[unit]) ** 2
    terms = constants[unit] + factors[unit] * square
    parabolas_by_column(x, None, units, (constants, means, factors), found)
    np.testing.assert_allclose(found, terms.sum(axis=1), rtol=1e-11, atol=1e-12)
    parabolas_by_column(x, observed, units, (constants, means, factors), found)
    expected = np.where(observed[:, :, None], terms, 0.0).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    linear_scores(x, units, means, found)
    expected = (x[:, :, None] * means[unit]).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    lower = rng.normal(size=(1, d, d, k)) * np.tri(d)[:, :, None]
    along = np.einsum("jik,tik->tjk", lower[0], x[:, :, None] - means[0])
    parabolas(x, units, (constants[:1, 0], means[:1], lower), -0.5, found)
    expected = constants[0, 0] - 0.5 * (along**2).sum(axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
