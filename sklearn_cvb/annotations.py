"""Types of what public functions take, where the standard ones have no short name."""

import os

import numpy as np

# Where a seed is asked for, and a path.
Seed = int | np.random.RandomState | np.random.Generator | None
Folder = str | os.PathLike[str]
# One number, or one for each cell.
Numbers = float | np.ndarray
