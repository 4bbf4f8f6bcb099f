"""Draw the states of a whole run of ambiguous tokens: filter forward, sample backward.

Given the certain tokens at its borders (see `sklearn_cvb.runs`) a run can be drawn alone; without a
dictionary every sequence is one run. Sampled paths are kept as slots, as in
`sklearn_cvb.hmm.sampling`.
"""

import math

import numpy as np

from sklearn_cvb.kernels.chain.forward_backward import forward_pass, work_for
from sklearn_cvb.kernels.chain.log_space import fill_logs, forward_pass_log
from sklearn_cvb.kernels.chain.runs import entry_weight
from sklearn_cvb.kernels.jit import jit, jit_token

# Below this the states that underflow on the way forward might matter after all: use log space.
_SMALLEST_CHANCE = 1e-200


def n_ambiguous(runs):
    """Number of tokens in runs: as many random numbers does drawing all of them take."""
    return int((runs.end - runs.begin).sum(dtype=np.int64))


def run_work(problem):
    """Buffers for the longest run."""
    runs = problem.runs
    begins, ends = runs.begin.astype(np.int64), runs.end.astype(np.int64)
    return work_for(begins, ends, problem.lattice.count, problem.cells.n_states)


@jit_token
def span_of(runs, run):
    """First token of a run and the one after the last."""
    return np.int64(runs.begin[run]), np.int64(runs.end[run])


@jit_token
def certain_state(lattice, t):
    """State of the certain token t."""
    return lattice.state[lattice.first[t]]


@jit_token
def _fill_run(factors, lattice, span, bounds, target):
    """Weights of a run's entries, those of its last token with the step to the border."""
    n_states = factors.start.size
    position = 0
    n = 0
    for t in range(span[0], span[1]):
        base, n = lattice.first[t], lattice.count[t]
        is_last = t == bounds[1] - 1
        cell = lattice.cell[base]
        if n == n_states and cell >= 0:
            scale = factors.last_scale if is_last else factors.scale
            for j in range(n):
                here = np.uint64(j)
                target[np.uint64(position + j)] = (
                    factors.emission[np.uint64(cell + j)] * scale[here]
                )
        else:
            for j in range(n):
                target[np.uint64(position + j)] = entry_weight(factors, lattice, base + j, is_last)
        position += n
    if span[1] < bounds[1]:
        base, after = lattice.first[span[1] - 1], certain_state(lattice, span[1])
        for j in range(n):
            target[position - n + j] *= factors.transition[lattice.state[base + j], after]
    return position


@jit_token
def _draw(cumulative, n, level):
    """Index below n by its share of the running sums; one without weight is never drawn."""
    bound = level * cumulative[n - 1]
    picked = 0
    for j in range(n - 1):
        picked += 1 if cumulative[np.uint64(j)] <= bound else 0
    # Rounding may leave nothing above the bound.
    while picked > 0 and cumulative[picked] == cumulative[picked - 1]:
        picked -= 1
    return picked


@jit_token
def _sample_backward(factors, lattice, span, size, levels, at, slots, work):
    """Draw the slots of a run from its forward messages; False where float64 may have lost mass."""
    position = size
    cumulative = work.row
    for t in range(span[1] - 1, span[0] - 1, -1):
        base, n = lattice.first[t], lattice.count[t]
        position -= n
        total = 0.0
        if t == span[1] - 1:
            for j in range(n):
                total += work.forward[np.uint64(position + j)]
                cumulative[np.uint64(j)] = total
        else:
            after = lattice.state[slots[t + 1]]
            for j in range(n):
                step = factors.transition[lattice.state[np.uint64(base + j)], after]
                total += work.forward[np.uint64(position + j)] * step
                cumulative[np.uint64(j)] = total
        if not total > _SMALLEST_CHANCE:
            return False
        slots[t] = base + _draw(cumulative, n, levels[at + t - span[0]])
    return True


@jit
def _draw_run_in_logs(factors, lattice, span, bounds, levels, at, slots, work):
    """`draw_run` in log space, for weights whose products leave float64."""
    size = _fill_run(factors, lattice, span, bounds, work.emission)
    for position in range(size):
        work.emission[position] = math.log(work.emission[position])
    first = factors.start
    if span[0] > bounds[0]:
        first = factors.transition[certain_state(lattice, span[0] - 1)]
    fill_logs(first, work.log_row)
    for k in range(work.table.shape[0]):
        fill_logs(factors.transition[k], work.table[k])
    log_z = forward_pass_log(
        work.log_row,
        work.table,
        lattice,
        span[0],
        span[1],
        work.emission,
        work.forward,
        work.scale,
    )
    if log_z == -math.inf:
        return False
    position = size
    cumulative = work.row
    for t in range(span[1] - 1, span[0] - 1, -1):
        base, n = lattice.first[t], lattice.count[t]
        position -= n
        largest = -math.inf
        for j in range(n):
            value = work.forward[position + j]
            if t < span[1] - 1:
                value += work.table[lattice.state[base + j], lattice.state[slots[t + 1]]]
            cumulative[j] = value
            largest = max(largest, value)
        total = 0.0
        for j in range(n):
            total += math.exp(cumulative[j] - largest)
            cumulative[j] = total
        slots[t] = base + _draw(cumulative, n, levels[at + t - span[0]])
    return True


@jit
def draw_run(factors, lattice, span, bounds, levels, at, slots, work):
    """Draw the states of the tokens `span`, in the sequence `bounds`, given their neighbours.

    Parameters
    ----------
    factors : Factors
    lattice : Lattice
    span, bounds : tuple of int
        First token and the one after the last.
    levels : ndarray
        A uniform number for each token of the run, from `at` on.
    at : int
    slots : ndarray of shape (n_tokens,), int32
        Receives the drawn path.
    work : Work
        Buffers.

    Returns
    -------
    bool
        False where no path is left; `slots` is then undefined.
    """
    size = _fill_run(factors, lattice, span, bounds, work.emission)
    first = factors.start
    if span[0] > bounds[0]:
        first = factors.transition[certain_state(lattice, span[0] - 1)]
    log_z = forward_pass(
        first,
        factors.transition,
        lattice,
        span[0],
        span[1],
        work.emission,
        work.forward,
        work.scale,
    )
    if not math.isnan(log_z) and _sample_backward(
        factors, lattice, span, size, levels, at, slots, work
    ):
        return True
    return _draw_run_in_logs(factors, lattice, span, bounds, levels, at, slots, work)
