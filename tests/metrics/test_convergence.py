"""R-hat and effective sample size against values worked out by hand and in closed form."""

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from sklearn_cvb.metrics import effective_sample_size, r_hat


def _slow_r_hat(rows):
    """Vehtari et al. (2021), eqs. 1-3, written out."""
    n_chains, n_draws = len(rows), len(rows[0])
    means = [sum(row) / n_draws for row in rows]
    grand = sum(means) / n_chains
    between = n_draws / (n_chains - 1) * sum((mean - grand) ** 2 for mean in means)
    variances = [
        sum((value - mean) ** 2 for value in row) / (n_draws - 1)
        for row, mean in zip(rows, means, strict=True)
    ]
    within = sum(variances) / n_chains
    return (((n_draws - 1) / n_draws * within + between / n_draws) / within) ** 0.5


def _scores(table):
    ranks = rankdata(table).reshape(table.shape)
    return norm.ppf((ranks - 3 / 8) / (table.size + 1 / 4))


@pytest.mark.parametrize("n_draws", [4, 7, 50])
def test_r_hat_is_that_of_ranks_of_halves(n_draws):
    chains = np.random.default_rng(n_draws).normal(size=(3, n_draws)).round(1)
    half = n_draws // 2
    halves = np.concatenate([chains[:, :half], chains[:, -half:]])
    folded = np.abs(halves - np.median(halves))
    expected = max(_slow_r_hat(_scores(halves).tolist()), _slow_r_hat(_scores(folded).tolist()))
    assert r_hat(chains) == pytest.approx(expected, rel=1e-12)


def test_r_hat_of_a_small_table():
    # Ranks 1 2 | 3 4 score -1.0491 -.2993 | .2993 1.0491: variance .2811 within a half, .9091 of
    # the two means, and (1 / 2 + .9091 / .2811) ** .5 is
    assert r_hat([[1.0, 2.0, 3.0, 4.0]]) == pytest.approx(1.9324, abs=1e-3)


def test_r_hat_notices_places_spreads_and_trends():
    rng = np.random.default_rng(0)
    same = rng.normal(size=(4, 1000))
    assert 0.99 < r_hat(same) < 1.01
    assert r_hat(same + np.array([[0], [0], [0], [1]])) > 1.05
    assert r_hat(same * np.array([[1], [1], [1], [3]])) > 1.05
    assert r_hat(same + np.linspace(0, 2, 1000)) > 1.05
    # Ranks do not mind the scale.
    assert r_hat(np.exp(5 * same)) == pytest.approx(r_hat(same), abs=0.01)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9, -0.5])
def test_effective_sample_size_of_an_autoregression(share):
    n_chains, n_draws = 8, 4000
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(n_draws, n_chains))
    chains = np.empty_like(noise)
    chains[0] = noise[0] / np.sqrt(1 - share**2)
    for t in range(1, n_draws):
        chains[t] = share * chains[t - 1] + noise[t]
    exact = n_chains * n_draws * (1 - share) / (1 + share)
    for kind in ("bulk", "mean"):
        assert effective_sample_size(chains.T, kind=kind) == pytest.approx(exact, rel=0.12)


def _slow_sample_size(halves):
    """Geyer's initial monotone sequence lag by lag."""
    n_chains, n_draws = halves.shape
    centred = halves - halves.mean(axis=1, keepdims=True)
    lags = [
        np.mean([(row[: n_draws - k] * row[k:]).sum() / n_draws for row in centred])
        for k in range(n_draws)
    ]
    within = lags[0] * n_draws / (n_draws - 1)
    total = lags[0] + halves.mean(axis=1).var(ddof=1)
    rho = [1.0] + [1 - (within - lag) / total for lag in lags[1:]]
    time, lag, smallest = -1.0, 0, np.inf
    while lag + 4 < n_draws and rho[lag] + rho[lag + 1] >= 0:
        smallest = min(smallest, rho[lag] + rho[lag + 1])
        time += 2 * smallest
        lag += 2
    time += max(rho[lag], 0)
    return n_chains * n_draws / max(time, 1 / np.log10(n_chains * n_draws))


@pytest.mark.parametrize("n_draws", [8, 12, 13, 40])
def test_effective_sample_size_of_small_tables(n_draws):
    rng = np.random.default_rng(n_draws)
    for steps in (1, 0.3):
        noise = rng.normal(size=(2, n_draws))
        chains = steps * np.cumsum(noise, axis=1) + noise[::-1]
        half = n_draws // 2
        halves = np.concatenate([chains[:, :half], chains[:, -half:]])
        expected = _slow_sample_size(halves)
        assert effective_sample_size(chains, kind="mean") == pytest.approx(expected, rel=1e-9)


def test_nothing_to_say():
    for chains in ([[1.0, 1.0, 1.0, 1.0]], [[1.0, 2.0, 3.0]], [[1.0, np.nan, 2.0, 3.0]]):
        assert np.isnan(r_hat(chains))
        assert np.isnan(effective_sample_size(chains))
    with pytest.raises(ValueError, match="shape"):
        r_hat([1.0, 2.0])
    with pytest.raises(ValueError, match="kind"):
        effective_sample_size([[1.0, 2.0, 3.0, 4.0]], kind="tail")


def test_agrees_with_arviz():
    arviz = pytest.importorskip("arviz")
    rng = np.random.default_rng(0)
    for n_draws in (20, 101, 500):
        chains = np.cumsum(rng.normal(size=(3, n_draws)), axis=1) + rng.normal(size=(3, 1))
        assert r_hat(chains) == pytest.approx(float(arviz.rhat(chains)), rel=1e-9)
        assert effective_sample_size(chains) == pytest.approx(float(arviz.ess(chains)), rel=1e-6)
