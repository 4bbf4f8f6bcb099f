"""What a fit needs beside the sequences it is given: peak bytes per token."""

import ctypes
import gc
import sys
import tracemalloc
from contextlib import suppress
from pathlib import Path

from benchmarks.measurement import Measurement
from benchmarks.models import TAGGERS
from benchmarks.text import read
from benchmarks.timing import isolated
from sklearn_cvb import tag_dictionary_from

_STATUS = Path("/proc/self/status")
_RUNS = 3


def cvb(settings):
    """Peak of CVB sequence with a dictionary on the largest text."""
    runs = [
        isolated("peak/CVB sequence/brown/0", settings)
        for _ in range(1 if settings.quick else _RUNS)
    ]
    figures = [run["resident"] for run in runs]
    note = (
        f"{runs[0]['tokens']:,} tokens, {runs[0]['tags']} tags, two sweeps, X not counted; "
        f"allocated (counted by tracemalloc) {runs[0]['traced']:.0f}"
    )
    return Measurement(figures, [], figures, "bytes per token", note)


def peak(settings, algorithm, name, n_tokens):
    """Peak bytes per token of a fit with a dictionary, resident and as counted by tracemalloc.

    `algorithm`: a key of `TAGGERS`. `n_tokens`: about how many tokens: sentences are repeated; 0
    for the text as it is.
    """
    text = read(settings, name)
    legal = tag_dictionary_from(text.X, text.y, weights=False)
    X = repeated(text.X, n_tokens)
    total = sum(map(len, X))
    del text
    # Kernels are loaded before: they are the same whatever the number of tokens.
    _two_sweeps(algorithm, legal).fit(X[:20])
    _give_back()
    before = _start_of_peak()
    _two_sweeps(algorithm, legal).fit(X)
    resident = (_peak() - before) / total
    _give_back()
    tracemalloc.start()
    _two_sweeps(algorithm, legal).fit(X)
    traced = tracemalloc.get_traced_memory()[1] / total
    tags = len({tag for tags in legal.values() for tag in tags})
    return {"resident": resident, "traced": traced, "tokens": total, "tags": tags}


def _two_sweeps(algorithm, legal):
    """A tagger that is fitted for two sweeps; samplers run all of theirs anyway."""
    tagger = TAGGERS[algorithm](legal).set_params(max_iter=2)
    return tagger.set_params(tol=0) if "tol" in tagger.get_params(deep=False) else tagger


def repeated(X, n_tokens):
    """Sentences from the start, over and over, until there are `n_tokens` (0: as they are)."""
    if not n_tokens:
        return X
    taken, total = [], 0
    while total < n_tokens:
        sentence = X[len(taken) % len(X)]
        taken.append(sentence)
        total += len(sentence)
    return taken


def _give_back():
    """Return freed memory to the system, so that the fit has to ask for what it uses."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _start_of_peak():
    """Bytes resident now; forgets earlier peaks where the system can."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS") or _peak()


def _peak():
    """Most bytes that were resident."""
    if _STATUS.exists():
        return _status("VmHWM")
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )


def _status(field):
    if not _STATUS.exists():
        return None
    (line,) = [line for line in _STATUS.read_text().splitlines() if line.startswith(field)]
    return 1024 * int(line.split()[1])
