"""The chart of split heads: weights of a sentence, inside and outside, in n^3 steps.

Eisner (1996). Each token takes its children on either side on its own, from the nearest to the
farthest, so a half of a tree is told by its head and its other end. Whether a head has a child on a
side yet is no part of the chart: it has one unless the half ends at the head. So valence (Klein and
Manning 2004) costs nothing. An arc to a first child begins at such a half, so that it may have a
weight of its own; `first` says how far behind the weight of an arc to another child it stands.
"""

import math

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
from sklearn_cvb.kernels.dependency.cells import arcs_of
from sklearn_cvb.kernels.jit import few, jit_called, jit_token, jit_token_reduction

# float64 spans e-708 to e+709, and a sentence of n tokens has fewer than e^(1.92 n) trees, none
# heavier than 1 but for the root: from here on what a chart loses is below rounding.
_LEAST_LOG, _LOG_TREES = -640.0, 1.92
# Quotients with smaller divisors may be too large.
_LEAST_DIVISOR = 1e-100


@jit_called
def rescale(weight, n, first):
    """Divide what each tree uses once by its largest weight: float64 holds longer sentences.

    Each token is attached once, by an arc and a decision to go on, and stops once on either side.
    """
    choices, log_scale = n * n, 0.0
    for c in range(n):
        largest = 0.0
        for h in range(n):
            go = choices + 8 * h + (5 if c > h else 1)
            if h != c:
                x = h * n + c
                largest = max(largest, weight[first + x] * weight[go], weight[x] * weight[go + 2])
        if largest > _LEAST_DIVISOR:
            for h in range(n):
                weight[h * n + c] /= largest
                if first > 0:
                    weight[first + h * n + c] /= largest
            log_scale += math.log(largest)
        for stop in range(choices + 8 * c, choices + 8 * c + 8, 4):
            largest = max(weight[stop], weight[stop + 2])
            if largest > _LEAST_DIVISOR:
                weight[stop] /= largest
                weight[stop + 2] /= largest
                log_scale += math.log(largest)
    weight[weight.size - 1] = log_scale


@jit_token_reduction
def _dot(table, a, b, n):
    """Sum of products of two runs of n cells."""
    total = 0.0
    for k in range(n):
        total += table[a + k] * table[b + k]
    return total


@jit_called
def inside(weight, inner, n, first):
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
            ii, ij, ji, jj = i * n + i, i * n + j, j * n + i, j * n + j
            total = _dot(inner, open_right + ii + 1, left + ji + 2, width - 1) * weight[ij]
            total += inner[open_right + ii] * inner[left + ji + 1] * weight[first + ij]
            inner[arc_right + ij] = total
            total = _dot(inner, right + ii, open_left + ji + 1, width - 1) * weight[ji]
            total += inner[right + ij - 1] * inner[open_left + jj] * weight[first + ji]
            inner[arc_left + ji] = total
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
    first = arcs_of(n, work.n_valences, 0)
    rescale(work.weight, n, first)
    total, log_z = inside(work.weight, work.inner, n, first), math.nan
    if 0.0 < total < math.inf and math.log(total) > _LEAST_LOG + _LOG_TREES * n:
        log_z = math.log(total) + work.weight[-1]
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
    first = arcs_of(n, work.n_valences, 0)
    for x in range(8 * size):
        outer[x] = 0.0
    for x in range(at + size, at + size + 8 * n + (first > 0) * size):
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
            side = 0
            while side < few(2):
                # Both halves of an arc, where the head's without a child comes first or last.
                arc, x, y, a = ij, open_right + ii, left + ji + 1, outer[arc_right + ij]
                total, k, rest = a * inner[arc_right + ij], 0, 1
                if side == 1:
                    arc, x, y, a = ji, right + ii, open_left + ji + 1, outer[arc_left + ji]
                    total, k, rest = a * inner[arc_left + ji], width - 1, 0
                share = a * weight[first + arc]
                one = share * inner[x + k] * inner[y + k]
                outer[x + k] += share * inner[y + k]
                outer[y + k] += share * inner[x + k]
                count[at + arc] = max(0.0, total - one)
                count[at + first + arc] += one
                _pass_on(outer, inner, a * weight[arc], x + rest, y + rest, width - 1)
                side += 1
    for i in range(n):
        ii, x = i * n + i, size + 8 * i
        count[at + x] += (outer[left + ii] + outer[left_by_end + ii]) * weight[x]
        count[at + x + 1] += outer[open_left + ii] * weight[x + 1]
        count[at + x + 4] += (outer[right + ii] + outer[right_by_end + ii]) * weight[x + 4]
        count[at + x + 5] += outer[open_right + ii] * weight[x + 5]
