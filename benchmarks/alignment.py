"""Rows about word alignment."""

import time

import numpy as np

from benchmarks.measurement import Measurement

_PAIRS, _QUICK_PAIRS, _LENGTH, _N_TYPES = 100_000, 200, 20, 20_000
# Of the target words; the others are translations, in the order of the source.
_OTHER_WORDS = 0.3


def sentence_pairs(n_pairs):
    """Pairs of sentences of words as frequent as Zipf has them, translated word by word."""
    rng = np.random.default_rng(0)
    frequency = 1.0 / np.arange(1, _N_TYPES + 1)
    shares = frequency / frequency.sum()
    source = rng.choice(_N_TYPES, size=(n_pairs, _LENGTH), p=shares)
    others = rng.choice(_N_TYPES, size=source.shape, p=shares)
    target = np.where(rng.random(source.shape) < _OTHER_WORDS, others, source)
    return list(zip(source.tolist(), target.tolist(), strict=True))


def sweep(settings):
    """Processor seconds of a sweep of CVB over many sentence pairs."""
    from sklearn_cvb import CVBAlignmentHMM

    X = sentence_pairs(_QUICK_PAIRS if settings.quick else _PAIRS)
    estimator = CVBAlignmentHMM(init="even", max_iter=1).fit(X[:2])
    read, rng = estimator._read(X, None), np.random.default_rng(0)
    algorithm, model = estimator._algorithm(), estimator._model(read)
    state, seconds = algorithm.start(model, rng), []
    for _ in range(settings.pairs):
        begin = time.process_time()
        state, _ = algorithm.sweep(state, model, rng)
        seconds.append(time.process_time() - begin)
    note = f"{len(X):,} pairs of {_LENGTH} words, {len(read.problem.layout.keys):,} cells"
    return Measurement(seconds, [], seconds, "s", note)
