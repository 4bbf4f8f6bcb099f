"""Grammars, treebanks and alignment: how large a corpus fits in memory, and how long a sweep takes.

``python -m benchmarks.memory_of_trees --data /path/to/corpora`` fits each model to corpora of two
sizes, each in a process of its own. The differences are bytes and processor seconds of one more
token, by which a memory is filled, and then gone through once on one core.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

import sklearn_cvb
from benchmarks.alignment import sentence_pairs
from sklearn_cvb.datasets import fetch_dependency_treebank, fetch_treebank_trees

_LONGEST, _SWEEPS = 40, 3
_TOKENS, _PAIR_TOKENS = (20_000, 60_000), (200_000, 600_000)


def tags(data):
    """The tags of sentences of the Penn treebank sample, of up to 40 words."""
    found = fetch_dependency_treebank(remove_punctuation=True, data_home=data).data
    return [sentence for sentence in found if len(sentence) <= _LONGEST]


def trees(data):
    """Its trees of up to 40 words."""
    found = fetch_treebank_trees(data_home=data).target
    return [tree for tree in found if len(tree.leaves()) <= _LONGEST]


def pairs(data):
    """Generated pairs of 20 words; words of both sides are tokens."""
    return sentence_pairs(15_000)


# By the family: sentences, how many words one has, sizes, settings, and who learns it.
FAMILIES = {
    "PCFG": (tags, len, _TOKENS, {"n_components": 8}),
    "DMV": (tags, len, _TOKENS, {}),
    "LatentPCFG": (trees, lambda tree: len(tree.leaves()), _TOKENS, {"n_subtypes": 4}),
    "AlignmentHMM": (pairs, lambda pair: sum(map(len, pair)), _PAIR_TOKENS, {}),
}
ALGORITHMS = ("EM", "VB", "CVB")


def fitted(algorithm, family, n_tokens, data):
    """Tokens, processor seconds of a sweep, and the most memory that the process had."""
    read, size_of, _, settings = FAMILIES[family]
    X = read(data)
    # No sentence stands there twice: those that are alike might be inferred once.
    del X[np.searchsorted(np.cumsum([size_of(x) for x in X]), n_tokens) + 1 :]
    kind = getattr(sklearn_cvb, algorithm + family)
    fit = partial(kind, tol=0, random_state=0, n_jobs=1, **settings)
    # Kernels are loaded before.
    fit(max_iter=2).fit(X[:20])
    seconds = []
    for n_sweeps in (1, 1 + _SWEEPS):
        begin = time.process_time()
        fit(max_iter=n_sweeps).fit(X)
        seconds.append(time.process_time() - begin)
    return {
        "tokens": sum(map(size_of, X)),
        "sweep": (seconds[1] - seconds[0]) / _SWEEPS,
        "bytes": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    }


def of_a_token(small, large):
    """Bytes and microseconds of a token, and what fills a memory (GB): tokens, hours of a sweep."""
    n_tokens = large["tokens"] - small["tokens"]
    size = (large["bytes"] - small["bytes"]) / n_tokens
    seconds = (large["sweep"] - small["sweep"]) / n_tokens
    filled = {
        f"{memory} GB": [memory * 1e9 / size, memory * 1e9 / size * seconds / 3600]
        for memory in (2, 16)
    }
    return {"bytes": size, "microseconds": 1e6 * seconds, **filled}


def main(arguments=None):
    """Measure all and print a line of JSON for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.memory_of_trees")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child:
        algorithm, family, n_tokens = options.child
        print(json.dumps(fitted(algorithm, family, int(n_tokens), options.data)))
        return
    for family, (_, _, sizes, _) in FAMILIES.items():
        for algorithm in ALGORITHMS:
            found = []
            for n_tokens in sizes:
                command = [sys.executable, "-m", "benchmarks.memory_of_trees", "--child"]
                command += [algorithm, family, str(n_tokens), "--data", str(options.data)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                found.append(json.loads(done.stdout.splitlines()[-1]))
            print(algorithm + family, json.dumps(of_a_token(*found)), flush=True)


if __name__ == "__main__":
    main()
