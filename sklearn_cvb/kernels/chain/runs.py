"""Forward-backward on runs of ambiguous tokens, given the certain states before and after them.

Same conventions as `sklearn_cvb.kernels.chain.forward_backward`; all in probability space.
"""

import math
from typing import NamedTuple

import numpy as np

from sklearn_cvb.kernels.jit import jit, jit_called, jit_inline, opaque
from sklearn_cvb.kernels.subnormal import subnormal_is_zero

# Over so many tokens products of weights stay inside float64 without scaling.
SCALED = 8
SMALLEST_PRODUCT = 1e-100
LARGEST_PRODUCT = 1e100


class RunBorders(NamedTuple):
    """Runs of ambiguous tokens and the states around them, (n_runs,), int32 all."""

    begin: np.ndarray  # first token of each run
    end: np.ndarray  # the one after its last
    before: np.ndarray  # state of the certain token before it; -1 where the sequence begins
    after: np.ndarray  # and after it; -1 where the sequence ends


class RunBuffers(NamedTuple):
    """Buffers for one run."""

    forward: np.ndarray  # messages of its tokens, one after the other
    backward: np.ndarray
    step: np.ndarray  # weights transition[i, j] emission_t(j) of all steps inside the run


@jit_inline
def _rescale(room, position, n, at, size):
    """Divide the messages of a token, and the steps to it, by the sum of the messages."""
    total = 0.0
    for j in range(n):
        total += room.forward[position + j]
    inverse = 1.0 / total
    for j in range(n):
        room.forward[position + j] *= inverse
    for step in range(size):
        room.step[at + step] *= inverse
    return total


@jit_called
def _forward(weights, lattice, runs, r, room):
    """Forward messages of run r, the weights of its steps, and the messages of its last token.

    Returns the weight of the run and of the steps to its borders (NaN where float64 may not hold
    it), the log of what long runs are divided by on the way, and the sizes of messages and steps.
    """
    base, n = 0, 0
    position, at = 0, 0
    log_scale, weight = 0.0, 0.0
    first, last = runs.begin[r], runs.end[r] - 1
    for t in range(first, last + 1):
        left, n_left = base, n
        base, n = lattice.first[t], lattice.count[t]
        now = position + n_left
        # One loop for first, middle and last tokens: short loops cost what they mispredict.
        for j in range(n):
            to, cell = lattice.state[base + j], lattice.cell[base + j]
            emission = weights.emission[cell] if cell >= 0 else 1.0
            if t > first:
                total = 0.0
                i = 0
                while i < opaque(n_left):
                    step = weights.transition[lattice.state[np.uint64(left + i)], to] * emission
                    room.step[np.uint64(at + i * n + j)] = step
                    total += room.forward[np.uint64(position + i)] * step
                    i += 1
            elif runs.before[r] >= 0:
                total = weights.transition[runs.before[r], to] * emission
            else:
                total = weights.start[to] * emission
            room.forward[np.uint64(now + j)] = total
            if t == last:
                after = 1.0
                if runs.after[r] >= 0:
                    after = weights.transition[to, runs.after[r]]
                room.backward[np.uint64(now + j)] = after
                weight += total * after
        if (t - first) % SCALED == SCALED - 1 and t < last:
            total = _rescale(room, now, n, at, n_left * n)
            if not (SMALLEST_PRODUCT < total < LARGEST_PRODUCT):
                break
            log_scale += math.log(total)
        at += n_left * n
        position = now
    if not (SMALLEST_PRODUCT < weight < LARGEST_PRODUCT):
        weight = math.nan
    return weight, log_scale, position + n, at


@jit_called
def _backward(lattice, runs, r, room, inverse, size, n_steps, counts):
    """Backward half of run r: adds its expected counts to `counts`.

    `size` and `n_steps` are what `_forward` returned, `inverse` is 1 over the weight.
    """
    base, n = 0, 0
    position, at = size, n_steps
    first, last = runs.begin[r], runs.end[r] - 1
    for t in range(last, first - 1, -1):
        right, n_right = base, n
        base, n = lattice.first[t], lattice.count[t]
        following = position
        position -= n
        at -= n * n_right
        for i in range(n):
            row, cell = lattice.state[base + i], lattice.cell[base + i]
            here = np.uint64(position + i)
            before = room.forward[here] * inverse
            if t == last:
                after = room.backward[here]
            else:
                after = 0.0
                j = 0
                while j < opaque(n_right):
                    step = room.step[np.uint64(at + j)] * room.backward[np.uint64(following + j)]
                    after += step
                    counts.transition[row, lattice.state[np.uint64(right + j)]] += before * step
                    j += 1
                at += n_right
                room.backward[here] = after
            q = before * after
            if cell >= 0:
                counts.emission[cell] += q
            if t == last and runs.after[r] >= 0:
                counts.transition[row, runs.after[r]] += q
            if t == first:
                if runs.before[r] >= 0:
                    counts.transition[runs.before[r], row] += q
                else:
                    counts.start[row] += q
        at -= n * n_right


@jit
def expected_counts_of_runs(weights, lattice, runs, room, counts, lost):
    """Add the expected counts of all runs to `counts`; returns the sum of their log weights.

    The weight of a run is the sum over its paths, with the steps from and to its borders. Sets
    ``lost[r]`` where float64 may not hold it; such a run adds nothing.
    """
    subnormal_is_zero(True)
    total, product = 0.0, 1.0
    for r in range(runs.begin.size):
        weight, log_scale, size, n_steps = _forward(weights, lattice, runs, r, room)
        if math.isnan(weight):
            lost[r] = True
            continue
        _backward(lattice, runs, r, room, 1.0 / weight, size, n_steps, counts)
        product *= weight
        if not (SMALLEST_PRODUCT < product < LARGEST_PRODUCT):
            total += math.log(product)
            product = 1.0
        total += log_scale
    subnormal_is_zero(False)
    return total + math.log(product)
