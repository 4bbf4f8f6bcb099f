"""The split-head chart of a sentence (Eisner 1996): inside and outside weights, in n^3.

Each token takes its children on either side on its own, from the nearest to the
farthest, so a half of a tree is told by its head and its other end. Whether a head has a child on a
side yet is no part of the chart: it has one unless the half ends at the head. So valence (Klein and
Manning 2004) costs nothing. An arc to a first child begins at such a half, so that it may have a
weight of its own; `first` says how far behind the weight of an arc to another child it stands.

One chart holds sums of weights, where `logs` is None; or logs, for sentences that float64 loses
(see `sklearn_cvb.kernels.tree.semirings`). Logs may be those of the heaviest parts alone.
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
from sklearn_cvb.kernels.dependency.cells import arcs_of
from sklearn_cvb.kernels.jit import (
    jit,
    jit_called,
    jit_inline,
    jit_token,
    jit_token_reduction,
    opaque,
)
from sklearn_cvb.kernels.tree.semirings import plus, quotient, times, weight_of, zero

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
def _log_fold(table, a, b, n, heaviest):
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


@jit_inline
def _sum_or_max_of_products(table, a, b, n, heaviest):
    """The sum of products of two runs of n cells, or the largest."""
    return _dot(table, a, b, n) if heaviest is None else _log_fold(table, a, b, n, heaviest)


@jit_inline
def _sum_or_max(a, b, heaviest):
    """The sum of two weights, or the larger one."""
    total = plus(a, b, heaviest)
    return total if heaviest is None or not heaviest else max(a, b)


@jit_inline
def _half_ends(i, j, n, side):
    """Where the right half of i as far as j begins and ends, or (side 1) the left half of j.

    Of the half its places closed, by its end, and open, and its choice, which follows the arcs; of
    the arc to its end its weight and its place. Then the runs of what is between them: the halves
    under the arc, and how far in them those are that the head has no child in; arcs of the head,
    and what follows them.
    """
    size = n * n
    ii, ij, ji = i * n + i, i * n + j, j * n + i
    half = RIGHT * size + ij, RIGHT_BY_END * size + ji, OPEN_RIGHT * size + ij, size + 8 * i + 6
    arc, under = (ij, ARC_RIGHT * size + ij), (OPEN_RIGHT * size + ii, LEFT * size + ji + 1)
    alone, others, after = 0, 1, (ARC_RIGHT * size + ii + 1, RIGHT_BY_END * size + ji + 1)
    if side == 1:
        half = LEFT * size + ji, LEFT_BY_END * size + ij, OPEN_LEFT * size + ji, size + 8 * j + 2
        arc, under = (ji, ARC_LEFT * size + ji), (RIGHT * size + ii, OPEN_LEFT * size + ji + 1)
        alone, others, after = j - i - 1, 0, (ARC_LEFT * size + ji, LEFT_BY_END * size + ii)
    return half, arc, under, alone, others, after


@jit_called
def inside(weight, inner, n, first, heaviest):
    """Fill the chart with the weights of all parts of trees; returns that of whole trees.

    `heaviest` is None for sums of weights; else weights are logs, and it says whether only the
    heaviest part counts.
    """
    size = n * n
    right, open_right = RIGHT * size, OPEN_RIGHT * size
    left, open_left = LEFT * size, OPEN_LEFT * size
    right_by_end, left_by_end = RIGHT_BY_END * size, LEFT_BY_END * size
    for i in range(n):
        x, choice = i * n + i, size + 8 * i
        inner[left + x] = inner[left_by_end + x] = weight[choice]
        inner[open_left + x] = weight[choice + 1]
        inner[right + x] = inner[right_by_end + x] = weight[choice + 4]
        inner[open_right + x] = weight[choice + 5]
    for width in range(1, n):
        for i in range(n - width):
            side = 0
            while side < opaque(2):
                half, (arc, child), (x, y), alone, others, (a, b) = _half_ends(
                    i, i + width, n, side
                )
                closed, by_end, opened, choice = half
                total = _sum_or_max_of_products(inner, x + others, y + others, width - 1, heaviest)
                total = times(total, weight[arc], heaviest)
                one = times(inner[x + alone], inner[y + alone], heaviest)
                one = times(one, weight[first + arc], heaviest)
                inner[child] = _sum_or_max(total, one, heaviest)
                total = _sum_or_max_of_products(inner, a, b, width, heaviest)
                inner[closed] = inner[by_end] = times(total, weight[choice], heaviest)
                inner[opened] = times(total, weight[choice + 1], heaviest)
                side += 1
    total = zero(heaviest)
    for r in range(n):
        whole = times(weight[r * n + r], inner[left + r * n], heaviest)
        whole = times(whole, inner[right + r * n + n - 1], heaviest)
        total = _sum_or_max(total, whole, heaviest)
    return total


@jit_called
def inside_scaled(work, n):
    """log p(words) of the weights at hand; NaN where float64 is too small, or there is no tree."""
    first = arcs_of(n, work.n_valences, 0)
    rescale(work.weight, n, first)
    total, log_z = inside(work.weight, work.inner, n, first, None), math.nan
    if 0.0 < total < math.inf and math.log(total) > _LEAST_LOG + _LOG_TREES * n:
        log_z = math.log(total) + work.weight[-1]
    return log_z


@jit_called
def to_logs(weight, n, first, least):
    """Replace the weights of a sentence by their logs, those of 0 by `least`."""
    for x in range(n * (n + 8) + (first > 0) * n * n):
        weight[x] = math.log(weight[x]) if weight[x] > 0.0 else least


@jit
def fill_in_logs(work, n):
    """Fill the chart of a sentence that float64 loses with logs, from its rescaled weights.

    Returns log p(words), -inf without a tree.
    """
    first = arcs_of(n, work.n_valences, 0)
    to_logs(work.weight, n, first, -math.inf)
    return inside(work.weight, work.inner, n, first, np.bool_(False)) + work.weight[-1]


@jit_token
def _add_outside(outer, inner, share, a, b, n, logs):
    """Pass a share of outside weight on to both runs of a sum of products."""
    for k in range(n):
        outer[a + k] = plus(outer[a + k], times(share, inner[b + k], logs), logs)
        outer[b + k] = plus(outer[b + k], times(share, inner[a + k], logs), logs)


@jit_inline
def _count_half(chart, count, places, at, logs):
    """Count the choices at a half of a tree; returns what is above the children it may have.

    `places` are those of the half closed, by its end, and open, and of its choice, which is counted
    in the share that begins at `at`.
    """
    weight, inner, outer = chart
    half, by_end, opened, choice = places
    above, beside = plus(outer[half], outer[by_end], logs), outer[opened]
    count[at + choice] += weight_of(times(above, inner[half], logs), logs)
    count[at + choice + 1] += weight_of(times(beside, inner[opened], logs), logs)
    beside = times(beside, weight[choice + 1], logs)
    return plus(times(above, weight[choice], logs), beside, logs)


@jit_called
def outside(work, n, total, count, at, logs):
    """Write the expected counts of arcs and choices to a share that begins at `at`.

    `total` is what `inside` has returned.
    """
    weight, inner, outer, size = work.weight, work.inner, work.outer, n * n
    chart = weight, inner, outer
    right, open_right = RIGHT * size, OPEN_RIGHT * size
    left, open_left = LEFT * size, OPEN_LEFT * size
    right_by_end, left_by_end = RIGHT_BY_END * size, LEFT_BY_END * size
    first = arcs_of(n, work.n_valences, 0)
    for x in range(8 * size):
        outer[x] = zero(logs)
    for x in range(at + size, at + size + 8 * n + (first > 0) * size):
        count[x] = 0.0
    for r in range(n):
        begin, end = left + r * n, right + r * n + n - 1
        share = quotient(weight[r * n + r], total, logs)
        both = times(times(share, inner[end], logs), inner[begin], logs)
        count[at + r * n + r] = weight_of(both, logs)
        _add_outside(outer, inner, share, begin, end, np.int64(1), logs)
    for width in range(n - 1, 0, -1):
        for i in range(n - width):
            side = 0
            while side < opaque(2):
                half, (arc, child), (x, y), alone, others, (a, b) = _half_ends(
                    i, i + width, n, side
                )
                share = _count_half(chart, count, half, at, logs)
                _add_outside(outer, inner, share, a, b, width, logs)
                above = outer[child]
                share = times(above, weight[first + arc], logs)
                one = times(times(share, inner[x + alone], logs), inner[y + alone], logs)
                whole = weight_of(times(above, inner[child], logs), logs)
                count[at + arc] = max(0.0, whole - weight_of(one, logs))
                count[at + first + arc] += weight_of(one, logs)
                _add_outside(outer, inner, share, x + alone, y + alone, np.int64(1), logs)
                share = times(above, weight[arc], logs)
                _add_outside(outer, inner, share, x + others, y + others, width - 1, logs)
                side += 1
    for x in range(2 * n):
        i, choice = (x // 2) * (n + 1), size + 4 * x
        half, by_end, opened = left + i, left_by_end + i, open_left + i
        if x % 2 == 1:
            half, by_end, opened = right + i, right_by_end + i, open_right + i
        _count_half(chart, count, (half, by_end, opened, choice), at, logs)


@jit
def count_in_logs(work, n, count, at):
    """`fill_in_logs`, and the expected counts, written to a share that begins at `at`."""
    log_z = fill_in_logs(work, n)
    for x in range(at, at + n * (n + 8) + (work.n_valences - 1) * n * n):
        count[x] = 0.0
    if log_z > -math.inf:
        outside(work, n, log_z - work.weight[-1], count, at, np.bool_(True))
    return log_z
