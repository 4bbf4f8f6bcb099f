"""Trees drawn sentence by sentence: from given weights, or by Hastings steps given all others.

A Hastings step proposes a tree from the posterior means given all other trees, which ignores that
a cell used twice in the tree is likelier the second time; the acceptance makes up for that
(Johnson, Griffiths and Goldwater 2007). A sentence that float64 loses is handed back to Python.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.dependency.backoff import name_component
from sklearn_cvb.kernels.dependency.cells import (
    cell_of_choice,
    coarse_arcs_of,
    mean,
    row_of_arc,
    row_of_choice,
)
from sklearn_cvb.kernels.dependency.chart import inside_scaled
from sklearn_cvb.kernels.dependency.trees import LOGS, PRODUCTS, Descent, descend, descent_for
from sklearn_cvb.kernels.dependency.weights import weigh
from sklearn_cvb.kernels.jit import jit, jit_called


class Draws(NamedTuple):
    """The trees of a sweep.

    Attributes
    ----------
    head : ndarray of shape (n_tokens,), int64
        The head of each token in the tree at hand, from 1; 0 for the root; -1 where a sentence has
        no tree yet.
    is_coarse : ndarray of shape (n_tokens,), int64
        Whether each token's arc comes from a coarse row.
    levels : ndarray of shape (2 * n_tokens,) or (3 * n_tokens,)
        Random numbers, uniform on [0, 1): three for each token where attachments back off.
    proposal : ndarray of shape (2, longest), int64
        Heads of a tree that is proposed, and which of its arcs are coarse.
    used : ndarray of shape (5 * longest, 2), int64
        Cell and row of all that a tree uses.
    valence : ndarray of shape (longest,), int64
        Row of each token's arc among those of its head and side.
    n_children : ndarray of shape (longest, 2), int64
        By side.
    n_accepted : ndarray of shape (2,), int64
        Trees proposed and accepted.
    descent : Descent
    """

    head: np.ndarray
    is_coarse: np.ndarray
    levels: np.ndarray
    proposal: np.ndarray
    used: np.ndarray
    valence: np.ndarray
    n_children: np.ndarray
    n_accepted: np.ndarray
    descent: Descent


def draws_for(head: np.ndarray, is_coarse: np.ndarray, levels: np.ndarray, longest: int) -> Draws:
    """A sweep that has not begun."""
    return Draws(
        head,
        is_coarse,
        levels,
        np.zeros((2, longest), np.int64),
        np.zeros((5 * longest, 2), np.int64),
        np.zeros(longest, np.int64),
        np.zeros((longest, 2), np.int64),
        np.zeros(2, np.int64),
        descent_for(longest),
    )


@jit_called
def list_used(sentences, i, head, is_coarse, draws):
    """List cell and row of all that the tree of a sentence uses; returns how many they are."""
    used, n_children, first = draws.used, draws.n_children, sentences.starts[i]
    n, size = head.size, 0
    for c in range(n):
        n_children[c, 0] = n_children[c, 1] = 0
    for x in range(2 * n):
        # Children on the right, and the root, from the left on; then children on the left from the
        # right on: those of a head from the nearest to the farthest.
        c, side = (x, 1) if x < n else (2 * n - 1 - x, 0)
        h = c if head[c] == 0 else head[c] - 1
        if int(c >= h) == side:
            valence = min(n_children[h, side], sentences.n_valences - 1)
            row, tag = row_of_arc(sentences, first, h, c, valence), sentences.token[first + c]
            draws.valence[c] = valence
            used[size, 0], used[size, 1] = row * sentences.n_types + tag, row
            size += 1
            if h != c:
                n_children[h, side] += 1
                size += name_component(sentences, used, row, size, is_coarse[c], sentences.coarse)
    for h in range(n):
        token = sentences.token[first + h]
        for side in range(2):
            # Each child but the first is one more decision to go on with valence 1.
            for x in range(n_children[h, side] + 1):
                stops = x == n_children[h, side]
                choice = 4 * side + 2 * (x > 0) + (0 if stops else 1)
                used[size, 0] = cell_of_choice(sentences, token, choice)
                used[size, 1] = row_of_choice(sentences, token, choice // 2)
                size += 1
    return size


@jit_called
def draw_components(sentences, i, work, draws, levels, coarse):
    """Draw whether the arcs of a proposed tree come from coarse rows, by the shares of weights."""
    if coarse is not None:
        n = sentences.starts[i + 1] - sentences.starts[i]
        head, is_coarse = draws.proposal[0, :n], draws.proposal[1, :n]
        list_used(sentences, i, head, is_coarse, draws)
        for c in range(n):
            is_coarse[c] = 0
            if head[c] > 0:
                parts = coarse_arcs_of(n, work.n_valences, draws.valence[c])
                share = work.weight[parts + (head[c] - 1) * n + c]
                is_coarse[c] = int(levels[2 * n + c] < share)


@jit_called
def _add_used(tally, used, size, sign):
    """Add what a tree uses to the counts, or take it out."""
    for x in range(size):
        tally.sums.cells[used[x, 0]] += sign
        tally.sums.totals[used[x, 1]] += sign


@jit_called
def _log_ratio(tally, used, size):
    """Log of p(tree | all others) over the product of posterior means it is proposed by.

    The first is that of an urn: cell after cell, each given those before (Wang and Blunsom 2013,
    eq. 5).
    """
    total = 0.0
    for x in range(size):
        total -= math.log(mean(tally, used[x, 0], used[x, 1]))
    for x in range(size):
        total += math.log(mean(tally, used[x, 0], used[x, 1]))
        tally.sums.cells[used[x, 0]] += 1.0
        tally.sums.totals[used[x, 1]] += 1.0
    _add_used(tally, used, size, -1.0)
    return total


@jit
def draw_trees(sentences, tally, work, draws, power, i, log_z):
    """Draw the trees of sentences from `i` on.

    Parameters
    ----------
    sentences : Sentences
    tally : Tally
        Counts of all trees; changed in place where sentences have trees.
    work : Work
    draws : Draws
        `head` and `is_coarse` receive the trees. A sentence that has a tree takes a Hastings step
        given all other trees; one without gets a tree from its posterior given the tally as it is.
    power : float
        Probabilities are raised to it.
    i : int
    log_z : ndarray of shape (n_sentences,)
        NaN for sentences to draw. Receives log p(words) in nats; one of -inf gets no tree.

    Returns
    -------
    int
        The next sentence. All are done; or it is lost, or has no tree: then its old tree is taken
        out and its weights are made, and the chart must be filled with logs and its `log_z` set.
    """
    per_token = draws.levels.size // draws.head.size
    while i < log_z.size:
        first = sentences.starts[i]
        n = sentences.starts[i + 1] - first
        old, proposal, kind = draws.head[first : first + n], draws.proposal[0, :n], LOGS
        was_coarse, is_coarse = draws.is_coarse[first : first + n], draws.proposal[1, :n]
        has_tree = old[0] >= 0
        if math.isnan(log_z[i]):
            if has_tree:
                size = list_used(sentences, i, old, was_coarse, draws)
                _add_used(tally, draws.used, size, -1.0)
            weigh(sentences, tally, work.weight, i, power)
            log_z[i], kind = inside_scaled(work, n), PRODUCTS
            if math.isnan(log_z[i]):
                break
        if log_z[i] > -math.inf:
            levels = draws.levels[per_token * first : per_token * (first + n)]
            descend(work, draws.descent, kind, levels, proposal)
            draw_components(sentences, i, work, draws, levels, sentences.coarse)
            accepted = True
            if has_tree:
                size = list_used(sentences, i, old, was_coarse, draws)
                ratio = -_log_ratio(tally, draws.used, size)
                size = list_used(sentences, i, proposal, is_coarse, draws)
                ratio += _log_ratio(tally, draws.used, size)
                accepted = math.log(1.0 - levels[2 * n - 1]) < power * ratio
                draws.n_accepted[0] += 1
                draws.n_accepted[1] += accepted
            if accepted:
                for c in range(n):
                    old[c] = proposal[c]
                    was_coarse[c] = is_coarse[c]
            if has_tree:
                size = list_used(sentences, i, old, was_coarse, draws)
                _add_used(tally, draws.used, size, 1.0)
        i += 1
    return i
