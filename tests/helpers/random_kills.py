"""Workers of Dask that are killed (-9) at random moments of a fit, told by what was done by then.

One fit each: the numbers of EM are equal to the last bit to an undisturbed fit, and the counts of
CVB sum to the tokens after every round.
"""

import contextlib
import os
import signal
import time
from collections import deque
from functools import partial

import dask.bag
import numpy as np
from distributed import Client, LocalCluster, SchedulerPlugin

from sklearn_cvb import CVBHMM, EMHMM
from sklearn_cvb.scale.dask.fitting import Partitions

COMMON = {"n_components": 3, "max_iter": 8, "tol": 0, "random_state": 3}


def sentences(n=80):
    rng = np.random.default_rng(0)
    return [[f"w{i}" for i in rng.integers(12, size=k)] for k in rng.integers(1, 9, n)]


N_OBSERVED = sum(map(len, sentences()))
bag = partial(dask.bag.from_sequence, sentences(), npartitions=6)


def cluster(n_workers=3):
    return LocalCluster(
        processes=True, n_workers=n_workers, threads_per_worker=1, dashboard_address=":0"
    )


class Steps(SchedulerPlugin):
    """What the scheduler does with tasks, counted; something is done after so many steps."""

    def __init__(self, at=None, act=None):
        self.n_steps, self._at, self._act = 0, at, act

    def transition(self, key, start, finish, *args, **kwargs):
        """A task is in another state."""
        self.n_steps += 1
        if self.n_steps == self._at:
            self._act()


@contextlib.contextmanager
def watched(client, plugin):
    """Have a plugin of the scheduler see all that is done meanwhile."""
    scheduler = client.cluster.scheduler
    scheduler.add_plugin(plugin, name="watched")
    try:
        yield plugin
    finally:
        scheduler.remove_plugin("watched")


def killer(client, n_steps, rng):
    """A plugin that kills one of the workers after a random one of so many steps."""
    found = client.run(os.getpid, on_error="return").values()
    pids = sorted(pid for pid in found if isinstance(pid, int))
    pid = pids[int(rng.integers(len(pids)))]

    def kill():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    return Steps(int(rng.integers(1, n_steps + 1)), kill)


def survives(client, seed, expected, n_steps):
    """One kill at a random moment of a fit of EM (even seeds) or CVB; says what is wrong if not."""
    rng = np.random.default_rng(seed)
    sums, ask = [], Partitions.ask

    def noting(self, name, *arguments):
        found = ask(self, name, *arguments)
        if name in ("infer", "sweep"):
            sums.append(found.counts.emission.sum())
        return found

    kind = (EMHMM, CVBHMM)[seed % 2]
    Partitions.ask = noting
    try:
        with watched(client, killer(client, n_steps[kind], rng)):
            model = kind(**COMMON).fit(bag())
    finally:
        Partitions.ask = ask
    assert np.allclose(sums, N_OBSERVED, rtol=1e-12), sums
    if kind is EMHMM:
        assert np.array_equal(model.history_, expected[kind].history_)
        assert np.array_equal(model.counts_.emission, expected[kind].counts_.emission)
    else:
        assert abs(model.objective_ - expected[kind].objective_) < 0.05


def are_there(client, n_workers=3):
    """Whether all workers are alive again."""
    try:
        client.wait_for_workers(n_workers, timeout=60)
    except TimeoutError:
        return False
    return True


def undisturbed(client):
    """Fits without a kill, and how many steps they take."""
    expected, n_steps = {}, {}
    for kind in (EMHMM, CVBHMM):
        with watched(client, Steps()) as steps:
            expected[kind] = kind(**COMMON).fit(bag())
        n_steps[kind] = steps.n_steps
    return expected, n_steps


def survive(kills, seed):
    """So many kills, one fit each; how many fits survived, and the seconds of the longest."""
    n_survived, longest = 0, 0.0
    seeds = deque(range(seed, seed + kills))
    while seeds:
        # Dask's own closing of a cluster may look for a worker that was killed.
        with contextlib.suppress(KeyError), cluster() as workers, Client(workers) as client:
            quiet = undisturbed(client)
            # A nanny whose worker was killed as it started gives up: then all begin anew.
            while seeds and are_there(client):
                one, begin = seeds.popleft(), time.perf_counter()
                try:
                    survives(client, one, *quiet)
                    n_survived += 1
                except Exception as error:
                    print(f"seed {one}: {type(error).__name__}: {error}", flush=True)
                longest = max(longest, time.perf_counter() - begin)
    return n_survived, longest
