"""Pages of published experiments show what the experiments, as they are now, have found."""

from pathlib import Path

import pytest

from benchmarks.published.catalogue import EXPERIMENTS
from benchmarks.published.provenance import digest, digests_of

TABLES = Path(__file__).resolve().parents[2] / "doc" / "published" / "tables"
# Not run again since pages say what they are of. This list only shrinks.
WAITING = [
    "distributed",
]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_tables_are_of_the_experiment_as_it_is(name):
    page = TABLES / f"{name}.rst"
    found = digests_of(page.read_text(encoding="utf-8")) if page.exists() else []
    is_up_to_date = found == [digest(name)]
    if name in WAITING:
        assert not is_up_to_date, (
            f"take {name} from WAITING: its page is of the experiment as it is"
        )
    else:
        assert is_up_to_date, (
            f"{page.name} is of {found or 'no digest'}, but {name}.py and what it imports have "
            f"{digest(name)}: run `python -m benchmarks.published {name} --doc doc`"
        )


def test_what_waits_is_an_experiment():
    assert set(WAITING) <= set(EXPERIMENTS)
