"""What is not the workers' fault: more of them, and the death of the process that leads the fit."""

import signal
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from sklearn_cvb import CVBHMM, EMHMM, VBHMM

pytest.importorskip("distributed")

import dask.bag
from distributed import Client, LocalCluster

from sklearn_cvb import Checkpoint

COMMON = {"max_iter": 5, "tol": 0, "random_state": 3}

# The same sentences in every process; with a number of rounds the process kills itself after them.
SCRIPT = """
import os, signal, sys
import dask.bag, numpy as np
from distributed import Client
import sklearn_cvb
from sklearn_cvb.reading.dask.fitting import OnWorkers

address, name, folder, n_asked = *sys.argv[1:4], int(sys.argv[4])
ask = OnWorkers.ask

def dying(self, name, *arguments):
    self.n_asked = getattr(self, "n_asked", 0) + 1
    if self.n_asked == n_asked:
        os.kill(os.getpid(), signal.SIGKILL)
    return ask(self, name, *arguments)

OnWorkers.ask = dying
rng = np.random.default_rng(0)
X = [[f"w{i}" for i in rng.integers(12, size=k)] for k in rng.integers(1, 9, 60)]
with Client(address):
    bag = dask.bag.from_sequence(X, npartitions=4)
    getattr(sklearn_cvb, name)(
        3, max_iter=5, tol=0, random_state=3, checkpoint=sklearn_cvb.Checkpoint(folder, every=1)
    ).fit(bag)
"""


def sentences():
    rng = np.random.default_rng(0)
    return [[f"w{i}" for i in rng.integers(12, size=k)] for k in rng.integers(1, 9, 60)]


N_OBSERVED = sum(map(len, sentences()))
bag = partial(dask.bag.from_sequence, sentences(), npartitions=4)


@pytest.fixture(scope="module")
def client():
    settings = {"n_workers": 4, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(processes=True, **settings) as cluster, Client(cluster) as client:
        yield client


@pytest.mark.parametrize("kind", [EMHMM, VBHMM])
def test_four_workers_give_the_numbers_of_a_fit_here(client, kind):
    expected = kind(3, **COMMON).fit(sentences())
    assert len(client.scheduler_info()["workers"]) == 4
    found = kind(3, **COMMON).fit(bag())
    np.testing.assert_allclose(found.history_, expected.history_, rtol=1e-12)
    for one, other in zip(found.counts_, expected.counts_, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", [EMHMM, CVBHMM])
def test_a_fit_goes_on_after_the_kill_of_the_process_that_leads(client, kind, tmp_path):
    address = client.scheduler.address
    command = [sys.executable, "-c", SCRIPT, address, kind.__name__, str(tmp_path), "4"]
    died = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert died.returncode == -signal.SIGKILL, died.stderr
    settings = {**COMMON, "checkpoint": Checkpoint(str(tmp_path), every=1)}
    found = kind(3, **settings, warm_start=True).fit(bag())
    expected = kind(3, **COMMON).fit(bag())
    assert found.n_iter_ == expected.n_iter_ == COMMON["max_iter"]
    assert found.counts_.emission.sum() == pytest.approx(N_OBSERVED, rel=1e-12)
    # The rounds before were saved, and are not made again.
    assert np.array_equal(found.history_[:2], expected.history_[:2])
    if kind is EMHMM:
        assert np.array_equal(found.history_, expected.history_)
    else:
        # Posteriors are lost with the fit, and inferred once under the counts that were saved.
        plain = CVBHMM(3, **COMMON).fit(sentences())
        assert found.objective_ == pytest.approx(plain.objective_, abs=0.05)
