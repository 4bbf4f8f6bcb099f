"""Shared fixtures: the folder of real corpora, and one numba cache for the whole run."""

import gc
import os
import re
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numba
import pytest

_ROOT = Path(__file__).resolve().parent
if str(_ROOT) not in sys.path:
    sys.path.insert(0, str(_ROOT))

from benchmarks.timing import source_cache  # noqa: E402

# Markers of tests, and which of them run.
pytest_plugins = ["tiers"]

# For the processes that tests start, and for this one: a plugin may have imported numba by now.
os.environ.setdefault("NUMBA_CACHE_DIR", str(source_cache()))
numba.config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]

# A package whose first module pytest imports would be there twice, with classes of its own each.
for _package in ("emissions", "settings"):
    import_module(f"sklearn_cvb.{_package}")

# Who starts tests in the background, as a shell's "&" does, has told them to ignore Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session):
    """Before all tests run on several processes: compile once, not in each of them."""
    config = session.config
    is_all = (
        config.args_source is pytest.Config.ArgsSource.TESTPATHS
        and not config.getoption("keyword")
        and not config.getoption("collectonly")
    )
    if is_all and config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        _compile_everything(Path(os.environ["NUMBA_CACHE_DIR"]))


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is there before the first test stays, and is not looked through for garbage again.

    To look through all modules and tests, over and over, would be a sixth of the time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()
        gc.set_threshold(20_000, 20, 20)


def _compile_everything(folder):
    """Two halves of the work in a process each: grammars, and all other families.

    They share no kernel and take as long as each other.
    """
    done = folder / f"all-of-{source_cache().name}"
    if done.exists():
        return
    from sklearn_cvb.compilation.cases import SITUATIONS

    grammars = [name for name in SITUATIONS if re.fullmatch("(?!.*Latent).*PCFG", name)]
    others = [name for name in SITUATIONS if name not in grammars]
    command = [sys.executable, "-m", "sklearn_cvb.compile", "--only"]
    halves = [
        subprocess.Popen([*command, ",".join(half)], cwd=_ROOT) for half in (grammars, others)
    ]
    # Tests will say what is wrong if one of them fails.
    statuses = [half.wait() for half in halves]
    if not any(statuses):
        done.touch()


_BESIDE = _ROOT.parent / "shared" / "data"


def _data_folder():
    named = os.environ.get("SKLEARN_CVB_DATA")
    folder = Path(named) if named else _BESIDE
    return folder.resolve() if folder.is_dir() else None


@pytest.fixture(scope="session")
def data_folder():
    """The folder of real corpora, or a skip that says how to provide it."""
    folder = _data_folder()
    if folder is None:
        pytest.skip("real corpora not found: set SKLEARN_CVB_DATA to their folder")
    return folder


@pytest.fixture(autouse=True)
def _no_data_folder_in_environment(monkeypatch):
    """Tests name their data folder; none is picked up by accident."""
    monkeypatch.delenv("SKLEARN_CVB_DATA", raising=False)
