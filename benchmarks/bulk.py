"""Corpora on disk: tokens per second into a store, and memory and time of fits on one.

``python -m benchmarks.bulk --tokens 2e8 --folder somewhere`` generates parquet files, writes a
store from them, and fits taggers by EM, VB and CVB on it, each in a process of its own. The folder
needs 150 bytes per token for as long as that takes.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks.measurement import Measurement
from sklearn_cvb import CVBHMMTagger, EMHMMTagger, VBHMMTagger, open_store, write_store

_WORDS, _TAGS, _SENTENCES = 100_000, 45, 500_000
_TAGGERS = {"EM": EMHMMTagger, "VB": VBHMMTagger, "CVB": CVBHMMTagger}
_STATUS = Path("/proc/self/status")


def generate(folder, n_tokens, seed=0):
    """Write parquet files of sentences of 10 to 30 words, whose frequencies are Zipf's.

    `n_tokens`: at least this many.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, paths = np.random.default_rng(seed), []
    shares = np.cumsum(1.0 / np.arange(1, _WORDS + 1))
    words = pa.array([f"w{i}" for i in range(_WORDS)])
    folder.mkdir(parents=True, exist_ok=True)
    while n_tokens > 0:
        lengths = rng.integers(10, 31, size=min(_SENTENCES, -(-n_tokens // 20)))
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        codes = np.searchsorted(shares, shares[-1] * rng.random(starts[-1])).astype(np.int32)
        values = pa.DictionaryArray.from_arrays(pa.array(codes), words)
        paths.append(folder / f"{len(paths)}.parquet")
        column = pa.ListArray.from_arrays(pa.array(starts), values)
        pq.write_table(pa.table({"words": column}), paths[-1])
        n_tokens -= int(starts[-1])
    return paths


def dictionary():
    """A tag dictionary of the generated words: 2.2 tags per word, one for half of them."""
    rng = np.random.default_rng(1)
    sizes = np.minimum(rng.geometric(0.55, size=_WORDS), 6).tolist()
    tags = [f"T{i:02d}" for i in range(_TAGS)]
    return {f"w{i}": rng.choice(tags, size=n, replace=False).tolist() for i, n in enumerate(sizes)}


def writing(settings):
    """The row of the table: million tokens per second from parquet into a store."""
    n_tokens = 200_000 if settings.quick else 10_000_000
    with tempfile.TemporaryDirectory() as folder:
        paths, speeds = generate(Path(folder) / "parquet", n_tokens), []
        for _ in range(settings.pairs):
            begin = time.perf_counter()
            store = write_store(paths, Path(folder) / "store", overwrite=True)
            speeds.append(store.n_tokens / (time.perf_counter() - begin) / 1e6)
        note = (
            f"{len(store):,} sentences, {store.n_tokens:,} tokens, {len(store.vocabulary):,} words"
        )
    return Measurement(speeds, [], speeds, "M tokens/s", note)


def written(paths, folder):
    """Write a store; returns how long that took and what it needed."""
    begin = time.perf_counter()
    with Peak() as peak:
        store = write_store(paths, folder, overwrite=True)
    seconds = time.perf_counter() - begin
    return {"tokens": store.n_tokens, "seconds": seconds, **peak.megabytes}


def fitted(algorithm, folder, n_sweeps):
    """Fit a tagger; returns the seconds of its parts and what it needed."""
    store, legal = open_store(folder), dictionary()
    tagger = _TAGGERS[algorithm](legal, max_iter=n_sweeps, tol=0, random_state=0)
    if algorithm == "EM":
        tagger.set_params(alpha=0.1, beta=0.1)
    # Kernels are loaded before.
    tagger.fit(store[:100])
    return {"tokens": store.n_tokens, **timed_fit(tagger, store)}


def timed_fit(model, X):
    """Fit a model; returns the seconds of its parts and what it needed."""
    clock, algorithm = [time.perf_counter()], model._algorithm()

    def timed(*given):
        found = type(algorithm).sweep(algorithm, *given)
        clock.append(time.perf_counter())
        return found

    algorithm.sweep = timed
    model._algorithm = lambda: algorithm
    with Peak() as peak:
        model.fit(X)
    clock.append(time.perf_counter())
    parts = np.diff(clock)
    return {
        "layout and first sweep": float(parts[0]),
        "a sweep": float(np.median(parts[1:-1])),
        "labels": float(parts[-1]),
        **peak.megabytes,
    }


class Peak:
    """The most memory that was resident, and what part of it were pages of files (megabytes)."""

    def __enter__(self):
        self.megabytes, self._ends = {}, threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)
        self._watch.start()
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._watch.join()

    def _look(self):
        is_over = False
        while not is_over:
            # Once more at the end: a short fit is over before the first wait.
            is_over = self._ends.wait(0.05)
            for line in _STATUS.read_text().splitlines():
                name, value = line.split(":")
                if name in ("VmRSS", "RssAnon", "RssFile"):
                    size = int(value.split()[0]) // 1024
                    self.megabytes[name] = max(size, self.megabytes.get(name, 0))


def _alone(*arguments):
    """A call of this file in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.bulk", "--child", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main(arguments=None):
    """Measure all and print a line of JSON for each part."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bulk", description=__doc__)
    parser.add_argument("--tokens", type=float, default=1e7)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bulk")
    parser.add_argument("--sweeps", type=int, default=3)
    parser.add_argument("--algorithms", nargs="*", default=list(_TAGGERS), choices=_TAGGERS)
    parser.add_argument("--child", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        name, folder, *rest = options.child
        if name == "write":
            print(json.dumps(written(sorted(Path(folder).glob("*.parquet")), rest[0])))
        else:
            print(json.dumps(fitted(name, folder, int(rest[0]))))
        return
    store = options.folder / "store"
    if not store.exists():
        generate(options.folder / "parquet", int(options.tokens))
        print("write", json.dumps(_alone("write", options.folder / "parquet", store)), flush=True)
    for algorithm in options.algorithms:
        found = _alone(algorithm, store, options.sweeps)
        print(algorithm, json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
