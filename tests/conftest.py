"""Shared fixtures: the folder of real corpora, and one numba cache for the whole run."""

import hashlib
import os
import tempfile
from pathlib import Path

import numba
import pytest


def _cache_of_this_source():
    """A numba cache that belongs to this very source.

    Numba looks at the file of a cached kernel, not at the files of what is inlined into it: after
    an edit it would go on running yesterday's code.
    """
    source = hashlib.sha256()
    for path in sorted((Path(__file__).resolve().parents[1] / "sklearn_cvb").rglob("*.py")):
        source.update(path.read_bytes())
    return Path(tempfile.gettempdir()) / f"sklearn_cvb-{source.hexdigest()[:16]}"


# For the processes that tests start, and for this one: a plugin may have imported numba by now.
os.environ.setdefault("NUMBA_CACHE_DIR", str(_cache_of_this_source()))
numba.config.CACHE_DIR = os.environ["NUMBA_CACHE_DIR"]

_BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"


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
