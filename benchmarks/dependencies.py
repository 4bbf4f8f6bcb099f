"""Rows about dependency models."""

import time

import numpy as np

from benchmarks.measurement import Measurement
from benchmarks.text import read

_SENTENCES, _LONGEST = 3914, 40
_QUICK_SENTENCES = 50


def sweep(settings):
    """Processor seconds of a sweep of CVB over the tags of a newspaper."""
    from sklearn_cvb import CVBDMV

    n_sentences = _QUICK_SENTENCES if settings.quick else _SENTENCES
    X = [tags[:_LONGEST] for tags in read(settings, "journal").y[:n_sentences]]
    model = CVBDMV(alpha=0.1, max_iter=1)
    problem, rng = model.fit(X[:2])._problem(X, None), np.random.default_rng(0)
    state = model._sweep(model._start(problem, rng), problem, rng)[0]
    seconds = []
    for _ in range(settings.pairs):
        begin = time.process_time()
        state = model._sweep(state, problem, rng)[0]
        seconds.append(time.process_time() - begin)
    note = f"{len(X):,} sentences of up to {_LONGEST} tokens, {sum(map(len, X)):,} in all"
    return Measurement(seconds, [], seconds, "s", note)
