"""Series of numbers on real processes: the numbers of a fit here."""

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_cvb import CVBHMM, EMHMM, VBHMM
from sklearn_cvb.emissions import Columns, Gaussian, Poisson

pytest.importorskip("distributed")

import dask.bag
from dask import delayed
from distributed import Client, LocalCluster

pytestmark = pytest.mark.process

COMMON = {
    "emission": Columns([(Gaussian("diag"), [0]), (Poisson(), [1])]),
    "max_iter": 4,
    "tol": 0,
    "random_state": 3,
}


def series():
    rng, found = np.random.default_rng(0), []
    for n_steps in rng.integers(5, 40, 40):
        states = np.cumsum(rng.random(n_steps) < 0.1) % 2
        table = np.column_stack([rng.normal(4.0 * states), rng.poisson(1.0 + 5.0 * states)])
        table[rng.random(table.shape) < 0.05] = np.nan
        found.append(table)
    return found


@pytest.fixture(scope="module")
def client():
    # Several of them are for tests/distributed/test_distributed.py.
    settings = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(processes=True, **settings) as cluster, Client(cluster) as client:
        yield client


def bag(n):
    return dask.bag.from_sequence(series(), npartitions=n)


@pytest.mark.parametrize("kind", [EMHMM, VBHMM, CVBHMM])
def test_fits_are_those_of_a_fit_here(client, kind):
    plain = kind(2, **COMMON)
    found = clone(plain).fit(bag(1 if kind is CVBHMM else 4))
    plain.fit(series())
    np.testing.assert_allclose(found.history_, plain.history_, rtol=1e-10)
    for one, other in zip(found.counts_, plain.counts_, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    assert found.n_features_in_ == 2
    states = np.concatenate(found.predict(bag(3)).compute())
    assert np.mean(states == np.concatenate(plain.predict(series()))) > 0.999
    # Whoever goes on here has what was counted there.
    found.partial_fit(series()[:5])
    assert found.n_batches_seen_ == 1


def test_cvb_counts_every_step(client):
    plain = CVBHMM(2, **COMMON).set_params(max_iter=20)
    found = clone(plain).fit(bag(4))
    plain.fit(series())
    counted = found.counts_.start.sum() + found.counts_.transition.sum()
    assert counted == pytest.approx(sum(map(len, series())), rel=1e-12)
    assert found.objective_ == pytest.approx(plain.objective_, abs=0.01)


def test_partitions_are_named(client):
    X = series()
    plain = EMHMM(2, **COMMON).fit(X).history_
    given = [delayed(X[:20]), delayed([]), delayed(X[20:])]
    np.testing.assert_allclose(EMHMM(2, **COMMON).fit(given).history_, plain, rtol=1e-10)
    wrong = [delayed(X[:20]), delayed([np.array([[1.0, -2.0]])])]
    with pytest.raises(ValueError, match=r"partition 1 of X: Poisson .* got -2 \(sequence 0"):
        EMHMM(2, **COMMON).fit(wrong)
    with pytest.raises(ValueError, match=r"partition 1 of X: .*infinity"):
        EMHMM(2, **COMMON).fit([delayed(X[:20]), delayed([np.array([[np.inf, 1.0]])])])
    with pytest.raises(ValueError, match="partitions of X have several columns: 2, and 1"):
        EMHMM(2, **COMMON).fit([delayed(X[:20]), delayed([np.ones((3, 1))])])
