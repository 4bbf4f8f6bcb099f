"""A row about grammars with independent children: how a sweep grows with the symbols."""

import time
import warnings

import numpy as np

from benchmarks.measurement import Measurement
from benchmarks.text import read

_LONGEST, _SENTENCES, _QUICK_SENTENCES = 40, 1000, 20
# Symbols with all rules, and with independent children: those that are compared, and the others.
_FULL, _COMPARED, _OTHERS = 16, 64, (16, 256)


def _seconds(kind, X, n_components, rules, n_sweeps):
    """Processor seconds of a few sweeps over X."""
    estimator = kind(n_components=n_components, rules=rules, max_iter=1, random_state=0)
    rng = np.random.default_rng(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        read = estimator.fit(X[:2])._read(X, None)
    algorithm, model = estimator._algorithm(), estimator._model(read)
    state = algorithm.start(model, rng)
    seconds = []
    for _ in range(n_sweeps):
        begin = time.process_time()
        state, _ = algorithm.sweep(state, model, rng)
        seconds.append(time.process_time() - begin)
    return seconds


def sweep(settings):
    """Sweeps of EM over the tags of a newspaper, against all rules with fewer symbols."""
    from sklearn_cvb import CVBPCFG, EMPCFG

    tags = [tags for tags in read(settings, "journal").y if len(tags) <= _LONGEST]
    X = tags[: _QUICK_SENTENCES if settings.quick else _SENTENCES]
    compared = 2 if settings.quick else _COMPARED
    full = 2 if settings.quick else _FULL
    left = _seconds(EMPCFG, X, compared, "independent", settings.pairs)
    right = _seconds(EMPCFG, X, full, "full", settings.pairs)
    others = (3,) if settings.quick else _OTHERS
    notes = [
        f"{n} symbols {_seconds(kind, X, n, 'independent', 1)[0]:.2f} s by {kind.__name__[:-4]}"
        for kind in (EMPCFG, CVBPCFG)
        for n in others
    ]
    ratios = [b / a for a, b in zip(left, right, strict=True)]
    note = f"{len(X):,} sentences, {sum(map(len, X)):,} tags; {', '.join(notes)}"
    return Measurement(left, right, ratios, "s", note)
