"""A sentence from its items to its likelihood and its best tree."""

import math

from sklearn_cvb.kernels.jit import jit
from sklearn_cvb.kernels.latent.arrays import NONE
from sklearn_cvb.kernels.latent.best_trees import read_tree
from sklearn_cvb.kernels.latent.chart import inside, outside
from sklearn_cvb.kernels.latent.max_rule import max_rule


@jit
def parse_items(grammar, words, reach, items, cells, best, nodes):
    """Parse a sentence by the largest product of posteriors of rules.

    Parameters
    ----------
    grammar : Grammar
    words : ndarray of shape (n,), int64
    reach : Reach
    items : Items
    cells : Cells
        With zeros for weights; filled in.
    best : Best
        Nothing at first; without room no tree is sought.
    nodes : Nodes
        Receives the tree.

    Returns
    -------
    log_z : float
        log p(words); -inf without a tree.
    n_nodes : int
        Of the tree; 0 without one.
    """
    n, n_nodes = words.size, 0
    log_z = inside(grammar, words, reach, items, cells)
    if log_z > -math.inf and best.score.size > 0:
        outside(grammar, n, reach, items, cells)
        top = max_rule(grammar, n, reach, items, cells, best)
        if top != NONE:
            n_nodes = read_tree(top, items.lower_first[n * (n + 1) // 2], items, best, nodes)
    return log_z, n_nodes
