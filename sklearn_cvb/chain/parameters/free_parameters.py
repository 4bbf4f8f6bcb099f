"""The number of free parameters of a fitted chain, the d of AIC and BIC: cells that a fit may move,
less one for each row.
"""

from typing import Any

import numpy as np

from sklearn_cvb.chain.parameters.rows import ChainPrior, HMMCounts, flat_cells
from sklearn_cvb.chain.parameters.user_tables import chain_tables
from sklearn_cvb.chain.paths.lattice import Cells
from sklearn_cvb.learning.learned import Learned
from sklearn_cvb.reading.validation import InvalidParameterError
from sklearn_cvb.settings import HMMParameters


def n_free(learned: Learned) -> int:
    """How many free parameters there are.

    Those cells count that a fit may move, minus one for each row that has any.

    - Start: the states that a sequence may begin in; none if the row is fixed, or the stationary
      distribution of the transitions.
    - Transitions: what the topology allows in rows that are not fixed, the end among it, for each
      context that fit has seen; none where all rows are the start row. Rows that share weights (an
      HDP, "pooled") count as free ones: the weights are their prior.
    - Symbols: what a state may emit, seen or only declared, in rows that are not fixed. Unknown
      symbols are one more where training tokens were, or have what those seen once have ("rare",
      "form"); what a prior alone gives them no token tells. Labels change nothing.
    - Zeros that `init` gives count under a prior alone: EM without pseudo-counts never moves them,
      unless batches of symbols do (`partial_fit`), which may use what those before have not.
    - Numbers: what the family counts, nothing if it is fixed.
    - Durations: one for each state under "poisson" and "negative_binomial"; of a histogram all
      durations that fit into the longest training sequence, less one.

    A mixture of chains is one chain of blocks, which none leaves.
    """
    if learned.n_free_parameters is not None:
        return learned.n_free_parameters
    cells, numeric = learned.layout, learned.extra.numeric
    start, transition, emission = _movable(learned)
    rows = np.arange(len(transition))[:, None]
    free = _free_cells_of_rows(start, np.zeros(len(start), np.intp))
    free += _free_cells_of_rows(transition, np.broadcast_to(rows, transition.shape))
    if numeric is not None and numeric.transitions is not None:
        # A row of coefficients beside each intercept, which stands for a probability.
        free += len(transition) * (len(transition) - 1) * len(numeric.columns.inputs)
    if numeric is None:
        return free + _free_cells_of_rows(emission, cells.state)
    if not cells.chain.longest:
        return free + int(numeric.family.count_parameters(numeric.point))
    of_durations: int = numeric.family.n_free_durations(numeric.longest)
    return free + int(numeric.family.family.n_parameters) + of_durations


def _free_cells_of_rows(movable: np.ndarray, rows: np.ndarray) -> int:
    """Cells that may be moved, each in its row, minus the rows that have any."""
    return int(movable.sum()) - len(np.unique(rows[movable]))


def _movable(learned: Learned) -> HMMCounts:
    """Which cells of start, transitions and emissions a fit may move."""
    cells, topology = learned.layout, learned.layout.chain.topology
    start_is_fixed, out_is_fixed, emit_is_fixed = learned.prior.fixed_rows
    begins = np.arange(cells.n_states) < cells.n_emitting
    # Nothing follows the end, and no step of a fit has led to a new context.
    leaves = np.tile(begins, cells.chain.n_tables) & ~out_is_fixed
    leaves[len(leaves) - cells.chain.has_new * cells.n_states :] = False
    start = begins & ~(start_is_fixed | cells.chain.is_stationary)
    transition = np.broadcast_to(leaves[:, None], (len(leaves), cells.n_states))
    if topology is not None:
        start = start & topology.start
        transition = transition & topology.transition & (not topology.is_tied)
    emission = ~emit_is_fixed[cells.state]
    if len(emission) and not _informs_of_unknown(learned):
        emission[cells.unknown] = False
    movable = HMMCounts(start, transition, emission)
    seen = learned.seen_so_far
    is_lifted = seen is not None and seen.n_batches and len(cells.state)
    if learned.zero_cells is None or is_lifted:
        return movable
    each = zip(movable, learned.zero_cells, strict=True)
    return HMMCounts(*(may_move & ~is_still for may_move, is_still in each))


def _informs_of_unknown(learned: Learned) -> bool:
    """Whether training tokens say how likely unknown symbols are."""
    unknown = flat_cells(learned.counts.emission)[learned.layout.unknown]
    return learned.unknown_word_counts is not None or bool(unknown.any())


def cells_kept_zero(init: Any, cells: Cells, words: Any, prior: ChainPrior) -> HMMCounts | None:
    """Cells without prior that are 0 in the tables that a fit begins with; None for none."""
    vocabulary = getattr(words, "types", None)
    if not isinstance(init, HMMParameters):
        return None
    try:
        tables = chain_tables(init, cells, vocabulary)
    except InvalidParameterError:
        return None  # batches have brought new symbols, and lift all zeros
    priors = prior.start, prior.transition, prior.emission
    still = HMMCounts(
        *(
            np.zeros(below.shape, bool) if table is None else (table == 0.0) & (below == 0.0)
            for table, below in zip(tables, priors, strict=True)
        )
    )
    return still if any(table.any() for table in still) else None
