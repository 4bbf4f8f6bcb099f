"""What every experiment is told, and what all of them do with it."""

from time import perf_counter
from typing import NamedTuple


class Settings(NamedTuple):
    """How an experiment is run.

    Attributes
    ----------
    data_home : str or None
        Folder of the corpora, as the functions ``fetch_*`` take it.
    quick : bool
        A small version of the same experiment, for tests.
    n_jobs : int
        Threads for restarts; figures do not depend on it, seconds do.
    """

    data_home: str | None = None
    quick: bool = False
    n_jobs: int = 1


def run_parts(parts, settings):
    """Run the parts of an experiment.

    Parameters
    ----------
    parts : dict of str to callable
        ``part(settings) -> dict``.
    settings : Settings

    Returns
    -------
    dict
        What each part found, by its name, with its ``seconds`` on the wall.
    """
    return {name: timed(part, settings) for name, part in parts.items()}


def timed(function, settings):
    """What `function` finds, with its ``seconds`` on the wall."""
    begin = perf_counter()
    found = function(settings)
    return found | {"seconds": perf_counter() - begin}
