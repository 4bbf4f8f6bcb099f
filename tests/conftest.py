"""Shared fixtures: the folder of real corpora, and one numba cache for the whole run."""

import os
from pathlib import Path

import pytest

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
