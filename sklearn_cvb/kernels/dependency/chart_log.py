"""The chart in logs: the heaviest trees, and sentences that float64 loses.

What is passed down this chart are probabilities of parts of the tree, which are at most 1, so that
only the inside weights need logs.
"""

import math

import numpy as np

from sklearn_cvb.kernels.dependency.arrays import (
    ARC_LEFT,
    ARC_RIGHT,
    LEFT,
    LEFT_BY_END,
    OPEN_LEFT,
    OPEN_RIGHT,
    RIGHT,
    RIGHT_BY_END,
)
from sklearn_cvb.kernels.dependency.cells import arcs_of, is_possible
from sklearn_cvb.kernels.dependency.expectation import add_share
from sklearn_cvb.kernels.dependency.trees import HEAVIEST, descend
from sklearn_cvb.kernels.dependency.weights import weigh
from sklearn_cvb.kernels.jit import jit, jit_called

# Log of a weight 0 where a tree must be given though none has weight: the one with fewest such.
ALMOST_NOTHING = -1e9


@jit_called
def _to_logs(weight, n, first, least):
    """Replace the weights of a sentence by their logs, those of 0 by `least`."""
    for x in range(n * (n + 8) + (first > 0) * n * n):
        weight[x] = math.log(weight[x]) if weight[x] > 0.0 else least


@jit_called
def _folded(table, a, b, n, heaviest):
    """Log of the sum of products of two runs of n cells, or the largest, from their logs."""
    peak = -math.inf
    for k in range(n):
        peak = max(peak, table[a + k] + table[b + k])
    if not heaviest and peak > -math.inf:
        total = 0.0
        for k in range(n):
            total += math.exp(table[a + k] + table[b + k] - peak)
        peak += math.log(total)
    return peak


@jit_called
def _either(a, b, heaviest):
    """Log of the sum of two weights, or of the larger one, from their logs."""
    peak, rest = max(a, b), min(a, b)
    if not heaviest and rest > -math.inf:
        peak += math.log1p(math.exp(rest - peak))
    return peak


@jit_called
def _inside_log(weight, inner, n, first, heaviest):
    """Fill the chart with logs of summed weights, or of the largest; returns that of the whole."""
    size = n * n
    right, open_right, arc_right = RIGHT * size, OPEN_RIGHT * size, ARC_RIGHT * size
    left, open_left, arc_left = LEFT * size, OPEN_LEFT * size, ARC_LEFT * size
    right_by_end, left_by_end = RIGHT_BY_END * size, LEFT_BY_END * size
    for i in range(n):
        x, choice = i * n + i, size + 8 * i
        inner[left + x] = inner[left_by_end + x] = weight[choice]
        inner[open_left + x] = weight[choice + 1]
        inner[right + x] = inner[right_by_end + x] = weight[choice + 4]
        inner[open_right + x] = weight[choice + 5]
    for width in range(1, n):
        for i in range(n - width):
            j = i + width
            ii, ij, ji, jj = i * n + i, i * n + j, j * n + i, j * n + j
            one = inner[open_right + ii] + inner[left + ji + 1] + weight[first + ij]
            total = _folded(inner, open_right + ii + 1, left + ji + 2, width - 1, heaviest)
            inner[arc_right + ij] = _either(one, total + weight[ij], heaviest)
            one = inner[right + ij - 1] + inner[open_left + jj] + weight[first + ji]
            total = _folded(inner, right + ii, open_left + ji + 1, width - 1, heaviest)
            inner[arc_left + ji] = _either(one, total + weight[ji], heaviest)
            total = _folded(inner, arc_right + ii + 1, right_by_end + ji + 1, width, heaviest)
            choice = size + 8 * i
            inner[right + ij] = inner[right_by_end + ji] = total + weight[choice + 6]
            inner[open_right + ij] = total + weight[choice + 7]
            total = _folded(inner, arc_left + ji, left_by_end + ii, width, heaviest)
            choice = size + 8 * j
            inner[left + ji] = inner[left_by_end + ij] = total + weight[choice + 2]
            inner[open_left + ji] = total + weight[choice + 3]
    peak, total = -math.inf, 0.0
    for r in range(n):
        whole = weight[r * n + r] + inner[left + r * n] + inner[right + r * n + n - 1]
        if whole > peak:
            total *= math.exp(peak - whole)
            peak = whole
        if whole > -math.inf:
            total += math.exp(whole - peak)
    return peak if heaviest or peak == -math.inf else peak + math.log(total)


@jit_called
def _pass_down(outer, inner, share, a, b, n):
    """Spread the probability of a part of the tree over the pairs it may be made of."""
    if share > 0.0:
        total = _folded(inner, a, b, n, False)
        for k in range(n):
            p = share * math.exp(inner[a + k] + inner[b + k] - total)
            outer[a + k] += p
            outer[b + k] += p


@jit_called
def _first_down(outer, inner, share, log_weight, a, b):
    """Pass on the part of an arc's probability that it has with a first child; returns this part.

    The log weight is that of the arc, less that of all that ends with it.
    """
    part = 0.0
    if share > 0.0:
        part = min(share, share * math.exp(inner[a] + inner[b] + log_weight))
        outer[a] += part
        outer[b] += part
    return part


