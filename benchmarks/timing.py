"""Fair timings: a process and a thread for each row, both sides warm, and measured in turn."""

import gc
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
)
# Samples last at least this long: far above what a clock resolves.
_SHORTEST_SAMPLE = 0.2


class Sample(NamedTuple):
    """Seconds of one run: of the processor, all threads together, and of the clock on the wall."""

    cpu: float
    wall: float


class Spread(NamedTuple):
    """Smallest, median and largest of some numbers."""

    least: float
    median: float
    most: float


def spread_of(values):
    """Smallest, median and largest value."""
    return Spread(min(values), median(values), max(values))


def sample(run, repeats=1):
    """Time `repeats` calls in a row; returns the mean of one."""
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(repeats):
        run()
    return Sample(
        (time.process_time() - cpu) / repeats,
        (time.perf_counter() - wall) / repeats,
    )


def warmed_up(run, shortest=_SHORTEST_SAMPLE):
    """Call `run` until it is compiled and cached; returns how many calls make a sample."""
    run()
    return max(1, round(shortest / max(sample(run).wall, 1e-9)))


def interleaved(first, second, n_pairs, shortest=_SHORTEST_SAMPLE):
    """Time two functions in turn, so that both meet the same moods of the machine.

    `shortest`: least number of seconds of a sample; shorter calls are repeated.
    """
    repeats = warmed_up(first, shortest), warmed_up(second, shortest)
    gc.collect()
    gc.disable()
    try:
        return [(sample(first, repeats[0]), sample(second, repeats[1])) for _ in range(n_pairs)]
    finally:
        gc.enable()


def source_cache():
    """A folder of compiled kernels that belongs to the very sources of these kernels.

    Numba looks at the file of a cached kernel, not at the files of what is inlined into it: after
    an edit it would go on running yesterday's code. Files without kernels and without tuples that
    kernels take do not count.
    """
    source = hashlib.sha256()
    for path in sorted((ROOT / "sklearn_cvb").rglob("*.py")):
        text = path.read_bytes()
        if b"jit" in text or b"NamedTuple" in text:
            source.update(text)
    return Path(tempfile.gettempdir()) / f"sklearn_cvb-{source.hexdigest()[:16]}"


def single_threaded(**changes):
    """The environment of a child process in which no library starts threads of its own.

    `**changes`: other variables; None removes one.
    """
    environment = {**os.environ, **dict.fromkeys(_THREADS, "1")}
    environment["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    environment.setdefault("NUMBA_CACHE_DIR", str(source_cache()))
    environment |= changes
    return {name: value for name, value in environment.items() if value is not None}


def run_python(arguments, **changes):
    """Run Python in a process of its own; returns what the last line it prints says in JSON."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=single_threaded(**changes),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
    return json.loads(done.stdout.strip().splitlines()[-1])


def isolated(name, settings):
    """Measure one row or curve in a process of its own."""
    return run_python(["-m", "benchmarks", "--child", name, json.dumps(settings._asdict())])
