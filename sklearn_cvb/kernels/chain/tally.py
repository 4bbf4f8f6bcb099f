"""What collapsed inference reads and changes: counts with the prior added, and their floor."""

from typing import NamedTuple

import numpy as np


class Tally(NamedTuple):
    """Counts with the prior added: cells of all tables and the denominators of their rows."""

    start: np.ndarray
    transition: np.ndarray
    out: np.ndarray
    emission: np.ndarray
    emit: np.ndarray


class Floor(NamedTuple):
    """The least that each entry of a `Tally` can be, that any emission cell and any step can be.

    Rounding must not make a cell with a tiny prior negative. The smallest prior is bound enough for
    that: where a cell's own is larger, rounding is nothing beside it.
    """

    start: np.ndarray
    transition: np.ndarray
    out: np.ndarray
    emission: np.ndarray
    emit: np.ndarray
    least: float
    least_step: float
