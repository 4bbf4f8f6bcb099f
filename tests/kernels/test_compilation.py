"""Every kernel is compiled once: for one set of types, and never again in another process.

Kernels that Python calls are cached on disk; the parts they are made of are compiled into them and
have no cache of their own.
"""

import gc
import importlib
import json
import os
import pkgutil
import subprocess
import sys

import pytest

from sklearn_cvb import Windows
from sklearn_cvb.kernels import jit

pytestmark = pytest.mark.process

NAMES = [
    f"{algorithm}HMM{ending}"
    for algorithm in ("EM", "VB", "CVB", "Gibbs")
    for ending in ("", "Tagger")
]


def dispatchers():
    """All compiled functions of the package by their full name."""
    from numba.core.registry import CPUDispatcher

    import sklearn_cvb

    found = {}
    for module in pkgutil.walk_packages(sklearn_cvb.__path__, "sklearn_cvb."):
        if module.name.endswith("__main__") or ".datasets" in module.name:
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, CPUDispatcher):
                found[f"{value.__module__}.{value.__name__}"] = value
    return found


def is_cached(kernel):
    """Whether a kernel is kept on disk."""
    return type(kernel._cache).__name__ == "FunctionCache"


def snapshot():
    """For each kernel how many sets of types it was compiled or loaded for, and cache misses."""
    return {
        name: [len(kernel.signatures), sum(kernel.stats.cache_misses.values())]
        for name, kernel in dispatchers().items()
    }


def _use(model, X, other):
    """Fit and read a model in every way."""
    model.fit(X)
    for name in ("predict", "predict_proba", "filter_proba", "predict_next_proba", "transform"):
        getattr(model, name)(other)
    model.predict(other, decoding="marginal")
    model.score_samples(other)
    model.sample_paths(other, random_state=0)
    model.sample(2, 3, random_state=0)


def _settings(name):
    """Ways to fit a class that take different kernels."""
    ways = [{"init": "token"}, {"init": "parameter"}, {"init": "unambiguous"}]
    if name.startswith("CVB"):
        ways += [{"update": "token"}, {"update": Windows(2)}]
    if name.startswith("Gibbs"):
        ways += [{"update": "sequence"}, {"update": "parameter"}]
    if not name.startswith("EM"):
        auto = {"alpha": "auto", "beta": "auto", "max_iter": 22}
        ways += [auto if name.startswith("Gibbs") else auto | {"tol": 0}]
    return ways


def _fit_all(name, X, other, **keywords):
    import sklearn_cvb

    for way in _settings(name):
        _use(getattr(sklearn_cvb, name)(**{"max_iter": 3} | keywords | way), X, other)


def _first_then_second(name):
    """Snapshots after the first fits of a class, and after others of other sizes and types."""
    import warnings

    import numpy as np

    warnings.simplefilter("ignore")
    tagger = name.endswith("Tagger")
    legal = {"tag_dictionary": {1: ["N"], 2: ["N", "V"]}} if tagger else {}
    integers = [[1, 2, 3, 1], [2, 2, 1], [3, 1]]
    _fit_all(name, integers, [[2, 9, 1]], **legal)
    # Without a dictionary, or with none but ambiguous words, other kernels do the work.
    _fit_all(name, integers, [[2, 9, 1]], n_components=1)
    if tagger:
        ambiguous = {1: ["N", "V"], 2: ["A", "N"], 3: ["A", "V"]}
        _fit_all(name, integers, [[2, 9, 1]], tag_dictionary=ambiguous)
    before = snapshot()
    words = [["a", "b"], ["c", None, "d", "a", "e"], ["b"]]
    dictionary = {"tag_dictionary": {"a": ["X", "Y"], "zebra": ["Z"]}} if tagger else {}
    _fit_all(name, words, [["a"], ["zebra", "a", None]], **dictionary)
    table = np.random.default_rng(0).integers(9, size=(6, 5)).astype(float)
    table[2, 3:] = np.nan
    _fit_all(name, table, table, n_components=5)
    _fit_all(name, table.astype("float32")[:2], table[:, ::-1], n_components=1, beta=1e-10)
    return before, snapshot()


@pytest.fixture(scope="module")
def report():
    """What a fresh process says, and if it compiled anything, a second: it finds all on disk."""
    found = _report()
    _, after = found[NAMES[-1]]
    return _report() if any(n_misses for _, n_misses in after.values()) else found


