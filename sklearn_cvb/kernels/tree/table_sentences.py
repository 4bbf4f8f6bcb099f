"""One sentence at a time by tables, for algorithms whose weights change between sentences.

Lists of rules take over where a sentence has a tree only in log space.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_allocating
from sklearn_cvb.kernels.tree.charts import Chart, chart_for
from sklearn_cvb.kernels.tree.lists import inside, outside
from sklearn_cvb.kernels.tree.nodes import empty_trees, resized
from sklearn_cvb.kernels.tree.sampling import sample_tree
from sklearn_cvb.kernels.tree.table_products import dense_inside, dense_rule_counts
from sklearn_cvb.kernels.tree.tables import DenseRules, DenseWork, work_for


class DenseRoom(NamedTuple):
    """Rules in tables and all buffers for one sentence, see `dense_room_for`."""

    dense: DenseRules
    work: DenseWork
    chart: Chart
    sentence: np.ndarray
    log_z: np.ndarray
    stack: np.ndarray


def dense_room_for(dense, rules, lexicon):
    """Buffers for the longest sentence.

    Parameters
    ----------
    dense : DenseRules
    rules : Rules
        The same rules in lists.
    lexicon : Lexicon

    Returns
    -------
    DenseRoom
    """
    longest = int(lexicon.length.max())
    return DenseRoom(
        dense,
        work_for(dense, longest),
        chart_for(rules, longest),
        np.empty(1, np.int64),
        np.empty(1),
        np.empty((longest + 1, 3), np.int64),
    )


@jit
def infer_by_tables(rules, weights, lexicon, brackets, i, room, counts):
    """Add the expected counts of sentence `i` to `counts`; returns log p(words)."""
    room.sentence[0] = i
    dense_rule_counts(
        room.dense, weights, lexicon, brackets, room.sentence, room.work, counts, room.log_z
    )
    log_z = room.log_z[0]
    if log_z == -math.inf:
        log_z = inside(rules, weights, lexicon, brackets, i, room.chart)
        if log_z > -math.inf:
            outside(rules, weights, lexicon, brackets, i, room.chart, counts)
    return log_z


@jit
def inside_by_tables(rules, weights, lexicon, brackets, i, room):
    """Fill the chart of sentence `i`; returns log p(words)."""
    room.sentence[0] = i
    log_z = dense_inside(
        room.dense, weights, lexicon, brackets, room.sentence, room.work, room.chart
    )
    if log_z == -math.inf:
        log_z = inside(rules, weights, lexicon, brackets, i, room.chart)
    return log_z


@jit_allocating
def sample_trees_by_tables(rules, weights, lexicon, brackets, room, rng, log_z):
    """`tree_sampling.sample_trees` of all sentences, by tables; the same trees but for rounding."""
    trees, size = empty_trees(log_z.size, 4 * room.stack.shape[0]), 0
    for i in range(log_z.size):
        log_z[i] = inside_by_tables(rules, weights, lexicon, brackets, i, room)
        if log_z[i] > -math.inf:
            trees, size = sample_tree(
                rules, weights, lexicon, i, room.chart, rng, room.stack, trees, size
            )
        trees.starts[i + 1] = size
    return resized(trees, size, size)
