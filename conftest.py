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
        is_usual = config.option.tier == "usual"
        _compile_beforehand(Path(os.environ["NUMBA_CACHE_DIR"]), is_usual)


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


def _compile_beforehand(folder, is_usual):
    """Two halves of the work in a process each, which share no kernel and take equally long."""
    kinds = ("all", "usual") if is_usual else ("all",)
    done = [folder / f"{kind}-of-{source_cache().name}" for kind in kinds]
    if any(one.exists() for one in done):
        return
    from tiers import COMPILED_LATER

    from sklearn_cvb.compilation.cases import SITUATIONS

    asked = [f"{name}:{title}" for name, titles in SITUATIONS.items() for title in titles]
    asked = [one for one in asked if not (is_usual and COMPILED_LATER.search(one))]
    # Without what can wait grammars have time for another family.
    of_one_half = "(?!.*Latent).*PCFG:.*" + "|.*Alignment.*" * is_usual
    one_half = [one for one in asked if re.fullmatch(of_one_half, one)]
    command = [sys.executable, "-m", "sklearn_cvb.compile", "--only"]
    halves = [
        subprocess.Popen([*command, ",".join(half)], cwd=_ROOT)
        for half in (one_half, [one for one in asked if one not in one_half])
    ]
    # Tests will say what is wrong if one of them fails.
    statuses = [half.wait() for half in halves]
    if not any(statuses):
        done[-1].touch()


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
