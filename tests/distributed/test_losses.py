"""What is not the workers' fault: more of them, and the death of the process that leads the fit."""

import contextlib
import os
import signal
import subprocess
import sys
from functools import partial
from unittest.mock import patch

import numpy as np
import pytest
import random_kills
from sklearn.base import clone

from sklearn_cvb import CVBHMM, EMHMM, VBHMM

pytest.importorskip("distributed")

import dask
import dask.bag
from dask import delayed
from distributed import Client, LocalCluster, SchedulerPlugin

from sklearn_cvb import Checkpoint
from sklearn_cvb.scale.dask import workers
from sklearn_cvb.scale.dask.fitting import Partitions, Progress, WorkersLost
from sklearn_cvb.scale.parts import PartIndex
from sklearn_cvb.scale.symbols.parts import ShippedWeights

pytestmark = pytest.mark.process

COMMON = {"max_iter": 5, "tol": 0, "random_state": 3}

# The same sentences in every process; with a number of rounds the process kills itself after them.
SCRIPT = """
import os, signal, sys
import dask.bag, numpy as np
from distributed import Client
import sklearn_cvb
from sklearn_cvb.scale.dask.fitting import Partitions

address, name, folder, n_asked = *sys.argv[1:4], int(sys.argv[4])
ask = Partitions.ask

def dying(self, name, *arguments):
    self.n_asked = getattr(self, "n_asked", 0) + 1
    if self.n_asked == n_asked:
        os.kill(os.getpid(), signal.SIGKILL)
    return ask(self, name, *arguments)

Partitions.ask = dying
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
    with random_kills.cluster() as cluster, Client(cluster) as client:
        yield client


@pytest.mark.parametrize("kind", [EMHMM, VBHMM])
def test_three_workers_give_the_numbers_of_a_fit_here(client, kind):
    expected = kind(3, **COMMON).fit(sentences())
    assert len(client.scheduler_info()["workers"]) == 3
    found = kind(3, **COMMON).fit(bag())
    np.testing.assert_allclose(found.history_, expected.history_, rtol=1e-12)
    for one, other in zip(found.counts_, expected.counts_, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", [EMHMM, CVBHMM])
def test_a_fit_goes_on_after_the_kill_of_the_process_that_leads(client, kind, tmp_path):
    address = client.scheduler.address
    command = [sys.executable, "-c", SCRIPT, address, kind.__name__, str(tmp_path), "4"]
    died = subprocess.run(command, capture_output=True, text=True, timeout=300)
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


# What is said, and survived


@pytest.mark.parametrize("seed", range(2))
def test_a_kill_at_a_random_moment_changes_no_count(client, quiet, seed):
    """``python tests/fuzz/faults.py --kills 50`` kills as many as are asked for."""
    random_kills.survives(client, seed, *quiet)


@pytest.fixture(scope="module")
def quiet(client):
    return random_kills.undisturbed(client)


def test_errors_in_sequences_name_the_partition(client):
    parts = [delayed([["a", "b"]]), delayed([["a"], [["b"]]])]
    with pytest.raises(TypeError, match=r"partition 1 of X: .*sequence 1"):
        EMHMM(2).fit(parts)
    with pytest.raises(ValueError, match="partition 0 of X: sequence 0 is empty"):
        EMHMM(2).fit([delayed([[]])])


def many_words():
    """Sentences that take gigabytes."""
    return [[f"w{i}" for i in range(k, k + 1000)] for k in range(0, 100_000_000, 1000)]


def test_a_partition_that_fits_into_no_memory_is_told():
    settings = {"n_workers": 1, "threads_per_worker": 1, "memory_limit": "600MB"}
    # The first worker that dies of it is the last.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        LocalCluster(processes=True, dashboard_address=":0", **settings) as cluster,
        Client(cluster),
        pytest.raises(MemoryError, match=r"does not fit into their memory \(0\.6 GB each\): cut X"),
    ):
        EMHMM(2).fit([delayed(many_words)()])


class StandsStill(SchedulerPlugin):
    """Stops a worker as it gets work of a sweep, and has Dask give it up."""

    def __init__(self, scheduler, address, pid):
        self._scheduler, self._address, self.pid, self.has_stopped = scheduler, address, pid, False

    def transition(self, key, start, finish, *args, **kwargs):
        if "infer" in key and finish == "processing" and not self.has_stopped:
            os.kill(self.pid, signal.SIGSTOP)
            self.has_stopped = True
            give_up = partial(self._scheduler.remove_worker, stimulus_id="stands still")
            self._scheduler.loop.add_callback(give_up, self._address)


def test_the_work_of_a_worker_that_stands_still_is_done_elsewhere(quiet):
    """Dask takes it for dead after a time that is its own setting."""
    with random_kills.cluster(2) as cluster, Client(cluster) as client:
        address, pid = max(client.run(os.getpid).items())
        still = StandsStill(cluster.scheduler, address, pid)
        with random_kills.watched(client, still):
            model = EMHMM(**random_kills.COMMON).fit(random_kills.bag())
            assert address not in cluster.scheduler.workers
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    assert still.has_stopped
    assert np.array_equal(model.history_, quiet[0][EMHMM].history_)


def test_nothing_but_empty_partitions_is_told_as_here(client):
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        EMHMM(2).fit([])
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\): X holds no sequence"):
        EMHMM(2).fit([delayed([]), delayed([])])


PARTS = "sklearn_cvb.scale.symbols.parts"


def test_a_partition_that_reads_differently_is_noticed():
    index, part = PartIndex(0, 0), workers.read_partition(3, PARTS, [["a", "b"]], None)
    known = workers.identify_partition(3, part)
    assert known == workers.identify_partition(
        3, workers.read_partition(3, PARTS, [["a", "b"]], None)
    )
    other = workers.read_partition(3, PARTS, [["a", "c"]], None)
    with pytest.raises(ValueError, match="partition 3 of X held other sequences when it was read"):
        workers.ask_shard(PARTS, None, other, (index, known), "a fit", ("summary",))


@pytest.mark.parametrize("who", ["client", "scheduler"])
def test_without_a_scheduler_there_is_no_waiting(who):
    settings = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        source = Partitions(client, [delayed([["a"]])], [None], Progress(0, 1), PARTS)
        source.survey(EMHMM(1)._observation(to_fit=True))
        (client if who == "client" else cluster).close()
        with pytest.raises(WorkersLost, match="the scheduler of Dask is gone"):
            source.make_shards(None)
        source.close()


@pytest.mark.filterwarnings("ignore:.*more than half")
def test_weights_below_float64_are_no_failure_to_dask(caplog):
    """Their logs are asked for and sent: nothing of it stands among Dask's errors."""
    rng = np.random.default_rng(0)
    X = [rng.integers(6, size=300).tolist(), [3, 3, 4, 1], [1, 5, 0]]
    settings = {"transitions": "left-right", "init": "word", "max_iter": 4, "random_state": 0}
    model = VBHMM(4, beta=1e-6, **settings)
    plain, asked = clone(model).fit(X), []
    cluster = LocalCluster(n_workers=1, processes=False, dashboard_address=":0")
    logs = ShippedWeights.logs

    def noting(self, cells):
        asked.append(self.shipped_logs is None)
        return logs(self, cells)

    with cluster, Client(cluster), patch.object(ShippedWeights, "logs", noting):
        found = clone(model).fit(dask.bag.from_sequence(X, npartitions=2))
    np.testing.assert_allclose(found.history_, plain.history_, rtol=1e-9)
    assert {True, False} <= set(asked)
    assert "Compute Failed" not in caplog.text


def test_workers_import_the_package_before_anything_is_sent(monkeypatch):
    """Two of their threads that import it at once may fail both."""
    settings = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}
    with LocalCluster(**settings) as cluster, Client(cluster) as client:
        asked = []

        def noted(plain, call, *arguments, **options):
            asked.append(call)
            return plain(call, *arguments, **options)

        for name in ("run", "submit"):
            monkeypatch.setattr(client, name, partial(noted, getattr(client, name)))
        source = Partitions(client, [delayed([["a"]])], [None], Progress(0, 1), PARTS)
        source.survey(EMHMM(1)._observation(to_fit=True))
        source.close()
    assert asked[0] is workers.import_package
    assert workers.survey_partition in asked
