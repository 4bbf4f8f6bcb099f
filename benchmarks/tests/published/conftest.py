"""How the experiments are run in tests."""

import pytest

from benchmarks.published.settings import Settings


@pytest.fixture(scope="session")
def quick(data_folder):
    """Settings of a small version, on the real corpora."""
    return Settings(str(data_folder), quick=True)
