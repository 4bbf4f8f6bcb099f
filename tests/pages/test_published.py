"""Pages of published experiments show what the experiments, as they are now, have found."""

from pathlib import Path

import pytest

from benchmarks.published.catalogue import EXPERIMENTS
from benchmarks.published.provenance import digest, digests_of

TABLES = Path(__file__).resolve().parents[2] / "doc" / "published" / "tables"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_tables_are_of_the_experiment_as_it_is(name):
    page = TABLES / f"{name}.rst"
    found = digests_of(page.read_text(encoding="utf-8")) if page.exists() else []
    assert found == [digest(name)], (
        f"{page.name} is of {found or 'no digest'}, but {name}.py and what it imports have "
        f"{digest(name)}: run `python -m benchmarks.published {name} --doc doc`"
    )
