"""Sums of expected counts as kernels add them, by cell (a parameter) and row (a distribution)."""

from typing import NamedTuple

import numpy as np


class CellSums(NamedTuple):
    """Counts by cell, and their totals by row."""

    cells: np.ndarray
    totals: np.ndarray
