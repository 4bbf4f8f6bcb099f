"""Parameters of a chain, and counts of its sampled paths, as one flat array: for calibration."""

import numpy as np
from scipy.sparse import csr_array

from sklearn_cvb.certainty.structures import FreeRows
from sklearn_cvb.chain.parameters.rows import ChainPrior, HMMCounts, rows_of, tie_rows
from sklearn_cvb.chain.paths.lattice import Cells
from sklearn_cvb.kernels.chain.forward_backward import ChainWeights

# Longer sequences are cut in windows of so many tokens: what a chain does there depends little on
# what it does elsewhere, and a covariance takes many units.
_WINDOW = 50


def free_rows(counts: HMMCounts, prior: ChainPrior, cells: Cells) -> FreeRows:
    """The Dirichlet posteriors of the start row, of transitions and of emissions."""
    n, tables = cells.n_states, [rows.posterior for rows in rows_of(counts, prior, cells)]
    n_rows = cells.chain.n_tables * n
    steps = 1 + np.repeat(np.arange(n_rows), n)
    row = [np.zeros(n, np.intp), steps, 1 + n_rows + cells.state]
    return FreeRows(
        np.concatenate([table.cells.ravel() for table in tables]),
        np.concatenate(row),
        np.concatenate([table.totals for table in tables]),
    )


def weights_at(theta: np.ndarray, cells: Cells) -> ChainWeights:
    """Weights with these probabilities."""
    n = cells.n_states
    start, transition, emission = np.split(theta, [n, n + cells.chain.n_tables * n * n])
    return tie_rows(ChainWeights(start, transition.reshape(-1, n), emission), cells)


def counts_by_unit(
    states: np.ndarray,
    used: np.ndarray,
    is_open: np.ndarray,
    starts: np.ndarray,
    cells: Cells,
    contexts: np.ndarray | None = None,
) -> csr_array:
    """Counts of each window of a path, (n_windows, n_cells), without what is certain.

    `states`, `used` cells (-1 for none) and contexts of all tokens; `is_open` where a state is not
    certain.
    """
    n, n_tokens = cells.n_states, len(states)
    lengths = np.diff(starts)
    number = np.arange(n_tokens) - np.repeat(starts[:-1], lengths)
    begins = number % _WINDOW == 0
    unit = np.cumsum(begins) - 1
    states, first = states.astype(np.intp), np.flatnonzero((number == 0) & is_open)
    later = np.flatnonzero((number > 0) & (is_open | np.append(False, is_open[:-1])))
    emits = np.flatnonzero(is_open & (used >= 0))
    row, emission = states[later - 1], n + cells.chain.n_tables * n * n
    if contexts is not None:
        row = row + n * contexts[later]
    columns = [states[first], n + row * n + states[later], emission + used[emits].astype(np.intp)]
    cell = np.concatenate(columns)
    entries = np.ones(len(cell)), (unit[np.concatenate([first, later, emits])], cell)
    return csr_array(entries, shape=(int(unit[-1]) + 1, emission + len(cells.state)))
