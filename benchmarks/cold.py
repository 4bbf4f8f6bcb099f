"""What the first use costs: importing, and compiling."""

import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.measurement import Measurement, Row
from benchmarks.timing import run_python, single_threaded
from sklearn_cvb.compilation.cases import EVERY_SITUATION

_IMPORT = "import time; t = time.process_time(); import {}; print(time.process_time() - t)"
# Processor seconds of the last of some situations; of the first one the import is a part.
_FITS = """
import sys, time
from sklearn_cvb.compilation.cases import EVERY_SITUATION
pairs = [argument.split("/") for argument in sys.argv[1:]]
*before, last = [EVERY_SITUATION[name][title] for name, title in pairs]
for each in before:
    each.fit().predict(each.X_new)
begin = time.process_time() if before else 0.0
last.fit().predict(last.X_new)
print(time.process_time() - begin)
"""
# What is measured of all situations, where an estimator has it.
_CHAIN_TITLES = ("full", "partial", "labels", "none", "missing", "auto", "windows", "topology")
_OTHER_TITLES = ("token", "token partial", "sequence")
_GRAMMAR_TITLES = ("given", "n_components", "tables")
_NAMED = ("raw", "fixed", "split-merge", "symbols", "numbers", "gaussian")
_TITLES = (*_CHAIN_TITLES, *_OTHER_TITLES, *_GRAMMAR_TITLES, *_NAMED)
# Most seconds, and the goal.
_CHAIN, _OTHERS = (4.5, 4), (7, 4)
_SECOND, _MAIN = (3, 1), (28, 15)


def imports(settings):
    """Processor time to import this library, and to import what it cannot do without."""
    n_pairs = 1 if settings.quick else max(9, settings.pairs)
    kept = _byte_code(settings)

    def seconds(modules):
        return run_python(["-c", _IMPORT.format(modules)], **kept)

    sides = ("sklearn_cvb", "sklearn.base, numba")
    for modules in sides:
        seconds(modules)
    pairs = [tuple(map(seconds, sides)) for _ in range(n_pairs)]
    ratios = [a / b for a, b in pairs]
    note = "processor time, byte code cached, a process each"
    return Measurement([a for a, _ in pairs], [b for _, b in pairs], ratios, "s", note)


def _byte_code(settings):
    """Variables by which byte code is kept, but not among the sources (quick: as it is)."""
    if settings.quick:
        return {}
    folder = Path(tempfile.gettempdir(), "sklearn_cvb-byte-code")
    return {"PYTHONDONTWRITEBYTECODE": None, "PYTHONPYCACHEPREFIX": str(folder)}


def _bounds(name):
    return _CHAIN if name.endswith(("HMM", "HMMTagger")) and "Alignment" not in name else _OTHERS


def rows():
    """A row for each estimator and situation; the same after the estimator's usual situation."""
    found = {}
    for name, situations in EVERY_SITUATION.items():
        usual = next(iter(situations))
        for title in filter(situations.__contains__, _TITLES):
            measure = partial(_first, f"{name}/{title}")
            words = f"{name}, {title}"
            found[f"cold/{name}/{title}"] = _row(words, measure, _bounds(name))
            if title != usual:
                measure = partial(_second, f"{name}/{usual}", f"{name}/{title}")
                found[f"second/{name}/{title}"] = _row(f"{words} after {usual}", measure, _SECOND)
    found["cold/main"] = _row("python -m sklearn_cvb, on the wall", main_job, _MAIN)
    return found


def _row(title, measure, bounds):
    return Row(title, measure, False, *bounds, " s")


def _first(situation, settings):
    """Processor seconds of import, first fit and prediction with nothing compiled."""
    with tempfile.TemporaryDirectory() as folder:
        compiled, kept = (_seconds([situation], folder, settings) for _ in range(2))
    return Measurement([compiled], [kept], [compiled], "s", "")


def _second(usual, situation, settings):
    """Seconds that a situation adds where another one is compiled."""
    before = Path(settings.folder, "compiled", usual.replace("/", "-"))
    if not before.exists():
        _seconds([usual], before, settings)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(before, folder, dirs_exist_ok=True)
        pair = [usual, situation]
        compiled, kept = (_seconds(pair, folder, settings) for _ in range(2))
    return Measurement([compiled], [kept], [compiled], "s", "")


def main_job(settings):
    """Seconds on the wall of the main job with nothing compiled."""
    arguments = ["--sentences", "30", "--restarts", "1"] if settings.quick else []
    with tempfile.TemporaryDirectory() as folder:
        environment = single_threaded(
            NUMBA_CACHE_DIR=str(folder), PYTHONPATH=str(Path(__file__).resolve().parents[1])
        )
        command = [sys.executable, "-m", "sklearn_cvb", *arguments]
        seconds = []
        for _ in range(2):
            begin = time.perf_counter()
            subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True)
            seconds.append(time.perf_counter() - begin)
    return Measurement([seconds[0]], [seconds[1]], [seconds[0]], "s", "")


def _seconds(situations, folder, settings):
    """Processor seconds of the last situation; compiled code is in the folder."""
    kept = _byte_code(settings)
    run_python(["-c", _IMPORT.format("sklearn_cvb, sklearn_cvb.estimators.grammars")], **kept)
    return run_python(["-c", _FITS, *situations], NUMBA_CACHE_DIR=str(folder), **kept)