def _report():
    done = subprocess.run(
        [sys.executable, __file__, *NAMES], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def _grown(before, after):
    return {name: (before.get(name), now) for name, now in after.items() if before.get(name) != now}


@pytest.mark.parametrize("name", NAMES)
def test_a_second_fit_compiles_nothing(report, name):
    before, after = report[name]
    assert _grown(before, after) == {}


def test_a_second_process_compiles_nothing(report):
    _, after = report[NAMES[-1]]
    kernels = dispatchers()
    misses = {name: n_misses for name, (_, n_misses) in after.items() if n_misses}
    assert misses == {}
    loaded = {name for name, (n_types, _) in after.items() if n_types}
    assert len(loaded) >= 15
    # A part on its own is neither compiled nor called: it came with the kernels it belongs to.
    assert {name for name in loaded if not is_cached(kernels[name])} == set()


# Kernels with arguments that are None where the data do not need them, and how many such there are.
OPTIONAL = {"pass_over_sequences": 3, "infer_in_logs": 2}


def test_every_kernel_has_one_set_of_types(report):
    _, after = report[NAMES[-1]]
    for name, (n_types, _) in after.items():
        assert n_types <= 2 ** OPTIONAL.get(name.split(".")[-1], 0), name


def test_every_kernel_releases_the_lock_and_keeps_to_ieee():
    kernels = dispatchers()
    assert sum(map(is_cached, kernels.values())) >= 15
    for name, kernel in kernels.items():
        options = kernel.targetoptions
        assert options["nogil"], name
        assert options["error_model"] == "numpy", name
        assert not options.get("parallel"), name
        assert options["fastmath"] <= {"contract", "reassoc"}, name


@pytest.mark.parametrize("collects", [True, False])
def test_no_garbage_is_looked_for_while_the_package_compiles(collects):
    from numba.core import event

    from sklearn_cvb.kernels.chain.decoding import best_paths, marginals

    def compiling(function):
        return event.trigger_event("numba:compile", data={"dispatcher": function})

    def foreign():
        pass

    foreign.py_func = foreign
    foreign.__module__ = "sklearn_cvb_of_others"
    before = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        with compiling(foreign):
            assert gc.isenabled() == collects
            with compiling(best_paths):
                # Of its parts some are numba's own.
                with compiling(foreign), compiling(marginals):
                    assert not gc.isenabled()
                assert not gc.isenabled()
            assert gc.isenabled() == collects
        with pytest.raises(ZeroDivisionError), compiling(best_paths):
            raise ZeroDivisionError
        assert gc.isenabled() == collects
    finally:
        (gc.enable if before else gc.disable)()


if __name__ == "__main__":
    print(json.dumps({name: _first_then_second(name) for name in sys.argv[1:]}))


# Compiles a small kernel of its own folder, and says how often.
_TOGETHER = """
import sys
sys.path.insert(0, sys.argv[1])
from numba.core import event
from small_kernel import double

compiled = []


class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event)

    def on_end(self, event):
        pass


event.register("numba:compile", Listener())
assert double(21.0) == 42.0
print(len(compiled))
"""
_SMALL = """
from sklearn_cvb.kernels.jit import jit

@jit
def double(x):
    return 2.0 * x
"""


@pytest.mark.many(usual=1)
@pytest.mark.skipif(sys.platform == "win32", reason="no locks of files there")
def test_processes_that_start_together_compile_a_kernel_once(tmp_path, monkeypatch):
    (tmp_path / "small_kernel.py").write_text(_SMALL)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    command = [sys.executable, "-c", _TOGETHER, str(tmp_path)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = sorted(int(one.communicate(timeout=300)[0]) for one in started)
    assert said == [0, 0, 0, 1]
    # Processes that come later find it there, too.
    assert subprocess.run(command, capture_output=True, text=True).stdout.strip() == "0"


@pytest.mark.skipif(sys.platform == "win32", reason="no locks of files there")
def test_a_lock_goes_with_its_process_and_is_not_waited_for_for_ever(tmp_path, monkeypatch):
    import fcntl

    path, held = str(tmp_path / "there" / "kernel.lock"), []

    def compile_it():
        with open(path) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                held.append(False)
            except BlockingIOError:
                held.append(True)
        return "compiled"

    compiled = jit._after_one_another(compile_it, path)
    assert compiled() == "compiled"
    assert held == [True]
    hold = f"import fcntl, sys; f = open({path!r}); fcntl.flock(f, 2); print(1, flush=True); "
    command = [sys.executable, "-c", hold + "sys.stdin.read()"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as other:
        other.stdout.readline()
        # It is waited for in vain, and no longer than that.
        monkeypatch.setattr(jit, "_LONGEST_WAIT", 0.05)
        assert compiled() == "compiled"
        assert jit._takes(os.open(path, os.O_RDWR), fcntl.LOCK_EX) is False
        # One that is killed leaves the file, and no lock.
        other.kill()
        other.wait()
        assert jit._takes(os.open(path, os.O_RDWR), fcntl.LOCK_EX)


def test_where_no_folder_can_be_made_kernels_are_compiled_all_the_same(tmp_path):
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    locked = jit._after_one_another(lambda: "compiled", str(nowhere / "kernel.lock"))
    assert locked() == "compiled"


def test_an_error_of_the_compiler_gives_the_lock_back(tmp_path):
    path = str(tmp_path / "kernel.lock")

    def fails():
        raise ValueError("no types")

    for _ in range(2):
        with pytest.raises(ValueError, match="no types"):
            jit._after_one_another(fails, path)()
