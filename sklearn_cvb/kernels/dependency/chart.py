"""The chart of split heads: weights of a sentence, inside and outside, in n^3 steps.

Eisner (1996). Each token takes its children on either side on its own, from the nearest to the
farthest, so a half of a tree is told by its head and its other end. Whether a head has a child on a
side yet is no part of the chart: it has one unless the half ends at the head. So valence (Klein and
Manning 2004) costs nothing.
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
    UNKNOWN_HEAD,
)
from sklearn_cvb.kernels.jit import jit_called, jit_inline, jit_token, jit_token_reduction

# float64 spans e-708 to e+709, and a sentence of n tokens has fewer than e^(1.92 n) trees, none
# heavier than 1 but for the root: from here on what a chart loses is below rounding.
_LEAST_LOG, _LOG_TREES = -640.0, 1.92
# Quotients with smaller divisors may be too large.
_LEAST_DIVISOR = 1e-100


@jit_inline
def row_of_choice(sentences, token, side_and_valence):
    """The row in which a tag stops or goes on."""
    return 2 * sentences.n_types + 1 + 4 * token + side_and_valence


@jit_inline
def cell_of_choice(sentences, token, choice):
    """The cell of a choice 4 d + 2 v + (0 stop, 1 go) of a tag."""
    return (2 * sentences.n_types + 1) * sentences.n_types + 8 * token + choice


@jit_inline
def row_of_arc(sentences, first, head, child):
    """The row of an arc between two tokens of the sentence that begins at `first`."""
    row = 2 * sentences.token[first + head] + (child > head)
    if head == child:
        row = 2 * sentences.n_types
    return row


@jit_inline
def mean(tally, cell, row):
    """The posterior mean of a cell; rounding never takes a count below 0."""
    above = max(tally.sums.cells[cell], 0.0) + tally.prior[cell]
    return above / (max(tally.sums.totals[row], 0.0) + tally.prior_totals[row])


@jit_called
def weigh(sentences, tally, weight, i, power):
    """Write the weights of all arcs and choices of a sentence, to a power.

    Arcs that disagree with a known head have weight 0.
    """
    first = sentences.starts[i]
    n = sentences.starts[i + 1] - first
    at = np.int64(0)
    for h in range(n):
        for c in range(n):
            known = sentences.head[first + c]
            weight[at] = 0.0
            if known == UNKNOWN_HEAD or known == (0 if h == c else h + 1):
                row = row_of_arc(sentences, first, h, c)
                cell = row * sentences.n_types + sentences.token[first + c]
                weight[at] = mean(tally, cell, row)
            at += 1
    for h in range(n):
        token = sentences.token[first + h]
        for x in range(8):
            cell = cell_of_choice(sentences, token, x)
            weight[at] = mean(tally, cell, row_of_choice(sentences, token, x // 2))
            at += 1
    if power != 1.0:
        for x in range(at):
            weight[x] **= power
    weight[at] = 0.0


@jit_called
def rescale(weight, n):
    """Divide what each tree uses once by its largest weight: float64 holds longer sentences.

    Each token is attached once, by an arc and a decision to go on, and stops once on either side.
    """
    choices, log_scale = n * n, 0.0
    for c in range(n):
        largest = 0.0
        for h in range(n):
            go = choices + 8 * h + (5 if c > h else 1)
            if h != c:
                largest = max(largest, weight[h * n + c] * max(weight[go], weight[go + 2]))
        if largest > _LEAST_DIVISOR:
            for h in range(n):
                weight[h * n + c] /= largest
            log_scale += math.log(largest)
        for stop in range(choices + 8 * c, choices + 8 * c + 8, 4):
            largest = max(weight[stop], weight[stop + 2])
            if largest > _LEAST_DIVISOR:
                weight[stop] /= largest
                weight[stop + 2] /= largest
                log_scale += math.log(largest)
    weight[choices + 8 * n] = log_scale


@jit_token_reduction
def _dot(table, a, b, n):
    """Sum of products of two runs of n cells."""
    total = 0.0
    for k in range(n):
        total += table[a + k] * table[b + k]
    return total


@jit_called
def inside(weight, inner, n):
    """Fill the chart with the summed weights of all parts of trees; returns that of whole trees."""
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
            ii, ij, ji = i * n + i, i * n + j, j * n + i
            total = _dot(inner, open_right + ii, left + ji + 1, width)
            inner[arc_right + ij] = total * weight[ij]
            total = _dot(inner, right + ii, open_left + ji + 1, width)
            inner[arc_left + ji] = total * weight[ji]
            total = _dot(inner, arc_right + ii + 1, right_by_end + ji + 1, width)
            choice = size + 8 * i
            inner[right + ij] = inner[right_by_end + ji] = total * weight[choice + 6]
            inner[open_right + ij] = total * weight[choice + 7]
            total = _dot(inner, arc_left + ji, left_by_end + ii, width)
            choice = size + 8 * j
            inner[left + ji] = inner[left_by_end + ij] = total * weight[choice + 2]
            inner[open_left + ji] = total * weight[choice + 3]
    total = 0.0
    for r in range(n):
        total += weight[r * n + r] * inner[left + r * n] * inner[right + r * n + n - 1]
    return total


@jit_called
def inside_scaled(work, n):
    """log p(words) of the weights at hand; NaN where float64 is too small, or there is no tree."""
    rescale(work.weight, n)
    total, log_z = inside(work.weight, work.inner, n), math.nan
    if 0.0 < total < math.inf and math.log(total) > _LEAST_LOG + _LOG_TREES * n:
        log_z = math.log(total) + work.weight[n * (n + 8)]
    return log_z


@jit_token
def _pass_on(outer, inner, share, a, b, n):
    """Pass a share of outside weight on to both runs of a sum of products."""
    for k in range(n):
        outer[a + k] += share * inner[b + k]
        outer[b + k] += share * inner[a + k]


@jit_called
def outside(work, n, total, count, at):
    """Write the expected counts of arcs and choices to a share that begins at `at`.

    `total` is what `inside` has returned.
    """
    weight, inner, outer, size = work.weight, work.inner, work.outer, n * n
    right, open_right, arc_right = RIGHT * size, OPEN_RIGHT * size, ARC_RIGHT * size
    left, open_left, arc_left = LEFT * size, OPEN_LEFT * size, ARC_LEFT * size
    right_by_end, left_by_end = RIGHT_BY_END * size, LEFT_BY_END * size
    for x in range(8 * size):
        outer[x] = 0.0
    for x in range(at + size, at + size + 8 * n):
        count[x] = 0.0
    for r in range(n):
        begin, end = r * n, r * n + n - 1
        share = weight[r * n + r] / total
        outer[left + begin] += share * inner[right + end]
        outer[right + end] += share * inner[left + begin]
        count[at + r * n + r] = share * inner[right + end] * inner[left + begin]
    for width in range(n - 1, 0, -1):
        for i in range(n - width):
            j = i + width
            ii, ij, ji = i * n + i, i * n + j, j * n + i
            x, y = size + 8 * i + 6, size + 8 * j + 2
            closed, opened = outer[right + ij] + outer[right_by_end + ji], outer[open_right + ij]
            count[at + x] += closed * inner[right + ij]
            count[at + x + 1] += opened * inner[open_right + ij]
            share = closed * weight[x] + opened * weight[x + 1]
            _pass_on(outer, inner, share, arc_right + ii + 1, right_by_end + ji + 1, width)
            closed, opened = outer[left + ji] + outer[left_by_end + ij], outer[open_left + ji]
            count[at + y] += closed * inner[left + ji]
            count[at + y + 1] += opened * inner[open_left + ji]
            share = closed * weight[y] + opened * weight[y + 1]
            _pass_on(outer, inner, share, arc_left + ji, left_by_end + ii, width)
            count[at + ij] = outer[arc_right + ij] * inner[arc_right + ij]
            share = outer[arc_right + ij] * weight[ij]
            _pass_on(outer, inner, share, open_right + ii, left + ji + 1, width)
            count[at + ji] = outer[arc_left + ji] * inner[arc_left + ji]
            share = outer[arc_left + ji] * weight[ji]
            _pass_on(outer, inner, share, right + ii, open_left + ji + 1, width)
    for i in range(n):
        ii, x = i * n + i, size + 8 * i
        count[at + x] += (outer[left + ii] + outer[left_by_end + ii]) * weight[x]
        count[at + x + 1] += outer[open_left + ii] * weight[x + 1]
        count[at + x + 4] += (outer[right + ii] + outer[right_by_end + ii]) * weight[x + 4]
        count[at + x + 5] += outer[open_right + ii] * weight[x + 5]
