"""What the first use costs: importing, and compiling."""

import tempfile

from benchmarks.measurement import Measurement
from benchmarks.timing import run_python

_IMPORT = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"
_FIT = """
import time
t = time.perf_counter()
from sklearn_cvb import {0}
tagger = {0}({{"a": ["X", "Y"], "b": ["Y"]}}, max_iter=4, {1})
tagger.fit([["a", "b", "a", "a", "b"], ["b", "a", "c"]])
print(time.perf_counter() - t)
"""
_TAGGERS = {
    "EM": ("EMHMMTagger", ""),
    "VB": ("VBHMMTagger", ""),
    "CVB sequence": ("CVBHMMTagger", ""),
    "CVB token": ("CVBHMMTagger", "update='token'"),
    "Gibbs": ("GibbsHMMTagger", ""),
}


def imports(settings):
    """Processor time to import this library, and to import what it cannot do without."""
    n_pairs = 2 if settings.quick else max(9, settings.pairs)
    with tempfile.TemporaryDirectory() as folder:
        # Byte code is kept, but not among the sources.
        kept = {"PYTHONDONTWRITEBYTECODE": None, "PYTHONPYCACHEPREFIX": folder}

        def seconds(modules):
            return run_python(["-c", _IMPORT.format(modules)], **kept)

        sides = ("sklearn_cvb", "sklearn.base, numba")
        for modules in sides:
            seconds(modules)
        pairs = [tuple(map(seconds, sides)) for _ in range(n_pairs)]
    ratios = [a / b for a, b in pairs]
    note = "processor time, byte code cached, a process each"
    return Measurement([a for a, _ in pairs], [b for _, b in pairs], ratios, "s", note)


def first_fit(settings):
    """Seconds from the import to the end of a first small fit, by algorithm."""
    cached, compiled = [], []
    names = ["EM"] if settings.quick else list(_TAGGERS)
    for name in names:
        program = ["-c", _FIT.format(*_TAGGERS[name])]
        with tempfile.TemporaryDirectory() as folder:
            compiled.append(run_python(program, NUMBA_CACHE_DIR=folder))
            cached.append(min(run_python(program, NUMBA_CACHE_DIR=folder) for _ in range(3)))
    each = ", ".join(
        f"{name} {b:.1f} s then {a:.1f} s"
        for name, a, b in zip(names, cached, compiled, strict=True)
    )
    ratios = [b / a for a, b in zip(cached, compiled, strict=True)]
    return Measurement(cached, compiled, ratios, "s", f"import and fit, one of each: {each}")
