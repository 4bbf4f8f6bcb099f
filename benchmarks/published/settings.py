"""What every experiment is given, and what all of them do with it."""

from time import perf_counter
from typing import NamedTuple


class Settings(NamedTuple):
    """How an experiment is run."""

    data_home: str | None = None  # folder of the corpora, as the functions ``fetch_*`` take it
    quick: bool = False  # a small version of the same experiment, for tests
    n_jobs: int = 1  # threads for restarts; figures do not depend on it, seconds do
    replications: int | None = None  # data sets of a simulation; None for its usual number


def run_parts(parts, settings):
    """Run all parts of an experiment, without files.

    `parts`: ``part(settings) -> dict``. Returns what each part found, by its name, with its
    ``seconds`` on the wall.
    """
    return {name: timed(part, settings) for name, part in parts.items()}


def timed(function, settings):
    """What `function` finds, with its ``seconds`` on the wall."""
    begin = perf_counter()
    found = function(settings)
    return found | {"seconds": perf_counter() - begin}
