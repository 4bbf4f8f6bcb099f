"""Inference of one run of ambiguous tokens, given the certain ones at its borders.

Same conventions as `sklearn_cvb.kernels.chain.forward_backward`; all in probability space.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.chain.forward_backward import forward_backward
from sklearn_cvb.kernels.chain.pairs import add_outer
from sklearn_cvb.kernels.jit import few, jit, jit_token

# Over so many tokens products of weights stay inside float64 without scaling.
SCALED = 8
SMALLEST_PRODUCT = 1e-100
LARGEST_PRODUCT = 1e100


class Factors(NamedTuple):
    """Weights of a chain whose rows need not sum to 1.

    A token in state k weighs ``emission[cell] * scale[k]``, the last one of a sequence
    ``emission[cell] * last_scale[k]``; unobserved, it weighs their ratio or 1.
    """

    start: np.ndarray
    transition: np.ndarray
    emission: np.ndarray
    scale: np.ndarray
    last_scale: np.ndarray


@jit_token
def entry_weight(factors, lattice, slot, is_last):
    """Emission factor of one (token, state) entry."""
    state = lattice.state[slot]
    cell = lattice.cell[slot]
    if cell < 0:
        return 1.0 if is_last else factors.scale[state] / factors.last_scale[state]
    return factors.emission[cell] * (factors.last_scale if is_last else factors.scale)[state]


@jit_token
def run_forward(factors, lattice, span, bounds, work, position, at):
    """Forward messages of the ambiguous tokens of a run: `span`, in the sequence `bounds`.

    They go to ``work.forward`` from `position` on, the weights of the steps inside the run to
    ``work.block`` from `at` on, and those of the step out of it to ``work.emission``, beside the
    messages of its last token. Returns the weight of the run and of the steps to its borders, the
    log of what long runs divide by on the way, and the next free `position` and `at`. The weight is
    NaN where float64 or ``work.block`` does not hold the run.
    """
    base, n = 0, 0
    log_scale, weight = 0.0, 0.0
    for t in range(span[0], span[1]):
        left, n_left = base, n
        base, n = lattice.first[t], lattice.count[t]
        now = position + n_left
        if at + n_left * n > work.block.size:
            return math.nan, 0.0, position, at
        # One loop for first, middle and last tokens: short loops cost what they mispredict.
        for j in range(n):
            to = lattice.state[base + j]
            emission = entry_weight(factors, lattice, base + j, t == bounds[1] - 1)
            if t > span[0]:
                total = 0.0
                i = 0
                while i < few(n_left):
                    step = factors.transition[lattice.state[np.uint64(left + i)], to] * emission
                    work.block[np.uint64(at + i * n + j)] = step
                    total += work.forward[np.uint64(position + i)] * step
                    i += 1
            elif t > bounds[0]:
                total = factors.transition[_certain_state(lattice, t - 1), to] * emission
            else:
                total = factors.start[to] * emission
            work.forward[np.uint64(now + j)] = total
            if t == span[1] - 1:
                after = 1.0
                if t < bounds[1] - 1:
                    after = factors.transition[to, _certain_state(lattice, t + 1)]
                work.emission[np.uint64(now + j)] = after
                weight += total * after
        if (t - span[0]) % SCALED == SCALED - 1 and t < span[1] - 1:
            total = _rescale(work, now, n, at, n_left * n)
            if not (SMALLEST_PRODUCT < total < LARGEST_PRODUCT):
                return math.nan, 0.0, position, at
            log_scale += math.log(total)
        at += n_left * n
        position = now
    if not (SMALLEST_PRODUCT < weight < LARGEST_PRODUCT):
        return math.nan, 0.0, position, at
    return weight, log_scale, position + n, at


@jit_token
def _certain_state(lattice, t):
    """State of the certain token t."""
    return lattice.state[lattice.first[t]]


@jit_token
def _rescale(work, position, n, at, size):
    """Divide the messages of a token, and the steps to it, by the sum of the messages."""
    total = 0.0
    for j in range(n):
        total += work.forward[position + j]
    inverse = 1.0 / total
    for j in range(n):
        work.forward[position + j] *= inverse
    for step in range(size):
        work.block[at + step] *= inverse
    return total


@jit_token
def run_backward(lattice, span, bounds, work, inverse, position, at, counts):
    """Backward half of a run: adds its expected counts to `counts`.

    `position` and `at` are what `run_forward` returned, `inverse` is 1 over the weight.
    """
    base, n = 0, 0
    for t in range(span[1] - 1, span[0] - 1, -1):
        right, n_right = base, n
        base, n = lattice.first[t], lattice.count[t]
        following = position
        position -= n
        at -= n * n_right
        is_end = t == span[1] - 1
        for i in range(n):
            row, cell = lattice.state[base + i], lattice.cell[base + i]
            here = np.uint64(position + i)
            before = work.forward[here] * inverse
            if is_end:
                after = work.emission[here]
            else:
                after = 0.0
                j = 0
                while j < few(n_right):
                    step = work.block[np.uint64(at + j)] * work.emission[np.uint64(following + j)]
                    after += step
                    counts.transition[row, lattice.state[np.uint64(right + j)]] += before * step
                    j += 1
                at += n_right
                work.emission[here] = after
            q = before * after
            if cell >= 0:
                counts.emission[cell] += q
            if is_end and t < bounds[1] - 1:
                counts.transition[row, _certain_state(lattice, t + 1)] += q
            if t == span[0]:
                if t > bounds[0]:
                    counts.transition[_certain_state(lattice, t - 1), row] += q
                else:
                    counts.start[row] += q
        at -= n * n_right


@jit_token
def _add_borders(lattice, span, bounds, posterior, position, top, counts):
    """Add the steps into and out of a run, whose posteriors are ``posterior[position:top]``."""
    base, n = lattice.first[span[0]], lattice.count[span[0]]
    for j in range(n):
        to = lattice.state[base + j]
        if span[0] > bounds[0]:
            counts.transition[_certain_state(lattice, span[0] - 1), to] += posterior[position + j]
        else:
            counts.start[to] += posterior[position + j]
    if span[1] < bounds[1]:
        base, n = lattice.first[span[1] - 1], lattice.count[span[1] - 1]
        to = _certain_state(lattice, span[1])
        for i in range(n):
            counts.transition[lattice.state[base + i], to] += posterior[top - n + i]


@jit
def _long_run(factors, lattice, span, bounds, work, counts):
    """The same for any run, by `forward_backward`; returns its log weight, NaN without adding."""
    size = 0
    for t in range(span[0], span[1]):
        base = lattice.first[t]
        for slot in range(base, base + lattice.count[t]):
            weight = entry_weight(factors, lattice, slot, t == bounds[1] - 1)
            if t == span[1] - 1 and t < bounds[1] - 1:
                weight *= factors.transition[lattice.state[slot], _certain_state(lattice, t + 1)]
            work.emission[size] = weight
            size += 1
    for k in range(work.row.size):
        work.row[k] = factors.start[k]
        if span[0] > bounds[0]:
            work.row[k] = factors.transition[_certain_state(lattice, span[0] - 1), k]
    log_z = forward_backward(work.row, factors.transition, lattice, *span, size, work)
    if math.isnan(log_z):
        return log_z
    position = 0
    for t in range(span[0], span[1]):
        base, n = lattice.first[t], lattice.count[t]
        if t > span[0]:
            add_outer(lattice, t, work, position - lattice.count[t - 1], position, work.table)
        for j in range(n):
            if lattice.cell[base + j] >= 0:
                counts.emission[lattice.cell[base + j]] += work.posterior[position + j]
        position += n
    _add_borders(lattice, span, bounds, work.posterior, 0, size, counts)
    return log_z


@jit
def expected_counts_of_runs(factors, lattice, starts, runs, work, counts):
    """E-step over the ambiguous runs: add all expected counts to `counts`.

    Returns the total log Z of all sequences; NaN where a run or a certain event has no weight in
    float64 (then the counts are incomplete: use `expected_counts` of
    `sklearn_cvb.kernels.chain.forward_backward`).
    """
    work.table[:] = 0.0
    total, product = 0.0, 1.0
    for i in range(starts.size - 1):
        bounds = (starts[i], starts[i + 1])
        for r in range(runs.sequence[i], runs.sequence[i + 1]):
            span = (np.int64(runs.begin[r]), np.int64(runs.end[r]))
            weight, log_scale, position, at = run_forward(
                factors, lattice, span, bounds, work, 0, 0
            )
            if math.isnan(weight):
                log_scale = _long_run(factors, lattice, span, bounds, work, counts)
                if math.isnan(log_scale):
                    return log_scale
            else:
                inverse = 1.0 / weight
                run_backward(lattice, span, bounds, work, inverse, position, at, counts)
                product *= weight
                if not (SMALLEST_PRODUCT < product < LARGEST_PRODUCT):
                    total += math.log(product)
                    product = 1.0
            total += log_scale
    total += math.log(product)
    total += _add_certain(factors.start, runs.start, counts.start)
    total += _add_certain(factors.emission, runs.emission, counts.emission)
    for k in range(work.table.shape[0]):
        total += _add_certain(factors.transition[k], runs.transition[k], counts.transition[k])
        for j in range(work.table.shape[1]):
            counts.transition[k, j] += work.table[k, j] * factors.transition[k, j]
    return total


@jit
def _add_certain(weights, certain, counts):
    """Add certain counts; returns their log weight, NaN where the weight is 0."""
    total = 0.0
    for i in range(certain.size):
        if certain[i] > 0.0:
            if weights[i] <= 0.0:
                return math.nan
            total += certain[i] * math.log(weights[i])
            counts[i] += certain[i]
    return total
