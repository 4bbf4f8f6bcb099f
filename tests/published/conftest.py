"""The experiments are importable from the folder of the sources."""

import sys
from pathlib import Path

import pytest

_ROOT = str(Path(__file__).resolve().parents[2])
if _ROOT not in sys.path:
    sys.path.insert(0, _ROOT)

from benchmarks.published.settings import Settings  # noqa: E402


@pytest.fixture(scope="session")
def quick(data_folder):
    """Settings of a small version, on the real corpora."""
    return Settings(str(data_folder), quick=True)
