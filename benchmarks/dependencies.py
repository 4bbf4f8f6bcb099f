"""Rows about dependency models."""

import time

import numpy as np

from benchmarks import peers
from benchmarks.measurement import Measurement
from benchmarks.text import read
from benchmarks.timing import interleaved
from sklearn_cvb.dependency.inference import expectation, sentences_of
from sklearn_cvb.dependency.model import cells_by_length
from sklearn_cvb.dependency.parameters import DependencyLayout, tables_of
from sklearn_cvb.reading.corpus import Corpus

_SENTENCES, _LONGEST = 3914, 40
_QUICK_SENTENCES = 50
# Of the sentences that torch-struct is timed with; more at once hardly help it.
_N_TYPES, _BATCH, _QUICK_BATCH = 45, 64, 4
# What rounding may do to log p and to expected arcs.
_ROUNDING = {"float64": 1e-9, "float32": 1e-3}


def sweep(settings):
    """Processor seconds of a sweep of CVB over the tags of a newspaper."""
    from sklearn_cvb import CVBDMV

    n_sentences = _QUICK_SENTENCES if settings.quick else _SENTENCES
    X = [tags[:_LONGEST] for tags in read(settings, "journal").y[:n_sentences]]
    estimator = CVBDMV(alpha=0.1, max_iter=1).fit(X[:2])
    given, rng = estimator._read(X, None), np.random.default_rng(0)
    algorithm, model = estimator._algorithm(), estimator._model(given)
    state, _ = algorithm.sweep(algorithm.start(model, rng), model, rng)
    seconds = []
    for _ in range(settings.pairs):
        begin = time.process_time()
        state, _ = algorithm.sweep(state, model, rng)
        seconds.append(time.process_time() - begin)
    note = f"{len(X):,} sentences of up to {_LONGEST} tokens, {sum(map(len, X)):,} in all"
    return Measurement(seconds, [], seconds, "s", note)


class RandomArcs:
    """Calling it finds the expected arcs of random sentences, summed over all of them.

    Attachments have random weights, decisions to stop or go on weight 1: so trees are weighed by
    their arcs alone, as torch-struct's ``DependencyCRF`` does.
    """

    def __init__(self, length, n_sentences):
        rng = np.random.default_rng(0)
        tokens = rng.integers(_N_TYPES, size=length * n_sentences).astype(np.int32)
        starts = np.arange(0, len(tokens) + 1, length)
        layout = DependencyLayout(_N_TYPES)
        self.sentences = sentences_of(Corpus(tokens, starts, None, []), layout)
        self.weights = np.ones(layout.n_cells)
        attach = tables_of(self.weights, layout)[0]
        attach[:] = rng.gamma(1.0, size=attach.shape)
        ((_, (cells,), _),) = cells_by_length(self.sentences)
        # By sentence, head and child; those of roots on the diagonal.
        self.log_potentials = np.log(self.weights[cells])

    def __call__(self):
        expectation(self.weights, self.sentences)

    def log_z_and_arcs(self):
        """Log of the summed weights of all trees, and expected arcs, of each sentence."""
        _, log_z, shares = expectation(self.weights, self.sentences, keeps_shares=True)
        n_sentences, n, _ = self.log_potentials.shape
        arcs = shares.count.reshape(n_sentences, n * (n + 8))[:, : n * n]
        return log_z, arcs.reshape(n_sentences, n, n)


def against_torch(length):
    """A row that compares inside-outside with torch-struct's, on sentences of a length."""

    def measure(settings):
        ours = RandomArcs(length, _QUICK_BATCH if settings.quick else _BATCH)
        n, log_z, arcs = len(ours.log_potentials), *ours.log_z_and_arcs()
        figures = {}
        for dtype, rounding in _ROUNDING.items():
            peer = peers.torch_struct_arcs(ours.log_potentials, dtype)
            for found, expected in zip(peer(), (log_z, arcs), strict=True):
                if np.abs(found - expected).max() > rounding:
                    raise RuntimeError(f"{dtype}: {found} against {expected}")
            pairs = interleaved(ours, peer, settings.pairs, 0.02 if settings.quick else 0.2)
            figures[dtype] = [[1e3 * x.cpu / n for x in side] for side in zip(*pairs, strict=True)]
        left, right = figures["float64"]
        narrow = np.median(np.divide(*reversed(figures["float32"])))
        note = f"{n} sentences at once; the same likelihoods and expected arcs; ours has decisions "
        note += f"to stop as well, theirs has none; its float32 against our float64: {narrow:.1f}x"
        ratios = [b / a for a, b in zip(left, right, strict=True)]
        return Measurement(left, right, ratios, "ms per sentence", note)

    return measure
