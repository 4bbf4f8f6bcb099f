"""Stepwise updates from windows of long sequences: running counts move after each window, which is
inferred between border tokens before and after its own. Counts are multiples of a unit, so that all
shrink at once; `out` and `emit` are their row totals.

A window is inferred between borders, steps of its sequence before and after it, from the running
counts of all windows before; what is expected of its own steps is mixed in at once (Foti, Xu, Laird
and Fox 2014, and its collapsed kin). Weights are made for one window at a time, and counts shrink
by a common factor that is written once, so that a step costs no pass over all cells.
Layout and conventions are those of `sklearn_cvb.kernels.chain.forward_backward`.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.chain.forward_backward import add_outer, forward_backward
from sklearn_cvb.kernels.jit import jit, jit_inline
from sklearn_cvb.kernels.special import digamma
from sklearn_cvb.kernels.subnormal import subnormal_is_zero

# Counts are multiplied out below this.
_SMALLEST_UNIT = 1e-100


class WindowSpans(NamedTuple):
    """Windows in the order of their steps."""

    begin: np.ndarray  # (n_windows,), int64, own tokens
    end: np.ndarray
    border_begin: np.ndarray  # and with the borders
    border_end: np.ndarray
    is_start: np.ndarray  # whether the first token with the borders begins a sequence
    kept_share: np.ndarray  # factors of the running counts and of those of the window
    added_weight: np.ndarray


class RunningCounts(NamedTuple):
    """Running counts, written as multiples of a unit, and the totals of their rows."""

    start: np.ndarray  # (K,)
    transition: np.ndarray  # (K, K)
    out: np.ndarray  # (K,)
    emission: np.ndarray  # (n_cells,)
    emit: np.ndarray  # (K,)
    unit: np.ndarray  # (1,)


class WindowPrior(NamedTuple):
    """The prior under the counts, and its row totals."""

    start: np.ndarray
    start_total: float
    transition: np.ndarray
    out: np.ndarray
    emission: np.ndarray
    emit: np.ndarray


class WindowWorkspace(NamedTuple):
    """Buffers for one window."""

    emission: np.ndarray  # those of `kernels.chain.forward_backward.PassBuffers`
    forward: np.ndarray
    posterior: np.ndarray
    scale: np.ndarray
    start: np.ndarray  # (K,), weights of the first token
    table: np.ndarray  # (K, K), of transitions
    steps: np.ndarray  # (K, K), pairs of a window without these
    row: np.ndarray  # (K,), what weights of emissions are made with, by state


@jit_inline
def _row_term(total, averages):
    """What the weights of a row are made with, from its total: see `_weight`.

    A row that nothing has been counted in, without prior, has no weight.
    """
    value = 0.0
    if total > 0.0:
        value = digamma(total) if averages else 1.0 / total
    return value


@jit_inline
def _weight(cell, row, averages):
    """exp E[log] of a cell with its prior, or its mean."""
    value = 0.0
    if cell > 0.0:
        # The difference first: where a prior is tiny both are beyond the range of exp.
        value = math.exp(digamma(cell) - row) if averages else cell * row
    return value


@jit_inline
def _fill_weights(i, windows, lattice, counts, below, averages, work):
    """Weights of window i: ``work.start``, ``work.table`` and ``work.emission``; their number."""
    unit, n_states = counts.unit[0], counts.out.size
    if windows.is_start[i]:
        total = below.start_total
        for k in range(n_states):
            total += unit * counts.start[k]
        row = _row_term(total, averages)
        for k in range(n_states):
            cell = unit * counts.start[k] + below.start[k]
            work.start[k] = _weight(cell, row, averages)
    else:
        for k in range(n_states):
            work.start[k] = 1.0
    for k in range(n_states):
        row = _row_term(unit * counts.out[k] + below.out[k], averages)
        work.row[k] = _row_term(unit * counts.emit[k] + below.emit[k], averages)
        for j in range(n_states):
            cell = unit * counts.transition[k, j] + below.transition[k, j]
            work.table[k, j] = _weight(cell, row, averages)
    position = np.int64(0)
    for t in range(windows.border_begin[i], windows.border_end[i]):
        base = np.int64(lattice.first[t])
        for slot in range(base, base + np.int64(lattice.count[t])):
            cell, weight = lattice.cell[slot], 1.0
            if cell >= 0:
                value = unit * counts.emission[cell] + below.emission[cell]
                weight = _weight(value, work.row[lattice.state[slot]], averages)
            work.emission[position] = weight
            position += 1
    return position


@jit_inline
def _shrink(counts, kept):
    """Multiply all counts by a factor."""
    counts.unit[0] *= kept
    if counts.unit[0] < _SMALLEST_UNIT:
        unit = counts.unit[0]
        for table in (counts.start, counts.out, counts.emission, counts.emit):
            for k in range(table.size):
                table[k] *= unit
        for k in range(counts.out.size):
            for j in range(counts.out.size):
                counts.transition[k, j] *= unit
        counts.unit[0] = 1.0


@jit_inline
def _add_window(i, windows, lattice, counts, weight, work):
    """Add what is expected of the own steps of window i, times a weight in units."""
    begin, end, n_states = windows.begin[i], windows.end[i], counts.out.size
    for k in range(n_states):
        for j in range(n_states):
            work.steps[k, j] = 0.0
    position, before = np.int64(0), np.int64(0)
    for t in range(windows.border_begin[i], end):
        base, n = np.int64(lattice.first[t]), np.int64(lattice.count[t])
        if t >= begin:
            for j in range(n):
                q = weight * work.posterior[position + j]
                state, cell = lattice.state[base + j], lattice.cell[base + j]
                if cell >= 0:
                    counts.emission[cell] += q
                    counts.emit[state] += q
                if t == windows.border_begin[i]:
                    counts.start[state] += q
            if t > windows.border_begin[i]:
                add_outer(lattice, t, work, before, position, work.steps)
        before = position
        position += n
    for k in range(n_states):
        total = 0.0
        for j in range(n_states):
            q = weight * work.steps[k, j] * work.table[k, j]
            counts.transition[k, j] += q
            total += q
        counts.out[k] += total


@jit
def step_through_windows(span, windows, lattice, counts, below, averages, work):
    """Step through the windows of a span; returns where it ended, and the sum of log p of steps.

    That is of each window's own steps given those of the border before it. It ends at a window that
    float64 loses, before anything of it is added.
    """
    subnormal_is_zero(True)
    value = 0.0
    for i in range(span[0], span[1]):
        first, last = windows.border_begin[i], windows.border_end[i]
        size = _fill_weights(i, windows, lattice, counts, below, averages, work)
        log_z = forward_backward(work.start, work.table, lattice, first, last, size, work)
        if math.isnan(log_z):
            subnormal_is_zero(False)
            return i, value
        for t in range(windows.begin[i] - first, windows.end[i] - first):
            value += math.log(work.scale[t])
        _shrink(counts, windows.kept_share[i])
        _add_window(i, windows, lattice, counts, windows.added_weight[i] / counts.unit[0], work)
    subnormal_is_zero(False)
    return span[1], value