@jit
def fill_lost(work, n):
    """Fill the chart of a sentence that float64 has lost with logs, from its rescaled weights.

    Returns log p(words), -inf without a tree.
    """
    log_scale, first = work.weight[-1], arcs_of(n, work.n_valences, 0)
    _to_logs(work.weight, n, first, -math.inf)
    return _inside_log(work.weight, work.inner, n, first, False) + log_scale


@jit
def count_lost(work, n, count, at):
    """The same, and its expected counts, written to a share that begins at `at`."""
    weight, inner, outer, size = work.weight, work.inner, work.outer, n * n
    right, open_right, arc_right = RIGHT * size, OPEN_RIGHT * size, ARC_RIGHT * size
    left, open_left, arc_left = LEFT * size, OPEN_LEFT * size, ARC_LEFT * size
    right_by_end, left_by_end = RIGHT_BY_END * size, LEFT_BY_END * size
    log_scale, first = weight[-1], arcs_of(n, work.n_valences, 0)
    _to_logs(weight, n, first, -math.inf)
    total = _inside_log(weight, inner, n, first, False)
    for x in range(8 * size):
        outer[x] = 0.0
    for x in range(at, at + n * (n + 8) + (first > 0) * size):
        count[x] = 0.0
    if total > -math.inf:
        for r in range(n):
            begin, end = left + r * n, right + r * n + n - 1
            p = math.exp(weight[r * n + r] + inner[begin] + inner[end] - total)
            outer[begin] += p
            outer[end] += p
            count[at + r * n + r] = p
        for width in range(n - 1, -1, -1):
            for i in range(n - width):
                j = i + width
                ii, ij, ji = i * n + i, i * n + j, j * n + i
                # Choices with a child on the side, or without.
                x = at + size + 8 * i + (6 if width > 0 else 4)
                y = at + size + 8 * j + (2 if width > 0 else 0)
                closed, opened = (
                    outer[right + ij] + outer[right_by_end + ji],
                    outer[open_right + ij],
                )
                count[x] += closed
                count[x + 1] += opened
                _pass_down(
                    outer, inner, closed + opened, arc_right + ii + 1, right_by_end + ji + 1, width
                )
                closed = outer[left + ji] + outer[left_by_end + ij]
                opened = outer[open_left + ji]
                count[y] += closed
                count[y + 1] += opened
                _pass_down(outer, inner, closed + opened, arc_left + ji, left_by_end + ii, width)
                if width > 0:
                    x, y, k = open_right + ii, left + ji + 1, width - 1
                    share, log_share = outer[arc_right + ij], inner[arc_right + ij]
                    one = _first_down(outer, inner, share, weight[first + ij] - log_share, x, y)
                    count[at + ij] = max(0.0, share - one)
                    _pass_down(outer, inner, count[at + ij], x + 1, y + 1, k)
                    count[at + first + ij] += one
                    x, y = right + ii, open_left + ji + 1
                    share, log_share = outer[arc_left + ji], inner[arc_left + ji]
                    weighed = weight[first + ji] - log_share
                    one = _first_down(outer, inner, share, weighed, x + k, y + k)
                    count[at + ji] = max(0.0, share - one)
                    _pass_down(outer, inner, count[at + ji], x, y, k)
                    count[at + first + ji] += one
    return total + log_scale


@jit_called
def _rule_out(sentences, weight, i):
    """Give arcs that disagree with a known head no weight at all."""
    first, n_valences = sentences.starts[i], sentences.n_valences
    n = sentences.starts[i + 1] - first
    for c in range(n):
        for h in range(n):
            if not is_possible(sentences, first, h, c):
                weight[h * n + c] = -math.inf
                weight[arcs_of(n, n_valences, 0) + h * n + c] = -math.inf


@jit
def heaviest_trees(sentences, tally, shares, leaves_out, places, head, log_weights):
    """The heaviest tree of each sentence, the first among equals.

    Parameters
    ----------
    sentences : Sentences
    tally : Tally
        Whose quotients are the weights; what a sentence adds is taken out meanwhile, where asked.
    shares : Shares
    leaves_out : bool
        Whether the share of each sentence is left out of its weights.
    places : tuple (Work, Descent)
    head : ndarray of shape (n_tokens,), int64
        Receives the head of each token, from 1; 0 for the root.
    log_weights : ndarray of shape (n_sentences,)
        Receives the log weight of each tree, less than `ALMOST_NOTHING` / 2 where a part of it has
        weight 0.
    """
    work, descent = places
    for i in range(log_weights.size):
        first = sentences.starts[i]
        n = sentences.starts[i + 1] - first
        if leaves_out:
            add_share(sentences, tally.sums, shares, i, -1.0)
        weigh(sentences, tally, work.weight, i, 1.0)
        if leaves_out:
            add_share(sentences, tally.sums, shares, i, 1.0)
        after = arcs_of(n, work.n_valences, 0)
        _to_logs(work.weight, n, after, ALMOST_NOTHING)
        _rule_out(sentences, work.weight, i)
        log_weights[i] = _inside_log(work.weight, work.inner, n, after, True)
        descend(work, descent, np.int64(HEAVIEST), descent.levels, head[first : first + n])
