"""Compiled code on disk: never out of date, and no need of a folder, after one warning."""

import os
import shutil
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path

import numba
import pytest

import sklearn_cvb
from sklearn_cvb.compilation.announcement import SECONDS
from sklearn_cvb.kernels import jit

pytestmark = pytest.mark.process

PROGRAM = """
import sklearn_cvb
from sklearn_cvb import EMHMM, EMPCFG, Symbols
print(sklearn_cvb.__file__)
symbols = Symbols(handle_unknown="error")
model = EMHMM(1, alpha=1.0, beta=1.0, emission=symbols, verbose=1)
print(model.fit([["a", "b", "a"]]).emissionprob_.tolist())
"""


@pytest.fixture(scope="module")
def run_without_folder(tmp_path_factory):
    """What a process says whose package and home can hold no folder, whoever runs it.

    Where a folder would be made there is a file: unlike permissions, that stops root as well.
    """
    place = tmp_path_factory.mktemp("read_only")
    package = place / "sklearn_cvb"
    source = Path(sklearn_cvb.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package, *filter(Path.is_dir, package.rglob("*"))]:
        (folder / "__pycache__").touch()
    no_folder = str(package / "version.py")
    names = ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "NUMBA_CACHE_DIR")
    environment = {**os.environ, **dict.fromkeys(names, no_folder), "PYTHONPATH": str(place)}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_import_and_fit_work(run_without_folder):
    assert run_without_folder.returncode == 0, run_without_folder.stderr
    path, _, probabilities = run_without_folder.stdout.splitlines()
    assert Path(path).parents[1].name.startswith("read_only")
    assert probabilities == "[[0.6, 0.4]]"


def test_one_warning_names_the_remedy(run_without_folder):
    lines = run_without_folder.stderr.splitlines()
    warned = [line for line in lines if "Warning" in line]
    assert len(warned) == 1, lines
    assert "RuntimeWarning: no folder for compiled code can be written" in warned[0]
    assert "NUMBA_CACHE_DIR" in warned[0]


def test_the_fit_says_that_it_compiles(run_without_folder):
    lines = run_without_folder.stderr.splitlines()
    said = [line for line in lines if line.startswith("compiling, once")]
    assert said == [f"compiling, once: up to about {SECONDS['EMHMM']} s"]


CALLER = """
from kernels.callee import result
from kernels.jit import jit

@jit
def call(x):
    return result(x)
"""
CALLEE = """
from kernels.jit import jit_token

@jit_token
def result(x):
    return x + {}
"""
ASK = "from kernels.caller import call; print(call(1)); print(sum(call.stats.cache_hits.values()))"


def _ask(folder, added):
    """What a kernel returns that calls another file, in a process of its own, and its hits."""
    (folder / "kernels" / "callee.py").write_text(CALLEE.format(added))
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")}
    asked = [sys.executable, "-B", "-c", ASK]
    done = subprocess.run(
        asked, cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return [int(word) for word in done.stdout.split()]


def test_code_on_disk_is_not_used_where_a_called_file_has_changed(tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "__init__.py").touch()
    (tmp_path / "kernels" / "jit.py").write_text(Path(jit.__file__).read_text())
    (tmp_path / "kernels" / "caller.py").write_text(CALLER)
    assert _ask(tmp_path, 10) == [11, 0]
    assert _ask(tmp_path, 10) == [11, 1]
    assert _ask(tmp_path, 20) == [21, 0]


def test_an_index_that_names_a_module_that_is_gone_is_passed_over(tmp_path):
    """As after an upgrade: numba cannot unpickle what a removed module has defined."""
    package = tmp_path / "kernels"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "jit.py").write_text(Path(jit.__file__).read_text())
    values = "from typing import NamedTuple\nclass Pair(NamedTuple):\n    one: int\n"
    (package / "values.py").write_text(values)
    (package / "caller.py").write_text(CALLER.replace("call(x):", "call(x):\n    x = x.one"))
    ask = "from kernels.caller import call; from kernels.{} import Pair; print(call(Pair(1)))"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    for name, expected in (("values", "11"), ("others", "21")):
        (package / "callee.py").write_text(CALLEE.format(int(expected) - 1))
        if name == "others":
            (package / "values.py").rename(package / "others.py")
        asked = [sys.executable, "-B", "-c", ask.format(name)]
        done = subprocess.run(
            asked, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.stdout.split() == [expected], done.stderr


def _keep_in(folder, monkeypatch):
    """Numba looks at the variable again where anything in the environment has changed."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder))


@pytest.mark.process(usual=True)
@pytest.mark.parametrize("ending", ["nbi", "nbc"])
def test_truncated_code_is_compiled_anew_and_its_folder_named(ending, tmp_path, monkeypatch):
    """Numba would end every later fit with an EOFError."""
    _keep_in(tmp_path / "cache", monkeypatch)
    (tmp_path / "grown.py").write_text("def grown(x):\n    return x + 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "grown", raising=False)
    function = import_module("grown").grown
    assert jit.jit(function)(1) == 2
    (path,) = (tmp_path / "cache").rglob(f"*.{ending}")
    path.write_bytes(path.read_bytes()[:60])
    jit._warn_of_damage.cache_clear()
    again = jit.jit(function)
    with pytest.warns(RuntimeWarning, match=f"compiled code in {path.parent} is damaged"):
        assert again(1) == 2
    healed = jit.jit(function)
    assert healed(1) == 2
    assert sum(healed.stats.cache_hits.values()) == 1


@pytest.mark.process(usual=True)
def test_code_for_types_that_have_moved_is_compiled_anew_without_a_word(tmp_path, monkeypatch):
    """Numba would end every later fit with a ModuleNotFoundError."""
    _keep_in(tmp_path / "cache", monkeypatch)
    (tmp_path / "grown.py").write_text("def grown(x):\n    return x.one + 1\n")
    text = "from typing import NamedTuple\n\n\nclass Pair(NamedTuple):\n    one: int\n"
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("pairs", "others"):
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, "grown", raising=False)
        kernel = jit.jit(import_module("grown").grown)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert kernel(import_module(name).Pair(1)) == 2
        (tmp_path / f"{name}.py").unlink()
        sys.modules.pop(name)
        import_module("importlib").invalidate_caches()
    assert sum(kernel.stats.cache_misses.values()) == 1
