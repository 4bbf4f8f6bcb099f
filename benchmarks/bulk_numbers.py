"""Series of numbers on disk: memory, and seconds of a sweep by EM, VB and CVB.

``python -m benchmarks.bulk_numbers --steps 1e7 --folder somewhere`` generates series of 12 columns,
whose states have normal distributions, writes a store, and fits models with full covariance
matrices to it, each in a process of its own. The folder needs 96 bytes per step, and for CVB 200
more and 23 kilobytes for each series while it is fitted.

``--workers 1 2`` fits series in memory on this many processes of Dask instead, a fit of EM each:
what the second one gains.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.bulk import Peak, timed_fit
from sklearn_cvb import CVBHMM, EMHMM, VBHMM, open_store, write_numbers

_COLUMNS, _STATES, _LENGTH, _PARTITIONS = 12, 25, 1000, 8
_MODELS = {"EM": EMHMM, "VB": VBHMM, "CVB": CVBHMM}


def generate(n_steps, seed=0):
    """Series of 1000 steps, at least this many in all; a state lasts 20 steps on average."""
    rng = np.random.default_rng(seed)
    means = rng.normal(0.0, 2.0, (_STATES, _COLUMNS))
    for _ in range(-(-n_steps // _LENGTH)):
        changes = np.cumsum(rng.random(_LENGTH) < 0.05)
        states = rng.integers(0, _STATES, changes[-1] + 1)[changes]
        yield means[states] + rng.normal(size=(_LENGTH, _COLUMNS))


def written(n_steps, folder):
    """Write a store; returns how long that took and what it needed."""
    begin = time.perf_counter()
    with Peak() as peak:
        store = write_numbers(generate(n_steps), folder, overwrite=True)
    return {"steps": store.n_tokens, "seconds": time.perf_counter() - begin, **peak.megabytes}


def fitted(name, folder, n_sweeps, n_jobs):
    """Fit a model; returns the seconds of its parts, microseconds per step, and what it needed."""
    store = open_store(folder)
    model = _MODELS[name](
        _STATES, emission="gaussian", random_state=0, max_iter=n_sweeps, tol=0, n_jobs=n_jobs
    )
    # Kernels are loaded before.
    model.fit(store[:50])
    found, n_steps = timed_fit(model, store), store.n_tokens
    return {"tokens": n_steps, "microseconds per step": found["a sweep"] / n_steps * 1e6, **found}


def fitted_on_workers(n_workers, n_steps, n_sweeps):
    """Fit a model by EM to partitions on processes of Dask; returns the seconds of its parts."""
    from dask import delayed
    from distributed import Client, LocalCluster

    def partition(seed):
        return list(generate(n_steps // _PARTITIONS, seed))

    model = EMHMM(_STATES, emission="gaussian", random_state=0, max_iter=n_sweeps, tol=0)
    series = [delayed(partition)(seed) for seed in range(_PARTITIONS)]
    settings = {"threads_per_worker": 1, "dashboard_address": ":0", "memory_limit": None}
    with LocalCluster(n_workers=n_workers, **settings) as cluster, Client(cluster):
        return timed_fit(model, series)


def main(arguments=None):
    """Measure all and print a line of JSON for each part."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bulk_numbers", description=__doc__)
    parser.add_argument("--steps", type=float, default=1e6)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "series")
    parser.add_argument("--sweeps", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--algorithms", nargs="*", default=list(_MODELS), choices=_MODELS)
    parser.add_argument("--workers", nargs="*", type=int, default=[])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    folder, sizes = options.folder, (options.sweeps, options.jobs)
    if options.child:
        child = options.child
        is_write = child == "write"
        found = written(int(options.steps), folder) if is_write else fitted(child, folder, *sizes)
        print(json.dumps(found))
        return
    for n_workers in options.workers:
        found = fitted_on_workers(n_workers, int(options.steps), options.sweeps)
        print(f"{n_workers} workers", json.dumps(found), flush=True)
    if options.workers:
        return
    for name in (["write"] if not folder.exists() else []) + options.algorithms:
        command = [sys.executable, "-m", "benchmarks.bulk_numbers", "--child", name]
        command += ["--steps", str(options.steps), "--folder", str(folder)]
        command += ["--sweeps", str(options.sweeps), "--jobs", str(options.jobs)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        print(name, done.stdout.splitlines()[-1], flush=True)


if __name__ == "__main__":
    main()
